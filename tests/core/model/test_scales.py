"""The scales of the prior against loops over coordinates."""

from __future__ import annotations

import naive
import numpy as np
from cases import CURVE, PRIOR


def test_spread_and_location_equal_naive(scales):
    sigma = np.random.default_rng(0).uniform(0.1, 2.0, (2, 3, len(scales.sd)))
    spread, location = scales.spread(sigma), scales.location(sigma)
    assert spread.shape == location.shape == (2, 3, len(scales.own))
    for k in np.ndindex(2, 3):
        wanted = naive.sds(sigma[k], scales)
        np.testing.assert_array_equal([spread[k], location[k]], wanted)


def test_squares_and_counts_equal_naive(scales):
    rng = np.random.default_rng(1)
    size, count = len(scales.own), len(scales.sd)
    psi, mu = rng.normal(size=(4, 3, size)), rng.normal(size=(4, size))
    wanted, normals = np.zeros((4, count)), np.zeros(count)
    for d in range(size):
        if scales.own_of[d] < count:
            far = (psi[..., d] - mu[:, [d]]) / scales.own[d]
            wanted[:, scales.own_of[d]] += (far * far).sum(axis=1)
            normals[scales.own_of[d]] += 3
        if scales.common_of[d] < count:
            wanted[:, scales.common_of[d]] += (mu[:, d] / scales.common[d]) ** 2
            normals[scales.common_of[d]] += 1
    np.testing.assert_allclose(scales.squares(psi, mu), wanted, rtol=1e-12)
    np.testing.assert_array_equal(scales.counts(3), normals)


def test_curve_scales_are_the_prior():
    np.testing.assert_array_equal(CURVE.sd, PRIOR.spread_sd)
    sigma = np.array([0.1, 0.2, 0.3])
    np.testing.assert_array_equal(CURVE.spread(sigma), sigma)
    np.testing.assert_array_equal(CURVE.location(sigma), PRIOR.location_sd)
    np.testing.assert_array_equal(CURVE.counts(5), [5, 5, 5])
