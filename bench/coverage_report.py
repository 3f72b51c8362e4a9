"""COVERAGE.md: how often intervals cover the truth, how wide they are, and which goals are met.

A cell is a source, data set, attribute, model, number of labels and metric. For each method and
target it has a mean over runs of: whether the interval covers the truth, its width, the absolute
error of the estimate, and the interval score (Gneiting and Raftery 2007, section 6.2)

    (high - low) + 2 / alpha * (low - truth if truth < low) + 2 / alpha * (truth - high if above)

with alpha = 0.05; lower is better. All are in percent (points of delta). Runs without an interval
are left out of the means and counted separately; cells whose truth is undefined are left out.

Standard errors are those of a bootstrap over run numbers: the models, metrics and numbers of
labels of a data set share the labels shown in a run, so runs are drawn whole.
"""

from __future__ import annotations

import csv
import math
import subprocess
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

KEY = ("source", "dataset", "attribute", "model", "n_labeled", "method", "target")
METRICS = ("accuracy", "tpr", "fpr")
PARTS = ("truth", "estimate", "low", "high")
SOURCES = ("paper_scores", "scores")
ALPHA = 0.05
SLACK = 2e-5  # percent; numbers are stored with 7 digits
BOOTSTRAP = 200
CALIBRATION, LABELS = ("calibration", "sample"), ("beta_binomial", "population")


class Cell(NamedTuple):
    """What is estimated from how many labels."""

    dataset: str
    attribute: str
    model: str
    n_labeled: int
    metric: str


class Runs(NamedTuple):
    """The runs of a cell, by number: float64 (run,), NaN where not run or undefined; percent.

    truth: a number; done: bool (run,); cpu: milliseconds, those of the whole fit.
    """

    truth: float
    done: npt.NDArray[np.bool_]
    cpu: Floats
    estimate: Floats
    low: Floats
    high: Floats


class Summary(NamedTuple):
    """A cell by one method and target; percent and milliseconds, NaN where nothing is defined."""

    runs: int
    undefined: int
    coverage: float
    coverage_se: float
    width: float
    mae: float
    mae_se: float
    interval_score: float
    cpu_ms: float


class Goal(NamedTuple):
    """A goal, the measured value, and whether it is met; None if it was not run."""

    text: str
    measured: str
    met: bool | None


Way = tuple[str, str]  # method and target
Results = dict[Way, dict[Cell, Runs]]


def write_report(results: list[Path], folder: Path, *, default: str, call: str) -> str:
    """Write COVERAGE.md and coverage/summary_SOURCE.csv; return the goals as text.

    `default` is the method to which the goals apply, with the target "sample"; `call` is how the
    bench was called.
    """
    by_source = read_results(results)
    subject = (default, "sample")
    log = ["git", "-C", str(Path(__file__).parent), "log", "-1", "--format=%h, %as"]
    commit = subprocess.run(log, capture_output=True, text=True, check=True).stdout.strip()
    sections, blocks = [f"{_HEAD}\n`{call}`, commit {commit}.\n"], []
    for source in SOURCES:
        if source not in by_source:
            continue
        block = _goals_block(source, goals(by_source[source], subject), subject)
        blocks.append(block)
        sections += [block, *_section(source, by_source[source], subject)]
        write_summary(folder / "coverage" / f"summary_{source}.csv", by_source[source])
    if not blocks:
        return f"no results in {', '.join(path.name for path in results)}"
    (folder / "COVERAGE.md").write_text("\n".join(sections))
    return "\n".join(blocks)


# reading


def read_results(paths: list[Path]) -> dict[str, Results]:
    """Read rows of all files, by source; of several rows of one run the last one counts."""
    numbers: dict[tuple[str, ...], array] = {}
    for path in paths:
        if not path.exists():
            continue
        with path.open(newline="") as lines:
            reader = csv.reader(lines)
            width = len(next(reader, ()))
            for row in reader:
                if len(row) == width and row[0] != KEY[0]:  # not truncated
                    values = [float(text) if text else math.nan for text in row[len(KEY) :]]
                    numbers.setdefault(tuple(row[: len(KEY)]), array("d")).extend(values)
    by_source: dict[str, Results] = {}
    for key, values in numbers.items():
        source, dataset, attribute, model, n_labeled, *way = key
        table = np.array(values).reshape(-1, 2 + len(METRICS) * len(PARTS))
        of_way = by_source.setdefault(source, {}).setdefault((way[0], way[1]), {})
        for i, metric in enumerate(METRICS):
            runs = _by_number(table[:, :2], table[:, 2 + len(PARTS) * i :][:, : len(PARTS)])
            if not math.isnan(runs.truth):
                of_way[Cell(dataset, attribute, model, int(n_labeled), metric)] = runs
    return by_source


