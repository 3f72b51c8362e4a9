"""Joint-distribution test: does a sweep leave the posterior invariant?

Parameters drawn from the prior and labels drawn given them are a draw from the joint distribution.
Sweeps given those labels, started at those parameters, must leave that distribution invariant: the
parameters afterwards, beside the labels, must look like fresh draws of both (Geweke, "Getting it
right", JASA 2004, as a two-sample test). Each replicate is a data set of one batch, with one chain,
so replicates are independent.

The same test must reject wrong samplers, each wrong in one line. It is run for the plain and the
nested prior, each for the curve alone and with trust, where one scale, omega, is shared by spreads
and locations of deviations.
"""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from cases import CASES, CURVE, DEVIATIONS, TRUSTED, place

from lightfair.core.data.logit import logit_of
from lightfair.core.mcmc import hierarchy, moves, nested_moves, sampler, surrogate
from lightfair.core.mcmc.jit import available
from lightfair.core.model.curve import Prior, features
from lightfair.core.model.likelihood import labeled_nodes, loglik, segment_log_odds
from lightfair.core.model.scales import Scales, curve_scales

LABELS = 6  # labeled scores of each group
REPLICATES = 3000
SWEEPS = 3  # a wrong move shows after one sweep or two; an even number ends with second forms
FALSE_ALARM = 1e-4  # of all statistics together

# one combination is empty; the attribute with most levels is the second
PARTS = (("a", "x"), ("a", "y"), ("b", "x"), ("b", "z"))

slow = pytest.mark.slow


def label_rows(rng, psi, scales=CURVE, family="beta", cap=math.inf, trials=1):
    """Draw labels given psi (data set, 1, group, D), at scores that differ between groups."""
    sets, _, groups, size = psi.shape
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
    odds = segment_log_odds(psi.reshape(1, -1, size), rows)[0]
    positive = rng.binomial(trials, 0.5 * (1.0 + np.tanh(0.5 * odds))).astype(float)
    return rows._replace(positive=positive)


def plain_prior(rng, sets, groups, scales):
    """States from the plain prior, float64 (data set, 1, ...)."""
    size = len(scales.own)
    sigma = np.abs(rng.standard_normal((sets, 1, len(scales.sd)))) * scales.sd
    mu = rng.standard_normal((sets, 1, size)) * scales.location(sigma)
    noise = rng.standard_normal((sets, 1, groups, size))
    psi = mu[:, :, None] + scales.spread(sigma)[:, :, None] * noise
    none = np.zeros((sets, 1))
    return moves.State(psi, mu, sigma, none, none)


def nested_prior(rng, sets, groups, nest):
    rows, size = nest.ratio.shape
    sigma = np.abs(rng.standard_normal((sets, 1, len(nest.scales.sd)))) * nest.scales.sd
    eta = nest.sds(sigma) * rng.standard_normal((sets, 1, rows, size))
    noise = rng.standard_normal((sets, 1, groups, size))
    psi = nest.middle(eta) + nest.scales.spread(sigma)[:, :, None] * noise
    none = np.zeros((sets, 1))
    return nested_moves.State(psi, eta, sigma, none, none)


def plain_kernel(state, rows, fitted_to, scales, sweeps):
    """Make sweeps from the state, with a surrogate and steps that depend on `fitted_to` only."""
    chains = sampler.warm_up(rows, scales, chains=1, warmup=0, rng=np.random.default_rng(7))
    gaussian = surrogate.expand(fitted_to, scales)
    value = moves.marginal(state.sigma, gaussian, scales).value
    weight = moves.log_importance(state.sigma, value, gaussian, scales)
    packed = moves.pack(state._replace(loglik=loglik(state.psi, rows), importance=weight))
    chains = chains._replace(packed=packed, surrogate=gaussian)
    after = sampler.take_draws(chains, sweeps)[0].packed
    return moves.unpack(after, rows.groups, scales)


def nested_kernel(state, rows, fitted_to, nest, sweeps):
    chains = sampler.warm_up(rows, nest, chains=1, warmup=0, rng=np.random.default_rng(7))
    gaussian = hierarchy.expand_nested(fitted_to, nest)
    value = hierarchy.marginal(state.sigma, gaussian, nest).value
    state = state._replace(loglik=loglik(state.psi, rows), value=value)
    return sampler.take_draws(chains._replace(state=state, surrogate=gaussian), sweeps)[0].state


