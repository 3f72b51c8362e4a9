"""Bands: several thresholds in one table, which collapses to the ordinary one."""

from __future__ import annotations

import json

import numpy as np
import pytest

import lightfair.core as lf
from lightfair.core.data import bands
from lightfair.core.data.nodes import CELL_WIDTH, UNLABELED

CUTS = [0.5, 0.3, 0.7]


def make(count, seed=0, weighted=False, levels=("x", "y, z", "é"), **options):
    rng = np.random.default_rng(seed)
    label = rng.choice([-1, 0, 1], count, p=[0.7, 0.2, 0.1])
    score = rng.beta(1.2, 1.5, count)
    if count < 1000:
        score = np.round(score, 1)
    options |= {"sample_weight": rng.integers(1, 4, count) / 2} if weighted else {}
    group = rng.choice(levels, count)
    return lf.score_data(label, score, sensitive_features=group, **options)


def table(data, clip=0.01):
    return lf.score_table(data, clip=clip)


def assert_close(one, two, rtol):
    for name in ("groups", "clip", "clipped", "attributes", "parts", "threshold", "weighted"):
        assert getattr(one, name) == getattr(two, name), name
    assert (one.counts, one.notes, one.cuts) == (two.counts, two.notes, two.cuts)
    for name in ("points", "cells"):
        for column in getattr(one, name)._fields:
            mine, yours = (getattr(getattr(of, name), column) for of in (one, two))
            assert mine.dtype == yours.dtype
            np.testing.assert_allclose(mine, yours, rtol=rtol, atol=rtol, err_msg=column)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("count", [1, 200, 6000, 40_000])
def test_it_collapses_to_the_table_without(count, weighted):
    banded = table(make(count, weighted=weighted, threshold=CUTS))
    wanted = table(make(count, weighted=weighted, threshold=CUTS[0]))
    assert_close(bands.collapsed(banded), wanted, 1e-12)
    assert banded.notes == wanted.notes
    assert bands.collapsed(wanted) is wanted


@pytest.mark.parametrize("count", [200, 6000, 40_000])
def test_on_edges_of_cells_no_bit_differs(count):
    cuts = (1.0 / (1.0 + np.exp(-np.array([0, -17, 21]) * CELL_WIDTH))).tolist()
    banded = table(make(count, threshold=cuts))
    assert_close(bands.collapsed(banded), table(make(count, threshold=0.5)), 0.0)


def test_bands_hold_the_rows_between_thresholds():
    data = make(5000, threshold=CUTS)
    banded = table(data)
    assert (banded.cuts, banded.threshold) == ((0.5, 0.3, 0.7), 0.5)
    assert banded.attributes == ("group", bands.BAND)
    rows = banded.sums("rows")
    for index, (*part, band) in enumerate(banded.parts):
        low, high = [0.0, 0.3, 0.5, 0.7, 1.1][int(band) : int(band) + 2]
        here = (data.score >= low) & (data.score < high)
        here &= np.array(data.groups)[data.group] == ", ".join(part)
        for label, code in ((0, 0), (1, 1), (-1, UNLABELED)):
            assert rows[index, :, code].sum() == (here & (data.label == label)).sum()
        assert not rows[index, int(low < 0.5)].any()  # the first threshold decides


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_score_equal_to_a_threshold_is_above_it(dtype):
    score = np.array([0.1, 0.3, 0.7, 0.7], dtype=dtype)
    data = lf.score_data([1, 0, 1, -1], score, sensitive_features=list("aaab"), threshold=CUTS)
    assert data.band.tolist() == [0, 1, 3, 3]
    assert [part[-1] for part in table(data).parts] == ["0", "1", "3", "3"]


def test_chunks_add_up_and_come_back(tmp_path):
    data = make(6000, weighted=True, threshold=CUTS)
    whole = table(data)
    names = np.array(data.groups)[data.group]
    columns = {"y": data.label, "s": data.score, "g": names, "w": data.weight}
    chunks = [{k: v[i : i + 991] for k, v in columns.items()} for i in range(0, 6000, 991)]
    roles = {"y_true": "y", "y_score": "s", "sensitive_features": ["g"], "sample_weight": "w"}
    got = lf.summarize(chunks, threshold=CUTS, **roles)
    assert got.cuts == whole.cuts and got.groups == whole.groups
    for name in ("rows", "weight", "weight_sq"):
        np.testing.assert_allclose(got.sums(name), whole.sums(name), rtol=1e-12)
    whole.save(tmp_path / "table.json")
    back = lf.load_table(tmp_path / "table.json")
    assert_close(back, whole, 0.0)
    assert json.loads((tmp_path / "table.json").read_text())["cuts"] == CUTS
    assert_close(back + back, whole + whole, 0.0)
    with pytest.raises(
        ValueError,
        match="keep rows apart by the same thresholds; got 0.5, 0.3, 0.7 in a list and none",
    ):
        whole + bands.collapsed(whole)


