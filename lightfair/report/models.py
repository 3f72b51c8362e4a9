"""The report of a comparison of models."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ..core import __version__
from ..core.data.messages import counted, probability
from ..core.settings import Settings
from ..model_comparison.comparison import ModelComparison
from . import sections as shared
from .document import Cell, Document, Paragraph, Section, section
from .format import Columns, table_of, target_line, truth_cell, value_cell
from .provenance import provenance_sections

ALL = "all rows"

DECISIONS = (
    "The decisions of the models count as one more attribute. In every draw, the labels are the "
    "same for all models."
)


def document(
    result: ModelComparison, *, full: bool = False, command: str | None = None
) -> Document:
    """Return the report; `full` and `command` as in `report.assessment`."""
    names, values = result.settings.metrics, result.to_dict()
    line = shared.diagnostics_line(result.cells.gate, result.cells.shape)
    warned = shared.warning_summary(result.warnings)
    findings = [*_findings(result), *(warned if full else warned[-1:])]
    sections = [
        section("verdict", *findings, title="findings"),
        _rows(result, values["data"]),
        *(_metric(name, values["metrics"][name], result.settings) for name in names),
        section("diagnostics", line),
        *shared.warnings_section(result.warnings),
    ]
    if not full:
        return Document(f"lightfair {__version__}", tuple(sections))
    sections += provenance_sections(
        result.settings,
        result.cells.table,
        command,
        subject="Within a group, rows with the same decisions have a calibration curve",
        score="s, whose log odds are the mean of those of the models' scores",
        texts=[DECISIONS],
    )
    return Document(f"Fairness of {_listed(result.models)}", shared.capitalized(sections, names))


def _findings(result: ModelComparison) -> list[Paragraph]:
    """Which of two models surely has the smaller gap, the largest of all groups."""
    unclear, texts = [], []
    for name in result.settings.metrics if len(result.groups) > 1 else ():
        group, what = None, f"the largest gap in {name} is smaller"
        if len(result.groups) == 2:
            (group,) = {*result.groups} - {result.settings.reference}
            what = f"{name} of {group} minus {result.settings.reference} is closer to 0"
        found = []
        for model, than in itertools.permutations(result.models, 2):
            gain = result.fairer(name, model, than, group)
            known = gain.exact or result.cells.table.labeled > 0
            if known and (chance := gain.prob_greater()) >= result.settings.prob:
                sure = probability(chance, exact=gain.exact)
                found.append(f"{what} for {model} than for {than}, with probability {sure}.")
        texts += found
        unclear += [name] * (not found)
    if unclear:
        texts.append(f"No model clearly has the smaller gap in {', '.join(unclear)}.")
    return [Paragraph(text, "finding") for text in texts]


def _rows(result: ModelComparison, data: dict[str, Any]) -> Section:
    """The data, and on how many rows the decisions of two models differ."""
    settings = result.settings
    thresholds = settings.threshold if isinstance(settings.threshold, dict) else {}
    cuts = ", ".join(f"{model} {value}" for model, value in thresholds.items())
    attributes = " and ".join(result.cells.table.attributes[:-1])
    lines = [
        f"models {_listed(result.models)} on the same rows: "
        f"{counted(data['rows'], 'row')}, {data['labeled']:,} labeled, {data['unlabeled']:,} "
        f"unlabeled; {counted(len(result.groups), 'group')} by {attributes}; thresholds {cuts}",
        target_line(settings.target),
    ]
    for pair in data["disagreements"]:
        lines.append(
            f"{' and '.join(pair['models'])} decide differently in "
            f"{counted(pair['rows'], 'row')}, {pair['labeled']:,} of them labeled"
        )
    lines.append(f"{100 * settings.prob:g} % credible intervals")
    if result.truth is not None:
        lines.append(shared.TRUTH)
    table = shared.rows_table("group", {group["name"]: group for group in data["groups"]})
    return section("rows", *lines, table)


def _listed(models: tuple[str, ...]) -> str:
    return f"{', '.join(models[:-1])} and {models[-1]}"


def _metric(name: str, values: dict[str, Any], settings: Settings) -> Section:
    """A metric and its gaps by group, of each model and of each pair; one table for two models."""
    models = {one["model"]: _entries(one) for one in values["models"]}
    pairs = {f"{one['model']} minus {one['than']}": _entries(one) for one in values["pairs"]}
    blocks: shared.Blocks = []
    for at, head in enumerate(("group", f"minus {settings.reference}")):
        rows = {row: row for found in models.values() for row in found[at]}
        alone: Columns = {title: _column(value_cell, found[at]) for title, found in models.items()}
        apart: Columns = {}
        for title, found in pairs.items():
            apart[title] = _column(value_cell, found[at])
            if any("truth" in entry for entry in found[at].values()):
                known = "truth" if len(models) == 2 else f"truth of {title}"
                apart[known] = _column(truth_cell, found[at])
        parts = [alone | apart] if len(models) == 2 else [alone, apart]
        blocks += [table_of(head, columns, rows) for columns in parts if rows]
    chances: Columns = {
        f"P({one['model']} fairer than {one['than']})": _column(_fairer, _entries(one)[1])
        for one in values["pairs"]
    }
    blocks += [table_of("smaller gap", chances, rows)] if rows else []
    return section(name, *blocks)


def _entries(one: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values of a model, or of a pair, by names of rows: of groups, and of gaps."""
    groups = {ALL: one["overall"], **{entry["name"]: entry for entry in one["groups"]}}
    gaps = {entry["group"]: entry for entry in one["differences"]}
    return groups, gaps | ({"largest": one["largest_gap"]} if len(gaps) > 1 else {})


def _column(cell: Callable[[Any], Cell], found: dict[str, Any]) -> Callable[[str], Cell]:
    return lambda row: cell(found[row])


def _fairer(entry: dict[str, Any]) -> Cell:
    """The probability of a smaller gap, and that of an equal one."""
    chances = entry["prob_fairer"], entry["prob_as_fair"]
    chance, equal = (probability(value, exact=entry["exact"]) for value in chances)
    few = (chances[1] or 0.0) < 0.001
    return Cell(chance if few else f"{chance} (equal {equal})", entry.get("reason"))
