"""The Gaussian surrogate against dense linear algebra, of the curve alone and with trust."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from cases import CURVE, place, random_sigma, random_surrogate

from lightfair.core.data.logit import logit_of
from lightfair.core.mcmc.surrogate import (
    Surrogate,
    draw,
    draw_sigma,
    expand,
    log_importance,
    marginal,
    quadratic,
    refit,
    translation_shape,
    walk_shape,
)
from lightfair.core.model.curve import features
from lightfair.core.model.likelihood import labeled_nodes, loglik


def labeled(scales, seed, count, sets=2, groups=2):
    """LabeledData of simulated rows; the labels follow the scores."""
    rng = np.random.default_rng(seed)
    where = np.sort(rng.integers(sets * groups, size=count))
    score = rng.uniform(0.02, 0.98, count)
    label = (rng.random(count) < score).astype(float)
    nodes = features(logit_of(score, 0.0), "beta")
    size = {"segments": sets * groups, "groups": groups}
    return labeled_nodes(where, nodes, label, np.ones(count), **size, **place(score, scales))


def dense(sigma, surrogate, r, scales):
    return naive.gaussian(sigma, surrogate.curvature[r], surrogate.linear[r], scales)


def still(sets, n, groups, scales):
    """Noise of nought for `draw`."""
    size = len(scales.own)
    return np.zeros((sets, n, size)), np.zeros((sets, n, groups, size))


@pytest.mark.parametrize("groups", [1, 2, 5])
def test_marginal_equals_dense(groups, scales):
    surrogate, sigma = random_surrogate(1, scales, groups=max(groups, 2)), random_sigma(2, scales)
    surrogate = Surrogate(*(part[:, :groups] for part in surrogate[:2]), *surrogate[2:])
    value = marginal(sigma, surrogate, scales).value
    assert value.shape == (2, 4)
    for r in range(2):
        wanted = np.array([dense(sigma[r, i], surrogate, r, scales)[2] for i in range(4)])
        np.testing.assert_allclose(value[r] - value[r, 0], wanted - wanted[0], rtol=0, atol=1e-9)


def test_draw_without_noise_is_the_mean(scales):
    surrogate, sigma = random_surrogate(3, scales), random_sigma(4, scales)
    at = marginal(sigma, surrogate, scales)
    mu, psi = draw(at, sigma, scales, *still(2, 4, 3, scales))
    for r in range(2):
        for i in range(4):
            wanted, _, _ = dense(sigma[r, i], surrogate, r, scales)
            got = np.concatenate([mu[r, i], psi[r, i].ravel()])
            np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-9)


def test_draw_has_the_dense_covariance(scales):
    surrogate, sigma = random_surrogate(5, scales), random_sigma(6, scales, n=1)
    # draw is affine in the noise: unit vectors as noise give the columns of a root
    wide = len(scales.own)
    size = 4 * wide
    noise = np.concatenate([np.zeros((1, size)), np.eye(size)])
    noise = np.broadcast_to(noise, (2, size + 1, size))
    same = np.broadcast_to(sigma, (2, size + 1, len(scales.sd)))
    at = marginal(same, surrogate, scales)
    for_psi = noise[..., wide:].reshape(2, size + 1, 3, wide)
    mu, psi = draw(at, same, scales, noise[..., :wide], for_psi)
    flat = np.concatenate([mu, psi.reshape(2, size + 1, -1)], axis=-1)
    root = flat[:, 1:] - flat[:, :1]
    for r in range(2):
        _, covariance, _ = dense(sigma[r, 0], surrogate, r, scales)
        np.testing.assert_allclose(root[r].T @ root[r], covariance, rtol=1e-7, atol=1e-10)


def test_log_importance_equals_naive(scales):
    surrogate, sigma = random_surrogate(10, scales), random_sigma(11, scales)
    value = np.random.default_rng(12).normal(size=(2, 4))
    got = log_importance(sigma, value, surrogate, scales)
    for r in range(2):
        for i in range(4):
            wanted = naive.log_importance(
                sigma[r, i], value[r, i], surrogate.centre[r], surrogate.width[r], scales
            )
            np.testing.assert_allclose(got[r, i], wanted, rtol=1e-12)


def test_sigma_is_proposed_from_the_density_in_log_importance(scales):
    # E_proposal[prior / proposal] = 1 and E_proposal[sigma prior / proposal] = prior mean
    surrogate = random_surrogate(13, scales, sets=1)
    rng = np.random.default_rng(14)
    n = 200_000
    normal = rng.standard_normal((1, n, len(scales.sd)))
    sigma = draw_sigma(surrogate, scales, normal, rng.random((1, n)))
    ratio = 2.0 * np.exp(log_importance(sigma, np.zeros((1, n)), surrogate, scales))[0]
    parts = ratio[:, None] * np.column_stack([np.ones(n), sigma[0]])
    wanted = np.append(1.0, scales.sd * np.sqrt(2.0 / np.pi))
    error = parts.std(axis=0) / np.sqrt(n)
    assert (np.abs(parts.mean(axis=0) - wanted) < 4.0 * error).all()


def test_quadratic_equals_naive(scales):
    surrogate = random_surrogate(15, scales)
    psi = np.random.default_rng(16).normal(size=(2, 5, 3, len(scales.own)))
    got = quadratic(psi, surrogate)
    for r, i, g in np.ndindex(got.shape):
        wanted = naive.quadratic(psi[r, i, g], surrogate.curvature[r, g], surrogate.linear[r, g])
        np.testing.assert_allclose(got[r, i, g], wanted, rtol=1e-11, atol=1e-11)


def test_shapes_of_walks_are_roots_of_covariances(scales):
    """Of psi given mu, and of a translation of all."""
    surrogate = random_surrogate(17, scales)
    walk, translation = walk_shape(surrogate, scales), translation_shape(surrogate, scales)
    for r, g in np.ndindex(2, 3):
        spread, location = naive.sds(np.exp(surrogate.centre[r]), scales)
        for root, curvature, sd in (
            (walk[r, g], surrogate.curvature[r, g], spread),
            (translation[r], surrogate.curvature[r].sum(0), location),
        ):
            wanted = np.linalg.inv(curvature + np.diag(np.power(sd, -2.0)))
            np.testing.assert_allclose(root @ root.T, wanted, rtol=1e-7, atol=1e-10)


def test_refit_recovers_a_quadratic(scales):
    truth = random_surrogate(18, scales)
    rng = np.random.default_rng(19)
    psi = rng.normal(0.3, 0.5, (2, 4000, 3, len(scales.own)))
    noise = rng.standard_normal((2, 4000, len(scales.sd)))
    sigma = np.exp(truth.centre[:, None] + truth.width[:, None] * noise)
    blank = random_surrogate(20, scales)
    got = refit(blank, psi, sigma, quadratic(psi, truth) + 7.0)
    np.testing.assert_allclose(got.curvature, truth.curvature, rtol=0.02, atol=0.15)
    np.testing.assert_allclose(got.linear, truth.linear, rtol=0.02, atol=0.15)
    np.testing.assert_allclose(got.centre, truth.centre, atol=0.06)  # quantiles of 4,000
    np.testing.assert_allclose(got.width, truth.width, rtol=0.1)
    heights = quadratic(psi, truth) - quadratic(psi, got)
    assert (heights.std(axis=1) < 0.01 * np.maximum(quadratic(psi, truth).std(axis=1), 1)).all()


def test_refit_keeps_groups_that_have_not_moved(scales):
    start = random_surrogate(23, scales)
    psi = np.random.default_rng(24).normal(size=(2, 200, 3, len(scales.own)))
    psi[1, :, 2] = 0.25
    heights = quadratic(psi, random_surrogate(26, scales))
    got = refit(start, psi, random_sigma(25, scales, n=200), heights)
    np.testing.assert_array_equal(got.curvature[1, 2], start.curvature[1, 2])
    np.testing.assert_array_equal(got.linear[1, 2], start.linear[1, 2])
    assert (got.linear[0, 0] != start.linear[0, 0]).all()


def mode(surrogate, scales):
    """Where `expand` expanded: (mu, psi, sigma), without the axis of proposals."""
    sets, groups, _ = surrogate.linear.shape
    sigma = np.broadcast_to(0.6745 * scales.sd, (sets, 1, len(scales.sd)))
    at = marginal(sigma, surrogate, scales)
    mu, psi = draw(at, sigma, scales, *still(sets, 1, groups, scales))
    return mu[:, 0], psi[:, 0], sigma[:, 0]


def test_expansion_has_slope_and_curvature_of_the_loglik_at_the_joint_mode(scales):
    rows = labeled(scales, *((0, 60) if scales is CURVE else (2, 240)))
    surrogate = expand(rows, scales)
    mu, psi, sigma = mode(surrogate, scales)
    size = len(scales.own)
    h = 1e-4
    shifts = h * np.eye(size)
    around = [loglik((psi + sign * d)[:, None], rows)[:, 0] for d in shifts for sign in (1, -1)]
    slope = np.stack([(around[2 * j] - around[2 * j + 1]) / (2 * h) for j in range(size)], axis=-1)
    wanted = surrogate.linear - (surrogate.curvature @ psi[..., None])[..., 0]
    np.testing.assert_allclose(wanted, slope, atol=1e-5)
    # at the mode of the posterior the prior pulls back as much
    spread, location = naive.sds(sigma[0], scales)
    pull = (psi - mu[:, None]) / np.square(spread)
    np.testing.assert_allclose(slope, pull, atol=1e-5)
    np.testing.assert_allclose(pull.sum(axis=1), mu / np.square(location), atol=1e-5)
    bend = np.empty((2, 2, size, size))
    for i, j in np.ndindex(size, size):
        corners = [
            s * t * loglik((psi + s * shifts[i] + t * shifts[j])[:, None], rows)[:, 0]
            for s in (1, -1)
            for t in (1, -1)
        ]
        bend[..., i, j] = -sum(corners) / (4 * h * h)
    definite = np.linalg.eigvalsh(bend)[..., 0] > 1e-5
    assert 0 < definite.sum() < 4  # elsewhere Fisher's, which is always definite
    got = surrogate.curvature
    np.testing.assert_allclose(got[definite], bend[definite], rtol=1e-3, atol=1e-4)
    assert (np.linalg.eigvalsh(got) > -1e-12).all()


@pytest.mark.parametrize("family", ["beta", "llo", "temperature"])
def test_no_labels_give_a_flat_surrogate(family, scales):
    none = np.zeros(0)
    nodes = features(none, family)
    where = place(none, scales)
    rows = labeled_nodes(none.astype(np.int64), nodes, none, none, segments=4, groups=2, **where)
    surrogate = expand(rows, scales)
    assert not surrogate.curvature.any()
    assert not surrogate.linear.any()


@pytest.mark.parametrize("positive", [0.0, 1.0])
@pytest.mark.parametrize("clip", [1e-12, 0.01])
def test_expansion_of_extreme_labels_is_usable(positive, clip, scales):
    score = np.array([0.0, 0.0, 0.3, 1.0, 1.0])
    nodes = features(logit_of(score, clip), "beta")
    label = np.full(5, 100.0 * positive)
    size = {"segments": 2, "groups": 2}
    where = np.zeros(5, np.int64)
    rows = labeled_nodes(where, nodes, label, np.full(5, 100.0), **size, **place(score, scales))
    surrogate = expand(rows, scales)
    assert (np.linalg.eigvalsh(surrogate.curvature) > -1e-6).all()
    sigma = random_sigma(26, scales, sets=1)
    assert np.isfinite(marginal(sigma, surrogate, scales).value).all()


def test_refit_keeps_what_is_better_on_other_states(scales):
    """The truth is at hand, and states are few and their heights noisy: a fit is worse."""
    truth = random_surrogate(50, scales, groups=2)
    rng = np.random.default_rng(51)
    psi = rng.normal(size=(2, 130, 2, len(scales.own)))
    heights = quadratic(psi, truth)
    heights[:, :, 0] += rng.normal(0.0, 3.0, heights.shape[:2])
    blank = truth._replace(curvature=0.0 * truth.curvature, linear=0.0 * truth.linear)
    got = refit(truth, psi, random_sigma(52, scales, n=130), heights)
    np.testing.assert_array_equal(got.curvature[:, 0], truth.curvature[:, 0])
    np.testing.assert_array_equal(got.linear[:, 0], truth.linear[:, 0])
    got = refit(blank, psi, random_sigma(52, scales, n=130), heights)
    assert (
        np.abs(got.linear[:, 1] - truth.linear[:, 1]) < 0.5 + 0.1 * np.abs(truth.linear[:, 1])
    ).all()
