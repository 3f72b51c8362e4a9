"""Impute the labels of unlabeled rows, for each posterior draw of the calibration curves.

A cell of the confusion table counts labeled rows plus a contribution of the unlabeled ones (Ji,
Smyth and Steyvers 2020, equation 1), which depends on the target:

expected
    the sum of their calibrated probabilities f, as in the equation;
sample
    a draw of their labels, y ~ Bernoulli(f): the counts of these very rows;
population
    rows, labeled ones too, are a sample: expected counts under the Bayesian bootstrap, with Exp(1)
    weights of the rows, and `PSEUDO` of a row more in each cell. f stays a probability, for a
    population is large.

The bootstrap alone (Rubin 1981) gives no weight to what the sample lacks: after ten right decisions
accuracy would be 1 in every draw. With the pseudo-rows, if all rows are labeled, cells of k rows
are Dirichlet(k + 1/2), the posterior under the prior of Jeffreys (1946) for a multinomial: a prior
Beta(1/2, 1/2) of tpr, Beta(1, 1) of accuracy. 95 % intervals of fully labeled groups, mean over 36
populations, 60 data sets each, of accuracy, tpr, fpr, ppv and selection rate and of differences of
two groups; bootstrap, then with 1/4, 1/2 and 1 rows:

    rows   least coverage of the ten, %   mean width                mean interval score
    10     32   94   95   90              0.45  0.66  0.68  0.67    2.3   0.82  0.75  0.74
    20     49   93   94   90              0.40  0.50  0.52  0.52    1.5   0.63  0.61  0.58
    50     69   94   95   93              0.30  0.33  0.34  0.35    0.67  0.42  0.41  0.40
    200    88   93   94   95              0.17  0.17  0.17  0.18    0.23  0.21  0.21  0.21

Pooled groups share the pseudo-rows of one; half a row of each of many groups would add up. In
metrics of scores there are two of them, one of each label, each at the score of a random row of the
group: auc of 10 rows was covered in 96 to 99 % instead of 37 to 85 %. A mean of scores alone has no
width where all scores are equal. Treatment equality has an infinite mean where no false positive is
known: read its median.

The sum of Bernoullis of a stratum (group, predicted class) is drawn at once: exactly for at most 32
rows, else from a binomial or a Cornish-Fisher expansion that matches its first two or three
cumulants. Metrics of scores and curves over thresholds need labels by score (`score_bins`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..data.logit import Floats, Ints, over, sigmoid
from ..data.nodes import UNLABELED
from ..data.quadrature import merge
from ..data.table import ScoreTable
from ..model.curve import features
from ..model.likelihood import log_odds, runs
from ..model.regions import Regions, no_regions

TARGETS = ("expected", "sample", "population")

SMALL = 32  # rows up to which a sum of Bernoullis is drawn exactly

RARE = 16.0  # variance below which a skewed sum is drawn from a binomial

BLOCK = 1_000_000  # numbers in a temporary array

PSEUDO = 0.5  # rows added to each cell of the confusion table of a group, for "population"


class Counts(NamedTuple):
    """Confusion counts, float64 (chain, draw, group, predicted, label): sums of row weights.

    drawn: those of the target; expected: with the sum of probabilities in place of drawn labels, a
    smooth function of the curves, for the convergence check.
    """

    drawn: Floats
    expected: Floats


class Unlabeled(NamedTuple):
    """Unlabeled nodes, sorted by stratum (group * 2 + predicted) and region.

    design, base: as in `likelihood.LabeledData`; weight, scale: as in `Nodes`; region: intp
    (node,); start: intp (2 G + 1,), first node of each stratum; total: float64 (2 G,), weight of
    each stratum.
    """

    design: Floats
    base: Floats
    weight: Floats
    scale: Floats
    region: Ints
    start: Ints
    total: Floats


def unlabeled(
    table: ScoreTable, regions: Regions | None = None, *, cap: float = np.inf
) -> Unlabeled:
    """Return the unlabeled nodes of a table, fewer of them in large strata.

    Nodes stay as they are if a cap bounds the log odds, in strata of at most `SMALL` rows, and
    where row weights differ.
    """
    where = no_regions() if regions is None else regions
    nodes, strata, size = table.nodes(), 2 * len(table.groups), len(where.loadings)
    nodes = type(nodes)._make(column[nodes.stratum % 3 == UNLABELED] for column in nodes)
    stratum = nodes.stratum // 3
    low, high = np.full(strata, np.inf), np.zeros(strata)
    np.minimum.at(low, stratum, nodes.scale)
    np.maximum.at(high, stratum, nodes.scale)
    small = ~(np.bincount(stratum, nodes.weight, minlength=strata) > SMALL * high)
    kept = (small | (high - low > 1e-12 * high) | np.isfinite(cap))[stratum]
    key = stratum * size + where.of(nodes.stratum, nodes.logit)
    merged = merge(key[~kept], nodes.logit[~kept], nodes.weight[~kept])
    parts = (
        (key[kept], nodes.logit[kept], nodes.weight[kept], nodes.scale[kept]),
        (*merged, high[merged[0] // size]),
    )
    key, logit, weight, scale = map(np.concatenate, zip(*parts, strict=True))
    order = np.argsort(key, kind="stable")
    stratum, region = np.divmod(key[order], size)
    return Unlabeled(
        where.design(features(logit[order], "beta"), region),
        where.base[region],
        weight[order],
        scale[order],
        region,
        np.searchsorted(stratum, np.arange(strata + 1)),
        table.sums("weight")[..., UNLABELED].ravel(),
    )


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
        float64 (chain, draw, group, 3 + J): log a, log b, c of the beta curve, and the deviations
        of the regions.
    table
        Of all rows, labeled and unlabeled.
    target
        One of "expected", "sample", "population".
    rng
        Used by "sample" and "population".
    cap
        Upper bound of the log odds.
    regions
        Of the deviations; None without them.
    jit
        Whether the compiled form of the cumulants is used.

    Returns
    -------
    Counts. For "population" both arrays are the drawn counts, up to a factor per group and draw.
    """
    flat = psi.reshape(-1, *psi.shape[2:])
    nodes = unlabeled(table, regions, cap=cap)
    shape = (*psi.shape[:3], 2, 2)
    if target == "population":
        counts = _bootstrap(flat, nodes, table, cap, rng).reshape(shape)
        return Counts(counts, counts)
    moments = cumulants(flat, nodes, cap, jit=jit)
    expected = _add_labeled(moments[..., 0], table).reshape(shape)
    if target == "expected":
        return Counts(expected, expected)
    positive = _draw_positives(flat, nodes, moments, cap, rng)
    return Counts(_add_labeled(positive, table).reshape(shape), expected)


