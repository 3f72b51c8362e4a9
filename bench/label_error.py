"""Wrong labels: how often 95 % intervals contain the truth, with and without `label_error`.

    python bench/label_error.py [--runs 40] [--intervals 12] [--out FOLDER]

A run simulates 2,000 rows of two groups (`lightfair.simulate`), hides all but some labels, and
flips the others at a false positive and a false negative rate. It is assessed with labels as they
are, with the rates, and, in fewer runs, with an interval around each rate. The truth is that of
these rows without flips. Covered: of accuracy, tpr and fpr, of both groups and of B minus A; width:
mean of all three metrics. Writes LABEL_ERROR.md.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
# without this folder: numba imports any module named coverage, and would find coverage.py
sys.path[:] = [str(HERE.parent), *(p for p in sys.path if Path(p or ".").resolve() != HERE)]

import lightfair as lf  # noqa: E402

METRICS = ["accuracy", "tpr", "fpr"]
CELLS = {  # rates, and intervals around them
    (0.0, 0.0): None,
    (0.02, 0.05): ("0:0.05", "0:0.1"),
    (0.1, 0.1): ("0.05:0.15", "0.05:0.15"),
}
COLUMNS = "labels, flipped, label_error, accuracy, tpr, fpr, accuracy B - A, tpr B - A, fpr B - A"
COLUMNS += ", width, width B - A, converged, runs, CPU s a run"


def measure(labels: int, rates: tuple[float, float], error, seed: int) -> list:
    """Covered and width, (metric, A, B and B - A); whether the chains converged; CPU seconds."""
    rng = np.random.default_rng([seed, labels])
    rows = lf.simulate(rows=2000, labeled=labels, rng=rng)
    rate = np.where(rows.y_true == 1, rates[1], rates[0])
    label = np.where(rng.random(len(rate)) < rate, 1 - rows.y_true, rows.y_true)
    begin = time.process_time()
    given = {"sensitive_features": rows.group, "metrics": METRICS}
    result = lf.assess(label, rows.y_score, label_error=error, draws=200, rng=seed, **given)
    spent = time.process_time() - begin
    full = lf.assess(rows.y_all, rows.y_score, **given)
    inside, width = np.zeros((2, 3, 3))
    for at, name in enumerate(METRICS):
        pair = (("metric", "A"), ("metric", "B"), ("difference", "B"))
        for place, (method, group) in enumerate(pair):
            low, high = getattr(result, method)(name, group).interval(0.95)
            truth = getattr(full, method)(name, group).mean
            inside[at, place], width[at, place] = low <= truth <= high, high - low
    return [inside, width, result.gate.ok, spent]


def line(labels: int, rates: tuple[float, float], error, runs: int) -> str:
    """Measure a line of the table."""
    found = [measure(labels, rates, error, seed) for seed in range(runs)]
    inside, width, converged, spent = (
        np.mean(column, axis=0) for column in zip(*found, strict=True)
    )
    shown = "none" if error is None else "{}; {}".format(*error).replace(":", " to ")
    cells = [str(labels), "{:g}; {:g}".format(*rates), shown]
    cells += [f"{share:.0%}" for share in (*inside[:, :2].mean(axis=1), *inside[:, 2])]
    cells += [f"{width[:, :2].mean():.3f}", f"{width[:, 2].mean():.3f}"]
    return "| " + " | ".join([*cells, f"{converged:.0%}", str(runs), f"{spent:.1f}"]) + " |"


def main(runs: int, intervals: int, out: Path) -> None:
    warnings.simplefilter("ignore", lf.FairnessWarning)
    begin, lines = time.process_time(), []
    for labels in (100, 300):
        for rates, ends in CELLS.items():
            ways = [(None, runs), *([(rates, runs), (ends, intervals)] if ends else [])]
            for error, number in ways:
                lines.append(line(labels, rates, error, number))
                print(lines[-1], flush=True)
    columns = COLUMNS.split(", ")
    command = f"python bench/label_error.py --runs {runs} --intervals {intervals}"
    spent = f"{time.process_time() - begin:,.0f} s of CPU"
    head = [
        "# Wrong labels",
        "",
        f"Written by `{command}`: {spent}.",
        "`bench/label_error.py` describes the simulation. Near 95 %, a share of 40 runs has a",
        "standard error of 3 points, one of 12 runs of 6.",
        "",
        "| " + " | ".join(columns) + " |",
        "|---" * len(columns) + "|",
    ]
    (out / "LABEL_ERROR.md").write_text("\n".join([*head, *lines, ""]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--intervals", type=int, default=12)
    parser.add_argument("--out", type=Path, default=HERE)
    main(**vars(parser.parse_args()))
