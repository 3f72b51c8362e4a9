"""The special functions against scipy.special, closed forms and their own inverses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special
from scipy.special import betaincinv, ndtr, ndtri, stdtr, stdtrit

INF, NAN = np.inf, np.nan
TAILS = 10.0 ** np.random.default_rng(7).uniform(-12.0, np.log10(0.5), 2_000)
EVEN = np.linspace(0.0005, 0.9995, 1_000)
P = np.concatenate([TAILS, 1.0 - TAILS, EVEN, [1e-12, 0.25, 0.5, 0.75, 1.0 - 1e-12]])
PARAMETERS = [(0.05, 1.0), (0.05, 1e7), (1.0, 300.0), (1.0, 1e7), (1e5, 1e7)]


def spread(low, high, size, seed=0):
    """Numbers whose logs are uniform, the ends among them."""
    rng = np.random.default_rng(seed)
    inner = np.exp(rng.uniform(np.log(low), np.log(high), size - 2))
    return rng.permutation(np.concatenate([[low, high], inner]))


def smaller_tail_misses(a, b, x, p):
    """How far the smaller tail of a beta at x lies from that of p, over its size."""
    upper = p > 0.5
    wanted = np.where(upper, 1.0 - p, p)
    found = np.where(upper, special.betaincc(a, b, x), special.betainc(a, b, x))
    return np.abs(found / wanted - 1.0)


def quantile_of_t(df, p):
    """t^2 / (df + t^2) is Beta(1/2, df/2): by scipy's quantiles of the beta.

    The stdtrit of scipy 1.12 is off in the ninth digit.
    """
    beyond = 2.0 * np.minimum(p, 1.0 - p)
    within = special.betainccinv(0.5, 0.5 * df, beyond)
    rest = special.betaincinv(0.5 * df, 0.5, beyond)
    return np.copysign(np.sqrt(df * within / rest), p - 0.5)


# the normal distribution


def test_ndtr():
    x = np.concatenate([np.linspace(-37.0, 9.0, 40_001), [0.67448975, 5.65, -5.65, 0.0, -0.0]])
    # That one rounds x / sqrt(2), which at -37 is 2e-13 of the tail.
    np.testing.assert_allclose(ndtr(x), special.ndtr(x), rtol=3e-13)
    near = x[np.abs(x) < 10.0]
    np.testing.assert_allclose(ndtr(near), special.ndtr(near), rtol=2e-14)


def test_tails_of_ndtr():
    """The asymptotic series (DLMF 7.12.1): its tenth term is below 1e-15 from 20 on."""
    x = np.array([20.0, 20.03, 25.0, 30.01, 36.99])
    term, series = np.ones_like(x), np.zeros_like(x)
    for k in range(10):
        series += term
        term = term * -(2 * k + 1) / (x * x)
    # x * x is split, so that its rounding is not one of the exponential
    head = np.round(x, 1)
    rest = (x - head) * (x + head)
    density = np.exp(-np.round(head * head / 2, 3)) * np.exp(-rest / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(ndtr(-x), density * series / x, rtol=1e-13)
    np.testing.assert_array_equal(ndtr(x), 1.0)


def test_ndtri():
    tails = 1.0 / spread(1.0, 1e300, 20_000)[1:]
    p = np.concatenate([tails, P, 0.5 + spread(1e-15, 0.1, 2_000), [0.075, 0.925]])
    np.testing.assert_allclose(ndtri(p), special.ndtri(p), rtol=1e-13)
    np.testing.assert_allclose(ndtr(ndtri(p)), p, rtol=2e-12)


def test_normal_scores_of_ranks():
    """As a diagnosis asks for: symmetric to the last bit but one, rising."""
    p = (np.arange(1.0, 3201.0) - 0.375) / 3200.25
    scores = ndtri(p)
    assert (np.diff(scores) > 0.0).all()
    np.testing.assert_allclose(scores, -scores[::-1], rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "argument", "value"),
    [
        (ndtr, [-INF, INF, NAN, -40.0, 1e200], [0.0, 1.0, NAN, 0.0, 1.0]),
        (ndtri, [0.0, 1.0, 0.5, -0.1, 1.1, NAN], [-INF, INF, 0.0, NAN, NAN, NAN]),
        (ndtri, [5e-324, 1.0 - 2.0**-53], [-38.467405617144344, 8.209536151601387]),
    ],
)
def test_edges_of_the_normal(function, argument, value):
    np.testing.assert_allclose(function(argument), value, rtol=1e-14)
    np.testing.assert_allclose(
        getattr(special, function.__name__)(argument), function(argument), rtol=1e-14
    )


# the beta distribution


@pytest.mark.parametrize(("low", "high"), PARAMETERS)
def test_betaincinv(low, high):
    a, b = spread(low, high, len(P)), spread(low, high, len(P), seed=1)
    x = betaincinv(a, b, P)
    normal = x > 1e-290  # below, that one stops at the smallest normal number
    np.testing.assert_allclose(x[normal], special.betaincinv(a, b, P)[normal], rtol=1e-11)
    assert (special.betaincinv(a, b, P)[~normal] < 1e-289).all()


@pytest.mark.parametrize(("low", "high"), [(0.05, 1.0), (0.05, 300.0), (1.0, 300.0)])
def test_the_smaller_tail_is_that_of_p(low, high):
    a, b = spread(low, high, len(P)), spread(low, high, len(P), seed=1)
    x = betaincinv(a, b, P)
    inside = (x > 1e-290) & (x < 0.9)  # near 1, x has no digits left for 1 - x
    assert smaller_tail_misses(a, b, x, P)[inside].max() < 1e-11


@pytest.mark.parametrize("b", [0.05, 0.5, 1.0, 3.0, 1e3, 1e7])
def test_betaincinv_of_a_power(b):
    """I_x(1, b) = 1 - (1 - x)^b, and I_x(b, 1) = x^b."""
    np.testing.assert_allclose(betaincinv(1.0, b, P), -np.expm1(np.log1p(-P) / b), rtol=1e-13)
    np.testing.assert_allclose(betaincinv(b, 1.0, P), np.exp(np.log(P) / b), rtol=2e-13)


def test_betaincinv_of_the_arcsine():
    """I_x(1/2, 1/2) = 2 / pi arcsin(sqrt(x))."""
    p = P[P < 0.5]
    np.testing.assert_allclose(betaincinv(0.5, 0.5, p), np.sin(np.pi / 2 * p) ** 2, rtol=1e-13)


@pytest.mark.parametrize("a", [0.05, 1.0, 40.0, 1e7])
@pytest.mark.parametrize("b", [0.05, 2.0, 1e7])
def test_betaincinv_rises(a, b):
    lower = np.geomspace(1e-12, 0.5, 2_000)
    p = np.concatenate([[0.0], lower, 1.0 - lower[-2::-1], [1.0]])
    steps = np.diff(betaincinv(a, b, p))
    assert (steps >= 0.0).all()
    assert (steps > 0.0).all() or min(a, b) < 1.0  # then many quantiles round to 1


def test_betaincinv_mirrors():
    """P(X <= x) = P(1 - X >= 1 - x)."""
    a, b = spread(0.5, 1e6, 500), spread(0.5, 1e6, 500, seed=1)
    p = np.concatenate([np.full(250, 0.25), np.full(250, 0.0625)])
    np.testing.assert_allclose(betaincinv(a, b, p), 1.0 - betaincinv(b, a, 1.0 - p), atol=1e-15)


def test_a_number_does_not_depend_on_its_company():
    a, b = spread(0.05, 1e4, 5_000), spread(0.05, 1e4, 5_000, seed=1)
    p = P[:5_000]
    together = betaincinv(a, b, p)
    for k in (0, 7, 4_999):
        assert betaincinv(a[k], b[k], p[k]) == together[k]


def test_edges_of_the_beta():
    p = [0.0, 1.0, -0.1, 1.1, NAN]
    for a, b in [(1.0, 2.0), (0.5, 0.5), (0.0, 1.0), (1.0, -1.0), (NAN, 1.0), (0.0, 0.0)]:
        np.testing.assert_array_equal(betaincinv(a, b, p), special.betaincinv(a, b, p))
    np.testing.assert_array_equal(betaincinv([1e-7, 1.0, INF], [1.0, 1e16, 1.0], 0.5), NAN)
    assert betaincinv(0.01, 1.0, 1e-12) == 0.0  # 1e-1200


@pytest.mark.parametrize("smallest", [1e-6, 1e-3])
def test_every_beta_has_quantiles(smallest):
    """From one end of the domain to the other the root is found, whatever its digits."""
    a, b = spread(smallest, 1e15, 4_000), spread(smallest, 1e15, 4_000, seed=1)
    for p in (1e-300, 1e-12, 0.025, 0.5, 0.975, 1.0 - 2.0**-53):
        x = betaincinv(a, b, p)
        assert ((x >= 0.0) & (x <= 1.0)).all()


# Student's t


@pytest.mark.parametrize(("low", "high"), [(0.1, 1.0), (1.0, 100.0), (100.0, 1e9), (1e9, 1e21)])
def test_stdtrit(low, high):
    df = spread(low, high, len(P))
    t = stdtrit(df, P)
    np.testing.assert_allclose(stdtr(df, t), P, rtol=1e-13)
    digits = np.abs(P - 0.5) > 1e-6  # nearer, p itself has too few
    np.testing.assert_allclose(t[digits], quantile_of_t(df, P)[digits], rtol=1e-12)


def test_stdtr():
    df, t = spread(0.1, 1e12, 20_000), np.random.default_rng(1).standard_cauchy(20_000)
    wanted = special.stdtr(df, t)
    digits = wanted > 1e-100
    np.testing.assert_allclose(stdtr(df, t)[digits], wanted[digits], rtol=1e-11)
    assert (stdtr(df, t)[~digits] < 2e-100).all()


def test_closed_forms_of_t():
    """One degree of freedom is Cauchy's; two have an algebraic form."""
    t = -spread(1e-8, 1e100, 2_000)
    np.testing.assert_allclose(stdtr(1.0, t), np.arctan2(1.0, -t) / np.pi, rtol=1e-13)
    near = t[t > -1e7]
    root = np.sqrt(2.0 + near * near)
    np.testing.assert_allclose(stdtr(2.0, near), 1.0 / (root * (root - near)), rtol=1e-13)
    p = P[P != 0.5]
    lower = np.minimum(p, 1.0 - p)
    size = (1.0 - 2.0 * lower) / np.sqrt(2.0 * lower * (1.0 - lower))
    far = np.abs(p - 0.5) > 1e-3
    np.testing.assert_allclose(stdtrit(2.0, p)[far], np.copysign(size, p - 0.5)[far], rtol=1e-12)
    np.testing.assert_allclose(
        stdtrit(1.0, TAILS), -1.0 / np.tan(np.pi * TAILS), rtol=1e-12, atol=1e-16
    )


