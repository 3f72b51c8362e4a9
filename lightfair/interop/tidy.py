"""Tidy rows: every number of a result in a row of its own, for plots, tables and databases.

The numbers are those of `to_dict`, in long format: what a number is of stands in columns, and one
kind of result always has the same columns, whatever was asked. Of an Assessment (`COLUMNS`):

- quantity (str): "metric", "difference" (metric of group minus that of reference), "ratio" (over
  it), "pair" (difference of any two groups), "largest_gap" and "between_group_sd" (of all groups),
  "against_rest", "against_overall" (differences from the other groups and from all rows),
  "marginal", "marginal_difference" (of levels of an attribute), "criterion" (difference by a
  criterion of fairness), "simultaneous" (difference; all these intervals hold at once), "check"
  (all pairs of a check) and "check_pair" (how far apart: the largest difference of its metrics,
  without a sign, or the smallest ratio, of the lower to the higher).
- metric (str): the metric; the criterion where the quantity is one, or a check is of one.
- group, reference (str): names; levels, where there is an attribute. Of a largest gap the pair that
  it most probably is of.
- attribute (str): of marginals.
- threshold (float): of the decisions; null where they were given, where a row is of groups with
  thresholds of their own, and for metrics that do not depend on it. Where several thresholds were
  asked for, metrics and differences have rows at each.
- method (str): "lightfair", "labels_only", "prediction_powered", or "truth" where it is known.
- statistic (str): what the estimate is of the posterior, "mean" or "median"; null for the truth.
- estimate, sd, low, high (float): the ends are those of the interval of mass `prob`. A ratio may be
  inf.
- prob (float): mass of the interval; of a check the probability that its verdict needs.
- upper (float): of what has no sign: it is below this with probability `prob`.
- prob_positive (float): that a difference is above 0.
- within, prob_within (float): the limit for what is small, and the probability that it is: that
  the absolute value is below it; of a ratio, that it and its inverse are at least this.
- prob_largest (float): that a pair is the largest gap.
- exact (bool): whether the number is a fact of the rows.
- converged (bool): whether the chains have; null for methods without chains.
- rows, labeled, positives (int): of the group, in rows of its metric.
- effective_labels, width_ratio (float), effective_reason (str): what lightfair's answer is worth in
  labels, its width against that of labels only, and why there is no such number.
- relation, status (str), more_labels (int): of checks: "difference" or "ratio"; "pass", "fail" or
  "insufficient"; how many labels would probably settle it.
- left_out (str): groups whose metric is undefined, which a comparison of several leaves out.
- reason (str): why there is no estimate, or no verdict.

What is undefined is None, with a reason. A group without rows is there, without a number. Of more
than 200 pairs a metric has the 200 likeliest to be its largest gap, and a row whose reason says how
many are left out. Settings, diagnostics, warnings and the calibration are in `to_dict`.
`COMPARISON_COLUMNS`, `PLAN_COLUMNS` and `SEARCH_COLUMNS` say the same of other results.

Data frames: the tidy rows of a result for pandas or polars, whichever the caller has.
"""

from __future__ import annotations

import csv
import importlib
import io
import math
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..core.data.messages import one_line
from ..core.values import FOUR_FIFTHS
from ..thresholds.curve import counted_metrics

Row = dict[str, Any]

if TYPE_CHECKING:
    from ..core.assessment import Assessment
    from ..model_comparison import ModelComparison
    from ..planning.plan import LabelPlan
    from ..thresholds.search import FoundThresholds

COLUMNS: dict[str, type] = {
    "quantity": str,
    "metric": str,
    "group": str,
    "reference": str,
    "attribute": str,
    "threshold": float,
    "method": str,
    "statistic": str,
    "estimate": float,
    "sd": float,
    "low": float,
    "high": float,
    "prob": float,
    "upper": float,
    "prob_positive": float,
    "within": float,
    "prob_within": float,
    "prob_largest": float,
    "exact": bool,
    "converged": bool,
    "rows": int,
    "labeled": int,
    "positives": int,
    "effective_labels": float,
    "width_ratio": float,
    "effective_reason": str,
    "relation": str,
    "status": str,
    "more_labels": int,
    "left_out": str,
    "reason": str,
}

