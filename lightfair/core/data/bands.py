"""Bands: rows cut by score at several thresholds, in a table that collapses to the ordinary one.

A cell of a table says how many rows have scores in a small interval, not on which side of a value
within it they are. So where several thresholds are asked for, each row is put in the band that it
is in, number of thresholds <= score, and the group is crossed with the band: one attribute more,
hidden, the last. Such a table has `cuts`, adds and is stored as any other. `collapsed` merges the
bands of each group; that is the table that would have been made without them, up to the order in
which sums are added where a cell is cut.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .distinct import in_use
from .groups import Parts, group_names
from .logit import Floats
from .messages import lies_in, list_values, show
from .nodes import Ints, settled
from .table import ScoreTable

BAND = "score band"  # the name of the hidden attribute

MOST_CUTS = 256  # thresholds: groups are multiplied by them


class Parents(NamedTuple):
    """Of each group of a table its ordinary group: names, parts, group and band: int64 (group,)."""

    names: tuple[str, ...]
    parts: Parts
    group: Ints
    band: Ints


def is_several(threshold: Any) -> bool:
    """Whether a threshold is a list of them, or an array."""
    return isinstance(threshold, (list, tuple)) or bool(getattr(threshold, "ndim", 0))


def check_cuts(values: Any) -> tuple[float, ...]:
    """Return several thresholds, in the order given.

    Raises
    ------
    ValueError
        If there is none, or too many, or one is not in (0, 1) or comes twice.
    """
    given = values.tolist() if hasattr(values, "tolist") else list(values)
    if not given:
        raise ValueError("threshold must hold at least one number in (0, 1); got an empty list")
    for place, value in enumerate(given):
        if not lies_in(value, 0.0, 1.0):
            raise ValueError(
                "threshold must hold numbers in (0, 1), both ends excluded; got "
                f"{show(value)} at place {place}; thresholds of groups are a mapping, alone"
            )
    cuts = tuple(map(float, given))
    twice = sorted({cut for cut in cuts if cuts.count(cut) > 1})
    if twice:
        raise ValueError(f"threshold must hold each number once; {list_values(twice)} comes twice")
    if len(cuts) > MOST_CUTS:
        raise ValueError(
            f"threshold must hold at most {MOST_CUTS} numbers; got {len(cuts)}; "
            'pass "all" for a grid'
        )
    return cuts


def bands_of(score: Floats, cuts: tuple[float, ...], kind: Any) -> npt.NDArray[np.int16]:
    """Return the number of cuts that are at most the score, int16 (n,).

    A score ties with a cut of its own precision, `kind`: 0.7 in float32 ties with 0.7.
    """
    edges = np.sort(np.array(cuts))
    if kind.kind == "f":
        edges = edges.astype(kind).astype(np.float64)
    return np.searchsorted(edges, score, side="right").astype(np.int16)


def crossed(
    group: npt.NDArray[np.int32], parts: Parts, band: npt.NDArray[np.int16], count: int
) -> tuple[npt.NDArray[np.int32], Parts]:
    """Cross the groups of rows with their bands, 0 .. count - 1; those without rows are left out.

    Returns the codes (n,) of the crossed groups, sorted by name, and the parts of each.
    """
    pair = group.astype(np.int64) * count + band
    used = np.flatnonzero(in_use(pair, len(parts) * count))
    names = band_names(count)
    found = [(*parts[code // count], names[code % count]) for code in used]
    joined = group_names(found)
    order = sorted(range(len(joined)), key=joined.__getitem__)
    code = np.zeros(len(parts) * count, dtype=np.int32)
    code[used[order]] = np.arange(len(order), dtype=np.int32)
    return code[pair], tuple(found[place] for place in order)


def band_names(count: int) -> list[str]:
    """Names of bands, such that they are sorted as text."""
    width = len(str(count - 1))
    return [f"{band:0{width}d}" for band in range(count)]


def parents(table: ScoreTable) -> Parents:
    """Return the ordinary groups of a table, with or without bands."""
    if not table.cuts:
        every = np.arange(len(table.groups), dtype=np.int64)
        return Parents(table.groups, table.parts, every, np.zeros_like(every))
    parts = tuple(sorted({part[:-1] for part in table.parts}, key=", ".join))
    place = {part: index for index, part in enumerate(parts)}
    band = {name: index for index, name in enumerate(band_names(len(table.cuts) + 1))}
    return Parents(
        tuple(map(", ".join, parts)),
        parts,
        np.array([place[part[:-1]] for part in table.parts], dtype=np.int64),
        np.array([band[part[-1]] for part in table.parts], dtype=np.int64),
    )


def collapsed(table: ScoreTable) -> ScoreTable:
    """Return the ordinary table: groups without bands. A table without cuts is returned as it is.

    Where a cell is cut its sums are those of the parts, added up: they differ in the last digit
    from sums over the rows in their order.
    """
    if not table.cuts:
        return table
    to = parents(table)

    def moved(stratum: Ints) -> Ints:
        return to.group[stratum // 6] * 6 + stratum % 6

    points = table.points._replace(stratum=moved(table.points.stratum))
    cells = table.cells._replace(stratum=moved(table.cells.stratum))
    design = None
    if table.design is not None:
        design = np.zeros((len(to.names), *table.design.shape[1:]))
        np.add.at(design, to.group, table.design)
    points, cells = settled(len(to.names), table.clip, points, cells)
    return replace(
        table,
        groups=to.names,
        points=points,
        cells=cells,
        attributes=table.attributes[:-1],
        parts=to.parts,
        design=design,
        cuts=(),
    )
