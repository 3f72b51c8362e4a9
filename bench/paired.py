"""Two models on the same rows

In each run all labels but n random ones are hidden. Two models are compared with pairing
(`compare_models`) and without (an assessment of each, whose draws are subtracted in any order). The
truth is the difference from all labels. Simulated rows are new in each run, real ones are the same.

    alike        simulated: two noisy views of one log odds, of correlation 0.95
    different    simulated: each model sees one of two independent features
    noise        simulated: the scores of the second model are noise
    others       real scores of two kinds of model, in women and men
"""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import lightfair as lf
from lightfair.core.data.logit import Floats, sigmoid
from lightfair.core.metrics.definitions import theta

from .evidence import Page, each, table
from .intervals import missed
from .paper.scores import Case, rows

SMALLEST = {"runs": 1, "labeled": (100,), "cells": ("alike", "adult lr, gnb")}

METRICS = ("accuracy", "tpr", "fpr")
ROWS = 2000
RUN = {"metrics": METRICS, "chains": 8, "draws": 100}
CELLS = ("alike", "different", "noise", "compas_r lr, mlp", "compas_r lr, rf")
CELLS += ("adult lr, mlp", "adult mlp, rf", "adult lr, gnb")
COLUMNS = (
    "models | labels | paired: covered | unpaired: covered | paired: width | paired / unpaired"
)


class Rows(NamedTuple):
    """Labels of all rows, 0 or 1; group, 0 (most rows) or 1; scores of both models."""

    label: np.ndarray
    group: np.ndarray
    scores: dict[str, Floats]


def simulated(kind: str, rng: np.random.Generator) -> Rows:
    """Simulate rows whose labels depend on log odds that each model observes in part."""
    group = (rng.random(ROWS) < 0.35).astype(int)
    one, two, noise = rng.standard_normal((3, ROWS))
    odds = 1.3 * (one + two) + np.where(group == 1, -0.6, 0.2)
    label = (rng.random(ROWS) < sigmoid(odds)).astype(int)
    first, second = {
        "alike": (0.8 * odds + 0.4 * one, 0.8 * odds + 0.4 * noise),
        "different": (1.3 * one + 0.3 * group, 1.3 * two - 0.3 * group),
        "noise": (0.8 * odds + 0.4 * one, 1.3 * noise),
    }[kind]
    return Rows(label, group, {"A": sigmoid(first), "B": sigmoid(second)})


@lru_cache
def real(folder: Path, name: str) -> Rows:
    """Read the scores of two models of the same rows."""
    dataset, *models = name.replace(",", "").split()
    case = Case(dataset, "gender", str(folder), dataset, "sex", replica=True)
    one, two = (rows(case, model) for model in models)
    if (one.label != two.label).any() or (one.group != two.group).any():
        raise ValueError(f"the rows of {dataset} differ between {' and '.join(models)}")
    rank = np.argsort(np.argsort(-np.bincount(one.group)))
    return Rows(one.label.astype(int), rank[one.group], {"A": one.score, "B": two.score})


def truth(sample: Rows) -> Floats:
    """Differences of the models from all labels: (metric, group)."""
    values = []
    for score in sample.scores.values():
        counts = np.zeros((2, 2, 2))
        np.add.at(counts, (sample.group, (score >= 0.5) * 1, sample.label), 1.0)
        values.append(stacked({name: theta(name, counts) for name in METRICS}))
    return (values[0] - values[1])[:, 0]


def stacked(values: dict[str, Floats]) -> Floats:
    """Values of all metrics as one array: (metric, draw, group)."""
    return np.stack([values[name].reshape(-1, 2) for name in METRICS])


def paired(sample: Rows, shown: Floats, seed: int) -> Floats:
    """Draws of the differences of the models, (metric, draw, group), from one joint model."""
    both = lf.compare_models(sample.scores, shown, sensitive_features=sample.group, rng=seed, **RUN)
    return stacked(both.theta["A"]) - stacked(both.theta["B"])


