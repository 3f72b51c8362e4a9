"""Predicted and realised widths, and the labels saved by choosing the rows.

    python bench/planning.py --data FOLDER [--runs N] [--part widths|choice|report]

FOLDER holds score files DATASET_MODEL.csv.gz; those of adult and compas_r are used. Labels of all
rows are known; all but some random ones are hidden.

widths: 50 random labels are shown and a plan is made; then further random rows get their real
labels and the model is refitted. The plan predicts the width for the difference in TPR of the
largest two groups.

choice: from the same 50 random labels, rows are chosen batch by batch until 1,200 are labeled, at
random or for the difference in TPR of the sexes of adult.

All fits of a batch of runs are one batch of the sampler: 2 chains of 250 draws. The ratio of
their widths to those of `assess` is measured, too. Results are rows of CSV files; a second call
computes what is missing. PLANNING.md is written from all rows.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from zlib import crc32

os.environ.update(LIGHTFAIR_JIT="1", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
HERE = Path(__file__).resolve().parent
# without this folder: numba imports any module named coverage, and would find coverage.py
sys.path[:] = [
    *(str(HERE / "paper"), str(HERE.parent)),
    *(p for p in sys.path if Path(p).resolve() != HERE),
]

import numpy as np  # noqa: E402
from experiment import hidden  # noqa: E402
from scores import MODELS, Case, cases, rows  # noqa: E402

from bench.planning_report import write_report  # noqa: E402
from lightfair.core.assessment import Assessment  # noqa: E402
from lightfair.core.data.rows import ScoreData  # noqa: E402
from lightfair.core.mcmc.sampler import start_chains, take_draws  # noqa: E402
from lightfair.core.metrics.definitions import theta  # noqa: E402
from lightfair.core.metrics.imputation import confusion_counts  # noqa: E402
from lightfair.core.model.curve import tie  # noqa: E402
from lightfair.core.model.likelihood import labeled_data  # noqa: E402
from lightfair.core.model.regions import trusted_scales  # noqa: E402
from lightfair.core.pipeline import assess_table  # noqa: E402
from lightfair.core.settings import Settings  # noqa: E402
from lightfair.planning.choose import choose_labels  # noqa: E402
from lightfair.planning.plan import plan_labels  # noqa: E402

BATCH = 25
START = 50
EXTRA = (100, 400)
CHAINS, WARMUP, DRAWS = 2, 150, 250
STEPS = (50, 100, 200, 300, 400, 600, 800, 1200)
METHODS = ("random", "greedy")
WIDTHS = (
    *("dataset", "attribute", "model", "run", "extra"),
    *("now", "forecast", "realised"),
)
CHOICE = ("model", "method", "run", "labels", "estimate", "low", "high", "truth")
SHORT = ("dataset", "attribute", "model", "labels", "short", "long")


def main() -> int:
    """Compute what is missing, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--data", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--out", type=Path, default=HERE, help="folder of PLANNING.md")
    parser.add_argument("--part", choices=("widths", "choice", "report"))
    arguments = parser.parse_args()
    folder = arguments.out / "planning"
    folder.mkdir(exist_ok=True)
    case_list = [
        c for c in cases(arguments.data, replica=True) if c.dataset in ("adult", "compas-r")
    ]
    began = time.process_time()
    parts = ("choice", "widths") if arguments.part is None else (arguments.part,)
    sexes = next(c for c in case_list if (c.dataset, c.attribute) == ("adult", "gender"))
    # every cell gets its first runs before any gets more
    for runs in range(BATCH, arguments.runs + BATCH, BATCH):
        for model in MODELS if "choice" in parts else ():
            for method in METHODS:
                choice(sexes, model, method, min(runs, arguments.runs), folder / "choice.csv")
        for case in sorted(case_list, key=lambda c: c.attribute) if "widths" in parts else ():
            for model in MODELS:
                files = (folder / "widths.csv", folder / "short.csv")
                widths(case, model, min(runs, arguments.runs), *files)
    print(f"{time.process_time() - began:.0f} CPU seconds", file=sys.stderr)
    write_report(folder, arguments.out / "PLANNING.md")
    return 0


def widths(case: Case, model: str, runs: int, out: Path, short: Path) -> None:
    """Plan, label, refit."""
    key = (case.dataset, case.attribute, model)
    for batch in batches(runs, [int(r[3]) for r in read(out) if tuple(r[:3]) == key]):
        data = rows(case, model)
        orders = [order_of(case, run, len(data.label)) for run in batch]
        rng = stream(case, model, "widths", batch[0])
        template = assessed(data, orders[0][:START])
        group, reference = pair(data)
        starts = posteriors(template, [hidden(data, order[:START]) for order in orders], rng)
        after = {
            extra: posteriors(
                template, [hidden(data, order[: START + extra]) for order in orders], rng
            )
            for extra in EXTRA
        }
        lines = []
        for i, run in enumerate(batch):
            pairs = {"group": group, "reference": reference}
            forecast = plan_labels(starts[i], "tpr", extra=EXTRA, **pairs).intervals[0]
            for j, extra in enumerate(EXTRA):
                real = width_of(after[extra][i], "tpr", group, reference)
                numbers = (forecast.width[0], forecast.width[j + 1], real)
                lines.append((*key, run, extra, *map(shown, numbers)))
        write(out, WIDTHS, lines)
        if batch[0] == 0:
            lines = []
            for labels, fits in ((START, starts), (START + EXTRA[-1], after[EXTRA[-1]])):
                whole = assess_table(fits[0].table, Settings(metrics="tpr"), rng=0)
                pairs = [width_of(r, "tpr", group, reference) for r in (fits[0], whole)]
                lines.append((*key, labels, *map(shown, pairs)))
            write(short, SHORT, lines)


