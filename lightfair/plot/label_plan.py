"""A label plan: how wide intervals are expected to be after more labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .canvas import (
    GREY,
    GROUPS,
    TITLE,
    axes_for,
    brief,
    fitted,
    handle,
    ink,
    label_plan,
    legend,
    literal,
    note,
    plain_frame,
    shade,
    titled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from ..planning.plan import Expected, LabelPlan

ERRORS = 2.0  # Monte Carlo standard errors of a whisker


def plan(plan: LabelPlan, *, ax: Axes | None = None) -> Axes:
    """Draw the expected width of intervals against the number of extra labels.

    Parameters
    ----------
    plan
        Of `plan_labels`.
    ax
        Where to draw. Default: a new figure.

    Returns
    -------
    The Axes. A line for each difference that was planned for, or for the group where there is one;
    of more than six the widest have a colour and a name. Whiskers are two Monte Carlo standard
    errors. The level line is the width asked for, the upright line the number of labels with which
    it is reached, the shade beside it the range of that number.

    Raises
    ------
    TypeError
        If it is no plan, or ax no Axes.

    Examples
    --------
    >>> import lightfair as lf
    >>> from matplotlib.figure import Figure
    >>> rows = lf.simulate(400, 60, rng=3)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> planned = lf.plan_labels(result, "tpr", 0.2, refits=0, rng=1)
    >>> ax = lf.plot.plan(planned, ax=Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'Plan for tpr minus that of A'
    """
    plan = label_plan(plan)
    ax = axes_for(ax)
    plain_frame(ax, "both")
    every = plan.of_differences or plan.of_groups
    first = np.array([found.width[0] for found in every])
    order = [i for i in np.argsort(-first, kind="stable") if not np.isnan(first[i])]
    named, rest = order[: len(GROUPS)], order[len(GROUPS) :]
    for i in rest:
        ax.plot(plan.extra, every[i].width, color=GREY, linewidth=0.8, alpha=0.6, zorder=1.8)
    for i, look in zip(named, GROUPS, strict=False):
        ax.errorbar(
            plan.extra,
            every[i].width,
            yerr=ERRORS * np.nan_to_num(every[i].mcse),
            color=look.colour,
            linestyle=look.line,
            linewidth=look.width,
            marker=look.marker,
            markersize=5.0,
            elinewidth=1.0,
            capsize=2.5,
            zorder=3.0,
        )
    handles = [handle(look) for look in GROUPS[: len(named)]]
    labels = fitted([every[i].group for i in named])
    if rest:
        handles.append(_thin())
        labels.append(f"{len(rest)} more, narrower")
    above = legend(ax, handles, labels) if handles else 0.0
    ax.axhline(plan.width, color=ink(), linewidth=1.0, linestyle=(0, (1.0, 1.5)), zorder=1.5)
    _mark(ax, f"width {plan.width:g}", (1.0, plan.width), ("axes fraction", "data"), "right")
    if plan.labels is not None:
        _reached(ax, plan)
    ax.set_ylim(bottom=0.0)
    known = int(plan.labeled.sum())
    bases = {found.reference for found in every}
    base = bases.pop() if len(bases) == 1 else None
    of = "" if base is None else f" minus that of {brief(base, TITLE)}"
    titled(
        ax,
        f"Plan for {plan.metric}{of}",
        f"extra labels, beside the {known:,} that are there",
        f"expected width of {100 * plan.prob:g} % intervals",
        above=above,
    )
    said = (
        [] if plan.labels is not None else [f"width {plan.width:g} is out of reach: {plan.reason}"]
    )
    said += [f"{_name(e)}: undefined, {e.reason}" for e in every if e.reason is not None]
    if said:
        note(ax, *(brief(line, 90) for line in said))
    return ax


def _name(found: Expected) -> str:
    return found.group if found.reference is None else f"{found.group} minus {found.reference}"


def _thin() -> Line2D:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=GREY, linewidth=0.8, alpha=0.6)


def _reached(ax: Axes, plan: LabelPlan) -> None:
    """Mark the number of labels with which the width is reached."""
    assert plan.labels is not None
    ax.axvline(plan.labels, color=ink(), linewidth=1.0, linestyle=(0, (1.0, 1.5)), zorder=1.5)
    if plan.labels_range is not None:
        low, high = plan.labels_range
        shade(ax, low, float(plan.extra[-1]) if high is None else high)
    _mark(
        ax,
        f"{plan.labels:,} labels" if plan.labels else "reached now",
        (plan.labels, 1.0),
        ("data", "axes fraction"),
        "left",
    )


def _mark(ax: Axes, text: str, at: tuple[float, float], coords: tuple[str, str], side: str) -> None:
    literal(
        ax.annotate(
            text,
            xy=at,
            xycoords=coords,
            xytext=(-3 if side == "right" else 3, 3 if side == "right" else -3),
            textcoords="offset points",
            ha="right" if side == "right" else "left",
            va="bottom" if side == "right" else "top",
            fontsize="small",
            bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
            zorder=2.5,
        )
    )
