"""The report of a label plan."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..core.data.messages import counted
from ..planning.plan import NEXT, Expected, LabelPlan
from . import sections as shared
from .document import Cell, Document, Paragraph, Section, Table
from .format import Columns, table_of

LISTED = 4  # intervals in a report, those that are widest


def document(plan: LabelPlan, *, full: bool = False, command: str | None = None) -> Document:
    """Return the report of a plan; `full` and `command` as in `report.assessment`."""
    labeled, unlabeled = int(plan.labeled.sum()), int(plan.unlabeled.sum())
    title = (
        f"Plan for {plan.metric}: {labeled:,} rows have labels, "
        f"{unlabeled:,} rows are available for labeling"
    )
    results: shared.Blocks = [Paragraph(_labels_needed(plan), "finding")]
    if text := _next_group(plan):
        results.append(Paragraph(text))
    if not full:
        results += shared.critical_warnings(plan.warnings)
        sections = Section("plan", "", _widths(plan)), Section("verdict", "", tuple(results))
        return Document(title, sections)
    errors = f"± is the Monte Carlo standard error of a width, from {plan.refits} refits each."
    names = ("metric", "width", "prob", "refits", "seed")
    return shared.full_report(
        plan,
        title,
        results,
        Section("plan", "plan", _widths(plan)),
        command,
        texts=(
            "Future labels are drawn from the posterior of the assessment, whose model is assumed "
            "to be correct.",
            "Rows to be labeled are chosen at random.",
            errors if plan.refits else "Widths are forecasts; no model was refitted.",
        ),
        options={
            "plan_labels": {name: getattr(plan, name) for name in names}
            | {"extra": plan.extra.tolist()}
        },
    )


def _widths(plan: LabelPlan) -> tuple[Paragraph | Table, ...]:
    """Expected widths of the widest intervals by number of extra labels."""
    order = sorted(plan.intervals, key=lambda one: -np.nan_to_num(one.width[0], nan=-1.0))
    columns: Columns = {
        " - ".join(filter(None, (one.group, one.reference))): partial(_width, one)
        for one in order[:LISTED]
    }
    text = f"expected width of {100 * plan.prob:g} % intervals"
    if any(np.any(one.mcse > 0.0) for one in plan.intervals):
        text += ", ± Monte Carlo error"
    extra = {f"{extra:,}": at for at, extra in enumerate(plan.extra.tolist())}
    blocks = (Paragraph(text), table_of("extra labels", columns, extra))
    if len(order) <= LISTED:
        return blocks
    rest = f"{counted(len(order) - LISTED, 'interval')}, not wider or undefined"
    return *blocks, Paragraph(f"not shown: {rest}; to_dict() has all")


def _width(one: Expected, at: int) -> Cell:
    if math.isnan(one.width[at]):
        return Cell("-", one.reason or "undefined")
    error = f" ±{one.mcse[at]:.3f}" if one.mcse[at] > 0.0 else ""
    return Cell(f"{one.width[at]:.3f}{error}")


def _labels_needed(plan: LabelPlan) -> str:
    """How many labels it takes."""
    width = f"A width of {plan.width:g}"
    if plan.labels is None:
        return f"{width} is out of reach: {plan.reason}."
    if plan.labels == 0:
        if any(one.width[0] > 0.0 for one in plan.intervals):
            return f"{width} is reached already."
        return "No labels are needed: the quantity is known exactly."
    if plan.labels == plan.unlabeled.sum():
        return f"{width} takes labels for all {plan.labels:,} unlabeled rows."
    return f"{width} takes about {plan.labels:,} more labels of random rows."


def _next_group(plan: LabelPlan) -> str | None:
    """Where to label next, and what that narrows, beside the other groups."""
    if plan.next_group is None or len(plan.groups) == 1:
        return None
    columns = zip(plan.groups, plan.shrinks.tolist(), plan.unlabeled.tolist(), strict=True)
    gains = {name: (shrinks, min(NEXT, rows)) for name, shrinks, rows in columns}
    shrinks, labels = gains.pop(plan.next_group)
    verb = "narrows" if labels == 1 else "narrow"
    text = (
        f"Next: {plan.next_group}; {counted(labels, 'label')} there {verb} the widest interval "
        f"by {labels * shrinks:.4f}"
    )
    others = [(*one, name) for name, one in gains.items() if not math.isnan(one[0])]
    for shrinks, more, name in sorted(others)[-1:]:
        text += f", {more} in {name} by {more * shrinks:.4f}"
    return f"{text}."
