"""The moves of a chain under the nested prior, in NumPy: vectorised over data sets and chains.

The prior and its surrogate are those of `hierarchy`. A sweep is

1. Three times, a whole new state, proposed from the surrogate of the posterior and accepted with
   the ratio of the posterior to the proposal. These proposals do not depend on the state, so those
   of many sweeps are made at once.
2. A random-walk step of each group's psi, shaped by the surrogate.
3. The exact conditional draw of eta, which is mu and all effects, given psi and sigma.
4. Translation of rows of eta together with the psi of their groups, given the interactions.
   Alternately random-walk steps of mu, then of the effects of one attribute after the other, level
   by level; and an independence proposal of all eta from the surrogate.
5. Scales. Alternately a random walk of each log sigma given psi and eta; and a random walk of all
   log sigma with independence proposals of eta and psi from the surrogate at the new sigma. The
   first is slow in layers that differ little, the second in those that differ much.
6. An independence proposal of each group's psi from the surrogate, given eta and sigma.

Noise is an argument: the same state and noise give the same state.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats
from ..model.likelihood import LabeledData, loglik
from .hierarchy import Nesting, draw, draw_effects, eta_given, marginal
from .moves import sigma_target
from .surrogate import Surrogate, draw_own, draw_sigma, eliminated, log_importance, quadratic

Bools = npt.NDArray[np.bool_]

ROUNDS = 3  # proposals of a whole new state in a sweep

JUMP = 1.2  # common step of all log sigma, in units of their width, over the root of their number

BLOCK = 200_000  # numbers in a temporary array: a few of them fit into a cache


class State(NamedTuple):
    """States of the chains.

    psi: float64 (data set, chain, group, D); eta: (data set, chain, P, D); sigma: (data set, chain,
    S); loglik: (data set, chain, group), at psi; value: (data set, chain), log marginal likelihood
    of sigma under the surrogate.
    """

    psi: Floats
    eta: Floats
    sigma: Floats
    loglik: Floats
    value: Floats


class Noise(NamedTuple):
    """Random numbers of a number of sweeps.

    For move 1, in rounds: normal (data set, chain, round, S + (P + G) D), uniform and joint (data
    set, chain, round). For the others, in sweeps: walk (data set, chain, sweep, group, D); eta and
    translation (..., P, D); scale (..., S); independent (..., (P + G) D); own (..., group, D);
    accept (..., 2 G + P + S), of moves 2, 4, 5 and 6. joint and accept are Exp(1): a move with
    log ratio r is accepted where r + noise > 0.
    """

    normal: Floats
    uniform: Floats
    joint: Floats
    walk: Floats
    eta: Floats
    translation: Floats
    scale: Floats
    independent: Floats
    own: Floats
    accept: Floats


class Candidates(NamedTuple):
    """Proposals of move 1: states (data set, chain, round, ...), log weights."""

    state: State
    weight: Floats


class Step(NamedTuple):
    """Step sizes of moves 2, 4 and 5, first forms: psi (data set, group), eta (.., P), sigma."""

    psi: Floats
    eta: Floats
    sigma: Floats


class Accepted(NamedTuple):
    """Numbers of acceptances, summed over chains; or their rates.

    joint: (data set, 1), of move 1; psi: (data set, group); eta: (data set, P) and sigma: (data
    set, S), of the first forms of moves 4 and 5; all: (data set, 2), of their second forms; own:
    (data set, group), of move 6.
    """

    joint: Floats
    psi: Floats
    eta: Floats
    sigma: Floats
    all: Floats
    own: Floats


def make_noise(
    rng: np.random.Generator, shape: tuple[int, int], sweeps: int, nest: Nesting
) -> Noise:
    """Draw the noise of a number of sweeps; `shape` is (data sets, chains)."""
    (groups, rows), size = nest.design.shape, len(nest.scales.own)
    count, both = len(nest.scales.sd), (groups + rows) * size
    rounds, now = (*shape, sweeps * ROUNDS), (*shape, sweeps)
    return Noise(
        rng.standard_normal((*rounds, count + both)),
        rng.random(rounds),
        rng.standard_exponential(rounds),
        rng.standard_normal((*now, groups, size)),
        rng.standard_normal((*now, rows, size)),
        rng.standard_normal((*now, rows, size)),
        rng.standard_normal((*now, count)),
        rng.standard_normal((*now, both)),
        rng.standard_normal((*now, groups, size)),
        rng.standard_exponential((*now, 2 * groups + rows + count)),
    )


def propose(noise: Noise, data: LabeledData, surrogate: Surrogate, nest: Nesting) -> Candidates:
    """Make the proposals of move 1 for all rounds of the noise."""
    sets, chains, rounds, width = noise.normal.shape
    normal = noise.normal.reshape(sets, chains * rounds, width)
    uniform = noise.uniform.reshape(sets, -1)
    size = len(nest.scales.own)
    (groups, rows), levels = nest.design.shape, int(np.diff(nest.starts).max())
    wide = (rows - levels) * size
    numbers = sets * (groups * 2 * size * size + levels * size * wide + wide * wide)
    step = max(1, BLOCK // max(len(data.base), numbers))
    parts = []
    for i in range(0, chains * rounds, step):
        now = normal[:, i : i + step]
        chosen = now[..., : len(nest.scales.sd)], uniform[:, i : i + step]
        sigma = draw_sigma(surrogate, nest.scales, *chosen)
        state = _draw_states(sigma, now[..., len(nest.scales.sd) :], data, surrogate, nest)
        parts.append((*state, _weight(state, surrogate, nest)))
    columns = [np.concatenate(part, axis=1) for part in zip(*parts, strict=True)]
    shaped = [column.reshape(sets, chains, rounds, *column.shape[2:]) for column in columns]
    return Candidates(State(*shaped[:-1]), shaped[-1])


def sweep(
    state: State,
    candidates: Candidates,
    noise: Noise,
    data: LabeledData,
    surrogate: Surrogate,
    nest: Nesting,
    step: Step,
    independent: bool = False,
) -> tuple[State, Accepted]:
    """Make one sweep of every chain.

    Parameters
    ----------
    state
        Not modified.
    candidates, noise
        Those of one sweep, without the axis of sweeps but with that of rounds; `noise.walk` and
        `noise.translation` are already scaled and shaped where they are of walks.
    independent
        Whether moves 4 and 5 have their second form.

    Returns
    -------
    The new states, and numbers of acceptances.
    """
    cuts = np.cumsum([data.groups, len(nest.ratio), len(nest.scales.sd)])
    for_walk, for_translation, for_sigma, for_own = np.split(noise.accept, cuts, axis=-1)
    # 1. whole new states from the surrogate
    state, joint = _refreshed(state, candidates, noise.joint, surrogate, nest)
    # 2. a random walk of each group
    spread = nest.scales.spread(state.sigma)[:, :, None]
    new = state.psi + noise.walk
    height = loglik(new, data)
    pull = noise.walk * (new + state.psi - 2.0 * nest.middle(state.eta)) / (spread * spread)
    walked = height - state.loglik - 0.5 * pull.sum(-1) + for_walk > 0.0
    state = _moved(state, walked, psi=new, loglik=height)
    # 3. eta given psi and sigma
    state = state._replace(eta=eta_given(state.psi, state.sigma, nest, noise.eta))
    # 4. rows of eta with the psi of their groups, 5. the scales
    translated, rescaled = np.zeros(for_translation.shape, bool), np.zeros(for_sigma.shape, bool)
    all_accepted = np.zeros((*joint.shape, 2), bool)
    if independent:
        state, all_accepted[..., 0] = _translate_all(
            state, noise.translation, for_translation[..., 0], data, surrogate, nest
        )
        width = JUMP / math.sqrt(state.sigma.shape[-1]) * surrogate.width[:, None]
        state, all_accepted[..., 1] = _scale_all(
            state, width * noise.scale, noise.independent, for_sigma[..., 0], data, surrogate, nest
        )
        half = eliminated(state.sigma, surrogate, nest.scales).half
    else:
        state, translated = _translate(state, noise.translation, for_translation, data, nest)
        new, rescaled = _scale(state, step.sigma[:, None] * noise.scale, for_sigma, nest)
        at = marginal(new, surrogate, nest)
        state, half = state._replace(sigma=new, value=at.value), at.half
    # 6. independence proposals of the groups, given eta and sigma
    new = draw_own(half, nest.middle(state.eta), state.sigma, nest.scales, noise.own)
    height = loglik(new, data)
    ratio = height - quadratic(new, surrogate) - state.loglik + quadratic(state.psi, surrogate)
    renewed = ratio + for_own > 0.0
    state = _moved(state, renewed, psi=new, loglik=height)
    counts = (walked, translated, rescaled, all_accepted, renewed)
    return state, Accepted(
        joint.sum(axis=1)[:, None], *(n.sum(axis=1, dtype=float) for n in counts)
    )


def _moved(state: State, where: Any, **new: Floats) -> State:
    """Replace parts of the states where `where`, bool (data set, chain) or (.., group), is true."""
    old = state._asdict()
    mask = {
        name: where.reshape(*where.shape, *(1,) * (value.ndim - where.ndim))
        for name, value in new.items()
    }
    return state._replace(
        **{name: np.where(mask[name], value, old[name]) for name, value in new.items()}
    )


def _draw_states(
    sigma: Floats, normal: Floats, data: LabeledData, surrogate: Surrogate, nest: Nesting
) -> State:
    """Draw states at sigma (data set, n, S) from the surrogate; normal (data set, n, (P + G) D)."""
    rows, size = nest.ratio.shape
    shape = (*sigma.shape[:2], -1, size)
    at = marginal(sigma, surrogate, nest)
    for_eta, for_psi = (part.reshape(shape) for part in np.split(normal, [rows * size], axis=-1))
    eta, psi = draw(at, sigma, nest, for_eta, for_psi)
    return State(psi, eta, sigma, loglik(psi, data), at.value)


def _excess(state: State, surrogate: Surrogate) -> Floats:
    """Log likelihood of a state less the surrogate's: (data set, n)."""
    return np.asarray((state.loglik - quadratic(state.psi, surrogate)).sum(-1))


