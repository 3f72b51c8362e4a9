"""The report of an assessment.

The short form, which is printed, has verdicts, rows, metrics, diagnostics and warnings. The full
form, for those who approve a model, adds ratios, criteria, assumptions and how to
reproduce the result. An undefined number is a dash with a reason. `core.values` has the same
numbers for programs.
"""

from __future__ import annotations

from typing import Any

from ..audit.selection import selection_bounds
from ..core import __version__
from ..core.assessment import Assessment
from ..core.comparison.gaps import Simultaneous
from ..core.comparison.verdict import SUPPORT
from ..core.data.logit import Floats
from ..core.data.messages import counted, number, probability
from ..core.metrics.estimate import tails
from ..core.metrics.labels_only import MOST
from ..core.values import (
    FOUR_FIFTHS,
    compared_values,
    criterion_values,
    marginal_values,
    metric_values,
    ratio_values,
)
from . import format as cells
from . import sections as shared
from .document import Cell, Document, Paragraph, Section, Table, section
from .format import Columns, table_of, value_cell
from .provenance import provenance_sections
from .thresholds import threshold_section

NAMED = 4  # groups that a sentence names

LISTED = 10  # groups that a line names

RULE = (
    "A check passes if all gaps are within its limit with a probability of at least {:g}. It fails "
    "if one particular group exceeds another by more than the limit with such a probability. "
    f"Labels without the model must support both, with {SUPPORT['pass']:g} and "
    f"{SUPPORT['fail']:g}. Otherwise the evidence is insufficient, which is not a pass."
)

DISAGREEMENT = (
    "Disagreement between columns: if lightfair differs from the labels-only and the "
    "prediction-powered estimate by more than their intervals, believe the labels."
)

WRONG = (
    "Wrong labels: labels-only and prediction-powered estimates take labels as right, and may "
    "differ from lightfair for that alone. No number here can prove the rates of wrong labels, or "
    "that they are the same in all groups and at all scores."
)

KEY, POWERED = "prediction_powered", "prediction-powered"

METHODS: Columns = {
    "lightfair": value_cell,
    "labels only": lambda entry: value_cell(entry["labels_only"]),
}

SELECTION = (
    "Labels may exist because of a decision. Bounds hold if the odds of a positive label of "
    "unlabeled rows are 1/{0:g} to {0:g} times those of labeled rows of equal score and group; "
    "equal odds is what the rest of this report assumes. The data do not show how far they differ."
)

