"""Why do the printed errors differ from ours?

Four sets of printed errors differ from ours. A: calibration, accuracy of Adult race. B: LLO at the
largest number of labels, accuracy (without Bank, whose split differs). C: calibration, true
positive rate of Compas-R gender, naive Bayes. D: calibration, false positive rate of Adult gender
and Compas-R gender. A hypothesis changes one step. It must not break what agrees: E and F,
calibration of Adult gender and Compas-R gender, accuracy and (without C) true positive rate; and
the columns beside A from labels only, frequency and Beta(1/2, 1/2).

In the table: median of ours / printed; cells equal within Monte Carlo error (two standard errors of
the difference, plus rounding). *Explains* a set: at least three quarters of its cells are equal,
and more than as run. *Helps*: a quarter of the cells more than as run. *Breaks* a column: it loses
more than a tenth of its cells. All hypotheses see the same labels, unless these are what changes;
Metropolis (`metropolis.py`) has the first 8 runs. Blank: nothing changes, or not tried.

- "in the estimate only": the truth stays that of all others, weighted by rows.
- "two groups": curves of the privileged group and of the others merged; labels are pooled.
- "the other attribute's file": networks and forests were fitted anew for each attribute.
- "slip": the released script for TPR and FPR has c in place of log b, and no clip. A score of 1
  then stays 1 whatever the labels, so that the estimated gap in C is near 0.
- Not in the table, as nothing changes: the clip at 0.01 before the threshold (no score crosses
  1/2), the released scales of LLO (ours has them), log odds of at most 15 (part of the slip).

Metropolis: R-hat is that of the worst parameter of the curves. Other test rows: at alpha = 0.1 and
10 labels the estimate is that of the scores as they are, so the error is a fixed number of scores
and test rows. Released: this number in percent, ± its standard error over draws of as many test
rows; apart: printed minus released, in such standard errors. Needed: the mean score of the
predictions of the others that would give the printed error, of the same sign as ours; lowest, mean,
highest: of the other groups. A needed number outside is reached by no weights of the groups.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lightfair.core.data.logit import Floats
from lightfair.core.data.rows import ScoreData
from lightfair.core.mcmc.convergence import gelman_rubin
from lightfair.core.metrics.definitions import theta

from ..evidence import Page, each, table
from . import metropolis
from .cells import TABLES, comparisons
from .experiment import Configuration, delta, fit, hidden, shown_rows, truth
from .methods import CURVES
from .scores import MODELS, cases, privileged, rows

SMALLEST = {"runs": 2, "label_runs": 5, "warmup": 20}

CLIP, CAP, ROUNDING, PAPER_RUNS = 0.01, 15.0, 0.05, 100
DRAWS, THIN, METROPOLIS_RUNS = 150, 10, 8  # draws of each of two chains
HARD, EASY = {"adult race", "simulated group"}, {"adult gender", "compas-r gender"}
SEVERAL = ("pairs", "mean", "largest")  # the same gap if there are two groups
COLUMNS = ("A", "B", "C", "D", "E", "F", "frequency", "beta-binomial")
AREAS = {"A": "Adult race", "B": "LLO", "C": "TPR of Compas-R gender", "D": "FPR of both genders"}
METROPOLIS = "plain Metropolis, 4 x (1500 + 200)"
ROWS_HEAD = "model | released | ± | printed | apart | needed | lowest | mean | highest"
TEXT = """
**Metropolis.** R-hat: median {rhat:.1f}, 90 % quantile {high:.1f}. Errors: {gain:.2f} times those
of our sampler in the same runs (median cell).
"""
OTHER_ROWS = """
**Other test rows.** The true gap in C is {gap:.1f} ± {se:.1f} %. In A:

