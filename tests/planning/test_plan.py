"""Label planning: tables with labels that are to come, the forecast, what labels will settle."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import lightfair as lf
from lightfair import plan_labels
from lightfair.core.data.nodes import UNLABELED
from lightfair.core.model.regions import regions
from lightfair.planning.forecast import expected_sd, forecast_width, outlook, sds
from lightfair.planning.places import labeled, places
from lightfair.planning.plan import decisive_chance
from lightfair.planning.plan_aim import allotted
from lightfair.planning.refits import _drawn, refitted_widths
from lightfair.planning.settle import labels_to_settle

QUICK = {"rng": 1}


def assessed(rows=3000, labeled=100, weight=None, rng=3, **options):
    data = lf.simulate(rows, labeled, rng=rng)
    return lf.assess(
        data.y_true,
        data.y_score,
        sensitive_features=data.group,
        sample_weight=weight,
        **{**QUICK, **options},
    )


@pytest.fixture(scope="module")
def result():
    return assessed()


@pytest.fixture(scope="module")
def weighted():
    return assessed(weight=np.random.default_rng(0).integers(1, 4, 3000))


# places


@pytest.mark.parametrize("name", ["result", "weighted"])
def test_places_hold_all_unlabeled_rows(name, request):
    table = request.getfixturevalue(name).table
    at = places(table, request.getfixturevalue(name).posterior.regions)
    for column in ("rows", "weight", "weight_sq"):
        sums = np.zeros((2, 2))
        np.add.at(sums, (at.group, at.predicted), getattr(at, column))
        np.testing.assert_allclose(sums, table.sums(column)[..., UNLABELED], rtol=1e-12)


@pytest.mark.parametrize("name", ["result", "weighted"])
def test_labels_move_rows_and_lose_none(name, request):
    result = request.getfixturevalue(name)
    at = places(result.table, result.posterior.regions)
    rng = np.random.default_rng(1)
    chosen = rng.binomial(at.rows.astype(int), 0.3).astype(float)
    positive = rng.binomial(chosen.astype(int), 0.5).astype(float)
    new = labeled(result.table, chosen, positive)
    assert new.rows == result.table.rows
    assert new.labeled == result.table.labeled + chosen.sum()
    for column in ("rows", "weight", "weight_sq"):
        np.testing.assert_allclose(
            new.sums(column).sum(axis=2), result.table.sums(column).sum(axis=2), rtol=1e-12
        )
    gained = new.sums("rows") - result.table.sums("rows")
    assert gained[..., 1].sum() == positive.sum()
    assert new.threshold == result.table.threshold
    assert new.weighted == result.table.weighted


def test_rows_that_get_their_own_labels_make_the_table_of_these_labels():
    score = np.repeat([0.1, 0.3, 0.6, 0.8], 5)
    group = np.tile(["a", "b"], 10)
    label = np.full(20, -1)
    label[:4] = [0, 1, 0, 1]
    before = lf.score_table(lf.score_data(label, score, sensitive_features=group))
    label[10:12] = [1, 0]  # score 0.6, groups a and b
    after = lf.score_table(lf.score_data(label, score, sensitive_features=group))
    at = places(before, regions_of(before))
    chosen = np.where(np.isclose(at.logit, np.log(0.6 / 0.4)), 1.0, 0.0)
    found = labeled(before, chosen, chosen * (at.group == 0))
    for mine, theirs in ((found.points, after.points), (found.cells, after.cells)):
        for left, right in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-12)


def regions_of(table):
    return regions(table)


# forecast


def test_all_rows_labeled_leave_no_width(result):
    ahead = outlook(result, "tpr")
    assert sds(ahead, ahead.bins.rows, np.eye(2)).max() < 1e-10


def test_a_population_stays_unsure():
    result = assessed(rows=600, labeled=60, target="population")
    ahead = outlook(result, "tpr")
    contrasts = np.array([[-1.0, 1.0]])
    steps = [expected_sd(ahead, share * ahead.bins.rows, contrasts)[0] for share in (0, 0.3, 1)]
    assert min(steps) > 0.5 * max(steps)
    data = lf.simulate(600, 600, rng=3)
    data.y_true[:] = data.y_all
    whole = lf.assess(
        data.y_true, data.y_score, sensitive_features=data.group, target="population", **QUICK
    )
    assert steps[2] == pytest.approx(whole.difference("tpr", "B", "A").sd, rel=0.15)


@pytest.mark.parametrize("target", ["sample", "expected", "population"])
def test_forecast_without_more_labels_is_the_posterior(target):
    metrics = ["tpr", "accuracy", "fpr", "ppv", "base_rate", "f1"]
    result = assessed(rows=1000, labeled=200, target=target, metrics=metrics)
    for metric in metrics:
        ahead = outlook(result, metric)
        none = np.zeros(len(ahead.bins.rows))
        found = expected_sd(ahead, none, np.vstack([np.eye(2), [-1.0, 1.0]]))
        want = [result.metric(metric, g).sd for g in "AB"]
        want.append(result.difference(metric, "B", "A").sd)
        np.testing.assert_allclose(found, want, rtol=0.25, err_msg=metric)


def test_more_labels_never_widen_a_forecast(result):
    ahead = outlook(result, "tpr")
    shares = np.linspace(0.0, 1.0, 11)
    found = [expected_sd(ahead, s * ahead.bins.rows, np.array([[-1.0, 1.0]]))[0] for s in shares]
    assert (np.diff(found) < 0.0).all()


def test_forecast_width_begins_at_the_width_there_is():
    now, before = np.array([0.3, np.nan, 0.0]), np.array([0.1, 0.1, 0.0])
    found = forecast_width(now, before, before, 0.95)
    np.testing.assert_allclose(found, now, rtol=1e-12)
    np.testing.assert_array_equal(forecast_width(now, before, 0 * before, 0.95), 0.0 * now)
    small = forecast_width(now, before, 0.01 * before, 0.95)[0]
    assert small == pytest.approx(2 * 1.959964 * 0.001, rel=1e-3)


def test_a_free_metric_has_no_width(result):
    ahead = outlook(result, "selection_rate")
    assert expected_sd(ahead, np.zeros(len(ahead.bins.rows)), np.eye(2)).max() < 1e-10


# what labels settle


def test_the_truth_is_always_decisive():
    deltas = np.random.default_rng(0).normal(0.0, 0.1, (500, 2))
    assert decisive_chance(deltas, np.zeros(2), 0.05, 0.95) == 1.0


def test_labels_to_settle_is_the_first_number_that_is_likely(result):
    number = labels_to_settle(result, "tpr", 0.05, 0.95)
    assert number is not None
    assert 0 < number <= result.table.rows - result.table.labeled
    harder = labels_to_settle(result, "tpr", 0.05, 0.99)
    assert harder is not None
    assert harder >= number


def test_labels_to_settle_knows_what_is_settled(result):
    assert labels_to_settle(result, "tpr", 0.9, 0.95) == 0
    assert labels_to_settle(result, "selection_rate", 0.5, 0.95) == 0


def test_one_group_has_nothing_to_settle():
    data = lf.simulate(300, 50, rng=1)
    alone = lf.assess(data.y_true, data.y_score, sensitive_features=["all"] * 300, **QUICK)
    assert labels_to_settle(alone, "tpr", 0.05, 0.95) is None


# the plan


@pytest.fixture(scope="module")
def plan(result):
    return plan_labels(result, width=0.15, extra=[100, 600], refits=8, rng=2)


def test_a_plan_begins_at_the_intervals_there_are(result, plan):
    low, high = result.difference("tpr", "B", "A").interval(0.95)
    assert plan.extra.tolist() == [0, 100, 600]
    assert plan.of_differences[0].width[0] == pytest.approx(high - low, rel=1e-12)
    assert plan.of_differences[0].mcse[0] == 0.0
    for found in plan.of_groups:
        low, high = result.metric("tpr", found.group).interval(0.95)
        assert found.width[0] == pytest.approx(high - low, rel=1e-12)


def test_refits_of_no_labels_give_the_width_there_is(result):
    """The batch of short chains has the widths of the assessment's own."""
    truths = np.arange(24)
    found = refitted_widths(
        result, "tpr", [0], np.array([[-1.0, 1.0]]), truths, 0.95, np.random.default_rng(1)
    )
    low, high = result.difference("tpr", "B", "A").interval(0.95)
    error = found.std() / np.sqrt(found.size) + 0.03 * (high - low)  # of the short, and the long
    assert abs(found.mean() - (high - low)) < 3.0 * error


