"""The paper's tables, run again

Ji, Smyth and Steyvers, "Can I Trust My Fairness Metric?" (NeurIPS 2020), print seven tables. Here
they are computed again on the test scores that the authors released, and the first one on a replica
(scikit-learn models fitted to the same data sets), and set beside the printed numbers.

Rows are shuffled, one row of every group goes to the front, and the labels of the first n are
shown. The estimand is delta, theta of the privileged group minus the mean of the other groups'
theta weighted by their test rows; the truth is delta of all labels. A cell is the mean of
|estimate - truth| over runs, in percent. All models and methods see the same labeled sets.

*beta(p)*: the beta-binomial under Beta(p, p). *calibration*: the paper's BC, at its prior; the
estimate is the posterior mean of the target `expected`, equation 1 of the paper. *NHBC*: the same
without the hierarchy: each group has a copy of the prior, or, with *mu = 0*, one around the
identity. *trust*: the default of the library. Scores are clipped to [0.01, 0.99], as in the
released program; a score of 0.5 is a positive prediction, as in the text. German scores are
reversed: the released score is the chance of bad credit, while label 1 means good. A fit is 2
chains of 150 sweeps of warm-up and 250 draws, or 150 where no interval is needed.

*Equal*: ours and the printed number differ by at most two standard errors of the difference plus
the rounding; about 5 % of cells would miss that by chance. *At most 1.1*: ours is within 10 % of
the printed error or below it. *Labels agree*: in the cells whose frequency, or where that is empty
beta(1/2), is equal, so that the released scores may be those of the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..evidence import Page, each, table
from .cells import TABLES, Cell, compare, comparisons, to_csv
from .experiment import BATCH, METRICS, Configuration, run

SMALLEST = {"runs": 2, "tables": ("accuracy", "tpr", "fpr")}

HERE = Path(__file__).resolve().parent
TITLES = {
    "frequency": "frequency",
    "beta_binomial_half": "beta(1/2)",
    "beta_binomial_1": "beta(1)",
    "beta_binomial_2": "beta(2)",
    "calibration": "calibration",
    "calibration sample": "calibration, sample",
    "trust": "trust",
    "nhbc_zero": "NHBC, mu = 0",
    "nhbc": "NHBC",
    "llo": "LLO",
}
CURVES = ("calibration", "trust", "nhbc_zero", "nhbc", "llo")
PAIRED = {
    "accuracy": ("frequency", "calibration"),
    "tpr": ("beta_binomial_half", "calibration"),
    "fpr": ("beta_binomial_half", "calibration"),
    "ablation": ("nhbc_zero",),
    "llo": ("llo",),
    "replica": ("frequency", "calibration"),
}
BESIDE = ("beta_binomial_half", "beta_binomial_1", "calibration")
Task = tuple[Configuration, int, int]


def answer(task: Task) -> list:
    """Answers of some runs of a configuration: (metric, 6, run)."""
    configuration, first, last = task
    answers = run(configuration, list(range(first, last)))
    return np.array([np.broadcast_arrays(*answers[name]) for name in METRICS]).tolist()


def measure(
    data: Path, tables: tuple[str, ...] = tuple(TABLES), runs: int = 100, keep: Path | None = None
) -> Page:
    numbers = {name: runs * TABLES[name].runs // 100 for name in tables}
    beside = {name: comparisons(data, name) for name in tables}
    tasks = [
        (cell, *block)
        for name in tables
        for _, cell in beside[name]
        for block in blocks(numbers[name])
    ]
    tasks = list(dict.fromkeys(tasks))
    found = dict(zip(tasks, map(np.array, each(answer, tasks, keep)), strict=True))
    cells = {}
    for name in tables:
        answers = {
            cell: np.concatenate([found[(cell, *block)] for block in blocks(numbers[name])], axis=2)
            for _, cell in beside[name]
        }
        cells[name] = compare(TABLES[name], beside[name], answers)
    sections = [section(name, cells[name], numbers[name]) for name in tables]
    files = {f"summary/{name}.csv": to_csv(cells[name]) for name in tables}
    return Page(result(cells), "\n".join([*sections, by_pair(cells)]), files)


def blocks(runs: int) -> list[tuple[int, int]]:
    """The runs of a task: first, and one more than the last."""
    return [(first, min(first + BATCH, runs)) for first in range(0, runs, BATCH)]


def result(cells: dict[str, list[Cell]]) -> str:
    """What was found in the tables of accuracy, tpr and fpr."""
    parts = []
    for name, of_table in cells.items():
        if not TABLES[name].trust:
            continue
        known = agreeing(of_table)
        selected = [one for one in of_table if one.method == "calibration" and one[:4] in known]
        share = np.mean([within(one) for one in selected])
        lower, number = wins(of_table, "calibration", "beta_binomial_half")
        errors, scores = (
            [
                np.mean([one[at] for one in of_table if one.method == method])
                for method in CURVES[:2]
            ]
            for at in (Cell._fields.index("value"), Cell._fields.index("score_sample"))
        )
        parts.append(
            f"{name}: {share:.0%} of {len(selected)} cells, below the beta-binomial in {lower} of "
            f"{number}; mean error {errors[0]:.2f} %, with trust {errors[1]:.2f} %, interval "
            f"score {scores[0]:.1f} and {scores[1]:.1f}"
        )
    head = "Calibration is within 10 % of the printed error or below it where labels agree in "
    return head + "; ".join(parts) + "." if parts else "See the tables."


def section(name: str, cells: list[Cell], runs: int) -> str:
    """The part of the page on one table."""
    parts = [f"## {TABLES[name].title}\n\n{runs} runs; all cells: `summary/{name}.csv`.\n"]
    if TABLES[name].share:
        parts.append(coverage(cells))
    else:
        parts += [counts(cells, TABLES[name].rounding), against(cells)]
    if TABLES[name].trust:
        parts.append(trusted(cells))
    if name == "sensitivity":
        parts.append(by_alpha(cells))
    notes = HERE / "notes" / f"{name}.md"
    return "\n".join([*parts, *[notes.read_text()] * notes.exists()])


def counts(cells: list[Cell], rounding: float) -> str:
    """How often cells are equal to the printed ones, or at most 10 % above."""
    rows, known = [], agreeing(cells)
    for method, selected in by_method(cells):
        near = []
        for part in (selected, [cell for cell in selected if cell[:4] in known]):
            with_rounding = sum(within(cell, rounding) for cell in part)
            near.append(f"{sum(map(within, part))} ({with_rounding}) of {len(part)}")
        ratio = np.median([cell.value / cell.printed for cell in selected if cell.printed])
        unmatched = [cell for cell in cells if cell.method == method and not cell.verdict]
        here = sum(np.isnan(cell.value) and not np.isnan(cell.printed) for cell in unmatched)
        there = sum(np.isnan(cell.printed) and not np.isnan(cell.value) for cell in unmatched)
        empty = f"{here}; {there}" if unmatched else ""
        rows.append([TITLES[method], *verdicts(selected), empty, *near, f"{ratio:.2f}"])
    titles = "lower | equal | higher | empty only here; only printed"
    titles += " | at most 1.1 (with rounding) | where labels agree | median of ours / printed"
    return table(f" | {titles}", rows)


def coverage(cells: list[Cell]) -> str:
    """How often cells are equal to the printed ones, and means by number of labels."""
    sizes = sorted({cell.n_labeled for cell in cells})
    rows = []
    for method, selected in by_method(cells):
        means = [
            [np.mean([one[at] for one in selected if one.n_labeled == size]) for size in sizes]
            for at in (Cell._fields.index("value"), Cell._fields.index("printed"))
        ]
        shown = [f"{ours:.1f} / {printed:.1f}" for ours, printed in zip(*means, strict=True)]
        rows.append([TITLES[method], *verdicts(selected), *shown])
    titles = " | ".join(f"{size} labels" for size in sizes)
    return table(f"ours / printed | lower | equal | higher | {titles}", rows)


def against(cells: list[Cell]) -> str:
    """Cells in which a method has a lower error than others."""
    rows = []
    for method, selected in by_method(cells):
        if method not in CURVES:
            continue
        row = [TITLES[method]]
        for other in BESIDE:
            lower, number = wins(cells, method, other)
            printed = wins(cells, method, other, "printed")[0]
            shown = f"{lower} of {number}" + f"; {printed}" * (method != "trust")
            row.append(shown if number else "")
        rows.append([*row, sum(cell.best for cell in selected)])
    titles = " | ".join(TITLES[other] for other in BESIDE)
    return "Lower mean error than others, in ours; in the printed table:\n\n" + table(
        f" | {titles} | every printed column, by Wilcoxon's test", rows
    )


def trusted(cells: list[Cell]) -> str:
    """Trust against calibration: errors and interval scores by number of labels."""
    rows = []
    pairs = {cell[:4]: [cell] for cell in cells if cell.method == "calibration"}
    for cell in cells:
        if cell.method == "trust":
            pairs[cell[:4]].append(cell)
    for size in (*sorted({cell.n_labeled for cell in cells}), "all"):
        both = [pair for pair in pairs.values() if size in ("all", pair[0].n_labeled)]
        row = [size]
        for what in ("value", "score_expected", "score_sample"):
            left, right = np.array([[getattr(one, what) for one in pair] for pair in both]).T
            row += [f"{left.mean():.2f}", f"{right.mean():.2f}"]
            row.append(f"{np.count_nonzero(right < left)} of {len(both)}")
        rows.append(row)
    titles = (f"{what}: calibration | trust | lower" for what in ("error", "expected", "sample"))
    return (
        "Trust against calibration: mean error, and interval scores of the 95 % intervals of the\n"
        "targets `expected` and `sample`, in percent; and in how many cells trust is lower:\n\n"
        + table(f"labels | {' | '.join(titles)}", rows)
    )


def by_alpha(cells: list[Cell]) -> str:
    """Mean errors over models by number of labels and alpha."""
    curves = [cell for cell in cells if cell.method == "calibration"]
    alphas = sorted({cell.alpha for cell in curves})
    rows = []
    for size in sorted({cell.n_labeled for cell in curves}):
        row = [size]
        for alpha in alphas:
            one = [cell for cell in curves if (cell.n_labeled, cell.alpha) == (size, alpha)]
            ours, printed = (
                np.mean([getattr(c, what) for c in one]) for what in ("value", "printed")
            )
            row.append(f"{ours:.2f} / {printed:.2f}")
        rows.append(row)
    return "Ours / printed, mean over models, by alpha:\n\n" + table(
        f"labels | {' | '.join(f'{alpha:g}' for alpha in alphas)}", rows
    )


def by_pair(cells: dict[str, list[Cell]]) -> str:
    """Agreement by data set and attribute."""
    columns = [(name, method) for name in cells for method in PAIRED.get(name, ())]
    rows = []
    for pair in dict.fromkeys(cell[:2] for name, _ in columns for cell in cells[name]):
        row = [" ".join(pair)]
        for name, method in columns:
            one = [c for c in dict(by_method(cells[name])).get(method, []) if c[:2] == pair]
            ratio = [cell.value / cell.printed for cell in one if cell.printed]
            equal = f"{verdicts(one)[1]} of {len(one)}"
            row.append(f"{equal}, {np.median(ratio):.2f}" if ratio else "")
        rows.append(row)
    titles = (f"{name}: {TITLES[method]}" for name, method in columns)
    return (
        "## By data set and attribute\n\n"
        "Cells that are equal, and the median of ours / printed.\n\n"
        + table(f" | {' | '.join(titles)}", rows)
    )


def by_method(cells: list[Cell]) -> Iterator[tuple[str, list[Cell]]]:
    """Methods, and their cells that have a printed one to compare with."""
    for method in TITLES:
        selected = [cell for cell in cells if cell.method == method and cell.verdict]
        if selected:
            yield method, selected


def verdicts(cells: list[Cell]) -> list[int]:
    return [sum(cell.verdict == one for cell in cells) for one in ("lower", "equal", "higher")]


def within(cell: Cell, rounding: float = 0.0) -> bool:
    """Whether the error is at most 10 % above the printed one."""
    return cell.value <= 1.1 * (cell.printed + rounding)


def agreeing(cells: list[Cell]) -> set[tuple]:
    """Data set, attribute, labels and model where a labels-only column is equal."""
    known = {}
    for method in ("beta_binomial_half", "frequency"):  # the latter, where it is not empty
        known.update(
            {one[:4]: one.verdict for one in cells if one.method == method and one.verdict}
        )
    return {key for key, verdict in known.items() if verdict == "equal"}


def wins(cells: list[Cell], method: str, other: str, what: str = "value") -> tuple[int, int]:
    """In how many cells a method is lower than another, and of how many."""
    known = {(*cell[:4], cell.alpha): getattr(cell, what) for cell in cells if cell.method == other}
    pairs = []
    for cell in cells:
        alpha = 1.0 if other.startswith("beta") else cell.alpha
        right = known.get((*cell[:4], alpha), np.nan)
        if cell.method == method and method != other and not np.isnan(right):
            pairs.append(getattr(cell, what) < right)
    return sum(pairs), len(pairs)
