"""Compute the paper's tables again, beside the printed numbers.

    python bench/paper/run.py --table accuracy --runs 100 --data FOLDER

FOLDER holds the authors' released test scores, one file DATASET_ATTRIBUTE.csv.gz for each pair;
with --replica, files DATASET_MODEL.csv.gz of an independent refit. --paper holds the printed tables
as CSV. Every run of every configuration becomes a row of --results. A second call computes what is
missing, so an interrupted call can be resumed, and tables share fits.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import resource
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tqdm import tqdm

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from bench.paper.experiment import METRICS, Answer, Configuration, run  # noqa: E402
from bench.paper.methods import LABELS_ONLY  # noqa: E402
from bench.paper.results import write_results  # noqa: E402
from bench.paper.scores import Case, cases  # noqa: E402
from bench.paper.tables import TABLES, Printed, needed, read_printed, summarise, write_summary  # noqa: E402

KEY = ("source", "dataset", "attribute", "model", "n_labeled", "method", "alpha", "turn", "seed")
COLUMNS = (*KEY, "run", *(f"{metric}_{part}" for metric in METRICS for part in Answer._fields))
CHUNK = 25  # runs of a task where curves are fitted
RUNS = {"coverage": 1000}  # as in the paper; 100 elsewhere

Task = tuple[Configuration, list[int]]


def main() -> int:
    arguments = _arguments()
    try:
        case_list = cases(arguments.data, replica=arguments.replica)
        names = list(TABLES) if arguments.table == "all" else [arguments.table]
        printed = {name: read_printed(arguments.paper, name) for name in names}
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    source = "replica" if arguments.replica else "released"
    runs = {name: arguments.runs or RUNS.get(name, 100) for name in names}
    if not arguments.report_only:
        tasks = _missing(arguments, source, case_list, printed, runs)
        _work(tasks, arguments.results, source, arguments.processes)
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        print(f"{sum(u.ru_utime + u.ru_stime for u in used):.0f} s of CPU")
    for name in names:
        cells = summarise(
            arguments.results,
            TABLES[name],
            printed[name],
            source=source,
            seed=arguments.seed,
            turn=not arguments.as_released,
            runs=runs[name],
        )
        write_summary(arguments.summary, f"{name}_{source}", cells)
        print(f"{name}: {len(cells)} cells in {arguments.summary.name}/{name}_{source}.csv")
    write_results(arguments.summary, arguments.summary.parent / "RESULTS.md")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", choices=[*TABLES, "all"], default="all")
    parser.add_argument("--runs", type=int, help="default: 100, coverage 1000")
    parser.add_argument("--data", type=Path, default=Path("../shared/data/paper_scores"))
    parser.add_argument("--paper", type=Path, help="printed tables; default: near --data")
    parser.add_argument(
        "--results", type=Path, default=Path(tempfile.gettempdir()) / "paper_results.csv"
    )
    parser.add_argument("--summary", type=Path, default=HERE / "summary")
    parser.add_argument("--processes", type=int, choices=[1, 2], default=2)
    parser.add_argument("--replica", action="store_true", help="--data holds DATASET_MODEL.csv.gz")
    parser.add_argument(
        "--as-released", action="store_true", help="German scores as they are, not 1 - score"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report-only", action="store_true", help="compute nothing")
    arguments = parser.parse_args()
    if arguments.runs is not None and arguments.runs < 2:
        parser.error("--runs must be at least 2")
    if arguments.paper is None:
        near = [folder / "paper_tables" for folder in arguments.data.resolve().parents[:2]]
        arguments.paper = next((folder for folder in near if folder.is_dir()), near[0])
    return arguments


def _missing(
    arguments: argparse.Namespace,
    source: str,
    case_list: list[Case],
    printed: dict[str, list[Printed]],
    runs: dict[str, int],
) -> list[Task]:
    """List the needed runs that are missing from the results, in the order of the tables."""
    done = _done(arguments.results)
    where = {(case.dataset, case.attribute): case for case in case_list}
    tasks = []
    queued: set[tuple[Configuration, int]] = set()
    for name, rows in printed.items():
        for dataset, attribute, model, n_labeled, method, alpha in needed(rows):
            if (dataset, attribute) not in where:
                continue
            cell = Configuration(
                *(where[dataset, attribute], model, n_labeled, method, alpha),
                *(not arguments.as_released, arguments.seed),
            )
            key = _key(source, cell)
            left = [
                number
                for number in range(runs[name])
                if (*key, str(number)) not in done and (cell, number) not in queued
            ]
            queued.update((cell, number) for number in left)
            size = 1000 if method in LABELS_ONLY else CHUNK
            tasks += [(cell, left[i : i + size]) for i in range(0, len(left), size)]
    return tasks


def _work(tasks: list[Task], results: Path, source: str, processes: int) -> None:
    """Run tasks in worker processes and append their results, in the order of the tasks."""
    if not tasks:
        return
    # read by the workers when they start: always compiled kernels, one thread each
    os.environ.update(LIGHTFAIR_JIT="1", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    results.parent.mkdir(parents=True, exist_ok=True)
    new = not results.exists() or results.stat().st_size == 0
    total = sum(len(numbers) for _, numbers in tasks)
    with (
        results.open("a", newline="") as out,
        ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool,
        tqdm(total=total, unit="fit", smoothing=0.05, mininterval=1.0) as bar,
    ):
        writer = csv.writer(out)
        if new:
            writer.writerow(COLUMNS)
        for task, rows in zip(tasks, pool.map(_answer, tasks), strict=True):
            key = _key(source, task[0])
            writer.writerows([*key, *row] for row in rows)
            out.flush()
            bar.set_description(" ".join(key[1:6]), refresh=False)
            bar.update(len(rows))


def _answer(task: Task) -> list[list[str]]:
    cell, numbers = task
    answers = run(cell, numbers)
    return [[str(number), *_values(answers, i)] for i, number in enumerate(numbers)]


def _values(answers: dict[str, Answer], i: int) -> Iterator[str]:
    for name in METRICS:
        answer = answers[name]
        yield f"{answer.truth:.6g}"
        yield from ("" if value[i] != value[i] else f"{value[i]:.6g}" for value in answer[1:])


def _key(source: str, cell: Configuration) -> tuple[str, ...]:
    case, model, n_labeled, method, alpha, turn, seed = cell
    return (
        *(source, case.dataset, case.attribute, model, str(n_labeled), method),
        *(f"{alpha:g}", str(int(turn)), str(seed)),
    )


def _done(results: Path) -> set[tuple[str, ...]]:
    """Read the keys of the existing rows; a truncated last line is removed."""
    if not results.exists():
        return set()
    text = results.read_bytes()
    whole = text.rfind(b"\n") + 1
    if whole < len(text):
        os.truncate(results, whole)
    with results.open(newline="") as lines:
        return {tuple(row[: len(KEY) + 1]) for row in csv.reader(lines)}


if __name__ == "__main__":
    raise SystemExit(main())
