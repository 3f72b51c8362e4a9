"""Calibration plots: the curve, labeled rows and thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from artists import bands, below, legend_of, segments
from results import ask, ask_quickly

import lightfair as lf
from lightfair import plot

pytest.importorskip("matplotlib")
from matplotlib.collections import PathCollection  # noqa: E402

from lightfair.plot.reliability import curves, rates  # noqa: E402

SETTINGS = [{}, {"trust": False}, {"family": "temperature"}, {"hierarchical": False}]
SETTINGS += [{"log_odds_cap": 1.0}, {"threshold": {"A": 0.4, "B": 0.6}}, {"clip": 0.0}]


@pytest.mark.parametrize("options", SETTINGS, ids=str)
def test_the_curve_is_the_rate_that_the_predictive_check_expects(options):
    """At the labeled rows, region by region: that check computes it elsewhere."""
    result = ask_quickly(lf.simulate(500, 90, rng=3), metrics="tpr", **options)
    check, nodes = result.misfit, result.table.nodes()
    score, predicted = 1.0 / (1.0 + np.exp(-nodes.logit)), nodes.stratum // 3 % 2
    for entry, group in enumerate(check.group):
        here = (nodes.stratum // 6 == group) & (nodes.stratum % 3 < 2)
        here &= (score >= check.low[entry] - 1e-9) & (score <= check.high[entry] + 1e-9)
        here &= predicted == check.predicted[entry]
        rate = rates(result, group, nodes.logit[here], predicted[here]).mean(axis=0)
        expected = (rate * nodes.weight[here]).sum() / nodes.weight[here].sum()
        assert expected == pytest.approx(check.expected[entry], abs=1e-9)


def test_a_curve_covers_the_scores_of_its_group(two):
    ((score, rate),) = curves(two, 0)
    logit = two.table.nodes().logit[two.table.nodes().stratum // 6 == 0]
    ends = 1.0 / (1.0 + np.exp(-np.array([logit.min(), logit.max()])))
    np.testing.assert_allclose(score[[0, -1]], ends)
    at = np.log(score) - np.log1p(-score)
    np.testing.assert_allclose(rate, rates(two, 0, at, (score >= 0.5).astype(int)))


def test_scores_at_a_bound_have_a_rate_of_their_own():
    rows = lf.simulate(600, 100, rng=3)
    score = np.where(rows.y_score < 0.2, 0.0, rows.y_score)
    result = ask(rows, metrics="tpr", y_score=score)
    ((at, rate),) = curves(result, 0)
    (entry,) = np.flatnonzero((result.misfit.group == 0) & result.misfit.mass)
    assert at[0] == pytest.approx(0.01)
    assert rate[:, 0].mean() == pytest.approx(result.misfit.expected[entry], abs=0.01)
    assert np.abs(rate[:, 0] - rate[:, 1]).max() > 0.01


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_scores_that_round_to_a_bound_are_drawn_there():
    rows = lf.simulate(600, 100, rng=3)
    score = np.where(rows.y_score < 0.2, 1e-300, rows.y_score)
    result = ask(rows, metrics="tpr", y_score=score, clip=0.0)
    ((at, rate),) = curves(result, 0)
    low = np.array([np.log(1e-300)])
    assert at[0] < 1e-15
    np.testing.assert_allclose(rate[:, :1], rates(result, 0, low, np.zeros(1, dtype=int)))


def test_steps_of_deviations_are_explained(two, ax):
    plot.calibration(two, "A", ax=ax)
    assert legend_of(ax) == ["lightfair", "labeled rows"]
    assert "steps: each region of scores can deviate" in below(ax)
    ax.clear()
    plot.calibration(ask_quickly(lf.simulate(200, 40, rng=1), trust=False), "A", ax=ax)
    assert "steps" not in below(ax)


def test_the_default_is_the_group_with_most_labels(crowd, ax):
    labeled = {one["name"]: one["labeled"] for one in crowd.to_dict()["data"]["groups"]}
    plot.calibration(crowd, ax=ax)
    title = ax.get_title(loc="left").replace("\n", " ")
    assert title == f"Calibration of {max(labeled, key=labeled.get)}"
    with pytest.raises(ValueError, match="no group 'x'; there are "):
        plot.calibration(crowd, "x", ax=ax)


def test_labeled_rows_are_marks_by_their_number(two, ax):
    plot.calibration(two, "A", ax=ax)
    assert ax.get_title(loc="left") == "Calibration of A"
    check = two.misfit
    mask = check.group == 0
    (points,) = [one for one in ax.collections if isinstance(one, PathCollection)]
    expected = np.column_stack([check.score, check.positives / check.rows])[mask]
    np.testing.assert_allclose(points.get_offsets(), expected)
    assert (np.argsort(points.get_sizes()) == np.argsort(check.rows[mask])).all()
    ends = lf.beta_binomial(check.positives[mask], (check.rows - check.positives)[mask])
    np.testing.assert_allclose(segments(ax)[:, :, 1], np.column_stack([ends.low, ends.high]))


def test_thresholds_are_upright_lines(two, ax):
    def upright():
        return {line.get_xdata()[0] for line in ax.lines if len({*line.get_xdata()}) == 1}

    plot.calibration(two, "A", ax=ax)
    assert upright() == {0.5}
    rows = lf.simulate(300, 60, rng=3)
    ax.clear()
    plot.calibration(ask(rows, metrics="tpr", threshold={"A": 0.4, "B": 0.7}), "B", ax=ax)
    assert upright() == {0.7}
    ax.clear()
    given = (rows.y_score > np.resize([0.3, 0.6], 300)).astype(int)
    result = ask(rows, metrics="tpr", y_pred=given)
    plot.calibration(result, ax=ax)
    assert not upright() and len(bands(ax)) == 2 and len(curves(result, 0)) == 2
    assert "predicted negative and positive have separate curves" in below(ax)
