"""The reports on several thresholds: of an assessment, and of a search for thresholds.

For each metric, tables with one row per threshold show the groups and their differences.
"""

from __future__ import annotations

from typing import Any

from ..core.assessment import Assessment
from ..thresholds.curve import counted_metrics, threshold_values
from ..thresholds.search import FoundThresholds
from . import format as cells
from . import sections as shared
from .document import Cell, Document, Section, Table, section

ACROSS = 6  # groups side by side

DOWN = 16  # thresholds in a table

ASSUMPTIONS = (
    "In every draw, a row has one label, whatever the threshold.",
    "The reference keeps its own threshold. An assessment at the recommended thresholds gives "
    "slightly different numbers, because its deviations from the curve depend on decisions.",
)

ARGUMENTS = ("metric", "reference", "target")

RULE = "recommended: the threshold of the smallest expected absolute gap; among equals, the lowest"


def threshold_section(result: Assessment) -> Section:
    """Return the tables of an assessment at several thresholds."""
    settings, names, values = result.settings, counted_metrics(result), threshold_values(result)
    every, total, groups = -(-len(values) // DOWN), len(values), len(result.groups)
    keys = [*values][::every] if groups <= ACROSS else []
    blocks: shared.Blocks = []
    for name in names if keys else []:
        at = {f"{float(key):.4g}": values[key][name] for key in keys}
        blocks += _each_group(name, at, settings.epsilon)
    if len(keys) < total:
        text = f"{len(keys)} of {total} thresholds" if keys else f"{groups} groups are too many"
        blocks.append(f"{text}; the JSON output (to_dict, --json) is complete")
    if fixed := [name for name in settings.metrics if name not in names]:
        blocks.append(f"not dependent on the threshold: {', '.join(fixed)}")
    return section("thresholds", *blocks)


def _each_group(name: str, at: dict[str, dict[str, Any]], epsilon: float) -> list[Table]:
    """A table of the groups by threshold, and one of each difference."""
    head, first = f"{name} from", next(iter(at.values()))
    rows = tuple((Cell(key), *map(cells.value_cell, of["groups"])) for key, of in at.items())
    tables = [Table((head, *(entry["name"] for entry in first["groups"])), rows)]
    for index, one in enumerate(first["differences"]):
        columns: cells.Columns = {f"{one['group']} minus {one['reference']}": cells.value_cell}
        entries = {key: values["differences"][index] for key, values in at.items()}
        tables.append(cells.table_of(head, columns | cells.probability_columns(epsilon), entries))
    return tables


def document(found: FoundThresholds, *, full: bool = False, command: str | None = None) -> Document:
    """Return the report of a search; `full` and `command` as in `report.assessment`."""
    base, epsilon = found.assessment, found.assessment.settings.epsilon
    goal = f"that of {found.reference}" if found.target is None else f"{found.target:g}"
    title = f"thresholds at which {found.metric} is {goal}"
    columns: cells.Columns = {"recommended": _recommended, "gap there": cells.value_cell}
    columns[f"P(|gap| < {epsilon:g})"] = cells.chance("prob_within")
    if found.truth is not None:
        columns["truth"] = cells.truth_cell
    none = {"interval": None, "prob_within": None}
    values = found.to_dict()
    gaps = {
        entry["group"]: entry | (entry["gap"] or none | {"reason": entry["recommended_reason"]})
        for entry in values["groups"]
    }
    blocks: shared.Blocks = [cells.table_of("group", columns, gaps), RULE]
    if found.wanted is not None:
        cell = cells.value_cell(values["wanted"])
        at = "" if found.own is None else f" {found.own:g}"
        value = cell.text if cell.why is None else f"undefined, {cell.why}"
        if found.truth is not None:
            value += f"; truth {cells.truth_cell(values['wanted']).text}"
        text = f"{found.metric} of {found.reference}, at its own threshold{at}: {value}."
        blocks.insert(0, text)
    if found.truth is not None:
        blocks.append(shared.TRUTH)
    if not full:
        blocks += shared.critical_warnings(base.warnings)
        return Document(title, (section("thresholds", *blocks, title=""),))
    options = {"find_threshold": {name: getattr(found, name) for name in ARGUMENTS}}
    more: dict[str, Any] = {"texts": ASSUMPTIONS, "options": options}
    return shared.full_report(base, title, section("thresholds", *blocks), command, **more)


def _recommended(entry: dict[str, Any]) -> Cell:
    best = entry["recommended"]
    return Cell("-", entry["reason"]) if best is None else Cell(repr(best))  # rounded it may differ
