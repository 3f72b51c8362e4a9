"""Forecast: how wide an interval will be after more labels, from the posterior there is.

No refit. The unlabeled rows are put into bins of a group, a predicted class, a region and a width
of 0.4 logits. Draw by draw of the posterior, as if that draw were the truth:

    theta is taken as linear in the labels, of slope h_j in bin j (a derivative of the metric);
    a label in bin j informs of the curves psi by p_j (1 - p_j) x_j x_j', x = d log odds / d psi;
    C_psi(n) = (S^-1 + sum_j n_j p_j (1 - p_j) x_j x_j')^-1, S the covariance of psi over the draws;
    C(n) = t' C_psi(n) t + sum_j (m_j - n_j) h_j^2 p_j (1 - p_j),
    t = sum_j (m_j - n_j) h_j p_j (1 - p_j) x_j,

with m_j rows in bin j of which n_j get labels: the preposterior of a linear-Gaussian model. The
last sum is that of the target "sample", the labels that stay unknown. "expected" has none, and
"population" the variance of resampling rows in its place, which more labels do not make smaller.

A width goes with the mean of the root of C over the draws. Without further labels it is the width
that there is; with many it is that of a normal posterior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..core.data.logit import Floats, sigmoid
from ..core.data.nodes import UNLABELED, Ints
from ..core.metrics.definitions import Metric, theta
from ..core.model.curve import features
from ..core.model.likelihood import gradient
from ..core.model.regions import Regions
from .places import Places, log_odds_of, places

if TYPE_CHECKING:
    from ..core.assessment import Assessment

BIN_CELLS = 8  # cells of the table in a bin, 0.4 of the logit

MOST_DRAWS = 128

MOST_NUMBERS = 4_000_000  # in the largest array

CUTOFF = 1e-9  # share of the largest variance of psi below which a direction is known


class Bins(NamedTuple):
    """Unlabeled rows of like scores: columns as in `Places`; logit is their mean."""

    group: Ints
    predicted: Ints
    region: Ints
    band: Ints
    logit: Floats
    rows: Floats
    weight: Floats
    weight_sq: Floats


@dataclass(frozen=True, eq=False)
class Outlook:
    """What a forecast needs: K draws, B bins, G groups, r directions in which psi is unsure.

    bins; target: as in `assess`; rate: float64 (K, B), p; informs: (K, B), p (1 - p), 0 where the
    log odds are at their cap; seen: (K, B, r), x in units of the posterior's spread; gain, loss:
    (K, B), derivatives of the metric by the weight of positive, and of negative, rows; known:
    (K, G), the variance under resampling that comes of the labeled rows, for "population".
    """

    bins: Bins
    target: str
    groups: int
    rate: Floats
    informs: Floats
    seen: Floats
    gain: Floats
    loss: Floats
    known: Floats

    @property
    def slope(self) -> Floats:
        """Derivative by the label of a row of weight 1, h: float64 (K, B)."""
        return self.gain - self.loss


def binned(at: Places) -> tuple[Bins, Ints]:
    """Put places into bins; return the bins and, int64 (place,), the bin of each."""
    key = np.stack([at.group, at.predicted, at.region, at.cell // BIN_CELLS])
    unique, of = np.unique(key, axis=1, return_inverse=True)
    of = of.reshape(-1).astype(np.int64)
    rows, weight, weight_sq, logit = (
        np.asarray(np.bincount(of, column, unique.shape[1]), dtype=np.float64)
        for column in (at.rows, at.weight, at.weight_sq, at.rows * at.logit)
    )
    group, predicted, region, band = unique
    return Bins(group, predicted, region, band, logit / rows, rows, weight, weight_sq), of


def outlook(
    result: Assessment,
    metric: str,
    truths: Ints | None = None,
    *,
    groups: Sequence[int] | None = None,
) -> Outlook:
    """Gather what the forecast of a metric needs.

    Parameters
    ----------
    truths
        int64 (K,), the draws to take, chains one after the other. Default: evenly spaced.
    groups
        Those whose curves are looked at; labels of the others inform of nothing. Default: all.
    """
    inside = range(len(result.groups)) if groups is None else sorted(groups)
    where, cap = result.posterior.regions, result.settings.cap
    bins, _ = binned(places(result.table, where))
    every = result.posterior.psi.reshape(-1, *result.posterior.psi.shape[2:])
    spread = _directions(every[:, list(inside)])
    size = max(1, len(bins.rows) * spread.shape[1])
    few = int(np.clip(MOST_NUMBERS // size, 8, min(MOST_DRAWS, len(every))))
    even = np.linspace(0.0, len(every) - 1.0, few).round().astype(np.int64)
    psi = every[even if truths is None else truths]
    odds = log_odds_of(psi, bins.group, bins.region, bins.logit, where)
    rate = sigmoid(np.minimum(odds, cap))
    informs = np.where(odds < cap, rate * (1.0 - rate), 0.0)
    slopes = _slopes(counted(result, metric), _counts(result, bins, rate))
    gain, loss = (slopes[:, bins.group, bins.predicted, label] for label in (1, 0))
    sums = result.table.sums("weight_sq")[..., :UNLABELED]
    return Outlook(
        bins,
        result.settings.target,
        len(result.groups),
        rate,
        informs,
        _seen(psi, bins, where, spread, inside),
        gain,
        loss,
        np.asarray((sums * slopes**2).sum(axis=(2, 3))),
    )


def counted(result: Assessment, metric: str) -> Metric:
    """Return a metric by its name; raise ValueError unless it is one of confusion counts."""
    found = result.settings.metric(metric)
    if found.of != "counts":
        raise ValueError(
            f"metric must be one of confusion counts, such as tpr, to plan for; {metric} is one of "
            "scores"
        )
    return found


def sds(ahead: Outlook, extra: Floats, contrasts: Floats) -> Floats:
    """Standard deviations of contrasts of the groups' metrics after extra labels, by draw.

    Parameters
    ----------
    extra
        float64 (B,), labels in each bin, whole or not, at most its rows.
    contrasts
        float64 (E, G).

    Returns
    -------
    float64 (K, E)
    """
    bins = ahead.bins
    r = ahead.seen.shape[2]
    left = 1.0 - extra / bins.rows
    learned = np.swapaxes(ahead.seen * (extra * ahead.informs)[..., None], 1, 2) @ ahead.seen
    learned[:, np.arange(r), np.arange(r)] += 1.0
    part = ahead.slope * ahead.informs * bins.weight * left  # (K, B)
    pull = (contrasts[:, bins.group] * part[:, None]) @ ahead.seen  # (K, E, r)
    known = (pull * np.swapaxes(np.linalg.solve(learned, np.swapaxes(pull, 1, 2)), 1, 2)).sum(2)
    return np.asarray(np.sqrt(np.maximum(known + noise(ahead, left) @ (contrasts**2).T, 0.0)))


def noise(ahead: Outlook, left: Floats) -> Floats:
    """Variance of each group's metric that the curves do not explain: float64 (K, G).

    `left` (B,) is the share of rows in each bin that stay unlabeled.
    """
    bins = ahead.bins
    if ahead.target == "expected":
        return np.zeros((len(ahead.informs), ahead.groups))
    if ahead.target == "sample":
        each = left * ahead.informs * ahead.slope**2
        start = np.zeros_like(ahead.known)
    else:
        mean = ahead.rate * ahead.gain + (1.0 - ahead.rate) * ahead.loss
        square = ahead.rate * ahead.gain**2 + (1.0 - ahead.rate) * ahead.loss**2
        each = left * mean**2 + (1.0 - left) * square
        start = ahead.known.copy()
    for g in range(ahead.groups):
        mine = bins.group == g
        start[:, g] += each[:, mine] @ bins.weight_sq[mine]
    return start


def expected_sd(ahead: Outlook, extra: Floats, contrasts: Floats) -> Floats:
    """Expected standard deviations of contrasts: the mean of `sds`, float64 (E,)."""
    return np.asarray(sds(ahead, extra, contrasts).mean(axis=0))


def forecast_width(now: Floats, before: Floats, after: Floats, prob: float) -> Floats:
    """Widths of intervals whose expected sd goes from `before` to `after`, of one shape.

    `now` are their widths of mass `prob` so far, NaN where undefined. What makes them differ from
    those of a normal posterior goes as the variance does.
    """
    from scipy.special import ndtri

    normal = 2.0 * float(ndtri(0.5 * (1.0 + prob)))
    some = (now > 0.0) & (before > 0.0)
    safe = np.where(some, before, 1.0)
    bend = np.where(some, now, 1.0) / np.where(some, normal * before, 1.0)
    width = normal * after * bend ** ((after / safe) ** 2)
    return np.where(np.isnan(now), np.nan, np.where(some, width, 0.0))


def _directions(psi: Floats) -> Floats:
    """A root of the covariance of psi, (draw, group, 3 + J) -> float64 (G (3 + J), r)."""
    flat = psi.reshape(len(psi), -1)
    value, axes = np.linalg.eigh(np.atleast_2d(np.cov(flat, rowvar=False)))
    some = value > CUTOFF * max(float(value[-1]), 0.0)
    return np.asarray(axes[:, some] * np.sqrt(value[some]))


def _seen(psi: Floats, bins: Bins, where: Regions, spread: Floats, inside: Sequence[int]) -> Floats:
    """Derivatives of the bins' log odds by psi, in units of the spread: float64 (K, B, r)."""
    k, _, size = psi.shape
    design = where.design(features(bins.logit, "beta"), bins.region)
    found = np.zeros((k, len(bins.rows), spread.shape[1]))
    root = spread.reshape(len(inside), size, -1)
    for i, g in enumerate(inside):
        mine = bins.group == g
        x = gradient(psi[:, g, None], design[:, mine])
        found[:, mine] = x @ root[i]
    return found


