"""How many labels settle a check: against quadrature, and for checks of every kind."""

from __future__ import annotations

import numpy as np
import pytest
from asking import by_group
from scipy.special import ndtr, ndtri

import lightfair as lf
from lightfair import core
from lightfair.core.comparison.verdict import Question, parse_check
from lightfair.planning.settle import decisive_chance, labels_to_settle, two_digits


def question(draws, text="tpr<=0.05", pairs=((1, 0),)):
    labeled = np.ones(draws.shape[-1], bool)
    return Question(parse_check(text), (by_group(draws),), list(pairs), labeled)


def settle(gap, sd, labeled=100, unlabeled=100_000, finite=True, text="tpr<=0.05"):
    """Two groups whose difference is normal with this mean and sd."""
    draws = np.full((1, 4000, 2), 0.5)
    draws[0, :, 1] += gap + sd * ndtri((np.arange(4000) + 0.5) / 4000)
    return labels_to_settle(question(draws, text), 0.95, labeled, unlabeled, finite=finite)


def chance_of_a_verdict(gap, sd, more, labeled=100, within=0.05, prob=0.95):
    """By quadrature: the later posterior is normal, its mean spread by what was learned."""
    root = (1.0 + more / labeled) ** -0.5
    mean = gap + sd * np.sqrt(1.0 - root * root) * ndtri((np.arange(2000) + 0.5) / 2000)
    below, above = (ndtr((edge - mean) / (root * sd)) for edge in (-within, within))
    return float(((above - below >= prob) | (below >= prob) | (1.0 - above >= prob)).mean())


@pytest.mark.parametrize("gap, sd", [(0.0, 0.05), (0.03, 0.05), (0.1, 0.1), (0.08, 0.2)])
def test_the_chance_is_four_fifths(gap, sd):
    assert chance_of_a_verdict(gap, sd, settle(gap, sd)) == pytest.approx(0.8, abs=0.06)


def test_the_forecast_is_bounded_and_round():
    assert settle(0.05, 0.05, unlabeled=700) == 700  # labels of all rows leave nothing uncertain
    assert settle(0.05, 0.0005, unlabeled=10**9, finite=False) == pytest.approx(5000, rel=0.5)
    assert settle(0.0, 0.05, labeled=0) is None
    assert settle(0.0, 0.05, unlabeled=3) == 3
    assert [two_digits(value) for value in (0.3, 9.1, 99.5, 101, 1234.5)] == [1, 10, 100, 110, 1300]
    assert all(settle(gap, 0.06) == two_digits(settle(gap, 0.06)) for gap in (0.0, 0.02, 0.04))


def test_a_ratio_is_forecast_as_the_difference_it_implies():
    """Rates near 0.5: a ratio of at least 0.9 is nearly a difference of at most 0.05."""
    ratio, difference = settle(0.02, 0.05, text="tpr ratio>=0.9"), settle(0.02, 0.05)
    assert ratio == pytest.approx(difference, rel=0.25)


def test_several_groups_and_undefined_draws_are_forecast():
    draws = 0.5 + 0.05 * np.random.default_rng(0).normal(size=(1, 2000, 4))
    pairs = [(i, j) for i in range(4) for j in range(i)]
    one, all_pairs = (
        labels_to_settle(question(draws, pairs=some), 0.95, 100, 10**6, finite=True)
        for some in (pairs[:1], pairs)
    )
    assert 0 < all_pairs < one  # it is enough that one pair fails
    draws[0, ::50, 1] = np.nan
    assert labels_to_settle(question(draws), 0.95, 100, 10**6, finite=True) is not None


def test_when_all_is_known_every_truth_decides():
    deltas = np.random.default_rng(0).normal(0.0, 0.3, (2000, 5))
    excess = np.concatenate([deltas - 0.05, -deltas - 0.05], axis=1)
    assert decisive_chance(excess, 0.0, 0.95) == 1.0
    assert decisive_chance(excess, 0.999, 0.95) < 0.01  # hardly any labels


@pytest.fixture(scope="module")
def three():
    rows = lf.simulate(rows=900, labeled=60, rng=2)
    group = np.where(np.random.default_rng(2).random(900) < 0.3, "C", rows.group)
    return lf.assess(rows.y_true, rows.y_score, sensitive_features=group, rng=1)


@pytest.mark.parametrize("check", ["tpr<=0.1", "tpr ratio>=0.8", "equalized_odds<=0.1"])
def test_results_forecast_checks_of_every_kind(check, three):
    verdict = three.check(check)
    plain = core.Assessment.check(three, check)
    assert (plain.status, plain.prob_within) == ("insufficient", verdict.prob_within)
    assert verdict.status == "insufficient" and 1 <= verdict.more_labels <= 840
    assert f"about {verdict.more_labels} more label" in verdict.sentence
