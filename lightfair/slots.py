"""Slots: the finest parts of a group's scores, and draws of their labels.

Metrics of scores (AUC, calibration error) and curves of thresholds need to know where on the axis
of scores the positives are, not only how many a predicted class has. A slot is a distinct score, or
a cell, of a table, with its predicted class; rows of all labels are together in it. Unlike the
nodes that confusion counts are imputed on, slots are not merged.

Labels of the unlabeled rows of a slot are imputed as `imputation` imputes those of a stratum:

expected    rows times the mean rate of the slot;
sample      Binomial(rows, mean rate) of them;
population  a Gamma(rows) weight for each slot and label, the unlabeled ones at the mean rate.

The mean rate is over the nodes of the slot. Rates in a cell differ by so little that the binomial
has the variance of the sum up to a relative error of 1e-4. Where rows of a slot have unequal
weights they count as many as they are effectively (Kish), n; n is between two whole numbers, and
one of them is drawn, such that mean and variance are right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .bands import parents
from .imputation import TARGETS, blocks, curve_odds
from .metrics import Metric, called
from .model import Floats, features, sigmoid
from .table import CELL_WIDTH, UNLABELED, ScoreTable, gauss_rule
from .trust import Regions

Ints = npt.NDArray[np.int64]


class Slots(NamedTuple):
    """The slots of a group, by rising score, then band.

    score: float64 (slot,), mean score of the rows there; predicted: int64 (slot,); band: int64
    (slot,), index of the band between thresholds, 0 where there are no bands; known: float64
    (slot, 2), weight of labeled negatives and positives; known_rows: float64 (slot, 2), their
    effective number; weight, rows: float64 (slot,), those of unlabeled rows.

    low, high: float64 (slot,), least and greatest logit of the rows there: equal for a distinct
    score, infinite beyond a bound of clipping, the edges of a cell.

    open: int64 (open,), slots that have unlabeled rows; start: int64 (open,), first node of each;
    node_logit, node_share: float64 (node,), nodes of unlabeled rows, and their share of the slot.
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
        """Weight of all rows, labeled and not: float64 (slot,)."""
        return np.asarray(self.known.sum(axis=1) + self.weight)


class Imputed(NamedTuple):
    """A group's slots with all labels, by draw.

    weight: float64 (n, slot), above 0; label: float64 (n, slot), share of positives in [0, 1].
    """

    weight: Floats
    label: Floats


