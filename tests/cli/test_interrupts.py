"""Ctrl-C and readers that go: what a process says and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX systems")

COLUMNS = ["--label", "y", "--score", "s", "--group", "g"]
ROW = "1,0.5,A\n0,0.25,B\n"
SAID = b"lightfair: interrupted\n"


def start(env, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "lightfair", *arguments],
        env=env,
        **{name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")} | options,
    )


@pytest.mark.parametrize("command", [["assess", "-"], ["summarize", "-", "-o", "table.json"]])
def test_it_is_interrupted_while_it_reads(command, child_env, tmp_path):
    process = start(child_env, *command, *COLUMNS, cwd=tmp_path)
    # more than a pipe holds: when all is written, some has been read
    process.stdin.write(b"y,s,g\n" + ROW.encode() * 20_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", SAID)
    assert os.listdir(tmp_path) == []


def test_it_is_interrupted_while_it_samples(child_env):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    env = {**child_env, "LIGHTFAIR_JIT": "0", "TERM": "xterm"}
    process = start(env, "demo", "--draws", "20000", stderr=theirs)
    os.close(theirs)
    seen = b""
    while b"draws: " not in seen:  # the line of progress, after two seconds
        seen += os.read(ours, 1000)
    process.send_signal(signal.SIGINT)
    while b"interrupted\r\n" not in seen:
        seen += os.read(ours, 1000)
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert (process.returncode, out) == (130, b"")
    assert seen.endswith(b"\r\x1b[Klightfair: interrupted\r\n")  # in place of the progress
    assert b"Traceback" not in seen


def test_a_dumb_terminal_has_no_progress(monkeypatch):
    from lightfair.cli.terminal import progress_line

    class Terminal:
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    assert progress_line() is not None
    monkeypatch.setenv("TERM", "dumb")
    assert progress_line() is None


@pytest.mark.parametrize("check, code", [("selection_rate<=0.001", 1), ("selection_rate<=0.9", 0)])
def test_a_gate_keeps_its_code_where_the_reader_goes(check, code, child_env):
    process = start(
        child_env, "demo", "--rows", "600", "--labeled", "60", "--metric", "tpr", "--draws", "4",
        "--warmup", "10", "--check", check,
    )  # fmt: skip
    process.stdout.close()
    err = process.stderr.read()
    process.stdin.close()
    process.stderr.close()
    assert (process.wait(60), err) == (code, b"")


def test_help_may_be_cut(child_env):
    process = start(child_env, "assess", "--help")
    process.stdout.close()
    err = process.stderr.read()
    process.stdin.close()
    process.stderr.close()
    assert (process.wait(60), err) == (0, b"")


def test_it_ends_by_sigterm_as_processes_do(child_env):
    process = start(child_env, "assess", "-", *COLUMNS)
    process.stdin.write(b"y,s,g\n" + ROW.encode() * 20_000)
    process.stdin.flush()
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM


@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full"])
@pytest.mark.parametrize("arguments", ["assess absent.csv --label y --score s --group g", "asses"])
def test_an_error_that_nobody_hears_keeps_its_code(closed, arguments, child_env):
    if closed.endswith("full") and not os.path.exists("/dev/full"):
        pytest.skip("no device that is full")
    command = f"exec '{sys.executable}' -m lightfair {arguments} {closed}"
    done = subprocess.run(["/bin/sh", "-c", command], env=child_env, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (2, b"")
