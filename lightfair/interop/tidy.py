"""Tidy rows: every number of a result in a row of its own, for plots, tables and databases.

The numbers are those of `to_dict`, in long format: columns identify the number, and a kind of
result always has the same columns, whatever was requested. Columns of an Assessment (`COLUMNS`):

- quantity (str): "metric", "difference" (metric of group minus that of reference), "ratio" (over
  it), "pair" (difference of any two groups), "largest_gap" and "between_group_sd" (of all groups),
  "against_rest", "against_overall" (differences from the other groups and from all rows),
  "marginal", "marginal_difference" (of levels of an attribute), "criterion" (difference by a
  fairness criterion), "simultaneous" (difference; all these intervals hold at once), "check" (all
  pairs of a check) and "check_pair" (one pair: the largest absolute difference of the metrics of
  the check, or the smallest ratio, of the lower to the higher).
- metric (str): the metric, or the criterion that a row or check is about.
- group, reference (str): names of groups; levels where there is an attribute. For a largest gap,
  the pair that most probably has it.
- attribute (str): of marginals.
- threshold (float): of the decisions; null if decisions were given, if a row is about groups with
  different thresholds, and for metrics that do not depend on it. If several thresholds were
  requested, metrics and differences have rows at each.
- method (str): "lightfair", "labels_only", "prediction_powered", "selection_odds" (bounds, without
  an estimate, at the odds ratio of the settings), or "truth" where it is known.
- statistic (str): "mean" or "median" of the posterior; null for the truth.
- estimate, sd, low, high (float): low and high are the ends of the interval of credible level
  `prob`. A ratio may be inf.
- prob (float): credible level of the interval; for a check, the probability its verdict requires.
- upper (float): an unsigned quantity is below it with probability `prob`.
- prob_positive (float): that a difference is above 0.
- within, prob_within (float): the limit for a small difference, and the probability that the
  absolute value is below it; for a ratio, that it and its inverse are at least `within`.
- prob_largest (float): that a pair has the largest gap.
- exact (bool): whether the number is known exactly, a finite-population value.
- converged (bool): whether the chains have converged; null for methods without chains.
- rows, labeled, positives (int): counts of the group, in rows of its metric.
- effective_labels, width_ratio (float), effective_reason (str): effective number of labels, width
  of the interval relative to labels only, and why they are undefined.
- relation, status (str), more_labels (int): of checks: "difference" or "ratio"; "pass", "fail" or
  "insufficient"; how many labels would probably settle it.
- tipping_point (float): of checks, the odds ratio of unlabeled and labeled rows that could turn it.
- left_out (str): groups that a comparison of several groups leaves out: their metric is undefined,
  or they have fewer than `min_rows` rows, or no labels.
- reason (str): why there is no estimate, or no verdict.

Undefined values are None, with a reason. Groups without rows are listed, without numbers. A metric
with more than 200 pairs lists the 200 most likely to have the largest gap, and a row with the
number of the others. Settings, diagnostics, warnings and the calibration are only in `to_dict`.

Columns of a ModelComparison (`COMPARISON_COLUMNS`): quantity is "overall" (a metric of all rows),
"metric" (of a group), "difference" (from the reference) or "largest_gap"; if `than` is set, the
value of `model` minus that of `than`. Estimates are posterior means.

Columns of a LabelPlan (`PLAN_COLUMNS`): quantity is "width" (expected width of an interval) at
each number `extra`; "labels" (extra labels needed for `width`); "shrinks_per_label" (of the widest
difference, per label in the group); or, if the truth is known, "difference".

Columns of a FoundThresholds (`SEARCH_COLUMNS`): quantity is "wanted" (the metric of the reference
at its own `threshold`, or the target), "recommended" (a threshold of a group), and at that
`threshold` "metric" (of the group) and "gap" (the metric minus the target).

Columns of an AuditProfile (`KINDS["profile"]`): metric is the kind of rate; quantity is "rate" and
"impact_ratio" (rate over that of `reference`, the highest), both exact, with `method` "rows", or
"population_ratio", of which prob_below is the probability of a ratio below `within`, 0.8.

Columns of ConditionalGaps (`KINDS["strata"]`): quantity is "difference" (within the `stratum`, a
level of `attribute`, with its `weight`), "average" (over the strata; `covered` is their share of
the rows) or "pooled" (of all rows, without strata).

Columns of a ClassesAssessment (`KINDS["classes"]`): those of an Assessment, and class (str), which
is assessed against the rest; "simultaneous" is over all classes.

Columns of a MembershipAssessment (`KINDS["membership"]`): quantity is "metric" or "difference";
`method` is "given_proxy", "given_membership", "bounds" (low and high alone), "thresholded" or
"weighted" (frequencies).

Columns of a Monitoring (`KINDS["monitor"]`): quantity is "look" (evidence for some gap beyond the
limit, and for all within it) or "gap" (of `group` above `reference`, or the ratio of `reference` to
`group`), after each `period`.
"""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..audit.classes import ClassesAssessment
from ..audit.membership import FREQUENCIES, METHODS, MembershipAssessment
from ..audit.monitor import Monitoring
from ..audit.profiles import AuditProfile
from ..audit.strata import ConditionalGaps
from ..core.assessment import Assessment
from ..core.data.messages import one_line
from ..core.metrics.estimate import Estimate
from ..core.values import FOUR_FIFTHS
from ..model_comparison.comparison import ModelComparison
from ..planning.plan import LabelPlan
from ..thresholds.curve import counted_metrics
from ..thresholds.search import FoundThresholds

