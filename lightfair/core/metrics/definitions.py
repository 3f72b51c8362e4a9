"""Group metrics: what a metric is, the built-in ones, and their values from confusion counts.

A metric is a function of one of two things. Of the confusion counts of a group, with the names of
the literature: tp (label 1, predicted 1), fp (0, 1), fn (1, 0), tn (0, 0). Or of the nodes of its
scores: where the rows are on the axis of scores, how many, and which share of them is positive.

Most metrics of counts are a share: some cells of the confusion table over some of them. The metrics
of nodes are in `score_metrics`. A user's own metric is a `Metric` like the built-in ones: it has
intervals, differences and checks::

    error = lf.Metric("error", lambda tp, fp, fn, tn: (fp + fn) / (tp + fp + fn + tn))
    lf.assess(..., metrics=["tpr", "auc", lf.cost(fp=1, fn=5), error])

The built-in ones, by the names that `metrics=` takes. y is the label, s the score as clipped, s+
and s- are those of a positive and of a negative row, n is the number of rows, TP to TN are the
confusion counts, all of one group; with row weights they are sums of weights. Bins of ece are
equal::

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

The same numbers elsewhere. Fairlearn 0.15: functions of `fairlearn.metrics`, by group in its
`MetricFrame`, which takes any function of scikit-learn; what has a * ends in `_group_min` or
`_group_max`, one number over the groups, as is `accuracy_score_difference`; `ErrorRate` is an
objective of its reductions. AIF360 0.6: methods of `ClassificationMetric`. Aequitas 1.1: columns of
`Group.get_crosstabs`::

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

On fully labeled data each metric is the number of scikit-learn or Fairlearn to 1e-12; metrics of
scores where a group has at most 128 distinct scores for each decision and label, else to 2e-4.

Metrics on scores: what a group's scores say of its labels, at all thresholds at once.

Each is a function of the nodes of a group (`metrics.Metric`), as a user's own metric is: where the
rows are on the axis of scores, s, how many, w, and which share of them is positive, p. With P the
weight of all positives, N that of all negatives and n that of all rows:

    auc                        sum of positives times (negatives below + half of those tied) / (P N)
    brier                      sum of w (p (1 - s)^2 + (1 - p) s^2) / n
    ece                        sum over bins of |positives - scores| / n
    calibration_in_the_large   P / n - mean score
    balance_positive           mean score of the positives
    balance_negative           mean score of the negatives
    average_score              mean score

auc: Hanley and McNeil (1982). brier: Brier (1950), halved as is usual for two classes. ece, the
expected calibration error: Naeini, Cooper and Hauskrecht (2015), with 10 bins of equal width; a
score on an edge is in the bin above it, 1 in the last. calibration_in_the_large: Cox (1958), Van
Calster et al. (2019), here as a signed difference: above 0 scores are too low. balance_positive and
balance_negative: Kleinberg, Mullainathan and Raghavan (2016).

Scores are as clipped in the table. A mean score so moves by at most the clip times the share of
clipped rows, rows clipped at one end tie in the auc; the way out is a smaller `clip`. In a table
that holds cells a slot is a cell of 0.05 on the logit axis: its rows share their mean score, so
they tie in the auc and are in one bin. On groups of 10,000 labeled rows and more that moved the
auc by less than 2e-4, the Brier score and the balances by less than 1e-4, means not at all.

ece is never below 0 and grows with noise: a calibrated model has one above 0 in few rows. So the
posterior lies above the ece of the calibrated scores, and labels alone cannot tell it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.logit import Floats
from ..data.messages import hint, lies_in

TN, FN, FP, TP = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)

OF = ("counts", "nodes")

ROUNDING = 1e-9  # by which a value may be outside the bounds of its metric


@dataclass(frozen=True)
class Share:
    """top / bottom, both weights on the cells (tn, fn, fp, tp); `lack` is what 0 / 0 lacks."""

    top: tuple[float, ...]
    bottom: tuple[float, ...]
    lack: str

    def __call__(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        return self.of(np.stack([tn, fn, fp, tp], axis=-1))

    def of(self, cells: Floats) -> Floats:
        """Return the share of cells (..., 4), float64 (...); NaN where the bottom is 0."""
        top = cells @ np.asarray(self.top, dtype=np.float64)
        bottom = cells @ np.asarray(self.bottom, dtype=np.float64)
        return np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom > 0.0)


@dataclass(frozen=True)
class MeanOfShares:
    """The mean of shares."""

    parts: tuple[Share, ...]

    def __call__(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        return self.of(np.stack([tn, fn, fp, tp], axis=-1))

    def of(self, cells: Floats) -> Floats:
        """Return the mean of the shares of cells (..., 4), float64 (...)."""
        total = self.parts[0].of(cells)
        for part in self.parts[1:]:
            total = total + part.of(cells)
        return np.asarray(total / len(self.parts))


@dataclass(frozen=True)
class Metric:
    """A metric of a group, built in or a user's own.

    Attributes
    ----------
    name : str
        What results are keyed by.
    function : callable
        Of counts: function(tp, fp, fn, tn) -> value, float64 arrays of one shape, and the value
        of that shape. They are sums of row weights, not whole where labels are imputed as
        probabilities.
        Of nodes: function(score, weight, label) -> value. score: float64 (slot,), in [0, 1],
        rising, as clipped in the table; weight: float64 (..., slot), sum of the weights of the
        rows there, above 0; label: float64 (..., slot), in [0, 1], the share of that weight that
        is positive. The value is (...).
        A function works on all draws at once and must not change what it is given. A value that
        is not finite, or masked, means undefined.
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
        if not (isinstance(self.name, str) and self.name.strip() and self.name.isprintable()):
            raise ValueError(f"Metric.name must be a name of printable text; got {self.name!r}")
        if not callable(self.function):
            raise ValueError(
                f"Metric.function of {self.name!r} must be callable; got {self.function!r}"
            )
        if self.of not in OF:
            raise ValueError(
                f'Metric.of of {self.name!r} must be "counts" or "nodes"; got {self.of!r}'
            )
        if not (isinstance(self.lack, str) and self.lack.isprintable()):
            raise ValueError(f"Metric.lack of {self.name!r} must be text; got {self.lack!r}")
        if not isinstance(self.label_free, (bool, np.bool_)):
            raise ValueError(
                f"Metric.label_free of {self.name!r} must be True or False; got {self.label_free!r}"
            )
        try:
            low, high = (float(bound) for bound in self.bounds)
        except (TypeError, ValueError):
            low = high = math.nan
        if not low < high:
            raise ValueError(
                f"Metric.bounds of {self.name!r} must be two numbers, the lower first; "
                f"got {self.bounds!r}"
            )
        object.__setattr__(self, "bounds", (low, high))
        object.__setattr__(self, "label_free", bool(self.label_free))


