"""Preposterior forecast: how wide an interval will be after more labels, without fitting again.

The unlabeled rows are put into bins of a group, a predicted class, a region and 0.4 of the logit.
For each draw of the posterior, taken as the truth,

    theta is linear in the labels, with slope h_j in bin j (a derivative of the metric);
    a label in bin j adds the information p_j (1 - p_j) x_j x_j' on psi, x = d log odds / d psi;
    C_psi(n) = (S^-1 + sum_j n_j p_j (1 - p_j) x_j x_j')^-1, S the posterior covariance of psi;
    C(n) = t' C_psi(n) t + sum_j (m_j - n_j) h_j^2 p_j (1 - p_j),
    t = sum_j (m_j - n_j) h_j p_j (1 - p_j) x_j,

with m_j rows in bin j, n_j of them newly labeled: the preposterior variance of a linear-Gaussian
model. The last sum belongs to the target "sample": the labels that stay unknown. For "expected" it
is absent, for "population" the variance of resampling rows replaces it, which labels do not reduce.

The forecast width is proportional to the mean of sqrt(C) over the draws. Without new labels it is
the current width, with many it is that of a normal posterior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.assessment import Assessment
from ..core.data.logit import Floats, Ints, over, sigmoid
from ..core.data.nodes import CELL_WIDTH, UNLABELED
from ..core.data.table import ScoreTable
from ..core.metrics.definitions import Metric, theta
from ..core.metrics.imputation import PSEUDO, row_weight
from ..core.model import likelihood
from ..core.model.curve import features
from ..core.model.regions import Regions, rows_on_axis

BIN_WIDTH = 8.0 * CELL_WIDTH  # of the logit

MAX_DRAWS = 128

MAX_SIZE = 4_000_000  # numbers in the largest array

CUTOFF = 1e-9  # share of the largest variance of psi below which a direction is taken as known


class Bins(NamedTuple):
    """Unlabeled rows of similar scores.

    group, predicted, region, cell: intp (bin,), cell in units of the bins' width; logit: float64
    (bin,), mean; rows, weight, weight_sq: float64 (bin,), number of rows, sums of their weights
    and of the squares of these.
    """

    group: Ints
    predicted: Ints
    region: Ints
    cell: Ints
    logit: Floats
    rows: Floats
    weight: Floats
    weight_sq: Floats


@dataclass(frozen=True, eq=False)
class Preposterior:
    """What a forecast needs: K draws, B bins, G groups, r directions in which psi is uncertain.

    bins; target: as in `assess`; rate: float64 (K, B), p; information: (K, B), p (1 - p), 0 where
    the log odds are at their cap; gradient: (K, B, r), x in units of the posterior's spread; gain,
    loss: (K, B), derivatives of the metric by the weight of positive, and of negative, rows; known:
    (K, G), the variance of resampling the labeled rows, 0 unless the target is "population".
    """

    bins: Bins
    target: str
    groups: int
    rate: Floats
    information: Floats
    gradient: Floats
    gain: Floats
    loss: Floats
    known: Floats

    @property
    def slope(self) -> Floats:
        """Derivative of the metric by the label of a row of weight 1, h: float64 (K, B)."""
        return self.gain - self.loss


def preposterior(
    result: Assessment, metric: str, most: int = MAX_DRAWS, groups: Sequence[int] | None = None
) -> Preposterior:
    """Collect what the forecast of a metric needs.

    Parameters
    ----------
    most
        Draws to use at most, evenly spaced; fewer if there are many bins and groups.
    groups
        Groups with uncertain curves; labels of others add no information. Default: all.
    """
    of, settings = result.settings.metric(metric), result.settings
    if of.of != "counts":
        raise ValueError(f"metric must be one of confusion counts, such as tpr; got {metric}")
    uncertain = [*range(len(result.groups))] if groups is None else sorted(groups)
    regions, cap = result.imputing.regions, settings.cap
    bins = score_bins(result.table, regions)
    psi = result.imputing.psi.reshape(-1, *result.imputing.psi.shape[2:])
    root = _covariance_root(_usual(psi, result.imputing.apart)[:, uncertain])
    fits = MAX_SIZE // max(1, len(bins.rows) * root.shape[2])
    size = int(np.clip(fits, 8, min(most, len(psi))))
    psi = psi[np.linspace(0.0, len(psi) - 1.0, size).round().astype(np.intp)]
    odds = np.empty((len(psi), len(bins.rows)))
    gradient = np.zeros((*odds.shape, root.shape[2]))
    for g in np.unique(bins.group).tolist():
        at = bins.group == g
        design = regions.design(features(bins.logit[at], "beta"), bins.region[at])
        odds[:, at] = likelihood.log_odds(psi[:, g], design, regions.base[bins.region[at]])
        if g in uncertain:
            slopes = likelihood.gradient(psi[:, g, None], design)
            gradient[:, at] = slopes @ root[uncertain.index(g)]
    rate = sigmoid(np.minimum(odds, cap))
    of_count = _count_slopes(of, _expected_counts(result, bins, rate))
    gain, loss = (of_count[:, bins.group, bins.predicted, label] for label in (1, 0))
    weight_sq = result.table.sums("weight_sq")[..., :UNLABELED] + _pseudo(result, 2)
    known = (weight_sq * of_count**2).sum(axis=(2, 3)) * (settings.target == "population")
    information = np.where(odds < cap, rate * (1.0 - rate), 0.0)
    fixed = bins, settings.target, len(result.groups)
    return Preposterior(*fixed, rate, information, gradient, gain, loss, known)


def expected_sd(ahead: Preposterior, extra: Floats, contrasts: Floats) -> Floats:
    """Expected standard deviations of contrasts of the groups' metrics after extra labels.

    Parameters
    ----------
    extra
        float64 (B,), labels in each bin, whole or not, at most its rows.
    contrasts
        float64 (E, G).

    Returns
    -------
    float64 (E,), means over draws.
    """
    x, left = ahead.gradient, 1.0 - extra / ahead.bins.rows
    precision = np.swapaxes(x * (extra * ahead.information)[..., None], 1, 2) @ x
    precision += np.eye(x.shape[2])
    part = ahead.slope * ahead.information * ahead.bins.weight * left  # (K, B)
    t = (contrasts[:, ahead.bins.group] * part[:, None]) @ x  # (K, E, r)
    curve = (t * np.swapaxes(np.linalg.solve(precision, np.swapaxes(t, 1, 2)), 1, 2)).sum(2)
    variance = curve + residual_variance(ahead, left) @ (contrasts**2).T
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)).mean(axis=0))


def residual_variance(ahead: Preposterior, left: Floats) -> Floats:
    """Variance of each group's metric that the curves do not explain: float64 (K, G).

    `left` (B,) is the share of rows in each bin that stay unlabeled.
    """
    if ahead.target == "expected":
        return ahead.known
    if ahead.target == "sample":
        variance = left * ahead.information * ahead.slope**2
    else:
        mean = ahead.rate * ahead.gain + (1.0 - ahead.rate) * ahead.loss
        square = ahead.rate * ahead.gain**2 + (1.0 - ahead.rate) * ahead.loss**2
        variance = left * mean**2 + (1.0 - left) * square
    members = ahead.bins.group[:, None] == np.arange(ahead.groups)
    return np.asarray(ahead.known + variance @ (ahead.bins.weight_sq[:, None] * members))


def forecast_width(now: Floats, before: Floats, after: Floats, prob: float) -> Floats:
    """Widths of intervals whose expected sd changes from `before` to `after`, of one shape.

    `now` are their current widths at the credible level `prob`, NaN where undefined. The deviation
    of their shape from the normal shrinks with the variance.
    """
    from scipy.special import ndtri

    normal = 2.0 * float(ndtri(0.5 * (1.0 + prob)))
    positive = (now > 0.0) & (before > 0.0)
    safe = np.where(positive, before, 1.0)
    shape = np.where(positive, now, normal) / (normal * safe)
    width = np.where(positive, normal * after * shape ** ((after / safe) ** 2), 0.0)
    return np.where(np.isnan(now), np.nan, width)


def score_bins(table: ScoreTable, regions: Regions) -> Bins:
    """Put the unlabeled rows of a table into bins of 0.4 of the logit, in order of `bin_keys`."""
    points, cells = table.points, table.cells
    stratum, centre, _ = rows_on_axis(table)
    unlabeled = stratum % 3 == UNLABELED
    mean = (cells.cell + 0.5) * CELL_WIDTH + over(cells.power1, cells.weight, 0.0)
    logit = np.concatenate([points.logit, mean])
    columns = [*map(np.concatenate, zip(points[2:], cells[2:5], strict=True))]
    columns.append(columns[0] * logit)
    key = places(stratum[unlabeled], centre[unlabeled], regions)
    _, first, at = np.unique(bin_keys(*key), return_index=True, return_inverse=True)
    rows, weight, weight_sq, logit = (
        np.bincount(at, column[unlabeled], len(first)).astype(np.float64) for column in columns
    )
    return Bins._make([*(column[first] for column in key), logit / rows, rows, weight, weight_sq])


def places(stratum: Ints, centre: Floats, regions: Regions) -> tuple[Ints, Ints, Ints, Ints]:
    """Return group, predicted class, region and cell of bins, by the centre of a row's cell."""
    cell = np.floor(centre / BIN_WIDTH).astype(np.intp)
    return stratum // 6, stratum // 3 % 2, regions.of(stratum, centre), cell


