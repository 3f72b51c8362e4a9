"""Gain from the nested prior in a cell of five labeled rows, and its cost elsewhere.

    python bench/intersections.py [--runs N] [--seed N]

Rows of two attributes, of 2 and 3 levels, with known scores: five cells of 760 rows with 60 labels
each, and one of 200 rows with 5. In every run the cells get new calibration curves, labels are
drawn for all rows, and the labeled ones are chosen at random in each cell. The log odds of a cell
differ from those of its scores by

    strong main effects  one of sd 1.2 for each level, and an interaction of sd 0.15
    main effects         one of sd 0.7 for each level, and an interaction of sd 0.15
    none                 nothing: one curve for all cells
    interactions         an interaction of sd 1.0 for each cell, no effects of levels

and log a by 0.15 times as much. The curves are drawn from none of the compared priors. The estimand
is the metric that all rows would show (target `sample`), estimated under the nested prior, under
the hierarchical one, and from labels only, with the other defaults of `assess`. A run has 4 chains
of 200 draws after 120 sweeps, all runs of a batch side by side. The interval score is the width
plus 40 times the distance to a truth outside the 95 % interval; lower is better. The results are
in INTERSECTIONS.md.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
HERE = Path(__file__).resolve().parent
# without this folder: numba imports any module named coverage, and would find coverage.py
sys.path[:] = [str(HERE.parent), *(p for p in sys.path if Path(p).resolve() != HERE)]

import numpy as np  # noqa: E402

from lightfair.core.data.logit import Floats  # noqa: E402
from lightfair.core.data.rows import score_data  # noqa: E402
from lightfair.core.data.table import ScoreTable, score_table  # noqa: E402
from lightfair.core.mcmc.sampler import start_chains, take_draws  # noqa: E402
from lightfair.core.metrics.definitions import successes_failures, theta  # noqa: E402
from lightfair.core.metrics.imputation import confusion_counts  # noqa: E402
from lightfair.core.metrics.labels_only import beta_binomial  # noqa: E402
from lightfair.core.model.curve import calibrate  # noqa: E402
from lightfair.core.model.likelihood import labeled_data  # noqa: E402
from lightfair.core.model.regions import regions, trusted_scales  # noqa: E402
from lightfair.core.settings import Settings  # noqa: E402

LEVELS = (("F", "M"), ("X", "Y", "Z"))
ROWS, LABELS = (760, 200), (60, 5)  # of a large cell, and of the small one
SMALL = ("F", "Z")
BATCH = 20
CHAINS, WARMUP, DRAWS = 4, 120, 200
METRICS = ("base_rate", "tpr", "fpr")
SCENARIOS = {
    "strong main effects": (1.2, 0.15),
    "main effects": (0.7, 0.15),
    "none": (0.0, 0.0),
    "interactions": (0.0, 1.0),
}
METHODS = ("nested", "hierarchical", "labels only")
PRIORS = {"nested": "nested", "hierarchical": True}


class Runs(NamedTuple):
    """Truth (run, group); estimate, low and high by method and metric, (run, group)."""

    truth: dict[str, Floats]
    estimates: dict[tuple[str, str], tuple[Floats, Floats, Floats]]
    cpu: dict[str, float]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--runs", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=HERE / "INTERSECTIONS.md")
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error("--runs must be at least 1")
    results = {}
    for number, name in enumerate(SCENARIOS):
        rng = np.random.default_rng([arguments.seed, number])
        results[name] = simulate(name, arguments.runs, rng)
        print(name, {k: f"{v / arguments.runs:.2f} CPU s" for k, v in results[name].cpu.items()})
    arguments.output.write_text(report(results, arguments.runs, arguments.seed))
    return 0


def simulate(scenario: str, runs: int, rng: np.random.Generator) -> Runs:
    """All runs of a scenario, batch by batch."""
    parts = []
    for first in range(0, runs, BATCH):
        parts.append(_batch(scenario, min(BATCH, runs - first), rng))
        print(f"{scenario}: {first + len(parts[-1].truth['tpr'])} of {runs}", file=sys.stderr)
    keys = parts[0].estimates
    return Runs(
        {m: np.concatenate([part.truth[m] for part in parts]) for m in METRICS},
        {
            k: tuple(map(np.concatenate, zip(*(p.estimates[k] for p in parts), strict=True)))
            for k in keys
        },
        {name: sum(part.cpu[name] for part in parts) for name in PRIORS},
    )


def _batch(scenario: str, runs: int, rng: np.random.Generator) -> Runs:
    """Simulate runs, fit them side by side with each prior, and summarize them."""
    shown, complete = zip(*(_tables(scenario, rng) for _ in range(runs)), strict=True)
    truth = {m: np.stack([theta(m, t.sums("weight")[..., :2]) for t in complete]) for m in METRICS}
    estimates, cpu = {}, {}
    for name, prior in PRIORS.items():
        settings = Settings(hierarchical=prior)
        began = time.process_time()
        drawn = _fitted(list(shown), settings, rng)
        cpu[name] = time.process_time() - began
        for metric in METRICS:
            draws = theta(metric, drawn)
            with np.errstate(invalid="ignore"):
                low, high = np.nanquantile(draws, [0.025, 0.975], axis=1)
            estimates[name, metric] = (np.nanmean(draws, axis=1), low, high)
    for metric in METRICS:
        counts = np.stack([table.sums("rows")[..., :2] for table in shown])
        direct = beta_binomial(*successes_failures(metric, counts))
        estimates["labels only", metric] = (direct.mean, direct.low, direct.high)
    return Runs(truth, estimates, cpu)


def _tables(scenario: str, rng: np.random.Generator) -> tuple[ScoreTable, ScoreTable]:
    """The table of a run, and the one with all labels. Scores are those of every run."""
    main_sd, interaction_sd = SCENARIOS[scenario]
    scores = np.random.default_rng(1)
    effects = [rng.normal(0.0, main_sd, len(levels)) for levels in LEVELS]
    score, label, known, parts = [], [], [], []
    for i, one in enumerate(LEVELS[0]):
        for j, two in enumerate(LEVELS[1]):
            small = (one, two) == SMALL
            s = scores.beta(1.3, 1.6, ROWS[small])
            shift = effects[0][i] + effects[1][j] + rng.normal(0.0, interaction_sd)
            slope = math.exp(rng.normal(0.0, 0.15 * interaction_sd))
            rate = calibrate(np.clip(s, 0.01, 0.99), slope, 1.0, shift)
            y = rng.random(len(s)) < rate
            chosen = np.zeros(len(s), dtype=bool)
            chosen[rng.permutation(len(s))[: LABELS[small]]] = True
            score.append(s)
            label.append(y.astype(float))
            known.append(chosen)
            parts += [(one, two)] * len(s)
    columns = {"sex": [part[0] for part in parts], "race": [part[1] for part in parts]}
    y, s = np.concatenate(label), np.concatenate(score)
    shown = np.where(np.concatenate(known), y, np.nan)
    return tuple(
        score_table(score_data(labels, s, sensitive_features=columns)) for labels in (shown, y)
    )


def _fitted(tables: list[ScoreTable], settings: Settings, rng: np.random.Generator) -> Floats:
    """Draws of the confusion counts, (run, draw, group, predicted, label)."""
    where = regions(tables[0])
    chains = start_chains(
        labeled_data(tables, family="beta", regions=where),
        trusted_scales(settings.prior, settings.trust, where),
        tables[0].parts if settings.nested else None,
        chains=CHAINS,
        warmup=WARMUP,
        rng=rng.spawn(1)[0],
    )
    _, block = take_draws(chains, DRAWS)
    stream = rng.spawn(1)[0]
    counts = [
        confusion_counts(psi, table, target="sample", rng=stream, regions=where).drawn
        for psi, table in zip(block.psi, tables, strict=True)
    ]
    return np.stack(counts).reshape(len(tables), -1, *counts[0].shape[2:])


def report(results: dict[str, Runs], runs: int, seed: int) -> str:
    """The page."""
    body = __doc__.split("\n\n", 2)[2].strip()
    lines = [
        "# A small intersection under the nested prior",
        "",
        "Made by `bench/intersections.py`; do not edit.",
        "",
        body,
        "",
        f"    python bench/intersections.py --runs {runs} --seed {seed}",
        "",
    ]
    groups = sorted(f"{one}, {two}" for one in LEVELS[0] for two in LEVELS[1])
    small = groups.index(", ".join(SMALL))
    large = [g for g in range(len(groups)) if g != small]
    for title, indices in (
        (f"The cell with {LABELS[1]} labels", [small]),
        (f"The five cells with {LABELS[0]} labels", large),
    ):
        lines += [
            f"## {title}",
            "",
            "| log odds | metric | method | mean absolute error | width | coverage % | interval "
            "score |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        for name, result in results.items():
            for metric in METRICS:
                for method in METHODS:
                    lines.append(_row(name, metric, method, result, indices))
        lines.append("")
    lines += [
        "## Nested against hierarchical",
        "",
        "Ratios of means over runs, ± a standard error from the pairs of runs; below 1 the nested "
        "prior is better.",
        "",
        "| log odds | metric | cells | error | width | interval score |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, result in results.items():
        for metric in METRICS:
            for title, indices in (("small", [small]), ("large", large)):
                lines.append(_ratios(name, metric, title, result, indices))
    cpu = ", ".join(
        f"{name} {sum(r.cpu[name] for r in results.values()) / (runs * len(results)):.2f}"
        for name in PRIORS
    )
    lines += ["", f"CPU seconds a fit, in batches of {BATCH}: {cpu}.", ""]
    return "\n".join(lines)


def _measures(result: Runs, metric: str, method: str, indices: list[int]) -> dict[str, Floats]:
    """Error, width, coverage and interval score by run, averaged over some cells."""
    truth = result.truth[metric][:, indices]
    estimate, low, high = (values[:, indices] for values in result.estimates[method, metric])
    below, above = np.maximum(low - truth, 0.0), np.maximum(truth - high, 0.0)
    return {
        "error": np.abs(estimate - truth).mean(axis=1),
        "width": (high - low).mean(axis=1),
        "coverage": ((below <= 1e-12) & (above <= 1e-12)).mean(axis=1),
        "score": (high - low + 40.0 * (below + above)).mean(axis=1),
    }


def _row(name: str, metric: str, method: str, result: Runs, indices: list[int]) -> str:
    measures = _measures(result, metric, method, indices)
    runs = len(measures["error"])
    cells = [name, metric, method]
    for key, scale, digits in (
        *(("error", 1.0, 3), ("width", 1.0, 3)),
        *(("coverage", 100.0, 1), ("score", 1.0, 3)),
    ):
        mean, spread = (
            scale * measures[key].mean(),
            scale * measures[key].std(ddof=1) / math.sqrt(runs),
        )
        cells.append(f"{mean:.{digits}f} ± {spread:.{digits}f}")
    return f"| {' | '.join(cells)} |"


def _ratios(name: str, metric: str, title: str, result: Runs, indices: list[int]) -> str:
    one, two = (_measures(result, metric, method, indices) for method in METHODS[:2])
    cells = [name, metric, title]
    for key in ("error", "width", "score"):
        ratio = one[key].mean() / two[key].mean()
        rest = (one[key] - ratio * two[key]) / two[key].mean()
        cells.append(f"{ratio:.3f} ± {rest.std(ddof=1) / math.sqrt(len(rest)):.3f}")
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    raise SystemExit(main())