def _sum(*cells: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sum(values) for values in zip(*cells, strict=True))


_ALL = _sum(TN, FN, FP, TP)

_POSITIVE, _NEGATIVE = _sum(TP, FN), _sum(FP, TN)

_SELECTED, _REJECTED = _sum(TP, FP), _sum(TN, FN)

SHARES: dict[str, Share] = {
    "accuracy": Share(_sum(TP, TN), _ALL, "rows"),
    "tpr": Share(TP, _POSITIVE, "positive labels"),
    "fpr": Share(FP, _NEGATIVE, "negative labels"),
    "tnr": Share(TN, _NEGATIVE, "negative labels"),
    "fnr": Share(FN, _POSITIVE, "positive labels"),
    "ppv": Share(TP, _SELECTED, "rows predicted positive"),
    "npv": Share(TN, _REJECTED, "rows predicted negative"),
    "false_discovery_rate": Share(FP, _SELECTED, "rows predicted positive"),
    "false_omission_rate": Share(FN, _REJECTED, "rows predicted negative"),
    "selection_rate": Share(_SELECTED, _ALL, "rows"),
    "base_rate": Share(_POSITIVE, _ALL, "rows"),
    "f1": Share(_sum(TP, TP), _sum(TP, TP, FP, FN), "rows labeled or predicted positive"),
}

LABEL_FREE = ("selection_rate", "average_score")  # facts of the predictions and scores

