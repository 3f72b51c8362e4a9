"""scikit-learn: a fitted classifier, search or pipeline, new rows, and labels of some of them.

Decisions are the predictions of the model; the sensitive columns need not be features.
"""

from __future__ import annotations

import numpy as np
import pytest

import lightfair as lf

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.slow


def test_a_pipeline_as_it_is():
    linear_model = pytest.importorskip("sklearn.linear_model")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(1)
    people = pandas.DataFrame({"income": rng.normal(size=1500), "age": rng.normal(size=1500)})
    people["sex"] = rng.choice(["f", "m"], 1500)
    repaid = (people["income"] + rng.normal(size=1500) > 0).astype(float)
    train, new = people[:500], people[500:]

    model = make_pipeline(StandardScaler(), linear_model.LogisticRegression())
    model = model.fit(train[["income", "age"]], repaid[:500])
    y = repaid[500:].where(rng.random(1000) < 0.1)  # one in ten is labeled
    result = lf.assess_estimator(model, new, y, sensitive_features="sex", metrics="accuracy", rng=1)

    assert result.groups == ("f", "m") and result.table.rows == 1000
    correct = model.predict(new[["income", "age"]]) == repaid[500:]
    low, high = result.metric("accuracy", "f").interval(0.95)
    assert low < correct[new["sex"] == "f"].mean() < high
