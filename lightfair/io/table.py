"""Stored tables: a ScoreTable as JSON, and back, checked as anything from another hand is.

A file holds one object with these keys:

    format       "lightfair.table"
    version      1
    attributes   names of the sensitive attributes
    groups       for each group its level of each attribute, sorted by the joined name
    clip         scores were clipped to [clip, 1 - clip]
    clipped      rows whose score was outside
    threshold    a number, an object of group name to number, or null: decisions were given
    weighted     whether rows have weights
    counts       dropped, missing_as_group, ties: numbers of rows; merged_levels: per attribute
    cell_width   of the logit, 0.05
    points       columns stratum, logit, rows, weight, weight_sq, all of one length
    cells        columns stratum, cell, rows, weight, weight_sq, power1, power2, power3

and, where labeled rows were chosen with known probabilities,

    design       by group, predicted class and label: the sum of weight / probability over labeled
                 rows, and of its square

or, where rows were kept apart by several thresholds,

    cuts         the thresholds, `threshold` first; the last attribute is the score's band between
                 them, counted from 0 and written with as many digits as the last one

A stratum is (group * 2 + predicted) * 3 + label, where label is 0, 1, or 2 for unlabeled; `Points`
and `Cells` of `table` say what the columns are. Both are sorted. Floats are written so that they
are read back as the same numbers. Unknown keys are errors: another layout is another version.

There are no identifiers in a table, only names of groups; but few rows are few: one that is alone
in its group, or in its cell, is there with its score, decision and label. Share tables with small
groups as you would share the rows.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, NoReturn

import numpy as np

from ..core.data import table as core
from ..core.data.bands import BAND, band_names, check_cuts, collapsed, parents
from ..core.data.groups import Parts, group_names
from ..core.data.logit import Floats, sigmoid
from ..core.data.messages import Counts, list_values, show
from ..core.data.nodes import CELL_WIDTH, UNLABELED, Cells, Ints, Points, check_clip, clip_bounds
from .writing import write_text

FORMAT = "lightfair.table"

VERSION = 1

KEYS = (
    "format",
    "version",
    "attributes",
    "groups",
    "clip",
    "clipped",
    "threshold",
    "weighted",
    "counts",
    "cell_width",
    "points",
    "cells",
)

OPTIONAL = ("design", "cuts")

COUNTS = ("dropped", "missing_as_group", "ties", "merged_levels")

WHOLE = ("stratum", "cell", "rows")  # columns of whole numbers

SLACK = 1e-6  # relative; sums are rounded

HALF = 5e-4  # scores of two bytes meet thresholds that are rounded to two bytes


class ScoreTable(core.ScoreTable):
    """A ScoreTable that can be stored as JSON, and built from the result of a query.

    Examples
    --------
    The methods go on from here.

    >>> import json
    >>> import lightfair as lf
    >>> rows = {"y": [1, None, 0, None], "s": [0.9, 0.2, 0.4, 0.7], "g": ["a", "b", "b", "b"]}
    >>> table = lf.summarize(rows, y_true="y", y_score="s", sensitive_features="g")
    """

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
        from .aggregates import table_from_rows

        return storable(table_from_rows(rows))

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
        save(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain values, ready for JSON; the keys are those of `stored`.

        Examples
        --------
        >>> values = table.to_dict()
        >>> values["format"], values["groups"]
        ('lightfair.table', [['a'], ['b']])
        """
        return to_dict(self)

    @classmethod
    def from_dict(cls, values: Any) -> ScoreTable:
        """Return the table that `to_dict` gave; what is wrong with the values is an error.

        Examples
        --------
        >>> lf.ScoreTable.from_dict(table.to_dict()).groups
        ('a', 'b')
        """
        return from_dict(values)


def storable(table: core.ScoreTable) -> ScoreTable:
    """Return the same table as one that can be stored."""
    return ScoreTable(**{one.name: getattr(table, one.name) for one in fields(table)})


