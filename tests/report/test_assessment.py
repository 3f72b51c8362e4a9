"""The report: words and numbers that a reader sees."""

from __future__ import annotations

import re

import numpy as np
import pytest
from results import ask_quickly as ask
from results import flat

import lightfair as lf
from lightfair.core.data.messages import number, probability
from lightfair.core.metrics.definitions import METRICS
from lightfair.core.metrics.imputation import TARGETS
from lightfair.core.metrics.labels_only import Effective
from lightfair.report.assessment import document, sentence, worth_line
from lightfair.report.text import render


@pytest.fixture(scope="module")
def result(rows):
    return ask(rows, metrics=METRICS)


@pytest.fixture(scope="module")
def undefined(rows):
    """Nobody of B is selected."""
    decide = (rows.group == "A") & (rows.y_score > 0.5)
    return ask(rows, y_pred=decide, metrics=["ppv", "fpr"])


@pytest.mark.parametrize(
    "value, text",
    [
        (0.12345, "0.123"),
        (-0.0004, "0.000"),
        (-0.0, "0.000"),
        (-0.0006, "-0.001"),
        (1.0, "1.000"),
        (None, "-"),
        (float("nan"), "-"),
        (float("inf"), "-"),
    ],
)
def test_number(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    "value, text",
    [(0.0, "<0.001"), (0.5, "0.500"), (1.0, ">0.999"), (None, "-"), (float("nan"), "-")],
)
def test_probability(value, text):
    assert probability(value) == text


def test_a_known_probability():
    assert (probability(0.0, exact=True), probability(1.0, exact=True)) == ("0", "1")


def test_one_line_for_each_group_and_difference(result):
    for block in str(result).split("\n\ndiagnostics\n")[0].split("\n\n")[2:]:
        lines = block.splitlines()
        assert lines[0] in METRICS
        starts = [line.split()[0] for line in lines[1:] if line[:4].strip() and line[2] != "["]
        starts = [start for start in starts if start != "prediction-powered"]  # a note, where any
        unmatched = lines[0] in ("selection_rate", "average_score", "ece")
        assert starts == ["group", "A", "B", *["worth"][unmatched:], "minus", "B", lines[0]]


def test_every_number_of_the_values_is_in_the_text(result):
    text = str(result)
    for metric in result.to_dict()["metrics"].values():
        for entry in metric["groups"] + metric["differences"]:
            assert number(entry["mean"]) in text
            for end in entry["interval"]:
                assert number(end) in text


@pytest.mark.parametrize("name", ["result", "undefined"])
def test_no_nan_no_none_no_negative_zero(name, request):
    text = str(request.getfixturevalue(name))
    assert not re.search(r"\b(nan|none|inf)\b", text, re.IGNORECASE)
    assert not re.search(r"-0\.0+(?!\d)", text)
    assert all(line == line.rstrip() for line in text.splitlines())


def test_an_undefined_number_is_a_dash_with_a_reason(undefined):
    text = str(undefined)
    assert re.search(r"\n  B +- \[1\]", text)
    assert "\n  [1] there are no rows predicted positive\n" in text
    assert "ppv for B against A: undefined, there are no rows predicted positive." in flat(text)


def test_the_head_counts_the_rows(result):
    text = flat(result)
    assert "400 rows, 60 labeled, 340 unlabeled; 2 groups by group; threshold 0.5" in text
    assert "95 % credible intervals" in text


@pytest.mark.parametrize("target", TARGETS)
def test_the_target_is_explained(rows, target):
    assert f"target {target}: the " in str(ask(rows, target=target, metrics="tpr"))


def test_rows_labels_and_positives_of_each_group_are_said_once(rows, result):
    line = next(li for li in str(result).splitlines() if li.startswith("  B"))
    mine = rows.y_true[rows.group == "B"]
    assert line.split()[1:] == [str(n) for n in (mine.size, (mine >= 0).sum(), (mine == 1).sum())]
    assert str(result).count("labeled  positive\n") == 1


def test_the_sentence_gives_direction_size_and_probability(result):
    d = result.difference("tpr", "B", "A")
    chance = max(d.prob_greater(0), (d.draws < 0).mean())
    word = "higher" if d.prob_greater(0) >= 0.5 else "lower"
    said = sentence(result, "tpr", "B", "A")
    same = d.prob_equal()
    also = f", the same with probability {same:.3f}" if same >= 0.001 else ""
    assert said.startswith(f"tpr is {word} for B than for A with probability {chance:.3f}{also}: ")
    assert said.endswith(f"{number(d.mean)} [{', '.join(map(number, d.interval(0.95)))}].")


