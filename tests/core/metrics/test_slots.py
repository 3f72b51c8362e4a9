"""Slots: their sums against those of the imputed confusion counts, for each target."""

from __future__ import annotations

import numpy as np
import pytest

import lightfair.core as lf
from lightfair.core.data.logit import sigmoid
from lightfair.core.metrics.definitions import Metric, theta
from lightfair.core.metrics.imputation import (
    TARGETS,
    confusion,
    confusion_counts,
    cumulants,
    frequency,
    impute,
    impute_group,
    score_slots,
    slot_theta,
    unlabeled,
)
from lightfair.core.model.regions import no_regions, regions

PHI = np.array([[0.2, -0.3, 0.4], [-0.5, 0.3, -1.0]])


def columns_of(count, *, levels=None, weighted=False, seed=0, labeled=0.1):
    """Rows (score, label, group, weight); continuous scores, or `levels` of them."""
    rng = np.random.default_rng(seed)
    score = np.clip(rng.beta(1.2, 1.5, count), 0.001, 0.999)
    if levels:
        score = np.clip(np.rint(score * levels), 1, levels - 1) / levels
    label = np.where(rng.random(count) < labeled, rng.random(count) < score, -1)
    group = np.where(rng.random(count) < 1 / 3, "b", "a")
    weight = rng.choice([0.5, 1.0, 3.0], count) if weighted else np.ones(count)
    return score, label.astype(int), group, weight


def build(columns, **options):
    score, label, group, weight = columns
    weight = None if (weight == 1.0).all() else weight
    data = lf.score_data(label, score, sensitive_features=group, sample_weight=weight, **options)
    return lf.score_table(data)


def some_psi(table, n, seed=1):
    """Draws of the two groups' curves, with deviations where `regions` has columns."""
    rng = np.random.default_rng(seed)
    where = regions(table)
    deviations = rng.normal(0.0, 0.3, (1, n, 2, where.loadings.shape[1]))
    phi = PHI + rng.normal(0.0, 0.2, (1, n, 2, 3))
    return np.concatenate([phi, deviations], axis=-1), where


SHAPES = [
    {"count": 30_000},
    {"count": 30_000, "weighted": True},
    {"count": 3_000, "levels": 50},
    {"count": 3_000, "levels": 50, "weighted": True},
    {"count": 200},
]


@pytest.mark.parametrize("shape", SHAPES)
def test_slots_hold_all_the_weight(shape):
    table = build(columns_of(**shape))
    wanted = table.sums("weight")
    for index, mine in enumerate(score_slots(table)):
        for side in (0, 1):
            at = mine.predicted == side
            got = [*mine.known[at].sum(axis=0), mine.weight[at].sum()]
            np.testing.assert_allclose(got, wanted[index, side], rtol=1e-12)
        assert (np.diff(mine.score) >= 0.0).all()
        assert (mine.total > 0.0).all()


def test_the_score_of_a_slot_is_the_mean_of_its_rows():
    columns = columns_of(30_000)
    score, _, group, _ = columns
    for name, mine in zip("ab", score_slots(build(columns)), strict=True):
        wanted = np.clip(score[group == name], 0.01, 0.99).mean()
        got = (mine.score * mine.total).sum() / mine.total.sum()
        assert got == pytest.approx(wanted, abs=1e-10)


def test_equal_scores_are_exactly_equal_in_both_predictions():
    score = np.repeat(np.arange(1, 10) / 10.0, 20)
    label = np.arange(180) % 3 - 1
    table = lf.score_table(
        lf.score_data(label, score, sensitive_features=["a"] * 180, y_pred=np.arange(180) % 2)
    )
    (mine,) = score_slots(table)
    assert len(mine.score) == 18
    np.testing.assert_array_equal(mine.score[::2], mine.score[1::2])
    assert mine.predicted.tolist() == [0, 1] * 9


