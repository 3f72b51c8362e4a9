"""Simulation-based calibration

Draw parameters from the prior, labels given them, and parameters from the posterior given the
labels that are shown. Then the rank of the true value among 99 draws is uniform, for any function
of parameters and labels (Talts, Betancourt, Simpson, Vehtari and Gelman 2018, arXiv:1804.06788).
The functions here are

    curve, deviations, mu     the coordinates psi of group 0, and their common locations
    effects                   of the two levels of group 0, under the nested prior
    sigma                     the free scales, omega, tau and those of effects among them
    metrics, differences      of these very rows, all labels known (target `sample`), in the first
                              and the last group; 0 / 0 is -1
    log likelihood            of the labels shown; it finds a posterior that ignores them
                              (Modrak et al. 2023, arXiv:2211.02383)

The data sets have two groups, of 60 and 90 rows, every third with its label shown, 6 rows of the
first at the lower clipping bound, and three regions for each predicted class; under the nested
prior a second attribute halves both groups. Chains and warm-up are those of `assess`; every fifth
sweep is a draw. Every family is tried with trust and without, and beta under the nested prior of
four groups. One more fit is wrong on purpose: the curve alone, to data with deviations. It must be
rejected.

Ties are broken at random, and ranks are tested by Kolmogorov and Smirnov. A case is rejected where
its smallest p value times the number of its ranks (Bonferroni) is below 0.01. ESS is the bulk
effective sample size of all sweeps, the smallest of the parameters ranked: its median over
replicates, and the value that 1 % of them are below.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.stats import chisquare, kstest

from lightfair.core.data.logit import Floats
from lightfair.core.data.rows import ScoreData, score_data
from lightfair.core.data.table import ScoreTable, score_table
from lightfair.core.mcmc.convergence import diagnose
from lightfair.core.mcmc.hierarchy import Hierarchy, nested, plain
from lightfair.core.mcmc.sampler import start_chains, take_draws
from lightfair.core.metrics.definitions import theta
from lightfair.core.metrics.imputation import confusion_counts
from lightfair.core.model.curve import FAMILIES, active, tie
from lightfair.core.model.likelihood import labeled_data, loglik
from lightfair.core.model.regions import Regions, no_regions, regions, trusted_scales
from lightfair.core.settings import Settings

from .evidence import Page, each, table

SMALLEST = {"replicates": 2}

ROWS = (60, 90)  # of each group; every third has its label shown
ATTRIBUTES = ("first", "second")  # the second one halves the groups of the nested prior
MASS = 6  # rows of group 0 at the lower clipping bound: one in ten
BATCH = 100  # replicates that are sampled at once
SCALES = ("sigma of log a", "sigma of log b", "sigma of c", "omega", "tau")
DRAWS = 99  # ranks are 0 to 99
THIN = 5  # sweeps from one draw to the next
BINS = 20
LEVEL = 0.01  # of a false alarm, for each case
METRICS = ("accuracy", "tpr", "fpr")
CLASSES = ("curve", "deviations", "mu", "effects", "sigma", "metrics", "differences")
CLASSES += ("log likelihood",)
HEAD = "case | ranks | smallest p | of | times ranks | verdict | ESS | of 1 % | CPU, s"

Statistics = dict[tuple[str, str], Floats]  # by class and name


class Case(NamedTuple):
    """What is fitted, with trust or without, to data with deviations or without."""

    name: str
    family: str
    deviations: bool
    trust: bool
    nested: bool = False

    @property
    def right(self) -> bool:
        """Whether model and data agree."""
        return self.deviations == self.trust


CASES = [
    *(
        Case(f"{family}, {'trust' if trust else 'curve alone'}", family, trust, trust)
        for family in FAMILIES
        for trust in (False, True)
    ),
    Case("wrong on purpose: curve alone fitted to data with deviations", "beta", True, False),
    Case("beta, nested, curve alone", "beta", False, False, True),
    Case("beta, nested, trust", "beta", True, True, True),
]


def rows(crossed: bool) -> tuple[ScoreData, np.ndarray]:
    """The rows of all data sets, and which of them have their label shown."""
    first = np.concatenate([np.zeros(MASS), np.linspace(0.03, 0.98, ROWS[0] - MASS)])
    score = np.concatenate([first, np.linspace(0.02, 0.99, ROWS[1]) ** 1.3])
    row = np.arange(len(score))
    columns = dict(zip(ATTRIBUTES, (np.repeat([0, 1], ROWS), row // 2 % 2), strict=True))
    group = columns if crossed else columns["first"]
    return score_data(row % 2, score, sensitive_features=group), row % 3 == 1


def calibrate(task: tuple[int, int]) -> tuple[Statistics, Floats, float]:
    """Ranks of each statistic as numbers in (0, 1), (replicate,); ESS (replicate,); CPU seconds.

    The task is the place of a case, and how many data sets to simulate and fit.
    """
    number, replicates = task
    began, rng = time.process_time(), np.random.default_rng([0, number])
    sizes = [min(BATCH, replicates - first) for first in range(0, replicates, BATCH)]
    ranks, ess = zip(*(batch(CASES[number], size, rng) for size in sizes), strict=True)
    joined = {key: np.concatenate([part[key] for part in ranks]) for key in ranks[0]}
    return joined, np.concatenate(ess), time.process_time() - began


def simulate(
    prior: Hierarchy, where: Regions, case: Case, sets: int, rng: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """Draw parameters from the prior, and all labels given them.

    Returns psi (set, group, D), eta (set, P, D), sigma (set, S) and label (set, row). Log odds are
    written out, not taken from `likelihood`.
    """
    data, _ = rows(case.nested)
    scales, groups = prior.scales, len(data.groups)
    sigma = np.abs(rng.standard_normal((sets, len(scales.sd)))) * scales.sd
    eta = rng.standard_normal((sets, *prior.ratio.shape)) * prior.sds(sigma)
    eta[:, -1] += scales.centre
    noise = rng.standard_normal((sets, groups, len(scales.own)))
    apart = (rng.random((sets, groups)) < scales.apart) * 1.0
    psi = prior.middle(eta, apart) + scales.spread(sigma, apart) * noise
    log_a, log_b, c = np.moveaxis(tie(psi[..., :3], case.family), -1, 0)
    score = np.clip(data.score, Settings().clip, 1.0 - Settings().clip)
    stratum = (data.group.astype(np.int64) * 2 + data.predicted) * 3
    region = where.of(stratum, np.log(score) - np.log1p(-score))
    of = data.group
    odds = c[:, of] + np.exp(log_a)[:, of] * np.log(score) - np.exp(log_b)[:, of] * np.log1p(-score)
    odds = where.on_curve[region] * odds + where.base[region]
    odds = odds + (psi[:, of, 3:] * where.loadings[region]).sum(-1)
    label = rng.random(odds.shape) < 0.5 * (1.0 + np.tanh(0.5 * odds))
    return psi, eta, sigma, label.astype(np.int8)


def parameters(
    family: str, names: list[str], prior: Hierarchy, psi: Floats, eta: Floats, sigma: Floats
) -> Statistics:
    """Parameters that are ranked, of psi (..., group, D), eta (..., P, D) and sigma (..., S).

    Coordinates without a part in the family are left out, and so are scales of such coordinates
    only.
    """
    found: Statistics = {}
    used = np.flatnonzero(np.concatenate([active(family), np.ones(len(names) - 3, bool)]))
    own = np.flatnonzero(prior.design[0])
    layers = (*ATTRIBUTES, "mu")[-len(own) :]
    for j in used:
        found["curve" if j < 3 else "deviations", names[j]] = psi[..., 0, j]
        for layer, row in zip(layers, own, strict=True):
            name = "mu" if layer == "mu" else "effects"
            found[name, f"{layer} of {names[j]}"] = eta[..., row, j]
    of_effects = [f"{name} of {layer}" for layer in layers[:-1] for name in SCALES[:3]]
    free = np.union1d(prior.scales.own_of[used], prior.of[:, used])
    for k, name in enumerate([*SCALES[: sigma.shape[-1] - len(of_effects)], *of_effects]):
        if k in free:
            found["sigma", name] = sigma[..., k]
    return found


def results(counts: Floats, fit: Floats) -> Statistics:
    """What else is ranked: counts (..., group, predicted, label), log likelihood (...)."""
    found: Statistics = {}
    for name in METRICS:
        one, other = np.moveaxis(theta(name, counts)[..., [0, -1]], -1, 0)
        found["metrics", f"{name} of 0"] = np.nan_to_num(one, nan=-1.0)
        found["metrics", f"{name} of 1"] = np.nan_to_num(other, nan=-1.0)
        found["differences", f"{name} of 0 - 1"] = np.nan_to_num(one - other, nan=-2.0)
    found["log likelihood", "log likelihood"] = fit
    return found


def rank(truth: Floats, draws: Floats, rng: np.random.Generator) -> Floats:
    """Rank of truth (set,) among draws (set, L), ties at random, spread evenly over (0, 1)."""
    below = (draws < truth[:, None] - 1e-12).sum(axis=1)
    same = (np.abs(draws - truth[:, None]) <= 1e-12).sum(axis=1)
    place = below + np.floor(rng.random(len(truth)) * (same + 1.0))
    return (place + rng.random(len(truth))) / (draws.shape[1] + 1.0)


def batch(case: Case, sets: int, rng: np.random.Generator) -> tuple[Statistics, Floats]:
    """Ranks of a batch, and the smallest ESS of each data set."""
    settings = Settings(family=case.family, trust=case.trust, chains=4, warmup=200)
    data, known = rows(case.nested)
    everywhere = regions(score_table(data, clip=settings.clip))
    model, where = (
        everywhere if deviations else no_regions() for deviations in (case.deviations, case.trust)
    )
    scales = trusted_scales(settings.prior, settings.trust, where)
    source = trusted_scales(settings.prior, Settings(trust=case.deviations).trust, model)
    parts = data.parts if case.nested else None
    prior = plain(source, len(data.groups)) if parts is None else nested(source, parts)
    psi0, eta0, sigma0, label0 = simulate(prior, model, case, sets, rng)
    tables = [
        score_table(replace(data, label=np.where(known, label, -1)), clip=settings.clip)
        for label in label0
    ]
    labels = labeled_data(tables, family=case.family, regions=where)
    chains = start_chains(
        labels, scales, parts, chains=settings.chains, warmup=settings.warmup, rng=rng.spawn(1)[0]
    )
    a_chain = -(-DRAWS // settings.chains)
    chains, drawn = take_draws(chains, a_chain * THIN)
    names = ["log a", "log b", "c", *(f"{name} {j}" for j, name in enumerate(where.names))]
    shared = case.family, names, chains.prior
    moved = parameters(*shared, drawn.psi, drawn.eta, drawn.sigma).values()
    ess = diagnose(np.moveaxis(np.stack(list(moved), axis=-1), 0, 2)).ess_bulk.min(axis=1)
    # thin, and put the chains of a data set one after the other
    psi, eta, sigma = (
        values[:, :, THIN - 1 :: THIN].reshape(sets, -1, *values.shape[3:])[:, :DRAWS]
        for values in (drawn.psi, drawn.eta, drawn.sigma)
    )
    counts = drawn_counts(psi, tables, case.family, where, rng)
    fit0 = loglik(psi0[:, None, :, : len(names)], labels).sum(-1)[:, 0]
    true = parameters(*shared, psi0, eta0, sigma0[:, : sigma.shape[-1]])
    true |= results(complete(data, label0), fit0)
    ours = parameters(*shared, psi, eta, sigma) | results(counts, loglik(psi, labels).sum(-1))
    return {key: rank(true[key], ours[key], rng) for key in ours}, ess


def drawn_counts(
    psi: Floats, tables: list[ScoreTable], family: str, where: Regions, rng: np.random.Generator
) -> Floats:
    """Confusion counts drawn for each data set, (set, draw, group, predicted, label)."""
    curves = np.concatenate([tie(psi[..., :3], family), psi[..., 3:]], axis=-1)
    found = [
        confusion_counts(mine[None], one, target="sample", rng=rng, regions=where, jit=True)
        for mine, one in zip(curves, tables, strict=True)
    ]
    return np.concatenate([counts.drawn for counts in found])


def complete(data: ScoreData, label: np.ndarray) -> Floats:
    """Confusion counts of all labels (set, row): (set, group, predicted, label)."""
    code = (data.group * 2 + data.predicted) * 2 + label
    cells = code[..., None] == np.arange(4 * len(data.groups))
    return cells.sum(axis=1).reshape(len(label), -1, 2, 2).astype(float)


def p_values(ranks: Statistics) -> dict[tuple[str, str], tuple[float, float]]:
    """Return p of each statistic: Kolmogorov and Smirnov, and chi-square of BINS bins."""
    return {
        key: (
            float(kstest(values, "uniform").pvalue),
            float(chisquare(np.histogram(values, BINS, (0.0, 1.0))[0]).pvalue),
        )
        for key, values in ranks.items()
    }


def bonferroni(values: Sequence[float]) -> float:
    """Smallest p value, times their number."""
    return min(1.0, len(values) * min(values))


def measure(replicates: int = 1000) -> Page:
    order = range(len(CASES))[::-1]  # the longest ones first
    found = list(each(calibrate, [(number, replicates) for number in order]))[::-1]
    tests = [p_values(ranks) for ranks, _, _ in found]
    least = [bonferroni([ks for ks, _ in one.values()]) for one in tests]
    odd = [case.name for case, p in zip(CASES, least, strict=True) if (p >= LEVEL) != case.right]
    cases, classes = [], []
    for case, (_, ess, seconds), p, corrected in zip(CASES, found, tests, least, strict=True):
        key = min(p, key=lambda k: p[k][0])
        verdict = "uniform" if corrected >= LEVEL else "rejected"
        cells = [case.name, len(p), f"{p[key][0]:.2g}", key[1], f"{corrected:.2g}", verdict]
        cells += [f"{value:.0f}" for value in np.quantile(ess, [0.5, 0.01])]
        cases.append([*cells, f"{seconds:.0f}"])
        by_class = [[both for (kind, _), both in p.items() if kind == name] for name in CLASSES]
        cells = [map(bonferroni, zip(*both, strict=True)) for both in by_class]
        classes.append([case.name, *(" / ".join(f"{one:.2g}" for one in two) for two in cells)])
    right = min(p for case, p in zip(CASES, least, strict=True) if case.right)
    wrong = max(p for case, p in zip(CASES, least, strict=True) if not case.right)
    return Page(
        f"In {replicates:,} replicates a case, the smallest p of right fits is {right:.2g} after "
        f"correction, and that of the wrong one {wrong:.1g}; "
        + (f"not as expected: {', '.join(odd)}." if odd else "all cases are as expected."),
        table(HEAD, cases)
        + f"\nThe smallest p value of a class times the number of its ranks: Kolmogorov and Smirnov"
        f" / chi-square of\n{BINS} bins.\n\n" + table(f"case | {' | '.join(CLASSES)}", classes),
    )
