"""Marginals: by hand, by loops over rows, and in the report and its values."""

from __future__ import annotations

import numpy as np
import pytest

import lightfair.core as lf
from lightfair.core.metrics.definitions import theta
from lightfair.core.simulation import simulate

SMALL = {"chains": 2, "draws": 20, "warmup": 10, "rng": 1}


@pytest.fixture(scope="module")
def columns():
    """400 rows of two attributes, 120 labeled; nobody is both B and Z."""
    rows = simulate(400, 120, 5)
    race = np.random.default_rng(6).choice(list("XYZ"), 400)
    race[(rows.group == "B") & (race == "Z")] = "X"
    return rows, {"sex": rows.group, "race": race}


@pytest.fixture(scope="module")
def result(columns):
    rows, features = columns
    metrics = ["tpr", "base_rate", "selection_rate", "auc"]
    return lf.assess(
        rows.y_true, rows.y_score, sensitive_features=features, metrics=metrics, **SMALL
    )


def test_a_marginal_is_of_the_pooled_counts(result):
    at = [i for i, part in enumerate(result.table.parts) if part[0] == "B"]
    assert len(at) == 2
    by_hand = theta("tpr", result.counts[:, :, at].sum(axis=2))
    np.testing.assert_array_equal(result.marginal("tpr", "sex", "B").draws, by_hand)
    others = [i for i in range(len(result.groups)) if i not in at]
    other = theta("tpr", result.counts[:, :, others].sum(axis=2))
    delta = result.marginal_difference("tpr", "sex", "B", "A").draws
    np.testing.assert_allclose(delta, by_hand - other, atol=1e-15)


def test_a_level_of_one_group_is_that_group(result):
    for name in ("tpr", "base_rate", "auc"):
        one, two = result.marginal(name, "race", "Z"), result.metric(name, "A, Z")
        np.testing.assert_allclose(one.draws, two.draws, rtol=1e-12)


def test_with_all_labels_a_marginal_is_the_metric_of_the_rows(columns):
    rows, features = columns
    full = lf.assess(
        rows.y_all,
        rows.y_score,
        sensitive_features=features,
        metrics=["tpr", "fpr", "auc"],
        **SMALL,
    )
    for attribute, values in features.items():
        alone = lf.assess(
            rows.y_all,
            rows.y_score,
            sensitive_features=values,
            metrics=["tpr", "fpr", "auc"],
            **SMALL,
        )
        for level in np.unique(values):
            for name in ("tpr", "fpr", "auc"):
                ours, theirs = full.marginal(name, attribute, level), alone.metric(name, level)
                assert ours.exact
                assert ours.mean == pytest.approx(theirs.mean, rel=1e-12)
                mine = values == level
                if name == "tpr":
                    y, s = rows.y_all[mine], rows.y_score[mine]
                    assert ours.mean == pytest.approx(((s >= 0.5) & (y == 1)).sum() / y.sum())


def test_selection_rates_are_known(result, columns):
    rows, features = columns
    estimate = result.marginal("selection_rate", "race", "Y")
    assert estimate.exact
    assert estimate.mean == pytest.approx((rows.y_score[features["race"] == "Y"] >= 0.5).mean())
    assert result.marginal_difference("selection_rate", "race", "Y").exact


def test_weights_count_in_a_marginal(columns):
    rows, features = columns
    weight = np.where(features["race"] == "X", 3.0, 1.0)
    found = lf.assess(
        rows.y_all,
        rows.y_score,
        sensitive_features=features,
        sample_weight=weight,
        metrics="tpr",
        **SMALL,
    ).marginal("tpr", "sex", "A")
    mine = (features["sex"] == "A") & (rows.y_all == 1)
    by_hand = np.average(rows.y_score[mine] >= 0.5, weights=weight[mine])
    assert found.mean == pytest.approx(by_hand)


@pytest.mark.parametrize("target", ["expected", "population"])
def test_other_targets(columns, target):
    rows, features = columns
    found = lf.assess(
        rows.y_true,
        rows.y_score,
        sensitive_features=features,
        target=target,
        metrics=["tpr", "selection_rate", "auc"],
        **SMALL,
    )
    assert not found.marginal("tpr", "sex", "A").exact
    assert found.marginal("selection_rate", "sex", "A").exact == (target == "expected")
    for name in ("tpr", "auc"):
        groups = [found.metric(name, g).mean for g in found.groups if g.startswith("A")]
        assert min(groups) < found.marginal(name, "sex", "A").mean < max(groups) or name == "auc"


