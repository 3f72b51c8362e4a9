"""Wording: how errors and notes name values, rows and groups."""

from __future__ import annotations

from collections.abc import Iterable
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
