"""Arguments: from the parsed command line to settings, rows and tables of the library."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from .options import OPTIONS, option_names
from .terminal import progress_line, say

if TYPE_CHECKING:
    from ..core.data.rows import ScoreData
    from ..core.settings import Settings
    from ..io.files import Columns
    from ..io.table import ScoreTable

ROWS = OPTIONS["columns and rows"]
REPEATS = (
    "column {0} repeats values; if rows of one value belong together, as those of a person, "
    "intervals are too narrow: give --cluster {0}"
)
NEEDED = ("y_true", "y_score", "sensitive_features")


def settings_of(arguments: argparse.Namespace) -> Settings:
    """Return the checked settings of an assessment."""
    from ..audit.label_error import label_error_of
    from ..core.data.nodes import clip_of
    from ..core.settings import Settings

    given = {field.name: getattr(arguments, field.name, None) for field in fields(Settings)}
    given["thresholds"] = "all" if getattr(arguments, "threshold", None) == ["all"] else None
    if not 0.0 < arguments.alpha < 1e6:
        raise ValueError(f"alpha must be above 0; got {arguments.alpha}; it multiplies the prior")
    given["threshold"] = None
    if given["label_error"] is not None:
        given["label_error"] = label_error_of(given["label_error"])
    decided = bool(getattr(arguments, "y_pred", None))
    given["clip"] = clip_of(not decided or bool(arguments.y_score), given["clip"])
    settings = Settings(**{name: value for name, value in given.items() if value is not None})
    return replace(settings, prior=settings.prior.scaled(arguments.alpha))


def threshold_of(arguments: argparse.Namespace) -> Any:
    """Return one threshold, several, "all", one of each group (or model), or None."""
    values = arguments.threshold
    if values is None:
        return None
    if len(values) == 1 and not isinstance(values[0], tuple):
        return values[0]
    named: dict[str, float] = dict(value for value in values if isinstance(value, tuple))
    if "all" in values or len(named) not in (0, len(values)):
        raise ValueError("--threshold takes numbers, or NAME=NUMBER once for every name, or all")
    return named or values


def one_threshold(arguments: argparse.Namespace) -> Any:
    """Return a threshold where several would have no meaning."""
    threshold = threshold_of(arguments)
    if isinstance(threshold, (list, str)):
        raise ValueError("--threshold must be one number here, or NAME=NUMBER for every name")
    return threshold


def columns_of(arguments: argparse.Namespace) -> Columns | None:
    """Return the names of the columns of rows; None if no column is named."""
    from ..io.files import Columns, columns_in

    names: dict[str, Any] = {name: getattr(arguments, name, None) for name in Columns._fields}
    if not any(value for name, value in names.items() if name != "within"):
        return None
    profile = getattr(arguments, "profile", None)  # of selections, which need no label
    spared = {"y_score" * bool(names["y_pred"]), "y_true" * bool(profile)}
    absent = [name for name in NEEDED if not names[name] and name not in spared]
    if absent:
        absent = [f"{name} or y_pred" if profile and name == "y_score" else name for name in absent]
        file = (getattr(arguments, "file", None) or [None])[0]
        raise ValueError(f"rows need {' and '.join(absent)}, too{columns_in(file)}")
    names["sensitive_features"] = tuple(",".join(names["sensitive_features"]).split(","))
    if names["within"] in names["sensitive_features"]:
        names["within"] = None
    if isinstance(names["y_score"], list):
        names["y_score"] = tuple(names["y_score"])
    return Columns(**names)


def named_columns(arguments: argparse.Namespace) -> Columns:
    """Return the names of the columns of rows, for work on single rows."""
    columns = columns_of(arguments)
    if columns is None:
        raise ValueError("single rows are needed: give --label, --score and --group")
    return columns


def check_distinct(paths: list[str]) -> None:
    """Raise ValueError if a file is named twice."""
    real = [os.path.realpath(path) for path in paths]
    for path, name in zip(paths, real, strict=True):
        if real.count(name) > 1:
            raise ValueError(f"{path} is given twice; its rows would count twice")


def reading_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what reading needs: files, columns, checks of rows, and progress."""
    from ..core.data.rows import RowReader
    from ..io.files import repeated_id

    check_distinct(arguments.file)
    if "-" in arguments.file and sys.stdin is None:
        raise ValueError("standard input is closed; give the name of a file instead of -")
    columns, threshold, progress = columns_of(arguments), threshold_of(arguments), progress_line()
    for path in arguments.file:
        if hasattr(arguments, "cluster") and (name := repeated_id(path, columns)):
            say(f"lightfair: warning: {REPEATS.format(name)}")
    reader = RowReader(
        threshold=0.5 if threshold in (None, "all") else threshold,
        decided=getattr(arguments, "y_pred", None) is not None,
        positive_label=arguments.positive_label,
        unlabeled=arguments.unlabeled,
        missing=arguments.missing or ("group" if getattr(arguments, "profile", None) else "raise"),
        bins=arguments.bins,
    )
    stdin: Any = None
    if "-" in arguments.file:  # chosen rows are read twice
        whole = getattr(arguments, "n", None) is not None
        stdin = io.BytesIO(sys.stdin.buffer.read()) if whole else sys.stdin.buffer
    arguments.source = [stdin if path == "-" else path for path in arguments.file]
    return {
        "source": arguments.source,
        "columns": columns,
        "reader": reader,
        "progress": progress and partial(progress, "rows read"),
    }


