"""The report on several thresholds: metrics and gaps at each, as tables and as plain values.

A table of each metric has the thresholds down, groups across, and one beside it the differences.
Where there are more groups than fit, it says how far the highest is above the lowest, and which
they are; the values hold all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .blocks import Cell, Paragraph, Section, Table
from .compare import Estimate
from .comparison_report import gap_values
from .comparisons import ByGroup, largest_gap
from .showing import cell, cell_of, chance, number, small
from .thresholds import ThresholdCurve
from .values import plain, summary

if TYPE_CHECKING:
    from .assessment import Assessment

ACROSS = 3  # groups that fit into a line
DOWN = 16  # thresholds of a table
CHANCES = ("prob_positive", "prob_within")


def threshold_values(result: Assessment) -> dict[str, Any]:
    """Return what to_dict holds under "thresholds": threshold to metric to groups, differences."""
    curve = result.thresholds()
    found: dict[str, Any] = {repr(float(cut)): {} for cut in curve.thresholds}
    for name in counted_metrics(result):
        groups = {group: curve.metric(name, group) for group in result.groups}
        gaps = {group: curve.difference(name, group) for group in _others(result)}
        for cut in curve.thresholds.tolist():
            found[repr(cut)][name] = {
                "groups": [
                    {"name": group, **summary(estimates[cut], result.settings.prob)}
                    for group, estimates in groups.items()
                ],
                "differences": [
                    _difference(result, group, estimates[cut]) for group, estimates in gaps.items()
                ],
            }
    return found


def threshold_section(result: Assessment) -> Section:
    """Return the tables of the report on several thresholds."""
    curve = result.thresholds()
    every = len(curve.thresholds)
    places = np.arange(every)
    if every > DOWN:
        places = np.unique(np.rint(np.linspace(0, every - 1, DOWN)).astype(int))
    few = len(result.groups) <= ACROSS
    blocks: list[Paragraph | Table] = []
    for name in counted_metrics(result):
        if few:
            blocks += _few(result, curve, name, places)
        else:
            blocks.append(_many(result, curve, name, places))
    if len(places) < every:
        hold = "the values (to_dict, --json) hold all"
        blocks.append(Paragraph(f"{len(places)} of {every} thresholds; {hold}"))
    if not few:
        hold = "lowest and highest by mean; the values (to_dict, --json) hold all groups"
        blocks.append(Paragraph(hold))
    fixed = [name for name in result.settings.metrics if name not in counted_metrics(result)]
    if fixed:
        verb = "does" if len(fixed) == 1 else "do"
        blocks.append(Paragraph(f"{', '.join(fixed)} {verb} not change with the threshold"))
    return Section("thresholds", "thresholds", tuple(blocks))


def counted_metrics(result: Assessment) -> list[str]:
    """Return the metrics of an assessment that change with the threshold."""
    settings = result.settings
    return [
        name
        for name in settings.metrics
        if settings.metric(name).of == "counts" and name != "base_rate"
    ]


def _others(result: Assessment) -> list[str]:
    """The groups that are compared with the reference."""
    reference = result.settings.reference
    return [] if reference is None else [group for group in result.groups if group != reference]


def _difference(result: Assessment, group: str, estimate: Estimate) -> dict[str, Any]:
    settings = result.settings
    return {
        "group": group,
        "reference": settings.reference,
        **summary(estimate, settings.prob),
        "prob_positive": plain(estimate.prob_greater(0.0)),
        "prob_within": plain(estimate.prob_within(settings.epsilon)),
    }


def _few(result: Assessment, curve: ThresholdCurve, name: str, places: Any) -> list[Table]:
    """A table of the groups, and where there are several one of the differences."""
    settings = result.settings
    cuts = curve.thresholds[places].tolist()
    others = _others(result)
    groups = [curve.metric(name, group) for group in result.groups]
    head = (f"{name} from", *result.groups)
    rows = [
        (_cut(cut), *(cell(estimates[cut], settings.prob) for estimates in groups)) for cut in cuts
    ]
    if not others:
        return [Table(head, tuple(rows))]
    titles = [f"{name} from"]
    for group in others:
        titles += [f"{group} minus {settings.reference}", "P(>0)", small(settings.epsilon)]
    gaps = [
        {cut: _difference(result, group, one) for cut, one in curve.difference(name, group).items()}
        for group in others
    ]
    lines = []
    for cut in cuts:
        line = [_cut(cut)]
        for values in gaps:
            gap = values[cut]
            line += [cell_of(gap), *(chance(gap[key], gap) for key in CHANCES)]
        lines.append(tuple(line))
    return [Table(head, tuple(rows)), Table(tuple(titles), tuple(lines))]


def _many(result: Assessment, curve: ThresholdCurve, name: str, places: Any) -> Table:
    """The largest gap between groups at each threshold, and the lowest and the highest of them."""
    settings, of = result.settings, result.settings.metric(name)
    known = np.full(len(result.groups), of.label_free) | curve.labeled
    known &= settings.target != "population"
    draws = curve.draws(name)
    groups = [curve.metric(name, group) for group in result.groups]
    head = ("largest gap", f"P(gap<{settings.epsilon:g})", "lowest", "highest")
    rows = []
    for place in places.tolist():
        cut = float(curve.thresholds[place])
        by = ByGroup(draws[:, :, place], result.groups, of.lack, known, of.label_free)
        gap = gap_values(largest_gap(by), settings.prob, settings.epsilon)
        mean = np.array([estimates[cut].mean for estimates in groups])
        ends = [Cell("-", groups[0][cut].reason)] * 2
        if not np.isnan(mean).all():
            ends = [
                Cell(f"{number(mean[at])} {result.groups[at]}")
                for at in (int(np.nanargmin(mean)), int(np.nanargmax(mean)))
            ]
        size = cell_of({**gap, "mean": gap["median"]})
        rows.append((_cut(cut), size, chance(gap["prob_within"], gap), *ends))
    return Table((f"{name} from", *head), tuple(rows))


def _cut(cut: float) -> Cell:
    return Cell(f"{cut:.4g}")
