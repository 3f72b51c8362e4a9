"""Containers of pandas, polars, Arrow and DuckDB: the same rows give the same result in each."""

from __future__ import annotations

import numpy as np
import pytest

import lightfair as lf

Y = [1, 0, None, 1]
S = [0.9, 0.2, 0.5, 0.4]
G = ["b", "a", "a", "b"]
NAN = float("nan")


def read(y=Y, s=S, g=G, **options):
    return lf.score_data(y, s, sensitive_features=g, **options)


def of(library, make):
    """A maker of columns from a list with None for missing; it skips without the library."""
    return lambda values: make(pytest.importorskip(library), values)


def nullable(pandas, values):
    names = {bool: "boolean", int: "Int64", float: "Float64", str: "string"}
    return pandas.Series(values, dtype=names[type(values[0])])


def categorical(polars, values):
    return polars.Series(values).cast(polars.Categorical) if isinstance(values[0], str) else values


def masked(values):
    filled = np.array([values[0] if v is None else v for v in values])
    return np.ma.array(filled, mask=[v is None for v in values])


MAKERS = {
    "tuple": tuple,
    "object": lambda values: np.array(values, dtype=object),
    "column": lambda values: np.array(values, dtype=object)[:, None],
    "masked": masked,
    "pandas": of("pandas", lambda pandas, values: pandas.Series(values)),
    "pandas object": of("pandas", lambda pandas, values: pandas.Series(values, dtype=object)),
    "pandas nullable": of("pandas", nullable),
    "pandas category": of("pandas", lambda pandas, values: pandas.Series(values, dtype="category")),
    "pandas frame": of("pandas", lambda pandas, values: pandas.Series(values).to_frame()),
    "polars": of("polars", lambda polars, values: polars.Series(values)),
    "polars categorical": of("polars", categorical),
    "polars frame": of("polars", lambda polars, values: polars.Series(values).to_frame()),
    "polars lazy": of("polars", lambda polars, values: polars.LazyFrame({"x": values})),
    "duckdb": of("duckdb", lambda duckdb, v: duckdb.sql("select unnest($1) as x", params=[v])),
    "arrow table": of("pyarrow", lambda arrow, values: arrow.table({"x": values})),
    "arrow": of("pyarrow", lambda arrow, values: arrow.array(values)),
    "arrow chunked": of("pyarrow", lambda arrow, v: arrow.chunked_array([v[:1], v[1:]])),
    "arrow dictionary": of("pyarrow", lambda arrow, v: arrow.array(v).dictionary_encode()),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("labels", [Y, [True, False, None, True], [1.0, 0.0, None, 1.0]])
def test_every_container_gives_the_same(make, labels):
    data, expected = read(make(labels), make(S), make(G)), read()
    for field in ("label", "score", "group", "predicted"):
        np.testing.assert_array_equal(getattr(data, field), getattr(expected, field))
    assert (data.groups, data.notes) == (expected.groups, expected.notes)


@pytest.mark.parametrize("library", ["builtins.dict", "pandas.DataFrame", "pyarrow.table"])
def test_columns_of_a_frame_may_be_named(library):
    name, make = library.split(".")
    columns, quick = {"y": Y, "s": S, "g": G, "h": ["u", "u", "v", "v"]}, {"draws": 4, "warmup": 9}
    frame = getattr(pytest.importorskip(name), make)(columns)
    for names in ("g", ["g"], ("g", "h")):
        named = lf.assess("y", "s", sensitive_features=names, frame=frame, **quick).table
        assert named.attributes == tuple(names) and named.labeled == 3
    mixed = lf.assess(Y, "s", sensitive_features={"g": G}, cluster="h", frame=frame, **quick)
    assert mixed.groups == ("a", "b") and mixed.table.clusters is not None
    named = lf.assess("y", "s", sensitive_features={"G": "g"}, frame=frame, **quick)
    assert (named.groups, named.table.attributes) == (("a", "b"), ("G",))
    for options, message in (
        ({"sensitive_features": "G"}, "_features: frame has no column 'G' .*'g'.*; it has"),
        ({"y_pred": "d"}, "y_pred: frame has no column 'd'; it has 'y', 's', 'g', 'h'"),
        ({"frame": 5}, "frame must be a data frame or a dict of columns; got int"),
        ({"frame": None}, "y_true must be a list, .* got str; names of columns need frame="),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            lf.assess("y", "s", **{"sensitive_features": "g", "frame": frame, **options})


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize(
    "levels, names",
    [
        (["b", None, "a", "b"], ("a", "b")),
        ([2, None, 10, 2], ("2", "10")),
        ([1.5, None, 2.0, 1.5], ("1.5", "2")),
        (["1.0", None, "2", "2.00"], ("1", "2")),
        (["01.0", None, "v1.0", "1.5"], ("01.0", "1.5", "v1.0")),
        ([True, None, False, True], ("False", "True")),
    ],
)
def test_missing_groups_are_the_same_in_every_container(make, levels, names):
    """F11: never dropped unasked, never the level "nan"."""
    with pytest.raises(ValueError, match=r'has 1 missing value \(row 1\); pass missing="drop" or'):
        read(g=make(levels))
    assert read(g=make(levels), missing="drop").groups == names
    grouped = read(g=make(levels), missing="group")
    assert sorted(grouped.groups) == sorted([*names, "missing"])
    assert grouped.groups[grouped.group[1]] == "missing"


def test_missing_markers():
    pd = pytest.importorskip("pandas")
    markers = [None, NAN, np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), ""]
    n = len(markers) + 2
    with pytest.raises(ValueError, match=r"7 missing values \(rows 2, 3, 4, 5, 6, \.\.\.\)"):
        read([None] * n, [0.1] * n, ["a", "b", *markers])
    assert read([1, 0, *markers], [0.1] * n, ["a"] * n).label.tolist() == [1, 0] + [-1] * 7


@pytest.mark.parametrize("categories", [["yes", "no"], ["no", "yes"], ["no", "yes", "unused"]])
def test_order_of_categories_is_not_a_meaning(categories):
    pd = pytest.importorskip("pandas")
    y = pd.Categorical(["yes", "no", None, "yes"], categories=categories)
    assert read(y, positive_label="yes").label.tolist() == [1, 0, -1, 1]
    with pytest.raises(ValueError, match="got 'no', 'yes'; or pass positive_label="):
        read(y)
    group = pd.Categorical(["yes", "no", "no", "yes"], categories=categories)
    assert read(g=group).groups == ("no", "yes")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_are_crossed_groups(library):
    module = pytest.importorskip(library)
    frame = getattr(module, "table" if library == "pyarrow" else "DataFrame")
    data = read(g=frame({"sex": ["x", "y", "x", "x"], "race": [1, 2, 2, 1]}))
    assert data.groups == ("x, 1", "x, 2", "y, 2") and data.attributes == ("sex", "race")
    assert data.group.tolist() == [0, 2, 1, 0]


@pytest.mark.parametrize("where", ["y_score", r"sensitive_features\['x'\]", "sample_weight"])
def test_pandas_with_other_indexes(where):
    """F12: rows are paired by position here and by index in pandas, so they must agree."""
    pd = pytest.importorskip("pandas")
    other = [0, 2, 1, 3]
    s = pd.Series(S, index=other if where == "y_score" else None)
    g = pd.DataFrame({"x": G, "y": G}, index=other if "sens" in where else None)
    w = pd.Series([1] * 4, index=other if where == "sample_weight" else None)
    message = rf"y_true and {where} must have the same index; .*reset_index"
    with pytest.raises(ValueError, match=message):
        read(pd.Series(Y), s, g, sample_weight=w)
    rows = pd.DataFrame({"y": Y, "s": S, "g": G}, index=other)
    assert read(rows["y"], rows["s"], rows["g"]).attributes == ("g",)


@pytest.mark.parametrize(
    "values", [["b", "a", None, "b"], [True, False, None], [3, None, 5], [0.5, 1.5, 0.5]]
)
def test_columns_of_arrow_are_read_in_parts_and_slices(values):
    arrow = pytest.importorskip("pyarrow")
    some = [None] * 6, [0.1] * 6
    expected = read(*some, (values * 3)[1:7], missing="group")
    codes = arrow.array(values).dictionary_encode()
    for column in (arrow.chunked_array([codes[1:], codes, codes]), arrow.array(values * 3)[1:]):
        data = read(*some, column[:6], missing="group")
        assert (data.groups, data.group.tolist()) == (expected.groups, expected.group.tolist())


def test_nested_columns_are_errors():
    for column in (pytest.importorskip("pyarrow").array, pytest.importorskip("polars").Series):
        with pytest.raises(ValueError, match=r"must hold plain values; got \[1\] at row 0"):
            read(g=column([[1], [2], [1], [2]]))
