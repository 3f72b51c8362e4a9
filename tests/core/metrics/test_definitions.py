"""Metrics by hand, and what binds them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lightfair.core.metrics.definitions import (
    COUNT_METRICS,
    DEFAULT_METRICS,
    METRICS,
    OTHER_WORDS,
    SHARES,
    Metric,
    as_metric,
    resolve_metrics,
    successes_failures,
    theta,
)

COUNTS = [[50, 10], [5, 30]]  # tn, fn; fp, tp
BY_HAND = {
    "accuracy": 80 / 95,
    "tpr": 30 / 40,
    "fpr": 5 / 55,
    "tnr": 50 / 55,
    "fnr": 10 / 40,
    "ppv": 30 / 35,
    "npv": 50 / 60,
    "false_discovery_rate": 5 / 35,
    "false_omission_rate": 10 / 60,
    "selection_rate": 35 / 95,
    "base_rate": 40 / 95,
    "f1": 60 / 75,
    "balanced_accuracy": (30 / 40 + 50 / 55) / 2,
    "treatment_equality": 10 / 5,
}
UNDEFINED = {  # counts tn, fn, fp, tp that leave the metric 0 / 0
    "accuracy": (0, 0, 0, 0),
    "tpr": (3, 0, 2, 0),
    "fpr": (0, 3, 0, 2),
    "tnr": (0, 3, 0, 2),
    "fnr": (3, 0, 2, 0),
    "ppv": (3, 2, 0, 0),
    "npv": (0, 0, 3, 2),
    "false_discovery_rate": (3, 2, 0, 0),
    "false_omission_rate": (0, 0, 3, 2),
    "selection_rate": (0, 0, 0, 0),
    "base_rate": (0, 0, 0, 0),
    "f1": (4, 0, 0, 0),
    "balanced_accuracy": (0, 3, 0, 2),
    "treatment_equality": (3, 2, 0, 2),
}


def some_counts():
    return np.random.default_rng(0).gamma(2.0, 3.0, (5, 4, 3, 2, 2))


def test_every_metric_has_a_hand_count():
    assert set(BY_HAND) == set(UNDEFINED) == set(COUNT_METRICS)
    assert set(DEFAULT_METRICS) <= set(METRICS)


@pytest.mark.parametrize("name", COUNT_METRICS)
def test_by_hand(name):
    assert float(theta(name, COUNTS)) == pytest.approx(BY_HAND[name], rel=1e-15)


@pytest.mark.parametrize("name", COUNT_METRICS)
def test_undefined_is_nan(name):
    cells = np.array(UNDEFINED[name], dtype=float).reshape(2, 2)
    assert math.isnan(theta(name, cells))
    both = theta(name, np.stack([cells, COUNTS]))
    assert math.isnan(both[0]) and both[1] == pytest.approx(BY_HAND[name])


@pytest.mark.parametrize("name", COUNT_METRICS)
def test_shape_and_range(name):
    values = theta(name, some_counts())
    assert (values.shape, values.dtype) == ((5, 4, 3), np.float64)
    low, high = COUNT_METRICS[name].bounds
    assert ((values >= low) & (values <= high)).all()


@pytest.mark.parametrize(
    "one, other",
    [
        ("tpr", "fnr"),
        ("fpr", "tnr"),
        ("ppv", "false_discovery_rate"),
        ("npv", "false_omission_rate"),
    ],
)
def test_pairs_add_up_to_one(one, other):
    counts = some_counts()
    np.testing.assert_allclose(theta(one, counts) + theta(other, counts), 1.0, rtol=1e-12)


def test_identities():
    counts = some_counts()
    at = {name: theta(name, counts) for name in COUNT_METRICS}
    harmonic = 2.0 / (1.0 / at["tpr"] + 1.0 / at["ppv"])
    np.testing.assert_allclose(at["f1"], harmonic, rtol=1e-12)
    total = at["base_rate"] * at["tpr"] + (1.0 - at["base_rate"]) * at["tnr"]
    np.testing.assert_allclose(at["accuracy"], total, rtol=1e-12)
    total = at["base_rate"] * at["tpr"] + (1.0 - at["base_rate"]) * at["fpr"]
    np.testing.assert_allclose(at["selection_rate"], total, rtol=1e-12)
    np.testing.assert_allclose(at["balanced_accuracy"], (at["tpr"] + at["tnr"]) / 2, rtol=1e-12)


@pytest.mark.parametrize(
    "one, other",
    [("tpr", "tnr"), ("fpr", "fnr"), ("ppv", "npv"), ("accuracy", "accuracy")],
)
def test_swapping_classes(one, other):
    counts = some_counts()
    np.testing.assert_allclose(
        theta(one, counts[..., ::-1, ::-1]), theta(other, counts), rtol=1e-12
    )


@pytest.mark.parametrize("name", COUNT_METRICS)
def test_a_factor_on_all_counts_is_free(name):
    counts = some_counts()
    np.testing.assert_allclose(theta(name, 3.7 * counts), theta(name, counts), rtol=1e-12)


def test_successes_and_failures_by_hand():
    assert [float(x) for x in successes_failures("accuracy", COUNTS)] == [80, 15]
    assert [float(x) for x in successes_failures("fpr", COUNTS)] == [5, 50]
    assert [float(x) for x in successes_failures("f1", COUNTS)] == [30, 15]


@pytest.mark.parametrize("name", sorted(set(SHARES) - {"f1"}))
def test_successes_over_both_is_the_metric(name):
    success, failure = successes_failures(name, some_counts())
    np.testing.assert_allclose(
        success / (success + failure), theta(name, some_counts()), rtol=1e-12
    )


def names_of(metrics):
    return tuple(metric.name for metric in resolve_metrics(metrics))


def test_metrics_by_name():
    assert names_of("tpr") == ("tpr",)
    assert names_of(["tpr", "fpr", "tpr"]) == ("tpr", "fpr")
    with pytest.raises(ValueError, match="unknown metric 'recall' .*; known: accuracy, tpr, fpr"):
        names_of(["tpr", "recall"])
    with pytest.raises(ValueError, match="unknown metric .*balanced_accuracy"):
        names_of("TPR")
    with pytest.raises(ValueError, match="at least one metric; known: accuracy"):
        names_of([])


def test_lack_says_what_is_missing():
    assert as_metric("tpr").lack == as_metric("fnr").lack == "positive labels"
    assert as_metric("fpr").lack == "negative labels"
    assert as_metric("ppv").lack == "rows predicted positive"
    assert as_metric("balanced_accuracy").lack == "both labels"


def test_what_a_function_masks_is_undefined():
    counts = [[[50.0, 10.0], [5.0, 30.0]], [[50.0, 10.0], [0.0, 0.0]]]
    by_mask = Metric("mine", lambda tp, fp, fn, tn: np.ma.masked_equal(tp, 0.0) / 2)
    np.testing.assert_array_equal(theta(by_mask, counts), [15.0, np.nan])
    whole = Metric("mine", lambda tp, fp, fn, tn: np.ma.masked_equal(tp.astype(int), 0))
    np.testing.assert_array_equal(theta(whole, counts), [30.0, np.nan])


def test_an_array_of_names_names_metrics():
    assert names_of(np.array(["tpr", "fpr", "tpr"])) == ("tpr", "fpr")


def test_metrics_are_suggested_for_other_words():
    assert set(OTHER_WORDS.values()) <= set(METRICS)
    assert not set(OTHER_WORDS) & set(METRICS)
    for word, name in OTHER_WORDS.items():
        with pytest.raises(ValueError, match=rf"unknown metric '{word}' \(did you mean '{name}'"):
            as_metric(word)
