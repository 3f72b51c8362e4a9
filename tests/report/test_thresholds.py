"""What a search for thresholds says: to people, as plain values and in rows."""

from __future__ import annotations

import re

import numpy as np
import pytest
from results import ask_quickly as ask

import lightfair as lf
from lightfair.interop import tidy
from lightfair.report import figures
from lightfair.report.thresholds import document

QUANTITIES = ["crossing", "recommended", "metric", "gap"]


@pytest.fixture(scope="module")
def result(rows):
    return ask(rows, metrics=["tpr", "accuracy"])


@pytest.fixture(scope="module")
def found(result):
    return lf.find_threshold(result, "tpr")


def section(found, key):
    return next(one for one in document(found, full=True).sections if one.key == key)


def told(found, key):
    return [block.text for block in section(found, key).blocks if hasattr(block, "text")]


def test_the_whole_report_begins_with_what_is_recommended(found):
    one = found["B"]
    low, high = one.gap.interval(0.95)
    assert told(found, "verdict")[0] == (
        f"B: {one.recommended!r} is recommended; tpr there minus that of A is {one.gap.mean:.3f} "
        f"[{low:.3f}, {high:.3f}], less than 0.05 from 0 with probability "
        f"{one.gap.prob_within(0.05):.3f}."
    )
    low, high = found.wanted.interval(0.95)
    wanted = f"tpr of A, at its own threshold 0.5: {found.wanted.mean:.3f} [{low:.3f}, {high:.3f}]."
    assert wanted in told(found, "thresholds")
    assert document(found, full=True).title == "Thresholds at which tpr is that of A"
    assert [one.key for one in document(found).sections] == ["thresholds", "warnings"]  # in short


def test_a_target_is_said_in_place_of_a_reference(result):
    found = lf.find_threshold(result, "accuracy", target=0.7)
    assert document(found, full=True).title == "Thresholds at which accuracy is 0.7"
    assert "accuracy there minus 0.7 is " in told(found, "verdict")[1]
    assert not [line for line in told(found, "thresholds") if "at its own" in line]
    assert found.to_dict()["own"] is None and found.to_dict()["wanted"] is None
    first = tidy.rows(found)[0]
    assert (first["quantity"], first["estimate"], first["group"]) == ("wanted", 0.7, None)


def test_many_groups_are_counted(rows):
    group = np.arange(len(rows.group)) % 8
    found = lf.find_threshold(ask(rows, group=group, metrics="selection_rate"), "selection_rate")
    text = told(found, "verdict")[0]
    near = sum(one.gap.prob_within(0.05) >= 0.95 for one in found.groups)
    assert text == (
        f"A threshold is recommended for 7 of 7 groups; in {near} of them selection_rate is then "
        "less than 0.05 from that of 0 with a probability of at least 0.95."
    )
    assert near > 0


def test_facts_are_said_as_such(rows):
    found = lf.find_threshold(ask(rows, metrics="selection_rate"), "selection_rate")
    assert re.search(
        r"is -?0\.\d{3} \(exact\), less than 0\.05 from 0 for sure\.$", told(found, "verdict")[0]
    )
    assert found.to_dict()["groups"][0]["exact"]


def test_what_is_undefined_has_a_reason(rows):
    """The reference has no positive label, and every row has one."""
    label = np.where(rows.group == "A", 0, (rows.y_score > 0.4).astype(int))
    found = lf.find_threshold(ask(rows, y_true=label, metrics="tpr"), "tpr", reference="A")
    why = "tpr, or what is wanted, is undefined in more than 5% of draws, at every threshold"
    assert told(found, "verdict")[0] == f"B: no threshold is recommended; {why}."
    entry = found.to_dict()["groups"][0]
    assert (entry["recommended"], entry["recommended_reason"], entry["gap"]) == (None, why, None)
    assert entry["reason"] == "there are no thresholds that reach it"
    for row in tidy.rows(found):
        assert row["estimate"] is None and row["reason"]
    assert "undefined, there are no positive labels." in told(found, "thresholds")[1]


def test_rows_of_a_search(found):
    rows = tidy.rows(found)
    assert [row["quantity"] for row in rows] == ["wanted", *QUANTITIES]
    by = {row["quantity"]: row for row in rows}
    one = found["B"]
    assert by["wanted"]["estimate"] == found.wanted.mean
    assert (by["wanted"]["group"], by["wanted"]["threshold"]) == ("A", 0.5)
    assert (by["crossing"]["estimate"], by["crossing"]["statistic"]) == (one.median, "median")
    assert by["crossing"]["no_crossing"] == one.no_crossing
    assert by["recommended"]["estimate"] == by["gap"]["threshold"] == one.recommended
    assert by["metric"]["estimate"] == one.metric.mean
    assert (by["gap"]["low"], by["gap"]["high"]) == one.gap.interval(0.95)
    assert by["gap"]["prob_within"] == one.gap.prob_within(0.05)
    assert (by["gap"]["group"], by["gap"]["reference"]) == ("B", "A")


@pytest.mark.parametrize("options", [{}, {"group": "B"}, {"target": 0.6}])
def test_the_call_makes_it_again(options, rows, result):
    found = lf.find_threshold(result, "tpr", **options)
    code = re.search(r"```python\n(.*?)\n```", found.to_markdown(), re.DOTALL)[1]
    code = code.replace("sensitive_features=...", "sensitive_features=group")
    names = {"y_true": rows.y_true, "y_score": rows.y_score, "group": rows.group}
    exec(code.replace("lightfair.find_threshold(", "again = lightfair.find_threshold("), names)
    assert names["again"].to_dict() == found.to_dict()


def test_the_page_shows_the_metric_against_the_threshold(found, result):
    pytest.importorskip("matplotlib")
    (picture,) = found._pictures()["thresholds"]
    assert "tpr of groups by threshold" in picture.svg
    assert found.to_html().count("<svg") == 1
    own = lf.Metric("missed", lambda tp, fp, fn, tn: fn / (tp + fp + fn + tn), bounds=(0, 1))
    searched = lf.find_threshold(result, own)
    assert figures.of_search(searched) == {}  # the assessment does not know it
    assert "Thresholds at which missed is that of A" in searched.to_html()


def test_a_metric_must_not_have_the_name_of_a_built_in(result):
    other = lf.Metric("tpr", lambda tp, fp, fn, tn: tp)
    with pytest.raises(ValueError, match="must not have the name of a built-in; got 'tpr'"):
        lf.find_threshold(result, other)


def test_a_group_without_labels_is_warned_of(rows):
    label = np.where(rows.group == "B", np.nan, rows.y_true)
    text = " ".join(str(lf.find_threshold(ask(rows, y_true=label), "tpr")).split())
    assert "unlabeled_group: group B has no labels: its numbers rest on" in text
