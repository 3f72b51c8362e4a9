"""Comparisons among groups: naive loops, identities, coverage, simultaneous intervals."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from asking import ask, by_group
from scipy.special import ndtri

from lightfair.core.comparison.gaps import (
    Cell,
    against_overall,
    against_rest,
    between_group_sd,
    larger_gap,
    largest_gap,
    pair_indices,
    pairs,
    simultaneous,
)
from lightfair.core.metrics.definitions import Metric, theta
from lightfair.core.metrics.estimate import Estimate, Gap

NAN = float("nan")


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
def test_pairs_against_loops(groups):
    draws = random(groups, groups)
    found = pairs(by_group(draws))
    assert len(found) == groups * (groups - 1) // 2
    share = naive_largest(draws)
    for pair in found:
        one, two = (ord(name) - 65 for name in (pair.group, pair.reference))
        np.testing.assert_array_equal(pair.estimate.draws, draws[..., one] - draws[..., two])
        assert pair.prob_largest == pytest.approx(share[min(one, two), max(one, two)], abs=1e-12)
    assert sum(pair.prob_largest for pair in found) == pytest.approx(1.0)


def test_the_reference_is_subtracted():
    draws = random(2)
    (one,), (two,) = (pairs(by_group(draws), base) for base in (0, 1))
    np.testing.assert_array_equal(one.estimate.draws, -two.estimate.draws)
    assert one.prob_largest == two.prob_largest == 1.0
    assert pair_indices(3) == [(1, 0), (2, 0), (2, 1)]
    assert pair_indices(3, 1) == [(0, 1), (2, 1), (2, 0)]
    names = [(p.group, p.reference) for p in pairs(by_group(random(3)), base=2)]
    assert names == [("A", "C"), ("B", "C"), ("B", "A")]


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


# the sd between groups


def simulated(groups, se, tau, seed, draws=800):
    rng = np.random.default_rng(seed)
    truth = 0.5 + tau * rng.standard_normal(groups)
    error = se * np.exp(0.3 * rng.standard_normal(groups))
    seen = truth + error * rng.standard_normal(groups)
    return truth.std(), by_group((seen + error * rng.standard_normal((draws, groups)))[None])


@pytest.mark.parametrize("groups, se, share", [(3, 0.03, 0.7), (20, 0.1, 0.3)])
def test_the_sd_is_near_0_at_equality(groups, se, share):
    """Draw by draw it is about as large as the errors; under the model it is well below them."""
    found, naive = [], []
    for seed in range(20):
        _, by = simulated(groups, se, 0.0, seed)
        found.append(between_group_sd(by).median)
        naive.append(np.median(by.draws.std(axis=-1)))
    assert np.mean(naive) > 0.9 * se
    assert np.mean(found) < share * np.mean(naive)


def test_without_errors_the_sd_is_that_of_the_groups():
    centre = np.array([0.2, 0.4, 0.5, 0.9])
    noise = 1e-6 * np.random.default_rng(0).standard_normal((1, 400, 4))
    low, high = between_group_sd(by_group(centre + noise)).interval()
    assert (low, high) == pytest.approx((centre.std(), centre.std()), abs=1e-5)
    two = 1e-5 * np.random.default_rng(0).standard_normal((1, 300, 2)) + [0.3, 0.7]
    assert between_group_sd(by_group(two)).median == pytest.approx(0.2, abs=1e-4)  # half of 0.4


def test_pooled_draws_are_read_both_ways():
    """Drawn together already, they are neither drawn together again nor left as they are alone."""
    _, by = simulated(6, 0.05, 0.05, 2)
    as_they_are = by.draws.std(axis=-1)
    once, both = between_group_sd(by), between_group_sd(replace(by, pooled=True))
    np.testing.assert_array_equal(both.draws[0, 1::2], as_they_are[0, 1::2])
    np.testing.assert_array_equal(both.draws[0, ::2], once.draws[0, ::2])
    (low, high), upper = both.interval(), once.upper(0.95)
    assert low < np.quantile(as_they_are, 0.05) and high > upper


@pytest.mark.slow
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
    differences = {name: by_group(d).difference(1, 0) for name, d in draws.items()}
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
    fpr = replace(by_group(random(2, size=(1, 20))), lack="rows")
    gap = larger_gap({"tpr": by_group(tpr).difference(1, 0), "fpr": fpr.difference(1, 0)})
    assert gap.reason == "there are no positive labels" and math.isnan(gap.prob_within(0.1))


# simultaneous intervals


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


@pytest.mark.slow
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


def test_independent_intervals_are_as_wide_as_sidak_says():
    found = simultaneous(cells(normal(10, size=40_000)), 0.95)
    expected = float(ndtri(0.5 * (1.0 + 0.95**0.1)))
    assert found.factor == pytest.approx(expected, rel=0.03)
    assert simultaneous(cells(normal(10, shared=0.9)), 0.95).factor < 0.9 * found.factor


def test_a_skewed_posterior_gets_a_skewed_interval():
    draws = np.random.default_rng(0).exponential(0.1, (4, 2000, 2))
    found = simultaneous(cells(draws), 0.95)
    np.testing.assert_array_equal(found.median, np.median(draws, axis=(0, 1)))
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
    reasons = ["known exactly", "there are no positive labels", "it is the same in all draws"]
    assert list(found.left_out.values()) == reasons
    np.testing.assert_array_equal(found.low, simultaneous(cells(normal(3)), 0.95).low)
    with pytest.raises(ValueError, match="no interval of 'tpr' for 'X': there are no positive"):
        found.interval("tpr", "X")
    with pytest.raises(ValueError, match="no interval of 'ppv' for 'B': it was not requested"):
        found.interval("ppv", "B")
    values = found.to_dict()
    assert len(values["intervals"]) == 3 and len(values["left_out"]) == 3
    assert values["factor"] == found.factor
    nothing = simultaneous(cells(np.full((4, 100, 2), 0.1), exact=True), 0.9).to_dict()
    assert nothing["factor"] is None and nothing["intervals"] == []


def test_intervals_end_where_a_difference_cannot_be():
    draws = 0.9 + normal(2)
    found = simultaneous(cells(draws), 0.95, {"tpr": (-1.0, 1.0)})
    assert (found.high <= 1.0).all() and (found.low < found.high).all()


def test_a_few_undefined_draws_are_outside_no_interval():
    draws = normal(2)
    holes = draws.copy()
    holes[0, :20, 0] = np.nan
    one, two = (simultaneous(cells(given), 0.95) for given in (draws, holes))
    np.testing.assert_allclose(one.low, two.low, atol=0.003)


@pytest.mark.filterwarnings("error")
def test_tiny_differences_have_finite_intervals():
    found = simultaneous(cells(1e-200 * normal(3)), 0.95)
    np.testing.assert_allclose(1e200 * found.low, simultaneous(cells(normal(3)), 0.95).low)


@pytest.mark.filterwarnings("error")
def test_numbers_do_not_depend_on_the_unit_of_a_metric():
    draws = np.random.default_rng(2).normal([0.3, 0.5, 0.5], 0.1, (4, 200, 3))
    one, many = by_group(draws), replace(by_group(1000.0 * draws), bounds=(0.0, 1000.0))
    free = [replace(by, bounds=(0.0, math.inf)) for by in (one, many)]  # treatment equality
    for small, large in ((one, many), free):
        rescaled = between_group_sd(large).draws / 1000.0
        np.testing.assert_allclose(rescaled, between_group_sd(small).draws, rtol=1e-9)
    assert largest_gap(many).prob_which == largest_gap(one).prob_which
    equal = by_group(np.full((1, 100, 3), 0.1) + 1e-17)
    assert between_group_sd(equal).upper() < 0.05


@pytest.mark.parametrize("size", [1.0, 300.0, 1e9])
def test_the_largest_gap_of_numbers_above_1(size):
    """Rounding of 128 and more is above 1e-14: ties are relative."""
    gap = largest_gap(by_group(size * np.array([[[0.1, 0.3, 0.1 + 1e-17], [0.1, 0.4, 0.1]]])))
    assert gap.which == ("B", "A") and gap.prob_which == 0.5
    assert by_group(size * np.array([[[0.1 * 3, 0.3]]])).difference(0, 1).draws.item() == 0.0
    assert by_group(size * np.array([[[0.1 * 3, 0.3]]])).ratio(0, 1).draws.item() == 1.0


# of an assessment


def test_criteria_of_an_assessment(trio):
    for name, metric in (("demographic_parity", "selection_rate"), ("equal_opportunity", "tpr")):
        one = trio.criterion(name, "B", "A")
        np.testing.assert_array_equal(one.draws, trio.difference(metric, "B", "A").draws)
    odds = trio.criterion("equalized_odds", "B", "A")
    assert isinstance(odds, Gap)
    both = [np.abs(trio.difference(m, "B", "A").draws) for m in ("tpr", "fpr")]
    np.testing.assert_array_equal(odds.draws, np.maximum(*both))
    parity = trio.criterion("predictive_parity", "B", "A")  # was not assessed: of the same counts
    ppv = theta("ppv", trio.counts)
    np.testing.assert_allclose(parity.draws, ppv[..., 1] - ppv[..., 0], atol=1e-12)
    with pytest.raises(ValueError, match="no criterion 'parity'.*; there are demographic_parity, "):
        trio.criterion("parity", "B", "A")


def test_simultaneous_intervals_of_an_assessment(trio):
    found = trio.simultaneous()
    inside = np.ones(trio.counts.shape[:2], dtype=bool)
    for cell, low, high in zip(found.cells, found.low, found.high, strict=True):
        draws = trio.difference(cell.metric, cell.group, "A").draws
        inside &= (low <= draws) & (draws <= high)
    assert len(found.cells) == 6 and inside.mean() == pytest.approx(0.95, abs=0.01)
    few, more = trio.simultaneous("tpr"), trio.simultaneous(["tpr", "fpr"], prob=0.5)
    assert len(few.cells) == 2 and len(more.cells) == 4
    with pytest.raises(ValueError, match="no assessed metric 'ppv'"):
        trio.simultaneous("ppv")


def test_ratios_need_metrics_that_cannot_be_negative(rows):
    signed = Metric("signed", lambda tp, fp, fn, tn: (tp - fp) / (tp + fp), bounds=(-1.0, 1.0))
    result = ask(rows, metrics=[signed])
    with pytest.raises(ValueError, match="signed can be negative and has no ratio; take its diff"):
        result.ratio("signed", "B", "A")
    with pytest.raises(ValueError, match="signed can be negative and has no ratio; use its diff"):
        result.check("signed", within=0.8, relation="ratio")
    entry = result.to_dict()["metrics"]["signed"]["ratios"][0]
    assert entry["interval"] is None and entry["reason"] == "the metric can be negative"
    assert result.largest_gap("signed").median >= 0.0


def test_values_of_criteria_are_those_of_the_method(trio):
    values = trio.to_dict()["criteria"]
    assert "predictive_parity" not in values and "equalized_odds" in values
    for name in ("demographic_parity", "equal_opportunity"):
        found = [(one["group"], one["mean"]) for one in values[name]["differences"]]
        assert found == [(g, trio.criterion(name, g, "A").mean) for g in "BC"]


def test_one_group_has_no_comparisons(rows):
    result = ask(rows, group=["all"] * 400)
    message = "there is only one group, all; comparisons need two"
    for call in (
        lambda: result.difference("tpr"),
        lambda: result.ratio("tpr"),
        lambda: result.pairs("tpr"),
        lambda: result.largest_gap("tpr"),
        lambda: result.against_rest("tpr", "all"),
        lambda: result.simultaneous(),
        lambda: result.check("tpr", within=0.05),
        lambda: ask(rows, group=["all"] * 400, simultaneous=True),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    values = result.to_dict()
    entry = values["metrics"]["tpr"]
    assert entry["pairs"] == entry["ratios"] == entry["against_rest"] == []
    assert entry["largest_gap"]["reason"] == "there is only one group"
    assert values["criteria"] == {} and values["simultaneous"] is None


def test_a_group_without_positive_predictions(rows):
    """A ratio against 0 is infinite, of undefined metrics null with a reason."""
    decide = (rows.group == "A") & (rows.y_score > 0.5)
    why = "there are no rows predicted positive"
    metrics = ask(rows, y_pred=decide, metrics=["ppv", "fpr"]).to_dict()["metrics"]
    ppv, fpr = metrics["ppv"], metrics["fpr"]["ratios"][0]
    assert ppv["ratios"][0]["interval"] is None and ppv["ratios"][0]["reason"] == why
    assert ppv["largest_gap"]["median"] is None and ppv["largest_gap"]["reason"] == why
    assert ppv["pairs"][0]["prob_largest"] is None
    assert ppv["against_rest"][1]["reason"] == why
    assert (fpr["median"], fpr["prob_below_four_fifths"]) == (0, 1)
    turned = ask(rows, y_pred=decide, metrics="fpr", reference="B").to_dict()["metrics"]["fpr"]
    assert turned["ratios"][0]["infinite"] == ["median", "low", "high"]
    assert turned["ratios"][0]["interval"] == [None, None]
