"""The nested prior: its algebra against dense matrices, its draws against the prior and by brute
force, and what `assess` makes of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cases import CASES, CURVE, PRIOR, random_sigma, random_surrogate

import lightfair.core as lf
from lightfair.core.data.logit import logit_of
from lightfair.core.mcmc.convergence import mcse_mean
from lightfair.core.mcmc.hierarchy import (
    draw,
    draw_effects,
    eta_given,
    marginal,
    nesting,
    translation_shapes,
)
from lightfair.core.mcmc.sampler import take_draws, warm_up
from lightfair.core.model.curve import features
from lightfair.core.model.likelihood import labeled_nodes

# one combination is empty; "z" has one group, and the second attribute most levels
PARTS = (("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("b", "z"))
GROUPS = len(PARTS)


def dense(sigma, nest, curvature, linear):
    """Mean and covariance of (eta, psi), and the log marginal likelihood of sigma; big matrices."""
    size = len(nest.scales.own)
    rows = len(nest.ratio)
    sd = np.concatenate([nest.sds(sigma).ravel(), np.tile(nest.scales.spread(sigma), GROUPS)])
    to_psi = np.hstack([np.kron(nest.design, np.eye(size)), np.eye(GROUPS * size)])
    bend = np.zeros((GROUPS * size, GROUPS * size))
    for g in range(GROUPS):
        part = slice(g * size, (g + 1) * size)
        bend[part, part] = curvature[g]
    precision = np.diag(1.0 / sd**2) + to_psi.T @ bend @ to_psi
    tilt = to_psi.T @ linear.ravel()
    covariance = np.linalg.inv(precision)
    value = 0.5 * tilt @ covariance @ tilt - np.log(sd).sum()
    value -= 0.5 * np.linalg.slogdet(precision)[1]
    both = np.vstack([np.eye(len(sd))[: rows * size], to_psi])
    return both @ covariance @ tilt, both @ covariance @ both.T, value


def test_surrogate_against_dense_matrices(scales):
    nest = nesting(scales, PARTS)
    surrogate = random_surrogate(1, nest.scales, 2, GROUPS)
    sigma = random_sigma(2, nest.scales, 2, 3)
    at = marginal(sigma, surrogate, nest)
    size, rows = len(scales.own), len(nest.ratio)
    for r in range(2):
        for k in range(3):
            mean, cov, value = dense(sigma[r, k], nest, surrogate.curvature[r], surrogate.linear[r])
            np.testing.assert_allclose(at.value[r, k], value, rtol=1e-9)
            noise = np.zeros((2, 3, rows + GROUPS, size))
            eta, psi = draw(at, sigma, nest, noise[:, :, :rows], noise[:, :, rows:])
            ours = np.concatenate([eta[r, k].ravel(), psi[r, k].ravel()])
            np.testing.assert_allclose(ours, mean, atol=1e-9)
    columns = []
    for i in range((rows + GROUPS) * size):
        noise = np.zeros((rows + GROUPS) * size)
        noise[i] = 1.0
        noise = np.broadcast_to(noise.reshape(-1, size), (2, 3, rows + GROUPS, size))
        eta, psi = draw(at, sigma, nest, noise[:, :, :rows], noise[:, :, rows:])
        columns.append(np.concatenate([eta[r, k].ravel(), psi[r, k].ravel()]) - mean)
    np.testing.assert_allclose(np.transpose(columns) @ columns, cov, atol=1e-8)


def test_eta_given_psi_and_given_interactions(scales):
    """The conditional draws against the dense posterior, mean and covariance."""
    nest = nesting(scales, PARTS)
    surrogate = random_surrogate(3, nest.scales, 1, GROUPS)
    sigma = random_sigma(4, nest.scales, 1, 1)
    size, rows = len(scales.own), len(nest.ratio)
    rng = np.random.default_rng(5)
    psi = rng.normal(size=(1, 1, GROUPS, size))
    sd, spread = nest.sds(sigma[0, 0]), nest.scales.spread(sigma[0, 0])

    def drawn(how, noise):
        shaped = noise.reshape(1, 1, rows, size)
        if how == "psi":
            return eta_given(psi, sigma, nest, shaped).ravel()
        return draw_effects(psi, sigma, surrogate, nest, shaped).ravel()

    design = np.kron(nest.design, np.eye(size))
    bends = {"psi": np.kron(np.eye(GROUPS), np.diag(1.0 / spread**2)), "away": None}
    block = np.zeros_like(bends["psi"])
    for g in range(GROUPS):
        block[g * size : (g + 1) * size, g * size : (g + 1) * size] = surrogate.curvature[0, g]
    bends["away"] = block
    pulls = {
        "psi": bends["psi"] @ psi.ravel(),
        "away": surrogate.linear[0].ravel() - block @ psi.ravel(),
    }
    for how in ("psi", "away"):
        covariance = np.linalg.inv(np.diag(1.0 / sd.ravel() ** 2) + design.T @ bends[how] @ design)
        mean = covariance @ design.T @ pulls[how]
        still = drawn(how, np.zeros(rows * size))
        np.testing.assert_allclose(still, mean, atol=1e-9)
        columns = [drawn(how, unit) - still for unit in np.eye(rows * size)]
        np.testing.assert_allclose(np.transpose(columns) @ columns, covariance, atol=1e-9)
    shapes = translation_shapes(surrogate, nest)[0]
    for p in range(rows):
        at = nest.sds(np.exp(surrogate.centre[0]))[p]
        mine = np.flatnonzero(nest.design[:, p])
        precision = np.diag(1.0 / at**2) + surrogate.curvature[0, mine].sum(axis=0)
        np.testing.assert_allclose(shapes[p] @ shapes[p].T, np.linalg.inv(precision), atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_variances_add_up_to_those_without_effects(case):
    """Of psi around mu, given the half-normals' mean squares."""
    scales = CASES[case]
    nest = nesting(scales, PARTS)
    base = scales.spread(scales.sd)
    parts = nest.sds(nest.scales.sd)
    total = nest.scales.spread(nest.scales.sd) ** 2
    for g in range(GROUPS):
        mine = np.flatnonzero(nest.design[g])[1:]
        assert len(mine) == 2
        np.testing.assert_allclose(total + (parts[mine] ** 2).sum(axis=0), base**2)
    np.testing.assert_allclose(parts[0], scales.location(scales.sd))


