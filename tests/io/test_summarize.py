"""Summaries: chunks of any size give the table, and the errors, of all rows in one piece."""

from __future__ import annotations

import importlib
import tracemalloc

import numpy as np
import pytest
from tables import assert_same

import lightfair as lf

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


def case(seed):
    """Random rows, often invalid: columns, features, options, columns of options, clip."""
    rng = np.random.default_rng(seed)
    count = int(rng.choice([1, 3, 8, 20, 4000], p=[0.1, 0.2, 0.2, 0.3, 0.2]))

    def some(values, p=None):
        return [values[i] for i in rng.choice(len(values), count, p=p)]

    def one(*values):
        return values[rng.integers(len(values))]

    columns = {"y": some(one(*LABELS))}
    columns["s"] = one(rng.random(count), rng.integers(0, 11, count) / 10)
    columns["g"] = some(["x", "y", "z", None], p=[0.5, 0.35, 0.1, 0.05])
    columns["h"] = some(["1", "2", "missing", ""], p=[0.5, 0.35, 0.1, 0.05])
    columns["w"] = rng.integers(0, 3, count).astype(float)
    columns["p"] = rng.integers(0, 2, count)
    options = {"missing": one("drop", "group", "drop", "group", "raise")}
    options["positive_label"] = one(*[None] * 8, 1, "yes", 0, -1)
    options["unlabeled"] = one(*[None] * 12, -1, 2, "no")
    names = {"sample_weight": "w"} if rng.random() < 0.3 else {}
    if rng.random() < 0.2:
        names["y_pred"] = "p"
    else:
        cuts = {"x": 0.4, "y": 0.5, "z": 0.6}, {"x": 0.5, "y": 0.5}
        options["threshold"] = one(0.5, 0.5, 0.5, 0.5, 0.5, 0.3, *cuts)
    clip = one(0.01, 0.2, 0.01, 0.2, 0.0)
    features = one(["g"], ["g", "h"])
    columns["c"] = rng.integers(0, count // 3 + 2, count)
    names |= {"cluster": "c"} if rng.random() < 0.4 else {}
    columns["q"] = rng.uniform(0.1, 1.0, count)
    names |= {"label_prob": "q"} if rng.random() < 0.4 else {}
    if "y_pred" not in names and rng.random() < 0.3:
        options["threshold"] = [0.5, 0.3, 0.7]
    return columns, features, options, names, clip


def outcome(make):
    try:
        return make()
    except ValueError as error:
        return str(error)


def whole(columns, features, options, names, clip):
    groups = {name: columns[name] for name in features}
    given = {argument: columns[name] for argument, name in names.items()}
    data = lf.score_data(columns["y"], columns["s"], sensitive_features=groups, **given, **options)
    return lf.score_table(data, clip=clip)


def test_chunks_of_any_size_give_the_whole():
    errors = [check_chunks(seed) for seed in range(60)]
    assert 12 < sum(errors) < 48


def check_chunks(seed):
    columns, features, options, names, clip = case(seed)
    expected = outcome(lambda: whole(columns, features, options, names, clip))
    count = len(columns["y"])
    for size in (1 if count < 100 else 331, 7 if count < 100 else 999, count):
        chunks = cut(columns, size)
        got = outcome(lambda c=chunks: summarize(c, features, clip=clip, **names, **options))
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


NOTHING = {"y": [], "s": [], "g": []}


def test_chunks_without_rows_add_nothing():
    some = {"y": [1, 0, None], "s": [0.2, 0.7, 0.4], "g": ["a", "b", "a"]}
    assert_same(summarize([NOTHING, some, NOTHING]), summarize([some]))
    with pytest.raises(ValueError, match="^y_score must lie in"):  # a chunk has no name to begin
        summarize([some, {**some, "s": [0.2, 0.7, 4]}])


def test_names_in_two_chunks():
    chunks = [
        {"y": [1], "s": [0.5], "p": ["a, b"], "q": ["c"], "g": [1]},
        {"y": [0], "s": [0.5], "p": ["a"], "q": ["b, c"], "g": ["1"]},
    ]
    with pytest.raises(ValueError, match="two groups 'a, b, c'; rename"):
        summarize(chunks, ("p", "q"))
    assert summarize(chunks).groups == ("1",)
    chunks[1]["g"] = [1.0]
    columns = {"y": [1, 0], "s": [0.5] * 2, "g": [1, 1.0]}
    assert summarize(chunks).counts == whole(columns, ["g"], {}, {}, 0.01).counts


@pytest.mark.parametrize(
    "column, values, message",
    [
        ("y", np.arange, "must hold two classes; got 20 values"),
        ("g", lambda *at: [*range(*at)], "at most 50 numbers; got 60 in g"),
        ("g", lambda *at: [f"store {k}" for k in range(*at)], "at most 200 groups; got 220; merge"),
    ],
)
def test_what_has_too_many_values_is_not_read_to_the_end(column, values, message):
    def chunks():
        for k in range(0, 240, 20):
            yield {"y": [None] * 20, "s": [0.5] * 20, "g": ["a"] * 20, column: values(k, k + 20)}
        raise AssertionError("read to the end")

    with pytest.raises(ValueError, match=message):
        summarize(chunks())


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "iterator"])
def test_frames(library, rows, tmp_path):
    score = rows.y_score.round(3)  # pandas reads few digits exactly
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"y": rows.y_true, "s": score, "g": rows.group})
    chunks = [frame[:150], frame[150:]]
    if library == "polars":
        chunks = map(pytest.importorskip("polars").from_pandas, chunks)
    if library == "pyarrow":
        chunks = pytest.importorskip("pyarrow").Table.from_pandas(frame).to_batches(150)
    if library == "iterator":
        frame.astype({"y": "Int64"}).to_csv(tmp_path / "rows.csv", index=False)
        chunks = pandas.read_csv(tmp_path / "rows.csv", chunksize=150)
    columns = {"y": rows.y_true, "s": score, "g": rows.group}
    assert_same(summarize(chunks), whole(columns, ["g"], {}, {}, 0.01))


