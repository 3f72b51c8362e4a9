"""`lightfair sql --dialect ...`: the query that makes a table where the rows are."""

from __future__ import annotations

import argparse
from typing import Any

from .arguments import columns_of, threshold_of
from .options import COMPARED, add_columns, add_general
from .output import Answer

EXAMPLES = """examples:
  lightfair sql --dialect duckdb --table scores --label label \\
      --score score --group race
  lightfair sql --dialect postgres --table public.scores --label repaid \\
      --positive-label yes --score score --group race --group sex \\
      --threshold 0.6 > query.sql
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "sql",
        help="print the query that makes a table where the rows are",
        usage="lightfair sql --dialect NAME --table TABLE --label COL --score COL\n"
        "                     --group COL [options]",
        description="Print one SELECT. Its result, row by row, is what the Python method\n"
        "ScoreTable.from_rows takes.",
        epilog=EXAMPLES,
    )
    base = parser.add_argument_group("database")
    base.add_argument(
        "--dialect", required=True, metavar="NAME", help="duckdb, spark, postgres, bigquery"
    )
    base.add_argument(
        "--table", required=True, help="table or view; dots separate catalog, schema and name"
    )
    rows = parser.add_argument_group("columns and rows")
    add_columns(rows, "NULL, empty = unlabeled", COMPARED)
    rows.add_argument("--clip", type=float, default=0.01, metavar="X", help="clip scores (0.01)")
    add_general(parser)
    parser.set_defaults(command=print_query)


def print_query(arguments: argparse.Namespace) -> Answer:
    """Write the query of a table that a database holds."""
    from ..io.sql import sql_query

    if columns_of(arguments) is None:
        raise ValueError("sql needs the names of columns; give --label, --score and --group")
    if arguments.label_prob is not None:
        raise ValueError(
            "sql does not carry --label-prob; summarize the labeled rows with it, and add the "
            "table of the unlabeled ones that the query makes"
        )
    return Answer(
        sql_query(
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
    )
