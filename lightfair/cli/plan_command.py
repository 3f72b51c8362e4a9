"""`lightfair plan FILE ...`: how many labels a narrow interval takes, and which rows to label next.

Rows, or tables, are assessed as `lightfair assess` would, and a plan is made for one metric. With
--choose, rows are chosen; these are numbered, so a FILE must hold rows, all of which are held in
memory.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from ..io.writing import write_text
from .arguments import check_output, renamed, rows_of, seed_of, settings_of, table_of, threshold_of
from .options import add_common, add_general, add_rows
from .output import Answer, add_outputs, check_outputs, deliver
from .terminal import progress_line

HEADER = "row,label_prob"

BEGINS = {"n ": "choose ", "group ": "difference "}  # of errors: the library's arguments, and ours

EXAMPLES = """examples:
  lightfair plan scores.csv --label label --score score --group sex \\
      --metric tpr --width 0.05
  lightfair plan scores.csv --label label --score score --group sex \\
      --choose 100 --output next.csv
  lightfair plan scores.csv --label label --score score --group sex \\
      --extra 100 500 1000 --refits 0
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "plan",
        help="how many more labels a narrow interval takes, and of which rows",
        usage="lightfair plan FILE ... --label COL --score COL --group COL [options]\n"
        "       lightfair plan TABLE ... [options]",
        description="Forecast how wide intervals will be after more labels; choose rows to label.",
        epilog=EXAMPLES,
    )
    add_rows(parser)
    plan = parser.add_argument_group("the plan")
    plan.add_argument(
        "--width", type=float, default=0.05, metavar="X", help="of the interval to reach (0.05)"
    )
    plan.add_argument(
        "--within", type=float, metavar="X", help="a difference below it is small (epsilon)"
    )
    plan.add_argument(
        "--difference", metavar="NAME", help="group whose difference to the reference counts (all)"
    )
    plan.add_argument(
        "--extra", type=int, nargs="+", action="extend", metavar="N", help="numbers of extra labels"
    )
    plan.add_argument(
        "--refits",
        type=int,
        default=12,
        metavar="N",
        help="fits for each number; 0 for a quick forecast (12)",
    )
    choice = parser.add_argument_group("rows to label next")
    choice.add_argument("--choose", type=int, metavar="N", help="choose N rows")
    choice.add_argument(
        "--output", metavar="CSV", help="file for their numbers, from 0, and chances"
    )
    choice.add_argument(
        "--method",
        default="greedy",
        metavar="NAME",
        help="greedy (default), thompson, random; see choose_labels",
    )
    choice.add_argument(
        "--explore",
        type=float,
        default=0.1,
        metavar="X",
        help="share of chances that is the same for all (0.1)",
    )
    add_common(parser, judged=False, metrics="one metric of confusion counts (tpr)")
    add_outputs(parser)
    add_general(parser)
    parser.set_defaults(command=plan_files)


def plan_files(arguments: argparse.Namespace) -> Answer:
    """Plan for the rows and tables of files."""
    try:
        return _planned(arguments)
    except ValueError as error:
        raise renamed(error, BEGINS) from None


def _planned(arguments: argparse.Namespace) -> Answer:
    from ..api import plan_labels

    check_outputs(arguments)
    result, data = _assessed(arguments)
    metric = result.settings.metrics[0]
    seed = arguments.seed
    chosen = None
    if data is not None:
        from ..planning.choose import choose_rows

        chosen = choose_rows(
            result,
            arguments.choose,
            data,
            metric=metric,
            group=arguments.difference,
            method=arguments.method,
            explore=arguments.explore,
            rng=seed,
        )
    plan = plan_labels(
        result,
        metric,
        arguments.width,
        group=arguments.difference,
        extra=arguments.extra,
        within=arguments.within,
        refits=arguments.refits,
        rng=seed,
    )
    if chosen is None:
        return deliver(arguments, plan)
    _write(arguments.output, chosen)
    also = f"{arguments.output}: {len(chosen.rows):,} rows to label ({chosen.method})"
    return deliver(arguments, plan, also=also)


def _assessed(arguments: argparse.Namespace) -> tuple[Any, Any]:
    """The assessment of all files and, where rows are to be chosen, the rows."""
    from ..core.pipeline import assess_table

    if arguments.metric and len(arguments.metric) > 1:
        raise ValueError(f"--metric must name one metric to plan for; got {len(arguments.metric)}")
    if isinstance(threshold_of(arguments), (list, str)):
        raise ValueError("--threshold must be one threshold, or one for each group, in a plan")
    arguments.metric = arguments.metric or ["tpr"]
    seed = seed_of(arguments)
    settings = settings_of(arguments)
    progress = progress_line()
    if arguments.choose is None:
        if arguments.output is not None:
            raise ValueError("--output is for the rows to label; give --choose, too")
        table = table_of(arguments, progress)
        settings = replace(settings, clip=table.clip)
        return assess_table(table, settings, rng=seed, progress=progress), None
    if arguments.output is None:
        raise ValueError("--choose needs --output, the file for the rows to label")
    if arguments.missing == "drop":
        raise ValueError("--choose needs the numbers of rows; drop rows first, or --missing group")
    check_output("--output", arguments.output, HEADER.encode(), "list of rows")
    data = rows_of(arguments, "--choose", settings.clip)
    from ..core.data.binning import score_table

    table = score_table(data, clip=settings.clip)
    return assess_table(table, settings, rng=seed, progress=progress), data


def _write(path: str, chosen: Any) -> None:
    """Write numbers of rows and chances."""
    lines = [HEADER]
    lines += [f"{row},{prob:.10g}" for row, prob in zip(chosen.rows, chosen.prob, strict=True)]
    write_text(path, "\n".join([*lines, ""]))
