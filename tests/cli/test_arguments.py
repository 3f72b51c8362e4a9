"""From options to settings, rows and tables."""

from __future__ import annotations

import gzip
import json
from argparse import Namespace

import pytest

import lightfair as lf
from lightfair.cli.arguments import one_threshold, sentence, threshold_of
from lightfair.cli.options import threshold as cut

COLUMNS = ["--label", "y", "--score", "s", "--group", "g"]
VALUES = {"reference": "B", "prob": 0.8, "target": "expected", "epsilon": 0.1, "family": "llo"}
VALUES |= {"clip": 0.02, "chains": 4, "draws": 5, "warmup": 11}
QUICK = ["--chains", "4", "--draws", "4", "--warmup", "10", "--metric", "tpr"]


@pytest.fixture
def halves(text, folder):
    """Names of two files of the rows, one of them gzipped."""
    lines = text.splitlines(keepends=True)
    (folder / "one.csv").write_text("".join(lines[:250]))
    (folder / "two.csv.gz").write_bytes(gzip.compress("".join([lines[0], *lines[250:]]).encode()))
    return "one.csv", "two.csv.gz"


def numbers(out):
    """The report without the section that depends on the order of sums."""
    return [part for part in out.split("\n\n") if not part.startswith("diagnostics\n")]


def test_options_reach_the_settings(ask):
    given = "--metric ppv --no-hierarchical --no-trust --simultaneous --alpha 2 --seed 7 --json"
    for name, value in VALUES.items():
        given += f" --{name}={value}"
    given += " --threshold A=0.3 --threshold B=0.6"
    settings = json.loads(ask("assess", "rows.csv", *COLUMNS, *QUICK, *given.split()))["settings"]
    assert {name: settings[name] for name in VALUES} == VALUES
    assert (settings["metrics"], settings["seed"]) == (["tpr", "ppv"], 7)
    off = settings["hierarchical"], settings["trust"], settings["simultaneous"]
    assert off == (False, None, True)
    assert settings["threshold"] == {"A": 0.3, "B": 0.6}
    assert settings["prior"] == lf.Prior().scaled(2.0).to_dict()


CUTS = [(None, None), (["0.4"], 0.4), (["0.4", "0.2"], [0.4, 0.2]), (["all"], "all")]


@pytest.mark.parametrize("words, threshold", [*CUTS, (["A=0.4", "B=x=1"], {"A": 0.4, "B=x": 1.0})])
def test_forms_of_a_threshold(words, threshold):
    arguments = Namespace(threshold=words and list(map(cut, words)), command="plan")
    assert threshold_of(arguments) == threshold
    if isinstance(threshold, (list, str)):
        with pytest.raises(ValueError, match="must be one number here, or NAME=NUMBER"):
            one_threshold(arguments)
    else:
        assert one_threshold(arguments) == threshold


@pytest.mark.parametrize("words", [["A=0.1", "A=0.2"], ["A=0.1", "0.2"], ["all", "0.2"]])
def test_thresholds_of_two_forms(words):
    with pytest.raises(ValueError, match="NAME=NUMBER once for every name"):
        threshold_of(Namespace(threshold=list(map(cut, words))))


def test_files_and_tables_are_added_up(halves, ask, folder):
    one, two = halves
    whole = numbers(ask("assess", "rows.csv", *COLUMNS, *QUICK))
    ask("summarize", one, *COLUMNS, "-o", "one.json")
    ask("summarize", two, *COLUMNS, "-o", "two.json")
    for files in ((one, two), (two, "one.json")):
        assert numbers(ask("assess", *files, *COLUMNS, *QUICK)) == whole
    assert numbers(ask("assess", "one.json", "two.json", *QUICK)) == whole
    assert "400 rows, 60 labeled" in ask("summarize", "one.json", "two.json", "-o", "both.json")
    assert numbers(ask("assess", "both.json", *QUICK)) == whole
    hidden = [*COLUMNS, *QUICK, "--subsample-labels", "30"]
    assert ask("assess", one, two, *hidden) == ask("assess", "rows.csv", *hidden)


def test_options_of_rows_reach_the_table(ask):
    cuts = {"A, u": 0.3, "A, v": 0.4, "B, u": 0.5, "B, v": 0.6}
    given = [word for name, value in cuts.items() for word in ("--threshold", f"{name}={value}")]
    given += ["--group", "h", "--weight", "w", "--clip", "0.02"]
    out = ask("summarize", "rows.csv", *COLUMNS, *given, "-o", "table.json")
    assert "weighted; 4 groups by g and h; thresholds A, u 0.3," in out
    table = lf.load_table("table.json")
    assert (table.clip, table.weighted, table.attributes) == (0.02, True, ("g", "h"))
    assert table.threshold == cuts
    settings = json.loads(ask("assess", "table.json", *QUICK, "--nested", "--json"))["settings"]
    assert (settings["clip"], settings["threshold"]) == (0.02, cuts)
    assert settings["hierarchical"] == "nested"
    ask("assess", "table.json", *QUICK, "--clip", "0.02", *given[:8])


