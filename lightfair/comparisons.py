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
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .compare import ROUNDING, UNDEFINED_LIMIT, Estimate, Gap, difference, rounded
from .model import Floats


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
