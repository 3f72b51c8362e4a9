"""Tidy rows: each number once, in columns that never change; as CSV and as data frames."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter

import numpy as np
import pytest
from results import QUICKEST, flat
from results import ask_quickly as ask

import lightfair as lf
from lightfair.interop import tidy

KEY = ("quantity", "metric", "group", "reference", "attribute", "threshold", "method", "within")
KEY += ("model", "than", "extra", "stratum")
NASTY = ('a "b", c', "=1+1", "-2", "two\nlines", "NA", "007", "\u00fc\u4e16", "\x1b[31mred", "@x")


@pytest.fixture(scope="module")
def nobody(rows):
    """Decisions that select nobody of B, so that its ppv is undefined."""
    return (rows.group == "A") & (rows.y_score > 0.5)


@pytest.fixture(scope="module")
def results(rows, nobody):
    """Results of all kinds, some with undefined numbers."""
    age = np.where(np.arange(400) % 3 == 0, "young", "old")
    level = np.where(age == "young", "young", rows.group)
    sex = np.where(rows.group == "A", "f", "m")
    scores = {"old": rows.y_score, "new": rows.y_score**2}
    options = {"sensitive_features": rows.group, "metrics": ["accuracy", "tpr"], **QUICKEST}
    plain = ask(rows, checks=["tpr<=0.2", "equalized_odds<=0.1"], simultaneous=True)
    return {
        "plain": plain,
        "crossed": ask(rows, group={"sex": rows.group, "age": age}, metrics="tpr"),
        "empty": ask(rows, group={"sex": sex, "age": level}, metrics="tpr"),
        "thresholds": ask(rows, metrics=["tpr", "auc", "base_rate"], threshold=[0.5, 0.3]),
        "own": ask(rows, metrics=["tpr", "auc"], threshold={"A": 0.5, "B": 0.6}),
        "undefined": ask(rows, y_pred=nobody, metrics=["ppv", "selection_rate"], reference="B"),
        "many": ask(rows, group=np.arange(400) % 22, metrics="tpr", checks="tpr<=0.2"),
        "one": ask(rows, group=np.full(400, "all"), metrics="tpr"),
        "plan": lf.plan_labels(plain, "tpr", extra=[10, 20]),
        "search": lf.find_threshold(plain, "tpr"),
        "monitor": lf.monitor({"1": ask(rows).table}, "tpr<=0.1", rng=1, draws=20),
        "strata": lf.within(ask(rows, group={"sex": sex, "age": level}, metrics="tpr"), "age"),
        "comparison": lf.compare_models(scores, rows.y_true, **options),
    }


@pytest.fixture(scope="module")
def tables(results):
    """The rows of all results."""
    return {name: tidy.rows(result) for name, result in results.items()}


COLUMNS = {"plan": tidy.PLAN_COLUMNS, "search": tidy.SEARCH_COLUMNS}
COLUMNS |= {"strata": tidy.KINDS["strata"], "comparison": tidy.COMPARISON_COLUMNS}
COLUMNS["monitor"] = tidy.KINDS["monitor"]


def one(rows, **values):
    """The one row with these values."""
    found = [row for row in rows if all(row[name] == value for name, value in values.items())]
    assert len(found) == 1, (values, len(found))
    return found[0]


def test_rows_have_all_columns_plain_values_and_unique_keys(results, tables):
    undefined = 0
    for name, result in results.items():
        columns = COLUMNS.get(name, tidy.COLUMNS)
        assert tidy.columns(result) == columns
        rows = tables[name]
        for row in rows:
            assert list(row) == list(columns)
            for column, value in row.items():
                assert value is None or type(value) is columns[column], (column, value)
                assert value is None or value == value, column
            check = row["quantity"] in ("check", "check_pair")
            if row["prob_within" if check else "estimate"] is None:
                assert row["reason"], row
                undefined += 1
        count = Counter(tuple(row.get(key) for key in KEY) for row in rows)
        assert max(count.values()) == 1, (name, count.most_common(1))
    assert undefined > 20


def test_groups_and_differences_are_those_of_to_dict_by_each_method(results, tables):
    for name in sorted({*results} - {*COLUMNS}):
        rows = tables[name]
        for metric, values in results[name].to_dict()["metrics"].items():
            for entry in values["groups"] + values["differences"]:
                quantity = "difference" if "group" in entry else "metric"
                for method in ("lightfair", "labels_only", "prediction_powered"):
                    numbers = entry if method == "lightfair" else entry[method]
                    place = {"quantity": quantity, "metric": metric, "method": method}
                    place["group"] = entry.get("group", entry.get("name"))
                    row = one([row for row in rows if row["threshold"] != 0.3], **place)
                    assert row["estimate"] == numbers["mean"]
                    assert [row["low"], row["high"]] == (numbers["interval"] or [None] * 2)
                    for column in ("sd", "prob_positive", "prob_within", "reason"):
                        assert row[column] == numbers.get(column)


def test_numbers_are_those_of_the_methods(results, tables):
    result = results["crossed"]
    rows, reference = tables["crossed"], result.settings.reference
    group = next(name for name in result.groups if name != reference)
    place = {"metric": "tpr", "group": group, "method": "lightfair"}
    row = one(rows, quantity="difference", **place)
    assert (row["reference"], row["within"], row["threshold"]) == (reference, 0.05, 0.5)
    ratio = result.ratio("tpr", group, reference)
    row = one(rows, quantity="ratio", **place)
    assert (row["estimate"], row["prob_within"]) == (ratio.median, ratio.prob_within(0.8))
    assert (row["statistic"], row["within"]) == ("median", 0.8)
    gap = result.largest_gap("tpr")
    row = one(rows, quantity="largest_gap", metric="tpr")
    assert (row["estimate"], row["upper"]) == (gap.median, gap.upper(0.95))
    assert (row["group"], row["reference"]) == gap.which and row["prob_largest"] == gap.prob_which
    row = one(rows, quantity="marginal", metric="tpr", attribute="age", group="old")
    assert row["estimate"] == result.marginal("tpr", "age", "old").mean and row["rows"] == 266
    row = one(rows, quantity="marginal_difference", metric="tpr", attribute="age")
    assert row["estimate"] == result.marginal_difference("tpr", "age", "young").mean
    assert (row["group"], row["reference"]) == ("young", "old")
    for name in ("against_rest", "against_overall"):
        row = one(rows, quantity=name, **place)
        assert row["estimate"] == getattr(result, name)("tpr", group).mean
    assert len([row for row in rows if row["quantity"] == "pair"]) == 6


def test_checks_and_simultaneous_intervals(results, tables):
    result, rows = results["plain"], tables["plain"]
    for verdict in result.checks:
        row = one(rows, quantity="check", metric=verdict.check.metric, relation="difference")
        assert (row["status"], row["within"]) == (verdict.status, verdict.check.within)
        assert (row["prob_within"], row["prob"]) == (verdict.prob_within, verdict.prob)
        assert (row["more_labels"], row["reason"]) == (verdict.more_labels, verdict.reason)
        pair = one(rows, quantity="check_pair", metric=verdict.check.metric)
        assert pair["prob_within"] == verdict.pairs[0].prob_within
        assert (pair["statistic"], pair["estimate"]) == ("mean", verdict.pairs[0].gap)
    row = one(rows, quantity="simultaneous", metric="tpr")
    assert (row["low"], row["high"]) == result.simultaneous().interval("tpr", "B")
    assert one(rows, quantity="simultaneous", metric="selection_rate")["reason"] == "known exactly"


def test_thresholds_are_rows_of_the_same_quantities(results, tables):
    result = results["thresholds"]
    rows = [row for row in tables["thresholds"] if row["method"] == "lightfair"]
    for cut, estimate in result.thresholds().metric("tpr", "B").items():
        row = one(rows, quantity="metric", metric="tpr", group="B", threshold=cut)
        assert row["estimate"] == pytest.approx(estimate.mean, abs=1e-12)
        assert row["labeled"] == result.to_dict()["data"]["groups"][1]["labeled"]
    assert one(rows, quantity="metric", metric="auc", group="B")["threshold"] is None
    assert one(rows, quantity="metric", metric="base_rate", group="B")["threshold"] is None
    own = [row for row in tables["own"] if row["quantity"] == "metric"]
    cuts = {(row["metric"], row["group"]): row["threshold"] for row in own}
    assert cuts == {("tpr", "A"): 0.5, ("tpr", "B"): 0.6, ("auc", "A"): None, ("auc", "B"): None}


def test_infinite_ratios_and_groups_left_out(results, tables):
    rows = tables["undefined"]
    row = one(rows, quantity="ratio", metric="selection_rate")
    assert (row["estimate"], row["low"], row["high"], row["reason"]) == (*[math.inf] * 3, None)
    assert ",inf," in results["undefined"].to_csv()
    assert one(rows, quantity="largest_gap", metric="ppv")["left_out"] == "B"
    assert one(rows, quantity="against_rest", metric="ppv", group="A")["left_out"] == "B"


def test_empty_groups_and_the_number_of_pairs_left_out(results, tables):
    result, rows = results["empty"], tables["empty"]
    listed = "; ".join(result.table.empty_groups)
    assert f"groups without rows, not assessed: {listed}" in flat(result)
    for name in result.table.empty_groups:
        row = one(rows, quantity="metric", group=name)
        assert (row["rows"], row["labeled"], row["reason"]) == (0, 0, "the group has no rows")
    for quantity, why in (("pair", "less likely the largest"), ("check_pair", "likelier within")):
        pairs = [row for row in tables["many"] if row["quantity"] == quantity]
        assert len(pairs) == 201
        assert pairs[-1]["reason"] == f"31 more pairs, {why}, are left out"


def test_rows_of_other_results(results, tables):
    found, rows = results["comparison"], tables["comparison"]
    gain = found.fairer("tpr", "new", "old", "B")
    row = one(rows, quantity="difference", metric="tpr", model="new", than="old")
    assert row["prob_fairer"] == gain.prob_greater(0)
    assert row["estimate"] == found.gap_difference("tpr", "new", "old", "B").mean
    row = one(rows, quantity="overall", metric="accuracy", model="new", than="old")
    assert row["prob_greater"] == found.prob_more_accurate("new", "old")
    row = one(rows, quantity="metric", metric="tpr", model="old", than=None, group="A")
    assert row["estimate"] == found.metric("old", "tpr", "A").mean
    row = one(rows, quantity="largest_gap", metric="tpr", model="new", than=None)
    assert row["estimate"] == found.gap("new", "tpr").mean

    plan = results["plan"]
    rows, last = tables["plan"], int(plan.extra[-1])
    assert one(rows, quantity="labels")["estimate"] == plan.labels
    row = one(rows, quantity="width", extra=last, group="B", reference="A")
    assert (row["estimate"], row["width"]) == (plan.intervals[0].width[-1], plan.width)
    assert one(rows, quantity="shrinks_per_label", group="B")["estimate"] == plan.shrinks[1]

    values = results["search"].to_dict()
    rows, (entry,) = tables["search"], values["groups"]
    assert one(rows, quantity="wanted", threshold=0.5)["estimate"] == values["wanted"]["mean"]
    assert one(rows, quantity="recommended")["estimate"] == entry["recommended"]
    row = one(rows, quantity="gap", threshold=entry["recommended"], reference="A")
    assert row["prob_within"] == entry["gap"]["prob_within"]


# CSV


def test_csv_reads_back_as_the_same_values(results, tables):
    read = {str: str, float: float, int: int, bool: {"true": True, "false": False}.get}
    for name, result in results.items():
        columns, text = tidy.columns(result), result.to_csv()
        assert text.endswith("\n") and "\r" not in text
        assert [
            {key: None if cell == "" else read[columns[key]](cell) for key, cell in row.items()}
            for row in csv.DictReader(io.StringIO(text))
        ] == tables[name]


def test_names_in_csv_are_escaped_only_where_they_must(rows):
    """Each row is a line."""
    nasty = ask(rows, group=np.resize(NASTY, 400), metrics="selection_rate")
    text = nasty.to_csv()
    back = list(csv.DictReader(text.splitlines()))
    assert len(back) == len(tidy.rows(nasty)) == text.count("\n") - 1
    printed = {*NASTY} - {"two\nlines", "\x1b[31mred"} | {"two\\nlines", "\\x1b[31mred"}
    assert {row["group"] for row in back} - {""} == printed
    assert {row["group"] for row in tidy.rows(nasty)} - {None} == {*NASTY}


# data frames


@pytest.mark.parametrize("name", ["undefined", "plan", "search", "comparison"])
def test_data_frames_have_the_values_and_types_of_the_rows(name, results, tables):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame, columns = results[name].to_dataframe("pandas"), COLUMNS.get(name, tidy.COLUMNS)
    kinds = {str: "string", float: "float64", int: "Int64", bool: "boolean"}
    wanted = {column: kinds[kind] for column, kind in columns.items()}
    assert {column: str(kind) for column, kind in frame.dtypes.items()} == wanted
    plain = frame.astype(object).where(frame.notna(), None).to_dict("records")
    assert plain == tables[name] and pandas.isna(frame.reason).any()
    frame = results[name].to_dataframe("polars")
    assert frame.rows(named=True) == tables[name]
    kinds = {str: polars.Utf8, float: polars.Float64, int: polars.Int64, bool: polars.Boolean}
    assert dict(frame.schema) == {column: kinds[kind] for column, kind in columns.items()}
