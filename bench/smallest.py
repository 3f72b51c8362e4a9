"""Run measurements in their smallest form, on simulated scores: does each still work?

Nothing is measured, and nothing is written outside a temporary folder.
"""

from __future__ import annotations

import gzip
import importlib
import inspect
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np

from lightfair.core.data.logit import sigmoid

from . import evidence

ROWS = 3000
NOISE = {"mlp": 0.3, "lr": 0.5, "rf": 0.7, "gnb": 1.0}  # of the log odds of a model's scores
REPLICA = ("adult", "bank", "compas_r", "compas_vr", "german")


def main(names: list[str]) -> int:
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        simulate(data)
        for name in names:
            out, start = Path(folder) / name, time.perf_counter()
            out.mkdir()
            try:
                once(name, data, out)
            except Exception:
                traceback.print_exc()
                failed.append(name)
            print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


def once(name: str, data: Path, out: Path) -> None:
    """Measure in the smallest form; where other programs are needed, only read the options."""
    module = importlib.import_module(f".{name}", __package__)
    evidence.parser(name, module.measure)
    given = module.SMALLEST
    if given is None:
        return
    if "data" in inspect.signature(module.measure).parameters:
        given = {"data": data, **given}
    evidence.run(name, given, out)


def simulate(folder: Path) -> None:
    """Write scores in both layouts of `paper/scores.py`, and mock printed tables."""
    rng = np.random.default_rng(0)
    odds = 1.5 * rng.standard_normal(ROWS) - 0.4
    label = (rng.random(ROWS) < sigmoid(odds)).astype(int)
    scores = {
        model: np.round(sigmoid(1.3 * (odds + noise * rng.standard_normal(ROWS))), 6)
        for model, noise in NOISE.items()
    }
    small = rng.random(ROWS) < 0.3
    group, sex = np.where(small, "B", "A"), np.where(small, "Female", "Male")
    race = np.where(rng.random(ROWS) < 0.3, "Black", "White")
    titles = ",".join(f"score_{model}" for model in scores)
    columns = {"row": np.arange(ROWS), "label": label, "group": group}
    write(folder / "paper_scores" / "simulated_group.csv.gz", f"row,label,group,{titles}",
          *columns.values(), *scores.values())  # fmt: skip
    for model, score in scores.items():
        for name in REPLICA:
            path = folder / "scores" / f"{name}_{model}.csv.gz"
            write(path, "score,label,sex,race", score, label, sex, race)
    (folder / "paper_tables").mkdir()
    for metric in ("accuracy", "tpr", "fpr"):
        head = f"dataset,attribute,n_labeled,model,method,mae_{metric}_percent\n"
        cells = "".join(f"simulated,group,100,lr,{method},1.0\n" for method in ("freq", "bb", "bc"))
        (folder / "paper_tables" / f"{metric}_mae.csv").write_text(head + cells)


def write(path: Path, head: str, *columns: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (",".join(map(str, row)) for row in zip(*columns, strict=True))
    path.write_bytes(gzip.compress("\n".join([head, *lines, ""]).encode()))
