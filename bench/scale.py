"""Time and memory against the numbers of rows, groups and labels.

    python bench/scale.py [--rows 1e4 1e5 ...] [--groups 2 5 ...] [--labels 10 100 ...] [--quick]

The pass takes rows to a table: chunks of arrays, made while it runs and never all in memory, or a
Parquet file. The posterior takes the table to an assessment with default options. Every measurement
is its own process: wall-clock and CPU seconds, without the time to make rows; peak memory of the
whole process, interpreter and libraries included. Compiled functions are cached by a run before the
first. Writes SCALE.md and scale.png beside this file.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pickle
import platform
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

# without this folder: numba imports any module named coverage, and would find coverage.py
HERE = Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != HERE]

import lightfair as lf  # noqa: E402

CHUNK = 1_000_000  # rows
ROWS = (1e4, 1e5, 1e6, 1e7, 1e8)
GROUPS = (2, 5, 10, 20, 50, 100, 200)
LABELS = (10, 100, 1e3, 1e4, 1e5, 1e6)
USUAL = {"rows": 10**6, "groups": 2, "labels": 1000}
WARM = {"rows": 10**5, "groups": 2, "labels": 1000}
QUICK = {"rows": (1e4, 1e5, 1e6), "groups": (2, 20), "labels": (10, 1e3, 1e5)}
COLUMNS = {"y_true": "y_true", "y_score": "y_score", "sensitive_features": "group"}
GOAL = 300  # MiB, of the pass
JOBS = {"arrays": "pass, arrays", "parquet": "pass, Parquet", "posterior": "posterior"}
SEED = 20201206


class Clock:
    """Wall-clock and CPU seconds, less those in which rows were made."""

    def __init__(self) -> None:
        self.made = np.zeros(2)
        self.began = self.now()

    @staticmethod
    def now() -> np.ndarray:
        return np.array([time.perf_counter(), time.process_time()])

    def spent(self) -> dict[str, float]:
        wall, cpu = self.now() - self.began - self.made
        return {"wall": float(wall), "cpu": float(cpu)}


def draw(count: int, groups: int, *key: int) -> dict[str, np.ndarray]:
    """Unlabeled rows: y_true int8, -1; y_score float64; group int64."""
    rng = np.random.default_rng([SEED, *key])
    score = rng.standard_normal(count)
    np.exp(-1.5 * score, out=score)
    score = 1.0 / (1.0 + 1.6 * score)
    label = np.full(count, -1, np.int8)
    return {"y_true": label, "y_score": score, "group": rng.integers(groups, size=count)}


def chunks(rows: int, groups: int, labels: int, clock: Clock) -> Iterator[dict[str, np.ndarray]]:
    """Rows in chunks; the labeled ones are the same for any number of rows, spread evenly."""
    before = clock.now()
    known = draw(labels, groups, 0)
    flips = np.random.default_rng(SEED).random(labels)
    known["y_true"] = (flips < known["y_score"]).astype(np.int8)
    for at in range(0, rows, CHUNK):
        size = min(CHUNK, rows - at)
        made = draw(size, groups, 1, at)
        first, last = labels * at // rows, labels * (at + size) // rows
        place = np.random.default_rng([SEED, 2, at]).choice(size, last - first, replace=False)
        for name, column in made.items():
            column[place] = known[name][first:last]
        clock.made += clock.now() - before
        yield made
        before = clock.now()


def pass_of_arrays(rows: int, groups: int, labels: int, clock: Clock) -> lf.ScoreTable:
    return lf.summarize(chunks(rows, groups, labels, clock), **COLUMNS)


def write_parquet(path: Path, rows: int, groups: int, labels: int) -> None:
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    names = arrow.array([f"group {j:03d}" for j in range(groups)])
    writer = None
    for made in chunks(rows, groups, labels, Clock()):
        coded = arrow.array(made["group"].astype(np.int32))
        table = arrow.table(
            {
                "y_true": arrow.array(made["y_true"], mask=made["y_true"] < 0),
                "y_score": made["y_score"],
                "group": arrow.DictionaryArray.from_arrays(coded, names),
            }
        )
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def pass_of_parquet(path: Path) -> lf.ScoreTable:
    return lf.summarize(path, **COLUMNS)


def child(job: str, path: Path, rows: int, groups: int, labels: int) -> dict[str, Any]:
    """One measurement; `path` is the table's, or that of the Parquet file."""
    if job == "write":
        write_parquet(path, rows, groups, labels)
        return {}
    clock = Clock()
    if job == "posterior":
        result = lf.assess(pickle.loads(path.read_bytes()), rng=1)
        figures = clock.spent()
        draws = result.posterior.phi.shape[:2]
        extra = {"draws": int(np.prod(draws)), "ok": bool(result.gate.ok)}
        nodes = len(result.table.nodes().logit)
    else:
        if job == "arrays":
            table = pass_of_arrays(rows, groups, labels, clock)
        else:
            table = pass_of_parquet(path)
        figures = clock.spent()
        if (table.rows, table.labeled, len(table.groups)) != (rows, labels, groups):
            raise ValueError("the table does not hold the rows that were made")
        if job == "arrays":
            path.write_bytes(pickle.dumps(table))
        extra, nodes = {}, len(table.nodes().logit)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        **figures,
        "peak": peak * (1 if sys.platform == "darwin" else 1024),
        **extra,
        "nodes": nodes,
    }


