"""The report of several classes: those of their assessments, merged section by section.

Tables with the same columns become one, with a row for each class; a paragraph is given once, after
the names of its classes; one about the rows, and the same for all, without.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..audit.classes import ClassesAssessment
from . import assessment
from .document import Cell, Document, Paragraph, Section, Table, section
from .provenance import provenance_sections
from .sections import capitalized

APART = (
    "Each class is assessed against the rest, apart from the others: imputed probabilities of a "
    "row's classes need not sum to 1. Not reported: which class is taken for which other one, and "
    "accuracy and log loss over all classes. Simultaneous intervals are of all classes at once."
)


def document(
    found: ClassesAssessment, *, full: bool = False, command: str | None = None
) -> Document:
    """Return the report; `full` and `command` as in `report.assessment`."""
    base, *_ = found.by_class.values()
    joint, parts = found.simultaneous(), {}
    for name, one in found.by_class.items():
        part = assessment.document(one, full=full)
        first, *rest = part.sections
        wide = [assessment.simultaneous_section(one, joint[name])] if joint else []
        parts[name] = replace(part, sections=(first, *wide, *rest))
    sections = [one for one in merged(parts) if one.key != "reproduce"]
    sections.append(section("classes", APART))
    if not full:
        return Document(part.title, tuple(sections))
    options = {"assess_classes": {"classes": [*parts]}}
    sections += provenance_sections(base.settings, base.table, command, options=options)[-1:]
    title = f"{part.title}: {len(parts)} classes, each against the rest"
    return Document(title, capitalized(sections, base.settings.metrics))


def merged(parts: dict[str, Document]) -> list[Section]:
    """Return the sections of several documents, by name, as those of one."""
    uses: dict[tuple[str, str], dict[Any, list[Any]]] = {}
    for name, part in parts.items():
        for one in part.sections:
            blocks = uses.setdefault((one.key, one.title), {})
            for block in one.blocks:
                if isinstance(block, Table):
                    rows = [(Cell(f"{name}, {first.text}"), *rest) for first, *rest in block.rows]
                    blocks.setdefault(block.head, []).extend(rows)
                else:
                    blocks.setdefault(block, []).append(name)

    def joined(block: Any, rows: list[Any]) -> Paragraph | Table:
        if not isinstance(block, Paragraph):
            return Table((f"class, {block[0]}", *block[1:]), tuple(rows))
        all_alike = len(rows) == len(parts) and block.role in ("plain", "warning")
        return replace(block, text=f"{', '.join(rows)}: " * (not all_alike) + block.text)

    return [
        Section(*key, tuple(joined(*block) for block in blocks.items()))
        for key, blocks in uses.items()
    ]
