"""Score bins: labels imputed by score, for metrics of scores and curves over thresholds.

A score bin (`Slots`, one entry per bin) is a distinct score or a cell of a table, with its
predicted class; rows of all labels share it. In each draw its unlabeled rows get rows times the
mean rate of the bin as positives ("expected"), Binomial(rows, mean rate) ("sample"), or Gamma(rows)
weights ("population"); see `imputation` for the targets. Rates within a cell differ so little that
the binomial has the variance of the sum up to a relative error of 1e-4. Rows of unequal weight
count as their effective number (Kish).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats, Ints, over, sigmoid
from ..data.nodes import CELL_WIDTH, UNLABELED, Cells, Points, gauss_rule
from ..data.table import ScoreTable
from ..model.curve import features
from ..model.likelihood import log_odds
from ..model.regions import Regions
from .definitions import Metric, evaluate
from .imputation import blocks


class Slots(NamedTuple):
    """The score bins of a group, by rising score, then threshold interval.

    score: float64 (bin,), mean score of the rows there, NaN if there are decisions alone;
    predicted: intp (bin,); band: intp
    (bin,), index of the interval between thresholds, 0 if there are none; known: float64 (bin, 2),
    weight of labeled negatives and positives; known_rows: float64 (bin, 2), their effective number;
    weight, rows: float64 (bin,), those of unlabeled rows.

    low, high: float64 (bin,), least and greatest logit of the rows there: equal for a distinct
    score, infinite beyond a clipping bound, the edges of a cell.

    open: intp (open,), bins that have unlabeled rows; start: intp (open,), first node of each;
    node_logit, node_share: float64 (node,), nodes of unlabeled rows, and their share of the bin.
    """

    score: Floats
    predicted: Ints
    band: Ints
    known: Floats
    known_rows: Floats
    weight: Floats
    rows: Floats
    low: Floats
    high: Floats
    open: Ints
    start: Ints
    node_logit: Floats
    node_share: Floats

    @property
    def total(self) -> Floats:
        """Weight of all rows, labeled and not: float64 (bin,)."""
        return np.asarray(self.known.sum(axis=1) + self.weight)

    @property
    def is_cell(self) -> npt.NDArray[np.bool_]:
        """Whether a bin is a cell, of different scores: bool (bin,)."""
        return (self.low < self.high) & np.isfinite(self.low) & np.isfinite(self.high)


class Imputed(NamedTuple):
    """Score bins of a group with all labels, by draw.

    weight: float64 (n, bin), above 0; label: float64 (n, bin), positive share in [0, 1].
    """

    weight: Floats
    label: Floats


def score_slots(table: ScoreTable) -> tuple[Slots, ...]:
    """Return the score bins of every group of a table; parts without weight are left out.

    If the table has threshold intervals, they are those of the groups without.
    """
    points = Points._make(column[table.points.weight > 0.0] for column in table.points)
    cells = Cells._make(column[table.cells.weight > 0.0] for column in table.cells)
    first, second = len(points.stratum), len(cells.stratum)
    # each cell under a stratum of its own, to find the cell of each node
    own = 3 * np.arange(second, dtype=np.intp) + cells.stratum % 3
    nodes = gauss_rule(cells._replace(stratum=own))
    cell = nodes.stratum // 3
    share = nodes.weight / np.bincount(cell, nodes.weight, minlength=second)[cell]
    cell_mean = np.bincount(cell, share * sigmoid(nodes.logit), minlength=second)
    stratum, place, weight, weight_sq, score = (
        np.concatenate(pair)
        for pair in (
            (points.stratum, cells.stratum),
            (points.logit, cells.cell),
            (points.weight, cells.weight),
            (points.weight_sq, cells.weight_sq),
            (sigmoid(points.logit), cell_mean),
        )
    )
    groups, label, is_point = len(table.groups), stratum % 3, np.arange(first + second) < first
    # a bin joins what differs in the label alone
    of_entry = (stratum // 6 % groups, stratum // 3 % 2, stratum // 6 // groups, ~is_point, place)
    bins, bin_of = np.unique(np.stack(of_entry), axis=1, return_inverse=True)
    bin_of, size = bin_of.reshape(-1), bins.shape[1]
    mean = np.bincount(bin_of, weight * score, size) / np.bincount(bin_of, weight, size)
    mean[bin_of[is_point]] = score[is_point]
    order = np.lexsort((bins[1], bins[2], mean, bins[0]))
    group, predicted, band, is_cell, edge = bins[:, order]
    bin_of = np.argsort(order)[bin_of]
    by_label, by_label_sq = (
        np.bincount(3 * bin_of + label, column, 3 * size).reshape(size, 3).astype(np.float64)
        for column in (weight, weight_sq)
    )
    rows = over(by_label * by_label, by_label_sq, 0.0)
    rows = np.where(np.abs(rows - np.rint(rows)) < 1e-6, np.rint(rows), rows)
    bounds = table.bounds()
    low, high = (
        np.where(is_cell, np.clip((edge + k) * CELL_WIDTH, *bounds), edge) for k in (0.0, 1.0)
    )
    low[(is_cell == 0.0) & (edge <= bounds[0])] = -np.inf
    high[(is_cell == 0.0) & (edge >= bounds[1])] = np.inf
    # unlabeled nodes, sorted by bin
    entry = np.concatenate([np.arange(first), first + cell])
    logit, share = np.append(points.logit, nodes.logit), np.append(np.ones(first), share)
    by_bin = np.flatnonzero(label[entry] == UNLABELED)
    by_bin = by_bin[np.argsort(bin_of[entry[by_bin]], kind="stable")]
    of_node, logit, share = bin_of[entry[by_bin]], logit[by_bin], share[by_bin]
    mean = mean[order] if table.scored else np.full(size, np.nan)
    columns: tuple[Any, ...] = (mean, predicted.astype(np.intp), band.astype(np.intp))
    columns += by_label[:, :UNLABELED], rows[:, :UNLABELED]
    columns += by_label[:, UNLABELED], rows[:, UNLABELED], low, high
    slots = []
    for begin, end in pairwise(np.searchsorted(group, np.arange(groups + 1))):
        at = slice(*np.searchsorted(of_node, [begin, end]))
        opened, start = np.unique(of_node[at] - begin, return_index=True)
        of_group = [column[begin:end] for column in columns]
        slots.append(Slots._make([*of_group, opened, start.astype(np.intp), logit[at], share[at]]))
    return tuple(slots)


def slot_rates(psi: Floats, slots: Slots, regions: Regions, cap: float = np.inf) -> Floats:
    """Return the mean rate of each score bin with unlabeled rows.

    psi (n, 3 + J), of the group -> float64 (n, open).
    """
    rates = np.zeros((len(psi), len(slots.open)))
    count = np.diff(slots.start, append=len(slots.node_logit))
    predicted = np.repeat(slots.predicted[slots.open], count)
    region = regions.of(3 * predicted, slots.node_logit)
    at = regions.design(features(slots.node_logit, "beta"), region), regions.base[region]
    for block in blocks(len(psi), len(slots.node_logit)):
        odds = log_odds(psi[block], *at, cap)
        # the logistic function in a third of the time of `sigmoid`
        share = slots.node_share / (1.0 + np.exp(-np.maximum(odds, -700.0)))
        np.add.reduceat(share, slots.start, axis=1, out=rates[block])
    return np.clip(rates, 0.0, 1.0, out=rates)


def impute_group(
    psi: Floats,
    index: int,
    slots: Slots,
    regions: Regions,
    *,
    target: str,
    seed: int,
    cap: float = np.inf,
) -> Imputed:
    """Impute the labels in all score bins of a group, by draw.

    Parameters
    ----------
    psi
        float64 (chain, draw, group, 3 + J), of all groups.
    index
        Of the group.
    slots, regions
        Of the group, and of the posterior.
    target
        One of "expected", "sample", "population".
    seed
        Of the draws; the same seed gives the same labels.
    cap
        Upper bound of the log odds.

    Returns
    -------
    Imputed, with n = chain * draw. Labeled rows are included; for "population" weights are up to a
    factor per draw.
    """
    rng = np.random.default_rng([seed, index])
    rate = slot_rates(psi[:, :, index].reshape(-1, psi.shape[-1]), slots, regions, cap)
    n, size, at = len(rate), len(slots.score), slots.open
    if target != "population":
        total = slots.total
        if target == "sample":
            _draw_shares(rate, slots.rows[at], rng)
        label = np.tile(slots.known[:, 1] / total, (n, 1))
        label[:, at] = (slots.known[at, 1] + slots.weight[at] * rate) / total[at]
        return Imputed(np.broadcast_to(total, (n, size)), np.clip(label, 0.0, 1.0))
    known, rows = slots.known, slots.known_rows
    each = over(known, rows, 1.0)
    weight, label = np.empty((n, size)), np.empty((n, size))
    for block in blocks(n, size):
        count = block.stop - block.start
        drawn = rng.standard_gamma(rows, (count, size, 2)) * each
        added = rng.standard_gamma(slots.rows[at], (count, len(at)))
        added *= slots.weight[at] / slots.rows[at]
        drawn[:, at, 1] += added * rate[block]
        drawn[:, at, 0] += added * (1.0 - rate[block])
        weight[block] = drawn.sum(axis=2)
        label[block] = drawn[..., 1] / weight[block]
    return Imputed(weight, label)


def _draw_shares(rate: Floats, rows: Floats, rng: np.random.Generator) -> None:
    """Replace rates (n, open) by drawn shares of positives among `rows` (open,) rows.

    An effective number of rows lies between two whole numbers; one of them is drawn such that mean
    and variance of the share are right.
    """
    low = np.maximum(np.floor(rows), 1.0)
    # chance of low + 1 rows, such that the mean of 1 / number is 1 / rows
    more = (1.0 / low - 1.0 / np.maximum(rows, low)) * low * (low + 1.0)
    uneven = bool((more > 0.0).any())
    for block in blocks(len(rate), rate.shape[1]):
        number = np.broadcast_to(low, rate[block].shape)
        if uneven:
            number = low + (rng.random(number.shape) < more)
        rate[block] = rng.binomial(number.astype(np.int64), rate[block]) / number


def slot_theta(metric: Metric, score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return a metric of nodes, float64 (n,); NaN where undefined, or without score bins.

    score: float64 (bin,), rising; weight, label: float64 (n, bin), as in `Imputed`.
    """
    theta = np.full(len(label), np.nan)
    if np.isnan(score).any():
        return theta
    for block in blocks(len(label), len(score)) if len(score) else ():
        arguments = (score, weight[block], label[block])
        theta[block] = evaluate(metric, arguments, (block.stop - block.start,))
    return theta


