"""Scale parameters, and the prior of every coordinate of a curve that they determine.

A curve has D coordinates psi = (log a, log b, c, deviations), with the same prior for each:

    psi_gd ~ N(mu_d, spread_d),   mu_d ~ N(centre_d, location_d)

There are fewer free scales, S: sigma_k ~ TN(0, sd_k). The spread of a coordinate is one of them,
times a ratio, or fixed; likewise its location:

    spread_d = own_d sigma_k or own_d,   location_d = common_d sigma_k or common_d

Of the curve's three coordinates the spreads are sigma_a, sigma_b, sigma_c and the locations are
fixed. The deviations from the curve (`trust`) share one scale of their locations, omega, and one of
their spreads, tau.

A group may be apart, with a chance that is fixed (`regions`): then its prior is wide instead,

    psi_gd ~ N(mu_d + shift_d, wide_d)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.logit import Floats, Ints
from .curve import Prior

SIGMA_C = 2  # index of sigma_c


class Scales(NamedTuple):
    """The map from sigma to the prior of every coordinate.

    sd: float64 (S,), scale of each half-normal sigma; own, common: float64 (D,), ratios or fixed
    values; own_of, common_of: intp (D,), which sigma they multiply, S for none; centre, wide,
    shift: float64 (D,); apart: chance that a group is apart, 0 for never.
    """

    sd: Floats
    own: Floats
    common: Floats
    own_of: Ints
    common_of: Ints
    centre: Floats
    wide: Floats
    shift: Floats
    apart: float

    def spread(self, sigma: Floats, apart: Floats | None = None) -> Floats:
        """Standard deviations of psi around mu, (..., D), at sigma (..., S).

        Of each group, (..., group, D), given which are apart, (..., group), 1 or 0.
        """
        usual = np.asarray(self.own * with_one(sigma)[..., self.own_of])
        if apart is None:
            return usual
        return np.where(apart[..., None] > 0.0, self.wide, usual[..., None, :])

    def location(self, sigma: Floats) -> Floats:
        """Standard deviations of mu around 0, (..., D), at sigma (..., S)."""
        return np.asarray(self.common * with_one(sigma)[..., self.common_of])


def curve_scales(prior: Prior) -> Scales:
    """Return the scales of the curve alone: log a, log b, c."""
    three = np.arange(3)
    centre = np.log([prior.slope, prior.slope, 1.0])
    return Scales(
        prior.spread_sd,
        np.ones(3),
        prior.location_sd,
        three,
        np.full(3, 3),
        centre,
        np.ones(3),
        np.zeros(3),
        0.0,
    )


def with_one(sigma: Floats) -> Floats:
    """Append a 1 to sigma (..., S), the scale of fixed spreads and locations."""
    wide = np.ones((*sigma.shape[:-1], sigma.shape[-1] + 1))
    wide[..., :-1] = sigma
    return wide


def one_hot(of: Ints, size: int) -> Floats:
    """Which sigma each coordinate takes, as 0 and 1: of (D,) -> float64 (D, size)."""
    return np.asarray((of[:, None] == np.arange(size)).astype(np.float64))
