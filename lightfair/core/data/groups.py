"""Groups: names for the values of each attribute, missing values, crossed attributes.

A crossed group is a combination of levels, one of each attribute, and named by them: "Female,
Black".
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import factorize, number_of
from .messages import (
    MISSING_LEVEL,
    Counts,
    Note,
    level_name,
    list_values,
    missing_rows,
    row_list,
)

Parts = tuple[tuple[str, ...], ...]

EMPTY_LIMIT = 10_000  # above this many combinations the empty ones are counted, not listed

SINGLETON_LEVELS = 20  # more levels than this, most of them single rows, are a warning

BLANK = ("", "na", "nan", "n/a", "null", "<na>", "nat")  # names that may mean a missing level


class Levels(NamedTuple):
    """One attribute: codes (n,) into sorted names, -1 missing; the distinct values."""

    name: str
    codes: NDArray[np.int64]
    names: list[str]
    values: list[Any]


def levels_of(name: str, column: Any, first: int = 0) -> Levels:
    """Name the values of a column; rows in errors are numbered from `first`."""
    codes, values = factorize("sensitive_features", column, first)
    named = [level_name(value) for value in values]
    names = sorted(set(named))
    position = {level: code for code, level in enumerate(names)}
    codes = np.array([*(position[level] for level in named), -1])[codes]
    return Levels(name, codes, names, values)


def absent(levels: list[Levels]) -> NDArray[np.bool_] | None:
    """Return the mask of rows that miss an attribute, None for no row."""
    masks = [level.codes < 0 for level in levels if (level.codes < 0).any()]
    return np.logical_or.reduce(masks) if masks else None


def refuse_missing(levels: list[Levels], first: int) -> None:
    """Raise ValueError that names the rows where an attribute is missing."""
    masks = [(level.name, level.codes < 0) for level in levels if (level.codes < 0).any()]
    where = missing_rows(masks[0][1], first)
    if len(levels) > 1:
        count = sum(int(np.count_nonzero(mask)) for _, mask in masks)
        lists = (f"{name}: {row_list(first + np.flatnonzero(mask))}" for name, mask in masks)
        where = f"{count} missing {'value' if count == 1 else 'values'} ({'; '.join(lists)})"
    raise ValueError(f'sensitive_features has {where}; pass missing="drop" or missing="group"')


def drop_missing(levels: list[Levels], gone: NDArray[np.bool_]) -> list[Levels]:
    """Leave out rows, and levels without any other row."""
    kept = []
    for level in levels:
        codes, used = _compact(level.codes[~gone], len(level.names))
        kept.append(level._replace(codes=codes, names=[level.names[code] for code in used]))
    return kept


def name_missing(level: Levels) -> Levels:
    """Make missing values a level, if there are any."""
    if not (level.codes < 0).any():
        return level
    names = sorted([*level.names, MISSING_LEVEL])
    position = np.array([names.index(name) for name in [*level.names, MISSING_LEVEL]])
    return level._replace(codes=position[level.codes], names=names)


def cross(levels: list[Levels]) -> tuple[NDArray[np.int32], Parts]:
    """Return codes int32 (n,) of the groups that have rows, sorted by name, and their levels."""
    codes = np.zeros(len(levels[0].codes), dtype=np.int64)
    parts: list[tuple[str, ...]] = [()]
    for level in levels:
        width = len(level.names)
        codes, used = _compact(codes * width + level.codes, len(parts) * width)
        parts = [(*parts[code // width], level.names[code % width]) for code in used]
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
    """Return the indexes of attributes with two levels or more."""
    return tuple(k for k, column in enumerate(zip(*parts, strict=True)) if len(set(column)) > 1)


def empty_groups(parts: Parts) -> tuple[str, ...]:
    """Return combinations of levels without rows, sorted; () if there are too many to list."""
    levels = [sorted(set(column)) for column in zip(*parts, strict=True)]
    if not len(parts) < math.prod(map(len, levels)) <= EMPTY_LIMIT:
        return ()
    missing = set(itertools.product(*levels)) - set(parts)
    return tuple(sorted(map(", ".join, missing)))


def data_notes(
    counts: Counts,
    attributes: tuple[str, ...],
    parts: Parts,
    rows: NDArray[np.float64] | NDArray[np.int64],
    design: bool,
    dropped: str = "",
) -> tuple[Note, ...]:
    """Return the warnings about the rows of a data set.

    Parameters
    ----------
    counts, attributes, parts
        As in `ScoreTable`.
    rows
        Number of rows of each group, (group,).
    design
        Whether labeled rows were chosen with known probabilities.
    dropped
        List of rows without an attribute, as far as their numbers are known.
    """
    notes = []
    where = f" ({dropped})" if dropped else ""
    for attribute, levels in counts.merged_levels:
        message = f"{attribute}: values of different types share a name and are one level: "
        message += f"{list_values(set(levels))}; if they are not, give them names of their own"
        notes.append(Note("merged_levels", message))
    if counts.dropped:
        message = f"rows dropped, sensitive_features is missing: {counts.dropped}{where}"
        notes.append(Note("dropped_rows", message))
    if counts.missing_as_group:
        message = f'rows put in the level "{MISSING_LEVEL}" of sensitive_features: '
        notes.append(Note("missing_as_group", f"{message}{counts.missing_as_group}{where}"))
    combinations = 1
    for attribute, column in zip(attributes, zip(*parts, strict=True), strict=False):
        counts_of: Counter[str] = Counter()
        for level, count in zip(column, rows.tolist(), strict=True):
            counts_of[level] += count
        notes += _level_notes(attribute, counts_of)
        combinations *= len(counts_of)
    if combinations > EMPTY_LIMIT and len(attributes) > 1:
        message = f"combinations without rows, too many to list: {combinations - len(parts)}; "
        message += "cross fewer attributes, or merge levels"
        notes.append(Note("empty_groups", message))
    if counts.ties:
        message = f"rows with a score equal to the threshold, counted as positive: {counts.ties}"
        message += "; a threshold just above makes them negative"
        notes.append(Note("ties_with_threshold", message))
    if design:
        message = "labels-only weights each label by 1 / label_prob; prediction-powered is left "
        message += "out where it differs within a group; the posterior does not need it if rows "
        message += "were chosen by their score and group alone"
        notes.append(Note("label_prob", message))
    return tuple(notes)


def _level_notes(attribute: str, rows: Counter[str]) -> list[Note]:
    """Return warnings about the levels of an attribute, by their names and numbers of rows."""
    notes = []
    single = sum(count == 1 for count in rows.values())
    real = [n for n in map(number_of, rows) if n is not None and not n.is_integer()]
    if 2 * single > len(rows) and (len(rows) > SINGLETON_LEVELS or real):
        message = f"{attribute} has {len(rows)} levels, {single} of them with one row; cut a "
        notes.append(Note("real_valued_group", f"{message}real-valued column into bands"))
    alike: dict[str, list[str]] = {}
    for level in sorted(rows):
        alike.setdefault("".join(level.casefold().split()), []).append(level)
    listed = [list_values(tuple(levels)) for levels in alike.values() if len(levels) > 1]
    if listed:
        message = f"{attribute} has levels that differ only in case or spaces: "
        message += "; ".join(listed[:5]) + ("; ..." if len(listed) > 5 else "")
        notes.append(Note("alike_levels", f"{message}; if they are one, write them alike"))
    blank = tuple(level for level in sorted(rows) if level.casefold() in BLANK)
    if blank:
        message = f"{attribute} has levels that read as missing: {list_values(blank)}; they are "
        message += "groups; if they are missing, leave them empty"
        notes.append(Note("blank_levels", message))
    return notes


def _compact(codes: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], list[int]]:
    """Renumber codes in range(size) without gaps, and return the old codes in use."""
    if size > 4 * codes.size + 1000:
        used, inverse = np.unique(codes, return_inverse=True)
        return inverse, used.tolist()
    used = np.flatnonzero(np.bincount(codes, minlength=size))
    rank = np.zeros(size, dtype=np.int64)
    rank[used] = np.arange(used.size)
    return rank[codes], used.tolist()
