"""Summaries: chunks of any size give the table, and the errors, of all rows in one piece."""

from __future__ import annotations

import tracemalloc

import engines
import numpy as np
import pytest

import lightfair as lf
from lightfair.io import summarize as summary

LABELS = [
    [1, 0, None],
    [1, 0, -1, None],
    [-1, 1],
    [-1, 1, None],
    ["1", "0", ""],
    ["yes", "no", None],
    ["-1", "yes"],
    ["-1", "yes", "no"],
    [1, 0, 2],
    [True, False, None],
    [-1],
    [None],
]


def summarize(chunks, features=("g",), **options):
    options = {"y_true": "y", "y_score": "s", **options}
    return lf.summarize(chunks, sensitive_features=list(features), **options)


def cut(columns, size):
    """Rows in chunks of a size."""
    count = len(columns["y"])
    for at in range(0, count, size):
        yield {name: column[at : at + size] for name, column in columns.items()}


def assert_same(one, two):
    engines.assert_same(one, two)
    assert one.notes == two.notes


def case(seed):
    """Random rows, often invalid: columns, features, options, further columns, clip."""
    rng = np.random.default_rng(seed)
    count = int(rng.choice([1, 3, 8, 20, 4000], p=[0.1, 0.2, 0.2, 0.3, 0.2]))
    values = LABELS[rng.integers(len(LABELS))]
    columns = {"y": [values[i] for i in rng.integers(0, len(values), count)]}
    fine = rng.random(count)
    columns["s"] = fine if rng.random() < 0.5 else rng.integers(0, 11, count) / 10
    levels = {"g": ["x", "y", "z", None]}
    if rng.random() < 0.5:
        levels["h"] = ["1", "2", "missing", ""]
    for name, some in levels.items():
        columns[name] = [some[i] for i in rng.choice(4, count, p=[0.5, 0.35, 0.1, 0.05])]
    options = {"missing": rng.choice(["drop", "group", "raise"])}
    if rng.random() < 0.3:
        options["positive_label"] = [1, "yes", 0, -1][rng.integers(4)]
    if rng.random() < 0.2:
        options["unlabeled"] = [-1, 2, "no"][rng.integers(3)]
    given = {}
    if rng.random() < 0.3:
        given["sample_weight"] = columns["w"] = rng.integers(0, 3, count).astype(float)
    if rng.random() < 0.2:
        given["y_pred"] = columns["p"] = rng.integers(0, 2, count)
    elif rng.random() < 0.3:
        cuts = [0.3, {"x": 0.4, "y": 0.5, "z": 0.6}, {"x": 0.5, "y": 0.5}]
        options["threshold"] = cuts[rng.integers(3)]
    return columns, list(levels), options, given, [0.01, 0.2, 0.0][rng.integers(3)]


def outcome(make):
    try:
        return make()
    except ValueError as error:
        return str(error)


def whole(columns, features, options, given, clip):
    groups = {name: columns[name] for name in features}
    data = lf.score_data(columns["y"], columns["s"], sensitive_features=groups, **given, **options)
    return lf.score_table(data, clip=clip)


def test_chunks_of_any_size_give_the_whole():
    errors = [check_chunks(seed) for seed in range(60)]
    assert 12 < sum(errors) < 48


def check_chunks(seed):
    columns, features, options, given, clip = case(seed)
    names = {"sample_weight": "w", "y_pred": "p"}
    names = {name: column for name, column in names.items() if name in given}
    expected = outcome(lambda: whole(columns, features, options, given, clip))
    count = len(columns["y"])
    for size in (1 if count < 100 else 331, 7 if count < 100 else 999, count):
        got = outcome(
            lambda size=size: summarize(cut(columns, size), features, clip=clip, **names, **options)
        )
        assert isinstance(got, str) == isinstance(expected, str), got
        if not isinstance(expected, str):  # of several errors another may come first
            assert_same(got, expected)
    return isinstance(expected, str)


