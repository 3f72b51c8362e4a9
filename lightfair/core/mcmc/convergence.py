"""Convergence: R-hat, effective sample sizes and Monte Carlo standard errors of several chains.

Draws of a Markov chain are correlated, and a chain may not have reached its target at all. Chains
with overdispersed starts show both. For M chains of N draws with chain means ``m_j`` and chain
variances ``s_j^2`` (Gelman and Rubin 1992; Vehtari et al. 2021, section 3.1)::

    B = N / (M - 1) sum_j (m_j - m)^2,   W = 1/M sum_j s_j^2,   var+ = (N - 1)/N W + B/N
    R-hat = sqrt(var+ / W)

and the effective sample size (section 3.2), with ``gamma_t`` the mean over chains of the
autocovariance at lag t and the sum truncated by Geyer's initial monotone sequence::

    rho_t = 1 - (W - gamma_t) / var+,   tau = -1 + 2 sum_k (rho_2k + rho_2k+1),   ESS = M N / tau

The modern forms split each chain in halves (to detect drift within a chain) and replace draws by
normal scores of their ranks (no moment has to exist), once for the draws and once for their
distance from the median (chains that differ in scale only). `diagnose` computes them for many
quantities at once; `gate` is the convergence check. The numbers agree with ArviZ and the R package
posterior, except where those are undefined: see `Diagnosis`.

References
----------
A. Gelman and D. B. Rubin, "Inference from iterative simulation using multiple sequences",
Statistical Science 7 (1992). C. J. Geyer, "Practical Markov chain Monte Carlo", Statistical
Science 7 (1992). A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner,
"Rank-normalization, folding, and localization: an improved R-hat", Bayesian Analysis 16 (2021).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MIN_DRAWS = 4  # two per half chain, the fewest that have a variance

BLOCK = 4_000_000  # draws of all quantities diagnosed at once, of which ten copies are needed

# Sums that are constant in exact arithmetic (a selection rate from imputed counts) differ between
# draws by rounding, about sqrt(terms) * 1e-16 of their size.
ROUNDING = 1e-12


class Diagnosis(NamedTuple):
    """Convergence of each quantity; every field has the shape of the trailing axes.

    A quantity is constant if all its draws agree up to rounding: it has converged, and has no
    R-hat. It fails if a draw is not finite, or if a chain is stuck (it keeps one value while the
    quantity has several). With fewer than 4 draws per chain all numbers are NaN and nothing is
    called constant.
    """

    rhat: Floats  # NaN if constant, inf if not finite or a chain is stuck
    ess_bulk: Floats  # NaN if constant, 0 if not finite or a chain is stuck
    ess_tail: Floats  # likewise
    constant: Bools
    finite: Bools


class Gate(NamedTuple):
    """Result of the convergence check of what is reported.

    The numbers are the worst of all quantities that are not constant; they are None if every
    quantity is constant (ok) or there are too few draws (not ok), and `reason` says which. `reason`
    is None if the check passed with numbers. `parameters` is the reason for which the parameters of
    the curves would fail, which do not decide; None if they would pass.
    """

    rhat_max: float | None
    ess_bulk_min: float | None
    ess_tail_min: float | None
    ok: bool
    reason: str | None
    parameters: str | None = None


def diagnose(x: ArrayLike) -> Diagnosis:
    """Diagnose many quantities at once.

    Parameters
    ----------
    x : array_like of float, shape (chain, draw, ...)
        Draws after warm-up, on any scale: all three numbers depend on ranks, and R-hat also on
        the distance from the median. Half chains omit the middle draw of an odd number.

    Returns
    -------
    Diagnosis
        Arrays of shape (...): rank-normalized split R-hat, the larger of its plain and folded form;
        the ESS of the rank-normalized draws, at most ``S log10(S)`` for S draws; the smaller ESS
        of the indicators ``x <= q`` of the 5 % and 95 % quantiles (section 4.3).

    Examples
    --------
    >>> drift = np.arange(40.0).reshape(1, 40, 1)
    >>> diagnose(drift).rhat.round(2)
    array([2.13])
    """
    values, shape = _by_quantity(x)
    step = max(1, BLOCK // max(1, math.prod(values.shape[1:])))
    parts = [_diagnose(values[i : i + step]) for i in range(0, max(1, len(values)), step)]
    return Diagnosis(
        *(np.concatenate(columns).reshape(shape) for columns in zip(*parts, strict=True))
    )


def gate(diagnosis: Diagnosis, *, rhat_limit: float = 1.01, ess_limit: float = 400.0) -> Gate:
    """Check whether the draws can be reported.

    Parameters
    ----------
    diagnosis : Diagnosis
    rhat_limit, ess_limit : float
        Every R-hat must be at most the one, every bulk and tail ESS at least the other. The
        defaults are those recommended by Vehtari et al. (2021).

    Returns
    -------
    Gate

    Examples
    --------
    >>> gate(diagnose(np.zeros((4, 2, 31)))).reason
    'fewer than 4 draws a chain: R-hat and ESS are undefined'
    """
    moves = ~diagnosis.constant
    rhat, bulk, tail = (number[moves] for number in diagnosis[:3])
    if rhat.size == 0:
        reason = "every quantity is constant: R-hat and ESS are undefined"
        return Gate(None, None, None, True, reason)
    if np.isnan(rhat).any():
        reason = f"fewer than {MIN_DRAWS} draws a chain: R-hat and ESS are undefined"
        return Gate(None, None, None, False, reason)
    finite, defined = diagnosis.finite[moves], rhat < math.inf
    high, low_bulk, low_tail = rhat > rhat_limit, bulk < ess_limit, tail < ess_limit
    # printed numbers are rounded away from the limit, never onto it
    largest = math.ceil(round(float(rhat[defined].max(initial=0.0)) * 1e3, 6)) / 1e3
    least = [math.floor(ess.min(initial=1e9, where=defined)) for ess in (bulk, tail)]
    problems = [
        (~finite, "draws are not finite", ""),
        (finite & ~defined, "a chain is stuck", ""),
        (defined & high, f"R-hat is above {rhat_limit:g}", f" (largest {largest:g})"),
        (defined & low_bulk, f"bulk ESS is below {ess_limit:g}", f" (smallest {least[0]})"),
        (defined & low_tail, f"tail ESS is below {ess_limit:g}", f" (smallest {least[1]})"),
    ]
    total = diagnosis.constant.size
    reasons = [
        f"{what} for {np.count_nonzero(mask)} of {total} quantities{worst}"
        for mask, what, worst in problems
        if mask.any()
    ]
    worst = float(rhat.max()), float(bulk.min()), float(tail.min())
    return Gate(*worst, not reasons, "; ".join(reasons) or None)


def gelman_rubin(x: ArrayLike) -> Floats:
    """Return the classic potential scale reduction factor of whole chains.

    It is ``sqrt(var+ / W)`` of the module's head, without the 1992 paper's correction for the
    degrees of freedom. It misses drift, heavy tails and chains that differ in scale only;
    prefer `diagnose`.

    Parameters
    ----------
    x : array_like of float, shape (chain, draw, ...)

    Returns
    -------
    ndarray of float, shape (...)
        NaN if constant or with fewer than two chains or draws; inf if a draw is not finite or
        every chain is stuck.

    Examples
    --------
    >>> import lightfair as lf
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).normal(size=(4, 500))
    >>> print(f"{lf.gelman_rubin(draws):.2f}, {lf.gelman_rubin(draws + np.arange(4)[:, None]):.1f}")
    1.00, 1.6
    """
    values, shape = _by_quantity(x)
    if min(values.shape[1:]) < 2:
        return np.full(shape, math.nan)
    values, constant, finite, _ = _states(values)
    factor = np.where(finite, _scale_reduction(values), math.inf)
    return np.where(constant, math.nan, factor).reshape(shape)


def mcse_mean(x: ArrayLike) -> Floats:
    """Return the Monte Carlo standard error of the mean, ``sd(x) / sqrt(ESS)``.

    The ESS is that of the draws themselves in split chains, without ranks.

    Parameters
    ----------
    x : array_like of float, shape (chain, draw, ...)

    Returns
    -------
    ndarray of float, shape (...)
        On the scale of `x`. 0 if constant, inf if a draw is not finite or a chain is stuck, NaN
        with fewer than 4 draws per chain.
    """
    values, shape = _by_quantity(x)
    if values.shape[2] < MIN_DRAWS:
        return np.full(shape, math.nan)
    values, constant, _, failed = _states(values)
    error = values.std(axis=(1, 2), ddof=1) / np.sqrt(_ess(_split(values)))
    return np.where(constant, 0.0, np.where(failed, math.inf, error)).reshape(shape)


def _by_quantity(x: ArrayLike) -> tuple[Floats, tuple[int, ...]]:
    """Return draws as (quantity, chain, draw), and the shape of the quantities."""
    x = np.asarray(x, dtype=np.float64)
    if x.ndim < 2 or x.shape[0] == 0:
        raise ValueError(
            f"x must have shape (chain, draw, ...) with at least one chain; got shape {x.shape}"
        )
    shape = x.shape[2:]
    return x.reshape(*x.shape[:2], math.prod(shape)).transpose(2, 0, 1), shape


def _states(values: Floats) -> tuple[Floats, Bools, Bools, Bools]:
    """Return draws, 0 if constant or not finite, and which quantities are constant, finite, failed.

    A failed quantity is not finite, or one of its chains is stuck.
    """
    finite = np.asarray(np.isfinite(values).all(axis=(1, 2)))
    values = np.where(finite[:, None, None], values, 0.0)
    low, high = values.min(axis=2), values.max(axis=2)
    bottom, top = low.min(axis=1), high.max(axis=1)
    rounding = ROUNDING * np.maximum(np.maximum(-bottom, top), 1.0)
    constant = finite & (top - bottom <= rounding)
    stuck = (high - low <= rounding[:, None]).any(axis=1)
    values = np.where(constant[:, None, None], 0.0, values)
    return values, constant, finite, ~finite | (stuck & ~constant)


def _diagnose(values: Floats) -> Diagnosis:
    """Diagnose draws (quantity, chain, draw)."""
    if values.shape[2] < MIN_DRAWS:
        nan = np.full(len(values), math.nan)
        finite = np.asarray(np.isfinite(values).all(axis=(1, 2)))
        return Diagnosis(nan, nan, nan, np.zeros_like(finite), finite)
    values, constant, finite, failed = _states(values)
    halves = _split(values)
    z, ordered = _normal_scores(halves)
    middle = ordered.shape[1] // 2  # the number of draws in halves is even
    median = (ordered[:, middle - 1] + ordered[:, middle]) / 2
    far = np.abs(halves - median[:, None, None])
    # draws as far below the median as above it, as the two next to it are, tie but for rounding
    unit = ROUNDING * far.max(axis=(1, 2), keepdims=True)
    folded, _ = _normal_scores(np.round(far / np.where(unit > 0.0, unit, 1.0)))
    rhat = np.maximum(_scale_reduction(z), _scale_reduction(folded))

    def filled(number: Floats, failure: float) -> Floats:
        return np.where(constant, math.nan, np.where(failed, failure, number))

    bulk, tail = filled(_ess(z), 0.0), filled(_tail_ess(values, halves), 0.0)
    return Diagnosis(filled(rhat, math.inf), bulk, tail, constant, finite)


def _split(values: Floats) -> Floats:
    """Split (quantity, chain, draw) into half chains, without the middle one of an odd number."""
    half = values.shape[2] // 2
    return np.concatenate([values[:, :, :half], values[:, :, -half:]], axis=1)


def _normal_scores(values: Floats) -> tuple[Floats, Floats]:
    """Replace values by ``ndtri((rank - 3/8) / (S + 1/4))``, ties by their average rank.

    Also return the values in order, (quantity, S).
    """
    from scipy.special import ndtri

    flat = values.reshape(len(values), math.prod(values.shape[1:]))
    size = flat.shape[1]
    order = flat.argsort(axis=1)
    ordered = np.take_along_axis(flat, order, axis=1)
    index, edge = np.arange(size), np.ones((len(flat), 1), dtype=bool)
    step = ordered[:, 1:] != ordered[:, :-1]
    first = np.where(np.concatenate([edge, step], axis=1), index, 0)
    last = np.where(np.concatenate([step, edge], axis=1), index, size - 1)
    first = np.maximum.accumulate(first, axis=1)
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    # twice an average rank is an integer: one table of scores serves all quantities
    table = ndtri((np.arange(2 * size - 1) / 2 + 0.625) / (size + 0.25))
    scores = np.empty_like(flat)
    np.put_along_axis(scores, order, table[first + last], axis=1)
    return scores.reshape(values.shape), ordered


def _scale_reduction(values: Floats) -> Floats:
    """Return ``sqrt(var+ / W)`` of (quantity, chain, draw) as ``sqrt((n - 1 + B/W) / n)``."""
    n = values.shape[2]
    between = n * values.mean(axis=2).var(axis=1, ddof=1)
    within = values.var(axis=2, ddof=1).mean(axis=1)
    # without spread anywhere (all draws at one distance from the median) chains agree
    ratio = np.where(between > 0, math.inf, 0.0)
    np.divide(between, within, out=ratio, where=within > 0)
    return np.asarray(np.sqrt((n - 1 + ratio) / n))


def _ess(values: Floats) -> Floats:
    """Return the ESS of (quantity, half chain, draw), at most ``S log10(S)``; S without spread."""
    _, chains, n = values.shape
    size = chains * n
    mean = values.mean(axis=2)
    padded = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(values - mean[:, :, None], padded, axis=2)
    # the transform is linear: average over chains before the inverse
    power = (spectrum.real * spectrum.real + spectrum.imag * spectrum.imag).mean(axis=1)
    gamma = np.fft.irfft(power, padded, axis=1)[:, :n] / n
    variance = gamma[:, 0] + mean.var(axis=1, ddof=1)
    spread = variance > 0
    within = gamma[:, :1] * n / (n - 1)
    rho = 1.0 - (within - gamma) / np.where(spread, variance, 1.0)[:, None]
    rho[:, 0] = 1.0

    # pairs rho_2k + rho_2k+1 up to the first that is not positive (initial positive sequence),
    # none above its predecessor (initial monotone sequence)
    top = max((n - 3) // 2, 0)
    even = rho[:, : 2 * top + 1 : 2]
    pairs = even + rho[:, 1 : 2 * top + 2 : 2]
    stops = pairs <= 0
    end = np.where(stops.any(axis=1), stops.argmax(axis=1), top)
    kept = np.where(np.arange(top + 1) < end[:, None], np.minimum.accumulate(pairs, axis=1), 0.0)
    # of the pair at the end the even lag counts once: less variance for antithetic chains
    rows = np.arange(len(values))
    rest = np.where(pairs[rows, end] >= 0, even[rows, end], np.maximum(even[rows, end], 0.0))
    tau = np.maximum(2.0 * kept.sum(axis=1) - 1.0 + rest, 1.0 / math.log10(size))
    return np.where(spread, size / tau, float(size))


def _tail_ess(values: Floats, halves: Floats) -> Floats:
    """Return the smaller ESS of ``x <= q`` for q at 5 % and 95 % of (quantity, chain, draw).

    Where so many draws tie at the top that an indicator is always 1, its ESS is S.
    """
    flat = values.reshape(len(values), math.prod(values.shape[1:]))
    last = flat.shape[1] - 1
    # the quantile at p interpolates order statistic p (S - 1), counted from 0, and no draw lies
    # between it and the order statistic below; whole numbers avoid its rounding
    below = [last // 20, 19 * last // 20]
    cuts = np.partition(flat, below, axis=1)[:, below]
    low, high = (_ess((halves <= cut[:, None, None]).astype(np.float64)) for cut in cuts.T)
    return np.minimum(low, high)
