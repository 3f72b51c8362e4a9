"""Prediction-powered estimates: against loops over rows, known limits, and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tables import table_of

from lightfair.core.data.nodes import UNLABELED
from lightfair.core.metrics.definitions import COUNT_METRICS, theta
from lightfair.core.metrics.prediction_powered import (
    MIN_LABELS,
    PredictionPowered,
    powered_difference,
    prediction_powered,
)

RUNS = 400
LEVELS = np.arange(1, 100) / 100.0  # few enough scores for a table to keep them


def simulated(rng, rows=600, labeled=120, slope=0.4, shift=0.5, groups=2):
    """Scores too sure in group 0, not enough in group 1; all labels, and most of them hidden."""
    score, group = rng.choice(LEVELS, rows), np.arange(rows) % groups
    slope = np.where(group == 1, 4.0 * slope, slope)
    odds = shift + slope * np.log(score / (1.0 - score))
    label = (rng.random(rows) < 1.0 / (1.0 + np.exp(-odds))).astype(float)
    hidden = label.copy()
    hidden[rng.permutation(rows)[labeled:]] = np.nan
    return score, label, hidden, group


def counts_of(table):
    return table.sums("weight")[..., :UNLABELED]


# against loops


def naive(name, score, label, target):
    """Estimate, squared standard error and lambda of accuracy or tpr; label is NaN if hidden.

    The prediction is score >= 0.5.
    """

    def metric(cells):
        tn, fp, fn, tp = cells
        return (tn + tp) / sum(cells) if name == "accuracy" else tp / (tp + fn)

    def slopes(cells):
        """By a complex step: as exact as a formula, and none is repeated."""
        return np.array([metric(cells + 1e-30j * unit).imag / 1e-30 for unit in np.eye(4)])

    total, predicted, seen = len(score), (score >= 0.5).astype(int), ~np.isnan(label)
    g, h = np.zeros((total, 4)), np.zeros((total, 4))
    for i in range(total):
        g[i, predicted[i]], g[i, 2 + predicted[i]] = 1.0 - score[i], score[i]
        if seen[i]:
            h[i, 2 * int(label[i]) + predicted[i]] = 1.0
    n, h = seen.sum(), h[seen]

    def estimate(tuning):
        return tuning * g.mean(axis=0) + (h - tuning * g[seen]).mean(axis=0)

    tuning = 0.0
    for _ in range(2):
        d = slopes(estimate(tuning))
        both = np.cov(h @ d, g[seen] @ d)
        tuning = min(max(both[0, 1] / both[1, 1], 0.0), 1.0)
    d = slopes(estimate(tuning))
    used = tuning * (1.0 - n / total) if target == "population" else tuning
    e = (h - used * g[seen]) @ d
    squares, in_bottom = e.var() * n, n
    pseudo = [(0, 0, 0.5), (1, 1, 0.5), (1, 0, 0.5), (0, 1, 0.5)]  # predicted, label, how many
    if name == "tpr":
        pseudo, in_bottom = [(1, 1, 1.0), (0, 1, 1.0)], np.nansum(label)
    for side, y, amount in pseudo:
        own = np.eye(4)[2 * y + side] - used * g[predicted == side].mean(axis=0)
        squares += amount * (own @ d - e.mean()) ** 2
    squares *= in_bottom / (in_bottom + 2.0) / (n - 2) / n
    if target != "population":
        return metric(estimate(tuning)), (1.0 - n / total) * squares, tuning
    every = (1.0 - n / total) * tuning**2 * (g @ d).var(ddof=1) / total
    return metric(estimate(tuning)), squares + every, tuning


@pytest.mark.parametrize("target", ["sample", "expected", "population"])
@pytest.mark.parametrize("name, slope", [("accuracy", 0.4), ("tpr", 0.4), ("tpr", -0.5)])
def test_agrees_with_loops_over_rows(name, slope, target):
    score, _, hidden, group = simulated(np.random.default_rng(0), 240, 90, slope)
    table = table_of(score, hidden, group)
    assert not len(table.cells.cell)
    got = prediction_powered(name, table, target=target)
    for g in range(2):
        mean, squared, tuning = naive(name, score[group == g], hidden[group == g], target)
        assert got.mean[g] == pytest.approx(mean, rel=1e-9)
        assert got.se[g] ** 2 == pytest.approx(squared, rel=1e-9)
        assert got.tuning[g] == pytest.approx(tuning, rel=1e-9)
        assert slope > 0.0 or 0.0 < tuning < 1.0  # so that the second pass matters


def test_cells_of_a_table_stand_for_their_rows():
    rng = np.random.default_rng(1)
    score = rng.uniform(0.02, 0.98, 4000)
    label = np.where(rng.random(4000) < 0.2, (rng.random(4000) < score).astype(float), np.nan)
    table = table_of(score, label)
    assert len(table.cells.cell)
    got = prediction_powered("accuracy", table)
    mean, squared, _ = naive("accuracy", score, label, "sample")
    assert got.mean[0] == pytest.approx(mean, rel=1e-6)
    assert got.se[0] ** 2 == pytest.approx(squared, rel=1e-6)


# limits


@pytest.mark.parametrize("name", COUNT_METRICS)
def test_all_labeled_is_the_frequency(name):
    score, label, _, group = simulated(np.random.default_rng(2))
    table = table_of(score, label, group)
    got = prediction_powered(name, table)
    np.testing.assert_array_equal(got.mean, theta(name, counts_of(table)))
    for column in (got.low, got.high):
        np.testing.assert_array_equal(column, got.mean)
    assert not got.se.any() and not got.tuning.any() and got.reason == (None, None)
    wide = prediction_powered(name, table, target="population")
    np.testing.assert_allclose(wide.mean, got.mean, rtol=1e-12)
    assert (wide.se > 0.0).all()


@pytest.mark.parametrize("name", ["accuracy", "base_rate", "balanced_accuracy"])
def test_scores_that_point_the_wrong_way_leave_the_labels(name):
    score, _, hidden, _ = simulated(np.random.default_rng(3), slope=3.0, shift=0.0, groups=1)
    table = table_of(1.0 - score, hidden, y_pred=(score >= 0.5).astype(int))
    got = prediction_powered(name, table)
    assert got.tuning[0] == 0.0
    assert got.mean[0] == pytest.approx(theta(name, counts_of(table))[0], rel=1e-12)


def test_without_scores_a_share_has_the_classical_error():
    score = np.full(2000, 0.7)
    label = np.full(2000, np.nan)
    label[:150], label[150:200] = 1, 0
    for target, left in (("sample", 0.9), ("population", 1.0)):
        got = prediction_powered("accuracy", table_of(score, label), target=target)
        squares = 150 * 0.25**2 + 50 * 0.75**2 + 0.25**2 + 0.75**2  # a hit and a miss are added
        squares *= 200 / (200 + 2)
        assert (got.mean[0], got.tuning[0]) == (0.75, 0.0)
        assert got.se[0] ** 2 == pytest.approx(left * squares / 198 / 200, rel=1e-12)
        reach = stats.t.ppf(0.975, 199) * got.se[0]
        assert (got.low[0], got.high[0]) == pytest.approx((0.75 - reach, 0.75 + reach), rel=1e-9)


def test_selection_rate_is_a_fact_of_the_rows_but_not_of_the_population():
    score, _, hidden, group = simulated(np.random.default_rng(6))
    hidden[group == 0] = np.nan
    table = table_of(score, hidden, group)
    rate = np.array([(score[group == g] >= 0.5).mean() for g in range(2)])
    fact = prediction_powered("selection_rate", table)
    np.testing.assert_allclose(fact.mean, rate, rtol=1e-15)
    assert not fact.se.any()
    wide = prediction_powered("selection_rate", table, target="population")
    np.testing.assert_allclose(wide.mean, rate, rtol=1e-12)
    np.testing.assert_allclose(wide.se, np.sqrt(rate * (1.0 - rate) / 300), rtol=0.01)


# too few labels


def few(positives, negatives, predicted=1, unlabeled=50):
    label = [1.0] * positives + [0.0] * negatives + [np.nan] * unlabeled
    score = np.resize([0.55, 0.6, 0.7, 0.9] if predicted else [0.1, 0.2, 0.4], len(label))
    return table_of(score, label)


@pytest.mark.parametrize(
    "name, positives, negatives, predicted, reason",
    [
        ("accuracy", 5, 4, 1, "fewer than 10 labels"),
        ("tpr", 9, 40, 1, "fewer than 10 positive labels"),
        ("fpr", 40, 9, 1, "fewer than 10 negative labels"),
        ("ppv", 20, 20, 0, "fewer than 10 labels of rows predicted positive"),
        ("npv", 20, 20, 1, "fewer than 10 labels of rows predicted negative"),
        ("f1", 9, 90, 0, "fewer than 10 labels of rows labeled or predicted positive"),
        ("balanced_accuracy", 9, 40, 1, "fewer than 10 positive labels"),
    ],
)
@pytest.mark.parametrize("target", ["sample", "population"])
def test_too_few_labels_have_a_reason(name, positives, negatives, predicted, reason, target):
    got = prediction_powered(name, few(positives, negatives, predicted), target=target)
    assert got.reason == (reason,)
    assert np.isnan([column[0] for column in got[:6]]).all()
    assert prediction_powered("tpr", few(MIN_LABELS, 1), target=target).reason == (None,)


def test_a_rate_of_nothing_has_a_reason():
    table = few(0, 30, unlabeled=0)
    got = prediction_powered("tpr", table)
    assert got.reason == ("there are no positive labels",) and np.isnan(got.mean[0])
    assert prediction_powered("balanced_accuracy", table).reason == ("a label is missing",)


@pytest.mark.parametrize("name", ["accuracy", "tpr", "ppv"])
@pytest.mark.parametrize("count", [12, 50, 300])
def test_labels_that_all_agree_are_not_certain(name, count):
    """Twelve hits of twelve: the rule of three puts the rate above 1 - 3 / 12."""
    got = prediction_powered(name, few(count, 0, unlabeled=20 * count))
    assert got.mean[0] > 0.8
    assert 1.0 / count < 2.0 * got.se[0] < 6.0 / count


# weights


def test_a_weight_of_all_rows_of_a_group_drops_out():
    score, _, hidden, group = simulated(np.random.default_rng(8))
    weight = np.where(group == 0, 0.3, 700.0)
    for target in ("sample", "population"):
        plain = prediction_powered("tpr", table_of(score, hidden, group), target=target)
        weighted = table_of(score, hidden, group, sample_weight=weight)
        heavy = prediction_powered("tpr", weighted, target=target)
        for one, two in zip(plain[:6], heavy[:6], strict=True):
            np.testing.assert_allclose(two, one, rtol=1e-9)


def test_unequal_weights_have_a_reason_unless_exact():
    score, label, hidden, group = simulated(np.random.default_rng(9))
    weight = np.where(group == 0, 1.0, 1.0 + np.arange(len(group)))
    hidden[group == 1] = label[group == 1]
    hidden[1] = np.nan
    table = table_of(score, hidden, group, sample_weight=weight)
    got = prediction_powered("tpr", table)
    assert got.reason == (None, "row weights differ within the group")
    assert np.isnan(got.mean[1]) and got.mean[0] > 0.0
    fact = prediction_powered("selection_rate", table)
    rate = np.average(score[group == 1] >= 0.5, weights=weight[group == 1])
    assert fact.mean[1] == pytest.approx(rate, rel=1e-12) and fact.se[1] == 0.0


# differences


def result(mean, se, df, reason=(None, None)):
    mean, se, df, nothing = np.array(mean), np.array(se), np.array(df), np.zeros(2)
    return PredictionPowered(mean, se, nothing, nothing, nothing, df, reason)


def test_difference_has_welchs_degrees_of_freedom():
    got = powered_difference(result([0.7, 0.4], [0.03, 0.04], [20.0, 50.0]), 0, 1, prob=0.9)
    df = 0.0025**2 / (0.0009**2 / 20 + 0.0016**2 / 50)
    reach = stats.t.ppf(0.95, df) * 0.05
    expected = (0.3, 0.05, 0.3 - reach, 0.3 + reach)
    assert got[:4] == pytest.approx(expected, rel=1e-9) and got.reason is None


def test_difference_to_a_fact_and_of_facts():
    one = powered_difference(result([0.7, 0.4], [0.03, 0.0], [20.0, np.inf]), 0, 1)
    assert one.high - one.mean == pytest.approx(stats.t.ppf(0.975, 20) * 0.03, rel=1e-9)
    none = powered_difference(result([0.7, 0.4], [0.0, 0.0], [np.inf, np.inf]), 0, 1)
    assert none[:4] == pytest.approx((0.3, 0.0, 0.3, 0.3))
    source = result([0.7, 0.4], [0.03, 0.04], [20.0, 50.0])
    there, back = powered_difference(source, 0, 1), powered_difference(source, 1, 0)
    assert (there.low, there.mean, there.high) == pytest.approx((-back.high, -back.mean, -back.low))


def test_difference_says_which_group_lacks_labels():
    nan = float("nan")
    source = result([0.7, nan], [0.03, nan], [20.0, nan], (None, "fewer than 10 labels"))
    assert powered_difference(source, 1, 0).reason == "fewer than 10 labels (in the group)"
    got = powered_difference(source, 0, 1)
    assert got.reason == "fewer than 10 labels (in the reference)" and np.isnan(got.mean)


# coverage


def imputed(name, table):
    """A wrong estimate: the mean of the scores alone, without the labels' correction."""
    nodes = table.nodes()
    score = 1.0 / (1.0 + np.exp(-nodes.logit))
    cells = np.zeros((len(table.groups), 2, 2))
    stratum = nodes.stratum // 3
    for label, part in ((0, 1.0 - score), (1, score)):
        total = np.bincount(stratum, nodes.weight * part, cells.size // 2)
        cells[..., label] = total.reshape(-1, 2)
    got = prediction_powered(name, table)
    mean = theta(name, cells)
    return got._replace(mean=mean, low=got.low - got.mean + mean, high=got.high - got.mean + mean)


def covered(estimate, rng):
    """How often 95 % intervals have the truth: of accuracy and tpr, and of their differences."""
    hits = {}
    for _ in range(RUNS):
        score, label, hidden, group = simulated(rng)
        table, whole = table_of(score, hidden, group), table_of(score, label, group)
        for name in ("accuracy", "tpr"):
            truth = theta(name, counts_of(whole))
            got = estimate(name, table)
            hits.setdefault(name, []).append(got.low[0] <= truth[0] <= got.high[0])
            delta = powered_difference(got, 1, 0)
            inside = delta.low <= truth[1] - truth[0] <= delta.high
            hits.setdefault(name + " difference", []).append(inside)
    return {name: np.mean(values) for name, values in hits.items()}


def test_treatment_equality_needs_errors_of_both_kinds():
    score = np.repeat([0.2, 0.8], 100)
    label = np.full(200, np.nan)
    label[:40] = np.arange(40) % 2  # 20 false negatives
    label[100:140] = np.arange(40) % 2  # 20 false positives
    assert prediction_powered("treatment_equality", table_of(score, label)).reason == (None,)
    label[:40] = np.arange(40) < 5
    (reason,) = prediction_powered("treatment_equality", table_of(score, label)).reason
    assert reason == "fewer than 30 labels that it counts"
    label[:40], label[100:140] = 1.0, 1.0
    (reason,) = prediction_powered("treatment_equality", table_of(score, label)).reason
    assert reason == "too few labels: the estimate of the denominator is not above 0"


LOW, HIGH = stats.binom.interval(0.998, RUNS, 0.95)


@pytest.mark.slow
def test_intervals_cover():
    for name, share in covered(prediction_powered, np.random.default_rng(10)).items():
        assert LOW <= RUNS * share <= HIGH, (name, share)


@pytest.mark.slow
def test_scores_without_labels_do_not_cover():
    for name, share in covered(imputed, np.random.default_rng(11)).items():
        assert RUNS * share < LOW, (name, share)


@pytest.mark.slow
def test_population_intervals_cover_the_population():
    rng, inside = np.random.default_rng(12), []
    chance = 1.0 / (1.0 + np.exp(-0.5 - 0.4 * np.log(LEVELS / (1.0 - LEVELS))))
    truth = np.where(LEVELS >= 0.5, chance, 1.0 - chance).mean()
    for _ in range(RUNS):
        score, _, hidden, _ = simulated(rng, 300, 150, groups=1)
        got = prediction_powered("accuracy", table_of(score, hidden), target="population")
        inside.append(got.low[0] <= truth <= got.high[0])
    assert LOW <= sum(inside) <= HIGH, np.mean(inside)
