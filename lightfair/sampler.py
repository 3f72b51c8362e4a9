"""The sampler: Metropolis-within-Gibbs for the hierarchical calibration model.

A sweep is three rounds of moves 1 to 3, then moves 4 and 5.

1. A whole new state is proposed from the Gaussian surrogate of the posterior (`surrogate`) and
   accepted with the ratio of the posterior to the proposal.
2. A random-walk step of each group's phi, shaped by the surrogate. It covers the tails where the
   surrogate is thin; without it the chain sticks there.
3. The exact conditional draw of mu given phi and sigma.
4. A random-walk step of mu and all phi together, by one common shift. Groups that lean on each
   other cannot walk far one by one: without it one chain in thirty sticks in the tail of log a.
5. A random-walk step of each log sigma given phi and mu.

The proposals of move 1 do not depend on the state, so those of many sweeps are made at once,
before the chain runs through them. Warm-up adapts step sizes and the surrogate; draws adapt
nothing. A kept draw is the state after a sweep.

`sweep` is the NumPy form, vectorised over data sets, chains and groups. `_kernels.sweeps` is its
compiled twin: same moves, same noise, same draws. Noise is an argument of both.

Shapes start with (data set, chain): many data sets of the same number of groups can be sampled as
one batch. A state is a row of 4 G + 7 numbers: phi, mu, sigma, the groups' log likelihoods, and
the level of sigma (`surrogate.level`); `unpack` names them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ._jit import compiles
from .evidence import Evidence, loglik
from .model import Floats, Prior
from .surrogate import (
    Surrogate,
    draw,
    draw_sigma,
    expand,
    level,
    marginal,
    quadratic,
    refit,
    shift_shape,
    walk_shape,
)

ROUNDS = 3  # rounds of moves 1 to 3 in a sweep
ADAPT_EVERY = 10  # sweeps of warm-up between two looks at the acceptance rates
REFITS = 4  # refits of the surrogate, spread evenly over the first 4/5 of warm-up
BLOCK = 1_000_000  # numbers in the largest array of noise or proposals made at once

Progress = Callable[[int, int], None]


class State(NamedTuple):
    """Views of packed states, as natural names.

    phi: float64 (..., group, 3), as log a, log b, c; mu, sigma: (..., 3); loglik: (..., group),
    the log likelihood at phi; level: (...), that of sigma.
    """

    phi: Floats
    mu: Floats
    sigma: Floats
    loglik: Floats
    level: Floats


class Noise(NamedTuple):
    """The randomness of a number of sweeps.

    For move 1, in rounds: normal (data set, chain, round, 6 + 3 G) and uniform (data set, chain,
    round). For moves 1 to 3, in rounds: walk (data set, chain, round, 3 G + 3) and accept (...,
    round, 1 + G). For moves 4 and 5, in sweeps: shift (data set, chain, sweep, 3), and stretch
    (..., sweep, 7), which is 3 normals and 3 uniforms for sigma and 1 uniform for the shift.
    """

    normal: Floats
    uniform: Floats
    walk: Floats
    accept: Floats
    shift: Floats
    stretch: Floats


class Candidates(NamedTuple):
    """Proposals of move 1: packed states (data set, chain, round, 4 G + 7), log weights."""

    packed: Floats
    weight: Floats


class Step(NamedTuple):
    """Step sizes of moves 2, 4 and 5.

    phi: (data set, group), in units of `walk_shape`; shift: (data set, 1), in units of
    `shift_shape`; sigma: (data set, 3), of log sigma.
    """

    phi: Floats
    shift: Floats
    sigma: Floats


class Accepted(NamedTuple):
    """Rates of acceptance: joint, shift (data set, 1), phi (data set, group), sigma (.., 3)."""

    joint: Floats
    phi: Floats
    shift: Floats
    sigma: Floats


class Draws(NamedTuple):
    """Kept states: phi (data set, chain, draw, group, 3); mu, sigma (data set, chain, draw, 3)."""

    phi: Floats
    mu: Floats
    sigma: Floats


class Chains(NamedTuple):
    """Chains at a moment, and all that is needed to go on."""

    packed: Floats
    evidence: Evidence
    prior: Prior
    surrogate: Surrogate
    step: Step
    accepted: Accepted
    rng: np.random.Generator
    jit: bool


def warm_up(
    evidence: Evidence,
    prior: Prior,
    *,
    chains: int,
    warmup: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Chains:
    """Start chains and warm them up; only here do step sizes and the surrogate adapt.

    Parameters
    ----------
    evidence
        The labelled rows of one or more data sets.
    prior
        The six scales, shared by all data sets.
    chains, warmup
        Chains per data set, and sweeps of warm-up.
    rng
        Belongs to the chains from here on.
    """
    now = _begin(evidence, prior, chains, rng)
    refits = {warmup * (i + 1) // (REFITS + 1) for i in range(REFITS)}
    history: list[Floats] = []
    done = 0
    for mark in sorted(refits | set(range(ADAPT_EVERY, warmup, ADAPT_EVERY)) | {warmup}):
        if mark == done:
            continue
        now, kept = _run(now, mark - done)
        history.append(kept)
        now = now._replace(step=_adapted(now.step, now.accepted))
        if mark in refits:
            now = _refitted(now, np.concatenate(history, axis=2))
        done = mark
        if progress is not None:
            progress(done, warmup)
    return now


def take_draws(
    chains: Chains, draws: int, *, progress: Progress | None = None
) -> tuple[Chains, Draws]:
    """Go on for a number of draws; return the chains as they are then, and the draws.

    `chains` itself stays as it is, but for its generator, which moves on.
    """
    sets, count, _ = chains.packed.shape
    groups = chains.evidence.groups
    size = max(1, BLOCK // (sets * count * ROUNDS * (6 * groups + 9)))
    parts: list[Floats] = []
    rates: list[Accepted] = []
    for first in range(0, draws, size):
        block = min(size, draws - first)
        chains, kept = _run(chains, block)
        parts.append(kept)
        rates.append(Accepted(*(block / draws * rate for rate in chains.accepted)))
        if progress is not None:
            progress(first + block, draws)
    total = Accepted(*(np.asarray(sum(rate)) for rate in zip(*rates, strict=True)))
    state = unpack(np.concatenate(parts, axis=2), groups)
    return chains._replace(accepted=total), Draws(state.phi, state.mu, state.sigma)


def unpack(packed: Floats, groups: int) -> State:
    """Name the parts of packed states (..., 4 G + 7); views, not copies."""
    end = 3 * groups
    return State(
        packed[..., :end].reshape(*packed.shape[:-1], groups, 3),
        packed[..., end : end + 3],
        packed[..., end + 3 : end + 6],
        packed[..., end + 6 : end + 6 + groups],
        packed[..., -1],
    )


def pack(state: State) -> Floats:
    """Undo `unpack`."""
    flat = state.phi.reshape(*state.phi.shape[:-2], -1)
    return np.concatenate([flat, *state[1:4], state.level[..., None]], axis=-1)


def make_noise(rng: np.random.Generator, shape: tuple[int, int], sweeps: int, groups: int) -> Noise:
    """Draw the noise of a number of sweeps; `shape` is (data sets, chains)."""
    rounds = sweeps * ROUNDS
    return Noise(
        rng.standard_normal((*shape, rounds, 6 + 3 * groups)),
        rng.random((*shape, rounds)),
        rng.standard_normal((*shape, rounds, 3 * groups + 3)),
        rng.random((*shape, rounds, 1 + groups)),
        rng.standard_normal((*shape, sweeps, 3)),
        np.concatenate(
            [rng.standard_normal((*shape, sweeps, 3)), rng.random((*shape, sweeps, 4))], axis=-1
        ),
    )


def propose(
    noise: Noise, evidence: Evidence, surrogate: Surrogate, prior: Prior, *, jit: bool = False
) -> Candidates:
    """Make the proposals of move 1 for all rounds of the noise."""
    sets, chains, rounds, _ = noise.normal.shape
    groups = evidence.groups
    normal = noise.normal.reshape(sets, chains * rounds, -1)
    sigma = draw_sigma(surrogate, prior, normal[..., :3], noise.uniform.reshape(sets, -1))
    at = marginal(sigma, surrogate, prior)
    for_phi = normal[..., 6:].reshape(sets, -1, groups, 3)
    mu, phi = draw(at, sigma, normal[..., 3:6], for_phi)
    heights = _logliks(phi, evidence, jit)
    ladder = level(sigma, at.value, surrogate, prior)
    weight = (heights - quadratic(phi, surrogate)).sum(-1) + ladder
    packed = pack(State(phi, mu, sigma, heights, ladder))
    return Candidates(
        packed.reshape(sets, chains, rounds, -1), weight.reshape(sets, chains, rounds)
    )


def sweep(
    packed: Floats,
    candidates: Candidates,
    noise: Noise,
    evidence: Evidence,
    prior: Prior,
    surrogate: Surrogate,
    step: Step,
) -> tuple[Floats, Accepted]:
    """Make one sweep of every chain.

    Parameters
    ----------
    packed
        States, float64 (data set, chain, 4 G + 7).
    candidates, noise
        Those of one sweep; `noise.walk` and `noise.shift` are already scaled and shaped.

    Returns
    -------
    The new states, and counts of acceptance summed over chains and rounds.
    """
    groups = evidence.groups
    location_sd, spread_sd = prior.location_sd, prior.spread_sd
    joint_count = 0.0
    walk_count = 0.0
    for i in range(noise.uniform.shape[-1]):
        # 1. a whole new state from the surrogate
        old = unpack(packed, groups)
        weight = (old.loglik - quadratic(old.phi, surrogate)).sum(-1) + old.level
        log_uniform = np.log(noise.accept[:, :, i])
        joint = log_uniform[..., 0] < candidates.weight[:, :, i] - weight
        packed = np.where(joint[..., None], candidates.packed[:, :, i], packed)
        joint_count = joint_count + joint.sum(axis=1)
        # 2. a random walk of each group
        phi, mu, sigma, height, _ = unpack(packed, groups)
        walk = noise.walk[:, :, i, : 3 * groups].reshape(phi.shape)
        new = phi + walk
        new_height = loglik(new, evidence)
        scale, centre = sigma[:, :, None], mu[:, :, None]
        pull = (walk * (new + phi - 2.0 * centre) / (scale * scale)).sum(-1)
        accept = log_uniform[..., 1:] < new_height - height - 0.5 * pull
        phi[...] = np.where(accept[..., None], new, phi)
        height[...] = np.where(accept, new_height, height)
        walk_count = walk_count + accept.sum(axis=1)
        # 3. mu given phi and sigma
        variance = sigma * sigma
        precision = groups / variance + 1.0 / location_sd**2
        fresh = noise.walk[:, :, i, 3 * groups :] / np.sqrt(precision)
        mu[...] = phi.sum(axis=2) / variance / precision + fresh
    # 4. a common shift of mu and all phi
    phi, mu, sigma, height, ladder = unpack(packed, groups)
    shift = noise.shift[:, :, 0]
    new = phi + shift[:, :, None]
    new_height = loglik(new, evidence)
    pull = (shift * (shift + 2.0 * mu) / location_sd**2).sum(-1)
    moved = np.log(noise.stretch[:, :, 0, 6]) < (new_height - height).sum(-1) - 0.5 * pull
    phi[...] = np.where(moved[..., None, None], new, phi)
    mu[...] = np.where(moved[..., None], mu + shift, mu)
    height[...] = np.where(moved[..., None], new_height, height)
    # 5. log sigma given phi and mu; the target is that of log sigma, its Jacobian is in it
    far = phi - mu[:, :, None]
    squares = (far * far).sum(axis=2)
    wide = sigma * np.exp(step.sigma[:, None] * noise.stretch[:, :, 0, :3])
    ratio = _sigma_target(wide, squares, groups, spread_sd)
    ratio = ratio - _sigma_target(sigma, squares, groups, spread_sd)
    accept = np.log(noise.stretch[:, :, 0, 3:6]) < ratio
    sigma[...] = np.where(accept, wide, sigma)
    ladder[...] = level(sigma, marginal(sigma, surrogate, prior).value, surrogate, prior)
    return packed, Accepted(
        np.asarray(joint_count)[:, None],
        np.asarray(walk_count),
        np.asarray(moved.sum(axis=1))[:, None],
        np.asarray(accept.sum(axis=1)),
    )


def _begin(evidence: Evidence, prior: Prior, chains: int, rng: np.random.Generator) -> Chains:
    """Draw first states from the surrogate, half as wide again, so that chains start apart."""
    surrogate = expand(evidence, prior)
    sets, groups = surrogate.linear.shape[:2]
    sigma = np.abs(rng.standard_normal((sets, chains, 3))) * prior.spread_sd
    at = marginal(sigma, surrogate, prior)
    for_mu = 1.5 * rng.standard_normal((sets, chains, 3))
    mu, phi = draw(at, sigma, for_mu, 1.5 * rng.standard_normal((sets, chains, groups, 3)))
    ladder = level(sigma, at.value, surrogate, prior)
    packed = pack(State(phi, mu, sigma, loglik(phi, evidence), ladder))
    step = Step(np.full((sets, groups), 1.0), np.full((sets, 1), 1.0), np.full((sets, 3), 1.2))
    nothing = Accepted(*(np.zeros((sets, n)) for n in (1, groups, 1, 3)))
    jit = compiles(_numpy_seconds(evidence, sets, chains))
    return Chains(packed, evidence, prior, surrogate, step, nothing, rng, jit)


def _adapted(step: Step, rate: Accepted) -> Step:
    """Lengthen steps that are accepted too often, shorten those that are not (0.3 and 0.4)."""
    return Step(
        step.phi * np.exp(np.clip(2.0 * (rate.phi - 0.3), -0.7, 0.7)),
        step.shift * np.exp(np.clip(2.0 * (rate.shift - 0.3), -0.7, 0.7)),
        step.sigma * np.exp(np.clip(2.0 * (rate.sigma - 0.4), -0.7, 0.7)),
    )


def _refitted(chains: Chains, history: Floats) -> Chains:
    """Refit the surrogate to the latter half of the states met so far."""
    sets, count, length, size = history.shape
    recent = history[:, :, length // 2 :].reshape(sets, -1, size)
    groups = chains.evidence.groups
    met = unpack(recent, groups)
    surrogate = refit(chains.surrogate, met.phi, met.sigma, met.loglik)
    packed = chains.packed.copy()
    now = unpack(packed, groups)
    value = marginal(now.sigma, surrogate, chains.prior).value
    now.level[...] = level(now.sigma, value, surrogate, chains.prior)
    return chains._replace(packed=packed, surrogate=surrogate)


def _run(chains: Chains, sweeps: int) -> tuple[Chains, Floats]:
    """Run sweeps; return the chains and every state, (data set, chain, sweep, 4 G + 7)."""
    sets, count, _ = chains.packed.shape
    groups = chains.evidence.groups
    noise = make_noise(chains.rng, (sets, count), sweeps, groups)
    jit = chains.jit
    candidates = propose(noise, chains.evidence, chains.surrogate, chains.prior, jit=jit)
    shape = chains.step.phi[..., None, None] * walk_shape(chains.surrogate)
    walk = noise.walk[..., : 3 * groups].reshape(sets, count, -1, groups, 3)
    walk = (shape[:, None, None] @ walk[..., None])[..., 0].reshape(sets, count, -1, 3 * groups)
    across = chains.step.shift[..., None] * shift_shape(chains.surrogate, chains.prior)
    noise = noise._replace(
        walk=np.concatenate([walk, noise.walk[..., 3 * groups :]], axis=-1),
        shift=(across[:, None, None] @ noise.shift[..., None])[..., 0],
    )
    packed, kept, counts = (_compiled if jit else _plain)(chains, candidates, noise, sweeps)
    rounds = count * sweeps * ROUNDS
    rates = Accepted(
        counts.joint / rounds,
        counts.phi / rounds,
        counts.shift / (count * sweeps),
        counts.sigma / (count * sweeps),
    )
    return chains._replace(packed=packed, accepted=rates), kept


def _plain(
    chains: Chains, candidates: Candidates, noise: Noise, sweeps: int
) -> tuple[Floats, Floats, Accepted]:
    packed = chains.packed
    kept = np.empty((*packed.shape[:2], sweeps, packed.shape[2]))
    total: list[Accepted] = []
    for t in range(sweeps):
        rounds = slice(t * ROUNDS, (t + 1) * ROUNDS)
        part = Noise(
            noise.normal[:, :, rounds],
            noise.uniform[:, :, rounds],
            noise.walk[:, :, rounds],
            noise.accept[:, :, rounds],
            noise.shift[:, :, t : t + 1],
            noise.stretch[:, :, t : t + 1],
        )
        at_hand = Candidates(*(values[:, :, rounds] for values in candidates))
        packed, counts = sweep(
            packed,
            at_hand,
            part,
            chains.evidence,
            chains.prior,
            chains.surrogate,
            chains.step,
        )
        kept[:, :, t] = packed
        total.append(counts)
    return packed, kept, Accepted(*(np.sum(values, axis=0) for values in zip(*total, strict=True)))


def _compiled(
    chains: Chains, candidates: Candidates, noise: Noise, sweeps: int
) -> tuple[Floats, Floats, Accepted]:
    from . import _kernels

    sets, count, size = chains.packed.shape
    rows, quadratics, step = chains.evidence, chains.surrogate, chains.step
    groups = rows.groups
    packed = chains.packed.copy()
    kept = np.empty((sets, count, sweeps, size))
    accepted = np.zeros((sets, 1 + groups + 1 + 3))
    nodes = np.stack([rows.up, rows.down, rows.positive, rows.total])
    bends = np.concatenate([quadratics.curvature, quadratics.linear[..., None]], axis=-1).reshape(
        sets, groups, 12
    )
    late = np.concatenate([noise.shift, noise.stretch], axis=-1)
    for r in range(sets):
        scales = np.stack(
            [
                chains.prior.location_sd,
                chains.prior.spread_sd,
                quadratics.centre[r],
                quadratics.width[r],
                step.sigma[r],
            ]
        )
        begin = rows.start[r * groups : (r + 1) * groups + 1]
        for k in range(count):
            _kernels.sweeps(
                *(packed[r, k], candidates.packed[r, k], candidates.weight[r, k]),
                *(noise.walk[r, k], noise.accept[r, k], late[r, k]),
                *(nodes, begin, rows.offset, rows.cap),
                *(bends[r], scales),
                *(kept[r, k], accepted[r], np.empty(24 + groups)),
            )
    counts = Accepted(*np.split(accepted, [1, 1 + groups, 2 + groups], axis=1))
    return packed, kept, counts


def _logliks(phi: Floats, evidence: Evidence, jit: bool) -> Floats:
    """`loglik` of many states, in pieces that stay in memory, or compiled."""
    sets, n, groups, _ = phi.shape
    if not jit:
        size = max(1, BLOCK // len(evidence.up))
        pieces = [loglik(phi[:, i : i + size], evidence) for i in range(0, n, size)]
        return np.concatenate(pieces, axis=1)
    from . import _kernels

    heights = np.empty((sets, n, groups))
    nodes = np.stack([evidence.up, evidence.down, evidence.positive, evidence.total])
    for r in range(sets):
        begin = evidence.start[r * groups : (r + 1) * groups + 1]
        flat = np.ascontiguousarray(phi[r].reshape(n, -1))
        _kernels.logliks(flat, nodes, begin, evidence.offset, evidence.cap, heights[r])
    return heights


def _numpy_seconds(evidence: Evidence, sets: int, chains: int) -> float:
    """Estimate what 1,000 sweeps would take the NumPy form: calls, proposals and nodes.

    Always of a whole fit, not of the run at hand, so that one fit uses one form throughout.
    """
    calls = 1.5e-3
    proposals = ROUNDS * 2e-6 * sets * chains * evidence.groups
    nodes = (2 * ROUNDS + 1) * 5e-8 * chains * len(evidence.up)
    return float(1000 * (calls + proposals + nodes))


def _sigma_target(sigma: Floats, squares: Floats, groups: int, scale: Floats) -> Floats:
    """Log density of log sigma given the groups' squared deviations from mu."""
    ratio = sigma / scale
    return np.asarray(
        (1.0 - groups) * np.log(sigma) - 0.5 * (squares / (sigma * sigma) + ratio * ratio)
    )
