"""Trust: how far the rate of positives may stray from the calibration curve.

A curve with three parameters is wrong somewhere. So the scores are cut into regions, and in a
region the log odds may deviate from the curve:

    log odds of row i in group g = logit f(s_i; a_g, b_g, c_g) + sum_j x_ij w_gj
    w_gj ~ N(v_j, own_j tau),        tau ~ TN(0, tau_sd)
    v_j ~ N(0, common_j omega),      omega ~ TN(0, omega_sd)

The deviations of the groups share v, as the curves share mu. omega says how far to trust the curve
in its form, tau how far the groups go their own ways from it. omega = tau = 0 is the paper's
Bayesian calibration. As they grow each region has a rate of its own, and where the scores of a
region are equal its rate given the labels tends to Beta(positives, negatives): the beta-binomial
from labels alone, post-stratified. The data choose between: this is how variance is traded against
bias, an open question of Ji, Smyth and Steyvers (NeurIPS 2020, section 6).

The deviations of log odds are normal where a beta-binomial would make the rates beta: so columns
may overlap, groups may share them, and nothing is lost of where in its region a row lies. The
scales of omega and tau are a choice, and keep both below the size at which labels alone would speak
(`Trust` sets others).

Regions are three per predicted class, with as many rows of all groups in each, and one for each
mass of scores at a clipping bound and predicted class. The columns x_j are

    jump      1/2 for rows predicted positive, -1/2 for the others: a curve that is right on one
              side of the threshold and wrong on the other
    bend      two orthonormal contrasts of the three regions of a class
    mass      1 for the rows at a clipping bound, where scores say no more than "very low" or "very
              high". A mass of 5 % or more of a group's rows, and 1 % of all, does not belong on the
              curve: its log odds are base + w_g, base is -3.5 or 3.5 (a rate of 3 or 97 %; less
              where the bound is less), the scale of v is wide and fixed, and groups differ as they
              differ in c: w_g ~ N(v, sigma_c).

Both scales are in log odds. A rate f known from n labels has an error of 1 / sqrt(n f (1 - f)) in
log odds, so a curve from which a group deviates by a standard deviation d is worth 1 / (d^2 f (1 -
f)) labels in each region (`worth`). The line "trust:" of a report says so.

`trust=False` (`--no-trust`) is the paper's model, the curve alone; `trust=lf.Trust(omega_sd=0.2,
tau_sd=0.1)` trusts it more. Coverage of 95 % intervals for differences in accuracy, TPR and FPR on
the authors' released scores (10 pairs of data set and attribute, 4 models, 10 to 1,000 labels, 200
samples each, nothing tuned on them): 97.1 % on average with trust, 93.4 % without. All cells are in
bench/COVERAGE.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats
from ..data.messages import lies_in
from ..data.nodes import CELL_WIDTH
from ..data.table import ScoreTable
from .curve import LARGEST_SD, Features, Prior
from .scales import Scales, curve_scales, with_deviations

JUMP = (1.4, 1.0)  # standard deviations: common in units of omega, own in units of tau

BEND = (0.7, 1.0)

RATIOS = {"jump": JUMP, "bend": BEND}

MASS_OWN = 1.0  # in units of sigma_c: groups differ in a mass as they differ in c

MASS_BASE = 3.5  # log odds, at most those of the bound

MASS_LIMIT = 0.05  # share of a group's rows

MASS_LIMIT_OVERALL = 0.01  # share of all rows: one row of a small group is no mass

EDGE_GRID = 0.1  # of the logit: edges are edges of cells, so that no cell is cut

CONTRASTS = {
    1: np.zeros((0, 1)),
    2: np.array([[-1.0, 1.0]]) / math.sqrt(2.0),
    3: np.array([[-1.0, 0.0, 1.0], [1.0, -2.0, 1.0]]) / np.sqrt([[2.0], [6.0]]),
}

LOW, HIGH = 0, 1  # the masses at the lower and the upper bound

SMALLEST_SD = 1e-6

NOWHERE = "no region of the scores can deviate from the curve"


@dataclass(frozen=True)
class Trust:
    """The scales of the deviations, standard deviations in log odds.

    omega_sd and tau_sd are the scales of omega and tau: small means that the curve is trusted. They
    were chosen by the coverage of intervals on real scores (bench/COVERAGE.md). mass_sd is how far
    the log odds of a mass of scores at a clipping bound may be from -3.5 or 3.5.

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
    tau_sd: float = 0.2
    mass_sd: float = 2.0

    def __post_init__(self) -> None:
        for name in ("omega_sd", "tau_sd", "mass_sd"):
            value = getattr(self, name)
            if not (lies_in(value, 0.0, np.inf) and SMALLEST_SD <= value <= LARGEST_SD):
                raise ValueError(
                    f"Trust.{name} must lie in [{SMALLEST_SD:g}, {LARGEST_SD:g}]; got {value!r}; "
                    "it is a standard deviation in log odds; trust=False is the curve alone"
                )
            object.__setattr__(self, name, float(value))

    def to_dict(self) -> dict[str, float]:
        """Return the scales by name."""
        return {"omega_sd": self.omega_sd, "tau_sd": self.tau_sd, "mass_sd": self.mass_sd}


