"""Rows: fields of the result, scores, weights, decisions and thresholds, by table."""

from __future__ import annotations

import numpy as np
import pytest

from lightfair.core.data.rows import RowReader, score_data
from lightfair.core.data.table import score_table

Y = [1, 0, None, 1]
S = [0.9, 0.2, 0.5, 0.4]
G = ["b", "a", "a", "b"]
NAN, INF = float("nan"), float("inf")


def read(y=Y, s=S, g=G, **options):
    return score_data(y, s, sensitive_features=g, **options)


def codes(data):
    return [note.code for note in data.notes]


def test_fields():
    s = np.array(S)
    data = read(s=s, sample_weight=[1, 2, 0, 3])
    s[0] = 0.0  # the result is a copy
    assert [data.label.dtype, data.score.dtype, data.group.dtype] == [np.int8, np.float64, np.int32]
    assert [data.predicted.dtype, data.weight.dtype] == [np.bool_, np.float64]
    assert data.label.tolist() == [1, 0, -1, 1]
    assert data.score.tolist() == S
    assert data.group.tolist() == [1, 0, 0, 1]
    assert data.predicted.tolist() == [True, False, True, False]
    assert data.weight.tolist() == [1, 2, 0, 3]
    assert (data.groups, data.attributes, data.parts) == (("a", "b"), ("group",), (("a",), ("b",)))
    assert (data.empty_groups, data.threshold, codes(data)) == ((), 0.5, ["ties_with_threshold"])


def test_chunks_are_read_as_the_whole():
    """Rows are numbered from the first of the file, and dropped rows have no number."""
    reader = RowReader(missing="drop", threshold={"a": 0.4, "b": 0.5})
    chunk = reader.read([1, 0, 1], [0.9, 0.5, 0.4], ["a", None, "a"], first=10)
    assert chunk.row.tolist() == [10, 12] and chunk.data.predicted.tolist() == [True, True]
    with pytest.raises(ValueError, match="got 2 at row 13"):
        reader.read([1], [2.0], ["b"], first=13)
    with pytest.raises(ValueError, match="threshold must name .*missing or unknown: 'c'"):
        reader.finish((("a",), ("b",), ("c",)))
    threshold, counts = reader.finish((("a",), ("b",)))
    assert threshold == {"a": 0.4, "b": 0.5}
    assert (counts.dropped, counts.ties) == (1, 1)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_ties_are_those_of_the_precision_of_the_scores(dtype):
    data = read([1, 0], np.array([0.7, 0.1], dtype), ["a", "a"], threshold=0.7)
    assert data.predicted.tolist() == [True, False]
    assert codes(data) == ["ties_with_threshold"]
    several = read([1, 0, 1], np.array([0.1, 0.3, 0.7], dtype), [*"aab"], threshold=[0.5, 0.3, 0.7])
    assert several.band.tolist() == [0, 1, 3]


@pytest.mark.parametrize(
    "s, message",
    [
        ([0.1, None, 0.3, NAN], r"y_score has 2 missing values \(rows 1, 3\)"),
        ([0.1, 0.2, 1.7, 0.3], r"y_score must lie in \[0, 1\], .*; got 1.7 at row 2; pass prob"),
        ([0.1, -2, 1.7, 0.3], r"got -2 at row 1 \(and in 1 more\); .* log odds .*1 / \(1 \+ exp"),
        ([1, 5, 10, 7], r"got 5 at row 1 \(and in 2 more\); .* like deciles; pass \(score"),
        ([0.4, 99.0, 12.5, 50], "they look like percentages; pass score / 100"),
        ([0.1, 0.2, 0.3, np.inf], "got inf at row 3"),
        (["0.1", "0,1", "12%", "0_1"], r"got '0,1' at row 1 \(and in 2 more\); pass prob"),
        ([True] * 4, r"got True at row 0 \(and in 3 more\); .* decisions as y_pred"),
        (np.zeros(4, "M8[D]"), "got 1970-01-01 at row 0"),
        (np.ones((4, 2)), r"y_score\[:, 1\]"),
        (None, "array or column in row order; got NoneType"),
    ],
)
def test_bad_scores(s, message):
    with pytest.raises(ValueError, match=message):
        read(s=s)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"s": S[:3]}, "y_true and y_score must have the same length; got 4 and 3 rows"),
        ({"g": {"x": G, "y": G[:3]}}, r"y_true and sensitive_features\['y'\] must .* 4 and 3"),
        ({"y_pred": [1]}, "y_true and y_pred must .* got 4 and 1"),
        ({"y": [], "s": [], "g": []}, "at least one row; got 0 rows"),
        ({"missing": "ignore"}, "missing must be .* got 'ignore'"),
    ],
)
def test_lengths_and_options(arguments, message):
    with pytest.raises(ValueError, match=message):
        read(**arguments)


