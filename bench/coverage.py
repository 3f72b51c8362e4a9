"""Coverage of 95 % intervals on real scores

Scores of test rows whose labels are all known (released with the paper, and not used to tune any
method): all labels but n are hidden, delta (privileged group minus the weighted mean of the others)
of accuracy, tpr and fpr is estimated, and compared with delta of all labels. Every method sees the
same labels. A cell is a data set, attribute, model, n and metric. A line of a table has the mean
over cells of means over runs. All but CPU and counts is in percent (points of delta).

The interval score is that of Gneiting and Raftery (2007), alpha = 0.05: the width plus 40 times the
distance to a truth outside; lower is better. Undefined: runs without an interval, such as
prediction-powered ones with fewer than 10 labels in a denominator; they do not count as misses. The
means are over the other runs, few in some cells, so that such a line and its neighbours differ in
cells and runs. CPU is that of a fit and of one target's imputation, in batches of 25 runs. The
target `population` is another estimand, with wider intervals. `trust` is the default of the
library, `calibration` the method of the paper, without a model discrepancy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.special import stdtrit

from lightfair.core.data.logit import Floats
from lightfair.core.data.rows import ScoreData
from lightfair.core.data.table import ScoreTable
from lightfair.core.metrics.imputation import confusion_counts
from lightfair.core.metrics.prediction_powered import prediction_powered as powered_estimate

from .coverage_report import Cell, report, scores
from .evidence import Page, each
from .paper.experiment import (
    BATCH,
    DRAWS,
    METRICS,
    TAIL,
    Configuration,
    central,
    delta,
    fit,
    hidden,
    run,
    run_streams,
    shown_rows,
    truth,
)
from .paper.scores import MODELS, Case, cases, privileged, rows

SMALLEST = {"runs": 2, "labels": (20,)}

Answers = Iterator[tuple[str, float, Floats]]  # target, CPU seconds, (metric, 3, run)
loaded: set[str] = set()  # methods that this process has run


def beta_binomial(
    cell: Configuration, data: ScoreData, tables: list[ScoreTable], runs: list[int]
) -> Answers:
    """Labels-only estimates under Beta(1, 1)."""
    began = time.process_time()
    answers = run(cell._replace(method="beta_binomial_1"), runs)
    seconds = time.process_time() - began
    yield "population", seconds, np.array([answers[name][1:4] for name in METRICS])


def prediction_powered(
    cell: Configuration, data: ScoreData, tables: list[ScoreTable], runs: list[int]
) -> Answers:
    """Prediction-powered estimates, without a model."""
    for target in ("sample", "population"):
        began = time.process_time()
        found = []
        for name in METRICS:
            weight = delta(np.eye(len(data.groups)), data, truth(data, name)[1])
            estimates = [powered_estimate(name, table, target=target) for table in tables]
            found.append([welch(one.mean, one.se, one.df, weight) for one in estimates])
        yield target, time.process_time() - began, np.moveaxis(found, 1, 2)


def welch(mean: Floats, se: Floats, df: Floats, weight: Floats) -> tuple[float, float, float]:
    """Estimate, low and high of a weighted sum of independent estimates, all float64 (group,)."""
    used = weight != 0.0
    parts = (weight[used] * se[used]) ** 2
    total, bottom = parts.sum(), (parts**2 / df[used]).sum()
    freedom = total**2 / bottom if bottom > 0.0 else np.inf
    centre = float(mean[used] @ weight[used])
    reach = float(stdtrit(freedom, 1.0 - TAIL) * np.sqrt(total))
    return centre, centre - reach, centre + reach


def calibrated(
    cell: Configuration, data: ScoreData, tables: list[ScoreTable], runs: list[int]
) -> Answers:
    """Curves fitted to a batch of runs; all targets are imputed from the same draws."""
    began = time.process_time()
    psi, where = fit(cell, tables, runs, DRAWS)
    fitting = time.process_time() - began
    for target in ("sample", "population"):
        began = time.process_time()
        counts = [
            confusion_counts(of_run, table, target=target, rng=rng, regions=where, jit=True)
            for of_run, table, rng in zip(psi, tables, run_streams(cell, runs, target), strict=True)
        ]
        seconds = fitting + time.process_time() - began
        yield target, seconds, central(np.stack([one.drawn for one in counts]), data)
        if target == "sample":  # "expected" comes with it, from one count
            yield "expected", seconds, central(np.stack([one.expected for one in counts]), data)


METHODS: dict[str, Callable[..., Answers]] = {
    "beta_binomial": beta_binomial,
    "calibration": calibrated,
    "prediction_powered": prediction_powered,
    "trust": calibrated,
}


def answers(task: tuple[Case, str, int, list[int]]) -> dict[str, list]:
    """Estimate, low, high, CPU seconds of a run, (metric, 4, run), by "method target"."""
    case, model, labels, runs = task
    data, cell = rows(case, model), Configuration(case, model, labels, "")
    tables = [hidden(data, shown_rows(cell, data, number)) for number in runs]
    found = {}
    for name, method in METHODS.items():
        of_method = cell._replace(method=name)
        if name not in loaded:  # compiled functions are loaded before anything is timed
            list(method(of_method, data, tables[:1], runs[:1]))
            loaded.add(name)
        for target, seconds, values in method(of_method, data, tables, runs):
            cpu = np.full((len(METRICS), 1, len(runs)), seconds / len(runs))
            found[f"{name} {target}"] = np.concatenate([values, cpu], axis=1).tolist()
    return found


def true_delta(data: ScoreData, name: str) -> float:
    """Delta from all labels; NaN where no group but the privileged one has the metric."""
    value, defined = truth(data, name)
    return value if np.delete(defined, privileged(data)).any() else np.nan


def measure(
    data: Path,
    runs: int = 50,
    labels: tuple[int, ...] = (20, 100, 1000),
    keep: Path | None = None,
) -> Page:
    units = [
        (case, model, n)
        for case in cases(data / "paper_scores", replica=False)
        for model in MODELS
        for n in labels
        if n < len(rows(case, model).label)
    ]
    batches = [list(range(first, min(first + BATCH, runs))) for first in range(0, runs, BATCH)]
    found = each(answers, [(*unit, batch) for unit in units for batch in batches], keep=keep)
    cells, truths, values = [], [], {}
    for case, model, n in units:
        cells += [Cell(case.dataset, case.attribute, model, n, metric) for metric in METRICS]
        truths += [true_delta(rows(case, model), metric) for metric in METRICS]
        parts = [next(found) for _ in batches]
        for way in parts[0]:
            values.setdefault(way, []).extend(np.concatenate([part[way] for part in parts], axis=2))
    known = np.flatnonzero(~np.isnan(truths))
    by_way = {
        way: scores(np.array(truths)[known], np.array(values[way])[known]) for way in sorted(values)
    }
    return report([cells[at] for at in known], by_way)