def to_dict(table: ScoreTable) -> dict[str, Any]:
    """Return a table as plain values; the keys are above."""
    counts = table.counts
    optional = {} if table.design is None else {"design": table.design.tolist()}
    optional |= {"cuts": list(table.cuts)} if table.cuts else {}
    return {
        "format": FORMAT,
        "version": VERSION,
        "attributes": list(table.attributes),
        "groups": [list(part) for part in table.parts],
        "clip": table.clip,
        "clipped": table.clipped,
        "threshold": table.threshold,
        "weighted": table.weighted,
        "counts": {
            "dropped": counts.dropped,
            "missing_as_group": counts.missing_as_group,
            "ties": counts.ties,
            "merged_levels": {name: list(levels) for name, levels in counts.merged_levels},
        },
        "cell_width": CELL_WIDTH,
        "points": _columns(table.points),
        "cells": _columns(table.cells),
        **optional,
    }


def to_text(table: ScoreTable) -> str:
    """Return a table as JSON, a key a line."""
    lines = []
    for key, value in to_dict(table).items():
        lines.append(f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def save(table: ScoreTable, path: str | os.PathLike[str]) -> None:
    """Write a table to a file; until all is written a file of that name stays as it was."""
    write_text(path, to_text(table))


def load_table(path: str | os.PathLike[str]) -> ScoreTable:
    """Read a table from a file that `ScoreTable.save` or `lightfair summarize` wrote.

    Raises
    ------
    ValueError
        If the file holds no table, or one that cannot be; the message begins with its name.

    Examples
    --------
    >>> import os, tempfile
    >>> import lightfair as lf
    >>> data = lf.score_data([1, 0, None], [0.9, 0.2, 0.5], sensitive_features=["b", "a", "a"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "table.json")
    ...     lf.score_table(data).save(path)
    ...     table = lf.load_table(path)
    >>> table.rows, table.groups
    (3, ('a', 'b'))
    """
    from .files import pieces

    for piece in pieces(path, None):
        try:
            return from_text(piece.table)
        except ValueError as error:
            raise ValueError(f"{piece.where}: {error}") from error
    raise AssertionError("a file without columns is one piece")


def from_text(text: str) -> ScoreTable:
    """Return the table that JSON text holds."""
    try:
        values = json.loads(
            text, parse_constant=_refuse_constant, parse_int=_integer, object_pairs_hook=_once
        )
    except json.JSONDecodeError as error:
        at = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise ValueError(f"a table must be JSON, one object; {at}; give rows as CSV") from error
    except RecursionError:
        raise ValueError("a table must be JSON of few levels; got too many") from None
    return from_dict(values)


def from_dict(values: Any) -> ScoreTable:
    """Return the table of plain values.

    Raises
    ------
    ValueError
        If a key is missing or unknown, or a value is one that no table has.
    """
    if not isinstance(values, Mapping) or values.get("format") != FORMAT:
        raise ValueError(
            f'a table must be an object with "format": "{FORMAT}", as summarize writes it'
        )
    version = values.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise ValueError(
            f"version must be {VERSION}; got {_shown(version)}; summarize the rows again, or use "
            "the lightfair that wrote the table"
        )
    _check_keys("a table", values, KEYS, OPTIONAL)
    attributes = _texts("attributes", values["attributes"])
    if not attributes or len(set(attributes)) < len(attributes):
        raise ValueError(f"attributes must be distinct names; got {_shown(values['attributes'])}")
    parts = _parts(values["groups"], len(attributes))
    groups = group_names(parts)
    if list(groups) != sorted(groups):
        raise ValueError("groups must be sorted by name")
    clip = _number("clip", values["clip"])
    check_clip(clip)
    if _number("cell_width", values["cell_width"]) != CELL_WIDTH:
        raise ValueError(f"cell_width must be {CELL_WIDTH}; got {_shown(values['cell_width'])}")
    if not isinstance(values["weighted"], bool):
        raise ValueError(f"weighted must be true or false; got {_shown(values['weighted'])}")
    points = Points(**_read_columns("points", values["points"], Points._fields))
    cells = Cells(**_read_columns("cells", values["cells"], Cells._fields))
    for name, part, second in (("points", points, points.logit), ("cells", cells, cells.cell)):
        _check_strata(name, part.stratum, second, len(groups))
        _check_weights(name, part, values["weighted"])
    _check_places(points, cells, clip)
    _check_powers(cells)
    table = ScoreTable(
        groups=groups,
        clip=clip,
        clipped=_whole("clipped", values["clipped"]),
        points=points,
        cells=cells,
        attributes=attributes,
        parts=parts,
        threshold=_threshold(values["threshold"], groups),
        weighted=values["weighted"],
        counts=_counts(values["counts"]),
        design=_design(values["design"], len(groups)) if "design" in values else None,
        cuts=_cuts(values["cuts"]) if "cuts" in values else (),
    )
    _check_bands(table)
    if not 0 <= table.clipped <= table.rows:
        raise ValueError(f"clipped must lie in [0, {table.rows}], the rows; got {table.clipped}")
    for name in ("missing_as_group", "ties"):
        if (found := getattr(table.counts, name)) > table.rows:
            raise ValueError(f"{name} must be at most {table.rows}, the rows; got {found}")
    _check_decisions(table)
    _check_design(table)
    plain = collapsed(table)
    for column in ("rows", "weight"):
        without = np.flatnonzero(plain.sums(column).sum(axis=(1, 2)) == 0.0)
        if without.size:
            names = list_values([plain.groups[g] for g in without])
            raise ValueError(f"{column} must be positive in every group; none in {names}")
    return table


def _columns(part: Points | Cells) -> dict[str, list[Any]]:
    return {
        name: (column.astype(np.int64) if name in WHOLE else column).tolist()
        for name, column in zip(part._fields, part, strict=True)
    }


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"a table must hold finite numbers; got {name}")


