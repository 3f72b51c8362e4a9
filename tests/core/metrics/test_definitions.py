"""Metrics by hand, by loops, by identities; user-defined metrics; bad input."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from asking import ask, ask_quickly

from lightfair.core.metrics.definitions import (
    BUILT_IN,
    COUNT_METRICS,
    DEFAULT_METRICS,
    METRICS,
    OTHER_WORDS,
    SCORE_METRICS,
    SHARES,
    Metric,
    as_metric,
    cost,
    resolve_metrics,
    successes_failures,
    theta,
)
from lightfair.core.metrics.imputation import TARGETS
from lightfair.core.metrics.score_bins import confusion, score_slots, slot_theta, with_pseudo_rows
from lightfair.core.settings import Settings

COUNTS = [[50, 10], [5, 30]]  # tn, fn; fp, tp
OF_COUNTS = {  # by hand; counts tn, fn, fp, tp that leave the metric 0 / 0
    "accuracy": (80 / 95, (0, 0, 0, 0)),
    "tpr": (30 / 40, (3, 0, 2, 0)),
    "fpr": (5 / 55, (0, 3, 0, 2)),
    "tnr": (50 / 55, (0, 3, 0, 2)),
    "fnr": (10 / 40, (3, 0, 2, 0)),
    "ppv": (30 / 35, (3, 2, 0, 0)),
    "npv": (50 / 60, (0, 0, 3, 2)),
    "false_discovery_rate": (5 / 35, (3, 2, 0, 0)),
    "false_omission_rate": (10 / 60, (0, 0, 3, 2)),
    "selection_rate": (35 / 95, (0, 0, 0, 0)),
    "base_rate": (40 / 95, (0, 0, 0, 0)),
    "f1": (60 / 75, (4, 0, 0, 0)),
    "balanced_accuracy": ((30 / 40 + 50 / 55) / 2, (0, 3, 0, 2)),
    "treatment_equality": (10 / 5, (3, 2, 0, 2)),
}
# five bins: scores, weights, positive shares
BINS = ([0.1, 0.3, 0.3, 0.8, 1.0], [4.0, 2.0, 1.0, 3.0, 2.0], [0.25, 0.5, 0.0, 2 / 3, 1.0])
# positives 1, 1, 0, 2, 2 of 6; negatives 3, 1, 1, 1, 0 of 6
OF_SCORES = {
    # below + half of ties: at 0.1 1.5, at 0.3 3 + 1, at 0.8 5.5, at 1 6
    "auc": (1 * 1.5 + 1 * 4 + 2 * 5.5 + 2 * 6) / 36,
    "brier": (0.81 + 3 * 0.01 + 0.49 + 2 * 0.09 + 2 * 0.04 + 0.64) / 12,
    # bins of 0.1 (1 - 0.4), of 0.3 (1 - 0.9), of 0.8 (2 - 2.4), of 1 (2 - 2)
    "ece": (0.6 + 0.1 + 0.4 + 0.0) / 12,
    "calibration_in_the_large": 6 / 12 - (0.4 + 0.6 + 0.3 + 2.4 + 2.0) / 12,
    "balance_positive": (0.1 + 0.3 + 1.6 + 2.0) / 6,
    "balance_negative": (0.3 + 0.3 + 0.3 + 0.8) / 6,
    "average_score": 5.7 / 12,
}


def random_counts():
    return np.random.default_rng(0).gamma(2.0, 3.0, (5, 4, 3, 2, 2))


def random_bins(count=40, draws=3):
    """Scores with ties, weights and shares of several draws."""
    rng = np.random.default_rng(0)
    score = np.sort(rng.integers(1, 25, count) / 25.0)
    return score, rng.gamma(2.0, 1.0, (draws, count)), rng.random((draws, count))


def at(metric, score, weight, label):
    score, weight, label = (np.array(x, dtype=float) for x in (score, weight, label))
    return slot_theta(as_metric(metric), score, np.atleast_2d(weight), np.atleast_2d(label))


# metrics of counts


def test_every_metric_is_listed():
    assert tuple(OF_COUNTS) == tuple(COUNT_METRICS) and tuple(OF_SCORES) == tuple(SCORE_METRICS)
    assert (*OF_COUNTS, *OF_SCORES) == METRICS and set(DEFAULT_METRICS) <= set(METRICS)


@pytest.mark.parametrize("name", COUNT_METRICS)
def test_counts_by_hand(name):
    expected, undefined = OF_COUNTS[name]
    cells = np.array(undefined, dtype=float).reshape(2, 2)
    assert float(theta(name, COUNTS)) == pytest.approx(expected, rel=1e-15)
    both = theta(name, np.stack([cells, COUNTS]))
    assert math.isnan(both[0]) and both[1] == pytest.approx(expected)


def test_successes_and_failures():
    assert [float(x) for x in successes_failures("accuracy", COUNTS)] == [80, 15]
    assert [float(x) for x in successes_failures("fpr", COUNTS)] == [5, 50]
    assert [float(x) for x in successes_failures("f1", COUNTS)] == [30, 15]
    for name in set(SHARES) - {"f1"}:
        success, failure = successes_failures(name, random_counts())
        expected = theta(name, random_counts())
        np.testing.assert_allclose(success / (success + failure), expected, rtol=1e-12)


def test_costs():
    assert float(theta(cost(fp=1, fn=5), COUNTS)) == pytest.approx((5 + 50) / 95)
    assert float(theta("cost(fp=0, fn=2.5)", COUNTS)) == pytest.approx(25 / 95)
    one = cost(fp=1.0, fn=np.float64(0.1))
    assert one.name == "cost(fp=1,fn=0.1)" and as_metric(one.name) == one
    assert one.bounds == (0.0, 1.0)
    accuracy = float(theta("accuracy", COUNTS))
    assert float(theta(cost(fp=1, fn=1), COUNTS)) == pytest.approx(1.0 - accuracy)


# metrics of scores


@pytest.mark.parametrize("name", SCORE_METRICS)
def test_scores_by_hand_and_draw_by_draw(name):
    assert at(name, *BINS)[0] == pytest.approx(OF_SCORES[name], rel=1e-14)
    score, weight, label = random_bins()
    one = at(name, score, weight, label)
    each = [at(name, score, *draw)[0] for draw in zip(weight, label, strict=True)]
    np.testing.assert_allclose(one, each, rtol=1e-12)
    np.testing.assert_allclose(at(name, score, 3.7 * weight, label), one, rtol=1e-12)
    halves = (np.repeat(x, 2, axis=-1) for x in (score, 0.5 * weight, label))
    np.testing.assert_allclose(at(name, *halves), one, rtol=1e-12)


@pytest.mark.parametrize("score, same", [((0.3, 0.35), 1), ((0.25, 0.3), 0), ((0.95, 1.0), 1)])
def test_an_edge_belongs_to_the_bin_above_it_despite_rounding(score, same):
    away = [1.0 - score[0], -score[1]]
    expected = abs(sum(away)) if same else sum(map(abs, away))
    for shift in (0.0, -1e-16, 1e-16) if max(score) < 1 else (0.0,):
        got = at("ece", np.array(score) + shift, [1.0, 1.0], [1.0, 0.0])
        assert got[0] == pytest.approx(expected / 2)


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_one_class_leaves_auc_and_a_balance_undefined(label):
    score, weight, _ = random_bins()
    labels = np.full(weight.shape, label)
    undefined = {name: np.isnan(at(name, score, weight, labels)).all() for name in SCORE_METRICS}
    lacking = "balance_negative" if label else "balance_positive"
    assert {name for name, value in undefined.items() if value} == {"auc", lacking}


# through an assessment


@pytest.mark.parametrize("target", TARGETS)
def test_every_metric_with_every_target(rows, target):
    """Counts, metrics of counts and metrics of scores are of the same labels."""
    own = Metric("own", lambda s, w, p: (w * p * s * s).sum(-1) / w.sum(-1), of="nodes")
    result = ask_quickly(rows, metrics=[*METRICS, own, cost(fp=1, fn=5)], target=target)
    for name in result.settings.metrics:
        draws = result.draws(name)
        assert draws.shape == result.posterior.phi.shape[:3]
        low, high = result.settings.metric(name).bounds
        assert ((draws >= low) & (draws <= high)).all()
    values = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert list(values["metrics"]) == [*METRICS, "own", "cost(fp=1,fn=5)"]
    assert (result.metric("average_score", "A").sd == 0.0) == (target != "population")
    for index, bins in enumerate(score_slots(result.fine)):
        drawn = result.imputed(result.groups[index])
        counts = result.counts[:, :, index].reshape(-1, 2, 2)
        pseudo = result.pseudo_rows[:, :, index]
        whole = confusion(drawn, bins) + pseudo.reshape(-1, 2, 2)
        np.testing.assert_array_equal(whole, counts)
        drawn = with_pseudo_rows(drawn, bins.total, pseudo, (result.label_seed, index, 1))
        auc = slot_theta(as_metric("auc"), bins.score, *drawn)
        np.testing.assert_array_equal(auc, result.draws("auc")[..., index].ravel())
    np.testing.assert_array_equal(theta("tpr", result.counts), result.draws("tpr"))


# user-defined metrics


def test_a_user_defined_metric_is_as_good_as_a_built_in_one(rows):
    def mean_positive(score, weight, label):
        return (weight * label * score).sum(axis=-1) / (weight * label).sum(axis=-1)

    own = Metric("own", lambda tp, fp, fn, tn: tp / (tp + fn), lack="positive labels")
    scores = Metric("scores", mean_positive, "nodes", "positive labels", bounds=(0, 1))
    result = ask(rows, metrics=["tpr", own, "balance_positive", scores])
    np.testing.assert_allclose(result.draws("own"), result.draws("tpr"), rtol=1e-12)
    np.testing.assert_allclose(result.draws("scores"), result.draws("balance_positive"), rtol=1e-12)
    reason = "not estimated for a metric that is not a share of counts"
    assert result.prediction_powered["own"].reason[0] == reason
    # Dirichlet(1, 1, 1, 1) has the same tpr as Beta(1, 1) of its two cells
    one, two = result.labels["own"], result.labels["tpr"]
    np.testing.assert_allclose(one.mean, two.mean, atol=0.01)
    np.testing.assert_allclose([one.low, one.high], [two.low, two.high], atol=0.03)


def test_a_user_defined_metric_may_need_no_labels(rows):
    counts = Metric("counts", lambda tp, fp, fn, tn: (tp + fp) / (tp + fp + fn + tn))
    nodes = Metric("nodes", lambda s, w, p: (w * (s > 0.5)).sum(-1) / w.sum(-1), "nodes")
    free = [replace(metric, label_free=True) for metric in (counts, nodes)]
    result = ask_quickly(rows, metrics=["selection_rate", *free])
    for name in ("counts", "nodes"):
        for group in result.groups:
            got = result.metric(name, group)
            assert got.exact and got.sd == 0.0
            assert got.mean == pytest.approx(result.metric("selection_rate", group).mean, rel=1e-12)


def test_a_user_defined_metric_may_be_a_count(rows):
    """Labels-only estimates are scaled to the rows of the group, as the draws are."""
    metric = Metric("false_positives", lambda tp, fp, fn, tn: fp)
    result = ask(rows, metrics=[metric])
    predicted = ((rows.group == "A") & (rows.y_score >= 0.5)).sum()
    estimate, labels = result.metric("false_positives", "A"), result.labels["false_positives"]
    assert 0 < estimate.mean < predicted
    assert labels.low[0] < estimate.mean < labels.high[0]
    assert result.difference("false_positives", "B", "A").prob_within(300.0) == 1.0


def test_undefined_draws_of_a_user_defined_metric(rows):
    metric = Metric("own", lambda tp, fp, fn, tn: tp / (0.0 * tp), lack="sense")
    result = ask_quickly(rows, metrics=[metric])
    assert result.metric("own", "A").reason == "there are no sense"
    assert result.labels["own"].reason[0] == "there are no sense"
    masked = Metric("own", lambda tp, fp, fn, tn: np.ma.masked_equal(tp.astype(int), 0))
    counts = [COUNTS, [[50.0, 10.0], [0.0, 0.0]]]
    np.testing.assert_array_equal(theta(masked, counts), [30.0, np.nan])


def raising(*arrays):
    raise RuntimeError("not today")


def changing(tp, fp, fn, tn):
    tp += 1.0
    return tp


@pytest.mark.parametrize(
    "function, options, message",
    [
        (lambda *x: 0.5, {}, r"metric 'own' must be real, of shape .*; got float64 of shape \(\)"),
        (lambda *x: 1j * x[0], {}, "metric 'own' must be real, .*; got complex128"),
        (changing, {}, "read-only"),
        (lambda *x: 2 + x[0], {"bounds": (0, 1)}, r"must lie in \[0, 1\]; got"),
        (lambda s, w, p: s, {"of": "nodes"}, "metric 'own' must be real, of shape"),
        (lambda tp, fp, fn, tn: tp, {"label_free": True}, "metric 'own' depends on labels"),
        (lambda s, w, p: (w * p).sum(-1), {"of": "nodes", "label_free": True}, "depends on labels"),
    ],
)
def test_a_function_that_fails_is_named(rows, function, options, message):
    with pytest.raises(ValueError, match=message):
        ask_quickly(rows, metrics=["tpr", Metric("own", function, **options)])


# names


def names_of(metrics):
    return tuple(metric.name for metric in resolve_metrics(metrics))


def test_metrics_by_name():
    assert names_of("tpr") == ("tpr",)
    assert names_of(["tpr", "fpr", "tpr"]) == names_of(np.array(["tpr", "fpr"])) == ("tpr", "fpr")
    assert names_of([cost(fp=1, fn=5), "cost(fp=1, fn=5.0)"]) == ("cost(fp=1,fn=5)",)
    assert all(as_metric(name) is BUILT_IN[name] for name in METRICS)
    assert Settings(metrics="cost(fp=0.001,fn=0.005)").epsilon == 0.05
    own = Metric("own", raising)
    settings = replace(Settings(metrics=["tpr", own], epsilon=2.0), prob=0.9)
    assert settings.metrics == ("tpr", "own") and settings.metric("own") is own
    assert json.loads(json.dumps(settings.to_dict()))["metrics"] == ["tpr", "own"]


def test_other_words_are_taken(rows):
    assert not set(OTHER_WORDS) & set(METRICS)
    for word, name in OTHER_WORDS.items():
        assert names_of(word.upper().replace("_", " ")) == tuple(name.split(",")) == names_of(name)
    assert names_of("TPR, Recall,cost(fp=1,fn=5)") == ("tpr", "cost(fp=1,fn=5)")
    result = ask(rows, metrics=["recall", "FPR"], checks="Sensitivity<=0.1")
    assert list(result.theta) == ["tpr", "fpr"] and result.checks[0].check.text == "tpr<=0.1"
    assert result.metric("recall", "B").mean == result.metric("tpr", "B").mean
    np.testing.assert_array_equal(*(result.effective_labels(m).labels for m in ("tpr", "recall")))


@pytest.mark.parametrize(
    "metrics, message",
    [
        (lambda tp, fp, fn, tn: tp, r"unknown metric <function .*Metric\(name, function\)"),
        ([Metric("recall", raising)], "must have a name of its own; got 'recall'"),
        ([Metric("tpr", raising)], "must have a name of its own; got 'tpr'"),
        ([Metric("cost(fp=1,fn=5)", raising)], "must have a name of its own"),
        ([Metric("x", raising), Metric("x", changing)], "two metrics have the name 'x'"),
        (["tpr", "recal"], r"unknown metric 'recal' .*'recall'.*; known: accuracy, .*cost\(fp"),
        ([], "at least one metric; known: accuracy"),
        (3, "unknown metric 3; known"),
        ("cost(fp=x,fn=1)", r"unknown metric .*cost\(fp=NUMBER,fn=NUMBER\)"),
        ("cost(fp=-1,fn=1)", "cost fp must be a finite number of at least 0; got -1.0"),
        ("cost(fp=0,fn=0)", "must not both be 0"),
    ],
)
def test_not_a_metric(metrics, message):
    with pytest.raises(ValueError, match=message):
        resolve_metrics(metrics)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"name": "a\nb"}, "a Metric must have a printable name; got Metric"),
        ({"function": 3}, "must have a callable function; got .*3"),
        ({"of": "rows"}, 'must have of="counts" or of="nodes"; got .*rows'),
        ({"bounds": (1, 0)}, "must have bounds of two numbers, the lower first"),
        ({"bounds": (0, math.nan)}, "must have bounds of two numbers"),
    ],
)
def test_a_metric_is_validated(options, message):
    with pytest.raises(ValueError, match=message):
        Metric(**{"name": "x", "function": raising, **options})


def test_counts_have_no_metric_of_nodes():
    with pytest.raises(ValueError, match="auc is a metric of nodes and has no value for counts"):
        theta("auc", [[1, 2], [3, 4]])
