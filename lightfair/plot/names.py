"""Names from data as text in a plot: wrapped, shortened where they must be, drawn as they are."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from ..showing import one_line

WIDTH = 24  # characters of a line
LINES = 2
TITLE = 22  # characters of a name in a title
ELLIPSIS = " … "
TAILS = (0.5, 0.8, 0.2)  # of what is kept, the end: the halves, unless names differ elsewhere


def drawable(text: str) -> str:
    """Return text with what cannot be drawn as escapes.

    That is characters that are no print, and those that none of the fonts of rcParams
    `font.family` has: matplotlib would warn, and draw a box.
    """
    text = one_line(text)
    if text.isascii():
        return text
    fonts = _fonts()
    return "".join(
        c if c.isascii() or any(font.get_char_index(ord(c)) for font in fonts) else _escape(c)
        for c in text
    )


def fitted(names: Sequence[str], width: int = WIDTH, lines: int = LINES) -> list[str]:
    """Return names to be drawn, broken into lines of at most `width` characters.

    Where a name needs more than `lines` of them, some of its middle is left out, marked by an
    ellipsis. Names that are then the same are cut elsewhere, and kept whole where that does not
    tell them apart.

    Examples
    --------
    >>> fitted(["White, Male"], width=8)
    ['White,\\nMale']
    """
    whole = [drawable(name) for name in names]
    found = [""] * len(names)
    for tail in TAILS:
        open_ = [at for at, text in enumerate(found) if not text]
        short = {at: _within(whole[at], width, lines, tail) for at in open_}
        taken = [*short.values(), *filter(None, found)]
        for at, text in short.items():
            if taken.count(text) == 1:
                found[at] = text
    return [text or wrapped(name, width) for text, name in zip(found, whole, strict=True)]


def brief(name: str, length: int = 48) -> str:
    """Return a name to be drawn in one line, its middle left out where it is longer than that."""
    return _shortened(drawable(name), length, TAILS[0])


def wrapped(text: str, width: int) -> str:
    """Break text into lines, inside words where they are longer than a line."""
    return "\n".join(textwrap.wrap(text, width, break_on_hyphens=True)) or text


def _within(name: str, width: int, lines: int, tail: float) -> str:
    """A name in lines, as much of it as they hold."""
    for length in range(width * lines, 0, -1):
        text = wrapped(_shortened(name, length, tail), width)
        if text.count("\n") < lines:
            break
    return text


def _shortened(name: str, length: int, tail: float) -> str:
    """A name of at most that length, cut between words where one ends or begins near by."""
    if len(name) <= length:
        return name
    end = max(int(tail * (length - len(ELLIPSIS))), 1)
    start = max(length - len(ELLIPSIS) - end, 1)
    head, rest = name[:start], name[-end:]
    if not name[start].isspace() and 2 * head.rfind(" ") > start:
        head = head[: head.rfind(" ")]
    if not name[-end - 1].isspace() and -1 < 2 * rest.find(" ") < end:
        rest = rest[rest.find(" ") :]
    return f"{head.rstrip()}{ELLIPSIS}{rest.lstrip()}"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _fonts() -> list[Any]:
    """The fonts that matplotlib draws text with, in the order in which it looks for a glyph."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    found = []
    for family in FontProperties().get_family():
        try:
            path = findfont(FontProperties(family=[family]), fallback_to_default=False)
        except ValueError:
            continue
        found.append(get_font(path))
    return found
