"""Read rows in chunks, so that files of any size fit into memory.

A source is a path, an open binary file, a frame or mapping of columns, or an iterable of these. A
file is recognized by its first bytes, whatever its name: gzip, Parquet, an Arrow file, or a table
of this package (JSON); anything else is CSV. CSV and tables are read from start to end, so they may
come from a pipe; Parquet and Arrow files must be seekable.

CSV is UTF-8, with or without a byte order mark. Cells are separated by commas, semicolons or tabs,
whichever yields the requested columns in the header. If the separator is not a comma, scores and
probabilities may have decimal commas.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from itertools import chain, islice
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ..core.data.columns import alike, factorize, frame_columns
from ..core.data.messages import hint, show, visible

CHUNK_ROWS = 131_072

UNLABELED = ("", "na", "nan", "null", "none", "<na>")  # cells without a value, in lower case

DAMAGE = (OSError, MemoryError, UnicodeDecodeError)  # beside errors of pyarrow's own types

SOURCES = "a path, an open binary file, a frame or mapping of columns, or an iterable of these"

SAVE = "save it as CSV in UTF-8, or give Parquet or Arrow"

ID_NAME = re.compile(r"(?i:(.*[^a-z])?id)|.*[a-z]I[Dd]")  # id, patient_id, personId

LOOKED_AT = 10_000  # first rows in which ids may repeat

MAGIC = {b"PAR1": "Parquet", b"ARROW1": "Arrow"}  # first bytes of binary files


class Columns(NamedTuple):
    """Column names of a file, by argument of `score_data`."""

    y_true: str | None  # None: no row has a label
    y_score: str | tuple[str, ...] | None
    sensitive_features: tuple[str, ...]
    y_pred: str | None = None
    sample_weight: str | None = None
    label_prob: str | None = None
    cluster: str | None = None
    model_column: str | None = None
    row_id: str | None = None
    within: str | None = None  # one more attribute

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns of all attributes."""
        return self.sensitive_features + (() if self.within is None else (self.within,))

    @property
    def names(self) -> dict[str, str]:
        """The argument of each column; ValueError if a name is not text or has two roles."""
        arguments: dict[str, str] = {}
        if not self.sensitive_features:
            raise ValueError("sensitive_features must name at least one column; got none")
        for argument, value in self._asdict().items():
            for name in value if isinstance(value, tuple) else (value,) * (value is not None):
                if not isinstance(name, str):
                    raise ValueError(f"{argument} must name a column by text; got {show(name)}")
                if other := arguments.get(name):
                    raise ValueError(f"{argument}: a column has one role; {name} is {other}, too")
                arguments[name] = argument
        return arguments


