"""The sampler: its two forms agree, and its draws have the right distribution.

Means of draws are compared within 4 Monte Carlo standard errors of both sides.
"""

from __future__ import annotations

import math
import sys

import naive
import numpy as np
import pytest
from cases import CURVE, PRIOR, TRUSTED, column, place
from scipy.special import log_expit

import lightfair.core as lf
from lightfair.core.data.logit import logit_of
from lightfair.core.mcmc import sampler
from lightfair.core.mcmc.convergence import mcse_mean
from lightfair.core.mcmc.jit import available, compiles
from lightfair.core.mcmc.moves import make_noise, pack, propose, unpack
from lightfair.core.mcmc.sampler import (
    DRAWS,
    FEW,
    MANY,
    take_draws,
    usual,
    usual_warmup,
    warm_up,
)
from lightfair.core.mcmc.surrogate import expand, log_importance, marginal
from lightfair.core.model.curve import features
from lightfair.core.model.likelihood import labeled_nodes, loglik
from lightfair.core.settings import Settings

HALF = math.sqrt(2.0 / math.pi)  # mean of a half-normal in units of its scale
needs_numba = pytest.mark.skipif(not available(), reason="numba is not installed")


def build(
    group,
    score,
    label,
    *,
    groups,
    sets=1,
    family="beta",
    cap=math.inf,
    clip=0.01,
    scales=CURVE,
):
    """LabeledData of rows; `group` counts on through the data sets."""
    label = np.asarray(label, dtype=float)
    nodes = features(logit_of(score, clip), family)
    where = np.asarray(group, dtype=np.int64)
    weight = np.ones(len(label))
    size = {"segments": sets * groups, "groups": groups}
    return labeled_nodes(where, nodes, label, weight, cap=cap, **size, **place(score, scales))


def rows(seed, segments, count):
    """Simulated group, score and label; groups differ in their base rates."""
    rng = np.random.default_rng(seed)
    group = rng.integers(segments, size=count)
    score = rng.uniform(0.02, 0.98, count)
    label = rng.random(count) < 1 / (1 + np.exp(-logit_of(score, 0.0) - 0.8 + 1.2 * (group % 2)))
    return group, score, label


def sample(seen, seed, *, scales=CURVE, chains=24, warmup=100, draws=250):
    start = warm_up(seen, scales, chains=chains, warmup=warmup, rng=np.random.default_rng(seed))
    return take_draws(start, draws)[1]


def assert_close(x, y):
    """The means of draws (chain, draw, ...) against numbers, or other draws."""
    error = mcse_mean(x)
    if np.shape(y)[:1] == x.shape[:1] and np.ndim(y) == x.ndim:
        error, y = np.hypot(error, mcse_mean(y)), y.mean(axis=(0, 1))
    distance = np.abs(x.mean(axis=(0, 1)) - y) / error
    assert (distance < 4.0).all(), distance


def moments(x):
    return np.stack([x, x * x], axis=-1)


# The two forms


def both(monkeypatch, seen, seed, scales=CURVE):
    result = []
    for form in ("0", "1"):
        monkeypatch.setenv("LIGHTFAIR_JIT", form)
        rng = np.random.default_rng(seed)
        start = warm_up(seen, scales, chains=2, warmup=40, rng=rng)
        result.append(take_draws(start, 60))
    return result


FIXED = TRUSTED._replace(own_of=np.where(TRUSTED.own_of == 3, 5, TRUSTED.own_of))


@needs_numba
@pytest.mark.parametrize(
    "family, sets, groups, cap, count, scales",
    [
        ("beta", 3, 2, math.inf, 60, CURVE),
        ("beta", 1, 2, math.inf, 60, FIXED),  # a fixed spread
        ("llo", 1, 1, math.inf, 60, TRUSTED),
        ("temperature", 2, 3, 0.7, 60, TRUSTED),
        ("beta", 2, 3, math.inf, 3, TRUSTED),  # groups without labels
        ("beta", 1, 1, 5.0, 4000, CURVE),  # a product of 4,000 factors overflows unless it is split
    ],
)
def test_forms_agree(monkeypatch, family, sets, groups, cap, count, scales):
    size = {"groups": groups, "sets": sets}
    seen = build(*rows(1, sets * groups, count), family=family, cap=cap, scales=scales, **size)
    (plain, mine), (fast, theirs) = both(monkeypatch, seen, 2, scales)
    for x, y in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(plain.packed, fast.packed, rtol=1e-9, atol=1e-9)
    for x, y in zip(plain.accepted + plain.step, fast.accepted + fast.step, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9)


