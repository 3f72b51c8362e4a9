"""Labels-only estimates against closed forms of scipy, and effective numbers of labels."""

from __future__ import annotations

import numpy as np
import pytest
from asking import ask
from scipy import stats

import lightfair.core as lf
from lightfair.core.metrics.definitions import (
    COUNT_METRICS,
    METRICS,
    SHARES,
    Metric,
    as_metric,
    cost,
    successes_failures,
)
from lightfair.core.metrics.labels_only import (
    DRAWS,
    beta_binomial,
    denominators,
    effective_labels,
    in_denominator,
    is_share,
    labels_only,
    share_labels,
)

COUNTS = np.array([[[50.0, 10.0], [5.0, 30.0]], [[2.0, 0.0], [1.0, 1.0]], [[0.0, 0.0]] * 2])
BOUNDED = sorted(set(COUNT_METRICS) - {"treatment_equality"})
S = np.array([0.0, 3.0, 17.5, 4000.0])
F = np.array([0.0, 0.0, 2.25, 9000.0])


def estimate(name, weight=COUNTS, weight_sq=None, prob=0.95, size=None):
    weight_sq = weight if weight_sq is None else weight_sq
    rng = np.random.default_rng(0)
    return labels_only(name, weight, weight_sq, prob=prob, rng=rng, size=size)


# the beta-binomial


@pytest.mark.parametrize("prob", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, 3.0)])
def test_beta_binomial(prior, prob):
    expected = stats.beta(prior[0] + S, prior[1] + F)
    got = beta_binomial(S, F, prior=prior, prob=prob)
    np.testing.assert_allclose(got.mean, expected.mean(), rtol=1e-12)
    np.testing.assert_allclose(got.sd, expected.std(), rtol=1e-12)
    np.testing.assert_allclose([got.low, got.high], expected.interval(prob), rtol=1e-9)


def test_no_rows_give_the_prior():
    for wrong in ({"failures": -5.0}, {"failures": np.nan}, {"failures": 1.0, "prob": -1}):
        with pytest.raises(ValueError, match="counts of at least 0|prob must lie in"):
            beta_binomial(1.0, **wrong)
    got = beta_binomial(np.zeros(()), np.zeros(()), prob=0.9)
    assert [float(x) for x in got] == pytest.approx([0.5, 12**-0.5, 0.05, 0.95])
    assert beta_binomial(np.zeros(0), np.zeros(0)).mean.size == 0  # a figure without labels


# metrics of counts


