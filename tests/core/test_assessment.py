"""Assess, from rows to the result: its contract, its situations, its errors."""

from __future__ import annotations

import json

import numpy as np
import pytest
from asking import QUICK, ask, codes

import lightfair.core as lf
from lightfair.core import fit
from lightfair.core.mcmc.convergence import diagnose
from lightfair.core.metrics.definitions import COUNT_METRICS, theta
from lightfair.core.metrics.imputation import TARGETS

pytestmark = pytest.mark.usefixtures("compiled")

NAN = float("nan")
FIGURES = [0.5699923576452294, 0.09483589045167837, 0.10945325833912113]


def as_json(result):
    return json.dumps(result.to_dict(), allow_nan=False)


@pytest.fixture(scope="module")
def result(rows, compiled):
    return ask(rows, rng=1)


# the contract


def test_keys_of_to_dict(rows, result):
    values = result.to_dict()
    keys = ["version", "settings", "data", "metrics", "criteria", "checks", "simultaneous"]
    assert list(values) == [*keys, "calibration", "diagnostics", "warnings"]
    assert values["version"] == lf.__version__
    assert {"rows", "labeled", "unlabeled", "groups"} <= set(values["data"])
    assert {"rhat_max", "ess_bulk_min", "ess_tail_min", "ok"} <= set(values["diagnostics"])
    assert list(values["metrics"]) == ["accuracy", "tpr", "fpr", "selection_rate"]
    for metric in values["metrics"].values():
        assert list(metric)[:2] == ["groups", "differences"]
        further = {"ratios", "pairs", "pairs_left_out", "largest_gap", "between_group_sd"}
        assert set(list(metric)[2:]) == {*further, "against_rest", "against_overall", "marginals"}
        for entry in metric["groups"]:
            assert {"name", "mean", "sd", "interval", "labels_only"} <= set(entry)
        for entry in metric["differences"]:
            assert {"group", "reference", "prob_positive", "prob_within"} <= set(entry)
    assert all(set(note) == {"code", "message"} for note in values["warnings"])
    regions, misfit = values["calibration"]["regions"], result.misfit
    assert [one["group"] for one in regions] == [result.groups[at] for at in misfit.group]
    for name in ("low", "high", "rows", "positives", "expected", "p"):
        assert [one[name] for one in regions] == getattr(misfit, name).tolist()
    data = values["data"]
    assert (data["rows"], data["labeled"], data["unlabeled"]) == (400, 60, 340)
    for entry in data["groups"]:
        labels = rows.y_true[rows.group == entry["name"]]
        counts = [len(labels), (~np.isnan(labels)).sum(), (labels == 1).sum()]
        assert [entry[key] for key in ("rows", "labeled", "positives")] == counts


# same in, same out


def test_same_seed_same_bytes(rows, result):
    assert as_json(result) == as_json(ask(rows, rng=1))
    assert as_json(result) != as_json(ask(rows, rng=2))


def test_more_metrics_do_not_change_the_curves(rows):
    one, two = (ask(rows, metrics=m) for m in ("tpr", ["tpr", "fpr", "f1"]))
    count = min(one.posterior.phi.shape[1], two.posterior.phi.shape[1], 20)
    np.testing.assert_array_equal(one.posterior.phi[:, :count], two.posterior.phi[:, :count])


def test_differences_are_from_the_reference_of_the_result(rows, result):
    assert str(result.difference("tpr")) == str(result.difference("tpr", "B", "A"))
    assert str(result.ratio("tpr")) == str(result.ratio("tpr", "B")) != str(result.ratio("fpr"))
    group = np.array([*"abcd"])[np.arange(400) % 4]
    four = ask(rows, group=group, metrics=["tpr", "auc"], reference="b")
    found = four.difference("tpr")
    assert [*found] == ["a", "c", "d"]
    for name, one in found.items():
        assert one.mean == four.difference("tpr", name).mean
        assert one.mean == four.difference("tpr", name, "b").mean
    lines = [f"{name}  {one}" for name, one in four.ratio("tpr").items()]
    assert str(four.ratio("tpr")) == "\n".join(lines)
    assert str(four.by_group["auc"]["c"]) == str(four.metric("auc", "c"))
    assert str(four.overall["auc"]) == str(four.metric("auc"))
    shown = str(four.by_group).splitlines()
    assert shown[0] == "tpr" and shown[3] == f"  c  {four.metric('tpr', 'c')}"


