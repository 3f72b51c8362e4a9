"""Reading: files, streams and frames as chunks of columns, so that any size fits into memory.

A source is a path, an open binary file, a frame, or an iterable of these. What a file is its first
bytes tell, whatever its name: gzip, Parquet, an Arrow file or stream, a table of this package;
anything else is CSV. Each byte is read once, so that a pipe will do; Parquet and Arrow files, which
are read from their end, are copied to disk from a pipe.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib import import_module
from operator import itemgetter
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import frame_columns
from .wording import show

CHUNK_ROWS = 131_072
UNLABELED = ("", "na", "nan", "null", "none", "<na>")  # labels that say that there is none
HEAD = 8  # bytes that tell what a file is
KINDS = {  # first bytes
    b"\x1f\x8b": "gzip",
    b"PAR1": "Parquet",
    b"PARE": "an encrypted Parquet file",
    b"ARROW1": "Arrow",
    b"\xff\xff\xff\xff": "Arrow stream",
    b"FEA1": "a Feather file of version 1",
    b"PK\x03\x04": "a zip file or an Excel sheet",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
    b"ORC": "an ORC file",
    b"SQLite": "an SQLite database",
}
READABLE = ("gzip", "Parquet", "Arrow", "Arrow stream")


class Columns(NamedTuple):
    """Names of the columns of a file by what they hold."""

    y_true: str
    y_score: str
    sensitive_features: tuple[str, ...]
    y_pred: str | None = None
    sample_weight: str | None = None
    label_prob: str | None = None

    @property
    def names(self) -> list[str]:
        """All names; a name has one role."""
        names = [self.y_true, self.y_score, *self.sensitive_features]
        others = (self.y_pred, self.sample_weight, self.label_prob)
        names += [name for name in others if name is not None]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"a column has one role; {twice[0]} was given two")
        return names

    @property
    def numeric(self) -> tuple[str | None, ...]:
        """Columns that must hold numbers."""
        return self.y_score, self.y_pred, self.sample_weight, self.label_prob


class Piece(NamedTuple):
    """Columns of some rows. file: number of the file they are of; where: its name, "" for frames.

    columns is None for a file that holds a table: then `table` is its text.
    """

    file: int
    where: str
    columns: dict[str, Any] | None
    table: str = ""


def pieces(source: Any, columns: Columns | None, chunk_rows: int = CHUNK_ROWS) -> Iterator[Piece]:
    """Read a source in chunks.

    Parameters
    ----------
    source
        A path, an open binary file, a frame or mapping of columns, or an iterable of these.
    columns
        None if there must be no rows, only tables.
    chunk_rows
        Rows of a chunk of a file, at least 1. Frames are taken as they come.

    Raises
    ------
    ValueError
        If a file is not what it must be; the message begins with its name.
    ImportError
        If pyarrow is needed and absent.
    """
    names = None if columns is None else columns.names
    if _is_chunk(source) or _is_file(source):
        source = [source]
    elif isinstance(source, (bytes, set, frozenset)) or not isinstance(source, Iterable):
        kind = type(source).__name__
        raise ValueError(
            f"source must be a path, an open binary file, or an iterable of frames; got {kind}"
        )
    file = 0
    for part in source:
        if _is_file(part):
            file += 1
            yield from _file_pieces(file, part, columns, chunk_rows)
        elif _is_chunk(part):
            if names is None:
                raise ValueError("source must be a file that holds a table; got rows")
            found = _of_frame("a chunk", part, names)
            if not all(map(_is_empty, found.values())):  # a filter may leave nothing of a chunk
                yield Piece(0, "", found)
        else:
            raise ValueError(
                "source must hold paths, open files, frames or mappings of columns; got "
                f"{type(part).__name__}"
            )


def numbers(name: str, column: Sequence[str], first: int = 0) -> NDArray[np.float64]:
    """Turn text into float64, empty text into NaN; name the first cell that is not a number."""
    if "_" not in "".join(column):  # Python reads 0_1 as 1
        try:
            return np.fromiter(map(float, column), np.float64, len(column))
        except ValueError:
            pass
    values = np.empty(len(column))
    for row, text in enumerate(column):
        try:
            values[row] = float(text.replace("_", "?")) if text.strip() else np.nan
        except ValueError:
            raise ValueError(
                f"column {name} must hold numbers; got {show(text)} at row {first + row}; write "
                "them as 0.25, without percent signs, units and decimal commas"
            ) from None
    return values


def _is_file(value: Any) -> bool:
    # readers of frames have `read`, too
    return isinstance(value, (str, os.PathLike)) or all(
        hasattr(value, name) for name in ("read", "readable")
    )


def _is_chunk(value: Any) -> bool:
    return isinstance(value, Mapping) or frame_columns(value) is not None


def _is_empty(column: Any) -> bool:
    try:
        return len(column) == 0
    except TypeError:  # no column: the door says so
        return False


def _of_frame(where: str, chunk: Any, names: list[str]) -> dict[str, Any]:
    pairs = frame_columns(chunk)
    pairs = [(str(name), column) for name, column in chunk.items()] if pairs is None else pairs
    _check_names(where, [name for name, _ in pairs], names)
    found = dict(pairs)
    return {name: found[name] for name in names}


def _check_names(where: str, header: Sequence[str], names: Sequence[str]) -> None:
    for name in names:
        if header.count(name) != 1:
            how = "no column" if name not in header else "more than one column"
            hint = "; cells must be separated by commas" if len(header) == 1 else ""
            raise ValueError(f"{where} has {how} {name}; its columns are {', '.join(header)}{hint}")


def _file_pieces(
    file: int, source: Any, columns: Columns | None, chunk_rows: int
) -> Iterator[Piece]:
    """Open a file, see what it is, read it."""
    with ExitStack() as stack:
        if isinstance(source, (str, os.PathLike)):
            where = os.fspath(source)
            if os.path.isdir(where):
                raise ValueError(f"{where} is a folder; give a CSV file, or Parquet or Arrow")
            raw: Any = stack.enter_context(open(where, "rb"))
        else:
            raw, where = source, str(getattr(source, "name", "source"))
        head = _Head(raw, where)
        kind = head.kind
        if kind == "gzip":
            head = _Head(gzip.GzipFile(fileobj=io.BufferedReader(head)), where)
            kind = head.kind
            if kind == "gzip":
                raise ValueError(f"{where} was gzipped twice; gunzip it once")
        if kind not in (*READABLE, "", "table"):
            raise ValueError(f"{where} is {kind}; give CSV, CSV.gz, Parquet or Arrow")
        if kind == "table":
            yield Piece(file, where, None, _text(where, head))
            return
        if columns is None:
            raise ValueError(
                f"{where} holds rows, not a table; rows are read by summarize, given the names of "
                "their columns"
            )
        if kind == "":
            chunks = _csv_chunks(where, head, columns, chunk_rows)
        elif kind == "Arrow stream":
            chunks = _arrow_chunks(where, _stream(head), columns.names, chunk_rows)
        else:
            whole = raw if head.file is raw and _is_plain(raw) else _on_disk(head, stack)
            whole.seek(0)
            read = _parquet if kind == "Parquet" else _arrow
            batches = read(whole, columns.names, where, chunk_rows)
            chunks = _arrow_chunks(where, batches, columns.names, chunk_rows)
        some = False
        for chunk in chunks:
            some = True
            yield Piece(file, where, chunk)
        if not some:
            raise ValueError(f"{where} has a header but no rows")


class _Head(io.RawIOBase):
    """A binary file whose first bytes have been looked at."""

    def __init__(self, file: Any, where: str) -> None:
        self.file = file
        self.where = where
        self.head = b""
        while len(self.head) < HEAD and (more := self._more(HEAD - len(self.head))):
            self.head += more
        self.kind = next((k for magic, k in KINDS.items() if self.head.startswith(magic)), "")
        if self.head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
            self.kind = "table"

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = len(buffer)
        if self.head:
            got, self.head = self.head[:size], self.head[size:]
        else:
            got = self._more(size)
        buffer[: len(got)] = got
        return len(got)

    def _more(self, size: int) -> bytes:
        try:
            got = self.file.read(size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{self.where} is not a whole gzip file: {error}") from error
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.where) from error
        if not isinstance(got, bytes):
            raise ValueError(f"{self.where} must be open in binary mode")
        return got


def _is_plain(file: Any) -> bool:
    """Whether a file is read from anywhere at no cost."""
    return isinstance(file, (io.BufferedReader, io.FileIO, io.BytesIO)) and file.seekable()


def _on_disk(head: _Head, stack: ExitStack) -> IO[bytes]:
    """Copy what comes from a pipe: these formats are read from their end."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115, the stack closes it
    stack.enter_context(copy)
    shutil.copyfileobj(io.BufferedReader(head), copy)
    return copy


