"""What a chain is made of: its state, the noise that moves it, proposals, step sizes.

Shapes start with (data set, chain): many data sets of the same number of groups can be sampled as
one batch. A curve has D coordinates psi: log a, log b, c and the deviations from it, if any. The
prior of all of them is set by S scales sigma (`scales`). A state is a row of (G + 1) D + S + G + 1
numbers: psi, mu, sigma, the groups' log likelihoods, and the level of sigma (`surrogate.level`);
`unpack` names them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .model import Floats
from .scales import Scales

ROUNDS = 4  # proposals of a whole new state in a sweep


class State(NamedTuple):
    """Views of packed states, as natural names.

    psi: float64 (..., group, D), as log a, log b, c, deviations; mu: (..., D); sigma: (..., S);
    loglik: (..., group), the log likelihood at psi; level: (...), that of sigma.
    """

    psi: Floats
    mu: Floats
    sigma: Floats
    loglik: Floats
    level: Floats


class Noise(NamedTuple):
    """The randomness of a number of sweeps.

    For move 1, in rounds: normal (data set, chain, round, S + D + D G), uniform and joint (data
    set, chain, round). For moves 2 to 6, in sweeps: walk (data set, chain, sweep, D G + D), of psi
    and mu; shift (..., D); stretch (..., S), of log sigma; own (..., D G), of psi again; accept
    (..., 2 G + 1 + S), of moves 2, 4, 5 and 6. joint and accept are Exp(1): a move with log ratio r
    is accepted where r + noise > 0.
    """

    normal: Floats
    uniform: Floats
    joint: Floats
    walk: Floats
    shift: Floats
    stretch: Floats
    own: Floats
    accept: Floats


class Candidates(NamedTuple):
    """Proposals of move 1: packed states (data set, chain, round, state), log weights."""

    packed: Floats
    weight: Floats


class Step(NamedTuple):
    """Step sizes of moves 2, 4 and 5.

    psi: (data set, group), in units of `walk_shape`; shift: (data set, 1), in units of
    `shift_shape`; sigma: (data set, S), of log sigma.
    """

    psi: Floats
    shift: Floats
    sigma: Floats


class Accepted(NamedTuple):
    """Rates of acceptance: joint, shift (data set, 1), psi (data set, group), sigma (.., S).

    Those of shift and sigma are of the first form of their moves, every other sweep.
    """

    joint: Floats
    psi: Floats
    shift: Floats
    sigma: Floats


def unpack(packed: Floats, groups: int, scales: Scales) -> State:
    """Name the parts of packed states (..., state); views, not copies."""
    size = len(scales.own)
    at = np.cumsum([size * groups, size, len(scales.sd), groups])
    return State(
        packed[..., : at[0]].reshape(*packed.shape[:-1], groups, size),
        packed[..., at[0] : at[1]],
        packed[..., at[1] : at[2]],
        packed[..., at[2] : at[3]],
        packed[..., -1],
    )


def pack(state: State) -> Floats:
    """Undo `unpack`."""
    flat = state.psi.reshape(*state.psi.shape[:-2], -1)
    return np.concatenate([flat, *state[1:4], state.level[..., None]], axis=-1)


def make_noise(
    rng: np.random.Generator, shape: tuple[int, int], sweeps: int, groups: int, scales: Scales
) -> Noise:
    """Draw the noise of a number of sweeps; `shape` is (data sets, chains)."""
    rounds = sweeps * ROUNDS
    size, count = len(scales.own), len(scales.sd)
    return Noise(
        rng.standard_normal((*shape, rounds, count + size + size * groups)),
        rng.random((*shape, rounds)),
        rng.standard_exponential((*shape, rounds)),
        rng.standard_normal((*shape, sweeps, size * groups + size)),
        rng.standard_normal((*shape, sweeps, size)),
        rng.standard_normal((*shape, sweeps, count)),
        rng.standard_normal((*shape, sweeps, size * groups)),
        rng.standard_exponential((*shape, sweeps, 2 * groups + 1 + count)),
    )
