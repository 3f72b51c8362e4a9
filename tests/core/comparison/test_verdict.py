"""Verdicts on checks: from draws, and of assessments."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from asking import ask as assess
from asking import by_group

import lightfair.core as lf
from lightfair.core.comparison.gaps import pair_indices
from lightfair.core.comparison.verdict import Question, judge, parse_check

NAN = float("nan")


def two(share, gap=0.2, draws=1000):
    """Two groups that differ by 0.01 in a share of the draws, and by `gap` in the others."""
    values = np.full((1, draws, 2), 0.5)
    values[0, :, 1] += np.where(np.arange(draws) < round(share * draws), 0.01, gap)
    return by_group(values)


def ask(text, *parts, labeled=None, prob=0.95, without=(), **options):
    """Judge a check; `without` are draws that rest on no model, (draw, group) by metric."""
    groups, check = len(parts[0].groups), parse_check(text)
    labeled = np.ones(groups, bool) if labeled is None else np.array(labeled)
    pairs = pair_indices(groups, 0)
    if without:
        pairs_of = zip(parts, map(np.asarray, without), strict=False)
        parts = [replace(part, without_model=draws) for part, draws in pairs_of]
    return judge(Question(check, tuple(parts), pairs, labeled), prob, **options)


@pytest.mark.parametrize(
    "share, status",
    [
        (1.0, "pass"),
        (0.96, "pass"),
        (0.95, "pass"),
        (0.949, "insufficient"),
        (0.5, "insufficient"),
        (0.051, "insufficient"),
        (0.05, "fail"),
        (0.0, "fail"),
    ],
)
def test_statuses_and_their_borders(share, status):
    verdict = ask("tpr<=0.05", two(share))
    assert (verdict.status, verdict.prob_within) == (status, share)
    assert (verdict.reason is None) == (status != "insufficient")
    assert verdict.sentence.startswith("tpr<=0.05: " + status)
    assert ask("tpr<=0.05", two(0.93), prob=0.9).status == "pass"


LIMITS = [("tpr<=0.05", "pass"), ("tpr<=0.0499", "fail"), ("tpr ratio>=0.875", "pass")]


@pytest.mark.parametrize("text, status", LIMITS)
def test_limits_are_inclusive_up_to_rounding(text, status):
    by = by_group(np.broadcast_to([0.35, 0.4], (1, 10, 2)), known=True)
    verdict = ask(text, by)
    assert verdict.status == status and verdict.exact
    assert verdict.prob_within == (1.0 if status == "pass" else 0.0)


@pytest.mark.parametrize("relation", ["difference", "ratio"])
def test_the_joint_probability_is_of_all_pairs_at_once(relation):
    draws = np.random.default_rng(0).uniform(0.42, 0.58, (2, 500, 4))

    def within(one, two):
        if relation == "ratio":
            return np.minimum(one / two, two / one) >= 0.85
        return np.abs(one - two) <= 0.08

    text = "tpr<=0.08" if relation == "difference" else "tpr ratio>=0.85"
    verdict = ask(text, by_group(draws))
    joint = within(draws.max(-1), draws.min(-1)).mean()
    assert verdict.prob_within == pytest.approx(joint) and 0.1 < joint < 0.9
    assert len(verdict.pairs) == 6
    for pair in verdict.pairs:
        one, two = (draws[..., ord(name) - 65] for name in (pair.group, pair.reference))
        assert pair.prob_within == pytest.approx(within(one, two).mean())
    assert verdict.ranked[0].prob_within == min(pair.prob_within for pair in verdict.pairs)


@pytest.mark.parametrize("text", ["tpr<=0.05", "tpr ratio>=0.9"])
def test_equal_groups_with_few_labels_do_not_fail(text):
    """Some gap among 20 equal groups is large in every draw, but no particular one."""
    draws = np.clip(0.5 + 0.1 * np.random.default_rng(0).standard_normal((2, 500, 20)), 0.01, 0.99)
    verdict = ask(text, by_group(draws))
    assert verdict.prob_within == 0.0
    assert verdict.status == "insufficient"
    assert verdict.reason.startswith("at least one pair probably exceeds the limit, but no single ")
    draws[..., 7] = 0.99
    assert ask(text, by_group(draws)).status == "fail"


def test_to_fail_needs_a_direction():
    draws = np.full((1, 100, 2), 0.5)
    draws[0, :, 1] += np.where(np.arange(100) < 50, 0.3, -0.3)
    verdict = ask("tpr<=0.05", by_group(draws))
    assert (verdict.status, verdict.prob_within) == ("insufficient", 0.0)
    assert verdict.reason == "neither within nor beyond the limit with probability 0.95"
    draws[0, :96, 1] = 0.2
    assert ask("tpr<=0.05", by_group(draws)).status == "fail"


def test_a_failure_names_the_pair_that_fails():
    draws = np.full((1, 100, 3), 0.5)
    draws[0, :, 1] += np.where(np.arange(100) < 50, 0.3, -0.3)  # in no clear direction from A
    draws[0, :98, 2] -= 0.1
    verdict = ask("tpr<=0.05", by_group(draws))
    worst = verdict.ranked[0]  # the widest of these
    assert (worst.group, worst.reference) == ("C", "B")
    assert verdict.ranked[0].prob_within == 0.0
    assert verdict.beyond[:4] == ("tpr", "A", "C", 0.98)
    text = "tpr<=0.05: fail, tpr of A is above that of C by more than 0.05 with probability 0.980; "
    assert verdict.sentence == text + "all 3 pairs within 0.05 with probability <0.001."
    assert verdict.to_dict()["beyond"]["lower"] == "C"
    ratio = ask("tpr ratio>=0.9", by_group(draws))
    assert "fail, tpr of C is below 0.9 of that of A with probability 0.980" in ratio.sentence
    assert ask("tpr<=0.05", two(1.0)).beyond is None
    assert "beyond" not in ask("tpr<=0.05", two(1.0)).to_dict()


def test_one_metric_is_enough_to_fail():
    near, far = np.full((1, 100, 3), 0.5), np.full((1, 100, 3), 0.5) + [0.0, 0.2, 0.0]
    assert ask("equalized_odds<=0.1", by_group(near), by_group(far)).status == "fail"
    assert ask("equalized_odds<=0.1", by_group(near), by_group(near)).status == "pass"
    undefined = np.full((1, 100, 3), NAN)
    assert ask("equalized_odds<=0.1", by_group(undefined), by_group(far)).status == "fail"
    lacking = ask("equalized_odds<=0.1", by_group(undefined), by_group(near))
    assert lacking.status == "insufficient"
    assert [pair.prob_within for pair in lacking.pairs] == [None] * 3
    text = "all 3 pairs, as far as they can be judged, within 0.1 with probability >0.999"
    assert text in lacking.sentence


def test_two_metrics_at_once():
    rng = np.random.default_rng(3)
    tpr, fpr = 0.5 + 0.03 * rng.standard_normal((2, 2, 500, 3))
    verdict = ask("equalized_odds<=0.08", by_group(tpr), by_group(fpr))
    gaps = np.maximum(np.ptp(tpr, axis=-1), np.ptp(fpr, axis=-1))
    assert verdict.prob_within == pytest.approx((gaps <= 0.08).mean())
    pair = verdict.pairs[0]
    near = [np.abs(d[..., 1] - d[..., 0]) <= 0.08 for d in (tpr, fpr)]
    assert pair.prob_within == pytest.approx((near[0] & near[1]).mean())


def test_a_group_without_labels_cannot_pass_and_others_can_fail():
    near = by_group(np.full((1, 100, 3), 0.5) + [0.0, 0.01, 0.02])
    verdict = ask("tpr<=0.05", near, labeled=[True, True, False])
    assert verdict.status == "insufficient"
    assert verdict.reason == "group C has no labels and rests on the prior"
    assert [pair.prob_within for pair in verdict.pairs] == [1.0, None, None]
    assert verdict.pairs[1].reason == verdict.reason
    assert verdict.prob_within == 1.0  # of the pair that can be judged
    assert "all 3 pairs, as far as they can be judged, within 0.05 with prob" in verdict.sentence
    far = by_group(np.full((1, 100, 3), 0.5) + [0.0, 0.2, 0.0])
    assert ask("tpr<=0.05", far, labeled=[True, True, False]).status == "fail"
    assert ask("tpr<=0.05", far, labeled=[True, False, True]).status == "insufficient"
    assert ask("tpr<=0.05", far, labeled=[False, False, True]).prob_within is None
    free = by_group(np.full((1, 100, 2), 0.5), label_free=True)
    assert ask("selection_rate<=0.05", free, labeled=[True, False]).status == "pass"


def test_an_undefined_group_cannot_pass():
    draws = np.full((1, 100, 3), 0.5)
    draws[0, :10, 2] = NAN
    verdict = ask("tpr<=0.05", by_group(draws))
    assert verdict.status == "insufficient"
    assert verdict.reason == "tpr of C is undefined: no positive labels in 10% of the draws"
    draws[..., 1] = 0.7
    assert ask("tpr<=0.05", by_group(draws)).status == "fail"
    draws[...] = NAN
    nothing = ask("tpr<=0.05", by_group(draws))
    assert (nothing.status, nothing.prob_within) == ("insufficient", None)
    assert nothing.sentence.endswith("tpr of B is undefined: there are no positive labels.")


def test_a_few_undefined_draws_are_left_out():
    draws = np.full((1, 100, 2), 0.5)
    draws[0, :4, 1] = NAN
    verdict = ask("tpr<=0.05", by_group(draws))
    assert (verdict.status, verdict.prob_within) == ("pass", 1.0)
    assert ask("tpr<=0.05", by_group(draws), prob=0.99).status == "pass"
    draws[0, 4:, 1] = 0.7
    assert ask("tpr<=0.05", by_group(draws)).status == "fail"


def test_ratios_with_zeros():
    """0 / 0 is undefined, a positive number against 0 is beyond every limit."""
    draws = np.zeros((1, 100, 3))
    both = ask("tpr ratio>=0.8", by_group(draws))
    assert (both.status, both.prob_within) == ("insufficient", None)
    assert both.reason == "a gap is undefined in 100% of the draws"
    draws[..., 2] = 0.1
    assert ask("tpr ratio>=0.8", by_group(draws)).status == "fail"
    pair = ask("tpr ratio>=0.8", by_group(draws)).pairs[0]
    assert pair.reason == "undefined in 100% of the draws"
    draws = np.tile([0.5, 0.1], (1, 100, 1))
    draws[0, :50] = 0.0  # far apart in all draws that are defined
    half = ask("tpr ratio>=0.8", by_group(draws))
    assert half.status == "insufficient"
    assert half.reason == "a gap is undefined in 50% of the draws"


@pytest.mark.parametrize(
    ("model", "share", "status"),
    [
        (1.0, 1.0, "pass"),
        (1.0, 0.9, "pass"),
        (1.0, 0.899, "insufficient"),
        (0.0, 0.3, "fail"),
        (0.0, 0.301, "insufficient"),
        (0.0, 0.0, "fail"),
        (0.5, 1.0, "insufficient"),
        (0.5, 0.0, "insufficient"),
    ],
)
def test_labels_without_the_model_must_support_a_verdict(model, share, status):
    verdict = ask("tpr<=0.05", two(model), without=[two(share).draws[0]])
    assert (verdict.status, verdict.prob_within) == (status, model)
    if status == "insufficient" and model != 0.5:
        kind, chance = ("pass", "0.899") if model else ("fail", "0.699")
        least = {"pass": "0.9", "fail": "0.7"}[kind]
        reason = f"labels without the model support a {kind} with probability {chance} only"
        assert verdict.reason == f"{reason}, not {least}"
        assert verdict.more_labels_reason.startswith("no number of labels")
        settled = ask("tpr<=0.05", two(model), without=[two(share).draws[0]], forecast=lambda: 70)
        assert settled.more_labels == 70
    assert ask("tpr<=0.05", two(1.0), without=[two(0.7).draws[0]], prob=0.6).status == "pass"


def test_support_of_a_fail_is_that_of_its_direction():
    draws, other = np.full((1, 100, 3), 0.5), np.full((100, 3), 0.5)
    draws[..., 1], draws[..., 2] = 0.7, 0.8
    other[:, 1], other[:, 2] = 0.7, 0.2  # labels say that C is below
    verdict = ask("tpr<=0.05", by_group(draws), without=[other])
    assert verdict.status == "fail" and verdict.beyond[:3] == ("tpr", "B", "A")
    other[:, 1] = 0.5
    assert ask("tpr<=0.05", by_group(draws), without=[other]).status == "insufficient"
    exact = ask("tpr<=0.05", by_group(draws, known=True), without=[other])
    assert exact.status == "fail"


def test_a_pass_is_supported_in_each_pair_and_metric():
    """Not in all at once: however many pairs there are, the one beyond the limit must pass, too."""
    rng = np.random.default_rng(5)
    near = by_group(np.full((1, 100, 12), 0.5))
    tpr, fpr = 0.5 + 0.02 * rng.standard_normal((2, 1000, 12))
    assert (np.ptp(tpr, axis=1) <= 0.06).mean() < 0.5
    assert ask("equalized_odds<=0.06", near, near, without=[tpr, fpr]).status == "pass"
    fpr[:, 7] += 0.05
    least = min((np.abs(fpr[:, 7] - fpr[:, at]) <= 0.06).mean() for at in range(12) if at != 7)
    verdict = ask("equalized_odds<=0.06", near, near, without=[tpr, fpr])
    assert f"support a pass with probability {least:.3f} only" in verdict.reason


def test_a_group_without_an_estimate_of_its_own_cannot_pass_and_others_can_fail():
    draws, other = np.full((1, 100, 3), 0.5), np.full((100, 3), 0.5)
    other[:, 2] = NAN
    verdict = ask("tpr<=0.05", by_group(draws), without=[other])
    assert verdict.reason == "tpr of C has too few labels to be judged without the model"
    assert verdict.prob_within == 1.0
    assert verdict.more_labels_reason == f"not forecast, as {verdict.reason}"
    draws[..., 1] = 0.7
    other[:, 1] = 0.7
    assert ask("tpr<=0.05", by_group(draws), without=[other]).status == "fail"


def test_empty_groups_are_listed_without_a_verdict():
    verdict = ask("tpr<=0.05", two(1.0), empty_groups=("X, 1", "X, 2"))
    assert verdict.status == "pass"
    assert verdict.empty_groups == ("X, 1", "X, 2")
    assert verdict.sentence.endswith("; no verdict on groups without rows: X, 1; X, 2.")
    assert all("X" not in (pair.group, pair.reference) for pair in verdict.pairs)


def test_a_verdict_as_plain_values():
    draws = 0.5 + 0.03 * np.random.default_rng(0).standard_normal((2, 50, 21))
    verdict = ask("tpr<=0.05", by_group(draws))
    values = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert (values["check"], values["metric"], values["within"]) == ("tpr<=0.05", "tpr", 0.05)
    assert len(values["pairs"]) == 200 and values["pairs_left_out"] == 10
    chances = [pair["prob_within"] for pair in values["pairs"]]
    assert chances == sorted(chances)
    assert values["sentence"] == verdict.sentence


def test_forecasts_and_why_they_are_missing():
    apart = "chains apart"
    verdicts = {
        "the verdict is pass": ask("tpr<=0.05", two(1.0)),
        "the verdict is fail": ask("tpr<=0.05", two(0.0)),
        "no number of labels within reach would probably settle it": ask("tpr<=0.05", two(0.5)),
        "not forecast, as chains apart": ask("tpr<=0.05", two(0.5), unconverged=apart),
    }
    for reason, verdict in verdicts.items():
        values = verdict.to_dict()
        assert values["more_labels"] is None and values["more_labels_reason"] == reason
    settled = ask("tpr<=0.05", two(0.5), forecast=lambda: 1200)
    assert settled.sentence.endswith("; about 1,200 more labels would probably settle it.")
    assert settled.more_labels == 1200 and "more_labels_reason" not in settled.to_dict()


WIDEST = [("tpr ratio>=0.8", 0.25, "tpr of C is 0.250 of that of D")]
WIDEST += [("tpr<=0.1", 0.6, "tpr of D is above that of C by 0.600")]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("text, widest, clause", WIDEST)
def test_among_equally_probable_pairs_the_widest_is_named(text, widest, clause, known):
    rates = np.broadcast_to([0.5, 0.35, 0.2, 0.8], (2, 50, 4))
    verdict = ask(text, by_group(rates, known=known))
    assert verdict.status == "fail"
    assert {verdict.ranked[0].group, verdict.ranked[0].reference} == {"C", "D"}
    assert (verdict.beyond.higher, verdict.beyond.lower) == ("D", "C")
    assert verdict.beyond.gap == pytest.approx(widest)
    assert verdict.ranked[0].gap == pytest.approx(widest)
    listed = verdict.to_dict()["pairs"]
    assert {listed[0]["group"], listed[0]["reference"]} == {"C", "D"}
    failing = [pair["gap"] for pair in listed if pair["prob_within"] == 0.0]
    assert failing == sorted(failing, reverse="<=" in text)
    if known:
        assert verdict.sentence == f"{text}: fail; {clause}, known exactly."


def test_the_gap_of_a_pair_is_that_of_its_worst_metric_where_defined():
    near = by_group(np.broadcast_to([0.5, 0.52], (1, 40, 2)))
    far = by_group(np.broadcast_to([0.3, 0.1], (1, 40, 2)))
    verdict = ask("equalized_odds<=0.05", near, far)
    assert verdict.pairs[0].gap == pytest.approx(0.2)
    assert verdict.beyond.metric == verdict.check.metrics[1]
    assert verdict.beyond.gap == pytest.approx(0.2)
    ratio = ask("equalized_odds ratio>=0.9", near, far)
    assert ratio.pairs[0].gap == ratio.beyond.gap == pytest.approx(1 / 3)
    draws = np.full((1, 100, 2), 0.5)
    draws[0, :50, 1] = 0.7
    draws[0, 98:, 1] = np.nan
    verdict = ask("tpr<=0.05", by_group(draws))
    assert verdict.pairs[0].gap == pytest.approx(0.2 * 50 / 98)


@pytest.mark.parametrize(
    ("text", "rates", "clause"),
    [
        ("tpr<=0.05", [0.5, 0.5504], "tpr of B is above that of A by 0.0504, known exactly."),
        ("tpr ratio>=0.8", [0.5, 0.39988], "tpr of B is 0.7998 of that of A, known exactly."),
        ("tpr<=0.05", [0.5, 0.6], "tpr of B is above that of A by 0.100, known exactly."),
        ("tpr ratio>=0.9", [0.5, 0.52, 0.58], "tpr of A is 0.862 of that of C, known exactly."),
        ("tpr<=0.1", [0.5, 0.52, 0.58], "all 3 pairs within 0.1, known exactly."),
        ("tpr ratio>=0.8", [0.0, 0.0], "a ratio of 0 to 0 is undefined."),
        (
            "tpr<=0.05",
            [0.5, NAN, 0.52],
            "tpr of B is undefined: there are no positive labels; "
            "of 3 pairs the 1 that can be judged within 0.05, known exactly.",
        ),
    ],
)
def test_sentences_of_exact_gaps(text, rates, clause):
    by = by_group(np.broadcast_to(rates, (1, 10, len(rates))), known=True)
    verdict = ask(text, by, prob=0.999999)
    status = {"fail": "fail;", "pass": "pass;"}.get(verdict.status, "insufficient evidence,")
    assert verdict.exact and verdict.sentence == f"{text}: {status} {clause}"


# of assessments


ENOUGH = {"draws": 300, "warmup": 100}


def test_a_check_is_of_the_draws(trio):
    verdict = trio.check("tpr", within=0.1)
    assert verdict.prob == trio.settings.prob == 0.95
    gaps = np.ptp(trio.draws("tpr"), axis=-1)
    assert verdict.prob_within == pytest.approx((gaps <= 0.1 + 1e-12).mean())
    assert trio.check("tpr<=0.1") == verdict and not verdict.exact
    assert trio.check("demographic_parity<=0.5").exact
    assert trio.check("tpr", within=0.1, prob=0.5).prob == 0.5
    assert [(p.group, p.reference) for p in verdict.pairs] == [("B", "A"), ("C", "A"), ("C", "B")]
    assert trio.check("npv", within=0.5).check.metric == "npv"  # of the same counts
    with pytest.raises(ValueError, match="no assessed metric 'ece'; there are tpr"):
        trio.check("ece", within=0.1)
    with pytest.raises(ValueError, match=r"prob must lie in \(0, 1\)"):
        trio.check("tpr", within=0.1, prob=1)


def test_checked_metrics_are_assessed():
    """At one level for interval and verdict."""
    rows = lf.simulate(400, 200, rng=3)
    checks = ["tpr<=0.9", "equalized_odds<=0.9", "auc<=0.9", "tpr<=0.1"]
    result = assess(rows, metrics="accuracy", prob=0.6, checks=checks, draws=400, warmup=100)
    assert result.settings.metrics == ("accuracy", "tpr", "fpr", "auc")
    verdicts = result.checks
    assert [v.status for v in verdicts[:3]] == ["pass"] * 3
    values = result.to_dict()
    assert [v["check"] for v in values["checks"]] == values["settings"]["checks"] == checks
    inside = verdicts[3].prob_within
    status = "pass" if inside >= 0.6 else "fail" if 1 - inside >= 0.6 else "insufficient"
    assert (verdicts[3].prob, verdicts[3].status) == (0.6, status)
    population = assess(rows, metrics="selection_rate", target="population")
    assert not population.check("selection_rate", within=0.3).exact


def test_groups_without_labels(rows):
    checks, y = ["tpr<=0.9", "selection_rate<=0.9"], np.where(rows.group == "B", NAN, rows.y_true)
    one, two = assess(rows, y_true=y, metrics="tpr", checks=checks, **ENOUGH).checks
    assert (one.status, two.status, one.more_labels) == ("insufficient", "pass", None)
    assert one.reason == "group B has no labels and rests on the prior"


DECIDED = [(0.999, False, "no row is"), (0.001, False, "every row is"), (0.5, True, "no row is")]


@pytest.mark.parametrize("threshold, constant, reason", DECIDED)
def test_what_decisions_alone_decide_passes_no_check(rows, threshold, constant, reason):
    """Nor does what equal scores decide: an auc of 0.5 in all groups says nothing about them."""
    score = np.full(len(rows.y_score), 0.3) if constant else rows.y_score
    reason = f"{reason} selected"
    checks = ["tpr<=0.05", "equalized_odds<=0.05", "selection_rate ratio>=0.8", "accuracy<=0.9"]
    asked = {"threshold": threshold, "checks": [*checks, "auc<=0.05"], "metrics": "accuracy"}
    result = assess(rows, y_score=score, **asked, **ENOUGH)
    *decided, accuracy, auc = result.checks
    assert [(one.status, one.reason) for one in decided] == [("insufficient", reason)] * 3
    assert accuracy.status == "pass"  # it depends on labels
    assert (auc.reason == "all scores are equal") == constant
    (note,) = (note for note in result.warnings if note.code == "degenerate_decisions")
    assert reason in note.message and ("all scores are equal" in note.message) == constant


def test_equal_scores_with_decisions_of_their_own_are_judged(rows):
    given = {"y_score": np.full(400, 0.3), "y_pred": np.arange(400) % 2, "metrics": ["fpr", "auc"]}
    result = assess(rows, **given, **ENOUGH)
    assert result.check("fpr<=0.9").status == "pass"
    assert result.check("auc<=0.9").reason == "all scores are equal"
    assert "degenerate_decisions" in [note.code for note in result.warnings]
    assert "degenerate_decisions" not in [note.code for note in assess(rows).warnings]


def few_labels(numbers, seed=0):
    """4,000 rows whose scores say nothing in B, with so many labels in A and in B."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["A", "B"], 4000, p=[0.65, 0.35])
    score = rng.beta(1.2, 1.3, 4000)
    label = rng.random(4000) < np.where(group == "A", score, score.mean())
    shown = np.full(4000, NAN)
    for name, number in zip("AB", numbers, strict=True):
        at = np.flatnonzero(group == name)[:number]
        shown[at] = label[at]
    truth = [np.mean(score[label & (group == name)] >= 0.5) for name in "AB"]
    return {"y_true": shown, "y_score": score, "group": group}, truth


