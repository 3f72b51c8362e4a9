"""The sampler: Metropolis-within-Gibbs for the hierarchical calibration model.

A sweep is three rounds of moves 1 to 3, then moves 4 and 5.

1. A whole new state is proposed from the Gaussian surrogate of the posterior (`surrogate`) and
   accepted with the ratio of the posterior to the proposal.
2. A random-walk step of each group's psi, shaped by the surrogate. It covers the tails where the
   surrogate is thin; without it the chain sticks there.
3. The exact conditional draw of mu given psi and sigma.
4. A random-walk step of mu and all psi together, by one common shift. Groups that lean on each
   other cannot walk far one by one: without it one chain in thirty sticks in the tail of log a.
5. A random-walk step of each log sigma given psi and mu.

The proposals of move 1 do not depend on the state, so those of many sweeps are made at once,
before the chain runs through them. Warm-up adapts step sizes and the surrogate; draws adapt
nothing. A kept draw is the state after a sweep.

`sweep` is the NumPy form, vectorised over data sets, chains and groups. `_kernels.sweeps` is its
compiled twin: same moves, same noise, same draws. Noise is an argument of both.

Shapes start with (data set, chain): many data sets of the same number of groups can be sampled as
one batch. A curve has D coordinates psi: log a, log b, c and the deviations from it, if any. The
prior of all of them is set by S scales sigma (`scales`). A state is a row of (G + 1) D + S + G + 1
numbers: psi, mu, sigma, the groups' log likelihoods, and the level of sigma (`surrogate.level`);
`unpack` names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ._jit import compiles
from .evidence import Evidence, loglik, pieces
from .model import Floats
from .scales import Scales
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

    For move 1, in rounds: normal (data set, chain, round, S + D + D G) and uniform (data set,
    chain, round). For moves 1 to 3, in rounds: walk (data set, chain, round, D G + D) and accept
    (..., round, 1 + G). For moves 4 and 5, in sweeps: shift (data set, chain, sweep, D), and
    stretch (..., sweep, 2 S + 1), which is S normals and S uniforms for sigma and 1 uniform for the
    shift.
    """

    normal: Floats
    uniform: Floats
    walk: Floats
    accept: Floats
    shift: Floats
    stretch: Floats


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
    """Rates of acceptance: joint, shift (data set, 1), psi (data set, group), sigma (.., S)."""

    joint: Floats
    psi: Floats
    shift: Floats
    sigma: Floats


class Draws(NamedTuple):
    """Kept states: psi (data set, chain, draw, group, D); mu (.., draw, D); sigma (.., draw, S)."""

    psi: Floats
    mu: Floats
    sigma: Floats


class Chains(NamedTuple):
    """Chains at a moment, and all that is needed to go on."""

    packed: Floats
    evidence: Evidence
    scales: Scales
    surrogate: Surrogate
    step: Step
    accepted: Accepted
    rng: np.random.Generator
    jit: bool


