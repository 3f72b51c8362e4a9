"""The command line: `lightfair assess FILE ...`, `lightfair demo` and other commands.

Each command is a module, whose name ends in `_command`: it adds its parser, and is a function of
the parsed arguments that returns an Answer. Options that commands share are in options.py, what
they mean in arguments.py, where results go in outputs.py, options from a file in config.py. Here a
command is found, and its answer printed.

Exit codes: 0 done, or every check passes; 1 a check fails; 2 bad usage or input, said in one
sentence on standard error; 3 no check fails, and one lacks evidence; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import shlex
import sys
from collections.abc import Sequence
from typing import NoReturn

from ..core import __version__
from . import (
    assess_command,
    compare_command,
    plan_command,
    sql_command,
    summarize_command,
    threshold_command,
)
from .arguments import sentence
from .options import Parser, complete, one_sentence, say

DESCRIPTION = """Group fairness of a binary classifier from few labels and many scores.

first steps:
  lightfair demo                 a report of simulated rows
  lightfair assess scores.csv --label label --score score --group race
  lightfair assess --help        what each option means, with examples
"""

EPILOG = """exit codes: 0 done, or every check passes; 1 a check fails; 2 bad usage or
input; 3 no check fails, and one lacks evidence; 130 stopped by Ctrl-C.

Options may stand in a file: lightfair assess --config lightfair.toml.
Colors are for terminals, and not where NO_COLOR is set.
With argcomplete installed, the shell completes commands, options and columns
after: eval "$(register-python-argcomplete lightfair)"
"""


def run() -> NoReturn:
    """Entry point of the command."""
    # read when NumPy is imported: threads cost more than they give where matrices are small
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if isinstance(sys.stdout, io.TextIOWrapper):  # names that the terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed; send it to a file or to /dev/null")
        try:
            code = main()
        finally:  # of --help, too
            sys.stdout.flush()
    except OSError as error:  # of printing; `main` says those of files
        code = 0
        if not isinstance(error, BrokenPipeError):  # the reader of --help may go
            code = 2
            say(f"lightfair: error: standard output: {(error.strerror or str(error)).lower()}")
        _silence()
    except KeyboardInterrupt:
        code = 130
        say("lightfair: interrupted")
    raise SystemExit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    given = sys.argv[1:] if argv is None else list(argv)
    parser = _parser()
    complete(parser)
    if not given:
        parser.print_help(sys.stderr)
        return 2
    if given[0] == "help":
        given = [*given[1:], "--help"]
    arguments = None
    try:
        arguments = _arguments(parser, given)
        answer = arguments.command(arguments)
    except (ValueError, OSError, ImportError, MemoryError) as error:
        say(f"lightfair: error: {one_sentence(sentence(error, arguments))}")
        return 2
    try:
        print(answer.text.removesuffix("\n"), flush=True)
    except BrokenPipeError:  # the reader may go; the exit code says what it says
        _silence()
    for note in answer.notes:
        say(f"lightfair: note: {one_sentence(note)}")
    for said in answer.errors:
        say(f"lightfair: error: {one_sentence(said)}")
    return 2 if answer.errors else int(answer.code)


def _arguments(parser: Parser, given: list[str]) -> argparse.Namespace:
    """Arguments of the command line, and of the file that it names."""
    keys: dict[str, str] = {}
    if any(one.partition("=")[0] == "--config" for one in given):
        from .config import configure, keys_of, replaced, spelled

        found = configure(parser, given)
        arguments = replaced(parser.parse_args(given), found.values)
        keys = keys_of(arguments, found)
        if keys:  # the file may change; a report says what was in it
            given = [given[0], *spelled(_parser().commands[given[0]], arguments)]
    else:
        arguments = parser.parse_args(given)
    arguments.typed = shlex.join(["lightfair", *given])
    arguments.written = {**parser.commands[given[0]].written, **keys}
    return arguments


def _silence() -> None:
    """What standard output still holds is not written at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _parser() -> Parser:
    parser = Parser(
        prog="lightfair",
        usage="lightfair COMMAND ...",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    commands = parser.add_subparsers(
        title="commands", prog="lightfair", required=True, metavar="COMMAND", parser_class=Parser
    )
    assess_command.add_parser(commands)
    plan_command.add_parser(commands)
    compare_command.add_parser(commands)
    threshold_command.add_parser(commands)
    summarize_command.add_parser(commands)
    sql_command.add_parser(commands)
    assess_command.add_demo_parser(commands)
    general = parser.add_argument_group("general")
    general.add_argument("-h", "--help", action="help", help="show this help")
    general.add_argument(
        "--version",
        action="version",
        version=f"lightfair {__version__}",
        help="show the version",
    )
    return parser
