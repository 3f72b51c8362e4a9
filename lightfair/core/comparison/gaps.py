"""Comparisons among groups: pairs, the largest gap, criteria, simultaneous intervals.

All are functions of the posterior draws of one metric, with one rule for undefined draws: a group
whose metric is undefined in more than 5 % of the draws is left out, and the result names it; draws
in which another group is undefined are undefined draws of the result.

The largest gap is the difference between the highest and the lowest metric, draw by draw. It is
biased upward: with equal groups it is positive in every draw. Therefore each pair comes with its
sign and the probability that it has the largest gap.

The standard deviation between groups is near 0 if they do not differ. It is the root mean squared
distance of the groups' metrics from their mean, every group counting the same; with two groups half
the absolute difference. Taken draw by draw it is biased upward, since posterior uncertainty spreads
even equal groups. So the groups are modeled as a sample from a common distribution,

    y ~ N(theta, V),   theta_g ~ N(m, tau^2),   m flat,   tau ~ half-normal(0.3),

with y and V the mean and covariance of the draws, and the result is the standard deviation of theta
under this model (Gelman 2005, "Analysis of variance", section 3.5: the finite-population standard
deviation). The marginal likelihood of tau is evaluated on a grid,

    log p(y | tau) = -1/2 [log det B + log(1' B^-1 1) + (y - m^)' B^-1 (y - m^)],   B = V + tau^2 I,
    m^ = 1' B^-1 y / 1' B^-1 1,

and theta given tau and m is Gaussian, with the shrunken mean and, in the eigenvectors of V, the
deviations of the draws shrunk to its covariance. It is deterministic: tau and m of each draw are
quantiles of theirs, spread evenly over both by a Kronecker sequence.

Draws of a model that shares a prior between groups are already shrunk, and the model above would
shrink them twice: the result is too small if groups differ and labels are few. The standard
deviation of the draws as they are is the posterior under their own model, and too large if groups
are equal. The draws do not show which is right; so half the draws of the result are of either, and
its interval is as wide as their disagreement (`bench/EQUALITY.md` has its coverage).

Criteria of group fairness name the metrics that should be equal in all groups: demographic parity
(Calders and Verwer 2010), equal opportunity and equalized odds (Hardt, Price and Srebro 2016),
predictive equality (Corbett-Davies et al. 2017), predictive parity (Chouldechova 2017), treatment
equality and accuracy equality (Berk et al. 2018). The gap of equalized odds is the larger of
abs(delta TPR) and abs(delta FPR) in each draw; a maximum of two intervals is not an interval of
anything.

Simultaneous intervals hold all their numbers at once with probability `prob`, where three of 60
plain 95 % intervals miss. The intervals of all differences are widened by one factor c until 95 %
of the draws lie in all of them:

    [m_k - c l_k, m_k + c u_k],   c = quantile of max_k t_k,
    t_k = (d_k - m_k) / u_k if d_k > m_k, else (m_k - d_k) / l_k,

with m_k the median of difference k, and u_k, l_k the root mean square distances of the draws above
and below it: a skewed posterior has a skewed interval (max-|t|, Montiel Olea and Plagborg-Møller
2019, section 3, here with two spreads). Joint draws carry all correlations. Exact and undefined
differences are left out, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats, Ints, over
from ..data.messages import OneLine, counted, index_of, probability, show
from ..metrics.estimate import NAN, UNDEFINED_LIMIT, Estimate, Gap, Ratio, check_prob, minus, ratio


@dataclass(frozen=True, eq=False)
class ByGroup:
    """Draws of a metric in all groups, and what is known of them.

    Attributes
    ----------
    draws : float64 array, shape (chain, draw, group)
    groups : tuple of str
    lack : str
        What is missing where the metric is undefined.
    known : bool array, shape (group,)
        Whether it is the same in all draws, since no label is needed or missing.
    label_free : bool
        Whether it does not depend on labels.
    pooled : bool
        Whether the model of the draws shares a prior between groups.
    without_model : float64 array, shape (draw, group), or None
        Draws that rest on labels and no model, NaN where labels are too few.
    bounds : (float, float)
        Of the metric.
    coarse : bool array, shape (group,), or None
        Where its value is computed from cells of scores, and not exact; None: nowhere.
    prob : float
        Credible level of intervals.
    small : bool array, shape (group,), or False
        Groups that are left out of the largest gap and of the standard deviation.
    """

    draws: Floats
    groups: tuple[str, ...]
    lack: str
    known: npt.NDArray[np.bool_]
    label_free: bool = False
    pooled: bool = False
    without_model: Floats | None = None
    bounds: tuple[float, float] = (0.0, 1.0)
    coarse: npt.NDArray[np.bool_] | None = None
    prob: float = 0.95
    small: npt.NDArray[np.bool_] | bool = False

    @property
    def free(self) -> Floats:
        """Draws that must support a verdict: those without the model, if there are any."""
        return self.draws if self.without_model is None else self.without_model

    @cached_property
    def undefined(self) -> Floats:
        """Share of undefined draws, float64 (group,)."""
        return np.asarray(np.isnan(self.draws).mean(axis=(0, 1)))

    @property
    def usable(self) -> Ints:
        """Indices of groups that are not small, with at most 5 % undefined draws."""
        return np.flatnonzero((self.undefined <= UNDEFINED_LIMIT) & ~np.asarray(self.small))

    def estimate(self, at: int) -> Estimate:
        """Return the estimate of a group, by index."""
        return Estimate(self.draws[..., at], self.lack, self.exact([at]), prob=self.prob)

    def difference(self, at: int, base: int) -> Estimate:
        """Return the estimate of a group minus that of another."""
        return self.minus(at, self.draws[..., base], self.exact([at, base]))

    def minus(
        self, at: int, other: Floats, exact: bool = False, left_out: tuple[str, ...] = ()
    ) -> Estimate:
        """Return the estimate of a group minus draws of another number."""
        delta = minus(self.draws[..., at], other)
        return Estimate(delta, self.lack, exact, left_out, prob=self.prob, signed=True)

    def gap(self, draws: Floats, exact: bool = False, *which: Any) -> Gap:
        """Return the estimate of a number without direction, about the usable groups."""
        return Gap(draws, self.lack, exact, self.left_out, *which, prob=self.prob)

    def ratio(self, at: int, base: int) -> Ratio:
        """Return the ratio of a group to another."""
        exact = self.exact([at, base])
        return ratio(self.draws, at, base, self.lack, exact=exact, prob=self.prob)

    def exact(self, groups: Sequence[int] | Ints) -> bool:
        """Whether the metric is known exactly in all of some groups, by index."""
        coarse = self.coarse is not None and self.coarse[groups].any()
        return bool(self.known[groups].all() and not coarse)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of the groups that are not usable."""
        return tuple(np.delete(self.groups, self.usable).tolist())


