"""Fairlearn: from a MetricFrame to lightfair and back.

A MetricFrame needs every label, so it is made from the labeled rows. `assess` takes the same
columns with all rows, and scores. If decisions are not `score >= threshold`, pass them as `y_pred`.
"""

from __future__ import annotations

import pytest

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.slow


def metric_frame(label, score, sex):
    fairlearn = pytest.importorskip("fairlearn.metrics")
    return fairlearn.MetricFrame(
        metrics={"tpr": fairlearn.true_positive_rate, "fpr": fairlearn.false_positive_rate},
        y_true=label,
        y_pred=score >= 0.5,
        sensitive_features=pandas.Series(sex, name="sex"),
    )


def by_group(result):
    """The posterior means in the form of `MetricFrame.by_group`."""
    numbers = result.to_dataframe("pandas")
    rows = numbers[(numbers.quantity == "metric") & (numbers.method == "lightfair")]
    table = rows.pivot(index="group", columns="metric", values="estimate")
    return table.rename_axis(index="sex", columns=None)[["tpr", "fpr"]]


def test_there_and_back(frame, result):
    known = frame.dropna(subset=["label"])
    labels_only = metric_frame(known["label"], known["score"], known["sex"]).by_group
    both = pandas.concat({"labels only": labels_only, "lightfair": by_group(result)}, axis=1)
    assert both.round(2).to_numpy().tolist() == [[0.62, 0.17, 0.65, 0.19], [0.73, 0.29, 0.75, 0.27]]
