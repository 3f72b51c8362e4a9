"""Several classes, each against the rest: one assessment per class, intervals over all of them.

For class k the label of a row is whether its class is k, the score is its probability of k, and the
decision is whether k is the class that is taken: the one with the largest score. That is a binary
classifier, of which `assess` reports metrics and differences. tpr is the recall of the class.

Accuracy is not among the default metrics. Against the rest it counts every row that belongs to
another class and is taken for another one, rightly or not: of ten equal classes guessed at random
it is 0.82, and gaps of recall shrink to a tenth in it.

Simultaneous intervals hold all differences of all groups, metrics and classes at once with
probability p. Of K classes, those of one hold at once with p^(1/K) (`core.comparison.gaps`). The
classes are fitted apart, so that nothing is known of the dependence between their errors; if they
are independent, all hold with p, and otherwise with p or more as far as they are Gaussian: for
boxes around the mean the product is a lower bound (Royen 2014, the Gaussian correlation
inequality; for intervals Sidak 1967). In 60 simulated data sets of three classes, the six
differences of tpr and fpr were in them at once in 60, and in 52 in plain 95 % intervals
(`tests/audit/test_classes.py`). Beyond 16 classes p^(1/K) leaves fewer than 10 of 3,200 draws
outside: ask for more.

What cannot be said this way: imputed probabilities of a row's classes do not sum to 1; which class
is taken for which other one; accuracy and log loss of the classifier over all classes.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=1000, labeled=100, rng=1)
    >>> y = [{0: "no", 1: "yes"}.get(label) for label in rows.y_true]  # None: unlabeled
    >>> s = rows.y_score
    >>> scores = list(zip(0.7 * (1 - s), s, 0.3 * (1 - s)))
    >>> result = lf.assess_classes(
    ...     y, scores, ["no", "yes", "maybe"], sensitive_features=rows.group, rng=1
    ... )
    >>> print("up to {1:.2f}".format(*result.simultaneous()["yes"].interval("tpr", "B")))
    up to 0.29
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core import __version__
from ..core.assessment import Assessment
from ..core.comparison.gaps import Simultaneous
from ..core.data import columns
from ..core.data.columns import Labels, same
from ..core.data.logit import Floats, Ints
from ..core.data.messages import Note, counted, level_name, list_values, row_list
from ..core.data.rows import BOUNDS, RULES
from ..core.metrics.estimate import ByName, check_prob
from ..core.pipeline import assess
from ..core.settings import check_rng
from ..core.values import warning_values

WITHOUT = ("frame", "label_error", "positive_label", "threshold")  # options of assess

METRICS = ("tpr", "fpr", "selection_rate")

SUM = 1e-3  # how far from 1 the scores, or chances, of a row may sum


@dataclass(frozen=True, eq=False, repr=False)
class ClassesAssessment:
    """One assessment per class, against the rest.

    Attributes
    ----------
    by_class : dict of str to Assessment
        In the order given; groups and settings are the same, except for the seed.

    Examples
    --------
    The examples of the methods continue from here.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=1000, labeled=100, rng=1)
    >>> y = [{0: "no", 1: "yes"}.get(label) for label in rows.y_true]  # None: unlabeled
    >>> s = rows.y_score
    >>> scores = list(zip(0.7 * (1 - s), s, 0.3 * (1 - s)))
    >>> result = lf.assess_classes(
    ...     y, scores, ["no", "yes", "maybe"], sensitive_features=rows.group, rng=1
    ... )
    """

    by_class: dict[str, Assessment]

    @property
    def warnings(self) -> tuple[Note, ...]:
        """Warnings of all assessments; each message begins with its class.

        Examples
        --------
        >>> print(result.warnings[0].message.partition(":")[0])
        class maybe
        """
        return tuple(
            Note(note.code, f"class {name}: {note.message}")
            for name, one in self.by_class.items()
            for note in one.warnings
        )

    def simultaneous(self, prob: float | None = None) -> dict[str, Simultaneous]:
        """Return intervals of all differences from the reference, by class, that hold at once.

        Parameters
        ----------
        prob
            Probability that all of them hold, of all classes; default: that of the settings.

        Returns
        -------
        dict of Simultaneous by class, {} if there is only one group.

        Examples
        --------
        >>> wide = result.simultaneous(0.95)["no"].interval("tpr", "B")
        >>> one = result.by_class["no"].simultaneous(prob=0.95).interval("tpr", "B")
        >>> wide[0] < one[0], one[1] < wide[1]
        (True, True)
        """
        base, *_ = self.by_class.values()
        prob = base.settings.prob if prob is None else check_prob(prob)
        level = prob ** (1.0 / len(self.by_class))
        several = self.by_class.items() if len(base.groups) > 1 else ()
        joint = ((name, one.simultaneous(prob=level)) for name, one in several)
        return ByName((name, replace(one, prob=prob)) for name, one in joint)

    def to_dict(self) -> dict[str, Any]:
        """Return the assessments as plain values, ready for JSON. The keys:

        version
        classes
            Per class: the values of its assessment.
        simultaneous
            Per class: the intervals that hold at once over all classes; {} if there is one group.
        warnings
            code, message.

        Examples
        --------
        >>> found = result.to_dict()
        >>> list(found["classes"]), list(found["classes"]["no"]["metrics"])
        (['no', 'yes', 'maybe'], ['tpr', 'fpr', 'selection_rate'])
        """
        return {
            "version": __version__,
            "classes": {name: one.to_dict() for name, one in self.by_class.items()},
            "simultaneous": {name: one.to_dict() for name, one in self.simultaneous().items()},
            "warnings": warning_values(self.warnings),
        }


def assess_classes(
    y_true: Any, y_score: Any, classes: Any, *, y_pred: Any = None, rng: Any = None, **options: Any
) -> ClassesAssessment:
    """Assess a classifier of three or more classes, each class against the rest.

    Parameters
    ----------
    y_true : column, shape (n,)
        Classes; NaN, None, pd.NA, "", or -1 if it is not a class, for unlabeled rows.
    y_score : matrix, data frame or dict of columns, shape (n, K)
        Probabilities, with a column for each of `classes`, in their order. Rows sum to 1.
    classes : sequence
        Three or more values of y_true.
    y_pred : column, shape (n,), optional
        Classes that are taken. Default: of the largest score; of equal ones the first.
    rng
        Seed of the first class; that of the second is greater by 1, and so on, so that draws of
        different classes are independent. They are in `by_class[name].settings.seed`.
    **options
        Those of `assess`, among them sensitive_features, without frame, label_error, positive_label
        and threshold. Default metrics: tpr, fpr and selection_rate. Simultaneous intervals are
        always reported.

    Returns
    -------
    ClassesAssessment. A class without labels has a warning.

    Raises
    ------
    ValueError
        If an argument breaks its rule; the message names the rule, the value and the way out.
    TypeError
        If an option has no meaning for several classes.

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=1000, labeled=100, rng=1)
    >>> y = [{0: "no", 1: "yes"}.get(label) for label in rows.y_true]  # None: unlabeled
    >>> s = rows.y_score
    >>> scores = {"no": 0.7 * (1 - s), "yes": s, "maybe": 0.3 * (1 - s)}
    >>> result = lf.assess_classes(y, scores, [*scores], sensitive_features=rows.group, rng=1)
    >>> print(result.by_class["yes"].difference("tpr", "B"))
    0.129 [0.037, 0.249], P(>0) 0.998
    """
    if wrong := sorted({*WITHOUT} & {*options}):
        raise TypeError(f"{', '.join(wrong)}: not with several classes; leave it out")
    values = columns.column("classes", classes).tolist()
    names = tuple(map(level_name, values))
    if len(names) < 3 or any(_in(value, values[:at]) for at, value in enumerate(values)):
        rule, got = "classes must hold at least three values, each once", list_values(names)
        raise ValueError(f"{rule}; got {got}; assess compares two classes")
    features = columns.attribute_columns(options.get("sensitive_features"))
    rows = [("y_true", y_true), ("y_score", y_score), ("y_pred", y_pred)]
    columns.check_indexes([*rows, *((where, column) for _, where, column in features)])
    label = class_places("y_true", y_true, values, options.pop("unlabeled", None))
    score = _scores(y_score, names)
    taken = score.argmax(axis=1) if y_pred is None else class_places("y_pred", y_pred, values)
    drawn = check_rng(rng)
    seed = rng if isinstance(rng, (int, np.integer)) else drawn.integers(2**53)
    found = ByName()
    for at, name in enumerate(names):
        y, decided = (np.where(place < 0, np.nan, place == at) for place in (label, taken))
        given = {"metrics": METRICS, **options, "simultaneous": False}  # but over all classes
        given |= {"y_pred": decided, "rng": int(seed) + at}
        found[name] = assess(y, score[:, at], **given)
    return ClassesAssessment(found)


def _scores(values: Any, names: tuple[str, ...]) -> Floats:
    """The scores, float64 (n, class); rows sum to 1."""
    frame = values.items() if isinstance(values, dict) else columns.frame_columns(values)
    pairs = [*enumerate(np.atleast_2d(values).T)] if frame is None else [*frame]
    own = tuple(name if isinstance(name, int) else level_name(name) for name, _ in pairs)
    if len(own) != len(names) or ({*own} == {*names} and own != names):
        rule = f"y_score must have a column for each of {list_values(names)}, in this order"
        raise ValueError(f"{rule}; got {counted(len(own), 'column')}: {list_values(own)}")
    bounds, rule = BOUNDS["y_score"], RULES["y_score"]
    read = [columns.numeric("a column of y_score", one, bounds, rule) for _, one in pairs]
    score = np.stack(read, axis=1)
    check_sums(score, "y_score must sum to 1 in each row", "divide by the sums")
    return score


def check_sums(parts: Floats, rule: str, remedy: str) -> None:
    """Raise ValueError, with a rule and a remedy, unless parts (n, K) sum to 1 in each row."""
    total = parts.sum(axis=1)
    bad = np.flatnonzero(np.abs(total - 1.0) > SUM)
    if bad.size:
        raise ValueError(f"{rule}; got {total[bad[0]]:.4g} at {row_list(bad)}; {remedy}")


def class_places(name: str, values: Any, classes: list[Any], unlabeled: Any = None) -> Ints:
    """Return the index of the class of each row, intp (n,); -1 where it is unlabeled.

    So is -1, unless it is a class. `name` is that of the column in errors.
    """
    gaps, (codes, distinct) = Labels(None, unlabeled).unlabeled, columns.factorize(name, values)
    if unlabeled is not None and (both := [gap for gap in gaps if _in(gap, classes)]):
        raise ValueError(f"unlabeled must not be a class; got {list_values(both)}")
    if unknown := [value for value in distinct if not _in(value, [*classes, *gaps, -1])]:
        rule = f"{name} must hold classes, {list_values(tuple(classes))}"
        rule += ", or unlabeled=" * (name != "y_pred")
        raise ValueError(f"{rule}; got {list_values(unknown)}")
    places = [next((at for at, c in enumerate(classes) if same(v, c)), -1) for v in distinct]
    return np.array([*places, -1])[codes]


def _in(value: Any, others: list[Any]) -> bool:
    return any(same(value, other) for other in others)
