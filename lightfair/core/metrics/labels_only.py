"""What the labels alone say about each metric: the answer without the model, to stand beside it.

Shares have the closed form of `conjugate`. f1 is a share in disguise: with q = tp / (tp + fp +
fn) it is 2 q / (1 + q), which rises with q, so its quantiles are exact too; so is treatment
equality, q / (1 - q) with q = fn / (fn + fp). Balanced accuracy is the mean of two independent
shares and is simulated. Any other metric of counts is simulated from the posterior of the four
cells of the confusion table under the prior Dirichlet(1, 1, 1, 1), scaled to the rows of the group.

Metrics of nodes have the Bayesian bootstrap (Rubin 1981) over labeled rows. It takes what was seen
for all there is, so it needs rows: with fewer than 5 of a class, or where all draws agree, there is
no answer. Of the expected calibration error there is none: in a bin of few labels their mean is far
from the scores by chance, and of simulated groups with 20 to 40 labels 37 % had the truth in an
interval of 95 %. More labels do not help where the scores are nearly calibrated.

The beta-binomial: what labels alone say about a share, in closed form.

With s successes and f failures under the prior Beta(a, b) the posterior is Beta(a + s, b + f)
(Ji, Smyth and Steyvers 2020, section 2). The prior is Beta(1, 1) as the paper's text has it; the
authors' program uses Beta(2, 2) for accuracy.

What a posterior is worth in labels: how many labels alone would need to be as sure.

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

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats
from ..data.messages import lies_in
from ..data.nodes import UNLABELED
from ..data.table import ScoreTable
from .definitions import SHARES, Metric, as_metric, shares, successes_failures, theta
from .estimate import tails
from .prediction_powered import equal_chances

if TYPE_CHECKING:
    from .estimate import Estimate
    from .imputation import Slots

DRAWS = 10_000

BOOTSTRAP_DRAWS = 4_000

OVERSTATED = {"ece": "labels alone overstate it: their noise counts as an error"}

CLASS_ROWS = 5  # labeled rows of each class that a bootstrap needs


class LabelsOnly(NamedTuple):
    """What labels say of a metric.

    mean, sd, low, high: float64 (group,), NaN where there is none; draws: float64 (draw, group);
    reason: why there is no answer, or no mean; None where there is one.
    """

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats
    draws: Floats
    reason: tuple[str | None, ...]


def labels_only(
    metric: str | Metric,
    weight: Floats,
    weight_sq: Floats,
    *,
    prior: tuple[float, float],
    prob: float,
    rng: np.random.Generator,
    size: Floats | None = None,
) -> LabelsOnly:
    """Summarise a metric of counts from labeled rows.

    Parameters
    ----------
    metric
        A name or a Metric, of counts.
    weight, weight_sq
        float64 (group, predicted, label), sums of row weights and of their squares.
    prior
        Beta prior of shares.
    size
        float64 (group,), weight of all rows of a group, labeled or not. Default: the labeled
        ones.
    """
    metric = as_metric(metric)
    name = metric.name
    if name == "balanced_accuracy":
        pair = [
            labels_only(part, weight, weight_sq, prior=prior, prob=prob, rng=rng)
            for part in ("tpr", "tnr")
        ]
        draws = 0.5 * (pair[0].draws + pair[1].draws)
        low, high = np.quantile(draws, tails(prob), axis=0)
        sd = 0.5 * np.hypot(pair[0].sd, pair[1].sd)
        mean = 0.5 * (pair[0].mean + pair[1].mean)
        return LabelsOnly(mean, sd, low, high, draws, (None,) * len(mean))
    if name not in SHARES and name != "treatment_equality":
        return _simulated(metric, weight, weight_sq, size, prob, rng)
    success, failure = successes_failures(name, weight)
    # weighted rows count as many as they are effectively (Kish): squared sum over sum of squares
    total = success + failure
    squares = sum(successes_failures(name, weight_sq))
    rows = np.divide(total, squares, out=np.ones_like(total), where=np.asarray(squares) > 0.0)
    success, failure = success * rows, failure * rows
    draws = beta_draws(success, failure, draws=DRAWS, rng=rng, prior=prior)
    summary = beta_binomial(success, failure, prior=prior, prob=prob)
    none = (None,) * len(success)
    if name == "f1":
        draws = 2.0 * draws / (1.0 + draws)
        low, high = (2.0 * q / (1.0 + q) for q in (summary.low, summary.high))
        return LabelsOnly(draws.mean(axis=0), draws.std(axis=0), low, high, draws, none)
    if name == "treatment_equality":
        mean, sd = _odds(prior[0] + success, prior[1] + failure)
        reason = tuple("its mean is infinite" if np.isnan(m) else None for m in mean)
        low, high, draws = (q / np.maximum(1.0 - q, 1e-300) for q in (*summary[2:], draws))
        return LabelsOnly(mean, sd, low, high, draws, reason)
    return LabelsOnly(*summary, draws, none)


def labels_answers(
    metrics: Sequence[Metric],
    table: ScoreTable,
    slots: tuple[Slots, ...],
    *,
    prior: tuple[float, float],
    prob: float,
    rng: np.random.Generator,
) -> dict[str, LabelsOnly]:
    """Summarise metrics from the labeled rows of a table; slots: its own, for metrics of nodes."""
    weight, weight_sq = table.labeled_sums()
    size = table.sums("weight").sum(axis=(1, 2))
    answers = {
        metric.name: labels_only(
            metric, weight, weight_sq, prior=prior, prob=prob, rng=rng, size=size
        )
        for metric in metrics
        if metric.of == "counts"
    }
    of_nodes = [metric for metric in metrics if metric.of == "nodes"]
    if of_nodes:
        rows = table.sums("rows")[..., :UNLABELED].sum(axis=1)
        chosen = ~equal_chances(table)
        answers |= labels_only_of_nodes(of_nodes, slots, rows, chosen, prob=prob, rng=rng)
    return {metric.name: answers[metric.name] for metric in metrics}


def labels_only_of_nodes(
    metrics: Sequence[Metric],
    slots: tuple[Slots, ...],
    rows: Floats,
    chosen: npt.NDArray[np.bool_],
    *,
    prob: float,
    rng: np.random.Generator,
) -> dict[str, LabelsOnly]:
    """Summarise metrics of nodes from labeled rows.

    Parameters
    ----------
    slots
        Of each group.
    rows
        float64 (group, label), labeled rows.
    chosen
        bool (group,), whether rows were chosen for labeling with unequal probabilities; a table
        does not know them score by score, and there is no answer.
    """
    from .imputation import Imputed, slot_theta

    size = (BOOTSTRAP_DRAWS, len(slots))
    draws = {metric.name: np.full(size, np.nan) for metric in metrics}
    reasons: dict[str, list[str | None]] = {metric.name: [] for metric in metrics}
    for index, mine in enumerate(slots):
        why = None
        if chosen[index]:
            why = "labels were chosen with unequal probabilities"
        elif (rows[index] < CLASS_ROWS).any():
            word = ("negative", "positive")[int(np.argmin(rows[index]))]
            why = f"fewer than {CLASS_ROWS} {word} labels"
        if why is None:
            seen = mine.known.sum(axis=1) > 0.0
            known, number = mine.known[seen], mine.known_rows[seen]
            each = np.divide(known, number, out=np.ones_like(known), where=known > 0.0)
            mass = rng.standard_gamma(number, (BOOTSTRAP_DRAWS, *number.shape)) * each
            total = mass.sum(axis=2)
            drawn = Imputed(total, mass[..., 1] / total)
        for metric in metrics:
            reason = why or OVERSTATED.get(metric.name)
            if reason is None:
                values = slot_theta(metric, mine.score[seen], *drawn)
                if np.isnan(values).any():
                    reason = f"no {metric.lack} in {np.isnan(values).mean():.0%} of the draws"
                elif np.ptp(values) < 1e-12:
                    reason = "all draws agree: too few labels for a bootstrap"
                else:
                    draws[metric.name][:, index] = values
            reasons[metric.name].append(reason)
    found = {}
    for name, values in draws.items():
        low, high = np.quantile(values, tails(prob), axis=0)
        found[name] = LabelsOnly(
            values.mean(axis=0), values.std(axis=0), low, high, values, tuple(reasons[name])
        )
    return found


def _simulated(
    metric: Metric,
    weight: Floats,
    weight_sq: Floats,
    size: Floats | None,
    prob: float,
    rng: np.random.Generator,
) -> LabelsOnly:
    """Draw the cells of the confusion table, and evaluate the metric there."""
    cells, squares = weight.reshape(-1, 4), weight_sq.reshape(-1, 4).sum(axis=1)
    total = cells.sum(axis=1)
    rows = np.divide(total, squares, out=np.ones_like(total), where=squares > 0.0)
    mass = rng.standard_gamma(1.0 + cells * rows[:, None], (DRAWS, *cells.shape))
    scale = np.maximum(total if size is None else size, 1.0)
    mass *= (scale / mass.sum(axis=2))[..., None]
    draws = theta(metric, mass.reshape(DRAWS, len(cells), 2, 2))
    undefined = np.isnan(draws).mean(axis=0)
    # a draw has a part of a row in every cell, so what is undefined is so by the metric's own rule
    reason = tuple(
        f"no {metric.lack} in {share:.0%} of the draws" if share else None for share in undefined
    )
    low, high = np.quantile(draws, tails(prob), axis=0)
    return LabelsOnly(draws.mean(axis=0), draws.std(axis=0), low, high, draws, reason)


def _odds(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of q / (1 - q), q ~ Beta(a, b); NaN where infinite."""
    nan = np.full_like(a, np.nan)
    mean = np.divide(a, b - 1.0, out=nan.copy(), where=b > 1.0)
    spread = np.where(b > 2.0, (b - 1.0) * (b - 1.0) * (b - 2.0), 1.0)
    sd = np.where(b > 2.0, np.sqrt(a * (a + b - 1.0) / spread), nan)
    return mean, np.asarray(sd)


