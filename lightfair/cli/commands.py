"""Commands: functions of the parsed arguments that return an Answer.

The docstring of a command is its help: what it does, its usage, and examples.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from .arguments import (
    arrays_of,
    check_distinct,
    columns_of,
    named_columns,
    one_threshold,
    rows_of,
    settings_of,
    table_of,
    threshold_of,
)
from .options import OPTIONS, options_of
from .output import Answer, audit_texts, check_outputs, deliver
from .terminal import progress_line

if TYPE_CHECKING:
    from ..api import Assessment, AuditProfile
    from ..core.data.rows import ScoreData
    from ..core.settings import Settings

SUFFIX = re.compile(r"(\.(csv|tsv|txt|json|parquet|arrow|feather))?(\.gz)?$", re.IGNORECASE)

MODEL = tuple(option.dest for option in OPTIONS["model and sampler"] if option.dest != "rng")
ALONE = ("checks", "simultaneous", "selection_odds", "subsample_labels", "min_rows")
BESIDE = ("missing", "bins", "sensitive_features", "hierarchical")
APART = {  # what is of no effect beside an option of assess
    "within": (*ALONE, "profile", "record"),
    "profile": (*ALONE, "metrics", "reference", "target", "epsilon", *MODEL),
    "membership": (*ALONE, *BESIDE, "within", "profile", "record", "label_error"),
}
NEEDED = {  # what is of no effect without one of others
    "weights": ("within",),
    "step": ("membership",),
    "min_share": ("profile",),
    "hazard": ("record",),
    **dict.fromkeys(("data_source", "data_dates", "audit_date"), ("profile", "record")),
}


def assess(arguments: argparse.Namespace) -> Answer:
    r"""Report metrics of groups and the differences between them.

    usage: lightfair assess FILE ... --label COL --score COL --group COL [options]
           lightfair assess TABLE ... [options]

    Every number has a credible interval. Rows without a label count, too: an
    empty label means unlabeled.

    examples:
      lightfair assess scores.csv --label label --score score --group race
      lightfair assess scores.csv --label label --score score --group race \
          --metric tpr fpr --reference White --html report.html
      lightfair assess scores.csv --label label --score score --group sex \
          --group age --nested --check "tpr<=0.05"
      lightfair assess scores.csv --label label --score score --group sex \
          --within department --nested
      lightfair assess scores.csv --label label --score score \
          --membership p_white p_black p_asian
      lightfair assess january.json february.json --metric tpr --json
      lightfair assess applicants.csv --pred selected --group sex --group race \
          --profile nyc-ll144 --html audit.html --record audit.json

    exit codes: 0 done, or every check passes; 1 a check fails; 2 bad usage or
    input; 3 no check fails, and one is inconclusive. With --profile four-fifths
    a check is the rule: 3 if it is met, and a difference is significant.
    """
    _check_together(arguments)
    if arguments.within is not None:
        return _within(arguments)
    if arguments.membership is not None:
        return _membership(arguments)
    if arguments.profile is not None:
        return _report(arguments, _profiled(arguments))
    return _report(arguments, _assessed(arguments, settings_of(arguments)).result)


def demo(arguments: argparse.Namespace) -> Answer:
    """Assess simulated rows whose truth is known.

    usage: lightfair demo [options]

    Simulates rows of two groups, hides all but some labels, and prints the
    truth beside the estimates.

    examples:
      lightfair demo
      lightfair demo --labeled 50 --metric tpr --check "tpr<=0.1"
      lightfair demo --html report.html
    """
    from ..core.data.rows import score_data
    from ..core.simulation import simulate

    settings = settings_of(arguments)
    rows = simulate(arguments.rows, arguments.rows, arguments.rng)
    data = score_data(rows.y_all, rows.y_score, sensitive_features={"group": rows.group})
    return _report(arguments, _of_rows(arguments, settings, data).result)


def plan(arguments: argparse.Namespace) -> Answer:
    r"""Forecast the labels a narrow interval takes; choose rows to label.

    usage: lightfair plan FILE ... --label COL --score COL --group COL [options]
           lightfair plan TABLE ... [options]

    With --choose, FILE must hold rows; all of them are held in memory.

    examples:
      lightfair plan scores.csv --label label --score score --group sex \
          --metric tpr --width 0.05
      lightfair plan scores.csv --label label --score score --group sex \
          --choose 100 --output next.csv
      lightfair plan scores.csv --label label --score score --group sex \
          --extra 100 500 1000
    """
    from .. import api

    if (arguments.n is None) != (arguments.output is None):
        raise ValueError("--choose and --output belong together: rows to label, and their file")
    if arguments.output == "-":
        raise ValueError("--output must name a file; the plan is on standard output")
    if arguments.n is not None and arguments.subsample_labels is not None:
        raise ValueError("--choose needs labels that --subsample-labels hides; leave one out")
    if arguments.n is not None and arguments.missing == "drop":
        raise ValueError("--choose needs the numbers of rows; drop rows first, or --missing group")
    one_threshold(arguments)
    found = _assessed(arguments, settings_of(arguments), whole=arguments.n is not None)
    also = "" if arguments.n is None else _choose(arguments, found)
    options = {"group": arguments.group, "extra": arguments.extra}
    label_plan = api.plan_labels(found.result, arguments.metrics, arguments.width, **options)
    return deliver(arguments, label_plan, also=also)


def compare(arguments: argparse.Namespace) -> Answer:
    r"""Compare the fairness of two to four models on the same rows.

    usage: lightfair compare FILE ... --label COL --score COL --score COL
                             --group COL [options]

    Each model is a column of scores, or their rows are stacked. The report
    shows which model has the smaller gaps between groups, which is more
    accurate, and how certain that is. All rows are held in memory.

    examples:
      lightfair compare scores.csv --label label --score old --score new \
          --group race
      lightfair compare scores.csv --label label --score old --score new \
          --group race --threshold old=0.5 --threshold new=0.4 --metric tpr \
          --reference White --html report.html
      lightfair compare stacked.csv --label label --score score \
          --model-column model --row-id id --group race
    """
    from ..api import ModelComparison, shown
    from ..model_comparison.comparison import compare_data, with_truth
    from ..model_comparison.rows import ROWS, check_rows

    columns, models = named_columns(arguments), arguments.y_score
    stacked = columns.model_column is not None
    if stacked != (columns.row_id is not None) or (stacked and len(models) > 1):
        raise ValueError("stacked models need --model-column, --row-id and one --score")
    if arguments.hierarchical is None:
        arguments.hierarchical = "nested"
    settings = settings_of(arguments)
    threshold, given = one_threshold(arguments), vars(arguments) | arrays_of(arguments)
    scores = given["y_score"][models[0]] if stacked else given["y_score"]
    rows = {name: given[name] for name in ROWS if given[name] is not None}
    pairing, cut = (given["model_column"], given["row_id"]), threshold or 0.5
    full = check_rows(scores, given["y_true"], cut, rows, *pairing)
    checked = {model: _hidden(arguments, data) for model, data in full.items()}
    result = compare_data(checked, settings, arguments.rng, progress_line())
    if arguments.subsample_labels is not None:
        result = with_truth(result, full)
    return deliver(arguments, shown(result, ModelComparison))


def threshold(arguments: argparse.Namespace) -> Answer:
    r"""Find thresholds at which groups have the same value of a metric.

    usage: lightfair threshold FILE ... --label COL --score COL --group COL
                               [options]
           lightfair threshold TABLE ... [options]

    The value is that of the reference at its own threshold, or a number.

    examples:
      lightfair threshold scores.csv --label label --score score --group sex \
          --metric tpr
      lightfair threshold scores.csv --label label --score score --group sex \
          --metric tpr --reference Male --group-to-move Female
      lightfair threshold year.json --metric selection_rate --reach 0.2 \
          --html thresholds.html
    """
    from .. import api
    from ..thresholds import search

    one_threshold(arguments)
    if arguments.reach is not None and arguments.reference is not None:
        raise ValueError("--reach takes the place of --reference; give one of them")
    found = _assessed(arguments, settings_of(arguments))
    given = arguments.metrics, arguments.group
    result = api.find_threshold(found.result, *given, target=arguments.reach)
    if found.full is not None:
        result = replace(result, truth=search.truth_at(result, found.full))
    return deliver(arguments, result)


def monitor(arguments: argparse.Namespace) -> Answer:
    r"""Repeat a check after every period; one guarantee for all looks.

    usage: lightfair monitor FILE ... --label COL --score COL --group COL
                             --check CHECK [options]
           lightfair monitor TABLE ... --check CHECK [options]

    Each FILE is a period, in order; its name is that of the file, or is given
    as PERIOD=FILE. If it is given again, the file replaces the former one, of
    which it must have all labels.

    examples:
      lightfair monitor 2026-01.csv 2026-02.csv 2026-03.csv --label label \
          --score score --group sex --check "tpr<=0.1" --html monitor.html
      lightfair monitor 1=jan.json 2=feb.json 1=jan_late.json \
          --check "selection_rate ratio>=0.8"

    exit codes: 0 all gaps are within the limit; 1 an alarm; 2 bad usage or
    input; 3 neither.
    """
    from .. import api
    from ..audit.monitor import TAKEN
    from ..core.comparison.verdict import exit_code

    one_threshold(arguments)
    settings, named = settings_of(arguments), _periods(arguments.file)
    if len(settings.checks) != 1:
        raise ValueError("monitor takes one --check; give one, and run it again for another")
    arguments.file = [file for _, file in named]
    check_distinct(arguments.file)
    check_outputs(arguments)
    periods = []
    for at, (name, file) in enumerate(named, 1):
        arguments.file = [file]
        periods.append((name, table_of(arguments, last=at == len(named))))
    given = {"rng": arguments.rng, "progress": progress_line()}
    given |= {name: getattr(settings, name) for name in TAKEN}
    found = api.monitor(periods, *settings.checks, **given)
    return deliver(arguments, found, exit_code([found]))


def _periods(texts: list[str]) -> list[tuple[str, str]]:
    """Return names of periods and their files: PERIOD=FILE, or FILE without its suffixes."""
    found: list[tuple[str, str]] = []
    for text in texts:
        name, _, file = text.partition("=")
        if not (name and file) or os.path.exists(text):
            name, file = SUFFIX.sub("", os.path.basename(text)), text
            if other := dict(found).get(name):
                got = f"{other} and {file} are both {name}"
                raise ValueError(f"periods must have different names; {got}; give PERIOD=FILE")
        found.append((name, file))
    return found


def summarize(arguments: argparse.Namespace) -> Answer:
    r"""Read rows into a small table; add up tables.

    usage: lightfair summarize FILE ... --label COL --score COL --group COL
                               -o TABLE [options]
           lightfair summarize TABLE ... -o TABLE

    Rows are read in chunks, so files may be of any size.

    examples:
      lightfair summarize january.csv.gz --label label --score score \
          --group sex -o january.json
      lightfair summarize january.json february.json -o year.json
      lightfair assess year.json --metric tpr
    """
    from ..io.table import to_text

    if threshold_of(arguments) == "all":
        raise ValueError("--threshold all is an option of assess; every table allows it")
    table = table_of(arguments)
    if arguments.output == "-":
        return Answer(to_text(table))
    table.save(arguments.output)
    notes = [f"warning ({note.code}): {note.message}" for note in table.notes]
    return Answer("\n".join([f"{arguments.output}: {table}", *notes]))


def sql(arguments: argparse.Namespace) -> Answer:
    r"""Print the SQL query that summarizes rows in a database.

    usage: lightfair sql --dialect NAME --table NAME --label COL --score COL
                         --group COL [options]

    The query is one SELECT. The Python method ScoreTable.from_rows takes its
    result, row by row.

    examples:
      lightfair sql --dialect duckdb --table scores --label label \
          --score score --group race
      lightfair sql --dialect postgres --table public.scores --label repaid \
          --positive-label yes --score score --group race --group sex \
          --threshold 0.6 > query.sql
    """
    from ..io.sql import sql_query

    if columns_of(arguments) is None:
        raise ValueError("sql needs the names of columns; give --label, --score and --group")
    given = {**vars(arguments), "threshold": threshold_of(arguments)}
    names = inspect.signature(sql_query).parameters
    return Answer(sql_query(**{name: given[name] for name in names if given[name] is not None}))


class _Found(NamedTuple):
    """An assessment, its rows if they are in memory, and if labels are hidden those with all."""

    result: Assessment
    rows: ScoreData | None = None
    full: ScoreData | None = None


def _assessed(arguments: argparse.Namespace, settings: Settings, *, whole: bool = False) -> _Found:
    """Assess rows or tables, with the thresholds of the command line; `whole`: rows in memory."""
    from ..api import as_assessment
    from ..core.pipeline import assess_table
    from ..thresholds.curve import for_table

    if whole or arguments.subsample_labels is not None:
        return _of_rows(arguments, settings, rows_of(arguments, settings.clip))
    table = table_of(arguments)
    thresholds = for_table(threshold_of(arguments), table)
    settings = replace(settings, clip=table.clip, thresholds=thresholds)
    result = assess_table(table, settings, rng=arguments.rng, progress=progress_line())
    return _Found(as_assessment(result))


def _of_rows(arguments: argparse.Namespace, settings: Settings, full: ScoreData) -> _Found:
    """Assess rows; if labels are hidden, beside the truth from all of them."""
    from ..api import as_assessment
    from ..core.pipeline import assess_data

    rows, truth = _hidden(arguments, full), None if arguments.subsample_labels is None else full
    progress = progress_line()
    result = assess_data(rows, settings, rng=arguments.rng, truth=truth, progress=progress)
    return _Found(as_assessment(result), rows, truth)


def _hidden(arguments: argparse.Namespace, data: ScoreData) -> ScoreData:
    """Hide all but N random labels, the same ones for the same seed, if that is asked for."""
    import numpy as np

    from ..core.simulation import hide_labels

    if (labeled := arguments.subsample_labels) is None:
        return data
    known = int((data.label >= 0).sum())
    if labeled > known:
        limit = f"at most {known}, the number of labels"
        raise ValueError(f"subsample_labels must be {limit}; got {labeled}")
    rng = np.random.default_rng([arguments.rng, 1])
    label = np.nan_to_num(hide_labels(data.label.astype(np.int64), labeled, rng), nan=-1)
    return replace(data, label=label.astype(np.int8))


def _check_together(arguments: argparse.Namespace) -> None:
    """Raise ValueError for an option of no effect beside another one, or without one."""
    values, given = vars(arguments), {}
    for option in options_of(arguments.command).values():
        value = values[option.dest]
        flag = bool(option.metavar) or value == option.const  # two flags may set one argument
        if flag and value not in (None, option.default):
            given[option.dest] = f"--{option.name}"
    for name, shown in given.items():
        for other in given:
            if name in APART.get(other, ()):
                raise ValueError(f"{shown} does not go with {given[other]}; leave one of them out")
        if (needed := NEEDED.get(name)) and not given.keys() & {*needed}:
            raise ValueError(f"{shown} needs --{' or --'.join(needed)}; leave it out")


def _profiled(arguments: argparse.Namespace) -> AuditProfile:
    """Return an audit profile: of decisions, or in New York of scores above their median."""
    from ..api import audit_profile

    one_threshold(arguments)
    arguments.metrics = ["selection_rate"]
    settings, median = settings_of(arguments), None
    decided = arguments.y_pred or arguments.threshold or not arguments.y_score
    if decided or arguments.profile != "nyc-ll144":
        result = _assessed(arguments, settings).result
    else:
        import numpy as np

        data = rows_of(arguments, settings.clip)
        median = float(np.median(data.score))
        counts = replace(data.counts, ties=0)
        data = replace(data, predicted=data.score > median, threshold=None, counts=counts)
        result = _of_rows(arguments, settings, data).result
    given = {"min_share": arguments.min_share, "median": median, **audit_texts(arguments)}
    given = {name: value for name, value in given.items() if value is not None}
    return audit_profile(result, arguments.profile, **given)


def _within(arguments: argparse.Namespace) -> Answer:
    """Report gaps within strata, which are one more attribute of the assessment."""
    from .. import api

    one_threshold(arguments)
    reference, arguments.reference = arguments.reference, None
    columns, within = columns_of(arguments), arguments.within
    if columns is not None and ("," in within or columns.attributes == (within,)):
        rule = "within must be one column, another than that of --group"
        raise ValueError(f"{rule}; got {within}")
    result = _assessed(arguments, settings_of(arguments)).result
    weights = arguments.weights or "reference"
    return deliver(arguments, api.within(result, within, reference, weights))


def _membership(arguments: argparse.Namespace) -> Answer:
    """Report groups by columns of probabilities, of rows in memory, or rounded ones of tables."""
    from .. import api

    cut, names = one_threshold(arguments), tuple(",".join(arguments.membership).split(","))
    reference, arguments.reference = arguments.reference, None
    arguments.hierarchical = False
    settings = settings_of(arguments)
    if not (arguments.y_true or arguments.y_score or arguments.y_pred):
        result = _assessed(arguments, settings).result
        if (got := result.table.attributes) != names or arguments.step is not None:
            rule = f"membership must name the attributes of the tables, {', '.join(got)}"
            raise ValueError(f"{rule}, without --step; got {', '.join(names)}")
        return deliver(arguments, api.membership(result, reference))
    arguments.sensitive_features = arguments.membership
    given = {**vars(arguments), **vars(settings), "threshold": cut, "reference": reference}
    options = {*inspect.signature(api.assess).parameters, "step"} - {*APART["membership"]}
    given = {name: value for name, value in given.items() if name in options}
    given |= arrays_of(arguments)
    with warnings.catch_warnings():  # they are in the report
        warnings.simplefilter("ignore", api.FairnessWarning)
        found = api.assess_membership(**given, progress=progress_line())
    return deliver(arguments, found)


def _report(arguments: argparse.Namespace, result: Assessment | AuditProfile) -> Answer:
    from ..core.comparison.verdict import exit_code

    return deliver(arguments, result, exit_code(result.checks))


def _choose(arguments: argparse.Namespace, found: _Found) -> str:
    """Choose rows to label, write them with all their columns, and return a line about them."""
    from ..io.files import take_rows
    from ..io.writing import write_text
    from ..planning.choose import choose_rows

    assert found.rows is not None  # they are in memory
    given = vars(arguments)
    options = {name: given[name] for name in ("group", "explore", "rng")}
    chosen = choose_rows(found.result, arguments.n, found.rows, metric=arguments.metrics, **options)
    columns = {"row": chosen.rows.tolist(), "label_prob": [f"{p:.10g}" for p in chosen.prob]}
    names = named_columns(arguments).names
    text, added = take_rows(arguments.source, names, columns["row"], columns)
    write_text(arguments.output, text)
    count = f"{len(chosen.rows):,} rows to label"
    return f"{arguments.output}: {count}, with columns {' and '.join(added)} added"
