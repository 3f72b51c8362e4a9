"""Has the sampler converged, and how many independent draws are its draws worth?

Draws of a Markov chain are correlated, and a chain may not have reached its target at all. Both
are read off several chains started apart. For M chains of N draws with chain means ``m_j`` and
chain variances ``s_j^2`` (Gelman and Rubin 1992; Vehtari et al. 2021, section 3.1)::

    B = N / (M - 1) sum_j (m_j - m)^2,   W = 1/M sum_j s_j^2,   var+ = (N - 1)/N W + B/N
    R-hat = sqrt(var+ / W)

and the effective sample size (section 3.2), with ``gamma_t`` the mean over chains of the
autocovariance at lag t and the sum cut by Geyer's initial monotone sequence::

    rho_t = 1 - (W - gamma_t) / var+,   tau = -1 + 2 sum_k (rho_2k + rho_2k+1),   ESS = M N / tau

The modern forms split each chain in halves (a drift shows within one chain) and replace draws by
normal scores of their ranks (no moment has to exist), once for the draws and once for their
distance from the median (chains that differ in scale only). `diagnose` computes all of them for
many quantities at once, `gate` says whether they are good enough. The numbers agree with those
of ArviZ and of the R package posterior, save where those have none: see `Diagnosis`.

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

MIN_DRAWS = 4  # two to a half chain, the fewest that have a variance

BLOCK = 4_000_000  # draws of all quantities that are diagnosed at once

# Sums that are constant in exact arithmetic (a selection rate from imputed counts) differ from
# draw to draw by their rounding, about sqrt(terms) * 1e-16 of their size.
_ROUNDING = 1e-12


class Diagnosis(NamedTuple):
    """Convergence of each quantity; every field has the shape of the trailing axes.

    A quantity is constant if all its draws agree up to rounding: nothing is wrong with it, and
    it has no R-hat. It fails if a draw is not finite, or if a chain is stuck (it keeps one value
    while the quantity has several). With fewer than 4 draws a chain all numbers are NaN and
    nothing is called constant.
    """

    rhat: Floats  # NaN where constant, inf where not finite or a chain is stuck
    ess_bulk: Floats  # NaN where constant, 0 where not finite or a chain is stuck
    ess_tail: Floats  # likewise
    constant: NDArray[np.bool_]
    finite: NDArray[np.bool_]


class Gate(NamedTuple):
    """Verdict over all quantities.

    The numbers are the worst over the quantities that are not constant; they are None where
    every quantity is constant (ok) or there are too few draws (not ok), and `reason` says which.
    `reason` is None where the gate passed with numbers.
    """

    rhat_max: float | None
    ess_bulk_min: float | None
    ess_tail_min: float | None
    ok: bool
    reason: str | None


def diagnose(x: ArrayLike) -> Diagnosis:
    """Diagnose many quantities at once.

    Parameters
    ----------
    x : array_like of float, shape (chain, draw, ...)
        Draws after warmup, on any scale: all three numbers depend on ranks, and R-hat also on
        the distance from the median. Half chains leave out the middle one of an odd number.

    Returns
    -------
    Diagnosis
        Arrays of shape (...).

    Examples
    --------
    >>> drift = np.arange(40.0).reshape(1, 40, 1)
    >>> diagnose(drift).rhat.round(2)
    array([2.13])
    """
    x = np.asarray(x, dtype=np.float64)
    if x.size <= BLOCK or x.ndim < 3:
        return _diagnosed(x)
    flat = x.reshape(*x.shape[:2], -1)  # in blocks: a diagnosis holds ten copies of its draws
    step = max(1, BLOCK // math.prod(x.shape[:2]))
    parts = [_diagnosed(flat[..., i : i + step]) for i in range(0, flat.shape[2], step)]
    return Diagnosis(
        *(np.concatenate(columns).reshape(x.shape[2:]) for columns in zip(*parts, strict=True))
    )


def _diagnosed(x: Floats) -> Diagnosis:
    """Diagnose a block of quantities."""
    draws = _open(x)
    if draws.few:
        nan = draws.undefined()
        return Diagnosis(nan, nan.copy(), nan.copy(), np.zeros_like(draws.constant), draws.finite)
    halves = _split(draws.values)
    z, ordered = _normal_scores(halves)
    return Diagnosis(
        rhat=draws.fill(_rank_rhat(halves, z, ordered), math.inf, math.nan),
        ess_bulk=draws.fill(_ess(z), 0.0, math.nan),
        ess_tail=draws.fill(_tail_ess(draws.values, ordered), 0.0, math.nan),
        constant=draws.constant,
        finite=draws.finite,
    )


def gate(diagnosis: Diagnosis, *, rhat_limit: float = 1.01, ess_limit: float = 400.0) -> Gate:
    """Decide whether the draws can be reported.

    Parameters
    ----------
    diagnosis : Diagnosis
    rhat_limit, ess_limit : float
        Every R-hat must be at most the one, every bulk and tail ESS at least the other. The
        defaults are those that Vehtari et al. (2021) recommend.

    Returns
    -------
    Gate

    Examples
    --------
    >>> gate(diagnose(np.zeros((4, 2, 31)))).reason
    'fewer than 4 draws a chain: R-hat and ESS are undefined'
    """
    judged = ~diagnosis.constant
    rhat, bulk, tail = (number[judged] for number in diagnosis[:3])
    if rhat.size == 0:
        reason = "every quantity is constant: R-hat and ESS are undefined"
        return Gate(None, None, None, True, reason)
    if np.isnan(rhat).any():
        reason = f"fewer than {MIN_DRAWS} draws a chain: R-hat and ESS are undefined"
        return Gate(None, None, None, False, reason)
    total = diagnosis.constant.size
    finite = diagnosis.finite[judged]
    moving = rhat < math.inf
    broken = []
    if not finite.all():
        broken.append(f"draws are not finite for {_share(~finite, total)}")
    if (finite & ~moving).any():
        broken.append(f"a chain is stuck for {_share(finite & ~moving, total)}")
    high = moving & (rhat > rhat_limit)
    if high.any():
        # Printed numbers are rounded away from the limit, never onto it.
        largest = math.ceil(round(float(rhat[high].max()) * 1e3, 6)) / 1e3
        broken.append(
            f"R-hat is above {rhat_limit:g} for {_share(high, total)} (largest {largest:g})"
        )
    for name, ess in (("bulk", bulk), ("tail", tail)):
        low = moving & (ess < ess_limit)
        if low.any():
            smallest = math.floor(float(ess[low].min()))
            broken.append(
                f"{name} ESS is below {ess_limit:g} for {_share(low, total)} (smallest {smallest})"
            )
    return Gate(
        float(rhat.max()),
        float(bulk.min()),
        float(tail.min()),
        not broken,
        "; ".join(broken) or None,
    )


def gelman_rubin(x: ArrayLike) -> Floats:
    """Return the classic potential scale reduction factor of whole chains.

    It is ``sqrt(var+ / W)`` of the module's head, without the 1992 paper's correction for the
    degrees of freedom. It overlooks drift, heavy tails and chains that differ in scale only;
    judge by `rhat`.

    Parameters
    ----------
    x : array_like of float, shape (chain, draw, ...)

    Returns
    -------
    ndarray of float, shape (...)
        NaN where constant or with fewer than two chains or draws; inf where a draw is not finite
        or every chain is stuck.

    Examples
    --------
    >>> import lightfair as lf
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).normal(size=(4, 500))
    >>> print(f"{lf.gelman_rubin(draws):.2f}, {lf.gelman_rubin(draws + np.arange(4)[:, None]):.1f}")
    1.00, 1.6
    """
    draws = _open(x)
    _, chains, count = draws.values.shape
    if chains < 2 or count < 2:
        return draws.undefined()
    # One stuck chain leaves the classic factor defined: only W = 0 does not.
    shrunk = draws._replace(failed=~draws.finite | draws.frozen)
    return shrunk.fill(_scale_reduction(shrunk.values), math.inf, math.nan)


def rhat(x: ArrayLike) -> Floats:
    """Return R-hat: the larger of rank-normalised split R-hat and its folded form.

    Parameters
    ----------
    x : array_like of float, shape (chain, draw, ...)

    Returns
    -------
    ndarray of float, shape (...)
        As `Diagnosis.rhat`.
    """
    draws = _open(x)
    if draws.few:
        return draws.undefined()
    halves = _split(draws.values)
    return draws.fill(_rank_rhat(halves, *_normal_scores(halves)), math.inf, math.nan)


def ess_bulk(x: ArrayLike) -> Floats:
    """Return the effective sample size of the rank-normalised draws: how well the centre is known.

    Parameters
    ----------
    x : array_like of float, shape (chain, draw, ...)

    Returns
    -------
    ndarray of float, shape (...)
        As `Diagnosis.ess_bulk`; at most ``S log10(S)`` for S draws.
    """
    draws = _open(x)
    if draws.few:
        return draws.undefined()
    return draws.fill(_ess(_normal_scores(_split(draws.values))[0]), 0.0, math.nan)


def ess_tail(x: ArrayLike) -> Floats:
    """Return the smaller effective sample size of the 5 % and the 95 % quantile.

    The ESS of a quantile q is that of the indicator ``x <= q`` (Vehtari et al. 2021, section
    4.3). Where so many draws tie at the top that the indicator is always 1, it counts as S.

    Parameters
    ----------
    x : array_like of float, shape (chain, draw, ...)

    Returns
    -------
    ndarray of float, shape (...)
        As `Diagnosis.ess_tail`.
    """
    draws = _open(x)
    if draws.few:
        return draws.undefined()
    return draws.fill(_tail_ess(draws.values), 0.0, math.nan)


def mcse_mean(x: ArrayLike) -> Floats:
    """Return the Monte Carlo standard error of the mean, ``sd(x) / sqrt(ESS)``.

    The ESS is that of the draws themselves in split chains, without ranks.

    Parameters
    ----------
    x : array_like of float, shape (chain, draw, ...)

    Returns
    -------
    ndarray of float, shape (...)
        On the scale of `x`. 0 where constant, inf where a draw is not finite or a chain is
        stuck, NaN with fewer than 4 draws a chain.
    """
    draws = _open(x)
    if draws.few:
        return draws.undefined()
    sd = draws.values.std(axis=(1, 2), ddof=1)
    error = np.ldexp(sd / np.sqrt(_ess(_split(draws.values))), draws.exponent)
    return draws.fill(error, math.inf, 0.0)


class _Draws(NamedTuple):
    """Draws by quantity, and the states that are known before any statistics."""

    values: Floats  # (quantity, chain, draw), at most 1 in size; 0 where constant or not finite
    exponent: NDArray[np.intc]  # (quantity,), x = values * 2**exponent
    constant: NDArray[np.bool_]  # (...)
    finite: NDArray[np.bool_]  # (...)
    failed: NDArray[np.bool_]  # (...), not finite or a chain stuck
    frozen: NDArray[np.bool_]  # (...), every chain stuck

    @property
    def few(self) -> bool:
        return bool(self.values.shape[2] < MIN_DRAWS)

    def fill(self, numbers: Floats, failed: float, constant: float) -> Floats:
        """Give numbers the trailing shape, and the states their places."""
        filled = np.array(numbers).reshape(self.finite.shape)
        filled[self.failed] = failed
        filled[self.constant] = constant
        return filled

    def undefined(self) -> Floats:
        return np.full(self.finite.shape, math.nan)


def _open(x: ArrayLike) -> _Draws:
    x = np.asarray(x, dtype=np.float64)
    if x.ndim < 2 or x.shape[0] == 0:
        raise ValueError(
            f"x must have shape (chain, draw, ...) with at least one chain; got shape {x.shape}"
        )
    chains, count, *rest = x.shape
    shape = tuple(rest)
    values = np.ascontiguousarray(x.reshape(chains, count, math.prod(shape)).transpose(2, 0, 1))
    finite = np.isfinite(values).all(axis=(1, 2))
    if not finite.all():
        values = np.where(finite[:, None, None], values, 0.0)
    if count == 0:
        low = high = np.zeros((len(values), chains))
    else:
        low, high = values.min(axis=2), values.max(axis=2)
    # A power of two changes no digit, and afterwards no square can overflow. Small values stay:
    # below 1, _ROUNDING is an absolute bound (a difference of two rates is 0 up to 1e-16).
    largest = np.maximum(-low.min(axis=1), high.max(axis=1))
    exponent = np.maximum(np.frexp(largest)[1], 0)
    if exponent.any():
        scale = np.ldexp(1.0, -exponent)[:, None]
        values, low, high = values * scale[:, None], low * scale, high * scale
    constant = finite & (high.max(axis=1) - low.min(axis=1) <= _ROUNDING)
    if constant.any():
        values = np.where(constant[:, None, None], 0.0, values)
    still = high - low <= _ROUNDING
    moves = finite & ~constant
    return _Draws(
        values=values,
        exponent=exponent,
        constant=constant.reshape(shape),
        finite=finite.reshape(shape),
        failed=(~finite | (moves & still.any(axis=1))).reshape(shape),
        frozen=(moves & still.all(axis=1)).reshape(shape),
    )


def _split(values: Floats) -> Floats:
    """Cut (quantity, chain, draw) into half chains; the middle one of an odd number is left out."""
    half = values.shape[2] // 2
    return np.concatenate([values[:, :, :half], values[:, :, -half:]], axis=1)


def _normal_scores(values: Floats) -> tuple[Floats, Floats]:
    """Replace values by ``ndtri((rank - 3/8) / (S + 1/4))``, ties by their average rank.

    Also returns the values in order, shape (quantity, S): their median and quantiles are needed
    elsewhere, and sorting is a third of the cost of a diagnosis.
    """
    from scipy.special import ndtri

    flat = values.reshape(len(values), math.prod(values.shape[1:]))
    size = flat.shape[1]
    # Twice an average rank is an integer: one table serves all quantities, ties or not.
    table = ndtri((np.arange(2 * size - 1) / 2 + 0.625) / (size + 0.25))
    order = flat.argsort(axis=1)
    ordered = np.take_along_axis(flat, order, axis=1)
    index = np.arange(size)
    step = ordered[:, 1:] != ordered[:, :-1]
    if step.all():
        scores = np.broadcast_to(table[2 * index], flat.shape)
    else:
        edge = np.ones((len(flat), 1), dtype=bool)
        first = np.where(np.concatenate([edge, step], axis=1), index, 0)
        last = np.where(np.concatenate([step, edge], axis=1), index, size - 1)
        first = np.maximum.accumulate(first, axis=1)
        last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
        scores = table[first + last]
    result = np.empty_like(flat)
    np.put_along_axis(result, order, scores, axis=1)
    return result.reshape(values.shape), ordered


def _scale_reduction(values: Floats) -> Floats:
    """Return ``sqrt(var+ / W)`` of (quantity, chain, draw) as ``sqrt((n - 1 + B/W) / n)``."""
    n = values.shape[2]
    between = n * values.mean(axis=2).var(axis=1, ddof=1)
    within = values.var(axis=2, ddof=1).mean(axis=1)
    # Without spread anywhere (all draws at one distance from the median) nothing disagrees.
    ratio = np.where(between > 0, math.inf, 0.0)
    np.divide(between, within, out=ratio, where=within > 0)
    return np.asarray(np.sqrt((n - 1 + ratio) / n))


def _rank_rhat(halves: Floats, z: Floats, ordered: Floats) -> Floats:
    """Return the larger of the two forms; `z` and `ordered` are `_normal_scores` of `halves`."""
    middle = ordered.shape[1] // 2  # S is even
    median = (ordered[:, middle - 1] + ordered[:, middle]) / 2
    folded, _ = _normal_scores(np.abs(halves - median[:, None, None]))
    return np.maximum(_scale_reduction(z), _scale_reduction(folded))


def _ess(values: Floats) -> Floats:
    """Return the ESS of (quantity, half chain, draw), at most ``S log10(S)``; S without spread."""
    _, chains, n = values.shape
    size = chains * n
    mean = values.mean(axis=2)
    padded = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(values - mean[:, :, None], padded, axis=2)
    # The transform is linear: the mean over chains is taken before the way back.
    power = (spectrum.real * spectrum.real + spectrum.imag * spectrum.imag).mean(axis=1)
    gamma = np.fft.irfft(power, padded, axis=1)[:, :n] / n
    variance = gamma[:, 0] + mean.var(axis=1, ddof=1)
    spread = variance > 0
    within = gamma[:, :1] * n / (n - 1)
    rho = 1.0 - (within - gamma) / np.where(spread, variance, 1.0)[:, None]
    rho[:, 0] = 1.0

    # Pairs rho_2k + rho_2k+1 up to the first that is not positive (initial positive sequence),
    # none above its predecessor (initial monotone sequence).
    top = max((n - 3) // 2, 0)
    even = rho[:, : 2 * top + 1 : 2]
    pairs = even + rho[:, 1 : 2 * top + 2 : 2]
    stops = pairs <= 0
    end = np.where(stops.any(axis=1), stops.argmax(axis=1), top)
    kept = np.where(np.arange(top + 1) < end[:, None], np.minimum.accumulate(pairs, axis=1), 0.0)
    # Of the pair at the end the even lag counts once: less variance for antithetic chains.
    rows = np.arange(len(values))
    rest = np.where(pairs[rows, end] >= 0, even[rows, end], np.maximum(even[rows, end], 0.0))
    tau = np.maximum(2.0 * kept.sum(axis=1) - 1.0 + rest, 1.0 / math.log10(size))
    return np.where(spread, size / tau, float(size))


def _tail_ess(values: Floats, ordered: Floats | None = None) -> Floats:
    """Return the smaller ESS of ``x <= q`` for q at 5 % and 95 % of (quantity, chain, draw)."""
    flat = values.reshape(len(values), math.prod(values.shape[1:]))
    last = flat.shape[1] - 1
    # The quantile at p interpolates order statistic p (S - 1), counted from 0. No draw lies
    # between it and the order statistic below; whole numbers keep clear of its rounding.
    below = [last // 20, 19 * last // 20]
    if ordered is None or ordered.shape != flat.shape:  # the halves left a draw out
        ordered = np.partition(flat, below, axis=1)
    cuts = ordered[:, below]
    halves = _split(values)
    low, high = (_ess((halves <= cut[:, None, None]).astype(np.float64)) for cut in cuts.T)
    return np.minimum(low, high)


def _share(mask: NDArray[np.bool_], total: int) -> str:
    return f"{np.count_nonzero(mask)} of {total} quantities"
