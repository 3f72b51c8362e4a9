"""Estimates and ratios of known draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lightfair.core.metrics.estimate import (
    UNDEFINED_LIMIT,
    Estimate,
    Gap,
    Ratio,
    check_epsilon,
    check_prob,
    ratio,
)

NAN, INF = math.nan, math.inf


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
    assert estimate.interval() == estimate.interval(0.95)


def test_an_estimate_is_shown_with_the_interval_of_its_assessment():
    draws = np.arange(101)[None] / 100.0
    assert str(Estimate(draws, prob=0.8)) == "0.500 [0.100, 0.900]"
    text = "<Estimate: 0.250 [-0.225, 0.725], P(>0) 0.743>"
    assert repr(Estimate(draws - 0.25, signed=True)) == text
    text = "0.500 [0.100, 0.900], likeliest B minus A (0.250)"
    assert str(Gap(draws, prob=0.8, which=("B", "A"), prob_which=0.25)) == text
    assert Gap(draws, prob=0.8).upper() == pytest.approx(0.8)
    assert str(Ratio(np.array([[2.0]]), exact=True)) == "2.000 (exact)"
    for value, text in ((-0.0003, "-0.0003"), (2e-8, "0.00000002"), (1e-17, "0.000"), (0, "0.000")):
        assert str(Estimate(np.array([[value]]), exact=True)) == f"{text} (exact)"
    text = "0.500 [0.500, infinite], P(four fifths) <0.001"
    assert str(Ratio(np.array([[0.5, 0.5, INF]]))) == text
    assert str(with_nan(0.5)) == "undefined, no positive labels in 50% of the draws"
    assert Estimate(np.array([[0.5]]), exact=True)._repr_html_() == "<code>0.500 (exact)</code>"


def test_the_interval_holds_what_is_shown_beside_it():
    """97.6 % of the draws are 0: not 0.007 [0.000, 0.000]."""
    draws = np.zeros((1, 1000))
    draws[0, :24] = 0.3
    one = Estimate(draws)
    assert one.mean == pytest.approx(0.0072) and one.interval() == (0.0, 0.0)
    assert (one.middle(), str(one)) == (0.0, "0.000 [0.000, 0.000]")
    assert one.middle(0.99) == one.mean and str(Estimate(draws, prob=0.99))[:14] == "0.007 [0.000, "
    third = Estimate(np.full((1, 7), 1 / 3))
    assert third.middle() == third.mean


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


# ratios


def of(top, bottom, **options):
    draws = np.stack([np.asarray(top, float), np.asarray(bottom, float)], axis=-1)[None]
    return ratio(draws, 0, 1, "positive labels", **options)


def powers():
    """Ratios 2^-2, 2^-1, 1, 2, 2^2."""
    return of([0.1, 0.2, 0.4, 0.8, 0.8], [0.4, 0.4, 0.4, 0.4, 0.2])


def test_draw_by_draw_with_every_kind_of_denominator():
    one = of([0.4, 0.4, 0.0, 0.0, NAN, 0.4], [0.2, 0.0, 0.0, 0.2, 0.5, NAN])
    np.testing.assert_array_equal(one.draws, [[2.0, INF, NAN, 0.0, NAN, NAN]])
    assert one.zero_by_zero == pytest.approx(1 / 6)
    assert one.undefined == 0.5
    assert math.isnan(one.median)


def test_quantiles_are_of_the_log():
    one = powers()
    logs = np.log2(one.draws)
    assert one.median == 1.0
    assert one.interval(0.5) == pytest.approx((0.5, 2.0))
    low, high = one.interval(0.75)
    assert (low, high) == pytest.approx(tuple(2.0 ** np.quantile(logs, [0.125, 0.875])))


def test_the_inverse_is_the_ratio_of_the_other_way():
    draws = np.random.default_rng(0).uniform(0.05, 0.95, (2, 200, 2))
    one, back = (ratio(draws, *pair, "rows") for pair in ((0, 1), (1, 0)))
    assert one.median == pytest.approx(1.0 / back.median)
    assert one.interval(0.9) == pytest.approx(tuple(1.0 / end for end in back.interval(0.9)[::-1]))
    assert one.prob_within(0.8) == back.prob_within(0.8)


def test_infinite_ratios_are_kept():
    one = of([0.5] * 10, [0.25] * 6 + [0.0] * 4)
    assert one.median == 2.0
    assert one.interval(0.5) == (2.0, INF)
    assert one.prob_within(0.8) == 0.0
    assert one.reason is None


def test_between_0_and_infinite_the_nearer_end_counts():
    one = of([0.0, 0.5, 0.5], [0.5, 0.5, 0.0])
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


def test_a_few_zeros_by_zero_are_left_out():
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


@pytest.mark.parametrize("limit", [0.0, -0.1, 1.01, NAN, "0.8", True])
def test_limit_out_of_range(limit):
    with pytest.raises(ValueError, match=r"limit must lie in \(0, 1\]; got .*; four fifths is 0.8"):
        Ratio(np.ones((1, 4))).prob_within(limit)