@dataclass(frozen=True, eq=False, repr=False)
class Pair(OneLine):
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
        return self.by.difference(*self.at)

    def _line(self) -> str:
        largest = f"P(largest gap) {probability(self.prob_largest)}"
        return f"{self.group} minus {self.reference}: {self.estimate}, {largest}"


def pairs(by: ByGroup, base: int | None = None) -> tuple[Pair, ...]:
    """Return all pairs of groups, each once.

    Parameters
    ----------
    by
        Of at least two groups.
    base
        Group that is subtracted in its pairs; in other pairs the earlier one is.
    """
    largest = _prob_largest(by)
    both = largest + largest.T
    return tuple(Pair(by, at, float(both[at])) for at in pair_indices(len(by.groups), base))


def pair_indices(groups: int, base: int | None = None) -> list[tuple[int, int]]:
    """Return each pair of groups as (group, reference): `base` and earlier ones are references."""
    order = sorted(range(groups), key=lambda group: (group != base, group))
    return [(order[j], order[i]) for i in range(groups) for j in range(i + 1, groups)]


def largest_gap(by: ByGroup) -> Gap:
    """Return the highest minus the lowest metric of all groups, draw by draw."""
    kept = by.usable
    if len(kept) < 2:
        return by.gap(np.full(by.draws.shape[:2], np.nan))
    draws = by.draws[..., kept]
    gap = minus(draws.max(axis=-1), draws.min(axis=-1))
    largest = np.nan_to_num(_prob_largest(by))
    both = np.triu(largest + largest.T, 1)
    one, two = np.unravel_index(int(np.argmax(both)), both.shape)
    which = (one, two) if largest[one, two] >= largest[two, one] else (two, one)
    names = tuple(by.groups[at] for at in which)
    return by.gap(gap, by.exact(kept), names, float(both[one, two]))


