"""Marginals: the metric of one level of one attribute, beside those of the crossed groups.

The groups of a result are crossings of its attributes: "Female, Black". The marginal of "Female" is
the metric of the rows of all groups of that level, its counts pooled draw by draw: the true
positives of all of them over their positives. It is no mean of the groups' metrics. A combination
without rows is listed as empty, and has no part in it::

    result = lf.assess(y, score, sensitive_features={"sex": sex, "race": race})
    result.marginal("tpr", "sex", "Female")              # of all women
    result.marginal_difference("tpr", "sex", "Female")   # minus the level with most rows

The metric of all rows together, whatever their group; or of all rows of some groups.

It is the metric of the pooled counts, or of the pooled slots, draw by draw: the true positives of
all groups over the positives of all groups. It is no mean of the groups' metrics; a group of many
positives counts more in the true positive rate than in the false one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..data.logit import Floats
from ..data.messages import level_name
from ..data.nodes import UNLABELED
from ..data.table import ScoreTable
from ..metrics.definitions import Metric, theta
from ..metrics.estimate import Estimate, difference

if TYPE_CHECKING:
    from ..metrics.imputation import Imputed, Slots


class Drawn(NamedTuple):
    """Draws of a result that are pooled: counts (chain, draw, group, predicted, label), the labels
    imputed in each group, the tables, and whether the rows are all that there are.
    """

    counts: Floats
    imputed: Callable[[int], Imputed]
    table: ScoreTable
    fine: ScoreTable
    fixed: bool


@dataclass(frozen=True)
class Level:
    """One level of an attribute: its groups, by index, and its rows, labeled and positive ones."""

    name: str
    groups: tuple[int, ...]
    rows: int
    labeled: int
    positives: int


@dataclass(frozen=True, eq=False)
class Margin:
    """A metric by the levels of one attribute.

    Attributes
    ----------
    attribute : str
    levels : tuple of Level
        Sorted by name.
    reference : str
        The level with most rows, which others are compared with.
    draws : float64 array, shape (chain, draw, level)
        NaN where the metric is undefined.
    lack : str
        What is missing where it is undefined.
    known : tuple of bool
        Whether the metric of a level is a fact of the rows.
    """

    attribute: str
    levels: tuple[Level, ...]
    reference: str
    draws: Floats
    lack: str
    known: tuple[bool, ...]

    def index(self, level: Any) -> int:
        """Return the place of a level, given as it was in the data."""
        names = [one.name for one in self.levels]
        if level_name(level) not in names:
            raise ValueError(
                f"no level {level_name(level)!r} of {self.attribute}; there are {', '.join(names)}"
            )
        return names.index(level_name(level))

    def estimate(self, level: Any) -> Estimate:
        """Return the estimate of the metric in a level."""
        at = self.index(level)
        return Estimate(self.draws[..., at], self.lack, self.known[at])

    def difference(self, level: Any, reference: Any = None) -> Estimate:
        """Return the metric in `level` minus that in `reference`, by default `self.reference`."""
        at = self.index(level)
        base = self.index(self.reference if reference is None else reference)
        exact = self.known[at] and self.known[base]
        return difference(self.draws, at, base, self.lack, exact=exact)


def margin_levels(table: ScoreTable) -> dict[str, tuple[Level, ...]]:
    """Return the levels of each attribute, sorted by name."""
    rows = table.sums("rows").sum(axis=1)
    found = {}
    for attribute, column in zip(table.attributes, zip(*table.parts, strict=True), strict=True):
        levels = []
        for name in sorted(set(column)):
            groups = tuple(g for g, level in enumerate(column) if level == name)
            negative, positive, open_rows = rows[list(groups)].sum(axis=0).astype(int).tolist()
            labeled = negative + positive
            levels.append(Level(name, groups, labeled + open_rows, labeled, positive))
        found[attribute] = tuple(levels)
    return found


def margins(result: Drawn, metrics: tuple[Metric, ...]) -> dict[str, dict[str, Margin]]:
    """Return the margins of metrics: by the name of the metric, then by attribute."""
    found: dict[str, dict[str, Margin]] = {metric.name: {} for metric in metrics}
    unlabeled = result.table.sums("rows")[:, :, UNLABELED].sum(axis=1)
    for attribute, levels in margin_levels(result.table).items():
        drawn = [overall_draws(result, metrics, level.groups) for level in levels]
        full = [not unlabeled[list(level.groups)].any() for level in levels]
        for metric in metrics:
            found[metric.name][attribute] = Margin(
                attribute,
                levels,
                max(levels, key=lambda level: level.rows).name,
                np.stack([draws[metric.name] for draws in drawn], axis=-1),
                metric.lack,
                tuple(result.fixed and (metric.label_free or every) for every in full),
            )
    return found


def pooled_theta(counts: Floats, table: ScoreTable, metrics: Iterable[Metric]) -> dict[str, Floats]:
    """Return metrics of counts for the levels of all attributes, whose convergence is judged.

    counts: (chain, draw, group, predicted, label) -> (chain, draw, level); {} for one attribute.
    """
    if len(table.attributes) < 2:
        return {}
    levels = [level for some in margin_levels(table).values() for level in some]
    pooled = np.stack([counts[:, :, list(one.groups)].sum(axis=2) for one in levels], axis=2)
    return {
        metric.name: theta(metric, pooled)
        for metric in metrics
        if metric.of == "counts" and not metric.label_free
    }


def overall_draws(
    result: Drawn, metrics: tuple[Metric, ...], groups: tuple[int, ...] | None = None
) -> dict[str, Floats]:
    """Return metrics of all rows, or those of some groups: float64 (chain, draw) each.

    groups: indices; None for all. NaN where a metric is undefined.
    """
    mine = tuple(range(len(result.table.groups))) if groups is None else groups
    shape = result.counts.shape[:2]
    pooled = result.counts[:, :, list(mine)].sum(axis=2)
    of_nodes = [metric for metric in metrics if metric.of == "nodes"]
    nodes = _pooled_nodes(result, mine) if of_nodes else None
    found = {}
    for metric in metrics:
        fact = metric.label_free and result.fixed
        if nodes is not None and metric.of == "nodes":
            from ..metrics.imputation import slot_theta

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


def _pooled_nodes(result: Drawn, groups: tuple[int, ...]) -> tuple[Floats, Floats, Floats]:
    """Slots of some groups: score (slot,), rising; weight and label, float64 (n, slot).

    The same score, or the same cell, of several groups is one slot, as it would be in a table
    without groups.
    """
    from ..metrics.imputation import score_slots

    every = score_slots(result.fine)
    slots = tuple(every[index] for index in groups)
    score, place = _merged(slots)
    n = result.counts.shape[0] * result.counts.shape[1]
    weight, positive = np.zeros((1 if result.fixed else n, len(score))), np.zeros((n, len(score)))
    for index, mine, at in zip(groups, slots, place, strict=True):
        imputed = result.imputed(index)
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
