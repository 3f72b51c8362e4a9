"""Cautions: what a report says of warnings, and of whether the chains have converged.

All reports say it alike. The grave warnings stand beside the answer, all of them in a section.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..core.comparison.pooled import margin_levels
from ..core.data.messages import counted
from ..core.diagnostics.predictive import typical_rate, worth_sentence
from ..core.values import counts_of
from .document import Cell, Paragraph, Section, Table
from .format import rows_line, target_line

if TYPE_CHECKING:
    from ..core.assessment import Assessment
    from ..core.data.messages import Note
    from ..core.mcmc.convergence import Gate

# warnings that a verdict is not to be read without
GRAVE = (
    "no_labels",
    "unlabeled_group",
    "not_converged",
    "reversed_scores",
    "label_drift",
    "misfit",
    "disagreement",
)


def warnings_section(notes: tuple[Note, ...]) -> list[Section]:
    """Return the warnings, where there are any."""
    if not notes:
        return []
    told = tuple(Paragraph(note.message, "warning", note.code) for note in notes)
    return [Section("warnings", "warnings", told)]


def cautions(notes: tuple[Note, ...]) -> list[Paragraph]:
    """Return what is to be read with a verdict: grave warnings, and how many there are."""
    said = grave(notes)
    if notes:
        codes = ", ".join(dict.fromkeys(note.code for note in notes))
        said.append(Paragraph(f"{counted(len(notes), 'warning')} below: {codes}."))
    return said


def grave(notes: tuple[Note, ...]) -> list[Paragraph]:
    """Return the warnings without which no number is to be used."""
    return [Paragraph(note.message, "warning", note.code) for note in notes if note.code in GRAVE]


def diagnostics_line(gate: Gate, chains: int, draws: int) -> str:
    """Say whether the chains have converged."""
    state = "converged" if gate.ok else "NOT CONVERGED"
    parts = [f"{counted(chains, 'chain')} of {draws:,} draws"]
    if gate.rhat_max is not None:
        parts.append(f"largest R-hat {gate.rhat_max:.3f}")
    for label, value in (("bulk", gate.ess_bulk_min), ("tail", gate.ess_tail_min)):
        if value is not None:
            parts.append(f"smallest {label} ESS {value:,.0f}")
    return f"{state}; {', '.join(parts)}"


def levels_table(result: Assessment) -> Table:
    """Return the rows of each level of each attribute."""

    return rows_table(
        "all of",
        {
            f"{attribute} {level.name}": {
                "rows": level.rows,
                "labeled": level.labeled,
                "positives": level.positives,
            }
            for attribute, levels in margin_levels(result.table).items()
            for level in levels
        },
    )


Blocks = list[Paragraph | Table]


def capitalized(sections: list[Section], metrics: tuple[str, ...] = ()) -> tuple[Section, ...]:
    """Return sections with titles that begin with a capital; names of metrics stay as they are."""
    return tuple(
        one if one.title in metrics else replace(one, title=one.title[:1].upper() + one.title[1:])
        for one in sections
    )


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
