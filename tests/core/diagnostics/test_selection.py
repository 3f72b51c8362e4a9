"""Selection: labeled against unlabeled scores, at its level, and with power."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

import lightfair.core as lf
from lightfair.core.diagnostics import selection
from lightfair.core.diagnostics.selection import (
    LEVEL,
    rank_z,
    selection_warnings,
    selection_z,
)

SHIFT, SPREAD = 0, 1


def table_of(score, known, group=None, **columns):
    rng = np.random.default_rng(1)
    label = np.where(known, rng.integers(0, 2, len(score)), -1)
    group = np.zeros(len(score)) if group is None else group
    return lf.score_table(lf.score_data(label, score, sensitive_features=group, **columns))


def test_shift_is_the_test_of_mann_and_whitney():
    rng = np.random.default_rng(0)
    score = np.round(rng.random(80), 1) * 0.8 + 0.1
    known = rng.random(80) < 0.3
    z = selection_z(table_of(score, known))[0, SHIFT]
    test = stats.mannwhitneyu(
        score[known], score[~known], use_continuity=False, method="asymptotic"
    )
    assert 2.0 * ndtr(-abs(z)) == pytest.approx(test.pvalue, rel=1e-9)
    assert (z > 0) == (test.statistic > 0.5 * known.sum() * (~known).sum())


def test_spread_is_that_of_distances_from_the_middle():
    rng = np.random.default_rng(1)
    score = np.round(rng.random(90), 1) * 0.8 + 0.1
    known = rng.random(90) < 0.4
    far = np.abs(stats.rankdata(score) - 45.5)
    assert selection_z(table_of(score, known))[0, SPREAD] == pytest.approx(rank_z(far, known))


def p_of(seed, choose, rows=400, labeled=60, groups=2):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, rows)
    score = rng.beta(1.2, 1.5, rows)
    weight = choose(score)
    chosen = rng.choice(rows, labeled, replace=False, p=weight / weight.sum())
    return table_of(score, np.isin(np.arange(rows), chosen), group)


@pytest.mark.slow
def test_false_alarms_at_the_level():
    """Of random choices the smallest p, times their number, is below q at most q of the time."""
    smallest = []
    for seed in range(200):
        z = selection_z(p_of(seed, np.ones_like))
        smallest.append((2.0 * ndtr(-np.abs(z))).min() * z.size)
    found = np.array(smallest)
    for level in (LEVEL, 0.05, 0.2):
        error = np.sqrt(level * (1.0 - level) / 200)
        assert (found < level).mean() < level + 3.0 * error
    assert (found < 0.2).mean() > 0.1  # a test that never rejects would pass the lines above


@pytest.mark.parametrize(
    "choose, pattern",
    [
        (lambda s: s**2, "higher scores than unlabeled rows"),
        (lambda s: (1.0 - s) ** 2, "lower scores than unlabeled rows"),
        (lambda s: np.exp(-12.0 * np.abs(s - 0.45)), "more central scores than"),
        (lambda s: np.abs(s - 0.45) ** 1.5, "more extreme scores than"),
    ],
)
def test_a_choice_by_score_is_seen(choose, pattern):
    found = [selection_warnings(p_of(seed, choose, labeled=100, groups=1)) for seed in range(4)]
    assert sum(map(len, found)) >= 3
    notes = next(filter(None, found))
    assert notes[0].code == "label_drift" and pattern in notes[0].message
    assert "the posterior accounts for selection on the score" in notes[0].message


def test_cells_say_what_rows_say():
    rng = np.random.default_rng(3)
    score = rng.beta(1.2, 1.5, 5000)
    known = rng.random(5000) < 0.2 * score
    table = table_of(score, known)
    assert len(table.cells.cell) > 100
    assert selection_z(table)[0, SHIFT] == pytest.approx(rank_z(score, known), rel=0.01)


@pytest.mark.parametrize("factor, warned", [(1.01, True), (0.99, False)])
def test_the_level_is_shared_among_groups_and_tests(monkeypatch, factor, warned):
    rng = np.random.default_rng(4)
    table = table_of(rng.random(300), rng.random(300) < 0.2, rng.integers(3, size=300))
    p = 2.0 * ndtr(-np.abs(selection_z(table)))
    monkeypatch.setattr(selection, "LEVEL", factor * p.size * p.min())
    assert bool(selection_warnings(table)) == warned


def test_known_probabilities_silence_it():
    score = np.linspace(0.01, 0.99, 200)
    known = score > 0.6
    assert selection_warnings(table_of(score, known))
    assert selection_warnings(table_of(score, known, label_prob=np.where(known, 0.5, np.nan))) == []


@pytest.mark.parametrize("known", [np.ones(50, bool), np.zeros(50, bool)])
def test_nothing_to_compare(known):
    assert not selection_z(table_of(np.linspace(0.1, 0.9, 50), known)).any()
