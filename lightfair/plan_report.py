"""What a label plan prints, and its plain values for JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .planning import NEXT
from .report import one_line, plain

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
    }


def to_text(plan: LabelPlan) -> str:
    """Return the report that print shows."""
    known, unknown = int(plan.labeled.sum()), int(plan.unlabeled.sum())
    every = plan.of_differences or plan.of_groups
    first = [-1.0 if math.isnan(found.width[0]) else found.width[0] for found in every]
    shown = [every[i] for i in np.argsort(-np.array(first), kind="stable")[:LISTED]]
    names = [_name(found) for found in shown]
    verdict = not np.isnan(plan.decisive).all()
    cells = [["extra labels", *names, *["decisive"] * verdict]]
    for i, number in enumerate(plan.extra.tolist()):
        chance = "-" if math.isnan(plan.decisive[i]) else f"{plan.decisive[i]:.0%}"
        cells.append([f"{number:,}", *(_cell(found, i) for found in shown), *[chance] * verdict])
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        f"Plan for {plan.metric}: {known:,} rows have labels, {unknown:,} can get one",
        "",
        f"expected width of {100 * plan.prob:g} % intervals"
        + f"; chance that a check of differences<={plan.within:g} passes or fails" * verdict,
    ]
    lines += [
        "  ".join(f"{cell:>{size}}" for cell, size in zip(row, wide, strict=True)) for row in cells
    ]
    if len(every) > LISTED:
        lines.append(f"and {len(every) - LISTED} more that are narrower; to_dict() has them")
    lines += ["", _number(plan), *_next(plan)]
    return "\n".join(map(one_line, lines))


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


def _name(found: Expected) -> str:
    return found.group if found.reference is None else f"{found.group} - {found.reference}"


def _cell(found: Expected, at: int) -> str:
    if math.isnan(found.width[at]):
        return "undefined"
    error = f" ±{found.mcse[at]:.3f}" if found.mcse[at] > 0.0 else ""
    return f"{found.width[at]:.3f}{error}"


def _interval(found: Expected, at: int) -> dict[str, Any]:
    """A width with its name."""
    of = {"group": found.group, "reference": found.reference}
    return {
        **({"name": found.group} if found.reference is None else of),
        "width": plain(found.width[at]),
        "mcse": plain(found.mcse[at]),
        "reason": found.reason,
    }
