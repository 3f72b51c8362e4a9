"""Which name was likely meant."""

from __future__ import annotations

import pytest

import lightfair.core as lf
from lightfair.core.data.messages import hint
from lightfair.core.metrics.definitions import METRICS, OTHER_WORDS, as_metric


@pytest.mark.parametrize(
    "given, known, meant",
    [
        ("lable", ["id", "label", "score"], "label"),
        ("LABEL", ["id", "label", "score"], "label"),
        ("femal", ["Male", "Female"], "Female"),
        ("--lable", ["--label", "--label-prob"], "--label"),
        ("label-prob", ["label", "label_prob"], "label_prob"),
        ("African American", ["Other", "African-American"], "African-American"),
        ("income", ["id", "label", "score"], None),
        ("x", [], None),
        ("", ["label"], None),
    ],
)
def test_the_nearest_name_is_meant(given, known, meant):
    assert hint(given, known) == ("" if meant is None else f" (did you mean {meant!r}?)")


def test_metrics_are_known_by_other_words():
    assert set(OTHER_WORDS.values()) <= set(METRICS)
    assert not set(OTHER_WORDS) & set(METRICS)
    for word, name in OTHER_WORDS.items():
        with pytest.raises(ValueError, match=rf"unknown metric '{word}' \(did you mean '{name}'"):
            as_metric(word)


def test_groups_and_metrics_of_the_library():
    rows = lf.simulate(200, 40, rng=1)
    y, s, group = rows.y_true, rows.y_score, [f"group {name}" for name in rows.group]
    with pytest.raises(ValueError, match=r"got 'Group_A' \(did you mean 'group A'\?\)"):
        lf.assess(y, s, sensitive_features=group, reference="Group_A")
    with pytest.raises(ValueError, match=r"unknown metric 'tprr' \(did you mean 'tpr'\?\); known"):
        lf.assess(y, s, sensitive_features=group, metrics="tprr")
