"""Estimators: what a fitted model says of rows, its decisions, and labels with gaps."""

from __future__ import annotations

import numpy as np
import pytest
from results import QUICKEST as QUICK
from results import codes

import lightfair as lf

pytest.importorskip("sklearn")
pandas = pytest.importorskip("pandas")

from sklearn.calibration import CalibratedClassifierCV  # noqa: E402
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.linear_model import LinearRegression, LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402
from sklearn.svm import LinearSVC  # noqa: E402

NUMBERS = ["income", "age"]


def frame(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    income = rng.normal(np.where(sex == "m", 0.5, 0.0), 1.0)
    age = rng.normal(size=rows)
    return pandas.DataFrame(
        {"income": income, "age": age, "sex": sex, "job": np.resize([*"xy"], rows)}
    )


def truth(X, seed=1):
    odds = 1.2 * X["income"] - 0.4 * X["age"]
    return (np.random.default_rng(seed).random(len(X)) < 1 / (1 + np.exp(-odds))).astype(int)


@pytest.fixture(scope="module")
def train():
    X = frame(200, seed=5)
    return X, truth(X, seed=6)


@pytest.fixture(scope="module")
def X():
    return frame()


@pytest.fixture(scope="module")
def y(X):
    """60 labels; the others are unknown."""
    return truth(X).astype(float).where(np.arange(len(X)) % 5 == 0)


@pytest.fixture(scope="module")
def pipeline(train):
    """Fitted on all columns, the sensitive one too; it uses those that it wants."""
    X, y = train
    columns = ColumnTransformer([("n", StandardScaler(), NUMBERS), ("c", OneHotEncoder(), ["job"])])
    return make_pipeline(columns, LogisticRegression()).fit(X, y)


@pytest.fixture(scope="module")
def logistic(train):
    X, y = train
    return LogisticRegression().fit(X[NUMBERS], y)


def same(one, other):
    one, other = one.to_dict(), other.to_dict()
    return one == other


def ask(model, X, y, features="sex", **options):
    return lf.assess_estimator(model, X, y, sensitive_features=features, **{**QUICK, **options})


def test_it_is_assess_with_the_scores_of_the_model(pipeline, X, y):
    score = pipeline.predict_proba(X)[:, 1]
    expected = lf.assess(y, score, sensitive_features={"sex": X["sex"]}, **QUICK)
    assert same(ask(pipeline, X, y), expected)
    assert same(ask(pipeline, X, y, X["sex"]), expected)
    assert expected.table.threshold == 0.5 and expected.table.labeled == 60
    kept = {"metrics": "tpr", "reference": "f", "threshold": [0.4, 0.6]}
    there = ask(pipeline, X, y, **kept)
    assert there.settings.thresholds == (0.4, 0.6) and there.settings.reference == "f"


def test_several_columns_are_crossed(pipeline, X, y):
    result = ask(pipeline, X, y, ["sex", "job"])
    assert result.table.attributes == ("sex", "job") and len(result.groups) == 4
    assert ask(pipeline, X, y, X[["sex", "job"]]).groups == result.groups


def test_sensitive_columns_that_the_model_does_not_know_are_kept_from_it(logistic, X, y):
    held = X[[*NUMBERS, "sex"]]
    assert same(ask(logistic, held, y), ask(logistic, X[NUMBERS], y, {"sex": X["sex"]}))
    with pytest.raises(ValueError, match="feature names"):  # scikit-learn's own words
        ask(logistic, X, y)  # job is neither a feature nor sensitive


def test_an_array_and_a_list_of_levels(logistic, train, X, y):
    plain = LogisticRegression().fit(train[0][NUMBERS].to_numpy(), train[1])
    expected = ask(logistic, X[NUMBERS], y, X["sex"].to_numpy())
    assert same(ask(plain, X[NUMBERS].to_numpy(), y.to_numpy(), list(X["sex"])), expected)
    assert same(ask(logistic, X[NUMBERS], y, list(X["sex"])), expected)


def test_polars_columns_by_name(train, X, y):
    polars = pytest.importorskip("polars")
    model = LogisticRegression().fit(train[0][NUMBERS], train[1])
    rows = polars.DataFrame({name: X[name].tolist() for name in [*NUMBERS, "sex"]})
    labels = [None if np.isnan(value) else int(value) for value in y]
    assert same(ask(model, rows, labels), ask(model, X[[*NUMBERS, "sex"]], y))


@pytest.mark.parametrize(
    "classes, positive_label",
    [((0, 1), None), ((False, True), None), ((-1, 1), None), (("no", "yes"), "yes"), ((2, 1), 1)],
)
def test_classes_are_those_of_the_model(train, X, y, classes, positive_label):
    """The same labels by other names: the same numbers, whichever class comes first."""
    named = np.array(classes)[train[1]]
    model = LogisticRegression().fit(train[0][NUMBERS], named)
    gaps = [None if np.isnan(value) else classes[int(value)] for value in y]
    result = ask(model, X[NUMBERS], gaps, X["sex"], positive_label=positive_label)
    usual = ask(LogisticRegression().fit(train[0][NUMBERS], train[1]), X[NUMBERS], y, X["sex"])
    assert result.table.labeled == 60
    for name in ("tpr", "accuracy"):
        assert result.metric(name, "f").mean == pytest.approx(
            usual.metric(name, "f").mean, abs=1e-6
        )


def test_labels_of_one_class_and_other_words_for_unlabeled(train, X, y):
    model = LogisticRegression().fit(train[0][NUMBERS], np.array(["no", "yes"])[train[1]])
    one = np.where(y == 0, "no", "open")
    result = ask(model, X[NUMBERS], one, X["sex"], positive_label="yes", unlabeled=["open"])
    assert result.table.labeled == (y == 0).sum() and "one_class" in codes(result)
    minus = np.where(y.isna(), -1, y).astype(int)
    plain = LogisticRegression().fit(train[0][NUMBERS], train[1])
    assert ask(plain, X[NUMBERS], minus, X["sex"]).table.labeled == 60


class Decided:
    """A classifier with decisions of its own, as one whose threshold was tuned."""

    def __init__(self, model, cut):
        self.model, self.cut, self.classes_ = model, cut, model.classes_

    def predict_proba(self, X):
        return self.model.predict_proba(X)

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] >= self.cut).astype(int)]