def names_of(features: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names of sensitive features, given as one or several."""
    return (features,) if isinstance(features, str) else tuple(features)


class Piece(NamedTuple):
    """Columns of some rows, or the text of a stored table.

    first: number of the first row, counted in each file from 0, and over frames; where: name of
    the file, "" for frames; content: columns by name, or text.
    """

    first: int
    where: str
    content: dict[str, Any] | str


def pieces(
    source: Any, columns: Columns | None, chunk_rows: int = CHUNK_ROWS, *, tables: bool = True
) -> Iterator[Piece]:
    """Read a source in chunks.

    Parameters
    ----------
    source
        A path, an open binary file, a frame or mapping of columns, or an iterable of these.
    columns
        None if only tables are accepted.
    chunk_rows
        Maximum number of rows in a chunk of a file, at least 1. Frames are not split.
    tables
        Whether files that hold tables are accepted.

    Raises
    ------
    ValueError
        If a source cannot be read; the message begins with the file's name.
    ImportError
        If pyarrow is needed and not installed.
    """
    if _is_chunk(source) or _is_file(source) or not isinstance(source, Iterable):
        source = [source]
    rows = 0
    for part in source:
        if _is_file(part):
            yield from _read(part, columns, chunk_rows, tables)
        elif not _is_chunk(part):
            raise ValueError(f"source must be {SOURCES}; got {type(part).__name__}")
        elif columns is None:
            raise ValueError("source must be a file that holds a table; got rows")
        else:
            chosen = _chosen("a chunk", part, columns.names)
            if size := max(len(c) if hasattr(c, "__len__") else 1 for c in chosen.values()):
                yield Piece(rows, "", chosen)
                rows += size


def take_rows(
    source: Sequence[Any], names: Mapping[str, str], rows: Sequence[int], added: dict[str, Any]
) -> tuple[str, list[str]]:
    """Return rows of files as CSV, with all their columns, and the names of those in front.

    Parameters
    ----------
    source, names
        Files with the same columns, and the columns by which they were read.
    rows
        Numbers of rows, increasing, counted over all files.
    added
        Values of columns in front, by name; a name that the files have gets "next_" before it,
        until it is free.
    """
    lines: Iterator[Sequence[Any]]
    text, header, first, place = io.StringIO(), list[str](), 0, 0
    for part in source:
        if not isinstance(part, (str, os.PathLike)):
            part.seek(0)
        with _opened(part) as (file, kind, where):
            if kind == "CSV":
                own, mark, lines = _csv_lines(file, where, names)
            else:
                own, batches = _arrow_batches(file, kind)
                mark, lines = ",", (row for batch in batches for row in _batch_rows(batch))
            if not header:
                header, writer = own, csv.writer(text, delimiter=mark, lineterminator="\n")
                titles = [_free(name, own) for name in added]
                writer.writerow([*titles, *header])
            elif own != header:
                rule = "files must have the same columns if rows are written whole"
                raise ValueError(f"{rule}; in {where}, {_list_columns(own)}")
            for number, line in enumerate(lines, first):
                if place < len(rows) and number == rows[place]:
                    writer.writerow([*(column[place] for column in added.values()), *line])
                    place += 1
            first = number + 1
    return text.getvalue(), titles


def _free(name: str, taken: Sequence[str]) -> str:
    """The name, with "next_" before it until it is free."""
    return name if name not in taken else _free(f"next_{name}", taken)


def _batch_rows(batch: Any) -> Iterator[Sequence[Any]]:
    """Rows of a batch, with None for missing values."""
    batch.validate(full=True)
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


def columns_in(path: Any) -> str:
    """Describe the columns of a file for an error message; "" if it cannot be read."""
    header = _header(path)
    return "" if header is None else f"; {_list_columns(header)}"


def repeated_id(path: Any, columns: Columns | None) -> str | None:
    """Return a column named like an id that repeats values; None with clusters, or without any."""
    if columns is None or columns.cluster is not None:
        return None
    for name in _header(path) or ():
        if ID_NAME.fullmatch(name) and name not in columns.names:
            more = columns._replace(sensitive_features=(*columns.sensitive_features, name))
            rows: Any = next(pieces(path, more, LOOKED_AT)).content
            codes, _ = factorize(name, rows[name])
            if (np.bincount(codes[codes >= 0], minlength=1) > 1).any():
                return name
    return None


def _header(path: Any) -> list[str] | None:
    """The names of the columns of a file; None if it has no rows or cannot be read."""
    if not isinstance(path, (str, os.PathLike)) or not os.path.isfile(path):
        return None
    try:
        with _opened(path) as (file, kind, where):
            if kind == "table":
                return None
            return (_csv if kind == "CSV" else _arrow)(file, kind, where, {}, 1)[0]
    except (OSError, ValueError, ImportError):
        return None


def _is_file(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike)) or hasattr(value, "readable")


def _is_chunk(value: Any) -> bool:
    return isinstance(value, Mapping) or frame_columns(value) is not None


def _chosen(where: str, chunk: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """The requested columns of a frame or mapping."""
    pairs = frame_columns(chunk)
    pairs = [(str(k), v) for k, v in chunk.items()] if pairs is None else pairs
    _check_names(where, [name for name, _ in pairs], names)
    return _agreeing(where, pairs, names)


def _agreeing(
    where: str, pairs: Iterable[tuple[str, Any]], names: Mapping[str, str]
) -> dict[str, Any]:
    """The requested columns; those of one name must hold the same values."""
    found: dict[str, Any] = {}
    for name, column in pairs:
        if name in names and not alike(name, found.setdefault(name, column), column):
            twice = f"{where} has more than one column {visible(name)}"
            raise ValueError(f"{names[name]}: {twice}, which differ; rename or drop one")
    return {name: found[name] for name in names}


def _list_columns(names: Sequence[str]) -> str:
    if not names:
        return "it has no columns"
    more = f" and {len(names) - 20:,} more" if len(names) > 20 else ""
    return f"its columns are {', '.join(map(visible, names[:20]))}{more}"


def _check_names(where: str, header: Sequence[str], names: Mapping[str, str]) -> None:
    for name, argument in names.items():
        if name not in header:
            problem = f"no column {visible(name)}{hint(name, header)}"
            marks = "; cells must be separated by commas, semicolons or tabs" * (len(header) == 1)
            raise ValueError(f"{argument}: {where} has {problem}; {_list_columns(header)}{marks}")


def _read(source: Any, columns: Columns | None, chunk_rows: int, tables: bool) -> Iterator[Piece]:
    """The table of a file, or its rows in chunks."""
    with _opened(source) as (file, kind, where):
        if kind == "table" and not tables:
            raise ValueError(f"{where} holds a table, not rows; see load_table")
        if kind == "table":
            yield Piece(0, where, file.read())
            return
        if columns is None:
            needed = f"give y_true, y_score and sensitive_features{columns_in(source)}"
            raise ValueError(f"{where} holds rows, not a table; to read them, {needed}")
        names, first = columns.names, 0
        read = _csv if kind == "CSV" else _arrow
        header, chunks = read(file, kind, where, names, chunk_rows)
        _check_names(where, header, names)
        for chunk in chunks:
            yield Piece(first, where, chunk)
            first += len(next(iter(chunk.values())))
        if not first:
            raise ValueError(f"{where} has a header but no rows")


@contextmanager
def _opened(source: Any) -> Iterator[tuple[Any, str, str]]:
    """Open a source: a file, its kind, and its name.

    Files of kind "table" and "CSV" are open as text, "Parquet" and "Arrow" as bytes. A file that
    the caller opened stays open. Errors of the readers, of many types, become ValueError.
    """
    with ExitStack() as stack:
        file, where, kind = source, str(getattr(source, "name", "source")), ""
        if isinstance(source, io.TextIOBase):
            raise ValueError(f"{where} must be open in binary mode")
        if isinstance(source, (str, os.PathLike)):
            where = os.fspath(source)
            if os.path.isdir(where):
                raise ValueError(f"{where} is a folder; give a CSV file, or Parquet or Arrow")
            file = stack.enter_context(open(where, "rb"))
        elif not hasattr(source, "peek"):
            file = io.BufferedReader(source)
            stack.callback(file.detach)
        try:
            if file.peek(2)[:2] == b"\x1f\x8b":
                file = stack.enter_context(gzip.GzipFile(fileobj=file))
            head = file.peek(8)[:8]
            if head.startswith((b"PK\x03\x04", b"[{")):
                other = "JSON" if head.startswith(b"[") else "a zip archive"
                raise ValueError(f"{where} is {other}; {SAVE}")
            kind = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), "CSV")
            if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
                kind = "table"
            if kind in ("CSV", "table"):
                file = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
                stack.callback(file.detach)
            yield file, kind, where
        except Exception as error:
            problem = _problem(error, kind)
            if problem is None:
                raise
            raise ValueError(f"{where} is not {problem}") from error


def _problem(error: Exception, kind: str) -> str | None:
    """What a file is not, given an error of its reader, and why; None for any other error."""
    if isinstance(error, (EOFError, gzip.BadGzipFile, zlib.error)):
        return f"a whole gzip file: {error}"
    if isinstance(error, csv.Error):
        return f"CSV: {error}; look for an unclosed quote"
    if kind in MAGIC.values():
        if isinstance(error, DAMAGE) or type(error).__module__.startswith("pyarrow"):
            return f"a whole {kind} file: {' '.join(str(error).split())[:200]}"
    elif isinstance(error, UnicodeDecodeError):
        return f"UTF-8 text: {error.reason}; {SAVE}"
    return None


def _csv(
    file: Any, kind: str, where: str, names: Mapping[str, str], chunk_rows: int
) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """The header of a CSV file, trimmed, and the requested columns of its rows in chunks."""
    header, mark, rows = _csv_lines(file, where, names)
    places = [place for place, name in enumerate(header) if name in names]
    kept = [header[place] for place in places]

    def chunks() -> Iterator[dict[str, Any]]:
        pick = itemgetter(*places)
        while chunk := [pick(cells) for cells in islice(rows, chunk_rows)]:
            texts = zip(kept, zip(*chunk, strict=True), strict=True)
            found = _agreeing(where, texts, names)
            yield {name: _trimmed(column, names[name], mark) for name, column in found.items()}

    return header, chunks()


def _trimmed(column: Sequence[str], argument: str, mark: str) -> list[str]:
    """A column of CSV, "" for cells without a value; decimal commas unless they separate cells."""
    text = [*map(str.strip, column)]
    if argument not in ("sensitive_features", "cluster", "model_column", "row_id"):
        text = ["" if t.lower() in UNLABELED else t for t in text]
    if mark != "," and argument in ("y_score", "label_prob"):  # a weight 1,000 may be 1000
        text = [t if "." in t else t.replace(",", ".") for t in text]
    return text


def _csv_lines(
    file: Any, where: str, names: Mapping[str, str]
) -> tuple[list[str], str, Iterator[list[str]]]:
    """The header of a CSV file, trimmed, its separator, and the cells of its rows."""
    first = next((line for line in file if line.strip()), "")
    if not first:
        raise ValueError(f"{where} is empty; it must have a header line and rows")

    def match(mark: str) -> tuple[bool, int]:
        header = next(csv.reader([first], delimiter=mark, skipinitialspace=True))
        return set(names) <= {*map(str.strip, header)}, len(header)

    mark = max(",;\t", key=match)
    reader = csv.reader(chain([first], file), delimiter=mark, skipinitialspace=True, strict=True)
    header = [name.strip() for name in next(reader)]
    return header, mark, _csv_rows(reader, len(header), where)


def _csv_rows(reader: Any, width: int, where: str) -> Iterator[list[str]]:
    """Cells of each row; blank lines are skipped."""
    try:
        for cells in reader:
            if len(cells) == width:
                yield cells
            elif len(cells) > 1 or any(map(str.strip, cells)):
                got = f"{len(cells)} in line {reader.line_num}"
                raise ValueError(f"{where} must have {width} cells, as its header; got {got}")
    except csv.Error as error:
        raise csv.Error(f"{error} in line {reader.line_num}") from error


def _arrow(
    file: Any, kind: str, where: str, names: Mapping[str, str], chunk_rows: int
) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """The header of a Parquet or Arrow file, and the requested columns of its rows in chunks."""
    header, batches = _arrow_batches(file, kind, [*names], chunk_rows)

    def chunks() -> Iterator[dict[str, Any]]:
        for batch in batches:
            batch = batch.select([k for k, name in enumerate(batch.schema.names) if name in names])
            # lengths and offsets are taken from the file: if they are wrong, reading the values
            # would read memory that is not the file's
            batch.validate(full=True)
            for at in range(0, batch.num_rows, chunk_rows):
                yield _chosen(where, batch.slice(at, chunk_rows), names)

    return header, chunks()


def _arrow_batches(
    file: Any, kind: str, names: Sequence[str] = (), chunk_rows: int = CHUNK_ROWS
) -> tuple[list[str], Iterator[Any]]:
    """The header of a Parquet or Arrow file, and its batches; `names` are the columns that matter.

    Without names, and where columns share a name, batches have all columns.
    """
    try:
        ipc, parquet = import_module("pyarrow.ipc"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError("Parquet and Arrow need pyarrow; install it, or give CSV") from error
    if kind == "Arrow":
        opened = ipc.open_file(file)
        return opened.schema.names, map(opened.get_batch, range(opened.num_record_batches))
    # without pre_buffer and with a buffer, a row group is read page by page
    opened = parquet.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20)
    header = opened.schema_arrow.names
    once = max(map(header.count, names), default=2) == 1
    return header, opened.iter_batches(chunk_rows, columns=list(names) if once else None)
