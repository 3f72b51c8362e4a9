"""Labels that settle a check: after how many more labels would it probably pass or fail?

Labels settle a check if that has a chance of 80 %. A draw of the posterior is taken as the truth d.
With the mean m of the draws, the posterior after more labels has its mean at
m + (1 - root^2) (d - m) + noise, as the mean of normal observations would be, and the current
shape, root times as wide. Truth and noise are both draws. If root is 1 it is the current posterior,
if 0 the truth.

A check of any relation, of any number of metrics and groups, is a limit on linear contrasts of the
draws, the excess over the limit in each direction of each pair:

    difference   |one - two| <= w           one - two - w,  two - one - w
    ratio        min / max of both >= w     w one - two,    w two - one

It passes if all are at most 0 with probability `prob`, it fails if one is above 0 with probability
`prob` (`core.comparison.verdict`). Labels must support it without the model, too: the forecast is
the larger of two, the other one from draws without the model of the pair that is widest apart.
The root is taken from the number of labels, root^2 = labeled / (labeled + more).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.assessment import Assessment
from ..core.comparison.verdict import SUPPORT, Question
from ..core.data.logit import Floats
from ..core.metrics.estimate import BORDER

LIKELY = 0.8  # chance of a verdict at which labels would "probably" settle it

MAX_LABELS = 1000  # times the current labels; beyond it there is no forecast

STEP = 2.0**0.125  # between numbers of labels

TRUTHS = 400  # draws taken as the truth, and draws of each later posterior

MAX_SIZE = 10_000_000  # truths times draws times contrasts, beyond 10 truths


def forecast_labels(result: Assessment, question: Question, prob: float) -> int | None:
    """Forecast how many more labels would probably settle a check of a result."""
    labeled, finite = result.table.labeled, result.settings.target != "population"
    # draws without the model must support the verdict, too, in the pair that is widest apart
    parts = tuple(replace(part, draws=part.free[None]) for part in question.parts)
    means = np.array([part.draws[0].mean(axis=0) for part in parts])
    widest = max(question.pairs, key=lambda pair: float(np.ptp(means[:, pair], axis=1).max()))
    alone = question._replace(parts=parts, pairs=[widest])
    rows = labeled, result.table.rows - labeled
    one = labels_to_settle(question, prob, *rows, finite=finite)
    two = labels_to_settle(alone, min(prob, SUPPORT["pass"]), *rows, finite=finite)
    return None if one is None or two is None else max(one, two)


def labels_to_settle(
    question: Question, prob: float, labeled: int, unlabeled: int, *, finite: bool
) -> int | None:
    """Forecast how many more labels would probably settle a check.

    Parameters
    ----------
    question, prob
        As in `judge`.
    labeled, unlabeled
        Rows with and without labels.
    finite
        Whether labels of all rows leave nothing uncertain.

    Returns
    -------
    int or None. Two significant digits, at least 1; at most `unlabeled` if `finite`. None if no
    number within reach settles it.
    """
    reach = MAX_LABELS * labeled
    most = min(unlabeled, reach) if finite else reach
    if most == 0:
        return None
    excess = _excess(question)
    last = math.ceil(math.log(most) / math.log(STEP))

    def settles(step: int) -> bool:
        return decisive_chance(excess, (1.0 + STEP**step / labeled) ** -0.5, prob) >= LIKELY

    if not settles(last):
        return unlabeled if finite and unlabeled == most else None
    return min(two_digits(STEP ** bisect_left(range(last), True, key=settles)), most)


def decisive_chance(excess: Floats, root: float, prob: float) -> float:
    """Chance that a check passes or fails after new labels.

    Parameters
    ----------
    excess
        float64 (draw, contrast), current draws of the excess over the limit; without NaN.
    root
        Standard deviation after the labels, relative to the current one, in [0, 1).
    prob
        Probability that a verdict needs.
    """
    thinned = np.linspace(0.0, len(excess) - 1.0, min(TRUTHS, len(excess))).round().astype(int)
    mean = excess.mean(axis=0)
    away = excess[thinned] - mean
    learned = 1.0 - root * root
    noise = away[np.random.default_rng(0).permutation(len(thinned))]
    centre = mean + learned * away + np.sqrt(learned) * root * noise
    truths = int(np.clip(MAX_SIZE // away.size, min(10, len(away)), len(away)))
    at = np.linspace(0.0, len(away) - 1.0, truths).round().astype(int)
    return float(np.mean([_is_decisive(truth + root * away, prob) for truth in centre[at]]))


def two_digits(value: float) -> int:
    """Round up to two significant digits."""
    size = 10 ** max(len(str(int(np.ceil(value)))) - 2, 0)
    return int(-(-np.ceil(value) // size) * size)


def _is_decisive(excess: Floats, prob: float) -> Any:
    beyond = excess > BORDER
    return (~beyond.any(axis=1)).mean() >= prob or beyond.mean(axis=0).max() >= prob


def _excess(question: Question) -> Floats:
    """Excess over the limit of a check, float64 (draw, contrast); draws that have all of them."""
    limit = question.check.within
    one, two = (np.array(column) for column in zip(*question.pairs, strict=True))
    columns: list[Floats] = []
    for part in question.parts:
        draws = part.draws.reshape(-1, len(part.groups))
        first, second = draws[:, one], draws[:, two]
        if question.check.relation == "ratio":
            columns += [limit * first - second, limit * second - first]
        else:
            columns += [first - second - limit, second - first - limit]
    excess = np.concatenate(columns, axis=1)
    return np.asarray(excess[~np.isnan(excess).any(axis=1)])