def test_intervals_have_the_prob_of_the_assessment(rows):
    group = {"sex": rows.group, "age": np.where(np.arange(400) % 2, "old", "young")}
    half = ask(rows, group=group, metrics=["tpr", "fpr"], prob=0.5)
    other, base = half.groups[0], str(half.settings.reference)
    other = half.groups[1] if other == base else other
    for one in (
        *(half.metric("tpr", base), half.metric("tpr"), half.difference("tpr", other)),
        *(half.ratio("tpr", other), half.largest_gap("tpr"), half.between_group_sd("tpr")),
        *(half.against_rest("tpr", other), half.against_overall("tpr", other)),
        *(half.marginal("tpr", "sex", "B"), half.marginal_difference("tpr", "sex", "B")),
        half.criterion("equalized_odds", other, base),
    ):
        assert one.interval() == one.interval(0.5) != one.interval(0.9)
        assert one.median == pytest.approx(np.quantile(one.defined, 0.5), rel=0.01)
    assert half.largest_gap("tpr").upper() == half.largest_gap("tpr").upper(0.5)


# situations


@pytest.mark.parametrize("target", ["sample", "expected"])
@pytest.mark.parametrize("weighted", [False, True])
def test_selection_rates_are_exact(rows, target, weighted):
    """They are facts of the predictions: no spread, and equal ones differ by nothing."""
    group = np.where(np.arange(400) % 2, "A", "B")
    score = np.repeat(rows.y_score[:200], 2)
    weight = np.repeat(np.linspace(0.1, 3.0, 200), 2) if weighted else None
    options = {"target": target, "sample_weight": weight, "reference": "A"}
    result = ask(rows, y_score=score, group=group, **options)
    share = np.average(score[::2] >= 0.5, weights=None if weight is None else weight[::2])
    for entry in result.to_dict()["metrics"]["selection_rate"]["groups"]:
        assert entry["mean"] == pytest.approx(share, rel=1e-12)
        assert entry["sd"] == 0.0
    delta = result.difference("selection_rate", "B", "A")
    assert delta.exact
    assert (delta.mean, delta.sd, delta.interval(), delta.prob_greater(0)) == (0, 0, (0, 0), 0)


@pytest.mark.parametrize("target", TARGETS)
def test_an_undefined_metric_is_null_with_a_reason(rows, target):
    decide = (rows.group == "A") & (rows.y_score > 0.5)  # nobody of B is selected
    result = ask(rows, y_pred=decide, metrics=["ppv", "tpr"], target=target)
    entry = result.to_dict()["metrics"]["ppv"]["groups"][1]
    if target == "population":  # somebody may be selected: nothing is known of them
        low, high = result.metric("ppv", "B").interval()
        assert low < 0.01 and high > 0.99 and "reason" not in entry
        assert 0.0 < result.metric("tpr", "B").interval()[1] < 0.2
        return
    assert (entry["mean"], entry["sd"], entry["interval"]) == (None, None, None)
    assert entry["reason"] == "there are no rows predicted positive"
    delta = result.to_dict()["metrics"]["ppv"]["differences"][0]
    assert (delta["mean"], delta["prob_positive"], delta["prob_within"]) == (None, None, None)
    assert delta["reason"]
    assert result.to_dict()["metrics"]["tpr"]["groups"][1]["mean"] == 0.0
    as_json(result)


def test_weights_count_in_the_metrics_and_not_in_the_curve(rows):
    weight = np.where(rows.y_score > 0.5, 3.0, 1.0)
    plain, heavy = ask(rows), ask(rows, sample_weight=weight)
    count = min(r.posterior.phi.shape[1] for r in (plain, heavy))
    one, two = (r.posterior.phi[:, :count] for r in (plain, heavy))
    np.testing.assert_array_equal(one, two)
    assert heavy.metric("tpr", "A").mean != plain.metric("tpr", "A").mean


def test_independent_groups_share_nothing(rows):
    b = rows.group == "B"
    other = np.where(b & ~np.isnan(rows.y_true), 1.0 - rows.y_true, rows.y_true)
    one, two = (ask(rows, y_true=y, hierarchical=False) for y in (rows.y_true, other))
    taken = one.posterior.phi.shape[1]
    assert one.posterior.mu.shape == one.posterior.sigma.shape == (4, taken, 2, 3)
    first = slice(0, QUICK["draws"])
    phi_one, phi_two = one.posterior.phi[:, first], two.posterior.phi[:, first]
    assert np.quantile(abs(phi_one[:, :, 0] - phi_two[:, :, 0]), 0.9) < 1e-6
    assert abs(phi_one[:, :, 1] - phi_two[:, :, 1]).max() > 0.1


