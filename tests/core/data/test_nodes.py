"""Nodes: sums over nodes are sums over rows; what becomes a point and what a cell."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tables import draw, table_of

from lightfair.core.data.logit import logit_of
from lightfair.core.data.nodes import CELL_WIDTH, UNLABELED, gauss_rule

ROWS = 6000
SCORES = {
    "beta": lambda rng, n: rng.beta(1.2, 1.4, n),
    "extreme": lambda rng, n: np.clip(rng.beta(0.05, 0.05, n), 1e-15, 1 - 1e-15),
    "forest": lambda rng, n: rng.integers(0, 101, n) / 100.0,
}


@pytest.mark.parametrize("clip", [0.01, 1e-9])
@pytest.mark.parametrize("kind", SCORES)
def test_sums_over_nodes_are_sums_over_rows(kind, clip):
    score = SCORES[kind](np.random.default_rng(0), ROWS)
    nodes = table_of(score, clip=clip).nodes()
    rows = logit_of(score, clip)
    slopes = [math.exp(x) for x in (-1.2, 0.0, 1.2)]
    errors = []
    for a, b, c in itertools.product(slopes, slopes, [-5.0, -1.0, 0.0, 2.0, 5.0]):

        def odds(logit, a=a, b=b, c=c):
            return c - a * np.logaddexp(0.0, -logit) + b * np.logaddexp(0.0, logit)

        for smooth in (lambda o: np.logaddexp(0.0, o), lambda o: 0.5 + 0.5 * np.tanh(0.5 * o)):
            got = (nodes.weight * smooth(odds(nodes.logit))).sum()
            errors.append(abs(got - smooth(odds(rows)).sum()) / ROWS)
    assert np.mean(errors) < 2e-9
    assert max(errors) < 1e-8


def test_gauss_rule_keeps_mass_and_three_moments():
    score, label, group, weight = draw("spread", count=6000)
    cells = table_of(score, label, group, sample_weight=weight).cells
    nodes = gauss_rule(cells)
    mass = np.where(cells.stratum % 3 != UNLABELED, cells.rows, cells.weight)
    assert (nodes.weight >= 0.0).all() and len(cells.cell) > 100
    index = np.floor(nodes.logit / CELL_WIDTH).astype(int)
    for i, at in enumerate((cells.cell + 0.5) * CELL_WIDTH):
        here = (nodes.stratum == cells.stratum[i]) & (index == cells.cell[i])
        expected = [mass[i], cells.power1[i], cells.power2[i], cells.power3[i]]
        for k in range(4):
            moment = (nodes.weight[here] * (nodes.logit[here] - at) ** k).sum()
            assert math.isclose(moment, expected[k], rel_tol=1e-9, abs_tol=1e-12)


def test_labeled_nodes_count_rows_and_unlabeled_ones_weights():
    table = table_of([0.3, 0.3, 0.4], [0, 0, -1], sample_weight=[5, 7, 11])
    assert table.nodes().weight.tolist() == [2.0, 11.0]
    np.testing.assert_allclose(table.nodes().scale, [(25 + 49) / 12, 11.0])


def test_rows_twice_equal_weight_two():
    score, label, group, _ = draw("spread")
    double = table_of(*(np.concatenate([column, column]) for column in (score, label, group)))
    heavy = table_of(score, label, group, sample_weight=np.full(len(score), 2.0))
    np.testing.assert_array_equal(double.sums("weight"), heavy.sums("weight"))
    one, two = double.nodes(), heavy.nodes()
    unlabeled = one.stratum % 3 == UNLABELED
    np.testing.assert_allclose(one.logit, two.logit, atol=1e-9)
    np.testing.assert_allclose(one.weight[unlabeled], two.weight[unlabeled], rtol=1e-6)