def test_forced_form_is_checked(monkeypatch):
    monkeypatch.setenv("LIGHTFAIR_JIT", "yes")
    with pytest.raises(ValueError, match="LIGHTFAIR_JIT must be 0, 1 or unset; got 'yes'"):
        sample(build(*rows(6, 1, 5), groups=1), 1)
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setenv("LIGHTFAIR_JIT", "1")
    with pytest.raises(ImportError, match="numba is not installed; install it or unset it"):
        compiles(0.0)
    monkeypatch.setenv("LIGHTFAIR_JIT", "0")
    assert not compiles(1e6)
    monkeypatch.undo()
    monkeypatch.delenv("LIGHTFAIR_JIT", raising=False)
    assert not compiles(0.01)
    assert compiles(1e6) == available()


# States and moves


def test_proposals_carry_their_weight(scales):
    score, label = [0.3, 0.6, 0.9], [1, 0, 1]
    seen = build([0, 1, 1], score, label, groups=2, clip=0.0, scales=scales)
    noise = make_noise(np.random.default_rng(8), (1, 2), 3, 2, scales)
    surrogate = expand(seen, scales)
    made = propose(noise, seen, surrogate, scales)
    state = unpack(made.packed[0], 2, scales)
    first, *others = [(s, y, 1, column(s, scales)) for s, y in zip(score, label, strict=True)]
    wanted = np.empty(made.weight.shape[1:])
    for k in np.ndindex(wanted.shape):
        psi, mu, sigma = state.psi[k], state.mu[k], state.sigma[k]
        mean, covariance, _ = naive.gaussian(
            sigma, surrogate.curvature[0], surrogate.linear[0], scales
        )
        far = np.concatenate([mu, psi.ravel()]) - mean
        proposal = -0.5 * far @ np.linalg.solve(covariance, far)
        proposal -= 0.5 * np.linalg.slogdet(covariance)[1]
        # log importance at value 0 is log prior less log mixture
        proposal -= 0.5 * ((sigma / scales.sd) ** 2).sum()
        proposal -= naive.log_importance(
            sigma, 0.0, surrogate.centre[0], surrogate.width[0], scales
        )
        wanted[k] = naive.log_posterior([[first], others], psi, mu, sigma, scales) - proposal
    got = made.weight[0] - made.weight[0, 0, 0]
    np.testing.assert_allclose(got, wanted - wanted[0, 0], rtol=0, atol=1e-8)


# Runs


def test_steps_adapt(monkeypatch):
    """From a step 30 times too long, warm-up reaches the target acceptance rates."""
    seen = build(*rows(70, 2, 60), groups=2)
    start = warm_up(seen, CURVE, chains=8, warmup=0, rng=np.random.default_rng(71))
    long = start._replace(step=type(start.step)(*(30.0 * step for step in start.step)))
    assert take_draws(long, 40)[0].accepted.psi.max() < 0.1
    monkeypatch.setattr(sampler, "REFITS", 0)
    now = sampler.warmed(long, 200)
    rates = take_draws(now, 200)[0].accepted
    for rate in (rates.psi, rates.translation, rates.sigma):
        assert (rate > 0.2).all() and (rate < 0.6).all()


def test_starts_are_overdispersed():
    """Chains without labels start with 1.5 times the standard deviations of the prior."""
    none = build([], [], [], groups=1)
    start = warm_up(none, CURVE, chains=2000, warmup=0, rng=np.random.default_rng(72))
    state = unpack(start.packed, 1, CURVE)
    ratio = state.mu[0].std(axis=0) / CURVE.location(CURVE.sd)
    np.testing.assert_allclose(ratio, 1.5, rtol=0.07)
    far = (state.psi[0, :, 0] - state.mu[0]) / CURVE.spread(state.sigma[0])
    np.testing.assert_allclose(far.std(axis=0), 1.5, rtol=0.07)


