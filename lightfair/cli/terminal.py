"""What a terminal shows: a line of progress, and messages on standard error.

The line of progress appears after two seconds of work.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import IO

CLEAR = "\r\x1b[K"  # erases the line of progress
PROGRESS_AFTER = 2.0  # seconds


def is_terminal(stream: IO[str] | None) -> bool:
    """Return whether a stream is a terminal that takes escape codes."""
    if stream is None or (os.name == "nt" and "WT_SESSION" not in os.environ):
        return False
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def progress_line() -> Callable[..., None] | None:
    """Return progress(stage, done, total=None); None if standard error is not a terminal."""
    if not is_terminal(sys.stderr):
        return None
    start = time.monotonic()

    def progress(stage: str, done: int, total: int | None = None) -> None:
        if time.monotonic() - start > PROGRESS_AFTER:
            of_total = "" if total is None else f" of {total:,}"
            sys.stderr.write(f"{CLEAR}{stage}: {done:,}{of_total}")
            sys.stderr.flush()

    return progress


def say(line: str = "") -> None:
    """Write a message to standard error in one line, in place of that of progress.

    Unprintable characters, as in names of files, become escapes. "" only erases the progress.
    """
    text = " ".join(line.split())
    if not text.isprintable():
        from ..core.data.messages import one_line

        text = one_line(text)
    try:
        if sys.stderr is not None:
            clear = CLEAR if is_terminal(sys.stderr) else ""
            print(clear + text, end="\n" if text else "", file=sys.stderr, flush=True)
    except OSError:  # nobody reads it; the exit code remains
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
