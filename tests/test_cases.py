"""Situations that people have met, one test each: what happens in them, by the public functions.

Each is called by its id, after a report or request about some program of this kind, or a trap in
published data. The parts that are behind have their own tests, which go deeper; these are short.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from results import QUICKEST as QUICK
from results import ask_quickly as ask
from results import codes, flat

import lightfair as lf
from lightfair.cli.main import main
from lightfair.interop import tidy

FAST = ["--chains", "4", "--draws", "10", "--warmup", "30"]


def message(result, code):
    return next(note.message for note in result.warnings if note.code == code)


def child(code, env, **options):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def three(rows):
    """Groups a, b and c, of which c is small."""
    return np.where(np.arange(400) < 12, "c", np.where(rows.group == "A", "a", "b"))


@pytest.fixture(scope="module")
def result(rows):
    return ask(rows, metrics=["accuracy", "tpr", "fpr", "selection_rate"], draws=40)


@pytest.fixture(scope="module")
def three_way(rows, three):
    return ask(rows, group=three, metrics=["tpr", "fpr"], draws=40, simultaneous=True)


@pytest.fixture
def csv(rows, tmp_path):
    """A file of the rows, and the columns of it for the command line."""
    path = tmp_path / "rows.csv"
    lines = ["y,s,g"]
    for y, s, g in zip(rows.y_true, rows.y_score, rows.group, strict=True):
        lines.append(f"{'' if math.isnan(y) else int(y)},{s!r},{g}")
    path.write_text("\n".join(lines).replace("np.float64(", "").replace(")", "") + "\n")
    return [str(path), "--label", "y", "--score", "s", "--group", "g"]


# groups and labels


def test_F01_a_rare_group_is_in_every_output(rows):
    group = np.where(np.arange(400) < 2, "rare", rows.group)
    label = np.where(group == "rare", np.nan, rows.y_true)
    got = ask(rows, y_true=label, group=group, metrics=["accuracy", "tpr"])
    for name, values in got.to_dict()["metrics"].items():
        assert [g["name"] for g in values["groups"]] == ["A", "B", "rare"]
        assert [d["group"] for d in values["differences"]] == ["B", "rare"]
        rare = values["groups"][2]
        assert rare["interval"] is not None or (name == "tpr" and rare["reason"])
    assert "\n  rare " in str(got)


def test_F02_equalized_odds_is_the_larger_gap_by_draw(result):
    gap = result.criterion("equalized_odds", "B", "A")
    tpr, fpr = (result.difference(name, "B", "A").draws for name in ("tpr", "fpr"))
    np.testing.assert_allclose(gap.draws, np.maximum(abs(tpr), abs(fpr)), atol=1e-14)
    low, high = gap.interval()
    assert 0 <= low <= high


def test_F03_an_absolute_gap_is_no_finding():
    """Three equal groups: the gap is above 0 in all draws, and no verdict fails for it."""
    rng = np.random.default_rng(1)
    score = rng.beta(1.2, 1.4, 1500)
    label = np.where(rng.random(1500) < 0.1, rng.random(1500) < score, np.nan)
    group = rng.choice([*"abc"], 1500)
    got = lf.assess(
        label,
        score,
        sensitive_features=group,
        metrics="tpr",
        **{**QUICK, "draws": 200, "warmup": 100},
    )
    gap = got.to_dict()["metrics"]["tpr"]["largest_gap"]
    assert gap["interval"][0] > 0.0
    assert 0.0 < gap["prob_within"] < 1.0
    assert got.check("tpr", within=0.3).status == "pass"
    signed = got.to_dict()["metrics"]["tpr"]["pairs"]
    assert len(signed) == 3
    assert all(pair["interval"][0] < 0.0 < pair["interval"][1] for pair in signed)
    assert "significant" not in str(got)


def test_F04_no_labeled_positives_is_wide_and_said(rows):
    label = np.where((rows.group == "B") & (rows.y_true == 1), np.nan, rows.y_true)
    got = ask(rows, y_true=label, metrics="tpr", draws=100, warmup=100)
    low, high = got.difference("tpr", "B", "A").interval()
    assert high - low > 0.05
    assert got.to_dict()["data"]["groups"][1]["positives"] == 0
    assert "B has 0 labeled positive rows, so its tpr rests on the prior" in message(
        got, "few_labels"
    )


def test_F05_an_undefined_number_is_null_with_a_reason(rows):
    decide = (rows.group == "A") & (rows.y_score > 0.5)
    got = ask(rows, y_pred=decide, metrics="ppv")
    text = json.dumps(got.to_dict(), allow_nan=False)
    entry = json.loads(text)["metrics"]["ppv"]["groups"][1]
    assert entry["mean"] is None and entry["interval"] is None
    assert entry["reason"] == "there are no rows predicted positive"
    assert "\n  [1] there are no rows predicted positive\n" in str(got)


def test_F07_without_labels_selection_rates_are_exact(rows):
    got = ask(rows, y_true=[None] * 400, metrics=["tpr", "selection_rate"])
    for group in "AB":
        share = (rows.y_score[rows.group == group] >= 0.5).mean()
        estimate = got.metric("selection_rate", group)
        assert estimate.exact and estimate.mean == pytest.approx(share, rel=1e-12)
        low, high = got.metric("tpr", group).interval()
        assert high - low > 0.05
    assert "all but selection rates rest on the prior alone" in message(got, "no_labels")


def test_F08_missing_scores_are_an_error(rows):
    score = rows.y_score.copy()
    score[[3, 8, 21]] = np.nan
    with pytest.raises(ValueError, match=r"y_score has 3 missing values \(rows 3, 8, 21\)"):
        ask(rows, y_score=score)


def test_F09_a_hand_counted_table():
    """tp 3, fp 1, fn 2, tn 4."""
    label = [1, 1, 1, 0, 1, 1, 0, 0, 0, 0]
    score = [0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.2, 0.1, 0.1]
    want = {
        "accuracy": 7 / 10, "tpr": 3 / 5, "fnr": 2 / 5, "fpr": 1 / 5, "tnr": 4 / 5,
        "ppv": 3 / 4, "npv": 4 / 6, "false_discovery_rate": 1 / 4, "false_omission_rate": 2 / 6,
        "selection_rate": 4 / 10, "base_rate": 5 / 10, "f1": 6 / 9, "balanced_accuracy": 0.7,
        "treatment_equality": 2 / 1, "cost(fp=1,fn=5)": 11 / 10,
    }  # fmt: skip
    got = lf.assess(label, score, sensitive_features=["a"] * 10, metrics=[*want], **QUICK)
    for name, value in want.items():
        assert got.metric(name, "a").exact
        assert got.metric(name, "a").mean == pytest.approx(value, rel=1e-12), name


def test_F10_one_threshold_several_or_one_for_each_group(rows):
    score = np.round(rows.y_score, 2)
    options = {"y_score": score, "metrics": "selection_rate"}
    rate = {cut: (score[rows.group == "A"] >= cut).mean() for cut in (0.3, 0.5)}
    several = ask(rows, **options, threshold=[0.5, 0.3]).to_dict()["thresholds"]
    assert {*several} == {"0.5", "0.3"}
    for cut, share in rate.items():
        found = [several[str(cut)]["selection_rate"]["groups"][0]["mean"]]
        for threshold in (cut, {"A": cut, "B": 0.5}):
            one = ask(rows, **options, threshold=threshold)
            found.append(one.metric("selection_rate", "A").mean)
        assert found == pytest.approx([share] * 3, rel=1e-12)


def test_F11_missing_groups():
    columns = [1, 0, 1, 0], [0.9, 0.2, 0.7, 0.4]
    group = np.array(["a", None, "b", np.nan], dtype=object)
    with pytest.raises(ValueError, match=r'2 missing values \(rows 1, 3\); pass missing="drop" or'):
        lf.score_data(*columns, sensitive_features=group)
    dropped = lf.score_data(*columns, sensitive_features=group, missing="drop")
    assert dropped.groups == ("a", "b")
    assert dropped.notes[0].message.startswith("rows dropped, sensitive_features is missing: 2")
    kept = lf.score_data(*columns, sensitive_features=group, missing="group")
    assert kept.groups == ("a", "b", "missing")


def test_F12_indexes_that_differ_are_an_error(rows):
    pd = pytest.importorskip("pandas")
    label = pd.Series(rows.y_true)
    group = pd.Series(rows.group, index=np.arange(400)[::-1])
    with pytest.raises(ValueError, match="index"):
        ask(rows, y_true=label, group=group)


def test_F14_dicts_frames_and_lists_make_crossed_groups(rows):
    pd = pytest.importorskip("pandas")
    age = np.where(np.arange(400) % 3 == 0, "old", "young")
    columns = {"sex": rows.group, "age": age}
    found = [
        lf.score_data(rows.y_true, rows.y_score, sensitive_features=given).groups
        for given in (columns, pd.DataFrame(columns), [rows.group, age])
    ]
    assert found == [("A, old", "A, young", "B, old", "B, young")] * 3


def test_F15_crossed_groups_keep_the_names_of_their_parts(rows):
    age = np.where(np.arange(400) % 3 == 0, "old", "young")
    got = ask(rows, group={"sex": rows.group, "age": age}, metrics="tpr")
    data = got.to_dict()["data"]
    assert data["attributes"] == ["sex", "age"]
    assert data["groups"][0]["parts"] == {"sex": "A", "age": "old"}


def test_F16_an_empty_intersection_is_listed_without_a_verdict(rows):
    age = np.where((rows.group == "A") | (np.arange(400) % 3 > 0), "young", "old")
    got = ask(rows, group={"sex": rows.group, "age": age}, metrics="tpr")
    assert got.to_dict()["data"]["empty_groups"] == ["A, old"]
    assert "A, old" not in json.dumps(got.to_dict()["metrics"])
    assert "groups without rows, not assessed: A, old" in str(got)
    verdict = got.check("tpr", within=0.99)
    assert "A, old" not in json.dumps([vars(pair) for pair in verdict.pairs], default=str)


def test_F17_one_level_for_interval_and_verdict(rows):
    narrow, wide = (ask(rows, metrics="tpr", prob=prob) for prob in (0.5, 0.99))
    assert narrow.check("tpr", within=0.05).prob == 0.5
    assert wide.check("tpr", within=0.05).prob == 0.99
    ends = [r.to_dict()["metrics"]["tpr"]["differences"][0]["interval"] for r in (narrow, wide)]
    assert ends[1][0] < ends[0][0] < ends[0][1] < ends[1][1]


def test_F18_interval_and_point_are_of_one_quantity(result):
    estimate = result.difference("tpr", "B", "A")
    draws = estimate.draws.ravel()
    assert estimate.mean == pytest.approx(draws.mean())
    assert estimate.interval(0.9) == pytest.approx(tuple(np.quantile(draws, [0.05, 0.95])))
    assert estimate.prob_greater(0.0) == (draws > 0).mean()


@pytest.mark.parametrize(
    "check, code", [("accuracy<=0.9", 0), ("selection_rate<=0.0001", 1), ("tpr<=0.12", 3)]
)
def test_F19_the_command_exits_as_the_gate_says(csv, check, code, capsys):
    assert main(["assess", *csv, "--metric", "tpr", "--check", check]) == code
    assert check.partition("<=")[0] in capsys.readouterr().out


def test_F19_bad_usage_exits_with_2(csv, capsys):
    assert main(["assess", *csv, "--check", "tpr"]) == 2
    assert "check must be a metric, <= and a limit" in capsys.readouterr().err


def test_F20_python_and_the_command_agree(rows, csv, capsys):
    options = ["--metric", "tpr", "--check", "tpr<=0.12", "--json"]
    assert main(["assess", *csv, *options, *FAST, "--seed", "1"]) == 3
    printed = json.loads(capsys.readouterr().out)["checks"]
    got = ask(rows, metrics="tpr", checks=["tpr<=0.12"])
    assert got.check("tpr", within=0.12).status == "insufficient" == printed[0]["status"]
    assert got.to_dict()["checks"] == printed


@pytest.mark.parametrize("order", [["yes", "no"], ["no", "yes"]])
def test_F21_text_labels_need_to_be_told_which_is_positive(rows, order):
    words = [None if math.isnan(y) else ("yes" if y else "no") for y in rows.y_true]
    with pytest.raises(ValueError, match="positive_label"):
        ask(rows, y_true=words)
    pd = pytest.importorskip("pandas")
    label = pd.Series(pd.Categorical(words, categories=order))
    got = lf.score_data(label, rows.y_score, sensitive_features=rows.group, positive_label="yes")
    assert got.label.tolist() == np.where(np.isnan(rows.y_true), -1, rows.y_true).tolist()


def test_F22_the_error_lists_the_values():
    with pytest.raises(ValueError, match="'bad', 'good'"):
        lf.score_data(["good", "bad"], [0.9, 0.1], sensitive_features=["a", "b"])


def test_F23_labels_1_and_2_are_no_guess():
    with pytest.raises(ValueError, match="positive_label"):
        lf.score_data([1, 2], [0.9, 0.1], sensitive_features=["a", "b"])
    got = lf.score_data([1, 2], [0.9, 0.1], sensitive_features=["a", "b"], positive_label=2)
    assert got.label.tolist() == [0, 1]


@pytest.mark.parametrize("keep", [0, 1, "constant"])
def test_F27_few_or_constant_labels_of_a_group_work_and_are_flagged(rows, keep):
    mine = np.flatnonzero((rows.group == "B") & ~np.isnan(rows.y_true))
    label = rows.y_true.copy()
    hidden = mine[rows.y_true[mine] == 0] if keep == "constant" else mine[keep:]
    label[hidden] = np.nan
    got = ask(rows, y_true=label, metrics=["tpr", "fpr"])
    flags = {0: "unlabeled_group", 1: "one_class_group", "constant": "one_class_group"}
    assert flags[keep] in codes(got)
    assert all(np.isfinite(got.metric("tpr", g).interval()).all() for g in "AB")


def test_F28_width_against_labels_only_and_effective_labels(result):
    for entry in result.to_dict()["metrics"]["tpr"]["groups"]:
        ours, theirs = (e["interval"][1] - e["interval"][0] for e in (entry, entry["labels_only"]))
        assert entry["width_ratio"] == pytest.approx(ours / theirs)
        assert entry["effective_labels"] > 0.0
    assert re.search(r"effective labels: \d+ \(A\), \d+ \(B\); actual labels", flat(result))


def test_F29_simultaneous_intervals_are_an_option(three_way):
    every = three_way.simultaneous()
    for metric in ("tpr", "fpr"):
        for group in three_way.groups:
            if group == three_way.settings.reference:
                continue
            low, high = every.interval(metric, group)
            one = three_way.difference(metric, group, three_way.settings.reference).interval()
            assert low < one[0] and one[1] < high
    assert len(three_way.to_dict()["simultaneous"]["intervals"]) == 4


def test_F30_the_sd_between_equal_groups_is_near_0():
    rng = np.random.default_rng(5)
    score = rng.beta(1.2, 1.4, 3000)
    label = (rng.random(3000) < score).astype(float)
    label[rng.random(3000) < 0.2] = np.nan
    group = rng.choice([*"abcde"], 3000)
    got = lf.assess(label, score, sensitive_features=group, metrics="accuracy", **QUICK)
    spread = got.between_group_sd("accuracy")
    assert spread.median < 0.02 < got.largest_gap("accuracy").median


def test_F31_which_pair_drives_the_gap(three_way):
    chances = [pair.prob_largest for pair in three_way.pairs("tpr")]
    assert len(chances) == 3
    assert sum(chances) == pytest.approx(1.0)


def test_F33_two_models_are_compared_on_the_same_labels(rows):
    scores = {"old": rows.y_score**2, "new": rows.y_score, "same": rows.y_score}
    options = {"sensitive_features": rows.group, "hierarchical": True, "metrics": "tpr", **QUICK}
    got = lf.compare_models(scores, rows.y_true, **options)
    delta = got.gap_difference("tpr", "new", "old", "B")
    gaps = [got.gap(model, "tpr", "B").draws for model in ("new", "old")]
    np.testing.assert_allclose(delta.draws, gaps[0] - gaps[1], atol=1e-13)
    assert 0.0 <= got.prob_fairer("tpr", "new", "old") <= 1.0
    assert not got.gap_difference("tpr", "new", "same", "B").draws.any()


@pytest.mark.parametrize("metric", ["accuracy", "tpr", "fpr"])
def test_F34_a_sentence_gives_direction_and_probability(result, metric):
    chance = result.difference(metric, "B", "A").prob_greater(0.0)
    unclear = f"{metric} for B against A: no clear direction, P(higher) {chance:.3f}"
    clear = f"{metric} is {'higher' if chance > 0.5 else 'lower'} for B than for A with probability"
    assert (unclear if 0.025 < chance < 0.975 else clear) in flat(result)


def test_F35_nothing_undefined_is_left_to_be_drawn(rows):
    got = ask(rows, y_pred=np.zeros(400), metrics=["ppv", "tpr"])
    ppv = json.loads(json.dumps(got.to_dict(), allow_nan=False))["metrics"]["ppv"]
    assert all(entry["mean"] is None and entry["reason"] for entry in ppv["groups"])
    assert not re.search(r"\bnan\b", str(got))


def test_F36_nothing_is_said_of_metrics_that_nobody_asked_for(rows):
    label = np.where((rows.group == "B") & (rows.y_true == 1), np.nan, rows.y_true)
    quiet = ask(rows, y_true=label, metrics=["fpr"])
    assert "tpr" not in " ".join(note.message for note in quiet.warnings)
    assert "tpr" in message(ask(rows, y_true=label, metrics=["tpr"]), "few_labels")


def test_F39_a_real_valued_group_is_warned_of(rows):
    income = np.round(rows.y_score * 1000 + np.arange(400) / 7.0, 3)
    data = lf.score_data(rows.y_true, rows.y_score, sensitive_features={"income": income})
    note = next(note for note in data.notes if note.code == "real_valued_group")
    assert "income has 400 levels, 400 of them with one row" in note.message
    assert "cut a real-valued column into bands" in note.message


def test_F40_nullable_columns_say_the_same(rows):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"y": rows.y_true, "s": rows.y_score, "g": rows.group})
    frame = frame.astype({"y": "Int64", "s": "Float64", "g": "string"})
    got = lf.score_data(frame["y"], frame["s"], sensitive_features=frame["g"])
    want = lf.score_data(rows.y_true, rows.y_score, sensitive_features=rows.group)
    for name in ("label", "score", "group", "predicted"):
        np.testing.assert_array_equal(getattr(got, name), getattr(want, name))


def test_F49_polars_needs_no_pandas(child_env):
    pytest.importorskip("polars")
    code = "import sys\nsys.modules['pandas'] = None  # old versions of polars look for it\n"
    code += "import polars as pl, lightfair as lf\n"
    code += "d = lf.score_data(pl.Series([1, 0, None]), pl.Series([.9, .1, .5]),"
    code += " sensitive_features=pl.Series(['a', 'b', 'a']))\n"
    code += "print(d.groups)"
    assert child(code, child_env) == "('a', 'b')"


def test_F42_sample_weight_and_label_prob_are_two_things(rows):
    weight = np.where(np.arange(400) % 2 == 0, 3.0, 1.0)
    weighted = ask(rows, metrics="selection_rate", sample_weight=weight)
    mine = rows.group == "A"
    want = np.average((rows.y_score >= 0.5)[mine], weights=weight[mine])
    assert weighted.metric("selection_rate", "A").mean == pytest.approx(want, rel=1e-12)
    chance = np.where(rows.y_score > 0.5, 0.2, 0.1)
    chosen = ask(rows, metrics="tpr", label_prob=chance)
    plain = ask(rows, metrics="tpr")
    np.testing.assert_array_equal(chosen.draws("tpr"), plain.draws("tpr"))
    assert not np.array_equal(chosen.labels["tpr"].mean, plain.labels["tpr"].mean)


@pytest.mark.parametrize("label", [0, 1])
def test_F43_auc_of_one_class_is_undefined(label):
    score = np.linspace(0.1, 0.9, 20)
    got = lf.assess(
        [label] * 20, score, sensitive_features=["a"] * 10 + ["b"] * 10, metrics="auc", **QUICK
    )
    entry = got.to_dict()["metrics"]["auc"]["groups"][0]
    assert entry["mean"] is None and entry["reason"] == "a label is missing"


def test_F45_how_many_labels(rows):
    got = ask(rows, metrics="tpr", draws=60)
    plan = lf.plan_labels(got, "tpr", width=0.2)
    assert plan.labels is None or 0 <= plan.labels <= 340
    widths = plan.intervals[0].width
    assert (np.diff(widths) <= 1e-9).all()


def test_F46_intervals_come_as_tidy_rows_that_a_plot_takes(result):
    """A row for each metric, group and method, with both ends; in CSV the same floats."""
    rows = [row for row in tidy.rows(result) if row["quantity"] == "metric"]
    mine = [row for row in rows if row["method"] == "lightfair"]
    assert len(mine) == 8 and len(rows) == 3 * 8
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in mine)
    assert all(f",{row['low']!r},{row['high']!r}," in result.to_csv() for row in mine)


def test_F48_a_model_card_has_every_number_with_its_interval(result):
    card = result.to_markdown()
    for row in tidy.rows(result):
        if row["quantity"] == "metric" and row["method"] == "lightfair":
            ends = f"[{row['low']:.3f}, {row['high']:.3f}]"
            size = "(exact)" if row["exact"] else ends
            lines = [line for line in card.splitlines() if line.startswith(f"| {row['group']} |")]
            assert any(f"| {row['estimate']:.3f} {size} |" in line for line in lines)
            assert f"## {row['metric']}" in card


# scores


def test_G1_reversed_scores_are_warned_of():
    rng = np.random.default_rng(0)
    score = rng.random(300)
    label = (rng.random(300) > score).astype(int)
    data = {"sensitive_features": np.resize([*"ab"], 300), "metrics": "tpr", **QUICK}
    said = message(lf.assess(label, score, **data), "reversed_scores")
    assert "higher scores go with fewer positive labels" in said
    assert "check positive_label, or whether 1 - score was meant" in said
    assert "reversed_scores" not in codes(lf.assess(label, 1.0 - score, **data))


def test_G2_scores_of_0_and_1_run_and_the_clipped_share_is_said(rows):
    got = ask(rows, y_score=(rows.y_score > 0.5).astype(float), metrics="tpr")
    assert got.to_dict()["data"]["clipped"] == 400
    assert "100% of the scores lie outside [0.01, 0.99]" in message(got, "clipped_scores")
    assert np.isfinite(got.metric("tpr", "A").interval()).all()


def test_G4_ties_with_the_threshold_are_positive_and_counted():
    score = [0.5] * 20 + [0.2] * 20
    data = lf.score_data([1, 0] * 20, score, sensitive_features=["a", "b"] * 20)
    assert data.predicted.sum() == 20
    assert [note.code for note in data.notes] == ["ties_with_threshold"]
    assert "counted as positive: 20; a threshold just above" in data.notes[0].message


# machines

ASSESS = """
import lightfair as lf
rows = lf.simulate(200, 40, rng=0)
result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, metrics="tpr",
                   chains=4, draws=10, warmup=10, rng=0)
