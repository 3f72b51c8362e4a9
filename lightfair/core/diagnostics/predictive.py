"""Posterior predictive check: are the labels plausible draws from the model?

A wrong calibration curve gives intervals that are too narrow, and convergence diagnostics cannot
detect it; the labels can. In each group and region (`Regions`) with labeled rows, the observed
positives are compared with posterior predictions for the same rows:

    y_rep = sum over the labeled rows i of Bernoulli(f_i),   f of a posterior draw
    p = 2 min(t, 1 - t),   t = P(y_rep < y) + P(y_rep = y) / 2

f is the curve with its deviations, if there are any. A small p indicates that the model misfits
there and its intervals do not account for it.

The model has seen these labels, so p is stochastically larger than uniform: the check misses small
misfits rather than inventing them. The threshold is shared among all combinations of group and
region (Bonferroni). A group whose curve is unlike those of the others is found by the model itself:
by the posterior chance that it is apart (`apart_notes`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats, Ints, sigmoid
from ..data.messages import Note, OneLine, probability
from ..data.table import ScoreTable
from ..mcmc.posterior import Posterior, identity
from ..metrics.clusters import row_effects
from ..metrics.estimate import BORDER, tails
from ..model.likelihood import LabeledData, labeled_data, log_odds
from ..model.regions import NOWHERE, Regions, regions, worth

MISFIT_LEVEL = 0.05  # of all combinations together

MAX_DRAWS = 500  # of the posterior, evenly spaced; 40 ms for 100 labels, 80 ms for 1,000

CELL = 0.2  # of the logit; rows in it count as of one rate: 0.1 % of a variance at slope 1

TINY = 1e-12  # lower bound on probabilities and variances

MAX_STEPS = 30  # of Newton; six are usual

CERTAIN = 0.2  # variance below which a count is nearly certain; both forms are accurate there

MAYBE_APART = 0.1  # chance of a group to be apart from which a warning names it

MIN_OTHERS = 20  # draws in which a group is not apart; with fewer it surely is

LISTED = 3  # combinations named in the warning

MOST_LABELS = 10_000

COLUMNS = 9  # of the check of a group


@dataclass(frozen=True, eq=False, repr=False)
class Misfit(OneLine):
    """Labels against predictions, one entry for each group and region with labeled rows.

    All arrays have the shape (entry,), sorted by group and region.

    Attributes
    ----------
    group, region : intp arrays
        Indices into the groups and the regions.
    predicted : intp array
        Predicted class of most rows of the region, 0 or 1.
    mass : bool array
        Whether the region is a point mass of scores at a clipping bound.
    low, high : float64 arrays
        Range of the scores in the region, over all groups and rows, labeled or not; clipped.
    score : float64 array
        Mean score of the labeled rows.
    rows, positives : int64 arrays
        Labeled rows, and those with a positive label.
    expected, expected_low, expected_high : float64 arrays
        Share that the model expects, and the central interval of y_rep / rows.
    p : float64 array
        Two-sided tail probability of the observed positives, in [0, 1], ties counted half.
    trusted : bool
        Whether the posterior has deviations.
    """

    group: Ints
    region: Ints
    predicted: Ints
    mass: npt.NDArray[np.bool_]
    low: Floats
    high: Floats
    score: Floats
    rows: npt.NDArray[np.int64]
    positives: npt.NDArray[np.int64]
    expected: Floats
    expected_low: Floats
    expected_high: Floats
    p: Floats
    trusted: bool

    def _line(self) -> str:
        least = f", smallest p {self.p.min():.2g}" if len(self.p) else ""
        return f"labels against predictions in {len(self.p)} regions of groups{least}"

    @property
    def rate(self) -> Floats:
        """Observed share of positives, float64 (entry,)."""
        return np.asarray(self.positives / self.rows)

    @property
    def threshold(self) -> float:
        """p below which the model misfits a combination of group and region."""
        return MISFIT_LEVEL / max(len(self.group), 1)


def misfit_check(
    posterior: Posterior | None,
    table: ScoreTable,
    rng: int | np.random.Generator | None = None,
    *,
    cap: float = math.inf,
    prob: float = 0.95,
) -> Misfit:
    """Compare the labels of each group and region with posterior predictions.

    Parameters
    ----------
    posterior
        Of the table. Without trust its regions are those that trust would use. Without a posterior
        there is nothing to check, and no entry.
    table
        Of all rows.
    rng
        Seed or generator, for y_rep; only the ends of the intervals depend on it.
    cap
        Upper bound on the log odds, as in the fit.
    prob
        Credible level of the intervals of y_rep, in (0, 1).
    """
    rng = np.random.default_rng(rng)
    checked = range(len(table.groups) if posterior is not None else 0)
    posterior = identity(table.groups) if posterior is None else posterior
    trusted = posterior.omega is not None
    where = posterior.regions
    if not trusted:  # the regions of the table, all of them on the curve
        where = regions(table)
        size = len(where.base)
        none, ones = np.zeros((size, 0)), np.ones(size)
        where = where._replace(loadings=none, on_curve=ones, base=np.zeros(size))
    data = labeled_data([table], family="beta", cap=cap, regions=where, merge=False)
    psi = posterior.psi.reshape(-1, *posterior.psi.shape[2:])
    if len(psi) > MAX_DRAWS:
        psi = psi[np.linspace(0, len(psi) - 1, MAX_DRAWS).astype(np.intp)]
    low, high, predicted = _extent(table, where)
    entries = [_check_group(psi[:, g], data, g, prob, rng) for g in checked]
    columns = [*map(np.concatenate, zip([np.zeros(0)] * COLUMNS, *entries, strict=True))]
    group, region = (column.astype(np.intp) for column in columns[:2])
    rows, positives = (column.astype(np.int64) for column in columns[2:4])
    score, expected, low_share, high_share, p = columns[4:]
    mass = region >= where.first[2]
    extent = predicted[region], mass, low[region], high[region]
    score = np.where(mass, low[region], score)
    if table.clusters is not None:
        from scipy.special import ndtr, ndtri

        z = ndtri(0.5 * np.maximum(p, TINY)) / np.sqrt(row_effects(table, "expected")[group])
        p = 2.0 * ndtr(z)
    shares = expected, low_share, high_share, p
    return Misfit(group, region, *extent, score, rows, positives, *shares, trusted)


def misfit_notes(check: Misfit, groups: tuple[str, ...]) -> list[Note]:
    """Return one warning that names where and how far the model misfits the labels, or none."""
    missed = np.flatnonzero(check.p < check.threshold)
    if not missed.size:
        return []
    wide = check.expected_high - check.expected_low + 1 / check.rows
    far = np.abs(check.rate - check.expected) / wide
    worst = missed[np.lexsort((-far[missed], check.p[missed]))][:LISTED]
    more = f" (worst {LISTED})" if missed.size > LISTED else ""
    count = len(check.group)
    model, advice = "curve", "use trust"
    if check.trusted:
        model, advice = "model", "collect labels there or use another family"
    message = (
        f"the {model} misfits the labels in {missed.size} of {count} region{'s'[: count > 1]}"
        f"{more}: {'; '.join(_describe(check, entry, groups) for entry in worst)}; intervals are "
        f"too narrow there; {advice}"
    )
    return [Note("misfit", message)]


def apart_notes(
    apart: npt.NDArray[np.bool_] | None,
    theta: dict[str, Floats],
    groups: tuple[str, ...],
    prob: float,
) -> list[Note]:
    """Return one warning that names the groups likely to be apart from the others, or none.

    A group is named if it is apart with a chance of at least 0.1, a Bayes factor of about 2, and if
    that matters: in some metric the mean of the draws in which it is apart lies outside the
    interval of its other draws. Without the second condition well-fitting saturated scores, which
    every group has, were named in two runs of three. Errors are in bench/STRESS.md.

    Parameters
    ----------
    apart
        bool (chain, draw, group), see `model.regions`; None where no group can be.
    theta
        Draws of the requested metrics, (chain, draw, group).
    prob
        Credible level of the interval, in (0, 1).
    """
    if apart is None:
        return []
    chance = apart.mean(axis=(0, 1))
    named = [
        f"{groups[g]} (probability {probability(chance[g])})"
        for g in np.argsort(-chance, kind="stable")
        if chance[g] >= MAYBE_APART
        and any(_moved(draws[..., g], apart[..., g], prob) for draws in theta.values())
    ]
    if not named:
        return []
    more = f" and {len(named) - LISTED} more" if len(named) > LISTED else ""
    message = (
        f"scores may not mean in {', '.join(named[:LISTED])}{more} what they mean in the other "
        "groups; intervals allow for that in part; label more rows there"
    )
    return [Note("misfit", message)]


def _moved(draws: Floats, apart: npt.NDArray[np.bool_], prob: float) -> bool:
    """Whether draws in which a group is apart have a mean outside the interval of the others."""
    one, others = (draws[part & ~np.isnan(draws)] for part in (apart, ~apart))
    if not one.size or others.size < MIN_OTHERS:
        return bool(one.size)
    low, high = np.quantile(others, tails(prob))
    return not low - BORDER <= one.mean() <= high + BORDER


def _describe(check: Misfit, entry: int, groups: tuple[str, ...]) -> str:
    """Describe a combination of group and region: observed and expected positives."""
    name, rows = groups[check.group[entry]], check.rows[entry]
    low, high, side = check.low[entry], check.high[entry], check.predicted == 1
    scores = f"scores {low:.3g} to {high:.3g}" if low < high else f"score {low:.3g}"
    if check.high[~side].max(initial=0.0) > check.low[side].min(initial=1.0):
        scores = f"predicted {'positive' if side[entry] else 'negative'}, {scores}"
    shares = (check.expected, check.expected_low, check.expected_high)
    mean, *ends = (share[entry] * rows for share in shares)
    return (
        f"group {name if len(name) <= 60 else name[:57] + '...'}, {scores}: "
        f"{check.positives[entry]:,} positives in {rows:,} labeled rows, "
        f"expected {mean:,.1f} ({ends[0]:,.0f} to {ends[1]:,.0f})"
    )


def typical_rate(check: Misfit) -> float:
    """Return the rate, at most 0.5, whose p (1 - p) is that of the regions of labeled rows.

    p (1 - p) determines the information in a label, so it is averaged: over labeled rows, at the
    expected rate of their region. At least 1e-4; 0.5 without labels.
    """
    if not check.rows.size:
        return 0.5
    variance = np.average(check.expected * (1.0 - check.expected), weights=check.rows)
    return float(0.5 - math.sqrt(max(0.25 - max(variance, 1e-4), 0.0)))


def worth_sentence(omega: Any, tau: Any, where: Regions, rate: float, prob: float) -> str:
    """Return the number of labels that the curve is worth in each region: median and interval.

    Parameters
    ----------
    omega, tau
        Posterior draws of the scales of the deviations, above 0, of one shape. Without hierarchy
        those of all groups are pooled.
    where
        The regions.
    rate
        Share of positives in a region, in (0, 1), such as `typical_rate`.
    prob
        Credible level of the interval, in (0, 1).
    """
    labels = worth(omega, tau, rate, where)
    if np.isinf(labels).all():
        return NOWHERE
    middle, low, high = (
        f"more than {MOST_LABELS:,}" if x > MOST_LABELS else f"{float(f'{max(x, 1.0):.2g}'):,.0f}"
        for x in np.quantile(labels, [0.5, *tails(prob)])
    )
    about = "" if middle.startswith("more") else "about "
    ends = f" ({100 * prob:g} %: {low} to {high})"
    return f"in each region of the scores the curve counts as {about}{middle} labels{ends}"


def _check_group(
    psi: Floats, data: LabeledData, group: int, prob: float, rng: np.random.Generator
) -> list[npt.NDArray[Any]]:
    """Check the regions of one group; psi (n, D).

    Returns group, region, rows, positives, mean score, expected share, both ends of the interval
    and p, (region,) each.
    """
    part = np.arange(data.start[group], data.start[group + 1])
    part = part[data.total[part] + data.positive[part] > 0.0]
    if not len(part):
        return [np.zeros(0)] * COLUMNS
    logit = data.design[0] + data.design[1]  # log s - log(1 - s), 0 in a point mass
    part = part[np.lexsort((logit[part], data.region[part]))]
    logit, region, total = logit[part], data.region[part], data.total[part]
    # runs of sorted nodes: regions, and in these cells of whole rows
    new = np.append(True, np.diff(region) != 0)
    first = np.flatnonzero(new)
    cell = np.floor(logit / CELL + 1e-9)
    cells = np.flatnonzero(new | np.append(True, np.diff(cell) != 0))
    inner = np.searchsorted(cells, first)  # first cell of each region
    # a node may stand for part of a row; the nodes of a cell stand for whole ones up to rounding
    until = np.rint(np.cumsum(np.add.reduceat(total, cells)))
    trials = np.diff(until, prepend=0.0).astype(np.int64)
    rows = np.add.reduceat(trials, inner)
    positives = np.rint(np.add.reduceat(data.positive[part], first)).astype(np.int64)

    hits = total * sigmoid(log_odds(psi, data.design[:, part], data.base[part], data.cap))
    mean = np.add.reduceat(hits, first, axis=1).mean(axis=0)
    in_cell = np.add.reduceat(hits, cells, axis=1)
    chance = np.clip(in_cell / np.maximum(trials, 1), TINY, 1.0 - TINY)
    drawn = np.add.reduceat(rng.binomial(trials, chance), inner, axis=1)
    low, high = np.quantile(drawn, tails(prob), axis=0, method="inverted_cdf")
    below = probability_below(chance, trials, inner, rows, positives).mean(axis=0)
    score = np.add.reduceat(total * sigmoid(logit), first) / rows
    p = 2.0 * np.minimum(below, 1.0 - below)
    at = np.full(len(rows), group)
    return [at, region[first], rows, positives, score, mean / rows, low / rows, high / rows, p]


def probability_below(
    chance: Floats, trials: Ints, inner: Ints, rows: Ints, positives: Ints
) -> Floats:
    """P(y_rep < y) + P(y_rep = y) / 2 of each draw: chance (n, cell) -> (n, region).

    Saddlepoint formula of Lugannani and Rice (1980), the mean of its lattice forms for < and <=,
    so that 1 / (2 tanh(s / 2)) replaces 1 / s. If the tilted variance is small, y is nearly certain
    under the tilt, and its own probability is the tail. Relative errors of small tails are below
    10 %. Counts of drawn y_rep are not sufficient: with 100 combinations the threshold is 0.0005, a
    quarter of a draw.
    """
    from scipy.special import ndtr

    def summed(values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(trials * values, inner, axis=1))

    of = np.repeat(np.arange(len(rows)), np.diff(np.append(inner, len(trials))))
    odds = np.log(chance) - np.log1p(-chance)
    inside = np.clip(positives, 0.5, rows - 0.5)
    mean = summed(chance)
    tilt = np.log(inside / (rows - inside)) - np.log(mean / (rows - mean))  # exact for equal rates
    for _ in range(MAX_STEPS):
        tilted = sigmoid(odds + tilt[:, of])
        spread = np.maximum(summed(tilted * (1.0 - tilted)), TINY)
        missing = inside - summed(tilted)
        step = np.clip(missing / spread, -2.0, 2.0)
        tilt = tilt + step
        if (np.minimum(np.abs(step), np.abs(missing)) < 1e-7).all():
            break
    growth = summed(np.logaddexp(0.0, odds + tilt[:, of]) - np.logaddexp(0.0, odds))
    far = np.sign(tilt) * np.sqrt(2.0 * np.maximum(tilt * inside - growth, 0.0))
    bell = np.exp(-0.5 * far * far)
    near = np.abs(far) < 1e-3
    third = summed(tilted * (1.0 - tilted) * (1.0 - 2.0 * tilted))
    w = np.where(near, 1.0, far)
    u = np.where(near, 1.0, 2.0 * np.tanh(0.5 * tilt) * np.sqrt(spread))
    bend = np.where(near, third / (6.0 * spread * np.sqrt(spread)), 1.0 / w - 1.0 / u)
    below = ndtr(far) + bell / math.sqrt(2.0 * math.pi) * bend
    tail = 0.5 * bell * (1.0 + spread * np.expm1(-np.abs(tilt)))
    below = np.where(spread < CERTAIN, np.where(tilt > 0.0, 1.0 - tail, tail), below)
    below = np.where(positives == 0, 0.5 * np.exp(summed(np.log1p(-chance))), below)
    below = np.where(positives == rows, 1.0 - 0.5 * np.exp(summed(np.log(chance))), below)
    return np.clip(below, 0.0, 1.0)


def _extent(table: ScoreTable, where: Regions) -> tuple[Floats, Floats, Ints]:
    """Return lowest and highest score, and predicted class of most rows, of each region."""
    nodes = table.nodes()
    region = where.of(nodes.stratum, nodes.logit)
    size = len(where.base)
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, region, nodes.logit)
    np.maximum.at(high, region, nodes.logit)
    votes = np.bincount(region, nodes.weight * (nodes.stratum // 3 % 2 - 0.5), minlength=size)
    return sigmoid(low), sigmoid(high), (votes > 0.0).astype(np.intp)
