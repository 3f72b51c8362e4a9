"""Label planning: how narrow will an interval be after more labels?

The labels do not exist yet: some unlabeled rows get labels at the rates of the posterior, and the
width of an interval is that of the preposterior forecast (`forecast`), an expectation over these
labels. As everywhere, the model is assumed to be right. On real scores the forecast was within 15 %
of the widths that followed in 26 of 32 cells (bench/PLANNING.md).

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> plan = lf.plan_labels(result, metric="tpr", width=0.1)
    >>> for extra, width in zip(plan.extra, plan.intervals[0].width):
    ...     print(f"{extra:5} {width:.3f}")
        0 0.179
       52 0.155
      110 0.139
      210 0.122
      420 0.099
      840 0.072

How many labels would settle a check is in its verdict (`settle`). On the command line::

    lightfair plan scores.csv --label label --score score --group sex --metric tpr --width 0.05
    lightfair plan scores.csv --label label --score score --group sex --choose 100 \
        --output next.csv

The second line writes the rows to label next (`choose`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.assessment import Assessment
from ..core.data.logit import Floats, Ints, over
from ..core.data.messages import check_kind, lies_in
from ..core.data.nodes import UNLABELED
from ..core.metrics.estimate import check_prob
from ..core.values import Based, framed, metric_values, plain
from .contrasts import Contrasts, contrasts_of
from .forecast import Preposterior, expected_sd, forecast_width, preposterior
from .settle import two_digits

STEPS = (0.125, 0.25, 0.5, 1.0, 2.0)  # default numbers, in units of the number that is sought

NEXT = 10  # labels whose effect decides which group is next


@dataclass(frozen=True, eq=False)
class Expected:
    """Expected interval of a difference, or of the metric of a group, by number of extra labels.

    group, reference: names; reference is None for the metric of the group itself. width: float64
    (P,), expected width, NaN if undefined. reason: why the estimate is undefined now, or None.
    """

    group: str
    reference: str | None
    width: Floats
    reason: str | None


@dataclass(frozen=True, eq=False, repr=False)
class LabelPlan(Based):
    """Expected effect of more labels.

    Attributes
    ----------
    metric : str
    width, prob : float
        The target width, and the credible level of intervals.
    groups : tuple of str
    labeled, unlabeled : int64 array, shape (group,)
        Rows so far.
    extra : int64 array, shape (P,)
        Numbers of extra labels, increasing from 0.
    intervals : tuple of Expected
        Of the planned differences, or of the metric if there is only one group.
    labels : int or None
        Smallest number of extra labels at which every difference is expected to be as narrow as
        `width`, in two digits.
    reason : str or None
        Why there is no such number.
    shrinks : float64 array, shape (group,)
        Decrease of the widest difference per label in each group; NaN for a group without unlabeled
        rows.
    next_group : str or None
        The group with the largest decrease; None if no label narrows anything.
    assessment : Assessment
        The assessment that is planned for.

    Examples
    --------
    The methods go on from here.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> plan = lf.plan_labels(result, width=0.1)
    >>> plan.labels > 100, plan.next_group in result.groups
    (True, True)
    >>> first = plan.intervals[0]
    >>> first.group, first.reference, bool(first.width[0] > first.width[-1])
    ('B', 'A', True)
    """

    metric: str
    width: float
    prob: float
    groups: tuple[str, ...]
    labeled: Ints
    unlabeled: Ints
    extra: Ints
    intervals: tuple[Expected, ...]
    labels: int | None
    reason: str | None
    shrinks: Floats
    next_group: str | None
    assessment: Assessment

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, ready for JSON; undefined values are null.

        The keys:

        version, settings, data, diagnostics, warnings
            Of the assessment, as in its own.
        metric, width, prob
            The arguments.
        groups
            name, labeled, unlabeled, shrinks_per_label.
        steps
            Per number of extra labels: intervals.
        labels
            number, reason.
        next_group
            Where a label narrows the widest interval most.
        differences
            If the truth is known: the planned differences now, and the truth.

        Examples
        --------
        >>> plan.to_dict()["labels"]["number"] == plan.labels
        True
        """
        same = ("metric", "width", "prob", "next_group")
        values: dict[str, Any] = {name: getattr(self, name) for name in same}
        names = ("name", "labeled", "unlabeled", "shrinks_per_label")
        columns = (self.groups, self.labeled.tolist(), self.unlabeled.tolist())
        rows = zip(*columns, map(plain, self.shrinks), strict=True)
        values["groups"] = [dict(zip(names, row, strict=True)) for row in rows]
        values["steps"] = []
        for at, number in enumerate(self.extra.tolist()):
            intervals = [vars(one) | {"width": plain(one.width[at])} for one in self.intervals]
            values["steps"].append({"extra": number, "intervals": intervals})
        values["labels"] = {"number": self.labels, "reason": self.reason}
        if self.assessment.truth is not None:  # of the metric itself, if there is one group
            found = metric_values(self.assessment, self.metric)
            planned = {one.group for one in self.intervals}
            apart = [one for one in found["differences"] if one["group"] in planned]
            values["differences"] = apart or found["groups"]
        return framed(self.assessment, values)


