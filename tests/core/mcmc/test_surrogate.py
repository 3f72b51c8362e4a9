"""The surrogate against dense linear algebra, and the proposal of hyper against its density."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from cases import PRIORS, labeled, random_apart, random_hyper, random_surrogate, simulated
from scipy.optimize import minimize
from scipy.stats import halfnorm, norm
from scipy.stats import t as student

from lightfair.core.mcmc.fitting import _fitted, expand, most_probable, refit
from lightfair.core.mcmc.moves import sigma_target
from lightfair.core.mcmc.surrogate import (
    FARTHEST,
    FREEDOM,
    draw,
    given_eta,
    hyper_of,
    integrated,
    log_proposal,
    log_surrogate,
    place_of,
    propose_hyper,
    sigma_of,
)
from lightfair.core.model.likelihood import loglik

PLAIN = PRIORS["plain curve"]


def integrals(seed, prior, **size):
    """A random surrogate, sigma, place and apart, and what integrates out of it there."""
    surrogate, hyper = random_surrogate(seed, prior), random_hyper(seed + 1, prior, **size)
    sigma, place = sigma_of(hyper, prior), place_of(hyper, prior)
    apart = random_apart(seed + 2, prior, **size)
    return surrogate, sigma, place, apart, integrated(sigma, place, apart, surrogate, prior)


def flat(eta, far):
    """(eta, psi) as `naive.gaussian` has them: (data set, n, P D + G D)."""
    sets, n = eta.shape[2:]
    eta, far = eta.transpose(2, 3, 0, 1), far.transpose(1, 3, 2, 0)
    return np.concatenate([eta.reshape(sets, n, -1), far.reshape(sets, n, -1)], axis=-1)


def shaped(noise, prior):
    """Noise (data set, n, P D + G D) as `draw` takes it."""
    groups, (rows, size) = len(prior.design), prior.ratio.shape
    for_psi = noise[..., rows * size :].reshape(*noise.shape[:2], groups, size)
    return noise[..., : rows * size].transpose(2, 0, 1), for_psi.transpose(3, 0, 2, 1)


def test_hyper_is_standard_normal_a_priori(prior):
    """sigma are half-normals by their quantiles, and hyper_of is the inverse."""
    hyper = np.clip(2.0 * random_hyper(1, prior, n=200), -5.0, 8.0)
    sigma, place = sigma_of(hyper, prior), place_of(hyper, prior)
    expected = prior.scales.sd * halfnorm.isf(norm.sf(hyper[..., :-2]))
    np.testing.assert_allclose(sigma, expected, rtol=1e-9)
    expected = prior.scales.centre[:2] + prior.scales.common[:2] * hyper[..., -2:]
    np.testing.assert_allclose(place, expected)
    np.testing.assert_allclose(hyper_of(sigma, place, prior), hyper, rtol=1e-6, atol=1e-6)
    ends = sigma_of(np.array([[-40.0] * hyper.shape[-1], [30.0] * hyper.shape[-1]]), prior)
    assert (ends > 0.0).all() and np.isfinite(hyper_of(ends, place[0, :2], prior)).all()
    far = np.full((1, hyper.shape[-1]), 1000.0)  # there P(sigma > sd s) is about exp(-s^2 / 2) / s
    wide = sigma_of(far, prior)
    np.testing.assert_allclose(wide / prior.scales.sd, 1000.0 + np.log(2.0) / 1000.0, rtol=1e-9)
    np.testing.assert_allclose(hyper_of(wide, place[0, :1], prior)[..., :-2], 1000.0, rtol=1e-9)


def test_integral_and_eta_equal_dense(prior):
    """Linearized at the level, then at the mode; eta is drawn as its noise says."""
    surrogate, sigma, place, apart, at = integrals(2, prior)
    groups, (rows, size) = len(prior.design), prior.ratio.shape
    still = flat(*draw(at, prior))
    units = np.eye(rows * size, (rows + groups) * size)
    noise = (shaped(np.tile(unit, (*sigma.shape[:2], 1)), prior) for unit in units)
    root = np.stack([flat(*draw(at, prior, *one)) - still for one in noise])[..., : rows * size]
    for r, i in np.ndindex(sigma.shape[:2]):
        quadratics = surrogate.curvature[r], surrogate.linear[r], prior
        start = surrogate.level[r]
        mode = naive.gaussian(sigma[r, i], place[r, i], apart[r, i], start, *quadratics)[0]
        move = mode[rows * size :].reshape(groups, size)[:, :2] + place[r, i] - start
        move += apart[r, i][:, None] * prior.scales.shift[:2]
        up, down = np.log1p(np.maximum(move, 0.0)), np.maximum(move, -FARTHEST)
        given = sigma[r, i], place[r, i], apart[r, i], start + np.where(move > 0.0, up, down)
        mean, covariance, value = naive.gaussian(*given, *quadratics)
        np.testing.assert_allclose(at.value[r, i], value, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(still[r, i], mean, rtol=1e-7, atol=1e-8)
        got = root[:, r, i].T @ root[:, r, i]
        np.testing.assert_allclose(got, covariance[: len(got), : len(got)], rtol=1e-7, atol=1e-9)


def test_log_surrogate_is_the_density_of_draws(prior):
    """By a change of variables: prior times surrogate over its integral, at any eta and psi."""
    surrogate, sigma, _, apart, at = integrals(4, prior)
    rows, size = prior.ratio.shape
    cut = rows * size
    free = np.delete(np.arange(cut + len(prior.design) * size), [cut - size, cut - size + 1])
    noise = np.random.default_rng(6).standard_normal((*sigma.shape[:2], free[-1] + 1))

    def drawn(noise):
        return draw(at, prior, *shaped(noise, prior))

    eta, far = drawn(noise)
    columns = [
        flat(*drawn(noise + step)) - flat(*drawn(noise - step))
        for step in 1e-5 * np.eye(noise.shape[-1])[free]
    ]
    jacobian = np.stack(columns, axis=-1)[..., free, :] / 2e-5
    expected = norm.logpdf(noise[..., free]).sum(-1) - np.linalg.slogdet(jacobian)[1]
    got = log_surrogate(eta, far, at.psi, surrogate, prior).sum(axis=1) - at.value
    height, value, back = given_eta(eta, far, at.psi, surrogate, prior)
    np.testing.assert_allclose(back, shaped(noise, prior)[1], rtol=1e-6, atol=1e-6)
    cut = eta.shape[0] * eta.shape[1]
    of_psi = norm.logpdf(noise[..., cut:]).sum(-1)
    of_psi -= np.linalg.slogdet(jacobian[..., cut - 2 :, cut - 2 :])[1]
    of_psi -= (height - value).sum(axis=1)
    eta, far = eta.transpose(2, 3, 0, 1), far.transpose(1, 3, 2, 0)
    spread = prior.scales.spread(sigma, apart)
    normal = norm.logpdf(far, prior.middle(eta), spread).sum(axis=(2, 3))
    np.testing.assert_allclose(normal, of_psi, rtol=1e-6, atol=1e-6)
    got += normal
    sds = prior.sds(sigma)
    heights = norm.logpdf(eta, 0.0, sds)
    heights[..., -1, :2] = 0.0  # mu_a and mu_b are in hyper
    np.testing.assert_allclose(got + heights.sum(axis=(2, 3)), expected, rtol=1e-6, atol=1e-6)


def test_density_of_the_proposal_of_hyper(prior):
    """By a change of variables: the Jacobian of `propose_hyper`, by differences."""
    surrogate = random_surrogate(8, prior)
    t = random_hyper(9, prior, n=4)
    given = random_apart(10, prior, n=4)[:, :1].repeat(4, axis=1), surrogate, prior
    got = log_proposal(propose_hyper(t, *given), *given)
    step = 1e-5 * np.eye(t.shape[-1])
    columns = [propose_hyper(t + one, *given) - propose_hyper(t - one, *given) for one in step]
    jacobian = np.linalg.slogdet(np.stack(columns, axis=-1) / 2e-5)[1]
    expected = student.logpdf(t, FREEDOM).sum(-1) - jacobian
    difference = got - expected
    np.testing.assert_allclose(difference, np.tile(difference[:, :1], 4), rtol=1e-6, atol=1e-6)


def test_location_is_proposed_as_if_the_mean_of_the_groups_was_observed(prior):
    """With the variance of that mean, of the groups and their effects, and some noise."""
    surrogate, t = random_surrogate(12, prior), random_hyper(13, prior)
    apart = random_apart(14, prior)
    hyper = propose_hyper(t, apart, surrogate, prior)
    sigma, place = sigma_of(hyper, prior), place_of(hyper, prior)
    unit = surrogate.centre[:, None] + t @ np.swapaxes(surrogate.root, 1, 2)
    for r, n, i in np.ndindex(*place.shape):
        effects = prior.design[:, :-1] * prior.sds(sigma[r, n])[:-1, i]
        spread = prior.scales.spread(sigma[r, n], apart[r, n])[:, i]
        share = spread**-2.0 / (spread**-2.0).sum()
        variance = (effects @ effects.T).mean() + (share**2 * spread**2).sum()
        weight = 1.0 / (variance + surrogate.noise[r, i])
        precision = weight + prior.scales.common[i] ** -2.0
        centre = prior.scales.centre[i]
        level = surrogate.level[r, :, i] - apart[r, n] * prior.scales.shift[i]
        mean = centre + weight / precision * (share @ level - centre)
        np.testing.assert_allclose(place[r, n, i], mean + precision**-0.5 * unit[r, n, i - 2])


# expansions


@pytest.mark.parametrize("name", ["plain curve", "nested curve", "plain trusted"])
def test_expansion_at_the_joint_mode(name):
    """linear and curvature are derivatives in theta, at the mode given sigma; by differences."""
    prior = PRIORS[name]
    rows = simulated(11, 120, prior)
    surrogate = expand(rows, prior)
    groups, size = surrogate.linear.shape[1:]
    sigma = sigma_of(surrogate.centre[0], prior)
    design = np.kron(prior.design, np.eye(size))
    covariance = (design * prior.sds(sigma).ravel() ** 2) @ design.T
    covariance += np.diag(np.tile(prior.scales.spread(sigma) ** 2, groups))
    precision = np.linalg.inv(covariance)

    middle = np.tile(prior.scales.centre, groups)

    def height(psi):
        return loglik(psi.reshape(1, 1, groups, size), rows)[0, 0]

    psi = minimize(
        lambda psi: 0.5 * (psi - middle) @ precision @ (psi - middle) - height(psi).sum(),
        np.zeros(groups * size),
        options={"gtol": 1e-7},
    ).x.reshape(groups, size)
    np.testing.assert_allclose(surrogate.level[0], psi[:, :2], atol=1e-3)
    theta = np.concatenate([np.exp(psi[:, :2]), psi[:, 2:]], axis=1)

    def at(shift):
        moved = theta + shift
        return height(np.concatenate([np.log(moved[:, :2]), moved[:, 2:]], axis=1))

    h = 1e-3
    steps = h * np.eye(size)
    slope = np.stack([(at(d) - at(-d)) / (2.0 * h) for d in steps], axis=-1)
    got = surrogate.linear[0] - (surrogate.curvature[0] @ theta[..., None])[..., 0]
    np.testing.assert_allclose(got, slope, atol=2e-3)
    for i, j in np.ndindex(size, size):
        corners = [s * u * at(s * steps[i] + u * steps[j]) for s in (1, -1) for u in (1, -1)]
        bend = -sum(corners) / (4.0 * h * h)
        np.testing.assert_allclose(surrogate.curvature[0, :, i, j], bend, rtol=1e-3, atol=2e-3)
    assert (np.linalg.eigvalsh(surrogate.curvature) > -1e-9).all()


def test_expansion_of_groups_that_are_far_apart():
    """Their sigma is the most probable one, above its median."""
    apart = np.repeat([0, 1, 2], 100)
    rows = labeled(apart, np.full(300, 0.5), apart % 2, PLAIN)
    sigma = sigma_of(expand(rows, PLAIN).centre[0], PLAIN)
    assert sigma[2] > 1.5 * sigma_of(np.zeros(5), PLAIN)[2]
    squares, grid = np.array([0.1, 0.5, 9.0]), np.exp(np.linspace(-6.0, 3.0, 9001))
    heights = sigma_target(grid[:, None], squares, PLAIN.counts(np.zeros(3)), PLAIN.scales.sd)
    expected = grid[heights.argmax(axis=0)]
    np.testing.assert_allclose(most_probable(squares, PLAIN), expected, rtol=1e-3)


@pytest.mark.parametrize("family", ["beta", "llo", "temperature"])
def test_no_labels_give_a_flat_surrogate(family, prior):
    surrogate = expand(labeled([], [], [], prior, sets=2, family=family), prior)
    assert not surrogate.curvature.any()
    assert not surrogate.linear.any()


# refits


def states(seed, prior, n, truth):
    """States of which a, b and c are all but collinear; their heights are quadratic in theta."""
    rng = np.random.default_rng(seed)
    psi = 0.1 * rng.standard_normal((2, n, *truth.linear.shape[1:]))
    psi[..., 0] = 0.2 + 0.3 * rng.standard_normal(psi.shape[:-1])
    psi[..., 1:3] = psi[..., :1] * [0.9, -1.1] + 0.01 * rng.standard_normal((*psi.shape[:-1], 2))
    theta = np.concatenate([np.exp(psi[..., :2]), psi[..., 2:]], axis=-1)
    pull = truth.linear[:, None] - 0.5 * np.einsum("rgij,rngj->rngi", truth.curvature, theta)
    return psi, random_hyper(seed + 1, prior, n=n), (theta * pull).sum(-1)


def test_refit_recovers_a_quadratic(prior):
    truth = random_surrogate(20, prior)
    psi, hyper, heights = states(21, prior, 1500, truth)
    nobody = labeled([], [], [], prior, sets=2)
    blank = truth._replace(curvature=0.0 * truth.curvature, linear=0.0 * truth.linear)
    weight = np.random.default_rng(22).random(heights.shape[:2])
    apart = random_apart(25, prior, n=1500)
    got = refit(blank, prior, nobody, psi, hyper, apart, heights + 7.0, weight)
    assert (np.linalg.eigvalsh(got.curvature) > -1e-6).all()
    fitted = states(21, prior, 1500, got)[2]
    off = (heights - fitted).std(axis=1) / np.maximum(heights.std(axis=1), 1e-3)
    assert (off < 0.02).all()
    convex = states(21, prior, 1500, truth._replace(curvature=-truth.curvature))[2]
    flat = refit(blank, prior, nobody, psi, hyper, apart, convex, weight)
    assert np.abs(flat.curvature).max() < 0.1 * np.abs(truth.curvature).max()  # never negative
    # states of weight 0 do not matter
    given = psi, hyper, apart, heights + 7.0
    more = [np.concatenate([x, x[:, :100] ** 2 - 3.0], axis=1) for x in given]
    again = refit(blank, prior, nobody, *more, np.pad(weight, ((0, 0), (0, 100))))
    for x, y in zip(got, again, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-6)


def test_refit_keeps_what_is_better(prior):
    """The truth is at hand, or there are few states; those of labels get a new expansion."""
    truth = random_surrogate(23, prior)
    rows = simulated(24, 60, prior, sets=2)
    nobody = rows._replace(positive=0.0 * rows.positive, total=0.0 * rows.total)
    psi, hyper, heights = states(24, prior, 60, truth)
    one, apart = np.ones(heights.shape[:2]), random_apart(25, prior, n=60)
    got = refit(truth, prior, nobody, psi, hyper, apart, heights, one)
    np.testing.assert_array_equal(got.curvature, truth.curvature)
    np.testing.assert_array_equal(got.linear, truth.linear)
    blank = truth._replace(curvature=0.0 * truth.curvature, linear=0.0 * truth.linear)
    for weight in (one[:, :8], 1e-9 * one + np.eye(1, one.shape[1])):  # 8 states, and 1
        n = weight.shape[1]
        few = psi[:, :n], hyper[:, :n], apart[:, :n]
        got = refit(blank, prior, nobody, *few, heights[:, :n], weight)
        assert not got.curvature.any() and not got.linear.any()
        assert (np.linalg.eigvalsh(got.root @ np.swapaxes(got.root, 1, 2)) > 0.0).all()
    right = loglik(psi, rows)
    got = refit(blank, prior, rows, psi, hyper, apart, right, one)
    off = (right - states(24, prior, 60, got)[2]).std(axis=1)
    assert (off < 0.3 * right.std(axis=1) + 1e-9).all()
    got = refit(blank, prior, rows, *(x[:, :8] for x in (psi, hyper, apart, right, one)))
    off = (right - states(24, prior, 60, got)[2]).std(axis=1)  # of the expansion, there is no fit
    assert off.mean() < 0.3 * right.std(axis=1).mean()


@pytest.mark.parametrize("weight", [1e-8, 1e-12])
@pytest.mark.parametrize("far", [1e6, 1e8, 1e12, 1e15])
def test_least_squares_bear_a_far_point_of_little_weight(far, weight):
    theta = np.random.default_rng(1).standard_normal((1, 1, 200, 3))
    theta[..., 0, :] *= far
    share = np.ones((1, 1, 200))
    share[..., 0] = weight
    curvature, linear = _fitted(theta, -0.5 * (theta**2).sum(axis=-1), share / share.sum())
    assert np.linalg.eigvalsh(curvature).max() < 1.3  # the identity, or flat where it drowns
    assert np.isfinite(linear).all()


def test_refit_of_the_proposal_of_hyper():
    """Mean and covariance of hyper, mu_a and mu_b in units of their sd given sigma."""
    truth = random_surrogate(26, PLAIN)
    psi, hyper, heights = states(27, PLAIN, 20_000, truth)
    apart = np.zeros((2, 20_000, 3))
    nobody = labeled([], [], [], PLAIN, sets=2)
    got = refit(truth, PLAIN, nobody, psi, hyper, apart, heights, np.ones(heights.shape[:2]))
    np.testing.assert_allclose(got.level, psi[..., :2].mean(axis=1), rtol=1e-9)
    np.testing.assert_allclose(got.noise, psi[..., :2].mean(axis=2).var(axis=1), rtol=1e-2)
    np.testing.assert_allclose(got.centre[:, :3], 0.0, atol=0.03)
    square = got.root @ np.swapaxes(got.root, 1, 2)
    expected = np.tile(np.eye(3), (2, 1, 1))
    np.testing.assert_allclose(square[:, :3, :3], expected, atol=0.05)
    # so that what it proposes is as wide as what it was fitted to
    t = np.random.default_rng(28).standard_normal((2, 20_000, 5))
    again = propose_hyper(t, apart, got, PLAIN)
    np.testing.assert_allclose(again.mean(axis=1), hyper.mean(axis=1), atol=0.05)
    np.testing.assert_allclose(again.std(axis=1), hyper.std(axis=1), rtol=0.1)