COUNT_METRICS: dict[str, Metric] = {
    **{
        name: Metric(name, share, "counts", share.lack, name in LABEL_FREE, (0.0, 1.0))
        for name, share in SHARES.items()
    },
    "balanced_accuracy": Metric(
        "balanced_accuracy",
        MeanOfShares((SHARES["tpr"], SHARES["tnr"])),
        lack="both labels",
        bounds=(0.0, 1.0),
    ),
    "treatment_equality": Metric(
        "treatment_equality",
        Share(FN, FP, "false positives"),
        lack="false positives",
        bounds=(0.0, math.inf),
    ),
}

SCORE_METRICS = (  # of `score_metrics`, which is imported where one is asked for
    "auc",
    "brier",
    "ece",
    "calibration_in_the_large",
    "balance_positive",
    "balance_negative",
    "average_score",
)

METRICS: tuple[str, ...] = (*COUNT_METRICS, *SCORE_METRICS)

OTHER_WORDS = {  # of other libraries and fields, for what they are called here
    "recall": "tpr",
    "sensitivity": "tpr",
    "hit_rate": "tpr",
    "true_positive_rate": "tpr",
    "equal_opportunity": "tpr",
    "false_positive_rate": "fpr",
    "fall_out": "fpr",
    "specificity": "tnr",
    "true_negative_rate": "tnr",
    "false_negative_rate": "fnr",
    "miss_rate": "fnr",
    "precision": "ppv",
    "positive_predictive_value": "ppv",
    "negative_predictive_value": "npv",
    "fdr": "false_discovery_rate",
    "acceptance_rate": "selection_rate",
    "positive_rate": "selection_rate",
    "demographic_parity": "selection_rate",
    "statistical_parity": "selection_rate",
    "prevalence": "base_rate",
    "f1_score": "f1",
    "roc_auc": "auc",
    "auroc": "auc",
    "brier_score": "brier",
    "calibration_error": "ece",
}

DEFAULT_METRICS = ("accuracy", "tpr", "fpr", "selection_rate")

_COST = re.compile(r"cost\(\s*fp\s*=([^,()]+),\s*fn\s*=([^,()]+)\)")


