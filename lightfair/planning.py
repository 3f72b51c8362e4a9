"""Label planning: how narrow will an interval be after more labels, and what will they settle?

The labels are still to come, so they are drawn: a draw of the posterior is taken for the truth,
some unlabelled rows get labels at its rates, and the model is fitted again. What the new intervals
are on average is what to expect. Refits of many such data sets run as one batch of short chains.
Between the numbers of labels that were refitted, and where nobody waits for refits, the width comes
from `forecast`.

A width is expected over what the labels may turn out to be. That the model is right is assumed, as
everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .compare import UNDEFINED_LIMIT
from .forecast import expected_sd, outlook
from .model import Floats

if TYPE_CHECKING:
    from .assessment import Assessment

LIKELY = 0.8  # chance of a decisive verdict at which labels would "probably" settle it
TRUTHS = 400  # draws that are each taken for the truth, and held against as many


def labels_to_settle(result: Assessment, metric: str, within: float, prob: float) -> int | None:
    """Return how many more labels, of random rows, would probably settle whether groups are alike.

    Parameters
    ----------
    result
        Of rows of two or more groups.
    metric
        One that was assessed.
    within, prob
        The verdict is decisive where the probability that every difference to the reference is
        below `within` is at least `prob`, or at most 1 - prob.

    Returns
    -------
    The smallest number with which that has a chance of 80 %, by the forecast without refits, in two
    digits; 0 where it is decisive now. None where it is not expected even with all rows labelled,
    where there is one group, or where a difference is undefined.
    """
    deltas = _deltas(result, metric)
    if deltas is None:
        return None
    ahead = outlook(result, metric)
    rows = ahead.bins.rows
    total = int(round(rows.sum()))
    contrasts = _contrasts(result)
    before = expected_sd(ahead, np.zeros(len(rows)), contrasts)

    def likely(extra: int) -> bool:
        after = expected_sd(ahead, rows * (extra / total), contrasts)
        root = np.divide(after, before, out=np.zeros_like(before), where=before > 0.0)
        return decisive_chance(deltas, root, within, prob) >= LIKELY

    if total == 0 or likely(0):
        return 0
    if not likely(total):
        return None
    low, high = 0, total  # not likely, likely
    while high - low > max(1, low // 50):
        middle = (low + high) // 2 if low == 0 and high <= 2 else int(np.sqrt(max(low, 1) * high))
        middle = min(max(middle, low + 1), high - 1)
        low, high = (low, middle) if likely(middle) else (middle, high)
    return min(_two_digits(high), total)


def decisive_chance(deltas: Floats, root: Floats, within: float, prob: float) -> float:
    """Chance that new labels make it decisive whether all differences are small.

    Parameters
    ----------
    deltas
        float64 (draw, difference), of the posterior so far; without NaN.
    root
        float64 (difference,), in [0, 1]: standard deviation after the labels, in units of that
        before.
    within, prob
        As in `labels_to_settle`.

    Notes
    -----
    With the truth d and the mean m of the draws, the new posterior has its mean at
    m + (1 - root^2) (d - m) + noise, as the mean of normal observations would be, and the shape of
    the old one, root times as wide. Truth and noise are draws, too. Where root is 1 it is the
    posterior that there is, where it is 0 the truth.
    """
    few = np.linspace(0.0, len(deltas) - 1.0, min(TRUTHS, len(deltas))).round().astype(int)
    mean = deltas.mean(axis=0)
    away = deltas[few] - mean
    learned = 1.0 - root * root
    stir = np.random.default_rng(0).permutation(len(few))
    centre = mean + learned * away + np.sqrt(learned) * root * away[stir]
    small = np.ones((len(few), len(few)), dtype=bool)
    for e in range(deltas.shape[1]):
        small &= np.abs(centre[:, None, e] + root[e] * away[None, :, e]) < within
    share = small.mean(axis=1)
    return float(((share >= prob) | (share <= 1.0 - prob)).mean())


def _contrasts(result: Assessment, reference: int | None = None) -> Floats:
    """Every group minus the reference: float64 (G - 1, G)."""
    base = result.groups.index(result.settings.reference) if reference is None else reference
    contrasts = np.eye(len(result.groups))
    contrasts[:, base] -= 1.0
    return np.asarray(np.delete(contrasts, base, axis=0))


def _deltas(result: Assessment, metric: str) -> Floats | None:
    """Draws of all differences to the reference (draw, G - 1); None where one is not reported."""
    if result.settings.reference is None:
        return None
    draws = result.draws(metric).reshape(-1, len(result.groups)) @ _contrasts(result).T
    undefined = np.isnan(draws)
    if undefined.mean(axis=0).max() > UNDEFINED_LIMIT:
        return None
    return np.asarray(draws[~undefined.any(axis=1)])


def _two_digits(number: int) -> int:
    """Round up to two digits."""
    unit = int(10 ** max(len(str(number)) - 2, 0))
    return -(-number // unit) * unit
