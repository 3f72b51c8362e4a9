"""What comes from other hands, drawn at random: files, tables, results of queries, and their rules.

Each rule takes a drawn example and fails where it does not hold. `test_untrusted.py` draws few, the
same in each run; `bench/fuzz.py` draws for as long as it is told.
"""

from __future__ import annotations

import ast
import copy
import csv
import functools
import gzip
import io
import json
import math
import os
import tempfile
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
from conftest import PACKAGE
from hypothesis import strategies as st
from test_sql import naive_rows

import lightfair as lf
from lightfair.io import table as stored
from lightfair.io.aggregates import table_from_rows
from lightfair.io.files import UNLABELED

NAMES = {"y_true": "y", "y_score": "s", "sensitive_features": ["g", "h"]}
REFUSALS = (ValueError, OSError)

# refusals


@functools.cache
def raises(path):
    """The lines of a module that raise an exception."""
    tree = ast.parse(Path(path).read_text())
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    return {line for node in nodes for line in range(node.lineno, node.end_lineno + 1)}


def check_refusal(error):
    """A refusal is a sentence that this package wrote, not an exception that it met."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    path = trace.tb_frame.f_code.co_filename
    assert Path(path).is_relative_to(PACKAGE), f"met, not raised: {error!r}"
    assert trace.tb_lineno in raises(path), f"met, not raised: {error!r}"
    said = str(error)
    assert said and said == said.strip() and len(said) < 3000, error


def attempt(function, *arguments, **options):
    """The value of a function, or None where it refuses."""
    try:
        return function(*arguments, **options)
    except REFUSALS as error:
        check_refusal(error)
        return None


def close(one, two):
    """Two tables alike but for rounding."""
    left, right = one.to_dict(), two.to_dict()
    for part in ("points", "cells"):
        for name in left[part]:
            np.testing.assert_allclose(left[part][name], right[part][name], rtol=1e-9, atol=1e-12)
    assert {**left, "points": 0, "cells": 0} == {**right, "points": 0, "cells": 0}


# files

WORDS = st.sampled_from(
    [
        "",
        " ",
        "0",
        "1",
        "-1",
        "1.0",
        "0.5",
        "1e-3",
        "nan",
        "NA",
        "None",
        "True",
        "false",
        "yes",
        "2",
    ]
    + ["inf", "-0.0", "0,5", "50%", "1_0", "a", "b", '"', '""', "x\ny", "\r", ";", "\t", "\ufeff"]
    + [
        "\0",
        "\x1b[0m",
        "\x85",
        "ß",
        "日本",
        "a, b",
        "missing",
        "9" * 400,
        "0." + "1" * 400,
        "1e400",
    ]
)
LABELS = st.sampled_from(["0", "1", "", "NA", "1", "0"])
SCORES = st.one_of(
    st.floats(0.0, 1.0, allow_nan=False).map(repr), st.sampled_from(["0.5", "0", "1", ".25"])
)
LEVELS = st.one_of(
    st.sampled_from(["a", "b", "c", "ß", "a b", "1", "1.0", "nan"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=5),
)
ROWS = st.lists(st.tuples(LABELS, SCORES, LEVELS, LEVELS), min_size=1, max_size=25)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def written(rows, header=("y", "s", "g", "h"), separator=",", end="\n", quoting=csv.QUOTE_MINIMAL):
    """Rows as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator=end, quoting=quoting)
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


@st.composite
def files(draw):
    """A file that is CSV, or was."""
    cells = st.one_of(WORDS, LABELS, SCORES, LEVELS)
    header = draw(st.sampled_from([("y", "s", "g", "h"), ("id", "h", "s", "g", "y"), ("y", "s")]))
    width = len(header)
    rows = draw(ROWS)
    odd = draw(st.lists(st.lists(cells, max_size=width + 1), max_size=3))
    kept = [[dict(zip("ysgh", row, strict=True)).get(name, "7") for name in header] for row in rows]
    text = written(
        [*kept, *odd],
        header,
        draw(st.sampled_from([",", ",", ";", "\t", "|", ":"])),
        draw(ENDS),
        draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
    )
    encoding = draw(st.sampled_from(["utf-8"] * 4 + ["utf-8-sig", "utf-16", "utf-32", "latin-1"]))
    content = bytearray(text.encode(encoding, "replace"))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(content)))
        match draw(st.sampled_from(["put", "cut", "flip", "end"])):
            case "put":
                content[at:at] = draw(st.one_of(st.binary(max_size=4), WORDS.map(str.encode)))
            case "cut":
                del content[at : at + draw(st.integers(1, 9))]
            case "flip" if at < len(content):
                content[at] ^= 1 << draw(st.integers(0, 7))
            case "end":
                del content[at:]
    packed = draw(st.sampled_from([False, False, False, True]))
    return gzip.compress(bytes(content)) if packed else bytes(content)


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