SEX = ["x", "y", "x", "x"]
RACE = [1, 2, 2, 1]
OF_CROSSED = {("x", 1): 0.4, "x, 2": 0.6, ("y", 2): 0.1, ("y", 1): 0.5}


@pytest.mark.parametrize(
    "g, threshold, kept, predicted",
    [
        (G, 0.4, 0.4, [1, 0, 1, 1]),
        (G, [0.4, 0.2], 0.4, [1, 0, 1, 1]),
        (G, {"a": 0.2, "b": 0.9}, {"a": 0.2, "b": 0.9}, [1, 1, 1, 0]),
        ([2, 1.0, 1, 2], {1: 0.3, 2.0: 0.95}, {"1": 0.3, "2": 0.95}, [0, 0, 1, 0]),
        ([SEX, RACE], OF_CROSSED, {"x, 1": 0.4, "x, 2": 0.6, "y, 2": 0.1}, [1, 1, 0, 1]),
    ],
)
def test_threshold(g, threshold, kept, predicted):
    data = read(g=g, threshold=threshold)
    assert data.threshold == kept
    assert data.predicted.tolist() == [bool(value) for value in predicted]


def test_ties_are_positive_and_counted():
    data = read(s=[0.5, 0.5, 0.4, 0.6])
    assert data.predicted.tolist() == [True, True, False, True]
    assert "counted as positive: 2; a threshold just above" in data.notes[0].message
    assert codes(read(threshold=0.3)) == []


CODINGS = [[1, 0, 1, 0], [True, False, True, False], [1.0, 0, 1, 0], ["1", "0", "1.0", "0"]]
CODINGS += [["TRUE", "FALSE", "true", "False"], ["yes", "No", "YES", "no"]]


@pytest.mark.parametrize("y_pred", CODINGS)
def test_decisions(y_pred):
    for given in (y_pred, np.array(y_pred, dtype=object), np.array(y_pred)[:, None]):
        data = read(y_pred=given)
        assert data.predicted.tolist() == [True, False, True, False]
        assert data.threshold is None and data.notes == ()
    g = ["a", None, "b", "b"]
    assert read(g=g, y_pred=y_pred, missing="drop").predicted.tolist() == [True, True, False]
    words = read(["AI", "Human", None, "AI"], y_pred=y_pred, positive_label="AI")
    assert words.predicted.tolist() == [True, False, True, False]


@pytest.mark.parametrize("other, positive", [("Human", "AI"), ("yes", "no"), (1, 2), (-1, 1)])
def test_decisions_coded_as_labels(other, positive):
    data = read(
        [positive, other, None, other], y_pred=[positive, other] * 2, positive_label=positive
    )
    assert data.predicted.tolist() == [True, False, True, False]
    assert data.label.tolist() == [1, 0, -1, 0]


def test_decisions_take_the_place_of_scores():
    data = read(s=None, y_pred=[1, 0, 1, 0])
    assert data.score.tolist() == [0.75, 0.25, 0.75, 0.25]
    table = score_table(data, clip=0.25)
    assert not table.scored and table.clipped == 0
    assert score_table(data).scored and score_table(read(y_pred=[1, 0, 1, 0]), clip=0.25).scored


AGE = [17, 25.0, "64", 65]


@pytest.mark.parametrize(
    "age, edges, names",
    [
        (AGE, [25, 65], ["below 25", "25 to 65", "25 to 65", "65 or more"]),
        (np.array([17, 25, 64, 65]), (40.5,), ["below 40.5"] * 2 + ["40.5 or more"] * 2),
        (AGE, 2, ["below 64"] * 2 + ["64 or more"] * 2),
        ([3, 3, 3, 3], 4, ["3 or more"] * 4),
    ],
)
def test_bins(age, edges, names):
    data = read(g={"age": age, "sex": SEX}, bins={"age": edges})
    assert [data.parts[at] for at in data.group] == list(zip(names, SEX, strict=True))
    missing = read(g={"age": [None, *age[1:]]}, bins={"age": edges}, missing="group")
    assert missing.groups[missing.group[0]] == "missing"


