"""Reading: files, streams and frames as chunks of columns, so that any size fits into memory.

A source is a path, an open binary file, a frame, or an iterable of these. What a file is its first
bytes tell, whatever its name: gzip, Parquet, an Arrow file or stream, a table of this package;
anything else is CSV. Each byte is read once, so that a pipe will do; Parquet and Arrow files, which
are read from their end, are copied to disk from a pipe.

CSV is UTF-8, or UTF-16 or UTF-32 with a byte order mark. The cells of a line are separated by
commas, semicolons, tabs or bars: by that of which the header has the columns that are asked for.
Where it is no comma, scores and probabilities may have decimal commas.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from itertools import chain, repeat
from operator import itemgetter
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.data.columns import frame_columns
from ..core.data.messages import hint, show, visible

CHUNK_ROWS = 131_072

UNLABELED = ("", "na", "nan", "null", "none", "<na>")  # cells that say that there is no value

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}

LONGEST_LINE = 1 << 24  # bytes; what has longer lines is no CSV, and would have to be held

LONGEST_TABLE = 1 << 30  # bytes

LISTED = 20  # names of columns that an error lists

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
    b"\xd0\xcf\x11\xe0": "an Excel sheet of before 2007",
    b"%PDF": "a PDF file",
    b"\xff\xfe\x00\x00": "UTF-32",  # ahead of UTF-16, whose mark it begins with
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}

READABLE = ("gzip", "Parquet", "Arrow", "Arrow stream")

RECODED = ("UTF-16", "UTF-32")


class Columns(NamedTuple):
    """Names of the columns of a file by what they hold."""

    y_true: str
    y_score: str
    sensitive_features: tuple[str, ...]
    y_pred: str | None = None
    sample_weight: str | None = None
    label_prob: str | None = None

    @property
    def names(self) -> dict[str, str]:
        """The argument of every name; ValueError where one is no text, or has two roles."""
        found: dict[str, str] = {}
        for role, given in self._asdict().items():
            if given is None:
                continue
            for name in given if isinstance(given, tuple) else (given,):
                if not isinstance(name, str):
                    raise ValueError(f"{role} must name a column by text; got {show(name)}")
                if name in found:
                    raise ValueError(
                        f"{role}: a column has one role; {visible(name)} is {found[name]}, too"
                    )
                found[name] = role
        return found

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


def header(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the columns of a file of rows; none of a file that holds a table.

    Raises ValueError, OSError or ImportError where it cannot be read.
    """
    with ExitStack() as stack:
        raw, head, where = _begun(path, stack)
        if head.kind == "table":
            return []
        if head.kind == "":
            try:
                return _opened(where, _text_lines(head, where), {})[1]
            except csv.Error as error:
                raise ValueError(f"{where} is not CSV: {error} in its header") from error
        with _as_refusal(where):
            if head.kind == "Arrow stream":
                opened = _pyarrow("pyarrow.ipc").open_stream(io.BufferedReader(head))
                return list(opened.schema.names)
            whole = raw if head.file is raw and _is_plain(raw) else _on_disk(head, stack)
            whole.seek(0)
            if head.kind == "Parquet":
                return list(_pyarrow("pyarrow.parquet").read_schema(whole).names)
            return list(_pyarrow("pyarrow.ipc").open_file(whole).schema.names)


def columns_in(path: Any) -> str:
    """Say which columns a file has, as errors do; nothing where that cannot be told."""
    if not isinstance(path, (str, os.PathLike)) or not os.path.isfile(path):
        return ""
    try:
        names = header(path)
    except (OSError, ValueError, ImportError):
        return ""
    return f"; {_columns_are(names)}" if names else ""


