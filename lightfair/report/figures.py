"""Figures: which pictures a report has, where they stand, and what they show in words.

    each metric     its groups; differences from the reference; posterior of the differences
    thresholds      each metric against the threshold, where several were asked for; of a search the
                    one that is to be met
    diagnostics     calibration of up to six groups, one picture each
    plan            expected width of intervals against the number of labels
    models          each metric of the models

They are drawn by `plot`, without a display. Each has its numbers in words, for those who do not see
it. Without matplotlib there are none, and the report says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.data.messages import counted, interval, number
from ..core.metrics.definitions import is_built_in
from ..core.values import counts_of, metric_values
from ..thresholds.curve import asked_curve
from . import svg
from .document import Cell
from .format import cell, cell_of, chance, small
from .svg import Picture

if TYPE_CHECKING:
    from ..core.assessment import Assessment
    from ..model_comparison import ModelComparison
    from ..planning.plan import LabelPlan
    from ..thresholds.search import FoundThresholds

Pictures = dict[str, list[Picture]]

CALIBRATED = 6  # groups whose calibration is shown

MOST_ROWS = 40  # of a picture that has a row for each group

TOLD = 5  # thresholds, or numbers of labels, of which the words hold numbers

NAMES = {"labels_only": "labels only", "prediction_powered": "prediction-powered"}

TICKS = 4  # of the horizontal axis: there is room for so many numbers

WIDTH = 3.8  # inches: three stand side by side on a page, one on a phone

HEIGHT = 3.6

SQUARE = (3.6, 3.4)


def available() -> bool:
    """Return whether pictures can be drawn: whether matplotlib is there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def of_assessment(result: Assessment) -> Pictures | None:
    """Return the pictures of an assessment by section key; None where there can be none."""
    if not available():
        return None
    page = _Page()
    for name in result.settings.metrics:
        _metric(page, result, name)
    if result.settings.thresholds is not None:
        from ..thresholds.curve import counted_metrics

        for name in counted_metrics(result):
            _thresholds(page, result, name)
    _calibration(page, result)
    return page.pictures


def of_search(found: FoundThresholds) -> Pictures | None:
    """Return the picture of a search for thresholds."""
    if not available():
        return None
    page, settings = _Page(), found.assessment.settings
    if is_built_in(found.metric) or found.of in settings.own_metrics:
        _thresholds(page, found.assessment, found.metric)
    return page.pictures


def of_plan(plan: LabelPlan) -> Pictures | None:
    """Return the pictures of a plan."""
    if not available():
        return None
    from .. import plot

    page = _Page()
    steps = _few(len(plan.extra))
    told = [
        f"{_pair(found.group, found.reference)} "
        + ", ".join(f"{plan.extra[i]:,}: {number(found.width[i])}" for i in steps)
        for found in plan.of_differences or plan.of_groups
    ]
    page.draw(
        "plan",
        (WIDTH, HEIGHT),
        partial(plot.plan, plan),
        f"Expected width of {100 * plan.prob:g} % intervals of {plan.metric} by extra labels",
        f"Width by number of extra labels. {'; '.join(told)}. Sought: {plan.width:g}.",
        "Whiskers are two Monte Carlo standard errors.",
    )
    return page.pictures


def of_comparison(result: ModelComparison) -> Pictures | None:
    """Return the pictures of a comparison of models."""
    if not available():
        return None
    from .. import plot

    page, prob = _Page(), result.settings.prob
    for name in result.settings.metrics:
        told = [
            f"{model}: "
            + ", ".join(
                f"{group} {_said(cell(result.metric(model, name, group), prob))}"
                for group in result.groups
            )
            for model in result.models
        ]
        rows = len(result.groups) + 1
        if rows > MOST_ROWS:
            page.leave_out(name, f"{len(result.groups)} groups are too many to be drawn")
            continue
        page.draw(
            name,
            (WIDTH, plot.figure_size(rows * max(1.0, 0.5 * len(result.models)))[1]),
            partial(plot.models, result, name),
            f"{name} of {' and '.join(result.models)}",
            f"{_mass(result)} intervals. {'; '.join(told)}.",
            f"Lines are {_mass(result)} intervals, marks means.",
        )
    return page.pictures


class _Page:
    """The pictures of one page, numbered, so that no id occurs twice."""

    def __init__(self) -> None:
        self.pictures: Pictures = {}
        self.count = 0

    def draw(
        self,
        key: str,
        size: tuple[float, float],
        draw: Callable[..., Any],
        title: str,
        words: str,
        caption: str,
    ) -> None:
        """Draw a picture on a figure of its own, of a size in inches; `words` stand in for it."""
        from matplotlib.figure import Figure
        from matplotlib.ticker import AutoLocator

        self.count += 1
        with svg.style():
            figure = Figure(figsize=size, layout="constrained")
            axes = draw(ax=figure.subplots())
            if isinstance(axes.xaxis.get_major_locator(), AutoLocator):
                axes.locator_params(axis="x", nbins=TICKS)
            markup = svg.element(figure, f"figure-{self.count}", title, words)
        self.pictures.setdefault(key, []).append(Picture(markup, caption))

    def leave_out(self, key: str, why: str) -> None:
        """Say why there is no picture."""
        self.pictures.setdefault(key, []).append(Picture(None, why))


