"""Render a document as GitHub-flavoured Markdown, for a model card.

Names from data are escaped: markup, HTML and links in them are shown literally. Reasons for
undefined numbers follow their table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from itertools import groupby

from ..core.data.messages import one_line
from .document import Document, Paragraph, Section, Table
from .format import STATUS

# an interval in brackets is not a link, and is kept readable
_MARKUP = re.compile(r"\[-?[\d.]+, -?[\d.]+\](?![(\[:])|[\\`*\[\]|~$#]")

_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")  # between letters it is not markup

_LINK = re.compile(r"(?<=:)//|(?<=\bwww)\.", re.IGNORECASE)

_FIRST = re.compile(r"^(\d+(?=[.)])|(?=[-+=]))")  # at the start of a line: lists and rules


def render(document: Document) -> str:
    """Return a document as Markdown that ends with a newline."""
    parts = [f"# {_text(document.title)}"]
    for section in document.sections:
        parts += [f"## {_text(section.title)}"] if section.title else []
        parts += _blocks(section)
    return "\n\n".join(parts) + "\n"


def _blocks(section: Section) -> Iterator[str]:
    """Tables, code and sentences; consecutive sentences of one role form a list."""
    for role, blocks in groupby(section.blocks, lambda block: getattr(block, "role", None)):
        texts = [_table(b) if isinstance(b, Table) else _paragraph(b) for b in blocks]
        if role in (None, "code") or len(texts) == 1:
            yield from texts
        else:
            yield "\n".join(f"- {text}" for text in texts)


def _paragraph(block: Paragraph) -> str:
    if block.role == "code":
        fence = "`" * (1 + max(map(len, ["``", *re.findall("`+", block.text)])))
        return f"{fence}{block.mark}\n{one_line(block.text)}\n{fence}"
    text = _FIRST.sub(r"\1\\", _text(block.text))
    if block.role == "verdict":
        return f"**{_text(STATUS.get(block.mark, block.mark))}**: {text}"
    return f"**Warning** ({_text(block.mark)}): {text}" if block.role == "warning" else text


def _table(table: Table) -> str:
    reasons = table.reasons()
    rows = [
        [_text(f"{cell.text} {reasons.get(cell.why or '', '')}".rstrip()) for cell in row]
        for row in table.rows
    ]
    head = [*map(_text, table.head)], [":---", *["---:"] * (len(table.head) - 1)]
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in (*head, *rows))
    notes = "; ".join(f"{_text(mark)} {_text(reason)}" for reason, mark in reasons.items())
    return f"{text}\n\n{notes}" if notes else text


def _text(text: str) -> str:
    """Escape a text that is not at the start of a line."""
    text = _MARKUP.sub(lambda match: match[0] if match[0][1:] else f"\\{match[0]}", one_line(text))
    text = _UNDERSCORE.sub(r"\\_", escape(text, quote=False))
    return _LINK.sub(lambda match: "".join(f"\\{c}" for c in match[0]), text)
