"""The table: sums by stratum, and tables that add."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tables import assert_same, draw, table_of

import lightfair.core as lf
from lightfair.core.data import table as tables
from lightfair.core.data.logit import logit_of
from lightfair.core.data.messages import Counts
from lightfair.core.data.nodes import CELL_WIDTH, EXACT_LIMIT, UNLABELED, clip_bounds

CUTS = [0.5, 0.3, 0.7]


def part(columns, where, **options):
    score, label, group, weight = (column[where] for column in columns)
    return table_of(score, label, group, sample_weight=weight, **options)


@pytest.fixture(scope="module")
def columns():
    """Rows of three groups; two have few, so that they keep their points."""
    score, label, group, weight = draw("spread")
    return score, label, group, np.ceil(weight + 0.1)


@pytest.mark.parametrize("threshold", [0.5, CUTS], ids=["one", "several"])
@pytest.mark.parametrize("cuts", [[1600], [1, 2999], [100, 200, 2000], [40, 80, 120, 160]])
def test_parts_add_up_to_the_whole(columns, cuts, threshold):
    parts = [part(columns, s, threshold=threshold) for s in np.split(np.arange(3000), cuts)]
    whole = part(columns, slice(None), threshold=threshold)
    assert len(whole.cells.cell) and len(whole.points.logit)
    assert_same(sum(parts[1:], parts[0]), whole)
    assert_same(parts[1] + parts[0], parts[0] + parts[1])


def test_tables_without_a_group_add_up(columns):
    cuts = {"large": 0.3, "one": 0.5, "small": 0.7}
    names = ("small", "large", "one")
    parts = [part(columns, columns[2] == name, threshold={name: cuts[name]}) for name in names]
    assert [table.groups for table in parts] == [(name,) for name in names]
    whole = part(columns, slice(None), threshold=cuts)
    assert_same(parts[0] + parts[1] + parts[2], whole)
    assert whole.threshold == cuts
    assert_same(parts[0], part(columns, columns[2] == "small", threshold={"small": 0.7}))


def test_a_table_with_several_thresholds_has_the_table_of_the_first(columns):
    several = part(columns, slice(None), threshold=CUTS)
    plain = part(columns, slice(None))
    assert_same(several.without_cuts(), plain)
    assert plain.without_cuts() is plain
    assert several.notes == plain.notes and several.rows == plain.rows
    np.testing.assert_allclose(several.sums("weight"), plain.sums("weight"), rtol=1e-12)
    on_edges = (1.0 / (1.0 + np.exp(-np.array([0, -17, 21]) * CELL_WIDTH))).tolist()
    assert_same(part(columns, slice(None), threshold=on_edges).without_cuts(), plain, rtol=1e-13)
    assert repr(several).endswith("3 groups by group; thresholds 0.5, 0.3, 0.7>")


def crossed(at=slice(None), **options):
    features = {"sex": [*"fmmf"][at], "race": ["x", "y", "x", None][at]}
    options |= {"sensitive_features": features, "missing": "drop"}
    y, score = [1, 0, None, None], [0.5, 0.2, 0.6, 0.995]
    return lf.score_table(lf.score_data(y[at], score[at], **options))


def test_what_a_table_knows_of_its_rows():
    table = crossed()
    assert (table.attributes, table.groups) == (("sex", "race"), ("f, x", "m, x", "m, y"))
    assert table.parts == (("f", "x"), ("m", "x"), ("m", "y"))
    assert (table.empty_groups, table.threshold, table.weighted) == (("f, y",), 0.5, False)
    assert (table.rows, table.labeled) == (3, 2)
    assert table.counts == Counts(dropped=1, ties=1)
    assert [note.code for note in table.notes] == ["dropped_rows", "ties_with_threshold"]
    line = "3 rows, 2 labeled, 1 unlabeled; 3 groups by sex and race; threshold 0.5"
    assert repr(table) == f"<ScoreTable: {line}>" and str(table) == line
    assert crossed(sample_weight=[1, 2, 3, 4]).weighted
    for cut in (1, 2):
        assert_same(crossed(slice(cut, None)) + crossed(slice(0, cut)), table)


def test_warnings_are_those_of_the_sum():
    """Names are alike across tables."""
    one, two = (table_of([0.2, 0.7], group=levels) for levels in (["Male", "f"], ["MALE ", "f"]))
    assert (one.notes, two.notes) == ((), ())
    assert [note.code for note in (one + two).notes] == ["alike_levels"]


@pytest.mark.parametrize(
    "one, two, message",
    [
        ({"threshold": 0.5}, {"threshold": 0.4}, "threshold is the same; got 0.5 and 0.4"),
        ({"threshold": {"g": 0.5}}, {"threshold": {"g": 0.4}}, "got {'g': 0.5} and {'g': 0.4}"),
        ({"threshold": CUTS}, {}, r"list of thresholds is the same; got \(0.5, .* and \(\)"),
        ({"y_pred": [0, 1]}, {}, "threshold is the same; got None and 0.5"),
        ({"group": {"sex": ["g"] * 2}}, {}, "attributes is the same; got .*sex.* and .*group"),
        ({"clip": 0.02}, {}, "clip is the same; got 0.02 and 0.01"),
    ],
)
def test_tables_that_do_not_add(one, two, message):
    one, two = (table_of([0.2, 0.7], **options) for options in (one, two))
    with pytest.raises(ValueError, match=message):
        one + two


def test_groups_of_one_name_and_other_things_do_not_add():
    one = table_of([0.2], group={"p": ["a, b"], "q": ["c"]})
    with pytest.raises(ValueError, match="two groups 'a, b, c'; rename"):
        one + table_of([0.2], group={"p": ["a"], "q": ["b, c"]})
    with pytest.raises(TypeError):
        one + 1


def test_clipped_rows_are_counted_and_keep_their_prediction():
    table = table_of([0.0, 0.009, 0.01, 0.99, 0.995, 1.0])
    assert table.clipped == 4
    np.testing.assert_array_equal(table.sums("rows")[0, :, UNLABELED], [3, 3])
    np.testing.assert_allclose(table.bounds(), np.log(99.0) * np.array([-1.0, 1.0]))
    np.testing.assert_array_equal(table.points.logit, table.bounds())


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


@pytest.fixture(params=[100, tables.BLOCK], ids=["many blocks", "one block"])
def block(request, monkeypatch):
    """Blocks of few rows, so that small data has many."""
    monkeypatch.setattr(tables, "BLOCK", request.param)


@pytest.fixture(params=[2**20, 0], ids=["dense", "sparse"])
def cells(request, monkeypatch):
    monkeypatch.setattr(tables, "DENSE", request.param)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_sums_the_rows(kind, weighted, block, cells):
    check(data_of(kind, weighted), clip=0.2 if weighted else 0.01)


@pytest.mark.parametrize("clip", [0.0, 1e-9])
def test_scores_far_out_have_cells_of_their_own(clip, block):
    data = data_of("spread")
    far = data.score.copy()
    far[:4] = [1e-300, 5e-324, 1.0 - 2**-53, 1e-12]
    check(replace(data, score=far), clip)


def test_intervals_between_thresholds_are_strata(block):
    data = data_of("spread", threshold=[0.5, 0.3, 0.7])
    table = check(data)
    assert (table.cuts, table.threshold, table.attributes) == ((0.5, 0.3, 0.7), 0.5, ("group",))
    assert len(table.cells.cell) and table.points.stratum.max() >= 3 * 6 * len(table.groups)


def test_many_groups_and_one_row(block):
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
    with pytest.raises(ValueError, match=r"got 1 at row 1 \(2 such rows\); pass clip=0.01"):
        table_of([0.5, 1.0, 0.0], clip=0.0)