def test_a_known_difference_needs_no_probability(result):
    d = result.difference("selection_rate", "B", "A")
    word = "higher" if d.mean > 0 else "lower"
    said = sentence(result, "selection_rate", "B", "A")
    assert said == (
        f"selection_rate is {word} for B than for A by {abs(d.mean):.3f}; "
        "no label is needed to know it."
    )


@pytest.mark.parametrize("target", ["sample", "expected"])
def test_a_known_number_is_called_exact(rows, target):
    """Of 255 and 145 rows, so that the shares are no round numbers."""
    lines = str(ask(rows, metrics="selection_rate", target=target)).splitlines()
    at = lines.index(next(line for line in lines if line.startswith("selection_rate")))
    for line in (lines[at + 2], lines[at + 3], lines[at + 6]):
        assert "(exact)" in line
    assert lines[at + 6].split()[-2:] in (["0", "0"], ["1", "0"], ["0", "1"], ["1", "1"])


def test_warnings_and_diagnostics_close_the_report(rows):
    text = str(ask(rows, draws=4, warmup=0, metrics="tpr"))
    assert "\n\ndiagnostics\n  NOT CONVERGED; 4 chains of 32 draws" in text
    last = text.split("\n\n")[-1].splitlines()
    assert last[0] == "warnings"
    assert [line for line in last[1:] if line[2] != " "][-1].startswith("  not_converged: ")


def test_names_of_any_length_and_script(rows):
    group = np.where(rows.group == "A", "größte Gruppe " * 5, "Ж")
    text = str(ask(rows, group=group, metrics="tpr"))
    assert "Ж" in text and "größte Gruppe" in text


def test_names_cannot_break_lines_or_reach_the_terminal(rows):
    group = np.where(rows.group == "A", "x\ny", "\x1b[31mred")
    asked = ask(rows, group=group, metrics="tpr")
    text = str(asked)
    assert all(line.isprintable() for line in text.splitlines())
    assert "  x\\ny " in text and "\\x1b[31mred" in text
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("  group "))
    assert len({len(line) for line in lines[at : at + 3]}) == 1
    assert {group["name"] for group in asked.to_dict()["data"]["groups"]} == {"x\ny", "\x1b[31mred"}


def test_the_labels_anchored_estimate_stands_beside(result):
    values = result.to_dict()["metrics"]
    entry = values["accuracy"]["groups"][0]["prediction_powered"]
    powered = result.prediction_powered["accuracy"]
    assert entry == {
        "mean": powered.mean[0],
        "interval": [powered.low[0], powered.high[0]],
    }
    delta = values["accuracy"]["differences"][0]["prediction_powered"]
    sign = 1.0 if values["accuracy"]["differences"][0]["group"] == result.groups[1] else -1.0
    assert delta["mean"] == pytest.approx(sign * (powered.mean[1] - powered.mean[0]))
    assert values["selection_rate"]["groups"][0]["prediction_powered"]["mean"] is None
    assert "reason" in values["selection_rate"]["groups"][0]["prediction_powered"]
    assert "prediction-powered" in str(result)


def test_what_was_learned_of_the_curve(result, rows):
    found = result.to_dict()["calibration"]
    low, high = found["omega"]["interval"]
    assert low < found["omega"]["median"] < high
    assert found["worth"]["interval"][0] > 0.0 and found["tau"]["median"] > 0.0
    assert sum(region["labeled"] for region in found["regions"]) == (rows.y_true >= 0).sum()
    assert "trust: in each region of the scores the curve is worth" in str(result)


def test_without_trust_there_is_a_reason(rows):
    plain = ask(rows, trust=False, metrics="tpr")
    found = plain.to_dict()["calibration"]
    assert found["omega"] is None and found["reason"] == "trust is off"
    assert len(found["regions"]) > 0
    assert "trust:" not in str(plain) and "the curve alone" in str(plain)


