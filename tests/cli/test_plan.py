"""`lightfair plan`: what it prints and writes, and how it says what is wrong."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import lightfair as lf
from lightfair import plan_labels
from lightfair.cli.main import main
from lightfair.planning.choose import choose_labels

SAMPLER = ["--chains", "4", "--draws", "150", "--warmup", "80", "--seed", "2"]
FAST = ["--refits", "0", *SAMPLER]
COLUMNS = ["--label", "y", "--score", "s", "--group", "g"]


@pytest.fixture(scope="module")
def rows():
    return lf.simulate(800, 80, rng=4)


@pytest.fixture
def path(rows, tmp_path):
    name = tmp_path / "rows.csv"
    with name.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["y", "s", "g"])
        for y, s, g in zip(rows.y_true, rows.y_score, rows.group, strict=True):
            writer.writerow(["" if np.isnan(y) else int(y), repr(float(s)), g])
    return str(name)


def assessed(rows):
    return lf.assess(
        rows.y_true,
        rows.y_score,
        sensitive_features=rows.group,
        metrics="tpr",
        chains=4,
        draws=150,
        warmup=80,
        rng=2,
    )


def test_it_prints_the_plan(rows, path, capsys):
    assert main(["plan", path, *COLUMNS, "--width", "0.1", "--extra", "50", *FAST]) == 0
    want = plan_labels(assessed(rows), width=0.1, extra=[50], refits=0)
    assert capsys.readouterr().out == f"{want}\n"


def test_json_is_that_of_the_plan(rows, path, capsys):
    options = ["--extra", "50", "--refits", "2", "--within", "0.1", "--json", *SAMPLER]
    assert main(["plan", path, *COLUMNS, *options]) == 0
    found = json.loads(capsys.readouterr().out)
    want = plan_labels(assessed(rows), extra=[50], refits=2, within=0.1, rng=2).to_dict()
    assert [step["extra"] for step in found["steps"]] == [0, 50]
    assert found["labels"]["number"] == want["labels"]["number"]
    mine, other = (
        [d["width"] for step in of["steps"] for d in step["differences"]] for of in (found, want)
    )
    np.testing.assert_allclose(mine, other, rtol=1e-9)


def test_a_table_can_be_planned_for(rows, path, tmp_path, capsys):
    table = str(tmp_path / "table.json")
    assert main(["summarize", path, *COLUMNS, "--output", table]) == 0
    capsys.readouterr()
    assert main(["plan", table, "--metric", "fpr", "--difference", "B", *FAST]) == 0
    assert "Plan for fpr" in capsys.readouterr().out
    assert main(["plan", table, "--choose", "5", "--output", str(tmp_path / "o"), *FAST]) == 2
    assert "--choose needs rows" in capsys.readouterr().err


def test_rows_to_label_are_written(rows, path, tmp_path, capsys):
    out = tmp_path / "next.csv"
    command = ["plan", path, *COLUMNS, "--choose", "20", "--output", str(out), *FAST]
    for _ in range(2):  # a list of rows may be written over
        assert main(command) == 0
    assert "20 rows to label" in capsys.readouterr().out
    with out.open(newline="") as file:
        found = list(csv.reader(file))
    want = choose_labels(
        assessed(rows),
        20,
        y_score=rows.y_score,
        sensitive_features=rows.group,
        y_true=rows.y_true,
        rng=2,
    )
    assert found[0] == ["row", "label_prob"]
    assert [int(row) for row, _ in found[1:]] == want.rows.tolist()
    np.testing.assert_allclose([float(p) for _, p in found[1:]], want.prob, rtol=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--width", "0"], "--width must be above 0 and below 2; got 0.0"),
        (["--width", "2"], "--width must be above 0 and below 2; got 2.0"),
        (["--within", "0"], "--within must be above 0 and below 1"),
        (["--within", "2"], "--within must be above 0 and below 1; got 2.0"),
        (["--refits", "1"], "--refits must be 0 or"),
        (["--extra", "9999"], "--extra must be whole numbers in [0, 720]"),
        (["--difference", "C"], "--difference must be one of the groups"),
        (["--metric", "tpr", "fpr"], "--metric must name one metric"),
        (["--metric", "auc"], "--metric must be one of confusion counts"),
        (["--metric", "nope"], "unknown metric 'nope'"),
        (["--choose", "5"], "--choose needs --output"),
        (["--output", "x.csv"], "--output is for the rows to label"),
        (["--choose", "0", "--output", "x.csv"], "--choose must be a whole number"),
        (["--choose", "5", "--output", "no/x.csv"], "is not a folder"),
        (["--choose", "5", "--output", "x", "--method", "best"], "--method must be one of"),
        (["--choose", "5", "--output", "x", "--explore", "0"], "--explore must lie in (0, 1]"),
        (["--choose", "5", "--output", "x", "--missing", "drop"], "--choose needs the numbers"),
        (["--threshold", "0.3", "--threshold", "0.5"], "--threshold must be one threshold"),
        (["--threshold", "all"], "--threshold must be one threshold"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(
    path, options, message, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["plan", path, *COLUMNS, *FAST, *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert error.startswith("lightfair: error: ")


@pytest.mark.parametrize("option", [["--check", "tpr<=0.05"], ["--simultaneous"]])
def test_options_of_reports_alone_are_no_options_of_plans(path, option, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["plan", path, *COLUMNS, *FAST, *option])
    out, error = capsys.readouterr()
    assert (stop.value.code, out) == (2, "")
    assert error.count("\n") == 1
    said = f"lightfair: error: unrecognized arguments: {option[0]} is an option of assess"
    assert error.startswith(said)
    for command, listed in (("plan", False), ("assess", True)):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert (f"{option[0]} " in capsys.readouterr().out.replace("\n", " ")) == listed


def test_data_are_not_written_over(path, capsys):
    assert main(["plan", path, *COLUMNS, "--choose", "5", "--output", path, *FAST]) == 2
    assert "is no list of rows; it would be overwritten" in capsys.readouterr().err
