"""The surrogate: a Gaussian approximation of the posterior, from which whole states are proposed.

Each group's log likelihood is replaced by a quadratic in its coordinates psi. The model is then
Gaussian in (mu, psi) given sigma, both integrate out in closed form, and given any sigma an exact
draw of all the rest costs a Cholesky factor of each group. sigma itself is proposed from a mixture
of its prior and a log-normal.

The quadratic is first the expansion of the log likelihood at the joint mode. The sampler's
warm-up refits it, by least squares, to the log likelihoods that its chains have visited: where
scores cluster at one or two values (naive Bayes scores of COMPAS, 1,000 labels) the posterior is a
curved ridge, the expansion's proposals are accepted at a rate of 0.00, those of the fitted
quadratic at 0.4 to 0.7.

Everything here is a function of arrays, vectorised over data sets, proposals and groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats, sigmoid
from ..model.likelihood import LabeledData, by_segment, gradient, segment_log_odds
from ..model.scales import Scales
from .linalg import back_solve, diagonal, eliminate, gram, log_diagonal

ENOUGH = 1.5  # states that a refit needs, in units of its coefficients


class Surrogate(NamedTuple):
    """Quadratic log likelihoods of the groups, and the log-normal part of the proposal of sigma.

    curvature: float64 (data set, group, D, D), positive semi-definite, and linear: (data set,
    group, D), so that a group's log likelihood is about psi . linear - psi . curvature . psi / 2;
    centre, width: (data set, S), of the log-normal half of the proposal of sigma.
    """

    curvature: Floats
    linear: Floats
    centre: Floats
    width: Floats


class Marginal(NamedTuple):
    """The surrogate posterior at given sigma, with mu and psi integrated out.

    value: (data set, n), log marginal likelihood of sigma. The rest is what `draw` needs, with the
    axes of the matrices first, as in `linalg`: half, [L' | L^-1 S [H | h]] of each group, L the
    Cholesky factor of I + S H S, (D, 2 D + 1, data set, group, n); top, the same of mu in units of
    its location, (D, D + 1, data set * n).
    """

    value: Floats
    half: Floats
    top: Floats


def marginal(sigma: Floats, surrogate: Surrogate, scales: Scales) -> Marginal:
    """Integrate psi and mu out of the surrogate posterior.

    With psi_g = mu + S xi_g, S = diag(spread), xi_g ~ N(0, I), and mu = diag(location) m, m ~ N(0,
    I), nothing degenerates as sigma goes to 0.

    Parameters
    ----------
    sigma
        float64 (data set, n, S), above 0.
    """
    size = len(scales.own)
    sets, n, _ = sigma.shape
    own = eliminated(sigma, surrogate, scales)
    value = own.value.sum(axis=1)
    weight = own.bend.sum(axis=3) - own.taken.sum(axis=3)
    top = _common(weight.reshape(size, size + 1, -1), sigma, scales)
    pull = top[:, size]
    value = value + (0.5 * (pull * pull).sum(axis=0) - log_diagonal(top)).reshape(sets, n)
    return Marginal(value, own.half, top)


class Own(NamedTuple):
    """A group after integrating its xi out: a quadratic in the mean of its psi.

    value: (data set, group, n); half: as in `Marginal`; bend: (D, D + 1, data set, group, 1), [H |
    h]; taken: (D, D + 1, data set, group, n), to be subtracted from it.
    """

    value: Floats
    half: Floats
    bend: Floats
    taken: Floats


def eliminated(sigma: Floats, surrogate: Surrogate, scales: Scales) -> Own:
    """Integrate each group's xi = (psi - middle) / spread out; sigma (data set, n, S)."""
    size = len(scales.own)
    sets, n, _ = sigma.shape
    bend = np.concatenate([surrogate.curvature, surrogate.linear[..., None]], axis=-1)
    bend = np.moveaxis(bend, (2, 3), (0, 1))[..., None]
    spread = np.moveaxis(scales.spread(sigma), -1, 0)[:, :, None]
    half = np.empty((size, 2 * size + 1, sets, bend.shape[3], n))
    np.multiply(spread[:, None], bend, out=half[:, size:])
    np.multiply(half[:, size : 2 * size], spread, out=half[:, :size])
    flat = half.reshape(size, 2 * size + 1, -1)
    diagonal(flat)[...] += 1.0
    eliminate(flat)
    own = flat[:, 2 * size]
    value = 0.5 * (own * own).sum(axis=0) - log_diagonal(flat)
    taken = gram(flat[:, size : 2 * size], flat[:, size:]).reshape(size, size + 1, sets, -1, n)
    return Own(value.reshape(sets, -1, n), half, bend, taken)


def _common(weight: Floats, sigma: Floats, scales: Scales) -> Floats:
    """Factor the precision of mu in units of its location: [L' | L^-1 w], L L' = I + W so scaled.

    weight: [W | w], float64 (D, D + 1, data set * n), of its likelihood, quadratic and linear.
    """
    location = np.moveaxis(scales.location(sigma), -1, 0).reshape(len(weight), -1)
    top = weight * location[:, None]
    top[:, :-1] *= location
    diagonal(top)[...] += 1.0
    eliminate(top)
    return top


def _mu(top: Floats, sigma: Floats, scales: Scales, for_mu: Floats) -> Floats:
    """Draw mu, (data set, n, D), given `_common` and standard normals (data set, n, D)."""
    size = len(top)
    middle = top[:, size] + for_mu.transpose(2, 0, 1).reshape(size, -1)
    back_solve(top, middle)
    middle = np.moveaxis(middle.reshape(size, *sigma.shape[:2]), 0, -1)
    return np.asarray(scales.location(sigma) * middle)


def draw(
    at: Marginal, sigma: Floats, scales: Scales, for_mu: Floats, for_psi: Floats
) -> tuple[Floats, Floats]:
    """Draw mu, then psi given mu, from the surrogate posterior at sigma.

    Parameters
    ----------
    at, sigma
        `marginal(sigma, ...)` and its sigma, (data set, n, S).
    for_mu, for_psi
        Standard normals, (data set, n, D) and (data set, n, group, D).

    Returns
    -------
    mu (data set, n, D), psi (data set, n, group, D)
    """
    mu = _mu(at.top, sigma, scales, for_mu)
    return mu, draw_own(at.half, mu[:, :, None], sigma, scales, for_psi)


def draw_common(
    away: Floats, sigma: Floats, surrogate: Surrogate, scales: Scales, for_mu: Floats
) -> Floats:
    """Draw mu given psi - mu of each group, from the surrogate posterior at sigma.

    Parameters
    ----------
    away
        psi - mu, (data set, n, group, D).
    for_mu
        Standard normals, (data set, n, D).

    Returns
    -------
    mu (data set, n, D)
    """
    sets, n, _, size = away.shape
    curvature = surrogate.curvature
    bent = (np.swapaxes(away, 1, 2) @ curvature).sum(axis=1)
    pull = surrogate.linear.sum(axis=1)[:, None] - bent
    weight = np.empty((size, size + 1, sets, n))
    weight[:, :size] = np.moveaxis(curvature.sum(axis=1), 0, -1)[..., None]
    weight[:, size] = np.moveaxis(pull, -1, 0)
    top = _common(weight.reshape(size, size + 1, -1), sigma, scales)
    return _mu(top, sigma, scales, for_mu)


def draw_own(
    half: Floats, middle: Floats, sigma: Floats, scales: Scales, for_psi: Floats
) -> Floats:
    """Draw psi given its middle, (data set, n, group or 1, D), from the surrogate posterior.

    half is that of a marginal at sigma; for_psi as in `draw`.
    """
    size = len(scales.own)
    centre = middle.transpose(3, 0, 2, 1)
    xi = half[:, 2 * size] + for_psi.transpose(3, 0, 2, 1)
    xi -= np.einsum("ijrgn,jrgn->irgn", half[:, size : 2 * size], centre)
    flat = xi.reshape(size, -1)
    back_solve(half.reshape(size, 2 * size + 1, -1), flat)
    psi = flat.reshape(xi.shape) * np.moveaxis(scales.spread(sigma), -1, 0)[:, :, None]
    psi += centre
    return np.ascontiguousarray(psi.transpose(1, 3, 2, 0))


def draw_sigma(surrogate: Surrogate, scales: Scales, normal: Floats, uniform: Floats) -> Floats:
    """Propose sigma (data set, n, S) from the mixture; uniform (data set, n) picks its half."""
    fitted = np.exp(surrogate.centre[:, None] + surrogate.width[:, None] * normal)
    return np.where(uniform[..., None] < 0.5, np.abs(normal) * scales.sd, fitted)


def log_importance(sigma: Floats, value: Floats, surrogate: Surrogate, scales: Scales) -> Floats:
    """Log importance weight of sigma: surrogate posterior over proposal, up to a constant.

    sigma (data set, n, S) and `value`, its log marginal likelihood (data set, n).
    """
    size = len(scales.sd)
    ratio = sigma / scales.sd
    log_prior = (-0.5 * ratio * ratio - np.log(scales.sd)).sum(-1)
    log_prior = log_prior + 0.5 * size * math.log(2.0 / math.pi)
    width = surrogate.width[:, None]
    log_sigma = np.log(sigma)
    far = (log_sigma - surrogate.centre[:, None]) / width
    fitted = (-0.5 * far * far - np.log(width) - log_sigma).sum(-1)
    fitted = fitted - 0.5 * size * math.log(2.0 * math.pi)
    return np.asarray(value + log_prior - np.logaddexp(log_prior, fitted))


def quadratic(psi: Floats, surrogate: Surrogate) -> Floats:
    """The surrogate log likelihood of psi (data set, n, group, D): (data set, n, group)."""
    bend = np.swapaxes(np.swapaxes(psi, 1, 2) @ surrogate.curvature, 1, 2)
    return np.asarray((psi * (surrogate.linear[:, None] - 0.5 * bend)).sum(-1))


def walk_shape(surrogate: Surrogate, scales: Scales) -> Floats:
    """Shape of the random walk of psi, (data set, group, D, D), at the centre of sigma."""
    spread = scales.spread(np.exp(surrogate.centre))[:, None]
    return covariance_root(surrogate.curvature, spread)


def translation_shape(surrogate: Surrogate, scales: Scales) -> Floats:
    """Shape of the random walk of mu and all psi together, (data set, D, D).

    With xi = (psi - mu) / spread fixed, the precision of mu is the sum of the curvatures plus the
    prior's, at the centre of sigma.
    """
    location = scales.location(np.exp(surrogate.centre))
    return covariance_root(surrogate.curvature.sum(axis=1), location)


def covariance_root(curvature: Floats, sd: Floats) -> Floats:
    """Root of (H + diag(sd)^-2)^-1: H (..., D, D), sd (..., D) -> (..., D, D)."""
    scaled = sd[..., :, None] * curvature * sd[..., None, :]
    factor = np.linalg.cholesky(scaled + np.eye(sd.shape[-1]))
    return np.asarray(sd[..., :, None] * np.swapaxes(np.linalg.inv(factor), -1, -2))


def expand(
    data: LabeledData, scales: Scales, mode: Callable[[Surrogate], Floats] | None = None
) -> Surrogate:
    """Expand the log likelihood to second order at the joint mode, sigma at its prior median.

    mode: returns the most probable psi, (data set, group, D), under a surrogate; None for the prior
    of `marginal`. The curvature is the observed one where that is positive semi-definite, else
    Fisher's. The mode is found by scoring, with steps of at most 1; if it has not converged after
    50 the expansion is slightly worse, and the refits repair it.
    """
    groups = data.groups
    segments = len(data.start) - 1
    sets = segments // groups
    size = len(scales.own)
    median = 0.6745 * scales.sd
    sigma = np.broadcast_to(median, (sets, 1, len(median)))
    centre = np.broadcast_to(np.log(median), (sets, len(median)))
    width = np.full((sets, len(median)), 0.8)
    no_noise = np.zeros((sets, 1, size)), np.zeros((sets, 1, groups, size))

    def at(psi: Floats, slope: Floats, curvature: Floats) -> Surrogate:
        linear = slope + (curvature @ psi[..., None])[..., 0]
        shape = (sets, groups)
        return Surrogate(
            curvature.reshape(*shape, size, size), linear.reshape(*shape, size), centre, width
        )

    psi = np.zeros((segments, size))
    for _ in range(50):
        slope, fisher, _ = _derivatives(psi, data)
        local = at(psi, slope, fisher)
        if mode is None:
            _, mean = draw(marginal(sigma, local, scales), sigma, scales, *no_noise)
        else:
            mean = mode(local)
        move = mean.reshape(segments, size) - psi
        longest = np.abs(move).max(axis=1, keepdims=True)
        psi = psi + move / np.maximum(longest, 1.0)
        if longest.max() < 1e-6:
            break
    slope, fisher, observed = _derivatives(psi, data)
    definite = np.linalg.eigvalsh(observed)[:, :1, None] >= 0.0
    return at(psi, slope, np.where(definite, observed, fisher))


def refit(surrogate: Surrogate, psi: Floats, sigma: Floats, loglik: Floats) -> Surrogate:
    """Fit the quadratic to log likelihoods, group by group, and the log-normal to sigma.

    Parameters
    ----------
    surrogate
        Kept where the draws of a group have not moved, where there are too few states for a fit,
        and where a fit to half of the states is not better on the other half.
    psi, sigma, loglik
        float64 (data set, n, group, D), (data set, n, S) and (data set, n, group): visited states
        and their log likelihoods, chain by chain, so that halves are of different chains.

    Notes
    -----
    Least squares minimises the variance of the log acceptance ratio. Negative curvature is set
    to 0, so that the surrogate posterior is proper at every sigma. A small ridge, in units of the
    spread of the draws, keeps unexplored directions flat. With fewer states
    than `ENOUGH` times the coefficients (9 with 3 coordinates, 54 with 9) a fit is worse than none.
    With 100,000 labels a fit to states far from the posterior mode can also be worse than the
    expansion, which is nearly exact there.
    """
    low, centre, high = np.quantile(np.log(sigma), [0.16, 0.5, 0.84], axis=1)
    width = np.maximum(0.5 * (high - low), 0.1)
    coordinates = psi.shape[-1]
    if psi.shape[1] < ENOUGH * coordinates * (coordinates + 3) / 2:
        return surrogate._replace(centre=centre, width=width)
    middle = psi.shape[1] // 2
    curvature, linear, _ = _fitted(psi[:, :middle], loglik[:, :middle])
    trial = surrogate._replace(curvature=curvature, linear=linear)
    rest = psi[:, middle:], loglik[:, middle:]
    new, old = ((rest[1] - quadratic(rest[0], one)).var(axis=1) for one in (trial, surrogate))
    curvature, linear, moved = _fitted(psi, loglik)
    better = moved & (new < old)
    return Surrogate(
        np.where(better[..., None, None], curvature, surrogate.curvature),
        np.where(better[..., None], linear, surrogate.linear),
        centre,
        width,
    )


def _fitted(psi: Floats, loglik: Floats) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Curvature and linear term of the least-squares fit, and whether a group has moved."""
    points = np.swapaxes(psi, 1, 2)
    heights = np.swapaxes(loglik, 1, 2)
    middle = points.mean(axis=2)
    size = points.std(axis=2)
    moved = (size > 1e-9).all(axis=-1)
    size = np.where(moved[..., None], size, 1.0)
    x = (points - middle[:, :, None]) / size[:, :, None]
    wide = x.shape[-1]
    one, other = np.triu_indices(wide)
    half = np.where(one == other, 0.5, 1.0)
    columns = np.concatenate([x, -half * x[..., one] * x[..., other]], axis=-1)
    columns = columns - columns.mean(axis=2, keepdims=True)
    across = np.swapaxes(columns, -1, -2)
    normal = across @ columns + 1e-3 * points.shape[2] * np.eye(columns.shape[-1])
    target = across @ (heights - heights.mean(axis=2, keepdims=True))[..., None]
    fit = np.linalg.solve(normal, target)[..., 0]
    curvature = np.empty((*fit.shape[:-1], wide, wide))
    curvature[..., one, other] = curvature[..., other, one] = fit[..., wide:]
    roots, axes = np.linalg.eigh(curvature)
    curvature = (axes * np.maximum(roots, 0.0)[..., None, :]) @ np.swapaxes(axes, -1, -2)
    curvature = curvature / (size[..., :, None] * size[..., None, :])
    linear = fit[..., :wide] / size + (curvature @ middle[..., None])[..., 0]
    return curvature, linear, moved


def _derivatives(psi: Floats, data: LabeledData) -> tuple[Floats, Floats, Floats]:
    """Slope, Fisher's and observed curvature of the log likelihood at psi (segment, D)."""
    rise = np.ascontiguousarray(gradient(psi[data.segment], data.design).T)
    rate = sigmoid(segment_log_odds(psi[None], data)[0])
    rest = data.positive - data.total * rate
    weight = data.total * rate * (1.0 - rate)
    slope = by_segment(rest * rise, data).T
    fisher = np.moveaxis(by_segment(weight * rise[:, None] * rise[None], data), -1, 0)
    observed = fisher.copy()
    for i in range(2):  # log a and log b enter through exp: one more term on the diagonal
        observed[:, i, i] -= by_segment(rest * rise[i], data)
    return slope, fisher, observed
