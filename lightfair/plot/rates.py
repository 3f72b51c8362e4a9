"""What a calibration plot shows, as numbers: the curve by draw, and labeled rows in bins."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..imputation import curve_odds
from ..model import Floats, features, logit_of, sigmoid
from ..special import ndtri
from ..table import CELL_WIDTH, UNLABELED, Ints
from ..trust import LOW, Regions, regions

if TYPE_CHECKING:
    from ..assessment import Assessment

LABELS = 20  # labeled rows for each bin that a region is cut into
PARTS = 4  # most bins of a region
POINTS = 60  # scores at which a piece of the curve is evaluated


class Piece(NamedTuple):
    """The curve of a group in one region of the scores.

    score: float64 (point,), rising; rate: float64 (draw, point); predicted: 0 or 1; mass: whether
    it is the mass of scores at a clipping bound, where all scores have one rate.
    """

    score: Floats
    rate: Floats
    predicted: int
    mass: bool


class Bins(NamedTuple):
    """Labeled rows of a group, by region and score.

    score: float64 (bin,), their mean; rows, positives: int64; rate: float64, positives / rows; low,
    high: float64, Wilson's interval (1927).
    """

    score: Floats
    rows: Ints
    positives: Ints
    rate: Floats
    low: Floats
    high: Floats


def pieces(result: Assessment, group: int) -> list[Piece]:
    """Return the curve of a group over the range of the scores of its rows, by rising score.

    With trust the rate of a region deviates from the curve, and jumps where the next one begins.
    """
    where, table = result.posterior.regions, result.table
    draws = result.posterior.psi[:, :, group]
    psi = draws.reshape(-1, draws.shape[-1])
    nodes = table.nodes()
    mine = nodes.stratum // 6 == group
    stratum, logit = nodes.stratum[mine], nodes.logit[mine]
    region, predicted = where.of(stratum, logit), stratum // 3 % 2
    on_curve = region < where.first[2]
    found = []

    def add(low: float, high: float, place: int, side: int) -> None:
        ends = sigmoid(np.array([low, high]))
        score = np.linspace(ends[0], ends[1], 1 if low == high else POINTS)
        at = np.log(score) - np.log1p(-score)
        found.append(Piece(score, _rates(psi, at, place, where, result.settings.cap), side, False))

    both = all((on_curve & (predicted == side)).any() for side in (0, 1))
    for side in (0, 1):
        seen = logit[on_curve & (predicted == side)]
        if not len(seen):
            continue
        low, high = float(seen.min()), float(seen.max())
        cut = table.threshold
        cut = cut[table.groups[group]] if isinstance(cut, dict) else cut
        if both and cut is not None:  # up to the threshold, where the rows of the other side begin
            at = float(logit_of(cut, 0.0))
            low, high = (low, max(high, at)) if side == 0 else (min(low, at), high)
        inner = where.edges[side]
        inner = inner[(inner > low) & (inner < high)]
        cuts = [low, *inner.tolist(), high]
        first = where.first[side] + int(np.searchsorted(where.edges[side], low, side="right"))
        for step, (start, end) in enumerate(zip(cuts[:-1], cuts[1:], strict=True)):
            add(start, end, first + step, side)
    for place in np.unique(region[~on_curve]):
        bound, side = where.masses[place - where.first[2]]
        rate = _rates(psi, np.zeros(1), int(place), where, result.settings.cap)
        ends = [0.0, table.clip] if bound == LOW else [1.0 - table.clip, 1.0]
        found.append(Piece(np.array(ends), rate[:, [0, 0]], side, True))
    return sorted(found, key=lambda piece: (float(piece.score[0]), piece.predicted))


def bins(result: Assessment, group: int, prob: float) -> Bins:
    """Return the labeled rows of a group in bins, with intervals of mass `prob`.

    The bins are the regions of `Misfit`. One with 40 labels or more is cut into up to 4 of as many
    labels each, as near as rows of one score allow.
    """
    table = result.table
    where = regions(table) if result.posterior.omega is None else result.posterior.regions
    points, cells = table.points, table.cells
    stratum = np.concatenate([points.stratum, cells.stratum])
    logit = np.concatenate(
        [points.logit, (cells.cell + 0.5) * CELL_WIDTH + cells.power1 / np.maximum(cells.rows, 1.0)]
    )
    rows = np.concatenate([points.rows, cells.rows])
    mine = (stratum // 6 == group) & (stratum % 3 != UNLABELED)
    stratum, logit, rows = stratum[mine], logit[mine], rows[mine]
    region = where.of(stratum, logit)
    order = np.lexsort((logit, region))
    region, logit, rows = region[order], logit[order], rows[order]
    positive = rows * (stratum[order] % 3 == 1)
    key = np.zeros(len(rows), dtype=np.int64)
    for place in np.unique(region):
        here = region == place
        parts = 1 if place >= where.first[2] else int(np.clip(rows[here].sum() // LABELS, 1, PARTS))
        key[here] = place * PARTS + _cut(logit[here], rows[here], parts)
    _, start = np.unique(key, return_index=True)
    if not start.size:
        none = np.zeros(0)
        return Bins(none, none.astype(np.int64), none.astype(np.int64), none, none, none)
    total = np.add.reduceat(rows, start)
    hits = np.add.reduceat(positive, start)
    score = np.add.reduceat(rows * sigmoid(logit), start) / total
    low, high = wilson(hits, total, prob)
    whole = np.rint(total).astype(np.int64), np.rint(hits).astype(np.int64)
    return Bins(score, *whole, hits / total, low, high)


def wilson(hits: Floats, total: Floats, prob: float) -> tuple[Floats, Floats]:
    """Return Wilson's interval of a share: hits of total, above 0.

    Examples
    --------
    >>> low, high = wilson(np.array([2.0]), np.array([10.0]), 0.95)
    >>> print(low.round(3), high.round(3))
    [0.057] [0.51]
    """
    z2 = float(ndtri(0.5 + 0.5 * prob)) ** 2
    share = hits / total
    middle = (share + 0.5 * z2 / total) / (1.0 + z2 / total)
    half = np.sqrt(z2 * (share * (1.0 - share) / total + 0.25 * z2 / total**2)) / (1.0 + z2 / total)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def _rates(psi: Floats, logit: Floats, region: int, where: Regions, cap: float) -> Floats:
    """f of a region at some logits, (draw, point), for psi (draw, 3 + J)."""
    on_curve = where.on_curve[region]
    seen = features(logit, "beta")
    odds = curve_odds(
        psi,
        seen.up * on_curve,
        seen.down * on_curve,
        np.full(len(logit), region),
        (where.on_curve, where.base, where.loadings),
        cap,
    )
    return sigmoid(odds)


def _cut(logit: Floats, rows: Floats, parts: int) -> Ints:
    """Cut rows, by rising logit, into parts of as many rows each; equal logits stay together."""
    middle = np.cumsum(rows) - 0.5 * rows
    part = np.minimum((parts * middle / rows.sum()).astype(np.int64), parts - 1)
    _, first = np.unique(logit, return_inverse=True)
    lowest = np.full(first.max() + 1, parts)
    np.minimum.at(lowest, first, part)
    return np.asarray(lowest[first])