def test_refits_agree_with_the_forecast(result, plan):
    alone = plan_labels(result, width=0.15, extra=[100, 600], refits=0)
    for mine, other in zip(plan.of_differences, alone.of_differences, strict=True):
        assert (mine.mcse[1:] > 0.0).all()
        assert np.isnan(other.mcse[1:]).all()
        gap = np.abs(mine.width - other.width)
        assert (gap < 3.0 * mine.mcse + 0.1 * other.width).all()


def test_widths_fall(plan):
    for found in (*plan.of_differences, *plan.of_groups):
        assert (np.diff(found.width) < 0.0).all()


def test_the_number_sought_is_between_its_neighbours(plan):
    width = plan.of_differences[0].width
    assert width[1] > plan.width > width[2]
    assert 100 < plan.labels_range[0] <= plan.labels <= plan.labels_range[1] <= 600


def test_all_rows_labeled_leave_no_width_in_a_plan():
    small = assessed(rows=300, labeled=60)
    plan = plan_labels(small, extra=[240], refits=2, rng=1)
    assert plan.of_differences[0].width[1] == 0.0
    assert plan.decisive[1] == 1.0
    assert plan.labels is not None


def test_a_width_that_cannot_be_had_has_a_reason():
    result = assessed(rows=300, labeled=60, target="population")
    plan = plan_labels(result, width=0.01, refits=0)
    assert plan.labels is None
    assert plan.labels_range is None
    assert plan.reason.startswith("with all rows labeled a width of")
    assert "A width of 0.01 is out of reach: with all rows" in str(plan)


