"""Cells of the printed tables, and ours beside them.

A cell is a mean over runs, in percent: of the absolute error of delta, or, in the table of
coverage, of whether the 95 % interval contains the truth. Its standard error is from the same runs.
The printed cell is a mean over 100 other runs (coverage: 1,000) of about the same spread, and
rounded; the two are equal within Monte Carlo error where they differ by at most two standard errors
of the difference plus the rounding. In the table of coverage both spreads are those of a share.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from lightfair.core.data.logit import Floats

from ..intervals import interval_score
from .experiment import METRICS, Configuration
from .methods import LABELS_ONLY, PRINTED
from .scores import cases

KEY = ["dataset", "attribute", "n_labeled", "model"]
ALPHA = 0.05  # of the test


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


def comparisons(data: Path, table: Table) -> list[tuple[Configuration, float, bool]]:
    """Each of our methods beside a printed cell of a data set in the folder.

    With the printed number, NaN where there is none, and whether the method is the column's.
    """
    near = [folder / "paper_tables" / table.file for folder in (data, data.resolve().parent)]
    printed = pd.read_csv(next((path for path in near if path.exists()), near[0]))
    column = "coverage95_percent" if table.share else f"mae_{table.metric}_percent"
    case_list = cases(data / table.folder, replica=table.folder == "scores")
    where = {(case.dataset, case.attribute): case for case in case_list}
    beside = []
    for row in printed.assign(alpha=printed.get("alpha", 1.0)).fillna({"alpha": 1.0}).itertuples():
        case = where.get((row.dataset, row.attribute))
        trust = ["trust"] if table.trust and row.method == "bc" else []
        for at, method in enumerate([*PRINTED[row.method], *trust] if case else []):
            cell = Configuration(case, row.model, row.n_labeled, method, row.alpha)
            beside.append((cell, getattr(row, column), at == 0))
    return beside


def compare(
    table: Table,
    beside: list[tuple[Configuration, float, bool]],
    answers: dict[Configuration, Floats],
    runs: int,
) -> pd.DataFrame:
    """Return our cells of the first runs, one a row.

    answers: float64 (metric, 6, run): truth, estimate, low and high of the two targets.

    Columns: value, its standard error and the printed value, in percent, NaN where a run has no
    estimate; verdict: lower, equal, higher, or empty where there is nothing to compare; best:
    whether errors are smaller than those of every other printed column, at 5 % by Wilcoxon's
    signed-rank test; score_expected, score_sample: mean interval scores (Gneiting and Raftery 2007)
    of the two targets, in percent; labels: verdict of the labels-only column beside the cell. In
    the table of coverage a calibration cell comes twice, the second time for the target "sample".
    """
    values, scores = {}, {}
    for cell, _, _ in beside:
        truth, estimate, *ends = answers[cell][METRICS.index(table.metric), :, :runs]
        targets = {cell.method: ends[:2], f"{cell.method} sample": ends[2:]}
        scores[cell] = [100.0 * interval_score(*pair, truth).mean() for pair in targets.values()]
        values[cell] = {cell.method: 100.0 * np.abs(estimate - truth)}
        if table.share:
            values[cell] = {
                name: 100.0 * ((low - 1e-6 <= truth) & (truth <= high + 1e-6))
                for name, (low, high) in targets.items()
                if not np.isnan(low).any()
            }
    rows = []
    for cell, printed, column in beside:
        others = [
            values[other][other.method]
            for other, _, theirs in beside
            if column and theirs and not table.share and other.method != cell.method
            if (other.case, other.n_labeled, other.model) == (cell.case, cell.n_labeled, cell.model)
            if other.alpha == cell.alpha or other.method in LABELS_ONLY
        ]
        for method, ours in values[cell].items():
            rows.append(
                {
                    **dict(zip(KEY, (*cell.case[:2], cell.n_labeled, cell.model), strict=True)),
                    **{"method": method, "alpha": cell.alpha, "runs": len(ours)},
                    "value": ours.mean(),
                    "se": ours.std(ddof=1) / np.sqrt(len(ours)),
                    "printed": printed,
                    "best": bool(others) and all(smaller(ours, other) for other in others),
                    **dict(zip(("score_expected", "score_sample"), scores[cell], strict=True)),
                }
            )
    found = pd.DataFrame(rows)
    found.insert(10, "verdict", verdict(found, table))
    known = found[found.method.isin(["frequency", "beta_binomial_half"]) & (found.verdict != "")]
    return found.join(known.groupby(KEY).verdict.first().rename("labels"), on=KEY)


def smaller(ours: Floats, other: Floats) -> bool:
    """Whether errors are smaller, in the runs in which both methods have an estimate."""
    gap = (ours - other)[~np.isnan(ours - other)]
    all_known = not np.isnan(ours).any()
    return bool(all_known and np.any(gap) and wilcoxon(gap, alternative="less").pvalue < ALPHA)


def verdict(cells: pd.DataFrame, table: Table) -> np.ndarray:
    """Whether cells are lower than, equal to or higher than the printed ones; else empty."""
    ours, printed = cells.se, cells.se * np.sqrt(cells.runs / table.runs)
    if table.share:
        ours, printed = share_se(cells.value, cells.runs), share_se(cells.printed, table.runs)
    gap = cells.value - cells.printed
    equal = np.abs(gap) <= 2.0 * np.hypot(ours, printed) + table.rounding
    return np.select([gap.isna(), equal, gap < 0.0], ["", "equal", "lower"], "higher")


def share_se(percent: pd.Series, runs: pd.Series | int) -> pd.Series:
    """Standard error of a share, in percent; a share of 0 or 1 is taken to be half a run off."""
    share = (percent / 100.0).clip(0.5 / runs, 1.0 - 0.5 / runs)
    return 100.0 * np.sqrt(share * (1.0 - share) / runs)
