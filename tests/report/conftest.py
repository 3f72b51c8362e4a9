"""Results that the tests of reports share: fitted once, read many times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from results import QUICKEST, ask_quickly

import lightfair as lf
from lightfair.report.figures import of_assessment


@pytest.fixture(scope="session")
def result(rows):
    """Two groups at two thresholds, with one failed and one inconclusive check."""
    metrics, checks = ["tpr", "selection_rate", "auc"], ["tpr<=0.9", "selection_rate<=0.001"]
    return ask_quickly(rows, metrics=metrics, threshold=[0.5, 0.3], checks=checks)


@pytest.fixture(scope="session")
def nine(rows):
    """Nine groups; no row of g8 is selected."""
    group = np.char.add("g", (np.arange(400) % 9).astype(str))
    decisions = (rows.y_score > 0.5) & (group != "g8")
    metrics = ["tpr", "selection_rate", "ppv"]
    return ask_quickly(rows, group=group, metrics=metrics, reference="g0", y_pred=decisions)


@pytest.fixture(scope="session")
def plan(result):
    return lf.plan_labels(result, "tpr", 0.2, extra=[20, 100])


@pytest.fixture(scope="session")
def found(result):
    return lf.find_threshold(result, "tpr")


@pytest.fixture(scope="session")
def models(rows):
    scores = {"old": rows.y_score, "<b>new</b>": rows.y_score**1.5}
    options = {"sensitive_features": rows.group, "metrics": ["tpr", "accuracy"], **QUICKEST}
    return lf.compare_models(scores, rows.y_true, **options)


@pytest.fixture(scope="session")
def pictures(result):
    pytest.importorskip("matplotlib")
    settings = replace(result.settings, metrics=("tpr", "selection_rate"))
    return of_assessment(replace(result, settings=settings))
