"""The Gaussian surrogate against dense linear algebra."""

from __future__ import annotations

import naive
import numpy as np
import pytest

from lightfair.evidence import evidence, loglik
from lightfair.model import Prior, features, logit_of
from lightfair.surrogate import (
    Surrogate,
    draw,
    draw_sigma,
    expand,
    level,
    marginal,
    quadratic,
    refit,
    walk_shape,
)

PRIOR = Prior()


def random_surrogate(seed, sets=2, groups=3):
    """Curvatures of full rank, but for one group that has none."""
    rng = np.random.default_rng(seed)
    root = rng.normal(0.0, 2.0, (sets, groups, 3, 3))
    linear = rng.normal(0.0, 3.0, (sets, groups, 3))
    root[0, 1] = linear[0, 1] = 0.0
    centre = np.log(PRIOR.spread_sd) + rng.normal(0.0, 0.3, (sets, 3))
    width = rng.uniform(0.3, 1.0, (sets, 3))
    return Surrogate(root @ np.swapaxes(root, -1, -2), linear, centre, width)


def random_sigma(seed, sets=2, n=4):
    return PRIOR.spread_sd * np.exp(np.random.default_rng(seed).normal(0.0, 1.0, (sets, n, 3)))


def labelled(seed=0, sets=2, groups=2, count=60):
    """Evidence of simulated rows; the labels follow the scores."""
    rng = np.random.default_rng(seed)
    where = np.sort(rng.integers(sets * groups, size=count))
    score = rng.uniform(0.02, 0.98, count)
    label = (rng.random(count) < score).astype(float)
    nodes = features(logit_of(score, 0.0), "beta")
    return evidence(where, nodes, label, np.ones(count), segments=sets * groups, groups=groups)


def dense(sigma, surrogate, r):
    return naive.gaussian(sigma, surrogate.curvature[r], surrogate.linear[r], PRIOR.location_sd)


@pytest.mark.parametrize("groups", [1, 2, 5])
def test_marginal_equals_dense(groups):
    surrogate, sigma = random_surrogate(1, groups=max(groups, 2)), random_sigma(2)
    surrogate = Surrogate(*(part[:, :groups] for part in surrogate[:2]), *surrogate[2:])
    value = marginal(sigma, surrogate, PRIOR).value
    assert value.shape == (2, 4)
    for r in range(2):
        wanted = np.array([dense(sigma[r, i], surrogate, r)[2] for i in range(4)])
        np.testing.assert_allclose(value[r] - value[r, 0], wanted - wanted[0], rtol=0, atol=1e-9)


def test_draw_without_noise_is_the_mean():
    surrogate, sigma = random_surrogate(3), random_sigma(4)
    at = marginal(sigma, surrogate, PRIOR)
    mu, phi = draw(at, sigma, np.zeros((2, 4, 3)), np.zeros((2, 4, 3, 3)))
    for r in range(2):
        for i in range(4):
            wanted, _, _ = dense(sigma[r, i], surrogate, r)
            got = np.concatenate([mu[r, i], phi[r, i].ravel()])
            np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-10)


def test_draw_has_the_dense_covariance():
    surrogate, sigma = random_surrogate(5), random_sigma(6, n=1)
    # draw is affine in the noise: unit vectors as noise give the columns of a root
    size = 12
    noise = np.concatenate([np.zeros((1, size)), np.eye(size)])
    noise = np.broadcast_to(noise, (2, size + 1, size))
    wide = np.broadcast_to(sigma, (2, size + 1, 3))
    at = marginal(wide, surrogate, PRIOR)
    mu, phi = draw(at, wide, noise[..., :3], noise[..., 3:].reshape(2, size + 1, 3, 3))
    flat = np.concatenate([mu, phi.reshape(2, size + 1, -1)], axis=-1)
    root = flat[:, 1:] - flat[:, :1]
    for r in range(2):
        _, covariance, _ = dense(sigma[r, 0], surrogate, r)
        np.testing.assert_allclose(root[r].T @ root[r], covariance, rtol=1e-8, atol=1e-11)


