"""The command line: `lightfair assess FILE ...` and `lightfair demo`.

Exit codes: 0 done, 2 bad usage or input, said in one sentence on standard error.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import os
import sys
import time
import zlib
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import IO, Any, NoReturn

from ._version import __version__

PROGRESS_AFTER = 2.0  # seconds
UNLABELED = ("", "na", "nan", "null", "none", "<na>")  # labels that say that there is none


def run() -> NoReturn:
    """Entry point of the command."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # names that the terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe has gone: not an error of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
    except KeyboardInterrupt:
        code = 130
    raise SystemExit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    try:
        arguments = _parser().parse_args(argv)
        result = arguments.command(arguments)
    except (ValueError, OSError, ImportError, csv.Error) as error:
        print(f"lightfair: error: {_sentence(error)}", file=sys.stderr)
        return 2
    if arguments.json:
        print(json.dumps(result.to_dict(), indent=2, allow_nan=False))
    else:
        print(result)
    return 0


def assess_file(arguments: argparse.Namespace) -> Any:
    """Assess the rows of a CSV file."""
    from .data import score_data

    names = [arguments.label, arguments.score, *arguments.group]
    names += [name for name in (arguments.pred, arguments.weight) if name is not None]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"a column has one role; {twice[0]} was given two")
    columns = read_columns(arguments.file, names)
    data = score_data(
        ["" if text.lower() in UNLABELED else text for text in columns[arguments.label]],
        numbers(arguments.score, columns[arguments.score]),
        sensitive_features={name: columns[name] for name in arguments.group},
        y_pred=None if arguments.pred is None else numbers(arguments.pred, columns[arguments.pred]),
        threshold=_threshold(arguments.threshold),
        sample_weight=(
            None
            if arguments.weight is None
            else numbers(arguments.weight, columns[arguments.weight])
        ),
        positive_label=arguments.positive_label,
        unlabeled=arguments.unlabeled,
        missing=arguments.missing,
    )
    return _assess(arguments, data)


def demo(arguments: argparse.Namespace) -> Any:
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
    return _assess(arguments, data)


def read_columns(path: str, names: Sequence[str]) -> dict[str, list[str]]:
    """Read columns of a CSV file, gzipped or not, as text; "-" is standard input."""
    with _opened(path) as raw:
        magic = raw.peek(2)[:2]
        binary: Any = gzip.GzipFile(fileobj=raw) if magic == b"\x1f\x8b" else raw
        try:
            lines = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
            return _columns(path, csv.reader(lines, strict=True), names)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} is not a whole gzip file: {error}") from error
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not UTF-8 text: {error.reason}") from error


def numbers(name: str, column: Sequence[str]) -> Any:
    """Turn text into float64, empty text into NaN; name the first cell that is not a number."""
    import numpy as np

    values = np.empty(len(column))
    for row, text in enumerate(column):
        try:
            values[row] = float(text) if text.strip() else np.nan
        except ValueError:
            raise ValueError(
                f"column {name} must hold numbers; got {text!r} at row {row}"
            ) from None
    return values


def _columns(path: str, reader: Any, names: Sequence[str]) -> dict[str, list[str]]:
    header = next(reader, None)
    if header is None:
        raise ValueError(f"{path} is empty; it must have a header line and rows")
    header = [name.strip() for name in header]
    for name in names:
        if header.count(name) != 1:
            how = "no column" if name not in header else "more than one column"
            hint = "; cells must be separated by commas" if len(header) == 1 else ""
            raise ValueError(f"{path} has {how} {name}; its columns are {', '.join(header)}{hint}")
    places = {name: header.index(name) for name in names}
    columns: dict[str, list[str]] = {name: [] for name in places}
    for line in reader:
        if not line:
            continue
        if len(line) != len(header):
            raise ValueError(
                f"{path} must have as many cells in each line as in its header, {len(header)}; "
                f"got {len(line)} in line {reader.line_num}"
            )
        for name, place in places.items():
            columns[name].append(line[place].strip())
    if not columns[names[0]]:
        raise ValueError(f"{path} has a header but no rows")
    return columns


def _opened(path: str) -> Any:
    if path == "-":
        return nullcontext(sys.stdin.buffer)
    if os.path.isdir(path):
        raise ValueError(f"{path} is a folder; give a CSV file")
    return open(path, "rb")


