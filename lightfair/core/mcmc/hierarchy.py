"""The prior of the curves of a data set: a common location, effects of attributes, the groups' own.

A group g is its levels (l_1, ..., l_K), one of each attribute. Each coordinate d of its curve is

    psi_gd = mu_d + sum_k effect_{k, l_k, d} + interaction_gd
    effect_kld ~ N(0, s_kd),   interaction_gd ~ N(0, s_0d)

and mu has the prior of `model.curve`. The plain prior has no effects: the interactions alone. There
a small group is shrunk to the mean of all; with effects the other groups of its levels inform it.

The scales under the nested prior. Of log a, log b and c there is one sigma for each attribute and
one for the interactions, half-normals with the scales of `Prior` over sqrt(K + 1): the variance of
psi around mu is then that of the plain prior. Two groups that share a level are a priori closer
than there, groups that share none equally far apart. Deviations (`model.regions`) have effects,
too, but the data are hardly informative about them: all layers share tau, each with scale tau /
sqrt(K + 1). The deviation of a point mass differs as c does. An attribute with one level has no
effects. With more than two attributes the interactions are of all of them together, without those
of pairs.

No group is apart (`model.regions`) under the nested prior: groups that share a level would have to
be apart together, which the sampler seldom proposes.

Effects are identified up to a constant subtracted from mu and added to all levels of an attribute,
which their prior settles. Convergence is checked for psi, the scales and the metrics.

The nested prior is enabled by `assess(..., hierarchical="nested")` or `--nested`; the gain for
small groups is in bench/INTERSECTIONS.md. `result.posterior.effects` are the effects on the curve;
`marginals` has the metrics of levels.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..data.groups import Parts, crossed
from ..data.logit import Floats, Ints
from ..model.scales import Scales, one_hot, with_one

MOST_ROWS = 400  # numbers in mu and all effects; a fit takes minutes there


class Hierarchy(NamedTuple):
    """The map from sigma to the prior of effects, mu and interactions.

    eta, (P, D), are the effects of all levels, attribute by attribute, and mu in the last row.
    scales: of mu and of the interactions, which are to the middle of a group, mu plus its effects,
    what psi - mu is without effects; its sd are those of all S free scales: of the interactions log
    a, log b, c, then omega and tau, if any, then log a, log b, c of each attribute. ratio, of:
    float64 and intp (P, D), the prior of eta in units of a sigma, and which, S for none. design:
    float64 (group, P), 1 for the rows of eta that a group has. names, blocks: of the attributes
    with effects, by their number in `Parts`, and their rows.
    """

    scales: Scales
    ratio: Floats
    of: Ints
    design: Floats
    names: tuple[int, ...]
    blocks: tuple[slice, ...]

    def sds(self, sigma: Floats) -> Floats:
        """Standard deviations of eta, (..., P, D), at sigma (..., S)."""
        return np.asarray(self.ratio * with_one(sigma)[..., self.of])

    def middle(self, eta: Floats, apart: Floats | None = None) -> Floats:
        """Mean of psi given eta, and which groups are apart: (..., P, D) -> (..., group, D)."""
        usual = np.asarray(self.design @ eta)
        return usual if apart is None else usual + apart[..., None] * self.scales.shift

    def squares(self, psi: Floats, eta: Floats, apart: Floats) -> Floats:
        """Sum squares in units of sigma: psi (..., group, D), eta (..., P, D) -> (..., S)."""
        size = len(self.scales.sd)
        far = (psi - self.middle(eta)) / self.scales.own * (1.0 - apart[..., None])
        own = (far * far).sum(axis=-2) @ one_hot(self.scales.own_of, size)
        parts = eta / self.ratio
        flat = (parts * parts).reshape(*eta.shape[:-2], -1)
        return np.asarray(own + flat @ one_hot(self.of.ravel(), size))

    def counts(self, apart: Floats) -> Floats:
        """Number of normals that have each sigma as their scale: (..., group) -> (..., S)."""
        size = len(self.scales.sd)
        own = one_hot(self.scales.own_of, size).sum(axis=0)
        of_groups = (1.0 - apart).sum(axis=-1, keepdims=True) * own
        return np.asarray(of_groups + one_hot(self.of.ravel(), size).sum(axis=0))

    def eta_given(self, psi: Floats, sigma: Floats, apart: Floats, normal: Floats) -> Floats:
        """Draw eta given psi (..., group, D) and sigma (..., S); normal (..., P, D), standard.

        By least squares and a QR decomposition: effects are not identified without their prior, so
        at a spread near 0 the precision of eta is singular up to rounding and has no Cholesky
        factor.
        """
        groups, rows = self.design.shape
        sd = np.swapaxes(self.sds(sigma), -1, -2)
        spread = np.swapaxes(self.scales.spread(sigma, apart), -1, -2)
        seen = self.design * (sd[..., None, :] / spread[..., None])
        unit = np.broadcast_to(np.eye(rows), (*sd.shape, rows))
        basis, root = np.linalg.qr(np.concatenate([seen, unit], axis=-2))
        far = psi - self.scales.centre - apart[..., None] * self.scales.shift
        far = (np.swapaxes(far, -1, -2) / spread)[..., None]
        middle = np.swapaxes(basis[..., :groups, :], -1, -2) @ far
        eta = np.linalg.solve(root, middle + np.swapaxes(normal, -1, -2)[..., None])[..., 0]
        drawn = np.ascontiguousarray(np.swapaxes(sd * eta, -1, -2))
        drawn[..., -1, :] += self.scales.centre
        return drawn


def plain(scales: Scales, groups: int) -> Hierarchy:
    """Return the prior without effects: mu is the middle of every group, and of one alone."""
    if groups == 1:
        scales = scales._replace(apart=0.0)
    return Hierarchy(
        scales, scales.common[None], scales.common_of[None], np.ones((groups, 1)), (), ()
    )


def nested(scales: Scales, parts: Parts) -> Hierarchy:
    """Return the nested prior of crossed groups.

    Parameters
    ----------
    scales
        Those of the prior without effects.
    parts
        For each group its level of each attribute. At least two attributes have two levels or more.

    Raises
    ------
    ValueError
        If the attributes have too many levels.
    """
    chosen = crossed(parts)
    columns = {k: [part[k] for part in parts] for k in chosen}
    # most levels first: their groups are separate, so that the system of eta is sparse there
    order = sorted(chosen, key=lambda k: -len(set(columns[k])))
    names = {k: sorted(set(columns[k])) for k in order}
    share = 1.0 / math.sqrt(len(chosen) + 1)
    curve, old, size = 3, len(scales.sd), len(scales.own)
    new = old + curve * len(chosen)
    sd = np.concatenate([scales.sd, np.tile(scales.sd[:curve], len(chosen))])
    sd[:curve] *= share
    sd[old:] *= share
    layered = scales.own_of < curve
    own = np.where(layered, scales.own, share * scales.own)
    own_of, common_of = (np.where(of == old, new, of) for of in scales[3:5])
    blocks, of, ratio, design, first = {}, [], [], [], 0
    for k in order:
        levels = len(names[k])
        blocks[k] = slice(first, first + levels)
        first += levels
        of += [np.where(layered, scales.own_of + old + curve * chosen.index(k), own_of)] * levels
        ratio += [own] * levels
        design.append(np.equal.outer(columns[k], names[k]).astype(np.float64))
    design.append(np.ones((len(parts), 1)))
    if (first + 1) * size > MOST_ROWS:
        raise ValueError(
            f'hierarchical="nested" takes at most {MOST_ROWS // size - 1} levels in all here; got '
            f"{first}; merge levels, or pass hierarchical=True"
        )
    return Hierarchy(
        Scales(sd, own, scales.common, own_of, common_of, *scales[5:])._replace(apart=0.0),
        np.stack([*ratio, scales.common]),
        np.stack([*of, common_of]),
        np.hstack(design),
        tuple(chosen),
        tuple(blocks[k] for k in chosen),
    )


def named_effects(
    eta: Floats, sigma: Floats, prior: Hierarchy, attributes: tuple[str, ...]
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Return effects on the curve, (..., level, 3), and their scales, (..., 3), by attribute.

    eta (..., P, D), sigma (..., S). Levels are sorted; only attributes with two or more are there.
    """
    names = [attributes[k] for k in prior.names]
    first = len(prior.scales.sd) - 3 * len(names)
    effects = {name: eta[..., block, :3] for name, block in zip(names, prior.blocks, strict=True)}
    sds = {name: sigma[..., first + 3 * k : first + 3 * k + 3] for k, name in enumerate(names)}
    return effects, sds
