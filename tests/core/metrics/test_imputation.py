"""Imputed counts and score bins against loops over rows, for each target."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from asking import QUICKEST, assess_rows
from scipy import stats

import lightfair.core as lf
from lightfair.core.data.logit import logit_of
from lightfair.core.mcmc.jit import available
from lightfair.core.metrics.definitions import Metric, theta
from lightfair.core.metrics.imputation import (
    TARGETS,
    confusion_counts,
    cornish_fisher,
    cumulants,
    matched_binomial,
    pseudo_rows,
    unlabeled,
)
from lightfair.core.metrics.score_bins import (
    Imputed,
    confusion,
    frequency,
    impute_group,
    score_slots,
    slot_theta,
    with_pseudo_rows,
)
from lightfair.core.model.regions import no_regions, regions

PHI = np.array([[0.2, -0.3, 0.4], [-0.5, 0.3, -1.0]])
BOUNDS = 0.1  # clipping at this leaves masses of some 10 % of the rows


def simulated(count, seed=0, weighted=False, labeled=0.1, levels=100):
    """Rows (score, label, group, weight); group b is a third of them; None: continuous scores."""
    rng = np.random.default_rng(seed)
    score = rng.integers(1, levels, count) / levels if levels else rng.beta(1.1, 1.2, count)
    label = np.where(rng.random(count) < labeled, rng.integers(0, 2, count), -1)
    label[0] = 0
    group = np.where(rng.random(count) < 1 / 3, "b", "a")
    weight = rng.choice([0.05, 0.5, 3.0], count) if weighted else np.ones(count)
    return score, label, group, weight


def build(columns, clip=0.01):
    score, label, group, weight = columns
    weight = None if (weight == 1.0).all() else weight
    data = lf.score_data(label, score, sensitive_features=group, sample_weight=weight)
    return lf.score_table(data, clip=clip)


def impute_counts(table, target, phi=PHI, n=1, **options):
    stack = np.broadcast_to(phi, (1, n, *phi.shape))
    rng = np.random.default_rng(1)
    return confusion_counts(stack, table, target=target, rng=rng, **options).drawn[0]


def rates(columns, phi=PHI):
    """f of every row, one by one."""
    curves = {g: (math.exp(a), math.exp(b), c) for g, (a, b, c) in zip("ab", phi, strict=True)}
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


@pytest.mark.parametrize("cap", [math.inf, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_expected_equals_a_loop_over_rows(weighted, cap):
    columns = simulated(1500, weighted=weighted)
    limit = 1.0 / (1.0 + math.exp(-cap))
    got = impute_counts(build(columns), "expected", cap=cap)[0]
    expected = add_up(columns, np.minimum(rates(columns), limit))
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    table, where, psi, rate = deviating(columns)
    got = impute_counts(table, "expected", psi, regions=where, cap=cap)[0]
    np.testing.assert_allclose(got, add_up(columns, np.minimum(rate, limit)), rtol=1e-12)


def test_expected_with_deviations_on_cells():
    columns = simulated(6000, levels=None)
    table, where, psi, rate = deviating(columns)
    assert len(table.cells.cell)
    got = impute_counts(table, "expected", psi, regions=where)[0]
    np.testing.assert_allclose(got, add_up(columns, rate), rtol=1e-6)


# what all targets share


@pytest.mark.parametrize("target", TARGETS)
def test_a_group_without_unlabeled_rows(target):
    score, label, group, weight = simulated(900)
    label[group == "b"] = score[group == "b"] > 0.4
    columns = (score, label, group, weight)
    got = impute_counts(build(columns), target, n=500)
    assert np.isfinite(got).all() and (got >= 0.0).all()
    expected = add_up(columns, np.zeros(900))[1]
    if target == "population":
        np.testing.assert_allclose(got[:, 1].mean(axis=0), expected, rtol=0.05)
    else:
        np.testing.assert_array_equal(got[:, 1], np.broadcast_to(expected, (500, 2, 2)))


@pytest.mark.parametrize("target", ["sample", "expected"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_weight_of_a_predicted_class_does_not_move(target, weighted):
    columns = simulated(2000, weighted=weighted)
    table = build(columns)
    got = impute_counts(table, target, n=50)
    expected = add_up(columns, np.zeros(2000)).sum(axis=2)
    np.testing.assert_allclose(got.sum(axis=3), np.tile(expected, (50, 1, 1)), rtol=1e-12)
    assert (got >= 0.0).all()
    np.testing.assert_array_equal(impute_counts(table, target, n=50), got)
    if target == "sample" and not weighted:
        np.testing.assert_array_equal(got, np.rint(got))


# sums of Bernoullis


def sharp(rows, *shape):
    """Rates near 0 and near 1: the variance is far below the mean."""
    return np.random.default_rng(rows).beta(*shape, rows).clip(1e-4, 1.0 - 1e-4)


SUMS = [
    # fewer than SMALL rows
    (np.array([0.2, 0.4, 0.7]), 0.006),
    (sharp(7, 0.7, 0.9), 0.006),
    (sharp(15, 0.7, 0.9), 0.006),
    # skewed sums of variance between 1 and 16
    (np.random.default_rng(60).uniform(0.0, 0.1, 60), 0.006),
    (np.random.default_rng(40).uniform(0.0, 0.3, 40), 0.006),
    (1.0 - np.random.default_rng(100).uniform(0.0, 0.1, 100), 0.006),
    (np.random.default_rng(3000).uniform(0.0, 0.008, 3000), 0.006),
    # a small variance that is not skewed
    (sharp(200, 0.02, 0.2), 0.02),
    (sharp(100, 0.05, 0.05), 0.02),
    (sharp(40, 0.5, 0.5), 0.02),
]


@pytest.mark.parametrize("rate, limit", SUMS)
def test_imputed_counts_have_the_distribution_of_the_sum(rate, limit):
    """The curve is the identity, so that scores are rates; total variation distance."""
    rate, n = rate.clip(1e-4, 1.0 - 1e-4), 100_000
    rows, decided = len(rate), np.ones(len(rate), dtype=int)
    data = lf.score_data([None] * rows, rate, sensitive_features=["g"] * rows, y_pred=decided)
    got = impute_counts(lf.score_table(data, clip=1e-5), "sample", np.zeros((1, 3)), n=n)
    shares = np.bincount(got[:, 0, 1, 1].astype(int), minlength=rows + 1) / n
    assert 0.5 * abs(shares - poisson_binomial(rate)).sum() < limit


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


@pytest.mark.parametrize("variance", [1.5, 2.0, 9.0])
def test_rounding_adds_no_variance(variance):
    """40 rows of small rates: 1/12 would be 5 % of a variance of 1.5."""
    n = 20_000
    moments = np.tile([20.3, variance, 0.0], (n, 1))
    got = cornish_fisher(moments, stats.norm.ppf(grid(n)), np.full(n, 40.0), whole=True)
    assert got.var() == pytest.approx(variance, rel=0.005)


@pytest.mark.parametrize("skew", [-5.0, 1.0, 5.0])
def test_draws_rise_with_their_noise_however_skewed(skew):
    """The expansion would bend back with the skewness of sums of very different weights."""
    normal = np.linspace(-2.9, 2.9, 59)
    got = cornish_fisher(np.tile([50.0, 4.0, 8.0 * skew], (59, 1)), normal, 100.0, whole=False)
    assert (np.diff(got) > 0.0).all()


# sample


def assert_same_moments(draws, mean, variance):
    """Draws (n, ...) against known mean and variance, within Monte Carlo error."""
    n = len(draws)
    assert (abs(draws.mean(axis=0) - mean) < 4.5 * np.sqrt(variance / n)).all()
    error = 4.5 * variance * math.sqrt(2.5 / n)
    assert (abs(draws.var(axis=0) - variance) < error + 1e-9).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("count", [120, 3000])
def test_sample_has_the_moments_of_the_rows(count, weighted):
    columns = simulated(count, seed=count, weighted=weighted)
    score, label, group, weight = columns
    table, where, psi, rate = build(columns), None, PHI, rates(columns)
    if count > 1000:
        table, where, psi, rate = deviating(columns)
    got = impute_counts(table, "sample", psi, n=8000, regions=where)[..., 1].reshape(-1, 4)
    mean = add_up(columns, rate)[..., 1].ravel()
    stratum = 2 * (group == "b") + (score >= 0.5)
    noise = weight**2 * rate * (1.0 - rate) * (label < 0)
    assert_same_moments(got, mean, np.bincount(stratum, noise, minlength=4))


def test_sample_takes_rows_of_no_weight_for_none():
    """100 rows at 0.9 of which 60 count: the count of positives stays within them."""
    label, score = np.array([1] + [-1] * 100 + [0]), np.array([0.9] * 101 + [0.1])
    weight = np.array([1.0] + [1.0] * 60 + [0.0] * 40 + [1.0])
    counts = impute_counts(
        build((score, label, ["g"] * 102, weight)), "sample", np.zeros((1, 3)), n=8000
    )[:, 0, 1]
    assert (counts >= 0.0).all()
    assert (counts.sum(axis=1) == 61.0).all()
    assert_same_moments(counts[:, 1], 1.0 + 60 * 0.9, 60 * 0.9 * 0.1)


# population


@pytest.mark.parametrize("weighted", [False, True])
def test_population_agrees_with_a_bootstrap_of_rows(weighted):
    columns = simulated(900, seed=7, weighted=weighted)
    table, where, psi, rate = deviating(columns)
    n = 4000
    got = impute_counts(table, "population", psi, n=n, regions=where)
    rng = np.random.default_rng(8)
    score, label, group, weight = columns
    share = np.where(label < 0, rate, label)
    expected = np.zeros((n, 2, 2, 2))
    mass = weight * rng.standard_exponential((n, 900))
    for g in range(2):
        for predicted in range(2):
            at = ((group == "b") == g) & ((score >= 0.5) == predicted)
            expected[:, g, predicted, 1] = mass[:, at] @ share[at]
            expected[:, g, predicted, 0] = mass[:, at] @ (1.0 - share[at])
    for metric in ("accuracy", "tpr", "fpr", "selection_rate"):
        one, two = theta(metric, got), theta(metric, expected)
        error = 4.5 * two.std(axis=0) * math.sqrt(2.0 / n)
        assert (abs(one.mean(axis=0) - two.mean(axis=0)) < error).all()
        np.testing.assert_allclose(one.std(axis=0), two.std(axis=0), rtol=0.07)


def decided(counts):
    """Labeled rows with the given cells (tn, fn, fp, tp)."""
    predicted, label = np.repeat([[0, 0, 1, 1], [0, 1, 0, 1]], counts, axis=1)
    names = ["g0"] * sum(counts)
    return {"y_true": label, "y_score": 0.2 + 0.6 * predicted, "sensitive_features": names}


def of_population(rows, metrics):
    run = {"chains": 4, "draws": 300, "warmup": 10, "rng": 1}
    return lf.assess(**rows, metrics=metrics, target="population", **run)


@pytest.mark.parametrize("counts", [(5, 0, 0, 5), (3, 4, 2, 11), (75, 75, 0, 0), (8, 0, 0, 1)])
@pytest.mark.parametrize("weight", [None, 0.1])
def test_fully_labeled_shares_have_beta_posteriors(counts, weight):
    tn, fn, fp, tp = counts
    rows = decided(counts) | {"sample_weight": None if weight is None else [weight] * sum(counts)}
    result = of_population(rows, ["accuracy", "tpr", "fpr", "selection_rate"])
    hits = {"accuracy": (tp + tn, fp + fn), "selection_rate": (tp + fp, tn + fn)}
    for name, (a, b) in {**hits, "tpr": (tp, fn), "fpr": (fp, tn)}.items():
        a, b = (x + (1.0 if name in hits else 0.5) for x in (a, b))
        draws = result.draws(name).ravel()
        assert stats.kstest(draws, stats.beta(a, b).cdf).pvalue > 1e-4


@pytest.mark.parametrize("rows", [10, 20, 50, 200])
def test_population_intervals_cover_every_rate(rows):
    """The bootstrap alone: 80, 88, 93 and 95 % of rates, and no width where all rows agree."""
    rate, covered = np.linspace(0.02, 0.98, 49), 0.0
    for right in range(rows + 1):
        result = decided((0, 0, rows - right, right))
        table = lf.score_table(lf.score_data(**result))
        stack = np.zeros((1, 4000, 1, 3))
        rng = np.random.default_rng(right)
        counts = confusion_counts(stack, table, target="population", rng=rng).drawn
        counts = counts + pseudo_rows(table, (1, 4000), target="population", seed=rng)
        low, high = np.quantile(theta("ppv", counts), [0.025, 0.975])
        assert high - low > 0.2 / rows
        covered = covered + stats.binom.pmf(right, rows, rate) * ((low <= rate) & (rate <= high))
    assert covered.mean() > 0.94 and covered.min() > 0.85


def test_metrics_of_scores_of_a_population_have_width():
    """The bootstrap alone has none in three of the four: 5 negatives at 0.2, 5 positives at 0.8."""
    names = ["auc", "brier", "balance_positive", "calibration_in_the_large"]
    results = [of_population(decided((n, 0, 0, n)), names) for n in (5, 500)]
    for name in names:
        few, many = (np.ptp(result.metric(name, "g0").interval()) for result in results)
        assert few > 0.1 and 0.0 < many < 0.1 * few + 0.02


def test_pseudo_rows_lie_at_scores_of_the_group():
    """Of two bins, one has three quarters of the rows, and of the pseudo-rows."""
    total, n = np.array([30.0, 10.0]), 20_000
    imputed = Imputed(np.tile(total, (n, 1)), np.full((n, 2), 0.5))
    pseudo = np.random.default_rng(1).standard_gamma(0.5, (1, n, 2, 2))
    weight, label = with_pseudo_rows(imputed, total, pseudo, (1, 0, 1))
    added, positive = weight - total, weight * label - 0.5 * total
    np.testing.assert_allclose(added.sum(axis=1), pseudo.sum(axis=(0, 2, 3)), atol=1e-9)
    np.testing.assert_allclose(positive.sum(axis=1), pseudo[0, :, :, 1].sum(axis=1), atol=1e-9)
    assert added.mean(axis=0) == pytest.approx([1.5, 0.5], abs=0.06)
    assert positive.mean(axis=0) == pytest.approx([0.75, 0.25], abs=0.04)
    assert with_pseudo_rows(imputed, total, np.zeros((1, 1, 2, 2)), (1, 0, 1)) is imputed


# cumulants


@pytest.mark.skipif(not available(), reason="numba is absent")
@pytest.mark.parametrize("cap", [math.inf, 0.7])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("lacking", [False, True])
def test_compiled_cumulants_equal_numpy(weighted, cap, lacking):
    score, label, group, weight = simulated(3000, weighted=weighted)
    if lacking:  # strata without unlabeled rows: the first, one between, the last
        label = np.where((group == "a") == (score < 0.5), 0, label)
        label[(group == "b") & (score >= 0.5)] = 1
    table, where, psi, _ = deviating((score, label, group, weight))
    nodes = unlabeled(table, where)
    draws = psi + np.random.default_rng(9).normal(0.0, 0.5, (11, *psi.shape))
    one, two = (cumulants(draws, nodes, cap, jit=jit) for jit in (False, True))
    np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)
    assert one.any()


# score bins


def some_psi(table, n):
    """Draws of the two groups' curves, with deviations."""
    rng = np.random.default_rng(1)
    where = regions(table)
    deviations = rng.normal(0.0, 0.3, (1, n, 2, where.loadings.shape[1]))
    phi = PHI + rng.normal(0.0, 0.2, (1, n, 2, 3))
    return np.concatenate([phi, deviations], axis=-1), where


