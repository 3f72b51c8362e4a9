"""The report of a comparison of models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from results import QUICKEST, flat

import lightfair as lf
from lightfair.core.data.messages import number, probability
from lightfair.report.models import document

NEW = "<b>new</b>"


def test_two_models_share_a_table(models):
    sections = {section.key: section for section in document(models, full=True).sections}
    metric, gaps, smaller = sections["tpr"].blocks
    assert metric.head == ("group", "old", NEW, f"{NEW} minus old")
    assert [row[0].text for row in metric.rows] == ["all rows", "A", "B"]
    delta = models.metric_difference("tpr", NEW, "old", "B")
    assert metric.rows[2][3].text.startswith(number(delta.mean))
    gap = models.gap(NEW, "tpr", "B")
    assert gaps.head[0] == "minus A" and gaps.rows[0][2].text.startswith(number(gap.mean))
    assert smaller.head == ("smaller gap", f"P({NEW} fairer than old)")
    gain = models.fairer("tpr", NEW, "old", "B")
    shown = probability(gain.prob_greater())
    if gain.prob_equal() >= 0.001:
        shown += f" (equal {probability(gain.prob_equal())})"
    assert [cell.text for cell in smaller.rows[0]] == ["B", shown]


def test_rows_thresholds_and_disagreements(models):
    text = flat(models)
    assert f"models old and {NEW} on the same rows: 400 rows, 60 labeled, 340 unlabeled" in text
    assert f"; thresholds old 0.5, {NEW} 0.5 target sample" in text
    pair = models.to_dict()["data"]["disagreements"][0]
    assert f"old and {NEW} decide differently in {pair['rows']} rows, {pair['labeled']}" in text


def findings(result):
    return [block.text for block in document(result).sections[0].blocks if block.role == "finding"]


@pytest.mark.parametrize("better", ["old", NEW])
def test_a_finding_names_the_model_with_the_smaller_gap_if_that_is_sure(models, better):
    """In all draws but 2 % the gap of one model is 0.1, and that of the other 0.2."""
    size = {name: 0.1 if name == better else 0.2 for name in models.models}
    draws = {name: np.full((1, 100, 2), 0.5) for name in size}
    for name, values in draws.items():
        values[..., 1] += size[name]
        values[:, :2, 1] = 1.0 - size[name]
    settings = replace(models.settings, metrics=("tpr",))
    theta = {name: {"tpr": values} for name, values in draws.items()}
    worse = next(name for name in size if name != better)
    text = f"tpr of B minus A is closer to 0 for {better} than for {worse}, with probability 0.980."
    assert findings(replace(models, theta=theta, settings=settings)) == [text]
    strict = replace(settings, prob=0.99)
    none = "No model clearly has the smaller gap in tpr."
    assert findings(replace(models, theta=theta, settings=strict)) == [none]


def test_without_labels_no_model_is_named_fairer(rows):
    """Unless the metric is known without them."""
    scores = {"x": rows.y_score, "y": rows.y_score**2}
    given = {"sensitive_features": rows.group, "metrics": ["tpr", "selection_rate"]}
    blank = lf.compare_models(scores, np.full(400, np.nan), **given, **QUICKEST)
    known, unclear = findings(blank)
    assert known.startswith("selection_rate of B minus A is closer to 0 for ")
    assert unclear == "No model clearly has the smaller gap in tpr, accuracy."


def test_equal_and_many_models(rows):
    group = np.array([*"abcde"])[np.arange(400) % 5]
    scores = {"x": rows.y_score, "y": rows.y_score, "z": rows.y_score**2}
    options = {"metrics": "selection_rate", **QUICKEST}
    found = lf.compare_models(scores, rows.y_true, sensitive_features=group, **options)
    metric = next(one for one in document(found).sections if one.key == "selection_rate")
    heads = [block.head[1:] for block in metric.blocks]
    pairs = ("y minus x", "z minus x", "z minus y")
    chances = ("P(y fairer than x)", "P(z fairer than x)", "P(z fairer than y)")
    assert heads == [("x", "y", "z"), pairs] * 2 + [chances]
    assert [cell.text for cell in metric.blocks[-1].rows[-1]][:2] == ["largest", "0 (equal 1)"]
    texts = " ".join(findings(found))
    assert "for y than for x" not in texts and "for x than for y" not in texts