def nothing_seen(nest):
    empty = np.zeros(0)
    return labeled_nodes(
        np.zeros(0, dtype=np.int64),
        features(empty, "beta"),
        empty,
        empty,
        segments=len(nest.design),
        groups=len(nest.design),
    )


def test_no_labels_give_the_prior():
    nest = nesting(CURVE, PARTS)
    chains = warm_up(nothing_seen(nest), nest, chains=16, warmup=20, rng=np.random.default_rng(1))
    chains, kept = take_draws(chains, 100)
    accepted = chains.accepted  # the surrogate is the posterior
    assert accepted.own.min() == accepted.all[:, 0].min() == 1.0
    scale = np.sqrt(PRIOR.location_sd**2 + PRIOR.spread_sd**2)
    psi = kept.psi[0] / scale
    assert np.all(np.abs(psi.mean(axis=(0, 1))) < 5.0 * mcse_mean(psi))
    assert np.all(np.abs((psi**2).mean(axis=(0, 1)) - 1.0) < 5.0 * mcse_mean(psi**2))
    sigma = kept.sigma[0] / nest.scales.sd
    mean = math.sqrt(2.0 / math.pi)
    assert np.all(np.abs(sigma.mean(axis=(0, 1)) - mean) < 5.0 * mcse_mean(sigma))
    same = (kept.psi[0, :, :, 0, 2] - kept.psi[0, :, :, 1, 2]) ** 2  # they share "a"
    apart = (kept.psi[0, :, :, 0, 2] - kept.psi[0, :, :, 3, 2]) ** 2
    third = PRIOR.sigma_c_sd**2 / 3.0
    assert abs(same.mean() - 4.0 * third) < 5.0 * mcse_mean(same)
    assert abs(apart.mean() - 6.0 * third) < 5.0 * mcse_mean(apart)