def warm_up(
    evidence: Evidence,
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
    evidence
        The labelled rows of one or more data sets.
    scales
        Of the prior, shared by all data sets.
    chains, warmup
        Chains per data set, and sweeps of warm-up.
    rng
        Belongs to the chains from here on.
    """
    now = _begin(evidence, scales, chains, rng)
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
    per_round = len(chains.scales.own) * (2 * groups + 3)
    size = max(1, BLOCK // (sets * count * ROUNDS * per_round))
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
    state = unpack(np.concatenate(parts, axis=2), groups, chains.scales)
    return chains._replace(accepted=total), Draws(state.psi, state.mu, state.sigma)


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
        rng.standard_normal((*shape, rounds, size * groups + size)),
        rng.random((*shape, rounds, 1 + groups)),
        rng.standard_normal((*shape, sweeps, size)),
        np.concatenate(
            [
                rng.standard_normal((*shape, sweeps, count)),
                rng.random((*shape, sweeps, count + 1)),
            ],
            axis=-1,
        ),
    )


def propose(
    noise: Noise, evidence: Evidence, surrogate: Surrogate, scales: Scales, *, jit: bool = False
) -> Candidates:
    """Make the proposals of move 1 for all rounds of the noise."""
    sets, chains, rounds, _ = noise.normal.shape
    groups = evidence.groups
    size, count = len(scales.own), len(scales.sd)
    normal = noise.normal.reshape(sets, chains * rounds, -1)
    uniform = noise.uniform.reshape(sets, -1)
    sigma = draw_sigma(surrogate, scales, normal[..., :count], uniform)
    fill = _proposed_compiled if jit else _proposed
    for_psi = normal[..., count + size :].reshape(sets, -1, groups, size)
    packed, weight = fill(
        sigma, normal[..., count : count + size], for_psi, evidence, surrogate, scales
    )
    return Candidates(
        packed.reshape(sets, chains, rounds, -1), weight.reshape(sets, chains, rounds)
    )


def _proposed(
    sigma: Floats,
    for_mu: Floats,
    for_psi: Floats,
    evidence: Evidence,
    surrogate: Surrogate,
    scales: Scales,
) -> tuple[Floats, Floats]:
    """Fill in states at proposed sigma: packed (data set, n, state), log weights (data set, n)."""
    at = marginal(sigma, surrogate, scales)
    mu, psi = draw(at, sigma, scales, for_mu, for_psi)
    size = max(1, BLOCK // len(evidence.up))
    blocks = [loglik(psi[:, i : i + size], evidence) for i in range(0, psi.shape[1], size)]
    heights = np.concatenate(blocks, axis=1)
    ladder = level(sigma, at.value, surrogate, scales)
    weight = (heights - quadratic(psi, surrogate)).sum(-1) + ladder
    return pack(State(psi, mu, sigma, heights, ladder)), np.asarray(weight)


def sweep(
    packed: Floats,
    candidates: Candidates,
    noise: Noise,
    evidence: Evidence,
    scales: Scales,
    surrogate: Surrogate,
    step: Step,
) -> tuple[Floats, Accepted]:
    """Make one sweep of every chain.

    Parameters
    ----------
    packed
        States, float64 (data set, chain, state).
    candidates, noise
        Those of one sweep; `noise.walk` and `noise.shift` are already scaled and shaped.

    Returns
    -------
    The new states, and counts of acceptance summed over chains and rounds.
    """
    groups = evidence.groups
    size, count = len(scales.own), len(scales.sd)
    joint_count = 0.0
    walk_count = 0.0
    for i in range(noise.uniform.shape[-1]):
        # 1. a whole new state from the surrogate
        old = unpack(packed, groups, scales)
        weight = (old.loglik - quadratic(old.psi, surrogate)).sum(-1) + old.level
        log_uniform = np.log(noise.accept[:, :, i])
        joint = log_uniform[..., 0] < candidates.weight[:, :, i] - weight
        packed = np.where(joint[..., None], candidates.packed[:, :, i], packed)
        joint_count = joint_count + joint.sum(axis=1)
        # 2. a random walk of each group
        psi, mu, sigma, height, _ = unpack(packed, groups, scales)
        spread, location = scales.spread(sigma), scales.location(sigma)
        walk = noise.walk[:, :, i, : size * groups].reshape(psi.shape)
        new = psi + walk
        new_height = loglik(new, evidence)
        wide, centre = spread[:, :, None], mu[:, :, None]
        pull = (walk * (new + psi - 2.0 * centre) / (wide * wide)).sum(-1)
        accept = log_uniform[..., 1:] < new_height - height - 0.5 * pull
        psi[...] = np.where(accept[..., None], new, psi)
        height[...] = np.where(accept, new_height, height)
        walk_count = walk_count + accept.sum(axis=1)
        # 3. mu given psi and sigma
        variance = spread * spread
        precision = groups / variance + 1.0 / (location * location)
        fresh = noise.walk[:, :, i, size * groups :] / np.sqrt(precision)
        mu[...] = psi.sum(axis=2) / variance / precision + fresh
    # 4. a common shift of mu and all psi
    psi, mu, sigma, height, ladder = unpack(packed, groups, scales)
    location = scales.location(sigma)
    shift = noise.shift[:, :, 0]
    new = psi + shift[:, :, None]
    new_height = loglik(new, evidence)
    pull = (shift * (shift + 2.0 * mu) / (location * location)).sum(-1)
    moved = np.log(noise.stretch[:, :, 0, -1]) < (new_height - height).sum(-1) - 0.5 * pull
    psi[...] = np.where(moved[..., None, None], new, psi)
    mu[...] = np.where(moved[..., None], mu + shift, mu)
    height[...] = np.where(moved[..., None], new_height, height)
    # 5. log sigma given psi and mu; the target is that of log sigma, its Jacobian is in it
    squares, normals = scales.squares(psi, mu), scales.counts(groups)
    stretched = sigma * np.exp(step.sigma[:, None] * noise.stretch[:, :, 0, :count])
    ratio = _sigma_target(stretched, squares, normals, scales.sd)
    ratio = ratio - _sigma_target(sigma, squares, normals, scales.sd)
    accept = np.log(noise.stretch[:, :, 0, count : 2 * count]) < ratio
    sigma[...] = np.where(accept, stretched, sigma)
    ladder[...] = level(sigma, marginal(sigma, surrogate, scales).value, surrogate, scales)
    return packed, Accepted(
        np.asarray(joint_count)[:, None],
        np.asarray(walk_count),
        np.asarray(moved.sum(axis=1))[:, None],
        np.asarray(accept.sum(axis=1)),
    )


def _begin(evidence: Evidence, scales: Scales, chains: int, rng: np.random.Generator) -> Chains:
    """Draw first states from the surrogate, half as wide again, so that chains start apart."""
    surrogate = expand(evidence, scales)
    sets, groups, size = surrogate.linear.shape
    count = len(scales.sd)
    sigma = np.abs(rng.standard_normal((sets, chains, count))) * scales.sd
    at = marginal(sigma, surrogate, scales)
    for_mu = 1.5 * rng.standard_normal((sets, chains, size))
    for_psi = 1.5 * rng.standard_normal((sets, chains, groups, size))
    mu, psi = draw(at, sigma, scales, for_mu, for_psi)
    ladder = level(sigma, at.value, surrogate, scales)
    packed = pack(State(psi, mu, sigma, loglik(psi, evidence), ladder))
    step = Step(np.full((sets, groups), 1.0), np.full((sets, 1), 1.0), np.full((sets, count), 1.2))
    nothing = Accepted(*(np.zeros((sets, n)) for n in (1, groups, 1, count)))
    jit = compiles(_numpy_seconds(evidence, sets, chains))
    return Chains(packed, evidence, scales, surrogate, step, nothing, rng, jit)


def _adapted(step: Step, rate: Accepted) -> Step:
    """Lengthen steps that are accepted too often, shorten those that are not (0.3 and 0.4)."""
    return Step(
        step.psi * np.exp(np.clip(2.0 * (rate.psi - 0.3), -0.7, 0.7)),
        step.shift * np.exp(np.clip(2.0 * (rate.shift - 0.3), -0.7, 0.7)),
        step.sigma * np.exp(np.clip(2.0 * (rate.sigma - 0.4), -0.7, 0.7)),
    )


def _refitted(chains: Chains, history: Floats) -> Chains:
    """Refit the surrogate to the latter half of the states met so far."""
    sets, _, length, width = history.shape
    recent = history[:, :, length // 2 :].reshape(sets, -1, width)
    groups, scales = chains.evidence.groups, chains.scales
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
    groups, scales = chains.evidence.groups, chains.scales
    size = len(scales.own)
    noise = make_noise(chains.rng, (sets, count), sweeps, groups, scales)
    jit = chains.jit
    candidates = propose(noise, chains.evidence, chains.surrogate, scales, jit=jit)
    shape = chains.step.psi[..., None, None] * walk_shape(chains.surrogate, scales)
    walk = noise.walk[..., : size * groups].reshape(sets, count, -1, groups, size)
    walk = (shape[:, None, None] @ walk[..., None])[..., 0].reshape(sets, count, -1, size * groups)
    across = chains.step.shift[..., None] * shift_shape(chains.surrogate, scales)
    noise = noise._replace(
        walk=np.concatenate([walk, noise.walk[..., size * groups :]], axis=-1),
        shift=(across[:, None, None] @ noise.shift[..., None])[..., 0],
    )
    packed, kept, counts = (_compiled if jit else _plain)(chains, candidates, noise, sweeps)
    rounds = count * sweeps * ROUNDS
    rates = Accepted(
        counts.joint / rounds,
        counts.psi / rounds,
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
            chains.scales,
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

    sets, count, width = chains.packed.shape
    groups = chains.evidence.groups
    scales = len(chains.scales.sd)
    packed = chains.packed.copy()
    kept = np.empty((sets, count, sweeps, width))
    accepted = np.zeros((sets, 1 + groups + 1 + scales))
    late = np.concatenate([noise.shift, noise.stretch], axis=-1)
    for r, tables in enumerate(_tables(chains.evidence, chains.surrogate, chains.scales)):
        tables.scales[3] = chains.step.sigma[r]
        for k in range(count):
            _kernels.sweeps(
                *(packed[r, k], candidates.packed[r, k], candidates.weight[r, k]),
                *(noise.walk[r, k], noise.accept[r, k], late[r, k]),
                *tables[:9],
                *(kept[r, k], accepted[r]),
                *tables[9:],
            )
    counts = Accepted(*np.split(accepted, [1, 1 + groups, 2 + groups], axis=1))
    return packed, kept, counts


def _proposed_compiled(
    sigma: Floats,
    for_mu: Floats,
    for_psi: Floats,
    evidence: Evidence,
    surrogate: Surrogate,
    scales: Scales,
) -> tuple[Floats, Floats]:
    """Compiled twin of `_proposed`."""
    from . import _kernels

    sets, n, count = sigma.shape
    _, _, groups, size = for_psi.shape
    first = (groups + 1) * size
    packed = np.empty((sets, n, first + count + groups + 1))
    packed[..., first : first + count] = sigma
    weight = np.empty((sets, n))
    normal = np.concatenate([sigma, for_mu, for_psi.reshape(sets, n, -1)], axis=-1)
    for r, tables in enumerate(_tables(evidence, surrogate, scales)):
        _kernels.proposals(packed[r], weight[r], normal[r], *tables)
    return packed, weight


class _Tables(NamedTuple):
    """Arguments that the compiled forms share, of one data set; the last four are scratch."""

    nodes: Floats
    start: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64]
    columns: Floats
    cap: float
    bends: Floats
    ratios: Floats
    of: npt.NDArray[np.int64]
    scales: Floats
    factor: Floats
    half: Floats
    sums: Floats
    spare: Floats


def _tables(evidence: Evidence, surrogate: Surrogate, scales: Scales) -> Iterator[_Tables]:
    """Lay out what the compiled forms read, data set by data set."""
    groups = evidence.groups
    size, count = len(scales.own), len(scales.sd)
    nodes = np.stack([evidence.up, evidence.down, evidence.positive, evidence.total])
    runs = pieces(evidence)
    bends = np.concatenate([surrogate.curvature, surrogate.linear[..., None]], axis=-1)
    of = np.stack([scales.own_of, scales.common_of])
    for r in range(len(bends)):
        yield _Tables(
            nodes,
            runs.start,
            runs.owner[r * groups : (r + 1) * groups + 1],
            runs.columns,
            evidence.cap,
            bends[r],
            np.stack([scales.own, scales.common]),
            np.where(of == count, -1, of),
            np.stack([scales.sd, surrogate.centre[r], surrogate.width[r], np.zeros(count)]),
            np.empty((groups + 1, size, size)),
            np.empty((groups + 1, size, size + 1)),
            np.empty((size, size + 3)),
            np.empty((2, max(size, groups))),
        )


def _numpy_seconds(evidence: Evidence, sets: int, chains: int) -> float:
    """Estimate what 1,000 sweeps would take the NumPy form: calls, proposals and nodes.

    Always of a whole fit, not of the run at hand, so that one fit uses one form throughout.
    """
    calls = 1.5e-3
    proposals = ROUNDS * 2e-6 * sets * chains * evidence.groups
    nodes = (2 * ROUNDS + 1) * 5e-8 * chains * len(evidence.up)
    return float(1000 * (calls + proposals + nodes))


def _sigma_target(sigma: Floats, squares: Floats, normals: Floats, scale: Floats) -> Floats:
    """Log density of log sigma given the squared deviations of the normals that it scales."""
    ratio = sigma / scale
    return np.asarray(
        (1.0 - normals) * np.log(sigma) - 0.5 * (squares / (sigma * sigma) + ratio * ratio)
    )
