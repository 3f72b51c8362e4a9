"""A metric against the threshold: of every group, or the gap between groups."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.assessment import Assessment
from ..core.comparison.gaps import ByGroup, largest_gap, only_one
from ..core.data.logit import Floats
from ..core.metrics.estimate import Estimate, Gap
from ..thresholds.curve import ThresholdCurve, requested_curve
from . import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOTES = 4  # lines about undefined values


def thresholds(
    result: Assessment, metric: str, *, quantity: str = "groups", ax: Axes | None = None
) -> Axes:
    """Plot a metric of every group against the threshold, or the gap between groups.

    Parameters
    ----------
    result : Assessment
        Its thresholds are those requested, or up to 64 near quantiles of the scores.
    metric : str
        A metric of decisions, assessed or not.
    quantity : {"groups", "gap"}
        "gap" is the difference from the reference if there are two groups, and the largest gap
        between any two if there are more: its median, for it has no sign.
    ax : Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    Axes
        Bands are pointwise, at the credible level of the settings; more than three groups have
        whiskers instead, each at places of its own. Undefined values are not plotted; the reasons
        are printed below. The upright line is the threshold of the assessment. With more than six
        groups those with most labeled rows are plotted, and a note says so.

    Raises
    ------
    ValueError
        If the metric is unknown or a metric of scores, the quantity is unknown, or a gap is
        requested with only one group.

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
    canvas.check_in("quantity", quantity, ("groups", "gap"))
    if quantity == "gap" and len(result.groups) < 2:
        raise ValueError(only_one(result.groups))
    curve, settings = requested_curve(result), result.settings
    curve.metric(metric, result.groups[0])  # raises if it is not a metric of decisions
    ax = canvas.axes_for(ax, "both")
    cuts = curve.thresholds
    notes: list[str] = []
    legend: dict[str, Any] = {}
    if quantity == "groups":
        names, left_out = canvas.choose_groups(result, None)
        looks = dict(zip(names, canvas.GROUPS, strict=False))
        if len(names) > 1:
            legend = {name: canvas.handle(look) for name, look in looks.items()}
        title, y = f"{metric} by threshold", metric
        for index, (name, look) in enumerate(looks.items()):
            one = [*curve.metric(metric, name).values()]
            canvas.draw_curve(ax, cuts, _line(one, settings.prob), look, index, len(names))
            notes += _reasons(cuts, one, name)
        notes = [left_out] * bool(left_out) + notes
    else:
        two = len(result.groups) == 2
        base = str(settings.reference)
        if two:
            other = next(name for name in result.groups if name != base)
            estimates: Sequence[Estimate | Gap] = [*curve.difference(metric, other, base).values()]
            title, y = f"{metric}: {other} minus {base}", f"{metric} difference"
            ax.axhline(0.0, color=canvas.GREY, linewidth=0.9, zorder=1.0)
        else:
            estimates = _largest_gaps(result, curve, metric)
            title, y = f"{metric}: largest gap between groups", f"{metric}: highest minus lowest"
        ax.axhspan(-settings.epsilon if two else 0.0, settings.epsilon, zorder=0.5, **canvas.SHADE)
        canvas.draw_curve(ax, cuts, _line(estimates, settings.prob), canvas.LIGHTFAIR, 0, 1)
        near = f"less than {settings.epsilon:g} from 0"
        legend = {
            "mean" if two else "median": canvas.handle(canvas.LIGHTFAIR),
            near: canvas.patch(),
        }
        notes = _reasons(cuts, estimates, "")
    if isinstance(settings.threshold, float):
        ax.axvline(settings.threshold, color=canvas.GREY, linewidth=0.9, zorder=1.5)
    notes[NOTES:] = [f"and {len(notes) - NOTES} more"] * (len(notes) > NOTES)
    shape = "bands" if len(legend) <= canvas.BANDED else "whiskers"
    x = f"threshold; {shape}: {100 * settings.prob:g} %"
    canvas.finish(ax, title, x, y, legend=legend, notes=notes)
    return ax


def _line(estimates: Sequence[Estimate | Gap], prob: float) -> tuple[Floats, Floats, Floats]:
    """Means, or medians of gaps, and the ends of intervals: float64 (threshold,) each."""
    middle = [one.median if isinstance(one, Gap) else one.mean for one in estimates]
    low, high = np.array([one.interval(prob) for one in estimates]).T
    return np.array(middle), low, high


def _largest_gaps(result: Assessment, curve: ThresholdCurve, metric: str) -> list[Gap]:
    """The largest gap at each threshold."""
    draws, of = curve.draws(metric), result.settings.metric(metric)
    known = np.zeros(len(curve.groups), dtype=bool)  # has no effect on the interval
    return [
        largest_gap(ByGroup(draws[:, :, at], curve.groups, of.lack, known, of.label_free))
        for at in range(len(curve.thresholds))
    ]


def _reasons(cuts: Floats, estimates: Sequence[Estimate | Gap], name: str) -> list[str]:
    """Why values are undefined, or what they leave out: a line for each run of thresholds."""

    def reason(pair: tuple[float, Estimate | Gap]) -> str | None:
        one = pair[1]
        left_out = one.left_out and f"without {', '.join(one.left_out)}, no {one.lack}"
        return one.reason or left_out or None

    notes = []
    for why, run in groupby(zip(cuts.tolist(), estimates, strict=True), reason):
        first, *others = (cut for cut, _ in run)
        end = f" to {others[-1]:.2g}" if others else ""
        notes += [f"{name} at {first:.2g}{end}: {why}".lstrip()] * (why is not None)
    return notes
