"""The preposterior forecast: bins of unlabeled rows, variances after labels, widths."""

from __future__ import annotations

import numpy as np
import pytest

import lightfair as lf
from lightfair.core.data.nodes import UNLABELED
from lightfair.planning.forecast import expected_sd, forecast_width, preposterior, score_bins

DELTA = np.array([[-1.0, 1.0]])


def forecast(ahead, share, contrasts=DELTA):
    return expected_sd(ahead, share * ahead.bins.rows, contrasts)


@pytest.mark.parametrize("name", ["result", "weighted"])
def test_bins_hold_all_unlabeled_rows(name, request):
    result = request.getfixturevalue(name)
    at = score_bins(result.table, result.posterior.regions)
    for column in ("rows", "weight", "weight_sq"):
        sums = np.zeros((2, 2))
        np.add.at(sums, (at.group, at.predicted), getattr(at, column))
        np.testing.assert_allclose(sums, result.table.sums(column)[..., UNLABELED], rtol=1e-12)


def test_a_population_stays_uncertain(assess):
    result = assess(rows=300, labeled=40, target="population")
    ahead = preposterior(result, "tpr")
    steps = [forecast(ahead, share)[0] for share in (0.0, 0.3, 1.0)]
    assert min(steps) > 0.5 * max(steps)
    whole = assess(rows=300, labeled=300, target="population", draws=100)
    assert steps[2] == pytest.approx(whole.difference("tpr", "B", "A").sd, rel=0.2)


@pytest.mark.parametrize("target", ["sample", "expected", "population"])
def test_without_labels_it_is_the_posterior(target, assess):
    metrics = ["tpr", "accuracy", "fpr", "ppv", "base_rate", "f1"]
    result = assess(rows=500, labeled=100, target=target, metrics=metrics)
    for metric in metrics:
        found = forecast(preposterior(result, metric), 0.0, np.vstack([np.eye(2), DELTA]))
        expected = [result.metric(metric, g).sd for g in "AB"]
        expected.append(result.difference(metric, "B", "A").sd)
        np.testing.assert_allclose(found, expected, rtol=0.25, err_msg=metric)


def test_a_population_of_which_none_is_selected_has_width():
    y, score = np.tile([0, 1, 0, 1, -1], 16), np.tile([0.1, 0.2, 0.3, 0.4], 20)
    options = {"metrics": "selection_rate", "target": "population", "rng": 1}
    result = lf.assess(y, score, sensitive_features=np.repeat(["A", "B"], 40), **options)
    found = forecast(preposterior(result, "selection_rate"), 0.0, np.eye(2))
    assert found.min() > 0.01
    np.testing.assert_allclose(found, result.metric("selection_rate", "A").sd, rtol=0.3)


def test_widths_begin_at_the_current_ones_and_become_normal():
    now, before = np.array([0.3, np.nan, 0.0]), np.array([0.1, 0.1, 0.0])
    np.testing.assert_allclose(forecast_width(now, before, before, 0.95), now, rtol=1e-12)
    np.testing.assert_array_equal(forecast_width(now, before, 0 * before, 0.95), 0.0 * now)
    narrow = forecast_width(now, before, 0.01 * before, 0.95)[0]
    assert narrow == pytest.approx(2 * 1.959964 * 0.001, rel=1e-3)
