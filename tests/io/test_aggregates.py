"""Results of queries as tables: rows of any kind and order, and rows that are not a result."""

from __future__ import annotations

import functools
import json
import math
import sqlite3
from decimal import Decimal

import numpy as np
import pytest
from engines import ROLES, draw, duckdb_engine, table_of
from tables import assert_same

import lightfair as lf


@functools.cache
def result():
    """The result of a query on DuckDB."""
    query = lf.sql_query(dialect="duckdb", table="t", **ROLES, sample_weight="weight")
    with duckdb_engine() as run:
        return run(query, "t", draw(n=1500))


@functools.cache
def expected():
    return table_of(draw(n=1500), sample_weight="weight")


def rows():
    """The rows of a good result, to be changed."""
    return [dict(row) for row in result()]


class SparkRow(tuple):
    """A row that is not a mapping but can become one."""

    def asDict(self):  # noqa: N802
        return dict(self)


def sqlite_rows(rows):
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    connection.execute(f"CREATE TABLE t ({', '.join(rows[0])})")
    marks = ", ".join("?" * len(rows[0]))
    connection.executemany(f"INSERT INTO t VALUES ({marks})", [tuple(r.values()) for r in rows])
    return connection.execute("SELECT * FROM t").fetchall()


def typed(kind):
    def change(rows):
        return [{k: kind(v) if type(v) is float else v for k, v in row.items()} for row in rows]

    return change


ROWS = {
    "dict": lambda rows: iter(rows),
    "upper case": lambda rows: [{k.upper(): v for k, v in row.items()} for row in rows],
    "spark": lambda rows: [SparkRow(row.items()) for row in rows],
    "sqlite": sqlite_rows,
    "pandas": lambda rows: pytest.importorskip("pandas").DataFrame(rows).to_dict("records"),
    "json": lambda rows: json.loads(json.dumps(rows)),
    "decimal": typed(lambda value: Decimal(repr(value))),
    "numpy": typed(np.float64),
    "more columns": lambda rows: [{**row, "note": "x"} for row in rows],
    "another order": lambda rows: rows[::-1],
}


@pytest.mark.parametrize("kind", ROWS)
def test_rows_of_many_kinds(kind):
    table = lf.ScoreTable.from_rows(ROWS[kind](rows()))
    assert_same(table, expected())
    assert len(table.points.logit) > 10 and len(table.cells.cell) > 100
    np.testing.assert_array_equal(table.points.logit, expected().points.logit)


def change(column, value, kind="point"):
    """Rows with one value changed, in the first point or cell."""
    changed = rows()
    row = next(row for row in changed if row[kind] is not None)
    row[column] = value
    return changed


def with_terms(**changes):
    terms = json.dumps({**json.loads(rows()[0]["terms"]), **changes})
    return [{**row, "terms": terms} for row in rows()]


def without(column):
    return [{k: v for k, v in row.items() if k != column} for row in rows()]


BAD_VALUES = [
    ("row_count", -3, "point", "row_count must hold whole numbers in its range; got -3"),
    ("point", 1.5, "point", "point must hold numbers in its range; got 1.5"),
    ("cell", 2.5, "cell", "cell must hold whole numbers in its range"),
    ("power2", math.nan, "cell", "power2 must hold numbers in its range"),
    ("power1", None, "cell", "power1 must hold .* got None; from_rows"),
    ("predicted", 2, "point", r"y_score must lie in \[0, 1\], .*; got 2"),
    ("clipped", None, "point", "clipped must hold whole numbers in its range"),
    ("ties", 9999, "point", "ties must hold whole numbers in its range"),
    ("label", 5, "point", "y_true must hold two classes; got 3 values: 0, 1, 5"),
    ("level_1", None, "point", "missing in .* rows; pass missing"),
]


@pytest.mark.parametrize("column, value, kind, message", BAD_VALUES)
def test_bad_values(column, value, kind, message):
    with pytest.raises(ValueError, match=message):
        lf.ScoreTable.from_rows(change(column, value, kind))


BAD_ROWS = {
    "empty": (lambda: [], "must hold at least one row; the result has no rows"),
    "text": (lambda: "rows", "must be mappings, .* got str in str"),
    "one row": (lambda: rows()[0], "must be mappings, .* got str in dict"),
    "frame": (lambda: pytest.importorskip("pandas").DataFrame(rows()), "got str in DataF"),
    "tuples": (lambda: [(1, 2)], r"got tuple in list"),
    "no terms": (lambda: without("terms"), "must be those of a query; got None; from_rows"),
    "odd terms": (lambda: [{"terms": '{"clip": 1}'}], "terms must be those of a query; got"),
    "clip": (lambda: with_terms(clip=None), "terms must be those of a query; got"),
    "two queries": (lambda: rows() + with_terms(clip=0.02), "must have the same terms; make"),
    "no label": (lambda: without("label"), "rows lack the column 'label'; from_rows takes"),
    "no faults": (lambda: without("score_outside"), "rows lack the column 'score_outside'"),
    "cut short": (lambda: rows()[:-1], "incomplete: 1,4.. of 1,500 rows; fetch all"),
    "counted 1.5 times": (lambda: [*rows(), *rows()[::2]], "incomplete: 2,.* of 1,500 rows"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows(name):
    make, message = BAD_ROWS[name]
    with pytest.raises(ValueError, match=message):
        lf.ScoreTable.from_rows(make())


@pytest.mark.parametrize("name", ["power1", "power2", "power3", "weight_power2"])
def test_moments_outside_of_their_cell_are_refused(name):
    """Up to the largest that rows at the cell's edge can have; no more."""
    cell = next(row for row in rows() if row["cell"] is not None)
    mass = cell["weight_sum" if "weight" in name else "row_count"]
    largest = mass * (0.5 * 0.05) ** int(name[-1])
    lf.ScoreTable.from_rows(change(name, largest, "cell"))
    with pytest.raises(ValueError, match=f"{name} must hold numbers in its range"):
        lf.ScoreTable.from_rows(change(name, 1.01 * largest, "cell"))
