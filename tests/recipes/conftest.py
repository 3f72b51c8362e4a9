"""What the recipes start from: a data frame of scored rows, and its assessment."""

from __future__ import annotations

import pytest

import lightfair as lf


@pytest.fixture(scope="session")
def frame():
    """2,000 scored rows, 200 of them labeled; NaN means unlabeled."""
    pandas = pytest.importorskip("pandas")
    rows = lf.simulate(rows=2000, labeled=200, rng=1)
    return pandas.DataFrame({"score": rows.y_score, "label": rows.y_true, "sex": rows.group})


@pytest.fixture(scope="session")
def result(frame):
    options = {"metrics": ["tpr", "fpr"], "reference": "A", "rng": 1}
    return lf.assess(frame["label"], frame["score"], sensitive_features=frame["sex"], **options)


@pytest.fixture(scope="session")
def of_groups(result):
    """The estimates of lightfair for groups, one row each."""
    numbers = result.to_dataframe("pandas")
    return numbers[(numbers.quantity == "metric") & (numbers.method == "lightfair")]
