"""Do 95 % intervals hold where the model does not: one group's scores mean something else?

    python bench/stress.py [--sets NAME ...] [--labels N ...] [--runs N] [--quick] [--out FOLDER]

Every run simulates 6,000 rows of a set (`SETS`), shows the labels of a random few and assesses them
with the defaults. The truth is the metric of all rows with all labels. Groups are A, with scores
that are probabilities, and B, 35 % of the rows; the set `ten` has ten groups of equal size, two of
which do not follow the others, and `clusters` ten of which three have a flatter curve. In
`persons_20` and `persons_5` rows belong to persons, 20 or 5 to each, who are labeled as a whole,
have similar scores, and effects of sd 1.5 on the log odds of their labels; they are the clusters.

Each line is the mean over accuracy, tpr and fpr. Quantities are the metrics of B (where there are
several such groups, of all of them), those of the others, the differences B - A, and with ten
groups the sd of the metric between groups. Three columns share the labels: lightfair, labels only,
and prediction-powered estimates, which leave out groups with few labels. The numbers of a run
depend on its set, labels, seed and number alone.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
# this folder goes: numba imports whatever is called coverage, and would find coverage.py
sys.path[:] = [str(HERE.parent), *(p for p in sys.path if Path(p or ".").resolve() != HERE)]

from lightfair.core.assessment import Assessment  # noqa: E402
from lightfair.core.data.logit import Floats, logit_of, over, sigmoid  # noqa: E402
from lightfair.core.data.rows import score_data  # noqa: E402
from lightfair.core.data.table import score_table  # noqa: E402
from lightfair.core.diagnostics.predictive import MAYBE_APART  # noqa: E402
from lightfair.core.diagnostics.warnings import ALONE  # noqa: E402
from lightfair.core.metrics.definitions import as_metric  # noqa: E402
from lightfair.core.metrics.prediction_powered import powered_difference  # noqa: E402
from lightfair.core.pipeline import assess, frequencies  # noqa: E402
from lightfair.core.simulation import hide_labels  # noqa: E402

METRICS = ("accuracy", "tpr", "fpr")
METHODS = ("lightfair", "labels only", "prediction-powered")
ROWS = 6_000
PERSON_SD, ALIKE = 1.5, 0.75  # of the effect of a person; share of the variance of log odds
LABELS = (20, 50, 100, 300, 1000)
TAIL = 0.025
CHECKS = ("misfit", "disagreement")  # warnings that should fire where intervals fail
GOALS = {30: 0.85, 100: 0.90}  # least coverage, by labels in B
UNSEEN, FALSE_ALARMS = 0.8, 0.05  # goals of warnings: below this coverage, and in a set that fits
WORST = 15  # lines of the list of cells that fall short

Rate = Callable[[Floats], Floats]


class Stress(NamedTuple):
    """A set: Beta parameters of probabilities in A and in B, and what is odd about B.

    strange: rate of positives by probability, of each of the last groups; sharp: factor between the
    log odds of a probability and of its score; each: rows of a person; labels: by default.
    """

    beta: tuple[tuple[float, float], tuple[float, float]] = ((1.2, 1.3), (1.2, 1.3))
    strange: tuple[Rate, ...] = (np.array,)
    groups: int = 2
    threshold: float = 0.5
    sharp: float = 1.0
    fits: bool = False
    each: int = 1
    labels: tuple[int, ...] = LABELS

    @property
    def share(self) -> Floats:
        """Share of rows of each group."""
        return np.array([0.65, 0.35]) if self.groups == 2 else np.full(self.groups, 0.1)


STRANGE: dict[str, Rate] = {
    "useless": lambda p: np.full(len(p), p.mean()),
    "reversed": lambda p: 1.0 - p,
    "jump": lambda p: np.where(p > 0.7, 0.45 * p, p),
    "prior_shift": lambda p: sigmoid(logit_of(p, 0.0) - 1.0),
}


def flatter(p: Floats) -> Floats:
    """Rates of scores that say a fifth as much."""
    return sigmoid(0.2 * logit_of(p, 0.0))


SETS = {
    "well": Stress(fits=True),
    **{name: Stress(strange=(rate,)) for name, rate in STRANGE.items()},
    "rare": Stress(beta=((0.3, 29.7), (0.3, 29.7)), threshold=0.05, fits=True),
    "covariate": Stress(beta=((1.2, 1.3), (0.8, 2.5)), fits=True),
    "ten": Stress(strange=(STRANGE["useless"], STRANGE["reversed"]), groups=10),
    "saturated": Stress(sharp=27.0, fits=True),
    "clusters": Stress(strange=(flatter,) * 3, groups=10),
    "persons_20": Stress(each=20, labels=(200, 600), fits=True),
    "persons_5": Stress(each=5, labels=(200, 600), fits=True),
}


class Run(NamedTuple):
    """One run.

    values: float64 (method, metric, quantity, 5), as in `answers`: the truth, and mean, low, high
    and sd of the estimate; labels: of each group; warned: codes of warnings; apart: the largest
    chance of a group to be apart from the others.
    """

    values: Floats
    labels: Floats
    warned: frozenset[str]
    apart: float


def simulated(name: str, labels: int, seed: int, number: int) -> tuple[np.ndarray, ...]:
    """Labels of a few, labels of all, scores, groups and persons of a run."""
    rng, one = np.random.default_rng([seed, labels, number, *name.encode()]), SETS[name]
    person = np.repeat(np.arange(ROWS // one.each), one.each)
    group = rng.choice(one.groups, ROWS // one.each, p=one.share)[person]
    parameters = np.array(one.beta)[np.minimum(group, 1)].T
    chance = np.clip(rng.beta(*parameters), 1e-9, 1.0 - 1e-9)
    if one.each > 1:
        own = logit_of(rng.beta(*parameters), 1e-9)[person * one.each]
        mixed = ALIKE**0.5 * own + (1.0 - ALIKE) ** 0.5 * logit_of(chance, 0.0)
        chance = np.clip(sigmoid(mixed), 1e-9, 1.0 - 1e-9)
    rate = chance.copy()
    for back, strange in enumerate(reversed(one.strange), 1):
        rate[here] = strange(chance[here := group == one.groups - back])
    if one.each > 1:
        effect = rng.normal(0.0, PERSON_SD, ROWS // one.each)
        rate = sigmoid(logit_of(rate, 0.0) + effect[person])
    label = (rng.random(ROWS) < rate).astype(np.int64)
    score = np.clip(sigmoid(one.sharp * logit_of(chance, 0.0)), 1e-12, 1.0 - 1e-12)
    if one.each > 1:
        chosen = rng.permutation(ROWS // one.each)[: labels // one.each]
        shown = np.where(np.isin(person, chosen), label, np.nan)
    else:
        shown = hide_labels(label, labels, rng)
    return shown, label, score, np.array(list("ABCDEFGHIJ"))[group], person


def run(task: tuple[str, int, int], *, seed: int, draws: int | None) -> Run:
    """Simulate, assess, and hold three columns of the result against all labels."""
    name, labels, number = task
    shown, label, score, group, person = simulated(name, labels, seed, number)
    rows = {"y_score": score, "sensitive_features": group, "threshold": SETS[name].threshold}
    options = {"metrics": METRICS, "reference": "A", "draws": draws, "rng": number}
    options["cluster"] = person if SETS[name].each > 1 else None
    result = assess(shown, **rows, **options)
    data = score_data(label, **rows)
    known = frequencies(score_table(data), tuple(map(as_metric, METRICS)))
    of_groups = np.array([known[metric] for metric in METRICS])
    deltas, sd = of_groups[:, 1:] - of_groups[:, :1], of_groups.std(axis=1, keepdims=True)
    truth = np.hstack([of_groups, deltas, sd])
    columns = np.moveaxis([answers(result, metric) for metric in METRICS], 0, 1)
    truth = np.broadcast_to(truth, columns.shape[:3])
    values = np.concatenate([truth[..., None], columns], axis=3)
    in_group = np.array([np.isfinite(shown[group == each]).sum() for each in result.groups])
    apart = result.posterior.apart
    chance = 0.0 if apart is None else float(apart.mean(axis=(0, 1)).max())
    return Run(values, in_group, frozenset(note.code for note in result.warnings), chance)


def answers(result: Assessment, metric: str) -> Floats:
    """Mean, low, high and sd of groups, of differences, and of the sd between groups.

    float64 (method, quantity, 4); the sd between groups by its median, and by lightfair alone.
    """
    groups, rest = result.groups, range(1, len(result.groups))
    estimates = [result.metric(metric, group) for group in groups]
    estimates += [result.difference(metric, group, "A") for group in groups[1:]]
    ours = [(one.mean, *one.interval(1.0 - 2.0 * TAIL), one.sd) for one in estimates]
    spread = result.between_group_sd(metric)
    ours.append((spread.median, *spread.interval(1.0 - 2.0 * TAIL), float(np.nanstd(spread.draws))))
    only, powered = result.labels[metric], result.prediction_powered[metric]
    deltas = only.draws[:, 1:] - only.draws[:, :1]
    ends = np.quantile(deltas, [TAIL, 1.0 - TAIL], axis=0)
    alone = [*zip(*only[:1], *only[2:4], only.sd, strict=True)]
    alone += [*zip(deltas.mean(axis=0), *ends, deltas.std(axis=0), strict=True)]
    theirs = [*zip(powered.mean, powered.low, powered.high, powered.se, strict=True)]
    pairs = [powered_difference(powered, at, 0) for at in rest]
    theirs += [(pair.mean, pair.low, pair.high, pair.se) for pair in pairs]
    return np.array([ours, [*alone, (np.nan,) * 4], [*theirs, (np.nan,) * 4]])


def quantities(name: str) -> dict[str, slice]:
    """Places of quantities among groups, differences and the sd between groups."""
    groups, strange = SETS[name].groups, len(SETS[name].strange)
    first = groups - strange
    last = 2 * groups - 1  # of groups and differences
    places = {"B": slice(first, groups), "A": slice(first), "B - A": slice(last - strange, last)}
    if first > 1:
        places["sd"] = slice(last, None)
    return places


def figures(values: Floats) -> dict[str, Floats]:
    """Summaries of values (run, method, ..., quantity, 5) by method, NaN without an estimate."""
    truth, mean, low, high, sd = np.moveaxis(values, -1, 0)
    missed = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
    defined = np.isfinite(truth + low + high)
    claimed = defined & ((low > 0.0) | (high < 0.0))
    wrong = claimed & (np.sign(truth) != np.sign(low + high))

    def average(array: Floats, where: np.ndarray) -> Floats:
        axes = (0, *range(2, array.ndim))
        return over(np.where(where, array, 0.0).sum(axis=axes), where.sum(axis=axes), np.nan)

    squares = average((mean - truth) ** 2, defined), average(sd * sd, defined)
    return {
        "coverage": average(missed <= 1e-9, defined),
        "width": average(high - low, defined),
        "score": average(high - low + missed / TAIL, defined),
        "mae": average(np.abs(mean - truth), defined),
        "error / sd": np.sqrt(squares[0] / squares[1]),
        "claims": average(claimed, defined),
        "wrong": average(wrong, claimed),
    }


def warned(runs: list[Run], codes: tuple[str, ...] = CHECKS) -> float:
    return float(np.mean([not one.warned.isdisjoint(codes) for one in runs]))


def short_cells(found: dict[tuple[str, int], list[Run]]) -> list[tuple[float, str]]:
    """List what misses a goal, each with a key to sort by: coverage, or share of warnings."""
    lines = []
    for (name, labels), runs in found.items():
        values, here = np.stack([one.values for one in runs]), quantities(name)
        in_b = np.mean([one.labels[here["B"]] for one in runs])
        goal = max((goal for least, goal in GOALS.items() if in_b >= least), default=0.0)
        cell = f"| {name} | {labels:,} | {in_b:.0f} |"
        cover = {
            what: [figures(values[:, :, [at], place])["coverage"][0] for at in range(len(METRICS))]
            for what, place in here.items()
        }
        for what, shares in cover.items():
            if min(shares) < goal:
                line = f"{cell} coverage, {what} | {', '.join(map(_percent, shares))} |"
                lines.append((min(shares), f"{line} {_percent(goal)} |"))
        share, cell = warned(runs), f"{cell} runs with {' or '.join(CHECKS)}"
        if min(min(shares) for shares in cover.values()) < UNSEEN and share < UNSEEN:
            lines.append((1.0 + share, f"{cell} | {_percent(share)} | {_percent(UNSEEN)} |"))
        if SETS[name].fits and share > FALSE_ALARMS:
            lines.append((2.0 - share, f"{cell} | {_percent(share)} | <= {FALSE_ALARMS:.0%} |"))
    return sorted(lines)


def alarms(found: dict[tuple[str, int], list[Run]]) -> list[str]:
    """Return the lines of the table of warnings, and of what they need."""
    head = "| set | labels | in B | least coverage | misfit or disagreement | chance alone |"
    lines = [head, "|---" * (head.count("|") - 1) + "|"]
    for (name, labels), runs in found.items():
        values, here = np.stack([one.values for one in runs]), quantities(name)
        cover = [
            figures(values[:, :, [at], place])["coverage"][0]
            for what, place in here.items()
            for at in range(len(METRICS))
            if what != "sd"
        ]
        in_b, loud = np.mean([one.labels[here["B"]] for one in runs]), warned(runs)
        alone = float(np.mean([one.apart >= MAYBE_APART for one in runs]))
        cells = [name, f"{labels:,}", f"{in_b:.0f}", *map(_percent, (min(cover), loud, alone))]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def widened(found: dict[tuple[str, int], list[Run]]) -> list[str]:
    """Return the lines of the table of groups with few labels.

    An interval is widened about its mean by as much as the warning says: the largest ratio of all
    metrics of a labels-only interval to it.
    """
    head = "| set | labels | in B | wider by | coverage, B | widened | labels only |"
    lines = [head, "|---" * (head.count("|") - 1) + "|"]
    for (name, labels), runs in found.items():
        place = quantities(name)["B"]
        few = np.array([one.labels[place].max() < ALONE for one in runs])
        if not few.all():
            continue
        values = np.stack([one.values[..., place, :] for one in runs])
        truth, mean, low, high, _ = np.moveaxis(values, -1, 0)
        width = high - low
        ratio = (width[:, 1] / width[:, 0]).max(axis=1)[:, None]
        off = (truth - mean)[:, 0]
        wide = (off <= ratio * (high - mean)[:, 0]) & (off >= ratio * (low - mean)[:, 0])
        cover = figures(values)["coverage"]
        in_b = np.mean([one.labels[place] for one in runs])
        cells = [name, f"{labels:,}", f"{in_b:.0f}", f"{np.median(ratio):.1f}"]
        cells += map(_percent, (cover[0], float(wide.mean()), cover[1]))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def summary(found: dict[tuple[str, int], list[Run]]) -> list[str]:
    """Return the lines of the table of all cells."""
    columns = ("coverage %", "width", "interval score", "MAE")
    head = "| set | labels | in B | of | " + " | ".join(f"{column} (l, o, p)" for column in columns)
    head += " | error / sd | claims | wrong of them | misfit | disagreement |"
    lines = [head, "|---" * (head.count("|") - 1) + "|"]
    for (name, labels), runs in found.items():
        values, here = np.stack([one.values for one in runs]), quantities(name)
        in_b = np.mean([one.labels[here["B"]] for one in runs])
        for what, place in here.items():
            got = figures(values[..., place, :])
            cells = [f"{name}", f"{labels:,}", f"{in_b:.0f}", what]
            cells.append(", ".join(_number(100.0 * x, 0) for x in got["coverage"]))
            for key, digits in (("width", 2), ("score", 2), ("mae", 3)):
                cells.append(", ".join(_number(x, digits) for x in got[key]))
            claims = [_percent(got[k][0]) if " - " in what else "" for k in ("claims", "wrong")]
            cells += [_number(got["error / sd"][0], 2), *claims]
            cells += [_percent(warned(runs, (code,))) for code in CHECKS]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def report(found: dict[tuple[str, int], list[Run]], command: str, seconds: float) -> str:
    """Write the page: the cells that fall short, then all of them."""
    runs, short = len(next(iter(found.values()))), short_cells(found)
    more = f"; the worst {WORST} of {len(short)}" if len(short) > WORST else ""
    goals = ", ".join(f"{_percent(goal)} from {n} labels in B on" for n, goal in GOALS.items())
    listed, table = "\n".join(line for _, line in short[:WORST]), "\n".join(summary(found))
    warning, wide = "\n".join(alarms(found)), "\n".join(widened(found))
    fit = ", ".join(name for name in SETS if SETS[name].fits)
    return f"""# Stress sets: groups that do not follow the others

