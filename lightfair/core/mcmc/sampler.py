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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..data.groups import Parts
from ..data.logit import Floats
from ..model.likelihood import LabeledData, loglik
from ..model.scales import Scales
from . import moves
from .hierarchy import Nesting, nesting
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
    pass

BLOCK = 1_000_000  # numbers in the largest array of noise or proposals made at once

MANY = (16, 80)  # chains, and sweeps of warm-up

FEW = (4, 200)

NESTED_RUN = (16, 120)  # for the nested prior, which has no compiled form

DRAWS = 3200  # of all chains together

TRUSTED = 5  # deviations of a curve, a typical number

ADAPT_EVERY = 10  # sweeps of warm-up between adaptations of the step sizes

TARGETS = (0.3, 0.3, 0.4)  # rates of acceptance: of psi, of mu with psi, of sigma

REFITS = 4  # refits of the surrogate, spread evenly over the first 4/5 of warm-up

Progress = Callable[[int, int], None]


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

    def block(self) -> int:
        """Return a number of sweeps whose noise fits into `BLOCK` numbers; even, see `moves`."""
        sets, count, _ = self.packed.shape
        per_round = len(self.scales.own) * (2 * self.data.groups + 3)
        return 2 * max(1, BLOCK // int(2 * sets * count * ROUNDS * per_round))

    def run(self, sweeps: int) -> tuple[Chains, Floats]:
        """Run sweeps; return the chains and every state, (data set, chain, sweep, state)."""
        sets, count, _ = self.packed.shape
        groups, scales = self.data.groups, self.scales
        size = len(scales.own)
        noise = make_noise(self.rng, (sets, count), sweeps, groups, scales)
        shape = self.step.psi[..., None, None] * walk_shape(self.surrogate, scales)
        walk = noise.walk[..., : size * groups].reshape(sets, count, -1, groups, size)
        walk = (shape[:, None, None] @ walk[..., None]).reshape(sets, count, -1, size * groups)
        across = self.step.translation[..., None] * translation_shape(self.surrogate, scales)
        shift = (across[:, None, None] @ noise.translation[..., None])[..., 0]
        shift[:, :, 1::2] = noise.translation[:, :, 1::2]  # a draw in every other sweep, not a walk
        walk = np.concatenate([walk, noise.walk[..., size * groups :]], axis=-1)
        noise = noise._replace(walk=walk, translation=shift)
        form: Any = moves
        if self.jit:
            from . import compiled as form
        arguments = (self.data, self.surrogate, scales)
        candidates = form.propose(noise, *arguments)
        kept, counts = form.sweeps(self.packed, candidates, noise, *arguments, self.step)
        total, first = count * sweeps, count * ((sweeps + 1) // 2)
        tries = (total * ROUNDS, total, first, first)
        rates = Accepted(*(number / of for number, of in zip(counts, tries, strict=True)))
        return self._replace(packed=kept[:, :, -1].copy(), accepted=rates), kept

    def refitted(self, history: list[Floats]) -> Chains:
        """Refit the surrogate to the latter half of the states visited so far."""
        states = np.concatenate(history, axis=2)
        sets, _, length, width = states.shape
        recent = states[:, :, length // 2 :].reshape(sets, -1, width)
        groups, scales = self.data.groups, self.scales
        visited = unpack(recent, groups, scales)
        surrogate = refit(self.surrogate, visited.psi, visited.sigma, visited.loglik)
        packed = self.packed.copy()
        now = unpack(packed, groups, scales)
        value = marginal(now.sigma, surrogate, scales).value
        now.importance[...] = log_importance(now.sigma, value, surrogate, scales)
        return self._replace(packed=packed, surrogate=surrogate)

    def draws(self, parts: list[Floats]) -> Draws:
        """Name the kept states of several runs."""
        state = unpack(np.concatenate(parts, axis=2), self.data.groups, self.scales)
        return Draws(state.psi, state.mu, state.sigma)


def start_chains(data: LabeledData, scales: Scales, parts: Parts | None, **options: Any) -> Any:
    """Start chains of the plain or the nested prior and warm them up.

    parts: for each group its level of each attribute, for the nested prior; None for the plain one.
    The rest as in `warm_up`.
    """
    return warm_up(data, scales if parts is None else nesting(scales, parts), **options)


def warm_up(
    data: LabeledData,
    prior: Scales | Nesting,
    *,
    chains: int,
    warmup: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Any:
    """Start chains and warm them up; only here do step sizes and the surrogate adapt.

    Parameters
    ----------
    data
        The labeled rows of one or more data sets.
    prior
        Of all data sets: the scales of the plain prior, or the nested one.
    chains, warmup
        Chains per data set, and sweeps of warm-up.
    rng
        Used by the chains from now on.

    Returns
    -------
    Chains or NestedChains
    """
    if isinstance(prior, Scales):
        now: Any = _begin(data, prior, chains, rng)
    else:
        from .nested_sampler import begin

        now = begin(data, prior, chains, rng)
    return warmed(now, warmup, progress)


def warmed(chains: Any, warmup: int, progress: Progress | None = None) -> Any:
    """Run the sweeps of warm-up."""
    refits = {warmup * (i + 1) // (REFITS + 1) for i in range(REFITS)}
    history: list[Any] = []
    done = 0
    for mark in sorted(refits | set(range(ADAPT_EVERY, warmup, ADAPT_EVERY)) | {warmup}):
        if mark == done:
            continue
        chains, kept = chains.run(mark - done)
        history.append(kept)
        steps = map(adapt_step, chains.step, chains.accepted[1:4], TARGETS)
        chains = chains._replace(step=type(chains.step)(*steps))
        if mark in refits:
            chains = chains.refitted(history)
        done = mark
        if progress is not None:
            progress(done, warmup)
    return chains


def take_draws(chains: Any, draws: int, *, progress: Progress | None = None) -> tuple[Any, Any]:
    """Continue for a number of draws; return the chains after them, and the draws.

    `chains` itself is not changed, except for its generator. `accepted` of the returned chains are
    the rates over all draws.
    """
    parts: list[Any] = []
    rates: list[list[Floats]] = []
    size = chains.block()
    for first in range(0, draws, size):
        block = min(size, draws - first)
        chains, kept = chains.run(block)
        parts.append(kept)
        rates.append([block / draws * rate for rate in chains.accepted])
        if progress is not None:
            progress(first + block, draws)
    total = (np.asarray(sum(rate)) for rate in zip(*rates, strict=True))
    return chains._replace(accepted=type(chains.accepted)(*total)), chains.draws(parts)


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
