"""A small intersection under the nested prior

Rows of two attributes, of 2 and 3 levels, with known scores: five cells of 760 rows with 60 labels
each, and one of 200 rows with 5. In every run the cells get new calibration curves, labels are
drawn for all rows, and the labeled ones are chosen at random in each cell. The log odds of a cell
differ from those of its scores by

    strong main effects  one of sd 1.2 for each level, and an interaction of sd 0.15
    main effects         one of sd 0.7 for each level, and an interaction of sd 0.15
    none                 nothing: one curve for all cells
    interactions         an interaction of sd 1.0 for each cell, no effects of levels

and log a differs by 0.15 times as much as the interaction. The curves are drawn from none of the
compared priors. The estimand is the metric that all rows would show (target `sample`), estimated
under the nested prior, under the hierarchical one, and from labels only, with the other defaults of
`assess`. A run has 4 chains of 200 draws after 120 sweeps, all runs of a batch side by side. The
interval score is the width plus 40 times the distance to a truth outside the 95 % interval; lower
is better.
"""

from __future__ import annotations

import itertools
import math
import time

import numpy as np

from lightfair.core.data.logit import Floats
from lightfair.core.data.rows import score_data
from lightfair.core.data.table import ScoreTable, score_table
from lightfair.core.mcmc.sampler import start_chains, take_draws
from lightfair.core.metrics.definitions import successes_failures, theta
from lightfair.core.metrics.imputation import confusion_counts
from lightfair.core.metrics.labels_only import beta_binomial
from lightfair.core.model.curve import calibrate
from lightfair.core.model.likelihood import labeled_data
from lightfair.core.model.regions import regions, trusted_scales
from lightfair.core.settings import Settings

from .evidence import Page, each, table
from .intervals import interval_score, missed

SMALLEST = {"runs": 2}

LEVELS = ("FM", "XYZ")
CELLS = list(itertools.product(*LEVELS))  # in the order of the groups
ROWS, LABELS = (760, 200), (60, 5)  # of a large cell, and of the small one
SMALL = ("F", "Z")
BATCH = 20
CHAINS, WARMUP, DRAWS = 4, 120, 200
METRICS = ("base_rate", "tpr", "fpr")
SCENARIOS = {  # sd of the effect of a level, and of an interaction
    "strong main effects": (1.2, 0.15),
    "main effects": (0.7, 0.15),
    "none": (0.0, 0.0),
    "interactions": (0.0, 1.0),
}
PRIORS = {"nested": "nested", "hierarchical": True}
COLUMNS = "log odds | metric | coverage, % | mean absolute error | width | interval score"
COLUMNS += " | ratio of errors | of widths | of scores"


def simulate(scenario: str, rng: np.random.Generator) -> tuple[ScoreTable, ScoreTable]:
    """Simulate a run: its table, and the one with all labels. Scores are those of every run."""
    main_sd, interaction_sd = SCENARIOS[scenario]
    scores = np.random.default_rng(1)
    effects = [rng.normal(0.0, main_sd, len(levels)) for levels in LEVELS]
    parts = []
    for one, two in CELLS:
        small = (one, two) == SMALL
        score = scores.beta(1.3, 1.6, ROWS[small])
        shift = effects[0][LEVELS[0].index(one)] + effects[1][LEVELS[1].index(two)]
        shift += rng.normal(0.0, interaction_sd)
        slope = math.exp(rng.normal(0.0, 0.15 * interaction_sd))
        label = rng.random(len(score)) < calibrate(np.clip(score, 0.01, 0.99), slope, 1.0, shift)
        shown = np.full(len(score), np.nan)
        chosen = rng.permutation(len(score))[: LABELS[small]]
        shown[chosen] = label[chosen]
        parts.append((shown, label, score, np.full(len(score), one), np.full(len(score), two)))
    shown, label, score, sex, race = map(np.concatenate, zip(*parts, strict=True))
    columns = {"sex": sex, "race": race}
    return tuple(
        score_table(score_data(y, score, sensitive_features=columns)) for y in (shown, label)
    )


def fit(tables: list[ScoreTable], settings: Settings, rng: np.random.Generator) -> Floats:
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


