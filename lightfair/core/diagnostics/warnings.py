"""Warnings: what to know before relying on a number.

Each is a `Note`: a stable code for programs and one sentence for people, with a way out. Warnings
do not change results. The codes, here and elsewhere:

    no_labels, unlabeled_group      no label at all, or none in a group
    one_class, one_class_group      labels of one class only
    one_group                       a single group: no comparisons
    few_labels                      fewer than 5 labeled rows in the denominator of a requested
                                    metric
    assumed_alike                   fewer than 30 labels in a group
    label_drift                     labels selected by score within a group: two rank tests, level
                                    0.01 for all groups together; not with label_prob
    label_error                     labels were taken to be wrong at given rates
    label_prob                      labels-only estimates were weighted by label_prob
    reversed_scores                 positives score lower than negatives
    clipped_scores                  more than 5 % of the scores are clipped
    degenerate_decisions            no row is selected, or every row; or all scores are equal
    misfit, disagreement            labels against posterior predictions, or a group whose curve
                                    is likely unlike the others'; and labels against
                                    prediction-powered estimates
    own_decisions                   decisions of an estimator differ from its scores at 0.5
    few_disagreements               few labels in rows on which models differ
    partly_undefined                a metric is undefined in some draws
    coarse_interval                 too few draws for the credible level of the intervals
    not_converged                   the chains have not converged
    no_scores                       decisions alone
    tied_scores                     scores too close together for a metric of scores
    ties_with_threshold             scores equal to the threshold, counted as positive
    alike_levels                    levels whose names differ in case or spaces only
    blank_levels                    levels that read as missing
    shared_clusters                 clusters with rows in several groups
    dropped_rows, missing_as_group  rows without a group, dropped or a group of their own

If rows were selected for labeling by their score, labels-only and prediction-powered estimates
describe the labeled rows and not the group. The posterior accounts for selection on score and
group: given these, selection carries no information about the label. Two rank tests of labeled
against unlabeled rows of each group: of the scores, and of the distance of a score from the centre
of its group, |rank - (n + 1) / 2|. The second detects rows selected near the threshold, or at both
ends. Both are exact up to the normal approximation. The level is shared among all tests
(Bonferroni). Rows of a cluster count as one row. With known probabilities of labeling there is no
test: they may differ, and labels-only estimates account for them.
"""

from __future__ import annotations

import math
from collections.abc import Sized

import numpy as np
import numpy.typing as npt

from ..data.clusters import ALL, CELLS
from ..data.logit import Floats, over
from ..data.messages import Note, counted, note
from ..data.nodes import CELL_WIDTH, UNLABELED
from ..data.table import ScoreTable
from ..mcmc.convergence import Gate
from ..metrics.definitions import LABEL_FREE, Metric, degenerate, in_cells
from ..metrics.estimate import UNDEFINED_LIMIT, tails
from ..metrics.labels_only import LabelsOnly, in_denominator
from ..metrics.prediction_powered import PredictionPowered, powered_difference
from ..metrics.score_bins import Slots
from ..model.regions import rows_on_axis

CLIPPED_LIMIT = 0.05

TIED_LIMIT = 0.1  # share of the pairs of rows of a group

REVERSED_Z = -3.0

DISAGREEMENT_LEVEL = 0.01  # of all comparisons together

ALONE = 30  # labels of a group, with which they can show that it does not follow the others

FEW = 5  # labeled rows of a denominator, below which a metric depends on other information, too

LISTED = 3  # cases named in a warning

SELECTION_LEVEL = 0.01  # of all tests together

PATTERNS = (("lower", "higher"), ("more central", "more extreme"))  # by test, and sign of z


