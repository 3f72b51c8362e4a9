"""The joint-distribution test: does a sweep leave the posterior as it is?

Parameters drawn from the prior and labels drawn given them make a draw from the joint distribution.
A sweep given those labels, started at those parameters, must leave that distribution alone: the
parameters afterwards, beside the labels, must look like fresh draws of both (Geweke, "Getting it
right", JASA 2004, as a two-sample test). Each replicate is a data set of one batch, with one chain,
so replicates are independent.

The same test must reject wrong samplers, each wrong in one line.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from lightfair import sampler
from lightfair._jit import available
from lightfair.evidence import Evidence, evidence, loglik
from lightfair.model import Floats, Prior, features, logit_of
from lightfair.sampler import State, pack, take_draws, unpack, warm_up
from lightfair.surrogate import expand, marginal

PRIOR = Prior()
LABELS = 6  # scores with labels, of each group
REPLICATES = 6000
SWEEPS = 3  # a wrong move shows after one sweep or two
FALSE_ALARM = 1e-4


def simulate(
    seed: int,
    sets: int,
    groups: int,
    family: str = "beta",
    cap: float = math.inf,
    trials: int = 1,
) -> tuple[State, Evidence]:
    """Draw states from the prior, and labels given them, at scores that differ between groups."""
    rng = np.random.default_rng(seed)
    sigma = np.abs(rng.standard_normal((sets, 1, 3))) * PRIOR.spread_sd
    mu = rng.standard_normal((sets, 1, 3)) * PRIOR.location_sd
    noise = rng.standard_normal((sets, 1, groups, 3))
    phi = mu[:, :, None] + sigma[:, :, None] * noise
    score = np.linspace(0.1, 0.9, LABELS) ** np.linspace(0.5, 2.0, groups)[:, None]
    nodes = features(logit_of(np.tile(score.ravel(), sets), 0.0), family)
    segment = np.repeat(np.arange(sets * groups), LABELS)
    a, b, c = phi.reshape(-1, 3)[segment].T
    odds = nodes.offset * c + np.exp(a) * nodes.up + np.exp(b) * nodes.down
    odds = np.minimum(odds, cap)
    positive = rng.binomial(trials, 0.5 * (1.0 + np.tanh(0.5 * odds))).astype(float)
    weight = np.full(len(odds), float(trials))
    rows = evidence(
        segment, nodes, positive, weight, segments=sets * groups, groups=groups, cap=cap
    )
    return State(phi, mu, sigma, loglik(phi, rows), np.zeros((sets, 1))), rows


def rolled(rows: Evidence, by: int) -> Evidence:
    """The labels of another segment; all segments have as many."""
    return rows._replace(positive=np.roll(rows.positive, by * LABELS))


def kernel(
    state: State, rows: Evidence, prior: Prior = PRIOR, away: int = 0, astray: int = 0
) -> State:
    """Make some sweeps from the state, with a surrogate and steps that know the rows only.

    away: from which other segment the surrogate takes its labels, astray: the likelihood.
    """
    seen = rolled(rows, astray)
    chains = warm_up(seen, prior, chains=1, warmup=0, rng=np.random.default_rng(7))
    surrogate = expand(rolled(seen, away), prior)
    value = marginal(state.sigma, surrogate, prior).value
    ladder = sampler.level(state.sigma, value, surrogate, prior)
    packed = pack(state._replace(loglik=loglik(state.phi, seen), level=ladder))
    chains = chains._replace(packed=packed, surrogate=surrogate)
    return unpack(take_draws(chains, SWEEPS)[0].packed, rows.groups)


def statistics(state: State, rows: Evidence) -> dict[str, Floats]:
    """What is compared, by name: (data set,) each."""
    groups = rows.groups
    count = rows.positive.reshape(-1, groups, LABELS).sum(-1) - 0.5 * LABELS
    trend = (rows.positive * rows.up).reshape(-1, groups, LABELS).sum(-1)
    height = loglik(state.phi, rows)[:, 0]
    result = {}
    for j, name in enumerate(["log a", "log b", "c"]):
        result[f"mu of {name}"] = state.mu[:, 0, j]
        result[f"log sigma of {name}"] = np.log(state.sigma[:, 0, j])
        for g in range(groups):
            phi = state.phi[:, 0, g, j]
            result[f"{name} {g}"] = phi
            result[f"{name} {g} - mu"] = phi - state.mu[:, 0, j]
            result[f"{name} {g} * positives"] = phi * count[:, g]
            result[f"{name} {g} * trend"] = phi * trend[:, g]
    for g in range(groups):
        result[f"log likelihood {g}"] = height[:, g]
    return result


def p_value(x: Floats, y: Floats) -> float:
    """Two-sample Kolmogorov-Smirnov test, asymptotic; conservative where values tie."""
    x, y = np.sort(x), np.sort(y)
    both = np.concatenate([x, y])
    steps = [np.searchsorted(sample, both, side="right") / len(sample) for sample in (x, y)]
    distance = np.abs(steps[0] - steps[1]).max() * math.sqrt(len(x) * len(y) / len(both))
    if distance < 0.2:  # the series converges slowly, and the answer is 1
        return 1.0
    k = np.arange(1, 101)
    return float(2.0 * ((-1.0) ** (k - 1) * np.exp(-2.0 * k * k * distance * distance)).sum())


def found(state: State, rows: Evidence, fresh: tuple[State, Evidence], **wrong) -> list[str]:
    """The statistics that give a kernel away, at a false alarm of 1e-4 in all."""
    ours, wanted = statistics(kernel(state, rows, **wrong), rows), statistics(*fresh)
    return [name for name in ours if p_value(ours[name], wanted[name]) < FALSE_ALARM / len(ours)]


@cache
def replicates() -> tuple[State, Evidence]:
    return simulate(1, REPLICATES, 2)


@cache
def prior_draws() -> tuple[State, Evidence]:
    return simulate(2, 5 * REPLICATES, 2)


@pytest.fixture(autouse=True)
def numpy_form(monkeypatch):
    monkeypatch.setenv("LIGHTFAIR_JIT", "0")


def test_right_kernel_passes():
    assert found(*replicates(), prior_draws()) == []


@pytest.mark.skipif(not available(), reason="numba is not installed")
def test_compiled_kernel(monkeypatch):
    monkeypatch.setenv("LIGHTFAIR_JIT", "1")
    state, rows = simulate(3, 3000, 2)
    fresh = simulate(4, 15000, 2)
    assert found(state, rows, fresh) == []
    assert "c 0 * positives" in found(state, rows, fresh, astray=2)


def test_surrogate_of_other_labels_changes_nothing():
    assert found(*replicates(), prior_draws(), away=2) == []


@pytest.mark.parametrize(
    "groups, options",
    [
        (3, {"family": "llo"}),
        (1, {"family": "temperature"}),
        (1, {}),
        (2, {"cap": 0.4}),
        (2, {"trials": 20}),
    ],
)
def test_right_kernel_passes_elsewhere(groups, options):
    state, rows = simulate(3, 3000, groups, **options)
    assert found(state, rows, simulate(4, 15000, groups, **options)) == []


def test_rejects_scales_read_as_variances():
    roots = {name: math.sqrt(value) for name, value in PRIOR.to_dict().items()}
    names = found(*replicates(), prior_draws(), prior=Prior(**roots))
    assert {"log sigma of log a", "mu of log a", "mu of c"} <= set(names)


@pytest.mark.parametrize("astray", [1, 2])  # those of the other group, of another data set
def test_rejects_labels_out_of_line(astray):
    names = found(*replicates(), prior_draws(), astray=astray)
    assert {"log likelihood 0", "log likelihood 1", "c 0 * positives"} <= set(names)


def test_rejects_a_sigma_move_without_jacobian(monkeypatch):
    right = sampler._sigma_target
    monkeypatch.setattr(
        sampler, "_sigma_target", lambda sigma, *rest: right(sigma, *rest) - np.log(sigma)
    )
    assert any("sigma" in name for name in found(*replicates(), prior_draws()))


def test_rejects_a_level_without_the_proposal_of_sigma(monkeypatch):
    monkeypatch.setattr(sampler, "level", lambda sigma, value, *rest: value)
    assert any("sigma" in name for name in found(*replicates(), prior_draws()))


def test_rejects_a_weight_without_the_surrogate_likelihood(monkeypatch):
    monkeypatch.setattr(sampler, "quadratic", lambda phi, surrogate: np.zeros(phi.shape[:-1]))
    assert "log likelihood 0" in found(*replicates(), prior_draws())


def test_p_value_known_answers():
    # Kolmogorov's distribution: 5 % beyond 1.3581, 1 % beyond 1.6276
    n = 1_000_000
    x = np.arange(n) / n
    for distance, wanted in [(1.3581, 0.05), (1.6276, 0.01)]:
        y = x + distance / math.sqrt(n / 2)
        np.testing.assert_allclose(p_value(x, y), wanted, rtol=0.01)
    assert p_value(x, x) == 1.0
