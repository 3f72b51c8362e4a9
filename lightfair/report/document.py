"""Blocks: what a report says, before it is text, Markdown or HTML.

Reports are made once, as a Document, and shown by `text`, `markdown` and `html`. A document is
made of sections, a section of paragraphs and tables. Names from data are in it as they are;
whoever shows them escapes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Role = Literal["plain", "finding", "verdict", "warning", "code"]


class Cell(NamedTuple):
    """A cell of a table; `why` says what a dash stands for."""

    text: str
    why: str | None = None


@dataclass(frozen=True)
class Paragraph:
    """One or more sentences.

    Attributes
    ----------
    text : str
        Of code its lines, divided by newlines.
    role : {"plain", "finding", "verdict", "warning", "code"}
    mark : str
        Of a verdict its status, "pass", "fail" or "insufficient", which the text does not repeat;
        of a warning its code; of code its language, "python" or "sh".
    """

    text: str
    role: Role = "plain"
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """A table whose first column holds names, to the left, and others numbers, to the right.

    Attributes
    ----------
    head : tuple of str
        Titles of the columns.
    rows : tuple of tuple of Cell
        As many cells in each as there are columns.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Section:
    """A part of a report.

    Attributes
    ----------
    key : str
        What it is about, such as "verdict", "rows", "tpr", "diagnostics"; figures find their
        place by it.
    title : str
        Empty where the section needs none.
    blocks : tuple of Paragraph or Table
    """

    key: str
    title: str
    blocks: tuple[Paragraph | Table, ...]


@dataclass(frozen=True)
class Document:
    """A whole report: a title and its sections, in the order in which they are read."""

    title: str
    sections: tuple[Section, ...]
