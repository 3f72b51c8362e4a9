"""Pooled metrics of levels and of all rows: by hand, and by loops over rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from asking import ask_quickly, assess_rows
from scipy import stats

import lightfair.core as lf
from lightfair.core.metrics.definitions import theta

METRICS = ["tpr", "base_rate", "selection_rate", "auc"]
SMALL = {"chains": 2, "draws": 20, "warmup": 10, "rng": 1}


@pytest.fixture(scope="module")
def rows():
    return lf.simulate(400, 120, 5)


@pytest.fixture(scope="module")
def features(rows):
    """Two attributes; no row is both B and Z."""
    race = np.random.default_rng(6).choice(list("XYZ"), 400)
    race[(rows.group == "B") & (race == "Z")] = "X"
    return {"sex": rows.group, "race": race}


@pytest.fixture(scope="module")
def result(rows, features):
    return assess_rows(rows, group=features, metrics=METRICS, **SMALL)


def test_a_marginal_is_of_the_pooled_counts(result):
    at = [i for i, part in enumerate(result.table.parts) if part[0] == "B"]
    others = [i for i in range(len(result.groups)) if i not in at]
    assert len(at) == 2
    one, two = (theta("tpr", result.counts[:, :, part].sum(axis=2)) for part in (at, others))
    np.testing.assert_array_equal(result.marginal("tpr", "sex", "B").draws, one)
    delta = result.marginal_difference("tpr", "sex", "B").draws
    np.testing.assert_allclose(delta, one - two, atol=1e-15)


def test_a_level_of_one_group_is_that_group(result, rows):
    for name in ("tpr", "base_rate", "auc"):
        one, two = result.marginal(name, "race", "Z"), result.metric(name, "A, Z")
        np.testing.assert_allclose(one.draws, two.draws, rtol=1e-12)
    alone = ask_quickly(rows, group=["all"] * 400, metrics=["tpr", "auc", "average_score"])
    for name in alone.settings.metrics:
        draws = alone.draws(name)[..., 0]
        np.testing.assert_allclose(alone.metric(name).draws, draws, rtol=1e-9)


@pytest.mark.parametrize("count, levels", [(200, None), (12_000, None), (400, 20)])
def test_with_all_labels_it_is_the_metric_of_the_rows(count, levels):
    """Of distinct scores, of cells and of scores shared by groups, as in a table without groups."""
    limit = 1e-12 if count < 1000 else 1e-7
    rows = lf.simulate(count, count, 5)
    score = rows.y_score if levels is None else np.rint(rows.y_score * levels + 0.5) / (levels + 1)
    group = {"sex": rows.group, "half": np.arange(count) % 2}
    metrics = ["tpr", "fpr", "auc", "brier"]
    full = assess_rows(rows, y_score=score, group=group, metrics=metrics, **SMALL)
    alone = assess_rows(rows, y_score=score, metrics=metrics, **SMALL)
    every = assess_rows(rows, y_score=score, group=["all"] * count, metrics=metrics, **SMALL)
    for name in metrics:
        overall = full.metric(name)
        assert overall.exact == (count < 1000 or name in ("tpr", "fpr"))
        assert overall.mean == pytest.approx(every.metric(name, "all").mean, rel=limit)
        for level in "AB":
            one = full.marginal(name, "sex", level)
            assert one.exact == overall.exact
            assert one.mean == pytest.approx(alone.metric(name, level).mean, rel=limit)
    y, at = rows.y_all, rows.group == "A"
    by_hand = ((score >= 0.5) & (y == 1))[at].sum() / y[at].sum()
    assert full.marginal("tpr", "sex", "A").mean == pytest.approx(by_hand)
    up, down = (score[y == label] for label in (1, 0))
    by_hand = (up[:, None] > down).mean() + 0.5 * (up[:, None] == down).mean()
    assert full.metric("auc").mean == pytest.approx(by_hand, rel=1e-12 if count < 1000 else 2e-4)


def test_overall_is_the_metric_of_the_pooled_counts(result, rows, features):
    pooled = theta("tpr", result.counts.sum(axis=2))
    np.testing.assert_array_equal(result.metric("tpr").draws, pooled)
    delta = result.against_overall("tpr", result.groups[1]).draws
    np.testing.assert_allclose(delta, result.draws("tpr")[..., 1] - pooled, atol=1e-12)
    overall, decided = result.metric("selection_rate"), rows.y_score >= 0.5
    assert overall.exact and overall.mean == pytest.approx(decided.mean(), rel=1e-12)
    one = result.marginal("selection_rate", "race", "Y")
    assert one.exact and one.mean == pytest.approx(decided[features["race"] == "Y"].mean())
    assert result.marginal_difference("selection_rate", "race", "Y").exact
    assert result.against_overall("selection_rate", result.groups[1]).sd == 0.0


def test_weights_count_in_a_marginal(rows, features):
    weight = np.where(features["race"] == "X", 3.0, 1.0)
    options = {"y_true": rows.y_all, "group": features, "sample_weight": weight, "metrics": "tpr"}
    found = assess_rows(rows, **options, **SMALL).marginal("tpr", "sex", "A")
    at = (features["sex"] == "A") & (rows.y_all == 1)
    assert found.mean == pytest.approx(np.average(rows.y_score[at] >= 0.5, weights=weight[at]))


@pytest.mark.parametrize("target", ["expected", "population"])
def test_other_targets(rows, features, target):
    found = assess_rows(rows, group=features, target=target, metrics=METRICS, **SMALL)
    assert not found.marginal("tpr", "sex", "A").exact
    assert found.marginal("selection_rate", "sex", "A").exact == (target == "expected")
    groups = [found.metric("tpr", g).mean for g in found.groups if g.startswith("A")]
    assert min(groups) < found.marginal("tpr", "sex", "A").mean < max(groups)
    low, high = found.metric("auc").interval(0.99)
    assert 0.5 < low < high < 1.0


def test_pooled_groups_of_a_population_have_the_pseudo_rows_of_one():
    """Twenty groups of ten rows, 19 of 20 right: with all of theirs the mean would be 0.87."""
    right = np.tile([1] * 9 + [0] + [1] * 10, 10)
    score = np.where(np.arange(200) % 2 == right, 0.8, 0.2)
    result = lf.assess(
        *(np.arange(200) % 2 == 0, score),
        sensitive_features=np.repeat([f"g{i:02}" for i in range(20)], 10),
        metrics=["accuracy", "auc"],
        target="population",
        **(SMALL | {"draws": 400}),
    )
    overall = result.metric("accuracy")
    wrong = round(200 * (1.0 - np.mean((score >= 0.5) == (np.arange(200) % 2 == 0))))
    beta = stats.beta(200 - wrong + 1.0, wrong + 1.0)
    assert stats.kstest(overall.draws.ravel(), beta.cdf).pvalue > 1e-4
    one = result.marginal("auc", "group", "g03")
    np.testing.assert_allclose(one.draws, result.draws("auc")[..., 3], rtol=1e-12)


def test_values_have_levels_and_differences(result):
    values = result.to_dict()
    assert values["data"]["empty_groups"] == ["B, Z"]
    assert "B, Z" not in json.dumps(values["metrics"])
    assert result.check("tpr", within=0.99).empty_groups == ("B, Z",)
    sex, race = values["metrics"]["tpr"]["marginals"]
    assert (sex["attribute"], race["attribute"]) == ("sex", "race")
    assert [level["name"] for level in race["levels"]] == ["X", "Y", "Z"]
    for margin in (sex, race):
        for level in margin["levels"]:
            parts = [(g["parts"], g["positives"]) for g in values["data"]["groups"]]
            mine = [n for part, n in parts if part[margin["attribute"]] == level["name"]]
            assert level["positives"] == sum(mine)
            estimate = result.marginal("tpr", margin["attribute"], level["name"])
            assert level["mean"] == estimate.mean
            assert level["interval"] == list(estimate.interval(0.95))
    largest = max(race["levels"], key=lambda level: level["rows"])["name"]
    assert {entry["reference"] for entry in race["differences"]} == {largest}
    for entry in race["differences"]:
        delta = result.marginal_difference("tpr", "race", entry["level"])
        assert (entry["mean"], entry["prob_positive"]) == (delta.mean, delta.prob_greater(0.0))
        assert entry["prob_within"] == delta.prob_within(0.05)


def test_an_undefined_marginal_has_a_reason():
    score = [0.1, 0.2, 0.8, 0.9] * 3
    label = [0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 1]
    columns = {"one": list("aaaabbbbbbbb"), "two": list("xxxxxxxxyyyy")}
    found = lf.assess(label, score, sensitive_features=columns, metrics="tpr", **SMALL)
    assert found.marginal("tpr", "one", "a").reason == "there are no positive labels"
    (one, _) = found.to_dict()["metrics"]["tpr"]["marginals"]
    assert one["levels"][0]["mean"] is None
    assert one["levels"][0]["reason"] == "there are no positive labels"
    assert one["differences"][0]["interval"] is None


def test_one_attribute_has_no_marginals(rows):
    found = ask_quickly(rows)
    assert found.to_dict()["metrics"]["tpr"]["marginals"] == []
    same = found.marginal("tpr", "group", "A").draws
    np.testing.assert_array_equal(same, found.draws("tpr")[..., 0])


def test_unknown_names(result):
    for names, message in (
        ("fnr sex A", "no assessed metric 'fnr'"),
        ("tpr age A", "no attribute 'age'; there are sex, race"),
        ("tpr sex C", "no level of sex 'C'; there are A, B"),
    ):
        with pytest.raises(ValueError, match=message):
            result.marginal(*names.split())


def test_levels_are_given_as_in_the_data(rows):
    """And with several thresholds a marginal is of the first."""
    age = np.where(np.arange(400) % 2, 30, 40)
    options = {"y_true": rows.y_all, "metrics": "tpr", "threshold": [0.5, 0.3], **SMALL}
    found = assess_rows(rows, group={"sex": rows.group, "age": age}, **options)
    assert found.marginal("tpr", "age", 30.0).mean == found.marginal("tpr", "age", "30").mean
    at = (age == 30) & (rows.y_all == 1)
    expected = (rows.y_score[at] >= 0.5).mean()
    assert found.marginal("tpr", "age", 30).mean == pytest.approx(expected)
