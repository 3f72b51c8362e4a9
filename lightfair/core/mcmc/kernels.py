"""Compiled counterparts of the proposals and of the sums over nodes, without allocation.

Importing this module imports numba, so it is imported only for large fits. Every kernel takes its
noise as an argument and gives the same numbers as its NumPy form up to rounding. Few arguments,
arrays of low dimension and no tuples or NumPy functions make compilation three times faster. All
kernels are in this module, so that a stale cache cannot mix versions.
"""

from __future__ import annotations

import math

from .jit import jit
from .surrogate import FARTHEST, PASSES


@jit
def _constant(psi, at, columns, p):
    """Log odds of psi[at : at + 3 + J] in run p without a and b."""
    value = columns[p, 1]
    value += columns[p, 0] * psi[at + 2]
    for j in range(2, columns.shape[1]):
        value += columns[p, j] * psi[at + 1 + j]
    return value


@jit
def _loglik(psi, g, nodes, start, owner, columns, cap):
    """Log likelihood of group g at psi (G, D)."""
    a = math.exp(psi[g, 0])
    b = math.exp(psi[g, 1])
    value = 0.0
    product = 1.0  # of 1 + exp(-|odds|) over single rows: one logarithm for many of them
    for p in range(owner[g], owner[g + 1]):
        constant = _constant(psi[g], 0, columns, p)
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
    return value - math.log(product)


@jit
def _eliminate(system, size, columns):
    """Factor [A | B] in place, A = L L', to [L' | L^-1 B]; return log det L, as `linalg.eliminate`.

    Only the upper half of A is read.
    """
    value = 1.0
    exponent = 0
    for k in range(size):
        value *= system[k, k]
        if value > 1e200:
            value *= 1e-200
            exponent += 200
        scale = 1.0 / math.sqrt(system[k, k])
        for j in range(k, columns):
            system[k, j] *= scale
        for i in range(k + 1, size):
            over = system[k, i]
            if over != 0.0:  # effects of levels of one attribute do not meet
                for j in range(i, columns):
                    system[i, j] -= over * system[k, j]
    return 0.5 * (math.log(value) + exponent * math.log(10.0))


@jit
def _back_solve(system, x, size):
    """Solve L' x = x in place."""
    for i in range(size - 1, -1, -1):
        dot = x[i]
        for j in range(i + 1, size):
            dot -= system[i, j] * x[j]
        x[i] = dot / system[i, i]


@jit
def _own(systems, g, spread, middle, x):
    """Solve for the psi of group g, given its middle (D,), from the noise in x, in place."""
    size = spread.shape[0]
    for i in range(size):
        x[i] += systems[g, i, 2 * size]
        for j in range(size):
            x[i] -= systems[g, i, size + j] * middle[j]
    _back_solve(systems[g], x, size)
    for i in range(size):
        x[i] = middle[i] + spread[i] * x[i]


@jit
def _middle(eta, rows, g, out):
    """Mean of psi of group g given eta (P D,)."""
    size = out.shape[0]
    for i in range(size):
        out[i] = 0.0
        for r in range(rows.shape[1]):
            out[i] += eta[rows[g, r] * size + i]


