"""Refits: the intervals of data sets whose labels are still to come.

A draw of the posterior is the truth of a data set; random unlabeled rows get labels at its rates.
In the data sets of one truth the fewer labels are among the more, so that widths fall with labels
and not by luck. All are fitted as one batch of short chains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..core.data.logit import Floats
from ..core.data.nodes import Ints
from ..core.data.table import ScoreTable
from ..core.mcmc.chains import more_draws, start_chains
from ..core.metrics.definitions import theta
from ..core.metrics.estimate import UNDEFINED_LIMIT, tails
from ..core.metrics.imputation import confusion_counts
from ..core.model.curve import tie
from ..core.model.likelihood import labeled_data
from ..core.model.regions import trusted_scales
from .forecast import counted
from .places import labeled, places, rates_of

if TYPE_CHECKING:
    from ..core.assessment import Assessment

MOST_ROWS = 10**9  # that NumPy draws from without replacement

CHAINS, WARMUP, DRAWS = 2, 150, 250  # widths are within 1 to 2 % of those of long chains


def refitted_widths(
    result: Assessment,
    metric: str,
    numbers: Sequence[Ints | int],
    contrasts: Floats,
    truths: Ints,
    prob: float,
    rng: np.random.Generator,
) -> Floats:
    """Widths of the intervals of contrasts of the groups' metrics.

    Parameters
    ----------
    numbers
        Rising numbers of labels: in all, of random rows; or int64 (G,), in each group.
    contrasts
        float64 (E, G).
    truths
        int64 (R,), draws of the posterior, chains one after the other.
    prob
        Mass of the intervals.

    Returns
    -------
    float64 (R, number, E); NaN where the contrast is undefined in too many draws.
    """
    posterior, settings, of = result.posterior, result.settings, counted(result, metric)
    tables = future_tables(result, numbers, truths, rng)
    psi, jit = fit_tables(result, tables, rng)
    found = np.full((len(tables), len(contrasts)), np.nan)
    for i, (curves, table) in enumerate(zip(psi, tables, strict=True)):
        counts = confusion_counts(
            curves,
            table,
            target=settings.target,
            rng=rng,
            cap=settings.cap,
            regions=posterior.regions,
            jit=jit,
        )
        drawn = theta(of, counts.drawn).reshape(-1, len(result.groups))
        for e, contrast in enumerate(contrasts):
            found[i, e] = _width(drawn[:, contrast != 0.0] @ contrast[contrast != 0.0], prob)
    return found.reshape(len(truths), len(numbers), len(contrasts))


def future_tables(
    result: Assessment, numbers: Sequence[Ints | int], truths: Ints, rng: np.random.Generator
) -> list[ScoreTable]:
    """Tables with labels that may come: truth by truth, and number by number in each."""
    where = result.posterior.regions
    at = places(result.table, where)
    every = result.posterior.psi.reshape(-1, *result.posterior.psi.shape[2:])
    rates = rates_of(every[truths], at.group, at.region, at.logit, where, result.settings.cap)
    tables = []
    for rate in np.clip(rates, 0.0, 1.0):
        left = np.rint(at.rows).astype(np.int64)
        chosen, positive = np.zeros_like(left), np.zeros_like(left)
        for number in numbers:
            more = _random_rows(left, at.group, number, chosen, rng)
            positive += rng.binomial(more, rate)
            chosen += more
            left -= more
            tables.append(labeled(result.table, chosen.astype(float), positive.astype(float)))
    return tables


def _random_rows(
    left: Ints, group: Ints, number: Ints | int, chosen: Ints, rng: np.random.Generator
) -> Ints:
    """Rows of each place that get a label next, to make `number` in all, or in each group."""
    if isinstance(number, (int, np.integer)):
        return _drawn(left, int(number) - int(chosen.sum()), rng)
    found = np.zeros_like(left)
    for g, count in enumerate(number):
        mine = group == g
        if mine.any():
            need = int(count) - int(chosen[mine].sum())
            found[mine] = _drawn(left[mine], need, rng)
    return found


def _drawn(left: Ints, need: int, rng: np.random.Generator) -> Ints:
    """Draw rows without replacement; with it where there are too many rows for it to matter."""
    total = int(left.sum())
    if total < MOST_ROWS:
        return np.asarray(rng.multivariate_hypergeometric(left, need), dtype=np.int64)
    return np.asarray(np.minimum(rng.multinomial(need, left / total), left), dtype=np.int64)


def fit_tables(
    result: Assessment, tables: list[ScoreTable], rng: np.random.Generator
) -> tuple[Floats, bool]:
    """Draws of all curves, float64 (table, chain, draw, group, 3 + J), and whether compiled."""
    settings, where = result.settings, result.posterior.regions
    data = labeled_data(
        tables,
        family=settings.family,
        hierarchical=settings.hierarchical is not False,
        cap=settings.cap,
        regions=where,
    )
    scales = trusted_scales(settings.prior, settings.trust, where)
    parts = result.table.parts if settings.nested else None
    chains = start_chains(data, scales, parts, chains=CHAINS, warmup=WARMUP, rng=rng)
    chains, block = more_draws(chains, DRAWS)
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
