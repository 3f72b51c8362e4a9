"""Options: those that several commands of the command line share, and how they are described.

What they mean is in arguments.py; where results go is in outputs.py.

Completion: names on the command line completed by the shell, where argcomplete is installed.

    pip install argcomplete
    eval "$(register-python-argcomplete lightfair)"        # in ~/.bashrc or ~/.zshrc

Commands, options and their choices are completed, names of metrics, and the columns of the FILEs
that stand before them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from ..core.data.messages import hint
from .terminal import understands

METRICS = (
    "one or more of accuracy, tpr, fpr, selection_rate (these four where none is named), tnr, fnr, "
    "ppv, npv, false_discovery_rate, false_omission_rate, base_rate, f1, balanced_accuracy, "
    "treatment_equality, auc, brier, ece, calibration_in_the_large, balance_positive, "
    "balance_negative, average_score, cost(fp=NUMBER,fn=NUMBER)"
)

COMPARED = "; several are compared"

WIDTH = 80  # columns of the help, or fewer on a narrow terminal


class Help(argparse.RawDescriptionHelpFormatter):
    """Help in at most 80 columns; texts around the options stay as they are written."""

    def __init__(self, prog: str, **options: Any) -> None:
        width = min(shutil.get_terminal_size().columns, WIDTH)
        super().__init__(prog, **{"max_help_position": 26, "width": width, **options})

    def _format_action(self, action: argparse.Action) -> str:
        """Commands stand as options do, without a line of their own above them."""
        if isinstance(action, argparse._SubParsersAction):
            return "".join(map(super()._format_action, action._get_subactions()))
        return super()._format_action(action)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, with exit code 2, and name what was likely meant.

    Options may not be shortened: one that is added later must not change what a script means.
    `add_general` adds --help, so that it stands below the others.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options = {"formatter_class": Help, "allow_abbrev": False, "add_help": False, **options}
        super().__init__(*arguments, **options)

    @property
    def commands(self) -> dict[str, Parser]:
        """Parsers of the commands, by name."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return dict(action.choices)
        return {}

    @property
    def options(self) -> dict[str, argparse.Action]:
        """Long options with their two hyphens, and what they do."""
        return {
            name: action
            for action in self._actions
            for name in action.option_strings
            if name.startswith("--")
        }

    @property
    def written(self) -> dict[str, str]:
        """How arguments that take a value are called, by their names."""
        return {action.dest: name for name, action in self.options.items() if action.nargs != 0}

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Refuse unknown options before anything that they may have caused is complained of."""
        given = sys.argv[1:] if args is None else list(args)
        own = given[: given.index("--")] if "--" in given else given
        commands = self.commands
        if commands:
            at = next((i for i, one in enumerate(own) if not one.startswith("-")), len(own))
            if own[at:] and own[at] in commands:
                commands[own[at]]._refuse_unknown(own[at + 1 :], commands)
            own = own[:at]
        self._refuse_unknown(own, {})
        return super().parse_known_args(given, namespace)

    def _refuse_unknown(self, given: Sequence[str], commands: Mapping[str, Parser]) -> None:
        """Refuse options that this command does not have; others may."""
        for name in (one.partition("=")[0] for one in given):
            if not name.startswith("--") or " " in name or name in self.options:
                continue
            of = [command for command, parser in commands.items() if name in parser.options]
            if of:
                self.error(f"unrecognized arguments: {name} is an option of {' and '.join(of)}")
            self.error(f"unrecognized arguments: {name}{hint(name, self.options)}")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Say what a number is that is none, without names of types."""
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as error:
            if action.type not in (int, float):
                raise
            kind = "a whole number" if action.type is int else "a number"
            raise argparse.ArgumentError(action, f"must be {kind}; got {arg_string!r}") from error

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            raise argparse.ArgumentError(
                action,
                f"invalid choice: {value!r}{hint(str(value), choices)}; there are "
                f"{', '.join(choices)}",
            )

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one sentence, without the usage."""
        say(f"lightfair: error: {one_sentence(message)}; see {self.prog} --help")
        raise SystemExit(2)


def say(line: str) -> None:
    """Say it on standard error, in place of a line of progress, where anybody listens."""
    if sys.stderr is None:
        return
    clear = "\r\x1b[K" if understands(sys.stderr) else ""
    try:
        print(f"{clear}{line}", file=sys.stderr, flush=True)
    except OSError:  # the exit code says it, too; what is not written is not tried again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def one_sentence(text: str) -> str:
    """A message in one line; characters that are no print, as of file names, are escapes."""
    text = " ".join(text.split())
    if not text.isprintable():
        from ..core.data.messages import one_line

        text = one_line(text)
    return text


def add_files(parser: argparse.ArgumentParser, *, tables: bool = True) -> None:
    """Add the files; without `tables` they hold rows, and are read more than once."""
    also = "; or a table that summarize wrote; - is standard input" if tables else ""
    parser.add_argument_group("files").add_argument(
        "file",
        nargs="+",
        metavar="FILE",
        help="rows: CSV with a header, gzipped or not, Parquet, Arrow" + also + "; several are "
        "added up",
    )


def add_rows(parser: argparse.ArgumentParser, compared: str = "") -> Any:
    """Add files and how their rows are read; return the group of the latter."""
    add_files(parser)
    rows = parser.add_argument_group("columns and rows, where a FILE holds rows")
    add_columns(rows, "empty, NA = unlabeled", compared)
    return rows


def add_columns(rows: Any, unlabeled: str, compared: str = "") -> None:
    """Add the columns of rows, and what is in them.

    `unlabeled` says which labels are none, `compared` what more than one threshold does.
    """
    rows.add_argument("--label", metavar="COL", help=f"labels; {unlabeled}")
    rows.add_argument("--score", metavar="COL", help="scores in [0, 1]")
    rows.add_argument("--group", action="append", metavar="COL", help="attribute; more are crossed")
    add_decisions(rows, compared)
    add_details(rows)


def add_decisions(rows: Any, compared: str = "") -> None:
    """Add what decides."""
    rows.add_argument("--pred", metavar="COL", help="decisions, 0 or 1, instead of a threshold")
    rows.add_argument(
        "--threshold",
        action="append",
        metavar="NUMBER",
        help="positive from here on (0.5); GROUP=NUMBER, repeated, sets one per group" + compared,
    )


def add_details(rows: Any) -> None:
    """Add what else may be said of rows."""
    rows.add_argument("--weight", metavar="COL", help="row weights")
    rows.add_argument(
        "--label-prob", metavar="COL", help="probability with which a row was chosen for labeling"
    )
    rows.add_argument("--positive-label", metavar="VALUE", help="label of the positive class")
    rows.add_argument("--unlabeled", metavar="VALUE", help="label that means unlabeled")
    rows.add_argument(
        "--missing",
        choices=("raise", "drop", "group"),
        metavar="HOW",
        help="rows without a group: raise (default), drop, group",
    )


def add_clip(group: Any) -> None:
    """Add the clip, that of tables where none is given."""
    group.add_argument(
        "--clip", type=float, metavar="X", help="clip scores (0.01; of tables, theirs)"
    )


def add_general(parser: argparse.ArgumentParser) -> None:
    """Add the file of options, and the help."""
    group = parser.add_argument_group("general")
    group.add_argument(
        "--config",
        metavar="TOML",
        help="file of options, for runs that are repeated; the command line wins",
    )
    group.add_argument("-h", "--help", action="help", help="show this help")


def add_common(
    parser: argparse.ArgumentParser, *, judged: bool = True, metrics: str = METRICS
) -> None:
    """Add what to report, and the model and sampler.

    Without `judged`, no options that a report alone has: limits, and intervals that hold at once.
    `metrics` says what --metric takes.
    """
    what = add_what(parser, metrics=metrics)
    if judged:
        what.add_argument(
            "--simultaneous", action="store_true", help="add intervals that hold all at once"
        )
        what.add_argument(
            "--check",
            action="append",
            metavar="CHECK",
            help='limit on gaps between groups, such as "tpr<=0.05", "equalized_odds<=0.1" or '
            '"selection_rate ratio>=0.8"; the exit code is 0 where all pass, 1 where one fails, 3 '
            "where evidence is lacking",
        )
    add_model(parser)


def add_what(parser: argparse.ArgumentParser, *, metrics: str) -> Any:
    """Add what to report; return its group."""
    what = parser.add_argument_group("what to report")
    what.add_argument("--metric", nargs="+", action="extend", metavar="NAME", help=metrics)
    what.add_argument("--reference", metavar="NAME", help="group to compare with (the largest)")
    what.add_argument(
        "--target", default="sample", metavar="WHAT", help="sample (default), expected, population"
    )
    what.add_argument(
        "--prob", type=float, default=0.95, metavar="P", help="mass of intervals (0.95)"
    )
    what.add_argument(
        "--epsilon", type=float, default=0.05, metavar="X", help="a small difference (0.05)"
    )
    return what


def add_model(parser: argparse.ArgumentParser, *, nested: bool = False) -> None:
    """Add the model and sampler; with `nested` effects are shared unless an option says no."""
    how = parser.add_argument_group("model and sampler")
    how.add_argument(
        "--family", default="beta", metavar="NAME", help="beta (default), llo, temperature"
    )
    usual: bool | str = "nested" if nested else True
    prior = how.add_mutually_exclusive_group()
    prior.add_argument(
        "--no-hierarchical",
        dest="hierarchical",
        action="store_const",
        const=False,
        default=usual,
        help="share no prior",
    )
    prior.add_argument(
        "--no-nested" if nested else "--nested",
        dest="hierarchical",
        action="store_const",
        const=True if nested else "nested",
        default=usual,
        help="groups and decisions share a prior as equals"
        if nested
        else "several --group: groups of a level share its effects",
    )
    how.add_argument(
        "--no-trust", dest="trust", action="store_false", help="the curve alone, as in the paper"
    )
    how.add_argument(
        "--alpha",
        type=float,
        default=1.0,
        metavar="X",
        help="factor on the six scales of the curve's prior (1)",
    )
    add_clip(how)
    how.add_argument(
        "--chains", type=int, metavar="N", help="chains (16 for small fits, 4 for large ones)"
    )
    how.add_argument(
        "--draws",
        type=int,
        metavar="N",
        help="draws of each chain, more where needed (3200 / chains)",
    )
    how.add_argument("--warmup", type=int, metavar="N", help="sweeps of warm-up (80 or 200)")
    how.add_argument("--seed", type=int, default=0, metavar="N", help="seed (0)")


OF_COLUMNS = ("label", "score", "group", "pred", "weight", "label_prob")


def complete(parser: Parser) -> None:
    """Answer the shell and exit, where it is the shell that asks; else do nothing."""
    if "_ARGCOMPLETE" not in os.environ:
        return
    try:
        import argcomplete
    except ImportError:
        return
    for command in parser.commands.values():
        for action in command._actions:
            if action.dest in OF_COLUMNS:
                action.completer = _columns  # type: ignore[attr-defined]
            elif action.dest == "metric":
                action.completer = _metrics  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)


def _columns(parsed_args: Any, **_: Any) -> list[str]:
    """Names of columns of the files so far."""
    from ..io.files import header

    found: dict[str, None] = {}
    for path in parsed_args.file or ():
        try:
            found |= dict.fromkeys(header(path))
        except (OSError, ValueError, ImportError):  # it holds no rows
            continue
    return list(found)


def _metrics(**_: Any) -> list[str]:
    from ..core.metrics.definitions import METRICS

    return list(METRICS)
