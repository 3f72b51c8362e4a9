"""The only door: each rule by table, each container to the same result."""

from __future__ import annotations

import numpy as np
import pytest

from lightfair.core.data.rows import ScoreData, score_data

Y = [1, 0, None, 1]
S = [0.9, 0.2, 0.5, 0.4]
G = ["b", "a", "a", "b"]
NAN = float("nan")


def door(y=Y, s=S, g=G, **options):
    return score_data(y, s, sensitive_features=g, **options)


def codes(data: ScoreData) -> list[str]:
    return [note.code for note in data.notes]


def test_fields():
    data = door(sample_weight=[1, 2, 0, 3])
    assert [data.label.dtype, data.score.dtype, data.group.dtype] == [np.int8, np.float64, np.int32]
    assert [data.predicted.dtype, data.weight.dtype] == [np.bool_, np.float64]
    assert data.label.tolist() == [1, 0, -1, 1]
    assert data.score.tolist() == S
    assert data.group.tolist() == [1, 0, 0, 1]
    assert data.predicted.tolist() == [True, False, True, False]
    assert data.weight.tolist() == [1, 2, 0, 3]
    assert (data.groups, data.attributes, data.parts) == (("a", "b"), ("group",), (("a",), ("b",)))
    assert (data.empty_groups, data.threshold, codes(data)) == ((), 0.5, ["ties_with_threshold"])


def test_input_is_copied():
    s = np.array(S)
    data = door(s=s)
    s[0] = 0
    assert data.score[0] == 0.9


# Containers (F40, F49): each maker takes a list with None for missing.


def _pandas(kind):
    def make(values, name=""):
        pd = pytest.importorskip("pandas")
        dtypes = {"nullable": {bool: "boolean", int: "Int64", float: "Float64", str: "string"}}
        first = type(next(v for v in values if v is not None))
        dtype = dtypes[kind][first] if kind in dtypes else None if kind == "plain" else kind
        return pd.Series(values, name=name or None, dtype=dtype)

    return make


def _polars(values, name=""):
    return pytest.importorskip("polars").Series(name, values)


def _polars_categorical(values, name=""):
    pl = pytest.importorskip("polars")
    return pl.Series(name, values).cast(pl.Categorical) if isinstance(values[0], str) else values


def _arrow(values, name=""):
    return pytest.importorskip("pyarrow").array(values)


def _chunked(values, name=""):
    return pytest.importorskip("pyarrow").chunked_array([values[:1], values[1:]])


def _dictionary(values, name=""):
    return pytest.importorskip("pyarrow").array(values).dictionary_encode()


def _masked(values, name=""):
    filler = next(v for v in values if v is not None)
    filled = np.array([filler if v is None else v for v in values])
    return np.ma.array(filled, mask=[v is None for v in values])


def _numeric(values, name=""):
    return np.array([NAN if v is None else v for v in values]) if values[0] != "b" else values


