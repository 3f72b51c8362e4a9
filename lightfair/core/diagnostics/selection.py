"""Selection: are the labeled rows of a group a random sample by their scores?

If rows were selected for labeling by their score, labels-only and prediction-powered estimates
describe the labeled rows and not the group. The posterior accounts for selection on score and
group: given these, selection carries no information about the label. Two rank tests of labeled
against unlabeled rows of each group:

    shift     the scores
    spread    the distance of a score from the centre of its group, |rank - (n + 1) / 2|

The second detects rows selected near the threshold, or at both ends. Both are exact up to the
normal approximation. The level is shared among all tests (Bonferroni). With known probabilities of
labeling there is no test: they may differ, and labels-only estimates account for them.
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

LEVEL = 0.01  # of all tests together

LISTED = 3  # groups named in the warning

PATTERNS = (("lower", "higher"), ("more central", "more extreme"))  # by test, and sign of z


def selection_z(table: ScoreTable) -> Floats:
    """Return z of both tests of each group, float64 (group, 2); 0 if there is nothing to test.

    Positive if labeled rows score higher, or farther from the centre, than unlabeled ones.
    """
    stratum, logit, rows = rows_on_axis(table)
    z = np.zeros((len(table.groups), 2))
    for group in range(len(table.groups)):
        here = stratum // 6 == group
        score, labeled, count = logit[here], stratum[here] % 3 != UNLABELED, rows[here]
        distance = np.abs(mid_ranks(score, count)[0] - 0.5 * (count.sum() + 1.0))
        z[group] = rank_z(score, labeled, count), rank_z(distance, labeled, count)
    return z


def selection_warnings(table: ScoreTable) -> list[Note]:
    """Return one warning if the labels of some group are selected by score, else none."""
    from scipy.special import ndtr

    z = selection_z(table)
    p = 2.0 * ndtr(-np.abs(z))
    test, smallest = np.argmin(p, axis=1), p.min(axis=1)
    selected = np.flatnonzero(smallest < LEVEL / p.size)
    if table.design is not None or not selected.size:
        return []
    parts: list[str] = []
    for g in selected[np.argsort(smallest[selected], kind="stable")][:LISTED]:
        pattern = PATTERNS[test[g]][int(z[g, test[g]] > 0.0)]
        size = "< 1e-6" if smallest[g] < 1e-6 else f"= {smallest[g]:.1g}"
        verb = "have" if parts else "they have"
        parts.append(f"in {table.groups[g]} {verb} {pattern} scores than unlabeled rows (p {size})")
    more = f" (worst {LISTED} of {selected.size} groups)" if selected.size > LISTED else ""
    message = (
        f"labeled rows are not a random sample of their group{more}: {', '.join(parts)}; the "
        "posterior accounts for selection on the score, labels-only and prediction-powered "
        "estimates do not; if the probabilities of labeling are known, pass label_prob"
    )
    return [Note("label_drift", message)]


def mid_ranks(score: Floats, count: Floats | None = None) -> tuple[Floats, float]:
    """Return ranks, the mean rank for ties, and the sum of t^3 - t over ties of t rows.

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
    """Return the Mann-Whitney z of two kinds of rows, negative if those of kind 1 score lower.

    Parameters
    ----------
    score, count
        As in `mid_ranks`.
    kind
        bool or integer (n,); 1 or True is the first kind, anything else the second.

    Returns
    -------
    z, corrected for ties; 0 if a kind is missing or all scores are equal.
    """
    one = np.asarray(kind) == 1
    number = np.ones(len(score)) if count is None else count
    ones, others = float(number[one].sum()), float(number[~one].sum())
    if ones == 0.0 or others == 0.0:
        return 0.0
    rank, ties = mid_ranks(score, number)
    n = ones + others
    surplus = (rank * number)[one].sum() - 0.5 * ones * (n + 1.0)
    variance = ones * others / 12.0 * (n + 1.0 - ties / (n * max(n - 1.0, 1.0)))
    return float(surplus / math.sqrt(variance)) if variance > 0.0 else 0.0
