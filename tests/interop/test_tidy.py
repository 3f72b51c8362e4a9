"""Tidy rows: each number once, under the same columns whatever was asked; and as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter

import numpy as np
import pytest
from results import QUICKEST
from results import ask_quickly as ask

import lightfair as lf
from lightfair.interop import tidy

KEY = ("quantity", "metric", "group", "reference", "attribute", "threshold", "method", "within")
NASTY = ('a "b", c', "=1+1", "-2", "two\nlines", "NA", "007", "\u00fc\u4e16", "\x1b[31mred", "@x")


@pytest.fixture(scope="module")
def results(rows):
    """Results in which there is something of every kind, and something undefined."""
    age = np.where(np.arange(400) % 3 == 0, "young", "old")
    nobody = (rows.group == "A") & (rows.y_score > 0.5)
    many = np.arange(400) % 22
    lone = np.where(rows.group == "A", "A", "B")
    sex = np.where(rows.group == "A", "f", "m")
    three = np.where(age == "young", "young", np.where(rows.group == "A", "A", "B"))
    return {
        "plain": ask(rows, checks=["tpr<=0.2", "equalized_odds<=0.1"], simultaneous=True),
        "crossed": ask(rows, group={"sex": rows.group, "age": age}),
        "empty": ask(rows, group={"sex": sex, "age": three}, metrics="tpr"),
        "thresholds": ask(rows, metrics=["tpr", "auc", "base_rate"], threshold=[0.5, 0.3]),
        "own": ask(rows, metrics=["tpr", "auc"], threshold={"A": 0.5, "B": 0.6}),
        "undefined": ask(rows, y_pred=nobody, metrics=["ppv", "selection_rate"]),
        "many": ask(rows, group=many, metrics="tpr", checks="tpr<=0.2"),
        "one": ask(rows, group=np.where(lone == "A", "all", "all"), metrics="tpr"),
        "negative": ask(rows, metrics=["calibration_in_the_large"]),
        "unlabeled": ask(rows, y_true=np.full(400, np.nan), metrics="tpr"),
    }


@pytest.fixture(scope="module")
def plan(rows):
    return lf.plan_labels(ask(rows, metrics="tpr"), refits=0, rng=1)


@pytest.fixture(scope="module")
def search(rows):
    return lf.find_threshold(ask(rows, metrics="tpr"), "tpr")


@pytest.fixture(scope="module")
def comparison(rows):
    scores = {"old": rows.y_score, "new": rows.y_score**2}
    return lf.compare_models(
        scores, rows.y_true, sensitive_features=rows.group, metrics=["accuracy", "tpr"], **QUICKEST
    )


def one(rows, **wanted):
    """The one row that has these values."""
    found = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    assert len(found) == 1, (wanted, len(found))
    return found[0]


def check_rows(result, columns):
    """Rows hold the columns, in their order, with plain values of their types, or None."""
    rows = tidy.rows(result)
    assert tidy.columns(result) == columns
    for row in rows:
        assert list(row) == list(columns)
        for name, value in row.items():
            assert value is None or type(value) is columns[name], (name, value)
            assert not isinstance(value, float) or not math.isnan(value)
    return rows


def test_columns_are_the_same_whatever_was_asked(results, plan, comparison, search):
    for result in results.values():
        check_rows(result, tidy.COLUMNS)
    check_rows(search, tidy.SEARCH_COLUMNS)
    check_rows(plan, tidy.PLAN_COLUMNS)
    check_rows(comparison, tidy.COMPARISON_COLUMNS)


def test_there_is_a_row_for_each_number_and_no_second_one(results, comparison, plan, search):
    for name, result in results.items():
        count = Counter(tuple(row[key] for key in KEY) for row in tidy.rows(result))
        assert max(count.values()) == 1, (name, count.most_common(1))
    for result, more in ((comparison, ("model", "than")), (plan, ("extra",)), (search, ())):
        keys = ("quantity", "metric", "group", "reference", *more)
        count = Counter(tuple(row[key] for key in keys) for row in tidy.rows(result))
        assert max(count.values()) == 1, count.most_common(1)


def test_what_is_undefined_has_a_reason(results, plan, comparison):
    lacking = 0
    for result in [*results.values(), plan, comparison]:
        for row in tidy.rows(result):
            if row["quantity"] in ("check", "check_pair"):
                assert row["prob_within"] is not None or row["reason"]
            elif row["estimate"] is None:
                assert row["reason"], row
                lacking += 1
    assert lacking > 20


def test_all_numbers_of_the_metrics_are_there(results):
    """Each group and difference of `to_dict`, by each method, with the ends of its interval."""
    for result in results.values():
        rows = tidy.rows(result)
        for name, metric in result.to_dict()["metrics"].items():
            for entry in metric["groups"] + metric["differences"]:
                quantity = "difference" if "group" in entry else "metric"
                group = entry.get("group", entry.get("name"))
                for method in ("lightfair", "labels_only", "prediction_powered"):
                    values = entry if method == "lightfair" else entry[method]
                    here = [
                        row
                        for row in rows
                        if (row["quantity"], row["metric"]) == (quantity, name)
                        and (row["group"], row["method"]) == (group, method)
                        and row["threshold"] != 0.3
                    ]
                    assert len(here) == 1
                    assert here[0]["estimate"] == values["mean"]
                    assert [here[0]["low"], here[0]["high"]] == (values["interval"] or [None] * 2)
                    assert here[0]["reason"] == values.get("reason")


def test_numbers_are_those_of_the_methods(results):
    result = results["crossed"]
    rows, reference = tidy.rows(result), result.settings.reference
    group = next(name for name in result.groups if name != reference)
    place = {"metric": "tpr", "group": group, "method": "lightfair"}
    d = result.difference("tpr", group, reference)
    row = one(rows, quantity="difference", **place)
    assert (row["estimate"], row["sd"]) == (d.mean, d.sd)
    assert (row["low"], row["high"]) == d.interval(0.95)
    assert (row["prob_positive"], row["prob_within"]) == (d.prob_greater(0), d.prob_within(0.05))
    assert (row["reference"], row["within"], row["threshold"]) == (reference, 0.05, 0.5)
    ratio = result.ratio("tpr", group, reference)
    row = one(rows, quantity="ratio", **place)
    assert (row["estimate"], row["prob_within"]) == (ratio.median, ratio.prob_within(0.8))
    assert row["statistic"] == "median" and row["within"] == 0.8
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
    assert len([row for row in rows if row["quantity"] == "pair"]) == 6 * 4


def test_checks_and_intervals_that_hold_at_once(results):
    result = results["plain"]
    rows = tidy.rows(result)
    for verdict in result.checks:
        row = one(rows, quantity="check", metric=verdict.check.metric, relation="difference")
        assert (row["status"], row["within"]) == (verdict.status, verdict.check.within)
        assert (row["prob_within"], row["prob"]) == (verdict.prob_within, verdict.prob)
        assert (row["more_labels"], row["reason"]) == (verdict.more_labels, verdict.reason)
        pair = one(rows, quantity="check_pair", metric=verdict.check.metric)
        assert pair["prob_within"] == verdict.pairs[0].prob_within
        assert (pair["statistic"], pair["estimate"]) == ("mean", verdict.pairs[0].gap)
    found = result.simultaneous()
    row = one(rows, quantity="simultaneous", metric="tpr")
    assert (row["low"], row["high"]) == found.interval("tpr", "B")
    assert one(rows, quantity="simultaneous", metric="selection_rate")["reason"] == "known exactly"


def test_thresholds_are_rows_of_the_same_quantities(results):
    result = results["thresholds"]
    rows = [row for row in tidy.rows(result) if row["method"] == "lightfair"]
    curve = result.thresholds()
    for cut, estimate in curve.metric("tpr", "B").items():
        row = one(rows, quantity="metric", metric="tpr", group="B", threshold=cut)
        assert row["estimate"] == pytest.approx(estimate.mean, abs=1e-12)
        assert row["labeled"] == result.to_dict()["data"]["groups"][1]["labeled"]
    assert one(rows, quantity="metric", metric="auc", group="B")["threshold"] is None
    assert one(rows, quantity="metric", metric="base_rate", group="B")["threshold"] is None
    of_group = [row for row in tidy.rows(results["own"]) if row["quantity"] == "metric"]
    assert {(row["metric"], row["group"], row["threshold"]) for row in of_group} == {
        ("tpr", "A", 0.5),
        ("tpr", "B", 0.6),
        ("auc", "A", None),
        ("auc", "B", None),
    }


def test_an_infinite_ratio_is_infinite(rows):
    """All of B are rejected, so that its selection rate is 0."""
    nobody = (rows.group == "A") & (rows.y_score > 0.5)
    result = ask(rows, y_pred=nobody, metrics="selection_rate", reference="B")
    row = one(tidy.rows(result), quantity="ratio")
    assert (row["estimate"], row["low"], row["high"], row["reason"]) == (*[math.inf] * 3, None)
    assert ",inf," in tidy.to_csv(result)


def test_empty_groups_and_pairs_left_out_are_said(results):
    result = results["empty"]
    rows = tidy.rows(result)
    assert result.table.empty_groups
    for name in result.table.empty_groups:
        row = one(rows, quantity="metric", group=name)
        assert (row["rows"], row["labeled"], row["reason"]) == (0, 0, "the group has no rows")
    pairs = [row for row in tidy.rows(results["many"]) if row["quantity"] == "pair"]
    said = "31 more pairs, less likely the largest, are left out"
    assert len(pairs) == 201 and pairs[-1]["reason"] == said
    pairs = [row for row in tidy.rows(results["many"]) if row["quantity"] == "check_pair"]
    assert len(pairs) == 201 and "left out" in pairs[-1]["reason"]


def test_groups_that_a_comparison_leaves_out_are_named(rows):
    """Nobody of C is selected, so that it has no ppv."""
    group = np.where(np.arange(400) % 5 == 0, "C", rows.group)
    decide = (group != "C") & (rows.y_score > 0.5)
    result = ask(rows, group=group, y_pred=decide, metrics="ppv")
    found = tidy.rows(result)
    gap = one(found, quantity="largest_gap")
    assert gap["left_out"] == "C" and gap["estimate"] == result.largest_gap("ppv").median
    assert one(found, quantity="against_rest", group="A")["left_out"] == "C"
    assert one(found, quantity="metric", group="C", method="lightfair")["estimate"] is None


def test_the_truth_is_a_method(rows):
    from lightfair.core.data.rows import score_data
    from lightfair.core.pipeline import assess_data
    from lightfair.core.settings import Settings

    every = (np.random.default_rng(1).random(400) < rows.y_score).astype(float)
    hidden = np.where(np.arange(400) % 4, np.nan, every)
    data, full = (
        score_data(y, rows.y_score, sensitive_features=rows.group) for y in (hidden, every)
    )
    settings = Settings(chains=4, draws=10, warmup=30, metrics="tpr")
    found = tidy.rows(assess_data(data, settings, rng=1, truth=full))
    row = one(found, quantity="metric", group="A", method="truth")
    good = (rows.group == "A") & (every == 1)
    assert row["estimate"] == pytest.approx((rows.y_score[good] >= 0.5).mean(), abs=1e-12)
    assert row["exact"] and row["low"] is None
    assert one(found, quantity="difference", method="truth")["reference"] == "A"


def test_csv_reads_back_as_the_same_values(results, plan, comparison, search):
    for result in [*results.values(), plan, comparison, search]:
        columns, text = tidy.columns(result), result.to_csv()
        assert text.endswith("\n") and "\r" not in text
        back = list(csv.DictReader(io.StringIO(text)))
        assert list(back[0]) == list(columns)
        read = {str: str, float: float, int: int, bool: {"true": True, "false": False}.get}
        back = [
            {name: None if cell == "" else read[columns[name]](cell) for name, cell in row.items()}
            for row in back
        ]
        assert back == tidy.rows(result)
        assert result.to_csv() == text


@pytest.fixture(scope="module")
def nasty(rows):
    return ask(rows, group=np.resize(NASTY, 400), metrics="selection_rate")


def test_names_in_csv_are_those_of_the_data(nasty):
    """Each row is a line; only what does not print is written as an escape."""
    text = nasty.to_csv()
    back = list(csv.DictReader(text.splitlines()))
    assert len(back) == len(tidy.rows(nasty)) == text.count("\n") - 1
    printed = {*NASTY} - {"two\nlines", "\x1b[31mred"} | {"two\\nlines", "\\x1b[31mred"}
    assert {row["group"] for row in back} - {""} == printed
    assert text.isascii() is False and "\x1b" not in text
    assert {row["group"] for row in tidy.rows(nasty)} - {None} == {*NASTY}


def test_a_spreadsheet_takes_no_name_for_a_formula(nasty):
    text = nasty.to_csv(spreadsheet=True)
    assert text.startswith("\ufeffquantity,")
    back = list(csv.DictReader(text[1:].splitlines()))
    names = {row["group"] for row in back}
    assert {"'=1+1", "'-2", "'@x", "007"} <= names
    assert not [name for name in names if name.startswith(("=", "+", "-", "@"))]
    numbers = {row["estimate"] for row in back if row["quantity"] == "difference"}
    assert any(number.startswith("-") for number in numbers)  # a number is no text


def test_rows_of_a_comparison(comparison):
    rows = tidy.rows(comparison)
    gain = comparison.fairer("tpr", "new", "old", "B")
    row = one(rows, quantity="difference", metric="tpr", model="new", than="old")
    assert row["prob_fairer"] == gain.prob_greater(0)
    assert row["estimate"] == comparison.gap_difference("tpr", "new", "old", "B").mean
    row = one(rows, quantity="overall", metric="accuracy", model="new", than="old")
    assert row["prob_more_accurate"] == comparison.prob_more_accurate("new", "old")
    row = one(rows, quantity="metric", metric="tpr", model="old", than=None, group="A")
    assert row["estimate"] == comparison.metric("old", "tpr", "A").mean
    row = one(rows, quantity="largest_gap", metric="tpr", model="new", than=None)
    assert row["estimate"] == comparison.gap("new", "tpr").mean


def test_rows_of_a_plan(plan):
    rows = tidy.rows(plan)
    number = one(rows, quantity="labels")
    assert number["estimate"] == plan.labels
    last = int(plan.extra[-1])
    row = one(rows, quantity="width", extra=last, group="B", reference="A")
    assert row["estimate"] == plan.of_differences[0].width[-1]
    assert one(rows, quantity="prob_decisive", extra=last)["estimate"] == plan.decisive[-1]
    assert one(rows, quantity="split", extra=last, group="A")["estimate"] == plan.split[-1][0]
    assert one(rows, quantity="shrinks_per_label", group="B")["estimate"] == plan.shrinks[1]


@pytest.mark.parametrize("call", [tidy.rows, tidy.columns, tidy.to_csv])
def test_other_things_have_no_rows(call):
    with pytest.raises(TypeError, match="compare_models or find_threshold returned; got dict"):
        call({"metrics": {}})