def plan_labels(
    result: Assessment,
    metric: str = "tpr",
    width: float = 0.05,
    *,
    group: Any = None,
    reference: Any = None,
    extra: Any = None,
    prob: float | None = None,
) -> LabelPlan:
    """Return expected interval widths after more labels, and the number needed for a width.

    Parameters
    ----------
    result
        An assessment; its unlabeled rows can get labels.
    metric : str
        One that was assessed, of confusion counts.
    width : float
        Target width of the interval of the difference, above 0 and below twice the range of the
        metric. With one group, of the interval of its metric.
    group, reference
        The difference to plan for. Default: every group against the reference of the assessment, of
        at most 20 groups.
    extra : sequence of int, optional
        Numbers of extra labels to look at. Default: some around the number that is sought.
    prob : float, optional
        Credible level of the intervals. Default: that of the assessment.

    Returns
    -------
    LabelPlan

    Raises
    ------
    ValueError
        If an argument breaks its rule, or labels were taken to be wrong.

    Examples
    --------
    How many labels until the interval of the difference in tpr is 0.1 wide?

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> plan = lf.plan_labels(result, metric="tpr", width=0.1)
    >>> plan.labels
    420
    """
    check_kind(result, Assessment, "result", "assess")
    settings = result.settings
    if settings.label_error is not None:
        raise ValueError("label_error: a plan takes labels as right; assess without it to plan")
    prob = settings.prob if prob is None else check_prob(prob)
    least, most = settings.metric(metric).bounds
    if not lies_in(width, 0.0, limit := 2 * (most - least)):
        raise ValueError(f"width must be above 0 and below {limit:g}; got {width!r}")
    contrasts = contrasts_of(result, metric, group, reference, prob)
    rows = np.rint(result.table.sums("rows").sum(axis=1)).astype(np.int64)  # by group and label
    unlabeled = rows[:, UNLABELED]
    ahead = preposterior(result, metric, groups=contrasts.groups)
    forecast = Forecast(ahead, contrasts)
    labels = _first_below(lambda n: contrasts.widest(forecast.widths(n)), forecast.total, width)
    numbers = _numbers(extra, labels, forecast.total, result.table.labeled)
    widths = np.stack([forecast.widths(n) for n in numbers])
    shrinks = _shrinks(forecast)
    intervals = zip(contrasts.pairs, widths.T, contrasts.reasons, strict=True)
    return LabelPlan(
        metric=metric,
        width=float(width),
        prob=prob,
        groups=result.groups,
        labeled=rows.sum(axis=1) - unlabeled,
        unlabeled=unlabeled,
        extra=np.array(numbers, dtype=np.int64),
        intervals=tuple(Expected(*pair, *values) for pair, *values in intervals),
        labels=labels,
        reason=_reason(forecast) if labels is None else None,
        shrinks=shrinks,
        next_group=result.groups[int(np.nanargmax(shrinks))] if (shrinks > 0.0).any() else None,
        assessment=result,
    )


class Forecast:
    """Forecast widths by number of extra labels of random rows."""

    def __init__(self, ahead: Preposterior, contrasts: Contrasts) -> None:
        self.ahead, self.contrasts = ahead, contrasts
        rows = np.bincount(ahead.bins.group, ahead.bins.rows, minlength=ahead.groups)
        self.rows: Floats = rows.astype(np.float64)
        self.total = int(self.rows.sum())
        self.before = self.sd(np.zeros(ahead.groups))

    def widths(self, number: int) -> Floats:
        """Expected widths of all contrasts, float64 (E,)."""
        return self.widths_of(self.rows * (number / max(self.total, 1)))

    def widths_of(self, split: Floats) -> Floats:
        """The same for labels by group, float64 (G,)."""
        now, prob = self.contrasts.width, self.contrasts.prob
        return forecast_width(now, self.before, self.sd(split), prob)

    def sd(self, split: Floats) -> Floats:
        """Expected standard deviations, float64 (E,); rows of a group are labeled alike."""
        share = np.minimum(over(split, self.rows, 0.0), 1.0)
        labels = share[self.ahead.bins.group] * self.ahead.bins.rows
        return expected_sd(self.ahead, labels, self.contrasts.matrix)


def _numbers(extra: Any, sought: int | None, total: int, labeled: int) -> list[int]:
    """Numbers of extra labels, increasing from 0."""
    if extra is None:
        centre = sought or (total if sought is None else max(labeled, 1))
        numbers = [min(two_digits(max(1, int(step * centre))), total) for step in STEPS]
        return sorted({0, *numbers})
    given = {0, *np.atleast_1d(extra).tolist()}
    if not all(isinstance(number, int) and 0 <= number <= total for number in given):
        raise ValueError(f"extra must hold whole numbers in [0, {total}]; got {extra!r}")
    return sorted(given)


def _first_below(width_at: Callable[[int], float], total: int, width: float) -> int | None:
    """Smallest number of labels with an expected width of at most `width`, in two digits."""
    if width_at(0) <= width:
        return 0
    if total == 0 or not width_at(total) <= width:
        return None
    low, high = 0, total
    while high - low > max(1, low // 50):
        middle = min(max(int(math.sqrt(max(low, 1) * high)), low + 1), high - 1)
        low, high = (low, middle) if width_at(middle) <= width else (middle, high)
    return min(two_digits(high), total)


def _shrinks(forecast: Forecast) -> Floats:
    """Decrease of the widest contrast per label in each group: float64 (G,)."""
    now = forecast.widths(0)
    shrinks = np.full(len(forecast.rows), np.nan)
    for g, rows in enumerate(forecast.rows):
        if rows > 0.0 and not np.isnan(now).all():
            widest = int(np.nanargmax(now))
            number = min(float(NEXT), rows)
            split = np.where(np.arange(len(shrinks)) == g, number, 0.0)
            shrinks[g] = (now[widest] - forecast.widths_of(split)[widest]) / number
    return shrinks


def _reason(forecast: Forecast) -> str:
    """Why there is no number of labels."""
    reasons = forecast.contrasts.reasons
    if all(reasons):
        return f"it is undefined, {reasons[0]}"
    if forecast.total == 0:
        return "no row is unlabeled"
    least = forecast.contrasts.widest(forecast.widths(forecast.total))
    return f"with all rows labeled a width of {least:.3g} is left"
