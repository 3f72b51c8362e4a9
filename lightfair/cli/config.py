"""Config: the options of runs that are repeated, in a TOML file given by `--config`.

    label = "label"                     # for every command that has the option
    score = "score"
    group = ["race", "sex"]

    [assess]
    files = ["scores.csv"]              # relative to the folder of this file
    metric = ["tpr", "fpr"]
    check = ["tpr<=0.05"]
    html = "report.html"

Keys are the long options without the hyphens in front, with hyphens or underscores inside, and
`files`. Options that take no value are true or false, those that are repeated lists. What the
command line says wins; a list there takes the place of the list in the file. A table is for the
command of its name, and wins over what stands above all tables. Names of files are relative to the
folder of the config file. Unknown keys and values of the wrong type are errors, in tables of other
commands, too.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from ..core.data.messages import hint, show
from .options import Parser

FILES = "files"

PATHS = ("file", "html", "markdown", "csv", "output")

NOT_KEYS = ("help", "config", "version")

LARGEST = 1 << 20  # bytes of a file of options

BITS = 63  # of a whole number, without its sign


class Configured(NamedTuple):
    """What a file says, by the names of arguments: values, and where each is written in it."""

    values: dict[str, Any]
    keys: dict[str, str]


def configure(parser: Parser, argv: Sequence[str]) -> Configured:
    """Make what the config file of a command line says the defaults of its command.

    Returns them; none where there is no config file.

    Raises
    ------
    ValueError, OSError, ImportError
        If the file cannot be read, or a key or value in it is wrong.
    """
    commands = parser.commands
    path = _path(argv)
    if path is None or not argv or argv[0] not in commands:
        return Configured({}, {})
    found = _chosen(path, read_toml(path), argv[0], commands)
    command = commands[argv[0]]
    command.set_defaults(**found.values)
    for action in command._actions:
        if action.dest in found.values:
            action.required = False
            action.nargs = action.nargs if action.option_strings else "*"
    return found


def replaced(arguments: argparse.Namespace, values: Mapping[str, Any]) -> argparse.Namespace:
    """Take what the file says out of lists to which the command line added."""
    for name, value in values.items():
        given = getattr(arguments, name)
        if isinstance(value, list) and given[: len(value)] == value and len(given) > len(value):
            setattr(arguments, name, given[len(value) :])
    return arguments


def keys_of(arguments: argparse.Namespace, found: Configured) -> dict[str, str]:
    """Where the arguments that the command line left as the file has them are written in it."""
    return {
        name: key
        for name, key in found.keys.items()
        if _same(getattr(arguments, name), found.values[name])
    }


def _same(one: Any, other: Any) -> bool:
    """Whether values are equal; nan is nan."""
    return bool(one == other or (one != one and other != other))


def spelled(command: Parser, arguments: argparse.Namespace) -> list[str]:
    """Spell arguments out as a command line gives them, without a config file.

    `command` is a parser that no file has given defaults; what is as it says is left out.
    """
    files: list[str] = []
    options: list[str] = []
    for action in command._actions:
        value: Any = getattr(arguments, action.dest, None)
        name = next((one for one in action.option_strings if one.startswith("--")), None)
        if name is None and value:  # a leading hyphen would make an option of a file
            files += [f"./{one}" if one.startswith("-") and one != "-" else one for one in value]
        if name is None or action.dest in NOT_KEYS or value == action.default:
            continue
        if action.nargs == 0:
            options += [name] if value == action.const else []
        elif action.nargs == "+":
            options += [name, *map(str, value)]
        else:
            for one in value if isinstance(value, list) else [value]:
                options += [f"{name}={one}"] if str(one).startswith("-") else [name, str(one)]
    return [*files, *options]


def read_toml(path: str) -> dict[str, Any]:
    """Read a TOML file; a byte order mark ahead of it is none of it."""
    if not path or path == "-" or "\0" in path:
        raise ValueError(f"--config must be the name of a file; got {show(path)}")
    with open(path, "rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"{path} is not TOML: it has more than {LARGEST:,} bytes")
    toml = _toml()
    try:
        found: dict[str, Any] = toml.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = 1 + content[: error.start].count(b"\n")
        raise ValueError(f"{path} is not TOML: it is not UTF-8 text, in line {line}") from error
    except ValueError as error:
        raise ValueError(f"{path} is not TOML: {error}") from error
    except RecursionError as error:
        raise ValueError(f"{path} is not TOML of options: its values are too deep") from error
    return found


def _toml() -> Any:
    for name in ("tomllib", "tomli"):  # of Python 3.11 and newer, and for 3.10
        try:
            return import_module(name)
        except ImportError:
            continue
    raise ImportError(
        "--config needs Python 3.11 or newer, or tomli; install it: pip install tomli"
    )


def _path(argv: Sequence[str]) -> str | None:
    """The config file of a command line, before anything else of it is read."""
    only = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    only.add_argument("--config", nargs="?")
    path: str | None = only.parse_known_args(list(argv))[0].config
    return path


def _chosen(
    path: str, found: Mapping[str, Any], command: str, commands: Mapping[str, Parser]
) -> Configured:
    """What a file says for one command; all of the file is checked."""
    keys = {name: _keys(parser) for name, parser in commands.items()}
    every = {key: action for one in keys.values() for key, action in one.items()}
    tables = [key for key in commands if isinstance(found.get(key), Mapping)]
    common = {key: value for key, value in found.items() if key not in tables}
    own = {key: value for key, value in common.items() if _plain(key) in keys[command]}
    for key, value in common.items():
        if key in commands and _plain(key) not in every:
            raise ValueError(f"{path}: {key} is a command; write [{key}] and its options")
        if key not in own:
            _checked(path, "", {key: value}, every, (keys[command], [*every, *commands]))
    chosen = _checked(path, "", own, keys[command], ())
    for name in tables:
        for key in found[name]:
            of = [one for one in commands if _plain(key) in keys[one]]
            if of and name not in of:
                raise ValueError(
                    f"{path}: [{name}] {key} is no option of {name}, only of {', '.join(of)}"
                )
        values = _checked(path, f"[{name}] ", found[name], keys[name], (keys[name],))
        if name == command:
            chosen = Configured(chosen.values | values.values, chosen.keys | values.keys)
    placed = {
        name: _placed(path, value) if name in PATHS else value
        for name, value in chosen.values.items()
    }
    return chosen._replace(values=placed)


def _keys(parser: Parser) -> dict[str, argparse.Action]:
    """What may be written for a command, with underscores, and what it does."""
    found = {}
    for action in parser._actions:
        if not action.option_strings:
            found[FILES] = action
        for name in action.option_strings:
            if name.startswith("--") and action.dest not in NOT_KEYS:
                found[_plain(name)] = action
    return found


def _plain(key: str) -> str:
    return key.removeprefix("--").replace("-", "_")


def _checked(
    path: str,
    where: str,
    table: Mapping[str, Any],
    keys: Mapping[str, argparse.Action],
    known: Sequence[Iterable[str]],
) -> Configured:
    """What a table says; where a key or value is wrong, ValueError.

    `known` are names of which an unknown one may be a misspelling, the likeliest first.
    """
    chosen: dict[str, Any] = {}
    by: dict[str, str] = {}
    for key, value in table.items():
        action = keys.get(_plain(key))
        if action is None:
            meant = next(filter(None, (hint(key, names) for names in known)), "")
            raise ValueError(f"{path}: {where}unknown key {show(key)}{meant}")
        name = f"{path}: {where}{key}"
        if action.nargs == 0 and not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false; got {_as_toml(value)}")
        if action.nargs == 0 and not value:
            continue
        if action.dest in by:
            raise ValueError(f"{by[action.dest]} and {key} exclude each other")
        by[action.dest] = name
        chosen[action.dest] = _value(name, action, value)
    return Configured(chosen, by)


def _value(name: str, action: argparse.Action, value: Any) -> Any:
    """A value as the command line would give it."""
    if action.nargs == 0:
        return action.const
    several = action.nargs == "+" or type(action).__name__ == "_AppendAction"
    if isinstance(value, list):
        if not several:
            raise ValueError(f"{name} must be one value, not a list")
        if not value:
            raise ValueError(f"{name} must hold at least one value; leave it out for the default")
        return [_one(name, action, one) for one in value]
    return [_one(name, action, value)] if several else _one(name, action, value)


def _one(name: str, action: argparse.Action, value: Any) -> Any:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number and isinstance(value, int) and value.bit_length() > BITS:
        raise ValueError(f"{name} must be a number of at most {BITS} bits, as those of TOML are")
    if action.type is int:
        if not number or isinstance(value, float):
            raise ValueError(f"{name} must be a whole number; got {_as_toml(value)}")
        return value
    if action.type is float:
        if not number:
            raise ValueError(f"{name} must be a number; got {_as_toml(value)}")
        return float(value)
    if action.dest in PATHS and not isinstance(value, str):
        raise ValueError(f"{name} must be the name of a file, as text; got {_as_toml(value)}")
    if action.dest in PATHS and (not value or "\0" in value):
        raise ValueError(f"{name} must be the name of a file; got {_as_toml(value)}")
    if not number and not isinstance(value, str):
        raise ValueError(f"{name} must be text or a number; got {_as_toml(value)}")
    text = str(value)
    if action.choices is not None and text not in action.choices:
        choices = [str(choice) for choice in action.choices]
        raise ValueError(
            f"{name} must be one of {', '.join(choices)}; got {show(text)}{hint(text, choices)}"
        )
    return text


def _as_toml(value: Any) -> str:
    """A value as a file has it, where that differs from how Python shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else show(value)


def _placed(path: str, value: Any) -> Any:
    """Names of files, relative to the folder of the config file."""
    if isinstance(value, list):
        return [_placed(path, one) for one in value]
    return value if value == "-" else os.path.join(os.path.dirname(path), value)
