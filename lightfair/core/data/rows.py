"""Rows: labels, scores and groups are checked and encoded once; later modules trust them.

Containers are read through the array protocols (`columns`). Each error names the argument, the
rule, the value and row that break it, and the remedy. Nothing is changed silently: what is
dropped or unusual is counted in the result. Rows are numbered from 0.

The decision of a row of group g is computed here; a score equal to the threshold is positive::

    predicted = score >= threshold[g]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import columns
from . import groups as grouping
from .columns import Labels
from .logit import Floats, Ints
from .messages import (
    Counts,
    Note,
    OneLine,
    counted,
    level_name,
    lies_in,
    list_values,
    missing_rows,
    row_list,
    show,
)
from .nodes import UNSCORED_CLIP

WEIGHTS = (1e-100, 1e100)  # of those that are not 0: their squares, and sums of them, are finite

YES_NO = {"yes": 1.0, "no": 0.0}

MOST_CUTS = 256  # thresholds: strata are multiplied by them

# of values other than 0, scores up to rounding; squares of weights over probabilities are finite
BOUNDS = {"y_score": (-1e-6, 1.0 + 1e-6), "sample_weight": WEIGHTS, "label_prob": (1e-40, 1.0)}

RULES = {
    "y_score": "lie in [0, 1], such as 0.25; pass probabilities, or decisions as y_pred",
    "sample_weight": "be 0 or lie in [1e-100, 1e+100]; drop or repair these rows, or multiply all "
    "weights by one factor",
    "label_prob": "be probabilities in [1e-40, 1], or 0 for rows that are never labeled; give the "
    "probability with which the row was chosen to be labeled, 1 if it was certain",
}


@dataclass(frozen=True, eq=False, repr=False)
class ScoreData(OneLine):
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
        Names of the groups that have rows, sorted, numbers in them by size. Crossed groups read
        "Female, Black".
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
        Rows dropped, and ties.
    label_prob : float64 array, shape (n,), or None
        Probability with which the row was chosen to be labeled, in (0, 1] for labeled rows; NaN if
        it is not known. None: not given.
    cuts : tuple of float
        Several thresholds, as given; else ().
    band : int16 array, shape (n,), or None
        With `cuts`, the threshold interval of the row: how many of them are at most its score.
    cluster : intp array, shape (n,), or None
        Number of the cluster of the row. None: not given.

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
    score: Floats
    group: NDArray[np.int32]
    predicted: NDArray[np.bool_]
    weight: Floats | None
    groups: tuple[str, ...]
    attributes: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    empty_groups: tuple[str, ...] = ()
    threshold: float | dict[str, float] | None = None
    notes: tuple[Note, ...] = ()
    counts: Counts = Counts()
    label_prob: Floats | None = None
    cuts: tuple[float, ...] = ()
    band: NDArray[np.int16] | None = None
    cluster: Ints | None = None

    def _line(self) -> str:
        rows, groups = counted(len(self.label), "row"), counted(len(self.groups), "group")
        labeled = int((self.label >= 0).sum())
        return f"{rows}, {labeled:,} labeled; {groups} by {' and '.join(self.attributes)}"


def score_data(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    y_pred: Any = None,
    threshold: Any = 0.5,
    sample_weight: Any = None,
    label_prob: Any = None,
    cluster: Any = None,
    positive_label: Any = None,
    unlabeled: Any = None,
    missing: str = "raise",
    bins: Any = None,
) -> ScoreData:
    """Check and encode the rows of a scored, partly labeled data set.

    Parameters
    ----------
    y_true : column, shape (n,)
        Labels. NaN, None, pd.NA, NaT and the empty string mean unlabeled, and so does -1 unless
        `positive_label` or `unlabeled` is given. Labels 0/1 and False/True, also as text ("0",
        "1.0"), are understood; any other two values need `positive_label`.
    y_score : column, shape (n,)
        Probability of the positive class, in [0, 1]; not log odds, not percent. None with y_pred:
        there are decisions alone, 0.25 or 0.75 takes the place of the score, and a table with
        ``clip=0.25`` has one rate of positives for each decision.
    sensitive_features : column, 2-D array, data frame, dict of columns, or list of columns
        Group of each row. Several columns make crossed groups. Levels are named ``str(value)``;
        whole floats lose their ".0", so that the container of a column does not change its names.
    y_pred : column, shape (n,), optional
        Decisions, 0/1, bool or yes/no, where 1 is the positive class, or values of `y_true`, with
        `positive_label`. They replace `threshold`.
    threshold : float, mapping of group to float, or sequence of float
        In (0, 1). A score equal to it is positive. Keys of a mapping are names or raw values; for
        crossed groups tuples of levels or joined names. Of a sequence the first decides; the others
        divide the strata of the table, for curves of thresholds.
    sample_weight : column, shape (n,), optional
        How much each row counts: finite, not negative.
    label_prob : column, shape (n,), optional
        Probability with which each row was chosen to be labeled, if that was not the same for all:
        in (0, 1] for labeled rows; for unlabeled ones it may be missing.
    cluster : column, shape (n,), optional
        What a row belongs to, such as a person with several rows: labels of one cluster are not
        independent. Without missing values; at least two clusters.
    positive_label : scalar, optional
        The value of `y_true` that is the positive class. It makes -1 a class like any other value.
    unlabeled : scalar or list, optional
        Values of `y_true` that mean unlabeled, beside the missing ones. They replace -1.
    missing : {"raise", "drop", "group"}
        What to do with rows whose `sensitive_features` are missing (NaN, None, pd.NA, NaT, the
        empty string): raise an error, drop them, or make a level "missing".
    bins : mapping of attribute to edges or int, optional
        Cuts attributes of numbers: {"age": [25, 45, 65]} makes "below 25", "25 to 45", "45 to 65"
        and "65 or more"; {"age": 4} cuts at the quartiles.

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
        bins=bins,
    )
    also = {"label_prob": label_prob, "cluster": cluster}
    chunk = reader.read(y_true, y_score, sensitive_features, y_pred, sample_weight, **also)
    return reader.complete(chunk.data)


