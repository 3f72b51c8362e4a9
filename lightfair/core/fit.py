"""The posterior: curves and metrics, drawn until the chains have converged.

Table -> evidence -> chains -> draws of the curves -> confusion counts -> theta, and again from
the chains on while R-hat or an effective sample size of any parameter, metric or difference
misses its gate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .comparison.pooled import pooled_theta
from .data.logit import Floats
from .data.table import ScoreTable
from .mcmc.chains import more_draws, start_chains
from .mcmc.convergence import Gate, diagnose, gate
from .mcmc.posterior import Posterior
from .metrics.definitions import Metric, free_of_labels, theta
from .metrics.imputation import confusion_counts
from .model.curve import active, tie
from .model.likelihood import table_evidence
from .model.regions import Regions, no_regions, regions, trusted_scales
from .settings import Settings

if TYPE_CHECKING:
    from .mcmc.nested_sampler import NestedChains, NestedDraws
    from .mcmc.sampler import Chains, Draws
    from .metrics.imputation import Slots

MAX_DRAWS = 8  # times the draws asked for, where the gate is not met

Progress = Callable[[str, int, int], None]


class Drawn(NamedTuple):
    """What was drawn.

    theta: draws of each metric, float64 (chain, draw, group); counts: float64 (chain, draw, group,
    predicted, label), the confusion counts that theta is made of; gate: the verdict on convergence.
    """

    posterior: Posterior
    theta: dict[str, Floats]
    counts: Floats
    gate: Gate


def draw_posterior(
    table: ScoreTable,
    settings: Settings,
    streams: list[np.random.Generator],
    progress: Progress | None,
    *,
    slots: tuple[Slots, ...] | None = None,
    label_seed: int = 0,
) -> Drawn:
    """Draw until the chains meet the gate, or the limit is reached.

    Parameters
    ----------
    table
        Of all rows.
    settings
        Resolved.
    streams
        Generators of the sampler and of the imputation.
    slots
        Of each group, where labels are to be imputed slot by slot, for metrics of nodes or several
        thresholds; `label_seed` is the seed of that imputation.
    """

    def told(stage: str) -> Callable[[int, int], None] | None:
        if progress is None:
            return None
        return lambda done, total: progress(stage, done, total)

    where = no_regions() if settings.trust is None else regions(table)
    evidence = table_evidence(
        [table],
        family=settings.family,
        hierarchical=settings.hierarchical is not False,
        cap=settings.cap,
        regions=where,
    )
    count, draws, warmup = settings.run
    chains = start_chains(
        evidence,
        trusted_scales(settings.prior, settings.trust, where),
        table.parts if settings.nested else None,
        chains=count,
        warmup=warmup,
        rng=streams[0],
        progress=told("warm-up"),
    )
    parts: list[Posterior] = []
    drawn: list[Floats] = []
    smooth: list[dict[str, Floats]] = []
    pooled: list[dict[str, Floats]] = []
    missing = draws
    while True:
        chains, block = more_draws(chains, missing, progress=told("draws"))
        fresh = _named(block, chains, settings, where, table)
        counts = confusion_counts(
            fresh.psi,
            table,
            target=settings.target if slots is None else "expected",
            rng=streams[1],
            cap=settings.cap,
            regions=where,
            jit=chains.jit,
        )
        parts.append(fresh)
        drawn.append(counts.drawn)
        smooth.append(_count_theta(counts.expected, table, settings))
        pooled.append(pooled_theta(counts.expected, table, map(settings.metric, settings.metrics)))
        if slots is not None:
            smooth[-1] |= _slot_theta(fresh, slots, settings, "expected", label_seed, None)
        posterior = _joined(parts)
        judged = {
            name: np.concatenate([m[name] for m in smooth], axis=1) for name in settings.metrics
        }
        levels = [np.concatenate([m[name] for m in pooled], axis=1) for name in pooled[0]]
        verdict = gate(diagnose(_quantities(posterior, judged, levels, table, settings)))
        taken = posterior.phi.shape[1]
        missing = min(-(-taken // 2), MAX_DRAWS * draws - taken)
        if verdict.ok or missing == 0:
            break
    if slots is None:
        all_counts = np.concatenate(drawn, axis=1)
        theta_draws = _count_theta(all_counts, table, settings)
    else:
        all_counts = np.empty((*posterior.phi.shape[:3], 2, 2))
        of_slots = _slot_theta(posterior, slots, settings, settings.target, label_seed, all_counts)
        theta_draws = _count_theta(all_counts, table, settings) | of_slots
    ordered = {name: theta_draws[name] for name in settings.metrics}
    return Drawn(posterior, ordered, all_counts, verdict)


def count_theta(counts: Floats, table: ScoreTable, settings: Settings, metric: Metric) -> Floats:
    """Return a metric of counts: (chain, draw, group, predicted, label) -> (chain, draw, group).

    One that needs no label is one number in every draw, not one up to rounding.
    """
    if metric.label_free and settings.target != "population":
        rows = table.sums("weight").sum(-1)[..., None]
        known = free_of_labels(metric, *(theta(metric, rows * x) for x in ([1.0, 0.0], [0.0, 1.0])))
        return np.broadcast_to(known, counts.shape[:3])
    return theta(metric, counts)


def _count_theta(counts: Floats, table: ScoreTable, settings: Settings) -> dict[str, Floats]:
    """All metrics of counts of the settings."""
    metrics = map(settings.metric, settings.metrics)
    return {m.name: count_theta(counts, table, settings, m) for m in metrics if m.of == "counts"}


def _slot_theta(
    posterior: Posterior,
    slots: tuple[Slots, ...],
    settings: Settings,
    target: str,
    seed: int,
    counts: Floats | None,
) -> dict[str, Floats]:
    """Impute slot by slot, group by group: the metrics of nodes; and counts are filled in."""
    from .metrics.imputation import confusion, impute_group, slot_theta

    shape = posterior.phi.shape[:3]
    metrics = [m for m in map(settings.metric, settings.metrics) if m.of == "nodes"]
    found = {metric.name: np.empty(shape) for metric in metrics}
    psi = posterior.psi
    for index, mine in enumerate(slots):
        imputed = impute_group(
            psi, index, mine, posterior.regions, target=target, seed=seed, cap=settings.cap
        )
        if counts is not None:
            counts[:, :, index] = confusion(imputed, mine).reshape(*shape[:2], 2, 2)
        for metric in metrics:
            value = slot_theta(metric, mine.score, *imputed)
            if metric.name in settings.label_free:  # one number in every draw, as above
                one = np.ones((1, len(mine.score)))
                each = (slot_theta(metric, mine.score, mine.total * one, x * one) for x in (0, 1))
                value = np.broadcast_to(free_of_labels(metric, *each), value.shape)
            found[metric.name][:, :, index] = value.reshape(shape[:2])
    return found


def _named(
    block: Draws | NestedDraws,
    chains: Chains | NestedChains,
    settings: Settings,
    where: Regions,
    table: ScoreTable,
) -> Posterior:
    """Drop the axis of data sets, and fill in the parameters that the family derives."""
    psi, mu, sigma = block.psi[0], block.mu[0], block.sigma[0]
    if not settings.hierarchical:  # every group was a data set of one group
        by_group = (block.psi[:, :, :, 0], block.mu, block.sigma)
        psi, mu, sigma = (np.moveaxis(values, 0, 2) for values in by_group)
    phi, mu, spread = (tie(values[..., :3], settings.family) for values in (psi, mu, sigma))
    if "mass" in where.names:  # sigma_c is the spread of the masses, too, in every family
        spread = np.concatenate([spread[..., :2], sigma[..., 2:3]], axis=-1)
    omega, tau = (None, None) if settings.trust is None else (sigma[..., 3], sigma[..., 4])
    plain = Posterior(phi, mu, spread, psi[..., 3:], omega, tau, where)
    if not settings.nested:
        return plain
    from .mcmc.hierarchy import named_effects

    found = named_effects(block.eta[0], sigma, chains.nest, table.attributes, table.parts)  # type: ignore[union-attr]
    effects, sds = ({k: tie(v, settings.family) for k, v in part.items()} for part in found)
    return replace(plain, effects=effects, effect_sd=sds)


def _joined(parts: list[Posterior]) -> Posterior:
    """Join draws one after the other."""
    first = parts[0]
    joined = {
        name: None
        if getattr(first, name) is None
        else np.concatenate([getattr(part, name) for part in parts], axis=1)
        for name in ("phi", "mu", "sigma", "deviations", "omega", "tau")
    }
    effects, sds = (
        None
        if getattr(first, name) is None
        else {
            attribute: np.concatenate([getattr(part, name)[attribute] for part in parts], axis=1)
            for attribute in getattr(first, name)
        }
        for name in ("effects", "effect_sd")
    )
    return Posterior(**joined, regions=first.regions, effects=effects, effect_sd=sds)  # type: ignore[arg-type]


def _quantities(
    posterior: Posterior,
    theta_draws: dict[str, Floats],
    levels: list[Floats],
    table: ScoreTable,
    settings: Settings,
) -> Floats:
    """Everything whose convergence is checked: (chain, draw, quantity).

    levels: metrics of the levels of attributes, if they are crossed. Under the nested prior mu and
    effects are known only up to what one gives the other; the scales of effects are checked.

    Metrics are taken at their expected counts. What the drawn labels of the target `sample` add is
    independent noise, and where few rows are left it makes a metric 0 in most draws.
    """
    free = active(settings.family)
    shape = posterior.phi.shape[:2]
    reference = None if settings.reference is None else table.groups.index(settings.reference)
    curve = [posterior.phi, posterior.sigma]
    curve += [posterior.mu] if posterior.effect_sd is None else list(posterior.effect_sd.values())
    found = [draws[..., free].reshape(*shape, -1) for draws in curve]
    if not free[2] and "mass" in posterior.regions.names:
        found.append(posterior.sigma[..., 2].reshape(*shape, -1))
    found.append(posterior.deviations.reshape(*shape, -1))
    for scale in (posterior.omega, posterior.tau):
        if scale is not None:
            found.append(scale.reshape(*shape, -1))
    for draws in theta_draws.values():
        found.append(_filled(draws))
        if reference is not None:
            delta = np.delete(draws - draws[..., [reference]], reference, axis=-1)
            found.append(_filled(delta))
    found += map(_filled, levels)
    return np.concatenate(found, axis=-1)


def _filled(draws: Floats) -> Floats:
    """Put the mean of the defined draws in place of undefined ones, for diagnostics only."""
    undefined = np.isnan(draws)
    if not undefined.any():
        return draws
    count = np.maximum((~undefined).sum(axis=(0, 1)), 1)
    mean = np.where(undefined, 0.0, draws).sum(axis=(0, 1)) / count
    return np.where(undefined, mean, draws)