@pytest.mark.parametrize(
    "bins, message",
    [
        ({"age": [5, 3]}, "bins of age must be rising numbers, or .* from 2 to 20; got"),
        ({"age": 1}, "got 1"),
        ({"age": []}, "bins of age must be"),
        ({"age": "x"}, "bins of age must be .* got 'x'"),
        ({"age": [3, NAN]}, "bins of age must be"),
        ({"age": [INF]}, "bins of age must be"),
        ({"age": [[1, 2]]}, "bins of age must be"),
        (4, r'bins must name attributes, as bins=\{"age": \[25, 45\]\} or .* got 4'),
        ([1, 2], "bins must name attributes, as"),
        ({"sex": [1]}, "bins of sex need an attribute of numbers; got 'x'"),
        ({"race": 4}, "bins must name attributes, 'age', 'sex'; got 'race'"),
    ],
)
def test_bad_bins(bins, message):
    with pytest.raises(ValueError, match=message):
        read(g={"age": [1, 2, 3, 4], "sex": SEX}, bins=bins)


def test_text_of_numbers_is_numbers():
    data = read(s=["0.9", " .2", "5e-1", 0.4], sample_weight=["1", "2", "0.5", "4"])
    assert (data.score.tolist(), data.weight.tolist()) == (S, [1, 2, 0.5, 4])


def test_rounding_at_the_ends_is_no_error():
    data = read(s=[1.0000000000000002, -1.3e-17, np.float32(1.0000001), 0.5])
    assert data.score.tolist() == [1.0, 0.0, 1.0, 0.5] and score_table(data).clipped == 3
    with pytest.raises(ValueError, match="got 1.01 at row 0"):
        read(s=[1.01, 0.5, 0.5, 0.5])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"threshold": 0}, r"threshold must be a number in \(0, 1\), .* got 0"),
        ({"threshold": True}, "got True"),
        ({"threshold": "all"}, "got 'all'"),
        ({"threshold": {"a": 0.5}}, "name 'a', 'b', and no other; missing or unknown: 'b'"),
        ({"threshold": {"a": 0.5, "b": 5}}, "threshold of 'b' must be .* got 5"),
        ({"threshold": {"a": 0.5, ("a",): 0.5}}, "each group once; got 'a', 'a'"),
        ({"threshold": []}, "1 to 256 numbers, each once; got 0"),
        ({"threshold": [0.3, 0.3]}, "each once; got 2: 0.3, 0.3"),
        ({"threshold": [0.3, 1.0]}, r"threshold\[1\] must be .* without ends; got 1"),
        ({"threshold": np.arange(1, 300) / 300}, 'each once; got 299: .*; pass "all"'),
        ({"y_pred": [1, 0, 1, 0], "threshold": 0.4}, "threshold must be left out with y_pred"),
        ({"y_pred": [1, 0, None, 0]}, r"y_pred has 1 missing value \(row 2\)"),
        ({"y_pred": [1, 0, 2, 0]}, "y_pred must hold 0 and 1, or classes; got 2 at row 2; recode"),
        ({"y_pred": [*"xyzx"], "positive_label": "x"}, "got 'z' at row 2"),
        ({"y_pred": [1, 0, 1, 0], "positive_label": 0}, "got 1 at row 0; recode it, or"),
        ({"y_pred": [1, 0, 1, 0], "positive_label": 2}, "got 0 at row 1; recode it, or"),
        ({"sample_weight": [1, -1, 1, 1]}, "sample_weight must be 0 or lie in .* got -1 at row 1"),
        ({"sample_weight": [1, None, 1, 1]}, r"sample_weight has 1 missing value \(row 1\)"),
        ({"sample_weight": [1, 1, 1e-101, 1]}, "got 1e-101 at row 2; .* by one factor"),
        ({"sample_weight": [1, 0, 0, 1]}, "must not be 0 in all rows of 'a'"),
    ],
)
def test_bad_decisions_and_weights(options, message):
    with pytest.raises(ValueError, match=message):
        read(**options)
