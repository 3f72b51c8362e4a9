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
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from .compare import tails
from .conjugate import beta_binomial, beta_draws
from .metrics import SHARES, Metric, as_metric, successes_failures, theta
from .model import Floats
from .prediction_powered import equal_chances
from .table import UNLABELED, ScoreTable

if TYPE_CHECKING:
    from .slots import Slots

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
    from .slots import Imputed, slot_theta

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
