"""Monitoring: e-values against quadrature and simulated paths, looks against assessments."""

from __future__ import annotations

import numpy as np
import pytest

import lightfair as lf
from lightfair.audit.monitor import LEAST, evidence, since_any
from lightfair.core.data.nodes import UNSCORED_CLIP

LOOKS, RUNS = 52, 4_000


def test_evidence_is_the_mean_over_drifts():
    drift = (np.arange(200_000) + 0.5) * (2.0 / 200_000)  # scale 0.1: beyond 2 there is nothing
    weight = np.exp(-0.5 * (drift / 0.1) ** 2) * 2.0 / (0.1 * np.sqrt(2.0 * np.pi)) * drift[0] * 2.0
    for score, known in [(0.0, 0.0), (30.0, 100.0), (-30.0, 100.0), (500.0, 2_000.0)]:
        mean = (weight * np.exp(drift * score - 0.5 * drift * drift * known)).sum()
        assert evidence(np.array(score), np.array(known), 0.1) == pytest.approx(mean, rel=1e-6)


def paths(drift, seed=0):
    """Brownian motions at 52 looks: score and information."""
    rng = np.random.default_rng(seed)
    known = np.cumsum(rng.uniform(5.0, 40.0, (LOOKS, RUNS)), axis=0)
    steps = np.diff(known, axis=0, prepend=0.0)
    moves = drift * steps + np.sqrt(steps) * rng.standard_normal(steps.shape)
    return np.cumsum(moves, axis=0), known


@pytest.mark.parametrize("drift", [0.0, -0.1])
def test_at_most_one_in_twenty_paths_raises_an_alarm(drift):
    score, known = paths(drift)
    share = (since_any(score, known, 0.1) >= 20.0).any(axis=0).mean()
    assert share <= 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / RUNS)
    if drift == 0.0:  # a bound that nothing reaches would be no test
        assert share > 0.01
        # a test at each look is no such bound
        assert (score / np.sqrt(known) > 1.645).any(axis=0).mean() > 0.15


def test_a_change_is_found_earlier_than_by_all_looks_together():
    score, known = paths(0.0)
    after, more = paths(0.3, seed=1)
    score, known = (np.concatenate([a, a[-1] + b]) for a, b in ((score, after), (known, more)))
    both, all_looks = since_any(score, known, 0.1), 2.0 * 0.5 * evidence(score, known, 0.1)
    first, other = ((one >= 20.0).argmax(axis=0) for one in (both, all_looks))
    assert np.median(first) < np.median(other)


def test_since_any_is_a_sum_over_looks():
    score, known = (one[:, :3] for one in paths(0.1))
    naive = np.zeros_like(score)
    for t in range(LOOKS):
        naive[t] = 0.5 * evidence(score[t], known[t], 0.1)
        for k in range(1, t + 1):
            newer = known[t] - known[k - 1]
            own = evidence(score[t] - score[k - 1], newer, 0.1)
            naive[t] += np.where(newer >= LEAST * known[t], 0.5 * own / (k * (k + 1)), 0.0)
    np.testing.assert_allclose(since_any(score, known, 0.1), naive)


def month(seed, labeled=60, rows=1_000, shift=0.0):
    """A table of a month; scores of B are lower by `shift`, which its labels do not know."""
    one = lf.simulate(rows=rows, labeled=labeled, rng=seed)
    score = np.clip(one.y_score - shift * (one.group == "B"), 0.001, 0.999)
    return lf.score_table(lf.score_data(one.y_true, score, sensitive_features=one.group))


FAST = {"rng": 1, "draws": 50, "warmup": 40}


@pytest.fixture(scope="module")
def found():
    again = [("2026-01", month(1)), ("2026-02", month(2, 30)), ("2026-02", month(2, 300))]
    return lf.monitor(again, "tpr<=0.05", **FAST)


def test_a_look_is_the_assessment_of_all_rows_so_far(found):
    total = month(1) + month(2, 300)
    options = {"metrics": "tpr", "target": "population", **FAST}
    alone = lf.assess(total, **options)
    gap = next(gap for gap in found.gaps if gap.higher == "B")
    delta = alone.difference("tpr", "B", "A")
    assert (gap.middle[-1], gap.low[-1], gap.high[-1]) == (delta.mean, *delta.interval())
    free = alone.without_model("tpr")
    d = free[:, 1] - free[:, 0] - 0.05
    one = evidence(np.array(-d.mean() / d.var()), 1.0 / np.array(d.var()), 0.1)
    assert gap.within[-1] == pytest.approx(float(one))
    assert [look[:4] for look in found.looks] == [
        ("2026-01", False, 1000, 60),
        ("2026-02", False, 2000, 90),
        ("2026-02", True, 2000, 360),
    ]
    evident = [gap.evidence for gap in found.gaps]
    assert found.looks[-1].evidence == pytest.approx(np.mean(evident, axis=0)[-1])


def test_looks_before_do_not_change(found):
    first = lf.monitor({"2026-01": month(1)}, "tpr<=0.05", **FAST)
    assert first.looks[0] == found.looks[0]


