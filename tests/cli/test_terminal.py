"""The line of progress."""

from __future__ import annotations

import io
import sys

import pytest

from lightfair.cli import terminal
from lightfair.cli.terminal import progress_line, say


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def xterm(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")


def test_progress_appears_after_a_while_and_gives_way_to_messages(monkeypatch):
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    progress = progress_line()
    progress("draws", 1, 2)
    assert screen.getvalue() == ""
    monkeypatch.setattr(terminal, "PROGRESS_AFTER", -1.0)
    progress("rows read", 1234)
    progress("draws", 1, 2000)
    shown = "\r\x1b[Krows read: 1,234\r\x1b[Kdraws: 1 of 2,000"
    assert screen.getvalue() == shown
    say()
    say("two\nlines of \x1b")
    assert screen.getvalue() == f"{shown}\r\x1b[K\r\x1b[Ktwo lines of \\x1b\n"


def test_no_progress_elsewhere(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert progress_line() is not None
    monkeypatch.setenv("TERM", "dumb")
    assert progress_line() is None
    monkeypatch.setattr(sys, "stderr", None)
    assert progress_line() is None
    say("nobody hears it")
