"""The comparison with other programs: its log density, its metrics step and its text."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import lightfair as lf
from lightfair.core.metrics.definitions import theta
from lightfair.core.metrics.imputation import confusion_counts
from lightfair.core.model.likelihood import labeled_data, loglik

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def peers():
    """The modules that need no other program."""
    names = ("common", "peer_blackjax", "programs", "simulated", "comparison")
    sys.path.append(str(ROOT))
    yield {name: importlib.import_module(f"bench.peers.{name}") for name in names}
    sys.path.remove(str(ROOT))


@pytest.fixture(scope="module", params=[False, True], ids=["rows", "nodes"])
def case(peers, request):
    size = peers["simulated"].Size(60, 500, nodes=request.param)
    return peers["simulated"].build(size)


def curves(rng, draws=3):
    return rng.normal(0.0, 0.3, size=(1, draws, 2, 3))


def table_of(case):
    return lf.score_table(lf.score_data(case.y_true, case.y_score, sensitive_features=case.names))


def test_log_likelihood_is_that_of_lightfair(peers, case):
    rng = np.random.default_rng(1)
    seen = labeled_data([table_of(case)], family="beta")
    data = (case.up, case.down, case.positive, case.total, case.group)
    for phi in curves(rng)[0]:
        ours = loglik(phi[None, None], seen).sum()
        assert peers["peer_blackjax"].log_likelihood(phi, data, np) == pytest.approx(ours, rel=1e-6)


def test_log_density_adds_the_priors(peers, case):
    """In mu, sigma, phi the density is normal, half-normal, normal; the rest is the Jacobian."""
    density, common = peers["peer_blackjax"], peers["common"]
    rng = np.random.default_rng(2)
    data = (case.up, case.down, case.positive, case.total, case.group)

    def normal(x, mean, sd):
        return (-0.5 * ((x - mean) / sd) ** 2 - np.log(sd)).sum()

    found = []
    for _ in range(3):
        at = density.Position(rng.normal(size=3), rng.normal(size=3), rng.normal(size=(2, 3)))
        phi, mu, sigma = density.constrain(at, np)
        prior = normal(mu, 0.0, common.LOCATION_SD) + normal(sigma, 0.0, common.SPREAD_SD)
        prior += normal(phi, mu, np.broadcast_to(sigma, phi.shape))
        jacobian = np.log(sigma).sum() + 2 * np.log(sigma).sum()  # of sigma, and of two etas
        whole = density.log_density(at, data, np)
        likelihood = density.log_likelihood(phi, data, np)
        found.append(whole - (prior + jacobian + likelihood))
    assert np.ptp(found) < 1e-9  # a constant


def test_scales_are_those_of_the_prior(peers):
    assert np.array_equal(peers["common"].LOCATION_SD, lf.Prior().location_sd)
    assert np.array_equal(peers["common"].SPREAD_SD, lf.Prior().spread_sd)


def test_metrics_step_is_that_of_lightfair(peers, case):
    rng = np.random.default_rng(3)
    phi = curves(rng)
    counts = confusion_counts(phi, table_of(case), target="expected", rng=rng).expected
    ours = np.stack([theta(name, counts) for name in peers["common"].METRICS], axis=-1)
    draws = peers["common"].Draws(phi, phi[:, :, 0], phi[:, :, 0])
    assert np.allclose(peers["common"].metrics(draws, case), ours, rtol=0.0, atol=1e-7)
