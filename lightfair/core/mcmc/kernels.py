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
def _take(x, new, first, end):
    """Copy new[first:end] to x."""
    for i in range(first, end):
        x[i] = new[i]


@jit
def _fill_loglik(x, heights, nodes, start, owner, columns, cap):
    """Log likelihood of each group, psi at the beginning of x, into x[heights:]."""
    size = columns.shape[1] + 1
    for g in range(owner.shape[0] - 1):
        a = math.exp(x[size * g])
        b = math.exp(x[size * g + 1])
        value = 0.0
        product = 1.0  # of 1 + exp(-|odds|) over single rows: one logarithm for many of them
        for p in range(owner[g], owner[g + 1]):
            constant = _constant(x, size * g, columns, p)
            for i in range(start[p], start[p + 1]):
                odds = min(constant + a * nodes[0, i] + b * nodes[1, i], cap)
                far = abs(odds)
                value += nodes[2, i] * odds - 0.5 * nodes[3, i] * (odds + far)
                factor = 1.0 + math.exp(-far)
                if nodes[3, i] == 1.0:
                    product *= factor
                    if product > 1e300:
                        value -= math.log(product)
                        product = 1.0
                else:
                    value -= nodes[3, i] * math.log(factor)
        x[heights + g] = value - math.log(product)


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
def _common(system, sums):
    """Compiled counterpart of `surrogate._common`; sums[:, : D + 1] is [W | w].

    Returns the value of the system.
    """
    size = sums.shape[0]
    groups = system.shape[0] - 1
    for i in range(size):
        for j in range(i + 1):
            system[groups, i, j] = sums[i, size + 2] * sums[i, j] * sums[j, size + 2]
        system[groups, i, i] += 1.0
    value = -_cholesky(system, groups, size)
    for i in range(size):
        dot = sums[i, size + 2] * sums[i, size]
        for k in range(i):
            dot -= system[groups, i, k] * system[groups, k, 2 * size]
        dot = dot / system[groups, i, i]
        system[groups, i, 2 * size] = dot
        value += 0.5 * dot * dot
    return value


@jit
def _mu(system, sums, normal, at, out, first):
    """Compiled counterpart of `surrogate._mu`: mu goes to out[first : first + D]."""
    size = sums.shape[0]
    groups = system.shape[0] - 1
    for i in range(size - 1, -1, -1):
        dot = system[groups, i, 2 * size] + normal[at + i]
        for k in range(i + 1, size):
            dot -= system[groups, k, i] * sums[k, 0]
        sums[i, 0] = dot / system[groups, i, i]
    for i in range(size):
        out[first + i] = sums[i, size + 2] * sums[i, 0]


