"""How time and memory grow

Each figure is one process, with compiled functions cached on disk; memory is the peak of the whole
process, interpreter and libraries included. "Arrays" and "Parquet" take rows to a table: chunks of
a million rows, made while the pass runs, or a file. The time to make rows is not in the figures,
that to load libraries is. Labeled rows are the same for any number of rows. "Posterior" is
`assess(table)` with default options; `draws` counts those of all chains, `nodes` are the points to
which the table reduces the scores.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import lightfair as lf

from .evidence import HERE, Page, table

SMALLEST = {"rows": (1e4,), "groups": (), "labels": ()}

CHUNK = 1_000_000  # rows
USUAL = {"rows": 2 * 10**6, "groups": 2, "labels": 1000}
COLUMNS = {"y_true": "y_true", "y_score": "y_score", "sensitive_features": "group"}
JOBS = ("arrays", "parquet", "posterior")
SEED = 20201206
Columns = dict[str, np.ndarray]
Line = dict[str, Any]  # the size, and what each job took


def measure(
    rows: tuple[float, ...] = (1e5, 1e6, 1e7, 1e8),
    groups: tuple[int, ...] = (1, 2, 5, 10, 20, 50, 100, 200),
    labels: tuple[float, ...] = (10.0, 100.0, 1e3, 1e4, 1e5, 1e6),
) -> Page:
    results: dict[str, list[Line]] = {}
    with tempfile.TemporaryDirectory() as folder:
        once = {**USUAL, "rows": 10**5, "path": f"{folder}/table.pickle"}
        for job in ("arrays", "posterior"):  # compile
            child({"job": job, **once}, LIGHTFAIR_JIT="1")
        for name, values in (("rows", rows), ("groups", groups), ("labels", labels)):
            sizes = [{**USUAL, name: int(value)} for value in sorted(values)]
            sizes = [size for size in sizes if size["labels"] < size["rows"]]
            known = {str(line["size"]): line for lines in results.values() for line in lines}
            results[name] = [known.get(str(size)) or one_size(size, folder) for size in sizes]
    last, cpu = results["rows"][-1], [line["posterior"]["cpu"] for line in results["rows"]]
    size = last["size"]["rows"]
    speed, peak = ([last[job][what] for job in JOBS[:2]] for what in ("wall", "peak"))
    failed = [
        f"{line['size'][name]:,d} {name}"
        for name, lines in results.items()
        for line in lines
        if not line["posterior"]["ok"]
    ]
    parts = [f"Posteriors that failed the convergence check: {', '.join(failed) or 'none'}.\n"]
    for name, lines in results.items():
        usual = ", ".join(f"{USUAL[k]:,d} {k}" for k in USUAL if k != name)
        parts.append(f"## {name.capitalize()} ({usual})\n\n{table_of(name, lines)}")
    parts.append("![Time and memory against rows, groups and labels](scale.png)")
    return Page(
        "Of {:,d} rows, {:.2g} million a second from arrays and {:.2g} from Parquet, in "
        "{:.0f} and {:.0f} MiB; the posterior takes {:.1f} to {:.1f} s of CPU for any number of "
        "rows.".format(size, *(size / 1e6 / s for s in speed), *peak, min(cpu), max(cpu)),
        "\n".join(parts),
        {"scale.png": picture(results)},
    )


def one_size(size: dict[str, int], folder: str) -> Line:
    """Run all jobs of a size, each in its own process."""
    line: Line = {"size": size}
    for job in JOBS:
        path = f"{folder}/{'rows.parquet' if job == 'parquet' else 'table.pickle'}"
        if job == "parquet":
            child({"job": "write", "path": path, **size})
        line[job] = child({"job": job, "path": path, **size})
        if sys.stderr.isatty():
            print(size, job, line[job], file=sys.stderr)
    Path(folder, "rows.parquet").unlink()
    return line


def child(task: dict[str, Any], **env: str) -> dict[str, Any]:
    """Run one job in a fresh process and return what it took."""
    command = [sys.executable, "-W", "ignore", "-m", "bench.scale", json.dumps(task)]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, cwd=HERE.parent, env={**os.environ, **env}
    )
    return json.loads(done.stdout)


def run(job: str, path: Path, rows: int, groups: int, labels: int) -> dict[str, Any]:
    """Do one job; `path` is that of the table, or of the Parquet file."""
    made, began, more = np.zeros(2), now(), {}
    if job == "write":
        write_parquet(path, chunks(rows, groups, labels, made))
        return {}
    if job == "posterior":
        result = lf.assess(pickle.loads(path.read_bytes()), rng=1)
        wall, cpu = now() - began
        found = result.table
        more["draws"] = int(np.prod(result.posterior.phi.shape[:2]))
        more["ok"] = bool(result.gate.ok)
    else:
        source = chunks(rows, groups, labels, made) if job == "arrays" else path
        found = lf.summarize(source, **COLUMNS)
        wall, cpu = now() - began - made
        if (found.rows, found.labeled, len(found.groups)) != (rows, labels, groups):
            raise ValueError("the table does not hold the rows that were made")
        if job == "arrays":
            path.write_bytes(pickle.dumps(found))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = peak / 2**20 if sys.platform == "darwin" else peak / 2**10
    nodes = len(found.nodes().logit)
    return {"wall": wall, "cpu": cpu, "peak": peak, "nodes": nodes, **more}


def now() -> np.ndarray:
    """Wall-clock and CPU seconds."""
    return np.array([time.perf_counter(), time.process_time()])


def draw(count: int, groups: int, *key: int) -> Columns:
    """Unlabeled rows: y_true int8, -1; y_score float64; group text."""
    rng = np.random.default_rng([SEED, *key])
    score = rng.standard_normal(count)
    np.exp(-1.5 * score, out=score)
    score = 1.0 / (1.0 + 1.6 * score)
    label = np.full(count, -1, np.int8)
    names = np.array([f"group {j:03d}" for j in range(groups)])
    return {"y_true": label, "y_score": score, "group": rng.choice(names, count)}


def chunks(rows: int, groups: int, labels: int, made: np.ndarray) -> Iterator[Columns]:
    """Rows in chunks, the labeled ones spread evenly; add the time that they take to `made`."""
    before = now()
    known = draw(labels, groups, 0)
    flips = np.random.default_rng(SEED).random(labels)
    known["y_true"] = (flips < known["y_score"]).astype(np.int8)
    for at in range(0, rows, CHUNK):
        size = min(CHUNK, rows - at)
        chunk = draw(size, groups, 1, at)
        first, last = labels * at // rows, labels * (at + size) // rows
        place = np.random.default_rng([SEED, 2, at]).choice(size, last - first, replace=False)
        for name, column in chunk.items():
            column[place] = known[name][first:last]
        made += now() - before
        yield chunk
        before = now()


def write_parquet(path: Path, parts: Iterator[Columns]) -> None:
    """Write rows, NULL where there is no label, groups as a dictionary."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    kind = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    fields = {"y_true": pyarrow.int8(), "y_score": pyarrow.float64(), "group": kind}
    schema = pyarrow.schema(fields)
    with ParquetWriter(path, schema) as writer:
        for part in parts:
            label = pyarrow.array(part["y_true"], mask=part["y_true"] < 0)
            coded = pyarrow.array(part["group"]).dictionary_encode()
            writer.write_table(pyarrow.table([label, part["y_score"], coded], schema=schema))