"""


def test_S01_nothing_needs_to_be_written(child_env, tmp_path):
    """A cache folder that is a file: nothing can be written there."""
    (tmp_path / "file").touch()
    env = {**child_env, "NUMBA_CACHE_DIR": str(tmp_path / "file"), "HOME": str(tmp_path / "file")}
    assert child(f"{ASSESS}\nprint(result.groups)", env) == "('A', 'B')"


def test_S04_compiled_functions_call_none_of_another_module():
    """Of two modules one could be cached in an older version than the other."""
    texts = {p.stem: p.read_text() for p in Path(lf.__file__).parent.rglob("*.py")}
    assert [name for name, text in texts.items() if "\n@jit\n" in text] == ["kernels"]


def test_S08_two_threads_give_the_numbers_of_one(rows):
    def draws(seed):
        return ask(rows, metrics="tpr", rng=seed).draws("tpr")

    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(draws, range(2)))
    np.testing.assert_array_equal(together, [draws(0), draws(1)])


CHILDREN = f"""
import multiprocessing, sys
def work():
    {ASSESS.strip().replace(chr(10), chr(10) + "    ")}
    return result.draws("tpr").sum()
if __name__ == "__main__":
    here = work()
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.apply_async(work).get(timeout=100) == here, method
"""


def test_S09_children_work_under_fork_and_spawn(child_env, tmp_path):
    (tmp_path / "children.py").write_text(CHILDREN)
    child(
        "import runpy; runpy.run_path('children.py', run_name='__main__')", child_env, cwd=tmp_path
    )


def test_S11_importing_it_loads_nothing_heavy(child_env):
    loaded = child("import sys, lightfair; print(*sys.modules)", child_env).split()
    assert not {"numpy", "scipy", "numba", "pandas", "matplotlib"} & {*loaded}


@pytest.mark.parametrize(
    "chains, options",
    [
        pytest.param(1, {}, id="S13 one chain"),
        pytest.param(4, {"draws": 4, "warmup": 0}, id="S17 too few draws"),
        pytest.param(1, {"draws": 4, "warmup": 0}, id="S17 both"),
    ],
)
def test_S13_S17_S18_what_has_not_converged_is_one_message(rows, chains, options):
    got = ask(rows, metrics="tpr", chains=chains, **options)
    assert codes(got).count("not_converged") == 1 == str(got).count("NOT CONVERGED")
    diagnostics = got.to_dict()["diagnostics"]
    assert diagnostics["ok"] is False and diagnostics["reason"]
    if chains > 1:
        assert "more draws help" in message(got, "not_converged")


def test_S16_a_quantity_without_spread_passes_the_diagnostics(rows):
    got = ask(rows, metrics="selection_rate", draws=200)
    assert not np.ptp(got.draws("selection_rate"), axis=(0, 1)).any()
    assert got.gate.ok


def test_S19_an_error_shows_the_parameters():
    """There is no start to be given; a prior that allows none is named with its value."""
    with pytest.raises(ValueError, match=r"sigma_c_sd.*nan"):
        lf.Prior(sigma_c_sd=math.nan)
    with pytest.raises(ValueError, match=r"omega_sd.*-1"):
        lf.Trust(omega_sd=-1.0)


def test_S23_separable_labels_are_finite():
    score = np.linspace(0.05, 0.95, 80)
    label = (score > 0.5).astype(int)
    label = np.where(np.arange(80) % 2, label, -1)
    got = lf.assess(
        label, score, sensitive_features=["a", "b"] * 40, metrics=["tpr", "auc"], **QUICK
    )
    assert np.isfinite(got.posterior.phi).all()
    assert np.isfinite(got.metric("auc", "a").interval()).all()


@pytest.mark.parametrize("label", [0, 1])
def test_S24_one_class_is_finite(rows, label):
    got = ask(rows, y_true=np.where(np.isnan(rows.y_true), np.nan, label), metrics="accuracy")
    assert np.isfinite(got.posterior.phi).all()
    assert "one_class" in codes(got)


@pytest.mark.parametrize("kind", [np.int64, np.float32, np.float16])
def test_S25_scores_of_any_number_type(rows, kind):
    score = np.round(rows.y_score) if kind is np.int64 else rows.y_score
    one = ask(rows, y_score=score.astype(kind), metrics="tpr")
    two = ask(rows, y_score=score.astype(kind).astype(np.float64), metrics="tpr")
    np.testing.assert_array_equal(one.draws("tpr"), two.draws("tpr"))


def test_S27_draws_are_chain_draw_and_then_the_rest(result):
    shape = result.posterior.phi.shape[:2]
    assert shape[0] == 4
    draws = {name: getattr(result.posterior, name) for name in ("phi", "mu", "sigma")}
    draws.update(result.theta)
    assert all(values.shape[:2] == shape for values in draws.values())


def test_S30_intervals_are_equal_tailed_and_prob_is_checked(result):
    estimate = result.metric("tpr", "A")
    low, high = estimate.interval(0.8)
    draws = estimate.draws
    assert (draws < low).mean() == pytest.approx(0.1, abs=0.01)
    assert (draws > high).mean() == pytest.approx(0.1, abs=0.01)
    for prob in (0, 1, 95, -0.5, math.nan, "x"):
        with pytest.raises(ValueError, match=r"prob must lie in \(0, 1\)"):
            estimate.interval(prob)