def with_pseudo_rows(
    imputed: Imputed, total: Floats, pseudo: Floats, seed: tuple[int, ...]
) -> Imputed:
    """Add the pseudo-rows of a group, in each draw at the scores of two of its rows.

    total: float64 (bin,), weight of all rows of a bin; pseudo: float64 (..., predicted, label), of
    each draw; nothing is added where all are 0, as they are for finite targets.
    """
    if not pseudo.any():
        return imputed
    draws, added = np.arange(len(imputed.weight)), pseudo.sum(axis=-2).reshape(-1, 2)
    at = np.random.default_rng(seed).choice(len(total), added.shape, p=total / total.sum())
    weight, positive = imputed.weight.copy(), imputed.weight * imputed.label
    positive[draws, at[:, 1]] += added[:, 1]
    for label in (0, 1):
        weight[draws, at[:, label]] += added[:, label]
    return Imputed(weight, np.minimum(positive / weight, 1.0))


def frequency(metric: Metric, slots: Slots) -> float:
    """Return a metric of nodes among the labeled rows of a group; NaN where it is undefined."""
    weight = slots.known.sum(axis=1)
    at = weight > 0.0
    label = slots.known[at, 1] / weight[at]
    return float(slot_theta(metric, slots.score[at], weight[None, at], label[None])[0])


def confusion(imputed: Imputed, slots: Slots) -> Floats:
    """Return the confusion counts of imputed score bins, float64 (n, predicted, label)."""
    sides = (slots.predicted[:, None] == [0, 1]).astype(np.float64)
    shares = (1.0 - imputed.label, imputed.label)
    return np.stack([(imputed.weight * share) @ sides for share in shares], axis=-1)