def score_slots(table: ScoreTable) -> tuple[Slots, ...]:
    """Return the slots of every group of a table; parts without weight are left out.

    Of a table with bands, those of the groups without.
    """
    entries, entry, logit, share = _entries(table)
    size, slot = _joined(entries)
    label = entries.stratum % 3
    by_label, by_label_sq = np.zeros((size, 3)), np.zeros((size, 3))
    np.add.at(by_label, (slot, label), entries.weight)
    np.add.at(by_label_sq, (slot, label), entries.weight_sq)
    mean = np.zeros(size)
    np.add.at(mean, slot, entries.weight * entries.score)
    mean /= by_label.sum(axis=1)
    exact = ~entries.is_cell
    mean[slot[exact]] = entries.score[exact]
    stratum = np.zeros(size, dtype=np.int64)
    stratum[slot] = entries.stratum
    whose = parents(table)
    group, band = whose.group[stratum // 6], whose.band[stratum // 6]
    predicted = stratum // 3 % 2
    low, high = np.zeros(size), np.zeros(size)
    low[slot], high[slot] = _extent(entries, table)
    rising = np.lexsort((predicted, band, mean, group))
    rank = np.empty(size, dtype=np.int64)
    rank[rising] = np.arange(size)
    rows = np.divide(by_label**2, by_label_sq, out=np.zeros_like(by_label), where=by_label_sq > 0.0)
    rows = np.where(np.abs(rows - np.rint(rows)) < 1e-6, np.rint(rows), rows)
    node = np.flatnonzero(label[entry] == UNLABELED)
    node = node[np.argsort(rank[slot[entry[node]]], kind="stable")]
    opened, start = np.unique(rank[slot[entry[node]]], return_index=True)
    edges = np.searchsorted(group[rising], np.arange(len(whose.names) + 1))
    at_open = np.searchsorted(opened, edges)
    at_node = np.append(start, len(node))[at_open]
    found = []
    for index in range(len(whose.names)):
        mine = rising[edges[index] : edges[index + 1]]
        some = slice(at_open[index], at_open[index + 1])
        nodes = node[at_node[index] : at_node[index + 1]]
        found.append(
            Slots(
                mean[mine],
                predicted[mine],
                band[mine],
                by_label[mine, :UNLABELED],
                rows[mine, :UNLABELED],
                by_label[mine, UNLABELED],
                rows[mine, UNLABELED],
                low[mine],
                high[mine],
                opened[some] - edges[index],
                (start[some] - at_node[index]).astype(np.int64),
                logit[nodes],
                share[nodes],
            )
        )
    return tuple(found)


class _Entries(NamedTuple):
    """Points and cells of positive weight: `is_cell` says which, `place` is a logit or a cell."""

    stratum: Ints
    is_cell: npt.NDArray[np.bool_]
    place: Floats
    weight: Floats
    weight_sq: Floats
    score: Floats


def _entries(table: ScoreTable) -> tuple[_Entries, Ints, Floats, Floats]:
    """The entries; and of every node its entry, its logit and its share of the entry."""
    points, cells = table.points, table.cells
    points = type(points)._make(column[points.weight > 0.0] for column in points)
    cells = type(cells)._make(column[cells.weight > 0.0] for column in cells)
    first, second = len(points.stratum), len(cells.stratum)
    # each cell under a stratum of its own, to know whose the nodes are
    own = 3 * np.arange(second, dtype=np.int64) + cells.stratum % 3
    nodes = gauss_rule(cells._replace(stratum=own))
    cell = nodes.stratum // 3
    share = nodes.weight / np.bincount(cell, nodes.weight, minlength=second)[cell]
    of_cell = np.bincount(cell, share * sigmoid(nodes.logit), minlength=second)
    entries = _Entries(
        np.concatenate([points.stratum, cells.stratum]),
        np.arange(first + second) >= first,
        np.concatenate([points.logit, cells.cell.astype(np.float64)]),
        np.concatenate([points.weight, cells.weight]),
        np.concatenate([points.weight_sq, cells.weight_sq]),
        np.concatenate([sigmoid(points.logit), of_cell]),
    )
    return (
        entries,
        np.concatenate([np.arange(first), first + cell]),
        np.concatenate([points.logit, nodes.logit]),
        np.concatenate([np.ones(first), share]),
    )


def _extent(entries: _Entries, table: ScoreTable) -> tuple[Floats, Floats]:
    """Least and greatest logit of the rows of each entry."""
    first, last = table.bounds()
    start, end = (np.clip((entries.place + k) * CELL_WIDTH, first, last) for k in (0.0, 1.0))
    low = np.where(entries.is_cell, start, entries.place)
    high = np.where(entries.is_cell, end, entries.place)
    low[~entries.is_cell & (entries.place <= first)] = -np.inf
    high[~entries.is_cell & (entries.place >= last)] = np.inf
    return low, high


def _joined(entries: _Entries) -> tuple[int, Ints]:
    """Join entries that differ in their label alone: the number of slots, and each entry's slot."""
    side = entries.stratum // 3
    order = np.lexsort((entries.place, entries.is_cell, side))
    new = np.zeros(len(order), dtype=bool)
    new[:1] = True
    for column in (side, entries.is_cell, entries.place):
        new[1:] |= column[order][1:] != column[order][:-1]
    slot = np.empty(len(order), dtype=np.int64)
    slot[order] = np.cumsum(new) - 1
    return int(new.sum()), slot


def slot_rates(psi: Floats, slots: Slots, regions: Regions, cap: float = np.inf) -> Floats:
    """Return the mean rate of each slot with unlabeled rows.

    psi (n, 3 + J), of the group -> float64 (n, open).
    """
    if not len(slots.open):
        return np.zeros((len(psi), 0))
    count = np.diff(slots.start, append=len(slots.node_logit))
    predicted = np.repeat(slots.predicted[slots.open], count)
    region = regions.of(3 * predicted, slots.node_logit)
    seen = features(slots.node_logit, "beta")
    on_curve = regions.on_curve[region]
    out = np.empty((len(psi), len(slots.open)))
    for block in blocks(len(psi), len(slots.node_logit)):
        odds = curve_odds(
            psi[block],
            seen.up * on_curve,
            seen.down * on_curve,
            region,
            (regions.on_curve, regions.base, regions.loadings),
            cap,
        )
        # sigmoid in place, in a third of the time of `model.sigmoid`
        rate = np.negative(np.maximum(odds, -700.0, out=odds), out=odds)
        np.exp(rate, out=rate)
        rate += 1.0
        np.divide(slots.node_share, rate, out=rate)
        np.add.reduceat(rate, slots.start, axis=1, out=out[block])
    return np.clip(out, 0.0, 1.0, out=out)


def impute(
    psi: Floats,
    slots: Slots,
    regions: Regions,
    *,
    target: str,
    rng: np.random.Generator,
    cap: float = np.inf,
) -> Imputed:
    """Give every row of a group a label, by draw.

    Parameters
    ----------
    psi
        float64 (n, 3 + J), the group's draws.
    slots, regions
        Of the group, and of the posterior.
    target
        One of "expected", "sample", "population".
    rng
        Used by "sample" and "population".
    cap
        Upper bound on the log odds.

    Returns
    -------
    Imputed. Weights and labels of labeled rows are in it; for "population" weights are up to the
    draw's factor.
    """
    if target not in TARGETS:
        raise ValueError(f"target must be one of {', '.join(TARGETS)}; got {target!r}")
    rate = slot_rates(psi, slots, regions, cap)
    n, size = len(psi), len(slots.score)
    total = slots.total
    if target != "population":
        label = np.empty((n, size))
        label[:] = slots.known[:, 1] / total
        if target == "sample":
            _draw_shares(rate, slots.rows[slots.open], rng)
        at = slots.open
        label[:, at] = (slots.known[at, 1] + slots.weight[at] * rate) / total[at]
        return Imputed(np.broadcast_to(total, (n, size)), np.clip(label, 0.0, 1.0))
    known = slots.known
    each = np.divide(known, slots.known_rows, out=np.ones_like(known), where=known > 0.0)
    weight, label = np.empty((n, size)), np.empty((n, size))
    at = slots.open
    for block in blocks(n, size):
        shape = (block.stop - block.start, size, 2)
        mass = rng.standard_gamma(slots.known_rows, shape) * each
        extra = rng.standard_gamma(slots.rows[at], (shape[0], len(at)))
        extra *= slots.weight[at] / slots.rows[at]
        mass[:, at, 1] += extra * rate[block]
        mass[:, at, 0] += extra * (1.0 - rate[block])
        weight[block] = mass.sum(axis=2)
        label[block] = mass[..., 1] / weight[block]
    return Imputed(weight, label)


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
    """Impute one group of a posterior: psi (chain, draw, group, 3 + J), draws in that order.

    The same seed gives the same labels.
    """
    mine = psi[:, :, index].reshape(-1, psi.shape[-1])
    rng = np.random.default_rng([seed, index])
    return impute(mine, slots, regions, target=target, rng=rng, cap=cap)


def slot_theta(metric: Metric, score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return a metric of nodes.

    Parameters
    ----------
    metric
        Of nodes.
    score
        float64 (slot,), rising.
    weight, label
        float64 (n, slot), as in `Imputed`.

    Returns
    -------
    float64 (n,); NaN where it is undefined, and where there is no slot.
    """
    out = np.full(len(label), np.nan)
    takes = "score (slot,), weight and label (draw, slot)"
    for block in blocks(len(label), len(score)) if len(score) else ():
        arguments = (score.view(), weight[block], label[block])
        for argument in arguments:
            argument.flags.writeable = False
        out[block] = called(metric, arguments, (block.stop - block.start,), takes)
    return out


def frequency(metric: Metric, slots: Slots) -> float:
    """Return a metric of nodes among the labeled rows of a group; NaN where it is undefined."""
    seen = slots.known.sum(axis=1) > 0.0
    weight = slots.known[seen].sum(axis=1)
    label = slots.known[seen, 1] / weight
    return float(slot_theta(metric, slots.score[seen], weight[None], label[None])[0])


def confusion(imputed: Imputed, slots: Slots) -> Floats:
    """Return the confusion counts of imputed slots, float64 (n, predicted, label)."""
    out = np.empty((len(imputed.label), 2, 2))
    for side in (0, 1):
        mine = slots.predicted == side
        weight, label = imputed.weight[:, mine], imputed.label[:, mine]
        out[:, side, 1] = (weight * label).sum(axis=1)
        out[:, side, 0] = (weight * (1.0 - label)).sum(axis=1)
    return out


def _draw_shares(rate: Floats, rows: Floats, rng: np.random.Generator) -> None:
    """Replace rates (n, open) by drawn shares of positives among `rows` (open,) rows."""
    low = np.maximum(np.floor(rows), 1.0)
    # chance of low + 1 rows, such that the mean of 1 / number is 1 / rows
    more = (1.0 / low - 1.0 / np.maximum(rows, low)) * low * (low + 1.0)
    uneven = bool((more > 0.0).any())
    for block in blocks(len(rate), rate.shape[1]):
        number = np.broadcast_to(low, rate[block].shape)
        if uneven:
            number = low + (rng.random(rate[block].shape) < more)
        rate[block] = rng.binomial(number.astype(np.int64), rate[block]) / number
