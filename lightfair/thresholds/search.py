"""Find thresholds per group that equalise a metric, or reach a value of it, and how sure that is.

With the labels of a draw each metric of a group is a function of the threshold. Where it moves one
way, as tpr does, it crosses the wanted value y once: y is a given target, or what the reference
shows at its own threshold in that draw. So the threshold has a posterior:

    t(draw) = the smallest t with metric(t; draw) <= y(draw)      (>= y where the metric rises)

Within a cell of the table rows are taken to be spread evenly over the log odds; distinct scores
are steps. A draw in which no threshold gets there has no crossing, and their share is reported.

One threshold has to be chosen in the end. Recommended is the one with the smallest expected
absolute gap, E |metric(t) - y|, of those that cut no cell; of equals the smallest. The posterior of
the gap that remains there is reported: with few labels it is wide, whatever the threshold. That is
also what is done for metrics that do not move one way, such as accuracy and ppv; they may cross y
often or never, and have no posterior of the threshold.

Thresholds of this kind are those of Hardt, Price and Srebro (2016, "Equality of opportunity in
supervised learning", section 3.1), without randomisation.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> print(lf.find_threshold(result, "tpr", group="B", reference="A"))
    thresholds at which tpr is that of A at 0.5, 0.638 [0.566, 0.717]
    <BLANKLINE>
                                   no                                      P(|gap|
    group         threshold  crossing  recommended              gap there   <0.05)
    B  0.593 [0.519, 0.701]      0.0%  0.586617579  0.006 [-0.091, 0.110]    0.676
    recommended: the threshold with the smallest expected absolute gap; of equals
      the smallest

On the command line::

    lightfair threshold scores.csv --label label --score score --group race --group-to-move B
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.data.logit import Floats, logit_of, sigmoid
from ..core.data.messages import Note, hint, level_name, lies_in, show
from ..core.data.nodes import CELL_WIDTH, Ints
from ..core.data.table import ScoreTable
from ..core.metrics.definitions import Metric, resolve_metrics, theta
from ..core.metrics.estimate import UNDEFINED_LIMIT, Estimate
from ..core.metrics.imputation import Slots, confusion, score_slots
from ..core.values import framed, plain, summary
from .curve import EDGE, known_range, sums_by_rank

if TYPE_CHECKING:
    from ..core.assessment import Assessment

FALLING = ("tpr", "fpr", "selection_rate")  # as the threshold rises

RISING = ("tnr", "fnr")

LACK = "thresholds that reach it"

SAME = 1e-9  # rates that differ by less are equal


@dataclass(frozen=True, eq=False)
class GroupThreshold:
    """What was found for a group.

    Attributes
    ----------
    group : str
    crossing : Estimate
        Posterior of the threshold; draws without a crossing are NaN. None where the metric does
        not move one way.
    recommended : float or None
        None where the metric, or the wanted value, is undefined in more than 5 % of draws at every
        threshold.
    metric : Estimate or None
        Of the metric at the recommended threshold.
    gap : Estimate or None
        Of the metric there minus the wanted value.
    """

    group: str
    crossing: Estimate | None
    recommended: float | None
    metric: Estimate | None
    gap: Estimate | None

    @property
    def no_crossing(self) -> float | None:
        """Share of draws in which no threshold gets there."""
        return None if self.crossing is None else self.crossing.undefined

    @property
    def median(self) -> float:
        """Posterior median of the threshold; NaN where there is no posterior."""
        if self.crossing is None or self.crossing.reason is not None:
            return float("nan")
        return float(np.median(self.crossing.defined))


@dataclass(frozen=True, eq=False)
class FoundThresholds:
    """Thresholds of groups; printed, they are a table.

    Attributes
    ----------
    of : Metric
        The metric; its name is `metric`.
    reference : str or None
        The group whose metric was to be met, at its own threshold.
    target : float or None
        Or the value that was to be reached.
    wanted : Estimate or None
        Of the reference's metric.
    groups : tuple of GroupThreshold
    own : float or None
        Threshold of the reference; None where there is none, or its decisions were given.
    assessment : Assessment
        Whose posterior was searched.

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

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.of.name

    @property
    def prob(self) -> float:
        """Mass of intervals, as the assessment says."""
        return self.assessment.settings.prob

    @property
    def epsilon(self) -> float:
        """A gap below it is small, as the assessment says."""
        return self.assessment.settings.epsilon

    @property
    def warnings(self) -> tuple[Note, ...]:
        """Those of the assessment; printed are those that no threshold is to be used with."""
        return self.assessment.warnings

    def __getitem__(self, group: Any) -> GroupThreshold:
        name = level_name(group)
        for found in self.groups:
            if found.group == name:
                return found
        names = ", ".join(found.group for found in self.groups)
        raise ValueError(f"no threshold of group {name!r}; there are those of {names}")

    @property
    def threshold(self) -> dict[str, float]:
        """The recommended thresholds, and the reference's own, as `assess` takes them."""
        found = {one.group: one.recommended for one in self.groups if one.recommended is not None}
        if self.reference is not None and self.own is not None:
            found[self.reference] = self.own
        return dict(sorted(found.items()))

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain values, ready for JSON.

        An undefined number is null with a `reason`. The keys:

        version, settings, data, diagnostics, warnings
            Of the assessment, as in its own.
        metric, reference, target
            What was to be met.
        own, wanted
            Threshold of the reference, and its metric there.
        groups
            Per group: median, interval, exact of the posterior of the threshold; no_crossing;
            recommended (recommended_reason where it is null); metric and gap there.

        Examples
        --------
        >>> one = found.to_dict()["groups"][0]
        >>> one["group"], one["recommended"] == found["B"].recommended
        ('B', True)
        """

        return to_dict(self)

    def __repr__(self) -> str:
        from ..core.data.messages import counted, one_line

        groups = counted(len(self.groups), "group")
        return one_line(f"<FoundThresholds: {self.metric}; {groups}; print() shows them>")


class Parts(NamedTuple):
    """The slots of a group between thresholds that cut none of them.

    rank: int64 (slot,), number of thresholds that the slot reaches; low, high: float64
    (threshold,), between which, in log odds, a threshold divides the slots the same way.
    """

    rank: Ints
    low: Floats
    high: Floats


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
        The group whose metric, at its own threshold, is to be met. Default: that of the assessment.
    target
        The value that is to be reached in every group, in place of a reference.

    Returns
    -------
    FoundThresholds. Its `threshold` is a mapping that `assess` takes.

    Raises
    ------
    ValueError
        If a group is unknown, or the metric is one of scores or does not depend on the threshold,
        or reference and target are given both.

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> found = lf.find_threshold(result, "selection_rate", group="B", reference="A")
    >>> bool(abs(found["B"].gap.mean) < 0.01)
    True
    """
    (of,) = resolve_metrics((metric,), result.settings.own_metrics)
    if of.of != "counts" or of.name == "base_rate":
        raise ValueError(
            f"metric: {of.name} does not depend on the threshold; find_threshold takes metrics of "
            "counts, such as tpr, fpr, selection_rate, ppv"
        )
    if target is not None and reference is not None:
        raise ValueError("give reference or target, not both")
    if target is not None and not lies_in(target, *of.bounds):
        low, high = of.bounds
        raise ValueError(
            f"target must lie in ({low:g}, {high:g}), where {of.name} does; got {show(target)}"
        )
    base = None
    if target is None:
        base = result.settings.reference if reference is None else level_name(reference)
        if base is None:
            raise ValueError("find_threshold needs a reference, or a target where groups are one")
        _known(result, base)
    names = _asked(result, group, base)
    slots = score_slots(result.fine)
    shape = result.posterior.phi.shape[:2]
    wanted = None
    value = np.full(shape[0] * shape[1], np.nan if target is None else float(target))
    if base is not None:
        mine = slots[result.groups.index(base)]
        value = theta(of, confusion(result.imputed(base), mine))
        wanted = Estimate(value.reshape(shape), of.lack, result._known(of, _place(result, base)))
    found = tuple(_found(result, of, name, slots, value, base) for name in names)
    cut = result.table.threshold
    return FoundThresholds(
        of=of,
        reference=base,
        target=None if target is None else float(target),
        wanted=wanted,
        groups=found,
        own=cut.get(str(base)) if isinstance(cut, dict) else cut if base is not None else None,
        assessment=result,
    )


