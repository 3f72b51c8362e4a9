"""Several classes: against assessments of each, and simultaneous intervals over all of them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from results import QUICKEST, flat

import lightfair as lf

CLASSES = ["cat", "dog", "eel"]
MISSING = [None, np.nan, ""]


def rows_of(seed=0, count=600, labeled=200):
    """Class, label, scores and group of rows; scores are a power away from calibrated."""
    rng = np.random.default_rng(seed)
    group = np.where(rng.random(count) < 0.6, "f", "m")
    score = rng.gamma(np.where(group == "f", [[2.0], [1.5], [1.0]], 1.5).T)
    score /= score.sum(axis=1, keepdims=True)
    power = score ** np.where(group == "f", 0.95, 0.85)[:, None]
    edges = (power / power.sum(axis=1, keepdims=True)).cumsum(axis=1)
    y = np.array(CLASSES, object)[(rng.random(count)[:, None] > edges[:, :2]).sum(axis=1)]
    known = rng.permutation(count) < labeled
    return y, np.where(known, y, np.resize(MISSING, count)), score, group


def ask(y, score, group, classes=CLASSES, **options):
    options = {"sensitive_features": group, "metrics": "selection_rate", **QUICKEST, **options}
    return lf.assess_classes(y, score, classes, **options)


@pytest.fixture(scope="module")
def given():
    """Label, scores and group of rows."""
    return rows_of()[1:]


DRAWN = {"metrics": ["tpr", "fpr"], "chains": 4, "draws": 300, "warmup": 60, "trust": False}


@pytest.fixture(scope="module")
def found(given):
    return ask(*given, **DRAWN, checks="tpr<=0.9", simultaneous=True)


def same(found, other):
    """Whether rows were read alike, in one line: nothing is drawn for selection rates."""
    tables = [
        [one.table.to_dict() for one in result.by_class.values()] for result in (found, other)
    ]
    return found.to_dict() == other.to_dict() and tables[0] == tables[1]


def test_it_is_an_assessment_of_each_class_against_the_rest(given, found):
    label, score, group = given
    taken = np.array([max(range(3), key=lambda k: (row[k], -k)) for row in score])
    for at, (name, one) in enumerate(found.by_class.items()):
        y = [float(value == name) if value in CLASSES else None for value in label]
        options = {**QUICKEST, **DRAWN, "rng": 1 + at, "y_pred": taken == at, "checks": "tpr<=0.9"}
        if name != "cat":  # as fast
            options["metrics"], options["checks"] = "selection_rate", ()
        alone = lf.assess(y, score[:, at], sensitive_features=group, **options)
        assert one.table.to_dict() == alone.table.to_dict() and type(one) is lf.Assessment
        assert one.settings.seed == alone.settings.seed
        if name == "cat":
            assert one.to_dict() == alone.to_dict()


def test_containers(given):
    label, score, group = given
    pandas, polars = map(pytest.importorskip, ("pandas", "polars"))
    index = np.random.default_rng(1).permutation(len(label))
    frame = pandas.DataFrame({"y": label, "group": group}, index).astype("category")
    texts = [value if isinstance(value, str) else None for value in label]
    plain = ask(*given)
    rows = frame["y"], pandas.DataFrame(score, index, CLASSES), frame[["group"]]
    assert same(plain, ask(*rows))
    rows = polars.Series(texts), polars.DataFrame(score, CLASSES), polars.Series(group)
    assert same(plain, ask(*rows))
    assert same(plain, ask(label, dict(zip(CLASSES, score.T, strict=True)), group))
    assert same(plain, ask(label.tolist(), score.tolist(), group.tolist(), np.array(CLASSES)))


def test_decisions_that_are_given_equal_scores_and_other_labels(given):
    label, score, group = given
    plain = ask(*given)
    assert same(plain, ask(*given, y_pred=np.array(CLASSES)[score.argmax(axis=1)]))
    assert not same(plain, ask(*given, y_pred=np.full(len(label), "cat")))
    cows = [value if value in CLASSES else "cow" for value in label]
    assert same(plain, ask(cows, score, group, unlabeled=["cow", "sow"]))
    numbers = {"cat": 0, "dog": -1, "eel": 2}
    for absent, options in ((9, {"unlabeled": 9}), (None, {})):  # -1 is a class
        coded = [numbers.get(value, absent) for value in label]
        again = ask(coded, score, group, [0, -1, 2], **options)
        assert [*again.by_class] == ["0", "-1", "2"]
        assert [one.to_dict() for one in again.by_class.values()] == [
            one.to_dict() for one in plain.by_class.values()
        ]
    ties = ask([*"abcd"] * 2, np.full((8, 4), 0.25), [*"xxxxyyyy"], [*"abcd"])
    rates = [one.metric("selection_rate").mean for one in ties.by_class.values()]
    assert rates == [1.0, 0.0, 0.0, 0.0]


def test_draws_of_independent_classes_lie_in_all_intervals_at_once(given, found):
    rng, inside, plain = np.random.default_rng(0), True, True
    for name, joint in found.simultaneous(0.9).items():
        for metric in ("tpr", "fpr"):
            delta = found.by_class[name].difference(metric, "m", "f")
            low, high = joint.interval(metric, "m")
            assert low < delta.interval(0.9)[0] and delta.interval(0.9)[1] < high
        by = [found.by_class[name].difference(m, "m", "f") for m in ("tpr", "fpr")]
        draws = np.stack([one.draws.ravel() for one in by])
        draws = draws[:, rng.choice(draws.shape[1], 20_000)]  # classes are paired at random
        low, high = np.array([joint.interval(metric, "m") for metric in ("tpr", "fpr")]).T
        inside &= ((low[:, None] <= draws) & (draws <= high[:, None])).all(axis=0)
        low, high = np.array([one.interval(0.9) for one in by]).T
        plain &= ((low[:, None] <= draws) & (draws <= high[:, None])).all(axis=0)
    assert abs(inside.mean() - 0.9) < 0.01 and plain.mean() < 0.75  # 5 standard errors
    assert joint.prob == 0.9
    one_group = ask(given[0], given[1], np.full(600, "f"))
    assert one_group.simultaneous() == {} and "all at once," not in str(one_group)


@pytest.mark.slow
def test_intervals_hold_the_truth_at_once():
    """In at least 52 of 60 data sets; plain intervals all hold theirs in fewer."""
    hits = np.zeros(2)
    for seed in range(60):
        y, label, score, group = rows_of(seed, 1500)
        taken = np.array(CLASSES)[score.argmax(axis=1)]
        found = ask(label, score, group, metrics=["tpr", "fpr"], draws=150, warmup=150)
        wide, held = found.simultaneous(), np.array([True, True])
        for name, one in found.by_class.items():
            truth = lf.assess(
                y == name, y_pred=taken == name, sensitive_features=group, metrics=["tpr", "fpr"]
            )
            for metric in ("tpr", "fpr"):
                delta = truth.difference(metric, "m", "f").mean
                ends = wide[name].interval(metric, "m"), one.difference(metric, "m", "f").interval()
                held &= [low <= delta <= high for low, high in ends]
        hits += held
    assert hits[0] >= 52 and hits[1] < hits[0] - 5


def test_the_report_has_all_classes_and_what_it_leaves_open(given, found):
    text = flat(found)
    counts = found.by_class["dog"].table.sums("rows").sum(axis=1)[0].astype(int)
    assert f"dog, f {counts.sum()} {counts[:2].sum()} {counts[1]}" in text
    low, high = found.simultaneous()["dog"].interval("fpr", "m")
    assert re.search(rf"dog, fpr m \S+ \[{low:.3f}, {high:.3f}\]", text)
    wide = [row for row in lf.tidy.rows(found) if row["quantity"] == "simultaneous"]
    ends = [
        (row["low"], row["high"]) for row in wide if (row["class"], row["metric"]) == ("dog", "fpr")
    ]
    assert len(wide) == 6 and ends == [(low, high)]
    assert "need not sum to 1" in text and "cat, dog, eel: tpr<=0.9: " in text
    page = found.to_markdown()
    assert page.startswith("# Fairness by group: 3 classes, each against the rest")
    assert page.count('{"settings"') == 1 and '"classes": ["cat", "dog", "eel"]' in page
    assert page.count("The estimand is") == 1 and "Simultaneous intervals" in page


def test_a_class_without_labels_has_a_warning(given):
    label, score, group = given
    with pytest.warns(lf.FairnessWarning, match="class eel: every labeled row is negative"):
        found = ask(np.where(label == "eel", None, label), score, group)
    messages = [note.message for note in found.warnings if note.code == "one_class"]
    assert len(messages) == 1 and messages[0] in flat(found).replace("eel: ", "class eel: ")


ROWS = {"y_true": [*"abca"], "y_score": np.full((4, 3), 1 / 3), "classes": [*"abc"]}
ROWS["sensitive_features"] = [*"xxyy"]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"classes": [*"ab"]}, "classes must hold at least three values, each once"),
        ({"classes": "abc"}, "classes must be a list, array or column"),
        ({"classes": ["a", "b", "a"]}, "got 'a', 'b', 'a'; assess compares two classes"),
        ({"unlabeled": ["b"]}, "unlabeled must not be a class; got 'b'"),
        ({"y_true": [*"abdd"]}, "y_true must hold classes, 'a', 'b', 'c', or unlabeled=; got 'd'"),
        ({"y_pred": [*"abcd"]}, "y_pred must hold classes, 'a', 'b', 'c'; got 'd'"),
        ({"y_pred": ["a", None, "b", "a"]}, "y_pred has 1 missing value (row 1)"),
        ({"y_score": np.full((4, 2), 0.5)}, "a column for each of 'a', 'b', 'c', in this order"),
        ({"y_score": [0.1, 0.9]}, "'c', in this order; got 2 columns: 0, 1"),
        ({"y_score": [[1, 0, 0]] * 3 + [[0.5, 0.4, 0]]}, "sum to 1 in each row; got 0.9 at row 3"),
        ({"y_score": [[1, 0, 0]] * 3 + [[2, -1, 0]]}, "must lie in [0, 1], such as 0.25; got 2 at"),
        ({"y_score": [[1, 0, 0]] * 3 + [[1, None, 0]]}, "has 1 missing value (row 3)"),
        ({"y_score": [[1, 0, 0]] * 3}, "y_true and y_pred must have the same length"),
        ({"y_score": dict.fromkeys("bac", [1 / 3] * 4)}, "got 3 columns: 'b', 'a', 'c'"),
        ({"rng": "a"}, "rng must be a seed, a numpy Generator or None; got 'a'"),
        ({"rng": True}, "rng must be a seed, a numpy Generator or None; got True"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        lf.assess_classes(**ROWS | change)


@pytest.mark.parametrize("option", ["threshold", "positive_label", "frame", "label_error"])
def test_options_without_meaning(option):
    with pytest.raises(TypeError, match=f"{option}: not with several classes; leave it out"):
        lf.assess_classes(**ROWS, **{option: (0.1, 0.2)})


def test_columns_and_rows_in_another_order():
    pandas = pytest.importorskip("pandas")
    scores = pandas.DataFrame(ROWS["y_score"], columns=[*"bac"])
    message = "'a', 'b', 'c', in this order; got 3 columns: 'b', 'a', 'c'"
    with pytest.raises(ValueError, match=message):
        lf.assess_classes(**ROWS | {"y_score": scores})
    label = pandas.Series(ROWS["y_true"], [3, 2, 1, 0])
    with pytest.raises(ValueError, match="y_true and y_score must have the same index"):
        lf.assess_classes(**ROWS | {"y_true": label, "y_score": scores[[*"abc"]]})
