"""Numbers of any kind and layout in memory are the same rows, and stay as they were."""

from __future__ import annotations

import numpy as np
import pytest

import lightfair.core as lf

RNG = np.random.default_rng(5)
SCORE = RNG.integers(0, 65, 200) / 64.0  # numbers of two bytes hold them
LABEL = RNG.integers(0, 2, 200)
GROUP = RNG.integers(0, 3, 200)
WEIGHT = RNG.integers(1, 5, 200) / 4.0


def strided(values):
    return np.repeat(values, 3)[::3]


def backwards(values):
    return values[::-1].copy()[::-1]


def read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


def column(values):
    return np.asfortranarray(np.stack([values, values], axis=1))[:, 1]


FLOATS = ["f2", "<f4", ">f4", "<f8", ">f8", "g"]
WHOLE = ["i1", "u1", "<i2", ">i2", "u4", ">i8", "u8", "f4", ">f8", "f2", "?"]
LAYOUTS = [strided, backwards, read_only, column, np.ndarray.tolist, memoryview]


def table(label=LABEL, score=SCORE, group=GROUP, weight=WEIGHT, **options):
    data = lf.score_data(
        label, score, sensitive_features=group, sample_weight=weight, **{"threshold": 0.3} | options
    )
    return lf.score_table(data).to_dict()


@pytest.fixture(scope="module")
def wanted():
    return table()


@pytest.mark.parametrize("kind", FLOATS)
def test_scores_and_weights(kind, wanted):
    assert table(score=SCORE.astype(kind), weight=WEIGHT.astype(kind)) == wanted


@pytest.mark.parametrize("kind", WHOLE)
def test_labels_and_groups(kind, wanted):
    group = GROUP if kind == "?" else GROUP.astype(kind)
    assert table(label=LABEL.astype(kind), group=group) == wanted


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout, wanted):
    before = SCORE.copy()
    columns = (layout(values) for values in (LABEL, SCORE, GROUP, WEIGHT))
    assert table(*columns) == wanted
    np.testing.assert_array_equal(SCORE, before)


@pytest.mark.parametrize("kind", WHOLE)
def test_decisions(kind):
    decisions = SCORE > 0.4
    one, two = (table(threshold=0.5, y_pred=y) for y in (decisions, decisions.astype(kind)))
    assert one == two


@pytest.mark.parametrize("kind", ["u1", "i8", "f2"])
def test_scores_that_are_all_0_or_1(kind):
    score = (SCORE > 0.4).astype(np.float64)
    assert table(score=score.astype(kind)) == table(score=score)


@pytest.mark.parametrize("kind", ["<f4", ">f4", "f2"])
def test_answers_do_not_depend_on_the_kind(kind):
    options = {"sensitive_features": GROUP, "chains": 2, "draws": 8, "warmup": 10, "rng": 3}
    one = lf.assess(LABEL, SCORE, **options)
    two = lf.assess(LABEL.astype(kind), SCORE.astype(kind), **options)
    assert one.to_dict() == two.to_dict()