def data_warnings(table: ScoreTable) -> list[Note]:
    """Return warnings about labels, clipped scores, and selection of labels by score."""
    notes = []
    rows = table.sums("rows").sum(axis=1)
    labeled = rows[:, :UNLABELED]
    negatives, positives = labeled.sum(axis=0)
    if not negatives and not positives:
        notes.append(note("no_labels"))
    elif not negatives or not positives:
        classes = ("positive", "negative") if positives else ("negative", "positive")
        notes.append(note("one_class", *classes))
    names = [name for name, counts in zip(table.groups, labeled, strict=True) if not counts.any()]
    if names and labeled.any():
        notes.append(note("unlabeled_group", "; ".join(names)))
    for kind, own, other in (("negative", *labeled.T), ("positive", *labeled.T[::-1])):
        alone = (own > 0.0) & (other == 0.0)
        if negatives and positives and alone.any():
            names = [f"{table.groups[at]} ({own[at]:,.0f})" for at in np.flatnonzero(alone)]
            notes.append(note("one_class_group", kind, "; ".join(names)))
    share = table.clipped / table.rows
    if share > CLIPPED_LIMIT:
        notes.append(note("clipped_scores", share, table.clip, 1.0 - table.clip))
    if not table.scored:
        notes.append(note("no_scores"))
    if alike := degenerate(table):
        notes.append(note("degenerate_decisions", " and ".join(alike.values())))
    notes += [*_reversed(table), *selection_warnings(table)]
    if len(table.groups) == 1:
        notes.append(note("one_group", table.groups[0]))
    return notes


def tied_scores(
    metrics: tuple[Metric, ...], slots: tuple[Slots, ...], table: ScoreTable
) -> list[Note]:
    """Warn if cells of scores, in which rows tie, hold many pairs of rows of a group."""
    names = [metric.name for metric in metrics if in_cells(metric, table).any()]
    tied = [(bins.total[bins.is_cell] ** 2).sum() / bins.total.sum() ** 2 for bins in slots]
    if not names or max(tied) < TIED_LIMIT:
        return []
    at, off = int(np.argmax(tied)), ""
    if "auc" in names:  # pairs in a cell count one half each, and may count 0 or 1
        bins = slots[at]
        positive, negative = (
            bins.known[:, label] + bins.weight * chance
            for label, chance in ((1, bins.score), (0, 1.0 - bins.score))
        )
        pairs = over((positive * negative)[bins.is_cell].sum(), positive.sum() * negative.sum(), 0)
        off = f", by which auc may be off by {0.5 * pairs:.3f}"
    return [note("tied_scores", ", ".join(names), CELL_WIDTH, max(tied), table.groups[at], off)]


def _reversed(table: ScoreTable) -> list[Note]:
    """Warn if labels fall as scores rise, in all rows or in a group."""
    nodes = table.nodes()
    known = nodes.stratum % 3 != UNLABELED
    group, label = nodes.stratum[known] // 6, nodes.stratum[known] % 3
    logit, count = nodes.logit[known], nodes.weight[known]
    everywhere = rank_z(logit, label, count) < REVERSED_Z
    names = [
        name
        for index, name in enumerate(table.groups)
        if rank_z(logit[here := group == index], label[here], count[here]) < REVERSED_Z
    ]
    if not everywhere and not names:
        return []
    return [note("reversed_scores", "" if everywhere else f"in {', '.join(names)} ")]


def selection_z(table: ScoreTable) -> Floats:
    """Return z of both tests of each group, float64 (group, 2); 0 if there is nothing to test.

    Positive if labeled rows score higher, or farther from the centre, than unlabeled ones.
    """
    stratum, logit, rows = rows_on_axis(table)
    z = np.zeros((len(table.groups), 2))
    for group in range(len(table.groups)):
        here = stratum // 6 == group
        score, labeled, count = logit[here], stratum[here] % 3 != UNLABELED, rows[here]
        distance = np.abs(mid_ranks(score, count)[0] - 0.5 * (count.sum() + 1.0))
        z[group] = rank_z(score, labeled, count), rank_z(distance, labeled, count)
    if table.clusters is None:
        return z
    # as if all rows of a cluster had one score
    n, sizes = table.clusters[:, ALL, CELLS].sum(axis=1), table.clusters[:, CELLS, CELLS]
    return np.asarray(z * np.sqrt(over(n, sizes.sum(axis=(1, 2)), 1.0))[:, None])


def selection_warnings(table: ScoreTable) -> list[Note]:
    """Return one warning if the labels of some group are selected by score, else none."""
    from scipy.special import ndtr

    z = selection_z(table)
    p = 2.0 * ndtr(-np.abs(z))
    test, smallest = np.argmin(p, axis=1), p.min(axis=1)
    selected = np.flatnonzero(smallest < SELECTION_LEVEL / p.size)
    if table.design is not None or not selected.size:
        return []
    parts: list[str] = []
    for g in selected[np.argsort(smallest[selected], kind="stable")][:LISTED]:
        pattern = PATTERNS[test[g]][int(z[g, test[g]] > 0.0)]
        size = "< 1e-6" if smallest[g] < 1e-6 else f"= {smallest[g]:.1g}"
        verb = "have" if parts else "they have"
        parts.append(f"in {table.groups[g]} {verb} {pattern} scores than unlabeled rows (p {size})")
    more = f" (worst {LISTED} of {selected.size} groups)" if selected.size > LISTED else ""
    return [note("label_drift", more, ", ".join(parts))]


