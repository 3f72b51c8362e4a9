"""Group metrics: the built-in ones, user-defined ones, and their values.

A metric is a function of one of two things: of the confusion counts of a group, with the usual
names tp (label 1, predicted 1), fp (0, 1), fn (1, 0), tn (0, 0); or of the nodes of its scores:
the score bins, their weights, and the positive share of each.

Most metrics of counts are a share: some cells of the confusion table over some of them.
User-defined metrics are `Metric` values like the built-in ones, with intervals, differences and
checks::

    error = lf.Metric("error", lambda tp, fp, fn, tn: (fp + fn) / (tp + fp + fn + tn))
    lf.assess(..., metrics=["tpr", "auc", lf.cost(fp=1, fn=5), error])

The built-in metrics, by the names that `metrics=` takes. y is the label, s the clipped score, s+
and s- are the scores of a positive and of a negative row, n is the number of rows, TP to TN are
the confusion counts, all of one group; with row weights they are sums of weights. The bins of ece
have equal width; a score on an edge belongs to the bin above it, 1 to the last::

    metric                    formula                         definition
    accuracy                  (TP + TN) / n                   Zafar et al. 2017 (as error rate)
    tpr                       TP / (TP + FN)                  Hardt, Price and Srebro 2016
    fpr                       FP / (FP + TN)                  Hardt, Price and Srebro 2016
    tnr                       TN / (FP + TN)                  1 - fpr
    fnr                       FN / (TP + FN)                  Chouldechova 2017
    ppv                       TP / (TP + FP)                  Chouldechova 2017
    npv                       TN / (TN + FN)                  Berk et al. 2021
    false_discovery_rate      FP / (TP + FP)                  Zafar et al. 2017
    false_omission_rate       FN / (TN + FN)                  Zafar et al. 2017
    selection_rate            (TP + FP) / n                   Dwork et al. 2012
    base_rate                 (TP + FN) / n                   Chouldechova 2017 (prevalence)
    f1                        2 TP / (2 TP + FP + FN)         van Rijsbergen 1979
    balanced_accuracy         (tpr + tnr) / 2                 Brodersen et al. 2010
    treatment_equality        FN / FP                         Berk et al. 2021
    cost(fp=A,fn=B)           (A FP + B FN) / n               Elkan 2001
    auc                       P(s+ > s-), ties half           Hanley and McNeil 1982
    brier                     mean (y - s)^2                  Brier 1950 (half of it)
    ece                       sum |sum (y - s)| / n, 10 bins  Naeini et al. 2015
    calibration_in_the_large  mean y - mean s                 Cox 1958; Van Calster et al. 2019
    balance_positive          mean s of the positives         Kleinberg et al. 2016
    balance_negative          mean s of the negatives         Kleinberg et al. 2016
    average_score             mean s                          -

Names in other packages. Fairlearn 0.15: functions of `fairlearn.metrics`, by group in its
`MetricFrame`, which takes any function of scikit-learn; names with a * end in `_group_min` or
`_group_max`, one number over the groups, as is `accuracy_score_difference`; `ErrorRate` is an
objective of its reductions. AIF360 0.6: methods of `ClassificationMetric`. Aequitas 1.1: columns
of `Group.get_crosstabs`::

    metric                Fairlearn                  AIF360                           Aequitas
    accuracy              accuracy_score_difference  accuracy                         accuracy
    tpr                   true_positive_rate         true_positive_rate               tpr
    fpr                   false_positive_rate        false_positive_rate              fpr
    tnr                   true_negative_rate         true_negative_rate               tnr
    fnr                   false_negative_rate        false_negative_rate              fnr
    ppv                   precision_score *          positive_predictive_value        precision
    npv                   -                          negative_predictive_value        npv
    false_discovery_rate  -                          false_discovery_rate             fdr
    false_omission_rate   -                          false_omission_rate              for
    selection_rate        selection_rate             selection_rate                   pprev
    base_rate             -                          base_rate                        prev
    f1                    f1_score *                 -                                -
    balanced_accuracy     balanced_accuracy_score *  -                                -
    cost(fp=A,fn=B)       reductions.ErrorRate       -                                -
    auc                   roc_auc_score *            -                                -
    brier                 mean_squared_error *       -                                -
    balance_positive      -                          generalized_true_positive_rate   -
    balance_negative      -                          generalized_false_positive_rate  -
    average_score         mean_prediction            -                                -

On fully labeled data each metric agrees with scikit-learn or Fairlearn to 1e-12. Metrics of scores
do so if a group has at most 128 distinct scores for each decision and label. Otherwise rows are
binned in cells of 0.05 on the logit axis and share the mean score of their cell, so they tie in
the auc and fall in one bin of ece: for groups of 10,000 labeled rows and more that moved the auc by
less than 2e-4, brier and the balances by less than 1e-4, and means not at all.

Clipping moves a mean score by at most the clip times the share of clipped rows, and rows clipped at
one end tie in the auc; to avoid this, pass a smaller `clip`.

brier is half of the original score, as is usual for two classes. calibration_in_the_large is
signed: positive if scores are too low. ece is never negative and grows with noise: a calibrated
model has a positive one in few rows, so there is no labels-only estimate of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats, over, sigmoid
from ..data.messages import hint, lies_in, plain_name
from ..data.table import ScoreTable

Bools = npt.NDArray[np.bool_]

ROUNDING = 1e-9  # by which a value may be outside the bounds of its metric

ECE_BINS = 10


@dataclass(frozen=True)
class Metric:
    """A metric of a group, built-in or user-defined.

    Attributes
    ----------
    name : str
        Key of the metric in results.
    function : callable
        With ``of="counts"``: function(tp, fp, fn, tn) -> value, float64 arrays of one shape, and a
        value of that shape. They are sums of row weights, and not whole where labels are imputed as
        probabilities.
        With ``of="nodes"``: function(score, weight, label) -> value. score: float64 (bin,), in
        [0, 1], rising, as clipped; weight: float64 (..., bin), sum of the row weights there,
        above 0; label: float64 (..., bin), in [0, 1], the positive share of that weight. The value
        is (...).
        A function works on all draws at once and must not change its arguments. A value that is
        not finite, or masked, is undefined.
    of : {"counts", "nodes"}
    lack : str
        What is missing where the metric is undefined, as in "there are no positive labels".
    label_free : bool
        Whether the metric does not depend on labels.
    bounds : (float, float)
        Values outside are an error.

    Raises
    ------
    ValueError
        If an attribute breaks its rule.

    Examples
    --------
    >>> import lightfair as lf
    >>> missed = lf.Metric("missed", lambda tp, fp, fn, tn: fn / (tp + fp + fn + tn), bounds=(0, 1))
    >>> rows = lf.simulate(rows=500, labeled=500, rng=1)
    >>> result = lf.assess(
    ...     rows.y_true, rows.y_score, sensitive_features=rows.group, metrics=missed, rng=1
    ... )
    >>> print(f"{result.metric('missed', 'A').mean:.4f}")
    0.2470
    """

    name: str
    function: Callable[..., Any]
    of: str = "counts"
    lack: str = "defined values"
    label_free: bool = False
    bounds: tuple[float, float] = (-math.inf, math.inf)

    def __post_init__(self) -> None:
        low, high = (float(bound) for bound in self.bounds)
        for valid, rule in (
            (bool(self.name.strip()) and self.name.isprintable(), "a printable name"),
            (callable(self.function), "a callable function"),
            (self.of in ("counts", "nodes"), 'of="counts" or of="nodes"'),
            (low < high, "bounds of two numbers, the lower first"),
        ):
            if not valid:
                raise ValueError(f"a Metric must have {rule}; got {self}")
        object.__setattr__(self, "bounds", (low, high))
        object.__setattr__(self, "label_free", bool(self.label_free))


class Share(NamedTuple):
    """top / bottom, both weights of the cells (tn, fn, fp, tp); `lack` names an empty bottom."""

    top: tuple[float, ...]
    bottom: tuple[float, ...]
    lack: str

    @property
    def sides(self) -> Bools:
        """Cells of its successes and of its failures: bool (2, 4).

        They are tp and fp + fn for f1, fn and fp for treatment equality.
        """
        success = np.array(self.top) > 0.0
        return np.stack([success, (np.array(self.bottom) > 0.0) & ~success])


@dataclass(frozen=True)
class MeanOfShares:
    """The function of a built-in metric of counts: the mean of one share or two."""

    parts: tuple[Share, ...]

    def __call__(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        return self.of(np.stack([tn, fn, fp, tp], axis=-1))

    def of(self, cells: Floats) -> Floats:
        """Return the metric of cells (..., 4), float64 (...); NaN if a bottom is 0."""
        shares = [over(cells @ part.top, cells @ part.bottom, np.nan) for part in self.parts]
        return np.asarray(sum(shares[1:], start=shares[0]) / len(shares))


_ALL = (1.0, 1.0, 1.0, 1.0)  # tn, fn, fp, tp

_POSITIVE, _NEGATIVE = (0.0, 1.0, 0.0, 1.0), (1.0, 0.0, 1.0, 0.0)

_SELECTED, _REJECTED = (0.0, 0.0, 1.0, 1.0), (1.0, 1.0, 0.0, 0.0)

_TN, _FN = (1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0)

_FP, _TP = (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)

SHARES: dict[str, Share] = {
    "accuracy": Share((1.0, 0.0, 0.0, 1.0), _ALL, "rows"),
    "tpr": Share(_TP, _POSITIVE, "positive labels"),
    "fpr": Share(_FP, _NEGATIVE, "negative labels"),
    "tnr": Share(_TN, _NEGATIVE, "negative labels"),
    "fnr": Share(_FN, _POSITIVE, "positive labels"),
    "ppv": Share(_TP, _SELECTED, "rows predicted positive"),
    "npv": Share(_TN, _REJECTED, "rows predicted negative"),
    "false_discovery_rate": Share(_FP, _SELECTED, "rows predicted positive"),
    "false_omission_rate": Share(_FN, _REJECTED, "rows predicted negative"),
    "selection_rate": Share(_SELECTED, _ALL, "rows"),
    "base_rate": Share(_POSITIVE, _ALL, "rows"),
    "f1": Share((0.0, 0.0, 0.0, 2.0), (0.0, 1.0, 1.0, 2.0), "rows labeled or predicted positive"),
}

LABEL_FREE = ("selection_rate", "average_score")  # functions of predictions and scores alone

MEANS = ("average_score", "calibration_in_the_large")  # of scores: cells keep their sums

_RATE = (0.0, 1.0)

COUNT_METRICS: dict[str, Metric] = {
    name: Metric(name, MeanOfShares((share,)), "counts", share.lack, name in LABEL_FREE, _RATE)
    for name, share in SHARES.items()
} | {
    "balanced_accuracy": Metric(
        "balanced_accuracy",
        MeanOfShares((SHARES["tpr"], SHARES["tnr"])),
        lack="both labels",
        bounds=_RATE,
    ),
    "treatment_equality": Metric(
        "treatment_equality",
        MeanOfShares((Share(_FN, _FP, "false positives"),)),
        lack="false positives",
        bounds=(0.0, math.inf),
    ),
}


def auc(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the probability that a positive scores above a negative; ties count half.

    All functions of nodes take score (bin,), rising, and weight and label (..., bin), and return
    float64 (...), NaN where it is undefined.
    """
    positive, negative = weight * label, weight * (1.0 - label)
    first = np.flatnonzero(np.append(True, score[1:] > score[:-1]))
    if len(first) < len(score):
        positive, negative = (np.add.reduceat(x, first, axis=-1) for x in (positive, negative))
    below = np.cumsum(negative, axis=-1) - 0.5 * negative
    pairs = positive.sum(axis=-1) * negative.sum(axis=-1)
    return over((positive * below).sum(axis=-1), pairs, np.nan)


