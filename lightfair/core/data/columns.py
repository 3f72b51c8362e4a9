"""Columns: any container becomes one array, through the array protocols.

Lists, NumPy, pandas, polars and Arrow are read without importing any of those libraries. Missing
values are kept; `factorize` finds the distinct values, and the rows without one.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .messages import list_values, missing_rows, show


def attribute_columns(values: Any) -> list[tuple[str, str, Any]]:
    """Return each sensitive attribute as (name, its name in errors, column)."""
    pairs: list[tuple[Any, Any]] | None = frame_columns(values)
    if pairs is None and isinstance(values, Mapping):
        pairs = list(values.items())
    elif isinstance(values, (list, tuple)) and values and all(map(_is_column, values)):
        pairs = [(getattr(column, "name", None), column) for column in values]
    elif pairs is None:
        coded = hasattr(values, "iloc") or hasattr(values, "dictionary_encode")
        array = values if coded else _array("sensitive_features", values)
        pairs = [(getattr(values, "name", None), array)]
        if getattr(array, "ndim", 1) == 2:
            pairs = [(None, array[:, j]) for j in range(array.shape[1])]
    if not pairs:
        raise ValueError("sensitive_features must hold at least one column; got none")
    if len(pairs) == 1:
        name, column = pairs[0]
        return [("group" if name in (None, "") else str(name), "sensitive_features", column)]
    names = [
        f"group {j}" if name in (None, "") else str(name) for j, (name, _) in enumerate(pairs, 1)
    ]
    if len(set(names)) < len(names):
        raise ValueError(f"sensitive_features must have distinct names; got {list_values(names)}")
    return [
        (name, f"sensitive_features[{show(name)}]", column)
        for name, (_, column) in zip(names, pairs, strict=True)
    ]


def frame_columns(values: Any) -> list[tuple[str, Any]] | None:
    """Return names and columns of a frame of pandas, polars or Arrow; None for anything else."""
    if hasattr(values, "num_columns") and hasattr(values, "schema"):
        return [(str(name), values.column(j)) for j, name in enumerate(values.schema.names)]
    if isinstance(values, np.ndarray) or len(getattr(values, "shape", ())) != 2:
        return None
    if hasattr(values, "iloc"):
        return [(str(name), values.iloc[:, j]) for j, name in enumerate(values.columns)]
    if hasattr(values, "get_columns"):
        return [(str(column.name), column) for column in values.get_columns()]
    return None


def check_lengths(lengths: dict[str, int], features: Any) -> None:
    """Raise ValueError unless all columns have the length of y_true, which is not 0."""
    n = lengths["y_true"]
    for name, length in lengths.items():
        if length != n:
            by_row = name.startswith("sensitive") and isinstance(features, (list, tuple))
            by_row = by_row and len(features) == n
            hint = "; a list of lists is read as columns: pass list(zip(*rows))" if by_row else ""
            raise ValueError(
                f"y_true and {name} must have the same length; got {n} and {length} rows{hint}"
            )
    if n == 0:
        raise ValueError("y_true and y_score must hold at least one row; got 0 rows")


def check_indexes(columns: list[tuple[str, Any]], first: int = 0) -> None:
    """Raise ValueError if pandas would pair the rows of (name, column) in another order."""
    indexed = [
        (name, values.index)
        for name, values in columns
        if hasattr(values, "iloc") and hasattr(getattr(values, "index", None), "equals")
    ]
    for name, index in indexed[1:]:
        one, expected = indexed[0]
        if not index.equals(expected):
            pairs = enumerate(zip(expected, index, strict=True))
            row = next((i for i, (a, b) in pairs if a != b), 0)
            raise ValueError(
                f"{one} and {name} must have the same index; got {show(expected[row])} and "
                f"{show(index[row])} at row {first + row}; align them, or call "
                ".reset_index(drop=True) on both if their rows match by position"
            )


def factorize(name: str, values: Any, first: int = 0) -> tuple[NDArray[np.int64], list[Any]]:
    """Return codes int64 (n,) into the distinct values, -1 for missing ones, and the values.

    Missing are NaN, None, pd.NA, NaT and the empty string. Numbers are sorted, other values are in
    the order of their first rows. Errors number rows from `first`.
    """
    coded = _coded(values)
    if coded is not None:
        place, distinct = _by_dict(name, coded[1], first)
        codes = np.append(place, -1)[coded[0]]
        used = np.bincount(codes + 1, minlength=len(distinct) + 1)[1:] > 0
        rank = np.append(np.cumsum(used) - 1, -1)
        return rank[codes], [value for value, kept in zip(distinct, used, strict=True) if kept]
    array = column(name, values)
    if array.dtype.kind in "biufmM":
        sorted_values, codes = np.unique(array, return_inverse=True)
        present = sorted_values == sorted_values  # NaN and NaT sort last
        return np.where(present[codes], codes, -1), list(sorted_values[present])
    return _by_dict(name, array.tolist(), first)


def _coded(values: Any) -> tuple[Any, list[Any]] | None:
    """Return the codes and values of a categorical of pandas, or of a column of Arrow."""
    frame = frame_columns(values)
    if frame is not None and len(frame) == 1:
        values = frame[0][1]
    array = getattr(values, "array", values)
    if hasattr(array, "codes") and hasattr(array, "categories"):
        return np.asarray(array.codes), list(array.categories)
    if not hasattr(values, "dictionary_encode"):
        return None
    encoded = values if hasattr(values.type, "index_type") else values.dictionary_encode()
    encoded = encoded.combine_chunks() if hasattr(encoded, "chunks") else encoded
    codes = encoded.indices.cast("int64").fill_null(-1)
    return codes.to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist()


def _by_dict(name: str, values: list[Any], first: int) -> tuple[NDArray[np.int64], list[Any]]:
    keys: list[Any] = values
    types = set(map(type, values))
    apart = len(types) > 1 and bool(types & {bool, np.bool_})
    if apart:  # True == 1: as keys of a dict they would be one value
        keys = [key_of(value) for value in values]
    try:
        code = dict.fromkeys(keys, -1)
    except TypeError:
        row = next((i for i, value in enumerate(values) if not isinstance(value, Hashable)), 0)
        got = f"{show(values[row])} at row {first + row}"
        raise ValueError(f"{name} must hold plain values; got {got}") from None
    distinct: list[Any] = []
    for key in code:
        value = key[1] if apart else key
        if not is_missing(value):
            code[key] = len(distinct)
            distinct.append(value)
    codes = np.fromiter(map(code.__getitem__, keys), dtype=np.int64, count=len(keys))
    return codes, distinct


def numeric(
    name: str, values: Any, rule: str, way_out: str, first: int = 0, *, gaps: bool = False
) -> NDArray[np.float64]:
    """Return a numeric column as a new float64 array (n,); booleans and text are errors.

    Missing values are errors, too, or NaN with `gaps`.
    """
    array = column(name, values)
    if array.dtype.kind in "iuf":
        result = array.astype(np.float64)
    else:
        items = array.tolist()
        odd = {kind for kind in set(map(type, items)) if not _is_number(kind)}
        for row, value in enumerate(items) if odd else ():
            if type(value) in odd and not is_missing(value):
                raise ValueError(
                    f"{name} must hold {rule}; got {show(value)} at row {first + row}; {way_out}"
                )
        result = np.array([math.nan if type(item) in odd else float(item) for item in items])
    absent = np.isnan(result)
    if absent.any() and not gaps:
        raise ValueError(f"{name} has {missing_rows(absent, first)}; drop these rows or fill them")
    return result


def column(name: str, values: Any) -> NDArray[Any]:
    """Return one column as a 1-D array; missing values are kept."""
    frame = frame_columns(values)
    if frame is not None and len(frame) == 1:
        values, frame = frame[0][1], None
    array = _array(name, values) if frame is None else np.empty(values.shape)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2 and array.shape[1] == 2 and name == "y_score":
        raise ValueError(
            f"y_score must be one column; got shape {array.shape}, a column for each class; pass "
            "the one of the positive class, y_score[:, 1]"
        )
    if array.ndim != 1:
        got = f"shape {array.shape}" if array.ndim else show(values)
        raise ValueError(f"{name} must be one column, with a value for each row; got {got}")
    return array


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
    """Return a number, or a text that reads as a finite number, as float; None for others."""
    if isinstance(value, (numbers.Real, Decimal, np.bool_)):
        return float(value)
    try:
        number = float(value) if isinstance(value, str) else math.nan
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
    if isinstance(values, (str, bytes, Mapping, set, frozenset)):
        kind = type(values).__name__
        raise ValueError(f"{name} must be a list, array or column in row order; got {kind}")
    if isinstance(values, np.ndarray) and hasattr(values, "mask"):
        masked = np.array(values.data, dtype=object)
        masked[values.mask] = None
        return masked
    nulls = getattr(values, "null_count", 0)  # polars: a method; Arrow: a number
    nulls = nulls() if callable(nulls) else nulls
    if isinstance(nulls, int) and nulls:
        # Their arrays turn integers with nulls into floats, which merges integers above 2**53.
        values = values.to_list() if hasattr(values, "to_list") else values.to_pylist()
    if hasattr(values, "__array__"):
        array = np.asarray(values)
        return np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
    try:
        items = list(values)
    except TypeError:
        kind = type(values).__name__
        raise ValueError(f"{name} must be a list, array or column; got {kind}") from None
    return _from_list(items)


def _from_list(items: list[Any]) -> NDArray[Any]:
    """Return a list as an array that keeps its values: np.asarray([1, "a"]) would rewrite them."""
    types = set(map(type, items))
    if len(types) == 1 and issubclass(next(iter(types)), (bool, float, np.generic)):
        return np.asarray(items)
    array = np.array(items, dtype=object)
    if types == {int}:
        try:
            return array.astype(np.int64)
        except OverflowError:
            pass
    return array


def _is_number(kind: type) -> bool:
    return issubclass(kind, (numbers.Real, Decimal)) and not issubclass(kind, bool)


def _is_column(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, np.generic))
