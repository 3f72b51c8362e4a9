"""Tables: pandas, a stored CSV, a model card.

Every number is a row, in columns that never change (`lightfair.tidy`), so that a table is a filter
and a pivot. `to_dataframe("polars")` does the same for polars.
"""

from __future__ import annotations

import io

import numpy as np
import pytest

from lightfair import tidy

pandas = pytest.importorskip("pandas")


def test_a_stored_csv_is_read_with_its_types(result):
    """With guessed types a group named "NA" or "007" would become NaN or 7."""
    kinds = {str: "string", float: "float64", int: "Int64", bool: "boolean"}
    stored = pandas.read_csv(
        io.StringIO(result.to_csv()),  # or the file of --csv
        dtype={name: kinds[kind] for name, kind in tidy.COLUMNS.items()},
        keep_default_na=False,
        na_values=[""],
    )
    pandas.testing.assert_frame_equal(stored, result.to_dataframe("pandas"))


def test_a_table_for_a_model_card(of_groups):
    """`result.to_markdown()` is the whole report; this is a table of your own."""

    def cell(row):
        if pandas.isna(row.estimate):
            return f"unknown: {row.reason}"
        return f"{row.estimate:.2f} [{row.low:.2f}, {row.high:.2f}]"

    card = ["| group | TPR | labels |", "|---|---|---|"]
    for row in of_groups[of_groups.metric == "tpr"].itertuples():
        card.append(f"| {row.group} | {cell(row)} | {row.positives} |")
    assert card[2:] == ["| A | 0.65 [0.59, 0.70] | 69 |", "| B | 0.75 [0.68, 0.83] | 30 |"]
    nothing = of_groups.iloc[0].copy()
    nothing["estimate"], nothing["reason"] = np.nan, "there are no positive rows"
    assert cell(nothing) == "unknown: there are no positive rows"
