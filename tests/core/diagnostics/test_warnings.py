"""Warnings: each at its limit, and not before."""

from __future__ import annotations

import numpy as np
import pytest
from asking import QUICKEST, ask_quickly
from scipy import stats
from scipy.special import ndtr

import lightfair.core as lf
from lightfair.core.diagnostics import warnings
from lightfair.core.diagnostics.warnings import (
    SELECTION_LEVEL,
    assumed_alike,
    coarse_interval,
    data_warnings,
    disagreements,
    rank_z,
    result_warnings,
    selection_warnings,
    selection_z,
)
from lightfair.core.mcmc.convergence import Gate
from lightfair.core.metrics.labels_only import LabelsOnly
from lightfair.core.metrics.prediction_powered import PredictionPowered

GOOD = Gate(1.0, 1000.0, 900.0, True, None)


def build(label, score, group=None):
    group = np.resize(["A", "B"], len(score)) if group is None else group
    return lf.score_data(label, score, sensitive_features=group)


def data_codes(*columns):
    data = build(*columns)
    return [note.code for note in data_warnings(lf.score_table(data))]


def labeled(seed, count=60, levels=None):
    rng = np.random.default_rng(seed)
    score = rng.random(count) if levels is None else rng.integers(0, levels, count) / levels
    return rng.integers(0, 2, count), score


CODES = ([1, 1, 0, 0], "ABAB", []), ([None] * 4, "ABAB", ["no_labels"])


@pytest.mark.parametrize("label, group, codes", [*CODES, ([1, 0, 1, 0], "AAAA", ["one_group"])])
def test_codes(label, group, codes):
    notes = data_warnings(lf.score_table(build(label, [0.9, 0.7, 0.2, 0.4], [*group])))
    assert [note.code for note in notes] == codes
    text = "all but selection rates rest on the prior alone"
    assert ("no_labels" in codes) == any(text in note.message for note in notes)


@pytest.mark.parametrize("clipped, warned", [(5, False), (6, True)])
def test_clipped_share_above_5_percent(clipped, warned):
    data = build([0, 1] * 50, [0.001] * clipped + [0.5] * (100 - clipped))
    notes = [n for n in data_warnings(lf.score_table(data)) if n.code == "clipped_scores"]
    assert len(notes) == warned
    assert not warned or "6% of the scores lie outside [0.01, 0.99]" in notes[0].message


def test_unlabeled_groups_are_named_in_one_warning():
    data = build([1, 0, None, None], [0.8, 0.3, 0.4, 0.5], ["A", "A", "B", "C"])
    notes = data_warnings(lf.score_table(data))
    assert [note.code for note in notes] == ["unlabeled_group"]
    assert notes[0].message.startswith("no labels in B; C: estimates rest on other groups")


def test_groups_of_one_class_are_named_in_one_warning_for_each():
    label, score = [1, 0, 0, 0, 1, 0, None], [0.8, 0.3, 0.4, 0.5, 0.6, 0.2, 0.1]
    table = lf.score_table(build(label, score, [*"AABBCDE"]))
    kinds = [one.message for one in data_warnings(table) if one.code == "one_class_group"]
    advice = "label more of their rows, where any are left"
    want = [f"only negative labels in B (2); D (1): {advice}"]
    assert kinds == [*want, f"only positive labels in C (1): {advice}"]


def test_reversed_scores():
    label, score = labeled(0)
    score = np.where(label == 1, 0.5 * score, 0.5 + 0.5 * score)
    notes = {note.code: note.message for note in data_warnings(lf.score_table(build(label, score)))}
    assert "higher scores go with fewer positive labels" in notes["reversed_scores"]
    assert "check positive_label, or whether 1 - score was meant" in notes["reversed_scores"]
    assert "reversed_scores" not in data_codes(1 - label, score)
    assert "reversed_scores" not in data_codes(label[:4], score[:4])


@pytest.mark.parametrize("share, warned", [(0.0, False), (0.05, True), (0.2, False)])
def test_partly_undefined(share, warned):
    """A few undefined draws are warned of; with more, the number is not reported at all."""
    draws = np.full((4, 100, 2), 0.5)
    draws[:, : round(100 * share), 1] = np.nan
    notes = result_warnings({"tpr": draws}, ("A", "B"), GOOD, (4, 100))
    assert [note.code for note in notes] == ["partly_undefined"] * warned
    if warned:
        assert f"B ({share:.0%})" in notes[0].message and "A (" not in notes[0].message