def test_bands_keep_the_design():
    data = make(500, threshold=CUTS)
    prob = np.full(500, 0.25)
    groups = np.array(data.groups)[data.group]
    options = {"sensitive_features": groups, "label_prob": prob}
    banded = table(lf.score_data(data.label, data.score, threshold=CUTS, **options))
    plain = table(lf.score_data(data.label, data.score, **options))
    np.testing.assert_array_equal(bands.collapsed(banded).design, plain.design)


def test_many_thresholds_and_groups_sort():
    cuts = np.arange(1, 151) / 151
    data = make(3000, levels=[f"g{i}" for i in range(20)], threshold=cuts)
    banded = table(data)
    to = bands.parents(banded)
    assert list(banded.groups) == sorted(banded.groups)
    assert to.names == data.groups
    assert to.band.max() <= 150 and len(set(zip(to.group, to.band, strict=True))) == len(to.band)
    plain = table(make(3000, levels=[f"g{i}" for i in range(20)], threshold=cuts[0]))
    assert_close(bands.collapsed(banded), plain, 1e-12)


def test_what_people_see_has_no_bands():
    data = lf.score_data(
        [1, 0, -1], [0.2, 0.4, 0.9], sensitive_features=[[*"aab"], [*"xyx"]], threshold=CUTS
    )
    banded = table(data)
    assert banded.empty_groups == data.empty_groups == ("b, y",)
    assert "2 groups" in repr(table(make(200, levels=["a", "b"], threshold=CUTS)))
    assert repr(banded).endswith("clip 0.01; thresholds 0.5, 0.3, 0.7>")


BAD = [
    ([], "at least one number in (0, 1); got an empty list"),
    (np.zeros(0), "at least one number"),
    ([0.3, 0.3], "each number once; 0.3 comes twice"),
    ([0.3, 1.0], "both ends excluded; got 1 at place 1"),
    ([0.0], "got 0 at place 0"),
    ([0.3, "0.5"], "got '0.5' at place 1"),
    ([0.3, None], "got None at place 1"),
    ([0.3, True], "got True at place 1"),
    ([0.3, float("nan")], "got nan at place 1"),
    ([{"a": 0.3}], "thresholds of groups are a mapping, alone"),
    ([[0.3, 0.5]], "must hold numbers"),
    (np.arange(1, 300) / 300, 'at most 256 numbers; got 299; pass "all"'),
    ("all", "is for assess; every table has"),
]


@pytest.mark.parametrize("threshold, message", BAD, ids=[message for _, message in BAD])
def test_bad_thresholds(threshold, message):
    with pytest.raises(ValueError) as error:
        lf.score_data([1, 0], [0.2, 0.7], sensitive_features=["a", "b"], threshold=threshold)
    assert message in str(error.value)
    assert str(error.value).startswith("threshold")


def test_other_arguments_that_do_not_go_with_thresholds():
    options = {"sensitive_features": ["a", "b"], "threshold": [0.5, 0.3]}
    with pytest.raises(ValueError, match="give y_pred or threshold, not both"):
        lf.score_data([1, 0], [0.2, 0.7], y_pred=[1, 0], **options)
    options["sensitive_features"] = {bands.BAND: ["a", "b"]}
    with pytest.raises(ValueError, match="must not be called 'score band' where there are several"):
        lf.score_data([1, 0], [0.2, 0.7], **options)
    with pytest.raises(ValueError, match="one number, or one for each group; got 2"):
        lf.sql_query(
            dialect="duckdb",
            table="t",
            y_true="y",
            y_score="s",
            sensitive_features="g",
            threshold=[0.3, 0.5],
        )


FILES = [
    (lambda v: v.update(cuts=0.5), "cuts must be a list of thresholds; got 0.5"),
    (lambda v: v.update(cuts=[0.5, 0.5]), "cuts must hold each number once"),
    (lambda v: v.update(cuts=[0.3, 0.5, 0.7]), "threshold must be the first of cuts, 0.3; got 0.5"),
    (lambda v: v.update(cuts=[0.5, 0.4, 0.7]), "must have the bands that cuts make"),
    (lambda v: v.update(cuts=[0.5]), "must be 'score band', of levels 0 to 1"),
    (lambda v: v.update(attributes=["group", "h"]), "must be 'score band', of levels 0 to 3"),
]


@pytest.mark.parametrize("change, message", FILES, ids=[message for _, message in FILES])
@pytest.mark.parametrize("count", [200, 6000])
def test_files_that_cannot_be(change, message, count):
    values = json.loads(json.dumps(table(make(count, threshold=CUTS)).to_dict()))
    change(values)
    with pytest.raises(ValueError) as error:
        lf.ScoreTable.from_dict(values)
    assert message in str(error.value)
