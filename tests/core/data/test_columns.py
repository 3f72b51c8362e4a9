"""Columns: codes against comparisons one by one; numbers of any kind and layout in memory."""

from __future__ import annotations

import numpy as np
import pytest

import lightfair.core as lf
from lightfair.core.data.columns import Labels, factorize, is_missing, numeric
from lightfair.core.data.rows import score_data

RNG = np.random.default_rng(5)
SCORE = RNG.integers(0, 65, 200) / 64.0  # numbers of two bytes hold them
LABEL = RNG.integers(0, 2, 200)
GROUP = RNG.integers(0, 3, 200)
WEIGHT = RNG.integers(1, 5, 200) / 4.0


def is_bool(value):
    return isinstance(value, (bool, np.bool_))


def naive_factorize(values):
    """The value of each row by one comparison after the other, and the distinct ones."""
    rows, distinct = [], []
    for value in values:
        if is_missing(value):
            rows.append(None)
            continue
        same = [v for v in distinct if is_bool(v) == is_bool(value) and v == value]
        distinct += [] if same else [value]
        rows.append(same[0] if same else value)
    return rows, distinct


@pytest.mark.parametrize(
    "values",
    [
        [3, 1.5, 0.0, -0.0, float("nan"), -7],
        [2**60, -1, 0, 5],
        [True, False],
        ["b", "", "a", "Ünïcode and long"],
        np.array(["2020-01-01", "NaT", "2021-01-01"], "M8[D]"),
        np.array([1, True, 1.0, "1", None, False, 0, float("nan"), (1, 2), "x"], dtype=object),
        [f"level {i}" for i in range(300)] + [None],
    ],
)
def test_factorize_is_that_of_comparisons(values):
    column = np.asarray(values)[RNG.integers(0, len(values), 900)]
    codes, distinct = factorize("x", column)
    rows, expected = naive_factorize(column.tolist())
    decoded = [None if code < 0 else distinct[code] for code in codes]
    for got, row in zip(decoded, rows, strict=True):
        assert (got is None) == (row is None)
        assert got is None or (got == row and is_bool(got) == is_bool(row))
    assert len(distinct) == len(expected)
    assert codes.dtype == np.intp and codes.max() == len(distinct) - 1


def test_codes_of_a_categorical():
    class Categorical:
        codes = np.array([0, 3, -1, 2, 0], dtype=np.int8)
        categories = ("b", "unused", "b", "")

    codes, distinct = factorize("x", Categorical())
    assert (codes.tolist(), distinct) == ([0, -1, -1, 0, 0], ["b"])


def test_missing_numbers():
    values = np.ma.array([1, 2, 3], mask=[False, True, False])
    assert numeric("x", values, (0.0, 9.0), "", gaps=True).tolist()[::2] == [1.0, 3.0]
    with pytest.raises(ValueError, match=r"x has 1 missing value \(row 8\)"):
        numeric("x", values, (0.0, 9.0), "", first=7)


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


FLOATS = ["f2", ">f4", "<f4", ">f8", "g"]
WHOLE = ["i1", "u1", ">i2", "u4", "u8", "f4", ">f8", "?"]


def table(label=LABEL, score=SCORE, group=GROUP, weight=WEIGHT, **options):
    options = {"sensitive_features": group, "sample_weight": weight, "threshold": 0.3} | options
    table = lf.score_table(lf.score_data(label, score, **options))
    return table.groups, [column.tolist() for column in (*table.points, *table.cells)]


@pytest.mark.parametrize("kind", FLOATS)
def test_scores_and_weights_of_any_kind(kind):
    assert table(score=SCORE.astype(kind), weight=WEIGHT.astype(kind)) == table()


@pytest.mark.parametrize("kind", WHOLE)
def test_labels_groups_and_decisions_of_any_kind(kind):
    group = GROUP if kind == "?" else GROUP.astype(kind)
    assert table(label=LABEL.astype(kind), group=group) == table()
    decisions = SCORE > 0.4
    one, two = (table(threshold=0.5, y_pred=y) for y in (decisions, decisions.astype(kind)))
    assert one == two


@pytest.mark.parametrize(
    "layout", [strided, backwards, read_only, column, np.ndarray.tolist, memoryview, iter]
)
def test_columns_of_any_layout(layout):
    before = SCORE.copy()
    assert table(*(layout(values) for values in (LABEL, SCORE, GROUP, WEIGHT))) == table()
    np.testing.assert_array_equal(SCORE, before)