def test_many_degrees_of_freedom_are_normal():
    x = np.linspace(-37.0, 8.0, 500)
    for df in (9.9e19, 1e20, 1e300, INF):
        np.testing.assert_allclose(stdtr(df, x), ndtr(x), rtol=1e-12)
        np.testing.assert_allclose(stdtrit(df, P), ndtri(P), rtol=1e-13)


def test_t_is_symmetric_and_rises():
    df = spread(0.1, 1e6, 20)[:, None]
    p = np.sort(np.concatenate([TAILS[:200], EVEN[EVEN < 0.5]]))
    t = stdtrit(df, p)
    assert (np.diff(t, axis=1) > 0.0).all()
    half = np.array([0.0625, 0.25, 0.375])
    np.testing.assert_array_equal(stdtrit(df, half), -stdtrit(df, 1.0 - half))
    np.testing.assert_allclose(stdtr(df, 1.5), 1.0 - stdtr(df, -1.5), rtol=1e-15)


def test_edges_of_t():
    t = [-INF, INF, 0.0, NAN]
    p = [1.0, 0.5, -0.1, 1.1, NAN]
    for df in (1.0, 30.0, INF, 0.0, -1.0, NAN):
        np.testing.assert_array_equal(stdtr(df, t), special.stdtr(df, t))
        known = [INF, 0.0] if df > 0.0 else [NAN, NAN]
        np.testing.assert_array_equal(stdtrit(df, p), [*known, NAN, NAN, NAN])
    assert stdtrit(3.0, 0.0) == -INF
    # The tail of Cauchy's is 1 / (pi |t|); quantiles beyond the largest number are infinite.
    assert stdtr(1.0, -1e200) == pytest.approx(1e-200 / np.pi, rel=1e-12)
    np.testing.assert_array_equal(stdtrit(0.001, [1e-3, 1.0 - 1e-3]), [-INF, INF])


# shapes


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(ndtr, 1), (ndtri, 1), (betaincinv, 3), (stdtr, 2), (stdtrit, 2)],
)
def test_shapes(function, arguments):
    assert isinstance(function(*[0.5] * arguments), np.float64)
    assert isinstance(function(*[np.array(0.5)] * arguments), np.float64)
    assert function(*[[]] * arguments).shape == (0,)
    grid = np.full((2, 3), 0.5)
    assert function(grid, *[0.5] * (arguments - 1)).shape == (2, 3)
    np.testing.assert_array_equal(function(*[1] * arguments), function(*[1.0] * arguments))
    if arguments > 1:
        columns = np.full((4, 1), 0.5)
        assert function(columns, *[np.full(3, 0.5)] * (arguments - 1)).shape == (4, 3)


def test_arguments_stay_as_they_are():
    a, b, p = np.array([2.0, 30.0]), np.array([3.0, 0.5]), np.array([0.3, 0.9])
    copies = a.copy(), b.copy(), p.copy()
    betaincinv(a, b, p), stdtr(a, b), stdtrit(a, p), ndtr(a), ndtri(p)
    for one, other in zip((a, b, p), copies, strict=True):
        np.testing.assert_array_equal(one, other)
