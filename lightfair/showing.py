"""Showing: how numbers, probabilities, counts and names are written in every report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .bands import collapsed
from .blocks import Cell
from .values import plain, summary

if TYPE_CHECKING:
    from .compare import Estimate
    from .table import ScoreTable

TARGET_WORDS = {
    "expected": "the expected metric of these rows, given the calibration curves",
    "sample": "the metric these rows would show if all were labeled",
    "population": "the metric of the population these rows are a sample of",
}
STATUS = {"pass": "Pass", "fail": "Fail", "insufficient": "Insufficient evidence"}


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


def rows_line(table: ScoreTable) -> str:
    """Say what rows a table is of."""
    threshold, cuts = table.threshold, table.cuts
    table = collapsed(table)
    if cuts:
        decided = "thresholds " + ", ".join(f"{cut:g}" for cut in cuts)
    elif threshold is None:
        decided = "decisions given"
    elif isinstance(threshold, dict):
        decided = "thresholds " + ", ".join(f"{k} {v:g}" for k, v in threshold.items())
    else:
        decided = f"threshold {threshold:g}"
    return one_line(
        f"{counted(table.rows, 'row')}, {table.labeled:,} labeled, "
        f"{table.rows - table.labeled:,} unlabeled{', weighted' if table.weighted else ''}; "
        f"{counted(len(table.groups), 'group')} by {' and '.join(table.attributes)}; {decided}"
    )


def target_line(target: str) -> str:
    """Say what is estimated."""
    return f"target {target}: {TARGET_WORDS[target]}"


def cell_of(entry: dict[str, Any]) -> Cell:
    """Show a mean with its interval, a fact, or a dash and why, from plain values."""
    if entry["interval"] is None:
        return Cell("-", entry["reason"])
    low, high = entry["interval"]
    if entry.get("exact"):
        return Cell(f"{number(entry['mean'])} (exact)")
    return Cell(f"{number(entry['mean'])} {interval(low, high)}")


def cell(estimate: Estimate, prob: float) -> Cell:
    """Show an estimate: its mean with its interval, a fact, or a dash and why."""
    return cell_of(summary(estimate, prob))


def chance(value: float | None, of: dict[str, Any]) -> Cell:
    """Show the probability of what plain values `of` are about, or a dash and why."""
    why = of.get("reason") if plain(value) is None else None
    return Cell(probability(value, exact=bool(of.get("exact"))), why)


def small(epsilon: float) -> str:
    """Title of the probability that a difference is small."""
    return f"P(|.|<{epsilon:g})"
