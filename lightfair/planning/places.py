"""Places: where the unlabeled rows of a table are, and the table after some of them get labels.

A place is a point of the table, or one of its cells; its rows are alike. Which labels they will get
is drawn from a posterior (`planning`), so that a table can be had of data that are still to come.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..core.data.logit import Floats, sigmoid
from ..core.data.nodes import CELL_WIDTH, UNLABELED, Cells, Ints, Points, settled
from ..core.data.table import ScoreTable
from ..core.model.curve import features
from ..core.model.likelihood import log_odds
from ..core.model.regions import Regions


class Places(NamedTuple):
    """Unlabeled rows that are alike, points first, then cells.

    group, predicted, region, cell: int64 (place,); cell is floor(logit / CELL_WIDTH). logit:
    float64 (place,), of the point, or the mean in the cell. rows, weight, weight_sq: float64
    (place,), number of rows, sums of their weights and of their squares.
    """

    group: Ints
    predicted: Ints
    region: Ints
    cell: Ints
    logit: Floats
    rows: Floats
    weight: Floats
    weight_sq: Floats


def places(table: ScoreTable, where: Regions) -> Places:
    """Take the places of unlabeled rows out of a table."""
    points, cells = _unlabeled(table)
    stratum = np.concatenate([points.stratum, cells.stratum])
    cell = np.concatenate([cell_of(points.logit), cells.cell])
    logit = _logits(points, cells)
    columns = zip(points[2:], cells[2:5], strict=True)
    rows, weight, weight_sq = (np.concatenate(pair) for pair in columns)
    region = region_of(table, where, stratum, logit, cell)
    return Places(stratum // 6, stratum // 3 % 2, region, cell, logit, rows, weight, weight_sq)


def cell_of(logit: Floats) -> Ints:
    """Return the cell of the logit axis that a logit lies in."""
    return np.floor(logit / CELL_WIDTH).astype(np.int64)


def region_of(table: ScoreTable, where: Regions, stratum: Ints, logit: Floats, cell: Ints) -> Ints:
    """Return the region of rows; all that share a cell and are not at a bound share a region."""
    low, high = table.bounds()
    inside = (logit > low) & (logit < high)
    return np.asarray(where.of(stratum, np.where(inside, (cell + 0.5) * CELL_WIDTH, logit)))


def log_odds_of(psi: Floats, group: Ints, region: Ints, logit: Floats, where: Regions) -> Floats:
    """Log odds at scores: psi float64 (n, group, 3 + J), group, region, logit (k,) -> (n, k)."""
    odds = np.empty((len(psi), len(group)))
    for g in np.unique(group):
        mine = group == g
        design = where.design(features(logit[mine], "beta"), region[mine])
        odds[:, mine] = log_odds(psi[:, g], design, where.base[region[mine]])
    return odds


def rates_of(
    psi: Floats, group: Ints, region: Ints, logit: Floats, where: Regions, cap: float
) -> Floats:
    """Rates of positives at scores, as `log_odds_of`, with the log odds bounded by `cap`."""
    return sigmoid(np.minimum(log_odds_of(psi, group, region, logit, where), cap))


def labeled(table: ScoreTable, chosen: Floats, positive: Floats) -> ScoreTable:
    """Return the table after rows of its places get labels.

    Parameters
    ----------
    chosen
        float64 (place,), whole numbers: rows of each place that get a label.
    positive
        float64 (place,), whole numbers: those of them that are positive.

    Notes
    -----
    The rows of a place are taken to weigh the same, and those of a cell to be at its mean logit.
    """
    points, cells = _unlabeled(table)
    stratum = np.concatenate([points.stratum, cells.stratum])
    logit = _logits(points, cells)
    rows, weight, weight_sq = (
        np.concatenate(pair) for pair in zip(points[2:], cells[2:5], strict=True)
    )
    every: list[Points] = [
        Points._make(c[table.points.stratum % 3 != UNLABELED] for c in table.points)
    ]
    for label, count in ((0, chosen - positive), (1, positive)):
        some = count > 0.0
        share = count[some] / rows[some]
        every.append(
            Points(
                stratum[some] - UNLABELED + label,
                logit[some],
                count[some],
                weight[some] * share,
                weight_sq[some] * share,
            )
        )
    at = len(points.stratum)
    every.append(Points(*_left(points, chosen[:at])))
    known = [column[table.cells.stratum % 3 != UNLABELED] for column in table.cells]
    rest = _left(cells, chosen[at:])
    points, cells = settled(
        len(table.groups),
        table.clip,
        Points._make(np.concatenate(column) for column in zip(*every, strict=True)),
        Cells._make(np.concatenate(pair) for pair in zip(known, rest, strict=True)),
    )
    return replace(table, points=points, cells=cells)


def _unlabeled(table: ScoreTable) -> tuple[Points, Cells]:
    points = table.points.stratum % 3 == UNLABELED
    cells = table.cells.stratum % 3 == UNLABELED
    return (
        Points._make(column[points] for column in table.points),
        Cells._make(column[cells] for column in table.cells),
    )


def _logits(points: Points, cells: Cells) -> Floats:
    """Logits of points, and mean logits of cells."""
    mass = np.where(cells.weight > 0.0, cells.weight, 1.0)
    mean = (cells.cell + 0.5) * CELL_WIDTH + cells.power1 / mass
    return np.concatenate([points.logit, mean])


def _left(parts: Points | Cells, chosen: Floats) -> list[Any]:
    """Columns of points or cells without the chosen rows."""
    rows = parts.rows - chosen
    some = rows > 0.0
    share = rows[some] / parts.rows[some]
    sums = [column[some] * share for column in parts[3:]]
    return [parts[0][some], parts[1][some], rows[some], *sums]
