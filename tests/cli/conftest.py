"""Rows in a file, and ways to run the command in this process."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lightfair as lf
from lightfair.cli.main import main


@pytest.fixture(scope="session")
def text(rows):
    """CSV: y, s, g, h (levels u, v), d (decisions), w (weights), p (of being labeled)."""
    lines = ["y,s,g,h,d,w,p"]
    for i, (y, s, g) in enumerate(zip(rows.y_true, rows.y_score, rows.group, strict=True)):
        label = "" if np.isnan(y) else int(y)
        lines.append(f"{label},{float(s)!r},{g},{'uv'[i % 2]},{int(s > 0.3)},2,{0.1 + 0.8 * s}")
    return "\n".join([*lines, ""])


@pytest.fixture
def folder(text, tmp_path, monkeypatch):
    """The working directory, with rows.csv; nothing is compiled."""
    monkeypatch.setenv("LIGHTFAIR_JIT", "0")
    (tmp_path / "rows.csv").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def result(rows):
    """The assessment of rows.csv that `QUICK` of the tests asks for."""
    options = {"metrics": "tpr", "chains": 4, "draws": 4, "warmup": 10, "rng": 0}
    return lf.assess(rows.y_true, rows.y_score, sensitive_features={"g": rows.group}, **options)


@pytest.fixture
def run(folder, capsys):
    """Run the command; return its exit code, standard output and standard error."""

    def run(*arguments):
        with warnings.catch_warnings():  # of Python would show paths of the program
            warnings.simplefilter("error", lf.FairnessWarning)
            try:
                code = main([*map(str, arguments)])
            except SystemExit as stop:
                code = stop.code
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def ask(run):
    """Run a command that succeeds; return its standard output."""

    def ask(*arguments):
        code, out, err = run(*arguments)
        assert (code, err) == (0, "")
        return out

    return ask


@pytest.fixture
def fail(run):
    """Run a command that fails with exit code 2 and one sentence; return the sentence."""

    def fail(*arguments):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith("lightfair: error: ") and err.count("\n") == 1
        assert err[:-1].isprintable() and "Traceback" not in err
        return err

    return fail
