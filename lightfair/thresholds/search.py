"""Find thresholds per group that equalize a metric, or reach a target, with their uncertainty.

With the labels of a draw each metric of a group is a function of the threshold. Its goal y is a
given number, or the metric of the reference at its own threshold in that draw. Recommended is the
threshold with the smallest expected absolute gap, E |metric(t) - y|, of those that cut no cell of
the table; among equals the lowest. The posterior of the remaining gap is reported: with few labels
it is wide at any threshold.

Thresholds of this kind are those of Hardt, Price and Srebro (2016, "Equality of opportunity in
supervised learning", section 3.1), without randomization.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> found = lf.find_threshold(result, "tpr", group="B", reference="A")
    >>> low, high = found["B"].gap.interval(0.95)
    >>> print(f"{found['B'].recommended}, gap {low:.3f} to {high:.3f}")
    0.5744425168, gap -0.087 to 0.116

On the command line::

    lightfair threshold scores.csv --label label --score score --group race --group-to-move B
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..core.assessment import Assessment
from ..core.comparison.gaps import compared_groups
from ..core.data.logit import Floats, Ints, logit_of, sigmoid
from ..core.data.messages import check_kind, index_of, lies_in, show
from ..core.data.nodes import CELL_WIDTH
from ..core.data.rows import ScoreData
from ..core.data.table import ScoreTable, score_table
from ..core.metrics.definitions import Metric, resolve_metrics, theta
from ..core.metrics.estimate import UNDEFINED_LIMIT, Estimate
from ..core.metrics.score_bins import Slots, confusion, score_slots
from ..core.values import Based, framed, plain, summary, truth_values
from .curve import EDGE, UNSCORED, above_and_below, known_range, sums_by_rank

EQUAL = 1e-9  # rates that differ by less are equal


@dataclass(frozen=True, eq=False)
class GroupThreshold:
    """The threshold of a group.

    Attributes
    ----------
    group : str
    recommended : float or None
        None if the metric, or the target, is undefined in more than 5 % of draws at every
        threshold.
    metric : Estimate or None
        The metric at the recommended threshold.
    gap : Estimate or None
        The metric there minus the target.
    """

    group: str
    recommended: float | None
    metric: Estimate | None
    gap: Estimate | None


@dataclass(frozen=True, eq=False, repr=False)
class FoundThresholds(Based):
    """Thresholds of groups.

    Attributes
    ----------
    of : Metric
        The metric; its name is `metric`.
    reference : str or None
        The group whose metric, at its own threshold, is the target.
    target : float or None
        Or a number.
    wanted : Estimate or None
        The metric of the reference.
    groups : tuple of GroupThreshold
    own : float or None
        Threshold of the reference; None if there is none, or its decisions were given.
    assessment : Assessment
        Its posterior was searched.
    truth : dict of str to float, or None
        The metric of each group at its threshold, by labels that the search did not use.

    Examples
    --------
    The methods go on from here.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> found = lf.find_threshold(result, "tpr", group="B", reference="A")
    >>> sorted(found.threshold)
    ['A', 'B']
    >>> found.threshold["A"], found["B"].recommended == found.threshold["B"]
    (0.5, True)
    >>> again = lf.assess(
    ...     rows.y_true,
    ...     rows.y_score,
    ...     sensitive_features=rows.group,
    ...     threshold=found.threshold,
    ...     rng=1,
    ... )
    >>> abs(again.difference("tpr", "B", "A").mean) < 0.03
    True
    """

    of: Metric
    reference: str | None
    target: float | None
    wanted: Estimate | None
    groups: tuple[GroupThreshold, ...]
    own: float | None
    assessment: Assessment
    truth: dict[str, float] | None = None

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.of.name

    def __getitem__(self, group: Any) -> GroupThreshold:
        return self.groups[index_of(group, [one.group for one in self.groups])]

    @property
    def threshold(self) -> dict[str, float]:
        """The recommended thresholds, and the reference's own, as `assess` takes them."""
        cuts = {one.group: one.recommended for one in self.groups}
        if self.reference is not None:
            cuts[self.reference] = self.own
        found = ((name, cuts.get(name)) for name in self.assessment.groups)
        return {name: cut for name, cut in found if cut is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return the thresholds as plain values, ready for JSON.

        An undefined number is null with a `reason`. The keys:

        version, settings, data, diagnostics, warnings
            Of the assessment, as in its own.
        metric, reference, target
            The arguments.
        own, wanted
            Threshold of the reference, and its metric there.
        groups
            Per group: recommended (recommended_reason if it is null); metric and gap there, with
            the truth if it is known.

        Examples
        --------
        >>> one = found.to_dict()["groups"][0]
        >>> one["group"], one["recommended"] == found["B"].recommended
        ('B', True)
        """
        wanted = self.wanted and summary(self.wanted, self.assessment.settings.prob)
        if wanted and self.truth is not None:
            wanted |= truth_values(self.truth[str(self.reference)], self.of)
        same = {name: getattr(self, name) for name in ("metric", "reference", "own", "target")}
        groups = [_group_values(self, one) for one in self.groups]
        return framed(self.assessment, same | {"wanted": wanted, "groups": groups})


def find_threshold(
    result: Assessment,
    metric: str | Metric = "tpr",
    group: Any = None,
    reference: Any = None,
    target: float | None = None,
) -> FoundThresholds:
    """Find the threshold of each group at which a metric is that of the reference, or a target.

    Parameters
    ----------
    result
        An assessment.
    metric
        A name, or a Metric of counts.
    group
        A group, or a list of groups. Default: all; with a reference all others.
    reference
        The group whose metric, at its own threshold, is the target. Default: that of the
        assessment.
    target
        A number, to be reached in every group, in place of a reference.

    Returns
    -------
    FoundThresholds. Its `threshold` is a mapping that `assess` takes.

    Raises
    ------
    ValueError
        If a group is unknown, the metric is one of scores or does not depend on the threshold,
        or both reference and target are given.

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> found = lf.find_threshold(result, "selection_rate", group="B", reference="A")
    >>> bool(abs(found["B"].gap.mean) < 0.01)
    True
    """
    check_kind(result, Assessment, "result", "assess")
    (of,) = resolve_metrics((metric,), result.settings.own_metrics)
    if of.of != "counts" or of.name == "base_rate":
        raise ValueError(f"metric must depend on the threshold, such as tpr; got {of.name}")
    if not result.table.scored:
        raise ValueError(UNSCORED)
    if target is not None and reference is not None:
        raise ValueError("give reference or target, not both")
    if target is not None and not lies_in(target, *of.bounds):
        low, high = of.bounds
        raise ValueError(f"target must lie in ({low:g}, {high:g}); got {show(target)}")
    base = result.settings.reference if target is None else None
    names, base = compared_groups(result.groups, base, group, reference)
    if base is None and target is None:
        raise ValueError("find_threshold needs a target if there is only one group")
    bins, wanted, own = score_slots(result.fine), None, None
    if base is None:
        goal = np.full(result.shape, target)
    else:
        at, cut = result.groups.index(base), result.table.threshold
        own = cut[base] if isinstance(cut, dict) else cut
        counts = confusion(result.imputed(base, free=of.label_free), bins[at])
        goal = theta(of, counts.reshape(*result.shape, 2, 2) + result.pseudo_rows[:, :, at])
        exact = bool(result.group_draws(of).known[at])
        wanted = Estimate(goal, of.lack, exact, prob=result.settings.prob)
    places = (result.groups.index(name) for name in names)
    groups = (_search(result, of, at, bins[at], wanted, goal.ravel()) for at in places)
    number = None if target is None else float(target)
    return FoundThresholds(of, base, number, wanted, tuple(groups), own, result)


def truth_at(found: FoundThresholds, full: ScoreData) -> dict[str, float]:
    """Return the metric of each group at its threshold among all labels of the assessed rows."""
    cuts = np.array([found.threshold.get(name, np.nan) for name in full.groups])[full.group]
    predicted = np.where(np.isnan(cuts), full.predicted, full.score >= cuts)
    table = score_table(replace(full, predicted=predicted), clip=found.assessment.table.clip)
    values = theta(found.of, table.labeled_sums()[0])
    return dict(zip(table.groups, values.tolist(), strict=True))


def _search(
    result: Assessment, of: Metric, at: int, bins: Slots, wanted: Estimate | None, goal: Floats
) -> GroupThreshold:
    """Search the threshold of a group, by index; `goal` float64 (n,) is the target by draw."""
    name, chains, prob = result.groups[at], result.shape, result.settings.prob
    known = bool(result.group_draws(of).known[at])
    exact = known and (wanted is None or wanted.exact)
    parts = parts_of(bins, result.fine, at)
    sums = sums_by_rank(*result.imputed(name, free=of.label_free), parts.rank, len(parts.low) + 1)
    pseudo = result.pseudo_rows[:, :, at].reshape(-1, 1, 2, 2)
    values = theta(of, above_and_below(sums, axis=1) + pseudo)
    gap = values - goal[:, None]
    defined = ~np.isnan(gap)
    usable = 1.0 - defined.mean(axis=0) <= UNDEFINED_LIMIT
    if not usable.any():
        return GroupThreshold(name, None, None, None)
    size = np.where(defined, np.abs(gap), 0.0).sum(axis=0) / np.maximum(defined.sum(axis=0), 1)
    size = np.where(usable, size, np.inf)
    best = int(np.flatnonzero(size <= size.min() + EQUAL)[0])
    return GroupThreshold(
        name,
        _decimal(parts.low[best], parts.high[best]),
        Estimate(values[:, best].reshape(chains), of.lack, known, prob=prob),
        Estimate(gap[:, best].reshape(chains), of.lack, exact, prob=prob, signed=True),
    )


class Parts(NamedTuple):
    """The score bins of a group, divided at the thresholds that cut none of them.

    rank: intp (bin,), number of thresholds that the bin reaches; low, high: float64 (threshold,),
    the log odds between which a threshold divides the bins the same way.
    """

    rank: Ints
    low: Floats
    high: Floats


def parts_of(bins: Slots, table: ScoreTable, group: int) -> Parts:
    """Divide the axis of scores of a group at every threshold that cuts no bin.

    There are also thresholds below the lowest and above the highest rows, except at a clipping
    bound: how far beyond it the rows are is unknown.
    """
    least, most = known_range(bins, table, group)
    order = np.argsort(least, kind="stable")
    reach = np.append(-np.inf, np.maximum.accumulate(most[order]))
    start = np.append(least[order], np.inf)
    free = reach <= start
    free[0] &= bool(np.isfinite(start[0]))
    free[-1] &= bool(np.isfinite(reach[-1]))
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.cumsum(free)[:-1]
    low, high = reach[free], start[free]
    if free[0]:
        low[0] = high[0] - CELL_WIDTH
    if free[-1]:
        high[-1] = low[-1] + CELL_WIDTH
    return Parts(rank, low, high)


def _decimal(low: float, high: float) -> float:
    """A threshold between two log odds, with few digits if there is room."""
    start, end = (float(sigmoid(np.float64(end))) for end in (low, high))
    middle, room = 0.5 * (start + end), 0.4 * (end - start)
    for digits in range(1, 17):
        short = round(end if low == high else middle, digits)
        at = float(logit_of(short, 0.0)) if 0.0 < short < 1.0 else np.inf
        if low == high:  # two cells meet there; a number this close to their edge is on it
            if abs(at - low) < 0.5 * EDGE:
                return short
        elif abs(short - middle) <= room and at <= high:
            return short
    return end


def _group_values(found: FoundThresholds, one: GroupThreshold) -> dict[str, Any]:
    """The threshold of a group as plain values."""
    values: dict[str, Any] = {"group": one.group, "recommended": one.recommended}
    if one.metric is None or one.gap is None:
        what = found.metric if found.wanted is None else f"{found.metric}, or what is wanted,"
        share = f"more than {UNDEFINED_LIMIT:.0%} of draws, at every threshold"
        reason = f"{what} is undefined in {share}"
        return values | {"recommended_reason": reason, "metric": None, "gap": None}
    settings = found.assessment.settings
    values |= {"metric": summary(one.metric, settings.prob), "gap": summary(one.gap, settings.prob)}
    values["gap"]["prob_within"] = plain(one.gap.prob_within(settings.epsilon))
    if found.truth is not None:
        truth = found.truth[one.group]
        goal = found.target if found.reference is None else found.truth[found.reference]
        values["metric"] |= truth_values(truth, found.of)
        values["gap"] |= truth_values(truth - float(goal or 0.0), found.of)
    return values