def statistics(model, state, rows):
    """What is compared, by name: (data set,) each."""
    nested = model.kernel is nested_kernel
    groups, size = state.psi.shape[2:]
    positives = rows.positive.reshape(-1, groups, LABELS)
    count = positives.sum(-1) - 0.5 * LABELS
    trend = (rows.positive * rows.design[0]).reshape(-1, groups, LABELS).sum(-1)
    hits = (rows.positive * rows.design[3:]).reshape(size - 3, len(count), groups, LABELS).sum(-1)
    locations = state.eta[:, 0] if nested else state.mu
    means = model.prior.middle(state.eta)[:, 0] if nested else state.mu
    level = count @ model.prior.design if nested else None
    height = loglik(state.psi, rows)[:, 0]
    result = {f"log likelihood {g}": height[:, g] for g in range(groups)}
    for j, name in enumerate(("log a", "log b", "c", *DEVIATIONS)[:size]):
        for p in range(locations.shape[1]):
            result[f"row {p} of {name}"] = locations[:, p, j]
            if nested:
                result[f"row {p} of {name} * positives"] = locations[:, p, j] * level[:, p]
        for g in range(groups):
            psi = state.psi[:, 0, g, j]
            result[f"{name} {g}"] = psi
            result[f"{name} {g} - mean"] = psi - means[:, g if nested else 0, j]
            result[f"{name} {g} * positives"] = psi * count[:, g]
            result[f"{name} {g} * trend"] = psi * trend[:, g]
            if j > 2:
                result[f"{name} {g} * hits"] = psi * hits[j - 3, :, g]
    squares = model.prior.squares(state.psi, state.eta if nested else state.mu)[:, 0]
    for k in range(state.sigma.shape[2]):
        sigma = state.sigma[:, 0, k]
        result[f"log sigma {k}"] = np.log(sigma)
        result[f"squares / sigma^2 {k}"] = squares[:, k] / (sigma * sigma)
    return result


def p_value(x, y):
    """Two-sample Kolmogorov-Smirnov test, asymptotic; conservative where values tie."""
    x, y = np.sort(x), np.sort(y)
    both = np.concatenate([x, y])
    steps = [np.searchsorted(sample, both, side="right") / len(sample) for sample in (x, y)]
    distance = np.abs(steps[0] - steps[1]).max() * math.sqrt(len(x) * len(y) / len(both))
    if distance < 0.2:  # the series converges slowly, and the answer is 1
        return 1.0
    k = np.arange(1, 101)
    return float(2.0 * ((-1.0) ** (k - 1) * np.exp(-2.0 * k * k * distance * distance)).sum())


@cache
def model(name, groups=2, replicates=REPLICATES, **options):
    """Replicates and fresh draws of a model: "plain" or "nested", "curve" or "trusted"."""
    kind, case = name.split()
    scales = CASES[case]
    if kind == "nested":
        prior, draw, kernel = hierarchy.nesting(scales, PARTS), nested_prior, nested_kernel
        groups, replicates = len(PARTS), min(replicates, 2000 if case == "curve" else 1000)
    else:
        prior, draw, kernel = scales, plain_prior, plain_kernel
    made = SimpleNamespace(prior=prior, kernel=kernel, scales=scales)
    for part, seed, size in (("start", 1, replicates), ("fresh", 2, 5 * replicates)):
        rng = np.random.default_rng(seed)
        state = draw(rng, size, groups, prior)
        setattr(made, part, (state, label_rows(rng, state.psi, scales, **options)))
    made.wanted = statistics(made, *made.fresh)
    return made


def rolled(rows, by):
    """The labels of another segment; all segments have as many."""
    return rows._replace(positive=np.roll(rows.positive, by * LABELS))


def found(made, within=None, away=0, astray=0, misplaced=0, sweeps=SWEEPS):
    """Names of the statistics that reveal a wrong kernel.

    within: the prior of the kernel, if it is another; away, astray: from which other segment the
    surrogate, and the likelihood, take their labels; misplaced: from which other node the
    likelihood takes its region.
    """
    state, rows = made.start
    rows_seen = rolled(rows, astray)
    design = np.vstack([rows.design[:3], np.roll(rows.design[3:], misplaced, 1)])
    rows_seen = rows_seen._replace(design=design)
    prior = made.prior if within is None else within
    after = made.kernel(state, rows_seen, rolled(rows_seen, away), prior, sweeps)
    ours = statistics(made, after, rows)
    return [
        name for name in ours if p_value(ours[name], made.wanted[name]) < FALSE_ALARM / len(ours)
    ]


