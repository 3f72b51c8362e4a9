"""Trust: regions of a table, the prior of the deviations, and what both give in the end."""

from __future__ import annotations

import math

import numpy as np
import pytest
from asking import ask, ask_quickly
from cases import PRIOR
from tables import table_of

import lightfair.core as lf
from lightfair.core.data.logit import logit_of
from lightfair.core.data.nodes import CELL_WIDTH, UNLABELED
from lightfair.core.mcmc.convergence import mcse_mean
from lightfair.core.mcmc.hierarchy import plain
from lightfair.core.mcmc.sampler import start_chains, take_draws
from lightfair.core.metrics.imputation import TARGETS, confusion_counts
from lightfair.core.model import regions as module
from lightfair.core.model.curve import FAMILIES, Prior
from lightfair.core.model.likelihood import labeled_data, segment_log_odds
from lightfair.core.model.regions import (
    EDGE_GRID,
    Trust,
    check_trust,
    no_regions,
    regions,
    trusted_scales,
    worth,
)
from lightfair.core.model.scales import curve_scales


def strata(score, label=None):
    """The stratum of rows of the first group, at a threshold of 0.5."""
    known = np.full(len(score), UNLABELED) if label is None else label
    return 3 * (np.asarray(score) >= 0.5).astype(np.int64) + known


def counted(where, score, clip=0.01):
    """Rows in each region."""
    region = where.of(strata(score), logit_of(score, clip))
    return np.bincount(region, minlength=len(where.loadings))


def smooth(seed=0, count=9000):
    """Scores with hardly any at the bounds."""
    return np.random.default_rng(seed).beta(1.3, 1.6, count)


# regions


def test_three_regions_of_a_class_have_as_many_rows():
    score = smooth()
    where = regions(table_of(score))
    assert where.names == ("jump", "bend", "bend", "bend", "bend")
    assert where.first == (0, 3, 6) and where.masses == ()
    counts = counted(where, score)
    for side in (counts[:3], counts[3:]):
        np.testing.assert_allclose(side / side.sum(), 1 / 3, atol=0.06)
    np.testing.assert_array_equal(where.on_curve, np.ones(6))
    np.testing.assert_array_equal(where.base, np.zeros(6))


def test_edges_depend_on_scores_only():
    score, rng = smooth(3, 3000), np.random.default_rng(3)
    label, group = rng.choice([0, 1, -1], 3000), rng.choice(["a", "b", "c"], 3000)
    weight = np.linspace(0.0, 9.0, 3000)
    one = regions(table_of(score))
    two = regions(table_of(score, label, group, sample_weight=weight))
    np.testing.assert_allclose(np.concatenate(one.edges), np.concatenate(two.edges), atol=1e-12)


def test_no_cell_is_cut():
    score = smooth(1)
    table = table_of(score)
    where = regions(table)
    for edges in where.edges:
        steps = edges / EDGE_GRID
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-9)
        assert len(edges) == 2
    nodes = table.nodes()
    assert len(table.cells.cell) and len(nodes.logit) < 500
    region = where.of(nodes.stratum, nodes.logit)
    got = np.bincount(region, nodes.weight, minlength=6)
    np.testing.assert_allclose(got, counted(where, score), rtol=1e-9)
    assert EDGE_GRID / CELL_WIDTH == 2.0


def test_regions_of_two_halves_are_those_of_the_whole():
    rng = np.random.default_rng(2)
    score = np.where(rng.random(4000) < 0.1, 0.0, smooth(2, 4000))
    label = rng.choice([0, 1, -1], 4000, p=[0.1, 0.1, 0.8])
    group = rng.choice(["a", "b"], 4000)
    label[2000:] = -1  # few labels: labeled rows are points in one half, cells in the other
    cut = [slice(0, 700), slice(700, None)]
    first, second = (table_of(score[s], label[s], group[s]) for s in cut)
    one, two = regions(first + second), regions(table_of(score, label, group))
    for mine, yours in zip(one, two, strict=True):
        if isinstance(mine, np.ndarray):
            np.testing.assert_array_equal(mine, yours)
    np.testing.assert_array_equal(np.concatenate(one.edges), np.concatenate(two.edges))
    assert (one.masses, one.first, one.names) == (two.masses, two.first, two.names)


@pytest.mark.parametrize(
    "levels, wanted", [([0.1], 1), ([0.1, 0.2, 0.41], 3), ([0.1, 0.22, 0.4], 3)]
)
def test_few_distinct_scores_give_fewer_regions(levels, wanted):
    score = np.repeat([*levels, 0.9], 40)
    where = regions(table_of(score))
    assert where.first == (0, wanted, wanted + 1)
    assert where.names == ("jump",) + ("bend",) * (wanted - 1)
    # every score is in one region
    assert (counted(where, score) > 0).all()