MAKERS = {
    "list": lambda values, name="": values,
    "tuple": lambda values, name="": tuple(values),
    "generator": lambda values, name="": (v for v in values),
    "object": lambda values, name="": np.array(values, dtype=object),
    "column": lambda values, name="": np.array(values, dtype=object)[:, None],
    "rows of one": lambda values, name="": np.array(values, dtype=object)[:, None].tolist(),
    "numeric": _numeric,
    "masked": _masked,
    "pandas": _pandas("plain"),
    "pandas object": _pandas("object"),
    "pandas nullable": _pandas("nullable"),
    "pandas category": _pandas("category"),
    "pandas frame": lambda values, name="": _pandas("plain")(values).to_frame(),
    "polars": _polars,
    "polars categorical": _polars_categorical,
    "polars frame": lambda values, name="": _polars(values).to_frame(),
    "arrow": _arrow,
    "arrow chunked": _chunked,
    "arrow dictionary": _dictionary,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("labels", [Y, [True, False, None, True], [1.0, 0.0, None, 1.0]])
def test_every_container_gives_the_same(make, labels):
    group = G if make is MAKERS["rows of one"] else make(G)  # a list of lists is a list of columns
    data, expected = door(make(labels), make(S), group), door()
    for field in ("label", "score", "group", "predicted"):
        np.testing.assert_array_equal(getattr(data, field), getattr(expected, field))
    assert (data.groups, data.notes) == (expected.groups, expected.notes)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize(
    "levels, names",
    [(["b", None, "a", "b"], ("a", "b")), ([2, None, 10, 2], ("10", "2")),
     ([1.5, None, 2.0, 1.5], ("1.5", "2")), ([True, None, False, True], ("False", "True"))],
)  # fmt: skip
def test_missing_groups_are_the_same_in_every_container(make, levels, names):
    """F11: never dropped unasked, never the level "nan"."""
    if make is MAKERS["rows of one"]:
        pytest.skip("a list of lists is a list of columns")
    if isinstance(levels[0], bool) and make is _numeric:
        pytest.skip("a float column holds no booleans")
    with pytest.raises(ValueError, match=r'has 1 missing value \(row 1\); pass missing="drop" or'):
        door(g=make(levels))
    dropped = door(g=make(levels), missing="drop", sample_weight=[1, 2, 3, 4])
    assert dropped.groups == names
    assert dropped.label.tolist() == [1, -1, 1]
    assert dropped.weight.tolist() == [1, 3, 4]
    assert dict(dropped.notes)["dropped_rows"].endswith("missing: 1 (row 1)")
    grouped = door(g=make(levels), missing="group")
    assert grouped.groups == tuple(sorted([*names, "missing"]))
    assert grouped.groups[grouped.group[1]] == "missing"
    assert "missing_as_group" in codes(grouped)


def test_missing_markers():
    pd = pytest.importorskip("pandas")
    markers = [None, NAN, np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), ""]
    n = len(markers) + 2
    with pytest.raises(ValueError, match=r"7 missing values \(rows 2, 3, 4, 5, 6, \.\.\.\)"):
        door([None] * n, [0.1] * n, ["a", "b", *markers])
    assert door([1, 0, *markers], [0.1] * n, ["a"] * n).label.tolist() == [1, 0] + [-1] * 7


def test_float32_and_integer_scores():
    assert door(s=np.float32([0, 0.5, 0.7, 1])).score.tolist() == [0, 0.5, np.float32(0.7), 1]
    assert door(s=[0, 1, 1, 0]).score.tolist() == [0, 1, 1, 0]


def test_integers_above_2_to_the_53_stay_apart():
    pl = pytest.importorskip("polars")
    data = door(g=pl.Series([None, 2**53 + 1, 2**53, 2**53]), missing="drop")
    assert data.groups == (str(2**53), str(2**53 + 1))


# Labels (F07, F21 to F23, F27).


@pytest.mark.parametrize(
    "y, options, label",
    [
        ([1, 0, NAN, -1], {}, [1, 0, -1, -1]),
        ([1.0, 0.0, -1.0, None], {}, [1, 0, -1, -1]),
        ([True, False, -1, None], {}, [1, 0, -1, -1]),
        (["1", "0.0", "", "1.0"], {}, [1, 0, -1, 1]),
        (["1", "0", "-1", "0"], {}, [1, 0, -1, 0]),
        ([-1, 1, 1, -1], {"positive_label": 1}, [0, 1, 1, 0]),
        ([-1, 1, 1, None], {"positive_label": 1}, [0, 1, 1, -1]),
        ([-1, 1, 1, -1], {"positive_label": -1}, [1, 0, 0, 1]),
        ([-1, 1, 1, -1], {"unlabeled": -1}, [-1, 1, 1, -1]),
        ([-1, 1, 1, 9], {"unlabeled": 9, "positive_label": 1}, [0, 1, 1, -1]),
        ([-1, 0, 1, 1], {"positive_label": 1}, [-1, 0, 1, 1]),
        ([9, 1, 0, None], {"unlabeled": 9}, [-1, 1, 0, -1]),
        (["?", "1", "0", "-"], {"unlabeled": ["?", "-", None]}, [-1, 1, 0, -1]),
        (["1", "0", "9", "0"], {"unlabeled": 9}, [1, 0, -1, 0]),
        ([1, 2, -1, 2], {"positive_label": 2}, [0, 1, -1, 1]),
        (["1", "2", "", "2"], {"positive_label": 2}, [0, 1, -1, 1]),
        (["good", "bad", None, -1], {"positive_label": "bad"}, [0, 1, -1, -1]),
        ([1, 0, 0, 1], {"positive_label": 0}, [0, 1, 1, 0]),
        ([0, 0, 0, 0], {"positive_label": 1}, [0, 0, 0, 0]),
        ([None] * 4, {"positive_label": "yes"}, [-1] * 4),
    ],
)
def test_labels(y, options, label):
    for container in (y, np.array(y, dtype=object)):
        assert door(container, **options).label.tolist() == label