def unpaired(sample: Rows, shown: Floats, seed: int) -> Floats:
    """Draws of the differences of the models, from an assessment of each."""
    one, two = (
        stacked(lf.assess(shown, s, sensitive_features=sample.group, rng=rng, **RUN).theta)
        for s, rng in zip(sample.scores.values(), (seed, 1000 + seed), strict=True)
    )
    size = min(one.shape[1], two.shape[1])  # a fit may take more draws than asked for
    return one[:, :size] - two[:, :size]


def measured(draws: Floats, true: Floats) -> Floats:
    """Whether intervals cover the truth, and their width: (quantity, metric, 2).

    Quantities: the difference of the models in delta, and in theta of the group with fewer sample.
    """
    both = np.stack([draws[..., 1] - draws[..., 0], draws[..., 1]])
    value = np.stack([true[:, 1] - true[:, 0], true[:, 1]])
    low, high = np.nanquantile(both, [0.025, 0.975], axis=-1)
    # counts are whole: a bound equal to the truth up to rounding covers it
    covered = missed(low, high, value) <= 1e-12
    return np.stack([covered, high - low], axis=-1)


def run(task: tuple[Path, str, int, int]) -> tuple[list, list[float]]:
    """Both methods in one run: (method, quantity, metric, 2), see `measured`, and CPU seconds."""
    folder, name, labeled, number = task
    rng = np.random.default_rng([number, labeled])
    sample = real(folder, name) if " " in name else simulated(name, rng)
    true, shown = truth(sample), np.full(len(sample.label), np.nan)
    chosen = rng.permutation(len(sample.label))[:labeled]
    shown[chosen] = sample.label[chosen]
    found, seconds = [], []
    for method in (paired, unpaired):
        began = time.process_time()
        found.append(measured(method(sample, shown, number), true).tolist())
        seconds.append(time.process_time() - began)
    return found, seconds


def measure(
    data: Path,
    runs: int = 50,
    labeled: tuple[int, ...] = (30, 100, 500),
    cells: tuple[str, ...] = CELLS,
    keep: Path | None = None,
) -> Page:
    lines = [(name, number) for number in labeled for name in cells]
    tasks = [(data / "scores", *line, number) for line in lines for number in range(runs)]
    found, seconds = zip(*each(run, tasks, keep), strict=True)
    means = np.reshape(found, (len(lines), runs, 2, 2, len(METRICS), 2)).mean(axis=1)
    covered, width = means[..., 0], means[..., 1]  # (line, method, quantity, metric)
    ratio = width[:, 0] / width[:, 1]
    least = np.unravel_index(covered[:, 0].argmin(), covered[:, 0].shape)
    name, number = lines[least[0]]
    tables = []
    for at in (0, 1):
        cell = [
            [
                *line,
                *(joined("{:.0f}", 100.0 * covered[i, method, at]) for method in (0, 1)),
                joined("{:.3f}", width[i, 0, at]),
                joined("{:.2f}", ratio[i, at]),
            ]
            for i, line in enumerate(lines)
        ]
        tables.append(table(COLUMNS, cell))
    return Page(
        "Paired 95 % intervals of differences of two models cover the truth in "
        f"{covered[:, 0].mean():.1%} of cases, unpaired ones in {covered[:, 1].mean():.1%}; the "
        f"least of a cell is {covered[:, 0].min():.0%} ({METRICS[least[2]]}, {name}, {number} "
        f"labels). Paired ones are {ratio.min():.2f} to {ratio.max():.2f} times as wide.",
        f"{runs} runs a line. Cells are of accuracy / tpr / fpr; covered is in percent, with a "
        f"Monte Carlo\nerror of {100.0 * np.sqrt(0.95 * 0.05 / runs):.0f} points near 95. A run "
        "takes {:.1f} s of CPU with pairing, and {:.1f} s without.\n".format(
            *np.mean(seconds, axis=0)
        )
        + f"\n## Difference of the models in the gap between the groups\n\n{tables[0]}"
        + f"\n## Difference of the models in the smaller group\n\n{tables[1]}",
    )


def joined(form: str, values: Floats) -> str:
    """Numbers of a cell."""
    return " / ".join(map(form.format, values))