def _integer(digits: str) -> int:
    if len(digits) > 640:  # Python may refuse to read more
        raise ValueError(f"a table must hold numbers of fewer digits; got {digits[:10]}...")
    return int(digits)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = list_values({name for name in names if names.count(name) > 1})
        raise ValueError(f"a key must come once; {twice} comes twice")
    return found


def _check_keys(
    what: str, values: Any, keys: tuple[str, ...], optional: tuple[str, ...] = ()
) -> None:
    if not isinstance(values, Mapping):
        raise ValueError(f"{what} must be an object; got {_shown(values)}")
    for verb, some in (
        ("lacks", set(keys) - set(values)),
        ("has unknown", set(values) - {*keys, *optional}),
    ):
        if some:
            raise ValueError(f"{what} {verb} {list_values(some)}; it must hold {', '.join(keys)}")


def _shown(value: Any) -> str:
    text = "null" if value is None else show(value)
    return text.lower() if isinstance(value, bool) else text


def _texts(name: str, values: Any) -> tuple[str, ...]:
    if not isinstance(values, (list, tuple)) or not all(isinstance(v, str) for v in values):
        raise ValueError(f"{name} must be a list of text; got {_shown(values)}")
    return tuple(values)


def _parts(values: Any, width: int) -> Parts:
    if not isinstance(values, (list, tuple)) or not values:
        raise ValueError(f"groups must be a list of at least one group; got {_shown(values)}")
    parts = tuple(_texts("each of groups", part) for part in values)
    for part in parts:
        if len(part) != width:
            raise ValueError(
                f"each of groups must have a level of each of {width} attributes; got "
                f"{_shown(list(part))}"
            )
    return parts


def _number(name: str, value: Any) -> float:
    real = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not real or abs(value) > 1e300 or not math.isfinite(value):
        raise ValueError(f"{name} must be a number; got {_shown(value)}")
    return float(value)


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**53:
        raise ValueError(f"{name} must be a whole number of at least 0; got {_shown(value)}")
    return value


def _threshold(value: Any, groups: tuple[str, ...]) -> float | dict[str, float] | None:
    def cut(name: str, number: Any) -> float:
        found = _number(name, number)
        if not 0.0 < found < 1.0:
            raise ValueError(f"{name} must lie in (0, 1); got {_shown(number)}")
        return found

    if value is None:
        return None
    if not isinstance(value, Mapping):
        return cut("threshold", value)
    if set(value) != set(groups):
        raise ValueError(
            f"threshold must name each of the groups {list_values(groups)}; got "
            f"{list_values(set(value)) or 'none'}"
        )
    return {name: cut(f"threshold of {show(name)}", value[name]) for name in groups}


def _counts(values: Any) -> Counts:
    _check_keys("counts", values, COUNTS)
    merged = values["merged_levels"]
    if not isinstance(merged, Mapping):
        raise ValueError(f"merged_levels must be an object; got {_shown(merged)}")
    levels = [(name, _texts(f"merged_levels of {name}", merged[name])) for name in sorted(merged)]
    dropped, named, ties = (_whole(name, values[name]) for name in COUNTS[:3])
    return Counts(dropped, named, ties, tuple(levels))


