"""Showing: how numbers, probabilities, counts and names are written in every report."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any

from ..core.data.messages import counted, interval, number, one_line, probability
from ..core.values import plain, summary
from .document import Cell

if TYPE_CHECKING:
    from ..core.data.table import ScoreTable
    from ..core.metrics.estimate import Estimate

TARGET_WORDS = {
    "expected": "the expected metric of these rows, given the calibration curves",
    "sample": "the metric these rows would show if all were labeled",
    "population": "the metric of the population these rows are a sample of",
}

STATUS = {"pass": "Pass", "fail": "Fail", "insufficient": "Insufficient evidence"}


def rows_line(table: ScoreTable) -> str:
    """Say what rows a table is of."""
    threshold, cuts = table.threshold, table.cuts
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


RTL = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"

RIGHT_TO_LEFT = re.compile(f"[{RTL}]+(?:[ -][{RTL}]+)*")  # words in Hebrew, Arabic and the like


def escaped(text: str) -> str:
    """Escape a text for an element, or for an attribute in quotes.

    Words that are written from right to left are isolated, so that a number or a name that follows
    on them stays behind them.
    """
    return escape(RIGHT_TO_LEFT.sub("\u2068\\g<0>\u2069", text), quote=True)
