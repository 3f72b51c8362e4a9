"""Densities of differences, their region, and reasons of undefined ones."""

from __future__ import annotations

import numpy as np
import pytest
from artists import below, marks, words

from lightfair import plot

pytest.importorskip("matplotlib")
from lightfair.plot.density import density  # noqa: E402


def test_the_kernel_is_the_naive_sum_of_normal_densities():
    draws = np.random.default_rng(0).beta(2.0, 3.0, 300)
    x, y = density(draws)
    kept = draws[(draws >= np.quantile(draws, 0.01)) & (draws <= np.quantile(draws, 0.99))]
    spread = min(kept.std(), np.subtract(*np.quantile(kept, [0.75, 0.25])) / 1.34)
    width = 0.9 * spread * len(kept) ** -0.2
    z = (x[:, None] - kept) / width
    naive = np.exp(-0.5 * z * z).mean(axis=1) / (width * np.sqrt(2.0 * np.pi))
    assert np.abs(y - naive).max() < 0.01 * naive.max()


def test_mass_is_reflected_at_a_bound():
    x, y = density(np.random.default_rng(0).random(50_000), bounds=(0.0, 1.0))
    assert 0.0 < x[0] < 0.005 and 0.995 < x[-1] < 1.0
    assert np.abs(y - 1.0).max() < 0.1  # 0.5 at the ends without reflection
    assert y.mean() == pytest.approx(1.0)


def test_it_is_the_density_and_the_probability_of_the_draws(two, ax):
    plot.posterior(two, "tpr", ax=ax)
    estimate = two.difference("tpr", "B", "A")
    assert f"{estimate.prob_within(0.05):.3f}" in words(ax) and "P(|diff| < 0.05)" in words(ax)
    x, y = marks(ax, "lightfair").T
    mass = y.max() - y
    assert (x * mass).sum() / mass.sum() == pytest.approx(estimate.mean, abs=0.01)


def test_several_groups_are_ridges(crowd, ax):
    plot.posterior(crowd, "tpr", ax=ax)
    assert len(ax.get_yticks()) == len(crowd.groups) - 1
    assert [line.get_label() for line in ax.lines].count("lightfair") == len(crowd.groups) - 1


@pytest.mark.parametrize("metric", ["ppv", "auc", "treatment_equality", "ece"])
def test_undefined_densities_have_their_reason(metric, gaps, gap_values, ax):
    plot.posterior(gaps, metric, ax=ax)
    entries = gap_values[metric]["differences"]
    assert words(ax).count("-") == sum(entry["interval"] is None for entry in entries)
    for entry in entries:
        if entry.get("reason"):
            assert f"undefined, {entry['reason']}" in below(ax)
    assert len(ax.texts) == len(entries) + 1  # probabilities and their title, beside the plot


def test_exact_differences_are_diamonds(two, ax):
    plot.posterior(two, "selection_rate", ax=ax)
    assert marks(ax, "exact")[:, 0] == [two.difference("selection_rate", "B", "A").mean]
