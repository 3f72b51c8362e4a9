"""Groups: names for the values of each attribute, missing values, crossed attributes.

A crossed group is a combination of levels, one of each attribute, and named by them: "Female,
Black".
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import factorize, number_of
from .logit import Ints
from .messages import MISSING_LEVEL, Counts, Note, level_name, list_values, name_key, note, show

Parts = tuple[tuple[str, ...], ...]

EMPTY_LIMIT = 10_000  # combinations above which the empty ones are not listed

MOST_BINS = 20

MOST_NUMBERS = 50  # levels of an attribute of numbers

MOST_GROUPS = 200  # of a report, which has all pairs; 400 took six minutes

BLANK = ("", "na", "nan", "n/a", "null", "<na>", "nat")  # names that may mean a missing level


class Levels(NamedTuple):
    """One attribute: its name, codes intp (n,) into sorted names, mask of missing values (n,)."""

    name: str
    codes: Ints
    missing: NDArray[np.bool_]
    names: list[str]


def check_bins(bins: Any) -> dict[str, Any]:
    """Return edges, rising, or a number of quantiles, by attribute; ValueError if they are not."""
    checked: dict[str, Any] = {}
    try:
        named = dict(bins or {})
    except (TypeError, ValueError):
        way = 'bins={"age": [25, 45]} or {"age": 4}'
        raise ValueError(f"bins must name attributes, as {way}; got {show(bins)}") from None
    for name, given in named.items():
        try:
            edges = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            edges = np.empty(0)
        whole = edges.ndim == 0 and edges in range(2, MOST_BINS + 1)
        rising = edges.ndim == 1 and edges.size and np.isfinite(edges).all()
        if not whole and not (rising and (np.diff(edges) > 0.0).all()):
            rule = f"rising numbers, or a number of quantiles from 2 to {MOST_BINS}"
            raise ValueError(f"bins of {name} must be {rule}; got {show(given)}")
        checked[str(name)] = int(edges) if whole else tuple(edges.tolist())
    return checked


def levels_of(name: str, column: Any, missing: str, first: int, bins: dict[str, Any]) -> Levels:
    """Name the values of a column, or their bins; rows in errors are numbered from `first`.

    Missing values have the level "missing", which values may not have if `missing` is "group".
    In `bins` a number of quantiles is replaced by their edges, which later rows have, too.
    """
    codes, values = factorize("sensitive_features", column, first)
    names = [level_name(value) for value in values]
    if name in bins:
        numbers = np.array([number_of(value) for value in values], dtype=np.float64)
        if np.isnan(numbers).any():
            got = show(values[int(np.argmax(np.isnan(numbers)))])
            raise ValueError(f"bins of {name} need an attribute of numbers; got {got}")
        if isinstance(count := bins[name], int):
            numbers_of_rows, shares = numbers[codes[codes >= 0]], np.arange(1, count) / count
            edges = np.unique(np.quantile(numbers_of_rows, shares, method="higher"))
            bins[name] = tuple(edges.tolist())
        ends = [*map(level_name, bins[name])]
        bands = [f"below {ends[0]}", *map(" to ".join, pairwise(ends)), f"{ends[-1]} or more"]
        names = [bands[at] for at in np.searchsorted(bins[name], numbers, side="right")]
    if missing == "group" and MISSING_LEVEL in names:
        text = f'sensitive_features has a level "{MISSING_LEVEL}" in {name}'
        raise ValueError(f'{text}; rename it or pass missing="drop"')
    names.append(MISSING_LEVEL)
    distinct = sorted(set(names), key=name_key)
    position = {level: code for code, level in enumerate(distinct)}
    ranks = np.array([position[level] for level in names])
    return Levels(name, ranks[codes], codes < 0, distinct)


def cross(
    levels: list[Levels],
    codes: NDArray[np.integer] | int = 0,
    parts: Sequence[tuple[str, ...]] = ((),),
) -> tuple[NDArray[np.int32], Parts]:
    """Return codes int32 (n,) of the groups that have rows, sorted by name, and their levels.

    The groups may already be those of other attributes, with these codes and parts.
    """
    for level in levels:
        width = len(level.names)
        wide = np.asarray(codes, np.int64) * width + level.codes  # may exceed 32 bits
        used, codes = np.unique(wide, return_inverse=True)
        parts = [(*parts[code // width], level.names[code % width]) for code in used.tolist()]
    names = group_names(parts)
    order = sorted(range(len(names)), key=lambda code: name_key(names[code]))
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank[codes], tuple(parts[code] for code in order)


def check_size(attributes: tuple[str, ...], parts: Parts) -> None:
    """Raise ValueError if there are more groups than a report can compare."""
    for attribute, column in zip(attributes, zip(*parts, strict=True), strict=True):
        levels = {*column} - {MISSING_LEVEL}
        if len(levels) > MOST_NUMBERS and all(number_of(level) is not None for level in levels):
            rule = f"at most {MOST_NUMBERS} numbers; got {len(levels):,} in {attribute}"
            way = f"bins, {attribute}=25,45,65 or, for quartiles, {attribute}=4"
            raise ValueError(f"sensitive_features must be {rule}; use {way}; write codes as text")
    if (count := len(parts)) > MOST_GROUPS:
        rule = f"at most {MOST_GROUPS:,} groups; got {count:,}"
        raise ValueError(f"sensitive_features must make {rule}; merge levels, or use bins")


def group_names(parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the name of each group; two groups may not share one."""
    names = tuple(", ".join(part) for part in parts)
    if len(set(names)) < len(names):
        twice = list_values({name for name, count in Counter(names).items() if count > 1})
        raise ValueError(f"sensitive_features makes two groups {twice}; rename their levels")
    return names


