"""`lightfair summarize FILE ... -o TABLE`: rows become a table, and tables add up."""

from __future__ import annotations

import argparse
from typing import Any

from .arguments import check_output, table_of, threshold_of
from .options import COMPARED, add_clip, add_general, add_rows
from .output import Answer
from .terminal import progress_line

EXAMPLES = """examples:
  lightfair summarize january.csv.gz --label label --score score \\
      --group sex -o january.json
  lightfair summarize january.json february.json -o year.json
  lightfair assess year.json --metric tpr
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "summarize",
        help="read rows into a small table; add up tables",
        usage="lightfair summarize FILE ... --label COL --score COL --group COL -o TABLE\n"
        "                           [options]\n"
        "       lightfair summarize TABLE ... -o TABLE",
        description="Read rows, in chunks, and tables, and write the table of all.",
        epilog=EXAMPLES,
    )
    rows = add_rows(parser, COMPARED)
    add_clip(rows)
    output = parser.add_argument_group("output")
    output.add_argument(
        "-o", "--output", required=True, metavar="TABLE", help="file to write; - prints the table"
    )
    add_general(parser)
    parser.set_defaults(command=summarize_files)


def summarize_files(arguments: argparse.Namespace) -> Answer:
    """Add up the rows and tables of files into a table, and write it."""
    from ..core.data.messages import one_line
    from ..io.table import to_text
    from ..report.format import rows_line

    to_stdout = arguments.output == "-"
    if not to_stdout:
        check_output("--output", arguments.output)
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
        return Answer(to_text(table))
    table.save(arguments.output)
    notes = [one_line(f"warning ({note.code}): {note.message}") for note in table.notes]
    return Answer("\n".join([f"{arguments.output}: {rows_line(table)}", *notes]))
