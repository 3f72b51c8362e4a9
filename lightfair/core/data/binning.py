"""Gather: rows go into a ScoreTable in one pass.

Scores become logits, and each row is added to the sums of its cell. Next to the cells the pass
keeps the exact scores of every stratum that has shown at most EXACT_LIMIT of them so far; in most
large data sets that is over after a thousand rows. What a stratum has at the end is one or the
other, so nothing is looked at twice and nothing is sorted.

The rows are cut into spans whose length depends on the data alone. Each span is summed in the order
of its rows, the spans are added in their order, and threads take whole spans: the sums have the
same bytes whatever the number of threads, and with compiled loops or without.

Small data, and data whose cells would be mostly empty, are sorted instead (`table.settled`); their
sums differ in rounding only.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..mcmc.jit import compiles
from .bands import BAND, crossed
from .groups import group_names
from .logit import Floats, logit_of
from .nodes import (
    CELL_WIDTH,
    EXACT_LIMIT,
    UNLABELED,
    Cells,
    Ints,
    Points,
    check_clip,
    check_edges,
    clip_bounds,
    merged_points,
    settled,
)
from .rows import ScoreData
from .table import ScoreTable

SORTED = 16_384  # rows; fewer are sorted: the sums of cells pay from here on

BLOCK = 16_384  # rows whose logits are taken at once: they stay in the processor's cache

FIRST = 2048  # rows that points are sought in first: strata with many are known then

SPAN = 65_536  # rows summed by one thread before their sums are added to the others'

DENSE = 2**21  # cells that sums are kept for: 64 MiB, 96 MiB with weights

SHARED = 2**19  # cells of all threads together

SLOTS = 256  # places of a hash table of points, a power of 2 well above EXACT_LIMIT

FOLDED = 64  # spans whose points are merged at once

NUMPY_SECONDS = 1.0e-7  # of a row, without compiling


class Frame(NamedTuple):
    """Where sums are kept: strata and cells from `first` on, bounds of the logit, columns."""

    strata: int
    first: int
    cells: int
    low: float
    high: float
    weighted: bool


class Span(NamedTuple):
    """The sums of some rows.

    cells: float64 (stratum, cell, 4 or 6), rows, three powers, weight and its square; bounds:
    float64 (stratum, 2, 1 or 3), rows at the lower and upper bound of the logit, weight and its
    square; points: of strata that may have few; clipped: rows outside the bounds.
    """

    cells: Floats
    bounds: Floats
    points: Points
    clipped: int


def score_table(data: ScoreData, *, clip: float = 0.01) -> ScoreTable:
    """Build the table of some rows.

    Parameters
    ----------
    data
        Checked rows.
    clip
        In [0, 0.5). Scores are clipped to [clip, 1 - clip] for the logit; predictions are not
        touched. The paper's authors clip at 0.01, the paper does not clip.

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
    return gather(data, clip)


def gather(
    data: ScoreData, clip: float, *, before: int = 0, threads: int | None = None
) -> ScoreTable:
    """Build the table of some rows, the last of many or all of them.

    Parameters
    ----------
    data, clip
        As in `score_table`.
    before
        Rows that the caller has gathered before these: a long stream of short chunks is worth
        compiling for. Not a part of the result.
    threads
        Default: as many as there are processors, and cells for.
    """
    check_clip(clip)
    check_edges(data.score, clip)
    parts, attributes = data.parts, data.attributes
    if data.band is not None:
        group, parts = crossed(data.group, data.parts, data.band, len(data.cuts) + 1)
        attributes = (*attributes, BAND)
        data = replace(data, group=group, groups=group_names(parts))
    rows = len(data.score)
    frame = None if rows < SORTED else _frame(data, clip)
    if frame is None or frame.strata * frame.cells > min(DENSE, 8 * rows):
        table = _sorted_table(data, clip)
    else:
        jit = compiles((before + rows) * NUMPY_SECONDS)
        table = _summed_table(data, clip, frame, threads, jit)
    return replace(
        table,
        attributes=attributes,
        parts=parts,
        threshold=data.threshold,
        weighted=data.weight is not None,
        counts=data.counts,
        design=None if data.label_prob is None else _design(data),
        cuts=data.cuts,
    )


def _design(data: ScoreData) -> Floats:
    """Sums of weight / label_prob and its square over labeled rows, as `ScoreTable.design`."""
    known = data.label >= 0
    inverse = 1.0 / data.label_prob[known]  # type: ignore[index]
    if data.weight is not None:
        inverse = inverse * data.weight[known]
    place = (data.group[known].astype(np.int64) * 2 + data.predicted[known]) * 2
    place = place + data.label[known]
    size = len(data.groups) * 4
    sums = [np.bincount(place, mass, size) for mass in (inverse, inverse * inverse)]
    return np.stack(sums, axis=-1).astype(np.float64).reshape(-1, 2, 2, 2)


