"""Forest plots: a metric of every group, or every difference from the reference, a row each.

Each row shows, from the top down, the interval of lightfair, that of labels only, and the
prediction-powered one. The numbers are those of `to_dict`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.assessment import Assessment
from ..core.comparison.gaps import only_one
from ..core.data.messages import check_kind, index_of, probability
from ..core.values import counts_of, metric_values
from . import canvas

LEAST_SPAN = 0.1  # of the axis, in ranges of the metric: values that are nearly equal look so


METHODS = {  # key in `to_dict`: name, look, and place in a row
    "": ("lightfair", canvas.LIGHTFAIR, -0.22),
    "labels_only": ("labels only", canvas.LABELS_ONLY, 0.0),
    "prediction_powered": ("prediction-powered", canvas.POWERED, 0.22),
}


def groups(result: Assessment, metric: str, *, ax: canvas.Axes | None = None) -> canvas.Axes:
    """Plot a metric of every group with its intervals, beside labels only.

    Parameters
    ----------
    result : Assessment
    metric : str
        One of the assessed metrics.
    ax : canvas.Axes, optional
        Where to draw. Default: a new figure, as high as the groups need.

    Returns
    -------
    Axes
        A metric known exactly is a diamond without an interval. If labels were hidden from the
        assessment, an upright line is the truth.

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
    >>> ax = lf.plot.groups(result, "tpr", ax=Figure().add_subplot())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['A\\n39 labeled', 'B\\n21 labeled']
    """
    return _forest(result, metric, ax, "groups")


def differences(result: Assessment, metric: str, *, ax: canvas.Axes | None = None) -> canvas.Axes:
    """Plot the difference of every group from the reference, and P(difference > 0).

    Parameters
    ----------
    result : Assessment
        With two or more groups.
    metric : str
        One of the assessed metrics.
    ax : canvas.Axes, optional
        Where to draw. Default: a new figure, as high as the groups need.

    Returns
    -------
    Axes
        Differences below epsilon are shaded.

    Raises
    ------
    ValueError
        If the metric was not assessed, or there is only one group.

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
    return _forest(result, metric, ax, "differences")


def _forest(result: Assessment, metric: str, ax: canvas.Axes | None, kind: str) -> canvas.Axes:
    """Draw the rows of "groups" or "differences", and everything around them."""
    check_kind(result, Assessment, "result", "assess")
    index_of(metric, [*result.theta], "metric")  # an unknown one raises
    settings, differ = result.settings, kind == "differences"
    if differ and settings.reference is None:
        raise ValueError(only_one(result.groups))
    entries = metric_values(result, metric)[kind]
    ax = canvas.axes_for(ax, "x", len(entries))
    counts = dict(zip(result.groups, counts_of(result), strict=True))
    names = [entry["group" if differ else "name"] for entry in entries]
    canvas.name_rows(ax, names, [f"{counts[name]['labeled']:,} labeled" for name in names])
    legend: dict[str, Any] = {}
    notes, undefined = [], []
    label_free = metric in settings.label_free
    truth = canvas.Look(str(ax.xaxis.label.get_color()), "|", "none", 1.6)
    for row, entry in enumerate(entries):
        undefined.append((names[row], entry.get("reason")))
        if differ:
            canvas.write(ax, row, probability(entry["prob_positive"], exact=entry["exact"]))
        for key, (name, look, place) in list(METHODS.items())[: 1 if label_free else None]:
            one = entry[key] if key else entry
            if one["interval"] is not None:
                exact = bool(one.get("exact"))
                name, look = ("exact", canvas.EXACT) if exact else (name, look)
                ends, at = None if exact else one["interval"], row + place * (not label_free)
                canvas.draw_interval(ax, at, one["mean"], ends, look, name)
                legend[name] = canvas.handle(look)
            elif key:
                notes.append(f"no {name} interval: {one['reason']}")
        if entry.get("truth") is not None:
            options = canvas.style(truth, markersize=19.0, label="truth")
            ax.plot(entry["truth"], row, zorder=3.0, **options)
            legend["truth"] = canvas.handle(truth)
    title, x = f"{metric} by group", metric
    if differ:
        base = canvas.short(str(settings.reference))
        title, x = f"{metric}: differences from {base}", f"{metric} minus that of {base}"
        legend[f"smaller than {settings.epsilon:g}"] = canvas.shade_near_zero(ax, settings.epsilon)
        canvas.write(ax, -0.55, "P(>0)")
    if not all(entry["exact"] for entry in entries):
        x += f", {100 * settings.prob:g} % intervals"
    low, high = ax.get_xlim()
    least = LEAST_SPAN * np.ptp(settings.metric(metric).bounds)
    if high - low < least < np.inf:
        ax.set_xlim(0.5 * (low + high - least), 0.5 * (low + high + least))
    canvas.finish(ax, title, x, legend=legend, notes=notes, undefined=undefined)
    return ax
