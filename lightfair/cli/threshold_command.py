"""`lightfair threshold FILE ...`: the threshold at which one group has the tpr of another.

Rows, or tables, are assessed as `lightfair assess` would, and `find_threshold` searches.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from .arguments import renamed, seed_of, settings_of, table_of, threshold_of
from .options import add_general, add_model, add_rows, add_what
from .output import Answer, add_outputs, check_outputs, deliver
from .terminal import progress_line

BEGINS = {  # of errors: the library's arguments, and ours
    "target ": "reach ",
    "group ": "group_to_move ",
    "no group ": "group_to_move: no group ",
}

EXAMPLES = """examples:
  lightfair threshold scores.csv --label label --score score --group sex \\
      --metric tpr
  lightfair threshold scores.csv --label label --score score --group sex \\
      --metric tpr --reference Male --group-to-move Female
  lightfair threshold year.json --metric selection_rate --reach 0.2 \\
      --html thresholds.html
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "threshold",
        help="find thresholds that give groups the same metric",
        usage="lightfair threshold FILE ... --label COL --score COL --group COL\n"
        "                           [options]\n"
        "       lightfair threshold TABLE ... [options]",
        description="Find the threshold of each group at which a metric is that of the reference\n"
        "at its own threshold, or a number, and how sure that is.",
        epilog=EXAMPLES,
    )
    add_rows(parser)
    search = parser.add_argument_group("the search")
    search.add_argument(
        "--group-to-move",
        action="append",
        metavar="NAME",
        help="group whose threshold is looked for, repeated for several (all but the reference)",
    )
    search.add_argument(
        "--reach",
        type=float,
        metavar="X",
        help="value of the metric to reach in every group, in place of the reference's",
    )
    add_what(parser, metrics="one metric of confusion counts (tpr)")
    add_model(parser)
    add_outputs(parser)
    add_general(parser)
    parser.set_defaults(command=search_files)


def search_files(arguments: argparse.Namespace) -> Answer:
    """Search thresholds for the rows and tables of files."""
    from ..api import find_threshold
    from ..core.pipeline import assess_table

    check_outputs(arguments)
    if arguments.metric and len(arguments.metric) > 1:
        raise ValueError(f"--metric must name one metric to meet; got {len(arguments.metric)}")
    if isinstance(threshold_of(arguments), (list, str)):
        raise ValueError("--threshold must be one threshold, or one for each group, in a search")
    if arguments.reach is not None and arguments.reference is not None:
        raise ValueError("--reach is in place of --reference; give one of them")
    arguments.metric = arguments.metric or ["tpr"]
    settings, seed = settings_of(arguments), seed_of(arguments)
    progress = progress_line()
    table = table_of(arguments, progress)
    result = assess_table(table, replace(settings, clip=table.clip), rng=seed, progress=progress)
    try:
        found = find_threshold(
            result, settings.metrics[0], arguments.group_to_move, target=arguments.reach
        )
    except ValueError as error:
        text = str(error).replace("find_threshold", "threshold").replace("a target", "--reach")
        raise renamed(ValueError(text), BEGINS) from None
    return deliver(arguments, found)