def numbers(
    name: str, column: Sequence[str], first: int = 0, *, decimal_comma: bool = False
) -> NDArray[np.float64]:
    """Turn text into float64; name the first cell that is not a number.

    Text that says that there is no value, such as none or NA, is NaN. With `decimal_comma` 0,5 is a
    number, too.
    """
    if "_" not in "".join(column):  # Python reads 0_1 as 1
        try:
            return np.fromiter(map(float, column), np.float64, len(column))
        except ValueError:
            pass
    values = np.empty(len(column))
    for row, text in enumerate(column):
        number = text.replace("_", "?").strip()
        if decimal_comma and "." not in number:
            number = number.replace(",", ".")
        try:
            values[row] = np.nan if number.lower() in UNLABELED else float(number)
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


def _of_frame(where: str, chunk: Any, names: Mapping[str, str]) -> dict[str, Any]:
    pairs = frame_columns(chunk)
    pairs = [(str(name), column) for name, column in chunk.items()] if pairs is None else pairs
    _check_names(where, [name for name, _ in pairs], names)
    found = dict(pairs)
    return {name: found[name] for name in names}


def _columns_are(header: Sequence[str]) -> str:
    if not header:
        return "it has no columns"
    more = f" and {len(header) - LISTED:,} more" if len(header) > LISTED else ""
    return f"its columns are {', '.join(map(visible, header[:LISTED]))}{more}"


def _check_names(where: str, header: Sequence[str], names: Mapping[str, str]) -> None:
    for name, role in names.items():
        if header.count(name) != 1:
            how = f"no column {visible(name)}{hint(name, header)}"
            if name in header:
                how = f"more than one column {visible(name)}"
            marks = f"; cells must be separated by {_marks()}" if len(header) == 1 else ""
            raise ValueError(f"{role}: {where} has {how}; {_columns_are(header)}{marks}")


def _marks() -> str:
    *others, last = SEPARATORS.values()
    return f"{', '.join(others)} or {last}"


def _file_pieces(
    file: int, source: Any, columns: Columns | None, chunk_rows: int
) -> Iterator[Piece]:
    """Open a file, see what it is, read it."""
    with ExitStack() as stack:
        raw, head, where = _begun(source, stack)
        before, kind = _state(raw), head.kind
        if kind == "table":
            yield Piece(file, where, None, _text(where, head))
            return
        if columns is None:
            raise ValueError(
                f"{where} holds rows, not a table; rows are read by summarize, given the names of "
                f"their columns{columns_in(source)}"
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
        if _state(raw) != before:
            raise ValueError(f"{where} changed while it was read; read a copy that stays as it is")
        if not some:
            raise ValueError(f"{where} has a header but no rows")


def _begun(source: Any, stack: ExitStack) -> tuple[Any, _Head, str]:
    """Open a file and see what it is: the file, what is in it from its begin on, and its name."""
    if isinstance(source, (str, os.PathLike)):
        where = os.fspath(source)
        if "\0" in where:
            raise ValueError(f"the name of a file must hold no null byte; got {show(where)}")
        if os.path.isdir(where):
            raise ValueError(f"{where} is a folder; give a CSV file, or Parquet or Arrow")
        raw: Any = stack.enter_context(open(where, "rb"))  # noqa: SIM115, the stack closes it
    else:
        raw, where = source, str(getattr(source, "name", "source"))
    head = _Head(raw, where)
    if head.kind == "gzip":
        head = _Head(gzip.GzipFile(fileobj=io.BufferedReader(head)), where)
        if head.kind == "gzip":
            raise ValueError(f"{where} was gzipped twice; gunzip it once")
    if head.kind in RECODED:
        head = _Head(_Recoded(head, where, head.kind), where)
    if head.kind not in (*READABLE, "", "table"):
        raise ValueError(f"{where} is {head.kind}; give CSV, CSV.gz, Parquet or Arrow")
    return raw, head, where


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


class _Recoded(io.RawIOBase):
    """Text of another encoding than UTF-8, as UTF-8."""

    def __init__(self, file: _Head, where: str, encoding: str) -> None:
        self.file = file
        self.where = where
        self.encoding = encoding
        self.decoder = codecs.getincrementaldecoder(encoding)()
        self.text = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        more = True
        while more and not self.text:
            block = self.file.read(1 << 16) or b""
            more = bool(block)
            try:
                self.text = self.decoder.decode(block, final=not more).encode()
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{self.where} begins as {self.encoding} text and is none: {error.reason}; "
                    "save it as UTF-8"
                ) from error
        got, self.text = self.text[: len(buffer)], self.text[len(buffer) :]
        buffer[: len(got)] = got
        return len(got)


