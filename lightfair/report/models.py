"""The report of a comparison of models."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

from ..core import __version__
from ..core.data.messages import counted, number, probability
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
    findings = _findings(result)
    warned = shared.warning_summary(result.warnings)
    sections = [
        Section("verdict", "findings", (*findings, *(warned if full else warned[-1:]))),
        _rows(result),
        *(_metric(result, name) for name in names),
        Section("diagnostics", "diagnostics", (line,)),
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
        *_, group = _gaps(result)
        what = f"the largest gap in {name} is smaller"
        if group is not None:
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
    if result.truth is not None:
        lines.append(shared.TRUTH)
    table = shared.rows_table("group", {group["name"]: group for group in data["groups"]})
    return Section("rows", "rows", (*map(Paragraph, lines), table))


def _listed(models: tuple[str, ...]) -> str:
    return f"{', '.join(models[:-1])} and {models[-1]}"


def _metric(result: ModelComparison, name: str) -> Section:
    """A metric and its gaps by group, of each model and of each pair of models."""
    groups = {ALL: None, **{group: group for group in result.groups}}
    blocks: shared.Blocks = _tables(result, name, "group", groups, "metric", "metric_difference")
    if gaps := _gaps(result):
        groups = {"largest" if group is None else group: group for group in gaps}
        head = f"minus {result.settings.reference}"
        columns: Columns = {
            f"P({model} fairer than {than})": partial(_fairer, result, name, model, than)
            for than, model in itertools.combinations(result.models, 2)
        }
        blocks += _tables(result, name, head, groups, "gap", "gap_difference")
        blocks.append(table_of("smaller gap", columns, groups))
    return Section(name, name, tuple(blocks))


def _fairer(result: ModelComparison, name: str, model: str, than: str, group: Any) -> Cell:
    """The probability of a smaller gap, and that of an equal one."""
    gain = result.fairer(name, model, than, group)
    chances = gain.prob_greater(), gain.prob_equal()
    chance, equal = (probability(value, exact=gain.exact) for value in chances)
    return Cell(chance if chances[1] < 0.001 else f"{chance} (equal {equal})", gain.reason)


def _tables(
    result: ModelComparison, name: str, head: str, groups: dict[str, Any], value: str, apart: str
) -> shared.Blocks:
    """Tables of the models and of their differences by group; one table for two models.

    `value` and `apart` are the names of methods; what they return is known if there is a truth.
    """
    prob, truth = result.settings.prob, result.truth

    def cell(method: str, *of: str) -> Callable[[Any], Cell]:
        return lambda group: estimate_cell(getattr(result, method)(*of, group), prob)

    def known(*of: str) -> Callable[[Any], Cell]:
        return lambda group: Cell(number(getattr(truth, apart)(*of, group).mean))

    models: Columns = {model: cell(value, model, name) for model in result.models}
    pairs: Columns = {}
    for one, two in itertools.combinations(result.models, 2):
        pairs[title := f"{two} minus {one}"] = cell(apart, name, two, one)
        if truth is not None:
            known_title = "truth" if len(result.models) == 2 else f"truth of {title}"
            pairs[known_title] = known(name, two, one)
    parts = [models | pairs] if len(result.models) == 2 else [models, pairs]
    return [table_of(head, columns, groups) for columns in parts]


def _gaps(result: ModelComparison) -> list[Any]:
    """The groups that have a gap; if several do, also None, for the largest of their gaps."""
    compared: list[Any] = [g for g in result.groups if result.settings.reference not in (None, g)]
    return [*compared, None] if len(compared) > 1 else compared
