"""The report of a comparison of models."""

from __future__ import annotations

import numpy as np
from results import QUICKEST, flat

import lightfair as lf
from lightfair.core.data.messages import number, probability
from lightfair.report.models import document, sentence

NEW = "<b>new</b>"


def test_two_models_share_a_table(models):
    sections = {section.key: section for section in document(models, full=True).sections}
    metric, gaps, finding = sections["tpr"].blocks
    assert finding.role == "finding"
    assert metric.head == ("group", "old", NEW, f"{NEW} minus old")
    assert [row[0].text for row in metric.rows] == ["all rows", "A", "B"]
    delta = models.metric_difference("tpr", NEW, "old", "B")
    assert metric.rows[2][3].text.startswith(number(delta.mean))
    gap = models.gap(NEW, "tpr", "B")
    assert gaps.head[0] == "minus A" and gaps.rows[0][2].text.startswith(number(gap.mean))
    assert [block.text for block in sections["verdict"].blocks[:2]] == [
        finding.text,
        sentence(models, "accuracy", "old", NEW),
    ]


def test_rows_thresholds_and_disagreements(models):
    text = flat(models)
    assert f"models old and {NEW} on the same rows: 400 rows, 60 labeled, 340 unlabeled" in text
    assert f"; thresholds old 0.5, {NEW} 0.5 target sample" in text
    pair = models.to_dict()["data"]["disagreements"][0]
    assert f"old and {NEW} decide differently in {pair['rows']} rows, {pair['labeled']}" in text


def test_a_sentence_names_the_likelier_model_with_its_probability(models):
    gain = models.fairer("tpr", NEW, "old", "B")
    chance, same = gain.prob_greater(0.0), gain.prob_equal()
    pair = (NEW, "old") if 2.0 * chance + same >= 1.0 else ("old", NEW)
    chance = max(chance, 1.0 - chance - same)
    text = (
        f"tpr of B minus A is closer to 0 for {pair[0]} than for {pair[1]} with probability "
        f"{probability(chance)}, the same with probability {probability(same)}."
    )
    assert sentence(models, "tpr", "old", NEW) == sentence(models, "tpr", NEW, "old") == text


def test_without_labels_no_model_is_named_fairer(rows):
    """Unless the metric is known without them."""
    scores = {"x": rows.y_score, "y": rows.y_score**2}
    given = {"sensitive_features": rows.group, "metrics": ["tpr", "selection_rate"]}
    blank = lf.compare_models(scores, np.full(400, np.nan), **given, **QUICKEST)
    assert sentence(blank, "tpr", "x", "y").endswith(": undefined, no row is labeled.")
    assert " with probability " in sentence(blank, "selection_rate", "x", "y")


def test_equal_and_many_models(rows):
    group = np.array([*"abcde"])[np.arange(400) % 5]
    scores = {"x": rows.y_score, "y": rows.y_score, "z": rows.y_score**2}
    found = lf.compare_models(
        scores, rows.y_true, sensitive_features=group, metrics="selection_rate", **QUICKEST
    )
    metric = next(one for one in document(found).sections if one.key == "selection_rate")
    heads = [block.head[1:] for block in metric.blocks if hasattr(block, "head")]
    pairs = ("y minus x", "z minus x", "z minus y")
    assert heads == [("x", "y", "z"), pairs] * 2
    findings = [block.text for block in metric.blocks if not hasattr(block, "head")]
    same = (
        "the largest gap in selection_rate is smaller for y than for x with probability 0, the "
        "same with probability 1."
    )
    assert len(findings) == 3 and findings[0] == same
