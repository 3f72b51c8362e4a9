"""The reports on several thresholds: of an assessment, and of a search for thresholds.

For each metric, tables with one row per threshold show the groups and their differences. For more
than three groups, a single table shows the largest gap, and the groups with the lowest and the
highest mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.comparison.gaps import ByGroup, largest_gap
from ..core.data.messages import counted, number, probability
from ..core.values import gap_values
from ..thresholds.curve import ThresholdCurve, asked_curve, counted_metrics, threshold_values
from .document import Cell, Document, Paragraph, Section, Table
from .format import estimate_cell, probability_cell, value_cell, within_title
from .provenance import definition, search_sections
from .sections import (
    Blocks,
    capitalized,
    critical_warnings,
    diagnostics_section,
    rows_section,
    warning_summary,
    warnings_section,
)

if TYPE_CHECKING:
    from ..core.assessment import Assessment
    from ..thresholds.search import FoundThresholds

ACROSS = 3  # groups that fit side by side

DOWN = 16  # thresholds in a table

SENTENCES = 6  # groups up to which each has a sentence

RULE = (
    "recommended: the threshold with the smallest expected absolute gap; among equals, the lowest"
)


def threshold_section(result: Assessment) -> Section:
    """Return the tables of an assessment at several thresholds."""
    curve, settings = asked_curve(result), result.settings
    total = len(curve.thresholds)
    shown = np.unique(np.rint(np.linspace(0, total - 1, min(total, DOWN))).astype(int))
    names = counted_metrics(result)
    blocks: Blocks = []
    if len(result.groups) <= ACROSS:
        values = threshold_values(result)
        by_threshold = {key: values[key] for key in map(repr, curve.thresholds[shown].tolist())}
        for name in names:
            at = {f"{float(key):.4g}": metrics[name] for key, metrics in by_threshold.items()}
            blocks += _each_group(name, at, settings.epsilon)
    else:
        blocks += [_largest_gap(result, curve, name, shown) for name in names]
    everything = "the complete results are in the JSON output (to_dict, --json)"
    if len(shown) < total:
        blocks.append(Paragraph(f"{len(shown)} of {total} thresholds; {everything}"))
    if len(result.groups) > ACROSS:
        blocks.append(Paragraph(f"groups with the lowest and highest mean; {everything}"))
    if fixed := [name for name in settings.metrics if name not in names]:
        verb = "does" if len(fixed) == 1 else "do"
        blocks.append(Paragraph(f"{', '.join(fixed)} {verb} not depend on the threshold"))
    return Section("thresholds", "thresholds", tuple(blocks))


def _each_group(name: str, at: dict[str, dict[str, Any]], epsilon: float) -> list[Table]:
    """Tables of the groups and of their differences by threshold."""
    tables = []
    first = next(iter(at.values()))
    head = (f"{name} from", *(entry["name"] for entry in first["groups"]))
    rows = [
        (Cell(key), *(value_cell(entry) for entry in values["groups"]))
        for key, values in at.items()
    ]
    tables.append(Table(head, tuple(rows)))
    titles, rows = [f"{name} from"], []
    for entry in first["differences"]:
        titles += [f"{entry['group']} minus {entry['reference']}", "P(>0)", within_title(epsilon)]
    for key, values in at.items():
        row = [Cell(key)]
        for entry in values["differences"]:
            likely = (entry["prob_positive"], entry["prob_within"])
            row += [value_cell(entry), *(probability_cell(value, entry) for value in likely)]
        rows.append(tuple(row))
    if first["differences"]:
        tables.append(Table(tuple(titles), tuple(rows)))
    return tables


def _largest_gap(result: Assessment, curve: ThresholdCurve, name: str, shown: Any) -> Table:
    """A table of the largest gap between groups by threshold, and of the lowest and highest."""
    settings, metric = result.settings, result.settings.metric(name)
    known = np.full(len(result.groups), metric.label_free) | curve.labeled
    known &= settings.target != "population"
    draws = curve.draws(name)
    groups = [curve.metric(name, group) for group in result.groups]
    rows = []
    for place in shown.tolist():
        threshold = float(curve.thresholds[place])
        by = ByGroup(draws[:, :, place], result.groups, metric.lack, known, metric.label_free)
        gap = gap_values(largest_gap(by), settings.prob, settings.epsilon)
        near = probability_cell(gap["prob_within"], gap)
        mean = np.array([estimates[threshold].mean for estimates in groups])
        ends = [Cell("-", groups[0][threshold].reason)] * 2
        if not np.isnan(mean).all():
            places = int(np.nanargmin(mean)), int(np.nanargmax(mean))
            ends = [Cell(f"{number(mean[i])} {result.groups[i]}") for i in places]
        rows.append((Cell(f"{threshold:.4g}"), value_cell(gap), near, *ends))
    head = ("largest gap", f"P(gap<{settings.epsilon:g})", "lowest", "highest")
    return Table((f"{name} from", *head), tuple(rows))


def document(found: FoundThresholds, *, full: bool = False, command: str | None = None) -> Document:
    """Return the report of a search; `full` and `command` as in `report.assessment`."""
    goal = f"that of {found.reference}" if found.target is None else f"{found.target:g}"
    title = f"thresholds at which {found.metric} is {goal}"
    entries = found.to_dict()["groups"]
    blocks = (_table(found, entries), Paragraph(RULE))
    reference = None if found.wanted is None else estimate_cell(found.wanted, found.prob)
    if not full:
        if reference is not None:
            at = "" if found.own is None else f" at {found.own:g}"
            title += f"{at}, {reference.text}"
        sections = [Section("thresholds", "", blocks)]
        if critical := critical_warnings(found.warnings):
            sections.append(Section("warnings", "warnings", tuple(critical)))
        return Document(title, tuple(sections))
    lead = [text] if (text := definition(found.of)) else []
    if reference is not None:
        at = "" if found.own is None else f" {found.own:g}"
        text = reference.text if reference.why is None else f"undefined, {reference.why}"
        lead.append(f"{found.metric} of {found.reference}, at its own threshold{at}: {text}.")
    findings = _findings(found, entries, goal)
    sections = [
        Section("verdict", "verdict", (*findings, *warning_summary(found.warnings))),
        Section("thresholds", "thresholds", (*map(Paragraph, lead), *blocks)),
        rows_section(found.assessment),
        diagnostics_section(found.assessment),
        *warnings_section(found.warnings),
        *search_sections(found, command),
    ]
    return Document(f"{title[:1].upper()}{title[1:]}", capitalized(sections))


def _findings(found: FoundThresholds, entries: list[dict[str, Any]], goal: str) -> list[Paragraph]:
    """The recommended thresholds, and the gaps that remain; a summary for many groups."""
    if len(entries) <= SENTENCES:
        return [Paragraph(_sentence(found, entry, goal), "finding") for entry in entries]
    gaps = [entry["gap"] for entry in entries if entry["gap"] is not None]
    near = sum(gap["prob_within"] >= found.prob for gap in gaps)
    text = (
        f"A threshold is recommended for {len(gaps)} of {counted(len(entries), 'group')}. In "
        f"{near} of them, {found.metric} is then within {found.epsilon:g} of {goal} with a "
        f"probability of at least {found.prob:g}."
    )
    return [Paragraph(text, "finding")]


def _sentence(found: FoundThresholds, entry: dict[str, Any], goal: str) -> str:
    gap = entry["gap"]
    if gap is None:
        return f"{entry['group']}: no threshold is recommended; {entry['recommended_reason']}."
    near = f"with probability {probability(gap['prob_within'])}"
    if gap["exact"]:
        near = "(exact)" if gap["prob_within"] else "is not reached (exact)"
    return (
        f"{entry['group']}: {entry['recommended']!r} is recommended; {found.metric} there minus "
        f"{goal} is {value_cell(gap).text}, less than {found.epsilon:g} from 0 {near}."
    )


def _table(found: FoundThresholds, entries: list[dict[str, Any]]) -> Table:
    """The posterior of the threshold of each group, and the recommended one."""
    rows = []
    for entry in entries:
        threshold = value_cell(entry)
        crossing = Cell("-", threshold.why)
        if entry["no_crossing"] is not None:
            crossing = Cell(f"{entry['no_crossing']:.1%}")
        best = gap = near = Cell("-", entry.get("recommended_reason"))
        if entry["gap"] is not None:
            best = Cell(repr(entry["recommended"]))  # rounding it could change decisions
            gap = value_cell(entry["gap"])
            near = probability_cell(entry["gap"]["prob_within"], entry["gap"])
        rows.append((Cell(entry["group"]), threshold, crossing, best, gap, near))
    titles = ("group", "threshold", "no crossing", "recommended", "gap there")
    return Table((*titles, f"P(|gap|<{found.epsilon:g})"), tuple(rows))
