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

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .groups import Parts, empty_groups, group_names, group_notes
from .logit import Floats
from .messages import Counts, Note, design_notes, row_notes, tie_notes
from .nodes import UNLABELED, Cells, Nodes, Points, _ratio, clip_bounds, gauss_rule, settled


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
            len(groups),
            self.clip,
            Points._make(np.concatenate(column) for column in zip(*points, strict=True)),
            Cells._make(np.concatenate(column) for column in zip(*cells, strict=True)),
        )
        return replace(
            self,
            groups=groups,
            clipped=self.clipped + other.clipped,
            points=merged[0],
            cells=merged[1],
            parts=tuple(found[name] for name in groups),
            threshold=_merged_thresholds(self.threshold, other.threshold),
            weighted=self.weighted or other.weighted,
            counts=self.counts + other.counts,
            design=_merged_designs(groups, (self, other)),
        )

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
