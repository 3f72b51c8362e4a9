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


def test_curve_scales_are_the_prior():
    np.testing.assert_array_equal(CURVE.sd, PRIOR.spread_sd)
    sigma = np.array([0.1, 0.2, 0.3])
    np.testing.assert_array_equal(CURVE.spread(sigma), sigma)
    np.testing.assert_array_equal(CURVE.location(sigma), PRIOR.location_sd)
