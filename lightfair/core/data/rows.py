"""Rows: labels, scores and groups are checked and encoded once; later modules trust them.

Containers are read through the array protocols (`columns`). Each error names the argument, the
rule, the value and row that break it, and the remedy. Nothing is changed silently: what is dropped,
merged or unusual is counted in the result. Rows are numbered from 0.

The decision of a row of group g is computed here; a score equal to the threshold is positive::

    predicted = score >= threshold[g]
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import (
    attribute_columns,
    check_indexes,
    check_lengths,
    column,
    factorize,
    key_of,
    number_of,
    numeric,
)
from .groups import (
    Levels,
    Parts,
    absent,
    cross,
    data_notes,
    drop_missing,
    empty_groups,
    group_names,
    levels_of,
    name_missing,
    refuse_missing,
)
from .labels import Labels
from .messages import (
    MISSING_LEVEL,
    Counts,
    Note,
    level_name,
    lies_in,
    list_values,
    missing_rows,
    row_list,
    show,
)

WEIGHTS = (1e-100, 1e100)  # of those that are not 0: their squares, and sums of them, are finite

LEAST_PROB = 1e-40  # of being labeled: squares of WEIGHTS over it are finite

PROB_RULE = "give the probability with which the row was chosen to be labeled, 1 if it was certain"

FIRST_ROWS = 6  # row numbers kept for a warning: it lists five, and "..." if there are more

MOST_CUTS = 256  # thresholds: strata are multiplied by them


@dataclass(frozen=True, eq=False)
class ScoreData:
    """Rows of a scored data set, checked and encoded.

    Attributes
    ----------
    label : int8 array, shape (n,)
        1 positive, 0 negative, -1 unlabeled.
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
        Combinations of observed levels without rows, sorted. Only crossed attributes have them.
    threshold : float, dict of str to float, or None
        The threshold, or one for each of `groups`. None if `y_pred` was given. Of several the
        first.
    notes : tuple of Note
        Warnings: what was dropped, what is unusual.
    counts : Counts
        Rows dropped, merged levels and ties.
    label_prob : float64 array, shape (n,), or None
        Probability with which the row was chosen to be labeled, in (0, 1] for labeled rows; NaN if
        it is not known. None: not given.
    cuts : tuple of float
        Several thresholds, as given; else ().
    band : int16 array, shape (n,), or None
        With `cuts`, the threshold interval of the row: how many of them are at most its score.

    Examples
    --------
    >>> import lightfair as lf
    >>> data = lf.score_data(
    ...     [1, 0, None],
    ...     [0.9, 0.2, 0.7],
    ...     sensitive_features={"sex": ["F", "M", "M"], "race": ["x", "x", "y"]},
    ... )
    >>> data.groups, data.predicted.tolist()
    (('F, x', 'M, x', 'M, y'), [True, False, True])
    >>> data.empty_groups
    ('F, y',)
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
    counts: Counts
    label_prob: NDArray[np.float64] | None = None
    cuts: tuple[float, ...] = ()
    band: NDArray[np.int16] | None = None


