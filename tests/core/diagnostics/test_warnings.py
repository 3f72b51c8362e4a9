"""Warnings: each at its limit, and not before."""

from __future__ import annotations

import numpy as np
import pytest
from asking import QUICKEST, ask_quickly
from scipy import stats

import lightfair.core as lf
from lightfair.core.diagnostics.warnings import (
    ROWS,
    coarse_interval,
    data_warnings,
    disagreements,
    result_warnings,
)
from lightfair.core.mcmc.convergence import Gate
from lightfair.core.metrics.definitions import as_metric
from lightfair.core.metrics.labels_only import denominators
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


@pytest.mark.parametrize(
    "label, group, codes",
    [
        ([1, 1, 0, 0], [*"ABAB"], []),
        ([None] * 4, [*"ABAB"], ["no_labels"]),
        ([1, 0, 1, 0], [*"AAAA"], ["one_group"]),
    ],
)
def test_codes(label, group, codes):
    assert data_codes(label, [0.9, 0.7, 0.2, 0.4], group) == codes


@pytest.mark.parametrize("clipped, warned", [(5, False), (6, True)])
def test_clipped_share_above_5_percent(clipped, warned):
    score = [0.001] * clipped + [0.5] * (100 - clipped)
    assert ("clipped_scores" in data_codes([0, 1] * 50, score)) == warned


def test_unlabeled_groups_are_named_in_one_warning():
    data = build([1, 0, None, None], [0.8, 0.3, 0.4, 0.5], ["A", "A", "B", "C"])
    notes = data_warnings(lf.score_table(data))
    assert [note.code for note in notes] == ["unlabeled_group"]
    assert notes[0].message.startswith("no labels in B; C: estimates rest on the other groups")


def test_advice_is_what_can_be_done():
    label = [1, 0, 0, 0, None]
    score = [0.8, 0.3, 0.4, 0.5, 0.6]
    (note,) = data_warnings(lf.score_table(build(label, score, ["A", "A", "B", "B", "A"])))
    assert note.message == "group B has only negative labels (2 of them); no row is left to be " + (
        "labeled"
    )
    (note,) = data_warnings(lf.score_table(build(label, score, ["A", "A", "B", "B", "B"])))
    assert note.message.endswith("(2 of them); label more of its rows")


def test_reversed_scores():
    label, score = labeled(0)
    score = np.where(label == 1, 0.5 * score, 0.5 + 0.5 * score)
    assert "reversed_scores" in data_codes(label, score)
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


@pytest.mark.parametrize(
    "label, here, other", [(1, "positive", "negative"), (0, "negative", "positive")]
)
def test_one_class_only_names_the_way_out(label, here, other):
    data = lf.score_data(
        [label, label, None, None], [0.2, 0.7, 0.4, 0.9], sensitive_features=[*"abab"]
    )
    notes = data_warnings(lf.score_table(data))
    assert [note.code for note in notes] == ["one_class"]
    assert notes[0].message.startswith(f"every labeled row is {here}: ")
    assert notes[0].message.endswith(f"unlabeled because they are {other}, label them")


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
    return PredictionPowered(
        np.array(mean), np.array(se), none, none, none, np.full(2, 50.0), (None, None)
    )


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
    return result, [note for note in result.warnings if note.code == "few_labels"]


@pytest.mark.parametrize("positives, warned", [(4, True), (5, False)])
def test_few_labeled_positives_rest_on_the_prior(positives, warned):
    """F04: said for the metric that needs them, with the share of what is known."""
    rows = lf.simulate(600, 100, rng=1)
    result, notes = few_notes(with_few(rows, positives), rows, metrics=["tpr", "fpr"])
    assert len(notes) == warned
    if warned:
        worth = result.to_dict()["metrics"]["tpr"]["groups"][1]["effective_labels"]
        share = 1.0 - positives / worth
        assert notes[0].message == (
            f"few labels: B has {positives} labeled positive rows, so its tpr rests on the prior "
            f"and other labels to {share:.0%}; label more there"
        )


@pytest.mark.parametrize(
    "metric, words",
    [
        ("auc", "1 labeled row of the rarer class, so its auc rests"),
        ("treatment_equality", "2 labeled rows decided wrongly, so its treatment_equality rests"),
    ],
)
def test_few_rows_are_counted_by_what_the_metric_divides_by(metric, words):
    score = np.tile([0.2, 0.7], 60)
    label, group = np.full(120, -1), np.repeat(["A", "B"], 60)
    label[:40] = np.tile([0, 0, 1, 1], 10)
    label[60:67] = [1, 0, 0, -1, 0, -1, 0]  # B: fn, fp, and three true negatives
    result = lf.assess(label, score, sensitive_features=group, metrics=metric, **QUICKEST)
    note = next(note for note in result.warnings if note.code == "few_labels")
    assert note.message.startswith(f"few labels: B has {words} on the prior and other labels")


def test_exact_values_do_not_rest_on_few_labels(rows):
    """Nobody of B is selected, so its fpr is 0 whatever its labels are."""
    decided = (rows.group == "A") & (rows.y_score > 0.5)
    few = with_few(rows, 1)
    result = ask_quickly(rows, y_true=few, y_pred=decided, metrics=["fpr", "tpr", "tnr"])
    assert result.draws("fpr")[..., 1].std() == 0.0
    assert not [note for note in result.warnings if note.code == "few_labels"]


def test_every_built_in_metric_has_a_noun_for_its_rows():
    for name in lf.METRICS:
        metric = as_metric(name)
        assert metric.label_free or not denominators(metric) or metric.lack in ROWS, name