class BetaSummary(NamedTuple):
    """Exact mean, standard deviation and central interval of beta posteriors, any one shape."""

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats


def check_prior(prior: tuple[float, float]) -> tuple[float, float]:
    """Return the parameters of a beta prior; raise ValueError unless both are above 0."""
    pair = tuple(prior) if isinstance(prior, (tuple, list, np.ndarray)) else ()
    if len(pair) != 2 or not all(lies_in(value, 0.0, np.inf) for value in pair):
        raise ValueError(f"a beta prior needs two finite numbers above 0; got {prior!r}")
    return float(pair[0]), float(pair[1])


def beta_binomial(
    successes: Floats,
    failures: Floats,
    *,
    prior: tuple[float, float] = (1.0, 1.0),
    prob: float = 0.95,
) -> BetaSummary:
    """Summarise the posterior of shares.

    Parameters
    ----------
    successes, failures
        Counts, at least 0, whole or not; float64 of one shape.
    prior
        Parameters of the beta prior.
    prob
        Mass of the central interval, in (0, 1).

    Examples
    --------
    >>> import lightfair as lf
    >>> eight_of_ten = lf.beta_binomial(8.0, 2.0)
    >>> print(f"{eight_of_ten.mean:.2f} [{eight_of_ten.low:.2f}, {eight_of_ten.high:.2f}]")
    0.75 [0.48, 0.94]
    """
    from scipy.special import betaincinv

    a, b = prior[0] + np.asarray(successes), prior[1] + np.asarray(failures)
    total = a + b
    tail = 0.5 * (1.0 - prob)
    return BetaSummary(
        a / total,
        np.sqrt(a * b / (total * total * (total + 1.0))),
        betaincinv(a, b, tail),
        betaincinv(a, b, 1.0 - tail),
    )


