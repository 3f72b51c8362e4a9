"""Comparisons, criteria and checks of an assessment, and what its report and values say of them."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from asking import QUICK, ask, flat

import lightfair.core as lf
from lightfair.core.data.messages import number, probability
from lightfair.core.metrics.definitions import Metric, theta
from lightfair.core.metrics.estimate import Gap
from lightfair.report.assessment import sentence

pytestmark = pytest.mark.usefixtures("compiled")

ENOUGH = {"draws": 400, "warmup": 200}  # to converge
THREE = ["tpr", "fpr", "selection_rate"]


def three(rows):
    """Groups A and B, and every third row in C."""
    return np.where(np.arange(len(rows.group)) % 3 == 0, "C", rows.group)


@pytest.fixture(scope="module")
def result(rows, compiled):
    return ask(rows, rng=1)


@pytest.fixture(scope="module")
def trio(rows, compiled):
    return ask(rows, group=three(rows), metrics=[*THREE, "auc"], simultaneous=True, **ENOUGH)


def as_json(result):
    return json.loads(json.dumps(result.to_dict(), allow_nan=False))


# comparisons


def test_methods_are_the_functions_of_the_draws(trio):
    draws = trio.draws("tpr")
    np.testing.assert_allclose(trio.largest_gap("tpr").draws, draws.max(-1) - draws.min(-1))
    np.testing.assert_allclose(trio.ratio("tpr", "B", "A").draws, draws[..., 1] / draws[..., 0])
    names = [(pair.group, pair.reference) for pair in trio.pairs("tpr")]
    assert names == [("B", "A"), ("C", "A"), ("C", "B")]
    assert trio.settings.reference == "A"
    for pair in trio.pairs("tpr"):
        expected = trio.difference("tpr", pair.group, pair.reference)
        np.testing.assert_array_equal(pair.estimate.draws, expected.draws)
    rows = trio.table.sums("rows").sum(axis=(1, 2))
    rest = draws[..., 2] - draws[..., :2] @ (rows[:2] / rows[:2].sum())
    np.testing.assert_allclose(trio.against_rest("tpr", "C").draws, rest, atol=1e-12)
    assert 0.0 < trio.between_group_sd("tpr").median < trio.largest_gap("tpr").median


def test_overall_is_the_metric_of_the_pooled_counts(trio):
    pooled = theta("tpr", trio.counts.sum(axis=2))
    np.testing.assert_array_equal(trio.overall("tpr").draws, pooled)
    expected = trio.draws("tpr")[..., 1] - pooled
    np.testing.assert_allclose(trio.against_overall("tpr", "B").draws, expected, atol=1e-12)


def test_overall_of_a_known_rate_is_exact(rows, trio):
    share = (rows.y_score >= 0.5).mean()
    overall = trio.overall("selection_rate")
    assert overall.exact and overall.mean == pytest.approx(share, rel=1e-12)
    assert trio.against_overall("selection_rate", "B").sd == 0.0
    assert trio.against_rest("selection_rate", "B").exact
    assert trio.ratio("selection_rate", "B", "A").exact
    assert all(pair.estimate.exact for pair in trio.pairs("selection_rate"))


@pytest.mark.parametrize("target", ["sample", "population"])
def test_overall_of_scores_is_that_of_all_rows(rows, target):
    """With all labels known the area under the curve of all rows, whatever their group."""
    result = ask(rows, y_true=rows.y_all, group=three(rows), metrics="auc", target=target)
    up, down = (rows.y_score[rows.y_all == label] for label in (1, 0))
    naive = (up[:, None] > down).mean() + 0.5 * (up[:, None] == down).mean()
    overall = result.overall("auc")
    assert overall.exact == (target == "sample")
    if target == "sample":
        assert overall.mean == pytest.approx(naive, rel=1e-12)
    else:
        low, high = overall.interval(0.99)
        assert low < naive < high


def test_overall_of_scores_with_one_group_is_the_group(rows):
    result = ask(rows, group=["all"] * 400, metrics=["auc", "brier", "average_score"])
    for name in result.settings.metrics:
        alone = result.draws(name)[..., 0]
        np.testing.assert_allclose(result.overall(name).draws, alone, rtol=1e-9)


def test_a_metric_that_was_not_assessed_is_made_of_the_same_counts(result):
    gap = result.criterion("predictive_parity", "B", "A")
    expected = theta("ppv", result.counts)
    np.testing.assert_allclose(gap.draws, expected[..., 1] - expected[..., 0], atol=1e-12)
    assert result.check("npv", within=0.5).metric == "npv"
    with pytest.raises(ValueError, match="metric 'auc' was not assessed; there are accuracy, tpr"):
        result.check("auc", within=0.1)


def test_ratios_need_metrics_that_cannot_be_negative(rows):
    signed = Metric("signed", lambda tp, fp, fn, tn: (tp - fp) / (tp + fp), bounds=(-1.0, 1.0))
    result = ask(rows, metrics=[signed, "tpr"])
    with pytest.raises(ValueError, match="signed can be negative and has no ratio; take its diff"):
        result.ratio("signed", "B", "A")
    with pytest.raises(ValueError, match="signed can be negative and has no ratio; check its diff"):
        result.check("signed", within=0.8, relation="ratio")
    entry = as_json(result)["metrics"]["signed"]["ratios"][0]
    assert entry["interval"] is None and entry["reason"] == "the metric can be negative"
    assert result.largest_gap("signed").median >= 0.0


def test_criteria(trio):
    for name, metric in (("demographic_parity", "selection_rate"), ("equal_opportunity", "tpr")):
        one = trio.criterion(name, "B", "A")
        np.testing.assert_array_equal(one.draws, trio.difference(metric, "B", "A").draws)
    odds = trio.criterion("equalized_odds", "B", "A")
    assert isinstance(odds, Gap)
    both = [np.abs(trio.difference(m, "B", "A").draws) for m in ("tpr", "fpr")]
    np.testing.assert_array_equal(odds.draws, np.maximum(*both))
    counts = trio.counts
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = counts[..., 0, 1] / np.where(counts[..., 1, 0] > 0.0, counts[..., 1, 0], np.nan)
    one = trio.criterion("treatment_equality", "C", "A")
    np.testing.assert_allclose(one.draws, rate[..., 2] - rate[..., 0], atol=1e-12)
    with pytest.raises(ValueError, match="unknown criterion 'fairness'; known: demographic"):
        trio.criterion("fairness", "B", "A")


def test_one_group_has_nothing_to_compare(rows):
    result = ask(rows, group=["all"] * 400)
    message = "there is only one group, all, and nothing to compare it with; comparisons need two"
    for call in (
        lambda: result.pairs("tpr"),
        lambda: result.largest_gap("tpr"),
        lambda: result.between_group_sd("tpr"),
        lambda: result.against_rest("tpr", "all"),
        lambda: result.against_overall("tpr", "all"),
        lambda: result.simultaneous(),
        lambda: result.check("tpr", within=0.05),
        lambda: ask(rows, group=["all"] * 400, checks="tpr<=0.05"),
        lambda: ask(rows, group=["all"] * 400, simultaneous=True),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    entry = as_json(result)["metrics"]["tpr"]
    assert entry["pairs"] == entry["ratios"] == entry["against_rest"] == []
    assert entry["largest_gap"]["reason"] == "there is only one group"
    assert as_json(result)["criteria"] == {}


def test_twenty_groups(rows):
    group = np.char.add("g", (np.arange(400) % 20).astype(str))
    result = ask(rows, group=group, metrics=["accuracy", "tpr"], checks="accuracy<=0.2")
    values = as_json(result)["metrics"]["accuracy"]
    assert len(values["pairs"]) == 190 and len(values["against_rest"]) == 20
    assert sum(pair["prob_largest"] for pair in values["pairs"]) == pytest.approx(1.0)
    assert str(result).count("largest gap") == 2
    unlabeled = [g for g in result.to_dict()["data"]["groups"] if g["labeled"] == 0]
    (verdict,) = result.checks
    assert len(verdict.pairs) == 190
    assert (verdict.prob_within is None) == (len(unlabeled) == 20)


def test_every_group_of_a_rare_metric_is_in_every_output(rows):
    """F01, F04: three rows without a positive label."""
    group = np.where(np.arange(400) < 3, "rare", rows.group)
    y = np.where((group == "rare") & (rows.y_true == 1), np.nan, rows.y_true)
    result = ask(rows, y_true=y, group=group, metrics="tpr")
    entry = as_json(result)["metrics"]["tpr"]
    for key in ("groups", "against_rest", "against_overall"):
        names = {one.get("name", one.get("group")) for one in entry[key]}
        assert names == {"A", "B", "rare"}
    assert {pair["group"] for pair in entry["pairs"]} | {"A"} == {"A", "B", "rare"}


def test_an_undefined_group_is_null_with_a_reason(rows):
    decide = (rows.group == "A") & (rows.y_score > 0.5)
    result = ask(rows, y_pred=decide, metrics=["ppv", "fpr"], checks=["ppv<=0.1"], **ENOUGH)
    entry = as_json(result)["metrics"]["ppv"]
    why = "there are no rows predicted positive"
    assert entry["ratios"][0]["interval"] is None and entry["ratios"][0]["reason"] == why
    assert entry["largest_gap"]["median"] is None and entry["largest_gap"]["reason"] == why
    assert entry["pairs"][0]["prob_largest"] is None
    assert entry["against_rest"][1]["reason"] == why
    fpr = as_json(result)["metrics"]["fpr"]["ratios"][0]
    assert (fpr["median"], fpr["geometric_mean"], fpr["prob_below_four_fifths"]) == (0, 0, 1)
    (verdict,) = result.checks
    assert verdict.status == "insufficient"
    assert verdict.reason == f"ppv of B is undefined: {why}"


def test_a_ratio_against_0_is_infinite_and_said_so(rows):
    decide = (rows.group == "A") & (rows.y_score > 0.5)
    result = ask(rows, y_pred=decide, metrics="fpr", reference="B")
    entry = as_json(result)["metrics"]["fpr"]["ratios"][0]
    assert entry["zero_denominator"] == 1.0
    assert entry["infinite"] == ["geometric_mean", "median", "low", "high"]
    assert entry["median"] is None and entry["interval"] == [None, None]


def test_values_are_those_of_the_methods(trio):
    values = as_json(trio)
    entry = values["metrics"]["fpr"]
    one = trio.ratio("fpr", "C", "A")
    said = next(e for e in entry["ratios"] if e["group"] == "C")
    assert said["median"] == one.median and said["interval"] == list(one.interval(0.95))
    assert said["prob_four_fifths"] == one.prob_within(0.8)
    gap = trio.largest_gap("fpr")
    assert entry["largest_gap"]["interval"] == list(gap.interval(0.95))
    assert entry["largest_gap"]["which"] == list(gap.which)
    assert entry["between_group_sd"]["upper"] == trio.between_group_sd("fpr").upper(0.95)
    for key, method in (
        ("against_rest", trio.against_rest),
        ("against_overall", trio.against_overall),
    ):
        for metric in (*THREE, "auc"):
            for e in values["metrics"][metric][key]:
                assert e["mean"] == method(metric, e["group"]).mean
    odds = values["criteria"]["equalized_odds"]["differences"]
    assert [e["group"] for e in odds] == ["B", "C"]
    assert odds[0]["prob_within"] == trio.criterion("equalized_odds", "B", "A").prob_within(0.05)
    assert "predictive_parity" not in values["criteria"]


def equal_groups(labeled, seed, rows=6000):
    """Scores and labels of three groups without any difference."""
    rng = np.random.default_rng(seed)
    score = np.clip(rng.beta(1.2, 1.3, rows), 1e-9, 1.0 - 1e-9)
    label = (rng.random(rows) < score).astype(float)
    label[rng.permutation(rows)[labeled:]] = np.nan
    return label, score, np.repeat(["A", "B", "C"], rows // 3)


def test_at_equality_gaps_are_small_the_more_labels_there_are():
    """F03, F30: the gap is above 0 in every draw; what counts is that it is small."""
    small, naive, spread, statuses = {}, {}, {}, set()
    for labeled in (30, 600):
        results = []
        for seed in range(4):
            y, s, group = equal_groups(labeled, seed)
            results.append(
                lf.assess(
                    y, s, sensitive_features=group, metrics="tpr", rng=seed, **ENOUGH, chains=4
                )
            )
        gaps = [result.largest_gap("tpr") for result in results]
        assert all(gap.interval()[0] > 0.0 for gap in gaps)
        small[labeled] = np.mean([gap.prob_within(0.05) for gap in gaps])
        spread[labeled] = np.mean([r.between_group_sd("tpr").median for r in results])
        naive[labeled] = np.mean([np.median(r.draws("tpr").std(axis=-1)) for r in results])
        statuses |= {result.check("tpr", within=0.05).status for result in results}
    assert small[600] > small[30] + 0.2
    assert spread[600] < spread[30] < naive[30]
    assert "fail" not in statuses


# simultaneous intervals


def test_simultaneous_intervals_hold_at_once(trio):
    found = trio.simultaneous()
    inside = np.ones(trio.counts.shape[:2], dtype=bool)
    for metric in ("tpr", "fpr", "auc"):
        for group in ("B", "C"):
            low, high = found.interval(metric, group)
            draws = trio.difference(metric, group, "A").draws
            inside &= (low <= draws) & (draws <= high)
            alone = trio.difference(metric, group, "A").interval(0.95)
            assert high - low > alone[1] - alone[0]
    assert inside.mean() == pytest.approx(0.95, abs=0.01)  # of 2,400 draws or more
    assert all(cell.metric == "selection_rate" for cell in found.left_out)
    values = as_json(trio)["simultaneous"]
    assert values == json.loads(json.dumps(found.to_dict()))
    text = str(trio)
    for low, high in zip(found.low, found.high, strict=True):
        assert f"[{number(low)}, {number(high)}]" in text


def test_simultaneous_of_some_metrics_at_another_level(trio):
    few, more = trio.simultaneous("tpr"), trio.simultaneous(["tpr", "fpr"], prob=0.5)
    assert len(few.cells) == 2 and len(more.cells) == 4
    assert more.prob == 0.5 and more.factor < few.factor
    with pytest.raises(ValueError, match="metric 'ppv' was not assessed"):
        trio.simultaneous("ppv")
    with pytest.raises(ValueError, match="prob must lie in"):
        trio.simultaneous(prob=95)


def test_simultaneous_is_off_unless_it_is_asked_for(result):
    assert as_json(result)["simultaneous"] is None
    assert "at once" not in str(result)


# checks


def test_a_check_is_of_the_draws_that_the_intervals_are_of(trio):
    verdict = trio.check("tpr", within=0.1)
    assert verdict.prob == trio.settings.prob == 0.95
    draws = trio.draws("tpr")
    assert verdict.prob_within == pytest.approx((np.ptp(draws, axis=-1) <= 0.1).mean())
    assert trio.check("tpr<=0.1") == verdict
    assert trio.check("tpr", within=0.1, prob=0.5).prob == 0.5
    star = trio.check("tpr", within=0.1, reference="B")
    assert [(p.group, p.reference) for p in star.pairs] == [("A", "B"), ("C", "B")]
    one = trio.check("tpr", within=0.1, group="C")
    assert [(p.group, p.reference) for p in one.pairs] == [("C", "A")]
    expected = (np.abs(trio.difference("tpr", "C", "A").draws) <= 0.1).mean()
    assert one.prob_within == pytest.approx(expected)


@pytest.mark.parametrize("prob", [0.6, 0.95])
def test_one_level_for_interval_and_verdict(rows, prob):
    """F17."""
    result = ask(rows, metrics="tpr", prob=prob, checks="tpr<=0.1", **ENOUGH)
    (verdict,) = result.checks
    inside = verdict.prob_within
    status = "pass" if inside >= prob else "fail" if 1 - inside >= prob else "insufficient"
    assert (verdict.prob, verdict.status) == (prob, status)


def test_the_selection_rate_is_decided_with_certainty(trio):
    rates = trio.draws("selection_rate")[0, 0]
    gap, share = np.ptp(rates), rates.min() / rates.max()
    for limit, status in ((gap + 0.001, "pass"), (gap, "pass"), (gap - 0.001, "fail")):
        verdict = trio.check("selection_rate", within=limit)
        assert (verdict.status, verdict.exact) == (status, True)
        assert trio.check("demographic_parity", within=limit).status == status
    for limit, status in ((share - 0.001, "pass"), (share + 0.001, "fail")):
        assert trio.check("selection_rate", within=limit, relation="ratio").status == status


def test_a_population_is_not_known(rows):
    result = ask(rows, metrics="selection_rate", target="population", **ENOUGH)
    verdict = result.check("selection_rate", within=0.3)
    assert not verdict.exact and verdict.status == "pass"


def test_checked_metrics_are_assessed(rows):
    checks = ["tpr<=0.9", "equalized_odds<=0.9", "auc<=0.9"]
    result = ask(rows, metrics="accuracy", checks=checks, **ENOUGH)
    assert result.settings.metrics == ("accuracy", "tpr", "fpr", "auc")
    assert [v.status for v in result.checks] == ["pass"] * 3
    values = as_json(result)
    assert [v["check"] for v in values["checks"]] == checks
    assert values["settings"]["checks"] == checks
    first, verdicts, *_ = str(result).split("\n\n")
    assert first.startswith("lightfair ") and verdicts.splitlines()[0] == "verdict"
    told = " ".join(verdicts.split()[1:])
    assert told == " ".join("pass " + v.sentence.replace(" pass;", "") for v in result.checks)


def test_an_own_metric_is_checked(rows):
    own = Metric("missed", lambda tp, fp, fn, tn: fn / (tp + fp + fn + tn), bounds=(0, 1))
    result = ask(rows, metrics=[own], checks="missed<=0.9", **ENOUGH)
    assert result.checks[0].status == "pass"


def test_a_group_without_labels_is_not_judged(rows):
    y = np.where(rows.group == "B", np.nan, rows.y_true)
    (verdict,) = ask(rows, y_true=y, metrics="tpr", checks="tpr<=0.9", **ENOUGH).checks
    assert verdict.status == "insufficient" and verdict.more_labels is None
    assert verdict.reason == "group B has no labels and rests on the prior"
    (verdict,) = ask(rows, y_true=y, checks="selection_rate<=0.9").checks
    assert verdict.status == "pass"


def test_no_labels_at_all(rows):
    """F07."""
    result = ask(rows, y_true=[None] * 400, draws=100, checks=["tpr<=0.9", "selection_rate<=0.9"])
    assert [v.status for v in result.checks] == ["insufficient", "pass"]


def test_an_empty_intersection_has_no_verdict(rows):
    """F16."""
    where = np.where(np.arange(400) % 2, "x", "y")
    keep = ~((rows.group == "B") & (where == "x"))
    groups = {"g": rows.group[keep], "h": where[keep]}
    result = lf.assess(
        rows.y_true[keep], rows.y_score[keep], sensitive_features=groups, checks="tpr<=0.9", **QUICK
    )
    (verdict,) = result.checks
    assert verdict.empty_groups == ("B, x",)
    assert "; no verdict on groups without rows: B, x." in flat(result)
    assert not any("B, x" in (p.group, p.reference) for p in verdict.pairs)


def test_chains_that_have_not_converged_give_no_verdict(rows):
    result = ask(rows, draws=4, warmup=0, metrics="tpr", checks=["tpr<=0.9", "selection_rate<=0.9"])
    assert not result.gate.ok
    first, second = result.checks
    assert (first.status, first.reason) == ("insufficient", "the chains have not converged")
    assert second.status == "pass"


def test_more_labels_are_forecast(rows):
    result = ask(rows, metrics=["tpr", "fpr"], **ENOUGH)
    for check in ("tpr<=0.1", "tpr ratio>=0.8", "equalized_odds<=0.1"):
        verdict = result.check(check)
        assert verdict.status == "insufficient"
        assert 1 <= verdict.more_labels <= 340
        more = f"{verdict.more_labels} more label"
        assert more in verdict.sentence


@pytest.mark.parametrize(
    "options, message",
    [
        ({"checks": "tpr"}, "check must be a metric, <= and a limit, as in"),
        ({"checks": ["tpr<=0.05", "fpr>0.1"]}, "a difference is checked with <=, as in"),
        ({"checks": 5}, "check must be a metric, <= and a limit, .*; got 5"),
        (
            {"checks": "tpx<=0.05"},
            "check tpx<=0.05: unknown metric 'tpx' .*; known: .*criterion: demo",
        ),
        ({"checks": "tpr<=1.5"}, "its limit must be below 1, the range of tpr; got 1.5"),
    ],
)
def test_bad_checks(rows, options, message):
    with pytest.raises(ValueError, match=message):
        ask(rows, **options)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"metric": "tpr", "within": 0}, "within must be a number above 0"),
        ({"metric": "tpr", "within": 0.1, "prob": 1}, r"prob must lie in \(0, 1\)"),
        ({"metric": "tpr", "within": 0.1, "group": "X"}, "no group 'X'; there are A, B, C"),
        ({"metric": "tpr", "within": 0.1, "group": "A"}, "checked against another one"),
        ({"metric": "tpr", "within": 0.1, "relation": "gap"}, "relation must be one of"),
        ({"metric": "tpx", "within": 0.1}, "unknown metric 'tpx'"),
        ({"metric": "tpr"}, "check must be a metric, <= and a limit"),
    ],
)
def test_bad_arguments_of_check(trio, arguments, message):
    with pytest.raises(ValueError, match=message):
        trio.check(**arguments)


# the report


def test_more_than_two_groups_have_one_line_for_each_metric(trio):
    sections = [part for part in str(trio).split("\n\n") if "\n  largest gap " in part]
    lines = [" ".join(part[part.index("  largest gap ") :].split()) for part in sections]
    assert len(lines) == 4
    gap, spread = trio.largest_gap("tpr"), trio.between_group_sd("tpr")
    low, high = gap.interval(0.95)
    assert lines[0] == (
        f"largest gap {number(gap.median)} [{number(low)}, {number(high)}], "
        f"P(<0.05) {probability(gap.prob_within(0.05))}; likeliest {' minus '.join(gap.which)} "
        f"({probability(gap.prob_which)}); sd between groups {number(spread.median)}, "
        f"95 % below {number(spread.upper(0.95))}"
    )
    assert lines[2].endswith("(exact)")


def test_two_groups_have_no_such_line(result):
    assert "largest gap" not in str(result)


@pytest.mark.parametrize(
    "share, said",
    [
        (0.56, "tpr for B against A: no direction is clear, P(higher) 0.560: "),
        (0.94, "tpr for B against A: no direction is clear, P(higher) 0.940: "),
        (0.06, "tpr for B against A: no direction is clear, P(higher) 0.060: "),
        (0.97, "tpr for B against A: no direction is clear, P(higher) 0.970: "),
        (0.98, "tpr is higher for B than for A with probability 0.980: "),
        (0.02, "tpr is lower for B than for A with probability 0.980: "),
    ],
)
def test_a_direction_is_said_where_it_is_clear(result, share, said):
    """F34, F17: where the interval beside it is on one side of 0."""
    draws = np.full((1, 100, 2), 0.5)
    draws[0, :, 1] = np.where(np.arange(100) < round(100 * share), 0.6, 0.4)
    known = replace(result, theta={"tpr": draws})
    assert sentence(known, "tpr", "B", "A").startswith(said)


def test_equal_in_some_draws_is_said(result):
    draws = np.full((1, 100, 2), 0.5)
    draws[0, :50, 1] = 0.6
    said = sentence(replace(result, theta={"tpr": draws}), "tpr", "B", "A")
    assert "no direction is clear, P(higher) 0.500, the same with probability 0.500: " in said


def test_the_report_never_calls_a_gap_above_0_a_finding(trio):
    """F03."""
    assert "above 0" not in str(trio)
    assert "significant" not in str(trio)


def test_no_nan_in_text_or_values(rows):
    decide = (rows.group == "A") & (rows.y_score > 0.5)
    group = three(rows)
    result = ask(
        rows, group=group, y_pred=decide & (group != "C"), metrics=["ppv", "fpr", "tpr"],
        checks=["ppv<=0.1", "fpr ratio>=0.8"], simultaneous=True,
    )  # fmt: skip
    as_json(result)
    text = str(result)
    assert "largest gap: undefined" in text
    assert not any(word in text.lower().split() for word in ("nan", "inf", "none"))
    assert all(math.isfinite(v.prob_within) for v in result.checks if v.prob_within is not None)