@pytest.mark.parametrize("categories", [["yes", "no"], ["no", "yes"], ["no", "yes", "unused"]])
def test_order_of_categories_is_not_a_meaning(categories):
    pd = pytest.importorskip("pandas")
    y = pd.Categorical(["yes", "no", None, "yes"], categories=categories)
    assert door(y, positive_label="yes").label.tolist() == [1, 0, -1, 1]
    with pytest.raises(ValueError, match="got 'no', 'yes'; pass positive_label="):
        door(y)
    group = pd.Categorical(["yes", "no", "no", "yes"], categories=categories)
    assert door(g=group).groups == ("no", "yes")


@pytest.mark.parametrize("y", [[None] * 4, [-1] * 4, [1, 1, NAN, 1]])
def test_none_or_one_class_of_labels_is_legal(y):
    assert codes(door(y)) == ["ties_with_threshold"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ties_are_those_of_the_scores_own_precision(dtype):
    data = (
        score_data([1, 0], np.array([0.7, 0.1], dtype), sensitive_features="aa", threshold=0.7)
        if False
        else score_data(
            [1, 0], np.array([0.7, 0.1], dtype), sensitive_features=["a", "a"], threshold=0.7
        )
    )
    assert data.predicted.tolist() == [True, False]
    assert codes(data) == ["ties_with_threshold"]


AMBIGUOUS = "only -1 and 1, .* positive_label=1 for the first or unlabeled=-1 for the second"


@pytest.mark.parametrize(
    "y, options, message",
    [
        ([-1, 1, 1, -1], {}, AMBIGUOUS),
        ([-1, 1, 1, None], {}, AMBIGUOUS),
        (["-1", "1", "1", "-1"], {}, AMBIGUOUS),
        ([-1, 1, 1, 0], {"unlabeled": 9}, "3 values: -1, 0, 1; .* unlabeled="),
        ([1, 2, 1, 2], {}, "got 1, 2; pass positive_label="),
        (["a"] * 4, {}, "got 'a'; pass positive_label="),
        (["1", "0", "nan", "0"], {}, "got 3 values: '0', '1', 'nan'; .* unlabeled="),
        ([1, 2, 3, 1], {"positive_label": 1}, "got 3 values: 1, 2, 3"),
        (list("yesn"), {"positive_label": "x"}, "got 4 values"),
        (list("yyyn"), {"positive_label": "x"}, "got 'x', y_true holds 'n', 'y'; "),
        (list("nnnn"), {"positive_label": "y"}, "got 'y', y_true holds 'n'; .* labels 0 and 1"),
        ([0] * 4, {"positive_label": 5}, "got 5, y_true holds 0"),
        ([0, 1, 2, 2], {"positive_label": 2, "unlabeled": [2]}, "must differ; got 2 in both"),
        ([1, 0, [1], 0], {}, r"plain values; got \[1\] at row 2"),
        ({1: 0}, {}, "row order; got dict"),
        ({0, 1}, {}, "row order; got set"),
        ("1010", {}, "row order; got str"),
        (5, {}, "array or column; got int"),
        (np.ones((4, 2)), {}, r"y_true must be one column, .* shape \(4, 2\)"),
        (np.array(1), {}, "y_true must be one column"),
        ([[None, []]] * 4, {}, r"y_true must hold plain values; got \[None, \[\]\] at row 0"),
    ],
)
def test_bad_labels(y, options, message):
    with pytest.raises(ValueError, match=message):
        door(y, **options)


def test_many_label_values_are_cut_short():
    with pytest.raises(ValueError, match=r"7 values: 0, 1, 2, 3, 4, \.\.\.;"):
        door(range(7), [0.1] * 7, ["a"] * 7)


# Scores (F08).


@pytest.mark.parametrize(
    "s, message",
    [
        ([0.1, None, 0.3, NAN], r"y_score has 2 missing values \(rows 1, 3\)"),
        ([0.1, 0.2, 1.7, 0.3], r"y_score must lie in \[0, 1\]; got 1.7 at row 2; transform log"),
        ([0.1, -2, 1.7, 0.3], r"got -2 at row 1 \(and in 1 more\); .* percentages"),
        ([0.1, 0.2, 0.3, np.inf], "got inf at row 3"),
        ([0.1, "x", 0.3, 0.4], "got 'x' at row 1; .* text"),
        (["0.1"] * 4, "got '0.1' at row 0"),
        ([True] * 4, "got True at row 0; pass decisions as y_pred="),
        (np.ones(4, bool), "got True at row 0; pass decisions as y_pred="),
        ([None, True, False, True], "got True at row 1; pass decisions as y_pred="),
        ([1j] * 4, "got 1j at row 0"),
        (np.zeros(4, "M8[D]"), "got 1970-01-01 at row 0"),
        (np.ones((4, 2)), r"y_score\[:, 1\]"),
        (np.ones((4, 2)).tolist(), r"y_score\[:, 1\]"),
        (np.ones((4, 3)), r"one column, .* shape \(4, 3\)"),
    ],
)
def test_bad_scores(s, message):
    with pytest.raises(ValueError, match=message):
        door(s=s)


# Lengths and indexes.


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"s": S[:3]}, "y_true and y_score must have the same length; got 4 and 3 rows"),
        ({"g": G[:3]}, "y_true and sensitive_features must .* got 4 and 3"),
        ({"g": {"x": G, "y": G[:3]}}, r"y_true and sensitive_features\['y'\] must .* 4 and 3"),
        ({"g": [("x", 1)] * 4}, r"got 4 and 2 rows; .* columns: pass list\(zip\(\*rows\)\)"),
        ({"y_pred": [1]}, "y_true and y_pred must .* got 4 and 1"),
        ({"sample_weight": [1] * 5}, "y_true and sample_weight must .* got 4 and 5"),
        ({"y": [], "s": [], "g": []}, "at least one row; got 0 rows"),
        ({"missing": "ignore"}, "missing must be .* got 'ignore'"),
    ],
)
def test_lengths_and_options(arguments, message):
    with pytest.raises(ValueError, match=message):
        door(**arguments)


