"""Convergence of default runs

Six kinds of simulated scores, from 10 labels to a million:

    calibrated   uniform in 0.2 to 0.8, the chance of a positive label
    beta         beta(0.5, 0.5)
    forest       shares of 20 trees
    bayes        nine in ten beyond 0.01 or 0.99, overconfident, as of naive Bayes
    eleven       11 distinct scores
    narrow       within 0.49 to 0.51, and steeply related to the label

in four parts: `two` groups with trust, `plain` (two groups, the paper's model without trust),
`many` groups, and `nested` (3 x 2 groups with effects). A run meets the check where every reported
number has R-hat of at most 1.01 and bulk and tail ESS of at least 400.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import lightfair as lf

from .evidence import Page, each, table

SMALLEST = {"seeds": 1, "parts": ("plain", "nested"), "labels": (30,), "scores": ("beta",)}

LABELS = (10, 30, 100, 300, 1000, 3000, 10_000, 100_000, 1_000_000)
ROWS = 20_000
SOME = (30, 300, 3000, 100_000)  # labels of the parts with many groups
PARTS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {  # numbers of groups, and options
    "two": ((2,), {}),
    "plain": ((2,), {"trust": False}),
    "many": ((6, 20, 50), {}),
    "nested": ((6,), {"hierarchical": "nested"}),
}
SCORES = ("calibrated", "beta", "forest", "bayes", "eleven", "narrow")
COLUMNS = "part | groups | labels | runs | at the default draws | with twice as many"
COLUMNS += " | parameters, too | largest R-hat"
BODY = """Number of runs that meet the check at the default draws, and with at most twice as many;
those of the former whose parameters do, too, which are not reported; and the median CPU seconds of
reading the rows and of the rest (posterior and metrics).

{sums}
Kinds of scores of which a run did not meet it at the default draws:

{short}"""


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


def run(task: tuple[str, int, int, str, int]) -> tuple[float, ...]:
    """Whether the check is met at once, with twice the draws, by parameters, too; R-hat, CPU."""
    part, groups, labels, kind, seed = task
    rows = simulated(kind, groups, labels, seed)
    began = time.process_time()
    data = lf.score_table(lf.score_data(**rows))
    read = time.process_time()
    result = lf.assess(data, rng=seed, **PARTS[part][1])
    seconds = read - began, time.process_time() - read
    gate, drawn = result.gate, result.posterior.phi.shape[1] / result.settings.draws
    at_once = gate.ok and drawn == 1.0
    parameters = at_once and gate.parameters is None
    return at_once, gate.ok and drawn <= 2.0, parameters, gate.rhat_max or 0.0, *seconds


def line(part: str, groups: int, labels: int, runs: np.ndarray) -> list[str]:
    """Number of runs, of those that meet the check in three ways, and the largest R-hat."""
    met = (f"{count:.0f}" for count in runs[:, :3].sum(axis=0))
    return [part, str(groups), f"{labels:,}", str(len(runs)), *met, f"{runs[:, 3].max():.4f}"]


def measure(
    seeds: int = 8,
    parts: tuple[str, ...] = tuple(PARTS),
    labels: tuple[int, ...] = LABELS,
    scores: tuple[str, ...] = SCORES,
) -> Page:
    cells = {
        (part, groups, number): range(-(-2 * seeds // groups))  # more groups take longer
        for part in parts
        for groups in PARTS[part][0]
        for number in labels
        if groups == 2 or number in SOME
    }
    found = each(
        run, [(*cell, kind, seed) for cell in cells for kind in scores for seed in cells[cell]]
    )
    every, sums, short = [], [], []
    for cell, seeds_of in cells.items():
        kinds = [np.array([next(found) for _ in seeds_of], dtype=float) for _ in scores]
        runs = np.concatenate(kinds)
        every.extend(runs)
        sums.append([*line(*cell, runs), *(f"{one:.2f}" for one in np.median(runs[:, 4:], axis=0))])
        for kind, of_kind in zip(scores, kinds, strict=True):
            if not of_kind[:, 0].all():
                short.append([kind, *line(*cell, of_kind)])
    share = np.mean(every, axis=0)
    return Page(
        f"Of {len(every):,} runs, {share[0]:.1%} meet the check at the default draws, "
        f"{share[1]:.1%} with at most twice as many; parameters, too, in {share[2]:.1%}.",
        BODY.format(
            sums=table(f"{COLUMNS} | CPU s, rows | CPU s, rest", sums),
            short=table(f"scores | {COLUMNS}", short) if short else "None.",
        ),
    )