@pytest.mark.parametrize("number", [1, 2, 3])
def test_no_verdict_follows_from_the_prior_alone(rows, number):
    """The model passes what the truth does not, and no label objects, nor agrees."""
    given, truth = few_labels([number, number])
    assert truth[0] - truth[1] > 0.2
    verdict = assess(rows, **given, metrics="tpr", **ENOUGH).check("tpr", within=0.2, prob=0.7)
    assert verdict.prob_within > 0.7 and verdict.status == "insufficient"
    assert verdict.reason.endswith("has too few labels to be judged without the model")


def test_draws_without_the_model():
    """Prediction-powered where they exist, else labels-only; exact ones as they are."""
    rows = lf.simulate(400, 200, rng=3)
    y = np.where((rows.group == "A") | (np.arange(400) < 40), rows.y_true, NAN)
    result = assess(rows, y_true=y, metrics=["accuracy", "tpr", "ece", "selection_rate"])
    draws, powered = result.without_model("accuracy"), result.prediction_powered["accuracy"]
    assert result.without_model("accuracy") is draws  # they are drawn once
    assert powered.reason[0] is None and powered.reason[1] is not None
    assert draws[:, 0].mean() == pytest.approx(powered.mean[0], abs=0.003)
    assert draws[:, 0].std() == pytest.approx(powered.se[0], rel=0.1)
    only = result.labels["accuracy"]
    assert draws[:, 1].mean() == pytest.approx(only.mean[1], abs=0.005)
    assert draws[:, 1].std() == pytest.approx(only.sd[1], rel=0.02)
    assert np.isnan(result.without_model("ece")).all()
    rates = result.without_model("selection_rate")
    assert (rates == result.draws("selection_rate")[0, 0]).all()
    assert result.without_model("npv").shape == draws.shape
    blank = assess(rows, y_true=np.where(rows.group == "B", NAN, rows.y_true), metrics="tpr")
    assert np.isnan(blank.without_model("tpr")).all(axis=0).tolist() == [False, True]


def test_a_metric_without_other_estimates_needs_many_labels():
    data = lf.simulate(2000, 1500, rng=1)
    asked = {"sensitive_features": data.group, "metrics": "ece", "rng": 1, **ENOUGH}
    many = lf.assess(data.y_true, data.y_score, **asked)
    assert many.check("ece<=0.2").status == "pass"
    some = np.where(np.arange(2000) < 400, data.y_true, NAN)
    few = lf.assess(some, data.y_score, **asked)
    assert few.check("ece<=0.2").reason.endswith("to be judged without the model")


def test_chains_that_have_not_converged_give_no_verdict(rows):
    checks = ["tpr<=0.9", "selection_rate<=0.9"]
    result = assess(rows, draws=4, warmup=0, metrics="tpr", checks=checks)
    assert not result.gate.ok
    first, second = result.checks
    assert (first.status, first.reason) == ("insufficient", "the chains have not converged")
    assert second.status == "pass"
