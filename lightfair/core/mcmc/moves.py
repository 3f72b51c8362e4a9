"""The moves of a chain, in NumPy: vectorised over data sets, chains and groups.

A sweep is

1. Four times, a whole new state, proposed from the Gaussian surrogate of the posterior
   (`surrogate`) and accepted with the ratio of the posterior to the proposal.
2. A random-walk step of each group's psi, shaped by the surrogate. It covers the tails where the
   surrogate is thin; without it the chain sticks there.
3. The exact conditional draw of mu given psi and sigma.
4. A common shift of mu and all psi together, in turn a random-walk step and a draw of mu from the
   surrogate, given how far each psi is away from it. Groups that lean on each other cannot walk far
   one by one: without the one, one chain in thirty sticks in the tail of log a; without the other
   mu mixes half as fast among 50 groups.
5. A random-walk step of each log sigma given psi and mu; in every other sweep instead one of all
   log sigma, which stretches psi and mu along. Where groups differ little the first is slow, where
   they differ much the second.
6. A new psi of each group, proposed from the surrogate given mu and sigma and accepted group by
   group. With 20 groups a whole new state is seldom right in all of them.

The proposals of move 1 do not depend on the state, so those of many sweeps are made at once,
before the chain runs through them.

This is the readable form. `_kernels` is its compiled twin: same moves, same noise, same draws.
Noise is an argument of both.

What a chain is made of: its state, the noise that moves it, proposals, step sizes.

Shapes start with (data set, chain): many data sets of the same number of groups can be sampled as
one batch. A curve has D coordinates psi: log a, log b, c and the deviations from it, if any. The
prior of all of them is set by S scales sigma (`scales`). A state is a row of (G + 1) D + S + G + 1
numbers: psi, mu, sigma, the groups' log likelihoods, and the level of sigma (`surrogate.level`);
`unpack` names them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..data.logit import Floats
from ..model.likelihood import LabeledData, loglik
from ..model.scales import Scales
from .surrogate import (
    Surrogate,
    draw,
    draw_common,
    draw_own,
    draw_sigma,
    level,
    marginal,
    quadratic,
)

WALK = 2.4  # step of a walk in units of the target, times the square root of its dimensions

BLOCK = 200_000  # numbers in a temporary array: a few of them fit into a cache


def propose(noise: Noise, data: LabeledData, surrogate: Surrogate, scales: Scales) -> Candidates:
    """Make the proposals of move 1 for all rounds of the noise."""
    sets, chains, rounds, width = noise.normal.shape
    normal = noise.normal.reshape(sets, chains * rounds, width)
    uniform = noise.uniform.reshape(sets, -1)
    size = len(scales.own)
    wide = max(len(data.base), sets * data.groups * 4 * size * size)
    step = max(1, BLOCK // wide)
    parts = [
        _proposed(normal[:, i : i + step], uniform[:, i : i + step], data, surrogate, scales)
        for i in range(0, chains * rounds, step)
    ]
    packed, weight = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    return Candidates(
        packed.reshape(sets, chains, rounds, -1), weight.reshape(sets, chains, rounds)
    )


def _proposed(
    normal: Floats, uniform: Floats, data: LabeledData, surrogate: Surrogate, scales: Scales
) -> tuple[Floats, Floats]:
    """Proposed states (data set, n, state) and their log weights (data set, n)."""
    size, count = len(scales.own), len(scales.sd)
    sigma = draw_sigma(surrogate, scales, normal[..., :count], uniform)
    at = marginal(sigma, surrogate, scales)
    for_psi = normal[..., count + size :].reshape(*normal.shape[:2], -1, size)
    mu, psi = draw(at, sigma, scales, normal[..., count : count + size], for_psi)
    heights = loglik(psi, data)
    ladder = level(sigma, at.value, surrogate, scales)
    weight = (heights - quadratic(psi, surrogate)).sum(-1) + ladder
    return pack(State(psi, mu, sigma, heights, ladder)), np.asarray(weight)


def sweep(
    packed: Floats,
    candidates: Candidates,
    noise: Noise,
    data: LabeledData,
    scales: Scales,
    surrogate: Surrogate,
    step: Step,
    anew: bool = False,
) -> tuple[Floats, Accepted]:
    """Make one sweep of every chain.

    Parameters
    ----------
    packed
        States, float64 (data set, chain, state).
    candidates, noise
        Those of one sweep; `noise.walk` and, for a walk, `noise.shift` are already scaled and
        shaped.
    anew
        Which form of moves 4 and 5 is made: with it the second one.

    Returns
    -------
    The new states, and counts of acceptance summed over chains and rounds; of moves 4 and 5 those
    of their first form.
    """
    groups = data.groups
    size, count = len(scales.own), len(scales.sd)
    # 1. whole new states from the surrogate
    packed, joint_count = _refreshed(packed, candidates, noise.joint, surrogate, groups, scales)
    psi, mu, sigma, height, ladder = unpack(packed, groups, scales)
    accept = noise.accept[:, :, 0]
    spread, location = scales.spread(sigma), scales.location(sigma)
    # 2. a random walk of each group
    walk = noise.walk[:, :, 0, : size * groups].reshape(psi.shape)
    new = psi + walk
    new_height = loglik(new, data)
    pull = (walk * (new + psi - 2.0 * mu[:, :, None]) / np.square(spread)[:, :, None]).sum(-1)
    walked = new_height - height - 0.5 * pull + accept[..., :groups] > 0.0
    psi[...] = np.where(walked[..., None], new, psi)
    height[...] = np.where(walked, new_height, height)
    # 3. mu given psi and sigma
    variance = spread * spread
    precision = groups / variance + 1.0 / (location * location)
    fresh = noise.walk[:, :, 0, size * groups :] / np.sqrt(precision)
    mu[...] = psi.sum(axis=2) / variance / precision + fresh
    # 4. a common shift of mu and all psi: a walk, or in every other sweep from the surrogate
    shift = noise.shift[:, :, 0]
    if anew:
        away = psi - mu[:, :, None]
        shift = draw_common(away, sigma, surrogate, scales, shift) - mu
    new = psi + shift[:, :, None]
    new_height = loglik(new, data)
    if anew:
        pull = 2.0 * (quadratic(new, surrogate) - quadratic(psi, surrogate)).sum(-1)
    else:
        pull = (shift * (shift + 2.0 * mu) / (location * location)).sum(-1)
    shifted = (new_height - height).sum(-1) - 0.5 * pull + accept[..., groups] > 0.0
    psi[...] = np.where(shifted[..., None, None], new, psi)
    mu[...] = np.where(shifted[..., None], mu + shift, mu)
    height[...] = np.where(shifted[..., None], new_height, height)
    # 5. log sigma: one by one given psi and mu, or in every other sweep all, with psi and mu
    counts = np.zeros((len(sigma), 1 + count))  # accepted walks of moves 4 and 5
    if anew:
        normal, chance = noise.stretch[:, :, 0], accept[..., groups + 1]
        _stretch_all(packed, normal, chance, data, scales, surrogate)
    else:
        squares, normals = scales.squares(psi, mu), scales.counts(groups)
        longer = sigma * np.exp(step.sigma[:, None] * noise.stretch[:, :, 0])
        ratio = sigma_target(longer, squares, normals, scales.sd)
        ratio = ratio - sigma_target(sigma, squares, normals, scales.sd)
        stretched = ratio + accept[..., groups + 1 : groups + 1 + count] > 0.0
        sigma[...] = np.where(stretched, longer, sigma)
        counts[:, 0], counts[:, 1:] = shifted.sum(axis=1), stretched.sum(axis=1)
    at = marginal(sigma, surrogate, scales)
    ladder[...] = level(sigma, at.value, surrogate, scales)
    # 6. each group anew, given mu and sigma
    new = draw_own(at.half, mu[:, :, None], sigma, scales, noise.own[:, :, 0].reshape(psi.shape))
    new_height = loglik(new, data)
    ratio = new_height - quadratic(new, surrogate) - height + quadratic(psi, surrogate)
    renewed = ratio + accept[..., groups + 1 + count :] > 0.0
    psi[...] = np.where(renewed[..., None], new, psi)
    height[...] = np.where(renewed, new_height, height)
    return packed, Accepted(
        joint_count[:, None],
        walked.sum(axis=1, dtype=np.float64),
        counts[:, :1],
        counts[:, 1:],
    )


def _refreshed(
    packed: Floats,
    candidates: Candidates,
    joint: Floats,
    surrogate: Surrogate,
    groups: int,
    scales: Scales,
) -> tuple[Floats, Floats]:
    """Move 1 through all rounds: new states, and counts of acceptance (data set,)."""
    old = unpack(packed, groups, scales)
    weight = (old.loglik - quadratic(old.psi, surrogate)).sum(-1) + old.level
    latest = np.full(weight.shape, -1)
    count = np.zeros(len(weight))
    for i in range(joint.shape[-1]):
        moved = candidates.weight[:, :, i] - weight + joint[:, :, i] > 0.0
        weight = np.where(moved, candidates.weight[:, :, i], weight)
        latest[moved] = i
        count += moved.sum(axis=1)
    taken = np.take_along_axis(candidates.packed, latest[..., None, None], axis=2)[:, :, 0]
    return np.where(latest[..., None] >= 0, taken, packed), count


def _stretch_all(
    packed: Floats,
    normal: Floats,
    accept: Floats,
    data: LabeledData,
    scales: Scales,
    surrogate: Surrogate,
) -> None:
    """Move 5 with psi and mu: they keep their places in units of spread and location.

    In these units their prior does not know sigma. Changes the states in place.
    """
    psi, mu, sigma, height, _ = unpack(packed, data.groups, scales)
    width = WALK / math.sqrt(sigma.shape[-1]) * surrogate.width[:, None]
    longer = sigma * np.exp(width * normal)
    wider = scales.spread(longer) / scales.spread(sigma)
    new_mu = mu * scales.location(longer) / scales.location(sigma)
    new = new_mu[:, :, None] + (psi - mu[:, :, None]) * wider[:, :, None]
    new_height = loglik(new, data)
    prior = width * normal - 0.5 * (longer * longer - sigma * sigma) / np.square(scales.sd)
    moved = (new_height - height).sum(-1) + prior.sum(-1) + accept > 0.0
    psi[...] = np.where(moved[..., None, None], new, psi)
    height[...] = np.where(moved[..., None], new_height, height)
    for old, fresh in ((mu, new_mu), (sigma, longer)):
        old[...] = np.where(moved[..., None], fresh, old)


def sigma_target(sigma: Floats, squares: Floats, normals: Floats, scale: Floats) -> Floats:
    """Log density of log sigma given the squared deviations of the normals that it scales."""
    ratio = sigma / scale
    return np.asarray(
        (1.0 - normals) * np.log(sigma) - 0.5 * (squares / (sigma * sigma) + ratio * ratio)
    )


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
