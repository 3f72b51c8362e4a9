import math

import numpy as np
import pytest

from lightfair.core.mcmc import convergence as diagnostics
from lightfair.core.mcmc.convergence import Gate, diagnose, gate, gelman_rubin, mcse_mean


def rhat_of(x):
    return diagnose(x).rhat


def ess_bulk_of(x):
    return diagnose(x).ess_bulk


def chains(draws):
    """Four slow chains by integer arithmetic, the same on every machine; (4, draws, 3)."""
    k = np.arange(4 * draws, dtype=np.int64).reshape(4, draws) + 1
    noise = (k * k % 10007 * k + 11 * k) % 10007 / 10007 - 0.5
    slow = noise.copy()
    for t in range(1, draws):
        slow[:, t] += 0.6 * slow[:, t - 1]
    return np.stack([slow, np.floor(6 * slow), slow + [[0.0], [0.0], [0.0], [1.0]]], axis=2)


# ArviZ 0.21.0: rhat (rank), ess (bulk), ess (tail), mcse (mean), rhat (identity) of chains(draws)
STORED = {
    200: (
        [1.0086684038863947, 1.0079096550128954, 1.4840353718161576],
        [168.98570829387617, 170.61435736721467, 7.827487552379119],
        [133.85060773525885, 251.50146777888457, 37.936619667502086],
        [0.029956270214287577, 0.17882379107036617, 0.23528201331456222],
        [1.0131406993160161, 1.0123119097077615, 1.749584246374366],
    ),
    203: (
        [1.009017133748736, 1.0078753192653438, 1.4806006789458321],
        [168.97679158353083, 170.42375194532082, 7.860765083159447],
        [133.39327675339226, 255.54277997793932, 35.05053438207922],
        [0.029934804450527194, 0.17852660203152246, 0.23487253822136536],
        [1.011934668470868, 1.0115240802045777, 1.7446134613065702],
    ),
}


@pytest.mark.parametrize("draws", STORED)
def test_numbers_of_another_program(draws):
    x = chains(draws)
    found = *diagnose(x)[:3], mcse_mean(x), gelman_rubin(x)
    np.testing.assert_allclose(found, STORED[draws], rtol=1e-9)


def test_independent_draws_are_worth_their_number():
    found = diagnose(np.random.default_rng(1).standard_normal((4, 1000, 50)))
    assert found.rhat.max() < 1.01
    assert found.ess_bulk.mean() == pytest.approx(4000, rel=0.03)
    assert found.ess_tail.mean() == pytest.approx(4000, rel=0.1)
    assert gate(found)[3:5] == (True, None)


@pytest.mark.parametrize("change", [np.exp, lambda x: 1e300 * x, lambda x: 7 - x])
def test_ranks_ignore_the_scale(change):
    x = chains(100)[:, :, 0]
    found = ess_bulk_of(change(x))
    np.testing.assert_allclose(found, ess_bulk_of(x), rtol=1e-9)


def test_ties_do_not_depend_on_the_order_of_chains():
    x = chains(100)[:, :, 1]
    np.testing.assert_allclose(diagnose(x[::-1])[:3], diagnose(x)[:3], rtol=1e-10)
    # Draws balanced on two values lie at one distance from their median: no folded R-hat.
    two = np.tile([0.0, 1.0, 1.0, 0.0], (4, 25))
    assert rhat_of(two) == pytest.approx(math.sqrt(49 / 50), rel=1e-12)
    assert np.isfinite(diagnose(two)[:3]).all()


