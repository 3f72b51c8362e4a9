"""Merged nodes against the nodes that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

import lightfair.core as lf
from lightfair.core.data.logit import sigmoid
from lightfair.core.data.quadrature import ORDER, WIDTH, gauss_rules, merge
from lightfair.core.metrics.imputation import unlabeled

FUNCTIONS = {
    "rate": sigmoid,
    "variance": lambda odds: sigmoid(odds) * sigmoid(-odds),
    "third cumulant": lambda odds: sigmoid(odds) * sigmoid(-odds) * (1.0 - 2.0 * sigmoid(odds)),
    "log": lambda odds: np.logaddexp(0.0, odds),
}


def nodes(seed, count=600, keys=3):
    rng = np.random.default_rng(seed)
    logit = np.clip(rng.normal(0.0, 2.0, count), -4.6, 4.6)
    return rng.integers(keys, size=count), logit, rng.gamma(1.0, 1.0, count)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_sums_are_kept(name):
    key, logit, weight = nodes(1)
    few_key, few, mass = merge(key, logit, weight)
    assert len(few) < len(logit) / 4
    rng = np.random.default_rng(2)
    total = np.bincount(key, weight)
    for _ in range(200):
        slope, shift = np.exp(rng.uniform(-1.2, 1.2)), rng.uniform(-5.0, 5.0)
        wanted = np.bincount(key, weight * FUNCTIONS[name](slope * logit + shift))
        got = np.bincount(few_key, mass * FUNCTIONS[name](slope * few + shift))
        np.testing.assert_allclose(got, wanted, rtol=0, atol=3e-7 * total.max())
        if slope < 1.0:
            np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-9 * total.max())


def test_rules_have_the_moments_of_the_measure():
    rng = np.random.default_rng(3)
    x, weight = rng.uniform(-1.0, 1.0, (5, 40)), rng.gamma(1.0, 1.0, (5, 40))
    at, mass = gauss_rules(x, weight)
    assert at.shape == mass.shape == (5, ORDER)
    assert (mass > 0.0).all() and (at >= x.min(axis=1)[:, None]).all()
    for power in range(2 * ORDER):
        wanted = (weight * x**power).sum(axis=1)
        np.testing.assert_allclose((mass * at**power).sum(axis=1), wanted, rtol=0, atol=1e-11)
    assert (
        np.abs((mass * at ** (2 * ORDER)).sum(1) - (weight * x ** (2 * ORDER)).sum(1)) > 0
    ).all()


def test_measures_on_few_points_are_kept():
    x = np.array([[0.1, 0.1, 0.4, 0.4, 0.4, -0.3, -0.3, 0.1, 0.4, -0.3], [0.2] * 10])
    weight = np.ones((2, 10))
    at, mass = gauss_rules(x, weight)
    for power in range(20):
        np.testing.assert_allclose(
            (mass * at**power).sum(axis=1), (x**power).sum(axis=1), rtol=0, atol=1e-12
        )


def test_few_nodes_stay():
    key, logit, weight = nodes(4, count=ORDER)
    got = merge(key, logit, weight)
    order = np.lexsort((logit, key))
    for ours, theirs in zip(got, (key, logit, weight), strict=True):
        np.testing.assert_array_equal(ours, theirs[order])


def test_nothing_gives_nothing():
    none = np.zeros(0)
    assert [len(part) for part in merge(none.astype(np.int64), none, none)] == [0, 0, 0]


def test_no_cell_is_wide():
    key, logit, weight = nodes(5, count=5000, keys=1)
    _, few, _ = merge(key, logit, weight)
    cells = np.ceil(np.ptp(logit) / WIDTH)
    assert len(few) == ORDER * cells
    assert np.diff(few[::ORDER]).max() < 1.5 * WIDTH


def test_strata_of_few_or_unequal_rows_keep_their_nodes(rows):

    def nodes_of(weight):
        data = lf.score_data(
            rows.y_true, rows.y_score, sensitive_features=rows.group, sample_weight=weight
        )
        table = lf.score_table(data)
        return table, unlabeled(table)

    plain, merged = nodes_of(None)
    _, doubled = nodes_of(np.full(len(rows.y_score), 2.0))
    table, uneven = nodes_of(np.where(np.arange(len(rows.y_score)) % 2, 1.0, 3.0))
    assert len(merged.base) == len(doubled.base) < len(plain.nodes().stratum) / 2
    np.testing.assert_allclose(doubled.scale, 2.0)
    of_unlabeled = table.nodes().stratum % 3 == 2
    assert len(uneven.base) == of_unlabeled.sum()
    for some in (merged, doubled, uneven):
        sums = np.add.reduceat(some.weight, some.start[:-1])
        np.testing.assert_allclose(sums, some.total, rtol=1e-12)
