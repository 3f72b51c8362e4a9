"""Progress: a line on a terminal, for work that takes longer than two seconds.

Colours: titles, verdicts and warnings stand out on a terminal, and the layout stays the same.

They are for terminals alone, unless `--color always` asks for them: not where output goes to a file
or a pipe, where TERM is dumb, or where NO_COLOR is set and not empty (https://no-color.org). What a
colour says is said in words, too.
"""

from __future__ import annotations

import os
import sys
import time
from typing import IO

PROGRESS_AFTER = 2.0  # seconds


def progress_line() -> Progress | None:
    """The line, where standard error is a terminal that can rewrite it; else None."""
    return Progress(sys.stderr) if understands(sys.stderr) else None


class Progress:
    """A line on a terminal, rewritten in place, for work that takes longer than two seconds."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self.begun = time.monotonic()
        self.shown = False

    def __call__(self, stage: str, done: int, total: int) -> None:
        if time.monotonic() - self.begun > PROGRESS_AFTER:
            self.stream.write(f"\r\x1b[K{stage}: {done:,} of {total:,}")
            self.shown = True
        if stage == "draws" and done == total:
            self.clear()
        self.stream.flush()

    def read(self, rows: int) -> None:
        """Show how many rows have been read; how many there are is not known."""
        if time.monotonic() - self.begun > PROGRESS_AFTER:
            self.stream.write(f"\r\x1b[Krows read: {rows:,}")
            self.shown = True
            self.stream.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self.shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()


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
