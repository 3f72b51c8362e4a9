"""Completion by the shell, through argcomplete."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import PACKAGE

argcomplete = pytest.importorskip("argcomplete")


@pytest.fixture
def complete(child_env, tmp_path):
    """What the shell is offered for a line, whose last word is to be completed."""
    (tmp_path / "scores.csv").write_text("id;label;score;race\n1;1;0,5;A\n")

    def offered(line):
        out = tmp_path / "offered"
        out.touch()
        env = {
            **child_env,
            "_ARGCOMPLETE": "1",
            "_ARGCOMPLETE_IFS": "\n",
            "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
            "_ARGCOMPLETE_STDOUT_FILENAME": str(out),
            "COMP_LINE": line,
            "COMP_POINT": str(len(line)),
            "COMP_TYPE": "9",
        }
        done = subprocess.run(
            [sys.executable, "-c", "from lightfair.cli.main import run; run()"],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            timeout=60,
        )
        assert (done.stdout, done.stderr) == (b"", b"")
        return [word.strip() for word in out.read_text().split("\n") if word.strip()]

    return offered


def test_commands_and_options(complete):
    assert set(complete("lightfair ")) >= {"assess", "plan", "summarize", "sql", "demo"}
    assert complete("lightfair ass") == ["assess"]
    assert complete("lightfair assess scores.csv --subsa") == ["--subsample-labels"]
    assert complete("lightfair assess --missing d") == ["drop"]


def test_columns_of_the_file_and_metrics(complete):
    assert complete("lightfair assess scores.csv --label ") == ["id", "label", "score", "race"]
    assert complete("lightfair assess scores.csv --label label --sc") == ["--score"]
    assert complete("lightfair plan scores.csv --label label --group ra") == ["race"]
    assert complete("lightfair demo --metric balance_") == ["balance_positive", "balance_negative"]


def test_what_cannot_be_read_offers_nothing(complete, tmp_path):
    (tmp_path / "bad.csv").write_bytes(b"PK\x03\x04")
    for file in ("bad.csv", "absent.csv", "."):
        assert complete(f"lightfair assess {file} --label ") == []


def test_names_of_files(complete):
    assert "scores.csv" in complete("lightfair assess sco")


def test_scripts_are_marked():
    """argcomplete looks for the marker in the first kilobyte of what runs."""
    for name in ("cli", "__main__"):
        assert "PYTHON_ARGCOMPLETE_OK" in (PACKAGE / f"{name}.py").read_text()[:1024]


def test_it_costs_nothing_where_no_shell_asks(child_env):
    code = """
import atexit, sys, lightfair.cli as cli
atexit.register(lambda: print("argcomplete" in sys.modules))
cli.main(["--version"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=child_env, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.endswith("False\n")


def test_without_argcomplete_nothing_is_offered(child_env, tmp_path):
    env = {**child_env, "_ARGCOMPLETE": "1", "COMP_LINE": "lightfair ", "COMP_POINT": "10"}
    code = "import sys; sys.modules['argcomplete'] = None; sys.argv = ['lightfair', '--version']; "
    code += "from lightfair.cli.main import run; run()"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith(b"lightfair ")
