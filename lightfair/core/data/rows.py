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
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .bands import BAND, bands_of, check_cuts, is_several
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
    drop_missing,
    empty_groups,
    group_names,
    group_notes,
    levels_of,
    name_missing,
    refuse_missing,
)
from .labels import MINUS, Labels
from .messages import (
    MISSING_LEVEL,
    Counts,
    Note,
    design_notes,
    level_name,
    list_values,
    missing_rows,
    row_list,
    row_notes,
    show,
    tie_notes,
)

WEIGHTS = (1e-100, 1e100)  # of those that are not 0: their squares, and sums of them, are numbers

PROB_HINT = (
    "give the probability with which the row was chosen to be labeled, 1 if it was sure to be"
)

LEAST_PROB = 1e-40  # of being labeled: squares of WEIGHTS over it are numbers

FIRST_ROWS = 6  # row numbers that a note needs: it lists five, and says whether there are more


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
        Combinations of observed levels that have no row, sorted. Only crossed attributes have them.
    threshold : float, dict of str to float, or None
        The threshold, or one for each of `groups`. None when `y_pred` was given. Of several the
        first.
    notes : tuple of Note
        What was dropped, what is unusual.
    counts : Counts
        The same as numbers, without the rows.
    label_prob : float64 array, shape (n,), or None
        Probability with which the row was chosen to be labeled, in (0, 1] where it has a label;
        NaN where it is not known. None: not given.
    cuts : tuple of float
        Several thresholds, as given; else ().
    band : int16 array, shape (n,), or None
        With `cuts`, how many of them are at most the row's score.

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
        Labels. NaN, None, pd.NA, NaT, the empty string and -1 mean unlabeled. Labels 0/1 and
        False/True, also as text ("0", "1.0"), explain themselves; any other two values need
        `positive_label`.
    y_score : column, shape (n,)
        Probability of the positive class, in [0, 1]; not log odds, not percent.
    sensitive_features : column, 2-D array, data frame, dict of columns, or list of columns
        Group of each row. Several columns make crossed groups. Levels are named ``str(value)``;
        whole floats lose their ".0", so that the container of a column does not change its names.
    y_pred : column, shape (n,), optional
        Decisions, 0/1 or bool, where 1 is the positive class. They replace `threshold`.
    threshold : float, mapping of group to float, or sequence of float
        In (0, 1). A score equal to it is positive. Keys of a mapping are names or raw values; for
        crossed groups tuples of levels or joined names. Of a sequence the first decides, and the
        others are kept apart for curves of thresholds.
    sample_weight : column, shape (n,), optional
        How much each row counts: finite, not negative.
    label_prob : column, shape (n,), optional
        Probability with which each row was chosen to be labeled, where that was not the same for
        all: in (0, 1] where the row has a label, where it has none it may be missing.
    positive_label : scalar, optional
        The value of `y_true` that is the positive class. If -1 and 1 are its only values, this
        makes -1 a class.
    unlabeled : scalar or list, optional
        Values of `y_true` that mean unlabeled, beside the missing ones. They replace -1.
    missing : {"raise", "drop", "group"}
        What to do where `sensitive_features` is missing (NaN, None, pd.NA, NaT, the empty string):
        stop, drop the rows, or make a level "missing".

    Returns
    -------
    ScoreData

    Examples
    --------
    >>> import lightfair as lf
    >>> data = lf.score_data([1, 0, None], [0.9, 0.2, 0.5], sensitive_features=["b", "a", "a"])
    >>> data.label.tolist(), data.groups, data.group.tolist()
    ([1, 0, -1], ('a', 'b'), [1, 0, 0])
    >>> data.notes[0].code, data.counts.ties
    ('ties_with_threshold', 1)
    """
    door = Door(
        threshold=threshold,
        decided=y_pred is not None,
        positive_label=positive_label,
        unlabeled=unlabeled,
        missing=missing,
    )
    chunk = door.take(
        y_true,
        y_score,
        sensitive_features,
        y_pred,
        sample_weight,
        last=True,
        label_prob=label_prob,
    )
    return finished(door, chunk.data, chunk.minus)


def finished(door: Door, data: ScoreData, minus: NDArray[np.bool_]) -> ScoreData:
    """Judge all rows, and complete their data by what only all rows tell."""
    weight = None
    if data.weight is not None:
        weight = np.bincount(data.group, data.weight, minlength=len(data.groups)).astype(float)
    found = door.close(data.parts, weight)
    data.label[minus] = found.minus
    listed = row_list(np.array(door.absent)) if door.absent else ""
    rows = np.bincount(data.group, minlength=len(data.groups))
    return replace(
        data,
        empty_groups=empty_groups(data.parts),
        threshold=found.threshold,
        counts=found.counts,
        notes=(
            *row_notes(found.counts, listed),
            *group_notes(data.attributes, data.parts, rows),
            *tie_notes(found.counts),
            *design_notes(data.label_prob is not None),
        ),
    )


class Chunk(NamedTuple):
    """Some rows, checked: data; minus: bool (n,), which hold the label -1; row: int64 (n,)."""

    data: ScoreData
    minus: NDArray[np.bool_]
    row: NDArray[np.int64]


class Found(NamedTuple):
    """What only all rows tell: minus: what the label -1 means, 0 or -1; threshold; counts."""

    minus: int
    threshold: float | dict[str, float] | None
    counts: Counts


class Door:
    """Checks rows chunk by chunk; what depends on all of them is judged by `close`.

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
        self.several: tuple[float, ...] = ()
        if is_several(threshold):
            self.several = check_cuts(threshold)
            threshold = self.several[0]
        default = isinstance(threshold, float) and threshold == 0.5 and not self.several
        if decided and not default:
            raise ValueError(
                "give y_pred or threshold, not both: y_pred already holds the decisions"
            )
        self.missing = missing
        self.labels = Labels(positive_label, unlabeled)
        self.cuts = None if decided else _cuts(threshold)
        self.names: dict[str, dict[tuple[bool, Any], str]] = {}  # of the values of each attribute
        self.holes: set[str] = set()  # attributes that are missing somewhere
        self.absent: list[int] = []  # the first rows where one is
        self.counts = Counts()
        self.rows = 0
        self.kept = 0
        self.weight: float | None = None
        self.no_prob: list[int] = []  # the first rows with -1 and no probability of being labeled

    def take(
        self,
        y_true: Any,
        y_score: Any,
        sensitive_features: Any,
        y_pred: Any = None,
        sample_weight: Any = None,
        first: int = 0,
        *,
        last: bool = False,
        label_prob: Any = None,
    ) -> Chunk:
        """Check some rows; those in errors are numbered from `first`.

        With `last`, no rows follow: the labels are judged before anything else is looked at. The
        data has no threshold, notes and counts: those are of all rows. Rows whose label is -1 are
        unlabeled in it.
        """
        features = attribute_columns(sensitive_features)
        given: list[tuple[str, Any]] = [("y_true", y_true), ("y_score", y_score)]
        given += [(where, values) for _, where, values in features]
        given += [("y_pred", y_pred)] * (y_pred is not None)
        given += [("sample_weight", sample_weight)] * (sample_weight is not None)
        given += [("label_prob", label_prob)] * (label_prob is not None)
        plain = ("y_score", "sample_weight", "label_prob")
        columns = {where: column(where, values, few=where not in plain) for where, values in given}
        check_lengths(columns, sensitive_features)
        check_indexes(given, first)

        self.rows += len(columns["y_true"])
        label = self.labels.take(columns["y_true"], first)
        if last:
            self.labels.minus()
        score = _scores(columns["y_score"], first)
        predicted = None if y_pred is None else _decisions(columns["y_pred"], first)
        weight = None if sample_weight is None else _weights(columns["sample_weight"], first)
        if weight is not None:
            self.weight = (self.weight or 0.0) + float(weight.sum())
        prob = None if label_prob is None else _label_probs(columns["label_prob"], label, first)
        if prob is not None:
            open_rows = first + np.flatnonzero((label == MINUS) & ~(prob > 0.0))
            self.no_prob += open_rows[: FIRST_ROWS - len(self.no_prob)].tolist()
        levels = [levels_of(name, columns[where], first) for name, where, _ in features]
        row = first + np.arange(len(label))
        gone = absent(levels)
        if gone is not None and self.missing == "raise":
            refuse_missing(levels, first)
        self.note_names(levels)
        if gone is not None:
            count = int(np.count_nonzero(gone))
            self.absent += row[gone][: FIRST_ROWS - len(self.absent)].tolist()
            if self.missing == "drop":
                self.counts += Counts(dropped=count)
                levels, row = drop_missing(levels, gone), row[~gone]
                label, score = label[~gone], score[~gone]
                predicted = None if predicted is None else predicted[~gone]
                weight = None if weight is None else weight[~gone]
                prob = None if prob is None else prob[~gone]
            else:
                self.counts += Counts(missing_as_group=count)
                levels = [name_missing(level) for level in levels]
        self.kept += len(label)
        group, parts = cross(levels)
        groups = group_names(parts)
        band = None
        if self.several:
            band = bands_of(score, self.several, columns["y_score"].dtype)
            if BAND in (level.name for level in levels):
                raise ValueError(
                    f"sensitive_features must not be called {BAND!r} where there are several "
                    "thresholds; rename it"
                )
        if predicted is None:
            predicted = self._predicted(score, group, groups, columns["y_score"].dtype)
        minus = label == MINUS
        label[minus] = -1
        data = ScoreData(
            label=label,
            score=score,
            group=group,
            predicted=predicted,
            weight=weight,
            groups=groups,
            attributes=tuple(level.name for level in levels),
            parts=parts,
            empty_groups=(),
            threshold=None,
            notes=(),
            counts=Counts(),
            label_prob=prob,
            cuts=self.several,
            band=band,
        )
        return Chunk(data, minus, row)

    def close(self, parts: Parts, weight: NDArray[np.float64] | None = None) -> Found:
        """Judge all rows: `parts` of all groups, sorted by name, and the weight of each group.

        Raises
        ------
        ValueError
            If a rule on all rows is broken.
        """
        minus = self.labels.minus()
        if minus == 0 and self.no_prob:
            where = row_list(np.array(self.no_prob))
            raise ValueError(
                f"label_prob must be known and above 0 where y_true holds -1, here a class; it is "
                f"not at {where}; {PROB_HINT}"
            )
        if self.weight == 0.0:
            raise ValueError("sample_weight must be positive in some row; all are 0; leave it out")
        if self.kept == 0:
            raise ValueError('sensitive_features is missing in every row; pass missing="group"')
        groups = group_names(parts)
        if weight is not None:
            _check_group_weights(weight, groups)
        cuts = self.cuts
        if isinstance(cuts, dict):
            cuts = _of_groups(cuts, groups, empty_groups(parts))
        merged = []
        for attribute, names in self.names.items():
            times = Counter(names.values())
            if len(times) < len(names):
                merged.append((attribute, tuple(sorted(n for n in times if times[n] > 1))))
        return Found(minus, cuts, self.counts + Counts(merged_levels=tuple(merged)))

    def note_names(self, levels: list[Levels]) -> None:
        """Note the names of levels; what is missing may not share one with a value."""
        for level in levels:
            names = self.names.setdefault(level.name, {})
            names.update((key_of(value), level_name(value)) for value in level.values)
            if (level.codes < 0).any():
                self.holes.add(level.name)
            if (
                self.missing == "group"
                and level.name in self.holes
                and MISSING_LEVEL in names.values()
            ):
                raise ValueError(
                    f'sensitive_features already has a level "{MISSING_LEVEL}" in {level.name}; '
                    'rename it or pass missing="drop"'
                )

    def _predicted(
        self, score: NDArray[np.float64], group: NDArray[np.int32], groups: Any, kind: Any
    ) -> NDArray[np.bool_]:
        cuts = self.cuts
        # a group without a threshold is refused when all groups are known
        each = [cuts.get(name, math.nan) if isinstance(cuts, dict) else cuts for name in groups]
        cut = np.array(each, dtype=np.float64)
        if kind.kind == "f":  # 0.7 in float32 ties with 0.7
            cut = cut.astype(kind).astype(np.float64)
        cut = cut[group] if isinstance(cuts, dict) else cut[:1]
        self.counts += Counts(ties=int(np.count_nonzero(score == cut)))
        return score >= cut