def test_not_converged_is_one_message():
    bad = Gate(1.2, 30.0, 20.0, False, "bulk ESS is below 400 for 5 of 7 quantities (smallest 30)")
    notes = result_warnings({"tpr": np.zeros((4, 8, 1))}, ("A",), bad, (4, 8))
    assert [note.code for note in notes] == ["not_converged"]
    assert "after 8 draws each: bulk ESS is below 400" in notes[0].message


@pytest.mark.parametrize("label, here", [(1, "positive"), (0, "negative")])
def test_one_class_only_names_the_way_out(label, here):
    data, other = build([label, label, None, None], [0.2, 0.7, 0.4, 0.9]), ["positive", "negative"]
    notes = data_warnings(lf.score_table(data))
    assert [note.code for note in notes] == ["one_class"]
    assert notes[0].message.startswith(f"every labeled row is {here}: ")
    assert notes[0].message.endswith(f"unlabeled because they are {other[label]}, label them")


def test_scores_against_the_labels_of_one_group():
    rows = lf.simulate(4000, 1000, rng=2)
    score = np.where(rows.group == "B", 1.0 - rows.y_score, rows.y_score)
    data = lf.score_data(rows.y_true, score, sensitive_features=rows.group)
    notes = [n for n in data_warnings(lf.score_table(data)) if n.code == "reversed_scores"]
    assert len(notes) == 1 and notes[0].message.startswith("in B higher scores")


@pytest.mark.parametrize("prob, codes", [(0.95, []), (0.999, ["coarse_interval"])])
def test_interval_ends_of_few_draws(prob, codes):
    assert [note.code for note in coarse_interval(prob, (4, 1000))] == codes


def powered(mean, se):
    """Prediction-powered estimates of two groups."""
    none = np.full(2, np.nan)
    mean, se = np.array(mean), np.array(se)
    return PredictionPowered(mean, se, none, none, none, np.full(2, 50.0), (None, None))


def spread_around(centres, sd, seed=1):
    return np.asarray(centres) + sd * np.random.default_rng(seed).standard_normal((4, 500, 2))


def test_a_disagreement_is_reported_with_both_numbers():
    draws = {"tpr": spread_around([0.5, 0.8], 0.01)}
    estimates = {"tpr": powered([0.5, 0.6], [0.03, 0.03])}
    notes = disagreements(draws, estimates, "A", ("A", "B"))
    assert [note.code for note in notes] == ["disagreement"]
    message = notes[0].message
    assert message.startswith("the model disagrees with the labels: tpr of B is 0.80")
    assert "0.600 by the labels" in message  # 0.2 / sqrt(0.03^2 + 0.01^2) = 6.3 sd
    assert "tpr of B minus A is 0.30" in message and "tpr of A " not in message


@pytest.mark.parametrize("metrics, warned", [(1, True), (3, False)])
def test_the_level_is_shared_among_comparisons(metrics, warned):
    """p = 0.003 is below 0.01 / 2 groups, and above 0.01 / (2 groups * 3 metrics)."""
    draws = spread_around([0.5, 0.5], 1e-6)
    se = 0.1 / stats.t(50).isf(0.0015)
    names = ["tpr", "fpr", "accuracy"][:metrics]
    estimates = {name: powered([0.5, 0.5], [se, se]) for name in names}
    estimates["tpr"] = powered([0.5, 0.6], [se, se])
    notes = disagreements(dict.fromkeys(names, draws), estimates, None, ("A", "B"))
    assert (len(notes) == 1) == warned


def test_agreement_and_undefined_estimates_are_not_reported():
    draws = {"tpr": spread_around([0.5, 0.65], 0.02), "selection_rate": spread_around([0, 1], 0)}
    estimates = {
        "tpr": powered([0.5, 0.6], [0.05, 0.05]),
        "selection_rate": powered([0.3, 0.3], [0.0, 0.0]),  # known without labels: not compared
    }
    assert disagreements(draws, estimates, "A", ("A", "B")) == []
    estimates["tpr"] = powered([np.nan, np.nan], [np.nan, np.nan])
    assert disagreements(draws, estimates, None, ("A", "B")) == []


def with_few(rows, positives):
    """Rows of B keep that many labeled positives, and all their negatives."""
    mine = np.flatnonzero((rows.group == "B") & (rows.y_true == 1))
    label = rows.y_true.copy()
    label[mine[positives:]] = np.nan
    return label


