"""Joint-distribution test: does a sweep leave the posterior invariant?

Parameters drawn from the prior and labels drawn given them are a draw from the joint distribution.
Sweeps given those labels, started at those parameters, must leave that distribution invariant: the
parameters afterwards, beside the labels, must look like fresh draws of both (Geweke, "Getting it
right", JASA 2004, as a two-sample test). Each replicate is a data set of one batch, with one chain,
so replicates are independent.

The same test must reject wrong samplers, each wrong in one line. It is run for the plain and the
nested prior, each for the curve alone and with trust, where one scale, omega, is shared by spreads
and locations of deviations, and with locations so certain that a wrong pull towards them shows.
Whole new states hide what a wrong move 2 does, so it is also tested without them.
"""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from cases import CASES, DEVIATIONS, PARTS, labeled

from lightfair.core.mcmc import fitting, moves, surrogate
from lightfair.core.mcmc.hierarchy import Hierarchy, nested, plain
from lightfair.core.mcmc.jit import available
from lightfair.core.mcmc.moves import State
from lightfair.core.mcmc.sampler import Chains
from lightfair.core.model.curve import Prior
from lightfair.core.model.likelihood import loglik, segment_log_odds
from lightfair.core.model.scales import curve_scales

LABELS = 6  # labeled scores of each group
REPLICATES = {"plain": 3000, "nested": 2000}
NOISE = 0.2  # of the surrogate, in units of that of an expansion: refits make it small
SWEEPS = 3  # a wrong move shows after one sweep or two
FALSE_ALARM = 1e-4  # of all statistics together
CASES = {**CASES, "tight": curve_scales(Prior(mu_a_sd=0.1, mu_b_sd=0.1, mu_c_sd=0.2))}

MODELS = [
    f"{kind} {case}" for case in ("tight", "curve", "trusted") for kind in ("plain", "nested")
]

slow = pytest.mark.slow


def first(cases, quick=1):
    """Parameters, of which all but the first are slow."""
    cases = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*case, marks=slow if i >= quick else ()) for i, case in enumerate(cases)]


def label_rows(rng, psi, prior, trials=1, **options):
    """Draw labels given psi (data set, 1, group, D), at scores that differ between groups."""
    sets, _, groups, size = psi.shape
    score = np.linspace(0.1, 0.9, LABELS) ** np.linspace(0.5, 2.0, groups)[:, None]
    score = np.tile(score.ravel(), sets)
    segment = np.repeat(np.arange(sets * groups), LABELS)
    rows = labeled(segment, score, 0.0 * score, prior, sets=sets, **options)
    odds = segment_log_odds(psi.reshape(1, -1, size), rows)[0]
    positive = rng.binomial(trials, 0.5 * (1.0 + np.tanh(0.5 * odds))).astype(float)
    return rows._replace(positive=positive, total=trials * rows.total)


def from_prior(rng, sets, prior):
    """States, float64 (data set, 1, ...), without what they have of a likelihood."""
    groups, (rows, size) = len(prior.design), prior.ratio.shape
    sigma = np.abs(rng.standard_normal((sets, 1, len(prior.scales.sd)))) * prior.scales.sd
    eta = prior.sds(sigma) * rng.standard_normal((sets, 1, rows, size))
    noise = rng.standard_normal((sets, 1, groups, size))
    eta[..., -1, :] += prior.scales.centre
    apart = (rng.random((sets, 1, groups)) < prior.scales.apart) * 1.0
    psi = prior.middle(eta, apart) + prior.scales.spread(sigma, apart) * noise
    hyper = surrogate.hyper_of(sigma, eta[:, :, -1, :2], prior)
    none = np.zeros((sets, 1, groups))
    return State(psi, eta, hyper, apart, none, none, none[..., :1])


def kernel(state, rows, gaussian, prior, sweeps, jit):
    """Make sweeps from the state, with a surrogate that does not depend on it."""
    packed = moves.pack(state._replace(loglik=loglik(state.psi, rows)))
    step = np.ones((len(packed), len(prior.scales.sd)))
    chains = Chains(packed, rows, prior, gaussian, step, step, np.random.default_rng(7), jit)
    return moves.unpack(chains.run(sweeps)[0].packed, rows.groups, prior)


