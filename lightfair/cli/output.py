"""Outputs: what a command gives to people and programs, on standard output and in files.

A result is printed as text, or as JSON with `--json`. `--html FILE`, `--markdown FILE` and `--csv
FILE` write it to files, too; `-` puts one of them on standard output, in place of the text. Whether
files can be written is checked before the work begins. Should one fail nevertheless, the text is
printed all the same.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from .arguments import check_output, sentence
from .terminal import CHOICES, STYLE, in_color

if TYPE_CHECKING:
    from ..api import Result

FORMATS = {"html": "HTML", "markdown": "Markdown", "csv": "CSV"}

NO_PLOTS = (
    "the page has no plots, because matplotlib is not installed; install it with the extra plot, "
    "as in pip install 'lightfair[plot]'"
)

BEGINS = {"html": b"<!doctype html", "markdown": b"# ", "csv": b"quantity,metric,"}  # of ours

KINDS = {"html": "HTML page", "markdown": "Markdown report", "csv": "table of results"}


class Answer(NamedTuple):
    """What a command printed, its exit code, and notes and errors for standard error."""

    text: str
    code: int = 0
    notes: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """Add where results go."""
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print JSON")
    group.add_argument(
        "--html", metavar="FILE", help="write a page with plots, for people; - prints it"
    )
    group.add_argument(
        "--markdown", metavar="FILE", help="write Markdown, for a model card; - prints it"
    )
    group.add_argument(
        "--csv", metavar="FILE", help="write every number in a row of its own; - prints them"
    )
    group.add_argument(
        "--color",
        choices=CHOICES,
        default="auto",
        metavar="WHEN",
        help="auto (default), always, never; auto is on a terminal, and respects NO_COLOR",
    )


def check_outputs(arguments: argparse.Namespace) -> None:
    """Check that every file can be written, and that one thing alone is printed.

    Raises
    ------
    ValueError, OSError
        If not; the message names the option or the file.
    """
    given = _given(arguments)
    printed = ["--json"] * arguments.json + [f"--{name} -" for name in given if given[name] == "-"]
    if len(printed) > 1:
        raise ValueError(f"standard output takes one of {' and '.join(printed)}; name files")
    read = {os.path.realpath(path) for path in getattr(arguments, "file", ()) if path != "-"}
    written: dict[str, str] = {}
    if getattr(arguments, "output", None) is not None:  # its command says what it may overwrite
        written[os.path.realpath(arguments.output)] = "--output"
    for name, path in given.items():
        if path == "-":
            continue
        if os.path.realpath(path) in read:
            raise ValueError(f"--{name} {path} is a FILE that is read; it would be overwritten")
        target = check_output(f"--{name}", path, BEGINS[name], KINDS[name])
        if target in written and (os.path.isfile(target) or not os.path.exists(target)):
            raise ValueError(f"--{name} and {written[target]} must be different files; got {path}")
        written[target] = f"--{name}"


def deliver(
    arguments: argparse.Namespace,
    result: Result,
    *,
    code: int = 0,
    also: str = "",
) -> Answer:
    """Write the files that are asked for, and say what is to be printed.

    Parameters
    ----------
    arguments
    result
    code
        Exit code.
    also
        A line below the text.
    """
    from ..io.writing import write_text

    text = ""
    errors: list[str] = []
    given = _given(arguments)
    lines = [also] if also else []
    for name, path in given.items():
        made = _made(name, result, arguments.typed)
        if path == "-":
            text = made
            continue
        try:
            write_text(path, made)
            lines.append(f"{path}: {FORMATS[name]}")
        except (OSError, ValueError) as error:
            said = sentence(error)
            errors.append(sentence(ValueError(f"--{name}: {said}"), arguments))
    if arguments.json:
        text = json.dumps(result.to_dict(), indent=2, allow_nan=False)
    elif "-" not in given.values():
        text = "\n".join([_text(arguments, result), *[""] * bool(lines), *lines])
    return Answer(text, code, _notes(given), tuple(errors))


def _given(arguments: argparse.Namespace) -> dict[str, str]:
    """The formats that are asked for, and their files."""
    found = {name: getattr(arguments, name, None) for name in FORMATS}
    return {name: path for name, path in found.items() if path is not None}


def _notes(given: dict[str, str]) -> tuple[str, ...]:
    if "html" not in given:
        return ()
    from ..report.figures import available

    return () if available() else (NO_PLOTS,)


def _made(name: str, result: Result, command: str) -> str:
    if name == "csv":
        return result.to_csv()
    made = result.to_html if name == "html" else result.to_markdown
    return made(command=command)


def _text(arguments: argparse.Namespace, result: Result) -> str:
    if not in_color(arguments.color, sys.stdout):
        return str(result)
    from ..report.text import render

    return render(result._document(), STYLE)
