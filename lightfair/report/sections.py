"""Sections that several reports share: rows, diagnostics, warnings, and the critical warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..core.assessment import Assessment
from ..core.comparison.pooled import margin_levels
from ..core.data.messages import Note, counted
from ..core.diagnostics.predictive import typical_rate, worth_sentence
from ..core.mcmc.convergence import Gate
from ..core.metrics.clusters import cluster_values
from ..core.values import counts_of
from .document import Cell, Document, Paragraph, Section, Table, section
from .format import first_names, target_line
from .provenance import provenance_sections

Blocks = list[str | Paragraph | Table]

EMPTY = 20  # groups without rows that are listed

COUNTS = {"rows": "rows", "labeled": "labeled", "positives": "positive"}  # titles of columns

# warnings that are repeated next to verdicts and recommendations
CRITICAL = "no_labels unlabeled_group not_converged degenerate_decisions reversed_scores "
CRITICAL += "label_drift misfit disagreement"


TRUTH = (
    "truth: computed from the labels of all these rows; the assessment used only those counted as "
    "labeled"
)

KNOWN = (
    "every number is known from the rows themselves: nothing was estimated; "
    'target="population" estimates the metrics of rows like these'
)


def capitalized(sections: list[Section], metrics: Sequence[str] = ()) -> tuple[Section, ...]:
    """Return sections with capitalized titles, except for titles that are names of metrics."""
    return tuple(
        section
        if section.title in metrics
        else replace(section, title=section.title[:1].upper() + section.title[1:])
        for section in sections
    )


def full_report(
    base: Assessment,
    title: str,
    results: Section,
    command: str | None,
    *findings: str | Paragraph,
    **provenance: Any,
) -> Document:
    """Return the full form of a report that is based on an assessment.

    `findings` are put first; `provenance` are arguments of `provenance_sections`.
    """
    first = (*findings, *warning_summary(base.warnings))
    sections = [
        *([section("verdict", *first)] if first else []),
        results,
        rows_section(base),
        diagnostics_section(base),
        *warnings_section(base.warnings),
        *provenance_sections(base.settings, base.table, command, **provenance),
    ]
    return Document(f"{title[:1].upper()}{title[1:]}", capitalized(sections))


def rows_section(result: Assessment) -> Section:
    """Return the data and the model of an assessment."""
    settings = result.settings
    prior = "hierarchical" if settings.hierarchical else "independent groups"
    if settings.nested:
        prior = "nested prior with effects of attributes and interactions"
    trust = "without" if settings.trust is None else "with"
    model = f"{settings.family} calibration, {prior}, {trust} deviations from the curve"
    if not result.table.scored:
        model = f"no scores: a rate of positives for each decision, {prior}"
    if result.curves is None:
        model = "no model, as every metric is known from the rows"
    counts = rows_table("group", dict(zip(result.groups, counts_of(result), strict=True)))
    blocks: Blocks = [str(result.table), target_line(settings.target), model, counts]
    if (clusters := cluster_values(result.table, settings.target)) is not None:
        text = (
            "{number:,} clusters, {labeled:,} with labels; given the scores, labels are worth "
            "{effective_labels:,.0f} of independent rows ({share:.0%})"
        )
        blocks.insert(1, text.format(**clusters))
    if len(result.table.attributes) > 1:
        levels = {
            f"{attribute} {level.name}": level._asdict()
            for attribute, found in margin_levels(result.table).items()
            for level in found
        }
        blocks.append(rows_table("all of", levels))
    if result.truth is not None:
        blocks.append(TRUTH)
    if empty := result.table.empty_groups:
        blocks.append(f"groups without rows, not assessed: {first_names(empty, EMPTY)}")
    return section("rows", *blocks)


def rows_table(title: str, counts: dict[str, dict[str, Any]]) -> Table:
    """Return a table of the numbers of rows, labeled rows and positive labels by name."""
    rows = [(Cell(name), *(Cell(f"{n[key]:,}") for key in COUNTS)) for name, n in counts.items()]
    return Table((title, *COUNTS.values()), tuple(rows))


def diagnostics_section(result: Assessment) -> Section:
    """Return whether the chains have converged, and how far labels and curve may differ."""
    posterior, settings = result.curves, result.settings
    blocks = [diagnostics_line(result.gate, result.shape)]
    if posterior is not None and posterior.omega is not None and result.table.labeled:
        scales, rate = (posterior.omega, posterior.tau), typical_rate(result.misfit)
        text = worth_sentence(*scales, posterior.regions, rate, settings.prob)
        blocks.append(f"trust: {text}")
    return section("diagnostics", *blocks)


def diagnostics_line(gate: Gate, shape: tuple[int, ...]) -> str:
    """Return the result of the convergence check in one line."""
    chains, draws = shape
    if draws == 1:
        return KNOWN
    state = "converged" if gate.ok else "NOT CONVERGED"
    parts = [f"{counted(chains, 'chain')} of {draws:,} draws"]
    if gate.rhat_max is not None:
        parts.append(f"largest R-hat {gate.rhat_max:.3f}")
    for label, value in (("bulk", gate.ess_bulk_min), ("tail", gate.ess_tail_min)):
        if value is not None:
            parts.append(f"smallest {label} ESS {value:,.0f}")
    if gate.ok and gate.parameters is not None:
        parts.append(f"parameters of the curves, unlike the metrics, lag: {gate.parameters}")
    return f"{state}; {', '.join(parts)}"


def warnings_section(notes: tuple[Note, ...]) -> list[Section]:
    """Return the section of warnings, if there are any."""
    return [section("warnings", *map(_warning, notes))] if notes else []


def critical_warnings(notes: tuple[Note, ...]) -> list[Paragraph]:
    """Return the warnings without which no result should be read."""
    return [_warning(note) for note in notes if note.code in CRITICAL.split()]


def warning_summary(notes: tuple[Note, ...]) -> list[Paragraph]:
    """Return the critical warnings, and the number and codes of all."""
    blocks = critical_warnings(notes)
    if notes:
        codes = ", ".join(dict.fromkeys(note.code for note in notes))
        blocks.append(Paragraph(f"{counted(len(notes), 'warning')} below: {codes}."))
    return blocks


def _warning(note: Note) -> Paragraph:
    return Paragraph(note.message, "warning", note.code)
