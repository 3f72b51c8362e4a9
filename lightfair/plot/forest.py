"""Forest plots: a metric of every group, or every difference from the reference, a row each.

In a row lightfair's interval is above, below it that of labels only and, lighter, the
prediction-powered one. The numbers are those of `to_dict`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.comparison.gaps import only_one
from ..core.data.messages import probability
from ..core.values import KNOWN, metric_values
from .canvas import (
    EXACT,
    LABELS_ONLY,
    LIGHTFAIR,
    POWERED,
    TITLE,
    TRUTH,
    Look,
    assessed,
    assessment,
    axes_for,
    beside,
    brief,
    handle,
    ink,
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

APART = 0.22  # of a row, between two methods

DASH = "\N{EN DASH}"

ROOM = 3.0  # times the width of lightfair's intervals, for others where a metric has no bound

LEAST_SPAN = 0.1  # of the axis, as a part of the range of the metric


class Method(NamedTuple):
    """A method: its name, look, place in a row, and what stands before a reason there.

    Where nothing stands before it a dash is in the row, and the reason once, below the plot.
    """

    name: str
    look: Look
    at: float
    says: str


METHODS = (
    Method("lightfair", LIGHTFAIR, -APART, "undefined: "),
    Method("labels only", LABELS_ONLY, 0.0, ""),
    Method("prediction-powered", POWERED, APART, ""),
)


def groups(result: Assessment, metric: str, *, ax: Axes | None = None) -> Axes:
    """Draw a metric of every group with its intervals, beside labels only.

    Parameters
    ----------
    result
    metric
        One that was assessed.
    ax
        Where to draw. Default: a new figure, as high as the groups need.

    Returns
    -------
    The Axes. A metric that is a fact of the rows is a diamond without an interval. Where labels
    were hidden from the assessment, an upright line is the truth.

    Raises
    ------
    TypeError
        If the result is no assessment, or ax no Axes.
    ValueError
        If the metric was not assessed.

    Examples
    --------
    >>> import lightfair as lf
    >>> from matplotlib.figure import Figure
    >>> rows = lf.simulate(400, 60, rng=3)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> ax = lf.plot.groups(result, "tpr", ax=Figure().add_subplot())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['A\\n39 labeled', 'B\\n21 labeled']
    """
    metric = assessed(assessment(result), metric)
    entries = metric_values(result, metric)["groups"]
    ax = axes_for(ax, len(entries))
    labeled = result.table.sums("rows")[..., :2].sum(axis=(1, 2))
    named_rows(ax, result.groups, [f"{int(n):,} labeled" for n in labeled])
    _forest(ax, entries, result, metric)
    return ax


def differences(result: Assessment, metric: str, *, ax: Axes | None = None) -> Axes:
    """Draw the difference of every group from the reference, and how probably it is positive.

    Parameters
    ----------
    result
        Of two or more groups.
    metric
        One that was assessed.
    ax
        Where to draw. Default: a new figure, as high as the groups need.

    Returns
    -------
    The Axes. The region less than epsilon away from 0 is shaded.

    Raises
    ------
    TypeError
        If the result is no assessment, or ax no Axes.
    ValueError
        If the metric was not assessed, or there is one group.

    Examples
    --------
    >>> import lightfair as lf
    >>> from matplotlib.figure import Figure
    >>> rows = lf.simulate(400, 60, rng=3)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> ax = lf.plot.differences(result, "tpr", ax=Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'tpr: differences from A'
    """
    metric = assessed(assessment(result), metric)
    if result.settings.reference is None:
        raise ValueError(only_one(result.groups))
    entries = metric_values(result, metric)["differences"]
    ax = axes_for(ax, len(entries))
    near_zero(ax, result.settings.epsilon)
    labeled = dict(
        zip(result.groups, result.table.sums("rows")[..., :2].sum(axis=(1, 2)), strict=True)
    )
    others = [entry["group"] for entry in entries]
    named_rows(ax, others, [f"{int(labeled[name]):,} labeled" for name in others])
    for row, entry in enumerate(entries):
        beside(ax, row, probability(entry["prob_positive"], exact=entry["exact"]))
    _forest(ax, entries, result, metric, reference=str(result.settings.reference))
    beside(ax, -0.55, "P(>0)")
    return ax


def _forest(
    ax: Axes,
    entries: list[dict[str, Any]],
    result: Assessment,
    metric: str,
    reference: str | None = None,
) -> None:
    """Draw rows, and what they mean."""
    plain_frame(ax, "x")
    ax.spines["left"].set_visible(False)
    settings = result.settings
    free = metric in settings.label_free
    key: dict[str, Any] = {}
    missing: dict[str, None] = {}
    for method in METHODS[:1] if free else METHODS:
        _method(ax, entries, method, free, key)
        missing |= dict.fromkeys(_undefined(ax, entries, method, free))
    _truths(ax, entries, key)
    near = 0.0 if reference is None else settings.epsilon
    _limits(ax, entries, settings.metric(metric).bounds, near)
    facts = all(entry.get("exact") for entry in entries)
    prob = "" if facts else f", {100 * settings.prob:g} % intervals"
    title, x = f"{metric} by group", f"{metric}{prob}"
    if reference is not None:
        title = f"{metric}: differences from {brief(reference, TITLE)}"
        x = f"{metric} minus that of {brief(reference)}{prob}"
        key[f"less than {settings.epsilon:g} from 0"] = shaded()
    titled(ax, title, x, above=legend(ax, list(key.values()), list(key)))
    if missing:
        note(ax, *missing)


def _method(
    ax: Axes, entries: list[dict[str, Any]], method: Method, free: bool, key: dict[str, Any]
) -> None:
    """Draw what a method says, and add it to the legend."""
    at = 0.0 if free else method.at
    placed = [(_of(entry, method.name), row + at) for row, entry in enumerate(entries)]
    exact = [(one["mean"], y) for one, y in placed if one.get("exact")]
    rest = [(one, y) for one, y in placed if one["interval"] is not None and not one.get("exact")]
    if rest:
        _intervals(ax, method, rest)
        key[method.name] = handle(method.look)
    if exact:
        ax.plot(
            [mean for mean, _ in exact],
            [y for _, y in exact],
            color=EXACT.colour,
            marker=EXACT.marker,
            markersize=7.0,
            linestyle="none",
            label="exact",
            zorder=4.0,
        )
        why = "known without labels" if free else "all rows labeled"
        key[f"exact: {why}"] = handle(EXACT, line=False)


def _undefined(
    ax: Axes, entries: list[dict[str, Any]], method: Method, free: bool
) -> Iterator[str]:
    """Put reasons in place of what is undefined; yield those that are to stand below the plot."""
    at = 0.0 if free else method.at
    for row, entry in enumerate(entries):
        reason = _of(entry, method.name).get("reason")
        if reason is None or reason == KNOWN:
            continue
        if method.says:
            inside(ax, row + at, f"{method.says}{reason}", colour=method.look.colour)
        else:
            inside(ax, row + at, DASH, colour=method.look.colour, size="medium")
            yield f"{DASH} {method.name}: {reason}"


def _truths(ax: Axes, entries: list[dict[str, Any]], key: dict[str, Any]) -> None:
    """Draw the truth where it is known."""
    known = [(e["truth"], row) for row, e in enumerate(entries) if e.get("truth") is not None]
    if not known:
        return
    ax.plot(
        [value for value, _ in known],
        [row for _, row in known],
        color=ink(),
        marker=TRUTH.marker,
        markersize=19.0,
        markeredgewidth=TRUTH.width,
        linestyle="none",
        label="truth",
        zorder=3.0,
    )
    key["truth"] = handle(TRUTH._replace(colour=ink()), line=False)


def _of(entry: dict[str, Any], method: str) -> dict[str, Any]:
    """What a method says in an entry."""
    if method == "lightfair":
        return entry
    found: dict[str, Any] = entry[method.replace(" ", "_").replace("-", "_")]
    return found


def _intervals(ax: Axes, method: Method, found: list[tuple[dict[str, Any], float]]) -> None:
    """Draw intervals, and means where there are such."""
    look = method.look
    low, high = zip(*(one["interval"] for one, _ in found), strict=True)
    y = [at for _, at in found]
    ax.hlines(
        y, low, high, colors=look.colour, linestyles=look.line, linewidth=look.width, zorder=2.0
    )
    means = [(one["mean"], at) for one, at in found if one["mean"] is not None]
    ax.plot(
        [mean for mean, _ in means],
        [at for _, at in means],
        color=look.colour,
        marker=look.marker,
        markersize=5.5,
        markerfacecolor=look.colour if look.filled else ax.get_facecolor(),
        linestyle="none",
        label=method.name,
        zorder=4.0,
    )


def _limits(
    ax: Axes, entries: list[dict[str, Any]], bounds: tuple[float, float], near: float
) -> None:
    """Show all intervals; where a metric has no bound, those of other methods only near ours.

    What goes on beyond the edge has an arrow there. Facts that are alike look alike: the axis is
    never narrower than a part of the range. near: what is to be seen on both sides of 0.
    """
    ours = [e["interval"] for e in entries if e["interval"]]
    ours += [[e["truth"]] * 2 for e in entries if e.get("truth") is not None]
    every = [
        (row + method.at, _of(entry, method.name)["interval"], method.look.colour)
        for row, entry in enumerate(entries)
        for method in METHODS
        if _of(entry, method.name)["interval"]
    ]
    all_ends = np.array(
        [interval for _, interval, _ in every] + ours + [[-near, near]] * (near > 0.0)
    )
    if not all_ends.size:
        ax.set_xlim(*(bounds if np.isfinite(bounds).all() else (0.0, 1.0)))
        return
    low, high = all_ends.min(), all_ends.max()
    if not np.isfinite(bounds).all() and ours:
        mine = np.array(ours)
        room = ROOM * max(np.ptp(mine), 1e-3)
        low, high = max(low, mine.min() - room), min(high, mine.max() + room)
    middle, span = 0.5 * (low + high), bounds[1] - bounds[0]
    least = LEAST_SPAN * (span if np.isfinite(span) else max(abs(middle), 1e-2))
    margin = max(0.04 * (high - low), 0.5 * (least - (high - low)))
    ax.set_xlim(low - margin, high + margin)
    for row, (start, end), colour in every:
        for beyond, edge, marker in ((start < low, low, "<"), (end > high, high, ">")):
            if beyond:
                ax.plot(edge, row, marker=marker, color=colour, markersize=5.0, clip_on=False)