def _weight(state: State, surrogate: Surrogate, nest: Nesting) -> Floats:
    """Log ratio of the posterior to the proposal of move 1, up to a constant: (data set, n)."""
    return _excess(state, surrogate) + log_importance(
        state.sigma, state.value, surrogate, nest.scales
    )


def _refreshed(
    state: State, candidates: Candidates, joint: Floats, surrogate: Surrogate, nest: Nesting
) -> tuple[State, Floats]:
    """Move 1 through all rounds: new states, and numbers of acceptances (data set, chain)."""
    weight = _weight(state, surrogate, nest)
    latest = np.full(weight.shape, -1)
    count = np.zeros(weight.shape)
    for i in range(joint.shape[-1]):
        moved = candidates.weight[:, :, i] - weight + joint[:, :, i] > 0.0
        weight = np.where(moved, candidates.weight[:, :, i], weight)
        latest[moved] = i
        count += moved
    sets, chains = np.indices(weight.shape)
    taken = {
        name: value[sets, chains, np.maximum(latest, 0)]
        for name, value in candidates.state._asdict().items()
    }
    return _moved(state, latest >= 0, **taken), count


def _translate(
    state: State, translation: Floats, accept: Floats, data: LabeledData, nest: Nesting
) -> tuple[State, Bools]:
    """Move 4, first form: rows of a block have separate groups, so they move independently."""
    deviation = nest.sds(state.sigma)
    accepted = np.zeros(accept.shape, dtype=bool)
    for block in nest.blocks():
        members, by = nest.design[:, block], translation[:, :, block]
        new = state.psi + members @ by
        height = loglik(new, data)
        pull = by * (by + 2.0 * state.eta[:, :, block]) / np.square(deviation[:, :, block])
        ratio = (height - state.loglik) @ members - 0.5 * pull.sum(-1)
        moved = ratio + accept[:, :, block] > 0.0
        eta = state.eta.copy()
        eta[:, :, block] += np.where(moved[..., None], by, 0.0)
        state = _moved(state, moved @ members.T > 0.0, psi=new, loglik=height)._replace(eta=eta)
        accepted[:, :, block] = moved
    return state, accepted