def _assess(arguments: argparse.Namespace, data: Any) -> Any:
    import numpy as np

    from .assessment import assess_data
    from .metrics import DEFAULT_METRICS
    from .model import Prior
    from .settings import Settings
    from .simulation import hide_labels

    truth = None
    if arguments.subsample_labels is not None:
        known = int((data.label >= 0).sum())
        if not 0 <= arguments.subsample_labels <= known:
            raise ValueError(
                f"--subsample-labels must lie in [0, {known}], the number of labels; got "
                f"{arguments.subsample_labels}"
            )
        truth = data
        stream = np.random.default_rng([_seed(arguments.seed), 1])
        shown = hide_labels(data.label, arguments.subsample_labels, stream)
        label = np.where(np.isnan(shown), -1, shown).astype(np.int8)
        data = replace(data, label=label)
    settings = Settings(
        metrics=arguments.metric or DEFAULT_METRICS,
        reference=arguments.reference,
        family=arguments.family,
        hierarchical=arguments.hierarchical,
        prior=Prior().scaled(arguments.alpha),
        trust=arguments.trust,
        target=arguments.target,
        prob=arguments.prob,
        epsilon=arguments.epsilon,
        clip=arguments.clip,
        chains=arguments.chains,
        draws=arguments.draws,
        warmup=arguments.warmup,
    )
    progress = _Progress(sys.stderr) if sys.stderr.isatty() else None
    return assess_data(data, settings, rng=_seed(arguments.seed), truth=truth, progress=progress)


def _seed(seed: int) -> int:
    if seed < 0:
        raise ValueError(f"--seed must be at least 0; got {seed}")
    return seed


def _threshold(values: list[str] | None) -> Any:
    """One number for all groups, or GROUP=NUMBER for each."""
    if values is None:
        return 0.5
    pairs = [value.rpartition("=") for value in values]
    if len(pairs) > 1 and not all(middle for _, middle, _ in pairs):
        raise ValueError("--threshold takes one number, or GROUP=NUMBER for every group")
    found = {}
    for name, _, text in pairs:
        if name in found:
            raise ValueError(f"--threshold names {name} twice")
        try:
            found[name] = float(text)
        except ValueError:
            raise ValueError(f"--threshold must be a number in (0, 1); got {text!r}") from None
    return found[""] if list(found) == [""] else found


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror.lower()}"
    text = " ".join(str(error).split())
    for argument, option in OPTIONS.items():
        text = text.replace(argument, option)
    return text


OPTIONS = {  # how an argument of the library is given on the command line
    "positive_label=": "--positive-label ",
    "unlabeled=": "--unlabeled ",
    'missing="': "--missing ",
    'drop" or': "drop or",
    'group"': "group",
    "Prior.mu_a_sd": "--alpha times a scale of the prior",
}


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
        if self.shown and stage == "draws" and done == total:
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
    assess = commands.add_parser("assess", help="assess the rows of a CSV file", allow_abbrev=False)
    assess.add_argument("file", metavar="FILE", help="CSV or CSV.gz with a header; - is stdin")
    rows = assess.add_argument_group("columns and rows")
    rows.add_argument("--label", required=True, metavar="COL", help="labels; empty, NA = unlabeled")
    rows.add_argument("--score", required=True, metavar="COL", help="scores in [0, 1]")
    rows.add_argument(
        "--group", required=True, action="append", metavar="COL", help="attribute; more are crossed"
    )
    rows.add_argument("--pred", metavar="COL", help="decisions, 0 or 1, instead of a threshold")
    rows.add_argument("--weight", metavar="COL", help="row weights")
    rows.add_argument("--positive-label", metavar="VALUE", help="label of the positive class")
    rows.add_argument("--unlabeled", metavar="VALUE", help="label that means unlabeled")
    rows.add_argument(
        "--missing", choices=("raise", "drop", "group"), default="raise", help="missing groups"
    )
    rows.add_argument(
        "--threshold",
        action="append",
        metavar="NUMBER",
        help="positive from here on; GROUP=NUMBER, repeated, sets one per group",
    )
    rows.add_argument(
        "--subsample-labels",
        type=int,
        metavar="N",
        help="hide all labels but N random ones; print the truth from all beside the estimates",
    )
    _add_common(assess)
    assess.set_defaults(command=assess_file)
    show = commands.add_parser(
        "demo", help="assess simulated rows whose truth is known", allow_abbrev=False
    )
    show.add_argument("--rows", type=int, default=10_000, help="rows (10000)")
    show.add_argument("--labeled", type=int, default=200, help="labeled rows (200)")
    _add_common(show)
    show.set_defaults(command=demo)
    return parser


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
    what.add_argument("--json", action="store_true", help="print JSON")
    how = parser.add_argument_group("model and sampler")
    how.add_argument("--family", default="beta", help="beta (default), llo, temperature")
    how.add_argument(
        "--no-hierarchical", dest="hierarchical", action="store_false", help="share no prior"
    )
    how.add_argument(
        "--no-trust", dest="trust", action="store_false", help="the curve alone, as in the paper"
    )
    how.add_argument(
        "--alpha", type=float, default=1.0, help="factor on the six scales of the curve's prior (1)"
    )
    how.add_argument("--clip", type=float, default=0.01, help="clip scores (0.01)")
    how.add_argument("--chains", type=int, default=4, help="chains (4)")
    how.add_argument("--draws", type=int, default=800, help="draws of each chain (800)")
    how.add_argument("--warmup", type=int, default=200, help="sweeps of warm-up (200)")
    how.add_argument("--seed", type=int, default=0, help="seed (0)")
