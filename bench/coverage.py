"""Coverage of 95 % intervals on real scores, and its cost in width, error and CPU time.

    python bench/coverage.py --data FOLDER [--runs N] [--labeled N ...] [--methods NAME ...]

FOLDER holds score files of either layout of `paper/scores.py`: DATASET_ATTRIBUTE, the released
test scores (source "paper_scores"), or DATASET_MODEL (source "scores"). As in the paper, all
labels but n are hidden, delta is estimated and compared with delta of all labels; every method
sees the same labels. `paper/experiment.py` defines the estimand, and how labels are hidden.

Each run of each method and target becomes a row of the results. A second call computes what is
missing. Every cell gets its first 25 runs before any gets more, so that an interrupted call leaves
comparable results. The numbers of a run depend only on its cell, method and number. At the end
`coverage_report.py` writes COVERAGE.md from all rows of the results.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
# without this folder: numba imports any module named coverage, and would find coverage.py
sys.path[:] = [
    *(str(HERE / "paper"), str(HERE.parent)),
    *(p for p in sys.path if Path(p).resolve() != HERE),
]

from tqdm import tqdm  # noqa: E402

from bench.coverage_report import KEY, PARTS, write_report  # noqa: E402
from bench.paper.experiment import (  # noqa: E402
    BATCH,
    DRAWS,
    METRICS,
    TAIL,
    Configuration,
    delta,
    fit,
    hidden,
    run,
    run_streams,
    shown_rows,
    truth,
)
from bench.paper.methods import CURVES, Curves  # noqa: E402
from bench.paper.scores import MODELS, Case, cases, privileged, rows  # noqa: E402
from bench.paper.spline import spline_regions  # noqa: E402
from lightfair.core.data.logit import Floats  # noqa: E402
from lightfair.core.data.rows import ScoreData  # noqa: E402
from lightfair.core.data.table import ScoreTable  # noqa: E402
from lightfair.core.metrics.definitions import theta  # noqa: E402
from lightfair.core.metrics.imputation import TARGETS, confusion_counts  # noqa: E402
from lightfair.core.model.curve import default_prior  # noqa: E402
from lightfair.core.model.regions import Trust  # noqa: E402

POPULATION_RUNS = 50  # runs of the target "population"
LABELED = (10, 20, 40, 100, 200, 1000)
COLUMNS = (*KEY, "run", "cpu", *(f"{metric}_{part}" for metric in METRICS for part in PARTS))

TRUST = Curves("beta", True, default_prior(True), Trust())

# fits of calibration curves by name; a line more is a fit more
FITS: dict[str, Curves] = {
    "calibration": CURVES["calibration"],
    "trust": TRUST,
    "spline": TRUST._replace(cut=spline_regions),
}


class Interval(NamedTuple):
    """Estimates and intervals of one metric, float64 (run,); NaN where undefined."""

    estimate: Floats
    low: Floats
    high: Floats


class Answer(NamedTuple):
    """For one target: CPU seconds of a run, and an interval for each metric."""

    cpu: float
    intervals: dict[str, Interval]


class Task(NamedTuple):
    """Runs of a cell, which includes the method."""

    cell: Configuration
    runs: list[int]


def beta_binomial(cell: Configuration, data: ScoreData, runs: list[int]) -> dict[str, Answer]:
    """Labels-only estimates under Beta(1, 1)."""
    began = time.process_time()
    answers = run(cell._replace(method="beta_binomial_1"), runs)
    seconds = (time.process_time() - began) / len(runs)
    intervals = {name: Interval(*answer[1:4]) for name, answer in answers.items()}
    return {"population": Answer(seconds, intervals)}


def tables_of(cell: Configuration, runs: list[int]) -> list[ScoreTable]:
    """Tables of the rows of some runs with all but the shown labels hidden."""
    return _tables_of(cell._replace(method=""), tuple(runs))


@lru_cache(maxsize=2)
def _tables_of(cell: Configuration, runs: tuple[int, ...]) -> list[ScoreTable]:
    data = rows(cell.case, cell.model, cell.turn)
    return [hidden(data, shown_rows(cell, data, number)) for number in runs]


def prediction_powered(cell: Configuration, data: ScoreData, runs: list[int]) -> dict[str, Answer]:
    """Prediction-powered estimates, without a model; the interval of delta is Welch's."""
    from lightfair.core.metrics import prediction_powered as powered

    tables = tables_of(cell, runs)
    answers = {}
    for target in ("sample", "population"):
        began = time.process_time()
        intervals = {}
        for name in METRICS:
            weight = delta(np.eye(len(data.groups)), data, truth(data, name)[1])
            estimates = [powered.prediction_powered(name, table, target=target) for table in tables]
            of_runs = [_welch(one.mean, one.se, one.df, weight) for one in estimates]
            intervals[name] = Interval(*np.array(of_runs).T)
        answers[target] = Answer((time.process_time() - began) / len(runs), intervals)
    return answers