def _prob_largest(by: ByGroup) -> Floats:
    """Share of draws in which a pair has the largest gap: float64 (higher group, lower group).

    Ties are split evenly; the shares of all pairs add up to 1. NaN for groups left out.
    """
    groups, kept = len(by.groups), by.usable
    share = np.full((groups, groups), np.nan)
    draws = by.draws.reshape(-1, groups)[:, kept]
    draws = draws[~np.isnan(draws).any(axis=1)]
    if len(kept) < 2 or len(draws) == 0:
        return share
    high, low = draws.max(axis=1, keepdims=True), draws.min(axis=1, keepdims=True)
    tied = minus(high, low)[:, 0] == 0.0
    top, bottom = (minus(draws, end)[~tied] == 0.0 for end in (high, low))
    counts = (top / top.sum(axis=1, keepdims=True)).T @ (bottom / bottom.sum(axis=1, keepdims=True))
    counts += tied.sum() * (1.0 - np.eye(len(kept))) / (len(kept) * (len(kept) - 1))
    share[np.ix_(kept, kept)] = counts / len(draws)
    return share


def against_rest(by: ByGroup, group: int, weight: Floats) -> Estimate:
    """Return the metric of a group minus the mean of the other groups' metrics.

    Parameters
    ----------
    by
        Of at least two groups.
    group
        Index of the group.
    weight
        float64 (group,), weights of the others: their rows, as in the tables of Ji, Smyth and
        Steyvers (2020) for an attribute of several levels.
    """
    others = np.setdiff1d(by.usable, [group])
    left_out = tuple(name for name in by.left_out if name != by.groups[group])
    if len(others) == 0:
        return by.minus(group, np.full(by.draws.shape[:2], np.nan), left_out=left_out)
    rest = by.draws[..., others] @ (weight[others] / weight[others].sum())
    return by.minus(group, rest, by.exact([group, *others]), left_out)


def against_overall(by: ByGroup, group: int, overall: Floats) -> Estimate:
    """Return the metric of a group minus the metric of all rows, float64 (chain, draw)."""
    return by.minus(group, overall, by.exact(np.arange(len(by.groups))))


def compared_groups(
    groups: tuple[str, ...], base: str | None, group: Any, reference: Any
) -> tuple[list[str], str | None]:
    """Return the names of a group, of a list of them or of all others, and of the reference.

    `base` is the reference by default; None compares with none. Raise ValueError if a name is
    unknown, or a group is the reference.
    """
    if reference is not None:
        base = groups[index_of(reference, groups, "reference")]
    several = group if isinstance(group, list) else [group]
    names = [name for name in groups if name != base]
    if group is not None:
        names = [groups[index_of(one, groups)] for one in several]
    if base in names or not names:
        raise ValueError(f"group must not be the reference, {show(base)}; name another one")
    return names, base


def only_one(groups: tuple[str, ...]) -> str:
    """Return the error message for comparisons with a single group."""
    return f"there is only one group, {groups[0]}; comparisons need two groups with rows"


