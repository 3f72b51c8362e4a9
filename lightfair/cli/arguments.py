"""Arguments: what the options of the command line ask of the library.

Each function takes the parsed arguments and gives what they mean: settings, columns, a table. What
is wrong with them is a ValueError that names the option; `sentence` says errors of the library in
the words of the command line.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from ..io.writing import check_target, descriptor
from .terminal import Progress, progress_line

ROWS = (  # arguments that say how rows are read
    "label",
    "score",
    "group",
    "pred",
    "weight",
    "label_prob",
    "positive_label",
    "unlabeled",
    "missing",
)

NAMES = {  # arguments of the library that are called otherwise on the command line
    "y_true": "label",
    "y_score": "score",
    "sensitive_features": "group",
    "y_pred": "pred",
    "sample_weight": "weight",
    "metrics": "metric",
    "checks": "check",
    "thresholds": "threshold",
    "rng": "seed",
}

COLUMNS = ("label", "score", "group", "pred", "weight", "label_prob")

SUBJECT = re.compile(r"(?:--)?([A-Za-z]+(?:[_-][A-Za-z]+)*)(?:\['(.*?)'\])?(?=[ :])")

OPTIONS = {  # how an argument of the library is given on the command line, inside of a sentence
    "positive_label=": "--positive-label ",
    "unlabeled=": "--unlabeled ",
    "pass decisions as y_pred=": "pass decisions as --pred",
    "give y_pred or threshold, not both: y_pred": "give --pred or --threshold, not both: --pred",
    "be a value of y_true": "be a value of --label",
    ", y_true holds": "; the column holds",
    "where y_true holds": "where --label holds",
    ", for example y_pred == positive_label": "",
    'missing="': "--missing ",
    'drop" or': "drop or",
    'group"': "group",
    "rows are read by summarize, given the names of their columns": (
        "give --label, --score and --group"
    ),
    "; see load_table": "; give the rows that it was made of",
    "; a user-defined metric is a lightfair.Metric": "",
    "pass the levels as a tuple": 'write them as "LEVEL, LEVEL=NUMBER"',
    "Prior.mu_a_sd": "--alpha times a scale of the prior",
}


def table_of(arguments: argparse.Namespace, progress: Progress | None) -> Any:
    """The table of all files."""
    from ..io.summarize import gather_tables

    columns, door = columns_of(arguments), door_of(arguments)
    table = gather_tables(
        sources_of(arguments),
        columns,
        door,
        clip=arguments.clip,
        progress=None if progress is None else progress.read,
    )
    if progress is not None:
        progress.clear()
    if not door.rows:
        given = [f"--{name.replace('_', '-')}" for name in ROWS if getattr(arguments, name)]
        if given:
            raise ValueError(f"no FILE holds rows, only tables; leave out {', '.join(given)}")
        one = arguments.threshold is not None and arguments.threshold != ["all"]
        if one and not door.several and door.cuts != table.threshold:
            raise ValueError(
                f"--threshold must be that of the tables, {table.threshold}, or be left out; "
                "decisions are made where a table is built"
            )
    return table


def rows_of(arguments: argparse.Namespace, option: str, clip: float) -> Any:
    """Read all rows into memory, for an option that looks at them one by one."""
    from ..io.summarize import read_rows

    columns = columns_of(arguments)
    if columns is None:
        raise ValueError(f"{option} needs rows: give --label, --score and --group")
    progress = progress_line()
    data = read_rows(
        sources_of(arguments),
        columns,
        door_of(arguments),
        clip=clip,
        progress=None if progress is None else progress.read,
    )
    if progress is not None:
        progress.clear()
    return data


def settings_of(arguments: argparse.Namespace) -> Any:
    """The settings of an assessment; the clip is that of rows."""
    from ..core.data.messages import lies_in
    from ..core.metrics.definitions import DEFAULT_METRICS
    from ..core.model.curve import Prior
    from ..core.settings import Settings

    if not lies_in(arguments.alpha, 0.0, math.inf):
        raise ValueError(f"alpha must be a finite number above 0; got {arguments.alpha!r}")
    return Settings(
        metrics=arguments.metric or DEFAULT_METRICS,
        reference=arguments.reference,
        family=arguments.family,
        hierarchical=arguments.hierarchical,
        prior=Prior().scaled(arguments.alpha),
        trust=arguments.trust,
        target=arguments.target,
        prob=arguments.prob,
        epsilon=arguments.epsilon,
        simultaneous=getattr(arguments, "simultaneous", False),
        checks=getattr(arguments, "check", None) or (),
        clip=0.01 if arguments.clip is None else arguments.clip,
        chains=arguments.chains,
        draws=arguments.draws,
        warmup=arguments.warmup,
        thresholds="all" if getattr(arguments, "threshold", None) == ["all"] else None,
    )


def columns_of(arguments: argparse.Namespace) -> Any:
    """The columns that rows are read from; None where none is named."""
    from ..io.files import Columns

    if not any(getattr(arguments, name) for name in ("label", "score", "group")):
        return None
    check_named(arguments)
    columns = Columns(
        arguments.label,
        arguments.score,
        tuple(arguments.group),
        arguments.pred,
        arguments.weight,
        arguments.label_prob,
    )
    columns.names  # noqa: B018, checks them
    return columns


def check_named(arguments: argparse.Namespace) -> None:
    """Raise ValueError where a column that rows need is not named; say which columns there are."""
    from ..io.files import columns_in

    absent = [f"--{name}" for name in ("label", "score", "group") if not getattr(arguments, name)]
    if absent:
        there = columns_in((getattr(arguments, "file", None) or [None])[0])
        raise ValueError(
            f"rows need --label, --score and --group; got no {' and no '.join(absent)}{there}"
        )


def door_of(arguments: argparse.Namespace) -> Any:
    """How rows are checked and decided on."""
    from ..core.data.rows import Door

    threshold = threshold_of(arguments)
    return Door(
        threshold=0.5 if threshold == "all" else threshold,
        decided=arguments.pred is not None,
        positive_label=arguments.positive_label,
        unlabeled=arguments.unlabeled,
        missing=arguments.missing or "raise",
    )


def sources_of(arguments: argparse.Namespace) -> list[Any]:
    """The files, standard input for -; none may be given twice."""
    paths = arguments.file
    names = [os.path.realpath(path) if path != "-" else path for path in paths]
    twice = [path for path, name in zip(paths, names, strict=True) if names.count(name) > 1]
    if twice:
        raise ValueError(f"{twice[0]} is given twice; its rows would count twice")
    if "-" in paths and sys.stdin is None:
        raise ValueError("standard input is closed; give the name of a file instead of -")
    return [sys.stdin.buffer if path == "-" else path for path in paths]


def seed_of(arguments: argparse.Namespace) -> int:
    """The seed, at least 0."""
    if arguments.seed < 0:
        raise ValueError(f"--seed must be at least 0; got {arguments.seed}")
    return int(arguments.seed)


def threshold_of(arguments: argparse.Namespace) -> Any:
    """One number for all groups, several, "all", or GROUP=NUMBER for each."""
    values: list[str] | None = arguments.threshold
    if values is None:
        return 0.5
    if values == ["all"]:
        return "all"
    pairs = [value.rpartition("=") for value in values]
    named = [bool(middle) for _, middle, _ in pairs]
    if any(named) and not all(named):
        raise ValueError("--threshold takes numbers, or GROUP=NUMBER for every group")
    if len(values) > 1 and not any(named):
        return [_number(value) for value in values]
    found = {}
    for name, _, text in pairs:
        if name in found:
            raise ValueError(f"--threshold names {name} twice")
        found[name] = _number(text)
    return found[""] if list(found) == [""] else found


def check_output(option: str, path: str, begins: bytes = b"{", kind: str = "table") -> str:
    """Return where a file of an option is to be written.

    A file that begins as this one may be written over, anything else is likely data.

    Raises
    ------
    ValueError
        If it cannot be written or must not be; the message begins with the option.
    """
    try:
        target = check_target(path)
        plain = descriptor(path) is None and os.path.isfile(target)
        if plain and os.path.getsize(target):
            with open(target, "rb") as file:
                if file.read(len(begins)).lower() != begins:
                    from ..core.data.messages import visible

                    raise ValueError(
                        f"{visible(path)} is there and is no {kind}; it would be overwritten"
                    )
    except (OSError, ValueError) as error:
        raise ValueError(f"{option}: {sentence(error)}") from error
    return target


def renamed(error: ValueError, begins: Mapping[str, str]) -> ValueError:
    """Return an error that begins with an argument of its command, in place of the library's."""
    text = str(error)
    for ours, theirs in begins.items():
        if text.startswith(ours):
            return ValueError(f"{theirs}{text.removeprefix(ours)}")
    return error


