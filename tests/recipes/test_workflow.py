"""GitHub: the commands of `fairness.yml`, a gate in a workflow, run as the runner does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
no_bash = pytest.mark.skipif(os.name == "nt", reason="the workflow runs in bash")
pytestmark = [pytest.mark.slow, no_bash]


def write_scores(path, gap=0.0, labeled=120):
    """Write 120 scores; those of positive women are lower by a gap."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 120)
    label = (rng.random(120) < 0.5).astype(int)
    score = np.clip(rng.normal(0.3 + 0.4 * label - gap * label * (sex == "f"), 0.2), 0.0, 1.0)
    shown = ["" if row >= labeled else value for row, value in enumerate(label)]
    frame = pandas.DataFrame({"label": shown, "score": score.round(3), "sex": sex})
    frame.to_csv(path, index=False)


ENDS = [("pass", {}, 0), ("fail", {"gap": 0.4}, 1), ("bad input", None, 2)]
ENDS += [("insufficient", {"gap": 0.2, "labeled": 24}, 0)]


@pytest.mark.parametrize("status, options, code", ENDS)
def test_the_check(status, options, code, tmp_path, child_env):
    yaml = pytest.importorskip("yaml")
    steps = yaml.safe_load(Path(__file__).with_name("fairness.yml").read_text())["jobs"]["gate"]
    (step,) = [step for step in steps["steps"] if step.get("name") == "Check"]
    if options is None:
        (tmp_path / "scores.csv").write_text("label,score,sex\n1,7.5,f\n0,0.1,m\n")
    else:
        write_scores(tmp_path / "scores.csv", **options)
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{child_env['PATH']}"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env={**child_env, "PATH": path, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    assert ("::warning::" in done.stdout) == (status == "insufficient")
    written = {path.name for path in tmp_path.iterdir()} - {"scores.csv"}
    if status == "bad input":
        assert not written and "Traceback" not in done.stderr
        return
    assert written == {"fairness.html", "fairness.md", "fairness.csv", "summary.md"}
    assert (tmp_path / "summary.md").read_text() == (tmp_path / "fairness.md").read_text()
    numbers = pandas.read_csv(tmp_path / "fairness.csv")
    verdicts = numbers[numbers.quantity == "check"].set_index("metric").status
    assert verdicts["tpr"] == status
