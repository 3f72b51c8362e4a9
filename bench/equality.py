"""Comparisons of three groups, equal and apart

A run simulates 30,000 rows of three groups, shows the labels of a random few and assesses them with
the defaults. "equal": all groups have one distribution of scores and one calibration curve.
"apart": each group has its own random curve, log a and log b from N(0, 0.2), c from N(0, 0.5). The
truth is the metric from the labels of all rows, so that equal groups, too, have true gaps of about
a point. Metrics are accuracy, tpr and fpr. A share of 95 % of 100 runs has a Monte Carlo error of
2.2 points.
"""

from __future__ import annotations

import itertools

import numpy as np

from lightfair.core.assessment import Assessment
from lightfair.core.data.rows import score_data
from lightfair.core.data.table import score_table
from lightfair.core.metrics.definitions import as_metric
from lightfair.core.model.curve import calibrate
from lightfair.core.pipeline import assess, frequencies

from .evidence import Page, each, table

SMALLEST = {"runs": 1, "labels": (50,)}

METRICS = ("accuracy", "tpr", "fpr")
GROUPS = ("A", "B", "C")
ROWS = 10_000  # of each group
SCORES = (1.2, 1.3)  # of their beta distribution
CURVE = (0.8, 1.2, 0.2)  # a, b, c of equal groups
SPREAD = (0.2, 0.2, 0.5)  # sd of log a, log b and c of groups apart
LIMIT = 0.05  # of the check of tpr
SCENARIOS = ("equal", "apart")
COLUMNS = {  # of each table, and their formats
    "gaps": {
        **dict.fromkeys(("P accuracy", "P tpr", "P fpr"), ".2f"),
        "true gap tpr": ".3f",
        **dict.fromkeys(("all simultaneous cover", "all plain cover", "plain cover"), ".0%"),
        "wider": ".2f",
    },
    "sd": {
        **dict.fromkeys(("true", "median", "draw by draw"), ".3f"),
        **dict.fromkeys(("in the interval", "below the end"), ".0%"),
    },
    "check": dict.fromkeys(("met", "pass", "fail", "insufficient", "wrong", "converged"), ".0%"),
}
BODY = f"""{{runs}} runs a line.

## The largest gap, and simultaneous intervals

Mean P(largest gap < 0.05) of each metric; true mean of the largest gap of tpr; share of runs in
which all six simultaneous 95 % intervals cover the truth, in which all six plain ones do, and share
of the plain ones that do; how much wider the simultaneous ones are.

{{gaps}}
## The sd between groups

Of tpr: mean of the true sd, of the posterior median, and of the median of the sd taken draw by
draw, which is larger; of all metrics: share of runs whose truth is in the central 95 %
interval, and below its upper 95 % end.

{{sd}}
## The check tpr<={LIMIT}

Share of runs in which the truth meets it, and its verdicts; wrong is a pass where the truth does
not meet it, or a fail where it does. Last, runs whose chains had converged.

{{check}}"""


def simulated(scenario: str, labeled: int, number: int) -> tuple[np.ndarray, ...]:
    """Shown labels, all labels, scores and groups of a run."""
    rng = np.random.default_rng([SCENARIOS.index(scenario), labeled, number])
    group = np.repeat(GROUPS, ROWS)
    score = np.clip(rng.beta(*SCORES, len(group)), 1e-12, 1.0 - 1e-12)
    curves = np.tile(CURVE, (len(GROUPS), 1))
    if scenario == "apart":
        drawn = np.array(SPREAD) * rng.standard_normal(curves.shape)
        curves = np.column_stack([np.exp(drawn[:, :2]), drawn[:, 2]])
    scores = np.split(score, len(GROUPS))
    rate = np.concatenate([calibrate(s, *c) for s, c in zip(scores, curves, strict=True)])
    label = (rng.random(len(group)) < rate).astype(float)
    shown = np.full(len(group), np.nan)
    chosen = rng.permutation(len(group))[:labeled]
    shown[chosen] = label[chosen]
    return shown, label, score, group