def test_an_alarm_stays_and_names_its_gap():
    periods = {f"2026-{at:02}": month(at, 400, shift=0.35) for at in (1, 2)}
    periods["2026-03"] = month(3, 400)
    found = lf.monitor(periods, "tpr<=0.05", **FAST)
    assert (found.status, found.alarm, found.gaps[0].higher) == ("fail", 0, "A")
    assert found.sentence.startswith("alarm at 2026-01: tpr of A is above that of B by more than")
    values = found.to_dict()
    assert values["alarm"] == "2026-01"
    assert values["looks"][0]["gaps"][0]["evidence"] > 20.0
    assert "alarm" in str(found)


def test_shown_to_be_within_and_ratios():
    found = lf.monitor({"1": month(1, 900)}, "selection_rate ratio>=0.5", **FAST)
    assert found.status == "pass"
    ratio = {gap.lower: gap.middle[0] for gap in found.gaps}
    rate = {group: found.assessment.metric("selection_rate", group).mean for group in "AB"}
    assert ratio["B"] == pytest.approx(rate["B"] / rate["A"], rel=0.02)
    assert ratio["A"] == pytest.approx(rate["A"] / rate["B"], rel=0.02)
    rows = found.to_dataframe("pandas")
    assert rows["statistic"].dropna().tolist() == ["median"] * 2


def test_few_labels_are_no_evidence():
    found = lf.monitor({"1": month(1, 6)}, "tpr<=0.05", **FAST)
    assert [look.evidence for look in found.looks] == [0.5]
    assert found.status == "insufficient"


C = lf.score_table(lf.score_data([1, 0], [0.9, 0.2], sensitive_features=["A", "C"]))
OTHER = lf.score_table(lf.score_data([1, 0], [0.9, 0.2], sensitive_features=["A", "C"]), clip=0.1)
ALONE = lf.score_table(lf.score_data([1, 0], [0.9, 0.2], sensitive_features=["A", "A"]))


@pytest.mark.parametrize(
    ("periods", "text"),
    [
        ({}, "periods must not be empty"),
        ({2: month(1), 10: month(2), 3: month(3)}, "got 3 after 10; name them as 2026-01, 2026-02"),
        ([("1", month(1)), ("1", month(1, 40))], "fewer labels"),
        ([("1", month(1)), ("1", month(1, 60, 500))], "in 1 than before"),
        (
            {"1": month(1), "2": C},
            "no other groups than the first; got 'A', 'C' in 2 after 'A', 'B'",
        ),
        ({"1": ALONE}, "there is only one group"),
        ({"1": C, "2": OTHER}, "2 does not go with the periods before: .* clip is the same"),
    ],
)
def test_periods_that_cannot_be(periods, text):
    with pytest.raises(ValueError, match=text):
        lf.monitor(periods, "tpr<=0.1", **FAST)


@pytest.mark.parametrize(
    ("periods", "text"),
    [
        ({"1": [1, 2]}, "table of 1 must be a ScoreTable"),
        (C, "pairs of a name and a ScoreTable, or a dict of them; got ScoreTable"),
        ([C, C], "or a dict of them; got ScoreTable"),
        ([("1", C, 2)], "or a dict of them; got tuple"),
        (None, "or a dict of them; got NoneType"),
    ],
)
def test_periods_are_tables_by_name(periods, text):
    with pytest.raises(TypeError, match=text):
        lf.monitor(periods, "tpr<=0.1")


@pytest.mark.parametrize(
    "option", ["target", "metrics", "threshold", "epsilon", "label_error", "foo"]
)
def test_options_of_no_effect_are_refused(option):
    with pytest.raises(TypeError, match=f"monitor does not take {option}; leave it out; it takes"):
        lf.monitor({"1": C}, "tpr<=0.1", **{option: (0.1, 0.2)})


def test_a_metric_of_the_model_alone_is_refused():
    with pytest.raises(ValueError, match="check must not be of ece"):
        lf.monitor({"1": C}, "ece<=0.1")


def test_a_group_may_have_no_rows_in_a_later_period():
    rows = {"y": [1, 0] * 40, "s": [0.9, 0.2, 0.6, 0.4] * 20, "g": [*"AABBC"] * 16}
    names = {"y_true": "y", "y_score": "s", "sensitive_features": "g"}
    first = lf.summarize(rows, **names)
    kept = [at for at, group in enumerate(rows["g"]) if group != "B"]
    later = lf.summarize({key: [rows[key][at] for at in kept] for key in rows}, **names)
    found = lf.monitor([("1", first), ("2", later), ("2", later)], "tpr<=0.1", **FAST)
    assert [look.rows for look in found.looks] == [80, 128, 128] and len(found.gaps) == 6
    message = "must keep its rows and the values of its labels; got fewer labels 0 of B in 1"
    with pytest.raises(ValueError, match=message):
        lf.monitor([("1", first), ("1", later)], "tpr<=0.1", **FAST)


def test_an_undefined_gap_has_a_reason():
    data = lf.score_data([1, 0, 0, 0], None, y_pred=[1, 0, 0, 1], sensitive_features=[*"AABB"])
    table = lf.score_table(data, clip=UNSCORED_CLIP)
    found = lf.monitor({"1": table}, "auc<=0.1", **FAST)
    (gap, _) = found.to_dict()["looks"][0]["gaps"]
    assert gap["mean"] is gap["interval"] is None and gap["reason"] == "auc is undefined in B or A"
    reasons = [row["reason"] for row in lf.tidy.rows(found)]
    assert reasons[1:] == ["auc is undefined in B or A", "auc is undefined in A or B"]
    assert "auc is undefined in B or A" in str(found) and found.looks[0].evidence == 0.5
