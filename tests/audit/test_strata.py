"""Gaps within strata: against loops over rows, and where they turn the gap of all rows."""

from __future__ import annotations

import re

import numpy as np
import pytest
from results import QUICKEST, ask_quickly

import lightfair as lf
from lightfair.audit.strata import _average

ADMITTED = [[512, 89], [353, 17], [120, 202], [138, 131], [53, 94], [22, 24]]  # men, women in
REJECTED = [[313, 19], [207, 8], [205, 391], [279, 244], [138, 299], [351, 317]]  # Berkeley, 1973


def within(sex, department, y, decided, *arguments, **options):
    features = {"sex": sex, "department": department}
    options = {"y_pred": decided, "sensitive_features": features, **QUICKEST, **options}
    return lf.within(lf.assess(y, **options), "department", *arguments)


def rows_of(groups, departments, count=900):
    """Rows: no f is in d, and no positive label of f in c."""
    rng = np.random.default_rng(0)
    sex, department = rng.choice(list(groups), count), rng.choice(list(departments), count)
    sex[(sex == "f") & (department == "d")] = "m"
    y, decided = rng.integers(0, 2, (2, count))
    y[(sex == "f") & (department == "c")] = 0
    return sex, department, y, decided


@pytest.mark.parametrize("weights", ["reference", "both", "equal"])
def test_with_all_labels_it_is_the_standardized_difference(weights):
    rows, mass = rows_of("fmx", "abcd"), np.random.default_rng(1).integers(1, 4, 900)
    found = within(*rows, "m", weights, sample_weight=mass, metrics="tpr")

    keys = ["".join(map(str, row)) for row in zip(*rows, strict=True)]

    def count(pattern):
        return sum(w for key, w in zip(keys, mass, strict=True) if re.match(pattern, key))

    def gap(stratum):
        f, m = (count(f"{g}{stratum}11") / count(f"{g}{stratum}1") for g in "fm")
        return f - m

    total = mean = 0.0
    for stratum in "ab":
        assert found.gaps["tpr"]["f"][stratum].mean == pytest.approx(gap(stratum), rel=1e-12)
        kinds = {"reference": count(f"m{stratum}"), "both": count(f"[fm]{stratum}"), "equal": 1}
        total, mean = total + kinds[weights], mean + kinds[weights] * gap(stratum)
    average, whole = found.average["tpr"]["f"], found.pooled["tpr"]["f"]
    assert average.mean == pytest.approx(mean / total, rel=1e-12)
    assert whole.mean == pytest.approx(gap("."), rel=1e-12)
    assert average.exact and whole.exact and average.left_out == ("c", "d")
    reasons = [one.reason for one in found.gaps["tpr"]["f"].values()]
    assert reasons == [None, None, "there are no positive labels", "there are no rows of f"]
    share = count("[fm][ab]") / count("[fm]")
    assert found.covered["tpr"]["f"] == pytest.approx(share, rel=1e-12)
    assert "no rows of f" in str(found) and f"average, {share:.1%} of rows" in str(found)


def test_it_is_the_mean_of_draws_and_for_one_stratum_its_difference(rows):
    features = {"half": ["x", "y"] * 200, "sex": rows.group}
    result = ask_quickly(rows, group=features, metrics=["tpr", "auc"])
    for metric, by_group in lf.within(result, "half", "A", "equal").average.items():
        deltas = [result.difference(metric, f"{s}, B", f"{s}, A").draws for s in "xy"]
        np.testing.assert_allclose(by_group["B"].draws, sum(deltas) / 2, atol=1e-14)
    found = within(*rows_of("fm", "cd"), metrics="fpr", target="population")
    plain = found.assessment.difference("fpr", "f, c", "m, c").draws
    np.testing.assert_array_equal(found.average["fpr"]["f"].draws, plain)
    lacking = {"x": [[0.1, np.nan, np.nan]], "y": [[0.3, 0.5, np.nan]]}
    by_hand = _average({k: lf.Estimate(np.array(v)) for k, v in lacking.items()}, np.array([1, 3]))
    np.testing.assert_allclose(by_hand.draws, [[0.25, 0.5, np.nan]], rtol=1e-15)
    none = within(*rows_of("fm", "cd"), metrics="tpr").average["tpr"]["f"]
    assert none.reason == "there are no strata with a gap" and none.left_out == ("c", "d")


def test_a_gap_turns_within_strata():
    """Simpson's paradox: exact for decisions, estimated for labels of a tenth of the rows."""
    counts = np.stack([REJECTED, ADMITTED], axis=-1)
    department, sex, admitted = np.repeat(np.argwhere(counts), counts.ravel(), axis=0).T
    y = np.where(np.random.default_rng(1).random(len(sex)) < 0.1, admitted, -1)
    options = {"metrics": ["selection_rate", "base_rate"], "hierarchical": "nested"}
    found = within(sex, department, y, admitted, 0, "both", **options)
    whole, average = found.pooled["selection_rate"]["1"], found.average["selection_rate"]["1"]
    assert whole.mean == pytest.approx(557 / 1835 - 1198 / 2691) and whole.mean < -0.14
    assert average.exact and average.mean == pytest.approx(0.0427, abs=1e-4)
    assert found.pooled["base_rate"]["1"].interval()[1] < 0 < found.average["base_rate"]["1"].mean


@pytest.mark.parametrize(
    "half, arguments, message",
    [
        ("xy", ("haf",), "no attribute 'haf' (did you mean 'half'?); there are half, sex"),
        ("xy", ("half", "A", "rows"), "no weights 'rows'; there are reference, both, equal"),
        (None, ("sex",), "gaps within sex need two groups beside it, two strata; got none and 'A'"),
        ("x", ("half",), "beside it, two strata; got 'A', 'B' and 'x'"),
        (["x", None], ("half",), "has 2 missing values (rows 1, 3) in half; pass missing="),
    ],
)
def test_bad_input(half, arguments, message):
    columns = {"half": [*half] * (4 // len(half))} if half else {}
    columns["sex"] = [*"AABB"]
    with pytest.raises(ValueError, match=re.escape(message)):
        result = lf.assess([1, 0, 1, 1], y_pred=[1, 1, 0, 1], sensitive_features=columns)
        lf.within(result, *arguments)