@pytest.fixture(autouse=True)
def numpy_form(monkeypatch):
    monkeypatch.setenv("LIGHTFAIR_JIT", "0")


# right kernels; the surrogate of other labels is poor, and leaves more to moves 2 to 5


QUICK = [("plain curve", {"sweeps": 4}), ("nested curve", {})]


@pytest.mark.parametrize(
    "name, options",
    [
        pytest.param(name, options, marks=() if (name, options) in QUICK else slow)
        for name in ("plain curve", "nested curve", "plain trusted", "nested trusted")
        for options in ({}, {"sweeps": 4}, {"away": 2})
        if options or name != "plain curve"
    ],
)
def test_right_kernel_passes(name, options):
    assert found(model(name), **options) == []


@pytest.mark.skipif(not available(), reason="numba is not installed")
@pytest.mark.parametrize("case", ["curve", pytest.param("trusted", marks=slow)])
def test_compiled_kernel(monkeypatch, case):
    monkeypatch.setenv("LIGHTFAIR_JIT", "1")
    made = model(f"plain {case}")
    assert found(made) == []
    assert "c 0 * positives" in found(made, astray=2)
    assert case == "curve" or "mass 0 * hits" in found(made, misplaced=2)


@pytest.mark.parametrize(
    "case, groups, options",
    [
        ("curve", 3, {"family": "llo", "cap": 0.4}),
        pytest.param("curve", 1, {}, marks=slow),
        pytest.param("curve", 1, {"family": "temperature"}, marks=slow),
        pytest.param("curve", 2, {"trials": 20}, marks=slow),
        pytest.param("trusted", 1, {"family": "llo"}, marks=slow),
        pytest.param("trusted", 3, {"cap": 0.4}, marks=slow),
    ],
)
def test_right_kernel_passes_elsewhere(case, groups, options):
    assert found(model(f"plain {case}", groups, 2000, **options)) == []


# wrong data and wrong priors


@pytest.mark.parametrize(
    "name, astray",
    [
        ("plain curve", 1),
        ("plain curve", 2),
        pytest.param("nested curve", 1, marks=slow),
    ],
)
def test_rejects_labels_of_another_group_or_data_set(name, astray):
    names = found(model(name), astray=astray)
    assert {"log likelihood 0", "c 0 * positives"} <= set(names)


def test_rejects_regions_of_other_rows():
    names = found(model("plain trusted"), misplaced=2)
    assert {"log likelihood 0", "mass 0 * hits"} <= set(names)


class Few(Scales):
    """Omega counts the jumps of the groups, and not the common parts of jump and bend."""

    def counts(self, groups):
        return super().counts(groups) - np.array([0, 0, 0, 2, 0])


class Apart(Scales):
    """Treats the scale of the common part as fixed."""

    def location(self, sigma):
        return super().location(np.broadcast_to(self.sd, sigma.shape))


VARIANCES = curve_scales(Prior(**{k: math.sqrt(v) for k, v in Prior().to_dict().items()}))
NEST = hierarchy.nesting(CURVE, PARTS)
DESIGN = NEST.design.copy()
DESIGN[:, 3:] = DESIGN[[1, 0, 3, 2], 3:]
WIDE = NEST.scales._replace(sd=np.tile(CURVE.sd, 3))


@pytest.mark.parametrize(
    "name, within, away, wanted",
    [
        ("plain curve", VARIANCES, 0, ["log sigma 0", "row 0 of log a", "row 0 of c"]),
        pytest.param(
            "plain trusted", Few(*TRUSTED), 2, ["squares / sigma^2 3"], marks=slow, id="omega"
        ),
        pytest.param(  # the mass in units of tau
            "plain trusted",
            TRUSTED._replace(own_of=np.array([0, 1, 2, 3, 4, 4])),
            0,
            ["mass 0 - mean"],
            marks=slow,
        ),
        pytest.param(
            "nested curve", NEST._replace(design=DESIGN), 0, ["log a 0 - mean"], marks=slow
        ),
        # half-normals that are not divided among the layers
        ("nested curve", NEST._replace(scales=WIDE), 0, ["log sigma 0", "log sigma 8"]),
    ],
)
def test_rejects_another_prior(name, within, away, wanted):
    assert set(wanted) <= set(found(model(name), within=within, away=away))