def places_of(names: Sequence[str], groups: Sequence[str]) -> Ints:
    """Return the index of each name among groups, which have all of them."""
    place = {name: at for at, name in enumerate(groups)}
    return np.array([place[name] for name in names], dtype=np.intp)


def crossed(parts: Parts) -> tuple[int, ...]:
    """Return the indexes of attributes with two levels or more."""
    return tuple(k for k, column in enumerate(zip(*parts, strict=True)) if len(set(column)) > 1)


def empty_groups(parts: Parts) -> tuple[str, ...]:
    """Return combinations of levels without rows, sorted; () if there are too many to list."""
    levels = [set(column) for column in zip(*parts, strict=True)]
    if not len(parts) < math.prod(map(len, levels)) <= EMPTY_LIMIT:
        return ()
    missing = set(itertools.product(*levels)) - set(parts)
    return tuple(sorted(map(", ".join, missing), key=name_key))


def data_notes(
    counts: Counts, attributes: tuple[str, ...], parts: Parts, design: bool
) -> tuple[Note, ...]:
    """Return the warnings about the rows of a data set.

    Parameters
    ----------
    counts, attributes, parts
        As in `ScoreTable`.
    design
        Whether labeled rows were chosen with known probabilities.
    """
    changed = {"dropped_rows": counts.dropped, "missing_as_group": counts.missing_as_group}
    notes = [note(code, count) for code, count in changed.items() if count]
    for attribute, column in zip(attributes, zip(*parts, strict=True), strict=False):
        levels = sorted(set(column), key=name_key)
        alike: dict[str, list[str]] = {}
        for level in levels:
            alike.setdefault("".join(level.casefold().split()), []).append(level)
        if listed := [list_values(tuple(names)) for names in alike.values() if len(names) > 1]:
            more = "; ..." if len(listed) > 5 else ""
            notes.append(note("alike_levels", attribute, "; ".join(listed[:5]) + more))
        if blank := tuple(level for level in levels if level.casefold() in BLANK):
            notes.append(note("blank_levels", attribute, list_values(blank)))
    if counts.ties:
        notes.append(note("ties_with_threshold", counts.ties))
    return (*notes, note("label_prob")) if design else tuple(notes)