def _scores(array: Any, first: int) -> NDArray[np.float64]:
    way_out = "pass decisions as y_pred=, convert text to float"
    score = numeric("y_score", array, "probabilities in [0, 1]", way_out, first)
    hint = "transform log odds, margins or percentages to probabilities first"
    check_values("y_score", score, (score >= 0) & (score <= 1), "lie in [0, 1]", hint, first)
    return score


def _weights(array: Any, first: int) -> NDArray[np.float64]:
    weight = numeric("sample_weight", array, "numbers", "convert it to float", first)
    good = (weight >= 0) & (weight < math.inf)
    way_out = "drop or repair these rows"
    check_values("sample_weight", weight, good, "be finite and not negative", way_out, first)
    least, most = WEIGHTS
    good = (weight == 0) | ((weight >= least) & (weight <= most))
    rule, way_out = f"be 0 or lie in [{least:g}, {most:g}]", "multiply all weights by one factor"
    check_values("sample_weight", weight, good, rule, way_out, first)
    return weight


def _label_probs(array: Any, label: NDArray[np.int8], first: int) -> NDArray[np.float64]:
    prob = numeric(
        "label_prob", array, "probabilities in (0, 1]", "convert it to float", first, gaps=True
    )
    known, absent = label >= 0, np.isnan(prob)
    if (known & absent).any():
        where = missing_rows(known & absent, first)
        raise ValueError(f"label_prob has {where} where y_true holds a label; {PROB_HINT}")
    # rows without a label may be such that are never chosen
    good = absent | (((prob > 0.0) | ~known) & (prob >= 0.0) & (prob <= 1.0))
    check_values("label_prob", prob, good, "lie in (0, 1]", PROB_HINT, first)
    good = absent | (prob == 0.0) | (prob >= LEAST_PROB)
    check_values("label_prob", prob, good, f"be at least {LEAST_PROB:g}", PROB_HINT, first)
    return prob