class _Lines(io.RawIOBase):
    """UTF-8 text, of which no line is too long, and without null bytes."""

    def __init__(self, file: _Head, where: str) -> None:
        self.file = file
        self.where = where
        self.line = 1  # that of the next byte
        self.length = 0  # bytes of it that were read
        self.last = b""  # the byte before

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = self.file.readinto(buffer)
        block = bytes(buffer[:size])
        null = block.find(b"\0")
        if null >= 0:
            line = self.line + _line_ends(self.last + block[:null]) - _line_ends(self.last)
            raise ValueError(
                f"{self.where} holds a null byte, in line {line}; save it as UTF-8 text"
            )
        self.line += _line_ends(self.last + block) - _line_ends(self.last)
        self.last = block[-1:] or self.last
        start = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        self.length = size - start + (0 if start else self.length)
        if self.length > LONGEST_LINE:
            raise ValueError(
                f"{self.where} has more than {LONGEST_LINE:,} bytes in line {self.line}; a CSV "
                "file has a line for each row"
            )
        return size


def _line_ends(block: bytes) -> int:
    return block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")


def _state(file: Any) -> tuple[int, int] | None:
    """What tells that a file was written to: its size and time; None for what is no plain file."""
    try:
        found = os.fstat(file.fileno())
    except (AttributeError, OSError, ValueError):
        return None
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


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
    text = io.BufferedReader(head).read(LONGEST_TABLE + 1)
    if len(text) > LONGEST_TABLE:
        raise ValueError(f"{where} begins as a table and has more than {LONGEST_TABLE:,} bytes")
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_text(where, error) from error


def _not_text(where: str, error: UnicodeDecodeError, lines: int = 0) -> ValueError:
    """Name the line; `lines` of them came before what was decoded in vain."""
    line = 1 + lines + _line_ends(error.object[: error.start])
    return ValueError(
        f"{where} is not UTF-8 text: {error.reason}, in line {line}; save it as UTF-8, or recode "
        "it, if it is Latin-1 with iconv -f latin1 -t utf-8"
    )


def _text_lines(head: _Head, where: str) -> io.TextIOWrapper:
    checked = io.BufferedReader(_Lines(head, where), 1 << 17)
    return io.TextIOWrapper(checked, encoding="utf-8-sig", newline="")


def _csv_chunks(
    where: str, head: _Head, columns: Columns, chunk_rows: int
) -> Iterator[dict[str, Any]]:
    lines = _text_lines(head, where)
    reader, first = None, 0
    try:
        reader, header = _opened(where, lines, columns.names)
        loose = reader.dialect.delimiter != ","
        for cells in _cells(where, reader, header, columns.names, chunk_rows):
            chunk: dict[str, Any] = {}
            for name, column in cells.items():
                if name in columns.numeric:
                    comma = loose and name in (columns.y_score, columns.label_prob)
                    try:
                        chunk[name] = numbers(name, column, first, decimal_comma=comma)
                    except ValueError as error:
                        raise ValueError(f"{columns.names[name]}: {error}") from None
                elif name == columns.y_true:
                    label = {text: text * (text.lower() not in UNLABELED) for text in set(column)}
                    chunk[name] = [*map(label.__getitem__, column)]
                else:
                    chunk[name] = column
            first += len(chunk[columns.y_true])
            yield chunk
    except UnicodeDecodeError as error:
        raise _not_text(where, error, reader.line_num if reader else 0) from error
    except csv.Error as error:
        at = f", at line {reader.line_num}" if reader else " in its header"
        raise ValueError(
            f"{where} is not CSV: {error}{at}; look for a quote that is not closed, from row "
            f"{first} on"
        ) from error


