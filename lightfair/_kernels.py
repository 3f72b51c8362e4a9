"""Compiled twins of the NumPy sweep and of the sums over nodes: scalar loops, no allocation.

Importing this module imports numba; it is imported where work is large enough to pay for that.
Every kernel takes its noise as an argument and makes the same moves in the same order as its
NumPy form, so that both give the same draws up to rounding. Arguments are few, arrays are of low
dimension, there are no slices, tuples or numpy functions inside: that makes compilation three
times faster. Where no cache folder can be written the kernels are compiled afresh in each
process.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def _jit(function: F) -> F:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        compiled: F = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # "no locator available": nowhere to write a cache
        compiled = numba.njit(**options)(function)
    return compiled


@_jit
def _segment_loglik(la, lb, c, nodes, offset, cap, begin, end):
    a = math.exp(la)
    b = math.exp(lb)
    shift = offset * c
    value = 0.0
    for i in range(begin, end):
        odds = shift + a * nodes[0, i] + b * nodes[1, i]
        if odds > cap:
            odds = cap
        far = odds if odds > 0.0 else -odds
        soft = 0.5 * (odds + far) + math.log1p(math.exp(-far))
        value += nodes[2, i] * odds - nodes[3, i] * soft
    return value


@_jit
def logliks(phi, nodes, start, offset, cap, heights):
    """Log likelihoods (n, group) of phi (n, 3 group); nodes (4, node) and start (group + 1,)."""
    for n in range(heights.shape[0]):
        for g in range(heights.shape[1]):
            heights[n, g] = _segment_loglik(
                phi[n, 3 * g],
                phi[n, 3 * g + 1],
                phi[n, 3 * g + 2],
                nodes,
                offset,
                cap,
                start[g],
                start[g + 1],
            )


@_jit
def _level(x, at, bends, scales, scratch):
    """Twin of `surrogate.level` of `surrogate.marginal`, for sigma = x[at : at + 3].

    scratch (24,): 12 numbers for [H | h] of mu, 12 for L^-1 S [H | h] of a group.
    """
    s0 = x[at]
    s1 = x[at + 1]
    s2 = x[at + 2]
    value = 0.0
    for i in range(12):
        scratch[i] = 0.0
    for g in range(bends.shape[0] + 1):
        if g < bends.shape[0]:
            m00 = 1.0 + s0 * bends[g, 0] * s0
            m10 = s1 * bends[g, 4] * s0
            m11 = 1.0 + s1 * bends[g, 5] * s1
            m20 = s2 * bends[g, 8] * s0
            m21 = s2 * bends[g, 9] * s1
            m22 = 1.0 + s2 * bends[g, 10] * s2
        else:
            m00 = scratch[0] + 1.0 / (scales[0, 0] * scales[0, 0])
            m10 = scratch[4]
            m11 = scratch[5] + 1.0 / (scales[0, 1] * scales[0, 1])
            m20 = scratch[8]
            m21 = scratch[9]
            m22 = scratch[10] + 1.0 / (scales[0, 2] * scales[0, 2])
        l00 = math.sqrt(m00)
        l10 = m10 / l00
        l20 = m20 / l00
        l11 = math.sqrt(m11 - l10 * l10)
        l21 = (m21 - l20 * l10) / l11
        l22 = math.sqrt(m22 - l20 * l20 - l21 * l21)
        value -= math.log(l00 * l11 * l22)
        if g < bends.shape[0]:
            for j in range(4):
                scratch[12 + j] = s0 * bends[g, j] / l00
                scratch[16 + j] = (s1 * bends[g, 4 + j] - l10 * scratch[12 + j]) / l11
                scratch[20 + j] = (
                    s2 * bends[g, 8 + j] - l20 * scratch[12 + j] - l21 * scratch[16 + j]
                ) / l22
            for i in range(3):
                for j in range(4):
                    dot = 0.0
                    for k in range(12, 24, 4):
                        dot += scratch[k + i] * scratch[k + j]
                    scratch[4 * i + j] += bends[g, 4 * i + j] - dot
                value += 0.5 * scratch[15 + 4 * i] * scratch[15 + 4 * i]
        else:
            p0 = scratch[3] / l00
            p1 = (scratch[7] - l10 * p0) / l11
            p2 = (scratch[11] - l20 * p0 - l21 * p1) / l22
            value += 0.5 * (p0 * p0 + p1 * p1 + p2 * p2)
    prior = 1.5 * math.log(2.0 / math.pi)
    fitted = -1.5 * math.log(2.0 * math.pi)
    for j in range(3):
        ratio = x[at + j] / scales[1, j]
        prior -= 0.5 * ratio * ratio + math.log(scales[1, j])
        log_sigma = math.log(x[at + j])
        far = (log_sigma - scales[2, j]) / scales[3, j]
        fitted -= 0.5 * far * far + math.log(scales[3, j]) + log_sigma
    if prior > fitted:
        both = prior + math.log1p(math.exp(fitted - prior))
    else:
        both = fitted + math.log1p(math.exp(prior - fitted))
    return value + prior - both


@_jit
def sweeps(
    x,
    candidates,
    weights,
    walk,
    accept,
    late,
    nodes,
    start,
    offset,
    cap,
    bends,
    scales,
    kept,
    accepted,
    scratch,
):
    """Run the sweeps of one chain, in place, and keep the state after each.

    x (4 G + 7,): the packed state; candidates (round, 4 G + 7), weights (round,): the proposals;
    walk (round, 3 G + 3), accept (round, 1 + G), late (sweep, 10), that is shift and stretch: the
    noise; nodes (4, node): up, down, positive, total, with start (G + 1,); bends (G, 12): [H | h]
    row by row; scales (5, 3): of mu and sigma, centre and width of the proposal of sigma, step of
    log sigma; kept (sweep, 4 G + 7); accepted (1 + G + 1 + 3,): counts of moves 1, 2, 4 and 5,
    added to; scratch, at least 24 or G numbers.
    """
    groups = bends.shape[0]
    m = 3 * groups
    s = m + 3
    h = m + 6
    last = h + groups
    rounds = weights.shape[0] // kept.shape[0]
    for t in range(weights.shape[0]):
        # 1. a whole new state from the surrogate
        weight = x[last]
        for g in range(groups):
            weight += x[h + g]
            for i in range(3):
                bend = 0.0
                for j in range(3):
                    bend += bends[g, 4 * i + j] * x[3 * g + j]
                weight -= x[3 * g + i] * (bends[g, 4 * i + 3] - 0.5 * bend)
        if math.log(accept[t, 0]) < weights[t] - weight:
            accepted[0] += 1.0
            for i in range(last + 1):
                x[i] = candidates[t, i]
        # 2. a random walk of each group
        for g in range(groups):
            i = 3 * g
            height = _segment_loglik(
                x[i] + walk[t, i],
                x[i + 1] + walk[t, i + 1],
                x[i + 2] + walk[t, i + 2],
                nodes,
                offset,
                cap,
                start[g],
                start[g + 1],
            )
            pull = 0.0
            for j in range(3):
                push = walk[t, i + j]
                pull += push * (push + 2.0 * (x[i + j] - x[m + j])) / (x[s + j] * x[s + j])
            if math.log(accept[t, 1 + g]) < height - x[h + g] - 0.5 * pull:
                accepted[1 + g] += 1.0
                x[h + g] = height
                for j in range(3):
                    x[i + j] += walk[t, i + j]
        # 3. mu given phi and sigma
        for j in range(3):
            middle = 0.0
            for g in range(groups):
                middle += x[3 * g + j]
            variance = x[s + j] * x[s + j]
            precision = groups / variance + 1.0 / (scales[0, j] * scales[0, j])
            x[m + j] = middle / variance / precision + walk[t, m + j] / math.sqrt(precision)
        if (t + 1) % rounds == 0:
            sweep = t // rounds
            # 4. a common shift of mu and all phi
            ratio = 0.0
            for g in range(groups):
                i = 3 * g
                scratch[g] = _segment_loglik(
                    x[i] + late[sweep, 0],
                    x[i + 1] + late[sweep, 1],
                    x[i + 2] + late[sweep, 2],
                    nodes,
                    offset,
                    cap,
                    start[g],
                    start[g + 1],
                )
                ratio += scratch[g] - x[h + g]
            for j in range(3):
                push = late[sweep, j]
                ratio -= 0.5 * push * (push + 2.0 * x[m + j]) / (scales[0, j] * scales[0, j])
            if math.log(late[sweep, 9]) < ratio:
                accepted[1 + groups] += 1.0
                for g in range(groups):
                    x[h + g] = scratch[g]
                    for j in range(3):
                        x[3 * g + j] += late[sweep, j]
                for j in range(3):
                    x[m + j] += late[sweep, j]
            # 5. log sigma given phi and mu
            for j in range(3):
                squares = 0.0
                for g in range(groups):
                    far = x[3 * g + j] - x[m + j]
                    squares += far * far
                old = x[s + j]
                push = scales[4, j] * late[sweep, 3 + j]
                new = old * math.exp(push)
                ratio = (1.0 - groups) * push - 0.5 * (
                    squares / (new * new) - squares / (old * old)
                )
                ratio -= 0.5 * (new * new - old * old) / (scales[1, j] * scales[1, j])
                if math.log(late[sweep, 6 + j]) < ratio:
                    accepted[2 + groups + j] += 1.0
                    x[s + j] = new
            x[last] = _level(x, s, bends, scales, scratch)
            for i in range(last + 1):
                kept[sweep, i] = x[i]


@_jit
def cumulants(phi, nodes, start, cap, out):
    """Twin of `imputation.cumulants`: phi (n, 3 G), nodes (4, node), out (n, 6 G)."""
    for n in range(phi.shape[0]):
        for stratum in range(start.shape[0] - 1):
            g = 3 * (stratum // 2)
            a = math.exp(phi[n, g])
            b = math.exp(phi[n, g + 1])
            shift = phi[n, g + 2]
            mean = 0.0
            variance = 0.0
            third = 0.0
            for i in range(start[stratum], start[stratum + 1]):
                odds = shift + a * nodes[0, i] + b * nodes[1, i]
                if odds > cap:
                    odds = cap
                rate = 1.0 / (1.0 + math.exp(-odds))
                noise = nodes[2, i] * rate * (1.0 - rate)
                mean += nodes[2, i] * rate
                variance += noise * nodes[3, i]
                third += noise * nodes[3, i] * nodes[3, i] * (1.0 - 2.0 * rate)
            out[n, 3 * stratum] = mean
            out[n, 3 * stratum + 1] = variance
            out[n, 3 * stratum + 2] = third