"""Columns of an Assessment: see the head of the module."""

COMPARISON_COLUMNS: dict[str, type] = {
    "quantity": str,
    "metric": str,
    "model": str,
    "than": str,
    "group": str,
    "reference": str,
    "estimate": float,
    "sd": float,
    "low": float,
    "high": float,
    "prob": float,
    "prob_fairer": float,
    "prob_as_fair": float,
    "prob_more_accurate": float,
    "prob_as_accurate": float,
    "exact": bool,
    "converged": bool,
    "reason": str,
}

"""Columns of a ModelComparison. quantity: "overall" (a metric of all rows), "metric" (of a group),
"difference" (from the reference) or "largest_gap"; where `than` is given, that of `model` minus
that of `than`. Estimates are posterior means."""

PLAN_COLUMNS: dict[str, type] = {
    "quantity": str,
    "metric": str,
    "group": str,
    "reference": str,
    "extra": int,
    "estimate": float,
    "mcse": float,
    "low": float,
    "high": float,
    "prob": float,
    "width": float,
    "within": float,
    "reason": str,
}

"""Columns of a LabelPlan. quantity: "width" (expected, of the interval of a metric or difference),
"split" (expected extra labels in a group) and "prob_decisive" (of a check of all differences
against `within`) at each number `extra`; "labels" (extra labels that `width` takes, with a range);
and "shrinks_per_label" (of the widest difference, by a label in the group). mcse: Monte Carlo
standard error of the estimate."""

SEARCH_COLUMNS: dict[str, type] = {
    "quantity": str,
    "metric": str,
    "group": str,
    "reference": str,
    "threshold": float,
    "statistic": str,
    "estimate": float,
    "sd": float,
    "low": float,
    "high": float,
    "prob": float,
    "within": float,
    "prob_within": float,
    "no_crossing": float,
    "exact": bool,
    "converged": bool,
    "reason": str,
}

"""Columns of a FoundThresholds. quantity: "wanted" (the metric of the reference at its own
`threshold`, or the target), "crossing" (of the threshold at which the metric of a group is that;
`no_crossing` is the share of draws without one), "recommended" (a threshold), and at that
`threshold` "metric" (of the group) and "gap" (the metric minus what is wanted). statistic: "mean"
or "median" of the posterior; null for what is none."""

COUNTS = ("rows", "labeled", "positives")

POINT = ("mean", "median")

SHEET = ("=", "+", "-", "@")  # a cell that begins so is a formula to a spreadsheet


def rows(result: Any) -> list[Row]:
    """Return the rows of a result, each a dict of all its columns.

    Examples
    --------
    >>> import lightfair as lf
    >>> from lightfair import tidy
    >>> data = lf.simulate(rows=300, labeled=40, rng=1)
    >>> result = lf.assess(data.y_true, data.y_score, sensitive_features=data.group,
    ...                    metrics="selection_rate", rng=1)
    >>> for row in tidy.rows(result):
    ...     if row["quantity"] == "metric" and row["method"] == "lightfair":
    ...         print(row["group"], round(row["estimate"], 3), row["exact"])
    A 0.384 True
    B 0.471 True
    """
    names, found = _tidy(result)
    blank = dict.fromkeys(names)
    return [{**blank, **row} for row in found]


def columns(result: Any) -> dict[str, type]:
    """Return the names of the columns of a result, with the type of what they hold beside None."""
    return dict(_tidy(result)[0])