def statistics(prior, state, rows):
    """What is compared, by name: (data set,) each."""
    groups, size = state.psi.shape[2:]
    positives = rows.positive.reshape(-1, groups, LABELS)
    count = positives.sum(-1) - 0.5 * LABELS
    trend = (rows.positive * rows.design[0]).reshape(-1, groups, LABELS).sum(-1)
    hits = (rows.positive * rows.design[3:]).reshape(size - 3, len(count), groups, LABELS).sum(-1)
    eta, means = state.eta[:, 0].copy(), prior.middle(state.eta)[:, 0]
    eta[:, -1, :2] = surrogate.place_of(state.hyper, prior)[:, 0]
    level = count @ prior.design
    height = loglik(state.psi, rows)[:, 0]
    result = {f"log likelihood {g}": height[:, g] for g in range(groups)}
    for j, name in enumerate(("log a", "log b", "c", *DEVIATIONS)[:size]):
        for p in range(eta.shape[1]):
            result[f"row {p} of {name}"] = eta[:, p, j]
            result[f"row {p} of {name} * positives"] = eta[:, p, j] * level[:, p]
        for g in range(groups):
            psi = state.psi[:, 0, g, j]
            result[f"{name} {g}"] = psi
            result[f"{name} {g} - mean"] = psi - means[:, g, j]
            result[f"{name} {g} * positives"] = psi * count[:, g]
            result[f"{name} {g} * trend"] = psi * trend[:, g]
            if j > 2:
                result[f"{name} {g} * hits"] = psi * hits[j - 3, :, g]
    squares = prior.squares(state.psi, state.eta, state.apart)[:, 0]
    for g in range(groups) if prior.scales.apart > 0.0 else ():
        away = state.apart[:, 0, g]
        result[f"apart {g}"] = away
        result[f"apart {g} * positives"] = away * count[:, g]
        result[f"apart {g} * trend"] = away * trend[:, g]
        result[f"apart {g} * log a"] = away * state.psi[:, 0, g, 0]
    for k, sigma in enumerate(surrogate.sigma_of(state.hyper, prior)[:, 0].T):
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
def model(name, groups=2, **options):
    """Replicates and fresh draws of a model: "plain" or "nested", and a case."""
    kind, case = name.split()
    scales, sets = CASES[case], REPLICATES[kind]
    prior = nested(scales, PARTS) if kind == "nested" else plain(scales, groups)
    made = SimpleNamespace(prior=prior, surrogates={})
    for part, seed, size in (("start", 1, sets), ("fresh", 2, 5 * sets)):
        rng = np.random.default_rng(seed)
        state = from_prior(rng, size, prior)
        setattr(made, part, (state, label_rows(rng, state.psi, prior, **options)))
    made.expected = statistics(prior, *made.fresh)
    return made


def converted(state, prior, to):
    """The same state under another prior."""
    sigma, place = surrogate.sigma_of(state.hyper, prior), surrogate.place_of(state.hyper, prior)
    return state._replace(hyper=surrogate.hyper_of(sigma, place, to))


def rolled(rows, by):
    """The labels of another segment; all segments have as many."""
    return rows._replace(positive=np.roll(rows.positive, by * LABELS))


def revealing(made, within=None, away=0, astray=0, misplaced=0, sweeps=SWEEPS, jit=False):
    """Names of the statistics that reveal a wrong kernel.

    within: the prior of the kernel, if it is another; away, astray: from which other segment the
    surrogate, and the likelihood, take their labels; misplaced: from which other node the
    likelihood takes its region.
    """
    state, rows = made.start
    seen = rolled(rows, astray)
    seen = seen._replace(
        design=np.vstack([seen.design[:3], np.roll(seen.design[3:], misplaced, 1)])
    )
    prior = made.prior if within is None else within
    case = away, astray, misplaced, id(within)
    if case not in made.surrogates:
        gaussian = fitting.expand(rolled(seen, away), prior)
        made.surrogates[case] = gaussian._replace(noise=NOISE * gaussian.noise)
    state = converted(state, made.prior, prior)
    after = kernel(state, seen, made.surrogates[case], prior, sweeps, jit)
    after = converted(after, prior, made.prior)
    ours = statistics(made.prior, after, rows)
    return [
        name for name in ours if p_value(ours[name], made.expected[name]) < FALSE_ALARM / len(ours)
    ]


@pytest.fixture(autouse=True)
def more_of_move_2(monkeypatch):
    monkeypatch.setattr(Chains, "effort", (3, 5))


@pytest.fixture
def move_2_alone(monkeypatch):
    """Without whole new states, and before every sweep."""

    def impossible(noise, data, _, prior):
        width = sum(map(math.prod, moves.shapes(data.groups, prior)))
        return np.full((*noise.joint.shape, width), -1e300)

    monkeypatch.setattr(moves, "propose", impossible)
    monkeypatch.setattr(moves, "reweigh", lambda *_: None)
    monkeypatch.setattr(Chains, "effort", (3, 1))


# right kernels; the surrogate of other labels is poor, and leaves more to move 2

