"""Config: options from a TOML file, `--config lightfair.toml`, for runs that are repeated.

    label = "label"                     # for every command that has the option
    score = "score"
    group = ["race", "sex"]

    [assess]
    files = ["scores.csv"]              # relative to the folder of this file
    metric = ["tpr", "fpr"]
    check = ["tpr<=0.05"]
    html = "report.html"

Keys are the long options without the hyphens in front, with hyphens or underscores inside, and
`files`. Flags are true or false, options that are repeated are lists. A table is for the command of
its name, and replaces what stands above all tables; the command line replaces both, lists as a
whole. Unknown keys are errors, in tables of other commands, too.

The file becomes words of the command line. So its values are checked as those are, and reports show
a command line that does not depend on the file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from .options import COMMANDS, Option, Parser, options_of

FILES = Option("files", "FILE ...", "", "")
PATHS = ("FILE", "CSV", "TABLE")  # values that are relative to the folder of the config file


def expand(parser: Parser, command: str, words: Sequence[str]) -> list[str]:
    """Return the words of a command line with those of its config file in place of `--config`.

    Parameters
    ----------
    parser
        Parses what follows the command.
    command, words
        The command, and what follows it.

    Raises
    ------
    ValueError, OSError, ImportError
        If the file cannot be read, or a key or value in it is wrong.
    """
    end = words.index("--") if "--" in words else len(words)
    if not any(word.partition("=")[0] == "--config" for word in words[:end]):
        return list(words)
    only = Parser(prog=f"lightfair {command}")
    only.add_argument("--config")
    known, rest = only.parse_known_args(list(words[:end]))
    path, own = known.config, options_of(command)
    values = _values_for(command, path)
    files = _words(path, FILES, values.pop("files", []))
    names = [word.partition("=")[0].replace("--", "", 1) for word in rest]
    given = {own[name].dest for name in names if name in own}
    options: list[str] = []
    for name, value in values.items():
        if own[name].dest not in given:
            options += _words(path, own[name], value)
    rest += words[end:]
    named = getattr(parser.parse_args([*options, *rest]), "file", None)
    return [*([] if named else files), *options, *rest]


def _values_for(command: str, path: str) -> dict[str, Any]:
    """Read the values for a command by the names of options; check the keys of all commands."""
    content = _read(path)
    tables = {name: content.pop(name) for name in COMMANDS if isinstance(content.get(name), dict)}
    every = {name for other in COMMANDS for name in _keys(other)}
    values = _checked(path, content, every, _keys(command), {*every, *COMMANDS})
    chosen = {name: value for name, value in values.items() if name in _keys(command)}
    for name, table in tables.items():
        values = _checked(f"{path}: [{name}]", table, _keys(name), _keys(name))
        chosen |= values if name == command else {}
    return chosen


def _read(path: str) -> dict[str, Any]:
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    with open(path, "rb") as file:
        try:
            content: dict[str, Any] = toml.load(file)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is not TOML: {error}") from error
    return content


def _keys(command: str) -> set[str]:
    return {*options_of(command), "files"} - {"config"}


def _checked(
    where: str, table: Mapping[str, Any], known: set[str], *likely: set[str]
) -> dict[str, Any]:
    """Return values by names with hyphens; raise ValueError if a key is unknown.

    A suggestion is looked for in the sets of `likely` names, in their order.
    """
    from ..core.data.messages import hint, show

    for key in table:
        if key.replace("_", "-") not in known:
            suggestion = next(filter(None, (hint(key, sorted(names)) for names in likely)), "")
            raise ValueError(f"{where}: unknown key {show(key)}{suggestion}")
    return {key.replace("_", "-"): value for key, value in table.items()}


def _words(path: str, option: Option, value: Any) -> list[str]:
    """Return the words of the command line for one option."""
    from ..core.data.messages import show

    where = f"{path}: {option.name}"
    if not option.metavar:
        if not isinstance(value, bool):
            raise ValueError(f"{where} must be true or false; got {show(value)}")
        return [f"--{option.name}"] * value
    several = " " in option.metavar
    words = []
    for one in value if several and isinstance(value, list) else [value]:
        if isinstance(one, bool) or not isinstance(one, (str, int, float)):
            also = ", or a list of these" if several else ""
            raise ValueError(f"{where} must be text or a number{also}; got {show(one)}")
        text = str(one)
        if option.metavar.split()[0] in PATHS and text != "-":
            text = os.path.join(os.path.dirname(path) or ".", text)
        words.append(text if option is FILES else f"--{option.name}={text}")
    return words
