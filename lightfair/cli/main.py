"""Group fairness of a binary classifier from few labels and many scores.

first steps:
  lightfair demo                 a report of simulated rows
  lightfair assess scores.csv --label label --score score --group race
  lightfair assess --help        what each option means, with examples

exit codes: 0 done, or every check passes; 1 a check fails; 2 bad usage or
input, explained in one sentence on standard error; 3 no check fails, and one
is inconclusive; 130 interrupted by Ctrl-C.
"""

from __future__ import annotations

import argparse
import errno
import inspect
import io
import os
import shlex
import sys
from collections.abc import Sequence
from typing import NoReturn

from ..core import __version__
from . import commands
from .arguments import sentence
from .options import COMMANDS, TABLES, Parser, add_options
from .output import check_outputs
from .terminal import say

# the docstring of this module is the help of `lightfair`, and that of a command is its help

FILE = "rows: CSV with a header, gzipped or not, Parquet, Arrow"
TABLE = "; or a table that summarize wrote; - is standard input"


def run() -> NoReturn:
    """Run the command and exit: the entry point."""
    # read when NumPy is imported: threads cost more than they gain where matrices are small
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if isinstance(sys.stdout, io.TextIOWrapper):  # characters that the terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    code = 0
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed; send it to a file or to /dev/null")
        try:
            code = main()
        finally:  # also after --help, which exits
            sys.stdout.flush()
    except OSError as error:  # from printing; `main` reports those of files
        if not isinstance(error, BrokenPipeError):  # --help may be cut short
            code = 2
            say(f"lightfair: error: standard output: {(error.strerror or str(error)).lower()}")
        _silence()
    except KeyboardInterrupt:
        code = 130
        say("lightfair: interrupted")
    raise SystemExit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser, parsers = make_parsers()
    if not words:
        parser.print_help(sys.stderr)
        return 2
    command, *rest = [*words[1:], "--help"] if words[0] == "help" else words
    known = (*COMMANDS, "--help", "--version")
    if command not in (*known, "-h"):
        from ..core.data.messages import hint

        parser.error(f"there is no command {command}{hint(command, known)}")
    if command not in COMMANDS:
        parser.parse_args([command])
    arguments = parsers[command].parse_args(rest)
    if getattr(arguments, "file", None) == []:
        parsers[command].error("the following arguments are required: FILE")
    arguments.command = command
    arguments.typed = shlex.join(["lightfair", command, *rest])
    try:
        check_outputs(arguments)
        answer = getattr(commands, command)(arguments)
    except (ValueError, OSError, ImportError, MemoryError) as error:
        say(f"lightfair: error: {sentence(error, arguments)}")
        return 2
    say()
    try:
        print(answer.text.removesuffix("\n"), flush=True)
    except BrokenPipeError:  # nobody reads it; the exit code remains
        _silence()
    for message in answer.errors:
        say(f"lightfair: error: {message}")
    return 2 if answer.errors else answer.code


def make_parsers() -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of the command line, and those of its commands."""
    about, _, exits = (__doc__ or "").partition("\n\nexit codes:")
    parser = Parser(prog="lightfair", usage="lightfair COMMAND ...", epilog=f"exit codes:{exits}")
    subparsers = parser.add_subparsers(help=argparse.SUPPRESS, metavar="COMMAND", prog="lightfair")
    lines = [about, "\ncommands:"]
    for command in COMMANDS:
        text = inspect.getdoc(getattr(commands, command)) or "\n\n"
        text, _, examples = text.partition("\n\nexamples:")
        summary, usage, *more = text.split("\n\n")
        lines.append(f"  {command:11} {summary}")
        one: Parser = subparsers.add_parser(
            command,
            usage=usage.removeprefix("usage: "),
            description="\n\n".join([summary, *more]),
            epilog=f"examples:{examples}",
        )
        if command not in ("sql", "demo"):
            help_text = FILE + TABLE * (command in TABLES.split())
            help_text += "; several are added up" * (command != "monitor")
            files = one.add_argument_group("files")
            files.add_argument("file", nargs="*", metavar="FILE", help=help_text)
        add_options(one, command)
    parser.description = "\n".join(lines)
    group = parser.add_argument_group("general")
    group.add_argument("-h", "--help", action="help", help="show this help")
    version = f"lightfair {__version__}"
    group.add_argument("--version", action="version", version=version, help="show the version")
    return parser, dict(subparsers.choices)


def _silence() -> None:
    """Discard what standard output still holds, which would fail again at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
