"""Output: results on standard output and in files.

A result is printed as text, or as JSON with `--json`. `--html`, `--markdown` and `--csv` also write
it to files; `-` prints it in place of the text. Files are checked before the work begins. If
writing one fails all the same, the text is printed nevertheless.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING, NamedTuple

from .arguments import sentence

if TYPE_CHECKING:
    from ..api import Result

FORMATS = {"html": "HTML", "markdown": "Markdown", "csv": "CSV"}
OURS = {  # by option and command: what a file that is overwritten must be, and how it begins
    "html": ("an HTML page", b"<!doctype html"),
    "markdown": ("a Markdown report", b"# "),
    "csv": ("a table of results", b"quantity,metric,"),
    "plan": ("a list of rows", b"row,label_prob"),
    "summarize": ("a table", b"{"),
}
NO_PLOTS = (
    "the page has no plots; they need matplotlib (pip install 'lightfair[plot]') and a folder that "
    "it may write in (MPLCONFIGDIR)"
)


class Answer(NamedTuple):
    """What a command prints, its exit code, and notes and errors for standard error."""

    text: str
    code: int = 0
    notes: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


def check_outputs(arguments: argparse.Namespace) -> None:
    """Raise ValueError or OSError if an output cannot be written, or would overwrite other data."""
    given = vars(arguments)
    paths = {name: given[name] for name in ("output", *FORMATS) if given.get(name) is not None}
    printed = ["--json"] * bool(given.get("json"))
    printed += [f"--{name} -" for name, path in paths.items() if path == "-"]
    if len(printed) > 1:
        raise ValueError(f"standard output takes one of {' and '.join(printed)}; name files")
    read = {os.path.realpath(path) for path in given.get("file", ()) if path != "-"}
    taken: dict[str, str] = {}
    for name, path in paths.items():
        target = os.path.realpath(path)
        if path == "-":
            continue
        if target in taken or (target in read and name != "output"):  # a table may be updated
            other = taken.get(target, "a FILE that is read")
            raise ValueError(f"--{name} must differ from {other}; got {path}")
        taken[target] = f"--{name}"
        _check_file(arguments.command, name, path)


def _check_file(command: str, option: str, path: str) -> None:
    from ..io.writing import check_target

    kind, begin = OURS[command if option == "output" else option]
    try:
        target = check_target(path)
        if os.path.isfile(target) and not path.startswith("/dev/"):
            with open(target, "rb") as file:
                if file.read(len(begin)).lower() not in (b"", begin):
                    raise ValueError(f"{path} exists and is not {kind}; it would be overwritten")
    except (OSError, ValueError) as error:
        raise ValueError(f"--{option}: {sentence(error, command)}") from error


def deliver(arguments: argparse.Namespace, result: Result, code: int = 0, also: str = "") -> Answer:
    """Write the files of a result and return what to print; `also` is a line below its text."""
    from ..io.writing import write_text
    from ..report.figures import available

    lines, errors = [also] * bool(also), []
    text = json.dumps(result.to_dict(), indent=2, allow_nan=False) if arguments.json else ""
    for name, label in FORMATS.items():
        path = getattr(arguments, name)
        if path is None:
            continue
        command = {} if name == "csv" else {"command": arguments.typed}
        content = getattr(result, f"to_{name}")(**command)
        if path == "-":
            text = content
            continue
        try:
            write_text(path, content)
            lines.append(f"{path}: {label}")
        except (OSError, ValueError) as error:
            errors.append(f"--{name}: {sentence(error, arguments.command)}")
    notes = (NO_PLOTS,) if arguments.html is not None and not available() else ()
    text = text or "\n".join([str(result), *[""] * bool(lines), *lines])
    return Answer(text, code, notes, tuple(errors))
