"""The report of a comparison of models."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ..core import __version__
from ..core.data.messages import counted, probability
from ..core.metrics.estimate import Estimate
from ..model_comparison import ModelComparison, data_values
from . import sections as shared
from .document import Cell, Document, Paragraph, Section
from .format import Columns, estimate_cell, table_of, target_line
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
    names = result.settings.metrics
    line = Paragraph(shared.diagnostics_line(result.cells.gate, result.cells.shape))
    sections = [
        _rows(result),
        *(_metric(result, name) for name in names),
        Section("diagnostics", "diagnostics", (line,)),
        *shared.warnings_section(result.warnings),
    ]
    if not full:
        return Document(f"lightfair {__version__}", tuple(sections))
    results = [finding for name in names for finding in _findings(result, name)]
    results += shared.warning_summary(result.warnings)
    sections = [Section("verdict", "verdict", tuple(results)), *sections]
    sections += provenance_sections(
        result.settings,
        result.cells.table,
        command,
        subject="Within a group, rows with the same decisions have a calibration curve",
        score="s, whose log odds are the mean of those of the models' scores",
        texts=[DECISIONS],
    )
    return Document(f"Fairness of {_listed(result.models)}", shared.capitalized(sections, names))


def sentence(result: ModelComparison, metric: str, first: str, second: str) -> str:
    """Return which model probably has the smaller gap, the largest of all groups."""
    *_, group = _gaps(result)
    gain = result.fairer(metric, second, first, group)
    what = f"the largest gap in {metric} is smaller"
    if group is not None:
        what = f"{metric} of {group} minus {result.settings.reference} is closer to 0"
    chance, same = gain.prob_greater(0.0), gain.prob_equal()
    if 2.0 * chance + same < 1.0:
        first, second, chance = second, first, 1.0 - chance - same
    text = f"{what} for {second} than for {first}"
    lack = gain.reason
    if lack is None and not gain.exact and not result.cells.table.labeled:
        lack = "no row is labeled"
    if lack is not None:
        return f"{text}: undefined, {lack}."
    shown = [probability(value, exact=gain.exact) for value in (chance, same)]
    return f"{text} with probability {shown[0]}, the same with probability {shown[1]}."


def _rows(result: ModelComparison) -> Section:
    """The data, and on how many rows the decisions of two models differ."""
    data, settings = data_values(result), result.settings
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
    table = shared.rows_table("group", {group["name"]: group for group in data["groups"]})
    return Section("rows", "rows", (*map(Paragraph, lines), table))


def _listed(models: tuple[str, ...]) -> str:
    return f"{', '.join(models[:-1])} and {models[-1]}"


def _metric(result: ModelComparison, name: str) -> Section:
    """A metric and its gaps by group, of each model and of each pair of models."""
    groups = {ALL: None, **{group: group for group in result.groups}}
    blocks: shared.Blocks = _tables(
        result, name, "group", groups, result.metric, result.metric_difference
    )
    if gaps := _gaps(result):
        groups = {"largest gap" if group is None else group: group for group in gaps}
        head = f"minus {result.settings.reference}"
        blocks += _tables(result, name, head, groups, result.gap, result.gap_difference)
    return Section(name, name, (*blocks, *_findings(result, name)))


def _tables(
    result: ModelComparison,
    name: str,
    head: str,
    groups: dict[str, Any],
    value: Callable[..., Estimate],
    difference: Callable[..., Estimate],
) -> shared.Blocks:
    """Tables of the models and of their differences by group; one table for two models."""

    def cell(estimate: Callable[..., Estimate], *of: str) -> Callable[[Any], Cell]:
        return lambda group: estimate_cell(estimate(*of, group), result.settings.prob)

    models: Columns = {model: cell(value, model, name) for model in result.models}
    pairs: Columns = {
        f"{two} minus {one}": cell(difference, name, two, one)
        for one, two in itertools.combinations(result.models, 2)
    }
    parts = [models | pairs] if len(pairs) == 1 else [models, pairs]
    return [table_of(head, columns, groups) for columns in parts]


def _findings(result: ModelComparison, name: str) -> list[Paragraph]:
    """Which of two models has the smaller gap."""
    pairs = itertools.combinations(result.models, 2) if _gaps(result) else ()
    return [Paragraph(sentence(result, name, *pair), "finding") for pair in pairs]


def _gaps(result: ModelComparison) -> list[Any]:
    """The groups that have a gap; if several do, also None, for the largest of their gaps."""
    compared: list[Any] = [g for g in result.groups if result.settings.reference not in (None, g)]
    return [*compared, None] if len(compared) > 1 else compared