@pytest.mark.parametrize("name", BOUNDED)
def test_draws_agree_with_the_summary(name):
    got = estimate(name)
    assert got.draws.shape == (DRAWS, 3)
    assert ((got.low >= 0.0) & (got.low < got.mean) & (got.mean < got.high)).all()
    assert (got.high <= 1.0).all()
    assert (abs(got.draws.mean(axis=0) - got.mean) < 4.5 * got.sd / DRAWS**0.5).all()
    np.testing.assert_allclose(got.draws.std(axis=0), got.sd, rtol=0.05)
    ends = np.quantile(got.draws, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(ends, [got.low, got.high], atol=0.02)
    scaled = estimate(name, 500.0 * COUNTS, 500.0**2 * COUNTS)  # a factor on all weights
    np.testing.assert_allclose(scaled.mean, got.mean, rtol=1e-12)
    np.testing.assert_allclose(scaled.low, got.low, rtol=1e-9)


@pytest.mark.parametrize("name", sorted(set(SHARES) - {"f1"}))
def test_shares_have_a_beta_posterior(name):
    success, failure = successes_failures(name, COUNTS)
    expected = stats.beta(1.0 + success, 1.0 + failure)
    got = estimate(name, prob=0.9)
    np.testing.assert_allclose(got.mean, expected.mean(), rtol=1e-12)
    np.testing.assert_allclose(got.sd, expected.std(), rtol=1e-12)
    np.testing.assert_allclose([got.low, got.high], expected.interval(0.9), rtol=1e-9)


def test_f1_is_a_transformed_share():
    q = stats.beta(1.0 + 30.0, 1.0 + 15.0)
    got = estimate("f1", prob=0.8)
    low, high = (2.0 * x / (1.0 + x) for x in q.interval(0.8))
    assert (got.low[0], got.high[0]) == pytest.approx((low, high), rel=1e-9)
    expected = q.expect(lambda x: 2.0 * x / (1.0 + x))
    assert abs(got.mean[0] - expected) < 4.5 * got.sd[0] / DRAWS**0.5


def test_balanced_accuracy_is_the_mean_of_two_shares():
    got = estimate("balanced_accuracy")
    tpr, tnr = stats.beta(31.0, 11.0), stats.beta(51.0, 6.0)
    assert got.mean[0] == pytest.approx(0.5 * (tpr.mean() + tnr.mean()), rel=1e-12)
    assert got.sd[0] == pytest.approx(0.5 * (tpr.var() + tnr.var()) ** 0.5, rel=1e-12)


def test_treatment_equality_is_the_odds_of_a_share():
    """fn = 10 and fp = 5 in the first group, 0 and 1 in the second, none in the third."""
    got = estimate("treatment_equality", prob=0.8)
    low, high = (x / (1.0 - x) for x in stats.beta(1.0 + 10.0, 1.0 + 5.0).interval(0.8))
    assert (got.low[0], got.high[0]) == pytest.approx((low, high), rel=1e-9)
    expected = stats.betaprime(11.0, 6.0)
    assert (got.mean[0], got.sd[0]) == pytest.approx((expected.mean(), expected.std()), rel=1e-12)
    np.testing.assert_allclose(np.median(got.draws[:, 0]), expected.median(), rtol=0.05)
    assert got.reason == (None, None, "its mean is infinite")
    assert got.mean[1] == pytest.approx(1.0) and np.isnan(got.sd[1])
    assert np.isnan(got.mean[2]) and 0.0 < got.low[2] < 1.0 < got.high[2]


def test_weighted_rows_count_as_kish_says():
    """12 rows of weight 1 and 3 of weight 2, all of them hits, against 6 misses of weight 3."""
    weight, squares = np.zeros((1, 2, 2)), np.zeros((1, 2, 2))
    weight[0, 1, 1], squares[0, 1, 1] = 12 * 1 + 3 * 2, 12 * 1 + 3 * 4
    weight[0, 0, 1], squares[0, 0, 1] = 6 * 3, 6 * 9
    rows = (18 + 18) ** 2 / (24 + 54)
    expected = stats.beta(1.0 + 0.5 * rows, 1.0 + 0.5 * rows)
    got = estimate("tpr", weight, squares)
    assert (got.mean[0], got.sd[0]) == pytest.approx((expected.mean(), expected.std()), rel=1e-12)


def test_other_metrics_of_counts_are_drawn_from_a_dirichlet():
    """The mean of a cost is linear in the cells: exact moments of Dirichlet(1 + counts)."""
    got = estimate("cost(fp=1,fn=5)")
    alpha = 1.0 + COUNTS.reshape(-1, 4)  # tn, fn, fp, tp
    share = alpha / alpha.sum(axis=1, keepdims=True)
    costs = np.array([0.0, 5.0, 1.0, 0.0])
    mean = share @ costs
    variance = (share @ costs**2 - mean**2) / (alpha.sum(axis=1) + 1.0)
    assert (abs(got.mean - mean) < 4.5 * np.sqrt(variance / DRAWS)).all()
    np.testing.assert_allclose(got.sd, np.sqrt(variance), rtol=0.05)
    assert got.reason == (None, None, None)
    doubled = estimate("cost(fp=1,fn=5)", 2.0 * COUNTS, 4.0 * COUNTS)
    np.testing.assert_allclose(doubled.mean, got.mean, rtol=0.01)


def test_other_metrics_of_counts_are_scaled_to_the_rows_of_the_group():
    size = np.array([1000.0, 20.0, 7.0])
    got = estimate(Metric("count", lambda tp, fp, fn, tn: tp + fp + fn + tn), size=size)
    np.testing.assert_allclose(got.mean, size, rtol=1e-12)


@pytest.mark.parametrize("target", ["sample", "expected", "population"])
def test_without_a_row_in_the_denominator_there_is_no_estimate(rows, target):
    """A is labeled and has no positives; no row of B is selected, and few are labeled."""
    label = np.where(rows.group == "A", 0.0, rows.y_true)
    decide = (rows.y_score > 0.5) & (rows.group == "A")
    metrics = ["tpr", "ppv", "f1", "npv"]
    found = ask(rows, y_true=label, y_pred=decide, metrics=metrics, target=target)
    lacking = {"tpr": [True, False], "ppv": [False, True], "f1": [False] * 2, "npv": [False] * 2}
    for name, labels in found.labels.items():
        empty = np.array(lacking[name]) & (target != "population")
        for values in (*labels[:4], labels.draws[0]):
            assert np.isnan(values).tolist() == empty.tolist(), name
        for at in np.flatnonzero(empty):
            assert labels.reason[at] == found.metric(name, found.groups[at]).reason
    reason = None if target == "population" else "there are no positive labels"
    assert found.labels["tpr"].reason[0] == reason
    values = found.to_dict()["metrics"]["tpr"]["differences"][0]["labels_only"]
    assert (values["mean"] is None) == (target != "population")


# the bootstrap of metrics of nodes


def labeled_rows(count=400, seed=0):
    """All labels known: score, label, group."""
    rng = np.random.default_rng(seed)
    score = np.clip(rng.beta(1.5, 1.5, count), 0.011, 0.989)
    return score, (rng.random(count) < score**1.3).astype(int), np.array(["a", "b"] * (count // 2))


def test_the_bootstrap_needs_five_rows_of_each_class(rows):
    score, label, group = labeled_rows()
    known = np.full(400, -1)
    for name, positives, negatives in (("a", 5, 5), ("b", 20, 4)):
        for value, many in ((1, positives), (0, negatives)):
            known[np.flatnonzero((group == name) & (label == value))[:many]] = value
    found = ask(rows, y_true=known, y_score=score, group=group, metrics=["auc", "ece"]).labels
    auc = found["auc"]
    assert 0.0 <= auc.low[0] < auc.mean[0] < auc.high[0] <= 1.0
    assert auc.reason == (None, "fewer than 5 negative labels") and np.isnan(auc.mean[1])
    assert "overstate it" in found["ece"].reason[0]


def test_the_bootstrap_has_the_right_spread(rows):
    """The mean score of the positives has the variance of a Dirichlet mean, s^2 / (n + 1)."""
    score, label, group = labeled_rows()
    known = np.where(np.arange(400) < 120, label, -1)
    result = ask(rows, y_true=known, y_score=score, group=group, metrics="balance_positive")
    at = score[(group == "a") & (known == 1)]
    got = result.labels["balance_positive"]
    assert got.mean[0] == pytest.approx(at.mean(), abs=4.5 * got.sd[0] / 4000**0.5)
    assert got.sd[0] == pytest.approx((at.var() / (len(at) + 1)) ** 0.5, rel=0.06)


# effective numbers of labels


@pytest.fixture(scope="module")
def result():
    metrics = ("tpr", "balanced_accuracy", "selection_rate", "auc")
    return ask(lf.simulate(1000, 150, rng=1), metrics=metrics, draws=100)


@pytest.mark.parametrize("n, hits", [(50, 20), (400, 390), (10, 0)])
def test_a_beta_posterior_has_its_number_of_labels(n, hits):
    beta = beta_binomial(np.array(hits * 1.0), np.array((n - hits) * 1.0))
    number = share_labels(as_metric("tpr"), float(beta.mean), float(beta.sd))
    assert number == pytest.approx(n, rel=1e-12)


def test_f1_has_the_number_of_labels_of_its_share():
    q, sd = 0.6, 0.001  # small, so that f1 is straight in q
    f1, slope = 2 * q / (1 + q), 2 / (1 + q) ** 2
    number = share_labels(as_metric("f1"), f1, sd * slope)
    assert number == pytest.approx(q * (1 - q) / sd**2 - 3, rel=1e-9)


def test_which_metrics_are_shares():
    others = ("f1", "auc", "balanced_accuracy", "treatment_equality", "cost(fp=1,fn=5)")
    assert not any(is_share(as_metric(name)) for name in others) and is_share(cost(fp=1, fn=1))
    assert all(is_share(as_metric(name)) for name in ("tpr", "npv", "accuracy"))


def test_denominators_against_a_hand_count():
    counts = np.array([[[1.0, 2.0], [4.0, 8.0]]])  # tn 1, fn 2, fp 4, tp 8
    expected = {
        "accuracy": 15, "tpr": 10, "fnr": 10, "fpr": 5, "tnr": 5, "ppv": 12, "npv": 3,
        "f1": 14, "base_rate": 15, "balanced_accuracy": 5, "treatment_equality": 6,
        "auc": 5, "balance_positive": 10, "balance_negative": 5, "brier": 15,
    }  # fmt: skip
    for name, number in expected.items():
        assert in_denominator(as_metric(name), counts).tolist() == [number], name
    assert in_denominator(Metric("own", lambda tp, fp, fn, tn: tp - fn), counts) is None
    assert all(denominators(as_metric(name)) for name in METRICS)


@pytest.mark.parametrize("weight, expected", [([2] * 5, 3.0), ([1, 1, 2, 5, 1], 16.0 / 6.0)])
def test_own_labels_of_weighted_rows_are_fewer(weight, expected):
    label, score, group = [1, 1, 1, 0, -1], [0.9] * 5, ["a"] * 5
    data = lf.score_data(label, score, sensitive_features=group, sample_weight=weight)
    table, tpr = lf.score_table(data), as_metric("tpr")
    found = effective_labels(tpr, (), None, table, COUNTS, prob=0.9, target="")
    assert found.own == pytest.approx([expected])


def test_effective_labels_of_a_share(result):
    found = result.effective_labels("tpr")
    for index, group in enumerate(result.groups):
        one = result.metric("tpr", group)
        positives = result.counts[:, :, index, :, 1].sum(axis=-1).mean()
        endless = one.mean * (1 - one.mean) / one.sd**2 - 3
        assert found.labels[index] == pytest.approx(1 / (1 / endless + 1 / positives))
        low, high = one.interval(0.95)
        width = result.labels["tpr"].high[index] - result.labels["tpr"].low[index]
        assert found.width_ratio[index] == pytest.approx((high - low) / width)
        assert found.width_ratio[index] < 1.0 < found.labels[index] / found.own[index]
        entry = result.to_dict()["metrics"]["tpr"]["groups"][index]
        assert entry["width_ratio"] == found.width_ratio[index]
        assert entry["effective_labels"] == found.labels[index]
    exact = result.effective_labels("selection_rate")
    assert np.isnan([exact.labels, exact.width_ratio]).all()
    assert exact.reason == ("no label is needed to know it",) * 2


@pytest.mark.parametrize("name", ["balanced_accuracy", "auc"])
def test_effective_labels_of_other_metrics_go_with_the_variances(result, name):
    found, alone = result.effective_labels(name), result.labels[name]
    rows = result.table.sums("rows")
    np.testing.assert_array_equal(found.own, rows[..., :2].sum(axis=(1, 2)))
    for index, group in enumerate(result.groups):
        endless = found.own[index] * (alone.sd[index] / result.metric(name, group).sd) ** 2
        assert found.labels[index] == pytest.approx(1 / (1 / endless + 1 / rows[index].sum()))


def test_undefined_effective_labels_have_a_reason(rows):
    group = np.array([*"ABCD"])[np.minimum(np.arange(400) // 100, 3)]
    label = np.where(group == "C", np.nan, rows.y_true)
    label[group == "D"] = rows.y_all[group == "D"]
    metrics = ["tpr", "auc", "ece", "treatment_equality", "f1"]
    found = ask(rows, y_true=label, group=group, metrics=metrics)
    assert found.effective_labels("tpr").reason[3] == "every row is labeled"
    for name in metrics:
        one = found.effective_labels(name)
        for labels, ratio, reason in zip(one.labels, one.width_ratio, one.reason, strict=True):
            assert np.isnan(labels + ratio) == (reason is not None), name
