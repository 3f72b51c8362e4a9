"""Counts: what reading dropped, named or found unusual, as numbers that add.

The rows of a data set do not travel on, and neither do their numbers: a table of many files says
how many rows were dropped, not which. Notes on groups follow from the groups and are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from .wording import Note, list_values

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
