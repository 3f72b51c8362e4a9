"""Bounds where labels are selected

A run simulates 2,000 rows of two groups, of which 100 or 300 (about so many: `outcome`) have
labels, and in which the odds of a positive label of unlabeled rows differ from those of labeled
rows of equal score and group by a factor Gamma:

    groups      Gamma in group B, 1 / Gamma in group A
    scores      so in rows of score 0.5 and above, and the inverse below: the extreme of all three
    outcome     nobody's odds are changed: in group A the odds of having a label are Gamma times as
                large for positive rows as for negative ones, in group B 1 / Gamma times

The truth is accuracy, tpr and fpr of all rows, if all had labels: of groups A and B, and the
difference. A fit is 4 chains of 100 draws after 60 sweeps. The truth is in the bounds at Gamma, or
not; and in the plain intervals.
"""

from __future__ import annotations

import itertools

import numpy as np

import lightfair as lf
from lightfair.core.data.logit import logit_of, sigmoid
from lightfair.core.metrics.definitions import theta

from .evidence import Page, each, table

SMALLEST = {"runs": 1}

CASES = ("groups", "scores", "outcome")
ROWS, METRICS = 2_000, ("accuracy", "tpr", "fpr")
RUN = {"chains": 4, "draws": 100, "warmup": 60}


def simulate(case: str, odds: float, labels: int, rng: np.random.Generator):
    """Label, with NaN where it is unknown; all labels; score; group."""
    group = np.where(rng.random(ROWS) < 0.4, "B", "A")
    score = np.where(group == "A", rng.beta(1.5, 2.0, ROWS), rng.beta(1.3, 1.5, ROWS))
    labeled = np.where(group == "A", 0.2, -0.2) + 1.1 * logit_of(score, 0.001)
    sign = np.where(group == "B", 1.0, -1.0) * (1.0 if case != "scores" else np.sign(score - 0.5))
    if case == "outcome":
        label = (rng.random(ROWS) < sigmoid(labeled)).astype(float)
        rate = np.log(labels / ROWS) - sign * np.log(odds) * (label - 0.5)
        known = rng.random(ROWS) < sigmoid(rate)
    else:
        known = rng.permutation(ROWS) < labels
        label = rng.random(ROWS) < sigmoid(labeled + np.where(known, 0.0, sign * np.log(odds)))
    return np.where(known, label, np.nan), label.astype(int), score, group


def contained(task: tuple[str, float, int, int]) -> np.ndarray:
    """Whether bounds, and plain intervals, contain the truth, and their widths.

    float64 (2, 2, metric, 3): inside and width; bounds and plain; A, B and the difference.
    """
    case, odds, labels, run = task
    rng = np.random.default_rng([CASES.index(case), int(10 * odds), labels, run])
    known, label, score, group = simulate(case, odds, labels, rng)
    options = {"metrics": METRICS, "rng": int(rng.integers(2**31)), **RUN}
    result = lf.assess(known, score, sensitive_features=group, reference="A", **options)
    bounds, found = result.selection_bounds(odds)["metrics"], np.empty((2, 2, len(METRICS), 3))
    for at, metric in enumerate(METRICS):
        counts = np.zeros((2, 2, 2))
        np.add.at(counts, ((group == "B") * 1, (score >= 0.5) * 1, label), 1.0)
        truth = theta(metric, counts)
        truth = [*truth, truth[1] - truth[0]]
        entries = bounds[metric]["groups"] + bounds[metric]["differences"]
        estimates = [result.metric(metric, name) for name in "AB"]
        estimates.append(result.difference(metric, "B", "A"))
        for which, ends in enumerate(
            ([one["interval"] for one in entries], [one.interval() for one in estimates])
        ):
            low, high = np.array(ends).T
            found[:, which, at] = (low <= truth) & (truth <= high), high - low
    return found


def measure(runs: int = 50) -> Page:
    cells = list(itertools.product(CASES, (1.5, 2.0), (100, 300)))
    found = np.array(list(each(contained, [(*cell, run) for cell in cells for run in range(runs)])))
    found = found.reshape(len(cells), runs, *found.shape[1:])
    rows, shares = [], []
    for (case, odds, labels), (inside, width) in zip(cells, found.mean(axis=1), strict=True):
        row = [case, f"{odds:g}", labels]
        for at, part in itertools.product(range(len(METRICS)), (slice(2), 2)):
            shares.append([100.0 * np.mean(inside[which, at, part]) for which in (0, 1)])
            row.append("{:.0f} ({:.0f})".format(*shares[-1]))
        rows.append([*row, "{:.2f} ({:.2f})".format(*width[:, 1, 2])])
    titles = [f"{name} {what}" for name in METRICS for what in ("A, B", "B - A")]
    low, high = np.min(shares, axis=0), np.max(shares, axis=0)
    return Page(
        f"In {runs} runs a line, {low[0]:.0f} to {high[0]:.0f} % of the bounds at Gamma contain "
        f"the truth, of plain 95 % intervals {low[1]:.0f} to {high[1]:.0f} %.",
        "Share of runs, in percent, in which the bounds at Gamma contain the truth, and in\n"
        "parentheses the plain 95 % intervals; last, mean widths for the difference in tpr.\n\n"
        + table(f"case | Gamma | labels | {' | '.join(titles)} | width", rows),
    )
