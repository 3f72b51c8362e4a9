"""Label planning: predicted widths, and chosen labels

All numbers are of the difference in tpr of the two largest groups, 95 % intervals, target `sample`.
Labels of all rows are known; all but some are hidden.

Predicted and realised widths: from 50 random labels a plan predicts the width after 100 and after
400 more; then further random rows get their labels, and the model is refitted. Nine in ten scores
of naive Bayes (gnb) on compas-r are above 0.99.

Labels by choice, for the sexes of adult: from the same 50 random labels of a run, rows are labeled
in batches (100, 200, 300, 400, 600, 800 and 1,200 labels in all), at random or as `choose_labels`
chooses, with a tenth of the chances the same for all. Chosen labels cannot remove a bias of the
model, and random ones do so slowly; where there is one, narrower intervals cover the difference
from all labels less often.

All fits of a batch of runs are one batch of the sampler: 2 chains of 250 draws. A number after ± is
a Monte Carlo standard error.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from zlib import crc32

import numpy as np

from lightfair.core.assessment import Assessment
from lightfair.core.data.logit import Floats
from lightfair.core.data.rows import ScoreData
from lightfair.core.data.table import ScoreTable
from lightfair.core.mcmc.sampler import start_chains, take_draws
from lightfair.core.metrics.definitions import theta
from lightfair.core.metrics.imputation import confusion_counts
from lightfair.core.model.curve import tie
from lightfair.core.model.likelihood import labeled_data
from lightfair.core.model.regions import trusted_scales
from lightfair.core.pipeline import assess_table
from lightfair.core.settings import Settings
from lightfair.planning.choose import choose_labels
from lightfair.planning.plan import plan_labels

from .evidence import Page, each, table
from .paper.experiment import hidden
from .paper.scores import MODELS, Case, cases, rows

SMALLEST = {"runs": 2, "models": ("lr",)}

BATCH = 25
START = 50
EXTRA = (100, 400)
CHAINS, WARMUP, DRAWS = 2, 150, 250
STEPS = (50, 100, 200, 300, 400, 600, 800, 1200)
METHODS = {"random": "random", "greedy": "chosen"}  # streams of random numbers: names in tables
GIVEN = (300, 400, 600)  # random labels whose width is the given one
AT = 400  # labels at which the quality of intervals is shown
BOOTSTRAP = 1000


def widths(task: tuple[Case, str, range]) -> list[list[float]]:
    """Plan, label and refit: by run the width now, all planned ones and all realised ones."""
    case, model, runs = task
    data = rows(case, model)
    orders = [order_of(case, run, len(data.label)) for run in runs]
    rng = stream(case, model, "widths", runs[0])
    template = assessed(data, orders[0][:START])
    group, reference = largest(data)
    fits = [
        posteriors(template, [hidden(data, order[: START + extra]) for order in orders], rng)
        for extra in (0, *EXTRA)
    ]
    found = []
    for now, *after in zip(*fits, strict=True):
        plan = plan_labels(now, "tpr", extra=EXTRA, group=group, reference=reference)
        realised = [np.ptp(interval_of(one, data)) for one in after]
        found.append([float(width) for width in (*plan.intervals[0].width, *realised)])
    return found


def choice(task: tuple[Case, str, str, range]) -> list[list[list[float]]]:
    """Label in batches: estimate and ends of the interval minus the truth, (run, step, 3)."""
    case, model, method, runs = task
    data = rows(case, model)
    every = theta("tpr", hidden(data, np.arange(len(data.label))).sums("weight")[..., :2])
    group, reference = largest(data)
    truth = every[data.groups.index(group)] - every[data.groups.index(reference)]
    # random and chosen labels begin with the same rows
    orders = [order_of(case, run, len(data.label)) for run in runs]
    labeled = [order[:START] for order in orders]
    rng = stream(case, model, method, runs[0])
    template = assessed(data, labeled[0])
    found = []
    for step, after in pairwise((*STEPS, None)):
        fits = posteriors(template, [hidden(data, places) for places in labeled], rng)
        estimates = [one.difference("tpr", group, reference).mean for one in fits]
        ends = [interval_of(one, data) for one in fits]
        found.append(np.column_stack([estimates, ends]) - truth)
        if after and method == "random":
            labeled = [order[:after] for order in orders]
        elif after:
            labeled = [
                np.concatenate([places, chosen(one, after - step, data, places, rng)])
                for one, places in zip(fits, labeled, strict=True)
            ]
    return np.stack(found, axis=1).tolist()


def chosen(
    fit: Assessment, number: int, data: ScoreData, labeled: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Rows to label next."""
    known = np.full(len(data.label), np.nan)
    known[labeled] = data.label[labeled]
    group = np.array(data.groups)[data.group]
    return choose_labels(
        fit, number, y_score=data.score, sensitive_features=group, y_true=known, rng=rng
    ).rows