def _translate_all(
    state: State,
    normal: Floats,
    accept: Floats,
    data: LabeledData,
    surrogate: Surrogate,
    nest: Nesting,
) -> tuple[State, Bools]:
    """Move 4, second form: all rows at once."""
    away = state.psi - nest.middle(state.eta)
    eta = draw_effects(away, state.sigma, surrogate, nest, normal)
    new = nest.middle(eta) + away
    height = loglik(new, data)
    ratio = height - quadratic(new, surrogate) - state.loglik + quadratic(state.psi, surrogate)
    moved = ratio.sum(-1) + accept > 0.0
    return _moved(state, moved, psi=new, eta=eta, loglik=height), moved


def _scale(state: State, by: Floats, accept: Floats, nest: Nesting) -> tuple[Floats, Bools]:
    """Move 5, first form: a random walk of each sigma given psi and eta."""
    squares, counts = nest.squares(state.psi, state.eta), nest.counts()
    rescaled = state.sigma * np.exp(by)
    ratio = sigma_target(rescaled, squares, counts, nest.scales.sd)
    ratio = ratio - sigma_target(state.sigma, squares, counts, nest.scales.sd)
    moved = ratio + accept > 0.0
    return np.where(moved, rescaled, state.sigma), moved


def _scale_all(
    state: State,
    by: Floats,
    normal: Floats,
    accept: Floats,
    data: LabeledData,
    surrogate: Surrogate,
    nest: Nesting,
) -> tuple[State, Bools]:
    """Move 5, second form: all sigma, with eta and psi drawn from the surrogate there."""
    sigma = state.sigma * np.exp(by)
    new = _draw_states(sigma, normal, data, surrogate, nest)
    prior = by - 0.5 * (np.square(sigma) - np.square(state.sigma)) / np.square(nest.scales.sd)
    ratio = _excess(new, surrogate) + new.value - _excess(state, surrogate) - state.value
    moved = ratio + prior.sum(-1) + accept > 0.0
    return _moved(state, moved, **new._asdict()), moved