def parts_of(slots: Slots, table: ScoreTable, group: int) -> Parts:
    """Cut the axis of scores of a group wherever no slot is cut.

    Below the lowest rows and above the highest ones there is a threshold, too, but not where they
    are at a bound of clipping: the table does not say how far beyond it they are.
    """
    least, most = known_range(slots, table, group)
    order = np.argsort(least, kind="stable")
    reach = np.append(-np.inf, np.maximum.accumulate(most[order]))
    start = np.append(least[order], np.inf)
    free = reach <= start
    free[0] &= bool(np.isfinite(start[0]))
    free[-1] &= bool(np.isfinite(reach[-1]))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.cumsum(free)[:-1]
    low, high = reach[free], start[free]
    if free[0]:
        low[0] = high[0] - CELL_WIDTH
    if free[-1]:
        high[-1] = low[-1] + CELL_WIDTH
    return Parts(rank, low, high)


def crossings(values: Floats, wanted: Floats, parts: Parts) -> Floats:
    """Return where metrics that fall with the threshold cross the wanted values, in log odds.

    values: float64 (n, threshold), falling; wanted: float64 (n,) -> float64 (n,), NaN where there
    is no crossing.
    """
    n, count = values.shape
    there = values <= wanted[:, None] + SAME
    first = np.where(there.any(axis=1), there.argmax(axis=1), count)
    row = np.arange(n)
    after = np.minimum(first, count - 1)
    before = np.maximum(after - 1, 0)
    drop = values[row, before] - values[row, after]
    share = np.divide(values[row, before] - wanted, drop, out=np.ones(n), where=drop > 0.0)
    width = parts.low[after] - parts.high[before]
    place = parts.high[before] + np.clip(share, 0.0, 1.0) * width
    at_once = first == 0  # no lower threshold: only one that meets the value is a crossing
    place = np.where(at_once, parts.low[0], place)
    met = np.abs(values[:, 0] - wanted) <= SAME
    none = (first == count) | (at_once & ~met) | np.isnan(wanted)
    return np.where(none, np.nan, place)


