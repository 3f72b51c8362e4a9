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
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .evidence import pieces
from .model import Floats, features, sigmoid
from .quadrature import merge
from .table import UNLABELED, ScoreTable
from .trust import Regions, no_regions

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
        from ._kernels import cumulants as kernel

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
