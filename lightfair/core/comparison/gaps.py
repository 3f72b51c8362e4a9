"""Comparisons among all groups: pairs, the largest gap, one group against the rest or all rows.

All are functions of the draws of one metric, and all follow one rule. A group whose metric is
undefined in more than 5 % of the draws is left out, and the result names it; of the others, draws
in which one is undefined are undefined draws of the result.

The largest gap is that between the highest and the lowest metric, draw by draw. It is biased
upward: with equal groups it is positive in every draw. Hence the pairs beside it, with their signs,
and for each the probability that it is the one with the largest gap.

All that an `Assessment` can be asked about a metric, draw by draw, so that an interval, a
probability and a mean are of one quantity::

    result.difference("tpr", "B", "A")        # mean, interval, prob_greater, prob_within
    result.ratio("tpr", "B", "A")             # of zero, too; prob_within(0.8): four fifths
    result.pairs("tpr")                       # all pairs, each with P(it is the largest gap)
    result.largest_gap("tpr")                 # highest minus lowest group
    result.between_group_sd("tpr")            # standard deviation between groups (`between`)
    result.against_rest("tpr", "B")           # the other groups, weighted by their rows
    result.against_overall("tpr", "B")        # the metric of all rows
    result.criterion("equalized_odds", "B", "A")    # by name (`criteria`)
    result.simultaneous()                     # intervals that hold at once (`simultaneous`)

How much groups differ, in one number that is near 0 where they do not.

The number is the standard deviation of the groups' metrics: the root of the mean squared distance
of a group from the mean of the groups, every group counting the same; with two groups it is half
the absolute difference. Taken draw by draw it is biased upward: posterior uncertainty spreads the
groups even where they are equal. So the groups are taken as a sample from a common distribution,

    y ~ N(theta, V),   theta_g ~ N(m, tau^2),   m flat,   tau ~ half-normal(0.3),

with y and V the mean and covariance of the draws of the metric, and the number is the standard
deviation of theta under this model (Gelman 2005, "Analysis of variance", section 3.5: the
finite-population standard deviation). The marginal likelihood of tau is taken on a grid,

    log p(y | tau) = -1/2 [log det B + log(1' B^-1 1) + (y - m^)' B^-1 (y - m^)],   B = V + tau^2 I,
    m^ = 1' B^-1 y / 1' B^-1 1,

and theta given tau and m is Gaussian, with the shrunken mean and, in the eigenvectors of V, the
draws' own deviations shrunk to its covariance. There is no random number in it: tau and m of each
draw are quantiles of theirs, spread evenly over both by a sequence that does not know the draws.

Draws of a model that shares a prior between groups, on the curves, have been drawn together
already. Under the model above they are drawn together twice: where groups differ and labels are few
the number is too small. The standard deviation of such draws as they are is the posterior of the
number by its own model, and is too large where groups are equal. Both are readings of the same
draws, and nothing in them says which is right; so of pooled draws half the draws of the number are
of either, and its interval is as wide as their disagreement (`bench/EQUALITY.md` has how often it
holds).

Criteria of group fairness by name: the metrics that each wants to be equal in all groups.

demographic parity (Calders and Verwer 2010), equal opportunity and equalized odds (Hardt, Price and
Srebro 2016), predictive equality (Corbett-Davies et al. 2017), predictive parity (Chouldechova
2017), treatment equality and accuracy equality (Berk et al. 2018). Equalized odds asks for two
metrics at once: its gap is the larger of abs(delta TPR) and abs(delta FPR), taken in each draw; a
maximum of two intervals would be the interval of nothing.

Simultaneous intervals: with probability `prob` all of them hold their numbers at once.

Of 60 intervals of 95 % three miss, and the reader sees those. Here the intervals of all differences
of all groups and metrics are widened by one factor c until 95 % of the draws lie in all of them:

    [m_k - c l_k, m_k + c u_k],   c = quantile of max_k t_k,
    t_k = (d_k - m_k) / u_k where d_k > m_k, else (m_k - d_k) / l_k,

with m_k the median of difference k, and u_k, l_k the root mean square distances of the draws above
and below it: a skewed posterior gets a skewed interval (max-|t|, Montiel Olea and Plagborg-Møller
2019, section 3, here with two spreads). The joint draws carry all correlations, so that twenty
differences from one reference cost less than twenty independent ones would.

What is known exactly has no interval to widen, and what is undefined has none: both are left out,
with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats
from ..metrics.estimate import (
    ROUNDING,
    UNDEFINED_LIMIT,
    Estimate,
    Gap,
    check_prob,
    difference,
    rounded,
)


@dataclass(frozen=True, eq=False)
class ByGroup:
    """Draws of a metric with what comparisons need to know of them.

    Attributes
    ----------
    draws : float64 array, shape (chain, draw, group)
    groups : tuple of str
    lack : str
        What is missing where the metric is undefined.
    known : bool array, shape (group,)
        Whether it is a fact of the rows.
    label_free : bool
        Whether no label is needed to know it.
    pooled : bool
        Whether the model of the draws shares a prior between groups.
    """

    draws: Floats
    groups: tuple[str, ...]
    lack: str
    known: npt.NDArray[np.bool_]
    label_free: bool = False
    pooled: bool = False

    @cached_property
    def undefined(self) -> Floats:
        """Share of draws in which it is undefined, float64 (group,)."""
        return np.asarray(np.isnan(self.draws).mean(axis=(0, 1)))

    @property
    def usable(self) -> npt.NDArray[np.int64]:
        """Groups in which the metric is defined in all but a few draws."""
        return np.flatnonzero(self.undefined <= UNDEFINED_LIMIT)

    def named(self, kept: npt.NDArray[np.int64]) -> tuple[str, ...]:
        """Return the names of the groups that are not among those kept."""
        return tuple(self.groups[at] for at in np.setdiff1d(np.arange(len(self.groups)), kept))


@dataclass(frozen=True, eq=False)
class Pair:
    """Two groups, and how likely their difference is the largest gap.

    Attributes
    ----------
    by : ByGroup
    at : (int, int)
        Indices of the group and of the one that is subtracted.
    prob_largest : float
        Probability that no pair has a larger absolute difference, ties split evenly; NaN where the
        difference is undefined.

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> pair = result.pairs("tpr")[0]
    >>> pair.group, pair.reference, pair.prob_largest
    ('B', 'A', 1.0)
    >>> pair.estimate.mean == result.difference("tpr", "B", "A").mean
    True
    """

    by: ByGroup
    at: tuple[int, int]
    prob_largest: float

    @property
    def group(self) -> str:
        """Name of the group."""
        return self.by.groups[self.at[0]]

    @property
    def reference(self) -> str:
        """Name of the group that is subtracted."""
        return self.by.groups[self.at[1]]

    @property
    def estimate(self) -> Estimate:
        """The metric of `group` minus that of `reference`."""
        exact = bool(self.by.known[list(self.at)].all())
        return difference(self.by.draws, *self.at, self.by.lack, exact=exact)


def pairs(by: ByGroup, base: int | None = None) -> tuple[Pair, ...]:
    """Return all pairs of groups, each once.

    Parameters
    ----------
    by
        Of at least two groups.
    base
        Group that is subtracted in its pairs. In other pairs it is the earlier one.
    """
    share = _largest(by)
    both = share + share.T
    return tuple(Pair(by, at, float(both[at])) for at in pair_indices(len(by.groups), base))


def pair_indices(groups: int, base: int | None = None) -> list[tuple[int, int]]:
    """Return each pair of groups as (group, reference): `base` and earlier ones are references."""
    order = [*range(groups)]
    if base is not None:
        order = [base, *order[:base], *order[base + 1 :]]
    return [(order[j], order[i]) for i in range(groups) for j in range(i + 1, groups)]


def largest_gap(by: ByGroup) -> Gap:
    """Return the highest minus the lowest metric of all groups, draw by draw."""
    kept = by.usable
    left_out = by.named(kept)
    if len(kept) < 2:
        return Gap(np.full(by.draws.shape[:2], np.nan), by.lack, left_out=left_out)
    draws = by.draws[..., kept]
    gap = rounded(draws.max(axis=-1) - draws.min(axis=-1))
    share = _largest(by)
    both = np.nan_to_num(share + share.T)
    one, two = np.unravel_index(int(np.argmax(np.triu(both, 1))), both.shape)
    if share[two, one] > share[one, two]:
        one, two = two, one
    return Gap(
        gap,
        by.lack,
        bool(by.known[kept].all()),
        left_out,
        (by.groups[one], by.groups[two]),
        float(both[one, two]),
    )


def against_rest(by: ByGroup, group: int, weight: Floats) -> Estimate:
    """Return the metric of a group minus the mean of the other groups' metrics.

    Parameters
    ----------
    by
        Of at least two groups.
    group
        Index of the group.
    weight
        float64 (group,), what the others are weighted by: their rows, as in the tables of Ji, Smyth
        and Steyvers (2020) for an attribute of several levels.
    """
    others = np.setdiff1d(by.usable, [group])
    left_out = tuple(name for name in by.named(others) if name != by.groups[group])
    if len(others) == 0:
        return Estimate(np.full(by.draws.shape[:2], np.nan), by.lack, left_out=left_out)
    rest = by.draws[..., others] @ (weight[others] / weight[others].sum())
    exact = bool(by.known[group] and by.known[others].all())
    return Estimate(rounded(by.draws[..., group] - rest), by.lack, exact, left_out)


def against_overall(by: ByGroup, group: int, overall: Floats) -> Estimate:
    """Return the metric of a group minus the metric of all rows, float64 (chain, draw)."""
    exact = bool(by.known.all())
    return Estimate(rounded(by.draws[..., group] - overall), by.lack, exact)


def only_one(groups: tuple[str, ...]) -> str:
    """Say that there is nothing to compare, and what to do."""
    return (
        f"there is only one group, {groups[0]}, and nothing to compare it with; comparisons need "
        "two groups with rows"
    )


def _largest(by: ByGroup) -> Floats:
    """Share of draws in which a pair has the largest gap: float64 (higher group, lower group).

    Ties are split evenly; the shares of all pairs add up to 1. NaN where a group is left out.
    """
    groups, kept = len(by.groups), by.usable
    share = np.full((groups, groups), np.nan)
    draws = by.draws.reshape(-1, groups)[:, kept]
    draws = draws[~np.isnan(draws).any(axis=1)]
    if len(kept) < 2 or len(draws) == 0:
        return share
    high, low = draws.max(axis=1, keepdims=True), draws.min(axis=1, keepdims=True)
    tied = (high - low < ROUNDING)[:, 0]
    top, bottom = draws[~tied] > high[~tied] - ROUNDING, draws[~tied] < low[~tied] + ROUNDING
    found = (top / top.sum(axis=1, keepdims=True)).T @ (bottom / bottom.sum(axis=1, keepdims=True))
    found += tied.sum() * (1.0 - np.eye(len(kept))) / (len(kept) * (len(kept) - 1))
    share[np.ix_(kept, kept)] = found / len(draws)
    return share


TAU_SD = 0.3  # scale of the half-normal prior: nearly flat where shares of groups differ

GRID = 200

KRONECKER = (0.7548776662466927, 0.5698402909980532)  # 1/p, 1/p^2 of the plastic number


def between_group_sd(by: ByGroup, scale: float = TAU_SD) -> Gap:
    """Return the standard deviation of a metric between groups.

    Parameters
    ----------
    by
        Of at least two groups; one whose metric is undefined is left out.
    scale
        Of the prior of tau, on the scale of the metric.
    """
    kept = by.usable
    left_out = by.named(kept)
    values = np.full(by.draws.shape[:2], np.nan)
    exact = bool(by.known[kept].all())
    seen = ~np.isnan(by.draws[..., kept]).any(axis=-1)
    draws = by.draws[..., kept][seen]
    if len(kept) >= 2 and len(draws) > 0:
        values[seen] = draws.std(axis=-1) if exact else _spread(draws, scale)
        if by.pooled and not exact:  # every other draw
            values[seen] = np.where(np.arange(len(draws)) % 2, draws.std(axis=-1), values[seen])
    return Gap(values, by.lack, exact, left_out)


def _spread(draws: Floats, scale: float) -> Floats:
    """Standard deviations between groups (n,), of draws (n, group)."""
    from scipy.special import ndtri

    n, groups = draws.shape
    centre = draws.mean(axis=0)
    own = draws - centre
    variance, vectors = np.linalg.eigh(own.T @ own / n)
    variance = np.maximum(variance, 0.0)
    # all of the model in the eigenvectors of V, where B is diagonal
    y, one, own = centre @ vectors, vectors.sum(axis=0), own @ vectors
    tau, weight = _grid(variance, y, one, scale)
    at, other = ((0.5 + np.arange(n) * step) % 1.0 for step in KRONECKER)
    mass = np.concatenate([[0.0], np.cumsum(weight)])
    ends = np.concatenate([[0.0], 0.5 * (tau[1:] + tau[:-1]), tau[-1:]])
    drawn = np.interp(at, mass / mass[-1], ends)[:, None]
    precision = 1.0 / (variance + drawn * drawn)
    bottom = (precision * one * one).sum(axis=1)
    middle = (precision * one * y).sum(axis=1) / bottom + ndtri(other) / np.sqrt(bottom)
    common = middle[:, None] * one
    shrunk = drawn * np.sqrt(precision)
    theta = common + shrunk * shrunk * (y - common) + shrunk * own
    return np.asarray((theta @ vectors.T).std(axis=1))


def _grid(variance: Floats, y: Floats, one: Floats, scale: float) -> tuple[Floats, Floats]:
    """Values of tau, rising, and their posterior weights; both float64 (GRID,).

    They are spaced evenly in the root of tau: closest near 0, where small variances need it.
    """
    top = 4.0 * max(scale, float(np.sqrt((y @ y - (one @ y) ** 2 / (one @ one)) / len(y))))
    root = (np.arange(GRID) + 0.5) / GRID
    tau = top * root * root
    precision = 1.0 / (variance + (tau * tau)[:, None])
    bottom = (precision * one * one).sum(axis=1)
    middle = (precision * one * y).sum(axis=1) / bottom
    away = y - middle[:, None] * one
    fit = np.log(precision).sum(axis=1) - np.log(bottom) - (precision * away * away).sum(axis=1)
    log_weight = 0.5 * fit - 0.5 * (tau / scale) ** 2 + np.log(root)  # the step is that of the root
    return tau, np.exp(log_weight - log_weight.max())


CRITERIA: dict[str, tuple[str, ...]] = {
    "demographic_parity": ("selection_rate",),
    "equal_opportunity": ("tpr",),
    "predictive_equality": ("fpr",),
    "predictive_parity": ("ppv",),
    "equalized_odds": ("tpr", "fpr"),
    "treatment_equality": ("treatment_equality",),
    "accuracy_equality": ("accuracy",),
}


def criterion_metrics(name: str) -> tuple[str, ...]:
    """Return the metrics of a criterion; raise ValueError for an unknown one."""
    if name not in CRITERIA:
        raise ValueError(f"unknown criterion {name!r}; known: {', '.join(CRITERIA)}")
    return CRITERIA[name]


def larger_gap(differences: dict[str, Estimate]) -> Gap:
    """Return the larger of the absolute differences of several metrics, draw by draw."""
    absolute = np.stack([np.abs(one.draws) for one in differences.values()], axis=-1)
    return largest_of(tuple(differences), absolute, tuple(differences.values()))


def largest_of(
    names: tuple[str, ...], values: np.ndarray, parts: tuple[Estimate | Gap, ...]
) -> Gap:
    """Return the largest of several gaps, draw by draw, and which of them it is.

    Parameters
    ----------
    names
        Their names.
    values
        float64 (chain, draw, gap), at least 0.
    parts
        What they are of, for what is missing and what is known.
    """
    reasons = [part for part in parts if part.reason is not None]
    lack = (reasons or [*parts])[0].lack
    defined = ~np.isnan(values).any(axis=-1)
    left_out = tuple(dict.fromkeys(name for part in parts for name in part.left_out))
    exact = all(part.exact for part in parts)
    if not defined.any():
        return Gap(np.full(defined.shape, np.nan), lack, exact, left_out)
    top = values[defined].max(axis=-1, keepdims=True)
    tied = values[defined] == top
    share = (tied / tied.sum(axis=-1, keepdims=True)).mean(axis=0)
    at = int(np.argmax(share))
    return Gap(values.max(axis=-1), lack, exact, left_out, (names[at],), float(share[at]))


EXACT = "known exactly"

ANY = (-np.inf, np.inf)


class Cell(NamedTuple):
    """The difference of a metric between two groups."""

    metric: str
    group: str
    reference: str


@dataclass(frozen=True, eq=False)
class Simultaneous:
    """Simultaneous intervals of differences.

    Attributes
    ----------
    prob : float
        Probability that all intervals hold their numbers.
    factor : float
        c of the module's head; NaN where every cell is left out.
    cells : tuple of Cell
        The differences that have an interval.
    median, low, high : float64 array, shape (cell,)
    left_out : dict of Cell to str
        The other differences, and why.

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> both = result.simultaneous()
    >>> [cell.metric for cell in both.cells]
    ['accuracy', 'tpr', 'fpr']
    >>> [(cell.metric, why) for cell, why in both.left_out.items()]
    [('selection_rate', 'known exactly')]
    >>> print("{:.2f} to {:.2f}".format(*both.interval("tpr", "B")))
    -0.01 to 0.23
    """

    prob: float
    factor: float
    cells: tuple[Cell, ...]
    median: Floats
    low: Floats
    high: Floats
    left_out: dict[Cell, str]

    def interval(self, metric: str, group: str) -> tuple[float, float]:
        """Return the interval of a group's difference from the reference.

        Raises
        ------
        ValueError
            If there is none; the message says why.
        """
        for at, cell in enumerate(self.cells):
            if (cell.metric, cell.group) == (metric, group):
                return float(self.low[at]), float(self.high[at])
        for cell, reason in self.left_out.items():
            if (cell.metric, cell.group) == (metric, group):
                raise ValueError(f"no interval of {metric} for {group}: {reason}")
        known = dict.fromkeys(f"{cell.metric} for {cell.group}" for cell in self.cells)
        raise ValueError(
            f"no interval of {metric!r} for {group!r}; there are {', '.join(known) or 'none'}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the intervals as plain values."""
        intervals = [
            {**cell._asdict(), "median": float(m), "interval": [float(low), float(high)]}
            for cell, m, low, high in zip(self.cells, self.median, self.low, self.high, strict=True)
        ]
        left_out = [{**cell._asdict(), "reason": why} for cell, why in self.left_out.items()]
        return {
            "prob": self.prob,
            "factor": self.factor if self.cells else None,
            "intervals": intervals,
            "left_out": left_out,
        }


