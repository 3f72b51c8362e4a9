"""Options: one table, from which the parsers and the arguments follow.

An option names the commands that have it and, where it differs from its own name, the argument of
the library that it sets. Parsed arguments go by the library's names: `y_true` for `--label`. An
option without a default here leaves the default to the library.
"""

from __future__ import annotations

import argparse
import shutil
from typing import Any, NamedTuple, NoReturn

from .terminal import say

COMMANDS = ("assess", "plan", "compare", "threshold", "monitor", "summarize", "sql", "demo")


class Option(NamedTuple):
    """An option of one or more commands.

    Attributes
    ----------
    name : str
        The long option without its hyphens.
    metavar : str
        The value as the help shows it: its kind, a key of `KINDS` or text, or "raise|drop|group",
        the choices. "COL ..." is an option that is repeated, "N [N ...]" one that also takes
        several values at once, "" a flag.
    commands : str
        Names of the commands, separated by spaces.
    help : str
    argument : str
        The argument of the library; "" if it has the name of the option.
    default
        Value if the option is absent.
    const
        Value that a flag sets.
    stands_for : str
        Another argument of the library, which this option sets if it is given.
    """

    name: str
    metavar: str
    commands: str
    help: str
    argument: str = ""
    default: Any = None
    const: Any = True
    required: bool = False
    stands_for: str = ""

    @property
    def dest(self) -> str:
        """Name of the parsed argument."""
        return self.argument or self.name.replace("-", "_")

    @property
    def keywords(self) -> dict[str, Any]:
        """Keywords of `argparse.ArgumentParser.add_argument`."""
        shared = {"dest": self.dest, "help": self.help, "default": self.default}
        if not self.metavar:
            return {**shared, "action": "store_const", "const": self.const}
        kind, *more = self.metavar.split()
        shared |= {"metavar": kind, "type": KINDS.get(kind, str), "required": self.required}
        if "|" in kind:
            shared["choices"] = kind.split("|")
        if more == ["..."]:
            return {**shared, "action": "append"}
        return {**shared, "action": "extend", "nargs": "+"} if more else shared


def whole(text: str) -> int:
    """Parse a whole number of at least 0."""
    if not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 0; got {text!r}")
    return int(text)


def threshold(text: str) -> Any:
    """Parse a threshold: "all", a number, or (NAME, number) from NAME=NUMBER."""
    name, equals, value = text.rpartition("=")
    if text == "all":
        return text
    return (name, float(value)) if equals else float(text)


def bins(text: str) -> tuple[str, Any]:
    """Parse NAME=EDGE,EDGE or NAME=COUNT."""
    name, _, value = text.rpartition("=")
    try:
        return name, tuple(map(float, value.split(","))) if "," in value else whole(value)
    except (ValueError, argparse.ArgumentTypeError):
        rule = "must be COL=EDGE,EDGE or COL=COUNT"
        raise argparse.ArgumentTypeError(f"{rule}; got {text!r}") from None


KINDS = {"N": whole, "X": float, "NUMBER": threshold, "COL=EDGES": bins}
TABLES = "assess plan threshold monitor summarize"  # their FILE may be a table
READS = f"{TABLES} sql"
FILES = f"{TABLES} compare"
ROWS = f"{FILES} sql"
REPORTS = "assess plan compare threshold demo"
FITS = f"{REPORTS} monitor"
NESTS = "assess plan threshold monitor demo"
POSITIVE = "scores of at least NUMBER are positive (0.5)"
CUT = f"{POSITIVE}; repeat GROUP=NUMBER to set one per group"
MODEL_CUT = "scores of at least NUMBER are positive (0.5); repeat COL=NUMBER to set one per model"
CUTS = f"{CUT}, NUMBER to compare several; all compares a grid"
METRICS = (
    "one or more of accuracy, tpr, fpr, selection_rate (the default is these four), tnr, fnr, "
    "ppv, npv, false_discovery_rate, false_omission_rate, base_rate, f1, balanced_accuracy, "
    "treatment_equality, auc, brier, ece, calibration_in_the_large, balance_positive, "
    "balance_negative, average_score, cost(fp=NUMBER,fn=NUMBER)"
)
CHECK = (
    'limit on gaps between groups, such as "tpr<=0.05", "equalized_odds<=0.1" or "selection_rate '
    'ratio>=0.8"; the exit code is 0 if all pass, 1 if one fails, 3 if the data are insufficient'
)
WRONG = "false positive and false negative rate of labels, as 0.02 0:0.1 (from 0 to 0.1)"
SUBSAMPLE = "hide all but N random labels, show the truth of all; holds all rows in memory"
BINS = "cut an attribute of numbers: age=25,45,65 at these, age=4 at the quartiles"
TARGET = (
    "metrics of these rows, if all were labeled (sample, the default), their expected values, or "
    "metrics of the population"
)
NESTED = "several --group: groups with a common level share its effects"
SELECTION = "add bounds if unlabeled rows differ from labeled ones by an odds ratio of up to X"
STRATA = "weights of strata: rows of the reference (the default) or of both groups, or equal ones"
MEMBERSHIP = "columns of probabilities, one per group, no --group; of tables: their attributes"
DECISIONS = "one or more metrics of decisions (accuracy tpr fpr selection_rate)"
PROFILE = (
    "report selection rates by a rule: impact ratios of New York City Local Law 144 by sex and "
    "race (of scores above the median, if there are no decisions), or the four-fifths rule (exit "
    "code 1 if a ratio is below); needs no label; rows without a group are unknown"
)