def table_of(name: str, lines: list[Line]) -> str:
    """Return the table of a series."""
    titles = " | ".join(f"{job}: s | CPU s | MiB" for job in JOBS)
    rows = []
    for line in lines:
        row = [f"{line['size'][name]:,d}"]
        for job in JOBS:
            row += ["{wall:.2f}".format(**line[job]), "{cpu:.2f}".format(**line[job])]
            row.append("{peak:.0f}".format(**line[job]))
        rows.append([*row, f"{line['arrays']['nodes']:,d}", f"{line['posterior']['draws']:,d}"])
    return table(f"{name} | {titles} | nodes | draws", rows)


def picture(results: dict[str, list[Line]]) -> bytes:
    """Draw time and memory against rows, groups and labels; return the PNG."""
    from matplotlib import ticker
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5.6), layout="constrained")
    axes = figure.subplots(2, 3, sharex="col", sharey="row")
    looks = (("black", "o", "-"), ("0.45", "s", "--"), ("0.25", "^", ":"))
    for column, (name, lines) in zip(axes.T, results.items(), strict=True):
        sizes = [line["size"][name] for line in lines]
        for job, (color, marker, style) in zip(JOBS, looks, strict=True):
            for axis, what in zip(column, ("wall", "peak"), strict=True):
                y = [line[job][what] for line in lines]
                axis.loglog(sizes, y, style, marker=marker, color=color, ms=5, label=job)
                axis.xaxis.set_minor_formatter(ticker.NullFormatter())
                axis.yaxis.set_minor_formatter(ticker.NullFormatter())
                axis.grid(True, which="major", color="0.9")
                axis.spines[["top", "right"]].set_visible(False)
        column[1].set_xlabel(name)
        if name == "groups":
            column[1].set_xticks(sizes, map(str, sizes))
    axes[0, 0].set_ylabel("seconds")
    axes[1, 0].set_ylabel("peak memory, MiB")
    axes[0, 0].legend(frameon=False)
    file = io.BytesIO()
    figure.savefig(file, dpi=150)
    return file.getvalue()


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    print(json.dumps(run(given.pop("job"), Path(given.pop("path")), **given)))
