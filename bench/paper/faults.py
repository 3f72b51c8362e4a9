"""Do the printed TPR and FPR contain the slip of the released script?

    python bench/paper/faults.py --data FOLDER

The released program fits log a, log b and c to clipped scores. The released script that turns
them into TPR and FPR uses c in place of log b and does not clip. Here the same draws are
imputed both ways, and the mean absolute errors stand beside the printed ones. German scores are
used as released.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))


from bench.paper.cells import TABLES, comparisons  # noqa: E402
from bench.paper.experiment import Configuration, delta, fit, shown_rows, truth  # noqa: E402
from bench.paper.scores import MODELS, cases, rows  # noqa: E402
from lightfair.core.data.table import score_table  # noqa: E402
from lightfair.core.metrics.definitions import theta  # noqa: E402

CAP = 15.0  # of the log odds, in the released script
THIN = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--n-labeled", type=int, choices=[40, 100, 200], default=100)
    arguments = parser.parse_args()
    os.environ["LIGHTFAIR_JIT"] = "1"
    printed = {
        (name, *cell.case[:2], cell.n_labeled, cell.model): value
        for name in ("tpr", "fpr")
        for cell, value, _ in comparisons(arguments.data, TABLES[name])
        if cell.method == "calibration"
    }
    gaps: dict[str, list[tuple[float, float]]] = {"tpr": [], "fpr": []}
    print("mean absolute error in percent: as fitted, with the slip, printed")
    for case in cases(arguments.data / "paper_scores", replica=False):
        for model in MODELS:
            key = (case.dataset, case.attribute, arguments.n_labeled, model)
            if ("tpr", *key) not in printed:
                continue
            cell = Configuration(case, model, arguments.n_labeled, "calibration", turn=False)
            by_metric = errors(cell, arguments.runs)
            for name, (fitted, slip) in by_metric.items():
                value = printed[(name, *key)]
                gaps[name].append((abs(np.log(fitted / value)), abs(np.log(slip / value))))
                print(" ".join(str(k) for k in key), name, f"{fitted:.1f} {slip:.1f} {value}")
    for name, pairs in gaps.items():
        nearer = sum(slip < fitted for fitted, slip in pairs)
        fitted, slip = np.exp(np.median(np.array(pairs), axis=0))
        print(
            f"{name}: printed is nearer to the slip in {nearer} of {len(pairs)} cells; median "
            f"factor to the printed error {fitted:.2f} as fitted, {slip:.2f} with the slip"
        )
    return 0


def errors(cell: Configuration, runs: int) -> dict[str, tuple[float, float]]:
    """Mean absolute error of TPR and FPR, imputed as fitted and with the slip."""
    data = rows(cell.case, cell.model, cell.turn)
    shown = [shown_rows(cell, data, number) for number in range(runs)]
    tables = []
    for of_run in shown:
        label = np.full(len(data.label), -1, dtype=np.int8)
        label[of_run] = data.label[of_run]
        tables.append(score_table(replace(data, label=label)))
    phi = fit(cell, tables, list(range(runs)), 250)[0][:, :, ::THIN].reshape(
        runs, -1, *(len(data.groups), 3)
    )
    with np.errstate(divide="ignore"):
        logs = [(np.log(s), np.log1p(-s)) for s in (np.clip(data.score, 0.01, 0.99), data.score)]
    by_metric: dict[str, list[list[float]]] = {"tpr": [[], []], "fpr": [[], []]}
    for curves, of_run in zip(phi, shown, strict=True):
        for which, (up, down) in enumerate(logs):
            draws = np.exp(curves[:, data.group])  # (draw, row, 3)
            slope = draws[..., 2] if which else draws[..., 1]
            odds = curves[:, data.group, 2] + draws[..., 0] * up - slope * down
            rate = 0.5 + 0.5 * np.tanh(0.5 * np.minimum(odds, CAP))
            rate[:, of_run] = data.label[of_run]
            counts = np.zeros((len(curves), len(data.groups), 2, 2))
            for group in range(len(data.groups)):
                for predicted in (0, 1):
                    mask = (data.group == group) & (data.predicted == predicted)
                    positive = rate[:, mask].sum(axis=1)
                    counts[:, group, predicted, 1] = positive
                    counts[:, group, predicted, 0] = mask.sum() - positive
            for name, by_form in by_metric.items():
                true, defined = truth(data, name)
                estimate = np.nanmean(delta(theta(name, counts), data, defined))
                by_form[which].append(100.0 * abs(estimate - true))
    return {
        name: (float(np.mean(fitted)), float(np.mean(slip)))
        for name, (fitted, slip) in by_metric.items()
    }


if __name__ == "__main__":
    raise SystemExit(main())
