"""How many default runs meet the gate on convergence, without drawing on and with it.

    python bench/convergence.py --data FOLDER

FOLDER holds files DATASET_ATTRIBUTE.csv.gz with columns label, ATTRIBUTE and score_MODEL (the
format is written down in bench/paper/README.md). Every file, model and number of labels is one
run of `assess` at its default settings; German scores are turned round (1 - score), as they give
the chance of the other label.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

# this folder goes: numba imports whatever is called coverage, and would find coverage.py
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != HERE]

from lightfair.core.data.rows import score_data  # noqa: E402
from lightfair.core.pipeline import assess_data  # noqa: E402
from lightfair.core.settings import Settings  # noqa: E402
from lightfair.core.simulation import hide_labels  # noqa: E402

MODELS = ("mlp", "lr", "rf", "gnb")


def read(path: Path) -> dict[str, np.ndarray]:
    with gzip.open(path, "rt", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/paper_scores"))
    parser.add_argument("--labeled", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    files = sorted(arguments.data.glob("*.csv.gz"))
    if not files:
        print(f"no files *.csv.gz in {arguments.data}", file=sys.stderr)
        return 2
    runs = first = final = 0
    began = time.process_time()
    for path in files:
        columns = read(path)
        attribute = path.name.removesuffix(".csv.gz").rpartition("_")[2]
        for model in MODELS:
            score = columns[f"score_{model}"].astype(float)
            if path.name.startswith("german"):
                score = 1.0 - score
            data = score_data(columns["label"], score, sensitive_features=columns[attribute])
            for labeled in arguments.labeled:
                if labeled >= len(score):
                    continue
                shown = hide_labels(data.label, labeled, np.random.default_rng(arguments.seed))
                known = np.where(np.isnan(shown), -1, shown).astype(np.int8)
                result = assess_data(replace(data, label=known), Settings(), rng=arguments.seed)
                at_once = result.posterior.phi.shape[1] == result.settings.draws
                runs += 1
                first += result.gate.ok and at_once
                final += result.gate.ok
                note = "" if at_once else f"  after {result.posterior.phi.shape[1]} draws a chain"
                print(
                    f"{path.name.removesuffix('.csv.gz'):36s} {model:4s} {labeled:5d}  "
                    f"R-hat {result.gate.rhat_max:.4f}  ESS bulk {result.gate.ess_bulk_min:5.0f} "
                    f"tail {result.gate.ess_tail_min:5.0f}  "
                    f"{'ok' if result.gate.ok else 'NOT CONVERGED'}{note}",
                    flush=True,
                )
    print(
        f"{runs} runs: {first} ({first / runs:.1%}) met the gate at the default draws, "
        f"{final} ({final / runs:.1%}) with drawing on; {time.process_time() - began:.0f} s of CPU"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
