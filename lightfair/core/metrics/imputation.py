"""Imputation: from draws of the curves to draws of each group's confusion counts.

The count of a cell of the confusion table is what the labels show plus what the unlabeled rows
add (Ji, Smyth and Steyvers 2020, equation 1). What they add depends on the target:

expected
    the sum of their calibrated probabilities f, as the equation is printed;
sample
    a draw of their labels, y ~ Bernoulli(f): the counts that these very rows would show;
population
    the rows, labeled ones too, are a sample: the expected counts under the Bayesian bootstrap,
    rows weighted by Exp(1) draws. f stays a probability, for a population is large.

All three work on the nodes of a table. Sums of Bernoullis per stratum are drawn from their
distribution at once: exactly where a stratum has at most 32 rows, else from a binomial or a
Cornish-Fisher expansion with the same first two or three cumulants.

Slots: the finest parts of a group's scores, and draws of their labels.

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

from ..data.bands import parents
from ..data.logit import Floats, sigmoid
from ..data.nodes import CELL_WIDTH, UNLABELED, gauss_rule
from ..data.quadrature import merge
from ..data.table import ScoreTable
from ..model.curve import features
from ..model.likelihood import pieces
from ..model.regions import Regions, no_regions
from .definitions import Metric, called

TARGETS = ("expected", "sample", "population")

SMALL = 32  # rows up to which a sum of Bernoullis is drawn exactly

BLOCK = 1_000_000  # numbers in a temporary array


class Counts(NamedTuple):
    """Confusion counts, float64 (chain, draw, group, predicted, label).

    drawn: those of the target; expected: those whose unlabeled part is a sum of probabilities, a
    smooth function of the curves, by which convergence is judged. Sums of row weights.
    """

    drawn: Floats
    expected: Floats


class Unlabeled(NamedTuple):
    """Unlabeled nodes, sorted by stratum (group * 2 + predicted) and region.

    up, down: float64 (node,), features, 0 in a mass; weight, scale: as in `table.Nodes`; region:
    int64 (node,); start: int64 (2 G + 1,), first node of each stratum; total: float64 (2 G,),
    weight of each stratum; offset, base, loadings: as in `evidence.Evidence`.
    """

    up: Floats
    down: Floats
    weight: Floats
    scale: Floats
    region: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    total: Floats
    offset: Floats
    base: Floats
    loadings: Floats


def unlabeled(
    table: ScoreTable, regions: Regions | None = None, *, cap: float = np.inf
) -> Unlabeled:
    """Take the unlabeled nodes out of a table; those of large, unweighted strata are merged."""
    where = no_regions() if regions is None else regions
    nodes = table.nodes()
    mine = nodes.stratum % 3 == UNLABELED
    stratum, logit = nodes.stratum[mine] // 3, nodes.logit[mine]
    weight, scale = nodes.weight[mine], nodes.scale[mine]
    size = len(where.loadings)
    key = stratum * size + where.of(nodes.stratum[mine], logit)
    kept = _uneven(stratum, weight, scale, 2 * len(table.groups))[stratum]
    if np.isfinite(cap):
        kept[:] = True
    even = np.ones(2 * len(table.groups))
    even[stratum] = scale
    merged = merge(key[~kept], logit[~kept], weight[~kept])
    key, logit, weight = (
        np.concatenate(pair)
        for pair in zip((key[kept], logit[kept], weight[kept]), merged, strict=True)
    )
    scale = np.concatenate([scale[kept], even[merged[0] // size]])
    order = np.argsort(key, kind="stable")
    key, logit, weight, scale = key[order], logit[order], weight[order], scale[order]
    stratum, region = np.divmod(key, size)
    seen = features(logit, "beta")
    return Unlabeled(
        seen.up * where.on_curve[region],
        seen.down * where.on_curve[region],
        weight,
        scale,
        region,
        np.searchsorted(stratum, np.arange(2 * len(table.groups) + 1)).astype(np.int64),
        table.sums("weight")[..., UNLABELED].ravel(),
        where.on_curve,
        where.base,
        where.loadings,
    )


def _uneven(
    stratum: npt.NDArray[np.int64], weight: Floats, scale: Floats, size: int
) -> npt.NDArray[np.bool_]:
    """Strata, bool (size,), whose nodes stay: few rows, or rows of different weights."""
    low, high = np.full(size, np.inf), np.zeros(size)
    np.minimum.at(low, stratum, scale)
    np.maximum.at(high, stratum, scale)
    total = np.bincount(stratum, weight, minlength=size)
    return np.asarray((high - low > 1e-12 * high) | ~(total > SMALL * high))


def confusion_counts(
    psi: Floats,
    table: ScoreTable,
    *,
    target: str,
    rng: np.random.Generator,
    cap: float = np.inf,
    regions: Regions | None = None,
    jit: bool = False,
) -> Counts:
    """Draw the confusion counts of every group.

    Parameters
    ----------
    psi
        float64 (chain, draw, group, 3 + J): log a, log b, c, and the deviations of the regions.
        Every family is a beta curve by now.
    table
        Of all rows, labeled and unlabeled.
    cap
        Upper bound on the log odds.
    target
        One of "expected", "sample", "population".
    rng
        Used by "sample" and "population".
    regions
        Where the deviations live; None where there are none.

    Returns
    -------
    Counts. For "population" the drawn ones are up to a factor of each group and draw, and stand
    for the expected ones too.
    """
    flat = psi.reshape(-1, *psi.shape[2:])
    nodes = unlabeled(table, regions, cap=cap)
    known = table.sums("weight")
    shape = (*psi.shape[:3], 2, 2)
    if target == "population":
        counts = _bootstrapped(flat, nodes, known, table.sums("weight_sq"), cap, rng)
        return Counts(counts.reshape(shape), counts.reshape(shape))
    moments = cumulants(flat, nodes, cap, jit=jit)
    expected = _with_labeled(moments[..., 0], known).reshape(shape)
    if target == "expected":
        return Counts(expected, expected)
    positive = _sums_of_bernoullis(flat, nodes, moments, cap, rng)
    return Counts(_with_labeled(positive, known).reshape(shape), expected)


def _with_labeled(positive: Floats, known: Floats) -> Floats:
    """Add unlabeled positives (n, group, predicted), and the negatives, to the labeled."""
    counts = np.empty((*positive.shape, 2))
    counts[..., 1] = known[..., 1] + positive
    counts[..., 0] = known[..., 0] + (known[..., UNLABELED] - positive)
    return counts


def cumulants(psi: Floats, nodes: Unlabeled, cap: float, *, jit: bool = False) -> Floats:
    """Mean, variance and third cumulant of the number of unlabeled positives.

    psi (n, group, 3 + J) -> float64 (n, group, predicted, 3).
    """
    n, groups, _ = psi.shape
    out = np.zeros((n, groups, 2, 3))
    if jit:
        from ..mcmc.kernels import cumulants as kernel

        stack = np.stack([nodes.up, nodes.down, nodes.weight, nodes.scale])
        curves = np.ascontiguousarray(psi.reshape(n, -1))
        kernel(curves, stack, *pieces(nodes), cap, out.reshape(n, -1))
        return out
    for stratum in range(2 * groups):
        part = slice(nodes.start[stratum], nodes.start[stratum + 1])
        weight = nodes.weight[part]
        weights = np.stack([weight, weight * nodes.scale[part], weight * nodes.scale[part] ** 2], 1)
        for block in blocks(n, len(weight)):
            rate = _rates(psi[block], nodes, stratum, cap)
            noise = rate * (1.0 - rate)
            sums = out[block, stratum // 2, stratum % 2]
            sums[:, 0] = rate @ weights[:, 0]
            sums[:, 1] = noise @ weights[:, 1]
            sums[:, 2] = (noise * (1.0 - 2.0 * rate)) @ weights[:, 2]
    return out


def _rates(psi: Floats, nodes: Unlabeled, stratum: int, cap: float) -> Floats:
    """f at the nodes of a stratum, (n, node), for psi (n, group, 3 + J)."""
    part = slice(nodes.start[stratum], nodes.start[stratum + 1])
    columns = (nodes.offset, nodes.base, nodes.loadings)
    mine = psi[:, stratum // 2]
    odds = curve_odds(mine, nodes.up[part], nodes.down[part], nodes.region[part], columns, cap)
    return sigmoid(odds)


def curve_odds(
    psi: Floats,
    up: Floats,
    down: Floats,
    region: npt.NDArray[np.int64],
    columns: tuple[Floats, Floats, Floats],
    cap: float,
) -> Floats:
    """Return the log odds of f at the nodes of a group, float64 (n, node), for psi (n, 3 + J).

    up, down, region: of the nodes, as in `Unlabeled`; columns: offset, base and loadings there.
    """
    offset, base, loadings = columns
    la, lb, c = (psi[:, i, None] for i in range(3))
    odds = offset[region] * c + np.exp(la) * up + np.exp(lb) * down
    if loadings.shape[1]:
        odds = odds + (psi[:, 3:] @ loadings.T)[:, region] + base[region]
    return np.minimum(odds, cap)


def _bootstrapped(
    psi: Floats,
    nodes: Unlabeled,
    known: Floats,
    known_sq: Floats,
    cap: float,
    rng: np.random.Generator,
) -> Floats:
    """Confusion counts under Exp(1) weights of all rows, (n, group, predicted, label).

    The total weight of k rows is Gamma(k); a node that stands for k rows gets that, k whole or not.
    """
    n, groups, _ = psi.shape
    rows = _rows_of(known, known_sq)[..., :UNLABELED]
    size = np.divide(known[..., :UNLABELED], rows, out=np.ones_like(rows), where=rows > 0.0)
    counts = np.asarray(rng.standard_gamma(rows, (n, groups, 2, 2)) * size)
    for stratum in range(2 * groups):
        part = slice(nodes.start[stratum], nodes.start[stratum + 1])
        scale = nodes.scale[part]
        shape = nodes.weight[part] / scale
        for block in blocks(n, len(scale)):
            rate = _rates(psi[block], nodes, stratum, cap)
            mass = rng.standard_gamma(shape, rate.shape) * scale
            mine = counts[block, stratum // 2, stratum % 2]
            mine[:, 1] += (rate * mass).sum(axis=1)
            mine[:, 0] += ((1.0 - rate) * mass).sum(axis=1)
    return counts


def _sums_of_bernoullis(
    psi: Floats, nodes: Unlabeled, moments: Floats, cap: float, rng: np.random.Generator
) -> Floats:
    """Draw the weight of the unlabeled positives, (n, group, predicted).

    Where all rows of a stratum weigh the same, their number is drawn. Where weights differ, the sum
    is drawn from a continuous distribution with its first three cumulants; with a handful of rows
    that is rough.
    """
    uniform = rng.random(moments.shape[:-1])
    normal = rng.standard_normal(moments.shape[:-1])
    positive = np.empty(moments.shape[:-1])
    for stratum in range(2 * moments.shape[1]):
        at = (slice(None), *divmod(stratum, 2))
        part = slice(nodes.start[stratum], nodes.start[stratum + 1])
        scale = nodes.scale[part]
        total = nodes.total[stratum]
        if total == 0.0 or np.ptp(scale) > 1e-12 * scale[0]:
            positive[at] = cornish_fisher(moments[at], normal[at], total, whole=False)
            continue
        size = scale[0]
        rows = float(np.rint(total / size))
        per_row = moments[at] / size ** np.arange(1.0, 4.0)
        if rows <= SMALL:
            rate = _rates(psi, nodes, stratum, cap)
            repeat = np.rint(nodes.weight[part] / size).astype(np.int64)
            count = exact_sum(np.repeat(rate, repeat, axis=1), uniform[at])
        else:
            count = cornish_fisher(per_row, normal[at], rows, whole=True)
            rare = _is_rare(per_row, rows)
            if rare.any():
                count[rare] = matched_binomial(per_row[rare, :2], rows, uniform[at][rare])
        positive[at] = count * size
    return positive


def exact_sum(rate: Floats, uniform: Floats) -> Floats:
    """Invert the distribution of a sum of independent Bernoullis; rate (n, row), uniform (n,)."""
    n, rows = rate.shape
    mass = np.zeros((n, rows + 1))
    mass[:, 0] = 1.0
    for i in range(rows):
        p = rate[:, i, None]
        mass[:, 1:] = mass[:, 1:] * (1.0 - p) + mass[:, :-1] * p
        mass[:, :1] *= 1.0 - p
    below = np.cumsum(mass, axis=1)[:, :-1] <= uniform[:, None]
    return np.asarray(below.sum(axis=1), dtype=np.float64)


def matched_binomial(moments: Floats, rows: float, uniform: Floats) -> Floats:
    """Invert the binomial of the same mean and variance, counting the rarer of the two labels.

    moments (n, 2): mean and variance of the count of positives among `rows` rows; uniform (n,). The
    number of trials, mean^2 / (mean - variance), need not be whole.
    """
    flip = moments[:, 0] > 0.5 * rows
    mean = np.where(flip, rows - moments[:, 0], moments[:, 0])
    gap = np.maximum(mean - moments[:, 1], 1e-9 * mean)
    p = np.where(mean > 0.0, gap / np.maximum(mean, 1e-300), 0.0)
    p = np.minimum(p, 1.0 - 1e-12)
    trials = np.where(p > 0.0, mean / np.maximum(p, 1e-300), 0.0)
    mass = np.exp(trials * np.log1p(-p))
    below = mass.copy()
    count = np.zeros(len(mean))
    odds = p / (1.0 - p)
    last = np.minimum(np.ceil(trials), rows)
    for k in range(int(min(rows, 64 + 8 * 16))):
        more = (uniform >= below) & (k < last)
        if not more.any():
            break
        count += more
        mass = mass * np.maximum(trials - k, 0.0) / (k + 1.0) * odds
        below = below + mass
    return np.where(flip, rows - count, count)


def cornish_fisher(moments: Floats, normal: Floats, total: float, *, whole: bool) -> Floats:
    """A normal with the skewness of the count (..., 3 cumulants), rounded where rows count once.

    Rounding adds a variance of 1/12, which is taken off first.
    """
    mean, variance = moments[..., 0], moments[..., 1]
    sd = np.sqrt(variance)
    skew = np.divide(moments[..., 2], sd**3, out=np.zeros_like(sd), where=sd > 1e-9)
    inner = np.sqrt(np.maximum(variance - 1.0 / 12.0, 0.0)) if whole else sd
    bend = np.clip(skew, -1.0, 1.0) / 6.0 * (normal * normal - 1.0)
    count = mean + inner * (normal + bend)
    if whole:
        count = np.floor(count + 0.5)
    return np.asarray(np.clip(count, 0.0, total))


def _is_rare(moments: Floats, rows: float) -> npt.NDArray[np.bool_]:
    """Where `matched_binomial` serves: the rarer label is rare, and each row's chance of it small.

    With a variance far below the mean the matched chance is large and the number of trials not
    whole: no binomial then.
    """
    mean = np.minimum(moments[:, 0], rows - moments[:, 0])
    return np.asarray((moments[:, 1] < 16.0) & (moments[:, 1] > 0.5 * mean))


def _rows_of(weight: Floats, weight_sq: Floats) -> Floats:
    """Effective number of rows of weighted rows (Kish): squared sum over sum of squares."""
    return np.divide(weight * weight, weight_sq, out=np.zeros_like(weight), where=weight_sq > 0.0)


def blocks(n: int, width: int) -> list[slice]:
    """Cut n into slices such that a block of that width is no larger than `BLOCK`."""
    size = max(1, BLOCK // max(width, 1))
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


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