TAU_SD = 0.3  # scale of the half-normal prior of rates: nearly flat if groups differ

GRID = 200

KRONECKER = (0.7548776662466927, 0.5698402909980532)  # 1/p, 1/p^2 of the plastic number


def between_group_sd(by: ByGroup) -> Gap:
    """Return the standard deviation of a metric between groups.

    Groups in which the metric is undefined are left out.
    """
    kept = by.usable
    values = np.full(by.draws.shape[:2], np.nan)
    exact, constant = by.exact(kept), by.known[kept].all()
    defined = ~np.isnan(by.draws[..., kept]).any(axis=-1)
    draws = by.draws[..., kept][defined]
    if len(kept) >= 2 and len(draws) > 0:
        values[defined] = draws.std(axis=-1)
        if not constant:
            modeled = np.arange(len(draws)) % 2 == 0 if by.pooled else True
            bound = max(map(abs, by.bounds))  # the unit: the result does not depend on it
            unit = bound if bound < np.inf else float(np.abs(draws.mean(axis=0)).max()) or 1.0
            values[defined] = np.where(modeled, unit * _spread(draws / unit), values[defined])
    return by.gap(values, exact)


def _spread(draws: Floats) -> Floats:
    """Standard deviations between groups (n,), of draws (n, group).

    The grid of tau is even in its root: densest near 0, for small variances.
    """
    from scipy.special import ndtri

    n, groups = draws.shape
    centre = draws.mean(axis=0)
    own = draws - centre
    variance, vectors = np.linalg.eigh(own.T @ own / n)
    variance = np.maximum(variance, 0.0)
    # in the eigenvectors of V, where B is diagonal
    y, one, own = centre @ vectors, vectors.sum(axis=0), own @ vectors

    def given(tau: Floats) -> tuple[Floats, Floats, Floats]:
        """Diagonal of B^-1 (n, group), and precision and mean of m (n,), for tau (n,)."""
        precision = 1.0 / (variance + (tau * tau)[:, None])
        bottom = (precision * one * one).sum(axis=1)
        return precision, bottom, (precision * one * y).sum(axis=1) / bottom

    top = 4.0 * max(TAU_SD, math.sqrt(max(y @ y - (one @ y) ** 2 / (one @ one), 0.0) / groups))
    root = (np.arange(GRID) + 0.5) / GRID
    tau = top * root * root
    precision, bottom, middle = given(tau)
    away = y - middle[:, None] * one
    fit = np.log(precision).sum(axis=1) - np.log(bottom) - (precision * away * away).sum(axis=1)
    # the step is that of the root
    log_weight = 0.5 * fit - 0.5 * (tau / TAU_SD) ** 2 + np.log(root)
    mass = np.append(0.0, np.cumsum(np.exp(log_weight - log_weight.max())))
    ends = np.concatenate([[0.0], 0.5 * (tau[1:] + tau[:-1]), tau[-1:]])
    at, other = ((0.5 + np.arange(n) * step) % 1.0 for step in KRONECKER)
    drawn = np.interp(at, mass / mass[-1], ends)
    precision, bottom, middle = given(drawn)
    common = (middle + ndtri(other) / np.sqrt(bottom))[:, None] * one
    shrunk = drawn[:, None] * np.sqrt(precision)
    theta = common + shrunk * shrunk * (y - common) + shrunk * own
    return np.asarray((theta @ vectors.T).std(axis=1))


CRITERIA: dict[str, tuple[str, ...]] = {
    "demographic_parity": ("selection_rate",),
    "equal_opportunity": ("tpr",),
    "predictive_equality": ("fpr",),
    "predictive_parity": ("ppv",),
    "equalized_odds": ("tpr", "fpr"),
    "treatment_equality": ("treatment_equality",),
    "accuracy_equality": ("accuracy",),
}