def _opened(where: str, lines: Iterable[str], names: Mapping[str, str]) -> tuple[Any, list[str]]:
    """A reader of the rows of a CSV file, and its header, trimmed; blank lines before are none."""
    lines, blank, first = iter(lines), 0, ""
    for first in lines:
        if first.strip():
            break
        blank += 1
    if not first.strip():
        raise ValueError(f"{where} is empty; it must have a header line and rows")
    reader = partial(csv.reader, skipinitialspace=True)
    headers = {}  # of a quote that is closed in a later line this is the beginning
    for mark in SEPARATORS:
        headers[mark] = [name.strip() for name in next(reader([first], delimiter=mark))]
    fits = (mark for mark, header in headers.items() if names and set(names) <= set(header))
    most = max(headers, key=lambda mark: len(headers[mark]))
    every = chain(repeat("\n", blank), [first], lines)
    rows = reader(every, delimiter=next(fits, most), strict=True)
    header = [name.strip() for name in next(line for line in rows if line)]
    _check_names(where, header, names)
    return rows, header


def _cells(
    where: str, reader: Any, header: list[str], names: Iterable[str], chunk_rows: int
) -> Iterator[dict[str, list[str]]]:
    """Read cells of some columns of a CSV file, trimmed."""
    pick, width = itemgetter(*map(header.index, names)), len(header)
    while True:
        rows = []
        for line in reader:
            if len(line) != width:
                if not any(map(str.strip, line)) and len(line) < 2:
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


def _parquet(file: Any, names: Mapping[str, str], where: str, chunk_rows: int) -> Iterator[Any]:
    parquet = _pyarrow("pyarrow.parquet")
    schema = parquet.ParquetFile(file).schema_arrow
    _check_names(where, schema.names, names)
    texts = [name for name in names if str(schema.field(name).type) in ("string", "large_string")]
    file.seek(0)
    # without pre_buffer and with a buffer a row group is read page by page
    opened = parquet.ParquetFile(file, read_dictionary=texts, pre_buffer=False, buffer_size=1 << 20)
    yield from _ahead(opened.iter_batches(chunk_rows, columns=list(names)))


def _ahead(items: Iterator[Any]) -> Iterator[Any]:
    """Take each item while the one before is worked on, in another thread."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, items, None)
        while (item := waiting.result()) is not None:
            waiting = pool.submit(next, items, None)
            yield item


def _arrow(file: Any, names: Mapping[str, str], where: str, chunk_rows: int) -> Iterator[Any]:
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


@contextmanager
def _as_refusal(where: str) -> Iterator[None]:
    """What pyarrow raises at a damaged file, which is of many types, becomes a ValueError."""
    try:
        yield
    except MemoryError as error:
        raise ValueError(
            f"{where} asks for more memory than there is: it is damaged, or its parts are too large"
        ) from error
    except Exception as error:
        theirs = type(error).__module__.partition(".")[0] == "pyarrow" or isinstance(
            error, (OSError, EOFError, UnicodeDecodeError)
        )
        if not theirs:
            raise
        said = str(error).strip().splitlines()
        what = f": {said[0]}" if said else ""
        raise ValueError(f"{where} is not a whole Parquet or Arrow file{what}") from error


def _arrow_chunks(
    where: str, batches: Iterator[Any], names: Mapping[str, str], chunk_rows: int
) -> Iterator[dict[str, Any]]:
    while True:
        with _as_refusal(where):
            batch = next(batches, None)
            if batch is None:
                return
            # a reader believes what a file says of lengths and places; where that is wrong, whoever
            # goes there reads memory that is not the file's
            batch.validate(full=True)
            _check_names(where, batch.schema.names, names)
        for at in range(0, batch.num_rows, chunk_rows):
            yield _of_frame(where, batch.slice(at, chunk_rows), names)
