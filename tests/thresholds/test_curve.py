"""Curves of thresholds: naive counts row by row, one set of labels for all, no cell cut."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from results import row_by_row, scored

import lightfair as lf
from lightfair.core.data.nodes import CELL_WIDTH
from lightfair.core.metrics.score_bins import score_slots
from lightfair.thresholds.curve import above_and_below, grid, placed, requested_curve, resolve

CUTS = [0.5, 0.3, 0.7]
COUNTED = ("accuracy", "tpr", "fpr", "ppv", "npv", "f1", "selection_rate", "balanced_accuracy")
QUICK = {"chains": 4, "draws": 12, "warmup": 20, "rng": 0}
EDGES = (1.0 / (1.0 + np.exp(-np.array([0, -20, 12]) * CELL_WIDTH))).tolist()


@cache
def some_labels(count=1500, shown=150):
    label, score, group = scored(count=count)
    return np.where(np.arange(count) < shown, label, -1), score, group


@cache
def partly(threshold=tuple(CUTS), target="sample", metrics=COUNTED):
    label, score, group = some_labels()
    threshold = list(threshold) if isinstance(threshold, tuple) else threshold
    options = {"threshold": threshold, "target": target, "metrics": metrics, **QUICK}
    return lf.assess(label, score, sensitive_features=group, **options)


@pytest.fixture(scope="module")
def table():
    label, score, group = scored(count=3000)
    return lf.score_table(lf.score_data(label, score, sensitive_features=group))


def selected(score, group, cuts):
    """Share of rows at or above each threshold, (threshold, group)."""
    return [[(score[group == name] >= cut).mean() for name in np.unique(group)] for cut in cuts]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("levels", [False, True])
def test_with_all_labels_it_is_the_count_row_by_row(levels, weighted):
    label, score, group = scored(levels, 1500)
    weight = np.random.default_rng(2).uniform(0.1, 3.0, len(label)) if weighted else None
    cuts = [0.5, 0.3, 0.123456, 0.999, 0.7, float(score[17])]
    options = {"sample_weight": weight, "threshold": cuts, "metrics": COUNTED, **QUICK}
    curve = lf.assess(label, score, sensitive_features=group, **options).thresholds()
    np.testing.assert_array_equal(curve.thresholds, np.sort(cuts))
    for index, name in enumerate(curve.groups):
        mine = group == name
        weights = weight if weight is None else weight[mine]
        for place, cut in enumerate(curve.thresholds.tolist()):
            for metric in COUNTED:
                expected = row_by_row(metric, label[mine], score[mine], cut, weights)
                got = curve.draws(metric)[:, :, place, index]
                np.testing.assert_allclose(got, np.broadcast_to(expected, got.shape), rtol=1e-12)
                estimate = curve.metric(metric, name)[cut]
                assert estimate.exact and (estimate.reason is None) == np.isfinite(expected)


def test_a_score_equal_to_a_threshold_is_positive_at_each():
    score = np.repeat(np.array([0.2, 0.3, 0.5, 0.7], dtype=np.float32), 10)
    label, group = np.tile([1, 0], 20), ["a"] * 40
    curve = lf.assess(label, score, sensitive_features=group, threshold=CUTS, **QUICK).thresholds()
    rates = {cut: rate.mean for cut, rate in curve.metric("selection_rate", "a").items()}
    assert rates == pytest.approx({0.3: 0.75, 0.5: 0.5, 0.7: 0.25}, rel=1e-12)


@pytest.mark.parametrize("target", ["sample", "expected", "population"])
def test_the_first_threshold_is_that_of_the_report(target):
    result = partly(target=target)
    curve = result.thresholds()
    assert result.settings.threshold == 0.5 and result.settings.thresholds == tuple(CUTS)
    for name in COUNTED:
        draws = curve.draws(name)[:, :, 1]  # of 0.3, 0.5, 0.7
        np.testing.assert_allclose(draws, result.draws(name), rtol=1e-10, atol=1e-12)
        one, two = curve.difference(name, "y", "x")[0.5], result.difference(name, "y", "x")
        np.testing.assert_allclose(one.draws, two.draws, atol=1e-10)
        assert one.exact == two.exact
    assert curve.metric("tpr", "x")[0.5].mean == pytest.approx(result.metric("tpr", "x").mean)


def test_more_thresholds_leave_the_fit_alone():
    label, score, group = some_labels()
    options = {"sensitive_features": group, **QUICK}
    one = lf.assess(label, score, **options)
    np.testing.assert_allclose(partly().posterior.phi, one.posterior.phi, rtol=1e-6)
    assert partly().table.groups == one.table.groups == ("x", "y")
    again = lf.assess(label, score, threshold=EDGES, **options)
    np.testing.assert_array_equal(again.posterior.phi, one.posterior.phi)


@pytest.mark.parametrize("target", ["sample", "expected", "population"])
def test_in_each_draw_there_is_one_set_of_labels(target):
    curve = partly(target=target).thresholds("all")
    assert 40 <= len(curve.thresholds) <= 64
    for name in ("tpr", "fpr", "selection_rate"):
        assert (np.diff(curve.draws(name), axis=2) <= 1e-12).all()
    counts = above_and_below(curve.parts, axis=2)
    for sums in (counts.sum(axis=(-1, -2)), counts[..., 1].sum(axis=-1)):
        np.testing.assert_allclose(sums, np.broadcast_to(sums[:, :, :1], sums.shape), rtol=1e-12)
    if target == "sample":
        positives = counts[..., 1].sum(axis=-1)
        np.testing.assert_allclose(positives, np.rint(positives), atol=1e-8)


def test_curves_agree_where_they_meet_and_are_kept():
    result = partly()
    every, listed = result.thresholds("all"), result.thresholds()
    assert listed is requested_curve(result) is result.thresholds()
    one, two = (curve.metric("tpr", "x")[0.5] for curve in (every, listed))
    np.testing.assert_array_equal(one.draws, two.draws)
    some = result.thresholds(every.thresholds[:5].tolist())
    np.testing.assert_allclose(some.draws("tpr"), every.draws("tpr")[:, :, :5], rtol=1e-12)


TABLES = [{"threshold": 0.3337}, {"threshold": {"x": 0.41, "y": 0.57}}]


@pytest.mark.parametrize("options", [{}, *TABLES, {"y_pred": np.arange(1500) % 2}])
def test_all_works_on_every_table(options):
    label, score, group = some_labels()
    data = lf.score_data(label, score, sensitive_features=group, **options)
    curve = lf.assess(lf.score_table(data), **QUICK).thresholds("all")
    assert 40 < len(curve.thresholds) <= 64
    assert (np.diff(curve.thresholds) > 0.0).all()
    assert options.get("threshold") != 0.3337 or 0.3337 in curve.thresholds
    rate = curve.draws("selection_rate")[0, 0]
    np.testing.assert_allclose(rate, selected(score, group, curve.thresholds), atol=1e-12)


@pytest.mark.parametrize("levels", [[0.4], [1.0], [0.0, 1.0], [0.0, 0.3, 0.6, 0.6, 1.0]])
@pytest.mark.parametrize("decided", [False, True])
def test_few_scores(levels, decided):
    score = np.resize(levels, 50)
    options = {"y_pred": np.arange(50) % 2} if decided else {}
    label, group = np.tile([1, 0, -1, -1, -1], 10), np.full(50, "a")
    table = lf.score_table(lf.score_data(label, score, sensitive_features=group, **options))
    cuts = grid(table)
    assert 1 <= len(cuts) <= len(set(levels)) + 1
    assert ((cuts > 0.0) & (cuts < 1.0)).all()
    rate = lf.assess(table, threshold="all", **QUICK).thresholds().draws("selection_rate")
    np.testing.assert_allclose(rate[0, 0], selected(score, group, cuts), atol=1e-12)


@pytest.mark.parametrize(
    "levels, count, cuts", [(True, 500, [0.31, 0.315, 0.32, 0.98]), (False, 3000, EDGES)]
)
def test_distinct_scores_are_divided_by_any_value_and_cells_at_their_edges(levels, count, cuts):
    label, score, group = scored(levels, count)
    table = lf.score_table(lf.score_data(label, score, sensitive_features=group))
    curve = lf.assess(table, **QUICK).thresholds(cuts)
    rate = curve.draws("selection_rate")[0, 0]
    np.testing.assert_allclose(rate, selected(score, group, curve.thresholds), rtol=1e-12)


def test_thresholds_of_groups_are_no_curve():
    label, score, group = some_labels()
    cuts = {"x": 0.41, "y": 0.57}
    result = lf.assess(label, score, sensitive_features=group, threshold=cuts, **QUICK)
    assert result.settings.threshold == cuts and result.settings.thresholds is None
    assert "thresholds" not in result.to_dict()
    for at, (bins, cut) in enumerate(zip(score_slots(result.table), cuts.values(), strict=True)):
        ranks, cut_something = placed(bins, np.array([cut]), result.table, at)
        assert not cut_something.any()  # of its own group
        np.testing.assert_array_equal(ranks, bins.predicted)
    with pytest.raises(ValueError, match=r"threshold 0.41 cuts a cell"):
        result.thresholds([0.41])


@pytest.mark.parametrize("value", [0.31, 0.5001, 0.004, 0.9951])
def test_a_value_that_cuts_a_cell_is_refused_with_the_nearest(value, table):
    with pytest.raises(ValueError, match="cuts a cell of the table") as error:
        resolve([value], table)
    words = str(error.value).split("near it ")[1].split(" exact")[0].split()
    near = [float(word) for word in words if word[0] == "0"]
    assert 1 <= len(near) <= 2
    np.testing.assert_allclose(resolve(near, table), near)  # those are exact
    assert min(abs(cut - value) for cut in near) < 0.02


def test_above_all_scores_rates_are_0_or_undefined():
    label, score, group = some_labels()
    options = {"threshold": [0.5, 0.95], "metrics": ["tpr", "ppv"], **QUICK}
    result = lf.assess(label, 0.9 * score, sensitive_features=group, **options)
    tpr, ppv = (result.thresholds().metric(name, "x")[0.95] for name in ("tpr", "ppv"))
    reason = "there are no rows predicted positive"
    assert tpr.mean == 0.0 and np.isnan(ppv.mean) and ppv.reason == reason
    values = result.to_dict()["thresholds"]["0.95"]["ppv"]
    assert (values["groups"][0]["mean"], values["groups"][0]["reason"]) == (None, reason)
    assert values["differences"][0]["mean"] is None


@pytest.mark.parametrize(
    "ask, message",
    [
        (lambda curve: curve.metric("tpr", "z"), "no group 'z'; there are x, y"),
        (lambda curve: curve.metric("auc", "x"), "of decisions, such as tpr; got auc, of scores"),
        (lambda curve: partly().thresholds("every"), "thresholds must be a list of numbers, or"),
    ],
)
def test_questions_without_an_answer(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(partly(metrics=("tpr", "base_rate", "auc")).thresholds())


def test_only_metrics_of_counts_change_with_the_threshold():
    result = partly(metrics=("tpr", "base_rate", "auc"))
    assert list(result.to_dict()["thresholds"]["0.3"]) == ["tpr"]
    own = lf.Metric("missed", lambda tp, fp, fn, tn: fn / (tp + fp + fn + tn))
    rate, tpr = (result.thresholds().draws(name) for name in ("base_rate", "tpr"))
    draws = result.thresholds().draws(own)  # it was not assessed
    np.testing.assert_allclose(draws, rate * (1.0 - tpr))


def test_the_values_are_keyed_by_threshold():
    values = json.loads(json.dumps(partly().to_dict(), allow_nan=False))
    assert values["settings"]["thresholds"] == CUTS
    assert list(values["thresholds"]) == ["0.3", "0.5", "0.7"]
    assert len(partly(threshold="all").to_dict()["thresholds"]) == 64
    (gap,) = values["thresholds"]["0.7"]["tpr"]["differences"]
    estimate = partly().thresholds().difference("tpr", gap["group"])[0.7]
    assert gap["mean"] == pytest.approx(estimate.mean, rel=1e-12)
    assert gap["prob_within"] == estimate.prob_within(0.05)


def test_a_table_keeps_its_thresholds():
    label, score, group = some_labels()
    table = lf.score_table(lf.score_data(label, score, sensitive_features=group, threshold=CUTS))
    expected = partly().thresholds().draws("tpr")
    for threshold in (None, CUTS, 0.5):
        result = lf.assess(table, threshold=threshold, metrics=COUNTED, **QUICK)
        np.testing.assert_allclose(result.thresholds().draws("tpr"), expected, rtol=1e-6)
    assert lf.assess(table, threshold="all", **QUICK).settings.thresholds == "all"


def test_what_a_table_refuses(table):
    other, cut = "must be 0.5, that of the table; got 0.3", "threshold 0.31 cuts a cell"
    for threshold, message in (([0.3, 0.5], other), ([0.5, 0.31], cut), (0.3, other)):
        with pytest.raises(ValueError, match=message):
            lf.assess(table, threshold=threshold, **QUICK)


def test_curves_of_what_is_known_without_labels():
    """Exact at every threshold; what needs labels is refused, for none were estimated."""
    result = partly(metrics=("selection_rate",))
    assert result.curves is None and str(result)
    _, score, group = some_labels()
    curve = result.thresholds()
    for cut, rate in curve.metric("selection_rate", "x").items():
        assert rate.exact and rate.mean == pytest.approx((score[group == "x"] >= cut).mean())
    with pytest.raises(ValueError, match="tpr needs curves, and none were fitted"):
        curve.metric("tpr", "x")
    with pytest.raises(ValueError, match="needs curves, and none were fitted"):
        lf.find_threshold(result, "tpr")
    assert lf.find_threshold(result, "selection_rate")["x"].gap.exact
