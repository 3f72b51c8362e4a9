"""The report of a comparison of models: as a document for people, plain values for programs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._version import __version__
from .blocks import Cell, Document, Paragraph, Section, Table
from .cautions import cautions, diagnostics_line, warnings_section
from .compare import Estimate, direction_level
from .report import capitalized, rows_table
from .showing import cell, counted, interval, number, probability, target_line
from .table import UNLABELED
from .values import diagnostics_values, plain, summary, warning_values

if TYPE_CHECKING:
    from .paired import ModelComparison

ALL = "all rows"
SAID = 3  # groups beside the reference up to which each gets a sentence


def to_dict(result: ModelComparison) -> dict[str, Any]:
    """Return the comparison as plain values.

    Keys: version, settings, data (rows, labeled, unlabeled, groups, models), metrics (each: models,
    groups, pairs), diagnostics, warnings. An undefined number is null with a reason.
    """
    return {
        "version": __version__,
        "settings": result.settings.to_dict(),
        "data": _data(result),
        "metrics": {name: _metric(result, name) for name in result.settings.metrics},
        "accuracy": [
            {
                "model": second,
                "than": first,
                **_chances(result, result.metric_difference("accuracy", second, first), "accurate"),
                "groups": [
                    {
                        "name": group,
                        **_chances(
                            result,
                            result.metric_difference("accuracy", second, first, group),
                            "accurate",
                        ),
                    }
                    for group in result.groups
                ],
            }
            for first, second in itertools.combinations(result.models, 2)
        ],
        "diagnostics": diagnostics_values(result.cells),
        "warnings": warning_values(result.warnings),
    }


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


def _data(result: ModelComparison) -> dict[str, Any]:
    rows = _rows(result)
    apart = {}
    for first, second in itertools.combinations(range(len(result.models)), 2):
        differ = result.decisions[:, first] != result.decisions[:, second]
        apart[first, second] = rows[differ].sum(axis=0)
    of_group = np.array(
        [rows[result.cell_group == index].sum(axis=0) for index in range(len(result.groups))]
    )
    return {
        "rows": int(rows.sum()),
        "labeled": int(rows[:, :UNLABELED].sum()),
        "unlabeled": int(rows[:, UNLABELED].sum()),
        "models": list(result.models),
        "groups": [
            {
                "name": name,
                "rows": int(counts.sum()),
                "labeled": int(counts[:UNLABELED].sum()),
                "positives": int(counts[1]),
            }
            for name, counts in zip(result.groups, of_group, strict=True)
        ],
        "disagreements": [
            {
                "models": [result.models[first], result.models[second]],
                "rows": int(counts.sum()),
                "labeled": int(counts[:UNLABELED].sum()),
            }
            for (first, second), counts in apart.items()
        ],
    }


def _rows(result: ModelComparison) -> Any:
    """Rows of each cell by label: 0, 1, unlabeled."""
    return result.cells.table.sums("rows").sum(axis=1)


def _metric(result: ModelComparison, name: str) -> dict[str, Any]:
    prob = result.settings.prob
    others = [g for g in result.groups if g != result.settings.reference]
    paired = len(result.groups) > 1
    return {
        "models": [
            {
                "model": model,
                "overall": summary(result.metric(model, name), prob),
                "groups": [
                    {"name": group, **summary(result.metric(model, name, group), prob)}
                    for group in result.groups
                ],
                "differences": [
                    {
                        "group": group,
                        "reference": result.settings.reference,
                        **summary(result.gap(model, name, group), prob),
                    }
                    for group in (others if paired else ())
                ],
                **({"largest_gap": summary(result.gap(model, name), prob)} if paired else {}),
            }
            for model in result.models
        ],
        "pairs": [_pair(result, name, *pair) for pair in itertools.combinations(result.models, 2)],
    }


def _pair(result: ModelComparison, name: str, first: str, second: str) -> dict[str, Any]:
    """What two models differ in: `model` minus `than`."""
    prob = result.settings.prob
    values: dict[str, Any] = {
        "model": second,
        "than": first,
        "overall": summary(result.metric_difference(name, second, first), prob),
        "groups": [
            {"name": g, **summary(result.metric_difference(name, second, first, g), prob)}
            for g in result.groups
        ],
        "differences": [],
    }
    if len(result.groups) == 1:
        return values
    for group in result.groups:
        if group == result.settings.reference:
            continue
        gap = result.gap_difference(name, second, first, group)
        gain = result.fairer(name, second, first, group)
        values["differences"].append(
            {
                "group": group,
                "reference": result.settings.reference,
                **summary(gap, prob),
                **_fairer(gain),
            }
        )
    gain = result.fairer(name, second, first)
    gap = result.gap_difference(name, second, first)
    values["largest_gap"] = {**summary(gap, prob), **_fairer(gain)}
    return values


def _fairer(gain: Estimate) -> dict[str, Any]:
    return {
        "prob_fairer": plain(gain.prob_greater(0.0)),
        "prob_as_fair": plain(gain.prob_equal()),
    }


def _chances(result: ModelComparison, delta: Estimate, word: str) -> dict[str, Any]:
    return {
        **summary(delta, result.settings.prob),
        f"prob_more_{word}": plain(delta.prob_greater(0.0)),
        f"prob_as_{word}": plain(delta.prob_equal()),
    }


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