def good(count=20):
    rng = np.random.default_rng(1)
    return {
        "y": [[1, 0, None][i] for i in rng.integers(0, 3, count)],
        "s": rng.random(count).tolist(),
        "g": [["a", "b"][i] for i in rng.integers(0, 2, count)],
        "w": [1.0] * count,
        "d": [1] * count,
    }


def spoilt(**places):
    columns = good()
    for name, value in places.items():
        columns[name[0]][int(name[1:])] = value
    return columns


ONE_FAULT = [
    (spoilt(s17=1.5), {}, True),
    (spoilt(s17="x"), {}, True),
    (spoilt(g17=None), {}, True),
    (spoilt(w17=-1.0), {"sample_weight": "w"}, True),
    (spoilt(d17=3), {"y_pred": "d"}, True),
    (spoilt(s17=1.0), {"clip": 0.0}, True),
    (spoilt(y0="no", y17="yes"), {}, False),
    (spoilt(y3=7), {}, False),
    (good(), {"positive_label": "yes"}, False),
    ({**good(), "w": [float(g == "a") for g in good()["g"]]}, {"sample_weight": "w"}, False),
    (good(), {"threshold": {"a": 0.5}}, False),
    ({**good(), "g": [None] * 20}, {"missing": "drop"}, False),
    (spoilt(g17=None, g3="missing"), {"missing": "group"}, False),
    ({**good(), "y": [-1, 1] * 10}, {}, False),
]


@pytest.mark.parametrize("columns, options, of_a_row", ONE_FAULT)
def test_the_errors_are_those_of_the_whole(columns, options, of_a_row):
    given = dict(options)
    extra = {
        name: columns[given.pop(name)] for name in ("sample_weight", "y_pred") if name in options
    }
    clip = given.pop("clip", 0.01)
    with pytest.raises(ValueError) as expected:
        whole(columns, ["g"], given, extra, clip)
    assert not of_a_row or "row 17" in str(expected.value)
    for size in (1, 7, 20):
        with pytest.raises(ValueError) as got:
            summarize(cut(columns, size), **options)
        assert str(got.value)[:6] == str(expected.value)[:6]
        assert ("row 17" in str(got.value)) == ("row 17" in str(expected.value))


def test_chunks_without_rows_add_nothing():
    some = {"y": [1, 0, None], "s": [0.2, 0.7, 0.4], "g": ["a", "b", "a"]}
    none = {name: [] for name in some}
    assert_same(summarize([none, some, none]), summarize([some]))
    for nothing in ([none, none], none):
        with pytest.raises(ValueError, match="source must hold at least one row; got none"):
            summarize(nothing)
    with pytest.raises(ValueError, match="^y_score must lie in"):  # a chunk has no name to begin
        summarize([some, {**some, "s": [0.2, 0.7, 4]}])


def test_two_groups_of_one_name_in_two_chunks():
    chunks = [
        {"y": [1], "s": [0.5], "p": ["a, b"], "q": ["c"]},
        {"y": [0], "s": [0.5], "p": ["a"], "q": ["b, c"]},
    ]
    with pytest.raises(ValueError, match="two groups of one name: 'a, b, c'; rename"):
        summarize(chunks, ("p", "q"))


def test_values_of_one_name_in_two_chunks_are_noted():
    chunks = [{"y": [1], "s": [0.4], "g": [1]}, {"y": [0], "s": [0.4], "g": ["1"]}]
    table = summarize(chunks)
    assert table.groups == ("1",)
    assert table.counts.merged_levels == (("g", ("1",)),)
    chunks = [{"y": [1], "s": [0.4], "g": [1]}, {"y": [0], "s": [0.4], "g": [1.0]}]
    assert (
        summarize(chunks).counts
        == lf.score_table(lf.score_data([1, 0], [0.4] * 2, sensitive_features=[1, 1.0])).counts
    )


