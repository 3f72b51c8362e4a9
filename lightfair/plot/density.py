"""The posterior density of a difference, ours and that of labels only.

Densities are estimated from the draws (`kernel`); the probability beside them is that of the draws.

Densities of draws: a Gaussian kernel on a fine grid.

Draws are shared out to the two nearest points of a grid (linear binning), and the grid is
convolved with a normal density. Mass that would lie beyond a bound of the number is reflected at
it. The bandwidth is Silverman's (1986, "Density Estimation for Statistics and Data Analysis",
equation 3.31), 0.9 min(sd, interquartile range / 1.34) n^(-1/5), and at least two steps of the
grid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.data.logit import Floats
from ..core.data.messages import probability
from ..core.metrics.estimate import Estimate
from .canvas import (
    BLUE,
    EXACT,
    GREY,
    LABELS_ONLY,
    LIGHTFAIR,
    PALE,
    TITLE,
    assessed,
    assessment,
    axes_for,
    beside,
    brief,
    group_of,
    handle,
    inside,
    legend,
    named_rows,
    near_zero,
    note,
    plain_frame,
    shaded,
    titled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..core.assessment import Assessment

HIGH = 0.82  # of a row, the highest density in it

OUTER = 0.02  # share of the draws, the outermost, that a density of a number without bounds omits

BASE = 0.42  # of a row, below its middle


class _Row(NamedTuple):
    """A row: name, our estimate, draws of labels only or None, and why there are none."""

    name: str
    ours: Estimate
    labels: Floats | None
    reason: str | None


def posterior(
    result: Assessment,
    metric: str,
    group: Any = None,
    reference: Any = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the posterior density of differences, with the region of practical fairness shaded.

    Parameters
    ----------
    result
    metric
        One that was assessed.
    group
        One group, or None: every group but the reference, a row each.
    reference
        Default: that of the assessment.
    ax
        Where to draw. Default: a new figure, as high as the rows need.

    Returns
    -------
    The Axes. The probability of the region, |difference| < epsilon, is beside each row; its part
    of the density is dark. Within a row both densities have one scale; rows have their own.
    With one group it is the metric of that group, without a region.

    Raises
    ------
    TypeError
        If the result is no assessment, or ax no Axes.
    ValueError
        If the metric was not assessed, there is no such group, or group and reference are one.

    Examples
    --------
    >>> import lightfair as lf
    >>> from matplotlib.figure import Figure
    >>> rows = lf.simulate(400, 60, rng=3)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> ax = lf.plot.posterior(result, "tpr", "B", "A", ax=Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'Posterior of tpr: difference from A'
    """
    metric = assessed(assessment(result), metric)
    rows, base = _rows(result, metric, group, reference)
    ax = axes_for(ax, len(rows))
    settings = result.settings
    low, high = settings.metric(metric).bounds
    plain_frame(ax, "x")
    ax.spines["left"].set_visible(False)
    named_rows(ax, [row.name for row in rows])
    if base is None:
        what = titled_as = metric
    else:
        low, high = low - high, high - low
        near_zero(ax, settings.epsilon)
        beside(ax, -0.55, f"P(|.|<{settings.epsilon:g})")
        what = f"{metric} minus that of {brief(base)}"
        titled_as = f"{metric}: difference from {brief(base, TITLE)}"
    ends = []
    for at, row in enumerate(rows):
        ends += _ridge(ax, at, row, (low, high), None if base is None else settings.epsilon)
        if base is not None:
            within = row.ours.prob_within(settings.epsilon)
            beside(ax, at, probability(within, exact=row.ours.exact))
    if ends and not np.isfinite((low, high)).all():  # labels only may go on for ever
        room = np.ptp(ends)
        shown = ax.get_xlim()
        ax.set_xlim(max(shown[0], min(ends) - room), min(shown[1], max(ends) + room))
    above = legend(ax, *_legend(rows, base is not None))
    titled(ax, f"Posterior of {titled_as}", what, above=above)
    if said := _missing(rows):
        note(ax, *said)
    return ax