def _counts(result: Assessment, bins: Bins, rate: Floats) -> Floats:
    """Expected confusion counts of draws: float64 (K, G, predicted, label)."""
    counts = np.empty((len(rate), len(result.groups), 2, 2))
    counts[:] = result.table.sums("weight")[..., :UNLABELED]
    for g in range(counts.shape[1]):
        for side in (0, 1):
            mine = (bins.group == g) & (bins.predicted == side)
            counts[:, g, side, 1] += rate[:, mine] @ bins.weight[mine]
            counts[:, g, side, 0] += (1.0 - rate[:, mine]) @ bins.weight[mine]
    return counts


def _slopes(metric: Metric, counts: Floats) -> Floats:
    """Derivatives of a metric by the counts (K, G, 2, 2), of the same shape; 0 where undefined."""
    step = 1e-4 * counts.sum(axis=(2, 3))
    found = np.zeros_like(counts)
    for side in (0, 1):
        for label in (0, 1):
            low, high = counts.copy(), counts.copy()
            low[..., side, label] = np.maximum(low[..., side, label] - step, 0.0)
            high[..., side, label] += step
            rise = theta(metric, high) - theta(metric, low)
            run = (high - low)[..., side, label]
            found[..., side, label] = np.where(np.isnan(rise), 0.0, rise / run)
    return found


def two_digits(value: float) -> int:
    """Round up to two significant digits."""
    size = 10 ** max(len(str(int(np.ceil(value)))) - 2, 0)
    return int(-(-np.ceil(value) // size) * size)