def bin_keys(group: Ints, predicted: Ints, region: Ints, cell: Ints) -> npt.NDArray[np.int64]:
    """Return one number for each bin, int64."""
    wide = (2 * group + predicted).astype(np.int64)
    return (wide * 2**20 + region) * 2**20 + cell + 2**19


def _usual(psi: Floats, apart: npt.NDArray[np.bool_] | None) -> Floats:
    """Draws of psi (n, group, D); a group's mean where it is apart and in most draws is not.

    Or where it is not, and in most draws is: one normal distribution cannot stand for both.
    """
    if apart is None:
        return psi
    apart = apart.reshape(psi.shape[:2])
    usual = (apart == (apart.mean(axis=0) > 0.5))[..., None]
    mean = np.where(usual, psi, 0.0).sum(axis=0) / usual.sum(axis=0)
    return np.where(usual, psi, mean)


def _covariance_root(psi: Floats) -> Floats:
    """A root of the covariance of psi (draw, G, 3 + J): float64 (G, 3 + J, r)."""
    flat = psi.reshape(len(psi), -1)
    value, axes = np.linalg.eigh(np.atleast_2d(np.cov(flat, rowvar=False, bias=len(flat) == 1)))
    used = value > CUTOFF * max(float(value[-1]), 0.0)
    return np.asarray((axes[:, used] * np.sqrt(value[used])).reshape(*psi.shape[1:], -1))


