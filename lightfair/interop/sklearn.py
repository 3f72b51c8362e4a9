"""An estimator of scikit-learn, assessed as it is: its scores, its decisions, labels with gaps.

    model, X  ->  scores: the probability of the positive class;  decisions: what it predicts
    y         ->  labels of some rows

Nothing of scikit-learn is imported: a model is what has `classes_` and `predict_proba`, as its
classifiers, searches and pipelines have, and those of other libraries that follow it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.data.columns import (
    attribute_columns,
    check_indexes,
    column,
    factorize,
    frame_columns,
    is_missing,
    number_of,
    same,
)
from ..core.data.messages import Note, hint, list_values, show
from ..core.pipeline import assess

if TYPE_CHECKING:
    from ..core.assessment import Assessment

USUAL = 0.5  # the score from which a classifier commonly decides for the positive class


def assess_estimator(
    model: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    threshold: Any = None,
    positive_label: Any = None,
    unlabeled: Any = None,
    **options: Any,
) -> Assessment:
    """Assess a fitted binary classifier or pipeline on rows of which few are labeled.

    Parameters
    ----------
    model
        It has `classes_` and `predict_proba`, and usually `predict`.
    X
        The rows, as the model takes them; not those that it was fitted on.
    y : column, shape (n,)
        Classes of the model; NaN, None, pd.NA, or -1 where it is no class, for unlabeled rows.
    sensitive_features
        As in `assess`; or the name of a column of X, or a list of names. A column that is named
        here and that the model was not fitted on is not given to it.
    threshold
        Default: what the model predicts, which is said in a warning where it is not the class that
        scores 0.5 or more. Otherwise as in `assess`: decisions are then made from the scores.
    positive_label
        A class of the model; by default 1 or True of two numbers.
    unlabeled
        Values of y that mean unlabeled, as in `score_data`.
    **options
        Those of `assess`.

    Returns
    -------
    Assessment

    Raises
    ------
    TypeError
        If the model has no probabilities, or an option is given that the model decides.
    ValueError
        If it has more than two classes, or the rows break a rule. What the model itself raises, as
        where it is not fitted or X lacks columns, is passed on.

    Examples
    --------
    >>> import lightfair as lf
    >>> class Model:  # stands in for one that was fitted
    ...     classes_ = ["no", "yes"]
    ...     def predict_proba(self, X):
    ...         return [[1 - x, x] for x in X]
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> y = ["yes" if label == 1 else "no" if label == 0 else None for label in rows.y_true]
    >>> result = lf.assess_estimator(Model(), rows.y_score, y, sensitive_features=rows.group,
    ...                              positive_label="yes", rng=1)
    >>> result.table.labeled, result.table.threshold
    (100, 0.5)
    """
    given = sorted({"y_true", "y_score", "y_pred"} & set(options))
    if given:
        raise TypeError(
            f"{given[0]} is what the model and y say; leave it out, or call assess with y_score"
        )
    features, rows = _features(model, X, sensitive_features)
    beside = [(where, values) for _, where, values in attribute_columns(features)]
    check_indexes([("X", X), ("y", y), *beside])
    classes, proba = _probabilities(model, rows)
    negative, positive = _ordered(classes, positive_label)
    score = proba[:, positive]
    label = _labels(y, classes[negative], classes[positive], unlabeled)
    if len(label) != len(score):
        raise ValueError(
            f"X and y must have the same length; got {len(score)} and {len(label)} rows"
        )
    notes: tuple[Note, ...] = ()
    if threshold is not None:
        options["threshold"] = threshold
    else:
        decided = _decided(model, rows, classes[positive], len(score))
        apart = None if decided is None else decided != (score >= USUAL)
        if apart is not None and apart.any():
            options["y_pred"] = decided
            notes = _note(apart, score)
    found = assess(label, score, sensitive_features=features, **options)
    return replace(found, warnings=(*notes, *found.warnings)) if notes else found


def _features(model: Any, X: Any, named: Any) -> tuple[Any, Any]:
    """The sensitive features where they are named, and the columns of X that the model takes."""
    columns = frame_columns(X)
    if isinstance(named, str):
        if columns is None:
            raise ValueError(
                f"sensitive_features names the column {named!r}, but X is of type "
                f"{type(X).__name__} and has no names; pass the column itself"
            )
        named = [named]
    listed = isinstance(named, (list, tuple)) and len(named) > 0
    if columns is None or not listed or not all(isinstance(name, str) for name in named):
        return named, X
    known = dict(columns)
    unknown = [name for name in named if name not in known]
    if unknown and len(named) == len(columns[0][1] if columns else ()):
        return named, X  # a level for each row
    if unknown:
        raise ValueError(
            f"sensitive_features names {unknown[0]!r}, which is no column of X"
            f"{hint(unknown[0], known)}; it has {list_values(tuple(known))}"
        )
    taken = getattr(model, "feature_names_in_", None)
    features = {name: known[name] for name in named}
    left = [name for name in known if taken is None or name in taken or name not in features]
    return features, X if len(left) == len(known) else X[left]


def _probabilities(model: Any, X: Any) -> tuple[list[Any], NDArray[np.floating[Any]]]:
    """The classes of a model, and the probability of each, floats as they come: (n, class)."""
    name = type(model).__name__
    if not hasattr(model, "predict_proba"):
        if hasattr(model, "decision_function"):
            raise TypeError(
                f"model {name} has decision_function and no predict_proba, and scores must lie in "
                "[0, 1]; fit sklearn.calibration.CalibratedClassifierCV(model), which has "
                "probabilities, and pass that"
            )
        raise TypeError(
            f"model must be a classifier with predict_proba; {name} has none; call assess with "
            "its scores as y_score"
        )
    proba = model.predict_proba(X)
    if isinstance(proba, list) and proba and getattr(proba[0], "ndim", 0) == 2:
        raise ValueError(f"model must have one output; {name} has {len(proba)}; assess each")
    if not hasattr(model, "classes_"):
        raise TypeError(
            f"model must have classes_; {name} has none; call assess with predict_proba(X)[:, 1] "
            "as y_score"
        )
    classes = list(np.asarray(model.classes_).tolist())
    if len(classes) != 2:
        raise ValueError(
            f"model must have two classes; {name} has {len(classes)}: "
            f"{list_values(tuple(classes))}; assess one against the others: assess with "
            "y_score=predict_proba(X)[:, j] and positive_label of that class"
        )
    values = np.asarray(proba)
    values = values if values.dtype.kind == "f" else values.astype(np.float64)
    if values.ndim != 2 or values.shape[1] != 2:
        raise ValueError(
            f"model must give a probability for each of its two classes; {name} gave shape "
            f"{values.shape}"
        )
    return classes, values


def _ordered(classes: list[Any], positive_label: Any) -> tuple[int, int]:
    """Index of the negative class and of the positive one."""
    if positive_label is None:
        if {number_of(c) for c in classes} not in ({0.0, 1.0}, {-1.0, 1.0}):
            raise ValueError(
                f"positive_label must say which class is positive; the model has "
                f"{list_values(tuple(classes))}"
            )
        positive_label = 1
    found = [at for at, value in enumerate(classes) if same(value, positive_label)]
    if not found:
        raise ValueError(
            f"positive_label must be a class of the model; got {show(positive_label)}; the model "
            f"has {list_values(tuple(classes))}"
        )
    return 1 - found[0], found[0]


def _labels(y: Any, negative: Any, positive: Any, unlabeled: Any) -> NDArray[np.float64]:
    """1, 0, and NaN for unlabeled: float64 (n,)."""
    codes, values = factorize("y", column("y", y, few=True))
    many = isinstance(unlabeled, (list, tuple, set, np.ndarray))
    gaps = [value for value in (unlabeled if many else [unlabeled]) if not is_missing(value)]
    for value in (negative, positive):
        if any(same(value, gap) for gap in gaps):
            raise ValueError(f"unlabeled must be no class of the model; got {show(value)}")
    table = []
    for code, value in enumerate(values):
        if any(same(value, gap) for gap in gaps):
            table.append(np.nan)
        elif same(value, positive) or same(value, negative):
            table.append(float(same(value, positive)))
        elif number_of(value) == -1:
            table.append(np.nan)
        else:
            row = int(np.argmax(codes == code))
            raise ValueError(
                f"y must hold classes of the model, {show(negative)} and {show(positive)}; got "
                f"{show(value)} at row {row}; name what means unlabeled in unlabeled="
            )
    return np.array([*table, np.nan])[codes]


def _decided(model: Any, X: Any, positive: Any, rows: int) -> NDArray[np.bool_] | None:
    """The rows for which the model predicts the positive class; None where it predicts nothing."""
    if not hasattr(model, "predict"):
        return None
    codes, values = factorize("predict(X)", column("predict(X)", model.predict(X)))
    if len(codes) != rows:
        raise ValueError(f"predict(X) must have {rows} rows, as predict_proba(X); got {len(codes)}")
    return np.array([*(same(value, positive) for value in values), False])[codes]


def _note(apart: NDArray[np.bool_], score: NDArray[np.floating[Any]]) -> tuple[Note, ...]:
    rows, ties = int(apart.sum()), int((score[apart] == USUAL).sum())
    also = f", {ties:,} of which score exactly that" if ties else ""
    return (
        Note(
            "own_decisions",
            f"the model decides otherwise than from its scores at {USUAL:g} in {rows:,} "
            f"row{'' if rows == 1 else 's'}{also}; its own decisions are assessed; pass "
            f"threshold={USUAL:g} for those of the scores",
        ),
    )