def a_file_is_read_or_refused(content, options):
    """Whatever the size of chunks, with the same answer; what is read comes back from JSON."""
    tables = [
        attempt(lf.summarize, io.BytesIO(content), **NAMES, **options, chunk_rows=size)
        for size in (1, 3, 1000)
    ]
    refused = [table is None for table in tables]
    assert len(set(refused)) == 1, f"refused in chunks of 1, 3, 1000: {refused}"
    if not refused[0]:
        for table in tables[:2]:
            close(table, tables[2])
        comes_back(tables[2])
    return not refused[0]


def comes_back(table):
    """A table is the same after JSON, and adds to itself."""
    assert stored.from_text(stored.to_text(table)).to_dict() == table.to_dict()
    twice = table + table
    assert twice.rows == 2 * table.rows and twice.labeled == 2 * table.labeled
    comes = stored.from_text(stored.to_text(twice))
    assert comes.to_dict() == twice.to_dict()


@st.composite
def plain_files(draw):
    """Rows, and a file that holds them, which has nothing wrong but what its cells say."""
    rows = draw(ROWS)
    separator, end = draw(st.sampled_from([",", ";", "\t", "|"])), draw(ENDS)
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    if any(mark in level for row in rows for level in row[2:] for mark in "\r\n"):
        quoting = csv.QUOTE_ALL  # else the writer leaves the mark bare that ends no line of its own
    text = written(rows, separator=separator, end=end, quoting=quoting)
    return rows, text.encode(encoding)


def all_doors_agree(plain, at):
    """A file, its columns, its columns in Arrow, its parts: one table, or all refuse."""
    rows, content = plain
    columns = {
        "y": [None if label.lower() in UNLABELED else label for label, *_ in rows],
        "s": [float(score) for _, score, *_ in rows],
        "g": [level.strip() for *_, level, _ in rows],
        "h": [level.strip() for *_, level in rows],
    }
    tables = [
        attempt(lf.summarize, io.BytesIO(content), **NAMES),
        attempt(lf.summarize, columns, **NAMES),
        attempt(_of_arrays, columns),
    ]
    arrow = _arrow()
    if arrow is not None:
        tables.append(attempt(lf.summarize, arrow.table(columns), **NAMES))
    assert len({table is None for table in tables}) == 1, [table is None for table in tables]
    if tables[0] is None:
        return False
    for table in tables[1:]:
        close(table, tables[0])
    table = tables[0]
    assert table.rows == len(rows)
    assert table.labeled == sum(label is not None for label in columns["y"])
    for name, count in zip(table.groups, table.sums("rows").sum(axis=(1, 2)), strict=True):
        pairs = zip(columns["g"], columns["h"], strict=True)
        assert count == sum(f"{g}, {h}" == name for g, h in pairs)
    comes_back(table)
    chunks = [{name: column[part] for name, column in columns.items()} for part in _parts(at)]
    close(lf.summarize(chunks, **NAMES), table)
    return True


def _of_arrays(columns):
    features = {name: columns[name] for name in ("g", "h")}
    data = lf.score_data(columns["y"], columns["s"], sensitive_features=features)
    return lf.score_table(data)


def _parts(at):
    return [slice(at), slice(at, None)]


def _arrow():
    try:
        import pyarrow
    except ImportError:
        return None
    return pyarrow


# tables


@functools.cache
def tables():
    """Good tables, of each kind, as plain values."""
    rng = np.random.default_rng(0)
    label, score = rng.choice([-1, 0, 1], 40), np.round(rng.random(40), 3)
    group = {"g": np.arange(40) % 2, "h": rng.choice(["x", "y"], 40)}
    many = np.repeat(rng.random(2500), 1)
    made = [
        lf.score_data(label, score, sensitive_features=group),
        lf.score_data(label, score, sensitive_features=group, sample_weight=rng.random(40)),
        lf.score_data(label, score, sensitive_features=group["g"], threshold=[0.5, 0.2]),
        lf.score_data(label, score, sensitive_features=group["g"], y_pred=score > 0.4),
        lf.score_data(label, score, sensitive_features=group["g"], threshold={0: 0.3, 1: 0.7}),
        lf.score_data(label, score, sensitive_features=group["g"], label_prob=np.full(40, 0.5)),
        lf.score_data(many < 0.5, many, sensitive_features=many > 0.7),
    ]
    return [lf.score_table(data).to_dict() for data in made]