def test_many_groups_are_compared_in_a_sentence(rows):
    group = np.char.add("g", (np.arange(400) % 9).astype(str))
    result = ask(rows, group=group, metrics=["tpr", "selection_rate", "ppv"], reference="g0",
                 y_pred=(rows.y_score > 0.5) & (group != "g8"))  # fmt: skip
    text = flat(result)
    rate = {name: result.metric("selection_rate", name).mean for name in result.groups}
    higher = [name for name in result.groups if rate[name] > rate["g0"]]
    lower = [name for name in result.groups if rate[name] < rate["g0"]]
    assert (
        f"selection_rate of 8 groups against g0: higher in {len(higher)} ({'; '.join(higher)}), "
        f"lower in {len(lower)} ({'; '.join(lower)})." in text
    )
    clear = {"higher": [], "lower": []}
    for name in result.groups[1:]:
        low, high = result.difference("tpr", name, "g0").interval(0.95)
        clear["higher"] += [name] * (low > 0.0)
        clear["lower"] += [name] * (high < 0.0)
    said = [f"{word} in {len(some)} ({'; '.join(some)})" for word, some in clear.items() if some]
    said.append(f"no direction is clear in {8 - len(sum(clear.values(), []))}")
    assert f"tpr of 8 groups against g0: {', '.join(said)}." in text
    assert "ppv of 8 groups against g0: no direction is clear in 7, undefined in 1." in text
    whole = " ".join(render(document(result, full=True)).split())
    assert "ppv for g8 against g0: undefined, there are no rows predicted positive." in whole


def test_what_is_grave_stands_beside_the_verdict(rows):
    blank = ask(rows, y_true=np.full(400, np.nan), checks="tpr<=0.1")
    verdict = document(blank, full=True).sections[0]
    grave = [block for block in verdict.blocks if getattr(block, "role", None) == "warning"]
    assert [block.mark for block in grave][0] == "no_labels"
    assert "rest on the prior alone" in grave[0].text


def test_the_rule_of_a_check_names_a_direction(rows):
    whole = " ".join(render(document(ask(rows, checks="tpr<=0.1"), full=True)).split())
    assert "one group is further above another than the limit allows" in whole


def test_an_exact_number_of_scores_says_for_which_scores():
    rng = np.random.default_rng(1)
    score, group = rng.random(2000), np.repeat(["A", "B"], 1000)
    label = rng.random(2000) < score
    of_cells = "exact for scores clipped to [0.01, 0.99] and in cells of 0.05 in log odds, whose"
    text = flat(lf.assess(label, score, sensitive_features=group, metrics=["auc", "tpr"], rng=1))
    assert text.count(of_cells) == 1
    few = np.round(score, 1) * 0.9 + 0.05  # distinct, and within the bounds
    assert "exact for scores" not in flat(
        lf.assess(label, few, sensitive_features=group, metrics=["auc"], rng=1)
    )


def test_tables_say_what_their_numbers_are(rows):
    whole = " ".join(render(document(ask(rows), full=True)).split())
    assert "the lower of the two is at least 0.8 of the higher" in whole
    assert "Of several it is the largest, without its sign" in whole


def test_an_interval_beyond_the_range_has_a_reason():
    """Of 12 labels one is against the decision: accuracy is near 1, by a normal distribution."""
    rng = np.random.default_rng(1)
    score = np.where(rng.random(200) < 0.5, 0.9, 0.1)
    label = np.where(np.arange(200) < 12, score > 0.5, np.nan)
    label[3] = 1.0 - label[3]
    group = ["A"] * 200
    text = flat(lf.assess(label, score, sensitive_features=group, metrics=["accuracy"], rng=1))
    assert "intervals are asymptotic: with few labels they can reach beyond [0, 1]" in text
    many = np.where(np.arange(200) < 150, rng.random(200) < score, np.nan)
    text = flat(lf.assess(many, score, sensitive_features=group, metrics=["accuracy"], rng=1))
    assert "asymptotic" not in text


def test_effective_labels_of_many_groups_are_one_line():
    labels = np.array([20.0, 40.0, 60.0, np.nan, *[40.0] * 5])
    line = worth_line(Effective(labels, np.full(9, 10.0), np.full(9, 0.5)), tuple("abcdefghi"))
    assert line == "worth 4.0 times the labels that there are (median of 8 groups; 2.0 to 6.0)"
    few = Effective(np.array([2e6, 12.4]), np.array([5.0, 6.0]), np.ones(2))
    assert worth_line(few, ("a", "b")).startswith("worth more than 1,000,000 (a), 12 (b) labels")
    assert worth_line(Effective(np.full(2, np.nan), np.zeros(2), np.zeros(2)), ("a", "b")) is None