@pytest.mark.parametrize("cap", [np.inf, 1.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_expected_sums_are_those_of_the_confusion_counts(shape, cap):
    table = build(columns_of(**shape))
    psi, where = some_psi(table, 20)
    rng = np.random.default_rng(0)
    wanted = confusion_counts(psi, table, target="expected", rng=rng, cap=cap, regions=where).drawn
    for index, mine in enumerate(score_slots(table)):
        drawn = impute_group(psi, index, mine, where, target="expected", seed=3, cap=cap)
        got = confusion(drawn, mine)
        np.testing.assert_allclose(got, wanted[0, :, index], rtol=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
def test_sampled_sums_have_the_mean_and_variance_of_the_counts(shape):
    table = build(columns_of(**shape))
    psi, where = some_psi(table, 1)
    n = 4_000
    known = table.sums("weight")
    moments = cumulants(psi[0], unlabeled(table, where), np.inf)[0]
    for index, mine in enumerate(score_slots(table)):
        many = np.broadcast_to(psi[0, 0, index], (n, psi.shape[-1]))
        rng = np.random.default_rng(index)
        got = confusion(impute(many, mine, where, target="sample", rng=rng), mine)[..., 1]
        mean, variance = moments[index, :, 0] + known[index, :, 1], moments[index, :, 1]
        assert (np.abs(got.mean(axis=0) - mean) < 4.5 * np.sqrt(variance / n)).all()
        # the variance of a sample variance of nearly normal numbers
        assert (np.abs(got.var(axis=0) / variance - 1.0) < 4.5 * np.sqrt(2.0 / n)).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_population_shares_are_those_of_the_counts(shape):
    table = build(columns_of(**shape))
    psi, where = some_psi(table, 1)
    n = 3_000
    many = np.broadcast_to(psi, (1, n, *psi.shape[2:]))
    rng = np.random.default_rng(5)
    counts = confusion_counts(many, table, target="population", rng=rng, regions=where).drawn[0]
    for index, mine in enumerate(score_slots(table)):
        drawn = impute_group(many, index, mine, where, target="population", seed=4)
        for name in ("accuracy", "tpr", "fpr", "selection_rate"):
            one, two = theta(name, confusion(drawn, mine)), theta(name, counts[:, index])
            error = np.hypot(one.std(), two.std()) / np.sqrt(n)
            assert abs(one.mean() - two.mean()) < 4.5 * error
            assert one.std() == pytest.approx(two.std(), rel=4.5 * np.sqrt(1.0 / n))


def test_sampled_labels_of_equal_weights_are_whole():
    table = build(columns_of(3_000, levels=50))
    psi, where = some_psi(table, 30)
    for index, mine in enumerate(score_slots(table)):
        drawn = impute_group(psi, index, mine, where, target="sample", seed=1)
        count = drawn.weight * drawn.label
        np.testing.assert_allclose(count, np.rint(count), atol=1e-9)
        assert (count >= mine.known[:, 1] - 1e-9).all()
        assert (count <= mine.known[:, 1] + mine.rows + 1e-9).all()


def test_sampled_labels_of_unequal_weights_have_the_right_moments_in_a_slot():
    """Three rows of weights 1, 1 and 4 count as 2 effective ones, and 5 of them as 25 / 11."""
    for weights in ([1.0, 1.0, 4.0], [1.0, 1.0, 1.0, 1.0, 5.0], [0.3, 7.0]):
        size = len(weights)
        table = build(
            (np.full(size, 0.3), np.full(size, -1), np.array(["a"] * size), np.array(weights)),
            missing="raise",
        )
        (mine,) = score_slots(table)
        psi = np.zeros((200_000, 3))
        rng = np.random.default_rng(2)
        drawn = impute(psi, mine, no_regions(), target="sample", rng=rng)
        count = (drawn.weight * drawn.label)[:, 0]
        spread = 0.3 * 0.7 * np.square(weights).sum()
        assert count.mean() == pytest.approx(0.3 * sum(weights), abs=4.5 * np.sqrt(spread / 2e5))
        assert count.var() == pytest.approx(spread, rel=0.02)


@pytest.mark.parametrize("target", TARGETS)
def test_the_same_seed_gives_the_same_labels(target):
    table = build(columns_of(2_000))
    psi, where = some_psi(table, 40)
    mine = score_slots(table)[1]
    one, two, other = (
        impute_group(psi, 1, mine, where, target=target, seed=seed) for seed in (8, 8, 9)
    )
    np.testing.assert_array_equal(one.label, two.label)
    assert np.array_equal(one.label, other.label) == (target == "expected")


@pytest.mark.parametrize("target", ["sample", "expected"])
def test_all_labels_known(target):
    columns = columns_of(900, levels=50, labeled=2.0)
    table = build(columns)
    psi, where = some_psi(table, 5)
    for index, mine in enumerate(score_slots(table)):
        drawn = impute_group(psi, index, mine, where, target=target, seed=1)
        wanted = table.sums("weight")[index, :, :2]
        np.testing.assert_allclose(confusion(drawn, mine), [wanted] * 5, rtol=1e-12)
        rate = Metric("rate", lambda s, w, p: (w * p).sum(-1) / w.sum(-1), of="nodes")
        assert frequency(rate, mine) == pytest.approx(wanted[:, 1].sum() / wanted.sum())
        value = slot_theta(rate, mine.score, *drawn)
        np.testing.assert_allclose(value, frequency(rate, mine), rtol=1e-12)


def test_rates_of_a_known_curve():
    """With a = b = 1 and c = 0 the rate of a slot is its score."""
    table = build(columns_of(30_000, labeled=0.0))
    for mine in score_slots(table):
        drawn = impute(
            np.zeros((1, 3)), mine, no_regions(), target="expected", rng=np.random.default_rng(0)
        )
        np.testing.assert_allclose(drawn.label[0], mine.score, rtol=1e-12)
        capped = impute(
            np.zeros((1, 3)),
            mine,
            no_regions(),
            target="expected",
            rng=np.random.default_rng(0),
            cap=0.5,
        )
        assert capped.label.max() == pytest.approx(sigmoid(np.array(0.5)))


def test_rows_of_weight_0_make_no_slot():
    score, label, group, weight = columns_of(400, levels=20)
    weight = np.where(score > 0.8, 0.0, 1.0)
    for mine in score_slots(build((score, label, group, weight))):
        assert mine.score.max() < 0.81
