"""The curve, its families and its prior."""

from __future__ import annotations

from itertools import product

import naive
import numpy as np
import pytest
from scipy.special import expit, logit

from lightfair.core.data.logit import logit_of
from lightfair.core.model.curve import (
    FAMILIES,
    Prior,
    active,
    calibrate,
    default_prior,
    features,
    llo_prior,
    tie,
)
from lightfair.core.model.scales import curve_scales

SCORES = np.array([1e-9, 0.003, 0.2, 0.5, 0.71, 0.999])
SHAPES = list(product([0.0, 0.4, 1.0, 3.0], [0.0, 0.7, 1.0, 2.5], [-4.0, 0.0, 1.5]))


def seen(scores, family, a, b, c):
    """The curve as the sampler computes it, from the features."""
    nodes = features(logit(scores), family)
    return expit(nodes.offset * c + a * nodes.up + b * nodes.down)


@pytest.mark.parametrize("a, b, c", SHAPES)
def test_curve_equals_naive_in_every_family(a, b, c):
    def close(got, *shape):
        wanted = [naive.curve(s, *shape) for s in SCORES]
        np.testing.assert_allclose(got, wanted, rtol=1e-12)

    close(calibrate(SCORES, a, b, c), a, b, c)
    close(seen(SCORES, "beta", a, b, c), a, b, c)
    close(seen(SCORES, "llo", a, b, c), a, a, c)  # whatever b is
    close(seen(SCORES, "temperature", a, b, c), a, a, 0.0)
    scores = SCORES[1:]  # 1 - 1e-9 has lost seven digits
    swapped = calibrate(1.0 - scores, b, a, -c)  # swapping classes swaps a and b and negates c
    np.testing.assert_allclose(swapped, 1.0 - calibrate(scores, a, b, c), rtol=0, atol=1e-13)


@pytest.mark.parametrize("score, a, c, wanted", [(1e-300, 5, 0, 0.0), (0.5, 1, -800, 0.0)])
def test_curve_without_overflow(score, a, c, wanted):
    assert calibrate(score, a=a, c=c) == wanted


def test_tie_and_active():
    values = np.array([[0.1, 0.2, 0.3], [1.0, 2.0, 3.0]])
    before = values.copy()
    np.testing.assert_array_equal(tie(values, "beta"), values)
    np.testing.assert_array_equal(tie(values, "llo"), [[0.1, 0.1, 0.3], [1, 1, 3]])
    np.testing.assert_array_equal(tie(values, "temperature"), [[0.1, 0.1, 0], [1, 1, 0]])
    np.testing.assert_array_equal(values, before)
    counts = {family: int(active(family).sum()) for family in FAMILIES}
    assert counts == {"beta": 3, "llo": 2, "temperature": 1}
    np.testing.assert_array_equal(active("llo"), [True, False, True])


@pytest.mark.parametrize("family", FAMILIES)
def test_tied_parameters_give_the_curve_of_the_family(family):
    log_a, log_b, c = tie(np.array([0.3, -0.2, 0.7]), family)
    wanted = seen(SCORES, family, np.exp(0.3), np.exp(-0.2), 0.7)
    np.testing.assert_allclose(calibrate(SCORES, np.exp(log_a), np.exp(log_b), c), wanted, 1e-12)


def test_logit_of():
    np.testing.assert_allclose(logit_of(SCORES, 0.0), logit(SCORES), rtol=1e-12)
    edge = logit(0.01)
    clipped = logit_of([0.0, 0.01, 0.5, 0.99, 1.0], 0.01)
    np.testing.assert_allclose(clipped, [edge, edge, 0, -edge, -edge], rtol=1e-12)
    assert logit_of(1, 0.1).dtype == np.float64
    np.testing.assert_allclose(logit_of(1e-300, 0.0), -300 * np.log(10), rtol=1e-12)


def test_prior_defaults_are_those_of_the_paper():
    np.testing.assert_array_equal(Prior().location_sd, [0.4, 0.4, 2.0])
    np.testing.assert_array_equal(Prior().spread_sd, [0.15, 0.15, 0.75])


def test_llo_prior():
    assert llo_prior().to_dict() == {**Prior().to_dict(), "sigma_c_sd": 0.70}


def test_scaled_multiplies_all_six():
    prior = default_prior(True)
    wanted = {name: 3.0 * value for name, value in prior.to_dict().items() if name != "slope"}
    assert len(wanted) == 6
    assert prior.scaled(3.0).to_dict() == {**wanted, "slope": 0.8}


def test_default_prior():
    assert default_prior(False) == Prior()  # the paper's
    np.testing.assert_array_equal(curve_scales(Prior()).centre, np.zeros(3))
    centre = curve_scales(default_prior(True)).centre
    np.testing.assert_allclose(centre, [np.log(0.8), np.log(0.8), 0.0])


@pytest.mark.parametrize("name", list(Prior().to_dict()))
@pytest.mark.parametrize("value", [0, -1, 1e-7, 51, np.nan, np.inf, None, "0.4", True, [0.4], 1j])
def test_prior_rejects(name, value):
    with pytest.raises(ValueError, match=rf"Prior.{name} must lie in \[1e-06, 50\]; got"):
        Prior(**{name: value})
