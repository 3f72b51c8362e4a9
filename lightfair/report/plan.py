"""The report of a label plan."""

from __future__ import annotations

import math

import numpy as np

from ..core.data.messages import counted
from ..planning.plan import NEXT, Expected, LabelPlan
from . import sections as shared
from .document import Cell, Document, Paragraph, Section, Table
from .provenance import provenance_sections

LISTED = 4  # intervals in the short form, those that are widest; more are rows in the full form


def document(plan: LabelPlan, *, full: bool = False, command: str | None = None) -> Document:
    """Return the report of a plan; `full` and `command` as in `report.assessment`."""
    labeled, unlabeled = int(plan.labeled.sum()), int(plan.unlabeled.sum())
    title = (
        f"Plan for {plan.metric}: {labeled:,} rows have labels, "
        f"{unlabeled:,} rows are available for labeling"
    )
    results = [Paragraph(_labels_needed(plan), "finding")]
    if text := _next_group(plan):
        results.append(Paragraph(text))
    if not full:
        results += shared.critical_warnings(plan.warnings)
        sections = (
            Section("plan", "", _widths(plan, full=False)),
            Section("verdict", "", (*results,)),
        )
        return Document(title, sections)
    full_sections = [
        Section("verdict", "verdict", (*results, *shared.warning_summary(plan.warnings))),
        Section("plan", "plan", _widths(plan, full=True)),
        shared.rows_section(plan.assessment),
        shared.diagnostics_section(plan.assessment),
        *shared.warnings_section(plan.warnings),
        *_provenance(plan, command),
    ]
    return Document(title, shared.capitalized(full_sections))


def _widths(plan: LabelPlan, *, full: bool) -> tuple[Paragraph | Table, ...]:
    """Expected widths by number of extra labels, of all or of the widest intervals."""
    intervals = plan.of_differences or plan.of_groups
    references = {one.reference for one in intervals}
    shared = next(iter(references)) if len(intervals) > 1 and len(references) == 1 else None
    judged = not np.isnan(plan.decisive).all()
    text = f"expected width of {100 * plan.prob:g} % intervals"
    text += f" of differences from {shared}" if shared is not None else ""
    text += ", ± Monte Carlo error" if any(np.any(one.mcse > 0.0) for one in intervals) else ""
    text += f"; probability that a check of differences<={plan.within:g} passes or fails" * judged
    first = [-1.0 if math.isnan(one.width[0]) else one.width[0] for one in intervals]
    order = [intervals[i] for i in np.argsort(-np.array(first), kind="stable")]
    shown = order if full else order[:LISTED]
    grid = [[Cell("extra labels"), *(Cell(f"{extra:,}") for extra in plan.extra.tolist())]]
    for one in shown:
        name = one.group if one.reference in (None, shared) else f"{one.group} - {one.reference}"
        grid.append([Cell(name), *(_width(one, i) for i in range(len(plan.extra)))])
    if judged:
        undefined = Cell("-", "a difference is undefined")
        chances = [undefined if math.isnan(p) else Cell(f"{p:.0%}") for p in plan.decisive]
        grid.append([Cell("decisive"), *chances])
    if len(shown) <= LISTED:
        grid = [list(row) for row in zip(*grid, strict=True)]
    table = Table(tuple(cell.text for cell in grid[0]), tuple(map(tuple, grid[1:])))
    if len(shown) == len(order):
        return Paragraph(text), table
    left = [math.isnan(one.width[0]) for one in order[LISTED:]]
    counts = {"not wider": left.count(False), "undefined": left.count(True)}
    hidden = " and ".join(f"{count} {what}" for what, count in counts.items() if count)
    return Paragraph(text), table, Paragraph(f"not shown: {hidden}; to_dict() has all")


def _width(one: Expected, at: int) -> Cell:
    if math.isnan(one.width[at]):
        return Cell("-", one.reason or "undefined")
    error = f" ±{one.mcse[at]:.3f}" if one.mcse[at] > 0.0 else ""
    return Cell(f"{one.width[at]:.3f}{error}")


def _labels_needed(plan: LabelPlan) -> str:
    """How many labels it takes."""
    intervals = plan.of_differences or plan.of_groups
    width = f"A width of {plan.width:g}"
    if plan.labels is None:
        return f"{width} is out of reach: {plan.reason}."
    if plan.labels == 0:
        if any(one.width[0] > 0.0 for one in intervals):
            return f"{width} is reached already."
        return "No labels are needed: the quantity is known exactly."
    if plan.labels == plan.unlabeled.sum():
        return f"{width} takes labels for all {plan.labels:,} unlabeled rows."
    rows = "of random rows" if plan.allocation is None else "in these shares"
    text = f"{width} takes about {plan.labels:,} more labels {rows}"
    if plan.labels_range is None or plan.labels_range == (plan.labels, plan.labels):
        return f"{text}."
    low, high = plan.labels_range
    return f"{text} ({low:,} to {'all' if high is None else f'{high:,}'})."


def _next_group(plan: LabelPlan) -> str | None:
    """Where to label next."""
    if plan.next_group is None or len(plan.groups) == 1:
        return None
    columns = zip(plan.groups, plan.shrinks.tolist(), plan.unlabeled.tolist(), strict=True)
    narrowed = {name: (shrinks, min(NEXT, rows)) for name, shrinks, rows in columns}
    shrinks, labels = narrowed.pop(plan.next_group)
    verb = "narrows" if labels == 1 else "narrow"
    text = (
        f"Next: {plan.next_group}; {counted(labels, 'label')} there {verb} the widest interval "
        f"by {labels * shrinks:.4f}"
    )
    others = [(*one, name) for name, one in narrowed.items() if not math.isnan(one[0])]
    if others:
        shrinks, more, name = max(others)
        rank = ", the second best," if len(others) > 1 else ""
        count = "" if more == labels else f"{more} "
        text += f", {count}in {name}{rank} by {more * shrinks:.4f}"
    return f"{text}."


def _provenance(plan: LabelPlan, command: str | None) -> list[Section]:
    settings = plan.assessment.settings
    shares = "." if plan.allocation is None else " within each group; groups get their shares."
    errors = f"± is the Monte Carlo standard error of a width, from {plan.refits} refits each."
    texts = (
        "Future labels are drawn from the posterior of the assessment, whose model is assumed to "
        "be correct.",
        f"Rows to be labeled are chosen at random{shares}",
        f"A check is decisive if it passes or fails with a probability of {plan.prob:g}.",
        errors if plan.refits else "Widths are forecasts; no model was refitted.",
    )
    names = ("metric", "width", "within", "prob", "allocation", "refits", "seed")
    options = {name: getattr(plan, name) for name in names} | {"extra": plan.extra.tolist()}
    table = plan.assessment.table
    return provenance_sections(
        settings, table, command, texts=texts, options={"plan_labels": options}
    )
