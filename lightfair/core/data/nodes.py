"""Points, cells and nodes: rows of a stratum, summed on the logit axis.

A stratum is a group, a predicted class and a label, and where a table has several thresholds
(`cuts`) also the interval of the score between them. Its code, with G groups, is

    ((interval * G + group) * 2 + predicted) * 3 + label        label: 0, 1, 2 for unlabeled

A stratum with few distinct scores keeps them as points, with more if they are close together: in
few cells a metric of scores would see ties. Any other is cut into cells of fixed width;
a cell keeps the count and the first three power sums of the logit, relative to its center. The
two-point Gauss rule with these moments stands in for its rows: for slopes in exp(-1.2 .. 1.2) and
shifts in -5 .. 5 the error of a sum over rows is below 1e-8 per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .logit import Floats, Ints, logit_of, over
from .messages import lies_in

CELL_WIDTH = 0.05  # of the logit; the error of the rule grows with the fourth power

EXACT_LIMIT = 128  # distinct scores that a stratum keeps

CLIP = 0.01  # of scores, by default

UNSCORED_CLIP = 0.25  # of rows with decisions and no scores, which lie at a bound

NARROW = 0.4  # logits: a stratum of scores this close, of few cells, keeps more of them

NARROW_LIMIT = 4_096

UNLABELED = 2  # labels in a stratum's code: 0, 1, unlabeled


class Points(NamedTuple):
    """Distinct scores of strata that have few, sorted by stratum and logit; arrays (point,).

    stratum: intp; logit: float64, of the clipped score; rows, weight, weight_sq: float64, the
    number of rows there, the sum of their weights and of their squares.
    """

    stratum: Ints
    logit: Floats
    rows: Floats
    weight: Floats
    weight_sq: Floats


class Cells(NamedTuple):
    """Cells of strata that have many distinct scores, sorted by stratum and cell; arrays (cell,).

    cell: intp, floor(logit / CELL_WIDTH); power1, power2, power3: float64, sums of powers of the
    logit minus the center of the cell, over rows for labeled strata, weighted for unlabeled ones.
    """

    stratum: Ints
    cell: Ints
    rows: Floats
    weight: Floats
    weight_sq: Floats
    power1: Floats
    power2: Floats
    power3: Floats


NO_POINTS = Points(np.zeros(0, np.intp), *[np.zeros(0)] * 4)

NO_CELLS = Cells(np.zeros(0, np.intp), np.zeros(0, np.intp), *[np.zeros(0)] * 6)

Part = TypeVar("Part", Points, Cells)


class Nodes(NamedTuple):
    """A sum over rows as a sum over nodes; arrays (node,).

    stratum: intp; logit: float64; weight: float64, rows (labeled strata) or sum of weights
    (unlabeled strata) that the node stands for; scale: float64, sum of squared weights over sum of
    weights, 1 where rows are not weighted.
    """

    stratum: Ints
    logit: Floats
    weight: Floats
    scale: Floats


def clip_of(scored: bool, clip: float | None) -> float:
    """Return the clip of rows with scores, or with decisions alone; None: the default."""
    if not scored:
        return UNSCORED_CLIP
    return CLIP if clip is None else clip


def check_clip(clip: Any) -> None:
    """Raise ValueError unless clip lies in [0, 0.5)."""
    if not (lies_in(clip, 0.0, 0.5) or (lies_in(clip, -1.0, 0.5) and clip == 0.0)):
        raise ValueError(f"clip must lie in [0, 0.5); got {clip!r}")


def check_edges(score: Floats, clip: float, row: Ints | None = None) -> None:
    """Raise ValueError if clip is 0 and a score is 0 or 1; `row` (n,) are numbers of rows."""
    if 1.0 - clip < 1.0:
        return
    edge = np.flatnonzero((score == 0.0) | (score == 1.0))
    if edge.size:
        at = edge[0] if row is None else row[edge[0]]
        got = f"{score[edge[0]]:g} at row {at} ({edge.size} such rows)"
        raise ValueError(f"clip={clip:g} needs scores inside (0, 1); got {got}; pass clip=0.01")


def clip_bounds(clip: float) -> Floats:
    """Return the logits of clip and 1 - clip, float64 (2,); infinite if nothing is clipped."""
    return np.array([-np.inf, np.inf]) if 1.0 - clip == 1.0 else logit_of([0.0, 1.0], clip)


def settled(groups: int, clip: float, points: Points, cells: Cells) -> tuple[Points, Cells]:
    """Merge equal points and equal cells; move strata with too many points into cells.

    Scores at a clipping bound are always points. Strata that have cells keep no other points.

    Parameters
    ----------
    groups
        Number of groups, times that of intervals.
    clip
        As in `ScoreTable`.
    points, cells
        In any order.
    """
    points = _merged(points)
    low, high = clip_bounds(clip)
    inside = (points.logit > low) & (points.logit < high)
    stratum, logit = points.stratum[inside], points.logit[inside]
    ends = np.full((2, groups * 6), -np.inf)
    np.maximum.at(ends[0], stratum, logit)
    np.maximum.at(ends[1], stratum, -logit)
    limit = np.where(ends.sum(axis=0) < NARROW, NARROW_LIMIT, EXACT_LIMIT)
    many = np.bincount(stratum, minlength=groups * 6) > limit
    many[cells.stratum] = True
    moves = many[points.stratum] & inside
    moved = to_cells(Points._make(column[moves] for column in points))
    points = Points._make(column[~moves] for column in points)
    return points, _merged(joined([cells, moved]))


def joined(parts: Sequence[Part]) -> Part:
    """Concatenate points, or cells."""
    columns: list[Any] = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return type(parts[0])(*columns)


def gauss_rule(cells: Cells) -> Nodes:
    """Return the two nodes of each cell that have its count and first three moments."""
    mass = np.where(cells.stratum % 3 != UNLABELED, cells.rows, cells.weight)
    safe = np.where(mass > 0.0, mass, 1.0)
    mean = cells.power1 / safe
    variance = cells.power2 / safe - mean * mean
    third = cells.power3 / safe - mean * (3.0 * cells.power2 / safe - 2.0 * mean * mean)
    spread = variance > 1e-12 * CELL_WIDTH**2  # below, the rows of the cell are one point
    variance = np.where(spread, variance, 1.0)
    tilt = np.where(spread, third / (2.0 * variance), 0.0)
    root = np.sqrt(tilt * tilt + variance)
    share = np.where(spread, 0.5 * (1.0 + tilt / root), 0.0)  # of the lower node
    center = (cells.cell + 0.5) * CELL_WIDTH + mean
    lower = np.where(spread, center + tilt - root, center)
    upper = np.where(spread, center + tilt + root, center)
    scale = scale_of(cells)
    return Nodes(
        np.concatenate([cells.stratum[spread], cells.stratum]),
        np.concatenate([lower[spread], upper]),
        np.concatenate([(mass * share)[spread], mass * (1.0 - share)]),
        np.concatenate([scale[spread], scale]),
    )


def scale_of(part: Points | Cells) -> Floats:
    """Sum of squared weights over sum of weights, 1 where that is 0: float64 (n,)."""
    return over(part.weight_sq, part.weight, 1.0)


def to_cells(points: Points) -> Cells:
    """Return points as cells, not merged."""
    cell = np.floor(points.logit / CELL_WIDTH).astype(np.intp)
    away = points.logit - (cell + 0.5) * CELL_WIDTH
    mass = np.where(points.stratum % 3 != UNLABELED, points.rows, points.weight)
    powers = [mass * away, mass * away * away, mass * away * away * away]
    return Cells(points.stratum, cell, *points[2:], *powers)


def _merged(part: Part) -> Part:
    """Sort by the first two columns, and sum the others where both are equal."""
    order = np.lexsort((part[1], part[0]))
    major, minor = part[0][order], part[1][order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (major[1:] != major[:-1]) | (minor[1:] != minor[:-1])
    run = np.cumsum(new) - 1
    columns: list[Any] = [major[new], minor[new]]
    for column in part[2:]:
        columns.append(np.bincount(run, column[order]).astype(np.float64))  # else intp if empty
    return type(part)(*columns)