def _add_labeled(positive: Floats, table: ScoreTable) -> Floats:
    """Confusion counts (n, group, predicted, label), given unlabeled positives (n, ...)."""
    known = table.sums("weight")
    negative = known[..., UNLABELED] - positive
    return np.stack([known[..., 0] + negative, known[..., 1] + positive], axis=-1)


def cumulants(psi: Floats, nodes: Unlabeled, cap: float, *, jit: bool = False) -> Floats:
    """Return mean, variance and third cumulant of the unlabeled positives.

    psi (n, group, 3 + J) -> float64 (n, group, predicted, 3).
    """
    n, groups, _ = psi.shape
    sums = np.zeros((n, groups, 2, 3))
    if jit:
        from ..mcmc.kernels import cumulants as kernel

        stack = np.stack([*nodes.design[:2], nodes.weight, nodes.scale])
        curves = np.ascontiguousarray(psi.reshape(n, -1))
        kernel(curves, stack, *runs(nodes), cap, sums.reshape(n, -1))
        return sums
    for stratum, part, block, rate in _by_block(psi, nodes, cap):
        weight, scale = nodes.weight[part], nodes.scale[part]
        noise = rate * (1.0 - rate)
        of_block = sums[block, stratum // 2, stratum % 2]
        of_block[:, 0] = rate @ weight
        of_block[:, 1] = noise @ (weight * scale)
        of_block[:, 2] = (noise * (1.0 - 2.0 * rate)) @ (weight * scale**2)
    return sums


def _by_block(
    psi: Floats, nodes: Unlabeled, cap: float
) -> Iterator[tuple[int, slice, slice, Floats]]:
    """Yield (stratum, its nodes, block of draws, f there (n, node)) for psi (n, group, 3 + J)."""
    for stratum in range(len(nodes.total)):
        part = slice(*nodes.start[stratum : stratum + 2])
        at = nodes.design[:, part], nodes.base[part]
        for block in blocks(len(psi), part.stop - part.start):
            yield stratum, part, block, sigmoid(log_odds(psi[block, stratum // 2], *at, cap))


def _bootstrap(
    psi: Floats, nodes: Unlabeled, table: ScoreTable, cap: float, rng: np.random.Generator
) -> Floats:
    """Confusion counts under Exp(1) weights of all rows, (n, group, predicted, label).

    The total weight of k rows is Gamma(k), for a node that stands for k rows too, whole or not.
    """
    weight, weight_sq = (table.sums(column)[..., :UNLABELED] for column in ("weight", "weight_sq"))
    rows = over(weight * weight, weight_sq, 0.0)  # their effective number (Kish)
    size = over(weight, rows, 1.0)
    counts = np.asarray(rng.standard_gamma(rows, (len(psi), *rows.shape)) * size)
    for stratum, part, block, rate in _by_block(psi, nodes, cap):
        scale = nodes.scale[part]
        drawn = rng.standard_gamma(nodes.weight[part] / scale, rate.shape) * scale
        of_block = counts[block, stratum // 2, stratum % 2]
        of_block[:, 1] += (rate * drawn).sum(axis=1)
        of_block[:, 0] += ((1.0 - rate) * drawn).sum(axis=1)
    return counts


def pseudo_rows(
    table: ScoreTable,
    shape: tuple[int, ...],
    *,
    target: str,
    seed: int | np.random.Generator,
    models: int = 1,
) -> Floats:
    """Draw the weight of the pseudo-rows of each cell of the confusion tables.

    float64 (chain, draw, group, predicted, label); (1, 1, ...) and 0 for finite targets. With
    several models `predicted` is an axis for each, and the sums of each have the same prior.
    """
    groups, cells = len(table.groups), (2,) * (models + 1)
    if target != "population":
        return np.zeros((1, 1, groups, *cells))
    rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng([seed, groups])
    drawn = rng.standard_gamma(PSEUDO / 2.0 ** (models - 1), (*shape, groups, *cells))
    return np.asarray(drawn * row_weight(table).reshape(-1, *(1,) * (models + 1)))


def row_weight(table: ScoreTable) -> Floats:
    """Return the weight of an effective row (Kish) of each group, float64 (group,)."""
    weight, weight_sq = (table.sums(name).sum(axis=(1, 2)) for name in ("weight", "weight_sq"))
    return over(weight_sq, weight, 1.0)


def _draw_positives(
    psi: Floats, nodes: Unlabeled, moments: Floats, cap: float, rng: np.random.Generator
) -> Floats:
    """Draw the weight of the unlabeled positives, (n, group, predicted).

    If rows of a stratum have one weight, and are whole, their number is drawn. Else the sum is
    drawn from a continuous distribution with its first three cumulants, a rough one for a few rows.
    """
    uniform = rng.random(moments.shape[:-1])
    normal = rng.standard_normal(moments.shape[:-1])
    positive = np.empty(moments.shape[:-1])
    for stratum, total in enumerate(nodes.total):
        at = (slice(None), *divmod(stratum, 2))
        part = slice(*nodes.start[stratum : stratum + 2])
        scale = nodes.scale[part]
        uneven = total == 0.0 or np.ptp(scale) > 1e-12 * scale[0]
        if uneven or abs(total - np.rint(total / scale[0]) * scale[0]) > 1e-6 * total:
            positive[at] = cornish_fisher(moments[at], normal[at], total, whole=False)
            continue
        rows = float(np.rint(total / scale[0]))
        per_row = moments[at] / scale[0] ** np.arange(1.0, 4.0)
        if rows <= SMALL:
            repeat = np.rint(nodes.weight[part] / scale[0]).astype(np.intp)
            where = nodes.design[:, part], nodes.base[part]
            rate = sigmoid(log_odds(psi[:, stratum // 2], *where, cap))
            count = exact_sum(np.repeat(rate, repeat, axis=1), uniform[at])
        else:
            count = cornish_fisher(per_row, normal[at], rows, whole=True)
            mean = np.minimum(per_row[:, 0], rows - per_row[:, 0])
            # no binomial if the variance is far below the mean: its few trials are not whole
            rare = (per_row[:, 1] < RARE) & (per_row[:, 1] > 0.5 * mean)
            count[rare] = matched_binomial(per_row[rare, :2], rows, uniform[at][rare])
        positive[at] = count * scale[0]
    return positive


def exact_sum(rate: Floats, uniform: Floats) -> Floats:
    """Invert the distribution of a sum of independent Bernoullis; rate (n, row), uniform (n,)."""
    n, rows = rate.shape
    mass = np.zeros((n, rows + 1))
    mass[:, 0] = 1.0
    for p in rate.T[..., None]:
        mass[:, 1:] = mass[:, 1:] * (1.0 - p) + mass[:, :-1] * p
        mass[:, :1] *= 1.0 - p
    below = np.cumsum(mass, axis=1)[:, :-1] <= uniform[:, None]
    return np.asarray(below.sum(axis=1), dtype=np.float64)


def matched_binomial(moments: Floats, rows: float, uniform: Floats) -> Floats:
    """Invert the binomial of the same mean and variance, counting the rarer of the two labels.

    moments (n, 2): mean and variance of the positives among `rows` rows; uniform (n,). The number
    of trials, mean^2 / (mean - variance), need not be whole.
    """
    flip = moments[:, 0] > 0.5 * rows
    mean = np.where(flip, rows - moments[:, 0], moments[:, 0])
    excess = np.maximum(mean - moments[:, 1], 1e-9 * mean)
    p = np.minimum(excess / np.maximum(mean, 1e-300), 1.0 - 1e-12)
    trials = np.where(p > 0.0, mean / np.maximum(p, 1e-300), 0.0)
    mass = np.exp(trials * np.log1p(-p))
    below, count = mass.copy(), np.zeros(len(mean))
    last = np.minimum(np.ceil(trials), rows)
    for k in range(int(min(rows, 64.0 + 8.0 * RARE))):
        more = (uniform >= below) & (k < last)
        if not more.any():
            break
        count += more
        mass = mass * np.maximum(trials - k, 0.0) / (k + 1.0) * (p / (1.0 - p))
        below = below + mass
    return np.where(flip, rows - count, count)


def cornish_fisher(moments: Floats, normal: Floats, total: float, *, whole: bool) -> Floats:
    """Transform normals to the skewness of moments (..., 3 cumulants), rounded if `whole`.

    Rounding adds a variance of 1/12, which is subtracted first.
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


def blocks(n: int, width: int) -> list[slice]:
    """Cut n into slices such that a block of that width is no larger than `BLOCK`."""
    size = max(1, BLOCK // max(width, 1))
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]
