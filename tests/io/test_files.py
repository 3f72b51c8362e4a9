"""Reading: every kind of file gives the same table, and other files are refused."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading

import numpy as np
import pytest
from tables import assert_same

import lightfair as lf
from lightfair.io.files import columns_in

NAMES = {"y_true": "y", "y_score": "s", "sensitive_features": ["g", "h"]}


@pytest.fixture(scope="module")
def frame(rows):
    pandas = pytest.importorskip("pandas")
    columns = {"id": np.arange(400), "y": rows.y_true, "s": rows.y_score, "g": rows.group}
    return pandas.DataFrame({**columns, "h": np.arange(400) % 7 % 3 + 1})


@pytest.fixture(scope="module")
def expected(frame):
    return lf.summarize(frame, **NAMES)


def arrow_table(frame, types):
    """An Arrow table with some columns cast."""
    arrow = pytest.importorskip("pyarrow")
    table = arrow.Table.from_pandas(frame)
    for name, kind in types.items():
        at = table.schema.get_field_index(name)
        column = table[name].dictionary_encode() if kind == "dictionary" else table[name].cast(kind)
        table = table.set_column(at, name, column)
    return table


def arrow_file(frame, **types):
    table, sink = arrow_table(frame, types), io.BytesIO()
    with __import__("pyarrow").ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, 130)
    return sink.getvalue()


def parquet_file(frame, options=None, **types):
    table, sink = arrow_table(frame, types), io.BytesIO()
    parquet = __import__("pyarrow.parquet").parquet
    parquet.write_table(table, sink, row_group_size=170, **(options or {}))
    return sink.getvalue()


def csv_file(frame, **options):
    """As CSV; without a format numpy 1.24.0 warns of NaN."""
    return frame.to_csv(index=False, float_format="%.17g", **options).encode()


MAKERS = {
    "csv": csv_file,
    "csv.gz": lambda frame: gzip.compress(csv_file(frame)),
    "csv in two members": lambda f: gzip.compress(b"\xef\xbb\xbf") + gzip.compress(csv_file(f)),
    "windows": lambda frame: csv_file(frame, lineterminator="\r\n\r\n"),
    "parquet": parquet_file,
    "parquet, types": lambda frame: parquet_file(frame, y="int8", g="large_string", h="int16"),
    "parquet, no dictionary": lambda frame: parquet_file(frame, {"use_dictionary": False}),
    "arrow": arrow_file,
    "arrow, dictionary": lambda frame: arrow_file(frame, g="dictionary"),
}


@pytest.mark.parametrize("chunk_rows", [1, 100, 65_536])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_every_kind_of_file_gives_the_same(make, chunk_rows, frame, expected, tmp_path):
    if chunk_rows == 1:
        frame = frame[:30]
        expected = lf.summarize(frame, **NAMES)
    path = tmp_path / "rows"
    path.write_bytes(make(frame))
    options = {**NAMES, "chunk_rows": chunk_rows}
    assert_same(lf.summarize(path, **options), expected)
    with open(path, "rb") as file:
        assert_same(lf.summarize(file, **options), expected)
    assert_same(lf.summarize(io.BytesIO(path.read_bytes()), **options), expected)


def test_csv_comes_through_a_pipe_and_parquet_does_not(frame, expected, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for kind in ("csv.gz", "parquet"):
        writer = threading.Thread(target=path.write_bytes, args=[MAKERS[kind](frame)])
        writer.start()
        if kind == "csv.gz":
            assert_same(lf.summarize(path, **NAMES), expected)
        else:
            with pytest.raises(ValueError, match="pipe is not a whole Parquet file: .*seek"):
                lf.summarize(path, **NAMES)
        writer.join()


def test_files_that_the_caller_opened_stay_open(frame):
    for kind in ("csv", "csv.gz", "parquet", "arrow"):
        file = io.BytesIO(MAKERS[kind](frame))
        lf.summarize(file, **NAMES)
        assert not file.closed
        file.seek(0)
        lf.summarize(io.BufferedReader(file), **NAMES)


def test_several_files_are_one_data_set(frame, expected, tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "second.parquet"
    first.write_bytes(MAKERS["csv"](frame[:250]))
    second.write_bytes(MAKERS["parquet"](frame[250:]))
    assert_same(lf.summarize([first, second], **NAMES), expected)
    whole = {**NAMES, "bins": {"h": 2}}  # all rows in memory
    assert_same(lf.summarize([first, second], **whole), lf.summarize(frame, **whole))
    spoilt = frame[250:].assign(s=np.where(np.arange(150) == 42, 1.5, frame["s"][250:]))
    second.write_bytes(MAKERS["parquet"](spoilt))
    with pytest.raises(ValueError, match=r"second.parquet: y_score .* got 1.5 at row 42;"):
        lf.summarize([first, second], **NAMES)


def test_rows_are_numbered_from_the_start_of_the_file(frame, tmp_path):
    for maker in ("csv", "parquet", "arrow"):
        path = tmp_path / maker
        path.write_bytes(MAKERS[maker](frame.assign(s=np.where(frame["id"] == 321, 1.5, 0.5))))
        with pytest.raises(ValueError, match="got 1.5 at row 321; "):
            lf.summarize(path, **NAMES, chunk_rows=50)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.95])
@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv.gz"])
def test_truncated_files(kind, share, frame, tmp_path):
    content, name = MAKERS[kind](frame), "gzip" if "gz" in kind else kind.title()
    path = tmp_path / "rows"
    path.write_bytes(content[: max(int(share * len(content)), 20)])
    with pytest.raises(ValueError, match=f"rows is not a whole {name}"):
        lf.summarize(path, **NAMES)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_errors_of_parquet_and_arrow(kind, frame, tmp_path, monkeypatch):
    path = tmp_path / "rows"
    path.write_bytes(MAKERS[kind](frame[:0]))
    with pytest.raises(ValueError, match="rows has a header but no rows"):
        lf.summarize(path, **NAMES)
    path.write_bytes(MAKERS[kind](frame.drop(columns="h")))
    with pytest.raises(ValueError, match="rows has no column h; its columns are id, y, s, g$"):
        lf.summarize(path, **NAMES)
    assert columns_in(path) == "; its columns are id, y, s, g"
    for name in ("pyarrow", "pyarrow.parquet", "pyarrow.ipc"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"need pyarrow; install it, or give CSV"):
        lf.summarize(path, **NAMES)


@pytest.mark.parametrize("fault", ["place", "code", "letters"])
def test_damaged_arrow_is_refused_before_it_is_used(fault):
    """A place beyond the letters, a code beyond the values, letters that are not UTF-8."""
    arrow = pytest.importorskip("pyarrow")
    places = arrow.py_buffer(np.array([0, 1, 2**20 if fault == "place" else 2, 3, 4], np.int32))
    letters = arrow.py_buffer(b"aa\xff\xfe" if fault == "letters" else b"aabb")
    group = arrow.Array.from_buffers(arrow.string(), 4, [None, places, letters])
    if fault == "code":
        codes = arrow.array([0, 1, 1_000_000, 1], arrow.int32())
        group = arrow.DictionaryArray.from_arrays(codes, ["a", "b"], safe=False)
    columns = [arrow.array([0, 1, 0, 1]), arrow.array([0.1, 0.9, 0.2, 0.8]), group]
    batch, sink = arrow.RecordBatch.from_arrays(columns, ["y", "s", "g"]), io.BytesIO()
    with arrow.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    sink.seek(0)
    with pytest.raises(ValueError, match="^source is not a whole Arrow file: "):
        lf.summarize(sink, **{**NAMES, "sensitive_features": "g"})


def test_text_mode_and_tables_are_refused(frame, tmp_path):
    path = tmp_path / "rows"
    lf.summarize(frame, **NAMES).save(path)
    with pytest.raises(ValueError, match="rows holds a table, not rows; see load_table"):
        lf.summarize(path, **NAMES)
    message = "rows must be open in binary mode"
    with open(path, encoding="utf-8") as file, pytest.raises(ValueError, match=message):
        lf.summarize(file, **NAMES)


@pytest.mark.parametrize(
    "content, listed",
    [
        (b"id,label\n1,2\n", "; its columns are id, label"),
        (b"\xef\xbb\xbfid; label ;x\n1;2;3\n", "; its columns are id, label, x"),
        (gzip.compress(b"\nid\tlabel\n", mtime=0), "; its columns are id, label"),
        (",".join(f"c{j}" for j in range(25)).encode(), "c19 and 5 more"),
        (b'{"format": "lightfair.table"}', ""),
        (b"PK\x03\xff", ""),
    ],
)
def test_columns_are_listed_in_errors(content, listed, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(content)
    assert columns_in(path).endswith(listed) and bool(columns_in(path)) == bool(listed)
