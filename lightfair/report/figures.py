"""Figures of a report, as SVG images that are embedded in its page.

    each metric     differences from the reference; its groups; posterior of the differences
    thresholds      each metric by threshold, if several were given, or the metric of a search
    diagnostics     calibration of up to six groups
    monitor         the gap of a monitored check by look
    plan            expected width of intervals by number of labels
    models          each metric of the models

`plot` draws them, without a display. Without matplotlib there are none. The same result gives the
same bytes, whatever the style of the caller.
"""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Callable
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from .. import plot
from ..audit.monitor import Monitoring
from ..core.assessment import Assessment
from ..core.metrics.definitions import is_built_in
from ..core.values import counts_of
from ..model_comparison.comparison import ModelComparison
from ..planning.plan import LabelPlan
from ..thresholds.curve import counted_metrics
from ..thresholds.search import FoundThresholds

CALIBRATED = 6  # groups whose calibration is drawn

MOST_ROWS = 40  # groups in a figure

TICKS = 4  # numbers that fit on the horizontal axis

WIDTH = 3.8  # inches: three figures fit side by side on a page, one on a phone

HEIGHT = 3.6

STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
    "font.size": 10.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "lightfair",
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
}

DIGITS = re.compile(rb"(\.\d\d)\d+")  # a hundredth of a point is finer than any screen

TAG = re.compile(rb"<[^>]*>")  # outside of tags are texts, whose numbers keep their digits

METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))

LOCK = threading.RLock()  # the style of matplotlib is shared by all threads


class Picture(NamedTuple):
    """A figure as a data URI, with its caption; None for a figure that is omitted."""

    source: str | None
    caption: str


Pictures = dict[str, list[Picture]]


def available() -> bool:
    """Return whether figures can be drawn, that is, whether matplotlib can be imported.

    Without a folder that it may write in, its import raises OSError or RuntimeError.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except (ImportError, OSError, RuntimeError):
        return False
    return True


def of_assessment(result: Assessment) -> Pictures:
    """Return the figures of an assessment by section key."""
    pictures = {name: _metric(result, name) for name in result.settings.metrics}
    if result.settings.thresholds is not None:
        pictures["thresholds"] = [_thresholds(result, name) for name in counted_metrics(result)]
    rows = np.array([count["rows"] for count in counts_of(result)])
    if result.curves is None:
        return pictures
    chosen = [result.groups[i] for i in np.sort(np.argsort(-rows, kind="stable")[:CALIBRATED])]
    wrong = ", with wrong labels" * (result.settings.label_error is not None)
    text = f"share of positive labels by score; line: model, marks: labeled rows{wrong}."
    pictures["diagnostics"] = [
        _picture(f"Calibration of {group}: {text}", plot.calibration, result, group)
        for group in chosen
    ]
    if len(chosen) < len(rows):
        text = f"Calibration is drawn for the {len(chosen)} largest of {len(rows)} groups."
        pictures["diagnostics"].append(Picture(None, text))
    return pictures


def of_thresholds(found: FoundThresholds) -> Pictures:
    """Return the figure of a search for thresholds."""
    known = is_built_in(found.metric) or found.of in found.assessment.settings.own_metrics
    return {"thresholds": [_thresholds(found.assessment, found.metric)]} if known else {}


def of_monitor(found: Monitoring) -> Pictures:
    """Return the time line of a monitored check."""
    caption = f"{found.check.text}: the gap with most evidence, from all rows up to each look."
    return {"monitor": [_picture(caption, plot.monitoring, found)]}


def of_plan(plan: LabelPlan) -> Pictures:
    """Return the figure of a plan."""
    text = f"Expected width of {100 * plan.prob:g} % intervals of {plan.metric}"
    return {"plan": [_picture(f"{text} by number of extra labels.", plot.plan, plan)]}


def of_models(result: ModelComparison) -> Pictures:
    """Return the figures of a comparison of models."""
    if len(result.groups) > MOST_ROWS:
        return dict.fromkeys(result.settings.metrics, [_omitted(result)])
    rows = (len(result.groups) + 1) * max(1.0, 0.5 * len(result.models))
    text = f"of {' and '.join(result.models)}; lines: {_intervals(result)}, marks: means."
    return {
        name: [_picture(f"{name} {text}", plot.models, result, name, rows=rows)]
        for name in result.settings.metrics
    }


def _metric(result: Assessment, name: str) -> list[Picture]:
    """The differences, first, the groups, and the posterior of the differences."""
    settings, groups = result.settings, result.groups
    if len(groups) > MOST_ROWS:
        return [_omitted(result)]
    marks = f"lines: {_intervals(result)}, marks: means"
    if name in settings.label_free:
        marks = "marks: exact values"
    minus = f"{name} minus that of {settings.reference}"
    drawn = {f"{name} by group; {marks}.": plot.groups}
    if settings.reference is not None:
        text = f"{minus}; {marks}; on the right, the probability of a positive difference."
        drawn = {text: plot.differences, **drawn}
        deltas = [result.difference(name, group, settings.reference) for group in groups]
        if any(not one.exact and one.reason is None and np.any(one.draws) for one in deltas):
            near = f"dark: smaller than {settings.epsilon:g}, with its probability on the right"
            drawn[f"Posterior of {minus}; {near}."] = plot.posterior
    rows = len(groups) + 1
    return [_picture(text, draw, result, name, rows=rows) for text, draw in drawn.items()]


def _thresholds(result: Assessment, name: str) -> Picture:
    caption = f"{name} of groups by threshold; bands: pointwise {_intervals(result)}."
    return _picture(caption, plot.thresholds, result, name)


def _omitted(result: Assessment | ModelComparison) -> Picture:
    """The reason why a figure is omitted."""
    return Picture(None, f"{len(result.groups)} groups are too many for a figure.")


def _intervals(result: Assessment | ModelComparison) -> str:
    return f"{100 * result.settings.prob:g} % intervals"


def _picture(
    caption: str, draw: Callable[..., Any], *arguments: Any, rows: float | None = None
) -> Picture:
    """Draw a figure, as high as its rows, with a function of `plot`, in the style of reports."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import AutoLocator

    height = HEIGHT if rows is None else plot.figure_size(rows)[1]
    with LOCK, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        figure, file = Figure(figsize=(WIDTH, height), layout="constrained"), BytesIO()
        axes = draw(*arguments, ax=figure.subplots())
        if isinstance(axes.xaxis.get_major_locator(), AutoLocator):
            axes.locator_params(axis="x", nbins=TICKS)
        figure.savefig(file, format="svg", metadata=METADATA)
    svg = TAG.sub(lambda tag: DIGITS.sub(rb"\1", tag[0]), file.getvalue())
    source = base64.b64encode(svg).decode()
    return Picture(f"data:image/svg+xml;base64,{source}", caption)