def score_data(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    y_pred: Any = None,
    threshold: Any = 0.5,
    sample_weight: Any = None,
    label_prob: Any = None,
    positive_label: Any = None,
    unlabeled: Any = None,
    missing: str = "raise",
) -> ScoreData:
    """Check and encode the rows of a scored, partly labeled data set.

    Parameters
    ----------
    y_true : column, shape (n,)
        Labels. NaN, None, pd.NA, NaT and the empty string mean unlabeled, and so does -1 unless
        `positive_label` or `unlabeled` is given. Labels 0/1 and False/True, also as text ("0",
        "1.0"), are understood; any other two values need `positive_label`.
    y_score : column, shape (n,)
        Probability of the positive class, in [0, 1]; not log odds, not percent.
    sensitive_features : column, 2-D array, data frame, dict of columns, or list of columns
        Group of each row. Several columns make crossed groups. Levels are named ``str(value)``;
        whole floats lose their ".0", so that the container of a column does not change its names.
    y_pred : column, shape (n,), optional
        Decisions, 0/1 or bool, where 1 is the positive class. They replace `threshold`.
    threshold : float, mapping of group to float, or sequence of float
        In (0, 1). A score equal to it is positive. Keys of a mapping are names or raw values; for
        crossed groups tuples of levels or joined names. Of a sequence the first decides; the others
        divide the strata of the table, for curves of thresholds.
    sample_weight : column, shape (n,), optional
        How much each row counts: finite, not negative.
    label_prob : column, shape (n,), optional
        Probability with which each row was chosen to be labeled, if that was not the same for all:
        in (0, 1] for labeled rows; for unlabeled ones it may be missing.
    positive_label : scalar, optional
        The value of `y_true` that is the positive class. It makes -1 a class like any other value.
    unlabeled : scalar or list, optional
        Values of `y_true` that mean unlabeled, beside the missing ones. They replace -1.
    missing : {"raise", "drop", "group"}
        What to do with rows whose `sensitive_features` are missing (NaN, None, pd.NA, NaT, the
        empty string): raise an error, drop them, or make a level "missing".

    Returns
    -------
    ScoreData

    Raises
    ------
    ValueError
        If a value breaks a rule; the message names it, its row, and a remedy.

    Examples
    --------
    >>> import lightfair as lf
    >>> data = lf.score_data([1, 0, None], [0.9, 0.2, 0.5], sensitive_features=["b", "a", "a"])
    >>> data.label.tolist(), data.groups, data.group.tolist()
    ([1, 0, -1], ('a', 'b'), [1, 0, 0])
    >>> data.notes[0].code, data.counts.ties
    ('ties_with_threshold', 1)
    """
    reader = RowReader(
        threshold=threshold,
        decided=y_pred is not None,
        positive_label=positive_label,
        unlabeled=unlabeled,
        missing=missing,
    )
    chunk = reader.read(
        y_true, y_score, sensitive_features, y_pred, sample_weight, label_prob=label_prob
    )
    return reader.complete(chunk.data)


class Chunk(NamedTuple):
    """Some rows, checked: data, and the numbers of its rows, int64 (n,)."""

    data: ScoreData
    row: NDArray[np.int64]


