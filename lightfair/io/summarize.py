"""Summarize files of any size as a table, chunk by chunk, in memory that does not grow.

    chunks of rows -> RowReader -> ScoreData -> ScoreTable, added up

The table is that of all rows in one piece. Rules on all rows, such as that every group has a
positive weight, are checked at the end. Of several errors the first in the file is reported.

On the command line a FILE is CSV, gzipped or not, Parquet, Arrow, or a table, recognized by its
content. Files are read and added up::

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

Tables of parts add, so Dask, or whatever runs functions where the rows are, can fold them::

    names = {"y_true": "label", "y_score": "score", "sensitive_features": ["race"]}
    table = dask.bag.from_sequence(files).map(lf.summarize, **names).fold(operator.add).compute()

Parquet and Arrow need pyarrow, the extra `parquet`. Memory: a CSV of one million rows took 59 MB
more than the imports, a CSV.gz of five million 60 MB, a Parquet file of five million 140 MB.
`--subsample-labels`, which hides labels row by row, holds all rows in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.data import table as core
from ..core.data.clusters import cluster_moments
from ..core.data.groups import check_size
from ..core.data.nodes import check_clip, check_edges, clip_of
from ..core.data.rows import RowReader, ScoreData
from ..core.data.table import score_table
from .files import CHUNK_ROWS, Columns, names_of, pieces
from .table import ScoreTable, from_text, storable

Progress = Callable[[int], None]


def summarize(
    source: Any,
    *,
    y_true: str,
    y_score: str | None = None,
    sensitive_features: str | list[str] | tuple[str, ...],
    y_pred: str | None = None,
    sample_weight: str | None = None,
    label_prob: str | None = None,
    cluster: str | None = None,
    threshold: Any = 0.5,
    positive_label: Any = None,
    unlabeled: Any = None,
    missing: str = "raise",
    bins: Any = None,
    clip: float | None = None,
    chunk_rows: int = CHUNK_ROWS,
    progress: Progress | None = None,
) -> ScoreTable:
    """Read rows in chunks into a table; memory does not grow with their number.

    Parameters
    ----------
    source : path, binary file, frame, or iterable of these
        CSV, CSV.gz, Parquet or Arrow, recognized by its first bytes; Parquet and Arrow need
        pyarrow. Or frames of pandas or polars, Arrow tables and batches, mappings of columns, or an
        iterable of these, each a chunk of the rows. In CSV, cells are trimmed, and the labels NA,
        NaN, null and none, in any case, mean unlabeled.
    y_true, y_score, sensitive_features, y_pred, sample_weight, label_prob, cluster : str
        Names of columns; several sensitive features are crossed. See `score_data`. With `cluster`,
        memory grows with the number of rows; each must be in one table, if tables are added.
    threshold, positive_label, unlabeled, missing, bins
        See `score_data`. With `bins` by quantiles all rows are in memory.
    clip : float
        In [0, 0.5); see `score_table`. Default: 0.01, or 0.25 for decisions without scores.
    chunk_rows : int
        Maximum number of rows of a file in memory.
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
        the file; if there are several files, the message begins with the name of the file.
    ImportError
        If pyarrow is needed and not installed.

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
    features = names_of(sensitive_features)
    columns = Columns(y_true, y_score, features, y_pred, sample_weight, label_prob, cluster)
    read: dict[str, Any] = {"positive_label": positive_label, "unlabeled": unlabeled, "bins": bins}
    reader = RowReader(threshold=threshold, decided=y_pred is not None, missing=missing, **read)
    options: dict[str, Any] = {"clip": clip, "chunk_rows": chunk_rows, "progress": progress}
    return gather_tables(source, columns, reader, tables=False, **options)


