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


def quadratic(psi, curvature, linear):
    value = 0.0
    for i in range(len(psi)):
        value += psi[i] * linear[i]
        for j in range(len(psi)):
            value -= 0.5 * psi[i] * curvature[i][j] * psi[j]
    return value


def sds(sigma, scales):
    """Spread and location of every coordinate, one by one."""
    spread, location = [], []
    for d in range(len(scales.own)):
        k, m = scales.own_of[d], scales.common_of[d]
        spread.append(scales.own[d] * (sigma[k] if k < len(sigma) else 1.0))
        location.append(scales.common[d] * (sigma[m] if m < len(sigma) else 1.0))
    return spread, location


def gaussian(sigma, curvature, linear, scales):
    """The surrogate posterior of (mu, psi_1, ..., psi_G) at sigma, with dense matrices.

    Returns mean (D + D G,), covariance, and the log marginal likelihood of sigma.
    """
    groups = len(linear)
    wide = len(scales.own)
    size = wide + wide * groups
    spread, location = sds(sigma, scales)
    prior = np.zeros((size, size))
    tilt = np.zeros(size)
    bend = np.zeros((size, size))
    for j in range(wide):
        prior[j, j] = 1.0 / location[j] ** 2
        for g in range(groups):
            k = wide + wide * g + j
            prior[j, j] += 1.0 / spread[j] ** 2
            prior[k, k] += 1.0 / spread[j] ** 2
            prior[j, k] = prior[k, j] = -1.0 / spread[j] ** 2
    for g in range(groups):
        block = slice(wide + wide * g, 2 * wide + wide * g)
        bend[block, block] = curvature[g]
        tilt[block] = linear[g]
    covariance = np.linalg.inv(prior + bend)
    mean = covariance @ tilt
    value = 0.5 * tilt @ mean
    value += 0.5 * np.linalg.slogdet(prior)[1] - 0.5 * np.linalg.slogdet(prior + bend)[1]
    return mean, covariance, value


def log_importance(sigma, value, centre, width, scales):
    """Log of marginal likelihood times prior density over prior density plus log-normal density."""
    half_normal = log_normal = 1.0
    for j in range(len(sigma)):
        s, scale = sigma[j], scales.sd[j]
        half_normal *= 2.0 / (scale * math.sqrt(2.0 * math.pi)) * math.exp(-0.5 * (s / scale) ** 2)
        far = (math.log(s) - centre[j]) / width[j]
        log_normal *= math.exp(-0.5 * far * far) / (s * width[j] * math.sqrt(2.0 * math.pi))
    return value + math.log(half_normal / (half_normal + log_normal))


def log_posterior(rows, psi, mu, sigma, scales):
    """Log density of a whole state of the beta family; rows of each group; up to a constant."""
    spread, location = sds(sigma, scales)
    value = 0.0
    for k in range(len(sigma)):
        value -= 0.5 * (sigma[k] / scales.sd[k]) ** 2
    for j in range(len(mu)):
        value -= math.log(location[j]) + 0.5 * (mu[j] / location[j]) ** 2
    for g in range(len(psi)):
        value += loglik(rows[g], psi[g])
        for j in range(len(mu)):
            value -= math.log(spread[j]) + 0.5 * ((psi[g][j] - mu[j]) / spread[j]) ** 2
    return value
