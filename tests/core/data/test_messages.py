"""Messages: suggestions, and how numbers are written."""

from __future__ import annotations

import numpy as np
import pytest

from lightfair.core.data import messages
from lightfair.core.data.messages import hint


@pytest.mark.parametrize(
    "name, known, suggestion",
    [
        ("lable", ["id", "label", "score"], "label"),
        ("LABEL", ["id", "label", "score"], "label"),
        ("label-prob", ["label", "label_prob"], "label_prob"),
        ("African American", ["Other", "African-American"], "African-American"),
        ("income", ["id", "label", "score"], None),
        ("x", [], None),
    ],
)
def test_the_most_similar_name_is_suggested(name, known, suggestion):
    expected = "" if suggestion is None else f" (did you mean {suggestion!r}?)"
    assert hint(name, known) == expected


@pytest.mark.parametrize(
    "name, value, text",
    [
        ("number", -0.0004, "0.000"),
        ("number", np.float64(0.1235), "0.123"),
        ("probability", 1.0, ">0.999"),
        ("probability", float("nan"), "-"),
        ("show", "a" * 70, "'" + "a" * 56 + "..."),
        ("visible", "a ", "'a '"),
        ("one_line", "a\nb", "a\\nb"),
        ("list_values", {3, 1, 2, 5, 4, 6}, "1, 2, 3, 4, 5, ..."),
    ],
)
def test_how_values_are_written(name, value, text):
    assert getattr(messages, name)(value) == text
