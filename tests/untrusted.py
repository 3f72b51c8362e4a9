"""Untrusted input drawn at random: files, stored tables, results of queries, and their rules.

Each rule takes a drawn example, fails if it is violated, and returns whether the input was
accepted. `test_untrusted.py` draws the examples.
"""

from __future__ import annotations

import ast
import copy
import csv
import functools
import gzip
import io
import json
import traceback
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from results import PACKAGE

import lightfair as lf
from lightfair.core.data.messages import level_name
from lightfair.io.files import UNLABELED
from lightfair.io.table import from_text, to_text

NAMES = {"y_true": "y", "y_score": "s", "sensitive_features": ["g", "h"]}


@functools.cache
def raises(path):
    """The lines of a module that raise an exception."""
    nodes = [n for n in ast.walk(ast.parse(Path(path).read_text())) if isinstance(n, ast.Raise)]
    return {line for node in nodes for line in range(node.lineno, node.end_lineno + 1)}


def attempt(function, *arguments, **options):
    """The value of a function, or None if it raises a ValueError of this package."""
    try:
        return function(*arguments, **options)
    except ValueError as error:
        path, line, *_ = traceback.extract_tb(error.__traceback__)[-1]
        own = Path(path).is_relative_to(PACKAGE) and line in raises(path)
        assert own, f"encountered, not raised: {error!r}"
        message = str(error)
        assert message and message == message.strip() and len(message) < 3000, error
        return None


def close(one, two):
    """Two tables are equal but for rounding."""
    left, right = one.to_dict(), two.to_dict()
    for part in ("points", "cells"):
        for name in left[part]:
            np.testing.assert_allclose(left[part][name], right[part][name], rtol=1e-9, atol=1e-12)
    assert {**left, "points": 0, "cells": 0} == {**right, "points": 0, "cells": 0}


def check_round_trip(table):
    """A table is the same after JSON, and adds to itself."""
    twice = table + table
    assert twice.rows == 2 * table.rows and twice.labeled == 2 * table.labeled
    for each in (table, twice):
        assert from_text(to_text(each)).to_dict() == each.to_dict()


# files

