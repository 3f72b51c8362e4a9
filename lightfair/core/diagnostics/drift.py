"""Drift: are the scores of labeled rows those of a random part of their group?

Where rows are chosen for labeling by their score, or by what goes with it, labels alone and
prediction-powered estimates answer for the labeled rows and not for the group. The posterior
allows for a choice by score and group: given these, the choice says nothing of the label. So the
reader is told. Two rank tests of labeled against unlabeled rows of each group:

    shift     the scores
    spread    how far a score is from the middle of its group, |rank - (n + 1) / 2|

The second sees rows that were chosen near the threshold, or at both ends, with a middle that stays
where it is. Both are exact up to the normal approximation: where every subset of a size is as
likely to be labeled, the labeled rows have a random part of the ranks. The level is shared among
all tests (Bonferroni). Where the probabilities of labeling are known there is no test: they need
not be equal, and labels alone allow for them.

Ranks: midranks of weighted rows, and the rank test of two kinds of rows.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats
from ..data.messages import Note
from ..data.nodes import UNLABELED
from ..data.table import ScoreTable
from ..model.regions import rows_on_axis

DRIFT_LEVEL = 0.01  # of all groups together

NAMED = 3  # groups that the note names

SHIFT, SPREAD = 0, 1

WORDS = {
    (SHIFT, True): "higher scores than",
    (SHIFT, False): "lower scores than",
    (SPREAD, True): "more extreme scores than",
    (SPREAD, False): "scores nearer to the middle than",
}


def drift_z(table: ScoreTable) -> Floats:
    """Return z of both tests of each group, float64 (group, 2); 0 where there is nothing to test.

    Above 0 where labeled rows score higher, or further from the middle, than unlabeled ones.
    """
    stratum, logit, rows = rows_on_axis(table)
    order = np.argsort(stratum // 6, kind="stable")
    start = np.searchsorted(stratum[order] // 6, np.arange(len(table.groups) + 1))
    labeled = stratum % 3 != UNLABELED
    found = np.zeros((len(table.groups), 2))
    for index in range(len(table.groups)):
        mine = order[start[index] : start[index + 1]]
        score, known, count = logit[mine], labeled[mine], rows[mine]
        found[index, SHIFT] = rank_z(score, known, count)
        middle = mid_ranks(score, count)[0] - 0.5 * (count.sum() + 1.0)
        found[index, SPREAD] = rank_z(np.abs(middle), known, count)
    return found


def drift_notes(table: ScoreTable) -> list[Note]:
    """Say in which groups the labeled rows are no random part by their scores: a note, or none."""
    from scipy.special import ndtr

    if table.design is not None:
        return []
    z = drift_z(table)
    p = 2.0 * ndtr(-np.abs(z))
    worst = np.argmin(p, axis=1)
    drifted = np.flatnonzero(p.min(axis=1) < DRIFT_LEVEL / p.size)
    if not drifted.size:
        return []
    order = drifted[np.argsort(p.min(axis=1)[drifted], kind="stable")][:NAMED]
    places = "; ".join(
        f"in {table.groups[g]} they have {WORDS[int(worst[g]), bool(z[g, worst[g]] > 0.0)]} the "
        f"unlabeled ones (p {_p(float(p[g, worst[g]]))})"
        for g in order
    )
    more = f" (the worst {NAMED} of {drifted.size} groups)" if drifted.size > NAMED else ""
    message = (
        f"the labeled rows are no random part of their group{more}: {places}; lightfair allows for "
        "a choice by score, labels alone and prediction-powered estimates do not; if the "
        "probabilities of labeling are known, pass label_prob"
    )
    return [Note("label_drift", message)]


def _p(value: float) -> str:
    return "below 1e-6" if value < 1e-6 else f"{value:.1g}"


def mid_ranks(score: Floats, count: Floats | None = None) -> tuple[Floats, float]:
    """Return ranks where ties share their mean, and the sum of t^3 - t over ties of t rows.

    Parameters
    ----------
    score
        float64 (n,).
    count
        float64 (n,), the number of rows of each entry; by default 1.

    Examples
    --------
    >>> ranks, ties = mid_ranks(np.array([0.3, 0.1, 0.3]))
    >>> ranks.tolist(), ties
    ([2.5, 1.0, 2.5], 6.0)
    """
    number = np.ones(len(score)) if count is None else count
    values, place = np.unique(score, return_inverse=True)
    tied = np.bincount(place, number, minlength=len(values))
    rank = np.cumsum(tied) - 0.5 * (tied - 1.0)
    return np.asarray(rank[place]), float((tied**3 - tied).sum())


def rank_z(score: Floats, kind: npt.ArrayLike, count: Floats | None = None) -> float:
    """Return the Mann-Whitney z of rows of two kinds: negative where those of kind 1 score lower.

    Parameters
    ----------
    score, count
        As in `mid_ranks`.
    kind
        bool or integer (n,); 1 or True is the first kind, all else the second.

    Returns
    -------
    z, corrected for ties; 0 where a kind is missing or all scores are equal.
    """
    one = np.asarray(kind) == 1
    number = np.ones(len(score)) if count is None else count
    some, others = float(number[one].sum()), float(number[~one].sum())
    if some == 0.0 or others == 0.0:
        return 0.0
    rank, ties = mid_ranks(score, number)
    n = some + others
    surplus = (rank * number)[one].sum() - 0.5 * some * (n + 1.0)
    tied = ties / (n * (n - 1.0)) if n > 1.0 else 0.0
    variance = some * others / 12.0 * (n + 1.0 - tied)
    return float(surplus / math.sqrt(variance)) if variance > 0.0 else 0.0
