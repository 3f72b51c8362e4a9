"""What a posterior is worth in labels: how many labels alone would need to be as sure.

A share p of n labeled rows has, under a Beta(a, b) prior, a posterior variance of about
p (1 - p) / (n + a + b + 1). So a posterior of mean p and standard deviation sd knows as much as

    n = p (1 - p) / sd^2 - (a + b + 1)

labeled rows in its denominator would tell. It may be far more than there are: scores, the curve,
and what groups share tell the rest, 1 - own / n of what is known if there are `own` rows. It may be
less than there are where labels alone take a lucky sample at its word. f1 is 2 q / (1 + q) of a
share q, and is worth what q is. For any other metric n is what there is, times the ratio of the
variances, labels alone over posterior.

Of these very rows ("sample", "expected") nothing is open when all are labeled: n labels of a
denominator of N rows leave the variance p (1 - p) / n (1 - n / N). So there the number is n / (1 +
n / N), which is below N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from .metrics import Metric, shares
from .model import Floats
from .table import ScoreTable

if TYPE_CHECKING:
    from .assessment import Assessment

LISTED = 6  # groups that the text lists
MOST = 1e6  # labels; more are not told apart
CLASSES = {  # cells (tn, fn, fp, tp) of what a metric of scores lacks
    "positive labels": [(0, 1, 0, 1)],
    "negative labels": [(1, 0, 1, 0)],
    "both labels": [(0, 1, 0, 1), (1, 0, 1, 0)],
    "rows": [(1, 1, 1, 1)],
}


class Effective(NamedTuple):
    """Of a metric by group, float64 (group,), NaN where there is none.

    labels: the number of labeled rows that labels alone would need; own: those they have, which
    rows of different weights reduce (Kish); width_ratio: width of the interval over that of labels
    alone. reason: why one of them is NaN, by group; None where none is.
    """

    labels: Floats
    own: Floats
    width_ratio: Floats
    reason: tuple[str | None, ...] = ()


def effective_labels(result: Assessment, name: str) -> Effective:
    """Return what the posterior of a metric is worth in labels, by group.

    NaN where the metric is a fact of the rows or undefined, where the interval has no width, and,
    for metrics that are no share, where labels alone have no answer.
    """
    metric, settings = result.settings.metric(name), result.settings
    own = own_labels(metric, result.table)
    labels, ratio = np.full(len(own), np.nan), np.full(len(own), np.nan)
    alone = result.labels.get(name)
    if alone is None or name in settings.label_free:
        return Effective(labels, own, ratio, ("no label is needed to know it",) * len(own))
    rows = denominator_rows(metric, result.table, result.counts, settings.target)
    reasons: list[str | None] = []
    for index, group in enumerate(result.groups):
        estimate = result.metric(name, group)
        why = "every row is labeled" if estimate.exact else estimate.reason
        if why is None and not estimate.sd > 0.0:
            why = "it is the same in all draws"
        reasons.append(why)
        if why is not None:
            continue
        low, high = estimate.interval(settings.prob)
        width = alone.high[index] - alone.low[index]
        if width > 0.0:
            ratio[index] = (high - low) / width
        prior, size = settings.labels_only_prior, float(rows[index])
        worth = share_labels(metric, estimate.mean, estimate.sd, prior, size)
        if worth is None:
            worth = _bounded(float(own[index] * (alone.sd[index] / estimate.sd) ** 2), size)
        labels[index] = worth
        if np.isnan(labels[index]) or np.isnan(ratio[index]):
            nothing = "labels alone have no standard deviation"
            reasons[index] = alone.reason[index] or nothing
    return Effective(labels, own, ratio, tuple(reasons))


def denominator_rows(metric: Metric, table: ScoreTable, counts: Floats, target: str) -> Floats:
    """Rows in the denominator of a metric, labeled and not: the posterior mean, float64 (group,).

    counts: draws (chain, draw, group, predicted, label). Of a metric that is no share all rows of
    the group. Infinite for the target "population".
    """
    weight, rows = (table.sums(column).sum(axis=(1, 2)) for column in ("weight", "rows"))
    if target == "population":
        return np.full(len(rows), np.inf)
    if metric.name != "f1" and not is_share(metric):
        return np.asarray(rows)
    means = counts.mean(axis=(0, 1)).reshape(len(rows), 4)
    return np.asarray(means[:, denominators(metric)[0]].sum(axis=1) / weight * rows)


def share_labels(
    metric: Metric, mean: float, sd: float, prior: tuple[float, float], rows: float
) -> float | None:
    """Return the worth of a posterior of a share with some mean and sd, of `rows` rows in all.

    None for what is no share. `rows` may be infinite.
    """
    if metric.name == "f1":  # of q = f1 / (2 - f1)
        mean, sd = mean / (2.0 - mean), 2.0 * sd / (2.0 - mean) ** 2
    elif not is_share(metric):
        return None
    return _bounded(mean * (1.0 - mean) / (sd * sd) - (sum(prior) + 1.0), rows)


def _bounded(worth: float, rows: float) -> float:
    """The number of labels that leaves as little open in `rows` rows as n do without an end."""
    worth = min(max(worth, 0.0), MOST)
    return worth / (1.0 + worth / rows) if rows > 0.0 else 0.0


def own_labels(metric: Metric, table: ScoreTable) -> Floats:
    """Return the labeled rows in the denominator of a metric, float64 (group,).

    Of weighted rows the effective number (Kish). Of a metric that is no share all labeled rows of
    the group.
    """
    weight, weight_sq = (c.reshape(-1, 4) for c in table.labeled_sums())
    cells = np.ones(4, dtype=bool)
    if metric.name == "f1" or is_share(metric):
        cells = denominators(metric)[0]
    total, squares = weight[:, cells].sum(axis=1), weight_sq[:, cells].sum(axis=1)
    return np.asarray(
        np.divide(total * total, squares, out=np.zeros_like(total), where=squares > 0.0)
    )


def in_denominator(metric: Metric, counts: Floats) -> Floats | None:
    """Return the counts (group, predicted, label) in the denominator of a metric, float64 (group,).

    Of several denominators the least; None where it is not known to have one.
    """
    cells = denominators(metric)
    if not cells:
        return None
    flat = counts.reshape(-1, 4)
    return np.asarray(np.min([flat[:, mine].sum(axis=1) for mine in cells], axis=0))


def denominators(metric: Metric) -> list[npt.NDArray[np.bool_]]:
    """Return the cells (tn, fn, fp, tp) that a metric divides by, bool (4,), one of each share.

    A ratio of two counts divides by both, as `labels_only` takes it; metrics of scores by the
    classes that they lack where they are undefined.
    """
    found = shares(metric)
    if len(found) == 1 and not is_share(metric) and metric.lack == "false positives":
        return [np.asarray(found[0].bottom) + np.asarray(found[0].top) > 0.0]
    if found:
        return [np.asarray(share.bottom) > 0.0 for share in found]
    return [np.array(cells, dtype=bool) for cells in CLASSES.get(metric.lack, [])]


def is_share(metric: Metric) -> bool:
    """Whether a metric is a number of rows over a number of rows that they are among."""
    found = shares(metric)
    if len(found) != 1:
        return False
    top, bottom = np.asarray(found[0].top), np.asarray(found[0].bottom)
    return bool(
        ((bottom == 0.0) | (bottom == 1.0)).all() and ((top == 0.0) | (top == bottom)).all()
    )


def worth_line(found: Effective, groups: tuple[str, ...]) -> str | None:
    """Say what a posterior is worth in labels in one line; None where nothing is to be said."""
    some = np.flatnonzero(~np.isnan(found.labels))
    if not some.size:
        return None
    if some.size <= LISTED:
        worth = ", ".join(f"{_count(found.labels[i])} ({groups[i]})" for i in some)
        have = ", ".join(f"{found.own[i]:,.0f}" for i in some)
        return f"worth {worth} labels, where labels alone have {have}"
    times = found.labels[some] / np.maximum(found.own[some], 1.0)
    low, middle, high = np.quantile(times, [0.0, 0.5, 1.0])
    return (
        f"worth {middle:.1f} times the labels that there are (median of {some.size} groups; "
        f"{low:.1f} to {high:.1f})"
    )


def _count(labels: float) -> str:
    if labels >= MOST:
        return f"more than {MOST:,.0f}"
    return f"{labels:,.0f}"
