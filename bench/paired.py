"""Coverage of paired intervals, and what pairing saves in width.

    python bench/paired.py --data FOLDER [--runs N] [--output FILE]

FOLDER holds score files DATASET_MODEL.csv.gz, whose rows are the same for all models of a data set.
In each run all labels but n random ones are hidden; two models are compared, with pairing
(`compare_models`) and without (an assessment of each, whose draws are subtracted at random); the
truth is that of all labels. Simulated rows are new in each run, real ones are the same. The cells:

    alike        simulated: two noisy views of one log odds, of correlation 0.95
    different    simulated: each model sees one of two independent features
    noise        simulated: the scores of B are noise
    others       real scores of two kinds of model

The table has, for the difference of the models in delta (the group with fewer rows minus the other)
and in theta (of the group with fewer rows): the coverage of the 95 % intervals, the mean width of
the paired ones, and the ratio of that width to the unpaired one.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:] = [str(HERE.parent), *(p for p in sys.path if Path(p).resolve() != HERE)]

import lightfair as lf  # noqa: E402
from lightfair.core.data.logit import sigmoid  # noqa: E402
from lightfair.core.metrics.definitions import theta  # noqa: E402

METRICS = ("accuracy", "tpr", "fpr")
LABELED = (30, 100, 500)
ROWS = 2000
REAL = {  # data set, attribute, models
    "compas_r lr, mlp": ("compas_r", "sex", "lr", "mlp"),
    "compas_r lr, rf": ("compas_r", "sex", "lr", "rf"),
    "adult lr, mlp": ("adult", "sex", "lr", "mlp"),
    "adult mlp, rf": ("adult", "sex", "mlp", "rf"),
    "adult lr, gnb": ("adult", "sex", "lr", "gnb"),
}
SIMULATED = ("alike", "different", "noise")


class Rows(NamedTuple):
    """Labels of all rows, 0 or 1; group, 0 (most rows) or 1; scores of both models."""

    label: Any
    group: Any
    scores: dict[str, Any]


def simulated(kind: str, rng: np.random.Generator) -> Rows:
    """Simulate rows whose labels depend on log odds that each model observes in part."""
    group = (rng.random(ROWS) < 0.35).astype(int)
    one, two, noise = rng.standard_normal((3, ROWS))
    odds = 1.3 * (one + two) + np.where(group == 1, -0.6, 0.2)
    label = (rng.random(ROWS) < sigmoid(odds)).astype(int)
    own = {
        "alike": (0.8 * odds + 0.4 * one, 0.8 * odds + 0.4 * noise),
        "different": (1.3 * one + 0.3 * group, 1.3 * two - 0.3 * group),
        "noise": (0.8 * odds + 0.4 * one, 1.3 * noise),
    }[kind]
    return Rows(label, group, {"A": sigmoid(own[0]), "B": sigmoid(own[1])})


def real(folder: Path, dataset: str, attribute: str, *models: str) -> Rows:
    """Read the scores of two models of the same rows."""
    columns: list[dict[str, list[str]]] = []
    for model in models:
        with gzip.open(folder / f"{dataset}_{model}.csv.gz", "rt", newline="") as lines:
            rows = list(csv.DictReader(lines))
        columns.append({name: [row[name] for row in rows] for name in rows[0]})
    if any(columns[0][name] != columns[1][name] for name in ("label", attribute)):
        raise ValueError(f"the rows of {dataset} differ between {' and '.join(models)}")
    names, group = np.unique(columns[0][attribute], return_inverse=True)
    rank = np.argsort(np.argsort(-np.bincount(group)))
    scores = {n: np.array(c["score"], dtype=float) for n, c in zip("AB", columns, strict=True)}
    return Rows(np.array(columns[0]["label"], dtype=int), rank[group], scores)


def truths(rows: Rows) -> Any:
    """Theta of both models from all labels: (model, metric, group)."""
    values = np.empty((2, len(METRICS), 2))
    for place, score in enumerate(rows.scores.values()):
        for group in (0, 1):
            inside = rows.group == group
            code = 2 * (score[inside] >= 0.5) + rows.label[inside]
            counts = np.bincount(code, minlength=4).reshape(2, 2)
            values[place, :, group] = [theta(name, counts) for name in METRICS]
    return values


class Answer(NamedTuple):
    """Draws of theta_A - theta_B, (metric, group, draw), and CPU seconds."""

    delta: Any
    seconds: float


def paired(rows: Rows, shown: Any, seed: int, options: dict[str, Any]) -> Answer:
    began = time.process_time()
    comparison = lf.compare_models(
        rows.scores, shown, sensitive_features=rows.group, metrics=METRICS, rng=seed, **options
    )
    one, two = (np.stack([comparison.theta[m][name] for name in METRICS]) for m in "AB")
    delta = np.moveaxis((one - two).reshape(len(METRICS), -1, 2), 1, 2)
    return Answer(delta, time.process_time() - began)


def unpaired(rows: Rows, shown: Any, seed: int, options: dict[str, Any]) -> Answer:
    began = time.process_time()
    values = []
    for place, score in enumerate(rows.scores.values()):
        result = lf.assess(
            shown,
            score,
            sensitive_features=rows.group,
            metrics=METRICS,
            rng=1000 * place + seed,
            **options,
        )
        flat = np.stack([result.theta[name].reshape(-1, 2) for name in METRICS])
        values.append(np.moveaxis(flat, 1, 2))
    size = min(value.shape[-1] for value in values)
    return Answer(values[0][..., :size] - values[1][..., :size], time.process_time() - began)


def measured(delta: Any, truth: Any) -> Any:
    """Compare intervals with the truth: (quantity, metric, 2), covered and width.

    Quantities: the difference of the models in delta, and in theta of the group with fewer rows.
    """
    draws = np.stack([delta[:, 1] - delta[:, 0], delta[:, 1]])
    real_value = np.stack([truth[:, 1] - truth[:, 0], truth[:, 1]])
    low, high = np.nanquantile(draws, [0.025, 0.975], axis=-1)
    # counts are whole: a bound equal to the truth up to rounding covers it
    covered = (low <= real_value + 1e-12) & (real_value <= high + 1e-12)
    return np.stack([covered, high - low], axis=-1)


def cell(
    make: Callable[[np.random.Generator], Rows], labeled: int, runs: int, options: dict[str, Any]
) -> Any:
    """Run one cell: (method, quantity, metric, 2), means over runs; and CPU seconds of a run."""
    sums: Any = 0.0
    seconds = np.zeros(2)
    for run in range(runs):
        rng = np.random.default_rng([run, labeled])
        rows = make(rng)
        both = truths(rows)
        shown = np.full(len(rows.label), np.nan)
        chosen = rng.permutation(len(rows.label))[:labeled]
        shown[chosen] = rows.label[chosen]
        answers = [method(rows, shown, run, options) for method in (paired, unpaired)]
        sums = sums + np.stack([measured(a.delta, both[0] - both[1]) for a in answers])
        seconds += [a.seconds for a in answers]
    return sums / runs, seconds / runs


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--data", type=Path, help="folder of score files; none: simulated only")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--draws", type=int, default=100, help="of each chain")
    parser.add_argument("--chains", type=int, default=8)
    parser.add_argument("--labeled", nargs="*", type=int, default=LABELED)
    parser.add_argument("--cells", nargs="*", help="names; default: all")
    parser.add_argument("--output", type=Path, default=HERE / "PAIRED.md")
    options = parser.parse_args(arguments)
    makers: dict[str, Callable[[np.random.Generator], Rows]] = {
        kind: (lambda rng, kind=kind: simulated(kind, rng)) for kind in SIMULATED
    }
    if options.data is not None:
        for name, parts in REAL.items():
            rows = real(options.data, *parts)
            makers[name] = lambda rng, rows=rows: rows
    lines = [
        "# Two models on the same rows",
        "",
        f"`python bench/paired.py`, {options.runs} runs a cell, {options.chains} chains of "
        f"{options.draws} draws. Of 95 % intervals:",
        "coverage of accuracy / TPR / FPR; mean width of the paired ones, and its ratio to the "
        "width of unpaired ones. The Monte",
        f"Carlo error of a coverage of 95 % is {100 * np.sqrt(0.95 * 0.05 / options.runs):.0f} "
        "points.",
        "",
        "| models | labels | delta A - delta B: paired covers | unpaired covers | width | ratio | "
        "theta A - theta B: paired covers | unpaired covers | width | ratio | CPU s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for labeled in options.labeled:
        for name, make in makers.items():
            if options.cells and name not in options.cells:
                continue
            measures, seconds = cell(
                make, labeled, options.runs, {"chains": options.chains, "draws": options.draws}
            )
            columns = [name, str(labeled)]
            for quantity in (0, 1):
                measured = measures[:, quantity]
                columns += [" / ".join(f"{100 * v:.0f}" for v in row[:, 0]) for row in measured]
                columns.append(" / ".join(f"{v:.3f}" for v in measured[0, :, 1]))
                ratio = measured[0, :, 1] / measured[1, :, 1]
                columns.append(" / ".join(f"{v:.2f}" for v in ratio))
            columns.append(f"{seconds[0]:.1f} and {seconds[1]:.1f}")
            lines.append("| " + " | ".join(columns) + " |")
            print(lines[-1], flush=True)
            options.output.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
