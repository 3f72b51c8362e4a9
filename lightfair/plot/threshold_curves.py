"""A metric against the threshold: of every group, or the gap between groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.comparison.gaps import ByGroup, largest_gap, only_one
from ..core.data.logit import Floats
from ..core.metrics.estimate import Estimate
from ..thresholds.curve import asked_curve
from .canvas import (
    BANDED,
    GREY,
    GROUPS,
    LIGHTFAIR,
    TITLE,
    Look,
    assessment,
    axes_for,
    band,
    brief,
    chosen_groups,
    decided,
    fitted,
    handle,
    legend,
    note,
    one_of,
    places,
    plain_frame,
    shade,
    shaded,
    titled,
    whiskers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..core.assessment import Assessment
    from ..thresholds.curve import ThresholdCurve

QUANTITIES = ("groups", "gap")

FEW = 12  # thresholds up to which each has a marker

NOTES = 4  # lines on what is undefined


def thresholds(
    result: Assessment, metric: str, *, quantity: str = "groups", ax: Axes | None = None
) -> Axes:
    """Draw a metric of every group against the threshold, or the gap between groups.

    Parameters
    ----------
    result
        Its thresholds are those that it was asked for, or up to 64 near quantiles of the scores.
    metric
        One of decisions; it need not be among those assessed.
    quantity : {"groups", "gap"}
        "gap" is the difference from the reference where there are two groups, and the largest gap
        between any two where there are more: its median, for it has no sign.
    ax
        Where to draw. Default: a new figure.

    Returns
    -------
    The Axes. Bands are pointwise, of the mass of the settings; more than three groups have whiskers
    in their place, each at thresholds of its own, where its marks are. Where a number is undefined
    no line is drawn, and a line below says why. The upright line is the threshold of the
    assessment. Of more than six groups those with most labeled rows are drawn, as the plot says.

    Raises
    ------
    TypeError
        If the result is no assessment, or ax no Axes.
    ValueError
        If the metric is unknown or one of scores, quantity is another one, or a gap is asked of one
        group.

    Examples
    --------
    >>> import lightfair as lf
    >>> from matplotlib.figure import Figure
    >>> rows = lf.simulate(400, 60, rng=3)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> ax = lf.plot.thresholds(result, "tpr", quantity="gap", ax=Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'tpr: B minus A'
    """
    metric = decided(assessment(result), metric)
    quantity = one_of("quantity", quantity, QUANTITIES)
    if quantity == "gap" and len(result.groups) < 2:
        raise ValueError(only_one(result.groups))
    curve = asked_curve(result)
    ax = axes_for(ax)
    plain_frame(ax, "both")
    draw = _groups if quantity == "groups" else _gap
    draw(ax, result, curve, metric)
    return ax


class _Line(NamedTuple):
    """Centre and ends of a number at each threshold, float64 (threshold,), NaN where undefined.

    reason: why it is undefined there, or what is left out of it; None for neither.
    """

    centre: Floats
    low: Floats
    high: Floats
    reason: list[str | None]


def _groups(ax: Axes, result: Assessment, curve: ThresholdCurve, metric: str) -> None:
    """Draw the metric of each group."""
    chosen, left_out = chosen_groups(result, None)
    names = fitted([result.groups[at] for at in chosen])
    notes = [left_out] if left_out else []
    size = len(chosen)
    lines = [_of(result, curve.metric(metric, result.groups[at])) for at in chosen]
    ends = [_ends(curve.thresholds, line) for line in lines]
    for index, (line, look, name) in enumerate(zip(lines, GROUPS, names, strict=False)):
        _drawn(ax, curve.thresholds, line, look, places(ends, index), size)
        notes += _why(curve.thresholds, line, name.replace("\n", " "))
    marked = size > BANDED or len(curve.thresholds) <= FEW
    handles = [handle(look, marker=marked) for look in GROUPS[:size]]
    above = 0.0 if size == 1 else legend(ax, handles, names)
    shown = "bands" if size <= BANDED else "whiskers"
    _finished(ax, result, curve, (f"{metric} by threshold", metric, shown), above, notes)


def _gap(ax: Axes, result: Assessment, curve: ThresholdCurve, metric: str) -> None:
    """Draw the difference of two groups, or the largest gap of several."""
    epsilon = result.settings.epsilon
    two = len(result.groups) == 2
    if two:
        base = str(result.settings.reference)
        other = next(name for name in result.groups if name != base)
        line = _of(result, curve.difference(metric, other, base))
        title, y = (
            f"{metric}: {brief(other, TITLE)} minus {brief(base, TITLE)}",
            f"{metric} difference",
        )
        ax.axhline(0.0, color=GREY, linewidth=0.9, zorder=1.0)
    else:
        line = _largest(result, curve, metric)
        title, y = (
            f"{metric}: largest gap between groups",
            f"{metric}: highest minus lowest",
        )
    shade(ax, -epsilon if two else 0.0, epsilon, level=True)
    _drawn(ax, curve.thresholds, line, LIGHTFAIR, np.zeros(0), 1)
    if not two:
        ax.set_ylim(bottom=0.0)
    handles = [handle(LIGHTFAIR, marker=False), shaded()]
    above = legend(ax, handles, ["mean" if two else "median", f"less than {epsilon:g} from 0"])
    notes = _why(curve.thresholds, line, "")
    _finished(ax, result, curve, (title, y, "bands"), above, notes)


def _of(result: Assessment, estimates: dict[float, Estimate]) -> _Line:
    """The line of estimates."""
    found = list(estimates.values())
    ends = np.array([one.interval(result.settings.prob) for one in found])
    return _Line(
        np.array([one.mean for one in found]), ends[:, 0], ends[:, 1], [one.reason for one in found]
    )


def _largest(result: Assessment, curve: ThresholdCurve, metric: str) -> _Line:
    """The largest gap: median and interval."""
    draws, of = curve.draws(metric), result.settings.metric(metric)
    known = np.zeros(len(curve.groups), dtype=bool)
    if result.settings.target != "population":
        known = np.asarray(curve.labeled) | of.label_free
    centre, ends, reasons = [], [], []
    for at in range(len(curve.thresholds)):
        gap = largest_gap(ByGroup(draws[:, :, at], curve.groups, of.lack, known, of.label_free))
        centre.append(gap.median)
        ends.append(gap.interval(result.settings.prob))
        without = f"without {len(gap.left_out)} of {len(curve.groups)} groups, no {of.lack}"
        reasons.append(gap.reason or (without if gap.left_out else None))
    low, high = np.array(ends).T
    return _Line(np.array(centre), low, high, reasons)


def _ends(cuts: Floats, line: _Line) -> tuple[float, float]:
    """From which threshold to which a line is defined; all of them where it nowhere is."""
    known = cuts[~np.isnan(line.centre)]
    known = known if known.size else cuts
    return float(known.min()), float(known.max())


def _drawn(ax: Axes, cuts: Floats, line: _Line, look: Look, stand: Floats, size: int) -> None:
    """Draw one of `size` lines, run by run of thresholds at which it is one defined number."""
    defined = ~np.isnan(line.centre)
    said = np.array([str(reason) for reason in line.reason])
    runs = [run for reason in dict.fromkeys(said) for run in _runs(defined & (said == reason))]
    many = size > BANDED
    for first, last in runs:
        some = slice(first, last)
        low, high = line.low[some], line.high[some]
        if last - first > 1:
            whiskers(ax, stand, cuts[some], (line.centre[some], low, high), look)
        elif many:
            ax.vlines(cuts[some], low, high, colors=look.colour, linewidth=1.1, zorder=2.5)
        band(ax, cuts[some], low, high, look, size)
        ax.plot(
            cuts[some],
            line.centre[some],
            color=look.colour,
            linestyle=look.line,
            linewidth=look.width,
            marker=look.marker if last - first == 1 or (len(cuts) <= FEW and not many) else "",
            markersize=5.0,
            zorder=3.0,
        )


def _runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and one past the last index of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _why(cuts: Floats, line: _Line, name: str) -> list[str]:
    """Say where a line is undefined, and why; one sentence for each run of one reason."""
    said = []
    for reason in dict.fromkeys(line.reason):
        if reason is None:
            continue
        for first, last in _runs(np.array([one == reason for one in line.reason])):
            at, until = cuts[first], cuts[last - 1]
            where = f"at {at:.2g}" if first + 1 == last else f"from {at:.2g} to {until:.2g}"
            said.append((name, where, reason))
    return [f"{name}{' ' if name else ''}{where}: {reason}" for name, where, reason in said]


def _finished(
    ax: Axes,
    result: Assessment,
    curve: ThresholdCurve,
    words: tuple[str, str, str],
    above: float,
    notes: list[str],
) -> None:
    """Mark the threshold of the assessment, and set what stands around the data.

    words: the title, what the vertical axis is, and what shows intervals.
    """
    title, y, shown = words
    main = result.settings.threshold
    if isinstance(main, float):
        ax.axvline(main, color=GREY, linewidth=0.9, zorder=1.5)
    ax.margins(x=0.02)
    prob = f"{100 * result.settings.prob:g} %"
    titled(ax, title, f"threshold; {shown}: {prob}", y, above=above)
    if notes:
        more = [f"and {len(notes) - NOTES} more"] if len(notes) > NOTES else []
        note(ax, *notes[:NOTES], *more)
