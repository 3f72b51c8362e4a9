"""The special functions of a report: the normal and Student's t distributions, beta quantiles.

To be used in place of `scipy.special`, with its names and arguments, because importing that takes
longer than most reports. NumPy alone; arguments broadcast; a scalar in is a scalar out. As there,
a number outside the domain gives nan, and so does nan.

The beta distribution is integrated, not expanded: with odds o = x / (1 - x),

    I_x(a, b) = x^a (1 - x)^b / B(a, b) (1 + o) int_0^inf e^(-a r) (1 - o expm1(-r))^(b - 1) dr,

r = log(x / t) of the definition (DLMF 8.17.1). Below the mean, the double exponential rule of
Takahasi and Mori (1974) sums it at 64 fixed points to 1e-12 for a, b from 0.01 up, whereas the
terms that the continued fraction (DLMF 8.17.22) needs grow like sqrt(max(a, b)). Above the mean,
the other tail is integrated and subtracted from 1. The factor in front is written by the deviance
of x from the mean (Loader 2000), which does not cancel where a and b are large. x is held by
delta = logit(x) - logit(a / (a + b)).

A quantile is a root of log I - log p in delta, for the smaller of both tails. That function is
concave (the density of logit(x) is log-concave), so that Newton's method converges from the left
of the root without a bracket; near the root Householder's correction makes it of fourth order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

NODES = 64  # of the integral: 48 leave 1e-11, 64 leave rounding
FIRST, LAST = -3.4, 4.2  # range of the nodes before their transformation: 1e-16 lies outside
BLOCK = 2048  # entries integrated at a time: their nodes take a megabyte
DEEP = -700.0  # of delta: below, exp underflows, and I is a power of x to machine precision
STEPS = 100  # of a root finder that takes up to 5 for parameters from 0.05 to 1e7
SMALLEST, LARGEST = 1e-6, 1e15  # of the parameters of a beta: no overflow, digits left
NORMAL_DF = 1e20  # from here on, Student's t is the normal distribution in double precision

_U = np.linspace(FIRST, LAST, NODES)
_POINTS = np.exp(_U - np.exp(-_U))
_WEIGHTS = _POINTS * (1.0 + np.exp(-_U)) * ((LAST - FIRST) / (NODES - 1))

# Cody (1969, 1993), Algorithm 715 (ANORM): rational approximations in three ranges of |x|,
# coefficients of rising powers.
_CENTRE = (
    (
        1.8154981253343561249e4,
        1.0676894854603709582e3,
        1.6102823106855587881e2,
        2.2352520354606839287,
        6.5682337918207449113e-2,
    ),
    (
        4.5507789335026729956e4,
        1.0260932208618978205e4,
        9.7609855173777669322e2,
        4.7202581904688241870e1,
        1.0,
    ),
)
_SHOULDER = (
    (
        9.8427148383839780218e3,
        1.1602651437647350124e4,
        6.8481904505362823326e3,
        2.4945375852903726711e3,
        5.9727027639480026226e2,
        9.3506656132177855979e1,
        8.8831497943883759412,
        3.9894151208813466764e-1,
        1.0765576773720192317e-8,
    ),
    (
        1.9685429676859990727e4,
        3.8912003286093271411e4,
        3.4900952721145977266e4,
        1.8615571640885098091e4,
        6.4855582982667607550e3,
        1.5193775994075548050e3,
        2.3538790178262499861e2,
        2.2266688044328115691e1,
        1.0,
    ),
)
_FAR = (
    (
        2.9112874951168792e-5,
        1.421619193227893466e-3,
        2.2235277870649807e-2,
        1.274011611602473639e-1,
        2.1589853405795699e-1,
        2.307344176494017303e-2,
    ),
    (
        7.29751555083966205e-5,
        3.78239633202758244e-3,
        6.59881378689285515e-2,
        4.68238212480865118e-1,
        1.28426009614491121,
        1.0,
    ),
)

# Wichura (1988), Algorithm AS 241 (PPND16), likewise.
_QUANTILE_CENTRE = (
    (
        3.3871328727963666080,
        1.3314166789178437745e2,
        1.9715909503065514427e3,
        1.3731693765509461125e4,
        4.5921953931549871457e4,
        6.7265770927008700853e4,
        3.3430575583588128105e4,
        2.5090809287301226727e3,
    ),
    (
        1.0,
        4.2313330701600911252e1,
        6.8718700749205790830e2,
        5.3941960214247511077e3,
        2.1213794301586595867e4,
        3.9307895800092710610e4,
        2.8729085735721942674e4,
        5.2264952788528545610e3,
    ),
)
_QUANTILE_SHOULDER = (
    (
        1.42343711074968357734,
        4.63033784615654529590,
        5.76949722146069140550,
        3.64784832476320460504,
        1.27045825245236838258,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ),
    (
        1.0,
        2.05319162663775882187,
        1.67638483018380384940,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)
_QUANTILE_FAR = (
    (
        6.65790464350110377720,
        5.46378491116411436990,
        1.78482653991729133580,
        2.96560571828504891230e-1,
        2.65321895265761230930e-2,
        1.24266094738807843860e-3,
        2.71155556874348757815e-5,
        2.01033439929228813265e-7,
    ),
    (
        1.0,
        5.99832206555887937690e-1,
        1.36929880922735805310e-1,
        1.48753612908506148525e-2,
        7.86869131145613259100e-4,
        1.84631831751005468180e-5,
        1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ),
)

# Of log Gamma(z) - ((z - 1/2) log z - z + log(2 pi) / 2) in odd powers of 1 / z (DLMF 5.11.1).
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def ndtr(x: npt.ArrayLike) -> Floats:
    """Return the standard normal distribution function, float64, by Cody's approximations.

    To 1e-15 of itself, in the lower tail too.

    Examples
    --------
    >>> round(float(ndtr(-1.96)), 6)
    0.024998
    """
    x = np.asarray(x, dtype=np.float64)
    size = np.abs(x)
    result = np.full(x.shape, np.nan)
    centre = size <= 0.67448975
    near = x[centre]
    result[centre] = 0.5 + near * _ratio(_CENTRE, near * near)
    for part, coefficients in (
        ((size > 0.67448975) & (size <= 5.65), _SHOULDER),
        (size > 5.65, _FAR),
    ):
        y = np.minimum(size[part], 40.0)  # 0 from 38.6 on
        if coefficients is _SHOULDER:
            tail = _ratio(coefficients, y)
        else:
            inverse = 1.0 / (y * y)
            tail = (1.0 / math.sqrt(2.0 * math.pi) - inverse * _ratio(coefficients, inverse)) / y
        # y * y of a y of few bits is exact: the rounding of y * y / 2 would be one of the tail.
        cut = np.floor(16.0 * y) / 16.0
        tail = tail * np.exp(-0.5 * cut * cut) * np.exp(-0.5 * (y - cut) * (y + cut))
        result[part] = np.where(x[part] > 0.0, 1.0 - tail, tail)
    return np.asarray(result)[()]


def ndtri(p: npt.ArrayLike) -> Floats:
    """Return the standard normal quantile, float64, of probabilities in [0, 1] (AS 241).

    Examples
    --------
    >>> round(float(ndtri(0.975)), 6)
    1.959964
    """
    p = np.asarray(p, dtype=np.float64)
    result = np.full(p.shape, np.nan)
    from_half = p - 0.5
    centre = np.abs(from_half) <= 0.425
    near = from_half[centre]
    result[centre] = near * _ratio(_QUANTILE_CENTRE, 0.180625 - near * near)
    outer = (p > 0.0) & (p < 1.0) & ~centre
    side = from_half[outer]
    depth = np.sqrt(-np.log(np.where(side < 0.0, p[outer], 1.0 - p[outer])))
    far = depth > 5.0
    size = np.empty_like(depth)
    size[~far] = _ratio(_QUANTILE_SHOULDER, depth[~far] - 1.6)
    size[far] = _ratio(_QUANTILE_FAR, depth[far] - 5.0)
    result[outer] = np.copysign(size, side)
    result[p == 0.0], result[p == 1.0] = -np.inf, np.inf
    return np.asarray(result)[()]


def betaincinv(a: npt.ArrayLike, b: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
    """Return the quantiles of beta distributions: the x for which I_x(a, b) = p, float64.

    Parameters
    ----------
    a, b
        In [1e-6, 1e15], else nan. From 0.05 up, x is exact to 1e-12 of itself; below 0.01 the 64
        points are too few, and errors reach 1e-8 at 0.001 and 1e-5 at 0.0001.
    p
        Probabilities in [0, 1].

    Examples
    --------
    >>> round(float(betaincinv(9.0, 3.0, 0.5)), 4)
    0.7642
    """
    a, b, p = _alike(a, b, p)
    known = (a > 0.0) & (b > 0.0)
    result = np.where(known & ((p == 0.0) | (p == 1.0)), p, np.nan)
    low, high = np.minimum(a, b), np.maximum(a, b)
    inside = (low >= SMALLEST) & (high <= LARGEST) & (p > 0.0) & (p < 1.0)
    a, b, p = a[inside], b[inside], p[inside]
    upper = p > 0.5
    first, second = np.where(upper, b, a), np.where(upper, a, b)
    log_odds = _quantile(first, second, np.where(upper, 1.0 - p, p))
    log_odds += np.log(first) - np.log(second)
    # x of the smaller tail, or 1 minus it; odds above 1e300 make either 1 or 0.
    odds = np.exp(np.minimum(log_odds, 700.0))
    result[inside] = np.where(upper, 1.0, odds) / (1.0 + odds)
    return np.asarray(result)[()]


def stdtr(df: npt.ArrayLike, t: npt.ArrayLike) -> Floats:
    """Return the distribution function of Student's t, float64 (DLMF 8.17; T^2 / (T^2 + df)).

    Parameters
    ----------
    df
        Degrees of freedom, from 2e-6 up (inf is normal), else nan.
    t
        Any number.

    Examples
    --------
    >>> round(float(stdtr(3.0, -2.0)), 6)
    0.069663
    """
    df, t = _alike(df, t)
    result = np.full(t.shape, np.nan)
    known = (df >= 2.0 * SMALLEST) & ~np.isnan(t)
    normal = known & (df >= NORMAL_DF)
    result[normal] = ndtr(t[normal])
    result[known & (t == 0.0)] = 0.5
    result[known & (t == -np.inf)], result[known & (t == np.inf)] = 0.0, 1.0
    inside = known & ~normal & (t != 0.0) & np.isfinite(t)
    half, at = 0.5 * df[inside], t[inside]
    # Of T^2 / (T^2 + df), a beta variable of 1/2 and df / 2: delta = log(t^2).
    other = np.full_like(half, 0.5)
    tail = np.exp(_lower(half, other, _log_top(half, other), -2.0 * np.log(np.abs(at))).log_tail)
    result[inside] = np.where(at < 0.0, 0.5 * tail, 1.0 - 0.5 * tail)
    return np.asarray(result)[()]


def stdtrit(df: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
    """Return the quantiles of Student's t, float64: the t for which ``stdtr(df, t)`` is p.

    Parameters
    ----------
    df
        Degrees of freedom, from 2e-6 up (inf is normal), else nan. From 0.1 up, t is exact to
        1e-12 of itself.
    p
        Probabilities in [0, 1]; 0 is at -inf.

    Examples
    --------
    >>> round(float(stdtrit(3.0, 0.975)), 4)
    3.1824
    """
    df, p = _alike(df, p)
    result = np.full(p.shape, np.nan)
    known = (df >= 2.0 * SMALLEST) & (p >= 0.0) & (p <= 1.0)
    normal = known & (df >= NORMAL_DF)
    result[normal] = ndtri(p[normal])
    result[known & (p == 0.5)] = 0.0
    result[known & (p == 0.0)], result[known & (p == 1.0)] = -np.inf, np.inf
    inside = known & ~normal & (p > 0.0) & (p < 1.0) & (p != 0.5)
    half, wanted = 0.5 * df[inside], p[inside]
    beyond = 2.0 * np.minimum(wanted, 1.0 - wanted)
    within = 2.0 * np.abs(wanted - 0.5)
    outer = beyond <= 0.5
    delta = _quantile(
        np.where(outer, half, 0.5), np.where(outer, 0.5, half), np.where(outer, beyond, within)
    )
    log_t = np.where(outer, -0.5, 0.5) * delta
    size = np.where(log_t > 709.0, np.inf, np.exp(np.minimum(log_t, 709.0)))
    result[inside] = np.copysign(size, wanted - 0.5)
    return np.asarray(result)[()]


def _alike(*arguments: npt.ArrayLike) -> tuple[Floats, ...]:
    """Return float64 arrays of one shape."""
    arrays = (np.asarray(each, dtype=np.float64) for each in arguments)
    return tuple(np.broadcast_arrays(*arrays))


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: Floats) -> Floats:
    """Divide two polynomials whose coefficients are of rising powers."""
    above, below = (np.full_like(x, of[-1]) for of in coefficients)
    for over, under in zip(coefficients[0][-2::-1], coefficients[1][-2::-1], strict=True):
        above *= x
        above += over
        below *= x
        below += under
    return above / below


# The beta distribution in delta = logit(x) - logit(a / (a + b)); all arrays float64 (entry,).


class _Lower(NamedTuple):
    """Of beta variables: log P(X <= x), and log density of logit(X) at it; float64 (entry,)."""

    log_tail: Floats
    log_density: Floats


def _quantile(a: Floats, b: Floats, p: Floats) -> Floats:
    """Solve ``P(X <= x) = p`` for delta, where p lies in (0, 1/2]."""
    log_p = np.log(p)
    top = _log_top(a, b)
    floor, delta = _guess(a, b, top, p)
    going = np.arange(len(delta))
    for _ in range(STEPS):
        of, at, here = a[going], b[going], delta[going]
        lower = _lower(of, at, top[going], here)
        excess = lower.log_tail - log_p[going]
        # Of log P: its derivative, half its second and a sixth of its third, these over the first.
        slope = np.exp(lower.log_density - lower.log_tail)
        bend, curve = _bend(of, at, here)
        second = 0.5 * (bend - slope)
        third = (2.0 * second * (bend - 2.0 * slope) + curve) / 6.0
        step = -excess / np.maximum(slope, 1e-300)
        near = np.where(np.abs(excess) < 1.0, step, 0.0)
        below = 1.0 + near * (2.0 * second + near * third)
        step *= np.clip((1.0 + near * second) / np.maximum(below, 0.5), 0.5, 2.0)
        delta[going] = np.maximum(here + step, floor[going])
        going = going[np.abs(step) * (1.0 + slope) > 1e-4]
        if not len(going):
            break
    delta[going] = np.nan  # none known
    return delta


def _guess(a: Floats, b: Floats, top: Floats, p: Floats) -> tuple[Floats, Floats]:
    """Return a bound below delta, and a guess, where P(X <= x) = p, for p up to 1/2.

    Parameters of 1 and more: Abramowitz and Stegun 26.5.22. Else p = x^a / (a B(a, b)) or
    1 - p = (1 - x)^b / (b B(a, b)), each the limit at an end of (0, 1). P is at most the first for
    b >= 1, and I_x(a, b) at most I_x(a, b + 1): the bound.
    """
    log_beta = -a * np.log1p(b / a) - b * np.log1p(a / b) - top
    log_x = (np.log(p) + np.log(a) + log_beta) / a
    log_y = (np.log1p(-p) + np.log(b) + log_beta) / b
    mean = np.log(a) - np.log(b)
    left, right = _logit(log_x), np.where(log_y < 0.0, -_logit(log_y), np.inf)
    result = np.where((a >= 1.0) | (log_x >= 0.0), np.minimum(left, right), left)
    result = np.where(np.isfinite(result), result - mean, 0.0)
    bulk = (a >= 1.0) & (b >= 1.0)
    y, u, v = -ndtri(p[bulk]), 1.0 / (2.0 * a[bulk] - 1.0), 1.0 / (2.0 * b[bulk] - 1.0)
    third, size = (y * y - 3.0) / 6.0, 2.0 / (u + v)
    w = y * np.sqrt(size + third) / size - (v - u) * (third + 5 / 6 - 2.0 / (3.0 * size))
    result[bulk] = -2.0 * w
    bound = log_x + np.where(b < 1.0, (np.log(b) - np.log(a + b)) / a, 0.0)
    floor = np.where(bound < 0.0, _logit(bound), log_x) - mean
    return floor, np.maximum(result, floor)


def _logit(log_x: Floats) -> Floats:
    """Return the logit of x from its log; inf where x would be 1 or more."""
    below = np.minimum(log_x, -1e-300)
    return np.where(log_x < 0.0, below - np.log(-np.expm1(below)), np.inf)


def _bend(a: Floats, b: Floats, delta: Floats) -> tuple[Floats, Floats]:
    """Return ``a (1 - x) - b x`` and its own derivative: those of the log density of logit(X)."""
    less = np.exp(-np.abs(delta))
    low, high = np.where(delta < 0.0, less, 1.0), np.where(delta < 0.0, 1.0, less)
    both = a * low + b * high
    scale = a * b / both
    return scale * (high - low), -scale * (a + b) * low * high / both


def _lower(a: Floats, b: Floats, top: Floats, delta: Floats) -> _Lower:
    """Integrate below x; above the mean, beyond x, and subtract from 1."""
    above = delta > 0.0
    near, far = np.where(above, b, a), np.where(above, a, b)
    shift = -np.abs(delta)
    deep = np.maximum(shift, DEEP)
    total, less = a + b, np.minimum(a, b)
    # The log density of logit(X) falls by half the deviance of x from the mean.
    turned = np.where(near <= far, deep, -deep)
    fall = total * np.log1p(less / total * np.expm1(turned)) - less * turned
    log_density = top - fall + near * (shift - deep)
    odds = near / far * np.exp(deep)
    log_tail = log_density + np.log1p(odds) + np.log(_integral(near, far, odds))
    # Where one tail is all but 1, its rounding must not make the other negative.
    rest = np.log(-np.expm1(np.minimum(log_tail, -1e-16)))
    return _Lower(np.where(above, rest, log_tail), log_density)


def _integral(a: Floats, b: Floats, odds: Floats) -> Floats:
    """Sum ``e^(-a r) (1 - odds expm1(-r))^(b - 1)`` over r > 0; odds are up to a / b."""
    slope = a - (b - 1.0) * odds
    curve = np.sqrt(np.maximum(b - 1.0, 0.0)) * np.sqrt(odds) * np.sqrt(1.0 + odds)
    # A length over which the integrand falls: its own where b > 1, that of the far end else.
    scale = np.where(b < 1.0, 1.0 / a, 1.0 / (np.maximum(slope, 0.0) + np.minimum(curve, a)))
    result = np.empty_like(a)
    for start in range(0, len(a), BLOCK):
        part = slice(start, start + BLOCK)
        r = scale[part, None] * _POINTS
        power = (b[part, None] - 1.0) * np.log1p(-odds[part, None] * np.expm1(-r))
        result[part] = (np.exp(power - a[part, None] * r) * _WEIGHTS).sum(axis=1)
    return scale * result


def _log_top(a: Floats, b: Floats) -> Floats:
    """Log density of logit(X) at its mode, x = a / (a + b)."""
    of_both, of_a, of_b = _stirling(np.stack([a + b, a, b]))
    return np.asarray(of_both - of_a - of_b - 0.5 * np.log(2.0 * math.pi * (1.0 / a + 1.0 / b)))


def _stirling(x: Floats) -> Floats:
    """Return ``log Gamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2)`` of x > 0, to 1e-16."""
    small = x < 10.0
    inverse = 1.0 / np.where(small, x + 10.0, x)
    square = inverse * inverse
    series = np.full_like(x, _STIRLING[-1])
    for coefficient in _STIRLING[-2::-1]:
        series = series * square + coefficient
    series *= inverse
    # From y to y + 1 it falls by (y + 1/2) log(1 + 1 / y) - 1.
    steps = x[small, None] + np.arange(10.0)
    series[small] += ((steps + 0.5) * np.log1p(1.0 / steps) - 1.0).sum(axis=1)
    return series