def mid_ranks(score: Floats, count: Floats | None = None) -> tuple[Floats, float]:
    """Return ranks, the mean rank for ties, and the sum of t^3 - t over ties of t rows.

    Parameters
    ----------
    score
        float64 (n,).
    count
        float64 (n,), the number of rows of each entry; by default 1.

    Examples
    --------
    >>> ranks, ties = mid_ranks(np.array([0.3, 0.1, 0.3]))
    >>> ranks.tolist(), ties
    ([2.5, 1.0, 2.5], 6.0)
    """
    number = np.ones(len(score)) if count is None else count
    values, place = np.unique(score, return_inverse=True)
    tied = np.bincount(place, number, minlength=len(values))
    rank = np.cumsum(tied) - 0.5 * (tied - 1.0)
    return np.asarray(rank[place]), float((tied**3 - tied).sum())


def rank_z(score: Floats, kind: npt.ArrayLike, count: Floats | None = None) -> float:
    """Return the Mann-Whitney z of two kinds of rows, negative if those of kind 1 score lower.

    Parameters
    ----------
    score, count
        As in `mid_ranks`.
    kind
        bool or integer (n,); 1 or True is the first kind, anything else the second.

    Returns
    -------
    z, corrected for ties; 0 if a kind is missing or all scores are equal.
    """
    one = np.asarray(kind) == 1
    number = np.ones(len(score)) if count is None else count
    ones, others = float(number[one].sum()), float(number[~one].sum())
    if ones == 0.0 or others == 0.0:
        return 0.0
    rank, ties = mid_ranks(score, number)
    n = ones + others
    surplus = (rank * number)[one].sum() - 0.5 * ones * (n + 1.0)
    variance = ones * others / 12.0 * (n + 1.0 - ties / (n * max(n - 1.0, 1.0)))
    return float(surplus / math.sqrt(variance)) if variance > 0.0 else 0.0


def few_labels(
    metrics: tuple[Metric, ...], theta: dict[str, Floats], table: ScoreTable
) -> list[Note]:
    """Return one warning about metrics with few labeled rows in their denominator, or none.

    Groups without any label have a warning of their own, and exact values need none.

    Parameters
    ----------
    metrics
        The requested ones.
    theta
        Draws of them, (chain, draw, group).
    """
    counts = table.sums("rows")
    rows = counts[..., :UNLABELED]
    partly = (rows.sum(axis=(1, 2)) > 0.0) & (counts[..., UNLABELED].sum(axis=1) > 0.0)
    cases: dict[tuple[int, str], list[str]] = {}
    for metric in metrics:
        own = in_denominator(metric, rows)
        if metric.label_free or own is None:
            continue
        draws = theta[metric.name].reshape(-1, len(own))
        vary = (draws != draws[0]).any(axis=0)
        for g in np.flatnonzero(partly & vary & (own < FEW)).tolist():
            cases.setdefault((int(own[g]), table.groups[g]), []).append(metric.name)
    if not cases:
        return []
    parts = [
        f"{group} has {counted(number, 'labeled row')} in the denominator of {' and '.join(names)}"
        for (number, group), names in sorted(cases.items())[:LISTED]
    ]
    return [note("few_labels", _worst(cases), "; ".join(parts))]


