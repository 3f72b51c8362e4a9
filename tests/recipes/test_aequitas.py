"""Aequitas: from its data frame to lightfair and back.

Its data frame has the columns score, label_value and one per attribute. The same columns, with all
rows, go to `assess`; posterior means replace its metrics, so that its bias and plots use them.
"""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow
METRICS = {"tpr": "tpr", "fpr": "fpr"}  # name in lightfair.metrics: column of Aequitas


def test_there_and_back(frame, of_groups):
    Group = pytest.importorskip("aequitas.group").Group
    known = frame.rename(columns={"label": "label_value"}).dropna(subset=["label_value"])
    crosstab, _ = Group().get_crosstabs(
        known.astype({"label_value": int}), attr_cols=["sex"], score_thresholds={"score_val": [0.5]}
    )
    better = crosstab.copy()
    for metric, column in METRICS.items():
        means = of_groups[of_groups.metric == metric].set_index("group")["estimate"]
        better[column] = better["attribute_value"].map(means)
    columns = ["attribute_value", "tpr", "fpr"]
    assert better[columns].round(2).values.tolist() == [["A", 0.65, 0.19], ["B", 0.76, 0.27]]
