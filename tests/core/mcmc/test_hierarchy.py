"""The plain and the nested prior against loops, and what `assess` makes of the nested one."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from cases import CASES, CURVE, PARTS, random_apart, random_hyper
from scipy.stats import norm

import lightfair.core as lf
from lightfair.core.data.logit import logit_of
from lightfair.core.mcmc.hierarchy import named_effects, nested, plain
from lightfair.core.mcmc.surrogate import sigma_of


@pytest.mark.parametrize("case", CASES)
def test_variances_add_up_to_those_without_effects(case):
    """Of psi around mu, given the half-normals' mean squares."""
    scales = CASES[case]
    nest = nested(scales, PARTS)
    parts = nest.sds(nest.scales.sd)
    total = nest.scales.spread(nest.scales.sd) ** 2
    for row in nest.design:
        one, two = np.flatnonzero(row)[:-1]
        every = total + parts[one] ** 2 + parts[two] ** 2
        np.testing.assert_allclose(every, scales.spread(scales.sd) ** 2)
    np.testing.assert_allclose(parts[-1], scales.location(scales.sd))
    same = plain(scales, 3)
    np.testing.assert_array_equal(same.sds(scales.sd), scales.location(scales.sd)[None])
    np.testing.assert_array_equal(same.design, np.ones((3, 1)))


def test_design_and_names_of_effects():
    """Most levels first; an attribute with one level has none."""
    nest = nested(CURVE, tuple((one, "same", two) for one, two in PARTS))
    assert nest.names == (0, 2)
    expected = [[1, 0, 0, 1, 0, 1], [0, 1, 0, 1, 0, 1], [1, 0, 0, 0, 1, 1], [0, 0, 1, 0, 1, 1]]
    np.testing.assert_array_equal(nest.design, expected)
    eta, sigma = np.arange(18.0).reshape(6, 3), np.arange(1.0, 10.0)
    effects, sds = named_effects(eta, sigma, nest, ("sex", "unit", "race"))
    assert list(effects) == list(sds) == ["sex", "race"]
    np.testing.assert_array_equal(effects["sex"], eta[3:5])
    np.testing.assert_array_equal(effects["race"], eta[:3])
    np.testing.assert_array_equal(nest.sds(sigma)[[0, 3]], [sds["race"], sds["sex"]])
    np.testing.assert_array_equal(nest.scales.spread(sigma), sigma[:3])


def test_too_many_levels():
    parts = tuple((f"a{i % 140}", f"b{i % 141}") for i in range(140 * 3))
    with pytest.raises(ValueError, match=r"at most 132 levels .* got 281; merge levels, or pass"):
        nested(CURVE, parts)


def test_squares_and_counts_give_the_density_of_the_normals(prior):
    """As a function of sigma: -counts log sigma - squares / (2 sigma^2)."""
    rng = np.random.default_rng(1)
    sigma = sigma_of(random_hyper(2, prior, 1, 5), prior)[0]
    eta = rng.normal(size=prior.ratio.shape)
    psi = rng.normal(size=(len(prior.design), eta.shape[1]))
    apart = random_apart(3, prior, 1, 1)[0, 0]
    squares = prior.squares(psi, eta, apart)
    got = -(np.log(sigma) @ prior.counts(apart)) - 0.5 * (1.0 / sigma**2) @ squares
    expected = []
    for one in sigma:
        spread = naive.sds(one, prior.scales)[0]
        value = norm.logpdf(psi, prior.design @ eta, spread)[apart == 0.0].sum()
        free = prior.of < len(one)  # a fixed scale is not one of sigma
        value += norm.logpdf(eta, 0.0, prior.sds(one))[free].sum()
        expected.append(value)
    np.testing.assert_allclose(got - got[0], np.array(expected) - expected[0], rtol=1e-9, atol=1e-9)


def test_eta_given_psi(prior):
    """The conditional draw against dense algebra, mean and covariance."""
    groups, (rows, size) = len(prior.design), prior.ratio.shape
    sigma = sigma_of(random_hyper(3, prior, 1, 1), prior)
    psi = np.random.default_rng(4).normal(size=(1, 1, groups, size))
    apart = random_apart(6, prior, 1, 1)

    def drawn(noise):
        return prior.eta_given(psi, sigma, apart, noise.reshape(1, 1, rows, size)).ravel()

    design = np.kron(prior.design, np.eye(size))
    precise = prior.scales.spread(sigma[0, 0], apart[0, 0]).ravel() ** -2.0
    precision = np.diag(prior.sds(sigma[0, 0]).ravel() ** -2.0) + (design.T * precise) @ design
    covariance = np.linalg.inv(precision)
    mean = drawn(np.zeros(rows * size))
    centre = np.zeros((rows, size))
    centre[-1] = prior.scales.centre
    far = psi - prior.scales.centre - apart[..., None] * prior.scales.shift
    expected = centre.ravel() + covariance @ design.T @ (precise * far.ravel())
    np.testing.assert_allclose(mean, expected, rtol=1e-8, atol=1e-9)
    root = np.stack([drawn(unit) - mean for unit in np.eye(rows * size)])
    np.testing.assert_allclose(root.T @ root, covariance, rtol=1e-8, atol=1e-9)