Row = dict[str, Any]

TEXTS = "class quantity metric model than group reference attribute stratum method statistic "
TEXTS += "effective_reason relation status period left_out reason"
TYPES: dict[str, type] = {  # of columns that are not numbers with a fraction
    **dict.fromkeys(TEXTS.split(), str),
    **dict.fromkeys(("extra", "rows", "labeled", "positives", "more_labels"), int),
    **dict.fromkeys(("selected", "short"), int),
    **dict.fromkeys(("exact", "converged", "again"), bool),
}

NAMES = {
    "assessment": "quantity metric group reference attribute threshold method statistic estimate "
    "sd low high prob upper prob_positive within prob_within prob_largest exact converged rows "
    "labeled positives effective_labels width_ratio effective_reason relation status more_labels "
    "tipping_point left_out reason",
    "models": "quantity metric model than group reference method estimate sd low high prob "
    "prob_fairer prob_as_fair prob_greater prob_equal exact converged reason",
    "plan": "quantity metric group reference extra method estimate low high prob width reason",
    "thresholds": "quantity metric group reference threshold method statistic estimate sd low high "
    "prob within prob_within exact converged reason",
    "profile": "quantity metric group reference attribute method statistic estimate low high prob "
    "within prob_below exact rows selected share deviations fisher_p short reason",
    "monitor": "quantity metric group reference period again method statistic estimate low high "
    "prob evidence evidence_within within exact converged rows labeled reason",
    "strata": "quantity metric group reference attribute stratum weight method statistic estimate "
    "sd low high prob prob_positive within prob_within exact converged covered left_out reason",
    "membership": "quantity metric group reference method statistic estimate sd low high prob "
    "prob_positive within prob_within exact converged reason",
}
NAMES["classes"] = f"class {NAMES['assessment']}"

KINDS = {
    kind: {name: TYPES.get(name, float) for name in row.split()} for kind, row in NAMES.items()
}
COLUMNS, COMPARISON_COLUMNS, PLAN_COLUMNS, SEARCH_COLUMNS, *_ = KINDS.values()

QUANTITIES = {"groups": "metric", "differences": "difference", "ratios": "ratio", "pairs": "pair"}
QUANTITIES["strata"] = "difference"
UNLIMITED = "metric marginal simultaneous wanted recommended"  # quantities without a limit
LIMITS = dict.fromkeys(UNLIMITED.split()) | {"ratio": FOUR_FIFTHS}
RENAMED = {"name": "group", "level": "group", "mean": "estimate", "median": "estimate"}
RENAMED |= {"prob_four_fifths": "prob_within", "gap": "estimate"}
COUNTS = ("rows", "labeled", "positives")
PLACE = ("quantity", "metric", "group", "reference", "threshold", "prob", "model", "than", *COUNTS)

LIBRARIES = ("pandas", "polars")
PANDAS = {str: "string", float: "float64", int: "Int64", bool: "boolean"}


