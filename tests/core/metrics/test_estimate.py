"""Estimates: numbers of known draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lightfair.core.metrics.estimate import (
    UNDEFINED_LIMIT,
    Estimate,
    check_epsilon,
    check_prob,
    difference,
)

NAN = float("nan")


def known():
    """The 101 numbers -0.5, -0.49, ..., 0.5 in one chain, in no order."""
    return Estimate(np.random.default_rng(0).permutation(np.arange(-50, 51) / 100.0)[None])


def with_nan(share, lack="positive labels"):
    draws = np.linspace(0.2, 0.4, 400).reshape(4, 100)
    draws[:, : round(100 * share)] = NAN
    return Estimate(draws, lack)


def test_known_numbers():
    estimate = known()
    assert estimate.mean == pytest.approx(0.0, abs=1e-15)
    assert estimate.sd == pytest.approx(math.sqrt((101**2 - 1) / 12) / 100)
    assert estimate.interval(0.9) == pytest.approx((-0.45, 0.45))
    assert estimate.interval(0.5) == pytest.approx((-0.25, 0.25))
    assert estimate.prob_greater(0.0) == pytest.approx(50 / 101)
    assert estimate.prob_greater(0.395) == pytest.approx(11 / 101)
    assert estimate.prob_within(0.105) == pytest.approx(21 / 101)
    assert (estimate.undefined, estimate.reason, estimate.exact) == (0.0, None, False)


def test_interval_defaults_to_95_percent():
    assert known().interval() == known().interval(0.95)


def test_numbers_are_plain_floats():
    estimate = known()
    numbers = [estimate.mean, estimate.sd, *estimate.interval(), estimate.prob_greater()]
    assert {type(x) for x in [*numbers, estimate.prob_within(0.1)]} == {float}


def test_within_and_greater_are_strict():
    estimate = Estimate(np.array([[0.0, 0.05, -0.05, 0.04]]))
    assert estimate.prob_within(0.05) == 0.5
    assert estimate.prob_greater(0.04) == 0.25


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 0.7])
def test_a_constant_number_is_itself(value):
    estimate = Estimate(np.full((4, 250), value))
    assert not estimate.exact  # that the draws never saw another number does not make it known
    assert estimate.interval(0.9) == (value, value)
    assert (estimate.mean, estimate.sd) == (value, 0.0)


def test_a_few_undefined_draws_are_left_out():
    estimate = with_nan(UNDEFINED_LIMIT)
    assert estimate.undefined == pytest.approx(UNDEFINED_LIMIT)
    assert estimate.reason is None
    assert estimate.mean == np.nanmean(estimate.draws)
    assert not estimate.exact
    assert len(estimate.defined) == 380


@pytest.mark.parametrize(
    "share, lack, reason",
    [
        (0.06, "positive labels", "no positive labels in 6% of the draws"),
        (1.0, "positive labels", "there are no positive labels"),
        (1.0, "both labels", "a label is missing"),
    ],
)
def test_more_are_undefined_with_a_reason(share, lack, reason):
    estimate = with_nan(share, lack)
    assert estimate.reason == reason
    numbers = [estimate.mean, estimate.sd, *estimate.interval()]
    numbers += [estimate.prob_greater(), estimate.prob_within(0.1)]
    assert all(math.isnan(x) for x in numbers)
    assert not estimate.exact


def test_difference_is_draw_by_draw():
    draws = np.random.default_rng(1).random((2, 50, 3))
    draws[1, 7, 0] = NAN
    delta = difference(draws, 2, 0, "rows")
    np.testing.assert_array_equal(delta.draws, draws[..., 2] - draws[..., 0])
    assert delta.undefined == 0.01
    assert difference(draws, 0, 2, "rows").mean == pytest.approx(-delta.mean)


@pytest.mark.parametrize("prob", [0.0, 1.0, -0.1, 95, NAN])
def test_prob_out_of_range(prob):
    with pytest.raises(ValueError, match=r"prob must lie in \(0, 1\); got .*; 0.95 is 95 %"):
        check_prob(prob)
    with pytest.raises(ValueError, match="prob must"):
        known().interval(prob)


@pytest.mark.parametrize("epsilon", [0.0, np.inf, -0.1, NAN])
def test_epsilon_out_of_range(epsilon):
    with pytest.raises(ValueError, match=r"epsilon must lie in \(0, 1\); got"):
        check_epsilon(epsilon)
    with pytest.raises(ValueError, match=r"epsilon must lie in \(0, 5\); got"):
        check_epsilon(epsilon, 5.0)
    with pytest.raises(ValueError, match="epsilon must"):
        known().prob_within(epsilon)