@pytest.mark.parametrize("where", ["y_score", r"sensitive_features\['x'\]", "sample_weight"])
def test_pandas_with_other_indexes(where):
    """F12: rows are paired by position here and by index in pandas, so they must agree."""
    pd = pytest.importorskip("pandas")
    other = [0, 2, 1, 3]
    s = pd.Series(S, index=other if where == "y_score" else None)
    g = pd.DataFrame({"x": G, "y": G}, index=other if "sens" in where else None)
    w = pd.Series([1] * 4, index=other if where == "sample_weight" else None)
    message = rf"y_true and {where} must have the same index; got 1 and 2 at row 1; .*reset_index"
    with pytest.raises(ValueError, match=message):
        door(pd.Series(Y), s, g, sample_weight=w)
    rows = pd.DataFrame({"y": Y, "s": S, "g": G}, index=other)
    assert door(rows["y"], rows["s"], rows["g"]).attributes == ("g",)


# Groups (F14 to F16, F39).

SEX = ["x", "y", "x", "x"]
RACE = [1, 2, 2, 1]


def _frame(library):
    def make():
        module = pytest.importorskip(library)
        return getattr(module, "table" if library == "pyarrow" else "DataFrame")(
            {"sex": SEX, "race": RACE}
        )

    return make


CROSSED = {
    "dict": (lambda: {"sex": SEX, "race": RACE}, ("sex", "race")),
    "dict of arrays": (lambda: {"sex": np.array(SEX), "race": np.float32(RACE)}, ("sex", "race")),
    "list": (lambda: [SEX, RACE], ("group 1", "group 2")),
    "tuple": (lambda: (np.array(SEX), RACE), ("group 1", "group 2")),
    "named": (lambda: [_pandas("plain")(SEX, "sex"), RACE], ("sex", "group 2")),
    "2-D": (lambda: np.array([SEX, RACE], dtype=object).T, ("group 1", "group 2")),
    "2-D text": (lambda: np.array([SEX, RACE]).T, ("group 1", "group 2")),
    "pandas": (_frame("pandas"), ("sex", "race")),
    "polars": (_frame("polars"), ("sex", "race")),
    "arrow": (_frame("pyarrow"), ("sex", "race")),
}