def _rows(
    result: Assessment, metric: str, group: Any, reference: Any
) -> tuple[list[_Row], str | None]:
    """The rows, and the reference."""
    labels = result.labels[metric]
    free = metric in result.settings.label_free

    def row(at: int, base: int | None) -> _Row:
        name = result.groups[at]
        if base is None:
            ours, seen = result.metric(metric, name), labels.draws[:, at]
        else:
            ours = result.difference(metric, name, result.groups[base])
            seen = labels.draws[:, at] - labels.draws[:, base]
        reason = next(
            (labels.reason[g] for g in (at, base) if g is not None and labels.reason[g]), None
        )
        return _Row(
            name, ours, None if free or np.isnan(seen).any() else seen, None if free else reason
        )

    if len(result.groups) == 1:
        return [row(0 if group is None else group_of(result, group), None)], None
    base = group_of(
        result, result.settings.reference if reference is None else reference, "reference"
    )
    if group is not None:
        at = group_of(result, group)
        if at == base:
            raise ValueError(f"group and reference must differ; got {result.groups[at]!r} for both")
        return [row(at, base)], result.groups[base]
    return [row(g, base) for g in range(len(result.groups)) if g != base], result.groups[base]


def _ridge(
    ax: Axes, at: int, row: _Row, bounds: tuple[float, float], epsilon: float | None
) -> list[float]:
    """Draw the densities of a row, upwards from its base; return the ends of ours."""
    foot = at + BASE
    ours = None if row.ours.reason is not None else _curve(row.ours.defined, bounds)
    labels = None if row.labels is None else _curve(row.labels, bounds)
    top = max((y.max() for _, y in filter(None, (ours, labels))), default=1.0)
    ax.axhline(foot, color=GREY, alpha=PALE, linewidth=0.6, zorder=1.0)
    if labels is not None:
        x, y = labels
        ax.plot(
            x,
            foot - HIGH * y / top,
            color=LABELS_ONLY.colour,
            linestyle=LABELS_ONLY.line,
            linewidth=LABELS_ONLY.width,
            label="labels only",
            zorder=3.0,
        )
    if row.ours.reason is not None:
        inside(ax, at - 0.36, f"undefined: {row.ours.reason}", colour=LIGHTFAIR.colour)
    elif ours is None:
        ax.plot(
            row.ours.mean,
            foot,
            color=EXACT.colour,
            marker=EXACT.marker,
            markersize=7.0,
            linestyle="none",
            label="exact",
            zorder=4.0,
        )
    else:
        x, y = ours
        edge = foot - HIGH * y / top
        ax.fill_between(x, edge, foot, color=LIGHTFAIR.colour, alpha=0.25, linewidth=0, zorder=2.0)
        if epsilon is not None:
            ax.fill_between(
                x,
                edge,
                foot,
                where=(np.abs(x) < epsilon).tolist(),
                color=LIGHTFAIR.colour,
                alpha=0.55,
                linewidth=0,
                zorder=2.1,
            )
        ax.plot(
            x,
            edge,
            color=LIGHTFAIR.colour,
            linestyle=LIGHTFAIR.line,
            linewidth=1.6,
            label="lightfair",
            zorder=3.1,
        )
        return [float(x[0]), float(x[-1])]
    return []


def _curve(draws: Floats, bounds: tuple[float, float]) -> tuple[Floats, Floats] | None:
    """The density of draws, of the middle ones where a number has no bound; None for one value."""
    if not np.isfinite(bounds).all():
        low, high = np.quantile(draws, [0.5 * OUTER, 1.0 - 0.5 * OUTER])
        draws = draws[(draws >= low) & (draws <= high)]
    if np.ptp(draws) < 1e-12:
        return None
    x, y = density(draws, bounds)
    return x, y if np.isfinite(bounds).all() else y * (1.0 - OUTER)


def _missing(rows: list[_Row]) -> list[str]:
    """Why labels alone say nothing, each reason once, with the groups where it is not of all."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.labels is None and row.reason is not None:
            found.setdefault(row.reason, []).append(row.name)
    return [
        f"labels only: {why}" + ("" if len(names) == len(rows) else f" ({', '.join(names)})")
        for why, names in found.items()
    ]


def _legend(rows: list[_Row], region: bool) -> tuple[list[Any], list[str]]:
    """Handles and labels of what is there."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    found: dict[str, Any] = {}
    if any(row.ours.reason is None and np.ptp(row.ours.defined) >= 1e-12 for row in rows):
        found["lightfair"] = Patch(facecolor=f"{BLUE}40", edgecolor=BLUE, linewidth=1.6)
    if any(row.labels is not None for row in rows):
        found["labels only"] = Line2D(
            [],
            [],
            color=LABELS_ONLY.colour,
            linestyle=LABELS_ONLY.line,
            linewidth=LABELS_ONLY.width,
        )
    if any(row.ours.reason is None and np.ptp(row.ours.defined) < 1e-12 for row in rows):
        found["exact"] = handle(EXACT, line=False)
    if region:
        found["practically fair"] = shaded()
    return list(found.values()), list(found)


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
