"""Intervals of impact ratios in the population: how often they contain them, by categories.

    python bench/audit.py [--runs 1000] [--out FOLDER]

A run draws the selected rows of each category from its true rate, takes the category of the highest
rate, and asks for the 95 % intervals of all other rates over it, as `lightfair.audit` does, and
with independent Beta(1 + selected, 1 + others) posteriors. True rates are fixed, or drawn anew in
each run. A ratio of two true rates is contained, or not. Writes AUDIT.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
# without this folder: numba imports any module named coverage, and would find coverage.py
sys.path[:] = [str(HERE.parent), *(p for p in sys.path if Path(p or ".").resolve() != HERE)]

from lightfair.audit.rates import rate_draws  # noqa: E402

DRAWS = 4_000
RACES = [408, 797, 390, 119, 616, 41, 213]  # rows of the first example of 6 RCNY 5-301


def varied(center: float, sd: float, size: int):
    """Rates whose logits are normal, drawn anew."""
    return lambda rng: 1.0 / (1.0 + np.exp(-rng.normal(center, sd, size)))


CASES = {  # rows by category, and true rates
    "2: 0.3, 0.6": ([40, 80], [0.3, 0.6]),
    "2: 0.2, 0.5": ([200, 200], [0.2, 0.5]),
    "2: 0.05, 0.1": ([200, 200], [0.05, 0.1]),
    "2 equal: 0.5": ([100, 100], [0.5, 0.5]),
    "3: 0.3, 0.5, 0.6": ([60] * 3, [0.3, 0.5, 0.6]),
    "3 equal: 0.5": ([60] * 3, [0.5] * 3),
    "4: 0.3, thrice 0.6": ([40, 80, 80, 80], [0.3, 0.6, 0.6, 0.6]),
    "7 equal: 0.5": (RACES, [0.5] * 7),
    "7 varied, sd 0.2": (RACES, varied(0.0, 0.2, 7)),
    "7 varied, sd 0.6": (RACES, varied(0.0, 0.6, 7)),
    "14 equal: 0.5": ([12] * 14, [0.5] * 14),
    "14 equal: 0.05": ([60] * 14, [0.05] * 14),
    "14: 0.25, else 0.5": ([60] * 14, [0.25] + [0.5] * 13),
    "14 varied, sd 0.5": ([20, 30, 40, 50, 60, 80, 100] * 2, varied(-1.0, 0.5, 14)),
}


def shares(rows: np.ndarray, rates, runs: int, rng: np.random.Generator) -> list[float]:
    """Coverage and mean width: as in an audit, and with independent rates."""
    inside, widths = [], []
    for _ in range(runs):
        rate = np.asarray(rates(rng) if callable(rates) else rates)
        selected = rng.binomial(rows, rate).astype(float)
        if not selected.any():
            continue
        top = int(np.argmax(selected / rows))
        alone = rng.beta(1.0 + selected, 1.0 + rows - selected, (DRAWS, len(rows)))
        others = np.arange(len(rows)) != top
        for draws in (rate_draws(selected, rows, DRAWS, rng), alone):
            low, high = np.quantile(draws / draws[:, [top]], [0.025, 0.975], axis=0)[:, others]
            truth = (rate / rate[top])[others]
            inside.append(((low <= truth) & (truth <= high)).mean())
            widths.append((high - low).mean())
    found = (np.reshape(values, (-1, 2)).mean(axis=0) for values in (inside, widths))
    return [float(value) for pair in zip(*found, strict=True) for value in pair]


def main(runs: int, out: Path) -> None:
    begin, lines = time.process_time(), []
    for at, (name, (rows, rates)) in enumerate(CASES.items()):
        found = shares(np.array(rows), rates, runs, np.random.default_rng([1, at]))
        lines.append("| {} | {:.1%} | {:.2f} | {:.1%} | {:.2f} |".format(name, *found))
    head = [
        "# Intervals of impact ratios",
        "",
        f"Written by `python bench/audit.py --runs {runs}`: {runs} runs a line,",
        f"{time.process_time() - begin:,.0f} s of CPU. `bench/audit.py` describes the simulation.",
        "",
        "| categories: rates | audit: contained | width | independent: contained | width |",
        "|---|---|---|---|---|",
    ]
    (out / "AUDIT.md").write_text("\n".join([*head, *lines, ""]))
    print("\n".join(lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=HERE)
    main(**vars(parser.parse_args()))
