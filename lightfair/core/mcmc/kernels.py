"""Compiled counterparts of the NumPy sweep and of the sums over nodes, without allocation.

Importing this module imports numba, so it is imported only for large fits. Every kernel takes its
noise as an argument and makes the same moves in the same order as its NumPy form: both give the
same draws up to rounding. Few arguments, arrays of low dimension and no tuples or NumPy functions
make compilation three times faster. All kernels are in this module, so that a stale cache cannot
mix versions.
"""

from __future__ import annotations

import math

from .jit import jit
from .moves import WALK


@jit
def _constant(psi, at, columns, p):
    """Log odds of psi[at : at + 3 + J] in run p without a and b."""
    value = columns[p, 1]
    value += columns[p, 0] * psi[at + 2]
    for j in range(2, columns.shape[1]):
        value += columns[p, j] * psi[at + 1 + j]
    return value


@jit
def _group_loglik(psi, at, nodes, start, columns, first, last, cap):
    """Log likelihood of one group, psi[at : at + 3 + J]; its runs are first .. last - 1."""
    a = math.exp(psi[at])
    b = math.exp(psi[at + 1])
    value = 0.0
    product = 1.0  # of 1 + exp(-|odds|) over single rows: one logarithm for many of them
    for p in range(first, last):
        constant = _constant(psi, at, columns, p)
        for i in range(start[p], start[p + 1]):
            odds = constant + a * nodes[0, i] + b * nodes[1, i]
            if odds > cap:
                odds = cap
            far = odds if odds > 0.0 else -odds
            value += nodes[2, i] * odds - 0.5 * nodes[3, i] * (odds + far)
            factor = 1.0 + math.exp(-far)
            if nodes[3, i] == 1.0:
                product *= factor
                if product > 1e300:
                    value -= math.log(product)
                    product = 1.0
            else:
                value -= nodes[3, i] * math.log(factor)
    return value - math.log(product)


@jit
def _cholesky(matrix, row, size):
    """Factor the size x size matrix in matrix[row] in place, lower half; return log of its det."""
    value = 0.0
    for i in range(size):
        for j in range(i + 1):
            dot = matrix[row, i, j]
            for k in range(j):
                dot -= matrix[row, i, k] * matrix[row, j, k]
            if i == j:
                dot = math.sqrt(dot)
                value += math.log(dot)
                matrix[row, i, i] = dot
            else:
                matrix[row, i, j] = dot / matrix[row, j, j]
    return value


@jit
def _spreads(x, at, ratios, of, sums):
    """Spread and location at sigma = x[at : at + S], into the last two columns of sums."""
    size = ratios.shape[1]
    for i in range(size):
        sums[i, size + 1] = ratios[0, i] * x[at + of[0, i]] if of[0, i] >= 0 else ratios[0, i]
        sums[i, size + 2] = ratios[1, i] * x[at + of[1, i]] if of[1, i] >= 0 else ratios[1, i]


@jit
def _common(factor, half, sums):
    """Compiled counterpart of `surrogate._common`; sums[:, : D + 1] is [W | w].

    Returns the value of the system.
    """
    size = sums.shape[0]
    groups = factor.shape[0] - 1
    for i in range(size):
        for j in range(i + 1):
            factor[groups, i, j] = sums[i, size + 2] * sums[i, j] * sums[j, size + 2]
        factor[groups, i, i] += 1.0
    value = -_cholesky(factor, groups, size)
    for i in range(size):
        dot = sums[i, size + 2] * sums[i, size]
        for k in range(i):
            dot -= factor[groups, i, k] * half[groups, k, size]
        dot = dot / factor[groups, i, i]
        half[groups, i, size] = dot
        value += 0.5 * dot * dot
    return value


@jit
def _mu(factor, half, sums, normal, at, out, first):
    """Compiled counterpart of `surrogate._mu`: mu goes to out[first : first + D]."""
    size = sums.shape[0]
    groups = factor.shape[0] - 1
    for i in range(size - 1, -1, -1):
        dot = half[groups, i, size] + normal[at + i]
        for k in range(i + 1, size):
            dot -= factor[groups, k, i] * sums[k, 0]
        sums[i, 0] = dot / factor[groups, i, i]
    for i in range(size):
        out[first + i] = sums[i, size + 2] * sums[i, 0]


