"""Threshold intervals of stored tables: in a file they are the last of the attributes.

In memory the interval of a score between several thresholds is a part of the stratum
(`core.data.nodes`). In a file it is an attribute called "score band", whose levels are numbers from
0 with as many digits as the last of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ..core.data.nodes import Ints, settled
from ..core.data.table import ScoreTable

BAND = "score band"

Table = TypeVar("Table", bound=ScoreTable)


def to_attribute(table: Table) -> Table:
    """Return a table whose intervals are an attribute; without several thresholds the same."""
    if not table.cuts:
        return table
    count, digits = len(table.groups), len(str(len(table.cuts)))
    used = np.unique(np.concatenate([table.points.stratum, table.cells.stratum]) // 6)
    parts = {c: (*table.parts[c % count], f"{c // count:0{digits}d}") for c in used.tolist()}
    order = sorted(parts, key=lambda code: ", ".join(parts[code]))
    group = np.zeros(count * (len(table.cuts) + 1), dtype=np.int64)
    group[order] = np.arange(len(order))
    # sums of a group are stored with its first interval
    first = used[np.unique(used % count, return_index=True)[1]]
    ordered = tuple(parts[code] for code in order)
    return _regrouped(table, group, group[first], ordered, (*table.attributes, BAND))


def from_attribute(table: Table) -> Table:
    """Return the table that `to_attribute` was given."""
    if not table.cuts:
        return table
    if table.attributes[-1] != BAND:
        raise ValueError(f'with cuts the last attribute must be "{BAND}"')
    parts = tuple(sorted({part[:-1] for part in table.parts}, key=", ".join))
    place = {part: index for index, part in enumerate(parts)}
    interval = np.array([int(part[-1]) for part in table.parts])
    if interval.min() < 0 or interval.max() > len(table.cuts):
        raise ValueError(f'the levels of "{BAND}" must be numbers from 0 to {len(table.cuts)}')
    index = np.array([place[part[:-1]] for part in table.parts])
    code = interval * len(parts) + index
    return _regrouped(table, code, index, parts, table.attributes[:-1])


def _regrouped(table: Table, code: Ints, index: Ints, parts: Any, attributes: Any) -> Table:
    """Replace the groups of strata, given the new code of each old one, and that of sums."""
    moved: list[Any] = [
        part._replace(stratum=code[part.stratum // 6] * 6 + part.stratum % 6)
        for part in (table.points, table.cells)
    ]
    points, cells = settled(int(code.max()) + 1, table.clip, *moved)
    design = None
    if table.design is not None:
        design = np.zeros((len(parts), 2, 2, 2))
        np.add.at(design, index, table.design)
    return replace(
        table,
        groups=tuple(map(", ".join, parts)),
        parts=parts,
        attributes=attributes,
        points=points,
        cells=cells,
        design=design,
    )
