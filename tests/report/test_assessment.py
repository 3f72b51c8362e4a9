"""The report of an assessment: what a reader sees."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from results import QUICKEST, ask_quickly, flat

import lightfair as lf
from lightfair.core.data.messages import counted, number, probability
from lightfair.core.mcmc.convergence import Gate
from lightfair.report.assessment import directions, document, effective_cell
from lightfair.report.document import Table
from lightfair.report.sections import diagnostics_line
from lightfair.report.text import render


def table(section, title):
    """Rows of the table whose first column has a title."""
    found = [b for b in section.blocks if isinstance(b, Table) and b.head[0] == title]
    return {row[0].text: [cell.text for cell in row[1:]] for row in found[0].rows}


def test_rows_and_settings_are_listed_once(rows, result):
    text = flat(result)
    assert "400 rows, 60 labeled, 340 unlabeled; 2 groups by group; threshold 0.5" in text
    assert "median; 95 % credible interval" in text and "effective labels" in text
    labels = rows.y_true[rows.group == "B"]
    counts = [str(n) for n in (labels.size, (labels >= 0).sum(), (labels == 1).sum())]
    section = next(one for one in document(result).sections if one.key == "rows")
    assert table(section, "group")["B"] == counts


def test_undefined_and_infinite_numbers_have_no_digits(nine):
    for text in (str(nine), render(document(nine, full=True))):
        assert not re.search(r"\b(nan|none|inf)\b", text, re.IGNORECASE)
        assert not re.search(r"-0\.0+(?!\d)", text)
    assert re.search(r"\n  g8 +- \[1\]", str(nine))
    assert "[1] there are no rows predicted positive" in flat(nine)
    assert "undefined in g8: ppv" in flat(nine)


@pytest.fixture(scope="module")
def many():
    metrics = ["tpr", "selection_rate"]
    return ask_quickly(lf.simulate(2000, 1500, rng=1), metrics=metrics, draws=40)


def test_without_labels_there_is_no_direction(rows):
    """One is clear by the prior alone: the scores of B are higher."""
    score = np.where(rows.group == "B", 0.5 + 0.5 * rows.y_score, 0.5 * rows.y_score)
    nobody = np.full(400, np.nan)
    blank = ask_quickly(rows, y_true=nobody, y_score=score, metrics=["fpr"], draws=200)
    assert blank.difference("fpr", "B", "A").prob_greater(0) > 0.95
    assert not directions(blank)
    without = "groups without labels, where they are needed, left out of findings:"
    assert f"{without} A; B" in flat(blank)
    label = np.where(rows.group == "A", rows.y_true, np.nan)
    half = ask_quickly(rows, y_true=label, y_score=score, metrics=["fpr", "selection_rate"])
    (text,) = (block.text for block in directions(half))
    assert text.startswith("selection_rate is higher for B") and f"{without} B" in flat(half)
    group = np.where(np.arange(400) % 2, rows.group, "C")
    three = ask_quickly(rows, y_true=label, y_score=score, group=group, metrics="fpr")
    assert {*three.largest_gap("fpr").which} == {"A", "C"} and three.set_aside("fpr") == ("B",)


def test_a_sentence_has_direction_size_and_probability(rows, many):
    delta = many.difference("tpr", "B", "A")
    narrow = replace(many, settings=replace(many.settings, prob=0.8))
    text, exact = (block.text for block in directions(narrow))
    word = "higher" if delta.prob_greater(0) >= 0.5 else "lower"
    assert text == f"tpr is {word} for B than for A: {narrow.difference('tpr')}."
    rate = many.difference("selection_rate", "B", "A")
    word = "higher" if rate.mean > 0 else "lower"
    assert exact == f"selection_rate is {word} for B than for A: {rate}."
    both = {"group": ["A", "B"] * 200, "y_score": np.repeat([0.2, 0.8], 200)}
    same = ask_quickly(rows, **both, metrics="selection_rate")
    text = "selection_rate is the same for B as for A: 0.000 (exact)."
    assert [block.text for block in directions(same)] == [text]


def test_a_sentence_names_four_groups(nine):
    (text,) = (b.text for b in directions(nine) if "selection_rate is higher" in b.text)
    deltas = nine.difference("selection_rate").values()
    higher = sum(delta.mean > 0 for delta in deltas)
    assert text.count(", exact)") == 4 < higher
    assert f"; {counted(higher - 4, 'other group')} than for g0." in text


def test_an_interval_holds_its_mean_in_every_form(many):
    """All draws but 2.5 % are 0: not 0.007 [0.000, 0.000]."""
    draws = np.full(many.theta["tpr"].shape, 0.5)
    draws[..., 1] = np.where(np.arange(draws[0, :, 0].size) % 40, 0.0, 0.3)
    settings = replace(many.settings, metrics=("tpr",), prob=0.9)
    result = replace(many, theta={"tpr": draws}, settings=settings)
    entry = result.to_dict()["metrics"]["tpr"]["groups"][1]
    assert entry["mean"] == pytest.approx(0.0075) and entry["median"] == 0.0
    for text in (str(result), result.to_html().replace("&nbsp;", " "), result.to_markdown()):
        assert "0.000 [0.000, 0.000]" in text and "0.007 [" not in text and "0.008 [" not in text
    assert "median" not in result.to_dict()["metrics"]["tpr"]["groups"][0]


def test_the_largest_gaps_come_first(nine):
    gaps = table(document(nine).sections[0], "metric")
    gap = nine.largest_gap("tpr")
    one, two = gap.which
    pair = f"{one} minus {two} ({probability(gap.prob_which)})"
    assert gaps["tpr"][0].startswith(f"{number(gap.median)} [") and gaps["tpr"][1] == pair
    spread = number(nine.between_group_sd("tpr").median)
    assert gaps["tpr"][2:] == [probability(gap.prob_within(0.05)), spread]
    assert gaps["selection_rate"][0].endswith(" (exact)")


def test_of_many_small_groups_ten_are_listed(rows):
    group = [f"{row // 5:02}" if row < 200 else "ab"[row % 2] for row in range(400)]
    text = flat(ask_quickly(rows, group=group, metrics="selection_rate"))
    assert f"left out of findings: {'; '.join(sorted(set(group))[:10])}; 30 more" in text


def test_small_groups_are_listed_and_never_the_headline(rows):
    group = np.array([*"abc"])[np.arange(400) % 3].astype(object)
    group[:4], group[4:13] = "four", "nine"
    options = {"group": group, "metrics": ["tpr", "selection_rate"]}
    result = ask_quickly(rows, **options)
    for name in ("tpr", "selection_rate"):
        gap, entry = result.largest_gap(name), result.to_dict()["metrics"][name]["largest_gap"]
        assert not {"four", "nine"} & {*gap.which, *entry["which"]}
        assert {"four", "nine"} <= {*entry["left_out"]}
        assert {"four", "nine"} <= {one.group for one in result.pairs(name)} | {"a"}
    text = flat(result)
    assert "groups of fewer than 10 rows, left out of findings: four; nine" in text
    found = " ".join(block.text for block in directions(result))
    assert "four" not in found and "nine" not in found
    assert "four" in table(document(result).sections[2], "group")
    every = ask_quickly(rows, **options, min_rows=1)
    assert every.small_groups == () and "groups of fewer" not in flat(every)
    tiny = {"group": ["x"] * 5 + ["y"] * 395, "metrics": "selection_rate"}
    two = ask_quickly(rows, **tiny)
    assert two.largest_gap("selection_rate").which and not directions(two)  # it is the only pair
    assert "of fewer than 10 rows, left out of findings: x" in flat(two)


@pytest.mark.parametrize("labels, text", [(1e6, ">1,000,000 (5)"), (12.4, "12 (5)"), (None, "-")])
def test_effective_and_actual_labels(labels, text):
    cell = effective_cell({"effective_labels": labels, "own": 5.0, "effective_reason": "why"})
    assert cell == (text, "why" if labels is None else None)


def test_the_full_form_has_all_columns(result):
    values = result.to_dict()["metrics"]["tpr"]
    section = next(one for one in document(result, full=True).sections if one.key == "tpr")
    groups, differences = table(section, "group"), table(section, "minus A")
    for name, entry in zip("AB", values["groups"], strict=True):
        assert groups[name][2].startswith(number(entry["prediction_powered"]["mean"]))
    delta = values["differences"][0]
    assert differences["B"][2].startswith(number(delta["prediction_powered"]["mean"]))
    ratio = values["ratios"][0]
    assert differences["B"][5].startswith(number(ratio["median"]))
    assert differences["B"][6] == probability(ratio["prob_four_fifths"])


def test_verdicts_come_first(result):
    blocks = document(result, full=True).sections[0].blocks
    assert [block.mark for block in blocks[:2]] == ["insufficient", "fail"]
    assert blocks[2].text.startswith("A check passes if all gaps are within its limit")
    assert blocks[3].role == "finding" and "not_converged" in [b.mark for b in blocks[4:]]
    assert re.fullmatch(r"\d+ warnings? below: .*not_converged.*\.", blocks[-1].text)


def test_without_checks_the_findings_stand_in(nine):
    texts = [getattr(b, "text", b) for b in document(nine, full=True).sections[0].blocks]
    assert isinstance(texts[1], Table)
    assert texts[0] == "No limit was set, so there is no verdict."


def test_warnings_are_counted_first_and_listed_last(result):
    first, *_, last, legend = str(result).split("\n\n")[1:]
    assert re.search(r" \d+ warnings? below: .*not_converged", " ".join(first.split()))
    assert "\n\ndiagnostics\n  NOT CONVERGED; 4 chains of 20 draws" in str(result)
    assert last.startswith("warnings\n") and "\n  not_converged: " in last
    assert legend.startswith("legend\n  0.1 [0.0, 0.2]: mean, for gaps and ratios median; 95 % ")


def test_parameters_that_lag_are_one_line_where_the_metrics_have_converged():
    gate = Gate(1.005, 500.0, 600.0, True, None, "tail ESS is below 400")
    words = "4 chains of 800 draws, largest R-hat 1.005, smallest bulk ESS 500, smallest tail ESS"
    lag = "parameters of the curves, unlike the metrics, lag: tail ESS is below 400"
    assert diagnostics_line(gate, (4, 800)) == f"converged; {words} 600, {lag}"
    failed = gate._replace(ok=False, reason="R-hat is above 1.01")
    assert diagnostics_line(failed, (4, 800)) == f"NOT CONVERGED; {words} 600"


def test_the_target_and_deviations_from_the_curve(rows, result):
    plain = str(ask_quickly(rows, trust=False, metrics="selection_rate", target="population"))
    assert "trust:" not in plain and "without deviations from the curve" in plain
    assert "target population: the " in plain and "(exact)" not in plain
    assert "target sample: the " in str(result) and str(result).count("(exact)") == 10
    assert "\n  trust: " in str(result) and "with deviations from the curve" in flat(result)


def test_exact_metrics_of_scores_name_the_scores():
    rng = np.random.default_rng(1)
    score, options = rng.random(600), {"sensitive_features": ["A"] * 600, **QUICKEST}
    label, few = rng.random(600) < score, np.round(score, 1)
    text = flat(lf.assess(label, few, metrics=["auc", "tpr"], **options))
    assert text.count("exact for scores clipped to [0.01, 0.99]") == 1
    for scores in (few * 0.9 + 0.05, score):
        assert "exact for" not in flat(lf.assess(label, scores, metrics=["auc"], **options))


def test_truth_criteria_marginals_and_simultaneous_intervals(rows):
    group = {"sex": rows.group, "age": np.where(np.arange(400) % 2, "old", "young")}
    options = {"hierarchical": "nested", "simultaneous": True}
    result = ask_quickly(rows, group=group, metrics=["tpr", "fpr"], **options)
    sections = {one.key: one for one in document(result, full=True).sections}
    assert table(sections["rows"], "all of")["sex B"][0] == str((rows.group == "B").sum())
    level = result.to_dict()["metrics"]["tpr"]["marginals"][1]["levels"][1]
    assert table(sections["tpr"], "all of")["age young"][0].startswith(number(level["mean"]))
    reference = result.settings.reference
    odds = result.criterion("equalized_odds", result.groups[1], reference)
    row = table(sections["criteria"], "criterion, group")[f"equalized_odds, {result.groups[1]}"]
    assert row[0].startswith(number(odds.median))
    band = result.simultaneous()
    first = table(sections["simultaneous"], "all at once, 95 %")
    ends = f"[{number(band.low[0])}, {number(band.high[0])}]"
    assert next(iter(first.values())) == [f"{number(band.median[0])} {ends}"]
    known = replace(result, truth={"tpr": np.full(4, 0.25), "fpr": np.full(4, np.nan)})
    sections = {one.key: one for one in document(known).sections}
    assert "truth: computed from the labels of all these rows" in flat(known)
    assert table(sections["tpr"], "group")[reference][-1] == "0.250"
    assert table(sections["fpr"], "group")[reference][-1] == "-"


@pytest.mark.parametrize(
    "share, start",
    [
        (0.56, "No clear difference from A: tpr."),
        (0.97, "No clear difference from A: tpr."),
        (0.98, "tpr is higher for B than for A: 0.100 "),
        (0.03, "No clear difference from A: tpr."),
        (0.02, "tpr is lower for B than for A: "),
    ],
)
def test_a_direction_is_clear_if_the_interval_excludes_0(many, share, start):
    """F34, F17; labels without the model say that B is higher, and support nothing else."""
    draws = np.full((1, 100, 2), 0.5)
    draws[0, :, 1] = np.where(np.arange(100) < round(100 * share), 0.6, 0.4)
    settings = replace(many.settings, metrics=("tpr",))
    (block,) = directions(replace(many, theta={"tpr": draws}, settings=settings))
    assert block.text.startswith(start)
    assert (share == 0.02) == ("by the model alone" in block.text)


def test_a_report_of_known_metrics_names_no_model(rows):
    text = flat(ask_quickly(rows, metrics="selection_rate"))
    assert "no model, as every metric is known from the rows" in text
    assert "nothing was estimated" in text and "beta calibration" not in text
