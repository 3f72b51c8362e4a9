"""Binning: points and cells against loops over rows, in one block and in many."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tables import draw, table_of

import lightfair.core as lf
from lightfair.core.data import binning
from lightfair.core.data.logit import logit_of
from lightfair.core.data.nodes import CELL_WIDTH, EXACT_LIMIT, clip_bounds

KINDS = ("spread", "levels", "mixed", "late", "limit", "bounds")


def naive_table(data, clip):
    """Points {(stratum, logit): sums} and cells {(stratum, cell): sums}, row by row."""
    low, high = clip_bounds(clip)
    inside, rows = {}, []
    for i, at in enumerate(logit_of(data.score, clip).tolist()):
        label = int(data.label[i]) if data.label[i] >= 0 else 2
        interval = sum(data.score[i] >= cut for cut in data.cuts)
        group = interval * len(data.groups) + int(data.group[i])
        stratum = (group * 2 + int(data.predicted[i])) * 3 + label
        weight = 1.0 if data.weight is None else float(data.weight[i])
        rows.append((stratum, at, weight))
        if low < at < high:
            inside.setdefault(stratum, set()).add(at)
    points, cells = {}, {}
    for stratum, at, weight in rows:
        sums = [1.0, weight, weight * weight]
        key, sums_of = (stratum, at), points
        if low < at < high and len(inside[stratum]) > EXACT_LIMIT:
            cell = math.floor(at / CELL_WIDTH)
            away = at - (cell + 0.5) * CELL_WIDTH
            mass = 1.0 if stratum % 3 < 2 else weight
            key, sums_of = (stratum, cell), cells
            sums += [mass * away, mass * away**2, mass * away**3]
        old = sums_of.get(key, [0.0] * len(sums))
        sums_of[key] = [x + y for x, y in zip(old, sums, strict=True)]
    return points, cells


def check(data, clip=0.01):
    """Keys, their order and counts are exact; sums are, up to rounding."""
    table = lf.score_table(data, clip=clip)
    for part, expected in zip((table.points, table.cells), naive_table(data, clip), strict=True):
        keys = sorted(expected)
        assert list(zip(part[0].tolist(), part[1].tolist(), strict=True)) == keys
        sums = np.array([expected[key] for key in keys]).reshape(len(keys), len(part) - 2)
        np.testing.assert_array_equal(part.rows, sums[:, 0])
        for j, column in enumerate(part[2:]):
            # odd powers may cancel: a sum is as exact as that of its terms
            size = 1.0 if j < 3 else np.maximum(sums[:, 0], sums[:, 1]) * CELL_WIDTH ** (j - 2)
            np.testing.assert_array_less(
                abs(column - sums[:, j]), 1e-12 * np.maximum(abs(sums[:, j]), size) + 1e-300
            )
    outside = (data.score < clip) | (data.score > 1.0 - clip)
    assert table.clipped == np.count_nonzero(outside)
    return table


def data_of(kind, weighted=True, **options):
    score, label, group, weight = draw(kind)
    options |= {"sample_weight": weight} if weighted else {}
    return lf.score_data(label, score, sensitive_features=group, **options)


@pytest.fixture(params=[100, binning.BLOCK], ids=["many blocks", "one block"], autouse=True)
def block(request, monkeypatch):
    """Blocks of few rows, so that small data has many."""
    monkeypatch.setattr(binning, "BLOCK", request.param)


@pytest.fixture(params=[2**20, 0], ids=["dense", "sparse"])
def cells(request, monkeypatch):
    monkeypatch.setattr(binning, "DENSE", request.param)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_sums_the_rows(kind, weighted, cells):
    for clip in (0.01, 0.2):
        check(data_of(kind, weighted), clip)


@pytest.mark.parametrize("clip", [0.0, 1e-9])
def test_scores_far_out_have_cells_of_their_own(clip):
    data = data_of("spread")
    far = data.score.copy()
    far[:4] = [1e-300, 5e-324, 1.0 - 2**-53, 1e-12]
    check(replace(data, score=far), clip)


def test_intervals_between_thresholds_are_strata():
    data = data_of("spread", threshold=[0.5, 0.3, 0.7])
    table = check(data)
    assert (table.cuts, table.threshold, table.attributes) == ((0.5, 0.3, 0.7), 0.5, ("group",))
    assert len(table.cells.cell) and table.points.stratum.max() >= 3 * 6 * len(table.groups)


def test_many_groups_and_one_row():
    rng = np.random.default_rng(4)
    group = np.append(np.repeat(np.arange(60), 120), 60)
    score = rng.uniform(0.3, 0.6, len(group))
    check(lf.score_data(np.full(len(group), -1), score, sensitive_features=group))
    check(lf.score_data([-1], [0.4], sensitive_features=["a"]))


@pytest.mark.parametrize("clip", [-0.1, 0.5, 1.0, math.nan])
def test_clip_out_of_range(clip):
    with pytest.raises(ValueError, match=r"clip must lie in \[0, 0.5\); got"):
        table_of([0.5], clip=clip)


def test_clip_zero_needs_scores_inside():
    assert table_of([0.5, 1e-12], clip=0.0).clipped == 0
    with pytest.raises(ValueError, match=r"got 1 at row 1 \(2 such rows\); pass a clip above 0"):
        table_of([0.5, 1.0, 0.0], clip=0.0)
