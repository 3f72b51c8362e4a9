"""The metric of all rows together, whatever their group; or of all rows of some groups.

It is the metric of the pooled counts, or of the pooled slots, draw by draw: the true positives of
all groups over the positives of all groups. It is no mean of the groups' metrics; a group of many
positives counts more in the true positive rate than in the false one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .metrics import Metric, theta
from .model import Floats

if TYPE_CHECKING:
    from .assessment import Assessment
    from .slots import Slots


def overall_draws(
    result: Assessment, metrics: tuple[Metric, ...], groups: tuple[int, ...] | None = None
) -> dict[str, Floats]:
    """Return metrics of all rows, or those of some groups: float64 (chain, draw) each.

    groups: indices; None for all. NaN where a metric is undefined.
    """
    mine = tuple(range(len(result.groups))) if groups is None else groups
    shape = result.counts.shape[:2]
    pooled = result.counts[:, :, list(mine)].sum(axis=2)
    of_nodes = [metric for metric in metrics if metric.of == "nodes"]
    nodes = _pooled_nodes(result, mine) if of_nodes else None
    found = {}
    for metric in metrics:
        fact = metric.label_free and result.settings.target != "population"
        if nodes is not None and metric.of == "nodes":
            from .slots import slot_theta

            score, weight, label = nodes
            if fact:  # one number in every draw
                weight, label = weight[:1], np.zeros_like(label[:1])
            value = slot_theta(metric, score, weight, label)
            found[metric.name] = np.broadcast_to(value, shape[0] * shape[1]).reshape(shape)
        elif fact:
            rows = result.table.sums("weight")[list(mine)].sum(axis=(0, 2))
            value = theta(metric, rows[:, None] * [1.0, 0.0])
            found[metric.name] = np.broadcast_to(value, shape)
        else:
            found[metric.name] = theta(metric, pooled)
    return found


def _pooled_nodes(result: Assessment, groups: tuple[int, ...]) -> tuple[Floats, Floats, Floats]:
    """Slots of some groups: score (slot,), rising; weight and label, float64 (n, slot).

    The same score, or the same cell, of several groups is one slot, as it would be in a table
    without groups.
    """
    from .slots import score_slots

    every = score_slots(result.fine)
    slots = tuple(every[index] for index in groups)
    score, place = _merged(slots)
    n = result.counts.shape[0] * result.counts.shape[1]
    fixed = result.settings.target != "population"
    weight, positive = np.zeros((1 if fixed else n, len(score))), np.zeros((n, len(score)))
    for index, mine, at in zip(groups, slots, place, strict=True):
        imputed = result.imputed(result.groups[index])
        order = np.argsort(at, kind="stable")
        start = np.flatnonzero(np.diff(at[order], prepend=-1))
        where = at[order[start]]
        if len(mine.score):
            added = imputed.weight[: len(weight), order]
            weight[:, where] += np.add.reduceat(added, start, axis=1)
            added = (imputed.weight * imputed.label)[:, order]
            positive[:, where] += np.add.reduceat(added, start, axis=1)
    weight = np.broadcast_to(weight, positive.shape)
    return score, weight, np.clip(positive / weight, 0.0, 1.0)


def _merged(slots: tuple[Slots, ...]) -> tuple[Floats, list[np.ndarray]]:
    """Mean score of each pooled slot, rising, and for each group the pooled slot of each slot."""
    score, low, high, weight = (
        np.concatenate(columns)
        for columns in zip(*((s.score, s.low, s.high, s.total) for s in slots), strict=True)
    )
    point = ~(low < high) | np.isinf(low) | np.isinf(high)
    key = np.where(point, score, low)
    order = np.lexsort((key, point))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(key[order]) != 0.0) | (point[order][1:] != point[order][:-1])
    of = np.empty(len(order), dtype=np.int64)
    of[order] = np.cumsum(new) - 1
    mass = np.bincount(of, weight)
    mean = np.bincount(of, weight * score) / mass
    first = np.flatnonzero(new)
    mean = np.where(point[order[first]], score[order[first]], mean)
    rising = np.argsort(mean, kind="stable")
    rank = np.empty(len(rising), dtype=np.int64)
    rank[rising] = np.arange(len(rising))
    ends = np.cumsum([len(s.score) for s in slots])[:-1]
    return mean[rising], np.split(rank[of], ends)