def test_sigma_near_zero_pools_the_groups():
    surrogate = random_surrogate(7)
    sigma = np.full((2, 1, 3), 1e-8)
    at = marginal(sigma, surrogate, PRIOR)
    ones = np.ones((2, 1, 3))
    mu, phi = draw(at, sigma, ones, np.ones((2, 1, 3, 3)))
    np.testing.assert_allclose(phi, np.broadcast_to(mu[:, :, None], phi.shape), atol=1e-7)
    mean, _ = draw(at, sigma, 0.0 * ones, np.zeros((2, 1, 3, 3)))
    for r in range(2):
        pooled = surrogate.curvature[r].sum(0) + np.diag(PRIOR.location_sd**-2)
        wanted = np.linalg.solve(pooled, surrogate.linear[r].sum(0))
        np.testing.assert_allclose(mean[r, 0], wanted, rtol=1e-6)
    assert np.isfinite(at.value).all()
    assert np.isfinite(level(sigma, at.value, surrogate, PRIOR)).all()


def test_without_likelihood_sigma_is_free():
    flat = random_surrogate(8)._replace(
        curvature=np.zeros((2, 3, 3, 3)), linear=np.zeros((2, 3, 3))
    )
    value = marginal(random_sigma(9), flat, PRIOR).value
    np.testing.assert_allclose(value, value[0, 0], rtol=1e-12)


def test_level_equals_naive():
    surrogate, sigma = random_surrogate(10), random_sigma(11)
    value = np.random.default_rng(12).normal(size=(2, 4))
    got = level(sigma, value, surrogate, PRIOR)
    for r in range(2):
        for i in range(4):
            wanted = naive.level(
                sigma[r, i],
                value[r, i],
                surrogate.centre[r],
                surrogate.width[r],
                PRIOR.spread_sd,
            )
            np.testing.assert_allclose(got[r, i], wanted, rtol=1e-12)


def test_sigma_is_proposed_from_the_density_in_level():
    # E_proposal[prior / proposal] = 1 and E_proposal[sigma prior / proposal] = prior mean
    surrogate = random_surrogate(13, sets=1)
    rng = np.random.default_rng(14)
    n = 200_000
    sigma = draw_sigma(surrogate, PRIOR, rng.standard_normal((1, n, 3)), rng.random((1, n)))
    ratio = 2.0 * np.exp(level(sigma, np.zeros((1, n)), surrogate, PRIOR))[0]
    parts = ratio[:, None] * np.column_stack([np.ones(n), sigma[0]])
    wanted = np.append(1.0, PRIOR.spread_sd * np.sqrt(2.0 / np.pi))
    error = parts.std(axis=0) / np.sqrt(n)
    assert (np.abs(parts.mean(axis=0) - wanted) < 4.0 * error).all()


def test_quadratic_equals_naive():
    surrogate = random_surrogate(15)
    phi = np.random.default_rng(16).normal(size=(2, 5, 3, 3))
    got = quadratic(phi, surrogate)
    for r, i, g in np.ndindex(got.shape):
        wanted = naive.quadratic(phi[r, i, g], surrogate.curvature[r, g], surrogate.linear[r, g])
        np.testing.assert_allclose(got[r, i, g], wanted, rtol=1e-11, atol=1e-12)


def test_walk_shape_is_a_root_of_the_covariance_given_mu():
    surrogate = random_surrogate(17)
    root = walk_shape(surrogate)
    for r, g in np.ndindex(2, 3):
        precision = surrogate.curvature[r, g] + np.diag(np.exp(-2.0 * surrogate.centre[r]))
        wanted = np.linalg.inv(precision)
        np.testing.assert_allclose(root[r, g] @ root[r, g].T, wanted, rtol=1e-9, atol=1e-12)


def test_refit_recovers_a_quadratic():
    truth = random_surrogate(18)
    rng = np.random.default_rng(19)
    phi = rng.normal(0.3, 0.5, (2, 4000, 3, 3))
    sigma = np.exp(truth.centre[:, None] + truth.width[:, None] * rng.standard_normal((2, 4000, 3)))
    blank = random_surrogate(20)
    got = refit(blank, phi, sigma, quadratic(phi, truth) + 7.0)
    np.testing.assert_allclose(got.curvature, truth.curvature, rtol=0.02, atol=0.1)
    np.testing.assert_allclose(got.linear, truth.linear, rtol=0.02, atol=0.1)
    np.testing.assert_allclose(got.centre, truth.centre, atol=0.06)  # quantiles of 4,000
    np.testing.assert_allclose(got.width, truth.width, rtol=0.1)
    heights = quadratic(phi, truth) - quadratic(phi, got)
    assert (heights.std(axis=1) < 0.01 * np.maximum(quadratic(phi, truth).std(axis=1), 1)).all()