def beta_draws(
    successes: Floats,
    failures: Floats,
    *,
    draws: int,
    rng: np.random.Generator,
    prior: tuple[float, float] = (1.0, 1.0),
) -> Floats:
    """Draw from the posterior of shares: float64 (draw, *shape of the counts)."""
    a, b = prior[0] + np.asarray(successes), prior[1] + np.asarray(failures)
    return np.asarray(rng.beta(a, b, size=(draws, *np.shape(a))))


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


def effective_labels(
    metric: Metric,
    estimates: tuple[Estimate, ...],
    alone: LabelsOnly | None,
    table: ScoreTable,
    counts: Floats,
    *,
    prior: tuple[float, float],
    prob: float,
    target: str,
) -> Effective:
    """Return what the posterior of a metric is worth in labels, by group.

    NaN where the metric is a fact of the rows or undefined, where the interval has no width, and,
    for metrics that are no share, where labels alone have no answer.
    """
    own = own_labels(metric, table)
    labels, ratio = np.full(len(own), np.nan), np.full(len(own), np.nan)
    if alone is None or (metric.label_free and target != "population"):
        return Effective(labels, own, ratio, ("no label is needed to know it",) * len(own))
    rows = denominator_rows(metric, table, counts, target)
    reasons: list[str | None] = []
    for index, estimate in enumerate(estimates):
        why = "every row is labeled" if estimate.exact else estimate.reason
        if why is None and not estimate.sd > 0.0:
            why = "it is the same in all draws"
        reasons.append(why)
        if why is not None:
            continue
        low, high = estimate.interval(prob)
        width = alone.high[index] - alone.low[index]
        if width > 0.0:
            ratio[index] = (high - low) / width
        size = float(rows[index])
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