def sentence(error: Exception, arguments: argparse.Namespace | None = None) -> str:
    """An error in one sentence, in the words of the command line.

    With `arguments` that are `written` somewhere, what the sentence is about is called as it is
    there: `--prob` on the command line, `lightfair.toml: prob` in a file.
    """
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{os.fsdecode(error.filename)}: {error.strerror.lower()}"
    else:
        text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return f"not enough memory{': ' if text else ''}{text}"
    for argument, option in OPTIONS.items():
        text = text.replace(argument, option)
    for argument, option in NAMES.items():
        text = text.replace(f" is {argument}, too", f" is --{option}, too")
    text = text.replace(" ;", ";").rstrip()
    return text if arguments is None else _as_written(text, arguments)


def _as_written(text: str, arguments: argparse.Namespace) -> str:
    """Call the subject of a sentence as it is written; a file may be named ahead of it."""
    written: dict[str, str] = arguments.written
    files = getattr(arguments, "file", None) or ()
    begins = [file for file in files if text.startswith((f"{file}: ", f"{file} "))]
    if begins:
        file = max(begins, key=len)
        rest = text[len(file) :]
        if rest.startswith(": "):
            rest = f": {_subject(rest[2:], arguments)}"
        return f"{written['file']}: {file}{rest}" if "file" in written else f"{file}{rest}"
    return _subject(text, arguments)


def _subject(text: str, arguments: argparse.Namespace) -> str:
    match = SUBJECT.match(text)
    name = "" if match is None else match[1].replace("-", "_")
    name = NAMES.get(name, name)
    if match is None or name not in arguments.written:
        return text
    rest = text[match.end() :]
    column = match[2]
    if column is None and name in COLUMNS and rest.startswith(" "):
        given = getattr(arguments, name)
        column = given[0] if isinstance(given, list) and len(given) == 1 else given
    written: str = arguments.written[name]
    return written + (f" {column}" if isinstance(column, str) else "") + rest


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        hint = "; all stands alone" if text == "all" else ""
        raise ValueError(f"--threshold must be a number in (0, 1); got {text!r}{hint}") from None
