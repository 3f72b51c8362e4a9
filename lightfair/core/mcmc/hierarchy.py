"""The nested prior: crossed groups share information with groups that share a level.

A group g is its levels (l_1, ..., l_K), one of each attribute. Each coordinate d of its curve is

    psi_gd = mu_d + sum_k effect_{k, l_k, d} + interaction_gd
    effect_kld ~ N(0, s_kd),   interaction_gd ~ N(0, s_0d)

and mu has the plain prior (`model.curve`). So the other groups of its levels inform a group of five
labeled rows. The plain prior has the interactions alone: there a small group is shrunk to the mean
of all.

The scales. Of log a, log b and c there is one sigma for each attribute and one for the
interactions, half-normals with the scales of `Prior` over sqrt(K + 1): the variance of psi around
mu is then that of the plain prior. Two groups that share a level are a priori closer than there,
groups that share none equally far apart. Deviations (`model.regions`) have effects, too, but the
data are hardly informative about them: all layers share tau, each with scale tau / sqrt(K + 1). The
deviation of a point mass differs as c does. An attribute with one level has no effects. With more
than two attributes the interactions are of all of them together, without those of pairs.

Effects are identified up to a constant subtracted from mu and added to all levels of an attribute,
which their prior settles. Convergence is checked for psi, the scales and the metrics.

Surrogate: given sigma and quadratics for the groups' log likelihoods, the posterior is Gaussian.
The groups' interactions are integrated out one by one. The levels of the attribute with most levels
have separate groups, so its effects are next, level by level; one dense system remains, of mu and
the effects of the other attributes.

Enabled by `assess(..., hierarchical="nested")` or `--nested`, at 2 to 4 times the CPU time of the
plain prior; the gain for small groups is in bench/INTERSECTIONS.md. `result.posterior.effects` are
the effects on the curve; `marginals` has the metrics of levels.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from ..data.groups import Parts, crossed
from ..data.logit import Floats
from ..model.likelihood import LabeledData
from ..model.scales import Ints, Scales, one_hot, with_one
from .linalg import back_solve, diagonal, eliminate, gram, log_diagonal
from .surrogate import Surrogate, covariance_root, draw_own, eliminated, expand

MOST_ROWS = 160  # of the dense system; a fit takes minutes there


class Nesting(NamedTuple):
    """The map from sigma to the prior of mu, effects and interactions.

    eta, (P, D), are mu and the effects of all levels, attribute by attribute. scales: of mu and of
    the interactions, which are to the middle of a group, mu plus its effects, what psi - mu is
    without effects; its sd are those of all S free scales: of the interactions log a, log b, c,
    then omega and tau, if any, then log a, log b, c of each attribute. ratio, of: float64 and int64
    (P, D), the prior of eta in units of a sigma, and which, S for none. design: float64 (group, P),
    1 for the rows of eta that a group has. starts: int64 (K + 2,), first row of mu and of each
    attribute, and P.
    """

    scales: Scales
    ratio: Floats
    of: Ints
    design: Floats
    starts: Ints

    def sds(self, sigma: Floats) -> Floats:
        """Standard deviations of eta, (..., P, D), at sigma (..., S)."""
        return np.asarray(self.ratio * with_one(sigma)[..., self.of])

    def middle(self, eta: Floats) -> Floats:
        """Mean of psi given eta: (..., P, D) -> (..., group, D)."""
        return np.asarray(self.design @ eta)

    def squares(self, psi: Floats, eta: Floats) -> Floats:
        """Sum squares in units of sigma: psi (..., group, D), eta (..., P, D) -> (..., S)."""
        size = len(self.scales.sd)
        far = (psi - self.middle(eta)) / self.scales.own
        own = (far * far).sum(axis=-2) @ one_hot(self.scales.own_of, size)
        parts = eta / self.ratio
        flat = (parts * parts).reshape(*eta.shape[:-2], -1)
        return np.asarray(own + flat @ one_hot(self.of.ravel(), size))

    def counts(self) -> Floats:
        """Number of normals that have each sigma as their scale: float64 (S,)."""
        size = len(self.scales.sd)
        own = one_hot(self.scales.own_of, size).sum(axis=0)
        return np.asarray(len(self.design) * own + one_hot(self.of.ravel(), size).sum(axis=0))

    def blocks(self) -> list[slice]:
        """Rows of mu, and of the effects of each attribute."""
        return [slice(*pair) for pair in itertools.pairwise(self.starts.tolist())]


def nesting(scales: Scales, parts: Parts) -> Nesting:
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
        If the attributes have too many levels for one dense system.
    """
    chosen = crossed(parts)
    columns = [[part[k] for part in parts] for k in chosen]
    names = [sorted(set(column)) for column in columns]
    share = 1.0 / math.sqrt(len(chosen) + 1)
    curve, old, size = 3, len(scales.sd), len(scales.own)
    new = old + curve * len(chosen)
    sd = np.concatenate([scales.sd, np.tile(scales.sd[:curve], len(chosen))])
    sd[:curve] *= share
    sd[old:] *= share
    layered = scales.own_of < curve
    own = np.where(layered, scales.own, share * scales.own)
    none = scales.own_of == old
    rows = [np.where(scales.common_of == old, new, scales.common_of)]
    ratios = [scales.common]
    for k, levels in enumerate(names):
        of = np.where(layered, scales.own_of + old + curve * k, np.where(none, new, scales.own_of))
        rows += [of] * len(levels)
        ratios += [own] * len(levels)
    starts = np.cumsum([0, 1, *map(len, names)])
    dense = int(starts[-1] - max(map(len, names))) * size
    if dense > MOST_ROWS:
        raise ValueError(
            f'hierarchical="nested" takes at most {MOST_ROWS // size - 1} levels here, beside '
            f"those of the attribute with most; got {dense // size - 1}; merge levels, or pass "
            "hierarchical=True"
        )
    design = np.zeros((len(parts), starts[-1]))
    design[:, 0] = 1.0
    for k, (column, levels) in enumerate(zip(columns, names, strict=True)):
        design[np.arange(len(parts)), starts[k + 1] + np.searchsorted(levels, column)] = 1.0
    inner = Scales(sd, own, scales.common, np.where(none, new, scales.own_of), rows[0])
    return Nesting(inner, np.stack(ratios), np.stack(rows), design, starts)