def _found(
    result: Assessment,
    of: Metric,
    name: str,
    slots: tuple[Slots, ...],
    wanted: Floats,
    base: str | None,
) -> GroupThreshold:
    at = _place(result, name)
    shape = result.posterior.phi.shape[:2]
    parts = parts_of(slots[at], result.fine, at)
    count = len(parts.low)
    sums = sums_by_rank(*result.imputed(name), parts.rank, count + 1)
    below = np.cumsum(sums, axis=1)[:, :-1]
    above = np.cumsum(sums[:, ::-1], axis=1)[:, -2::-1]
    values = theta(of, np.stack([below, above], axis=-2))
    both = [at] if base is None else [at, _place(result, base)]
    known = result._known(of, *both)
    crossing = None
    if of.name in (*FALLING, *RISING):
        sign = 1.0 if of.name in FALLING else -1.0
        where = crossings(sign * values, sign * wanted, parts) if count else wanted * np.nan
        crossing = Estimate(sigmoid(where).reshape(shape), LACK, known)
    gap = values - wanted[:, None]
    undefined = np.isnan(gap)
    few = undefined.mean(axis=0) <= UNDEFINED_LIMIT
    if not few.any():
        return GroupThreshold(name, crossing, None, None, None)
    size = np.where(undefined, 0.0, np.abs(gap)).sum(axis=0)
    size = np.divide(size, (~undefined).sum(axis=0), out=np.full(count, np.inf), where=few)
    best = int(np.flatnonzero(size <= size.min() + SAME)[0])
    return GroupThreshold(
        name,
        crossing,
        _decimal(parts.low[best], parts.high[best]),
        Estimate(values[:, best].reshape(shape), of.lack, result._known(of, at)),
        Estimate(gap[:, best].reshape(shape), of.lack, known),
    )


