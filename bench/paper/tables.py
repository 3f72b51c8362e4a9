"""The paper's tables, run again

Ji, Smyth and Steyvers, "Can I Trust My Fairness Metric?" (NeurIPS 2020), print seven tables. Those
that the command names, or all, are computed again on the test scores that the authors released and
set beside the printed numbers; *replica* is the first one on the scores of scikit-learn models that
were fitted to the same data sets.

Rows are shuffled, one row of every group goes to the front, and the labels of the first n are
shown. The estimand is delta, theta of the privileged group minus the mean of the other groups'
theta weighted by their test rows; the truth is delta of all labels. A cell is the mean of
|estimate - truth| over runs, in percent. All models and methods see the same labeled sets.

*beta(p)*: the beta-binomial under Beta(p, p). *calibration*: the paper's BC, at its prior; the
estimate is the posterior mean of the target `expected`, equation 1 of the paper. *NHBC*: the same
without the hierarchy; as the paper does not say which prior a group then has, each has a copy, or,
with *mu = 0*, one around the identity. *LLO*: linear in log odds, at the released prior. *trust*:
the default of the library. Scores are clipped to [0.01, 0.99], as in the released program; a score
of 0.5 is a positive prediction, as in the text. German scores are reversed: the released score is
the chance of bad credit, while label 1 means good. A fit is 2 chains of 150 sweeps of warm-up and
250 draws, or 150 where no interval is needed.

*Equal*: ours and the printed number differ by at most two standard errors of the difference plus
the rounding; about 5 % of cells would miss that by chance. *At most 1.1*: ours is within 10 % of
the printed error or below it. *Labels agree*: in the cells whose frequency, or where that is empty
beta(1/2), is equal, so that the released scores may be those of the paper. *Empty*: nothing is
printed, or nothing can be estimated. *With rounding*: if the printed number is as large as its
rounding allows. *Below every column*: errors are smaller than those of each other method, by
Wilcoxon's signed-rank test at 5 %. All cells are in `summary/`, one file a table.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ..evidence import Page, each, table
from .cells import KEY, TABLES, compare, comparisons
from .experiment import BATCH, METRICS, Configuration, run
from .methods import LABELS_ONLY

SMALLEST = {"runs": 2, "tables": ("accuracy", "tpr", "fpr")}

NOTES = Path(__file__).resolve().parent / "notes"
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
BY_PAIR = {  # methods of a table
    "accuracy": ("frequency", "calibration"),
    "tpr": ("beta_binomial_half", "calibration"),
    "fpr": ("beta_binomial_half", "calibration"),
    "ablation": ("nhbc_zero",),
    "llo": ("llo",),
    "replica": ("frequency", "calibration"),
}
Task = tuple[Configuration, int, int]


def answer(task: Task) -> list:
    """Answers of a configuration, from the first run to one before the last: (metric, 6, run)."""
    configuration, first, last = task
    answers = run(configuration, list(range(first, last)))
    return np.array([np.broadcast_arrays(*answers[name]) for name in METRICS]).tolist()


def measure(
    data: Path, tables: tuple[str, ...] = tuple(TABLES), runs: int = 100, keep: Path | None = None
) -> Page:
    beside = {name: comparisons(data, TABLES[name]) for name in tables}
    number = {name: runs * TABLES[name].runs // 100 for name in tables}
    most = {}
    for name in tables:
        for cell, *_ in beside[name]:
            most[cell] = max(most.get(cell, 0), number[name])
    tasks = [
        (cell, first, min(first + BATCH, last))
        for cell, last in most.items()
        for first in range(0, last, BATCH)
    ]
    parts = {cell: [] for cell in most}
    for (cell, *_), values in zip(tasks, each(answer, tasks, keep), strict=True):
        parts[cell].append(np.array(values))
    answers = {cell: np.concatenate(of_cell, axis=2) for cell, of_cell in parts.items()}
    cells = {name: compare(TABLES[name], beside[name], answers, number[name]) for name in tables}
    files = {
        f"summary/{name}.csv": of_table.to_csv(index=False, float_format="%.4g")
        for name, of_table in cells.items()
    }
    sections = [section(*item) for item in cells.items()]
    return Page(result(cells), "\n".join([*sections, trusted(cells), by_pair(cells)]), files)


def result(cells: dict[str, pd.DataFrame]) -> str:
    """Summarize the tables of accuracy, tpr and fpr."""
    parts = []
    for name in (name for name in cells if TABLES[name].trust):
        methods = dict(by_method(cells[name]))
        calibration, trust = methods["calibration"], methods["trust"]
        near = within(calibration[calibration.labels == "equal"])
        error, score = (
            f"{calibration[of].mean():.2f} % (trust: {trust[of].mean():.2f} %)"
            for of in ("value", "score_sample")
        )
        parts.append(
            f"{name}: where labels agree, calibration is at most 1.1 times the printed error in "
            f"{near.mean():.0%} of {len(near)} cells; in all, below beta(1/2) in "
            f"{below(cells[name], 'calibration', 'beta_binomial_half')}, mean error {error}, "
            f"interval score {score}."
        )
    return " ".join(parts) or "See the tables."


def section(name: str, cells: pd.DataFrame) -> str:
    """Return the part of the page on one table."""
    parts = [f"## {TABLES[name].title}, {cells.runs.max()} runs\n"]
    parts.append(counts(cells, TABLES[name].rounding, share=TABLES[name].share))
    if TABLES[name].share:
        parts.append(means(cells, "method", "n_labeled"))
    if name == "sensitivity":
        parts.append(means(cells[cells.method == "calibration"], "n_labeled", "alpha"))
    note = NOTES / f"{name}.md"
    if note.exists():
        parts.append(note.read_text())
    return "\n".join(parts)


def counts(cells: pd.DataFrame, rounding: float, *, share: bool) -> str:
    """How often cells are equal to the printed ones, not much higher, and below others."""
    rows = []
    for method, selected in by_method(cells):
        compared = selected[selected.verdict != ""]
        row = [TITLES[method]]
        row += [(selected.verdict == verdict).sum() for verdict in ("lower", "equal", "higher", "")]
        if not share:
            for part in (compared, compared[compared.labels == "equal"]):
                near = f"{within(part).sum()} ({within(part, rounding).sum()}) of {len(part)}"
                row.append(near if len(part) else "")
            row.append(f"{ratio(compared):.2f}" if len(compared) else "")
            for other in ("beta_binomial_half", "calibration"):
                ours, printed = (below(cells, method, other, of) for of in ("value", "printed"))
                row.append(f"{ours}; {printed}" if ours and method != "trust" else ours)
            row.append(selected.best.sum() or "")
        rows.append(row)
    titles = " | lower | equal | higher | empty"
    if not share:
        titles += " | at most 1.1 (with rounding) | where labels agree | median of ours / printed"
        titles += " | below beta(1/2), ours; printed | below calibration | below every column"
    return table(titles, rows)


def trusted(cells: dict[str, pd.DataFrame]) -> str:
    """Trust against calibration: errors and interval scores by number of labels."""
    rows = []
    for name in (name for name in cells if TABLES[name].trust):
        for size, part in [*cells[name].groupby("n_labeled"), ("all", cells[name])]:
            row = [name, size]
            for what in ("value", "score_expected", "score_sample"):
                wide = part.pivot_table(index=KEY, columns="method", values=what)
                row += [f"{wide.calibration.mean():.2f}", f"{wide.trust.mean():.2f}"]
                row.append(f"{(wide.trust < wide.calibration).sum()} of {len(wide)}")
            rows.append(row)
    titles = (f"{what}: calibration | trust | lower" for what in ("error", "expected", "sample"))
    return (
        "## Trust against calibration\n\n"
        "Mean error, mean interval scores of the 95 % intervals of the targets `expected` and\n"
        "`sample`, in percent; and in how many cells trust is lower.\n\n"
        + table(f"table | labels | {' | '.join(titles)}", rows)
    )


def means(cells: pd.DataFrame, index: str, columns: str) -> str:
    """Means of ours and of the printed cells."""
    known = cells[cells.verdict != ""]
    ours, printed = (
        known.pivot_table(index=index, columns=columns, values=value)
        for value in ("value", "printed")
    )
    rows = [
        [TITLES.get(name, name), *(f"{a:.2f} / {b:.2f}" for a, b in zip(left, right, strict=True))]
        for name, left, right in zip(ours.index, ours.values, printed.values, strict=True)
    ]
    head = f"Means, ours / printed, by {index} and {columns}:\n\n"
    return head + table(f" | {' | '.join(f'{one:g}' for one in ours.columns)}", rows)


def by_pair(cells: dict[str, pd.DataFrame]) -> str:
    """Agreement by data set and attribute."""
    columns, rows = [(name, method) for name in cells for method in BY_PAIR.get(name, ())], {}
    for name, method in columns:
        known = cells[name][(cells[name].method == method) & (cells[name].verdict != "")]
        for pair, part in known.groupby(["dataset", "attribute"]):
            equal = f"{(part.verdict == 'equal').sum()} of {len(part)}, {ratio(part):.2f}"
            rows.setdefault(" ".join(pair), {})[name, method] = equal
    titles = " | ".join(f"{name}: {TITLES[method]}" for name, method in columns)
    return (
        "## By data set and attribute\n\n"
        "Cells that are equal, and the median of ours / printed.\n\n"
        + table(
            f" | {titles}",
            ([pair, *(row.get(column, "") for column in columns)] for pair, row in rows.items()),
        )
    )


def by_method(cells: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Methods and their cells, in the order of the titles."""
    return [(one, cells[cells.method == one]) for one in TITLES if one in set(cells.method)]


def within(cells: pd.DataFrame, rounding: float = 0.0) -> pd.Series:
    """Whether errors are at most 10 % above the printed ones."""
    return cells.value <= 1.1 * (cells.printed + rounding)


def ratio(cells: pd.DataFrame) -> float:
    """Median of ours / printed."""
    return float((cells.value / cells.printed)[cells.printed > 0.0].median())


def below(cells: pd.DataFrame, method: str, other: str, of: str = "value") -> str:
    """In how many cells a method is lower than another, and of how many."""
    theirs = cells[(cells.method == other) & (cells.alpha == 1.0)].set_index(KEY)[of]
    ours = cells[(cells.method == method) & (method != other) & (method not in LABELS_ONLY)]
    both = ours.join(theirs.rename("theirs"), on=KEY).dropna(subset="theirs")
    return f"{(both[of] < both.theirs).sum()} of {len(both)}" if len(both) else ""
