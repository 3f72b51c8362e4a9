"""Monitoring: false alarms and delays

A run simulates looks of 400 rows, 40 of them labeled, of two groups of a set (`bench/stress.py`),
of `lower_steeper`, in which B has lower scores that mean more than they say, or of one set and
after half of the looks of another one, and asks each week whether tpr<=limit.
With the limit at the true gap an alarm is a false one, so 5 % may have one. With the limit below it
the delay is the median number of looks until the alarm ("never": less than half of the runs have
one), after the change if there is one in the middle. "lightfair" is the
evidence of `lightfair.audit.monitor`, "labels only" the same of the Beta posteriors of the labels,
without the half that is for changes, "model" that of the posterior, which raises no alarm. The
model is fitted in the first runs only, with 50 draws a chain.
"""

from __future__ import annotations

import numpy as np

from lightfair.audit.monitor import LEAST_SCALE, evidence, since_any
from lightfair.core.data.logit import logit_of, sigmoid
from lightfair.core.data.rows import score_data
from lightfair.core.data.table import ScoreTable, score_table
from lightfair.core.metrics.definitions import as_metric
from lightfair.core.metrics.labels_only import labels_answers
from lightfair.core.metrics.prediction_powered import prediction_powered
from lightfair.core.pipeline import assess
from lightfair.core.simulation import hide_labels

from .evidence import Page, each, table
from .stress import SETS, Stress

SMALLEST = {"runs": 2, "model_runs": 1, "looks": 4, "sets": ("jump",)}

ROWS, LABELS, NEEDED = 400, 40, 20.0
METHODS = ("labels only", "lightfair", "model")
LOWER = ((1.2, 1.3), (0.8, 2.5))
OWN = {  # B has lower scores, which mean more than they say
    "lower_steeper": Stress(LOWER, (lambda p: sigmoid(2.5 * logit_of(p, 0.0) + 1.0),)),
}
CELLS = ("prior_shift", "jump", "useless", "covariate", "lower_steeper")
CELLS += ("well then useless", "well then reversed")
MARGINS = (0.0, 0.05, 0.1, 0.15)


