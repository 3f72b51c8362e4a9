"""The table: rows replaced, once, by weighted nodes on the logit axis.

Every quantity of the method (log likelihood, imputed counts, frequencies) is a sum over rows of a
smooth function of the score, within a stratum: a group, a predicted class and a label. A stratum
with few distinct scores keeps them. Any other is cut into cells of fixed width on the logit axis;
a cell keeps the count and the first three power sums of the logit, relative to its centre, and
the two-point Gauss rule with these moments stands in for its rows. For slopes in exp(-1.2 .. 1.2)
and shifts in -5 .. 5 the error of a sum is below 1e-8 per row.

Tables add: the sum of the tables of two chunks is the table of both. After the table nothing
depends on the number of rows, and nothing asks for them: names of groups, thresholds and what was
dropped are on the table.

Row weights count in the metrics and not in the likelihood: the curve is a statement about labels
given scores, and a survey weight of 500 is not 500 observations of it. So nodes of labeled
strata count rows, those of unlabeled strata sum weights.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .counts import Counts, design_notes, row_notes, tie_notes
from .groups import Parts, empty_groups, group_names, group_notes
from .model import Floats, logit_of
from .wording import Note, lies_in

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


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """The sufficient summary of scored rows.

    Attributes
    ----------
    groups : tuple of str
        Names, sorted; a stratum's group is an index into them.
    clip : float
        Scores were clipped to [clip, 1 - clip] before the logit.
    clipped : int
        Rows whose score was outside.
    points, cells
        The strata; each stratum is wholly in one of them, but for scores at a clipping bound, which
        are always points.
    attributes : tuple of str
        Names of the sensitive attributes.
    parts : tuple of tuple of str
        For each group its level of each attribute. Default: its name, of one attribute.
    threshold : float, dict of str to float, or None
        The threshold, or one for each of `groups`. None when decisions were given.
    weighted : bool
        Whether rows have weights.
    counts : Counts
        What happened to the rows on their way in.
    design : float64 array, shape (group, predicted, 2, 2), or None
        Where labeled rows were chosen with known probabilities: by label, 0 or 1, the sum of
        weight / probability over labeled rows, and of its square.
    cuts : tuple of float
        Where rows are kept apart by several thresholds (`bands`), those, the first being
        `threshold`; else (). Then the last attribute is hidden, the band of the score.

    Examples
    --------
    The methods go on from these lines. Tables of parts add up to the table of all rows.

    >>> import json
    >>> import lightfair as lf
    >>> january = {"y": [1, None], "s": [0.9, 0.2], "g": ["a", "b"]}
    >>> february = {"y": [0, None], "s": [0.4, 0.7], "g": ["b", "b"]}
    >>> names = {"y_true": "y", "y_score": "s", "sensitive_features": "g"}
    >>> table = lf.summarize(january, **names) + lf.summarize(february, **names)
    >>> table
    <ScoreTable: 4 rows, 2 labeled; 2 groups by g; clip 0.01>
    """

    groups: tuple[str, ...]
    clip: float
    clipped: int
    points: Points
    cells: Cells
    attributes: tuple[str, ...] = ("group",)
    parts: Parts = ()
    threshold: float | dict[str, float] | None = None
    weighted: bool = False
    counts: Counts = Counts()
    design: Floats | None = None
    cuts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.parts:
            object.__setattr__(self, "parts", tuple((name,) for name in self.groups))
        if self.groups != tuple(map(", ".join, self.parts)):
            raise ValueError("a group must be named by its parts, joined by a comma and a space")

    def __repr__(self) -> str:
        if self.cuts:
            several = ", ".join(f"{cut:g}" for cut in self.cuts)
            return f"{repr(self._plain)[:-1]}; thresholds {several}>"
        return (
            f"<ScoreTable: {self.rows:,} rows, {self.labeled:,} labeled; {len(self.groups):,} "
            f"groups by {', '.join(self.attributes)}; clip {self.clip:g}>"
        )

    @classmethod
    def from_rows(cls, rows: Iterable[Any]) -> ScoreTable:
        """Build a table from the result of the statement that `sql_query` writes.

        Parameters
        ----------
        rows : iterable of mapping
            Column name to value for each row of the result: dicts, or rows with `keys()` (sqlite3)
            or `asDict()` (Spark). Upper and lower case of names are one. NULL is None or NaN.

        Raises
        ------
        ValueError
            If rows are not such a result, or the data break a rule of `score_data`.

        Examples
        --------
        What a database may answer: three rows at one score. `sql` has a whole example.

        >>> terms = {"clip": 0.01, "threshold": 0.5, "attributes": ["race"], "weighted": False}
        >>> terms |= {"positive_label": None, "unlabeled": None, "missing": "raise"}
        >>> point = {"terms": json.dumps(terms), "predicted": 1, "threshold": 0.5, "kind": "point"}
        >>> point |= {"label": 1, "level_1": "a", "point": 0.9, "row_count": 3, "row_total": 3}
        >>> point |= {"clipped": 0, "ties": 0, "lowest": 0.9}
        >>> empty = dict.fromkeys(["cell", "power1", "power2", "power3"])
        >>> lf.ScoreTable.from_rows([point | empty])
        <ScoreTable: 3 rows, 3 labeled; 1 groups by race; clip 0.01>
        """
        from .rows import table_from_rows

        return table_from_rows(rows)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.points.rows.sum() + self.cells.rows.sum())

    @property
    def labeled(self) -> int:
        """Number of labeled rows."""
        return int(self.sums("rows")[..., :UNLABELED].sum())

    @property
    def empty_groups(self) -> tuple[str, ...]:
        """Combinations of levels that have no row, sorted; () where they are too many to list."""
        return empty_groups(self._plain.parts)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was dropped, what is unusual."""
        plain = self._plain
        rows = plain.sums("rows").sum(axis=(1, 2))
        return (
            *row_notes(self.counts),
            *group_notes(plain.attributes, plain.parts, rows),
            *tie_notes(self.counts),
            *design_notes(self.design is not None),
        )

    @property
    def _plain(self) -> ScoreTable:
        """The table without bands."""
        from .bands import collapsed

        return collapsed(self)

    def __add__(self, other: ScoreTable) -> ScoreTable:
        """Merge two tables of different rows; groups are matched by name.

        Raises
        ------
        ValueError
            If their clip, attributes or thresholds differ, or only one of them knows with what
            probabilities its labeled rows were chosen.
        """
        if not isinstance(other, ScoreTable):
            return NotImplemented
        _check_same("clip", self.clip, other.clip, "one clip")
        if self.cuts != other.cuts:
            several = [
                f"{_said(cuts)} in a list" if cuts else "none" for cuts in (self.cuts, other.cuts)
            ]
            raise ValueError(
                "tables add only when they keep rows apart by the same thresholds; got "
                f"{' and '.join(several)}; build both with one list"
            )
        _check_same("attributes", self.attributes, other.attributes, "the same in one order")
        found = dict(zip(self.groups, self.parts, strict=True))
        for name, part in zip(other.groups, other.parts, strict=True):
            if found.setdefault(name, part) != part:
                group_names([part, found[name]])  # raises
        groups = tuple(sorted(found))
        points: list[Any] = []
        cells: list[Any] = []
        for table in (self, other):
            index = np.searchsorted(groups, table.groups).astype(np.int64)
            for parts, all_parts in ((table.points, points), (table.cells, cells)):
                old = parts.stratum
                all_parts.append(parts._replace(stratum=index[old // 6] * 6 + old % 6))
        merged = settled(
            groups,
            self.clip,
            self.clipped + other.clipped,
            Points._make(np.concatenate(column) for column in zip(*points, strict=True)),
            Cells._make(np.concatenate(column) for column in zip(*cells, strict=True)),
        )
        return replace(
            merged,
            attributes=self.attributes,
            parts=tuple(found[name] for name in groups),
            threshold=_merged_thresholds(self.threshold, other.threshold),
            weighted=self.weighted or other.weighted,
            counts=self.counts + other.counts,
            design=_merged_designs(groups, (self, other)),
            cuts=self.cuts,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file, as JSON; a file of that name is replaced when all is done.

        Examples
        --------
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "table.json")
        ...     table.save(path)
        ...     lf.load_table(path).rows
        4
        """
        from .stored import save

        save(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain values, ready for JSON; the keys are those of `stored`.

        Examples
        --------
        >>> values = table.to_dict()
        >>> values["format"], values["groups"]
        ('lightfair.table', [['a'], ['b']])
        """
        from .stored import to_dict

        return to_dict(self)

    @classmethod
    def from_dict(cls, values: Any) -> ScoreTable:
        """Return the table that `to_dict` gave; what is wrong with the values is an error.

        Examples
        --------
        >>> lf.ScoreTable.from_dict(table.to_dict()).groups
        ('a', 'b')
        """
        from .stored import from_dict

        return from_dict(values)

    def sums(self, column: str) -> Floats:
        """Sum rows, weight or weight_sq by stratum: float64 (group, predicted, label).

        Labels are in the order 0, 1, unlabeled.

        Examples
        --------
        >>> table.sums("rows").tolist()
        [[[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]]
        """
        total = np.zeros(len(self.groups) * 6)
        for parts in (self.points, self.cells):
            np.add.at(total, parts.stratum, getattr(parts, column))
        return total.reshape(-1, 2, 3)

    def labeled_sums(self) -> tuple[Floats, Floats]:
        """Sum the weights of labeled rows, and their squares: two float64 (group, predicted, 2).

        Where rows were chosen for labeling with known probabilities a row weighs as many as it
        stands for, weight / probability; in a group with all rows labeled nothing was chosen.

        Examples
        --------
        >>> table.labeled_sums()[0].tolist()
        [[[0.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]]]
        """
        weight, weight_sq = (self.sums(c)[..., :UNLABELED] for c in ("weight", "weight_sq"))
        if self.design is None:
            return weight, weight_sq
        chosen = self.sums("rows")[:, :, UNLABELED].sum(axis=1)[:, None, None] > 0.0
        return (
            np.where(chosen, self.design[..., 0], weight),
            np.where(chosen, self.design[..., 1], weight_sq),
        )

    def bounds(self) -> Floats:
        """Return the logits of the clipping bounds, float64 (2,); infinite without clipping.

        Examples
        --------
        >>> table.bounds().round(2).tolist()
        [-4.6, 4.6]
        """
        return clip_bounds(self.clip)

    def nodes(self) -> Nodes:
        """Return the nodes of all strata, sorted by stratum.

        Examples
        --------
        >>> table.nodes().weight.tolist()
        [1.0, 1.0, 1.0, 1.0]
        """
        labeled = self.points.stratum % 3 != UNLABELED
        ratio = _ratio(self.points.weight_sq, self.points.weight)
        exact = Nodes(
            self.points.stratum,
            self.points.logit,
            np.where(labeled, self.points.rows, self.points.weight),
            ratio,
        )
        ruled = gauss_rule(self.cells)
        joined = Nodes._make(np.concatenate(pair) for pair in zip(exact, ruled, strict=True))
        order = np.argsort(joined.stratum, kind="stable")
        columns: list[Any] = [column[order] for column in joined]
        return Nodes(*columns)


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


def _check_same(what: str, mine: Any, yours: Any, way_out: str) -> None:
    if mine != yours:
        raise ValueError(
            f"tables add only when their {what} is the same; got {_said(mine)} and {_said(yours)}; "
            f"build both with {way_out}"
        )


def _said(value: Any) -> str:
    if value is None:
        return "none (decisions were given)"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {cut:g}" for name, cut in value.items())
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _merged_thresholds(
    mine: float | dict[str, float] | None, yours: float | dict[str, float] | None
) -> float | dict[str, float] | None:
    """The thresholds of a sum: those of both, which must agree where both have one."""
    if isinstance(mine, dict) and isinstance(yours, dict):
        if any(yours.get(name, cut) != cut for name, cut in mine.items()):
            _check_same("threshold", mine, yours, "one threshold of each group")
        return dict(sorted({**mine, **yours}.items()))
    _check_same("threshold", mine, yours, "one threshold")
    return mine


def _merged_designs(groups: tuple[str, ...], tables: tuple[ScoreTable, ...]) -> Floats | None:
    """The designs of a sum of tables; one without must be without labels, or all must be."""
    if all(table.design is None for table in tables):
        return None
    total = np.zeros((len(groups), 2, 2, 2))
    for table in tables:
        if table.design is not None:
            total[np.searchsorted(groups, table.groups)] += table.design
        elif table.labeled:
            raise ValueError(
                "tables add only when both know the label_prob of their labeled rows, or neither; "
                "got one; build both with label_prob, 1 where all rows were labeled"
            )
    return total


def settled(
    groups: tuple[str, ...], clip: float, clipped: int, points: Points, cells: Cells
) -> ScoreTable:
    """Merge equal points and cells; move strata with too many points, or with cells, to cells."""
    points = merged_points(points)
    low, high = clip_bounds(clip)
    inside = (points.logit > low) & (points.logit < high)
    many = np.bincount(points.stratum[inside], minlength=len(groups) * 6) > EXACT_LIMIT
    many[cells.stratum] = True
    moves = many[points.stratum] & inside
    moved = to_cells(Points._make(column[moves] for column in points))
    cells = Cells._make(np.concatenate(pair) for pair in zip(cells, moved, strict=True))
    points = Points._make(column[~moves] for column in points)
    return ScoreTable(groups, clip, clipped, points, _merged_cells(cells))


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
