"""Prediction-powered estimates: labels decide, scores reduce the variance; no curve, no prior.

For comparison with the posterior. No model of the labels given the scores is needed: with useless
or badly calibrated scores the estimate falls back to the labels, and its interval is valid, to
first order, if the labeled rows of a group are a simple random sample of its rows. It needs more
labels than the posterior: in simulations with 30 to 60 labeled rows in a group, 95 % intervals held
the truth in 92 % to 99 % of the data sets. The estimator is PPI++ (Angelopoulos, Duchi and Zrnic
2023, "PPI++: Efficient prediction-powered inference", arXiv 2311.01453).

A row i has h_i, the indicator of its cell of the confusion table, known if it is labeled, and g_i,
the prediction of h_i by its score s: (1 - s, s) in the row of its predicted class. With n labeled
rows out of N, f = n / N, the mean of the cells of a group is estimated as

    m = mean of lambda g over all rows + mean of (h - lambda g) over labeled rows

and a metric is theta(m). Its error is, to first order, that of the mean of d . h, where d is the
gradient of theta at m. So with e = d . h - lambda d . g the squared standard error is

    finite target:      (1 - f) S^2(e) / n
    population:         S^2(d . h - (1 - f) lambda d . g) / n + (1 - f) lambda^2 S^2(d . g) / N

where S^2 is a sample variance, of labeled rows except for the last one, which is of all rows. Both
are least for lambda = Cov(d . h, d . g) / Var(d . g); it is estimated from the labeled rows and
clipped to [0, 1], one for each group and metric. As d depends on m and m on lambda, there are two
passes: lambda with d at the labels' own estimate, then with d at the estimate that results.

Choices made here:

- The paper averages lambda g over the unlabeled rows; its lambda is (1 - f) times this one. The
  estimates are the same but for the clipping, which bounds its lambda by 1.
- The finite target is the metric that these rows would have if all were labeled ("sample").
  "expected" has the same estimate; there the interval is too wide by the noise of the unlabeled
  rows' labels. The first formula is that of a difference estimator under sampling without
  replacement, and is not in the paper.
- If all labeled rows agree, S^2(e) would be 0 and the certainty false. So a success and a failure,
  with the mean score of their prediction, are added to its sum of squares, which is then multiplied
  by b / (b + 2), with b labeled rows in the denominator; compare Agresti and Coull (1998), who add
  two of each. The estimate itself is not moved.
- The sum of squares is divided by n - 2, for lambda was fitted to the same rows.
- Intervals are estimate +- t se, t of Student's distribution with b - 1 degrees of freedom, the
  smaller b of the two rates of balanced accuracy. With fewer than 10 labeled rows in a denominator
  there is no estimate.
- Nothing is clipped to [0, 1]: an interval that leaves it has too few labels for its width.
- Finite targets of groups with all rows labeled, and the selection rate, are exact, with se 0. For
  the population each row counts as labeled for the selection rate.
- Labeled rows chosen with known, unequal probabilities (`ScoreTable.design`) are not a simple
  random sample: there is no estimate, unless it is exact.
- Only means of shares have an estimate: the built-in metrics of counts and a cost. Treatment
  equality is not an average over rows and needs 30 labeled errors, of both kinds together: with
  them the linear form held the truth in 93 % to 95 % of simulated data sets. Requiring a minimum
  number of false positives (the denominator) would still admit data sets in which it is too small.
- A table does not hold the joint distribution of weight and score among labeled rows. Equal weights
  in a group cancel; if they differ there is no estimate, unless it is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats, over
from ..data.nodes import UNLABELED
from ..data.table import ScoreTable
from .clusters import design_effect, score_moments
from .definitions import Metric, Share, as_metric, shares, theta
from .estimate import NAN, tails, undefined_reason

Bools = npt.NDArray[np.bool_]

MIN_LABELS = 10  # labeled rows in a denominator

MIN_RATIO = 30  # in numerator and denominator together, if they count different rows


class PredictionPowered(NamedTuple):
    """Estimates of a metric by group.

    mean, se, low, high: float64 (group,), NaN if there is a reason, on the scale of the metric and
    not clipped to [0, 1]; tuning: float64 (group,), lambda in [0, 1], 0 if scores are not used; df:
    float64 (group,), degrees of freedom, inf if se is 0; reason: why there is no estimate, or None.
    """

    mean: Floats
    se: Floats
    low: Floats
    high: Floats
    tuning: Floats
    df: Floats
    reason: tuple[str | None, ...]


class PoweredDifference(NamedTuple):
    """An estimate of group - reference; NaN if there is a reason. Not clipped to [-1, 1].

    df: degrees of freedom, inf if se is 0.
    """

    mean: float
    se: float
    low: float
    high: float
    df: float
    reason: str | None


def prediction_powered(
    metric: str | Metric, table: ScoreTable, *, prob: float = 0.95, target: str = "sample"
) -> PredictionPowered:
    """Estimate a metric of each group from labels and scores.

    Parameters
    ----------
    metric
        A name or a Metric. Only means of shares have an estimate.
    table
        Of all rows, labeled and unlabeled, with clipped scores.
    prob
        Coverage of the interval, in (0, 1).
    target
        "sample" and "expected": these very rows. "population": their population.

    Returns
    -------
    PredictionPowered

    Raises
    ------
    ValueError
        If the metric is unknown.

    Notes
    -----
    Equations, source and departures from it are at the top of this module.

    Examples
    --------
    >>> import lightfair as lf
    >>> label = [1, 0, 0, 1, 0, 1, 0, 1, 1, 1] * 2 + [-1] * 180
    >>> data = lf.score_data(label, [0.9, 0.2, 0.3, 0.8, 0.6] * 40, sensitive_features=["a"] * 200)
    >>> got = prediction_powered("accuracy", lf.score_table(data))
    >>> print(got.mean.round(3), got.se.round(3), got.tuning.round(3))
    [0.8] [0.085] [1.]
    """
    from scipy.special import stdtrit

    metric = as_metric(metric)
    finite = target != "population"
    moments, weight = score_moments(table), table.sums("weight")
    if metric.label_free:  # any label will do
        for sums in (*moments, weight):
            sums[..., 0] += sums[..., UNLABELED]
            sums[..., UNLABELED] = 0.0
    equal, alike = _equal_weights(table), equal_chances(table) | metric.label_free
    estimates: list[tuple[float, ...]] = []
    residuals = np.zeros((len(table.groups), 8))
    reasons: list[str | None] = []
    for g in range(len(table.groups)):
        estimate, reason = (NAN,) * 4, None
        if not shares(metric):
            kind = "of scores" if metric.of == "nodes" else "that is not a share of counts"
            reason = f"not estimated for a metric {kind}"
        elif finite and not moments[0, g, :, UNLABELED].any():
            value = float(theta(metric, weight[g, :, :UNLABELED]))
            reason = undefined_reason(float(np.isnan(value)), metric.lack)
            estimate = (value, 0.0, 0.0, np.inf) if reason is None else estimate
        elif not equal[g]:
            reason = "row weights differ within the group"
        elif not alike[g]:
            reason = "labels were chosen with unequal probabilities"
        elif (reason := _too_few(metric, moments[0, g, :, :UNLABELED])) is None:
            estimate, residuals[g] = _estimate(metric, moments[:, g], finite)
            if np.isnan(estimate[0]):
                reason = "too few labels: the estimate of the denominator is not above 0"
        estimates.append(estimate)
        reasons.append(reason)
    mean, se, tuning, df = np.array(estimates).T
    if table.clusters is not None and shares(metric):
        own = np.any([part.sides.any(axis=0) for part in shares(metric)], axis=0) * 1.0
        effect = design_effect(table, residuals[:, :7], own, residuals[:, 7], finite=finite)
        se *= np.sqrt(effect)
    reach = stdtrit(df, tails(prob)[1]) * se
    return PredictionPowered(mean, se, mean - reach, mean + reach, tuning, df, tuple(reasons))


def powered_difference(
    result: PredictionPowered, group: int, reference: int, *, prob: float = 0.95
) -> PoweredDifference:
    """Return the estimate of a group minus that of the reference.

    Parameters
    ----------
    result
        Estimates of all groups.
    group, reference
        Indices of groups. They are independent: neither rows nor labels are shared.
    prob
        Coverage of the interval, in (0, 1).

    Returns
    -------
    PoweredDifference. The degrees of freedom of its interval are Welch's (1947).
    """
    from scipy.special import stdtrit

    for at, place in ((group, "group"), (reference, "reference")):
        if (why := result.reason[at]) is not None:
            return PoweredDifference(NAN, NAN, NAN, NAN, NAN, f"{why} (in the {place})")
    mean = float(result.mean[group] - result.mean[reference])
    parts = result.se[[group, reference]] ** 2
    bottom = (parts**2 / result.df[[group, reference]]).sum()
    df = float(parts.sum() ** 2 / bottom) if bottom > 0.0 else float(np.inf)
    se = float(np.sqrt(parts.sum()))
    reach = float(stdtrit(df, tails(prob)[1])) * se
    return PoweredDifference(mean, se, mean - reach, mean + reach, df, None)


def _too_few(metric: Metric, known: Floats) -> str | None:
    """Return which labels are too few, or None; known: float64 (predicted, label), labeled rows."""
    for part in shares(metric):
        subset = all(b > 0.0 for t, b in zip(part.top, part.bottom, strict=True) if t > 0.0)
        least = MIN_LABELS if subset else MIN_RATIO
        if known.ravel() @ part.sides.any(axis=0) < least:
            rows = "labels that it counts"
            if metric.label_free or part.lack.endswith("labels"):
                rows = part.lack
            elif part.lack.startswith("rows"):
                rows = "labels" if part.lack == "rows" else f"labels of {part.lack}"
            return f"fewer than {least} {rows}"
    return None


def _estimate(
    metric: Metric, moments: Floats, finite: bool
) -> tuple[tuple[float, float, float, float], Floats]:
    """Return mean, se, tuning and df of one group, and residuals; moments without their axis.

    Residuals, float64 (8,): e less its mean, by cell, 0, and by score of each predicted class; and
    the sum of its squares over labeled rows.
    """
    known, parts = moments[..., :UNLABELED], shares(metric)
    labeled, total = known[0].sum(), moments[0].sum()
    unlabeled = total - labeled
    open_share = unlabeled / total  # 1 - f
    own, shift = known[0] / labeled, np.zeros((2, 2))
    if unlabeled:
        of_unlabeled = _predicted(moments[..., UNLABELED]) / unlabeled
        shift = open_share * (of_unlabeled - _predicted(known.sum(axis=-1)) / labeled)
    tuning = 0.0
    for _ in range(2):
        label_sq, both, score_sq = _squares(_gradient(parts, own + tuning * shift), known)
        tuning = float(np.clip(both / score_sq, 0.0, 1.0)) if score_sq > 0.0 else 0.0
    mean = float(theta(metric, own + tuning * shift))
    if np.isnan(mean):
        return (NAN,) * 4, np.zeros(8)
    slope = _gradient(parts, own + tuning * shift)
    used = tuning if finite else open_share * tuning
    label_sq, both, score_sq = _squares(slope, known)
    raw = squares = max(label_sq - 2.0 * used * both + used * used * score_sq, 0.0)
    # the squares of a success and a failure, with the mean score of their prediction
    added = np.sum([side / side.sum() for part in parts for side in part.sides], axis=0)
    rows, first, _ = moments.sum(axis=-1)
    score = over(first, rows, 0.5)
    center = (slope * (known[0] - used * _predicted(known.sum(axis=-1)))).sum() / labeled
    predicted = slope[:, 0] + (slope[:, 1] - slope[:, 0]) * score
    away = slope - used * predicted[:, None] - center
    counted = np.array([known[0].ravel() @ part.sides.any(axis=0) for part in parts])
    count = known[0].ravel() @ np.any([part.sides.any(axis=0) for part in parts], axis=0)
    squares = (squares + (added.reshape(2, 2) * away * away).sum()) * count / (count + added.sum())
    at_zero = (slope - used * slope[:, :1] - center).ravel()
    residuals = np.array([*at_zero, 0.0, *used * (slope[:, 0] - slope[:, 1]), raw])
    variance = squares / ((labeled - 2.0) * labeled)
    if finite:
        variance *= open_share
    else:
        score_sq = _squares(slope, moments.sum(axis=-1, keepdims=True))[2]
        variance += open_share * tuning * tuning * score_sq / ((total - 1.0) * total)
    return (mean, float(np.sqrt(variance)), tuning, float(counted.min() - 1.0)), residuals


def _gradient(parts: tuple[Share, ...], cells: Floats) -> Floats:
    """Gradient of the metric by the cells, float64 (predicted, label); NaN for 0 / 0."""
    total: Floats = np.zeros((2, 2))
    for part in parts:
        top, bottom = np.reshape(part[:2], (2, 2, 2))
        base = (bottom * cells).sum()
        if not base > 0.0:
            return np.full((2, 2), np.nan)
        total += (top - (top * cells).sum() / base * bottom) / base
    return np.asarray(total / len(parts))


def _predicted(moments: Floats) -> Floats:
    """Sums of g over rows with moments (power, predicted): float64 (predicted, label)."""
    return np.stack([moments[0] - moments[1], moments[1]], axis=-1)


def _squares(slope: Floats, moments: Floats) -> Floats:
    """Sums of squares about the mean, over the rows with moments (power, predicted, label).

    Returns float64 (3,): of d . h, of d . h times d . g, and of d . g. The first two are meaningful
    for labeled rows only; d . g of a row is slope[p, 0] + (slope[p, 1] - slope[p, 0]) s.
    """
    rows, first, second = moments
    base, rise = slope[:, :1], slope[:, 1:] - slope[:, :1]
    score = base * rows + rise * first
    score_sq = base * base * rows + 2.0 * base * rise * first + rise * rise * second
    label = slope[:, : rows.shape[1]]
    sum_h, sum_g = (label * rows).sum(), score.sum()
    raw = [(label * label * rows).sum(), (label * score).sum(), score_sq.sum()]
    of_means = np.array([sum_h * sum_h, sum_h * sum_g, sum_g * sum_g]) / rows.sum()
    squares: Floats = np.array(raw) - of_means
    if not squares[2] > 1e-13 * score_sq.sum():  # d . g is constant up to rounding
        squares[1:] = 0.0
    return squares


def _equal_weights(table: ScoreTable) -> Bools:
    """Whether all rows of a group have the same weight, up to rounding: bool (group,)."""
    columns = ("rows", "weight", "weight_sq")
    rows, weight, weight_sq = (table.sums(column).sum(axis=(1, 2)) for column in columns)
    return np.asarray(rows * weight_sq <= (1.0 + 1e-9) * weight * weight)


def equal_chances(table: ScoreTable) -> Bools:
    """Return whether the labeled rows of a group were chosen with one probability: bool (group,).

    Assumes equal row weights; groups with unequal ones have no estimate.
    """
    if table.design is None:
        return np.ones(len(table.groups), dtype=bool)
    total, square = np.moveaxis(table.design.sum(axis=(1, 2)), -1, 0)
    rows = table.sums("rows")[..., :UNLABELED].sum(axis=(1, 2))
    return np.asarray(rows * square <= (1.0 + 1e-9) * total * total)
