"""Results to draw, made once, and Axes of a figure without a window."""

from __future__ import annotations

import numpy as np
import pytest
from results import QUICKEST, ask, ask_quickly

import lightfair as lf
from lightfair.core.simulation import Simulated

LONG = "Native Hawaiian or Other Pacific Islander, aged 65 and older, {} of the river"
NASTY = ["<b>&", "$x_1^2$", "_under", "tab\tend", "\\frac{1}{2}", "White"]
NASTY += [LONG.format("north"), LONG.format("south")]


@pytest.fixture
def ax():
    figure = pytest.importorskip("matplotlib.figure").Figure
    return figure(layout="constrained").subplots()


@pytest.fixture(scope="session")
def two():
    rows = lf.simulate(500, 90, rng=3)
    return ask(rows, metrics=["tpr", "fpr", "ppv", "selection_rate"], reference="A")


@pytest.fixture(scope="session")
def gaps():
    """C has no row predicted positive and no labels, all rows of D are labeled."""
    rng = np.random.default_rng(1)
    group = np.repeat(list("ABCD"), [150, 100, 40, 30])
    score = rng.random(len(group)) * np.where(group == "C", 0.3, 1.0)
    y = (rng.random(len(group)) < score).astype(float)
    labeled = (group == "D") | (rng.random(len(group)) < 0.3) & (group != "C")
    rows = Simulated(np.where(labeled, y, np.nan), y, score, group)
    metrics = ["ppv", "auc", "treatment_equality", "ece"]
    return ask(rows, metrics=metrics, reference="A", threshold=[0.5, 0.2, 0.35, 0.45, 0.6])


@pytest.fixture(scope="session")
def gap_values(gaps):
    return gaps.to_dict()["metrics"]


@pytest.fixture(scope="session")
def crowd():
    """Eight groups of difficult names, with rising numbers of labels; no score of <b>& is high."""
    rng = np.random.default_rng(2)
    group = np.repeat(np.array(NASTY, dtype=object), np.arange(60, 220, 20))
    score = rng.random(len(group)) * np.where(group == "<b>&", 0.3, 1.0)
    y = np.where(rng.random(len(group)) < 0.5, rng.random(len(group)) < score, np.nan)
    cuts = [0.5, 0.2, 0.3, 0.4, 0.6, 0.7]
    return ask_quickly(Simulated(y, y, score, group), metrics="tpr", threshold=cuts)


@pytest.fixture(scope="session")
def alone():
    return ask_quickly(lf.simulate(200, 40, rng=1), group=["a"] * 200, metrics="tpr")


@pytest.fixture(scope="session")
def comparison():
    rows = lf.simulate(300, 60, rng=3)
    scores = {"one": rows.y_score, "$two": rows.y_score**2, "none": 0.4 * rows.y_score}
    options = {**QUICKEST, "metrics": ["ppv", "selection_rate"]}
    return lf.compare_models(scores, rows.y_true, sensitive_features=rows.group, **options)