def rows(result: Any) -> list[Row]:
    """Return the rows of a result, each a dict of all its columns.

    Parameters
    ----------
    result : Assessment, ModelComparison, LabelPlan or FoundThresholds

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
    names, rows_of = columns(result), globals()[f"of_{result._kind}"]
    return [{name: row.get(name) for name in names} for row in rows_of(result)]


def columns(result: Any) -> dict[str, type]:
    """Return the columns of a result by name, each with the type of its values beside None."""
    kind = getattr(result, "_kind", None)
    if kind not in KINDS:
        rule, got = "an Assessment or another result of this package", type(result).__name__
        raise TypeError(f"result must be {rule}; got {got}")
    return dict(KINDS[kind])


def to_csv(result: Any) -> str:
    r"""Return the rows as CSV (RFC 4180) with a header line, each line ended by "\n".

    Floats are written with all digits, booleans as true and false, None as an empty cell. Group
    names are written unchanged, so that the rows can be joined with the data; only nonprinting
    characters are escaped, so that a row is a line. Read the file with explicit column types: with
    guessed types, groups named "NA" or "007" become NaN and 7.

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
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns(result))
    writer.writerows(map(_cell, row.values()) for row in rows(result))
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "", True: "true", False: "false"}[value]
    return one_line(value) if isinstance(value, str) else repr(value)


def to_dataframe(result: Any, library: str | None = None) -> Any:
    """Return the rows as a data frame.

    Parameters
    ----------
    result
    library : {"pandas", "polars"}, optional
        Default: the one that the program has imported, else the one that is installed; pandas if
        that leaves both.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame. The types of the columns do not depend on their values:
    text is "string" (String), numbers are float64 (Float64), counts "Int64", truth values "boolean"
    (Boolean). Undefined values are NaN or NA in pandas, null in polars.

    Raises
    ------
    ImportError
        If the library is not installed.
    ValueError
        If it is another one.
    """
    if library not in (None, *LIBRARIES):
        raise ValueError(f"library must be one of {', '.join(LIBRARIES)}; got {library!r}")
    frames, kinds = _installed(library), columns(result)
    if frames is None:
        needed = library or " or ".join(LIBRARIES)
        raise ImportError(f"a data frame needs {needed}; to_csv() works without")
    if frames.__name__ == "polars":
        return frames.DataFrame(rows(result), schema=kinds)
    types = {column: PANDAS[kind] for column, kind in kinds.items()}
    return frames.DataFrame(rows(result), columns=list(kinds)).astype(types)


def _installed(library: str | None = None) -> Any:
    """Return a library of data frames, preferably one that is imported; None without one."""
    names = sorted([library] if library else LIBRARIES, key=lambda name: name not in sys.modules)
    name = next(filter(find_spec, names), None)
    return None if name is None else import_module(name)


def frame_of(estimates: dict[str, dict[str, Estimate]]) -> Any:
    """Return a data frame of estimates by metric and group, or the dict without a library.

    A group is a row; columns are METRIC, its posterior mean, METRIC_low and METRIC_high, the ends
    of its interval. Groups are the index in pandas, the column "group" in polars.
    """
    frames = _installed()
    if frames is None:
        return estimates
    columns = {}
    for metric, by_group in estimates.items():
        columns[metric] = [one.mean for one in by_group.values()]
        ends = zip(*(one.interval() for one in by_group.values()), strict=True)
        columns |= zip((f"{metric}_low", f"{metric}_high"), map(list, ends), strict=True)
    groups = list(by_group)
    if frames.__name__ == "polars":
        return frames.DataFrame({"group": groups, **columns}).fill_nan(None)
    return frames.DataFrame(columns, index=frames.Index(groups, name="group"))


def of_assessment(result: Assessment, joint: Row | None = None) -> Iterator[Row]:
    """Return the rows of an assessment, without the columns that they leave empty.

    `joint` are simultaneous intervals as plain values, in place of its own.
    """
    values = result.to_dict()
    settings, data, counted = values["settings"], values["data"], counted_metrics(result)
    cut = settings["threshold"]
    shared = {"threshold": None if isinstance(cut, dict) else cut}
    common = _common(values)
    at = {name: shared if name in counted else {} for name in values["metrics"]}
    none = {**dict.fromkeys(COUNTS, 0), "reason": "the group has no rows"}
    for name, metric in values["metrics"].items():
        groups = _with_counts(metric["groups"], data)
        if isinstance(cut, dict) and name in counted:
            groups = [{**entry, "threshold": cut[entry["name"]]} for entry in groups]
        groups += [{"name": group, **none} for group in data["empty_groups"]]
        pairs = _with_rest(metric["pairs"], metric["pairs_left_out"], "less likely the largest")
        of = {**common, "metric": name, **at[name]}
        yield from _walk({**metric, "groups": groups, "pairs": pairs}, of)
    for threshold, metrics in values.get("thresholds", {}).items():
        for name, metric in metrics.items() if float(threshold) != cut else ():
            of = {**common, "metric": name, "threshold": float(threshold)}
            yield from _walk({**metric, "groups": _with_counts(metric["groups"], data)}, of)
    for name, metric in values.get("selection", {"metrics": {}})["metrics"].items():
        yield from _walk(metric, {**common, "metric": name, **at[name], "method": "selection_odds"})
    for name, criterion in values["criteria"].items():
        of = {**common, "metric": name, **shared}
        yield from _walk({"criterion": criterion["differences"]}, of)
    for check in values["checks"]:
        of = common | at.get(check["metric"], shared) | {"exact": check["exact"]}
        of |= {name: check[name] for name in ("metric", "relation", "within", "prob")}
        pairs = _with_rest(check["pairs"], check["pairs_left_out"], "likelier within")
        yield from _walk({"check": check, "check_pair": pairs}, of)
    joint = joint or values["simultaneous"] or {"intervals": [], "left_out": []}
    for entry in joint["intervals"] + joint["left_out"]:
        of = {**common, **at[entry["metric"]], "prob": joint["prob"]}
        yield from _walk({"simultaneous": entry}, of)


