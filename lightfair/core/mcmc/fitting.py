"""Fit the surrogate: by an expansion at the mode, then to the states that warm-up proposes."""

from __future__ import annotations

import numpy as np

from ..data.logit import Floats, sigmoid
from ..model.likelihood import LabeledData, by_segment, natural, segment_log_odds
from .hierarchy import Hierarchy
from .surrogate import Surrogate, draw, focused, hyper_of, integrated_at, linearized, sigma_of

ENOUGH = 1.5  # states that a refit needs, in units of its coefficients

FIRST = 0.2  # chance that a group is apart in the first proposals

MANY = 5.0  # effective states of a refit that count as much as that chance


def most_probable(squares: Floats, prior: Hierarchy) -> Floats:
    """Most probable sigma, of its logarithm, given the sum of squares that it scales."""
    sd, rest = prior.scales.sd, prior.counts(np.zeros(len(prior.design))) - 1.0
    return np.asarray(sd * np.sqrt(0.5 * (np.sqrt(rest**2 + 4.0 * squares / sd**2) - rest)))


def expand(data: LabeledData, prior: Hierarchy) -> Surrogate:
    """Expand the log likelihood to second order at the joint mode, sigma at its prior median.

    sigma is larger where groups are so far apart, or so far from 0, that it must be. The log
    likelihood is concave in theta, so the curvature is positive semi-definite. The mode is found by
    scoring, with steps of at most 1; if it has not converged after 50 the expansion is slightly
    worse, and the refits repair it. hyper is proposed around sigma, mu_a and mu_b of the mode, with
    its prior spread or more, so that starts are overdispersed.
    """
    groups = data.groups
    sets = (len(data.start) - 1) // groups
    size, count = len(prior.scales.own), len(prior.scales.sd) + 2
    centre, root = np.zeros((sets, count)), np.eye(count)
    root[-2:] *= np.sqrt(2.0)  # the scale of y is at least the root of 1/2
    surrogate = Surrogate(
        np.zeros((sets, groups, size, size)),
        np.zeros((sets, groups, size)),
        centre,
        np.broadcast_to(root, (sets, count, count)),
        np.zeros((sets, groups, 2)),
        np.ones((sets, 2)),
        np.full((sets, groups), FIRST if prior.scales.apart > 0.0 else 0.0),
    )
    sigma = median = sigma_of(centre, prior)[:, None]
    none = np.zeros((sets, 1, groups))
    place = np.broadcast_to(prior.scales.centre[:2], (sets, 1, 2))
    psi = np.zeros((sets, groups, size))
    for _ in range(50):
        curvature, linear = _expansion(psi, data)
        surrogate = surrogate._replace(curvature=curvature, linear=linear)
        start = np.moveaxis(psi[..., :2], -1, 0)[..., None]
        local = linearized(place.transpose(2, 0, 1)[..., None], start)
        eta, mode = draw(integrated_at(local, sigma, none, surrogate, prior, fixed=False), prior)
        move = np.moveaxis(mode[..., 0], 0, -1) + prior.scales.centre - psi
        longest = np.abs(move).max(axis=-1, keepdims=True)
        psi = psi + move / np.maximum(longest, 1.0)
        squares = prior.squares(psi[:, None] - prior.scales.centre, eta.transpose(2, 3, 0, 1), none)
        sigma = np.maximum(median, most_probable(squares, prior))
        if longest.max() < 1e-4:
            break
    level = psi[..., :2]
    centre = hyper_of(sigma, place, prior)[:, 0]
    noise = np.broadcast_to(np.square(prior.scales.common[:2]), (sets, 2))
    return surrogate._replace(centre=centre, level=level, noise=noise)


def _expansion(psi: Floats, data: LabeledData) -> tuple[Floats, Floats]:
    """Curvature and linear term of the log likelihood in theta, at psi (data set, group, D)."""
    segments = psi.reshape(1, -1, psi.shape[-1])
    rate = sigmoid(segment_log_odds(segments, data)[0])
    rest = data.positive - data.total * rate
    weight = data.total * rate * (1.0 - rate)
    slope = by_segment(rest * data.design, data).T.reshape(psi.shape)
    curvature = by_segment(weight * data.design[:, None] * data.design, data)
    curvature = np.moveaxis(curvature, -1, 0).reshape(*psi.shape, -1)
    if (data.total < 0.0).any():  # the likelihood of wrong labels is not concave
        roots, axes = np.linalg.eigh(curvature)
        curvature = (axes * np.maximum(roots, 0.0)[..., None, :]) @ np.swapaxes(axes, -1, -2)
    return curvature, slope + (curvature @ natural(psi)[..., None])[..., 0]