def test_a_width_that_is_there_takes_no_labels(result):
    plan = plan_labels(result, width=0.9, refits=0)
    assert plan.labels == 0
    assert "is reached now" in str(plan)
    assert plan_labels(result, "selection_rate", 0.01, refits=0).labels == 0


def test_all_rows_labeled_already():
    data = lf.simulate(200, 200, rng=1)
    result = lf.assess(data.y_all, data.y_score, sensitive_features=data.group, **QUICK)
    plan = plan_labels(result, width=0.05)
    assert plan.extra.tolist() == [0]
    assert plan.of_differences[0].width.tolist() == [0.0]
    assert plan.labels == 0
    assert plan.next_group is None
    assert np.isnan(plan.shrinks).all()


def test_a_group_without_unlabeled_rows():
    data = lf.simulate(600, 60, rng=1)
    known = np.where(data.group == "A", data.y_all, data.y_true)
    result = lf.assess(known, data.y_score, sensitive_features=data.group, **QUICK)
    plan = plan_labels(result, width=0.05, refits=2, extra=[50], rng=1)
    assert plan.next_group == "B"
    assert np.isnan(plan.shrinks[0])
    np.testing.assert_allclose(plan.split[1], [0.0, 50.0])
    assert plan.to_dict()["groups"][0]["shrinks_per_label"] is None


def test_one_group_is_planned_for_by_itself():
    data = lf.simulate(600, 60, rng=1)
    result = lf.assess(data.y_true, data.y_score, sensitive_features=["all"] * 600, **QUICK)
    plan = plan_labels(result, "accuracy", 0.1, extra=[100], refits=3, rng=1)
    assert plan.of_differences == ()
    assert plan.of_groups[0].width[1] < plan.of_groups[0].width[0]
    assert np.isnan(plan.decisive).all()
    assert plan.to_dict()["steps"][0]["prob_decisive"] is None
    with pytest.raises(ValueError, match="reference needs a second group"):
        plan_labels(result, reference="all")


