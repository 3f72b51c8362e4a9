"""Comparisons of three groups that are equal, and of three that are not.

    python bench/equality.py [--runs 100] [--labeled 50 200 1000] [--out FOLDER]

Every run simulates 30,000 rows of three groups, shows the labels of a random few and assesses them
with the defaults. "equal": all groups have one distribution of scores and one calibration curve.
"apart": each group has its own random curve, log a and log b from N(0, 0.2), c from N(0, 0.5).
The estimand is the metric from the labels of all 30,000 rows, so that equal groups, too, have true
gaps of about a point. Expected of the results:

- P(largest gap < epsilon) rises with labels where groups are equal;
- all simultaneous 95 % intervals cover the truth in 95 % of the runs;
- the sd between groups is small where groups are equal, and covered where they are not;
- a check rarely fails or passes wrongly.

Writes EQUALITY.md. The numbers of a run depend only on its scenario, labels and number.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
# without this folder: numba imports any module named coverage, and would find coverage.py
sys.path[:] = [str(HERE.parent), *(p for p in sys.path if Path(p or ".").resolve() != HERE)]

from lightfair.core.assessment import Assessment  # noqa: E402
from lightfair.core.data.rows import score_data  # noqa: E402
from lightfair.core.data.table import score_table  # noqa: E402
from lightfair.core.metrics.definitions import as_metric  # noqa: E402
from lightfair.core.model.curve import calibrate  # noqa: E402
from lightfair.core.pipeline import assess, frequencies  # noqa: E402

METRICS = ("accuracy", "tpr", "fpr")
GROUPS = ("A", "B", "C")
ROWS = 10_000  # of each group
SCORES = (1.2, 1.3)  # of their beta distribution
CURVE = (0.8, 1.2, 0.2)  # a, b, c of equal groups
SPREAD = (0.2, 0.2, 0.5)  # sd of log a, log b and c of groups apart
CHECK = "tpr<=0.05"
SCENARIOS = ("equal", "apart")


class Run(NamedTuple):
    """Results of one run; arrays are over METRICS."""

    converged: bool
    small: np.ndarray  # P(largest gap < epsilon)
    gap: np.ndarray  # the true largest gap
    together: bool  # all simultaneous intervals cover
    apart: np.ndarray  # (metric, group), which plain intervals cover
    widths: np.ndarray  # (2,), mean width of plain and of simultaneous intervals
    sd: np.ndarray  # median of the sd between groups
    sd_naive: np.ndarray  # median of the sd of the draws
    sd_true: np.ndarray
    sd_inside: np.ndarray  # in the central interval
    sd_below: np.ndarray  # below the upper end
    status: str  # of CHECK
    meets: bool  # whether the truth meets CHECK


def simulated(scenario: str, labeled: int, number: int) -> tuple[np.ndarray, ...]:
    """Shown labels, all labels, scores and groups of a run."""
    rng = np.random.default_rng([SCENARIOS.index(scenario), labeled, number])
    group = np.repeat(GROUPS, ROWS)
    score = np.clip(rng.beta(*SCORES, len(group)), 1e-12, 1.0 - 1e-12)
    curves = np.tile(CURVE, (len(GROUPS), 1))
    if scenario == "apart":
        drawn = np.array(SPREAD) * rng.standard_normal(curves.shape)
        curves = np.column_stack([np.exp(drawn[:, :2]), drawn[:, 2]])
    rate = np.concatenate(
        [calibrate(s, *c) for s, c in zip(np.split(score, len(GROUPS)), curves, strict=True)]
    )
    label = (rng.random(len(group)) < rate).astype(float)
    shown = np.full(len(group), np.nan)
    chosen = rng.permutation(len(group))[:labeled]
    shown[chosen] = label[chosen]
    return shown, label, score, group


def run(scenario: str, labeled: int, number: int) -> Run:
    """Simulate, assess, and compare the result with all labels."""
    shown, label, score, group = simulated(scenario, labeled, number)
    result = assess(
        shown, score, sensitive_features=group, metrics=METRICS, reference="A", rng=number
    )
    full = score_table(score_data(label, score, sensitive_features=group))
    truth = frequencies(full, tuple(map(as_metric, METRICS)))
    return judged(result, np.array([truth[name] for name in METRICS]))


def judged(result: Assessment, truth: np.ndarray) -> Run:
    """Compare a result with the truth (metric, group)."""
    delta = truth[:, 1:] - truth[:, :1]
    at_once = result.simultaneous()
    ends = np.array(
        [
            [
                [result.difference(name, g, "A").interval(), at_once.interval(name, g)]
                for g in GROUPS[1:]
            ]
            for name in METRICS
        ]
    )  # (metric, group, kind, end)
    inside = (ends[..., 0] <= delta[..., None]) & (delta[..., None] <= ends[..., 1])
    gaps = [result.largest_gap(name) for name in METRICS]
    spreads = [result.between_group_sd(name) for name in METRICS]
    sd = truth.std(axis=1)
    gap = np.ptp(truth, axis=1)
    middle = np.array([one.interval() for one in spreads])
    return Run(
        result.gate.ok,
        np.array([one.prob_within(result.settings.epsilon) for one in gaps]),
        gap,
        bool(inside[..., 1].all()),
        inside[..., 0],
        (ends[..., 1] - ends[..., 0]).mean(axis=(0, 1)),
        np.array([one.median for one in spreads]),
        np.array([np.median(result.draws(name).std(axis=-1)) for name in METRICS]),
        sd,
        (middle[:, 0] <= sd) & (sd <= middle[:, 1]),
        sd <= np.array([one.upper() for one in spreads]),
        result.check(CHECK).status,
        bool(gap[METRICS.index("tpr")] <= 0.05),
    )


def report(results: dict[tuple[str, int], list[Run]], command: str, seconds: float) -> str:
    """Write the tables."""
    runs = len(next(iter(results.values())))
    lines = [
        "# Comparisons of three groups, equal and apart",
        "",
        f"Written by `{command}`: {runs} runs a line,",
        f"{seconds:,.0f} s of CPU. A run has 30,000 rows; the metrics are {', '.join(METRICS)}.",
        f"`bench/equality.py` describes the simulation. A share of 95 % of {runs} runs has a",
        f"Monte Carlo error of {100 * np.sqrt(0.95 * 0.05 / runs):.1f} points.",
        "",
        "## The largest gap, and simultaneous intervals",
        "",
        "Mean P(largest gap < 0.05) of the three metrics; true mean of the largest gap; share of",
        "runs in which all six simultaneous 95 % intervals cover the truth, in which all six plain",
        "ones do, and share of the plain ones that do; how much wider the simultaneous ones are.",
        "",
        "| groups | labels | P accuracy | P tpr | P fpr | true gap tpr | all simultaneous cover "
        "| all plain cover | plain cover | wider |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (scenario, labeled), of_cell in results.items():
        small = np.mean([one.small for one in of_cell], axis=0)
        gap = np.mean([one.gap for one in of_cell], axis=0)[METRICS.index("tpr")]
        plain = np.array([one.apart for one in of_cell])
        widths = np.mean([one.widths for one in of_cell], axis=0)
        lines.append(
            f"| {scenario} | {labeled:,} | "
            + " | ".join(f"{value:.2f}" for value in small)
            + f" | {gap:.3f} | {_share([one.together for one in of_cell])} | "
            f"{_share(plain.all(axis=(1, 2)))} | {_share(plain.ravel())} | "
            f"{widths[1] / widths[0]:.2f} |"
        )
    lines += [
        "",
        "## The sd between groups",
        "",
        "Of tpr: mean of the true sd, of the posterior median, and of the median of the sd taken",
        "draw by draw, which is biased upward; of all metrics: share of runs whose truth is in the",
        "central 95 % interval, and below its upper 95 % end.",
        "",
        "| groups | labels | true | median | draw by draw | in the interval | below the end |",
        "|---|---|---|---|---|---|---|",
    ]
    for (scenario, labeled), of_cell in results.items():
        at = METRICS.index("tpr")
        values = [
            np.mean([getattr(o, k)[at] for o in of_cell]) for k in ("sd_true", "sd", "sd_naive")
        ]
        shares = [
            np.array([getattr(o, k) for o in of_cell]).ravel() for k in ("sd_inside", "sd_below")
        ]
        lines.append(
            f"| {scenario} | {labeled:,} | "
            + " | ".join(f"{value:.3f}" for value in values)
            + " | "
            + " | ".join(map(_share, shares))
            + " |"
        )
    lines += [
        "",
        f"## The check {CHECK}",
        "",
        "Share of runs in which the truth meets it, and its verdicts; wrong is a pass where the",
        "truth does not meet it, or a fail where it does.",
        "",
        "| groups | labels | met | pass | fail | insufficient | wrong |",
        "|---|---|---|---|---|---|---|",
    ]
    for (scenario, labeled), of_cell in results.items():
        status = np.array([one.status for one in of_cell])
        meets = np.array([one.meets for one in of_cell])
        wrong = ((status == "pass") & ~meets) | ((status == "fail") & meets)
        shares = [meets, *(status == name for name in ("pass", "fail", "insufficient")), wrong]
        lines.append(f"| {scenario} | {labeled:,} | " + " | ".join(map(_share, shares)) + " |")
    away = sum(not one.converged for of_cell in results.values() for one in of_cell)
    lines += ["", f"Runs whose chains had not converged: {away}.", ""]
    return "\n".join(lines)


def _share(values: object) -> str:
    return f"{100 * np.mean(values):.0f} %"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--labeled", type=int, nargs="+", default=[50, 200, 1000])
    parser.add_argument("--out", type=Path, default=HERE, help="folder of EQUALITY.md")
    arguments = parser.parse_args()
    os.environ.setdefault("LIGHTFAIR_JIT", "1")  # a fit compiled once serves all
    began = time.process_time()
    results: dict[tuple[str, int], list[Run]] = {}
    for scenario in SCENARIOS:
        for labeled in arguments.labeled:
            of_cell = [run(scenario, labeled, number) for number in range(arguments.runs)]
            results[scenario, labeled] = of_cell
            print(scenario, labeled, f"{time.process_time() - began:.0f} s of CPU", flush=True)
    command = " ".join(
        ["python bench/equality.py --runs", str(arguments.runs), "--labeled"]
        + [str(n) for n in arguments.labeled]
    )
    text = report(results, command, time.process_time() - began)
    (arguments.out / "EQUALITY.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