@pytest.mark.parametrize("make, attributes", CROSSED.values(), ids=CROSSED)
def test_crossed_groups(make, attributes):
    data = door(g=make())
    assert data.groups == ("x, 1", "x, 2", "y, 2")
    assert data.parts == (("x", "1"), ("x", "2"), ("y", "2"))
    assert data.group.tolist() == [0, 2, 1, 0]
    assert data.empty_groups == ("y, 1",)
    assert data.attributes == attributes


def test_names():
    assert door(g={"sex": SEX}).attributes == ("sex",)
    assert door(g=_pandas("plain")(SEX, "sex")).attributes == ("sex",)
    assert door(g=_polars(SEX, "sex")).attributes == ("sex",)
    assert door(g=np.array(SEX)[:, None]).attributes == ("group",)
    assert door(g=np.array([b"u", b"v", b"u", b"v"])).groups == ("u", "v")
    assert door(g=np.array([1, 2, 1, 2], "M8[D]")).groups == ("1970-01-02", "1970-01-03")
    pd = pytest.importorskip("pandas")
    times = pd.to_datetime(["2020-01-02"] * 4)
    assert door(g=times).groups == door(g=list(times)).groups == ("2020-01-02 00:00:00",)


def test_values_of_one_name_are_merged_and_said():
    data = door(g=[1, "1", True, 2])
    assert data.groups == ("1", "2", "True")
    assert codes(data) == ["merged_levels", "ties_with_threshold"]


def test_missing_in_crossed_groups():
    race = [1, None, 2, NAN]
    with pytest.raises(ValueError, match=r"has 2 missing values \(race: rows 1, 3\); pass"):
        door(g={"sex": SEX, "race": race})
    dropped = door(g={"sex": SEX, "race": race}, missing="drop")
    assert (dropped.groups, dropped.empty_groups) == (("x, 1", "x, 2"), ())
    grouped = door(g={"sex": SEX, "race": race}, missing="group")
    assert grouped.groups == ("x, 1", "x, 2", "x, missing", "y, missing")
    assert grouped.empty_groups == ("y, 1", "y, 2")


@pytest.mark.parametrize(
    "g, missing, message",
    [
        (["missing", None, "a", "a"], "group", 'already has a level "missing" in group'),
        ([None] * 4, "drop", 'missing in every row; pass missing="group"'),
        ({}, "raise", "at least one column"),
        (np.empty((4, 0)), "raise", "at least one column"),
        ({"p": ["a, b", "a", "c", "c"], "q": ["c", "b, c", "d", "d"]}, "raise", "'a, b, c'"),
        ({1: G, "1": G}, "raise", "distinct names; got '1', '1'"),
        (["a", "b", ["c"], "a"], "raise", r"plain values; got \['c'\] at row 2"),
        ([{"a": 1}] * 4, "raise", "row order; got dict"),
    ],
)
def test_bad_groups(g, missing, message):
    with pytest.raises(ValueError, match=message):
        door(g=g, missing=missing)


def test_real_valued_group():
    """F39."""
    rng = np.random.default_rng(1)
    n = 50
    note = door([None] * n, rng.random(n), {"income": rng.random(n)}).notes[0]
    assert note.code == "real_valued_group"
    assert "income has 50 levels, 50 of them with one row" in note.message
    assert "real_valued_group" in codes(door([None] * n, [0.1] * n, range(n)))
    assert "real_valued_group" not in codes(door(g=[20, 30, 40, 50]))


def test_too_many_empty_groups_are_counted():
    n = 101
    data = door([None] * n, [0.1] * n, [range(n), range(n)])
    assert data.empty_groups == () and len(data.groups) == n
    assert "empty_groups" in codes(data)
    assert f"too many to list: {n * n - n}; " in dict(data.notes)["empty_groups"]


# Decisions and weights (G4: ties).