def of_models(result: ModelComparison) -> Iterator[Row]:
    """Return the rows of a comparison of models."""
    values = result.to_dict()
    common = _common(values)
    for name, metric in values["metrics"].items():
        for one in metric["models"] + metric["pairs"]:
            of = {**common, "metric": name, "model": one["model"], "than": one.get("than")}
            yield from _walk(one, of)


def of_plan(plan: LabelPlan) -> Iterator[Row]:
    """Return the rows of a plan."""
    values = plan.to_dict()
    common = {name: values[name] for name in ("metric", "prob", "width")} | {"method": "lightfair"}
    for step in values["steps"]:
        at = {**common, "extra": step["extra"]}
        for entry in step["intervals"]:
            row = _row(entry, {**at, "quantity": "width"})
            yield row | {"estimate": entry["width"], "width": values["width"]}
    yield from _walk({"differences": values.get("differences", [])}, common)
    number, reason = values["labels"]["number"], values["labels"]["reason"]
    labels = {"estimate": None if number is None else float(number), "reason": reason}
    shrinks = [{**group, "estimate": group["shrinks_per_label"]} for group in values["groups"]]
    for group in shrinks:
        if group["estimate"] is None:
            group["reason"] = "the group has no unlabeled row"
    yield from _walk({"labels": labels, "shrinks_per_label": shrinks}, common)


def of_thresholds(search: FoundThresholds) -> Iterator[Row]:
    """Return the rows of a search for thresholds."""
    values = search.to_dict()
    common = _common(values) | {"metric": values["metric"]}
    target = {"estimate": values["target"], "exact": True, "prob": None}
    own = {"group": values["reference"], "threshold": values["own"], **(values["wanted"] or {})}
    yield from _walk({"wanted": own if values["wanted"] else target}, common)
    for entry in values["groups"]:
        none = {"reason": entry.get("recommended_reason")}
        exact = bool(entry["gap"] and entry["gap"]["exact"])
        best = {"estimate": entry["recommended"], "exact": exact, "prob": None, **none}
        of = {**common, "group": entry["group"]}
        yield from _walk({"recommended": best}, of)
        gap = {"reference": values["reference"], **(entry["gap"] or none)}
        of["threshold"] = entry["recommended"]
        yield from _walk({"metric": entry["metric"] or none, "gap": gap}, of)


def of_profile(found: AuditProfile) -> Iterator[Row]:
    """Return the rows of an audit profile."""
    values = found.to_dict()
    common = {"metric": values["rate"].replace(" ", "_"), "prob": values["settings"]["prob"]}
    for table in values["tables"]:
        for entry in table["categories"]:
            of = {**common, "attribute": table["attribute"], "group": entry["name"]}
            rate = {**entry, "estimate": entry["rate"], "exact": True, "reason": None, "prob": None}
            yield from _walk({"rate": rate}, {**of, "method": "rows"})
            of["reference"] = table["highest"]
            exact = {"estimate": entry["impact_ratio"], "reason": entry["reason"], "prob": None}
            exact["exact"] = entry["reason"] is None
            yield from _walk({"impact_ratio": exact}, {**of, "method": "rows"})
            if population := entry["population"]:
                below = {"prob_below": population["prob_below_four_fifths"], "within": FOUR_FIFTHS}
                of |= {**below, "method": "lightfair"}
                yield from _walk({"population_ratio": population}, of)


def of_strata(found: ConditionalGaps) -> Iterator[Row]:
    """Return the rows of gaps within strata."""
    values = found.to_dict()
    for one in values["gaps"]:
        yield from _walk(one, {**_common(values), **one, "attribute": values["attribute"]})