@pytest.mark.slow
def test_against_importance_sampling():
    """Few labels, so that draws of the prior, weighted, are a posterior; written from scratch."""
    parts = (("a", "x"), ("a", "y"), ("b", "x"))
    nest = nesting(CURVE, parts)
    score = np.array([[0.2, 0.5, 0.8, 0.9]] * 3)
    label = np.array([[1, 1, 1, 1], [1, 1, 0, 1], [0, 0, 1, 0]], dtype=float)
    seen = labeled_nodes(
        np.repeat(np.arange(3), 4),
        features(logit_of(score.ravel(), 0.0), "beta"),
        label.ravel(),
        np.ones(12),
        segments=3,
        groups=3,
    )
    chains = warm_up(seen, nest, chains=16, warmup=120, rng=np.random.default_rng(2))
    kept = take_draws(chains, 500)[1]
    rng = np.random.default_rng(3)
    n, third = 400_000, 1.0 / math.sqrt(3.0)
    mu = rng.normal(0.0, PRIOR.location_sd, (n, 3))
    layers = [np.abs(rng.normal(0.0, third * PRIOR.spread_sd, (n, 3))) for _ in range(3)]
    first = {level: layers[1] * rng.normal(size=(n, 3)) for level in "ab"}
    second = {level: layers[2] * rng.normal(size=(n, 3)) for level in "xy"}
    curves, weight = [], np.zeros(n)
    for g, (one, two) in enumerate(parts):
        psi = mu + first[one] + second[two] + layers[0] * rng.normal(size=(n, 3))
        curves.append(psi)
        a, b, c = np.exp(psi[:, 0]), np.exp(psi[:, 1]), psi[:, 2]
        for s, y in zip(score[g], label[g], strict=True):
            odds = c + a * math.log(s) - b * math.log(1.0 - s)
            weight -= np.logaddexp(0.0, -odds if y else odds)
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    assert 1.0 / (weight**2).sum() > 4000.0

    def compare(ours, theirs):
        mean = weight @ theirs
        error = math.hypot(math.sqrt((weight**2) @ (theirs - mean) ** 2), float(mcse_mean(ours)))
        assert abs(ours.mean() - mean) < 4.5 * error

    for g in range(3):
        for j in range(3):
            compare(kept.psi[0, :, :, g, j], curves[g][:, j])
            compare(kept.psi[0, :, :, g, j] ** 2, curves[g][:, j] ** 2)
    compare(kept.eta[0, :, :, 1, 2] - kept.eta[0, :, :, 2, 2], (first["a"] - first["b"])[:, 2])
    for layer in range(3):
        compare(np.log(kept.sigma[0, :, :, 3 * layer + 2]), np.log(layers[layer][:, 2]))


def crossed_rows(seed, rows=1200, labels=200, levels="XYZ"):
    """Scores, labels and two attributes; nobody is both F and Z."""
    rng = np.random.default_rng(seed)
    sex, race = rng.choice(list("FM"), rows), rng.choice(list(levels), rows)
    sex[(sex == "F") & (race == "Z")] = "M"
    score = rng.beta(1.3, 1.6, rows)
    odds = (
        logit_of(score, 0.01) + np.where(sex == "F", -0.5, 0.4) + np.where(race == "X", 0.6, -0.3)
    )
    y = (rng.random(rows) < 1.0 / (1.0 + np.exp(-odds))).astype(float)
    y[labels:] = np.nan
    return y, score, {"sex": sex, "race": race}


SMALL = {"chains": 4, "draws": 20, "warmup": 40}


def ask(rows, **options):
    y, score, features = rows
    return lf.assess(y, score, sensitive_features=features, rng=1, **options)


def test_assess_names_the_effects():
    rows = crossed_rows(1, labels=800)
    result = ask(rows, hierarchical="nested", metrics="tpr", trust=False, **SMALL)
    assert result.settings.hierarchical == result.to_dict()["settings"]["hierarchical"] == "nested"
    posterior = result.posterior
    chains, draws = posterior.phi.shape[:2]
    assert posterior.phi.shape == (chains, draws, 5, 3)
    assert posterior.mu.shape == posterior.sigma.shape == (chains, draws, 3)
    assert posterior.omega is posterior.tau is None
    assert {k: v.shape[2:] for k, v in posterior.effects.items()} == {"sex": (2, 3), "race": (3, 3)}
    assert list(posterior.effect_sd) == ["sex", "race"]
    for sds in posterior.effect_sd.values():
        assert sds.shape == (chains, draws, 3) and (sds > 0.0).all()
    between = posterior.effects["sex"][:, :, 1, 2] - posterior.effects["sex"][:, :, 0, 2]
    assert (between > 0.0).mean() > 0.8  # M above F, as simulated
    plain = ask(rows, metrics="tpr", **SMALL)
    assert plain.posterior.effects is plain.posterior.effect_sd is None