def larger_gap(differences: dict[str, Estimate]) -> Gap:
    """Return the larger of the absolute differences of several metrics, draw by draw."""
    parts = [*differences.values()]
    values = np.stack([np.abs(part.draws) for part in parts], axis=-1)
    lack = next((part for part in parts if part.reason is not None), parts[0]).lack
    exact = all(part.exact for part in parts)
    gap, defined = values.max(axis=-1), values[~np.isnan(values).any(axis=-1)]
    if not len(defined):
        return Gap(gap, lack, exact, prob=parts[0].prob)
    tied = defined == defined.max(axis=-1, keepdims=True)
    share = (tied / tied.sum(axis=-1, keepdims=True)).mean(axis=0)
    at = int(np.argmax(share))
    which, chance = ([*differences][at],), float(share[at])
    return Gap(gap, lack, exact, (), which, chance, prob=parts[0].prob)


class Cell(NamedTuple):
    """The difference of a metric between two groups."""

    metric: str
    group: str
    reference: str


@dataclass(frozen=True, eq=False, repr=False)
class Simultaneous(OneLine):
    """Simultaneous intervals of differences.

    Attributes
    ----------
    prob : float
        Probability that all intervals hold their numbers.
    factor : float
        c of the module docstring; NaN if every cell is left out.
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
    -0.01 to 0.21
    """

    prob: float
    factor: float
    cells: tuple[Cell, ...]
    median: Floats
    low: Floats
    high: Floats
    left_out: dict[Cell, str]

    def _line(self) -> str:
        shown, rest = counted(len(self.cells), "difference"), len(self.left_out)
        return f"{100 * self.prob:g} % intervals of {shown} at once, {rest} left out"

    def interval(self, metric: str, group: str) -> tuple[float, float]:
        """Return the interval of a group's difference from the reference.

        Raises
        ------
        ValueError
            If there is none; the message has the reason.
        """
        names = [cell[:2] for cell in self.cells]
        if (metric, group) in names:
            at = names.index((metric, group))
            return float(self.low[at]), float(self.high[at])
        left_out = {cell[:2]: why for cell, why in self.left_out.items()}
        reason = left_out.get((metric, group), "it was not requested")
        raise ValueError(f"no interval of {metric!r} for {group!r}: {reason}")

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
        Least and greatest possible difference of each metric; intervals end there.
    """
    check_prob(prob)
    left_out: dict[Cell, str] = {}
    used: dict[Cell, Floats] = {}
    for cell, estimate in differences.items():
        if estimate.reason is not None:
            left_out[cell] = estimate.reason
        elif estimate.exact or np.ptp(estimate.defined) == 0.0:
            left_out[cell] = "known exactly" if estimate.exact else "it is the same in all draws"
        else:
            used[cell] = estimate.draws.ravel()
    if not used:
        return Simultaneous(prob, NAN, (), np.empty(0), np.empty(0), np.empty(0), left_out)
    draws = np.stack([*used.values()], axis=-1)
    median = np.nanmedian(draws, axis=0)
    away = np.nan_to_num(draws - median)  # an undefined draw is outside no interval
    size = np.abs(away).max(axis=0)
    away /= size  # squares of tiny numbers would be 0
    up, down = (
        np.sqrt((away * away).sum(axis=0, where=side) / np.maximum(side.sum(axis=0), 1))
        for side in (away > 0.0, away < 0.0)
    )
    scale = np.where(away > 0.0, up, down)
    distance = over(np.abs(away), scale, 0.0)
    factor = float(np.quantile(distance.max(axis=1), prob))
    unbounded = (-np.inf, np.inf)
    least, most = np.array([(bounds or {}).get(cell.metric, unbounded) for cell in used]).T
    low = np.maximum(median - factor * down * size, least)
    high = np.minimum(median + factor * up * size, most)
    return Simultaneous(prob, factor, tuple(used), median, low, high, left_out)