class RowReader:
    """Checks rows in one or more chunks; rules on all rows are checked by `finish`.

    Parameters
    ----------
    threshold, positive_label, unlabeled, missing
        As in `score_data`.
    decided : bool
        Whether decisions are given instead of a threshold.
    """

    def __init__(
        self,
        *,
        threshold: Any = 0.5,
        decided: bool = False,
        positive_label: Any = None,
        unlabeled: Any = None,
        missing: str = "raise",
    ) -> None:
        if missing not in ("raise", "drop", "group"):
            raise ValueError(f'missing must be "raise", "drop" or "group"; got {show(missing)}')
        if decided and not (isinstance(threshold, float) and threshold == 0.5):
            raise ValueError(
                "give y_pred or threshold, not both: y_pred already holds the decisions"
            )
        self.several: tuple[float, ...] = check_cuts(threshold) if is_several(threshold) else ()
        self.cuts = _thresholds(self.several[0] if self.several else threshold)
        self.decided = decided
        self.missing = missing
        self.labels = Labels(positive_label, unlabeled)
        self.names: dict[str, dict[tuple[bool, Any], str]] = {}  # of the values of each attribute
        self.incomplete: set[str] = set()  # attributes with missing values
        self.absent: list[int] = []  # the first rows with one
        self.counts = Counts()
        self.rows = 0
        self.kept = 0

    def read(
        self,
        y_true: Any,
        y_score: Any,
        sensitive_features: Any,
        y_pred: Any = None,
        sample_weight: Any = None,
        first: int = 0,
        *,
        label_prob: Any = None,
    ) -> Chunk:
        """Check some rows; those in errors are numbered from `first`.

        The data has no threshold, notes and counts: those are of all rows.
        """
        features = attribute_columns(sensitive_features)
        given = {"y_score": y_score, "sample_weight": sample_weight, "label_prob": label_prob}
        named = {"y_true": y_true, **given, **{where: values for _, where, values in features}}
        check_indexes([*named.items(), ("y_pred", y_pred)], first)
        arrays = {name: column(name, v) for name, v in given.items() if v is not None}
        label = self.labels.read(y_true, first)
        levels = [levels_of(name, values, first) for name, _, values in features]
        predicted = None if y_pred is None else _decisions(y_pred, first)
        lengths = {"y_true": len(label)} | {name: len(array) for name, array in arrays.items()}
        for (_, where, _), level in zip(features, levels, strict=True):
            lengths[where] = len(level.codes)
        if predicted is not None:
            lengths["y_pred"] = len(predicted)
        check_lengths(lengths, sensitive_features)

        self.rows += len(label)
        score = _scores(arrays["y_score"], first)
        weight = _weights(arrays["sample_weight"], first) if "sample_weight" in arrays else None
        prob = _label_probs(arrays["label_prob"], label, first) if "label_prob" in arrays else None
        self.note_names(levels)
        gone = absent(levels)
        keep: Any = slice(None)
        if gone is not None:
            if self.missing == "raise":
                refuse_missing(levels, first)
            row = first + np.flatnonzero(gone)
            self.absent += row[: FIRST_ROWS - len(self.absent)].tolist()
            if self.missing == "drop":
                self.counts += Counts(dropped=row.size)
                levels, keep = drop_missing(levels, gone), ~gone
            else:
                self.counts += Counts(missing_as_group=row.size)
                levels = [name_missing(level) for level in levels]
        score = score[keep]
        self.kept += len(score)
        group, parts = cross(levels)
        groups = group_names(parts)
        data = ScoreData(
            label=label[keep],
            score=score,
            group=group,
            predicted=self._predicted(score, group, groups, arrays["y_score"].dtype)
            if predicted is None
            else predicted[keep],
            weight=None if weight is None else weight[keep],
            groups=groups,
            attributes=tuple(level.name for level in levels),
            parts=parts,
            empty_groups=(),
            threshold=None,
            notes=(),
            counts=Counts(),
            label_prob=None if prob is None else prob[keep],
            cuts=self.several,
            band=self._intervals(score, arrays["y_score"].dtype) if self.several else None,
        )
        return Chunk(data, first + np.arange(len(label))[keep])

    def finish(
        self, parts: Parts, weight: NDArray[np.float64] | None = None
    ) -> tuple[float | dict[str, float] | None, Counts]:
        """Check the rules on all rows, and return their threshold and counts.

        Parameters
        ----------
        parts
            Of all groups, sorted by name.
        weight
            Sum of the weights of each group, float64 (group,), if rows have weights.
        """
        self.labels.check()
        if self.kept == 0:
            raise ValueError('sensitive_features is missing in every row; pass missing="group"')
        groups = group_names(parts)
        if weight is not None and (weight == 0.0).any():
            names = list_values([groups[g] for g in np.flatnonzero(weight == 0.0)])
            raise ValueError(
                "sample_weight must be positive in some row of every group; all are 0 in "
                f"{names}; drop its rows"
            )
        merged = []
        for attribute, names_of in self.names.items():
            times = Counter(names_of.values())
            if len(times) < len(names_of):
                merged.append((attribute, tuple(sorted(n for n in times if times[n] > 1))))
        cuts: float | dict[str, float] | None = None if self.decided else self.cuts
        if isinstance(cuts, dict):
            cuts = _of_groups(cuts, groups, empty_groups(parts))
        return cuts, self.counts + Counts(merged_levels=tuple(merged))

    def complete(self, data: ScoreData) -> ScoreData:
        """Check the rules on all rows, and fill in what depends on all of them."""
        weight: Any = None
        if data.weight is not None:
            weight = np.bincount(data.group, data.weight, minlength=len(data.groups))
        threshold, counts = self.finish(data.parts, weight)
        rows = np.bincount(data.group, minlength=len(data.groups))
        dropped = row_list(np.array(self.absent)) if self.absent else ""
        design = data.label_prob is not None
        return replace(
            data,
            empty_groups=empty_groups(data.parts),
            threshold=threshold,
            counts=counts,
            notes=data_notes(counts, data.attributes, data.parts, rows, design, dropped),
        )

    def note_names(self, levels: list[Levels]) -> None:
        """Record the names of levels; none may be that of the level of missing values."""
        for level in levels:
            names = self.names.setdefault(level.name, {})
            names.update((key_of(value), level_name(value)) for value in level.values)
            if (level.codes < 0).any():
                self.incomplete.add(level.name)
            reserved = self.missing == "group" and level.name in self.incomplete
            if reserved and MISSING_LEVEL in names.values():
                raise ValueError(
                    f'sensitive_features already has a level "{MISSING_LEVEL}" in {level.name}; '
                    'rename it or pass missing="drop"'
                )

    def _predicted(
        self, score: NDArray[np.float64], group: NDArray[np.int32], groups: Any, dtype: Any
    ) -> NDArray[np.bool_]:
        # a group without a threshold is an error when all groups are known
        cuts = self.cuts if isinstance(self.cuts, dict) else dict.fromkeys(groups, self.cuts)
        cut = _in_precision([cuts.get(name, math.nan) for name in groups], dtype)[group]
        self.counts += Counts(ties=int(np.count_nonzero(score == cut)))
        return score >= cut

    def _intervals(self, score: NDArray[np.float64], dtype: Any) -> NDArray[np.int16]:
        cuts = _in_precision(sorted(self.several), dtype)
        return np.searchsorted(cuts, score, side="right").astype(np.int16)


