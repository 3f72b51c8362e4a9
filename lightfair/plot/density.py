"""The posterior density of a difference.

Densities are Gaussian kernel estimates from the draws, with Silverman's bandwidth (1986, "Density
Estimation for Statistics and Data Analysis", equation 3.31), 0.9 min(sd, interquartile range /
1.34) n^(-1/5); mass beyond a bound of the metric is reflected at it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.assessment import Assessment
from ..core.data.logit import Floats
from ..core.data.messages import check_kind, index_of, probability
from ..core.metrics.estimate import Estimate
from . import canvas

POINTS = 128  # of the grid
REACH = 4.0  # bandwidths, beyond which a kernel is 0
PEAK = 0.82  # height of a density, in rows
BASE = 0.42  # rows, from the middle of a row down to its base
EQUAL = 1e-12  # draws that differ by less are equal
OUTER = (0.01, 0.99)  # draws outside these quantiles are not drawn if a metric has no bound


def posterior(result: Assessment, metric: str, *, ax: canvas.Axes | None = None) -> canvas.Axes:
    """Plot posterior densities of all differences, the region of practical equivalence shaded.

    Parameters
    ----------
    result : Assessment
    metric : str
        One of the assessed metrics.
    ax : canvas.Axes, optional
        Where to draw. Default: a new figure, as high as the rows need.

    Returns
    -------
    Axes
        The probability of the region, |difference| < epsilon, is printed beside each row, and its
        part of the density is dark. Each row has its own scale.
        With only one group in the data, its metric is plotted, without a region.

    Raises
    ------
    ValueError
        If the metric was not assessed.

    Examples
    --------
    >>> import lightfair as lf
    >>> from matplotlib.figure import Figure
    >>> rows = lf.simulate(400, 60, rng=3)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> ax = lf.plot.posterior(result, "tpr", ax=Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'Posterior of tpr: difference from A'
    """
    check_kind(result, Assessment, "result", "assess")
    index_of(metric, [*result.theta], "metric")  # an unknown one raises
    groups, epsilon, base = result.groups, result.settings.epsilon, result.settings.reference
    low, high = result.settings.metric(metric).bounds
    title, x = f"Posterior of {metric}", metric
    if base is not None:
        low, high = low - high, high - low
        short = canvas.short(str(base))
        title, x = f"{title}: difference from {short}", f"{metric} minus that of {short}"
    names = [name for name in groups if name != base]
    ax = canvas.axes_for(ax, "x", len(names))
    canvas.name_rows(ax, names)
    legend: dict[str, Any] = {}
    undefined = []
    for row, name in enumerate(names):
        if base is None:
            estimate = result.metric(metric, name)
        else:
            estimate = result.difference(metric, name, base)
            near = estimate.prob_within(epsilon)
            canvas.write(ax, row, probability(near, exact=estimate.exact))
        if estimate.reason is None:
            legend |= _draw_row(ax, row, estimate, (low, high), epsilon if base else 0.0)
        undefined.append((name, estimate.reason))
    if base is not None:
        canvas.write(ax, -0.55, f"P(|diff|\n< {epsilon:g})")
        legend[f"smaller than {epsilon:g}"] = canvas.shade_near_zero(ax, epsilon)
    canvas.finish(ax, title, x, legend=legend, undefined=undefined)
    return ax


def _draw_row(
    ax: canvas.Axes, row: int, estimate: Estimate, bounds: tuple[float, float], epsilon: float
) -> dict[str, Any]:
    """Draw the density of a defined estimate in a row; return a legend handle by label."""
    foot = row + BASE
    if np.ptp(estimate.defined) < EQUAL:
        canvas.draw_interval(ax, foot, estimate.mean, None, canvas.EXACT, "exact")
        return {"exact": canvas.handle(canvas.EXACT)}
    x, y = density(estimate.defined, bounds)
    edge = foot - PEAK * y / y.max()
    area: dict[str, Any] = {"color": canvas.BLUE, "linewidth": 0.0}
    ax.fill_between(x, edge, foot, alpha=0.25, **area)
    ax.fill_between(x, edge, foot, where=(np.abs(x) < epsilon).tolist(), alpha=0.4, **area)
    ax.plot(x, edge, color=canvas.BLUE, linewidth=1.6, label="lightfair")
    return {"lightfair": canvas.patch(color=canvas.BLUE, alpha=0.4)}


def density(
    draws: Floats, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> tuple[Floats, Floats]:
    """Estimate a density.

    Parameters
    ----------
    draws
        float64 (n,), finite, within the bounds, not all equal.
    bounds
        Of the number. If one is infinite, the outermost draws are left out.

    Returns
    -------
    grid, density
        float64 (128,), within the bounds; the integral of the density is 1.

    Examples
    --------
    >>> x, y = density(np.array([0.1, 0.2, 0.2, 0.4]), bounds=(0.0, 1.0))
    >>> print(round(float(np.sum(y) * (x[1] - x[0])), 2))
    1.0
    """
    from scipy.ndimage import gaussian_filter1d  # it reflects

    if not np.isfinite(bounds).all():
        first, last = np.quantile(draws, OUTER)
        draws = draws[(draws >= first) & (draws <= last)]
    quartiles = np.quantile(draws, [0.25, 0.75])
    scales = [draws.std(), (quartiles[1] - quartiles[0]) / 1.34]
    width = 0.9 * min((s for s in scales if s > 0.0), default=1e-3) * len(draws) ** -0.2
    low = max(draws.min() - REACH * width, bounds[0])
    high = min(draws.max() + REACH * width, bounds[1])
    counts, edges = np.histogram(draws, POINTS, (low, high))
    step = (high - low) / POINTS
    smooth = gaussian_filter1d(counts.astype(float), max(width / step, 2.0), truncate=REACH)
    return edges[:-1] + 0.5 * step, smooth / (len(draws) * step)
