"""Shared by all peers: the case, settings, the draws and the metrics step.

A peer is a module `peer_NAME.py` with a function `prepare(case, settings)`, which imports, builds
and compiles, and returns `fit(seed) -> Draws`. Only numpy and the standard library are imported
here, and JAX where a peer has it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

LOCATION_SD = np.array([0.4, 0.4, 2.0])  # of mu: log a, log b, c
SPREAD_SD = np.array([0.15, 0.15, 0.75])  # of sigma, half-normal
METRICS = ("accuracy", "tpr", "fpr")
MANY = 100_000  # unlabeled rows from which compiling the metrics step pays
BLOCK = 1 << 16  # numbers in a temporary array: they stay in the cache of a core


class Case(NamedTuple):
    """Data of a fit; log odds of a row are c + a * up + b * down.

    The first five are those of `peer_blackjax.log_likelihood`.

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
    """How a peer samples; `assess` of lightfair runs at its defaults.

    nodes: JAGS monitors the chance of each unlabeled row; compiled: lightfair compiles fits of any
    size; alone: it runs its sampler and metrics step, without the report's other work.
    """

    chains: int = 4
    warmup: int = 500
    draws: int = 200
    target_accept: float = 0.9
    nodes: bool = False
    compiled: bool = False
    alone: bool = False


class Draws(NamedTuple):
    """phi: float64 (chain, draw, group, 3): log a, log b, c; mu, sigma: (chain, draw, 3).

    theta: float64 (chain, draw, group, metric), where the program computes it; divergences: number
    of divergent transitions, None for samplers without them; count: what counts positives from
    phi, where that is not left to `expected_positives`.
    """

    phi: np.ndarray
    mu: np.ndarray
    sigma: np.ndarray
    theta: np.ndarray | None = None
    divergences: int | None = None
    count: Callable[[np.ndarray], np.ndarray] | None = None


Fit = Callable[[int], Draws]


def metrics(draws: Draws, case: Case) -> np.ndarray:
    """Return accuracy, TPR and FPR of each group, float64 (chain, draw, group, metric)."""
    if draws.theta is not None:
        return draws.theta
    count = draws.count or (lambda phi: expected_positives(phi, case))
    positive = count(draws.phi)
    positive = positive.reshape(*positive.shape[:2], case.groups, 2)
    size = [case.free_weight[i:j].sum() for i, j in pairwise(case.free_start)]
    negative = np.reshape(size, (case.groups, 2)) - positive
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
                sums[rows, stratum] += odds @ case.free_weight[part]
    return sums.reshape(*phi.shape[:2], 2 * case.groups)


def jax_counter(case: Case) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return `expected_positives` in JAX, which takes half the seconds; None for few rows."""
    if len(case.free_up) < MANY:
        return None
    import jax
    import jax.numpy as jnp

    @jax.jit
    def stratum(curves, up, down, weight):
        def one(phi):
            odds = phi[2] + jnp.exp(phi[0]) * up + jnp.exp(phi[1]) * down
            return jnp.sum(weight / (1.0 + jnp.exp(-odds)))

        return jax.lax.map(one, curves)

    def count(phi: np.ndarray) -> np.ndarray:
        flat = phi.reshape(-1, case.groups, 3)
        sums = []
        for s, (i, j) in enumerate(pairwise(case.free_start)):
            columns = (case.free_up[i:j], case.free_down[i:j], case.free_weight[i:j])
            sums.append(stratum(flat[:, s // 2], *columns))
        return np.stack(sums, axis=-1).reshape(*phi.shape[:2], -1)

    return count
