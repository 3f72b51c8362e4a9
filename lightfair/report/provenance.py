"""Provenance: what a report assumed, when not to trust it, and how to reproduce it.

These are the sections that a full report has beside its numbers: for somebody who reads it without
having made it. What is said follows from the settings of the result.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import __version__
from ..core.mcmc.jit import version
from ..core.model.curve import Prior
from ..core.model.regions import Trust
from ..core.settings import Settings
from .document import Cell, Paragraph, Section, Table
from .format import TARGET_WORDS

if TYPE_CHECKING:
    from ..core.assessment import Assessment
    from ..core.data.table import ScoreTable
    from ..core.metrics.definitions import Metric
    from ..model_comparison import ModelComparison
    from ..planning.plan import LabelPlan
    from ..thresholds.search import FoundThresholds

CURVES = {
    "beta": "log odds of a positive label = c + a log(s) - b log(1 - s)",
    "llo": "log odds of a positive label = c + a log(s / (1 - s))",
    "temperature": "log odds of a positive label = a log(s / (1 - s))",
}

MEANINGS = {
    "accuracy": "share of the rows that are decided as they are labeled",
    "tpr": "true positive rate: share of the positive rows that are decided positive",
    "fpr": "false positive rate: share of the negative rows that are decided positive",
    "tnr": "true negative rate: share of the negative rows that are decided negative",
    "fnr": "false negative rate: share of the positive rows that are decided negative",
    "ppv": "positive predictive value: share of the rows decided positive that are positive",
    "npv": "negative predictive value: share of the rows decided negative that are negative",
    "false_discovery_rate": "share of the rows decided positive that are negative",
    "false_omission_rate": "share of the rows decided negative that are positive",
    "selection_rate": "share of the rows that are decided positive",
    "base_rate": "share of the rows that are positive",
    "f1": "twice the true positives, over these and all rows decided positive or labeled so",
    "balanced_accuracy": "mean of the true positive rate and the true negative rate",
    "treatment_equality": "false negatives for each false positive",
    "auc": "chance that a positive row has a higher score than a negative one, ties half",
    "brier": "mean squared distance of the score from the label",
    "ece": "expected calibration error: distance of scores from rates, in ten bins of scores",
    "calibration_in_the_large": "rate of positives minus mean score",
    "balance_positive": "mean score of the positive rows",
    "balance_negative": "mean score of the negative rows",
    "average_score": "mean score",
}

LABELS = (
    "The labeled rows of each group are a random sample of its rows, or random among rows of the "
    "same score and decision. Labels that are there because of the decision, as of accepted "
    "applicants only, make every number here wrong."
)

CHOSEN = (
    "The labeled rows were chosen with the chances given as label_prob, which depend on group, "
    "score and decision alone. Chances that depend on anything else that goes with the label make "
    "every number here wrong."
)

LIMITS = (
    "Labels that are no such sample: nothing in the numbers can show it for sure.",
    "Warnings, where there are some: what they name is to be settled before a number is used.",
    "Few labels: then the prior speaks, which holds that scores are roughly calibrated and that "
    "groups are alike. An answer that moves when the scales of the prior are doubled rests on it.",
    "Many intervals: one in twenty intervals of 95 % misses; simultaneous intervals hold all at "
    "once.",
    "A metric is not the whole of fairness, and says nothing of what a decision does to people.",
)

DISAGREE = (
    "Columns that disagree: where lightfair, labels only and prediction-powered differ by more "
    "than their intervals, believe the labels."
)

STAND_FOR = (
    "What is left open in the call stands for the rows. The rows of a table are given as the table "
    "alone, in place of them."
)


def meaning(metric: Metric) -> str | None:
    """Say in words what a built-in metric is; None for others."""
    if metric.name.startswith("cost("):
        return "mean cost of a row, of false positives (fp) and false negatives (fn)"
    return MEANINGS.get(metric.name)


def provenance_sections(result: Assessment, command: str | None) -> list[Section]:
    """Return what an assessment assumed, its limits, and how to reproduce it."""
    call = assess_call(result.settings, result.table)
    limits = (*LIMITS[:2], DISAGREE, *LIMITS[2:])
    said = [*_curves(result.settings, "Each group has", "the score s"), *_beside(result.settings)]
    return _sections(result.settings, result.table, call, command, said, limits)


def comparison_sections(result: ModelComparison, command: str | None) -> list[Section]:
    """Return the same of a comparison of models."""
    models = ", ".join(f"{model!r}: ..." for model in result.models)
    given = {"threshold": result.settings.threshold}
    given |= _options(result.settings, Settings(hierarchical="nested"))
    table = result.cells.table
    call = _call("compare_models", f"{{{models}}}, y_true, {_columns(table)}", given)
    of = "s, whose log odds are the mean of those of the models' scores"
    said = [
        *_curves(result.settings, "In a group the rows of the same decisions have", of),
        "What the models decide counts as one more attribute. In every draw the labels are the "
        "same for all models.",
        _intervals(result.settings),
    ]
    return _sections(result.settings, table, call, command, said, LIMITS)


def plan_sections(plan: LabelPlan, command: str | None) -> list[Section]:
    """Return what a plan assumed, and how to reproduce it."""
    said = [
        *_curves(plan.assessment.settings, "Each group has", "the score s"),
        "The labels to come are drawn from the posterior of the assessment: its model is taken to "
        "be right.",
        "Rows to be labeled are chosen at random"
        + ("." if plan.allocation is None else " in each group; groups get their shares."),
        f"A verdict is decisive at a probability of {plan.prob:g}.",
    ]
    if plan.refits:
        said.append(
            f"± is the Monte Carlo standard error of a width, from {plan.refits} refits for each "
            "number of labels."
        )
    else:
        said.append("Widths are those of the forecast alone; nothing was fitted again.")
    pairs = plan.of_differences
    base = pairs[0].reference if pairs else None
    given = {
        "metric": plan.metric,
        "width": plan.width,
        "group": pairs[0].group if len(pairs) == 1 and len(plan.groups) > 2 else None,
        "reference": None if base == plan.assessment.settings.reference else base,
        "within": plan.within,
        "prob": plan.prob,
        "extra": [number for number in plan.extra.tolist() if number],
        "allocation": plan.allocation,
        "refits": plan.refits,
        "rng": plan.seed,
    }
    seed = plan.seed if plan.refits else plan.assessment.settings.seed  # a forecast draws nothing
    return _of_result(plan.assessment, "plan_labels", given, command, said, seed)


def search_sections(found: FoundThresholds, command: str | None) -> list[Section]:
    """Return what a search for thresholds assumed, its limits, and how to reproduce it."""
    settings = found.assessment.settings
    said = [
        *_curves(settings, "Each group has", "the score s"),
        _intervals(settings),
        "In every draw a row has one label, whatever the threshold. The posterior of a threshold "
        "is of where the metric crosses what is wanted, draw by draw. Within a cell of the "
        "table rows are taken to be spread evenly over the log odds.",
        "The reference stays at its own threshold. An assessment at the recommended thresholds has "
        "slightly other numbers: its deviations from the curve depend on where rows are decided.",
    ]
    groups = [one.group for one in found.groups]
    every = [name for name in found.assessment.groups if name != found.reference]
    given = {
        "metric": found.metric,
        "group": None if groups == every else groups,
        "reference": found.reference,
        "target": found.target,
    }
    return _of_result(found.assessment, "find_threshold", given, command, said, settings.seed)


def _of_result(
    result: Assessment,
    function: str,
    given: Mapping[str, Any],
    command: str | None,
    assumed: list[str],
    seed: int | None,
) -> list[Section]:
    """The sections of what a function made of an assessment, both by a seed."""
    settings = result.settings
    first = assess_call(settings, result.table).replace("\nlightfair.", "\nresult = lightfair.")
    call = f"{first}\n{_lines(function, 'result', given)}"
    settings = replace(settings, seed=None if settings.seed is None else seed)
    return _sections(settings, result.table, call, command, assumed, LIMITS)


def assess_call(settings: Settings, table: ScoreTable) -> str:
    """Return the call of `assess` that made a result, with rows left open."""
    given: dict[str, Any] = {"threshold": settings.threshold}
    if settings.thresholds is not None:
        several, first = settings.thresholds, settings.threshold
        if not isinstance(several, str):  # the report is about the first one
            several = sorted(several, key=lambda cut: cut != first)
        given = {"threshold": several}
    rows = f"y_true, y_score, {_columns(table)}"
    rows += ", y_pred=..." if settings.threshold is None else ""
    return _call("assess", rows, given | _options(settings, Settings()))


def _columns(table: ScoreTable) -> str:
    """The columns beside labels and scores that rows were given with."""
    names = ["sensitive_features"]
    names += ["sample_weight"] * table.weighted
    names += ["label_prob"] * (table.design is not None)
    return ", ".join(f"{name}=..." for name in names)


def _sections(
    settings: Settings,
    table: ScoreTable,
    call: str,
    command: str | None,
    assumed: list[str],
    limits: tuple[str, ...],
) -> list[Section]:
    """What was assumed, of labels and else, limits, and what makes it again."""
    again = list(_again(call, command, settings.seed))
    if command is None:
        again.append(Paragraph(STAND_FOR))
    if settings.own_metrics:
        own = ", ".join(metric.name for metric in settings.own_metrics)
        again.append(Paragraph(f"Metrics of the user's own, each a lightfair.Metric: {own}."))
    said = (CHOSEN if table.design is not None else LABELS, *assumed)
    return [
        Section("assumptions", "What was assumed", tuple(map(Paragraph, said))),
        Section("limits", "When not to trust it", tuple(map(Paragraph, limits))),
        Section("reproduce", "How to reproduce it", tuple(again)),
    ]


def _options(settings: Settings, usual: Settings) -> dict[str, Any]:
    """Arguments that differ from the usual ones, and those that the run depends on."""
    always = ("metrics", "reference", "chains", "draws", "warmup", "seed")
    record = ("threshold", "thresholds", "own_metrics")
    found: dict[str, Any] = {}
    for field in fields(settings):
        name, value = field.name, getattr(settings, field.name)
        if name in record or (name not in always and value == getattr(usual, name)):
            continue
        if name == "checks":
            value = [check.text for check in value]
        elif name == "metrics":
            value = list(value)
        elif name == "trust" and value is None:
            value = False
        found["rng" if name == "seed" else name] = value
    return found


def _call(function: str, rows: str, options: Mapping[str, Any]) -> str:
    return f"import lightfair\n\n{_lines(function, rows, options)}"


def _lines(function: str, rows: str, options: Mapping[str, Any]) -> str:
    lines = [f"lightfair.{function}(", f"    {rows},"]
    for name, value in options.items():
        if value is not None:
            lines.append(f"    {name}={_written(value)},")
    return "\n".join([*lines, ")"])


def _written(value: Any) -> str:
    """A value as it is written in Python."""
    if isinstance(value, (Prior, Trust)):
        return f"lightfair.{value!r}"
    return repr(value)


def _curves(settings: Settings, has: str, score: str) -> list[str]:
    """What the model is; `has` says what has a curve, `score` of which score."""
    scales = settings.prior.to_dict()
    groups = "Its parameters are normal around common ones, by how much is learned."
    if not settings.hierarchical:
        groups = "Nothing is shared between groups."
    elif settings.nested:
        groups = "Its parameters are common ones, plus effects of attributes, plus interactions."
    trust = "The curve alone is believed; rates that deviate from it are taken for chance."
    if settings.trust is not None:
        trust = (
            "In a region of the scores the rate may deviate from the curve, by as much as the "
            "labels ask for."
        )
    return [
        f"Estimated is {TARGET_WORDS[settings.target]} (target {settings.target}).",
        f"{has} a calibration curve ({settings.family}) of {score}: "
        f"{CURVES[settings.family]}. {groups} {trust}",
        "Scales of the prior, standard deviations: "
        + ", ".join(f"{name} {value:g}" for name, value in scales.items())
        + ("" if settings.trust is None else _scales_of(settings.trust))
        + ".",
        f"Scores are clipped to [{settings.clip:g}, {1.0 - settings.clip:g}] for the curve.",
    ]


def _intervals(settings: Settings) -> str:
    return f"Intervals are central {100 * settings.prob:g} % credible intervals."


def _beside(settings: Settings) -> list[str]:
    """What intervals are, what is small, and what stands beside lightfair."""
    low, high = settings.labels_only_prior
    return [
        f"{_intervals(settings)} A difference below {settings.epsilon:g} in absolute value counts "
        "as small.",
        f"Labels only has a Beta({low:g}, {high:g}) prior in each group. Prediction-powered has no "
        "model.",
    ]


def _scales_of(trust: Trust) -> str:
    return "".join(f", {name} {value:g}" for name, value in trust.to_dict().items())


def _again(call: str, command: str | None, seed: int | None) -> tuple[Paragraph | Table, ...]:
    """The command line, or else the call from Python, the versions and the seed."""
    code, language = (call, "python") if command is None else (command, "sh")
    known = Cell("not known") if seed is None else Cell(str(seed))
    table = Table(
        ("made with", "version or seed"),
        (*((Cell(name), Cell(of)) for name, of in _versions()), (Cell("seed"), known)),
    )
    same = "The same rows, versions and seed give the same numbers."
    if seed is None:
        same = (
            "No seed is known: rng was None or a Generator. Another run gives slightly other "
            "numbers; a seed, as in rng=1, makes them the same."
        )
    return (Paragraph(code, "code", language), table, Paragraph(same))


def _versions() -> tuple[tuple[str, str], ...]:
    """What a result is made with."""
    return (
        ("lightfair", __version__),
        ("Python", platform.python_version()),
        ("numpy", np.__version__),
        ("numba", version() or "not available"),
    )
