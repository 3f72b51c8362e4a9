"""The report: an assessment as a document, of sentences and tables, for people.

`values` has the same numbers for programs. An undefined number is a dash with a reason. Printed is
the short form; the full one, for those who sign a model off, also says what was assumed and how to
reproduce it, and has all columns.

The report of comparisons and verdicts: plain values, words and tables.

What a report says of marginals, as tables and as plain values; nothing for one attribute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import __version__
from ..core.data.messages import interval, number, probability
from ..core.data.nodes import CELL_WIDTH
from ..core.metrics.estimate import direction_level
from ..core.metrics.labels_only import MOST, Effective
from ..core.values import (
    FOUR_FIFTHS,
    _ratio_entry,
    criterion_values,
    marginal_values,
    metric_values,
)
from .document import Cell, Document, Paragraph, Section, Table
from .format import cell_of, chance, small
from .sections import (
    Blocks,
    capitalized,
    cautions,
    diagnostics_section,
    rows_section,
    warnings_section,
)

if TYPE_CHECKING:
    from ..core.assessment import Assessment
    from ..core.comparison.verdict import Verdict
    from ..core.metrics.estimate import Estimate

SAID = 6  # differences up to which the short form has a sentence for each


def document(result: Assessment, *, full: bool = False, command: str | None = None) -> Document:
    """Return the report.

    Parameters
    ----------
    result
    full
        Whether to say, besides, what was assumed, when not to trust it and how to reproduce it, and
        to show all columns.
    command
        The command line that made it, for the full form; None: it was a call from Python.
    """
    settings = result.settings
    sections = [*_verdicts(result, full=full), rows_section(result)]
    sections += [_metric(result, name, full=full) for name in settings.metrics]
    if settings.simultaneous:
        sections.append(simultaneous_section(result))
    if settings.thresholds is not None:
        from .thresholds import threshold_section

        sections.append(threshold_section(result))
    if full and len(result.groups) > 1:
        sections += criteria_section(result)
    sections.append(diagnostics_section(result))
    sections += warnings_section(result.warnings)
    if not full:
        return Document(f"lightfair {__version__}", tuple(sections))
    from .provenance import provenance_sections

    title = f"Fairness by {' and '.join(result.table.attributes)}"
    sections += provenance_sections(result, command)
    return Document(title, capitalized(sections, settings.metrics))


def sentence(result: Assessment, metric: str, group: str, reference: str) -> str:
    """Say the direction of a difference, its size and the probability of the direction."""
    estimate = result.difference(metric, group, reference)
    pair = f"{metric} for {group} against {reference}"
    if estimate.reason is not None:
        return f"{pair}: undefined, {estimate.reason}."
    low, high = estimate.interval(result.settings.prob)
    size = f"{number(estimate.mean)} {interval(low, high)}"
    prob = result.settings.prob
    word, chances, clear = _direction(estimate, prob)
    between = (
        f"for {group} and {reference}"
        if word == "the same"
        else f"for {group} than for {reference}"
    )
    if estimate.exact:
        free = metric in result.settings.label_free
        why = "no label is needed to know it" if free else "every row of both is labeled"
        by = "" if word == "the same" else f" by {number(abs(low))}"
        return f"{metric} is {word} {between}{by}; {why}."
    same = ""
    if chances["the same"] >= 0.001:
        same = f", the same with probability {probability(chances['the same'])}"
    if not clear:
        higher = probability(chances["higher"])
        return f"{pair}: no direction is clear, P(higher) {higher}{same}: {size}."
    also = "" if word == "the same" else same
    return (
        f"{metric} is {word} {between} with probability {probability(chances[word])}{also}: {size}."
    )


def _direction(estimate: Estimate, prob: float) -> tuple[str, dict[str, float], bool]:
    """The likeliest direction of a defined difference, the probability of each, and if it is clear.

    A direction is a finding where the interval lies on one side of 0 (`compare.direction_level`).
    """
    chances = {
        "higher": estimate.prob_greater(0.0),
        "lower": float((estimate.defined < 0.0).mean()),
        "the same": estimate.prob_equal(),
    }
    word = max(chances, key=chances.__getitem__)
    needed = prob if word == "the same" else direction_level(prob)
    return word, chances, estimate.exact or chances[word] >= needed


def _in_short(result: Assessment, name: str, others: list[str], reference: str) -> str:
    """Say of many groups in one sentence in which directions they differ from the reference."""
    found: dict[str, list[str]] = {"higher": [], "lower": [], "the same": []}
    unclear = undefined = 0
    for group in others:
        estimate = result.difference(name, group, reference)
        if estimate.reason is not None:
            undefined += 1
            continue
        word, _, clear = _direction(estimate, result.settings.prob)
        if clear:
            found[word].append(group)
        else:
            unclear += 1
    said = [
        f"{word} in {len(groups)} ({'; '.join(groups)})" for word, groups in found.items() if groups
    ]
    said += [f"no direction is clear in {unclear}"] if unclear else []
    said += [f"undefined in {undefined}"] if undefined else []
    return f"{name} of {len(others)} groups against {reference}: {', '.join(said)}."


def findings(result: Assessment, name: str, *, full: bool = True) -> list[Paragraph]:
    """Return what is to be said of the differences in a metric; of many in short, if not `full`."""
    if len(result.groups) < 2:
        return []
    reference = str(result.settings.reference)
    others = [group for group in result.groups if group != reference]
    if full or len(others) <= SAID:
        said = [sentence(result, name, group, reference) for group in others]
    else:
        said = [_in_short(result, name, others, reference)]
    if len(others) > 1:
        said.append(gap_line(result, name))
    return [Paragraph(text, "finding") for text in said]


def _verdicts(result: Assessment, *, full: bool) -> list[Section]:
    """The verdicts on checks. In full also where there are none: findings stand in for them."""
    blocks: Blocks = [verdict_paragraph(verdict) for verdict in result.checks]
    if full:
        if blocks:
            blocks = [Paragraph(_outcome(result.checks)), *blocks, Paragraph(_rule(result))]
        else:
            found = [said for name in result.settings.metrics for said in _headline(result, name)]
            more = " What was found:" if found else ""
            blocks = [Paragraph(f"No limit was set, so there is no verdict.{more}"), *found]
        blocks += cautions(result.warnings)
    return [Section("verdict", "verdict", tuple(blocks))] if blocks else []


def _outcome(verdicts: tuple[Verdict, ...]) -> str:
    """Say how many checks pass, fail and lack evidence; the exit code says the same."""
    found = [verdict.status for verdict in verdicts]
    words = {"pass": ("passes", "pass"), "fail": ("fails", "fail")}
    words["insufficient"] = ("lacks evidence", "lack evidence")
    counts = [
        f"{found.count(status)} {one if found.count(status) == 1 else more}"
        for status, (one, more) in words.items()
        if status in found
    ]
    if len(counts) == 1:
        return f"{'The' if len(found) == 1 else 'Every'} check {words[found[0]][0]}."
    return f"Of {len(found)} checks {', '.join(counts[:-1])} and {counts[-1]}."


def _rule(result: Assessment) -> str:
    """Say what pass and fail mean."""
    prob = f"{result.settings.prob:g}"
    return (
        "A check passes where all gaps are within its limit with a probability of at least "
        f"{prob}; it fails where one group is further above another than the limit allows with "
        "such a probability. Else there is not enough evidence, which is no pass."
    )


def _headline(result: Assessment, name: str) -> list[Paragraph]:
    """The findings on a metric; of more than two groups how far they are apart."""
    if len(result.groups) < 3:
        return findings(result, name)

    return [Paragraph(f"{name}: {gap_line(result, name)}", "finding")]


def verdict_paragraph(verdict: Verdict) -> Paragraph:
    """Return a verdict as a paragraph."""
    from ..core.comparison.verdict import verdict_text

    return Paragraph(verdict_text(verdict), "verdict", verdict.status)


def _metric(result: Assessment, name: str, *, full: bool) -> Section:
    """The groups, their differences from the reference, and what is to be said of them."""
    values = metric_values(result, name)
    blocks: Blocks = []
    if full:
        from .provenance import meaning

        blocks += [Paragraph(said) for said in [meaning(result.settings.metric(name))] if said]
    blocks.append(_groups(result, values["groups"], full=full))
    for said in (_exactness(result, name, values["groups"]), _overshoot(result, name, values)):
        if said:
            blocks.append(Paragraph(said))
    if said := worth_line(result.effective_labels(name), result.groups):
        blocks.append(Paragraph(said))
    if values["differences"]:
        blocks.append(_differences(result, values["differences"], full=full))
        blocks += findings(result, name, full=full)
    if full and len(result.groups) > 1:
        blocks += ratio_table(result, name)
    if len(result.table.attributes) > 1:
        blocks.append(marginal_table(result, name))
    return Section(name, name, tuple(blocks))


def _exactness(result: Assessment, name: str, entries: list[dict[str, Any]]) -> str | None:
    """Say what an exact number of scores is exact for: those of the table (`score_metrics`)."""
    table = result.table
    if result.settings.metric(name).of == "counts" or not any(one["exact"] for one in entries):
        return None
    said = []
    if table.clipped:
        low = table.clip
        said.append(f"clipped to [{low:g}, {1.0 - low:g}]")
    if len(table.cells.stratum):
        said.append(f"in cells of {CELL_WIDTH:g} in log odds, whose rows share one")
    return f"exact for scores {' and '.join(said)}" if said else None


def _overshoot(result: Assessment, name: str, values: dict[str, Any]) -> str | None:
    """Say why a prediction-powered interval of a group ends where the metric cannot be."""
    low, high = result.settings.metric(name).bounds
    found = [one["prediction_powered"]["interval"] for one in values["groups"]]
    if not any(ends is not None and (ends[0] < low or ends[1] > high) for ends in found):
        return None
    return (
        f"prediction-powered intervals are asymptotic: with few labels they can reach beyond "
        f"[{low:g}, {high:g}]"
    )


def _groups(result: Assessment, entries: list[dict[str, Any]], *, full: bool) -> Table:
    known = result.truth is not None
    head = ["group", "lightfair", "labels only", "prediction-powered"]
    head += ["worth in labels"] * full + ["truth"] * known
    rows = []
    for entry in entries:
        row = [Cell(entry["name"]), cell_of(entry), cell_of(entry["labels_only"])]
        row.append(_powered(entry["prediction_powered"]))
        if full:
            worth = entry["effective_labels"]
            why = entry.get("effective_reason") if worth is None else None
            row.append(Cell(number(worth, 0), why))
        rows.append((*row, *_truth(entry, known)))
    return Table(tuple(head), tuple(rows))


def _differences(result: Assessment, entries: list[dict[str, Any]], *, full: bool) -> Table:
    settings, known = result.settings, result.truth is not None
    head = [f"minus {settings.reference}", "lightfair", "labels only"]
    head += ["prediction-powered"] * full + ["P(>0)", small(settings.epsilon)] + ["truth"] * known
    rows = []
    for entry in entries:
        row = [Cell(entry["group"]), cell_of(entry), cell_of(entry["labels_only"])]
        if full:
            row.append(_powered(entry["prediction_powered"]))
        row += [chance(entry[key], entry) for key in ("prob_positive", "prob_within")]
        rows.append((*row, *_truth(entry, known)))
    return Table(tuple(head), tuple(rows))


def _powered(entry: dict[str, Any]) -> Cell:
    """A prediction-powered estimate; one without width is a fact."""
    ends = entry["interval"]
    return cell_of({**entry, "exact": ends is not None and ends[0] == ends[1]})


def _truth(entry: dict[str, Any], known: bool) -> list[Cell]:
    return [Cell(number(entry["truth"]), entry.get("truth_reason"))] if known else []


def simultaneous_section(result: Assessment) -> Section:
    """Return the table of intervals that hold at once."""
    found = result.simultaneous()
    rows = [
        (Cell(f"{cell.metric} {cell.group}"), Cell(interval(low, high)))
        for cell, low, high in zip(found.cells, found.low, found.high, strict=True)
    ]
    rows += [
        (Cell(f"{cell.metric} {cell.group}"), Cell("-", reason))
        for cell, reason in found.left_out.items()
    ]
    head = (f"all at once, {100 * found.prob:g} %", f"minus {result.settings.reference}")
    return Section("simultaneous", "simultaneous intervals", (Table(head, tuple(rows)),))


def criteria_section(result: Assessment) -> list[Section]:
    """Return the table of criteria, where the metrics of one were assessed."""
    rows = []
    for name, of in criterion_values(result).items():
        for entry in of["differences"]:
            middle = entry["median"] if "median" in entry else entry["mean"]
            size = cell_of({**entry, "mean": middle})
            near = chance(entry["prob_within"], entry)
            named = f"{name}, {entry['group']}"
            rows.append((Cell(named), Cell(" and ".join(of["metrics"])), size, near))
    if not rows:
        return []
    small_gap = small(result.settings.epsilon)
    head = ("criterion, group", "metrics", f"gap to {result.settings.reference}", small_gap)
    told = Paragraph(
        "The gap of one metric is that of the group minus that of the reference, a mean. Of "
        "several it is the largest, without its sign, a median: above 0 even where groups are "
        "alike."
    )
    return [Section("criteria", "criteria", (Table(head, tuple(rows)), told))]


def ratio_table(result: Assessment, name: str) -> list[Table | Paragraph]:
    """Return the ratios of a metric to that of the reference, where it has some."""
    settings, base = result.settings, result.groups.index(str(result.settings.reference))
    by, least = result.by_group(name), settings.metric(name).bounds[0]
    if least < 0.0:
        return []
    rows = []
    for at, group in enumerate(result.groups):
        if at != base:
            entry = _ratio_entry(by, at, base, least, settings.prob)
            fifths = chance(entry["prob_four_fifths"], entry)
            rows.append((Cell(group), _ratio_cell(entry), fifths))
    head = (f"over {settings.reference}", "ratio", "P(four fifths)")
    told = (
        "Ratios are medians. Four fifths: the lower of the two is at least "
        f"{FOUR_FIFTHS:g} of the higher, whichever it is."
    )
    return [Table(head, tuple(rows)), Paragraph(told)]


def _ratio_cell(entry: dict[str, Any]) -> Cell:
    """A median ratio with its interval, whose ends may be infinite."""
    if entry["interval"] is None:
        return Cell("-", entry["reason"])
    low, high = entry["interval"]
    ends = {"median": entry["median"], "low": low, "high": high}
    middle, low, high = (
        "infinite" if name in entry["infinite"] else number(end) for name, end in ends.items()
    )
    return Cell(f"{middle} (exact)" if entry["exact"] else f"{middle} [{low}, {high}]")


def gap_line(result: Assessment, name: str) -> str:
    """Say in one line how far apart the groups are in a metric."""
    prob, epsilon = result.settings.prob, result.settings.epsilon
    gap, spread = result.largest_gap(name), result.between_group_sd(name)
    if gap.reason is not None:
        return f"largest gap: undefined, {gap.reason}"
    if gap.exact:
        said = f"largest gap {number(gap.median)}, {_pair_name(gap.which)}"
        return f"{said}; sd between groups {number(spread.median)} (exact)"
    parts = [
        f"largest gap {number(gap.median)} {interval(*gap.interval(prob))}, "
        f"P(<{epsilon:g}) {probability(gap.prob_within(epsilon))}",
        f"likeliest {_pair_name(gap.which)} ({probability(gap.prob_which)})",
        f"sd between groups {number(spread.median)}, {100 * prob:g} % below "
        f"{number(spread.upper(prob))}",
    ]
    if gap.left_out:
        parts.append(f"without {', '.join(gap.left_out)}, undefined")
    return "; ".join(parts)


def _pair_name(which: tuple[str, ...]) -> str:
    return " minus ".join(which)


def marginal_table(result: Assessment, metric: str) -> Table:
    """Return a table with a row for each level of each attribute; see `levels_table`."""
    head = ("all of", "lightfair", "difference", "P(>0)", small(result.settings.epsilon))
    rows = []
    for margin in marginal_values(result, metric):
        differences = {entry["level"]: entry for entry in margin["differences"]}
        for level in margin["levels"]:
            row = [Cell(f"{margin['attribute']} {level['name']}"), cell_of(level)]
            delta = differences.get(level["name"])
            if delta is None:
                row += [Cell("reference" if differences else ""), Cell(""), Cell("")]
            else:
                exact = delta["exact"]
                row.append(Cell(number(delta["mean"])) if exact else cell_of(delta))
                row += [chance(delta[key], delta) for key in ("prob_positive", "prob_within")]
            rows.append(tuple(row))
    return Table(head, tuple(rows))


MOST_GROUPS = 6  # groups whose effective labels are listed


def worth_line(found: Effective, groups: tuple[str, ...]) -> str | None:
    """Return the effective numbers of labels in one line; None if all are undefined."""
    at = np.flatnonzero(~np.isnan(found.labels))
    if not at.size:
        return None
    if at.size <= MOST_GROUPS:
        shown = [f"{n:,.0f}" if n < MOST else f"more than {MOST:,.0f}" for n in found.labels[at]]
        worth = ", ".join(f"{text} ({groups[i]})" for text, i in zip(shown, at, strict=True))
        have = ", ".join(f"{n:,.0f}" for n in found.own[at])
        return f"worth {worth} labels, where labels alone have {have}"
    times = found.labels[at] / np.maximum(found.own[at], 1.0)
    low, middle, high = np.quantile(times, [0.0, 0.5, 1.0])
    return (
        f"worth {middle:.1f} times the labels that there are (median of {at.size} groups; "
        f"{low:.1f} to {high:.1f})"
    )