def _text(where: str, head: _Head) -> str:
    try:
        return io.BufferedReader(head).read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_text(where, error) from error


def _not_text(where: str, error: UnicodeDecodeError) -> ValueError:
    return ValueError(f"{where} is not UTF-8 text: {error.reason}; save it as UTF-8")


def _csv_chunks(
    where: str, head: _Head, columns: Columns, chunk_rows: int
) -> Iterator[dict[str, Any]]:
    lines = io.TextIOWrapper(io.BufferedReader(head, 1 << 17), encoding="utf-8-sig", newline="")
    reader, first = csv.reader(lines, strict=True), 0
    try:
        for cells in _cells(where, reader, columns.names, chunk_rows):
            chunk: dict[str, Any] = {}
            for name, column in cells.items():
                if name == columns.label_prob:  # of rows without a label it may be missing
                    column = [text * (text.lower() not in UNLABELED) for text in column]
                if name in columns.numeric:
                    chunk[name] = numbers(name, column, first)
                elif name == columns.y_true:
                    label = {text: text * (text.lower() not in UNLABELED) for text in set(column)}
                    chunk[name] = [*map(label.__getitem__, column)]
                else:
                    chunk[name] = column
            first += len(chunk[columns.y_true])
            yield chunk
    except UnicodeDecodeError as error:
        raise _not_text(where, error) from error
    except csv.Error as error:
        raise ValueError(
            f"{where} is not CSV: {error}, at line {reader.line_num}; look for a quote that is not "
            f"closed, from row {first} on"
        ) from error


