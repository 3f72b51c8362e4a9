"""core.data.nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .logit import Floats, logit_of
from .messages import lies_in

Ints = npt.NDArray[np.int64]

CELL_WIDTH = 0.05  # of the logit; the error of the rule grows with the fourth power

EXACT_LIMIT = 128  # distinct scores that a stratum keeps

UNLABELED = 2  # labels in a stratum's code: 0, 1, unlabeled


class Points(NamedTuple):
    """Distinct scores of strata that have few, sorted by stratum and logit.

    stratum: int64, (group * 2 + predicted) * 3 + label; logit: float64, of the clipped score;
    rows, weight, weight_sq: float64, the number of rows there, the sum of their weights and of
    their squares.
    """

    stratum: Ints
    logit: Floats
    rows: Floats
    weight: Floats
    weight_sq: Floats


class Cells(NamedTuple):
    """Cells of strata that have many distinct scores, sorted by stratum and cell.

    cell: int64, floor(logit / CELL_WIDTH); power1, power2, power3: float64, sums of powers of the
    logit minus the centre of the cell, over rows for labeled strata, weighted for unlabeled ones.
    """

    stratum: Ints
    cell: Ints
    rows: Floats
    weight: Floats
    weight_sq: Floats
    power1: Floats
    power2: Floats
    power3: Floats


class Nodes(NamedTuple):
    """A sum over rows as a sum over nodes.

    stratum: int64 (node,); logit: float64; weight: float64, rows (labeled strata) or sum of
    weights (unlabeled strata) that the node stands for; scale: float64, sum of squared weights
    over sum of weights, 1 where rows are not weighted.
    """

    stratum: Ints
    logit: Floats
    weight: Floats
    scale: Floats


def check_clip(clip: Any) -> None:
    """Raise ValueError unless clip lies in [0, 0.5)."""
    if not (lies_in(clip, 0.0, 0.5) or (lies_in(clip, -1.0, 0.5) and clip == 0.0)):
        raise ValueError(f"clip must lie in [0, 0.5); got {clip!r}")


def check_edges(score: Floats, clip: float, row: Ints | None = None) -> None:
    """Raise ValueError where clip is 0 and a score is 0 or 1; `row` (n,) are numbers of rows."""
    if 1.0 - clip < 1.0:
        return
    edge = np.flatnonzero((score == 0.0) | (score == 1.0))
    if edge.size:
        at = edge[0] if row is None else row[edge[0]]
        raise ValueError(
            f"clip={clip:g} needs scores strictly between 0 and 1; got {score[edge[0]]:g} "
            f"at row {at} ({edge.size} such rows); pass a clip above 0, such as 0.01"
        )


def clip_bounds(clip: float) -> Floats:
    """Return the logits of clip and 1 - clip, float64 (2,); infinite where nothing is clipped."""
    return np.array([-np.inf, np.inf]) if 1.0 - clip == 1.0 else logit_of([0.0, 1.0], clip)


def to_cells(points: Points) -> Cells:
    """Move points into cells; the points of a cell are merged."""
    cell = np.floor(points.logit / CELL_WIDTH).astype(np.int64)
    away = points.logit - (cell + 0.5) * CELL_WIDTH
    mass = np.where(points.stratum % 3 != UNLABELED, points.rows, points.weight)
    powers = [mass * away, mass * away * away, mass * away * away * away]
    return _merged_cells(
        Cells(points.stratum, cell, points.rows, points.weight, points.weight_sq, *powers)
    )


def gauss_rule(cells: Cells) -> Nodes:
    """Return the two nodes of each cell that have its count and first three moments."""
    mass = np.where(cells.stratum % 3 != UNLABELED, cells.rows, cells.weight)
    some = mass > 0.0
    safe = np.where(some, mass, 1.0)
    mean = cells.power1 / safe
    variance = cells.power2 / safe - mean * mean
    third = cells.power3 / safe - mean * (3.0 * cells.power2 / safe - 2.0 * mean * mean)
    spread = variance > 1e-12 * CELL_WIDTH**2  # below, the rows of the cell are one point
    variance = np.where(spread, variance, 1.0)
    tilt = np.where(spread, third / (2.0 * variance), 0.0)
    root = np.sqrt(tilt * tilt + variance)
    share = np.where(spread, 0.5 * (1.0 + tilt / root), 0.0)  # of the lower node
    centre = (cells.cell + 0.5) * CELL_WIDTH + mean
    lower = np.where(spread, centre + tilt - root, centre)
    upper = np.where(spread, centre + tilt + root, centre)
    scale = _ratio(cells.weight_sq, cells.weight)
    return Nodes(
        np.concatenate([cells.stratum[spread], cells.stratum]),
        np.concatenate([lower[spread], upper]),
        np.concatenate([(mass * share)[spread], mass * (1.0 - share)]),
        np.concatenate([scale[spread], scale]),
    )


def settled(groups: int, clip: float, points: Points, cells: Cells) -> tuple[Points, Cells]:
    """Merge equal points and cells; move strata with too many points, or with cells, to cells."""
    points = merged_points(points)
    low, high = clip_bounds(clip)
    inside = (points.logit > low) & (points.logit < high)
    many = np.bincount(points.stratum[inside], minlength=groups * 6) > EXACT_LIMIT
    many[cells.stratum] = True
    moves = many[points.stratum] & inside
    moved = to_cells(Points._make(column[moves] for column in points))
    cells = Cells._make(np.concatenate(pair) for pair in zip(cells, moved, strict=True))
    points = Points._make(column[~moves] for column in points)
    return points, _merged_cells(cells)


def merged_points(points: Points) -> Points:
    """Merge points of one stratum and logit; sums are in the order of the points."""
    return Points(*_merged(points))


def _merged_cells(cells: Cells) -> Cells:
    return Cells(*_merged(cells))


def _merged(parts: Points | Cells) -> list[Any]:
    """Sort by the first two columns, and sum the others where both are equal."""
    first, order = _runs(parts[0], parts[1])
    run = np.zeros(len(order), dtype=np.int64)
    run[first[1:]] = 1
    run = np.cumsum(run)
    # float64 even where there is nothing to sum
    sums = [np.bincount(run, column[order], len(first)).astype(float) for column in parts[2:]]
    return [parts[0][order][first], parts[1][order][first], *sums]


def _runs(major: Ints, minor: npt.NDArray[np.float64] | Ints) -> tuple[Ints, Ints]:
    """Order by (major, minor), and where in that order each distinct pair begins."""
    order = np.lexsort((minor, major)).astype(np.int64)
    a, b = major[order], minor[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
    return np.flatnonzero(new).astype(np.int64), order


def _ratio(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.ones_like(top), where=bottom > 0.0)