WORDS = st.sampled_from(
    ["", " ", "0", "1", "-1", "1.0", "0.5", "1e-3", "nan", "NA", "None", "True", "yes", "2", "inf"]
    + ["-0.0", "0,5", "50%", "1_0", "a", "b", '"', '""', "x\ny", "\r", ";", "\t", "\ufeff", "\0"]
    + ["\x1b[0m", "\x85", "ß", "日本", "a, b", "missing", "9" * 400, "0." + "1" * 400, "1e400"]
)
LABELS = st.sampled_from(["0", "1", "", "NA", "1", "0"])
SCORES = st.one_of(st.floats(0.0, 1.0).map(repr), st.sampled_from(["0.5", "0", "1", ".25"]))
LEVELS = st.one_of(
    st.sampled_from(["a", "b", "c", "ß", "a b", "1", "1.0", "nan"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=5),
)
ROWS = st.lists(st.tuples(LABELS, SCORES, LEVELS, LEVELS), min_size=1, max_size=25)
SEPARATORS = st.sampled_from([",", ",", ";", "\t"])
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
QUOTING = st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig"])


def written(rows, header, separator, end, quoting):
    """Rows as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator=end, quoting=quoting)
    writer.writerows([header, *rows])
    return out.getvalue()


@st.composite
def files(draw):
    """A CSV file with random damage."""
    header = draw(st.sampled_from([("y", "s", "g", "h"), ("id", "h", "s", "g", "y"), ("y", "s")]))
    cells = st.one_of(WORDS, LABELS, SCORES, LEVELS)
    odd = draw(st.lists(st.lists(cells, max_size=len(header) + 1), max_size=3))
    dicts = [dict(zip("ysgh", row, strict=True)) for row in draw(ROWS)]
    rows = [*([row.get(name, "7") for name in header] for row in dicts), *odd]
    text = written(rows, header, draw(SEPARATORS), draw(ENDS), draw(QUOTING))
    content = bytearray(text.encode(draw(ENCODINGS), "replace"))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(content)))
        new = draw(st.one_of(st.binary(max_size=4), WORDS.map(str.encode)))
        content[at : at + draw(st.integers(0, 9))] = new
    return gzip.compress(bytes(content)) if draw(st.integers(0, 3)) == 0 else bytes(content)


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "missing": st.sampled_from(["raise", "drop", "group"]),
        "positive_label": st.sampled_from(["yes", "1", "0", 1, -1, "2"]),
        "unlabeled": st.sampled_from(["-1", "NA", "no", ["2", "yes"]]),
        "threshold": st.sampled_from([0.5, 0.3, [0.3, 0.6], 1.5]),
        "clip": st.sampled_from([0.0, 0.01, 0.2]),
    },
)


def chunks_of_a_file_agree(content, options):
    """A file is accepted or refused whatever the size of chunks, with the same table."""
    tables = [
        attempt(lf.summarize, io.BytesIO(content), **NAMES, **options, chunk_rows=size)
        for size in (1, 3, 1000)
    ]
    refused = [table is None for table in tables]
    assert len(set(refused)) == 1, f"refused in chunks of 1, 3, 1000: {refused}"
    if not refused[0]:
        for table in tables[:2]:
            close(table, tables[2])
        check_round_trip(tables[2])
    return not refused[0]


@st.composite
def valid_files(draw):
    """Rows, and a valid CSV file of them."""
    rows = draw(ROWS)
    quoting = draw(QUOTING)
    if any(mark in level for row in rows for level in row[2:] for mark in "\r\n"):
        quoting = csv.QUOTE_ALL  # otherwise the writer leaves some line ends unquoted
    text = written(rows, ("y", "s", "g", "h"), draw(SEPARATORS), draw(ENDS), quoting)
    return rows, text.encode(draw(ENCODINGS))


def all_sources_agree(valid, at):
    """A file, its columns, its parts, and arrays give one table, or all are refused."""
    rows, content = valid
    columns = {
        "y": [None if label.lower() in UNLABELED else label for label, *_ in rows],
        "s": [float(score) for _, score, *_ in rows],
        "g": [level.strip() for *_, level, _ in rows],
        "h": [level.strip() for *_, level in rows],
    }
    tables = [attempt(lf.summarize, one, **NAMES) for one in (io.BytesIO(content), columns)]
    tables.append(attempt(table_of_arrays, columns))
    assert len({table is None for table in tables}) == 1, [table is None for table in tables]
    if tables[0] is None:
        return False
    table = tables[0]
    parts = [{name: column[part] for name, column in columns.items()} for part in halves(at)]
    for other in (*tables[1:], lf.summarize(parts, **NAMES)):
        close(other, table)
    assert table.labeled == sum(label is not None for label in columns["y"])
    for name, count in zip(table.groups, table.sums("rows").sum(axis=(1, 2)), strict=True):
        pairs = zip(columns["g"], columns["h"], strict=True)
        assert count == sum(level_name(pair) == name for pair in pairs)
    check_round_trip(table)
    return True


def table_of_arrays(columns):
    features = {name: columns[name] for name in ("g", "h")}
    return lf.score_table(lf.score_data(columns["y"], columns["s"], sensitive_features=features))


def halves(at):
    return slice(at), slice(at, None)


# stored tables


@functools.cache
def tables():
    """Valid tables of every kind, as plain values."""
    rng = np.random.default_rng(0)
    label, score = rng.choice([-1, 0, 1], 40), np.round(rng.random(40), 3)
    group, many = {"g": np.arange(40) % 2}, rng.random(2500)
    crossed = {**group, "h": rng.choice(["x", "y"], 40)}
    made = [
        lf.score_data(label, score, sensitive_features=crossed, sample_weight=rng.random(40)),
        lf.score_data(label, score, sensitive_features=group, threshold=[0.5, 0.2]),
        lf.score_data(label, score, sensitive_features=group, y_pred=score > 0.4),
        lf.score_data(label, score, sensitive_features=group, threshold={0: 0.3, 1: 0.7}),
        lf.score_data(label, score, sensitive_features=group, label_prob=np.full(40, 0.5)),
        lf.score_data(many < 0.5, many, sensitive_features=many > 0.7),
    ]
    return [lf.score_table(data).to_dict() for data in made]


NUMBERS = st.one_of(
    st.sampled_from([0, 1, -1, 2, 0.5, -0.0, 1e-300, 1e300, 1e308, 2**53, 2**63, 10**30, True]),
    st.floats(allow_nan=True, allow_infinity=True),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=3), LEVELS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=4,
)


@st.composite
def table_values(draw):
    """Values of a table with some replaced."""
    values = copy.deepcopy(draw(st.sampled_from(range(len(tables()))).map(tables().__getitem__)))
    for _ in range(draw(st.integers(0, 3))):
        holder, key = values, None
        while isinstance(holder, (dict, list)) and holder:
            keys = list(holder) if isinstance(holder, dict) else range(len(holder))
            key = draw(st.sampled_from(keys))
            if not isinstance(holder[key], (dict, list)) or draw(st.integers(0, 5)) == 0:
                break
            holder = holder[key]
        if not holder or key is None:
            continue
        if draw(st.booleans()):
            holder[key] = draw(VALUES)
        else:
            del holder[key]
    return values


def a_table_is_read_or_refused(values):
    """From plain values as from text; an accepted table is written as it was read."""
    table = attempt(lf.ScoreTable.from_dict, values)
    parsed = attempt(from_text, json.dumps(values))
    assert (table is None) == (parsed is None), "values and text differ"
    if table is not None:
        assert table.to_dict() == parsed.to_dict()
    return table is not None


@st.composite
def table_texts(draw):
    """A stored table, and the same with some characters replaced."""
    values = draw(st.sampled_from(range(len(tables()))).map(tables().__getitem__))
    text = to_text(lf.ScoreTable.from_dict(values))
    at = draw(st.integers(0, len(text)))
    new = draw(st.one_of(st.text(max_size=3), st.sampled_from(["{", "]", '"', "e999", "NaN", ","])))
    return text, text[:at] + new + text[at + draw(st.integers(0, 3)) :]


def damage_is_detected(texts):
    """A changed file is refused, unless the change does not change its values."""
    good, changed = texts
    table = attempt(from_text, changed)
    assert table is None or table.to_dict() == from_text(good).to_dict()
    return table is not None


# results of queries


@functools.cache
def results_of_queries():
    """Small valid results: points alone, and points and cells."""
    from engines import ROLES, draw, duckdb_engine

    query = lf.sql_query(dialect="duckdb", table="t", sample_weight="weight", **ROLES)
    with duckdb_engine() as run:
        return [run(query, "t", draw(1, count)) for count in (12, 720)]


@st.composite
def results(draw):
    """A result of a query with some values replaced, and rows removed or repeated."""
    good = results_of_queries()[draw(st.integers(0, 1))]
    rows = [dict(row) for row in good]
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(rows) - 1))
        name = draw(st.sampled_from(sorted(good[0])))
        match draw(st.sampled_from(["value", "value", "all", "terms", "cut", "row", "twice"])):
            case "value":
                rows[at][name] = draw(VALUES)
            case "all":
                value = draw(VALUES)
                rows = [{**row, name: value} for row in rows]
            case "terms":
                terms = json.loads(good[0]["terms"])
                terms[draw(st.sampled_from(sorted(terms)))] = draw(VALUES)
                rows = [{**row, "terms": json.dumps(terms)} for row in rows]
            case "cut":
                rows[at].pop(name, None)
            case "row" if len(rows) > 1:
                del rows[at]
            case _:
                rows.append(dict(rows[at]))
    return rows


def a_result_is_read_or_refused(rows):
    table = attempt(lf.ScoreTable.from_rows, rows)
    if table is not None:
        check_round_trip(table)
    return table is not None


# Parquet and Arrow


@functools.cache
def arrow_files():
    """Small valid files."""
    import pyarrow
    from pyarrow import ipc, parquet

    columns = {"y": [1, 0, None, 1], "s": [0.9, 0.2, 0.3, 0.7], "g": ["a", "a", "b", "b"]}
    table = pyarrow.table({**columns, "h": pyarrow.array(["x"] * 4).dictionary_encode()})
    sinks = [io.BytesIO() for _ in range(3)]
    parquet.write_table(table, sinks[0])
    parquet.write_table(table, sinks[1], compression="gzip", row_group_size=2)
    with ipc.new_file(sinks[2], table.schema) as writer:
        writer.write_table(table)
    return [sink.getvalue() for sink in sinks]


@st.composite
def damaged_arrow_files(draw):
    content = bytearray(arrow_files()[draw(st.integers(0, 2))])
    for _ in range(draw(st.integers(1, 4))):
        content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    return bytes(content[: draw(st.sampled_from([None, None, -1, -8, len(content) // 2]))])


def an_arrow_file_is_read_or_refused(content):
    """pyarrow reads it, or its error is reported; nothing crashes."""
    return attempt(lf.summarize, io.BytesIO(content), **NAMES) is not None


RULES = {  # the rule, and what it takes
    "files": (chunks_of_a_file_agree, (files(), OPTIONS)),
    "sources": (all_sources_agree, (valid_files(), st.integers(0, 25))),
    "tables": (a_table_is_read_or_refused, (table_values(),)),
    "damage": (damage_is_detected, (table_texts(),)),
    "results": (a_result_is_read_or_refused, (results(),)),
    "arrow": (an_arrow_file_is_read_or_refused, (damaged_arrow_files(),)),
}
