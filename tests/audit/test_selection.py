"""Bounds on selection: against all factors at all rows, and where a verdict turns."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from results import ask, ask_quickly, flat

import lightfair as lf
from lightfair.audit.selection import DRAWS, extremes
from lightfair.core.data.logit import logit_of, sigmoid
from lightfair.core.metrics.definitions import COUNT_METRICS, theta
from lightfair.core.model.curve import features
from lightfair.core.model.likelihood import log_odds


def converged(result):
    """The result, as if its few draws were enough."""
    return replace(result, gate=result.gate._replace(ok=True))


def bounds(result, odds):
    """Bounds by metric and name; those of differences below the name of the group and -."""
    found = result.selection_bounds(odds)["metrics"]
    groups = {(m, x["name"]): x["interval"] for m, one in found.items() for x in one["groups"]}
    pairs = {
        (m, f"{x['group']}-"): x["interval"] for m, one in found.items() for x in one["differences"]
    }
    return groups | pairs


def test_no_factors_at_any_rows_are_beyond_the_bounds():
    """The expected metric of every draw, with each row's odds over, or times, 3."""
    rng, metrics = np.random.default_rng(0), [*COUNT_METRICS, lf.cost(fp=1, fn=5)]
    score = np.concatenate([rng.random(30), np.ones(12), [0.2, 0.4, 0.7, 0.9, 1.0] * 2])
    group, label = np.array([*"AB"] * 26), (rng.random(52) < score).astype(float)
    group[42:], label[42:] = [*"AAAAABBBBB"], np.nan
    options = {"metrics": metrics, "target": "expected", "chains": 1, "draws": 4, "rng": 1}
    result = lf.assess(label, score, sensitive_features=group, warmup=20, **options)
    where = result.posterior.regions
    assert where.masses  # in which c of the curve is not part of the log odds
    found = extremes(result, result.settings.metrics, 3.0)
    for (at, name), draw in itertools.product(enumerate("AB"), range(4)):
        known, own = (group == name) & (label >= 0), (group == name) & np.isnan(label)
        selected, logit = (score >= 0.5).astype(int), logit_of(score, 0.01)
        region = where.of(selected[own] * 3 + at * 6, logit[own])
        design = where.design(features(logit[own], "beta"), region)
        odds = log_odds(result.posterior.psi[0, [draw], at], design, where.base[region])[0]
        values = {name: [] for name in result.settings.metrics}
        for shifts in itertools.product([-1, 0, 1], repeat=5):
            rate, counts = sigmoid(odds + np.log(3.0) * np.array(shifts)), np.zeros((2, 2))
            np.add.at(counts, (selected[known], label[known].astype(int)), 1.0)
            np.add.at(counts, (selected[own], 0), 1.0 - rate)
            np.add.at(counts, (selected[own], 1), rate)
            for name in values:
                values[name].append(theta(name, counts))
        for name, (low, high) in found.items():
            ends = low.draws[0, draw, at], high.draws[0, draw, at]
            np.testing.assert_allclose(ends, [min(values[name]), max(values[name])], rtol=1e-12)


@pytest.mark.parametrize("target", ["expected", "sample", "population"])
def test_at_1_they_are_the_intervals_and_then_each_contains_the_last(target, rows):
    result = ask(rows, target=target, metrics=["tpr", "f1", "treatment_equality"], draws=200)
    at = {odds: bounds(result, odds) for odds in (1, 1.2, 2, 5)}
    for (metric, name), ends in at[1].items():
        pair = (metric, "B", "A") if name == "B-" else (metric, name)
        of = (result.difference if name == "B-" else result.metric)(*pair)
        error = 1e-12 if target == "expected" else 5 * of.sd / np.sqrt(0.05 * 800)
        np.testing.assert_allclose(ends, of.interval(), rtol=0, atol=error)
        ladder = [at[odds][metric, name] for odds in at]
        for (low, high), (lower, higher) in itertools.pairwise(ladder):
            assert lower < low and high < higher


def turns(result, check, odds):
    """Whether a check, a pass or fail as it is, is not one at these odds: row by row of draws."""
    one = lf.parse_check(check)
    found, prob = extremes(result, one.metrics, odds), result.settings.prob
    passing = result.check(check).status == "pass"
    beyond = []
    for low, high in found.values():
        ends = (one.draws.reshape(-1, len(result.groups)) for one in (low, high))
        for least, most in zip(*ends, strict=True):
            pairs = itertools.permutations(range(len(result.groups)), 2)
            high_low = [(most[a], least[b]) if passing else (least[a], most[b]) for a, b in pairs]
            if one.relation == "ratio":
                beyond.append([b / a < one.within for a, b in high_low])
            else:
                beyond.append([a - b > one.within for a, b in high_low])
    beyond = np.array(beyond).reshape(len(found), -1, len(beyond[0]))
    if passing:
        return 1.0 - beyond.any(axis=(0, 2)).mean() < prob
    return beyond.mean(axis=1).max() < prob


