"""What the labels alone say about each metric: the answer without the model, to stand beside it.

Shares have the closed form of `conjugate`. f1 is a share in disguise: with q = tp / (tp + fp +
fn) it is 2 q / (1 + q), which rises with q, so its quantiles are exact too. Balanced accuracy is
the mean of two independent shares and is simulated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .conjugate import beta_binomial, beta_draws
from .metrics import successes_failures
from .model import Floats

DRAWS = 10_000


class LabelsOnly(NamedTuple):
    """mean, sd, low, high: float64 (group,); draws: float64 (draw, group)."""

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats
    draws: Floats


def labels_only(
    name: str,
    weight: Floats,
    weight_sq: Floats,
    *,
    prior: tuple[float, float],
    prob: float,
    rng: np.random.Generator,
) -> LabelsOnly:
    """Summarise a metric from labelled rows.

    Parameters
    ----------
    name
        A metric.
    weight, weight_sq
        float64 (group, predicted, label), sums of row weights and of their squares.
    """
    if name == "balanced_accuracy":
        pair = [
            labels_only(part, weight, weight_sq, prior=prior, prob=prob, rng=rng)
            for part in ("tpr", "tnr")
        ]
        draws = 0.5 * (pair[0].draws + pair[1].draws)
        tail = 0.5 * (1.0 - prob)
        low, high = np.quantile(draws, [tail, 1.0 - tail], axis=0)
        sd = 0.5 * np.hypot(pair[0].sd, pair[1].sd)
        return LabelsOnly(0.5 * (pair[0].mean + pair[1].mean), sd, low, high, draws)
    success, failure = successes_failures(name, weight)
    # weighted rows count as many as they are effectively (Kish): squared sum over sum of squares
    total = success + failure
    squares = sum(successes_failures(name, weight_sq))
    rows = np.divide(total, squares, out=np.ones_like(total), where=np.asarray(squares) > 0.0)
    success, failure = success * rows, failure * rows
    draws = beta_draws(success, failure, draws=DRAWS, rng=rng, prior=prior)
    summary = beta_binomial(success, failure, prior=prior, prob=prob)
    if name == "f1":
        draws = 2.0 * draws / (1.0 + draws)
        low, high = (2.0 * q / (1.0 + q) for q in (summary.low, summary.high))
        return LabelsOnly(draws.mean(axis=0), draws.std(axis=0), low, high, draws)
    return LabelsOnly(*summary, draws)
