"""Rows of a query's result become a table: the other half of `sql_query`.

The result is small and says everything itself. Each row is a point, a cell or a fault of a stratum,
and carries the terms that labels, groups and decisions are to be read with. They are read here, by
the rules of `score_data` and in its words. Points and cells add as those of tables do: rows may
come in any order, and parts of the data may have been summed apart.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.data.columns import is_missing, number_of
from ..core.data.groups import Parts, absent, cross, drop_missing, levels_of, name_missing
from ..core.data.logit import Floats, logit_of
from ..core.data.messages import Counts, list_values, show
from ..core.data.nodes import CELL_WIDTH, UNLABELED, Cells, Points, check_clip, clip_bounds, settled
from ..core.data.rows import WEIGHTS, RowReader
from ..core.data.table import ScoreTable
from .sql import Terms

Record = dict[str, Any]

FAULTS = {
    "score missing": "y_score has {missing}; drop these rows or fill them",
    "score outside": "y_score must lie in [0, 1]; got {value}; transform log odds, margins or "
    "percentages to probabilities first",
    "weight missing": "sample_weight has {missing}; drop these rows or fill them",
    "weight outside": "sample_weight must be finite and not negative; got {value}; drop or repair "
    "these rows",
    "weight extreme": f"sample_weight must be 0 or lie in [{WEIGHTS[0]:g}, {WEIGHTS[1]:g}]; got "
    "{value}; multiply all weights by one factor",
}

WHOLE_RESULT = "from_rows takes the whole result of what sql_query, or lightfair sql, wrote"

PART = "be whole numbers from 0 to row_count"

ROUNDING = 1e-12  # of a row, in a database's sums


def table_from_rows(rows: Iterable[Any]) -> ScoreTable:
    """Build a table from the result of the statement that `sql_query` writes.

    Parameters
    ----------
    rows : iterable of mapping
        Column name to value for each row of the result: dicts, or rows with `keys()` (sqlite3) or
        `asDict()` (Spark). Upper and lower case of names are one. NULL is None or NaN.

    Raises
    ------
    ValueError
        If rows are not such a result, or the data break a rule of `score_data`.
    """
    records = _records(rows)
    terms = _terms(records)
    _check_columns(records, terms)
    count = _numbers(records, "row_count", partial(_is_count, 1), "be whole numbers from 1")
    _check_total(records, count)
    reader = RowReader(
        threshold=0.5 if terms.decided else terms.threshold,
        decided=terms.decided,
        positive_label=terms.positive_label,
        unlabeled=terms.unlabeled,
        missing=terms.missing,
    )
    label = reader.labels.read([record["label"] for record in records])
    reader.labels.check()
    _refuse_faults(records, count)
    predicted = _predicted(records, count)
    keep, group, parts = _groups(records, count, terms, reader)
    records = [record for record, kept in zip(records, keep, strict=True) if kept]
    count, label, predicted = count[keep], label[keep], predicted[keep]

    weight = weight_sq = count
    if terms.weighted:
        weight = _numbers(records, "weight_sum", _is_weight, "be finite and not negative")
        weight_sq = _numbers(records, "weight_sq_sum", _is_weight, "be finite and not negative")
    each = np.bincount(group, weight, minlength=len(parts)).astype(np.float64)
    threshold, counts = reader.finish(parts, each if terms.weighted else None)
    groups = tuple(", ".join(part) for part in parts)
    if not terms.decided:
        _check_thresholds(records, group, groups, threshold)
        ties = _numbers(records, "ties", partial(_is_part, count), PART)
        counts += Counts(ties=int(ties.sum()))
    known = np.where(label < 0, UNLABELED, label).astype(np.int64)
    stratum = (group.astype(np.int64) * 2 + predicted) * 3 + known
    clipped = _numbers(records, "clipped", partial(_is_part, count), PART)
    point = np.array([record["kind"] == "point" for record in records], dtype=bool)
    sums = [stratum, count, weight, weight_sq]
    points, cells = settled(
        len(groups),
        terms.clip,
        _points(_those(records, point), [values[point] for values in sums], terms),
        _cells(_those(records, ~point), [values[~point] for values in sums], terms),
    )
    return ScoreTable(
        groups,
        terms.clip,
        int(clipped.sum()),
        points,
        cells,
        attributes=tuple(terms.attributes),
        parts=parts,
        threshold=threshold,
        weighted=terms.weighted,
        counts=counts,
    )


def _points(records: list[Record], sums: list[Any], terms: Terms) -> Points:
    """Points, with the logit taken here: it is that of a table of arrays to the last digit."""
    stratum, count, weight, weight_sq = sums
    score = _numbers(records, "point", lambda v: (v >= 0) & (v <= 1), "lie in [0, 1]")
    if 1.0 - terms.clip == 1.0 and ((score == 0.0) | (score == 1.0)).any():
        edge = (score == 0.0) | (score == 1.0)
        raise ValueError(
            f"clip={terms.clip:g} needs scores strictly between 0 and 1; got "
            f"{score[edge][0]:g} ({int(count[edge].sum())} such rows); pass a clip above 0, such "
            "as 0.01, to the query"
        )
    return Points(stratum, logit_of(score, terms.clip), count, weight, weight_sq)


def _cells(records: list[Record], sums: list[Any], terms: Terms) -> Cells:
    stratum, count, weight, weight_sq = sums
    low, high = clip_bounds(terms.clip) / CELL_WIDTH
    cell = _numbers(
        records,
        "cell",
        lambda v: (v == np.floor(v)) & (v >= low - 2) & (v <= high + 1),
        "be whole numbers between the logits of the clipping bounds",
    )
    counted = _powers(records, "power", count)
    if terms.weighted:
        labeled = stratum % 3 != UNLABELED
        weighed = _powers(records, "weight_power", weight)
        counted = [np.where(labeled, *pair) for pair in zip(counted, weighed, strict=True)]
    return Cells(stratum, cell.astype(np.int64), count, weight, weight_sq, *counted)


def _powers(records: list[Record], name: str, mass: Floats) -> list[Floats]:
    """Sums of powers of what lies within half a cell of its centre."""
    rule = f"be sums over cells of width {CELL_WIDTH:g}"
    powers = []
    for j in (1, 2, 3):
        most = mass * (0.5 * CELL_WIDTH) ** j + ROUNDING * (mass + 1.0)
        powers.append(_numbers(records, f"{name}{j}", partial(_within, most), rule))
    return powers


def _groups(
    records: list[Record], count: Floats, terms: Terms, reader: RowReader
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int32], Parts]:
    """Which rows to keep, the group of each of them, the levels of each group."""
    levels = [
        levels_of(name, [record[f"level_{j}"] for record in records])
        for j, name in enumerate(terms.attributes, 1)
    ]
    gone = absent(levels)
    if gone is not None:
        rows = int(count[gone].sum())
        if terms.missing == "raise":
            holes = tuple(level.name for level in levels if (level.codes < 0).any())
            raise ValueError(
                f"sensitive_features is missing in {_rows(rows)} (in {list_values(holes)}); pass "
                'missing="drop" or missing="group" to the query'
            )
        dropped = terms.missing == "drop"
        reader.counts += Counts(dropped=rows) if dropped else Counts(missing_as_group=rows)
    reader.note_names(levels)
    keep = np.ones(len(records), dtype=bool)
    if gone is not None and terms.missing == "drop":
        levels, keep = drop_missing(levels, gone), ~gone
    reader.kept = int(count[keep].sum())
    if not reader.kept:
        return keep, np.zeros(0, np.int32), ()
    return keep, *cross([name_missing(level) for level in levels])


def _check_thresholds(
    records: list[Record],
    group: npt.NDArray[np.int32],
    groups: tuple[str, ...],
    threshold: float | dict[str, float] | None,
) -> None:
    for code, record in zip(group, records, strict=True):
        name = groups[code]
        expected = threshold[name] if isinstance(threshold, dict) else threshold
        value = record["threshold"]
        if is_missing(value):
            raise ValueError(
                f"the database writes the level of group {show(name)} in another way, so that its "
                "threshold did not find it; cast the columns of groups to text in a view"
            )
        if number_of(value) != expected:
            raise ValueError(
                f"threshold of {show(name)} must be {expected} in all rows; got {show(value)}; "
                f"{WHOLE_RESULT}"
            )


def _predicted(records: list[Record], count: Floats) -> npt.NDArray[np.bool_]:
    values = [record["predicted"] for record in records]
    gone = np.array([is_missing(value) for value in values])
    if gone.any():
        raise ValueError(f"y_pred has {_missing(count[gone].sum())}; every row needs a decision")
    for value in values:
        if isinstance(value, str) or number_of(value) not in (0, 1):
            raise ValueError(
                f"y_pred must hold 0 and 1, or bool; got {show(value)}; compare it with the "
                "positive class in a view"
            )
    return np.array([bool(value) for value in values])


def _refuse_faults(records: list[Record], count: Floats) -> None:
    for kind, message in FAULTS.items():
        bad = [at for at, record in enumerate(records) if record["kind"] == kind]
        if bad:
            rows = count[bad].sum()
            more = f" (and in {int(rows) - 1} more)" if rows > 1 else ""
            value = f"{show(records[bad[0]]['lowest'])}{more}"
            raise ValueError(message.format(missing=_missing(rows), value=value))
    for record in records:
        if record["kind"] not in ("point", "cell"):
            raise ValueError(f"kind must be point or cell; got {show(record['kind'])}")


def _check_total(records: list[Record], count: Floats) -> None:
    """Results are whole, once or more; those of parts of the data have totals of their own."""
    total = _numbers(records, "row_total", partial(_is_count, 1), "be whole numbers from 1")
    for whole in np.unique(total):
        here = count[total == whole].sum()
        if here % whole != 0:
            raise ValueError(
                f"the result is cut short: its rows count {here:,.0f} of {whole:,.0f} rows of the "
                "table; fetch all of it, without a limit"
            )


def _records(rows: Iterable[Any]) -> list[Record]:
    """Each row as a dict with names in lower case."""
    plain = isinstance(rows, (str, bytes, Mapping)) or not isinstance(rows, Iterable)
    if plain or hasattr(rows, "columns"):
        raise ValueError(
            f"rows must be an iterable of mappings; got {type(rows).__name__}; a pandas frame "
            'gives them with .to_dict("records"), polars with .to_dicts(), Arrow with .to_pylist()'
        )
    records = []
    for row in rows:
        mapping = row.asDict() if hasattr(row, "asDict") else row
        if not hasattr(mapping, "keys"):
            raise ValueError(
                f"rows must be mappings of column name to value; got {type(row).__name__}; make "
                "them with dict(zip(names, row))"
            )
        records.append({str(name).lower(): mapping[name] for name in mapping.keys()})  # noqa: SIM118
    if not records:
        raise ValueError("y_true and y_score must hold at least one row; the result has no rows")
    return records


def _terms(records: list[Record]) -> Terms:
    text = records[0].get("terms")
    if any(record.get("terms") != text for record in records):
        raise ValueError(
            "rows must have the same terms; got rows of different queries; make a table of each "
            "and add the tables"
        )
    try:
        terms = Terms(**json.loads(str(text)))
        check_clip(terms.clip)
        names, unlabeled = terms.attributes, terms.unlabeled
        named = isinstance(names, list) and names and all(isinstance(name, str) for name in names)
        plain = [terms.positive_label, *([] if unlabeled is None else unlabeled)]
        if named and not any(isinstance(value, (list, dict)) for value in plain):
            return terms
        raise ValueError
    except (TypeError, ValueError, RecursionError):
        raise ValueError(
            f"rows must have a column terms; got {show(text)} in it; {WHOLE_RESULT}"
        ) from None


def _check_columns(records: list[Record], terms: Terms) -> None:
    names = terms.columns()
    for at, record in enumerate(records):
        lacking = [name for name in names if name not in record]
        if lacking:
            raise ValueError(f"rows lack {list_values(tuple(lacking))} (row {at}); {WHOLE_RESULT}")


def _numbers(records: list[Record], name: str, good: Callable[[Floats], Any], rule: str) -> Floats:
    """A column of numbers; each must be one and keep the rule."""
    values = [number_of(record[name]) for record in records]
    array = np.array([math.nan if value is None else value for value in values], dtype=np.float64)
    bad = np.flatnonzero(~(good(array) & np.isfinite(array)))
    if bad.size:
        got = show(records[bad[0]][name])
        raise ValueError(f"{name} must {rule}; got {got} in a row; {WHOLE_RESULT}")
    return array


def _is_count(least: int, values: Floats) -> Any:
    return (values >= least) & (values == np.floor(values))


def _is_part(count: Floats, values: Floats) -> Any:
    return _is_count(0, values) & (values <= count)


def _is_weight(values: Floats) -> Any:
    return values >= 0


def _within(most: Floats, values: Floats) -> Any:
    return np.abs(values) <= most


def _those(records: list[Record], mask: npt.NDArray[np.bool_]) -> list[Record]:
    return [record for record, kept in zip(records, mask, strict=True) if kept]


def _rows(count: float) -> str:
    return f"{int(count)} {'row' if count == 1 else 'rows'}"


def _missing(count: float) -> str:
    return f"{int(count)} missing {'value' if count == 1 else 'values'}"
