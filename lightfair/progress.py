"""Progress: a line on a terminal, for work that takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from typing import IO

from .colors import understands

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
