"""Merged nodes against the nodes that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from lightfair.core.data.logit import sigmoid
from lightfair.core.data.quadrature import ORDER, gauss_rules, merge

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
    merged_key, merged, mass = merge(key, logit, weight)
    assert len(merged) < len(logit) / 4
    rng = np.random.default_rng(2)
    total = np.bincount(key, weight)
    for _ in range(200):
        slope, shift = np.exp(rng.uniform(-1.2, 1.2)), rng.uniform(-5.0, 5.0)
        expected = np.bincount(key, weight * FUNCTIONS[name](slope * logit + shift))
        got = np.bincount(merged_key, mass * FUNCTIONS[name](slope * merged + shift))
        np.testing.assert_allclose(got, expected, rtol=0, atol=3e-7 * total.max())
        if slope < 1.0:
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9 * total.max())


def test_rules_have_the_moments_of_the_measure():
    rng = np.random.default_rng(3)
    x, weight = rng.uniform(-1.0, 1.0, (5, 40)), rng.gamma(1.0, 1.0, (5, 40))
    at, mass = gauss_rules(x, weight)
    assert at.shape == mass.shape == (5, ORDER)
    assert (mass > 0.0).all() and (at >= x.min(axis=1)[:, None]).all()
    for power in range(2 * ORDER):
        expected = (weight * x**power).sum(axis=1)
        np.testing.assert_allclose((mass * at**power).sum(axis=1), expected, rtol=0, atol=1e-11)


def test_measures_on_few_points_are_kept():
    x = np.array([[0.1, 0.1, 0.4, 0.4, 0.4, -0.3, -0.3, 0.1, 0.4, -0.3], [0.2] * 10])
    weight = np.ones((2, 10))
    at, mass = gauss_rules(x, weight)
    for power in range(20):
        moment = (mass * at**power).sum(axis=1)
        np.testing.assert_allclose(moment, (x**power).sum(axis=1), rtol=0, atol=1e-12)


def test_few_nodes_stay():
    for count in (0, ORDER):
        given = nodes(4, count=count)
        order = np.lexsort(given[1::-1])
        for left, right in zip(merge(*given), given, strict=True):
            np.testing.assert_array_equal(left, right[order])
