"""The posterior predictive check against loops over rows, on data that fit and that do not."""

from __future__ import annotations

import dataclasses
import math
import re

import naive
import numpy as np
import pytest
from scipy import stats

import lightfair.core as lf
from lightfair.core.diagnostics.predictive import (
    MAX_DRAWS,
    Misfit,
    apart_notes,
    misfit_check,
    misfit_notes,
    probability_below,
    typical_rate,
    worth_sentence,
)
from lightfair.core.mcmc.jit import available
from lightfair.core.mcmc.posterior import Posterior
from lightfair.core.model.curve import calibrate
from lightfair.core.model.regions import no_regions, regions, worth

LEVELS = np.arange(2, 99) / 100.0
ARRAYS = [field.name for field in dataclasses.fields(Misfit) if field.name != "trusted"]
TRUE = (0.75, 1.3, 0.3)


def labeled(count, seed=0, names=("a", "b"), levels=LEVELS, share=0.3):
    """Rows (label, score, group); labels of the curve TRUE, most of them hidden."""
    rng = np.random.default_rng(seed)
    score = rng.choice(levels, count) if levels is not None else rng.uniform(0.02, 0.98, count)
    label = (rng.random(count) < calibrate(score, *TRUE)).astype(float)
    label[rng.random(count) >= share] = np.nan
    return label, score, np.resize(names, count)


def build(columns, **options):
    label, score, group = columns
    return lf.score_table(lf.score_data(label, score, sensitive_features=group, **options))


def posterior(table, trusted=True, n=6, seed=1, spread=0.3):
    """A posterior of made-up draws, two chains of n."""
    rng = np.random.default_rng(seed)
    where = regions(table) if trusted else no_regions()
    groups = len(table.groups)
    phi = np.array([*np.log(TRUE[:2]), TRUE[2]]) + rng.normal(0.0, spread, (2, n, groups, 3))
    deviations = rng.normal(0.0, 0.4, (2, n, groups, where.loadings.shape[1]))
    three, scale = np.ones((2, n, 3)), np.full((2, n), 0.4) if trusted else None
    return Posterior(phi, three, three, deviations, scale, scale, where)


def rates_of_rows(table, columns, draws, deviate):
    """f of every labeled row in every draw, one by one: (n, row); and the region of every row."""
    label, score, group = columns
    where = regions(table)
    psi = draws.psi.reshape(-1, *draws.psi.shape[2:])
    rate = np.zeros((len(psi), len(score)))
    region = np.zeros(len(score), dtype=int)
    for i, s in enumerate(score):
        logit = math.log(s) - math.log(1.0 - s)
        side = int(s >= 0.5)
        region[i] = where.first[side] + sum(logit >= edge for edge in where.edges[side])
        if math.isnan(label[i]):
            continue
        for j, coordinates in enumerate(psi[:, table.groups.index(group[i])]):
            f = naive.curve(s, math.exp(coordinates[0]), math.exp(coordinates[1]), coordinates[2])
            odds = math.log(f) - math.log(1.0 - f)
            if deviate:
                for k, deviation in enumerate(coordinates[3:]):
                    odds += where.loadings[region[i], k] * deviation
            rate[j, i] = 1.0 / (1.0 + math.exp(-odds))
    return rate, region


def mid_share_below(count, rate):
    """P(y_rep < count) + P(y_rep = count) / 2, exactly."""
    mass = np.ones(1)
    for p in rate:
        mass = np.convolve(mass, [1.0 - p, p])
    return mass[:count].sum() + 0.5 * mass[count]


def entries(check):
    return range(len(check.group))


# against loops over rows


@pytest.mark.parametrize("deviate", [False, True])
def test_expected_shares_equal_a_loop_over_rows(deviate):
    columns = labeled(500)
    label, score, group = columns
    table = build(columns)
    draws = posterior(table, deviate)
    check = misfit_check(draws, table, 1)
    rate, region = rates_of_rows(table, columns, draws, deviate)
    found = {(check.group[e], check.region[e]): e for e in entries(check)}
    assert list(found) == sorted(found) and len(found) == 12
    for (at, place), e in found.items():
        here = (group == table.groups[at]) & (region == place)
        mine = here & ~np.isnan(label)
        assert check.rows[e] == mine.sum() and check.positives[e] == label[mine].sum()
        assert check.expected[e] == pytest.approx(rate[:, mine].mean(), rel=1e-12)
        assert check.score[e] == pytest.approx(score[mine].mean(), rel=1e-12)
        assert check.rate[e] == label[mine].mean()
        assert check.low[e] == pytest.approx(score[region == place].min(), rel=1e-9)
        assert check.high[e] == pytest.approx(score[region == place].max(), rel=1e-9)
        assert check.predicted[e] == (score[mine][0] >= 0.5) and not check.mass[e]
    assert check.rows.sum() == (~np.isnan(label)).sum()


