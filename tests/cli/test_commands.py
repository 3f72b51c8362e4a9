"""Commands print what the library returns."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import lightfair as lf

COLUMNS = ["--label", "y", "--group", "g", "--score", "s"]
QUICK = ["--chains", "4", "--draws", "4", "--warmup", "10", "--seed", "2"]
SAME = {"chains": 4, "draws": 4, "warmup": 10, "rng": 2}


@pytest.fixture(scope="module")
def models(rows):
    return {"s": rows.y_score, "t": rows.y_score**2}


@pytest.fixture
def folder(folder, text, models):
    """rows.csv with the scores t of a second model, and table.json."""
    head, *lines = text.splitlines()
    lines = [f"{line},{float(t)!r}" for line, t in zip(lines, models["t"], strict=True)]
    (folder / "rows.csv").write_text("\n".join([f"{head},t", *lines, ""]))
    return folder


@pytest.fixture(scope="module")
def assessed(rows):
    def assessed(**options):
        groups = {"g": rows.group}
        options = {"metrics": "tpr", **SAME, **options}
        return lf.assess(rows.y_true, rows.y_score, sensitive_features=groups, **options)

    return assessed


def plain(result):
    return json.loads(json.dumps(result.to_dict()))


def agrees(ask, want, options, *given):
    """Whether a command prints what the library returned, as JSON or, without options, as text."""
    if options:
        return json.loads(ask(*given, *options.split(), "--json")) == plain(want)
    return ask(*given) == f"{want}\n"


CHECKED = {"metrics": "fpr", "checks": ["tpr<=0.3", "fpr<=0.1"], "simultaneous": True}


@pytest.mark.parametrize(
    "options, wanted",
    [
        ("", {"metrics": ["accuracy", "tpr", "fpr", "selection_rate"]}),
        ("--metric tpr --threshold 0.3 --threshold 0.6", {"threshold": [0.3, 0.6]}),
        ("--metric tpr --threshold all", {"threshold": "all"}),
        ("--metric fpr --check tpr<=0.3 --check fpr<=0.1 --simultaneous", CHECKED),
    ],
)
def test_assess(options, wanted, run, assessed):
    given = ["assess", "rows.csv", *COLUMNS, *QUICK]
    assert agrees(lambda *words: run(*words)[1], assessed(**wanted), options, *given)


@pytest.mark.parametrize(
    "words, wanted",
    [
        ("--pred d", {"y_score": None, "y_pred": "d"}),
        ("--score s --bins p=0.4,0.6", {"bins": {"p": [0.4, 0.6]}}),
        ("--score s --bins p=3", {"bins": {"p": 3}}),
    ],
)
def test_decisions_alone_and_bins(words, wanted, ask, assessed, folder):
    names = {"y_true": "y", "y_score": "s", "sensitive_features": ["h", "p"]}
    names |= {"sensitive_features": ["h", "g"]} if "y_pred" in wanted else {}
    table = lf.summarize("rows.csv", **{**names, **wanted})
    given = ["--label", "y", "--group", ",".join(names["sensitive_features"]), *words.split()]
    out = ask("assess", "rows.csv", *given, *QUICK, "--metric", "recall,fpr")
    assert out == f"{lf.assess(table, metrics=['tpr', 'fpr'], **SAME)}\n"
    assert ("no_scores" in out) == ("y_pred" in wanted)


@pytest.mark.parametrize(
    "checks, code",
    [
        (["selection_rate<=0.9"], 0),
        (["selection_rate<=0.001"], 1),
        (["selection_rate<=0.9", "tpr<=0.05"], 3),
        (["tpr<=0.05", "selection_rate ratio>=0.999"], 1),
    ],
)
def test_exit_codes_of_checks(checks, code, run):
    options = [word for check in checks for word in ("--check", check)]
    given = ["assess", "rows.csv", *COLUMNS, "--metric", "tpr", *QUICK, *options]
    found, out, err = run(*given)
    assert (found, err) == (code, "")
    top = out.split("\n\n")[1]
    assert top.startswith("findings\n") and all(f"{check}: " in top for check in checks)
    assert {0: "pass", 1: "fail", 3: "insufficient"}[code] in top


def test_gaps_within_strata(ask, fail, folder, rows):
    given = ["assess", "rows.csv", *COLUMNS, *QUICK, "--metric", "tpr", "--within", "h"]
    groups = {"g": rows.group, "h": ["u", "v"] * 200}
    result = lf.assess(rows.y_true, rows.y_score, sensitive_features=groups, metrics="tpr", **SAME)
    want, options = lf.within(result, "h", "B", "both"), "--reference B --strata-weights both"
    assert agrees(ask, want, options, *given) and agrees(ask, want, options, *given, "--group", "h")
    ask("summarize", "rows.csv", *COLUMNS, "--group", "h", "-o", "table.json")
    assert ask("assess", "table.json", *given[8:], *options.split()) == f"{want}\n"
    assert "in no table: 0" in ask("assess", "table.json", "--profile", "nyc-ll144")
    wanted = "--within: rows.csv has no column hh (did you mean 'h'?)"
    assert wanted in fail(*given, "--within", "hh")
    for within in ("g", "g,h"):
        assert "--within must be one column, another than that" in fail(*given, "--within", within)
    assert "--check does not go with --within" in fail(*given, "--check", "tpr<=0.1")
    assert "--threshold must be one number" in fail(*given, *["--threshold", "0.5"] * 2)


def test_membership_as_probabilities(ask, fail, folder, rows):
    lines = (folder / "rows.csv").read_text().splitlines()
    near = [0.35 + 0.3 * (at % 2) for at in range(len(rows.group))]
    added = [f"{line},{p},{1.0 - p}" for line, p in zip(lines[1:], near, strict=True)]
    (folder / "near.csv").write_text("\n".join([f"{lines[0]},a,b", *added, ""]))
    chances = {"a": near, "b": [1.0 - p for p in near]}
    options = {"metrics": "tpr", "reference": "b", "step": 0.05, **SAME}
    want = lf.assess_membership(rows.y_true, rows.y_score, sensitive_features=chances, **options)
    given = ["--label", "y", "--score", "s", "--metric", "tpr", *QUICK, "--reference", "b"]
    named = ["--membership", "a", "b"]
    assert ask("assess", "near.csv", *given, *named, "--step", "0.05") == f"{want}\n"
    ask("summarize", "near.csv", *given[:4], "--group", "a,b", "-o", "cells.json")
    cells = {"sensitive_features": chances, "metrics": "tpr", "hierarchical": False, **SAME}
    found = lf.membership(lf.assess(rows.y_true, rows.y_score, **cells), "b")
    assert ask("assess", "cells.json", *given[4:], *named) == f"{found}\n"
    wrong = ("assess", "cells.json", *given[4:], "--membership", "b,a")
    assert "--membership must name the attributes of the tables, a, b, without --step" in fail(
        *wrong
    )
    rows_given = ("assess", "near.csv", *given, *named)
    assert "--group does not go with --membership" in fail(*rows_given, "--group", "g")
    assert "--nested does not go with --membership" in fail(*rows_given, "--nested")
    assert "--min-rows does not go with --membership" in fail(*rows_given, "--min-rows", "5")
    assert "--missing does not go with --membership" in fail(*rows_given, "--missing", "drop")
    assert "--step needs --membership; leave it out" in fail(*rows_given[:-3], "--step", "0.5")
    assert "--membership must sum to one in each row" in fail(*rows_given, "p")
    assert "--membership: near.csv has no column q" in fail(*rows_given, "q")
    rule = "--membership: a column has one role; a is --membership, too"
    assert rule in fail(*rows_given, "a")
    assert "give --label, --score and --membership" in fail("assess", "near.csv", *named)


def test_monitor(run, fail, folder, text):
    head, *lines = text.splitlines()
    for name, part in (("2026-01", lines[:200]), ("2026-02", lines[200:])):
        (folder / f"{name}.csv").write_text("\n".join([head, *part, ""]))
    names = {"y_true": "y", "y_score": "s", "sensitive_features": "g"}
    tables = {f"2026-0{at}": lf.summarize(f"2026-0{at}.csv", **names) for at in (1, 2)}
    tables["2026-02"].save("feb.json")
    want = lf.monitor(tables, "tpr<=0.05", prob=0.9, **SAME)
    options = [*COLUMNS, *QUICK, "--prob", "0.9"]
    given = ["monitor", "2026-01.csv", "2026-02=feb.json", *options]
    code, out, err = run(*given, "--check", "tpr<=0.05")
    assert (code, out, err) == (3, f"{want}\n", "")
    low = [re.sub(r",[^,]*,B", ",0.01,B", line) for line in lines]
    (folder / "2026-03.csv").write_text("\n".join([head, *low, ""]))
    alarm = ["--check", "selection_rate<=0.01", "--html", "m.html"]
    assert run("monitor", "2026-03.csv", *options, *alarm)[0] == 1
    assert "<img" in (folder / "m.html").read_text()
    assert run(*given, "--check", "selection_rate ratio>=0.2")[0] == 0
    alone = ["monitor", "1=feb.json", *COLUMNS, "--check", "tpr<=0.05"]
    assert "no FILE holds rows, only tables; leave out --label" in fail(*alone)
    given = ["monitor", "2026-02.csv", "2026-01.csv", *options, "--check", "tpr<=0.05"]
    assert "got 2026-01 after 2026-02; name them as" in fail(*given)
    assert "monitor takes one --check" in fail(*given[:-2])
    assert "monitor takes one --check" in fail(*given, "--check", "fpr<=0.1")
    (folder / "more").mkdir()
    for name in ("more/2026-02.csv", "a=b.east.csv", "a=b.west.csv"):
        (folder / name).write_text("\n".join([head, *lines, ""]))
    both = ["monitor", "2026-02.csv", "more/2026-02.csv", *given[3:]]
    assert "2026-02.csv and more/2026-02.csv are both 2026-02; give PERIOD=FILE" in fail(*both)
    both[2] = "2026-02=more/2026-02.csv"
    assert "2. 2026-02, again" in run(*both)[1]
    both[2] = "2026-03=2026-02.csv"
    assert "2026-02.csv is given twice; its rows would count twice" in fail(*both)
    out = run("monitor", "a=b.east.csv", "a=b.west.csv", *given[3:])[1]
    assert "1. a=b.east " in out and "2. a=b.west " in out


def test_demo(ask):
    given = ["demo", "--rows", "600", "--labeled", "60", "--metric", "tpr", *QUICK[:6]]
    out = ask(*given)
    assert "600 rows, 60 labeled, 540 unlabeled; 2 groups by group" in out
    assert "truth" in out and out == ask(*given) != ask(*given, "--seed", "1")


@pytest.fixture
def hidden(folder, rows, models):
    """Options that hide labels, and the share of positives above a threshold, by group."""
    lines = zip(rows.y_all, rows.y_score, models["t"], rows.group, strict=True)
    text = [",".join(map(str, line)) for line in lines]
    (folder / "full.csv").write_text("\n".join(["y,s,t,g", *text]))

    def tpr(name, cut=0.5, score="s"):
        positive = (rows.y_all == 1) if name is None else (rows.group == name) & (rows.y_all == 1)
        return pytest.approx((models[score][positive] >= cut).mean())

    return ["full.csv", *COLUMNS, *QUICK, "--metric", "tpr", "--subsample-labels", "50"], tpr


def test_hidden_labels(ask, hidden):
    given, tpr = hidden
    values = json.loads(ask("assess", *given, "--json"))
    assert values["data"]["labeled"] == 50
    groups = values["metrics"]["tpr"]["groups"]
    assert [one["truth"] for one in groups] == [tpr("A"), tpr("B")]
    (gap,) = values["metrics"]["tpr"]["differences"]
    assert gap["truth"] == pytest.approx(tpr("B").expected - tpr("A").expected)
    cuts = ["--threshold", "all", *given[:-1], "0"]
    assert "no_labels" in ask("assess", *cuts) and "truth" not in ask("assess", *given[:-2])
    assert "thresholds" in json.loads(ask("assess", *cuts, "--json"))


def test_hidden_labels_of_other_commands(ask, hidden):
    """A plan, thresholds and a comparison of models beside what all labels say."""
    given, tpr = hidden
    gap = tpr("B").expected - tpr("A").expected
    out, values = (ask("plan", *given, *more) for more in ([], ["--json"]))
    (entry,) = json.loads(values)["differences"]
    assert entry["truth"] == pytest.approx(gap) and f" {gap:.3f}\n" in out
    assert "differences" not in json.loads(ask("plan", *given[:-2], "--json"))

    out, values = (ask("threshold", *given, *more) for more in ([], ["--json"]))
    (entry,) = (values := json.loads(values))["groups"]
    assert entry["metric"]["truth"] == (there := tpr("B", entry["recommended"]))
    assert entry["gap"]["truth"] == pytest.approx(there.expected - tpr("A").expected)
    assert values["wanted"]["truth"] == tpr("A")
    assert f"; truth {tpr('A').expected:.3f}.\n" in out and f"{entry['gap']['truth']:.3f}\n" in out
    reached = json.loads(ask("threshold", *given, "--reach", "0.5", "--json"))["groups"][0]
    assert reached["gap"]["truth"] == pytest.approx(reached["metric"]["truth"] - 0.5)

    out, values = (ask("compare", *given, "--score", "t", *more) for more in ([], ["--json"]))
    metric = json.loads(values)["metrics"]["tpr"]
    overall = [one["overall"]["truth"] for one in metric["models"]]
    assert overall == [tpr(None), tpr(None, score="t")]
    (pair,) = metric["pairs"]
    moved = tpr("B", score="t").expected - tpr("B").expected
    assert pair["groups"][1]["truth"] == pytest.approx(moved)
    apart = tpr("B", score="t").expected - tpr("A", score="t").expected - gap
    assert pair["differences"][0]["truth"] == pytest.approx(apart)
    assert out.count(" truth\n") == 4 and f" {moved:.3f}\n" in out
    table = ask("compare", *given, "--score", "t", "--csv", "-")
    of = {"method": "truth", "metric": "tpr", "quantity": "metric", "model": "t", "group": "B"}
    of["than"] = "s"
    (row,) = (row for row in csv.DictReader(table.splitlines()) if of.items() <= row.items())
    assert float(row["estimate"]) == pytest.approx(moved)


def test_rows_to_label_from_other_files(run, folder):
    """Whole rows come from files of any kind, also from two of them and from standard input."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    head, *lines = (folder / "rows.csv").read_text().splitlines()
    (folder / "semicolons.csv").write_text("\n".join([head, *lines]).replace(",", ";"))
    (folder / "one.csv").write_text("\n".join([head, *lines[:150]]))
    (folder / "two.csv").write_text("\n".join([head, *lines[150:]]))
    (folder / "other.csv").write_text("\n".join([f"{head},z", *(f"{x}," for x in lines[150:])]))
    cells = zip(*(x.split(",") for x in lines), strict=True)
    columns = dict(zip(head.split(","), cells, strict=True))
    row = range(400)
    parquet.write_table(pyarrow.table({**columns, "row": row, "next_row": row}), "rows.parquet")
    found = {}
    for files in ("rows.csv", "semicolons.csv", "one.csv two.csv", "rows.parquet"):
        options = ["--choose", "9", "--output", "next.csv"]
        code, out, _ = run("plan", *files.split(), *COLUMNS, *QUICK, *options)
        assert code == 0
        found[files] = (folder / "next.csv").read_text().replace(";", ",").splitlines()
    first = found.pop("rows.csv")
    assert found["semicolons.csv"] == found["one.csv two.csv"] == first
    assert found["rows.parquet"][0] == f"next_next_row,label_prob,{head},row,next_row"
    assert [line.rsplit(",", 2)[0] for line in found["rows.parquet"][1:]] == first[1:]
    code, _, err = run("plan", "one.csv", "other.csv", *COLUMNS, *QUICK, *options)
    assert code == 2 and "files must have the same columns if rows are written whole; in o" in err


