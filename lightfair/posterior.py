"""The posterior: curves and metrics, drawn until the chains have converged.

Table -> evidence -> chains -> draws of the curves -> confusion counts -> theta, and again from
the chains on while R-hat or an effective sample size of any parameter, metric or difference
misses its gate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .diagnostics import Gate, diagnose, gate
from .evidence import table_evidence
from .imputation import confusion_counts
from .metrics import theta
from .model import Floats, active, tie
from .sampler import Draws, take_draws, warm_up
from .settings import Settings
from .table import ScoreTable

MAX_DRAWS = 8  # times the draws asked for, where the gate is not met

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws of the calibration curves.

    Attributes
    ----------
    phi : float64 array, shape (chain, draw, group, 3)
        log a, log b, c of each group.
    mu, sigma : float64 array, shape (chain, draw, 3)
        Common location and spread of the groups' log a, log b and c. Without hierarchy each group
        has its own: (chain, draw, group, 3).
    """

    phi: Floats
    mu: Floats
    sigma: Floats


def draw_posterior(
    table: ScoreTable,
    settings: Settings,
    streams: list[np.random.Generator],
    progress: Progress | None,
) -> tuple[Posterior, dict[str, Floats], Gate]:
    """Draw until the chains meet the gate, or the limit is reached.

    Parameters
    ----------
    table
        Of all rows.
    settings
        Resolved.
    streams
        Generators of the sampler and of the imputation.

    Returns
    -------
    The posterior, draws of each metric (chain, draw, group), and the verdict on convergence.
    """

    def told(stage: str) -> Callable[[int, int], None] | None:
        if progress is None:
            return None
        return lambda done, total: progress(stage, done, total)

    evidence = table_evidence(
        [table], family=settings.family, hierarchical=settings.hierarchical, cap=settings.cap
    )
    chains = warm_up(
        evidence,
        settings.prior,
        chains=settings.chains,
        warmup=settings.warmup,
        rng=streams[0],
        progress=told("warm-up"),
    )
    parts: list[Posterior] = []
    metrics: list[dict[str, Floats]] = []
    smooth: list[dict[str, Floats]] = []
    missing = settings.draws
    while True:
        chains, block = take_draws(chains, missing, progress=told("draws"))
        fresh = _named(block, settings.family, settings.hierarchical)
        counts = confusion_counts(
            fresh.phi,
            table,
            target=settings.target,
            rng=streams[1],
            cap=settings.cap,
            jit=chains.jit,
        )
        parts.append(fresh)
        metrics.append({name: theta(name, counts.drawn) for name in settings.metrics})
        smooth.append({name: theta(name, counts.expected) for name in settings.metrics})
        for name in settings.label_free:  # one number in every draw, not one up to rounding
            known = theta(name, table.sums("weight").sum(-1)[..., None] * [1.0, 0.0])
            metrics[-1][name] = np.broadcast_to(known, metrics[-1][name].shape)
            smooth[-1][name] = metrics[-1][name]
        posterior = Posterior(
            *(
                np.concatenate([getattr(p, n) for p in parts], axis=1)
                for n in ("phi", "mu", "sigma")
            )
        )
        theta_draws, judged = (
            {name: np.concatenate([m[name] for m in parts], axis=1) for name in settings.metrics}
            for parts in (metrics, smooth)
        )
        verdict = gate(diagnose(_quantities(posterior, judged, table, settings)))
        taken = posterior.phi.shape[1]
        missing = min(taken, MAX_DRAWS * settings.draws - taken)
        if verdict.ok or missing == 0:
            return posterior, theta_draws, verdict


def _named(block: Draws, family: str, hierarchical: bool) -> Posterior:
    """Drop the axis of data sets, and fill in the parameters that the family derives."""
    if hierarchical:
        values = (block.phi[0], block.mu[0], block.sigma[0])
    else:  # every group was a data set of one group
        by_group = (block.phi[:, :, :, 0], block.mu, block.sigma)
        values = tuple(np.moveaxis(v, 0, 2) for v in by_group)  # type: ignore[assignment]
    return Posterior(*(tie(value, family) for value in values))


def _quantities(
    posterior: Posterior, theta_draws: dict[str, Floats], table: ScoreTable, settings: Settings
) -> Floats:
    """Everything whose convergence is checked: (chain, draw, quantity).

    Metrics are taken at their expected counts. What the drawn labels of the target `sample` add is
    independent noise, and where few rows are left it makes a metric 0 in most draws.
    """
    free = active(settings.family)
    shape = posterior.phi.shape[:2]
    reference = None if settings.reference is None else table.groups.index(settings.reference)
    found = [getattr(posterior, n)[..., free].reshape(*shape, -1) for n in ("phi", "mu", "sigma")]
    for draws in theta_draws.values():
        found.append(_filled(draws))
        if reference is not None:
            delta = np.delete(draws - draws[..., [reference]], reference, axis=-1)
            found.append(_filled(delta))
    return np.concatenate(found, axis=-1)


def _filled(draws: Floats) -> Floats:
    """Put the mean of the defined draws in place of undefined ones, for diagnostics only."""
    undefined = np.isnan(draws)
    if not undefined.any():
        return draws
    count = np.maximum((~undefined).sum(axis=(0, 1)), 1)
    mean = np.where(undefined, 0.0, draws).sum(axis=(0, 1)) / count
    return np.where(undefined, mean, draws)
