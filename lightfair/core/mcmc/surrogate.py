"""The surrogate: an approximation of the posterior from which whole states are drawn.

The log odds of a curve are linear in theta = (a, b, c, deviations), so a group's log likelihood is
that of a logistic regression and close to a quadratic in theta, at any number of labels: fitted to
draws, it is off by a standard deviation of 0.01 at 5,000 labels and of 0.1 at 10, where one in log
a and log b is off by 0.7 and 0.2 (`Surrogate`). The prior is Gaussian in psi = (log a, log b, c,
deviations), given the hyperparameters

    hyper = (x_1, ..., x_S, mu_a / its sd, mu_b / its sd),   sigma_k = sd_k F(x_k)

which are standard normal a priori (F maps a standard normal to a half-normal). Given hyper, log a
and log b of a group lie near mu_a and mu_b, so there a and b are all but linear in them (`Local`).
All of eta and psi is then Gaussian: it integrates out in closed form, which gives the marginal
likelihood of hyper, and an exact draw costs a Cholesky factor of each group. hyper itself is
proposed from a linear map of independent t distributed numbers, fitted in warm-up.

Everything here is a function of arrays, vectorised over data sets, proposals and groups. In
matrices and their batches the axes of the matrix come first, as in `linalg`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from ..data.logit import Floats
from .hierarchy import Hierarchy
from .linalg import back_solve, diagonal, eliminate, gram, log_diagonal

FREEDOM = 5.0  # degrees of freedom of the proposal of hyper

PASSES = 2  # linearizations: at the usual psi, then at the most probable one given hyper

LEAST_SKEW = 0.05  # of the draws of log a and log b, at most 1

FARTHEST = 1.0  # of log a and log b below the usual ones, in the second linearization

LARGEST, WIDEST = 50.0, 1000.0  # log a and log b, c and deviations that can be accepted


class Surrogate(NamedTuple):
    """Quadratic log likelihoods of the groups, and the proposal of hyper.

    curvature: float64 (data set, group, D, D), positive semi-definite, and linear: (data set,
    group, D), so that a group's log likelihood is about theta . linear - theta . curvature . theta
    / 2; centre (data set, V) and root (data set, V, V), of the proposal of (x, y), centre + root t,
    where t are independent and t distributed, and y is mu_a and mu_b in the units of `_focus`;
    level: (data set, group, 2), the usual log a and log b; noise: (data set, 2), variance of their
    mean over the groups; apart: (data set, group), chance with which a group is proposed apart.
    """

    curvature: Floats
    linear: Floats
    centre: Floats
    root: Floats
    level: Floats
    noise: Floats
    apart: Floats


class Local(NamedTuple):
    """Where theta is linear in psi: shift + factor (psi - place), for a and b; as psi for the rest.

    All float64, (2, data set, group, n); place is mu_a and mu_b, shifted for groups apart.
    """

    place: Floats
    shift: Floats
    factor: Floats


class Conditional(NamedTuple):
    """The surrogate posterior of psi at given hyper and eta.

    half, [L' | L^-1 S [H | h]] of each group, L the Cholesky factor of I + S H S, (D, 2 D + 1, data
    set, group, n), where rows, and columns of L', are the coordinates in reverse; spread of psi (D,
    data set, group, n).
    """

    local: Local
    half: Floats
    spread: Floats


class Integrated(NamedTuple):
    """The surrogate posterior at given hyper, with eta and psi integrated out.

    value: (data set, n), log marginal likelihood of hyper. The rest is what `draw` needs: of psi
    given eta; top, as `half`, of eta in units of its prior, (P D, P D + 1, data set * n); sds of
    eta (P D, data set, n).
    """

    psi: Conditional
    value: Floats
    top: Floats
    sds: Floats


System = TypeVar("System")


def sigma_of(hyper: Floats, prior: Hierarchy) -> Floats:
    """Scales (..., S), given hyper (..., V)."""
    from scipy.special import log_ndtr, ndtri_exp

    sd = prior.scales.sd
    tail = log_ndtr(-hyper[..., : len(sd)]) - math.log(2.0)  # beyond x = 38 the tail itself is 0
    return np.asarray(sd * np.maximum(-ndtri_exp(tail), 1e-12))


def place_of(hyper: Floats, prior: Hierarchy) -> Floats:
    """mu_a and mu_b (..., 2), given hyper (..., V)."""
    return np.asarray(prior.scales.centre[:2] + hyper[..., -2:] * prior.scales.common[:2])


def group_place(place: Floats, apart: Floats, prior: Hierarchy) -> Floats:
    """Centre of log a and log b of each group, (..., group, 2), without effects."""
    return np.asarray(place[..., None, :] + apart[..., None] * prior.scales.shift[:2])


def hyper_of(sigma: Floats, place: Floats, prior: Hierarchy) -> Floats:
    """The inverse of `sigma_of` and `place_of`."""
    from scipy.special import log_ndtr, ndtri_exp

    x = -ndtri_exp(np.minimum(log_ndtr(-sigma / prior.scales.sd) + math.log(2.0), -1e-16))
    far = (place - prior.scales.centre[:2]) / prior.scales.common[:2]
    return np.concatenate([x, far], axis=-1)


def integrated(
    sigma: Floats, place: Floats, apart: Floats, surrogate: Surrogate, prior: Hierarchy
) -> Integrated:
    """Linearize the surrogate given hyper and integrate eta and psi out of it.

    Parameters
    ----------
    sigma, place, apart
        float64 (data set, n, S), above 0, (data set, n, 2), and (data set, n, group), 1 or 0.
    """

    def integrate(local: Local) -> Integrated:
        return integrated_at(local, sigma, apart, surrogate, prior, fixed=True)

    at = group_place(place, apart, prior)
    return _near_mode(integrate, lambda system: draw(system, prior)[1], at, surrogate)


def conditional(
    eta: Floats,
    sigma: Floats,
    place: Floats,
    apart: Floats,
    surrogate: Surrogate,
    prior: Hierarchy,
) -> Conditional:
    """Linearize the surrogate given hyper, as in `integrated`, and eta, as from `draw`."""

    def condition(local: Local) -> Conditional:
        return _conditioned(local, sigma, apart, surrogate, prior)[0]

    at = group_place(place, apart, prior)
    return _near_mode(condition, lambda system: draw_given(eta, system, prior), at, surrogate)


def _near_mode(
    solve: Callable[[Local], System],
    mode: Callable[[System], Floats],
    place: Floats,
    surrogate: Surrogate,
) -> System:
    """Return what is solved at the linearization near its own mode of psi - place.

    place: (data set, n, group, 2).
    """
    at = place.transpose(3, 0, 2, 1)
    start = np.moveaxis(surrogate.level, -1, 0)[..., None]
    for _ in range(PASSES - 1):
        start = start + _step(at + mode(solve(linearized(at, start)))[:2] - start)
    return solve(linearized(at, start))


def _step(far: Floats) -> Floats:
    """How far to move log a and log b, given how far off the linearized mode is.

    To where a and b are those of the mode, if they are larger: the data are most of it then.
    """
    return np.asarray(np.log1p(np.maximum(far, 0.0)) + np.clip(far, -FARTHEST, 0.0))


def linearized(place: Floats, start: Floats) -> Local:
    """Linearize a and b at log a and log b of start, (2, data set, group, n)."""
    factor = np.exp(start)
    return Local(place, factor * (1.0 - (start - place)), factor)


def _conditioned(
    local: Local, sigma: Floats, apart: Floats, surrogate: Surrogate, prior: Hierarchy
) -> tuple[Conditional, Floats, Floats]:
    """Psi given eta, the likelihood [H | h] of psi - place, and its constant, at 0."""
    shift, factor = local.shift, local.factor
    size = len(prior.scales.own)
    sets, n, _ = sigma.shape
    groups = shift.shape[2]
    bend = np.empty((size, size + 1, sets, groups, n))
    bend[:, :size] = np.moveaxis(surrogate.curvature, (2, 3), (0, 1))[..., None]
    bend[:, size] = np.moveaxis(surrogate.linear, -1, 0)[..., None]
    constant = (shift * bend[:2, size]).sum(axis=0)
    bend[:, size] -= bend[:, 0] * shift[0] + bend[:, 1] * shift[1]
    constant = 0.5 * (constant + (shift * bend[:2, size]).sum(axis=0))
    bend[:2] *= factor[:, None]
    bend[:, :2] *= factor
    spread = prior.scales.spread(sigma, apart).transpose(3, 0, 2, 1)
    half = np.empty((size, 2 * size + 1, sets, groups, n))
    np.multiply(spread[::-1, None], bend[::-1], out=half[:, size:])
    np.multiply(half[:, size : 2 * size], spread, out=half[:, size - 1 :: -1])
    flat = half.reshape(size, 2 * size + 1, -1)
    diagonal(flat)[...] += 1.0
    eliminate(flat)
    return Conditional(local, half, spread), bend, constant


def integrated_at(
    local: Local,
    sigma: Floats,
    apart: Floats,
    surrogate: Surrogate,
    prior: Hierarchy,
    fixed: bool,
) -> Integrated:
    """Integrate; fixed: whether mu_a and mu_b are those of `local`, else they have their prior."""
    psi, bend, constant = _conditioned(local, sigma, apart, surrogate, prior)
    size = len(prior.scales.own)
    flat = psi.half.reshape(size, 2 * size + 1, -1)
    own = flat[:, 2 * size]
    value = 0.5 * (own * own).sum(axis=0) - log_diagonal(flat)
    bend -= gram(flat[:, size : 2 * size], flat[:, size:]).reshape(bend.shape)
    sds = np.moveaxis(prior.sds(sigma), (2, 3), (0, 1))
    if fixed:
        sds[-1, :2] = 0.0
    top = _effects(bend, sds, prior)
    pull = top[:, -1]
    total = (value.reshape(constant.shape) + constant).sum(axis=1)
    total += (0.5 * (pull * pull).sum(axis=0) - log_diagonal(top)).reshape(total.shape)
    return Integrated(psi, total, top, sds.reshape(-1, *total.shape))


def _effects(weight: Floats, sds: Floats, prior: Hierarchy) -> Floats:
    """Factor the precision of eta in units of sds, (P, D, data set, n), given its likelihood.

    weight: [W | w], (D, D + 1, data set, group, n), of each group's middle.
    """
    rows, size, sets, n = sds.shape
    top = np.zeros((rows, size, rows * size + 1, sets, n))
    for r in range(rows):
        for q in range(r, rows):  # the upper half is enough
            both = np.flatnonzero(prior.design[:, r] * prior.design[:, q])
            if len(both):
                top[r, :, q * size : (q + 1) * size] = weight[:, :size, :, both].sum(axis=3)
        top[r, :, -1] = weight[:, size, :, np.flatnonzero(prior.design[:, r])].sum(axis=0)
    flat = top.reshape(rows * size, rows * size + 1, sets, n)
    scale = sds.reshape(rows * size, sets, n)
    flat *= scale[:, None]
    flat[:, :-1] *= scale
    system: Floats = flat.reshape(rows * size, rows * size + 1, -1)
    diagonal(system)[...] += 1.0
    eliminate(system)
    return system


def draw(
    at: Integrated, prior: Hierarchy, for_eta: Floats | None = None, for_psi: Floats | None = None
) -> tuple[Floats, Floats]:
    """Draw eta, then psi given eta, both without mu_a and mu_b; without noise the linearized mode.

    Parameters
    ----------
    for_eta, for_psi
        Standard normals, (P D, data set, n) and (D, data set, group, n).

    Returns
    -------
    eta (P, D, data set, n), psi - place (D, data set, group, n)
    """
    rows, size = prior.ratio.shape
    eta = at.top[:, -1].copy()
    if for_eta is not None:
        eta += for_eta.reshape(eta.shape)
    back_solve(at.top, eta)
    eta = eta.reshape(at.sds.shape) * at.sds
    eta = eta.reshape(rows, size, *at.sds.shape[1:])
    return eta, draw_given(eta, at.psi, prior, for_psi)


def draw_given(
    eta: Floats, at: Conditional, prior: Hierarchy, for_psi: Floats | None = None
) -> Floats:
    """Draw psi - place given eta, as `draw` does."""
    centre, pull = _conditional(eta, at, prior)
    size = len(pull)
    xi, bent = np.empty_like(pull), np.empty_like(pull)
    for k in range(size - 1, -1, -1):
        i, own = size - 1 - k, at.half[k, k]
        rest = pull[k] - (at.half[k, k + 1 : size] * bent[k + 1 :]).sum(axis=0)
        if for_psi is None:
            bent[k] = xi[k] = rest / own
        elif i > 1:
            bent[k] = xi[k] = (rest + for_psi[k]) / own
        else:
            xi[k] = _skewed(i, rest, own, centre, at).xi(for_psi[k])
            bent[k] = _bent(_true(xi[k], i, centre, at), i, centre, at)
    return np.asarray(centre + at.spread * xi[::-1])


def _conditional(eta: Floats, at: Conditional, prior: Hierarchy) -> tuple[Floats, Floats]:
    """Middle of psi - place given eta, (D, data set, group or 1, n), and the pull on xi there."""
    size = len(eta[0])
    centre = np.einsum("gp,pdrn->drgn", prior.design, eta) if len(eta) > 1 else eta[0][:, :, None]
    wide = np.broadcast_to(centre, at.half[:, 0].shape)
    bent = np.einsum("ijrgn,jrgn->irgn", at.half[:, size : 2 * size], wide)
    return centre, at.half[:, 2 * size] - bent


def _true(xi: Floats, i: int, centre: Floats, at: Conditional) -> Floats:
    """Return a (i = 0) or b (1) at xi."""
    where = at.local.place[i] + centre[i] + at.spread[i] * xi
    return np.asarray(np.exp(np.minimum(where, LARGEST)))


def _bent(true: Floats, i: int, centre: Floats, at: Conditional) -> Floats:
    """What xi of log a (0) or log b (1) would be in the linearization, were a or b what it is."""
    far = (true - at.local.shift[i]) / at.local.factor[i] - centre[i]
    return np.asarray(far / at.spread[i])


class Skewed(NamedTuple):
    """A distribution of xi of log a or log b: normal, with the left tail stretched.

    With noise n < 0, (xi - mode) root = sqrt(2) (asinh(skew n + 1) - asinh(1)) / skew; else n.
    """

    mode: Floats
    root: Floats
    skew: Floats

    def xi(self, noise: Floats) -> Floats:
        """Turn standard normal noise into xi."""
        far = np.arcsinh(self.skew * np.minimum(noise, 0.0) + 1.0) - math.asinh(1.0)
        far = np.maximum(noise, 0.0) + math.sqrt(2.0) * far / self.skew
        return np.asarray(self.mode + far / self.root)

    def noise(self, xi: Floats) -> tuple[Floats, Floats]:
        """Return the noise behind xi, and the log of its derivative."""
        far = self.root * (xi - self.mode)
        bent = self.skew * np.minimum(far, 0.0) / math.sqrt(2.0) + math.asinh(1.0)
        one = np.sinh(np.maximum(bent, -LARGEST))
        slope = np.log(self.root * self.root * 0.5 * (1.0 + one * one))
        return np.maximum(far, 0.0) + (one - 1.0) / self.skew, 0.5 * slope


def _skewed(i: int, pull: Floats, own: Floats, centre: Floats, at: Conditional) -> Skewed:
    """Linearize a (i = 0), or b given a (1), anew: at its own mode, given eta.

    Where a and b are all but collinear, far from the usual a only a b far from the usual one fits.
    The skew is that of the quadratic in a, or b, seen in its logarithm: it matches third
    derivatives at the mode.

    Parameters
    ----------
    pull, own
        What solves for xi in the linearization of `at`: own xi = pull.
    """
    factor, spread, data = at.local.factor[i], at.spread[i], own * own - 1.0
    xi = pull / own
    for _ in range(PASSES):
        true = _true(xi, i, centre, at)
        scale = true / factor
        slope = scale * (own * pull - data * _bent(true, i, centre, at)) - xi
        xi = xi + _step(spread * slope / (1.0 + data * scale * scale)) / spread
    scale = _true(xi, i, centre, at) / factor
    steep = data * scale * scale
    root = np.sqrt(np.maximum(1.0 + steep - spread * xi, 0.5 * (1.0 + steep)))
    skew = (2.0 * spread * steep - 2.0 / 3.0 * spread * spread * xi) / root**3
    return Skewed(xi, root, np.clip(skew, LEAST_SKEW, 1.0))


def log_surrogate(
    eta: Floats, far: Floats, at: Conditional, surrogate: Surrogate, prior: Hierarchy
) -> Floats:
    """Return the log likelihood (data set, group, n) of which `draw` is from the posterior.

    log a and log b are linearized anew, given eta, and given the true a, too (`_skewed`); the other
    coordinates are drawn given the true a and b, in which the likelihood is quadratic. So they fit,
    however far from the mode a and b are.

    Parameters
    ----------
    eta, far
        As from `draw`, far = psi - place.
    """
    return given_eta(eta, far, at, surrogate, prior)[0]


def given_eta(
    eta: Floats, far: Floats, at: Conditional, surrogate: Surrogate, prior: Hierarchy
) -> tuple[Floats, Floats, Floats]:
    """Return `log_surrogate`, the log of its integral over psi, and the noise that draws psi.

    Integral and draws are given eta: (data set, group, n) twice, and (D, data set, group, n).
    """
    size = len(far)
    centre, pull = _conditional(eta, at, prior)
    xi = ((far - centre) / at.spread)[::-1]
    bent, noise, slope = xi.copy(), np.empty_like(pull), np.zeros_like(pull)
    for k in range(size - 1, -1, -1):
        i, own = size - 1 - k, at.half[k, k]
        rest = pull[k] - (at.half[k, k + 1 : size] * bent[k + 1 :]).sum(axis=0)
        noise[k], slope[k] = own * xi[k] - rest, np.log(own)
        if i < 2:
            noise[k], slope[k] = _skewed(i, rest, own, centre, at).noise(xi[k])
            bent[k] = _bent(_true(xi[k], i, centre, at), i, centre, at)
    theta = np.array(np.broadcast_to(centre, far.shape))
    theta[:2] = at.local.shift + at.local.factor * theta[:2]
    value = 0.5 * (pull * pull).sum(axis=0) + quadratic(theta, surrogate) - log_diagonal(at.half)
    height = value + (0.5 * (xi * xi - noise * noise) + slope).sum(axis=0)
    return height, value, noise


def quadratic(theta: Floats, surrogate: Surrogate) -> Floats:
    """Return the quadratic log likelihood (data set, group, n) at theta (D, ..)."""
    points = theta.transpose(1, 2, 0, 3)
    bent = np.swapaxes(surrogate.curvature, 2, 3) @ points
    return np.asarray((points * (surrogate.linear[..., None] - 0.5 * bent)).sum(axis=2))


def log_apart(apart: Floats, surrogate: Surrogate, prior: Hierarchy) -> Floats:
    """Log ratio of the prior to the proposal of which groups are apart, (data set, n)."""
    if prior.scales.apart == 0.0:
        return np.zeros(apart.shape[:2])
    ratio = prior.scales.apart / surrogate.apart
    rest = (1.0 - prior.scales.apart) / (1.0 - surrogate.apart)
    return np.asarray(np.log(np.where(apart > 0.0, ratio[:, None], rest[:, None])).sum(axis=-1))


def propose_hyper(t: Floats, apart: Floats, surrogate: Surrogate, prior: Hierarchy) -> Floats:
    """Draw hyper (data set, n, V), given independent draws of a standard t, and groups apart."""
    hyper = surrogate.centre[:, None] + t @ np.swapaxes(surrogate.root, 1, 2)
    middle, scale = _focus(hyper, apart, surrogate, prior)
    hyper[..., -2:] = middle + scale * hyper[..., -2:]
    return np.asarray(hyper)


def log_proposal(hyper: Floats, apart: Floats, surrogate: Surrogate, prior: Hierarchy) -> Floats:
    """Log density of the proposal of hyper (data set, n, V), up to a constant: (data set, n)."""
    far, scale = focused(hyper, apart, surrogate, prior)
    t = np.linalg.solve(surrogate.root, np.swapaxes(far - surrogate.centre[:, None], 1, 2))
    height = -0.5 * (FREEDOM + 1.0) * np.log1p(t * t / FREEDOM).sum(axis=1)
    return np.asarray(height - np.log(scale).sum(axis=-1))


def focused(
    hyper: Floats, apart: Floats, surrogate: Surrogate, prior: Hierarchy
) -> tuple[Floats, Floats]:
    """(x, y) of hyper, and the scale of y."""
    middle, scale = _focus(hyper, apart, surrogate, prior)
    return np.concatenate([hyper[..., :-2], (hyper[..., -2:] - middle) / scale], axis=-1), scale


def _focus(
    hyper: Floats, apart: Floats, surrogate: Surrogate, prior: Hierarchy
) -> tuple[Floats, Floats]:
    """Mean and sd of the last two of hyper, mu_a and mu_b, given the rest: (data set, n, 2).

    As if log a and log b of each group had been observed, and their mean over the groups with some
    noise. With many labels that noise is small, and mu as uncertain as the spreads say.
    """
    sigma = sigma_of(hyper, prior)
    precision = prior.scales.spread(sigma, apart)[..., :2] ** -2.0
    total = precision.sum(axis=2)
    effects = np.square(prior.sds(sigma)[..., :-1, :2] * prior.design.mean(axis=0)[:-1, None])
    sd = prior.scales.common[:2]
    variance = (1.0 / total + effects.sum(axis=-2) + surrogate.noise[:, None]) / (sd * sd)
    level = surrogate.level[:, None] - group_place(prior.scales.centre[:2], apart, prior)
    mean = (precision * level).sum(axis=2) / total
    return mean / sd / (1.0 + variance), np.sqrt(variance / (1.0 + variance))
