"""Cells of the printed tables, and ours beside them.

A cell is a mean over runs, in percent: of the absolute error of delta, or, in the table of
coverage, of whether the 95 % interval contains the truth. Its standard error is from the same runs.
The printed cell is a mean over 100 other runs (coverage: 1,000) of about the same spread, and
rounded; the two are equal within Monte Carlo error where they differ by at most two standard errors
of the difference plus the rounding. In the table of coverage both spreads are those of a share.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import wilcoxon

from lightfair.core.data.logit import Floats

from .experiment import METRICS, Configuration
from .methods import LABELS_ONLY, PRINTED
from .scores import cases

ALPHA = 0.05  # of intervals, and of the test


class Table(NamedTuple):
    """A printed table: its file; `metric` of the results; whether `trust` is set beside it."""

    title: str
    file: str
    metric: str = "accuracy"
    runs: int = 100
    rounding: float = 0.05
    trust: bool = False
    folder: str = "paper_scores"

    @property
    def share(self) -> bool:
        """Whether cells are shares of runs, not mean errors."""
        return self.file == "coverage.csv"


TABLES = {
    "accuracy": Table("Accuracy", "accuracy_mae.csv", trust=True),
    "tpr": Table("True positive rate", "tpr_mae.csv", "tpr", trust=True),
    "fpr": Table("False positive rate", "fpr_mae.csv", "fpr", trust=True),
    "coverage": Table("Coverage of 95 % intervals", "coverage.csv", runs=1000),
    "ablation": Table("Ablation: without the hierarchy (NHBC)", "ablation_accuracy_mae.csv"),
    "sensitivity": Table(
        "Sensitivity to the prior (alpha)", "sensitivity_accuracy_mae.csv", rounding=0.005
    ),
    "llo": Table("LLO, another curve", "llo_accuracy_mae.csv"),
    "replica": Table("Accuracy on the replica", "accuracy_mae.csv", folder="scores"),
}


class Printed(NamedTuple):
    """A printed cell; value is NaN where the paper prints nothing."""

    dataset: str
    attribute: str
    n_labeled: int
    model: str
    method: str
    alpha: float
    value: float


class Cell(NamedTuple):
    """Our value of a printed cell, in percent; NaN where a run has no estimate.

    runs, and how many of them have an estimate; value and its standard error; verdict: lower,
    equal, higher, or empty where there is nothing to compare; best: whether errors are smaller than
    those of every other printed column, at 5 % by Wilcoxon's signed-rank test; score_expected and
    score_sample: mean interval score (Gneiting and Raftery 2007) of the two targets.
    """

    dataset: str
    attribute: str
    n_labeled: int
    model: str
    method: str
    alpha: float
    runs: int
    estimable: int
    value: float
    se: float
    printed: float
    verdict: str
    best: int
    score_expected: float
    score_sample: float


def read_printed(data: Path, name: str) -> list[Printed]:
    """Read a printed table from `paper_tables`, in the folder of the data or beside it."""
    table = TABLES[name]
    column = "coverage95_percent" if table.share else f"mae_{table.metric}_percent"
    near = [folder / "paper_tables" / table.file for folder in (data, data.resolve().parent)]
    path = next((path for path in near if path.exists()), near[0])
    with path.open(newline="") as lines:
        return [
            Printed(
                *(row["dataset"], row["attribute"], int(row["n_labeled"]), row["model"]),
                *(row["method"], float(row.get("alpha") or 1.0), float(row[column] or "nan")),
            )
            for row in csv.DictReader(lines)
        ]


def comparisons(data: Path, name: str) -> list[tuple[Printed, Configuration]]:
    """Each printed cell with each of our methods beside it, of the data sets in the folder."""
    table = TABLES[name]
    case_list = cases(data / table.folder, replica=table.folder == "scores")
    where = {(case.dataset, case.attribute): case for case in case_list}
    return [
        (row, Configuration(where[row[:2]], row.model, row.n_labeled, method, row.alpha))
        for row in read_printed(data, name)
        if row[:2] in where
        for method in (*PRINTED[row.method], *["trust"] * (table.trust and row.method == "bc"))
    ]


def compare(
    table: Table,
    beside: list[tuple[Printed, Configuration]],
    answers: dict[Configuration, Floats],
) -> list[Cell]:
    """Our cells, in printed order.

    answers: float64 (metric, 6, run): truth, estimate, low and high of the two targets. In the
    table of coverage a calibration cell comes twice, the second time for the target "sample".
    """
    values, scores, metric = {}, {}, METRICS.index(table.metric)
    for row, cell in beside:
        truth, estimate, low, high, sample_low, sample_high = answers[cell][metric]
        scores[row, cell.method] = (
            interval_score(low, high, truth).mean(),
            interval_score(sample_low, sample_high, truth).mean(),
        )
        if not table.share:
            values[row, cell.method] = 100.0 * np.abs(estimate - truth)
            continue
        values[row, cell.method] = _contained(low, high, truth)
        if cell.method == "calibration":
            values[row, "calibration sample"] = _contained(sample_low, sample_high, truth)
    columns = [key for key in values if key[1] == PRINTED[key[0].method][0]]
    cells = []
    for key, ours in values.items():
        row, method = key
        others = [
            values[other, name]
            for other, name in (columns if key in columns and not table.share else ())
            if other[:4] == row[:4] and name != method
            if other.alpha == row.alpha or name in LABELS_ONLY
        ]
        estimable = np.count_nonzero(~np.isnan(ours))
        value, se = float(ours.mean()), float(ours.std(ddof=1) / np.sqrt(len(ours)))
        best = estimable == len(ours) and others and all(_smaller(ours, one) for one in others)
        verdict = _verdict(value, se, len(ours), row.value, table)
        cells.append(
            Cell(
                *(row.dataset, row.attribute, row.n_labeled, row.model, method, row.alpha),
                *(len(ours), estimable, value, se, row.value, verdict, int(bool(best))),
                *scores.get(key, (np.nan, np.nan)),
            )
        )
    return cells


def interval_score(low: Floats, high: Floats, truth: Floats) -> Floats:
    """Width plus 2 / ALPHA times the distance by which the truth is missed, in percent."""
    missed = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
    return 100.0 * (high - low + 2.0 / ALPHA * missed)


def _contained(low: Floats, high: Floats, truth: Floats) -> Floats:
    """100 where the interval contains the truth, else 0; an end may be off by rounding."""
    inside = (low - 1e-6 <= truth) & (truth <= high + 1e-6)
    return np.where(np.isnan(low), np.nan, 100.0 * inside)


def _verdict(value: float, se: float, runs: int, printed: float, table: Table) -> str:
    if np.isnan(value - printed):
        return ""
    printed_se = se * np.sqrt(runs / table.runs)
    if table.share:
        se, printed_se = _share_se(value, runs), _share_se(printed, table.runs)
    if abs(value - printed) <= 2.0 * np.hypot(se, printed_se) + table.rounding:
        return "equal"
    return "lower" if value < printed else "higher"


def _share_se(percent: float, runs: int) -> float:
    """Standard error of a share, in percent; a share of 0 or 1 is taken to be half a run off."""
    share = np.clip(percent / 100.0, 0.5 / runs, 1.0 - 0.5 / runs)
    return float(100.0 * np.sqrt(share * (1.0 - share) / runs))


def _smaller(ours: Floats, other: Floats) -> bool:
    """Whether ours are smaller in the runs in which both have a value."""
    gap = (ours - other)[~np.isnan(ours - other)]
    return bool(np.any(gap) and wilcoxon(gap, alternative="less").pvalue < ALPHA)


def to_csv(cells: Iterable[Cell]) -> str:
    """Cells as CSV, numbers with four digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(Cell._fields)
    for cell in cells:
        writer.writerow(f"{v:.4g}".replace("nan", "") if isinstance(v, float) else v for v in cell)
    return out.getvalue()
