"""A monitored check: the gap with most evidence, by look."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..audit.monitor import Monitoring
from ..core.data.messages import check_kind
from . import canvas

TICKS = 4  # periods that are named


def monitoring(found: Monitoring, *, ax: canvas.Axes | None = None) -> canvas.Axes:
    """Plot the gap with most evidence by look, its interval, the limit, and the alarm.

    Parameters
    ----------
    found : Monitoring
    ax : canvas.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    Axes
        The line is the estimate from all rows so far, the band its interval at that look alone. The
        level line is the limit. An upright line is the first look with an alarm.

    Examples
    --------
    >>> import lightfair as lf
    >>> from matplotlib.figure import Figure
    >>> rows = lf.simulate(400, 60, rng=3)
    >>> data = lf.score_data(rows.y_true, rows.y_score, sensitive_features=rows.group)
    >>> found = lf.monitor({"2026-01": lf.score_table(data)}, "tpr<=0.1", rng=1)
    >>> ax = lf.plot.monitoring(found, ax=Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'tpr<=0.1: insufficient evidence'
    """
    check_kind(found, Monitoring, "found", "monitor")
    ax = canvas.axes_for(ax, "both")
    worst, ratio = found.gaps[0], found.check.relation == "ratio"
    at = np.arange(len(found.looks), dtype=np.float64)
    canvas.draw_curve(ax, at, (worst.middle, worst.low, worst.high), canvas.LIGHTFAIR)
    line: dict[str, Any] = {"color": ax.xaxis.label.get_color(), "linewidth": 1.0}
    legend: dict[str, Any] = {"gap": canvas.handle(canvas.LIGHTFAIR)}
    limit = ax.axhline(found.check.within, linestyle=":", **line)
    legend[f"limit {found.check.within:g}"] = limit
    if found.alarm is not None:
        legend["alarm"] = ax.axvline(found.alarm, linestyle="--", **line)
    step = -(-len(at) // TICKS)
    ax.set_xticks(at[::step], labels=[canvas.short(one.period) for one in found.looks[::step]])
    for label in ax.get_xticklabels():
        canvas.literal(label)
    ends = f"{100 * found.assessment.settings.prob:g} % interval of each look"
    pair = f"{worst.lower} / {worst.higher}" if ratio else f"{worst.higher} - {worst.lower}"
    status = found.status if found.status != "insufficient" else "insufficient evidence"
    title = f"{found.check.text}: {status}"
    canvas.finish(ax, title, f"look; band: {ends}", f"{worst.metric}, {pair}", legend=legend)
    return ax
