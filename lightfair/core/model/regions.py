"""Model discrepancy: deviations of the rate of positives from the calibration curve, by region.

A curve with three parameters is misspecified somewhere. So the scores are cut into regions, and in
a region the log odds may deviate from the curve:

    log odds of row i in group g = logit f(s_i; a_g, b_g, c_g) + sum_j x_ij w_gj
    w_gj ~ N(v_j, own_j tau),        tau ~ TN(0, tau_sd)
    v_j ~ N(0, common_j omega),      omega ~ TN(0, omega_sd)

A group may also be apart from the others: its scores mean something else there, or nothing. With
chance `Trust.apart` each, independently, the whole curve of a group is drawn from a wide prior
around a weak slope in place of that above:

    log a_g, log b_g ~ N(mu - 2, 1),   c_g ~ N(mu_c, 1),   w_gj ~ N(v_j, 1)

A few dozen labels can show that. `result.posterior.apart` has the draws of which groups are.

The deviations of the groups share v, as the curves share mu. omega is the discrepancy of the form
of the curve, tau that between groups. omega = tau = 0 is the paper's Bayesian calibration. As they
grow each region has a rate of its own, and where the scores of a region are equal its posterior
tends to Beta(positives, negatives): the labels-only beta-binomial, post-stratified. The data choose
between the two: this trades variance against bias, an open question of Ji, Smyth and Steyvers
(NeurIPS 2020, section 6).

Deviations of log odds are normal where a beta-binomial would make rates beta, so columns may
overlap, groups may share them, and the position of a row within its region still counts. The scales
of omega and tau are a choice, smaller than those at which labels-only estimates would dominate
(`Trust` sets others).

Regions are three per predicted class, with equally many rows of all groups, and one for each point
mass of scores at a clipping bound and predicted class. The columns x_j are

    jump      1/2 for rows predicted positive, -1/2 for the others: a curve that is right on one
              side of the threshold and wrong on the other
    bend      two orthonormal contrasts of the three regions of a class
    mass      1 for the rows at a clipping bound, whose scores mean no more than "very low" or "very
              high". A point mass of 5 % or more of a group's rows, and 1 % of all, is not on the
              curve: its log odds are base + w_g, base is -3.5 or 3.5 (a rate of 3 or 97 %; less if
              the bound is less), the scale of v is wide and fixed, and groups differ as they differ
              in c: w_g ~ N(v, sigma_c).

Both scales are in log odds. A rate f estimated from n labels has an error of 1 / sqrt(n f (1 - f))
in log odds, so a curve from which a group deviates by a standard deviation d is worth 1 / (d^2 f
(1 - f)) labels in each region (`worth`).

`trust=False` (`--no-trust`) is the paper's model without deviations; `trust=lf.Trust(omega_sd=0.2,
apart=0.0)` has smaller ones, and groups that are alike. How often intervals cover where a group
does not follow the others is in bench/STRESS.md.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats, Ints
from ..data.nodes import CELL_WIDTH
from ..data.table import ScoreTable
from .curve import Features, Prior, check_scale
from .scales import SIGMA_C, Scales, curve_scales

# standard deviations of common and own part, in units of omega and tau
RATIOS = {"jump": (1.4, 1.0), "bend": (0.7, 1.0)}

MASS_OWN = 1.0  # in units of sigma_c: groups differ in a point mass as they differ in c

MASS_BASE = 3.5  # log odds, at most those of the bound

MASS_LIMIT = 0.05  # share of a group's rows

MASS_LIMIT_OVERALL = 0.01  # share of all rows: one row of a small group is not a point mass

EDGE_GRID = 0.1  # of the logit: edges are edges of cells, so that no cell is cut

CONTRASTS = {
    1: np.zeros((0, 1)),
    2: np.array([[-1.0, 1.0]]) / math.sqrt(2.0),
    3: np.array([[-1.0, 0.0, 1.0], [1.0, -2.0, 1.0]]) / np.sqrt([[2.0], [6.0]]),
}

APART_SLOPE = -2.0  # of a group apart: mean of log a and log b, beside those of the others

APART_SD = 1.0  # of each coordinate, deviations too: scores may even be reversed there

LOW, HIGH = 0, 1  # the masses at the lower and the upper bound

NOWHERE = "no region of the scores can deviate from the curve"


@dataclass(frozen=True)
class Trust:
    """The discrepancy prior: scales of the deviations, standard deviations in log odds.

    omega_sd and tau_sd are the scales of omega and tau: the smaller, the more the curve is trusted.
    apart, in [0, 1), is the chance a priori that the curve of a group is unlike those of the others
    (0: they are alike); it has no effect with one group, without hierarchy or under the nested
    prior. mass_sd is the scale of the log odds of a point mass at a clipping bound around -3.5 or
    3.5. The defaults were chosen by the coverage of intervals on real scores and on sets in which a
    group does not follow the others (bench/STRESS.md).

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=500, labeled=50, rng=1)
    >>> closer = lf.Trust(omega_sd=0.2, tau_sd=0.1)
    >>> result = lf.assess(
    ...     rows.y_true, rows.y_score, sensitive_features=rows.group, trust=closer, rng=1
    ... )
    >>> bool(0 < result.posterior.omega.mean() < 0.3)
    True
    """

    omega_sd: float = 0.4
    tau_sd: float = 0.1
    mass_sd: float = 2.0
    apart: float = 0.06

    def __post_init__(self) -> None:
        if not (isinstance(self.apart, (int, float)) and 0.0 <= self.apart < 1.0):
            raise ValueError(f"Trust.apart must lie in [0, 1); got {self.apart!r}; it is a chance")
        for name, value in vars(self).items():
            if name != "apart":
                check_scale(f"Trust.{name}", value)
            object.__setattr__(self, name, float(value))

    def to_dict(self) -> dict[str, float]:
        """Return the scales by name."""
        return dict(vars(self))


def check_trust(trust: Any) -> Trust | None:
    """Return the scales of `trust`: True, False, None or a Trust. None means no deviations."""
    if trust is None or isinstance(trust, (bool, np.bool_)):
        return Trust() if trust else None
    if isinstance(trust, Trust):
        return trust
    raise ValueError(f"trust must be True, False or a Trust; got {trust!r}")


class Regions(NamedTuple):
    """Regions of the scores in which the log odds deviate from the curve.

    edges: inner edges of each predicted class on the logit axis; bounds: logits of the clipping
    bounds; masses: bound (0 lower, 1 upper) and predicted class of each point mass; first: first
    region of each predicted class, and of the masses; loadings: float64 (region, J), the columns of
    each region; on_curve: float64 (region,), 1 where the curve holds and 0 in a mass; base: float64
    (region,), log odds of a mass before its deviation, 0 on the curve; names: of the columns.
    """

    edges: tuple[Floats, Floats]
    bounds: tuple[float, float]
    masses: tuple[tuple[int, int], ...]
    first: tuple[int, int, int]
    loadings: Floats
    on_curve: Floats
    base: Floats
    names: tuple[str, ...]

    def of(self, stratum: Ints, logit: Floats) -> Ints:
        """Return the region of nodes, intp, given their stratum (as in `table`) and logit."""
        predicted = stratum // 3 % 2
        region = np.zeros(len(logit), dtype=np.intp)
        for side in (0, 1):
            here = predicted == side
            inner = np.searchsorted(self.edges[side], logit[here], side="right")
            region[here] = self.first[side] + inner
        beyond = (logit <= self.bounds[LOW], logit >= self.bounds[HIGH])
        for place, (bound, side) in enumerate(self.masses):
            region[beyond[bound] & (predicted == side)] = self.first[2] + place
        return region

    def design(self, seen: Features, region: npt.NDArray[np.integer]) -> Floats:
        """Return the columns of a, b, c and the deviations at nodes, float64 (3 + J, node)."""
        holds = self.on_curve[region]
        curve = [seen.up * holds, seen.down * holds, seen.offset * holds]
        return np.ascontiguousarray(np.vstack([*curve, self.loadings[region].T]))


def no_regions() -> Regions:
    """Return one region without columns: the curve alone."""
    none, one = np.zeros(0), np.ones(1)
    bounds = (-np.inf, np.inf)
    return Regions((none, none), bounds, (), (0, 0, 1), np.zeros((1, 0)), one, np.zeros(1), ())


def regions(table: ScoreTable) -> Regions:
    """Cut the scores of a table, rows of all groups and labels together, into regions."""
    low, high = map(float, table.bounds())
    stratum, logit, rows = rows_on_axis(table)
    group, predicted = stratum // 6, stratum // 3 % 2
    total = np.bincount(group, rows, minlength=len(table.groups))
    masses: list[tuple[int, int]] = []
    curve = np.ones(len(logit), dtype=bool)
    for bound, at in enumerate((logit <= low, logit >= high)):
        mass = np.bincount(group[at], rows[at], minlength=len(table.groups))
        large = (mass >= MASS_LIMIT * np.maximum(total, 1.0)).any()
        if large and mass.sum() >= MASS_LIMIT_OVERALL * total.sum():
            masses += [(bound, int(side)) for side in np.unique(predicted[at])]
            curve &= ~at
    sides = [curve & (predicted == side) for side in (0, 1)]
    edges = [_edges(logit[side], rows[side]) for side in sides]
    first = (0, len(edges[0]) + 1, len(edges[0]) + len(edges[1]) + 2)
    size = first[2] + len(masses)
    index = np.arange(size)
    columns: list[tuple[str, Floats]] = []
    if all(side.any() for side in sides):
        columns.append(("jump", np.where(index < first[1], -0.5, 0.5) * (index < first[2])))
    for start, end in itertools.pairwise(first):
        contrasts = np.pad(CONTRASTS[end - start], ((0, 0), (start, size - end)))
        columns += [("bend", contrast) for contrast in contrasts]
    columns += [("mass", (index == place) * 1.0) for place in range(first[2], size)]
    base = [float(np.clip((low, high)[bound], -MASS_BASE, MASS_BASE)) for bound, _ in masses]
    return Regions(
        edges=(edges[0], edges[1]),
        bounds=(low, high),
        masses=tuple(masses),
        first=first,
        loadings=np.array([column for _, column in columns]).reshape(-1, size).T.copy(),
        on_curve=(index < first[2]).astype(np.float64),
        base=np.concatenate([np.zeros(first[2]), base]),
        names=tuple(name for name, _ in columns),
    )


def trusted_scales(prior: Prior, trust: Trust | None, where: Regions) -> Scales:
    """Return the scales of the curve and of the deviations in some regions.

    With trust, omega and tau follow the three sigma of the curve. The location of a deviation is in
    units of omega, its spread in units of tau. A point mass is like a c of its own: its location
    has a fixed scale, its spread is in units of sigma_c.
    """
    scales = curve_scales(prior)
    if trust is None:
        return scales
    ratios = {**RATIOS, "mass": (trust.mass_sd, MASS_OWN)}
    common, own = np.reshape([ratios[name] for name in where.names], (-1, 2)).T
    mass = np.array([name == "mass" for name in where.names], dtype=bool)
    omega, tau, none = 3, 4, 5
    return Scales(
        np.append(scales.sd, [trust.omega_sd, trust.tau_sd]),
        np.append(scales.own, own),
        np.append(scales.common, common),
        np.append(scales.own_of, np.where(mass, SIGMA_C, tau)),
        np.append([none] * 3, np.where(mass, none, omega)),
        np.append(scales.centre, np.zeros(len(mass))),
        np.full(3 + len(mass), APART_SD),
        np.append([APART_SLOPE, APART_SLOPE, 0.0], np.zeros(len(mass))),
        trust.apart,
    )


def worth(omega: Any, tau: Any, rate: float, where: Regions) -> Floats:
    """Return the number of labels of a group in a region as informative as the curve.

    Parameters
    ----------
    omega, tau
        Scales of the deviations, above 0, any shape.
    rate
        Share of positives in the region, in (0, 1).
    where
        The regions. If none of them can deviate from the curve the answer is infinite.

    Notes
    -----
    The prior variance of a group's deviation, given the curve, is the mean over the regions that
    can deviate; with n labels the log odds have a sampling variance of 1 / (n f (1 - f)).
    """
    ratios = np.array([RATIOS.get(name, (0.0, 0.0)) for name in where.names]).reshape(-1, 2)
    squares = where.loadings[where.on_curve > 0.0] ** 2
    squares = squares[squares.any(axis=1)]
    common, own = squares.sum(axis=0) @ ratios**2 / max(len(squares), 1)
    variance = common * np.square(omega) + own * np.square(tau)
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / (variance * rate * (1.0 - rate)))


def rows_on_axis(table: ScoreTable) -> tuple[Ints, Floats, Floats]:
    """Return stratum, logit and number of rows of every point and cell of a table.

    Both at the centre of their cell, so that regions do not depend on how rows came into the table,
    except points at a bound.
    """
    points, cells = table.points, table.cells
    return (
        np.concatenate([points.stratum, cells.stratum]),
        np.concatenate([centred(points.logit, table), (cells.cell + 0.5) * CELL_WIDTH]),
        np.concatenate([points.rows, cells.rows]),
    )


def centred(logit: Floats, table: ScoreTable) -> Floats:
    """Return the centres of the cells of logits; at the bounds of a table they stay where they are.

    The others share the region of their cell.
    """
    low, high = table.bounds()
    centre = (np.floor(logit / CELL_WIDTH) + 0.5) * CELL_WIDTH
    return np.where((logit > low) & (logit < high), centre, logit)


def _edges(logit: Floats, rows: Floats) -> Floats:
    """Inner edges of three regions with equally many rows, on the grid; fewer if they coincide."""
    if not len(logit):
        return np.zeros(0)
    order = np.argsort(logit, kind="stable")
    below = np.cumsum(rows[order])
    thirds = below[-1] * np.array([1.0, 2.0]) / 3.0
    above = np.searchsorted(below, thirds * (1.0 + 1e-12), side="right")  # first of a new third
    inside = np.unique(np.floor(logit[order][above] / EDGE_GRID + 1e-9)) * EDGE_GRID
    keep = (inside > logit.min()) & (inside <= logit.max())
    return np.asarray(inside[keep])