def test_the_cap_bounds_the_log_odds(rows):
    result = ask(rows, log_odds_cap=1e-3, metrics="base_rate", target="expected")
    assert result.settings.log_odds_cap == 1e-3
    free = np.isnan(rows.y_true) & (rows.group == "A")
    known = (rows.y_true[rows.group == "A"] == 1).sum()
    top = (known + 0.50025 * free.sum()) / (rows.group == "A").sum()
    assert (result.draws("base_rate")[..., 0] <= top).all()


def test_the_estimates_are_close_to_the_truth():
    rows = lf.simulate(20_000, 1000, rng=4)
    result = ask(rows, draws=300, metrics=COUNT_METRICS)
    for name in COUNT_METRICS:
        for g in "AB":
            mine = rows.group == g
            counts = np.zeros((2, 2))
            np.add.at(counts, ((rows.y_score[mine] >= 0.5).astype(int), rows.y_all[mine]), 1)
            estimate = result.metric(name, g)
            assert abs(estimate.mean - theta(name, counts)) < 4.0 * estimate.sd + 1e-9
            assert estimate.sd < (0.05 if name != "treatment_equality" else 0.2 * estimate.mean)


# a table in place of rows


def test_a_table_says_all_that_its_rows_would(rows):
    age = np.where(np.arange(400) % 3 == 0, "old", "young").astype(object)
    age[7] = None
    columns = {"sensitive_features": {"sex": rows.group, "age": age}, "missing": "drop"}
    columns |= {"threshold": 0.4, "sample_weight": 1.0 + np.arange(400) % 2}
    data = lf.score_data(rows.y_true, rows.y_score, **columns)
    table = lf.score_table(data, clip=0.02)
    one = lf.assess(rows.y_true, rows.y_score, clip=0.02, **columns, **QUICK)
    two = lf.assess(table, **QUICK)
    assert one.to_dict() == two.to_dict()
    assert "dropped_rows" in codes(two)


@pytest.mark.usefixtures("unlimited")
def test_figures_of_a_seed_stay_what_they_were(rows):
    """A change of the sampler changes them; nothing else may, beyond rounding."""
    values = ask(rows, draws=40, warmup=50).to_dict()["metrics"]["tpr"]
    figures = [values["groups"][0]["mean"], values["groups"][1]["sd"]]
    figures.append(values["differences"][0]["mean"])
    np.testing.assert_allclose(figures, FIGURES, rtol=1e-7)


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"y_score": [0.5]}, TypeError, "a ScoreTable is assessed without rows; leave out y_score"),
        ({"sensitive_features": ["a"], "missing": "drop"}, TypeError, "_features, missing"),
        ({"clip": 0.02}, ValueError, "clip must be 0.01, that of the table; got"),
    ],
)
def test_a_table_comes_alone(rows, options, error, message):
    table = lf.score_table(lf.score_data(rows.y_true, rows.y_score, sensitive_features=rows.group))
    with pytest.raises(error, match=message):
        lf.assess(table, **options)


def test_rows_are_given_whole():
    with pytest.raises(TypeError, match="^rows need y_score and sensitive_features, too; a Score"):
        lf.assess([1, 0])


# the gate


@pytest.mark.usefixtures("unlimited")
def test_drawing_goes_on_until_the_gate_is_met(rows):
    result = ask(rows, draws=60, warmup=300, metrics="tpr")
    diagnostics = result.to_dict()["diagnostics"]
    taken = result.posterior.phi.shape[1]
    assert diagnostics["ok"] and diagnostics["reason"] is None
    assert diagnostics["extended"] and 60 < taken == diagnostics["draws"] <= 8 * 60
    assert diagnostics["rhat_max"] <= 1.01
    assert min(diagnostics["ess_bulk_min"], diagnostics["ess_tail_min"]) >= 400
    assert "not_converged" not in codes(result)


@pytest.mark.parametrize("chains", [1, 4])
def test_at_the_limit_it_says_that_it_has_not_converged(rows, chains):
    result = ask(rows, draws=4, warmup=0, chains=chains)
    assert result.posterior.phi.shape[1] == 4 * fit.MAX_DRAWS
    assert not result.to_dict()["diagnostics"]["ok"]
    assert codes(result).count("not_converged") == 1
    message = result.warnings[-1].message
    assert f"not converged after {4 * fit.MAX_DRAWS} draws" in message and "ESS" in message
    as_json(result)


