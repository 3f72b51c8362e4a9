"""Data frames: the tidy rows of a result for pandas or polars, whichever the caller has."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from .result import Result
from .tidy import columns, rows

LIBRARIES = ("pandas", "polars")
PANDAS = {str: "string", float: "float64", int: "Int64", bool: "boolean"}


def to_dataframe(result: Result, library: str | None = None) -> Any:
    """Return the rows of `tidy` as a data frame.

    Parameters
    ----------
    result
    library : {"pandas", "polars"}, optional
        Default: the one that the program has imported, else the one that is installed; of two
        pandas.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame. A column has the same type whatever is in it: text is
    "string" (String), numbers float64 (Float64) or, of counts, "Int64", truth values "boolean"
    (Boolean). What is undefined is NaN or NA in pandas, null in polars.

    Raises
    ------
    ImportError
        If the library, or both, are not installed.
    ValueError
        If it is another one.
    """
    if library is not None and library not in LIBRARIES:
        raise ValueError(f"library must be one of {', '.join(LIBRARIES)}; got {library!r}")
    name, frames = _library(library)
    kinds, found = columns(result), rows(result)
    values = {column: [row[column] for row in found] for column in kinds}
    if name == "pandas":
        return frames.DataFrame(
            {
                column: frames.Series(values[column], dtype=PANDAS[kind])
                for column, kind in kinds.items()
            }
        )
    return frames.DataFrame(values, schema=kinds)


def _library(asked: str | None) -> tuple[str, Any]:
    """The library to make a frame with, and its name."""
    names = LIBRARIES if asked is None else (asked,)
    for name in sorted(names, key=lambda name: name not in sys.modules):
        try:
            return name, importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:  # it is there, and broken
                raise
    some = len(names) > 1
    raise ImportError(
        f"a data frame needs {' or '.join(names)}, which {'are' if some else 'is'} not installed; "
        f"install {'one of them' if some else 'it'}, or take to_csv(), or "
        "lightfair.tidy.rows(result)"
    )
