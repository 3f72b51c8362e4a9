"""A label plan: the expected width of intervals after more labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.data.messages import check_kind
from ..planning.plan import LabelPlan
from . import canvas


def plan(plan: LabelPlan, *, ax: canvas.Axes | None = None) -> canvas.Axes:
    """Plot the expected width of intervals against the number of extra labels.

    Parameters
    ----------
    plan : LabelPlan
    ax : canvas.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    Axes
        A line for each planned difference, or for the group if there is only one; of more than six
        the widest have a colour and a name. The level line is the requested width, the upright
        line the number of labels that reaches it.

    Examples
    --------
    >>> import lightfair as lf
    >>> from matplotlib.figure import Figure
    >>> rows = lf.simulate(400, 60, rng=3)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> planned = lf.plan_labels(result, "tpr", 0.2)
    >>> ax = lf.plot.plan(planned, ax=Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'Plan for tpr minus that of A'
    """
    check_kind(plan, LabelPlan, "plan", "plan_labels")
    ax = canvas.axes_for(ax, "both")
    defined = [one for one in plan.intervals if not np.isnan(one.width[0])]
    widest = sorted(defined, key=lambda one: -one.width[0])
    legend: dict[str, Any] = {}
    for one, look in zip(widest, canvas.GROUPS, strict=False):
        ax.plot(plan.extra, one.width, linestyle=look.dashes, **canvas.style(look))
        legend[one.group] = canvas.handle(look)
    for one in widest[len(canvas.GROUPS) :]:
        (line,) = ax.plot(plan.extra, one.width, color=canvas.GREY, linewidth=0.8, zorder=1.8)
        legend[f"{len(widest) - len(canvas.GROUPS)} more, narrower"] = line
    target: dict[str, Any] = {"color": ax.xaxis.label.get_color(), "linewidth": 1.0}
    legend[f"width {plan.width:g}"] = ax.axhline(plan.width, linestyle=":", **target)
    notes = []
    if plan.labels is None:
        notes.append(f"width {plan.width:g} is out of reach: {plan.reason}")
    else:
        reached = f"{plan.labels:,} labels" if plan.labels else "reached now"
        legend[reached] = ax.axvline(plan.labels, linestyle="--", **target)
    undefined = [
        (one.group if one.reference is None else f"{one.group} minus {one.reference}", one.reason)
        for one in plan.intervals
    ]
    ax.set_ylim(bottom=0.0)
    bases = {one.reference for one in plan.intervals} - {None}
    title = f"Plan for {plan.metric}"
    if len(bases) == 1:
        title += f" minus that of {bases.pop()}"
    x = f"extra labels, beyond the {int(plan.labeled.sum()):,} existing"
    y = f"expected width of {100 * plan.prob:g} % intervals"
    canvas.finish(ax, title, x, y, legend=legend, notes=notes, undefined=undefined)
    return ax