@pytest.fixture(scope="module")
def many():
    """An assessment of three groups with many labels, B with a tpr far above the others'."""
    rows = lf.simulate(rows=3000, labeled=1500, rng=2)
    group = np.where(np.random.default_rng(2).random(3000) < 0.3, "C", rows.group)
    rows = rows._replace(group=group)
    return ask(rows, draws=100, metrics=["tpr", "fpr", "auc"])


@pytest.mark.parametrize(
    "check", ["tpr<=0.3", "tpr<=0.02", "tpr ratio>=0.6", "tpr ratio>=0.98", "equalized_odds<=0.3"]
)
def test_a_verdict_turns_at_its_tipping_point(check, many):
    verdict = many.check(check)
    assert np.prod(many.shape) <= DRAWS and verdict.status in ("pass", "fail")
    tip = verdict.tipping_point
    assert 1.02 < tip < 50 and f"by an odds ratio of {tip:#.3g}." in verdict.sentence
    assert not turns(many, check, tip * 0.98) and turns(many, check, tip * 1.01)
    assert verdict.to_dict()["tipping_point"] == tip


def test_some_verdicts_do_not_turn(many, rows):
    for check in ("selection_rate<=0.3", "tpr<=0.99", "auc<=0.4"):  # exact; whatever; of scores
        assert (many.check(check).status, many.check(check).tipping_point) == ("pass", None)
    verdict = converged(ask_quickly(rows, metrics="tpr")).check("tpr<=0.1")
    assert (verdict.status, verdict.tipping_point) == ("insufficient", None)
    whole = ask_quickly(lf.simulate(600, 600, rng=1), metrics="tpr", target="population")
    verdict = converged(whole).check("tpr<=0.4")  # not exact, but no row is unlabeled
    assert (verdict.status, verdict.exact, verdict.tipping_point) == ("pass", False, None)


def test_reports_and_rows_have_bounds(rows):
    label = np.where(rows.group == "A", rows.y_true, rows.y_all)
    options = {"metrics": ["tpr", "auc"], "selection_odds": 2, "checks": "tpr<=0.5"}
    result = converged(ask_quickly(rows, y_true=label, **options))
    values = result.to_dict()
    assert values["settings"]["selection_odds"] == values["selection"]["odds"] == 2.0
    tpr, auc = (values["selection"]["metrics"][name] for name in ("tpr", "auc"))
    assert [one["exact"] for one in tpr["groups"]] == [False, True]  # B has all labels
    known = f"{result.metric('tpr', 'B').mean:.3f} (exact)"
    assert re.search(rf"B +{re.escape(known)} +{re.escape(known)}", str(result))
    low, high = tpr["differences"][0]["interval"]
    assert low < result.difference("tpr").interval()[0] and result.difference("tpr").mean < high
    nothing = {"interval": None, "exact": False}
    nothing["reason"] = "there are no bounds of metrics of scores"
    assert auc["differences"] == [{"group": "B", "reference": "A", **nothing}]
    assert "bounds if unlabeled rows differ: odds ratio 2" in flat(result)
    assert re.search(rf"B minus A .*\[{low:.3f}, {high:.3f}\]", str(result))
    assert "Bounds if unlabeled rows differ" in result.to_markdown()
    found = [row for row in lf.tidy.rows(result) if row["method"] == "selection_odds"]
    assert len(found) == 6 and (found[2]["low"], found[2]["high"]) == (low, high)
    (check,) = (row for row in lf.tidy.rows(result) if row["quantity"] == "check")
    assert check["tipping_point"] == result.checks[0].tipping_point is not None


@pytest.mark.parametrize("odds", [0.5, "2", True, float("nan"), float("inf"), -1])
def test_odds_are_numbers_of_at_least_1(odds, rows, many):
    message = f"selection_odds must be a finite number of at least 1; got {odds!r}; 1.5 is"
    with pytest.raises(ValueError, match=re.escape(message)):
        ask_quickly(rows, selection_odds=odds)
    with pytest.raises(ValueError, match="at least 1; got None"):
        many.selection_bounds()
