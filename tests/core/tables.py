"""Tables of rows for the tests of core/data: scores of several kinds, and their table."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

import lightfair.core as lf
from lightfair.core.data.nodes import EXACT_LIMIT


def draw(kind, *, seed=0, count=3000):
    """Score, label, group, weight of rows in a large group, one of 40 rows, one of a single row."""
    rng = np.random.default_rng(seed)
    score = rng.beta(0.8, 0.9, count)
    if kind == "levels":
        score = np.round(score * 50) / 50
    elif kind == "mixed":  # few distinct scores below the threshold, many above
        score = np.where(score < 0.5, np.round(score * 50) / 50, score)
    elif kind == "late":  # few until the last rows
        score[:-900] = np.round(score[:-900] * 50) / 50
    elif kind == "limit":  # as many scores as points go, and one more
        score = 0.1 + 0.3 * np.arange(count) / count
        score = score[rng.integers(0, EXACT_LIMIT, count)]
        score[-1] = 0.45
    elif kind == "bounds":
        score = rng.integers(0, 2, count).astype(float)
    label = np.where(rng.random(count) < 0.4, rng.random(count) < score, -1).astype(int)
    group = np.full(count, "large")
    group[rng.permutation(count)[:40]] = "small"
    group[count // 2] = "one"
    weight = rng.gamma(2.0, 1.0, count)
    weight[::7] = 0.0
    return score, label, group, weight


def table_of(score, label=None, group=None, clip=0.01, **options):
    label = np.full(len(score), -1) if label is None else label
    group = ["g"] * len(score) if group is None else group
    data = lf.score_data(label, score, sensitive_features=group, **options)
    return lf.score_table(data, clip=clip)


def assert_same(one, two, rtol=1e-12):
    """Two tables are equal, their sums up to the order in which they were added."""
    assert one.notes == two.notes
    for name in (field.name for field in fields(one)):
        left, right = getattr(one, name), getattr(two, name)
        if name in ("points", "cells"):
            for column, x, y in zip(left._fields, left, right, strict=True):
                close = 0.0 if column in ("stratum", "cell", "logit", "rows") else rtol
                assert x.dtype == y.dtype, column
                np.testing.assert_allclose(x, y, rtol=close, atol=close, err_msg=column)
        elif isinstance(left, np.ndarray):
            np.testing.assert_allclose(left, right, rtol=rtol, err_msg=name)
        else:
            assert left == right, name