def test_same_seed_same_bits(scales):
    seen = build(*rows(14, 2, 30), groups=2, scales=scales)
    size = {"scales": scales, "chains": 2, "warmup": 30, "draws": 20}
    first, again, other = (sample(seen, seed, **size) for seed in (15, 15, 16))
    for x, y, z in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(x, y)
        assert (x != z).any()


def test_draws_in_small_blocks(monkeypatch, scales):
    """Draws adapt nothing, and every one of every block is there."""
    monkeypatch.setattr(sampler, "BLOCK", 500)
    seen = build(*rows(17, 6, 40), groups=3, sets=2, scales=scales)
    calls = []
    options = {"rng": np.random.default_rng(18), "progress": lambda *done: calls.append(done)}
    start = warm_up(seen, scales, chains=4, warmup=10, **options)
    assert calls[-1] == (10, 10) and calls == sorted(set(calls))
    before = start.packed.copy()
    now, draws = take_draws(start, 7, progress=options["progress"])
    assert calls[-1] == (7, 7) and len(calls) > 6
    for x, y in zip(start.step + start.surrogate, now.step + now.surrogate, strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(start.packed, before)
    assert all(((rate >= 0) & (rate <= 1)).all() for rate in now.accepted)
    assert (np.diff(draws.mu, axis=2) != 0).all()
    size, count = len(scales.own), len(scales.sd)
    assert [x.shape for x in draws] == [(2, 4, 7, 3, size), (2, 4, 7, size), (2, 4, 7, count)]
    state = unpack(now.packed, 3, scales)
    np.testing.assert_array_equal(pack(state), now.packed)
    np.testing.assert_array_equal(state.psi, draws.psi[:, :, -1])
    assert (draws.sigma > 0).all()
    np.testing.assert_allclose(state.loglik, loglik(state.psi, seen), rtol=1e-9)
    value = marginal(state.sigma, now.surrogate, scales).value
    wanted = log_importance(state.sigma, value, now.surrogate, scales)
    np.testing.assert_allclose(state.importance, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "score, label",
    [
        ([0.1, 0.5, 0.9] * 20, [1] * 60),
        ([0.0] * 30 + [1.0] * 30, [1] * 30 + [0] * 30),
        ([0.5] * 60, [0, 1] * 30),
        ([1.0] * 600, [0, 1] * 300),
    ],
)
def test_extreme_labels_give_finite_draws(score, label, scales):
    group = np.arange(len(score)) % 2
    seen = build(group, score, label, groups=2, clip=1e-9, scales=scales)
    draws = sample(seen, 26, scales=scales, chains=2, warmup=11, draws=60)
    assert all(np.isfinite(x).all() for x in draws)
    assert (draws.sigma > 0).all()
    assert (draws.psi.std(axis=(1, 2)) > 0).all()


# Distributions


def test_no_labels_give_the_prior(scales):
    draws = sample(build([], [], [], groups=2, scales=scales), 27, scales=scales, draws=300)
    mu, sigma, psi = draws.mu[0], draws.sigma[0], draws.psi[0]
    # squared scales: their means under the prior, that of sigma^2 is sd^2
    spread, location = (np.square(x) for x in naive.sds(scales.sd, scales))
    zero = np.zeros(len(location))
    assert_close(moments(mu), np.stack([zero, location], axis=-1))
    assert_close(moments(sigma), np.stack([HALF * scales.sd, scales.sd**2], axis=-1))
    wanted = np.stack([zero, location + spread], axis=-1)
    assert_close(moments(psi), np.broadcast_to(wanted, (2, *wanted.shape)))
    assert_close(psi[..., 0, :] * psi[..., 1, :], location)  # groups share mu
    # sigma near 0, where its logarithm is walked: P(sigma < 0.1 scale) = 2 Phi(0.1) - 1
    assert_close((sigma < 0.1 * scales.sd).astype(float), math.erf(0.1 / math.sqrt(2.0)))
    # given sigma, psi and mu are normals of these very scales
    far = (psi - mu[..., None, :]) / scales.spread(sigma)[..., None, :]
    middle = mu / scales.location(sigma)
    assert_close(moments(middle), np.broadcast_to([0.0, 1.0], (len(zero), 2)))
    assert_close(moments(far), np.broadcast_to([0.0, 1.0], (2, len(zero), 2)))
    assert_close(far[..., 0, :] * far[..., 1, :], zero)
    assert_close(far[..., 0, :] * middle, zero)


def smeared(x, location_sd, spread_sd):
    """E[N(x; 0, location_sd^2 + sigma^2)] over the half-normal sigma."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    sigma = 4.0 * spread_sd * (nodes + 1.0)
    weights = weights * np.exp(-0.5 * (sigma / spread_sd) ** 2)
    variance = location_sd**2 + sigma * sigma
    kernel = np.exp(-0.5 * x[:, None] ** 2 / variance) / np.sqrt(variance)
    return kernel @ weights / weights.sum()


def test_beta_of_one_group_equals_quadrature():
    score, label = [0.05, 0.2, 0.4, 0.97], [1, 0, 1, 0]
    nodes = features(logit_of(score, 0.01), "beta")
    grids = [np.linspace(-6.0 * s, 6.0 * s, 61) for s in PRIOR.location_sd]
    a, b, c = np.meshgrid(*grids, indexing="ij", sparse=True)
    density = np.ones((61, 61, 61))
    for j, (part, grid) in enumerate(zip((a, b, c), grids, strict=True)):
        prior = smeared(grid, PRIOR.location_sd[j], PRIOR.spread_sd[j])
        density = density * prior.reshape(part.shape)
    for up, down, y in zip(nodes.up, nodes.down, label, strict=True):
        density *= np.exp(log_expit((2 * y - 1) * (c + np.exp(a) * up + np.exp(b) * down)))
    draws = sample(build([0] * len(score), score, label, groups=1), 42, draws=400)
    parts = np.stack(np.broadcast_arrays(a, b, c))
    wanted = [[(density * p**k).sum() / density.sum() for k in (1, 2)] for p in parts]
    assert_close(moments(draws.psi[0, :, :, 0]), np.array(wanted))
    cross = (density * parts[0] * parts[2]).sum() / density.sum()
    assert_close(draws.psi[0, :, :, 0, 0] * draws.psi[0, :, :, 0, 2], cross)


# Number of chains


def test_small_fits_get_many_short_chains():
    assert usual(2, 100, True) == usual(2, 10_000, True) == usual(1, 0, False) == MANY
    assert usual(200, 10_000, True) == usual(100, 5000, False) == FEW
    for trust in (False, True):
        many = [usual(groups, 50 * groups, trust) == MANY for groups in range(1, 100)]
        assert many == sorted(many, reverse=True)
    assert usual_warmup(16) == MANY[1] and usual_warmup(15) == FEW[1]


@pytest.mark.parametrize(
    "given, wanted",
    [
        ({}, (*MANY, DRAWS // MANY[0])),
        ({"chains": 4}, (*FEW, DRAWS // FEW[0])),
        ({"chains": 3, "warmup": 7}, (3, 7, 1067)),
        ({"draws": 10}, (*MANY, 10)),
        ({"chains": 5000}, (5000, MANY[1], 4)),
    ],
)
def test_defaults_depend_on_the_number_of_chains(given, wanted):
    data = lf.simulate(400, 60, rng=3)
    table = lf.score_table(lf.score_data(data.y_true, data.y_score, sensitive_features=data.group))
    chains, draws, warmup = Settings(**given).resolved(table, 0).run
    assert (chains, warmup, draws) == wanted


def test_unresolved_settings_have_no_run():
    with pytest.raises(ValueError, match="settings must be resolved"):
        _ = Settings().run