def test_refit_makes_negative_curvature_flat():
    rng = np.random.default_rng(21)
    phi = rng.normal(size=(1, 500, 1, 3))
    start = random_surrogate(22, sets=1, groups=2)
    start = Surrogate(*(part[:, :1] for part in start[:2]), *start[2:])
    heights = (phi * phi * [1.0, -1.0, 0.0]).sum(-1)
    got = refit(start, phi, np.exp(rng.normal(size=(1, 500, 3))), heights)
    roots = np.linalg.eigvalsh(got.curvature)
    assert (roots > -1e-9).all()
    np.testing.assert_allclose(got.curvature[0, 0, 1, 1], 2.0, rtol=0.05)


def test_refit_keeps_groups_that_have_not_moved():
    start = random_surrogate(23)
    phi = np.random.default_rng(24).normal(size=(2, 50, 3, 3))
    phi[1, :, 2] = 0.25
    got = refit(start, phi, random_sigma(25, n=50), quadratic(phi, start))
    np.testing.assert_array_equal(got.curvature[1, 2], start.curvature[1, 2])
    np.testing.assert_array_equal(got.linear[1, 2], start.linear[1, 2])
    assert (got.linear[0, 0] != start.linear[0, 0]).all()


def mode(surrogate):
    """Where `expand` expanded: (mu, phi, sigma), without the axis of proposals."""
    sets, groups, _ = surrogate.linear.shape
    sigma = np.broadcast_to(0.6745 * PRIOR.spread_sd, (sets, 1, 3))
    at = marginal(sigma, surrogate, PRIOR)
    mu, phi = draw(at, sigma, np.zeros((sets, 1, 3)), np.zeros((sets, 1, groups, 3)))
    return mu[:, 0], phi[:, 0], sigma[:, 0]


def test_expansion_has_slope_and_curvature_of_the_loglik_at_the_joint_mode():
    rows = labelled()
    surrogate = expand(rows, PRIOR)
    mu, phi, sigma = mode(surrogate)
    h = 1e-4
    shifts = h * np.eye(3)
    around = [loglik((phi + sign * d)[:, None], rows)[:, 0] for d in shifts for sign in (1, -1)]
    slope = np.stack([(around[2 * j] - around[2 * j + 1]) / (2 * h) for j in range(3)], axis=-1)
    wanted = surrogate.linear - (surrogate.curvature @ phi[..., None])[..., 0]
    np.testing.assert_allclose(wanted, slope, atol=1e-5)
    # at the mode of the posterior the prior pulls back as much
    pull = (phi - mu[:, None]) / sigma[:, None] ** 2
    np.testing.assert_allclose(slope, pull, atol=1e-5)
    np.testing.assert_allclose(pull.sum(axis=1), mu / PRIOR.location_sd**2, atol=1e-5)
    bend = np.empty((2, 2, 3, 3))
    for i, j in np.ndindex(3, 3):
        corners = [
            s * t * loglik((phi + s * shifts[i] + t * shifts[j])[:, None], rows)[:, 0]
            for s in (1, -1)
            for t in (1, -1)
        ]
        bend[..., i, j] = -sum(corners) / (4 * h * h)
    definite = np.linalg.eigvalsh(bend)[..., 0] > 0
    assert 0 < definite.sum() < 4  # elsewhere Fisher's, which is always definite
    got = surrogate.curvature
    np.testing.assert_allclose(got[definite], bend[definite], rtol=1e-3, atol=1e-4)
    assert (np.linalg.eigvalsh(got) > -1e-12).all()


@pytest.mark.parametrize("family", ["beta", "llo", "temperature"])
def test_no_labels_give_a_flat_surrogate(family):
    none = np.zeros(0)
    nodes = features(none, family)
    rows = evidence(none.astype(np.int64), nodes, none, none, segments=4, groups=2)
    surrogate = expand(rows, PRIOR)
    assert not surrogate.curvature.any()
    assert not surrogate.linear.any()


@pytest.mark.parametrize("positive", [0.0, 1.0])
@pytest.mark.parametrize("clip", [1e-12, 0.01])
def test_expansion_of_extreme_evidence_is_usable(positive, clip):
    score = np.array([0.0, 0.0, 0.3, 1.0, 1.0])
    nodes = features(logit_of(score, clip), "beta")
    label = np.full(5, 100.0 * positive)
    rows = evidence(np.zeros(5, np.int64), nodes, label, np.full(5, 100.0), segments=2, groups=2)
    surrogate = expand(rows, PRIOR)
    assert (np.linalg.eigvalsh(surrogate.curvature) > -1e-6).all()
    sigma = random_sigma(26, sets=1)
    assert np.isfinite(marginal(sigma, surrogate, PRIOR).value).all()