Written by `{command}`: {runs} runs a cell, {seconds:,.0f} s of CPU.
The sets are described in `bench/stress.py`. Goals: coverage of each metric at least {goals};
where the least of them is below {_percent(UNSEEN)}, a warning ({" or ".join(CHECKS)}) in
{_percent(UNSEEN)} of the runs; in sets that fit ({fit}) in at most {_percent(FALSE_ALARMS)}.
Measured is the coverage of accuracy, tpr and fpr.

## Cells that fall short{more}

| set | labels | in B | what | measured | goal |
|---|---|---|---|---|---|
{listed}

## Warnings

Runs with a warning that labels do not follow the model, and for comparison those in which a group
is apart with a chance of {MAYBE_APART:g} or more, whether or not that moves a metric.

{warning}

## Groups with fewer than {ALONE} labels

The warning `assumed_alike` tells how many times as wide an interval would be if scores need not
mean in a group what they mean in the others: as wide as that of labels alone.

{wide}

## All cells

Means over the three metrics: l lightfair, o labels only, p prediction-powered. error / sd: root
mean squared error over posterior sd of lightfair; its square is the factor by which the effective
number of labels is overstated. claims: differences whose interval excludes 0, so that a direction
is claimed at 0.975.

{table}
"""


def _percent(share: float) -> str:
    return _number(100.0 * share, 0) + ("" if np.isnan(share) else " %")


def _number(value: float, digits: int) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--labels", type=int, nargs="+", help="default: those of the set")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="fewer draws of each chain: 150")
    parser.add_argument("--processes", type=int, choices=[1, 2], default=1)
    parser.add_argument("--out", type=Path, help="folder of STRESS.md; default: printed only")
    asked = parser.parse_args()
    # read by the workers when they start: always compiled kernels, one thread each
    os.environ.update(LIGHTFAIR_JIT="1", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    cells = [(name, labels) for name in asked.sets for labels in asked.labels or SETS[name].labels]
    tasks = [(*cell, number) for cell in cells for number in range(asked.runs)]
    of_run = partial(run, seed=asked.seed, draws=150 if asked.quick else None)
    found: dict[tuple[str, int], list[Run]] = {cell: [] for cell in cells}
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(asked.processes, spawn) as pool:
        for task, one in zip(tasks, pool.map(of_run, tasks, chunksize=4), strict=True):
            found[task[:2]].append(one)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = " ".join(["python", "bench/stress.py", *sys.argv[1:]])
    text = report(found, command, used.ru_utime + used.ru_stime)
    if asked.out is not None:
        (asked.out / "STRESS.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