def brier(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the mean squared distance between score and label."""
    return _mean(label * (1.0 - score) ** 2 + (1.0 - label) * score**2, weight)


def ece(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the expected calibration error, over bins of equal width."""
    # the logit and back moves a score by an ulp or two: one on an edge stays in the bin above
    bins = np.minimum((ECE_BINS * score + 1e-9).astype(np.intp), ECE_BINS - 1)
    first = np.flatnonzero(np.append(True, bins[1:] > bins[:-1]))
    away = np.abs(np.add.reduceat(weight * (label - score), first, axis=-1))
    return over(away.sum(axis=-1), weight.sum(axis=-1), np.nan)


def calibration_in_the_large(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the mean label minus the mean score."""
    return _mean(label - score, weight)


def balance_positive(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the mean score of the positives."""
    return _mean(score, weight * label)


def balance_negative(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the mean score of the negatives."""
    return _mean(score, weight * (1.0 - label))


def average_score(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the mean score."""
    return _mean(score, weight)


def _mean(values: Floats, weight: Floats) -> Floats:
    return over((weight * values).sum(axis=-1), weight.sum(axis=-1), np.nan)


SCORE_METRICS: dict[str, Metric] = {
    function.__name__: Metric(
        function.__name__, function, "nodes", lack, function.__name__ in LABEL_FREE, bounds
    )
    for function, lack, bounds in (
        (auc, "both labels", _RATE),
        (brier, "rows", _RATE),
        (ece, "rows", _RATE),
        (calibration_in_the_large, "rows", (-1.0, 1.0)),
        (balance_positive, "positive labels", _RATE),
        (balance_negative, "negative labels", _RATE),
        (average_score, "rows", _RATE),
    )
}

BUILT_IN = COUNT_METRICS | SCORE_METRICS

METRICS: tuple[str, ...] = tuple(BUILT_IN)

DEFAULT_METRICS = ("accuracy", "tpr", "fpr", "selection_rate")

OTHER_WORDS = {  # names that metrics have in other packages and fields, taken as well
    word: name
    for name, words in {
        "tpr": "recall sensitivity hit_rate true_positive_rate equal_opportunity",
        "fpr": "false_positive_rate fall_out",
        "tnr": "specificity true_negative_rate",
        "fnr": "false_negative_rate miss_rate",
        "ppv": "precision positive_predictive_value",
        "npv": "negative_predictive_value",
        "false_discovery_rate": "fdr",
        "selection_rate": "acceptance_rate positive_rate demographic_parity statistical_parity "
        "disparate_impact",
        "tpr,fpr": "equalized_odds average_odds average_odds_difference average_absolute_odds",
        "base_rate": "prevalence",
        "f1": "f1_score",
        "auc": "roc_auc auroc",
        "brier": "brier_score",
        "ece": "calibration_error",
    }.items()
    for word in words.split()
}

_NUMBER = r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?inf|nan)\s*"

_COST = re.compile(rf"cost\(\s*fp\s*={_NUMBER},\s*fn\s*={_NUMBER}\)", re.IGNORECASE)


def cost(*, fp: float, fn: float) -> Metric:
    """Return the metric of the mean cost per row: (fp FP + fn FN) / rows.

    Parameters
    ----------
    fp, fn
        Cost of a false positive and of a false negative, finite and at least 0, not both 0.

    Returns
    -------
    Metric. Its name, such as "cost(fp=1,fn=5)", is accepted wherever metrics are named.

    Raises
    ------
    ValueError
        If a cost is out of range.

    Examples
    --------
    Of 95 rows 5 are false positives and 10 false negatives.

    >>> import lightfair as lf
    >>> five = lf.cost(fp=1, fn=5)
    >>> five.name, round(float(five.function(tp=30.0, fp=5.0, fn=10.0, tn=50.0)), 4)
    ('cost(fp=1,fn=5)', 0.5789)
    """
    for name, value in (("fp", fp), ("fn", fn)):
        if not (lies_in(value, -1.0, math.inf) and value >= 0.0):
            raise ValueError(f"cost {name} must be a finite number of at least 0; got {value!r}")
    if fp == fn == 0.0:
        raise ValueError("costs fp and fn must not both be 0")
    of_fp, of_fn = (repr(float(value)).removesuffix(".0") for value in (fp, fn))
    mean = MeanOfShares((Share((0.0, float(fn), float(fp), 0.0), _ALL, "rows"),))
    name, highest = f"cost(fp={of_fp},fn={of_fn})", max(float(fp), float(fn))
    return Metric(name, mean, lack="rows", bounds=(0.0, highest))


def as_metric(metric: str | Metric) -> Metric:
    """Return the metric of a name; a Metric is returned unchanged.

    Raises
    ------
    ValueError
        If the name is unknown, or the costs in it break their rule.
    """
    if isinstance(metric, Metric):
        return metric
    word = plain_name(str(metric))
    if isinstance(metric, str) and (name := OTHER_WORDS.get(word, word)) in BUILT_IN:
        return BUILT_IN[name]
    if match := _COST.fullmatch(str(metric).strip()):
        fp, fn = map(float, match.groups())
        return cost(fp=fp, fn=fn)
    known = f"{', '.join(METRICS)}, cost(fp=NUMBER,fn=NUMBER), or a Metric(name, function)"
    similar = hint(str(metric), (*METRICS, *OTHER_WORDS))
    raise ValueError(f"unknown metric {metric!r}{similar}; known: {known}")


def is_built_in(name: str) -> bool:
    """Whether a name is one of a built-in metric or of a cost."""
    known = plain_name(name) in {*BUILT_IN, *OTHER_WORDS}
    return known or _COST.fullmatch(name.strip()) is not None


def canonical(name: str) -> str:
    """Return the first name of a built-in metric or of a cost, others unchanged."""
    return as_metric(name).name if is_built_in(name) else name


def _listed(item: Any, own: Container[str]) -> list[Any]:
    """Return the metrics that one name or text means: "tpr,fpr" and "equalized_odds" mean two."""
    if not isinstance(item, str) or item in own:
        return [item]
    return re.split(r",(?![^(]*\))", OTHER_WORDS.get(plain_name(item), item))


def resolve_metrics(metrics: Any, own: tuple[Metric, ...] = ()) -> tuple[Metric, ...]:
    """Return metrics, given as names and Metric values, without repeats.

    Parameters
    ----------
    metrics : str, Metric, or iterable of them
    own
        User-defined metrics that may be given by name.

    Raises
    ------
    ValueError
        If a metric is unknown, two differ but share a name, or a user-defined one has the name of
        a built-in one.
    """
    items = () if metrics is None else metrics
    if isinstance(items, str) or not isinstance(items, Iterable):
        items = (items,)
    by_name = {metric.name: metric for metric in own}
    items = [one for item in items for one in _listed(item, by_name)]
    resolved: dict[str, Metric] = {}
    for item in items:
        metric = by_name[item] if isinstance(item, str) and item in by_name else as_metric(item)
        if is_built_in(metric.name) and as_metric(metric.name) != metric:
            raise ValueError(f"a Metric must have a name of its own; got {metric.name!r}")
        if resolved.setdefault(metric.name, metric) != metric:
            raise ValueError(f"two metrics have the name {metric.name!r}; names must differ")
    if not resolved:
        raise ValueError(f"metrics must name at least one metric; known: {', '.join(METRICS)}")
    return tuple(resolved.values())


def theta(metric: str | Metric, counts: Any) -> Floats:
    """Return a metric of confusion counts.

    Parameters
    ----------
    metric
        A name or a Metric, with ``of="counts"``.
    counts
        float64 (..., predicted, label).

    Returns
    -------
    float64 (...); NaN where it is undefined, such as 0 / 0.

    Raises
    ------
    ValueError
        If it is a metric of nodes, or its function returns an invalid value.

    Examples
    --------
    >>> float(theta("tpr", [[50, 10], [5, 30]]))
    0.75
    """
    metric = as_metric(metric)
    if metric.of != "counts":
        raise ValueError(f"{metric.name} is a metric of nodes and has no value for counts")
    cells = np.asarray(counts, dtype=np.float64)
    cells = cells.reshape(*cells.shape[:-2], 4)
    if isinstance(metric.function, MeanOfShares):
        return metric.function.of(cells)
    tn, fn, fp, tp = np.moveaxis(cells, -1, 0)
    return evaluate(metric, (tp, fp, fn, tn), tp.shape)


def evaluate(metric: Metric, arguments: tuple[Floats, ...], shape: tuple[int, ...]) -> Floats:
    """Call the function of a metric with read-only arguments, and check its value.

    Returns float64 of `shape`; NaN where the value is not finite or masked.

    Raises
    ------
    ValueError
        If the value has another shape, is not real, or is out of bounds.
    """
    read_only = (np.broadcast_to(argument, argument.shape) for argument in arguments)
    with np.errstate(all="ignore"):
        returned = metric.function(*read_only)
    mask, value = np.ma.getmask(returned), np.asarray(returned)
    if value.dtype.kind not in "fiub" or value.shape != shape:
        got = f"{value.dtype} of shape {value.shape}"
        raise ValueError(f"metric {metric.name!r} must be real, of shape {shape}; got {got}")
    value = value.astype(np.float64)
    value[mask | ~np.isfinite(value)] = np.nan
    low, high = metric.bounds
    slack = ROUNDING * (1.0 + np.abs(metric.bounds))
    outside = (value < low - slack[0]) | (value > high + slack[1])
    if outside.any():
        got = f"{value[outside].flat[0]:g}"
        raise ValueError(f"metric {metric.name!r} must lie in [{low:g}, {high:g}]; got {got}")
    return value


def free_of_labels(metric: Metric, negative: Floats, positive: Floats) -> Floats:
    """Return a label-free metric, given its values with all labels 0 and with all labels 1.

    Raises
    ------
    ValueError
        If they differ.
    """
    differ = ~np.isclose(negative, positive, rtol=ROUNDING, atol=ROUNDING, equal_nan=True)
    if differ.any():
        raise ValueError(f"metric {metric.name!r} depends on labels; leave out label_free=True")
    return negative


def degenerate(table: ScoreTable) -> dict[str, str]:
    """Return why decisions, or scores, do not tell rows apart, by what a metric is made of."""
    found, nodes = {}, table.nodes()
    selected = table.sums("rows").sum(axis=(0, 2)) > 0.0
    if not selected.all():
        found["counts"] = f"{'every' if selected[1] else 'no'} row is selected"
    if np.ptp(nodes.logit) == 0.0:
        found["nodes"] = "all scores are equal"
    return found


def decided(metric: Metric, table: ScoreTable) -> str | None:
    """Return why a metric is the same in all groups whatever the labels, or None.

    A true positive rate is 0 where no row is selected.
    """
    why = degenerate(table).get(metric.of)
    if why is None:
        return None
    labels, at = np.array([[3.0, 1.0], [1.0, 3.0]]), int(why.startswith("every"))
    if metric.of == "nodes":
        arguments = sigmoid(table.nodes().logit[:1]), np.full((2, 1), 4.0), labels[:, 1:] / 4.0
        values = evaluate(metric, arguments, (2,))
    else:
        values = theta(metric, np.stack([(1 - at) * labels, at * labels], axis=1))
    return why if np.ptp(values) == 0.0 else None


def lack_in(metric: Metric, table: ScoreTable) -> str:
    """Return what is missing where a metric is undefined: scores, if rows have decisions alone."""
    return metric.lack if metric.of == "counts" or table.scored else "scores"


def in_cells(metric: Metric, table: ScoreTable) -> Bools:
    """Whether a metric is computed from cells of scores, and not exactly: bool (group,)."""
    groups = len(table.groups)
    if metric.of == "counts" or (metric.name in MEANS and not table.weighted):
        return np.zeros(groups, dtype=bool)
    return np.bincount(table.cells.stratum // 6 % groups, minlength=groups) > 0


def shares(metric: Metric) -> tuple[Share, ...]:
    """Return the shares whose mean the metric is; () for any other function."""
    return metric.function.parts if isinstance(metric.function, MeanOfShares) else ()


def successes_failures(name: str, counts: Any) -> tuple[Floats, Floats]:
    """Return the successes and failures that a share is made of, float64 (...).

    counts: float64 (..., predicted, label).
    """
    cells = np.asarray(counts, dtype=np.float64)
    success, failure = shares(BUILT_IN[name])[0].sides
    cells = cells.reshape(*cells.shape[:-2], 4)
    return cells @ success, cells @ failure
