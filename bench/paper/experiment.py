"""One configuration: hide all labels but n, estimate the difference between groups, many times.

Every run shuffles the rows of a data set, moves one row of every group to the front and shows the
labels of the first n, as the released program does; all models and methods see the same sets, and
larger n contain the smaller ones. The estimand is

    delta = theta of the privileged group - mean of the other groups' theta, weighted by their rows

for accuracy, TPR and FPR. The truth is that same number from all labels, shown ones included. Every
run has its own random generators, so its numbers depend only on the seed, not on its batch or on
the number of processes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple
from zlib import crc32

import numpy as np

from lightfair.core.data.logit import Floats
from lightfair.core.data.rows import ScoreData
from lightfair.core.data.table import ScoreTable, score_table
from lightfair.core.mcmc.sampler import start_chains, take_draws
from lightfair.core.metrics.definitions import successes_failures, theta
from lightfair.core.metrics.imputation import confusion_counts
from lightfair.core.model.curve import tie
from lightfair.core.model.likelihood import labeled_data
from lightfair.core.model.regions import Regions, no_regions, regions, trusted_scales

from .methods import CURVES, LABELS_ONLY
from .scores import Case, privileged, rows

METRICS = ("accuracy", "tpr", "fpr")
BATCH = 25  # runs fitted at once
CHAINS, WARMUP = 2, 150
DRAWS = 250  # of each chain; against 4 x 2500 draws estimates differ by 1 % of an interval's width
DRAWS_FOR_MEANS = 150  # where no interval is needed
WITH_INTERVALS = ("calibration", "trust")
BLOCK = 50  # draws at a time: more would make the sampler cut its noise by the size of the batch
BETA_DRAWS = 1000
TAIL = 0.025


class Configuration(NamedTuple):
    """A cell of a table; alpha multiplies the scales of the prior."""

    case: Case
    model: str
    n_labeled: int
    method: str
    alpha: float = 1.0


class Answer(NamedTuple):
    """Results for one metric: float64 (run,). NaN where it is not estimable; 95 % intervals.

    Those of calibration and trust are for two targets, "expected" and "sample".
    """

    truth: float
    estimate: Floats
    low: Floats
    high: Floats
    sample_low: Floats
    sample_high: Floats


class Streams:
    """A generator for each data set of a batch, with the methods that the sampler calls."""

    def __init__(self, generators: list[np.random.Generator]) -> None:
        self.generators = generators

    def __getattr__(self, name: str) -> Callable[..., Floats]:
        """Draws of all generators by one of their methods; `size` begins with their number."""

        def draw(*given, size: tuple[int, ...] | None = None) -> Floats:
            *given, size = (*given, size) if size else given
            return np.stack([getattr(g, name)(*given, size=size[1:]) for g in self.generators])

        return draw


def run(cell: Configuration, runs: list[int]) -> dict[str, Answer]:
    """Answer for each metric, in the runs of the given numbers."""
    data = rows(cell.case, cell.model)
    method = _labels_only if cell.method in LABELS_ONLY else _calibrated
    parts = [
        method(cell, data, runs[first : first + BATCH]) for first in range(0, len(runs), BATCH)
    ]
    return {
        name: Answer(
            parts[0][name].truth,
            *map(np.concatenate, zip(*(part[name][1:] for part in parts), strict=True)),
        )
        for name in METRICS
    }


def shown_rows(cell: Configuration, data: ScoreData, number: int) -> np.ndarray:
    """Return the rows whose labels are shown in a run: int64 (n_labeled,)."""
    rng = _rng(" ".join(cell.case[:2]), number)
    order = rng.permutation(len(data.label))
    _, first = np.unique(data.group[order], return_index=True)
    return np.concatenate([order[first], np.delete(order, first)])[: cell.n_labeled]


def hidden(data: ScoreData, shown: np.ndarray) -> ScoreTable:
    """Hide the labels of all rows but those shown, and build the table of all rows."""
    label = np.full(len(data.label), -1, dtype=np.int8)
    label[shown] = data.label[shown]
    return score_table(replace(data, label=label))


def delta(values: Floats, data: ScoreData, defined: np.ndarray) -> Floats:
    """Privileged group minus the mean of the others: (..., group) -> (...).

    Groups where the truth is 0 / 0 are left out, such as three rows without a positive label.
    """
    chosen = privileged(data)
    weight = np.bincount(data.group, minlength=len(data.groups)) * defined
    weight[chosen] = 0
    others = np.flatnonzero(weight)
    mean = values[..., others] @ (weight[others] / weight.sum())
    return np.asarray(values[..., chosen] - mean)


def truth(data: ScoreData, name: str) -> tuple[float, np.ndarray]:
    """Return the true difference, and in which groups the metric is defined."""
    by_group = theta(name, _confusion(data, np.arange(len(data.label))[None])[0])
    defined = ~np.isnan(by_group)
    return float(delta(by_group, data, defined)), defined


def _labels_only(cell: Configuration, data: ScoreData, runs: list[int]) -> dict[str, Answer]:
    prior = LABELS_ONLY[cell.method]
    counts = _confusion(data, np.stack([shown_rows(cell, data, one) for one in runs]))
    nothing, answers = np.full(len(runs), np.nan), {}
    for name in METRICS:
        true, defined = truth(data, name)
        hits, misses = successes_failures(name, counts)
        if prior is None:
            with np.errstate(invalid="ignore"):
                mean, ends = hits / (hits + misses), (nothing, nothing)
        else:
            mean = (hits + prior) / (hits + misses + 2.0 * prior)
            streams = run_streams(cell, runs, name)
            drawn = [
                rng.beta(prior + h, prior + m, size=(BETA_DRAWS, *np.shape(h)))
                for h, m, rng in zip(hits, misses, streams, strict=True)
            ]
            ends = np.quantile(delta(np.stack(drawn), data, defined), [TAIL, 1.0 - TAIL], axis=1)
        answers[name] = Answer(true, delta(mean, data, defined), *ends, nothing, nothing)
    return answers


def _calibrated(cell: Configuration, data: ScoreData, runs: list[int]) -> dict[str, Answer]:
    tables = [hidden(data, shown_rows(cell, data, one)) for one in runs]
    intervals = cell.method in WITH_INTERVALS and cell.alpha == 1.0
    psi, where = fit(cell, tables, runs, DRAWS if intervals else DRAWS_FOR_MEANS)
    target = "sample" if intervals else "expected"
    counts = [
        confusion_counts(curves, table, target=target, rng=rng, regions=where, jit=True)
        for curves, table, rng in zip(psi, tables, run_streams(cell, runs, target), strict=True)
    ]
    expected = central(np.stack([of_run.expected for of_run in counts]), data)
    sample = np.full_like(expected, np.nan)
    if intervals:
        sample = central(np.stack([of_run.drawn for of_run in counts]), data)
    else:
        expected[:, 1:] = np.nan
    return {
        name: Answer(truth(data, name)[0], *expected[at], *sample[at, 1:])
        for at, name in enumerate(METRICS)
    }


def central(counts: Floats, data: ScoreData) -> Floats:
    """Mean and central interval of delta: (run, chain, draw, group, 2, 2) -> (metric, 3, run)."""
    found = []
    for name in METRICS:
        drawn = delta(theta(name, counts), data, truth(data, name)[1]).reshape(len(counts), -1)
        ends = np.nanquantile(drawn, [TAIL, 1.0 - TAIL], axis=1)
        found.append([np.nanmean(drawn, axis=1), *ends])
    return np.array(found)


def fit(
    cell: Configuration, tables: list[ScoreTable], runs: list[int], draws: int
) -> tuple[Floats, Regions]:
    """Draw curves for a batch of tables: float64 (run, chain, draw, group, 3 + J), and regions."""
    family, hierarchical, prior, trust = CURVES[cell.method]
    where = no_regions() if trust is None else regions(tables[0])
    groups = len(tables[0].groups)
    names = ["fit"] if hierarchical else [f"fit {g}" for g in range(groups)]
    by_name = [run_streams(cell, runs, name) for name in names]
    streams = [stream for of_run in zip(*by_name, strict=True) for stream in of_run]
    chains = start_chains(
        labeled_data(tables, family=family, hierarchical=hierarchical, regions=where),
        trusted_scales(prior.scaled(cell.alpha), trust, where),
        chains=CHAINS,
        warmup=WARMUP,
        rng=Streams(streams),
    )
    parts = []
    for _ in range(draws // BLOCK):
        chains, drawn = take_draws(chains, BLOCK)
        parts.append(drawn.psi)
    psi = np.concatenate(parts, axis=2)
    if not hierarchical:  # every group was a data set of one group
        psi = np.moveaxis(psi.reshape(len(runs), groups, CHAINS, draws, -1), 1, 3)
    return np.concatenate([tie(psi[..., :3], family), psi[..., 3:]], axis=-1), where


def _confusion(data: ScoreData, shown: np.ndarray) -> Floats:
    """Count rows: (run, row) -> float64 (run, group, predicted, label)."""
    groups = len(data.groups)
    kind = (data.group.astype(np.int64) * 2 + data.predicted) * 2 + data.label
    where = kind[shown] + 4 * groups * np.arange(len(shown))[:, None]
    counts = np.bincount(where.ravel(), minlength=4 * groups * len(shown))
    return counts.reshape(len(shown), groups, 2, 2).astype(np.float64)


def run_streams(cell: Configuration, runs: list[int], purpose: str) -> list[np.random.Generator]:
    case, model, n_labeled, method, alpha = cell
    name = f"{case.dataset} {case.attribute} {model} {n_labeled} {method} {alpha:g} {purpose}"
    return [_rng(name, number) for number in runs]


def _rng(name: str, number: int) -> np.random.Generator:
    return np.random.default_rng([0, crc32(name.encode()), number])
