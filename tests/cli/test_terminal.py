"""Colors and the line of progress."""

from __future__ import annotations

import io
import re
import sys

import pytest

from lightfair.cli import terminal
from lightfair.cli.terminal import in_color, progress_line, say

CODE = re.compile(r"\x1b\[[0-9;]*m")
DEMO = ["demo", "--rows", "600", "--labeled", "60", "--metric", "tpr", "--chains", "4"]
DEMO += ["--draws", "4", "--warmup", "10", "--check", "selection_rate<=0.001"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def xterm(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_colors_do_not_change_the_layout(run):
    code, plain, _ = run(*DEMO)
    again, colored, _ = run(*DEMO, "--color", "always")
    assert code == again == 1
    assert "\x1b" not in plain and CODE.sub("", colored) == plain
    assert "\x1b[1;31mfail\x1b[0m" in colored
    assert re.search(r"^\x1b\[1mtpr\x1b\[0m$", colored, re.MULTILINE)
    for output in (["--json"], ["--csv", "-"]):
        assert "\x1b" not in run(*DEMO, *output, "--color", "always")[1]


@pytest.mark.parametrize(
    "choice, variables, on_terminal, elsewhere",
    [
        ("auto", {}, True, False),
        ("auto", {"NO_COLOR": ""}, True, False),
        ("auto", {"NO_COLOR": "0"}, False, False),  # set and not empty, whatever it is
        ("auto", {"TERM": "dumb"}, False, False),
        ("always", {"NO_COLOR": "1"}, True, True),
        ("never", {}, False, False),
    ],
)
def test_when_there_are_colors(choice, variables, on_terminal, elsewhere, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert in_color(choice, Terminal()) == on_terminal
    assert in_color(choice, io.StringIO()) == in_color(choice, None) == elsewhere


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