@pytest.mark.slow
def test_a_small_cell_is_drawn_to_its_levels():
    """Two labels: what is known of it is what is known of F and of Y."""
    y, score, features = crossed_rows(2, rows=2000, labels=2000)
    cell = np.flatnonzero((features["sex"] == "F") & (features["race"] == "Y"))
    y[cell[2:]] = np.nan
    y[cell[:2]] = [1.0, 1.0]  # against what is simulated
    c = {}
    for prior in (True, "nested"):
        options = {"hierarchical": prior, "metrics": "base_rate", "trust": False}
        result = ask((y, score, features), **options)
        at = result.groups.index("F, Y")
        c[prior] = result.posterior.phi[:, :, at, 2]
    assert c["nested"].mean() < c[True].mean() - 0.1  # F and Y are both below the mean
    assert c["nested"].std() < c[True].std()


@pytest.mark.parametrize("family, trust", [("llo", True), ("temperature", False)])
def test_other_families(family, trust):
    options = {"hierarchical": "nested", "family": family, "trust": trust}
    result = ask(crossed_rows(3, 600, 100), **options, chains=4, draws=10, warmup=10)
    phi, effects = result.posterior.phi, result.posterior.effects["race"]
    np.testing.assert_array_equal(phi[..., 0], phi[..., 1])
    np.testing.assert_array_equal(effects[..., 0], effects[..., 1])
    assert (result.posterior.omega is None) == (not trust)


def test_one_attribute_is_the_hierarchical_prior():
    y, score, features = crossed_rows(4)
    small = {"metrics": "tpr", "chains": 2, "draws": 10, "warmup": 10}
    same = {"sex": features["sex"]}, {"sex": features["sex"], "unit": ["one"] * len(y)}
    for columns in same:
        plain, nested = (
            ask((y, score, columns), hierarchical=prior, **small) for prior in (True, "nested")
        )
        np.testing.assert_array_equal(plain.theta["tpr"], nested.theta["tpr"])
        assert nested.settings.hierarchical is True
        assert nested.posterior.effects is None


def test_draws_go_on_where_they_stopped():
    nest = nesting(CURVE, PARTS)
    start = warm_up(nothing_seen(nest), nest, chains=2, warmup=20, rng=np.random.default_rng(6))
    calls = []
    again = warm_up(nothing_seen(nest), nest, chains=2, warmup=20, rng=np.random.default_rng(6))
    now, first = take_draws(start, 11, progress=lambda *done: calls.append(done))
    np.testing.assert_array_equal(first.psi, take_draws(again, 11)[1].psi)
    np.testing.assert_array_equal(now.state.psi, first.psi[:, :, -1])
    np.testing.assert_array_equal(first.mu, first.eta[..., 0, :])
    assert calls[-1] == (11, 11)
    end, second = take_draws(now, 5)
    np.testing.assert_array_equal(end.state.eta, second.eta[:, :, -1])
    assert not np.array_equal(first.psi[:, :, -1], second.psi[:, :, 0])


def test_too_many_levels():
    parts = tuple((f"a{i % 140}", f"b{i % 141}") for i in range(140 * 3))
    with pytest.raises(ValueError, match=r"at most 52 levels .* got 140; merge levels, or pass"):
        nesting(CURVE, parts)


def test_starts_are_overdispersed():
    """Chains without labels start with 1.5 times the standard deviations of the prior."""
    nest = nesting(CURVE, PARTS)
    start = warm_up(nothing_seen(nest), nest, chains=2000, warmup=0, rng=np.random.default_rng(9))
    state = start.state
    spread = nest.scales.spread(state.sigma[0])
    far = (state.psi[0] - nest.middle(state.eta[0])) / spread[:, None]
    np.testing.assert_allclose(far.std(axis=0), 1.5, rtol=0.1)
