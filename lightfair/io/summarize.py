"""Summaries: files of any size become a table, chunk by chunk, in memory that does not grow.

    chunks of rows -> RowReader -> ScoreData -> ScoreTable, added up

The table is that of all rows in one piece. Rules on all rows, such as that every group has a
positive weight, are checked at the end. Of several faults the first in the file is named.

On the command line a FILE is CSV, gzipped or not, Parquet or Arrow, told apart by its content, or a
table. Files of any size are read, each where it lies, and added up::

    lightfair summarize january.csv.gz --score score --label label --group sex -o january.json
    lightfair summarize february.parquet --score score --label label --group sex -o february.json
    lightfair summarize january.json february.json -o year.json
    lightfair assess year.json --metric tpr

From Python, where rows may also be open binary files and iterables of data frames, such as
`pandas.read_csv(..., chunksize=100_000)`::

    table = lf.summarize("scores.parquet", y_true="label", y_score="score",
                         sensitive_features="sex")
    table = table + lf.load_table("january.json")   # same clip, attributes and thresholds
    lf.assess(table, metrics="tpr")
    table.save("year.json")

Tables of parts add, so Dask, or whatever runs functions where the rows are, folds them::

    names = {"y_true": "label", "y_score": "score", "sensitive_features": ["race"]}
    table = dask.bag.from_sequence(files).map(lf.summarize, **names).fold(operator.add).compute()

Parquet and Arrow need pyarrow, the extra `parquet`. Memory: a CSV of one million rows took 59 MB
more than the imports, a CSV.gz of five million 60 MB, a Parquet file of five million 140 MB.
`--subsample-labels`, which hides labels row by row, holds all rows in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.data import table as core
from ..core.data.binning import score_table
from ..core.data.groups import group_names
from ..core.data.nodes import check_clip, check_edges
from ..core.data.rows import Chunk, RowReader, ScoreData
from .files import CHUNK_ROWS, Columns, Piece, pieces
from .table import ScoreTable, from_text, storable

Told = Callable[[int], None]

MOST_GROUPS = 100_000  # more are an identifier taken for an attribute


def summarize(
    source: Any,
    *,
    y_true: str,
    y_score: str,
    sensitive_features: str | list[str] | tuple[str, ...],
    y_pred: str | None = None,
    sample_weight: str | None = None,
    label_prob: str | None = None,
    threshold: Any = 0.5,
    positive_label: Any = None,
    unlabeled: Any = None,
    missing: str = "raise",
    clip: float = 0.01,
    chunk_rows: int = CHUNK_ROWS,
    progress: Told | None = None,
) -> ScoreTable:
    """Read rows in chunks into a table; memory does not grow with their number.

    Parameters
    ----------
    source : path, binary file, frame, or iterable of these
        CSV, CSV.gz, Parquet, or an Arrow file or stream, told apart by its first bytes; Parquet and
        Arrow need pyarrow. Or frames of pandas or polars, Arrow tables and batches, mappings of
        columns, or an iterable of these, each a chunk of the rows. In CSV, cells are trimmed, and
        the labels NA, NaN, null and none, in any case, mean unlabeled.
    y_true, y_score, sensitive_features, y_pred, sample_weight, label_prob : str
        Names of columns; several sensitive features are crossed. See `score_data`.
    threshold, positive_label, unlabeled, missing
        See `score_data`.
    clip : float
        In [0, 0.5); see `score_table`.
    chunk_rows : int
        Rows of a file that are held at a time.
    progress : callable, optional
        Called as progress(rows) with the number of rows read.

    Returns
    -------
    ScoreTable
        For `assess`, `+` and `ScoreTable.save`.

    Raises
    ------
    ValueError
        If a file cannot be read or a row breaks a rule. Rows are numbered from 0, from the start of
        the file; where there are several files the message begins with its name.
    ImportError
        If pyarrow is needed and absent.

    Examples
    --------
    >>> import lightfair as lf
    >>> chunks = [
    ...     {"y": [1, None], "s": [0.9, 0.2], "g": ["a", "b"]},
    ...     {"y": [0, None], "s": [0.4, 0.7], "g": ["b", "b"]},
    ... ]
    >>> table = lf.summarize(chunks, y_true="y", y_score="s", sensitive_features="g")
    >>> table.groups, table.rows, table.labeled
    (('a', 'b'), 4, 2)
    """
    if isinstance(sensitive_features, str):
        sensitive_features = (sensitive_features,)
    columns = Columns(y_true, y_score, tuple(sensitive_features), y_pred, sample_weight, label_prob)
    _check_columns(columns)
    reader = RowReader(
        threshold=threshold,
        decided=y_pred is not None,
        positive_label=positive_label,
        unlabeled=unlabeled,
        missing=missing,
    )
    return gather_tables(
        source, columns, reader, clip=clip, chunk_rows=chunk_rows, progress=progress, tables=False
    )


def gather_tables(
    source: Any,
    columns: Columns | None,
    reader: RowReader,
    *,
    clip: float | None = None,
    chunk_rows: int = CHUNK_ROWS,
    progress: Told | None = None,
    tables: bool = True,
) -> ScoreTable:
    """Add up rows and, with `tables`, files that hold tables.

    Parameters
    ----------
    columns, reader
        What is read of rows, and how; columns is None where rows are an error.
    clip
        Of the rows, and required of the tables. None: 0.01 for rows, and whatever tables have.
    """
    _check_rows(chunk_rows)
    if clip is not None:
        check_clip(clip)
    total: core.ScoreTable | None = None
    rows: core.ScoreTable | None = None
    cut = 0.01 if clip is None else clip
    for where, read in _read(source, columns, reader, chunk_rows, cut, progress, tables):
        if isinstance(read, core.ScoreTable):
            total = read if total is None else _sum(total, read, where)
        elif len(read.data.label):
            table = score_table(read.data, clip=cut)
            rows = table if rows is None else rows + table
            if len(rows.groups) > MOST_GROUPS:
                raise ValueError(
                    f"sensitive_features makes more than {MOST_GROUPS:,} groups in "
                    f"{reader.rows:,} rows; name columns of few values, cut real-valued ones "
                    "into bands"
                )
    if reader.rows:
        rows = _checked(reader, rows)
        total = rows if total is None else _sum(total, rows, "the rows")
    if total is None:
        raise ValueError("source must hold at least one row; got none")
    if clip is not None and total.clip != clip:
        raise ValueError(
            f"clip must be that of the tables, {total.clip:g}, or be left out; got {clip:g}; "
            "scores are clipped where a table is built"
        )
    return storable(total)


def read_rows(
    source: Any, columns: Columns, reader: RowReader, *, clip: float, progress: Told | None = None
) -> ScoreData:
    """Read all rows into memory, checked, where labels are to be hidden row by row."""
    chunks = [
        chunk for _, chunk in _read(source, columns, reader, CHUNK_ROWS, clip, progress, False)
    ]
    if not chunks:
        raise ValueError("source must hold at least one row; got none")
    datas = [chunk.data for chunk in chunks]
    parts = tuple(sorted({part for data in datas for part in data.parts}, key=", ".join))
    groups = group_names(parts)
    at = {name: index for index, name in enumerate(groups)}
    codes = [
        np.array([at[name] for name in data.groups], np.int32)[data.group]
        for data in datas
        if len(data.label)
    ]
    weights = [data.weight for data in datas if data.weight is not None]
    bands = [data.band for data in datas if data.band is not None]
    probs = [data.label_prob for data in datas if data.label_prob is not None]
    data = replace(
        datas[0],
        label=np.concatenate([data.label for data in datas]),
        score=np.concatenate([data.score for data in datas]),
        group=np.concatenate([np.zeros(0, np.int32), *codes]),
        predicted=np.concatenate([data.predicted for data in datas]),
        weight=np.concatenate(weights) if weights else None,
        groups=groups,
        parts=parts,
        label_prob=np.concatenate(probs) if probs else None,
        band=np.concatenate(bands) if bands else None,
    )
    return reader.complete(data)


def _read(
    source: Any,
    columns: Columns | None,
    reader: RowReader,
    chunk_rows: int,
    clip: float,
    progress: Told | None,
    tables: bool,
) -> Iterator[tuple[str, Any]]:
    """Chunks and tables of a source, and their files.

    Errors in one file of several begin with its name.
    """
    several = isinstance(source, (list, tuple)) and len(source) > 1
    file, start = -1, 0
    for piece, more in _with_next(pieces(source, columns, chunk_rows)):
        if piece.file != file:
            file, start = piece.file, reader.rows
        try:
            if piece.columns is None:
                if not tables:
                    raise ValueError(f"{piece.where} holds a table, not rows; see load_table")
                yield piece.where, _table(piece)
                continue
            assert columns is not None
            chunk = _chunk(reader, columns, piece.columns, reader.rows - start)
            check_edges(chunk.data.score, clip, chunk.row)
        except ValueError as error:
            where = f"{piece.where}: " if several and piece.columns and piece.where else ""
            unseen = ""
            if more is not None and more.file == piece.file:
                unseen = f"; rows from {reader.rows - start} on were not looked at"
            raise ValueError(f"{where}{error}{unseen}") from error
        yield piece.where, chunk
        if progress is not None:
            progress(reader.rows)


def _with_next(every: Iterator[Piece]) -> Iterator[tuple[Piece, Piece | None]]:
    """Each piece and the one that follows."""
    before = next(every, None)
    while before is not None:
        after = next(every, None)
        yield before, after
        before = after


def _sum(total: core.ScoreTable, table: core.ScoreTable, where: str) -> core.ScoreTable:
    try:
        return total + table
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _table(piece: Piece) -> core.ScoreTable:
    try:
        return from_text(piece.table)
    except ValueError as error:
        raise ValueError(f"{piece.where}: {error}") from error


def _chunk(reader: RowReader, columns: Columns, found: dict[str, Any], first: int) -> Chunk:
    pred, weight, prob = columns.y_pred, columns.sample_weight, columns.label_prob
    return reader.read(
        found[columns.y_true],
        found[columns.y_score],
        {name: found[name] for name in columns.sensitive_features},
        None if pred is None else found[pred],
        None if weight is None else found[weight],
        first,
        label_prob=None if prob is None else found[prob],
    )


def _checked(reader: RowReader, table: core.ScoreTable | None) -> core.ScoreTable:
    """Check the rules on all rows, and complete their table."""
    weight = table.sums("weight").sum(axis=(1, 2)) if table and table.weighted else None
    threshold, counts = reader.finish(table.parts if table else (), weight)
    assert table is not None  # without rows there was an error
    return replace(table, threshold=threshold, counts=counts)


def _check_columns(columns: Columns) -> None:
    for name in columns.names:
        if not isinstance(name, str):
            raise ValueError(f"columns must be named by text; got {name!r}")
    if not columns.sensitive_features:
        raise ValueError("sensitive_features must name at least one column; got none")


def _check_rows(chunk_rows: Any) -> None:
    whole = isinstance(chunk_rows, (int, np.integer)) and not isinstance(chunk_rows, bool)
    if not whole or chunk_rows < 1:
        raise ValueError(f"chunk_rows must be a whole number of at least 1; got {chunk_rows!r}")
