"""Groups: names for the values of each attribute, what to do where one is missing, the crossing.

A crossed group is its levels, one of each attribute, and is called by them: "Female, Black". What
there is to say of the groups of a data set, here, follows from their levels and numbers of rows.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import factorize
from .distinct import in_use
from .messages import MISSING_LEVEL, Note, level_name, list_values, missing_rows, row_list

Parts = tuple[tuple[str, ...], ...]

EMPTY_LIMIT = 10_000  # above this many combinations the empty ones are counted, not listed

SINGLETON_LEVELS = 20  # a column with more levels than this, most of them single rows, is noted

BLANK = ("", "na", "nan", "n/a", "null", "<na>", "nat")  # names that may mean a missing level


class Levels(NamedTuple):
    """One attribute: codes (n,) into sorted names, -1 missing; the distinct values."""

    name: str
    codes: NDArray[np.int64]
    names: list[str]
    values: list[Any]


def levels_of(name: str, array: Any, first: int = 0) -> Levels:
    """Name the values of a column; rows in errors are numbered from `first`."""
    codes, values = factorize("sensitive_features", array, first)
    named = [level_name(value) for value in values]
    names = sorted(set(named))
    if named != names:
        position = {level: code for code, level in enumerate(names)}
        codes = np.array([*(position[level] for level in named), -1])[codes]
    return Levels(name, codes, names, values)


def absent(levels: list[Levels]) -> NDArray[np.bool_] | None:
    """Return which rows miss an attribute, None for no row."""
    holes = [level.codes < 0 for level in levels if (level.codes < 0).any()]
    return np.logical_or.reduce(holes) if holes else None


def refuse_missing(levels: list[Levels], first: int) -> None:
    """Raise ValueError that names the rows where an attribute is missing."""
    holes = [(level.name, level.codes < 0) for level in levels if (level.codes < 0).any()]
    where = missing_rows(holes[0][1], first)
    if len(levels) > 1:
        count = sum(int(np.count_nonzero(hole)) for _, hole in holes)
        lists = (f"{name}: {row_list(first + np.flatnonzero(hole))}" for name, hole in holes)
        where = f"{count} missing {'value' if count == 1 else 'values'} ({'; '.join(lists)})"
    raise ValueError(f'sensitive_features has {where}; pass missing="drop" or missing="group"')


def drop_missing(levels: list[Levels], gone: NDArray[np.bool_]) -> list[Levels]:
    """Leave out rows, and levels that then have none."""
    kept = []
    for level in levels:
        codes, present = _compact(level.codes[~gone], len(level.names))
        kept.append(level._replace(codes=codes, names=[level.names[code] for code in present]))
    return kept


def name_missing(level: Levels) -> Levels:
    """Make what is missing a level, where something is."""
    if not (level.codes < 0).any():
        return level
    names = sorted([*level.names, MISSING_LEVEL])
    table = np.array([names.index(name) for name in [*level.names, MISSING_LEVEL]])
    return level._replace(codes=table[level.codes], names=names)


def cross(levels: list[Levels]) -> tuple[NDArray[np.int32], Parts]:
    """Codes of the crossed groups that have rows, sorted by name, and the levels of each."""
    codes: NDArray[np.int64] | None = None
    parts: list[tuple[str, ...]] = [()]
    for level in levels:
        width = len(level.names)
        pairs = level.codes if codes is None else codes * width + level.codes
        codes, present = _compact(pairs, len(parts) * width)
        parts = [(*parts[code // width], level.names[code % width]) for code in present]
    names = group_names(parts)
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank[codes], tuple(parts[code] for code in order)


def group_names(parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the name of each group; two groups may not share one."""
    names = tuple(", ".join(part) for part in parts)
    if len(set(names)) < len(names):
        twice = list_values({name for name, count in Counter(names).items() if count > 1})
        raise ValueError(
            f"sensitive_features makes two groups of one name: {twice}; rename levels that hold a "
            "comma"
        )
    return names


def crossed(parts: Parts) -> tuple[int, ...]:
    """Return which attributes have two levels or more: those that cross others."""
    return tuple(k for k, column in enumerate(zip(*parts, strict=True)) if len(set(column)) > 1)


def empty_groups(parts: Parts) -> tuple[str, ...]:
    """Combinations of levels that have no row, sorted; () where they are too many to list."""
    levels = [sorted(set(column)) for column in zip(*parts, strict=True)]
    if not len(parts) < math.prod(map(len, levels)) <= EMPTY_LIMIT:
        return ()
    seen = set(parts)
    every = itertools.product(*levels)
    return tuple(sorted(", ".join(part) for part in every if part not in seen))


def group_notes(
    attributes: tuple[str, ...], parts: Parts, rows: NDArray[np.float64] | NDArray[np.int64]
) -> list[Note]:
    """Say which attribute looks real-valued, whose levels may be one, how many are not there.

    Parameters
    ----------
    attributes, parts
        As in `ScoreData`.
    rows
        Number of rows of each group, (group,).
    """
    notes = []
    every: list[set[str]] = []
    for attribute, column in zip(attributes, zip(*parts, strict=True), strict=False):
        counts: dict[str, float] = {}
        for level, count in zip(column, rows.tolist(), strict=True):
            counts[level] = counts.get(level, 0) + count
        every.append(set(counts))
        single = sum(count == 1 for count in counts.values())
        many = len(counts) > SINGLETON_LEVELS or any(map(_is_real, counts))
        if 2 * single > len(counts) and many:
            message = f"{attribute} has {len(counts)} levels, {single} of them with one row; cut a "
            message += "real-valued column into bands"
            notes.append(Note("real_valued_group", message))
        notes += _name_notes(attribute, every[-1])
    combinations = math.prod(map(len, every))
    if combinations > EMPTY_LIMIT and len(attributes) > 1:
        message = f"combinations without rows, too many to list: {combinations - len(parts)}; "
        message += "cross fewer attributes, or merge levels"
        notes.append(Note("empty_groups", message))
    return notes


def _name_notes(attribute: str, levels: set[str]) -> list[Note]:
    """Say which levels may be one, or none: they are groups of their own, whatever they mean."""
    alike: dict[str, list[str]] = {}
    for level in sorted(levels):
        alike.setdefault("".join(level.casefold().split()), []).append(level)
    groups = [same for same in alike.values() if len(same) > 1]
    notes = []
    if groups:
        listed = "; ".join(list_values(tuple(same)) for same in groups[:5])
        more = "; ..." if len(groups) > 5 else ""
        message = f"{attribute} has levels that differ only in case or spaces: {listed}{more}; if "
        notes.append(Note("alike_levels", f"{message}they are one, write them alike"))
    blank = tuple(sorted(level for level in levels if level.casefold() in BLANK))
    if blank:
        message = f"{attribute} has levels that read as missing: {list_values(blank)}; they are "
        notes.append(
            Note("blank_levels", f"{message}groups; if they are missing, leave them empty")
        )
    return notes


def _is_real(level: str) -> bool:
    """Whether the name of a level reads as a number that is not whole."""
    try:
        number = float(level)
    except ValueError:
        return False
    return math.isfinite(number) and not number.is_integer()


def _compact(codes: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], list[int]]:
    """Renumber codes in range(size) without gaps; also the old codes in use."""
    if size > 4 * codes.size + 1000:
        used, inverse = np.unique(codes, return_inverse=True)
        return inverse, used.tolist()
    used = np.flatnonzero(in_use(codes, size))
    if used.size < size:
        table = np.zeros(size, dtype=np.int64)
        table[used] = np.arange(used.size)
        codes = table[codes]
    return codes, used.tolist()
