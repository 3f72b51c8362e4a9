"""Whether the programs draw from the same posterior, and their effective draws.

Effective draws, R-hat and Monte Carlo errors are those of `lightfair.diagnostics`, for all programs
alike. Posterior means of a program are compared with the pooled ones of the others that use
gradients: their chains mix best, and they share no sampling code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import METRICS

from lightfair.core.mcmc.convergence import diagnose, mcse_mean

TRUSTED = ("BlackJAX", "nutpie", "Stan", "NumPyro")


class Summary(NamedTuple):
    """Fits of one program: names of the quantities, and float64 (fit, quantity) of the rest.

    draws: of each fit.
    """

    names: list[str]
    draws: int
    ess_bulk: np.ndarray
    rhat: np.ndarray
    mean: np.ndarray
    mcse: np.ndarray


def summary(paths: list[Path]) -> Summary:
    """Read the draws of fits, and delete their files."""
    rows = []
    for path in paths:
        with np.load(path) as saved:
            draws = [saved[name] for name in ("phi", "mu", "sigma", "delta")]
        path.unlink()
        groups, shape = draws[0].shape[2], draws[0].shape[:2]
        values = np.concatenate([part.reshape(*shape, -1) for part in draws], axis=-1)
        checked = diagnose(values)
        rows.append((checked.ess_bulk, checked.rhat, values.mean(axis=(0, 1)), mcse_mean(values)))
    curve = ("log a", "log b", "c")
    names = [f"{word}, group {g + 1}" for g in range(groups) for word in curve]
    names += [f"{scale} of {word}" for scale in ("mu", "sigma") for word in curve]
    names += [f"delta {word}, group {g + 1}" for g in range(1, groups) for word in METRICS]
    return Summary(names, shape[0] * shape[1], *map(np.array, zip(*rows, strict=True)))


def worst(fits: Summary) -> dict[str, Any]:
    """Return the fewest effective draws and the largest R-hat; medians over fits."""
    deltas = [name.startswith("delta") for name in fits.names]
    return {
        "draws": fits.draws,
        "ess_bulk": float(np.median(fits.ess_bulk.min(axis=1))),
        "ess_bulk_delta": float(np.median(fits.ess_bulk[:, deltas].min(axis=1))),
        "ess_quantity": fits.names[int(np.argmin(np.median(fits.ess_bulk, axis=0)))],
        "rhat": float(np.median(fits.rhat.max(axis=1))),
    }


def disagreement(name: str, summaries: dict[str, Summary]) -> dict[str, Any]:
    """Return the largest |z| of a program's means; nothing if there is no other program."""
    others = [summaries[other] for other in TRUSTED if other in summaries and other != name]
    if not others:
        return {}
    mean, error = _pooled([summaries[name]])
    reference, its_error = _pooled(others)
    z = np.abs(mean - reference) / np.hypot(error, its_error)
    at = int(np.argmax(z))
    return {"z": float(z[at]), "z_quantity": summaries[name].names[at]}


def _pooled(summaries: list[Summary]) -> tuple[np.ndarray, np.ndarray]:
    """Return means over all fits, weighted by their precision, and their Monte Carlo errors."""
    mean = np.concatenate([s.mean for s in summaries])
    precision = np.concatenate([s.mcse for s in summaries]) ** -2.0
    total = precision.sum(axis=0)
    return (mean * precision).sum(axis=0) / total, total**-0.5