def to_csv(result: Any, *, spreadsheet: bool = False) -> str:
    r"""Return the rows as CSV, RFC 4180 with a head line, each line ended by "\n".

    Floats are written so that they read back as the same floats, booleans as true and false, None
    as nothing. Names are those of the data, so that they can be joined with it; only characters
    that do not print are written as escapes, so that a row is a line. A reader that guesses types
    should be told them: of groups named "NA" or "007" others make NaN and 7.

    Parameters
    ----------
    result
    spreadsheet : bool
        A text that begins with =, +, - or @ is a formula to a spreadsheet, and a name from the data
        may be one that does harm. True puts an apostrophe before it, which changes the name, and a
        byte order mark before the whole, without which some of them take UTF-8 for Latin-1.

    Examples
    --------
    >>> import csv
    >>> import lightfair as lf
    >>> data = lf.simulate(rows=300, labeled=40, rng=1)
    >>> result = lf.assess(data.y_true, data.y_score, sensitive_features=data.group, rng=1)
    >>> row = next(csv.DictReader(result.to_csv().splitlines()))
    >>> row["quantity"], row["metric"], row["group"]
    ('metric', 'accuracy', 'A')
    >>> float(row["estimate"]) == result.metric("accuracy", "A").mean
    True
    """
    names = columns(result)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(row[name], spreadsheet) for name in names] for row in rows(result))
    return "\ufeff" * spreadsheet + text.getvalue()


