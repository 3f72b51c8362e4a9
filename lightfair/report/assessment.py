"""The report of an assessment.

The short form, which is printed, has verdicts, rows, metrics, diagnostics and warnings. The full
form, for those who approve a model, adds definitions, ratios, criteria, assumptions and how to
reproduce the result. An undefined number is a dash with a reason. `core.values` has the same
numbers for programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import __version__
from ..core.comparison.verdict import verdict_text
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
from .document import Cell, Document, Paragraph, Section, Table
from .format import probability_cell, value_cell, within_title
from .provenance import definition, provenance_sections
from .sections import (
    Blocks,
    capitalized,
    diagnostics_section,
    rows_section,
    warning_summary,
    warnings_section,
)
from .thresholds import threshold_section

if TYPE_CHECKING:
    from ..core.assessment import Assessment
    from ..core.comparison.verdict import Verdict
    from ..core.metrics.estimate import Estimate

SENTENCES = 6  # differences up to which the short form has a sentence for each

LIKELY = ("prob_positive", "prob_within")


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
    sections = [*_verdicts(result, full=full), rows_section(result)]
    sections += [_metric(result, name, full=full) for name in settings.metrics]
    if settings.simultaneous:
        sections.append(_simultaneous(result))
    if settings.thresholds is not None:
        sections.append(threshold_section(result))
    if full and len(result.groups) > 1:
        sections += _criteria(result)
    sections += [diagnostics_section(result), *warnings_section(result.warnings)]
    if not full:
        return Document(f"lightfair {__version__}", tuple(sections))
    sections += provenance_sections(result, command)
    title = f"Fairness by {' and '.join(result.table.attributes)}"
    return Document(title, capitalized(sections, settings.metrics))


def _verdicts(result: Assessment, *, full: bool) -> list[Section]:
    """The verdicts on checks. Without checks, the full form has the main findings instead."""
    verdicts, settings = result.checks, result.settings
    blocks: Blocks = [Paragraph(verdict_text(one), "verdict", one.status) for one in verdicts]
    if full and verdicts:
        rule = (
            "A check passes if all gaps are within its limit with a probability of at least "
            f"{settings.prob:g}. It fails if one particular group exceeds another by more than "
            "the limit with such a probability. Otherwise the evidence is insufficient, which is "
            "not a pass."
        )
        outcome = [Paragraph(_outcome(verdicts))] if len(verdicts) > 1 else []
        blocks = [*outcome, *blocks, Paragraph(rule)]
    elif full:
        found = [block for name in settings.metrics for block in _headline(result, name)]
        text = "No limit was set, so there is no verdict." + " Main findings:" * bool(found)
        blocks = [Paragraph(text), *found]
    if full:
        blocks += warning_summary(result.warnings)
    return [Section("verdict", "verdict", tuple(blocks))] if blocks else []


def _outcome(verdicts: tuple[Verdict, ...]) -> str:
    """Count the checks that pass, fail and lack evidence."""
    statuses = [verdict.status for verdict in verdicts]
    words = {"pass": "passed", "fail": "failed", "insufficient": "with insufficient evidence"}
    counts = [f"{statuses.count(key)} {word}" for key, word in words.items() if key in statuses]
    return f"Checks: {', '.join(counts)}."


def _headline(result: Assessment, name: str) -> list[Paragraph]:
    """The findings on a metric; for more than two groups, only their largest gap."""
    if len(result.groups) < 3:
        return _findings(result, name, full=True)
    return [Paragraph(f"{name}: {gap_line(result, name)}", "finding")]


def _metric(result: Assessment, name: str, *, full: bool) -> Section:
    """The groups, their differences from the reference, and findings."""
    values, metric = metric_values(result, name), result.settings.metric(name)
    blocks: Blocks = []
    if full and (meaning := definition(metric)):
        blocks.append(Paragraph(meaning))
    blocks.append(_groups(result, values["groups"], full=full))
    low, high = metric.bounds
    powered = [entry["prediction_powered"]["interval"] for entry in values["groups"]]
    if any(ends is not None and (ends[0] < low or ends[1] > high) for ends in powered):
        text = f"prediction-powered intervals are asymptotic and can exceed [{low:g}, {high:g}]"
        blocks.append(Paragraph(f"{text} if labels are few"))
    if line := labels_line(result.effective_labels(name), result.groups):
        blocks.append(Paragraph(line))
    if values["differences"]:
        blocks.append(_differences(result, values["differences"], full=full))
        blocks += _findings(result, name, full=full)
        if full and low >= 0.0:
            blocks += _ratios(result, name)
    if len(result.table.attributes) > 1:
        blocks.append(_marginal(result, name))
    return Section(name, name, tuple(blocks))


def labels_line(found: Effective, groups: tuple[str, ...]) -> str | None:
    """Return effective and actual numbers of labels in one line; None if all are undefined."""
    at = np.flatnonzero(~np.isnan(found.labels))
    if not at.size:
        return None
    if at.size <= SENTENCES:
        texts = [f"{n:,.0f}" if n < MOST else f"more than {MOST:,.0f}" for n in found.labels[at]]
        effective = ", ".join(f"{text} ({groups[i]})" for text, i in zip(texts, at, strict=True))
        actual = ", ".join(f"{n:,.0f}" for n in found.own[at])
        return f"effective labels: {effective}; actual labels: {actual}"
    times = found.labels[at] / np.maximum(found.own[at], 1.0)
    low, middle, high = np.quantile(times, [0.0, 0.5, 1.0])
    return (
        f"effective labels: {middle:.1f} times the actual ones (median of {at.size} groups; "
        f"{low:.1f} to {high:.1f})"
    )


def _groups(result: Assessment, entries: list[dict[str, Any]], *, full: bool) -> Table:
    truth = result.truth is not None
    head = ["group", "lightfair", "labels only", "prediction-powered"]
    head += ["effective labels"] * full + ["truth"] * truth
    rows = []
    for entry in entries:
        row = [Cell(entry["name"]), *_methods(entry)]
        if full:
            labels = entry["effective_labels"]
            why = entry.get("effective_reason") if labels is None else None
            row.append(Cell("-" if labels is None else f"{labels:,.0f}", why))
        rows.append((*row, *_truth(entry) * truth))
    return Table(tuple(head), tuple(rows))


def _differences(result: Assessment, entries: list[dict[str, Any]], *, full: bool) -> Table:
    settings, truth = result.settings, result.truth is not None
    head = [f"minus {settings.reference}", "lightfair", "labels only"]
    head += ["prediction-powered"] * full + ["P(>0)", within_title(settings.epsilon)]
    rows = []
    for entry in entries:
        row = [Cell(entry["group"]), *_methods(entry)[: 3 if full else 2]]
        row += [probability_cell(entry[key], entry) for key in LIKELY]
        rows.append((*row, *_truth(entry) * truth))
    return Table((*head, *["truth"] * truth), tuple(rows))


def _methods(entry: dict[str, Any]) -> list[Cell]:
    """The estimates of the three methods; a prediction-powered one without width is exact."""
    powered = entry["prediction_powered"]
    ends = powered["interval"]
    exact = ends is not None and ends[0] == ends[1]
    return [
        value_cell(entry),
        value_cell(entry["labels_only"]),
        value_cell({**powered, "exact": exact}),
    ]


def _truth(entry: dict[str, Any]) -> list[Cell]:
    return [Cell(number(entry.get("truth")), entry.get("truth_reason"))]


def _findings(result: Assessment, name: str, *, full: bool) -> list[Paragraph]:
    """Sentences on the differences from the reference; the short form summarizes many of them."""
    reference = result.settings.reference
    if reference is None:
        return []
    others = [group for group in result.groups if group != reference]
    if full or len(others) <= SENTENCES:
        texts = [sentence(result, name, group, reference) for group in others]
    else:
        texts = [_summary(result, name, others)]
    if len(others) > 1:
        texts.append(gap_line(result, name))
    return [Paragraph(text, "finding") for text in texts]


def sentence(result: Assessment, metric: str, group: str, reference: str) -> str:
    """Return the direction of a difference, its probability and the size of the difference."""
    estimate, prob = result.difference(metric, group, reference), result.settings.prob
    pair = f"{metric} for {group} against {reference}"
    if estimate.reason is not None:
        return f"{pair}: undefined, {estimate.reason}."
    low, high = estimate.interval(prob)
    word, chances, clear = _direction(estimate, prob)
    same = word == "the same"
    between = f"for {group} and {reference}" if same else f"for {group} than for {reference}"
    if estimate.exact:
        free = metric in result.settings.label_free
        why = "this needs no labels" if free else "all rows of both are labeled"
        by = "" if same else f" by {number(abs(low))}"
        return f"{metric} is {word} {between}{by}; {why}."
    size = f"{number(estimate.mean)} {interval(low, high)}"
    equal = ""
    if not (clear and same) and chances["the same"] >= 0.001:
        equal = f", the same with probability {probability(chances['the same'])}"
    if not clear:
        higher = probability(chances["higher"])
        return f"{pair}: no clear direction, P(higher) {higher}{equal}: {size}."
    likely = probability(chances[word])
    return f"{metric} is {word} {between} with probability {likely}{equal}: {size}."


def _direction(estimate: Estimate, prob: float) -> tuple[str, dict[str, float], bool]:
    """Return the likeliest direction, the probability of each, and whether it is clear.

    A direction is clear if the central interval lies on one side of 0 (`direction_level`).
    """
    chances = {
        "higher": estimate.prob_greater(0.0),
        "lower": float((estimate.defined < 0.0).mean()),
        "the same": estimate.prob_equal(),
    }
    word = max(chances, key=chances.__getitem__)
    needed = prob if word == "the same" else direction_level(prob)
    return word, chances, estimate.exact or chances[word] >= needed


def _summary(result: Assessment, name: str, others: list[str]) -> str:
    """Return in which groups a metric is clearly higher or lower than in the reference."""
    reference, prob = str(result.settings.reference), result.settings.prob
    found: dict[str, list[str]] = {"higher": [], "lower": [], "the same": []}
    unclear = undefined = 0
    for group in others:
        estimate = result.difference(name, group, reference)
        if estimate.reason is not None:
            undefined += 1
            continue
        word, _, clear = _direction(estimate, prob)
        unclear += not clear
        found[word] += [group] * clear
    parts = [
        f"{word} in {len(names)} ({'; '.join(names)})" for word, names in found.items() if names
    ]
    parts += [f"no clear direction in {unclear}"] if unclear else []
    parts += [f"undefined in {undefined}"] if undefined else []
    return f"{name} of {len(others)} groups against {reference}: {', '.join(parts)}."


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


def _ratios(result: Assessment, name: str) -> Blocks:
    """The ratios of a metric to that of the reference."""
    prob, reference = result.settings.prob, result.settings.reference
    rows = []
    for group in result.groups:
        if group != reference:
            entry = ratio_values(result.ratio(name, group, reference), prob)
            near = probability_cell(entry["prob_four_fifths"], entry)
            rows.append((Cell(group), _ratio_cell(entry), near))
    text = (
        "Ratios are medians. Four-fifths rule: the smaller of the two metrics is at least "
        f"{FOUR_FIFTHS:g} of the larger."
    )
    return [Table((f"over {reference}", "ratio", "P(four fifths)"), tuple(rows)), Paragraph(text)]


def _ratio_cell(entry: dict[str, Any]) -> Cell:
    """A median ratio with its interval, whose ends can be infinite."""
    if entry["interval"] is None:
        return Cell("-", entry["reason"])
    low, high = entry["interval"]
    ends = {"median": entry["median"], "low": low, "high": high}
    middle, low, high = (
        "infinite" if name in entry["infinite"] else number(end) for name, end in ends.items()
    )
    return Cell(f"{middle} (exact)" if entry["exact"] else f"{middle} [{low}, {high}]")


def _marginal(result: Assessment, name: str) -> Table:
    """The levels of each attribute, each level over all groups in it."""
    head = ("all of", "lightfair", "difference", "P(>0)", within_title(result.settings.epsilon))
    rows = []
    for margin in marginal_values(result, name):
        differences = {entry["level"]: entry for entry in margin["differences"]}
        for level in margin["levels"]:
            row = [Cell(f"{margin['attribute']} {level['name']}"), value_cell(level)]
            if delta := differences.get(level["name"]):
                row += [value_cell(delta), *(probability_cell(delta[key], delta) for key in LIKELY)]
            else:
                row += [Cell("reference" if differences else ""), Cell(""), Cell("")]
            rows.append(tuple(row))
    return Table(head, tuple(rows))


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
    """The fairness criteria whose metrics were assessed."""
    rows = [
        (
            Cell(f"{name}, {entry['group']}"),
            Cell(" and ".join(criterion["metrics"])),
            value_cell(entry),
            probability_cell(entry["prob_within"], entry),
        )
        for name, criterion in criterion_values(result).items()
        for entry in criterion["differences"]
    ]
    gap, near = f"gap to {result.settings.reference}", within_title(result.settings.epsilon)
    text = (
        "For a criterion of one metric, the gap is the mean difference between the group and the "
        "reference. For several metrics, it is the median of the largest absolute difference, "
        "which exceeds 0 even if groups are alike."
    )
    blocks = (Table(("criterion, group", "metrics", gap, near), tuple(rows)), Paragraph(text))
    return [Section("criteria", "criteria", blocks)] if rows else []