@pytest.mark.parametrize(
    "g, threshold, kept, predicted",
    [
        (G, 0.4, 0.4, [1, 0, 1, 1]),
        (G, np.float32(0.25), 0.25, [1, 0, 1, 1]),
        (G, {"a": 0.2, "b": 0.9}, {"a": 0.2, "b": 0.9}, [1, 1, 1, 0]),
        ([2, 1.0, 1, 2], {1: 0.3, 2.0: 0.95}, {"1": 0.3, "2": 0.95}, [0, 0, 1, 0]),
        (
            [SEX, RACE],
            {("x", 1): 0.4, "x, 2": 0.6, ("y", 2): 0.1, ("y", 1): 0.5},
            {"x, 1": 0.4, "x, 2": 0.6, "y, 2": 0.1},
            [1, 1, 0, 1],
        ),
    ],
)
def test_threshold(g, threshold, kept, predicted):
    data = door(g=g, threshold=threshold)
    assert data.threshold == kept
    assert data.predicted.tolist() == predicted


def test_ties_are_positive_and_counted():
    data = door(s=[0.5, 0.5, 0.4, 0.6])
    assert data.predicted.tolist() == [True, True, False, True]
    assert "counted as positive: 2; " in data.notes[0].message
    assert codes(door(threshold=0.3)) == []


@pytest.mark.parametrize("y_pred", [[1, 0, 1, 0], [True, False, True, False], [1.0, 0, 1, 0]])
def test_decisions(y_pred):
    for make in (MAKERS["list"], MAKERS["object"], MAKERS["column"]):
        data = door(y_pred=make(y_pred))
        assert data.predicted.tolist() == [True, False, True, False]
        assert data.threshold is None and data.notes == ()
    g = ["a", None, "b", "b"]
    assert door(g=g, y_pred=y_pred, missing="drop").predicted.tolist() == [True, True, False]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"threshold": 0}, r"threshold must be a number in \(0, 1\), .* got 0"),
        ({"threshold": 1.0}, "got 1"),
        ({"threshold": NAN}, "got nan"),
        ({"threshold": True}, "got True"),
        ({"threshold": "0.5"}, "got '0.5'"),
        ({"threshold": None}, "got None"),
        ({"threshold": {"a": 0.5}}, "every group; not given: 'b'; the groups are 'a', 'b'"),
        ({"threshold": {"a": 0.5, "b": 0.5, "c": 0.5}}, "every group; unknown: 'c'"),
        ({"threshold": {"a": 0.5, "b": 5}}, "threshold of 'b' must be .* got 5"),
        ({"threshold": {"a": 0.5, ("a",): 0.5}}, "'a' comes twice"),
        ({"y_pred": [1, 0, 1, 0], "threshold": 0.4}, "y_pred or threshold, not both"),
        ({"y_pred": [1, 0, 1, 0], "threshold": {"a": 0.5}}, "y_pred or threshold, not both"),
        ({"y_pred": [1, 0, None, 0]}, r"y_pred has 1 missing value \(row 2\)"),
        ({"y_pred": [1, 0, 2, 0]}, "y_pred must hold 0 and 1, or bool; got 2 at row 2"),
        ({"y_pred": ["1", "0", "1", "0"]}, "got '1' at row 0; compare it with the positive class"),
        ({"sample_weight": [1, -1, 1, 1]}, "finite and not negative; got -1 at row 1"),
        ({"sample_weight": [1, np.inf, 1, 1]}, "got inf at row 1"),
        ({"sample_weight": [1, None, 1, 1]}, r"sample_weight has 1 missing value \(row 1\)"),
        (
            {"sample_weight": [1, 1e101, 1, 1]},
            "be 0 or lie in .* got 9+.* at row 1; mul",
        ),
        ({"sample_weight": [1, 1, 1e-101, 1]}, "be 0 or lie in .* got 1e-101 at row 2"),
        ({"sample_weight": ["a"] * 4}, "must hold numbers; got 'a' at row 0"),
        ({"sample_weight": [0] * 4}, "positive in some row; all are 0"),
        ({"sample_weight": [1, 0, 0, 1]}, "every group; all are 0 in 'a'"),
    ],
)
def test_bad_decisions_and_weights(options, message):
    with pytest.raises(ValueError, match=message):
        door(**options)


def test_a_threshold_may_be_an_array_of_one_number():
    rows = [0, 1, -1], [0.2, 0.8, 0.4]
    data = score_data(*rows, sensitive_features=list("aab"), threshold=np.array(0.4))
    assert data.threshold == 0.4 and data.predicted.tolist() == [False, True, True]
