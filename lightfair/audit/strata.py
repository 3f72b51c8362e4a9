"""Conditional gaps: the gap between groups within strata, and its average over the strata.

A gap of all rows may arise because groups are spread over strata differently. In Berkeley in 1973
women were admitted less often than men, yet not within departments: they applied to those that
admit few (Bickel, Hammel and O'Connell 1975). With strata s and theta the metric of a group in one,

    delta_s = theta_group,s - theta_reference,s,     average = sum of w_s delta_s,   sum of w_s = 1,

draw by draw, so that the average has an interval of its own. Groups crossed with strata are groups
of one assessment, and share its prior: strata of few labels borrow strength from the others, with
the nested prior by effects of the group, of the stratum, and of both. The weights w_s are

    reference   the reference's rows: the gap if the group were spread over strata as it is
                (direct standardization)
    both        the rows of both groups
    equal       every stratum counts the same

They are taken as known, also for target="population". Strata without rows of a group, or in which
the metric is undefined in more than 5 % of the draws, are left out, and the other weights are
scaled to 1; so they are in each draw over the strata that are defined in it, and the average of a
draw is undefined only where none is. Intervals are pointwise: one in twenty of many 95 % intervals
misses.

Whether a stratum may explain a gap is not a question about numbers: strata that result from unequal
treatment hide it.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=200, rng=1)
    >>> features = {"sex": rows.group, "department": ["x", "y"] * 1000}
    >>> result = lf.assess(
    ...     rows.y_true, rows.y_score, sensitive_features=features, metrics="tpr", rng=1
    ... )
    >>> found = lf.within(result, "department")
    >>> print(found.average["tpr"]["B"])
    0.094 [0.018, 0.169], P(>0) 0.989

On the command line::

    lightfair assess scores.csv --label label --score score --group sex --within department
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..core.assessment import Assessment
from ..core.comparison.gaps import ByGroup
from ..core.comparison.pooled import overall_draws
from ..core.data.groups import group_names
from ..core.data.logit import Floats, over
from ..core.data.messages import check_kind, index_of, list_values, name_key
from ..core.metrics.estimate import NAN, ByName, Estimate, minus
from ..core.values import Based, compared_values, framed

WEIGHTS = ("reference", "both", "equal")


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalGaps(Based):
    """Gaps of metrics within strata, and their averages: each group minus the reference.

    Attributes
    ----------
    attribute : str
        Its levels are the strata.
    reference : str
    weights : {"reference", "both", "equal"}
    weight : dict of str to dict of str to float
        Group, stratum: weights that add up to 1, also of strata that an average leaves out.
    gaps : dict of str to dict of str to dict of str to Estimate
        Metric, group, stratum; the `reason` of an undefined one is why its stratum is left out.
    average : dict of str to dict of str to Estimate
        Metric, group; `left_out` names strata.
    pooled : dict of str to dict of str to Estimate
        The same without strata: the gap of all rows.
    covered : dict of str to dict of str to float
        Share of the rows of both groups that are in the strata of the average.
    assessment : Assessment

    Examples
    --------
    The method goes on from here.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=200, rng=1)
    >>> features = {"sex": rows.group, "department": ["x", "y"] * 1000}
    >>> result = lf.assess(
    ...     rows.y_true, rows.y_score, sensitive_features=features, metrics="tpr", rng=1
    ... )
    >>> found = lf.within(result, "department", weights="equal")
    >>> x, y = found.gaps["tpr"]["B"].values()
    >>> bool(abs(found.average["tpr"]["B"].mean - (x.mean + y.mean) / 2) < 1e-12)
    True
    """

    attribute: str
    reference: str
    weights: str
    weight: dict[str, dict[str, float]]
    gaps: ByName
    average: ByName
    pooled: ByName
    covered: ByName
    assessment: Assessment

    def to_dict(self) -> dict[str, Any]:
        """Return the gaps as plain values, ready for JSON.

        An undefined number is null with a `reason`. The keys:

        version, settings, data, diagnostics, warnings
            Of the assessment, as in its own.
        attribute, reference, weights
            The arguments.
        gaps
            Per metric and group: metric, group, reference; strata (stratum, weight, and the gap as
            differences in an assessment); average (covered, left_out); pooled.

        Examples
        --------
        >>> (one,) = found.to_dict()["gaps"]
        >>> [stratum["stratum"] for stratum in one["strata"]], one["average"]["covered"]
        (['x', 'y'], 1.0)
        """
        compared, gaps = partial(compared_values, settings=self.assessment.settings), []
        for metric, by_group in self.gaps.items():
            for group, by_stratum in by_group.items():
                values: dict[str, Any] = {"metric": metric, "group": group}
                values["strata"] = [
                    compared(gap, stratum=stratum) | {"weight": self.weight[group][stratum]}
                    for stratum, gap in by_stratum.items()
                ]
                share = {"covered": self.covered[metric][group]}
                values["average"] = compared(self.average[metric][group]) | share
                values["pooled"] = compared(self.pooled[metric][group])
                gaps.append(values | {"reference": self.reference})
        arguments = {name: getattr(self, name) for name in ("attribute", "reference", "weights")}
        return framed(self.assessment, arguments | {"gaps": gaps})


def within(
    result: Assessment, attribute: Any, reference: Any = None, weights: str = "reference"
) -> ConditionalGaps:
    """Return the gaps between groups within the levels of an attribute, and their average.

    Parameters
    ----------
    result
        An assessment of two attributes or more.
    attribute
        The one whose levels are the strata. Groups are the levels of the other one, or are crossed
        by the others.
    reference
        The group that is subtracted. Default: the one with most rows, by weight.
    weights : {"reference", "both", "equal"}
        Of the strata: by rows of the reference, by rows of both groups, or the same.

    Returns
    -------
    ConditionalGaps, of every metric of the assessment.

    Raises
    ------
    ValueError
        If the attribute is unknown or the only one, or there is only one stratum or one group.

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=200, rng=1)
    >>> features = {"sex": rows.group, "department": ["x", "y"] * 1000}
    >>> result = lf.assess(
    ...     rows.y_true, rows.y_score, sensitive_features=features, metrics="tpr", rng=1
    ... )
    >>> print(lf.within(result, "department").gaps["tpr"]["B"])
    x  0.104 [0.009, 0.201], P(>0) 0.983
    y  0.084 [-0.041, 0.191], P(>0) 0.948
    """
    check_kind(result, Assessment, "result", "assess")
    index_of(weights, WEIGHTS, "weights")
    table, settings = result.table, result.settings
    place = index_of(attribute, table.attributes, "attribute")
    name = table.attributes[place]
    rest = [(*part[:place], *part[place + 1 :]) for part in table.parts]
    groups = tuple(sorted(group_names([*{*rest}]), key=name_key))
    strata = sorted({part[place] for part in table.parts}, key=name_key)
    if len(groups) < 2 or len(strata) < 2:
        got = f"{list_values(filter(None, groups)) or 'none'} and {list_values(strata)}"
        raise ValueError(f"gaps within {name} need two groups beside it, two strata; got {got}")
    cell = np.full((len(groups), len(strata)), -1)  # groups of the table; -1: no rows
    for at, (part, others) in enumerate(zip(table.parts, rest, strict=True)):
        cell[groups.index(", ".join(others)), strata.index(part[place])] = at
    rows = np.append(table.sums("weight").sum(axis=(1, 2)), 0.0)[cell]
    largest = groups[int(np.argmax(rows.sum(axis=1)))]
    base = index_of(largest if reference is None else reference, groups, "reference")
    metrics, weight = tuple(map(settings.metric, settings.metrics)), {}
    total = [overall_draws(result._drawn, metrics, row[row >= 0].tolist()) for row in cell]
    gaps, average, pooled, covered = (
        ByName((m, ByName()) for m in settings.metrics) for _ in range(4)
    )
    for at in np.delete(np.arange(len(groups)), base).tolist():
        group, places, both = groups[at], cell[[at, base]], rows[at] + rows[base]
        share = (rows[base], both, np.ones(len(strata)))[WEIGHTS.index(weights)]
        weight[group] = dict(zip(strata, (share / share.sum()).tolist(), strict=True))
        for metric in settings.metrics:
            by = result.group_draws(metric)
            columns = zip(strata, *places.tolist(), strict=True)
            one = ByName((s, _gap(by, group, groups[base], *pair)) for s, *pair in columns)
            used = np.array([gap.reason is None for gap in one.values()])
            whole = minus(total[at][metric], total[base][metric])
            exact = by.exact(places[places >= 0])
            gaps[metric][group] = one
            average[metric][group] = _average(one, share * used)
            pooled[metric][group] = Estimate(whole, by.lack, exact, prob=by.prob, signed=True)
            covered[metric][group] = float(both[used].sum() / both.sum())
    return ConditionalGaps(
        name, groups[base], weights, weight, gaps, average, pooled, covered, result
    )


def _gap(by: ByGroup, group: str, reference: str, one: int, two: int) -> Estimate:
    """The gap between two groups by index, or why there is none: -1 is one without rows."""
    if min(one, two) >= 0:
        return by.difference(one, two)
    nothing, lack = np.full(by.draws.shape[:2], NAN), f"rows of {group if one < 0 else reference}"
    return Estimate(nothing, lack, prob=by.prob, signed=True)


def _average(gaps: ByName, weight: Floats) -> Estimate:
    """The mean of the gaps that have a weight, draw by draw; the others are left out.

    In each draw it is over the strata that are defined in it, with their weights scaled to 1.
    """
    used = {stratum: gap for (stratum, gap), w in zip(gaps.items(), weight, strict=True) if w > 0.0}
    first: Estimate = next(iter((used or gaps).values()))
    mean, lack = np.full(first.draws.shape, NAN), "strata with a gap"
    if used:
        draws = np.stack([gap.draws for gap in used.values()], axis=-1)
        known, w = ~np.isnan(draws), weight[weight > 0.0] / weight.sum()
        mean, lack = over(np.where(known, draws, 0.0) @ w, known @ w, NAN), first.lack
    exact = all(gap.exact for gap in used.values())
    left_out = tuple(stratum for stratum in gaps if stratum not in used)
    return replace(first, draws=mean, lack=lack, exact=exact, left_out=left_out)
