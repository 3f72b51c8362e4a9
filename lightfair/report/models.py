"""The report of a comparison of models."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ..core import __version__
from ..core.data.messages import counted, number, probability
from ..core.metrics.estimate import Estimate, direction_level
from ..model_comparison import ModelComparison, data_values
from .document import Cell, Document, Paragraph, Section
from .format import Columns, estimate_cell, table_of, target_line
from .provenance import provenance_sections
from .sections import (
    Blocks,
    capitalized,
    diagnostics_line,
    rows_table,
    warning_summary,
    warnings_section,
)

ALL = "all rows"

DECISIONS = (
    "The decisions of the models count as one more attribute. In every draw, the labels are the "
    "same for all models."
)

SENTENCES = 3  # groups beside the reference up to which each has a sentence


def document(
    result: ModelComparison, *, full: bool = False, command: str | None = None
) -> Document:
    """Return the report; `full` and `command` as in `report.assessment`."""
    names = result.settings.metrics
    line = Paragraph(diagnostics_line(result.cells.gate, result.cells.shape))
    sections = [
        _rows(result),
        *(_metric(result, name) for name in names),
        Section("diagnostics", "diagnostics", (line,)),
        *warnings_section(result.warnings),
    ]
    if not full:
        return Document(f"lightfair {__version__}", tuple(sections))
    results = [finding for name in names for finding in _findings(result, name)]
    results += warning_summary(result.warnings)
    sections = [Section("verdict", "verdict", tuple(results)), *sections]
    sections += provenance_sections(
        result.settings,
        result.cells.table,
        command,
        subject="Within a group, rows with the same decisions have a calibration curve",
        score="s, whose log odds are the mean of those of the models' scores",
        texts=[DECISIONS],
    )
    return Document(f"Fairness of {_listed(result.models)}", capitalized(sections, names))


def sentence(result: ModelComparison, metric: str, first: str, second: str, group: Any) -> str:
    """Return which of two models has the smaller gap, and how probable that is.

    `group` is compared with the reference; None is the largest gap over all groups.
    """
    gain, reference = result.fairer(metric, second, first, group), result.settings.reference
    what, word = f"{metric} of {group} minus {reference}", "closer to 0"
    if group is None:
        what, word = f"the largest gap in {metric}", "smaller"
    if gain.reason is not None:
        return f"{what}: undefined, {gain.reason}."
    if gain.exact and gain.mean == 0.0:
        return f"{what} is the same for {first} and {second}."
    more, less, same = gain.prob_greater(0.0), (gain.defined < 0.0).mean(), gain.prob_equal()
    better, worse = (second, first) if more >= less else (first, second)
    text = f"{what} is {word} for {better} than for {worse}"
    if gain.exact:
        return f"{text}, by {number(abs(gain.mean))}."
    text += f" with probability {probability(max(more, less))}"
    if max(more, less) < direction_level(result.settings.prob):
        text = f"{what} is not clearly {word} for either {first} or {second}"
        text += f", P({second} fairer) {probability(more)}"
    equal = f", the same with probability {probability(same)}" if same >= 0.001 else ""
    return f"{text}{equal}."


def _rows(result: ModelComparison) -> Section:
    """The data, and on how many rows the decisions of two models differ."""
    data, settings = data_values(result), result.settings
    thresholds = settings.threshold if isinstance(settings.threshold, dict) else {}
    texts = {model: _threshold(value) for model, value in thresholds.items()}
    decisions = "thresholds " + ", ".join(f"{model} {text}" for model, text in texts.items())
    if len(set(texts.values())) == 1:
        decisions = f"threshold {next(iter(texts.values()))}"
    attributes = " and ".join(result.cells.table.attributes[:-1])
    lines = [
        f"models {_listed(result.models)} on the same rows: "
        f"{counted(data['rows'], 'row')}, {data['labeled']:,} labeled, {data['unlabeled']:,} "
        f"unlabeled; {counted(len(result.groups), 'group')} by {attributes}; {decisions}",
        target_line(settings.target),
    ]
    for pair in data["disagreements"]:
        lines.append(
            f"{' and '.join(pair['models'])} decide differently in "
            f"{counted(pair['rows'], 'row')}, {pair['labeled']:,} of them labeled"
        )
    lines.append(f"{100 * settings.prob:g} % credible intervals")
    table = rows_table("group", {group["name"]: group for group in data["groups"]})
    return Section("rows", "rows", (*map(Paragraph, lines), table))


def _listed(models: tuple[str, ...]) -> str:
    return f"{', '.join(models[:-1])} and {models[-1]}"


def _threshold(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name} {threshold:g}" for name, threshold in value.items()) + ")"
    return f"{value:g}"


def _metric(result: ModelComparison, name: str) -> Section:
    """A metric and its gaps by group, of each model and of each pair of models."""
    groups = {ALL: None, **{group: group for group in result.groups}}
    blocks: Blocks = _tables(result, name, "group", groups, result.metric, result.metric_difference)
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
) -> Blocks:
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
    """Which of two models has the smaller gaps; for many groups, only the largest gap."""
    groups = _gaps(result) if len(result.groups) - 1 <= SENTENCES else [None]
    texts = [
        sentence(result, name, *pair, group)
        for pair in itertools.combinations(result.models, 2)
        for group in groups
    ]
    return [Paragraph(text, "finding") for text in texts]


def _gaps(result: ModelComparison) -> list[Any]:
    """The groups that have a gap; if several do, also None, for the largest of their gaps."""
    compared: list[Any] = [g for g in result.groups if result.settings.reference not in (None, g)]
    return [*compared, None] if len(compared) > 1 else compared
