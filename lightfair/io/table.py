"""Serialize a ScoreTable to JSON and validate it on loading.

A file holds one object with these keys:

    format       "lightfair.table"
    version      2
    attributes   names of the sensitive attributes
    groups       for each group its level of each attribute, sorted by the joined name
    clip         scores were clipped to [clip, 1 - clip]
    clipped      number of rows whose score was outside
    threshold    a number, an object of group name to number, or null if decisions were given
    weighted     whether rows have weights
    counts       dropped, missing_as_group, ties: numbers of rows
    cell_width   on the logit axis, 0.05
    points       columns stratum, logit, rows, weight, weight_sq, all of one length
    cells        columns stratum, cell, rows, weight, weight_sq, power1, power2, power3
    sha256       optional: hash of all other keys, written by `save`; it detects damage

and, if labeled rows were chosen with known probabilities,

    design       by group, predicted class and label: the sum of weight / probability over labeled
                 rows, and of its square

or, if rows were separated by several thresholds,

    thresholds   all of them, `threshold` first

or, if rows belong to clusters,

    clusters     by group, moments of sums over clusters; see `core.data.clusters`

A stratum is ((interval * groups + group) * 2 + predicted) * 3 + label: interval is the number of
`thresholds` that the score reaches, 0 if there are none, and label is 0, 1, or 2 for unlabeled; see
`Points` and `Cells` for the other columns. Both are sorted. Floats are written in full precision.
Unknown keys are errors: another layout is another version.

A table contains no identifiers, only names of groups, but a row that is alone in its group or cell
appears with its score, decision and label. Share tables with small groups as you would share the
rows.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import astuple, fields
from typing import Any

import numpy as np

from ..core.data import table as core
from ..core.data.clusters import SIZE
from ..core.data.groups import group_names
from ..core.data.messages import Counts, name_key, show
from ..core.data.nodes import CELL_WIDTH, Cells, Part, Points, check_clip, settled
from ..core.data.rows import check_cuts
from .writing import write_text

FORMAT = "lightfair.table"

VERSION = 2

SHAPES = {"design": (2, 2, 2), "clusters": (SIZE, SIZE)}  # of a group, in what may be absent


class ScoreTable(core.ScoreTable):
    """A ScoreTable that can be stored as JSON, and built from the result of a query.

    Examples
    --------
    The examples of the methods continue from here.

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
            or `asDict()` (Spark). Names are case-insensitive. NULL is None or NaN.

        Raises
        ------
        ValueError
            If rows are not such a result, or the data break a rule of `score_data`.

        Examples
        --------
        A result of three rows at one score; see `sql_query` for the statement.

        >>> terms = {"clip": 0.01, "threshold": 0.5, "attributes": ["race"], "weighted": False}
        >>> terms |= {"positive_label": None, "unlabeled": None, "missing": "raise"}
        >>> row = {"terms": json.dumps(terms), "predicted": 1, "label": 1}
        >>> row |= {"level_1": "a", "point": 0.9, "cell": None, "row_count": 3, "row_total": 3}
        >>> row |= {f"{name}power{j}": None for name in ("", "weight_") for j in (1, 2, 3)}
        >>> row |= {"weight_sum": 3, "weight_sq_sum": 3, "clipped": 0, "ties": 0}
        >>> row |= dict.fromkeys(["score_missing", "score_outside", "weight_invalid"], 0)
        >>> lf.ScoreTable.from_rows([row])
        <ScoreTable: 3 rows, 3 labeled, 0 unlabeled; 1 group by race; threshold 0.5>
        """
        from .aggregates import table_from_rows

        return storable(table_from_rows(rows))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file, as JSON; an existing file is replaced as a whole.

        Examples
        --------
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "table.json")
        ...     table.save(path)
        ...     lf.load_table(path).rows
        4
        """
        write_text(path, to_text(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain values, ready for JSON, with the keys of a file but `sha256`.

        Examples
        --------
        >>> values = table.to_dict()
        >>> values["format"], values["groups"]
        ('lightfair.table', [['a'], ['b']])
        """
        return _values(self)

    @classmethod
    def from_dict(cls, values: Any) -> ScoreTable:
        """Return the table of plain values, such as `to_dict` returns.

        Keys, types, lengths of columns and their order are checked, and that no count is negative.

        Raises
        ------
        ValueError
            If the values are not a table, are of another version, break a rule, or differ from
            their `sha256`.

        Examples
        --------
        >>> lf.ScoreTable.from_dict(table.to_dict()).groups
        ('a', 'b')
        """
        if not isinstance(values, Mapping) or values.get("format") != FORMAT:
            rule = f'a table must be an object with "format": "{FORMAT}"'
            raise ValueError(f"{rule}; rows must be CSV, Parquet or Arrow")
        if values.get("version") != VERSION:
            got = show(values.get("version"))
            raise ValueError(f"version must be {VERSION}; got {got}; summarize the rows again")
        if "sha256" in values and values["sha256"] != digest_of(values):
            raise ValueError("the table was damaged, or edited without removing its sha256")
        try:
            table = _table(values)
        except KeyError as error:
            raise ValueError(f"a table must have the key {error}") from error
        except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"the values are not a valid table: {error}") from error
        written = _values(table)  # differs wherever a value had another type
        for key in sorted({*values, *written} - {"sha256"}):
            if key not in written or values.get(key) != written[key]:
                raise ValueError(f"{key} must hold what a table has there; see ScoreTable.to_dict")
        return table


def storable(table: core.ScoreTable) -> ScoreTable:
    """Return the same table as one that can be stored."""
    return ScoreTable(**vars(table))


def to_text(table: ScoreTable) -> str:
    """Return a table as JSON, one line per key."""
    values = table.to_dict()
    values["sha256"] = digest_of(values)
    lines = (f"{json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in values.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def load_table(path: str | os.PathLike[str]) -> ScoreTable:
    """Read a table from a file that `ScoreTable.save` or `lightfair summarize` wrote.

    Raises
    ------
    ValueError
        If the file does not hold a valid table; the message begins with its name.

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

    (piece,) = pieces(path, None)
    try:
        return from_text(str(piece.content))
    except ValueError as error:
        raise ValueError(f"{piece.where}: {error}") from error


def from_text(text: str) -> ScoreTable:
    """Return the table in a JSON text; ValueError if it is not valid."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"a table must be one JSON object: {error}; give rows as CSV") from error
    return ScoreTable.from_dict(values)


def _values(table: ScoreTable) -> dict[str, Any]:
    cuts = table.cuts or None
    optional = {"design": table.design, "thresholds": cuts, "clusters": table.clusters}
    return {
        "format": FORMAT,
        "version": VERSION,
        "attributes": list(table.attributes),
        "groups": [list(part) for part in table.parts],
        "clip": table.clip,
        "clipped": table.clipped,
        "threshold": table.threshold,
        "weighted": table.weighted,
        "counts": dict(vars(table.counts)),
        "cell_width": CELL_WIDTH,
        "points": _columns(table.points),
        "cells": _columns(table.cells),
        **{k: np.asarray(v).tolist() for k, v in optional.items() if v is not None},
    }


def _table(values: Mapping[str, Any]) -> ScoreTable:
    parts = tuple(map(tuple, values["groups"]))
    groups = group_names(parts)
    lengths = {len(values["attributes"]), *map(len, parts)}
    if list(groups) != sorted(groups, key=name_key) or len(lengths) > 1:
        rule = "groups must be sorted by name, each with a level of each attribute"
        raise ValueError(f"{rule}; summarize the rows again")
    check_clip(values["clip"])
    counts = Counts(*(int(values["counts"][field.name]) for field in fields(Counts)))
    if min(values["clipped"], *astuple(counts)) < 0:
        raise ValueError("clipped and counts must not be negative")
    optional: dict[str, Any] = {
        name: np.array(values[name], np.float64).reshape(len(groups), *shape)
        for name, shape in SHAPES.items()
        if name in values
    }
    cuts = check_cuts(values["thresholds"]) if "thresholds" in values else ()
    size = len(groups) * (len(cuts) + 1)
    points, cells = _part(Points, values["points"], size), _part(Cells, values["cells"], size)
    points, cells = settled(size, values["clip"], points, cells)  # sorted, or it differs
    return ScoreTable(
        groups=groups,
        clip=float(values["clip"]),
        clipped=int(values["clipped"]),
        points=points,
        cells=cells,
        attributes=tuple(map(str, values["attributes"])),
        parts=parts,
        threshold=values["threshold"],
        weighted=bool(values["weighted"]),
        counts=counts,
        cuts=cuts,
        **optional,
    )


def _part(kind: type[Part], columns: Any, size: int) -> Part:
    """Points or cells: stratum and cell are intp, all other columns float64."""
    arrays: list[Any] = [
        np.array(columns[name], np.intp if name in ("stratum", "cell") else np.float64)
        for name in kind._fields
    ]
    numbers = np.stack(arrays)  # an error unless all have one length
    negative = (numbers[[0, 2, 3, 4]] < 0).any() or (numbers[0] >= 6 * size).any()
    if not np.isfinite(numbers).all() or negative:
        rule = f"must be finite, with sums not negative and stratum in [0, {6 * size})"
        raise ValueError(f"{kind.__name__.lower()} {rule}")
    return kind(*arrays)


def _columns(part: Points | Cells) -> dict[str, list[Any]]:
    columns = {name: column.tolist() for name, column in part._asdict().items()}
    return columns | {"rows": part.rows.astype(np.int64).tolist()}


def digest_of(values: Mapping[str, Any]) -> str:
    """SHA-256 of all keys but sha256, in canonical JSON."""
    text = json.dumps({k: v for k, v in values.items() if k != "sha256"}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
