"""Label choice: chances of rows, how often they are chosen, and what greedy labels are worth."""

from __future__ import annotations

import numpy as np
import pytest

import lightfair as lf
from lightfair.planning.choose import (
    METHODS,
    _begin,
    allocate,
    choose_labels,
    strata_of,
    systematic,
)
from lightfair.planning.forecast import expected_sd, outlook

QUICK = {"rng": 1}
CONTRAST = np.array([[-1.0, 1.0]])


@pytest.fixture(scope="module")
def rows():
    return lf.simulate(2000, 80, rng=5)


@pytest.fixture(scope="module")
def result(rows):
    return lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, **QUICK)


def choose(result, rows, n=100, **options):
    given = {"y_score": rows.y_score, "sensitive_features": rows.group, "y_true": rows.y_true}
    return choose_labels(result, n, **{**given, "rng": 1, **options})


@pytest.mark.parametrize("method", METHODS)
def test_chances_are_those_of_n_unlabeled_rows(result, rows, method):
    chosen = choose(result, rows, method=method)
    known = ~np.isnan(rows.y_true)
    assert len(np.unique(chosen.rows)) == 100
    assert not known[chosen.rows].any()
    assert chosen.every_prob.sum() == pytest.approx(100, rel=1e-12)
    assert (chosen.every_prob[known] == 0.0).all()
    assert (chosen.every_prob[~known] > 0.0).all()
    assert chosen.every_prob.max() <= 1.0
    np.testing.assert_array_equal(chosen.prob, chosen.every_prob[chosen.rows])
    assert (np.diff(chosen.rows) > 0).all()


def test_rows_are_chosen_as_often_as_they_should_be():
    rng = np.random.default_rng(2)
    chance = rng.random(40)
    chance = np.minimum(chance * 12 / chance.sum(), 1.0)
    chance[-1] += 12 - chance.sum()
    times = np.zeros(40)
    for _ in range(4000):
        picked = systematic(chance, 12, rng)
        assert len(np.unique(picked)) == 12
        times[picked] += 1
    error = np.sqrt(chance * (1 - chance) / 4000)
    assert (np.abs(times / 4000 - chance) < 4.5 * error + 1e-12).all()


def test_weighting_by_the_chances_undoes_the_design(result, rows):
    """The sum over chosen rows of 1 / chance is right on average, that of 1 is not."""
    unlabeled = np.isnan(rows.y_true)
    truth = (unlabeled & (rows.group == "B")).sum()
    chance = choose(result, rows).every_prob
    open_rows = np.flatnonzero(chance)
    rng = np.random.default_rng(3)
    weighted, plain = [], []
    for _ in range(200):
        chosen = open_rows[systematic(chance[open_rows], 100, rng)]
        mine = rows.group[chosen] == "B"
        weighted.append((mine / chance[chosen]).sum())
        plain.append(mine.sum() * unlabeled.sum() / 100)
    error = np.std(weighted) / np.sqrt(200)
    assert abs(np.mean(weighted) - truth) < 4 * error
    assert abs(np.mean(plain) - truth) > 8 * np.std(plain) / np.sqrt(200)


def test_explore_is_the_share_that_is_the_same_for_all(result, rows):
    all_the_same = choose(result, rows, explore=1.0)
    at_random = choose(result, rows, method="random")
    np.testing.assert_allclose(all_the_same.every_prob, at_random.every_prob, rtol=1e-12)
    least = choose(result, rows, explore=0.2).every_prob
    assert least[least > 0].min() == pytest.approx(0.2 * 100 / 1920, rel=1e-9)


def test_a_rank_one_update_is_the_covariance_anew(result):
    ahead = outlook(result, "tpr")
    now = _begin(ahead, CONTRAST)
    extra = np.zeros(len(ahead.bins.rows))
    for at, size in ((3, 2.0), (10, 1.0), (3, 1.0)):
        change = now.change(0, np.full(len(extra), size))[:, at]
        before = np.sqrt(now.variance()[0])
        now = now.after(at, size)
        extra[at] += size
        after = np.sqrt(now.variance()[0])
        np.testing.assert_allclose(after - before, size * change, rtol=1e-9, atol=1e-14)
        assert after.mean() == pytest.approx(expected_sd(ahead, extra, CONTRAST)[0], rel=1e-9)


def test_greedy_labels_are_expected_to_be_worth_more(result):
    ahead = outlook(result, "tpr")
    rows = ahead.bins.rows
    greedy = allocate(ahead, 100, rows, CONTRAST)
    assert greedy.sum() == 100
    assert (greedy <= rows).all()
    found = [expected_sd(ahead, extra, CONTRAST)[0] for extra in (greedy, rows * 100 / rows.sum())]
    assert found[0] < 0.95 * found[1]


