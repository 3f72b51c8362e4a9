"""The sampler: Metropolis-within-Gibbs for the hierarchical calibration model.

Chains start apart, warm up and are then drawn from. The moves are those of `moves`, in NumPy, or of
their compiled twins (`compiled`); both give the same draws. Warm-up adapts step sizes and the
surrogate; draws adapt nothing. A kept draw is the state after a sweep.

NumPy runs small fits, in 16 short chains; those that would take it more than three seconds get 4
long ones and are compiled with numba, to the same draws. `LIGHTFAIR_JIT=1` compiles small ones,
too: after the first fit of a process they are several times faster. `LIGHTFAIR_JIT=0` compiles
nothing. Sampling stops when R-hat is at most 1.01 and bulk and tail effective sample sizes are at
least 400 for every parameter and every reported number. If that is not reached within 8 times the
draws, the report says so.

Effort: what a fit costs in NumPy, and how many chains it gets.

A sweep in NumPy costs about as much for 16 chains as for 4, as the calls cost more than their work.
So a fit that NumPy does in a few seconds gets 16 short chains. A larger one gets 4 long ones, which
the compiled form runs, and which meet the gate on R-hat with fewer draws where mixing is slow.
The choice depends on the size of the work alone, so that the same seed gives the same draws
everywhere.

Schedule: what warm-up and drawing do between sweeps, of whatever moves the sweeps are made.

Both samplers follow it, that of the plain prior and that of the nested one. They pass what is
theirs: how to run sweeps, what to learn from them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..data.logit import Floats
from ..model.likelihood import LabeledData, loglik
from ..model.scales import Scales
from .jit import WORTHWHILE, compiles
from .moves import (
    ROUNDS,
    Accepted,
    Candidates,
    Noise,
    State,
    Step,
    make_noise,
    pack,
    propose,
    sweep,
    unpack,
)
from .surrogate import Surrogate, draw, expand, level, marginal, refit, shift_shape, walk_shape

BLOCK = 1_000_000  # numbers in the largest array of noise or proposals made at once


class Draws(NamedTuple):
    """Kept states: psi (data set, chain, draw, group, D); mu (.., draw, D); sigma (.., draw, S)."""

    psi: Floats
    mu: Floats
    sigma: Floats


class Chains(NamedTuple):
    """Chains at a moment, and all that is needed to go on."""

    packed: Floats
    data: LabeledData
    scales: Scales
    surrogate: Surrogate
    step: Step
    accepted: Accepted
    rng: np.random.Generator
    jit: bool


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
        Belongs to the chains from here on.
    """
    now = _begin(data, scales, chains, rng)
    return warmed(now, warmup, _run, _adapted, _refitted, progress)