@jit
def _marginal(x, at, bends, ratios, of, factor, half, sums):
    """Compiled counterpart of `surrogate.marginal` for sigma = x[at : at + S]; returns its value.

    bends (G, D, D + 1): [H | h]; ratios, of (2, D): own and common. Filled in: factor (G + 1, D,
    D), the factors of the groups and of mu; half (G + 1, D, D + 1), those of the groups, and the
    pull of mu in the last column; sums (D, D + 3): [W | w], spread and location.
    """
    size = ratios.shape[1]
    wide = size + 1
    groups = bends.shape[0]
    _spreads(x, at, ratios, of, sums)
    for i in range(size):
        for j in range(wide):
            sums[i, j] = 0.0
    value = 0.0
    for g in range(groups):
        for i in range(size):
            spread = sums[i, size + 1]
            for j in range(wide):
                half[g, i, j] = spread * bends[g, i, j]
            for j in range(i + 1):
                factor[g, i, j] = half[g, i, j] * sums[j, size + 1]
            factor[g, i, i] += 1.0
        value -= _cholesky(factor, g, size)
        for i in range(size):
            for k in range(i):
                over = factor[g, i, k]
                for j in range(wide):
                    half[g, i, j] -= over * half[g, k, j]
            over = 1.0 / factor[g, i, i]
            for j in range(wide):
                half[g, i, j] *= over
            value += 0.5 * half[g, i, size] * half[g, i, size]
        for i in range(size):
            for j in range(wide):
                sums[i, j] += bends[g, i, j]
            for k in range(size):
                over = half[g, k, i]
                for j in range(wide):
                    sums[i, j] -= over * half[g, k, j]
    return value + _common(factor, half, sums)


@jit
def _log_importance(x, at, value, scales):
    """Compiled counterpart of `surrogate.log_importance` for sigma = x[at : at + S].

    value: its log marginal likelihood; scales (4, S): sd, centre, width, step.
    """
    size = scales.shape[1]
    prior = 0.5 * size * math.log(2.0 / math.pi)
    fitted = -0.5 * size * math.log(2.0 * math.pi)
    for j in range(size):
        ratio = x[at + j] / scales[0, j]
        prior -= 0.5 * ratio * ratio + math.log(scales[0, j])
        log_sigma = math.log(x[at + j])
        far = (log_sigma - scales[1, j]) / scales[2, j]
        fitted -= 0.5 * far * far + math.log(scales[2, j]) + log_sigma
    if prior > fitted:
        both = prior + math.log1p(math.exp(fitted - prior))
    else:
        both = fitted + math.log1p(math.exp(prior - fitted))
    return value + prior - both


@jit
def _quadratic(psi, at, bends, g):
    """Compiled counterpart of `surrogate.quadratic` for group g, psi[at : at + D]."""
    side = bends.shape[1]
    value = 0.0
    for i in range(side):
        bend = 0.0
        for j in range(side):
            bend += bends[g, i, j] * psi[at + j]
        value += psi[at + i] * (bends[g, i, side] - 0.5 * bend)
    return value


@jit
def _surplus(x, bends, heights):
    """Log likelihood less its quadratic, over all groups; psi begins x, heights at x[heights]."""
    value = 0.0
    for g in range(bends.shape[0]):
        value += x[heights + g] - _quadratic(x, bends.shape[1] * g, bends, g)
    return value


@jit
def _own(x, m, g, factor, half, sums, normal, at, out, first):
    """Compiled counterpart of `surrogate.draw_own` for one group.

    mu is x[m : m + D], psi goes to out[first:].
    """
    size = sums.shape[0]
    for i in range(size - 1, -1, -1):
        dot = half[g, i, size] + normal[at + size * g + i]
        for k in range(size):
            dot -= half[g, i, k] * x[m + k]
        for k in range(i + 1, size):
            dot -= factor[g, k, i] * sums[k, 1]
        sums[i, 1] = dot / factor[g, i, i]
    for i in range(size):
        out[first + i] = x[m + i] + sums[i, size + 1] * sums[i, 1]


@jit
def proposals(
    packed,
    weight,
    normal,
    nodes,
    start,
    owner,
    columns,
    cap,
    bends,
    ratios,
    of,
    scales,
    factor,
    half,
    sums,
):
    """Compiled counterpart of `moves.propose` for one data set.

    packed (n, state): sigma is in place, the rest is filled in, and weight (n,) too; normal (n, S +
    D + G D): noise of sigma, mu and psi; the rest as in `sweeps`.
    """
    size = ratios.shape[1]
    groups = bends.shape[0]
    count = scales.shape[1]
    m = size * groups
    s = m + size
    h = s + count
    last = h + groups
    for n in range(packed.shape[0]):
        x = packed[n]
        value = _marginal(x, s, bends, ratios, of, factor, half, sums)
        _mu(factor, half, sums, normal[n], count, x, m)
        for g in range(groups):
            _own(x, m, g, factor, half, sums, normal[n], count + size, x, size * g)
            x[h + g] = _group_loglik(
                x, size * g, nodes, start, columns, owner[g], owner[g + 1], cap
            )
        x[last] = _log_importance(x, s, value, scales)
        weight[n] = _surplus(x, bends, h) + x[last]


