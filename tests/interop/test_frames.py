"""Data frames: the tidy rows in pandas and polars, with the same columns and types always."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from results import ask_quickly as ask

import lightfair as lf
from lightfair.interop import tidy

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

LOOK = """
import sys
{before}
import lightfair as lf
rows = lf.simulate(200, 40, rng=0)
result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, metrics="tpr",
                   chains=4, draws=10, warmup=30, rng=0)
{call}
"""


@pytest.fixture(scope="module")
def result(rows):
    return ask(rows, metrics=["tpr", "selection_rate"], checks="tpr<=0.2")


@pytest.fixture(scope="module")
def undefined(rows):
    decide = (rows.group == "A") & (rows.y_score > 0.5)
    return ask(rows, y_pred=decide, metrics="ppv")


def child(env, call, before=""):
    code = LOOK.format(before=before, call=call)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_pandas_has_the_values_and_types_of_the_rows(result, undefined):
    for one in (result, undefined):
        frame = one.to_dataframe("pandas")
        rows = tidy.rows(one)
        assert list(frame.columns) == list(tidy.COLUMNS) and len(frame) == len(rows)
        kinds = {str: "string", float: "float64", int: "Int64", bool: "boolean"}
        assert {n: str(t) for n, t in frame.dtypes.items()} == {
            name: kinds[kind] for name, kind in tidy.COLUMNS.items()
        }
        for name in tidy.COLUMNS:
            values = [None if pandas.isna(value) else value for value in frame[name]]
            assert values == [row[name] for row in rows]


def test_polars_has_the_values_and_types_of_the_rows(result, undefined):
    for one in (result, undefined):
        frame = one.to_dataframe("polars")
        assert frame.rows(named=True) == tidy.rows(one)
        kinds = {str: polars.Utf8, float: polars.Float64, int: polars.Int64, bool: polars.Boolean}
        assert dict(frame.schema) == {name: kinds[kind] for name, kind in tidy.COLUMNS.items()}


def test_frames_of_other_results(rows):
    scores = {"old": rows.y_score, "new": rows.y_score**2}
    found = lf.compare_models(
        scores, rows.y_true, sensitive_features=rows.group, metrics="tpr", chains=4, draws=10, rng=1
    )
    assert list(found.to_dataframe("pandas").columns) == list(tidy.COMPARISON_COLUMNS)
    plan = lf.plan_labels(ask(rows, metrics="tpr"), refits=0, rng=1)
    assert plan.to_dataframe("polars").columns == list(tidy.PLAN_COLUMNS)
    search = lf.find_threshold(ask(rows, metrics="tpr"), "tpr")
    assert list(search.to_dataframe("pandas").columns) == list(tidy.SEARCH_COLUMNS)


def test_a_frame_is_filtered_and_pivoted_as_people_do(result):
    frame = result.to_dataframe("pandas")
    mine = frame[(frame.quantity == "metric") & (frame.metric == "tpr")]
    table = mine.pivot(index="group", columns="method", values="estimate")
    assert table.loc["B", "lightfair"] == result.metric("tpr", "B").mean
    assert set(frame[frame.exact].metric) == {"selection_rate", "demographic_parity"}
    low = mine[mine.method == "lightfair"].low.to_numpy()
    assert low.dtype == np.float64 and np.isfinite(low).all()


def test_the_library_that_is_in_use_is_taken(child_env):
    call = "print(type(result.to_dataframe()).__module__.split('.')[0])"
    assert child(child_env, call) == "pandas"
    assert child(child_env, call, "import polars") == "polars"
    assert child(child_env, call, "import polars, pandas") == "pandas"
    assert child(child_env, call, "sys.modules['pandas'] = None") == "polars"


def test_without_either_the_way_out_is_said(child_env):
    call = """
for library in (None, "polars"):
    try:
        result.to_dataframe(library)
    except ImportError as error:
        print(error)
"""
    said = child(child_env, call, "sys.modules['pandas'] = sys.modules['polars'] = None")
    assert said.splitlines() == [
        "a data frame needs pandas or polars, which are not installed; install one of them, or "
        "take to_csv(), or lightfair.tidy.rows(result)",
        "a data frame needs polars, which is not installed; install it, or take to_csv(), or "
        "lightfair.tidy.rows(result)",
    ]


def test_another_library_is_refused(result):
    with pytest.raises(ValueError, match="library must be one of pandas, polars; got 'arrow'"):
        result.to_dataframe("arrow")
