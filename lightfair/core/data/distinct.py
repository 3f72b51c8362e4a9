"""Distinct: the few values of a long column, and the code of each row, without sorting it.

A column of groups or of labels has few values. They are looked up by a multiplicative hash that is
free of collisions on them: a row costs one product, one shift and two reads, and a row whose value
is new is noticed, so that the answer is exact. Text is packed into words first; objects, of which a
column usually holds few, each many times, are told apart by their addresses. Containers that hold
codes already are asked for them.

Every function answers None where it does not apply, or where values are not few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.intp]

FEW = 256  # values; a table of 2**16 places holds them without a collision

SAMPLE = 1024  # rows looked at first

BLOCK = 65_536  # rows at a time: they stay in the processor's cache

MULTIPLIER = 0x9E3779B97F4A7C15  # odd, its bits without pattern

WIDEST = 64  # characters of a text that is packed

# types of Arrow, and of their numbers in memory
NUMBERS: dict[str, Any] = {"bool": np.uint8, "float": np.float32, "double": np.float64}

NUMBERS |= {
    f"{sign}int{bits}": np.dtype(f"{sign}int{bits}")
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}

TEXTS = ("string", "large_string")


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as codes (n,) into a column of values; -1 is missing. Values may be unused."""

    codes: NDArray[Any]
    values: Any

    def __len__(self) -> int:
        return len(self.codes)


def coded(values: Any) -> Coded | None:
    """The codes that a container holds, or finds fast: pandas and Arrow."""
    array = getattr(values, "array", values)
    if hasattr(array, "codes") and hasattr(array, "categories"):  # pandas, categorical
        return Coded(np.asarray(array.codes), array.categories)
    dtype = getattr(values, "dtype", None)
    if getattr(dtype, "name", None) in ("str", "string") and hasattr(values, "factorize"):
        return Coded(*values.factorize())
    return _coded_arrow(values)


def _coded_arrow(values: Any) -> Coded | None:
    kind: Any = getattr(values, "type", None)
    if hasattr(kind, "index_type"):  # a dictionary
        encoded, kind = values, kind.value_type
    elif str(kind) in TEXTS and hasattr(values, "dictionary_encode"):
        encoded = values.dictionary_encode()
    else:
        numbers = arrow_numbers(values)
        few = None if numbers is None else few_numbers(numbers[0])
        if numbers is None or few is None:
            return None
        return Coded(_without_nulls(few[0], numbers[1]), few[1])
    if str(kind) not in (*TEXTS, *NUMBERS):
        return None
    if hasattr(encoded, "unify_dictionaries"):
        encoded = encoded.unify_dictionaries()
    chunks = getattr(encoded, "chunks", [encoded])
    codes = []
    for chunk in chunks:
        numbers = arrow_numbers(chunk.indices)
        if numbers is None:
            return None
        codes.append(_without_nulls(*numbers))
    if not chunks:
        return None
    whole = codes[0] if len(codes) == 1 else np.concatenate(codes)
    return Coded(whole, chunks[0].dictionary.to_pylist())


def arrow_numbers(values: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None] | None:
    """The numbers (n,) of an Arrow column as they are in memory, and which of them are not null.

    None instead of the latter: all. The column's own conversion would import pandas, where it is
    installed.
    """
    kind = str(getattr(values, "type", ""))
    if kind not in NUMBERS or not (hasattr(values, "buffers") or hasattr(values, "chunks")):
        return None
    chunks = getattr(values, "chunks", [values])
    parts = [_numbers(chunk, kind) for chunk in chunks]
    parts = parts or [np.zeros(0, bool if kind == "bool" else NUMBERS[kind])]
    numbers = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if not any(chunk.null_count for chunk in chunks):
        return numbers, None
    return numbers, np.concatenate([_present(chunk) for chunk in chunks])


def _numbers(chunk: Any, kind: str) -> NDArray[Any]:
    data, last = chunk.buffers()[1], chunk.offset + len(chunk)
    if kind == "bool":
        return _bits(data, last).astype(bool)[chunk.offset :]
    return np.frombuffer(b"" if data is None else data, NUMBERS[kind])[chunk.offset : last]


def _present(chunk: Any) -> NDArray[np.bool_]:
    valid = chunk.buffers()[0]
    if valid is None:
        return np.ones(len(chunk), bool)
    return _bits(valid, chunk.offset + len(chunk)).astype(bool)[chunk.offset :]


def _without_nulls(codes: NDArray[Any], present: NDArray[np.bool_] | None) -> NDArray[Any]:
    return codes if present is None else np.where(present, codes.astype(np.int64), -1)


def _bits(buffer: Any, count: int) -> NDArray[np.uint8]:
    if buffer is None:
        return np.zeros(0, np.uint8)
    return np.unpackbits(np.frombuffer(buffer, np.uint8), count=count, bitorder="little")


