"""The report of a label plan: as a document for people, and as plain values for programs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .blocks import Cell, Document, Paragraph, Section, Table
from .cautions import grave
from .planning import NEXT
from .values import plain

if TYPE_CHECKING:
    from .planning import Expected, LabelPlan

LISTED = 4  # differences, or groups, that have a column of their own, the widest first


def to_dict(plan: LabelPlan) -> dict[str, Any]:
    """Return a plan as plain values; what is undefined is null."""
    steps = [
        {
            "extra": number,
            "split": dict(zip(plan.groups, plan.split[i].tolist(), strict=True)),
            "groups": [_interval(found, i) for found in plan.of_groups],
            "differences": [_interval(found, i) for found in plan.of_differences],
            "prob_decisive": plain(plan.decisive[i]),
            "prob_decisive_mcse": plain(plan.decisive_mcse[i]),
        }
        for i, number in enumerate(plan.extra.tolist())
    ]
    rows = zip(plan.groups, plan.labeled, plan.unlabeled, plan.shrinks, strict=True)
    low, high = (None, None) if plan.labels_range is None else plan.labels_range
    return {
        "metric": plan.metric,
        "width": plan.width,
        "within": plan.within,
        "prob": plan.prob,
        "groups": [
            {
                "name": name,
                "labeled": int(known),
                "unlabeled": int(unknown),
                "shrinks_per_label": plain(shrinks),
            }
            for name, known, unknown, shrinks in rows
        ],
        "steps": steps,
        "labels": {"number": plan.labels, "low": low, "high": high, "reason": plan.reason},
        "next_group": plan.next_group,
        "refits": plan.refits,
        "seed": plan.seed,
        "target": plan.target,
        "warnings": [{"code": note.code, "message": note.message} for note in plan.warnings],
    }


def document(plan: LabelPlan, *, full: bool = False, command: str | None = None) -> Document:
    """Return the report of a plan; `full` and `command` as in `report.document`."""
    known, unknown = int(plan.labeled.sum()), int(plan.unlabeled.sum())
    verdict = not np.isnan(plan.decisive).all()
    every = plan.of_differences or plan.of_groups
    base = _shared_reference(every)
    expected = f"expected width of {100 * plan.prob:g} % intervals"
    if base is not None:
        expected += f" of differences from {base}"
    if verdict:
        expected += f"; chance that a check of differences<={plan.within:g} passes or fails"
    blocks: list[Paragraph | Table] = [Paragraph(expected), *_steps(plan, every, verdict)]
    if len(every) > LISTED:
        more = f"and {len(every) - LISTED} more that are narrower"
        blocks.append(_all(plan, every) if full else Paragraph(f"{more}; to_dict() has them"))
    told = (Paragraph(_number(plan), "finding"), *map(Paragraph, _next(plan)))
    told += tuple(grave(plan.warnings))
    title = f"Plan for {plan.metric}: {known:,} rows have labels, {unknown:,} can get one"
    if not full:
        plain_sections = (Section("plan", "", tuple(blocks)), Section("verdict", "", told))
        return Document(title, plain_sections)
    from .provenance import plan_sections

    return Document(
        title,
        (
            Section("verdict", "Verdict", told),
            Section("plan", "Plan", tuple(blocks)),
            Section("rows", "Rows", (_groups(plan),)),
            *plan_sections(plan, command),
        ),
    )


def _steps(plan: LabelPlan, every: tuple[Expected, ...], verdict: bool) -> list[Table]:
    """The widest intervals at each number of extra labels."""
    first = [-1.0 if math.isnan(found.width[0]) else found.width[0] for found in every]
    shown = [every[i] for i in np.argsort(-np.array(first), kind="stable")[:LISTED]]
    rows = []
    for i, extra in enumerate(plan.extra.tolist()):
        row = [Cell(f"{extra:,}"), *(_cell(found, i) for found in shown)]
        if verdict:
            chance = plan.decisive[i]
            undefined = Cell("-", "a difference is undefined")
            row.append(undefined if math.isnan(chance) else Cell(f"{chance:.0%}"))
        rows.append(tuple(row))
    head = (
        "extra labels",
        *(_name(one, _shared_reference(every)) for one in shown),
        *["decisive"] * verdict,
    )
    return [Table(head, tuple(rows))]


def _all(plan: LabelPlan, every: tuple[Expected, ...]) -> Table:
    """Every interval, by the number of extra labels."""
    numbers, base = plan.extra.tolist(), _shared_reference(every)
    rows = tuple(
        (Cell(_name(found, base)), *(_cell(found, i) for i in range(len(numbers))))
        for found in every
    )
    return Table(("with extra labels", *(f"{extra:,}" for extra in numbers)), rows)


def _groups(plan: LabelPlan) -> Table:
    """What labels there are, and what one more does."""
    rows = []
    columns = zip(plan.groups, plan.labeled, plan.unlabeled, plan.shrinks, strict=True)
    for name, known, unknown, shrinks in columns:
        less = Cell(f"{NEXT * shrinks:.4f}")
        if math.isnan(shrinks):
            less = Cell("-", "no row is left to be labeled" if unknown == 0 else "undefined")
        rows.append((Cell(name), Cell(f"{known:,}"), Cell(f"{unknown:,}"), less))
    return Table(("group", "labeled", "unlabeled", f"{NEXT} labels narrow by"), tuple(rows))


def _number(plan: LabelPlan) -> str:
    """How many labels it takes."""
    if plan.labels is None:
        return f"A width of {plan.width:g} is out of reach: {plan.reason}."
    if plan.labels == 0:
        return f"A width of {plan.width:g} is reached now."
    text = f"A width of {plan.width:g} takes about {plan.labels:,} more labels"
    if plan.labels_range is None or plan.labels_range == (plan.labels, plan.labels):
        return f"{text}."
    low, high = plan.labels_range
    return f"{text} ({low:,} to {'all' if high is None else f'{high:,}'})."


def _next(plan: LabelPlan) -> list[str]:
    """Where to label next."""
    if plan.next_group is None or len(plan.groups) == 1:
        return []
    others = [
        (shrinks, name)
        for name, shrinks in zip(plan.groups, plan.shrinks, strict=True)
        if name != plan.next_group and not math.isnan(shrinks)
    ]
    best = plan.shrinks[plan.groups.index(plan.next_group)]
    text = f"Next: {plan.next_group}; {NEXT} labels there narrow the widest by {NEXT * best:.4f}"
    if others:
        second, name = max(others)
        text += f", in {name} by {NEXT * second:.4f}"
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


def _interval(found: Expected, at: int) -> dict[str, Any]:
    """A width with its name."""
    of = {"group": found.group, "reference": found.reference}
    return {
        **({"name": found.group} if found.reference is None else of),
        "width": plain(found.width[at]),
        "mcse": plain(found.mcse[at]),
        "reason": found.reason,
    }