@pytest.mark.parametrize("high", [False, True])
def test_without_a_side_there_is_no_jump(high):
    score = 0.5 * smooth(4, 2000) + (0.5 if high else 0.0)
    score = np.clip(score, 0.02, 0.98)
    where = regions(table_of(score))
    assert where.names == ("bend", "bend")
    counts = counted(where, score)
    mine = counts[1:] if high else counts[:3]
    assert len(counts) == 4 and mine.sum() == 2000 and (mine > 0).all()


def test_without_rows_on_the_curve_there_are_masses_only():
    where = regions(table_of([0.0, 1.0] * 20))
    assert where.names == ("mass", "mass")
    np.testing.assert_array_equal(where.loadings[-2:], np.eye(2))
    np.testing.assert_array_equal(where.on_curve[-2:], 0.0)
    assert where.base[-2] < 0.0 < where.base[-1]


def test_one_row_of_a_small_group_is_no_mass():
    score = np.concatenate([[1.0], np.clip(smooth(5, 400), 0.02, 0.98)])
    group = np.repeat(["few", "many"], [10, 391])
    assert regions(table_of(score, group=group)).masses == ()


@pytest.mark.parametrize("rows, mass", [(4, False), (5, True)])
@pytest.mark.parametrize("bound", [0.0, 1.0])
def test_a_mass_is_a_twentieth_of_a_group(rows, mass, bound):
    """Of any one group, if it is a hundredth of all."""
    inside = np.clip(smooth(5, 400), 0.02, 0.98)
    score = np.concatenate([np.full(rows, bound), inside[rows:]])
    group = np.repeat(["few", "many"], [100, 300])
    where = regions(table_of(score, group=group))
    assert where.masses == (((int(bound), int(bound)),) if mass else ())
    assert where.names.count("mass") == mass
    if mass:
        np.testing.assert_array_equal(where.loadings[:, -1], [0.0] * 6 + [1.0])
        np.testing.assert_array_equal(where.loadings[-1], [0.0] * 5 + [1.0])
        assert counted(where, score)[-1] == rows
        np.testing.assert_array_equal(where.on_curve, [1.0] * 6 + [0.0])
        assert np.sign(where.base[-1]) == 2.0 * bound - 1.0
        np.testing.assert_array_equal(where.base[:-1], 0.0)


def test_rows_of_a_mass_do_not_move_the_edges():
    inside = np.clip(smooth(6), 0.02, 0.98)
    score = np.concatenate([inside, np.zeros(6000), np.ones(2000)])
    one, two = regions(table_of(inside)), regions(table_of(score))
    assert two.masses == ((0, 0), (1, 1)) and two.first == (0, 3, 6)
    for mine, yours in zip(one.edges, two.edges, strict=True):
        np.testing.assert_array_equal(mine, yours)


