"""Label choice: inclusion probabilities, rows chosen as often, the value of greedy labels."""

from __future__ import annotations

import numpy as np
import pytest

import lightfair as lf
from lightfair.planning.choose import Update, allocate, strata_of, systematic
from lightfair.planning.forecast import expected_sd, preposterior

CONTRAST = np.array([[-1.0, 1.0]])
QUICK = {"chains": 4, "draws": 100, "rng": 1}


@pytest.fixture(scope="module")
def rows():
    return lf.simulate(1000, 80, rng=5)


@pytest.fixture(scope="module")
def result(rows):
    return lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, **QUICK)


@pytest.fixture(scope="module")
def ahead(result):
    return preposterior(result, "tpr")


def choose(result, rows, n=100, **options):
    given = {"y_score": rows.y_score, "sensitive_features": rows.group, "y_true": rows.y_true}
    return lf.choose_labels(result, n, **{**given, "rng": 1, **options})


@pytest.mark.parametrize("explore", [0.1, 1.0])
def test_probabilities_are_those_of_n_unlabeled_rows(result, rows, explore):
    choice, again = (choose(result, rows, explore=explore) for _ in range(2))
    known = ~np.isnan(rows.y_true)
    assert len(np.unique(choice.rows)) == 100 and (np.diff(choice.rows) > 0).all()
    assert not known[choice.rows].any()
    assert choice.every_prob.sum() == pytest.approx(100, rel=1e-12)
    assert (choice.every_prob[known] == 0.0).all()
    assert (choice.every_prob[~known] > 0.0).all() and choice.every_prob.max() <= 1.0
    np.testing.assert_array_equal(choice.prob, choice.every_prob[choice.rows])
    np.testing.assert_array_equal(choice.rows, again.rows)


def test_rows_are_chosen_as_often_as_they_should_be():
    rng = np.random.default_rng(2)
    prob = rng.random(40)
    prob = np.minimum(prob * 12 / prob.sum(), 1.0)
    prob[-1] += 12 - prob.sum()
    times = np.zeros(40)
    for _ in range(4000):
        chosen = systematic(prob, 12, rng)
        assert len(np.unique(chosen)) == 12
        times[chosen] += 1
    error = np.sqrt(prob * (1 - prob) / 4000)
    assert (np.abs(times / 4000 - prob) < 4.5 * error + 1e-12).all()


def test_weighting_by_inclusion_probabilities_corrects_for_the_design(result, rows):
    """The sum over chosen rows of 1 / probability is unbiased, their number is not."""
    unlabeled = np.isnan(rows.y_true)
    truth = (unlabeled & (rows.group == "B")).sum()
    prob = choose(result, rows).every_prob
    available = np.flatnonzero(prob)
    rng = np.random.default_rng(3)
    weighted, plain = [], []
    for _ in range(200):
        chosen = available[systematic(prob[available], 100, rng)]
        in_b = rows.group[chosen] == "B"
        weighted.append((in_b / prob[chosen]).sum())
        plain.append(in_b.sum() * unlabeled.sum() / 100)
    assert abs(np.mean(weighted) - truth) < 4 * np.std(weighted) / np.sqrt(200)
    assert abs(np.mean(plain) - truth) > 8 * np.std(plain) / np.sqrt(200)


def test_the_exploration_rate_is_the_share_of_equal_probabilities(result, rows):
    equal = choose(result, rows, explore=1.0).every_prob
    np.testing.assert_allclose(equal[equal > 0], 100 / 920, rtol=1e-12)
    mixed = choose(result, rows, explore=0.2).every_prob
    assert mixed[mixed > 0].min() == pytest.approx(0.2 * 100 / 920, rel=1e-9)


def test_rank_one_updates_are_the_covariance(ahead):
    update, extra = Update(ahead, CONTRAST), np.zeros(len(ahead.bins.rows))
    for at, size in ((3, 2.0), (10, 1.0), (3, 1.0)):
        change, before = update.change(0, size)[:, at], np.sqrt(update.variance()[0])
        update.add(at, size)
        extra[at] += size
        after = np.sqrt(update.variance()[0])
        np.testing.assert_allclose(after - before, size * change, rtol=1e-9, atol=1e-14)
        assert after.mean() == pytest.approx(expected_sd(ahead, extra, CONTRAST)[0], rel=1e-9)


