"""Run every benchmark once in its smallest form, on simulated scores: does each still work?

    python bench/smoke.py [NAME ...]

Nothing is measured and nothing is written outside a temporary folder. The exit code is 1 if any
benchmark fails, or if one is not listed in this file.
"""

from __future__ import annotations

import csv
import gzip
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent
FEW = "--runs 2"
# {scores}: a folder of simulated score files; {out}: an empty folder
COMMANDS = {
    "audit": f"{FEW} --out {{out}}",
    "convergence": "--seeds 1 --labels 30 --part two --scores beta",
    "coverage": f"--data {{scores}} {FEW} --labeled 40 --results {{out}}/rows.csv --out {{out}}",
    "equality": f"{FEW} --labeled 50 --out {{out}}",
    "fuzz": "--seconds 5",
    "intersections": f"{FEW} --output {{out}}/INTERSECTIONS.md",
    "label_error": "--runs 1 --intervals 1 --out {out}",
    "membership": f"{FEW} --rows 300 --out {{out}}",
    "monitor": f"{FEW} --model-runs 1 --looks 4 --sets jump --out {{out}}",
    "notebook": "{out}/example.ipynb",
    "paired": f"{FEW} --draws 20 --labeled 40 --cells noise --output {{out}}/x.md",
    "planning": f"--data {{replica}} {FEW} --out {{out}}",
    "sbc": "--replicates 20 --family beta --only curve trust",
    "scale": "--rows 1e4 --groups 2 --labels 50 --output {out}",
    "selection": "--runs 1 --out {out}",
    "speed": "--quick",
    "stress": f"{FEW} --sets jump ten --labels 60 --quick --out {{out}}",
    "verdicts": "--sets useless --data {replica} --labels 30 --runs 1 --results {out}/rows.csv "
    "--out {out}",
    "paper/faults": f"--data {{scores}} {FEW} --paper {{scores}}/printed",
    "paper/figures": f"--data {{scores}} {FEW} --out {{out}}",
    "paper/run": f"--table accuracy --data {{scores}} --paper {{scores}}/printed {FEW} "
    "--results {out}/rows.csv --summary {out}/summary",
}
HELP = ("peers/install", "peers/run")  # they need other programs: only their options are read
LIBRARIES = ("coverage_report", "planning_report", "smoke")


def main(names: list[str]) -> int:
    entries = {
        str(path.relative_to(BENCH).with_suffix(""))
        for path in BENCH.rglob("*.py")
        if 'if __name__ == "__main__"' in path.read_text()
    }
    unknown = entries - {*COMMANDS, *HELP, *LIBRARIES, "paper/make_scores"}
    unknown = {name for name in unknown if not name.startswith("peers/")}
    if unknown:
        print(f"not in {Path(__file__).name}: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 1
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        scores, replica = simulated(Path(folder))
        for name in names or [*COMMANDS, *HELP]:
            out = Path(folder) / name.replace("/", "_")
            out.mkdir()
            if name == "notebook":
                (out / "example.ipynb").write_bytes((BENCH / "example.ipynb").read_bytes())
            options = (
                "--help"
                if name in HELP
                else COMMANDS[name].format(scores=scores, replica=replica, out=out)
            )
            if run(name, options):
                failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


def simulated(folder: Path) -> tuple[Path, Path]:
    """Write simulated scores in both layouts of `paper/scores.py`, and mock printed tables."""
    scores, replica = folder / "scores", folder / "replica"
    run("paper/make_scores", f"--rows 6000 --out {scores}")
    with gzip.open(scores / "simulated_group.csv.gz", "rt", newline="") as lines:
        rows = list(csv.DictReader(lines))
    replica.mkdir()
    for model in ("mlp", "lr", "rf", "gnb"):
        text = "score,label,sex,race\n" + "".join(
            f"{row[f'score_{model}']},{row['label']},"
            f"{'Male' if row['group'] == 'A' else 'Female'},{'White' if at % 3 else 'Black'}\n"
            for at, row in enumerate(rows)
        )
        for name in ("adult", "compas_r", "compas_vr", "bank", "german"):
            (replica / f"{name}_{model}.csv.gz").write_bytes(gzip.compress(text.encode()))
    (scores / "printed").mkdir()
    for metric in ("accuracy", "tpr", "fpr"):
        head = f"dataset,attribute,n_labeled,model,method,mae_{metric}_percent\n"
        cells = "".join(f"simulated,group,100,lr,{method},1.0\n" for method in ("freq", "bb", "bc"))
        (scores / "printed" / f"{metric}_mae.csv").write_text(head + cells)
    return scores, replica


def run(name: str, options: str) -> int:
    """Run a benchmark; print a line, and its output if it fails."""
    start = time.perf_counter()
    command = [sys.executable, str(BENCH / f"{name}.py"), *options.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    print(f"{name}: exit code {done.returncode}, {time.perf_counter() - start:.0f} s", flush=True)
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-4000:], sep="\n", file=sys.stderr)
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
