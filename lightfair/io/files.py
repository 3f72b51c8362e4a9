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
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from itertools import chain, islice
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.data.columns import frame_columns
from ..core.data.messages import hint, show, visible

CHUNK_ROWS = 131_072

UNLABELED = ("", "na", "nan", "null", "none", "<na>")  # cells without a value, in lower case

SEPARATORS = ",;\t"

DAMAGE = (OSError, MemoryError, UnicodeDecodeError)  # beside errors of pyarrow's own types

MAGIC = {b"PAR1": "Parquet", b"ARROW1": "Arrow"}  # first bytes of binary files


class Columns(NamedTuple):
    """Column names of a file, by argument of `score_data`."""

    y_true: str
    y_score: str
    sensitive_features: tuple[str, ...]
    y_pred: str | None = None
    sample_weight: str | None = None
    label_prob: str | None = None

    @property
    def names(self) -> dict[str, str]:
        """The argument of each column; ValueError if a name is not text or has two roles."""
        arguments: dict[str, str] = {}
        for argument, value in self._asdict().items():
            names = value if isinstance(value, tuple) else (value,)
            for name in names if value is not None else ():
                if not isinstance(name, str):
                    raise ValueError(f"{argument} must name a column by text; got {show(name)}")
                if name in arguments:
                    raise ValueError(
                        f"{argument}: a column has one role; {visible(name)} is {arguments[name]}, "
                        "too"
                    )
                arguments[name] = argument
        return arguments


class Piece(NamedTuple):
    """Columns of some rows, or the text of a stored table.

    file: number of the source file, 0 for frames; where: its name, "" for frames; content: columns
    by name, or text.
    """

    file: int
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
    if _is_chunk(source) or _is_file(source):
        source = [source]
    file = 0
    for part in source if isinstance(source, Iterable) else [source]:
        if _is_file(part):
            file += 1
            for where, content in _contents(part, columns, chunk_rows, tables):
                yield Piece(file, where, content)
        elif not _is_chunk(part):
            raise ValueError(
                "source must be a path, an open binary file, a frame or mapping of columns, or an "
                f"iterable of these; got {type(part).__name__}"
            )
        elif columns is None:
            raise ValueError("source must be a file that holds a table; got rows")
        else:
            chosen = _chosen("a chunk", part, columns.names)
            if not all(hasattr(c, "__len__") and len(c) == 0 for c in chosen.values()):
                yield Piece(0, "", chosen)


def columns_in(path: Any) -> str:
    """Describe the columns of a file for an error message; "" if it cannot be read."""
    if not isinstance(path, (str, os.PathLike)) or not os.path.isfile(path):
        return ""
    try:
        with _opened(path) as (file, kind, where):
            if kind == "table":
                return ""
            read = _csv_reader(file, where, {})[1] if kind == "CSV" else _arrow_file(file, kind)[0]
            return f"; {_list_columns(read)}"
    except (OSError, ValueError, ImportError):
        return ""


def numbers(
    name: str, column: Sequence[str], first: int = 0, *, decimal_comma: bool = False
) -> NDArray[np.float64]:
    """Parse text as float64; ValueError for the first cell that is not a number.

    Cells without a value, such as NA, become NaN. With `decimal_comma`, 0,5 is a number, too. Rows
    in the error are numbered from `first`.
    """
    if "_" not in "".join(column):  # Python reads 0_1 as 1
        try:
            return np.fromiter(map(float, column), np.float64, len(column))
        except ValueError:
            pass
    values = np.full(len(column), np.nan)
    for row, text in enumerate(column):
        number = text.strip().replace("_", "?")
        if decimal_comma and "." not in number:
            number = number.replace(",", ".")
        try:
            if number.lower() not in UNLABELED:
                values[row] = float(number)
        except ValueError:
            raise ValueError(
                f"column {name} must hold numbers; got {show(text)} at row {first + row}; write "
                "them as 0.25, without percent signs, units and decimal commas"
            ) from None
    return values


def _is_file(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike)) or hasattr(value, "readable")


def _is_chunk(value: Any) -> bool:
    return isinstance(value, Mapping) or frame_columns(value) is not None


