"""Groups that do not follow the others

A run simulates 6,000 rows of a set (`SETS` in `bench/stress.py`), shows the labels of a random few
and assesses them with the defaults. The truth is the metric of all rows with all labels. Groups are
A, with scores that are probabilities, and B, 35 % of the rows, in which they mean something else;
the set `ten` has ten groups of equal size, two of which do not follow the others, and `clusters`
ten of which three have a flatter curve. In `persons_20` and `persons_5` rows belong to persons, 20
or 5 to each, who are labeled as a whole, have similar scores, and effects of sd 1.5 on the log odds
of their labels; they are the clusters.

A figure is the mean over accuracy, tpr and fpr, of B (where there are several such groups, of all
of them), of the others (A) or of the differences B - A. Three methods share the labels: lightfair,
labels only, and prediction-powered estimates, which leave out groups with few labels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lightfair.core.assessment import Assessment
from lightfair.core.data.logit import Floats, logit_of, over, sigmoid
from lightfair.core.data.rows import score_data
from lightfair.core.data.table import score_table
from lightfair.core.diagnostics.predictive import MAYBE_APART
from lightfair.core.diagnostics.warnings import ALONE
from lightfair.core.metrics.definitions import as_metric
from lightfair.core.metrics.prediction_powered import powered_difference
from lightfair.core.pipeline import assess, frequencies
from lightfair.core.simulation import hide_labels

from .evidence import Page, each, table
from .intervals import interval_score, missed

SMALLEST = {"runs": 1, "sets": ("ten", "persons_20")}

METRICS = ("accuracy", "tpr", "fpr")
METHODS = ("lightfair", "labels only", "prediction-powered")
ROWS = 6_000
PERSON_SD, ALIKE = 1.5, 0.75  # of the effect of a person; share of the variance of log odds
LABELS = (20, 50, 100, 300, 1000)
TAIL = 0.025
CHECKS = ("misfit", "disagreement")  # warnings that should fire where intervals fail
COLUMNS = "set | labels | in B | coverage of B, % | of A | of B - A | least | width of B - A"
COLUMNS += " | error / sd | claims | wrong | warned | apart | wider | wide"
BODY = f"""{{runs}} runs a cell, which is a set and a number of labels; stress.csv has more figures.
Three numbers are of lightfair, labels only, and prediction-powered estimates; one is of lightfair.

- in B: labels in B; least: least coverage of one metric of B, A or B - A, in percent.
- error / sd: root mean squared error over posterior sd, of B; its square is the factor by which the
  effective number of labels is overstated.
- claims: differences B - A whose interval excludes 0, so that a direction is claimed at 0.975;
  wrong: share of these that are of the wrong sign.
- warned: runs with a warning that labels do not follow the model ({" or ".join(CHECKS)}); apart:
  those in which a group is apart with a chance of {MAYBE_APART:g} or more.
- wider: where B has fewer than {ALONE} labels, how many times as wide an interval of B would be if
  scores need not mean there what they mean in other groups, as the warning `assumed_alike` tells;
  wide: coverage of intervals widened so.