def in_use(codes: NDArray[Any], size: int) -> NDArray[np.bool_]:
    """Which of the codes 0 .. size - 1 some row has, bool (size,); -1 is none of them."""
    used = np.zeros(size, bool)
    for rows in (codes[:SAMPLE], codes):  # most are in the first rows, if all are
        if not used.all():
            counts = np.bincount(rows.astype(np.intp, copy=False) + 1, minlength=size + 1)
            used = counts[1:] > 0
    return used


def few_numbers(array: NDArray[Any]) -> tuple[Codes, NDArray[Any]] | None:
    """Codes (n,) into the sorted values of a column of booleans, integers or floats; NaN is -1."""
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        return None
    if array.dtype.kind != "f":
        found = few(array if array.dtype == np.uint64 else array.astype(np.int64, copy=False))
        return None if found is None else (found[0], found[1].astype(array.dtype))
    present = array == array
    whole = bool(present.all())
    # adding 0 makes 0.0 of -0.0
    found = few((array if whole else array[present]).astype(np.float64, copy=False) + 0.0)
    if found is None:
        return None
    codes, values = found
    if not whole:
        codes = np.full(len(array), -1, dtype=np.intp)
        codes[present] = found[0]
    return codes, values.astype(array.dtype)


def few_texts(array: NDArray[np.str_]) -> tuple[Codes, list[str]] | None:
    """Codes (n,) into the texts of an array of them, in the order of their first rows."""
    width = array.dtype.itemsize // 4
    if not 0 < width <= WIDEST or not array.dtype.isnative:
        return None
    letters = np.ascontiguousarray(array).view(np.uint32).reshape(len(array), width)
    narrow = int(letters.max()) < 256
    each = 8 if narrow else 2
    codes: Codes | None = None
    for at in range(0, width, each):
        part = letters[:, at : at + each]
        word = np.zeros((len(array), each), dtype=np.uint8 if narrow else np.uint32)
        word[:, : part.shape[1]] = part
        found = few(word.view(np.uint64)[:, 0])
        if found is None:
            return None
        if codes is None:
            codes = found[0]
        else:
            found = few((codes * len(found[1]) + found[0]).astype(np.int64))
            if found is None:
                return None
            codes = found[0]
    assert codes is not None
    codes, rows = by_first_row(codes)
    return codes, array[rows].tolist()


def few_objects(array: NDArray[np.object_]) -> tuple[Codes, list[Any]] | None:
    """Codes (n,) into the distinct objects of an array of them, in the order of their first rows.

    Objects that are equal but not the same are two.
    """
    found = few(np.frombuffer(np.ascontiguousarray(array), dtype=np.intp).astype(np.int64))
    if found is None:
        return None
    codes, rows = by_first_row(found[0])
    return codes, [array[row] for row in rows]


def by_first_row(codes: Codes) -> tuple[Codes, Codes]:
    """Renumber codes by the first row of each; also these rows."""
    first = np.full(int(codes.max()) + 1, len(codes), dtype=np.intp)
    head = codes[:SAMPLE]
    first[head[::-1]] = np.arange(len(head))[::-1]
    if (first == len(codes)).any():
        first[codes[::-1]] = np.arange(len(codes))[::-1]
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[codes], first[order]


def few(array: NDArray[Any]) -> tuple[Codes, NDArray[Any]] | None:
    """Codes (n,) into the sorted values of a column of int64, uint64 or float64 without NaN.

    Floats must not hold -0.0.
    """
    values = np.unique(array[:SAMPLE])
    table = _table(values)
    codes = np.empty(len(array), dtype=np.intp)
    words = array.view(np.uint64)
    for at in range(0, len(array), BLOCK):
        block = slice(at, at + BLOCK)
        while table is not None:
            places, multiplier, shift = table
            codes[block] = places.take((words[block] * multiplier >> shift).view(np.int64))
            new = values.take(codes[block]) != array[block]
            if not new.any():
                break
            values = np.concatenate([values, np.unique(array[block][new])])
            table = _table(values)
        if table is None:
            return None
    order = np.argsort(values)
    if (order[1:] < order[:-1]).any():
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        codes, values = rank.take(codes), values[order]
    return codes, values


def _table(values: NDArray[Any]) -> tuple[Codes, np.uint64, np.uint64] | None:
    """A hash table without collisions: code of each place, multiplier and shift of a word."""
    if not 0 < len(values) <= FEW:
        return None
    words = values.view(np.uint64)
    bits = max(2 * (len(values) - 1).bit_length(), 4)
    for attempt in range(64):
        multiplier = np.uint64(pow(MULTIPLIER, attempt + 1, 2**64))
        shift = np.uint64(64 - bits)
        places = (words * multiplier >> shift).view(np.int64)
        if len(np.unique(places)) == len(values):
            codes = np.zeros(2**bits, dtype=np.intp)
            codes[places] = np.arange(len(values))
            return codes, multiplier, shift
    return None
