"""`lightfair assess FILE ...` and `lightfair demo`: the report of rows, or of a table of them.

`demo` does with simulated rows what `assess --subsample-labels` does with those of files: the truth
is printed beside the estimates.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from .arguments import rows_of, seed_of, settings_of, table_of, threshold_of
from .options import COMPARED, add_common, add_general, add_rows
from .output import Answer, add_outputs, check_outputs, deliver
from .terminal import progress_line

EXAMPLES = """examples:
  lightfair assess scores.csv --label label --score score --group race
  lightfair assess scores.csv --label label --score score --group race \\
      --metric tpr fpr --reference White --html report.html
  lightfair assess scores.csv --label label --score score --group sex \\
      --group age --nested --check "tpr<=0.05"
  lightfair assess january.json february.json --metric tpr --json
  lightfair assess --config lightfair.toml

exit codes: 0 done, or every check passes; 1 a check fails; 2 bad usage or
input; 3 no check fails, and one lacks evidence.
"""

DEMO_EXAMPLES = """examples:
  lightfair demo
  lightfair demo --labeled 50 --metric tpr --check "tpr<=0.1"
  lightfair demo --html report.html
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "assess",
        help="report group metrics and their differences",
        usage="lightfair assess FILE ... --label COL --score COL --group COL [options]\n"
        "       lightfair assess TABLE ... [options]",
        description="Report metrics of groups, and their differences, with honest intervals.\n"
        "Rows without a label count, too: an empty label means unlabeled.",
        epilog=EXAMPLES,
    )
    rows = add_rows(parser, f"{COMPARED}; all compares a grid")
    rows.add_argument(
        "--subsample-labels",
        type=int,
        metavar="N",
        help="hide all labels but N random ones; print the truth from all beside the estimates; "
        "holds all rows in memory",
    )
    add_common(parser)
    add_outputs(parser)
    add_general(parser)
    parser.set_defaults(command=assess_files)


def add_demo_parser(commands: Any) -> None:
    """Add the demo to the parser of the command line."""
    parser = commands.add_parser(
        "demo",
        help="assess simulated rows whose truth is known",
        usage="lightfair demo [options]",
        description="Simulate rows of two groups, hide all but some labels, and print the\n"
        "truth beside the estimates.",
        epilog=DEMO_EXAMPLES,
    )
    rows = parser.add_argument_group("rows")
    rows.add_argument("--rows", type=int, default=10_000, metavar="N", help="rows (10000)")
    rows.add_argument("--labeled", type=int, default=200, metavar="N", help="labeled rows (200)")
    add_common(parser)
    add_outputs(parser)
    add_general(parser)
    parser.set_defaults(command=demo)


def assess_files(arguments: argparse.Namespace) -> Answer:
    """Assess the rows and tables of files."""
    check_outputs(arguments)
    if arguments.subsample_labels is not None:
        return _reported(arguments, _subsampled(arguments))
    from ..core.pipeline import assess_table

    settings = settings_of(arguments)
    progress = progress_line()
    table = table_of(arguments, progress)
    settings = replace(settings, clip=table.clip)
    given = threshold_of(arguments)
    if isinstance(given, list) and tuple(given) != table.cuts:
        from ..thresholds.curve import for_table

        settings = replace(settings, thresholds=for_table(given, table))
    result = assess_table(table, settings, rng=seed_of(arguments), progress=progress)
    return _reported(arguments, result)


def demo(arguments: argparse.Namespace) -> Answer:
    """Assess simulated rows whose truth is known."""
    from ..core.data.rows import score_data
    from ..core.simulation import simulate

    check_outputs(arguments)
    if not 0 <= arguments.labeled <= arguments.rows or arguments.rows < 1:
        raise ValueError(
            f"--labeled must lie in [0, --rows]; got {arguments.labeled} and {arguments.rows}"
        )
    rows = simulate(arguments.rows, arguments.rows, seed_of(arguments))
    arguments.subsample_labels = arguments.labeled
    data = score_data(rows.y_all, rows.y_score, sensitive_features={"group": rows.group})
    return _reported(arguments, _hidden(arguments, data, settings_of(arguments)))


def _reported(arguments: argparse.Namespace, result: Any) -> Answer:
    """The report of a result, and the exit code that its checks ask for."""
    from ..api import as_assessment
    from ..core.comparison.verdict import exit_code

    found = as_assessment(result)
    return deliver(arguments, found, code=exit_code(found.checks))


def _subsampled(arguments: argparse.Namespace) -> Any:
    """Read all rows into memory: labels are hidden row by row."""
    settings = settings_of(arguments)
    data = rows_of(arguments, "--subsample-labels", settings.clip)
    return _hidden(arguments, data, settings)


def _hidden(arguments: argparse.Namespace, data: Any, settings: Any) -> Any:
    """Assess rows with all but some labels hidden."""
    import numpy as np

    from ..core.pipeline import assess_data
    from ..core.simulation import hide_labels

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
