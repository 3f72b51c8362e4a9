"""Warnings: what a reader must know before believing a number.

Each is a Note: a stable code for programs and a sentence for people. Nothing here changes a result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .compare import UNDEFINED_LIMIT
from .diagnostics import Gate
from .metrics import LABEL_FREE
from .model import Floats
from .prediction_powered import PredictionPowered, disagreement, powered_difference
from .special import stdtr
from .table import UNLABELLED, ScoreTable
from .wording import Note

CLIPPED_LIMIT = 0.05
REVERSED_Z = -3.0
DISAGREEMENT_LEVEL = 0.01  # of all comparisons together
CLASSES = ("negative", "positive")


def data_warnings(table: ScoreTable) -> list[Note]:
    """Look at the table: groups without labels, scores at the edge, scores against the labels."""
    notes = []
    labelled = table.sums("rows")[..., :UNLABELLED].sum(axis=1)
    both = labelled.sum(axis=0)
    if not both.any():
        message = "no row is labelled; all but selection rates rest on the prior alone"
        notes.append(Note("no_labels", message))
    elif not both.all():
        here, other = (CLASSES[int(both[c] > 0)] for c in (1, 0))
        message = f"every labelled row is {here}: nothing says what scores {other} ones have; if "
        message += f"rows have no label because they are {other}, label them"
        notes.append(Note("one_class", message))
    for name, counts in zip(table.groups, labelled if both.any() else (), strict=both.any()):
        if not counts.any():
            message = (
                f"group {name} has no labels: its numbers rest on the other groups and the prior"
            )
            notes.append(Note("unlabelled_group", message))
        elif not counts.all() and both.all():
            only = CLASSES[int(counts[1] > 0)]
            message = f"group {name} has only {only} labels ({counts.sum():,.0f} of them)"
            notes.append(Note("one_class_group", message))
    share = table.clipped / table.rows
    if share > CLIPPED_LIMIT:
        notes.append(
            Note(
                "clipped_scores",
                f"{share:.0%} of the scores lie outside [{table.clip:g}, {1.0 - table.clip:g}] and "
                "were clipped: inside each end they all get one calibrated probability",
            )
        )
    notes += _reversed(table)
    if len(table.groups) == 1:
        notes.append(
            Note("one_group", f"there is only one group, {table.groups[0]}: no differences")
        )
    return notes


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
                    "the draws in which it is defined",
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
        "there, or the labelled rows may not be a random sample of their group"
    )
    return [Note("disagreement", message)]


class _Comparison(NamedTuple):
    """Two estimates of a number, and the two-sided p of their distance."""

    p: float
    model: float
    labels: float


def _compared(draws: Floats, mean: float, se: float, df: float) -> _Comparison | None:
    """Compare posterior draws with a prediction-powered estimate; None where one is undefined."""
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
    known = nodes.stratum % 3 != UNLABELLED
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


def rank_z(score: Floats, labels: npt.NDArray[np.integer], count: Floats | None = None) -> float:
    """Return the Mann-Whitney z of labelled scores: negative where positives score lower.

    0 where a class is missing. Ties count half. `count` (n,) is the number of rows of each entry,
    by default 1.
    """
    label = labels == 1
    number = np.ones(len(score)) if count is None else count
    positives, negatives = float(number[label].sum()), float(number[~label].sum())
    if positives == 0.0 or negatives == 0.0:
        return 0.0
    values, place = np.unique(score, return_inverse=True)
    tied = np.bincount(place, number, minlength=len(values))
    rank = np.cumsum(tied) - 0.5 * (tied - 1.0)
    n = positives + negatives
    surplus = (rank[place] * number)[label].sum() - 0.5 * positives * (n + 1.0)
    ties = float((tied**3 - tied).sum()) / (n * (n - 1.0)) if n > 1.0 else 0.0
    variance = positives * negatives / 12.0 * (n + 1.0 - ties)
    return float(surplus / np.sqrt(variance)) if variance > 0.0 else 0.0
