"""How much groups differ, in one number that is near 0 where they do not.

The number is the standard deviation of the groups' metrics: the root of the mean squared distance
of a group from the mean of the groups, every group counting the same; with two groups it is half
the absolute difference. Taken draw by draw it is biased upward: posterior uncertainty spreads the
groups even where they are equal. So the groups are taken as a sample from a common distribution,

    y ~ N(theta, V),   theta_g ~ N(m, tau^2),   m flat,   tau ~ half-normal(0.3),

with y and V the mean and covariance of the draws of the metric, and the number is the standard
deviation of theta under this model (Gelman 2005, "Analysis of variance", section 3.5: the
finite-population standard deviation). The marginal likelihood of tau is taken on a grid,

    log p(y | tau) = -1/2 [log det B + log(1' B^-1 1) + (y - m^)' B^-1 (y - m^)],   B = V + tau^2 I,
    m^ = 1' B^-1 y / 1' B^-1 1,

and theta given tau and m is Gaussian, with the shrunken mean and, in the eigenvectors of V, the
draws' own deviations shrunk to its covariance. There is no random number in it: tau and m of each
draw are quantiles of theirs, spread evenly over both by a sequence that does not know the draws.

Draws of a model that shares a prior between groups, on the curves, have been drawn together
already. Under the model above they are drawn together twice: where groups differ and labels are few
the number is too small. The standard deviation of such draws as they are is the posterior of the
number by its own model, and is too large where groups are equal. Both are readings of the same
draws, and nothing in them says which is right; so of pooled draws half the draws of the number are
of either, and its interval is as wide as their disagreement (`bench/EQUALITY.md` has how often it
holds).
"""

from __future__ import annotations

import numpy as np

from .compare import Gap
from .comparisons import ByGroup
from .model import Floats
from .special import ndtri

TAU_SD = 0.3  # scale of the half-normal prior: nearly flat where shares of groups differ
GRID = 200
KRONECKER = (0.7548776662466927, 0.5698402909980532)  # 1/p, 1/p^2 of the plastic number


def between_group_sd(by: ByGroup, scale: float = TAU_SD) -> Gap:
    """Return the standard deviation of a metric between groups.

    Parameters
    ----------
    by
        Of at least two groups; one whose metric is undefined is left out.
    scale
        Of the prior of tau, on the scale of the metric.
    """
    kept = by.usable
    left_out = by.named(kept)
    values = np.full(by.draws.shape[:2], np.nan)
    exact = bool(by.known[kept].all())
    seen = ~np.isnan(by.draws[..., kept]).any(axis=-1)
    draws = by.draws[..., kept][seen]
    if len(kept) >= 2 and len(draws) > 0:
        values[seen] = draws.std(axis=-1) if exact else _spread(draws, scale)
        if by.pooled and not exact:  # every other draw
            values[seen] = np.where(np.arange(len(draws)) % 2, draws.std(axis=-1), values[seen])
    return Gap(values, by.lack, exact, left_out)


def _spread(draws: Floats, scale: float) -> Floats:
    """Standard deviations between groups (n,), of draws (n, group)."""
    n, groups = draws.shape
    centre = draws.mean(axis=0)
    own = draws - centre
    variance, vectors = np.linalg.eigh(own.T @ own / n)
    variance = np.maximum(variance, 0.0)
    # all of the model in the eigenvectors of V, where B is diagonal
    y, one, own = centre @ vectors, vectors.sum(axis=0), own @ vectors
    tau, weight = _grid(variance, y, one, scale)
    at, other = ((0.5 + np.arange(n) * step) % 1.0 for step in KRONECKER)
    mass = np.concatenate([[0.0], np.cumsum(weight)])
    ends = np.concatenate([[0.0], 0.5 * (tau[1:] + tau[:-1]), tau[-1:]])
    drawn = np.interp(at, mass / mass[-1], ends)[:, None]
    precision = 1.0 / (variance + drawn * drawn)
    bottom = (precision * one * one).sum(axis=1)
    middle = (precision * one * y).sum(axis=1) / bottom + ndtri(other) / np.sqrt(bottom)
    common = middle[:, None] * one
    shrunk = drawn * np.sqrt(precision)
    theta = common + shrunk * shrunk * (y - common) + shrunk * own
    return np.asarray((theta @ vectors.T).std(axis=1))


def _grid(variance: Floats, y: Floats, one: Floats, scale: float) -> tuple[Floats, Floats]:
    """Values of tau, rising, and their posterior weights; both float64 (GRID,).

    They are spaced evenly in the root of tau: closest near 0, where small variances need it.
    """
    top = 4.0 * max(scale, float(np.sqrt((y @ y - (one @ y) ** 2 / (one @ one)) / len(y))))
    root = (np.arange(GRID) + 0.5) / GRID
    tau = top * root * root
    precision = 1.0 / (variance + (tau * tau)[:, None])
    bottom = (precision * one * one).sum(axis=1)
    middle = (precision * one * y).sum(axis=1) / bottom
    away = y - middle[:, None] * one
    fit = np.log(precision).sum(axis=1) - np.log(bottom) - (precision * away * away).sum(axis=1)
    log_weight = 0.5 * fit - 0.5 * (tau / scale) ** 2 + np.log(root)  # the step is that of the root
    return tau, np.exp(log_weight - log_weight.max())
