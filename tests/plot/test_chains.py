"""Chains: names of parameters, and traces."""

from __future__ import annotations

import re

import numpy as np
import pytest
from artists import below, words
from results import ask_quickly

import lightfair as lf
from lightfair import plot
from lightfair.core.mcmc.convergence import diagnose
from lightfair.plot import chains

pytest.importorskip("matplotlib")


@pytest.mark.parametrize(
    "options", [{}, {"trust": False}, {"family": "temperature"}, {"hierarchical": False}], ids=str
)
def test_every_parameter_has_a_name(options):
    result = ask_quickly(lf.simulate(300, 60, rng=3), metrics="tpr", **options)
    named, posterior = chains.parameters(result), result.posterior
    assert all(draws.shape == posterior.phi.shape[:2] for draws in named.values())
    free = {"temperature": 1}.get(result.settings.family, 3)
    assert sum(name.startswith(("log_a[", "log_b[", "c[")) for name in named) == 2 * free
    own = result.settings.hierarchical is False
    sigma = posterior.sigma[:, :, 1, 0] if own else posterior.sigma[..., 0]
    np.testing.assert_array_equal(named["sigma[B, log_a]" if own else "sigma[log_a]"], sigma)
    np.testing.assert_array_equal(named["log_a[B]"], posterior.phi[:, :, 1, 0])
    np.testing.assert_array_equal(named["tpr[B]"], result.draws("tpr")[:, :, 1])
    assert ("tau" in named or "tau[A]" in named) == (posterior.tau is not None)
    deviations = [name for name in named if name.startswith("deviation[")]
    assert len(deviations) == 2 * posterior.deviations.shape[-1]
    if deviations:
        assert "deviation[A, bend 1]" in deviations
        last = posterior.deviations[:, :, 1, -1]
        np.testing.assert_array_equal(named[deviations[-1]], last)


def test_the_default_is_the_parameter_with_the_largest_rhat(two):
    """Of those in the convergence check; under the nested prior that leaves out mu and effects."""
    rows = lf.simulate(400, 80, rng=3)
    group = {"g": rows.group, "h": np.resize(["x", "y"], 400)}
    nested = ask_quickly(rows, metrics="tpr", group=group, hierarchical="nested")
    for result, left_out in ((two, "$."), (nested, r"mu\[|effect_[gh]\[")):
        named = chains.parameters(result)
        checked = {name: d for name, d in named.items() if not re.match(left_out, name)}
        worst = max(checked, key=lambda name: diagnose(checked[name]).rhat)
        name, draws = chains.choose_parameter(result, None)
        assert name == worst
        np.testing.assert_array_equal(draws, named[worst])
    effect = nested.posterior.effect_sd["h"][..., 2]
    np.testing.assert_array_equal(named["effect_sd_h[c]"], effect)


def test_a_trace_has_every_draw(two, ax):
    plot.trace(two, "tpr[B]", ax=ax)
    draws = two.draws("tpr")[:, :, 1]
    np.testing.assert_array_equal([line.get_ydata() for line in ax.lines], draws)
    assert f"R-hat {float(diagnose(draws).rhat):.3f}" in below(ax)


def test_undefined_draws_are_left_out_and_counted(gaps, ax):
    plot.trace(gaps, "ppv[C]", ax=ax)
    assert "undefined in 100.0% of them" in below(ax)
    assert "undefined in every draw" in words(ax)
    with pytest.raises(ValueError, match=r"no parameter 'ppv\[Z\]' \(did you mean 'ppv\["):
        plot.trace(gaps, "ppv[Z]", ax=ax)
