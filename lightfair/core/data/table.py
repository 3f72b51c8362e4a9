"""ScoreTable: the sufficient summary of scored rows, of a size that does not grow with them.

Every quantity of the method (log likelihood, imputed counts, frequencies) is a sum over rows of a
smooth function of the score, within a stratum; points and cells (`nodes`) hold these sums. Tables
add: the sum of the tables of two parts of a data set is the table of the whole.

Row weights count in the metrics and not in the likelihood: the curve describes labels given scores,
and a survey weight of 500 is not 500 observations of it. So nodes of labeled strata count rows, and
those of unlabeled strata sum weights.

`score_table` bins rows in blocks, so that memory beyond the rows does not grow. Rows of strata that
have cells are summed there with `numpy.bincount`. All others become points, merged with those of
the blocks before; strata with too many points move into cells (`nodes`), in large data sets after
the first block. Blocks depend on the data alone, and rows are summed in their order: the same rows
give the same sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import nodes
from .clusters import SHARED, cluster_moments
from .groups import Parts, data_notes, empty_groups, group_names, places_of
from .logit import Floats, Ints, logit_of
from .messages import Counts, Note, OneLine, check_kind, counted, name_key, note
from .nodes import UNLABELED, Cells, Nodes, Part, Points, clip_bounds, joined, settled
from .rows import ScoreData

BLOCK = 65_536  # rows

DENSE = 2**20  # possible cells up to which all have sums: 48 MiB


@dataclass(frozen=True, eq=False, repr=False)
class ScoreTable(OneLine):
    """The sufficient summary of scored rows.

    Attributes
    ----------
    groups : tuple of str
        Names, sorted; a stratum's group is an index into them.
    clip : float
        Scores were clipped to [clip, 1 - clip] before the logit.
    clipped : int
        Number of rows whose score was outside.
    points, cells
        The strata; each stratum is entirely in one of them, except that scores at a clipping bound
        are always points.
    attributes : tuple of str
        Names of the sensitive attributes.
    parts : tuple of tuple of str
        For each group its level of each attribute. Default: its name, of one attribute.
    threshold : float, dict of str to float, or None
        The threshold, or one for each of `groups`. None if decisions were given.
    weighted : bool
        Whether rows have weights.
    counts : Counts
        Rows dropped, and ties.
    design : float64 array, shape (group, predicted, 2, 2), or None
        If labeled rows were chosen with known probabilities: by label, 0 or 1, the sum of
        weight / probability over labeled rows, and of its square.
    cuts : tuple of float
        Several thresholds, the first being `threshold`: strata are divided by the interval between
        them that the score lies in. Else ().
    clusters : float64 array, shape (group, 10, 10), or None
        If clusters of rows are given, moments of their sums; see `data.clusters`. Tables add if no
        cluster is in both of them.

    Examples
    --------
    The examples of the methods use this table. Tables of parts add up to the table of all rows.

    >>> import lightfair as lf
    >>> january = {"y": [1, None], "s": [0.9, 0.2], "g": ["a", "b"]}
    >>> february = {"y": [0, None], "s": [0.4, 0.7], "g": ["b", "b"]}
    >>> names = {"y_true": "y", "y_score": "s", "sensitive_features": "g"}
    >>> table = lf.summarize(january, **names) + lf.summarize(february, **names)
    >>> table
    <ScoreTable: 4 rows, 2 labeled, 2 unlabeled; 2 groups by g; threshold 0.5>
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
    clusters: Floats | None = None

    def __post_init__(self) -> None:
        if not self.parts:
            object.__setattr__(self, "parts", tuple((name,) for name in self.groups))
        if self.groups != tuple(map(", ".join, self.parts)):
            raise ValueError("a group must be named by its parts, joined by a comma and a space")

    def _line(self) -> str:
        threshold, attributes = self.threshold, " and ".join(self.attributes)
        if self.cuts:
            decisions = "thresholds " + ", ".join(f"{value:g}" for value in self.cuts)
        elif threshold is None:
            decisions = "decisions given"
        elif isinstance(threshold, dict):
            decisions = "thresholds " + ", ".join(f"{k} {v:g}" for k, v in threshold.items())
        else:
            decisions = f"threshold {threshold:g}"
        return (
            f"{counted(self.rows, 'row')}, {self.labeled:,} labeled, "
            f"{self.rows - self.labeled:,} unlabeled{', weighted' if self.weighted else ''}; "
            f"{counted(len(self.groups), 'group')} by {attributes}; {decisions}"
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
    def scored(self) -> bool:
        """Whether rows have scores, and not decisions alone; see `score_data`."""
        if self.threshold is not None or self.clip != nodes.UNSCORED_CLIP or len(self.cells.cell):
            return True
        return bool((np.abs(self.points.logit) < self.bounds()[1]).any())

    @property
    def empty_groups(self) -> tuple[str, ...]:
        """Combinations of levels without rows, sorted; () if there are too many to list."""
        return empty_groups(self.parts)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Warnings about the data: what was dropped, what is unusual."""
        notes = data_notes(self.counts, self.attributes, self.parts, self.design is not None)
        shared = 0 if self.clusters is None else int(self.clusters[:, SHARED, SHARED].sum())
        return (*notes, note("shared_clusters", shared)) if shared else notes

    def __add__(self, other: ScoreTable) -> ScoreTable:
        """Merge two tables of different rows; groups are matched by name.

        Raises
        ------
        ValueError
            If their clip, attributes or thresholds differ, or if only one of them has the
            probabilities with which its labeled rows were chosen, or clusters.
        """
        if not isinstance(other, ScoreTable):
            return NotImplemented
        _check_same("clip", self.clip, other.clip)
        _check_same("list of thresholds", self.cuts, other.cuts)
        _check_same("attributes", self.attributes, other.attributes)
        part_of = dict(zip(self.groups, self.parts, strict=True))
        for name, part in zip(other.groups, other.parts, strict=True):
            if part_of.setdefault(name, part) != part:
                group_names([part, part_of[name]])  # raises
        groups = tuple(sorted(part_of, key=name_key))
        points, cells = settled(
            len(groups) * (len(self.cuts) + 1),
            self.clip,
            joined([_renumbered(table.points, table.groups, groups) for table in (self, other)]),
            joined([_renumbered(table.cells, table.groups, groups) for table in (self, other)]),
        )
        return replace(
            self,
            groups=groups,
            clipped=self.clipped + other.clipped,
            points=points,
            cells=cells,
            parts=tuple(part_of[name] for name in groups),
            threshold=_merged_thresholds(self.threshold, other.threshold),
            weighted=self.weighted or other.weighted,
            counts=self.counts + other.counts,
            design=_merged("design", groups, (self, other)),
            clusters=_merged("clusters", groups, (self, other)),
        )

    def without_cuts(self) -> ScoreTable:
        """Return the table of one threshold: strata are not divided by intervals.

        The sums of a cell that several intervals share are those of its parts: they differ in the
        last digit from sums over the rows in their order.

        Examples
        --------
        >>> table.without_cuts() is table
        True
        """
        if not self.cuts:
            return self
        size = len(self.groups) * 6
        points = self.points._replace(stratum=self.points.stratum % size)
        cells = self.cells._replace(stratum=self.cells.stratum % size)
        points, cells = settled(len(self.groups), self.clip, points, cells)
        return replace(self, points=points, cells=cells, cuts=())

    def sums(self, column: str) -> Floats:
        """Sum rows, weight or weight_sq by stratum: float64 (group, predicted, label).

        Labels are in the order 0, 1, unlabeled.

        Examples
        --------
        >>> table.sums("rows").tolist()
        [[[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]]
        """
        total = np.zeros(len(self.groups) * 6)
        for part in (self.points, self.cells):
            np.add.at(total, part.stratum % len(total), getattr(part, column))
        return total.reshape(-1, 2, 3)

    def labeled_sums(self) -> tuple[Floats, Floats]:
        """Sum the weights of labeled rows, and their squares: two float64 (group, predicted, 2).

        If rows were chosen for labeling with known probabilities, each counts with
        weight / probability; except in a group with all rows labeled, where nothing was chosen.

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
        return nodes.clip_bounds(self.clip)

    def nodes(self) -> Nodes:
        """Return the nodes of all strata, sorted by stratum.

        Examples
        --------
        >>> table.nodes().weight.tolist()
        [1.0, 1.0, 1.0, 1.0]
        """
        points = self.points
        labeled = points.stratum % 3 != UNLABELED
        weight = np.where(labeled, points.rows, points.weight)
        exact = Nodes(points.stratum, points.logit, weight, nodes.scale_of(points))
        pairs = zip(exact, nodes.gauss_rule(self.cells), strict=True)
        columns: list[Any] = [np.concatenate(pair) for pair in pairs]
        order = np.argsort(columns[0], kind="stable")
        return Nodes(*(column[order] for column in columns))


def _renumbered(part: Part, old: tuple[str, ...], new: tuple[str, ...]) -> Part:
    """Write strata of the groups `old` as those of `new`, which has all of them."""
    index = places_of(old, new)
    interval, stratum = np.divmod(part.stratum, len(old) * 6)
    group = interval * len(new) + index[stratum // 6]
    return part._replace(stratum=group * 6 + stratum % 6)


def _check_same(what: str, one: Any, other: Any) -> None:
    if one != other:
        raise ValueError(f"tables add only when their {what} is the same; got {one} and {other}")


def _merged_thresholds(
    one: float | dict[str, float] | None, other: float | dict[str, float] | None
) -> float | dict[str, float] | None:
    """Return the thresholds of a sum: those of both, equal for groups that are in both."""
    if isinstance(one, dict) and isinstance(other, dict):
        if any(other.get(name, cut) != cut for name, cut in one.items()):
            _check_same("threshold", one, other)
        return dict(sorted({**one, **other}.items(), key=lambda item: name_key(item[0])))
    _check_same("threshold", one, other)
    return one


def _merged(name: str, groups: tuple[str, ...], tables: tuple[ScoreTable, ...]) -> Floats | None:
    """Return design or clusters of a sum: both tables have it, or have no labels, or neither."""
    found = {table: getattr(table, name) for table in tables if getattr(table, name) is not None}
    if not found:
        return None
    total = np.zeros((len(groups), *next(iter(found.values())).shape[1:]))
    for table in tables:
        if table in found:
            total[places_of(table.groups, groups)] += found[table]
        elif table.labeled:
            what = "label_prob; pass 1 if all were labeled" if name == "design" else "cluster"
            raise ValueError(f"tables add only if both have {what}")
    return total


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
    <ScoreTable: 3 rows, 2 labeled, 1 unlabeled; 2 groups by group; threshold 0.5>
    """
    check_kind(data, ScoreData, "data", "score_data")
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
        clusters=None if data.cluster is None else cluster_moments(data.groups, [data], clip),
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
    group = data.group[rows].astype(np.intp)
    if data.band is not None:
        group += len(data.groups) * data.band[rows].astype(np.intp)
    return (group * 2 + data.predicted[rows]) * 3 + np.where(label < 0, nodes.UNLABELED, label)


def _design(data: ScoreData) -> Floats:
    """Sums of weight / label_prob and its square over labeled rows, as `ScoreTable.design`."""
    known = data.label >= 0
    inverse = 1.0 / data.label_prob[known]  # type: ignore[index]
    if data.weight is not None:
        inverse = inverse * data.weight[known]
    key = (data.group[known].astype(np.intp) * 2 + data.predicted[known]) * 2 + data.label[known]
    size = len(data.groups) * 4
    sums = [np.bincount(key, mass, size) for mass in (inverse, inverse * inverse)]
    return np.stack(sums, axis=-1).astype(np.float64).reshape(-1, 2, 2, 2)