def _chosen(where: str, chunk: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """The requested columns of a frame or mapping."""
    pairs = frame_columns(chunk)
    columns = {str(k): v for k, v in chunk.items()} if pairs is None else dict(pairs)
    _check_names(where, list(columns) if pairs is None else [name for name, _ in pairs], names)
    return {name: columns[name] for name in names}


def _list_columns(names: Sequence[str]) -> str:
    if not names:
        return "it has no columns"
    more = f" and {len(names) - 20:,} more" if len(names) > 20 else ""
    return f"its columns are {', '.join(map(visible, names[:20]))}{more}"


def _check_names(where: str, header: Sequence[str], names: Mapping[str, str]) -> None:
    for name, argument in names.items():
        if header.count(name) == 1:
            continue
        problem = f"no column {visible(name)}{hint(name, header)}"
        if name in header:
            problem = f"more than one column {visible(name)}"
        marks = "; cells must be separated by commas, semicolons or tabs" * (len(header) == 1)
        raise ValueError(f"{argument}: {where} has {problem}; {_list_columns(header)}{marks}")


def _contents(
    source: Any, columns: Columns | None, chunk_rows: int, tables: bool
) -> Iterator[tuple[str, Any]]:
    """The name of a file with the text of its table or the columns of each of its chunks."""
    with _opened(source) as (file, kind, where):
        if kind == "table":
            if not tables:
                raise ValueError(f"{where} holds a table, not rows; see load_table")
            yield where, file.read()
            return
        if columns is None:
            raise ValueError(
                f"{where} holds rows, not a table; to read rows (see summarize), give y_true, "
                f"y_score and sensitive_features{columns_in(source)}"
            )
        read = _csv_chunks if kind == "CSV" else _arrow_chunks
        chunk = None
        for chunk in read(file, kind, where, columns, chunk_rows):
            yield where, chunk
        if chunk is None:
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
            kind = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), "CSV")
            if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
                kind = "table"
            if kind in ("CSV", "table"):
                file = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
                stack.callback(file.detach)
            yield file, kind, where
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{where} is not a whole gzip file: {error}") from error
        except csv.Error as error:
            raise ValueError(f"{where} is not CSV: {error}; look for an unclosed quote") from error
        except Exception as error:
            if kind in ("CSV", "table") and isinstance(error, UnicodeDecodeError):
                raise ValueError(
                    f"{where} is not UTF-8 text: {error.reason}; save it as CSV in UTF-8, or give "
                    "Parquet or Arrow"
                ) from error
            of_pyarrow = type(error).__module__.startswith("pyarrow")
            if kind not in MAGIC.values() or not (of_pyarrow or isinstance(error, DAMAGE)):
                raise
            text = " ".join(str(error).split())[:200]
            raise ValueError(f"{where} is not a whole {kind} file: {text}") from error


def _csv_chunks(
    file: Any, kind: str, where: str, columns: Columns, chunk_rows: int
) -> Iterator[dict[str, Any]]:
    names = columns.names
    numeric = (columns.y_score, columns.y_pred, columns.sample_weight, columns.label_prob)
    reader, header = _csv_reader(file, where, names)
    rows = _csv_rows(reader, len(header), where, itemgetter(*map(header.index, names)))
    first = 0
    while chunk := list(islice(rows, chunk_rows)):
        result: dict[str, Any] = {
            name: [*map(str.strip, column)]
            for name, column in zip(names, zip(*chunk, strict=True), strict=True)
        }
        labels = result[columns.y_true]
        result[columns.y_true] = ["" if text.lower() in UNLABELED else text for text in labels]
        for name in filter(None, numeric):
            # not in weights: 1,000 may be 1 or 1000
            comma = reader.dialect.delimiter != "," and name != columns.sample_weight
            try:
                result[name] = numbers(name, result[name], first, decimal_comma=comma)
            except ValueError as error:
                raise ValueError(f"{names[name]}: {error}") from None
        first += len(chunk)
        yield result


def _csv_reader(file: Any, where: str, names: Mapping[str, str]) -> tuple[Any, list[str]]:
    """A reader of the rows of a CSV file, and its header, trimmed."""
    first = next((line for line in file if line.strip()), "")
    if not first:
        raise ValueError(f"{where} is empty; it must have a header line and rows")

    def split(mark: str, lines: Iterable[str], strict: bool = False) -> tuple[Any, list[str]]:
        reader = csv.reader(lines, delimiter=mark, skipinitialspace=True, strict=strict)
        return reader, [name.strip() for name in next(reader)]

    def match(mark: str) -> tuple[bool, int]:
        header = split(mark, [first])[1]
        return set(names) <= set(header), len(header)

    reader, header = split(max(SEPARATORS, key=match), chain([first], file), strict=True)
    _check_names(where, header, names)
    return reader, header


def _csv_rows(reader: Any, width: int, where: str, pick: Any) -> Iterator[tuple[str, ...]]:
    """Cells of the requested columns, row by row; blank lines are skipped."""
    try:
        for cells in reader:
            if len(cells) == width:
                yield pick(cells)
            elif len(cells) > 1 or any(map(str.strip, cells)):
                raise ValueError(
                    f"{where} must have as many cells in each line as in its header, {width}; got "
                    f"{len(cells)} in line {reader.line_num}"
                )
    except csv.Error as error:
        raise csv.Error(f"{error} in line {reader.line_num}") from error


def _arrow_chunks(
    file: Any, kind: str, where: str, columns: Columns, chunk_rows: int
) -> Iterator[dict[str, Any]]:
    names = list(columns.names)
    header, batches = _arrow_file(file, kind, names, chunk_rows)
    _check_names(where, header, columns.names)
    for batch in batches:
        batch = batch.select(names)
        # lengths and offsets are taken from the file: if they are wrong, reading the values would
        # read memory that is not the file's
        batch.validate(full=True)
        for at in range(0, batch.num_rows, chunk_rows):
            yield _chosen(where, batch.slice(at, chunk_rows), columns.names)


def _arrow_file(
    file: Any, kind: str, names: list[str] | None = None, chunk_rows: int = CHUNK_ROWS
) -> tuple[list[str], Iterator[Any]]:
    """Column names and record batches of a Parquet or Arrow file."""
    try:
        ipc, parquet = import_module("pyarrow.ipc"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError(
            "Parquet and Arrow files are read by pyarrow, which is not installed; install it (the "
            "extra parquet), or give CSV"
        ) from error
    if kind == "Arrow":
        opened = ipc.open_file(file)
        return opened.schema.names, map(opened.get_batch, range(opened.num_record_batches))
    # without pre_buffer and with a buffer, a row group is read page by page
    opened = parquet.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20)
    return opened.schema_arrow.names, opened.iter_batches(chunk_rows, columns=names)
