"""The report of a label plan."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..core.data.messages import counted
from ..planning.plan import NEXT, Expected, LabelPlan
from . import sections as shared
from .assessment import metric_section
from .document import Cell, Document, Paragraph, Section, Table
from .format import Columns, table_of

LISTED = 4  # intervals in a report, those that are widest

ASSUMPTIONS = (
    "Future labels are drawn from the posterior of the assessment, whose model is assumed to be "
    "correct.",
    "Rows to be labeled are chosen at random.",
    "Widths are forecasts; no model was fitted again.",
)


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
        results += shared.critical_warnings(plan.assessment.warnings)
        sections = Section("verdict", "", tuple(results)), Section("plan", "", _widths(plan))
        return Document(title, sections)
    widths = Section("plan", "plan", _widths(plan))
    arguments = {name: getattr(plan, name) for name in ("metric", "width", "prob")}
    options = {"plan_labels": arguments | {"extra": plan.extra.tolist()}}
    base, texts = plan.assessment, ASSUMPTIONS
    return shared.full_report(base, title, results, widths, command, texts=texts, options=options)


def _widths(plan: LabelPlan) -> tuple[Paragraph | Table, ...]:
    """Expected widths of the widest intervals by number of extra labels."""
    order = sorted(plan.intervals, key=lambda one: -np.nan_to_num(one.width[0], nan=-1.0))
    columns: Columns = {
        " - ".join(filter(None, (one.group, one.reference))): partial(_width, one)
        for one in order[:LISTED]
    }
    text = f"expected width of {100 * plan.prob:g} % intervals"
    extra = {f"{extra:,}": at for at, extra in enumerate(plan.extra.tolist())}
    blocks = (Paragraph(text), table_of("extra labels", columns, extra), *_truth(plan))
    if len(order) <= LISTED:
        return blocks
    rest = f"{counted(len(order) - LISTED, 'interval')}, not wider or undefined"
    return *blocks, Paragraph(f"not shown: {rest}; to_dict() has all")


def _truth(plan: LabelPlan) -> tuple[Paragraph | Table, ...]:
    """The metric as it is now, beside what all labels say; () if that is not known."""
    if plan.assessment.truth is None:
        return ()
    return *metric_section(plan.assessment, plan.metric).blocks, Paragraph(shared.TRUTH)


def _width(one: Expected, at: int) -> Cell:
    if math.isnan(one.width[at]):
        return Cell("-", one.reason or "undefined")
    return Cell(f"{one.width[at]:.3f}")


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
    """Where to label next, and what that narrows."""
    if plan.next_group is None or len(plan.groups) == 1:
        return None
    at = plan.groups.index(plan.next_group)
    labels = min(NEXT, int(plan.unlabeled[at]))
    return (
        f"Next: {plan.next_group}; there, {counted(labels, 'label')} would narrow the widest "
        f"interval by {labels * plan.shrinks[at]:.4f}."
    )