OPTIONS = {  # by their headings in the help
    "database": (
        Option("dialect", "duckdb|spark|postgres|bigquery", "sql", "of its SQL", required=True),
        Option("table", "NAME", "sql", "table or view, as catalog.schema.name", required=True),
    ),
    "columns and rows": (
        Option("label", "COL", ROWS, "column of labels; empty, NA or NULL: no label", "y_true"),
        Option("score", "COL", READS, "column of scores in [0, 1]", "y_score"),
        Option("score", "COL ...", "compare", "column of scores, one per model", "y_score"),
        Option("model-column", "COL", "compare", "models, where their rows are stacked"),
        Option("row-id", "COL", "compare", "what pairs stacked rows"),
        Option("group", "COL ...", ROWS, "attribute; several are crossed", "sensitive_features"),
        Option("pred", "COL", READS, "decisions, written as labels, and no threshold", "y_pred"),
        Option("threshold", "NUMBER ...", "assess", CUTS),
        Option("threshold", "NUMBER ...", "summarize", f"{CUT}, NUMBER for several"),
        Option("threshold", "NUMBER ...", "sql", POSITIVE),
        Option("threshold", "NUMBER ...", "plan threshold monitor", CUT),
        Option("threshold", "NUMBER ...", "compare", MODEL_CUT),
        Option("weight", "COL", ROWS, "row weights", "sample_weight"),
        Option("label-prob", "COL", FILES, "probability that a row was chosen for labeling"),
        Option("cluster", "COL", "assess threshold monitor summarize", "what rows belong to"),
        Option("positive-label", "VALUE", ROWS, "label of the positive class"),
        Option("unlabeled", "VALUE", ROWS, "label that means unlabeled"),
        Option("missing", "raise|drop|group", ROWS, "what to do with rows without a group (raise)"),
        Option("bins", "COL=EDGES ...", ROWS, BINS),
        Option("subsample-labels", "N", "assess plan compare threshold", SUBSAMPLE),
        Option("rows", "N", "demo", "simulated rows (10000)", default=10_000),
        Option("labeled", "N", "demo", "labeled rows (200)", "subsample_labels", 200),
        Option("clip", "X", f"{ROWS} demo", "clip scores to [X, 1 - X] (0.01, or as the tables)"),
    ),
    "the plan": (
        Option("width", "X", "plan", "width of the interval to reach (0.05)", default=0.05),
        Option("difference", "NAME", "plan", "group to plan for (all but the reference)", "group"),
        Option("extra", "N [N ...]", "plan", "numbers of additional labels to forecast for"),
    ),
    "rows to label next": (
        Option("choose", "N", "plan", "choose N rows", "n"),
        Option("output", "CSV", "plan", "file for these rows, their numbers and probabilities"),
        Option("explore", "X", "plan", "share of purely random choice (0.1)", default=0.1),
    ),
    "the search": (
        Option("group-to-move", "NAME ...", "threshold", "group to adjust (all others)", "group"),
        Option("reach", "X", "threshold", "value of the metric to reach, not the reference's"),
    ),
    "gaps within strata": (
        Option("within", "COL", "assess", "report gaps within levels of COL, and their average"),
        Option("strata-weights", "reference|both|equal", "assess", STRATA, "weights"),
    ),
    "membership as probabilities": (
        Option(
            "membership", "COL [COL ...]", "assess", MEMBERSHIP, stands_for="sensitive_features"
        ),
        Option("step", "X", "assess", "round them to multiples of X (0.1; 0.25 for many groups)"),
    ),
    "what to report": (
        Option("metric", "NAME [NAME ...]", "assess demo", METRICS, "metrics"),
        Option("metric", "NAME [NAME ...]", "compare", DECISIONS, "metrics"),
        Option("metric", "NAME", "plan threshold", "metric of decisions (tpr)", "metrics", "tpr"),
        Option("reference", "NAME", FITS, "group to compare with (the largest)"),
        Option("target", "sample|expected|population", REPORTS, TARGET),
        Option("prob", "X", FITS, "credible level of intervals (0.95)"),
        Option("epsilon", "X", REPORTS, "difference that counts as small (0.05)"),
        Option("min-rows", "N", REPORTS, "rows that a group needs to be in findings (10)"),
        Option("simultaneous", "", "assess demo", "add simultaneous intervals of all differences"),
        Option("check", "CHECK ...", "assess demo monitor", CHECK, "checks"),
        Option("selection-odds", "X", "assess demo", SELECTION),
    ),
    "an audit": (
        Option("profile", "nyc-ll144|four-fifths", "assess", PROFILE),
        Option("min-share", "X", "assess", "share of rows that a ratio needs (0.02)"),
        Option("data-source", "TEXT", "assess", "source of the data, as it is to be published"),
        Option("data-dates", "TEXT", "assess", "dates of the data, as they are to be published"),
        Option("audit-date", "TEXT", "assess", "date of the audit (today)"),
        Option("hazard", "TEXT", "assess", "what could go wrong, for whom; for --record"),
    ),
    "model and sampler": (
        Option("family", "beta|llo|temperature", FITS, "calibration curve (beta)"),
        Option("no-hierarchical", "", FITS, "groups share no prior", "hierarchical", const=False),
        Option("nested", "", NESTS, NESTED, "hierarchical", const="nested"),
        Option("no-nested", "", "compare", "groups and models share a prior", "hierarchical"),
        Option("no-trust", "", FITS, "no deviations from the curve", "trust", const=False),
        Option("label-error", "RATE [RATE ...]", "assess", WRONG),
        Option("alpha", "X", FITS, "factor on the six scales of the prior (1)", default=1.0),
        Option("chains", "N", FITS, "chains (16 for small fits, 4 for large ones)"),
        Option("draws", "N", FITS, "draws of each chain, more where needed (3200 / chains)"),
        Option("warmup", "N", FITS, "sweeps of warm-up (80 or 200)"),
        Option("seed", "N", FITS, "seed (0)", "rng", 0),
    ),
    "output": (
        Option("json", "", FITS, "print JSON"),
        Option("html", "FILE", FITS, "write a page with plots, for people; - prints it"),
        Option("markdown", "FILE", FITS, "write Markdown, for a model card; - prints it"),
        Option("csv", "FILE", FITS, "write every number in a row of its own; - prints them"),
        Option("record", "FILE", "assess", "write a record of the audit, JSON; - prints it"),
        Option("output", "TABLE", "summarize", "file to write; - prints it", required=True),
    ),
    "general": (),
}