@jit
def weigh(
    sigma,
    place,
    normal,
    fresh,
    psi,
    eta,
    value,
    heights,
    excess,
    curvature,
    linear,
    nodes,
    start,
    owner,
    columns,
    cap,
    own,
    own_of,
    ratio,
    of,
    rows,
    systems,
    weight,
    top,
    scratch,
):
    """Integrate the surrogate at sigma (n, S) and place (n, 2), and draw from it.

    normal (n, P D + G D): noise of eta and psi; fresh: whether psi (n, G, D) and eta (n, P D) and
    the log likelihoods heights (n, G) are drawn, or those of a state. Filled in are value (n,), log
    marginal likelihood of hyper, and excess (n, G) of the log likelihood. curvature (G, D, D),
    linear (G, D); nodes, start, owner, columns: `likelihood.Runs`; own, own_of (D,), ratio, of (P
    D,): the prior; rows (G, K + 1): rows of eta of each group. Scratch: systems (G, D, 2 D + 1),
    weight (D, D + 1), top (P D, P D + 1), scratch (4 + 3 G, P D).
    """
    groups, size = linear.shape
    wide = top.shape[0]
    spread, sds, mode, middle = scratch[0], scratch[1], scratch[2], scratch[3]
    for n in range(sigma.shape[0]):
        for i in range(size):
            spread[i] = own[i] * sigma[n, own_of[i]] if own_of[i] >= 0 else own[i]
        for i in range(wide):
            sds[i] = ratio[i] * sigma[n, of[i]] if of[i] >= 0 else ratio[i]
        sds[wide - size] = 0.0
        sds[wide - size + 1] = 0.0
        for g in range(groups):
            scratch[4 + g, 0] = 0.0
            scratch[4 + g, 1] = 0.0
        for step in range(PASSES):
            total = 0.0
            for i in range(wide):
                for j in range(wide + 1):
                    top[i, j] = 0.0
            for g in range(groups):
                system = systems[g]
                factor = scratch[4 + groups + g]
                shift = scratch[4 + 2 * groups + g]
                for i in range(size):
                    factor[i] = 1.0
                    shift[i] = 0.0
                for i in range(2):
                    factor[i] = math.exp(place[n, i] + scratch[4 + g, i])
                    shift[i] = factor[i] * (1.0 - scratch[4 + g, i])
                for i in range(size):
                    bent = 0.0
                    for j in range(2):
                        bent += curvature[g, i, j] * shift[j]
                    total += shift[i] * (linear[g, i] - 0.5 * bent)
                    for j in range(size):
                        system[i, size + j] = curvature[g, i, j] * factor[i] * factor[j]
                    system[i, 2 * size] = (linear[g, i] - bent) * factor[i]
                for i in range(size):
                    for j in range(size + 1):
                        weight[i, j] = system[i, size + j]
                for i in range(size):
                    for j in range(size, 2 * size + 1):
                        system[i, j] *= spread[i]
                    for j in range(i, size):
                        system[i, j] = system[i, size + j] * spread[j]
                    system[i, i] += 1.0
                total -= _eliminate(system, size, 2 * size + 1)
                for i in range(size):
                    total += 0.5 * system[i, 2 * size] * system[i, 2 * size]
                for k in range(size):
                    for i in range(size):
                        over = system[k, size + i]
                        for j in range(size + 1):
                            weight[i, j] -= over * system[k, size + j]
                for r in range(rows.shape[1]):
                    at = rows[g, r] * size
                    for i in range(size):
                        top[at + i, wide] += weight[i, size]
                        for q in range(r, rows.shape[1]):
                            for j in range(size):
                                top[at + i, rows[g, q] * size + j] += weight[i, j]
            for i in range(wide):
                for j in range(i, wide):
                    top[i, j] *= sds[i] * sds[j]
                top[i, i] += 1.0
                top[i, wide] *= sds[i]
            total -= _eliminate(top, wide, wide + 1)
            for i in range(wide):
                total += 0.5 * top[i, wide] * top[i, wide]
            if step < PASSES - 1:
                for i in range(wide):
                    mode[i] = top[i, wide]
                _back_solve(top, mode, wide)
                for i in range(wide):
                    mode[i] *= sds[i]
                for g in range(groups):
                    _middle(mode, rows, g, middle[:size])
                    x = scratch[4 + g, :size]
                    for i in range(size):
                        x[i] = 0.0
                    _own(systems, g, spread[:size], middle, x)
                    for i in range(2):
                        x[i] = math.log(1.0 + max(x[i], 0.0)) + min(max(x[i], -FARTHEST), 0.0)
        value[n] = total
        if fresh:
            for i in range(wide):
                mode[i] = top[i, wide] + normal[n, i]
            _back_solve(top, mode, wide)
            for i in range(wide):
                mode[i] *= sds[i]
                eta[n, i] = mode[i]
            for g in range(groups):
                _middle(mode, rows, g, middle[:size])
                x = psi[n, g]
                for i in range(size):
                    x[i] = normal[n, wide + size * g + i]
                _own(systems, g, spread[:size], middle, x)
            for i in range(2):
                eta[n, wide - size + i] = place[n, i]
                for g in range(groups):
                    psi[n, g, i] += place[n, i]
            for g in range(groups):
                heights[n, g] = _loglik(psi[n], g, nodes, start, owner, columns, cap)
        for g in range(groups):
            theta = middle
            for i in range(size):
                theta[i] = psi[n, g, i]
            for i in range(2):
                shift = scratch[4 + 2 * groups + g, i]
                theta[i] = shift + scratch[4 + groups + g, i] * (psi[n, g, i] - place[n, i])
            excess[n, g] = heights[n, g]
            for i in range(size):
                bent = 0.0
                for j in range(size):
                    bent += curvature[g, i, j] * theta[j]
                excess[n, g] -= theta[i] * (linear[g, i] - 0.5 * bent)


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
