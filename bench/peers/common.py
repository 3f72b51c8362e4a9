"""Shared by all peers: the case, the draws, the metrics step, and the count of seconds.

A peer is a file `peer_NAME.py`, run by the Python of its own environment. It has one function,
`prepare(case, settings)`, which imports, builds and compiles, and returns `fit(seed) -> Draws`.
`main` does the rest: it fits once for each seed, counts CPU seconds, saves the draws, and prints
one line of JSON. Only numpy and the standard library are imported here.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

LOCATION_SD = np.array([0.4, 0.4, 2.0])  # of mu: log a, log b, c
SPREAD_SD = np.array([0.15, 0.15, 0.75])  # of sigma, half-normal
METRICS = ("accuracy", "tpr", "fpr")
MANY = 100_000  # unlabeled rows from which compiling the metrics step pays
BLOCK = 1 << 16  # numbers in a temporary array: they stay in the cache of a core


class Case(NamedTuple):
    """Data of a fit; log odds of a row are c + a * up + b * down.

    up, down, positive, total: float64 (node,), labeled rows, or nodes that stand for several of
    them: `positive` of `total` rows are positive; group: int64 (node,), sorted; groups: number of
    groups; weighted: whether nodes are not rows; free_up, free_down, free_weight: float64
    (unlabeled,), sorted by stratum (group * 2 + predicted); free_start: int64 (2 groups + 1,),
    first of each stratum; known: float64 (group, predicted, label), labeled rows; y_true, y_score,
    names: the rows themselves, for the program that takes rows.
    """

    up: np.ndarray
    down: np.ndarray
    positive: np.ndarray
    total: np.ndarray
    group: np.ndarray
    groups: int
    weighted: bool
    free_up: np.ndarray
    free_down: np.ndarray
    free_weight: np.ndarray
    free_start: np.ndarray
    known: np.ndarray
    y_true: np.ndarray
    y_score: np.ndarray
    names: np.ndarray


class Settings(NamedTuple):
    """How a peer samples; `target_accept` is for those with gradients.

    chains, warmup and draws are not for lightfair's `assess`, which runs at its defaults.
    """

    chains: int = 4
    warmup: int = 500
    draws: int = 200
    target_accept: float = 0.9
    nodes: bool = False  # JAGS: the chance of each unlabeled row is a monitored node
    compiled: bool = False  # lightfair: compile fits of any size
    alone: bool = (
        False  # lightfair: the sampler and the metrics step, without the report's other work
    )


class Draws(NamedTuple):
    """phi: float64 (chain, draw, group, 3): log a, log b, c; mu, sigma: (chain, draw, 3).

    positive: expected positives among the unlabeled rows, float64 (chain, draw, stratum), where
    the program has counted them itself; theta: (chain, draw, group, metric), likewise;
    divergences: number of divergent transitions, None for samplers without them; count: what
    counts positives from phi, where the program's own arithmetic is faster than NumPy's.
    """

    phi: np.ndarray
    mu: np.ndarray
    sigma: np.ndarray
    positive: np.ndarray | None = None
    theta: np.ndarray | None = None
    divergences: int | None = None
    count: Callable[[np.ndarray], np.ndarray] | None = None


Fit = Callable[[int], Draws]


def main(prepare: Callable[[Case, Settings], Fit]) -> int:
    """Fit a case once for each seed; save draws as OUT.SEED.npz and print a line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--case", type=Path, required=True)
    parser.add_argument("--settings", default="{}", help="JSON, the fields of Settings")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    case = load_case(arguments.case)
    settings = Settings(**json.loads(arguments.settings))
    began = cpu_seconds()
    fit = prepare(case, settings)
    build = cpu_seconds() - began
    fits = []
    for seed in arguments.seeds:
        times = [cpu_seconds()]
        draws = fit(seed)
        times.append(cpu_seconds())
        theta = metrics(draws, case) if draws.theta is None else draws.theta
        times.append(cpu_seconds())
        np.savez(
            f"{arguments.out}.{seed}.npz",
            phi=draws.phi,
            mu=draws.mu,
            sigma=draws.sigma,
            delta=theta[:, :, 1:] - theta[:, :, :1],
        )
        fits.append(
            {
                "seed": seed,
                "sampling": times[1] - times[0],
                "metrics": times[2] - times[1],
                "divergences": draws.divergences,
            }
        )
    print(json.dumps({"build": build, "fits": fits}))
    sys.stdout.flush()
    return 0


def load_case(path: Path) -> Case:
    """Read a case that `simulated.py` has saved."""
    with np.load(path) as saved:
        columns = {name: saved[name] for name in Case._fields}
    columns["groups"] = int(columns["groups"])
    columns["weighted"] = bool(columns["weighted"])
    return Case(**columns)


def metrics(draws: Draws, case: Case) -> np.ndarray:
    """Return accuracy, TPR and FPR of each group, float64 (chain, draw, group, metric)."""
    if draws.positive is not None:
        positive = draws.positive
    elif draws.count is not None:
        positive = draws.count(draws.phi)
    else:
        positive = expected_positives(draws.phi, case)
    shape = (*positive.shape[:2], case.groups, 2)
    positive = positive.reshape(shape)
    size = np.add.reduceat(np.append(case.free_weight, 0.0), case.free_start[:-1])
    size[np.diff(case.free_start) == 0] = 0.0
    negative = size.reshape(case.groups, 2) - positive
    counts = np.stack([negative, positive], axis=-1) + case.known  # (..., predicted, label)
    tn, fn, fp, tp = (counts[..., i, j] for i in (0, 1) for j in (0, 1))
    accuracy = (tn + tp) / (tn + fn + fp + tp)
    return np.stack([accuracy, tp / (tp + fn), fp / (fp + tn)], axis=-1)


def expected_positives(phi: np.ndarray, case: Case) -> np.ndarray:
    """Sum the calibrated chances of the unlabeled rows by stratum: (chain, draw, stratum)."""
    flat = phi.reshape(-1, case.groups, 3)
    slopes = np.exp(flat[..., :2])
    sums = np.zeros((len(flat), 2 * case.groups))
    for stratum in range(2 * case.groups):
        g = stratum // 2
        for first in range(case.free_start[stratum], case.free_start[stratum + 1], BLOCK):
            part = slice(first, min(first + BLOCK, case.free_start[stratum + 1]))
            up, down = case.free_up[part], case.free_down[part]
            weight = case.free_weight[part]
            step = max(1, BLOCK // len(up))
            for i in range(0, len(flat), step):
                rows = slice(i, i + step)
                odds = slopes[rows, g, :1] * up
                odds += slopes[rows, g, 1:] * down
                odds += flat[rows, g, 2:]
                np.negative(odds, out=odds)
                np.exp(odds, out=odds)
                odds += 1.0
                np.reciprocal(odds, out=odds)
                sums[rows, stratum] += odds @ weight
    return sums.reshape(*phi.shape[:2], 2 * case.groups)


def cpu_seconds() -> float:
    """User and system seconds of this process, its threads, and its children, ended or not."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used) + _living(os.getpid())


def _living(process: int) -> float:
    """CPU seconds of living descendants, and of what they have waited for, from /proc."""
    tick = os.sysconf("SC_CLK_TCK")
    total = 0.0
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children") as file:
                children = file.read().split()
            for child in children:
                with open(f"/proc/{child}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
                total += sum(int(ticks) for ticks in fields[11:15]) / tick + _living(int(child))
    except OSError:  # it has just ended
        pass
    return total
