"""The report of a label plan."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..core.data.messages import counted
from ..planning.plan import NEXT, Expected, LabelPlan
from . import sections as shared
from .assessment import metric_section
from .document import Cell, Document, Paragraph, section
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
    findings = [Paragraph(_labels_needed(plan), "finding"), *_next_group(plan)]
    widths = section("plan", *_widths(plan), title="plan" * full)
    if not full:
        findings += shared.critical_warnings(plan.assessment.warnings)
        return Document(title, (section("verdict", *findings, title=""), widths))
    arguments = {name: getattr(plan, name) for name in ("metric", "width", "prob")}
    options = {"plan_labels": arguments | {"extra": plan.extra.tolist()}}
    more = {"texts": ASSUMPTIONS, "options": options}
    return shared.full_report(plan.assessment, title, widths, command, *findings, **more)


def _widths(plan: LabelPlan) -> shared.Blocks:
    """Expected widths of the widest intervals by number of extra labels."""
    order = sorted(plan.intervals, key=lambda one: -np.nan_to_num(one.width[0], nan=-1.0))
    columns: Columns = {
        " - ".join(filter(None, (one.group, one.reference))): partial(_width, one)
        for one in order[:LISTED]
    }
    extra = {f"{extra:,}": at for at, extra in enumerate(plan.extra.tolist())}
    text = f"expected width of {100 * plan.prob:g} % intervals"
    blocks: shared.Blocks = [text, table_of("extra labels", columns, extra)]
    if plan.assessment.truth is not None:  # the metric as it is now, beside what all labels say
        blocks += [*metric_section(plan.assessment, plan.metric).blocks, shared.TRUTH]
    if len(order) > LISTED:
        rest = f"{counted(len(order) - LISTED, 'interval')}, not wider or undefined"
        blocks.append(f"not shown: {rest}; to_dict() has all")
    return blocks


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


def _next_group(plan: LabelPlan) -> list[Paragraph]:
    """Where to label next, and what that narrows."""
    if plan.next_group is None or len(plan.groups) == 1:
        return []
    at = plan.groups.index(plan.next_group)
    labels = min(NEXT, int(plan.unlabeled[at]))
    gain = f"narrow the widest interval by {labels * plan.shrinks[at]:.4f}"
    return [Paragraph(f"Next: {plan.next_group}; there, {counted(labels, 'label')} would {gain}.")]