def judged(truth: Floats, estimate: Floats, low: Floats, high: Floats) -> Floats:
    """Coverage, error, width and interval score: (4, run, cell)."""
    inside, score = missed(low, high, truth) <= 1e-12, interval_score(low, high, truth)
    return np.stack([inside, np.abs(estimate - truth), high - low, score])


def batch(scenario: str, runs: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Judge runs fitted side by side: (metric, method, 4, run, cell), and CPU seconds by prior."""
    shown, full = zip(*(simulate(scenario, rng) for _ in range(runs)), strict=True)
    fits, seconds = [], []
    for prior in PRIORS.values():
        began = time.process_time()
        fits.append(fit(list(shown), Settings(hierarchical=prior), rng))
        seconds.append(time.process_time() - began)
    found = []
    for metric in METRICS:
        truth = np.stack([theta(metric, one.sums("weight")[..., :2]) for one in full])
        methods = []
        for counts in fits:
            draws = theta(metric, counts)
            ends = np.nanquantile(draws, [0.025, 0.975], axis=1)
            methods.append(judged(truth, np.nanmean(draws, axis=1), *ends))
        counts = np.stack([one.sums("rows")[..., :2] for one in shown])
        only = beta_binomial(*successes_failures(metric, counts))
        found.append([*methods, judged(truth, only.mean, only.low, only.high)])
    return np.array(found), np.array(seconds)


def run(task: tuple[int, str, int]) -> tuple[Floats, Floats]:
    """All runs of a scenario, batch by batch from one generator."""
    number, scenario, runs = task
    rng = np.random.default_rng([0, number])
    sizes = [min(BATCH, runs - first) for first in range(0, runs, BATCH)]
    found, seconds = zip(*(batch(scenario, size, rng) for size in sizes), strict=True)
    return np.concatenate(found, axis=3), np.sum(seconds, axis=0) / runs


def measure(runs: int = 120) -> Page:
    tasks = [(number, scenario, runs) for number, scenario in enumerate(SCENARIOS)]
    found, seconds = map(np.array, zip(*each(run, tasks), strict=True))
    small = np.array([cell == SMALL for cell in CELLS])
    of_small, of_large = found[..., small].mean(axis=-1), found[..., ~small].mean(axis=-1)
    error = of_small[:, METRICS.index("base_rate"), :, 1].mean(axis=-1)
    gain = error[:, 0] / error[:, 1]
    return Page(
        f"In a cell of {LABELS[1]} labels the error of the base rate under the nested prior is "
        f"{gain[0]:.2f} and {gain[1]:.2f} times that under the hierarchical one if the attributes "
        f"have strong and moderate effects, {gain[2]:.2f} times if there are none, and "
        f"{gain[3]:.2f} times if there are only interactions.",
        f"Means of {runs} runs: nested / hierarchical / labels only. Ratios are of nested to "
        "hierarchical,\n± a standard error from the pairs of runs; below 1 the nested prior is "
        "better. A fit takes\n{:.2f} s of CPU under the nested prior, and {:.2f} s under the "
        "hierarchical one.\n".format(*seconds.mean(axis=0))
        + f"\n## The cell with {LABELS[1]} labels\n\n{table(COLUMNS, lines(of_small))}"
        + f"\n## The five cells with {LABELS[0]} labels\n\n{table(COLUMNS, lines(of_large))}",
    )


def lines(found: Floats) -> list[list[str]]:
    """Lines of a table, from (scenario, metric, method, 4, run)."""
    rows = []
    for (i, scenario), (j, metric) in itertools.product(enumerate(SCENARIOS), enumerate(METRICS)):
        means = found[i, j].mean(axis=-1).T
        cells = [" / ".join(f"{100.0 * share:.0f}" for share in means[0])]
        cells += [" / ".join(f"{value:.3f}" for value in row) for row in means[1:]]
        rows.append([scenario, metric, *cells, *map(ratio, *found[i, j, :2, 1:])])
    return rows


def ratio(one: Floats, two: Floats) -> str:
    """Ratio of the means of two measures over runs, and its standard error."""
    value = one.mean() / two.mean()
    rest = (one - value * two) / two.mean()
    return f"{value:.3f} ± {rest.std(ddof=1) / math.sqrt(len(rest)):.3f}"
