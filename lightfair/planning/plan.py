"""Label planning: how narrow will an interval be after more labels, and what will they settle?

The labels are still to come, so they are drawn: a draw of the posterior is taken for the truth,
some unlabeled rows get labels at its rates, and the model is fitted again (`refits`). What the new
intervals are on average is what to expect. Between the numbers of labels that were refitted, and
where nobody waits for refits, the width comes from `forecast`, times the ratio of refits to it.

A width is expected over what the labels may turn out to be. That the model is right is assumed, as
everywhere.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> print(lf.plan_labels(result, metric="tpr", width=0.1, refits=0))
    Plan for tpr: 100 rows have labels, 1,900 can get one
    <BLANKLINE>
    expected width of 95 % intervals; chance that a check of differences<=0.05
      passes or fails
    extra labels  B - A  decisive
        0         0.196        0%
       65         0.165       36%
      130         0.148       46%
      260         0.126       57%
      520         0.099       65%
    1,100         0.061       76%
    <BLANKLINE>
    A width of 0.1 takes about 520 more labels of random rows.
    Next: B; 10 labels there narrow the widest interval by 0.0071, in A by 0.0050.

That is the forecast, there at once; with refits, the default, each width has a Monte Carlo error,
±. More labels can also undo a verdict that is decisive now. On the command line::

    lightfair plan scores.csv --label label --score score --group sex --metric tpr --width 0.05
    lightfair plan scores.csv --label label --score score --group sex --choose 100 \
        --output next.csv

The second line writes the rows to label next (`label_choice`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..core.data.logit import Floats
from ..core.data.messages import Note, lies_in
from ..core.data.nodes import Ints
from ..core.metrics.estimate import BORDER, check_prob
from ..core.settings import check_rng
from ..core.values import framed, plain
from .forecast import expected_sd, forecast_width, outlook, sds, two_digits
from .plan_aim import Aim, Curve, aim_at, looked_at, planned_pairs, rows_of, shares_of
from .refits import refitted_widths

if TYPE_CHECKING:
    from ..core.assessment import Assessment

TRUTHS = 400  # draws that are each taken for the truth, and held against as many

STEPS = (0.125, 0.25, 0.5, 1.0, 2.0)  # default numbers, in units of the number that is sought

NEXT = 10  # labels whose effect says which group is next

ERRORS = 2.0  # Monte Carlo standard errors of a width that a range of labels allows for


@dataclass(frozen=True, eq=False)
class Expected:
    """A number that is to be narrowed down: its interval at each number of extra labels.

    group, reference: names; reference is None where it is the metric of the group itself. width,
    mcse: float64 (P,), expected width and its Monte Carlo standard error; NaN where undefined, and
    of a forecast without refits.
    reason: why it is undefined now, or None.
    """

    group: str
    reference: str | None
    width: Floats
    mcse: Floats
    reason: str | None


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """What more labels are expected to do.

    Attributes
    ----------
    metric : str
    width, within, prob : float
        The width asked for; a difference below `within` is small; mass of intervals, and what makes
        a verdict decisive.
    groups : tuple of str
    labeled, unlabeled : int64 array, shape (group,)
        Rows so far.
    extra : int64 array, shape (P,)
        Numbers of extra labels, from 0 on.
    split : float64 array, shape (P, group)
        Expected number of extra labels in each group.
    of_groups, of_differences : tuple of Expected
        Intervals of the metric of each group, and of the differences planned for.
    decisive, decisive_mcse : float64 array, shape (P,)
        Chance that a check of all differences against `within` passes or fails, at `prob`
        (`verdict`), and its Monte Carlo standard error. NaN where there is no difference.
    labels : int or None
        Smallest number of extra labels with which every difference is expected to be as narrow as
        `width`, in two digits.
    labels_range : (int, int or None) or None
        The same for widths two Monte Carlo errors smaller, and larger; None without refits.
    reason : str or None
        Why there is no such number.
    shrinks : float64 array, shape (group,)
        By how much a label in each group narrows the widest difference; NaN where a group has no
        unlabeled row.
    next_group : str or None
        The group where that is most; None where no label narrows anything.
    allocation : dict of str to float, or None
        Shares of the extra labels by group; None: of rows at random.
    refits : int
        Data sets fitted for each number of labels.
    seed : int or None
        None where it is not known: no rng was given, or a Generator.
    assessment : Assessment
        What it is a plan for.

    Examples
    --------
    The methods go on from here.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> plan = lf.plan_labels(result, width=0.1, refits=0)
    >>> plan.labels > 100, plan.next_group in result.groups
    (True, True)
    >>> first = plan.of_differences[0]
    >>> first.group, first.reference, bool(first.width[0] > first.width[-1])
    ('B', 'A', True)
    """

    metric: str
    width: float
    within: float
    prob: float
    groups: tuple[str, ...]
    labeled: Ints
    unlabeled: Ints
    extra: Ints
    split: Floats
    of_groups: tuple[Expected, ...]
    of_differences: tuple[Expected, ...]
    decisive: Floats
    decisive_mcse: Floats
    labels: int | None
    labels_range: tuple[int, int | None] | None
    reason: str | None
    shrinks: Floats
    next_group: str | None
    allocation: dict[str, float] | None
    refits: int
    seed: int | None
    assessment: Assessment

    @property
    def target(self) -> str:
        """What is estimated, as the assessment says."""
        return self.assessment.settings.target

    @property
    def warnings(self) -> tuple[Note, ...]:
        """Those of the assessment; printed are those that no plan is to be used with."""
        return self.assessment.warnings

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, ready for JSON.

        The keys:

        version, settings, data, diagnostics, warnings
            Of the assessment, as in its own.
        metric, width, within, prob, allocation, refits, seed, target
            What was asked.
        groups
            name, labeled, unlabeled, shrinks_per_label.
        steps
            Per number of extra labels: split, groups, differences (width, mcse), prob_decisive.
        labels
            number, low, high, reason: how many it takes.
        next_group
            Where a label narrows the widest interval most.

        Examples
        --------
        >>> plan.to_dict()["labels"]["number"] == plan.labels
        True
        """

        return to_dict(self)

    def __repr__(self) -> str:
        known, unknown = int(self.labeled.sum()), int(self.unlabeled.sum())
        return (
            f"<LabelPlan: {self.metric}; {known:,} labels, {unknown:,} to be had; print() shows it>"
        )


