"""Naive forms of the formulas, the oracle of the tests: loops over rows, dense matrices."""

from __future__ import annotations

import math

import numpy as np


def curve(s, a, b, c):
    """f(s; a, b, c), one score."""
    return 1.0 / (1.0 + math.exp(-c - a * math.log(s) + b * math.log(1.0 - s)))


def loglik(rows, phi, family="beta", cap=math.inf):
    """Log likelihood of rows (score, label, weight) of one group, one Bernoulli at a time."""
    a, b, c = math.exp(phi[0]), math.exp(phi[1]), phi[2]
    if family != "beta":
        b = a
    if family == "temperature":
        c = 0.0
    value = 0.0
    for score, label, weight in rows:
        odds = min(c + a * math.log(score) - b * math.log(1.0 - score), cap)
        value -= weight * math.log(1.0 + math.exp(-odds if label else odds))
    return value


def quadratic(phi, curvature, linear):
    value = 0.0
    for i in range(3):
        value += phi[i] * linear[i]
        for j in range(3):
            value -= 0.5 * phi[i] * curvature[i][j] * phi[j]
    return value


def gaussian(sigma, curvature, linear, location_sd):
    """The surrogate posterior of (mu, phi_1, ..., phi_G) at sigma, with dense matrices.

    Returns mean (3 + 3 G,), covariance, and the log marginal likelihood of sigma.
    """
    groups = len(linear)
    size = 3 + 3 * groups
    prior = np.zeros((size, size))
    tilt = np.zeros(size)
    bend = np.zeros((size, size))
    for j in range(3):
        prior[j, j] = 1.0 / location_sd[j] ** 2
        for g in range(groups):
            k = 3 + 3 * g + j
            prior[j, j] += 1.0 / sigma[j] ** 2
            prior[k, k] += 1.0 / sigma[j] ** 2
            prior[j, k] = prior[k, j] = -1.0 / sigma[j] ** 2
    for g in range(groups):
        block = slice(3 + 3 * g, 6 + 3 * g)
        bend[block, block] = curvature[g]
        tilt[block] = linear[g]
    covariance = np.linalg.inv(prior + bend)
    mean = covariance @ tilt
    value = 0.5 * tilt @ mean
    value += 0.5 * np.linalg.slogdet(prior)[1] - 0.5 * np.linalg.slogdet(prior + bend)[1]
    return mean, covariance, value


def level(sigma, value, centre, width, spread_sd):
    """Log of marginal likelihood times prior density over prior density plus log-normal density."""
    half_normal = log_normal = 1.0
    for j in range(3):
        s, scale = sigma[j], spread_sd[j]
        half_normal *= 2.0 / (scale * math.sqrt(2.0 * math.pi)) * math.exp(-0.5 * (s / scale) ** 2)
        far = (math.log(s) - centre[j]) / width[j]
        log_normal *= math.exp(-0.5 * far * far) / (s * width[j] * math.sqrt(2.0 * math.pi))
    return value + math.log(half_normal / (half_normal + log_normal))


def log_posterior(rows, phi, mu, sigma, location_sd, spread_sd):
    """Log density of a whole state of the beta family; rows of each group; up to a constant."""
    value = 0.0
    for j in range(3):
        value -= 0.5 * (mu[j] / location_sd[j]) ** 2 + 0.5 * (sigma[j] / spread_sd[j]) ** 2
    for g in range(len(phi)):
        value += loglik(rows[g], phi[g])
        for j in range(3):
            value -= math.log(sigma[j]) + 0.5 * ((phi[g][j] - mu[j]) / sigma[j]) ** 2
    return value
