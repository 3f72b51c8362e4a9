"""Run the programs by the Python of their environments, with folders of caches of their own."""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ..evidence import HERE
from .programs import IMPORTS, Program
from .simulated import save

SEED = 100  # first of the warm fits; cold and cached fits have others


class Bench(NamedTuple):
    """Environments that `install` has made, a folder to work in, and the number of warm fits."""

    envs: Path
    folder: Path
    repeats: int

    def process(self, environment: str, words: list[str]) -> float:
        """Run Python with these arguments; return its CPU seconds."""
        caches, errors = self.folder / environment, self.folder / "errors"
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "LIGHTFAIR"))}
        variables = {
            "NUMBA_CACHE_DIR": str(caches / "numba"),
            "JAX_COMPILATION_CACHE_DIR": str(caches / "jax"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
            "JAX_ENABLE_X64": "1",
            "JAX_PLATFORMS": "cpu",
            "PYTENSOR_FLAGS": f"base_compiledir={caches / 'pytensor'}",
            "XDG_CACHE_HOME": str(caches / "xdg"),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        python, before = self.envs.resolve() / environment / "bin" / "python", children_seconds()
        caches.mkdir(exist_ok=True)
        with errors.open("w") as out:
            options = {"cwd": HERE.parent, "env": kept | variables, "stderr": out}
            done = subprocess.run([python, *words], stdout=subprocess.DEVNULL, **options)
        if done.returncode:
            raise RuntimeError((errors.read_text().strip() or "no message").splitlines()[-1])
        return children_seconds() - before

    def fit(
        self, program: Program, case: str, settings: dict[str, Any], seeds: Iterable[int]
    ) -> dict[str, Any]:
        """Fit in a fresh process; return its CPU seconds and what `fits.fit_all` returns."""
        out = self.folder / "draws"
        task = {"peer": program.environment, "case": str(save(case, self.folder)), "out": str(out)}
        task |= {"settings": settings, "seeds": list(seeds)}
        seconds = self.process(program.environment, ["-m", "bench.peers.fits", json.dumps(task)])
        return {"seconds": seconds, **json.loads(out.with_suffix(".json").read_text())}

    def warm(
        self, program: Program, case: str, settings: dict[str, Any], repeats: int
    ) -> tuple[dict[str, Any], list[Path]]:
        """Medians of fits in one process, except the first if it compiles, and files of draws."""
        first, last = (0, 1) if program.slow else (1, 1 + repeats)
        seeds = range(SEED, SEED + last)
        fits = self.fit(program, case, settings, seeds)["fits"][first:]
        found = {key: median(fits, key) for key in ("sampling", "metrics")}
        found["divergences"] = [fit["divergences"] for fit in fits]
        return found, [self.folder / f"draws.{seed}.npz" for seed in seeds[first:]]

    def times(self, program: Program, case: str) -> dict[str, float]:
        """Seconds of fresh processes, the first without caches, of warm fits, and of the import."""
        name = program.environment
        shutil.rmtree(self.folder / name, ignore_errors=True)
        seeds = range(2 if program.slow else 1 + min(self.repeats, 3))
        cold, *cached = [self.fit(program, case, program.short, [seed]) for seed in seeds]
        imports = [self.process(name, ["-c", IMPORTS[name]]) for _ in range(4)][1:]
        bare = [self.process("empty", ["-c", "pass"]) for _ in range(3)]
        return {
            "cold": cold["seconds"],
            "cached": median(cached, "seconds"),
            "import": max(0.0, statistics.median(imports) - statistics.median(bare)),
            "cold_megabytes": cold["megabytes"],
            "cached_megabytes": median(cached, "megabytes"),
            **self.warm(program, case, program.short, self.repeats)[0],
        }


def children_seconds() -> float:
    """CPU seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def median(runs: list[dict[str, Any]], key: str) -> float:
    return float(statistics.median(run[key] for run in runs))
