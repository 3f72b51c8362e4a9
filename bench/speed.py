"""Speed of an assessment

CPU seconds, the least of some runs; BLAS has one thread. Importing is beyond a bare interpreter.
Fresh processes are timed as a whole, with an empty cache of compiled functions. Warm fits follow
one of the same rows in the same process, in turns; each must pass the convergence check. "As
chosen" compiles where the fit is long enough to repay it; "compiled" always has compiled functions,
"NumPy" never.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import product

import numpy as np

from lightfair import assess, simulate

from .evidence import HERE, Page, table

SMALLEST = {"repeats": 1, "labels": (100,), "groups": (2,)}

FRESH = """
import lightfair as lf
rows = lf.simulate({rows}, {labeled}, rng=1)
print(lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1))
"""
FORMS = {"as chosen": None, "compiled": "1", "NumPy": "0"}  # LIGHTFAIR_JIT
FREE = 5_000  # unlabeled rows of a group


def measure(
    repeats: int = 3, labels: tuple[int, ...] = (100, 1000), groups: tuple[int, ...] = (2, 20)
) -> Page:
    start = 1000.0 * (fresh("import lightfair", repeats) - fresh("pass", repeats))
    cold = {n: fresh(FRESH.format(rows=10_000 + n, labeled=n), repeats) for n in labels}
    lines = []
    for size in ((g, n, FREE * g + n) for g, n in product(groups, labels)):
        seconds = warm(repeats, *size)
        cells = [f"{number:,d}" for number in size] + [f"{one:.2f}" for one in seconds]
        lines.append([*cells, f"{seconds[2] / seconds[1]:.1f}"])
    return Page(
        f"Importing takes {start:.0f} ms; a first assessment of 10,000 rows with {labels[0]} "
        f"labels {cold[labels[0]]:.2f} s, the next fit {lines[0][3]} s, {lines[0][5]} s without "
        "numba.",
        "Fresh processes, two groups, 10,000 unlabeled rows:\n\n"
        + table("labels | s", [(f"{n:,d}", f"{seconds:.2f}") for n, seconds in cold.items()])
        + "\nWarm fits, s:\n\n"
        + table(f"groups | labels | rows | {' | '.join(FORMS)} | NumPy / compiled", lines),
    )


def fresh(program: str, repeats: int) -> float:
    """CPU seconds of a process that runs the program with an empty cache."""
    seconds = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-W", "ignore", "-c", program]
            env = {**os.environ, "NUMBA_CACHE_DIR": cache}
            subprocess.run(command, env=env, cwd=HERE.parent, check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds)


def warm(repeats: int, groups: int, labeled: int, rows: int) -> list[float]:
    """CPU seconds of fits that are not the first, by form; groups beyond two are random."""
    sample = simulate(rows, labeled, rng=1)
    group = sample.group if groups == 2 else np.random.default_rng(2).integers(groups, size=rows)
    seconds = np.zeros((1 + repeats, len(FORMS)))
    for run, (at, form) in product(range(1 + repeats), enumerate(FORMS.values())):
        os.environ.pop("LIGHTFAIR_JIT", None)
        os.environ.update({} if form is None else {"LIGHTFAIR_JIT": form})
        began = time.process_time()
        result = assess(sample.y_true, sample.y_score, sensitive_features=group, rng=1)
        seconds[run, at] = time.process_time() - began
        assert result.gate.ok, result.gate
    os.environ.pop("LIGHTFAIR_JIT", None)
    return seconds[1:].min(axis=0).tolist()
