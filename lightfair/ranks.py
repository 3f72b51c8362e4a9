"""Ranks: midranks of weighted rows, and the rank test of two kinds of rows."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .model import Floats


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
