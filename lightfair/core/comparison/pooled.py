"""Metrics of pooled groups: all rows, or all rows with one level of an attribute.

Counts, or score bins, of the groups are added draw by draw: the true positives of all groups over
their positives. That is not a mean of the groups' metrics: a group of many positives counts more in
the true positive rate than in the false one.

The groups of a result are crossings of its attributes, such as "Female, Black". The marginal of
"Female" pools all groups of that level; a combination without rows has no part in it::

    result = lf.assess(y, score, sensitive_features={"sex": sex, "race": race})
    result.metric("tpr")                                 # of all rows
    result.marginal("tpr", "sex", "Female")              # of all women
    result.marginal_difference("tpr", "sex", "Female")   # minus the level with most rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..data.logit import Floats
from ..data.messages import name_key
from ..data.table import ScoreTable
from ..metrics.definitions import Metric, in_cells, lack_in, theta
from ..metrics.score_bins import Imputed, score_slots, slot_theta, with_pseudo_rows
from .gaps import ByGroup


class GroupDraws(NamedTuple):
    """Draws of an assessment by group, to be pooled.

    counts: float64 (chain, draw, group, predicted, label); imputed: returns the imputed labels of a
    group; table, fine: the table without and with threshold intervals; finite: whether the target
    is these very rows; pseudo: weight of the pseudo-rows in counts, of which pooled groups keep
    those of the first; seed: of the imputation; right: whether labels are taken as right.
    """

    counts: Floats
    imputed: Callable[[int], Imputed]
    table: ScoreTable
    fine: ScoreTable
    finite: bool
    pseudo: Floats
    seed: int
    right: bool


class Level(NamedTuple):
    """A level of an attribute: indices of its groups, and its rows, labeled and positive ones."""

    name: str
    groups: tuple[int, ...]
    rows: int
    labeled: int
    positives: int


def margins(
    drawn: GroupDraws, metrics: Sequence[Metric], prob: float
) -> dict[str, dict[str, ByGroup]]:
    """Return metrics by attribute, with its levels in place of groups, sorted by name."""
    found: dict[str, dict[str, ByGroup]] = {metric.name: {} for metric in metrics}
    for attribute, levels in margin_levels(drawn.table).items():
        draws = [overall_draws(drawn, metrics, level.groups) for level in levels]
        complete = [level.rows == level.labeled and drawn.right for level in levels]
        for metric in metrics:
            values = np.stack([by_metric[metric.name] for by_metric in draws], axis=-1)
            known = np.array([metric.label_free or every for every in complete]) & drawn.finite
            names = tuple(level.name for level in levels)
            cells = in_cells(metric, drawn.fine)
            lack = lack_in(metric, drawn.table)
            coarse = np.array([cells[list(level.groups)].any() for level in levels])
            more: dict[str, Any] = {"bounds": metric.bounds, "coarse": coarse, "prob": prob}
            found[metric.name][attribute] = ByGroup(values, names, lack, known, **more)
    return found


def margin_levels(table: ScoreTable) -> dict[str, tuple[Level, ...]]:
    """Return the levels of each attribute, sorted by name."""
    rows = table.sums("rows").sum(axis=1)
    found = {}
    for attribute, column in zip(table.attributes, zip(*table.parts, strict=True), strict=True):
        levels = []
        for name in sorted(set(column), key=name_key):
            groups = tuple(g for g, level in enumerate(column) if level == name)
            negative, positive, unlabeled = rows[list(groups)].sum(axis=0).astype(int).tolist()
            labeled = negative + positive
            levels.append(Level(name, groups, labeled + unlabeled, labeled, positive))
        found[attribute] = tuple(levels)
    return found


def largest_level(levels: Sequence[Level]) -> int:
    """Return the index of the level with most rows, the reference of an attribute."""
    return int(np.argmax([level.rows for level in levels]))


def pooled_theta(counts: Floats, table: ScoreTable, metrics: Iterable[Metric]) -> dict[str, Floats]:
    """Return metrics of counts for the levels of all attributes, for the convergence check.

    counts: (chain, draw, group, predicted, label) -> (chain, draw, level); {} for one attribute.
    """
    if len(table.attributes) < 2:
        return {}
    levels = [level for by_name in margin_levels(table).values() for level in by_name]
    pooled = np.stack([counts[:, :, list(level.groups)].sum(axis=2) for level in levels], axis=2)
    return {m.name: theta(m, pooled) for m in metrics if m.of == "counts" and not m.label_free}


def overall_draws(
    drawn: GroupDraws, metrics: Iterable[Metric], groups: Sequence[int] | None = None
) -> dict[str, Floats]:
    """Return metrics of the pooled rows of some groups, by default all: float64 (chain, draw).

    NaN where a metric is undefined.
    """
    groups = range(len(drawn.table.groups)) if groups is None else groups
    shape = drawn.counts.shape[:2]
    pooled = drawn.counts[:, :, list(groups)].sum(axis=2)
    pooled = np.maximum(pooled - drawn.pseudo[:, :, list(groups[1:])].sum(axis=2), 0.0)
    bins, draws = None, {}
    for metric in metrics:
        if metric.of == "nodes":
            bins = _pooled_bins(drawn, groups) if bins is None else bins
            draws[metric.name] = slot_theta(metric, *bins).reshape(shape)
        else:
            draws[metric.name] = theta(metric, pooled)
    return draws


def _pooled_bins(drawn: GroupDraws, groups: Sequence[int]) -> tuple[Floats, Floats, Floats]:
    """Score bins of some groups: score (bin,), rising; weight and label, float64 (draw, bin).

    The same score, or the same cell, of several groups is one bin, as in a table without groups.
    """
    every = score_slots(drawn.fine)
    slots = [every[group] for group in groups]
    score, low, total, is_cell = (
        np.concatenate(columns)
        for columns in zip(*((s.score, s.low, s.total, s.is_cell) for s in slots), strict=True)
    )
    key = np.stack([~is_cell, np.where(is_cell, low, score)])
    bin_of = np.unique(key, axis=1, return_inverse=True)[1].reshape(-1)
    mean = np.bincount(bin_of, total * score) / np.bincount(bin_of, total)
    mean[bin_of[~is_cell]] = score[~is_cell]
    order = np.argsort(mean, kind="stable")
    bin_of = np.argsort(order)[bin_of]
    n = drawn.counts.shape[0] * drawn.counts.shape[1]
    weight, positive = np.zeros((1 if drawn.finite else n, len(mean))), np.zeros((n, len(mean)))
    ends = np.cumsum([len(s.score) for s in slots])[:-1]
    for group, place in zip(groups, np.split(bin_of, ends), strict=True):
        if len(place):
            imputed, by_place = drawn.imputed(group), np.argsort(place, kind="stable")
            at, start = np.unique(place[by_place], return_index=True)
            one, two = imputed.weight[: len(weight)], imputed.weight * imputed.label
            weight[:, at] += np.add.reduceat(one[:, by_place], start, axis=1)
            positive[:, at] += np.add.reduceat(two[:, by_place], start, axis=1)
    weight = np.broadcast_to(weight, positive.shape)
    label = np.clip(positive / weight, 0.0, 1.0)
    rows, first = np.bincount(bin_of, total).astype(np.float64), groups[0]
    seed = (drawn.seed, first, 1)
    pooled = with_pseudo_rows(Imputed(weight, label), rows, drawn.pseudo[:, :, first], seed)
    return mean[order], *pooled
