"""Groups: names for the values of each attribute, what to do where one is missing, the crossing."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import factorize
from .wording import Note, level_name, list_values, missing_rows, row_list

MISSING_LEVEL = "missing"  # the level that missing="group" makes
EMPTY_LIMIT = 10_000  # above this many combinations the empty ones are counted, not listed
SINGLETON_LEVELS = 20  # a column with more levels than this, most of them single rows, is noted


class Levels(NamedTuple):
    """One attribute: codes (n,) into sorted names, -1 missing; real: some level is not whole."""

    name: str
    codes: NDArray[np.int64]
    names: list[str]
    real: bool


def levels_of(name: str, array: NDArray[Any], notes: list[Note]) -> Levels:
    codes, values = factorize("sensitive_features", array)
    named = [level_name(value) for value in values]
    names = sorted(set(named))
    if len(names) < len(named):
        twice = list_values({level for level, count in Counter(named).items() if count > 1})
        message = f"{name}: values of different types share a name and are one level: {twice}"
        notes.append(Note("merged_levels", message))
    position = {level: code for code, level in enumerate(names)}
    real = any(isinstance(v, (float, np.floating)) and not float(v).is_integer() for v in values)
    return Levels(name, np.array([*(position[level] for level in named), -1])[codes], names, real)


def apply_missing(
    levels: list[Levels], missing: str, notes: list[Note]
) -> tuple[NDArray[np.bool_] | None, list[Levels]]:
    """Stop, drop or name what is missing: the rows to keep (None: all), and levels with rows."""
    holes = [level for level in levels if (level.codes < 0).any()]
    if not holes:
        return None, levels
    absent = np.logical_or.reduce([level.codes < 0 for level in holes])
    if missing == "raise":
        where = missing_rows(absent)
        if len(levels) > 1:
            count = sum(int(np.count_nonzero(level.codes < 0)) for level in holes)
            listed = "; ".join(f"{level.name}: {row_list(level.codes < 0)}" for level in holes)
            where = f"{count} missing {'value' if count == 1 else 'values'} ({listed})"
        raise ValueError(f'sensitive_features has {where}; pass missing="drop" or missing="group"')
    rows = f"{np.count_nonzero(absent)} ({row_list(absent)})"
    if missing == "drop":
        if absent.all():
            raise ValueError('sensitive_features is missing in every row; pass missing="group"')
        notes.append(Note("dropped_rows", f"rows dropped, sensitive_features is missing: {rows}"))
        kept = []
        for level in levels:
            codes, present = _compact(level.codes[~absent], len(level.names))
            kept.append(level._replace(codes=codes, names=[level.names[code] for code in present]))
        return ~absent, kept
    for level in holes:
        if MISSING_LEVEL in level.names:
            raise ValueError(
                f'sensitive_features already has a level "{MISSING_LEVEL}" in {level.name}; rename '
                'it or pass missing="drop"'
            )
    message = f'rows put in the level "{MISSING_LEVEL}" of sensitive_features: {rows}'
    notes.append(Note("missing_as_group", message))
    return None, [_name_missing(level) if level in holes else level for level in levels]


def cross(
    levels: list[Levels], notes: list[Note]
) -> tuple[NDArray[np.int32], tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Codes of the crossed groups, the levels of each, the combinations without rows."""
    codes: NDArray[np.int64] = np.zeros(len(levels[0].codes), dtype=np.int64)
    parts: list[tuple[str, ...]] = [()]
    for level in levels:
        width = len(level.names)
        counts = np.bincount(level.codes, minlength=width)
        single = int(np.count_nonzero(counts == 1))
        if 2 * single > width and (level.real or width > SINGLETON_LEVELS):
            message = f"{level.name} has {width} levels, {single} of them with one row; cut a "
            message += "real-valued column into bands"
            notes.append(Note("real_valued_group", message))
        codes, present = _compact(codes * width + level.codes, len(parts) * width)
        parts = [(*parts[code // width], level.names[code % width]) for code in present]
    names = [", ".join(part) for part in parts]
    if len(set(names)) < len(names):
        twice = list_values({name for name, count in Counter(names).items() if count > 1})
        raise ValueError(
            f"sensitive_features makes two groups of one name: {twice}; rename levels that hold a "
            "comma"
        )
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    combinations = math.prod(len(level.names) for level in levels)
    empty: list[str] = []
    if len(parts) < combinations <= EMPTY_LIMIT:
        seen = set(parts)
        every = itertools.product(*(level.names for level in levels))
        empty = sorted(", ".join(part) for part in every if part not in seen)
    elif combinations > EMPTY_LIMIT and len(levels) > 1:
        message = f"combinations without rows, too many to list: {combinations - len(parts)}"
        notes.append(Note("empty_groups", message))
    return rank[codes], tuple(parts[code] for code in order), tuple(empty)


def _name_missing(level: Levels) -> Levels:
    names = sorted([*level.names, MISSING_LEVEL])
    table = np.array([names.index(name) for name in [*level.names, MISSING_LEVEL]])
    return level._replace(codes=table[level.codes], names=names)


def _compact(codes: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], list[int]]:
    """Renumber codes in range(size) without gaps; also the old codes in use."""
    if size > 4 * codes.size + 1000:
        used, inverse = np.unique(codes, return_inverse=True)
        return inverse, used.tolist()
    used = np.flatnonzero(np.bincount(codes, minlength=size))
    table = np.zeros(size, dtype=np.int64)
    table[used] = np.arange(used.size)
    return table[codes], used.tolist()