@jit
def sweeps(
    x,
    candidates,
    weights,
    joint,
    late,
    nodes,
    start,
    owner,
    columns,
    cap,
    bends,
    ratios,
    of,
    scales,
    kept,
    accepted,
    factor,
    half,
    sums,
    spare,
):
    """Run the sweeps of one chain, in place, and keep the state after each.

    x (state,): packed as psi (G D), mu (D), sigma (S), log likelihoods (G), log
    importance; candidates (round, state), weights (round,): the proposals; joint (round,), late
    (sweep, G D + D + D + S + G D + 2 G + 1 + S), that is walk, translation, scaling, own and
    accept: the noise; nodes (4, node): columns of a and b, positive, total; start, owner, columns:
    `likelihood.Runs`; bends, ratios, of, factor, half, sums as in `_marginal`; scales (4, S): sd,
    centre, width, step of log sigma; kept (sweep, state); accepted (1 + G + 1 + S,): counts of
    moves 1, 2 and the first forms of 4 and 5, added to; spare (3, max(D, G, S)): scratch.
    """
    size = ratios.shape[1]
    groups = bends.shape[0]
    count = scales.shape[1]
    m = size * groups
    s = m + size
    h = s + count
    last = h + groups
    rounds = weights.shape[0] // kept.shape[0]
    translation = m + size  # in late: after walk (G D) and the normals of mu (D)
    scaling = translation + size
    own = scaling + count
    accept = own + size * groups
    trial = spare[0]
    for t in range(kept.shape[0]):
        # 1. whole new states from the surrogate
        weight = _surplus(x, bends, h) + x[last]
        latest = -1
        for r in range(rounds * t, rounds * (t + 1)):
            if weights[r] - weight + joint[r] > 0.0:
                accepted[0] += 1.0
                weight = weights[r]
                latest = r
        if latest >= 0:
            for i in range(last + 1):
                x[i] = candidates[latest, i]
        _spreads(x, s, ratios, of, sums)
        # 2. a random walk of each group
        for g in range(groups):
            at = size * g
            pull = 0.0
            for j in range(size):
                push = late[t, at + j]
                trial[j] = x[at + j] + push
                spread = sums[j, size + 1]
                pull += push * (push + 2.0 * (x[at + j] - x[m + j])) / (spread * spread)
            height = _group_loglik(trial, 0, nodes, start, columns, owner[g], owner[g + 1], cap)
            if height - x[h + g] - 0.5 * pull + late[t, accept + g] > 0.0:
                accepted[1 + g] += 1.0
                x[h + g] = height
                for j in range(size):
                    x[at + j] = trial[j]
        # 3. mu given psi and sigma
        for j in range(size):
            middle = 0.0
            for g in range(groups):
                middle += x[size * g + j]
            variance = sums[j, size + 1] * sums[j, size + 1]
            precision = groups / variance + 1.0 / (sums[j, size + 2] * sums[j, size + 2])
            x[m + j] = middle / variance / precision + late[t, m + j] / math.sqrt(precision)
        # 4. translation of mu and all psi: a walk, or in every other sweep from the surrogate
        ratio = 0.0
        if t % 2 == 0:
            for j in range(size):
                push = late[t, translation + j]
                spare[2, j] = push
                location = sums[j, size + 2]
                ratio -= 0.5 * push * (push + 2.0 * x[m + j]) / (location * location)
        else:
            for i in range(size):
                for j in range(size + 1):
                    sums[i, j] = 0.0
            for g in range(groups):
                for i in range(size):
                    sums[i, size] += bends[g, i, size]
                    for j in range(size):
                        sums[i, j] += bends[g, i, j]
                        sums[i, size] -= bends[g, i, j] * (x[size * g + j] - x[m + j])
            _common(factor, half, sums)
            _mu(factor, half, sums, late[t], translation, spare[2], 0)
            for j in range(size):
                spare[2, j] -= x[m + j]
        for g in range(groups):
            for j in range(size):
                trial[j] = x[size * g + j] + spare[2, j]
            height = _group_loglik(trial, 0, nodes, start, columns, owner[g], owner[g + 1], cap)
            spare[1, g] = height
            ratio += height - x[h + g]
            if t % 2 == 1:
                ratio -= _quadratic(trial, 0, bends, g) - _quadratic(x, size * g, bends, g)
        if ratio + late[t, accept + groups] > 0.0:
            accepted[1 + groups] += 1.0 - t % 2
            for g in range(groups):
                x[h + g] = spare[1, g]
                for j in range(size):
                    x[size * g + j] += spare[2, j]
            for j in range(size):
                x[m + j] += spare[2, j]
        # 5. log sigma: one by one given psi and mu, or in every other sweep all, and psi and mu too
        if t % 2 == 1:
            ratio = late[t, accept + groups + 1]
            for k in range(count):
                push = WALK / math.sqrt(count) * scales[2, k] * late[t, scaling + k]
                longer = math.exp(push)
                spare[2, k] = longer
                far = x[s + k] / scales[0, k]
                ratio += push - 0.5 * far * far * (longer * longer - 1.0)
            for g in range(groups):
                for j in range(size):
                    wider = spare[2, of[0, j]] if of[0, j] >= 0 else 1.0
                    trial[j] = (x[size * g + j] - x[m + j]) * wider
                    trial[j] += x[m + j] * (spare[2, of[1, j]] if of[1, j] >= 0 else 1.0)
                height = _group_loglik(trial, 0, nodes, start, columns, owner[g], owner[g + 1], cap)
                spare[1, g] = height
                ratio += height - x[h + g]
            if ratio > 0.0:
                for j in range(size):
                    wider = spare[2, of[0, j]] if of[0, j] >= 0 else 1.0
                    middle = x[m + j]
                    x[m + j] = middle * (spare[2, of[1, j]] if of[1, j] >= 0 else 1.0)
                    for g in range(groups):
                        x[size * g + j] = x[m + j] + (x[size * g + j] - middle) * wider
                for g in range(groups):
                    x[h + g] = spare[1, g]
                for k in range(count):
                    x[s + k] *= spare[2, k]
        else:
            for k in range(count):
                squares = 0.0
                normals = 0.0
                for j in range(size):
                    if of[0, j] == k:
                        normals += groups
                        for g in range(groups):
                            far = (x[size * g + j] - x[m + j]) / ratios[0, j]
                            squares += far * far
                    if of[1, j] == k:
                        normals += 1.0
                        far = x[m + j] / ratios[1, j]
                        squares += far * far
                old = x[s + k]
                push = scales[3, k] * late[t, scaling + k]
                new = old * math.exp(push)
                ratio = (1.0 - normals) * push
                ratio -= 0.5 * (squares / (new * new) - squares / (old * old))
                ratio -= 0.5 * (new * new - old * old) / (scales[0, k] * scales[0, k])
                if ratio + late[t, accept + groups + 1 + k] > 0.0:
                    accepted[2 + groups + k] += 1.0
                    x[s + k] = new
        value = _marginal(x, s, bends, ratios, of, factor, half, sums)
        x[last] = _log_importance(x, s, value, scales)
        # 6. independence proposal of each group, given mu and sigma
        for g in range(groups):
            at = size * g
            _own(x, m, g, factor, half, sums, late[t], own, trial, 0)
            height = _group_loglik(trial, 0, nodes, start, columns, owner[g], owner[g + 1], cap)
            ratio = height - _quadratic(trial, 0, bends, g)
            ratio -= x[h + g] - _quadratic(x, at, bends, g)
            if ratio + late[t, accept + groups + 1 + count + g] > 0.0:
                x[h + g] = height
                for j in range(size):
                    x[at + j] = trial[j]
        for i in range(last + 1):
            kept[t, i] = x[i]


@jit
def cumulants(psi, nodes, start, strata, columns, cap, out):
    """Compiled counterpart of `imputation.cumulants`: psi (n, G D), nodes (4, node), out (n, 6 G).

    start (piece + 1,) and columns (piece, 2 + J): runs of one stratum and region; strata (2 G +
    1,): first piece of each stratum.
    """
    size = columns.shape[1] + 1
    for n in range(psi.shape[0]):
        for stratum in range(strata.shape[0] - 1):
            g = size * (stratum // 2)
            a = math.exp(psi[n, g])
            b = math.exp(psi[n, g + 1])
            mean = 0.0
            variance = 0.0
            third = 0.0
            for p in range(strata[stratum], strata[stratum + 1]):
                constant = _constant(psi[n], g, columns, p)
                for i in range(start[p], start[p + 1]):
                    odds = constant + a * nodes[0, i] + b * nodes[1, i]
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
