"""The sampler: its two forms agree, and its draws have the right distribution.

Means of draws are compared within 4 Monte Carlo standard errors of both sides.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from cases import CURVE, PARTS, PRIOR, PRIORS, TRUSTED, labeled, simulated
from scipy.special import log_expit

import lightfair.core as lf
from lightfair.core.data.logit import logit_of
from lightfair.core.mcmc import moves, sampler
from lightfair.core.mcmc.convergence import mcse_mean
from lightfair.core.mcmc.fitting import expand
from lightfair.core.mcmc.hierarchy import plain
from lightfair.core.mcmc.jit import available, compiles
from lightfair.core.mcmc.moves import Noise, make_noise, pack, unpack
from lightfair.core.mcmc.sampler import CHAINS, DRAWS, LEAST, WARMUP, start_chains, take_draws
from lightfair.core.mcmc.surrogate import Surrogate, hyper_of, place_of, sigma_of
from lightfair.core.model.curve import Prior, features
from lightfair.core.model.likelihood import loglik
from lightfair.core.model.scales import curve_scales
from lightfair.core.settings import Settings

HALF = math.sqrt(2.0 / math.pi)  # mean of a half-normal in units of its scale
ONE = plain(CURVE, 1)
needs_numba = pytest.mark.skipif(not available(), reason="numba is not installed")


def started(seen, prior, seed, *, chains=24, warmup=100, **options):
    """Chains, of the nested prior where `prior` has effects."""
    scales, parts = prior.scales, None
    if prior.names:
        scales, parts = CURVE if len(scales.own) == 3 else TRUSTED, PARTS
    options |= {"rng": np.random.default_rng(seed), "chains": chains, "warmup": warmup}
    return start_chains(seen, scales, parts, **options)


def sample(seen, prior, seed, *, draws=250, **options):
    return take_draws(started(seen, prior, seed, **options), draws)[1]


def assert_close(x, y):
    """The means of draws (chain, draw, ...) against numbers."""
    distance = np.abs(x.mean(axis=(0, 1)) - y) / mcse_mean(x)
    assert (distance < 4.0).all(), distance


def moments(x):
    return np.stack([x, x * x], axis=-1)


# The two forms


@needs_numba
@pytest.mark.parametrize(
    "name, groups, count, options",
    [
        ("plain curve", 2, 60, {"sets": 3}),
        ("plain trusted", 1, 60, {"family": "llo"}),
        ("plain trusted", 3, 3, {"sets": 2, "family": "temperature", "cap": 0.7}),
        ("nested curve", 4, 60, {"sets": 2}),
        ("nested trusted", 4, 60, {}),
        # a product of 4,000 factors overflows unless it is split
        ("plain curve", 1, 4000, {"cap": 5.0}),
    ],
)
def test_forms_agree(monkeypatch, name, groups, count, options):
    from lightfair.core.mcmc import compiled

    prior = PRIORS[name] if "nested" in name else plain(PRIORS[name].scales, groups)
    seen = simulated(1, count, prior, **options)
    surrogate = expand(seen, prior)
    noise = make_noise(np.random.default_rng(2), (len(surrogate.linear), 2), 3, (2, 10), prior)
    made = [form.propose(noise, seen, surrogate, prior) for form in (moves, compiled)]
    np.testing.assert_allclose(*made, rtol=1e-9, atol=1e-9)
    for form in (moves, compiled):
        filled = made[0][:, 0].copy()
        filled[..., -groups - 1 :] = np.nan  # excess and weight
        form.reweigh(filled, seen, surrogate, prior)
        np.testing.assert_allclose(filled, made[0][:, 0], rtol=1e-9, atol=1e-9)
    runs = []
    for form in ("0", "1"):
        monkeypatch.setenv("LIGHTFAIR_JIT", form)
        runs.append(take_draws(started(seen, prior, 3, chains=2, warmup=30), 15))
        now, draws = runs[-1]
        runs[-1] = [*draws, now.packed, now.step, now.accepted]
    for x, y in zip(*runs, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-8)
    assert len(compiled.kernels.weigh.signatures) == 1  # compiled once


@needs_numba
def test_compiled_determinants_do_not_overflow():
    from lightfair.core.mcmc import kernels

    value = kernels._eliminate(1e100 * np.eye(6), 6, 6)
    np.testing.assert_allclose(value, 300.0 * math.log(10.0))


def test_forced_form_is_checked(monkeypatch):
    monkeypatch.setenv("LIGHTFAIR_JIT", "yes")
    with pytest.raises(ValueError, match="LIGHTFAIR_JIT must be 0, 1 or unset; got 'yes'"):
        sample(simulated(6, 5, ONE), ONE, 1)
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
    monkeypatch.setenv("LIGHTFAIR_JIT", "1")
    assert not available() or compiles(0.0)


# States and moves


def test_a_batch_gives_each_data_set_what_it_gives_alone(prior):
    groups, rng = len(prior.design), np.random.default_rng(9)
    segment, label = rng.integers(2 * groups, size=40), rng.integers(2, size=40)
    score = rng.random(40)
    noise = make_noise(rng, (2, 3), 12, (2, 10), prior)

    def rows(mine, first, sets):
        return labeled(segment[mine] - first, score[mine], label[mine], prior, sets=sets)

    def swept(*arguments):
        made = moves.propose(*arguments)
        return moves.sweeps(made[:, :, 0], made, *arguments)

    both = rows(slice(None), 0, 2)
    surrogate = expand(both, prior)
    together = swept(noise, both, surrogate, prior)
    for r in range(2):
        mine = rows(segment // groups == r, r * groups, 1)
        one = Noise(*(part[r : r + 1] for part in noise[:-2]), *noise[-2:])
        alone = swept(one, mine, Surrogate(*(part[[r]] for part in surrogate)), prior)
        for x, y in zip(together, alone, strict=True):
            np.testing.assert_allclose(x[r], y[0], rtol=1e-9, atol=1e-9)


def test_sweeps_equal_a_loop(prior):
    """Every sweep goes on from the one before, with move 2 where it is due."""
    groups = len(prior.design)
    seen = simulated(12, 40, prior)
    arguments = seen, expand(seen, prior), prior
    noise = make_noise(np.random.default_rng(13), (1, 2), 15, (2, 10), prior)
    made = moves.propose(noise, *arguments)
    kept, _ = moves.sweeps(made[:, :, 0], made, noise, *arguments)
    state = made[:, :, 0].copy()
    for i in range(15):
        if i % 10 == 0:
            moves._local(unpack(state, groups, prior), noise, i // 10, *arguments)
            moves.reweigh(state, *arguments)
        for k, at in np.ndindex(2, noise.rounds):
            at += i * noise.rounds
            new, old = (unpack(x, groups, prior) for x in (made[0, k, at], state[0, k]))
            ratio = new.weight[0] + new.excess.sum() - old.weight[0] - old.excess.sum()
            if ratio + noise.joint[0, k, at] > 0.0:
                state[0, k] = made[0, k, at]
        np.testing.assert_array_equal(kept[:, :, i], state)


def test_importance_weights_are_tempered():
    rng = np.random.default_rng(11)
    log_weight = rng.normal(size=(3, 1000)) * [[0.1], [3.0], [60.0]] - 500.0
    weight = sampler.tempered(log_weight)
    assert (weight > 0.0).any(axis=1).all() and weight.max() <= 1.0
    effective = weight.sum(axis=1) ** 2 / (weight**2).sum(axis=1)
    assert (effective >= LEAST).all()
    np.testing.assert_allclose(np.ptp(np.log(weight[0]) - log_weight[0]), 0.0, atol=1e-9)
    one = np.append(7.0, np.zeros(9_999))  # a weight of 1,097, clipped at 100 times the mean
    clipped = sampler.tempered(one[None])[0]
    np.testing.assert_allclose(clipped[0] / clipped[1], 100.0 * np.exp(one).mean())
    order = np.argsort(log_weight, axis=1)
    assert (np.diff(np.take_along_axis(weight, order, axis=1), axis=1) >= 0.0).all()


# Runs


def test_walks_and_a_poor_surrogate_adapt(monkeypatch):
    """From walks that are 20 times too long, and the expansion of other labels."""
    seen, other = (simulated(seed, 300, PRIORS["plain curve"]) for seed in (20, 21))
    right = sampler.expand, sampler.make_noise
    other = other._replace(positive=other.total - other.positive)

    def long(*a):
        noise = right[1](*a)
        noise.walk[..., -3:] *= 20.0
        return noise

    monkeypatch.setattr(sampler, "expand", lambda _, prior: right[0](other, prior))
    monkeypatch.setattr(sampler, "make_noise", long)
    poor, fine = (started(seen, PRIORS["plain curve"], 22, warmup=n, chains=8) for n in (0, 200))
    poor, fine = (take_draws(chains, 200)[0].accepted[0] for chains in (poor, fine))
    assert poor[0] < 0.1 and poor[1:4].max() < 0.3 and poor[4:].max() < 0.1
    assert 0.3 < fine[0] < 1.0 and (fine[1:4] > 0.85).all()
    assert (fine[4:] > 0.1).all() and (fine[4:] < 0.6).all()


@pytest.mark.parametrize("by_labels", [True, False])
def test_lost_chains_start_again_in_warm_up(prior, by_labels):
    """At a proposal; the others stay where they are. Labels or the prior show which are lost."""
    seen = simulated(26, 200, prior)
    start = started(seen, prior, 27, chains=3, warmup=20)
    _, kept, proposed = start.run(20)
    packed = kept[:, :, -1].copy()
    lost = unpack(packed, len(prior.design), prior)
    lost.psi[0, 1, :, 2] += 9.0 if by_labels else 90.0
    if by_labels:
        lost.loglik[...] = loglik(lost.psi, seen)
    now = start._replace(packed=packed)
    for again in (False, True):
        after = now.refitted([proposed.reshape(1, -1, packed.shape[-1])], again)
        state = unpack(after.packed, len(prior.design), prior)
        stays = (state.psi == lost.psi).all(axis=(2, 3))[0]
        np.testing.assert_array_equal(stays, np.array([True, False, True]) & (not again))
        new = unpack(proposed[0], len(prior.design), prior).psi.reshape(-1, *state.psi.shape[2:])
        assert (state.psi[0, 1] == new).all(axis=(1, 2)).any()
        np.testing.assert_allclose(state.loglik, loglik(state.psi, seen), rtol=1e-9)
    assert len(np.unique(state.psi[0], axis=0)) > 1  # not all at one


def test_starts_are_overdispersed(prior):
    """hyper of the first states, against those of the posterior."""
    seen = simulated(23, 60, prior)
    start = started(seen, prior, 24, chains=600, warmup=0)
    kept = sample(seen, prior, 25, chains=16, warmup=40, draws=50)
    before = unpack(start.packed, len(prior.design), prior).hyper[0].std(axis=0)
    after = hyper_of(kept.sigma[0], kept.mu[0, ..., :2], prior).std(axis=(0, 1))
    assert (before > 0.97 * after).all(), before / after


def test_draws_in_small_blocks(monkeypatch, prior):
    """Draws adapt nothing, and every one of every block is there."""
    monkeypatch.setattr(sampler, "BLOCK", 500)
    groups, (rows, size), count = len(prior.design), prior.ratio.shape, len(prior.scales.sd)
    seen = simulated(17, 40, prior, sets=2)
    calls = []
    start = started(seen, prior, 18, chains=4, warmup=10, progress=lambda *d: calls.append(d))
    assert calls[0] == (1, 10) and calls[-1] == (10, 10) and calls == sorted(calls)
    assert start.block() == start.effort[1]
    before = start.packed.copy()
    now, draws = take_draws(start, 25, progress=lambda *done: calls.append(done))
    every = start.effort[1]
    assert calls[-1] == (25, 25) and calls[-2] == (24 // every * every, 25)
    np.testing.assert_array_equal(start.step, now.step)
    for x, y in zip(start.surrogate, now.surrogate, strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(start.packed, before)
    assert ((now.accepted >= 0.0) & (now.accepted <= 1.0)).all()
    shapes = [(groups, size), (rows, size), (count,), (groups,)]
    assert [x.shape for x in draws] == [(2, 4, 25, *shape) for shape in shapes]
    state = unpack(now.packed, groups, prior)
    np.testing.assert_array_equal(pack(state), now.packed)
    parts = state.psi, state.eta, sigma_of(state.hyper, prior), state.apart
    for x, y in zip(parts, draws, strict=True):
        np.testing.assert_array_equal(x, y[:, :, -1])
    np.testing.assert_array_equal(draws.mu, draws.eta[..., -1, :])
    np.testing.assert_allclose(place_of(state.hyper, prior), draws.mu[:, :, -1, :2], rtol=1e-9)
    np.testing.assert_allclose(state.loglik, loglik(state.psi, seen), rtol=1e-9)
    filled = now.packed.copy()
    moves.reweigh(filled, seen, now.surrogate, prior)
    np.testing.assert_allclose(filled, now.packed, rtol=1e-8, atol=1e-8)
    end, more = take_draws(now, 3)
    assert not np.array_equal(more.psi[:, :, -1], draws.psi[:, :, -1])
    assert end.rng is start.rng


EXTREME = [([0.1, 0.5, 0.9] * 20, [1] * 60), ([0.0] * 30 + [1.0] * 30, [1] * 30 + [0] * 30)]
EXTREME += [([0.5] * 60, [0, 1] * 30), ([1.0] * 600, [0, 1] * 300)]


@pytest.mark.parametrize("score, label", EXTREME)
def test_extreme_labels_give_finite_draws(score, label, prior):
    seen = labeled(np.arange(len(score)) % 2, score, label, prior, clip=1e-9)
    draws = sample(seen, prior, 26, chains=2, warmup=11, draws=60)
    assert all(np.isfinite(x).all() for x in draws)
    assert (draws.sigma > 0).all()
    assert (draws.psi.std(axis=(1, 2)) > 0).all()


# Distributions


def test_no_labels_give_the_prior(prior):
    draws = sample(labeled([], [], [], prior), prior, 29, chains=8, draws=400)
    eta, sigma, psi = draws.eta[0], draws.sigma[0], draws.psi[0]
    # squared scales: their means under the prior, that of sigma^2 is sd^2
    scales = prior.scales
    location, middle = prior.sds(scales.sd) ** 2, np.zeros_like(prior.ratio)
    middle[-1] = scales.centre
    assert_close(moments(eta), np.stack([middle, location + middle**2], axis=-1))
    # a mixture of groups that are like the others, and of groups apart
    usual = prior.design @ location + scales.centre**2 + scales.spread(scales.sd) ** 2
    away = prior.design @ location + (scales.centre + scales.shift) ** 2 + scales.wide**2
    mean = scales.centre + scales.apart * scales.shift + np.zeros_like(usual)
    square = usual + scales.apart * (away - usual)
    expected = np.stack([HALF * prior.scales.sd, prior.scales.sd**2], axis=-1)
    assert_close(moments(sigma), expected)
    assert_close(moments(psi), np.stack([mean, square], axis=-1))
    if scales.apart > 0.0:
        assert_close(draws.apart[0], scales.apart)
    together = prior.design[0] * prior.design[1]
    assert_close(psi[..., 0, :] * psi[..., 1, :], together @ location + mean[0] * mean[1])
    # sigma near 0, where its logarithm is walked: P(sigma < 0.1 scale) = 2 Phi(0.1) - 1
    assert_close((sigma < 0.1 * prior.scales.sd).astype(float), math.erf(0.1 / math.sqrt(2.0)))


def test_c_may_be_large():
    """Without labels it is as wide as its prior."""
    prior = plain(curve_scales(Prior(mu_c_sd=30.0, sigma_c_sd=40.0)), 1)
    draws = sample(labeled([], [], [], prior), prior, 30, chains=8, draws=400)
    assert_close(draws.psi[0, ..., 0, 2] ** 2, 2500.0)


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
    draws = sample(labeled([0] * 4, score, label, ONE, clip=0.01), ONE, 42, draws=400)
    parts = np.stack(np.broadcast_arrays(a, b, c))
    expected = [[(density * p**k).sum() / density.sum() for k in (1, 2)] for p in parts]
    assert_close(moments(draws.psi[0, :, :, 0]), np.array(expected))
    cross = (density * parts[0] * parts[2]).sum() / density.sum()
    assert_close(draws.psi[0, :, :, 0, 0] * draws.psi[0, :, :, 0, 2], cross)


# Number of chains


EACH = WARMUP // CHAINS
RUNS = [({}, (CHAINS, EACH, DRAWS // CHAINS)), ({"chains": 3, "warmup": 7}, (3, 7, 1067))]
RUNS += [({"draws": 10}, (CHAINS, EACH, 10)), ({"chains": 5000}, (5000, 50, 4))]


@pytest.mark.parametrize("given, expected", RUNS)
def test_defaults_depend_on_the_number_of_chains(given, expected):
    data = lf.simulate(400, 60, rng=3)
    table = lf.score_table(lf.score_data(data.y_true, data.y_score, sensitive_features=data.group))
    chains, draws, warmup = Settings(**given).resolved(table, 0).run
    assert (chains, warmup, draws) == expected


def test_unresolved_settings_have_no_run():
    with pytest.raises(ValueError, match="settings must be resolved"):
        _ = Settings().run
