"""Binning: rows to a ScoreTable, in blocks, so that memory beyond the rows does not grow.

Rows of strata that have cells are summed there with `numpy.bincount`. All others become points,
merged with those of the blocks before; strata with too many points move into cells (`nodes`), in
large data sets after the first block. Blocks depend on the data alone, and rows are summed in
their order: the same rows give the same sums.
"""

from __future__ import annotations

import numpy as np

from . import nodes
from .logit import Floats, logit_of
from .nodes import Cells, Ints, Points, clip_bounds, joined, settled
from .rows import ScoreData
from .table import ScoreTable

BLOCK = 65_536  # rows

DENSE = 2**20  # possible cells up to which all have sums: 48 MiB


def score_table(data: ScoreData, *, clip: float = 0.01) -> ScoreTable:
    """Build the table of some rows.

    Parameters
    ----------
    data
        Checked rows.
    clip
        In [0, 0.5). Scores are clipped to [clip, 1 - clip] for the logit; predictions are not
        affected. The paper's authors clip at 0.01, the paper does not clip.

    Raises
    ------
    ValueError
        If clip is out of range, or 0 while a score is exactly 0 or 1: its logit is infinite.

    Examples
    --------
    >>> import lightfair as lf
    >>> data = lf.score_data([1, 0, None], [0.9, 0.2, 0.5], sensitive_features=["b", "a", "a"])
    >>> lf.score_table(data)
    <ScoreTable: 3 rows, 2 labeled; 2 groups by group; clip 0.01>
    """
    nodes.check_clip(clip)
    nodes.check_edges(data.score, clip)
    points, cells = _binned(data, clip)
    return ScoreTable(
        data.groups,
        clip,
        int(np.count_nonzero((data.score < clip) | (data.score > 1.0 - clip))),
        points,
        cells,
        attributes=data.attributes,
        parts=data.parts,
        threshold=data.threshold,
        weighted=data.weight is not None,
        counts=data.counts,
        design=None if data.label_prob is None else _design(data),
        cuts=data.cuts,
    )


def _binned(data: ScoreData, clip: float) -> tuple[Points, Cells]:
    groups = len(data.groups) * (len(data.cuts) + 1)
    low, high = clip_bounds(clip)
    ends = logit_of([data.score.min(initial=1.0), data.score.max(initial=0.0)], clip)
    # one cell more at each end: a logit may be off by a rounding
    first, last = (int(cell) for cell in np.floor(ends / nodes.CELL_WIDTH) + (-1.0, 1.0))
    width = last - first + 1
    size = groups * 6 * width
    dense = size <= DENSE
    sums = np.zeros((6, size if dense else 0))
    in_cells = np.zeros(groups * 6, dtype=bool)
    points, cells = nodes.NO_POINTS, nodes.NO_CELLS
    start = 0
    while start < len(data.score):
        # the more cells there are to add or to sort, the longer the block
        rows = slice(start, start + max(BLOCK, size // 8 if dense else 2 * len(cells.cell)))
        start = rows.stop
        logit = logit_of(data.score[rows], clip)
        stratum = _strata(data, rows)
        weight = np.ones(len(logit)) if data.weight is None else data.weight[rows]
        direct = in_cells[stratum] & (logit > low) & (logit < high)
        if direct.any():
            new = nodes.to_cells(_points(stratum[direct], logit[direct], weight[direct]))
            key = new.stratum * width + (new.cell - first)
            for total, column in zip(sums, new[2:], strict=True):
                total += np.bincount(key, column, minlength=len(total))
        if not direct.all():
            rows_left = _points(stratum[~direct], logit[~direct], weight[~direct])
            points, cells = settled(groups, clip, joined([points, rows_left]), cells)
        if dense:
            in_cells[cells.stratum] = True
    at = np.flatnonzero(sums[0])
    summed = Cells(at // width, at % width + first, *sums[:, at])
    return settled(groups, clip, points, joined([cells, summed]))


def _points(stratum: Ints, logit: Floats, weight: Floats) -> Points:
    """Return rows as points, each of one row."""
    return Points(stratum, logit, np.ones(len(logit)), weight, weight * weight)


def _strata(data: ScoreData, rows: slice) -> Ints:
    label = data.label[rows]
    group = data.group[rows].astype(np.int64)
    if data.band is not None:
        group += len(data.groups) * data.band[rows].astype(np.int64)
    return (group * 2 + data.predicted[rows]) * 3 + np.where(label < 0, nodes.UNLABELED, label)


def _design(data: ScoreData) -> Floats:
    """Sums of weight / label_prob and its square over labeled rows, as `ScoreTable.design`."""
    known = data.label >= 0
    inverse = 1.0 / data.label_prob[known]  # type: ignore[index]
    if data.weight is not None:
        inverse = inverse * data.weight[known]
    key = (data.group[known].astype(np.int64) * 2 + data.predicted[known]) * 2 + data.label[known]
    size = len(data.groups) * 4
    sums = [np.bincount(key, mass, size) for mass in (inverse, inverse * inverse)]
    return np.stack(sums, axis=-1).astype(np.float64).reshape(-1, 2, 2, 2)
