"""The reports on several thresholds: of an assessment, and of a search for thresholds.

For each metric, tables with one row per threshold show the groups and their differences. For more
than three groups, a single table shows the largest gap, and the groups with the lowest and the
highest mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.assessment import Assessment
from ..core.comparison.gaps import ByGroup, largest_gap
from ..core.data.messages import number, probability
from ..core.values import gap_values
from ..thresholds.curve import ThresholdCurve, asked_curve, counted_metrics, threshold_values
from ..thresholds.search import FoundThresholds
from . import sections as shared
from .document import Cell, Document, Paragraph, Section, Table
from .format import estimate_cell, probability_cell, probability_columns, value_cell
from .provenance import definition, provenance_sections

ACROSS = 3  # groups that fit side by side

DOWN = 16  # thresholds in a table

RULE = (
    "recommended: the threshold with the smallest expected absolute gap; among equals, the lowest"
)


def threshold_section(result: Assessment) -> Section:
    """Return the tables of an assessment at several thresholds."""
    curve, settings = asked_curve(result), result.settings
    total = len(curve.thresholds)
    shown = np.unique(np.rint(np.linspace(0, total - 1, min(total, DOWN))).astype(int))
    names = counted_metrics(result)
    blocks: shared.Blocks = []
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
    first, likely = next(iter(at.values())), probability_columns(epsilon)
    groups, differences = [], []
    for key, values in at.items():
        groups.append((Cell(key), *map(value_cell, values["groups"])))
        row = [Cell(key)]
        for entry in values["differences"]:
            row += [value_cell(entry), *(column(entry) for column in likely.values())]
        differences.append(tuple(row))
    head = (f"{name} from", *(entry["name"] for entry in first["groups"]))
    titles = [f"{name} from"]
    for entry in first["differences"]:
        titles += [f"{entry['group']} minus {entry['reference']}", *likely]
    tables = [Table(head, tuple(groups)), Table(tuple(titles), tuple(differences))]
    return tables if first["differences"] else tables[:1]


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
        if critical := shared.critical_warnings(found.warnings):
            sections.append(Section("warnings", "warnings", tuple(critical)))
        return Document(title, tuple(sections))
    lead = [text] if (text := definition(found.of)) else []
    if reference is not None:
        at = "" if found.own is None else f" {found.own:g}"
        text = reference.text if reference.why is None else f"undefined, {reference.why}"
        lead.append(f"{found.metric} of {found.reference}, at its own threshold{at}: {text}.")
    findings = [Paragraph(_sentence(found, entry, goal), "finding") for entry in entries]
    sections = [
        Section("verdict", "verdict", (*findings, *shared.warning_summary(found.warnings))),
        Section("thresholds", "thresholds", (*map(Paragraph, lead), *blocks)),
        shared.rows_section(found.assessment),
        shared.diagnostics_section(found.assessment),
        *shared.warnings_section(found.warnings),
        *_provenance(found, command),
    ]
    return Document(f"{title[:1].upper()}{title[1:]}", shared.capitalized(sections))


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


def _provenance(found: FoundThresholds, command: str | None) -> list[Section]:
    texts = (
        "In every draw, a row has one label, whatever the threshold. The posterior of a threshold "
        "is that of the point at which the metric reaches its goal. Within a cell of the table, "
        "rows are assumed to be uniform in log odds.",
        "The reference keeps its own threshold. An assessment at the recommended thresholds gives "
        "slightly different numbers, because its deviations from the curve depend on decisions.",
    )
    options = {name: getattr(found, name) for name in ("metric", "reference", "target")}
    settings, table = found.assessment.settings, found.assessment.table
    return provenance_sections(
        settings, table, command, texts=texts, options={"find_threshold": options}
    )