def check_trust(trust: Any) -> Trust | None:
    """Return the scales that `trust` asks for: True, False or None, or a Trust."""
    if trust is None or isinstance(trust, (bool, np.bool_)):
        return Trust() if trust else None
    if isinstance(trust, Trust):
        return trust
    raise ValueError(f"trust must be True, False or a lightfair.Trust; got {trust!r}")


class Regions(NamedTuple):
    """Where the deviations live.

    edges: inner edges of each predicted class on the logit axis; bounds: logits of the clipping
    bounds; masses: bound (0 lower, 1 upper) and predicted class of each mass; first: first region
    of each predicted class, and of the masses; loadings: float64 (region, J), the columns of each
    region; on_curve: float64 (region,), 1 where the curve holds and 0 in a mass; base: float64
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

    def of(self, stratum: npt.NDArray[np.int64], logit: Floats) -> npt.NDArray[np.int64]:
        """Return the region of nodes, int64, given their stratum (as in `table`) and logit."""
        predicted = stratum // 3 % 2
        region = np.zeros(len(logit), dtype=np.int64)
        for side in (0, 1):
            mine = predicted == side
            inner = np.searchsorted(self.edges[side], logit[mine], side="right")
            region[mine] = self.first[side] + inner
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
    none = np.zeros(0)
    return Regions(
        (none, none),
        (-np.inf, np.inf),
        (),
        (0, 0, 1),
        np.zeros((1, 0)),
        np.ones(1),
        np.zeros(1),
        (),
    )


def regions(table: ScoreTable) -> Regions:
    """Cut the scores of a table, rows of all groups and labels together, into regions."""
    bounds = table.bounds()
    groups = len(table.groups)
    stratum, logit, rows = rows_on_axis(table)
    predicted = stratum // 3 % 2
    beyond = (logit <= bounds[LOW], logit >= bounds[HIGH])
    total = np.bincount(stratum // 6, rows, minlength=groups)
    masses: list[tuple[int, int]] = []
    on_curve = np.ones(len(logit), dtype=bool)
    for bound, at in enumerate(beyond):
        mine = np.bincount(stratum[at] // 6, rows[at], minlength=groups)
        large = (mine >= MASS_LIMIT * np.maximum(total, 1.0)).any()
        if large and mine.sum() >= MASS_LIMIT_OVERALL * total.sum():
            masses += [(bound, int(side)) for side in np.unique(predicted[at])]
            on_curve &= ~at
    edges = []
    sides = []
    for side in (0, 1):
        mine = on_curve & (predicted == side)
        edges.append(_edges(logit[mine], rows[mine]))
        sides.append(bool(mine.any()))
    counts = [len(inner) + 1 for inner in edges]
    first = (0, counts[0], counts[0] + counts[1])
    columns: list[Floats] = []
    names: list[str] = []
    size = first[2] + len(masses)
    if all(sides):
        jump = np.zeros(size)
        jump[: counts[0]], jump[counts[0] : first[2]] = -0.5, 0.5
        columns.append(jump)
        names.append("jump")
    for side in (0, 1):
        for contrast in CONTRASTS[counts[side]]:
            bend = np.zeros(size)
            bend[first[side] : first[side] + counts[side]] = contrast
            columns.append(bend)
            names.append("bend")
    for place in range(len(masses)):
        columns.append((np.arange(size) == first[2] + place).astype(np.float64))
        names.append("mass")
    base = [float(np.clip(bounds[bound], -MASS_BASE, MASS_BASE)) for bound, _ in masses]
    return Regions(
        (edges[0], edges[1]),
        (float(bounds[LOW]), float(bounds[HIGH])),
        tuple(masses),
        first,
        np.stack(columns, axis=1) if columns else np.zeros((size, 0)),
        (np.arange(size) < first[2]).astype(np.float64),
        np.concatenate([np.zeros(first[2]), base]),
        tuple(names),
    )


def trusted_scales(prior: Prior, trust: Trust | None, where: Regions) -> Scales:
    """Return the scales of the curve and of the deviations in some regions."""
    scales = curve_scales(prior)
    if trust is None:
        return scales
    ratios = {**RATIOS, "mass": (trust.mass_sd, MASS_OWN)}
    return with_deviations(
        scales,
        trust.omega_sd,
        trust.tau_sd,
        own=[ratios[name][1] for name in where.names],
        common=[ratios[name][0] for name in where.names],
        loose=[name == "mass" for name in where.names],
    )


def worth(omega: Any, tau: Any, rate: float, where: Regions) -> Floats:
    """Return how many labels of a group in a region tell as much of its rate as the curve does.

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
    inside = np.array([name in RATIOS for name in where.names], dtype=bool)
    ratios = np.array([RATIOS[name] for name in where.names if name in RATIOS]).reshape(-1, 2)
    squares = (where.loadings[where.on_curve > 0.0] ** 2)[:, inside]
    squares = squares[squares.any(axis=1)]
    mean = squares.mean(axis=0) if len(squares) else np.zeros(int(inside.sum()))
    common, own = mean @ ratios**2
    variance = common * np.square(omega) + own * np.square(tau)
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / (variance * rate * (1.0 - rate)))


