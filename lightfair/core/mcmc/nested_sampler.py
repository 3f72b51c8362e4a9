"""The sampler of the nested prior, with the schedule of `sampler` and the moves of `nested_moves`.

There is no compiled form.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.logit import Floats
from ..model.likelihood import LabeledData, loglik
from .hierarchy import Nesting, draw, expand_nested, marginal, translation_shapes
from .jit import compiles
from .nested_moves import ROUNDS, Accepted, Candidates, Noise, State, Step, make_noise, propose
from .nested_moves import sweep as one_sweep
from .sampler import BLOCK, numpy_seconds
from .surrogate import Surrogate, refit, walk_shape


class NestedDraws(NamedTuple):
    """Kept states.

    psi: (data set, chain, draw, group, D); eta: (.., draw, P, D), mu and the effects; sigma: (..,
    draw, S).
    """

    psi: Floats
    eta: Floats
    sigma: Floats

    @property
    def mu(self) -> Floats:
        """The common location, (.., draw, D)."""
        return self.eta[..., 0, :]


class NestedChains(NamedTuple):
    """Current states, and everything needed to continue; jit: whether imputation is compiled."""

    state: State
    data: LabeledData
    nest: Nesting
    surrogate: Surrogate
    step: Step
    accepted: Accepted
    rng: np.random.Generator
    jit: bool

    def block(self) -> int:
        """Return a number of sweeps whose noise fits into `BLOCK` numbers; even, see `moves`."""
        groups, rows = self.nest.design.shape
        sets, count = self.state.value.shape
        per_sweep = sets * count * ROUNDS * len(self.nest.scales.own) * 2 * (groups + rows)
        return 2 * max(1, BLOCK // int(2 * per_sweep))

    def run(self, sweeps: int) -> tuple[NestedChains, State]:
        """Run sweeps; return the chains and every state, (data set, chain, sweep, ...)."""
        nest, surrogate, step = self.nest, self.surrogate, self.step
        noise = make_noise(self.rng, self.state.value.shape, sweeps, nest)
        shapes = step.psi[..., None, None] * walk_shape(surrogate, nest.scales)
        walk = (shapes[:, None, None] @ noise.walk[..., None])[..., 0]
        across = step.eta[..., None, None] * translation_shapes(surrogate, nest)
        shift = (across[:, None, None] @ noise.translation[..., None])[..., 0]
        shift[:, :, 1::2] = noise.translation[:, :, 1::2]  # a draw in every other sweep, not a walk
        noise = noise._replace(walk=walk, translation=shift)
        candidates = propose(noise, self.data, surrogate, nest)
        state = self.state
        kept: list[State] = []
        total: list[Accepted] = []
        for t in range(sweeps):
            rounds = slice(t * ROUNDS, (t + 1) * ROUNDS)
            part = Noise(*(x[:, :, rounds] for x in noise[:3]), *(x[:, :, t] for x in noise[3:]))
            at_hand = Candidates(
                State(*(x[:, :, rounds] for x in candidates.state)), candidates.weight[:, :, rounds]
            )
            state, counts = one_sweep(
                state, at_hand, part, self.data, surrogate, nest, step, independent=t % 2 == 1
            )
            kept.append(state)
            total.append(counts)
        sums = Accepted(*(np.sum(values, axis=0) for values in zip(*total, strict=True)))
        count = state.value.shape[1]
        sweeps_made = count * sweeps
        first, second = count * ((sweeps + 1) // 2), max(1, count * (sweeps // 2))
        tries = (sweeps_made * ROUNDS, sweeps_made, first, first, second, sweeps_made)
        rates = Accepted(*(number / of for number, of in zip(sums, tries, strict=True)))
        states = State(*(np.stack(column, axis=2) for column in zip(*kept, strict=True)))
        return self._replace(state=state, accepted=rates), states

    def refitted(self, history: list[State]) -> NestedChains:
        """Refit the surrogate to the latter half of the states visited so far."""
        visited = _joined(history)
        length = visited.value.shape[2]
        recent = [
            part[:, :, length // 2 :].reshape(len(part), -1, *part.shape[3:])
            for part in (visited.psi, visited.sigma, visited.loglik)
        ]
        surrogate = refit(self.surrogate, *recent)
        value = marginal(self.state.sigma, surrogate, self.nest).value
        return self._replace(state=self.state._replace(value=value), surrogate=surrogate)

    def draws(self, parts: list[State]) -> NestedDraws:
        """Name the kept states of several runs."""
        kept = _joined(parts)
        return NestedDraws(kept.psi, kept.eta, kept.sigma)


def begin(data: LabeledData, nest: Nesting, chains: int, rng: np.random.Generator) -> NestedChains:
    """Draw overdispersed starts: from the surrogate, with 1.5 times its standard deviations."""
    surrogate = expand_nested(data, nest)
    sets, groups, size = surrogate.linear.shape
    rows, count = len(nest.ratio), len(nest.scales.sd)
    sigma = np.abs(rng.standard_normal((sets, chains, count))) * nest.scales.sd
    at = marginal(sigma, surrogate, nest)
    for_eta = 1.5 * rng.standard_normal((sets, chains, rows, size))
    for_psi = 1.5 * rng.standard_normal((sets, chains, groups, size))
    eta, psi = draw(at, sigma, nest, for_eta, for_psi)
    state = State(psi, eta, sigma, loglik(psi, data), at.value)
    step = Step(np.ones((sets, groups)), np.ones((sets, rows)), np.full((sets, count), 1.2))
    nothing = Accepted(*(np.zeros((sets, n)) for n in (1, groups, rows, count, 2, groups)))
    jit = compiles(numpy_seconds(sets, groups, len(data.base), size, chains))
    return NestedChains(state, data, nest, surrogate, step, nothing, rng, jit)


def _joined(parts: list[State]) -> State:
    return State(*(np.concatenate(column, axis=2) for column in zip(*parts, strict=True)))
