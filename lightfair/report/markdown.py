"""Markdown: a document for a model card, with tables as GitHub and other programs read them.

Names from data are escaped: they are shown as they are and do nothing, be they markup, HTML or
links. Why a number is undefined is said below its table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from ..core.data.messages import one_line
from .document import Cell, Document, Paragraph, Section, Table
from .format import STATUS

ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}

_ENTITY = re.compile("[&<>]")

# an interval in brackets is no link, and is left as it is
_MARKUP = re.compile(r"\[-?[\d.]+, -?[\d.]+\](?![(\[:])|[\\`*\[\]|~$#]")

_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")  # between letters it is no markup

_LINK = re.compile(r"(?<=:)//|(?<=\bwww)\.", re.IGNORECASE)

_FIRST = re.compile(r"([-+=]|\d+(?=[.)]))")  # at the beginning of a line: lists, rules

_BLANKS = re.compile(r"^ +| {2,}| +$")  # are lost where a text is shown


def render(document: Document) -> str:
    """Return a document as Markdown, with a newline at its end."""
    parts = [f"# {_text(document.title)}"]
    for section in document.sections:
        if section.title:
            parts.append(f"## {_text(section.title)}")
        parts += _blocks(section)
    return "\n\n".join(parts) + "\n"


def _blocks(section: Section) -> Iterator[str]:
    """Tables, code and sentences; several sentences of a kind are a list."""
    for kind, found in groupby(section.blocks, _kind):
        blocks = list(found)
        if kind in ("table", "code"):
            yield from (_table(b) if isinstance(b, Table) else _code(b) for b in blocks)
            continue
        said = [_sentence(block) for block in blocks if isinstance(block, Paragraph)]
        yield said[0] if len(said) == 1 else "\n".join(f"- {one}" for one in said)


def _kind(block: Paragraph | Table) -> str:
    return "table" if isinstance(block, Table) else block.role


def _sentence(block: Paragraph) -> str:
    text = _first(_text(block.text))
    if block.role == "verdict":
        return f"**{_text(STATUS.get(block.mark, block.mark))}**: {text}"
    return f"**Warning** ({_text(block.mark)}): {text}" if block.role == "warning" else text


def _code(block: Paragraph) -> str:
    """Lines of code, fenced by more backticks than are in them."""
    lines = [one_line(line) for line in block.text.split("\n")]
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence + block.mark, *lines, fence])


def _table(table: Table) -> str:
    reasons: dict[str, str] = {}
    rows = [[_cell(cell, reasons) for cell in row] for row in table.rows]
    rule = [":---", *["---:"] * (len(table.head) - 1)]
    lines = [_row([_text(title) for title in table.head]), _row(rule), *map(_row, rows)]
    if not reasons:
        return "\n".join(lines)
    notes = "; ".join(f"{mark} {_text(reason)}" for reason, mark in reasons.items())
    return "\n".join([*lines, "", notes])


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell, reasons: dict[str, str]) -> str:
    text = _text(cell.text)
    if cell.why is None:
        return text
    mark = reasons.setdefault(cell.why, rf"\[{len(reasons) + 1}\]")
    return f"{text} {mark}"


def _text(text: str) -> str:
    """Escape a text that is not at the beginning of a line."""
    text = _MARKUP.sub(lambda m: m[0] if m[0][1:] else f"\\{m[0]}", one_line(text))
    text = _ENTITY.sub(lambda found: ENTITIES[found[0]], text)
    text = _UNDERSCORE.sub(r"\\_", text)
    text = _LINK.sub(lambda found: "".join(f"\\{c}" for c in found[0]), text)
    return _BLANKS.sub(lambda found: "&nbsp;" * len(found[0]), text)


def _first(text: str) -> str:
    """Escape what would begin a list or a rule at the beginning of a line."""
    found = _FIRST.match(text)
    if found is None:
        return text
    at = found.end() if found[0].isdigit() else 0
    return f"{text[:at]}\\{text[at:]}"