def rows_on_axis(table: ScoreTable) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
    """Stratum, logit and number of rows of every point and cell of a table.

    Both at the centre of their cell, so that the regions of some rows are the same however they
    came into the table; but points at a bound are left there.
    """
    points, cells = table.points, table.cells
    low, high = table.bounds()
    inside = (points.logit > low) & (points.logit < high)
    centre = (np.floor(points.logit / CELL_WIDTH) + 0.5) * CELL_WIDTH
    return (
        np.concatenate([points.stratum, cells.stratum]),
        np.concatenate([np.where(inside, centre, points.logit), (cells.cell + 0.5) * CELL_WIDTH]),
        np.concatenate([points.rows, cells.rows]),
    )


def _edges(logit: Floats, rows: Floats) -> Floats:
    """Inner edges of three regions with as many rows each, on the grid; fewer where they meet."""
    if not len(logit):
        return np.zeros(0)
    order = np.argsort(logit, kind="stable")
    below = np.cumsum(rows[order])
    thirds = below[-1] * np.array([1.0, 2.0]) / 3.0
    above = np.searchsorted(below, thirds * (1.0 + 1e-12), side="right")  # first of a new third
    inside = np.unique(np.floor(logit[order][above] / EDGE_GRID + 1e-9)) * EDGE_GRID
    keep = (inside > logit.min()) & (inside <= logit.max())
    return np.asarray(inside[keep])
