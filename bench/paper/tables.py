"""The tables: which cells are printed, what ours are, and how the two compare.

A cell is a mean over runs: of the absolute error of delta, in percent, or of whether the 95 %
interval covers the truth, in percent. Its standard error comes from the same runs. The printed
cell is a mean over 100 other runs (coverage: 1000) of about the same spread, and rounded; ours and
the printed one are equal within Monte Carlo error where they differ by less than two standard
errors of the difference plus the rounding. For coverage both spreads are those of a share.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import wilcoxon

from bench.paper.methods import LABELS_ONLY, PRINTED


class Table(NamedTuple):
    """metric: of the results; value: column of the printed file; runs: of the paper."""

    file: str
    metric: str
    value: str
    runs: int = 100
    rounding: float = 0.05

    @property
    def metric_is_share(self) -> bool:
        """Whether cells are shares of runs, as in the coverage table, not mean errors."""
        return self.value.startswith("coverage")


TABLES = {
    "accuracy": Table("accuracy_mae.csv", "accuracy", "mae_accuracy_percent"),
    "tpr": Table("tpr_mae.csv", "tpr", "mae_tpr_percent"),
    "fpr": Table("fpr_mae.csv", "fpr", "mae_fpr_percent"),
    "coverage": Table("coverage.csv", "accuracy", "coverage95_percent", runs=1000),
    "ablation": Table("ablation_accuracy_mae.csv", "accuracy", "mae_accuracy_percent"),
    "sensitivity": Table(
        "sensitivity_accuracy_mae.csv", "accuracy", "mae_accuracy_percent", rounding=0.005
    ),
    "llo": Table("llo_accuracy_mae.csv", "accuracy", "mae_accuracy_percent"),
}


class Printed(NamedTuple):
    """A printed cell; value is None where the paper prints nothing."""

    dataset: str
    attribute: str
    n_labeled: int
    model: str
    method: str
    alpha: float
    value: float | None


class Cell(NamedTuple):
    """Our value of a printed cell.

    value, se: percent, over `runs` runs, of which `estimable` have an estimate; printed: percent
    or None; verdict: lower, equal, higher, or empty where there is nothing to compare; best:
    whether the absolute errors are smaller than those of every other method of the row, at 5 % by
    Wilcoxon's signed-rank test.
    """

    dataset: str
    attribute: str
    n_labeled: int
    model: str
    method: str
    alpha: float
    runs: int
    estimable: int
    value: float | None
    se: float | None
    printed: float | None
    verdict: str
    best: bool


def read_printed(folder: Path, name: str) -> list[Printed]:
    """Read a printed table."""
    table = TABLES[name]
    path = folder / table.file
    if not path.exists():
        raise FileNotFoundError(f"no {table.file} in {folder}; pass another --paper")
    with path.open(newline="") as lines:
        return [
            Printed(
                row["dataset"],
                row["attribute"],
                int(row["n_labeled"]),
                row["model"],
                row["method"],
                float(row.get("alpha") or 1.0),
                float(row[table.value]) if row[table.value] else None,
            )
            for row in csv.DictReader(lines)
        ]


def needed(rows: list[Printed]) -> Iterable[tuple[str, str, str, int, str, float]]:
    """Yield dataset, attribute, model, n_labeled, method, alpha that a table needs, once each."""
    seen = {
        (row.dataset, row.attribute, row.model, row.n_labeled, method, row.alpha): None
        for row in rows
        for method in PRINTED[row.method]
    }
    yield from seen


def summarise(
    results: Path,
    table: Table,
    printed: list[Printed],
    *,
    source: str,
    seed: int,
    turn: bool,
    runs: int,
) -> list[Cell]:
    """Make a cell for every printed one and each of our methods beside it, in printed order.

    Coverage has each calibration cell twice: `calibration` with the intervals of the target
    "expected", the paper's, and `calibration sample` with those of the target "sample".
    """
    printed_cells = {(r.dataset, r.attribute, str(r.n_labeled), r.model) for r in printed}
    values = _read(results, table, printed_cells, source, seed, turn, runs)
    compared: dict[tuple, set[str]] = {}
    for row in printed:
        compared.setdefault(row[:4], set()).add(PRINTED[row.method][0])
    cells = []
    for row in printed:
        for method in PRINTED[row.method]:
            variants = [method]
            if table.metric_is_share and method not in LABELS_ONLY:
                variants.append(f"{method} sample")
            for variant in variants:
                ours = values.get((*row[:4], variant, row.alpha))
                if ours is None:
                    continue
                others = [
                    values.get((*row[:4], other, 1.0 if other in LABELS_ONLY else row.alpha))
                    for other in compared[row[:4]] - {method}
                    if method in compared[row[:4]] and not table.metric_is_share
                ]
                cells.append(_cell(row, variant, ours, others, table))
    return cells


def write_summary(folder: Path, name: str, cells: list[Cell]) -> None:
    """Write cells as a small CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.csv").open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(Cell._fields)
        for cell in cells:
            plain = [f"{v:.4g}" if isinstance(v, float) else v for v in cell[:-1]]
            writer.writerow([*("" if v is None else v for v in plain), int(cell.best)])


