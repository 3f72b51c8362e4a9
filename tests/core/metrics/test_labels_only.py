"""What labels alone say: closed forms, and the two metrics that are not shares."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lightfair.core.metrics.definitions import COUNT_METRICS, SHARES, Metric, successes_failures
from lightfair.core.metrics.labels_only import DRAWS, labels_only

COUNTS = np.array([[[50.0, 10.0], [5.0, 30.0]], [[2.0, 0.0], [1.0, 1.0]], [[0.0, 0.0]] * 2])

BOUNDED = sorted(set(COUNT_METRICS) - {"treatment_equality"})


def ask(name, weight=COUNTS, weight_sq=None, prior=(1.0, 1.0), prob=0.95):
    weight_sq = weight if weight_sq is None else weight_sq
    rng = np.random.default_rng(0)
    return labels_only(name, weight, weight_sq, prior=prior, prob=prob, rng=rng)


@pytest.mark.parametrize("name", BOUNDED)
def test_shapes_and_order(name):
    got = ask(name)
    assert got.draws.shape == (DRAWS, 3)
    assert all(column.shape == (3,) for column in got[:4])
    assert ((got.low >= 0.0) & (got.low < got.mean) & (got.mean < got.high)).all()
    assert (got.high <= 1.0).all()


@pytest.mark.parametrize("name", BOUNDED)
def test_draws_agree_with_the_summary(name):
    got = ask(name)
    assert (abs(got.draws.mean(axis=0) - got.mean) < 4.5 * got.sd / DRAWS**0.5).all()
    np.testing.assert_allclose(got.draws.std(axis=0), got.sd, rtol=0.05)
    np.testing.assert_allclose(np.quantile(got.draws, 0.025, axis=0), got.low, atol=0.02)
    np.testing.assert_allclose(np.quantile(got.draws, 0.975, axis=0), got.high, atol=0.02)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (2.0, 2.0)])
@pytest.mark.parametrize("name", sorted(set(SHARES) - {"f1"}))
def test_shares_have_a_beta_posterior(name, prior):
    success, failure = successes_failures(name, COUNTS)
    wanted = stats.beta(prior[0] + success, prior[1] + failure)
    got = ask(name, prior=prior, prob=0.9)
    np.testing.assert_allclose(got.mean, wanted.mean(), rtol=1e-12)
    np.testing.assert_allclose(got.sd, wanted.std(), rtol=1e-12)
    np.testing.assert_allclose([got.low, got.high], wanted.interval(0.9), rtol=1e-9)


def test_f1_is_a_share_in_disguise():
    q = stats.beta(1.0 + 30.0, 1.0 + 15.0)
    got = ask("f1", prob=0.8)
    low, high = (2.0 * x / (1.0 + x) for x in q.interval(0.8))
    assert (got.low[0], got.high[0]) == pytest.approx((low, high), rel=1e-9)
    wanted = q.expect(lambda x: 2.0 * x / (1.0 + x))
    assert abs(got.mean[0] - wanted) < 4.5 * got.sd[0] / DRAWS**0.5


def test_balanced_accuracy_is_the_mean_of_two_shares():
    got = ask("balanced_accuracy")
    tpr, tnr = stats.beta(31.0, 11.0), stats.beta(51.0, 6.0)
    assert got.mean[0] == pytest.approx(0.5 * (tpr.mean() + tnr.mean()), rel=1e-12)
    assert got.sd[0] == pytest.approx(0.5 * (tpr.var() + tnr.var()) ** 0.5, rel=1e-12)


def test_no_labels_give_the_prior():
    got = ask("tpr", prior=(2.0, 3.0))
    assert got.mean[2] == pytest.approx(0.4)
    assert got.low[2] == pytest.approx(stats.beta(2, 3).ppf(0.025), rel=1e-9)


def test_weighted_rows_count_as_kish_says():
    """12 rows of weight 1 and 3 of weight 2, all of them hits, against 6 misses of weight 3."""
    weight, squares = np.zeros((1, 2, 2)), np.zeros((1, 2, 2))
    weight[0, 1, 1], squares[0, 1, 1] = 12 * 1 + 3 * 2, 12 * 1 + 3 * 4
    weight[0, 0, 1], squares[0, 0, 1] = 6 * 3, 6 * 9
    rows = (18 + 18) ** 2 / (24 + 54)
    wanted = stats.beta(1.0 + 0.5 * rows, 1.0 + 0.5 * rows)
    got = ask("tpr", weight, squares)
    assert (got.mean[0], got.sd[0]) == pytest.approx((wanted.mean(), wanted.std()), rel=1e-12)


@pytest.mark.parametrize("name", BOUNDED)
def test_a_factor_on_all_weights_is_free(name):
    one, two = ask(name), ask(name, 500.0 * COUNTS, 500.0**2 * COUNTS)
    np.testing.assert_allclose(two.mean, one.mean, rtol=1e-12)
    np.testing.assert_allclose(two.low, one.low, rtol=1e-9)


def test_treatment_equality_is_the_odds_of_a_share():
    """fn = 10 and fp = 5 in the first group, 0 and 1 in the second, none in the third."""
    got = ask("treatment_equality", prob=0.8)
    q = stats.beta(1.0 + 10.0, 1.0 + 5.0)
    low, high = (x / (1.0 - x) for x in q.interval(0.8))
    assert (got.low[0], got.high[0]) == pytest.approx((low, high), rel=1e-9)
    wanted = stats.betaprime(11.0, 6.0)
    assert (got.mean[0], got.sd[0]) == pytest.approx((wanted.mean(), wanted.std()), rel=1e-12)
    np.testing.assert_allclose(np.quantile(got.draws[:, 0], 0.5), wanted.median(), rtol=0.05)
    assert got.reason == (None, None, "its mean is infinite")
    assert got.mean[1] == pytest.approx(1.0) and np.isnan(got.sd[1])
    assert np.isnan(got.mean[2]) and 0.0 < got.low[2] < 1.0 < got.high[2]


def test_other_metrics_of_counts_are_drawn_from_a_dirichlet():
    """The mean of a cost is linear in the cells: exact moments of Dirichlet(1 + counts)."""
    got = ask("cost(fp=1,fn=5)")
    alpha = 1.0 + COUNTS.reshape(-1, 4)  # tn, fn, fp, tp
    share = alpha / alpha.sum(axis=1, keepdims=True)
    costs = np.array([0.0, 5.0, 1.0, 0.0])
    mean = share @ costs
    variance = (share @ costs**2 - mean**2) / (alpha.sum(axis=1) + 1.0)
    assert (abs(got.mean - mean) < 4.5 * np.sqrt(variance / DRAWS)).all()
    np.testing.assert_allclose(got.sd, np.sqrt(variance), rtol=0.05)
    assert got.reason == (None, None, None)


def test_other_metrics_of_counts_are_scaled_to_the_rows_of_the_group():
    count = Metric("count", lambda tp, fp, fn, tn: tp + fp + fn + tn)
    rng = np.random.default_rng(0)
    size = np.array([1000.0, 20.0, 7.0])
    got = labels_only(count, COUNTS, COUNTS, prior=(1.0, 1.0), prob=0.9, rng=rng, size=size)
    np.testing.assert_allclose(got.mean, size, rtol=1e-12)


def test_weighted_rows_of_a_dirichlet_count_as_kish_says():
    rng = np.random.default_rng(0)
    weight = 2.0 * COUNTS[:1]
    got = labels_only(
        "cost(fp=1,fn=1)", weight, 4.0 * COUNTS[:1], prior=(1.0, 1.0), prob=0.9, rng=rng
    )
    np.testing.assert_allclose(got.mean, ask("cost(fp=1,fn=1)").mean[:1], rtol=0.01)