def _decimal(low: float, high: float) -> float:
    """A threshold between two log odds, with few digits where there is room."""
    start, end = (float(sigmoid(np.float64(end))) for end in (low, high))
    if low == high:  # two cells meet there; a number this near to their edge is on it
        every = (round(end, digits) for digits in range(1, 17))
        near = (x for x in every if 0.0 < x < 1.0 and abs(logit_of(x, 0.0) - low) < 0.5 * EDGE)
        return next(near, end)
    middle = 0.5 * (start + end)
    room = 0.4 * (end - start)
    for digits in range(1, 17):
        short = round(middle, digits)
        if 0.0 < short < 1.0 and abs(short - middle) <= room and logit_of(short, 0.0) <= high:
            return short
    return end


def _asked(result: Assessment, group: Any, base: str | None) -> list[str]:
    """Names of the groups whose threshold is to be found."""
    if group is None:
        return [name for name in result.groups if name != base]
    names = [level_name(one) for one in (group if isinstance(group, list) else [group])]
    if not names:
        raise ValueError("group must name at least one group; got an empty list; leave it out")
    for name in names:
        _known(result, name)
        if name == base:
            raise ValueError(f"group must differ from the reference, {base}")
    return names


def _known(result: Assessment, name: str) -> None:
    if name not in result.groups:
        known = ", ".join(result.groups)
        raise ValueError(f"no group {name!r}{hint(name, result.groups)}; there are {known}")


def _place(result: Assessment, name: str) -> int:
    return result.groups.index(name)


SEVERAL_WAYS = "does not move one way with the threshold"


def to_dict(found: FoundThresholds) -> dict[str, Any]:
    """Return the findings as plain values; `FoundThresholds.to_dict` has the keys."""
    values = {
        "metric": found.metric,
        "reference": found.reference,
        "own": found.own,
        "target": found.target,
        "wanted": None if found.wanted is None else summary(found.wanted, found.prob),
        "groups": [_group(found, one) for one in found.groups],
    }
    return framed(found.assessment, values)


def _undefined(found: FoundThresholds) -> str:
    what = found.metric if found.wanted is None else f"{found.metric}, or what is wanted,"
    return f"{what} is undefined in more than {UNDEFINED_LIMIT:.0%} of draws, at every threshold"


def _group(found: FoundThresholds, one: GroupThreshold) -> dict[str, Any]:
    """What was found for a group."""
    crossing, reason = one.crossing, f"{found.metric} {SEVERAL_WAYS}"
    interval, exact = None, False
    if crossing is not None and crossing.reason is None:
        interval, exact = [*crossing.interval(found.prob)], crossing.exact
    elif crossing is not None:
        reason = str(crossing.reason)
    entry: dict[str, Any] = {
        "group": one.group,
        "median": plain(one.median),
        "interval": interval,
        "exact": exact,
        **({} if interval else {"reason": reason}),
        "no_crossing": one.no_crossing,
        "recommended": one.recommended,
    }
    if one.recommended is None:
        entry["recommended_reason"] = _undefined(found)
    for name, estimate in (("metric", one.metric), ("gap", one.gap)):
        entry[name] = None if estimate is None else summary(estimate, found.prob)
    if one.gap is not None:
        entry["gap"]["prob_within"] = plain(one.gap.prob_within(found.epsilon))
    return entry