def test_values_have_levels_and_differences(result):
    values = result.to_dict()
    assert values["data"]["empty_groups"] == ["B, Z"]
    sex, race = values["metrics"]["tpr"]["marginals"]
    assert (sex["attribute"], race["attribute"]) == ("sex", "race")
    assert [level["name"] for level in race["levels"]] == ["X", "Y", "Z"]
    groups = values["data"]["groups"]
    for margin in (sex, race):
        for level in margin["levels"]:
            mine = [g for g in groups if g["parts"][margin["attribute"]] == level["name"]]
            for key in ("rows", "labeled", "positives"):
                assert level[key] == sum(g[key] for g in mine)
            estimate = result.marginal("tpr", margin["attribute"], level["name"])
            assert level["mean"] == estimate.mean
            assert level["interval"] == list(estimate.interval(0.95))
    largest = max(race["levels"], key=lambda level: level["rows"])["name"]
    assert {entry["reference"] for entry in race["differences"]} == {largest}
    for entry in race["differences"]:
        delta = result.marginal_difference("tpr", "race", entry["level"])
        assert (entry["mean"], entry["prob_positive"]) == (delta.mean, delta.prob_greater(0.0))
        assert entry["prob_within"] == delta.prob_within(0.05)


def test_text_has_a_line_for_each_level(result):
    text = str(result)
    part = text[text.index("base_rate") : text.index("selection_rate")]
    lines = [line.split()[:2] for line in part[part.index("  all of") :].splitlines()[1:6]]
    assert lines == [["sex", "A"], ["sex", "B"], ["race", "X"], ["race", "Y"], ["race", "Z"]]
    assert part.count("reference") == 2
    assert "groups without rows, not assessed: B, Z" in text


def test_an_undefined_marginal_says_why():
    score = [0.1, 0.2, 0.8, 0.9] * 3
    label = [0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 1]
    columns = {"one": list("aaaabbbbbbbb"), "two": list("xxxxxxxxyyyy")}
    found = lf.assess(label, score, sensitive_features=columns, metrics="tpr", **SMALL)
    estimate = found.marginal("tpr", "one", "a")
    assert estimate.reason == "there are no positive labels"
    (one, _) = found.to_dict()["metrics"]["tpr"]["marginals"]
    assert one["levels"][0]["mean"] is None
    assert one["levels"][0]["reason"] == "there are no positive labels"
    assert one["differences"][0]["interval"] is None
    assert "\n  [1] there are no positive labels\n" in str(found)


def test_one_attribute_has_none():
    rows = simulate(200, 60, 1)
    found = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, **SMALL)
    assert found.to_dict()["metrics"]["tpr"]["marginals"] == []
    assert "all of" not in str(found)
    same = found.marginal("tpr", "group", "A").draws
    np.testing.assert_array_equal(same, found.draws("tpr")[..., 0])


@pytest.mark.parametrize(
    "asked, message",
    [
        (("fnr", "sex", "A"), "metric 'fnr' was not assessed"),
        (("tpr", "age", "A"), "no attribute 'age'; there are sex, race"),
        (("tpr", "sex", "C"), "no level 'C' of sex; there are A, B"),
    ],
)
def test_what_is_not_there_is_an_error(result, asked, message):
    with pytest.raises(ValueError, match=message):
        result.marginal(*asked)


def test_levels_are_taken_as_they_are_in_the_data():
    rows = simulate(200, 60, 1)
    age = np.where(np.arange(200) % 2, 30, 40)
    found = lf.assess(
        rows.y_true, rows.y_score, sensitive_features={"sex": rows.group, "age": age}, **SMALL
    )
    assert found.marginal("tpr", "age", 30.0).mean == found.marginal("tpr", "age", "30").mean


def test_several_thresholds_have_marginals_of_the_first(columns):
    rows, features = columns
    found = lf.assess(
        rows.y_all,
        rows.y_score,
        sensitive_features=features,
        metrics="tpr",
        threshold=[0.5, 0.3],
        **SMALL,
    )
    assert set(found.margins["tpr"]) == {"sex", "race"}
    mine = (features["sex"] == "A") & (rows.y_all == 1)
    assert found.marginal("tpr", "sex", "A").mean == pytest.approx(
        (rows.y_score[mine] >= 0.5).mean()
    )