RATIOS: Columns = {
    "ratio": lambda entry: value_cell(entry["ratio"]),
    "P(four fifths)": lambda entry: cells.chance("prob_four_fifths")(entry["ratio"]),
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
    sections = [_findings(result, full=full), shared.rows_section(result)]
    sections += [metric_section(result, name, full=full) for name in settings.metrics]
    if settings.simultaneous:
        sections.append(simultaneous_section(result, result.simultaneous()))
    if settings.thresholds is not None:
        sections.append(threshold_section(result))
    if settings.selection_odds is not None:
        sections.append(_selection(result))
    if full and len(result.groups) > 1:
        sections += _criteria(result)
    sections += [shared.diagnostics_section(result), *shared.warnings_section(result.warnings)]
    sections.append(_legend(result, full=full))
    if not full:
        return Document(f"lightfair {__version__}", tuple(sections))
    limit = DISAGREEMENT if settings.label_error is None else WRONG
    sections += provenance_sections(settings, result.table, command, limits=[limit])
    title = f"Fairness by {' and '.join(result.table.attributes)}"
    return Document(title, shared.capitalized(sections, settings.metrics))


def _findings(result: Assessment, *, full: bool) -> Section:
    """Verdicts on checks, the largest gaps, what is sure, and warnings."""
    checks, settings = result.checks, result.settings
    blocks: shared.Blocks = [
        Paragraph(f"{one.check.text}: {one.basis}.", "verdict", one.status) for one in checks
    ]
    if full:
        rule, none = RULE.format(settings.prob), "No limit was set, so there is no verdict."
        blocks.append(rule if checks else none)
    if len(result.groups) > 2:
        blocks += gap_table(result)
    if len(result.groups) > 1:
        blocks += [*directions(result), *_set_aside(result)]
    warned = shared.warning_summary(result.warnings)
    blocks += warned if full else warned[-1:]
    return section("verdict", *blocks, title="findings")


def gap_table(result: Assessment) -> shared.Blocks:
    """Return the largest gap of each metric, if two groups have one, and between whom."""
    settings = result.settings
    entries, undefined = {}, dict[tuple[str, ...], list[str]]()
    for name in settings.metrics:
        gap, aside = result.largest_gap(name), result.set_aside(name)
        if len(result.groups) - len(aside) < 2:
            continue
        sd = result.between_group_sd(name).median
        entries[name] = compared_values(gap, settings) | {"sd": sd}
        others = tuple(group for group in gap.left_out if group not in aside)
        undefined.setdefault(others, []).append(name)
    columns: Columns = {
        "largest gap": value_cell,
        "likeliest pair": _pair,
        f"P(gap < {settings.epsilon:g})": cells.chance("prob_within"),
        "group SD": lambda entry: Cell(number(entry["sd"])),
    }
    notes = [
        f"undefined in {cells.first_names(groups, LISTED)}: {', '.join(names)}"
        for groups, names in undefined.items()
        if groups
    ]
    return [table_of("metric", columns, entries), *notes] if entries else []


def _set_aside(result: Assessment) -> list[str]:
    """The groups that no finding names."""
    small = [*result.small_groups]
    aside = {name for metric in result.settings.metrics for name in result.set_aside(metric)}
    unlabeled = [name for name in result.groups if name in aside and name not in small]
    kinds = {f"of fewer than {result.settings.min_rows} rows": small}
    kinds["without labels, where they are needed"] = unlabeled
    text = "groups {}, left out of findings: {}"
    return [text.format(kind, cells.first_names(one, LISTED)) for kind, one in kinds.items() if one]


def _pair(entry: dict[str, Any]) -> Cell:
    """The groups that most probably have the largest gap."""
    pair = " minus ".join(entry.get("which", ())) or "-"
    known = entry["exact"] or pair == "-"
    return Cell(pair if known else f"{pair} ({probability(entry['prob_which'])})")


def directions(result: Assessment) -> list[Paragraph]:
    """Return what is sure about the differences from the reference, and where nothing is."""
    reference, unclear = str(result.settings.reference), []
    blocks = []
    for name in result.settings.metrics:
        found: dict[tuple[str, bool], list[str]] = {}
        without, aside = result.without_model(name), {*result.set_aside(name)}
        compared = [g for g in result.groups if g != reference and not {g, reference} & aside]
        for group in compared:
            if sure := direction(result, name, group, without):
                found.setdefault(sure, []).append(group)
        for (word, supported), groups in sorted(found.items(), key=lambda one: not one[0][1]):
            deltas = {group: str(result.difference(name, group)) for group in groups}
            than = f"{'as' if word == 'the same' else 'than'} for {reference}"
            text = f"{name} is {word} for {groups[0]} {than}: {deltas[groups[0]]}"
            if len(groups) > 1:
                named = [f"{g} ({deltas[g].replace(' (exact)', ', exact')})" for g in groups]
                if len(groups) > NAMED:
                    named[NAMED:] = [counted(len(groups) - NAMED, "other group")]
                text = f"{name} is {word} for {'; '.join(named)} {than}"
            if not supported:
                text += ", by the model alone: labels without it do not support this"
            blocks.append(Paragraph(f"{text}.", "finding"))
        unclear += [name] * (not found and bool(compared))
    if unclear:
        text = f"No clear difference from {reference}: {', '.join(unclear)}."
        blocks.append(Paragraph(text, "finding"))
    return blocks


def direction(
    result: Assessment, metric: str, group: str, without: Floats
) -> tuple[str, bool] | None:
    """Return the direction of a difference from the reference, and whether labels support it.

    It is clear if the central interval lies on one side of 0, else None. As for
    a verdict (`core.comparison.verdict`), draws without the model must support it: `without`,
    float64 (draw, group).
    """
    estimate, prob = result.difference(metric, group), result.settings.prob
    above, equal = estimate.prob_greater(), estimate.prob_equal()
    chances = {"higher": above, "lower": 1.0 - above - equal, "the same": equal}
    word = max(chances, key=chances.__getitem__)
    same = word == "the same"
    rounded = same and estimate.sd == 0.0 and not estimate.exact  # by ties in cells of scores
    if rounded or not chances[word] >= (prob if same else tails(prob)[1]):
        return None
    at = [result.groups.index(name) for name in (group, str(result.settings.reference))]
    one, two = without[:, at].T
    support = float((one > two if word == "higher" else one < two).mean())
    return word, same or support >= SUPPORT["fail"]


def _legend(result: Assessment, *, full: bool) -> Section:
    """What the columns mean."""
    level = f"{100 * result.settings.prob:g} % credible interval"
    texts = [
        f"0.1 [0.0, 0.2]: mean, for gaps and ratios median; {level}",
        "labels only: from the labels alone, with a Beta(1, 1) prior in each group",
        "effective labels: this many labels alone would be as precise (actual labels)",
    ]
    if full:
        texts += [
            f"P(four fifths): the smaller of two metrics is at least {FOUR_FIFTHS:g} of the larger",
            "prediction-powered: from labels and scores without a model; intervals are asymptotic "
            "and can exceed the bounds of a metric if labels are few",
        ]
    return section("legend", *texts)


def metric_section(result: Assessment, name: str, *, full: bool = False) -> Section:
    """Return the groups, and their differences from the reference."""
    values, settings = metric_values(result, name), result.settings
    groups, metric = values["groups"], settings.metric(name)
    columns: Columns = dict(METHODS) if name not in settings.label_free else {}
    columns |= {POWERED: _powered} if full and columns else {}
    columns = columns or {"lightfair": value_cell}
    truth = {"truth": cells.truth_cell} if result.truth is not None else {}
    blocks: shared.Blocks = []
    own = dict(zip(result.groups, result.effective_labels(name).own, strict=True))
    by_group = {entry["name"]: entry | {"own": own[entry["name"]]} for entry in groups}
    some = any(entry["effective_labels"] is not None for entry in groups)
    effective: Columns = {"effective labels": effective_cell} if some else {}
    blocks.append(table_of("group", columns | effective | truth, by_group))
    if metric.of != "counts" and any(entry["exact"] for entry in groups) and result.table.clipped:
        low, high = result.settings.clip, 1.0 - result.settings.clip
        blocks.append(f"exact for scores clipped to [{low:g}, {high:g}]")
    if values["differences"]:
        columns |= cells.probability_columns(settings.epsilon) | truth
        by_group = {entry["group"]: entry for entry in values["differences"]}
        if full and metric.bounds[0] >= 0.0:
            for group, entry in by_group.items():
                entry["ratio"] = ratio_values(result.ratio(name, group), settings.prob)
            columns |= RATIOS
        blocks.append(table_of(f"minus {settings.reference}", columns, by_group))
    if len(result.table.attributes) > 1:
        blocks.append(_marginal(result, name))
    return section(name, *blocks)


def effective_cell(entry: dict[str, Any]) -> Cell:
    """Return the cell of effective labels, with the actual number, `own`."""
    labels = entry["effective_labels"]
    if labels is None:
        return Cell("-", entry["effective_reason"])
    return Cell(f"{'>' * (labels >= MOST)}{labels:,.0f} ({entry['own']:,.0f})")


def _powered(entry: dict[str, Any]) -> Cell:
    """A prediction-powered estimate; one without width is exact."""
    powered = entry[KEY]
    ends = powered["interval"]
    return value_cell({**powered, "exact": ends is not None and ends[0] == ends[1]})


def _marginal(result: Assessment, name: str) -> Table:
    """The levels of each attribute, each over all groups with that level."""
    likely = cells.probability_columns(result.settings.epsilon)
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


def simultaneous_section(result: Assessment, joint: Simultaneous) -> Section:
    """Return the intervals that contain all differences at once."""
    found = joint.to_dict()
    entries = {
        f"{one['metric']} {one['group']}": {"interval": None, **one}
        for one in found["intervals"] + found["left_out"]
    }
    columns: Columns = {f"median, minus {result.settings.reference}": value_cell}
    table = table_of(f"all at once, {100 * found['prob']:g} %", columns, entries)
    return section("simultaneous", table, title="simultaneous intervals")


def _selection(result: Assessment) -> Section:
    """The bounds of what depends on labels, beside the intervals without."""
    found, settings = selection_bounds(result, result.settings.selection_odds), result.settings
    blocks: shared.Blocks = []
    for name in (one for one in settings.metrics if one not in settings.label_free):
        values, entries = metric_values(result, name), {}
        for part, others in found["metrics"][name].items():
            for entry, bounds in zip(values[part], others, strict=True):
                key = entry.get("name") or f"{entry['group']} minus {entry['reference']}"
                entries[key] = {**entry, "bounds": bounds}
        columns: Columns = {"equal odds": value_cell, "bounds": lambda x: value_cell(x["bounds"])}
        blocks.append(table_of(name, columns, entries))
    title = f"bounds if unlabeled rows differ: odds ratio {found['odds']:g}"
    return section("selection", *blocks, SELECTION.format(found["odds"]), title=title)


def _criteria(result: Assessment) -> list[Section]:
    """The fairness criteria of several metrics, all of which were assessed."""
    entries = {
        f"{name}, {entry['group']}": entry
        for name, criterion in criterion_values(result).items()
        for entry in criterion["differences"]
        if len(criterion["metrics"]) > 1
    }
    (*_, (title, near)) = cells.probability_columns(result.settings.epsilon).items()
    columns: Columns = {f"largest gap to {result.settings.reference}": value_cell, title: near}
    text = (
        "The gap is the median of the largest absolute difference in the metrics of a criterion; "
        "it exceeds 0 even if groups are alike."
    )
    table = table_of("criterion, group", columns, entries)
    return [section("criteria", table, text)] if entries else []