def read_summary(folder: Path, name: str) -> list[Cell]:
    """Read what `write_summary` wrote; an empty list if there is no file."""
    path = folder / f"{name}.csv"
    if not path.exists():
        return []

    def number(text: str) -> float | None:
        return float(text) if text else None

    with path.open(newline="") as lines:
        return [
            Cell(
                *(row["dataset"], row["attribute"], int(row["n_labeled"]), row["model"]),
                *(row["method"], float(row["alpha"]), int(row["runs"]), int(row["estimable"])),
                *(number(row["value"]), number(row["se"]), number(row["printed"])),
                *(row["verdict"], row["best"] == "1"),
            )
            for row in csv.DictReader(lines)
        ]


def _read(
    results: Path,
    table: Table,
    printed_cells: set[tuple[str, ...]],
    source: str,
    seed: int,
    turn: bool,
    runs: int,
) -> dict[tuple, np.ndarray]:
    """Absolute errors, or whether the truth was covered, in percent, by configuration and run."""
    by_key: dict[tuple, dict[int, float]] = {}
    if not results.exists():
        return {}
    with results.open(newline="") as lines:
        for row in csv.DictReader(lines):
            key = (row["dataset"], row["attribute"], row["n_labeled"], row["model"])
            setting = (row["source"], row["seed"], row["turn"])
            if key not in printed_cells or setting != (source, str(seed), str(int(turn))):
                continue
            number = int(row["run"])
            if number >= runs:
                continue
            whole = (key[0], key[1], int(key[2]), key[3], row["method"], float(row["alpha"]))
            if not table.metric_is_share:
                by_key.setdefault(whole, {})[number] = _error(row, table.metric)
            else:
                by_key.setdefault(whole, {})[number] = _covers(row, table.metric, "")
                if row[f"{table.metric}_sample_low"]:
                    sample = (*whole[:4], f"{row['method']} sample", whole[5])
                    by_key.setdefault(sample, {})[number] = _covers(row, table.metric, "sample_")
    return {
        key: np.array([by_run[number] for number in sorted(by_run)])
        for key, by_run in by_key.items()
    }


def _error(row: dict[str, str], metric: str) -> float:
    estimate = row[f"{metric}_estimate"]
    return 100.0 * abs(float(estimate) - float(row[f"{metric}_truth"])) if estimate else math.nan


def _covers(row: dict[str, str], metric: str, target: str) -> float:
    low, high = (row[f"{metric}_{target}{end}"] for end in ("low", "high"))
    if not low:
        return math.nan
    slack = 1e-6  # numbers are stored with 6 digits
    return 100.0 * (float(low) - slack <= float(row[f"{metric}_truth"]) <= float(high) + slack)


def _cell(
    row: Printed, method: str, ours: np.ndarray, others: list[np.ndarray | None], table: Table
) -> Cell:
    """A cell is empty, as the paper's are, where any run has no estimate."""
    estimable = int(np.count_nonzero(~np.isnan(ours)))
    value = se = None
    verdict, best = "", False
    if estimable == len(ours) > 1:
        value, se = float(ours.mean()), float(ours.std(ddof=1) / math.sqrt(len(ours)))
        known = [other for other in others if other is not None]
        best = bool(known) and all(_smaller(ours, other) for other in known)
        if row.value is not None:
            verdict = _verdict(value, se, len(ours), row.value, table)
    return Cell(
        *(row.dataset, row.attribute, row.n_labeled, row.model, method, row.alpha),
        *(len(ours), estimable, value, se, row.value, verdict, best),
    )


def _verdict(value: float, se: float, runs: int, printed: float, table: Table) -> str:
    printed_se = se * math.sqrt(runs / table.runs)
    if table.metric_is_share:
        se, printed_se = _share_se(value, runs), _share_se(printed, table.runs)
    gap = value - printed
    if abs(gap) <= 2.0 * math.hypot(se, printed_se) + table.rounding:
        return "equal"
    return "lower" if gap < 0.0 else "higher"


def _share_se(percent: float, runs: int) -> float:
    """Standard error of a share, in percent; a share of 0 or 1 is taken to be half a run off."""
    share = min(max(percent / 100.0, 0.5 / runs), 1.0 - 0.5 / runs)
    return 100.0 * math.sqrt(share * (1.0 - share) / runs)


def _smaller(ours: np.ndarray, other: np.ndarray) -> bool:
    runs = min(len(ours), len(other))
    ours, other = ours[:runs], other[:runs]
    both = ~np.isnan(ours) & ~np.isnan(other)
    gap = ours[both] - other[both]
    if not np.any(gap):
        return False
    return bool(wilcoxon(gap, alternative="less").pvalue < 0.05)