def rows(name: str, size: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Labels, scores and groups of a set, all labeled."""
    one = OWN.get(name) or SETS[name]
    group = rng.choice(2, size, p=one.share)
    chance = np.clip(rng.beta(*np.array(one.beta)[group].T), 1e-9, 1.0 - 1e-9)
    rate = chance.copy()
    rate[group == 1] = one.strange[0](chance[group == 1])
    label = (rng.random(size) < rate).astype(np.int64)
    return label, chance, chance >= one.threshold, np.where(group == 1, "B", "A")


def true_gap(name: str) -> float:
    """The gap tpr(B) - tpr(A) of a population."""
    label, _, predicted, group = rows(name, 2_000_000, np.random.default_rng(0))
    one, two = (predicted[(label == 1) & (group == g)].mean() for g in "BA")
    return float(one - two)


def estimates(table: ScoreTable, *, model: bool) -> list[tuple[float, float]]:
    """Mean and sd of the gap by each method; NaN for the model if it is not asked for."""
    only = labels_answers(
        (as_metric("tpr"),), table, (), prob=0.95, rng=np.random.default_rng(0), target="population"
    )["tpr"]
    powered = prediction_powered("tpr", table, target="population")
    df = np.nan_to_num(powered.df, nan=3.0, posinf=1e9)
    none = np.isnan(powered.mean)
    mean = np.where(none, only.mean, powered.mean)
    sd = np.where(none, only.sd, powered.se * np.sqrt(df / np.maximum(df - 2.0, 0.1)))
    few = table.sums("rows")[..., 1].sum(axis=1) < 5
    mean, sd = np.where(few, np.nan, mean), np.where(few, np.nan, sd)
    pairs = [(m[1] - m[0], float(np.hypot(*s))) for m, s in ((only.mean, only.sd), (mean, sd))]
    if not model:
        return [*pairs, (np.nan, np.nan)]
    options = {"metrics": "tpr", "target": "population", "chains": 4, "draws": 50, "rng": 0}
    draws = assess(table, **options).draws("tpr")
    gap = draws[..., 1] - draws[..., 0]
    return [*pairs, (float(np.nanmean(gap)), float(np.nanstd(gap)))]


def path(task: tuple[str, int, int, bool]) -> np.ndarray:
    """Mean and sd of the gap, float64 (look, method, 2), of a run."""
    cell, looks, number, model = task
    rng = np.random.default_rng([number, *cell.encode()])
    before, _, after = cell.partition(" then ")
    found, table = [], None
    for look in range(looks):
        label, score, predicted, group = rows(
            after if after and look >= looks // 2 else before, ROWS, rng
        )
        shown = hide_labels(label, LABELS, rng)
        data = score_data(shown, score, y_pred=predicted, sensitive_features=group)
        table = score_table(data) if table is None else table + score_table(data)
        found.append(estimates(table, model=model))
    return np.array(found)


def alarms(paths: np.ndarray, gap: float, limit: float) -> np.ndarray:
    """First look with an alarm, from 1, inf for none: float64 (run, method)."""
    mean, sd = np.moveaxis(paths * [np.sign(gap), 1.0], -1, 0)  # (run, look, method)
    defined = np.isfinite(mean) & (sd > 0.0)
    known = np.where(defined, 1.0 / np.where(defined, sd, 1.0) ** 2, 0.0)
    first = np.full((len(paths), len(METHODS)), np.inf)
    for at in range(len(METHODS)):
        total = 0.0
        for sign in (1.0, -1.0):  # the other direction, of the same pair
            d = np.where(defined, sign * mean - limit, 0.0)[..., at]
            score, info = (d * known[..., at]).T, known[..., at].T
            total = total + 0.5 * (since_any if at == 1 else evidence)(
                score, info, max(limit, LEAST_SCALE)
            )
        raised = total >= NEEDED
        first[:, at] = np.where(raised.any(axis=0), raised.argmax(axis=0) + 1.0, np.inf)
    return first


def measure(
    runs: int = 200, model_runs: int = 3, looks: int = 52, sets: tuple[str, ...] = CELLS
) -> Page:
    tasks = [(cell, looks, run, run < model_runs) for cell in sets for run in range(runs)]
    found, lines, false = each(path, tasks), [], []
    for cell in sets:
        change = " then " in cell
        gap = true_gap(cell.split(" then ")[-1])
        paths = np.array([next(found) for _ in range(runs)])
        for margin in MARGINS[change:]:
            limit = abs(gap) - margin
            if limit < 0.02:
                continue
            first = alarms(paths, gap, limit)
            first[model_runs:, 2] = np.nan
            false += [np.isfinite(first[:, 1]).mean()] if margin == 0.0 else []
            lines.append(line(cell, gap, limit, first, looks // 2 if change else 0))
    alarm = f"{min(false):.1%} to {max(false):.1%}" if false else "none"
    return Page(
        f"With the gap at the limit, {alarm} of {runs} runs raise an alarm in {looks} looks; "
        "at most 5 % may.",
        f"{runs} runs a line ({model_runs} of them for the model), {looks} looks. "
        "gap: tpr(B) - tpr(A) in the population.\n\n"
        + table(
            "set | gap | limit | labels only | delay | lightfair | delay | model | delay", lines
        ),
    )


def line(cell: str, gap: float, limit: float, first: np.ndarray, change: int) -> list[str]:
    """A line of the table: alarms, and median delays after a change."""
    cells = [cell, f"{gap:.3f}", f"{limit:.3f}"]
    for column in first.T:
        runs = column[~np.isnan(column)]
        delay = np.median(runs) - change if len(runs) else np.nan
        text = "never" if np.isinf(delay) else f"{delay:g}"
        share = f"{np.isfinite(runs).mean():.1%}" if len(runs) else "-"
        cells += [share, text if abs(gap) > limit + 1e-9 and len(runs) else "-"]
    return cells
