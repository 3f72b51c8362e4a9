"""Do the programs draw from the same posterior, and what are their draws worth?

Effective draws, R-hat and Monte Carlo errors are those of `lightfair.diagnostics`, for all programs
alike. Posterior means of a program are held against those of the others that have gradients,
pooled: their chains mix best, and they share no code of sampling.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import METRICS

from lightfair.core.mcmc.convergence import diagnose, mcse_mean

TRUSTED = ("BlackJAX", "nutpie", "Stan", "NumPyro")


class Summary(NamedTuple):
    """Of the fits of one program: names of the quantities, and float64 (fit, quantity) of the rest.

    draws: of each fit.
    """

    names: list[str]
    draws: int
    ess_bulk: np.ndarray
    rhat: np.ndarray
    mean: np.ndarray
    mcse: np.ndarray


def summary(paths: list[Path]) -> Summary:
    """Read the draws of fits, and delete them."""
    rows = []
    for path in paths:
        with np.load(path) as saved:
            draws = [saved[name] for name in ("phi", "mu", "sigma", "delta")]
        path.unlink()
        groups, shape = draws[0].shape[2], draws[0].shape[:2]
        values = np.concatenate([part.reshape(*shape, -1) for part in draws], axis=-1)
        found = diagnose(values)
        rows.append((found.ess_bulk, found.rhat, values.mean(axis=(0, 1)), mcse_mean(values)))
    curve = ("log a", "log b", "c")
    names = [f"{word}, group {g + 1}" for g in range(groups) for word in curve]
    names += [f"{scale} of {word}" for scale in ("mu", "sigma") for word in curve]
    names += [f"delta {word}, group {g + 1}" for g in range(1, groups) for word in METRICS]
    return Summary(names, shape[0] * shape[1], *map(np.array, zip(*rows, strict=True)))


def worst(found: Summary) -> dict[str, Any]:
    """Return the fewest effective draws and the largest R-hat; medians over fits."""
    deltas = [name.startswith("delta") for name in found.names]
    return {
        "draws": found.draws,
        "ess_bulk": float(np.median(found.ess_bulk.min(axis=1))),
        "ess_bulk_delta": float(np.median(found.ess_bulk[:, deltas].min(axis=1))),
        "ess_quantity": found.names[int(np.argmin(np.median(found.ess_bulk, axis=0)))],
        "rhat": float(np.median(found.rhat.max(axis=1))),
    }


def disagreement(name: str, found: dict[str, Summary]) -> dict[str, Any]:
    """Return the largest |z| of a program's means; nothing where there is no other to ask."""
    others = [found[other] for other in TRUSTED if other in found and other != name]
    if not others:
        return {}
    mean, error = _pooled([found[name]])
    reference, its_error = _pooled(others)
    z = np.abs(mean - reference) / np.hypot(error, its_error)
    at = int(np.argmax(z))
    return {"z": float(z[at]), "z_quantity": found[name].names[at]}


def _pooled(summaries: list[Summary]) -> tuple[np.ndarray, np.ndarray]:
    """Return means over all fits, weighted by their precision, and their Monte Carlo errors."""
    mean = np.concatenate([s.mean for s in summaries])
    precision = np.concatenate([s.mcse for s in summaries]) ** -2.0
    total = precision.sum(axis=0)
    return (mean * precision).sum(axis=0) / total, total**-0.5
