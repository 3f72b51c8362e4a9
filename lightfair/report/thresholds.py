"""The report on several thresholds: metrics and gaps at each, as tables and as plain values.

A table of each metric has the thresholds down, groups across, and one beside it the differences.
Where there are more groups than fit, it says how far the highest is above the lowest, and which
they are; the values hold all of them.

The report of a search for thresholds: as a document for people, and as plain values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.comparison.gaps import ByGroup, largest_gap
from ..core.data.messages import counted, number, probability
from ..core.values import gap_values, summary
from ..thresholds.curve import (
    CHANCES,
    ThresholdCurve,
    _difference,
    _others,
    asked_curve,
    counted_metrics,
)
from ..thresholds.search import SEVERAL_WAYS, _undefined
from .document import Cell, Document, Paragraph, Section, Table
from .format import cell, cell_of, chance, small
from .sections import cautions, grave, warnings_section

if TYPE_CHECKING:
    from ..core.assessment import Assessment
    from ..thresholds.search import FoundThresholds, GroupThreshold

ACROSS = 3  # groups that fit into a line

DOWN = 16  # thresholds of a table


def threshold_section(result: Assessment) -> Section:
    """Return the tables of the report on several thresholds."""
    curve = asked_curve(result)
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


RULE = "recommended: the threshold with the smallest expected absolute gap; of equals the smallest"

SAID = 6  # groups up to which each has a sentence


def document(found: FoundThresholds, *, full: bool = False, command: str | None = None) -> Document:
    """Return the report of a search; `full` and `command` as in `report.document`."""
    title = f"thresholds at which {found.metric} is {_sought(found)}"
    blocks = (_table(found), Paragraph(RULE))
    if not full:
        if found.wanted is not None:
            at = "" if found.own is None else f" at {found.own:g}"
            title += f"{at}, {cell(found.wanted, found.prob).text}"
        sections = [Section("thresholds", "", blocks)]
        if said := grave(found.warnings):
            sections.append(Section("warnings", "warnings", tuple(said)))
        return Document(title, tuple(sections))
    from .provenance import meaning, search_sections
    from .sections import capitalized, diagnostics_section, rows_section

    lead = (meaning(found.of), _wanted(found))
    sections = [
        Section("verdict", "verdict", (*_findings(found), *cautions(found.warnings))),
        Section("thresholds", "thresholds", (*(Paragraph(x) for x in lead if x), *blocks)),
        rows_section(found.assessment),
        diagnostics_section(found.assessment),
        *warnings_section(found.warnings),
        *search_sections(found, command),
    ]
    return Document(f"{title[:1].upper()}{title[1:]}", capitalized(sections))


def _sought(found: FoundThresholds) -> str:
    """What is to be met."""
    return f"that of {found.reference}" if found.target is None else f"{found.target:g}"


def _wanted(found: FoundThresholds) -> str | None:
    """What the reference shows."""
    if found.wanted is None:
        return None
    at = "" if found.own is None else f" {found.own:g}"
    shown = cell(found.wanted, found.prob)
    said = shown.text if shown.why is None else f"undefined, {shown.why}"
    return f"{found.metric} of {found.reference}, at its own threshold{at}: {said}."


def _findings(found: FoundThresholds) -> list[Paragraph]:
    """What is recommended, and how near to what is wanted it comes; of many groups in short."""
    if len(found.groups) <= SAID:
        return [Paragraph(_finding(found, one), "finding") for one in found.groups]
    gaps = [one.gap for one in found.groups if one.gap is not None]
    near = sum(gap.prob_within(found.epsilon) >= found.prob for gap in gaps)
    return [
        Paragraph(
            f"A threshold is recommended for {len(gaps)} of {counted(len(found.groups), 'group')}; "
            f"in {near} of them {found.metric} is then less than {found.epsilon:g} from "
            f"{_sought(found)} with a probability of at least {found.prob:g}.",
            "finding",
        )
    ]


def _finding(found: FoundThresholds, one: GroupThreshold) -> str:
    if one.gap is None:
        return f"{one.group}: no threshold is recommended; {_undefined(found)}."
    values = summary(one.gap, found.prob)
    near = one.gap.prob_within(found.epsilon)
    less = f"with probability {probability(near)}"
    if values["exact"]:
        less = "for sure" if near else "not at all"
    return (
        f"{one.group}: {one.recommended!r} is recommended; {found.metric} there minus "
        f"{_sought(found)} is {cell_of(values).text}, less than {found.epsilon:g} from 0 {less}."
    )


def _table(found: FoundThresholds) -> Table:
    rows = []
    for one in found.groups:
        no_posterior = f"{found.metric} {SEVERAL_WAYS}: it has no posterior of the threshold"
        between = none = Cell("-", no_posterior)
        if one.crossing is not None:
            none = Cell(f"{one.crossing.undefined:.1%}")
            between = cell_of({**summary(one.crossing, found.prob), "mean": one.median})
        better = gap = near = Cell("-", _undefined(found))
        if one.gap is not None:
            values = summary(one.gap, found.prob)
            better = Cell(repr(one.recommended))  # one with fewer digits may decide otherwise
            gap, near = cell_of(values), chance(one.gap.prob_within(found.epsilon), values)
        rows.append((Cell(one.group), between, none, better, gap, near))
    titles = ("group", "threshold", "no crossing", "recommended", "gap there")
    return Table((*titles, f"P(|gap|<{found.epsilon:g})"), tuple(rows))