def test_loadings_are_contrasts():
    score = np.concatenate([smooth(8, 3000), np.zeros(400), np.ones(400)])
    where = regions(table_of(score))
    jump, bends, masses = where.loadings[:, 0], where.loadings[:, 1:5], where.loadings[:, 5:]
    np.testing.assert_array_equal(jump, [-0.5] * 3 + [0.5] * 3 + [0.0] * 2)
    np.testing.assert_allclose(bends.T @ bends, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(bends[:3].sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(bends[3:6].sum(axis=0), 0.0, atol=1e-12)
    assert not (bends[:3].any(axis=0) & bends[3:].any(axis=0)).any()  # of one class each
    np.testing.assert_array_equal(masses, np.eye(8)[:, 6:])


def test_region_of_a_node():
    where = no_regions()._replace(edges=(np.array([-1.0]), np.array([1.0, 2.0])), first=(0, 2, 5))
    masses = ((0, 0), (0, 1), (1, 1))
    where = where._replace(bounds=(-4.0, 4.0), masses=masses, loadings=np.zeros((8, 0)))
    #   predicted 0: below, at and above an edge; predicted 1; masses of either class
    stratum = np.array([0, 2, 6, 3, 4, 5, 9, 0, 3, 5])
    logit = np.array([-1.1, -1.0, 3.0, -3.0, 1.0, 1.9, 2.5, -4.0, -4.1, 4.0])
    np.testing.assert_array_equal(where.of(stratum, logit), [0, 1, 1, 2, 3, 3, 4, 5, 6, 7])
    one = where._replace(masses=((1, 1),))
    np.testing.assert_array_equal(one.of(stratum[-3:], logit[-3:]), [0, 2, 5])


# the prior


def test_trusted_scales_go_by_the_names_of_the_columns():
    score = np.concatenate([smooth(9, 3000), np.zeros(400)])
    where = regions(table_of(score))
    got = trusted_scales(PRIOR, Trust(omega_sd=0.3, tau_sd=0.4, mass_sd=1.5), where)
    assert len(got.own) == 3 + len(where.names) == 9
    np.testing.assert_array_equal(got.sd, [*PRIOR.spread_sd, 0.3, 0.4])
    np.testing.assert_array_equal(plain(got, 2).counts(np.zeros(2)), [2, 2, 4, 1 + 4, 2 * 5])
    assert got.own_of.dtype == got.common_of.dtype == np.intp
    one, two = (got.location(np.array([0.1, 0.2, 0.3, x, 9.0])) for x in (1.0, 2.0))
    jump, bend = module.RATIOS["jump"], module.RATIOS["bend"]
    tied = np.array([jump[0], *[bend[0]] * 4])
    np.testing.assert_allclose(one, [*PRIOR.location_sd, *tied, 1.5], rtol=1e-12)
    np.testing.assert_allclose(two, [*PRIOR.location_sd, *(2.0 * tied), 1.5], rtol=1e-12)
    one, two = (got.spread(np.array([0.1, 0.2, 0.3, 9.0, x])) for x in (1.0, 2.0))
    own, mass = np.array([jump[1], *[bend[1]] * 4]), 0.3 * module.MASS_OWN
    np.testing.assert_allclose(one, [0.1, 0.2, 0.3, *own, mass], rtol=1e-12)
    np.testing.assert_allclose(two, [0.1, 0.2, 0.3, *(2.0 * own), mass], rtol=1e-12)
    # of groups apart
    np.testing.assert_array_equal(got.wide, [module.APART_SD] * 9)
    np.testing.assert_array_equal(got.shift, [module.APART_SLOPE] * 2 + [0.0] * 7)
    both = got.spread(np.array([0.1, 0.2, 0.3, 9.0, 1.0]), np.array([0.0, 1.0]))
    np.testing.assert_array_equal(both, [one, got.wide])
    assert plain(got, 2).scales.apart == Trust().apart and plain(got, 1).scales.apart == 0.0


def test_trusted_scales_without_trust_are_the_curve():
    got = trusted_scales(PRIOR, None, no_regions())
    for mine, yours in zip(got, curve_scales(PRIOR), strict=True):
        np.testing.assert_array_equal(mine, yours)


@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_worth_is_the_sampling_variance_over_the_prior_variance(rate):
    omega, tau = 0.25, 0.15
    where = regions(table_of(smooth()))
    scales = trusted_scales(PRIOR, Trust(), where)
    sigma = np.array([1.0, 1.0, 1.0, omega, tau])
    variance = (scales.spread(sigma) ** 2 + scales.location(sigma) ** 2)[3:]
    lifted = where.loadings**2 @ variance  # of the log odds of each region, given the curve
    n = worth(omega, tau, rate, where)
    np.testing.assert_allclose(1.0 / (n * rate * (1.0 - rate)), lifted, rtol=1e-12)
    once, twice = np.array([1.0, 2.0]) * omega, np.array([1.0, 2.0]) * tau
    np.testing.assert_allclose(worth(once, twice, rate, where), [n, n / 4], rtol=1e-12)


def test_worth_where_nothing_can_deviate():
    """Equal scores, or masses only: the labels of no region can contradict the curve."""
    for score in (np.full(100, 0.3), np.repeat([0.0, 1.0], 50)):
        assert np.isinf(worth(0.3, 0.2, 0.5, regions(table_of(score))))
    sided = regions(table_of(0.45 * smooth(4, 2000) + 0.02))  # bends without a jump
    assert sided.names == ("bend", "bend")
    np.testing.assert_allclose(worth(1.0, 0.0, 0.5, sided), 4.0 / (2.0 / 3.0 * 0.49), rtol=1e-12)


def test_a_mass_of_both_predictions_is_two():
    """A threshold inside the clipped scores, or decisions that do not follow the scores."""
    score = np.concatenate([smooth(6, 600), np.zeros(200)])
    decide = (np.arange(800) % 2).astype(int)
    table = table_of(score, y_pred=decide)
    where = regions(table)
    assert where.masses == ((0, 0), (0, 1)) and where.names.count("mass") == 2
    lowest = np.full(2, table.bounds()[0])
    assert len(set(where.of(np.array([2, 5]), lowest))) == 2


def test_check_trust():
    assert check_trust(False) is None and check_trust(None) is None
    assert check_trust(True) == check_trust(np.True_) == Trust()
    assert check_trust(Trust(omega_sd=1)) == Trust(omega_sd=1.0)
    got = Trust(omega_sd=np.float32(0.5), tau_sd=np.int64(1), mass_sd=3).to_dict()
    assert got == {"omega_sd": 0.5, "tau_sd": 1.0, "mass_sd": 3.0, "apart": Trust().apart}
    assert all(type(value) is float for value in got.values())
    for wrong in (1, 0.3, "yes", [True]):
        with pytest.raises(ValueError, match="trust must be True, False or a Trust; got"):
            check_trust(wrong)


@pytest.mark.parametrize("value", [-0.1, 1.0, math.nan, "x", None])
def test_trust_rejects_what_is_no_chance(value):
    with pytest.raises(ValueError, match=r"Trust.apart must lie in \[0, 1\); got"):
        Trust(apart=value)


@pytest.mark.parametrize("name", ["omega_sd", "tau_sd", "mass_sd"])
@pytest.mark.parametrize("value", [0, -1.0, 1e-200, math.nan, math.inf, 50.1, "x", None, True])
def test_trust_rejects(name, value):
    with pytest.raises(ValueError, match=f"Trust.{name} must lie in .1e-06, 50.; got"):
        Trust(**{name: value})


# the two ends


SIX = np.array([0.1, 0.2, 0.41, 0.6, 0.755, 0.903])  # a region each
HITS = np.array([[12, 25, 9, 14, 31, 10], [20, 8, 30, 33, 11, 26]])  # labeled positives
MISSES = np.array([[30, 11, 17, 22, 8, 19], [13, 16, 18, 9, 24, 12]])
REST = np.array([[200, 180, 260, 190, 180, 260], [190, 190, 250, 190, 180, 250]])


def six_scores():
    """Two groups; rates in the regions have nothing to do with the scores."""
    score, label, group = [], [], []
    for g, name in enumerate("AB"):
        for r, s in enumerate(SIX):
            for y, count in ((1, HITS[g, r]), (0, MISSES[g, r]), (-1, REST[g, r])):
                score += [s] * count
                label += [y] * count
                group += [name] * count
    return table_of(score, label, group)


@pytest.fixture(scope="module")
def untrusting():
    """Draws with omega and tau held at 20, a wide prior of c: (psi, table, regions, data)."""
    table = six_scores()
    where = regions(table)
    assert len(set(where.of(strata(SIX), logit_of(SIX, 0.01)))) == 6
    scales = trusted_scales(Prior(mu_c_sd=20.0, sigma_c_sd=20.0), Trust(), where)
    tied = np.arange(len(scales.own)) > 2
    held = scales._replace(
        own=np.where(tied, 20.0 * scales.own, scales.own),
        common=np.where(tied, 20.0 * scales.common, scales.common),
        own_of=np.where(tied, len(scales.sd), scales.own_of),
        common_of=np.where(tied, len(scales.sd), scales.common_of),
        apart=0.0,
    )
    seen = labeled_data([table], family="beta", regions=where)
    chains = start_chains(seen, held, chains=16, warmup=80, rng=np.random.default_rng(9))
    return take_draws(chains, 150)[1].psi[0], table, where, seen


def test_without_trust_in_the_curve_rates_are_betas(untrusting):
    """Given large scales the rate of a region is Beta(positives, negatives).

    What is left of the prior moves log odds by about (0.4 / 8)^2 of their size, 1, that is rates by
    0.001.
    """
    psi, _, _, seen = untrusting
    odds = segment_log_odds(psi.reshape(-1, *psi.shape[2:]), seen)
    rate = (0.5 + 0.5 * np.tanh(0.5 * odds)).reshape(*psi.shape[:2], -1)
    for g, r in np.ndindex(2, 6):
        node = np.flatnonzero((seen.segment == g) & (seen.region == r))
        x = rate[..., node[0]]
        hits, misses = HITS[g, r], MISSES[g, r]
        mean = hits / (hits + misses)
        sd = math.sqrt(mean * (1.0 - mean) / (hits + misses + 1.0))
        assert abs(x.mean() - mean) < 4.0 * mcse_mean(x) + 0.002
        square = (x - x.mean()) ** 2
        assert abs(x.std() - sd) < 4.0 * mcse_mean(square) / (2.0 * sd) + 0.01 * sd


def test_without_trust_in_the_curve_counts_are_post_stratified(untrusting):
    psi, table, where, _ = untrusting
    rng = np.random.default_rng(10)
    got = confusion_counts(psi, table, target="expected", rng=rng, regions=where).drawn[..., 1]
    share = HITS / (HITS + MISSES)
    wanted = (HITS + REST * share).reshape(2, 2, 3).sum(-1)
    variance = (REST * REST * share * (1 - share) / (HITS + MISSES + 1)).reshape(2, 2, 3).sum(-1)
    assert (np.abs(got.mean(axis=(0, 1)) - wanted) < 4.0 * mcse_mean(got) + 0.003 * wanted).all()
    np.testing.assert_allclose(got.std(axis=(0, 1)), np.sqrt(variance), rtol=0.08)


def omega_of(bent):
    """Mean omega of 500 labels of two groups, right or bent in one region."""
    rng = np.random.default_rng(11)
    score = rng.choice(SIX, 1500)
    rate = np.where(score == 0.6, 0.1, score) if bent else score
    label = np.where(np.arange(1500) < 500, rng.random(1500) < rate, -1)
    table = table_of(score, label, rng.choice(["A", "B"], 1500))
    where = regions(table)
    seen = labeled_data([table], family="beta", regions=where)
    scales = trusted_scales(PRIOR, Trust(), where)
    chains = start_chains(seen, scales, chains=16, warmup=60, rng=np.random.default_rng(12))
    return take_draws(chains, 40)[1].sigma[..., -2].mean()


def test_misfit_is_learned():
    """Where the labels contradict the curve omega is large, where they follow it small."""
    assert omega_of(bent=False) < 0.5 * omega_of(bent=True)


# assess with trust


@pytest.mark.slow
def test_full_trust_is_the_calibration():
    rows = lf.simulate(2000, 60, rng=8)
    options = {"metrics": ["accuracy", "tpr"], "draws": 300, "warmup": 150, "target": "expected"}
    options["prior"] = Prior()
    full, plain = (
        ask(rows, trust=trust, rng=seed, **options)
        for seed, trust in ((1, Trust(omega_sd=1e-6, tau_sd=1e-6, apart=0.0)), (2, False))
    )
    assert (np.abs(full.posterior.deviations) < 1e-4).all()
    pairs = [(getattr(r.posterior, name) for r in (full, plain)) for name in ("phi", "sigma")]
    pairs += [(r.draws(name) for r in (full, plain)) for name in options["metrics"]]
    for one, two in pairs:
        for power in (1, 2):
            x, y = one**power, two**power
            error = np.hypot(mcse_mean(x), mcse_mean(y))
            assert (np.abs(x.mean(axis=(0, 1)) - y.mean(axis=(0, 1))) < 4.0 * error).all()


NOBODY = np.full(400, np.nan)
SITUATIONS = {
    "no labels": lambda rows: {"y_true": NOBODY},
    "one group": lambda rows: {"group": np.full(400, "all")},
    "equal scores": lambda rows: {"y_score": np.full(400, 0.3)},
    "scores of 0 and 1": lambda rows: {"y_score": np.rint(rows.y_score)},
    "one side": lambda rows: {"y_score": 0.4 * rows.y_score},
    "a mass": lambda rows: {"y_score": np.maximum(rows.y_score - 0.2, 0.0)},
}


@pytest.mark.parametrize("case", SITUATIONS)
def test_situations(rows, case):
    """Every family and target, with any hierarchy."""
    at = list(SITUATIONS).index(case) % 3
    options = {"family": FAMILIES[at], "target": TARGETS[at], "hierarchical": at < 2}
    result = ask_quickly(rows, **SITUATIONS[case](rows), metrics=["accuracy", "auc"], **options)
    posterior = result.posterior
    assert np.isfinite(posterior.psi).all() and (posterior.omega > 0.0).all()
    assert (posterior.deviations.std(axis=(0, 1)) > 0.0).all()
    assert ((result.draws("accuracy") >= 0.0) & (result.draws("accuracy") <= 1.0)).all()
    assert 0.0 < result.metric("accuracy", result.groups[0]).mean < 1.0
    if case == "no labels":  # omega and tau follow their priors
        for draws, sd in ((posterior.omega, Trust().omega_sd), (posterior.tau, Trust().tau_sd)):
            wanted = sd * math.sqrt(2.0 / math.pi)
            assert abs(draws.mean() - wanted) < 4.0 * mcse_mean(draws)


def test_a_mass_at_a_loose_bound_is_not_held_to_be_sure(rows):
    """Without labels the rate of a mass is that of its bound, not 3 or 97 %."""
    result = ask_quickly(rows, y_true=NOBODY, metrics="accuracy", clip=0.49)
    assert abs(result.metric("accuracy", "A").mean - 0.5) < 0.1
