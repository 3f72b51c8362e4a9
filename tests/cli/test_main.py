"""Exit codes: bad input in this process; signals and streams in processes of their own."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys

import pytest

import lightfair as lf

COLUMNS = "--label y --score s --group g"
RUN = "--chains 4 --draws 4 --warmup 10"
ROWS = f"rows.csv {COLUMNS}"
MODELS = f"compare {ROWS} {RUN} --score d"
CHOOSE = f"plan {ROWS} {RUN} --choose 5 --output next.csv"
posix = pytest.mark.skipif(os.name != "posix", reason="signals and shells of POSIX systems")


@pytest.mark.parametrize(
    "words, message",
    [
        ("assess absent.csv " + COLUMNS, "absent.csv: no such file or directory"),
        ("assess rows.csv", "give --label, --score and --group; its columns are y, s, g, h, d, w"),
        (f"assess {ROWS} --label G", r"no column G \(did you mean 'g'\?\)"),
        (f"assess {ROWS} --pred h", "--pred must .* 'u' at row 0; .* --positive-label V"),
        (f"assess {ROWS} --pred d --threshold 0.4", "--threshold must be left out with --pred,"),
        (f"assess {ROWS} --weight s", "--weight: a column has one role; s is --score, too"),
        (f"assess {ROWS} --subsample-labels 61", "--subsample-labels must be at most 60"),
        ("demo --labeled 20000", "--labeled must be at most 10000"),
        (f"summarize {ROWS} --threshold all -o t.json", "--threshold all is an option of assess"),
        ("sql --dialect duckdb --table t", "give --label, --score and --group"),
        (f"sql --dialect duckdb --table t {COLUMNS} --label-prob d", "unrecognized .* --label-p"),
        (f"plan {ROWS} --choose 5", "--choose and --output belong together"),
        (f"{CHOOSE} --output -", "--output must name a file"),
        (f"{CHOOSE} --subsample-labels 9", "that --subsample-labels hides; leave one out"),
        (f"{CHOOSE} --missing drop", "--choose needs the numbers of rows"),
        (f"threshold {ROWS} --reach 0.2 --reference A", "give one of them"),
        (f"threshold {ROWS} {RUN} --group-to-move A", "--group-to-move must .*'A'"),
        (f"{MODELS} --threshold A=0.2", "threshold must be one number for each of s, d"),
    ],
)
def test_bad_input(words, message, fail):
    assert re.search(message, fail(*words.split()))


@pytest.mark.parametrize(
    "content, message",
    [
        ("y,s,g\n1,1.5,A\n", r"--score\b.* must .* got 1.5 at row 0"),
        ("y,s,g\n1,-2,A\n", r"look like log odds or margins; pass 1 / \(1 \+ exp\(-score\)\)"),
        ("y,s,g\n1,.5,A\n0,.5,\n", r"--group\b.* 1 missing value \(row 1\)"),
        ("a\x1b[31m,b\u202e\n1,2\n", r"its columns are 'a\\x1b\[31m', 'b\\u202e'"),
        (",".join(f"f_{i}" for i in range(300)) + "\n", "its columns are f_0, f_1, .*280 more"),
    ],
)
def test_bad_files(content, message, fail, folder):
    (folder / "bad.csv").write_text(content, encoding="utf-8")
    assert re.search(message, fail("assess", "bad.csv", *COLUMNS.split()))
    fail("assess", "rows.csv", "bad.csv", *COLUMNS.split())


def test_a_wrong_environment_variable(fail, monkeypatch):
    monkeypatch.setenv("LIGHTFAIR_JIT", "yes")
    assert "LIGHTFAIR_JIT must be 0, 1 or unset; got 'yes'" in fail("assess", *ROWS.split())
    monkeypatch.setenv("LIGHTFAIR_JIT", "1")
    monkeypatch.setitem(sys.modules, "numba", None)
    assert "numba is not installed" in fail("assess", *ROWS.split())


def test_the_version_is_that_of_the_package(ask):
    assert ask("--version") == f"lightfair {lf.__version__}\n"


# in a process of its own


def start(env, words, **options):
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    command = [sys.executable, "-m", "lightfair", *words.split()]
    return subprocess.Popen(command, env={**env, "LIGHTFAIR_JIT": "0"}, **{**pipes, **options})


@posix
@pytest.mark.parametrize("name, code", [("SIGINT", 130), ("SIGTERM", -15)])
def test_signals_while_it_reads(name, code, child_env, tmp_path):
    process = start(child_env, f"summarize - -o table.json {COLUMNS}", cwd=tmp_path)
    # more than a pipe holds: once all is written, some has been read
    process.stdin.write(b"y,s,g\n" + b"1,0.5,A\n0,0.25,B\n" * 20_000)
    process.stdin.flush()
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, b"")
    assert err == (b"lightfair: interrupted\n" if code == 130 else b"")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "words, code",
    [(f"demo --rows 600 --metric tpr {RUN} --check selection_rate<=0.001", 1), ("--help", 0)],
)
def test_a_closed_pipe_does_not_change_the_exit_code(words, code, child_env):
    process = start(child_env, words)
    process.stdout.close()
    err = process.stderr.read()
    process.stdin.close()
    process.stderr.close()
    assert (process.wait(60), err) == (code, b"")


@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
@pytest.mark.parametrize(
    "words, message",
    [
        ("--help >/dev/full", "standard output: no space left on device"),
        (f"assess - {COLUMNS} >&-", "standard output: it is closed; send it to a file or to /dev"),
        (f"assess - {COLUMNS} <&-", "standard input is closed; give the name of a file"),
        ("asses 2>/dev/full", None),
        ("asses 2>&-", None),
    ],
)
def test_streams_that_cannot_be_used(words, message, child_env):
    command = f"exec {shlex.quote(sys.executable)} -m lightfair {words}"
    done = subprocess.run(
        ["/bin/sh", "-c", command], env=child_env, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert message is None or done.stderr.startswith(f"lightfair: error: {message}")
    assert done.stderr.count("\n") == (message is not None)


def test_rows_of_standard_input_with_names_that_ascii_lacks(child_env, text, tmp_path, result):
    process = start({**child_env, "PYTHONIOENCODING": "ascii"}, f"assess - {COLUMNS} {RUN}")
    out, err = process.communicate(text.replace(",A,", ",größer,").encode(), timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert b"gr\\xf6\\xdfer" in out
