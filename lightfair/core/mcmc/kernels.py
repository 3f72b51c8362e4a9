"""Compiled counterparts of the proposals and of the sums over nodes, without allocation.

Importing this module imports numba, so it is imported only for large fits. Every kernel takes its
noise as an argument and gives the same numbers as its NumPy form up to rounding. Few arguments,
arrays of low dimension and no tuples or NumPy functions make compilation three times faster. All
kernels are in this module, so that a stale cache cannot mix versions.
"""

from __future__ import annotations

import math

from .jit import jit
from .surrogate import FARTHEST, LARGEST, LEAST_SKEW, PASSES, WIDEST


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
        constant = _constant(psi[g], 0 * g, columns, p)  # no literal: compiled once
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
def _pull(system, middle, size, out):
    """Compiled counterpart of `surrogate._conditional`: the pull on xi, given the middle."""
    for k in range(size):
        out[k] = system[k, 2 * size]
        for j in range(size):
            out[k] -= system[k, size + j] * middle[j]


@jit
def _true(xi, i, local):
    """Compiled counterpart of `surrogate._true`.

    local (5, D): place, shift and factor, as of `surrogate.Local`, middle and spread of a group.
    """
    return math.exp(min(local[0, i] + local[3, i] + local[4, i] * xi, LARGEST))


@jit
def _bent(true, i, local):
    """Compiled counterpart of `surrogate._bent` for log a (0) and log b (1)."""
    return ((true - local[1, i]) / local[2, i] - local[3, i]) / local[4, i]


@jit
def _step(far):
    """Compiled counterpart of `surrogate._step`."""
    return math.log1p(max(far, 0.0)) + min(max(far, -FARTHEST), 0.0)


@jit
def _skewed(i, pull, own, local, fit):
    """Compiled counterpart of `surrogate._skewed`: mode, root and skew into fit."""
    data = own * own - 1.0
    spread = local[4, i]
    xi = pull / own
    for _ in range(PASSES):
        true = _true(xi, i, local)
        scale = true / local[2, i]
        slope = scale * (own * pull - data * _bent(true, i, local)) - xi
        xi += _step(spread * slope / (1.0 + data * scale * scale)) / spread
    scale = _true(xi, i, local) / local[2, i]
    steep = data * scale * scale
    root = math.sqrt(max(1.0 + steep - spread * xi, 0.5 * (1.0 + steep)))
    skew = (2.0 * spread * steep - 2.0 / 3.0 * spread * spread * xi) / root**3
    fit[0] = xi
    fit[1] = root
    fit[2] = min(max(skew, LEAST_SKEW), 1.0)


@jit
def _draw(system, bend, local, x, noise, bent, fit, out):
    """Solve for psi - place of a group into out, given the pull on xi in x.

    bend: whether with noise, and log b and the others given the true a and b.
    """
    size = out.shape[0]
    for k in range(size - 1, -1, -1):
        i = size - 1 - k
        dot = x[k]
        for j in range(k + 1, size):
            dot -= system[k, j] * bent[j]
        if bend and i < 2:
            _skewed(i, dot, system[k, k], local, fit)
            far = math.asinh(fit[2] * min(noise[k], 0.0) + 1.0) - math.asinh(1.0)
            dot = fit[0] + (max(noise[k], 0.0) + math.sqrt(2.0) * far / fit[2]) / fit[1]
            bent[k] = _bent(_true(dot, i, local), i, local)
        else:
            dot = (dot + (noise[k] if bend else 0.0)) / system[k, k]
            bent[k] = dot
        out[i] = local[3, i] + local[4, i] * dot


@jit
def _middle(eta, rows, g, out):
    """Mean of psi of group g given eta (P D,)."""
    size = out.shape[0]
    for i in range(size):
        out[i] = 0.0
        for r in range(rows.shape[1]):
            out[i] += eta[rows[g, r] * size + i]


@jit
def _spread(sigma, apart, own, own_of, wide, out):
    """Compiled counterpart of `Scales.spread` for one group: 1 or 0, apart or not."""
    for i in range(out.shape[0]):
        out[i] = own[i] * sigma[own_of[i]] if own_of[i] >= 0 else own[i]
        if apart > 0.0:
            out[i] = wide[i]