def options_of(command: str) -> dict[str, Option]:
    """Return the options of a command by their names."""
    table = (option for options in OPTIONS.values() for option in options)
    return {option.name: option for option in table if command in option.commands.split()}


def option_names(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the options of a command by the arguments of the library that they set."""
    names = {}
    for option in options_of(arguments.command).values():
        names[option.dest] = f"--{option.name}"
        if option.stands_for and getattr(arguments, option.dest, None):
            names[option.stands_for] = f"--{option.name}"
    return names


class Help(argparse.RawDescriptionHelpFormatter):
    """Help of at most 80 columns; texts around the options keep their line breaks."""

    def __init__(self, prog: str, **keywords: Any) -> None:
        width = min(shutil.get_terminal_size().columns, 80)
        super().__init__(prog, **{**keywords, "max_help_position": 26, "width": width})


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence and whose options may not be shortened.

    An option added later must not change the meaning of a script.
    """

    def __init__(self, **keywords: Any) -> None:
        super().__init__(formatter_class=Help, allow_abbrev=False, add_help=False, **keywords)

    def error(self, message: str) -> NoReturn:
        """Print the message on standard error and exit with code 2."""
        say(f"lightfair: error: {message}; see {self.prog} --help")
        raise SystemExit(2)


def add_options(parser: Parser, command: str) -> None:
    """Add the options of a command, under their headings."""
    for heading, options in OPTIONS.items():
        group = parser.add_argument_group(heading)
        exclusive = group.add_mutually_exclusive_group()
        for option in options:
            if command in option.commands.split():
                short = ["-o"] if (command, option.name) == ("summarize", "output") else []
                place = exclusive if option.dest == "hierarchical" else group
                place.add_argument(*short, f"--{option.name}", **option.keywords)
    group.add_argument("-h", "--help", action="help", help="show this help")
