"""Simulation-based calibration: is the posterior right on data drawn from the model itself?

    python bench/sbc.py [--replicates N] [--seed N] [--family NAME ...] [--only NAME ...]
                        [--out FILE]

Draw parameters from the prior, labels given them, and parameters from the posterior given the
labels that are shown. Then the rank of the true value among L draws is uniform on 0..L, for any
function of parameters and labels (Talts, Betancourt, Simpson, Vehtari and Gelman 2018,
arXiv:1804.06788). The functions here are

    curve, deviations, mu     the coordinates psi of group 0, and their common locations
    effects                   of the two levels of group 0, under the nested prior
    sigma                     the free scales, omega, tau and those of effects among them
    metrics, differences      of these very rows, all labels known (target `sample`), in the first
                              and the last group; 0 / 0 is -1
    log likelihood            of the labels shown; it finds a posterior that ignores them
                              (Modrak et al. 2023, arXiv:2211.02383)

Every family is tried with trust and without, at the default settings of `assess`, and beta under
the nested prior of four groups. One more fit is wrong on purpose: the curve alone, to data with
deviations. It must be rejected. Ties are broken at random, and ranks are tested by Kolmogorov and
Smirnov. A case fails where its smallest p value times the number of its ranks is below LEVEL; the
exit code is then 1, as it is when the wrong fit passes. `--out` adds the result to a file.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
# this folder goes: numba imports whatever is called coverage, and would find coverage.py here
sys.path[:] = [str(HERE.parent), *(p for p in sys.path if Path(p).resolve() != HERE)]

from scipy.stats import chisquare, kstest  # noqa: E402

from lightfair.core.data.logit import Floats  # noqa: E402
from lightfair.core.data.rows import ScoreData, score_data  # noqa: E402
from lightfair.core.data.table import ScoreTable, score_table  # noqa: E402
from lightfair.core.mcmc.convergence import diagnose  # noqa: E402
from lightfair.core.mcmc.hierarchy import Hierarchy, nested, plain  # noqa: E402
from lightfair.core.mcmc.sampler import start_chains, take_draws  # noqa: E402
from lightfair.core.metrics.definitions import theta  # noqa: E402
from lightfair.core.metrics.imputation import confusion_counts  # noqa: E402
from lightfair.core.model.curve import FAMILIES, active, tie  # noqa: E402
from lightfair.core.model.likelihood import labeled_data, loglik  # noqa: E402
from lightfair.core.model.regions import Regions, no_regions, regions, trusted_scales  # noqa: E402
from lightfair.core.settings import Settings  # noqa: E402

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
VARIANTS = ("curve", "trust", "wrong", "nested")
WRONG = "wrong on purpose: curve alone fitted to data with deviations"
HEAD = f"""# Simulation-based calibration

Written by the calls below. If the sampler and the imputation are right, the rank of the true
value among {DRAWS} posterior draws is uniform on data drawn from the model itself
(Talts et al. 2018). The data sets have two groups, of {ROWS[0]} and {ROWS[1]} rows, every third
with its label shown, {MASS} rows of the first at the lower clipping bound, and three
regions for each predicted class. Under the nested prior a second attribute halves both groups.
Chains and warm-up are those of `assess`; every {THIN}th sweep is a draw. What is ranked is listed
at the head of `bench/sbc.py`.