"""


class Cell(NamedTuple):
    """A printed error; labels: those of frequency and beta-binomial beside it."""

    area: str
    configuration: Configuration
    metric: str
    printed: float
    labels: tuple[float, float]


class Hypothesis(NamedTuple):
    """One change; gaps: see `weights`; fitted: see `curves`; true: "others", "zero" or "fpr"."""

    gaps: str = "others"
    fitted: str = ""
    imputed: bool = False
    slip: bool = False
    median: bool = False
    true: str = ""
    areas: str = "ABCDEF"


HYPOTHESES = {
    "as run": Hypothesis(),
    "medians of the posterior": Hypothesis(median=True),
    "all pairs of groups": Hypothesis("pairs", areas="AB"),
    "each group against all rows": Hypothesis("all", areas="ABE"),
    "mean of the others without weights": Hypothesis("mean", areas="AB"),
    "mean without weights, in the estimate only": Hypothesis("mean", true="others", areas="AB"),
    "largest other group": Hypothesis("largest", areas="AB"),
    "largest other group, in the estimate only": Hypothesis("largest", true="others", areas="AB"),
    "two groups, the others merged": Hypothesis(fitted="two", areas="AB"),
    "one curve for all groups": Hypothesis(fitted="one", areas="AB"),
    "one curve, labels imputed too": Hypothesis(fitted="one", imputed=True, areas="AB"),
    "labels imputed too": Hypothesis(imputed=True),
    "labels drawn with replacement": Hypothesis(fitted="replacement", areas="ABCE"),
    "a score of 1/2 is negative": Hypothesis(fitted="above"),
    METROPOLIS: Hypothesis(fitted="metropolis", areas="ABC"),
    "scores of the other attribute's file": Hypothesis(fitted="other file", areas="ABE"),
    "slip": Hypothesis(slip=True, areas="CDF"),
    "slip, true gap 0": Hypothesis(slip=True, true="zero", areas="CDF"),
    "slip, true gap of the FPR": Hypothesis(slip=True, true="fpr", areas="CF"),
}


def weights(gaps: str, data: ScoreData, defined: np.ndarray) -> Floats:
    """Return what the rates of groups are multiplied by: float64 (gap, group)."""
    one, size = np.eye(len(data.groups)), np.bincount(data.group) * defined
    own = one[privileged(data)]
    others = size * (1.0 - own)
    if gaps == "pairs":
        first, second = (np.flatnonzero(defined)[i] for i in np.triu_indices(sum(defined), 1))
        return one[first] - one[second]
    if gaps == "all":
        return one[defined] - size / size.sum()
    if gaps == "mean":
        return (own - (others > 0) / np.count_nonzero(others))[None]
    if gaps == "largest":
        return (own - one[np.argmax(others)])[None]
    return delta(one, data, defined)[None]


def printed_cells(data: Path) -> list[Cell]:
    """List the printed errors of the six sets."""
    beside = {}
    for name in ("accuracy", "llo", "tpr", "fpr"):
        with suppress(FileNotFoundError):
            beside[name] = comparisons(data, TABLES[name])
    labels = {(*cell[:3], cell.method): value for cell, value, _ in beside["accuracy"]}
    found = []
    for name, lines in beside.items():
        most: dict[str, int] = {}
        for cell, *_ in lines:
            most[pair(cell)] = max(most.get(pair(cell), 0), cell.n_labeled)
        for cell, value, _ in lines:
            area = area_of(name, cell, most[pair(cell)])
            if area:
                ours = tuple(
                    labels.get((*cell[:3], by), np.nan)
                    for by in ("frequency", "beta_binomial_half")
                )
                found.append(Cell(area, cell, TABLES[name].metric, value, ours))
    return sorted(found, key=lambda cell: cell.area)


def pair(cell: Configuration) -> str:
    return f"{cell.case.dataset} {cell.case.attribute}"


def area_of(name: str, cell: Configuration, most: int) -> str:
    """Return the set of a printed cell, or an empty string."""
    where, calibration = pair(cell), cell.method == "calibration"
    if name == "llo":
        return "B" * (cell.method == name and cell.n_labeled == most and "bank" not in where)
    if calibration and name == "tpr" and (where, cell.model) == ("compas-r gender", "gnb"):
        return "C"
    if calibration and name == "accuracy" and where in HARD:
        return "A"
    return {"accuracy": "E", "tpr": "F", "fpr": "D"}[name] * (calibration and where in EASY)


def try_all(task: tuple[Cell, int, int, int]) -> tuple[dict, dict, list[float]]:
    """Return the errors of a cell by hypothesis, those of labels only, and R-hat of Metropolis."""
    cell, runs, label_runs, warmup = task
    sets, psi, drawn, errors, labels, rhat = {}, {}, {}, {}, {}, []
    most = max(runs, label_runs) if cell.area == "A" else runs
    for name, (gaps, how, imputed, slip, median, true, areas) in HYPOTHESES.items():
        seen = rows_of(cell, how)
        if cell.area not in areas or seen is None:
            continue
        if len(seen.groups) == 2 and (gaps in SEVERAL or how == "two"):
            continue
        if (again := how == "replacement") not in sets:
            sets[again] = [drawn_rows(cell, seen, run, again) for run in range(most)]
        shown, of = sets[again], "" if how == "above" else how
        if of not in psi:
            of_runs = shown[: METROPOLIS_RUNS if how == "metropolis" else runs]
            psi[of] = curves(cell, seen, of_runs, of, warmup)
            if how == "metropolis":
                rhat = [float(gelman_rubin(one)[..., [0, 2]].max()) for one in psi[of]]
        way = (how, imputed, slip)
        if way not in drawn:
            drawn[way] = rates(cell, seen, psi[of], shown, imputed, slip)
        answer = seen if how == "above" else rows_of(cell, "")
        defined = truth(answer, cell.metric)[1]
        weight = weights(gaps, answer, defined)
        by_group = theta("fpr" if true == "fpr" else cell.metric, confusion(answer, answer.label))
        of_truth = weights("others", answer, defined) if true == "others" else weight
        right = of_truth @ np.nan_to_num(by_group) * (true != "zero")
        gap = np.nan_to_num(drawn[way]) @ weight.T  # (run, draw, gap)
        centre = np.median(gap, axis=1) if median else gap.mean(axis=1)
        errors[name] = (100.0 * np.abs(centre - right).mean(axis=1)).tolist()
        if cell.area == "A":
            by = merged(answer, how) if how == "two" else answer
            alike = "others" if true == "others" else gaps
            labels[name] = labels_only(by, alike, shown[:label_runs])
    return errors, labels, rhat


def rows_of(cell: Cell, how: str) -> ScoreData | None:
    """Return the rows; "other file": with a model fitted anew, or None."""
    case, model = cell.configuration.case, cell.configuration.model
    if how == "other file":
        files = cases(Path(case.folder), replica=False)
        stems = [c.stem for c in files if c.dataset == case.dataset and c.column != case.column]
        other = rows(case._replace(stem=stems[0]), model) if stems else None
        same = other is None or np.array_equal(other.score, rows(case, model).score)
        return None if same else other
    data = rows(case, model)
    return replace(data, predicted=data.score > 0.5) if how == "above" else data


def drawn_rows(cell: Cell, data: ScoreData, run: int, again: bool) -> np.ndarray:
    """Return the rows whose labels are shown; the first ones are one of each group."""
    shown, first = shown_rows(cell.configuration, data, run), len(data.groups)
    if again:
        rng = np.random.default_rng([run, len(shown)])
        shown[first:] = rng.integers(len(data.label), size=len(shown) - first)
    return shown


def merged(data: ScoreData, how: str) -> ScoreData:
    """Merge all groups but the privileged one ("two"), or all ("one")."""
    if how not in ("one", "two"):
        return data
    chosen = privileged(data)
    group = (data.group != chosen).astype(np.int32) * (how == "two")
    names = (data.groups[chosen], "others")[: 1 + int(group.max())]
    return replace(data, group=group, groups=names, parts=tuple((name,) for name in names))


def curves(cell: Cell, data: ScoreData, shown: list[np.ndarray], how: str, warmup: int) -> Floats:
    """Draw curves: float64 (run, chain, draw, group, 3)."""
    method = cell.configuration.method
    if how == "metropolis":
        prior = CURVES[method].prior
        return metropolis.draw(data, np.stack(shown), prior, method == "llo", warmup, CLIP)
    by = merged(data, how)
    tables = [hidden(by, np.unique(one)) for one in shown]
    psi = fit(cell.configuration, tables, list(range(len(shown))), DRAWS)[0]
    first = np.unique(data.group, return_index=True)[1]
    return psi[..., by.group[first], :3]


def rates(
    cell: Cell, data: ScoreData, psi: Floats, shown: list[np.ndarray], imputed: bool, slip: bool
) -> Floats:
    """Return the metric by run, draw and group; shown labels count as observed or are imputed."""
    score = data.score if slip else np.clip(data.score, CLIP, 1.0 - CLIP)
    with np.errstate(divide="ignore"):
        up, down = np.log(score), np.log1p(-score)
    results = []
    for of_run, labeled in zip(psi, shown, strict=False):
        a, b, c = np.moveaxis(of_run.reshape(-1, *of_run.shape[2:])[::THIN], -1, 0)
        slope, other, shift = (x[:, data.group] for x in (np.exp(a), np.exp(c if slip else b), c))
        odds = shift + slope * up - other * down
        rate = 0.5 + 0.5 * np.tanh(0.5 * np.minimum(odds, CAP))
        if not imputed:
            rate[:, labeled] = data.label[labeled]
        results.append(theta(cell.metric, confusion(data, rate)))
    return np.stack(results)


def confusion(data: ScoreData, rate: np.ndarray) -> Floats:
    """Add up chances of label 1: (..., row) -> (..., group, predicted, label)."""
    place = np.eye(2 * len(data.groups))[data.group * 2 + data.predicted]
    positive = rate @ place
    counts = np.stack([place.sum(axis=0) - positive, positive], axis=-1)
    return counts.reshape(*np.shape(rate)[:-1], len(data.groups), 2, 2)


def labels_only(data: ScoreData, gaps: str, shown: list[np.ndarray]) -> list[list[float]]:
    """Return the errors in accuracy of frequency and Beta(1/2, 1/2), in percent, by run."""
    right = data.predicted == data.label
    size = len(data.groups)
    count = np.stack([np.bincount(data.group[one], minlength=size) for one in shown])
    hits = np.stack([np.bincount(data.group[one], right[one], size) for one in shown])
    weight = weights(gaps, data, np.ones(size, bool))
    true = weight @ (np.bincount(data.group, right) / np.bincount(data.group))
    return [
        (
            100.0 * np.abs((hits + prior) / (count + 2.0 * prior) @ weight.T - true).mean(axis=1)
        ).tolist()
        for prior in (0.0, 0.5)
    ]


def compare(name: str, found: list[Cell], answers: list) -> dict[str, Floats]:
    """Return, by column, (cell, 3): ours / printed, whether equal, whether equal as run."""
    columns: dict[str, list[tuple]] = {column: [] for column in COLUMNS}
    for cell, (errors, labels, _) in zip(found, answers, strict=True):
        if name not in errors:
            continue
        pairs = [(cell.area, errors[name], errors["as run"], cell.printed)]
        if labels:
            pairs += zip(COLUMNS[6:], labels[name], labels["as run"], cell.labels, strict=True)
        for column, ours, base, printed in pairs:
            both = [np.array(one[: len(ours)]) for one in (ours, base)]
            noise = np.hypot(len(ours) ** -0.5, PAPER_RUNS**-0.5)
            equal = [
                abs(x.mean() - printed) <= 2.0 * x.std(ddof=1) * noise + ROUNDING for x in both
            ]
            columns[column].append((both[0].mean() / printed, *equal))
    return {column: np.array(cells) for column, cells in columns.items() if cells}


def cell_text(cells: Floats) -> str:
    return f"{np.median(cells[:, 0]):.2f}; {cells[:, 1].sum():.0f}/{len(cells)}"


def verdict(columns: dict[str, Floats]) -> str:
    """Return which of A to D a hypothesis explains, and what it breaks."""
    words = []
    for column, cells in columns.items():
        _, equal, base = cells.mean(axis=0)
        if column not in "ABCD":
            words += [f"breaks {column}"] if equal < base - 0.1 else []
        elif equal > base and equal >= 0.75:
            words.append(f"explains {column}")
        elif equal >= base + 0.25:
            words.append(f"helps {column}")
    return ", ".join(words) or "no"


def other_rows(data: Path) -> str:
    """Compare errors of the scores as they are, of Adult race, with the printed ones."""
    known = {case[:2]: case for case in cases(data / "paper_scores", replica=False)}
    if ("adult", "race") not in known:
        return ""
    printed = {
        cell.model: value
        for cell, value, _ in comparisons(data, TABLES["sensitivity"])
        if (cell.n_labeled, cell.alpha, cell.method) == (10, 0.1, "calibration")
    }
    models = [rows(known["adult", "race"], model) for model in MODELS]
    clipped = [one.score.clip(CLIP, 1.0 - CLIP) for one in models]
    score = 100.0 * np.maximum(clipped, 1.0 - np.array(clipped))
    right = 100.0 * np.array([one.predicted == one.label for one in models])
    value = np.array([printed[model] for model in MODELS])
    score, right = (np.vstack([x, x.mean(axis=0)]) for x in (score, right))
    value = np.append(value, value.mean())
    group, size = models[0].group, np.bincount(models[0].group)
    means = np.eye(len(size))[group] / size  # (row, group)
    weight = weights("others", models[0], size > 0)[0]
    excess = (score - right) @ means
    error = np.abs(excess @ weight)
    se = np.sqrt((score - right - excess[:, group]) ** 2 @ means**2 @ weight**2)
    by_group = score @ means
    needed = (
        by_group[:, weight > 0][:, 0] - right @ means @ weight - value * np.sign(excess @ weight)
    )
    others = by_group[:, weight < 0]
    columns = [
        error,
        se,
        value,
        (value - error) / se,
        needed,
        others.min(1),
        others.mean(1),
        others.max(1),
    ]
    lines = [[f"{x:.1f}" for x in line] for line in zip(*columns, strict=True)]
    named = [[name, *line] for name, line in zip([*MODELS, "mean"], lines, strict=True)]
    compas = rows(known["compas-r", "gender"], "gnb")
    positive = [compas.predicted[(compas.label == 1) & (compas.group == g)] for g in (0, 1)]
    share = np.array([one.mean() for one in positive])
    noise = 100.0 * np.sqrt(sum(one.var() / len(one) for one in positive))
    text = OTHER_ROWS.format(gap=100.0 * abs(share[0] - share[1]), se=noise)
    return text + table(ROWS_HEAD, named)


def measure(
    data: Path, runs: int = 16, label_runs: int = 100, warmup: int = 1500, keep: Path | None = None
) -> Page:
    found = printed_cells(data)
    answers = list(each(try_all, [(cell, runs, label_runs, warmup) for cell in found], keep))
    lines, results = [], []
    compared = {name: compare(name, found, answers) for name in HYPOTHESES}
    for name, columns in compared.items():
        cells = {column: cell_text(x) for column, x in columns.items()}
        words = verdict(columns) if name != "as run" else ""
        lines.append([name, *(cells.get(column, "") for column in COLUMNS), words])
    for area, title in AREAS.items():
        tried = [n for n, columns in compared.items() if area in columns and n != "as run"]
        clean = [name for name in tried if "breaks" not in verdict(compared[name])]
        best = max(clean or tried, key=lambda name: compared[name][area][:, 1].mean(), default="")
        explained = [name for name in tried if f"explains {area}" in verdict(compared[name])]
        if set(clean) & set(explained):
            results.append(f"{title} ({area}): explained by {best}")
        elif explained:
            results.append(f"{title} ({area}): only by what breaks other cells ({explained[0]})")
        elif best:
            ratio = cell_text(compared[best][area])
            near = f"nearest: {best}, {ratio.split('; ')[1]}"
            results.append(f"{title} ({area}): not explained ({near})")
    both = [(e[METROPOLIS], e["as run"][:METROPOLIS_RUNS]) for e, *_ in answers if METROPOLIS in e]
    rhat = np.concatenate([one for *_, one in answers])
    gain = np.median([np.mean(ours) / np.mean(base) for ours, base in both])
    body = table(f"hypothesis | {' | '.join(COLUMNS)} | verdict", lines)
    body += TEXT.format(rhat=np.median(rhat), high=np.quantile(rhat, 0.9), gain=gain)
    return Page(f"{'; '.join(results)}.", body + other_rows(data))