def test_rows_of_a_stratum_have_one_chance(result, rows):
    ahead = outlook(result, "tpr")
    parts = strata_of(ahead.bins)
    gets = allocate(ahead, 100, ahead.bins.rows, CONTRAST)
    share = np.bincount(parts, gets) / np.bincount(parts, ahead.bins.rows)
    assert np.abs(gets - share[parts] * ahead.bins.rows).max() < 1.5
    chances = np.unique(choose(result, rows).every_prob.round(12))
    assert len(chances) <= len(np.unique(parts)) + 1  # and 0


def test_all_rows_can_be_chosen(result, rows):
    chosen = choose(result, rows, n=1920)
    np.testing.assert_allclose(chosen.prob, 1.0, rtol=1e-9)
    assert len(np.unique(chosen.rows)) == 1920


def test_the_same_seed_gives_the_same_rows(result, rows):
    for method in METHODS:
        first, again = (choose(result, rows, method=method, rng=4).rows for _ in range(2))
        np.testing.assert_array_equal(first, again)


def test_a_part_of_the_rows_can_be_given(result, rows):
    some = np.flatnonzero(rows.group == "B")
    chosen = choose_labels(
        result,
        20,
        y_score=rows.y_score[some],
        sensitive_features=rows.group[some],
        y_true=rows.y_true[some],
    )
    assert len(chosen.every_prob) == len(some)
    assert chosen.every_prob.sum() == pytest.approx(20)


def test_dropped_rows_keep_their_numbers(result, rows):
    group = rows.group.astype(object)
    group[:500] = None
    chosen = choose(result, rows, sensitive_features=group, missing="drop")
    assert chosen.rows.min() >= 500
    assert len(chosen.every_prob) == 2000
    assert np.isnan(rows.y_true[chosen.rows]).all()


def test_decisions_take_the_place_of_a_threshold(rows):
    decided = (rows.y_score > 0.4).astype(int)
    result = lf.assess(
        rows.y_true, rows.y_score, sensitive_features=rows.group, y_pred=decided, **QUICK
    )
    assert len(choose(result, rows, y_pred=decided).rows) == 100
    with pytest.raises(ValueError, match="y_pred must be given"):
        choose(result, rows)


def test_weighted_rows_with_bounds_and_thresholds_by_group():
    rng = np.random.default_rng(3)
    score = np.where(rng.random(1500) < 0.2, 0.0, rng.random(1500)).round(2)
    group = rng.choice(["a", "b"], 1500)
    label = np.where(rng.random(1500) < 0.1, rng.random(1500) < score, np.nan)
    result = lf.assess(
        label,
        score,
        sensitive_features=group,
        threshold={"a": 0.5, "b": 0.3},
        sample_weight=rng.integers(1, 5, 1500),
        **QUICK,
    )
    chosen = choose_labels(result, 50, y_score=score, sensitive_features=group, y_true=label)
    assert np.isnan(label[chosen.rows]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, r"n must be a whole number in \[1, 1920\].*got 0"),
        ({"n": 1921}, "got 1921"),
        ({"n": 1.5}, "got 1.5"),
        ({"method": "best"}, "method must be one of greedy, thompson, random; got 'best'"),
        ({"explore": 0.0}, r"explore must lie in \(0, 1\]; got 0.0"),
        ({"explore": True}, "explore must lie in"),
        ({"metric": "ppv"}, "'ppv' was not assessed"),
        ({"group": "C"}, "group must be one of the groups"),
        ({"rng": -1}, "rng must be a seed"),
        ({"sensitive_features": ["C"] * 2000}, "sensitive_features must hold groups of the assess"),
        ({"y_score": np.full(2000, 1.5)}, "y_score must lie in"),
    ],
)
def test_bad_arguments_are_named(result, rows, options, message):
    with pytest.raises(ValueError, match=message):
        choose(result, rows, **options)


def test_a_row_that_was_not_assessed_is_named():
    score = np.tile([0.4, 0.45, 0.6, 0.65], 100)
    label = np.where(np.arange(400) < 60, np.arange(400) % 3 == 0, np.nan)
    group = np.repeat(["a", "b"], 200)
    result = lf.assess(label, score, sensitive_features=group, **QUICK)
    score[350] = 0.99
    with pytest.raises(ValueError, match="row 350 is not among the unlabeled rows"):
        choose_labels(result, 5, y_score=score, sensitive_features=group, y_true=label)