SCORES, DECISIONS = {"y_score": "s"}, {"y_pred": "d"}


@pytest.mark.parametrize("names", [SCORES, DECISIONS, SCORES | DECISIONS])
@pytest.mark.parametrize("positive", [None, True, 1, "True"])
def test_every_door_reads_the_same(names, positive, tmp_path):
    """Bools, whole numbers with .0, rounding at the border, decisions alone."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "y": pandas.array(rng.choice([True, False, None], 90), dtype="boolean"),
            "s": rng.choice([1.0000000000000002, -1.3e-17, 0.25, 0.7], 90),
            "d": rng.random(90) < 0.4,
            "g": rng.choice([1.0, 2.0], 90),
        }
    )
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    text = (tmp_path / "a.csv").read_text().replace("True", "TRUE").replace(".0,", ",")
    (tmp_path / "r.csv").write_text(text.replace("False", "FALSE").replace(",,", ",NA,"))
    options = {"y_true": "y", "sensitive_features": "g", "positive_label": positive, **names}
    sources = (tmp_path / "a.parquet", tmp_path / "a.csv", tmp_path / "r.csv", frame)
    tables = [lf.summarize(source, **options) for source in sources]
    given = {role: frame[name] for role, name in names.items()}
    given |= {"sensitive_features": {"g": frame["g"]}, "positive_label": positive}
    result = lf.assess(frame["y"], metrics=["tpr", "auc"], draws=4, warmup=9, **given)
    assert tables[0].groups == ("1", "2") and (tables[0] + tables[1]).groups == ("1", "2")
    for table in (*tables[1:], result.table):
        assert_same(table, tables[0])
    assert ("y_score" in names) == tables[0].scored == (result.metric("auc", 1).reason is None)
    if "y_score" not in names:
        assert result.metric("auc", "1").reason == "there are no scores"
        assert result.metric("auc").reason == "there are no scores"  # of all rows together
        assert "no_scores" in [note.code for note in result.warnings]
        assert "no scores: a rate of positives for each decision" in str(result)
        assert "each decision has a rate of positives" in result.to_markdown()
        assert result.metric("tpr", 1.0).reason is None
        with pytest.raises(ValueError, match="thresholds need scores"):
            result.thresholds("all")
        with pytest.raises(ValueError, match="thresholds need scores"):
            lf.find_threshold(result, "tpr")


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("other", [[2.0, None, 10.0], [2.0, None, 3.0]])
def test_columns_that_occur_twice(stored, other, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    columns = [[1, 0, None], [0.9, 0.2, 0.3], [2.0, None, 10.0], other]
    source = arrow.table([*map(arrow.array, columns)], names=[*"ysgg"])
    if stored:
        importlib.import_module("pyarrow.parquet").write_table(source, tmp_path / "rows")
        source = tmp_path / "rows"
    if other == columns[2]:
        assert summarize(source, missing="group").groups == ("2", "10", "missing")
    else:
        with pytest.raises(ValueError, match="more than one column g, which differ; rename"):
            summarize(source, missing="group")


def test_bins_in_chunks():
    """Quartiles are those of all rows, also if the rows are sorted."""
    chunks = [{"y": [1] * 4, "s": [0.5] * 4, "g": [*age]} for age in ([1, 2, 3, 4], [5, 6, 7, 8])]
    table = summarize(iter(chunks), bins={"g": 4})
    assert table.groups == ("below 3", "3 to 5", "5 to 7", "7 or more")
    assert table.sums("rows").sum(axis=(1, 2)).tolist() == [2, 2, 2, 2]
    assert_same(table, summarize(chunks, bins={"g": [3, 5, 7]}))


@pytest.mark.parametrize(
    "source, options, message",
    [
        ([], {}, "source must hold at least one row; got none"),
        (NOTHING, {}, "at least one row; got none"),
        ([NOTHING, NOTHING], {}, "at least one row; got none"),
        ([{"y": [1], "s": [0.5]}], {}, "a chunk has no column g; its columns are y, s"),
        ([{"y": [1], "s": [0.5, 0.6], "g": ["a"]}], {}, "must have the same length; got 1 and 2"),
        ([[1, 2]], {}, "source must be a path, .* a frame or mapping .*; got list"),
        (5, {}, "source must be a path, .* or an iterable of these; got int"),
        ([good()], {"y_score": 3}, "y_score must name a column by text; got 3"),
        ([good()], {"chunk_rows": 0}, "chunk_rows must be a whole number of at least 1; got 0"),
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
