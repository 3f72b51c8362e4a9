"""Build a table from the result of the query that `sql_query` writes.

Each row of the result is a point or a cell of a stratum, with the terms on which labels, groups and
decisions are to be read; `score_data` reads them. Points and cells add, as those of tables do: rows
may come in any order, and results for parts of the data may be concatenated.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..core.data import nodes
from ..core.data.columns import is_missing, number_of
from ..core.data.logit import Floats, logit_of
from ..core.data.messages import Counts, show
from ..core.data.rows import WEIGHTS, score_data
from ..core.data.table import ScoreTable
from .sql import Terms

Columns = dict[str, list[Any]]

READ = ("positive_label", "unlabeled", "missing", "bins")  # terms that `score_data` takes

FAULTS = {
    "score_missing": "y_score is missing",
    "score_outside": "y_score lies outside of [0, 1]",
    "weight_invalid": f"sample_weight is neither 0 nor in [{WEIGHTS[0]:g}, {WEIGHTS[1]:g}]",
}

WHOLE = "from_rows takes the whole result of what sql_query, or lightfair sql, wrote"

ROUNDING = 1e-12  # per row, in a database's sums


def table_from_rows(rows: Iterable[Any]) -> ScoreTable:
    """Build a table from the result of the statement that `sql_query` writes.

    Parameters
    ----------
    rows : iterable of mapping
        Column name to value for each row of the result: dicts, or rows with `keys()` (sqlite3) or
        `asDict()` (Spark). Names are case-insensitive. NULL is None or NaN.

    Raises
    ------
    ValueError
        If rows are not such a result, or the data break a rule of `score_data`.
    """
    records = _records(rows)
    try:
        columns = {name: [record[name] for record in records] for name in records[0]}
        return _table(columns, _terms(records))
    except KeyError as error:
        raise ValueError(f"rows lack the column {error}; {WHOLE}") from error


def _table(columns: Columns, terms: Terms) -> ScoreTable:
    count = _numbers(columns, "row_count", 1, whole=True)
    _check_totals(columns, count)
    levels = [f"level_{j}" for j, _ in enumerate(terms.attributes, 1)]
    missing = np.any([[is_missing(v) for v in columns[level]] for level in levels], axis=0)
    missing_rows = int(count[missing].sum())
    if missing_rows and terms.missing == "raise":
        text = f"sensitive_features is missing in {missing_rows} rows"
        raise ValueError(f'{text}; pass missing="drop" or missing="group" to the query')
    dropped = missing_rows if terms.missing == "drop" else 0
    if dropped:
        count, kept = count[~missing], np.flatnonzero(~missing)
        columns = {name: [values[at] for at in kept] for name, values in columns.items()}
    weight, weight_sq = (_numbers(columns, name) for name in ("weight_sum", "weight_sq_sum"))
    predicted = columns["predicted"]
    if terms.threshold is None:
        decisions: dict[str, Any] = {"y_score": np.zeros(len(count)), "y_pred": predicted}
    else:  # a decision as score is on the right side of any threshold
        decisions = {"y_score": predicted, "threshold": terms.threshold}
    data = score_data(
        columns["label"],
        sensitive_features=dict(zip(terms.attributes, map(columns.get, levels), strict=True)),
        sample_weight=weight if terms.weighted else None,
        **{name: getattr(terms, name) for name in READ},
        **decisions,
    )
    label = np.where(data.label < 0, nodes.UNLABELED, data.label)
    stratum = (data.group.astype(np.intp) * 2 + data.predicted) * 3 + label
    if not terms.scored:  # the points are the decisions
        columns |= {"point": np.where(data.predicted, 1.0 - terms.clip, terms.clip).tolist()}
    points, cells = _points_and_cells(columns, terms.clip, stratum, count, weight, weight_sq)
    points, cells = nodes.settled(len(data.groups), terms.clip, points, cells)
    clipped, ties = (_numbers(columns, name, 0, count, whole=True) for name in ("clipped", "ties"))
    return ScoreTable(
        data.groups,
        terms.clip,
        int(clipped.sum()),
        points,
        cells,
        data.attributes,
        data.parts,
        data.threshold,
        bool(terms.weighted),
        Counts(dropped, missing_rows - dropped, int(ties.sum())),
    )


def _check_totals(columns: Columns, count: Floats) -> None:
    """Refuse incomplete results and invalid rows; results of parts have totals of their own."""
    total = _numbers(columns, "row_total", 1, whole=True)
    for whole in np.unique(total):
        counted = count[total == whole].sum()
        if counted % whole != 0:
            got = f"{counted:,.0f} of {whole:,.0f} rows"
            raise ValueError(f"the result is incomplete: {got}; fetch all, without a limit")
    for fault, message in FAULTS.items():
        if invalid := int(_numbers(columns, fault, 0, whole=True).max()):
            raise ValueError(f"{message} in {invalid} rows; repair or drop them")


def _points_and_cells(
    columns: Columns, clip: float, stratum: Any, count: Floats, weight: Floats, weight_sq: Floats
) -> tuple[nodes.Points, nodes.Cells]:
    """Rows of the result as points or cells.

    The logit of a point is NumPy's, so that it is that of a table of arrays to the last digit.
    """
    is_point = np.array([not is_missing(value) for value in columns["point"]])
    score = _numbers(columns, "point", 0, 1, at=is_point)
    nodes.check_edges(score[is_point], clip)
    low, high = nodes.clip_bounds(clip) / nodes.CELL_WIDTH
    cell = _numbers(columns, "cell", low - 2, high + 1, whole=True, at=~is_point)
    labeled, powers = stratum % 3 != nodes.UNLABELED, []
    for j in (1, 2, 3):
        pair = []
        for name, mass in (("power", count), ("weight_power", weight)):
            most = mass * (0.5 * nodes.CELL_WIDTH) ** j + ROUNDING * (mass + 1.0)
            pair.append(_numbers(columns, f"{name}{j}", -most, most, at=~is_point))
        powers.append(np.where(labeled, *pair))
    sums = (count, weight, weight_sq)
    points = (stratum, logit_of(np.where(is_point, score, 0.5), clip), *sums)
    cells = (stratum, cell.astype(np.intp), *sums, *powers)
    return nodes.Points(*(v[is_point] for v in points)), nodes.Cells(*(v[~is_point] for v in cells))


def _records(rows: Iterable[Any]) -> list[dict[str, Any]]:
    """Each row as a dict, with names in lower case."""
    records = []
    for row in rows if isinstance(rows, Iterable) else [rows]:
        mapping = row.asDict() if hasattr(row, "asDict") else row
        if not hasattr(mapping, "keys"):  # the items of text, of one mapping, of a frame
            got = f"{type(row).__name__} in {type(rows).__name__}"
            raise ValueError(f'rows must be mappings, as frame.to_dict("records") is; got {got}')
        records.append({str(name).lower(): mapping[name] for name in mapping.keys()})  # noqa: SIM118
    if not records:
        raise ValueError("y_true and y_score must hold at least one row; the result has no rows")
    return records


def _terms(records: list[dict[str, Any]]) -> Terms:
    text = records[0].get("terms")
    if any(record.get("terms") != text for record in records):
        raise ValueError("rows must have the same terms; make a table of each query, and add them")
    try:
        terms = Terms(**json.loads(str(text)))
        nodes.check_clip(terms.clip)
        if all(isinstance(name, str) for name in terms.attributes):
            return terms
        raise TypeError
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"terms must be those of a query; got {show(text)}; {WHOLE}") from error


def _numbers(
    columns: Columns,
    name: str,
    low: Any = 0,
    high: Any = np.inf,
    whole: bool = False,
    at: Any = True,
) -> Floats:
    """A column as float64, 0 elsewhere than `at`; ValueError unless finite and within bounds."""
    values = [number_of(value) for value in columns[name]]
    array = np.array([math.nan if value is None else value for value in values], np.float64)
    good = (array >= low) & (array <= high) & np.isfinite(array)
    if whole:
        good &= (array == np.floor(array)) & (array <= 2**53)
    good |= ~np.array(at)
    if not good.all():
        value, kind = columns[name][int(np.argmin(good))], "whole numbers" if whole else "numbers"
        raise ValueError(f"{name} must hold {kind} in its range; got {show(value)}; {WHOLE}")
    return np.where(at, array, 0.0)