NUMBERS = st.one_of(
    st.sampled_from([0, 1, -1, 2, 0.5, -0.0, 1e-300, 1e300, 1e308, 2**53, 2**63, 10**30, True]),
    st.integers(-3, 300),
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
    """A table of which some values are others."""
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
        old = holder[key]
        match draw(st.sampled_from(["near", "other", "cut", "twice"])):
            case "near" if isinstance(old, (int, float)):
                near = [old + 1, old - 1, old * 2, -old, old * (1 + 1e-9)]
                holder[key] = draw(st.sampled_from(near))
            case "cut":
                del holder[key]
            case "twice" if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(old))
            case _:
                holder[key] = draw(VALUES)
    return values


def a_table_is_read_or_refused(values, assessed=False):
    """From plain values as from text; what is read comes back, and is assessed or refused."""
    table = attempt(lf.ScoreTable.from_dict, values)
    text = json.dumps(values)
    parsed = attempt(stored.from_text, text)
    assert (table is None) == (parsed is None), "values and text differ"
    if table is None:
        return False
    assert parsed.to_dict() == table.to_dict()
    attempt(comes_back, table)
    if assessed:
        attempt(_assess, table)
    return True


def _assess(table):
    with np.errstate(all="raise", under="ignore"):
        result = lf.assess(table, chains=2, draws=4, warmup=5, rng=0, trust=False)
    json.dumps(result.to_dict(), allow_nan=False)
    assert str(result)


def text_is_read_or_refused(text):
    """Whatever JSON, or none, it is."""
    table = attempt(stored.from_text, text)
    attempt(lf.summarize, io.BytesIO(text.encode("utf-8", "replace")), **NAMES)
    return table is not None


@st.composite
def table_texts(draw):
    """Text of a table in which characters are others."""
    text = json.dumps(draw(st.sampled_from(range(len(tables()))).map(tables().__getitem__)))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        new = draw(
            st.one_of(st.text(max_size=3), st.sampled_from(["{", "]", '"', "e999", "NaN", ","]))
        )
        text = text[:at] + new + text[at + draw(st.integers(0, 3)) :]
    return text


# results of queries


@functools.cache
def answers():
    """Good results, small."""
    rng = np.random.default_rng(1)
    columns = {
        "score": np.round(rng.random(12), 2).tolist(),
        "label": [None, 0, 1] * 4,
        "race": ["a", "b"] * 6,
        "weight": rng.integers(1, 4, 12).astype(float).tolist(),
    }
    large = {name: column * 60 for name, column in columns.items()}
    large["score"] = rng.random(720).tolist()
    return [
        naive_rows(columns),
        naive_rows(columns, weighted=True),
        naive_rows(large, weighted=True)[:],
        naive_rows(columns, threshold=0.3, missing="group"),
    ]


@st.composite
def results(draw):
    """A result of a query of which some values are others, some rows not there or there twice."""
    rows = [dict(row) for row in draw(st.sampled_from(range(4)).map(answers().__getitem__))]
    good = dict(rows[0])
    for _ in range(draw(st.integers(0, 3))):
        if not rows:
            break
        at = draw(st.integers(0, len(rows) - 1))
        name = draw(st.sampled_from(sorted(rows[at])))
        match draw(st.sampled_from(["value", "value", "all", "terms", "cut", "row", "twice"])):
            case "value":
                rows[at][name] = draw(VALUES)
            case "all":
                value = draw(VALUES)
                for row in rows:
                    row[name] = value
            case "terms":
                terms = json.loads(good["terms"])
                terms[draw(st.sampled_from(sorted(terms)))] = draw(VALUES)
                for row in rows:
                    row["terms"] = json.dumps(terms)
            case "cut":
                del rows[at][name]
            case "row":
                del rows[at]
            case "twice":
                rows.append(dict(rows[at]))
    return rows


def a_result_is_read_or_refused(rows):
    """What is read comes back from JSON."""
    table = attempt(table_from_rows, rows)
    if table is not None:
        attempt(comes_back, table)
        assert math.isfinite(table.rows)
    return table is not None


# columns

KINDS = [
    list,
    tuple,
    np.asarray,
    lambda values: np.array(values, dtype=object),
    lambda values: np.array([str(value) for value in values]),
]
ODD = [
    lambda values: dict(enumerate(values)),
    lambda values: iter(values),
    lambda values: values[0] if values else None,
    lambda values: [values, values],
]
COLUMNS = st.lists(st.one_of(VALUES, NUMBERS, LABELS, st.floats(0, 1)), max_size=6)


