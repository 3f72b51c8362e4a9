"""Render a document as text of at most 80 columns.

Nothing is truncated. Sentences are wrapped. If a table is too wide, its column titles are wrapped,
then names longer than the first column move to a line above their numbers, then its columns are
divided between several tables. Reasons for undefined numbers follow the table. The width does not
depend on the terminal, so that the same result gives the same text everywhere. East Asian wide
characters count as two columns.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from itertools import zip_longest
from typing import NamedTuple

from ..core.data.messages import one_line
from .document import Cell, Document, Paragraph, Section, Table

WIDTH = 80

INDENT = 2  # of section content and of continuation lines

GAP = 2  # between columns

FIRST = 12  # preferred width of the first column

NARROW = 8  # of the first column, below which column titles are wrapped

WIDEST = 30  # column of numbers

Style = Mapping[tuple[str, str], tuple[str, str]]

_PAD = "\ue000"  # follows each wide character during layout, so that len() counts columns

_NUMBER = re.compile(r"(-|[<>]?-?\d[\d,]*(?:\.\d+)?%?)( .*)?")

# units that are kept on one line, with the blanks that follow: words, 95 %, [0.1, 0.2]
_WORD = re.compile(r"(?:\[-?[\d.]+, -?[\d.]+\]|\d[\d.]* %|[^ ])+ *| +")

_TITLE = re.compile(r"<?[^ <]+ *|[ <]")  # units of a column title: P(|.| and <0.05)


def render(document: Document, style: Style | None = None) -> str:
    """Return a document as text without a final newline.

    Parameters
    ----------
    document
    style
        Strings to put before and after parts of the text, such as escape codes for colours, by
        (role, mark) or (role, ""): ("title", ""), ("verdict", status), ("warning", code) and
        ("finding", ""). They do not count for the line width.
    """
    style = style or {}
    parts = [_title(document.title, style)] if document.title else []
    parts += [_section(section, style) for section in document.sections]
    return "\n\n".join("\n".join(lines) for lines in parts).replace(_PAD, "")


def _title(title: str, style: Style) -> list[str]:
    return [_styled(line, "title", "", style) for line in _wrap(_padded(title))]


def _section(section: Section, style: Style) -> list[str]:
    indent = INDENT if section.title else 0
    marks = [len(b.mark) for b in section.blocks if isinstance(b, Paragraph)]
    lines: list[str] = []
    for block in section.blocks:
        if isinstance(block, Table):
            lines += _table(block, WIDTH - indent)
        else:
            lines += _paragraph(block, WIDTH - indent, max(marks), style)
    head = _title(section.title, style) if section.title else []
    return [*head, *(" " * indent + line if line else line for line in lines)]


def _paragraph(block: Paragraph, room: int, widest: int, style: Style) -> list[str]:
    """Lines of a paragraph; `widest` is the length of the longest mark in its section."""
    if block.role == "code":
        return [line for part in block.text.split("\n") for line in _wrap(_padded(part), room)]
    lead, hang = "", INDENT
    if block.role == "verdict":
        hang = widest + GAP
        lead = block.mark.ljust(hang)
    elif block.role == "warning":
        lead = f"{block.mark}: "
    lines = _wrap(lead + _padded(block.text), room, hang)
    if block.role == "finding":
        return [_styled(line, "finding", "", style) for line in lines]
    if lead:
        mark = block.mark
        lines[0] = _styled(mark, block.role, mark, style) + lines[0][len(mark) :]
    return lines


def _styled(text: str, role: str, mark: str, style: Style) -> str:
    before, after = style.get((role, mark), style.get((role, ""), ("", "")))
    return f"{before}{text}{after}"


class _Column(NamedTuple):
    """A column of numbers: title, and lines of each cell."""

    title: str
    cells: list[list[str]]

    def width(self, *, wrapped: bool) -> int:
        """Width with the title in one line, or wrapped."""
        words = _TITLE.findall(self.title) if wrapped else [self.title]
        title = min(max((len(word.rstrip(" ")) for word in words), default=0), WIDEST)
        return max([title, *(len(line) for cell in self.cells for line in cell)])


def _table(table: Table, room: int) -> list[str]:
    """Lines of a table, followed by the reasons for undefined numbers."""
    reasons: dict[str, str] = {}
    rows = [[_cell(cell, reasons) for cell in row] for row in table.rows]
    names = [row[0] for row in rows]
    if all(_NUMBER.fullmatch(name) for name in names):
        names = _aligned(names)
    columns = []
    for title, *texts in list(zip(table.head, *rows, strict=True))[1:]:
        cells = [[t] if len(t) <= WIDEST else _wrap(t.strip(), WIDEST, 0) for t in _aligned(texts)]
        columns.append(_Column(_padded(title), cells))
    lines = _arranged(_padded(table.head[0]), names, columns, room)
    for reason, mark in reasons.items():
        lines += _wrap(f"{mark} {reason}", room, len(mark) + 1)
    return lines


def _cell(cell: Cell, reasons: dict[str, str]) -> str:
    """Text of a cell, with the number of its reason."""
    text = _padded(cell.text)
    if cell.why is None:
        return text
    return f"{text} {reasons.setdefault(_padded(cell.why), f'[{len(reasons) + 1}]')}".lstrip()


def _aligned(texts: list[str]) -> list[str]:
    """Align numbers, and whatever follows them, below each other."""
    matches = [_NUMBER.fullmatch(text) for text in texts]
    first = max((len(match[1]) for match in matches if match), default=0)
    rest = max((len(match[2] or "") for match in matches if match), default=0)
    return [
        match[1].rjust(first) + (match[2] or "").ljust(rest) if match else text
        for text, match in zip(texts, matches, strict=True)
    ]


def _arranged(head: str, names: list[str], columns: list[_Column], room: int) -> list[str]:
    """Lines of a table in the first arrangement that fits."""
    longest = max(map(len, names), default=0)
    for wrapped, least in ((False, longest), (True, longest), (False, NARROW), (True, 1)):
        sizes = [column.width(wrapped=wrapped) for column in columns]
        first = room - sum(sizes) - GAP * len(sizes)
        if first >= least:
            first = min(first, max(longest, FIRST))
            titles = [
                _wrap(c.title, size, 0, _TITLE) for c, size in zip(columns, sizes, strict=True)
            ]
            tall = max(map(len, titles), default=1)
            lines = _row(head, [[""] * (tall - len(t)) + t for t in titles], sizes, first, -1)
            for i, name in enumerate(names):
                lines += _row(name, [column.cells[i] for column in columns], sizes, first, 0)
            return lines
    half = (len(columns) + 1) // 2
    parts = columns[:half], columns[half:]
    return [line for part in parts for line in _arranged(head, names, part, room)]


def _row(name: str, cells: list[list[str]], sizes: list[int], first: int, at: int) -> list[str]:
    """Lines of a row; its name is in line `at`, or above if there is no room for it."""
    lines = [" " * first] if not cells else []
    for texts in zip_longest(*cells, fillvalue=""):
        line = [" " * GAP + text.rjust(size) for text, size in zip(texts, sizes, strict=True)]
        lines.append(" " * first + "".join(line))
    blank = len(lines[at]) - len(lines[at].lstrip(" "))
    if blank >= len(name) + GAP * (blank < len(lines[at])):
        lines[at] = name + lines[at][len(name) :]
        return [line.rstrip(" ") for line in lines]
    above = _wrap(name, first + sum(sizes) + GAP * len(sizes))
    return [*above, *(line.rstrip(" ") for line in lines if line.strip(" "))]


def _padded(text: str) -> str:
    """Escape control characters, and mark wide characters so that len() counts columns."""
    text = one_line(text)
    if text.isascii():
        return text
    return "".join(c + _PAD * (unicodedata.east_asian_width(c) in "WF") for c in text)


def _wrap(
    text: str, columns: int = WIDTH, hang: int = INDENT, units: re.Pattern[str] = _WORD
) -> list[str]:
    """Lines of a padded text, all but the first indented; words are broken only if too long."""
    lines, line = [], ""
    for word in units.findall(text):
        if line.strip(" ") and len(line) + len(word.rstrip(" ")) > columns:
            lines.append(line.rstrip(" "))
            line = " " * hang
        while len(line) + len(word.rstrip(" ")) > columns:
            at = columns - len(line)
            at -= word[at] == _PAD
            lines.append(line + word[:at])
            line, word = " " * hang, word[at:]
        line += word
    return [*lines, line.rstrip(" ")]
