"""One pass over the rows: its sums, against loops; same bytes whatever threads and compiling."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import lightfair.core as lf
from lightfair.core.data import binning as module
from lightfair.core.data.binning import gather
from lightfair.core.data.logit import logit_of
from lightfair.core.data.nodes import CELL_WIDTH, EXACT_LIMIT, clip_bounds
from lightfair.core.mcmc.jit import available

needs_numba = pytest.mark.skipif(not available(), reason="numba is absent")
COUNT = 3000


def naive_table(data, clip):
    """Points {(stratum, logit): sums} and cells {(stratum, cell): sums}, row by row."""
    low, high = clip_bounds(clip)
    logit = logit_of(data.score, clip).tolist()
    rows = []
    inside = {}
    for i, at in enumerate(logit):
        label = int(data.label[i]) if data.label[i] >= 0 else 2
        stratum = (int(data.group[i]) * 2 + int(data.predicted[i])) * 3 + label
        weight = 1.0 if data.weight is None else float(data.weight[i])
        rows.append((stratum, at, weight))
        if low < at < high:
            inside.setdefault(stratum, set()).add(at)
    points, cells = {}, {}
    for stratum, at, weight in rows:
        sums = [1.0, weight, weight * weight]
        if low < at < high and len(inside[stratum]) > EXACT_LIMIT:
            cell = math.floor(at / CELL_WIDTH)
            away = at - (cell + 0.5) * CELL_WIDTH
            mass = 1.0 if stratum % 3 < 2 else weight
            key, place = (stratum, cell), cells
            sums += [mass * away, mass * away**2, mass * away**3]
        else:
            key, place = (stratum, at), points
        old = place.get(key, [0.0] * len(sums))
        place[key] = [x + y for x, y in zip(old, sums, strict=True)]
    return points, cells


def check(table, data, clip):
    """Rows, places and their order are exact; sums are, up to rounding."""
    points, cells = naive_table(data, clip)
    for part, wanted in ((table.points, points), (table.cells, cells)):
        keys = sorted(wanted)
        assert list(zip(part[0].tolist(), part[1].tolist(), strict=True)) == keys
        sums = np.array([wanted[key] for key in keys]).reshape(len(keys), len(part) - 2)
        np.testing.assert_array_equal(part.rows, sums[:, 0])
        for j, column in enumerate(part[2:]):
            # odd powers may cancel: a sum is as exact as that of what it adds
            size = 1.0 if j < 3 else np.maximum(sums[:, 0], sums[:, 1]) * CELL_WIDTH ** (j - 2)
            np.testing.assert_array_less(
                abs(column - sums[:, j]), 1e-12 * np.maximum(abs(sums[:, j]), size) + 1e-300
            )
    outside = (data.score < clip) | (data.score > 1.0 - clip)
    assert table.clipped == np.count_nonzero(outside)


def bytes_of(table):
    columns = [*table.points, *table.cells]
    return table.clipped, [(column.dtype, column.tobytes()) for column in columns]


def draw(kind, *, weighted=False, seed=0, count=COUNT):
    """Rows of three groups: a large one, one of 40 rows, and one of a single row."""
    rng = np.random.default_rng(seed)
    score = rng.beta(0.8, 0.9, count)
    if kind == "levels":
        score = np.round(score * 50) / 50
    elif kind == "mixed":  # few scores below the threshold, many above
        score = np.where(score < 0.5, np.round(score * 50) / 50, score)
    elif kind == "late":  # few scores until the last rows
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
    weight = rng.gamma(2.0, 1.0, count) if weighted else None
    if weighted:
        weight[::7] = 0.0
    return lf.score_data(label, score, sensitive_features=group, sample_weight=weight)


@pytest.fixture(params=["0", pytest.param("1", marks=needs_numba)], ids=["numpy", "compiled"])
def jit(request, monkeypatch):
    monkeypatch.setenv("LIGHTFAIR_JIT", request.param)
    return request.param


@pytest.fixture
def short(monkeypatch):
    """Spans and blocks of few rows, so that small data has many."""
    monkeypatch.setattr(module, "SORTED", 0)
    monkeypatch.setattr(module, "BLOCK", 100)
    monkeypatch.setattr(module, "FIRST", 30)
    monkeypatch.setattr(module, "SPAN", 700)
    monkeypatch.setattr(module, "FOLDED", 2)
    monkeypatch.setattr(module, "_span_rows", lambda size: module.SPAN)


KINDS = ("spread", "levels", "mixed", "late", "limit", "bounds")


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_sums_the_rows(kind, weighted, jit, short):
    data = draw(kind, weighted=weighted)
    for clip in (0.01, 0.2):
        check(gather(data, clip, threads=2), data, clip)


@pytest.mark.parametrize("clip", [0.0, 1e-9])
def test_scores_far_out_have_cells_of_their_own(clip, jit, short):
    data = draw("spread")
    far = data.score.copy()
    far[:4] = [1e-300, 5e-324, 1.0 - 2**-53, 1e-12]
    data = replace(data, score=far)
    check(gather(data, clip), data, clip)


def test_sorted_rows_sum_to_the_same(jit):
    for kind in KINDS:
        data = draw(kind, weighted=True)
        check(gather(data, 0.01), data, 0.01)


def test_long_data_is_cut_into_spans(jit):
    data = draw("late", count=2 * module.SPAN + 5000)
    check(gather(data, 0.01), data, 0.01)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_bytes_do_not_depend_on_threads_or_compiling(kind, weighted, monkeypatch, short):
    data = draw(kind, weighted=weighted)
    monkeypatch.setenv("LIGHTFAIR_JIT", "0")
    wanted = bytes_of(gather(data, 0.01, threads=1))
    for flag in ("0", "1") if available() else ("0",):
        monkeypatch.setenv("LIGHTFAIR_JIT", flag)
        for threads in (1, 2, 3):
            for _ in range(3):
                assert bytes_of(gather(data, 0.01, threads=threads)) == wanted


def test_many_groups_and_one_row(jit, short):
    rng = np.random.default_rng(4)
    group = np.append(np.repeat(np.arange(60), 120), 60)
    data = lf.score_data(
        np.full(len(group), -1), rng.uniform(0.3, 0.6, len(group)), sensitive_features=group
    )
    check(gather(data, 0.01, threads=2), data, 0.01)
    one = lf.score_data([-1], [0.4], sensitive_features=["a"])
    check(gather(one, 0.01), one, 0.01)


def test_data_with_mostly_empty_cells_is_sorted(monkeypatch):
    monkeypatch.setattr(module, "SORTED", 0)
    monkeypatch.setattr(module, "DENSE", 100)
    monkeypatch.setattr(module, "_each_span", None)
    data = draw("spread")
    check(gather(data, 0.01), data, 0.01)


def test_columns_of_other_types_and_orders_are_taken(jit, short):
    data = draw("spread", weighted=True)
    wanted = bytes_of(gather(data, 0.01))
    strided = np.repeat(data.score, 2)[::2]
    strided.flags.writeable = False
    group = data.group.copy()
    group.flags.writeable = False
    other = replace(
        data,
        score=strided,
        label=data.label.astype(np.int64),
        group=group,
        predicted=np.repeat(data.predicted, 2)[::2],
    )
    assert bytes_of(gather(other, 0.01)) == wanted


def test_the_rows_before_count_as_work(monkeypatch):
    asked = []
    monkeypatch.setattr(module, "compiles", lambda seconds: asked.append(seconds))
    monkeypatch.setattr(module, "SORTED", 0)
    data = draw("spread")
    gather(data, 0.01)
    gather(data, 0.01, before=10**8)
    assert asked[0] < 0.01 < 5.0 < asked[1]


def test_the_work_of_a_stream_adds_up(monkeypatch):
    asked = []
    monkeypatch.setattr(module, "compiles", lambda seconds: asked.append(seconds))
    monkeypatch.setattr(module, "SORTED", 0)
    data = draw("spread")
    chunk = {"y": data.label, "s": data.score, "g": data.group}
    lf.summarize([chunk] * 3, y_true="y", y_score="s", sensitive_features="g")
    np.testing.assert_allclose(asked, np.array([1, 2, 3]) * COUNT * module.NUMPY_SECONDS)


def test_an_error_in_a_thread_is_raised(monkeypatch, short):
    def fails(*arguments):
        raise MemoryError("no room")

    monkeypatch.setattr(module, "_sum_span", fails)
    with pytest.raises(MemoryError, match="no room"):
        gather(draw("spread"), 0.01, threads=2)