def _check_group_weights(weight: NDArray[np.float64], groups: tuple[str, ...]) -> None:
    empty = np.flatnonzero(weight == 0)
    if empty.size:
        names = list_values([groups[g] for g in empty])
        raise ValueError(
            "sample_weight must be positive in some row of every group; all are 0 in "
            f"{names}; drop its rows"
        )


def _decisions(array: Any, first: int) -> NDArray[np.bool_]:
    codes, values = factorize("y_pred", array, first)
    if (codes < 0).any():
        raise ValueError(f"y_pred has {missing_rows(codes < 0, first)}; every row needs a decision")
    for code, value in enumerate(values):
        if isinstance(value, str) or number_of(value) not in (0, 1):
            row = first + int(np.argmax(codes == code))
            raise ValueError(
                f"y_pred must hold 0 and 1, or bool; got {show(value)} at row {row}; compare it "
                "with the positive class, for example y_pred == positive_label"
            )
    return np.array([bool(value) for value in values])[codes]


def _cuts(threshold: Any) -> float | dict[str, float]:
    """A threshold, or one for each name, as they were given."""
    if isinstance(threshold, str) and threshold == "all":
        raise ValueError('threshold "all" is for assess; every table has what it needs')

    def check(where: str, value: Any) -> float:
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not real or not 0 < value < 1:
            raise ValueError(
                f"{where} must be a number in (0, 1), both ends excluded; got {show(value)}"
            )
        return float(value)

    if getattr(threshold, "ndim", None) == 0:  # an array of one number
        threshold = threshold.item()
    if not isinstance(threshold, Mapping):
        return check("threshold", threshold)
    cuts: dict[str, float] = {}
    for key, value in threshold.items():
        name = level_name(key)
        if name in cuts:
            raise ValueError(f"threshold must name each group once; {show(name)} comes twice")
        cuts[name] = check(f"threshold of {show(name)}", value)
    return cuts


def _of_groups(
    cuts: dict[str, float], groups: tuple[str, ...], empty: tuple[str, ...]
) -> dict[str, float]:
    """The thresholds of the groups; each must have one, and none may be of an unknown group."""
    unknown, without = set(cuts) - {*groups, *empty}, set(groups) - set(cuts)
    if unknown or without:
        wrong = f"; unknown: {list_values(unknown)}" if unknown else ""
        wrong += f"; not given: {list_values(without)}" if without else ""
        known = list_values(groups)
        raise ValueError(f"threshold must name every group{wrong}; the groups are {known}")
    return {name: cuts[name] for name in groups}


def check_values(
    name: str,
    values: NDArray[np.float64],
    good: NDArray[np.bool_],
    rule: str,
    way_out: str,
    first: int = 0,
) -> None:
    """Raise ValueError that names the first value that breaks a rule, and its row."""
    bad = np.flatnonzero(~good)
    if bad.size:
        more = f" (and in {bad.size - 1} more)" if bad.size > 1 else ""
        got = f"{show(values[bad[0]])} at row {first + bad[0]}{more}"
        raise ValueError(f"{name} must {rule}; got {got}; {way_out}")