RIGHT = [
    ("plain curve", {}, {}),
    ("nested curve", {}, {}),
    *((name, {}, {"sweeps": 12}) for name in MODELS),
    *((name, {}, {"away": 2}) for name in MODELS),
    ("plain curve", {"groups": 3, "family": "llo", "cap": 0.4}, {}),
    ("plain curve", {"groups": 1}, {}),
    ("plain curve", {"groups": 1, "family": "temperature"}, {}),
    ("plain curve", {"trials": 20}, {}),
    ("plain trusted", {"groups": 1, "family": "llo"}, {}),
    ("plain trusted", {"groups": 3, "cap": 0.4}, {}),
    ("nested trusted", {"family": "llo", "cap": 0.4}, {}),
]


@pytest.mark.parametrize("name, data, options", first(RIGHT, 2))
def test_right_kernel_passes(name, data, options):
    assert revealing(model(name, **data), **options) == []


@pytest.mark.usefixtures("move_2_alone")
@pytest.mark.parametrize("name", first(MODELS))
def test_move_2_alone_passes(name):
    assert revealing(model(name), sweeps=8) == []


@pytest.mark.skipif(not available(), reason="numba is not installed")
@pytest.mark.parametrize("name", first(MODELS))
def test_compiled_kernel(name):
    made = model(name)
    assert revealing(made, jit=True) == revealing(made, jit=True, away=2) == []
    assert "log likelihood 0" in revealing(made, jit=True, astray=2)
    assert "trusted" not in name or "log likelihood 0" in revealing(made, jit=True, misplaced=2)


# wrong data and wrong priors


OTHER_ROWS = [
    ("plain curve", {"astray": 1}, "c 0 * positives"),
    ("plain curve", {"astray": 2}, "c 0 * positives"),
    ("nested curve", {"astray": 1}, "c 0 * positives"),
    ("plain trusted", {"misplaced": 2}, "mass 0 * hits"),
]


@pytest.mark.parametrize("name, options, expected", first(OTHER_ROWS))
def test_rejects_labels_and_regions_of_other_rows(name, options, expected):
    assert {"log likelihood 0", expected} <= set(revealing(model(name), **options))


CURVE, TRUST = (plain(CASES[case], 2) for case in ("curve", "trusted"))
NEST = nested(CASES["curve"], PARTS)
VARIANCES = curve_scales(Prior(**{k: math.sqrt(v) for k, v in Prior().to_dict().items()}))
DESIGN = NEST.design.copy()
DESIGN[:, :3] = DESIGN[[1, 0, 3, 2], :3]
TAU = TRUST.scales._replace(own_of=np.array([0, 1, 2, 3, 4, 4]))
WIDE = NEST.scales._replace(sd=np.tile(CURVE.scales.sd, 3))  # not shared out among the layers
FIXED = TRUST._replace(of=np.full((1, 6), 5))
OTHER_PRIORS = [
    ("plain curve", plain(VARIANCES, 2), 0, "log sigma 0"),
    ("plain trusted", TRUST._replace(scales=TAU), 0, "mass 0 - mean"),
    ("plain trusted", FIXED, 2, "row 0 of bend"),  # omega scales no common part
    ("nested curve", NEST._replace(design=DESIGN), 0, "log a 0 - mean"),
    ("nested curve", NEST._replace(scales=WIDE), 0, "log sigma 8"),
]


@pytest.mark.parametrize("name, within, away, expected", first(OTHER_PRIORS))
def test_rejects_another_prior(name, within, away, expected):
    assert expected in revealing(model(name), within=within, away=away)


# wrong moves: module, function, the wrong form given the right one, and what reveals it


def half_pull(right, now, sigma, *rest):
    """psi given eta with a spread of root 2 times that of the prior."""
    return right(now, math.sqrt(2.0) * sigma, *rest)


def times(part, factor):
    """`given_eta` with another height, integral or noise."""
    return lambda right, *a: tuple(x * factor ** (i == part) for i, x in enumerate(right(*a)))


def wide(right, *a):
    return right(*a[:-1], 2.0 * a[-1])


def no_mode(right, skewed, noise):
    return right(skewed._replace(mode=0.0), noise)


def no_scale(right, *a):
    return right(*a) + np.log(surrogate._focus(*a)[1]).sum(-1)


def no_shift(right, eta, far, at, *rest):
    return right(eta, far, at._replace(local=at.local._replace(shift=0.0 * at.local.shift)), *rest)


def no_prior(right, hyper, *rest):
    return right(hyper, *rest) + 0.5 * (hyper * hyper).sum(-1, keepdims=True)