def plan_labels(
    result: Assessment,
    metric: str = "tpr",
    width: float = 0.05,
    *,
    group: Any = None,
    reference: Any = None,
    extra: Any = None,
    within: float | None = None,
    prob: float | None = None,
    allocation: Mapping[Any, float] | None = None,
    refits: int = 12,
    rng: int | np.random.Generator | None = None,
) -> LabelPlan:
    """Say how wide intervals will be after more labels, and how many it takes.

    Parameters
    ----------
    result
        An assessment; its unlabeled rows are those that can get labels.
    metric : str
        One that was assessed.
    width : float
        Of the interval of the difference that is to be reached, above 0 and below twice the range
        of the metric. With one group, of the interval of its metric.
    group, reference
        The difference to plan for. Default: every group against the reference of the assessment, of
        at most 20 groups.
    extra : sequence of int, optional
        Numbers of extra labels to look at. Default: some around the number that is sought.
    within, prob : float, optional
        The verdict is on whether the difference is below `within`, and decisive at `prob`, which is
        the mass of intervals, too. Default: epsilon and prob of the assessment.
    allocation : mapping of group to number, optional
        Shares of the extra labels, at least 0, for every group. Default: rows at random. Where a
        group has no row left the others get its labels.
    refits : int
        Data sets that are fitted for each number of labels, at least 2. 0 gives the forecast alone,
        at once.
    rng : int or numpy.random.Generator, optional
        Seed. The same seed gives the same plan.

    Returns
    -------
    LabelPlan

    Raises
    ------
    ValueError
        If an argument breaks its rule.

    Examples
    --------
    How many labels until the interval of the difference in tpr is 0.1 wide? By the forecast alone:

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> plan = lf.plan_labels(result, metric="tpr", width=0.1, refits=0)
    >>> plan.labels
    520
    """
    settings = result.settings
    prob = settings.prob if prob is None else check_prob(prob)
    within = settings.epsilon if within is None else within
    least, most = settings.metric(metric).bounds
    span = most - least  # a difference, and half the width of an interval of it, is less
    for name, value, most in (("within", within, span), ("width", width, 2.0 * span)):
        if not lies_in(value, 0.0, most):
            below = "" if math.isinf(most) else f" and below {most:g}"
            raise ValueError(
                f"{name} must be above 0{below}; got {value!r}; 0.05 is 5 points of a rate"
            )
    whole = isinstance(refits, (int, np.integer)) and not isinstance(refits, bool)
    if not whole or refits == 1 or refits < 0:
        raise ValueError(f"refits must be 0 or a whole number of at least 2; got {refits!r}")
    stream = check_rng(rng)
    aim = aim_at(result, metric, planned_pairs(result, group, reference), prob)
    shares = shares_of(result, allocation)
    forecast = Curve(
        outlook(result, metric, groups=looked_at(result, aim.groups)), aim, shares, prob
    )
    total = int(forecast.room.sum())
    sought = _first_below(lambda n: _widest(forecast.widths(n), aim), total, width)
    numbers = _numbers(extra, sought, total, result.table.labeled)
    widths = np.stack([forecast.widths(n) for n in numbers])
    ratio, mcse = np.ones_like(widths), np.zeros_like(widths)
    refitted = [i for i, n in enumerate(numbers) if n > 0 and _widest(widths[i], aim) > 0.0]
    if refits and refitted:
        ratio[refitted], mcse[refitted] = _refitted(
            result, metric, forecast, [numbers[i] for i in refitted], int(refits), stream
        )
    trend = _Trend(numbers, ratio, mcse)

    def first(errors: float) -> int | None:
        return _first_below(
            lambda n: _widest(forecast.widths(n) * trend.at(n, errors), aim), total, width
        )

    labels = None if math.isnan(_widest(widths[0], aim)) else first(0.0)
    low = first(-ERRORS)
    shrinks = _shrinks(forecast)
    widths = widths * ratio
    mcse = widths * mcse
    if not refits:
        mcse[np.array(numbers) > 0] = np.nan
    decisive = _decisive(result, metric, aim, widths, within, prob)
    best = float(np.nanmax(np.append(shrinks, 0.0)))
    return LabelPlan(
        metric=metric,
        width=float(width),
        within=float(within),
        prob=prob,
        groups=result.groups,
        labeled=rows_of(result)[0],
        unlabeled=rows_of(result)[1],
        extra=np.array(numbers, dtype=np.int64),
        split=np.stack([forecast.split(n) for n in numbers]),
        of_groups=_expected(result, aim, widths, mcse, planned=False),
        of_differences=_expected(result, aim, widths, mcse, planned=True),
        decisive=decisive,
        decisive_mcse=np.sqrt(decisive * (1.0 - decisive) / TRUTHS),
        labels=labels,
        labels_range=None if not refits or labels is None or low is None else (low, first(ERRORS)),
        reason=_reason(labels, forecast, width),
        shrinks=shrinks,
        next_group=result.groups[int(np.nanargmax(shrinks))] if best > 0.0 else None,
        allocation=None
        if shares is None
        else dict(zip(result.groups, shares.tolist(), strict=True)),
        refits=int(refits),
        seed=int(rng) if isinstance(rng, (int, np.integer)) else None,
        assessment=result,
    )


