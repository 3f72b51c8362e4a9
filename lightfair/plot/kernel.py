"""Densities of draws: a Gaussian kernel on a fine grid.

Draws are shared out to the two nearest points of a grid (linear binning), and the grid is
convolved with a normal density. Mass that would lie beyond a bound of the number is reflected at
it. The bandwidth is Silverman's (1986, "Density Estimation for Statistics and Data Analysis",
equation 3.31), 0.9 min(sd, interquartile range / 1.34) n^(-1/5), and at least two steps of the
grid.
"""

from __future__ import annotations

import numpy as np

from ..model import Floats

POINTS = 512
REACH = 4.0  # bandwidths, beyond which a kernel is 0


def density(
    draws: Floats, bounds: tuple[float, float] = (-np.inf, np.inf), points: int = POINTS
) -> tuple[Floats, Floats]:
    """Estimate a density.

    Parameters
    ----------
    draws
        float64 (n,), finite, within the bounds, not all equal.
    bounds
        Of the number; infinite where it has none.
    points
        Of the grid.

    Returns
    -------
    Grid, float64 (points,), from below the smallest draw to above the largest but within the
    bounds, and the density there, whose integral is 1.

    Examples
    --------
    >>> x, y = density(np.array([0.1, 0.2, 0.2, 0.4]), bounds=(0.0, 1.0))
    >>> print(round(float(np.sum(y) * (x[1] - x[0])), 2))
    1.0
    """
    quartiles = np.quantile(draws, [0.25, 0.75])
    spread = [draws.std(), (quartiles[1] - quartiles[0]) / 1.34]
    width = 0.9 * min(value for value in spread if value > 0.0) * len(draws) ** -0.2
    low = max(draws.min() - REACH * width, bounds[0])
    high = min(draws.max() + REACH * width, bounds[1])
    step = (high - low) / (points - 1)
    width = max(width, 2.0 * step)
    place = (draws - low) / step
    left = np.clip(np.floor(place).astype(np.int64), 0, points - 2)
    share = place - left
    mass = np.bincount(left, 1.0 - share, points) + np.bincount(left + 1, share, points)
    reach = int(min(np.ceil(REACH * width / step), points - 1))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / width) ** 2)
    wide = np.convolve(mass, kernel / kernel.sum())
    inner = wide[reach : reach + points].copy()
    # what is at a point and beyond an end goes to its mirror image; an end is its own
    inner[: reach + 1] += wide[: reach + 1][::-1]
    inner[points - 1 - reach :] += wide[reach + points - 1 :][::-1]
    grid = low + step * np.arange(points)
    weight = np.full(points, step)
    weight[[0, -1]] = 0.5 * step
    return grid, np.asarray(inner / (inner @ weight))