def _cell(value: Any, spreadsheet: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return one_line("'" * (spreadsheet and value.startswith(SHEET)) + value)
    return repr(value)


def _tidy(result: Any) -> tuple[dict[str, type], Iterator[Row]]:
    """Columns, and rows that hold some of them."""
    if not hasattr(result, "_tidy"):
        raise TypeError(
            "result must be what assess, plan_labels, compare_models or find_threshold returned; "
            f"got {type(result).__name__}"
        )
    return result._tidy()  # type: ignore[no-any-return]


def _numbers(entry: Row) -> Row:
    """What one entry of `to_dict` says of its number, by the names of the columns."""
    statistic = next((name for name in POINT if name in entry), None)
    low, high = entry.get("interval") or (None, None)
    found: Row = {"statistic": statistic, "low": low, "high": high}
    found["estimate"] = None if statistic is None else entry[statistic]
    for name in ("sd", "upper", "prob_positive", "prob_within", "prob_largest", "reason"):
        if name in entry:
            found[name] = entry[name]
    found["exact"] = bool(entry.get("exact", False))
    if entry.get("left_out"):
        found["left_out"] = "; ".join(entry["left_out"])
    return found


def of_assessment(result: Assessment) -> Iterator[Row]:
    """Return the rows of an assessment, without the columns that they leave out."""
    values = result.to_dict()
    settings, counted = values["settings"], set(counted_metrics(result))
    cut = settings["threshold"]
    own = {
        "method": "lightfair",
        "prob": settings["prob"],
        "converged": values["diagnostics"]["ok"],
    }
    for name, metric in values["metrics"].items():
        cuts = cut if name in counted else None
        common = {**own, "metric": name}
        yield from _metric(metric, common, cuts, values["data"], settings["epsilon"])
        common["threshold"] = None if isinstance(cuts, dict) else cuts
        yield from _compared(metric, common, settings["epsilon"])
    for at, metrics in values.get("thresholds", {}).items():
        if float(at) == cut:
            continue
        for name, metric in metrics.items():
            common = {**own, "metric": name, "threshold": float(at)}
            yield from _at_threshold(metric, common, values["data"], settings["epsilon"])
    shared = None if isinstance(cut, dict) else cut
    for name, criterion in values["criteria"].items():
        for entry in criterion["differences"]:
            common = {**own, "metric": name, "threshold": shared, "within": settings["epsilon"]}
            yield {**common, "quantity": "criterion", **_between(entry)}
    for verdict in values["checks"]:
        depends = verdict["metric"] in counted or verdict["metric"] not in values["metrics"]
        yield from _check(verdict, {**own, "threshold": shared if depends else None})
    if values["simultaneous"] is not None:
        found = values["simultaneous"]
        for entry in found["intervals"] + found["left_out"]:
            name = entry["metric"]
            common = {**own, "metric": name, "threshold": shared if name in counted else None}
            common["prob"] = found["prob"]
            yield {**common, "quantity": "simultaneous", **_between(entry)}


def _between(entry: Row) -> Row:
    """An entry about a group and its reference."""
    return {"group": entry["group"], "reference": entry.get("reference"), **_numbers(entry)}


def _metric(metric: Row, common: Row, cuts: Any, data: Row, epsilon: float) -> Iterator[Row]:
    """Rows of a metric of each group and of the differences, by each method."""
    for entry, group in zip(metric["groups"], data["groups"], strict=True):
        at = cuts.get(group["name"]) if isinstance(cuts, dict) else cuts
        counts = {name: group[name] for name in COUNTS}
        of = {**common, "quantity": "metric", "group": entry["name"], "threshold": at, **counts}
        worth = ("effective_labels", "width_ratio", "effective_reason")
        yield {**of, **_numbers(entry), **{name: entry.get(name) for name in worth}}
        yield from _methods(entry, of)
    shared = None if isinstance(cuts, dict) else cuts
    for name in data["empty_groups"]:
        counts = dict.fromkeys(COUNTS, 0)
        none = {"exact": False, "reason": "the group has no rows", "threshold": shared}
        yield {**common, "quantity": "metric", "group": name, **counts, **none}
    for entry in metric["differences"]:
        of = {**common, "quantity": "difference", "threshold": shared, "within": epsilon}
        of |= {"group": entry["group"], "reference": entry["reference"]}
        yield {**of, **_numbers(entry)}
        yield from _methods(entry, {**of, "within": None})


def _methods(entry: Row, of: Row) -> Iterator[Row]:
    """What other methods say of the same, and the truth."""
    for method in ("labels_only", "prediction_powered"):
        yield {**of, "method": method, "converged": None, **_numbers(entry[method])}
    if "truth" in entry:
        truth = {"estimate": entry["truth"], "reason": entry.get("truth_reason"), "prob": None}
        exact = entry["truth"] is not None
        yield {**of, "method": "truth", "converged": None, **truth, "exact": exact}


def _compared(metric: Row, common: Row, epsilon: float) -> Iterator[Row]:
    """Rows of the other comparisons between groups."""
    for entry in metric["ratios"]:
        # the median lies in the interval also where it is infinite; the geometric mean need not
        ratio = _between({name: v for name, v in entry.items() if name != "prob_within"})
        infinite = entry.get("infinite", ())
        for name, key in (("estimate", "median"), ("low", "low"), ("high", "high")):
            if key in infinite:
                ratio[name] = math.inf
        near = {"within": FOUR_FIFTHS, "prob_within": entry.get("prob_four_fifths")}
        yield {**common, "quantity": "ratio", **ratio, **near}
    small = {**common, "within": epsilon}
    for entry in metric["pairs"]:
        yield {**small, "quantity": "pair", **_between(entry)}
    if metric["pairs_left_out"]:
        reason = f"{metric['pairs_left_out']} more pairs, less likely the largest, are left out"
        yield {**common, "quantity": "pair", "exact": False, "reason": reason}
    gap = metric["largest_gap"]
    first, second = gap.get("which", (None, None))
    pair = {"group": first, "reference": second, "prob_largest": gap.get("prob_which")}
    yield {**small, "quantity": "largest_gap", **_numbers(gap), **pair}
    yield {**small, "quantity": "between_group_sd", **_numbers(metric["between_group_sd"])}
    for name in ("against_rest", "against_overall"):
        for entry in metric[name]:
            yield {**small, "quantity": name, **_between(entry)}
    for margin in metric["marginals"]:
        of = {**common, "attribute": margin["attribute"]}
        for entry in margin["levels"]:
            counts = {name: entry[name] for name in COUNTS}
            level = {"quantity": "marginal", "group": entry["name"], **counts}
            yield {**of, **level, **_numbers(entry)}
        for entry in margin["differences"]:
            named = {"group": entry["level"], "reference": entry["reference"], "within": epsilon}
            yield {**of, "quantity": "marginal_difference", **named, **_numbers(entry)}


def _at_threshold(metric: Row, common: Row, data: Row, epsilon: float) -> Iterator[Row]:
    """Rows of a metric and its differences at another threshold than that of the report."""
    for entry, group in zip(metric["groups"], data["groups"], strict=True):
        of = {**common, "quantity": "metric", "group": entry["name"]}
        yield {**of, **{name: group[name] for name in COUNTS}, **_numbers(entry)}
    for entry in metric["differences"]:
        yield {**common, "quantity": "difference", "within": epsilon, **_between(entry)}


def _check(verdict: Row, common: Row) -> Iterator[Row]:
    """A row of a check, and of each of its pairs."""
    of = common | {name: verdict[name] for name in ("metric", "relation", "within", "prob")}
    taken = ("status", "prob_within", "more_labels", "exact", "reason")
    yield {**of, "quantity": "check", **{name: verdict[name] for name in taken}}
    for pair in verdict["pairs"]:
        one = {**of, "quantity": "check_pair", "exact": verdict["exact"], **pair}
        gap = one.pop("gap")
        yield {**one, "estimate": gap, "statistic": None if gap is None else "mean"}
    if verdict["pairs_left_out"]:
        reason = f"{verdict['pairs_left_out']} more pairs, likelier within, are left out"
        yield {**of, "quantity": "check_pair", "exact": False, "reason": reason}


def of_comparison(result: ModelComparison) -> Iterator[Row]:
    """Return those of a comparison of models."""
    values = result.to_dict()
    common = {"prob": values["settings"]["prob"], "converged": values["diagnostics"]["ok"]}
    for name, metric in values["metrics"].items():
        for one in metric["models"]:
            yield from _of_models(one, {**common, "metric": name})
        for one in metric["pairs"]:
            if name == "accuracy":  # with the probability of which is more accurate, below
                one = {**one, "overall": None, "groups": []}
            yield from _of_models(one, {**common, "metric": name})
    for one in values["accuracy"]:
        yield from _of_models({**one, "overall": one}, {**common, "metric": "accuracy"})


def _of_models(one: Row, common: Row) -> Iterator[Row]:
    """Rows of a model, or of a model minus another."""
    of = {**common, "model": one["model"], "than": one.get("than")}

    def numbers(entry: Row) -> Row:
        chances = ("prob_fairer", "prob_as_fair", "prob_more_accurate", "prob_as_accurate")
        found = _numbers(entry) | {name: entry.get(name) for name in chances}
        return {name: value for name, value in found.items() if name in COMPARISON_COLUMNS}

    if one["overall"] is not None:
        yield {**of, "quantity": "overall", **numbers(one["overall"])}
    for entry in one["groups"]:
        yield {**of, "quantity": "metric", "group": entry["name"], **numbers(entry)}
    for entry in one.get("differences", ()):
        pair = {"group": entry["group"], "reference": entry["reference"]}
        yield {**of, "quantity": "difference", **pair, **numbers(entry)}
    if "largest_gap" in one:
        yield {**of, "quantity": "largest_gap", **numbers(one["largest_gap"])}


def of_plan(plan: LabelPlan) -> Iterator[Row]:
    """Return those of a plan."""
    values = plan.to_dict()
    common = {name: values[name] for name in ("metric", "prob", "width", "within")}
    for step in values["steps"]:
        at = {**common, "extra": step["extra"]}
        for entry in step["groups"] + step["differences"]:
            pair = {"group": entry.get("name", entry.get("group"))}
            pair["reference"] = entry.get("reference")
            numbers = {"estimate": entry["width"], "mcse": entry["mcse"]}
            yield {**at, "quantity": "width", **pair, **numbers, "reason": entry["reason"]}
        for group, number in step["split"].items():
            yield {**at, "quantity": "split", "group": group, "estimate": number}
        chance = {"estimate": step["prob_decisive"], "mcse": step["prob_decisive_mcse"]}
        none = "there is no difference that is defined" if chance["estimate"] is None else None
        yield {**at, "quantity": "prob_decisive", **chance, "reason": none}
    labels = values["labels"]
    ends = {name: None if labels[name] is None else float(labels[name]) for name in ("low", "high")}
    number = None if labels["number"] is None else float(labels["number"])
    yield {**common, "quantity": "labels", "estimate": number, **ends, "reason": labels["reason"]}
    for group in values["groups"]:
        by = group["shrinks_per_label"]
        none = "the group has no unlabeled row" if by is None else None
        named = {"group": group["name"], "estimate": by, "reason": none}
        yield {**common, "quantity": "shrinks_per_label", **named}


def of_search(found: FoundThresholds) -> Iterator[Row]:
    """Return those of a search for thresholds."""
    values = found.to_dict()
    settings, metric, reference = (values[name] for name in ("settings", "metric", "reference"))
    common = {"metric": metric, "converged": values["diagnostics"]["ok"]}
    drawn = {**common, "prob": settings["prob"]}
    if values["wanted"] is None:
        yield {**common, "quantity": "wanted", "estimate": values["target"], "exact": True}
    else:
        of = {"quantity": "wanted", "group": reference, "threshold": values["own"]}
        yield {**drawn, **of, **_numbers(values["wanted"])}
    for entry in values["groups"]:
        of = {"group": entry["group"]}
        crossing = {"quantity": "crossing", "no_crossing": entry["no_crossing"]}
        yield {**drawn, **of, **crossing, **_numbers(entry)}
        at, why = entry["recommended"], entry.get("recommended_reason")
        fact = bool(entry["gap"] and entry["gap"]["exact"])
        best = {"quantity": "recommended", "estimate": at, "exact": fact, "reason": why}
        yield {**common, **of, **best}
        of |= {"threshold": at}
        none = {"interval": None, "reason": why}
        yield {**drawn, **of, "quantity": "metric", **_numbers(entry["metric"] or none)}
        near = {"reference": reference, "within": settings["epsilon"]}
        yield {**drawn, **of, "quantity": "gap", **near, **_numbers(entry["gap"] or none)}


LIBRARIES = ("pandas", "polars")

PANDAS = {str: "string", float: "float64", int: "Int64", bool: "boolean"}


def to_dataframe(result: Any, library: str | None = None) -> Any:
    """Return the rows of `tidy` as a data frame.

    Parameters
    ----------
    result
    library : {"pandas", "polars"}, optional
        Default: the one that the program has imported, else the one that is installed; of two
        pandas.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame. A column has the same type whatever is in it: text is
    "string" (String), numbers float64 (Float64) or, of counts, "Int64", truth values "boolean"
    (Boolean). What is undefined is NaN or NA in pandas, null in polars.

    Raises
    ------
    ImportError
        If the library, or both, are not installed.
    ValueError
        If it is another one.
    """
    if library is not None and library not in LIBRARIES:
        raise ValueError(f"library must be one of {', '.join(LIBRARIES)}; got {library!r}")
    name, frames = _library(library)
    kinds, found = columns(result), rows(result)
    values = {column: [row[column] for row in found] for column in kinds}
    if name == "pandas":
        return frames.DataFrame(
            {
                column: frames.Series(values[column], dtype=PANDAS[kind])
                for column, kind in kinds.items()
            }
        )
    return frames.DataFrame(values, schema=kinds)


def _library(asked: str | None) -> tuple[str, Any]:
    """The library to make a frame with, and its name."""
    names = LIBRARIES if asked is None else (asked,)
    for name in sorted(names, key=lambda name: name not in sys.modules):
        try:
            return name, importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:  # it is there, and broken
                raise
    some = len(names) > 1
    raise ImportError(
        f"a data frame needs {' or '.join(names)}, which {'are' if some else 'is'} not installed; "
        f"install {'one of them' if some else 'it'}, or take to_csv(), or "
        "lightfair.tidy.rows(result)"
    )