def _by_number(head: Floats, parts: Floats) -> Runs:
    """Put rows in the order of their numbers; head: number and CPU seconds."""
    number = head[:, 0].astype(int)
    full = np.full((len(PARTS), number.max() + 1), np.nan)
    full[0, number] = 1000.0 * head[:, 1]
    full[1:, number] = 100.0 * parts[:, 1:].T
    done = np.zeros(full.shape[1], dtype=bool)
    done[number] = True
    return Runs(100.0 * float(parts[0, 0]), done, *full)


# one run, one cell


def covered(runs: Runs) -> Floats:
    """100 where the interval covers the truth, else 0."""
    inside = (runs.low - SLACK <= runs.truth) & (runs.truth <= runs.high + SLACK)
    return np.where(np.isnan(runs.low), np.nan, 100.0 * inside)


def width(runs: Runs) -> Floats:
    return runs.high - runs.low


def error(runs: Runs) -> Floats:
    return np.abs(runs.estimate - runs.truth)


def interval_score(runs: Runs) -> Floats:
    below = np.maximum(runs.low - runs.truth, 0.0)
    above = np.maximum(runs.truth - runs.high, 0.0)
    return width(runs) + 2.0 / ALPHA * (below + above)


def cpu(runs: Runs) -> Floats:
    return runs.cpu


def summary(runs: Runs) -> Summary:
    """Means over the runs of a cell."""
    inside, off = covered(runs), error(runs)
    count = int(np.count_nonzero(~np.isnan(inside)))
    coverage = float(_mean(inside))
    return Summary(
        runs=int(runs.done.sum()),
        undefined=int(runs.done.sum()) - count,
        coverage=coverage,
        coverage_se=_share_se(coverage, count),
        width=float(_mean(width(runs))),
        mae=float(_mean(off)),
        mae_se=_standard_error(off),
        interval_score=float(_mean(interval_score(runs))),
        cpu_ms=float(_mean(runs.cpu)),
    )


def _mean(values: Floats, axis: int = -1) -> Floats:
    """Mean of the values that are not NaN; NaN if there are none."""
    known = ~np.isnan(values)
    count = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return np.divide(total, count, out=np.full(np.shape(total), np.nan), where=count > 0)


def _standard_error(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.std(ddof=1) / math.sqrt(len(known))) if len(known) > 1 else math.nan


def _share_se(percent: float, runs: int) -> float:
    """Standard error of a share, in percent; a share of 0 or 1 is taken to be half a run off."""
    if not runs:
        return math.nan
    share = min(max(percent / 100.0, 0.5 / runs), 1.0 - 0.5 / runs)
    return 100.0 * math.sqrt(share * (1.0 - share) / runs)


