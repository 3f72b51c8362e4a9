"""The command line: `lightfair assess FILE ...`, `lightfair summarize FILE ...`, `lightfair demo`.

A FILE holds rows, or is a table that `summarize` wrote. Rows are read in chunks into a table.
`lightfair sql` prints the query that makes a table where the rows are. Each command is a function
of its arguments that returns what is to be printed, with an exit code where it is not 0.

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
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import IO, Any, NoReturn

from . import plan_command
from ._version import __version__

PROGRESS_AFTER = 2.0  # seconds
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
        print(f"lightfair: error: {_sentence(error)}", file=sys.stderr)
        return 2
    printed, code = answer if isinstance(answer, tuple) else (answer, 0)
    print(printed)
    return int(code)


def assess_files(arguments: argparse.Namespace) -> tuple[str, int]:
    """Assess the rows and tables of files."""
    if arguments.subsample_labels is not None:
        return _printed(arguments, _subsampled(arguments))
    from .assessing import assess_table

    settings = _settings(arguments)
    progress = _progress()
    table = _gathered(arguments, progress)
    settings = replace(settings, clip=table.clip)
    given = _threshold(arguments.threshold)
    if isinstance(given, list) and tuple(given) != table.cuts:
        from .thresholds import for_table

        settings = replace(settings, thresholds=for_table(given, table))
    result = assess_table(table, settings, rng=_seed(arguments.seed), progress=progress)
    return _printed(arguments, result)


def summarize_files(arguments: argparse.Namespace) -> str:
    """Add up the rows and tables of files into a table, and write it."""
    from .report import one_line, rows_line
    from .stored import check_target, to_text

    to_stdout = arguments.output == "-"
    if not to_stdout:
        check_target(arguments.output)
        _refuse_overwriting(arguments.output)
    given = _threshold(arguments.threshold)
    if given == "all":
        raise ValueError("--threshold all is for assess; every table has what it needs")
    table = _gathered(arguments, _progress())
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

    if _columns(arguments) is None:
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
        threshold=_threshold(arguments.threshold),
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
    rows = simulate(arguments.rows, arguments.rows, _seed(arguments.seed))
    arguments.subsample_labels = arguments.labeled
    data = score_data(rows.y_all, rows.y_score, sensitive_features={"group": rows.group})
    return _printed(arguments, _hidden(arguments, data, _settings(arguments)))


def _printed(arguments: argparse.Namespace, result: Any) -> tuple[str, int]:
    """The report of a result, and the exit code that its checks ask for."""
    from .verdict import exit_code

    code = exit_code(result.checks)
    if arguments.json:
        return json.dumps(result.to_dict(), indent=2, allow_nan=False), code
    return str(result), code


def _gathered(arguments: argparse.Namespace, progress: _Progress | None) -> Any:
    """The table of all files."""
    from .summary import gather_tables

    columns, door = _columns(arguments), _door(arguments)
    table = gather_tables(
        _sources(arguments),
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


def _subsampled(arguments: argparse.Namespace) -> Any:
    """Read all rows into memory: labels are hidden row by row."""
    settings = _settings(arguments)
    data = _all_rows(arguments, "--subsample-labels", settings.clip)
    return _hidden(arguments, data, settings)


def _all_rows(arguments: argparse.Namespace, option: str, clip: float) -> Any:
    """Read all rows into memory, for an option that looks at them one by one."""
    from .summary import read_rows

    columns = _columns(arguments)
    if columns is None:
        raise ValueError(f"{option} needs rows: give --label, --score and --group")
    progress = _progress()
    data = read_rows(
        _sources(arguments),
        columns,
        _door(arguments),
        clip=clip,
        progress=None if progress is None else progress.read,
    )
    if progress is not None:
        progress.clear()
    return data


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
    stream = np.random.default_rng([_seed(arguments.seed), 1])
    shown = hide_labels(data.label, arguments.subsample_labels, stream)
    label = np.where(np.isnan(shown), -1, shown).astype(np.int8)
    return assess_data(
        replace(data, label=label),
        settings,
        rng=_seed(arguments.seed),
        truth=data,
        progress=_progress(),
    )


def _settings(arguments: argparse.Namespace) -> Any:
    from .metrics import DEFAULT_METRICS
    from .model import Prior
    from .settings import Settings

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
        simultaneous=arguments.simultaneous,
        checks=arguments.check or (),
        clip=0.01 if arguments.clip is None else arguments.clip,
        chains=arguments.chains,
        draws=arguments.draws,
        warmup=arguments.warmup,
        thresholds="all" if getattr(arguments, "threshold", None) == ["all"] else None,
    )


def _columns(arguments: argparse.Namespace) -> Any:
    """The columns that rows are read from; None where none is named."""
    from .reading import Columns

    given = {name: getattr(arguments, name) for name in ("label", "score", "group")}
    if not any(given.values()):
        return None
    absent = [f"--{name}" for name, value in given.items() if not value]
    if absent:
        raise ValueError(
            f"rows need --label, --score and --group; got no {' and no '.join(absent)}"
        )
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


def _door(arguments: argparse.Namespace) -> Any:
    from .data import Door

    threshold = _threshold(arguments.threshold)
    return Door(
        threshold=0.5 if threshold == "all" else threshold,
        decided=arguments.pred is not None,
        positive_label=arguments.positive_label,
        unlabeled=arguments.unlabeled,
        missing=arguments.missing or "raise",
    )


def _sources(arguments: argparse.Namespace) -> list[Any]:
    paths = arguments.file
    names = [os.path.realpath(path) if path != "-" else path for path in paths]
    twice = [path for path, name in zip(paths, names, strict=True) if names.count(name) > 1]
    if twice:
        raise ValueError(f"{twice[0]} is given twice; its rows would count twice")
    if "-" in paths and sys.stdin is None:
        raise ValueError("standard input is closed; give the name of a file instead of -")
    return [sys.stdin.buffer if path == "-" else path for path in paths]


def _refuse_overwriting(path: str) -> None:
    """A table may be written over, anything else is likely data."""
    if os.path.isfile(path) and os.path.getsize(path):
        with open(path, "rb") as file:
            if file.read(1) != b"{":
                raise ValueError(f"{path} is there and is no table; it would be overwritten")


def _seed(seed: int) -> int:
    if seed < 0:
        raise ValueError(f"--seed must be at least 0; got {seed}")
    return seed


def _threshold(values: list[str] | None) -> Any:
    """One number for all groups, several, "all", or GROUP=NUMBER for each."""
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


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        hint = "; all stands alone" if text == "all" else ""
        raise ValueError(f"--threshold must be a number in (0, 1); got {text!r}{hint}") from None


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror.lower()}"
    text = " ".join(str(error).split())
    for argument, option in OPTIONS.items():
        text = text.replace(argument, option)
    return text.replace(" ;", ";").rstrip()


ROWS = (
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
OPTIONS = {  # how an argument of the library is given on the command line
    "positive_label=": "--positive-label ",
    "unlabeled=": "--unlabeled ",
    "pass decisions as y_pred=": "pass decisions as --pred",
    'missing="': "--missing ",
    'drop" or': "drop or",
    'group"': "group",
    "rows are read by summarize, given the names of their columns": (
        "give --label, --score and --group"
    ),
    "; see load_table": "",
    "; a metric of your own is a lightfair.Metric": "",
    "pass the levels as a tuple": 'write them as "LEVEL, LEVEL=NUMBER"',
    "Prior.mu_a_sd": "--alpha times a scale of the prior",
}


def _progress() -> _Progress | None:
    return _Progress(sys.stderr) if sys.stderr.isatty() else None


class _Progress:
    """A line on a terminal, rewritten in place, for work that takes longer than two seconds."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self.begun = time.monotonic()
        self.shown = False

    def __call__(self, stage: str, done: int, total: int) -> None:
        if time.monotonic() - self.begun > PROGRESS_AFTER:
            self.stream.write(f"\r\x1b[K{stage}: {done:,} of {total:,}")
            self.shown = True
        if stage == "draws" and done == total:
            self.clear()
        self.stream.flush()

    def read(self, rows: int) -> None:
        """Show how many rows have been read; how many there are is not known."""
        if time.monotonic() - self.begun > PROGRESS_AFTER:
            self.stream.write(f"\r\x1b[Krows read: {rows:,}")
            self.shown = True
            self.stream.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self.shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one sentence, without the usage."""
        print(f"lightfair: error: {message}; see {self.prog} --help", file=sys.stderr)
        raise SystemExit(2)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="lightfair",
        allow_abbrev=False,
        description="Group fairness of a binary classifier from few labels and many scores.",
    )
    parser.add_argument("--version", action="version", version=f"lightfair {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
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
    rows = _add_rows(parser)
    rows.add_argument(
        "--subsample-labels",
        type=int,
        metavar="N",
        help="hide all labels but N random ones; print the truth from all beside the estimates; "
        "holds all rows in memory",
    )
    _add_common(parser)
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
    rows = _add_rows(parser)
    _add_clip(rows)
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
    _add_columns(rows, "NULL, empty = unlabeled")
    rows.add_argument("--clip", type=float, default=0.01, help="clip scores (0.01)")
    parser.set_defaults(command=print_query)


def _demo_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "demo", help="assess simulated rows whose truth is known", allow_abbrev=False
    )
    parser.add_argument("--rows", type=int, default=10_000, help="rows (10000)")
    parser.add_argument("--labeled", type=int, default=200, help="labeled rows (200)")
    _add_common(parser)
    parser.set_defaults(command=demo)


def _add_rows(parser: argparse.ArgumentParser) -> Any:
    parser.add_argument(
        "file",
        nargs="+",
        metavar="FILE",
        help="rows: CSV with a header, gzipped or not, Parquet, Arrow; or a table that summarize "
        "wrote; - is stdin; several are added up",
    )
    rows = parser.add_argument_group("columns and rows, where a FILE holds rows")
    _add_columns(rows, "empty, NA = unlabeled")
    return rows


def _add_columns(rows: Any, unlabeled: str) -> None:
    rows.add_argument("--label", metavar="COL", help=f"labels; {unlabeled}")
    rows.add_argument("--score", metavar="COL", help="scores in [0, 1]")
    rows.add_argument("--group", action="append", metavar="COL", help="attribute; more are crossed")
    rows.add_argument("--pred", metavar="COL", help="decisions, 0 or 1, instead of a threshold")
    rows.add_argument("--weight", metavar="COL", help="row weights")
    rows.add_argument(
        "--label-prob", metavar="COL", help="probability with which a row was chosen for labeling"
    )
    rows.add_argument("--positive-label", metavar="VALUE", help="label of the positive class")
    rows.add_argument("--unlabeled", metavar="VALUE", help="label that means unlabeled")
    rows.add_argument(
        "--missing", choices=("raise", "drop", "group"), help="missing groups (raise)"
    )
    rows.add_argument(
        "--threshold",
        action="append",
        metavar="NUMBER",
        help="positive from here on (0.5); more are compared; GROUP=NUMBER, repeated, sets one per "
        "group; all compares a grid",
    )


def _add_clip(group: Any) -> None:
    group.add_argument("--clip", type=float, help="clip scores (0.01; of tables, theirs)")


def _add_common(parser: argparse.ArgumentParser) -> None:
    what = parser.add_argument_group("what to report")
    what.add_argument(
        "--metric",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="one or more metrics (accuracy tpr fpr selection_rate)",
    )
    what.add_argument("--reference", metavar="NAME", help="group to compare with (the largest)")
    what.add_argument("--target", default="sample", help="sample (default), expected, population")
    what.add_argument("--prob", type=float, default=0.95, help="mass of intervals (0.95)")
    what.add_argument("--epsilon", type=float, default=0.05, help="a small difference (0.05)")
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
    what.add_argument("--json", action="store_true", help="print JSON")
    how = parser.add_argument_group("model and sampler")
    how.add_argument("--family", default="beta", help="beta (default), llo, temperature")
    prior = how.add_mutually_exclusive_group()
    prior.add_argument(
        "--no-hierarchical", dest="hierarchical", action="store_false", help="share no prior"
    )
    prior.add_argument(
        "--nested",
        dest="hierarchical",
        action="store_const",
        const="nested",
        default=True,
        help="several --group: groups of a level share its effects",
    )
    how.add_argument(
        "--no-trust", dest="trust", action="store_false", help="the curve alone, as in the paper"
    )
    how.add_argument(
        "--alpha", type=float, default=1.0, help="factor on the six scales of the curve's prior (1)"
    )
    _add_clip(how)
    how.add_argument("--chains", type=int, help="chains (16 for small fits, 4 for large ones)")
    how.add_argument("--draws", type=int, help="draws of each chain (3200 / chains)")
    how.add_argument("--warmup", type=int, help="sweeps of warm-up (80 or 200)")
    how.add_argument("--seed", type=int, default=0, help="seed (0)")
