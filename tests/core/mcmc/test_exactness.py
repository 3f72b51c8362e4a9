"""The joint-distribution test: does a sweep leave the posterior as it is?

Parameters drawn from the prior and labels drawn given them make a draw from the joint distribution.
A sweep given those labels, started at those parameters, must leave that distribution alone: the
parameters afterwards, beside the labels, must look like fresh draws of both (Geweke, "Getting it
right", JASA 2004, as a two-sample test). Each replicate is a data set of one batch, with one chain,
so replicates are independent.

The same test must reject wrong samplers, each wrong in one line. It is run for the curve alone and
with trust, where one scale, omega, is shared by spreads and locations of deviations.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from cases import CURVE, DEVIATIONS, TRUSTED, place

from lightfair.core.data.logit import Floats, logit_of
from lightfair.core.mcmc import moves
from lightfair.core.mcmc.jit import available
from lightfair.core.mcmc.moves import State, pack, unpack
from lightfair.core.mcmc.sampler import take_draws, warm_up
from lightfair.core.mcmc.surrogate import expand
from lightfair.core.model.curve import Prior, features
from lightfair.core.model.likelihood import LabeledData, labeled_nodes, log_odds, loglik
from lightfair.core.model.scales import Scales, curve_scales

LABELS = 6  # scores with labels, of each group
REPLICATES = 6000
SWEEPS = 3  # a wrong move shows after one sweep or two; an even number ends with second forms
FALSE_ALARM = 1e-4


def simulate(
    seed: int,
    sets: int,
    groups: int,
    family: str = "beta",
    cap: float = math.inf,
    trials: int = 1,
    scales: Scales = CURVE,
) -> tuple[State, LabeledData]:
    """Draw states from the prior, and labels given them, at scores that differ between groups."""
    rng = np.random.default_rng(seed)
    size = len(scales.own)
    sigma = np.abs(rng.standard_normal((sets, 1, len(scales.sd)))) * scales.sd
    mu = rng.standard_normal((sets, 1, size)) * scales.location(sigma)
    noise = rng.standard_normal((sets, 1, groups, size))
    psi = mu[:, :, None] + scales.spread(sigma)[:, :, None] * noise
    score = np.linspace(0.1, 0.9, LABELS) ** np.linspace(0.5, 2.0, groups)[:, None]
    score = np.tile(score.ravel(), sets)
    rows = labeled_nodes(
        np.repeat(np.arange(sets * groups), LABELS),
        features(logit_of(score, 0.0), family),
        np.zeros(len(score)),
        np.full(len(score), float(trials)),
        segments=sets * groups,
        groups=groups,
        cap=cap,
        **place(score, scales),
    )
    odds = log_odds(psi.reshape(1, -1, size), rows)[0]
    positive = rng.binomial(trials, 0.5 * (1.0 + np.tanh(0.5 * odds))).astype(float)
    rows = rows._replace(positive=positive)
    return State(psi, mu, sigma, loglik(psi, rows), np.zeros((sets, 1))), rows


def rolled(rows: LabeledData, by: int) -> LabeledData:
    """The labels of another segment; all segments have as many."""
    return rows._replace(positive=np.roll(rows.positive, by * LABELS))


def kernel(
    state: State,
    rows: LabeledData,
    scales: Scales,
    away: int = 0,
    astray: int = 0,
    misplaced: int = 0,
    sweeps: int = SWEEPS,
) -> State:
    """Make some sweeps from the state, with a surrogate and steps that know the rows only.

    away: from which other segment the surrogate takes its labels, astray: the likelihood;
    misplaced: from which other node the likelihood takes its region.
    """
    seen = rolled(rows, astray)
    seen = seen._replace(
        design=np.vstack([seen.design[:3], np.roll(seen.design[3:], misplaced, 1)])
    )
    chains = warm_up(seen, scales, chains=1, warmup=0, rng=np.random.default_rng(7))
    surrogate = expand(rolled(seen, away), scales)
    value = moves.marginal(state.sigma, surrogate, scales).value
    ladder = moves.level(state.sigma, value, surrogate, scales)
    packed = pack(state._replace(loglik=loglik(state.psi, seen), level=ladder))
    chains = chains._replace(packed=packed, surrogate=surrogate)
    return unpack(take_draws(chains, sweeps)[0].packed, rows.groups, scales)


def statistics(state: State, rows: LabeledData, scales: Scales = CURVE) -> dict[str, Floats]:
    """What is compared, by name: (data set,) each."""
    groups = rows.groups
    count = rows.positive.reshape(-1, groups, LABELS).sum(-1) - 0.5 * LABELS
    trend = (rows.positive * rows.design[0]).reshape(-1, groups, LABELS).sum(-1)
    # positives in the column of each deviation
    hits = (rows.positive * rows.design[3:]).T
    hits = hits.reshape(len(count), groups, LABELS, hits.shape[1]).sum(2)
    height = loglik(state.psi, rows)[:, 0]
    result = {}
    for j, name in enumerate(("log a", "log b", "c", *DEVIATIONS)[: state.psi.shape[-1]]):
        result[f"mu of {name}"] = state.mu[:, 0, j]
        for g in range(groups):
            psi = state.psi[:, 0, g, j]
            result[f"{name} {g}"] = psi
            result[f"{name} {g} - mu"] = psi - state.mu[:, 0, j]
            result[f"{name} {g} * positives"] = psi * count[:, g]
            result[f"{name} {g} * trend"] = psi * trend[:, g]
            if j > 2:
                result[f"{name} {g} * hits"] = psi * hits[:, g, j - 3]
    squares = scales.squares(state.psi, state.mu)[:, 0]
    for k, name in enumerate(("log a", "log b", "c", "omega", "tau")[: len(scales.sd)]):
        sigma = state.sigma[:, 0, k]
        result[f"log sigma of {name}"] = np.log(sigma)
        result[f"squares / sigma^2 of {name}"] = squares[:, k] / (sigma * sigma)
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


def found(
    state: State,
    rows: LabeledData,
    fresh: tuple[State, LabeledData],
    scales: Scales = CURVE,
    within: Scales | None = None,
    **wrong: int,
) -> list[str]:
    """The statistics that give a kernel away, at a false alarm of 1e-4 in all.

    within: the scales that the kernel is told, where they are wrong.
    """
    after = kernel(state, rows, scales if within is None else within, **wrong)
    ours, wanted = statistics(after, rows, scales), statistics(*fresh, scales)
    return [name for name in ours if p_value(ours[name], wanted[name]) < FALSE_ALARM / len(ours)]


@cache
def replicates() -> tuple[State, LabeledData]:
    return simulate(1, REPLICATES, 2)


@cache
def prior_draws() -> tuple[State, LabeledData]:
    return simulate(2, 5 * REPLICATES, 2)


@cache
def trusted() -> tuple[State, LabeledData, tuple[State, LabeledData], Scales]:
    """Replicates and draws of the joint distribution with trust: the arguments of `found`."""
    fresh = simulate(6, 15000, 2, scales=TRUSTED)
    return (*simulate(5, 3000, 2, scales=TRUSTED), fresh, TRUSTED)


@pytest.fixture(autouse=True)
def numpy_form(monkeypatch):
    monkeypatch.setenv("LIGHTFAIR_JIT", "0")


@pytest.mark.parametrize("sweeps", [3, 4])
def test_right_kernel_passes(sweeps):
    assert found(*replicates(), prior_draws(), sweeps=sweeps) == []


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
    roots = {name: math.sqrt(value) for name, value in Prior().to_dict().items()}
    names = found(*replicates(), prior_draws(), within=curve_scales(Prior(**roots)))
    assert {"log sigma of log a", "mu of log a", "mu of c"} <= set(names)


@pytest.mark.parametrize("astray", [1, 2])  # those of the other group, of another data set
def test_rejects_labels_out_of_line(astray):
    names = found(*replicates(), prior_draws(), astray=astray)
    assert {"log likelihood 0", "log likelihood 1", "c 0 * positives"} <= set(names)


def test_rejects_a_sigma_move_without_jacobian(monkeypatch):
    right = moves.sigma_target
    monkeypatch.setattr(
        moves, "sigma_target", lambda sigma, *rest: right(sigma, *rest) - np.log(sigma)
    )
    assert any("sigma" in name for name in found(*replicates(), prior_draws()))


def test_rejects_a_level_without_the_proposal_of_sigma(monkeypatch):
    monkeypatch.setattr(moves, "level", lambda sigma, value, *rest: value)
    assert any("sigma" in name for name in found(*replicates(), prior_draws()))


def test_rejects_a_weight_without_the_surrogate_likelihood(monkeypatch):
    monkeypatch.setattr(moves, "quadratic", lambda psi, surrogate: np.zeros(psi.shape[:-1]))
    assert "log likelihood 0" in found(*replicates(), prior_draws())


@pytest.mark.parametrize("name", ["draw_common", "draw_own"])  # moves 4 and 6
def test_rejects_a_draw_that_is_too_wide(monkeypatch, name):
    right = getattr(moves, name)
    monkeypatch.setattr(moves, name, lambda *a: right(*a[:-1], 2.0 * a[-1]))
    assert len(found(*replicates(), prior_draws(), away=2, sweeps=4)) > 3


def test_rejects_a_stretch_of_another_prior(monkeypatch):
    right = moves._stretch_all
    monkeypatch.setattr(
        moves,
        "_stretch_all",
        lambda *a: right(*a[:4], a[4]._replace(sd=9.0 * a[4].sd), a[5]),
    )
    names = found(*replicates(), prior_draws(), away=2, sweeps=4)
    assert any("sigma" in name for name in names)


# with trust


@pytest.mark.parametrize("sweeps", [3, 4])
def test_right_kernel_passes_with_trust(sweeps):
    assert found(*trusted(), sweeps=sweeps) == []


@pytest.mark.skipif(not available(), reason="numba is not installed")
def test_compiled_kernel_with_trust(monkeypatch):
    monkeypatch.setenv("LIGHTFAIR_JIT", "1")
    assert found(*trusted()) == []
    assert "mass 0 * hits" in found(*trusted(), misplaced=2)


def test_surrogate_of_other_labels_changes_nothing_with_trust():
    assert found(*trusted(), away=2) == []


@pytest.mark.parametrize("groups, options", [(1, {"family": "llo"}), (3, {"cap": 0.4})])
def test_right_kernel_passes_elsewhere_with_trust(groups, options):
    options = {"scales": TRUSTED, **options}
    state, rows = simulate(3, 2000, groups, **options)
    assert found(state, rows, simulate(4, 10000, groups, **options), TRUSTED) == []


def test_rejects_regions_out_of_line():
    names = found(*trusted(), misplaced=2)
    assert {"log likelihood 0", "mass 0 * hits"} <= set(names)


class Few(Scales):
    """Omega counts the jumps of the groups, and not the common parts of jump and bend."""

    def counts(self, groups: int) -> Floats:
        return super().counts(groups) - np.array([0, 0, 0, 2, 0])


class Apart(Scales):
    """Takes the scale of the common part as known."""

    def location(self, sigma: Floats) -> Floats:
        return super().location(np.broadcast_to(self.sd, sigma.shape))


# the poor surrogate leaves more to moves 2 to 5


def test_rejects_an_omega_without_the_common_part():
    names = found(*trusted(), within=Few(*TRUSTED), away=2)
    assert "squares / sigma^2 of omega" in names


def test_rejects_a_common_part_that_omega_does_not_scale(monkeypatch):
    """In moves 3 and 4; the surrogate knows better."""
    right = {name: getattr(moves, name) for name in ("marginal", "draw")}
    monkeypatch.setattr(moves, "marginal", lambda *a: right["marginal"](*a[:2], TRUSTED))
    monkeypatch.setattr(moves, "draw", lambda *a: right["draw"](*a[:2], TRUSTED, *a[3:]))
    names = found(*trusted(), within=Apart(*TRUSTED), away=2)
    assert "mu of bend" in names


def test_rejects_the_spread_of_another_sigma():
    own_of = np.array([0, 1, 2, 3, 4, 4])  # the mass in units of tau
    names = found(*trusted(), within=TRUSTED._replace(own_of=own_of))
    assert "mass 0 - mu" in names


def test_p_value_known_answers():
    # Kolmogorov's distribution: 5 % beyond 1.3581, 1 % beyond 1.6276
    n = 1_000_000
    x = np.arange(n) / n
    for distance, wanted in [(1.3581, 0.05), (1.6276, 0.01)]:
        y = x + distance / math.sqrt(n / 2)
        np.testing.assert_allclose(p_value(x, y), wanted, rtol=0.01)
    assert p_value(x, x) == 1.0
