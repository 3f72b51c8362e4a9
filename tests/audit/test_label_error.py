"""Wrong labels: against loops over rows and quadrature, and with rates of 0."""

from __future__ import annotations

import json

import numpy as np
import pytest
from results import ask_quickly, codes, flat

import lightfair as lf
from lightfair.audit.label_error import WrongLabels, label_error_of
from lightfair.core.data.logit import logit_of, sigmoid
from lightfair.core.mcmc.convergence import mcse_mean
from lightfair.core.model.likelihood import loglik
from lightfair.core.model.regions import regions
from lightfair.core.settings import Settings

LOGITS = np.array([-3.0, -1.0, 0.5, 1.5, 3.0])


def chance(f, observed, rates):
    """Probability of a label, row by row."""
    share = rates[0] * (1.0 - f) + (1.0 - rates[1]) * f
    return share if observed else 1.0 - share


@pytest.mark.parametrize("hierarchical", [True, False])
def test_the_likelihood_is_that_of_rows(rows, hierarchical):
    score = np.clip(rows.y_score, 0.15, 0.85)  # with masses at both ends
    data = lf.score_data(rows.y_true, score, sensitive_features=rows.group)
    table = lf.score_table(data, clip=0.15)
    where, error = regions(table), label_error_of([(0.02, 0.1), "0:0.3"])
    settings = Settings(metrics="tpr", label_error=error).resolved(table, 1)
    wide = settings.run[0]
    options = {"family": "beta", "hierarchical": hierarchical, "regions": where}
    wrong = WrongLabels(error, table, settings, np.random.default_rng(0), **options)
    psi = np.random.default_rng(1).normal(0.0, 0.5, (wide, 7, 2, 3 + len(where.names)))
    found = loglik(
        psi if hierarchical else psi.swapaxes(1, 2).reshape(2 * wide, 7, 1, -1), wrong.data
    )
    found = found if hierarchical else found.reshape(wide, 2, 7).swapaxes(1, 2)
    labeled = np.flatnonzero(data.label >= 0)
    logit = logit_of(data.score, 0.15)
    region = where.of(data.predicted * 3, logit)
    for copy, rates in enumerate(wrong.rates[:3]):
        for g in range(2):
            want = np.zeros(7)
            for i in labeled[data.group[labeled] == g]:
                held, at = where.on_curve[region[i]], psi[copy, :, g]
                s = sigmoid(logit[i])
                odds = np.exp(at[:, 0]) * np.log(s) - np.exp(at[:, 1]) * np.log1p(-s) + at[:, 2]
                odds = held * odds + where.base[region[i]] + at[:, 3:] @ where.loadings[region[i]]
                want += np.log(chance(sigmoid(odds), data.label[i], rates))
            off = found[copy, :, g] - want
            np.testing.assert_allclose(off, off[0], rtol=0, atol=1e-9)


BOTH = ((0.0, 0.2), (0.1, 0.4))


@pytest.mark.parametrize(
    "error, size, unlabeled",
    [
        ((0.1, 0.2), 1, 0),
        (((0.0, 0.2), 0.1), 25, 30),
        pytest.param(BOTH, 25, 0, marks=pytest.mark.slow),
        pytest.param(BOTH, 25, 30, marks=pytest.mark.slow),
    ],
)
def test_the_posterior_is_that_of_quadrature(error, size, unlabeled):
    """One group, log odds of a times the logit: the base rate and the accuracy, by loops."""
    positive, labeled = np.array([4, 5, 7, 9, 12]), np.array([15, 11, 10, 12, 14])
    y, s = [], []
    for k, logit in enumerate(LOGITS.tolist()):
        y += [1] * int(positive[k]) + [0] * int(labeled[k] - positive[k]) + [-1] * unlabeled
        s += [float(sigmoid(logit))] * (int(labeled[k]) + unlabeled)
    options = {"family": "temperature", "trust": False, "target": "expected", "rng": 1}
    options |= {"metrics": ["base_rate", "accuracy"], "hierarchical": False, "label_error": error}
    result = lf.assess(y, s, sensitive_features=["x"] * len(y), **options)

    log_a, sigma = np.linspace(-2.5, 2.5, 201), np.linspace(0.002, 0.8, 100)
    sd = np.sqrt(0.4**2 + sigma**2)[:, None]
    prior = np.exp(-0.5 * (log_a / sd) ** 2) / sd * np.exp(-0.5 * (sigma / 0.15) ** 2)[:, None]
    f = sigmoid(np.exp(log_a)[:, None] * LOGITS)
    middle = (np.arange(size) + 0.5) / size
    total, sums = 0.0, np.zeros((2, 2))
    grids = [low + (high - low) * middle for low, high in label_error_of(error)]
    for rates in np.stack(np.meshgrid(*grids), axis=-1).reshape(-1, 2):
        one, zero = chance(f, 1, rates), chance(f, 0, rates)
        mass = np.prod(one**positive * zero ** (labeled - positive), axis=1) * prior.sum(axis=0)
        true = positive * (1 - rates[1]) * f / one + (labeled - positive) * rates[1] * f / zero
        true = true + unlabeled * f
        right = np.where(LOGITS < 0, labeled + unlabeled - true, true)
        theta = np.stack([true.sum(axis=1), right.sum(axis=1)]) / len(y)
        total += mass.sum()
        sums += np.stack([(theta * mass).sum(axis=1), (theta**2 * mass).sum(axis=1)])
    mean = sums[0] / total
    sd = np.sqrt(sums[1] / total - mean**2)
    assert result.gate.ok
    for at, name in enumerate(options["metrics"]):
        draws = result.draws(name)[..., 0]
        assert abs(draws.mean() - mean[at]) < 4.0 * mcse_mean(draws)
        assert draws.std() == pytest.approx(sd[at], rel=0.1)


