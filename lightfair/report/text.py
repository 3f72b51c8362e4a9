"""Render a document as text, as wide as the terminal: 80 columns if unknown, 200 at most.

Sentences are wrapped, at 100 columns at most. A table is one table, with a line for each name: if
it is too wide, its column titles are wrapped, then its names are shortened in the middle. Only if
the numbers themselves do not fit, columns are divided between several tables. Reasons for
undefined numbers follow the table.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from itertools import count, zip_longest

from ..core.data.messages import middle_out, one_line
from .document import Document, Paragraph, Section, Table

LEAST, MOST = 40, 200  # columns

PROSE = 100  # columns of a sentence

INDENT = 2  # of section content and of continuation lines

GAP = 2  # between columns

FIRST = 12  # preferred width of the first column

PASSES = (  # whether titles are wrapped; least width of names, most of columns, and of text in them
    (False, MOST, MOST, MOST),
    (True, MOST, 30, 30),
    (True, 8, 30, 20),
)

Column = list[str]  # a title, and a text per row

_NUMBER = re.compile(r"(-|[<>]?-?\d[\d,]*(?:\.\d+)?%?)( .*)?")

# units that are kept on one line, with the blanks that follow: words, 95 %, [0.1, 0.2], < 0.05
_WORD = re.compile(r"(?:\[-?[\d.]+, -?[\d.]+\]|\d[\d.]* %|< \d|[^ ])+ *| +")


def render(document: Document, width: int | None = None) -> str:
    """Return a document as text without a final newline; `width`: columns, default as above."""
    width = shutil.get_terminal_size((80, 24)).columns if width is None else width
    width = min(max(width, LEAST), MOST)
    parts = [_wrap(one_line(document.title), width)] if document.title else []
    parts += [_section(section, width) for section in document.sections]
    return "\n\n".join("\n".join(lines) for lines in parts)


def _section(section: Section, width: int) -> list[str]:
    indent = INDENT if section.title else 0
    marks = [len(b.mark) for b in section.blocks if isinstance(b, Paragraph)]
    lines: list[str] = []
    for block in section.blocks:
        if isinstance(block, Table):
            lines += _table(block, width - indent)
        else:
            lines += _paragraph(block, width - indent, max(marks))
    head = _wrap(one_line(section.title), width) if section.title else []
    return [*head, *(" " * indent + line if line else line for line in lines)]


def _paragraph(block: Paragraph, room: int, widest: int) -> list[str]:
    """Lines of a paragraph; `widest` is the length of the longest mark in its section."""
    leads = {"verdict": block.mark.ljust(widest + GAP), "warning": f"{block.mark}: "}
    lead = leads.get(block.role, "")
    hang = len(lead) if block.role == "verdict" else INDENT
    return _wrap(lead + one_line(block.text), room, hang)


def _table(table: Table, room: int) -> list[str]:
    """Lines of a table, followed by the reasons for undefined numbers."""
    reasons = table.reasons()
    rows = [
        [f"{one_line(text)} {reasons.get(why or '', '')}".strip(" ") for text, why in row]
        for row in table.rows
    ]
    columns = [
        [one_line(title), *_aligned([row[at] for row in rows])]
        for at, title in enumerate(table.head)
    ]
    lines = _arranged(columns[0], columns[1:], room)
    for reason, mark in reasons.items():
        lines += _wrap(f"{mark} {one_line(reason)}", room, len(mark) + 1)
    return lines


def _aligned(texts: list[str]) -> list[str]:
    """Align numbers, and whatever follows them, below each other."""
    matches = [_NUMBER.fullmatch(text) for text in texts]
    first = max((len(match[1]) for match in matches if match), default=0)
    rest = max((len(match[2] or "") for match in matches if match), default=0)
    return [
        match[1].rjust(first) + (match[2] or "").ljust(rest) if match else text
        for text, match in zip(texts, matches, strict=True)
    ]


def _arranged(names: Column, numbers: list[Column], room: int) -> list[str]:
    """Lines of a table in the first arrangement that fits: a column of numbers always does."""
    longest = max(map(len, names[1:]), default=0)
    for wrapped, least, widest, most in PASSES:
        sizes = []
        for title, *cells in numbers:
            words = [w.rstrip(" ") for w in _WORD.findall(title)] if wrapped else [title]
            texts = [c if _NUMBER.fullmatch(c.strip(" ")) else c[:most] for c in cells]
            sizes.append(min(max(map(len, [*words, *texts]), default=0), widest))
        first = room - sum(sizes) - GAP * len(sizes)
        fits = first >= (min(least, longest) if wrapped else max(map(len, names)))
        if fits or (wrapped and len(numbers) < 2):
            sizes = [min(first, max(*map(len, names), FIRST)), *sizes]
            wraps = max(map(len, names[0].split()), default=0) <= sizes[0]
            kept = names[:1] if wraps else []
            names = [*kept, *shortened(names[len(kept) :], sizes[0])]
            rows = zip(names, *numbers, strict=True)
            return [line for row in rows for line in _row(row, sizes)]
    half = (len(numbers) + 1) // 2
    parts = numbers[:half], numbers[half:]
    return [line for part in parts for line in _arranged(names, part, room)]


def shortened(names: Sequence[str], most: int) -> list[str]:
    """Return names of at most so many characters: longer ones lose their middle, and differ.

    Examples
    --------
    >>> shortened(["African-American", "Asian"], 9)
    ['Afri…ican', 'Asian']
    """
    found: list[str] = []
    for name in names:
        short, number = middle_out(name, most), count()
        while short in found and short != name:
            short = middle_out(name, most, f"…{next(number)}…")
        found.append(short)
    return found


def _row(texts: Sequence[str], sizes: list[int]) -> list[str]:
    """Lines of a row: a name, and numbers."""
    cells = [
        [text] if len(text) <= size else _wrap(text.strip(" "), size, 0)
        for text, size in zip(texts, sizes, strict=True)
    ]
    lines = []
    for name, *line in zip_longest(*cells, fillvalue=""):
        row = [text.rjust(size) for text, size in zip(line, sizes[1:], strict=True)]
        lines.append((" " * GAP).join([name.ljust(sizes[0]), *row]).rstrip(" "))
    return lines


def _wrap(text: str, columns: int, hang: int = INDENT) -> list[str]:
    """Lines of a text, all but the first indented; words are broken only if too long."""
    columns, lines, line = min(columns, PROSE), [], ""
    for word in _WORD.findall(text):
        if line.strip(" ") and len(line) + len(word.rstrip(" ")) > columns:
            lines.append(line.rstrip(" "))
            line = " " * hang
        while len(line) + len(word.rstrip(" ")) > columns:
            at = columns - len(line)
            lines.append(line + word[:at])
            line, word = " " * hang, word[at:]
        line += word
    return [*lines, line.rstrip(" ")]
