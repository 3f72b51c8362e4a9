"""The two priors that surrogate and sampler are tested with: the curve alone, and with trust."""

from __future__ import annotations

import numpy as np

from lightfair.core.mcmc.surrogate import Surrogate
from lightfair.core.model.curve import Prior
from lightfair.core.model.regions import no_regions
from lightfair.core.model.scales import Scales, curve_scales

PRIOR = Prior()
CURVE = curve_scales(PRIOR)
# Common parts of a jump and a bend in units of omega. Groups differ in the jump in units of omega,
# too, which the library does not use, in the bend in units of tau, in a mass as they differ in c.
TRUSTED = Scales(
    sd=np.append(CURVE.sd, [0.45, 0.3]),
    own=np.array([1.0, 1.0, 1.0, 0.7, 1.1, 0.6]),
    common=np.array([*CURVE.common, 1.4, 0.5, 1.2]),
    own_of=np.array([0, 1, 2, 3, 4, 2]),
    common_of=np.array([5, 5, 5, 3, 3, 5]),
)
CASES = {"curve": CURVE, "trusted": TRUSTED}
DEVIATIONS = ("jump", "bend", "mass")
# one region below a score of 0.5, two above, and the mass
EDGES = [0.5, 0.75, 0.85]
REGIONS = no_regions()._replace(
    first=(0, 1, 3),
    loadings=np.array([[-0.5, 0.0, 0.0], [0.5, -0.7, 0.0], [0.5, 0.7, 0.0], [0.0, 0.0, 1.0]]),
    on_curve=np.array([1.0, 1.0, 1.0, 0.0]),
    base=np.array([0.0, 0.0, 0.0, 1.3]),
    names=DEVIATIONS,
)


def place(score, scales):
    """The regions of scores, as `labeled_nodes` takes them; none without deviations."""
    if len(scales.own) == 3:
        return {}
    return {"region": np.digitize(score, EDGES), "regions": REGIONS}


def column(score, scales):
    """What `naive.loglik` wants of a row's region: whether the curve holds, base, columns."""
    if len(scales.own) == 3:
        return 1.0, 0.0, ()
    at = np.digitize(score, EDGES)
    return REGIONS.on_curve[at], REGIONS.base[at], tuple(REGIONS.loadings[at])


def random_surrogate(seed, scales=CURVE, sets=2, groups=3):
    """Curvatures of full rank, but for one group that has none."""
    rng = np.random.default_rng(seed)
    size = len(scales.own)
    root = rng.normal(0.0, 2.0, (sets, groups, size, size))
    linear = rng.normal(0.0, 3.0, (sets, groups, size))
    root[0, 1] = linear[0, 1] = 0.0
    centre = np.log(scales.sd) + rng.normal(0.0, 0.3, (sets, len(scales.sd)))
    width = rng.uniform(0.3, 1.0, (sets, len(scales.sd)))
    return Surrogate(root @ np.swapaxes(root, -1, -2), linear, centre, width)


def random_sigma(seed, scales=CURVE, sets=2, n=4):
    noise = np.random.default_rng(seed).normal(0.0, 1.0, (sets, n, len(scales.sd)))
    return scales.sd * np.exp(noise)
