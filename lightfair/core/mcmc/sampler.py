"""The sampler: Metropolis-within-Gibbs for the hierarchical calibration model.

Chains have overdispersed starts, warm up and are then drawn from. Warm-up adapts step sizes and
the surrogate; draws adapt nothing. A kept draw is the state after a sweep. Moves are those of
`moves` in NumPy or their compiled counterparts (`compiled`), both with the same draws; the nested
prior has its own (`nested_sampler`) and shares the schedule.

A sweep in NumPy costs about as much for 16 chains as for 4, since calls dominate their work. So
fits that take NumPy a few seconds get 16 short chains, larger ones 4 long ones, compiled with numba
(`jit`), which pass the check of R-hat with fewer draws where mixing is slow. The choice depends on
the size of the work alone, so the same seed gives the same draws everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ..data.groups import Parts
from ..data.logit import Floats
from ..model.likelihood import LabeledData, loglik
from ..model.scales import Scales
from . import moves
from .jit import WORTHWHILE, compiles
from .moves import ROUNDS, Accepted, State, Step, make_noise, pack, unpack
from .surrogate import (
    Surrogate,
    draw,
    expand,
    log_importance,
    marginal,
    refit,
    translation_shape,
    walk_shape,
)

if TYPE_CHECKING:
    from .nested_sampler import NestedChains, NestedDraws

BLOCK = 1_000_000  # numbers in the largest array of noise or proposals made at once

MANY = (16, 80)  # chains, and sweeps of warm-up

FEW = (4, 200)

NESTED_RUN = (16, 120)  # for the nested prior, which has no compiled form

DRAWS = 3200  # of all chains together

TRUSTED = 5  # deviations of a curve, a typical number

ADAPT_EVERY = 10  # sweeps of warm-up between adaptations of the step sizes

REFITS = 4  # refits of the surrogate, spread evenly over the first 4/5 of warm-up

Progress = Callable[[int, int], None]

C = TypeVar("C")  # chains

K = TypeVar("K")  # states after each of several sweeps

Run = Callable[[C, int], tuple[C, K]]


class Draws(NamedTuple):
    """Kept states: psi (data set, chain, draw, group, D); mu (.., draw, D); sigma (.., draw, S)."""

    psi: Floats
    mu: Floats
    sigma: Floats


class Chains(NamedTuple):
    """Current states of the chains, and everything needed to continue."""

    packed: Floats
    data: LabeledData
    scales: Scales
    surrogate: Surrogate
    step: Step
    accepted: Accepted
    rng: np.random.Generator
    jit: bool


def start_chains(
    data: LabeledData,
    scales: Scales,
    parts: Parts | None,
    *,
    chains: int,
    warmup: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Chains | NestedChains:
    """Start chains of the plain or the nested prior and warm them up.

    parts: for each group its level of each attribute, for the nested prior; None for the plain one.
    The rest as in `warm_up`.
    """
    if parts is None:
        return warm_up(data, scales, chains=chains, warmup=warmup, rng=rng, progress=progress)
    from . import nested_sampler
    from .hierarchy import nesting

    return nested_sampler.warm_up(
        data, nesting(scales, parts), chains=chains, warmup=warmup, rng=rng, progress=progress
    )


def more_draws(
    chains: Chains | NestedChains, draws: int, *, progress: Progress | None = None
) -> tuple[Chains | NestedChains, Draws | NestedDraws]:
    """Continue for a number of draws, see `take_draws`."""
    if isinstance(chains, Chains):
        return take_draws(chains, draws, progress=progress)
    from . import nested_sampler

    return nested_sampler.take_draws(chains, draws, progress=progress)


def warm_up(
    data: LabeledData,
    scales: Scales,
    *,
    chains: int,
    warmup: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Chains:
    """Start chains and warm them up; only here do step sizes and the surrogate adapt.

    Parameters
    ----------
    data
        The labeled rows of one or more data sets.
    scales
        Of the prior, shared by all data sets.
    chains, warmup
        Chains per data set, and sweeps of warm-up.
    rng
        Used by the chains from now on.
    """
    now = _begin(data, scales, chains, rng)
    return warmed(now, warmup, _run, _adapted, _refitted, progress)


def take_draws(
    chains: Chains, draws: int, *, progress: Progress | None = None
) -> tuple[Chains, Draws]:
    """Continue for a number of draws; return the chains after them, and the draws.

    `chains` itself is not changed, except for its generator.
    """
    sets, count, _ = chains.packed.shape
    groups = chains.data.groups
    per_round = len(chains.scales.own) * (2 * groups + 3)
    pairs = max(1, BLOCK // (2 * sets * count * ROUNDS * per_round))
    # moves alternate between two forms
    chains, parts = drawn(chains, draws, 2 * pairs, _run, progress)
    state = unpack(np.concatenate(parts, axis=2), groups, chains.scales)
    return chains, Draws(state.psi, state.mu, state.sigma)


def _begin(data: LabeledData, scales: Scales, chains: int, rng: np.random.Generator) -> Chains:
    """Draw overdispersed starts: from the surrogate, with 1.5 times its standard deviations."""
    surrogate = expand(data, scales)
    sets, groups, size = surrogate.linear.shape
    count = len(scales.sd)
    sigma = np.abs(rng.standard_normal((sets, chains, count))) * scales.sd
    at = marginal(sigma, surrogate, scales)
    for_mu = 1.5 * rng.standard_normal((sets, chains, size))
    for_psi = 1.5 * rng.standard_normal((sets, chains, groups, size))
    mu, psi = draw(at, sigma, scales, for_mu, for_psi)
    importance = log_importance(sigma, at.value, surrogate, scales)
    packed = pack(State(psi, mu, sigma, loglik(psi, data), importance))
    step = Step(np.full((sets, groups), 1.0), np.full((sets, 1), 1.0), np.full((sets, count), 1.2))
    nothing = Accepted(*(np.zeros((sets, n)) for n in (1, groups, 1, count)))
    jit = compiles(numpy_seconds(sets, groups, len(data.base), size, chains))
    return Chains(packed, data, scales, surrogate, step, nothing, rng, jit)


def _adapted(chains: Chains) -> Chains:
    """Adapt the step sizes to the acceptance rates."""
    step, rate = chains.step, chains.accepted
    rates, targets = (rate.psi, rate.translation, rate.sigma), (0.3, 0.3, 0.4)
    return chains._replace(step=Step(*map(adapt_step, step, rates, targets)))


def _refitted(chains: Chains, history: list[Floats]) -> Chains:
    """Refit the surrogate to the latter half of the states visited so far."""
    states = np.concatenate(history, axis=2)
    sets, _, length, width = states.shape
    recent = states[:, :, length // 2 :].reshape(sets, -1, width)
    groups, scales = chains.data.groups, chains.scales
    visited = unpack(recent, groups, scales)
    surrogate = refit(chains.surrogate, visited.psi, visited.sigma, visited.loglik)
    packed = chains.packed.copy()
    now = unpack(packed, groups, scales)
    value = marginal(now.sigma, surrogate, scales).value
    now.importance[...] = log_importance(now.sigma, value, surrogate, scales)
    return chains._replace(packed=packed, surrogate=surrogate)


def _run(chains: Chains, sweeps: int) -> tuple[Chains, Floats]:
    """Run sweeps; return the chains and every state, (data set, chain, sweep, state)."""
    sets, count, _ = chains.packed.shape
    groups, scales = chains.data.groups, chains.scales
    size = len(scales.own)
    noise = make_noise(chains.rng, (sets, count), sweeps, groups, scales)
    shape = chains.step.psi[..., None, None] * walk_shape(chains.surrogate, scales)
    walk = noise.walk[..., : size * groups].reshape(sets, count, -1, groups, size)
    walk = (shape[:, None, None] @ walk[..., None])[..., 0].reshape(sets, count, -1, size * groups)
    across = chains.step.translation[..., None] * translation_shape(chains.surrogate, scales)
    shift = (across[:, None, None] @ noise.translation[..., None])[..., 0]
    shift[:, :, 1::2] = noise.translation[:, :, 1::2]  # a draw in every other sweep, not a walk
    walk = np.concatenate([walk, noise.walk[..., size * groups :]], axis=-1)
    noise = noise._replace(walk=walk, translation=shift)
    form: Any = moves
    if chains.jit:
        from . import compiled as form
    arguments = (chains.data, chains.surrogate, scales)
    candidates = form.propose(noise, *arguments)
    kept, counts = form.sweeps(chains.packed, candidates, noise, *arguments, chains.step)
    total = count * sweeps
    rates = Accepted(
        counts.joint / (total * ROUNDS),
        counts.psi / total,
        *(number / (count * ((sweeps + 1) // 2)) for number in counts[2:]),
    )
    return chains._replace(packed=kept[:, :, -1].copy(), accepted=rates), kept


def warmed(
    chains: C,
    warmup: int,
    run: Run[C, K],
    adapted: Callable[[C], C],
    refitted: Callable[[C, list[K]], C],
    progress: Progress | None,
) -> C:
    """Run the sweeps of warm-up.

    Parameters
    ----------
    run
        Runs a number of sweeps: the chains after them, and the states visited.
    adapted
        Adapts the step sizes to the acceptance rates.
    refitted
        Refits the surrogate to all states visited so far, a list of what `run` returned.
    """
    refits = {warmup * (i + 1) // (REFITS + 1) for i in range(REFITS)}
    history: list[K] = []
    done = 0
    for mark in sorted(refits | set(range(ADAPT_EVERY, warmup, ADAPT_EVERY)) | {warmup}):
        if mark == done:
            continue
        chains, kept = run(chains, mark - done)
        history.append(kept)
        chains = adapted(chains)
        if mark in refits:
            chains = refitted(chains, history)
        done = mark
        if progress is not None:
            progress(done, warmup)
    return chains


def drawn(
    chains: Any, draws: int, size: int, run: Run[Any, K], progress: Progress | None
) -> tuple[Any, list[K]]:
    """Run a number of sweeps in blocks of at most `size`; return the states of each block.

    `accepted` of the returned chains are the rates over all sweeps.
    """
    parts: list[K] = []
    rates: list[list[Floats]] = []
    for first in range(0, draws, size):
        block = min(size, draws - first)
        chains, kept = run(chains, block)
        parts.append(kept)
        rates.append([block / draws * rate for rate in chains.accepted])
        if progress is not None:
            progress(first + block, draws)
    total = (np.asarray(sum(rate)) for rate in zip(*rates, strict=True))
    return chains._replace(accepted=type(chains.accepted)(*total)), parts


def adapt_step(step: Floats, rate: Floats, target: float) -> Floats:
    """Lengthen steps accepted more often than the target rate, shorten the others."""
    return np.asarray(step * np.exp(np.clip(2.0 * (rate - target), -0.7, 0.7)))


def numpy_seconds(sets: int, groups: int, nodes: int, coordinates: int, chains: int) -> float:
    """Estimate the seconds that a whole fit takes in NumPy.

    Parameters
    ----------
    sets, groups
        Data sets of the batch, groups in each.
    nodes
        Labeled nodes of all data sets.
    coordinates
        3 of the curve, and the deviations.
    chains
        In each data set.
    """
    calls = 1.45 + 0.08 * coordinates  # milliseconds of a sweep
    work = chains * (2.5e-3 * coordinates * groups * sets + 1.8e-4 * nodes)
    return 1e-3 * (DRAWS / chains + usual_warmup(chains)) * (calls + work)


def usual(groups: int, labeled: int, trust: bool) -> tuple[int, int]:
    """Choose chains and sweeps of warm-up by the number of groups and labeled rows."""
    nodes = min(labeled, 100 * groups)
    coordinates = 3 + TRUSTED * trust
    seconds = numpy_seconds(1, groups, nodes, coordinates, MANY[0])
    return MANY if seconds < WORTHWHILE else FEW


def usual_warmup(chains: int) -> int:
    """Choose sweeps of warm-up by the number of chains, which share what they learn."""
    return (MANY if chains >= MANY[0] else FEW)[1]
