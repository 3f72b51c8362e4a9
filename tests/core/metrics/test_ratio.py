"""Ratios: the log scale, denominators of 0, four fifths."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lightfair.core.metrics.estimate import Ratio, ratio

NAN, INF = float("nan"), float("inf")


def of(top, bottom, **options):
    draws = np.stack([np.asarray(top, float), np.asarray(bottom, float)], axis=-1)[None]
    return ratio(draws, 0, 1, "positive labels", **options)


def known():
    """Ratios 2^-2, 2^-1, 1, 2, 2^2."""
    return of([0.1, 0.2, 0.4, 0.8, 0.8], [0.4, 0.4, 0.4, 0.4, 0.2])


def test_draw_by_draw_with_every_kind_of_denominator():
    one = of([0.4, 0.4, 0.0, 0.0, NAN, 0.4], [0.2, 0.0, 0.0, 0.2, 0.5, NAN])
    np.testing.assert_array_equal(one.draws, [[2.0, INF, NAN, 0.0, NAN, NAN]])
    assert one.zero_denominator == pytest.approx(2 / 6)
    assert one.zero_by_zero == pytest.approx(1 / 6)
    assert one.undefined == 0.5
    assert math.isnan(one.median) and math.isnan(one.geometric_mean)


def test_quantiles_and_mean_are_of_the_log():
    one = known()
    logs = np.log2(one.draws)
    assert one.median == 1.0
    assert one.geometric_mean == pytest.approx(1.0)
    assert one.interval(0.5) == pytest.approx((0.5, 2.0))
    low, high = one.interval(0.75)
    assert (low, high) == pytest.approx(tuple(2.0 ** np.quantile(logs, [0.125, 0.875])))


def test_the_inverse_is_the_ratio_of_the_other_way():
    draws = np.random.default_rng(0).uniform(0.05, 0.95, (2, 200, 2))
    one, back = (ratio(draws, *pair, "rows") for pair in ((0, 1), (1, 0)))
    assert one.median == pytest.approx(1.0 / back.median)
    assert one.geometric_mean == pytest.approx(1.0 / back.geometric_mean)
    assert one.interval(0.9) == pytest.approx(tuple(1.0 / end for end in back.interval(0.9)[::-1]))
    assert one.prob_within(0.8) == back.prob_within(0.8)
    assert one.prob_below(0.8) == back.prob_above(1.25)


def test_a_group_over_itself_is_1():
    draws = np.random.default_rng(0).random((2, 50, 2))
    one = ratio(draws, 1, 1, "rows")
    assert (one.draws == 1.0).all()
    assert (one.median, one.geometric_mean, one.interval()) == (1.0, 1.0, (1.0, 1.0))


def test_equal_up_to_rounding_is_equal():
    assert of([0.1 + 0.2], [0.3]).draws.item() == 1.0


def test_infinite_ratios_are_kept():
    one = of([0.5] * 10, [0.25] * 6 + [0.0] * 4)
    assert one.median == 2.0
    assert one.interval(0.5) == (2.0, INF)
    assert one.geometric_mean == INF
    assert one.prob_above(1.0) == 1.0
    assert one.prob_within(0.8) == 0.0
    assert one.reason is None


def test_between_0_and_infinite_there_is_no_mean():
    one = of([0.0, 0.5, 0.5], [0.5, 0.5, 0.0])
    assert math.isnan(one.geometric_mean)
    assert one.median == 1.0
    assert one.interval(0.9) == (0.0, INF)
    assert of([0.0, 0.5], [0.5, 0.0]).interval(0.9) == (0.0, INF)


def test_zero_by_zero_is_undefined_with_a_reason():
    one = of([0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.5, 0.5])
    assert one.reason == "both numbers are 0 in 50% of the draws"
    assert of([0.0], [0.0]).reason == "both numbers are 0"
    assert of([NAN], [0.5]).reason == "there are no positive labels"
    values = [one.median, *one.interval(), one.prob_below(0.8), one.prob_within()]
    assert all(math.isnan(value) for value in values)


def test_a_few_undefined_draws_are_left_out():
    one = of([0.0] + [0.5] * 19, [0.0] + [0.25] * 19)
    assert one.reason is None
    assert one.zero_by_zero == 0.05
    assert one.median == 2.0


@pytest.mark.parametrize(
    "top, bottom, within", [(0.24, 0.3, 1.0), (0.3, 0.24, 1.0), (0.239, 0.3, 0.0), (0.4, 0.4, 1.0)]
)
def test_four_fifths_is_inclusive_both_ways(top, bottom, within):
    one = of([top], [bottom], exact=True)
    assert one.prob_within(0.8) == within
    assert one.exact


def test_below_is_strict_up_to_rounding():
    one = of([0.24, 0.2], [0.3, 0.3])
    assert one.prob_below(0.8) == 0.5
    assert one.prob_above(0.8) == 0.0


@pytest.mark.parametrize("limit", [0.0, -0.1, 1.01, NAN, "0.8", True])
def test_limit_out_of_range(limit):
    with pytest.raises(ValueError, match=r"limit must lie in \(0, 1\]; got .*; four fifths is 0.8"):
        Ratio(np.ones((1, 4))).prob_within(limit)


def test_numbers_are_plain_floats():
    one = known()
    numbers = [
        one.median,
        one.geometric_mean,
        *one.interval(),
        one.prob_below(1),
        one.prob_within(),
    ]
    assert {type(x) for x in numbers} == {float}