{{cells}}"""

Rate = Callable[[Floats], Floats]
Figures = dict[str, dict[str, Floats]]  # by quantity and name, of each method


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


def run(task: tuple[str, int, int]) -> Run:
    """Simulate, assess, and hold three methods against all labels."""
    name, labels, number = task
    shown, label, score, group, person = simulated(name, labels, 0, number)
    rows = {"y_score": score, "sensitive_features": group, "threshold": SETS[name].threshold}
    options = {"metrics": METRICS, "reference": "A", "rng": number}
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
    defined = np.isfinite(truth + low + high)
    claimed = defined & ((low > 0.0) | (high < 0.0))
    wrong = claimed & (np.sign(truth) != np.sign(low + high))

    def average(array: Floats, where: np.ndarray) -> Floats:
        axes = (0, *range(2, array.ndim))
        return over(np.where(where, array, 0.0).sum(axis=axes), where.sum(axis=axes), np.nan)

    squares = average((mean - truth) ** 2, defined), average(sd * sd, defined)
    return {
        "coverage": average(missed(low, high, truth) <= 1e-9, defined),
        "width": average(high - low, defined),
        "interval score": average(interval_score(low, high, truth), defined),
        "MAE": average(np.abs(mean - truth), defined),
        "error / sd": np.sqrt(squares[0] / squares[1]),
        "claims": average(claimed, defined),
        "wrong": average(wrong, claimed),
    }


def widened(values: Floats) -> tuple[float, float]:
    """How much wider the intervals of B get, and their coverage; values as of `figures`.

    An interval is widened about its mean by as much as the warning says: the largest ratio of all
    metrics of a labels-only interval to it.
    """
    truth, mean, low, high, _ = np.moveaxis(values, -1, 0)
    width, off = high - low, (truth - mean)[:, 0]
    ratio = (width[:, 1] / width[:, 0]).max(axis=1)[:, None]
    inside = (off <= ratio * (high - mean)[:, 0]) & (off >= ratio * (low - mean)[:, 0])
    return float(np.median(ratio)), float(inside.mean())


def summary(name: str, labels: int, runs: list[Run]) -> tuple[Figures, list[str]]:
    """Figures of each quantity in all runs of a cell, and its line of the page."""
    values, places = np.stack([one.values for one in runs]), quantities(name)
    found = {what: figures(values[..., place, :]) for what, place in places.items()}
    b, a, delta = (found[what] for what in ("B", "A", "B - A"))
    least = min(
        figures(values[:, :, [at], places[what]])["coverage"][0]
        for what in ("B", "A", "B - A")
        for at in range(len(METRICS))
    )
    in_b = np.array([one.labels[places["B"]] for one in runs])
    wide = widened(values[..., places["B"], :]) if in_b.max() < ALONE else None
    line = [name, f"{labels:,}", f"{in_b.mean():.0f}"]
    line += [numbers(100.0 * one["coverage"], 0) for one in (b, a, delta)]
    line += [f"{100.0 * least:.0f}", numbers(delta["width"], 2), f"{b['error / sd'][0]:.2f}"]
    line += [f"{delta['claims'][0]:.0%}", numbers(100.0 * delta["wrong"][:1], 0)]
    line.append(f"{np.mean([not one.warned.isdisjoint(CHECKS) for one in runs]):.0%}")
    line.append(f"{np.mean([one.apart >= MAYBE_APART for one in runs]):.0%}")
    return found, line + ([f"{wide[0]:.1f}", f"{wide[1]:.0%}"] if wide else ["", ""])


def numbers(values: Floats, digits: int) -> str:
    """Numbers of methods, with a dash for one without estimates."""
    return ", ".join("-" if np.isnan(value) else f"{value:.{digits}f}" for value in values)


def result(cells: dict[tuple[str, int], Figures]) -> str:
    """Coverage of differences in sets that fit the model, and in the others."""
    parts = []
    for fits, where in ((True, "in sets that fit the model"), (False, "in the others")):
        covers = {
            (name, labels): of["B - A"]["coverage"]
            for (name, labels), of in cells.items()
            if SETS[name].fits == fits and labels * SETS[name].share[-1] >= ALONE
        }
        if covers:
            ours, only, _ = np.mean(list(covers.values()), axis=0)
            worst = min(covers, key=lambda cell: covers[cell][0])
            least = "{:.0%}, {} with {:,}".format(covers[worst][0], *worst)
            parts.append(f"in {ours:.0%} of runs {where} (least: {least}; labels only {only:.0%})")
    intervals = f"With {ALONE} labels or more expected in B, 95 % intervals of B - A cover"
    return f"{intervals} {' and '.join(parts)}."


def long_table(cells: dict[tuple[str, int], Figures]) -> str:
    """All figures of all quantities, as CSV."""
    keys = next(iter(cells.values()))["B"]
    lines = [["set", "labels", "of", *(f"{key} {method}" for key in keys for method in METHODS)]]
    for (name, labels), found in cells.items():
        for what, of in found.items():
            values = [f"{value:.4g}" for key in keys for value in of[key]]
            lines.append([name, str(labels), what, *values])
    return "".join(f"{','.join(line)}\n" for line in lines)


def measure(runs: int = 50, sets: tuple[str, ...] = tuple(SETS)) -> Page:
    pairs = [(name, labels) for name in sets for labels in SETS[name].labels]
    found = each(run, [(*pair, number) for pair in pairs for number in range(runs)])
    cells, lines = {}, []
    for pair in pairs:
        cells[pair], line = summary(*pair, [next(found) for _ in range(runs)])
        lines.append(line)
    body = BODY.format(runs=runs, cells=table(COLUMNS, lines))
    return Page(result(cells), body, {"stress.csv": long_table(cells)})
