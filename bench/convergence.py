"""How many default runs meet the check of convergence, at every size.

    python bench/convergence.py [--seeds N] [--part NAME ...] [--labels N ...]
                                [--scores NAME ...] [--groups N ...] [--out FILE]

Six kinds of simulated scores, from 10 labels to a million:

    calibrated   uniform in 0.2 to 0.8, the chance of a positive label
    beta         beta(0.5, 0.5)
    forest       shares of 20 trees
    bayes        nine in ten beyond 0.01 or 0.99, overconfident, as of naive Bayes
    eleven       11 distinct scores
    narrow       within 0.49 to 0.51, and steeply related to the label

in four parts: `two` groups with trust, `plain` (two groups, the paper's model without trust),
`many` (6, 20 and 50 groups) and `nested` (3 x 2 groups with effects). A run meets the check where
every reported number has R-hat of at most 1.01 and bulk and tail ESS of at least 400. The table has
the shares of runs that do at the default draws, and with at most twice as many; those whose
parameters do, too, which are not reported; and the median CPU seconds of reading the rows and of
the rest (posterior and metrics), without compiling. `--out` adds to a file the sums over scores,
and the cells that fall short.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# this folder goes: numba imports whatever is called coverage, and would find coverage.py
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != HERE]

import lightfair as lf  # noqa: E402

LABELS = (10, 30, 100, 300, 1000, 3000, 10_000, 100_000, 1_000_000)
ROWS = 20_000
SOME = (30, 300, 3000, 100_000)  # labels of the parts with many groups
PARTS: dict[str, list[dict[str, Any]]] = {
    "two": [{"groups": 2}],
    "plain": [{"groups": 2, "trust": False}],
    "many": [{"groups": 6}, {"groups": 20}, {"groups": 50}],
    "nested": [{"groups": 6, "hierarchical": "nested"}],
}
SCORES = ("calibrated", "beta", "forest", "bayes", "eleven", "narrow")


def simulated(kind: str, groups: int, labels: int, seed: int) -> dict[str, Any]:
    """Rows of one kind of scores, whose groups differ a little."""
    rng = np.random.default_rng([seed, SCORES.index(kind), groups, labels])
    rows = max(ROWS, 2 * labels)
    group = rng.integers(groups, size=rows)
    if kind == "calibrated":
        score = rng.uniform(0.2, 0.8, rows)
    elif kind == "beta":
        score = rng.beta(0.5, 0.5, rows)
    elif kind == "forest":
        score = rng.binomial(20, rng.beta(0.7, 0.7, rows)) / 20
    elif kind == "bayes":
        extreme = 1e-3 * rng.random(rows)
        score = np.where(rng.random(rows) < 0.5, extreme, 1.0 - extreme)
        score = np.where(rng.random(rows) < 0.1, rng.random(rows), score)
    elif kind == "eleven":
        score = rng.integers(0, 11, rows) / 10
    else:
        score = rng.uniform(0.49, 0.51, rows)
    rate = {"bayes": 0.15 + 0.7 * score, "narrow": np.clip(0.5 + 40.0 * (score - 0.5), 0.02, 0.98)}
    shifted = np.clip(rate.get(kind, score), 0.02, 0.98)
    shifted = 1.0 / (1.0 + np.exp(-np.log(shifted / (1.0 - shifted)) - 0.3 * (group % 3)))
    label = (rng.random(rows) < shifted).astype(float)
    label[labels:] = np.nan
    columns = {"first": group // 2, "second": group % 2} if groups == 6 else {"group": group}
    return {"y_true": label, "y_score": score, "sensitive_features": columns}


class Cell(NamedTuple):
    """Runs of one case: whether met at once, with twice the draws, parameters, too; R-hat, CPU."""

    part: str
    kind: str
    groups: int
    labels: int
    runs: list[tuple[Any, ...]]


def line(cell: Cell) -> str:
    """Return a row of the table."""
    runs = np.array(cell.runs, dtype=float)
    met = " | ".join(f"{count:.0f}" for count in runs[:, :3].sum(axis=0))
    rows, rest = np.median(runs[:, 4:], axis=0)
    return (
        f"| {cell.part} | {cell.kind} | {cell.groups} | {cell.labels:,} | {len(runs)} | {met} | "
        f"{runs[:, 3].max():.4f} | {rows:.2f} | {rest:.2f} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--scores", nargs="+", choices=SCORES, default=list(SCORES))
    parser.add_argument("--labels", type=int, nargs="+")
    parser.add_argument("--groups", type=int, nargs="+", help="only parts with so many groups")
    parser.add_argument("--out", type=Path, help="file to which the table is added")
    arguments = parser.parse_args()
    os.environ.setdefault("LIGHTFAIR_JIT", "1")
    head = "| part | scores | groups | labels | runs | at the default draws | with twice as many "
    head += "| parameters, too | largest R-hat | CPU s, rows | CPU s, rest |\n" + "|---" * 11 + "|"
    lf.assess(**simulated("beta", 2, 30, 0), rng=0)  # compiles
    print(head)
    cells = []
    for part in arguments.part:
        for case in PARTS[part]:
            if arguments.groups and case["groups"] not in arguments.groups:
                continue
            options = {name: value for name, value in case.items() if name != "groups"}
            for kind in arguments.scores:
                for labels in arguments.labels or (LABELS if case["groups"] == 2 else SOME):
                    cell = Cell(part, kind, case["groups"], labels, [])
                    for seed in range(arguments.seeds):
                        rows = simulated(kind, case["groups"], labels, seed)
                        began = time.process_time()
                        table = lf.score_table(lf.score_data(**rows))
                        read = time.process_time()
                        result = lf.assess(table, rng=seed, **options)
                        seconds = read - began, time.process_time() - read
                        drawn = result.posterior.phi.shape[1] / result.settings.draws
                        gate = result.gate
                        at_once = gate.ok and drawn == 1.0
                        parameters = at_once and gate.parameters is None
                        met = at_once, gate.ok and drawn <= 2.0, parameters
                        cell.runs.append((*met, gate.rhat_max or 0.0, *seconds))
                    cells.append(cell)
                    print(line(cell), flush=True)
    lines = [head]
    for part, groups in dict.fromkeys((cell.part, cell.groups) for cell in cells):
        of_part = [cell for cell in cells if (cell.part, cell.groups) == (part, groups)]
        for labels in dict.fromkeys(cell.labels for cell in of_part):
            runs = [run for cell in of_part if cell.labels == labels for run in cell.runs]
            lines.append(line(Cell(part, "all", groups, labels, runs)))
    lines += [f"\nCells where a run did not meet it at the default draws:\n\n{head}"]
    lines += [line(cell) for cell in cells if not all(run[0] for run in cell.runs)]
    every = np.array([run for cell in cells for run in cell.runs])
    shares = [f"{share:.1%}" for share in every[:, :3].mean(axis=0)]
    lines.append(
        f"\n{len(every)} runs: {shares[0]} met the check at the default draws, {shares[1]} with at "
        f"most twice as many; parameters, too, in {shares[2]}."
    )
    print("\n".join(lines))
    if arguments.out is not None:
        options = " ".join(sys.argv[1:]).partition(" --out")[0]
        log = ["git", "-C", HERE, "log", "-1", "--format=%h"]
        commit = subprocess.run(log, capture_output=True, text=True, check=True).stdout.strip()
        head = "" if arguments.out.exists() else f"# Convergence\n\n{__doc__}"
        with arguments.out.open("a") as file:
            file.write(
                f"{head}\n## `python bench/convergence.py {options}`\n\nCommit {commit}, "
                f"{time.strftime('%Y-%m-%d')}, {arguments.seeds} seeds; no other case.\n\n"
                + "\n".join(lines)
                + "\n"
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