def _expected_counts(result: Assessment, bins: Bins, rate: Floats) -> Floats:
    """Expected confusion counts of draws: float64 (K, G, predicted, label)."""
    known = result.table.sums("weight")[..., :UNLABELED] + _pseudo(result, 1)
    cells = np.arange(2 * len(result.groups))
    members = bins.weight[:, None] * ((2 * bins.group + bins.predicted)[:, None] == cells)
    unknown = np.stack([(1.0 - rate) @ members, rate @ members], axis=-1)
    return np.asarray(known + unknown.reshape(len(rate), *known.shape))


def _pseudo(result: Assessment, power: int) -> Floats | float:
    """Sum of a power of the weights of the pseudo-rows in a cell: float64 (G, 1, 1), or 0."""
    if result.settings.target != "population":
        return 0.0
    return np.asarray(PSEUDO * row_weight(result.table)[:, None, None] ** power)


def _count_slopes(metric: Metric, counts: Floats) -> Floats:
    """Derivatives of a metric by the counts (K, G, 2, 2), of the same shape; 0 where undefined."""
    step = 1e-4 * counts.sum(axis=(2, 3))
    slopes = np.zeros_like(counts)
    for side, label in np.ndindex(2, 2):
        low, high = counts.copy(), counts.copy()
        low[..., side, label] = np.maximum(low[..., side, label] - step, 0.0)
        high[..., side, label] += step
        rise, run = theta(metric, high) - theta(metric, low), (high - low)[..., side, label]
        slopes[..., side, label] = np.where(np.isnan(rise), 0.0, rise / run)
    return slopes
