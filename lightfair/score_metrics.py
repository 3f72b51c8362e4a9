"""Metrics on scores: what a group's scores say of its labels, at all thresholds at once.

Each is a function of the nodes of a group (`metrics.Metric`), as a user's own metric is: where the
rows are on the axis of scores, s, how many, w, and which share of them is positive, p. With P the
weight of all positives, N that of all negatives and n that of all rows:

    auc                        sum of positives times (negatives below + half of those tied) / (P N)
    brier                      sum of w (p (1 - s)^2 + (1 - p) s^2) / n
    ece                        sum over bins of |positives - scores| / n
    calibration_in_the_large   P / n - mean score
    balance_positive           mean score of the positives
    balance_negative           mean score of the negatives
    average_score              mean score

auc: Hanley and McNeil (1982). brier: Brier (1950), halved as is usual for two classes. ece, the
expected calibration error: Naeini, Cooper and Hauskrecht (2015), with 10 bins of equal width; a
score on an edge is in the bin above it, 1 in the last. calibration_in_the_large: Cox (1958), Van
Calster et al. (2019), here as a signed difference: above 0 scores are too low. balance_positive and
balance_negative: Kleinberg, Mullainathan and Raghavan (2016).

Scores are as clipped in the table. A mean score so moves by at most the clip times the share of
clipped rows, rows clipped at one end tie in the auc; the way out is a smaller `clip`. In a table
that holds cells a slot is a cell of 0.05 on the logit axis: its rows share their mean score, so
they tie in the auc and are in one bin. On groups of 10,000 labeled rows and more that moved the
auc by less than 2e-4, the Brier score and the balances by less than 1e-4, means not at all.

ece is never below 0 and grows with noise: a calibrated model has one above 0 in few rows. So the
posterior lies above the ece of the calibrated scores, and labels alone cannot tell it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .metrics import LABEL_FREE, Metric
from .model import Floats

BINS = 10  # of the expected calibration error


def auc(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the chance that a positive scores above a negative; ties count half.

    All functions here take score (slot,), rising, and weight and label (..., slot), and return
    float64 (...), NaN where it is undefined.
    """
    positive, negative = weight * label, weight * (1.0 - label)
    first = np.flatnonzero(np.append(True, score[1:] > score[:-1]))
    if len(first) < len(score):
        positive, negative = (np.add.reduceat(x, first, axis=-1) for x in (positive, negative))
    below = np.cumsum(negative, axis=-1) - 0.5 * negative
    pairs = positive.sum(axis=-1) * negative.sum(axis=-1)
    return _over((positive * below).sum(axis=-1), pairs)


def brier(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the mean squared distance between score and label."""
    missed = label * (1.0 - score) ** 2 + (1.0 - label) * score**2
    return _over((weight * missed).sum(axis=-1), weight.sum(axis=-1))


def ece(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the expected calibration error, over bins of equal width."""
    # the logit and back moves a score by an ulp or two: one on an edge stays in the bin above
    bins = np.minimum((BINS * score + 1e-9).astype(np.int64), BINS - 1)
    first = np.flatnonzero(np.append(True, bins[1:] > bins[:-1]))
    away = np.abs(np.add.reduceat(weight * (label - score), first, axis=-1))
    return _over(away.sum(axis=-1), weight.sum(axis=-1))


def calibration_in_the_large(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the mean label minus the mean score."""
    return _over((weight * (label - score)).sum(axis=-1), weight.sum(axis=-1))


def balance_positive(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the mean score of the positives."""
    mass = weight * label
    return _over((mass * score).sum(axis=-1), mass.sum(axis=-1))


def balance_negative(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the mean score of the negatives."""
    mass = weight * (1.0 - label)
    return _over((mass * score).sum(axis=-1), mass.sum(axis=-1))


def average_score(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the mean score."""
    return _over((weight * score).sum(axis=-1), weight.sum(axis=-1))


def _over(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.full_like(bottom, np.nan), where=bottom > 0.0)


def _metric(
    function: Callable[..., Floats], lack: str, bounds: tuple[float, float] = (0.0, 1.0)
) -> Metric:
    name = function.__name__
    return Metric(name, function, "nodes", lack, name in LABEL_FREE, bounds)


BUILT_IN: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _metric(auc, "both labels"),
        _metric(brier, "rows"),
        _metric(ece, "rows"),
        _metric(calibration_in_the_large, "rows", (-1.0, 1.0)),
        _metric(balance_positive, "positive labels"),
        _metric(balance_negative, "negative labels"),
        _metric(average_score, "rows"),
    )
}
