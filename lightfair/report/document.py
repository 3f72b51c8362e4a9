"""The content of a report, independent of its output format.

Each report is built once, as a `Document` of sections that hold paragraphs and tables; the modules
`text`, `markdown` and `html` only render it. Names from data are stored unescaped; renderers escape
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Role = Literal["plain", "finding", "verdict", "warning", "code"]


class Cell(NamedTuple):
    """A table cell; `why` is the reason for an undefined value, shown below the table."""

    text: str
    why: str | None = None


@dataclass(frozen=True)
class Paragraph:
    """One or more sentences.

    Attributes
    ----------
    text : str
    role : {"plain", "finding", "verdict", "warning", "code"}
    mark : str
        The status of a verdict ("pass", "fail" or "insufficient"; not repeated in the text), the
        code of a warning, or the language of code ("json" or "sh").
    """

    text: str
    role: Role = "plain"
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """A table with names in its first column and numbers in the others.

    Attributes
    ----------
    head : tuple of str
        Column titles.
    rows : tuple of tuple of Cell
        Each row has one cell per column.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def reasons(self) -> dict[str, str]:
        """Return marks of the reasons for undefined values, [1], [2], ..., by reason."""
        reasons = dict.fromkeys(cell.why for row in self.rows for cell in row if cell.why)
        return {reason: f"[{at}]" for at, reason in enumerate(reasons, 1)}


@dataclass(frozen=True)
class Section:
    """A part of a report.

    Attributes
    ----------
    key : str
        Topic, such as "verdict", "rows", "tpr" or "diagnostics"; figures are assigned by it.
    title : str
        Empty if the section has no heading.
    blocks : tuple of Paragraph or Table
    """

    key: str
    title: str
    blocks: tuple[Paragraph | Table, ...]


def section(key: str, *blocks: str | Paragraph | Table, title: str | None = None) -> Section:
    """Return a section, by default with its key as title; texts become plain paragraphs."""
    parts = (Paragraph(block) if isinstance(block, str) else block for block in blocks)
    return Section(key, key if title is None else title, tuple(parts))


@dataclass(frozen=True)
class Document:
    """A complete report: a title and sections in reading order."""

    title: str
    sections: tuple[Section, ...]
