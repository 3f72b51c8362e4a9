"""Wrong labels

A run simulates 2,000 rows of two groups (`lightfair.simulate`), hides all but some labels, and
flips the others at a false positive and a false negative rate. It is assessed with labels as they
are, with the rates, and, in fewer runs, with an interval around each rate. The truth is that of
these rows without flips. Covered: of accuracy, tpr and fpr, of both groups and of B minus A; width:
mean of all three metrics. Near 95 %, a share of 40 runs has a standard error of 3 points, one of
12 runs of 6.
"""

from __future__ import annotations

import time

import numpy as np

import lightfair as lf

from .evidence import Page, each, table

SMALLEST = {"runs": 1, "intervals": 1, "labels": (100,)}

METRICS = ["accuracy", "tpr", "fpr"]
CELLS = {  # rates, and intervals around them
    (0.0, 0.0): None,
    (0.02, 0.05): ("0:0.05", "0:0.1"),
    (0.1, 0.1): ("0.05:0.15", "0.05:0.15"),
}
COLUMNS = "labels | flipped | label_error | accuracy | tpr | fpr | accuracy B - A | tpr B - A"
COLUMNS += " | fpr B - A | width | width B - A | converged | runs | CPU s a run"


def run(task: tuple) -> list:
    """Covered and width, (metric, A, B and B - A); whether the chains converged; CPU seconds."""
    labels, rates, error, seed = task
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


def line(labels: int, rates: tuple[float, float], error, found: list) -> list[str]:
    """A line of the table."""
    inside, width, converged, spent = (
        np.mean(column, axis=0) for column in zip(*found, strict=True)
    )
    shown = "none" if error is None else "{}; {}".format(*error).replace(":", " to ")
    cells = [str(labels), "{:g}; {:g}".format(*rates), shown]
    cells += [f"{share:.0%}" for share in (*inside[:, :2].mean(axis=1), *inside[:, 2])]
    cells += [f"{width[:, :2].mean():.3f}", f"{width[:, 2].mean():.3f}"]
    return [*cells, f"{converged:.0%}", str(len(found)), f"{spent:.1f}"]


def measure(runs: int = 40, intervals: int = 12, labels: tuple[int, ...] = (100, 300)) -> Page:
    lines = []
    for shown in labels:
        for rates, ends in CELLS.items():
            ways = [(None, runs), *([(rates, runs), (ends, intervals)] if ends else [])]
            lines += [(shown, rates, error, number) for error, number in ways]
    answers = each(run, [(*line, seed) for *line, number in lines for seed in range(number)])
    rows = [line(*one, [next(answers) for _ in range(number)]) for *one, number in lines]
    without, known = rows[-3], rows[-2]
    return Page(
        f"With {labels[-1]} labels, one in ten of them wrong, 95 % intervals of accuracy, tpr and "
        f"fpr cover in {', '.join(without[3:6])} of runs, with `label_error` in "
        f"{', '.join(known[3:6])}.",
        table(COLUMNS, rows),
    )