def test_an_undefined_difference_has_a_reason():
    data = lf.simulate(400, 50, rng=1)
    label = data.y_true.copy()
    label[data.group == "B"] = np.nan
    only = np.flatnonzero(data.group == "B")[:2]
    keep = np.concatenate([np.flatnonzero(data.group == "A"), only])
    label[only] = 0.0
    result = lf.assess(
        label[keep], data.y_score[keep], sensitive_features=data.group[keep], **QUICK
    )
    plan = plan_labels(result, refits=2, extra=[20], rng=1)
    assert np.isnan(plan.of_differences[0].width).all()
    assert plan.labels is None
    assert "no positive labels" in plan.reason
    assert "undefined" in str(plan)
    assert plan.to_dict()["steps"][0]["differences"][0]["width"] is None


def test_shares_decide_where_labels_go(result):
    plan = plan_labels(result, allocation={"A": 1, "B": 3}, extra=[100], refits=2, rng=1)
    assert plan.split[1].tolist() == [25.0, 75.0]
    only = [
        plan_labels(result, allocation={"A": a, "B": 1 - a}, extra=[10], refits=0) for a in (0, 1)
    ]
    best = int(np.argmin([found.of_differences[0].width[1] for found in only]))
    assert plan.next_group == "BA"[best]


@pytest.mark.parametrize(
    ("number", "shares", "room", "want"),
    [
        (10, [1, 1], [50, 50], [5, 5]),
        (10, [1, 1], [2, 50], [2, 8]),
        (7, [1, 1, 1], [50, 50, 50], [3, 2, 2]),
        (3, [0, 1], [50, 50], [0, 3]),
        (4, [1, 9], [4, 0], [4, 0]),
    ],
)
def test_numbers_are_split_in_whole_labels(number, shares, room, want):
    found = allotted(number, np.array(shares, float), np.array(room, float))
    assert found.tolist() == want


def test_several_groups_are_planned_for_by_the_widest():
    rng = np.random.default_rng(1)
    score, group = rng.random(1500), rng.choice(["a", "b", "c"], 1500, p=[0.6, 0.3, 0.1])
    label = np.where(rng.random(1500) < 0.1, rng.random(1500) < score, np.nan)
    result = lf.assess(label, score, sensitive_features=group, **QUICK)
    plan = plan_labels(result, extra=[100], refits=2, rng=1)
    assert [(d.group, d.reference) for d in plan.of_differences] == [("b", "a"), ("c", "a")]
    assert plan.next_group == "c"
    one = plan_labels(result, group="b", reference="c", extra=[100], refits=0)
    assert [(d.group, d.reference) for d in one.of_differences] == [("b", "c")]
    assert "b - c" in str(one)
    split = plan_labels(result, group="c", width=0.2, allocation={"a": 0, "b": 1, "c": 2}, refits=0)
    assert f"takes about {split.labels} more labels in these shares." in str(split)
    for mine in (one, split):  # the call of the report makes it again
        code = re.search(r"```python\n(.*?)\n```", mine.to_markdown(), re.DOTALL)[1]
        code = code.replace("sensitive_features=...", "sensitive_features=group")
        names = {"y_true": label, "y_score": score, "group": group}
        exec(code.replace("lightfair.plan_labels(", "again = lightfair.plan_labels("), names)
        assert names["again"].to_dict() == mine.to_dict()


@pytest.fixture(scope="module")
def seven():
    """Group 5 has few rows, and group 6 no positive one, of all its labels."""
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(7), 200)
    score = rng.random(1400)
    label = np.where(rng.random(1400) < 0.3, rng.random(1400) < score, np.nan)
    label[group == 6] = 0.0
    label[group == 5] = np.nan
    label[1000] = 1.0
    keep = (group != 5) | (np.arange(1400) % 25 == 0)
    return lf.assess(label[keep], score[keep], sensitive_features=group[keep], **QUICK)