def write_summary(path: Path, results: Results) -> None:
    """Write a line for every cell, method and target."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*Cell._fields, "method", "target", *Summary._fields])
        for way in sorted(results):
            for cell in sorted(results[way]):
                line = summary(results[way][cell])
                numbers = ["" if v != v else f"{v:.4g}" for v in line[2:]]
                writer.writerow([*cell, *way, *line[:2], *numbers])


# many cells


def stacked(of: Callable[[Runs], Floats], cells: Iterable[Runs]) -> Floats:
    """Values of cells side by side: float64 (cell, run), NaN where there is no run."""
    values = [of(runs) for runs in cells]
    out = np.full((len(values), max(map(len, values), default=0)), np.nan)
    for row, known in zip(out, values, strict=True):
        row[: len(known)] = known
    return out


def bootstrap(statistic: Callable[..., float], *values: Floats) -> tuple[float, float]:
    """A statistic of arrays (cell, run), and its standard error over resampled runs."""
    rng = np.random.default_rng(0)
    count = values[0].shape[1]
    again = []
    for _ in range(BOOTSTRAP):
        picked = rng.integers(count, size=count)
        again.append(statistic(*(v[:, picked] for v in values)))
    known = [value for value in again if not math.isnan(value)]
    return statistic(*values), float(np.std(known, ddof=1)) if len(known) > 1 else math.nan


def _mean_of_cells(values: Floats) -> float:
    return float(_mean(_mean(values)))


def _paired(of: Callable[[Runs], Floats], ways: Iterable[dict[Cell, Runs]]) -> list[Floats]:
    """Values of the cells and runs that all ways share, (cell, run)."""
    ways = list(ways)
    cells = [cell for cell in ways[0] if all(cell in other for other in ways[1:])]
    values = [stacked(of, (way[cell] for cell in cells)) for way in ways]
    shortest = min(v.shape[1] for v in values)
    values = [v[:, :shortest] for v in values]
    lacking = np.any([np.isnan(v) for v in values], axis=0)
    return [np.where(lacking, np.nan, v) for v in values]


# goals


def goals(results: Results, subject: Way) -> list[Goal]:
    """The goals of the default with their measured values; "not run" where rows are missing."""
    rival = {way: results.get(way, {}) for way in (subject, CALIBRATION, LABELS)}
    cells, curve, labels = (rival[way] for way in (subject, CALIBRATION, LABELS))
    at_most = {cell: runs for cell, runs in cells.items() if cell.n_labeled == 1000}
    lines: list[tuple[str, Callable[[], tuple[str, bool]], bool]] = [
        ("mean coverage between 93.5 and 97.5 %", lambda: _mean_coverage(cells), bool(cells)),
        ("at least 90 % of cells at or above 90 %", lambda: _cells_at_90(cells), bool(cells)),
        ("no cell under 80 %", lambda: _cells_under_80(cells), bool(cells)),
        (
            "MAE in 95 % of cells at most 10 % above the better of calibration and beta-binomial",
            lambda: _errors(cells, curve, labels),
            bool(cells.keys() & curve.keys() & labels.keys()),
        ),
        (
            "mean MAE at n = 1000 below that of calibration and of beta-binomial",
            lambda: _errors_at_1000(at_most, curve, labels),
            bool(at_most.keys() & curve.keys() & labels.keys()),
        ),
        (
            "mean ratio of widths to calibration, where that covers 93 % or more, at most 1.2",
            lambda: _widths(cells, curve),
            bool(cells.keys() & curve.keys()),
        ),
        (
            "CPU time at most twice that of calibration",
            lambda: _cost(cells, curve),
            bool(cells.keys() & curve.keys()),
        ),
    ]
    return [
        Goal(text, *measure()) if there else Goal(text, "not run", None)
        for text, measure, there in lines
    ]


def _mean_coverage(cells: dict[Cell, Runs]) -> tuple[str, bool]:
    value, se = bootstrap(_mean_of_cells, stacked(covered, cells.values()))
    return f"{value:.2f} % (± {se:.2f}), {len(cells)} cells", 93.5 <= value <= 97.5


def _cells_at_90(cells: dict[Cell, Runs]) -> tuple[str, bool]:
    def share(values: Floats) -> float:
        by_cell = _mean(values)
        return float(100.0 * np.mean(by_cell[~np.isnan(by_cell)] >= 90.0))

    value, se = bootstrap(share, stacked(covered, cells.values()))
    below, surely = _count_below(cells, 90.0)
    return (
        f"{value:.1f} % of cells (± {se:.1f}); {below} are below, {surely} of them by more than "
        "two standard errors",
        value >= 90.0,
    )


def _cells_under_80(cells: dict[Cell, Runs]) -> tuple[str, bool]:
    below, surely = _count_below(cells, 80.0)
    lowest = min((summary(runs).coverage for runs in cells.values()), key=_nan_last)
    return (
        f"{below} cells, {surely} of them by more than two standard errors; the lowest has "
        f"{lowest:.1f} %",
        below == 0,
    )


def _count_below(cells: dict[Cell, Runs], bound: float) -> tuple[int, int]:
    """Cells whose coverage is below a bound, and those by more than two standard errors."""
    summaries = [summary(runs) for runs in cells.values()]
    below = sum(s.coverage < bound for s in summaries)
    return below, sum(s.coverage + 2.0 * s.coverage_se < bound for s in summaries)


def _errors(
    cells: dict[Cell, Runs], curve: dict[Cell, Runs], labels: dict[Cell, Runs]
) -> tuple[str, bool]:
    ours, others, plain = _paired(error, (cells, curve, labels))
    means = [_mean(v) for v in (ours, others, plain)]
    better = np.where((means[1] <= means[2])[:, None], others, plain)
    known = ~np.isnan(means[0])
    over = known & (means[0] > 1.1 * np.minimum(means[1], means[2]) + SLACK)
    gaps = (ours - 1.1 * better)[over]
    within = sum(float(_mean(gap)) <= 2.0 * _standard_error(gap) for gap in gaps)
    share, either = (100.0 * (1.0 - n / known.sum()) for n in (over.sum(), over.sum() - within))
    return (
        f"{share:.1f} % of cells; {over.sum()} of {known.sum()} are above, {within} of them within "
        f"two paired standard errors; counting these, {either:.1f} %",
        bool(share >= 95.0),
    )


def _errors_at_1000(
    cells: dict[Cell, Runs], curve: dict[Cell, Runs], labels: dict[Cell, Runs]
) -> tuple[str, bool]:
    ours, others, plain = _paired(error, (cells, curve, labels))
    means = [_mean_of_cells(v) for v in (ours, others, plain)]
    ses = [bootstrap(_mean_of_cells, ours - v)[1] for v in (others, plain)]
    return (
        f"{means[0]:.3f} against {means[1]:.3f} (difference ± {ses[0]:.3f}) and {means[2]:.3f} "
        f"(± {ses[1]:.3f})",
        means[0] < min(means[1:]),
    )


def _widths(cells: dict[Cell, Runs], curve: dict[Cell, Runs]) -> tuple[str, bool]:
    wide = {cell: runs for cell, runs in curve.items() if summary(runs).coverage >= 93.0}
    ours, others = _paired(width, (cells, wide))

    def ratio(a: Floats, b: Floats) -> float:
        return float(_mean(_ratio(_mean(a), _mean(b))))

    if not ours.size:
        return "calibration covers 93 % in no cell", True
    value, se = bootstrap(ratio, ours, others)
    return f"{value:.3f} (± {se:.3f}) in {len(ours)} cells", value <= 1.2


def _cost(cells: dict[Cell, Runs], curve: dict[Cell, Runs]) -> tuple[str, bool]:
    def ratio(a: Floats, b: Floats) -> float:
        return _mean_of_cells(a) / _mean_of_cells(b)

    ours, others = _paired(cpu, (cells, curve))
    value, se = bootstrap(ratio, ours, others)
    by_cell = float(_mean(_ratio(_mean(ours), _mean(others))))
    return (
        f"{value:.2f} (± {se:.2f}) of the sums, {by_cell:.2f} as a mean over cells; "
        f"{_mean_of_cells(ours):.1f} ms against {_mean_of_cells(others):.1f} ms a fit",
        value <= 2.0,
    )


def _ratio(top: Floats, bottom: Floats) -> Floats:
    """top / bottom; NaN where bottom is 0 or NaN, as where all labels are shown."""
    return np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom > 0.0)


def _nan_last(value: float) -> float:
    return math.inf if math.isnan(value) else value


# text


_HEAD = """# Coverage of 95 % intervals on real scores

