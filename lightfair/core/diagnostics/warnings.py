"""Warnings: what a reader must know before believing a number.

Each is a Note: a stable code for programs and a sentence for people, with a way out. Nothing here
changes a result. The codes, here and elsewhere:

    no_labels, unlabeled_group      no label at all, or none in a group
    one_class, one_class_group      labels of one class only
    one_group                       one group only: there is nothing to compare
    few_labels                      fewer than 5 labeled rows in the denominator of a metric that
                                    was asked for; with the share of what is known that comes from
                                    the prior and other labels, 1 - own / effective labels
    label_drift                     labeled rows have other scores than unlabeled ones of their
                                    group: two rank tests, level 0.01 for all groups together;
                                    silent where label_prob is given
    label_prob                      labels alone were weighted by the chance of being labeled
    reversed_scores                 positives score lower than negatives
    clipped_scores                  more than 5 % of the scores are clipped
    misfit, disagreement            labels against the model's predictions, and against
                                    prediction-powered estimates
    own_decisions                   an estimator decides otherwise than from its scores at 0.5
                                    (`estimator`)
    few_disagreements               few labels in rows on which models differ (`paired`)
    partly_undefined                a metric is undefined in some draws
    coarse_interval                 too few draws for the mass of the intervals
    not_converged                   the chains are apart
    ties_with_threshold             scores equal to the threshold, counted as positive
    merged_levels                   different values of one name, made one level
    alike_levels                    levels whose names differ in case or spaces only
    blank_levels                    levels that read as missing
    real_valued_group               an attribute most of whose levels have one row
    empty_groups                    combinations of levels without rows
    dropped_rows, missing_as_group  rows without a group, dropped or a group of their own
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..data.logit import Floats
from ..data.messages import Note
from ..data.nodes import UNLABELED
from ..data.table import ScoreTable
from ..mcmc.convergence import Gate
from ..metrics.definitions import LABEL_FREE, Metric
from ..metrics.estimate import UNDEFINED_LIMIT
from ..metrics.labels_only import denominator_rows, in_denominator, share_labels
from ..metrics.prediction_powered import PredictionPowered, disagreement, powered_difference
from .drift import drift_notes, rank_z

CLIPPED_LIMIT = 0.05

REVERSED_Z = -3.0

DISAGREEMENT_LEVEL = 0.01  # of all comparisons together

CLASSES = ("negative", "positive")

ROWS = {  # one row of the denominator, by what a metric lacks where there are none
    "rows": "row",
    "positive labels": "positive row",
    "negative labels": "negative row",
    "both labels": "row of the rarer class",
    "rows predicted positive": "row predicted positive",
    "rows predicted negative": "row predicted negative",
    "rows labeled or predicted positive": "row positive by label or decision",
    "false positives": "row decided wrongly",
}

FEW = 5  # labeled rows of a denominator, below which a metric rests on more than them

NAMED = 3  # places that a note names


def data_warnings(table: ScoreTable) -> list[Note]:
    """Look at the table: groups without labels, scores at the edge, scores against the labels.

    And which rows were labeled: a random part of their group, or not.
    """
    notes = []
    rows = table.sums("rows").sum(axis=1)
    labeled, unlabeled = rows[:, :UNLABELED], rows[:, UNLABELED]
    both = labeled.sum(axis=0)
    if not both.any():
        message = "no row is labeled; all but selection rates rest on the prior alone; label some"
        notes.append(Note("no_labels", message))
    elif not both.all():
        here, other = (CLASSES[int(both[c] > 0)] for c in (1, 0))
        message = f"every labeled row is {here}: nothing says what scores {other} ones have; if "
        message += f"rows have no label because they are {other}, label them"
        notes.append(Note("one_class", message))
    if both.any():
        notes += _unlabeled(table.groups, labeled)
    for name, counts, left in zip(table.groups, labeled, unlabeled, strict=True):
        if counts.any() and not counts.all() and both.all():
            only = CLASSES[int(counts[1] > 0)]
            message = f"group {name} has only {only} labels ({counts.sum():,.0f} of them); "
            message += "label more of its rows" if left else "no row is left to be labeled"
            notes.append(Note("one_class_group", message))
    share = table.clipped / table.rows
    if share > CLIPPED_LIMIT:
        notes.append(
            Note(
                "clipped_scores",
                f"{share:.0%} of the scores lie outside [{table.clip:g}, {1.0 - table.clip:g}] and "
                "were clipped: inside each end they all get one calibrated probability; where "
                "such scores differ in what they say, pass a smaller clip",
            )
        )
    notes += _reversed(table)
    notes += drift_notes(table)
    if len(table.groups) == 1:
        notes.append(
            Note(
                "one_group",
                f"there is only one group, {table.groups[0]}: no differences; name another "
                "attribute",
            )
        )
    return notes


def _unlabeled(groups: tuple[str, ...], labeled: Floats) -> list[Note]:
    """Name the groups without labels: labeled (group, class)."""
    names = [name for name, counts in zip(groups, labeled, strict=True) if not counts.any()]
    if not names:
        return []
    has, its = ("has", "its") if len(names) == 1 else ("have", "their")
    message = (
        f"group{'s' if len(names) > 1 else ''} {'; '.join(names)} {has} no labels: {its} numbers "
        f"rest on the other groups and the prior; label some of {its} rows"
    )
    return [Note("unlabeled_group", message)]


def few_labels(
    metrics: tuple[Metric, ...],
    theta: dict[str, Floats],
    table: ScoreTable,
    prior: tuple[float, float],
    drawn: Floats,
    target: str,
) -> list[Note]:
    """Say which metrics have few labeled rows in their denominator, or none: a note, or none.

    What is known of them comes from elsewhere: the prior, other groups, the group's other labels by
    way of the curve. How much that is: 1 - own / n, where the posterior is worth n labels
    (`effective`). Groups without any label have a note of their own.

    Parameters
    ----------
    metrics
        Those asked for; others are not spoken of.
    theta
        Draws of them, (chain, draw, group).
    prior
        Of the labels-only answer.
    drawn
        Draws of the confusion counts, (chain, draw, group, predicted, label).
    target
        As in `assess`.
    """
    every = table.sums("rows")
    rows = every[..., :UNLABELED]
    # of fully labeled groups all is a fact
    some = (rows.sum(axis=(1, 2)) > 0.0) & (every[..., UNLABELED].sum(axis=1) > 0.0)
    found: dict[tuple[int, str], list[tuple[str, float]]] = {}
    own: dict[tuple[int, str], float] = {}
    for metric in metrics:
        counts = in_denominator(metric, rows)
        if metric.label_free or counts is None:
            continue
        draws = theta[metric.name]
        size = denominator_rows(metric, table, drawn, target)
        for group in np.flatnonzero(some & (counts < FEW)).tolist():
            seen = draws[..., group]
            seen = seen[~np.isnan(seen)]
            if seen.size and seen.std() == 0.0:  # a fact, such as no false positive of any row
                continue
            share = math.nan
            if seen.size:
                mean, sd = float(seen.mean()), float(seen.std())
                worth = share_labels(metric, mean, sd, prior, float(size[group]))
                if worth is not None:
                    share = 1.0 - counts[group] / worth if worth > counts[group] else 0.0
            key = (group, metric.lack)
            own[key] = float(counts[group])
            found.setdefault(key, []).append((metric.name, share))
    if not found:
        return []
    order = sorted(found, key=lambda key: (own[key], -_largest(found[key])))
    places = []
    for group, lack in order[:NAMED]:
        names = " and ".join(name for name, _ in found[group, lack])
        rests = "rests" if len(found[group, lack]) == 1 else "rest"
        share = _largest(found[group, lack])
        extent = "" if share < 0.005 else f" to {share:.0%}"
        places.append(
            f"{table.groups[group]} has {_counted(own[group, lack], lack)}, so its {names} {rests} "
            f"on the prior and other labels{extent}"
        )
    more = f" (the worst {NAMED} of {len(found)})" if len(found) > NAMED else ""
    return [Note("few_labels", f"few labels{more}: {'; '.join(places)}; label more rows there")]


def _largest(shares: list[tuple[str, float]]) -> float:
    """The largest share that is known; -1 where none is."""
    return max((share for _, share in shares if not math.isnan(share)), default=-1.0)


def _counted(count: float, lack: str) -> str:
    """Count labeled rows of a denominator, by what a metric lacks where there are none."""
    number, noun = f"{count:,.0f}", ROWS.get(lack, "row that it needs")
    return f"{number} labeled {noun if number == '1' else noun.replace('row', 'rows', 1)}"


def result_warnings(
    theta: dict[str, Floats], groups: tuple[str, ...], verdict: Gate, shape: tuple[int, ...]
) -> list[Note]:
    """Look at the draws: undefined numbers and chains that have not converged."""
    notes = []
    for name, values in theta.items():
        undefined = np.isnan(values).mean(axis=(0, 1))
        some = [
            f"{group} ({share:.0%})" if share >= 0.01 else f"{group} (<1%)"
            for group, share in zip(groups, undefined, strict=True)
            if 0.0 < share <= UNDEFINED_LIMIT
        ]
        if some:
            notes.append(
                Note(
                    "partly_undefined",
                    f"{name} is undefined in a few draws of {', '.join(some)}: its numbers are of "
                    "the draws in which it is defined; more rows or labels settle it",
                )
            )
    if not verdict.ok:
        notes.append(
            Note(
                "not_converged",
                f"the chains have not converged after {shape[1]} draws each: {verdict.reason}; "
                "do not use the numbers; more draws or labels may help",
            )
        )
    return notes


def disagreements(
    theta: dict[str, Floats],
    powered: dict[str, PredictionPowered],
    reference: str | None,
    groups: tuple[str, ...],
) -> list[Note]:
    """Say where posterior and prediction-powered estimate disagree: one note, or none.

    The threshold is shared among all groups, differences and metrics (Bonferroni).
    """
    found = []
    for name, of_metric in powered.items():
        if name in LABEL_FREE:
            continue
        draws = theta[name].reshape(-1, len(groups))
        for index, group in enumerate(groups):
            one = draws[:, index]
            own = _compared(one, of_metric.mean[index], of_metric.se[index], of_metric.df[index])
            found.append((own, f"{name} of {group}"))
            if reference is None or group == reference:
                continue
            base = groups.index(reference)
            delta = powered_difference(of_metric, index, base)
            apart = _compared(one - draws[:, base], delta.mean, delta.se, delta.df)
            found.append((apart, f"{name} of {group} minus {reference}"))
    known = [(one, what) for one, what in found if one is not None]
    places = [
        (one.p, f"{what} is {one.model:.3f} by the model, {one.labels:.3f} by the labels")
        for one, what in known
        if one.p < DISAGREEMENT_LEVEL / len(known)
    ]
    if not places:
        return []
    worst = [text for _, text in sorted(places)[:3]]
    more = f" (the worst 3 of {len(places)})" if len(places) > 3 else ""
    message = (
        f"the model disagrees with the labels{more}: {'; '.join(worst)}; the model may be wrong "
        "there, or the labeled rows may not be a random sample of their group; label more rows "
        "there"
    )
    return [Note("disagreement", message)]


class _Comparison(NamedTuple):
    """Two estimates of a number, and the two-sided p of their distance."""

    p: float
    model: float
    labels: float


def _compared(draws: Floats, mean: float, se: float, df: float) -> _Comparison | None:
    """Compare posterior draws with a prediction-powered estimate; None where one is undefined."""
    from scipy.special import stdtr

    seen = draws[~np.isnan(draws)]
    if np.isnan(mean) or len(seen) < max((1.0 - UNDEFINED_LIMIT) * len(draws), 1.0):
        return None
    z = disagreement(float(mean), float(se), float(seen.mean()), float(seen.std()))
    return _Comparison(float(2.0 * stdtr(min(df, 1e9), -abs(z))), float(seen.mean()), float(mean))


def coarse_interval(prob: float, shape: tuple[int, ...]) -> list[Note]:
    """Warn where an end of the interval rests on fewer than 10 draws."""
    beyond = 0.5 * (1.0 - prob) * shape[0] * shape[1]
    if beyond >= 10.0:
        return []
    message = (
        f"the ends of a {100 * prob:.10g} % interval rest on fewer than 10 of "
        f"{shape[0] * shape[1]:,} draws; ask for more draws"
    )
    return [Note("coarse_interval", message)]


def _reversed(table: ScoreTable) -> list[Note]:
    """Look for labels that fall as scores rise, in all rows and in each group."""
    nodes = table.nodes()
    known = nodes.stratum % 3 != UNLABELED
    group, label = nodes.stratum[known] // 6, nodes.stratum[known] % 3
    logit, count = nodes.logit[known], nodes.weight[known]
    if rank_z(logit, label, count) < REVERSED_Z:
        where = ""
    else:
        against = [
            name
            for index, name in enumerate(table.groups)
            if rank_z(logit[mine := group == index], label[mine], count[mine]) < REVERSED_Z
        ]
        if not against:
            return []
        where = f"in {', '.join(against)} "
    message = (
        f"{where}higher scores go with fewer positive labels: a curve cannot fall, so these "
        "numbers cannot be trusted; check positive_label, or whether 1 - score was meant"
    )
    return [Note("reversed_scores", message)]
