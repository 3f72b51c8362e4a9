"""The surrogate: a Gaussian stand-in for the posterior, from which whole states are proposed.

Each group's log likelihood is replaced by a quadratic in phi. The model is then Gaussian in (mu,
phi) given sigma, both integrate out in closed form, and given any sigma an exact draw of all the
rest costs a few 3 x 3 Cholesky factors. sigma itself is proposed from a mixture of its prior and
a log-normal.

The quadratic is first the expansion of the log likelihood at the joint mode. The sampler's
warm-up refits it, by least squares, to the log likelihoods that its chains have met: where scores
pile up in one or two places (naive Bayes scores of COMPAS, 1,000 labels) the posterior is a
curved ridge, the expansion's proposals are accepted at a rate of 0.00, those of the fitted
quadratic at 0.4 to 0.7.

Everything here is a function of arrays, vectorised over data sets, proposals and groups: the scalar
formulas for 3 x 3 matrices are written out, which is ten times faster than batched linear algebra.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .evidence import Evidence, by_segment
from .model import Floats, Prior


class Surrogate(NamedTuple):
    """All that a proposal needs.

    curvature: float64 (data set, group, 3, 3), positive semi-definite, and linear: (data set,
    group, 3), so that a group's log likelihood is about phi . linear - phi . curvature . phi / 2;
    centre, width: (data set, 3), of the log-normal half of the proposal of sigma.
    """

    curvature: Floats
    linear: Floats
    centre: Floats
    width: Floats


class Marginal(NamedTuple):
    """The surrogate posterior at given sigma, with mu and phi integrated out.

    value: (data set, n), log marginal likelihood of sigma. The rest is what `draw` needs: factor,
    the 6 entries of the Cholesky factor L of I + S H S, each (data set, n, group); half, the 3 x
    4 entries of L^-1 S [H | h]; top, the Cholesky factor of the precision of mu; pull, top^-1
    times its linear term.
    """

    value: Floats
    factor: list[Floats]
    half: list[list[Floats]]
    top: list[Floats]
    pull: list[Floats]


def marginal(sigma: Floats, surrogate: Surrogate, prior: Prior) -> Marginal:
    """Integrate phi and mu out of the surrogate posterior.

    With phi_g = mu + S xi_g, S = diag(sigma) and xi_g ~ N(0, I), nothing degenerates as sigma
    goes to 0.

    Parameters
    ----------
    sigma
        float64 (data set, n, 3), above 0.
    """
    s = [sigma[..., i, None] for i in range(3)]
    h = [[surrogate.curvature[:, None, :, i, j] for j in range(3)] for i in range(3)]
    for i in range(3):
        h[i].append(surrogate.linear[:, None, :, i])
    factor = _cholesky([[s[i] * h[i][j] * s[j] + (i == j) for j in range(3)] for i in range(3)])
    l00, l10, l11, l20, l21, l22 = factor
    half: list[list[Floats]] = [[], [], []]
    for j in range(4):
        v0 = s[0] * h[0][j] / l00
        v1 = (s[1] * h[1][j] - l10 * v0) / l11
        half[0].append(v0)
        half[1].append(v1)
        half[2].append((s[2] * h[2][j] - l20 * v0 - l21 * v1) / l22)
    roots = np.array(half)
    taken = np.einsum("ki...,kj...->ij...", roots[:, :3], roots).sum(-1)
    weight = [[h[i][j].sum(-1) - taken[i, j] for j in range(4)] for i in range(3)]
    for i in range(3):
        weight[i][i] = weight[i][i] + 1.0 / prior.location_sd[i] ** 2
    top = _cholesky(weight)
    p0 = weight[0][3] / top[0]
    p1 = (weight[1][3] - top[1] * p0) / top[2]
    p2 = (weight[2][3] - top[3] * p0 - top[4] * p1) / top[5]
    value = 0.5 * (p0 * p0 + p1 * p1 + p2 * p2) - np.log(top[0] * top[2] * top[5])
    value = value + (0.5 * (roots[:, 3] * roots[:, 3]).sum(0) - np.log(l00 * l11 * l22)).sum(-1)
    return Marginal(value, factor, half, top, [p0, p1, p2])


def draw(at: Marginal, sigma: Floats, for_mu: Floats, for_phi: Floats) -> tuple[Floats, Floats]:
    """Draw mu, then phi given mu, from the surrogate posterior at sigma.

    Parameters
    ----------
    at, sigma
        `marginal(sigma, ...)` and its sigma, (data set, n, 3).
    for_mu, for_phi
        Standard normals, (data set, n, 3) and (data set, n, group, 3).

    Returns
    -------
    mu (data set, n, 3), phi (data set, n, group, 3)
    """
    mu = _back(at.top, [at.pull[i] + for_mu[..., i] for i in range(3)])
    wide = [m[..., None] for m in mu]
    inner = [
        v[3] - v[0] * wide[0] - v[1] * wide[1] - v[2] * wide[2] + for_phi[..., i]
        for i, v in enumerate(at.half)
    ]
    xi = _back(at.factor, inner)
    phi = [wide[i] + sigma[..., i, None] * xi[i] for i in range(3)]
    return np.stack(mu, axis=-1), np.stack(phi, axis=-1)


def draw_sigma(surrogate: Surrogate, prior: Prior, normal: Floats, uniform: Floats) -> Floats:
    """Propose sigma (data set, n, 3) from the mixture; uniform (data set, n) picks its half."""
    fitted = np.exp(surrogate.centre[:, None] + surrogate.width[:, None] * normal)
    return np.where(uniform[..., None] < 0.5, np.abs(normal) * prior.spread_sd, fitted)


def level(sigma: Floats, value: Floats, surrogate: Surrogate, prior: Prior) -> Floats:
    """Log ratio of the surrogate posterior of sigma to its proposal, up to a constant.

    sigma (data set, n, 3) and `value`, its log marginal likelihood (data set, n).
    """
    ratio = sigma / prior.spread_sd
    log_prior = (-0.5 * ratio * ratio - np.log(prior.spread_sd)).sum(-1) + 1.5 * np.log(2.0 / np.pi)
    width = surrogate.width[:, None]
    log_sigma = np.log(sigma)
    far = (log_sigma - surrogate.centre[:, None]) / width
    fitted = (-0.5 * far * far - np.log(width) - log_sigma).sum(-1) - 1.5 * np.log(2.0 * np.pi)
    return np.asarray(value + log_prior - np.logaddexp(log_prior, fitted))


def quadratic(phi: Floats, surrogate: Surrogate) -> Floats:
    """The surrogate log likelihood of phi (data set, n, group, 3): (data set, n, group)."""
    bend = (surrogate.curvature[:, None] @ phi[..., None])[..., 0]
    return np.asarray((phi * (surrogate.linear[:, None] - 0.5 * bend)).sum(-1))


def walk_shape(surrogate: Surrogate) -> Floats:
    """Shape of a walk in phi: a root of (H + S^-2)^-1 at the centre of sigma, (.., group, 3, 3)."""
    sigma = np.exp(surrogate.centre)[:, None]
    scaled = sigma[..., :, None] * surrogate.curvature * sigma[..., None, :] + np.eye(3)
    root = np.swapaxes(np.linalg.inv(np.linalg.cholesky(scaled)), -1, -2)
    return np.asarray(sigma[..., :, None] * root)


def shift_shape(surrogate: Surrogate, prior: Prior) -> Floats:
    """Shape of a walk of mu and all phi together: a root of the inverse precision of mu.

    With xi = (phi - mu) / sigma held, that precision is the sum of the curvatures plus the prior's.
    """
    precision = surrogate.curvature.sum(axis=1) + np.diag(1.0 / prior.location_sd**2)
    return np.asarray(np.swapaxes(np.linalg.inv(np.linalg.cholesky(precision)), -1, -2))


def expand(evidence: Evidence, prior: Prior) -> Surrogate:
    """Expand the log likelihood to second order at the joint mode, sigma at its prior median.

    The curvature is the observed one where that is positive semi-definite, else Fisher's. The
    mode is found by scoring, with steps of at most 1; where it has not settled after 50 the
    expansion is a little worse, and the refits repair it.
    """
    groups = evidence.groups
    segments = len(evidence.start) - 1
    sets = segments // groups
    median = 0.6745 * prior.spread_sd
    sigma = np.broadcast_to(median, (sets, 1, 3))
    centre = np.broadcast_to(np.log(median), (sets, 3))
    width = np.full((sets, 3), 0.8)
    no_noise = np.zeros((sets, 1, 3)), np.zeros((sets, 1, groups, 3))

    def at(phi: Floats, slope: Floats, curvature: Floats) -> Surrogate:
        linear = slope + (curvature @ phi[..., None])[..., 0]
        shape = (sets, groups)
        return Surrogate(curvature.reshape(*shape, 3, 3), linear.reshape(*shape, 3), centre, width)

    phi = np.zeros((segments, 3))
    for _ in range(50):
        slope, fisher, _ = _derivatives(phi, evidence)
        local = at(phi, slope, fisher)
        _, mean = draw(marginal(sigma, local, prior), sigma, *no_noise)
        move = mean.reshape(segments, 3) - phi
        longest = np.abs(move).max(axis=1, keepdims=True)
        phi = phi + move / np.maximum(longest, 1.0)
        if longest.max() < 1e-6:
            break
    slope, fisher, observed = _derivatives(phi, evidence)
    definite = np.linalg.eigvalsh(observed)[:, :1, None] >= 0.0
    return at(phi, slope, np.where(definite, observed, fisher))


def refit(surrogate: Surrogate, phi: Floats, sigma: Floats, loglik: Floats) -> Surrogate:
    """Fit the quadratic to log likelihoods, group by group, and the log-normal to sigma.

    Parameters
    ----------
    surrogate
        Kept where the draws of a group have not moved.
    phi, sigma, loglik
        float64 (data set, n, group, 3), (data set, n, 3) and (data set, n, group): states met and
        their log likelihoods.

    Notes
    -----
    Least squares minimises the variance of the log acceptance ratio. Negative curvature is set
    to 0, so that the surrogate posterior is proper at every sigma. A small ridge, in units of the
    spread of the draws, keeps directions flat that the chains have not explored.
    """
    points = np.swapaxes(phi, 1, 2)
    heights = np.swapaxes(loglik, 1, 2)
    middle = points.mean(axis=2)
    size = points.std(axis=2)
    moved = (size > 1e-9).all(axis=-1)
    size = np.where(moved[..., None], size, 1.0)
    x = (points - middle[:, :, None]) / size[:, :, None]
    columns = np.concatenate([x, -0.5 * x * x, -x * np.roll(x, -1, axis=-1)], axis=-1)
    columns = columns - columns.mean(axis=2, keepdims=True)
    across = np.swapaxes(columns, -1, -2)
    normal = across @ columns + 1e-3 * points.shape[2] * np.eye(9)
    target = across @ (heights - heights.mean(axis=2, keepdims=True))[..., None]
    fit = np.linalg.solve(normal, target)[..., 0]
    curvature = np.empty((*fit.shape[:-1], 3, 3))
    for i in range(3):
        j = (i + 1) % 3
        curvature[..., i, i] = fit[..., 3 + i]
        curvature[..., i, j] = curvature[..., j, i] = fit[..., 6 + i]
    roots, axes = np.linalg.eigh(curvature)
    curvature = (axes * np.maximum(roots, 0.0)[..., None, :]) @ np.swapaxes(axes, -1, -2)
    curvature = curvature / (size[..., :, None] * size[..., None, :])
    linear = fit[..., :3] / size + (curvature @ middle[..., None])[..., 0]
    low, centre, high = np.quantile(np.log(sigma), [0.16, 0.5, 0.84], axis=1)
    return Surrogate(
        np.where(moved[..., None, None], curvature, surrogate.curvature),
        np.where(moved[..., None], linear, surrogate.linear),
        centre,
        np.maximum(0.5 * (high - low), 0.1),
    )


def _cholesky(m: list[list[Floats]]) -> list[Floats]:
    """Factor of a symmetric 3 x 3 matrix of arrays: l00, l10, l11, l20, l21, l22."""
    l00 = np.sqrt(m[0][0])
    l10 = m[1][0] / l00
    l20 = m[2][0] / l00
    l11 = np.sqrt(m[1][1] - l10 * l10)
    l21 = (m[2][1] - l20 * l10) / l11
    return [l00, l10, l11, l20, l21, np.sqrt(m[2][2] - l20 * l20 - l21 * l21)]


def _back(lower: list[Floats], y: list[Floats]) -> list[Floats]:
    """Solve L' x = y."""
    l00, l10, l11, l20, l21, l22 = lower
    x2 = y[2] / l22
    x1 = (y[1] - l21 * x2) / l11
    return [(y[0] - l10 * x1 - l20 * x2) / l00, x1, x2]


def _derivatives(phi: Floats, evidence: Evidence) -> tuple[Floats, Floats, Floats]:
    """Slope, Fisher's and observed curvature of the log likelihood at phi (segment, 3)."""
    at = phi[evidence.segment]
    shift = np.full(len(evidence.up), evidence.offset)
    rise = np.stack([np.exp(at[:, 0]) * evidence.up, np.exp(at[:, 1]) * evidence.down, shift])
    odds = np.minimum(rise[0] + rise[1] + evidence.offset * at[:, 2], evidence.cap)
    rate = 0.5 * (1.0 + np.tanh(0.5 * odds))
    rest = evidence.positive - evidence.total * rate
    weight = evidence.total * rate * (1.0 - rate)
    slope = by_segment(rest * rise, evidence).T
    fisher = np.moveaxis(by_segment(weight * rise[:, None] * rise[None], evidence), -1, 0)
    observed = fisher.copy()
    for i in range(2):  # log a and log b enter through exp: one more term on the diagonal
        observed[:, i, i] -= by_segment(rest * rise[i], evidence)
    return slope, fisher, observed
