"""Groups: names of levels, crossed attributes, missing values, warnings about levels."""

from __future__ import annotations

import numpy as np
import pytest

from lightfair.core.data.clusters import ALL
from lightfair.core.data.rows import score_data
from lightfair.core.data.table import score_table

SEX = ["x", "y", "x", "x"]
RACE = [1, 2, 2, 1]
NAN = float("nan")


def grouped(g, n=4, **options):
    return score_data([None] * n, [0.1] * n, sensitive_features=g, **options)


def codes(data):
    return [note.code for note in data.notes]


@pytest.mark.parametrize(
    "g, attributes",
    [
        ({"sex": SEX, "race": RACE}, ("sex", "race")),
        ({"sex": np.array(SEX), "race": np.float32(RACE)}, ("sex", "race")),
        ([SEX, RACE], ("group 1", "group 2")),
        (np.array([SEX, RACE], dtype=object).T, ("group 1", "group 2")),
        ({"sex": SEX, 1: RACE, "1": np.float64(RACE)}, ("sex", "1")),  # twice the same
    ],
)
def test_crossed_groups(g, attributes):
    data = grouped(g)
    assert data.groups == ("x, 1", "x, 2", "y, 2")
    assert data.parts == (("x", "1"), ("x", "2"), ("y", "2"))
    assert data.attributes == attributes
    assert data.group.tolist() == [0, 2, 1, 0]
    assert data.empty_groups == ("y, 1",)


@pytest.mark.parametrize(
    "g, groups",
    [
        ([2.0, 1.5, NAN, 10], ("1.5", "10", "2")),
        ([b"u", b"v", b"u", b"v"], ("u", "v")),
        (np.array([1, 2, 1, 2], "M8[D]"), ("1970-01-02", "1970-01-03")),
        (np.array([1, 2, 1, 2], "M8[ns]"), ("1970-01-01 00:00:00",)),
        ([2**53 + 1, 2**53, 2**70, None], (str(2**70), str(2**53), str(2**53 + 1))),
        ([True, False, None, 1], ("1", "False", "True")),
    ],
)
def test_names_of_levels(g, groups):
    assert set(grouped(g, missing="drop").groups) == set(groups)


def test_combinations_of_levels_may_exceed_32_bits():
    n = 50_000
    level = np.arange(n)
    data = grouped([level, level], n)
    assert data.groups == tuple(f"{one}, {one}" for one in range(n))
    assert [data.groups[at] for at in data.group[:3]] == ["0, 0", "1, 1", "2, 2"]


def test_groups_are_sorted_by_name():
    """That is not the order of their levels: a comma is greater than an exclamation mark."""
    data = grouped([["x", "x!", "x", "x!"], ["a", "a", "b", "b"]])
    assert data.groups == ("x!, a", "x!, b", "x, a", "x, b")
    assert data.group.tolist() == [2, 0, 3, 1]


@pytest.mark.parametrize(
    "names",
    [
        ["9", "10", "100", "a"],
        ["-10", "-9", "1.5", "2"],
        ["[-inf, 5.0)", "[5.0, 25.0)", "[25.0, 45.0)", "[45.0, inf)"],
        ["below 5", "5 to 25", "25 to 45", "45 or more", "missing"],
        ["18-25", "26-45", "100-101"],
        ["f, below 5", "f, 5 to 25", "m, below 5"],
        ["g9", "g10", "g-9", "g-10", "inf1", "info"],
    ],
)
def test_numbers_in_names_are_sorted_by_size(names):
    """Also where tables add up, and with clusters: the k-th group has k rows."""
    column = [name for at, name in enumerate(names, 1) for _ in range(at)][::-1]
    n, sizes = len(column), [*range(1, len(names) + 1)]
    data = grouped(column, n, threshold=dict.fromkeys(names, 0.5), cluster=range(n))
    assert data.groups == tuple(names) and np.bincount(data.group).tolist() == sizes
    table = score_table(grouped(column[:-1], n - 1)) + score_table(grouped(column[-1:], 1))
    assert table.groups == data.groups and table.sums("rows").sum(axis=(1, 2)).tolist() == sizes
    assert score_table(data).clusters[:, ALL, ALL].tolist() == sizes


def test_values_of_one_name_are_one_level():
    data = grouped([1, "1", True, 2])
    assert data.groups == ("1", "2", "True")
    assert data.group.tolist() == [0, 0, 2, 1]


@pytest.mark.parametrize("values", [["b", None, "a", "b"], ["b", "", "a", "b"], [1, NAN, 0, 1]])
def test_missing_values(values):
    with pytest.raises(ValueError, match=r'has 1 missing value \(row 1\); pass missing="drop" or'):
        grouped(values)
    dropped = grouped(values, missing="drop", sample_weight=[1, 2, 3, 4])
    assert dropped.weight.tolist() == [1, 3, 4]
    assert (len(dropped.groups), dropped.counts.dropped) == (2, 1)
    assert dict(dropped.notes)["dropped_rows"].endswith("missing: 1")
    named = grouped(values, missing="group")
    assert named.groups[named.group[1]] == "missing" and len(named.groups) == 3
    assert codes(named) == ["missing_as_group"]


def test_missing_values_in_crossed_groups():
    g = {"sex": SEX, "race": [1, None, 2, NAN]}
    dropped = grouped(g, missing="drop")
    assert (dropped.groups, dropped.empty_groups) == (("x, 1", "x, 2"), ())
    named = grouped(g, missing="group")
    assert named.groups == ("x, 1", "x, 2", "x, missing", "y, missing")
    assert named.empty_groups == ("y, 1", "y, 2")


@pytest.mark.parametrize(
    "g, missing, message",
    [
        (["missing", None, "a", "a"], "group", 'has a level "missing" in group'),
        ([None] * 4, "drop", 'missing in every row; pass missing="group"'),
        (np.empty((4, 0)), "raise", "at least one column; got none"),
        ({"p": ["a, b", "a", "c", "c"], "q": ["c", "b, c", "d", "d"]}, "raise", "'a, b, c'"),
        ({1: SEX, "1": [*"abcd"]}, "raise", "more than one column '1', which differ; rename"),
        (["a", "b", ["c"], "a"], "raise", r"plain values; got \['c'\] at row 2"),
        ([{"a": 1}] * 4, "raise", "row order; got dict"),
    ],
)
def test_bad_groups(g, missing, message):
    with pytest.raises(ValueError, match=message):
        grouped(g, missing=missing)


def test_warnings_about_levels():
    notes = dict(grouped({"g": ["Male", "NaN", "MALE ", "f"]}).notes)
    assert notes["blank_levels"].startswith("g has levels that read as missing: 'NaN'; they")
    assert "differ only in case or spaces: 'MALE ', 'Male'; write" in notes["alike_levels"]


def test_too_many_empty_groups_are_not_listed():
    n = 101
    data = grouped([range(n), range(n)], n)
    assert data.empty_groups == () and len(data.groups) == n