def choice(case: Case, model: str, method: str, runs: int, out: Path) -> None:
    """Choose rows to label, batch by batch."""
    done = [int(r[2]) for r in read(out) if tuple(r[:2]) == (model, method)]
    for batch in batches(runs, done):
        data = rows(case, model)
        group, reference = pair(data)
        # random and chosen labels begin with the same rows
        labeled = [order_of(case, run, len(data.label))[:START] for run in batch]
        orders = [order_of(case, run, len(data.label)) for run in batch]
        rng = stream(case, model, method, batch[0])
        template = assessed(data, labeled[0])
        truth = true_difference(data, group, reference)
        lines = []
        for step, after in zip(STEPS, (*STEPS[1:], None), strict=True):
            fits = posteriors(template, [hidden(data, places) for places in labeled], rng)
            for i, run in enumerate(batch):
                mean = fits[i].difference("tpr", group, reference).mean
                numbers = (mean, *interval_of(fits[i], "tpr", group, reference), truth)
                lines.append((model, method, run, step, *map(shown, numbers)))
                if after is None:
                    continue
                if method == "random":
                    labeled[i] = orders[i][:after]
                    continue
                known = np.full(len(data.label), np.nan)
                known[labeled[i]] = data.label[labeled[i]]
                chosen = choose_labels(
                    fits[i],
                    after - step,
                    y_score=data.score,
                    sensitive_features=np.array(data.groups)[data.group],
                    y_true=known,
                    rng=rng,
                )
                labeled[i] = np.concatenate([labeled[i], chosen.rows])
        write(out, CHOICE, lines)


def assessed(data: ScoreData, shown_rows: np.ndarray) -> Assessment:
    """An assessment whose settings and regions serve all runs; its draws are not used."""
    quick = Settings(metrics="tpr", chains=2, draws=4, warmup=0)
    return assess_table(hidden(data, shown_rows), quick, rng=0)


def posteriors(template: Assessment, tables: list, rng: np.random.Generator) -> list[Assessment]:
    """Fit tables as one batch, each an assessment."""
    psi, apart, jit = fit_tables(template, tables, rng)
    where = template.posterior.regions
    assessments = []
    for curves, away, table in zip(psi, apart, tables, strict=True):
        counts = confusion_counts(curves, table, target="sample", rng=rng, regions=where, jit=jit)
        drawn = {"phi": curves[..., :3], "deviations": curves[..., 3:], "apart": away}
        posterior = replace(template.posterior, omega=None, **drawn)
        values = {"tpr": theta("tpr", counts.drawn)}
        assessments.append(replace(template, table=table, curves=posterior, theta=values))
    return assessments


def fit_tables(
    template: Assessment, tables: list, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Draw all curves, (table, chain, draw, group, 3 + J), and who is apart; whether compiled."""
    settings, regions = template.settings, template.posterior.regions
    options = {"family": settings.family, "hierarchical": True, "cap": settings.cap}
    data = labeled_data(tables, regions=regions, **options)
    scales = trusted_scales(settings.prior, settings.trust, regions)
    chains = start_chains(data, scales, None, chains=CHAINS, warmup=WARMUP, rng=rng)
    chains, block = take_draws(chains, DRAWS)
    phi = tie(block.psi[..., :3], settings.family)
    return np.concatenate([phi, block.psi[..., 3:]], axis=-1), block.apart > 0.0, chains.jit


def pair(data: ScoreData) -> tuple[str, str]:
    """The second largest group, and the largest."""
    size = np.argsort(-np.bincount(data.group), kind="stable")
    return data.groups[size[1]], data.groups[size[0]]


def width_of(result: Assessment, metric: str, group: str, reference: str) -> float:
    """Width of the 95 % interval of a difference."""
    return float(np.diff(interval_of(result, metric, group, reference))[0])


def interval_of(result: Assessment, metric: str, group: str, reference: str) -> np.ndarray:
    """95 % interval of a difference, from few draws: the usual rule is 1 % too narrow."""
    draws = result.difference(metric, group, reference).defined
    return np.quantile(draws, [0.025, 0.975], method="weibull")


def true_difference(data: ScoreData, group: str, reference: str) -> float:
    """Difference in TPR from all labels."""
    values = []
    for name in (group, reference):
        positive = (data.group == data.groups.index(name)) & (data.label == 1)
        values.append(data.predicted[positive].mean())
    return float(values[0] - values[1])


def order_of(case: Case, run: int, size: int) -> np.ndarray:
    """The order in which a run shows labels at random."""
    return stream(case, "", "order", run).permutation(size)


def stream(case: Case, model: str, purpose: str, run: int) -> np.random.Generator:
    """A generator for each purpose."""
    name = f"{case.dataset} {case.attribute} {model} {purpose}"
    return np.random.default_rng([crc32(name.encode()), run])


def batches(runs: int, done: list[int]) -> Iterator[list[int]]:
    """Runs that are missing, batch by batch."""
    for first in range(0, runs, BATCH):
        batch = list(range(first, min(first + BATCH, runs)))
        if not set(batch) <= set(done):
            yield batch


def read(path: Path) -> list[list[str]]:
    """Rows of a CSV file, without its header."""
    if not path.exists():
        return []
    with path.open(newline="") as lines:
        return list(csv.reader(lines))[1:]


def write(path: Path, header: tuple[str, ...], lines: list) -> None:
    """Append rows."""
    new = not path.exists()
    with path.open("a", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerows([header] * new + lines)


def shown(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.6g}"


if __name__ == "__main__":
    raise SystemExit(main())