def named_effects(
    eta: Floats, sigma: Floats, nest: Nesting, attributes: tuple[str, ...], parts: Parts
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Return effects on the curve, (..., level, 3), and their scales, (..., 3), by attribute.

    eta (..., P, D), sigma (..., S). Levels are sorted; only attributes with two or more are there.
    """
    names = [attributes[k] for k in crossed(parts)]
    first = len(nest.scales.sd) - 3 * len(names)
    effects = {
        name: eta[..., block, :3] for name, block in zip(names, nest.blocks()[1:], strict=True)
    }
    sds = {name: sigma[..., first + 3 * k : first + 3 * k + 3] for k, name in enumerate(names)}
    return effects, sds


class _Order(NamedTuple):
    """The order of elimination.

    leaf: rows of eta of the attribute with most levels; top: the others, mu first; level: (group,),
    index into leaf; above: for each group its indices into top.
    """

    leaf: slice
    top: Ints
    level: Ints
    above: list[list[int]]


def _order(nest: Nesting) -> _Order:
    longest = int(np.argmax(np.diff(nest.starts)[1:])) + 1
    leaf = nest.blocks()[longest]
    top = np.delete(np.arange(len(nest.ratio)), leaf)
    above = [np.flatnonzero(row).tolist() for row in nest.design[:, top]]
    return _Order(leaf, top, nest.design[:, leaf].argmax(axis=1), above)


class Effects(NamedTuple):
    """The surrogate posterior of eta, factored.

    value: (data set, n), log marginal likelihood that integrating eta out adds. With R rows in the
    dense system: leaf, [L' | L^-1 [C | c]] of each level, (D, D + R D + 1, data set, level, n);
    top, [L' | L^-1 c] of mu and the other attributes, (R D, R D + 1, data set * n); both in units
    of the prior of eta.
    """

    value: Floats
    leaf: Floats
    top: Floats


class Marginal(NamedTuple):
    """The surrogate posterior at given sigma, with eta and psi integrated out.

    value: (data set, n), log marginal likelihood of sigma; half: as in `surrogate.Marginal`;
    effects: the system after integrating psi out.
    """

    value: Floats
    half: Floats
    effects: Effects


def marginal(sigma: Floats, surrogate: Surrogate, nest: Nesting) -> Marginal:
    """Integrate psi and eta out of the surrogate posterior; sigma (data set, n, S), above 0."""
    own = eliminated(sigma, surrogate, nest.scales)
    effects = _effects(own.bend - own.taken, sigma, nest)
    return Marginal(own.value.sum(axis=1) + effects.value, own.half, effects)


def draw(
    at: Marginal, sigma: Floats, nest: Nesting, for_eta: Floats, for_psi: Floats
) -> tuple[Floats, Floats]:
    """Draw eta, then psi given eta, from the surrogate posterior at sigma.

    Parameters
    ----------
    at, sigma
        `marginal(sigma, ...)` and its sigma, (data set, n, S).
    for_eta, for_psi
        Standard normals, (data set, n, P, D) and (data set, n, group, D).

    Returns
    -------
    eta (data set, n, P, D), psi (data set, n, group, D)
    """
    eta = _draw_eta(at.effects, sigma, nest, for_eta)
    return eta, draw_own(at.half, nest.middle(eta), sigma, nest.scales, for_psi)


def draw_effects(
    away: Floats, sigma: Floats, surrogate: Surrogate, nest: Nesting, for_eta: Floats
) -> Floats:
    """Draw eta given the interactions, from the surrogate posterior at sigma.

    Parameters
    ----------
    away
        The interactions, (data set, n, group, D).
    for_eta
        Standard normals, (data set, n, P, D).

    Returns
    -------
    eta (data set, n, P, D)
    """
    sets, n, groups, size = away.shape
    bent = (np.swapaxes(away, 1, 2) @ surrogate.curvature).transpose(3, 0, 1, 2)
    weight = np.empty((size, size + 1, sets, groups, n))
    weight[:, :size] = np.moveaxis(surrogate.curvature, (2, 3), (0, 1))[..., None]
    weight[:, size] = np.moveaxis(surrogate.linear, -1, 0)[..., None] - bent
    return _draw_eta(_effects(weight, sigma, nest), sigma, nest, for_eta)


def eta_given(psi: Floats, sigma: Floats, nest: Nesting, for_eta: Floats) -> Floats:
    """Draw eta given psi (data set, n, group, D) and sigma; no surrogate, coordinate by coordinate.

    for_eta: standard normals, (data set, n, P, D).
    """
    sd = np.moveaxis(nest.sds(sigma), -2, 0)
    precise = 1.0 / np.square(nest.scales.spread(sigma))
    rows = len(sd)
    system = np.empty((rows, rows + 1, *precise.shape))
    both = nest.design.T @ nest.design
    np.multiply(both[..., None, None, None], precise, out=system[:, :rows])
    system[:, :rows] *= sd
    system[:, :rows] *= sd[:, None]
    system[:, rows] = sd * precise * np.moveaxis(nest.design.T @ psi, -2, 0)
    flat = system.reshape(rows, rows + 1, -1)
    diagonal(flat)[...] += 1.0
    eliminate(flat)
    eta = flat[:, rows] + np.moveaxis(for_eta, -2, 0).reshape(rows, -1)
    back_solve(flat, eta)
    return np.ascontiguousarray(np.moveaxis(eta.reshape(sd.shape) * sd, 0, -2))


def translation_shapes(surrogate: Surrogate, nest: Nesting) -> Floats:
    """Shape of the random walk of a row of eta and the psi of its groups: (data set, P, D, D).

    A root of the inverse precision of that row given all interactions and other rows, at the centre
    of sigma.
    """
    sd = nest.sds(np.exp(surrogate.centre))
    bend = np.einsum("gp,rgij->rpij", nest.design, surrogate.curvature)
    return covariance_root(bend, sd)


def expand_nested(data: LabeledData, nest: Nesting) -> Surrogate:
    """Expand the log likelihood at the joint mode of the nested prior; see `surrogate.expand`."""
    rows, size = nest.ratio.shape

    def mode(surrogate: Surrogate) -> Floats:
        sets = len(surrogate.linear)
        sigma = np.exp(surrogate.centre)[:, None]
        none = np.zeros((sets, 1, rows, size)), np.zeros((sets, 1, data.groups, size))
        return draw(marginal(sigma, surrogate, nest), sigma, nest, *none)[1]

    return expand(data, nest.scales, mode)


def _effects(weight: Floats, sigma: Floats, nest: Nesting) -> Effects:
    """Integrate eta out, given the quadratic of each group in its middle.

    weight: [W | w], (D, D + 1, data set, group, n), of the groups' likelihood; the linear form is w
    . middle - middle . W . middle / 2.
    """
    order = _order(nest)
    size, _, sets, groups, n = weight.shape
    above, levels = len(order.top), order.leaf.stop - order.leaf.start
    wide = above * size
    sd = np.moveaxis(nest.sds(sigma), (2, 3), (0, 1))  # (P, D, data set, n)
    of_leaf, of_top = sd[order.leaf.start], sd[order.top].reshape(wide, sets, n)
    leaf = np.zeros((size, size + wide + 1, sets, levels, n))
    top = np.zeros((wide, wide + 1, sets, n))
    for g in range(groups):
        bend, pull = weight[:, :size, :, g], weight[:, size, :, g]
        level = order.level[g]
        leaf[:, -1, :, level] += pull
        for r in order.above[g]:
            rows = slice(r * size, (r + 1) * size)
            leaf[:, size + r * size : 2 * size + r * size, :, level] += bend
            top[rows, wide] += pull
            for q in order.above[g]:
                if q >= r:  # the upper half is enough
                    top[rows, q * size : (q + 1) * size] += bend
    leaf[:, :size] = leaf[:, size : 2 * size]  # every group has mu above it
    leaf[:, :size] *= of_leaf[None, :, :, None]
    leaf *= of_leaf[:, None, :, None]
    flat = leaf.reshape(size, size + wide + 1, -1)
    diagonal(flat)[...] += 1.0
    eliminate(flat)
    own = flat[:, -1]
    value = (0.5 * (own * own).sum(axis=0) - log_diagonal(flat)).reshape(sets, levels, n)
    taken = gram(flat[:, size:-1], flat[:, size:])
    top -= taken.reshape(wide, wide + 1, sets, levels, n).sum(axis=3)
    top[:, :-1] *= of_top
    top *= of_top[:, None]
    dense = top.reshape(wide, wide + 1, -1)
    diagonal(dense)[...] += 1.0
    eliminate(dense)
    own = dense[:, -1]
    rest = (0.5 * (own * own).sum(axis=0) - log_diagonal(dense)).reshape(sets, n)
    return Effects(value.sum(axis=1) + rest, leaf, dense)


def _draw_eta(at: Effects, sigma: Floats, nest: Nesting, for_eta: Floats) -> Floats:
    """Draw eta, (data set, n, P, D), given its factors and standard normals of that shape."""
    order = _order(nest)
    sets, n, rows, size = for_eta.shape
    wide = len(order.top) * size
    sd = np.moveaxis(nest.sds(sigma), (2, 3), (0, 1))
    noise = np.moveaxis(for_eta, (2, 3), (0, 1))
    top = at.top[:, -1] + noise[order.top].reshape(wide, -1)
    back_solve(at.top, top)
    top = top.reshape(wide, sets, n) * sd[order.top].reshape(wide, sets, n)
    leaf = at.leaf[:, -1] + noise[order.leaf].transpose(1, 2, 0, 3)
    leaf -= np.einsum("ijrln,jrn->irln", at.leaf[:, size:-1], top)
    flat = leaf.reshape(size, -1)
    back_solve(at.leaf.reshape(size, size + wide + 1, -1), flat)
    eta = np.empty((rows, size, sets, n))
    eta[order.top] = top.reshape(-1, size, sets, n)
    eta[order.leaf] = flat.reshape(leaf.shape).transpose(2, 0, 1, 3) * sd[order.leaf]
    return np.ascontiguousarray(np.moveaxis(eta, (0, 1), (2, 3)))