def test_convergence_of_differences_and_levels_is_checked(rows, monkeypatch):
    """A difference, and the level of an attribute, whose chains disagree must stop the check."""
    seen = []
    monkeypatch.setattr(fit, "diagnose", lambda draws: seen.append(draws) or diagnose(draws))
    age = np.where(np.arange(400) % 3 == 0, "old", "young")
    result = ask(rows, group={"sex": rows.group, "age": age}, metrics="tpr", target="expected")
    checked = seen[-2].reshape(-1, seen[-2].shape[-1])  # the last are parameters
    tpr = result.draws("tpr").reshape(-1, 4)
    base = result.groups.index(result.settings.reference)
    wanted = [tpr[:, at] - tpr[:, base] for at in range(4) if at != base]
    wanted += [result.marginal("tpr", "sex", "A").draws.ravel()]
    wanted += [result.marginal("tpr", "age", "old").draws.ravel()]
    for column in wanted:
        assert np.isclose(checked, column[:, None], rtol=0, atol=1e-12).all(axis=0).any()


def test_progress_is_reported(rows):
    calls = []
    ask(rows, draws=20, progress=lambda *call: calls.append(call))
    assert {stage for stage, _, _ in calls} == {"warm-up", "draws"}
    assert ("warm-up", 50, 50) in calls
    assert all(0 < done <= total for _, done, total in calls)


# errors


@pytest.mark.parametrize(
    "options, message",
    [
        ({"metrics": "recal"}, "unknown metric 'recal' .*; known: accuracy, tpr"),
        ({"checks": "tpr<=1.5"}, "within must be below 1, the range of tpr; got 1.5"),
        ({"rng": True}, "rng must be a seed, a numpy Generator or None; got True"),
        ({"reference": "C"}, "no reference 'C'; there are A, B"),
        ({"family": "platt"}, "family must be one of beta, llo, temperature; got 'platt'"),
        ({"target": "rows"}, "target must be one of expected, sample, population; got 'rows'"),
        ({"prior": 2.0}, "prior must be a Prior; got 2.0"),
        ({"trust": 0.5}, "trust must be True, False or a Trust; got 0.5"),
        ({"prob": 95}, r"prob must lie in \(0, 1\); got 95; 0.95 is 95 %"),
        ({"epsilon": 0.0}, r"epsilon must lie in \(0, 1\); got 0.0"),
        ({"log_odds_cap": 0.0}, "log_odds_cap must be above 0, or None; got 0.0"),
        ({"chains": 0}, "chains must be a whole number of at least 1 and at most 10,000; got 0"),
        ({"draws": True}, "draws must be a whole number of at least 4; got True"),
        ({"warmup": -1}, "warmup must be a whole number of at least 0; got -1"),
        ({"group": np.arange(400)}, "most 50 numbers; got 400 in group; use bins, group=25,45,65"),
    ],
)
def test_errors_name_the_argument_the_rule_and_the_value(rows, options, message):
    with pytest.raises(ValueError, match=message):
        ask(rows, **options)


def test_simulated_rows_are_whole_numbers_of_rows():
    for given in ({"rows": np.inf}, {"rows": 5, "labeled": 6}, {"labeled": 2.5}, {"rows": 0}):
        with pytest.raises(ValueError, match=r"whole numbers, labeled in \[0, rows\]; got label"):
            lf.simulate(**given)


def test_a_number_that_the_draws_never_vary_is_not_called_exact():
    """One unlabeled row of score 0.0002: not known, whatever the draws say."""
    rows = lf.simulate(200, 100, rng=5)
    y_true = [*rows.y_true, 1.0, 0.0, NAN]
    score = [*rows.y_score, 0.9, 0.1, 0.0002]
    group = ["A"] * 200 + ["B"] * 3
    result = lf.assess(y_true, score, sensitive_features=group, metrics="accuracy", **QUICK)
    assert not result.metric("accuracy", "B").exact


def test_a_rare_metric_does_not_look_like_a_stuck_chain():
    """Two unlabeled rows with a small chance of a positive: most chains never see one."""
    rows = lf.simulate(400, 200, rng=6)
    y_true = [*rows.y_true, 0.0, 0.0, NAN, NAN]
    score = [*rows.y_score, 0.02, 0.03, 0.011, 0.012]
    group = ["A"] * 400 + ["B"] * 4
    result = lf.assess(y_true, score, sensitive_features=group, metrics="tpr", rng=0)
    assert result.gate.ok and result.posterior.phi.shape[1] == result.settings.draws


def test_a_comparison_is_exact_only_if_both_groups_are(rows):
    label = np.where(rows.group == "A", rows.y_all, rows.y_true)
    result = ask(rows, y_true=label, metrics="tpr")
    assert result.metric("tpr", "A").exact and not result.metric("tpr", "B").exact
    assert not result.difference("tpr", "B", "A").exact
    assert not result.ratio("tpr", "B", "A").exact
    assert not result.largest_gap("tpr").exact