def test_a_label_of_many_values_is_not_read_to_the_end():
    def chunks():
        for k in range(10):
            yield {"y": np.arange(500) + 500 * k, "s": np.full(500, 0.5), "g": ["a"] * 500}
        raise AssertionError("read to the end")

    with pytest.raises(ValueError, match="must hold two classes; got 500 values"):
        summarize(chunks())


def test_an_identifier_is_no_attribute(monkeypatch):
    monkeypatch.setattr(summary, "MOST_GROUPS", 50)

    def chunks():
        for k in range(10):
            yield {"y": [None] * 20, "s": [0.5] * 20, "g": range(20 * k, 20 * k + 20)}
        raise AssertionError("read to the end")

    with pytest.raises(ValueError, match="makes more than 50 groups in 60 rows; name columns of"):
        summarize(chunks())


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "one frame", "iterator"])
def test_frames(library, rows, tmp_path):
    score = rows.y_score.round(3)  # pandas reads few digits exactly
    frame = pytest.importorskip("pandas").DataFrame({"y": rows.y_true, "s": score, "g": rows.group})
    chunks = [frame[:150], frame[150:]]
    if library == "polars":
        polars = pytest.importorskip("polars")
        chunks = [polars.from_pandas(chunk) for chunk in chunks]
    if library == "pyarrow":
        arrow = pytest.importorskip("pyarrow")
        chunks = arrow.Table.from_pandas(frame).to_batches(150)
    if library == "one frame":
        chunks = frame
    if library == "iterator":
        path = tmp_path / "rows.csv"
        frame.astype({"y": "Int64"}).to_csv(path, index=False)
        chunks = __import__("pandas").read_csv(path, chunksize=150)
    data = lf.score_data(rows.y_true, score, sensitive_features={"g": rows.group})
    assert_same(summarize(chunks), lf.score_table(data))


@pytest.mark.parametrize(
    "source, options, message",
    [
        ([], {}, "source must hold at least one row; got none"),
        ([{"y": [], "s": [], "g": []}], {}, "at least one row; got none"),
        ([{"y": [1], "s": [0.5]}], {}, "a chunk has no column g; its columns are y, s"),
        ([{"y": [1], "s": [0.5, 0.6], "g": ["a"]}], {}, "must have the same length; got 1 and 2"),
        (
            [[1, 2]],
            {},
            "source must be a path, an open binary file, a frame or mapping .*; got list",
        ),
        (5, {}, "source must be a path, .* or an iterable of these; got int"),
        (b"x.csv", {}, "or an iterable of these; got int"),
        ([good()], {"y_score": "y"}, "y_score: a column has one role; y is y_true, too"),
        ([good()], {"y_score": 3}, "y_score must name a column by text; got 3"),
        ([good()], {"features": ()}, "sensitive_features must name at least one column"),
        ([good()], {"chunk_rows": 0}, "chunk_rows must be a whole number of at least 1; got 0"),
        ([good()], {"chunk_rows": True}, "chunk_rows must be a whole number"),
        ([good()], {"clip": 0.7}, r"clip must lie in \[0, 0.5\); got 0.7"),
        ([good()], {"threshold": 2}, "threshold must be a number in"),
        ([good()], {"y_pred": "d", "threshold": 0.4}, "give y_pred or threshold, not both"),
        ([good()], {"missing": "no"}, 'missing must be "raise", "drop" or "group"; got'),
    ],
)
def test_bad_sources_and_options(source, options, message):
    with pytest.raises(ValueError, match=message):
        summarize(source, **options)


def test_progress_counts_rows():
    seen = []
    summarize(cut(good(), 7), progress=seen.append)
    assert seen == [7, 14, 20]


def test_memory_does_not_grow_with_the_rows():
    def chunks(count):
        rng = np.random.default_rng(2)
        for _ in range(count):
            group = rng.choice(["a", "b"], 4000)
            yield {"y": rng.integers(-1, 2, 4000), "s": rng.random(4000), "g": group}

    peaks = []
    for count in (5, 20, 60):
        tracemalloc.start()
        summarize(chunks(count))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.1 * peaks[1]
