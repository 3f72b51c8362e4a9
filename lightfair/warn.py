"""Warnings: what a reader must know before believing a number.

Each is a Note: a stable code for programs and a sentence for people. Nothing here changes a result.
"""

from __future__ import annotations

import numpy as np

from .compare import UNDEFINED_LIMIT
from .data import ScoreData
from .diagnostics import Gate
from .model import Floats
from .table import UNLABELLED, ScoreTable
from .wording import Note

CLIPPED_LIMIT = 0.05
REVERSED_Z = -3.0


def data_warnings(data: ScoreData, table: ScoreTable) -> list[Note]:
    """Look at the rows: groups without labels, scores at the edge, scores against the labels."""
    notes = []
    rows = table.sums("rows")
    labelled = rows[..., :UNLABELLED].sum(axis=(1, 2))
    if labelled.any():
        for name, count in zip(table.groups, labelled, strict=True):
            if count == 0.0:
                notes.append(
                    Note(
                        "unlabelled_group",
                        f"group {name} has no labels: its numbers rest on the other groups and "
                        "the prior",
                    )
                )
    share = table.clipped / len(data.score)
    if share > CLIPPED_LIMIT:
        notes.append(
            Note(
                "clipped_scores",
                f"{share:.0%} of the scores lie outside [{table.clip:g}, {1.0 - table.clip:g}] and "
                "were clipped: inside each end they all get one calibrated probability",
            )
        )
    z = rank_z(data)
    if z < REVERSED_Z:
        notes.append(
            Note(
                "reversed_scores",
                "higher scores go with fewer positive labels: the curve cannot fall, so nothing "
                "below can be trusted; check positive_label, or whether 1 - score was meant",
            )
        )
    if len(data.groups) == 1:
        notes.append(
            Note("one_group", f"there is only one group, {data.groups[0]}: no differences")
        )
    return notes


def result_warnings(
    theta: dict[str, Floats], groups: tuple[str, ...], verdict: Gate, draws: int
) -> list[Note]:
    """Look at the draws: undefined numbers and chains that have not converged."""
    notes = []
    for name, values in theta.items():
        undefined = np.isnan(values).mean(axis=(0, 1))
        some = [
            f"{group} ({share:.0%})"
            for group, share in zip(groups, undefined, strict=True)
            if 0.0 < share <= UNDEFINED_LIMIT
        ]
        if some:
            notes.append(
                Note(
                    "partly_undefined",
                    f"{name} is undefined in a few draws of {', '.join(some)}: its numbers are of "
                    "the draws in which it is defined",
                )
            )
    if not verdict.ok:
        notes.append(
            Note(
                "not_converged",
                f"the chains have not converged after {draws} draws each: {verdict.reason}; "
                "do not use the numbers; more draws or labels may help",
            )
        )
    return notes


def rank_z(data: ScoreData) -> float:
    """Return the Mann-Whitney z of the labelled scores: negative where positives score lower.

    0 where a class is missing. Ties count half.
    """
    known = data.label >= 0
    score, label = data.score[known], data.label[known] == 1
    positives, negatives = int(label.sum()), int((~label).sum())
    if positives == 0 or negatives == 0:
        return 0.0
    values, place, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = np.cumsum(count) - 0.5 * (count - 1)
    surplus = rank[place][label].sum() - 0.5 * positives * (positives + negatives + 1)
    n = positives + negatives
    ties = float((count**3 - count).sum()) / (n * (n - 1.0)) if n > 1 else 0.0
    variance = positives * negatives / 12.0 * (n + 1.0 - ties)
    return float(surplus / np.sqrt(variance)) if variance > 0.0 else 0.0
