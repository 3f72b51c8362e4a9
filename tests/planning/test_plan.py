"""Label plans: widths by number of labels, where labels go, what is undefined or out of reach."""

from __future__ import annotations

import numpy as np
import pytest

import lightfair as lf
from lightfair import plan_labels

QUICK = {"chains": 4, "draws": 100, "rng": 1}


def test_a_plan_begins_at_the_current_intervals_and_narrows(result, plan):
    low, high = result.difference("tpr", "B", "A").interval(0.95)
    assert plan.extra.tolist() == [0, 100, 600]
    width = plan.intervals[0].width
    assert width[0] == pytest.approx(high - low, rel=1e-12)
    assert (np.diff(width) < 0.0).all()
    assert width[1] > plan.width > width[2]
    assert 100 < plan.labels <= 600


def test_a_forecast_is_near_the_width_that_follows():
    data = lf.simulate(3000, 100, rng=3)
    options = {"sensitive_features": data.group, "metrics": "tpr", "rng": 1}
    result = lf.assess(data.y_true, data.y_score, **options)
    predicted = plan_labels(result, extra=[300]).intervals[0].width
    order = np.random.default_rng(0).permutation(np.flatnonzero(np.isnan(data.y_true)))
    later = data.y_true.copy()
    later[order[:300]] = data.y_all[order[:300]]
    later = lf.assess(later, data.y_score, **options)
    width = np.ptp(later.difference("tpr", "B", "A").interval())
    assert width < 0.8 * predicted[0]
    assert predicted[1] == pytest.approx(width, rel=0.15)


def test_all_rows_labeled_leave_no_width(small):
    plan = plan_labels(small, extra=[240])
    assert plan.intervals[0].width[1] == 0.0
    assert plan_labels(small, width=0.002, extra=[100]).labels == 240


def test_a_width_out_of_reach_has_a_reason(assess):
    result = assess(rows=300, labeled=60, target="population", **QUICK)
    plan = plan_labels(result, width=0.01)
    assert plan.labels is None
    assert plan.reason.startswith("with all rows labeled a width of")


def test_a_width_that_is_reached_takes_no_labels(result, assess):
    assert plan_labels(result, width=0.9).labels == 0
    exact = plan_labels(result, "selection_rate", 0.01)
    assert (exact.labels, exact.next_group) == (0, None)
    plan = plan_labels(assess(rows=200, labeled=200), width=0.05)  # all rows are labeled
    assert plan.extra.tolist() == [0] and plan.intervals[0].width.tolist() == [0.0]
    assert (plan.labels, plan.next_group) == (0, None) and np.isnan(plan.shrinks).all()


def test_a_group_without_unlabeled_rows():
    data = lf.simulate(300, 60, rng=1)
    known = np.where(data.group == "A", data.y_all, data.y_true)
    result = lf.assess(known, data.y_score, sensitive_features=data.group, **QUICK)
    plan = plan_labels(result, width=0.05, extra=[50])
    assert plan.next_group == "B" and np.isnan(plan.shrinks[0])
    assert plan.to_dict()["groups"][0]["shrinks_per_label"] is None


def test_one_group_is_planned_for_by_itself():
    data = lf.simulate(300, 60, rng=1)
    result = lf.assess(data.y_true, data.y_score, sensitive_features=["all"] * 300, **QUICK)
    plan = plan_labels(result, "accuracy", 0.1, extra=[100])
    assert [(one.group, one.reference) for one in plan.intervals] == [("all", None)]
    assert plan.intervals[0].width[1] < plan.intervals[0].width[0]
    with pytest.raises(ValueError, match="group must not be the reference"):
        plan_labels(result, reference="all")


def test_an_undefined_difference_has_a_reason():
    data = lf.simulate(400, 50, rng=1)
    keep = (data.group == "A") | (np.cumsum(data.group == "B") <= 2)
    label = np.where(data.group == "B", 0.0, data.y_true)
    rows = {"y_score": data.y_score[keep], "sensitive_features": data.group[keep]}
    result = lf.assess(label[keep], **rows, **QUICK)
    plan = plan_labels(result, extra=[20])
    assert np.isnan(plan.intervals[0].width).all()
    assert plan.labels is None and "no positive labels" in plan.reason
    assert plan.to_dict()["steps"][0]["intervals"][0]["width"] is None


def random_rows(rows, groups, labeled=0.3):
    rng = np.random.default_rng(1)
    score, group = rng.random(rows), rng.choice(groups, rows)
    return np.where(rng.random(rows) < labeled, rng.random(rows) < score, np.nan), score, group


def test_several_groups_are_planned_for_by_the_widest():
    label, score, group = random_rows(600, [*"aaaaaabbbc"])
    result = lf.assess(label, score, sensitive_features=group, **QUICK)
    plan = plan_labels(result, extra=[100])
    assert [(d.group, d.reference) for d in plan.intervals] == [("b", "a"), ("c", "a")]
    assert plan.next_group == "c"
    one = plan_labels(result, group="b", reference="c", extra=[100])
    assert [(d.group, d.reference) for d in one.intervals] == [("b", "c")]


def test_many_groups_are_planned_for_one_by_one():
    label, score, group = random_rows(660, np.arange(22).astype(str))
    result = lf.assess(label, score, sensitive_features=group, chains=2, draws=50, warmup=50, rng=1)
    with pytest.raises(ValueError, match="group must be given if there are more than 20 groups"):
        plan_labels(result)
    plan = plan_labels(result, group="3", extra=[100, 400])
    (difference,) = plan.intervals
    assert (np.diff(difference.width) < 0.0).all()
    assert plan.next_group in ("3", result.settings.reference)


def test_no_group_gives_more_labels_than_it_has_rows():
    label, score, group = random_rows(600, [*"aaaaaaab"])
    last = np.flatnonzero(group == "b")
    label[last[7:]], label[last[:7]] = 1.0, np.nan
    result = lf.assess(label, score, sensitive_features=group, **QUICK)
    plan = plan_labels(result, extra=[100])
    assert plan.unlabeled[1] == 7
    assert 0.0 < 7 * plan.shrinks[1] <= plan.intervals[0].width[0]


MODELS = [{}, {"hierarchical": False}, {"family": "llo"}, {"trust": False}]
MODELS += [{"hierarchical": "nested"}, {"sample_weight": np.resize([1, 2, 3], 200)}]


@pytest.mark.parametrize("options", MODELS, ids=lambda options: "-".join(options) or "default")
def test_every_model_is_planned_for(options):
    label, score, group = random_rows(200, [*"aab"])
    if options.get("hierarchical") == "nested":
        group = {"g": group, "h": np.random.default_rng(2).choice(["x", "y"], 200)}
    result = lf.assess(label, score, sensitive_features=group, **QUICK, **options)
    plan = plan_labels(result, extra=[60])
    for one in plan.intervals:
        assert 0.3 < one.width[1] / one.width[0] < 0.95


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "ppv"}, "no assessed metric 'ppv'"),
        ({"width": 0}, "width must be above 0 and below 2; got 0"),
        ({"width": 2.0}, "width must be above 0 and below 2; got 2.0"),
        ({"prob": 1.0}, "prob must lie in"),
        ({"group": "C"}, "no group 'C'; there are A, B"),
        ({"group": "A"}, "group must not be the reference, 'A'; name another"),
        ({"extra": [5000]}, r"whole numbers in \[0, 240\]; got \[5000\]"),
        ({"extra": [1.5]}, r"whole numbers in .*; got \[1.5\]"),
    ],
)
def test_bad_arguments_are_named(small, options, message):
    with pytest.raises(ValueError, match=message):
        plan_labels(small, **options)