def is_several(threshold: Any) -> bool:
    """Whether a threshold is a list of them, or an array."""
    return isinstance(threshold, (list, tuple)) or bool(getattr(threshold, "ndim", 0))


def check_cuts(values: Any) -> tuple[float, ...]:
    """Return several thresholds, in the order given.

    Raises
    ------
    ValueError
        If there are none, or too many, or one is not in (0, 1) or comes twice.
    """
    cuts = tuple(_in_range(f"threshold[{place}]", value) for place, value in enumerate(values))
    twice = {cut for cut in cuts if cuts.count(cut) > 1}
    if twice:
        raise ValueError(f"threshold must hold each number once; {list_values(twice)} comes twice")
    if not 0 < len(cuts) <= MOST_CUTS:
        raise ValueError(
            f'threshold must hold 1 to {MOST_CUTS} numbers; got {len(cuts)}; pass "all" for a grid'
        )
    return cuts


def _thresholds(threshold: Any) -> float | dict[str, float]:
    """Return a threshold, or one for each name, as they were given."""
    if isinstance(threshold, str) and threshold == "all":
        raise ValueError('threshold "all" is for assess; every table has what it needs')
    if getattr(threshold, "ndim", None) == 0:  # an array of one number
        threshold = threshold.item()
    if not isinstance(threshold, Mapping):
        return _in_range("threshold", threshold)
    cuts: dict[str, float] = {}
    for key, value in threshold.items():
        name = level_name(key)
        if name in cuts:
            raise ValueError(f"threshold must name each group once; {show(name)} comes twice")
        cuts[name] = _in_range(f"threshold of {show(name)}", value)
    return cuts


def _in_range(where: str, value: Any) -> float:
    if not lies_in(value, 0.0, 1.0):
        raise ValueError(
            f"{where} must be a number in (0, 1), both ends excluded; got {show(value)}"
        )
    return float(value)