def cost(*, fp: float, fn: float) -> Metric:
    """Return the metric of the mean cost of a row: (fp FP + fn FN) / rows.

    Parameters
    ----------
    fp, fn
        Cost of a false positive and of a false negative, finite and at least 0, not both 0.

    Returns
    -------
    Metric. Its name, as "cost(fp=1,fn=5)", is understood wherever metrics are named.

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
    top = tuple(float(fp) * a + float(fn) * b for a, b in zip(FP, FN, strict=True))
    return Metric(
        f"cost(fp={of_fp},fn={of_fn})",
        Share(top, _ALL, "rows"),
        lack="rows",
        bounds=(0.0, max(float(fp), float(fn))),
    )


def as_metric(given: str | Metric) -> Metric:
    """Return the metric of a name; a Metric is returned as it is.

    Raises
    ------
    ValueError
        If the name is unknown, or the costs in it break their rule.
    """
    if isinstance(given, Metric):
        return given
    if isinstance(given, str):
        if given in COUNT_METRICS:
            return COUNT_METRICS[given]
        if given in SCORE_METRICS:
            return BUILT_IN[given]
        if match := _COST.fullmatch(given.strip()):
            try:
                fp, fn = map(float, match.groups())
            except ValueError:
                raise ValueError(
                    f"costs must be numbers, as in cost(fp=1,fn=5); got {given!r}"
                ) from None
            return cost(fp=fp, fn=fn)
    if callable(given):
        name = getattr(given, "__name__", type(given).__name__)
        raise ValueError(
            f"metrics must be names or lightfair.Metric values; got the function {name}; "
            'wrap it: lightfair.Metric("name", function)'
        )
    meant = hint(given, METRICS, OTHER_WORDS) if isinstance(given, str) else ""
    raise ValueError(
        f"unknown metric {given!r}{meant}; known: {', '.join(METRICS)}, "
        "cost(fp=NUMBER,fn=NUMBER); a metric of your own is a lightfair.Metric"
    )


def canonical(name: str) -> str:
    """Return the one spelling of a name: of costs without blanks, others as they are."""
    try:
        return as_metric(name).name if _COST.fullmatch(name.strip()) else name
    except ValueError:  # whoever asks for the metric says what is wrong with its costs
        return name


def resolve_metrics(given: Any, own: tuple[Metric, ...] = ()) -> tuple[Metric, ...]:
    """Return metrics, given as names and Metric values, without repeats.

    `own` are a user's metrics that are already known by name.

    Raises
    ------
    ValueError
        If one is unknown, two share a name, or one has the name of a built-in and is not it.
    """
    if isinstance(given, (str, Metric)) or callable(given):
        given = (given,)
    if given is not None and not isinstance(given, Iterable):
        raise ValueError(f"metrics must be names; got {given!r}; known: {', '.join(METRICS)}")
    mine = {metric.name: metric for metric in own}
    found: dict[str, Metric] = {}
    for one in () if given is None else given:
        try:
            metric = mine[one] if isinstance(one, str) and one in mine else as_metric(one)
        except ValueError as error:
            raise ValueError(f"metrics: {error}") from None
        if is_built_in(metric.name) and as_metric(metric.name) != metric:
            raise ValueError(
                f"a metric of your own must not have the name of a built-in; got {metric.name!r}"
            )
        if found.setdefault(metric.name, metric) != metric:
            raise ValueError(f"two metrics have the name {metric.name!r}; names must differ")
    if not found:
        raise ValueError(f"metrics must name at least one metric; known: {', '.join(METRICS)}")
    return tuple(found.values())


def is_built_in(name: str) -> bool:
    """Whether a name is that of a built-in metric, the cost of given costs too."""
    return name in METRICS or _COST.fullmatch(name.strip()) is not None


def check_metrics(given: Any) -> tuple[str, ...]:
    """Return the names of metrics without repeats; raise ValueError for an unknown one."""
    return tuple(metric.name for metric in resolve_metrics(given))


def theta(metric: str | Metric, counts: Any) -> Floats:
    """Return a metric of confusion counts.

    Parameters
    ----------
    metric
        A name or a Metric, of counts.
    counts
        float64 (..., predicted, label).

    Returns
    -------
    float64 (...); NaN where it is undefined, such as 0 / 0.

    Raises
    ------
    ValueError
        If it is a metric of nodes, or its function fails or gives what it should not.

    Examples
    --------
    >>> float(theta("tpr", [[50, 10], [5, 30]]))
    0.75
    """
    metric = as_metric(metric)
    cells = np.asarray(counts, dtype=np.float64)
    cells = cells.reshape(*cells.shape[:-2], 4)
    if metric.of != "counts":
        raise ValueError(f"{metric.name} is a metric of nodes; confusion counts do not tell it")
    if isinstance(metric.function, (Share, MeanOfShares)):
        return metric.function.of(cells)
    cells = cells.view()
    cells.flags.writeable = False
    tn, fn, fp, tp = np.moveaxis(cells, -1, 0)
    return called(metric, (tp, fp, fn, tn), tp.shape, "arrays tp, fp, fn, tn of one shape")


def called(
    metric: Metric, arguments: tuple[Floats, ...], shape: tuple[int, ...], takes: str
) -> Floats:
    """Call the function of a metric, and check what it returns: float64 of `shape`.

    `takes` says in an error what the function is called with. Not finite, or masked, becomes NaN.
    """
    rule = f"its function is called with {takes}, and must return real numbers of shape {shape}"
    try:
        with np.errstate(all="ignore"):
            given = metric.function(*arguments)
            hidden, value = np.ma.getmask(given), np.asarray(given)
    except Exception as error:
        raise ValueError(
            f"metric {metric.name!r} raised {type(error).__name__}: {error}; {rule}"
        ) from error
    if value.dtype.kind not in "fiub":
        raise ValueError(f"metric {metric.name!r} returned values of type {value.dtype}; {rule}")
    if value.shape != shape:
        raise ValueError(f"metric {metric.name!r} returned shape {value.shape}; {rule}")
    value = value.astype(np.float64)
    value[hidden | ~np.isfinite(value)] = np.nan
    low, high = metric.bounds
    outside = (value < low - ROUNDING * (1.0 + abs(low))) | (
        value > high + ROUNDING * (1.0 + abs(high))
    )
    if outside.any():
        raise ValueError(
            f"metric {metric.name!r} must lie in its bounds [{low:g}, {high:g}]; got "
            f"{value[outside].flat[0]:g}"
        )
    return value


def free_of_labels(metric: Metric, negative: Floats, positive: Floats) -> Floats:
    """Return a metric that says it needs no labels, given its values for labels of one class.

    Raises ValueError where they differ.
    """
    differ = ~np.isclose(negative, positive, rtol=ROUNDING, atol=ROUNDING, equal_nan=True)
    if differ.any():
        raise ValueError(
            f"metric {metric.name!r} has label_free=True but depends on labels: it is "
            f"{negative[differ].flat[0]:g} where all are negative and "
            f"{positive[differ].flat[0]:g} where all are positive; leave label_free out"
        )
    return negative


def shares(metric: Metric) -> tuple[Share, ...]:
    """Return the shares whose mean the metric is; none where it is no mean of shares."""
    if isinstance(metric.function, MeanOfShares):
        return metric.function.parts
    return (metric.function,) if isinstance(metric.function, Share) else ()


def successes_failures(name: str, counts: Any) -> tuple[Floats, Floats]:
    """Return the numbers of successes and failures behind a share.

    Those of f1 are tp and fp + fn, those of treatment equality fn and fp.
    """
    cells = np.asarray(counts, dtype=np.float64)
    cells = cells.reshape(*cells.shape[:-2], 4)
    if name == "f1":
        return cells[..., 3], cells[..., 1] + cells[..., 2]
    if name == "treatment_equality":
        return cells[..., 1], cells[..., 2]
    share = SHARES[name]
    success = cells @ np.asarray(share.top, dtype=np.float64)
    return success, cells @ np.asarray(share.bottom, dtype=np.float64) - success


BINS = 10  # of the expected calibration error


def auc(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the chance that a positive scores above a negative; ties count half.

    All functions here take score (slot,), rising, and weight and label (..., slot), and return
    float64 (...), NaN where it is undefined.
    """
    positive, negative = weight * label, weight * (1.0 - label)
    first = np.flatnonzero(np.append(True, score[1:] > score[:-1]))
    if len(first) < len(score):
        positive, negative = (np.add.reduceat(x, first, axis=-1) for x in (positive, negative))
    below = np.cumsum(negative, axis=-1) - 0.5 * negative
    pairs = positive.sum(axis=-1) * negative.sum(axis=-1)
    return _over((positive * below).sum(axis=-1), pairs)


