"""The report of an assessment.

The short form, which is printed, has verdicts, rows, metrics, diagnostics and warnings. The full
form, for those who approve a model, adds ratios, criteria, assumptions and how to
reproduce the result. An undefined number is a dash with a reason. `core.values` has the same
numbers for programs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import __version__
from ..core.assessment import Assessment
from ..core.comparison.verdict import ALIKE, SUPPORT
from ..core.data.messages import interval, number, probability
from ..core.metrics.estimate import direction_level
from ..core.metrics.labels_only import MOST, Effective
from ..core.values import (
    FOUR_FIFTHS,
    criterion_values,
    marginal_values,
    metric_values,
    ratio_values,
)
from . import sections as shared
from .document import Cell, Document, Paragraph, Section, Table
from .format import Columns, probability_cell, probability_columns, table_of, value_cell
from .provenance import provenance_sections
from .thresholds import threshold_section

SENTENCES = 6  # differences up to which each has a sentence

DISAGREEMENT = (
    "Disagreement between columns: if lightfair differs from the labels-only and the "
    "prediction-powered estimate by more than their intervals, believe the labels."
)

KEY, POWERED = "prediction_powered", "prediction-powered"

METHODS: Columns = {
    "lightfair": value_cell,
    "labels only": lambda entry: value_cell(entry["labels_only"]),
}

RATIOS: Columns = {
    "ratio": lambda entry: value_cell(entry["ratio"]),
    "P(four fifths)": lambda entry: probability_cell(
        entry["ratio"]["prob_four_fifths"], entry["ratio"]
    ),
}


def document(result: Assessment, *, full: bool = False, command: str | None = None) -> Document:
    """Return the report.

    Parameters
    ----------
    result
    full
        Whether to return the full form.
    command
        The command line that made the result, for the full form; None for a call from Python.
    """
    settings = result.settings
    sections = [*_verdicts(result, full=full), shared.rows_section(result)]
    sections += [_metric(result, name, full=full) for name in settings.metrics]
    if settings.simultaneous:
        sections.append(_simultaneous(result))
    if settings.thresholds is not None:
        sections.append(threshold_section(result))
    if full and len(result.groups) > 1:
        sections += _criteria(result)
    sections += [shared.diagnostics_section(result), *shared.warnings_section(result.warnings)]
    if not full:
        return Document(f"lightfair {__version__}", tuple(sections))
    texts = (
        f"Differences below {settings.epsilon:g} in absolute value count as small. Ratios are "
        "medians; four-fifths rule: the smaller of two metrics is at least "
        f"{FOUR_FIFTHS:g} of the larger.",
        "The labels-only estimate has a Beta(1, 1) prior in each group. The "
        "prediction-powered estimate assumes no model; its intervals are asymptotic and can exceed "
        "the bounds of a metric if labels are few.",
    )
    sections += provenance_sections(
        settings, result.table, command, texts=texts, limits=[DISAGREEMENT]
    )
    title = f"Fairness by {' and '.join(result.table.attributes)}"
    return Document(title, shared.capitalized(sections, settings.metrics))


def _verdicts(result: Assessment, *, full: bool) -> list[Section]:
    """The verdicts on checks. Without checks, the full form has the main findings instead."""
    checks, settings = result.checks, result.settings
    blocks: shared.Blocks = [
        Paragraph(f"{one.check.text}: {one.basis}.", "verdict", one.status) for one in checks
    ]
    if full and checks:
        rule = (
            "A check passes if all gaps are within its limit with a probability of at least "
            f"{settings.prob:g}. It fails if one particular group exceeds another by more than "
            "the limit with such a probability. Labels without the model must support both, with "
            f"{SUPPORT['pass']:g} ({ALIKE:g} if they show that scores mean the same in all groups) "
            f"and {SUPPORT['fail']:g}. Otherwise the evidence is insufficient, which is not a pass."
        )
        blocks.append(Paragraph(rule))
    elif full:
        found = [_headline(result, name) for name in settings.metrics if len(result.groups) > 1]
        text = "No limit was set, so there is no verdict." + " Main findings:" * bool(found)
        blocks = [Paragraph(text), *found]
    if full:
        blocks += shared.warning_summary(result.warnings)
    return [Section("verdict", "verdict", tuple(blocks))] if blocks else []


def _headline(result: Assessment, name: str) -> Paragraph:
    """The finding on two groups, or the largest gap between more."""
    text = _findings(result, name)[-1].text
    return Paragraph(text if text.startswith(name) else f"{name}: {text}", "finding")


def _metric(result: Assessment, name: str, *, full: bool) -> Section:
    """The groups, their differences from the reference, and findings."""
    values, settings = metric_values(result, name), result.settings
    groups, metric = values["groups"], settings.metric(name)
    columns, powered = dict(METHODS), {POWERED: _powered}
    truth = {"truth": _truth} if result.truth is not None else {}
    blocks: shared.Blocks = []
    by_group = {entry["name"]: entry for entry in groups}
    blocks.append(table_of("group", columns | powered | truth, by_group))
    if metric.of != "counts" and any(entry["exact"] for entry in groups) and result.table.clipped:
        low, high = result.settings.clip, 1.0 - result.settings.clip
        blocks.append(Paragraph(f"exact for scores clipped to [{low:g}, {high:g}]"))
    if line := labels_line(result.effective_labels(name), result.groups):
        blocks.append(Paragraph(line))
    if values["differences"]:
        columns |= (powered if full else {}) | probability_columns(settings.epsilon) | truth
        by_group = {entry["group"]: entry for entry in values["differences"]}
        if full and metric.bounds[0] >= 0.0:
            for group, entry in by_group.items():
                ratio = result.ratio(name, group, settings.reference)
                entry["ratio"] = ratio_values(ratio, settings.prob)
            columns |= RATIOS
        blocks.append(table_of(f"minus {settings.reference}", columns, by_group))
        blocks += _findings(result, name)
    if len(result.table.attributes) > 1:
        blocks.append(_marginal(result, name))
    return Section(name, name, tuple(blocks))


def _powered(entry: dict[str, Any]) -> Cell:
    """A prediction-powered estimate; one without width is exact."""
    powered = entry[KEY]
    ends = powered["interval"]
    return value_cell({**powered, "exact": ends is not None and ends[0] == ends[1]})


def _truth(entry: dict[str, Any]) -> Cell:
    return Cell(number(entry["truth"]), entry.get("truth_reason"))


def labels_line(found: Effective, groups: tuple[str, ...]) -> str | None:
    """Return effective and actual numbers of labels in one line; None if all are undefined."""
    at = np.flatnonzero(~np.isnan(found.labels))
    texts = [f"{n:,.0f}" if n < MOST else f"more than {MOST:,.0f}" for n in found.labels[at]]
    effective = ", ".join(f"{text} ({groups[i]})" for text, i in zip(texts, at, strict=True))
    actual = ", ".join(f"{n:,.0f}" for n in found.own[at])
    return f"effective labels: {effective}; actual labels: {actual}" if at.size else None


def _findings(result: Assessment, name: str) -> list[Paragraph]:
    """Sentences on the differences from the reference, unless many, and on the largest gap."""
    reference = result.settings.reference
    others = [group for group in result.groups if reference not in (None, group)]
    shown = others if len(others) <= SENTENCES else []
    texts = [sentence(result, name, group, str(reference)) for group in shown]
    if len(others) > 1:
        texts.append(gap_line(result, name))
    return [Paragraph(text, "finding") for text in texts]


def sentence(result: Assessment, metric: str, group: str, reference: str) -> str:
    """Return the direction of a difference, its probability and the size of the difference.

    A direction is clear if the central interval lies on one side of 0 (`direction_level`), and
    labels without the model support it, too, as they must a verdict (`core.comparison.verdict`).
    """
    estimate, prob = result.difference(metric, group, reference), result.settings.prob
    pair = f"{metric} for {group} against {reference}"
    if estimate.reason is not None:
        return f"{pair}: undefined, {estimate.reason}."
    chances = {
        "higher": estimate.prob_greater(0.0),
        "lower": float((estimate.defined < 0.0).mean()),
        "the same": estimate.prob_equal(),
    }
    word = max(chances, key=chances.__getitem__)
    same = word == "the same"
    between = f"for {group} and {reference}" if same else f"for {group} than for {reference}"
    if estimate.exact:
        free = metric in result.settings.label_free
        why = "this needs no labels" if free else "all rows of both are labeled"
        by = "" if same else f" by {number(abs(estimate.mean))}"
        return f"{metric} is {word} {between}{by}; {why}."
    sure = chances[word] >= (prob if same else direction_level(prob))
    one, two = result.without_model(metric)[:, list(map(result.groups.index, (group, reference)))].T
    support = float((one > two if word == "higher" else one < two).mean())
    clear = sure and (same or support >= SUPPORT["fail"])
    text = f"{pair}: no clear direction, P(higher) {probability(chances['higher'])}"
    if sure and not clear:
        text += " by the model, which labels do not support without it"
    if clear:
        text = f"{metric} is {word} {between} with probability {probability(chances[word])}"
    if not (clear and same) and chances["the same"] >= 0.001:
        text += f", the same with probability {probability(chances['the same'])}"
    return f"{text}: {number(estimate.middle(prob))} {interval(*estimate.interval(prob))}."


def gap_line(result: Assessment, name: str) -> str:
    """Return how far apart the groups are in a metric, in one line."""
    prob, epsilon = result.settings.prob, result.settings.epsilon
    gap, spread = result.largest_gap(name), result.between_group_sd(name)
    pair = " minus ".join(gap.which)
    if gap.reason is not None:
        return f"largest gap: undefined, {gap.reason}"
    if gap.exact:
        size = number(gap.median)
        return f"largest gap {size}, {pair}; sd between groups {number(spread.median)} (exact)"
    parts = [
        f"largest gap {number(gap.median)} {interval(*gap.interval(prob))}, "
        f"P(<{epsilon:g}) {probability(gap.prob_within(epsilon))}",
        f"likeliest {pair} ({probability(gap.prob_which)})",
        f"sd between groups {number(spread.median)}, {100 * prob:g} % below "
        f"{number(spread.upper(prob))}",
    ]
    if gap.left_out:
        parts.append(f"without {', '.join(gap.left_out)}, undefined")
    return "; ".join(parts)


def _marginal(result: Assessment, name: str) -> Table:
    """The levels of each attribute, each over all groups with that level."""
    likely = probability_columns(result.settings.epsilon)
    rows = []
    for margin in marginal_values(result, name):
        differences = {entry["level"]: entry for entry in margin["differences"]}
        for level in margin["levels"]:
            row = [Cell(f"{margin['attribute']} {level['name']}"), value_cell(level)]
            if delta := differences.get(level["name"]):
                row += [value_cell(delta), *(column(delta) for column in likely.values())]
            else:
                row += [Cell("reference" if differences else ""), Cell(""), Cell("")]
            rows.append(tuple(row))
    return Table(("all of", "lightfair", "difference", *likely), tuple(rows))


def _simultaneous(result: Assessment) -> Section:
    """The intervals that contain all differences at once."""
    found = result.simultaneous()
    ends = zip(found.low, found.high, strict=True)
    cells = dict(zip(found.cells, (Cell(interval(*pair)) for pair in ends), strict=True))
    cells |= {cell: Cell("-", reason) for cell, reason in found.left_out.items()}
    rows = tuple((Cell(f"{key.metric} {key.group}"), cell) for key, cell in cells.items())
    head = (f"all at once, {100 * found.prob:g} %", f"minus {result.settings.reference}")
    return Section("simultaneous", "simultaneous intervals", (Table(head, rows),))


def _criteria(result: Assessment) -> list[Section]:
    """The fairness criteria of several metrics, all of which were assessed."""
    entries = {
        f"{name}, {entry['group']}": entry
        for name, criterion in criterion_values(result).items()
        for entry in criterion["differences"]
        if len(criterion["metrics"]) > 1
    }
    (*_, (title, near)) = probability_columns(result.settings.epsilon).items()
    columns: Columns = {f"largest gap to {result.settings.reference}": value_cell, title: near}
    text = (
        "The gap is the median of the largest absolute difference in the metrics of a criterion; "
        "it exceeds 0 even if groups are alike."
    )
    blocks = (table_of("criterion, group", columns, entries), Paragraph(text))
    return [Section("criteria", "criteria", blocks)] if entries else []
