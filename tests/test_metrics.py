"""Metrics of fully labeled rows against scikit-learn and Fairlearn."""

from __future__ import annotations

import re

import numpy as np
import pytest
from results import QUICKEST

import lightfair as lf

pytest.importorskip("fairlearn")


def labeled_rows(count=300, levels=None):
    """All labels known: score, label, group."""
    rng = np.random.default_rng(0)
    score = np.clip(rng.beta(1.5, 1.5, count), 0.011, 0.989)
    if levels:
        score = np.clip(np.rint(score * levels), 1, levels - 1) / levels
    return score, (rng.random(count) < score**1.3).astype(int), np.array(["a", "b"] * (count // 2))


def others(score, label, decided):
    """The metrics of Fairlearn and scikit-learn for one group."""
    from fairlearn import metrics as fl
    from sklearn import metrics as sk
    from sklearn.calibration import calibration_curve

    tn, fp, fn, tp = sk.confusion_matrix(label, decided).ravel()
    rate, mean = calibration_curve(label, score, n_bins=10, strategy="uniform")
    rows = np.histogram(score, np.linspace(0.0, 1.0, 11))[0]
    return {
        "accuracy": sk.accuracy_score(label, decided),
        "tpr": fl.true_positive_rate(label, decided),
        "fpr": fl.false_positive_rate(label, decided),
        "tnr": fl.true_negative_rate(label, decided),
        "fnr": fl.false_negative_rate(label, decided),
        "ppv": sk.precision_score(label, decided),
        "npv": sk.precision_score(label, decided, pos_label=0),
        "false_discovery_rate": 1.0 - sk.precision_score(label, decided),
        "false_omission_rate": 1.0 - sk.precision_score(label, decided, pos_label=0),
        "selection_rate": fl.selection_rate(label, decided),
        "base_rate": fl.selection_rate(label, label),
        "f1": sk.f1_score(label, decided),
        "balanced_accuracy": sk.balanced_accuracy_score(label, decided),
        "treatment_equality": fn / fp,
        "auc": sk.roc_auc_score(label, score),
        "brier": sk.brier_score_loss(label, score),
        "ece": np.abs(rate - mean) @ rows[rows > 0] / rows.sum(),
        "calibration_in_the_large": label.mean() - fl.mean_prediction(label, score),
        "balance_positive": fl.mean_prediction(label[label == 1], score[label == 1]),
        "balance_negative": fl.mean_prediction(label[label == 0], score[label == 0]),
        "average_score": fl.mean_prediction(label, score),
        "cost(fp=1,fn=5)": (fp + 5 * fn) / len(label),
    }


@pytest.mark.parametrize("count, levels", [(300, None), (300, 77), (20_000, None)])
def test_against_fairlearn_and_scikit_learn(count, levels):
    """With more than 128 scores in a stratum rows share cells, which metrics of scores notice."""
    score, label, group = labeled_rows(count, levels)
    names = (*lf.METRICS, "cost(fp=1,fn=5)")
    result = lf.assess(label, score, sensitive_features=group, metrics=names, **QUICKEST)
    limits = dict.fromkeys(("brier", "ece", "balance_positive", "balance_negative"), 1e-4)
    limits |= {"auc": 2e-4, "average_score": 1e-9, "calibration_in_the_large": 1e-9}
    for name in "ab":
        at = group == name
        expected = others(score[at], label[at], (score[at] >= 0.5).astype(int))
        assert set(expected) == set(names)
        for metric, number in expected.items():
            estimate = result.metric(metric, name)
            limit = limits.get(metric, 1e-12) if count > 1000 else 1e-12
            assert estimate.mean == pytest.approx(number, rel=limit, abs=limit)
            assert estimate.exact == (limit < 1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("count, width", [(600, 0.005), (40_000, 0.001)])
def test_scores_close_together(count, width, weighted):
    """Few are kept apart; many tie in cells, and what is computed from cells is not exact."""
    from sklearn.metrics import brier_score_loss, roc_auc_score

    rng = np.random.default_rng(0)
    score, group = rng.uniform(0.5 - width, 0.5 + width, count), np.array(["a", "b"] * (count // 2))
    label, weight = (score > 0.5 + width / 2).astype(int), rng.uniform(1, 2, count)
    data = {"sensitive_features": group, "sample_weight": weight if weighted else None}
    result = lf.assess(label, score, metrics=["auc", "brier"], **data, **QUICKEST)
    codes = ["tied_scores"] * (count > 600)
    assert [note.code for note in result.warnings] == codes
    limits = {"auc": 0.5 if codes else 1e-12, "brier": 1e-3 if codes else 1e-12}
    for metric, expected in (("auc", roc_auc_score), ("brier", brier_score_loss)):
        of_group, overall = result.metric(metric, "a"), result.metric(metric)
        for estimate, at in ((of_group, group == "a"), (overall, slice(None))):
            number = expected(label[at], score[at], sample_weight=weight[at] if weighted else None)
            assert estimate.mean == pytest.approx(number, abs=limits[metric])
            assert estimate.exact == (not codes)
    if codes:  # the labels of all rows of a cell are in the order of the scores: the worst case
        pattern = r"in (.), by which auc may be off by (0\.\d+);"
        name, most = re.search(pattern, str(result.warnings)).groups()
        at = group == name
        off = roc_auc_score(label[at], score[at], sample_weight=weight[at] if weighted else None)
        assert abs(result.metric("auc", name).mean - off) == pytest.approx(float(most), abs=6e-4)