def table_of(arguments: argparse.Namespace, *, last: bool = True) -> ScoreTable:
    """Return the table of all files, rows and tables; unless `last`, more files are to come."""
    from ..io.summarize import gather_tables
    from ..thresholds.curve import for_table

    reading = reading_of(arguments)
    table = gather_tables(**reading, clip=arguments.clip)
    arguments.found = getattr(arguments, "found", 0) + reading["reader"].rows
    if last and not arguments.found:
        given = {option.dest: vars(arguments).get(option.dest) for option in ROWS}
        given |= {"threshold": None, "clip": None}  # of tables, too
        names = [text for name, text in option_names(arguments).items() if given.get(name)]
        if names:
            raise ValueError(f"no FILE holds rows, only tables; leave out {', '.join(names)}")
    for_table(threshold_of(arguments), table)
    return table


def arrays_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Read the columns of all rows into memory, by the arguments of the library."""
    from ..io.summarize import read_arrays

    columns, reading = named_columns(arguments), reading_of(arguments)
    arrays = read_arrays(reading["source"], columns, reading["progress"])
    given: dict[str, Any] = {role: arrays[name] for name, role in columns.names.items()}
    for role, names in columns._asdict().items():
        if isinstance(names, tuple):
            given[role] = {name: arrays[name] for name in names}
    return given


def rows_of(arguments: argparse.Namespace, clip: float) -> ScoreData:
    """Read all rows into memory, for work on single rows."""
    from ..io.summarize import read_rows

    named_columns(arguments)
    return read_rows(**reading_of(arguments), clip=clip)


def sentence(error: Exception, arguments: argparse.Namespace) -> str:
    """Return an error with the options of the command in place of the library's arguments.

    One word such as `group` is replaced as the subject only, at the beginning or after the name of
    a file, or where a value is given; `y_true` and the like everywhere but in lists of columns.
    """
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{os.fsdecode(error.filename)}: {error.strerror.lower()}"
    names = option_names(arguments)
    text, column, listed = str(error).partition("; its columns")
    subject = rf"(^|: )({'|'.join(names)})(?![\w./])"
    text = re.sub(subject, lambda match: match[1] + names[match[2]], text, count=1)
    value = rf"\b({'|'.join(names)})=(?:\"(\w+)\")?"
    text = re.sub(value, lambda match: f"{names[match[1]]} {match[2] or 'VALUE'}", text)
    joined = "|".join(name for name in names if "_" in name)
    anywhere = rf"(?<![\w./'])(?<!column )({joined})(?![\w./'])"
    return re.sub(anywhere, lambda match: names[match[1]], text) + column + listed
