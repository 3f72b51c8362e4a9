"""Time lightfair and its peers, count their effective draws, and write RESULTS.md.

    python bench/peers/run.py --envs FOLDER

FOLDER was made by install.py. Run this with a Python that has lightfair's requirements. Seconds are
CPU seconds, user and system, of all threads and children. Run nothing else meanwhile.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from agreement import Summary, disagreement, summary, worst  # noqa: E402
from common import cpu_seconds  # noqa: E402
from programs import PROGRAMS, Program  # noqa: E402
from results import write_results  # noqa: E402
from simulated import SIZES, save, table_seconds  # noqa: E402

TIMED = "100 labels"
EFFECTIVE = ("10 labels", "100 labels", "1,000 labels", "1,000 in 20 groups")
LARGE = ("1e6 rows", "1e6 rows, nodes")
SEED = 100  # first of the warm fits; cold and cached fits have others


def main() -> int:
    arguments = _arguments()
    began = cpu_seconds()
    path = arguments.envs / "status.json"
    if not path.exists():
        print(f"--envs must be a folder made by install.py; it has no {path.name}", file=sys.stderr)
        return 2
    status = json.loads(path.read_text())
    figures: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "command": f"python bench/peers/run.py {_options(arguments)}".strip(),
        "note": arguments.note,
        "repeats": arguments.repeats,
        "cores": os.cpu_count(),
        "install": status,
        "times": {},
        "effective": {},
        "large": {},
        "failures": {},
        "cpu_seconds": 0.0,
    }
    if "1e6 rows" in arguments.cases:
        figures["table_seconds"] = table_seconds("1e6 rows")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.envs, Path(folder))
        summaries: dict[str, dict[str, Summary]] = {}
        for name in arguments.peers:
            program = PROGRAMS[name]
            if not status.get(program.environment, {"ok": False})["ok"]:
                continue
            try:
                _measure(name, bench, arguments, figures, summaries)
            except subprocess.CalledProcessError as error:
                figures["failures"][name] = error.output
                print(f"{name} failed: {error.output}", file=sys.stderr)
            for case, by_program in summaries.items():
                for other in by_program:
                    figures["effective"][case][other].update(disagreement(other, by_program))
            figures["cpu_seconds"] = cpu_seconds() - began
            # after each program: a run that was stopped leaves what it has
            arguments.figures.write_text(json.dumps(figures, indent=1) + "\n")
            write_results(figures, arguments.results)
    print(f"{figures['cpu_seconds']:.0f} s of CPU")
    return 0


class Bench:
    """Runs peers; each environment has its own folder of caches."""

    def __init__(self, environments: Path, folder: Path) -> None:
        self.environments = environments
        self.folder = folder

    def case(self, name: str) -> Path:
        """Return the file of a case, made at the first call."""
        return save(name, self.folder)

    def fit(
        self, program: Program, case: str, settings: dict[str, Any], seeds: list[int]
    ) -> dict[str, Any]:
        """Run a peer's file; return what it prints, its process and the files of draws."""
        out = self.folder / "draws"
        command = [str(HERE / f"peer_{program.file}.py"), "--case", str(self.case(case))]
        command += ["--settings", json.dumps(settings), "--out", str(out)]
        process, text = self.process(program, [*command, "--seeds", *map(str, seeds)])
        answer = json.loads(text.splitlines()[-1])
        files = [out.with_name(f"draws.{seed}.npz") for seed in seeds]
        return {**answer, "process": process, "files": files}

    def process(self, program: Program | None, command: list[str]) -> tuple[dict[str, Any], str]:
        """Run a command with a program's Python; return its seconds and memory, and its output.

        Without a program: with the Python of the empty environment.
        """
        environment = "empty" if program is None else program.environment
        caches = self.caches(environment)
        variables = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "LIGHTFAIR"))},
            "PYTHONPATH": str(HERE.parents[1]) if environment == "lightfair" else "",
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
        python = str(self.environments.resolve() / environment / "bin" / "python")
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            launcher = [sys.executable, "-S", str(HERE / "measure.py")]
            out = self.folder / "measured.json"
            done = subprocess.run(
                [*launcher, str(out), python, *command], env=variables, stdout=output, stderr=errors
            )
            output.seek(0)
            errors.seek(0)
            text, last = output.read(), errors.read().strip().splitlines()[-1:]
        measured = json.loads(out.read_text()) if done.returncode == 0 else {"code": 1}
        if measured["code"] != 0:
            raise subprocess.CalledProcessError(measured["code"], command, "".join(last))
        return measured, text

    def caches(self, environment: str) -> Path:
        """Return the folder of an environment's compiled functions."""
        path = self.folder / "caches" / environment
        path.mkdir(parents=True, exist_ok=True)
        return path


