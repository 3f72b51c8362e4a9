"""Results on standard output and in files, and what happens to files that exist."""

from __future__ import annotations

import csv
import json
import os
import shlex
from pathlib import Path

import pytest

COLUMNS = ["--label", "y", "--score", "s", "--group", "g"]
QUICK = ["--chains", "4", "--draws", "4", "--warmup", "10", "--metric", "tpr"]
ASSESS = ["assess", "rows.csv", *COLUMNS, *QUICK]
BEGINS = {"html": "<!DOCTYPE html>\n", "markdown": "# ", "csv": "quantity,metric,"}
LABELS = {"html": "HTML", "markdown": "Markdown", "csv": "CSV"}


def report(result, name, *arguments):
    if name == "csv":
        return result.to_csv()
    return getattr(result, f"to_{name}")(command=shlex.join(["lightfair", *arguments]))


@pytest.mark.parametrize("name", BEGINS)
def test_a_file_or_standard_output(name, ask, result, folder):
    arguments = [*ASSESS, f"--{name}", "it's a report"]
    file = folder / "it's a report"
    file.write_text("an old one")
    assert ask(*arguments) == f"{result}\n\nit's a report: {LABELS[name]}\n"
    written = file.read_bytes().decode()
    assert written.startswith(BEGINS[name]) and written == report(result, name, *arguments)
    printed = ask(*arguments[:-1], "-")
    assert printed.startswith(BEGINS[name]) and len(printed) > len(written) - 200
    assert not (folder / "-").exists()


@pytest.mark.parametrize(
    "command, quantities",
    [
        (["demo", "--rows", "600", "--labeled", "60"], {"metric", "difference"}),
        (["plan", "rows.csv", *COLUMNS, "--extra", "50"], {"width", "labels"}),
        (["threshold", "rows.csv", *COLUMNS], {"wanted", "recommended"}),
        (["compare", "rows.csv", *COLUMNS, "--score", "d"], {"difference", "overall"}),
    ],
)
def test_every_result_has_reports(command, quantities, ask):
    options = [word for name in BEGINS for word in (f"--{name}", f"a.{name}")]
    out = ask(*command, *QUICK, *options)
    assert out.endswith("\n\na.html: HTML\na.markdown: Markdown\na.csv: CSV\n")
    assert "settings" in json.loads(ask(*command, *QUICK, "--json"))
    for name, begin in BEGINS.items():
        assert Path(f"a.{name}").read_text().startswith(begin)
    assert f"lightfair {command[0]}" in Path("a.markdown").read_text()
    rows = list(csv.DictReader(Path("a.csv").read_text().splitlines()))
    assert quantities <= {row["quantity"] for row in rows}


@pytest.mark.parametrize(
    "words, message",
    [
        ("assess --json --html -", "standard output takes one of --json and --html -; name files"),
        ("assess --csv rows.csv", "--csv must differ from a FILE that is read; got rows.csv"),
        ("assess --html a --csv ./a", "--csv must differ from --html; got ./a"),
        ("assess --html .", "--html: . is a folder; give the name of a file"),
        ("assess --markdown=", "--markdown: the file to write must have a name"),
        ("plan --choose 5 --output next --csv next", "--csv must differ from --output"),
        ("plan --choose 5 --output rows.csv", "--output must differ from a FILE that is"),
        ("summarize -o rows.csv", "--output must differ from a FILE that is read"),
        ("summarize -o .", "is a folder; give the name"),
    ],
)
def test_outputs_are_checked_before_the_work(words, message, text, fail):
    before = sorted(os.listdir())
    assert message in fail(*words.split(), "rows.csv", *COLUMNS, "--label", "absent")
    assert sorted(os.listdir()) == before and Path("rows.csv").read_text() == text


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_the_text_is_printed_if_a_file_cannot_be_written(run, result):
    code, out, err = run(*ASSESS, "--csv", "/dev/full")
    assert (code, out) == (2, f"{result}\n")
    assert err == "lightfair: error: --csv: /dev/full: no space left on device\n"