def test_states():
    x = np.repeat(chains(100)[:, :, :1], 7, axis=2)
    x[:, :, 1] = 0.1 + 1e-15 * x[:, :, 1]  # constant up to rounding
    x[:, :, 2] = 4e12 * (1 + 1e-15 * x[:, :, 2])
    x[2, :, 3] = x[2, 0, 3]  # one chain stuck
    x[:, :, 4] = [[1.0], [1.0], [1.0], [2.0]]  # all stuck, not at one value
    x[0, 7, 5] = math.nan
    x[3, 0, 6] = -math.inf
    found = diagnose(x)
    assert found.constant.tolist() == [False, True, True, False, False, False, False]
    assert found.finite.tolist() == [True] * 5 + [False] * 2
    nan, inf = math.nan, math.inf
    np.testing.assert_array_equal(found.rhat[1:], [nan, nan, inf, inf, inf, inf])
    np.testing.assert_array_equal(found.ess_bulk[1:], [nan, nan, 0, 0, 0, 0])
    np.testing.assert_array_equal(found.ess_tail[1:], [nan, nan, 0, 0, 0, 0])
    np.testing.assert_array_equal(mcse_mean(x)[1:], [0, 0, inf, inf, inf, inf])
    classic = gelman_rubin(x)
    np.testing.assert_array_equal(classic[[1, 2, 4, 5, 6]], [nan, nan, inf, inf, inf])
    assert 1.0 < classic[3] < inf
    verdict = gate(found, rhat_limit=1.1, ess_limit=10)
    assert verdict[:4] == (inf, 0.0, 0.0, False)
    assert verdict.reason.startswith("draws are not finite for 2 of 7 quantities; a chain is stuck")


def test_gate_says_what_failed():
    found = diagnose(chains(200))
    verdict = gate(found)
    assert verdict[:3] == (found.rhat.max(), found.ess_bulk.min(), found.ess_tail.min())
    assert not verdict.ok
    assert verdict.reason == (
        "R-hat is above 1.01 for 1 of 3 quantities (largest 1.485); "
        "bulk ESS is below 400 for 3 of 3 quantities (smallest 7); "
        "tail ESS is below 400 for 3 of 3 quantities (smallest 37)"
    )
    assert gate(found, rhat_limit=1.5, ess_limit=5).ok
    same = diagnose(np.full((4, 50, 2), 0.25))
    reason = "every quantity is constant: R-hat and ESS are undefined"
    known = Gate(None, None, None, True, reason)
    assert gate(same) == gate(diagnose(np.zeros((4, 50, 0)))) == known
    assert gate(found._replace(rhat=np.array([1.0, 1.04, 1.0])), ess_limit=5).reason == (
        "R-hat is above 1.01 for 1 of 3 quantities (largest 1.04)"
    )


@pytest.mark.parametrize("draws", [0, 1, 2, 3])
def test_too_few_draws(draws):
    x = chains(10)[:, :draws]
    found = diagnose(x)
    for number in (*found[:3], mcse_mean(x)):
        assert np.isnan(number).all()
    assert not found.constant.any()
    reason = "fewer than 4 draws a chain: R-hat and ESS are undefined"
    assert gate(found) == Gate(None, None, None, False, reason)
    assert np.isnan(gelman_rubin(x)).all() == (draws < 2)


@pytest.mark.parametrize("shape", [(), (5,), (0, 5, 2)])
def test_shape_without_chains(shape):
    with pytest.raises(ValueError, match=r"x must have shape \(chain, draw, \.\.\.\)"):
        diagnose(np.zeros(shape))


def test_blocks_change_nothing(monkeypatch):
    x = np.random.default_rng(40).normal(size=(4, 50, 3, 5))
    x[..., 1, 2] = 1.0
    x[1, 7, 2, 0] = np.nan
    whole = diagnostics.diagnose(x)
    monkeypatch.setattr(diagnostics, "BLOCK", 4 * 50)
    for one, two in zip(whole, diagnostics.diagnose(x), strict=True):
        assert two.shape == (3, 5)
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_rounding_does_not_break_ties():
    """States are kept for several sweeps; those next to the median are equally far from it."""
    kept = np.repeat([[0.2, 0.9, 0.3, 0.6, 0.7, 0.1, 0.8, 0.4]], 4, axis=1)
    numbers = [diagnose(kept + shift).rhat for shift in np.arange(10) / 7]
    np.testing.assert_allclose(numbers, diagnose(np.round(10.0 * kept)).rhat, rtol=1e-12)