class Chunk(NamedTuple):
    """Some rows, checked: data, and the numbers of its rows, intp (n,)."""

    data: ScoreData
    row: Ints


class RowReader:
    """Checks rows in one or more chunks; rules on all rows are checked by `finish`.

    Parameters
    ----------
    threshold, positive_label, unlabeled, missing, bins
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
        bins: Any = None,
    ) -> None:
        if missing not in ("raise", "drop", "group"):
            raise ValueError(f'missing must be "raise", "drop" or "group"; got {show(missing)}')
        if decided and not (isinstance(threshold, float) and threshold == 0.5):
            raise ValueError("threshold must be left out with y_pred, which holds the decisions")
        self.several: tuple[float, ...] = check_cuts(threshold) if is_several(threshold) else ()
        one = self.several[0] if self.several else threshold
        self.cuts = None if decided else _thresholds(one)
        self.missing, self.bins = missing, grouping.check_bins(bins)
        self.labels = Labels(positive_label, unlabeled)
        self.rejected: set[Any] = set()  # values of y_pred other than the positive class
        self.counts = Counts()
        self.rows = 0
        self.clusters: dict[Any, int] = {}  # numbers of the clusters that were read

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
        cluster: Any = None,
    ) -> Chunk:
        """Check some rows; those in errors are numbered from `first`.

        The data has no threshold, notes and counts: those are of all rows.
        """
        features = columns.attribute_columns(sensitive_features)
        attributes = {where: values for _, where, values in features}
        given = {"y_true": y_true, "y_score": y_score, "y_pred": y_pred}
        given |= {"sample_weight": sample_weight, "label_prob": label_prob, "cluster": cluster}
        columns.check_indexes([*given.items(), *attributes.items()])
        rows: dict[str, Any] = {"y_true": self.labels.read(y_true, first)}
        if y_pred is not None:
            rows["y_pred"] = self._decisions(y_pred, first)
            if y_score is None:
                given["y_score"] = np.where(rows["y_pred"], 1.0 - UNSCORED_CLIP, UNSCORED_CLIP)
        given["y_score"] = columns.column("y_score", given["y_score"])
        rows |= {
            name: columns.numeric(
                name, given[name], BOUNDS[name], rule, first, name == "label_prob"
            )
            for name, rule in RULES.items()
            if given[name] is not None
        }
        if cluster is not None:
            rows["cluster"] = self._numbered(cluster, first)
        np.clip(rows["y_score"], 0.0, 1.0, out=rows["y_score"])
        unknown = {*self.bins} - {name for name, *_ in features}
        if unknown:
            known = list_values([name for name, *_ in features])
            raise ValueError(f"bins must name attributes, {known}; got {list_values(unknown)}")
        levels = [
            grouping.levels_of(name, values, self.missing, first, self.bins)
            for name, _, values in features
        ]
        codes = [level.codes for level in levels]
        columns.check_lengths({**rows, **dict(zip(attributes, codes, strict=True))})

        self.rows += len(rows["y_true"])
        if label_prob is not None:
            without = np.flatnonzero((rows["y_true"] >= 0) & ~(rows["label_prob"] > 0.0))
            if without.size:
                where = row_list(first + without)
                raise ValueError(f"label_prob must be above 0 for labeled rows; not so at {where}")
        gone = np.logical_or.reduce([level.missing for level in levels])
        if gone.any() and self.missing == "raise":
            text = f"sensitive_features has {missing_rows(gone, first)}"
            if len(levels) > 1:
                text += f" in {', '.join(level.name for level in levels if level.missing.any())}"
            raise ValueError(f'{text}; pass missing="drop" or missing="group"')
        keep = ~gone | (self.missing == "group")
        dropped, kept = np.count_nonzero(~keep), np.count_nonzero(gone & keep)
        self.counts += Counts(dropped=int(dropped), missing_as_group=int(kept))
        levels = [level._replace(codes=level.codes[keep]) for level in levels]
        rows = {name: values[keep] for name, values in rows.items()}
        group, parts = grouping.cross(levels)
        groups = grouping.group_names(parts)
        predicted, band = rows.get("y_pred"), None
        if predicted is None:
            predicted, band = self._decided(rows["y_score"], group, groups, given["y_score"].dtype)
        data = ScoreData(
            label=rows["y_true"],
            score=rows["y_score"],
            group=group,
            predicted=predicted,
            weight=rows.get("sample_weight"),
            groups=groups,
            attributes=tuple(level.name for level in levels),
            parts=parts,
            label_prob=rows.get("label_prob"),
            cuts=self.several,
            band=band,
            cluster=rows.get("cluster"),
        )
        return Chunk(data, first + np.flatnonzero(keep))

    def finish(
        self, parts: grouping.Parts, weight: Floats | None = None
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
        if not parts:
            raise ValueError('sensitive_features is missing in every row; pass missing="group"')
        groups = grouping.group_names(parts)
        if weight is not None and (weight == 0.0).any():
            names = list_values([groups[g] for g in np.flatnonzero(weight == 0.0)])
            raise ValueError(f"sample_weight must not be 0 in all rows of {names}; drop its rows")
        cuts = self.cuts
        if isinstance(cuts, dict):
            cuts = _of_groups(cuts, groups, grouping.empty_groups(parts))
        return cuts, self.counts

    def complete(self, data: ScoreData) -> ScoreData:
        """Check the rules on all rows, and fill in what depends on all of them."""
        weight: Any = None
        if data.weight is not None:
            weight = np.bincount(data.group, data.weight, len(data.groups))
        threshold, counts = self.finish(data.parts, weight)
        design = data.label_prob is not None
        notes = grouping.data_notes(counts, data.attributes, data.parts, design)
        empty = grouping.empty_groups(data.parts)
        return replace(data, empty_groups=empty, threshold=threshold, counts=counts, notes=notes)

    def _numbered(self, cluster: Any, first: int) -> Ints:
        """Return the number of the cluster of each row, the same in every chunk."""
        codes, values = columns.factorize("cluster", cluster, first)
        if (codes < 0).any():
            where = missing_rows(codes < 0, first)
            raise ValueError(f"cluster has {where}; give rows that stand alone values of their own")
        keys = map(columns.key_of, values)
        number = [self.clusters.setdefault(key, len(self.clusters)) for key in keys]
        return np.array(number, dtype=np.intp)[codes]

    def _decisions(self, values: Any, first: int) -> NDArray[np.bool_]:
        """Return decisions, given as 0 and 1, bool, yes and no, or the classes of the labels."""
        codes, distinct = columns.factorize("y_pred", values, first)
        if (codes < 0).any():
            raise ValueError(f"y_pred has {missing_rows(codes < 0, first)}; give each a decision")
        positive, decided = self.labels.positive, []
        own = columns.number_of(positive)  # unless 1, 0 and 1 may be classes
        for code, value in enumerate(distinct):
            number = YES_NO.get(str(value).lower(), columns.number_of(value))
            usual = own in (None, 1.0) and str(positive).lower() != "no"
            plain = number in (0.0, 1.0) and (usual or isinstance(value, (bool, np.bool_)))
            decided.append(bool(number) if plain else columns.same(value, positive))
            if not plain and not decided[-1]:
                self.rejected.add(value)
            unclear = own == 0.0 and number in (0.0, 1.0) and not plain
            if unclear or len(self.rejected) > (not self.labels.no_positive_label):
                row = first + int(np.argmax(codes == code))
                rule, got = "y_pred must hold 0 and 1, or classes", f"{show(value)} at row {row}"
                raise ValueError(f"{rule}; got {got}; recode it, or pass positive_label=")
        return np.array(decided, dtype=bool)[codes]

    def _decided(
        self, score: Floats, group: NDArray[np.int32], groups: tuple[str, ...], dtype: Any
    ) -> tuple[NDArray[np.bool_], NDArray[np.int16] | None]:
        """Return decisions, and threshold intervals, by scores that were read as `dtype`."""

        def rounded(cuts: list[Any]) -> Floats:  # 0.7 in float32 ties with 0.7
            array = np.array(cuts)
            return array.astype(dtype).astype(np.float64) if dtype.kind == "f" else array

        cuts = self.cuts if isinstance(self.cuts, dict) else dict.fromkeys(groups, self.cuts)
        # a group without a threshold is an error when all groups are known
        cut = rounded([cuts.get(name, math.nan) for name in groups])[group]
        self.counts += Counts(ties=int(np.count_nonzero(score == cut)))
        if not self.several:
            return score >= cut, None
        band = np.searchsorted(rounded(sorted(self.several)), score, side="right")
        return score >= cut, band.astype(np.int16)


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
    if not 0 < len(cuts) <= MOST_CUTS or len(set(cuts)) < len(cuts):
        rule = f"threshold must hold 1 to {MOST_CUTS} numbers, each once"
        raise ValueError(f'{rule}; got {len(cuts)}: {list_values(cuts)}; pass "all" for a grid')
    return cuts


def _thresholds(threshold: Any) -> float | dict[str, float]:
    """Return a threshold, or one for each name, as they were given."""
    if isinstance(threshold, Mapping):
        names = [level_name(key) for key in threshold]
        if len(set(names)) < len(names):
            raise ValueError(f"threshold must name each group once; got {list_values(names)}")
        values = zip(names, threshold.values(), strict=True)
        return {name: _in_range(f"threshold of {show(name)}", value) for name, value in values}
    return _in_range("threshold", threshold.item() if hasattr(threshold, "item") else threshold)


def _in_range(where: str, value: Any) -> float:
    if not lies_in(value, 0.0, 1.0):
        raise ValueError(f"{where} must be a number in (0, 1), without ends; got {show(value)}")
    return float(value)


def _of_groups(
    cuts: dict[str, float], groups: tuple[str, ...], empty: tuple[str, ...]
) -> dict[str, float]:
    """Return the thresholds of the groups; each must have one, and no unknown group may."""
    if not {*groups} <= set(cuts) <= {*groups, *empty}:
        names, wrong = list_values(groups), list_values(set(cuts) ^ {*groups})
        raise ValueError(f"threshold must name {names}, and no other; missing or unknown: {wrong}")
    return {name: cuts[name] for name in groups}
