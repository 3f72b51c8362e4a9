"""Text: a document in at most 80 columns, whatever names, numbers and reasons are in it.

Nothing is cut. Sentences are wrapped. Of a table whose columns do not fit the titles are wrapped;
then names that are too long for the first column stand on a line of their own, above their
numbers; then it is split into tables that stand one below the other, with the names repeated. Why
a number is undefined is said below the table. The width does not depend on the terminal, so that
the same result is the same text everywhere. Wide characters, as of Chinese, count as two columns,
marks that are drawn over another character as none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..core.data.messages import one_line
from .document import Cell, Document, Paragraph, Section, Table

WIDTH = 80

INDENT = 2  # of what a section holds, and of lines that go on

GAP = 2  # between two columns

FIRST = 12  # least width of the first column, where there is room

ROOM = 8, 1  # least width of the first column before titles are wrapped, and before a split

WIDEST = 30  # of a column of numbers

Style = Mapping[tuple[str, str], tuple[str, str]]

_NUMBER = re.compile(r"(-|[<>]?-?\d[\d,]*(?:\.\d+)?%?)( .*)?")

# words that are wrapped as one: 95 %, [0.1, 0.2]
_WORD = re.compile(r"(?:\[-?[\d.]+, -?[\d.]+\]|\d[\d.]* %|[^ ])+ *| +")

_TITLE = re.compile(r"<?[^ <]* *")  # of a title: P(|.| and <0.05)


def render(document: Document, style: Style | None = None) -> str:
    """Return a document as text without a newline at its end.

    Parameters
    ----------
    document
    style
        What to put around pieces of the text, such as escape codes of colours: from role and mark
        to what comes before and after. It is asked for (role, mark) and then for (role, ""). The
        pieces are titles ("title", ""), the mark of a verdict ("verdict", its status) and that of a
        warning ("warning", its code), and each line of a finding ("finding", ""). Lines are wrapped
        without it, so that it changes no line but by what it adds.
    """
    parts = []
    if document.title:
        parts.append(_titled(document.title, style))
    parts += [_section(section, style) for section in document.sections]
    return "\n\n".join("\n".join(lines) for lines in parts)


def width(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def wrap(text: str, columns: int = WIDTH, hang: int = INDENT) -> list[str]:
    """Return the lines of a text, each at most so many columns wide, all but the first indented.

    It is broken between words, and within a word only where that is wider than a line.
    """
    return _filled(_WORD.findall(one_line(text)), columns, hang)


def _section(section: Section, style: Style | None) -> list[str]:
    indent = INDENT if section.title else 0
    room = WIDTH - indent
    lines = []
    for block in section.blocks:
        if isinstance(block, Table):
            lines += [" " * indent + line if line else line for line in _table(block, room)]
        else:
            lines += _paragraph(block, section, indent, style)
    return [*(_titled(section.title, style) if section.title else ()), *lines]


def _titled(title: str, style: Style | None) -> list[str]:
    return [_styled(line, "title", "", style) for line in wrap(title)]


def _paragraph(block: Paragraph, section: Section, indent: int, style: Style | None) -> list[str]:
    pad = " " * indent
    if block.role == "code":
        lines = [line for one in block.text.split("\n") for line in wrap(one, WIDTH - indent)]
        return [(pad + line).rstrip(" ") for line in lines]
    mark, hang = "", INDENT
    if block.role == "verdict":  # statuses stand in a column
        marks = [b.mark for b in section.blocks if isinstance(b, Paragraph) and b.role == "verdict"]
        mark = block.mark
        hang = max(map(len, marks)) + GAP
    elif block.role == "warning":
        mark = block.mark
    between = ": " if block.role == "warning" else " " * (hang - len(mark))
    if not mark:
        lines = wrap(block.text, WIDTH - indent, hang)
    else:
        words = [mark + between, *_WORD.findall(one_line(block.text))]
        lines = _filled(words, WIDTH - indent, hang)
    if block.role == "finding":
        return [pad + _styled(line, "finding", "", style) for line in lines]
    if mark and style is not None:
        lines[0] = _styled(mark, block.role, block.mark, style) + lines[0][len(mark) :]
    return [pad + line for line in lines]


def _styled(text: str, role: str, mark: str, style: Style | None) -> str:
    if style is None:
        return text
    before, after = style.get((role, mark), style.get((role, ""), ("", "")))
    return f"{before}{text}{after}"


class _Column(NamedTuple):
    """A column of numbers: its title, and for each row lines of one width."""

    title: str
    cells: list[list[str]]
    loose: int  # width with the title in one line
    tight: int  # width with the title wrapped


def _table(table: Table, room: int) -> list[str]:
    """A table, and below it why cells hold a dash."""
    reasons: dict[str, str] = {}
    rows = [[_marked(cell, reasons) for cell in row] for row in table.rows]
    names = [row[0] for row in rows]
    if all(_NUMBER.fullmatch(name) for name in names):
        names = _aligned(names)
    columns = [
        _column(one_line(title), [row[i] for row in rows])
        for i, title in enumerate(table.head)
        if i > 0
    ]
    lines = _laid_out(one_line(table.head[0]), names, columns, room)
    for reason, mark in reasons.items():
        lines += wrap(f"{mark} {reason}", room, len(mark) + 1)
    return lines


def _marked(cell: Cell, reasons: dict[str, str]) -> str:
    """The text of a cell, with the number of the reason that it has."""
    text = one_line(cell.text)
    if cell.why is None:
        return text
    return f"{text} {reasons.setdefault(cell.why, f'[{len(reasons) + 1}]')}".lstrip()


def _column(title: str, texts: list[str]) -> _Column:
    cells = [
        [text] if width(text) <= WIDEST else _filled(_WORD.findall(text.strip()), WIDEST, 0)
        for text in _aligned(texts)
    ]
    body = max((width(line) for lines in cells for line in lines), default=0)
    cells = [
        [_right(lines[0], body)] if len(lines) == 1 else [_left(line, body) for line in lines]
        for lines in cells
    ]
    words = [min(width(word.rstrip()), WIDEST) for word in _TITLE.findall(title)]
    loose, tight = max(body, min(width(title), WIDEST)), max(body, *words)
    return _Column(title, cells, loose, tight)


def _aligned(texts: list[str]) -> list[str]:
    """Numbers with their points, and what follows them, one below the other."""
    found = [_NUMBER.fullmatch(text) for text in texts]
    first = max((width(match[1]) for match in found if match), default=0)
    rest = max((width(match[2] or "") for match in found if match), default=0)
    return [
        _right(match[1], first) + _left(match[2] or "", rest) if match else text
        for text, match in zip(texts, found, strict=True)
    ]


def _laid_out(head: str, names: list[str], columns: list[_Column], room: int) -> list[str]:
    """Lines of a table, in the first of the ways that the module names that fits."""
    longest = max(map(width, names), default=0)
    loose = room - sum(GAP + column.loose for column in columns)
    tight = room - sum(GAP + column.tight for column in columns)
    if loose >= longest:
        return _drawn(head, names, columns, max(longest, min(FIRST, loose)), _loose)
    if tight >= longest:
        return _drawn(head, names, columns, longest, _tight)
    if loose >= ROOM[0]:
        return _drawn(head, names, columns, loose, _loose)
    if tight >= ROOM[1] or len(columns) == 1:
        return _drawn(head, names, columns, max(tight, 0), _tight)
    parts: list[list[_Column]] = []
    for column in columns:
        taken = sum(GAP + one.tight for one in parts[-1]) if parts else room
        if min(longest, FIRST) + taken + GAP + column.tight > room:
            parts.append([])
        parts[-1].append(column)
    return [line for part in parts for line in _laid_out(head, names, part, room)]


def _loose(column: _Column) -> int:
    return column.loose


def _tight(column: _Column) -> int:
    return column.tight


def _drawn(
    head: str,
    names: list[str],
    columns: Sequence[_Column],
    first: int,
    size: Callable[[_Column], int],
) -> list[str]:
    """Lines of a table whose first column has a width."""
    room = first + sum(GAP + size(column) for column in columns)
    titles = [_filled(_TITLE.findall(c.title), size(c), 0) for c in columns]
    tall = max(map(len, titles), default=1)
    lines = _beside(first, [[""] * (tall - len(t)) + t for t in titles], columns, size)
    for at in (-1, 0):  # titles stand to the right of their columns and may leave room
        rest = lines[at].lstrip(" ")
        if not rest or width(lines[at]) - width(rest) >= width(head) + GAP:
            lines[at] = (_left(head, width(lines[at]) - width(rest)) + rest).rstrip(" ")
            break
    else:
        lines = [*_filled(_WORD.findall(head), room, INDENT), *lines]
    for i, name in enumerate(names):
        mine = _beside(first, [column.cells[i] for column in columns], columns, size)
        if width(name) > first:
            lines += _filled(_WORD.findall(name), room, INDENT)
        else:
            mine[0] = (_left(name, first) + mine[0][first:]).rstrip(" ")
        lines += mine
    return lines


def _beside(
    first: int,
    cells: list[list[str]],
    columns: Sequence[_Column],
    size: Callable[[_Column], int],
) -> list[str]:
    """Lines of a row of cells, to the right of a first column that is empty."""
    return [
        (
            " " * first
            + "".join(
                " " * GAP + _right(cell[j] if j < len(cell) else "", size(column))
                for cell, column in zip(cells, columns, strict=True)
            )
        ).rstrip(" ")
        for j in range(max(map(len, cells), default=1))
    ]


def _filled(words: list[str], columns: int, hang: int) -> list[str]:
    """Fill lines with words, which end in the blanks that follow them."""
    lines, line, blank = [], "", True
    for word in words:
        bare = word.rstrip(" ")
        if not blank and width(line) + width(bare) > columns:
            lines.append(line.rstrip(" "))
            line, blank = " " * hang, True
        while width(line) + width(bare) > columns:
            fits = _fitting(word, columns - width(line))
            lines.append(line + word[:fits])
            line, word = " " * hang, word[fits:]
            bare = word.rstrip(" ")
        line += word
        blank = blank and not bare
    return [*lines, line.rstrip(" ")] if line.strip(" ") or not lines else lines


def _fitting(word: str, columns: int) -> int:
    """How many characters of a word fit, at least one."""
    taken = 0
    for i, character in enumerate(word):
        taken += _columns(character)
        if taken > columns and i > 0:
            return i
    return len(word)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _left(text: str, columns: int) -> str:
    return text + " " * (columns - width(text))


def _right(text: str, columns: int) -> str:
    return " " * (columns - width(text)) + text