def decisive_chance(deltas: Floats, root: Floats, within: float, prob: float) -> float:
    """Chance that a check of all differences passes or fails after new labels, as in `verdict`.

    Parameters
    ----------
    deltas
        float64 (draw, difference), of the posterior so far; without NaN.
    root
        float64 (difference,), in [0, 1]: standard deviation after the labels, in units of that
        before.
    within, prob
        As in `labels_to_settle`.

    Notes
    -----
    With the truth d and the mean m of the draws, the new posterior has its mean at
    m + (1 - root^2) (d - m) + noise, as the mean of normal observations would be, and the shape of
    the old one, root times as wide. Truth and noise are draws, too. Where root is 1 it is the
    posterior that there is, where it is 0 the truth.
    """
    if (root == 1.0).all():
        return float(_is_decisive(deltas[None], within, prob)[0])
    few = np.linspace(0.0, len(deltas) - 1.0, min(TRUTHS, len(deltas))).round().astype(int)
    mean = deltas.mean(axis=0)
    away = deltas[few] - mean
    learned = 1.0 - root * root
    stir = np.random.default_rng(0).permutation(len(few))
    centre = mean + learned * away + np.sqrt(learned) * root * away[stir]
    later = centre[:, None] + root * away[None]
    return float(_is_decisive(later, within, prob).mean())


def _is_decisive(deltas: Floats, within: float, prob: float) -> npt.NDArray[np.bool_]:
    """Whether a check passes or fails: deltas (posterior, draw, difference), bool (posterior,)."""
    up, down = deltas > within + BORDER, deltas < -within - BORDER
    passes = (~(up | down).any(axis=2)).mean(axis=1) >= prob
    fails = np.maximum(up.mean(axis=1), down.mean(axis=1)).max(axis=1) >= prob
    return np.asarray(passes | fails)