def test_tails_and_intervals_are_those_of_sums_of_bernoullis():
    columns = labeled(600)
    label, _, group = columns
    table = build(columns)
    draws = posterior(table, n=MAX_DRAWS // 2)
    check = misfit_check(draws, table, 1, cap=9.0)
    rate, region = rates_of_rows(table, columns, draws, True)
    rng = np.random.default_rng(2)
    low, high, p = check.expected_low, check.expected_high, check.p
    for e in entries(check):
        mine = (group == table.groups[check.group[e]]) & (region == check.region[e])
        mine &= ~np.isnan(label)
        tail = np.mean([mid_share_below(check.positives[e], one) for one in rate[:, mine]])
        assert p[e] == pytest.approx(2.0 * min(tail, 1.0 - tail), rel=0.05)
        rows = mine.sum()
        drawn = (rng.random((10, len(rate), rows)) < rate[:, mine]).sum(axis=-1)
        wanted = np.quantile(drawn, [0.025, 0.975], method="inverted_cdf")
        share = math.sqrt(0.025 * 0.975 / len(rate))  # its Monte Carlo error, as one of the count
        error = 1.0 + 4.5 * share / stats.norm.pdf(1.96) * drawn.std()
        np.testing.assert_allclose([low[e] * rows, high[e] * rows], wanted, atol=error)
        assert high[e] - low[e] > 0.7 * (wanted[1] - wanted[0]) / rows


RATES = {
    "narrow": lambda u: 0.5 + 0.2 * u,
    "wide": lambda u: 1.0 / (1.0 + np.exp(-4.6 * u)),
    "rare": lambda u: 0.01 + 0.05 * u,
    "steep": lambda u: 1.0 / (1.0 + np.exp(6.0 - 9.0 * u)),
    "sharp": lambda u: 1.0 / (1.0 + np.exp(9.0 - 18.0 * u)),
    "certain": lambda u: np.where(u < 0.4, 1e-12, 1.0 - 1e-12),
}


@pytest.mark.parametrize("rows", [1, 3, 80])
@pytest.mark.parametrize("kind", RATES)
def test_tails_are_within_ten_percent_of_the_exact_ones(kind, rows):
    rate = RATES[kind](np.random.default_rng(rows).random(rows))
    first, ones = np.zeros(1, dtype=int), np.ones(rows, dtype=int)
    for count in range(rows + 1):
        exact = mid_share_below(count, rate)
        counts = np.array([rows]), np.array([count])
        got = float(probability_below(rate[None], ones, first, *counts)[0, 0])
        one, two = min(exact, 1.0 - exact), min(got, 1.0 - got)
        if one > 1e-6:
            assert two == pytest.approx(one, rel=0.1)
            assert abs(got - exact) < 0.02
        else:
            assert two < 1.5e-6


# situations


@pytest.mark.parametrize("trusted", [False, True])
def test_no_labels_give_no_entries_and_no_notes(trusted):
    label, score, group = labeled(100)
    table = build((np.full(100, np.nan), score, group))
    check = misfit_check(posterior(table, trusted), table, 1)
    assert all(getattr(check, name).shape == (0,) for name in ARRAYS)
    assert misfit_notes(check, table.groups) == []
    assert typical_rate(check) == 0.5


@pytest.mark.parametrize("trusted", [False, True])
def test_point_masses_are_separate_entries(trusted):
    label, score, group = labeled(600)
    score[:60], score[60:140] = 0.0, 1.0
    table = build((label, score, group))
    check = misfit_check(posterior(table, trusted), table, 1)
    masses = np.flatnonzero(check.mass)
    assert len(masses) == 4
    assert check.low[masses] == pytest.approx([0.01, 0.99] * 2, rel=1e-9)
    assert check.high[masses] == pytest.approx(check.low[masses], rel=1e-12)
    assert check.predicted[masses].tolist() == [0, 1] * 2
    hidden = np.isnan(label)
    for e in masses:
        mine = (group == table.groups[check.group[e]]) & (score == check.predicted[e]) & ~hidden
        assert check.rows[e] == mine.sum() and check.positives[e] == label[mine].sum()


# known answers


def p_of_simulations(shift, count=100):
    """p of six regions of one group; labels drawn from the curve, the curve shifted afterwards."""
    found = []
    for seed in range(count):
        table = build(labeled(400, seed, names=("a",), levels=None, share=0.9))
        draws = posterior(table, False, n=2, spread=0.0)
        draws = dataclasses.replace(draws, phi=draws.phi + [0.0, 0.0, shift])
        found.append(misfit_check(draws, table, 1).p)
    return np.stack(found)


@pytest.mark.slow
def test_p_is_uniform_where_the_curve_is_right_and_not_where_it_is_wrong():
    right, wrong = p_of_simulations(0.0), p_of_simulations(0.3)
    assert stats.kstest(right.ravel(), "uniform").pvalue > 0.01
    assert stats.kstest(wrong.ravel(), "uniform").pvalue < 1e-6
    flagged = (right < 0.05 / 6).any(axis=1).sum()  # 100 * 0.05 = 5 expected
    assert flagged <= stats.binom(100, 0.05).ppf(0.999)
    assert (wrong < 0.05 / 6).any(axis=1).sum() > flagged


@pytest.fixture(scope="module")
def fits():
    """Fits of labels that jump at the threshold, and of labels from a curve: (jump, trust)."""
    rng = np.random.default_rng(5)
    score = rng.uniform(0.02, 0.98, 4000)
    odds = np.log(score) - np.log(1.0 - score)
    shown = rng.permutation(4000) < 500
    results = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIGHTFAIR_JIT", "1" if available() else "0")
        for jump in (False, True):
            lifted = odds + 2.0 * np.where(score >= 0.5, -1.0, 1.0) if jump else odds
            label = (rng.random(4000) < 1.0 / (1.0 + np.exp(-lifted))).astype(float)
            for trust in (False, True)[: 1 + jump]:
                results[jump, trust] = lf.assess(
                    np.where(shown, label, np.nan),
                    score,
                    sensitive_features=np.resize(["Female", "Male"], 4000),
                    trust=trust,
                    metrics="tpr",
                    chains=4,
                    draws=30,
                    warmup=60,
                    rng=1,
                )
    return results


def note_of(result):
    check = misfit_check(result.posterior, result.table, 1)
    return check, misfit_notes(check, result.groups)


def test_a_right_model_is_not_flagged(fits):
    """Labels from the curve; with trust labels that jump at the threshold, too."""
    assert note_of(fits[True, True])[1] == []
    check, notes = note_of(fits[False, False])
    assert notes == [] and len(check.group) == 12
    assert (check.p < 0.05).sum() <= 2


def test_a_jump_at_the_threshold_is_flagged_and_trust_is_advised(fits):
    _, notes = note_of(fits[True, False])
    assert [note.code for note in notes] == ["misfit"]
    pattern = (
        r"the curve misfits the labels in \d+ of 12 regions.*: group (Female|Male), scores "
        r"0\.\d+ to 0\.\d+: \d+ positives in \d+ labeled rows, "
        r"expected \d+\.\d \(\d+ to \d+\).*; intervals are too narrow there; use trust"
    )
    assert re.fullmatch(pattern, notes[0].message)


# words


def made_up(**columns):
    """A check of four entries, two groups of two regions, of which none is missed."""
    base = {
        "group": np.array([0, 0, 1, 1]),
        "region": np.array([0, 1, 0, 1]),
        "predicted": np.array([0, 1, 0, 1]),
        "mass": np.zeros(4, dtype=bool),
        "low": np.array([0.02, 0.5, 0.02, 0.5]),
        "high": np.array([0.494, 0.741, 0.494, 0.741]),
        "score": np.array([0.3, 0.6, 0.3, 0.6]),
        "rows": np.array([2000, 40, 1, 50]),
        "positives": np.array([300, 31, 1, 20]),
        "trusted": False,
    }
    base["expected"] = np.array([0.2, 0.45, 0.015, 0.4])
    base["expected_low"] = np.array([0.1, 0.3, 0.0, 0.3])
    base["expected_high"] = np.array([0.3, 0.6, 0.0, 0.5])
    base["p"] = np.full(4, 0.5)
    return Misfit(**{**base, **columns})


def message_of(check, groups=("Female", "Male")):
    notes = misfit_notes(check, groups)
    assert len(notes) <= 1
    return notes[0].message if notes else None


def test_the_message():
    check = made_up(p=np.array([0.5, 0.001, 0.5, 0.5]))
    assert message_of(check) == (
        "the curve misfits the labels in 1 of 4 regions: group Female, scores 0.5 to 0.741: 31 "
        "positives in 40 labeled rows, expected 18.0 (12 to 24); intervals are too narrow there; "
        "use trust"
    )
    message = message_of(made_up(trusted=True, p=check.p))
    assert message.startswith("the model misfits the labels in 1 of 4 regions")
    assert message.endswith("narrow there; collect labels there or use another family")


@pytest.mark.parametrize("p, warned", [(0.0124, True), (0.0125, False)])
def test_the_threshold_is_shared(p, warned):
    assert (message_of(made_up(p=np.array([0.5, p, 0.5, 0.5]))) is not None) == warned


def test_the_worst_three_are_listed_worst_first():
    message = message_of(made_up(p=np.array([0.0, 0.003, 0.002, 0.001])))
    assert "in 4 of 4 regions (worst 3): group Female, scores 0.02 to 0.494: 300 pos" in message
    order = [message.index(f"positives in {rows}") for rows in ("2,000", "50 ", "1 ")]
    assert order == sorted(order) and "31 positives" not in message
    ties = message_of(made_up(p=np.zeros(4)))  # by distance
    assert ties.index("31 positives in 40") < ties.index("300 positives in 2,000")


# what the curve is worth


STANDARD = regions(build(labeled(500)))


def worths(*labels):
    """Draws of omega whose worth in labels is given, at a rate of 0.5."""
    return np.sqrt(float(worth(1.0, 1.0, 0.5, STANDARD)) / np.array(labels, dtype=float))


@pytest.mark.parametrize(
    "labels, words",
    [
        ([30] * 10 + [130] * 81 + [2000] * 9, "about 130 labels (95 %: 30 to 2,000)"),
        ([30] * 10 + [1e6] * 90, "more than 10,000 labels (95 %: 30 to more than 10,000)"),
        ([0.4] * 3, "about 1 labels (95 %: 1 to 1)"),
        ([9_990] * 3, "about 10,000 labels (95 %: 10,000 to 10,000)"),
    ],
)
def test_the_worth_of_the_curve_rounded(labels, words):
    sentence = worth_sentence(*[worths(*labels)] * 2, STANDARD, 0.5, 0.95)
    assert sentence == f"in each region of the scores the curve counts as {words}"


def test_the_typical_rate_has_the_variance_of_labeled_rows():
    check = made_up(expected=np.array([0.2, 0.45, 0.015, 0.6]))
    wanted = (2000 * 0.16 + 40 * 0.2475 + 0.015 * 0.985 + 50 * 0.24) / 2091
    rate = typical_rate(check)
    assert rate * (1.0 - rate) == pytest.approx(wanted, rel=1e-12) and rate <= 0.5
    assert typical_rate(made_up(expected=np.full(4, 0.5))) == pytest.approx(0.5)
    assert 0.0 < typical_rate(made_up(expected=np.ones(4))) < 0.001


@pytest.mark.parametrize(
    "chance, mean, named",
    [(0.1, 1.01, True), (0.09, 1.01, False), (0.5, 1, False), (1.0, 0.5, True), (0.98, 0.5, True)],
)
def test_groups_apart_are_named_if_a_metric_differs(chance, mean, named):
    """The interval of other draws is [0, 1]; if there are hardly any, their metric is not asked."""
    draw = np.arange(800).reshape(2, 400)
    apart = np.stack([np.zeros((2, 400), bool), draw % 100 < round(100 * chance)], axis=-1)
    tpr = np.where(apart, mean, np.linspace(0.0, 1.0, 8)[draw // 100][..., None])
    tpr[0, 0] = np.nan
    theta = {"selection_rate": np.full_like(tpr, 0.3), "tpr": tpr}
    notes = apart_notes(apart, theta, ("A", "B"), 0.95)
    assert [note.code for note in notes] == ["misfit"] * named
    assert not named or "scores may not mean in B (probability" in notes[0].message
    assert apart_notes(None, theta, ("A", "B"), 0.95) == []