def test_greedy_labels_are_worth_more_and_equal_in_a_stratum(ahead, result, rows):
    room, strata = ahead.bins.rows, strata_of(ahead.bins)
    greedy = allocate(ahead, 100, room, CONTRAST)
    assert greedy.sum() == 100 and (greedy <= room).all()
    sd, random = (expected_sd(ahead, one, CONTRAST)[0] for one in (greedy, room * 100 / room.sum()))
    assert sd < 0.95 * random
    share = np.bincount(strata, greedy) / np.bincount(strata, room)
    assert np.abs(greedy - share[strata] * room).max() < 1.5
    distinct = np.unique(choose(result, rows).every_prob.round(12))
    assert len(distinct) <= len(np.unique(strata)) + 1  # and 0


def test_all_rows_or_some_of_them_can_be_given_and_chosen(result, rows):
    choice = choose(result, rows, n=920)
    np.testing.assert_allclose(choice.prob, 1.0, rtol=1e-9)
    assert len(np.unique(choice.rows)) == 920
    some = np.flatnonzero(rows.group == "B")
    given = {"y_score": rows.y_score, "sensitive_features": rows.group, "y_true": rows.y_true}
    part = lf.choose_labels(result, 20, **{name: one[some] for name, one in given.items()})
    assert len(part.every_prob) == len(some) and part.every_prob.sum() == pytest.approx(20)
    columns = {"score": rows.y_score[some], "group": rows.group[some]}
    kinds = (("pandas", "DataFrame"), ("pyarrow", "table"), ("polars", "DataFrame"))
    frames = [getattr(pytest.importorskip(name), kind)(columns) for name, kind in kinds]
    for frame in (columns, *frames):
        taken = part.take(frame)
        assert type(taken) is type(frame)
        assert np.asarray(taken["score"]).tolist() == columns["score"][part.rows].tolist()
        assert np.asarray(taken["label_prob"]).tolist() == part.prob.tolist()
    assert part.take(frame.lazy()).equals(taken)
    with pytest.raises(ValueError, match=f"frame must have the {len(some)} rows .* got 1,000 in"):
        part.take({"score": rows.y_score})
    with pytest.raises(TypeError, match="frame must be a data frame .* got ndarray"):
        part.take(rows.y_score[some])


def test_dropped_rows_keep_their_numbers(result, rows):
    group = rows.group.astype(object)
    group[:500] = None
    choice = choose(result, rows, sensitive_features=group, missing="drop")
    assert choice.rows.min() >= 500 and len(choice.every_prob) == 1000
    assert np.isnan(rows.y_true[choice.rows]).all()


def test_decisions_and_bins_are_those_of_the_assessment(result, rows):
    decided = {"sensitive_features": rows.group, "y_pred": (rows.y_score > 0.4).astype(int)}
    bins = {"sensitive_features": np.arange(1000) % 60, "bins": {"group": [20, 40]}}
    for data in (decided, bins):
        own = lf.assess(rows.y_true, rows.y_score, **data, **QUICK)
        assert len(choose(own, rows, **data).rows) == 100
    own = lf.assess(rows.y_true, rows.y_score, **decided, **QUICK)
    with pytest.raises(ValueError, match="y_pred must be given"):
        choose(own, rows)


def test_weighted_rows_at_bounds_with_thresholds_by_group():
    rng = np.random.default_rng(3)
    score = np.where(rng.random(1500) < 0.2, 0.0, rng.random(1500)).round(2)
    group = rng.choice(["a", "b"], 1500)
    label = np.where(rng.random(1500) < 0.1, rng.random(1500) < score, np.nan)
    weight, cuts = rng.integers(1, 5, 1500), {"a": 0.5, "b": 0.3}
    data = {"y_score": score, "sensitive_features": group}
    result = lf.assess(label, **data, threshold=cuts, sample_weight=weight, **QUICK)
    choice = lf.choose_labels(result, 50, **data, y_true=label)
    assert np.isnan(label[choice.rows]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, r"n must lie in \[1, 920\].*got 0"),
        ({"n": 1.5}, "got 1.5"),
        ({"y_true": [0, 1] * 500}, "no row is unlabeled"),
        ({"explore": 0.0}, r"explore must lie in \(0, 1\]; got 0.0"),
        ({"group": "C"}, "no group 'C'"),
        ({"rng": -1}, "rng must be a seed"),
        ({"sensitive_features": ["C"] * 1000}, "no group 'C'; there are"),
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
    with pytest.raises(ValueError, match="no unlabeled one is in group b near score 0.99"):
        lf.choose_labels(result, 5, y_score=score, sensitive_features=group, y_true=label)