def few_notes(label, rows, **options):
    result = ask_quickly(rows, y_true=label, **options)
    return [note for note in result.warnings if note.code == "few_labels"]


@pytest.mark.parametrize("positives, warned", [(4, True), (5, False)])
def test_few_labeled_positives_rest_on_the_prior(positives, warned):
    """F04: for the metric that needs them."""
    rows = lf.simulate(600, 100, rng=1)
    notes = few_notes(with_few(rows, positives), rows, metrics=["tpr", "fpr"])
    assert len(notes) == warned
    assert not few_notes(with_few(rows, positives), rows, metrics="fpr")  # tpr is not asked for
    if warned:
        assert notes[0].message == (
            f"few labels: B has {positives} labeled rows in the denominator of tpr; these rest on "
            "the prior and other labels; label more there"
        )


@pytest.mark.parametrize("number, warned", [(0, False), (29, True), (30, False)])
def test_groups_with_few_labels_rest_on_the_others(number, warned):
    """The labels-only intervals of fpr are four times as wide, and that of npv is unknown."""
    label = np.full(400, np.nan)
    label[:100] = label[200 : 200 + number] = 1.0
    data = lf.score_data(label, np.full(400, 0.4), sensitive_features=np.repeat([*"AB"], 200))
    one = np.linspace(0.4, 0.6, 401).reshape(1, 401, 1)  # an interval from 0.405 to 0.595
    theta = {name: np.repeat(one, 2, axis=2) for name in ("tpr", "fpr", "npv")}
    theta["tpr"][0, 200, 1] = np.nan
    labels = {
        name: LabelsOnly(*[np.full(2, x) for x in (0.5, reach, 0.5 - reach, 0.5 + reach)], one, ())
        for name, reach in (("tpr", 0.19), ("fpr", 0.38), ("npv", np.nan))
    }
    notes = assumed_alike(theta, labels, lf.score_table(data), 0.95)
    message = (
        "numbers of groups with fewer than 30 labels assume that scores mean there what they mean "
        "in other groups; without that, intervals would be 4.0 times as wide (fpr of B, 29 "
        "labels); label more there"
    )
    assert notes == [("assumed_alike", message)] * warned


@pytest.mark.parametrize("metric, rows", [("auc", "1 labeled row "), ("treatment_equality", "2 ")])
def test_few_rows_are_counted_by_what_the_metric_divides_by(metric, rows):
    score = np.tile([0.2, 0.7], 60)
    label, group = np.full(120, -1), np.repeat(["A", "B"], 60)
    label[:40] = np.tile([0, 0, 1, 1], 10)
    label[60:67] = [1, 0, 0, -1, 0, -1, 0]  # B: fn, fp, and three true negatives
    result = lf.assess(label, score, sensitive_features=group, metrics=metric, **QUICKEST)
    note = next(note for note in result.warnings if note.code == "few_labels")
    assert note.message.startswith(f"few labels: B has {rows}")


def test_exact_values_do_not_rest_on_few_labels(rows):
    """Nobody of B is selected, so its fpr is 0 whatever its labels are."""
    decided = (rows.group == "A") & (rows.y_score > 0.5)
    few = with_few(rows, 1)
    result = ask_quickly(rows, y_true=few, y_pred=decided, metrics=["fpr", "tpr", "tnr"])
    assert result.draws("fpr")[..., 1].std() == 0.0
    assert not [note for note in result.warnings if note.code == "few_labels"]


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
    options = {"use_continuity": False, "method": "asymptotic"}
    test = stats.mannwhitneyu(score[known], score[~known], **options)
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
    for level in (SELECTION_LEVEL, 0.05, 0.2):
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
    assert "the posterior allows for selection on the score" in notes[0].message


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
    monkeypatch.setattr(warnings, "SELECTION_LEVEL", factor * p.size * p.min())
    assert bool(selection_warnings(table)) == warned


def test_known_probabilities_silence_it():
    score = np.linspace(0.01, 0.99, 200)
    known = score > 0.6
    assert selection_warnings(table_of(score, known))
    assert selection_warnings(table_of(score, known, label_prob=np.where(known, 0.5, np.nan))) == []


@pytest.mark.parametrize("known", [np.ones(50, bool), np.zeros(50, bool)])
def test_nothing_to_compare(known):
    assert not selection_z(table_of(np.linspace(0.1, 0.9, 50), known)).any()
