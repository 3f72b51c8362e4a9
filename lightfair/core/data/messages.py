"""Wording: how errors and notes name values, rows and groups.

Counts: what reading dropped, named or found unusual, as numbers that add.

The rows of a data set do not travel on, and neither do their numbers: a table of many files says
how many rows were dropped, not which. Notes on groups follow from the groups and are not counted.

Hints: which known name was likely meant by one that is not known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Note(NamedTuple):
    """What was dropped or is unusual: a stable code for programs, a sentence for people."""

    code: str
    message: str


def level_name(value: Any) -> str:
    """Return the name of a level, or of a crossed group given as a tuple of levels."""
    if isinstance(value, tuple):
        return ", ".join(level_name(part) for part in value)
    if isinstance(value, np.datetime64):  # an int for nanoseconds, a date or datetime otherwise
        item = value.item()
        return str(value.astype("datetime64[us]").item() if isinstance(item, int) else item)
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def lies_in(value: Any, low: float, high: float) -> bool:
    """Whether a value is a real number strictly between two bounds."""
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return bool(real and low < value < high)


def show(value: Any) -> str:
    text = repr(str(value)) if isinstance(value, str) else level_name(value)
    return text if len(text) <= 60 else text[:57] + "..."


def visible(name: str) -> str:
    """The name of a column or file: quoted where it could not be seen."""
    return name if name.isprintable() and name.strip() == name != "" else show(name)


def list_values(values: Iterable[Any]) -> str:
    shown = [show(value) for value in values]
    shown = shown if isinstance(values, tuple) else sorted(shown)
    return ", ".join(shown[:5]) + (", ..." if len(shown) > 5 else "")


def row_list(rows: NDArray[np.int64]) -> str:
    listed = ", ".join(str(row) for row in rows[:5]) + (", ..." if rows.size > 5 else "")
    return f"row{'s' if rows.size > 1 else ''} {listed}"


def missing_rows(mask: NDArray[np.bool_], first: int = 0) -> str:
    count = int(np.count_nonzero(mask))
    rows = row_list(first + np.flatnonzero(mask))
    return f"{count} missing {'value' if count == 1 else 'values'} ({rows})"


APART = "; if they are not, give them names of their own"

MISSING_LEVEL = "missing"  # the level that missing="group" makes


@dataclass(frozen=True)
class Counts:
    """What happened to rows on their way in.

    Attributes
    ----------
    dropped : int
        Rows left out because a sensitive attribute is missing.
    missing_as_group : int
        Rows put in the level "missing" of an attribute.
    ties : int
        Rows with a score equal to the threshold, counted as positive.
    merged_levels : tuple of (str, tuple of str)
        Attributes, and the levels that are values of different types with one name.
    """

    dropped: int = 0
    missing_as_group: int = 0
    ties: int = 0
    merged_levels: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __add__(self, other: Counts) -> Counts:
        merged: dict[str, set[str]] = {}
        for attribute, levels in (*self.merged_levels, *other.merged_levels):
            merged.setdefault(attribute, set()).update(levels)
        return Counts(
            self.dropped + other.dropped,
            self.missing_as_group + other.missing_as_group,
            self.ties + other.ties,
            tuple((name, tuple(sorted(levels))) for name, levels in sorted(merged.items())),
        )


def row_notes(counts: Counts, rows: str = "") -> list[Note]:
    """Say what happened to rows; `rows` lists some of those where an attribute is missing."""
    notes = []
    for attribute, levels in counts.merged_levels:
        message = f"{attribute}: values of different types share a name and are one level: "
        notes.append(Note("merged_levels", f"{message}{list_values(set(levels))}{APART}"))
    listed = f" ({rows})" if rows else ""
    if counts.dropped:
        message = f"rows dropped, sensitive_features is missing: {counts.dropped}{listed}"
        notes.append(Note("dropped_rows", message))
    if counts.missing_as_group:
        message = f'rows put in the level "{MISSING_LEVEL}" of sensitive_features: '
        notes.append(Note("missing_as_group", f"{message}{counts.missing_as_group}{listed}"))
    return notes


def design_notes(given: bool) -> list[Note]:
    """Say what the probabilities of being labeled are used for, where they are given."""
    if not given:
        return []
    message = (
        "labels-only weights each label by 1 / label_prob; prediction-powered is left out where it "
        "differs within a group; the posterior does not need it if rows were chosen by their score "
        "and group alone"
    )
    return [Note("label_prob", message)]


def tie_notes(counts: Counts) -> list[Note]:
    """Say how many rows are on the threshold."""
    if not counts.ties:
        return []
    message = f"rows with a score equal to the threshold, counted as positive: {counts.ties}"
    message += "; a threshold just above makes them negative"
    return [Note("ties_with_threshold", message)]


LIKE = 0.6  # similarity from which a name is likely the one that was meant, of 1


def hint(given: str, known: Iterable[str], also: Mapping[str, str] | None = None) -> str:
    """Return " (did you mean 'label'?)", or nothing where no known name is like the given one.

    Case does not count, nor whether words are joined by hyphens, underscores or blanks. `also` are
    other words for known names.

    Examples
    --------
    >>> "no column lable" + hint("lable", ["id", "label", "score"])
    "no column lable (did you mean 'label'?)"
    >>> hint("income", ["id", "label", "score"])
    ''
    """
    from difflib import get_close_matches

    names: dict[str, str] = {}
    for word, name in [*((name, name) for name in known), *(also or {}).items()]:
        names.setdefault(_plain(word), name)
    close = get_close_matches(_plain(given), names, 1, LIKE)
    return f" (did you mean {names[close[0]]!r}?)" if close else ""


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_").strip("_")


def one_line(text: str) -> str:
    """Write characters that are no print, as names from data may hold, as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def number(value: float | None, digits: int = 3) -> str:
    """Show a number, or a dash for an undefined one; never -0.000."""
    if value is None or not math.isfinite(value):
        return "-"
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("-") and not any(c in "123456789" for c in text) else text


def probability(value: float | None, *, exact: bool = False) -> str:
    """Show a probability; one from draws never as 0 or 1, which draws cannot show."""
    if value is None or not math.isfinite(value):
        return "-"
    if exact:
        return f"{value:.0f}"
    if value < 0.001:
        return "<0.001"
    return ">0.999" if value > 0.999 else f"{value:.3f}"


def interval(low: float | None, high: float | None) -> str:
    """Show an interval."""
    return f"[{number(low)}, {number(high)}]"


def counted(n: int, noun: str) -> str:
    """Show a count with its noun: 1 row, 2,056 rows."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