@pytest.mark.parametrize("target", ["sample", "population"])
def test_with_rates_of_0_labels_are_as_they_are(rows, target):
    options = {
        "chains": 4,
        "draws": 400,
        "warmup": 100,
        "target": target,
        "metrics": ["tpr", "ppv"],
    }
    weight = np.random.default_rng(0).integers(1, 4, len(rows.group))
    options |= {"sample_weight": weight, "rng": 1}
    plain = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, **options)
    none = lf.assess(
        rows.y_true, rows.y_score, sensitive_features=rows.group, label_error=(0, 0), **options
    )
    for name in plain.theta:
        one, two = plain.draws(name), none.draws(name)
        error = np.hypot(mcse_mean(one), mcse_mean(two))
        assert (np.abs(one.mean(axis=(0, 1)) - two.mean(axis=(0, 1))) < 4.0 * error).all()
        np.testing.assert_allclose(one.std(axis=(0, 1)), two.std(axis=(0, 1)), rtol=0.15)
    assert codes(none)[0] == "label_error" and "label_error" not in codes(plain)


def test_errors_widen_intervals_and_labels_are_no_facts():
    rows = lf.simulate(rows=600, labeled=600, rng=1)
    group = {"g": rows.group, "half": ["x", "y"] * 300}
    options = {"group": group, "metrics": ["tpr", "selection_rate"]}
    plain, wrong = (ask_quickly(rows, label_error=x, **options) for x in (None, (0.1, 0.1)))
    assert plain.metric("tpr", "A, x").exact and not wrong.metric("tpr", "A, x").exact
    assert not wrong.metric("tpr").exact and wrong.metric("tpr").sd > 0.0
    assert not wrong.marginal("tpr", "g", "A").exact
    assert wrong.metric("selection_rate", "A, x").exact
    assert wrong.labels["tpr"].mean == pytest.approx(plain.labels["tpr"].mean)


def test_what_it_shows(rows):
    quick = {"metrics": "tpr", "chains": 2, "draws": 4, "warmup": 10, "rng": 1}
    options, seen = {**quick, "sensitive_features": rows.group}, []
    options |= {"label_error": (0.02, (0.0, 0.1)), "progress": lambda *stage: seen.append(stage)}
    result = lf.assess(rows.y_true, rows.y_score, **options)
    assert seen[-1][1] == seen[-1][2] > 4
    text = "wrong: false positive rate 0.02, false negative rate 0 to 0.1, the same"
    assert text in flat(result) and text in result.to_markdown()
    page = flat(result.to_html())
    assert "believe the labels" not in page and "may differ from lightfair for that alone" in page
    assert "marks: labeled rows, with wrong labels." in page
    values = json.loads(result.to_json())
    assert values["settings"]["label_error"] == [[0.02, 0.02], [0.0, 0.1]]
    assert values["calibration"]["regions"] == []
    by_table = lf.assess(result.table, label_error=(0.02, "0:0.1"), **quick)
    np.testing.assert_array_equal(by_table.draws("tpr"), result.draws("tpr"))
    with pytest.raises(ValueError, match="selection_odds needs labels that are right"):
        result.selection_bounds(2.0)
    sure = {"A": rows.group == "A", "B": rows.group == "B"}
    chances = lf.round_membership({name: one.astype(float) for name, one in sure.items()})
    options = {**options, "sensitive_features": chances}
    with pytest.raises(ValueError, match="label_error: not with chances of membership"):
        lf.membership(lf.assess(rows.y_true, rows.y_score, **options))
    with pytest.raises(ValueError, match="label_error: a plan takes labels as right"):
        lf.plan_labels(result)
    with pytest.raises(ValueError, match="labels by score are not imputed with label_error"):
        result.thresholds("all")


@pytest.mark.parametrize(
    "error, message",
    [
        (0.1, "must be two rates, each a number in [0, 1), or low and high; got 0.1"),
        ((0.1,), "must be two rates"),
        ({0.1, 0.2}, "must be two rates"),
        ((0.1, 0.1, 0.1), "must be two rates"),
        ((0.1, "a:b"), "must be two rates"),
        ((0.1, (0.1, 0.2, 0.3)), "must be two rates"),
        ((-0.1, 0.1), "must be two rates"),
        ((0.1, 1.0), "must be two rates"),
        ((0.1, np.nan), "must be two rates"),
        (((0.2, 0.1), 0.1), "low and high; got ((0.2, 0.1), 0.1)"),
        ((0.5, 0.5), "must add up to less than 1"),
        (((0.0, 0.6), (0.0, 0.5)), "must add up to less than 1"),
        ((0.6, 0.1), "at a false positive rate of 0.6 or more at least that share is positive; "),
        ((0.1, 0.8), "at a false negative rate of 0.8 or more at least that share is negative; "),
    ],
)
def test_impossible_rates_are_one_sentence(rows, error, message):
    with pytest.raises(ValueError) as caught:
        ask_quickly(rows, metrics="tpr", label_error=error)
    assert str(caught.value).startswith("label_error") and message in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [{"metrics": "auc"}, {"threshold": [0.4, 0.6]}, {"log_odds_cap": 15}, {"selection_odds": 2}],
)
def test_what_does_not_go_with_it(rows, options):
    options = {"metrics": "tpr", **options}
    with pytest.raises(ValueError, match="^label_error is for metrics of decisions at one thresh"):
        ask_quickly(rows, label_error=(0.1, 0.1), **options)
    with pytest.raises(
        TypeError, match="label_error must be a LabelError here; two rates are for assess"
    ):
        lf.core.assess(
            rows.y_true, rows.y_score, sensitive_features=rows.group, label_error=(0.1, 0.1)
        )