def test_what_is_not_shown_is_counted(seven):
    plan = plan_labels(seven, extra=[100], refits=0)
    text = " ".join(str(plan).split())
    assert "not shown: 1 no wider and 1 undefined; to_dict() has all" in text
    whole = plan.to_markdown()
    assert "| with extra labels | 0 | 100 |" in whole and "| extra labels |" not in whole


def test_no_group_gives_more_labels_than_it_has_rows(seven):
    plan = plan_labels(seven, extra=[100], refits=0)
    at = plan.groups.index("5")
    assert (plan.next_group, plan.unlabeled[at]) == ("5", 7)
    narrower = 7 * plan.shrinks[at]
    assert 0.0 < narrower < plan.of_differences[4].width[0]
    text = " ".join(str(plan).split())
    assert f"Next: 5; 7 labels there narrow the widest interval by {narrower:.4f}, 10 in " in text
    assert f"| 5 | 1 | 7 | {narrower:.4f} |" in plan.to_markdown()


def test_a_width_that_refits_find_to_be_0_is_0(monkeypatch):
    """Of groups that have all labels after some refits: no ratio of 0 to 0."""
    result = assessed(rows=300, labeled=60)
    monkeypatch.setattr("lightfair.planning.refitted_widths", lambda *_: np.zeros((4, 1, 3)))
    found = plan_labels(result, extra=[100], refits=4, rng=1).of_differences[0]
    assert (found.width[1], found.mcse[1]) == (0.0, 0.0)


def test_a_plan_is_the_same_for_the_same_seed(result):
    first, again = (plan_labels(result, extra=[50], refits=3, rng=7).to_dict() for _ in range(2))
    assert json.dumps(first) == json.dumps(again)
    other = plan_labels(result, extra=[50], refits=3, rng=8).to_dict()
    assert json.dumps(first) != json.dumps(other)


@pytest.mark.parametrize("options", [{"hierarchical": False}, {"family": "llo"}, {"trust": False}])
def test_other_models_are_planned_for(options):
    result = assessed(rows=800, labeled=80, **options)
    plan = plan_labels(result, extra=[200], refits=3, rng=1)
    alone = plan_labels(result, extra=[200], refits=0)
    ratio = plan.of_differences[0].width[1] / alone.of_differences[0].width[1]
    assert 0.7 < ratio < 1.3


def test_weighted_rows_are_planned_for(weighted):
    plan = plan_labels(weighted, extra=[300], refits=4, rng=1)
    alone = plan_labels(weighted, extra=[300], refits=0)
    ratio = plan.of_differences[0].width[1] / alone.of_differences[0].width[1]
    assert 0.7 < ratio < 1.3


def test_json_of_a_plan_has_no_nan(plan):
    json.dumps(plan.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "ppv"}, "'ppv' was not assessed"),
        ({"width": 0}, "width must be above 0 and below 2; got 0"),
        ({"width": "wide"}, "width must be above 0 and below 2; got 'wide'"),
        ({"width": 2.0}, "width must be above 0 and below 2; got 2.0"),
        ({"within": 0.0}, "within must be above 0 and below 1"),
        ({"within": 1}, "within must be above 0 and below 1; got 1"),
        ({"prob": 1.0}, "prob must lie in"),
        ({"group": "C"}, "group must be one of the groups 'A', 'B'; got 'C'"),
        ({"group": "A"}, "group must not be the reference, 'A'; name another group"),
        ({"reference": "C"}, "reference must be one of the groups"),
        ({"extra": [5000]}, r"extra must be whole numbers in \[0, 2900\].*got 5000"),
        ({"extra": [1.5]}, "extra must be whole numbers"),
        ({"extra": []}, "extra must hold at least one number"),
        ({"refits": 1}, "refits must be 0 or a whole number of at least 2; got 1"),
        ({"refits": True}, "refits must be 0"),
        ({"allocation": {"A": 1}}, "got nothing for 'B'"),
        ({"allocation": {"A": 1, "B": 1, "C": 1}}, "got no group 'C'"),
        ({"allocation": {"A": -1, "B": 1}}, "allocation must be at least 0; got -1 for 'A'"),
        ({"allocation": {"A": 0, "B": 0}}, "allocation must be above 0 for a group"),
        ({"allocation": [1, 2]}, "allocation must map groups to numbers"),
        ({"rng": "x"}, "rng must be a seed"),
    ],
)
def test_bad_arguments_are_named(result, options, message):
    with pytest.raises(ValueError, match=message):
        plan_labels(result, **options)


