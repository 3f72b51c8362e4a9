"""Imputed counts against loops over rows, for each target."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from scipy import stats

import lightfair.core as lf
from lightfair.core.data.logit import logit_of
from lightfair.core.mcmc.jit import available
from lightfair.core.metrics.definitions import theta
from lightfair.core.metrics.imputation import (
    SMALL,
    TARGETS,
    confusion_counts,
    cornish_fisher,
    cumulants,
    exact_sum,
    matched_binomial,
    unlabeled,
)
from lightfair.core.model.regions import regions

PHI = np.array([[0.2, -0.3, 0.4], [-0.5, 0.3, -1.0]])
LEVELS = np.arange(1, 100) / 100.0
BOUNDS = 0.1  # clipping at this leaves masses of some 10 % of the rows


def simulated(count, seed=0, weighted=False, labeled=0.1):
    """Rows (score, label, group, weight); group b is a third of them."""
    rng = np.random.default_rng(seed)
    score = rng.choice(LEVELS, count)
    label = np.where(rng.random(count) < labeled, rng.integers(0, 2, count), -1)
    label[0] = 0
    group = np.where(rng.random(count) < 1 / 3, "b", "a")
    weight = rng.choice([0.5, 1.0, 3.0], count) if weighted else np.ones(count)
    return score, label, group, weight


def build(columns, clip=0.01):
    score, label, group, weight = columns
    weight = None if (weight == 1.0).all() else weight
    data = lf.score_data(label, score, sensitive_features=group, sample_weight=weight)
    return lf.score_table(data, clip=clip)


def impute(table, target, phi=PHI, n=1, **options):
    stack = np.broadcast_to(phi, (1, n, *phi.shape))
    rng = np.random.default_rng(1)
    return confusion_counts(stack, table, target=target, rng=rng, **options).drawn[0]


def rates(columns, phi=PHI):
    """f of every row, one by one."""
    curves = {
        "a": (math.exp(phi[0, 0]), math.exp(phi[0, 1]), phi[0, 2]),
        "b": (math.exp(phi[1, 0]), math.exp(phi[1, 1]), phi[1, 2]),
    }
    return np.array([naive.curve(s, *curves[g]) for s, g in zip(*columns[::2], strict=False)])


def deviating(columns, seed=3):
    """A table with masses, its regions, coordinates of two curves, and the rate of every row."""
    table = build(columns, BOUNDS)
    where = regions(table)
    assert where.names.count("mass") == 2 and len(where.names) == 7
    psi = np.concatenate([PHI, np.random.default_rng(seed).normal(0.0, 0.6, (2, 7))], axis=1)
    score, _, group, _ = columns
    stratum = 3 * (score >= 0.5).astype(np.int64)
    region = where.of(stratum, logit_of(score, BOUNDS))
    rate = np.empty(len(score))
    for i, at in enumerate(region):
        la, lb, c, *w = psi[int(group[i] == "b")]
        lift = sum(x * v for x, v in zip(where.loadings[at], w, strict=True)) + where.base[at]
        if where.on_curve[at]:
            rate[i] = naive.curve(score[i], math.exp(la), math.exp(lb), c, lift)
        else:
            rate[i] = 1.0 / (1.0 + math.exp(-lift))
    return table, where, psi, rate


def add_up(columns, positive):
    """Confusion counts (group, predicted, label), row by row; `positive`: chance of each."""
    score, label, group, weight = columns
    counts = np.zeros((2, 2, 2))
    for i in range(len(score)):
        cell = counts[int(group[i] == "b"), int(score[i] >= 0.5)]
        share = float(label[i]) if label[i] >= 0 else positive[i]
        cell[1] += weight[i] * share
        cell[0] += weight[i] * (1.0 - share)
    return counts


def poisson_binomial(rate):
    """Mass of a sum of Bernoullis, one row after the other."""
    mass = np.ones(1)
    for p in rate:
        mass = np.convolve(mass, [1.0 - p, p])
    return mass


def grid(n):
    return (np.arange(n) + 0.5) / n


def moments_of(rate):
    noise = rate * (1.0 - rate)
    return np.array([rate.sum(), noise.sum(), (noise * (1.0 - 2.0 * rate)).sum()])


# expected


@pytest.mark.parametrize("weighted", [False, True])
def test_expected_equals_a_loop_over_rows(weighted):
    columns = simulated(1500, weighted=weighted)
    got = impute(build(columns), "expected")[0]
    np.testing.assert_allclose(got, add_up(columns, rates(columns)), rtol=1e-12)


def test_expected_with_a_cap():
    columns = simulated(500)
    limit = 1.0 / (1.0 + math.exp(-0.3))
    wanted = add_up(columns, np.minimum(rates(columns), limit))
    np.testing.assert_allclose(impute(build(columns), "expected", cap=0.3)[0], wanted, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_expected_with_deviations_equals_a_loop_over_rows(weighted):
    columns = simulated(1500, weighted=weighted)
    table, where, psi, rate = deviating(columns)
    got = impute(table, "expected", psi, regions=where)[0]
    np.testing.assert_allclose(got, add_up(columns, rate), rtol=1e-12)
    limit = 1.0 / (1.0 + math.exp(-0.3))
    got = impute(table, "expected", psi, regions=where, cap=0.3)[0]
    np.testing.assert_allclose(got, add_up(columns, np.minimum(rate, limit)), rtol=1e-12)


def test_expected_with_deviations_on_cells():
    rng = np.random.default_rng(4)
    _, label, group, weight = simulated(6000)
    columns = (rng.beta(1.1, 1.2, 6000), label, group, weight)
    table, where, psi, rate = deviating(columns)
    assert len(table.cells.cell)
    got = impute(table, "expected", psi, regions=where)[0]
    np.testing.assert_allclose(got, add_up(columns, rate), rtol=1e-6)


def test_expected_for_each_draw_is_that_of_the_draw_alone():
    table = build(simulated(800))
    phi = np.random.default_rng(2).normal(0.0, 0.5, (2, 5, 2, 3))
    got = confusion_counts(phi, table, target="expected", rng=np.random.default_rng(0)).drawn
    assert got.shape == (2, 5, 2, 2, 2)
    for chain in range(2):
        for i in range(5):
            alone = impute(table, "expected", phi[chain, i])[0]
            np.testing.assert_allclose(got[chain, i], alone, rtol=1e-12)


def test_rows_twice_equal_weight_two():
    columns = simulated(600)
    twice = tuple(np.concatenate([column, column]) for column in columns)
    heavy = (*columns[:3], np.full(600, 2.0))
    one, two = (impute(build(c), "expected")[0] for c in (twice, heavy))
    np.testing.assert_allclose(one, two, rtol=1e-12)


# what all targets share


@pytest.mark.parametrize("target", ["sample", "expected"])
def test_all_labels_known_give_the_frequencies(target):
    columns = simulated(300, labeled=2.0)
    got = impute(build(columns), target, n=7)
    np.testing.assert_array_equal(got, np.broadcast_to(add_up(columns, [None] * 300), got.shape))


@pytest.mark.parametrize("target", TARGETS)
def test_a_group_without_unlabeled_rows(target):
    score, label, group, weight = simulated(900)
    label[group == "b"] = score[group == "b"] > 0.4
    columns = (score, label, group, weight)
    got = impute(build(columns), target, n=500)
    assert np.isfinite(got).all() and (got >= 0.0).all()
    wanted = add_up(columns, np.zeros(900))[1]
    if target == "population":
        np.testing.assert_allclose(got[:, 1].mean(axis=0), wanted, rtol=0.05)
    else:
        np.testing.assert_array_equal(got[:, 1], np.broadcast_to(wanted, (500, 2, 2)))


@pytest.mark.parametrize("target", ["sample", "expected"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_mass_of_a_predicted_class_does_not_move(target, weighted):
    columns = simulated(2000, weighted=weighted)
    got = impute(build(columns), target, n=50)
    wanted = add_up(columns, np.zeros(2000)).sum(axis=2)
    np.testing.assert_allclose(got.sum(axis=3), np.broadcast_to(wanted, (50, 2, 2)), rtol=1e-12)
    assert (got >= 0.0).all()


@pytest.mark.parametrize("target", TARGETS)
def test_same_noise_same_counts(target):
    table = build(simulated(700))
    np.testing.assert_array_equal(impute(table, target, n=3), impute(table, target, n=3))


def test_counts_of_a_sample_are_whole():
    got = impute(build(simulated(4000)), "sample", n=200)
    np.testing.assert_array_equal(got, np.rint(got))


# sums of Bernoullis


@pytest.mark.parametrize("rows", [1, 2, 7, SMALL])
def test_exact_sum_has_the_exact_distribution(rows):
    rate = np.random.default_rng(rows).beta(0.7, 0.9, rows)
    n = 20_000
    got = exact_sum(np.broadcast_to(rate, (n, rows)), grid(n))
    frequency = np.bincount(got.astype(int), minlength=rows + 1) / n
    np.testing.assert_allclose(frequency, poisson_binomial(rate), atol=1.01 / n)


def test_exact_sum_of_certain_rows():
    rate = np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    for u in (0.0, 0.5, 1.0 - 1e-16):
        assert exact_sum(rate, np.full(3, u)).tolist() == [2.0, 0.0, 3.0]


@pytest.mark.parametrize("rows, p", [(40, 0.03), (500, 0.02), (40, 0.97), (500, 0.98), (50, 0.5)])
def test_matched_binomial_of_equal_rates_is_the_binomial(rows, p):
    n = 5000
    pair = np.tile([rows * p, rows * p * (1.0 - p)], (n, 1))
    got = matched_binomial(pair, float(rows), grid(n))
    frequency = np.bincount(got.astype(int), minlength=rows + 1) / n
    wanted = stats.binom(rows, p).pmf(np.arange(rows + 1))
    np.testing.assert_allclose(frequency, wanted, atol=1.01 / n)


@pytest.mark.parametrize("mirror", [False, True])
@pytest.mark.parametrize("rows, top", [(33, 0.1), (100, 0.05), (100, 0.2), (3000, 0.008)])
def test_matched_binomial_is_close_to_the_exact_sum(rows, top, mirror):
    rate = np.random.default_rng(rows).uniform(0.0, top, rows)
    rate = 1.0 - rate if mirror else rate
    mean, variance, _ = moments_of(rate)
    n = 20_000
    got = matched_binomial(np.tile([mean, variance], (n, 1)), float(rows), grid(n))
    frequency = np.bincount(got.astype(int), minlength=rows + 1) / n
    assert 0.5 * abs(frequency - poisson_binomial(rate)).sum() < 0.005
    assert abs(got.mean() - mean) < 0.002
    assert got.var() == pytest.approx(variance, rel=0.01)


@pytest.mark.parametrize("shape", [(0.05, 0.05), (0.02, 0.2), (0.2, 0.02), (0.5, 0.5)])
@pytest.mark.parametrize("rows", [40, 200])
def test_sums_of_sharp_rates(rows, shape):
    """Many rates near 0 and near 1: the variance is far below the mean."""
    score = np.random.default_rng(rows).beta(*shape, rows).clip(1e-4, 1.0 - 1e-4)
    for predicted in (0, 1):
        rate = score[(score >= 0.5) == predicted]
        data = lf.score_data([None] * len(rate), rate, sensitive_features=["g"] * len(rate))
        n = 20_000
        got = impute(lf.score_table(data, clip=1e-5), "sample", np.zeros((1, 3)), n=n)
        count = got[:, 0, predicted, 1].astype(int)
        frequency = np.bincount(count, minlength=len(rate) + 1) / n
        assert 0.5 * abs(frequency - poisson_binomial(rate)).sum() < 0.05


def test_one_weight_for_all_rows_changes_no_metric():
    rows = lf.simulate(60, 10, rng=4)
    tables = [
        lf.score_table(
            lf.score_data(
                rows.y_true,
                rows.y_score,
                sensitive_features=rows.group,
                sample_weight=None if weight is None else np.full(60, weight),
            )
        )
        for weight in (None, 2.0, 0.3)
    ]
    plain, *scaled = (impute(table, "sample", np.zeros((2, 3)), n=500) for table in tables)
    for weight, counts in zip((2.0, 0.3), scaled, strict=True):
        np.testing.assert_allclose(counts, weight * plain, rtol=1e-9)


@pytest.mark.parametrize("rows", [33, 1_000_000])
def test_matched_binomial_at_the_edges(rows):
    tiny = 1e-14
    moments = np.array([[0.0, 0.0], [tiny, tiny], [rows, 0.0], [rows - tiny, tiny]])
    for u in (0.0, 0.5, 0.999999):
        got = matched_binomial(moments, float(rows), np.full(4, u))
        np.testing.assert_array_equal(got, [0.0, 0.0, rows, rows])


@pytest.mark.parametrize("shape", [(2.0, 2.0), (1.0, 8.0), (8.0, 1.0), (0.1, 0.3)])
@pytest.mark.parametrize("rows", [300, 2000])
def test_cornish_fisher_is_close_to_the_exact_sum(rows, shape):
    rate = np.random.default_rng(rows).beta(*shape, rows)
    moments = moments_of(rate)
    n = 20_000
    normal = stats.norm.ppf(grid(n))
    got = cornish_fisher(np.tile(moments, (n, 1)), normal, np.full(n, rows), whole=True)
    assert abs(got.mean() - moments[0]) < 0.02
    assert got.var() == pytest.approx(moments[1], rel=0.01)
    frequency = np.bincount(got.astype(int), minlength=rows + 1) / n
    exact = poisson_binomial(rate)
    assert abs(np.cumsum(frequency) - np.cumsum(exact)).max() < 0.004


def test_cornish_fisher_without_spread():
    moments = np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    got = cornish_fisher(moments, np.array([4.0, -4.0]), np.array([3.0, 5.0]), whole=True)
    assert got.tolist() == [3.0, 0.0]


# sample


def assert_same_moments(draws, wanted_mean, wanted_variance):
    """Draws (n, ...) against known mean and variance, within Monte Carlo error."""
    n = len(draws)
    assert (abs(draws.mean(axis=0) - wanted_mean) < 4.5 * np.sqrt(wanted_variance / n)).all()
    error = 4.5 * wanted_variance * math.sqrt(2.5 / n)
    assert (abs(draws.var(axis=0) - wanted_variance) < error + 1e-9).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("count", [120, 3000])
def test_sample_has_the_moments_of_the_rows(count, weighted):
    columns = simulated(count, seed=count, weighted=weighted)
    score, label, group, weight = columns
    rate = rates(columns)
    free = label < 0
    got = impute(build(columns), "sample", n=20_000)[..., 1].reshape(-1, 4)
    mean = add_up(columns, rate)[..., 1].ravel()
    stratum = 2 * (group == "b") + (score >= 0.5)
    noise = weight**2 * rate * (1.0 - rate) * free
    assert_same_moments(got, mean, np.bincount(stratum, noise, minlength=4))


def test_sample_with_deviations_has_the_moments_of_the_rows():
    columns = simulated(3000, seed=10)
    score, label, group, _ = columns
    table, where, psi, rate = deviating(columns)
    got = impute(table, "sample", psi, n=20_000, regions=where)[..., 1].reshape(-1, 4)
    stratum = 2 * (group == "b") + (score >= 0.5)
    noise = rate * (1.0 - rate) * (label < 0)
    mean = add_up(columns, rate)[..., 1].ravel()
    assert_same_moments(got, mean, np.bincount(stratum, noise, minlength=4))


def test_population_with_deviations_has_the_mean_of_the_rows():
    columns = simulated(3000, seed=11)
    table, where, psi, rate = deviating(columns)
    got = impute(table, "population", psi, n=4000, regions=where)
    error = got.std(axis=0) / math.sqrt(4000)
    assert (abs(got.mean(axis=0) - add_up(columns, rate)) < 4.5 * error).all()


def test_sample_agrees_with_drawing_the_labels_of_rows():
    columns = simulated(1500, seed=5)
    score, label, group, _ = columns
    n = 4000
    got = impute(build(columns), "sample", n=n)
    rng = np.random.default_rng(6)
    drawn = np.where(label < 0, rng.random((n, 1500)) < rates(columns), label == 1)
    wanted = np.zeros((n, 2, 2, 2))
    for g in range(2):
        for predicted in range(2):
            mine = ((group == "b") == g) & ((score >= 0.5) == predicted)
            wanted[:, g, predicted, 1] = drawn[:, mine].sum(axis=1)
            wanted[:, g, predicted, 0] = (~drawn[:, mine]).sum(axis=1)
    for metric in ("accuracy", "tpr", "fpr", "ppv"):
        one, two = theta(metric, got), theta(metric, wanted)
        for g in range(2):
            assert stats.ks_2samp(one[:, g], two[:, g]).pvalue > 1e-3


def test_sample_takes_rows_of_no_weight_for_none():
    """100 rows at 0.9 of which 60 count: the count of positives stays within them."""
    data = lf.score_data(
        [1] + [-1] * 100 + [0],
        [0.9] * 101 + [0.1],
        sensitive_features=["g"] * 102,
        sample_weight=[1] + [1] * 60 + [0] * 40 + [1],
    )
    counts = impute(lf.score_table(data), "sample", np.zeros((1, 3)), n=20_000)[:, 0, 1]
    assert (counts >= 0.0).all()
    assert (counts.sum(axis=1) == 61.0).all()
    assert_same_moments(counts[:, 1], 1.0 + 60 * 0.9, 60 * 0.9 * 0.1)


# population


@pytest.mark.parametrize("weighted", [False, True])
def test_population_agrees_with_a_bootstrap_of_rows(weighted):
    columns = simulated(900, seed=7, weighted=weighted)
    rate = rates(columns)
    n = 4000
    got = impute(build(columns), "population", n=n)
    rng = np.random.default_rng(8)
    score, label, group, weight = columns
    share = np.where(label < 0, rate, label)
    wanted = np.zeros((n, 2, 2, 2))
    mass = weight * rng.standard_exponential((n, 900))
    for g in range(2):
        for predicted in range(2):
            mine = ((group == "b") == g) & ((score >= 0.5) == predicted)
            wanted[:, g, predicted, 1] = mass[:, mine] @ share[mine]
            wanted[:, g, predicted, 0] = mass[:, mine] @ (1.0 - share[mine])
    for metric in ("accuracy", "tpr", "fpr", "selection_rate"):
        one, two = theta(metric, got), theta(metric, wanted)
        error = 4.5 * two.std(axis=0) * math.sqrt(2.0 / n)
        assert (abs(one.mean(axis=0) - two.mean(axis=0)) < error).all()
        np.testing.assert_allclose(one.std(axis=0), two.std(axis=0), rtol=0.07)


def test_population_of_known_labels_is_a_beta():
    """With 30 and 12 rows, weights Exp(1): the share is Beta(30, 12)."""
    label = np.repeat([1, 0], [30, 12])
    data = lf.score_data(label, [0.9] * 42, sensitive_features=["g"] * 42)
    counts = impute(lf.score_table(data), "population", np.zeros((1, 3)), n=4000)
    share = theta("ppv", counts)[:, 0]
    assert stats.kstest(share, stats.beta(30, 12).cdf).pvalue > 1e-3


def test_population_is_wider_than_expected_and_free_of_the_scale_of_weights():
    score, label, group, _ = simulated(600)
    light, heavy = (
        impute(build((score, label, group, np.full(600, w))), "population", n=50) for w in (2, 400)
    )
    np.testing.assert_allclose(theta("tpr", light), theta("tpr", heavy), rtol=1e-9)
    assert (theta("tpr", light).std(axis=0) > 0.0).all()


# cumulants


@pytest.mark.parametrize("weighted", [False, True])
def test_cumulants_equal_a_loop(weighted):
    columns = simulated(400, weighted=weighted)
    score, label, group, weight = columns
    rate = rates(columns)
    got = cumulants(PHI[None], unlabeled(build(columns)), math.inf)[0]
    assert got.shape == (2, 2, 3)
    for g, predicted in np.ndindex(2, 2):
        mine = ((group == "b") == g) & ((score >= 0.5) == predicted) & (label < 0)
        p, w = rate[mine], weight[mine]
        np.testing.assert_allclose(got[g, predicted, 0], (w * p).sum(), rtol=1e-12)
        np.testing.assert_allclose(got[g, predicted, 1], (w * w * p * (1 - p)).sum(), rtol=1e-12)
        if not weighted:  # by cells the squares of weights are kept, not their cubes
            third = (p * (1 - p) * (1 - 2 * p)).sum()
            np.testing.assert_allclose(got[g, predicted, 2], third, rtol=1e-10, atol=1e-12)


@pytest.mark.skipif(not available(), reason="numba is absent")
@pytest.mark.parametrize("cap", [math.inf, 0.7])
@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_cumulants_equal_numpy(weighted, cap):
    nodes = unlabeled(build(simulated(3000, weighted=weighted)))
    phi = np.random.default_rng(9).normal(0.0, 0.7, (11, 2, 3))
    one, two = (cumulants(phi, nodes, cap, jit=jit) for jit in (False, True))
    np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(not available(), reason="numba is absent")
@pytest.mark.parametrize("cap", [math.inf, 0.7])
@pytest.mark.parametrize("lacking", [False, True])
def test_compiled_cumulants_equal_numpy_with_deviations(cap, lacking):
    score, label, group, weight = simulated(3000)
    if lacking:  # strata without unlabeled rows: the first, one between, the last
        label = np.where((group == "a") == (score < 0.5), 0, label)
        label[(group == "b") & (score >= 0.5)] = 1
    table, where, psi, _ = deviating((score, label, group, weight))
    nodes = unlabeled(table, where)
    some = psi + np.random.default_rng(9).normal(0.0, 0.5, (11, *psi.shape))
    one, two = (cumulants(some, nodes, cap, jit=jit) for jit in (False, True))
    np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)
    assert one.any()
