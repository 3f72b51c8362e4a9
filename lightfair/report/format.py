"""How values are formatted in every report: estimates, probabilities, rows and targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core.data.messages import estimate, number, probability
from ..core.values import plain
from .document import Cell, Table

Columns = dict[str, Callable[[Any], Cell]]  # cells of an entry, by column title

TARGET_WORDS = {
    "expected": "the expected metric of these rows, given the calibration curves",
    "sample": "the metric these rows would show if all were labeled",
    "population": "the metric of the population these rows are sampled from",
}

STATUS = {"pass": "Pass", "fail": "Fail", "insufficient": "Insufficient evidence"}


def target_line(target: str) -> str:
    """Return which quantity is estimated."""
    return f"target {target}: {TARGET_WORDS[target]}"


def first_names(names: Sequence[str], most: int) -> str:
    """Return at most so many names, and the number of the others."""
    more = f"; {len(names) - most:,} more" if len(names) > most else ""
    return "; ".join(names[:most]) + more


def value_cell(entry: dict[str, Any]) -> Cell:
    """Return the cell of a result given as plain values with `interval`, and `reason` if undefined.

    The point estimate is `mean`, or `median` where there is one; bounds have none. In a defined
    result, null stands for infinity.
    """
    if entry["interval"] is None:
        return Cell("-", entry["reason"])
    middle = entry.get("median", entry.get("mean"))
    low, high = entry["interval"]
    if not entry.keys() & {"mean", "median"}:
        exact = f"{number(low)} (exact)" if entry.get("exact") else None
        return Cell(exact or f"[{number(low)}, {number(high)}]")
    return Cell(estimate(middle, low, high, bool(entry.get("exact"))))


def truth_cell(entry: dict[str, Any]) -> Cell:
    """Return the cell of what all labels say, "" in results that have no such value."""
    text = number(entry["truth"]) if "truth" in entry else ""
    return Cell(text, entry.get("truth_reason"))


def chance(key: str) -> Callable[[Any], Cell]:
    """Return the column of a probability about a quantity, which entries have below `key`."""

    def cell(entry: dict[str, Any]) -> Cell:
        why = entry.get("reason") if plain(entry[key]) is None else None
        return Cell(probability(entry[key], exact=bool(entry.get("exact"))), why)

    return cell


def probability_columns(epsilon: float) -> Columns:
    """Return the columns of the probabilities that a difference is positive, and small."""
    return {"P(>0)": chance("prob_positive"), f"P(|diff| < {epsilon:g})": chance("prob_within")}


def table_of(title: str, columns: Columns, entries: Mapping[str, Any]) -> Table:
    """Return a table with a row per entry, by name, and a column per function of the entry."""
    rows = [(Cell(name), *(f(entry) for f in columns.values())) for name, entry in entries.items()]
    return Table((title, *columns), tuple(rows))
