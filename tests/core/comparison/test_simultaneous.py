"""Simultaneous intervals: the level that they are of, their shape, what is left out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtri

from lightfair.core.comparison.gaps import Cell, simultaneous
from lightfair.core.metrics.estimate import Estimate


def cells(draws, **options):
    """Estimates of draws (chain, draw, cell)."""
    draws = np.asarray(draws, dtype=float)
    return {
        Cell("tpr", chr(66 + i), "A"): Estimate(draws[..., i], "positive labels", **options)
        for i in range(draws.shape[-1])
    }


def normal(count, size=4000, seed=0, shared=0.0):
    rng = np.random.default_rng(seed)
    own, common = rng.standard_normal((4, size // 4, count)), rng.standard_normal((4, size // 4, 1))
    return 0.05 * (math.sqrt(1 - shared) * own + math.sqrt(shared) * common)


@pytest.mark.parametrize("prob", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("count", [1, 3, 20])
def test_the_share_of_draws_in_all_intervals_is_prob(prob, count):
    draws = normal(count, shared=0.3) ** 3  # skew and heavy tails make no difference
    found = simultaneous(cells(draws), prob)
    inside = ((draws >= found.low) & (draws <= found.high)).all(axis=-1)
    assert inside.mean() == pytest.approx(prob, abs=2e-3)


def test_the_level_where_nothing_differs():
    """F29: three groups of one reference, three metrics, all equal: 95 % of 800 data sets.

    Estimates have the error that the posterior says; its Monte Carlo error is 0.8 %.
    """
    rng = np.random.default_rng(5)
    held, plain = 0, 0
    for _ in range(800):
        sd = 0.05 * np.exp(0.4 * rng.standard_normal((4, 3)))
        seen = sd * rng.standard_normal((4, 3))  # of groups and metrics, around the same truth
        draws = seen + sd * rng.standard_normal((500, 4, 3))
        deltas = (draws[:, 1:] - draws[:, :1]).reshape(1, 500, 9)
        found = simultaneous(cells(deltas), 0.95)
        held += bool(((found.low <= 0.0) & (found.high >= 0.0)).all())
        low, high = np.quantile(deltas[0], [0.025, 0.975], axis=0)
        plain += bool(((low <= 0.0) & (high >= 0.0)).all())
    assert held / 800 == pytest.approx(0.95, abs=0.025)
    assert plain / 800 < 0.8


def test_one_interval_is_nearly_the_central_one():
    draws = normal(1, size=20_000)
    found = simultaneous(cells(draws), 0.95)
    low, high = np.quantile(draws, [0.025, 0.975])
    assert found.interval("tpr", "B") == pytest.approx((low, high), abs=0.004)


def test_independent_intervals_are_as_wide_as_sidak_says():
    found = simultaneous(cells(normal(10, size=40_000)), 0.95)
    expected = float(ndtri(0.5 * (1.0 + 0.95**0.1)))
    assert found.factor == pytest.approx(expected, rel=0.03)


def test_correlated_intervals_are_narrower():
    apart, together = (
        simultaneous(cells(normal(10, shared=rho)), 0.95).factor for rho in (0.0, 0.9)
    )
    assert together < 0.9 * apart


def test_a_skewed_posterior_gets_a_skewed_interval():
    draws = np.random.default_rng(0).exponential(0.1, (4, 2000, 2))
    found = simultaneous(cells(draws), 0.95)
    assert ((found.high - found.median) > 2.0 * (found.median - found.low)).all()
    mirrored = simultaneous(cells(-draws), 0.95)
    np.testing.assert_allclose(mirrored.low, -found.high)
    np.testing.assert_allclose(mirrored.high, -found.low)


def test_exact_and_undefined_cells_are_left_out_with_a_reason():
    given = cells(normal(3))
    given[Cell("selection_rate", "B", "A")] = Estimate(np.full((4, 1000), 0.1), "rows", exact=True)
    given[Cell("tpr", "X", "A")] = Estimate(np.full((4, 1000), np.nan), "positive labels")
    given[Cell("tpr", "Y", "A")] = Estimate(np.full((4, 1000), 0.2), "positive labels")
    found = simultaneous(given, 0.95)
    assert [cell.group for cell in found.cells] == ["B", "C", "D"]
    assert list(found.left_out.values()) == [
        "known exactly",
        "there are no positive labels",
        "it is the same in all draws",
    ]
    np.testing.assert_array_equal(found.low, simultaneous(cells(normal(3)), 0.95).low)
    with pytest.raises(ValueError, match="no interval of tpr for X: there are no positive labels"):
        found.interval("tpr", "X")
    with pytest.raises(ValueError, match="no interval of 'ppv' for 'B'; there are tpr for B, "):
        found.interval("ppv", "B")
    values = found.to_dict()
    assert len(values["intervals"]) == 3 and len(values["left_out"]) == 3
    assert values["factor"] == found.factor


def test_nothing_to_say():
    found = simultaneous(cells(np.full((4, 100, 2), 0.1), exact=True), 0.9)
    assert found.cells == () and math.isnan(found.factor)
    assert found.to_dict()["factor"] is None and found.to_dict()["intervals"] == []


def test_intervals_end_where_a_difference_cannot_be():
    draws = 0.9 + normal(2)
    found = simultaneous(cells(draws), 0.95, {"tpr": (-1.0, 1.0)})
    assert (found.high <= 1.0).all() and (found.low < found.high).all()


def test_a_few_undefined_draws_are_outside_of_nothing():
    draws = normal(2)
    holes = draws.copy()
    holes[0, :20, 0] = np.nan
    one, two = (simultaneous(cells(given), 0.95) for given in (draws, holes))
    np.testing.assert_allclose(one.low, two.low, atol=0.003)


@pytest.mark.parametrize("prob", [0.0, 1.0, 95])
def test_prob_out_of_range(prob):
    with pytest.raises(ValueError, match="prob must lie in"):
        simultaneous(cells(normal(1)), prob)
