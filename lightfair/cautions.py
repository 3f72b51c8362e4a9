"""Cautions: what a report says of warnings, and of whether the chains have converged.

All reports say it alike. The grave warnings stand beside the answer, all of them in a section.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .blocks import Paragraph, Section
from .showing import counted

if TYPE_CHECKING:
    from .diagnostics import Gate
    from .wording import Note

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
