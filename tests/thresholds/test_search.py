"""Thresholds that equalise a metric: against searches row by row, and how sure they are."""

from __future__ import annotations

import json

import numpy as np
import pytest

import lightfair as lf
from lightfair import find_threshold
from lightfair.core.metrics.definitions import theta
from lightfair.core.metrics.imputation import score_slots
from lightfair.core.simulation import hide_labels
from lightfair.thresholds.search import Parts, crossings, parts_of

QUICK = {"draws": 12, "warmup": 20, "rng": 0}
METRICS = ("tpr", "fpr", "fnr", "tnr", "selection_rate", "accuracy", "ppv")


def rows(levels=False, count=2500, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.choice(["x", "y"], count)
    score = np.where(group == "x", rng.beta(1.0, 2.0, count), rng.beta(2.0, 1.3, count))
    if levels:
        score = np.round(score, 2)
    return (rng.random(count) < score).astype(int), score, group


def at(metric, label, score, cut):
    """A metric at a threshold, row by row."""
    counts = np.zeros((2, 2))
    for y, s in zip(label, score, strict=True):
        counts[int(s >= cut), y] += 1.0
    return float(theta(metric, counts))


def assessed(levels=False, **options):
    label, score, group = rows(levels)
    return lf.assess(label, score, sensitive_features=group, metrics=METRICS, **QUICK, **options)


@pytest.mark.parametrize("metric", METRICS)
def test_with_all_labels_it_is_the_best_of_all_thresholds(metric):
    label, score, group = rows(levels=True)
    found = find_threshold(assessed(levels=True), metric, "x", "y")
    mine, other = group == "x", group == "y"
    wanted = at(metric, label[other], score[other], 0.5)
    assert found.wanted.mean == pytest.approx(wanted, rel=1e-12)
    one = found["x"]
    gaps = {}
    for cut in np.unique(score[mine]):
        gaps[float(cut)] = at(metric, label[mine], score[mine], cut) - wanted
    best = min(gaps, key=lambda cut: (round(abs(gaps[cut]), 12), cut))
    assert one.gap.mean == pytest.approx(gaps[best], abs=1e-12)
    assert at(metric, label[mine], score[mine], one.recommended) == pytest.approx(
        one.metric.mean, rel=1e-12
    )
    assert one.gap.exact


@pytest.mark.parametrize("metric, falls", [("tpr", True), ("tnr", False), ("selection_rate", True)])
def test_with_distinct_scores_the_crossing_is_the_step(metric, falls):
    label, score, group = rows(levels=True)
    mine, other = group == "x", group == "y"
    wanted = at(metric, label[other], score[other], 0.5)
    cuts = np.unique(score[mine])
    values = [at(metric, label[mine], score[mine], cut) for cut in cuts]
    there = [value <= wanted if falls else value >= wanted for value in values]
    step = cuts[there.index(True) - 1]  # just above it the metric gets there
    one = find_threshold(assessed(levels=True), metric, "x", "y")["x"]
    np.testing.assert_allclose(one.crossing.draws, step, rtol=1e-9)
    assert one.no_crossing == 0.0 and one.crossing.exact


@pytest.mark.parametrize("levels", [False, True])
def test_the_recommended_threshold_does_to_the_rows_what_it_says(levels):
    label, score, group = rows(levels)
    found = find_threshold(assessed(levels), "tpr", target=0.7)
    for name in ("x", "y"):
        mine = group == name
        one = found[name]
        np.testing.assert_allclose(
            at("tpr", label[mine], score[mine], one.recommended), one.metric.mean, rtol=1e-12
        )
        assert abs(one.gap.mean) < 0.02
        assert one.gap.mean == pytest.approx(one.metric.mean - 0.7, abs=1e-12)
        beyond = at("tpr", label[mine], score[mine], one.median + 0.02)
        assert beyond < 0.7 < at("tpr", label[mine], score[mine], one.median - 0.02)
    again = lf.assess(label, score, sensitive_features=group, threshold=found.threshold, **QUICK)
    assert again.metric("tpr", "x").mean == pytest.approx(found["x"].metric.mean, rel=1e-12)


def test_the_crossing_by_hand():
    low = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    parts = Parts(np.zeros(0, np.int64), low, low + 0.1)
    values = np.tile([1.0, 0.8, 0.8, 0.4, 0.0], (7, 1))
    wanted = np.array([1.0, 0.8, 0.7, 0.6, 0.4, 0.1, np.nan])
    got = crossings(values, wanted, parts)
    # reached at once; the smaller of two that tie; shares of the way; at an end; in the last part
    np.testing.assert_allclose(got[:6], [-2.0, -1.0, 0.325, 0.55, 1.0, 1.775])
    assert np.isnan(got[6])
    # a first value below the wanted one, and a last one above it, are no crossings
    assert np.isnan(crossings(values - 0.1, np.full(7, 0.95), parts)).all()
    assert np.isnan(crossings(values + 0.1, np.full(7, 0.05), parts)).all()


def test_parts_cut_no_slot():
    for levels in (False, True):
        result = assessed(levels, threshold=[0.5, 0.303])
        for group, slots in enumerate(score_slots(result.fine)):
            parts = parts_of(slots, result.fine, group)
            assert (parts.low <= parts.high).all() and (np.diff(parts.low) > 0.0).all()
            assert parts.rank.min() >= 0 and parts.rank.max() <= len(parts.low)
            order = np.argsort(slots.score, kind="stable")
            assert (np.diff(parts.rank[order]) >= 0).all()


def partly(seed, count=6000, labels=400, **options):
    label, score, group = rows(count=count, seed=seed)
    shown = hide_labels(label, labels, np.random.default_rng(seed))
    result = lf.assess(
        shown, score, sensitive_features=group, metrics=("tpr",), rng=seed, **options
    )
    return result, lf.assess(label, score, sensitive_features=group, metrics=("tpr",), **QUICK)


def test_the_posterior_of_the_threshold_holds_the_true_one():
    held, spread, gaps = [], [], []
    for seed in range(10):
        result, full = partly(seed, trust=False)
        truth = find_threshold(full, "tpr", "x", "y")["x"].median
        found = find_threshold(result, "tpr", "x", "y")
        low, high = found["x"].crossing.interval(0.95)
        held.append(low <= truth <= high)
        spread.append(high - low)
        gaps.append(found["x"].gap)
    assert sum(held) >= 8
    assert 0.02 < np.mean(spread) < 0.3
    assert np.mean([abs(gap.mean) for gap in gaps]) < 0.01  # chosen so
    assert np.mean([gap.sd for gap in gaps]) > 0.02  # and still unsure


def test_the_curve_and_the_search_see_the_same_labels():
    result, _ = partly(0, labels=200, draws=20, warmup=20)
    found = find_threshold(result, "tpr", "x", "y")
    one = found["x"]
    curve = result.thresholds([one.recommended])
    np.testing.assert_allclose(curve.draws("tpr")[:, :, 0, 0], one.metric.draws, rtol=1e-12)
    gap = one.metric.draws - found.wanted.draws
    np.testing.assert_allclose(one.gap.draws, gap, atol=1e-14)
    # no other threshold of the grid is better
    every = result.thresholds("all").draws("tpr")[..., 0] - found.wanted.draws[..., None]
    assert np.abs(one.gap.draws).mean() <= np.abs(every).mean(axis=(0, 1)).min() + 1e-12


def test_no_crossing_is_counted():
    rng = np.random.default_rng(3)
    group = np.repeat(["x", "y"], 300)
    score = np.where(group == "x", 0.999, rng.random(600))  # x: all at the bound, nothing to divide
    label = (rng.random(600) < score).astype(int)
    result = lf.assess(label, score, sensitive_features=group, **QUICK)
    one = find_threshold(result, "tpr", "x", "y")["x"]
    assert one.no_crossing == 1.0 and np.isnan(one.median)
    values = json.loads(json.dumps(find_threshold(result, "tpr", "x", "y").to_dict()))
    assert values["groups"][0]["interval"] is None
    assert values["groups"][0]["reason"] == "there are no thresholds that reach it"
    label[group == "y"] = 0  # the reference has no positives
    result = lf.assess(label, score, sensitive_features=group, **QUICK)
    found = find_threshold(result, "tpr", "x", "y")
    assert found["x"].recommended is None and found["x"].no_crossing == 1.0
    assert found.threshold == {"y": 0.5}
    assert "100.0%" in str(found) and "-" in str(found)


def test_the_reference_stays_at_its_own_decisions():
    label, score, group = rows()
    for options in ({"threshold": {"x": 0.3, "y": 0.61}}, {"y_pred": (score >= 0.61).astype(int)}):
        result = lf.assess(label, score, sensitive_features=group, **options, **QUICK)
        found = find_threshold(result, "tpr", reference="y")
        wanted = at("tpr", label[group == "y"], score[group == "y"], 0.61)
        assert found.wanted.mean == pytest.approx(wanted, rel=1e-12)
        assert found.own == (0.61 if "threshold" in options else None)
        assert set(found.threshold) == ({"x", "y"} if "threshold" in options else {"x"})


def test_what_it_prints():
    result, full = partly(1, labels=200, draws=20, warmup=20)
    text = str(find_threshold(result, "tpr", "x", "y")).splitlines()
    assert text[0].startswith("thresholds at which tpr is that of y at 0.5, 0.")
    at = next(i for i, line in enumerate(text) if line.startswith("group "))
    assert text[at].split()[:2] == ["group", "threshold"]
    assert text[at + 1].startswith("x ") and "0.0%" in text[at + 1]
    assert max(map(len, text)) <= 80
    assert "(exact)" in str(find_threshold(full, "tpr", "x", "y"))
    text = " ".join(str(find_threshold(assessed(), "accuracy", target=0.7)).split())
    assert "thresholds at which accuracy is 0.7" in text
    assert "accuracy does not move one way with the threshold: it has no posterior" in text


def test_metrics_that_move_both_ways_have_no_posterior_of_the_threshold():
    for metric in ("accuracy", "ppv", lf.Metric("missed", lambda tp, fp, fn, tn: fn / (tp + fn))):
        one = find_threshold(assessed(), metric, "x", "y")["x"]
        assert one.crossing is None and one.no_crossing is None and one.recommended is not None
    values = find_threshold(assessed(), "ppv", "x", "y").to_dict()["groups"][0]
    assert values["reason"] == "ppv does not move one way with the threshold"


BAD = [
    ({"metric": "base_rate"}, "base_rate does not depend on the threshold"),
    ({"metric": "auc"}, "auc does not depend on the threshold; find_threshold takes metrics of"),
    ({"metric": "what"}, "unknown metric 'what'"),
    ({"group": "z"}, "no group 'z'; there are x, y"),
    ({"reference": "z"}, "no group 'z'"),
    ({"group": "y", "reference": "y"}, "group must differ from the reference, y"),
    ({"group": []}, "group must name at least one group; got an empty list; leave it out"),
    ({"target": 0.8, "reference": "y"}, "give reference or target, not both"),
    ({"target": 1.2}, r"target must lie in \(0, 1\), where tpr does; got 1.2"),
    ({"target": "high"}, r"target must lie in \(0, 1\)"),
]


@pytest.mark.parametrize("options, message", BAD, ids=[message for _, message in BAD])
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        find_threshold(assessed(), **options)


def test_one_group_needs_a_target():
    label, score, _ = rows()
    result = lf.assess(label, score, sensitive_features=["a"] * len(label), **QUICK)
    with pytest.raises(ValueError, match="needs a reference, or a target where groups are one"):
        find_threshold(result)
    assert find_threshold(result, target=0.6)["a"].recommended is not None
    with pytest.raises(ValueError, match="no threshold of group 'b'; there are those of a"):
        find_threshold(result, target=0.6)["b"]


def test_the_printed_threshold_decides_as_the_one_found():
    """Where two cells meet there is no room for fewer digits."""
    rng = np.random.default_rng(0)
    score, group = rng.random(4000), np.repeat(["A", "B"], 2000)
    label = rng.random(4000) < score
    result = lf.assess(label, score, sensitive_features=group, metrics=["tpr"], rng=1)
    one = lf.find_threshold(result, "tpr")
    (found,) = one.groups
    assert f" {found.recommended!r} " in str(one)
    again = lf.assess(
        label, score, sensitive_features=group, metrics=["tpr"], threshold=one.threshold, rng=1
    )
    assert again.metric("tpr", found.group).mean == found.metric.mean


def test_a_gap_at_the_limit_is_not_below_it():
    estimate = lf.Estimate(np.full((1, 4), 0.25 - 0.3))
    assert estimate.prob_within(0.05) == 0.0