def test_the_decisions_are_those_of_the_model(logistic, X, y):
    rows = X[NUMBERS]
    score = logistic.predict_proba(rows)[:, 1]
    own = ask(Decided(logistic, 0.3), rows, y, X["sex"])
    cut = lf.assess(y, score, sensitive_features=X["sex"], threshold=0.3, **QUICK)
    assert own.metric("selection_rate", "f").mean == cut.metric("selection_rate", "f").mean
    assert own.table.threshold is None
    said = next(note.message for note in own.warnings if note.code == "own_decisions")
    apart = ((score >= 0.3) != (score >= 0.5)).sum()
    assert said == (
        f"the model decides otherwise than from its scores at 0.5 in {apart} rows; its own "
        "decisions are assessed; pass threshold=0.5 for those of the scores"
    )
    usual = ask(Decided(logistic, 0.3), rows, y, X["sex"], threshold=0.5)
    assert "own_decisions" not in codes(usual)
    assert same(usual, ask(logistic, rows, y, X["sex"]))


def test_a_tie_is_decided_as_the_model_decides_it(train, X, y):
    """scikit-learn takes a score of exactly 0.5 for the negative class."""
    forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(train[0][NUMBERS], train[1])
    score = np.round(2 * forest.predict_proba(X[NUMBERS])[:, 1]) / 2

    class Tied(Decided):
        def predict_proba(self, X):
            return np.column_stack([1 - score, score])

        def predict(self, X):
            return (score > 0.5).astype(int)

    result = ask(Tied(forest, 0.5), X[NUMBERS], y, X["sex"])
    ties = int((score == 0.5).sum())
    assert ties > 5
    said = next(note.message for note in result.warnings if note.code == "own_decisions")
    assert f"in {ties} rows, {ties} of which score exactly that" in said
    assert result.metric("selection_rate", "f").mean == np.mean(score[X["sex"] == "f"] > 0.5)


def test_scores_of_single_precision_tie_as_they_do_in_assess(X, y):
    class Single:
        classes_ = [0, 1]

        def predict_proba(self, X):
            score = np.resize(np.array([0.1, 0.7, 0.9], dtype=np.float32), len(X))
            return np.column_stack([1 - score, score])

    result = ask(Single(), X, y, threshold=0.7, metrics="selection_rate")
    assert result.overall("selection_rate").mean == pytest.approx(2 / 3)