def assessed(data: ScoreData, labeled: np.ndarray) -> Assessment:
    """Return an assessment whose settings and regions serve all runs; its draws are not used."""
    quick = Settings(metrics="tpr", chains=2, draws=4, warmup=0)
    return assess_table(hidden(data, labeled), quick, rng=0)


def posteriors(
    template: Assessment, tables: list[ScoreTable], rng: np.random.Generator
) -> list[Assessment]:
    """Fit tables as one batch, each an assessment."""
    settings, regions = template.settings, template.posterior.regions
    options = {"family": settings.family, "hierarchical": True, "cap": settings.cap}
    data = labeled_data(tables, regions=regions, **options)
    scales = trusted_scales(settings.prior, settings.trust, regions)
    chains = start_chains(data, scales, None, chains=CHAINS, warmup=WARMUP, rng=rng)
    chains, block = take_draws(chains, DRAWS)
    results = []
    for psi, apart, of_run in zip(block.psi, block.apart > 0.0, tables, strict=True):
        phi, deviations = tie(psi[..., :3], settings.family), psi[..., 3:]
        curves = np.concatenate([phi, deviations], axis=-1)
        options = {"target": "sample", "rng": rng, "regions": regions, "jit": chains.jit}
        values = {"tpr": theta("tpr", confusion_counts(curves, of_run, **options).drawn)}
        drawn = {"omega": None, "phi": phi, "deviations": deviations, "apart": apart}
        posterior = replace(template.posterior, **drawn)
        results.append(replace(template, table=of_run, curves=posterior, theta=values))
    return results


def largest(data: ScoreData) -> tuple[str, str]:
    """Return the second largest group, and the largest."""
    size = np.argsort(-np.bincount(data.group), kind="stable")
    return data.groups[size[1]], data.groups[size[0]]


def interval_of(result: Assessment, data: ScoreData) -> Floats:
    """95 % interval of the difference, from few draws: the usual rule is 1 % too narrow."""
    draws = result.difference("tpr", *largest(data)).defined
    return np.quantile(draws, [0.025, 0.975], method="weibull")


def order_of(case: Case, run: int, size: int) -> np.ndarray:
    """Return the order in which a run shows labels at random."""
    return stream(case, "", "order", run).permutation(size)


def stream(case: Case, model: str, purpose: str, run: int) -> np.random.Generator:
    """Return a generator for each purpose."""
    name = f"{case.dataset} {case.attribute} {model} {purpose}"
    return np.random.default_rng([crc32(name.encode()), run])


