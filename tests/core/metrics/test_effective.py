"""What a posterior is worth in labels: known answers, and what has no answer."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lightfair.core as lf
from lightfair import score_table
from lightfair.core.metrics.definitions import METRICS, as_metric, cost
from lightfair.core.metrics.estimate import Estimate
from lightfair.core.metrics.labels_only import (
    Effective,
    denominators,
    effective_labels,
    in_denominator,
    is_share,
    own_labels,
    share_labels,
    worth_line,
)

QUICK = {"chains": 4, "draws": 100, "warmup": 60, "rng": 1}


@pytest.fixture(scope="module")
def result():
    rows = lf.simulate(2000, 150, rng=1)
    return lf.assess(
        rows.y_true,
        rows.y_score,
        sensitive_features=rows.group,
        metrics=("tpr", "f1", "balanced_accuracy", "selection_rate", "auc"),
        **QUICK,
    )


@pytest.mark.parametrize("n, hits", [(50, 20), (400, 390), (10, 0)])
def test_a_beta_posterior_is_worth_its_labels(n, hits):
    prior = (1.0, 1.0)
    beta = lf.beta_binomial(np.array(hits * 1.0), np.array((n - hits) * 1.0), prior=prior)
    worth = share_labels(as_metric("tpr"), float(beta.mean), float(beta.sd), prior, np.inf)
    assert worth == pytest.approx(n, rel=1e-12)


def test_f1_is_worth_what_its_share_is():
    q, sd = 0.6, 0.001  # small, so that f1 is straight in q
    f1 = 2 * q / (1 + q)
    worth = share_labels(as_metric("f1"), f1, sd * 2 / (1 + q) ** 2, (1.0, 1.0), np.inf)
    assert worth == pytest.approx(q * (1 - q) / sd**2 - 3, rel=1e-9)


@pytest.mark.parametrize(
    "name, share",
    [("tpr", True), ("npv", True), ("accuracy", True), ("f1", False), ("auc", False)]
    + [("balanced_accuracy", False), ("treatment_equality", False), ("cost(fp=1,fn=5)", False)],
)
def test_which_metrics_are_shares(name, share):
    metric = as_metric(name)
    assert is_share(metric) == share
    assert (share_labels(metric, 0.5, 0.1, (1.0, 1.0), np.inf) is None) == (
        not share and name != "f1"
    )
    assert is_share(cost(fp=1, fn=1))


def test_denominators_against_a_hand_count():
    counts = np.array([[[1.0, 2.0], [4.0, 8.0]]])  # tn 1, fn 2, fp 4, tp 8
    want = {
        "accuracy": 15, "tpr": 10, "fnr": 10, "fpr": 5, "tnr": 5, "ppv": 12, "npv": 3,
        "f1": 14, "base_rate": 15, "balanced_accuracy": 5, "treatment_equality": 6,
        "auc": 5, "balance_positive": 10, "balance_negative": 5, "brier": 15,
    }  # fmt: skip
    for name, number in want.items():
        found = in_denominator(as_metric(name), counts)
        assert found is not None and found.tolist() == [number], name
    own = lf.Metric("own", lambda tp, fp, fn, tn: tp - fn)
    assert in_denominator(own, counts) is None
    assert all(denominators(as_metric(name)) for name in METRICS)


def test_own_labels_of_weighted_rows_are_fewer():
    label, score, group = [1, 1, 1, 0, -1], [0.9] * 5, ["a"] * 5
    for weight, want in (([2.0] * 5, 3.0), ([1.0, 1.0, 2.0, 5.0, 1.0], 16.0 / 6.0)):
        data = lf.score_data(label, score, sensitive_features=group, sample_weight=weight)
        got = own_labels(as_metric("tpr"), score_table(data))
        assert got == pytest.approx([want])


def test_worth_and_width_are_in_the_values_and_the_text(result):
    found = effective_labels(result, "tpr")
    groups = result.to_dict()["metrics"]["tpr"]["groups"]
    for index, entry in enumerate(groups):
        estimate = result.metric("tpr", entry["name"])
        p, sd = estimate.mean, estimate.sd
        positives = result.counts[:, :, index, :, 1].sum(axis=-1).mean()
        endless = p * (1 - p) / sd**2 - 3
        assert entry["effective_labels"] == pytest.approx(1 / (1 / endless + 1 / positives))
        low, high = entry["labels_only"]["interval"]
        ours = entry["interval"][1] - entry["interval"][0]
        assert entry["width_ratio"] == pytest.approx(ours / (high - low))
        assert entry["width_ratio"] < 1.0 < entry["effective_labels"] / found.own[index]
    a, b = (f"{entry['effective_labels']:,.0f}" for entry in groups)
    have = [str(entry["positives"]) for entry in result.to_dict()["data"]["groups"]]
    line = f"worth {a} (A), {b} (B) labels, where labels alone have {have[0]}, {have[1]}"
    assert line in " ".join(str(result).split())


def test_facts_are_worth_no_labels(result):
    for entry in result.to_dict()["metrics"]["selection_rate"]["groups"]:
        assert entry["effective_labels"] is None and entry["width_ratio"] is None
        assert entry["effective_reason"] == "no label is needed to know it"
    block = str(result).split("\nselection_rate")[1].split("\n\n")[0]
    assert "worth" not in block


@pytest.mark.parametrize("name", ["balanced_accuracy", "auc"])
def test_what_is_no_share_is_worth_its_labels_times_the_variances(result, name):
    found = effective_labels(result, name)
    alone, known = result.labels[name], result.to_dict()["data"]["groups"]
    for index, group in enumerate(result.groups):
        assert found.own[index] == known[index]["labeled"]
        sd = result.metric(name, group).sd
        endless = found.own[index] * (alone.sd[index] / sd) ** 2
        rows = known[index]["rows"]
        assert found.labels[index] == pytest.approx(1 / (1 / endless + 1 / rows))


def test_fully_labeled_groups_have_no_worth():
    rows = lf.simulate(300, 300, rng=1)
    got = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, **QUICK)
    found = effective_labels(got, "tpr")
    assert np.isnan(found.labels).all()
    assert found.reason == ("every row is labeled",) * 2
    assert "worth" not in str(got).split("trust:")[0]


@pytest.mark.parametrize("metrics", [["tpr", "auc", "ece", "treatment_equality", "f1"]])
def test_every_null_has_its_reason(metrics):
    rows = lf.simulate(300, 30, rng=1)
    group = np.array([*"ABCD"])[np.minimum(np.arange(300) // 90, 3)]
    label = np.where(group == "C", np.nan, rows.y_true)
    label[group == "D"] = rows.y_all[group == "D"]
    got = lf.assess(
        label, rows.y_score, sensitive_features=group, metrics=metrics, **{**QUICK, "draws": 60}
    )
    for name, found in got.to_dict()["metrics"].items():
        for entry in found["groups"]:
            undefined = entry["effective_labels"] is None or entry["width_ratio"] is None
            assert undefined == ("effective_reason" in entry), (name, entry["name"])


def test_many_groups_are_summed_up_in_one_line():
    labels = np.array([20.0, 40.0, 60.0, np.nan, *[40.0] * 5])
    found = Effective(labels, np.full(9, 10.0), np.full(9, 0.5))
    line = worth_line(found, tuple("abcdefghi"))
    assert line == ("worth 4.0 times the labels that there are (median of 8 groups; 2.0 to 6.0)")
    nothing = Effective(np.full(2, np.nan), np.zeros(2), np.zeros(2))
    assert worth_line(nothing, ("a", "b")) is None


def test_an_estimate_that_never_varies_has_no_worth(result):
    assert Estimate(np.full((2, 3), 0.5)).sd == 0.0
    assert math.isnan(effective_labels(result, "selection_rate").labels[0])