def test_eta_given_psi_without_interactions():
    """Effects fit psi, though only their sum is identified, at any spread above 0."""
    nest = nested(CURVE, PARTS)
    rng = np.random.default_rng(5)
    psi, normal = rng.normal(size=(20, 1, 4, 3)), rng.normal(size=(20, 1, 6, 3))
    sigma = np.ones((20, 1, 9))
    sigma[..., :3] = np.logspace(-12.0, -6.0, 20)[:, None, None]
    middle = nest.middle(nest.eta_given(psi, sigma, np.zeros((20, 1, 4)), normal))
    np.testing.assert_allclose(middle, psi, atol=1e-5)


def crossed_rows(seed, rows=1200, labels=200, levels="XYZ"):
    """Scores, labels and two attributes; nobody is both F and Z."""
    rng = np.random.default_rng(seed)
    sex, race = rng.choice(list("FM"), rows), rng.choice(list(levels), rows)
    sex[(sex == "F") & (race == "Z")] = "M"
    score = rng.beta(1.3, 1.6, rows)
    shift = np.where(sex == "F", -0.5, 0.4) + np.where(race == "X", 0.6, -0.3)
    odds = logit_of(score, 0.01) + shift
    y = (rng.random(rows) < 1.0 / (1.0 + np.exp(-odds))).astype(float)
    y[labels:] = np.nan
    return y, score, {"sex": sex, "race": race}


SMALL = {"chains": 4, "draws": 20, "warmup": 40}


def ask(rows, **options):
    y, score, features = rows
    return lf.assess(y, score, sensitive_features=features, rng=1, **options)


def test_assess_names_the_effects():
    rows = crossed_rows(1, labels=800)
    result = ask(rows, hierarchical="nested", metrics="tpr", trust=False, **SMALL)
    assert result.settings.hierarchical == result.to_dict()["settings"]["hierarchical"] == "nested"
    posterior = result.posterior
    chains, draws = posterior.phi.shape[:2]
    assert posterior.phi.shape == (chains, draws, 5, 3)
    assert posterior.mu.shape == posterior.sigma.shape == (chains, draws, 3)
    assert posterior.omega is posterior.tau is None
    assert {k: v.shape[2:] for k, v in posterior.effects.items()} == {"sex": (2, 3), "race": (3, 3)}
    assert list(posterior.effect_sd) == ["sex", "race"]
    for sds in posterior.effect_sd.values():
        assert sds.shape == (chains, draws, 3) and (sds > 0.0).all()
    between = posterior.effects["sex"][:, :, 1, 2] - posterior.effects["sex"][:, :, 0, 2]
    assert (between > 0.0).mean() > 0.7  # M above F, as simulated
    plain = ask(rows, metrics="tpr", **SMALL)
    assert plain.posterior.effects is plain.posterior.effect_sd is None


@pytest.mark.parametrize("family, trust", [("llo", True), ("temperature", False)])
def test_other_families(family, trust):
    options = {"hierarchical": "nested", "family": family, "trust": trust}
    result = ask(crossed_rows(3, 600, 100), **options, chains=4, draws=10, warmup=10)
    phi, effects = result.posterior.phi, result.posterior.effects["race"]
    np.testing.assert_array_equal(phi[..., 0], phi[..., 1])
    np.testing.assert_array_equal(effects[..., 0], effects[..., 1])
    assert (result.posterior.omega is None) == (not trust)


def test_one_attribute_is_the_hierarchical_prior():
    y, score, features = crossed_rows(4)
    small = {"metrics": "tpr", "chains": 2, "draws": 10, "warmup": 10}
    same = {"sex": features["sex"]}, {"sex": features["sex"], "unit": ["one"] * len(y)}
    for columns in same:
        given = y, score, columns
        plain, nested = (ask(given, hierarchical=prior, **small) for prior in (True, "nested"))
        np.testing.assert_array_equal(plain.theta["tpr"], nested.theta["tpr"])
        assert nested.settings.hierarchical is True
        assert nested.posterior.effects is None
