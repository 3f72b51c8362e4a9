"""The moves of a chain, in NumPy: vectorised over data sets, chains and groups.

A sweep is

1. Four whole new states, proposed from the Gaussian surrogate of the posterior (`surrogate`) and
   accepted with the ratio of the posterior to the proposal. They do not depend on the state, so
   those of many sweeps are proposed at once.
2. A random walk of each group's psi, shaped by the surrogate. It covers the tails where the
   surrogate has little mass; without it the chain gets stuck there.
3. The exact conditional draw of mu given psi and sigma.
4. Translation of mu and all psi together: alternately a random walk, and an independence proposal
   of mu from the surrogate given psi - mu. Correlated groups cannot move far one by one: without
   the walk, one chain in thirty gets stuck in the tail of log a; without the independence proposal
   mu mixes half as fast among 50 groups.
5. Scales: alternately a random walk of each log sigma given psi and mu, and a scale move of all log
   sigma, which rescales psi and mu with them. The first is slow where groups differ little, the
   second where they differ much.
6. An independence proposal of each group's psi from the surrogate, given mu and sigma. With 20
   groups a whole new state is seldom good for all of them.

This is the readable form. `kernels` is its compiled counterpart: same moves, same noise, same
draws. Noise is an argument of both.

Shapes start with (data set, chain): many data sets of the same number of groups can be sampled as
one batch. A curve has D coordinates psi: log a, log b, c and the deviations from it, if any. The
prior of all of them is set by S scales sigma (`model.scales`). A state is a row of (G + 1) D + S +
G + 1 numbers: psi, mu, sigma, the groups' log likelihoods, and the log importance weight of sigma;
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
    log_importance,
    marginal,
    quadratic,
)

ROUNDS = 4  # proposals of a whole new state in a sweep

WALK = 2.4  # step of a walk in units of the target, times the square root of its dimensions

BLOCK = 200_000  # numbers in a temporary array: a few of them fit into a cache


class State(NamedTuple):
    """Views of packed states, as natural names.

    psi: float64 (..., group, D), as log a, log b, c, deviations; mu: (..., D); sigma: (..., S);
    loglik: (..., group), the log likelihood at psi; importance: (...), log weight of sigma.
    """

    psi: Floats
    mu: Floats
    sigma: Floats
    loglik: Floats
    importance: Floats


class Noise(NamedTuple):
    """Random numbers of a number of sweeps.

    For move 1, in rounds: normal (data set, chain, round, S + D + D G), uniform and joint (data
    set, chain, round). For moves 2 to 6, in sweeps: walk (data set, chain, sweep, D G + D), of psi
    and mu; translation (..., D); scaling (..., S), of log sigma; own (..., D G), of psi in move 6;
    accept (..., 2 G + 1 + S), of moves 2, 4, 5 and 6. joint and accept are Exp(1): a move with log
    ratio r is accepted where r + noise > 0.
    """

    normal: Floats
    uniform: Floats
    joint: Floats
    walk: Floats
    translation: Floats
    scaling: Floats
    own: Floats
    accept: Floats


class Candidates(NamedTuple):
    """Proposals of move 1: packed states (data set, chain, round, state), log weights."""

    packed: Floats
    weight: Floats


class Step(NamedTuple):
    """Step sizes of moves 2, 4 and 5.

    psi: (data set, group), in units of `walk_shape`; translation: (data set, 1), in units of
    `translation_shape`; sigma: (data set, S), of log sigma.
    """

    psi: Floats
    translation: Floats
    sigma: Floats


class Accepted(NamedTuple):
    """Rates of acceptance: joint, translation (data set, 1), psi (data set, group), sigma (.., S).

    Those of translation and sigma are of the first form of their moves, every other sweep.
    """

    joint: Floats
    psi: Floats
    translation: Floats
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
    return np.concatenate([flat, *state[1:4], state.importance[..., None]], axis=-1)


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
    importance = log_importance(sigma, at.value, surrogate, scales)
    weight = (heights - quadratic(psi, surrogate)).sum(-1) + importance
    return pack(State(psi, mu, sigma, heights, importance)), np.asarray(weight)


def sweeps(
    packed: Floats,
    candidates: Candidates,
    noise: Noise,
    data: LabeledData,
    surrogate: Surrogate,
    scales: Scales,
    step: Step,
) -> tuple[Floats, Accepted]:
    """Make all sweeps of the noise; return the state after each, and numbers of acceptances."""
    count = noise.translation.shape[2]
    kept = np.empty((*packed.shape[:2], count, packed.shape[2]))
    total: list[Accepted] = []
    for t in range(count):
        rounds, now = slice(t * ROUNDS, (t + 1) * ROUNDS), slice(t, t + 1)
        part = Noise(*(x[:, :, rounds] for x in noise[:3]), *(x[:, :, now] for x in noise[3:]))
        proposed = Candidates(*(x[:, :, rounds] for x in candidates))
        packed, counts = sweep(
            packed, proposed, part, data, surrogate, scales, step, independent=t % 2 == 1
        )
        kept[:, :, t] = packed
        total.append(counts)
    return kept, Accepted(*(np.sum(values, axis=0) for values in zip(*total, strict=True)))


def sweep(
    packed: Floats,
    candidates: Candidates,
    noise: Noise,
    data: LabeledData,
    surrogate: Surrogate,
    scales: Scales,
    step: Step,
    independent: bool = False,
) -> tuple[Floats, Accepted]:
    """Make one sweep of every chain.

    Parameters
    ----------
    packed
        States, float64 (data set, chain, state).
    candidates, noise
        Those of one sweep; `noise.walk` and, for a walk, `noise.translation` are already scaled and
        shaped.
    independent
        Whether moves 4 and 5 have their second form.

    Returns
    -------
    The new states, and counts of acceptance summed over chains and rounds; of moves 4 and 5 those
    of their first form.
    """
    groups = data.groups
    size, count = len(scales.own), len(scales.sd)
    # 1. whole new states from the surrogate
    packed, joint_count = _refreshed(packed, candidates, noise.joint, surrogate, groups, scales)
    psi, mu, sigma, height, importance = unpack(packed, groups, scales)
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
    # 4. translation of mu and all psi: a walk, or in every other sweep from the surrogate
    translation = noise.translation[:, :, 0]
    if independent:
        away = psi - mu[:, :, None]
        translation = draw_common(away, sigma, surrogate, scales, translation) - mu
    new = psi + translation[:, :, None]
    new_height = loglik(new, data)
    if independent:
        pull = 2.0 * (quadratic(new, surrogate) - quadratic(psi, surrogate)).sum(-1)
    else:
        pull = (translation * (translation + 2.0 * mu) / (location * location)).sum(-1)
    translated = (new_height - height).sum(-1) - 0.5 * pull + accept[..., groups] > 0.0
    psi[...] = np.where(translated[..., None, None], new, psi)
    mu[...] = np.where(translated[..., None], mu + translation, mu)
    height[...] = np.where(translated[..., None], new_height, height)
    # 5. log sigma: each given psi and mu, or in every other sweep all, with psi and mu
    counts = np.zeros((len(sigma), 1 + count))  # accepted walks of moves 4 and 5
    if independent:
        normal, chance = noise.scaling[:, :, 0], accept[..., groups + 1]
        _scale_all(packed, normal, chance, data, scales, surrogate)
    else:
        squares, normals = scales.squares(psi, mu), scales.counts(groups)
        proposed = sigma * np.exp(step.sigma[:, None] * noise.scaling[:, :, 0])
        ratio = sigma_target(proposed, squares, normals, scales.sd)
        ratio = ratio - sigma_target(sigma, squares, normals, scales.sd)
        rescaled = ratio + accept[..., groups + 1 : groups + 1 + count] > 0.0
        sigma[...] = np.where(rescaled, proposed, sigma)
        counts[:, 0], counts[:, 1:] = translated.sum(axis=1), rescaled.sum(axis=1)
    at = marginal(sigma, surrogate, scales)
    importance[...] = log_importance(sigma, at.value, surrogate, scales)
    # 6. independence proposals of the groups, given mu and sigma
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
    weight = (old.loglik - quadratic(old.psi, surrogate)).sum(-1) + old.importance
    latest = np.full(weight.shape, -1)
    count = np.zeros(len(weight))
    for i in range(joint.shape[-1]):
        moved = candidates.weight[:, :, i] - weight + joint[:, :, i] > 0.0
        weight = np.where(moved, candidates.weight[:, :, i], weight)
        latest[moved] = i
        count += moved.sum(axis=1)
    taken = np.take_along_axis(candidates.packed, latest[..., None, None], axis=2)[:, :, 0]
    return np.where(latest[..., None] >= 0, taken, packed), count


def _scale_all(
    packed: Floats,
    normal: Floats,
    accept: Floats,
    data: LabeledData,
    scales: Scales,
    surrogate: Surrogate,
) -> None:
    """Scale move: all sigma, with psi and mu fixed in units of spread and location.

    In these units their prior does not depend on sigma. Modifies the states in place.
    """
    psi, mu, sigma, height, _ = unpack(packed, data.groups, scales)
    width = WALK / math.sqrt(sigma.shape[-1]) * surrogate.width[:, None]
    proposed = sigma * np.exp(width * normal)
    wider = scales.spread(proposed) / scales.spread(sigma)
    new_mu = mu * scales.location(proposed) / scales.location(sigma)
    new = new_mu[:, :, None] + (psi - mu[:, :, None]) * wider[:, :, None]
    new_height = loglik(new, data)
    prior = width * normal - 0.5 * (proposed * proposed - sigma * sigma) / np.square(scales.sd)
    moved = (new_height - height).sum(-1) + prior.sum(-1) + accept > 0.0
    psi[...] = np.where(moved[..., None, None], new, psi)
    height[...] = np.where(moved[..., None], new_height, height)
    for old, fresh in ((mu, new_mu), (sigma, proposed)):
        old[...] = np.where(moved[..., None], fresh, old)


def sigma_target(sigma: Floats, squares: Floats, normals: Floats, scale: Floats) -> Floats:
    """Log density of log sigma given the squared deviations of the normals that it scales."""
    ratio = sigma / scale
    return np.asarray(
        (1.0 - normals) * np.log(sigma) - 0.5 * (squares / (sigma * sigma) + ratio * ratio)
    )