WHOLE = {
    "no surrogate": (moves, "log_surrogate", lambda right, *a: 0.0 * right(*a), "log likelihood"),
    "surrogate without constant": (moves, "log_surrogate", no_shift, ""),
    "log_proposal without the scale of y": (moves, "log_proposal", no_scale, "log sigma"),
    "log_weight without prior": (moves, "log_weight", no_prior, "log sigma"),
    "wide draw": (moves, "draw", wide, "- mean"),
    "half the noise of log a": (surrogate.Skewed, "noise", times(0, 0.5), "squares"),
}
SURE = {  # where labels are many
    "log a without its slope": (surrogate.Skewed, "noise", times(1, 0.0), "log sigma"),
    "log a around its prior": (surrogate.Skewed, "xi", no_mode, "- mean"),
}
LOCAL = {
    "no Jacobian": (moves, "sigma_target", lambda right, s, *a: right(s, *a) - np.log(s), "sigma"),
    "half pull": (moves, "_groups", half_pull, "sigma"),
    "psi without surrogate": (moves, "given_eta", times(0, 0.0), "log likelihood"),
    "psi without its noise": (moves, "given_eta", times(2, 2.0), "squares"),
    "half mu": (moves, "hyper_of", lambda right, s, mu, prior: right(s, 0.5 * mu, prior), "row"),
    "wide eta": (Hierarchy, "eta_given", wide, "row"),
}
FAINT = ("surrogate without constant", "log_proposal without the scale of y", "half pull")


def rejected(monkeypatch, name, module, function, wrong, reveals, trials=1, **options):
    right = getattr(module, function)
    monkeypatch.setattr(module, function, lambda *a: wrong(right, *a))
    shown = revealing(model(name, trials=trials), **options)
    return any(reveals in statistic for statistic in shown)


@pytest.mark.parametrize("case", WHOLE | SURE)
def test_rejects_a_wrong_move_1(monkeypatch, case):
    assert rejected(
        monkeypatch, "plain tight", *(WHOLE | SURE)[case], trials=50 if case in SURE else 1
    )


@pytest.mark.usefixtures("move_2_alone")
@pytest.mark.parametrize("case", LOCAL)
def test_rejects_a_wrong_move_2(monkeypatch, case):
    assert rejected(monkeypatch, "plain tight", *LOCAL[case], sweeps=10)


def all_alike(right, prior, *a):
    return right(prior, *a[:-1], 0.0 * a[-1])


def steeper(right, *a):
    """Groups apart as if their slopes were steeper than those of the others."""
    scales = a[-1].scales._replace(shift=-a[-1].scales.shift)
    return right(*a[:-1], a[-1]._replace(scales=scales))


APART = {
    "log_apart of nobody": (moves, "log_apart", lambda right, *a: 0.0 * right(*a), "apart"),
    "counts of all groups": (Hierarchy, "counts", all_alike, "sigma"),
    "squares of all groups": (Hierarchy, "squares", all_alike, "sigma"),
    "shift to steep slopes": (moves, "_groups", steeper, "apart"),
    "odds against the labels": (moves, "given_eta", times(1, -1.0), "log likelihood"),
}


@pytest.mark.parametrize("case", first(APART))
def test_rejects_wrong_moves_of_groups_apart(monkeypatch, request, case):
    if APART[case][1] != "log_apart":
        request.getfixturevalue("move_2_alone")
    sweeps = 8 if case == "log_apart of nobody" else 40
    assert rejected(monkeypatch, "plain trusted", *APART[case], sweeps=sweeps)


@slow
@pytest.mark.parametrize("case", [case for case in (WHOLE | LOCAL) if case not in FAINT])
def test_rejects_wrong_moves_of_the_nested_prior(monkeypatch, request, case):
    if case in LOCAL:
        request.getfixturevalue("move_2_alone")
    sweeps = 10 if case in LOCAL else SWEEPS
    assert rejected(monkeypatch, "nested tight", *(WHOLE | LOCAL)[case], sweeps=sweeps)


@slow
@pytest.mark.usefixtures("move_2_alone")
def test_rejects_a_scale_that_counts_too_few(monkeypatch):
    """Omega counts the jumps of the groups, and not the common parts of jump and bend."""
    fewer = np.array([0, 0, 0, 2, 0])
    case = Hierarchy, "counts", lambda right, *a: right(*a) - fewer, "squares / sigma^2 3"
    assert rejected(monkeypatch, "plain trusted", *case, sweeps=10)


def test_p_value_known_answers():
    # Kolmogorov's distribution: 5 % beyond 1.3581, 1 % beyond 1.6276
    n = 100_000
    x = np.arange(n) / n
    for distance, expected in [(1.3581, 0.05), (1.6276, 0.01)]:
        y = x + distance / math.sqrt(n / 2)
        np.testing.assert_allclose(p_value(x, y), expected, rtol=0.01)
    assert p_value(x, x) == 1.0