class _Trend:
    """The ratio of refits to the forecast, between the numbers that were refitted."""

    def __init__(self, numbers: list[int], ratio: Floats, error: Floats) -> None:
        self.at_log = np.log1p(np.array(numbers, dtype=np.float64))
        self.ratio, self.error = ratio, error

    def at(self, number: int, errors: float) -> Floats:
        """Ratio of all contrasts, some standard errors from its estimate."""
        columns = (self.ratio * (1.0 + errors * self.error)).T
        found = [np.interp(np.log1p(number), self.at_log, column) for column in columns]
        return np.asarray(found)


def _refitted(
    result: Assessment,
    metric: str,
    forecast: Curve,
    numbers: list[int],
    refits: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Ratio of refitted to forecast widths (number, E), and its relative standard error.

    The forecast of the truths that were refitted is compared with that of all: much of what their
    widths differ by is in both.
    """
    aim, prob = forecast.aim, forecast.prob
    size = int(np.prod(result.draws(metric).shape[:2]))
    truths = np.linspace(0.0, size - 1.0, refits).round().astype(np.int64)
    splits = [forecast.split(n) for n in numbers]
    wanted = numbers if forecast.shares is None else [s.astype(np.int64) for s in splits]
    found = refitted_widths(result, metric, wanted, aim.contrasts, truths, prob, rng)
    mine = outlook(result, metric, truths, groups=looked_at(result, aim.groups))
    ratio, error = np.empty(found.shape[1:]), np.empty(found.shape[1:])
    for i, split in enumerate(splits):
        after = sds(mine, forecast.spread(split), aim.contrasts)
        every = expected_sd(forecast.ahead, forecast.spread(split), aim.contrasts)
        plain = forecast_width(aim.now, forecast.before, every, prob)
        for e in range(len(aim.pairs)):
            seen = ~np.isnan(found[:, i, e])
            ratio[i, e] = error[i, e] = np.nan
            if 2 * seen.sum() <= len(seen):
                continue
            width, sd = found[seen, i, e], after[seen, e]
            if sd.mean() == 0.0 or plain[e] == 0.0:
                ratio[i, e], error[i, e] = 1.0, 0.0
                continue
            if width.mean() == 0.0:
                ratio[i, e], error[i, e] = 0.0, 0.0
                continue
            ratio[i, e] = width.mean() / sd.mean() * every[e] / plain[e]
            off = width / width.mean() - sd / sd.mean()
            error[i, e] = np.sqrt((off * off).sum() / ((len(off) - 1.0) * len(off)))
    return ratio, error


def _shrinks(forecast: Curve) -> Floats:
    """By how much a label in each group narrows the widest planned difference, (G,)."""
    aim, ahead = forecast.aim, forecast.ahead
    found = np.full(ahead.groups, np.nan)
    widest = int(np.nanargmax(np.append(forecast.widths(0)[: aim.planned], -1.0)))
    if widest == aim.planned:
        return found
    contrast = aim.contrasts[[widest]]
    before = forecast.before[[widest]]
    for g in range(ahead.groups):
        number = min(float(NEXT), forecast.rows[g])
        if number > 0.0:
            split = np.zeros(ahead.groups)
            split[g] = number
            after = expected_sd(ahead, forecast.spread(split), contrast)
            width = forecast_width(aim.now[[widest]], before, after, forecast.prob)
            found[g] = (aim.now[widest] - width[0]) / number
    return found


def _first_below(width_at: Callable[[int], float], total: int, width: float) -> int | None:
    """Smallest number of labels with an expected width of at most `width`, in two digits."""
    if width_at(0) <= width:
        return 0
    if total == 0 or not width_at(total) <= width:
        return None
    return _bisected(lambda n: width_at(n) <= width, total)


def _bisected(enough: Callable[[int], bool], total: int) -> int:
    """First number in 1 .. total that is enough, up to 2 %; 0 is not, total is."""
    low, high = 0, total
    while high - low > max(1, low // 50):
        middle = min(max(int(math.sqrt(max(low, 1) * high)), low + 1), high - 1)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return min(two_digits(high), total)


def _widest(widths: Floats, aim: Aim) -> float:
    """The widest of the differences planned for; those that are undefined are left out."""
    mine = widths[: aim.planned]
    return float(np.nanmax(mine)) if not np.isnan(mine).all() else math.nan


def _numbers(extra: Any, sought: int | None, total: int, labeled: int) -> list[int]:
    """Numbers of extra labels, rising, from 0 on."""
    if extra is None:
        centre = sought if sought else (total if sought is None else max(labeled, 1))
        found = {two_digits(max(1, int(step * centre))) for step in STEPS}
        return [0, *sorted({min(number, total) for number in found} - {0})]
    values = list(extra) if isinstance(extra, (list, tuple, range, np.ndarray)) else [extra]
    if not values:
        raise ValueError("extra must hold at least one number of labels; got none; leave it out")
    for value in values:
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not whole or not 0 <= value <= total:
            raise ValueError(
                f"extra must be whole numbers in [0, {total}], the rows that can get a label; "
                f"got {value!r}"
            )
    return sorted({0, *map(int, values)})


def _expected(
    result: Assessment, aim: Aim, widths: Floats, mcse: Floats, *, planned: bool
) -> tuple[Expected, ...]:
    """The differences planned for, or the groups."""
    return tuple(
        Expected(
            result.groups[g],
            None if base is None else result.groups[base],
            widths[:, e],
            mcse[:, e],
            aim.reasons[e],
        )
        for e, (g, base) in enumerate(aim.pairs)
        if (base is not None) == planned
    )


def _decisive(
    result: Assessment, metric: str, aim: Aim, widths: Floats, within: float, prob: float
) -> Floats:
    """Chance of a decisive verdict at each row of widths (P, E): float64 (P,); NaN for none."""
    found = np.full(len(widths), np.nan)
    deltas = _deltas(result, metric, aim)
    if deltas is None:
        return found
    for i, width in enumerate(widths):
        root = _root(width, aim)
        if not np.isnan(root).any():
            found[i] = decisive_chance(deltas, root, within, prob)
    return found


def _root(width: Floats, aim: Aim) -> Floats:
    """Widths of the planned differences, in units of those now: float64 (planned,)."""
    now = aim.now[: aim.planned]
    ratio = np.divide(width[: aim.planned], now, out=np.zeros_like(now), where=now != 0.0)
    return np.asarray(np.minimum(ratio, 1.0))


def _deltas(result: Assessment, metric: str, aim: Aim) -> Floats | None:
    """Draws of the planned differences; None where there is none, or one is not reported."""
    if aim.pairs[0][1] is None or any(aim.reasons[: aim.planned]):
        return None
    draws = result.draws(metric).reshape(-1, len(result.groups))
    deltas = np.stack([draws[:, g] - draws[:, base] for g, base in aim.pairs[: aim.planned]], 1)
    return np.asarray(deltas[~np.isnan(deltas).any(axis=1)])


def _reason(labels: int | None, forecast: Curve, width: float) -> str | None:
    """Why there is no number of labels."""
    aim, total = forecast.aim, int(forecast.room.sum())
    if labels is not None:
        return None
    if all(aim.reasons[: aim.planned]):
        return f"it is undefined, {aim.reasons[0]}"
    if total == 0:
        return "no row is unlabeled"
    least = _widest(forecast.widths(total), aim)
    where = "all rows" if forecast.shares is None else "all rows of the groups that get labels"
    return f"with {where} labeled a width of {least:.3g} is left"


def to_dict(plan: LabelPlan) -> dict[str, Any]:
    """Return a plan as plain values; what is undefined is null."""
    steps = [
        {
            "extra": number,
            "split": dict(zip(plan.groups, plan.split[i].tolist(), strict=True)),
            "groups": [_interval(found, i) for found in plan.of_groups],
            "differences": [_interval(found, i) for found in plan.of_differences],
            "prob_decisive": plain(plan.decisive[i]),
            "prob_decisive_mcse": plain(plan.decisive_mcse[i]),
        }
        for i, number in enumerate(plan.extra.tolist())
    ]
    rows = zip(plan.groups, plan.labeled, plan.unlabeled, plan.shrinks, strict=True)
    low, high = (None, None) if plan.labels_range is None else plan.labels_range
    found = {
        "metric": plan.metric,
        "width": plan.width,
        "within": plan.within,
        "prob": plan.prob,
        "groups": [
            {
                "name": name,
                "labeled": int(known),
                "unlabeled": int(unknown),
                "shrinks_per_label": plain(shrinks),
            }
            for name, known, unknown, shrinks in rows
        ],
        "steps": steps,
        "labels": {"number": plan.labels, "low": low, "high": high, "reason": plan.reason},
        "next_group": plan.next_group,
        "allocation": plan.allocation,
        "refits": plan.refits,
        "seed": plan.seed,
        "target": plan.target,
    }
    return framed(plan.assessment, found)


def _interval(found: Expected, at: int) -> dict[str, Any]:
    """A width with its name."""
    of = {"group": found.group, "reference": found.reference}
    return {
        **({"name": found.group} if found.reference is None else of),
        "width": plain(found.width[at]),
        "mcse": plain(found.mcse[at]),
        "reason": found.reason,
    }
