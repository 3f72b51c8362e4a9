"""Estimators: scores, decisions and classes of a fitted model, and labels with gaps."""

from __future__ import annotations

import numpy as np
import pytest
from results import QUICKEST as QUICK
from results import codes

import lightfair as lf

pytest.importorskip("sklearn")
pandas = pytest.importorskip("pandas")

from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.linear_model import LinearRegression, LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402

NUMBERS = ["income", "age"]


def frame(rows, seed):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    numbers = {"income": rng.normal(0.5 * (sex == "m")), "age": rng.normal(size=rows)}
    return pandas.DataFrame({**numbers, "sex": sex, "job": np.resize([*"xy"], rows)})


def labels(X, seed):
    odds = 1.2 * X["income"] - 0.4 * X["age"]
    return (np.random.default_rng(seed).random(len(X)) < 1 / (1 + np.exp(-odds))).astype(int)


TRAIN = frame(200, 5)
LABELS = labels(TRAIN, 6)
X = frame(300, 0)
Y = labels(X, 1).astype(float).where(np.arange(300) % 5 == 0)  # 60 of 300
SCALED = ColumnTransformer([("n", StandardScaler(), NUMBERS), ("c", OneHotEncoder(), ["job"])])
PIPELINE = make_pipeline(SCALED, LogisticRegression()).fit(TRAIN, LABELS)
LOGISTIC = LogisticRegression().fit(TRAIN[NUMBERS], LABELS)


def ask(model, X=X[NUMBERS], y=Y, features=X["sex"], **options):
    return lf.assess_estimator(model, X, y, sensitive_features=features, **{**QUICK, **options})


@pytest.fixture(scope="module")
def expected():
    """The assessment of LOGISTIC, as plain values."""
    return ask(LOGISTIC).to_dict()


def test_it_is_assess_with_the_scores_of_the_model():
    score = PIPELINE.predict_proba(X)[:, 1]
    result = lf.assess(Y, score, sensitive_features={"sex": X["sex"]}, **QUICK)
    assert ask(PIPELINE, X, features="sex").to_dict() == result.to_dict()
    assert result.table.threshold == 0.5 and result.table.labeled == 60
    options = {"metrics": "tpr", "reference": "f", "threshold": [0.4, 0.6]}
    settings = ask(PIPELINE, X, **options).settings
    assert settings.thresholds == (0.4, 0.6) and settings.reference == "f"
    rates = ask(LOGISTIC, metrics="tpr", label_error=(0.02, 0.1)).settings.label_error
    assert rates == ((0.02, 0.02), (0.1, 0.1))


def test_several_columns_are_crossed():
    result = ask(PIPELINE, X, features=["sex", "job"])
    assert result.table.attributes == ("sex", "job") and len(result.groups) == 4
    assert ask(PIPELINE, X, features=X[["sex", "job"]]).groups == result.groups


def test_named_columns_that_the_model_was_not_fitted_on_are_not_passed_to_it(expected):
    polars = pytest.importorskip("polars")
    rows = X[[*NUMBERS, "sex"]]
    assert ask(LOGISTIC, rows, features="sex").to_dict() == expected
    rows = polars.DataFrame({name: rows[name].tolist() for name in rows})
    y = [None if np.isnan(value) else int(value) for value in Y]
    assert ask(LOGISTIC, rows, y, "sex").to_dict() == expected
    with pytest.raises(ValueError, match="feature names"):  # an error of scikit-learn
        ask(LOGISTIC, X, features="sex")  # job is neither a feature nor sensitive


CLASSES = [((False, True), None), ((-1, 1), None), (("no", "yes"), "yes"), ((2, 1), 1)]


@pytest.mark.parametrize("classes, positive_label", CLASSES)
def test_classes_are_those_of_the_model(expected, classes, positive_label):
    """The same labels under other names, whichever class comes first."""
    model = LogisticRegression().fit(TRAIN[NUMBERS], np.array(classes)[LABELS])
    y = [None if np.isnan(value) else classes[int(value)] for value in Y]
    result = ask(model, y=y, positive_label=positive_label)
    assert result.table.labeled == 60
    for name in ("tpr", "accuracy"):
        mean = expected["metrics"][name]["groups"][0]["mean"]
        assert result.metric(name, result.groups[0]).mean == pytest.approx(mean, abs=1e-6)


def test_values_that_mean_unlabeled():
    y = np.where(Y == 0, "no", "open")
    result = ask(NAMED, y=y, positive_label="yes", unlabeled=["open"])
    assert result.table.labeled == (Y == 0).sum() and "one_class" in codes(result)
    assert ask(LOGISTIC, y=np.where(Y.isna(), -1, Y).astype(int)).table.labeled == 60


class Tuned:
    """A classifier with another threshold."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        return LOGISTIC.predict_proba(X)

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] >= 0.3).astype(int)


def test_decisions_are_the_predictions_of_the_model(expected):
    score = LOGISTIC.predict_proba(X[NUMBERS])[:, 1]
    own = ask(Tuned())
    assert own.metric("selection_rate", "f").mean == np.mean(score[X["sex"] == "f"] >= 0.3)
    assert own.table.threshold is None
    (message,) = [note.message for note in own.warnings if note.code == "own_decisions"]
    differ = ((score >= 0.3) != (score >= 0.5)).sum()
    assert f"differ from its scores at 0.5 in {differ} r" in message
    assert ask(Tuned(), threshold=0.5).to_dict() == expected


def test_a_model_without_predictions_has_those_of_its_scores(expected):
    class Scores:
        classes_ = [0, 1]

        def predict_proba(self, X):
            return LOGISTIC.predict_proba(X).tolist()

    class Single(Scores):
        def predict_proba(self, X):
            score = np.resize(np.array([0.1, 0.7, 0.9], dtype=np.float32), len(X))
            return np.column_stack([1 - score, score])

    assert ask(Scores()).to_dict() == expected
    tied = ask(Single(), threshold=0.7, metrics="selection_rate")  # 0.7 in single precision
    assert tied.metric("selection_rate").mean == pytest.approx(2 / 3)


NAMED = LogisticRegression().fit(TRAIN[NUMBERS], np.array(["no", "yes"])[LABELS])
THREE = LogisticRegression().fit(TRAIN[NUMBERS], np.arange(200) % 3)
REGRESSION = LinearRegression().fit(TRAIN[NUMBERS], LABELS)


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"model": REGRESSION}, TypeError, "have predict_proba; got LinearRegression"),
        ({"model": THREE}, ValueError, "two classes; LogisticRegression has 0, 1, 2"),
        ({"model": LogisticRegression()}, NotFittedError, "not fitted"),
        ({"model": NAMED}, ValueError, "must be a class of the model, 'no', 'yes'; got None"),
        ({"unlabeled": 0}, ValueError, "unlabeled must not be a class; got 0"),
        ({"y_pred": [1]}, TypeError, "y_pred follows from model, X and y"),
        ({"y": [0, 2, None] * 100}, ValueError, "y must hold classes, 0, 1, .* got 2"),
        ({"y": [0, 1]}, ValueError, "must have the same length; got 2 and 300 rows"),
        ({"y": Y[::-1]}, ValueError, "X and y must have the same index"),
        ({"features": "agee"}, ValueError, r"no column 'agee' \(did you mean 'age'\?\); it has"),
        ({"X": X[NUMBERS].to_numpy(), "features": "sex"}, ValueError, "it has no column names"),
    ],
)
def test_errors(change, error, message):
    with pytest.raises(error, match=message):
        ask(**{"model": LOGISTIC, **change})
