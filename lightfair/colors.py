"""Colours: titles, verdicts and warnings stand out on a terminal, and the layout stays the same.

They are for terminals alone, unless `--color always` asks for them: not where output goes to a file
or a pipe, where TERM is dumb, or where NO_COLOR is set and not empty (https://no-color.org). What a
colour says is said in words, too.
"""

from __future__ import annotations

import os
from typing import IO

CHOICES = ("auto", "always", "never")
OFF = "\x1b[0m"
STYLE = {  # by role and mark of a piece of text, as `text.render` asks for it
    ("title", ""): ("\x1b[1m", OFF),
    ("verdict", "pass"): ("\x1b[1;32m", OFF),
    ("verdict", "fail"): ("\x1b[1;31m", OFF),
    ("verdict", ""): ("\x1b[1;33m", OFF),
    ("warning", ""): ("\x1b[33m", OFF),
}


def in_color(choice: str, stream: IO[str]) -> bool:
    """Whether what is written to a stream is to be coloured; choice is one of `CHOICES`."""
    if choice != "auto":
        return choice == "always"
    return not os.environ.get("NO_COLOR") and understands(stream)


def understands(stream: IO[str] | None) -> bool:
    """Whether a stream is a terminal that takes escape codes."""
    if stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        return False
    return os.name != "nt" or bool(os.environ.get("WT_SESSION") or os.environ.get("TERM"))