def measured(
    job: str, path: Path, size: dict[str, int], env: dict[str, str] | None = None
) -> dict[str, Any]:
    """Return the measurements of a child process."""
    command = [sys.executable, __file__, "--child", job, str(path), json.dumps(size)]
    env = {**os.environ, **({} if env is None else env)}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=env)
    figures: dict[str, Any] = json.loads(done.stdout)
    if figures and size is not WARM:
        print(
            f"{job:10s} rows {size['rows']:>11,d}  groups {size['groups']:>4d}  labels "
            f"{size['labels']:>9,d}  {figures['wall']:8.2f} s  {figures['cpu']:8.2f} s of CPU  "
            f"{figures['peak'] / 2**20:6.0f} MiB",
            flush=True,
        )
    return figures


def series(
    name: str, values: list[int], folder: Path, jobs: list[str], done: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Measure every job over values of rows, groups or labels, the others as usual.

    done: lines of other series; a size is measured once.
    """
    measured_lines = []
    for value in values:
        size = {**USUAL, name: value}
        if size["labels"] > size["rows"]:
            continue
        again = [line for line in done if line["size"] == size]
        if again:
            measured_lines.append(again[0])
            continue
        table, file = folder / "table.pickle", folder / "rows.parquet"
        line: dict[str, Any] = {"size": size}
        for job in jobs:
            if job == "parquet":
                measured("write", file, size)
            line[job] = measured(job, file if job == "parquet" else table, size)
            file.unlink(missing_ok=True)
        measured_lines.append(line)
    return measured_lines


def slope(lines: list[dict[str, Any]], name: str, job: str, what: str) -> float:
    """Exponent of growth between the last two sizes."""
    (n, a), (m, b) = ((line["size"][name], line[job][what]) for line in lines[-2:])
    return math.log(b / a) / math.log(m / n)


def table_of(name: str, lines: list[dict[str, Any]], jobs: list[str]) -> list[str]:
    head = [name]
    for job in jobs:
        head += [f"{JOBS[job]}: s", "CPU s", "MiB"]
    text = ["| " + " | ".join([*head, "nodes", "draws"]) + " |", "|" + "---:|" * (len(head) + 2)]
    for line in lines:
        cells = [f"{line['size'][name]:,d}"]
        for job in jobs:
            one = line[job]
            cells += [f"{one['wall']:.2f}", f"{one['cpu']:.2f}", f"{one['peak'] / 2**20:.0f}"]
        cells += [f"{line['arrays']['nodes']:,d}", f"{line['posterior']['draws']:,d}"]
        text.append("| " + " | ".join(cells) + " |")
    if len(lines) > 1:
        cells = ["growth"]
        for job in jobs:
            cells += [f"{slope(lines, name, job, what):.2f}" for what in ("wall", "cpu", "peak")]
        text.append("| " + " | ".join([*cells, "", ""]) + " |")
    return text


def report(results: dict[str, list[dict[str, Any]]], jobs: list[str]) -> str:
    rows = results["rows"]
    last = rows[-1]
    text = [
        "# How time and memory grow",
        "",
        f"    python bench/scale.py {shlex.join(sys.argv[1:])}".rstrip(),
        "",
        f"{os.cpu_count()} processors ({platform.machine()}), Python {platform.python_version()}, "
        f"NumPy {np.__version__}.",
        "Each figure is one process, with compiled functions cached on disk. Memory is the peak of",
        f"the whole process, interpreter and libraries included. Rows are in chunks of {CHUNK:,d},",
        "made while the pass runs; the time to make them is not in the figures, that to load",
        "libraries is. Labeled rows are the same for any number of rows. The posterior is",
        "`assess(table)` with default options; `draws` counts those of all chains. The",
        "last line of a table is the exponent of growth between its last two sizes: 1 is",
        "proportional, 0 is constant.",
        "",
    ]
    for job in jobs:
        if job != "posterior":
            speed = last["size"]["rows"] / last[job]["wall"]
            text.append(
                f"- {JOBS[job].capitalize().replace('parquet', 'Parquet')}: "
                f"{speed / 1e6:.1f} million rows a second at {last['size']['rows']:,d} rows, "
                f"peak memory {last[job]['peak'] / 2**20:.0f} MiB."
            )
    long = [line for line in rows if line["size"]["rows"] >= 1e5]
    if len(long) > 1:
        cpu = [line["posterior"]["cpu"] for line in long]
        text.append(
            f"- Posterior from {long[0]['size']['rows']:,d} to {long[-1]['size']['rows']:,d} rows: "
            f"{min(cpu):.2f} to {max(cpu):.2f} s of CPU."
        )
    missed = [
        f"{line['size'][name]:,d} {name}"
        for name, lines in results.items()
        for line in lines
        if not line["posterior"]["ok"]
    ]
    text.append(f"- Runs that failed the convergence check: {', '.join(missed) or 'none'}.")
    for name, lines in results.items():
        usual = ", ".join(f"{USUAL[k]:,d} {k}" for k in USUAL if k != name)
        text += ["", f"## {name.capitalize()} ({usual})", "", *table_of(name, lines, jobs)]
    return "\n".join(
        [*text, "", "![Time and memory against rows, groups and labels](scale.png)", ""]
    )


LOOKS = {
    "arrays": {"color": "black", "marker": "o", "linestyle": "-"},
    "parquet": {"color": "0.45", "marker": "s", "linestyle": "--"},
    "posterior": {"color": "0.25", "marker": "^", "linestyle": ":"},
}


def plot(results: dict[str, list[dict[str, Any]]], jobs: list[str], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    figure, axes = pyplot.subplots(
        2, 3, figsize=(10, 5.6), sharex="col", sharey="row", layout="constrained"
    )
    for column, (name, lines) in enumerate(results.items()):
        for job in jobs:
            x = [line["size"][name] for line in lines]
            for row, (what, unit) in enumerate((("wall", 1.0), ("peak", 2**20))):
                y = [line[job][what] / unit for line in lines]
                axes[row, column].loglog(x, y, label=JOBS[job], markersize=5, **LOOKS[job])
        axes[1, column].set_xlabel(name)
        if name == "groups":
            sizes = [line["size"][name] for line in lines]
            axes[1, column].set_xticks(sizes, map(str, sizes))
    axes[0, 0].set_ylabel("seconds")
    axes[1, 0].set_ylabel("peak memory, MiB")
    for axis in axes.flat:
        axis.xaxis.set_minor_formatter(ticker.NullFormatter())
        axis.yaxis.set_minor_formatter(ticker.NullFormatter())
        axis.grid(True, which="major", color="0.9")
        axis.spines[["top", "right"]].set_visible(False)
    axes[1, 0].axhline(GOAL, color="0.6", linewidth=0.8)
    axes[1, 0].annotate(
        f"{GOAL} MiB", (1, GOAL), xycoords=("axes fraction", "data"), ha="right", va="bottom"
    )
    axes[0, 0].legend(frameon=False)
    figure.savefig(path, dpi=150)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, values in (("rows", ROWS), ("groups", GROUPS), ("labels", LABELS)):
        parser.add_argument(f"--{name}", type=float, nargs="*", default=list(values))
    parser.add_argument("--quick", action="store_true", help="few sizes, at most a million rows")
    parser.add_argument("--output", type=Path, default=HERE, help="folder of SCALE.md, scale.png")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        job, path, size = arguments.child
        print(json.dumps(child(job, Path(path), **json.loads(size))))
        return 0
    jobs = ["arrays", "parquet", "posterior"]
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        jobs.remove("parquet")
        print("pyarrow is not installed: Parquet is left out", file=sys.stderr)
    values = QUICK if arguments.quick else {name: getattr(arguments, name) for name in USUAL}
    results: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for job in ("arrays", "posterior"):  # compile
            measured(job, Path(folder) / "table.pickle", WARM, {"LIGHTFAIR_JIT": "1"})
        for name, sizes in values.items():
            known = [line for lines in results.values() for line in lines]
            results[name] = series(name, sorted(map(int, sizes)), Path(folder), jobs, known)
    results = {name: lines for name, lines in results.items() if lines}
    text = report(results, jobs)
    print(text)
    (arguments.output / "SCALE.md").write_text(text)
    plot(results, jobs, arguments.output / "scale.png")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
