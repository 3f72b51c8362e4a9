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

import math
import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import (
    attribute_columns,
    check_indexes,
    check_lengths,
    column,
    factorize,
    is_missing,
    number_of,
    numeric,
    same,
)
from .groups import apply_missing, cross, levels_of
from .wording import Note, level_name, list_values, missing_rows, show


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
        raise ValueError(f'missing must be "raise", "drop" or "group"; got {show(missing)}')
    default = isinstance(threshold, float) and threshold == 0.5
    if y_pred is not None and not default:
        raise ValueError("give y_pred or threshold, not both: y_pred already holds the decisions")
    features = attribute_columns(sensitive_features)
    given: list[tuple[str, Any]] = [("y_true", y_true), ("y_score", y_score)]
    given += [(where, values) for _, where, values in features]
    given += [("y_pred", y_pred)] * (y_pred is not None)
    given += [("sample_weight", sample_weight)] * (sample_weight is not None)
    columns = {where: column(where, values) for where, values in given}
    check_lengths(columns, sensitive_features)
    check_indexes(given)

    label = _labels(columns["y_true"], positive_label, unlabeled)
    score = _scores(columns["y_score"])
    predicted = None if y_pred is None else _decisions(columns["y_pred"])
    weight = None if sample_weight is None else _weights(columns["sample_weight"])
    notes: list[Note] = []
    levels = [levels_of(name, columns[where], notes) for name, where, _ in features]
    keep, levels = apply_missing(levels, missing, notes)
    if keep is not None:
        label, score = label[keep], score[keep]
        predicted = None if predicted is None else predicted[keep]
        weight = None if weight is None else weight[keep]
    group, parts, empty = cross(levels, notes)
    groups = tuple(", ".join(part) for part in parts)
    if weight is not None:
        _check_group_weights(weight, group, groups)

    cut: float | dict[str, float] | None = None
    if predicted is None:
        cut = _thresholds(threshold, groups, empty)
        each = [cut[name] if isinstance(cut, dict) else cut for name in groups]
        cut_of_row = np.array(each)[group]
        if columns["y_score"].dtype.kind == "f":  # 0.7 in float32 ties with 0.7
            cut_of_row = cut_of_row.astype(columns["y_score"].dtype).astype(np.float64)
        predicted = score >= cut_of_row
        if ties := int(np.count_nonzero(score == cut_of_row)):
            message = f"rows with a score equal to the threshold, counted as positive: {ties}"
            notes.append(Note("ties_with_threshold", message))
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


def _labels(array: NDArray[Any], positive_label: Any, unlabeled: Any) -> NDArray[np.int8]:
    """y_true as 1, 0, -1; the rules are applied to the distinct values."""
    codes, values = factorize("y_true", array)
    listed = isinstance(unlabeled, Iterable) and not isinstance(unlabeled, (str, bytes))
    named = [value for value in (unlabeled if listed else [unlabeled]) if not is_missing(value)]
    if positive_label is not None and any(same(positive_label, value) for value in named):
        got = show(positive_label)
        raise ValueError(f"positive_label and unlabeled must differ; got {got} in both")

    live = [value for value in values if not any(same(value, other) for other in named)]
    texts = [value for value in live if isinstance(value, str)]
    if len(texts) == len(live) and all(number_of(text) is not None for text in texts):
        texts = []  # a column of numbers written as text
    key_of = {}  # True, 1, 1.0 and "1" are one class
    for value in live:
        number = None if texts and isinstance(value, str) else number_of(value)
        key_of[type(value), value] = value if number is None else number
    classes = set(key_of.values())
    if unlabeled is None and -1 in classes and not same(positive_label, -1):
        if classes == {-1, 1} and positive_label is None:
            raise ValueError(
                "y_true holds only -1 and 1, so -1 may be the negative class or mean unlabelled; "
                "pass positive_label=1 for the first or unlabeled=-1 for the second"
            )
        if classes != {-1, 1} or not same(positive_label, 1):
            classes.discard(-1)
    shown = list_values(classes)
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
    one_sided = len(classes) <= 1 and classes <= {0, 1} and number_of(positive) in (0, 1)
    if not one_sided and classes and not any(same(key, positive) for key in classes):
        raise ValueError(
            f"positive_label must be a value of y_true; got {show(positive)}, y_true holds "
            f"{shown}; if no row is positive, pass labels 0 and 1"
        )
    table = []
    for value in values:
        key = key_of.get((type(value), value))
        table.append(int(same(key, positive)) if key in classes else -1)
    return np.array([*table, -1], dtype=np.int8)[codes]  # code -1, missing, takes the last entry


