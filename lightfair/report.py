"""The report: an assessment as a document, of sentences and tables, for people.

`values` has the same numbers for programs. An undefined number is a dash with a reason. Printed is
the short form; the full one, for those who sign a model off, also says what was assumed and how to
reproduce it, and has all columns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ._version import __version__
from .blocks import Cell, Document, Paragraph, Section, Table
from .cautions import cautions, diagnostics_line, warnings_section
from .compare import direction_level
from .effective import effective_labels, worth_line
from .misfit import typical_rate, worth_sentence
from .showing import (
    cell_of,
    chance,
    interval,
    number,
    probability,
    rows_line,
    small,
    target_line,
)
from .table import CELL_WIDTH
from .values import counts_of, metric_values

if TYPE_CHECKING:
    from .assessment import Assessment
    from .compare import Estimate
    from .verdict import Verdict

Blocks = list[Paragraph | Table]

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
        from .comparison_report import simultaneous_section

        sections.append(simultaneous_section(result))
    if settings.thresholds is not None:
        from .threshold_report import threshold_section

        sections.append(threshold_section(result))
    if full and len(result.groups) > 1:
        from .comparison_report import criteria_section

        sections += criteria_section(result)
    sections.append(diagnostics_section(result))
    sections += warnings_section(result.warnings)
    if not full:
        return Document(f"lightfair {__version__}", tuple(sections))
    from .provenance import provenance_sections

    title = f"Fairness by {' and '.join(result.table.attributes)}"
    sections += provenance_sections(result, command)
    return Document(title, capitalized(sections, settings.metrics))


def capitalized(sections: list[Section], metrics: tuple[str, ...] = ()) -> tuple[Section, ...]:
    """Return sections with titles that begin with a capital; names of metrics stay as they are."""
    return tuple(
        one if one.title in metrics else replace(one, title=one.title[:1].upper() + one.title[1:])
        for one in sections
    )


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
        from .comparison_report import gap_line

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
    from .comparison_report import gap_line

    return [Paragraph(f"{name}: {gap_line(result, name)}", "finding")]


def verdict_paragraph(verdict: Verdict) -> Paragraph:
    """Return a verdict as a paragraph."""
    from .comparison_report import verdict_text

    return Paragraph(verdict_text(verdict), "verdict", verdict.status)


def rows_section(result: Assessment) -> Section:
    """Say what rows there are, and what was done with them."""
    settings = result.settings
    prior = "hierarchical" if settings.hierarchical else "independent groups"
    if settings.nested:
        prior = "nested prior: effects of attributes, and interactions"
    trust = "the curve alone" if settings.trust is None else "with deviations from the curve"
    blocks: Blocks = [
        Paragraph(rows_line(result.table)),
        Paragraph(target_line(settings.target)),
        Paragraph(
            f"{settings.family} calibration, {prior}, {trust}; "
            f"{100 * settings.prob:g} % credible intervals"
        ),
        rows_table("group", dict(zip(result.groups, counts_of(result), strict=True))),
    ]
    if len(result.table.attributes) > 1:
        from .marginal_report import levels_table

        blocks.append(levels_table(result))
    if result.truth is not None:
        blocks.append(
            Paragraph(
                "truth: by labels of all these rows; the assessment was shown only those that are "
                "counted here as labeled"
            )
        )
    if empty := result.table.empty_groups:
        blocks.append(Paragraph("groups without rows, not assessed: " + "; ".join(empty)))
    return Section("rows", "rows", tuple(blocks))


def rows_table(title: str, counts: dict[str, dict[str, int]]) -> Table:
    """Return a table of rows, labeled rows and positive ones by name."""
    return Table(
        (title, "rows", "labeled", "positive"),
        tuple(
            (Cell(name), *(Cell(f"{mine[key]:,}") for key in ("rows", "labeled", "positives")))
            for name, mine in counts.items()
        ),
    )


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
    if said := worth_line(effective_labels(result, name), result.groups):
        blocks.append(Paragraph(said))
    if values["differences"]:
        blocks.append(_differences(result, values["differences"], full=full))
        blocks += findings(result, name, full=full)
    if full and len(result.groups) > 1:
        from .comparison_report import ratio_table

        blocks += ratio_table(result, name)
    if len(result.table.attributes) > 1:
        from .marginal_report import marginal_table

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


def diagnostics_section(result: Assessment) -> Section:
    """Say whether the chains have converged, and how far the curve is trusted."""
    posterior, settings = result.posterior, result.settings
    line = diagnostics_line(result.gate, settings.run[0], posterior.phi.shape[1])
    blocks: Blocks = [Paragraph(line)]
    if posterior.omega is not None and result.table.labeled:
        said = worth_sentence(
            posterior.omega,
            posterior.tau,
            posterior.regions,
            typical_rate(result.misfit),
            settings.prob,
        )
        blocks.append(Paragraph(f"trust: {said}"))
    return Section("diagnostics", "diagnostics", tuple(blocks))