NAN = float("nan")


def labels_of(y, **options):
    group = ["a"] * (len(y) if hasattr(y, "__len__") else 4)
    return score_data(y, [0.2] * len(group), sensitive_features=group, **options).label.tolist()


@pytest.mark.parametrize(
    "y, options, label",
    [
        ([1, 0, NAN, -1], {}, [1, 0, -1, -1]),
        ([1.0, 0.0, -1.0, None], {}, [1, 0, -1, -1]),
        (["1", "0.0", "", "1.0"], {}, [1, 0, -1, 1]),
        ([-1, 1, 1, -1], {"positive_label": 1}, [0, 1, 1, 0]),
        ([-1, 1, 1, -1], {"positive_label": -1}, [1, 0, 0, 1]),
        ([-1, 1, 1, -1], {"unlabeled": -1}, [-1, 1, 1, -1]),
        ([-1, 1, 1, 9], {"unlabeled": 9, "positive_label": 1}, [0, 1, 1, -1]),
        (["?", "1", "0", "-"], {"unlabeled": ["?", "-", None]}, [-1, 1, 0, -1]),
        (["1", "2", "", "2"], {"positive_label": 2}, [0, 1, -1, 1]),
        (["good", "bad", None, -1], {"positive_label": "bad", "unlabeled": -1}, [0, 1, -1, -1]),
        ([1, 0, 0, 1], {"positive_label": 0}, [0, 1, 1, 0]),
        ([None] * 4, {"positive_label": "yes"}, [-1] * 4),
        ([-1] * 4, {}, [-1] * 4),
        ([1, 1, NAN, 1], {}, [1, 1, -1, 1]),
        ([True, False, None, True], {"positive_label": "True"}, [1, 0, -1, 1]),
        (["TRUE", "FALSE", "", "true"], {}, [1, 0, -1, 1]),
        (["True", "False", "False", "True"], {"positive_label": 1}, [1, 0, 0, 1]),
        ([b"1", b"0", b"", b"1"], {}, [1, 0, -1, 1]),
        ([b"good", b"bad", None, b"bad"], {"positive_label": "bad"}, [0, 1, -1, 1]),
    ],
)
def test_labels(y, options, label):
    for column in (y, np.array(y, dtype=object)):
        assert labels_of(column, **options) == label


AMBIGUOUS = "only -1 and 1; pass positive_label=1 if .*, or unlabeled=-1 if it is"


@pytest.mark.parametrize(
    "y, options, message",
    [
        ([-1, 1, 1, -1], {}, AMBIGUOUS),
        (["-1", "1", "1", "-1"], {}, AMBIGUOUS),
        ([-1, 1, 1, 0], {"unlabeled": 9}, "3 values: -1, 0, 1; .* unlabeled="),
        ([1, 2, 1, 2], {}, "got 1, 2; or pass positive_label="),
        (["1", "0", "nan", "0"], {}, "got 3 values: 'nan', 0, 1; .* unlabeled="),
        ([0, 1, 2, 3, 4, 5, 6], {}, r"7 values: 0, 1, 2, 3, 4, \.\.\.;"),
        (list("yyyn"), {"positive_label": "x"}, "got 'x', y_true holds 'n', 'y'; "),
        (list("nnnn"), {"positive_label": "y"}, "got 'y', y_true holds 'n'; .* labels 0 and 1"),
        ([0, 1, 2, 2], {"positive_label": 2, "unlabeled": [2]}, "must differ; got 2 in both"),
        ([1, 0, [1], 0], {}, r"plain values; got \[1\] at row 2"),
        ({1: 0}, {}, "row order; got dict"),
        (5, {}, "array or column in row order; got int"),
        (np.ones((4, 2)), {}, r"y_true must be one column, .* shape \(4, 2\)"),
    ],
)
def test_bad_labels(y, options, message):
    with pytest.raises(ValueError, match=message):
        labels_of(y, **options)


def test_parts_are_read_as_the_whole():
    """-1 means the same in every part; whether it is ambiguous depends on all of them."""
    labels = Labels(None, None)
    assert labels.read([1, -1]).tolist() == [1, -1]
    with pytest.raises(ValueError, match="only -1 and 1"):
        labels.check()
    assert labels.read([None, 0]).tolist() == [-1, 0]
    labels.check()
    with pytest.raises(ValueError, match="3 values: 0, 1, 2"):
        labels.read([2])
