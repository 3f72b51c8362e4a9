"""The moves of a chain, in NumPy: vectorised over data sets, chains and groups.

A sweep is

1. Two to four whole new states, drawn from the surrogate of the posterior (`surrogate`) and
   accepted with the ratio of the posterior to the proposal. They do not depend on the state, so
   those of many sweeps are proposed at once. About half are accepted, at any number of labels.
2. Before every 40th or 20th sweep, or every second where few are accepted, since a chain would
   stick in tails where the surrogate has little mass: whether a group is apart, and its psi, from
   the surrogate given eta and sigma, accepted group by group, about all of them at any number of
   groups; an exact draw of eta given psi and sigma; a random walk of each log sigma given both.

This is the readable form. `kernels` is its compiled counterpart: same moves, same noise, same
draws. Noise is an argument of both.

Shapes start with (data set, chain): many data sets of the same number of groups can be sampled as
one batch. A curve has D coordinates psi: log a, log b, c and the deviations from it, if any. Their
prior is a `hierarchy.Hierarchy`, with V hyperparameters. A state is a row of numbers that `unpack`
names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats
from ..model.likelihood import LabeledData, loglik
from .hierarchy import Hierarchy
from .surrogate import (
    FREEDOM,
    LARGEST,
    WIDEST,
    Conditional,
    Local,
    Surrogate,
    conditional,
    draw,
    draw_given,
    given_eta,
    group_place,
    hyper_of,
    integrated,
    log_apart,
    log_proposal,
    log_surrogate,
    place_of,
    propose_hyper,
    sigma_of,
)

BLOCK = 200_000  # numbers in a temporary array: a few of them fit into a cache


class State(NamedTuple):
    """Views of packed states, as natural names.

    psi: float64 (..., group, D), as log a, log b, c, deviations; eta: (..., P, D); hyper: (..., V);
    apart: (..., group), 1 where a group is apart, else 0;
    loglik, excess: (..., group), the log likelihood at psi, and by how much it exceeds the
    surrogate's; weight: (..., 1), the log ratio of posterior to proposal that hyper adds to the
    excess.
    """

    psi: Floats
    eta: Floats
    hyper: Floats
    apart: Floats
    loglik: Floats
    excess: Floats
    weight: Floats


class Noise(NamedTuple):
    """Random numbers of a number of sweeps.

    In rounds: normal (data set, chain, round, V + P D + G D), spread (data set, chain, round, V),
    chi-squared over its degrees of freedom; joint (data set, chain, round); and apart (.., G),
    uniform. In sweeps with move 2: walk (data set, chain, sweep, G D + P D + S), of psi, eta and
    log sigma, accept (data set, chain, sweep, G + S), flip (.., G), logistic, and keep (.., G), by
    how much the noise of psi stays what it was: 0 in half of the cases, else uniform. joint and
    accept are Exp(1): a move with log ratio r is accepted where r + noise > 0. rounds: in a sweep;
    every: sweeps from one move 2 to the next.
    """

    normal: Floats
    spread: Floats
    joint: Floats
    apart: Floats
    walk: Floats
    accept: Floats
    flip: Floats
    keep: Floats
    rounds: int
    every: int

    def chosen(self, chance: Floats) -> Floats:
        """Which groups are proposed apart, (data set, chain * round, group): 1 or 0."""
        below = self.apart.reshape(len(chance), -1, chance.shape[1]) < chance[:, None]
        return below.astype(np.float64)

    def t(self) -> Floats:
        """Draws of t distributions, (data set, chain * round, V)."""
        sets, count = len(self.spread), self.spread.shape[-1]
        t = self.normal[..., :count] / np.sqrt(self.spread)
        return np.asarray(t.reshape(sets, -1, count))


def shapes(groups: int, prior: Hierarchy) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the parts of a state."""
    rows, size = prior.ratio.shape
    count = len(prior.scales.sd) + 2
    return (groups, size), (rows, size), (count,), (groups,), (groups,), (groups,), (1,)