def of_classes(found: ClassesAssessment) -> Iterator[Row]:
    """Return the rows of the assessments of several classes."""
    joint = {name: one.to_dict() for name, one in found.simultaneous().items()}
    for name, one in found.by_class.items():
        yield from ({**row, "class": name} for row in of_assessment(one, joint.get(name)))


def of_membership(found: MembershipAssessment) -> Iterator[Row]:
    """Return the rows of an assessment by chances of membership."""
    values = found.to_dict()
    for entry in values["estimates"]:
        kind = "difference" if entry["reference"] else "metric"
        for method in METHODS:
            of = {**_common(values), **entry, "quantity": kind, "method": method}
            if method in FREQUENCIES:
                of |= {"prob": None, "converged": None}
            yield _row(entry[method], of)


def of_monitor(found: Monitoring) -> Iterator[Row]:
    """Return the rows of a monitored check."""
    values = found.to_dict()
    common = _common(values) | {"within": found.check.within, "metric": found.check.metric}
    for look in values["looks"]:
        of = {**common, **{name: look[name] for name in ("period", "again", "rows", "labeled")}}
        for entry in [look, *look["gaps"]]:
            pair = {"group": entry.get("higher"), "reference": entry.get("lower")}
            row = {**of, **pair, "quantity": "gap" if "higher" in entry else "look"}
            row |= {"metric": entry.get("metric", row["metric"])}
            row["reason"] = entry.get("reason") if "higher" in entry else "about all gaps"
            row |= {"evidence": entry["evidence"], "evidence_within": entry["within"]}
            numbers = ("mean", "median", "interval")
            yield _row({key: entry[key] for key in numbers if key in entry}, row)


def _common(values: Row) -> Row:
    """What all numbers of a result share."""
    settings, converged = values["settings"], values["diagnostics"]["ok"]
    near = {"prob": settings["prob"], "within": settings["epsilon"]}
    return {**near, "converged": converged, "method": "lightfair"}


def _with_counts(groups: list[Row], data: Row) -> list[Row]:
    """Entries of groups with the counts of the groups."""
    return [counts | entry for counts, entry in zip(data["groups"], groups, strict=True)]


def _with_rest(pairs: list[Row], left_out: int, why: str) -> list[Row]:
    """Pairs, and an entry with the number of those left out."""
    reason = f"{left_out} more pairs, {why}, are left out"
    return pairs + [{"exact": False, "reason": reason}] * bool(left_out)


def _walk(node: Row, of: Row) -> Iterator[Row]:
    """Rows of all entries below the keys of a node, by each method; `of` is what they share."""
    for key, entries in node.items():
        if key == "marginals":
            for margin in entries:
                parts = {"marginal": "levels", "marginal_difference": "differences"}
                levels = {quantity: margin[part] for quantity, part in parts.items()}
                yield from _walk(levels, {**of, "attribute": margin["attribute"]})
        elif isinstance(entries, (dict, list)):
            for entry in entries if isinstance(entries, list) else [entries]:
                row = _row(entry, {**of, "quantity": QUANTITIES.get(key, key)})
                yield row
                yield from _methods(entry, {name: row.get(name) for name in PLACE})


def _methods(entry: Row, of: Row) -> Iterator[Row]:
    """Rows of the other methods for the same number, and of the truth."""
    for method in ("labels_only", "prediction_powered"):
        if method in entry:
            yield _row(entry[method], {**of, "method": method})
    if "truth" in entry:
        truth = {"estimate": entry["truth"], "reason": entry.get("truth_reason")}
        exact = entry["truth"] is not None
        yield _row(truth, {**of, "method": "truth", "prob": None, "exact": exact})


def _row(entry: Row, of: Row) -> Row:
    """One entry of `to_dict` under the names of columns; `of` is what it does not hold itself."""
    row = {"exact": False, **of, "within": LIMITS.get(of["quantity"], of.get("within"))}
    for key, value in entry.items():
        if not isinstance(value, (dict, list)):
            row[RENAMED.get(key, key)] = value
    row["low"], row["high"] = entry.get("interval") or (None, None)
    row["statistic"] = next((name for name in ("mean", "median") if name in entry), None)
    if row["quantity"] == "check_pair" and entry.get("gap") is not None:
        row["statistic"] = "mean"
    for name in entry.get("infinite", ()):
        row[RENAMED.get(name, name)] = math.inf
    if row["quantity"] == "largest_gap" and "which" in entry:
        row["group"], row["reference"] = entry["which"]
        row["prob_largest"] = entry["prob_which"]
    if entry.get("left_out"):
        row["left_out"] = "; ".join(entry["left_out"])
    return row