def _summed_table(
    data: ScoreData, clip: float, frame: Frame, threads: int | None, jit: bool
) -> ScoreTable:
    """Every row added to the sums of its cell or point."""
    rows, size = len(data.score), frame.strata * frame.cells
    if threads is None:
        threads = min(_processors(), max(SHARED // size, 1))
    many = np.zeros(frame.strata, dtype=bool)  # threads set it in any order: the end is the same
    length = _span_rows(size)
    spans = [slice(at, min(at + length, rows)) for at in range(0, rows, length)]
    total = _added(_each_span(data, clip, frame, many, spans, threads, jit), many)
    points, cells = _columns(total, many, frame)
    return ScoreTable(data.groups, clip, total.clipped, points, cells)


def _sorted_table(data: ScoreData, clip: float) -> ScoreTable:
    """Every row a point, sorted and merged."""
    ones = np.ones(len(data.score))
    weight = ones if data.weight is None else data.weight
    points = Points(
        _strata(data, slice(None)), logit_of(data.score, clip), ones, weight, weight * weight
    )
    whole = np.zeros(0, np.int64)
    no_cells = Cells(whole, whole, *[np.zeros(0)] * 6)
    points, cells = settled(len(data.groups), clip, points, no_cells)
    return ScoreTable(data.groups, clip, _clipped(data.score, clip), points, cells)


def _frame(data: ScoreData, clip: float) -> Frame:
    low, high = clip_bounds(clip)
    ends = np.array([low, high])
    if np.isinf(low):
        ends = logit_of([data.score.min(), data.score.max()], clip)
    first, last = (int(cell) for cell in np.floor(ends / CELL_WIDTH))
    # one more at each end: a logit may be off by a rounding
    return Frame(
        strata=len(data.groups) * 6,
        first=first - 1,
        cells=last - first + 3,
        low=float(low),
        high=float(high),
        weighted=data.weight is not None,
    )


def _each_span(
    data: ScoreData,
    clip: float,
    frame: Frame,
    many: Any,
    spans: list[slice],
    threads: int,
    jit: bool,
) -> Iterator[Span]:
    """Sum the spans, in their order; few are under way at a time, so that few are in memory."""
    if threads < 2 or len(spans) < 2:
        for span in spans:
            yield _sum_span(data, clip, frame, many, span, jit)
        return
    waiting: deque[Future[Span]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for span in spans:
            if len(waiting) > threads:
                yield waiting.popleft().result()
            waiting.append(pool.submit(_sum_span, data, clip, frame, many, span, jit))
        while waiting:
            yield waiting.popleft().result()


def _sum_span(
    data: ScoreData, clip: float, frame: Frame, many: Any, span: slice, jit: bool
) -> Span:
    score = data.score[span]
    logit = np.empty(len(score))
    clipped = 0
    for at in range(0, len(score), BLOCK):
        block = slice(at, at + BLOCK)
        logit[block] = logit_of(score[block], clip)
        clipped += _clipped(score[block], clip)
    columns = 3 if frame.weighted else 1
    cells = np.zeros((frame.strata, frame.cells, 3 + columns))
    bounds = np.zeros((frame.strata, 2, columns))
    weight = None if data.weight is None else data.weight[span]
    if jit:
        points = _count_compiled(data, logit, weight, frame, many, span, cells, bounds)
    else:
        stratum = _strata(data, span)
        points = count_rows(logit, stratum, weight, frame, many, cells, bounds)
    return Span(cells, bounds, points, clipped)


def count_rows(
    logit: Floats,
    stratum: Ints,
    weight: Floats | None,
    frame: Frame,
    many: Any,
    cells: Floats,
    bounds: Floats,
) -> Points:
    """Add rows to the sums of a span, in place, and return its points.

    logit, stratum, weight (n,): the rows; many (stratum,): strata known to have more than
    EXACT_LIMIT scores, added to; cells, bounds: as in `Span`.
    """
    inside = (logit > frame.low) & (logit < frame.high)
    if not inside.all():
        outside = ~inside
        upper = logit[outside] >= frame.high
        _add(bounds, [stratum[outside] * 2 + upper, None if weight is None else weight[outside]])
        logit, stratum = logit[inside], stratum[inside]
        weight = None if weight is None else weight[inside]
    floor = np.floor(logit / CELL_WIDTH)
    away = logit - (floor + 0.5) * CELL_WIDTH
    mass = 1.0 if weight is None else np.where(stratum % 3 != UNLABELED, 1.0, weight)
    power1 = mass * away
    power2 = power1 * away
    key = stratum * frame.cells + (floor.astype(np.int64) - frame.first)
    _add(cells, [key, weight], power1, power2, power2 * away)
    points = no_points()
    at, size = 0, FIRST
    while at < len(logit):
        few = np.flatnonzero(~many[stratum[at : at + size]]) + at
        at, size = at + size, min(2 * size, BLOCK)
        if few.size:
            ones = np.ones(few.size)
            mine = ones if weight is None else weight[few]
            fresh = Points(stratum[few], logit[few], ones, mine, mine * mine)
            points = _merged([points, fresh], many)
    return points


def no_points() -> Points:
    return Points(np.zeros(0, np.int64), *[np.zeros(0)] * 4)


def _add(sums: Floats, place: Any, *powers: Floats) -> None:
    """Add rows to sums (.., .., column) at flat places: their number, powers, weight, square."""
    key, weight = place
    squares = [] if weight is None else [weight, weight * weight]
    flat = sums.reshape(-1, sums.shape[-1])
    for j, column in enumerate([None, *powers, *squares]):
        flat[:, j] += np.bincount(key, column, minlength=len(flat))


def _count_compiled(
    data: ScoreData,
    logit: Floats,
    weight: Floats | None,
    frame: Frame,
    many: Any,
    span: slice,
    cells: Floats,
    bounds: Floats,
) -> Points:
    """As `count_rows`, by its compiled twin."""
    from . import _gather

    keys = np.empty((frame.strata, SLOTS))
    slots = np.zeros((frame.strata, SLOTS, bounds.shape[-1]))
    _gather.count_rows(
        logit,
        logit.view(np.int64),
        # one type of each, and so one compilation
        np.require(data.label[span], np.int8, ["C", "W"]),
        np.require(data.group[span], np.int32, ["C", "W"]),
        np.require(data.predicted[span], np.bool_, ["C", "W"]),
        np.require(np.zeros(0) if weight is None else weight, np.float64, ["C", "W"]),
        frame.weighted,
        np.array([frame.low, frame.high, CELL_WIDTH]),
        frame.first,
        EXACT_LIMIT,
        many,
        cells,
        bounds,
        keys,
        slots,
        np.zeros(frame.strata, np.int64),
    )
    stratum, slot = np.nonzero(slots[..., 0] * ~many[:, None])
    return Points(stratum, keys[stratum, slot], *_weights(slots[stratum, slot]))


def _added(spans: Iterator[Span], many: Any) -> Span:
    """Add spans in their order, and settle which strata have many points."""
    total = next(spans)
    parts = [total.points]
    clipped = total.clipped
    for span in spans:
        np.add(total.cells, span.cells, out=total.cells)
        np.add(total.bounds, span.bounds, out=total.bounds)
        clipped += span.clipped
        parts.append(span.points)
        if len(parts) > FOLDED:
            parts = [_merged(parts, many)]
    return total._replace(points=_merged(parts, many), clipped=clipped)


def _merged(parts: list[Points], many: Any) -> Points:
    """Merge points of strata that have few, and note in `many` those that have too many."""
    points = Points._make(np.concatenate(column) for column in zip(*parts, strict=True))
    points = merged_points(_of_few(points, many))
    # only ever set: other threads set it, too
    many[np.bincount(points.stratum, minlength=len(many)) > EXACT_LIMIT] = True
    return _of_few(points, many)


def _of_few(points: Points, many: Any) -> Points:
    few = ~many[points.stratum]
    return points if few.all() else Points._make(column[few] for column in points)


def _columns(total: Span, many: Any, frame: Frame) -> tuple[Points, Cells]:
    """Points and cells of sums: each stratum has one or the other, and points at the bounds."""
    stratum, end = np.nonzero(total.bounds[..., 0])
    ends = np.array([frame.low, frame.high])[end]
    at_bounds = Points(stratum, ends, *_weights(total.bounds[stratum, end]))
    points = Points._make(
        np.concatenate(pair) for pair in zip(total.points, at_bounds, strict=True)
    )
    order = np.lexsort((points.logit, points.stratum))
    stratum, cell = np.nonzero(total.cells[..., 0] * many[:, None])
    found = total.cells[stratum, cell]
    powers = found[:, 1:4].T.copy()
    return (
        Points._make(column[order] for column in points),
        Cells(
            stratum,
            cell + frame.first,
            *_weights(found[:, [0, *range(4, found.shape[1])]]),
            *powers,
        ),
    )


def _weights(sums: Floats) -> list[Floats]:
    """Rows, weight and its square from their columns; without weights all three are the rows."""
    return [sums[:, j].copy() for j in (range(3) if sums.shape[1] == 3 else [0, 0, 0])]


def _strata(data: ScoreData, span: slice) -> Ints:
    label = data.label[span]
    known = np.where(label < 0, UNLABELED, label).astype(np.int64)
    return (data.group[span].astype(np.int64) * 2 + data.predicted[span]) * 3 + known


def _clipped(score: Floats, clip: float) -> int:
    return int(np.count_nonzero((score < clip) | (score > 1.0 - clip)))


def _span_rows(size: int) -> int:
    """Rows of a span: enough that adding the sums of `size` cells is small beside taking them."""
    return max(SPAN, 2 * size)


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
