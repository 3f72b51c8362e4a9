"""Colours: on a terminal, where they are wanted, and without a change of the layout."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys

import pytest

from lightfair.cli.main import main
from lightfair.cli.terminal import STYLE, in_color

pty = pytest.importorskip("pty")

CODE = re.compile(r"\x1b\[[0-9;]*m")
DEMO = ["demo", "--rows", "600", "--labeled", "60", "--metric", "tpr", "--draws", "4"]
DEMO += ["--warmup", "10", "--check", "selection_rate<=0.001", "--check", "tpr<=0.9"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def on_a_terminal(env, *arguments):
    """What the command writes to a terminal of its own, and its exit code."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "lightfair", *arguments],
        env=env,
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
    )
    os.close(theirs)
    found = b""
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        found += block
    os.close(ours)
    assert process.stderr.read() == b""
    process.stderr.close()
    return found.decode().replace("\r\n", "\n"), process.wait(60)


@pytest.fixture
def env(child_env):
    plain = {k: v for k, v in child_env.items() if k not in ("NO_COLOR", "TERM", "COLUMNS")}
    return {**plain, "TERM": "xterm"}


def test_a_terminal_has_colours_and_nothing_else_changes(env, capsys):
    text, code = on_a_terminal(env, *DEMO)
    assert main(DEMO) == code == 1
    plain = capsys.readouterr().out
    assert CODE.sub("", text) == plain and "\x1b" not in plain
    assert "\x1b[1;31mfail\x1b[0m" in text
    assert re.search(r"^\x1b\[1mtpr\x1b\[0m$", text, re.MULTILINE)


@pytest.mark.parametrize(
    "change, options, colored",
    [
        ({"NO_COLOR": "1"}, [], False),
        ({"NO_COLOR": ""}, [], True),
        ({"TERM": "dumb"}, [], False),
        ({}, ["--color", "never"], False),
        ({"NO_COLOR": "1"}, ["--color", "always"], True),
    ],
)
def test_what_turns_colours_off(change, options, colored, env):
    text, _ = on_a_terminal({**env, **change}, *DEMO, *options)
    assert bool(CODE.search(text)) == colored


def test_no_terminal_no_colours_but_where_they_are_asked_for(capsys):
    main(DEMO)
    plain = capsys.readouterr().out
    main([*DEMO, "--color", "always"])
    colored = capsys.readouterr().out
    assert "\x1b" not in plain and CODE.sub("", colored) == plain != colored


def test_numbers_for_programs_have_no_colours(capsys):
    for output in (["--json"], ["--csv", "-"]):
        main([*DEMO, *output, "--color", "always"])
        assert "\x1b" not in capsys.readouterr().out


def test_warnings_and_every_status_have_a_colour():
    assert {("verdict", ""), ("verdict", "pass"), ("verdict", "fail"), ("warning", "")} <= {*STYLE}
    assert all(CODE.fullmatch(before) and after == "\x1b[0m" for before, after in STYLE.values())


def test_the_rule(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert in_color("auto", Terminal()) and not in_color("auto", io.StringIO())
    assert in_color("always", io.StringIO()) and not in_color("never", Terminal())
    monkeypatch.setenv("NO_COLOR", "0")  # present and not empty, whatever it is
    assert not in_color("auto", Terminal())
