"""Groups known by chances of membership

Rows have a chance w to be of group B: informative, Beta(0.5, 0.5), or vague, Beta(3, 3). Scores
depend on w. Labels follow a curve of the score, whose log odds are lower

    proxy       by 1.2 w: outcomes do not depend on membership
    members     by 1.2 for members of B: outcomes do not depend on w beside that
    between     by half of each
    extreme     by 1.2 w, and members of B are the positive rows, as far as chances allow

A run counts how often 95 % intervals contain tpr, fpr and accuracy of the members among these rows,
in groups (6 numbers) and as differences (3), by each assumption and as bounds.
"""

from __future__ import annotations

import numpy as np

import lightfair as lf
from lightfair.core import fit
from lightfair.core.metrics.definitions import theta

from .evidence import Page, each, table

SMALLEST = {"runs": 1, "rows": 300}

METRICS = ("tpr", "fpr", "accuracy")
QUICK = {"metrics": METRICS, "chains": 4, "draws": 120, "warmup": 60}
WORLDS = {"proxy": (100, 300), "members": (100, 300), "between": (100, 300), "extreme": (300,)}
KNOWN = {"informative": 0.5, "vague": 3.0}
COLUMNS = "world | membership | labels | given proxy | given membership | bounds"
COLUMNS += " | error: given proxy | given membership | thresholded | weighted"


def simulated(world: str, shape: float, rows: int, labeled: int, rng: np.random.Generator):
    """Chance, member, score, label, and label where it is shown."""
    w = rng.beta(shape, shape, rows)
    member, score = rng.random(rows) < w, rng.beta(1.2 + 0.6 * w, 1.5 - 0.4 * w)
    own = {"members": 1.0, "between": 0.5}.get(world, 0.0)
    shift = 0.6 - 1.2 * (own * member + (1.0 - own) * w)
    rate = 1.0 / (1.0 + np.exp(-(0.2 + 0.9 * np.log(score / (1.0 - score)) + shift)))
    label = rng.random(rows) < rate
    if world == "extreme":  # P(member, positive) = min(w, rate)
        both = np.minimum(w, rate)
        member = rng.random(rows) < np.where(label, both / rate, (w - both) / (1.0 - rate))
    shown = np.full(rows, np.nan)
    at = rng.permutation(rows)[:labeled]
    shown[at] = label[at]
    return w, member, score, label, shown


def run(task: tuple[str, float, int, int, int]) -> list[list[float]]:
    """By number: is it a difference, and for each method inside, width and error."""
    world, shape, labeled, rows, seed = task
    fit.MAX_DRAWS = 1  # few draws, and no more of them where chains lag
    rng = np.random.default_rng([seed, labeled])
    w, member, score, label, shown = simulated(world, shape, rows, labeled, rng)
    chances = {"A": 1.0 - w, "B": w}
    found = lf.assess_membership(shown, score, sensitive_features=chances, rng=seed, **QUICK)
    cells = [[(member == g) & ((score >= 0.5) == d) for d in (0, 1)] for g in (0, 1)]
    counts = np.array([[[(c & (label == y)).sum() for y in (0, 1)] for c in g] for g in cells])
    by_name, lines = {"A": 0, "B": 1}, []
    for metric in METRICS:
        truth = theta(metric, counts.astype(float))
        for part in (found.estimates, found.differences):
            for group, views in part[metric].items():
                far = part is found.differences
                base = truth[by_name[found.reference]] if far else 0.0
                value, line = truth[by_name[group]] - base, [float(far)]
                bounds = views["least"].interval()[0], views["most"].interval()[1]
                one, two = (views[f"given_{name}"] for name in ("proxy", "membership"))
                for low, high in (one.interval(), two.interval(), bounds):
                    line += [float(low <= value <= high), high - low]
                points = (one, two, views["thresholded"], views["weighted"])
                lines.append(line + [abs(point.mean - value) for point in points])
    return lines


def measure(runs: int = 20, rows: int = 2000) -> Page:
    cells = [(w, name, n) for w, numbers in WORLDS.items() for name in KNOWN for n in numbers]
    tasks = [(w, KNOWN[name], n, rows, seed) for w, name, n in cells for seed in range(runs)]
    answers, lines, bounds, alone = each(run, tasks), [], [], []
    for cell in cells:
        found = np.array([next(answers) for _ in range(runs)]).reshape(-1, 11)
        far = found[:, 0] > 0.0
        groups, differences = (found[at].mean(axis=0)[1:] for at in (~far, far))
        texts = [f"{groups[at]:.1%}, {differences[at]:.1%} ({differences[at + 1]:.2f})"
                 for at in (0, 2, 4)]  # fmt: skip
        bounds += [groups[4], differences[4]]
        alone += [*groups[[0, 2]], *differences[[0, 2]]]
        lines.append([*cell, *texts, *(f"{error:.3f}" for error in differences[6:])])
    se = 100.0 * (0.05 * 0.95 / (3 * runs)) ** 0.5
    return Page(
        f"In {runs} runs a line, the bounds of both assumptions contain the metric in at least "
        f"{min(bounds):.0%}, intervals given one assumption in at least {min(alone):.0%}: it may "
        "be wrong.",
        "Share of 95 % intervals that contain the metric of the members: in groups, of\n"
        "differences (and mean width of the intervals of differences). Then the mean absolute\n"
        "error of the estimates of differences. A share of 95 % has a standard error of about\n"
        f"{se:.0f} points.\n\n" + table(COLUMNS, lines),
    )