def impute_bins(psi, slots, where, *, target="sample", seed=2, **options):
    """Impute draws (n, 3 + J) of one group."""
    return impute_group(psi[None, :, None], 0, slots, where, target=target, seed=seed, **options)


CELLS = {"count": 20_000, "levels": None, "weighted": True}  # weights below 1
POINTS = {"count": 2_000, "levels": 50, "weighted": True}
SHAPES = [CELLS, POINTS, {"count": 200, "levels": None}]


@pytest.mark.parametrize("shape", SHAPES)
def test_bins_hold_all_the_weight(shape):
    columns = simulated(**shape)
    score, _, group, weight = columns
    table = build(columns)
    for index, slots in enumerate(score_slots(table)):
        for side in (0, 1):
            at = slots.predicted == side
            got = [*slots.known[at].sum(axis=0), slots.weight[at].sum()]
            np.testing.assert_allclose(got, table.sums("weight")[index, side], rtol=1e-12)
        assert (np.diff(slots.score) >= 0.0).all() and (slots.total > 0.0).all()
        np.testing.assert_allclose(np.add.reduceat(slots.node_share, slots.start), 1.0, rtol=1e-12)
        own = group == "ab"[index]
        mean = np.average(np.clip(score[own], 0.01, 0.99), weights=weight[own])
        assert np.average(slots.score, weights=slots.total) == pytest.approx(mean, abs=2e-4)