def take_draws(
    chains: Chains, draws: int, *, progress: Progress | None = None
) -> tuple[Chains, Draws]:
    """Go on for a number of draws; return the chains as they are then, and the draws.

    `chains` itself stays as it is, but for its generator, which moves on.
    """
    sets, count, _ = chains.packed.shape
    groups = chains.data.groups
    per_round = len(chains.scales.own) * (2 * groups + 3)
    pairs = max(1, BLOCK // (2 * sets * count * ROUNDS * per_round))
    size = 2 * pairs  # moves come in two forms, in turn
    chains, parts = drawn(chains, draws, size, _run, progress)
    state = unpack(np.concatenate(parts, axis=2), groups, chains.scales)
    return chains, Draws(state.psi, state.mu, state.sigma)


def _begin(data: LabeledData, scales: Scales, chains: int, rng: np.random.Generator) -> Chains:
    """Draw first states from the surrogate, half as wide again, so that chains start apart."""
    surrogate = expand(data, scales)
    sets, groups, size = surrogate.linear.shape
    count = len(scales.sd)
    sigma = np.abs(rng.standard_normal((sets, chains, count))) * scales.sd
    at = marginal(sigma, surrogate, scales)
    for_mu = 1.5 * rng.standard_normal((sets, chains, size))
    for_psi = 1.5 * rng.standard_normal((sets, chains, groups, size))
    mu, psi = draw(at, sigma, scales, for_mu, for_psi)
    ladder = level(sigma, at.value, surrogate, scales)
    packed = pack(State(psi, mu, sigma, loglik(psi, data), ladder))
    step = Step(np.full((sets, groups), 1.0), np.full((sets, 1), 1.0), np.full((sets, count), 1.2))
    nothing = Accepted(*(np.zeros((sets, n)) for n in (1, groups, 1, count)))
    seconds = numpy_seconds(sets, groups, len(data.base), size, chains)
    jit = compiles(seconds)
    return Chains(packed, data, scales, surrogate, step, nothing, rng, jit)


def _adapted(chains: Chains) -> Chains:
    """Chains with the steps that their rates of acceptance ask for."""
    step, rate = chains.step, chains.accepted
    psi, shift = longer(step.psi, rate.psi, 0.3), longer(step.shift, rate.shift, 0.3)
    return chains._replace(step=Step(psi, shift, longer(step.sigma, rate.sigma, 0.4)))


def _refitted(chains: Chains, history: list[Floats]) -> Chains:
    """Refit the surrogate to the latter half of the states met so far."""
    every = np.concatenate(history, axis=2)
    sets, _, length, width = every.shape
    recent = every[:, :, length // 2 :].reshape(sets, -1, width)
    groups, scales = chains.data.groups, chains.scales
    met = unpack(recent, groups, scales)
    surrogate = refit(chains.surrogate, met.psi, met.sigma, met.loglik)
    packed = chains.packed.copy()
    now = unpack(packed, groups, scales)
    value = marginal(now.sigma, surrogate, scales).value
    now.level[...] = level(now.sigma, value, surrogate, scales)
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
    across = chains.step.shift[..., None] * shift_shape(chains.surrogate, scales)
    shift = (across[:, None, None] @ noise.shift[..., None])[..., 0]
    shift[:, :, 1::2] = noise.shift[:, :, 1::2]  # of every other sweep: for a draw, not a walk
    noise = noise._replace(
        walk=np.concatenate([walk, noise.walk[..., size * groups :]], axis=-1), shift=shift
    )
    if chains.jit:
        from . import compiled

        make, run = compiled.propose, compiled.sweeps
    else:
        make, run = propose, _plain
    candidates = make(noise, chains.data, chains.surrogate, scales)
    kept, counts = run(
        chains.packed, candidates, noise, chains.data, scales, chains.surrogate, chains.step
    )
    every = count * sweeps
    rates = Accepted(
        counts.joint / (every * ROUNDS),
        counts.psi / every,
        *(number / (count * ((sweeps + 1) // 2)) for number in counts[2:]),
    )
    return chains._replace(packed=kept[:, :, -1].copy(), accepted=rates), kept


def _plain(
    packed: Floats,
    candidates: Candidates,
    noise: Noise,
    data: LabeledData,
    scales: Scales,
    surrogate: Surrogate,
    step: Step,
) -> tuple[Floats, Accepted]:
    """Run all sweeps of the noise; return the state after each, and counts of acceptance."""
    count = noise.shift.shape[2]
    kept = np.empty((*packed.shape[:2], count, packed.shape[2]))
    total: list[Accepted] = []
    for t in range(count):
        rounds, now = slice(t * ROUNDS, (t + 1) * ROUNDS), slice(t, t + 1)
        part = Noise(*(x[:, :, rounds] for x in noise[:3]), *(x[:, :, now] for x in noise[3:]))
        at_hand = Candidates(*(x[:, :, rounds] for x in candidates))
        packed, counts = sweep(
            packed, at_hand, part, data, scales, surrogate, step, anew=t % 2 == 1
        )
        kept[:, :, t] = packed
        total.append(counts)
    return kept, Accepted(*(np.sum(values, axis=0) for values in zip(*total, strict=True)))


MANY = (16, 80)  # chains, and sweeps of warm-up

FEW = (4, 200)

NESTED_RUN = (16, 120)  # of the nested prior, which has no compiled form

DRAWS = 3200  # of all chains together

TRUSTED = 5  # deviations of a curve, a typical number


def numpy_seconds(sets: int, groups: int, nodes: int, coordinates: int, chains: int) -> float:
    """Estimate what a whole fit takes the NumPy form.

    Parameters
    ----------
    sets, groups
        Data sets of the batch, groups in each.
    nodes
        Labeled nodes of all data sets.
    coordinates
        Of a curve: 3, and the deviations.
    chains
        In each data set.
    """
    calls = 1.45 + 0.08 * coordinates  # milliseconds of a sweep
    work = chains * (2.5e-3 * coordinates * groups * sets + 1.8e-4 * nodes)
    return 1e-3 * (DRAWS / chains + usual_warmup(chains)) * (calls + work)


def usual(groups: int, labeled: int, trust: bool) -> tuple[int, int]:
    """Choose chains, and sweeps of warm-up, for a table of some groups and labeled rows."""
    nodes = min(labeled, 100 * groups)
    coordinates = 3 + TRUSTED * trust
    seconds = numpy_seconds(1, groups, nodes, coordinates, MANY[0])
    return MANY if seconds < WORTHWHILE else FEW


def usual_warmup(chains: int) -> int:
    """Choose sweeps of warm-up for a number of chains: more chains learn from each other."""
    return (MANY if chains >= MANY[0] else FEW)[1]


ADAPT_EVERY = 10  # sweeps of warm-up between two looks at the acceptance rates

REFITS = 4  # refits of the surrogate, spread evenly over the first 4/5 of warm-up

Progress = Callable[[int, int], None]

C = TypeVar("C")  # chains

K = TypeVar("K")  # states after each of some sweeps

Run = Callable[[C, int], tuple[C, K]]


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
        Runs a number of sweeps: the chains then, and the states met.
    adapted
        Chains with step sizes that their rates of acceptance ask for.
    refitted
        Chains with a surrogate refitted to all states met so far, a list of what `run` returned.
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
    """Run a number of sweeps, at most `size` at a time; the states of each time.

    `accepted` of the chains returned are the rates over all of them.
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


def longer(step: Floats, rate: Floats, wanted: float) -> Floats:
    """Lengthen steps that are accepted too often, shorten those that are not."""
    return np.asarray(step * np.exp(np.clip(2.0 * (rate - wanted), -0.7, 0.7)))
