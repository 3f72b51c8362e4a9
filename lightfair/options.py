"""Options: those that several commands of the command line share, and how they are described.

What they mean is in arguments.py.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, with exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one sentence, without the usage."""
        print(f"lightfair: error: {message}; see {self.prog} --help", file=sys.stderr)
        raise SystemExit(2)


def add_rows(parser: argparse.ArgumentParser) -> Any:
    """Add files and how their rows are read; return the group of the latter."""
    parser.add_argument(
        "file",
        nargs="+",
        metavar="FILE",
        help="rows: CSV with a header, gzipped or not, Parquet, Arrow; or a table that summarize "
        "wrote; - is stdin; several are added up",
    )
    rows = parser.add_argument_group("columns and rows, where a FILE holds rows")
    add_columns(rows, "empty, NA = unlabeled")
    return rows


def add_columns(rows: Any, unlabeled: str) -> None:
    """Add the columns of rows, and what is in them."""
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


def add_clip(group: Any) -> None:
    """Add the clip, that of tables where none is given."""
    group.add_argument("--clip", type=float, help="clip scores (0.01; of tables, theirs)")


def add_common(parser: argparse.ArgumentParser, *, judged: bool = True) -> None:
    """Add what to report, and the model and sampler.

    Without `judged`, no options that a report alone has: limits, and intervals that hold at once.
    """
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
    add_clip(how)
    how.add_argument("--chains", type=int, help="chains (16 for small fits, 4 for large ones)")
    how.add_argument("--draws", type=int, help="draws of each chain (3200 / chains)")
    how.add_argument("--warmup", type=int, help="sweeps of warm-up (80 or 200)")
    how.add_argument("--seed", type=int, default=0, help="seed (0)")