def test_summarize(ask, assessed):
    out = ask("summarize", "rows.csv", *COLUMNS, "-o", "table.json")
    line = "400 rows, 60 labeled, 340 unlabeled; 2 groups by g; threshold 0.5"
    assert out == f"table.json: {line}\n"
    assert ask("assess", "table.json", *QUICK, "--metric", "tpr") == f"{assessed()}\n"
    assert ask("summarize", "rows.csv", *COLUMNS, "-o", "-") == Path("table.json").read_text()


def test_summarize_prints_warnings(ask, folder):
    (folder / "holes.csv").write_text("y,s,g\n1,.5,A\n0,.2,\n,.2,B\n")
    out = ask("summarize", "holes.csv", *COLUMNS, "--missing", "drop", "-o", "table.json")
    assert "warning (dropped_rows): rows dropped, sensitive_features is missing: 1\n" in out
    assert "warning (ties_with_threshold)" in out


@pytest.mark.parametrize(
    "options, wanted", [("", {}), ("--width 0.1 --difference B", {"width": 0.1, "group": "B"})]
)
def test_plan(options, wanted, ask, assessed):
    given = ["plan", "rows.csv", *COLUMNS, *QUICK, "--extra", "50"]
    want = lf.plan_labels(assessed(), **{"extra": [50], **wanted})
    assert agrees(ask, want, options, *given)