@jit
def _marginal(x, at, bends, ratios, of, system, sums):
    """Compiled counterpart of `surrogate.marginal` for sigma = x[at : at + S]; returns its value.

    bends (G, D, D + 1): [H | h]; ratios, of (2, D): own and common. Filled in: system (G + 1, D,
    2 D + 1), [L | L^-1 S [H | h]] of the groups, L of mu and its pull in the last column; sums (D,
    D + 3): [W | w], spread and location.
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
                system[g, i, size + j] = spread * bends[g, i, j]
            for j in range(i + 1):
                system[g, i, j] = system[g, i, size + j] * sums[j, size + 1]
            system[g, i, i] += 1.0
        value -= _cholesky(system, g, size)
        for i in range(size):
            for k in range(i):
                over = system[g, i, k]
                for j in range(size, size + wide):
                    system[g, i, j] -= over * system[g, k, j]
            over = 1.0 / system[g, i, i]
            for j in range(size, size + wide):
                system[g, i, j] *= over
            value += 0.5 * system[g, i, 2 * size] * system[g, i, 2 * size]
        for i in range(size):
            for j in range(wide):
                sums[i, j] += bends[g, i, j]
            for k in range(size):
                over = system[g, k, size + i]
                for j in range(wide):
                    sums[i, j] -= over * system[g, k, size + j]
    return value + _common(system, sums)


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
    both = max(prior, fitted) + math.log1p(math.exp(-abs(prior - fitted)))
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
def _own(x, m, g, system, sums, normal, at, out, first):
    """Compiled counterpart of `surrogate.draw_own` for one group.

    mu is x[m : m + D], psi goes to out[first:].
    """
    size = sums.shape[0]
    for i in range(size - 1, -1, -1):
        dot = system[g, i, 2 * size] + normal[at + size * g + i]
        for k in range(size):
            dot -= system[g, i, size + k] * x[m + k]
        for k in range(i + 1, size):
            dot -= system[g, k, i] * sums[k, 1]
        sums[i, 1] = dot / system[g, i, i]
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
    system,
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
        value = _marginal(x, s, bends, ratios, of, system, sums)
        _mu(system, sums, normal[n], count, x, m)
        for g in range(groups):
            _own(x, m, g, system, sums, normal[n], count + size, x, size * g)
        _fill_loglik(x, h, nodes, start, owner, columns, cap)
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
    system,
    sums,
    new,
):
    """Run the sweeps of one chain, in place, and keep the state after each.

    x (state,): packed as psi (G D), mu (D), sigma (S), log likelihoods (G), log
    importance; candidates (round, state), weights (round,): the proposals; joint (round,), late
    (sweep, G D + D + D + S + G D + 2 G + 1 + S), that is walk, translation, scaling, own and
    accept: the noise; nodes (4, node): columns of a and b, positive, total; start, owner, columns:
    `likelihood.Runs`; bends, ratios, of, system, sums as in `_marginal`; scales (4, S): sd, centre,
    width, step of log sigma; kept (sweep, state); accepted (1 + G + 1 + S,): counts of moves 1, 2
    and the first forms of 4 and 5, added to; new (state,): scratch for proposed states.
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
            _take(x, candidates[latest], 0, last + 1)
        _spreads(x, s, ratios, of, sums)
        # 2. a random walk of each group
        for i in range(m):
            new[i] = x[i] + late[t, i]
        _fill_loglik(new, h, nodes, start, owner, columns, cap)
        for g in range(groups):
            pull = 0.0
            for j in range(size):
                push = late[t, size * g + j]
                spread = sums[j, size + 1]
                pull += push * (push + 2.0 * (x[size * g + j] - x[m + j])) / (spread * spread)
            if new[h + g] - x[h + g] - 0.5 * pull + late[t, accept + g] > 0.0:
                accepted[1 + g] += 1.0
                _take(x, new, size * g, size * g + size)
                x[h + g] = new[h + g]
        # 3. mu given psi and sigma
        for j in range(size):
            middle = 0.0
            for g in range(groups):
                middle += x[size * g + j]
            variance = sums[j, size + 1] * sums[j, size + 1]
            precision = groups / variance + 1.0 / (sums[j, size + 2] * sums[j, size + 2])
            x[m + j] = middle / variance / precision + late[t, m + j] / math.sqrt(precision)
        # 4. translation of mu and all psi: a walk, or in every other sweep from the surrogate
        ratio = late[t, accept + groups]
        if t % 2 == 0:
            for j in range(size):
                push = late[t, translation + j]
                sums[j, 0] = push
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
            _common(system, sums)
            _mu(system, sums, late[t], translation, new, m)
            for j in range(size):
                sums[j, 0] = new[m + j] - x[m + j]
        for j in range(size):
            for g in range(groups + 1):  # mu follows psi
                new[size * g + j] = x[size * g + j] + sums[j, 0]
        _fill_loglik(new, h, nodes, start, owner, columns, cap)
        for g in range(groups):
            ratio += new[h + g] - x[h + g]
            if t % 2 == 1:
                ratio -= _quadratic(new, size * g, bends, g) - _quadratic(x, size * g, bends, g)
        if ratio > 0.0:
            accepted[1 + groups] += 1.0 - t % 2
            _take(x, new, 0, s)
            _take(x, new, h, last)
        # 5. log sigma: one by one given psi and mu, or in every other sweep all, and psi and mu too
        if t % 2 == 1:
            ratio = late[t, accept + groups + 1]
            for j in range(size):
                sums[j, 0] = 1.0
                sums[j, 1] = 1.0
            for k in range(count):
                push = WALK / math.sqrt(count) * scales[2, k] * late[t, scaling + k]
                longer = math.exp(push)
                new[s + k] = x[s + k] * longer
                far = x[s + k] / scales[0, k]
                ratio += push - 0.5 * far * far * (longer * longer - 1.0)
                for j in range(size):
                    if of[0, j] == k:
                        sums[j, 0] = longer
                    if of[1, j] == k:
                        sums[j, 1] = longer
            for j in range(size):
                new[m + j] = x[m + j] * sums[j, 1]
                for g in range(groups):
                    new[size * g + j] = new[m + j] + (x[size * g + j] - x[m + j]) * sums[j, 0]
            _fill_loglik(new, h, nodes, start, owner, columns, cap)
            for g in range(groups):
                ratio += new[h + g] - x[h + g]
            if ratio > 0.0:
                _take(x, new, 0, last)
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
                changed = old * math.exp(push)
                ratio = (1.0 - normals) * push
                ratio -= 0.5 * (squares / (changed * changed) - squares / (old * old))
                ratio -= 0.5 * (changed * changed - old * old) / (scales[0, k] * scales[0, k])
                if ratio + late[t, accept + groups + 1 + k] > 0.0:
                    accepted[2 + groups + k] += 1.0
                    x[s + k] = changed
        value = _marginal(x, s, bends, ratios, of, system, sums)
        x[last] = _log_importance(x, s, value, scales)
        # 6. independence proposal of each group, given mu and sigma
        for g in range(groups):
            _own(x, m, g, system, sums, late[t], own, new, size * g)
        _fill_loglik(new, h, nodes, start, owner, columns, cap)
        for g in range(groups):
            ratio = new[h + g] - _quadratic(new, size * g, bends, g)
            ratio -= x[h + g] - _quadratic(x, size * g, bends, g)
            if ratio + late[t, accept + groups + 1 + count + g] > 0.0:
                _take(x, new, size * g, size * g + size)
                x[h + g] = new[h + g]
        _take(kept[t], x, 0, last + 1)


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
                    odds = min(constant + a * nodes[0, i] + b * nodes[1, i], cap)
                    rate = 1.0 / (1.0 + math.exp(-odds))
                    noise = nodes[2, i] * rate * (1.0 - rate)
                    mean += nodes[2, i] * rate
                    variance += noise * nodes[3, i]
                    third += noise * nodes[3, i] * nodes[3, i] * (1.0 - 2.0 * rate)
            out[n, 3 * stratum] = mean
            out[n, 3 * stratum + 1] = variance
            out[n, 3 * stratum + 2] = third
