"""Fit: draw curves and metrics until the chains have converged.

Table -> labeled data -> chains -> draws of the curves -> confusion counts -> theta. Drawing
continues from the chains' last states while R-hat or an effective sample size of any metric or
difference fails the convergence check, up to `MAX_DRAWS` times the draws requested. Parameters of
the curves, on which the worth of trust depends, are checked, too, but do not decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .comparison.pooled import pooled_theta
from .data.logit import Floats
from .data.table import ScoreTable
from .mcmc.convergence import Gate, diagnose, gate
from .mcmc.hierarchy import named_effects
from .mcmc.posterior import Posterior, identity
from .mcmc.sampler import Chains, Draws, start_chains, take_draws
from .metrics import score_bins
from .metrics.clusters import discounted
from .metrics.definitions import Metric, free_of_labels, theta
from .metrics.imputation import confusion_counts, pseudo_rows
from .model.curve import active, tie
from .model.likelihood import labeled_data
from .model.regions import Regions, no_regions, regions, trusted_scales
from .settings import Settings

MAX_DRAWS = 8  # times the draws requested, where the convergence check fails

NEEDS_CURVES = (
    "needs curves, and none were fitted: all that was assessed is known without labels; assess a "
    "metric that needs labels, too"
)

Progress = Callable[[str, int, int], None]


class Drawn(NamedTuple):
    """Draws of curves and metrics.

    theta: draws of each metric, float64 (chain, draw, group); counts: float64 (chain, draw, group,
    predicted, label), the confusion counts behind theta; gate: result of the convergence check.
    Where nothing is to be estimated there is no posterior, and one draw of one chain.
    """

    posterior: Posterior | None
    theta: dict[str, Floats]
    counts: Floats
    gate: Gate


def draw_posterior(
    table: ScoreTable,
    settings: Settings,
    streams: list[np.random.Generator],
    progress: Progress | None,
    *,
    slots: tuple[score_bins.Slots, ...] | None = None,
    label_seed: int = 0,
) -> Drawn:
    """Draw until the chains pass the convergence check, or the limit is reached.

    Parameters
    ----------
    table
        All rows.
    settings
        Resolved.
    streams
        Generators of the sampler and of the imputation.
    slots
        Score bins of each group of the discounted table, where labels are imputed by score bin: for
        metrics of scores or several thresholds. `label_seed` is the seed of that imputation.
    """
    errors = settings.label_error
    if errors is None and nothing_to_estimate(table, settings):
        return _known(table, settings, slots, label_seed)
    where = no_regions() if settings.trust is None else regions(table)
    given = discounted(table, settings.target)
    options: dict[str, Any] = {"family": settings.family, "cap": settings.cap, "regions": where}
    options["hierarchical"] = settings.hierarchical is not False
    data = labeled_data([given], **options)
    count, draws, warmup = settings.run
    copies, take, impute = 1, take_draws, confusion_counts
    if errors is not None:
        wrong = errors.begin(given, settings, streams[0], **options)
        data, copies, take, impute = wrong.data, wrong.copies, wrong.take, wrong.impute
    chains = start_chains(
        data,
        trusted_scales(settings.prior, settings.trust, where),
        table.parts if settings.nested else None,
        chains=count // copies,
        warmup=warmup * max(1, copies // 2),  # copies do not share what they learn
        rng=streams[0],
        progress=progress and partial(progress, "warm-up"),
    )
    metrics = tuple(map(settings.metric, settings.metrics))
    blocks: list[Draws] = []
    drawn: list[Floats] = []
    reported: list[Floats] = []
    taken, missing, moved = 0, draws, False
    shown = progress and partial(progress, "draws")
    while missing:
        chains, block = take(chains, missing, progress=shown)
        part = _named(block, chains, settings, where, table)
        counts = impute(
            part.psi,
            given,
            target=settings.target if slots is None else "expected",
            rng=streams[1],
            cap=settings.cap,
            regions=where,
            jit=chains.jit,
        )
        smooth = _count_theta(counts.expected, table, settings)
        if slots is not None:
            smooth |= _bin_theta(part, slots, settings, "expected", label_seed)[0]
        levels = pooled_theta(counts.expected, table, metrics)
        ordered = [smooth[name] for name in settings.metrics]
        blocks.append(block)
        moved |= bool(np.ptp(part.phi, axis=(0, 1)).any())
        drawn.append(counts.drawn)
        reported.append(_reported(ordered, levels, table, settings))
        convergence = gate(diagnose(_filled(np.concatenate(reported, axis=1))))
        # metrics may be the same in every draw, curves never are
        if not moved:
            convergence = Gate(math.inf, 0.0, 0.0, False, "the chains are stuck")
        taken += missing
        missing = 0 if convergence.ok else min(-(-taken // 2), MAX_DRAWS * draws - taken)
    every = Draws(*(np.concatenate(column, axis=2) for column in zip(*blocks, strict=True)))
    posterior = _named(every, chains, settings, where, table)
    curves = gate(diagnose(_parameters(posterior, settings)))
    convergence = convergence._replace(parameters=curves.reason)
    all_counts = np.concatenate(drawn, axis=1)
    pseudo = pseudo_rows(table, all_counts.shape[:2], target=settings.target, seed=label_seed)
    by_bin: dict[str, Floats] = {}
    if slots is not None:
        by_bin, all_counts = _bin_theta(
            posterior, slots, settings, settings.target, label_seed, pseudo
        )
    all_counts += pseudo
    values = _count_theta(all_counts, table, settings) | by_bin
    in_order = {name: values[name] for name in settings.metrics}
    return Drawn(posterior, in_order, all_counts, convergence)


def nothing_to_estimate(table: ScoreTable, settings: Settings) -> bool:
    """Return whether every metric is known from the rows themselves."""
    if settings.target == "population":
        return False
    return set(settings.metrics) <= set(settings.label_free) or table.labeled == table.rows


def _known(
    table: ScoreTable, settings: Settings, slots: tuple[score_bins.Slots, ...] | None, seed: int
) -> Drawn:
    """Compute metrics for which no curves are needed: one draw, which is the truth."""
    any_curves = identity(table.groups)
    counts = confusion_counts(
        any_curves.psi, table, target="expected", rng=np.random.default_rng(seed)
    ).expected
    by_bin: dict[str, Floats] = {}
    if slots is not None:
        by_bin, counts = _bin_theta(any_curves, slots, settings, "expected", seed)
    values = _count_theta(counts, table, settings) | by_bin
    gate = Gate(None, None, None, True, "nothing was estimated: R-hat and ESS are undefined")
    return Drawn(None, {name: values[name] for name in settings.metrics}, counts, gate)


def count_theta(counts: Floats, table: ScoreTable, settings: Settings, metric: Metric) -> Floats:
    """Return a metric of counts: (chain, draw, group, predicted, label) -> (chain, draw, group).

    A metric that is known without labels is the same number in every draw, without rounding.
    """
    if metric.label_free and settings.target != "population":
        rows = table.sums("weight").sum(-1)[..., None]
        known = free_of_labels(metric, *(theta(metric, rows * x) for x in ([1.0, 0.0], [0.0, 1.0])))
        return np.broadcast_to(known, counts.shape[:3])
    return theta(metric, counts)


def _count_theta(counts: Floats, table: ScoreTable, settings: Settings) -> dict[str, Floats]:
    """Return all metrics of counts of the settings."""
    metrics = map(settings.metric, settings.metrics)
    return {m.name: count_theta(counts, table, settings, m) for m in metrics if m.of == "counts"}


def _bin_theta(
    posterior: Posterior,
    slots: tuple[score_bins.Slots, ...],
    settings: Settings,
    target: str,
    seed: int,
    pseudo: Floats | None = None,
) -> tuple[dict[str, Floats], Floats]:
    """Impute labels by score bin, group by group: the metrics of scores, and confusion counts.

    The counts are without pseudo-rows, which the metrics of scores have.
    """
    shape = posterior.phi.shape[:3]
    metrics = [m for m in map(settings.metric, settings.metrics) if m.of == "nodes"]
    values = {metric.name: np.empty(shape) for metric in metrics}
    counts = np.empty((*shape, 2, 2))
    psi = posterior.psi
    for index, bins in enumerate(slots):
        imputed = score_bins.impute_group(
            psi, index, bins, posterior.regions, target=target, seed=seed, cap=settings.cap
        )
        counts[:, :, index] = score_bins.confusion(imputed, bins).reshape(*shape[:2], 2, 2)
        if pseudo is not None and metrics:
            of_group = pseudo[:, :, index]
            imputed = score_bins.with_pseudo_rows(imputed, bins.total, of_group, (seed, index, 1))
        for metric in metrics:
            value = score_bins.slot_theta(metric, bins.score, *imputed)
            if metric.name in settings.label_free:  # the same number in every draw, as above
                one = np.ones((1, len(bins.score)))
                ends = (
                    score_bins.slot_theta(metric, bins.score, bins.total * one, x * one)
                    for x in (0, 1)
                )
                value = np.broadcast_to(free_of_labels(metric, *ends), value.shape)
            values[metric.name][:, :, index] = value.reshape(shape[:2])
    return values, counts


def _named(
    block: Draws, chains: Chains, settings: Settings, where: Regions, table: ScoreTable
) -> Posterior:
    """Drop the axis of data sets, and fill in the parameters that the family derives."""
    psi, mu, sigma = block.psi[0], block.mu[0], block.sigma[0]
    if not settings.hierarchical:  # every group was a data set of one group
        by_group = (block.psi[:, :, :, 0], block.mu, block.sigma)
        psi, mu, sigma = (np.moveaxis(values, 0, 2) for values in by_group)
    phi, mu, spread = (tie(values[..., :3], settings.family) for values in (psi, mu, sigma))
    if "mass" in where.names:  # sigma_c is the sd of the point masses, too, in every family
        spread = np.concatenate([spread[..., :2], sigma[..., 2:3]], axis=-1)
    omega, tau = (None, None) if settings.trust is None else (sigma[..., 3], sigma[..., 4])
    apart = block.apart[0] > 0.0 if chains.prior.scales.apart > 0.0 else None
    plain = Posterior(phi, mu, spread, psi[..., 3:], omega, tau, where, apart)
    if not settings.nested:
        return plain
    named = named_effects(block.eta[0], sigma, chains.prior, table.attributes)
    effects, sds = ({k: tie(v, settings.family) for k, v in part.items()} for part in named)
    return replace(plain, effects=effects, effect_sd=sds)


def _reported(
    metrics: list[Floats], levels: dict[str, Floats], table: ScoreTable, settings: Settings
) -> Floats:
    """Return what is reported: float64 (chain, draw, quantity).

    metrics: float64 (chain, draw, group) each, at their expected counts: what the drawn labels of
    the target `sample` add is independent noise, and where few rows are left it makes a metric 0 in
    most draws. levels: metrics of the levels of crossed attributes.
    """
    checked = [*metrics, *levels.values()]
    if settings.reference is not None:
        base = table.groups.index(settings.reference)
        checked += [np.delete(draws - draws[..., [base]], base, axis=-1) for draws in metrics]
    return np.concatenate(checked, axis=-1)


def _parameters(posterior: Posterior, settings: Settings) -> Floats:
    """Return the free parameters: float64 (chain, draw, quantity).

    Under the nested prior only the sum of mu and effects is identified, so the scales of effects
    are checked in place of mu.
    """
    free, shape = active(settings.family), posterior.phi.shape[:2]
    scales = posterior.effect_sd
    curves = [posterior.phi, posterior.sigma]
    curves += [posterior.mu] if scales is None else list(scales.values())
    checked = [draws[..., free] for draws in curves]
    if not free[2] and "mass" in posterior.regions.names:
        checked.append(posterior.sigma[..., 2])
    checked.append(posterior.deviations)
    checked += [scale for scale in (posterior.omega, posterior.tau) if scale is not None]
    return np.concatenate([draws.reshape(*shape, -1) for draws in checked], axis=-1)


def _filled(draws: Floats) -> Floats:
    """Replace undefined draws by the mean of the defined ones, for diagnostics only."""
    undefined = np.isnan(draws)
    mean = np.nansum(draws, axis=(0, 1)) / np.maximum((~undefined).sum(axis=(0, 1)), 1)
    return np.where(undefined, mean, draws)
