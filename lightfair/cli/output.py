"""Output: results on standard output and in files.

A result is printed as text, or as JSON with `--json`. `--html`, `--markdown`, `--csv` and
`--record` also write it to files; `-` prints it in place of the text. Files are checked before the
work begins. If writing one fails all the same, the text is printed nevertheless.
"""

from __future__ import annotations

import argparse
import json
import os
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from .arguments import sentence

if TYPE_CHECKING:
    from ..api import Result

FORMATS = {"html": "HTML", "markdown": "Markdown", "csv": "CSV", "record": "record"}


class Answer(NamedTuple):
    """What a command prints, its exit code, and errors for standard error."""

    text: str
    code: int = 0
    errors: tuple[str, ...] = ()


def check_outputs(arguments: argparse.Namespace) -> None:
    """Raise ValueError if an output cannot be written, or would overwrite what is read."""
    from ..io.writing import check_target

    given = vars(arguments)
    paths = {name: given[name] for name in ("output", *FORMATS) if given.get(name) is not None}
    printed = ["--json"] * bool(given.get("json"))
    printed += [f"--{name} -" for name, path in paths.items() if path == "-"]
    if len(printed) > 1:
        raise ValueError(f"standard output takes one of {' and '.join(printed)}; name files")
    read = (os.path.realpath(path) for path in given.get("file", ()) if path != "-")
    taken = dict.fromkeys(read, "a FILE that is read")
    for name, path in paths.items():
        target = os.path.realpath(path)
        if path == "-":
            continue
        if target in taken:
            raise ValueError(f"--{name} must differ from {taken[target]}; got {path}")
        taken[target] = f"--{name}"
        try:
            check_target(path)
        except (OSError, ValueError) as error:
            raise ValueError(f"--{name}: {sentence(error, arguments)}") from error


def deliver(arguments: argparse.Namespace, result: Result, code: int = 0, also: str = "") -> Answer:
    """Write the files of a result and return what to print; `also` is a line below its text."""
    from ..io.writing import write_text

    lines, errors = [also] * bool(also), []
    text = result.to_json() if arguments.json else ""
    for name, label in FORMATS.items():
        path = getattr(arguments, name, None)
        if path is None:
            continue
        if name == "record":
            content = _record(arguments, result)
        else:
            command = {} if name == "csv" else {"command": arguments.typed}
            content = getattr(result, f"to_{name}")(**command)
        if path == "-":
            text = content
            continue
        try:
            write_text(path, content)
            lines.append(f"{path}: {label}")
        except (OSError, ValueError) as error:
            errors.append(f"--{name}: {sentence(error, arguments)}")
    text = text or "\n".join([str(result), *[""] * bool(lines), *lines])
    return Answer(text, code, tuple(errors))


def audit_texts(arguments: argparse.Namespace) -> dict[str, str | None]:
    """Return what the data do not say: their source and dates, and the date of the audit."""
    today = date.today().isoformat()
    texts = {name: getattr(arguments, name) for name in ("data_source", "data_dates")}
    return {**texts, "audit_date": arguments.audit_date or today}


def _record(arguments: argparse.Namespace, result: Any) -> str:
    from ..api import audit_record

    given = {"hazard": arguments.hazard, "files": arguments.file, **audit_texts(arguments)}
    return json.dumps(audit_record(result, **given), indent=2, allow_nan=False) + "\n"
