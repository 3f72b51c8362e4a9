"""The sampler of the hierarchical calibration model: whole new states, and local moves.

Chains have overdispersed starts, warm up and are then drawn from. Warm-up adapts the steps of walks
and the surrogate; draws adapt nothing. A kept draw is the state after a sweep. Moves are those of
`moves` in NumPy or their compiled counterparts (`compiled`), both with the same draws.

Proposals of fits that would take NumPy a few seconds are compiled with numba (`jit`). The choice
depends on the size of the work alone, so the same seed gives the same draws everywhere.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..data.groups import Parts
from ..data.logit import Floats
from ..model.likelihood import LabeledData
from ..model.scales import Scales
from . import moves
from .fitting import expand, refit
from .hierarchy import Hierarchy, nested, plain
from .jit import compiles
from .moves import State, make_noise, unpack
from .surrogate import Surrogate, sigma_of

BLOCK = 1_000_000  # numbers in the largest array of noise or proposals made at once

CHAINS = 4

DRAWS, WARMUP = 3200, 800  # sweeps of all chains together, which share what they learn

TARGET = 0.3  # rate of acceptance of the walk

REFITS = (0.05, 0.1, 0.2, 0.35, 0.6, 0.9)  # of warm-up, when the surrogate is refitted

EFFORT = 3, 20  # of warm-up: proposals in a sweep, and sweeps from one walk to the next

STAYING = 0.15  # chance that a sweep of draws keeps its state, which sets the number of proposals

FEWEST, MOST = 2, 4  # proposals in a sweep

EVERY = {FEWEST: 40, 3: 20, 4: 20, 5: 2}  # sweeps from one move 2 to the next, by those needed

LEAST = 40  # effective states of a refit

LOST = 5.0  # log density that a chain may lack in warm-up, for each coordinate

EXTRA, POOR = 8, 0.15  # stages of half a warm-up more, while fewer whole states are accepted

Progress = Callable[[int, int], None]


class Draws(NamedTuple):
    """Kept states.

    psi: (data set, chain, draw, group, D); eta: (.., draw, P, D), the effects and mu; sigma: (..,
    draw, S).
    """

    psi: Floats
    eta: Floats
    sigma: Floats
    apart: Floats

    @property
    def mu(self) -> Floats:
        """The common location, (.., draw, D)."""
        return self.eta[..., -1, :]


class Chains(NamedTuple):
    """Current states of the chains, and everything needed to continue.

    packed: float64 (data set, chain, state), see `moves.unpack`; step: (data set, S), of the walks;
    accepted: (data set, 1 + G + S), rates of whole states, of psi and of the walks; effort: see
    `moves.Noise`, rounds and every.
    """

    packed: Floats
    data: LabeledData
    prior: Hierarchy
    surrogate: Surrogate
    step: Floats
    accepted: Floats
    rng: np.random.Generator
    jit: bool
    effort: tuple[int, int] = EFFORT

    def block(self) -> int:
        """Return a number of sweeps whose noise and proposals fit into `BLOCK` numbers."""
        sets, count, width = self.packed.shape
        rounds, every = self.effort
        return every * max(1, int(BLOCK / (sets * count * width * rounds * every)))

    def ready(self) -> Chains:
        """Choose the effort of the draws by the acceptance at the end of warm-up."""
        rate = min(max(float(self.accepted[:, 0].min()), 0.01), 0.99)
        needed = math.ceil(math.log(STAYING) / math.log1p(-rate))
        needed = min(max(needed, FEWEST), max(EVERY))
        return self._replace(effort=(min(needed, MOST), EVERY[needed]))

    def run(self, sweeps: int) -> tuple[Chains, Floats, Floats]:
        """Run sweeps.

        Returns
        -------
        The chains, every state (data set, chain, sweep, state), and the proposals of move 1 (data
        set, chain, round, state).
        """
        sets, count, _ = self.packed.shape
        prior = self.prior
        noise = make_noise(self.rng, (sets, count), sweeps, self.effort, prior)
        noise.walk[..., -len(prior.scales.sd) :] *= self.step[:, None, None]
        form = self.form()
        arguments = (noise, self.data, self.surrogate, prior)
        proposed = form.propose(*arguments)
        kept, counts = moves.sweeps(self.packed, proposed, *arguments, form.reweigh)
        rates = counts / (count * noise.walk.shape[2])
        rates[:, 0] = counts[:, 0] / (count * sweeps * noise.rounds)
        return self._replace(packed=kept[:, :, -1].copy(), accepted=rates), kept, proposed

    def form(self) -> Any:
        """Return the module that proposes and weighs states."""
        if self.jit:
            from . import compiled

            return compiled
        return moves

    def refitted(self, history: list[Floats], again: bool) -> Chains:
        """Refit the surrogate to the latter half of the states proposed so far.

        Where data and prior are in conflict, a chain that is lost, or every one, starts `again` at
        one of them.
        """
        groups, prior = self.data.groups, self.prior
        needed = sum(part.shape[1] for part in history) // 2
        while len(history) > 1 and sum(part.shape[1] for part in history[1:]) >= needed:
            del history[0]
        parts = [unpack(part, groups, prior) for part in history]
        weight = [tempered(part.weight[..., 0] + part.excess.sum(axis=-1)) for part in parts]
        weights, proposed = np.concatenate(weight, axis=1), np.concatenate(history, axis=1)
        seen = unpack(proposed, groups, prior)
        surrogate = refit(
            self.surrogate, prior, self.data, seen.psi, seen.hyper, seen.apart, seen.loglik, weights
        )
        packed = self.packed.copy()
        share = weights / weights.sum(axis=1, keepdims=True)
        usual = (share * heights(seen, prior)).sum(axis=1)
        now = heights(unpack(packed, groups, prior), prior)
        lost = again | ~(now > usual[:, None] - LOST * seen.psi[0, 0].size)
        chance = self.rng.random(now.shape)
        for r, k in np.argwhere(lost):
            at = min(int(np.searchsorted(share[r].cumsum(), chance[r, k])), share.shape[1] - 1)
            packed[r, k] = proposed[r, at]
        self.form().reweigh(packed, self.data, surrogate, prior)
        return self._replace(packed=packed, surrogate=surrogate)

    def draws(self, parts: list[Floats]) -> Draws:
        """Name the kept states of several runs."""
        state = unpack(np.concatenate(parts, axis=2), self.data.groups, self.prior)
        return Draws(state.psi, state.eta, sigma_of(state.hyper, self.prior), state.apart)


def heights(state: State, prior: Hierarchy) -> Floats:
    """Log likelihood and log prior of eta and psi, (..., chain), without what sigma alone scales.

    That has no peak at sigma 0, so all states of the posterior are about as high.
    """
    sigma = sigma_of(state.hyper, prior)
    far = (state.psi - prior.middle(state.eta, state.apart)) / prior.scales.spread(
        sigma, state.apart
    )
    effects = state.eta.copy()
    effects[..., -1, :] -= prior.scales.centre
    effects /= prior.sds(sigma)
    squares = np.square(far).sum(axis=(-2, -1)) + np.square(effects).sum(axis=(-2, -1))
    return np.asarray(state.loglik.sum(axis=-1) - 0.5 * squares)


def tempered(log_weight: Floats) -> Floats:
    """Return importance weights (data set, n), at most 1, of which `LEAST` or more are effective.

    Where the proposal is far from the posterior its power is lowered, so that the next one is on
    the way there. Weights above root n times their mean are clipped.
    """
    log_weight = np.nan_to_num(log_weight, nan=-1e300, neginf=-1e300)
    log_weight = log_weight - log_weight.max(axis=1, keepdims=True)
    power = np.ones((len(log_weight), 1))
    while True:
        ratio = np.exp(power * log_weight)
        limit = ratio.mean(axis=1, keepdims=True) * np.sqrt(ratio.shape[1])
        weight = np.minimum(ratio / limit, 1.0)
        total = weight.sum(axis=1, keepdims=True)
        few = total * total < LEAST * np.square(weight).sum(axis=1, keepdims=True)
        if not (few & (power > 1e-3)).any():
            return np.asarray(weight)
        power = np.where(few, 0.7 * power, power)


def start_chains(
    data: LabeledData,
    scales: Scales,
    parts: Parts | None = None,
    *,
    chains: int,
    warmup: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Chains:
    """Start chains and warm them up; only here do the step and the surrogate adapt.

    Parameters
    ----------
    data
        The labeled rows of one or more data sets.
    scales
        Of the prior of all data sets.
    parts
        For each group its level of each attribute, for the nested prior; None for the plain one.
    chains, warmup
        Chains per data set, and sweeps of warm-up; up to five times as many where data and prior
        are in such a conflict that the surrogate is still poor.
    rng
        Used by the chains from now on.
    """
    prior = plain(scales, data.groups) if parts is None else nested(scales, parts)
    surrogate = expand(data, prior)
    sets = len(surrogate.linear)
    seconds = numpy_seconds(prior, sets, data.groups, len(data.base))
    walks = len(prior.scales.sd)
    step, none = np.ones((sets, walks)), np.zeros((sets, 1 + data.groups + walks))
    noise = make_noise(rng, (sets, chains), 1, EFFORT, prior)
    packed = moves.propose(noise, data, surrogate, prior)[:, :, 0]
    now = Chains(packed, data, prior, surrogate, step, none, rng, compiles(seconds))
    history: list[Floats] = []
    stages = [int(part * warmup) for part in (*REFITS, 1.0)]
    stages += [warmup + warmup * (i + 1) // 2 for i in range(EXTRA)]
    for done, mark in itertools.pairwise([0, *stages]):
        if mark == done or (mark > warmup and now.accepted[:, 0].mean() > POOR):
            continue
        size = now.block()
        for first in range(done, mark, size):
            now, _, proposed = now.run(min(size, mark - first))
            history.append(proposed.reshape(sets, -1, proposed.shape[-1]))
        change = np.exp(np.clip(2.0 * (now.accepted[:, -walks:] - TARGET), -0.7, 0.7))
        now = now._replace(step=now.step * change)
        if mark != warmup:
            now = now.refitted(history, again=mark > warmup)
        if progress is not None:
            progress(min(mark, warmup), warmup)
    return now.ready()


def take_draws(
    chains: Chains, draws: int, *, progress: Progress | None = None
) -> tuple[Chains, Draws]:
    """Continue for a number of draws; return the chains after them, and the draws.

    `chains` itself is not changed, except for its generator. `accepted` of the returned chains are
    the rates over all draws.
    """
    parts: list[Floats] = []
    rates = np.zeros_like(chains.accepted)
    size = chains.block()
    for first in range(0, draws, size):
        block = min(size, draws - first)
        chains, kept, _ = chains.run(block)
        parts.append(kept)
        rates += block / draws * chains.accepted
        if progress is not None:
            progress(first + block, draws)
    return chains._replace(accepted=rates), chains.draws(parts)


def numpy_seconds(prior: Hierarchy, sets: int, groups: int, nodes: int) -> float:
    """Estimate the seconds that a whole fit takes in NumPy.

    Parameters
    ----------
    sets, groups
        Data sets of the batch, groups in each.
    nodes
        Labeled nodes of all data sets.
    """
    rows, size = prior.ratio.shape
    work = 0.15 * size * size * groups + 0.004 * (rows * size) ** 3 + 0.015 * nodes / sets
    return float(1e-6 * sets * FEWEST * (DRAWS + WARMUP) * work)


def usual_warmup(chains: int) -> int:
    """Choose sweeps of warm-up of each chain."""
    return min(max(WARMUP // chains, 50), WARMUP)