def measure(
    data: Path, runs: int = 50, models: tuple[str, ...] = MODELS, keep: Path | None = None
) -> Page:
    pairs = [c for c in cases(data / "scores", replica=True) if c.dataset in ("adult", "compas-r")]
    sexes = next(c for c in pairs if (c.dataset, c.attribute) == ("adult", "gender"))
    batches = [range(first, min(first + BATCH, runs)) for first in range(0, runs, BATCH)]
    ways = each(choice, product([sexes], models, METHODS, batches), keep)
    found = np.array(
        [np.concatenate([next(ways) for _ in batches]) for _ in product(models, METHODS)]
    )
    found = found.reshape(len(models), len(METHODS), *found.shape[1:])
    plans = each(widths, product(pairs, models, batches), keep)
    keys = [(case.dataset, case.attribute, model) for case, model in product(pairs, models)]
    planned = np.array([np.concatenate([next(plans) for _ in batches]) for _ in keys])
    means = planned.mean(axis=1)
    ratio = means[:, 1 : 1 + len(EXTRA)] / means[:, 1 + len(EXTRA) :]
    width = found[..., 2] - found[..., 1]
    share = np.mean([chosen_labels(of_model, AT)[1] / AT for of_model in width])
    at = found[:, :, :, STEPS.index(AT)]
    covered = ((at[..., 1] <= 0.0) & (at[..., 2] >= 0.0)).mean(axis=(0, 2))
    added = "".join(f" | +{extra}: predicted | realised | ratio" for extra in EXTRA)
    return Page(
        f"Predicted widths after {EXTRA[0]} and {EXTRA[1]} more labels are within 15 % of the "
        f"realised ones in {(abs(ratio - 1.0) <= 0.15).sum()} of {ratio.size} cases. Chosen "
        f"labels give the width of {AT} random ones with {share:.0%} as many; with {AT} their "
        f"intervals cover in {covered[1]:.0%} of runs, those of random ones in {covered[0]:.0%}.",
        f"## Predicted and realised widths\n\n{runs} runs a line. Ratios are of means over the "
        "runs, predicted to realised.\n\n"
        + table(
            f"data | attribute | model | width at {START}{added}",
            [[*key, *width_cells(*of_line.T)] for key, of_line in zip(keys, planned, strict=True)],
        )
        + "\n## Labels at a given width\n\nThe given width is the mean width with that many random "
        "labels.\n\n"
        + table(
            "model | given width | random | chosen | chosen / random",
            [
                [model, *choice_cells(of_model, given)]
                for model, of_model in zip(models, width, strict=True)
                for given in GIVEN
            ],
        )
        + f"\n## Quality of the intervals at {AT} labels\n\n"
        + table(
            "model | labels | mean error | mean absolute error | width | coverage",
            [
                [model, labels, *quality_cells(*of_line.T)]
                for model, of_model in zip(models, at, strict=True)
                for labels, of_line in zip(METHODS.values(), of_model, strict=True)
            ],
        ),
    )


def width_cells(now: Floats, *others: Floats) -> list[str]:
    """Cells of a line, from widths (run,) now, all planned and all realised."""
    cells = [f"{now.mean():.3f}"]
    for planned, real in zip(others[: len(EXTRA)], others[len(EXTRA) :], strict=True):
        ratio = planned.mean() / real.mean()
        error = (planned - ratio * real).std(ddof=1) / np.sqrt(len(real)) / real.mean()
        cells += [f"{planned.mean():.3f}", f"{real.mean():.3f}", f"{ratio:.3f} ± {error:.3f}"]
    return cells


def choice_cells(width: Floats, given: int) -> list[str]:
    """Cells of a line, from widths (method, run, step)."""
    at, labels = chosen_labels(width, given)
    rng, runs = np.random.default_rng(0), width.shape[1]
    again = [
        chosen_labels(width[:, rng.integers(0, runs, runs)], given)[1] for _ in range(BOOTSTRAP)
    ]
    share = f"{labels / given:.0%} ± {np.std(again) / given:.0%}"
    return [f"{at:.3f}", str(given), f"{labels:.0f}", share]


def chosen_labels(width: Floats, given: int) -> tuple[float, float]:
    """Return the given width, and how many chosen labels reach it, interpolated on log scales."""
    random, greedy = np.log(width.mean(axis=1))
    at = random[STEPS.index(given)]
    return float(np.exp(at)), float(np.exp(np.interp(-at, -greedy, np.log(STEPS))))


def quality_cells(error: Floats, low: Floats, high: Floats) -> list[str]:
    """Cells of a line, from an estimate and ends of its interval, minus the truth: (run,) each."""
    size, absolute = np.sqrt(len(error)), np.abs(error)
    return [
        f"{error.mean():+.3f} ± {error.std() / size:.3f}",
        f"{absolute.mean():.3f} ± {absolute.std() / size:.3f}",
        f"{(high - low).mean():.3f}",
        f"{((low <= 0.0) & (high >= 0.0)).mean():.0%}",
    ]
