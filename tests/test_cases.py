"""Situations that people have met, one test each: what happens in them, by the public functions.

Each is called by its id, after a report or request about some program of this kind, or a trap in
published data. These are short. Cases of one part of the package are tested with it: data/test_rows
(F08, F10, G4), data/test_groups (F11, F14, F15, F39), data/test_columns (F22, F23, S25),
mcmc/test_sampler (S23, S24), model/test_curve (S19), metrics/test_estimate (F18, S30),
metrics/test_labels_only (F28), metrics/test_definitions (F09, F43), comparison/test_gaps (F02, F29,
F30, F31), comparison/test_pooled (F16), comparison/test_verdict (F03, F17),
diagnostics/test_warnings (F04, F07, F27, F36, G1, G2), test_fit (S16), test_assessment (F05, F42,
S13, S17, S18), io/test_containers (F11, F12, F21, F40), interop/test_tidy and test_arviz (F46,
S27), report/test_assessment (F34, F35), report/test_markdown (F48), cli/test_commands (F19, F20),
planning/test_plan (F45), test_packaging (S11), test_bad_days (S01), test_model_comparison (F33).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from results import ask_quickly as ask

import lightfair as lf

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


def test_F49_polars_needs_no_pandas(python):
    pytest.importorskip("polars")
    code = "import sys\nsys.modules['pandas'] = None  # old versions of polars look for it\n"
    code += "import polars as pl, lightfair as lf\n"
    code += "d = lf.score_data(pl.Series([1, 0, None]), pl.Series([.9, .1, .5]),"
    code += " sensitive_features=pl.Series(['a', 'b', 'a']))\n"
    code += "print(d.groups)"
    assert python(code) == "('a', 'b')\n"


# machines

ASSESS = """
import lightfair as lf
rows = lf.simulate(200, 40, rng=0)
result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, metrics="tpr",
                   chains=4, draws=10, warmup=10, rng=0)
"""


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


def test_S08_eight_threads_may_be_the_first_to_ask(python):
    code = """
from concurrent.futures import ThreadPoolExecutor
import lightfair as lf
def work(seed):
    y, s, g = [1, 0, None, None] * 9, [0.9, 0.2, 0.7, 0.3] * 9, ["a", "b", "b"] * 12
    quick = {"draws": 4, "warmup": 9, "metrics": ["tpr", "auc"]}
    found = lf.assess(y, s, sensitive_features=g, **quick, rng=seed)
    return len(str(found) + found.to_html())
with ThreadPoolExecutor(8) as pool:
    print(len([*pool.map(work, range(8))]))
"""
    assert python(code) == "8\n"


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


def test_S09_children_work_under_fork_and_spawn(python, tmp_path):
    (tmp_path / "children.py").write_text(CHILDREN)
    python("import runpy; runpy.run_path('children.py', run_name='__main__')", cwd=tmp_path)
