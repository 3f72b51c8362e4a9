"""The joint-distribution test of the sweep under the nested prior.

As in `test_exactness`: states from the prior and labels given them, a few sweeps, and states and
labels must look like fresh draws of both; beside kernels that are wrong in one line, which must
not.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from cases import CURVE, DEVIATIONS, TRUSTED, place
from test_exactness import FALSE_ALARM, LABELS, p_value, rolled

from lightfair.core.data.logit import logit_of
from lightfair.core.mcmc import nested_moves
from lightfair.core.mcmc.hierarchy import expand_nested, marginal, nesting
from lightfair.core.mcmc.nested_moves import State
from lightfair.core.mcmc.nested_sampler import take_draws, warm_up
from lightfair.core.model.curve import features
from lightfair.core.model.likelihood import labeled_nodes, log_odds, loglik

# one combination is empty; the attribute with most levels is the second
PARTS = (("a", "x"), ("a", "y"), ("b", "x"), ("b", "z"))
NESTS = {"curve": nesting(CURVE, PARTS), "trusted": nesting(TRUSTED, PARTS)}
SCALES = {"curve": CURVE, "trusted": TRUSTED}
REPLICATES = {"curve": 2500, "trusted": 1000}
SWEEPS = 3  # of both forms; the last one of the first


def simulate(seed, sets, case):
    """Draw states from the prior, and labels given them, at scores that differ between groups."""
    rng = np.random.default_rng(seed)
    nest, scales = NESTS[case], SCALES[case]
    (groups, rows), size = nest.design.shape, len(scales.own)
    sigma = np.abs(rng.standard_normal((sets, 1, len(nest.scales.sd)))) * nest.scales.sd
    eta = nest.sds(sigma) * rng.standard_normal((sets, 1, rows, size))
    noise = rng.standard_normal((sets, 1, groups, size))
    psi = nest.middle(eta) + nest.scales.spread(sigma)[:, :, None] * noise
    score = np.linspace(0.1, 0.9, LABELS) ** np.linspace(0.5, 2.0, groups)[:, None]
    score = np.tile(score.ravel(), sets)
    seen = labeled_nodes(
        np.repeat(np.arange(sets * groups), LABELS),
        features(logit_of(score, 0.0), "beta"),
        np.zeros(len(score)),
        np.ones(len(score)),
        segments=sets * groups,
        groups=groups,
        **place(score, scales),
    )
    odds = log_odds(psi.reshape(1, -1, size), seen)[0]
    label = rng.random(len(odds)) < 0.5 * (1.0 + np.tanh(0.5 * odds))
    seen = seen._replace(positive=label.astype(float))
    return State(psi, eta, sigma, loglik(psi, seen), np.zeros((sets, 1))), seen


def kernel(state, rows, nest, away=0, astray=0, sweeps=SWEEPS):
    """Make some sweeps from the state, with a surrogate and steps that know the rows only.

    away: from which other segment the surrogate takes its labels, astray: the likelihood.
    """
    seen = rolled(rows, astray)
    chains = warm_up(seen, nest, chains=1, warmup=0, rng=np.random.default_rng(7))
    surrogate = expand_nested(rolled(seen, away), nest)
    value = marginal(state.sigma, surrogate, nest).value
    state = state._replace(loglik=loglik(state.psi, seen), value=value)
    return take_draws(chains._replace(state=state, surrogate=surrogate), sweeps)[0].state


def statistics(state, rows, nest):
    """What is compared, by name: (data set,) each."""
    groups = len(nest.design)
    count = rows.positive.reshape(-1, groups, LABELS).sum(-1) - 0.5 * LABELS
    level = count @ nest.design
    height = loglik(state.psi, rows)[:, 0]
    part = state.psi - nest.middle(state.eta)
    result = {}
    for j, name in enumerate(("log a", "log b", "c", *DEVIATIONS)[: state.psi.shape[-1]]):
        for g in range(groups):
            psi = state.psi[:, 0, g, j]
            result[f"{name} of group {g}"] = psi
            result[f"{name} of group {g} * positives"] = psi * count[:, g]
            result[f"{name} of interaction {g}"] = part[:, 0, g, j]
        for p in range(len(nest.ratio)):
            result[f"{name} of row {p}"] = state.eta[:, 0, p, j]
            result[f"{name} of row {p} * positives"] = state.eta[:, 0, p, j] * level[:, p]
    squares = nest.squares(state.psi, state.eta)[:, 0]
    for k in range(len(nest.scales.sd)):
        sigma = state.sigma[:, 0, k]
        result[f"log sigma {k}"] = np.log(sigma)
        result[f"squares / sigma^2 of {k}"] = squares[:, k] / (sigma * sigma)
    for g in range(groups):
        result[f"log likelihood {g}"] = height[:, g]
    return result


def found(case, within=None, **wrong):
    """The statistics that give a kernel away, at a false alarm of 1e-4 in all."""
    state, rows = replicates(case)
    fresh = prior_draws(case)
    nest = NESTS[case]
    after = kernel(state, rows, nest if within is None else within, **wrong)
    ours, wanted = statistics(after, rows, nest), statistics(*fresh, nest)
    return [name for name in ours if p_value(ours[name], wanted[name]) < FALSE_ALARM / len(ours)]


@cache
def replicates(case):
    return simulate(1, REPLICATES[case], case)


@cache
def prior_draws(case):
    return simulate(2, 5 * REPLICATES[case], case)


@pytest.mark.parametrize("case, sweeps", [("curve", 3), ("curve", 4), ("trusted", 4)])
def test_right_kernel_passes(case, sweeps):
    assert found(case, sweeps=sweeps) == []


@pytest.mark.parametrize("case", NESTS)
def test_surrogate_of_other_labels_changes_nothing(case):
    assert found(case, away=2, sweeps=4) == []


@pytest.mark.parametrize("astray", [1, 4])  # those of the next group, of another data set
def test_rejects_labels_out_of_line(astray):
    names = found("curve", astray=astray)
    assert {"log likelihood 0", "c of group 0 * positives"} <= set(names)


def test_rejects_effects_of_other_groups():
    """A kernel that takes the levels of the second attribute from other groups."""
    nest = NESTS["curve"]
    design = nest.design.copy()
    design[:, 3:] = design[[1, 0, 3, 2], 3:]
    names = found("curve", within=nest._replace(design=design))
    assert any("of interaction" in name for name in names)


def test_rejects_scales_of_the_prior_without_effects():
    """A kernel whose half-normals are not divided among the layers."""
    nest = NESTS["curve"]
    wide = nest.scales._replace(sd=np.tile(CURVE.sd, 3))
    names = found("curve", within=nest._replace(scales=wide))
    assert {"log sigma 0", "log sigma 3", "log sigma 8"} <= set(names)


def test_rejects_a_sigma_move_without_jacobian(monkeypatch):
    right = nested_moves.sigma_target
    monkeypatch.setattr(
        nested_moves, "sigma_target", lambda sigma, *rest: right(sigma, *rest) - np.log(sigma)
    )
    assert any("sigma" in name for name in found("curve"))


def test_rejects_a_weight_without_the_surrogate_likelihood(monkeypatch):
    monkeypatch.setattr(nested_moves, "quadratic", lambda psi, surrogate: np.zeros(psi.shape[:-1]))
    assert any("log likelihood" in name for name in found("curve"))


@pytest.mark.parametrize("name", ["draw_effects", "draw_own", "eta_given", "draw"])
def test_rejects_a_draw_that_is_too_wide(monkeypatch, name):
    right = getattr(nested_moves, name)
    noises = 2 if name == "draw" else 1
    monkeypatch.setattr(
        nested_moves, name, lambda *a: right(*a[:-noises], *(2.0 * x for x in a[-noises:]))
    )
    away = 0 if name == "draw" else 2  # a poor surrogate leaves more to moves 2 to 5
    assert len(found("curve", away=away, sweeps=4)) > 3


def test_rejects_a_shift_that_forgets_the_prior(monkeypatch):
    right = nested_moves._shifted
    flat = NESTS["curve"]
    flat = flat._replace(ratio=9.0 * flat.ratio)
    monkeypatch.setattr(nested_moves, "_shifted", lambda *a: right(*a[:-1], flat))
    assert any("of row" in name for name in found("curve", away=2))


@pytest.fixture
def no_whole_states(monkeypatch):
    """Without move 1, which hides much, and with long steps of all sigma."""
    monkeypatch.setattr(
        nested_moves, "_refreshed", lambda state, *_: (state, np.zeros(state.value.shape))
    )
    monkeypatch.setattr(nested_moves, "JUMP", 4.0)


@pytest.mark.usefixtures("no_whole_states")
def test_right_kernel_passes_without_whole_states():
    assert found("curve", sweeps=8) == []


@pytest.mark.usefixtures("no_whole_states")
def test_rejects_a_common_step_of_sigma_without_its_prior(monkeypatch):
    right = nested_moves._stretched_all
    flat = NESTS["curve"]
    flat = flat._replace(scales=flat.scales._replace(sd=9.0 * flat.scales.sd))
    monkeypatch.setattr(nested_moves, "_stretched_all", lambda *a: right(*a[:-1], flat))
    assert any("log sigma" in name for name in found("curve", sweeps=4))


@pytest.mark.usefixtures("no_whole_states")
def test_rejects_a_common_step_of_sigma_without_jacobian(monkeypatch):
    right = nested_moves._stretched_all

    def wrong(state, by, normal, accept, *rest):
        return right(state, by, normal, accept - by.sum(-1), *rest)

    monkeypatch.setattr(nested_moves, "_stretched_all", wrong)
    assert any("log sigma" in name for name in found("curve", sweeps=8))
