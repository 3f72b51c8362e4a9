"""Labels: the meaning of each value, and the rules on all of them."""

from __future__ import annotations

import numpy as np
import pytest

from lightfair.core.data.labels import Labels
from lightfair.core.data.rows import score_data

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
    ],
)
def test_labels(y, options, label):
    for column in (y, np.array(y, dtype=object)):
        assert labels_of(column, **options) == label


AMBIGUOUS = "only -1 and 1, .* positive_label=1 for the first or unlabeled=-1 for the second"


@pytest.mark.parametrize(
    "y, options, message",
    [
        ([-1, 1, 1, -1], {}, AMBIGUOUS),
        (["-1", "1", "1", "-1"], {}, AMBIGUOUS),
        ([-1, 1, 1, 0], {"unlabeled": 9}, "3 values: -1, 0, 1; .* unlabeled="),
        ([1, 2, 1, 2], {}, "got 1, 2; pass positive_label="),
        (["1", "0", "nan", "0"], {}, "got 3 values: 'nan', 0, 1; .* unlabeled="),
        ([0, 1, 2, 3, 4, 5, 6], {}, r"7 values: 0, 1, 2, 3, 4, \.\.\.;"),
        (list("yyyn"), {"positive_label": "x"}, "got 'x', y_true holds 'n', 'y'; "),
        (list("nnnn"), {"positive_label": "y"}, "got 'y', y_true holds 'n'; .* labels 0 and 1"),
        ([0, 1, 2, 2], {"positive_label": 2, "unlabeled": [2]}, "must differ; got 2 in both"),
        ([1, 0, [1], 0], {}, r"plain values; got \[1\] at row 2"),
        ({1: 0}, {}, "row order; got dict"),
        (5, {}, "array or column; got int"),
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