def _cells(
    where: str, reader: Any, names: Sequence[str], chunk_rows: int
) -> Iterator[dict[str, list[str]]]:
    """Read cells of some columns of a CSV file, trimmed."""
    header = next(reader, None)
    if header is None:
        raise ValueError(f"{where} is empty; it must have a header line and rows")
    header = [name.strip() for name in header]
    _check_names(where, header, names)
    pick, width = itemgetter(*map(header.index, names)), len(header)
    while True:
        rows = []
        for line in reader:
            if len(line) != width:
                if not line:
                    continue
                raise ValueError(
                    f"{where} must have as many cells in each line as in its header, {width}; "
                    f"got {len(line)} in line {reader.line_num}"
                )
            rows.append(pick(line))
            if len(rows) == chunk_rows:
                break
        if not rows:
            return
        columns = zip(*rows, strict=True)
        yield {name: [*map(str.strip, column)] for name, column in zip(names, columns, strict=True)}


def _pyarrow(module: str = "pyarrow") -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            "Parquet and Arrow files are read by pyarrow, which is not installed; install it (the "
            "extra parquet), or give CSV"
        ) from error


def _parquet(file: Any, names: list[str], where: str, chunk_rows: int) -> Iterator[Any]:
    parquet = _pyarrow("pyarrow.parquet")
    schema = parquet.ParquetFile(file).schema_arrow
    _check_names(where, schema.names, names)
    texts = [name for name in names if str(schema.field(name).type) in ("string", "large_string")]
    file.seek(0)
    # without pre_buffer and with a buffer a row group is read page by page
    opened = parquet.ParquetFile(file, read_dictionary=texts, pre_buffer=False, buffer_size=1 << 20)
    yield from _ahead(opened.iter_batches(chunk_rows, columns=names))


def _ahead(items: Iterator[Any]) -> Iterator[Any]:
    """Take each item while the one before is worked on, in another thread."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, items, None)
        while (item := waiting.result()) is not None:
            waiting = pool.submit(next, items, None)
            yield item


def _arrow(file: Any, names: list[str], where: str, chunk_rows: int) -> Iterator[Any]:
    ipc = _pyarrow("pyarrow.ipc")
    header = ipc.open_file(file).schema.names
    _check_names(where, header, names)
    file.seek(0)
    options = ipc.IpcReadOptions(included_fields=[header.index(name) for name in names])
    opened = ipc.open_file(file, options=options)
    for index in range(opened.num_record_batches):
        yield opened.get_batch(index)


def _stream(head: _Head) -> Iterator[Any]:
    yield from _pyarrow("pyarrow.ipc").open_stream(io.BufferedReader(head))


def _arrow_chunks(
    where: str, batches: Iterator[Any], names: list[str], chunk_rows: int
) -> Iterator[dict[str, Any]]:
    while True:
        try:
            batch = next(batches, None)
        except ImportError:
            raise
        except Exception as error:  # of pyarrow, of many types
            if type(error).__module__.partition(".")[0] != "pyarrow" and not isinstance(
                error, (OSError, EOFError)
            ):
                raise
            said = str(error).strip().splitlines()
            what = f": {said[0]}" if said else ""
            raise ValueError(f"{where} is not a whole Parquet or Arrow file{what}") from error
        if batch is None:
            return
        for at in range(0, batch.num_rows, chunk_rows):
            yield _of_frame(where, batch.slice(at, chunk_rows), names)