@st.composite
def arguments(draw):
    """Columns of any kind and length."""

    def column(values):
        kind, found = draw(st.sampled_from(KINDS * 4 + ODD)), draw(values)
        try:
            return kind(found)
        except (ValueError, OverflowError, TypeError):  # no such array
            return found

    size = draw(st.integers(1, 5))
    good = (
        st.sampled_from([0, 1, None, math.nan, -1, "1", True]),
        st.floats(0.0, 1.0),
        st.sampled_from(["a", "b", 1, None, 0.5]),
    )
    lists = [st.lists(each, min_size=size, max_size=size) for each in good]
    return tuple(column(COLUMNS if draw(st.integers(0, 7)) == 0 else each) for each in lists)


def columns_are_taken_or_refused(columns):
    """Whatever containers they are."""
    y_true, y_score, group = columns
    return attempt(lf.score_data, y_true, y_score, sensitive_features=group) is not None


# files of Arrow


@functools.cache
def packed():
    """Good files of Parquet and Arrow."""
    arrow = _arrow()
    if arrow is None:
        return []
    from pyarrow import ipc, parquet

    columns = {"y": [1, 0, None, 1], "s": [0.9, 0.2, 0.3, 0.7], "g": ["a", "a", "b", "b"]}
    table = arrow.table({**columns, "h": arrow.array(["x"] * 4).dictionary_encode()})
    files = []
    for write in (
        lambda sink: parquet.write_table(table, sink),
        lambda sink: parquet.write_table(table, sink, compression="gzip", row_group_size=2),
        lambda sink: _in(ipc.new_file, sink, table),
        lambda sink: _in(ipc.new_stream, sink, table),
    ):
        sink = io.BytesIO()
        write(sink)
        files.append(sink.getvalue())
    return files


def _in(make, sink, table):
    with make(sink, table.schema) as writer:
        writer.write_table(table)


@st.composite
def packed_files(draw):
    """A file of Parquet or Arrow of which some bytes are others."""
    content = bytearray(draw(st.sampled_from(range(len(packed()))).map(packed().__getitem__)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content) - 1))
        content[at] = draw(st.integers(0, 255))
    return bytes(content[: draw(st.sampled_from([None, None, -1, -8, len(content) // 2]))])


def a_packed_file_is_read_or_refused(content):
    """pyarrow reads it, or its error is said."""
    return attempt(lf.summarize, io.BytesIO(content), **NAMES) is not None


# lines of the command


@st.composite
def lines(draw):
    """Arguments of the command that may mean something; @ is a file of rows."""
    pairs = st.sampled_from(
        [("--label", "y"), ("--score", "s"), ("--group", "g"), ("--group", "h"), ("--json",)]
        + [("--draws", "4"), ("--warmup", "5"), ("--chains", "2"), ("--missing", "drop")]
        + [("--check", "tpr<=0.1"), ("--threshold", "0.3"), ("--threshold", "all"), ("--nested",)]
        + [("--metric", "tpr", "ppv"), ("--reference", "a"), ("--clip", "0.1"), ("-o", "-")]
        + [("--positive-label", "1"), ("--unlabeled", "0"), ("--weight", "s"), ("--pred", "y")]
    )
    words = st.one_of(WORDS.filter(lambda word: "\0" not in word), st.just("--"))
    command = draw(st.sampled_from(["assess", "summarize", "sql", "plan", "assess"]))
    good = ["@", "--label", "y", "--score", "s", "--group", "g", "--draws", "4", "--warmup", "5"]
    more = [word for pair in draw(st.lists(pairs, max_size=4)) for word in pair]
    odd = draw(st.lists(words, max_size=2))
    return [command, *draw(st.sampled_from([good, good, ["@"], []])), *more, *odd]


def a_line_is_carried_out_or_refused(words, content):
    """With an exit code, and where it is 2 a line on standard error."""
    from lightfair.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_bytes(content)
        with redirect_stdout(out), redirect_stderr(err), _in_folder(folder):
            try:
                code = main([str(path) if word == "@" else word for word in words])
            except SystemExit as stop:
                code = stop.code
    assert code in (0, 1, 2, 3), code
    said = err.getvalue()
    if code == 2:
        assert said.startswith("lightfair: error: ") and said.count("\n") == 1, said
        assert said[:-1].isprintable(), said
    return code != 2


@contextmanager
def _in_folder(folder):
    """Files that options name are written there."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


RULES = {  # the rule, and what it takes
    "files": (a_file_is_read_or_refused, (files(), OPTIONS)),
    "doors": (all_doors_agree, (plain_files(), st.integers(0, 25))),
    "tables": (a_table_is_read_or_refused, (table_values(), st.just(True))),
    "texts": (text_is_read_or_refused, (table_texts(),)),
    "results": (a_result_is_read_or_refused, (results(),)),
    "columns": (columns_are_taken_or_refused, (arguments(),)),
    "lines": (a_line_is_carried_out_or_refused, (lines(), files())),
}
if packed():
    RULES["arrow"] = (a_packed_file_is_read_or_refused, (packed_files(),))