@jit
def weigh(
    sigma,
    place,
    apart,
    normal,
    fresh,
    psi,
    eta,
    value,
    heights,
    excess,
    curvature,
    linear,
    level,
    nodes,
    start,
    owner,
    columns,
    cap,
    own,
    own_of,
    wide,
    ratio,
    of,
    rows,
    systems,
    weight,
    top,
    at,
    scratch,
):
    """Integrate the surrogate at sigma (n, S), place (n, G, 2) and apart (n, G), and draw from it.

    normal (n, P D + G D): noise of eta and psi; fresh: whether psi (n, G, D) and eta (n, P D) and
    the log likelihoods heights (n, G) are drawn, or those of a state. Filled in are value (n,), log
    marginal likelihood of hyper, and excess (n, G) of the log likelihood. curvature (G, D, D),
    linear (G, D), level (G, 2): the surrogate; nodes, start, owner, columns: `likelihood.Runs`;
    own, own_of, wide (D,), ratio, of (P D,): the prior; rows (G, K + 1): rows of eta of each group.
    Scratch: systems (G, D, 2 D + 1), weight (D, D + 1), top (P D, P D + 2), at (G, 5, D), see
    `_true`, and scratch (5, P D).
    """
    groups, size = linear.shape
    count = top.shape[0]
    far, x, y = scratch[0, :size], scratch[1, :size], scratch[2, :size]
    mode, fit, sds = scratch[3], scratch[4], top[:, count + 1]
    for n in range(sigma.shape[0]):
        for i in range(count):
            sds[i] = ratio[i] * sigma[n, of[i]] if of[i] >= 0 else ratio[i]
        sds[count - size] = 0.0
        sds[count - size + 1] = 0.0
        for g in range(groups):
            _spread(sigma[n], apart[n, g], own, own_of, wide, at[g, 4])
            for i in range(size):
                at[g, 0, i] = place[n, g, i] if i < 2 else 0.0
                at[g, 1, i] = 0.0
                at[g, 2, i] = math.exp(level[g, i]) if i < 2 else 1.0
        for step in range(PASSES):
            total = 0.0
            for i in range(count):
                for j in range(count + 1):
                    top[i, j] = 0.0
            for g in range(groups):
                system = systems[g]
                shift, factor, spread = at[g, 1], at[g, 2], at[g, 4]
                for i in range(2):
                    shift[i] = factor[i] * (1.0 + place[n, g, i] - math.log(factor[i]))
                for i in range(size):
                    bent = 0.0
                    for j in range(2):
                        bent += curvature[g, i, j] * shift[j]
                    total += shift[i] * (linear[g, i] - 0.5 * bent)
                    for j in range(size):
                        weight[i, j] = curvature[g, i, j] * factor[i] * factor[j]
                    weight[i, size] = (linear[g, i] - bent) * factor[i]
                for k in range(size):  # in reverse
                    i = size - 1 - k
                    for j in range(size + 1):
                        system[k, size + j] = spread[i] * weight[i, j]
                    for j in range(k, size):
                        system[k, j] = system[k, 2 * size - 1 - j] * spread[size - 1 - j]
                    system[k, k] += 1.0
                total -= _eliminate(system, size, 2 * size + 1)
                for i in range(size):
                    total += 0.5 * system[i, 2 * size] * system[i, 2 * size]
                for k in range(size):
                    for i in range(size):
                        over = system[k, size + i]
                        for j in range(size + 1):
                            weight[i, j] -= over * system[k, size + j]
                for r in range(rows.shape[1]):
                    first = rows[g, r] * size
                    for i in range(size):
                        top[first + i, count] += weight[i, size]
                        for q in range(r, rows.shape[1]):
                            for j in range(size):
                                top[first + i, rows[g, q] * size + j] += weight[i, j]
            for i in range(count):
                for j in range(i, count):
                    top[i, j] *= sds[i] * sds[j]
                top[i, i] += 1.0
                top[i, count] *= sds[i]
            total -= _eliminate(top, count, count + 1)
            for i in range(count):
                total += 0.5 * top[i, count] * top[i, count]
            if step < PASSES - 1:
                for i in range(count):
                    mode[i] = top[i, count]
                _back_solve(top, mode, count)
                for i in range(count):
                    mode[i] *= sds[i]
                for g in range(groups):
                    _middle(mode, rows, g, at[g, 3])
                    _pull(systems[g], at[g, 3], size, x)
                    never = step > PASSES  # no literal: compiled once
                    _draw(systems[g], never, at[g], x, x, y, fit, far)
                    for i in range(2):
                        move = far[i] + place[n, g, i] - math.log(at[g, 2, i])
                        at[g, 2, i] *= math.exp(_step(move))
        value[n] = total
        if fresh:
            for i in range(count):
                mode[i] = top[i, count] + normal[n, i]
            _back_solve(top, mode, count)
            for i in range(count):
                mode[i] *= sds[i]
                eta[n, i] = mode[i]
        else:
            for i in range(count):
                mode[i] = eta[n, i]
            for i in range(2):
                mode[count - size + i] = 0.0
        for g in range(groups):
            system, local = systems[g], at[g]
            _middle(mode, rows, g, local[3])
            _pull(system, local[3], size, x)
            if fresh:
                _draw(system, fresh, local, x, normal[n, count + size * g :], y, fit, far)
            tame = True
            for i in range(size):
                if fresh:
                    psi[n, g, i] = far[i] + local[0, i]
                    tame = tame and abs(psi[n, g, i]) < (LARGEST if i < 2 else WIDEST)
                else:
                    far[i] = psi[n, g, i] - local[0, i]
            height = 0.0
            for k in range(size - 1, -1, -1):
                i = size - 1 - k
                xi = (far[i] - local[3, i]) / local[4, i]
                rest = x[k]
                for j in range(k + 1, size):
                    rest -= system[k, j] * y[j]
                if i < 2:
                    _skewed(i, rest, system[k, k], local, fit)
                    by = fit[1] * (xi - fit[0])
                    one = fit[2] * min(by, 0.0) / math.sqrt(2.0) + math.asinh(1.0)
                    one = math.sinh(max(one, -LARGEST))
                    rest = max(by, 0.0) + (one - 1.0) / fit[2]
                    height += math.log(fit[1] * math.sqrt(0.5 * (1.0 + one * one)) / system[k, k])
                    y[k] = _bent(_true(xi, i, local), i, local)
                else:
                    rest -= system[k, k] * xi
                    y[k] = xi
                height += 0.5 * (x[k] * x[k] + xi * xi - rest * rest)
            for i in range(size):
                far[i] = local[1, i] + local[2, i] * local[3, i]
            for i in range(size):
                bent = 0.0
                for j in range(size):
                    bent += curvature[g, i, j] * far[j]
                height += far[i] * (linear[g, i] - 0.5 * bent)
            if not tame:
                for i in range(size):
                    psi[n, g, i] = 0.0
            if fresh:
                heights[n, g] = _loglik(psi[n], g, nodes, start, owner, columns, cap)
            excess[n, g] = heights[n, g] - height if tame else -math.inf


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