def simultaneous(
    differences: dict[Cell, Estimate],
    prob: float,
    bounds: dict[str, tuple[float, float]] | None = None,
) -> Simultaneous:
    """Return intervals that hold at once.

    Parameters
    ----------
    differences
        Estimates from the same draws.
    prob
        In (0, 1).
    bounds
        For each metric the least and the greatest value that a difference of it can have; intervals
        end there.
    """
    check_prob(prob)
    left_out: dict[Cell, str] = {}
    used: dict[Cell, Floats] = {}
    for cell, estimate in differences.items():
        if estimate.reason is not None:
            left_out[cell] = estimate.reason
        elif estimate.exact or np.ptp(estimate.defined) == 0.0:
            left_out[cell] = EXACT if estimate.exact else "it is the same in all draws"
        else:
            used[cell] = estimate.draws.ravel()
    if not used:
        nothing = np.empty(0)
        return Simultaneous(prob, float("nan"), (), nothing, nothing, nothing, left_out)
    distance = np.zeros(len(next(iter(used.values()))))
    middles, ups, downs = [], [], []
    for draws in used.values():
        middle = float(np.nanmedian(draws))
        away = np.nan_to_num(draws - middle)  # an undefined draw is outside of no interval
        up, down = (_spread_simultaneous(away[side]) for side in (away > 0.0, away < 0.0))
        scale = np.where(away > 0.0, up, down)
        far = np.divide(np.abs(away), scale, out=np.zeros_like(away), where=scale > 0.0)
        distance = np.maximum(distance, far)
        middles.append(middle)
        ups.append(up)
        downs.append(down)
    factor = float(np.quantile(distance, prob))
    median = np.array(middles)
    least, most = np.array([(bounds or {}).get(cell.metric, ANY) for cell in used]).T
    low = np.maximum(median - factor * np.array(downs), least)
    high = np.minimum(median + factor * np.array(ups), most)
    return Simultaneous(prob, factor, tuple(used), median, low, high, left_out)


def _spread_simultaneous(away: Floats) -> float:
    """Root mean square; 0 of nothing."""
    return float(np.sqrt((away * away).mean())) if len(away) else 0.0