def unpack(packed: Floats, groups: int, prior: Hierarchy) -> State:
    """Name the parts of packed states (..., state); views, not copies."""
    parts, first = [], 0
    for shape in shapes(groups, prior):
        end = first + int(np.prod(shape))
        parts.append(packed[..., first:end].reshape(*packed.shape[:-1], *shape))
        first = end
    return State(*parts)


def pack(state: State) -> Floats:
    """Undo `unpack`."""
    shape = state.weight.shape[:-1]
    return np.concatenate([part.reshape(*shape, -1) for part in state], axis=-1)


def make_noise(
    rng: np.random.Generator,
    shape: tuple[int, int],
    sweeps: int,
    effort: tuple[int, int],
    prior: Hierarchy,
) -> Noise:
    """Draw the noise of sweeps; shape: data sets and chains; effort: `rounds` and `every`."""
    rounds, every = effort
    wide, walks = (*shape, sweeps * rounds), (*shape, -(-sweeps // every))
    groups = len(prior.design)
    (rows, size), count = prior.ratio.shape, len(prior.scales.sd) + 2
    return Noise(
        rng.standard_normal((*wide, count + (rows + groups) * size)),
        rng.chisquare(FREEDOM, (*wide, count)) / FREEDOM,
        rng.standard_exponential(wide),
        rng.random((*wide, groups)),
        rng.standard_normal((*walks, (groups + rows) * size + count - 2)),
        rng.standard_exponential((*walks, groups + count - 2)),
        rng.logistic(size=(*walks, groups)),
        np.maximum(2.0 * rng.random((*walks, groups)) - 1.0, 0.0),
        *effort,
    )


def propose(noise: Noise, data: LabeledData, surrogate: Surrogate, prior: Hierarchy) -> Floats:
    """Make the proposals of move 1 for all rounds of the noise: (data set, chain, round, state)."""
    sets, chains, rounds, width = noise.normal.shape
    normal = noise.normal.reshape(sets, chains * rounds, width)
    apart = noise.chosen(surrogate.apart)
    hyper = propose_hyper(noise.t(), apart, surrogate, prior)
    rows, size = prior.ratio.shape
    wide = max(len(data.base), sets * (data.groups * 3 * size * size + (rows * size) ** 2))
    step = max(1, BLOCK // wide)
    parts = [
        _proposed(
            hyper[:, i : i + step],
            apart[:, i : i + step],
            normal[:, i : i + step],
            data,
            surrogate,
            prior,
        )
        for i in range(0, chains * rounds, step)
    ]
    return np.concatenate(parts, axis=1).reshape(sets, chains, rounds, -1)


def _proposed(
    hyper: Floats,
    apart: Floats,
    normal: Floats,
    data: LabeledData,
    surrogate: Surrogate,
    prior: Hierarchy,
) -> Floats:
    """Proposed states (data set, n, state)."""
    (rows, size), (sets, n, count) = prior.ratio.shape, hyper.shape
    place = place_of(hyper, prior)
    at = integrated(sigma_of(hyper, prior), place, apart, surrogate, prior)
    cut = count + rows * size
    for_psi = normal[..., cut:].reshape(sets, n, -1, size).transpose(3, 0, 2, 1)
    eta, far = draw(at, prior, normal[..., count:cut].transpose(2, 0, 1), for_psi)
    psi = np.ascontiguousarray(far.transpose(1, 3, 2, 0))
    psi[..., :2] += group_place(place, apart, prior)
    excess = -log_surrogate(eta, far, at.psi, surrogate, prior).transpose(0, 2, 1)
    wild = beyond(psi)
    psi[wild] = 0.0
    heights = loglik(psi, data)
    excess = np.where(wild, -np.inf, excess + heights)
    eta = eta.transpose(2, 3, 0, 1).copy()
    eta[:, :, -1, :2] = place
    weight = log_weight(hyper, apart, at.value, surrogate, prior)
    return pack(State(psi, eta, hyper, apart, heights, excess, weight))


def beyond(psi: Floats) -> npt.NDArray[np.bool_]:
    """Whether psi (..., D) is so far from 0 that it is never accepted."""
    return np.asarray(
        (np.abs(psi[..., :2]) >= LARGEST).any(axis=-1)
        | (np.abs(psi[..., 2:]) >= WIDEST).any(axis=-1)
    )


def log_weight(
    hyper: Floats, apart: Floats, value: Floats, surrogate: Surrogate, prior: Hierarchy
) -> Floats:
    """Log ratio of the surrogate posterior of hyper to its proposal, (data set, n, 1)."""
    ratio = value - 0.5 * (hyper * hyper).sum(-1) - log_proposal(hyper, apart, surrogate, prior)
    return np.asarray((ratio + log_apart(apart, surrogate, prior))[..., None])


def reweigh(packed: Floats, data: LabeledData, surrogate: Surrogate, prior: Hierarchy) -> None:
    """Fill in what a state has of its surrogate, in place: (data set, n, state)."""
    now = unpack(packed, data.groups, prior)
    place = place_of(now.hyper, prior)
    at = integrated(sigma_of(now.hyper, prior), place, now.apart, surrogate, prior)
    far = now.psi.transpose(3, 0, 2, 1).copy()
    far[:2] -= at.psi.local.place
    surrogate_height = log_surrogate(_without_place(now.eta), far, at.psi, surrogate, prior)
    now.excess[...] = now.loglik - surrogate_height.transpose(0, 2, 1)
    now.weight[...] = log_weight(now.hyper, now.apart, at.value, surrogate, prior)


def _without_place(eta: Floats) -> Floats:
    """Return eta (P, D, data set, n) as `surrogate.draw` does, given that of states."""
    free: Floats = eta.transpose(2, 3, 0, 1).copy()
    free[-1, :2] = 0.0
    return free


def sweeps(
    packed: Floats,
    candidates: Floats,
    noise: Noise,
    data: LabeledData,
    surrogate: Surrogate,
    prior: Hierarchy,
    reweigh: Callable[..., None] = reweigh,
) -> tuple[Floats, Floats]:
    """Make all sweeps of the noise, the walks being scaled.

    Returns
    -------
    The state after each, (data set, chain, sweep, state); and numbers of acceptances, (data set, 1
    + G + S): of move 1, of psi and of the walks.
    """
    sets, chains, count, width = candidates.shape
    rounds = noise.rounds
    kept = np.empty((sets, chains, count // rounds, width))
    accepted = np.zeros((sets, 1 + noise.accept.shape[-1]))
    proposed = unpack(candidates, data.groups, prior)
    weights = proposed.weight[..., 0] + proposed.excess.sum(-1) + noise.joint
    packed = packed.copy()
    for step, first in enumerate(range(0, kept.shape[2], noise.every)):
        part = kept[:, :, first : first + noise.every]
        now = unpack(packed, data.groups, prior)
        accepted[:, 1:] += _local(now, noise, step, data, surrogate, prior).sum(axis=1)
        reweigh(packed, data, surrogate, prior)
        weight = now.weight[..., 0] + now.excess.sum(-1)
        latest = np.full((sets, chains), -1)
        path = np.empty((sets, chains, part.shape[2]), dtype=np.intp)
        for i in range(part.shape[2] * rounds):
            at = first * rounds + i
            moved = weights[:, :, at] > weight
            weight = np.where(moved, weights[:, :, at] - noise.joint[:, :, at], weight)
            latest = np.where(moved, at, latest)
            accepted[:, 0] += moved.sum(axis=1)
            path[:, :, i // rounds] = latest
        taken = np.take_along_axis(candidates, np.maximum(path, 0)[..., None], axis=2)
        part[...] = np.where(path[..., None] >= 0, taken, packed[:, :, None])
        packed = part[:, :, -1].copy()
    return kept, accepted


def _local(
    now: State, noise: Noise, step: int, data: LabeledData, surrogate: Surrogate, prior: Hierarchy
) -> Floats:
    """Move 2, in place; returns what was accepted: of psi (.., group), of sigma (.., S)."""
    groups, size = now.psi.shape[2:]
    walk, accept, flip, keep = (part[:, :, step] for part in noise[4:8])
    for_psi, for_eta, by = np.split(
        walk, [groups * size, walk.shape[-1] - len(prior.scales.sd)], -1
    )
    sigma = sigma_of(now.hyper, prior)
    for_psi = for_psi.reshape(now.psi.shape)
    moved = _groups(now, sigma, for_psi, accept[..., :groups], flip, keep, data, surrogate, prior)
    # eta given psi and sigma, then each sigma given both
    now.eta[...] = prior.eta_given(now.psi, sigma, now.apart, for_eta.reshape(now.eta.shape))
    new = sigma * np.exp(by)
    fitting = (prior.squares(now.psi, now.eta, now.apart), prior.counts(now.apart), prior.scales.sd)
    ratio = sigma_target(new, *fitting) - sigma_target(sigma, *fitting)
    rescaled = ratio + accept[..., groups:] > 0.0
    sigma = np.where(rescaled, new, sigma)
    now.hyper[...] = hyper_of(sigma, now.eta[:, :, -1, :2], prior)
    return np.concatenate([moved, rescaled], axis=-1).astype(float)


def _groups(
    now: State,
    sigma: Floats,
    normal: Floats,
    accept: Floats,
    flip: Floats,
    keep: Floats,
    data: LabeledData,
    surrogate: Surrogate,
    prior: Hierarchy,
) -> npt.NDArray[np.bool_]:
    """Draw which groups are apart, and their psi, given eta and sigma, in place; which moved.

    Groups are independent there, so each is accepted by its own likelihood, beside the surrogate's.
    Where part of the noise behind psi is kept, a group comes back in small steps from tails where
    the surrogate has little mass.
    """
    (sets, n, groups), chance = now.apart.shape, prior.scales.apart
    ways = 2 if chance > 0.0 else 1  # with the usual prior, and apart
    apart = np.repeat(np.arange(ways) > 0, n)[:, None] * np.ones((sets, 1, groups))
    eta = _without_place(now.eta)
    again = np.tile(eta, ways)
    scale, place = (np.tile(x, (1, ways, 1)) for x in (sigma, now.eta[:, :, -1, :2]))
    both = conditional(again, scale, place, apart, surrogate, prior)
    far = np.tile(now.psi.transpose(3, 0, 2, 1), ways)
    far[:2] -= both.local.place
    height, value, noise = given_eta(again, far, both, surrogate, prior)
    prior_odds = math.log(chance / (1.0 - chance)) if chance > 0.0 else -math.inf
    odds = prior_odds + value[..., -n:] - value[..., :n]
    before, after = now.apart.transpose(0, 2, 1) > 0.0, odds + flip.transpose(0, 2, 1) > 0.0

    def of(which: npt.NDArray[np.bool_], x: Floats) -> Floats:
        return np.where(which, x[..., -n:], x[..., :n])

    local = Local(*(of(after, x) for x in both.local))
    at = Conditional(local, of(after, both.half), of(after, both.spread))
    share, fresh = keep.transpose(0, 2, 1), normal.transpose(3, 0, 2, 1)
    noise = share * of(before, noise) + np.sqrt(1.0 - share * share) * fresh
    far = draw_given(eta, at, prior, noise)
    fall = (of(before, height) - given_eta(eta, far, at, surrogate, prior)[0]).transpose(0, 2, 1)
    far[:2] += at.local.place
    psi = np.ascontiguousarray(far.transpose(1, 3, 2, 0))
    wild = beyond(psi)
    psi[wild] = 0.0
    heights = loglik(psi, data)
    moved = ~wild & (heights - now.loglik + fall + accept > 0.0)
    now.psi[moved], now.loglik[moved] = psi[moved], heights[moved]
    now.apart[moved] = after.transpose(0, 2, 1)[moved]
    return np.asarray(moved)


def sigma_target(sigma: Floats, squares: Floats, normals: Floats, scale: Floats) -> Floats:
    """Log density of log sigma given the squared deviations of the normals that it scales."""
    ratio = sigma / scale
    return np.asarray(
        (1.0 - normals) * np.log(sigma) - 0.5 * (squares / (sigma * sigma) + ratio * ratio)
    )