def test_equal_scores_are_exactly_equal_in_both_predictions():
    score = np.repeat(np.arange(1, 10) / 10.0, 20)
    number, group = np.arange(180), ["a"] * 180
    data = lf.score_data(number % 3 - 1, score, sensitive_features=group, y_pred=number % 2)
    (slots,) = score_slots(lf.score_table(data))
    assert len(slots.score) == 18
    np.testing.assert_array_equal(slots.score[::2], slots.score[1::2])
    assert slots.predicted.tolist() == [0, 1] * 9


@pytest.mark.parametrize("cap", [np.inf, 1.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_expected_sums_are_those_of_the_confusion_counts(shape, cap):
    table = build(simulated(**shape))
    psi, where = some_psi(table, 20)
    expected = impute_counts(table, "expected", psi[0, 0], n=1, cap=cap, regions=where)
    for index, slots in enumerate(score_slots(table)):
        drawn = impute_bins(psi[0, :1, index], slots, where, target="expected", cap=cap)
        np.testing.assert_allclose(confusion(drawn, slots), expected[:, index], rtol=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
def test_sampled_sums_have_the_mean_and_variance_of_the_counts(shape):
    table, n = build(simulated(**shape)), 3_000
    psi, where = some_psi(table, 1)
    known = table.sums("weight")
    moments = cumulants(psi[0], unlabeled(table, where), np.inf)[0]
    for index, slots in enumerate(score_slots(table)):
        many = np.broadcast_to(psi[0, 0, index], (n, psi.shape[-1]))
        got = confusion(impute_bins(many, slots, where, seed=index), slots)[..., 1]
        mean, variance = moments[index, :, 0] + known[index, :, 1], moments[index, :, 1]
        assert (np.abs(got.mean(axis=0) - mean) < 4.5 * np.sqrt(variance / n)).all()
        # the variance of a sample variance of nearly normal numbers
        assert (np.abs(got.var(axis=0) / variance - 1.0) < 4.5 * np.sqrt(2.0 / n)).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_population_shares_are_those_of_the_counts(shape):
    table, n = build(simulated(**shape)), 1_500
    psi, where = some_psi(table, 1)
    many = np.broadcast_to(psi, (1, n, *psi.shape[2:]))
    rng = np.random.default_rng(5)
    counts = confusion_counts(many, table, target="population", rng=rng, regions=where).drawn[0]
    for index, slots in enumerate(score_slots(table)):
        drawn = impute_group(many, index, slots, where, target="population", seed=4)
        for name in ("accuracy", "tpr", "fpr", "selection_rate"):
            one, two = theta(name, confusion(drawn, slots)), theta(name, counts[:, index])
            error = np.hypot(one.std(), two.std()) / np.sqrt(n)
            assert abs(one.mean() - two.mean()) < 4.5 * error
            assert one.std() == pytest.approx(two.std(), rel=4.5 * np.sqrt(1.0 / n))


def test_sampled_labels_of_equal_weights_are_whole():
    table = build(simulated(3_000, levels=50))
    psi, where = some_psi(table, 30)
    for index, slots in enumerate(score_slots(table)):
        drawn = impute_group(psi, index, slots, where, target="sample", seed=1)
        count = drawn.weight * drawn.label
        np.testing.assert_allclose(count, np.rint(count), atol=1e-9)
        assert (count >= slots.known[:, 1] - 1e-9).all()
        assert (count <= slots.known[:, 1] + slots.rows + 1e-9).all()


@pytest.mark.parametrize("weights", [[1.0, 1.0, 4.0], [1.0, 1.0, 1.0, 1.0, 5.0], [0.3, 7.0]])
def test_sampled_labels_of_unequal_weights_have_the_right_moments(weights):
    """Rows of weights 1, 1 and 4 count as 2 effective ones, and the other five as 25 / 11."""
    size, n = len(weights), 200_000
    columns = np.full(size, 0.3), np.full(size, -1), np.array(["a"] * size), np.array(weights)
    (slots,) = score_slots(build(columns))
    drawn = impute_bins(np.zeros((n, 3)), slots, no_regions())
    count = (drawn.weight * drawn.label)[:, 0]
    variance = 0.3 * 0.7 * np.square(weights).sum()
    assert count.mean() == pytest.approx(0.3 * sum(weights), abs=4.5 * np.sqrt(variance / n))
    assert count.var() == pytest.approx(variance, rel=0.02)


@pytest.mark.parametrize("target", ["sample", "expected"])
def test_known_labels_stay_in_their_bins(target):
    table = build(simulated(900, levels=50, labeled=2.0))
    psi, where = some_psi(table, 5)
    for index, slots in enumerate(score_slots(table)):
        drawn = impute_group(psi, index, slots, where, target=target, seed=1)
        expected = table.sums("weight")[index, :, :2]
        np.testing.assert_allclose(confusion(drawn, slots), [expected] * 5, rtol=1e-12)
        rate = Metric("rate", lambda s, w, p: (w * p).sum(-1) / w.sum(-1), of="nodes")
        assert frequency(rate, slots) == pytest.approx(expected[:, 1].sum() / expected.sum())
        value = slot_theta(rate, slots.score, *drawn)
        np.testing.assert_allclose(value, frequency(rate, slots), rtol=1e-12)


def test_rows_of_weight_0_make_no_bin():
    score, label, group, weight = simulated(400, levels=20)
    weight = np.where(score > 0.8, 0.0, 1.0)
    for slots in score_slots(build((score, label, group, weight))):
        assert slots.score.max() < 0.81


@pytest.mark.parametrize("target", TARGETS)
def test_a_factor_on_all_weights_changes_nothing(target):
    rows = lf.simulate(500, 60, rng=4)
    metrics = ["tpr", "auc", "selection_rate", "average_score"]
    options, weights = {"metrics": metrics, "target": target, **QUICKEST}, np.ones(500)
    one, two = (assess_rows(rows, sample_weight=w * weights, **options) for w in (1.0, 0.01))
    for name in metrics:
        np.testing.assert_allclose(two.draws(name), one.draws(name), rtol=1e-9)


def test_strata_of_few_or_unequal_rows_keep_their_nodes(rows):
    uneven = np.where(np.arange(400) % 2, 1.0, 3.0)
    for weight in (np.ones(400), np.full(400, 2.0), uneven):
        table = build((rows.y_score, rows.y_true, rows.group, weight))
        found, of_unlabeled = unlabeled(table), (table.nodes().stratum % 3 == 2).sum()
        if weight is uneven:
            assert len(found.base) == of_unlabeled
        else:
            assert len(found.base) < of_unlabeled / 2 and (found.scale == weight[0]).all()
        sums = np.add.reduceat(found.weight, found.start[:-1])
        np.testing.assert_allclose(sums, found.total, rtol=1e-12)
