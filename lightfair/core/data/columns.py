"""Columns: any container becomes one array, through the array protocols.

Lists, NumPy, pandas, polars and Arrow are read without importing any of those libraries. Missing
values are kept; `factorize` finds the distinct values, and the rows without one.

`Labels` reads those of y_true as 1, 0 and -1 for unlabeled. The meaning of a value depends on the
arguments alone: -1 is unlabeled like a missing value, unless `positive_label` or `unlabeled` is
given. Rules on all values, such as that there are two classes, are checked as values are read, and
where later values may matter by `check`.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .logit import Floats, Ints
from .messages import hint, list_values, missing_rows, show

TRUTHS = {"true": 1, "false": 0}  # a bool as text, in any case


def attribute_columns(values: Any) -> list[tuple[str, str, Any]]:
    """Return each sensitive attribute as (name, its name in errors, column)."""
    pairs: list[tuple[Any, Any]] | None = frame_columns(values)
    if pairs is None and isinstance(values, Mapping):
        pairs = list(values.items())
    elif pairs is None and getattr(values, "ndim", 1) == 2:
        pairs = [(None, values[:, j]) for j in range(values.shape[1])]
    elif pairs is None:
        several = isinstance(values, (list, tuple)) and values and all(map(_is_column, values))
        pairs = [(getattr(v, "name", None), v) for v in (values if several else [values])]
    if len(pairs) == 1:
        name, column = pairs[0]
        name = "group" if name in (None, "") else str(name)
        return [(name, "sensitive_features", column)]
    if not pairs:
        raise ValueError("sensitive_features must hold at least one column; got none")
    columns: dict[str, Any] = {}
    for j, (name, column) in enumerate(pairs, 1):
        name = f"group {j}" if name in (None, "") else str(name)
        if not alike(name, columns.setdefault(name, column), column):
            twice = f"more than one column {show(name)}"
            raise ValueError(f"sensitive_features has {twice}, which differ; rename or drop one")
    return [(name, f"sensitive_features[{show(name)}]", columns[name]) for name in columns]


def alike(name: str, one: Any, other: Any) -> bool:
    """Whether two columns are the same, or hold the same values."""
    if one is other:
        return True
    (codes, values), (others, more) = factorize(name, one), factorize(name, other)
    return values == more and np.array_equal(codes, others)


def frame_columns(values: Any) -> list[tuple[str, Any]] | None:
    """Return names and columns of a frame, or None for anything else.

    Frames are of pandas, polars, lazy or not, Arrow and DuckDB.
    """
    if hasattr(values, "num_columns") and hasattr(values, "schema"):
        return [(str(name), values.column(j)) for j, name in enumerate(values.schema.names)]
    if hasattr(values, "fetchnumpy"):  # a relation of DuckDB
        return [(str(name), column) for name, column in values.fetchnumpy().items()]
    if hasattr(values, "lazy") and hasattr(values, "collect"):  # lazy, of polars
        values = values.collect()
    if isinstance(values, np.ndarray) or len(getattr(values, "shape", ())) != 2:
        return None
    if hasattr(values, "iloc"):
        return [(str(name), values.iloc[:, j]) for j, name in enumerate(values.columns)]
    if hasattr(values, "get_columns"):
        return [(str(column.name), column) for column in values.get_columns()]
    return None


def columns_by_name(frame: Any) -> dict[str, Any]:
    """Return the columns of a frame or mapping; TypeError for anything else."""
    pairs = frame.items() if isinstance(frame, Mapping) else frame_columns(frame)
    if pairs is None:
        got = type(frame).__name__
        raise TypeError(f"frame must be a data frame or a dict of columns; got {got}")
    return dict(pairs)


def named_column(frame: Mapping[str, Any], name: str, argument: str, where: str = "frame") -> Any:
    """Return a column of a frame, given as columns by name, for an argument."""
    if name not in frame:
        known = list_values(tuple(frame)) or "no column names"
        problem = f"{where} has no column {name!r}{hint(name, frame)}"
        raise ValueError(f"{argument}: {problem}; it has {known}")
    return frame[name]


def from_frame(frame: Any, rows: dict[str, Any]) -> dict[str, Any]:
    """Return arguments about rows, with columns of a frame in place of their names."""
    columns = columns_by_name(frame)

    def resolved(argument: str, value: Any) -> Any:
        return named_column(columns, value, argument) if isinstance(value, str) else value

    found = {argument: resolved(argument, value) for argument, value in rows.items()}
    names = rows["sensitive_features"]
    names = [names] if isinstance(names, str) else names
    if isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names):
        names = {name: name for name in names}
    if isinstance(names, Mapping):
        own = {name: resolved("sensitive_features", value) for name, value in names.items()}
        found["sensitive_features"] = own
    return found


def check_lengths(columns: dict[str, Any]) -> None:
    """Raise ValueError unless all columns have the length of y_true, which is not 0."""
    n = len(columns["y_true"])
    for name, values in columns.items():
        if len(values) != n:
            got = f"{n} and {len(values)} rows"
            raise ValueError(f"y_true and {name} must have the same length; got {got}")
    if n == 0:
        raise ValueError("y_true and y_score must hold at least one row; got 0 rows")


def check_indexes(columns: list[tuple[str, Any]]) -> None:
    """Raise ValueError if pandas would pair the rows of (name, column) in another order."""
    indexed = [
        (name, values.index)
        for name, values in columns
        if hasattr(values, "iloc") and hasattr(getattr(values, "index", None), "equals")
    ]
    for name, index in indexed[1:]:
        if not index.equals(indexed[0][1]):
            rule = f"{indexed[0][0]} and {name} must have the same index"
            raise ValueError(f"{rule}; align them, or call .reset_index(drop=True) on both")


def factorize(name: str, values: Any, first: int = 0) -> tuple[Ints, list[Any]]:
    """Return codes intp (n,) into the distinct values, -1 for missing ones, and the values.

    Missing are NaN, None, pd.NA, NaT and the empty string. Errors number rows from `first`.
    """
    codes, items = _coded(name, values, first)
    items = [item.decode() if isinstance(item, bytes) else item for item in items]
    used = np.bincount(codes + 1, minlength=len(items) + 1)[1:] > 0
    position = np.full(len(items) + 1, -1)
    distinct: dict[tuple[bool, Any], int] = {}
    for code in np.flatnonzero(used):
        if not is_missing(items[code]):
            position[code] = distinct.setdefault(key_of(items[code]), len(distinct))
    return position[codes], [value for _, value in distinct]


def _coded(name: str, values: Any, first: int) -> tuple[Ints, list[Any]]:
    """Return codes into a list of values, which may be missing, unused or there twice."""
    values = _single(values)
    array = getattr(values, "array", values)
    if hasattr(array, "codes") and hasattr(array, "categories"):  # categorical of pandas
        return np.asarray(array.codes, dtype=np.intp), list(array.categories)
    if hasattr(values, "dictionary_encode") and not values.type.num_fields:  # Arrow, not nested
        encoded = values if hasattr(values.type, "index_type") else values.dictionary_encode()
        encoded = encoded.combine_chunks() if hasattr(encoded, "chunks") else encoded
        codes = encoded.indices.cast("int64").fill_null(-1)
        return codes.to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist()
    array = column(name, values)
    if array.dtype.kind in "biufmM":
        distinct, codes = np.unique(array, return_inverse=True)
        return codes, list(distinct)
    keys = items = array.tolist()
    apart = bool({bool, np.bool_} & set(map(type, items)))
    if apart:  # True == 1: as keys of a dict they would be one value
        keys = [key_of(item) for item in items]
    try:
        position = {key: code for code, key in enumerate(dict.fromkeys(keys))}
    except TypeError:
        row = next((i for i, item in enumerate(items) if not isinstance(item, Hashable)), 0)
        got = f"{show(items[row])} at row {first + row}"
        raise ValueError(f"{name} must hold plain values; got {got}") from None
    codes = np.fromiter(map(position.__getitem__, keys), dtype=np.intp, count=len(keys))
    return codes, [key[1] for key in position] if apart else list(position)


def numeric(
    name: str,
    values: Any,
    bounds: tuple[float, float],
    rule: str,
    first: int = 0,
    gaps: bool = False,
) -> Floats:
    """Return a numeric column as a new float64 array (n,).

    Parameters
    ----------
    name, values
        The column, and its name in errors.
    bounds
        Of values other than 0, finite, both included.
    rule
        What the values must do, and a remedy: "lie in [0, 1]; transform percentages".
    first
        Number of the first row, for errors.
    gaps
        Whether missing values become NaN; else they are errors.
    """
    array = column(name, values)
    plain = array.dtype.kind in "iuf"
    result = np.array(array if plain else [_real(item) for item in array.tolist()], np.float64)
    missing = np.isnan(result)
    if missing.any() and not gaps:
        raise ValueError(f"{name} has {missing_rows(missing, first)}; drop these rows or fill them")
    bad = ~((result >= bounds[0]) & (result <= bounds[1]) | (result == 0.0) | missing)
    if bad.any():
        row = int(np.argmax(bad))
        more = f" (and in {bad.sum() - 1} more)" if bad.sum() > 1 else ""
        value = result[row] if np.isfinite(result[row]) else array[row]
        got = f"{show(value)} at row {first + row}{more}"
        rule, remedy = rule.split("; ", 1)
        if name == "y_score" and np.isfinite(result).all():
            remedy = _scale_of(result) or remedy
        raise ValueError(f"{name} must {rule}; got {got}; {remedy}")
    return result


def _scale_of(score: Floats) -> str:
    """Return the remedy for scores that look like another scale, else ""."""
    if score.min() < 0.0:
        return "they look like log odds or margins; pass 1 / (1 + exp(-score))"
    if set(score) <= set(range(1, 11)):
        return "they look like deciles; pass (score - 0.5) / 10"
    percent = np.median(score) > 1.0 and 2.0 < score.max() <= 100.0
    return "they look like percentages; pass score / 100" if percent else ""


def _real(item: Any) -> float:
    """Return a number, or text that reads as one, NaN if it is missing, and else infinity."""
    if isinstance(item, str):
        try:
            return float(item or "nan") if "_" not in item else math.inf  # Python reads 0_1 as 1
        except ValueError:
            return math.inf
    if isinstance(item, (numbers.Real, Decimal)) and not isinstance(item, bool):
        return float(item)
    return math.nan if is_missing(item) else math.inf


def column(name: str, values: Any) -> NDArray[Any]:
    """Return one column as a 1-D array; missing values are kept."""
    values = _single(values)
    frame = frame_columns(values)
    array = np.empty((0, len(frame))) if frame else _array(name, values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        got = f"shape {array.shape}" if array.ndim else show(values)
        remedy = "; pass that of the positive class, y_score[:, 1]" if name == "y_score" else ""
        raise ValueError(f"{name} must be one column, with a value for each row; got {got}{remedy}")
    return array


def _single(values: Any) -> Any:
    """Return the column of a frame of one column, and anything else as it is."""
    frame = frame_columns(values)
    return frame[0][1] if frame is not None and len(frame) == 1 else values


def key_of(value: Any) -> tuple[bool, Any]:
    """Return a key that is equal for 1 and 1.0, and another one for True."""
    return isinstance(value, (bool, np.bool_)), value


def is_missing(value: Any) -> bool:
    """Whether a value is None, pd.NA, the empty string, or differs from itself, as NaN and NaT."""
    if value is None or type(value).__name__ == "NAType" or (isinstance(value, str) and not value):
        return True
    differs = value != value
    return isinstance(differs, (bool, np.bool_)) and bool(differs)


def number_of(value: Any) -> float | None:
    """Return a finite number, a bool, or a text that reads as one, as float; None for others."""
    if isinstance(value, str):
        value = TRUTHS.get(value.lower(), value)
    try:
        plain = isinstance(value, (numbers.Real, Decimal, str, np.bool_))
        number = float(value) if plain else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def same(value: Any, other: Any) -> bool:
    """Whether two values are equal, also as numbers: "2", 2 and 2.0 are the same label."""
    if is_missing(value) or is_missing(other):
        return False
    number = number_of(value)
    return bool(value == other) if number is None else number == number_of(other)


def _array(name: str, values: Any) -> NDArray[Any]:
    kind = type(values).__name__
    plain = hasattr(values, "__array__") or hasattr(values, "__iter__")
    if isinstance(values, (str, bytes, Mapping, set, frozenset)) or not plain:
        named = "; names of columns need frame=" * isinstance(values, str)
        raise ValueError(f"{name} must be a list, array or column in row order; got {kind}{named}")
    if isinstance(values, np.ndarray) and hasattr(values, "mask"):
        masked = np.array(values.data, dtype=object)
        masked[values.mask] = None
        return masked
    if hasattr(values, "__array__"):
        return np.asarray(values)
    items = list(values)
    types = set(map(type, items))
    if len(types) == 1 and issubclass(types.pop(), (bool, float, np.generic)):
        return np.asarray(items)
    return np.array(items, dtype=object)  # np.asarray([1, "a"]) would make all of them text


def _is_column(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, np.generic))


class Labels:
    """The labels of a data set, read in one or more parts.

    Parameters
    ----------
    positive_label, unlabeled
        As in `score_data`.
    """

    def __init__(self, positive_label: Any, unlabeled: Any) -> None:
        several = isinstance(unlabeled, Iterable) and not isinstance(unlabeled, (str, bytes))
        values = unlabeled if several else [unlabeled]
        self.unlabeled = [value for value in values if not is_missing(value)]
        self.no_positive_label = positive_label is None
        self.positive = 1 if positive_label is None else positive_label
        self.default = positive_label is None and unlabeled is None
        self.unlabeled += [-1] * self.default
        self.classes: set[Any] = set()  # of the labels read so far; 1, 1.0, True and "1" are one
        self.minus_one = False  # whether -1 was read, and taken as unlabeled by default
        if any(same(positive_label, value) for value in self.unlabeled):
            got = show(positive_label)
            raise ValueError(f"positive_label and unlabeled must differ; got {got} in both")

    def read(self, column: Any, first: int = 0) -> NDArray[np.int8]:
        """Return 1, 0, or -1 for unlabeled, int8 (n,); rows in errors are numbered from `first`."""
        codes, values = factorize("y_true", column, first)
        meaning = []
        for value in values:
            if any(same(value, other) for other in self.unlabeled):
                self.minus_one |= self.default
                meaning.append(-1)
                continue
            number = number_of(value)
            self.classes.add(value if number is None else number)
            meaning.append(int(same(value, self.positive)))
        shown = list_values(self.classes)
        if len(self.classes) > 2:
            got = f"{len(self.classes)} values: {shown}"
            raise ValueError(f"y_true must hold two classes; got {got}; or pass unlabeled=")
        if self.no_positive_label and not self.classes <= {0, 1}:
            raise ValueError(f"y_true must hold 0 and 1; got {shown}; or pass positive_label=")
        return np.array([*meaning, -1], dtype=np.int8)[codes]  # code -1, missing, is the last

    def check(self) -> None:
        """Raise ValueError if the classes of all rows leave open which one is positive."""
        if self.minus_one and self.classes == {1}:
            ways = "pass positive_label=1 if -1 is a class, or unlabeled=-1 if it is unlabeled"
            raise ValueError(f"y_true holds only -1 and 1; {ways}")
        one_sided = len(self.classes) == 1 and {*self.classes, number_of(self.positive)} <= {0, 1}
        if self.classes and not one_sided and not any(same(v, self.positive) for v in self.classes):
            got = f"{show(self.positive)}, y_true holds {list_values(self.classes)}"
            raise ValueError(f"positive_label must be in y_true; got {got}; or pass labels 0 and 1")
