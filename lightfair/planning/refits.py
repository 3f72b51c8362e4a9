"""Preposterior simulation: the intervals of simulated data sets with more labels.

Each of some draws of the posterior is the truth of data sets: random unlabeled rows get labels at
its rates, and the model is fitted again. Among the data sets of one truth the smaller sets of
labels are subsets of the larger ones, so that widths do not vary by chance between them. All data
sets are fitted in one batch of short chains.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.data.logit import Floats, Ints, sigmoid
from ..core.data.nodes import UNLABELED, Cells, Points, settled
from ..core.data.table import ScoreTable
from ..core.mcmc.sampler import start_chains, take_draws
from ..core.metrics.definitions import theta
from ..core.metrics.estimate import UNDEFINED_LIMIT, tails
from ..core.metrics.imputation import confusion_counts
from ..core.model.curve import tie
from ..core.model.likelihood import labeled_data
from ..core.model.regions import trusted_scales
from .contrasts import Contrasts
from .forecast import Bins, count_metric, log_odds, unlabeled_parts

if TYPE_CHECKING:
    from ..core.assessment import Assessment

MAX_ROWS = 10**9  # from which NumPy draws without replacement

CHAINS, WARMUP, DRAWS = 2, 150, 250  # widths are within 1 to 2 % of those of long chains


def refitted_widths(
    result: Assessment,
    metric: str,
    contrasts: Contrasts,
    numbers: list[int],
    truths: Ints,
    rng: np.random.Generator,
) -> Floats:
    """Return interval widths of contrasts of the groups' metrics in simulated data sets.

    Parameters
    ----------
    numbers
        Increasing numbers of extra labels, of random rows.
    truths
        intp (R,), draws of the posterior, chains one after the other.

    Returns
    -------
    float64 (R, P, E); NaN where the contrast is undefined in too many draws.
    """
    settings, of = result.settings, count_metric(result, metric)
    tables = future_tables(result, numbers, truths, rng)
    psi, jit = fit_tables(result, tables, rng)
    options: Any = {"cap": settings.cap, "regions": result.imputing.regions, "jit": jit}
    widths = np.full((len(tables), len(contrasts.pairs)), np.nan)
    for i, (curves, table) in enumerate(zip(psi, tables, strict=True)):
        counts = confusion_counts(curves, table, target=settings.target, rng=rng, **options)
        draws = theta(of, counts.drawn).reshape(-1, len(result.groups))
        for e, row in enumerate(contrasts.matrix):
            widths[i, e] = _width(draws[:, row != 0.0] @ row[row != 0.0], contrasts.prob)
    return widths.reshape(len(truths), len(numbers), -1)


def future_tables(
    result: Assessment, numbers: list[int], truths: Ints, rng: np.random.Generator
) -> list[ScoreTable]:
    """Return tables with simulated labels: truth by truth, and number by number in each."""
    parts = unlabeled_parts(result.table, result.imputing.regions)
    psi = result.imputing.psi.reshape(-1, *result.imputing.psi.shape[2:])[truths]
    odds = np.minimum(log_odds(psi, parts, result.imputing.regions), result.settings.cap)
    tables = []
    for rate in sigmoid(odds):
        left = np.rint(parts.rows).astype(np.int64)
        chosen, positive = np.zeros_like(left), np.zeros_like(left)
        for size in np.diff(numbers, prepend=0).tolist():
            new = draw_rows(left, size, rng)
            positive += rng.binomial(new, rate)
            chosen += new
            left -= new
            tables.append(labeled(result.table, parts, chosen, positive))
    return tables


def draw_rows(left: Ints, size: int, rng: np.random.Generator) -> Ints:
    """Draw rows without replacement; with it if there are too many rows for it to matter."""
    total = int(left.sum())
    if total < MAX_ROWS:
        return np.asarray(rng.multivariate_hypergeometric(left, size), dtype=np.int64)
    return np.asarray(np.minimum(rng.multinomial(size, left / total), left), dtype=np.int64)


def labeled(table: ScoreTable, parts: Bins, chosen: Ints, positive: Ints) -> ScoreTable:
    """Return the table after some of its unlabeled rows get labels.

    Parameters
    ----------
    parts
        The unlabeled rows, `unlabeled_parts(table, ...)`.
    chosen, positive
        int64 (part,), rows of each part that get a label, and those of them that are positive.

    Notes
    -----
    The rows of a part are assumed to have equal weights, and those of a cell its mean logit.
    """
    stratum = 3 * (2 * parts.group + parts.predicted)
    left = (parts.rows - chosen) / parts.rows
    unlabeled_points = int((table.points.stratum % 3 == UNLABELED).sum())
    points = [_remaining(table.points, left[:unlabeled_points])]
    for label, count in ((0, chosen - positive), (1, positive)):
        share = count / parts.rows
        columns = (
            stratum + label,
            parts.logit,
            count,
            parts.weight * share,
            parts.weight_sq * share,
        )
        points.append([column[count > 0] for column in columns])
    joined = settled(
        len(table.groups),
        table.clip,
        Points(*map(np.concatenate, zip(*points, strict=True))),
        Cells(*_remaining(table.cells, left[unlabeled_points:])),
    )
    return replace(table, points=joined[0], cells=joined[1])


def _remaining(parts: Points | Cells, left: Floats) -> list[Any]:
    """Columns of points or cells, with only a share `left` of each unlabeled one."""
    share = np.ones(len(parts.stratum))
    share[parts.stratum % 3 == UNLABELED] = left
    kept = share > 0.0
    sums = [(column * share)[kept] for column in parts[2:]]
    return [parts[0][kept], parts[1][kept], np.rint(sums[0]), *sums[1:]]


def fit_tables(
    result: Assessment, tables: list[ScoreTable], rng: np.random.Generator
) -> tuple[Floats, bool]:
    """Draw all curves, float64 (table, chain, draw, group, 3 + J); also whether compiled."""
    settings, regions = result.settings, result.imputing.regions
    data = labeled_data(
        tables,
        family=settings.family,
        hierarchical=settings.hierarchical is not False,
        cap=settings.cap,
        regions=regions,
    )
    scales = trusted_scales(settings.prior, settings.trust, regions)
    parts = result.table.parts if settings.nested else None
    chains = start_chains(data, scales, parts, chains=CHAINS, warmup=WARMUP, rng=rng)
    chains, block = take_draws(chains, DRAWS)
    psi = block.psi
    if settings.hierarchical is False:  # every group was a data set of one group
        shape = (len(tables), len(result.groups), CHAINS, DRAWS, -1)
        psi = np.moveaxis(psi.reshape(shape), 1, 3)
    tied = np.concatenate([tie(psi[..., :3], settings.family), psi[..., 3:]], axis=-1)
    return tied, chains.jit


def _width(draws: Floats, prob: float) -> float:
    undefined = np.isnan(draws)
    if undefined.mean() > UNDEFINED_LIMIT:
        return float("nan")
    # the usual rule is 1 % too narrow with 500 draws, this one is not
    low, high = np.quantile(draws[~undefined], tails(prob), method="weibull")
    return float(high - low)