def _welch(mean: Floats, se: Floats, df: Floats, weight: Floats) -> tuple[float, float, float]:
    """Estimate, low and high of a weighted sum of independent estimates, all float64 (group,)."""
    from scipy.special import stdtrit

    used = weight != 0.0
    parts = (weight[used] * se[used]) ** 2
    total, bottom = parts.sum(), (parts**2 / df[used]).sum()
    freedom = total**2 / bottom if bottom > 0.0 else np.inf
    centre = float(mean[used] @ weight[used])
    reach = float(stdtrit(freedom, 1.0 - TAIL) * np.sqrt(total))
    return centre, centre - reach, centre + reach


def calibrated(
    cell: Configuration, data: ScoreData, runs: list[int], *, curves: Curves
) -> dict[str, Answer]:
    """Curves fitted to a batch of runs; all targets are imputed from the same draws."""
    tables = tables_of(cell, runs)
    began = time.process_time()
    psi, where = fit(cell, tables, runs, DRAWS, curves)
    fitting = time.process_time() - began
    answers = {}
    for target in targets_of(cell.method, runs)[1:]:
        began = time.process_time()
        streams = run_streams(cell, runs, target)
        counts = [
            confusion_counts(of_run, table, target=target, rng=rng, regions=where, jit=True)
            for of_run, table, rng in zip(psi, tables, streams, strict=True)
        ]
        seconds = (fitting + time.process_time() - began) / len(runs)
        for name, column in {"expected": 1, target: 0}.items():
            if name not in answers:
                drawn = np.stack([count[column] for count in counts])
                of_metric = {metric: _central(drawn, data, metric) for metric in METRICS}
                answers[name] = Answer(seconds, of_metric)
    return answers


def _central(counts: Floats, data: ScoreData, name: str) -> Interval:
    """Mean and central interval of delta; counts (run, chain, draw, group, 2, 2)."""
    drawn = delta(theta(name, counts), data, truth(data, name)[1]).reshape(len(counts), -1)
    ends = np.nanquantile(drawn, [TAIL, 1.0 - TAIL], axis=1)
    return Interval(np.nanmean(drawn, axis=1), *ends)


METHODS: dict[str, Callable[[Configuration, ScoreData, list[int]], dict[str, Answer]]] = {
    "beta_binomial": beta_binomial,
    "prediction_powered": prediction_powered,
    **{name: partial(calibrated, curves=curves) for name, curves in FITS.items()},
}
# of methods without all three targets
METHOD_TARGETS = {"beta_binomial": ("population",), "prediction_powered": ("sample", "population")}


def main() -> int:
    arguments = _arguments()
    if not arguments.report_only:
        try:
            source, case_list = find_cases(arguments.data)
        except FileNotFoundError as error:
            print(error, file=sys.stderr)
            return 2
        done = _done(arguments.results)
        tasks = _missing(arguments, source, case_list, done)
        _work(tasks, done, arguments.results[0], source, arguments.processes)
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        print(f"{sum(u.ru_utime + u.ru_stime for u in used):.0f} s of CPU")
    call = f"python bench/coverage.py --data FOLDER --runs {arguments.runs} --labeled "
    call += f"{' '.join(map(str, arguments.labeled))} --methods {' '.join(arguments.methods)}"
    print(write_report(arguments.results, arguments.out, default=arguments.default, call=call))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/scores"))
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--labeled", type=int, nargs="+", default=LABELED)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument(
        "--results",
        type=Path,
        nargs="+",
        default=[Path(tempfile.gettempdir()) / "coverage_results.csv"],
        help="rows are appended to the first file; other files only count as done and are reported",
    )
    parser.add_argument("--processes", type=int, choices=[1, 2], default=2)
    parser.add_argument(
        "--cells", type=_share, default=(1, 1), metavar="i/k", help="the i-th of k shares of cells"
    )
    parser.add_argument("--default", default="trust", help="the method to which the goals apply")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the report")
    parser.add_argument("--report-only", action="store_true", help="compute nothing")
    arguments = parser.parse_args()
    if arguments.runs < 2:
        parser.error("--runs must be at least 2")
    return arguments


def _share(text: str) -> tuple[int, int]:
    part, _, of = text.partition("/")
    if not (part.isdigit() and of.isdigit() and 1 <= int(part) <= int(of)):
        raise argparse.ArgumentTypeError(f"must be i/k with 1 <= i <= k; got {text!r}")
    return int(part), int(of)


def find_cases(folder: Path) -> tuple[str, list[Case]]:
    """Infer the source from the file names; return it and its pairs of data set and attribute."""
    names = [path.name.removesuffix(".csv.gz") for path in folder.glob("*.csv.gz")]
    replica = any(name.rpartition("_")[2] in MODELS for name in names)
    return "scores" if replica else "paper_scores", cases(folder, replica=replica)


