"""`lightfair compare` and `lightfair threshold`: what they print, and what is wrong with what."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import lightfair as lf
from lightfair.cli.main import main

COLUMNS = ["--label", "y", "--group", "g"]
BOTH = ["--score", "old", "--score", "new"]
SAMPLER = ["--chains", "4", "--draws", "20", "--warmup", "20", "--seed", "2"]
QUICK = {"chains": 4, "draws": 20, "warmup": 20, "rng": 2}


@pytest.fixture(scope="module")
def columns():
    rows = lf.simulate(600, 80, rng=5)
    return {"y": rows.y_true, "old": rows.y_score, "new": rows.y_score**2, "g": rows.group}


@pytest.fixture(scope="module")
def path(columns, tmp_path_factory):
    file = tmp_path_factory.mktemp("rows") / "rows.csv"
    lines = [",".join(columns)]
    for y, old, new, g in zip(*columns.values(), strict=True):
        lines.append(f"{'' if np.isnan(y) else int(y)},{float(old)!r},{float(new)!r},{g}")
    file.write_text("\n".join([*lines, ""]))
    return str(file)


@pytest.fixture
def ask(capsys):
    def run(*arguments):
        assert main([*map(str, arguments)]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return run


@pytest.fixture
def fail(capsys):
    def run(*arguments):
        try:
            code = main([*map(str, arguments)])
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        assert (code, out) == (2, "")
        assert err.startswith("lightfair: error: ") and err.count("\n") == 1
        return err

    return run


def compared(columns, **options):
    scores = {name: columns[name] for name in ("old", "new")}
    group = {"g": columns["g"]}
    options = {"metrics": "tpr", **QUICK, **options}
    return lf.compare_models(scores, columns["y"], sensitive_features=group, **options)


def test_models_are_compared_as_by_the_library(columns, path, ask):
    given = ["compare", path, *COLUMNS, *BOTH, "--metric", "tpr", *SAMPLER]
    want = compared(columns)
    assert ask(*given) == f"{want}\n"
    assert json.loads(ask(*given, "--json")) == json.loads(json.dumps(want.to_dict()))


def test_options_reach_the_comparison(columns, path, ask):
    given = ["compare", path, *COLUMNS, *BOTH, *SAMPLER, "--json"]
    cuts = ["--threshold", "old=0.6", "--threshold", "new=0.3"]
    for options, wanted in (
        (cuts, {"threshold": {"old": 0.6, "new": 0.3}}),
        (["--threshold", "0.4", "--reference", "B"], {"threshold": 0.4, "reference": "B"}),
        (["--no-nested", "--prob", "0.8"], {"hierarchical": True, "prob": 0.8}),
        (["--no-hierarchical", "--no-trust"], {"hierarchical": False, "trust": False}),
    ):
        found = json.loads(ask(*given, "--metric", "tpr", *options))
        assert found == json.loads(json.dumps(compared(columns, **wanted).to_dict()))


def test_a_comparison_has_reports(path, tmp_path, ask):
    files = {name: tmp_path / name for name in ("html", "markdown", "csv")}
    options = [part for name, file in files.items() for part in (f"--{name}", file)]
    ask("compare", path, *COLUMNS, *BOTH, "--metric", "tpr", *SAMPLER, *options)
    assert files["html"].read_text().startswith("<!DOCTYPE html>")
    assert "lightfair compare" in files["markdown"].read_text()
    assert files["csv"].read_text().startswith("quantity,metric,model,than,")


@pytest.mark.parametrize(
    "options, message",
    [
        (["--score", "old"], "scores must hold 2 to 4 models of different names; got 1: old; to"),
        (["--score", "old", "--score", "old"], "2 to 4 models of different names; got 2: old, old"),
        ([], "rows need --label, --score and --group; got no --score"),
        ([*BOTH, "--metric", "auc"], "--metric must be of decisions, which are compared row by"),
        ([*BOTH, "--threshold", "all"], "--threshold must be one number, or COL=NUMBER for each"),
        ([*BOTH, "--threshold", "0.2", "--threshold", "0.4"], "must be one number, or COL=NUMBER"),
        (
            [*BOTH, "--threshold", "A=0.2"],
            "--threshold must name each of the models old, new",
        ),
        ([*BOTH, "--threshold", "old=2", "--threshold", "new=0.2"], "(0, 1)"),
        (["--score", "old", "--score", "nwe"], "has no column nwe (did you mean 'new'?)"),
        ([*BOTH, "--reference", "C"], "reference must be one of the groups"),
        ([*BOTH, "--pred", "p"], "unrecognized arguments: --pred"),
    ],
)
def test_what_is_wrong_with_a_comparison(options, message, path, fail):
    assert message in fail("compare", path, *COLUMNS, *SAMPLER, *options)


def test_what_can_be_read_once_is_no_file_to_compare(path, fail, tmp_path):
    for file, name in (
        ("-", "standard input"),
        (tmp_path / "pipe", f"{tmp_path / 'pipe'}, a pipe"),
    ):
        if file != "-":
            os.mkfifo(file)  # nobody writes to it: who reads waits for ever
        said = fail("compare", path, file, *COLUMNS, *BOTH)
        assert f"compare reads a FILE once for each model, and {name}" in said
        assert "can be read only once; give the name of a file" in said


def test_a_table_has_no_rows_to_compare(path, ask, fail, tmp_path):
    table = tmp_path / "table.json"
    ask("summarize", path, *COLUMNS, "--score", "old", "-o", table)
    said = fail("compare", table, *COLUMNS, *BOTH)
    assert said.endswith("table.json holds a table, not rows; give the rows that it was made of\n")


# thresholds


def found(columns, metric="tpr", group=None, target=None, **options):
    result = lf.assess(
        columns["y"],
        columns["old"],
        sensitive_features={"g": columns["g"]},
        metrics=metric,
        **QUICK,
        **options,
    )
    return lf.find_threshold(result, metric, group=group, target=target)


@pytest.mark.parametrize(
    "options, wanted",
    [
        ([], {}),
        (["--reference", "B", "--group-to-move", "A"], {"reference": "B", "group": "A"}),
        (["--metric", "selection_rate", "--reach", "0.2"], {"metric": "selection_rate",
                                                           "target": 0.2}),
        (["--threshold", "A=0.4", "--threshold", "B=0.6"], {"threshold": {"A": 0.4, "B": 0.6}}),
    ],
)  # fmt: skip
def test_thresholds_are_searched_as_by_the_library(options, wanted, columns, path, ask, tmp_path):
    rows = [path, *COLUMNS, "--score", "old"]
    want = found(columns, **wanted)
    assert ask("threshold", *rows, *SAMPLER, *options) == f"{want}\n"
    values = json.loads(ask("threshold", *rows, *SAMPLER, *options, "--json"))
    assert values == json.loads(json.dumps(want.to_dict()))
    cut = [part for part in zip(options[::2], options[1::2], strict=True) if "thres" in part[0]]
    table = tmp_path / "table.json"
    ask("summarize", *rows, *[x for pair in cut for x in pair], "-o", table)
    others = [x for pair in zip(options[::2], options[1::2], strict=True) if pair not in cut
              for x in pair]  # fmt: skip
    assert json.loads(ask("threshold", table, *SAMPLER, *others, "--json")) == values


@pytest.mark.parametrize(
    "options, message",
    [
        (["--metric", "tpr", "fpr"], "--metric must name one metric to meet; got 2"),
        (
            ["--metric", "auc"],
            "auc does not depend on the threshold; threshold takes metrics",
        ),
        (["--reach", "2"], "--reach must lie in (0, 1), where tpr does; got 2"),
        (["--reach", "0.2", "--reference", "A"], "--reach is in place of --reference; give one"),
        (["--group-to-move", "C"], "no group 'C'; there are A, B"),
        (["--group-to-move", "b"], "no group 'b' (did you mean 'B'?); there are A, B"),
        (["--threshold", "all"], "--threshold must be one threshold, or one for each group"),
    ],
)
def test_what_is_wrong_with_a_search(options, message, path, fail):
    given = ["threshold", path, *COLUMNS, "--score", "old", *SAMPLER, *options]
    assert message in fail(*given)


@pytest.mark.parametrize("command", ["threshold", "plan"])
def test_grave_warnings_come_with_advice(command, columns, path, ask, tmp_path):
    """No label at all, and chains too short to be used, in the text and in the values."""
    none = tmp_path / "none.csv"
    none.write_text("".join(f"{line}\n" for line in ["y,old,g", *[",0.3,A", ",0.6,B"] * 30]))
    more = ["--refits", "0"] if command == "plan" else []
    short = ["--chains", "4", "--draws", "4", "--warmup", "1"]
    for file, options, code in ((none, SAMPLER, "no_labels"), (path, short, "not_converged")):
        given = [command, file, *COLUMNS, "--score", "old", *options, *more]
        assert f"{code}: " in ask(*given)
        found = json.loads(ask(*given, "--json"))["warnings"]
        assert code in [note["code"] for note in found] and all(note["message"] for note in found)