def test_probabilities_of_being_labeled(ask, rows):
    given = [*COLUMNS, "--label-prob", "p"]
    ask("summarize", "rows.csv", *given, "-o", "table.json")
    known = {"label_prob": 0.1 + 0.8 * rows.y_score, "sensitive_features": rows.group}
    want = lf.score_table(lf.score_data(rows.y_true, rows.y_score, **known)).design
    assert lf.load_table("table.json").design == pytest.approx(want)
    for more in ([], ["--subsample-labels", "50"]):
        assert "label_prob: " in ask("assess", "rows.csv", *given, *QUICK, *more)


@pytest.mark.parametrize("name, repeats", [("patient_id", 2), ("id", 1), ("paid", 2), ("rowID", 2)])
def test_clusters(name, repeats, folder, text, run, ask, fail):
    lines = text.splitlines()
    rows = [f"{line},{n // repeats}" for n, line in enumerate(lines[1:])]
    (folder / "rows.csv").write_text("\n".join([f"{lines[0]},{name}", *rows, ""]))
    code, out, err = run("assess", "rows.csv", *COLUMNS, *QUICK)
    warned = repeats > 1 and name != "paid"
    expected = f"lightfair: warning: column {name} repeats values; if rows of one value"
    assert (code, err.startswith(expected)) == (0, warned) and warned == bool(err)
    assert "clusters" not in out
    assert " clusters, " in ask("assess", "rows.csv", *COLUMNS, *QUICK, "--cluster", name)
    ask("summarize", "rows.csv", *COLUMNS, "--cluster", name, "-o", "table.json")
    assert " clusters, " in ask("assess", "table.json", *QUICK)
    assert fail("plan", "table.json", *QUICK).startswith("lightfair: error: labels of clusters are")


@pytest.mark.parametrize(
    "options, message",
    [
        (COLUMNS, "no FILE holds rows, only tables; leave out --label, --score, --group"),
        (["--clip", "0.02"], "clip must be 0.01, that of the table"),
        (["--threshold", "0.4"], "threshold must be 0.5, that of the table"),
        (["--subsample-labels", "5"], "single rows are needed: give --label, --score and --group"),
        ([*COLUMNS, "--subsample-labels", "5"], "holds a table, not rows"),
        (["table.json"], "table.json is given twice; its rows would count twice"),
        (["./other.json"], "other.json: tables add only "),
        (["rows.csv"], "rows.csv holds rows, not a table"),
        (["--label", "y"], "rows need --score and --group, too"),
    ],
)
def test_options_that_do_not_fit_tables(options, message, ask, fail):
    ask("summarize", "rows.csv", *COLUMNS, "-o", "table.json")
    ask("summarize", "rows.csv", *COLUMNS, "--threshold", "0.4", "-o", "other.json")
    assert message in fail("assess", "table.json", *options)
    if options[0] == "--threshold":
        assert message in fail("summarize", "table.json", *options, "-o", "another.json")


@pytest.mark.parametrize(
    "error, command, text",
    [
        (ValueError("y_score must lie in"), "assess", "--score must lie in"),
        (ValueError("a b.csv: y_true['l'] must"), "plan", "a b.csv: --label['l'] must"),
        (ValueError("has no column y_true; its columns are y_pred, s"), "assess", None),
        (ValueError("y_true/rows.csv: metrics: no"), "assess", "y_true/rows.csv: --metric: no"),
        (ValueError("c is y_score, too; its columns are c"), "sql", "c is --score, too; its colum"),
        (ValueError("group must be a group"), "plan", "--difference must be a group"),
        (ValueError("group must be a group"), "threshold", "--group-to-move must be a group"),
        (ValueError("prob must lie in (0, 1)"), "demo", "--prob must lie in (0, 1)"),
        (ValueError("y_true: or pass unlabeled="), "plan", "--label: or pass --unlabeled VALUE"),
        (ValueError('pass missing="drop" or'), "assess", "pass --missing drop or"),
        (MemoryError("10 TB"), "assess", "not enough memory: 10 TB"),
        (PermissionError(13, "Permission denied", b"x.csv"), "assess", "x.csv: permission denied"),
    ],
)
def test_errors_name_options(error, command, text):
    assert sentence(error, Namespace(command=command)).startswith(
        str(error) if text is None else text
    )
