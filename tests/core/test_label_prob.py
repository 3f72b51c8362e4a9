"""Labels chosen with known, unequal probabilities: what uses them, and what they must be."""

from __future__ import annotations

import numpy as np
import pytest

import lightfair.core as lf
from lightfair.core.metrics.definitions import theta
from lightfair.core.metrics.labels_only import labels_only
from lightfair.core.metrics.prediction_powered import prediction_powered

Y = [1, 0, None, 1, None]
S = [0.9, 0.2, 0.4, 0.7, 0.1]
G = ["a", "b", "a", "b", "b"]
UNEQUAL = "labels were chosen with unequal probabilities"


def table(y=Y, s=S, g=G, clip=0.01, **options):
    return lf.score_table(lf.score_data(y, s, sensitive_features=g, **options), clip=clip)


def by_hand(y, s, g, prob, weight=None):
    """Sums of weight / probability and of its square, row by row."""
    groups = sorted(set(g))
    total = np.zeros((len(groups), 2, 2, 2))
    for i, label in enumerate(y):
        if label in (0, 1):
            mass = (1.0 if weight is None else weight[i]) / prob[i]
            place = groups.index(g[i]), int(s[i] >= 0.5), label
            total[place] += [mass, mass * mass]
    return total


def rows(count=3000, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.random(count)
    group = rng.choice(["x", "y", "z"], count)
    prob = rng.uniform(0.05, 0.9, count)
    label = np.where(rng.random(count) < prob, rng.integers(0, 2, count), -1)
    return label, score, group, prob


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("threshold", [0.5, [0.5, 0.3]])
def test_the_design_is_summed_row_by_row(weighted, threshold):
    label, score, group, prob = rows()
    weight = np.random.default_rng(1).random(len(label)) if weighted else None
    got = table(label, score, group, sample_weight=weight, label_prob=prob, threshold=threshold)
    expected = by_hand(label.tolist(), score, group.tolist(), prob, weight)
    np.testing.assert_allclose(got.design, expected, rtol=1e-12)


@pytest.mark.parametrize("gap", [None, np.nan, ""])
def test_it_may_be_missing_where_there_is_no_label(gap):
    prob = [0.5, 1.0, gap, 0.25, gap]
    assert table(label_prob=prob).design[..., 0].sum() == 2.0 + 1.0 + 4.0
    assert table(label_prob=[0.5, 1.0, 0.0, 0.25, 1]).design[..., 0].sum() == 7.0


@pytest.mark.parametrize(
    "prob, message",
    [
        ([0.5, 0.0, None, 0.5, None], "above 0 for labeled rows; not so at row 1"),
        ([0.5, 1.7, None, 0.5, None], r"\[1e-40, 1\], or 0 .*; got 1.7 at row 1; give the prob"),
        ([0.5, 1e-60, None, 0.5, None], "got 1e-60 at row 1"),
        ([0.5, "half", None, 0.5, None], "got 'half' at row 1"),
        ([0.5, True, None, 0.5, None], r"got True at row 1"),
        ([0.5, 0.5], "the same length; got 5 and 2 rows"),
    ],
)
def test_bad_probabilities(prob, message):
    with pytest.raises(ValueError, match="label_prob.*" + message):
        table(label_prob=prob)


def test_tables_that_do_and_do_not_add():
    labeled, without = table(label_prob=[0.5] * 5), table()
    unlabeled = table([None] * 5)
    total = labeled + unlabeled
    np.testing.assert_array_equal(total.design, labeled.design)
    np.testing.assert_array_equal((unlabeled + labeled).design, labeled.design)
    with pytest.raises(ValueError, match="both have label_prob; pass 1 if all were"):
        labeled + without


def test_labels_only_agrees_with_the_truth_where_the_design_is_undone():
    """Rows near 0.5 are labeled most: plain frequencies are then those of hard rows."""
    rng = np.random.default_rng(4)
    count = 4000
    score = rng.random(count)
    truth = (rng.random(count) < score).astype(int)
    group = np.where(np.arange(count) % 2, "a", "b")
    prob = np.where(np.abs(score - 0.5) < 0.2, 0.3, 0.03)
    everything = table(truth, score, group)
    names = ("accuracy", "tpr", "balanced_accuracy")
    true = {n: theta(n, everything.sums("weight")[..., :2]) for n in names}
    errors = {(n, used): [] for n in names for used in (False, True)}
    covered = []
    for _ in range(40):
        label = np.where(rng.random(count) < prob, truth, -1)
        for used in (False, True):
            sample = table(label, score, group, label_prob=prob if used else None)
            for name in names:
                got = labels_only(name, *sample.labeled_sums(), prob=0.95, rng=rng)
                errors[name, used].append(got.mean - true[name])
                if used:
                    covered.append((got.low <= true[name]) & (true[name] <= got.high))
    for name in names:
        error = np.std(np.mean(errors[name, True], axis=1)) / np.sqrt(40)
        assert abs(np.mean(errors[name, True])) < 4.0 * error + 0.005, name
        assert abs(np.mean(errors[name, False])) > 0.05, name
    assert np.mean(covered) > 0.9


def test_a_group_with_all_rows_labeled_is_counted_plainly():
    rows = [1, 0, 1, None], [0.9, 0.2, 0.7, 0.6], list("aabb")
    got, plain = table(*rows, label_prob=[0.5, 0.1, 0.5, None]), table(*rows)
    np.testing.assert_array_equal(got.labeled_sums()[0][0], plain.labeled_sums()[0][0])
    assert got.labeled_sums()[0][1].tolist() == [[0.0, 0.0], [0.0, 2.0]]


def test_prediction_powered_needs_one_probability_in_a_group():
    label, score, group, prob = rows()
    plain = prediction_powered("tpr", table(label, score, group))
    by_group = np.where(group == "x", 0.2, 0.7)
    for given in (np.full(len(prob), 0.3), by_group):
        equal = prediction_powered("tpr", table(label, score, group, label_prob=given))
        np.testing.assert_array_equal(equal.mean, plain.mean)
        assert equal.reason == (None,) * 3
    by_group[group == "y"] = prob[group == "y"]
    got = prediction_powered("tpr", table(label, score, group, label_prob=by_group))
    assert got.reason == (None, UNEQUAL, None)
    unequal = table(label, score, group, label_prob=prob)
    for target in ("sample", "population"):
        free = prediction_powered("selection_rate", unequal, target=target)
        assert free.reason == (None,) * 3


def test_the_posterior_does_not_need_it():
    label, score, group, prob = rows(600)
    options = {"sensitive_features": group, "chains": 4, "draws": 10, "warmup": 30, "rng": 1}
    plain = lf.assess(label, score, **options)
    result = lf.assess(label, score, label_prob=prob, **options)
    np.testing.assert_array_equal(result.posterior.phi, plain.posterior.phi)
    assert [n.code for n in result.warnings].count("label_prob") == 1
    assert "label_prob" not in [n.code for n in plain.warnings]
    entry = result.to_dict()["metrics"]["accuracy"]["groups"][0]
    assert entry["prediction_powered"] == {"mean": None, "interval": None, "reason": UNEQUAL}
    other = plain.to_dict()["metrics"]["accuracy"]["groups"][0]
    assert entry["labels_only"] != other["labels_only"]
    with pytest.raises(TypeError, match="without rows; leave out label_prob"):
        lf.assess(result.table, label_prob=prob)
