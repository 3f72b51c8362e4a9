"""Naive forms of the formulas, the oracle of the tests: loops over rows, dense matrices."""

from __future__ import annotations

import math

import numpy as np


def curve(s, a, b, c, lift=0.0):
    """f(s; a, b, c), one score; lift is its deviation in log odds."""
    return 1.0 / (1.0 + math.exp(-c - lift - a * math.log(s) + b * math.log(1.0 - s)))


def loglik(rows, psi, family="beta", cap=math.inf):
    """Log likelihood of rows of one group, one Bernoulli at a time.

    A row is (score, label, weight), and what its region is: (on_curve, base, columns).
    """
    a, b, c = math.exp(psi[0]), math.exp(psi[1]), psi[2]
    if family != "beta":
        b = a
    if family == "temperature":
        c = 0.0
    value = 0.0
    for score, label, weight, *region in rows:
        on_curve, base, columns = region[0] if region else (1.0, 0.0, ())
        odds = on_curve * (c + a * math.log(score) - b * math.log(1.0 - score))
        odds += base + sum(x * w for x, w in zip(columns, psi[3:], strict=True))
        odds = min(odds, cap)
        value -= weight * math.log(1.0 + math.exp(-odds if label else odds))
    return value


def sds(sigma, scales):
    """Spread and location of every coordinate, one by one."""
    spread, location = [], []
    for d in range(len(scales.own)):
        k, m = scales.own_of[d], scales.common_of[d]
        spread.append(scales.own[d] * (sigma[k] if k < len(sigma) else 1.0))
        location.append(scales.common[d] * (sigma[m] if m < len(sigma) else 1.0))
    return spread, location


def gaussian(sigma, place, apart, start, curvature, linear, prior):
    """The surrogate posterior of (eta, psi - place) given hyper, linearized at start; dense.

    sigma (S,), place (2,), mu_a and mu_b, which are fixed; apart (group,), 1 or 0; start (group,
    2): log a and log b. A group apart has another spread, and another place.
    Returns mean (P D + G D,), covariance, and the log marginal likelihood of hyper.
    """
    groups, size = linear.shape
    rows = len(prior.ratio)
    spread, location = sds(sigma, prior.scales)
    ratio = np.append(sigma, 1.0)[prior.of] * prior.ratio
    np.testing.assert_allclose(ratio[-1], location)
    each = [prior.scales.wide if apart[g] else spread for g in range(groups)]
    own = np.append(ratio.ravel(), np.concatenate(each))
    free = np.delete(np.arange(len(own)), [(rows - 1) * size, (rows - 1) * size + 1])
    # (eta, psi - place) from independent normals
    root = np.eye(len(own))
    root[rows * size :, : rows * size] = np.kron(prior.design, np.eye(size))
    root = (root * own)[:, free]
    lift, pull = np.zeros(groups * size), np.zeros(groups * size)
    slope, bend = np.ones(groups * size), np.zeros((groups * size, groups * size))
    for g in range(groups):
        at = g * size
        bend[at : at + size, at : at + size] = curvature[g]
        pull[at : at + size] = linear[g]
        for i in range(2):
            slope[at + i] = math.exp(start[g, i])
            shift = place[i] + apart[g] * prior.scales.shift[i]
            lift[at + i] = slope[at + i] * (1.0 - start[g, i] + shift)
    theta = slope[:, None] * root[rows * size :]  # and lift
    tilt = theta.T @ (pull - bend @ lift)
    precision = np.eye(len(free)) + theta.T @ bend @ theta
    covariance = np.linalg.inv(precision)
    value = lift @ pull - 0.5 * lift @ bend @ lift + 0.5 * tilt @ covariance @ tilt
    value -= 0.5 * np.linalg.slogdet(precision)[1]
    return root @ covariance @ tilt, root @ covariance @ root.T, value