def _missing(
    arguments: argparse.Namespace,
    source: str,
    case_list: list[Case],
    done: dict[tuple[str, ...], set[int]],
) -> list[Task]:
    """List runs missing from the results, in rounds, with the cells of a round shuffled."""
    cells = [
        (case, model, n_labeled)
        for case in case_list
        for model in MODELS
        for n_labeled in arguments.labeled
        if n_labeled < len(rows(case, model).label)
    ]
    part, of = arguments.cells
    order = np.random.default_rng(0).permutation(
        len(cells)
    )  # otherwise a share may have a single n
    cells = [cells[at] for at in sorted(order[part - 1 :: of])]
    tasks = []
    for first in range(0, arguments.runs, BATCH):
        numbers = list(range(first, min(first + BATCH, arguments.runs)))
        for at in np.random.default_rng(first).permutation(len(cells)):
            for method in arguments.methods:
                cell = Configuration(*cells[at], method)
                known = [done.get(key, set()) for key in _keys(source, cell, numbers)]
                left = [n for n in numbers if not all(n in finished for finished in known)]
                if left:
                    tasks.append(Task(cell, left))
    return tasks


def targets_of(method: str, runs: list[int]) -> tuple[str, ...]:
    """Targets of a method in a block of runs; "expected" comes with "sample", from one count.

    "population", another estimand and the most expensive to impute, has fewer runs.
    """
    targets = METHOD_TARGETS.get(method, TARGETS)
    return targets if runs[0] < POPULATION_RUNS or method in METHOD_TARGETS else targets[:2]


def _keys(source: str, cell: Configuration, runs: list[int]) -> Iterator[tuple[str, ...]]:
    """Yield the key of each target of a method."""
    case, model, n_labeled, method, *_ = cell
    for target in targets_of(method, runs):
        yield (source, case.dataset, case.attribute, model, str(n_labeled), method, target)


def _work(
    tasks: list[Task],
    done: dict[tuple[str, ...], set[int]],
    results: Path,
    source: str,
    processes: int,
) -> None:
    """Run tasks in worker processes and append their results as they finish."""
    if not tasks:
        return
    # read by the workers when they start: always compiled kernels, one thread each
    os.environ.update(LIGHTFAIR_JIT="1", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    results.parent.mkdir(parents=True, exist_ok=True)
    new = not results.exists() or results.stat().st_size == 0
    one_each = list({task.cell.method: task for task in tasks}.values())
    with (
        results.open("a", newline="") as out,
        ProcessPoolExecutor(
            processes, multiprocessing.get_context("spawn"), _warm, (one_each,)
        ) as pool,
        tqdm(total=sum(len(task.runs) for task in tasks), unit="fit", mininterval=1.0) as bar,
    ):
        writer = csv.writer(out, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        # the methods of a cell follow each other: one worker takes them, and shares their tables
        chunk = len({task.cell.method for task in tasks})
        for task, lines in pool.map(_answer, tasks, chunksize=chunk):
            for key in _keys(source, task.cell, task.runs):
                had = done.get(key, set())
                writer.writerows(
                    [*key, number, *values]
                    for number, values in zip(task.runs, lines[key[-1]], strict=True)
                    if number not in had
                )
            out.flush()
            bar.update(len(task.runs))


def _warm(tasks: list[Task]) -> None:
    """Load compiled functions and SciPy before anything is timed."""
    for cell, runs in tasks:
        _answer(Task(cell, runs[:1]))


def _answer(task: Task) -> tuple[Task, dict[str, list[list[str]]]]:
    """Return the task and, for each target, the values of its rows."""
    cell, runs = task
    data = rows(cell.case, cell.model, cell.turn)
    truths = {name: _true_delta(data, name) for name in METRICS}
    lines = {}
    for target, answer in METHODS[cell.method](cell, data, runs).items():
        lines[target] = [
            [f"{answer.cpu:.3g}", *_values(truths, answer, i)] for i in range(len(runs))
        ]
    return task, lines


def _true_delta(data: ScoreData, name: str) -> float:
    """Delta from all labels; NaN where no group but the privileged one has the metric."""
    value, defined = truth(data, name)
    return value if np.delete(defined, privileged(data)).any() else np.nan


def _values(truths: dict[str, float], answer: Answer, i: int) -> Iterator[str]:
    for name in METRICS:
        for value in (truths[name], *(column[i] for column in answer.intervals[name])):
            yield "" if np.isnan(value) else f"{value:.7g}"


def _done(results: list[Path]) -> dict[tuple[str, ...], set[int]]:
    """Read the finished runs by key; a truncated last line is removed from the first file."""
    if results[0].exists():
        text = results[0].read_bytes()
        os.truncate(results[0], text.rfind(b"\n") + 1)
    done: dict[tuple[str, ...], set[int]] = {}
    for path in results:
        if not path.exists():
            continue
        with path.open(newline="") as lines:
            for row in csv.reader(lines):
                if len(row) == len(COLUMNS) and row[0] != KEY[0]:
                    done.setdefault(tuple(row[: len(KEY)]), set()).add(int(row[len(KEY)]))
    return done


if __name__ == "__main__":
    raise SystemExit(main())