def gather_tables(
    source: Any,
    columns: Columns | None,
    reader: RowReader,
    *,
    clip: float | None = None,
    chunk_rows: int = CHUNK_ROWS,
    progress: Progress | None = None,
    tables: bool = True,
) -> ScoreTable:
    """Add up rows and, with `tables`, files that hold tables.

    Parameters
    ----------
    columns, reader
        Which columns of rows are read, and how; columns is None if rows are an error.
    clip
        Of the rows, and required of the tables. None: 0.01 for rows, and that of the tables.
    """
    if not isinstance(chunk_rows, int) or isinstance(chunk_rows, bool) or chunk_rows < 1:
        raise ValueError(f"chunk_rows must be a whole number of at least 1; got {chunk_rows!r}")
    if clip is not None:
        check_clip(clip)
    cut = clip_of(columns is None or columns.y_score is not None, clip)
    if columns and any(isinstance(edges, int) for edges in reader.bins.values()):
        source = [read_arrays(source, columns, progress)]  # quantiles are those of all rows
    total: core.ScoreTable | None = None
    rows: core.ScoreTable | None = None
    clusters: list[ScoreData] = []
    several = isinstance(source, (list, tuple)) and len(source) > 1
    for first, where, content in pieces(source, columns, chunk_rows, tables=tables):
        try:
            if isinstance(content, str):
                table: core.ScoreTable = from_text(content)
                total = table if total is None else total + table
                continue
            data = _checked(reader, columns, content, first, cut)
        except ValueError as error:
            named = isinstance(content, str) or (where and several)
            raise ValueError(f"{where}: {error}" if named else str(error)) from error
        if len(data.label):
            if data.cluster is not None:  # moments follow when all rows of a cluster are known
                clusters.append(data)
            table = score_table(replace(data, cluster=None), clip=cut)
            rows = table if rows is None else rows + table
            check_size(rows.attributes, rows.parts)
        if progress is not None:
            progress(reader.rows)
    if reader.rows:
        weight = rows.sums("weight").sum(axis=(1, 2)) if rows and rows.weighted else None
        threshold, counts = reader.finish(rows.parts if rows else (), weight)
        assert rows is not None  # otherwise `finish` raised
        moments = cluster_moments(rows.groups, clusters, cut) if clusters else None
        rows = replace(rows, threshold=threshold, counts=counts, clusters=moments)
        total = rows if total is None else total + rows
    if total is None:
        raise ValueError("source must hold at least one row; got none")
    if clip is not None and total.clip != clip:
        raise ValueError(f"clip must be {total.clip:g}, that of the tables; got {clip:g}")
    return storable(total)


def read_rows(
    source: Any, columns: Columns, reader: RowReader, *, clip: float, progress: Progress | None
) -> ScoreData:
    """Read all rows into memory, checked, for options that hide labels row by row."""
    arrays = read_arrays(source, columns, progress)
    return reader.complete(_checked(reader, columns, arrays, 0, clip))


def read_arrays(
    source: Any, columns: Columns, progress: Progress | None = None
) -> dict[str, NDArray[Any]]:
    """Read the columns of all rows into memory, by their names."""
    parts: list[Any] = []
    for piece in pieces(source, columns, tables=False):
        parts.append(piece.content)
        if progress is not None:
            progress(sum(len(next(iter(part.values()))) for part in parts))
    if not parts:
        raise ValueError("source must hold at least one row; got none")
    return {name: _joined([np.asarray(part[name]) for part in parts]) for name in columns.names}


def _joined(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """One column of several; beside text, NaN becomes None, as NumPy would make it a text."""
    if {"U", "f"} <= {one.dtype.kind for one in arrays}:
        none = np.array(None)
        arrays = [np.where(np.isnan(a), none, a) if a.dtype.kind == "f" else a for a in arrays]
    return np.concatenate(arrays)


def _checked(
    reader: RowReader, columns: Columns | None, arrays: Any, first: int, clip: float
) -> ScoreData:
    """Checked rows; those in errors are numbered from `first`."""
    assert columns is not None  # otherwise `pieces` raised
    given: dict[str, Any] = {argument: arrays[name] for name, argument in columns.names.items()}
    given.pop("within", None)  # one of the attributes
    given["sensitive_features"] = {name: arrays[name] for name in columns.attributes}
    given.setdefault("y_score")
    given.setdefault("y_true", np.full(len(next(iter(arrays.values()))), np.nan))
    chunk = reader.read(**given, first=first)
    check_edges(chunk.data.score, clip, chunk.row)
    return chunk.data
