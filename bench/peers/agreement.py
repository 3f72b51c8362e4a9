"""Whether the programs draw from the same posterior, and their effective draws.

Effective draws, R-hat and Monte Carlo errors are those of lightfair's diagnostics, for all programs
alike. Posterior means of a program are compared with the pooled ones of the others that use
gradients: their chains mix best, and they share no sampling code.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lightfair.core.mcmc.convergence import diagnose, mcse_mean


class Summary(NamedTuple):
    """Fits of one program.

    draws: of each fit; ess_bulk: fewest effective draws of any quantity, rhat: the largest one,
    medians over fits; mean, mcse: float64 (fit, quantity).
    """

    draws: int
    ess_bulk: float
    rhat: float
    mean: np.ndarray
    mcse: np.ndarray


def summary(paths: Iterable[Path]) -> Summary:
    """Read the draws of fits, and delete their files."""
    rows = []
    for path in paths:
        with np.load(path) as saved:
            parts = [saved[name] for name in ("phi", "mu", "sigma", "delta")]
        path.unlink()
        shape = parts[0].shape[:2]
        values = np.concatenate([part.reshape(*shape, -1) for part in parts], axis=-1)
        found = diagnose(values)
        worst = (found.ess_bulk.min(), found.rhat.max())
        rows.append((*worst, values.mean(axis=(0, 1)), mcse_mean(values)))
    ess, rhat, mean, mcse = map(np.array, zip(*rows, strict=True))
    return Summary(shape[0] * shape[1], float(np.median(ess)), float(np.median(rhat)), mean, mcse)


def largest_z(own: Summary, others: list[Summary]) -> float:
    """Return the largest difference of means to those of other programs, in standard errors."""
    mean, error = _pooled([own])
    reference, its_error = _pooled(others)
    return float(np.max(np.abs(mean - reference) / np.hypot(error, its_error)))


def _pooled(summaries: list[Summary]) -> tuple[np.ndarray, np.ndarray]:
    """Return means over all fits, weighted by their precision, and their Monte Carlo errors."""
    mean = np.concatenate([s.mean for s in summaries])
    precision = np.concatenate([s.mcse for s in summaries]) ** -2.0
    total = precision.sum(axis=0)
    return (mean * precision).sum(axis=0) / total, total**-0.5
