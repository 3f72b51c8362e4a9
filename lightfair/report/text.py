"""Render a document as text of at most 80 columns.

Nothing is truncated. Sentences are wrapped. If a table is too wide, its column titles are wrapped,
then names longer than the first column move to a line above their numbers, then its columns are
divided between several tables. Reasons for undefined numbers follow the table. The width does not
depend on the terminal, so that the same result gives the same text everywhere.
"""

from __future__ import annotations

import re
from itertools import zip_longest

from ..core.data.messages import one_line
from .document import Document, Paragraph, Section, Table

WIDTH = 80

INDENT = 2  # of section content and of continuation lines

GAP = 2  # between columns

FIRST = 12  # preferred width of the first column

WIDEST = 30  # column of numbers

Column = list[str]  # a title, and a text per row

_NUMBER = re.compile(r"(-|[<>]?-?\d[\d,]*(?:\.\d+)?%?)( .*)?")

# units that are kept on one line, with the blanks that follow: words, 95 %, [0.1, 0.2], P(|.|
_WORD = re.compile(r"(?:\[-?[\d.]+, -?[\d.]+\]|\d[\d.]* %|[^ |]|\|(?!<))+\|? *|\| *| +")


def render(document: Document) -> str:
    """Return a document as text without a final newline."""
    parts = [_wrap(one_line(document.title))] if document.title else []
    parts += [_section(section) for section in document.sections]
    return "\n\n".join("\n".join(lines) for lines in parts)


def _section(section: Section) -> list[str]:
    indent = INDENT if section.title else 0
    marks = [len(b.mark) for b in section.blocks if isinstance(b, Paragraph)]
    lines: list[str] = []
    for block in section.blocks:
        if isinstance(block, Table):
            lines += _table(block, WIDTH - indent)
        else:
            lines += _paragraph(block, WIDTH - indent, max(marks))
    head = _wrap(one_line(section.title)) if section.title else []
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
    for wrapped, least in ((False, longest), (True, longest), (True, 1)):
        sizes = []
        for title, *cells in numbers:
            words = [w.rstrip(" ") for w in _WORD.findall(title)] if wrapped else [title]
            sizes.append(min(max(map(len, [*words, *cells]), default=0), WIDEST))
        first = room - sum(sizes) - GAP * len(sizes)
        if first >= least:
            first = min(first, max(longest, FIRST))
            rows = zip(names, *numbers, strict=True)
            return [line for row in rows for line in _row(*row, sizes=[first, *sizes], room=room)]
    half = (len(numbers) + 1) // 2
    parts = numbers[:half], numbers[half:]
    return [line for part in parts for line in _arranged(names, part, room)]


def _row(name: str, *numbers: str, sizes: list[int], room: int) -> list[str]:
    """Lines of a row; a name without room moves above its numbers."""
    cells = [
        [text] if len(text) <= size else _wrap(text.strip(" "), size, 0)
        for text, size in zip(numbers, sizes[1:], strict=True)
    ]
    lines = []
    for texts in zip_longest([""], *cells, fillvalue=""):
        line = [text.rjust(size) for text, size in zip(texts, sizes, strict=True)]
        lines.append((" " * GAP).join(line))
    blank = len(lines[0]) - len(lines[0].lstrip(" "))
    above = [] if len(name) + GAP <= blank else _wrap(name, room)
    if not above:
        lines[0] = name + lines[0][len(name) :]
    return [*above, *(line.rstrip(" ") for line in lines)]


def _wrap(text: str, columns: int = WIDTH, hang: int = INDENT) -> list[str]:
    """Lines of a text, all but the first indented; words are broken only if too long."""
    lines, line = [], ""
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
