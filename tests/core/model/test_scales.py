"""The scales of the prior against loops over coordinates."""

from __future__ import annotations

import naive
import numpy as np
from cases import CURVE, PRIOR

from lightfair.core.model.scales import curve_scales, with_deviations


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


def test_with_deviations():
    """In units of omega and tau; a loose one spreads as c does, and its location is fixed."""
    got = with_deviations(CURVE, 0.3, 0.2, own=[0.5, 0.6], common=[1.4, 2.0], free=[False, True])
    sigma = np.array([0.1, 0.2, 0.4, 10.0, 30.0])
    np.testing.assert_array_equal(got.sd, [*PRIOR.spread_sd, 0.3, 0.2])
    np.testing.assert_allclose(got.spread(sigma), [0.1, 0.2, 0.4, 15.0, 0.24], rtol=1e-12)
    np.testing.assert_allclose(got.location(sigma), [*PRIOR.location_sd, 14.0, 2.0], rtol=1e-12)
    np.testing.assert_array_equal(got.counts(2), [2, 2, 4, 1, 2])


def test_no_deviations_leave_omega_and_tau_to_their_priors():
    got = with_deviations(curve_scales(PRIOR), 0.3, 0.2, own=[], common=[], free=[])
    sigma = np.array([0.1, 0.2, 0.4, 10.0, 30.0])
    np.testing.assert_array_equal(got.spread(sigma), sigma[:3])
    np.testing.assert_array_equal(got.location(sigma), PRIOR.location_sd)
    np.testing.assert_array_equal(got.counts(2), [2, 2, 2, 0, 0])
    assert got.own_of.dtype == got.common_of.dtype == np.int64
