"""The command line: `lightfair assess FILE ...`, `lightfair summarize FILE ...`, `lightfair demo`.

A FILE holds rows, or is a table that `summarize` wrote. Rows are read in chunks into a table.
`lightfair sql` prints the query that makes a table where the rows are. Each command is a function
of its arguments that returns what is to be printed, with an exit code where it is not 0. Options
that commands share are in options.py, what they mean in arguments.py; `lightfair plan` is in
plan_command.py.

Exit codes: 0 done, or every check passes; 1 a check fails; 2 bad usage or input, said in one
sentence on standard error; 3 no check fails, and one lacks evidence.
"""

from __future__ import annotations

import argparse
import errno
import io
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

from . import plan_command
from ._version import __version__
from .arguments import (
    check_output,
    columns_of,
    rows_of,
    seed_of,
    sentence,
    settings_of,
    table_of,
    threshold_of,
)
from .options import Parser, add_clip, add_columns, add_common, add_rows
from .progress import progress_line

SQL_EXAMPLES = """examples:
  lightfair sql --dialect duckdb --table scores --label label --score score --group race
  lightfair sql --dialect postgres --table public.scores --label repaid --positive-label yes \\
      --score score --group race --group sex --threshold 0.6 > query.sql
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
        if not isinstance(error, BrokenPipeError):  # the reader of a pipe may go
            code = 2
            why = (error.strerror or str(error)).lower()
            print(f"lightfair: error: standard output: {why}", file=sys.stderr)
        if sys.stdout is not None:  # what it still holds is not written at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except KeyboardInterrupt:
        code = 130
    raise SystemExit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    try:
        arguments = _parser().parse_args(argv)
        answer = arguments.command(arguments)
    except (ValueError, OSError, ImportError) as error:
        print(f"lightfair: error: {sentence(error)}", file=sys.stderr)
        return 2
    printed, code = answer if isinstance(answer, tuple) else (answer, 0)
    print(printed)
    return int(code)


def assess_files(arguments: argparse.Namespace) -> tuple[str, int]:
    """Assess the rows and tables of files."""
    if arguments.subsample_labels is not None:
        return _printed(arguments, _subsampled(arguments))
    from .assessing import assess_table

    settings = settings_of(arguments)
    progress = progress_line()
    table = table_of(arguments, progress)
    settings = replace(settings, clip=table.clip)
    given = threshold_of(arguments)
    if isinstance(given, list) and tuple(given) != table.cuts:
        from .thresholds import for_table

        settings = replace(settings, thresholds=for_table(given, table))
    result = assess_table(table, settings, rng=seed_of(arguments), progress=progress)
    return _printed(arguments, result)


def summarize_files(arguments: argparse.Namespace) -> str:
    """Add up the rows and tables of files into a table, and write it."""
    from .showing import one_line, rows_line
    from .stored import to_text

    to_stdout = arguments.output == "-"
    if not to_stdout:
        check_output(arguments.output)
    given = threshold_of(arguments)
    if given == "all":
        raise ValueError("--threshold all is for assess; every table has what it needs")
    table = table_of(arguments, progress_line())
    if isinstance(given, list) and tuple(given) != table.cuts:
        raise ValueError(
            "--threshold must be left out where every FILE holds a table: rows are kept apart by "
            "several thresholds where a table is built"
        )
    if to_stdout:
        return to_text(table).removesuffix("\n")
    table.save(arguments.output)
    notes = [one_line(f"warning ({note.code}): {note.message}") for note in table.notes]
    return "\n".join([f"{arguments.output}: {rows_line(table)}", *notes])


def print_query(arguments: argparse.Namespace) -> str:
    """Write the query of a table that a database holds."""
    from .sql import sql_query

    if columns_of(arguments) is None:
        raise ValueError("sql needs the names of columns; give --label, --score and --group")
    if arguments.label_prob is not None:
        raise ValueError(
            "sql does not carry --label-prob; summarize the labeled rows with it, and add the "
            "table of the unlabeled ones that the query makes"
        )
    return sql_query(
        dialect=arguments.dialect,
        table=arguments.table,
        y_true=arguments.label,
        y_score=arguments.score,
        sensitive_features=arguments.group,
        y_pred=arguments.pred,
        threshold=threshold_of(arguments),
        sample_weight=arguments.weight,
        clip=arguments.clip,
        positive_label=arguments.positive_label,
        unlabeled=arguments.unlabeled,
        missing=arguments.missing or "raise",
    )


def demo(arguments: argparse.Namespace) -> tuple[str, int]:
    """Assess simulated rows whose truth is known."""
    from .data import score_data
    from .simulation import simulate

    if not 0 <= arguments.labeled <= arguments.rows or arguments.rows < 1:
        raise ValueError(
            f"--labeled must lie in [0, --rows]; got {arguments.labeled} and {arguments.rows}"
        )
    rows = simulate(arguments.rows, arguments.rows, seed_of(arguments))
    arguments.subsample_labels = arguments.labeled
    data = score_data(rows.y_all, rows.y_score, sensitive_features={"group": rows.group})
    return _printed(arguments, _hidden(arguments, data, settings_of(arguments)))


def _printed(arguments: argparse.Namespace, result: Any) -> tuple[str, int]:
    """The report of a result, and the exit code that its checks ask for."""
    from .verdict import exit_code

    code = exit_code(result.checks)
    if arguments.json:
        return json.dumps(result.to_dict(), indent=2, allow_nan=False), code
    return str(result), code


def _subsampled(arguments: argparse.Namespace) -> Any:
    """Read all rows into memory: labels are hidden row by row."""
    settings = settings_of(arguments)
    data = rows_of(arguments, "--subsample-labels", settings.clip)
    return _hidden(arguments, data, settings)


def _hidden(arguments: argparse.Namespace, data: Any, settings: Any) -> Any:
    """Assess rows with all but some labels hidden."""
    import numpy as np

    from .assessing import assess_data
    from .simulation import hide_labels

    known = int((data.label >= 0).sum())
    if not 0 <= arguments.subsample_labels <= known:
        raise ValueError(
            f"--subsample-labels must lie in [0, {known}], the number of labels; got "
            f"{arguments.subsample_labels}"
        )
    stream = np.random.default_rng([seed_of(arguments), 1])
    shown = hide_labels(data.label, arguments.subsample_labels, stream)
    label = np.where(np.isnan(shown), -1, shown).astype(np.int8)
    return assess_data(
        replace(data, label=label),
        settings,
        rng=seed_of(arguments),
        truth=data,
        progress=progress_line(),
    )


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="lightfair",
        allow_abbrev=False,
        description="Group fairness of a binary classifier from few labels and many scores.",
    )
    parser.add_argument("--version", action="version", version=f"lightfair {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    _assess_parser(commands)
    _summarize_parser(commands)
    _sql_parser(commands)
    _demo_parser(commands)
    plan_command.add_parser(commands)
    return parser


def _assess_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "assess", help="assess rows, or tables of them", allow_abbrev=False
    )
    rows = add_rows(parser)
    rows.add_argument(
        "--subsample-labels",
        type=int,
        metavar="N",
        help="hide all labels but N random ones; print the truth from all beside the estimates; "
        "holds all rows in memory",
    )
    add_common(parser)
    parser.set_defaults(command=assess_files)


def _summarize_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "summarize",
        help="read rows into a table, add up tables",
        description="Read rows, in chunks, and tables, and write the table of all.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="TABLE", help="file to write; - prints the table"
    )
    rows = add_rows(parser)
    add_clip(rows)
    parser.set_defaults(command=summarize_files)


def _sql_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "sql",
        help="print the query that makes a table where the rows are",
        description="Print one SELECT. Its result, row by row, is what the Python method "
        "ScoreTable.from_rows takes.",
        epilog=SQL_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--dialect", required=True, help="duckdb, spark, postgres, bigquery")
    parser.add_argument(
        "--table", required=True, help="table or view; dots separate catalog, schema and name"
    )
    rows = parser.add_argument_group("columns and rows")
    add_columns(rows, "NULL, empty = unlabeled")
    rows.add_argument("--clip", type=float, default=0.01, help="clip scores (0.01)")
    parser.set_defaults(command=print_query)


def _demo_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "demo", help="assess simulated rows whose truth is known", allow_abbrev=False
    )
    parser.add_argument("--rows", type=int, default=10_000, help="rows (10000)")
    parser.add_argument("--labeled", type=int, default=200, help="labeled rows (200)")
    add_common(parser)
    parser.set_defaults(command=demo)
