"""Metrics on scores, and metrics of one's own: by hand, by loops, and against other programs."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from asking import flat

import lightfair.core as lf
from lightfair.core.metrics.definitions import (
    BINS,
    BUILT_IN,
    COUNT_METRICS,
    METRICS,
    SCORE_METRICS,
    Metric,
    as_metric,
    check_metrics,
    cost,
    theta,
)
from lightfair.core.metrics.imputation import TARGETS, slot_theta
from lightfair.core.settings import Settings

QUICK = {"chains": 4, "draws": 100, "warmup": 100, "rng": 1}
# five slots: scores, weights, shares of positives
HAND = ([0.1, 0.3, 0.3, 0.8, 1.0], [4.0, 2.0, 1.0, 3.0, 2.0], [0.25, 0.5, 0.0, 2 / 3, 1.0])
# positives 1, 1, 0, 2, 2 of 6; negatives 3, 1, 1, 1, 0 of 6
BY_HAND = {
    # below + half of ties: at 0.1 1.5, at 0.3 3 + 1, at 0.8 5.5, at 1 6
    "auc": (1 * 1.5 + 1 * 4 + 2 * 5.5 + 2 * 6) / 36,
    "brier": (0.81 + 3 * 0.01 + 0.49 + 2 * 0.09 + 2 * 0.04 + 0.64) / 12,
    # bins of 0.1 (1 - 0.4), of 0.3 (1 - 0.9), of 0.8 (2 - 2.4), of 1 (2 - 2)
    "ece": (0.6 + 0.1 + 0.4 + 0.0) / 12,
    "calibration_in_the_large": 6 / 12 - (0.4 + 0.6 + 0.3 + 2.4 + 2.0) / 12,
    "balance_positive": (0.1 + 0.3 + 1.6 + 2.0) / 6,
    "balance_negative": (0.3 + 0.3 + 0.3 + 0.8) / 6,
    "average_score": 5.7 / 12,
}


def nodes(count=40, draws=3, seed=0):
    """Scores with ties, weights and shares of several draws."""
    rng = np.random.default_rng(seed)
    score = np.sort(rng.integers(1, 25, count) / 25.0)
    return score, rng.gamma(2.0, 1.0, (draws, count)), rng.random((draws, count))


def at(metric, score, weight, label):
    arrays = (np.array(x, dtype=float) for x in (score, weight, label))
    score, weight, label = arrays
    return slot_theta(as_metric(metric), score, np.atleast_2d(weight), np.atleast_2d(label))


def labeled_rows(count=300, seed=0, levels=None):
    """All labels known: score, label, group."""
    rng = np.random.default_rng(seed)
    score = np.clip(rng.beta(1.5, 1.5, count), 0.011, 0.989)
    if levels:
        score = np.clip(np.rint(score * levels), 1, levels - 1) / levels
    return score, (rng.random(count) < score**1.3).astype(int), np.array(["a", "b"] * (count // 2))


def ask(rows, **options):
    return lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, **QUICK | options)


# the functions


def test_every_score_metric_is_listed_and_by_hand():
    assert tuple(BUILT_IN) == SCORE_METRICS == tuple(BY_HAND) == METRICS[len(COUNT_METRICS) :]
    assert all(as_metric(name) is BUILT_IN[name] for name in SCORE_METRICS)


@pytest.mark.parametrize("name", SCORE_METRICS)
def test_by_hand(name):
    assert at(name, *HAND)[0] == pytest.approx(BY_HAND[name], rel=1e-14)


def loop(name, score, weight, label):
    """One draw of a metric, by loops over slots and pairs of them."""
    n = range(len(score))
    positive = [weight[i] * label[i] for i in n]
    negative = [weight[i] * (1.0 - label[i]) for i in n]
    total = sum(weight)
    if name == "auc":
        wins = 0.0
        for i in n:
            for j in n:
                wins += positive[i] * negative[j] * (score[i] > score[j])
                wins += 0.5 * positive[i] * negative[j] * (score[i] == score[j])
        return wins / (sum(positive) * sum(negative))
    if name == "brier":
        return (
            sum(positive[i] * (1 - score[i]) ** 2 + negative[i] * score[i] ** 2 for i in n) / total
        )
    if name == "ece":
        away = 0.0
        for k in range(BINS):
            mine = [
                i for i in n if math.floor(score[i] * 10 + 1e-9) == k or (k == 9 and score[i] == 1)
            ]
            away += abs(sum(positive[i] - weight[i] * score[i] for i in mine))
        return away / total
    mean = sum(weight[i] * score[i] for i in n) / total
    return {
        "calibration_in_the_large": sum(positive) / total - mean,
        "balance_positive": sum(positive[i] * score[i] for i in n) / sum(positive),
        "balance_negative": sum(negative[i] * score[i] for i in n) / sum(negative),
        "average_score": mean,
    }[name]


@pytest.mark.parametrize("name", SCORE_METRICS)
def test_against_loops(name):
    score, weight, label = nodes()
    wanted = [loop(name, score, *draw) for draw in zip(weight, label, strict=True)]
    np.testing.assert_allclose(at(name, score, weight, label), wanted, rtol=1e-12)


@pytest.mark.parametrize("name", SCORE_METRICS)
def test_a_factor_on_all_weights_is_free_and_a_slot_can_be_split(name):
    score, weight, label = nodes()
    one = at(name, score, weight, label)
    np.testing.assert_allclose(at(name, score, 3.7 * weight, label), one, rtol=1e-12)
    twice = (np.repeat(x, 2, axis=-1) for x in (score, 0.5 * weight, label))
    np.testing.assert_allclose(at(name, *twice), one, rtol=1e-12)


def test_swapping_classes():
    score, weight, label = nodes()
    turned = (1.0 - score[::-1], weight[:, ::-1], 1.0 - label[:, ::-1])
    for one, other, sign, shift in (
        ("auc", "auc", 1, 0),
        ("brier", "brier", 1, 0),
        ("calibration_in_the_large", "calibration_in_the_large", -1, 0),
        ("balance_positive", "balance_negative", -1, 1),
    ):
        got = at(one, *turned)
        np.testing.assert_allclose(got, shift + sign * at(other, score, weight, label), rtol=1e-12)


def test_an_edge_belongs_to_the_bin_above_it_whatever_the_rounding():
    """Scores of 0.3 and 0.35 share a bin, 0.3 and 0.25 do not; 1 is with 0.95."""
    for score, same in (([0.3, 0.35], True), ([0.25, 0.3], False), ([0.95, 1.0], True)):
        label = [1.0, 0.0]
        away = [1.0 - score[0], -score[1]]
        wanted = abs(sum(away)) if same else sum(map(abs, away))
        for shift in (0.0, -1e-16, 1e-16):
            moved = np.array(score) + [shift, shift] if max(score) < 1 else np.array(score)
            assert at("ece", moved, [1.0, 1.0], label)[0] == pytest.approx(wanted / 2)


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_one_class_leaves_auc_and_a_balance_undefined(label):
    score, weight, _ = nodes()
    values = {name: at(name, score, weight, np.full(weight.shape, label)) for name in SCORE_METRICS}
    assert np.isnan(values["auc"]).all()
    assert np.isnan(values["balance_positive"]).all() == (label == 0.0)
    assert np.isnan(values["balance_negative"]).all() == (label == 1.0)
    assert all(np.isfinite(values[name]).all() for name in ("brier", "ece", "average_score"))


def test_separable_scores_have_an_auc_of_1():
    assert at("auc", [0.2, 0.4, 0.6], [1, 1, 1], [0, 0, 1])[0] == 1.0
    assert at("auc", [0.2, 0.4, 0.6], [1, 1, 1], [1, 0, 0])[0] == 0.0
    assert at("auc", [0.5], [3], [0.4])[0] == 0.5


# against other programs, all labels known


def others(score, label, decided):
    """What Fairlearn and scikit-learn say of one group."""
    from fairlearn import metrics as fl
    from sklearn import metrics as sk
    from sklearn.calibration import calibration_curve

    tn, fp, fn, tp = sk.confusion_matrix(label, decided).ravel()
    edges = np.linspace(0.0, 1.0, 11)
    rate, mean = calibration_curve(label, score, n_bins=10, strategy="uniform")
    rows = np.histogram(score, edges)[0]
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


@pytest.mark.parametrize("levels", [None, 77])
def test_all_labels_known_against_fairlearn_and_scikit_learn(levels):
    score, label, group = labeled_rows(levels=levels)
    names = (*METRICS, "cost(fp=1,fn=5)")
    result = lf.assess(label, score, sensitive_features=group, metrics=names, **QUICK)
    values = result.to_dict()["metrics"]
    for index, name in enumerate("ab"):
        mine = group == name
        wanted = others(score[mine], label[mine], (score[mine] >= 0.5).astype(int))
        assert set(wanted) == set(names)
        for metric, number in wanted.items():
            entry = values[metric]["groups"][index]
            assert entry["exact"] and entry["name"] == name
            assert entry["mean"] == pytest.approx(number, rel=1e-12, abs=1e-12)


def test_differences_against_fairlearn():
    from fairlearn.metrics import MetricFrame, demographic_parity_difference, false_positive_rate
    from sklearn.metrics import roc_auc_score

    score, label, group = labeled_rows()
    names = ("selection_rate", "fpr", "auc")
    result = lf.assess(label, score, sensitive_features=group, metrics=names, **QUICK)
    decided = (score >= 0.5).astype(int)
    wanted = (
        demographic_parity_difference(label, decided, sensitive_features=group),
        MetricFrame(
            metrics=false_positive_rate, y_true=label, y_pred=decided, sensitive_features=group
        ).difference(),
        MetricFrame(
            metrics=roc_auc_score, y_true=label, y_pred=score, sensitive_features=group
        ).difference(),
    )
    for name, number in zip(names, wanted, strict=True):
        got = result.difference(name, "b", "a")
        assert abs(got.mean) == pytest.approx(number, rel=1e-12)
        assert got.sd == 0.0


def test_rows_in_cells_are_close_to_scikit_learn():
    """Above 128 scores of a stratum rows are in cells: what that costs."""
    score, label, group = labeled_rows(20_000)
    names = (*SCORE_METRICS, "tpr")
    result = lf.assess(label, score, sensitive_features=group, metrics=names, **QUICK)
    limit = {"auc": 2e-4, "average_score": 1e-9, "calibration_in_the_large": 1e-9, "tpr": 1e-12}
    for name in "ab":
        mine = group == name
        wanted = others(score[mine], label[mine], (score[mine] >= 0.5).astype(int))
        for metric in names:
            away = abs(result.metric(metric, name).mean - wanted[metric])
            assert away < limit.get(metric, 1e-4)


# through the whole


@pytest.mark.parametrize("target", TARGETS)
def test_every_metric_through_every_target(rows, target):
    own = Metric("own", lambda s, w, p: (w * p * s * s).sum(-1) / w.sum(-1), of="nodes")
    result = ask(rows, metrics=[*METRICS, own, cost(fp=1, fn=5)], target=target)
    for name in result.settings.metrics:
        draws = result.draws(name)
        assert draws.shape == result.posterior.phi.shape[:3]
        low, high = result.settings.metric(name).bounds
        assert ((draws >= low) & (draws <= high)).all()
    values = result.to_dict()
    assert list(values["metrics"]) == [*METRICS, "own", "cost(fp=1,fn=5)"]
    json.dumps(values, allow_nan=False)
    assert "nan" not in str(result)
    spread = result.metric("average_score", "A").sd
    assert (spread == 0.0) == (target != "population")


@pytest.mark.parametrize("target", TARGETS)
def test_counts_and_labels_are_one_imputation(rows, target):
    """Counts, the theta of counts, and what `imputed` returns, are of the same labels."""
    result = ask(rows, metrics=["tpr", "auc"], target=target)
    from lightfair.core.metrics.imputation import confusion, score_slots

    for index, mine in enumerate(score_slots(result.fine)):
        drawn = result.imputed(result.groups[index])
        counts = result.counts[:, :, index].reshape(-1, 2, 2)
        np.testing.assert_array_equal(confusion(drawn, mine), counts)
        np.testing.assert_array_equal(
            slot_theta(as_metric("auc"), mine.score, *drawn),
            result.draws("auc")[..., index].ravel(),
        )
    np.testing.assert_array_equal(theta("tpr", result.counts), result.draws("tpr"))


def test_without_metrics_of_scores_nothing_moves(rows):
    """Counts are those that theta is made of, and an AUC beside a metric changes it little."""
    plain, also = (ask(rows, metrics=names) for names in (["tpr"], ["tpr", "auc"]))
    np.testing.assert_array_equal(theta("tpr", plain.counts), plain.draws("tpr"))
    one, two = plain.metric("tpr", "A"), also.metric("tpr", "A")
    assert abs(one.mean - two.mean) < 0.35 * one.sd
    assert one.sd == pytest.approx(two.sd, rel=0.25)


def test_the_truth_is_covered():
    rows = lf.simulate(20_000, 400, rng=8)
    result = ask(rows, metrics=SCORE_METRICS, draws=300)
    full = lf.assess(
        rows.y_all, rows.y_score, sensitive_features=rows.group, metrics=SCORE_METRICS, **QUICK
    )
    for name in SCORE_METRICS:
        for group in "AB":
            got, wanted = result.metric(name, group), full.metric(name, group).mean
            assert abs(got.mean - wanted) < 4.0 * got.sd + 1e-9
            assert got.sd < 0.05


def test_same_seed_same_bytes(rows):
    one, two = (ask(rows, metrics=["auc", "ece", "tpr"]) for _ in range(2))
    assert json.dumps(one.to_dict()) == json.dumps(two.to_dict())
    assert one.label_seed == two.label_seed != ask(rows, metrics=["auc"], rng=2).label_seed


def test_truth_beside_the_estimates(rows):
    from lightfair.core.pipeline import assess_data

    hidden = lf.score_data(rows.y_true, rows.y_score, sensitive_features=rows.group)
    full = lf.score_data(rows.y_all, rows.y_score, sensitive_features=rows.group)
    settings = Settings(metrics=["auc", "cost(fp=1,fn=5)"], chains=4, draws=50, warmup=50)
    values = assess_data(hidden, settings, rng=1, truth=full).to_dict()["metrics"]["auc"]
    mine = rows.group == "A"
    from sklearn.metrics import roc_auc_score

    wanted = roc_auc_score(rows.y_all[mine], np.clip(rows.y_score[mine], 0.01, 0.99))
    assert values["groups"][0]["truth"] == pytest.approx(wanted, abs=5e-5)


# undefined, and few labels


def test_one_class_is_null_with_a_reason():
    """F43: all labels known, one class only."""
    score, _, group = labeled_rows(60)
    result = lf.assess(np.ones(60), score, sensitive_features=group, metrics=SCORE_METRICS, **QUICK)
    values = result.to_dict()["metrics"]
    for name, reason in (("auc", "a label is missing"), ("balance_negative", "no negative labels")):
        entry = values[name]["groups"][0]
        assert entry["mean"] is entry["interval"] is None
        assert reason in entry["reason"]
    assert values["balance_positive"]["groups"][0]["mean"] == pytest.approx(score[::2].mean())
    assert "fewer than 5 negative labels" in flat(result)


@pytest.mark.parametrize("kind", ["float32", "integer", "separable", "one_score"])
def test_scores_that_break_an_auc(kind):
    """S25: what a score can look like."""
    score, label, group = labeled_rows(200)
    rng = np.random.default_rng(3)
    if kind == "float32":
        score = score.astype(np.float32)
    elif kind == "integer":
        score = (score > 0.5).astype(int)
    elif kind == "separable":
        label = (score > 0.5).astype(int)
    else:
        score = np.full(200, 0.5)
    known = np.where(rng.random(200) < 0.3, label, -1)
    result = lf.assess(known, score, sensitive_features=group, metrics=["auc", "ece"], **QUICK)
    auc = result.draws("auc")
    assert ((auc >= 0.0) & (auc <= 1.0)).all()
    if kind == "one_score":
        np.testing.assert_allclose(auc, 0.5, rtol=1e-12)
    if kind == "separable":
        values = result.to_dict()["metrics"]["auc"]["groups"][0]
        assert values["mean"] > 0.9
        assert "all draws agree" in values["labels_only"]["reason"]
    json.dumps(result.to_dict(), allow_nan=False)


def test_clipping_moves_a_mean_score_by_at_most_the_clip():
    rng = np.random.default_rng(0)
    score = rng.choice([0.0, 0.4, 0.6, 1.0], 400)
    data = {"sensitive_features": ["a", "b"] * 200, "metrics": "average_score"}
    label = (rng.random(400) < score).astype(int)
    for clip in (0.01, 1e-6):
        result = lf.assess(label, score, clip=clip, **data, **QUICK)
        share = np.isin(score[::2], [0.0, 1.0]).mean()
        assert abs(result.metric("average_score", "a").mean - score[::2].mean()) <= clip * share


def test_labels_only_needs_five_rows_of_each_class():
    score, label, group = labeled_rows(400)
    known = np.full(400, -1)
    for name, positives, negatives in (("a", 5, 5), ("b", 20, 4)):
        for value, many in ((1, positives), (0, negatives)):
            known[np.flatnonzero((group == name) & (label == value))[:many]] = value
    result = lf.assess(known, score, sensitive_features=group, metrics=["auc", "brier"], **QUICK)
    a, b = result.to_dict()["metrics"]["auc"]["groups"]
    low, high = a["labels_only"]["interval"]
    assert 0.0 <= low < a["labels_only"]["mean"] < high <= 1.0
    assert b["labels_only"]["reason"] == "fewer than 5 negative labels"
    (delta,) = result.to_dict()["metrics"]["auc"]["differences"]
    assert delta["labels_only"]["mean"] is None
    assert delta["labels_only"]["reason"].startswith("fewer than 5 negative labels, in the ")
    assert a["prediction_powered"]["reason"] == "not estimated for a metric of scores"


def test_labels_alone_say_nothing_of_a_calibration_error():
    score, label, group = labeled_rows(400)
    result = lf.assess(label, score, sensitive_features=group, metrics=["ece", "brier"], **QUICK)
    values = result.to_dict()["metrics"]
    assert "overstate it" in values["ece"]["groups"][0]["labels_only"]["reason"]
    assert "reason" not in values["brier"]["groups"][0]["labels_only"]


def test_the_bootstrap_of_labels_has_the_right_spread():
    """Of the mean score of the positives: the variance of a Dirichlet mean, s^2 / (n + 1)."""
    score, label, group = labeled_rows(240)
    known = np.where(np.arange(240) < 120, label, -1)
    result = lf.assess(known, score, sensitive_features=group, metrics="balance_positive", **QUICK)
    mine = score[(group == "a") & (known == 1)]
    got = result.labels["balance_positive"]
    assert got.mean[0] == pytest.approx(mine.mean(), abs=4.5 * got.sd[0] / 4000**0.5)
    assert got.sd[0] == pytest.approx((mine.var() / (len(mine) + 1)) ** 0.5, rel=0.06)


# metrics of one's own


def test_an_own_metric_of_counts_is_as_good_as_a_built_in(rows):
    mine = Metric("mine", lambda tp, fp, fn, tn: tp / (tp + fn), lack="positive labels")
    result = ask(rows, metrics=["tpr", mine])
    np.testing.assert_allclose(result.draws("mine"), result.draws("tpr"), rtol=1e-12)
    own, tpr = (result.to_dict()["metrics"][name] for name in ("mine", "tpr"))
    assert own["differences"][0]["mean"] == pytest.approx(tpr["differences"][0]["mean"])
    assert own["differences"][0]["prob_positive"] == tpr["differences"][0]["prob_positive"]
    assert own["groups"][0]["prediction_powered"]["reason"] == (
        "not estimated for a metric that is no share of counts"
    )
    # labels alone: Dirichlet(1, 1, 1, 1) has the same tpr as Beta(1, 1) of its two cells
    one, two = own["groups"][0]["labels_only"], tpr["groups"][0]["labels_only"]
    assert one["mean"] == pytest.approx(two["mean"], abs=0.01)
    assert one["interval"] == pytest.approx(two["interval"], abs=0.03)


def test_an_own_metric_of_nodes_is_as_good_as_a_built_in(rows):
    def mean_positive(score, weight, label):
        mass = weight * label
        return (mass * score).sum(axis=-1) / mass.sum(axis=-1)

    mine = Metric("mine", mean_positive, of="nodes", lack="positive labels", bounds=(0, 1))
    result = ask(rows, metrics=["balance_positive", mine])
    np.testing.assert_array_equal(result.draws("mine"), result.draws("balance_positive"))
    values = result.to_dict()["metrics"]
    assert values["mine"]["groups"][0]["mean"] == values["balance_positive"]["groups"][0]["mean"]


@pytest.mark.parametrize("of", ["counts", "nodes"])
def test_an_own_metric_may_need_no_labels(rows, of):
    if of == "counts":
        mine = Metric("mine", lambda tp, fp, fn, tn: (tp + fp) / (tp + fp + fn + tn), "counts")
    else:
        mine = Metric("mine", lambda s, w, p: (w * (s > 0.5)).sum(-1) / w.sum(-1), "nodes")
    mine = replace(mine, label_free=True)
    result = ask(rows, metrics=["selection_rate", mine])
    for group in result.groups:
        got, wanted = (result.metric(name, group) for name in ("mine", "selection_rate"))
        assert got.exact and got.sd == 0.0
        assert got.mean == pytest.approx(wanted.mean, rel=1e-12)
    assert flat(result).count("no label is needed to know it") == 2


def test_an_own_metric_may_be_a_count(rows):
    """Labels alone are scaled to the rows of the group, as the draws are."""
    mine = Metric("false_positives", lambda tp, fp, fn, tn: fp)
    result = ask(rows, metrics=[mine])
    predicted = ((rows.group == "A") & (rows.y_score >= 0.5)).sum()
    estimate, labels = result.metric("false_positives", "A"), result.labels["false_positives"]
    assert 0 < estimate.mean < predicted
    assert labels.low[0] < estimate.mean < labels.high[0]
    assert result.difference("false_positives", "B", "A").prob_within(300.0) == 1.0


def test_undefined_draws_of_an_own_metric(rows):
    mine = Metric("mine", lambda tp, fp, fn, tn: tp / (0.0 * tp), lack="sense")
    values = ask(rows, metrics=[mine]).to_dict()["metrics"]["mine"]["groups"][0]
    assert values["mean"] is None and values["reason"] == "there are no sense"
    assert values["labels_only"]["reason"] == "no sense in 100% of the draws"


def raising(*arrays):
    raise RuntimeError("not today")


def changing(tp, fp, fn, tn):
    tp += 1.0
    return tp


@pytest.mark.parametrize(
    "metric, message",
    [
        (Metric("mine", raising), "metric 'mine' raised RuntimeError: not today; .*tp, fp, fn, tn"),
        (Metric("mine", lambda tp: tp), "metric 'mine' raised TypeError.*tp, fp, fn, tn"),
        (Metric("mine", lambda *x: 0.5), r"metric 'mine' returned shape \(\); .*of shape"),
        (Metric("mine", lambda *x: 1j * x[0]), "metric 'mine' returned values of type complex128"),
        (Metric("mine", lambda *x: "high"), "metric 'mine' returned values of type <U4"),
        (Metric("mine", lambda *x: None), "metric 'mine' returned values of type object"),
        (Metric("mine", changing), "metric 'mine' raised ValueError: .*read-only"),
        (
            Metric("mine", lambda *x: 2.0 + x[0], bounds=(0, 1)),
            r"metric 'mine' must lie in its bounds \[0, 1\]; got",
        ),
        (
            Metric("mine", lambda s, w, p: s, of="nodes"),
            r"metric 'mine' returned shape .*score \(slot,\), weight and label \(draw, slot\)",
        ),
        (Metric("mine", raising, of="nodes"), "metric 'mine' raised RuntimeError: not today"),
        (
            Metric("mine", lambda tp, fp, fn, tn: tp, label_free=True),
            "metric 'mine' has label_free=True but depends on labels: it is 0 where",
        ),
        (
            Metric("mine", lambda s, w, p: (w * p).sum(-1), of="nodes", label_free=True),
            "metric 'mine' has label_free=True but depends on labels: it is 0 where",
        ),
    ],
)
def test_a_function_that_fails_is_named(rows, metric, message):
    with pytest.raises(ValueError, match=message):
        ask(rows, metrics=["tpr", metric])


@pytest.mark.parametrize(
    "given, message",
    [
        (lambda tp, fp, fn, tn: tp, r'function <lambda>; wrap it: lightfair.Metric\("name"'),
        (["tpr", len], "got the function len; wrap it"),
        ([Metric("tpr", raising)], "must not have the name of a built-in; got 'tpr'"),
        ([Metric("auc", raising)], "must not have the name of a built-in; got 'auc'"),
        ([Metric("cost(fp=1,fn=5)", raising)], "must not have the name of a built-in"),
        ([Metric("x", raising), Metric("x", changing)], "two metrics have the name 'x'"),
        ("recall", r"unknown metric 'recall' .*; known: accuracy, .*average_score, cost\(fp"),
        ([3], "unknown metric 3; known"),
        ("cost(fp=1)", r"unknown metric 'cost\(fp=1\)'"),
        ("cost(fp=x,fn=1)", r"costs must be numbers, as in cost\(fp=1,fn=5\)"),
        ("cost(fp=-1,fn=1)", "cost fp must be a finite number of at least 0; got -1.0"),
        ("cost(fp=1,fn=inf)", "cost fn must be a finite number of at least 0; got inf"),
        ("cost(fp=1,fn=nan)", "cost fn must be a finite number of at least 0; got nan"),
        ("cost(fp=0,fn=0)", "must not both be 0"),
    ],
)
def test_what_is_no_metric(given, message):
    with pytest.raises(ValueError, match=message):
        check_metrics(given)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"name": ""}, "Metric.name must be"),
        ({"name": "a\nb"}, "Metric.name must be"),
        ({"function": 3}, "Metric.function of 'x' must be callable; got 3"),
        ({"of": "rows"}, 'must be "counts" or "nodes"; got \'rows\''),
        ({"lack": None}, "Metric.lack of 'x' must be text"),
        ({"label_free": 1}, "Metric.label_free of 'x' must be True or False; got 1"),
        ({"bounds": (1, 0)}, "Metric.bounds of 'x' must be two numbers, the lower first"),
        ({"bounds": 3}, "Metric.bounds of 'x' must be two numbers"),
        ({"bounds": (0, math.nan)}, "Metric.bounds of 'x' must be two numbers"),
    ],
)
def test_a_metric_is_checked(options, message):
    with pytest.raises(ValueError, match=message):
        Metric(**{"name": "x", "function": raising, **options})


def test_costs():
    counts = [[50, 10], [5, 30]]  # tn, fn; fp, tp
    assert float(theta(cost(fp=1, fn=5), counts)) == pytest.approx((5 + 50) / 95)
    assert float(theta("cost(fp=0, fn=2.5)", counts)) == pytest.approx(25 / 95)
    one = cost(fp=1.0, fn=np.float64(0.1))
    assert one.name == "cost(fp=1,fn=0.1)" and as_metric(one.name) == one
    assert one.bounds == (0.0, 1.0)
    accuracy = theta("accuracy", counts)
    assert float(theta(cost(fp=1, fn=1), counts)) == pytest.approx(1.0 - accuracy)
    assert check_metrics([one, one.name, "tpr"]) == (one.name, "tpr")


def test_the_cost_has_a_prediction_powered_estimate(rows):
    """Equal costs are the error rate: one minus the accuracy, by every method."""
    result = ask(rows, metrics=["accuracy", "cost(fp=1,fn=1)"])
    one, two = (result.prediction_powered[name] for name in result.settings.metrics)
    np.testing.assert_allclose(two.mean, 1.0 - one.mean, rtol=1e-12)
    np.testing.assert_allclose(two.se, one.se, rtol=1e-12)
    np.testing.assert_allclose(result.draws("cost(fp=1,fn=1)"), 1.0 - result.draws("accuracy"))


def test_the_command_line_takes_costs_and_metrics_of_scores(rows, tmp_path, capsys):
    from lightfair.cli.main import main

    lines = ["y,s,g"]
    for label, score, group in zip(rows.y_true, rows.y_score, rows.group, strict=True):
        lines.append(f"{'' if np.isnan(label) else int(label)},{score},{group}")
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines))
    given = ["assess", str(path), "--label", "y", "--score", "s", "--group", "g", "--json"]
    given += ["--chains", "4", "--draws", "50", "--warmup", "50"]
    assert main([*given, "--metric", "auc", "cost(fp=1, fn=5)"]) == 0
    assert list(json.loads(capsys.readouterr().out)["metrics"]) == ["auc", "cost(fp=1,fn=5)"]
    assert main([*given, "--metric", "cost(fp=1)"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(
        "lightfair: error: --metric: unknown metric 'cost(fp=1)'; known: accuracy"
    )
    assert error.endswith("cost(fp=NUMBER,fn=NUMBER)\n")


def test_settings_keep_own_metrics():
    mine = Metric("mine", lambda tp, fp, fn, tn: tp)
    settings = replace(Settings(metrics=["tpr", mine], epsilon=2.0), prob=0.9)
    assert settings.metrics == ("tpr", "mine")
    assert settings.metric("mine") is mine and settings.metric("tpr") is COUNT_METRICS["tpr"]
    assert settings.to_dict()["metrics"] == ["tpr", "mine"]
    json.dumps(settings.to_dict())
    with pytest.raises(ValueError, match=r"epsilon must lie in \(0, 1\); got 2.0"):
        Settings(metrics="auc", epsilon=2.0)
    with pytest.raises(ValueError, match=r"epsilon must lie in \(0, 5\); got 5"):
        Settings(metrics="cost(fp=1,fn=5)", epsilon=5)


def test_counts_do_not_tell_a_metric_of_nodes():
    with pytest.raises(ValueError, match="auc is a metric of nodes; confusion counts do not"):
        theta("auc", [[1, 2], [3, 4]])


def test_the_default_report_loads_none_of_it(child_env):
    program = (
        "import sys, lightfair as lf\n"
        "r = lf.simulate(400, 60, rng=3)\n"
        "str(lf.assess(r.y_true, r.y_score, sensitive_features=r.group, rng=1))\n"
        "print([m for m in sys.modules if m.endswith(('score_metrics', '.slots', 'fairlearn'))])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=child_env, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
