"""The posterior density of a difference, ours and that of labels only.

Densities are estimated from the draws (`kernel`); the probability beside them is that of the draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compare import Estimate
from ..model import Floats
from ..showing import probability
from .asked import assessed, assessment, group_of
from .canvas import (
    axes_for,
    beside,
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
from .kernel import density
from .names import TITLE, brief
from .style import BLUE, EXACT, GREY, LABELS_ONLY, LIGHTFAIR, PALE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..assessment import Assessment

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
