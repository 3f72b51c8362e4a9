"""The misfit check: do the labels look like draws from the model, group by group, region by region?

A calibration curve that is wrong gives intervals that are too narrow, and no diagnostic of the
chains can tell. The labels can. In each group and region (`trust`) with labeled rows, the
positives among them are held against what the posterior predicts for these very rows:

    y_rep = sum over the labeled rows i of Bernoulli(f_i),   f of a draw of the posterior
    p = 2 min(t, 1 - t),   t = P(y_rep < y) + P(y_rep = y) / 2

f is the curve with its deviations, if there are any. Where p is small the model misses, and the
intervals do not allow for it.

The model has seen the labels that it is judged by, so p is larger than a uniform number would be:
the check misses small misfits rather than inventing them. The threshold is shared among all
combinations of group and region (Bonferroni).

`worth_sentence` says the same from the other side: how many labels the curve is worth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats, sigmoid
from ..data.messages import Note
from ..data.table import ScoreTable
from ..mcmc.posterior import Posterior
from ..metrics.estimate import tails
from ..model.likelihood import LabeledData, labeled_data, log_odds
from ..model.regions import NOWHERE, Regions, regions, worth

Ints = npt.NDArray[np.int64]

MISFIT_LEVEL = 0.05  # of all combinations together

MAX_DRAWS = 500  # of the posterior, evenly spaced; 40 ms for 100 labels, 80 ms for 1,000

CELL = 0.2  # of the logit; rows in it count as of one rate: 0.1 % of a variance at slope 1

TINY = 1e-12  # a chance is not 0 nor 1

MAX_STEPS = 30  # of Newton; six are usual

CERTAIN = 0.2  # variance below which a count is all but certain; both forms are good there

NAMED = 3  # combinations that a note names

NAME_LENGTH = 60

MOST_LABELS = 10_000


@dataclass(frozen=True, eq=False)
class Misfit:
    """Labels against predictions, one entry for each group and region with labeled rows.

    All arrays have the shape (entry,), sorted by group and region; they are ready to be plotted.

    Attributes
    ----------
    group, region : int64 arrays
        Indices into the groups and the regions.
    predicted : int64 array
        Predicted class of most rows of the region, 0 or 1.
    mass : bool array
        Whether the region is a mass of scores at a clipping bound.
    low, high : float64 arrays
        Range of the scores in the region, of all groups and rows, labeled or not; clipped.
    score : float64 array
        Mean score of the labeled rows.
    rows, positives : int64 arrays
        Labeled rows, and those with a positive label.
    rate : float64 array
        Observed share of positives, positives / rows.
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
    rows: Ints
    positives: Ints
    rate: Floats
    expected: Floats
    expected_low: Floats
    expected_high: Floats
    p: Floats
    trusted: bool

    @property
    def threshold(self) -> float:
        """p below which a combination of group and region counts as missed."""
        return MISFIT_LEVEL / max(len(self.group), 1)