def assumed_alike(
    theta: dict[str, Floats], labels: dict[str, LabelsOnly], table: ScoreTable, prob: float
) -> list[Note]:
    """Return one warning about groups with few labels, which rest on the other groups, or none.

    It has, of each, the metric whose interval of probability `prob` is the most wider by labels
    alone: in bench/STRESS.md intervals widened so far hold the truth, too, where scores mean
    nothing or the reverse in the group. Groups without labels have a warning of their own.

    Parameters
    ----------
    theta, labels
        Draws of the requested metrics, (chain, draw, group), and labels-only estimates.
    """
    rows = table.sums("rows")
    labeled = rows[..., :UNLABELED].sum(axis=(1, 2))
    few = (labeled > 0.0) & (labeled < ALONE) & (rows[..., UNLABELED].sum(axis=1) > 0.0)
    cases = []
    for g in np.flatnonzero(few & (len(few) > 1)).tolist():
        ratios = []
        for name, draws in theta.items():
            defined = draws[..., g][~np.isnan(draws[..., g])]
            width = np.ptp(np.quantile(defined, tails(prob))) if defined.size else 0.0
            alone = labels[name].high[g] - labels[name].low[g]
            if name not in LABEL_FREE and width > 0.0 and alone > width:
                ratios.append((float(alone / width), name))
        if ratios:
            ratio, name = max(ratios)
            size = counted(int(labeled[g]), "label")
            wider = f"{ratio:.1f} times as wide ({name} of {table.groups[g]}, {size})"
            cases.append((ratio, wider))
    if not cases:
        return []
    worst = ", ".join(text for _, text in sorted(cases, reverse=True)[:LISTED])
    return [note("assumed_alike", ALONE, _worst(cases), worst)]


def _worst(cases: Sized) -> str:
    return f" (worst {LISTED} of {len(cases)})" if len(cases) > LISTED else ""


def result_warnings(
    theta: dict[str, Floats], groups: tuple[str, ...], verdict: Gate, shape: tuple[int, ...]
) -> list[Note]:
    """Return warnings about undefined draws and chains that have not converged."""
    notes = []
    for name, values in theta.items():
        undefined = np.isnan(values).mean(axis=(0, 1))
        parts = [
            f"{group} ({share:.0%})" if share >= 0.01 else f"{group} (<1%)"
            for group, share in zip(groups, undefined, strict=True)
            if 0.0 < share <= UNDEFINED_LIMIT
        ]
        if parts:
            notes.append(note("partly_undefined", name, ", ".join(parts)))
    return notes if verdict.ok else [*notes, note("not_converged", shape[1], verdict.reason)]


def disagreements(
    theta: dict[str, Floats],
    powered: dict[str, PredictionPowered],
    reference: str | None,
    groups: tuple[str, ...],
) -> list[Note]:
    """Return one warning if posterior and prediction-powered estimates disagree, or none.

    The level is shared among all groups, differences and metrics (Bonferroni).
    """
    compared = []
    base = None if reference is None else groups.index(reference)
    for name in (name for name in powered if name not in LABEL_FREE):
        estimate, draws = powered[name], theta[name].reshape(-1, len(groups))
        for g, group in enumerate(groups):
            pair = (draws[:, g], estimate.mean[g], estimate.se[g], estimate.df[g])
            compared.append((f"{name} of {group}", *_compare(*pair)))
            if base is not None and g != base:
                delta = powered_difference(estimate, g, base)
                pair = (draws[:, g] - draws[:, base], delta.mean, delta.se, delta.df)
                compared.append((f"{name} of {group} minus {reference}", *_compare(*pair)))
    defined = [case for case in compared if not math.isnan(case[1])]
    apart = [case for case in defined if case[1] < DISAGREEMENT_LEVEL / len(defined)]
    if not apart:
        return []
    parts = [
        f"{what} is {model:.3f} by the model, {labels:.3f} by the labels"
        for what, _, model, labels in sorted(apart, key=lambda case: case[1])[:LISTED]
    ]
    return [note("disagreement", _worst(apart), "; ".join(parts))]


def _compare(draws: Floats, mean: float, se: float, df: float) -> tuple[float, float, float]:
    """Return two-sided p of the difference, posterior mean, estimate; p is NaN if undefined."""
    from scipy.special import stdtr

    defined = draws[~np.isnan(draws)]
    if np.isnan(mean) or len(defined) < max((1.0 - UNDEFINED_LIMIT) * len(draws), 1.0):
        return math.nan, math.nan, math.nan
    model = float(defined.mean())
    # both use the same labels and tend to err to the same side: z is too small
    z = (mean - model) / max(np.hypot(se, defined.std()), 1e-12)
    return float(2.0 * stdtr(min(df, 1e9), -abs(z))), model, float(mean)


def coarse_interval(prob: float, shape: tuple[int, ...]) -> list[Note]:
    """Warn if an end of the interval depends on fewer than 10 draws."""
    draws = shape[0] * shape[1]
    enough = draws == 1 or 0.5 * (1.0 - prob) * draws >= 10.0
    return [] if enough else [note("coarse_interval", 100 * prob, draws)]
