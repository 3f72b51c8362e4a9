"""The report of a label plan: as a document for people, and as plain values for programs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..core.data.messages import counted
from ..planning.plan import NEXT
from .document import Cell, Document, Paragraph, Section, Table
from .sections import cautions, grave, warnings_section

if TYPE_CHECKING:
    from ..planning.plan import Expected, LabelPlan

LISTED = 4  # differences, or groups, that have a column of their own, the widest first


def document(plan: LabelPlan, *, full: bool = False, command: str | None = None) -> Document:
    """Return the report of a plan; `full` and `command` as in `report.document`."""
    known, unknown = int(plan.labeled.sum()), int(plan.unlabeled.sum())
    verdict = not np.isnan(plan.decisive).all()
    every = plan.of_differences or plan.of_groups
    base = _shared_reference(every)
    expected = f"expected width of {100 * plan.prob:g} % intervals"
    if base is not None:
        expected += f" of differences from {base}"
    if any(np.any(found.mcse > 0.0) for found in every):
        expected += ", ± its Monte Carlo error"
    if verdict:
        expected += f"; chance that a check of differences<={plan.within:g} passes or fails"
    blocks: list[Paragraph | Table] = [Paragraph(expected)]
    if full and len(every) > LISTED:
        blocks.append(_by_difference(plan, every, verdict))
    else:
        blocks += _by_number(plan, every, verdict)
    told = (Paragraph(_number(plan), "finding"), *map(Paragraph, _next(plan)))
    title = f"Plan for {plan.metric}: {known:,} rows have labels, {unknown:,} can get one"
    if not full:
        told += tuple(grave(plan.warnings))
        return Document(title, (Section("plan", "", tuple(blocks)), Section("verdict", "", told)))
    from .provenance import plan_sections
    from .sections import capitalized, diagnostics_section, rows_section

    told += tuple(cautions(plan.warnings))
    sections = [
        Section("verdict", "verdict", told),
        Section("plan", "plan", (*blocks, _groups(plan))),
        rows_section(plan.assessment),
        diagnostics_section(plan.assessment),
        *warnings_section(plan.warnings),
        *plan_sections(plan, command),
    ]
    return Document(title, capitalized(sections))


def _by_number(
    plan: LabelPlan, every: tuple[Expected, ...], verdict: bool
) -> list[Paragraph | Table]:
    """The widest intervals at each number of extra labels, and how many are not shown."""
    first = [-1.0 if math.isnan(found.width[0]) else found.width[0] for found in every]
    order = [every[i] for i in np.argsort(-np.array(first), kind="stable")]
    shown, rest = order[:LISTED], order[LISTED:]
    rows = []
    for i, extra in enumerate(plan.extra.tolist()):
        row = [Cell(f"{extra:,}"), *(_cell(found, i) for found in shown)]
        rows.append((*row, *[_chance(plan, i)] * verdict))
    base = _shared_reference(every)
    head = ("extra labels", *(_name(one, base) for one in shown), *["decisive"] * verdict)
    found: list[Paragraph | Table] = [Table(head, tuple(rows))]
    undefined = sum(math.isnan(one.width[0]) for one in rest)
    left = {"no wider": len(rest) - undefined, "undefined": undefined}
    if rest:
        said = " and ".join(f"{count} {what}" for what, count in left.items() if count)
        found.append(Paragraph(f"not shown: {said}; to_dict() has all"))
    return found


def _by_difference(plan: LabelPlan, every: tuple[Expected, ...], verdict: bool) -> Table:
    """Every interval, by the number of extra labels."""
    numbers, base = plan.extra.tolist(), _shared_reference(every)
    at = range(len(numbers))
    rows = [(Cell(_name(one, base)), *(_cell(one, i) for i in at)) for one in every]
    if verdict:
        rows.append((Cell("decisive"), *(_chance(plan, i) for i in at)))
    return Table(("with extra labels", *(f"{extra:,}" for extra in numbers)), tuple(rows))


def _chance(plan: LabelPlan, at: int) -> Cell:
    """The chance of a decisive verdict."""
    chance = plan.decisive[at]
    return Cell("-", "a difference is undefined") if math.isnan(chance) else Cell(f"{chance:.0%}")


def _groups(plan: LabelPlan) -> Table:
    """What labels there are, and what one more does."""
    rows = []
    columns = zip(plan.groups, plan.labeled, plan.unlabeled, plan.shrinks, strict=True)
    for name, known, unknown, shrinks in columns:
        less = Cell(f"{min(NEXT, unknown) * shrinks:.4f}")
        if math.isnan(shrinks):
            less = Cell("-", "no row is left to be labeled" if unknown == 0 else "undefined")
        rows.append((Cell(name), Cell(f"{known:,}"), Cell(f"{unknown:,}"), less))
    return Table(("group", "labeled", "unlabeled", f"up to {NEXT} labels narrow by"), tuple(rows))


def _number(plan: LabelPlan) -> str:
    """How many labels it takes."""
    wanted = plan.of_differences or plan.of_groups
    if plan.labels is None:
        return f"A width of {plan.width:g} is out of reach: {plan.reason}."
    if plan.labels == 0 and not any(found.width[0] > 0.0 for found in wanted):
        return "No label is needed: what is planned for is known exactly."
    if plan.labels == 0:
        return f"A width of {plan.width:g} is reached now."
    if plan.labels == plan.unlabeled.sum():
        return f"A width of {plan.width:g} takes labels of all {plan.labels:,} rows without one."
    rows = "of random rows" if plan.allocation is None else "in these shares"
    text = f"A width of {plan.width:g} takes about {plan.labels:,} more labels {rows}"
    if plan.labels_range is None or plan.labels_range == (plan.labels, plan.labels):
        return f"{text}."
    low, high = plan.labels_range
    return f"{text} ({low:,} to {'all' if high is None else f'{high:,}'})."


def _next(plan: LabelPlan) -> list[str]:
    """Where to label next."""
    if plan.next_group is None or len(plan.groups) == 1:
        return []
    columns = zip(plan.shrinks.tolist(), plan.groups, plan.unlabeled.tolist(), strict=True)
    found = {name: (shrinks, min(NEXT, rows)) for shrinks, name, rows in columns}
    shrinks, labels = found.pop(plan.next_group)
    narrow = "narrows" if labels == 1 else "narrow"
    text = (
        f"Next: {plan.next_group}; {counted(labels, 'label')} there {narrow} the widest interval "
        f"by {labels * shrinks:.4f}"
    )
    others = [(*one, name) for name, one in found.items() if not math.isnan(one[0])]
    if others:
        shrinks, more, name = max(others)
        best = "" if len(others) == 1 else ", the second best,"
        how = "" if more == labels else f"{more} "
        text += f", {how}in {name}{best} by {more * shrinks:.4f}"
    return [f"{text}."]


def _shared_reference(every: tuple[Expected, ...]) -> str | None:
    """The group that several differences are from, all of them; None where there is none."""
    found = {one.reference for one in every}
    return found.pop() if len(every) > 1 and len(found) == 1 else None


def _name(found: Expected, base: str | None) -> str:
    """Name of a difference, or of a group; without the reference where that is said once."""
    if found.reference in (None, base):
        return found.group
    return f"{found.group} - {found.reference}"


def _cell(found: Expected, at: int) -> Cell:
    if math.isnan(found.width[at]):
        return Cell("-", found.reason or "undefined")
    error = f" ±{found.mcse[at]:.3f}" if found.mcse[at] > 0.0 else ""
    return Cell(f"{found.width[at]:.3f}{error}")
