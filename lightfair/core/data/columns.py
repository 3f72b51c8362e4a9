"""Columns: any container becomes one array, through the array protocols.

Lists, NumPy, pandas, polars and Arrow are read without importing any of those libraries. Missing
values stay what they are; `factorize` finds the distinct values and which rows miss theirs.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Hashable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .distinct import Coded, arrow_numbers, coded, few_numbers, few_objects, few_texts, in_use
from .messages import list_values, missing_rows, show


def column(name: str, values: Any, *, few: bool = False) -> Any:
    """One column as a 1-D array; missing values stay what they are.

    With `few`, where a container holds the codes of its values or finds them fast, they are taken:
    Coded. `factorize` reads both.
    """
    frame = frame_columns(values)
    if frame is not None and len(frame) == 1:
        values, frame = frame[0][1], None
    found = coded(values) if few and frame is None else None
    if found is not None:
        return found
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


def attribute_columns(values: Any) -> list[tuple[str, str, Any]]:
    """Each sensitive attribute as (name, how errors call it, column)."""
    pairs: list[tuple[Any, Any]] | None = frame_columns(values)
    if pairs is None and isinstance(values, Mapping):
        pairs = list(values.items())
    elif isinstance(values, (list, tuple)) and values and all(map(_is_column, values)):
        pairs = [(getattr(column, "name", None), column) for column in values]
    elif pairs is None:
        whole = hasattr(values, "iloc") or hasattr(values, "dictionary_encode")
        array = values if whole else _array("sensitive_features", values)
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
        (name, f"sensitive_features[{show(name)}]", pair[1])
        for name, pair in zip(names, pairs, strict=True)
    ]


def check_lengths(columns: dict[str, Any], features: Any) -> None:
    n = len(columns["y_true"])
    for name, column in columns.items():
        if len(column) != n:
            rowwise = name.startswith("sensitive") and isinstance(features, (list, tuple))
            rowwise = rowwise and len(features) == n
            hint = "; a list of lists is read as columns: pass list(zip(*rows))" if rowwise else ""
            raise ValueError(
                f"y_true and {name} must have the same length; got {n} and {len(column)} rows{hint}"
            )
    if n == 0:
        raise ValueError("y_true and y_score must hold at least one row; got 0 rows")


def check_indexes(given: list[tuple[str, Any]], first: int = 0) -> None:
    """Rows are paired by position, in pandas by index; where the two differ, neither is safe."""
    indexed = [
        (name, values.index)
        for name, values in given
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


def factorize(name: str, array: Any, first: int = 0) -> tuple[NDArray[np.int64], list[Any]]:
    """Codes into the distinct values; -1 for NaN, None, pd.NA, NaT and the empty string.

    Errors number rows from `first`.
    """
    if isinstance(array, Coded):
        place, found = factorize(name, _array(name, array.values))
        used = in_use(place[in_use(array.codes, len(place))], len(found))
        rank = np.append(np.cumsum(used) - 1, -1)
        table = np.append(rank[place], -1)
        codes = table[array.codes.astype(np.intp, copy=False)]
        return codes, [value for value, some in zip(found, used, strict=True) if some]
    kind = array.dtype.kind
    if kind in "biufmM":
        numbers = few_numbers(array)
        if numbers is not None:
            return numbers[0], list(numbers[1])
        sorted_values, codes = np.unique(array, return_inverse=True)
        present = sorted_values == sorted_values  # NaN and NaT sort last
        return np.where(present[codes], codes, -1), list(sorted_values[present])
    few = few_texts(array) if kind == "U" else few_objects(array) if kind == "O" else None
    if few is not None:
        try:
            place, found = _by_dict(name, few[1], first)
            return np.append(place, -1)[few[0]], found
        except ValueError:  # raised again, with the number of the row
            pass
    return _by_dict(name, array.tolist(), first)


def _by_dict(name: str, values: list[Any], first: int) -> tuple[NDArray[np.int64], list[Any]]:
    """Codes of values of any type, in the order of their first rows."""
    keys: list[Any] = values
    types = set(map(type, values))
    apart = len(types) > 1 and bool(types & {bool, np.bool_})
    if apart:  # True == 1: as keys of a dict they would be one value
        keys = [key_of(value) for value in values]
    try:
        code = dict.fromkeys(keys, -1)
    except TypeError:
        row = next((i for i, value in enumerate(values) if not isinstance(value, Hashable)), 0)
        got = show(values[row])
        raise ValueError(f"{name} must hold plain values; got {got} at row {first + row}") from None
    distinct: list[Any] = []
    for key in code:
        value = key[1] if apart else key
        if not is_missing(value):
            code[key] = len(distinct)
            distinct.append(value)
    codes = np.fromiter(map(code.__getitem__, keys), dtype=np.int64, count=len(keys))
    return codes, distinct


def numeric(
    name: str, array: NDArray[Any], rule: str, way_out: str, first: int = 0, *, gaps: bool = False
) -> NDArray[np.float64]:
    """A numeric column as a new float64 array; booleans and text are refused.

    Missing values are refused, too, or NaN with `gaps`.
    """
    if array.dtype.kind in "iuf":
        result = array.astype(np.float64)
    else:
        values = array.tolist()
        real = (numbers.Real, Decimal)
        types = set(map(type, values))
        odd = {kind for kind in types if not issubclass(kind, real) or issubclass(kind, bool)}
        for row, value in enumerate(values) if odd else ():
            if type(value) in odd and not is_missing(value):
                raise ValueError(
                    f"{name} must hold {rule}; got {show(value)} at row {first + row}; {way_out}"
                )
        result = np.array([math.nan if type(v) in odd else float(v) for v in values])
    absent = np.isnan(result)
    if absent.any() and not gaps:
        raise ValueError(f"{name} has {missing_rows(absent, first)}; drop these rows or fill them")
    return result


def key_of(value: Any) -> tuple[bool, Any]:
    """What tells values of a column apart: 1 and 1.0 are one value, True is another."""
    return isinstance(value, (bool, np.bool_)), value


def is_missing(value: Any) -> bool:
    """None, pd.NA, the empty string, and what differs from itself: NaN, NaT, Decimal("NaN")."""
    if value is None or type(value).__name__ == "NAType" or (isinstance(value, str) and not value):
        return True
    differs = value != value
    return isinstance(differs, (bool, np.bool_)) and bool(differs)


def number_of(value: Any) -> float | None:
    """A number, or a text that reads as a finite number; None for anything else."""
    if isinstance(value, (numbers.Real, Decimal, np.bool_)):
        return float(value)
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def same(value: Any, other: Any) -> bool:
    """Equal as values, or as numbers: "2", 2 and 2.0 are the same label."""
    if is_missing(value) or is_missing(other):
        return False
    number = number_of(value)
    return bool(value == other) if number is None else number == number_of(other)


def _array(name: str, values: Any) -> NDArray[Any]:
    if isinstance(values, (str, bytes, Mapping, set, frozenset)):
        kind = type(values).__name__
        raise ValueError(f"{name} must be a list, array or column in row order; got {kind}")
    ma = sys.modules.get("numpy.ma")  # asking NumPy for it would import it, at 50 ms
    if ma is not None and isinstance(values, ma.MaskedArray):
        masked = np.array(values.data, dtype=object)
        masked[ma.getmaskarray(values)] = None
        return masked
    numbers = arrow_numbers(values)
    if numbers is not None and numbers[1] is None:
        return numbers[0]
    nulls = getattr(values, "null_count", 0)  # polars: a method; Arrow: a number
    nulls = nulls() if callable(nulls) else nulls
    if isinstance(nulls, int) and nulls:
        # Their arrays turn integers with nulls into floats, which merges integers above 2**53.
        values = values.to_list() if hasattr(values, "to_list") else values.to_pylist()
    if hasattr(values, "__array__"):
        array = np.asarray(values)
    elif hasattr(values, "to_numpy"):
        array = np.asarray(values.to_numpy())
    else:
        try:
            items = list(values.tolist() if hasattr(values, "tolist") else values)
        except TypeError:
            kind = type(values).__name__
            raise ValueError(f"{name} must be a list, array or column; got {kind}") from None
        array = _from_list(items)
    return np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array


def _from_list(items: list[Any]) -> NDArray[Any]:
    """A list as an array that keeps its values: np.asarray([1, "a", None]) would rewrite them."""
    types = set(map(type, items))
    kind = types.pop() if len(types) == 1 else object
    if issubclass(kind, (bool, float, np.generic)):
        return np.asarray(items)
    shapes = {*map(_shape, items)} if issubclass(kind, (list, tuple, np.ndarray)) else {None}
    if len(shapes) == 1 and None not in shapes:
        return np.array(items, dtype=object)
    array = np.fromiter(items, dtype=object, count=len(items))
    if kind is int and min(items) >= -(2**63) and max(items) < 2**63:
        return array.astype(np.int64)
    return array


def _shape(item: Any) -> tuple[int, ...] | None:
    """The shape of an array or nested lists; None for lists of several lengths."""
    try:
        shape: tuple[int, ...] = np.shape(item)
    except ValueError:
        return None
    return shape


def frame_columns(values: Any) -> list[tuple[str, Any]] | None:
    """Names and columns of a frame of pandas, polars or Arrow; None for anything else."""
    if hasattr(values, "num_columns") and hasattr(values, "schema"):
        return [(str(name), values.column(j)) for j, name in enumerate(values.schema.names)]
    if isinstance(values, np.ndarray) or len(getattr(values, "shape", ())) != 2:
        return None
    if hasattr(values, "iloc"):
        return [(str(name), values.iloc[:, j]) for j, name in enumerate(values.columns)]
    if hasattr(values, "get_columns"):
        return [(str(column.name), column) for column in values.get_columns()]
    return None


def _is_column(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, np.generic))
