"""planning.settle."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..core.comparison.gaps import ByGroup
from ..core.comparison.verdict import Question, _mean, by_pair, joint
from .forecast import outlook, two_digits
from .plan import _bisected, _deltas, _root, decisive_chance
from .plan_aim import MOST_GROUPS, Curve, aim_at, looked_at, planned_pairs

if TYPE_CHECKING:
    from ..core.assessment import Assessment


def labels_to_settle(result: Assessment, metric: str, within: float, prob: float) -> int | None:
    """Return how many more labels, of random rows, would probably settle whether groups are alike.

    Parameters
    ----------
    result
        Of rows of two or more groups.
    metric
        One that was assessed.
    within, prob
        The verdict is decisive where every difference to the reference is at most `within` with
        probability `prob`, or some difference is beyond it in one direction with that probability.

    Returns
    -------
    The smallest number with which that has a chance of 80 %, by the forecast without refits, in two
    digits; 0 where it is decisive now. None where it is not expected even with all rows labeled,
    where there is one group, or more than 20, or where a difference is undefined.
    """
    aim = aim_at(result, metric, planned_pairs(result, None, None), prob)
    deltas = _deltas(result, metric, aim)
    if deltas is None or len(result.groups) > MOST_GROUPS:
        return None
    forecast = Curve(outlook(result, metric, groups=looked_at(result, aim.groups)), aim, None, prob)
    total = int(forecast.room.sum())

    def likely(extra: int) -> bool:
        root = _root(forecast.widths(extra), aim)
        return decisive_chance(deltas, root, within, prob) >= LIKELY

    if likely(0):
        return 0
    return _bisected(likely, total) if total and likely(total) else None


MOST_LABELS = 1000  # times the labels that there are; what needs more is not forecast

STEP = 2.0**0.125  # of the search for a number of labels

LIKELY = 0.8  # chance of a verdict at which labels would "probably" settle it

TRUTHS = (10, 40)  # draws that are each taken for the truth: fewest, most

FEWEST = 400  # draws of a forecast

MOST_NUMBERS = 1_000_000  # draws times pairs of a forecast, where that leaves enough draws


def forecast_labels(result: Assessment, question: Question, prob: float) -> int | None:
    """Forecast how many more labels would probably settle a check of a result.

    `planning` forecasts the difference of a metric of counts between two groups; the rest goes by
    the rule of thumb of `labels_to_settle_verdict`.
    """
    check = question.check
    of = result.settings.metric(question.check.metrics[0])
    if (
        check.relation == "difference"
        and len(question.parts) == 1
        and of.of == "counts"
        and of.name in result.theta
        and len(result.groups) == 2
    ):
        more = labels_to_settle(result, of.name, check.within, prob)
        if more != 0:  # by few of the draws it is settled
            return more
    table = result.table
    return labels_to_settle_verdict(
        question,
        prob,
        table.labeled,
        table.rows - table.labeled,
        finite=result.settings.target != "population",
    )


def labels_to_settle_verdict(
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
        Whether labels of all rows would leave nothing open.

    Returns
    -------
    int or None. Two significant digits, at least 1; at most `unlabeled` where `finite`. None where
    no number within reach settles it.
    """
    check = question.check
    most = min(unlabeled if finite else MOST_LABELS * labeled, MOST_LABELS * labeled)
    if most == 0:
        return None
    few = _thinned(question)
    obstacles = few.obstacles()
    size = few.parts[0].draws.shape[1]
    count = int(np.clip(MOST_NUMBERS // (len(few.pairs) * size), *TRUTHS))
    truths = np.linspace(0.0, size - 1.0, count).round().astype(int)
    others = np.random.default_rng(0).permutation(truths)

    def settles(more: float) -> bool:
        root = (1.0 + more / labeled) ** -0.5
        settled = 0
        for truth, other in zip(truths, others, strict=True):
            parts = tuple(_after(part, root, truth, other, check.relation) for part in few.parts)
            then = few._replace(parts=parts)
            inside, beyond = joint(then, obstacles)
            near = inside >= prob * (inside + beyond) > 0.0
            settled += bool(near or by_pair(then, obstacles).surest >= prob)
        return settled >= LIKELY * count

    low, high = 0, int(np.ceil(np.log(most) / np.log(STEP)))  # powers of the step
    if not settles(STEP**high):
        return unlabeled if finite and unlabeled == most else None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if settles(STEP**middle) else (middle + 1, high)
    return min(two_digits(STEP**high), most)


def _after(part: ByGroup, root: float, truth: int, other: int, relation: str) -> ByGroup:
    """Draws (1, n, group) after labels that leave `root` of the spread, where a draw is the truth.

    `other` is the draw that chance is taken from. An undefined truth moves nothing.
    """
    mean = _mean(part.draws.reshape(-1, len(part.groups)))
    away = part.draws - mean
    learned = 1.0 - root * root
    move = learned * away[0, truth] + np.sqrt(learned) * root * away[0, other]
    draws = mean + np.nan_to_num(move) + root * away
    return replace(part, draws=np.maximum(draws, 0.0) if relation == "ratio" else draws)


def _thinned(question: Question) -> Question:
    """Take evenly spaced draws, fewer where there are many pairs: a forecast asks many times."""
    size = question.parts[0].draws[..., 0].size
    few = int(np.clip(MOST_NUMBERS // len(question.pairs), FEWEST, size)) if size > FEWEST else size
    at = np.linspace(0.0, size - 1.0, few).round().astype(int)
    parts = []
    for part in question.parts:
        draws = part.draws.reshape(-1, len(part.groups))[at]
        parts.append(replace(part, draws=draws[None]))
    return question._replace(parts=tuple(parts))