def run(task: tuple[str, int, int]) -> dict[str, float]:
    """Simulate, assess, and compare the result with all labels; tables are means of these."""
    shown, label, score, group = simulated(*task)
    options = {"metrics": METRICS, "reference": "A", "rng": task[2]}
    result = assess(shown, score, sensitive_features=group, **options)
    full = score_table(score_data(label, score, sensitive_features=group))
    known = frequencies(full, tuple(map(as_metric, METRICS)))
    truth = np.array([known[name] for name in METRICS])  # (metric, group)
    return {**of_gaps(result, truth), **of_spreads(result, truth), **of_check(result, truth)}


def of_gaps(result: Assessment, truth: np.ndarray) -> dict[str, float]:
    """Largest gaps; simultaneous and plain intervals of differences to A."""
    delta, joint = truth[:, 1:] - truth[:, :1], result.simultaneous()
    pairs = list(itertools.product(METRICS, GROUPS[1:]))
    plain = np.array([result.difference(name, g, "A").interval() for name, g in pairs])
    wide = np.array([joint.interval(name, g) for name, g in pairs])
    covered, all_covered = (
        (low <= delta.ravel()) & (delta.ravel() <= high) for low, high in (plain.T, wide.T)
    )
    small = {
        f"P {name}": result.largest_gap(name).prob_within(result.settings.epsilon)
        for name in METRICS
    }
    return small | {
        "true gap tpr": np.ptp(truth[METRICS.index("tpr")]),
        "all simultaneous cover": all_covered.all(),
        "all plain cover": covered.all(),
        "plain cover": covered.mean(),
        "plain width": np.diff(plain).mean(),
        "simultaneous width": np.diff(wide).mean(),
    }


def of_spreads(result: Assessment, truth: np.ndarray) -> dict[str, float]:
    """The sd between groups: that of tpr, and shares of all metrics."""
    spreads = [result.between_group_sd(name) for name in METRICS]
    sd, at = truth.std(axis=1), METRICS.index("tpr")
    low, high = np.array([one.interval() for one in spreads]).T
    return {
        "true": sd[at],
        "median": spreads[at].median,
        "draw by draw": np.median(result.draws("tpr").std(axis=-1)),
        "in the interval": np.mean((low <= sd) & (sd <= high)),
        "below the end": np.mean(sd <= [one.upper() for one in spreads]),
    }


def of_check(result: Assessment, truth: np.ndarray) -> dict[str, float]:
    """The verdict, whether it is wrong, and whether the chains had converged."""
    status = result.check(f"tpr<={LIMIT}").status
    met = bool(np.ptp(truth[METRICS.index("tpr")]) <= LIMIT)
    verdicts = {name: status == name for name in ("pass", "fail", "insufficient")}
    wrong = status == ("fail" if met else "pass")
    return {"met": met, **verdicts, "wrong": wrong, "converged": result.gate.ok}


def measure(runs: int = 100, labels: tuple[int, ...] = (50, 200, 1000)) -> Page:
    cells = list(itertools.product(SCENARIOS, labels))
    found = each(run, [(*cell, number) for cell in cells for number in range(runs)])
    means = {}
    for cell in cells:
        of_cell = [next(found) for _ in range(runs)]
        mean = {name: np.mean([one[name] for one in of_cell]) for name in of_cell[0]}
        means[cell] = mean | {"wider": mean["simultaneous width"] / mean["plain width"]}
    tables = {
        name: table(
            f"groups | labels | {' | '.join(columns)}",
            [
                [scenario, f"{labeled:,}", *(f"{mean[one]:{columns[one]}}" for one in columns)]
                for (scenario, labeled), mean in means.items()
            ],
        )
        for name, columns in COLUMNS.items()
    }
    joint, plain, spread, wrong = (
        [mean[name] for mean in means.values()]
        for name in ("all simultaneous cover", "all plain cover", "below the end", "wrong")
    )
    return Page(
        f"All six simultaneous 95 % intervals cover in {min(joint):.0%} to {max(joint):.0%} of "
        f"{runs} runs, all plain ones in {min(plain):.0%} to {max(plain):.0%}; the sd between "
        f"groups is below its 95 % end in {min(spread):.0%} to {max(spread):.0%}. "
        + (
            f"Up to {max(wrong):.0%} of verdicts are wrong."
            if any(wrong)
            else "No verdict is wrong."
        ),
        BODY.format(runs=runs, **tables),
    )