def _measure(
    name: str,
    bench: Bench,
    arguments: argparse.Namespace,
    figures: dict[str, Any],
    summaries: dict[str, dict[str, Summary]],
) -> None:
    """Fill in all figures of one program, and the summaries of its draws by case."""
    program, repeats = PROGRAMS[name], arguments.repeats
    if TIMED in arguments.cases:
        print(name, "times", flush=True)
        figures["times"][name] = _times(program, bench, repeats)
    for case in (case for case in arguments.cases if case in EFFECTIVE):
        if program.variant and case != TIMED:
            continue
        print(name, case, flush=True)
        fits = 1 if program.slow else min(repeats, 2)
        timed, files = _warm(program, bench, case, program.long, fits)
        drawn = summaries.setdefault(case, {})[name] = summary(files)
        figures["effective"].setdefault(case, {})[name] = {**timed, **worst(drawn)}
    for case in (case for case in arguments.cases if case in LARGE):
        own = program.file == "lightfair" and case == "1e6 rows"
        if program.nodes or own:
            print(name, case, flush=True)
            timed, _ = _warm(program, bench, case, program.short, min(repeats, 2))
            figures["large"].setdefault(case, {})[name] = timed


def _times(program: Program, bench: Bench, repeats: int) -> dict[str, Any]:
    """Seconds of fresh processes, the first without caches, of a second fit, and of the import."""
    shutil.rmtree(bench.caches(program.environment))
    fresh = [bench.fit(program, TIMED, program.short, [seed])["process"] for seed in range(2)]
    while len(fresh) < 1 + (1 if program.slow else min(repeats, 3)):
        fresh.append(bench.fit(program, TIMED, program.short, [len(fresh)])["process"])
    warm, _ = _warm(program, bench, TIMED, program.short, 1 if program.slow else repeats)
    imports = [bench.process(program, ["-c", program.imports])[0] for _ in range(4)][1:]
    bare = [bench.process(None, ["-c", "pass"])[0]["seconds"] for _ in range(3)]
    return {
        "cold": fresh[0]["seconds"],
        "cached": statistics.median(run["seconds"] for run in fresh[1:]),
        "import": max(0.0, _median(imports, "seconds") - statistics.median(bare)),
        "cold_megabytes": fresh[0]["megabytes"],
        "cached_megabytes": _median(fresh[1:], "megabytes"),
        "sampling": warm["sampling"],
        "metrics": warm["metrics"],
    }


def _warm(
    program: Program, bench: Bench, case: str, settings: dict[str, Any], repeats: int
) -> tuple[dict[str, Any], list[Path]]:
    """Fit several times in one process: medians over all fits but the first, and their draws.

    Where nothing is compiled the first counts, too.
    """
    first = 1 if program.compiles else 0
    answer = bench.fit(program, case, settings, list(range(SEED, SEED + first + repeats)))
    fits = answer["fits"][first:]
    timed = {
        "sampling": _median(fits, "sampling"),
        "metrics": _median(fits, "metrics"),
        "divergences": _sum(fits),
        "fits": len(fits),
    }
    return timed, answer["files"][first:]


def _median(runs: list[dict[str, Any]], key: str) -> float:
    return float(statistics.median(run[key] for run in runs))


def _sum(fits: list[dict[str, Any]]) -> int | None:
    counts = [fit["divergences"] for fit in fits]
    return None if None in counts else sum(counts)


def _options(arguments: argparse.Namespace) -> str:
    """The options given, without folders of this machine."""
    chosen = ["--envs FOLDER"]
    for name, default in (("cases", list(SIZES)), ("peers", list(PROGRAMS))):
        if getattr(arguments, name) != default:
            chosen.append(f"--{name} {' '.join(map(shlex.quote, getattr(arguments, name)))}")
    chosen.append(f"--repeats {arguments.repeats}")
    return " ".join(chosen)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--envs", type=Path, required=True, help="folder made by install.py")
    parser.add_argument("--cases", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--peers", nargs="+", choices=list(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument("--repeats", type=int, default=5, help="warm fits of each")
    parser.add_argument("--note", help="a sentence for the head of the text, such as: A trial.")
    parser.add_argument("--results", type=Path, default=HERE / "RESULTS.md")
    parser.add_argument("--figures", type=Path, default=HERE / "figures.json")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
