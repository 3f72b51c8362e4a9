"""Assessments and a plan that the tests of planning share."""

from __future__ import annotations

import numpy as np
import pytest

import lightfair as lf


def assessed(rows=3000, labeled=100, weight=None, **options):
    data = lf.simulate(rows, labeled, rng=3)
    options = {"chains": 4, "draws": 200, "rng": 1, "metrics": ["tpr", "accuracy"], **options}
    options |= {"sensitive_features": data.group, "sample_weight": weight}
    return lf.assess(data.y_true, data.y_score, **options)


@pytest.fixture(scope="session")
def assess():
    return assessed


@pytest.fixture(scope="session")
def result():
    return assessed(metrics=["tpr", "selection_rate"])


@pytest.fixture(scope="session")
def weighted():
    return assessed(rows=600, weight=np.random.default_rng(0).integers(1, 4, 600), draws=50)


@pytest.fixture(scope="session")
def small():
    return assessed(rows=300, labeled=60, draws=100)


@pytest.fixture(scope="session")
def plan(result):
    return lf.plan_labels(result, width=0.15, extra=[100, 600])
