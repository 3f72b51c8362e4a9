"""Recipes: each runs as it is printed, where what it is about is installed."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from test_docstrings import Near

import lightfair as lf
from lightfair import recipes

pandas = pytest.importorskip("pandas")

PAGE = recipes.__doc__
NEEDS = {
    "Tables of pandas": None,
    "A model card": None,
    "Fairlearn": "fairlearn",
    "Aequitas": "aequitas",
    "scikit-learn": "sklearn",
    "ArviZ": "arviz",
}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def sections():
    """The head of the page, under "", and the text below each title."""
    parts = re.split(r"\n(\S[^\n]*)\n-{5,}\n", PAGE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def block(title):
    """The indented block that ends a section."""
    (text,) = [body for name, body in sections().items() if name.startswith(title)]
    lines = text.partition("::\n")[2].splitlines()
    return "\n".join(line[4:] for line in lines).strip() + "\n"


def run(text, name, names):
    """Run the examples of a text with some names; return what failed."""
    test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    assert test.examples
    said = []
    doctest.DocTestRunner(Near(), verbose=False, optionflags=FLAGS).run(
        test, out=said.append, clear_globs=False
    )
    names.update(test.globs)
    return "".join(said)


@pytest.fixture(scope="module")
def begun():
    """What the head of the page and its first section define."""
    names = {}
    assert not run(sections()[""], "head", names)
    assert not run(sections()["Tables of pandas"], "tables", names)
    return names


def test_every_section_is_run():
    titles = [title.partition(":")[0] for title in sections()]
    assert titles == ["", *NEEDS, "pytest", "GitHub"]


@pytest.mark.parametrize("title", NEEDS)
def test_a_recipe_prints_what_it_shows(title, begun):
    if NEEDS[title]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ArviZ 0 warns of ArviZ 1
            pytest.importorskip(NEEDS[title])
    (text,) = [body for name, body in sections().items() if name.startswith(title)]
    if title == "ArviZ":
        pytest.importorskip("matplotlib").use("Agg")
    said = run(text, title, dict(begun))
    assert not said, said


def test_with_all_labels_a_metric_frame_says_the_same():
    fairlearn = pytest.importorskip("fairlearn.metrics")
    rng = np.random.default_rng(0)
    score, sex = rng.random(300), rng.choice(["f", "m"], 300)
    label = (rng.random(300) < score).astype(int)
    frame = fairlearn.MetricFrame(
        metrics={"tpr": fairlearn.true_positive_rate, "fpr": fairlearn.false_positive_rate},
        y_true=label,
        y_pred=score >= 0.5,
        sensitive_features=pandas.Series(sex, name="sex"),
    )
    result = lf.assess(
        label, score, sensitive_features=sex, metrics=["tpr", "fpr"], chains=4, draws=10, rng=1
    )
    numbers = result.to_dataframe("pandas")
    ours = numbers[(numbers.quantity == "metric") & (numbers.method == "lightfair")]
    by_group = ours.pivot(index="group", columns="metric", values="estimate")
    np.testing.assert_allclose(
        by_group[["tpr", "fpr"]], frame.by_group.astype(float), rtol=0, atol=1e-12
    )


def scores(path, gap=0.0, labeled=120, rows=120):
    """A file of scores; women of the positive class score lower by a gap."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], rows)
    label = (rng.random(rows) < 0.5).astype(int)
    score = np.clip(rng.normal(0.3 + 0.4 * label - gap * label * (sex == "f"), 0.2), 0.0, 1.0)
    shown = [value if at < labeled else None for at, value in enumerate(label.tolist())]
    frame = pandas.DataFrame({"label": shown, "score": score.round(3), "sex": sex})
    frame.astype({"label": "Int64"}).to_csv(path, index=False)


CASES = [
    ("pass", {}, 0),
    ("fail", {"gap": 0.4}, 1),
    ("bad input", None, 2),
    ("insufficient", {"gap": 0.2, "labeled": 24}, 3),
]


@pytest.fixture(params=CASES, ids=[case[0] for case in CASES])
def case(request, tmp_path):
    """A folder with scores, what becomes of them, and the exit code of the command line."""
    _, options, code = request.param
    if options is None:
        (tmp_path / "scores.csv").write_text("label,score,sex\n1,7.5,f\n0,0.1,m\n")
    else:
        scores(tmp_path / "scores.csv", **options)
    return tmp_path, request.param[0], code


def test_the_gate_in_a_test_suite(case, child_env):
    folder, status, code = case
    (folder / "test_fairness.py").write_text(block("pytest"))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
        "test_fairness.py",
    ]
    done = subprocess.run(command, cwd=folder, env=child_env, capture_output=True, text=True)
    assert done.returncode == (code if code == 1 else 0 if code != 2 else 1), done.stdout
    said = {
        "pass": "2 passed",
        "fail": "AssertionError: tpr<=0.25: fail; tpr of m is above that of f by 0.576, known ",
        "bad input": "y_score must lie in [0, 1]; got 7.5 at row 0",
        "insufficient": "tpr<=0.25: insufficient evidence",
    }
    assert said[status] in done.stdout


@pytest.fixture(scope="module")
def workflow():
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load(block("GitHub"))


def test_the_workflow_has_what_a_workflow_needs(workflow):
    assert list(workflow) == ["name", True, "jobs"]  # "on" is a truth value in YAML 1.1
    steps = workflow["jobs"]["gate"]["steps"]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    assert steps[-1]["if"] == "always()" and steps[-1]["with"]["path"] == "fairness.*"


@pytest.mark.skipif(os.name == "nt", reason="the workflow runs in bash")
def test_the_commands_of_the_workflow(case, workflow, child_env):
    """As the runner does it: bash that stops at the first error."""
    folder, status, code = case
    (step,) = [s for s in workflow["jobs"]["gate"]["steps"] if s.get("name") == "Check"]
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{child_env['PATH']}"
    env = {**child_env, "PATH": path, "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == (0 if code == 3 else code), done.stderr
    assert ("::warning::" in done.stdout) is (code == 3)
    made = {"fairness.html", "fairness.md", "fairness.csv", "summary.md"}
    there = {path.name for path in folder.iterdir()} - {"scores.csv"}
    assert there == (set() if code == 2 else made)
    if code == 2:
        assert "score" in done.stderr and "Traceback" not in done.stderr
    else:
        report = (folder / "fairness.md").read_text(encoding="utf-8")
        assert (folder / "summary.md").read_text(encoding="utf-8") == report
        checked = pandas.read_csv(folder / "fairness.csv")
        verdicts = checked[checked.quantity == "check"].set_index("metric").status
        assert verdicts["tpr"] == status
