"""Where results go: `--html`, `--markdown`, `--csv`, `--json`, and what happens to old files."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import signal
import subprocess
import sys

import numpy as np
import pytest

import lightfair as lf
from lightfair.cli.main import main

COLUMNS = ["--label", "y", "--score", "s", "--group", "g"]
QUICK = ["--draws", "4", "--warmup", "10", "--metric", "tpr"]
BEGINS = {"html": "<!DOCTYPE html>\n", "markdown": "# ", "csv": "quantity,metric,"}
FORMATS = tuple(BEGINS)


@pytest.fixture
def path(rows, tmp_path):
    lines = ["y,s,g"]
    for y, s, g in zip(rows.y_true, rows.y_score, rows.group, strict=True):
        lines.append(f"{'' if np.isnan(y) else int(y)},{float(s)!r},{g}")
    (tmp_path / "rows.csv").write_text("\n".join([*lines, ""]))
    return str(tmp_path / "rows.csv")


@pytest.fixture
def run(capsys):
    def run(*arguments):
        code = main([*map(str, arguments)])
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def result(rows):
    return lf.assess(
        rows.y_true,
        rows.y_score,
        sensitive_features={"g": rows.group},
        metrics="tpr",
        draws=4,
        warmup=10,
        rng=0,
    )


def made(result, name, command):
    return result.to_csv() if name == "csv" else getattr(result, f"to_{name}")(command=command)


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_is_written_and_the_text_is_printed_all_the_same(
    name, path, tmp_path, run, result
):
    out = tmp_path / "a report"
    arguments = ["assess", path, *COLUMNS, *QUICK, f"--{name}", str(out)]
    kind = {"html": "HTML", "markdown": "Markdown", "csv": "CSV"}[name]
    for _ in range(2):  # one that is there is written over
        assert run(*arguments) == (0, f"{result}\n\n{out}: {kind}\n", "")
        text = out.read_bytes().decode()
        assert text.startswith(BEGINS[name])
        assert text == made(result, name, shlex.join(["lightfair", *arguments]))


@pytest.mark.parametrize("name", FORMATS)
def test_a_hyphen_prints_it_in_place_of_the_text(name, path, tmp_path, run, result):
    arguments = ["assess", path, *COLUMNS, *QUICK, f"--{name}", "-"]
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    text = made(result, name, shlex.join(["lightfair", *arguments]))
    assert out == text.removesuffix("\n") + "\n"


def test_several_at_once(path, tmp_path, run, result):
    files = {name: tmp_path / f"report.{name}" for name in FORMATS}
    options = [part for name, file in files.items() for part in (f"--{name}", file)]
    code, out, err = run("assess", path, *COLUMNS, *QUICK, *options, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == json.loads(json.dumps(result.to_dict()))
    assert all(file.read_text().startswith(BEGINS[name]) for name, file in files.items())
    (tmp_path / "report.csv").unlink()
    code, out, _ = run("assess", path, *COLUMNS, *QUICK, *options[:4], "--csv", "-")
    assert out.startswith("quantity,") and not (tmp_path / "report.csv").exists()


def test_the_command_line_is_in_the_report_as_it_was_typed(path, tmp_path, run):
    out = tmp_path / "it's.md"
    run("assess", path, *COLUMNS, *QUICK, "--markdown", out, "--check", "tpr<=0.5")
    words = ["lightfair", "assess", path, *COLUMNS, *QUICK]
    words += ["--markdown", str(out), "--check", "tpr<=0.5"]
    assert shlex.join(words) in out.read_text().replace("\n", " ")


def test_the_exit_code_is_that_of_the_checks(path, tmp_path, run):
    for check, code in (("selection_rate<=0.001", 1), ("selection_rate<=0.999", 0)):
        arguments = ["assess", path, *COLUMNS, *QUICK, "--check", check]
        assert run(*arguments, "--html", tmp_path / "a.html")[0] == code
        assert run(*arguments, "--csv", "-")[0] == code


def test_all_that_is_found_has_reports(path, tmp_path, run):
    demo = ["demo", "--rows", "600", "--labeled", "60", *QUICK]
    plan = ["plan", path, *COLUMNS, *QUICK, "--refits", "0", "--extra", "50"]
    search = ["threshold", path, *COLUMNS, *QUICK]
    for arguments in (demo, plan, search):
        for name in FORMATS:
            out = tmp_path / f"{arguments[0]}.{name}"
            code, text, err = run(*arguments, f"--{name}", out)
            assert (code, err) == (0, "") and text.endswith(f"{out}: " + {
                "html": "HTML", "markdown": "Markdown", "csv": "CSV"}[name] + "\n")  # fmt: skip
            assert out.read_text().startswith(BEGINS[name])
    found = list(csv.DictReader(io.StringIO((tmp_path / "plan.csv").read_text())))
    assert {row["quantity"] for row in found} >= {"width", "labels"}
    found = list(csv.DictReader(io.StringIO((tmp_path / "threshold.csv").read_text())))
    assert {row["quantity"] for row in found} >= {"wanted", "recommended"}


@pytest.mark.parametrize(
    "options, message",
    [
        (["--json", "--html", "-"], "standard output takes one of --json and --html -; name files"),
        (
            ["--csv", "-", "--markdown", "-"],
            "standard output takes one of --markdown - and --csv -",
        ),
        (["--csv", "rows.csv"], "--csv rows.csv is a FILE that is read; it would be overwritten"),
        (["--html", "a", "--csv", "./a"], "--csv and --html must be different files; got ./a"),
        (["--html", "no/a.html"], "no is not a folder; make it first"),
        (["--html", "."], ". is a folder; give the name of a file"),
        (["--markdown", ""], "the file to write must have a name; got none"),
        (["--csv", "data.csv"], "data.csv is there and is no table of results; it would be overwr"),
        (["--html", "data.csv"], "data.csv is there and is no HTML page; it would be overwritten"),
        (["--markdown", "data.csv"], "data.csv is there and is no Markdown report; it would be"),
    ],
)
def test_what_cannot_be_written_is_said_before_the_work(
    options, message, path, tmp_path, run, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("id,metric\n")
    before = sorted(os.listdir(tmp_path))
    code, out, err = run("assess", "rows.csv", *COLUMNS, "--label", "absent", *options)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert message in err
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "data.csv").read_text() == "id,metric\n"


def test_the_rows_to_label_are_another_file(path, tmp_path, run):
    out = tmp_path / "next.csv"
    given = ["plan", path, *COLUMNS, *QUICK, "--choose", "5", "--output", out, "--csv", out]
    code, _, err = run(*given)
    assert code == 2 and "--csv and --output must be different files" in err


def test_an_empty_file_may_be_written_over(path, tmp_path, run):
    (tmp_path / "a.html").touch()
    assert run("assess", path, *COLUMNS, *QUICK, "--html", tmp_path / "a.html")[0] == 0


def small_disk():
    resource = pytest.importorskip("resource")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


@pytest.mark.skipif(os.name != "posix", reason="limits of files are those of POSIX systems")
def test_the_text_is_printed_and_the_old_report_stays_where_the_disk_is_full(
    path, tmp_path, child_env, result
):
    out = tmp_path / "report.html"
    out.write_text("<!doctype html>old")
    before = sorted(os.listdir(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "lightfair", "assess", path, *COLUMNS, *QUICK, "--html", str(out)],
        env={**child_env, "PYTHONDONTWRITEBYTECODE": "1"},  # modules would be cut short, too
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=small_disk,
    )
    assert done.returncode == 2
    assert done.stderr == f"lightfair: error: --html: {out}: file too large\n"
    assert done.stdout == f"{result}\n"
    assert out.read_text() == "<!doctype html>old" and sorted(os.listdir(tmp_path)) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_a_full_device(path, run, result):
    code, out, err = run("assess", path, *COLUMNS, *QUICK, "--csv", "/dev/full")
    assert (code, out) == (2, f"{result}\n")
    assert err == "lightfair: error: --csv: /dev/full: no space left on device\n"


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no /dev/fd")
def test_standard_output_by_its_name(path, child_env, tmp_path, result):
    arguments = [sys.executable, "-m", "lightfair", "assess", path, *COLUMNS, *QUICK]
    with open(tmp_path / "both", "w") as both:
        subprocess.run(
            [*arguments, "--csv", "/dev/stdout"], env=child_env, stdout=both, check=True, timeout=60
        )
    text = (tmp_path / "both").read_text()
    assert text == f"{result.to_csv()}{result}\n\n/dev/stdout: CSV\n"


def test_without_matplotlib_the_page_has_no_plots_and_that_is_said(
    path, tmp_path, run, monkeypatch
):
    pytest.importorskip("matplotlib")
    out = tmp_path / "a.html"
    _, text, err = run("assess", path, *COLUMNS, *QUICK, "--html", out)
    assert err == "" and "<svg" in out.read_text()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, again, err = run("assess", path, *COLUMNS, *QUICK, "--html", out)
    assert (code, again) == (0, text)
    assert err.startswith("lightfair: note: the page has no plots") and err.count("\n") == 1
    assert "<svg" not in out.read_text()
