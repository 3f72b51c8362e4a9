"""CPU seconds of an assessment, compiled and in plain NumPy in the same run.

    python bench/speed.py

Fresh processes are timed as a whole, interpreter included, with an empty cache of compiled
functions. Warm fits are timed in this process after one run of the same shape; each must pass the
convergence check.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

# without this folder: numba imports any module named coverage, and would find coverage.py
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != HERE]

from lightfair import assess, simulate  # noqa: E402

FRESH = """
import lightfair as lf
rows = lf.simulate({rows}, {labeled}, rng=1)
print(lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1))
"""


def fresh(program: str) -> float:
    """CPU seconds of a process that runs the program with empty caches."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-c", program], env=environment, check=True, stdout=subprocess.DEVNULL
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def columns(rows: int, labeled: int, groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Simulated labels, scores and groups; more than two groups are assigned at random."""
    sample = simulate(rows, labeled, rng=1)
    dealt = np.random.default_rng(2).integers(groups, size=rows)
    return sample.y_true, sample.y_score, sample.group if groups == 2 else dealt


def warm(y_true: np.ndarray, y_score: np.ndarray, group: np.ndarray, jit: str | None) -> float:
    """CPU seconds of a second fit; jit forces a form, None does not."""
    os.environ.pop("LIGHTFAIR_JIT", None)
    if jit is not None:
        os.environ["LIGHTFAIR_JIT"] = jit
    for seed in (0, 1):
        began = time.process_time()
        result = assess(y_true, y_score, sensitive_features=group, rng=seed)
        seconds = time.process_time() - began
    assert result.gate.ok, result.gate
    os.environ.pop("LIGHTFAIR_JIT", None)
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one repeat of the smallest sizes")
    quick = parser.parse_args().quick
    import_only = min(fresh("import lightfair") for _ in range(1 if quick else 5))
    bare = min(fresh("pass") for _ in range(1 if quick else 5))
    print(f"import lightfair, beyond a bare interpreter   {1000 * (import_only - bare):6.1f} ms")
    for labeled in (100,) if quick else (100, 1000):
        program = FRESH.format(rows=10_000 + labeled, labeled=labeled)
        seconds = min(fresh(program) for _ in range(1 if quick else 3))
        print(f"fresh process, {labeled:5,d} labels, 10,000 unlabeled {seconds:6.2f} s")
    sizes = ((2, 100, 10_100), (2, 1000, 11_000), (20, 1000, 101_000))
    for groups, labeled, rows in sizes[:1] if quick else sizes:
        data = columns(rows, labeled, groups)
        chosen, compiled, plain = (warm(*data, jit) for jit in (None, "1", "0"))
        print(
            f"warm fit, {groups:2d} groups, {labeled:5,d} labels, {rows:7,d} rows: as chosen "
            f"{chosen:5.2f} s, compiled {compiled:5.2f} s, NumPy {plain:5.2f} s, "
            f"NumPy / compiled {plain / compiled:4.1f}"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