def _metric(page: _Page, result: Assessment, name: str) -> None:
    """The groups, their differences, and the posterior of these."""
    from .. import plot

    if len(result.groups) > MOST_ROWS:
        page.leave_out(name, f"{len(result.groups)} groups are too many to be drawn")
        return
    settings = result.settings
    values, prob = metric_values(result, name), f"{_mass(result)} intervals"
    lines = f"Lines are {prob}, marks means"
    if name in settings.label_free:
        lines = "Marks are facts of the rows"
    size = (WIDTH, plot.figure_size(len(values["groups"]))[1])
    page.draw(
        name,
        size,
        partial(plot.groups, result, name),
        f"{name} by group",
        f"{prob}. {_rows(values['groups'], 'name')}",
        f"{lines}.",
    )
    if not values["differences"]:
        return
    size = (WIDTH, plot.figure_size(len(values["differences"]))[1])
    page.draw(
        name,
        size,
        partial(plot.differences, result, name),
        f"{name} minus that of {settings.reference}",
        f"{prob}. {_rows(values['differences'], 'group')}",
        f"{lines}; to the right is the probability that a difference is positive.",
    )
    if all(entry["exact"] or entry["interval"] is None for entry in values["differences"]):
        return
    near = [
        f"{entry['group']} {chance(entry['prob_within'], entry).text}"
        for entry in values["differences"]
    ]
    page.draw(
        name,
        size,
        partial(plot.posterior, result, name),
        f"Posterior of {name} minus that of {settings.reference}",
        f"Densities; probability of a difference below {settings.epsilon:g}, "
        f"{small(settings.epsilon)}: {', '.join(near)}.",
        f"Dark is what is less than {settings.epsilon:g} from 0; to the right is its probability.",
    )


def _thresholds(page: _Page, result: Assessment, name: str) -> None:
    """A metric of groups against the threshold."""
    from .. import plot

    page.draw(
        "thresholds",
        (WIDTH, HEIGHT),
        partial(plot.thresholds, result, name),
        f"{name} of groups by threshold",
        _by_threshold(result, name),
        f"Intervals hold {_mass(result)} at each threshold alone.",
    )


def _calibration(page: _Page, result: Assessment) -> None:
    """The curves of the groups with most rows."""
    from .. import plot

    rows = np.array([mine["rows"] for mine in counts_of(result)])
    chosen = np.sort(np.argsort(-rows, kind="stable")[:CALIBRATED])
    for at in chosen.tolist():
        group = result.groups[at]
        page.draw(
            "diagnostics",
            SQUARE,
            partial(plot.calibration, result, group),
            f"Calibration of {group}",
            _fit(result, at),
            "The line is the share that the model expects; marks are labeled rows.",
        )
    if len(chosen) < len(rows):
        page.leave_out(
            "diagnostics",
            f"Calibration is drawn for {len(chosen)} of {len(rows)} groups, those with most rows.",
        )


def _fit(result: Assessment, at: int) -> str:
    """Say what the labels of a group show, and what was expected of them."""
    check = result.misfit
    told = [
        f"score {check.score[i]:.2f}: {check.positives[i]:,} of "
        f"{counted(int(check.rows[i]), 'labeled row')} positive, share {number(check.rate[i])}, "
        f"expected {interval(check.expected_low[i], check.expected_high[i])}"
        for i in np.flatnonzero(check.group == at)
    ]
    return f"Share of positive labels by score. {'; '.join(told) or 'No row has a label'}."


def _by_threshold(result: Assessment, name: str) -> str:
    """Say a metric of groups at some thresholds."""
    curve = asked_curve(result)
    cuts = [curve.thresholds[i] for i in _few(len(curve.thresholds))]
    told = []
    for group in result.groups[:MOST_ROWS]:
        mine = curve.metric(name, group)
        each = (f"from {cut:g} {_said(cell(mine[cut], result.settings.prob))}" for cut in cuts)
        told.append(f"{group}: {', '.join(each)}")
    return f"{100 * result.settings.prob:g} % intervals. {'; '.join(told)}."


def _rows(entries: Iterable[dict[str, Any]], key: str) -> str:
    """Say what a forest plot shows."""
    told = []
    for entry in entries:
        words = [f"{entry[key]} {_said(cell_of(entry))}"]
        for method in ("labels_only", "prediction_powered"):
            if entry[method]["interval"] is not None:
                words.append(f"{NAMES[method]} {cell_of(entry[method]).text}")
        if entry.get("truth") is not None:
            words.append(f"truth {number(entry['truth'])}")
        told.append(", ".join(words))
    return f"{'; '.join(told)}."


def _said(one: Cell) -> str:
    return one.text if one.why is None else f"undefined ({one.why})"


def _mass(result: Assessment | ModelComparison) -> str:
    return f"{100 * result.settings.prob:g} %"


def _pair(group: str, reference: str | None) -> str:
    return group if reference is None else f"{group} minus {reference}"


def _few(size: int) -> list[int]:
    """At most `TOLD` places, first and last among them."""
    return sorted({int(at) for at in np.linspace(0, size - 1, TOLD).round()})
