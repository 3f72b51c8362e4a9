"""The only door: rows of labels, scores and groups come in here and leave checked and encoded.

Everything after this module works on plain NumPy arrays and trusts them. So this module takes what
people have (lists, NumPy, pandas, polars, Arrow; integers, floats, booleans, text, nullable and
categorical columns) through the array protocols, without importing any of those libraries. Each
error names the argument, the rule, the value and row that break it, and the way out. Nothing is
changed silently: what is dropped, merged or unusual is counted in `ScoreData.notes`. Rows are
numbered from 0.

The one thing computed here is the decision of a row in group g; a score equal to the threshold is
positive::

    predicted = score >= threshold[g]
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MISSING_LEVEL = "missing"  # the level that missing="group" makes
EMPTY_LIMIT = 10_000  # above this many combinations the empty ones are counted, not listed
SINGLETON_LEVELS = 20  # a column with more levels than this, most of them single rows, is noted


class Note(NamedTuple):
    """What was dropped or is unusual: a stable code for programs, a sentence for people."""

    code: str
    message: str


@dataclass(frozen=True, eq=False)
class ScoreData:
    """Rows of a scored data set, checked and encoded.

    Attributes
    ----------
    label : int8 array, shape (n,)
        1 positive, 0 negative, -1 unlabelled.
    score : float64 array, shape (n,)
        Probability of the positive class, in [0, 1], not clipped.
    group : int32 array, shape (n,)
        Index into `groups`.
    predicted : bool array, shape (n,)
        Whether the row is predicted positive.
    weight : float64 array, shape (n,), or None
        Finite, not negative, with a positive sum in every group. None: every row counts once.
    groups : tuple of str
        Names of the groups that have rows, sorted. Crossed groups read "Female, Black".
    attributes : tuple of str
        Names of the sensitive attributes.
    parts : tuple of tuple of str
        For each group its level of each attribute.
    empty_groups : tuple of str
        Combinations of observed levels that have no row, sorted. Only crossed attributes have them.
    threshold : float, dict of str to float, or None
        The threshold, or one for each of `groups`. None when `y_pred` was given.
    notes : tuple of Note
        What was dropped, what is unusual.
    """

    label: NDArray[np.int8]
    score: NDArray[np.float64]
    group: NDArray[np.int32]
    predicted: NDArray[np.bool_]
    weight: NDArray[np.float64] | None
    groups: tuple[str, ...]
    attributes: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    empty_groups: tuple[str, ...]
    threshold: float | dict[str, float] | None
    notes: tuple[Note, ...]


def score_data(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    y_pred: Any = None,
    threshold: float | Mapping[Any, float] = 0.5,
    sample_weight: Any = None,
    positive_label: Any = None,
    unlabeled: Any = None,
    missing: str = "raise",
) -> ScoreData:
    """Check and encode the rows of a scored, partly labelled data set.

    Parameters
    ----------
    y_true : column, shape (n,)
        Labels. NaN, None, pd.NA, NaT, the empty string and -1 mean unlabelled. Labels 0/1 and
        False/True, also as text ("0", "1.0"), explain themselves; any other two values need
        `positive_label`.
    y_score : column, shape (n,)
        Probability of the positive class, in [0, 1]; not log odds, not percent.
    sensitive_features : column, 2-D array, data frame, dict of columns, or list of columns
        Group of each row. Several columns make crossed groups. Levels are named ``str(value)``;
        whole floats lose their ".0", so that the container of a column does not change its names.
    y_pred : column, shape (n,), optional
        Decisions, 0/1 or bool, where 1 is the positive class. They replace `threshold`.
    threshold : float or mapping of group to float
        In (0, 1). A score equal to it is positive. Keys of a mapping are names or raw values; for
        crossed groups tuples of levels or joined names.
    sample_weight : column, shape (n,), optional
        How much each row counts: finite, not negative.
    positive_label : scalar, optional
        The value of `y_true` that is the positive class. If -1 and 1 are its only values, this
        makes -1 a class.
    unlabeled : scalar or list, optional
        Values of `y_true` that mean unlabelled, beside the missing ones. They replace -1.
    missing : {"raise", "drop", "group"}
        What to do where `sensitive_features` is missing (NaN, None, pd.NA, NaT, the empty string):
        stop, drop the rows, or make a level "missing".

    Returns
    -------
    ScoreData

    Examples
    --------
    >>> data = score_data([1, 0, None], [0.9, 0.2, 0.5], sensitive_features=["b", "a", "a"])
    >>> data.label.tolist(), data.groups, data.group.tolist()
    ([1, 0, -1], ('a', 'b'), [1, 0, 0])
    >>> data.notes[0].message
    'rows with a score equal to the threshold, counted as positive: 1'
    """
    if missing not in ("raise", "drop", "group"):
        raise ValueError(f'missing must be "raise", "drop" or "group"; got {_show(missing)}')
    default = isinstance(threshold, float) and threshold == 0.5
    if y_pred is not None and not default:
        raise ValueError("give y_pred or threshold, not both: y_pred already holds the decisions")
    features = _attribute_columns(sensitive_features)
    given: list[tuple[str, Any]] = [("y_true", y_true), ("y_score", y_score)]
    given += [(where, values) for _, where, values in features]
    given += [("y_pred", y_pred)] * (y_pred is not None)
    given += [("sample_weight", sample_weight)] * (sample_weight is not None)
    columns = {where: _column(where, values) for where, values in given}
    _check_lengths(columns, sensitive_features)
    _check_indexes(given)

    label = _labels(columns["y_true"], positive_label, unlabeled)
    score = _scores(columns["y_score"])
    predicted = None if y_pred is None else _decisions(columns["y_pred"])
    weight = None if sample_weight is None else _weights(columns["sample_weight"])
    notes: list[Note] = []
    levels = [_levels(name, columns[where], notes) for name, where, _ in features]
    keep, levels = _apply_missing(levels, missing, notes)
    if keep is not None:
        label, score = label[keep], score[keep]
        predicted = None if predicted is None else predicted[keep]
        weight = None if weight is None else weight[keep]
    group, parts, empty = _cross(levels, notes)
    groups = tuple(", ".join(part) for part in parts)
    if weight is not None:
        _check_group_weights(weight, group, groups)

    cut: float | dict[str, float] | None = None
    if predicted is None:
        cut = _thresholds(threshold, groups, empty)
        each = [cut[name] if isinstance(cut, dict) else cut for name in groups]
        cut_of_row = np.array(each)[group]
        predicted = score >= cut_of_row
        if ties := int(np.count_nonzero(score == cut_of_row)):
            message = f"rows with a score equal to the threshold, counted as positive: {ties}"
            notes.append(Note("ties_with_threshold", message))
    labels_seen = np.unique(label[label >= 0])
    if labels_seen.size == 0:
        message = "no row is labelled; all but selection rates rest on the prior alone"
        notes.append(Note("no_labels", message))
    elif labels_seen.size == 1:
        which = "positive" if labels_seen[0] else "negative"
        notes.append(Note("one_class", f"every labelled row is {which}"))
    return ScoreData(
        label=label,
        score=score,
        group=group,
        predicted=predicted,
        weight=weight,
        groups=groups,
        attributes=tuple(level.name for level in levels),
        parts=parts,
        empty_groups=empty,
        threshold=cut,
        notes=tuple(notes),
    )


# Columns: any container becomes one 1-D array.


def _column(name: str, values: Any) -> NDArray[Any]:
    """One column as a 1-D array; missing values stay what they are."""
    frame = _frame_columns(values)
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
        got = f"shape {array.shape}" if array.ndim else _show(values)
        raise ValueError(f"{name} must be one column, with a value for each row; got {got}")
    return array


def _array(name: str, values: Any) -> NDArray[Any]:
    if isinstance(values, (str, bytes, Mapping, set, frozenset)):
        kind = type(values).__name__
        raise ValueError(f"{name} must be a list, array or column in row order; got {kind}")
    if isinstance(values, np.ma.MaskedArray):
        masked = np.array(values.data, dtype=object)
        masked[np.ma.getmaskarray(values)] = None
        return masked
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
    if issubclass(kind, (list, tuple, np.ndarray)) and len({np.shape(item) for item in items}) == 1:
        return np.array(items, dtype=object)
    array = np.fromiter(items, dtype=object, count=len(items))
    if kind is int and min(items) >= -(2**63) and max(items) < 2**63:
        return array.astype(np.int64)
    return array


def _frame_columns(values: Any) -> list[tuple[str, Any]] | None:
    """Names and columns of a pandas or polars frame or an Arrow table; None for anything else."""
    if isinstance(values, np.ndarray) or len(getattr(values, "shape", ())) != 2:
        return None
    if hasattr(values, "column_names"):
        return [(str(name), values.column(j)) for j, name in enumerate(values.column_names)]
    if hasattr(values, "iloc"):
        return [(str(name), values.iloc[:, j]) for j, name in enumerate(values.columns)]
    if hasattr(values, "get_columns"):
        return [(str(column.name), column) for column in values.get_columns()]
    return None


def _attribute_columns(values: Any) -> list[tuple[str, str, Any]]:
    """Each sensitive attribute as (name, how errors call it, column)."""
    pairs: list[tuple[Any, Any]] | None = _frame_columns(values)
    if pairs is None and isinstance(values, Mapping):
        pairs = list(values.items())
    elif isinstance(values, (list, tuple)) and values and all(map(_is_column, values)):
        pairs = [(getattr(column, "name", None), column) for column in values]
    elif pairs is None:
        array = values if hasattr(values, "iloc") else _array("sensitive_features", values)
        pairs = [(getattr(values, "name", None), array)]
        if array.ndim == 2:
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
        raise ValueError(f"sensitive_features must have distinct names; got {_list_values(names)}")
    return [
        (name, f"sensitive_features[{_show(name)}]", pair[1])
        for name, pair in zip(names, pairs, strict=True)
    ]


def _is_column(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, np.generic))


def _check_lengths(columns: dict[str, NDArray[Any]], features: Any) -> None:
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


def _check_indexes(given: list[tuple[str, Any]]) -> None:
    """Rows are paired by position, in pandas by index; where the two differ, neither is safe."""
    indexed = [
        (name, values.index)
        for name, values in given
        if hasattr(values, "iloc") and hasattr(getattr(values, "index", None), "equals")
    ]
    for name, index in indexed[1:]:
        first, expected = indexed[0]
        if not index.equals(expected):
            pairs = enumerate(zip(expected, index, strict=True))
            row = next((i for i, (a, b) in pairs if a != b), 0)
            raise ValueError(
                f"{first} and {name} must have the same index; got {_show(expected[row])} and "
                f"{_show(index[row])} at row {row}; align them, or call .reset_index(drop=True) on "
                "both if their rows match by position"
            )


# Values: one rule for each argument.


def _labels(array: NDArray[Any], positive_label: Any, unlabeled: Any) -> NDArray[np.int8]:
    """y_true as 1, 0, -1; the rules are applied to the distinct values."""
    codes, values = _factorize("y_true", array)
    listed = isinstance(unlabeled, Iterable) and not isinstance(unlabeled, (str, bytes))
    named = [value for value in (unlabeled if listed else [unlabeled]) if not _is_missing(value)]
    if positive_label is not None and any(_same(positive_label, value) for value in named):
        got = _show(positive_label)
        raise ValueError(f"positive_label and unlabeled must differ; got {got} in both")

    live = [value for value in values if not any(_same(value, other) for other in named)]
    texts = [value for value in live if isinstance(value, str)]
    if len(texts) == len(live) and all(_number(text) is not None for text in texts):
        texts = []  # a column of numbers written as text
    key_of = {}  # True, 1, 1.0 and "1" are one class
    for value in live:
        number = None if texts and isinstance(value, str) else _number(value)
        key_of[type(value), value] = value if number is None else number
    classes = set(key_of.values())
    if unlabeled is None and -1 in classes and not _same(positive_label, -1):
        if classes == {-1, 1} and positive_label is None:
            raise ValueError(
                "y_true holds only -1 and 1, so -1 may be the negative class or mean unlabelled; "
                "pass positive_label=1 for the first or unlabeled=-1 for the second"
            )
        if classes != {-1, 1} or not _same(positive_label, 1):
            classes.discard(-1)
    shown = _list_values(classes)
    if len(classes) > 2:
        raise ValueError(
            f"y_true must hold two classes; got {len(classes)} values: {shown}; name those that "
            "mean unlabelled in unlabeled="
        )
    if positive_label is None and not classes <= {0, 1}:
        raise ValueError(
            f"y_true must hold 0 and 1, or say which value is positive; got {shown}; "
            "pass positive_label="
        )
    positive = 1 if positive_label is None else positive_label
    one_sided = len(classes) <= 1 and classes <= {0, 1} and _number(positive) in (0, 1)
    if not one_sided and classes and not any(_same(key, positive) for key in classes):
        raise ValueError(
            f"positive_label must be a value of y_true; got {_show(positive)}, y_true holds "
            f"{shown}; if no row is positive, pass labels 0 and 1"
        )
    table = []
    for value in values:
        key = key_of.get((type(value), value))
        table.append(int(_same(key, positive)) if key in classes else -1)
    return np.array([*table, -1], dtype=np.int8)[codes]  # code -1, missing, takes the last entry


def _scores(array: NDArray[Any]) -> NDArray[np.float64]:
    way_out = "pass decisions as y_pred=, convert text to float"
    score = _numbers("y_score", array, "probabilities in [0, 1]", way_out)
    hint = "transform log odds, margins or percentages to probabilities first"
    _check_values("y_score", score, (score >= 0) & (score <= 1), "lie in [0, 1]", hint)
    return score


def _weights(array: NDArray[Any]) -> NDArray[np.float64]:
    weight = _numbers("sample_weight", array, "numbers", "convert it to float")
    good = (weight >= 0) & (weight < math.inf)
    way_out = "drop or repair these rows"
    _check_values("sample_weight", weight, good, "be finite and not negative", way_out)
    if not weight.any():
        raise ValueError("sample_weight must be positive in some row; all are 0; leave it out")
    return weight


def _check_group_weights(
    weight: NDArray[np.float64], group: NDArray[np.int32], groups: tuple[str, ...]
) -> None:
    empty = np.flatnonzero(np.bincount(group, weight, minlength=len(groups)) == 0)
    if empty.size:
        names = _list_values([groups[g] for g in empty])
        raise ValueError(
            "sample_weight must be positive in some row of every group; all are 0 in "
            f"{names}; drop its rows"
        )


def _decisions(array: NDArray[Any]) -> NDArray[np.bool_]:
    codes, values = _factorize("y_pred", array)
    if (codes < 0).any():
        raise ValueError(f"y_pred has {_missing_rows(codes < 0)}; every row needs a decision")
    for code, value in enumerate(values):
        if isinstance(value, str) or _number(value) not in (0, 1):
            row = int(np.argmax(codes == code))
            raise ValueError(
                f"y_pred must hold 0 and 1, or bool; got {_show(value)} at row {row}; compare it "
                "with the positive class, for example y_pred == positive_label"
            )
    return np.array([bool(value) for value in values])[codes]


def _thresholds(
    threshold: Any, groups: tuple[str, ...], empty: tuple[str, ...]
) -> float | dict[str, float]:
    def check(where: str, value: Any) -> float:
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not real or not 0 < value < 1:
            raise ValueError(
                f"{where} must be a number in (0, 1), both ends excluded; got {_show(value)}"
            )
        return float(value)

    if not isinstance(threshold, Mapping):
        return check("threshold", threshold)
    cuts: dict[str, float] = {}
    for key, value in threshold.items():
        name = ", ".join(map(level_name, key)) if isinstance(key, tuple) else level_name(key)
        if name in cuts:
            raise ValueError(f"threshold must name each group once; {_show(name)} comes twice")
        cuts[name] = check(f"threshold of {_show(name)}", value)
    unknown, absent = set(cuts) - {*groups, *empty}, set(groups) - set(cuts)
    if unknown or absent:
        wrong = f"; unknown: {_list_values(unknown)}" if unknown else ""
        wrong += f"; not given: {_list_values(absent)}" if absent else ""
        known = _list_values(groups)
        raise ValueError(f"threshold must name every group{wrong}; the groups are {known}")
    return {name: cuts[name] for name in groups}


def _numbers(name: str, array: NDArray[Any], rule: str, way_out: str) -> NDArray[np.float64]:
    """A numeric column as a new float64 array; booleans, text and missing values are refused."""
    if array.dtype.kind in "iuf":
        result = array.astype(np.float64)
    else:
        values = array.tolist()
        real = (numbers.Real, Decimal)
        types = set(map(type, values))
        odd = {kind for kind in types if not issubclass(kind, real) or issubclass(kind, bool)}
        for row, value in enumerate(values) if odd else ():
            if type(value) in odd and not _is_missing(value):
                raise ValueError(
                    f"{name} must hold {rule}; got {_show(value)} at row {row}; {way_out}"
                )
        result = np.array([math.nan if type(v) in odd else float(v) for v in values])
    absent = np.isnan(result)
    if absent.any():
        raise ValueError(f"{name} has {_missing_rows(absent)}; drop these rows or fill them")
    return result


def _check_values(
    name: str, values: NDArray[np.float64], good: NDArray[np.bool_], rule: str, way_out: str
) -> None:
    bad = np.flatnonzero(~good)
    if bad.size:
        more = f" (and in {bad.size - 1} more)" if bad.size > 1 else ""
        raise ValueError(
            f"{name} must {rule}; got {_show(values[bad[0]])} at row {bad[0]}{more}; {way_out}"
        )


# Groups: names for the values of each attribute, then the crossing.


class _Levels(NamedTuple):
    """One attribute: codes (n,) into sorted names, -1 missing; real: some level is not whole."""

    name: str
    codes: NDArray[np.int64]
    names: list[str]
    real: bool


def _levels(name: str, array: NDArray[Any], notes: list[Note]) -> _Levels:
    codes, values = _factorize("sensitive_features", array)
    named = [level_name(value) for value in values]
    names = sorted(set(named))
    if len(names) < len(named):
        twice = _list_values({level for level, count in Counter(named).items() if count > 1})
        message = f"{name}: values of different types share a name and are one level: {twice}"
        notes.append(Note("merged_levels", message))
    position = {level: code for code, level in enumerate(names)}
    real = any(isinstance(v, (float, np.floating)) and not float(v).is_integer() for v in values)
    return _Levels(name, np.array([*(position[level] for level in named), -1])[codes], names, real)


def _apply_missing(
    levels: list[_Levels], missing: str, notes: list[Note]
) -> tuple[NDArray[np.bool_] | None, list[_Levels]]:
    """Stop, drop or name what is missing: the rows to keep (None: all), and levels with rows."""
    holes = [level for level in levels if (level.codes < 0).any()]
    if not holes:
        return None, levels
    absent = np.logical_or.reduce([level.codes < 0 for level in holes])
    if missing == "raise":
        where = _missing_rows(absent)
        if len(levels) > 1:
            count = sum(int(np.count_nonzero(level.codes < 0)) for level in holes)
            listed = "; ".join(f"{level.name}: {_rows(level.codes < 0)}" for level in holes)
            where = f"{count} missing {'value' if count == 1 else 'values'} ({listed})"
        raise ValueError(f'sensitive_features has {where}; pass missing="drop" or missing="group"')
    rows = f"{np.count_nonzero(absent)} ({_rows(absent)})"
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


def _name_missing(level: _Levels) -> _Levels:
    names = sorted([*level.names, MISSING_LEVEL])
    table = np.array([names.index(name) for name in [*level.names, MISSING_LEVEL]])
    return level._replace(codes=table[level.codes], names=names)


def _cross(
    levels: list[_Levels], notes: list[Note]
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
        twice = _list_values({name for name, count in Counter(names).items() if count > 1})
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


def _compact(codes: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], list[int]]:
    """Renumber codes in range(size) without gaps; also the old codes in use."""
    if size > 4 * codes.size + 1000:
        used, inverse = np.unique(codes, return_inverse=True)
        return inverse, used.tolist()
    used = np.flatnonzero(np.bincount(codes, minlength=size))
    table = np.zeros(size, dtype=np.int64)
    table[used] = np.arange(used.size)
    return table[codes], used.tolist()


def _factorize(name: str, array: NDArray[Any]) -> tuple[NDArray[np.int64], list[Any]]:
    """Codes into the distinct values; -1 for NaN, None, pd.NA, NaT and the empty string."""
    if array.dtype.kind in "biufmM":
        sorted_values, codes = np.unique(array, return_inverse=True)
        present = sorted_values == sorted_values  # NaN and NaT sort last
        return np.where(present[codes], codes, -1), list(sorted_values[present])
    values = array.tolist()
    keys: list[Any] = values
    types = set(map(type, values))
    apart = len(types) > 1 and bool(types & {bool, np.bool_})
    if apart:  # True == 1: as keys of a dict they would be one value
        keys = [(isinstance(value, (bool, np.bool_)), value) for value in values]
    try:
        found = dict.fromkeys(keys, -1)
    except TypeError:
        row = next((i for i, value in enumerate(values) if not isinstance(value, Hashable)), 0)
        got = _show(values[row])
        raise ValueError(f"{name} must hold plain values; got {got} at row {row}") from None
    distinct: list[Any] = []
    for key in found:
        value = key[1] if apart else key
        if not _is_missing(value):
            found[key] = len(distinct)
            distinct.append(value)
    codes = np.fromiter(map(found.__getitem__, keys), dtype=np.int64, count=len(keys))
    return codes, distinct


def _is_missing(value: Any) -> bool:
    """None, pd.NA, the empty string, and what differs from itself: NaN, NaT, Decimal("NaN")."""
    if value is None or type(value).__name__ == "NAType" or (isinstance(value, str) and not value):
        return True
    differs = value != value
    return isinstance(differs, (bool, np.bool_)) and bool(differs)


def _number(value: Any) -> float | None:
    """A number, or a text that reads as a finite number; None for anything else."""
    if isinstance(value, (numbers.Real, Decimal, np.bool_)):
        return float(value)
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _same(value: Any, other: Any) -> bool:
    """Equal as values, or as numbers: "2", 2 and 2.0 are the same label."""
    if _is_missing(value) or _is_missing(other):
        return False
    number = _number(value)
    return bool(value == other) if number is None else number == _number(other)


def level_name(value: Any) -> str:
    """Return the name of a level, or of a crossed group given as a tuple of levels."""
    if isinstance(value, tuple):
        return ", ".join(level_name(part) for part in value)
    if isinstance(value, np.datetime64):  # an int for nanoseconds, a date or datetime otherwise
        item = value.item()
        return str(value.astype("datetime64[us]").item() if isinstance(item, int) else item)
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


# Words of the errors.


def _show(value: Any) -> str:
    text = repr(str(value)) if isinstance(value, str) else level_name(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _list_values(values: Iterable[Any]) -> str:
    shown = [_show(value) for value in values]
    shown = shown if isinstance(values, tuple) else sorted(shown)
    return ", ".join(shown[:5]) + (", ..." if len(shown) > 5 else "")


def _rows(mask: NDArray[np.bool_]) -> str:
    rows = np.flatnonzero(mask)
    listed = ", ".join(str(row) for row in rows[:5]) + (", ..." if rows.size > 5 else "")
    return f"row{'s' if rows.size > 1 else ''} {listed}"


def _missing_rows(mask: NDArray[np.bool_]) -> str:
    count = int(np.count_nonzero(mask))
    return f"{count} missing {'value' if count == 1 else 'values'} ({_rows(mask)})"
