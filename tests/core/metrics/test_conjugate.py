"""The beta-binomial against scipy.stats.beta."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lightfair.core.metrics.labels_only import beta_binomial, beta_draws, check_prior

S = np.array([0.0, 3.0, 17.5, 4000.0])
F = np.array([0.0, 0.0, 2.25, 9000.0])


@pytest.mark.parametrize("prob", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (2.0, 2.0), (0.5, 3.0)])
def test_summary(prior, prob):
    wanted = stats.beta(prior[0] + S, prior[1] + F)
    got = beta_binomial(S, F, prior=prior, prob=prob)
    np.testing.assert_allclose(got.mean, wanted.mean(), rtol=1e-12)
    np.testing.assert_allclose(got.sd, wanted.std(), rtol=1e-12)
    low, high = wanted.interval(prob)
    np.testing.assert_allclose(got.low, low, rtol=1e-9)
    np.testing.assert_allclose(got.high, high, rtol=1e-9)


def test_no_rows_give_the_prior():
    got = beta_binomial(np.zeros(()), np.zeros(()), prob=0.9)
    assert [float(x) for x in got] == pytest.approx([0.5, 12**-0.5, 0.05, 0.95])


def test_swapping_labels_mirrors():
    one, two = beta_binomial(S, F), beta_binomial(F, S)
    np.testing.assert_allclose(one.mean, 1.0 - two.mean, rtol=1e-12)
    np.testing.assert_allclose(one.low, 1.0 - two.high, rtol=1e-9)


def test_draws():
    draws = beta_draws(S, F, draws=20_000, rng=np.random.default_rng(0), prior=(2.0, 1.0))
    assert draws.shape == (20_000, 4)
    wanted = stats.beta(2.0 + S, 1.0 + F)
    assert (abs(draws.mean(axis=0) - wanted.mean()) < 4.5 * wanted.std() / 20_000**0.5).all()
    np.testing.assert_allclose(draws.std(axis=0), wanted.std(), rtol=0.03)


@pytest.mark.parametrize("prior", [(0, 1), (1, -1), (float("nan"), 1), (1, float("inf"))])
def test_prior_needs_two_positive_numbers(prior):
    with pytest.raises(ValueError, match="a beta prior needs two finite numbers above 0; got"):
        check_prior(prior)


def test_prior_is_returned_as_floats():
    assert check_prior((1, 2)) == (1.0, 2.0)
