"""An alternative: a shrunken cubic spline on the logit axis instead of jumps and bends.

The same sampler, the same scales omega and tau: only the columns of the deviations differ. The axis
is cut at quantiles of all rows outside point masses, in eight regions per predicted class; the six
cubic B-splines with two inner knots are taken at the middle of each region. So the curve bends
smoothly and does not jump at the threshold.
"""

from __future__ import annotations

import numpy as np

from lightfair.core.data.table import ScoreTable
from lightfair.core.model.regions import EDGE_GRID, Regions, regions, rows_on_axis

PER_SIDE = 8
SIZE = 1.7  # of the columns: a point deviates as much as with jump and bends, about omega


def spline_regions(table: ScoreTable) -> Regions:
    """Cut the scores of a table into regions of the spline, and point masses as `regions` does."""
    from scipy.interpolate import BSpline

    trusted = regions(table)
    stratum, logit, rows = rows_on_axis(table)
    region = trusted.of(stratum, logit)
    inside = region < trusted.first[2]
    edges, middles = [], []
    for side in (0, 1):
        chosen = inside & (stratum // 3 % 2 == side)
        cut = _quantiles(logit[chosen], rows[chosen], np.arange(1, PER_SIDE) / PER_SIDE)
        cut = np.unique(np.round(cut / EDGE_GRID)) * EDGE_GRID
        cut = cut[
            (cut > logit[chosen].min(initial=np.inf)) & (cut <= logit[chosen].max(initial=-np.inf))
        ]
        edges.append(cut)
        place = np.searchsorted(cut, logit[chosen], side="right")
        middles += [
            np.average(logit[chosen][place == i], weights=rows[chosen][place == i])
            if (place == i).any()
            else 0.0
            for i in range(len(cut) + 1)
        ]
    on_axis = np.array(middles)
    low, high = on_axis.min() - 1e-6, on_axis.max() + 1e-6
    thirds = _quantiles(logit[inside], rows[inside], np.array([1 / 3, 2 / 3]))
    inner = np.unique(np.clip(thirds, low + 1e-3, high - 1e-3))
    knots = np.concatenate([[low] * 4, inner, [high] * 4])
    basis = SIZE * BSpline.design_matrix(on_axis, knots, 3).toarray()
    masses = len(trusted.masses)
    size = len(on_axis) + masses
    loadings = np.zeros((size, basis.shape[1] + masses))
    loadings[: len(on_axis), : basis.shape[1]] = basis
    loadings[len(on_axis) :, basis.shape[1] :] = np.eye(masses)
    first = len(edges[0]) + 1
    return trusted._replace(
        edges=(edges[0], edges[1]),
        first=(0, first, len(on_axis)),
        loadings=loadings,
        on_curve=(np.arange(size) < len(on_axis)).astype(float),
        base=np.concatenate([np.zeros(len(on_axis)), trusted.base[trusted.first[2] :]]),
        names=("bend",) * basis.shape[1] + ("mass",) * masses,
    )


def _quantiles(logit: np.ndarray, rows: np.ndarray, share: np.ndarray) -> np.ndarray:
    order = np.argsort(logit, kind="stable")
    if not len(order):
        return np.zeros(0)
    below = np.cumsum(rows[order])
    return logit[order][np.searchsorted(below, below[-1] * share)]