def test_the_nested_prior_is_planned_for():
    rng = np.random.default_rng(1)
    score = rng.random(600)
    groups = {"sex": rng.choice(["f", "m"], 600), "age": rng.choice(["old", "young"], 600)}
    label = np.where(rng.random(600) < 0.15, rng.random(600) < score, np.nan)
    result = lf.assess(label, score, sensitive_features=groups, hierarchical="nested", **QUICK)
    plan = plan_labels(result, extra=[200], refits=3, rng=1)
    alone = plan_labels(result, extra=[200], refits=0)
    for mine, other in zip(plan.of_differences, alone.of_differences, strict=True):
        assert 0.7 < mine.width[1] / other.width[1] < 1.3


def test_many_groups_are_planned_for_one_by_one():
    rng = np.random.default_rng(1)
    score, group = rng.random(1500), rng.integers(0, 24, 1500).astype(str)
    label = np.where(rng.random(1500) < 0.3, rng.random(1500) < score, np.nan)
    result = lf.assess(label, score, sensitive_features=group, chains=2, draws=50, warmup=50, rng=1)
    with pytest.raises(ValueError, match="group must be given where there are more than 20 groups"):
        plan_labels(result)
    plan = plan_labels(result, group="3", extra=[100, 900], refits=0)
    assert len(plan.of_differences) == 1
    assert (np.diff(plan.of_differences[0].width) < 0.0).all()
    assert plan.next_group in ("3", result.settings.reference)
    assert labels_to_settle(result, "tpr", 0.05, 0.95) is None


def test_a_table_of_billions_of_rows_is_drawn_from():
    left = np.array([3_000_000_000, 1_000_000_000])
    found = _drawn(left, 1000, np.random.default_rng(1))
    assert found.sum() == 1000
    assert abs(found[0] - 750) < 70


def test_without_new_labels_the_chance_is_what_the_check_says():
    """At the border of `prob`, too: of all draws, not of some of them."""
    rng = np.random.default_rng(0)
    deltas = rng.normal(0.13, 0.05, (3200, 1))
    for prob in (0.93, 0.944, 0.946, 0.96):
        decided = max((deltas > 0.05).mean(), (np.abs(deltas) <= 0.05).mean()) >= prob
        assert decisive_chance(deltas, np.ones(1), 0.05, prob) == float(decided)


def test_a_forecast_alone_knows_no_error(result):
    plan = plan_labels(result, width=0.15, extra=[100], refits=0)
    step = plan.to_dict()["steps"]
    assert [one["differences"][0]["mcse"] for one in step] == [0.0, None]
    assert plan.labels > 0
    assert plan.labels_range is None and plan.to_dict()["labels"]["low"] is None


def test_what_is_known_needs_no_labels():
    plan = plan_labels(assessed(metrics=["selection_rate"]), "selection_rate", refits=0)
    assert (plan.labels, plan.next_group) == (0, None)
    text = str(plan)
    assert text.endswith("No label is needed: what is planned for is known exactly.")


def test_all_labels_are_called_so(result):
    plan = plan_labels(result, width=0.002, extra=[100], refits=0)
    assert plan.labels == plan.unlabeled.sum() == 2900
    assert "takes labels of all 2,900 rows without one." in str(plan)
