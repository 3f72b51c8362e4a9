"""The report of a comparison of models: as a document for people, plain values for programs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core import __version__
from ..core.data.messages import counted, interval, number, probability
from ..core.metrics.estimate import Estimate, direction_level
from ..model_comparison import _data
from .document import Cell, Document, Paragraph, Section, Table
from .format import cell, target_line
from .sections import capitalized, cautions, diagnostics_line, rows_table, warnings_section

if TYPE_CHECKING:
    from ..model_comparison import ModelComparison

ALL = "all rows"

SAID = 3  # groups beside the reference up to which each gets a sentence


def document(
    result: ModelComparison, *, full: bool = False, command: str | None = None
) -> Document:
    """Return the report; `full` and `command` as in `report.document`."""
    names = result.settings.metrics
    pairs = list(itertools.combinations(result.models, 2))
    accuracy = [Paragraph(accuracy_sentence(result, *pair), "finding") for pair in pairs]
    sections = [
        _rows_section(result),
        *(_metric_section(result, name, full=full) for name in names),
    ]
    sections.append(Section("accuracy", "which is more accurate", tuple(accuracy)))
    gate, chains = result.cells.gate, result.settings.run[0]
    line = diagnostics_line(gate, chains, result.cells.posterior.phi.shape[1])
    sections.append(Section("diagnostics", "diagnostics", (Paragraph(line),)))
    sections += warnings_section(result.warnings)
    if not full:
        return Document(f"lightfair {__version__}", tuple(sections))
    from .provenance import comparison_sections

    told = [one for name in names for one in _findings(result, name)]
    told += [*accuracy, *cautions(result.warnings)]
    sections.insert(0, Section("verdict", "verdict", tuple(told)))
    sections += comparison_sections(result, command)
    return Document(f"Fairness of {_listed(result.models)}", capitalized(sections, names))


def sentence(result: ModelComparison, metric: str, first: str, second: str, group: Any) -> str:
    """Say which of two models has the smaller gap, and how probable that is.

    `group` is compared with the reference; None is the largest gap over all groups. What is less
    probable than the mass of intervals is not said as a finding.
    """
    gain = result.fairer(metric, second, first, group)
    base = result.settings.reference
    what = f"the largest gap in {metric}" if group is None else f"{metric} of {group} minus {base}"
    word = "smaller" if group is None else "closer to 0"
    if gain.reason is not None:
        return f"{what}: undefined, {gain.reason}."
    if gain.exact and gain.mean == 0.0:
        return f"{what} is the same for {first} and {second}."
    better, worse = (second, first) if gain.prob_greater(0.0) >= _less(gain) else (first, second)
    chance = max(gain.prob_greater(0.0), _less(gain))
    size = abs(gain.mean)
    if gain.exact:
        return f"{what} is {word} for {better} than for {worse}, by {number(size)}."
    also = ""
    if (same := gain.prob_equal()) >= 0.001:
        also = f", the same with probability {probability(same)}"
    if chance < direction_level(result.settings.prob):
        fairer = probability(gain.prob_greater(0.0))
        return (
            f"{what}: neither {first} nor {second} is clearly closer to 0, P({second} fairer) "
            f"{fairer}{also}."
        )
    return (
        f"{what} is {word} for {better} than for {worse} with probability "
        f"{probability(chance)}{also}."
    )


def accuracy_sentence(result: ModelComparison, first: str, second: str) -> str:
    """Say which of two models is more accurate, of all rows and in each group."""
    delta = result.metric_difference("accuracy", second, first)
    if delta.exact and delta.mean == 0.0:
        return f"{first} and {second} are equally accurate."
    better, worse = (second, first) if delta.prob_greater(0.0) >= _less(delta) else (first, second)
    gain = result.metric_difference("accuracy", better, worse)
    low, high = gain.interval(result.settings.prob)
    size = f"{number(gain.mean)} {interval(low, high)}"
    chances = ", ".join(
        f"{group} {probability(result.prob_more_accurate(better, worse, group))}"
        for group in result.groups
    )
    each = f"; by group: {chances}" if len(result.groups) > 1 else ""
    if gain.prob_greater(0.0) < direction_level(result.settings.prob) and not gain.exact:
        chance = probability(gain.prob_greater(0.0))
        return (
            f"neither {first} nor {second} is clearly more accurate, P({better} more accurate) "
            f"{chance}: {size}{each}."
        )
    return (
        f"{better} is more accurate than {worse} with probability "
        f"{probability(gain.prob_greater(0.0))}: {size}{each}."
    )


def _less(estimate: Estimate) -> float:
    return float((estimate.defined < 0.0).mean()) if estimate.reason is None else float("nan")


def _rows_section(result: ModelComparison) -> Section:
    data, settings = _data(result), result.settings
    cuts = settings.threshold if isinstance(settings.threshold, dict) else {}
    same = len({str(cut) for cut in cuts.values()}) == 1
    decided = f"threshold {_cut(next(iter(cuts.values())))}"
    if not same:
        decided = "thresholds " + ", ".join(f"{m} {_cut(cut)}" for m, cut in cuts.items())
    attributes = " and ".join(result.cells.table.attributes[:-1])
    said = [
        f"models {_listed(result.models)} on the same rows: "
        f"{counted(data['rows'], 'row')}, {data['labeled']:,} labeled, {data['unlabeled']:,} "
        f"unlabeled; {counted(len(result.groups), 'group')} by {attributes}; {decided}",
        target_line(settings.target),
    ]
    for pair in data["disagreements"]:
        said.append(
            f"{pair['models'][0]} and {pair['models'][1]} decide differently in "
            f"{counted(pair['rows'], 'row')}, {pair['labeled']:,} of them labeled"
        )
    said.append(f"{100 * settings.prob:g} % credible intervals")
    table = rows_table("group", {group["name"]: group for group in data["groups"]})
    return Section("rows", "rows", (*map(Paragraph, said), table))


def _listed(models: tuple[str, ...]) -> str:
    return f"{', '.join(models[:-1])} and {models[-1]}"


def _cut(cut: Any) -> str:
    if isinstance(cut, dict):
        return "(" + ", ".join(f"{name} {value:g}" for name, value in cut.items()) + ")"
    return f"{cut:g}"


def _metric_section(result: ModelComparison, name: str, *, full: bool) -> Section:
    """The metric by group and the gaps by group, of each model and each pair; sentences."""
    prob = result.settings.prob
    groups = (None, *result.groups)
    blocks: list[Paragraph | Table] = []
    if full:
        from .provenance import meaning

        blocks += [Paragraph(said) for said in [meaning(result.settings.metric(name))] if said]
    blocks += _tables(
        result,
        "group",
        [ALL if group is None else group for group in groups],
        lambda model, at: cell(result.metric(model, name, groups[at]), prob),
        lambda one, two, at: cell(result.metric_difference(name, one, two, groups[at]), prob),
    )
    if len(result.groups) > 1:
        gaps = _gaps(result)
        blocks += _tables(
            result,
            f"minus {result.settings.reference}",
            ["largest gap" if group is None else group for group in gaps],
            lambda model, at: cell(result.gap(model, name, gaps[at]), prob),
            lambda one, two, at: cell(result.gap_difference(name, one, two, gaps[at]), prob),
        )
    return Section(name, name, (*blocks, *_findings(result, name)))


def _tables(
    result: ModelComparison,
    head: str,
    names: list[str],
    of_model: Callable[[str, int], Cell],
    of_pair: Callable[[str, str, int], Cell],
) -> list[Paragraph | Table]:
    """Tables of the models and of their differences, by name; of two models in one."""
    pairs = [(two, one) for one, two in itertools.combinations(result.models, 2)]
    places = range(len(names))
    models = [[of_model(model, at) for model in result.models] for at in places]
    apart = [[of_pair(*pair, at) for pair in pairs] for at in places]
    titles = [f"{two} minus {one}" for two, one in pairs]
    if len(pairs) == 1:
        models = [[*one, *two] for one, two in zip(models, apart, strict=True)]
        return [_table((head, *result.models, *titles), names, models)]
    return [_table((head, *result.models), names, models), _table((head, *titles), names, apart)]


def _table(head: tuple[str, ...], names: list[str], cells: list[list[Cell]]) -> Table:
    return Table(head, tuple((Cell(name), *row) for name, row in zip(names, cells, strict=True)))


def _findings(result: ModelComparison, name: str) -> list[Paragraph]:
    """Which model of two has the smaller gaps; of many groups, the largest gap."""
    if len(result.groups) == 1:
        return []
    gaps = _gaps(result)
    told = gaps if len(result.groups) - 1 <= SAID else [None]
    said = [
        sentence(result, name, *pair, group)
        for pair in itertools.combinations(result.models, 2)
        for group in told
    ]
    return [Paragraph(text, "finding") for text in said]


def _gaps(result: ModelComparison) -> list[Any]:
    """The groups that have a gap; where several have one, also None, for the largest of all."""
    compared: list[Any] = [g for g in result.groups if g != result.settings.reference]
    return [*compared, None] if len(compared) > 1 else compared