def _of_groups(
    cuts: dict[str, float], groups: tuple[str, ...], empty: tuple[str, ...]
) -> dict[str, float]:
    """Return the thresholds of the groups; each must have one, and no unknown group may."""
    unknown, without = set(cuts) - {*groups, *empty}, set(groups) - set(cuts)
    if unknown or without:
        wrong = f"; unknown: {list_values(unknown)}" if unknown else ""
        wrong += f"; not given: {list_values(without)}" if without else ""
        known = list_values(groups)
        raise ValueError(f"threshold must name every group{wrong}; the groups are {known}")
    return {name: cuts[name] for name in groups}


def _in_precision(cuts: list[float], dtype: Any) -> NDArray[np.float64]:
    """Round thresholds as the scores were: 0.7 in float32 ties with 0.7."""
    exact = np.array(cuts, dtype=np.float64)
    return exact.astype(dtype).astype(np.float64) if dtype.kind == "f" else exact


def _scores(array: Any, first: int) -> NDArray[np.float64]:
    remedy = "pass decisions as y_pred=, convert text to float"
    score = numeric("y_score", array, "probabilities in [0, 1]", remedy, first)
    remedy = "transform log odds, margins or percentages to probabilities first"
    check_values("y_score", score, (score >= 0) & (score <= 1), "lie in [0, 1]", remedy, first)
    return score


def _weights(array: Any, first: int) -> NDArray[np.float64]:
    weight = numeric("sample_weight", array, "numbers", "convert it to float", first)
    good = (weight >= 0) & (weight < math.inf)
    remedy = "drop or repair these rows"
    check_values("sample_weight", weight, good, "be finite and not negative", remedy, first)
    least, most = WEIGHTS
    good = (weight == 0) | ((weight >= least) & (weight <= most))
    rule, remedy = f"be 0 or lie in [{least:g}, {most:g}]", "multiply all weights by one factor"
    check_values("sample_weight", weight, good, rule, remedy, first)
    return weight


def _label_probs(array: Any, label: NDArray[np.int8], first: int) -> NDArray[np.float64]:
    prob = numeric(
        "label_prob", array, "probabilities in (0, 1]", "convert it to float", first, gaps=True
    )
    known, missing = label >= 0, np.isnan(prob)
    if (known & missing).any():
        where = missing_rows(known & missing, first)
        raise ValueError(f"label_prob has {where} where y_true holds a label; {PROB_RULE}")
    # an unlabeled row may be one that is never chosen
    good = missing | (~known & (prob == 0.0)) | ((prob >= LEAST_PROB) & (prob <= 1.0))
    rule = f"lie in (0, 1], from {LEAST_PROB:g}"
    check_values("label_prob", prob, good, rule, PROB_RULE, first)
    return prob


def _decisions(values: Any, first: int) -> NDArray[np.bool_]:
    codes, distinct = factorize("y_pred", values, first)
    if (codes < 0).any():
        raise ValueError(f"y_pred has {missing_rows(codes < 0, first)}; every row needs a decision")
    for code, value in enumerate(distinct):
        if isinstance(value, str) or number_of(value) not in (0, 1):
            row = first + int(np.argmax(codes == code))
            raise ValueError(
                f"y_pred must hold 0 and 1, or bool; got {show(value)} at row {row}; compare it "
                "with the positive class, for example y_pred == positive_label"
            )
    return np.array([bool(value) for value in distinct])[codes]


def check_values(
    name: str,
    values: NDArray[np.float64],
    good: NDArray[np.bool_],
    rule: str,
    remedy: str,
    first: int = 0,
) -> None:
    """Raise ValueError that names the first value that breaks a rule, and its row."""
    bad = np.flatnonzero(~good)
    if bad.size:
        more = f" (and in {bad.size - 1} more)" if bad.size > 1 else ""
        got = f"{show(values[bad[0]])} at row {first + bad[0]}{more}"
        raise ValueError(f"{name} must {rule}; got {got}; {remedy}")
