"""Group membership as probabilities: names by geography and surname, for example, give those.

Of a row only the chances w_g that it belongs to each group are known (the proxy). They are rounded
to a grid, and rows of one rounded vector z are a cell: a group of an ordinary assessment, whose
attributes are the groups and whose levels are the chances. So tables of cells add up, and a
database needs rounded columns and no other query. The metric of a group follows from the counts of
the cells, draw by draw: those of cell z, decision d and label y belong to it with a chance that
depends on what is assumed.

    given proxy         w_zg: within rows of equal chances, score and decision, outcomes do not
                        depend on membership. This is the weighted estimate (Chen, Kallus, Mao,
                        Svacha and Udell 2019, "Fairness under unawareness"), with a posterior
    given membership    the opposite: in a group, outcomes depend on the score and not on the proxy.
                        Rates at a score s are f_z(s) = sum of w_zg f_g(s), so that those of groups
                        are least squares over cells, clipped to [0, 1], and w_zg f_g(s) / f_z(s) is
                        the chance of a positive row (negative rows likewise)
    bounds              nothing: of rows of rate p a share between max(0, w + p - 1) and min(w, p)
                        is of the group and positive (Frechet; Kallus, Mao and Zhou 2022,
                        "Assessing algorithmic fairness with unobserved protected class using data
                        combination"). Shares are least, or greatest, in all rows of a decision at
                        once; the bounds of a metric are its extremes over the four corners

All three need chances that are right: P(group | proxy) = P(group | proxy, score). Bounds are from a
lower quantile of the least to an upper quantile of the greatest value, hold for metrics that rise
or fall with each share, and say nothing about which assumption is nearer. Those of a difference
take each group at its own extreme, which both may not reach at once: they hold, and are wide.

Each cell is fitted by itself, hierarchical=False. A prior that cells share draws their rates
together, as if groups were alike: with 100 labels of 2,000 rows and a difference in tpr of 0.135
that goes with the proxy, "given proxy" was 0.024 too near to 0 and contained it in 82 % of 40 runs;
without, 0.003 and 100 %, at 1.2 times the width. "Given membership" was 0.06 too near to 0 (covered
in 16 of 20 runs) and is right within 0.005 (20 of 20). To assume that outcomes depend on
membership, and to know little of it, costs width: see bench/MEMBERSHIP.md.

Under target="sample" members are drawn, too: the metric is that of the members among these rows.
With other targets each row counts in each group by its chance. With `assess_membership` w_zg is the
mean chance of the rows of a cell, so that rounding has no bias; from a table it is the rounded one.

Beside these are what people use, frequencies among labeled rows: `thresholded`, each cell counted
to its most probable group (the first of several), and `weighted`.

    >>> import lightfair as lf
    >>> import numpy as np
    >>> rows, rng = lf.simulate(rows=2000, labeled=200, rng=1), np.random.default_rng(1)
    >>> near = rng.random(2000) < np.where(rows.group == "B", 0.8, 0.2)  # where B live, mostly
    >>> b = np.where(near, 0.68, 0.12)
    >>> found = lf.assess_membership(
    ...     rows.y_true,
    ...     rows.y_score,
    ...     sensitive_features={"A": 1.0 - b, "B": b},
    ...     metrics="tpr",
    ...     rng=1,
    ... )
    >>> print(found.differences["tpr"]["B"])
    given_proxy       0.008 [-0.078, 0.093], P(>0) 0.574
    given_membership  -0.001 [-0.244, 0.264], P(>0) 0.482
    least             -0.401 [-0.528, -0.290], P(>0) <0.001
    most              0.383 [0.285, 0.458], P(>0) >0.999
    thresholded       -0.022 (exact)
    weighted          -0.012 (exact)

On the command line::

    lightfair assess scores.csv --label label --score score --membership p_a p_b
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from ..core.assessment import Assessment
from ..core.data.columns import attribute_columns, check_indexes, numeric
from ..core.data.groups import MOST_GROUPS
from ..core.data.logit import Floats, over, sigmoid
from ..core.data.messages import check_kind, index_of, lies_in, list_values
from ..core.data.rows import BOUNDS
from ..core.fit import draw_posterior
from ..core.mcmc.posterior import Posterior
from ..core.metrics.definitions import Metric, lack_in, theta
from ..core.metrics.estimate import NAN, ByName, Estimate, minus
from ..core.metrics.imputation import pseudo_rows, row_weight
from ..core.model.curve import features
from ..core.model.likelihood import log_odds
from ..core.model.regions import rows_on_axis
from ..core.pipeline import assess
from ..core.values import Based, compared_values, framed, plain, summary
from .classes import check_sums

FREQUENCIES = ("thresholded", "weighted")

METHODS = ("given_proxy", "given_membership", "bounds", *FREQUENCIES)

# options of assess
WITHOUT = ["missing", "bins", "checks", "simultaneous", "selection_odds", "label_error", "min_rows"]

BIN = 0.25  # of the logit: in a bin rates are taken as equal

Joint = Callable[[Floats], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False, repr=False)
class MembershipAssessment(Based):
    """Metrics of groups whose members are known by their chances.

    Attributes
    ----------
    reference : str
        The group that is subtracted.
    shares : dict of str to float
        Group: its expected share of the rows, by weight.
    estimates, differences : dict of str to dict of str to dict of str to Estimate
        Metric, group, and given_proxy, given_membership, least and most: the lower end of the
        interval of the one and the upper end of that of the other are the bounds; thresholded and
        weighted: frequencies among labeled rows.
    left_out : tuple of str
        Metrics of scores, which have no estimates.
    assessment : Assessment
        Its groups are the cells.

    Examples
    --------
    The method goes on from here.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=200, rng=1)
    >>> chances = {"A": [0.9, 0.3] * 1000, "B": [0.1, 0.7] * 1000}
    >>> found = lf.assess_membership(
    ...     rows.y_true, rows.y_score, sensitive_features=chances, metrics="fpr", rng=1
    ... )
    >>> print(found.shares)
    {'A': 0.6, 'B': 0.4}
    """

    reference: str
    shares: dict[str, float]
    estimates: ByName
    differences: ByName
    left_out: tuple[str, ...]
    assessment: Assessment

    def to_dict(self) -> dict[str, Any]:
        """Return the assessment as plain values, ready for JSON.

        An undefined number is null with a `reason`. The keys:

        version, settings, data, diagnostics, warnings
            Of the assessment of cells, as in its own.
        reference, shares, left_out
            As above.
        estimates
            Per metric, group and reference, null for the group itself: given_proxy and
            given_membership, as in an assessment, bounds (interval), thresholded, weighted (mean).

        Examples
        --------
        >>> one, two, difference = found.to_dict()["estimates"]
        >>> low, high = one["bounds"]["interval"]
        >>> one["group"], low < one["given_proxy"]["mean"] < high
        ('A', True)
        """
        settings, entries = self.assessment.settings, []
        for base, part in ((None, self.estimates), (self.reference, self.differences)):
            for metric, group, one in ((m, g, one) for m in part for g, one in part[m].items()):
                values: dict[str, Any] = {"metric": metric, "group": group, "reference": base}
                for name in METHODS[:2]:
                    whole = summary(one[name], settings.prob)
                    values[name] = compared_values(one[name], settings) if base else whole
                reason = one["least"].reason
                ends = [one["least"].interval()[0], one["most"].interval()[1]]
                values["bounds"] = {"interval": None if reason else ends, "reason": reason}
                for name in FREQUENCIES:
                    values[name] = {"mean": plain(one[name].mean), "reason": one[name].reason}
                entries.append(values)
        own = {name: getattr(self, name) for name in ("reference", "shares", "left_out")}
        return framed(self.assessment, own | {"estimates": entries})


def round_membership(sensitive_features: Any, step: float | None = None) -> dict[str, Floats]:
    """Round chances of membership to multiples of a step, by largest remainders.

    Parameters
    ----------
    sensitive_features
        Columns by group, a data frame or a mapping: float (n,) each, in [0, 1], of sum 1 in each
        row up to 0.001.
    step
        1 / k, k whole. Default: 0.1, or 0.25 for more than three groups, which make more cells.

    Returns
    -------
    dict of str to float64 array (n,). They are `sensitive_features` of a table for `membership`. In
    SQL those of two groups are ROUND(p, 1) and ROUND(1 - ROUND(p, 1), 1), in a view.

    Raises
    ------
    ValueError
        If there is one column, a chance is missing or out of range, chances do not sum to one, or
        there are more than 200 cells.

    Examples
    --------
    >>> import lightfair as lf
    >>> rounded = lf.round_membership({"A": [0.34, 0.98], "B": [0.33, 0.02], "C": [0.33, 0.0]})
    >>> {name: column.tolist() for name, column in rounded.items()}
    {'A': [0.4, 1.0], 'B': [0.3, 0.0], 'C': [0.3, 0.0]}
    """
    names, chances = _chances_of(sensitive_features)
    step = step if step is not None else 0.1 if len(names) <= 3 else 0.25
    if not lies_in(step, 0.0199, 1.0) or abs(round(1.0 / step) * step - 1.0) > 1e-9:
        raise ValueError(f"step must be 1 / k with k from 2 to 50, such as 0.1; got {step!r}")
    wanted = np.round(chances / step, 9)
    whole = np.floor(wanted)
    rank = np.argsort(np.argsort(whole - wanted, axis=1, kind="stable"), axis=1)
    whole += rank < np.rint(1.0 / step - whole.sum(axis=1, keepdims=True))
    if (cells := len(np.unique(whole, axis=0))) > MOST_GROUPS:
        raise ValueError(f"step must make at most {MOST_GROUPS} cells; got {cells}; raise it")
    return dict(zip(names, np.round(whole * step, 9).T, strict=True))


def assess_membership(
    y_true: Any, y_score: Any = None, *, sensitive_features: Any, step: Any = None, **options: Any
) -> MembershipAssessment:
    """Assess the metrics of groups whose members are known by their chances.

    Parameters
    ----------
    y_true, y_score
        As in `assess`.
    sensitive_features
        Chances of membership, as in `round_membership`.
    step
        To which they are rounded.
    **options
        Of `assess`, without missing, bins, checks, simultaneous, selection_odds, label_error and
        min_rows. The default reference is the group with the largest expected share.
        hierarchical is False.

    Returns
    -------
    MembershipAssessment

    Raises
    ------
    ValueError
        If chances break a rule of `round_membership`, there is more than one threshold, or cells
        share a prior.
    TypeError
        If an option has no meaning here.

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=200, rng=1)
    >>> chances = {"A": [0.9, 0.3] * 1000, "B": [0.1, 0.7] * 1000}
    >>> found = lf.assess_membership(
    ...     rows.y_true, rows.y_score, sensitive_features=chances, metrics="tpr", rng=1
    ... )
    >>> print(found.estimates["tpr"]["B"]["given_proxy"])
    0.652 [0.580, 0.719]
    """
    if wrong := sorted({*WITHOUT} & {*options}):
        raise TypeError(f"{', '.join(wrong)}: not with chances of membership; leave it out")
    reference, options = options.pop("reference", None), {"hierarchical": False, **options}
    columns = [(where, values) for _, where, values in attribute_columns(sensitive_features)]
    check_indexes([("y_true", y_true), ("y_score", y_score), *columns])
    rounded = round_membership(sensitive_features, step)
    _, chances = _chances_of(sensitive_features)
    result = assess(y_true, y_score, sensitive_features=rounded, **options)
    if result.settings.thresholds is not None:
        raise ValueError("threshold must be one with chances of membership; got several, or all")
    # the cells sort as the groups of the table do, whose names are these numbers
    cell = np.unique([*rounded.values()], axis=1, return_inverse=True)[1].reshape(-1)
    sums = [np.bincount(cell, column) for column in chances.T]
    return _of_cells(result, reference, np.transpose(sums) / np.bincount(cell)[:, None])


def membership(result: Assessment, reference: Any = None) -> MembershipAssessment:
    """Return the metrics of groups from an assessment of cells of rounded chances.

    Parameters
    ----------
    result
        Its attributes are the groups and its levels their chances, as those of a table of columns
        that `round_membership` or a database has rounded. Assess it with hierarchical=False. Of
        several thresholds the first one counts.
    reference
        The group that is subtracted. Default: the one with the largest expected share.

    Returns
    -------
    MembershipAssessment

    Raises
    ------
    ValueError
        If levels are not chances of sum one, or cells share a prior.

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=200, rng=1)
    >>> rounded = lf.round_membership({"A": [0.9, 0.3] * 1000, "B": [0.1, 0.7] * 1000})
    >>> result = lf.assess(
    ...     rows.y_true,
    ...     rows.y_score,
    ...     sensitive_features=rounded,
    ...     metrics="tpr",
    ...     hierarchical=False,
    ...     rng=1,
    ... )
    >>> print(lf.membership(result).estimates["tpr"]["B"]["given_proxy"])
    0.652 [0.580, 0.719]
    """
    check_kind(result, Assessment, "result", "assess")
    table = result.table
    levels = dict(zip(table.attributes, zip(*table.parts, strict=True), strict=True))
    return _of_cells(result, reference, _chances_of(levels)[1])


def _of_cells(result: Assessment, reference: Any, shares: Floats) -> MembershipAssessment:
    """Return the metrics of groups from chances of the rows of each cell, (cell, group)."""
    table, settings, names = result.table, result.settings, result.table.attributes
    if settings.label_error is not None:
        raise ValueError("label_error: not with chances of membership; leave it out")
    if settings.hierarchical is not False:
        raise ValueError("hierarchical must be False with chances of membership; assess so")
    rows = table.sums("weight").sum(axis=(1, 2)) @ shares
    largest = names[int(np.argmax(rows))]
    base = index_of(largest if reference is None else reference, names, "reference")
    metrics = [one for one in map(settings.metric, settings.metrics) if one.of == "counts"]
    left_out = tuple(one for one in settings.metrics if settings.metric(one) not in metrics)
    counts = _group_counts(result, shares, metrics)
    sides = np.eye(len(names))[np.argmax(shares, axis=1)], shares
    estimates, differences = (ByName({one.name: ByName() for one in metrics}) for _ in range(2))
    for of in metrics:
        seen, parts = table.labeled_sums()[0], counts
        if of.label_free:
            seen = table.sums("weight").sum(axis=-1)[..., None] * [1.0, 0.0]
            parts = counts[:1] * 3
        one, two, ends = ([theta(of, draws) for draws in part] for part in parts)
        draws = [one[0], two[0], np.fmin.reduce(ends), np.fmax.reduce(ends)]
        draws += [theta(of, np.tensordot(side.T, seen, 1))[None, None] for side in sides]
        others = [draws[place] for place in (0, 1, 3, 2, 4, 5)]  # the least against the most
        lack, prob = lack_in(of, table), settings.prob
        for at, name in enumerate(names):
            estimates[of.name][name] = _named([one[..., at] for one in draws], lack, prob=prob)
            if at != base:
                pairs = zip(draws, others, strict=True)
                gaps = [minus(one[..., at], two[..., base]) for one, two in pairs]
                differences[of.name][name] = _named(gaps, lack, prob=prob, signed=True)
    expected = dict(zip(names, (rows / rows.sum()).tolist(), strict=True))
    return MembershipAssessment(names[base], expected, estimates, differences, left_out, result)


def _named(draws: list[Floats], lack: str, **more: Any) -> ByName:
    """Return the estimates of a number by the names of methods."""
    names = (*METHODS[:2], "least", "most", *FREQUENCIES)
    lacks = dict.fromkeys(names, lack)
    if np.isnan(draws[1]).all() and not np.isnan(draws[0]).all():
        lacks["given_membership"] = "memberships that tell groups apart"
    named = zip(names, draws, strict=True)
    return ByName((k, Estimate(v, lacks[k], bool(np.ptp(v) < 1e-12), **more)) for k, v in named)


def _group_counts(result: Assessment, shares: Floats, metrics: list[Metric]) -> list[list[Floats]]:
    """Confusion counts of groups, float64 (chain, draw, group, predicted, label).

    Of each assumption in a list, and of the four corners in a third one.
    """
    table, settings, seed = result.table, result.settings, result.label_seed
    rng, drawn = np.random.default_rng([seed, 1]), settings.target == "sample"

    def members(counts: Floats, chance: Floats, *, drawn: bool) -> Floats:
        pseudo = pseudo_rows(table, counts.shape[:2], target=settings.target, seed=seed)
        counts = counts - pseudo * (1.0 - shares.shape[1] / len(shares))  # those of the groups
        if drawn:
            rows = np.rint(counts / row_weight(table)[:, None, None])
            chance = chance / chance.sum(axis=-1, keepdims=True)
            found = rng.multinomial(rows.astype(np.int64), chance)
            chance = (found + chance * (rows < 1.0)[..., None]) / np.maximum(rows, 1.0)[..., None]
        return np.asarray(np.moveaxis((counts[..., None] * chance).sum(axis=2), -1, 2))

    known, counts, curves = shares[:, None, None], result.counts, result.curves
    if curves is None:
        counts = np.broadcast_to(counts, settings.run[:2] + counts.shape[2:])
    one = members(counts, known, drawn=drawn)
    if all(of.label_free for of in metrics):
        return [[one]]
    if curves is None:  # that target needs curves in any case
        names = tuple(of.name for of in metrics)
        asked = replace(settings, metrics=names, checks=(), target="population")
        curves = draw_posterior(table, asked, [rng, rng], None).posterior
    assert curves is not None

    def solved(rate: Floats) -> tuple[Floats, Floats]:
        """Rates of groups by least squares over cells, each by the inverse of its variance."""
        weight = shares.T / (rate.var(axis=(0, 1)) + 1e-12)
        inverse = np.linalg.pinv(weight @ shares, hermitian=True)  # groups may have no rows
        of_group = np.clip(rate @ (inverse @ weight).T, 0.0, 1.0)
        return shares * of_group[..., None, :], of_group @ shares.T

    two = np.full_like(one, NAN)
    if np.linalg.matrix_rank(shares) == np.count_nonzero(shares.any(axis=0)):
        two = members(result.counts, _chances(result, shares, curves, solved), drawn=drawn)
    joints: list[Joint] = [
        lambda rate: (np.maximum(shares + rate[..., None] - 1.0, 0.0), rate),
        lambda rate: (np.minimum(shares, rate[..., None]), rate),
    ]
    chances = (_chances(result, shares, curves, joint) for joint in joints)
    ends = [members(result.counts, chance, drawn=False) for chance in chances]
    sides = [[end[..., side, :] for end in ends] for side in (0, 1)]
    return [[one], [two], [np.stack(corner, axis=-2) for corner in product(*sides)]]


def _chances(result: Assessment, shares: Floats, curves: Posterior, joint: Joint) -> Floats:
    """Chance that a row of a cell, decision and label is of a group.

    float64 (chain, draw, cell, predicted, label, group). `joint` takes the rates of the cells at a
    score, (chain, draw, cell), and returns the chances there to be of each group and positive,
    (chain, draw, cell, group), and to be positive.
    """
    table, where, psi, cells = result.table, curves.regions, curves.psi, len(shares)
    stratum, logit, _ = rows_on_axis(table)
    weight = np.concatenate([table.points.weight, table.cells.weight])
    key = [stratum // 3 % 2, where.of(stratum, logit), np.floor(logit / BIN).astype(np.intp)]
    bins, at = np.unique(np.stack(key), axis=1, return_inverse=True)
    rows = np.bincount(stratum // 6 + cells * at.reshape(-1), weight, cells * bins.shape[1])
    center = over(np.bincount(at.reshape(-1), weight * logit), rows.reshape(-1, cells).sum(1), 0.0)
    design = where.design(features(center, "beta"), bins[1])
    both = np.zeros((*psi.shape[:3], 2, shares.shape[1]))
    positive, total = np.zeros(both.shape[:-1]), np.zeros((cells, 2))
    for j, (side, region, _) in enumerate(bins.T):
        odds = log_odds(psi, design[:, [j]], where.base[region], result.settings.cap)
        of_group, of_all = joint(sigmoid(odds[..., 0]))
        here = rows[j * cells : (j + 1) * cells]
        both[..., side, :] += here[:, None] * of_group
        positive[..., side] += here * of_all
        total[:, side] += here
    top = np.stack([total[..., None] * shares[:, None] - both, both], axis=-2)
    bottom = np.stack([total - positive, positive], axis=-1)[..., None]
    chance = np.broadcast_to(shares[:, None, None], top.shape).copy()
    np.divide(top, bottom, out=chance, where=bottom > 1e-9 * total[..., None, None])
    return np.asarray(np.clip(chance, 0.0, 1.0))


def _chances_of(probabilities: Any) -> tuple[list[str], Floats]:
    """Return names, and chances float64 (n, group) of sum one."""
    found, rule = attribute_columns(probabilities), "lie in [0, 1]; give probabilities"
    columns = [numeric(where, values, BOUNDS["y_score"], rule) for _, where, values in found]
    if len(columns) < 2 or len({*map(len, columns)}) > 1:
        got = f"{len(columns)} of {list_values(map(len, columns))} rows"
        rule = "columns of probabilities, one per group, of one length"
        raise ValueError(f"sensitive_features must hold {rule}; got {got}")
    chances = np.clip(np.stack(columns, axis=1), 0.0, 1.0)
    check_sums(chances, "sensitive_features must sum to one in each row", "give all")
    return [name for name, *_ in found], chances / chances.sum(axis=1, keepdims=True)
