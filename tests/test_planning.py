"""Label planning: tables with labels that are to come, the forecast, what labels will settle."""

from __future__ import annotations

import numpy as np
import pytest

import lightfair as lf
from lightfair.forecast import covariance, expected_sd, forecast_width, outlook
from lightfair.places import labelled, places
from lightfair.planning import decisive_chance, labels_to_settle
from lightfair.table import UNLABELLED

QUICK = {"chains": 4, "draws": 200, "warmup": 100, "rng": 1}


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
def test_places_hold_all_unlabelled_rows(name, request):
    table = request.getfixturevalue(name).table
    at = places(table, request.getfixturevalue(name).posterior.regions)
    for column in ("rows", "weight", "weight_sq"):
        sums = np.zeros((2, 2))
        np.add.at(sums, (at.group, at.predicted), getattr(at, column))
        np.testing.assert_allclose(sums, table.sums(column)[..., UNLABELLED], rtol=1e-12)


@pytest.mark.parametrize("name", ["result", "weighted"])
def test_labels_move_rows_and_lose_none(name, request):
    result = request.getfixturevalue(name)
    at = places(result.table, result.posterior.regions)
    rng = np.random.default_rng(1)
    chosen = rng.binomial(at.rows.astype(int), 0.3).astype(float)
    positive = rng.binomial(chosen.astype(int), 0.5).astype(float)
    new = labelled(result.table, chosen, positive)
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
    found = labelled(before, chosen, chosen * (at.group == 0))
    for mine, theirs in ((found.points, after.points), (found.cells, after.cells)):
        for left, right in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-12)


def regions_of(table):
    from lightfair.trust import regions

    return regions(table)


# forecast


def test_all_rows_labelled_leave_no_width(result):
    ahead = outlook(result, "tpr")
    assert np.abs(covariance(ahead, ahead.bins.rows)).max() < 1e-20


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


@pytest.mark.parametrize("metric", ["tpr", "accuracy", "fpr", "ppv", "base_rate", "f1"])
@pytest.mark.parametrize("target", ["sample", "expected", "population"])
def test_forecast_without_more_labels_is_the_posterior(metric, target):
    result = assessed(rows=1000, labeled=200, target=target, metrics=[metric], draws=400)
    ahead = outlook(result, metric)
    none = np.zeros(len(ahead.bins.rows))
    found = expected_sd(ahead, none, np.vstack([np.eye(2), [-1.0, 1.0]]))
    want = [result.metric(metric, g).sd for g in "AB"] + [result.difference(metric, "B", "A").sd]
    np.testing.assert_allclose(found, want, rtol=0.2)


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


def test_a_verdict_now_is_that_of_the_draws():
    rng = np.random.default_rng(0)
    deltas = rng.normal(0.03, 0.02, (2000, 1))
    here = np.abs(deltas[np.linspace(0, 1999, 400).round().astype(int), 0] - 0) < 0.05
    one = np.array([1.0])
    assert decisive_chance(deltas, one, 0.05, float(here.mean()) - 0.01) == 1.0
    assert decisive_chance(deltas, one, 0.05, float(here.mean()) + 0.01) == 0.0


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
