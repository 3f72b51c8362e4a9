"""Comparisons among groups: against naive loops, and what must be the same by definition."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from lightfair.core.comparison.gaps import (
    CRITERIA,
    ByGroup,
    against_overall,
    against_rest,
    between_group_sd,
    criterion_metrics,
    larger_gap,
    largest_gap,
    pair_indices,
    pairs,
)
from lightfair.core.metrics.estimate import Gap, difference

NAN = float("nan")


def by_group(draws, known=False):
    draws = np.asarray(draws, dtype=float)
    groups = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: draws.shape[-1]])
    return ByGroup(draws, groups, "positive labels", np.full(len(groups), known))


def random(groups, seed=0, size=(2, 60)):
    """Rates of tenths, so that there are ties."""
    rng = np.random.default_rng(seed)
    return rng.integers(2, 9, (*size, groups)) / 10


def naive_largest(draws):
    """Share of draws in which each pair has the largest absolute gap, ties split."""
    flat = draws.reshape(-1, draws.shape[-1])
    share = dict.fromkeys(itertools.combinations(range(draws.shape[-1]), 2), 0.0)
    for row in flat:
        gaps = {pair: abs(row[pair[0]] - row[pair[1]]) for pair in share}
        top = [pair for pair, gap in gaps.items() if gap > max(gaps.values()) - 1e-12]
        for pair in top:
            share[pair] += 1.0 / len(top) / len(flat)
    return share


@pytest.mark.parametrize("groups", [2, 3, 5, 20])
def test_pairs_are_those_of_loops(groups):
    draws = random(groups, groups)
    found = pairs(by_group(draws))
    assert len(found) == groups * (groups - 1) // 2
    share = naive_largest(draws)
    for pair in found:
        one, two = (ord(name) - 65 for name in (pair.group, pair.reference))
        np.testing.assert_array_equal(pair.estimate.draws, difference(draws, one, two, "").draws)
        assert pair.prob_largest == pytest.approx(share[min(one, two), max(one, two)], abs=1e-12)
    assert sum(pair.prob_largest for pair in found) == pytest.approx(1.0)


def test_the_reference_is_subtracted():
    assert pair_indices(3) == [(1, 0), (2, 0), (2, 1)]
    assert pair_indices(3, 1) == [(0, 1), (2, 1), (2, 0)]
    names = [(p.group, p.reference) for p in pairs(by_group(random(3)), base=2)]
    assert names == [("A", "C"), ("B", "C"), ("B", "A")]


def test_pairs_are_antisymmetric():
    draws = random(2)
    (one,), (two,) = (pairs(by_group(draws), base) for base in (0, 1))
    np.testing.assert_array_equal(one.estimate.draws, -two.estimate.draws)
    assert one.prob_largest == two.prob_largest == 1.0


def test_exact_rates_have_pairs_and_ties():
    by = by_group(np.broadcast_to([0.2, 0.5, 0.5, 0.3], (2, 10, 4)), known=True)
    found = {(p.group, p.reference): p for p in pairs(by)}
    assert all(p.estimate.exact for p in found.values())
    assert found["B", "A"].prob_largest == found["C", "A"].prob_largest == 0.5
    gap = largest_gap(by)
    assert gap.exact and gap.median == pytest.approx(0.3)
    assert gap.which in (("B", "A"), ("C", "A"))
    assert between_group_sd(by).median == pytest.approx(np.std([0.2, 0.5, 0.5, 0.3]))
    equal = by_group(np.full((2, 10, 3), 0.3), known=True)
    assert [p.prob_largest for p in pairs(equal)] == pytest.approx([1 / 3] * 3)
    assert largest_gap(equal).interval() == (0.0, 0.0)


def test_the_largest_gap_is_max_minus_min():
    draws = random(5)
    gap = largest_gap(by_group(draws))
    np.testing.assert_allclose(gap.draws, draws.max(-1) - draws.min(-1))
    share = naive_largest(draws)
    best = max(share, key=share.__getitem__)
    assert {ord(name) - 65 for name in gap.which} == set(best)
    assert gap.prob_which == pytest.approx(share[best])
    assert gap.prob_within(0.55) == pytest.approx((gap.draws < 0.55).mean())
    assert gap.upper(0.9) == pytest.approx(np.quantile(gap.draws, 0.9))


def test_the_higher_group_comes_first():
    draws = np.stack([np.full((1, 10), 0.2), np.full((1, 10), 0.6)], axis=-1)
    draws[0, :2, 1] = 0.1
    gap = largest_gap(by_group(draws))
    assert gap.which == ("B", "A") and gap.prob_which == 1.0


def test_an_undefined_group_is_left_out_and_named():
    draws = random(4)
    draws[..., 2] = NAN
    by = by_group(draws)
    rest = by_group(draws[..., [0, 1, 3]])
    gap = largest_gap(by)
    assert gap.left_out == ("C",) and gap.reason is None
    np.testing.assert_array_equal(gap.draws, largest_gap(rest).draws)
    found = {(p.group, p.reference): p for p in pairs(by)}
    assert len(found) == 6
    assert found["C", "A"].estimate.reason == "there are no positive labels"
    assert math.isnan(found["C", "A"].prob_largest)
    assert sum(p.prob_largest for p in found.values() if p.group + p.reference in "BA DA DB") > 0.99
    assert between_group_sd(by).left_out == ("C",)
    one = against_rest(by, 0, np.array([1.0, 2.0, 3.0, 4.0]))
    assert one.left_out == ("C",)
    expected = draws[..., 0] - draws[..., [1, 3]] @ [1 / 3, 2 / 3]
    np.testing.assert_allclose(one.draws, expected, atol=1e-12)
    own = against_rest(by, 2, np.ones(4))
    assert own.reason == "there are no positive labels" and own.left_out == ()


def test_without_two_defined_groups_there_is_no_gap():
    draws = random(3)
    draws[..., 1:] = NAN
    by = by_group(draws)
    for one in (largest_gap(by), between_group_sd(by), against_rest(by, 0, np.ones(3))):
        assert one.reason == "there are no positive labels"
        assert one.left_out == ("B", "C")
    assert math.isnan(largest_gap(by).median) and largest_gap(by).which == ()
    assert all(math.isnan(p.prob_largest) for p in pairs(by))


def test_a_few_undefined_draws_are_undefined_draws():
    draws = random(3, size=(1, 100))
    draws[0, :3, 1] = NAN
    gap = largest_gap(by_group(draws))
    assert gap.left_out == () and gap.undefined == 0.03 and gap.reason is None
    assert between_group_sd(by_group(draws)).undefined == 0.03
    assert sum(p.prob_largest for p in pairs(by_group(draws))) == pytest.approx(1.0)


def test_many_groups_with_a_few_each_are_undefined_with_a_reason():
    draws = random(20, size=(1, 200))
    for group in range(20):
        draws[0, 5 * group : 5 * group + 5, group] = NAN
    gap = largest_gap(by_group(draws))
    assert gap.left_out == () and gap.reason == "no positive labels in 50% of the draws"


def test_rest_of_two_groups_is_the_difference():
    draws = random(2)
    rest = against_rest(by_group(draws), 1, np.array([3.0, 1.0]))
    np.testing.assert_allclose(rest.draws, difference(draws, 1, 0, "").draws)


def test_rest_is_the_weighted_mean_of_the_others():
    draws, weight = random(4), np.array([1.0, 2.0, 3.0, 4.0])
    rest = against_rest(by_group(draws), 2, weight)
    for chain, draw in np.ndindex(*draws.shape[:2]):
        row = draws[chain, draw]
        expected = row[2] - (row[0] * 1 + row[1] * 2 + row[3] * 4) / 7
        assert rest.draws[chain, draw] == pytest.approx(expected, abs=1e-12)


def test_against_overall():
    draws = random(3)
    overall = np.full(draws.shape[:2], 0.4)
    one = against_overall(by_group(draws, known=True), 1, overall)
    np.testing.assert_allclose(one.draws, np.round(draws[..., 1] - 0.4, 12), atol=1e-14)
    assert one.exact


def test_a_gap_has_no_direction():
    assert not hasattr(Gap, "prob_greater") and not hasattr(Gap, "mean")


# the sd between groups


def simulated(groups, se, tau, seed, draws=800):
    rng = np.random.default_rng(seed)
    truth = 0.5 + tau * rng.standard_normal(groups)
    error = se * np.exp(0.3 * rng.standard_normal(groups))
    seen = truth + error * rng.standard_normal(groups)
    return truth.std(), by_group((seen + error * rng.standard_normal((draws, groups)))[None])


@pytest.mark.parametrize("groups, se, share", [(3, 0.03, 0.7), (8, 0.03, 0.5), (20, 0.1, 0.3)])
def test_the_sd_is_near_0_at_equality(groups, se, share):
    """Draw by draw it is about as large as the errors; under the model it is well below them."""
    found, naive = [], []
    for seed in range(40):
        _, by = simulated(groups, se, 0.0, seed)
        found.append(between_group_sd(by).median)
        naive.append(np.median(by.draws.std(axis=-1)))
    assert np.mean(naive) > 0.9 * se
    assert np.mean(found) < share * np.mean(naive)


def test_the_sd_shrinks_as_errors_do():
    medians = [
        np.mean([between_group_sd(simulated(3, se, 0.0, seed)[1]).median for seed in range(20)])
        for se in (0.1, 0.03, 0.01, 0.001)
    ]
    assert medians == sorted(medians, reverse=True) and medians[-1] < 0.001


@pytest.mark.parametrize("groups, tau, se", [(3, 0.1, 0.02), (8, 0.05, 0.03), (8, 0.15, 0.03)])
def test_the_sd_covers_where_groups_differ(groups, tau, se):
    """95 % intervals of 100 data sets: at least 88, which 95 % intervals miss once in 200 times."""
    covered = 0
    for seed in range(100):
        truth, by = simulated(groups, se, tau, seed)
        low, high = between_group_sd(by).interval()
        covered += low <= truth <= high
    assert covered >= 88


def test_without_errors_the_sd_is_that_of_the_groups():
    centre = np.array([0.2, 0.4, 0.5, 0.9])
    noise = 1e-6 * np.random.default_rng(0).standard_normal((1, 400, 4))
    low, high = between_group_sd(by_group(centre + noise)).interval()
    assert low == pytest.approx(centre.std(), abs=1e-5)
    assert high == pytest.approx(centre.std(), abs=1e-5)


def test_a_known_group_among_others():
    draws = np.full((1, 500, 3), 0.5)
    draws[..., 1:] += 0.05 * np.random.default_rng(1).standard_normal((1, 500, 2))
    by = replace(by_group(draws), known=np.array([True, False, False]))
    found = between_group_sd(by)
    assert not found.exact and 0.0 < found.median < 0.05


def test_the_sd_of_two_groups_is_half_their_difference():
    draws = 1e-5 * np.random.default_rng(0).standard_normal((1, 300, 2)) + [0.3, 0.7]
    assert between_group_sd(by_group(draws)).median == pytest.approx(0.2, abs=1e-4)


def test_pooled_draws_are_read_both_ways():
    """Drawn together already, they are neither drawn together again nor left as they are alone."""
    _, by = simulated(6, 0.05, 0.05, 2)
    as_they_are = by.draws.std(axis=-1)
    once, both = between_group_sd(by), between_group_sd(replace(by, pooled=True))
    np.testing.assert_array_equal(both.draws[0, 1::2], as_they_are[0, 1::2])
    np.testing.assert_array_equal(both.draws[0, ::2], once.draws[0, ::2])
    (low, high), upper = both.interval(), once.upper(0.95)
    assert low < np.quantile(as_they_are, 0.05) and high > upper


def test_the_sd_covers_where_groups_differ_and_a_model_drew_them_together():
    """Draws that are shrunk by half: what a prior does that holds groups to be alike."""
    covered, alone = 0, 0
    for seed in range(60):
        truth, by = simulated(12, 0.05, 0.08, seed)
        share = 0.08**2 / (0.08**2 + 0.05**2)
        middle, rng = by.draws.mean(), np.random.default_rng([seed, 1])
        mean = middle + share * (by.draws.mean(axis=1, keepdims=True) - middle)
        drawn = mean + 0.05 * share**0.5 * rng.standard_normal(by.draws.shape)
        pooled = replace(by, draws=drawn, pooled=True)
        covered += truth <= between_group_sd(pooled).upper(0.95)
        alone += truth <= between_group_sd(replace(pooled, pooled=False)).upper(0.95)
    assert covered >= 52 > alone


def test_the_sd_is_deterministic_and_the_same_for_groups_in_another_order():
    _, by = simulated(5, 0.05, 0.05, 1)
    one = between_group_sd(by)
    np.testing.assert_array_equal(one.draws, between_group_sd(by).draws)
    turned = replace(by, draws=by.draws[..., ::-1])
    assert between_group_sd(turned).median == pytest.approx(one.median, rel=1e-6)


# criteria


def test_equalized_odds_is_the_larger_gap_of_each_draw():
    draws = {name: random(2, seed) for seed, name in enumerate(("tpr", "fpr"))}
    differences = {name: difference(d, 1, 0, "rows") for name, d in draws.items()}
    gap = larger_gap(differences)
    for chain, draw in np.ndindex(*gap.draws.shape):
        sizes = [abs(d[chain, draw, 1] - d[chain, draw, 0]) for d in draws.values()]
        assert gap.draws[chain, draw] == pytest.approx(max(sizes), abs=1e-12)
    assert gap.which in (("tpr",), ("fpr",))
    assert 0.5 <= gap.prob_which <= 1.0
    for epsilon in (0.15, 0.35):
        each = [abs(d[..., 1] - d[..., 0]) < epsilon for d in draws.values()]
        assert gap.prob_within(epsilon) == pytest.approx((each[0] & each[1]).mean())


def test_equalized_odds_with_an_undefined_rate_is_undefined():
    tpr = np.full((1, 20, 2), NAN)
    parts = {
        "tpr": difference(tpr, 1, 0, "positive labels"),
        "fpr": difference(random(2, size=(1, 20)), 1, 0, "negative labels"),
    }
    gap = larger_gap(parts)
    assert gap.reason == "there are no positive labels" and math.isnan(gap.prob_within(0.1))


def test_an_unknown_criterion_lists_those_there_are():
    with pytest.raises(ValueError, match="unknown criterion 'parity'; known: demographic_parity, "):
        criterion_metrics("parity")
    assert criterion_metrics("equalized_odds") == ("tpr", "fpr")
    assert len(CRITERIA) == 7