def test_a_model_without_decisions_has_those_of_its_scores(logistic, X, y):
    class Scores:
        classes_ = [0, 1]

        def predict_proba(self, X):
            return logistic.predict_proba(X).tolist()

    assert same(ask(Scores(), X[NUMBERS], y, X["sex"]), ask(logistic, X[NUMBERS], y, X["sex"]))


def test_margins_are_calibrated_first(train, X, y):
    machine = LinearSVC(dual=False).fit(train[0][NUMBERS], train[1])
    with pytest.raises(TypeError, match=r"LinearSVC has decision_function and no predict_proba"):
        ask(machine, X[NUMBERS], y, X["sex"])
    way_out = CalibratedClassifierCV(LinearSVC(dual=False), cv=2).fit(train[0][NUMBERS], train[1])
    assert ask(way_out, X[NUMBERS], y, X["sex"]).table.rows == 300


def test_what_is_no_binary_classifier_is_refused(train, X, y):
    rows, labels = train[0][NUMBERS], train[1]
    regression = LinearRegression().fit(rows, labels)
    with pytest.raises(TypeError, match="must be a classifier with predict_proba; LinearRegress"):
        ask(regression, X[NUMBERS], y, X["sex"])
    three = LogisticRegression().fit(rows, np.arange(200) % 3)
    with pytest.raises(ValueError, match=r"must have two classes; LogisticRegression has 3: 0, 1"):
        ask(three, X[NUMBERS], y, X["sex"])
    outputs = RandomForestClassifier(2).fit(rows, np.column_stack([labels, 1 - labels]))
    with pytest.raises(ValueError, match="must have one output; RandomForestClassifier has 2"):
        ask(outputs, X[NUMBERS], y, X["sex"])


def test_what_the_model_raises_is_passed_on(X, y):
    with pytest.raises(NotFittedError):
        ask(LogisticRegression(), X[NUMBERS], y, X["sex"])
    with pytest.raises(NotFittedError):
        ask(make_pipeline(StandardScaler(), LogisticRegression()), X[NUMBERS], y, X["sex"])


@pytest.mark.parametrize(
    "change, error, said",
    [
        ({"features": "gender"}, ValueError, r"names 'gender', which is no column of X; it has"),
        ({"features": "sexe"}, ValueError, r"no column of X \(did you mean 'sex'\?\)"),
        ({"features": ["sex", "joob"]}, ValueError, "names 'joob', which is no column"),
        ({"positive_label": "yes"}, ValueError, "must be a class of the model; got 'yes'"),
        ({"unlabeled": 0}, ValueError, "unlabeled must be no class of the model; got 0"),
        ({"y_pred": [1]}, TypeError, "y_pred is what the model and y say"),
        ({"y": [0, 1, 2] * 100}, ValueError, "y must hold classes of the model, 0 and 1; got 2 at"),
        ({"y": [0, 1]}, ValueError, "X and y must have the same length; got 300 and 2 rows"),
        ({"metrics": "tprr"}, ValueError, "tprr"),
    ],
)
def test_errors_say_what_is_wrong(pipeline, X, y, change, error, said):
    change = dict(change)
    labels, features = change.pop("y", y), change.pop("features", "sex")
    with pytest.raises(error, match=said):
        ask(pipeline, X, labels, features, **change)


def test_a_name_needs_columns_with_names(logistic, X, y):
    said = "names the column 'sex', but X is of type ndarray and has no names"
    with pytest.raises(ValueError, match=said):
        ask(logistic, X[NUMBERS].to_numpy(), y)


def test_rows_in_another_order_are_refused(pipeline, X, y):
    with pytest.raises(ValueError, match="X and y must have the same index"):
        ask(pipeline, X, y.sample(frac=1.0, random_state=0))
    with pytest.raises(ValueError, match="X and sensitive_features must have the same index"):
        ask(pipeline, X, y, X["sex"][::-1])


def test_named_classes_need_a_positive_one(train, X, y):
    model = LogisticRegression().fit(train[0][NUMBERS], np.array(["no", "yes"])[train[1]])
    with pytest.raises(
        ValueError, match="must say which class is positive; the model has 'no', 'y"
    ):
        ask(model, X[NUMBERS], y, X["sex"])
