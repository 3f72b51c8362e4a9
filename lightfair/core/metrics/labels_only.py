"""Labels-only estimates, for comparison with the posterior, and effective numbers of labels.

A share with s successes and f failures has the posterior Beta(a + s, b + f) under the prior Beta(a,
b) (Ji, Smyth and Steyvers 2020, section 2). The prior is Beta(1, 1) as in the text of the paper;
the authors' program uses Beta(2, 2) for accuracy. f1 is 2 q / (1 + q) of a share q = tp / (tp + fp
+ fn), and treatment equality q / (1 - q) of q = fn / (fn + fp), so their quantiles are exact too.
Balanced accuracy is the mean of two independent shares and is simulated. Any other metric of counts
is simulated from the posterior of the four cells of the confusion table under the prior
Dirichlet(1, 1, 1, 1), scaled to the rows of the group.

Metrics of nodes have the Bayesian bootstrap (Rubin 1981) over labeled rows. It takes the sample for
the population, so with fewer than 5 rows of a class, or if all draws agree, there is no estimate.
There is none of the expected calibration error either: in a bin of few labels their mean is far
from the scores by chance, and 37 % of simulated groups with 20 to 40 labels had the truth in a 95 %
interval. More labels do not help if the scores are nearly calibrated.

The effective number of labels is the number of labels of which the labels-only estimate would be as
precise as the posterior. A share p of n labeled rows has, under a Beta(a, b) prior, a posterior
variance of about p (1 - p) / (n + a + b + 1). So a posterior of mean p and standard deviation sd
corresponds to

    n = p (1 - p) / sd^2 - (a + b + 1)

labeled rows in the denominator. It is larger than the actual number if scores, curve and other
groups contribute, a part 1 - own / n of the information. It can be smaller than the actual count if
the labeled sample happens to look unusually certain. For f1 it is that of q. For any other metric
it is the actual number times the ratio of the variances, labels-only over posterior.

For the targets "sample" and "expected" no uncertainty is left if all rows are labeled: n labels
among N rows of a denominator leave the variance p (1 - p) / n (1 - n / N). So there the number is
n / (1 + n / N), which is below N.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats, over
from ..data.nodes import UNLABELED
from ..data.table import ScoreTable
from .clusters import cell_effects
from .definitions import SHARES, Metric, as_metric, shares, successes_failures, theta
from .estimate import Estimate, check_prob, tails, undefined_reason
from .prediction_powered import equal_chances
from .score_bins import Slots, slot_theta

Bools = npt.NDArray[np.bool_]

DRAWS = 10_000

BOOTSTRAP_DRAWS = 4_000

CLASS_ROWS = 5  # labeled rows of each class that a bootstrap needs

MOST = 1e6  # largest effective number of labels

OVERSTATED = {"ece": "labels-only estimates overstate it: label noise counts as an error"}

CLASSES = {  # cells (tn, fn, fp, tp) that metrics of scores divide by, by what they lack
    "positive labels": [(0, 1, 0, 1)],
    "negative labels": [(1, 0, 1, 0)],
    "both labels": [(0, 1, 0, 1), (1, 0, 1, 0)],
    "rows": [(1, 1, 1, 1)],
}


class LabelsOnly(NamedTuple):
    """Labels-only estimates of a metric.

    mean, sd, low, high: float64 (group,), NaN if undefined; draws: float64 (draw, group); reason:
    by group, why there is no estimate, or no mean; else None.
    """

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats
    draws: Floats
    reason: tuple[str | None, ...]


class BetaSummary(NamedTuple):
    """Exact mean, standard deviation and central interval of beta posteriors, float64 arrays."""

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats


def beta_binomial(
    successes: Floats,
    failures: Floats,
    *,
    prior: tuple[float, float] = (1.0, 1.0),
    prob: float = 0.95,
) -> BetaSummary:
    """Summarize the posterior of shares.

    Parameters
    ----------
    successes, failures
        Counts, at least 0, whole or not; float64 of one shape.
    prior
        Parameters of the beta prior.
    prob
        Credible level of the central interval, in (0, 1).

    Examples
    --------
    >>> import lightfair as lf
    >>> eight_of_ten = lf.beta_binomial(8.0, 2.0)
    >>> print(f"{eight_of_ten.mean:.2f} [{eight_of_ten.low:.2f}, {eight_of_ten.high:.2f}]")
    0.75 [0.48, 0.94]
    """
    from scipy.special import betaincinv

    if not (np.all(np.asarray(successes) >= 0.0) and np.all(np.asarray(failures) >= 0.0)):
        raise ValueError("successes and failures must be counts of at least 0; got a negative one")
    check_prob(prob)
    a, b = prior[0] + np.asarray(successes), prior[1] + np.asarray(failures)
    total, tail = a + b, 0.5 * (1.0 - prob)
    sd = np.sqrt(a * b / (total * total * (total + 1.0)))
    return BetaSummary(a / total, sd, betaincinv(a, b, tail), betaincinv(a, b, 1.0 - tail))


def labels_answers(
    metrics: Sequence[Metric],
    table: ScoreTable,
    slots: tuple[Slots, ...],
    *,
    prob: float,
    rng: np.random.Generator,
    target: str = "sample",
) -> dict[str, LabelsOnly]:
    """Return the labels-only estimates of metrics; slots: those of the table, by group.

    Where no row, labeled or not, can be in the denominator there is none, but of a population.
    """
    (weight, squares), every = table.labeled_sums(), table.sums("weight")
    size, possible = every.sum(axis=(1, 2)), every[..., :UNLABELED] + every[..., [UNLABELED]]
    answers = {}
    for metric in (metric for metric in metrics if metric.of == "counts"):
        clustered = squares * cell_effects(metric, table, target)
        answer = labels_only(metric, weight, clustered, prob=prob, rng=rng, size=size)
        if target != "population":
            answer = _without(answer, np.isnan(theta(metric, possible)), metric)
        answers[metric.name] = answer
    of_nodes = [metric for metric in metrics if metric.of == "nodes"]
    return answers | _bootstrap(of_nodes, table, slots, prob, rng)


def _without(answer: LabelsOnly, empty: Bools, metric: Metric) -> LabelsOnly:
    """Return estimates that are undefined in some groups, bool (group,)."""
    mean, sd, low, high, draws = (np.where(empty, np.nan, values) for values in answer[:5])
    why, reasons = undefined_reason(1.0, metric.lack), zip(empty, answer.reason, strict=True)
    reason = tuple(why if none else old for none, old in reasons)
    return LabelsOnly(mean, sd, low, high, draws, reason)


def labels_only(
    metric: str | Metric,
    weight: Floats,
    weight_sq: Floats,
    *,
    prob: float,
    rng: np.random.Generator,
    size: Floats | None = None,
) -> LabelsOnly:
    """Return the labels-only estimate of a metric of counts.

    Parameters
    ----------
    metric
        A name or a Metric, of counts.
    weight, weight_sq
        float64 (group, predicted, label), sums of the weights of labeled rows and of their squares.
    prob
        Credible level, in (0, 1).
    size
        float64 (group,), weight of all rows of a group, labeled or not. Default: the labeled ones.
    """
    metric = as_metric(metric)
    if metric.name == "balanced_accuracy":
        rates = ("tpr", "tnr")
        tpr, tnr = (labels_only(rate, weight, weight_sq, prob=prob, rng=rng) for rate in rates)
        simulated = _summarize(0.5 * (tpr.draws + tnr.draws), prob, tpr.reason)
        mean, sd = 0.5 * (tpr.mean + tnr.mean), 0.5 * np.hypot(tpr.sd, tnr.sd)
        return simulated._replace(mean=mean, sd=sd)
    if metric.name not in SHARES and metric.name != "treatment_equality":
        cells = weight.reshape(-1, 4)  # of the confusion table, each drawn
        total = cells.sum(axis=1)
        per_weight = over(total, weight_sq.reshape(-1, 4).sum(axis=1), 1.0)  # effective rows (Kish)
        drawn = rng.standard_gamma(1.0 + cells * per_weight[:, None], (DRAWS, *cells.shape))
        drawn *= (np.maximum(total if size is None else size, 1.0) / drawn.sum(axis=2))[..., None]
        draws = theta(metric, drawn.reshape(DRAWS, len(cells), 2, 2))
        # no drawn cell is empty, so undefined draws are so by the metric's own rule
        return _summarize(draws, prob, tuple(_undefined(metric, column) for column in draws.T))
    success, failure = successes_failures(metric.name, weight)
    per_weight = over(success + failure, sum(successes_failures(metric.name, weight_sq)), 1.0)
    a, b = 1.0 + success * per_weight, 1.0 + failure * per_weight
    draws = rng.beta(a, b, size=(DRAWS, *a.shape))
    mean, sd, low, high = beta_binomial(a, b, prior=(0.0, 0.0), prob=prob)
    if metric.name == "f1":
        draws, low, high = (2.0 * q / (1.0 + q) for q in (draws, low, high))
        mean, sd = draws.mean(axis=0), draws.std(axis=0)
    elif metric.name == "treatment_equality":
        draws, low, high = (q / np.maximum(1.0 - q, 1e-300) for q in (draws, low, high))
        with np.errstate(divide="ignore", invalid="ignore"):  # of a beta prime distribution
            mean = np.where(b > 1.0, a / (b - 1.0), np.nan)
            variance = a * (a + b - 1.0) / ((b - 1.0) * (b - 1.0) * (b - 2.0))
            sd = np.sqrt(np.where(b > 2.0, variance, np.nan))
    reason = tuple("its mean is infinite" if np.isnan(m) else None for m in mean)
    return LabelsOnly(mean, sd, low, high, draws, reason)


def _bootstrap(
    metrics: Sequence[Metric],
    table: ScoreTable,
    slots: tuple[Slots, ...],
    prob: float,
    rng: np.random.Generator,
) -> dict[str, LabelsOnly]:
    """Return the Bayesian bootstrap of metrics of nodes over labeled rows."""
    draws = {metric.name: np.full((BOOTSTRAP_DRAWS, len(slots)), np.nan) for metric in metrics}
    reasons: dict[str, list[str | None]] = {metric.name: [] for metric in metrics}
    rows = table.sums("rows")[..., :UNLABELED].sum(axis=1)
    effects = cell_effects(None, table)[:, 0, 0]  # the largest of all cells
    alike = equal_chances(table)  # a table does not hold unequal probabilities by score
    for group, bins in enumerate(slots if metrics else ()):
        obstacle = None if alike[group] else "labels were chosen with unequal probabilities"
        obstacle = obstacle if table.scored else "there are no scores"
        if obstacle is None and (rows[group] < CLASS_ROWS).any():
            word = ("negative", "positive")[int(np.argmin(rows[group]))]
            obstacle = f"fewer than {CLASS_ROWS} {word} labels"
        if obstacle is not None:
            for of_metric in reasons.values():
                of_metric.append(obstacle)
            continue
        at = bins.known.any(axis=1)
        known, number = bins.known[at], bins.known_rows[at] / effects[group]
        each = over(known, number, 1.0)
        drawn = rng.standard_gamma(number, (BOOTSTRAP_DRAWS, *number.shape)) * each
        total = drawn.sum(axis=2)
        for metric in metrics:
            values = slot_theta(metric, bins.score[at], total, drawn[..., 1] / total)
            reason = OVERSTATED.get(metric.name) or _undefined(metric, values)
            if reason is None and np.ptp(values) < 1e-12:
                reason = "all draws agree: too few labels for a bootstrap"
            if reason is None:
                draws[metric.name][:, group] = values
            reasons[metric.name].append(reason)
    return {name: _summarize(draws[name], prob, tuple(reasons[name])) for name in draws}


def _undefined(metric: Metric, draws: Floats) -> str | None:
    share = np.isnan(draws).mean()
    return f"no {metric.lack} in {share:.0%} of the draws" if share else None


def _summarize(draws: Floats, prob: float, reason: tuple[str | None, ...]) -> LabelsOnly:
    low, high = np.quantile(draws, tails(prob), axis=0)
    return LabelsOnly(draws.mean(axis=0), draws.std(axis=0), low, high, draws, reason)


class Effective(NamedTuple):
    """Effective numbers of labels of a metric, float64 (group,), NaN if undefined.

    labels: the number of labeled rows that the labels-only estimate would need; own: the actual
    number, of rows of different weight the effective one (Kish); width_ratio: width of the interval
    over that of the labels-only estimate. reason: by group, why one of them is NaN, else None.
    """

    labels: Floats
    own: Floats
    width_ratio: Floats
    reason: tuple[str | None, ...] = ()


def effective_labels(
    metric: Metric,
    estimates: tuple[Estimate, ...],
    baseline: LabelsOnly | None,
    table: ScoreTable,
    counts: Floats,
    *,
    prob: float,
    target: str,
) -> Effective:
    """Return the effective number of labels of a metric's posterior, by group.

    Parameters
    ----------
    estimates
        Of each group.
    baseline
        Labels-only estimates.
    counts
        float64 (chain, draw, group, predicted, label), draws of the confusion counts.
    prob, target
        As in `assess`.

    Returns
    -------
    Effective. NaN if the metric is known exactly or undefined, if its interval has no width, and,
    for metrics other than shares, without a labels-only estimate.
    """
    share = metric.name == "f1" or is_share(metric)
    cells = denominators(metric)[0] if share else np.ones(4)
    weight, squares = table.labeled_sums()
    total, single = (sums.reshape(-1, 4) @ cells for sums in (weight, squares))
    clustered = (squares * cell_effects(metric, table, target)).reshape(-1, 4) @ cells
    own = total * over(total, clustered, 1.0)
    labels, ratio = np.full((2, len(own)), np.nan)
    if baseline is None or (metric.label_free and target != "population"):
        return Effective(labels, own, ratio, ("no label is needed to know it",) * len(own))
    size = np.full(len(own), np.inf)  # posterior mean number of rows in the denominator
    if target != "population":
        every, rows = (table.sums(column).sum(axis=(1, 2)) for column in ("weight", "rows"))
        size = counts.mean(axis=(0, 1)).reshape(-1, 4) @ cells / every * rows
        size *= over(single, clustered, 1.0)
    reasons: list[str | None] = []
    for group, estimate in enumerate(estimates):
        mean, sd = estimate.mean, estimate.sd
        reason = "every row is labeled" if estimate.exact else estimate.reason
        if reason is None and not sd > 0.0:
            reason = "it is the same in all draws"
        if reason is None:
            low, high = estimate.interval(prob)
            width = baseline.high[group] - baseline.low[group]
            ratio[group] = (high - low) / width if width > 0.0 else np.nan
            number = float(own[group] * (baseline.sd[group] / sd) ** 2)
            if share:
                number = share_labels(metric, mean, sd)
            number = min(max(number, 0.0), MOST)
            # as much variance as `number` labels leave among infinitely many rows
            labels[group] = number / (1.0 + number / size[group]) if size[group] > 0.0 else 0.0
            if np.isnan(number + ratio[group]):
                reason = baseline.reason[group]
                reason = reason or "the labels-only estimate has no standard deviation"
        reasons.append(reason)
    return Effective(labels, own, ratio, tuple(reasons))


def share_labels(metric: Metric, mean: float, sd: float) -> float:
    """Return the effective number of labels of a share with this posterior mean and sd."""
    if metric.name == "f1":  # of q = f1 / (2 - f1)
        mean, sd = mean / (2.0 - mean), 2.0 * sd / (2.0 - mean) ** 2
    return mean * (1.0 - mean) / (sd * sd) - 3.0


def in_denominator(metric: Metric, counts: Floats) -> Floats | None:
    """Return the counts (group, predicted, label) in the denominator of a metric, float64 (group,).

    The least of several denominators; None if the metric has no known one.
    """
    sums = [counts.reshape(-1, 4) @ cells for cells in denominators(metric)]
    return np.asarray(np.min(sums, axis=0)) if sums else None


def denominators(metric: Metric) -> list[Bools]:
    """Return the cells (tn, fn, fp, tp) that a metric divides by, bool (4,), one for each share.

    Treatment equality, a ratio of two counts, divides by both, as its labels-only estimate does;
    metrics of scores by the classes without which they are undefined.
    """
    if parts := shares(metric):
        return [part.sides[0] | part.sides[1] for part in parts]
    return [np.array(cells, dtype=bool) for cells in CLASSES.get(metric.lack, [])]


def is_share(metric: Metric) -> bool:
    """Whether a metric is a number of rows over a number of rows that include them."""
    parts = shares(metric)
    if len(parts) != 1:
        return False
    return all(b in (0.0, 1.0) and t in (0.0, b) for t, b in zip(*parts[0][:2], strict=True))
