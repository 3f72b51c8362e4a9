"""Assess a fitted scikit-learn classifier on rows with few labels.

    model, X  ->  y_score, the probability of the positive class, and y_pred, the predicted class
    y         ->  y_true, the labels of some rows

scikit-learn is not imported: a model is anything with `classes_` and `predict_proba`, such as its
classifiers, searches and pipelines, and those of other libraries that follow its interface.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..audit.classes import class_places
from ..core.assessment import Assessment
from ..core.data import columns
from ..core.data.columns import number_of, same
from ..core.data.messages import Note, counted, list_values, note, show
from ..core.pipeline import assess


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
    """Assess a fitted binary classifier or pipeline on rows, few of them labeled.

    Parameters
    ----------
    model
        Has `classes_` and `predict_proba`, and usually `predict`.
    X
        Rows as the model takes them, other than its training rows.
    y : column, shape (n,)
        Classes of the model; NaN, None, pd.NA, or -1 if it is not a class, for unlabeled rows.
    sensitive_features
        As in `assess`; or the name of a column of X, or a list of names. A named column that the
        model was not fitted on is not passed to it.
    threshold
        Default: the predictions of the model, with a warning if they differ from scores of 0.5 or
        more. Otherwise as in `assess`: decisions are made from the scores.
    positive_label
        A class of the model; default 1 or True if the classes are numbers.
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
        If the model has no `predict_proba`, or y_true, y_score or y_pred is given.
    ValueError
        If the model does not have two classes, or the rows are invalid. Errors of the model itself,
        for instance if it is not fitted or X lacks columns, are passed on.

    Examples
    --------
    >>> import lightfair as lf
    >>> class Model:  # stands in for a fitted one
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
    for name in ("y_true", "y_score", "y_pred"):
        if name in options:
            raise TypeError(f"{name} follows from model, X and y; leave it out, or call assess")
    features, rows = _features(model, X, sensitive_features)
    attributes = [(where, values) for _, where, values in columns.attribute_columns(features)]
    columns.check_indexes([("X", X), ("y", y), *attributes])
    classes, proba = _probabilities(model, rows)
    positive = _positive(classes, positive_label)
    score = proba[:, positive]
    label = class_places("y", y, classes, unlabeled)
    labels = np.where(label < 0, np.nan, label == positive)
    notes: tuple[Note, ...] = ()
    if threshold is not None:
        options["threshold"] = threshold
    elif hasattr(model, "predict"):
        predicted = columns.column("predict(X)", model.predict(rows))
        codes, values = columns.factorize("predict(X)", predicted)
        decided = np.array([same(value, classes[positive]) for value in values])[codes]
        differ = int((decided != (score >= 0.5)).sum())
        if differ:
            options["y_pred"] = decided
            notes = (note("own_decisions", counted(differ, "row")),)
    result = assess(labels, score, sensitive_features=features, **options)
    return replace(result, warnings=(*notes, *result.warnings))


def _features(model: Any, X: Any, features: Any) -> tuple[Any, Any]:
    """The sensitive features, by name if they are columns of X, and the rows for the model."""
    frame = dict(columns.frame_columns(X) or {})
    names = [features] if isinstance(features, str) else features
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        return features, X
    unknown = [name for name in names if name not in frame]
    if unknown and not isinstance(features, str) and len(names) == np.shape(X)[0]:
        return features, X  # a level for each row
    chosen = {name: columns.named_column(frame, name, "sensitive_features", "X") for name in names}
    fitted = getattr(model, "feature_names_in_", frame)
    kept = [name for name in frame if name in fitted or name not in names]
    return chosen, X if len(kept) == len(frame) else X[kept]


def _probabilities(model: Any, X: Any) -> tuple[list[Any], NDArray[np.floating[Any]]]:
    """The classes of a model, and their probabilities, float (n, 2) in the precision given."""
    name = type(model).__name__
    if not hasattr(model, "predict_proba"):
        raise TypeError(f"model must have predict_proba; got {name}; see CalibratedClassifierCV")
    proba = model.predict_proba(X)
    classes = np.asarray(model.classes_).tolist()
    if len(classes) != 2 or np.ndim(proba) != 2:
        got = list_values(tuple(classes))
        raise ValueError(f"model must have two classes; {name} has {got}; see assess_classes")
    values = np.asarray(proba)
    return classes, values if values.dtype.kind == "f" else values.astype(np.float64)


def _positive(classes: list[Any], positive_label: Any) -> int:
    """Index of the positive class."""
    if positive_label is None and {number_of(c) for c in classes} in ({0.0, 1.0}, {-1.0, 1.0}):
        positive_label = 1
    matches = [index for index, value in enumerate(classes) if same(value, positive_label)]
    if not matches:
        known, got = list_values(tuple(classes)), show(positive_label)
        raise ValueError(f"positive_label must be a class of the model, {known}; got {got}")
    return matches[0]