def test_plan_of_a_table_and_rows_to_label(ask, fail, rows, assessed):
    ask("summarize", "rows.csv", *COLUMNS, "-o", "table.json")
    quick = [*QUICK, "--metric", "fpr"]
    assert "Plan for fpr" in ask("plan", "table.json", *quick)
    choice = ["--choose", "20", "--output", "next.csv"]
    assert "single rows are needed" in fail("plan", "table.json", *quick, *choice)
    Path("next.csv").write_text("row,label_prob\n7,0.5\n")  # a list of rows may be overwritten
    out = ask("plan", "rows.csv", *COLUMNS, *QUICK, *choice)
    assert out.endswith("next.csv: 20 rows to label, with columns row and label_prob added\n")
    data = {"y_score": rows.y_score, "sensitive_features": {"g": rows.group}}
    want = lf.choose_labels(assessed(), 20, y_true=rows.y_true, rng=2, **data)
    header, *lines = csv.reader(Path("next.csv").read_text().splitlines())
    columns, *cells = csv.reader(Path("rows.csv").read_text().splitlines())
    assert header == ["row", "label_prob", *columns]
    assert [int(row) for row, *_ in lines] == want.rows.tolist()
    assert [line[2:] for line in lines] == [cells[at] for at in want.rows]
    np.testing.assert_allclose([float(line[1]) for line in lines], want.prob, rtol=1e-8)