def _cuts(values: Any) -> tuple[float, ...]:
    if not isinstance(values, (list, tuple)):
        raise ValueError(f"cuts must be a list of thresholds; got {_shown(values)}")
    try:
        return check_cuts(values)
    except ValueError as error:
        raise ValueError(str(error).replace("threshold must", "cuts must", 1)) from None


def _check_bands(table: ScoreTable) -> None:
    """The hidden attribute is there where there are cuts, and agrees with decisions and scores."""
    if not table.cuts:
        return
    names = band_names(len(table.cuts) + 1)
    bands = {part[-1] for part in table.parts}
    if len(table.attributes) < 2 or table.attributes[-1] != BAND or not bands <= {*names}:
        raise ValueError(
            f"with cuts the last attribute must be {show(BAND)}, of levels {names[0]} to "
            f"{names[-1]}"
        )
    if table.threshold != table.cuts[0]:
        raise ValueError(
            f"threshold must be the first of cuts, {table.cuts[0]:g}; got {_shown(table.threshold)}"
        )
    edges = np.array([0.0, *sorted(table.cuts), 1.0])
    band = parents(table).band
    least, most = edges[band], edges[band + 1]
    for name, stratum, low, high in _score_ranges(table):
        group = stratum // 6
        wrong = (high < least[group] - HALF) | (low > most[group] + HALF)
        _refuse(wrong, f"{name}.stratum must have the bands that cuts make")


def _design(values: Any, groups: int) -> Floats:
    """Sums over labeled rows, float64 (group, predicted, 2, 2)."""
    rule = f"design must be numbers, {groups} groups by 2 decisions by 2 labels by 2 sums"

    def flat(part: Any, shape: tuple[int, ...]) -> list[float]:
        if not shape:
            return [_number("design", part)]
        if not isinstance(part, (list, tuple)) or len(part) != shape[0]:
            raise ValueError(f"{rule}; got {_shown(part)}")
        return [number for piece in part for number in flat(piece, shape[1:])]

    shape = (groups, 2, 2, 2)
    return np.array(flat(values, shape)).reshape(shape)


