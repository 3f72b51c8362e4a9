"""Figures of a report, as SVG images that are embedded in its page.

    each metric     its groups; differences from the reference; posterior of the differences
    thresholds      each metric by threshold, if several were given, or the metric of a search
    diagnostics     calibration of up to six groups
    plan            expected width of intervals by number of labels
    models          each metric of the models

`plot` draws them, without a display. Without matplotlib there are none. The same result gives the
same bytes, whatever the style of the caller.
"""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from ..core.assessment import Assessment
from ..core.metrics.definitions import is_built_in
from ..core.values import counts_of
from ..model_comparison import ModelComparison
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

METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))

LOCK = threading.RLock()  # the style of matplotlib is shared by all threads


class Picture(NamedTuple):
    """A figure as a data URI, with its caption; None for a figure that is omitted."""

    source: str | None
    caption: str


Pictures = dict[str, list[Picture]]


def available() -> bool:
    """Return whether figures can be drawn, that is, whether matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def of_assessment(result: Assessment) -> Pictures | None:
    """Return the figures of an assessment by section key; None without matplotlib."""
    if not available():
        return None
    from .. import plot

    settings = result.settings
    pictures = {name: _metric(result, name) for name in settings.metrics}
    if settings.thresholds is not None:
        pictures["thresholds"] = [_thresholds(result, name) for name in counted_metrics(result)]
    rows = np.array([count["rows"] for count in counts_of(result)])
    chosen = [result.groups[i] for i in np.sort(np.argsort(-rows, kind="stable")[:CALIBRATED])]
    text = "share of positive labels by score; line: model, marks: labeled rows"
    pictures["diagnostics"] = [
        _picture(
            HEIGHT, partial(plot.calibration, result, group), f"Calibration of {group}: {text}."
        )
        for group in chosen
    ]
    if len(chosen) < len(rows):
        text = f"Calibration is drawn for the {len(chosen)} largest of {len(rows)} groups."
        pictures["diagnostics"].append(Picture(None, text))
    return pictures


def of_search(found: FoundThresholds) -> Pictures | None:
    """Return the figure of a search for thresholds."""
    if not available():
        return None
    known = is_built_in(found.metric) or found.of in found.assessment.settings.own_metrics
    return {"thresholds": [_thresholds(found.assessment, found.metric)]} if known else {}


def of_plan(plan: LabelPlan) -> Pictures | None:
    """Return the figure of a plan."""
    if not available():
        return None
    from .. import plot

    caption = (
        f"Expected width of {100 * plan.prob:g} % intervals of {plan.metric} by number of extra "
        "labels; whiskers: two Monte Carlo standard errors."
    )
    return {"plan": [_picture(HEIGHT, partial(plot.plan, plan), caption)]}


def of_comparison(result: ModelComparison) -> Pictures | None:
    """Return the figures of a comparison of models."""
    if not available():
        return None
    from .. import plot

    rows = (len(result.groups) + 1) * max(1.0, 0.5 * len(result.models))
    text = f"of {' and '.join(result.models)}; lines: {_intervals(result)}, marks: means."
    return {
        name: [
            _picture(
                plot.figure_size(rows)[1], partial(plot.models, result, name), f"{name} {text}"
            )
            if len(result.groups) < MOST_ROWS
            else _omitted(result)
        ]
        for name in result.settings.metrics
    }


def _metric(result: Assessment, name: str) -> list[Picture]:
    """The groups, their differences, and the posterior of the differences."""
    from .. import plot

    settings = result.settings
    if len(result.groups) > MOST_ROWS:
        return [_omitted(result)]
    marks = f"lines: {_intervals(result)}, marks: means"
    if name in settings.label_free:
        marks = "marks: exact values"
    height = plot.figure_size(len(result.groups))[1]
    pictures = [_picture(height, partial(plot.groups, result, name), f"{name} by group; {marks}.")]
    others = [group for group in result.groups if group != settings.reference]
    if not others or settings.reference is None:
        return pictures
    height, minus = plot.figure_size(len(others))[1], f"{name} minus that of {settings.reference}"
    caption = f"{minus}; {marks}; on the right, the probability of a positive difference."
    pictures.append(_picture(height, partial(plot.differences, result, name), caption))
    deltas = [result.difference(name, group, settings.reference) for group in others]
    if not all(delta.exact or delta.reason is not None for delta in deltas):
        caption = (
            f"Posterior of {minus}; dark: less than {settings.epsilon:g} from 0, with its "
            "probability on the right."
        )
        pictures.append(_picture(height, partial(plot.posterior, result, name), caption))
    return pictures


def _thresholds(result: Assessment, name: str) -> Picture:
    from .. import plot

    caption = f"{name} of groups by threshold; bands: pointwise {_intervals(result)}."
    return _picture(HEIGHT, partial(plot.thresholds, result, name), caption)


def _omitted(result: Assessment | ModelComparison) -> Picture:
    """The reason why a figure is omitted."""
    return Picture(None, f"{len(result.groups)} groups are too many for a figure.")


def _intervals(result: Assessment | ModelComparison) -> str:
    return f"{100 * result.settings.prob:g} % intervals"


def _picture(height: float, draw: Callable[..., Any], caption: str) -> Picture:
    """Draw a figure of a height in inches with `draw(ax=axes)`."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import AutoLocator

    with _style():
        figure, file = Figure(figsize=(WIDTH, height), layout="constrained"), BytesIO()
        axes = draw(ax=figure.subplots())
        if isinstance(axes.xaxis.get_major_locator(), AutoLocator):
            axes.locator_params(axis="x", nbins=TICKS)
        figure.savefig(file, format="svg", metadata=METADATA, bbox_inches="tight", pad_inches=0.05)
    svg = DIGITS.sub(rb"\1", file.getvalue())
    source = base64.b64encode(svg).decode()
    return Picture(f"data:image/svg+xml;base64,{source}", caption)


@contextmanager
def _style() -> Iterator[None]:
    """Use the style of reports, in one thread at a time."""
    import matplotlib

    with LOCK, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield
