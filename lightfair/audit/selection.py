"""Selection: how wrong would the labels have to be? Bounds, if unlabeled rows differ.

Labels often exist because of a decision: who was granted a loan has a record of repaying. Then
rows without a label may differ from labeled rows of the same score and group, by what decided and
is not in the data. Nothing in the data says how much. So suppose that the odds of a positive label
differ by a factor of at most Gamma, at every row, as in the sensitivity models of Rosenbaum (2002)
and Tan (2006), and for selective labels in Rambachan, Coston and Kennedy (2022):

    1 / Gamma  <=  odds(y = 1 | s, group, unlabeled) / odds(y = 1 | s, group, labeled)  <=  Gamma

By Bayes' rule the factor is also that by which the odds of being labeled differ between negative
and positive rows of equal score and group. Gamma = 1 is what an assessment assumes. Any factor may
hold at any row, so a metric has a range: in each draw of the posterior the unlabeled rows are
imputed twice, with the log odds plus and minus log Gamma, and the same random numbers. Given the
numbers of rows predicted positive and negative, a metric of decisions rises or falls with the true
labels among each of the two, so that its extremes are at the four corners: the many or few true
labels of one, the many or few of the other. User-defined metrics of counts are taken to do so.

    bounds          from the lower quantile of the least to the upper quantile of the greatest value
    differences     from least - greatest of the reference to greatest - least of the reference
    tipping point   the smallest Gamma at which a pass or fail would no longer be one: in the worst
                    case its probability is below what a verdict needs

The worst case is taken draw by draw, metric by metric and pair by pair, which is on the safe side.
Support for a verdict without the model is required as ever (`core.comparison.verdict`), for labels
as they are. A tipping point rests on draws: other seeds move it by a percent or two. Metrics of
scores, such as auc, have no bounds here. `bench/SELECTION.md` has how often bounds hold.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=200, rng=1)
    >>> result = lf.assess(
    ...     rows.y_true, rows.y_score, sensitive_features=rows.group, selection_odds=1.5, rng=1
    ... )
    >>> of_b = result.selection_bounds()["metrics"]["tpr"]["groups"][1]
    >>> print("{} to {:.3f}, {:.3f}".format(result.metric("tpr", "B"), *of_b["interval"]))
    0.755 [0.679, 0.827] to 0.603, 0.878

On the command line::

    lightfair assess scores.csv --label label --score score --group sex --selection-odds 1.5
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.assessment import Assessment
from ..core.comparison.gaps import ByGroup
from ..core.comparison.verdict import SUPPORT, Question, compare
from ..core.fit import count_theta
from ..core.metrics.clusters import discounted
from ..core.metrics.estimate import NAN, UNDEFINED_LIMIT, Estimate
from ..core.metrics.imputation import confusion_counts
from ..core.settings import check_odds

MOST = 100.0  # Gamma up to which a tipping point is looked for

STEP = 0.01  # of its logarithm

DRAWS = 1600  # on which it rests

Ends = tuple[ByGroup, ByGroup]  # draws of the least and of the greatest values


def selection_bounds(result: Assessment, odds: Any) -> dict[str, Any]:
    """Return bounds of every metric of an assessment as plain values; see `Assessment`.

    Raises
    ------
    ValueError
        If odds is below 1, or not a number.
    """
    factor, settings, metrics = check_odds(odds), result.settings, {}
    if settings.label_error is not None:
        raise ValueError("selection_odds needs labels that are right; leave label_error out")
    base = -1 if settings.reference is None else result.groups.index(settings.reference)
    for name, (low, high) in extremes(result, settings.metrics, factor).items():
        values: dict[str, list[Any]] = {"groups": [], "differences": []}
        for at, group in enumerate(result.groups):
            bounds = _interval(low.estimate(at), high.estimate(at))
            values["groups"].append({"name": group, **bounds})
            if base not in (-1, at):
                exact = low.exact([at, base])
                least = low.minus(at, high.draws[..., base], exact)
                bounds = _interval(least, high.minus(at, low.draws[..., base], exact))
                names = {"group": group, "reference": settings.reference}
                values["differences"].append({**names, **bounds})
        metrics[name] = values
    return {"odds": factor, "metrics": metrics}


def _interval(least: Estimate, most: Estimate) -> dict[str, Any]:
    if least.reason is not None:
        return {"interval": None, "exact": False, "reason": least.reason}
    return {"interval": [least.interval()[0], most.interval()[1]], "exact": least.exact}


def extremes(
    result: Assessment, names: Iterable[str], odds: float, every: int = 1
) -> dict[str, Ends]:
    """Return draws of the least and of the greatest value of metrics in every group, by name.

    `odds` is Gamma, at least 1; `every` is 1 for all draws, 2 for every other one, ...
    """
    settings, table, where = result.settings, result.table, result.imputing.regions
    psi, given, sides = result.imputing.psi[:, ::every], discounted(table, settings.target), []
    for shift in (-math.log(odds), math.log(odds)):  # of the log odds, also of point masses
        options: dict[str, Any] = {"regions": where._replace(base=where.base + shift)}
        options |= {"target": settings.target, "cap": settings.cap}
        rng = np.random.default_rng([result.label_seed, 0])
        counts = confusion_counts(psi, given, rng=rng, **options)
        sides.append(counts.drawn + result.pseudo_rows[:, ::every])
    corners = [np.stack([n[..., 0, :], p[..., 1, :]], axis=-2) for n in sides for p in sides]
    found = {}
    for name in names:
        by, of = result.group_draws(name), settings.metric(name)
        values = by.draws[None, :, ::every]
        if not of.label_free and of.of == "counts":
            values = np.stack([count_theta(one, table, settings, of) for one in corners])
        elif not of.label_free:
            by, values = replace(by, lack="bounds of metrics of scores"), np.full_like(values, NAN)
        least, most = values.min(axis=0), values.max(axis=0)  # undefined where a corner is
        found[name] = replace(by, draws=least), replace(by, draws=most)
    return found


def tipping_point(result: Assessment, question: Question, prob: float, status: str) -> float | None:
    """Return the smallest Gamma at which a verdict, pass or fail, would no longer be that.

    None if none up to `MOST` would do, or there are no bounds. `question` and `prob` are as in
    `judge`.
    """
    every, last = -(-math.prod(result.shape) // DRAWS), int(math.log(MOST) / STEP)

    def turned(step: int) -> bool:
        ends = extremes(result, question.check.metrics, math.exp(STEP * step), every)
        return not stands(question, [*ends.values()], prob, status)

    metrics = map(result.settings.metric, question.check.metrics)
    unbounded = any(one.of != "counts" and not one.label_free for one in metrics)
    if unbounded or result.settings.label_error is not None or not turned(last):
        return None
    return round(math.exp(STEP * bisect_left(range(last), True, key=turned)), 2)


def stands(question: Question, ends: list[Ends], prob: float, status: str) -> bool:
    """Return whether a pass or fail stands, given the least and greatest values of each metric."""
    check, size = question.check, len(question.labeled)
    outside = unknown = np.zeros((), dtype=bool)
    for part, both in zip(question.parts, ends, strict=True):
        draws = np.concatenate([one.draws for one in both], axis=-1)  # greatest after least
        for one, two in (*question.pairs, *(pair[::-1] for pair in question.pairs)):
            if status == "pass":
                gap, above, _ = compare(check, draws, (one + size, two))
                outside, unknown = outside | above, unknown | np.isnan(gap)
                continue
            gap, above, _ = compare(check, draws, (one, two + size))
            defined, support = ~np.isnan(gap), compare(check, part.free, (one, two))[1].mean()
            sure = above.sum() >= prob * defined.sum() and support >= min(prob, SUPPORT["fail"])
            if sure and defined.mean() >= 1.0 - UNDEFINED_LIMIT:
                return True
    inside, beyond = (~outside & ~unknown).mean(), outside.mean()
    enough = inside + beyond >= 1.0 - UNDEFINED_LIMIT
    return bool(status == "pass" and enough and inside >= prob * (inside + beyond))