Made by `bench/coverage.py`; do not edit. Scores of test rows whose labels are all known; all labels
but n are hidden, delta (privileged group minus the weighted mean of the others) of accuracy, TPR
and FPR is estimated, and compared with delta of all labels. Every method sees the same labels. A
cell is a data set, attribute, model, n and metric. A row of a table has the mean over cells of
means over runs. All but CPU and counts is in percent. The interval score is that of Gneiting and
Raftery (2007), alpha = 0.05: the width plus 40 times the distance to a truth outside; lower is
better. Undefined: runs without an interval, such as prediction-powered ones with fewer than 10
labels in a denominator; they do not count as misses. The means are over the other runs, few in some
cells, so that such a row and its neighbours differ in cells and runs. CPU is that of a
fit and of one target's imputation, in batches of 25 runs. ± is a Monte Carlo standard error. The
target `population` is another estimand, with wider intervals, and has at most 50 runs.

`scores` was used to tune the methods, `paper_scores` only for this report.

## How it is made

    python bench/coverage.py --data FOLDER --runs 200 --results FILE.csv

FOLDER has the files DATASET_MODEL.csv.gz (source `scores`) or DATASET_ATTRIBUTE.csv.gz (source
`paper_scores`). Rows are appended; a second call computes what is missing. `--report-only` rewrites
this page from the existing rows. The cells are in `coverage/summary_SOURCE.csv`.
"""
_FIGURES = (
    *("cells", "coverage", "cells at or above 90 %", "cells under 80 %", "width", "MAE"),
    *("interval score", "CPU ms a fit", "undefined"),
)


def _goals_block(source: str, checked: list[Goal], subject: Way) -> str:
    used = "used to tune" if source == "scores" else "only reported"
    words = {True: "met", False: "missed", None: "-"}
    rows = [[goal.text, goal.measured, words[goal.met]] for goal in checked]
    title = f"## Goals on `{source}` ({used})\n\nDefault: `{subject[0]}`, target `{subject[1]}`.\n"
    return f"{title}\n{_markdown(['goal', 'measured', ''], rows)}"


def _section(source: str, results: Results, subject: Way) -> list[str]:
    cells = {way: {c: summary(r) for c, r in by_cell.items()} for way, by_cell in results.items()}
    count = sorted({s.runs for by_cell in cells.values() for s in by_cell.values()})
    return [
        f"## Methods on `{source}`\n",
        f"Runs of a cell: {' to '.join(str(n) for n in {count[0]: 0, count[-1]: 0})}.\n",
        _by_method(results, cells),
        "By number of labels:\n",
        _by_labels(cells),
        _worst(cells, subject),
    ]


def _by_method(results: Results, cells: dict[Way, dict[Cell, Summary]]) -> str:
    rows = []
    for way in sorted(cells):
        figures = _figures(list(cells[way].values()))
        _, se = bootstrap(_mean_of_cells, stacked(covered, results[way].values()))
        if not math.isnan(se):
            figures[1] += f" ± {se:.1f}"
        rows.append([*way, *figures])
    return _markdown(["method", "target", *_FIGURES], rows)


def _by_labels(cells: dict[Way, dict[Cell, Summary]]) -> str:
    rows = []
    for n in sorted({cell.n_labeled for by_cell in cells.values() for cell in by_cell}):
        for way in sorted(cells):
            summaries = [s for cell, s in cells[way].items() if cell.n_labeled == n]
            if summaries:
                rows.append([n, *way, *_figures(summaries)])
    return _markdown(["n", "method", "target", *_FIGURES], rows)


def _figures(summaries: list[Summary]) -> list[str]:
    """Row of a table for some cells; cells without any interval are not counted."""
    columns = {name: np.array([getattr(s, name) for s in summaries]) for name in Summary._fields}
    coverage = columns["coverage"][~np.isnan(columns["coverage"])]
    means = {name: float(_mean(values)) for name, values in columns.items()}
    undefined = columns["undefined"].sum() / columns["runs"].sum()
    if not len(coverage):
        return ["0", *["-"] * (len(_FIGURES) - 3), f"{means['cpu_ms']:.1f}", f"{undefined:.0%}"]
    return [
        str(len(coverage)),
        f"{means['coverage']:.1f}",
        f"{np.mean(coverage >= 90.0):.0%}",
        str(np.count_nonzero(coverage < 80.0)),
        *(f"{means[name]:.2f}" for name in ("width", "mae", "interval_score")),
        f"{means['cpu_ms']:.1f}",
        f"{undefined:.0%}",
    ]


def _worst(cells: dict[Way, dict[Cell, Summary]], subject: Way) -> str:
    """List the cells of the default, or of calibration where that was not run, under 85 %."""
    way = subject if subject in cells else CALIBRATION
    low = [(s.coverage, cell) for cell, s in cells.get(way, {}).items() if s.coverage < 85.0]
    title = f"Cells of {' '.join(way)} under 85 %: {len(low)}"
    if not low:
        return f"{title}.\n"
    others = [other for other in (CALIBRATION, LABELS) if other != way and other in cells]
    rows = [
        [*cell, *(_beside(cells[each].get(cell)) for each in (way, *others))]
        for _, cell in sorted(low)
    ]
    head = [*Cell._fields, *(f"{' '.join(each)}: coverage, width, MAE" for each in (way, *others))]
    return (
        f"<details><summary>{title}, the lowest first</summary>\n\n"
        f"{_markdown(head, rows)}\n</details>\n"
    )


def _beside(cell: Summary | None) -> str:
    if cell is None:
        return ""
    se = _number(cell.coverage_se, 0)
    return f"{_number(cell.coverage, 0)} ± {se}, {_number(cell.width, 1)}, {_number(cell.mae, 1)}"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def _markdown(head: list[str], rows: Iterable[list[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(x) for x in line)} |" for line in lines) + "\n"