def _scores(array: NDArray[Any]) -> NDArray[np.float64]:
    way_out = "pass decisions as y_pred=, convert text to float"
    score = numeric("y_score", array, "probabilities in [0, 1]", way_out)
    hint = "transform log odds, margins or percentages to probabilities first"
    check_values("y_score", score, (score >= 0) & (score <= 1), "lie in [0, 1]", hint)
    return score


def _weights(array: NDArray[Any]) -> NDArray[np.float64]:
    weight = numeric("sample_weight", array, "numbers", "convert it to float")
    good = (weight >= 0) & (weight < math.inf)
    way_out = "drop or repair these rows"
    check_values("sample_weight", weight, good, "be finite and not negative", way_out)
    if not weight.any():
        raise ValueError("sample_weight must be positive in some row; all are 0; leave it out")
    return weight


def _check_group_weights(
    weight: NDArray[np.float64], group: NDArray[np.int32], groups: tuple[str, ...]
) -> None:
    empty = np.flatnonzero(np.bincount(group, weight, minlength=len(groups)) == 0)
    if empty.size:
        names = list_values([groups[g] for g in empty])
        raise ValueError(
            "sample_weight must be positive in some row of every group; all are 0 in "
            f"{names}; drop its rows"
        )


def _decisions(array: NDArray[Any]) -> NDArray[np.bool_]:
    codes, values = factorize("y_pred", array)
    if (codes < 0).any():
        raise ValueError(f"y_pred has {missing_rows(codes < 0)}; every row needs a decision")
    for code, value in enumerate(values):
        if isinstance(value, str) or number_of(value) not in (0, 1):
            row = int(np.argmax(codes == code))
            raise ValueError(
                f"y_pred must hold 0 and 1, or bool; got {show(value)} at row {row}; compare it "
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
                f"{where} must be a number in (0, 1), both ends excluded; got {show(value)}"
            )
        return float(value)

    if not isinstance(threshold, Mapping):
        return check("threshold", threshold)
    cuts: dict[str, float] = {}
    for key, value in threshold.items():
        name = ", ".join(map(level_name, key)) if isinstance(key, tuple) else level_name(key)
        if name in cuts:
            raise ValueError(f"threshold must name each group once; {show(name)} comes twice")
        cuts[name] = check(f"threshold of {show(name)}", value)
    unknown, absent = set(cuts) - {*groups, *empty}, set(groups) - set(cuts)
    if unknown or absent:
        wrong = f"; unknown: {list_values(unknown)}" if unknown else ""
        wrong += f"; not given: {list_values(absent)}" if absent else ""
        known = list_values(groups)
        raise ValueError(f"threshold must name every group{wrong}; the groups are {known}")
    return {name: cuts[name] for name in groups}


def check_values(
    name: str, values: NDArray[np.float64], good: NDArray[np.bool_], rule: str, way_out: str
) -> None:
    bad = np.flatnonzero(~good)
    if bad.size:
        more = f" (and in {bad.size - 1} more)" if bad.size > 1 else ""
        raise ValueError(
            f"{name} must {rule}; got {show(values[bad[0]])} at row {bad[0]}{more}; {way_out}"
        )
