"""Codes of few values: they decode to the column, values are as promised, many give None."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from lightfair.core.data import distinct
from lightfair.core.data.columns import factorize, is_missing
from lightfair.core.data.distinct import (
    BLOCK,
    FEW,
    Coded,
    arrow_numbers,
    coded,
    few,
    few_numbers,
    few_objects,
    few_texts,
    in_use,
)


def draw(values, count=5000, seed=0):
    """The values at random, each at least once, the last only at the end."""
    rng = np.random.default_rng(seed)
    at = np.append(rng.integers(0, max(len(values) - 1, 1), count), range(len(values)))
    return np.asarray(values)[at]


def first_order(column):
    return list(dict.fromkeys(column))


NUMBERS = {
    "bool": [False, True],
    "int8": np.array([-128, 127, 3], np.int8),
    "int64": [-(2**63), 2**63 - 1, 0, 5],
    "uint64": np.array([0, 2**64 - 1, 2**63], np.uint64),
    "float64": [0.25, -3.0, np.inf, -np.inf, 1e-300],
    "float32": np.array([0.1, 0.7], np.float32),
    "many": np.arange(FEW) * 7919,
    "one": [4],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_those_of_unique(name):
    column = draw(NUMBERS[name])
    wanted, where = np.unique(column, return_inverse=True)
    codes, values = few_numbers(column)
    np.testing.assert_array_equal(codes, where)
    np.testing.assert_array_equal(values, wanted)
    assert values.dtype == column.dtype


def test_nan_is_missing_and_zeros_are_one_value():
    column = draw([np.nan, 0.0, -0.0, 1.0])
    codes, values = few_numbers(column)
    assert values.tolist() == [0.0, 1.0]
    np.testing.assert_array_equal(codes, np.where(np.isnan(column), -1, column))
    codes, values = few_numbers(np.full(9, np.nan))
    assert codes.tolist() == [-1] * 9 and len(values) == 0


def test_a_value_that_comes_late_is_found():
    column = np.zeros(3 * BLOCK, np.int64)
    column[[BLOCK + 1, 2 * BLOCK + 2, -1]] = [-5, 9, 4]
    codes, values = few(column)
    assert values.tolist() == [-5, 0, 4, 9]
    np.testing.assert_array_equal(values[codes], column)


def test_values_that_share_a_place_of_the_table_get_another_multiplier(monkeypatch):
    inverse = pow(distinct.MULTIPLIER, -1, 2**64)
    column = draw(np.array([inverse * place % 2**64 for place in (1, 2, 3)], np.uint64))
    _, multiplier, _ = distinct._table(np.unique(column))
    assert multiplier != distinct.MULTIPLIER
    codes, values = few(column)
    np.testing.assert_array_equal(values[codes], column)


@pytest.mark.parametrize(
    "values",
    [["a", "b"], ["Female", "Male", ""], ["African-American", "Caucasian"], ["é", "ÿ" * 9, "日本"]],
)
def test_texts_come_in_the_order_of_their_rows(values):
    column = draw(values)
    codes, found = few_texts(column)
    assert found == first_order(column.tolist())
    assert all(type(value) is str for value in found)
    np.testing.assert_array_equal(np.array(found)[codes], column)
    codes, found = few_texts(column[::-2])  # not contiguous
    np.testing.assert_array_equal(np.array(found)[codes], column[::-2])


def test_texts_that_differ_in_one_late_letter_differ():
    stem = "x" * 30
    column = draw([stem + "a", stem + "b", stem, "y" + stem])
    codes, found = few_texts(column)
    assert len(found) == 4
    np.testing.assert_array_equal(np.array(found)[codes], column)


def test_objects_are_told_apart_by_identity():
    one, other = "".join(["ab"]), "".join(["ab"])
    values = np.array([one, other, None, True, 1, 2.5, float("nan")], dtype=object)
    column = draw(values)
    codes, found = few_objects(column)
    assert all(found[code] is value for code, value in zip(codes, column, strict=True))
    assert [id(value) for value in found] == first_order([id(value) for value in column])
    assert one in found and sum(value is other for value in found) == 1


@pytest.mark.parametrize(
    "column, find",
    [
        (np.arange(FEW + 1), few_numbers),
        (np.random.default_rng(0).random(9000), few_numbers),
        (np.array(["2020-01-01"], "datetime64[D]"), few_numbers),
        (np.zeros(3, np.longdouble), few_numbers),
        (np.arange(5000).astype(str), few_texts),
        (np.array([f"{'x' * 8}{i % 20}{'y' * 7}{i % 19}" for i in range(4000)]), few_texts),
        (np.array(["x" * 65, "y"]), few_texts),
        (np.array(["ab", "c"]).astype(">U2"), few_texts),
        (np.array([str(i) for i in range(999)], dtype=object), few_objects),
    ],
)
def test_many_values_and_other_columns_are_left_to_others(column, find):
    assert find(column) is None


@pytest.mark.parametrize("tail", [[], [4], [-1, 4], [0, 1, 2, 3, 4]])
def test_codes_in_use_are_found_wherever_they_are(tail):
    codes = np.append(np.resize([1, 3, -1], 3000), tail).astype(np.int8)
    assert np.flatnonzero(in_use(codes, 5)).tolist() == sorted({1, 3, *tail} - {-1})
    assert in_use(codes[:0], 2).tolist() == [False, False]
    assert in_use(np.array([-1]), 0).tolist() == []


def decoded(found):
    values = [*map(str, np.asarray(found.values).tolist()), None]
    return [values[code] for code in found.codes]


def naive_factorize(values):
    """Codes by one comparison after the other; values in the order of their rows."""
    codes, found = [], []
    for value in values:
        if is_missing(value):
            codes.append(-1)
            continue
        kind = isinstance(value, (bool, np.bool_))
        same = [isinstance(v, (bool, np.bool_)) == kind and v == value for v in found]
        codes.append(same.index(True) if True in same else len(found))
        if True not in same:
            found.append(value)
    return codes, found


COLUMNS = {
    "numbers": [3, 1.5, 0.0, -0.0, float("nan"), -7],
    "whole": [2**60, -1, 0, 5],
    "booleans": [True, False],
    "texts": ["b", "", "a", "Ünïcode and long"],
    "mixed": np.array([1, True, 1.0, "1", None, False, 0, float("nan"), (1, 2), "x"], dtype=object),
    "many": np.array([f"level {i}" for i in range(2 * FEW)] + [None], dtype=object),
    "real": np.random.default_rng(1).random(2 * FEW),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_factorize_is_that_of_comparisons(name):
    values = np.asarray(COLUMNS[name])
    rows = np.random.default_rng(2).integers(0, len(values), 900)
    codes, found = factorize("x", values[rows])
    wanted_codes, wanted = naive_factorize(values[rows].tolist())
    order = np.arange(len(wanted))
    if values.dtype.kind in "biuf":  # numbers are sorted
        order = np.argsort(np.argsort(wanted))
        wanted.sort()
    assert [(type(v) is bool, v) for v in wanted] == [
        (isinstance(v, np.bool_ | bool), v) for v in found
    ]
    assert codes.tolist() == [-1 if code < 0 else order[code] for code in wanted_codes]


def test_factorize_drops_values_without_a_row_and_merges_equal_ones():
    codes, found = factorize("x", Coded(np.array([0, 3, -1, 2, 0]), ["b", "unused", "b", ""]))
    assert (codes.tolist(), found) == ([0, -1, -1, 0, 0], ["b"])


def test_an_error_names_the_first_row_of_a_value_that_is_not_plain():
    column = np.empty(5000, dtype=object)
    column[:] = "a"
    bad = [1]
    column[[40, 4000]] = [bad, bad]
    with pytest.raises(ValueError, match=r"x must hold plain values; got .* at row 47"):
        factorize("x", column, 7)


def test_codes_of_pandas():
    pandas = pytest.importorskip("pandas")
    texts = ["b", "a", None, "b"]
    for column in (
        pandas.Categorical(texts, categories=["z", "b", "a"]),
        pandas.Series(texts, dtype="category"),
        pandas.CategoricalIndex(texts),
        pandas.Series(texts, dtype="string"),
    ):
        found = coded(column)
        assert len(found) == 4
        assert decoded(found) == texts
    assert coded(pandas.Series([1.5, 2.5])) is None
    assert coded(pandas.Series(["a", 1], dtype=object)) is None


def test_codes_of_arrow():
    arrow = pytest.importorskip("pyarrow")
    for values in (["b", "a", None, "b"], [True, False, None], [3, None, 5], [0.5, 1.5, 0.5]):
        plain = arrow.array(values)
        texts = [None if value is None else str(value) for value in values]
        for column in (plain, plain.dictionary_encode(), arrow.chunked_array([plain])):
            assert decoded(coded(column)) == texts
            assert decoded(coded(column[1:])) == texts[1:]
        twice = arrow.chunked_array([plain.dictionary_encode(), plain[::-1].dictionary_encode()])
        assert decoded(coded(twice)) == texts + texts[::-1]
    small = arrow.DictionaryArray.from_arrays(arrow.array([0, None, 255], "uint8"), range(256))
    assert decoded(coded(small)) == ["0", None, "255"]
    assert coded(arrow.array([[1], [2]])) is None
    assert coded(arrow.array([1, 2], arrow.timestamp("us")).dictionary_encode()) is None
    assert coded(arrow.array(np.arange(FEW + 1))) is None
    assert coded(arrow.chunked_array([], arrow.string())) is None


def test_numbers_of_arrow_are_read_where_they_are():
    arrow = pytest.importorskip("pyarrow")
    for kind in ("int8", "uint16", "int64", "uint64", "float32", "float64", "bool_"):
        column = arrow.array([3, None, 0, 7, None] * 5, "int8").cast(getattr(arrow, kind)())
        wanted = [
            (0 if value is None else value, value is not None) for value in column.to_pylist()
        ]
        for part, pairs in (
            (column, wanted),
            (column[3:20], wanted[3:20]),
            (arrow.chunked_array([column, column[7:]]), wanted + wanted[7:]),
            (column[:0], []),
            (arrow.chunked_array([], column.type), []),
        ):
            numbers, present = arrow_numbers(part)
            assert numbers.dtype == column.type.to_pandas_dtype()
            assert (present is None) == (part.null_count == 0)
            present = np.ones(len(part), bool) if present is None else present
            assert present.tolist() == [known for _, known in pairs]
            assert numbers[present].tolist() == [value for value, known in pairs if known]
    assert arrow_numbers(arrow.array([None, 1.0, 2.0])[1:])[1] is None
    assert arrow_numbers(arrow.array(["a"])) is None


def test_columns_of_arrow_do_without_pandas(child_env):
    pytest.importorskip("pyarrow")
    code = """
import sys, numpy as np, pyarrow as arrow
from lightfair.core.data.distinct import arrow_numbers, coded
codes = arrow.py_buffer(np.array([1, 0, 1], "i1"))
column = arrow.Array.from_buffers(arrow.int8(), 3, [None, codes])
names = arrow.Array.from_buffers(
    arrow.string(), 2, [None, arrow.py_buffer(np.array([0, 1, 2], "i4")), arrow.py_buffer(b"ab")]
)
arrow_numbers(column)
print(coded(column).codes.tolist(), coded(arrow.DictionaryArray.from_arrays(column, names)).values)
print("pandas" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=child_env, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines() == ["[1, 0, 1] ['a', 'b']", "False"], done.stderr


@pytest.mark.parametrize("values", [[1, 2], ("a",), np.array(["a"]), "a", None, {"a": [1]}])
def test_other_containers_hold_no_codes(values):
    assert coded(values) is None