@pytest.mark.parametrize(
    "options, wanted",
    [
        ("", {}),
        ("--threshold s=0.6 --threshold t=0.3", {"threshold": {"s": 0.6, "t": 0.3}}),
        ("--no-nested --threshold 0.4", {"hierarchical": True, "threshold": 0.4}),
        ("--no-hierarchical", {"hierarchical": False}),
    ],
)
def test_compare(options, wanted, ask, rows, models):
    want = lf.compare_models(
        models, rows.y_true, sensitive_features={"g": rows.group}, metrics="tpr", **SAME, **wanted
    )
    given = ["compare", "rows.csv", *COLUMNS, "--score", "t", "--metric", "tpr", *QUICK]
    assert agrees(ask, want, options, *given)


def test_compare_stacked_models(ask, fail, folder, rows):
    """Rows of several models below each other, in any order, are those side by side."""
    _, *lines = (folder / "rows.csv").read_text().splitlines()
    cells = [line.split(",") for line in lines]
    stacked = [(y, s, g, "s", i) for i, (y, s, g, *_) in enumerate(cells)]
    stacked += [(y, t, g, "t", i) for i, (y, _, g, *_, t) in enumerate(cells)][::-1]
    text = "\n".join(",".join(map(str, row)) for row in [("y", "s", "g", "m", "id"), *stacked])
    (folder / "stacked.csv").write_text(text)
    assert "single rows are needed" in fail("compare", "stacked.csv")
    options = ["--metric", "tpr", "--threshold", "s=0.5", "--threshold", "t=0.3", *QUICK, "--json"]
    wide = ask("compare", "rows.csv", *COLUMNS, "--score", "t", *options)
    given = ["compare", "stacked.csv", *COLUMNS, "--model-column", "m", *options]
    assert ask(*given, "--row-id", "id") == wide
    y, s, g, m, i = zip(*stacked, strict=True)
    data = {"sensitive_features": {"g": g}, "threshold": {"s": 0.5, "t": 0.3}, "model": m}
    found = lf.compare_models(s, y, metrics="tpr", row_id=i, **data, **SAME)
    assert plain(found) == json.loads(wide)
    half, other = len(y) // 2, {"g": (*g[:-1], "Z")}
    unlike = f"must be the same in .* for a row_id; not so in row {2 * half - 1}"
    mixed = ("", *y[1:half], 1, *y[half + 1 :])
    for wrong, message in (
        ({"row_id": g}, "row_id must pair rows: each once in each model; not so for '[AB]' in s"),
        ({"row_id": i[:1] + i[:-1]}, "not so for 0 in s"),
        ({"row_id": i[:half]}, "y_true and row_id must have the same length"),
        ({"model": (None, *m[1:])}, r"model has 1 missing value \(row 0\)"),
        ({"sensitive_features": other}, unlike),
        ({"y_true": mixed}, "y_true must be the same in all models for a row_id"),
        ({"scores": s[:half]}, "y_true and scores must have the same length"),
    ):
        with pytest.raises(ValueError, match=message):
            lf.compare_models(**{"scores": s, "y_true": y, **data, "row_id": i, **wrong})
    for more in ([], ["--row-id", "id", "--score", "t"]):
        assert "need --model-column, --row-id and one --score" in fail(*given, *more)


@pytest.mark.parametrize(
    "options, wanted, search",
    [
        ("", {}, {}),
        ("--reference B --group-to-move A", {"reference": "B"}, {"group": "A"}),
        ("--metric selection_rate --reach 0.2", {"metrics": "selection_rate"}, {"target": 0.2}),
        ("--threshold A=0.4 --threshold B=0.6", {"threshold": {"A": 0.4, "B": 0.6}}, {}),
    ],
)
def test_threshold(options, wanted, search, ask, assessed):
    want = lf.find_threshold(assessed(**wanted), wanted.get("metrics", "tpr"), **search)
    assert agrees(ask, want, options, "threshold", "rows.csv", *COLUMNS, *QUICK)


@pytest.mark.parametrize("command", ["threshold", "plan"])
def test_critical_warnings_are_printed(command, ask, folder):
    (folder / "none.csv").write_text("\n".join(["y,s,g", *[",0.3,A", ",0.6,B"] * 30]))
    for file, code in (("none.csv", "no_labels"), ("rows.csv", "not_converged")):
        assert f"{code}: " in ask(command, file, *COLUMNS, *QUICK)
