"""Groups known by chances of membership: how often intervals contain the metrics of the members.

    python bench/membership.py [--runs 20] [--rows 2000] [--out FOLDER]

Rows have a chance w to be of group B: informative, Beta(0.5, 0.5), or vague, Beta(3, 3). Scores
depend on w. Labels follow a curve of the score, whose log odds are lower

    proxy       by 1.2 w: outcomes do not depend on membership
    members     by 1.2 for members of B: outcomes do not depend on w beside that
    between     by half of each
    extreme     by 1.2 w, and members of B are the positive rows, as far as chances allow

A run counts how often 95 % intervals contain tpr, fpr and accuracy of the members among these rows,
in groups (6 numbers) and as differences (3), by each assumption and as bounds. Writes
MEMBERSHIP.md.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
# without this folder: numba imports any module named coverage, and would find coverage.py
sys.path[:] = [str(HERE.parent), *(p for p in sys.path if Path(p or ".").resolve() != HERE)]

import lightfair as lf  # noqa: E402
from lightfair.core import fit  # noqa: E402
from lightfair.core.metrics.definitions import theta  # noqa: E402

METRICS = ("tpr", "fpr", "accuracy")
QUICK = {"metrics": METRICS, "chains": 4, "draws": 120, "warmup": 60}
WORLDS = {"proxy": (100, 300), "members": (100, 300), "between": (100, 300), "extreme": (300,)}
KNOWN = {"informative": 0.5, "vague": 3.0}


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


def run(world: str, shape: float, rows: int, labeled: int, seed: int) -> list[list[float]]:
    """By number: is it a difference, and for each method inside, width and error."""
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


def main(runs: int, rows: int, out: Path) -> None:
    warnings.simplefilter("ignore")
    fit.MAX_DRAWS = 1  # few draws, and no more of them where chains lag
    begin, lines = time.process_time(), []
    for world, numbers in WORLDS.items():
        for name, shape in KNOWN.items():
            for labeled in numbers:
                every = [run(world, shape, rows, labeled, seed) for seed in range(runs)]
                found = np.array(every).reshape(-1, 11)
                far = found[:, 0] > 0.0
                groups, differences = (found[at].mean(axis=0)[1:] for at in (~far, far))
                texts = [
                    f"{groups[at]:.1%}, {differences[at]:.1%} ({differences[at + 1]:.2f})"
                    for at in (0, 2, 4)
                ] + [f"{error:.3f}" for error in differences[6:]]
                lines.append(f"| {' | '.join([world, name, str(labeled), *texts])} |")
                print(lines[-1], flush=True)
    head = [
        "# Groups known by chances of membership",
        "",
        f"Written by `python bench/membership.py --runs {runs} --rows {rows}`: {runs} runs a line,",
        f"{time.process_time() - begin:,.0f} s of CPU. `bench/membership.py` describes the worlds.",
        "",
        "Share of 95 % intervals that contain the metric of the members: in groups, of differences",
        "(and mean width of the intervals of differences). Then the mean absolute error of the",
        "estimates of differences. A share of 95 % has a standard error of about "
        f"{100.0 * (0.05 * 0.95 / (3 * runs)) ** 0.5:.0f} points.",
        "",
        "| world | membership | labels | given proxy | given membership | bounds "
        "| error: given proxy | given membership | thresholded | weighted |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    (out / "MEMBERSHIP.md").write_text("\n".join([*head, *lines, ""]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=HERE)
    main(**vars(parser.parse_args()))