@slow
def test_rejects_a_common_part_that_omega_does_not_scale(monkeypatch):
    """In moves 3 and 4; the surrogate has the right prior."""
    right = {name: getattr(moves, name) for name in ("marginal", "draw")}
    monkeypatch.setattr(moves, "marginal", lambda *a: right["marginal"](*a[:2], TRUSTED))
    monkeypatch.setattr(moves, "draw", lambda *a: right["draw"](*a[:2], TRUSTED, *a[3:]))
    assert "row 0 of bend" in found(model("plain trusted"), within=Apart(*TRUSTED), away=2)


# wrong moves: module, function, wrong form given the right one, options, a revealing statistic


def wide(noises):
    """The function with noise of twice the standard deviation."""
    return lambda right: lambda *a: right(*a[:-noises], *(2.0 * x for x in a[-noises:]))


def no_jacobian(right):
    return lambda sigma, *rest: right(sigma, *rest) - np.log(sigma)


def zero_quadratic(right):
    return lambda psi, surrogate: np.zeros(psi.shape[:-1])


def flat_scales(right):
    return lambda *a: right(*a[:4], a[4]._replace(sd=9.0 * a[4].sd), a[5])


FLAT = NEST._replace(ratio=9.0 * NEST.ratio)
LONG = {"sweeps": 8}
POOR = {"away": 2, "sweeps": 4}
WRONG = [
    (moves, "sigma_target", no_jacobian, {}, "sigma"),
    (moves, "log_importance", lambda right: lambda sigma, value, *rest: value, LONG, "sigma"),
    (moves, "quadratic", zero_quadratic, LONG, "log likelihood"),
    (moves, "draw_common", wide(1), {"away": 2, "sweeps": 8}, ""),
    (moves, "draw_own", wide(1), POOR, ""),
    (moves, "_scale_all", flat_scales, POOR, "sigma"),
    (nested_moves, "sigma_target", no_jacobian, {"away": 2, "sweeps": 7}, "sigma"),
    (nested_moves, "quadratic", zero_quadratic, {}, "log likelihood"),
    (nested_moves, "draw_effects", wide(1), POOR, ""),
    (nested_moves, "draw_own", wide(1), POOR, ""),
    (nested_moves, "eta_given", wide(1), POOR, ""),
    (nested_moves, "draw", wide(2), {"sweeps": 4}, ""),
    (nested_moves, "_translate", lambda right: lambda *a: right(*a[:-1], FLAT), {"away": 2}, "row"),
]


@pytest.mark.parametrize(
    "module, function, wrong, options, reveals",
    [
        pytest.param(
            *case,
            id=f"{case[0].__name__.split('.')[-1]}.{case[1]}",
            marks=slow if "sweeps" in case[3] or "away" in case[3] else (),
        )
        for case in WRONG
    ],
)
def test_rejects_a_wrong_move(monkeypatch, module, function, wrong, options, reveals):
    made = model("plain curve" if module is moves else "nested curve")
    monkeypatch.setattr(module, function, wrong(getattr(module, function)))
    names = [name for name in found(made, **options) if reveals in name]
    assert len(names) > (0 if reveals else 3)


@pytest.fixture
def no_whole_states(monkeypatch):
    """Without move 1, which hides much, and with long steps of all sigma."""
    monkeypatch.setattr(
        nested_moves, "_refreshed", lambda state, *_: (state, np.zeros(state.value.shape))
    )
    monkeypatch.setattr(nested_moves, "JUMP", 4.0)


def flat_prior(right):
    scales = NEST.scales._replace(sd=9.0 * NEST.scales.sd)
    return lambda *a: right(*a[:-1], NEST._replace(scales=scales))


def without_jacobian(right):
    return lambda state, by, normal, accept, *rest: right(
        state, by, normal, accept - by.sum(-1), *rest
    )


@slow
@pytest.mark.usefixtures("no_whole_states")
@pytest.mark.parametrize("wrong", [None, flat_prior, without_jacobian])
def test_scale_move_of_the_nested_prior(monkeypatch, wrong):
    made = model("nested curve")
    if wrong is not None:
        monkeypatch.setattr(nested_moves, "_scale_all", wrong(nested_moves._scale_all))
    names = found(made, sweeps=8)
    assert any("log sigma" in name for name in names) if wrong else names == []


def test_p_value_known_answers():
    # Kolmogorov's distribution: 5 % beyond 1.3581, 1 % beyond 1.6276
    n = 100_000
    x = np.arange(n) / n
    for distance, wanted in [(1.3581, 0.05), (1.6276, 0.01)]:
        y = x + distance / math.sqrt(n / 2)
        np.testing.assert_allclose(p_value(x, y), wanted, rtol=0.01)
    assert p_value(x, x) == 1.0
