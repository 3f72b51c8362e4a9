"""Thresholds that equalise a metric: against searches row by row, and how sure they are."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from results import row_by_row, scored

import lightfair as lf
from lightfair import find_threshold
from lightfair.core.metrics.score_bins import score_slots
from lightfair.core.simulation import hide_labels
from lightfair.thresholds.search import parts_of

QUICK = {"chains": 4, "draws": 12, "warmup": 20, "rng": 0}
METRICS = ("tpr", "fpr", "fnr", "tnr", "selection_rate", "accuracy", "ppv")


@cache
def assessed(levels=False):
    label, score, group = scored(levels)
    return lf.assess(label, score, sensitive_features=group, metrics=METRICS, **QUICK)


@pytest.mark.parametrize("metric", METRICS)
def test_with_all_labels_it_is_the_best_of_all_thresholds(metric):
    label, score, group = scored(levels=True)
    found = find_threshold(assessed(levels=True), metric, "x", "y")
    mine, other = group == "x", group == "y"
    wanted = row_by_row(metric, label[other], score[other], 0.5)
    assert found.wanted.mean == pytest.approx(wanted, rel=1e-12)
    one = found["x"]
    gaps = {}
    for cut in np.unique(score[mine]):
        gaps[float(cut)] = row_by_row(metric, label[mine], score[mine], cut) - wanted
    best = min(gaps, key=lambda cut: (round(abs(gaps[cut]), 12), cut))
    assert one.gap.mean == pytest.approx(gaps[best], abs=1e-12)
    there = row_by_row(metric, label[mine], score[mine], one.recommended)
    assert there == pytest.approx(one.metric.mean, rel=1e-12) and one.gap.exact


@pytest.mark.parametrize("levels", [False, True])
def test_the_recommended_threshold_does_to_the_rows_what_it_says(levels):
    label, score, group = scored(levels)
    found = find_threshold(assessed(levels), "tpr", target=0.7)
    for name in ("x", "y"):
        mine = group == name
        one = found[name]
        there = row_by_row("tpr", label[mine], score[mine], one.recommended)
        assert there == pytest.approx(one.metric.mean, rel=1e-12)
        assert abs(one.gap.mean) < 0.02
        assert one.gap.mean == pytest.approx(one.metric.mean - 0.7, abs=1e-12)
        beyond = row_by_row("tpr", label[mine], score[mine], one.recommended + 0.02)
        assert beyond < 0.7 < row_by_row("tpr", label[mine], score[mine], one.recommended - 0.02)
    again = lf.assess(label, score, sensitive_features=group, threshold=found.threshold, **QUICK)
    assert again.metric("tpr", "x").mean == pytest.approx(found["x"].metric.mean, rel=1e-12)


def test_parts_cut_no_score_bin():
    for levels in (False, True):
        label, score, group = scored(levels)
        data = {"sensitive_features": group, "threshold": [0.5, 0.303]}
        result = lf.assess(label, score, **data, **QUICK)
        for at, slots in enumerate(score_slots(result.fine)):
            parts = parts_of(slots, result.fine, at)
            assert (parts.low <= parts.high).all() and (np.diff(parts.low) > 0.0).all()
            assert parts.rank.min() >= 0 and parts.rank.max() <= len(parts.low)
            order = np.argsort(slots.score, kind="stable")
            assert (np.diff(parts.rank[order]) >= 0).all()


def partly(seed, count=3000, labels=200, **options):
    label, score, group = scored(count=count, seed=seed)
    shown = hide_labels(label, labels, np.random.default_rng(seed))
    data = {"sensitive_features": group, "metrics": ("tpr",)}
    few = lf.assess(shown, score, **data, **{"rng": seed, **options})
    return few, lf.assess(label, score, **data, **QUICK)


@pytest.fixture(scope="module")
def few_and_full():
    return partly(0, draws=20, warmup=20)


@pytest.mark.slow
def test_the_gap_at_the_recommended_threshold_is_as_uncertain_as_it_says():
    held, gaps = [], []
    for seed in range(10):
        result, full = partly(seed, count=6000, labels=400, trust=False)
        one = find_threshold(result, "tpr", "x", "y")["x"]
        true = full.thresholds([one.recommended]).draws("tpr")[0, 0, 0, 0]
        low, high = one.gap.interval(0.95)
        held.append(low <= true - full.draws("tpr")[0, 0, 1] <= high)
        gaps.append(one.gap)
    assert sum(held) >= 8
    assert np.mean([abs(gap.mean) for gap in gaps]) < 0.01  # chosen so
    assert np.mean([gap.sd for gap in gaps]) > 0.02  # and still uncertain


def test_the_curve_and_the_search_see_the_same_labels(few_and_full):
    result, _ = few_and_full
    found = find_threshold(result, "tpr", "x", "y")
    one = found["x"]
    curve = result.thresholds([one.recommended])
    np.testing.assert_allclose(curve.draws("tpr")[:, :, 0, 0], one.metric.draws, rtol=1e-12)
    gap = one.metric.draws - found.wanted.draws
    np.testing.assert_allclose(one.gap.draws, gap, atol=1e-14)
    # no other threshold of the grid is better
    every = result.thresholds("all").draws("tpr")[..., 0] - found.wanted.draws[..., None]
    assert np.abs(one.gap.draws).mean() <= np.abs(every).mean(axis=(0, 1)).min() + 1e-12


def test_a_reason_where_no_threshold_is_recommended():
    rng = np.random.default_rng(3)
    group = np.repeat(["x", "y"], 300)
    score = np.where(group == "x", 0.999, rng.random(600))
    label = np.where(group == "y", 0, (rng.random(600) < score).astype(int))
    result = lf.assess(label, score, sensitive_features=group, **QUICK)
    found = find_threshold(result, "tpr", "x", "y")
    assert found["x"].recommended is None and found.threshold == {"y": 0.5}
    values = json.loads(json.dumps(found.to_dict()))["groups"][0]
    why = "tpr, or what is wanted, is undefined in more than 5% of draws, at every threshold"
    assert values["gap"] is None and values["recommended_reason"] == why


def test_the_reference_stays_at_its_own_decisions():
    label, score, group = scored()
    for options in ({"threshold": {"x": 0.3, "y": 0.61}}, {"y_pred": (score >= 0.61).astype(int)}):
        result = lf.assess(label, score, sensitive_features=group, **options, **QUICK)
        found = find_threshold(result, "tpr", reference="y")
        wanted = row_by_row("tpr", label[group == "y"], score[group == "y"], 0.61)
        assert found.wanted.mean == pytest.approx(wanted, rel=1e-12)
        assert found.own == (0.61 if "threshold" in options else None)
        assert set(found.threshold) == ({"x", "y"} if "threshold" in options else {"x"})


@pytest.mark.parametrize(
    "options, message",
    [
        ({"metric": "auc"}, "must depend on the threshold, such as tpr; got auc"),
        ({"group": "z"}, "no group 'z'; there are x, y"),
        ({"group": "y", "reference": "y"}, "group must not be the reference, 'y'"),
        ({"target": 0.8, "reference": "y"}, "give reference or target, not both"),
        ({"target": 1.2}, r"target must lie in \(0, 1\); got 1.2"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        find_threshold(assessed(), **options)


def test_one_group_needs_a_target():
    label, score, _ = scored()
    result = lf.assess(label, score, sensitive_features=["a"] * len(label), **QUICK)
    with pytest.raises(ValueError, match="needs a target if there is only one group"):
        find_threshold(result)
    assert find_threshold(result, target=0.6)["a"].recommended is not None
    with pytest.raises(ValueError, match="no group 'b'; there are a"):
        find_threshold(result, target=0.6)["b"]