p is that of Kolmogorov and Smirnov, the smallest of all ranks of a case. Times their
number (Bonferroni) it must be at least {LEVEL:g}; in the case that is wrong on purpose, below.
ESS is the bulk effective sample size of all sweeps, the smallest of the parameters ranked: its
median over replicates, and the value that 1 % of them are below.
"""

Statistics = dict[tuple[str, str], Floats]  # by class and name


class Case(NamedTuple):
    """What is fitted, to data with deviations or without; `right` says that both agree."""

    name: str
    family: str
    deviations: bool
    trust: bool
    nested: bool = False

    @property
    def right(self) -> bool:
        return self.deviations == self.trust


class Truth(NamedTuple):
    """A batch: psi (set, group, D), eta (set, P, D), sigma (set, S), label (set, row)."""

    psi: Floats
    eta: Floats
    sigma: Floats
    label: np.ndarray


class Outcome(NamedTuple):
    """Ranks of each statistic as numbers in (0, 1), (replicate,); ESS (replicate,); seconds."""

    ranks: Statistics
    ess: Floats
    seconds: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--out", type=Path, help="file to which the result is added")
    arguments = parser.parse_args()
    if arguments.replicates < 1:
        parser.error("--replicates must be at least 1")
    os.environ.setdefault("LIGHTFAIR_JIT", "1")
    found = {}
    for number, (variant, case) in enumerate(cases()):
        if variant not in arguments.only or case.family not in arguments.family:
            continue
        rng = np.random.default_rng([arguments.seed, number])
        found[case] = calibrate(case, arguments.replicates, rng)
        print(_line(case, found[case]), flush=True)
    result = report(found, arguments.replicates, arguments.seed)
    print(f"\n{result}")
    if arguments.out is not None:
        head = "" if arguments.out.exists() else HEAD
        with arguments.out.open("a") as file:
            file.write(f"{head}\n{result}")
    return 0 if all(as_expected(case, outcome) for case, outcome in found.items()) else 1


def cases() -> Iterator[tuple[str, Case]]:
    """Every case, with the name of its variant."""
    for family in FAMILIES:
        yield "curve", Case(f"{family}, curve alone", family, False, False)
        yield "trust", Case(f"{family}, trust", family, True, True)
    yield "wrong", Case(WRONG, "beta", True, False)
    yield "nested", Case("beta, nested, curve alone", "beta", False, False, True)
    yield "nested", Case("beta, nested, trust", "beta", True, True, True)


def rows(crossed: bool) -> tuple[ScoreData, np.ndarray]:
    """The rows of all data sets, and which of them have their label shown."""
    first = np.concatenate([np.zeros(MASS), np.linspace(0.03, 0.98, ROWS[0] - MASS)])
    score = np.concatenate([first, np.linspace(0.02, 0.99, ROWS[1]) ** 1.3])
    row = np.arange(len(score))
    columns = dict(zip(ATTRIBUTES, (np.repeat([0, 1], ROWS), row // 2 % 2), strict=True))
    group = columns if crossed else columns["first"]
    return score_data(row % 2, score, sensitive_features=group), row % 3 == 1


def calibrate(case: Case, replicates: int, rng: np.random.Generator) -> Outcome:
    """Simulate, fit and rank, in batches."""
    began = time.process_time()
    parts: list[Statistics] = []
    ess: list[Floats] = []
    for first in range(0, replicates, BATCH):
        ranks, worst = _batch(case, min(BATCH, replicates - first), rng)
        parts.append(ranks)
        ess.append(worst)
    joined = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    return Outcome(joined, np.concatenate(ess), time.process_time() - began)


def simulate(
    prior: Hierarchy,
    where: Regions,
    family: str,
    data: ScoreData,
    sets: int,
    rng: np.random.Generator,
) -> Truth:
    """Draw parameters from the prior, and all labels given them.

    Log odds are written out as `model` and `trust` print them, not taken from `likelihood`.
    """
    scales, groups = prior.scales, len(data.groups)
    sigma = np.abs(rng.standard_normal((sets, len(scales.sd)))) * scales.sd
    eta = rng.standard_normal((sets, *prior.ratio.shape)) * prior.sds(sigma)
    eta[:, -1] += scales.centre
    noise = rng.standard_normal((sets, groups, len(scales.own)))
    apart = (rng.random((sets, groups)) < scales.apart) * 1.0
    psi = prior.middle(eta, apart) + scales.spread(sigma, apart) * noise
    log_a, log_b, c = np.moveaxis(tie(psi[..., :3], family), -1, 0)
    score = np.clip(data.score, Settings().clip, 1.0 - Settings().clip)
    stratum = (data.group.astype(np.int64) * 2 + data.predicted) * 3
    region = where.of(stratum, np.log(score) - np.log1p(-score))
    of = data.group
    odds = c[:, of] + np.exp(log_a)[:, of] * np.log(score) - np.exp(log_b)[:, of] * np.log1p(-score)
    odds = where.on_curve[region] * odds + where.base[region]
    odds = odds + (psi[:, of, 3:] * where.loadings[region]).sum(-1)
    label = rng.random(odds.shape) < 0.5 * (1.0 + np.tanh(0.5 * odds))
    return Truth(psi, eta, sigma, label.astype(np.int8))


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


def _batch(case: Case, sets: int, rng: np.random.Generator) -> tuple[Statistics, Floats]:
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
    truth = simulate(prior, model, case.family, data, sets, rng)
    tables = [
        score_table(replace(data, label=np.where(known, label, -1)), clip=settings.clip)
        for label in truth.label.astype(np.int8)
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
    counts = _counts(psi, tables, case.family, where, rng)
    of_truth = loglik(truth.psi[:, None, :, : len(names)], labels).sum(-1)[:, 0]
    mine = truth.sigma[:, : sigma.shape[-1]]
    true = parameters(*shared, truth.psi, truth.eta, mine)
    true |= results(_complete(data, truth.label), of_truth)
    ours = parameters(*shared, psi, eta, sigma) | results(counts, loglik(psi, labels).sum(-1))
    return {key: rank(true[key], ours[key], rng) for key in ours}, ess


def _counts(
    psi: Floats, tables: list[ScoreTable], family: str, where: Regions, rng: np.random.Generator
) -> Floats:
    """Confusion counts drawn for each data set, (set, draw, group, predicted, label)."""
    curves = np.concatenate([tie(psi[..., :3], family), psi[..., 3:]], axis=-1)
    found = [
        confusion_counts(mine[None], table, target="sample", rng=rng, regions=where, jit=True)
        for mine, table in zip(curves, tables, strict=True)
    ]
    return np.concatenate([counts.drawn for counts in found])


def _complete(data: ScoreData, label: np.ndarray) -> Floats:
    """Confusion counts of all labels (set, row): (set, group, predicted, label)."""
    code = (data.group * 2 + data.predicted) * 2 + label
    cells = code[..., None] == np.arange(4 * len(data.groups))
    return cells.sum(axis=1).reshape(len(label), -1, 2, 2).astype(float)


def ks(ranks: Statistics) -> dict[tuple[str, str], float]:
    """Kolmogorov-Smirnov p value of each statistic."""
    return {key: float(kstest(values, "uniform").pvalue) for key, values in ranks.items()}


def chi_square(ranks: Statistics) -> dict[tuple[str, str], float]:
    """Chi-square p value of each statistic, in BINS bins."""
    counts = {key: np.histogram(v, BINS, (0.0, 1.0))[0] for key, v in ranks.items()}
    return {key: float(chisquare(count).pvalue) for key, count in counts.items()}


def bonferroni(p_values: dict[tuple[str, str], float]) -> float:
    """Smallest p value, times their number."""
    return min(1.0, len(p_values) * min(p_values.values()))


def as_expected(case: Case, outcome: Outcome) -> bool:
    """Whether a right fit passes, or a wrong one fails."""
    return (bonferroni(ks(outcome.ranks)) >= LEVEL) == case.right


def report(found: dict[Case, Outcome], replicates: int, seed: int) -> str:
    """A section of SBC.md: what was run, and two tables."""
    options = " ".join(sys.argv[1:]).partition(" --out")[0]
    log = ["git", "-C", str(HERE), "log", "-1", "--format=%h"]
    commit = subprocess.run(log, capture_output=True, text=True, check=True).stdout.strip()
    lines = [
        f"## `python bench/sbc.py {options}`",
        "",
        f"Commit {commit}, {time.strftime('%Y-%m-%d')}.",
        "",
        "| case | ranks | smallest p | of | times ranks | verdict | ESS | of 1 % | CPU, s |",
        "|---|---:|---:|---|---:|---|---:|---:|---:|",
    ]
    for case, outcome in found.items():
        p_values = ks(outcome.ranks)
        key = min(p_values, key=lambda k: p_values[k])
        middle, low = np.quantile(outcome.ess, [0.5, 0.01])
        lines.append(
            f"| {case.name} | {len(p_values)} | {p_values[key]:.2g} | {key[1]} | "
            f"{bonferroni(p_values):.2g} | {_verdict(case, outcome)} | {middle:.0f} | {low:.0f} | "
            f"{outcome.seconds:.0f} |"
        )
    lines += [
        "",
        f"The smallest p value of a class times the number of its ranks: KS / chi-square of {BINS} "
        "bins.",
        "",
        f"| case | {' | '.join(CLASSES)} |",
        "|---|" + "---:|" * len(CLASSES),
    ]
    for case, outcome in found.items():
        cells = []
        for name in CLASSES:
            mine = {key: v for key, v in outcome.ranks.items() if key[0] == name}
            both = (bonferroni(test(mine)) for test in (ks, chi_square)) if mine else ()
            cells.append(" / ".join(f"{p:.2g}" for p in both))
        lines.append(f"| {case.name} | {' | '.join(cells)} |")
    total = sum(outcome.seconds for outcome in found.values())
    lines += ["", f"{replicates} replicates a case, seed {seed}; {total:.0f} s of CPU in all."]
    return "\n".join(lines) + "\n"


def _verdict(case: Case, outcome: Outcome) -> str:
    rejected = bonferroni(ks(outcome.ranks)) < LEVEL
    word = "rejected" if rejected else "uniform"
    return word if as_expected(case, outcome) else f"{word.upper()}, NOT EXPECTED"


def _line(case: Case, outcome: Outcome) -> str:
    p = bonferroni(ks(outcome.ranks))
    return f"{case.name}: {_verdict(case, outcome)} ({p:.2g}), {outcome.seconds:.0f} s of CPU"


if __name__ == "__main__":
    sys.exit(main())
