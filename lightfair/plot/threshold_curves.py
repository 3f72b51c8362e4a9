"""A metric of every group against the threshold."""

from __future__ import annotations

import numpy as np

from ..core.assessment import Assessment
from ..core.data.messages import check_kind
from ..thresholds.curve import requested_curve
from . import canvas


def thresholds(result: Assessment, metric: str, *, ax: canvas.Axes | None = None) -> canvas.Axes:
    """Plot a metric of every group against the threshold.

    Parameters
    ----------
    result : Assessment
        Its thresholds are those requested, or up to 64 near quantiles of the scores.
    metric : str
        A metric of decisions, assessed or not.
    ax : canvas.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    Axes
        Bands are pointwise, at the credible level of the settings. Undefined values are not
        plotted; the reasons are printed below. The upright line is the threshold of the
        assessment. With more than six groups those with most labeled rows are plotted, and a note
        says so.

    Raises
    ------
    ValueError
        If the metric is unknown or a metric of scores.

    Examples
    --------
    >>> import lightfair as lf
    >>> from matplotlib.figure import Figure
    >>> rows = lf.simulate(400, 60, rng=3)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> ax = lf.plot.thresholds(result, "tpr", ax=Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'tpr by threshold'
    """
    check_kind(result, Assessment, "result", "assess")
    curve, settings = requested_curve(result), result.settings
    most, labeled = len(canvas.GROUPS), result.table.sums("rows")[..., :2].sum(axis=(1, 2))
    drawn = np.sort(np.argsort(-labeled, kind="stable")[:most]).tolist()
    cuts = curve.group_draws(metric).values()  # raises before it draws
    ax = canvas.axes_for(ax, "both")
    looks = dict(zip(drawn, canvas.GROUPS, strict=False))
    total = len(result.groups)
    notes = [f"{most} of {total} groups: those with most labeled rows"] * (total > most)
    undefined = []
    for at, look in looks.items():
        estimates = [by.estimate(at) for by in cuts]
        means = np.array([estimate.mean for estimate in estimates])
        ends = np.array([estimate.interval(settings.prob) for estimate in estimates]).T
        canvas.draw_curve(ax, curve.thresholds, (means, *ends), look, len(drawn))
        reasons = dict.fromkeys(estimate.reason for estimate in estimates)
        undefined += [(result.groups[at], reason) for reason in reasons]
    if isinstance(settings.threshold, float):
        ax.axvline(settings.threshold, color=canvas.GREY, linewidth=0.9, zorder=1.5)
    x = f"threshold; bands: {100 * settings.prob:g} %"
    legend = {result.groups[at]: canvas.handle(look) for at, look in looks.items()}
    legend = legend if len(drawn) > 1 else {}
    title = f"{metric} by threshold"
    canvas.finish(ax, title, x, metric, legend=legend, notes=notes, undefined=undefined)
    return ax