def refit(
    surrogate: Surrogate,
    prior: Hierarchy,
    data: LabeledData,
    psi: Floats,
    hyper: Floats,
    apart: Floats,
    loglik: Floats,
    weight: Floats,
) -> Surrogate:
    """Fit the quadratics to log likelihoods, group by group, and the proposal of hyper to hyper.

    Parameters
    ----------
    surrogate
        Its quadratics are kept where neither a new expansion, at the mean of theta, nor a fit is
        better for these states.
    psi, hyper, apart, loglik
        float64 (data set, n, group, D), (data set, n, V) and twice (data set, n, group): proposed
        states and their log likelihoods.
    weight
        float64 (data set, n), importance weights, at most 1.

    Notes
    -----
    Least squares minimises the variance of the log acceptance ratio. Negative curvature is set to
    0, so that the surrogate posterior is proper at every sigma. A fit needs an effective number of
    states of `ENOUGH` times its coefficients (9 with 3 coordinates, 54 with 9). The covariance of
    hyper is shrunk to the one before, by that number.
    """
    size = psi.shape[-1]
    total = weight.sum(axis=1)
    count = total * total / np.square(weight).sum(axis=1)
    share = (weight / total[:, None])[..., None]
    level = (share[..., None] * psi[..., :2]).sum(axis=1)
    away = psi[..., :2].mean(axis=2) - level.mean(axis=1)[:, None]
    noise = (share * away * away).sum(axis=1)
    trust = count / (count + hyper.shape[-1])
    noise = trust[:, None] * noise + (1.0 - trust[:, None]) * surrogate.noise
    surrogate = surrogate._replace(level=level, noise=noise)
    if prior.scales.apart > 0.0:
        known = (count / (count + MANY))[:, None]
        mean = known * (share * apart).sum(axis=1) + (1.0 - known) * surrogate.apart
        least = min(prior.scales.apart, 1.0 - prior.scales.apart) / apart.shape[-1]
        surrogate = surrogate._replace(apart=np.clip(mean, least, 1.0 - least))
    seen, _ = focused(hyper, apart, surrogate, prior)
    centre = (share * seen).sum(axis=1)
    far = seen - centre[:, None]
    trust = trust[:, None, None]
    before = surrogate.root @ np.swapaxes(surrogate.root, 1, 2)
    covariance = np.swapaxes(share * far, 1, 2) @ far
    covariance = trust * covariance + (1.0 - trust) * before
    surrogate = surrogate._replace(centre=centre, root=np.linalg.cholesky(covariance))
    theta = natural(psi)
    middle = (share[..., None] * theta).sum(axis=1)
    middle[..., :2] = np.log(middle[..., :2])
    points = np.swapaxes(theta, 1, 2), np.swapaxes(loglik, 1, 2), share[:, None, :, 0]
    best = surrogate.curvature, surrogate.linear
    least = _off(best, *points)
    enough = (count > ENOUGH * size * (size + 3) / 2)[:, None]
    for fit, allowed in ((_expansion(middle, data), True), (_fitted(*points), enough)):
        off = _off(fit, *points)
        better = allowed & (off < least)
        curvature = np.where(better[..., None, None], fit[0], best[0])
        best = curvature, np.where(better[..., None], fit[1], best[1])
        least = np.where(better, off, least)
    return surrogate._replace(curvature=best[0], linear=best[1])


def _off(fit: tuple[Floats, Floats], theta: Floats, height: Floats, share: Floats) -> Floats:
    """Weighted variance of log likelihoods around a quadratic, (data set, group)."""
    curvature, linear = fit
    bent = theta @ curvature
    rest = height - (theta * (linear[:, :, None] - 0.5 * bent)).sum(-1)
    return np.asarray((share * rest * rest).sum(-1) - np.square((share * rest).sum(-1)))


def _fitted(theta: Floats, height: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Curvature and linear term of the least-squares fit to theta (data set, group, n, D).

    share: float64 (data set, 1, n), weights that sum to 1.

    In principal axes of the points, scaled: a, b and c may be all but collinear. A small ridge
    keeps unexplored directions flat; it is larger where a far point of little weight would drown it
    by rounding.
    """
    wide = theta.shape[-1]
    share = share[..., None]
    middle = (share * theta).sum(axis=2)
    far = theta - middle[:, :, None]
    roots, axes = np.linalg.eigh(np.swapaxes(share * far, 2, 3) @ far)
    roots = np.maximum(roots, 1e-12 * np.maximum(roots[..., -1:], 1e-12))
    whiten = axes / np.sqrt(roots)[..., None, :]
    x = far @ whiten
    one, other = np.triu_indices(wide)
    half = np.where(one == other, 0.5, 1.0)
    columns = np.concatenate([x, -half * x[..., one] * x[..., other]], axis=-1)
    columns = columns - (share * columns).sum(axis=2, keepdims=True)
    across = np.swapaxes(share * columns, -1, -2)
    normal = across @ columns
    ridge = np.maximum(1e-3, 1e-12 * np.diagonal(normal, axis1=-2, axis2=-1).max(axis=-1))
    normal = normal + ridge[..., None, None] * np.eye(columns.shape[-1])
    fit = np.linalg.solve(normal, across @ height[..., None])[..., 0]
    curvature = np.empty((*fit.shape[:-1], wide, wide))
    curvature[..., one, other] = curvature[..., other, one] = fit[..., wide:]
    roots, axes = np.linalg.eigh(curvature)
    root = whiten @ (axes * np.sqrt(np.maximum(roots, 0.0))[..., None, :])
    curvature = root @ np.swapaxes(root, -1, -2)
    slope = (whiten @ fit[..., :wide, None])[..., 0]
    return curvature, slope + (curvature @ middle[..., None])[..., 0]