def brier(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the mean squared distance between score and label."""
    missed = label * (1.0 - score) ** 2 + (1.0 - label) * score**2
    return _over((weight * missed).sum(axis=-1), weight.sum(axis=-1))


def ece(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the expected calibration error, over bins of equal width."""
    # the logit and back moves a score by an ulp or two: one on an edge stays in the bin above
    bins = np.minimum((BINS * score + 1e-9).astype(np.int64), BINS - 1)
    first = np.flatnonzero(np.append(True, bins[1:] > bins[:-1]))
    away = np.abs(np.add.reduceat(weight * (label - score), first, axis=-1))
    return _over(away.sum(axis=-1), weight.sum(axis=-1))


def calibration_in_the_large(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the mean label minus the mean score."""
    return _over((weight * (label - score)).sum(axis=-1), weight.sum(axis=-1))


def balance_positive(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the mean score of the positives."""
    mass = weight * label
    return _over((mass * score).sum(axis=-1), mass.sum(axis=-1))


def balance_negative(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the mean score of the negatives."""
    mass = weight * (1.0 - label)
    return _over((mass * score).sum(axis=-1), mass.sum(axis=-1))


def average_score(score: Floats, weight: Floats, label: Floats) -> Floats:
    """Return the mean score."""
    return _over((weight * score).sum(axis=-1), weight.sum(axis=-1))


def _over(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.full_like(bottom, np.nan), where=bottom > 0.0)


def _metric(
    function: Callable[..., Floats], lack: str, bounds: tuple[float, float] = (0.0, 1.0)
) -> Metric:
    name = function.__name__
    return Metric(name, function, "nodes", lack, name in LABEL_FREE, bounds)


BUILT_IN: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _metric(auc, "both labels"),
        _metric(brier, "rows"),
        _metric(ece, "rows"),
        _metric(calibration_in_the_large, "rows", (-1.0, 1.0)),
        _metric(balance_positive, "positive labels"),
        _metric(balance_negative, "negative labels"),
        _metric(average_score, "rows"),
    )
}
