"""Priors that the sampler is tested with, of the curve alone and with trust, and data for them."""

from __future__ import annotations

import math

import numpy as np

from lightfair.core.data.logit import logit_of
from lightfair.core.mcmc.hierarchy import nested, plain
from lightfair.core.mcmc.surrogate import Surrogate
from lightfair.core.model.curve import Prior, features
from lightfair.core.model.likelihood import labeled_nodes
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
    centre=np.array([-0.3, -0.1, 0.0, 0.0, 0.0, 0.0]),
    wide=np.array([0.6, 0.5, 0.9, 0.3, 0.5, 0.8]),
    shift=np.array([-0.7, -0.5, 0.0, 0.0, 0.0, 0.0]),
    apart=0.3,
)
CASES = {"curve": CURVE, "trusted": TRUSTED}
# one combination is empty; "z" has one group, and the second attribute has most levels
PARTS = (("a", "x"), ("a", "y"), ("b", "x"), ("b", "z"))
PRIORS = {f"plain {name}": plain(scales, 3) for name, scales in CASES.items()}
PRIORS |= {f"nested {name}": nested(scales, PARTS) for name, scales in CASES.items()}
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


def random_surrogate(seed, prior, sets=2):
    """Curvatures of full rank, but for one group that has none."""
    rng = np.random.default_rng(seed)
    groups, size, count = len(prior.design), len(prior.scales.own), len(prior.scales.sd) + 2
    root = rng.normal(0.0, 2.0, (sets, groups, size, size))
    linear = rng.normal(0.0, 3.0, (sets, groups, size))
    root[0, 1] = linear[0, 1] = 0.0
    return Surrogate(
        root @ np.swapaxes(root, -1, -2),
        linear,
        rng.normal(0.0, 0.5, (sets, count)),
        0.7 * np.eye(count) + np.tril(rng.normal(0.0, 0.2, (sets, count, count))),
        rng.normal(0.0, 0.2, (sets, groups, 2)),
        rng.uniform(0.01, 0.1, (sets, 2)),
        rng.uniform(0.2, 0.6, (sets, groups)),
    )


def random_hyper(seed, prior, sets=2, n=3):
    return np.random.default_rng(seed).standard_normal((sets, n, len(prior.scales.sd) + 2))


def random_apart(seed, prior, sets=2, n=3):
    """Which groups are apart; with deviations alone."""
    drawn = np.random.default_rng(seed).random((sets, n, len(prior.design))) < 0.4
    return drawn * (len(prior.scales.own) > 3) * 1.0


def labeled(group, score, label, prior, *, sets=1, family="beta", cap=math.inf, clip=0.0):
    """LabeledData of rows; `group` counts on through the data sets."""
    groups, label = len(prior.design), np.asarray(label, dtype=float)
    return labeled_nodes(
        np.asarray(group, dtype=np.int64),
        features(logit_of(score, clip), family),
        label,
        np.ones(len(label)),
        segments=sets * groups,
        groups=groups,
        cap=cap,
        **place(np.asarray(score), prior.scales),
    )


def simulated(seed, count, prior, **options):
    """Labeled rows; groups differ in their base rates."""
    rng = np.random.default_rng(seed)
    group = rng.integers(options.get("sets", 1) * len(prior.design), size=count)
    score = rng.uniform(0.02, 0.98, count)
    label = rng.random(count) < 1 / (1 + np.exp(-logit_of(score, 0.0) - 0.8 + 1.2 * (group % 2)))
    return labeled(group, score, label, prior, **options)