def misfit_check(
    posterior: Posterior,
    table: ScoreTable,
    rng: int | np.random.Generator | None = None,
    *,
    cap: float = math.inf,
    prob: float = 0.95,
) -> Misfit:
    """Hold the labels of each group and region against what the posterior predicts.

    Parameters
    ----------
    posterior
        Of the table. Without trust its regions are those that trust would use.
    table
        Of all rows.
    rng
        Seed or generator, for y_rep; only the ends of the intervals depend on it.
    cap
        Upper bound on the log odds, as in the fit.
    prob
        Mass of the intervals of y_rep, in (0, 1).
    """
    rng = np.random.default_rng(rng)
    trusted = posterior.omega is not None
    where = posterior.regions if trusted else _without_deviations(regions(table))
    known = labeled_data([table], family="beta", cap=cap, regions=where, merge=False)
    psi = _thinned(posterior.psi)
    parts = [_Group(*_nothing())]
    for group in range(len(table.groups)):
        mine = _of_group(known, group)
        if len(mine.total):
            parts.append(_checked(psi[:, group], mine, group, prob, rng))
    found = _Group(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    low, high, predicted = _extent(table, where)
    region = found.region
    mass = region >= where.first[2]
    found = found._replace(score=np.where(mass, low[region], found.score))
    return Misfit(
        **found._asdict(),
        low=low[region],
        high=high[region],
        predicted=predicted[region],
        mass=mass,
        rate=found.positives / found.rows,
        trusted=trusted,
    )


def misfit_notes(check: Misfit, groups: tuple[str, ...]) -> list[Note]:
    """Say where the model misses the labels, how far, and what to do: one note, or none."""
    missed = np.flatnonzero(check.p < check.threshold)
    if not missed.size:
        return []
    wide = check.expected_high - check.expected_low + 1 / check.rows
    far = np.abs(check.rate - check.expected) / wide
    worst = missed[np.lexsort((-far[missed], check.p[missed]))][:NAMED]
    places = "; ".join(_place(check, entry, groups) for entry in worst)
    worst_of = f" (the worst {NAMED})" if missed.size > NAMED else ""
    all_of = f"{len(check.group)} region{'' if len(check.group) == 1 else 's'}"
    curve = "model" if check.trusted else "curve"
    advice = "collect labels there or use another family" if check.trusted else "use trust"
    message = (
        f"the {curve} misses the labels in {missed.size} of {all_of}{worst_of}: {places}; the "
        "intervals are too narrow there"
    )
    return [Note("misfit", f"{message}; {advice}")]


def typical_rate(check: Misfit) -> float:
    """Return the rate, at most 0.5, whose p (1 - p) is that of the regions of labeled rows.

    p (1 - p) sets what a label is worth, so it is what is averaged: over labeled rows, at the
    rate that the model expects in their region. It is not below 1e-4; 0.5 without labels, where a
    label tells most and the curve is worth least.
    """
    if not check.rows.size:
        return 0.5
    variance = np.average(check.expected * (1.0 - check.expected), weights=check.rows)
    return float(0.5 - math.sqrt(max(0.25 - max(variance, 1e-4), 0.0)))


def worth_sentence(
    omega: Any, tau: Any, where: Regions, rate: float = 0.5, prob: float = 0.95
) -> str:
    """Say how many labels the curve is worth in each region: the median and an interval.

    Parameters
    ----------
    omega, tau
        Posterior draws of the scales of the deviations, above 0, of one shape.
    where
        The regions.
    rate
        Share of positives in a region, in (0, 1), such as `typical_rate`.
    prob
        Mass of the interval, in (0, 1).

    Notes
    -----
    Without hierarchy each group has its scales: the draws of all of them are taken together.
    """
    labels = worth(omega, tau, rate, where)
    if np.isinf(labels).all():
        return NOWHERE
    ends = np.quantile(labels, [0.5, *tails(prob)])
    middle, low, high = (_labels(float(end)) for end in ends)
    about = "" if middle.startswith(("more", "less")) else "about "
    unit = "label" if middle in ("1", "less than 1") else "labels"
    said = f"in each region of the scores the curve is worth {about}{middle} {unit}"
    if low != high:
        return f"{said} ({100 * prob:g} %: {low} to {high})"
    return said if low == middle else f"{said} ({100 * prob:g} %: {low})"


class _Group(NamedTuple):
    """The fields of `Misfit` that are found group by group."""

    group: Ints
    region: Ints
    rows: Ints
    positives: Ints
    score: Floats
    expected: Floats
    expected_low: Floats
    expected_high: Floats
    p: Floats


class _Runs(NamedTuple):
    """Nodes sorted by region and score: first nodes and first cells of runs.

    cell: first node of each cell; inner: first cell of each region; region: first node of each
    region; trials: int64, rows in each cell; rows, positives: int64, in each region.
    """

    cell: Ints
    inner: Ints
    region: Ints
    trials: Ints
    rows: Ints
    positives: Ints


def _nothing() -> list[npt.NDArray[Any]]:
    return [np.zeros(0, dtype=np.int64)] * 4 + [np.zeros(0)] * (len(_Group._fields) - 4)


def _thinned(psi: Floats) -> Floats:
    """At most MAX_DRAWS draws, evenly spaced: (chain, draw, group, D) -> (n, group, D)."""
    flat = psi.reshape(-1, *psi.shape[2:])
    if len(flat) <= MAX_DRAWS:
        return flat
    return flat[np.linspace(0, len(flat) - 1, MAX_DRAWS).astype(np.int64)]


def _of_group(known: LabeledData, group: int) -> LabeledData:
    """Take the nodes of one group with rows or positives, sorted by region and score."""
    part = np.arange(known.start[group], known.start[group + 1])
    part = part[known.total[part] + known.positive[part] > 0.0]
    part = part[np.lexsort((_logit(known)[part], known.region[part]))]
    columns = ("base", "positive", "total", "region")
    return known._replace(
        **{name: getattr(known, name)[part] for name in columns},
        design=known.design[:, part],
        start=np.array([0, len(part)]),
        segment=np.zeros(len(part), dtype=np.int64),
        groups=1,
    )


def _logit(data: LabeledData) -> Floats:
    """The logits of the scores of nodes: log s - log(1 - s)."""
    return np.asarray(data.design[0] + data.design[1])


def _checked(
    psi: Floats, mine: LabeledData, group: int, prob: float, rng: np.random.Generator
) -> _Group:
    """Check the regions of one group: psi (n, D)."""
    runs = _cut(mine)
    score = sigmoid(_logit(mine))
    return _Group(
        np.full(len(runs.rows), group, dtype=np.int64),
        mine.region[runs.region],
        runs.rows,
        runs.positives,
        np.add.reduceat(mine.total * score, runs.region) / runs.rows,
        *_predicted(psi, mine, runs, prob, rng),
    )


def _without_deviations(where: Regions) -> Regions:
    """The same regions, all of them on the curve."""
    size = len(where.loadings)
    return where._replace(loadings=np.zeros((size, 0)), on_curve=np.ones(size), base=np.zeros(size))


def _cut(mine: LabeledData) -> _Runs:
    """Cut sorted nodes into regions, and these into cells of whole rows."""
    cell = np.floor(_logit(mine) / CELL + 1e-9)
    new = np.append(True, np.diff(mine.region) != 0)
    first_of_region = np.flatnonzero(new)
    first_of_cell = np.flatnonzero(new | np.append(True, np.diff(cell) != 0))
    inner = np.searchsorted(first_of_cell, first_of_region)
    # a node may stand for part of a row; the nodes of a cell stand for whole ones up to rounding
    until = np.rint(np.cumsum(np.add.reduceat(mine.total, first_of_cell)))
    trials = np.diff(until, prepend=0.0).astype(np.int64)
    positives = np.rint(np.add.reduceat(mine.positive, first_of_region)).astype(np.int64)
    return _Runs(
        first_of_cell, inner, first_of_region, trials, np.add.reduceat(trials, inner), positives
    )


def _predicted(
    psi: Floats, mine: LabeledData, runs: _Runs, prob: float, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats, Floats]:
    """Predict each region: expected share, ends of the interval of y_rep / rows, and p."""
    hits = mine.total * sigmoid(log_odds(psi, mine.design, mine.base, mine.cap))
    mean = np.add.reduceat(hits, runs.region, axis=1).mean(axis=0)
    in_cell = np.add.reduceat(hits, runs.cell, axis=1)
    chance = np.clip(in_cell / np.maximum(runs.trials, 1), TINY, 1.0 - TINY)
    drawn = np.add.reduceat(rng.binomial(runs.trials, chance), runs.inner, axis=1)
    low, high = np.quantile(drawn, tails(prob), axis=0, method="inverted_cdf")
    below = _share_below(chance, runs).mean(axis=0)
    p = 2.0 * np.minimum(below, 1.0 - below)
    return mean / runs.rows, low / runs.rows, high / runs.rows, p


def _share_below(chance: Floats, runs: _Runs) -> Floats:
    """P(y_rep < y) + P(y_rep = y) / 2 of each draw: chance (n, cell) -> (n, region).

    By the saddlepoint formula of Lugannani and Rice (1980), the mean of its forms for < and <= on
    the whole numbers, so that 1 / (2 tanh(s / 2)) takes the place of 1 / s. Where the tilted
    variance is small, y is all but certain under the tilt, and its own chance is the tail. Small
    tails, too, are within 10 % of themselves. Counts of drawn y_rep would not do: where 100
    combinations share the threshold it is 0.0005, a quarter of a draw.
    """
    from scipy.special import ndtr

    def summed(values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(runs.trials * values, runs.inner, axis=1))

    cells = np.diff(np.append(runs.inner, len(runs.trials)))
    of = np.repeat(np.arange(len(cells)), cells)
    odds = np.log(chance) - np.log1p(-chance)
    rows, inside = runs.rows, np.clip(runs.positives, 0.5, runs.rows - 0.5)
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
    below = np.where(runs.positives == 0, 0.5 * np.exp(summed(np.log1p(-chance))), below)
    below = np.where(runs.positives == rows, 1.0 - 0.5 * np.exp(summed(np.log(chance))), below)
    return np.clip(below, 0.0, 1.0)


def _extent(table: ScoreTable, where: Regions) -> tuple[Floats, Floats, Ints]:
    """Lowest and highest score, and predicted class of most rows, of each region."""
    nodes = table.nodes()
    region = where.of(nodes.stratum, nodes.logit)
    size = len(where.loadings)
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, region, nodes.logit)
    np.maximum.at(high, region, nodes.logit)
    votes = np.bincount(region, nodes.weight * (nodes.stratum // 3 % 2 - 0.5), minlength=size)
    return sigmoid(low), sigmoid(high), (votes > 0.0).astype(np.int64)


def _place(check: Misfit, entry: int, groups: tuple[str, ...]) -> str:
    """Say what one group shows in one region, and what the model expects."""
    name = groups[check.group[entry]]
    name = name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 3] + "..."
    rows, positives = check.rows[entry], check.positives[entry]
    mean, low, high = (
        column[entry] * rows for column in (check.expected, check.expected_low, check.expected_high)
    )
    labeled = "row is" if rows == 1 else "rows are"
    return (
        f"group {name}, {_scores(check, entry)}: {positives:,} of {rows:,} labeled {labeled} "
        f"positive, {_count(mean)} ({low:,.0f} to {high:,.0f}) were expected"
    )


def _scores(check: Misfit, entry: int) -> str:
    """Name a region by its scores, and by its predicted class where scores do not tell that."""
    low, high = float(check.low[entry]), float(check.high[entry])
    digits = 2
    while digits < 6 and _blurred(low, high, digits):
        digits += 1
    if check.mass[entry]:
        scores = f"scores {f'up to {high:.{digits}f}' if low < 0.5 else f'from {low:.{digits}f}'}"
    elif f"{low:.{digits}f}" == f"{high:.{digits}f}":
        scores = f"score {low:.{digits}f}"
    else:
        scores = f"scores {low:.{digits}f} to {high:.{digits}f}"
    side = check.predicted == 1
    if check.high[~side].max(initial=0.0) <= check.low[side].min(initial=1.0):
        return scores
    return f"predicted {'positive' if side[entry] else 'negative'}, {scores}"


def _blurred(low: float, high: float, digits: int) -> bool:
    """Whether rounding shows a score as 0 or 1, or two scores as one."""
    one, two = f"{low:.{digits}f}", f"{high:.{digits}f}"
    return float(one) == 0.0 or float(two) == 1.0 or (one == two and high - low > 1e-9)


def _count(mean: float) -> str:
    """Show an expected count, with a decimal below 10."""
    text = f"{mean:,.0f}" if mean >= 9.95 else f"{mean:.1f}".removesuffix(".0")
    return "less than 0.1" if text == "0" else text


def _labels(count: float) -> str:
    """Round a number of labels to two significant digits, and to a whole one."""
    if count > MOST_LABELS:
        return f"more than {MOST_LABELS:,}"
    if count < 1.0:
        return "less than 1"
    return f"{float(f'{count:.2g}'):,.0f}"
