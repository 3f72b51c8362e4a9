"""`lightfair compare FILE --score OLD --score NEW ...`: which model is fairer, on the same rows.

Each model is a column of scores, and called by its name. A FILE is read once for each model, and
all rows are held in memory.
"""

from __future__ import annotations

import argparse
import os
import stat
from typing import Any

from .arguments import check_named, rows_of, seed_of, settings_of, threshold_of
from .options import add_details, add_files, add_general, add_model, add_what
from .output import Answer, add_outputs, check_outputs, deliver
from .terminal import progress_line

EXAMPLES = """examples:
  lightfair compare scores.csv --label label --score old --score new \\
      --group race
  lightfair compare scores.csv --label label --score old --score new \\
      --group race --threshold old=0.5 --threshold new=0.4 --metric tpr \\
      --reference White --html report.html
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "compare",
        help="compare the fairness of two to four models on the same rows",
        usage="lightfair compare FILE ... --label COL --score COL --score COL\n"
        "                         --group COL [options]",
        description="Compare models row by row: which has the smaller gaps between groups, which\n"
        "is more accurate, and how sure that is. Each model is a column of scores.",
        epilog=EXAMPLES,
    )
    add_files(parser, tables=False)
    rows = parser.add_argument_group("columns and rows")
    rows.add_argument("--label", metavar="COL", help="labels; empty, NA = unlabeled")
    rows.add_argument(
        "--score", action="append", metavar="COL", help="scores of a model, in [0, 1]; two to four"
    )
    rows.add_argument("--group", action="append", metavar="COL", help="attribute; more are crossed")
    rows.add_argument(
        "--threshold",
        action="append",
        metavar="NUMBER",
        help="positive from here on (0.5); COL=NUMBER, repeated, sets one per model",
    )
    add_details(rows)
    add_what(parser, metrics="one or more metrics of decisions (accuracy tpr fpr selection_rate)")
    add_model(parser, nested=True)
    add_outputs(parser)
    add_general(parser)
    parser.set_defaults(command=compare_files, pred=None)


def compare_files(arguments: argparse.Namespace) -> Answer:
    """Compare models on the rows of files."""
    from ..api import ModelComparison, shown
    from ..model_comparison import check_compared, check_models, compare_data

    check_outputs(arguments)
    check_named(arguments)
    models = arguments.score
    once = [path for path in arguments.file if _is_pipe(path)]
    if once:
        name = "standard input" if once[0] == "-" else f"{once[0]}, a pipe,"
        raise ValueError(
            f"compare reads a FILE once for each model, and {name} can be read only once; give the "
            "name of a file"
        )
    check_models(models)
    settings = settings_of(arguments)
    check_compared(settings)
    cuts = _thresholds(arguments, models)
    seed = seed_of(arguments)
    checked = {}
    for model in models:
        one = {**vars(arguments), "score": model, "threshold": cuts[model]}
        checked[model] = rows_of(argparse.Namespace(**one), "compare", settings.clip)
    result = shown(compare_data(checked, settings, seed, progress_line()), ModelComparison)
    return deliver(arguments, result)


def _is_pipe(path: str) -> bool:
    """Whether what is read from it is gone, so that it cannot be read again."""
    return path == "-" or (os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode))


def _thresholds(arguments: argparse.Namespace, models: list[str]) -> dict[str, list[str] | None]:
    """The threshold of each model, as the command line would give it for one alone."""
    found = threshold_of(arguments)
    if isinstance(found, (list, str)):
        raise ValueError(
            "--threshold must be one number, or COL=NUMBER for each model; compare the models at "
            "each threshold in turn"
        )
    if not isinstance(found, dict):
        return dict.fromkeys(models, arguments.threshold)
    if set(found) != set(models):
        raise ValueError(
            f"--threshold must name each of the models {', '.join(models)}; got {', '.join(found)}"
        )
    return {model: [repr(cut)] for model, cut in found.items()}