def _read_columns(what: str, values: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The columns of points or cells, as arrays of one length."""
    _check_keys(what, values, names)
    found = {}
    for name in names:
        column = values[name]
        kinds = (int,) if name in WHOLE else (int, float)
        rule = "whole numbers" if name in WHOLE else "numbers"
        if not isinstance(column, (list, tuple)):
            raise ValueError(f"{what}.{name} must be a list; got {_shown(column)}")
        for index, value in enumerate(column):
            good = isinstance(value, kinds) and not isinstance(value, bool)
            if not good or not abs(value) < 1e300 or (name in WHOLE and abs(value) >= 2**53):
                raise ValueError(
                    f"{what}.{name} must hold {rule}; got {_shown(value)} at index {index}"
                )
        integer = name in ("stratum", "cell")
        found[name] = np.array(column, dtype=np.int64 if integer else np.float64)
    lengths = {name: len(column) for name, column in found.items()}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ValueError(f"columns of {what} must have one length; got {said}")
    return found


def _refuse(bad: Any, message: str) -> None:
    """Raise ValueError where a column breaks its rule, with the index of the first place."""
    places = np.flatnonzero(bad)
    if places.size:
        raise ValueError(f"{message}; it is not at index {places[0]}")


def _check_strata(what: str, stratum: Ints, second: Any, groups: int) -> None:
    rule = f"{what}.stratum must lie in [0, {6 * groups}), six for each group"
    _refuse((stratum < 0) | (stratum >= 6 * groups), rule)
    by = "logit" if what == "points" else "cell"
    follows = (stratum[1:] > stratum[:-1]) | (
        (stratum[1:] == stratum[:-1]) & (second[1:] > second[:-1])
    )
    _refuse(np.append(False, ~follows), f"{what} must be sorted by stratum and {by}, none twice")


def _check_weights(what: str, part: Points | Cells, weighted: bool) -> None:
    rows, weight, weight_sq = part.rows, part.weight, part.weight_sq
    _refuse(rows < 1, f"{what}.rows must be at least 1")
    _refuse(weight < 0.0, f"{what}.weight must not be negative")
    _refuse(weight_sq < 0.0, f"{what}.weight_sq must not be negative")
    if not weighted:
        same = (weight == rows) & (weight_sq == rows)
        _refuse(~same, f"without weights {what}.weight and {what}.weight_sq must equal rows")
    with np.errstate(over="ignore"):
        square = weight * weight  # lies between the sum of squares and rows times it
        least, most = weight_sq / (1.0 + SLACK), rows * weight_sq * (1.0 + SLACK)
    good = (least <= square) & (square <= most)
    _refuse(~good, f"{what}.weight_sq must be a sum of squares of weights that sum to weight")


def _check_places(points: Points, cells: Cells, clip: float) -> None:
    low, high = clip_bounds(clip)
    outside = (points.logit < low) | (points.logit > high)
    _refuse(outside, f"points.logit must lie in [{low:.6g}, {high:.6g}], given clip")
    start = cells.cell * CELL_WIDTH
    beyond = (start + CELL_WIDTH < low) | (start > high)
    _refuse(beyond, f"cells.cell times {CELL_WIDTH} must lie in [{low:.6g}, {high:.6g}]")
    inside = (points.logit > low) & (points.logit < high)
    twofold = inside & np.isin(points.stratum, cells.stratum)
    _refuse(twofold, "a stratum must be in points or in cells, but for scores at a bound of clip")


def _check_decisions(table: ScoreTable) -> None:
    """Decisions are those of the threshold, where one decides."""
    if table.threshold is None:
        return
    cuts = table.threshold
    cut = np.array([cuts[name] if isinstance(cuts, dict) else cuts for name in table.groups])
    for name, stratum, low, high in _score_ranges(table):
        at, positive = cut[stratum // 6], stratum % 6 >= 3
        wrong = np.where(positive, high < at - HALF, low > at + HALF)
        _refuse(wrong, f"{name}.stratum must have the decisions that threshold makes")


def _score_ranges(table: ScoreTable) -> list[tuple[str, Ints, Floats, Floats]]:
    """Of points and of cells their name, strata, and least and largest score.

    A point at a bound of clip is of any score beyond it, a cell of any score within.
    """
    points, cells = table.points, table.cells
    first, last = clip_bounds(table.clip)
    start = cells.cell.astype(np.float64) * CELL_WIDTH
    least: Floats = np.where(points.logit <= first, 0.0, sigmoid(points.logit))
    most: Floats = np.where(points.logit >= last, 1.0, sigmoid(points.logit))
    return [
        ("points", points.stratum, least, most),
        ("cells", cells.stratum, sigmoid(start), sigmoid(start + CELL_WIDTH)),
    ]


def _check_design(table: ScoreTable) -> None:
    """Each labeled row counts at least as much as it weighs."""
    if table.design is None:
        return
    total, square = table.design[..., 0], table.design[..., 1]
    rows, weight, weight_sq = (
        table.sums(column)[..., :UNLABELED] for column in ("rows", "weight", "weight_sq")
    )
    more = 1.0 + SLACK
    good = (
        (total * more >= weight) & (square * more >= weight_sq) & ((weight > 0.0) | (total == 0.0))
    )
    with np.errstate(over="ignore"):
        good &= (square <= total * total * more) & (total * total <= rows * square * more)
    _refuse(
        ~good.ravel(),
        "design must be sums of weights over probabilities in (0, 1], and of their squares",
    )


def _check_powers(cells: Cells) -> None:
    mass: Floats = np.where(cells.stratum % 3 != UNLABELED, cells.rows, cells.weight)
    half = 0.5 * CELL_WIDTH
    for power, column in ((1, cells.power1), (2, cells.power2), (3, cells.power3)):
        most = mass * half**power * (1.0 + SLACK)
        name = f"cells.power{power}"
        _refuse(abs(column) > most, f"{name} must be a sum of powers of distances within a cell")
    spread = mass * cells.power2 - cells.power1 * cells.power1
    _refuse(
        spread < -SLACK * mass * mass * half * half,
        "cells.power2 must be at least that of rows at the mean of the cell",
    )
