"""False alarms and delays of a monitored check, beside labels alone and the model.

    python bench/monitor.py [--runs 400] [--model-runs 8] [--looks 52] [--sets NAME ...]
                            [--out FOLDER]

A run simulates looks of 400 rows, 40 of them labeled, of two groups of a set (`bench/stress.py`),
or of one set and after half of the looks of another one, and asks each week whether tpr<=limit.
With the limit at the true gap an alarm is a false one, so 5 % may have one. With the limit below it
the delay is the number of looks until the alarm; the median is over all runs. "lightfair" is the
evidence of `lightfair.audit.monitor`, "labels only" the same of the Beta posteriors of the labels,
without the half that is for changes, "model" that of the posterior, which raises no alarm. The
model is fitted in the first runs only, with 50 draws a chain. Writes MONITOR.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import date
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
# without this folder: numba imports any module named coverage, and would find coverage.py
sys.path[:] = [str(HERE.parent), *(p for p in sys.path if Path(p or ".").resolve() != HERE)]

from bench.stress import SETS, Stress  # noqa: E402
from lightfair.audit.monitor import LEAST_SCALE, evidence, since_any  # noqa: E402
from lightfair.core.data.logit import logit_of, sigmoid  # noqa: E402
from lightfair.core.data.rows import score_data  # noqa: E402
from lightfair.core.data.table import ScoreTable, score_table  # noqa: E402
from lightfair.core.metrics.definitions import as_metric  # noqa: E402
from lightfair.core.metrics.labels_only import labels_answers  # noqa: E402
from lightfair.core.metrics.prediction_powered import prediction_powered  # noqa: E402
from lightfair.core.pipeline import assess  # noqa: E402
from lightfair.core.simulation import hide_labels  # noqa: E402

ROWS, LABELS, NEEDED = 400, 40, 20.0
METHODS = ("labels only", "lightfair", "model")
LOWER = ((1.2, 1.3), (0.8, 2.5))
OWN = {  # B has lower scores, which mean more than they say
    "lower_steeper": Stress(LOWER, (lambda p: sigmoid(2.5 * logit_of(p, 0.0) + 1.0),)),
}
CELLS = ("prior_shift", "jump", "useless", "covariate", "lower_steeper")
CELLS += ("well then useless", "well then reversed")
MARGINS = (0.0, 0.05, 0.1, 0.15)

PAGE = """# Monitoring: false alarms and delays

{day}, lightfair 0.1.0, by

    {command}

{runs} runs a line ({models} of them for the model), {looks} looks of 400 rows, 40 of them labeled;
{seconds:.0f} CPU seconds. Sets are those of `bench/stress.py`, and `lower_steeper`, in which B has
lower scores that mean more than they say. gap: tpr(B) - tpr(A) in the population. Where the limit
is the gap, alarms are false, and at most 5 % may be; else they are right, and delay is the median
number of looks until one ("never": less than half of the runs have one), after the change if there
is one in the middle.

| set | gap | limit | labels only | delay | lightfair | delay | model | delay |
|---|---|---|---|---|---|---|---|---|
{lines}
"""


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


def path(cell: str, looks: int, number: int, *, model: bool) -> np.ndarray:
    """Mean and sd of the gap, float64 (look, method, 2), of a run."""
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


def main() -> int:
    parser = argparse.ArgumentParser(description="False alarms and delays of a monitored check.")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--model-runs", type=int, default=8)
    parser.add_argument("--looks", type=int, default=52)
    parser.add_argument("--sets", nargs="+", default=CELLS, choices=CELLS)
    parser.add_argument("--out", type=Path, default=HERE)
    given = parser.parse_args()
    start, lines = time.process_time(), []
    for cell in given.sets:
        change = " then " in cell
        gap = true_gap(cell.split(" then ")[-1])
        tasks = [(run, run < given.model_runs) for run in range(given.runs)]
        paths = np.array([path(cell, given.looks, run, model=model) for run, model in tasks])
        for margin in MARGINS[change:]:
            limit = abs(gap) - margin
            if limit < 0.02:
                continue
            first = alarms(paths, gap, limit)
            first[given.model_runs :, 2] = np.nan
            lines.append(line(cell, gap, limit, first, given.looks // 2 if change else 0))
            print(lines[-1], flush=True)
    text = PAGE.format(
        command=" ".join(["python", "bench/monitor.py", *sys.argv[1:]]),
        day=date.today().isoformat(),
        runs=given.runs,
        models=given.model_runs,
        looks=given.looks,
        seconds=time.process_time() - start,
        lines="\n".join(lines),
    )
    given.out.joinpath("MONITOR.md").write_text(text)
    return 0


def line(cell: str, gap: float, limit: float, first: np.ndarray, change: int) -> str:
    """A line of the table: alarms, and median delays after a change."""
    cells = []
    for column in first.T:
        runs = column[~np.isnan(column)]
        delay = np.median(runs) - change if len(runs) else np.nan
        text = "never" if np.isinf(delay) else f"{delay:g}"
        share = f"{np.isfinite(runs).mean():.1%}" if len(runs) else "-"
        cells.append(f"{share} | {text if abs(gap) > limit + 1e-9 and len(runs) else '-'}")
    return f"| {cell} | {gap:.3f} | {limit:.3f} | {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
