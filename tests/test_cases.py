"""Situations that people have met, one test each: what happens in them, by the public functions.

Each is called by its id, after a report or request about some program of this kind, or a trap in
published data. These are short. Cases of one part of the package are tested with it: data/test_rows
(F08, F10, G4), data/test_groups (F11, F14, F39), data/test_columns (F22, F23, S25),
metrics/test_estimate (F18, S30), metrics/test_definitions (F43), comparison/test_gaps (F02, F29,
F31), comparison/test_verdict (F17), test_assessment (F05, F42, S13, S17, S18), io/test_containers
(F11, F12, F21, F40), interop/test_tidy and test_arviz (F46, S27), report/test_assessment (F34,
F35), report/test_markdown (F48), cli/test_commands (F19), planning/test_plan (F45),
test_model_comparison (F33).
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
def result(rows):
    return ask(rows, metrics=["accuracy", "tpr", "fpr", "selection_rate"], draws=40)


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
    assert "B has 0 labeled rows in the denominator of tpr; these rest on the prior" in message(
        got, "few_labels"
    )


def test_F07_without_labels_selection_rates_are_exact(rows):
    got = ask(rows, y_true=[None] * 400, metrics=["tpr", "selection_rate"])
    for group in "AB":
        share = (rows.y_score[rows.group == group] >= 0.5).mean()
        estimate = got.metric("selection_rate", group)
        assert estimate.exact and estimate.mean == pytest.approx(share, rel=1e-12)
        low, high = got.metric("tpr", group).interval()
        assert high - low > 0.05
    assert "all but selection rates rest on the prior alone" in message(got, "no_labels")


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


def test_F30_the_sd_between_equal_groups_is_near_0():
    rng = np.random.default_rng(5)
    score = rng.beta(1.2, 1.4, 3000)
    label = (rng.random(3000) < score).astype(float)
    label[rng.random(3000) < 0.2] = np.nan
    group = rng.choice([*"abcde"], 3000)
    got = lf.assess(label, score, sensitive_features=group, metrics="accuracy", **QUICK)
    spread = got.between_group_sd("accuracy")
    assert spread.median < 0.02 < got.largest_gap("accuracy").median


def test_F36_nothing_is_said_of_metrics_that_nobody_asked_for(rows):
    label = np.where((rows.group == "B") & (rows.y_true == 1), np.nan, rows.y_true)
    quiet = ask(rows, y_true=label, metrics=["fpr"])
    assert "tpr" not in " ".join(note.message for note in quiet.warnings)
    assert "tpr" in message(ask(rows, y_true=label, metrics=["tpr"]), "few_labels")


def test_F49_polars_needs_no_pandas(child_env):
    pytest.importorskip("polars")
    code = "import sys\nsys.modules['pandas'] = None  # old versions of polars look for it\n"
    code += "import polars as pl, lightfair as lf\n"
    code += "d = lf.score_data(pl.Series([1, 0, None]), pl.Series([.9, .1, .5]),"
    code += " sensitive_features=pl.Series(['a', 'b', 'a']))\n"
    code += "print(d.groups)"
    assert child(code, child_env) == "('a', 'b')"


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


def test_S08_eight_threads_may_be_the_first_to_ask(child_env):
    code = """
from concurrent.futures import ThreadPoolExecutor
import lightfair as lf
def work(seed):
    y, s, g = [1, 0, None, None] * 9, [0.9, 0.2, 0.7, 0.3] * 9, ["a", "b", "b"] * 12
    found = lf.assess(y, s, sensitive_features=g, metrics=["tpr", "auc"], draws=4, rng=seed)
    return len(str(found) + found.to_html())
with ThreadPoolExecutor(8) as pool:
    print(len([*pool.map(work, range(8))]))
"""
    assert child(code, child_env) == "8"


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
