"""What a report assumes, when not to trust it, and how to reproduce it.

The full form of every report ends with these sections, for readers who did not make it. Their text
follows from the settings of the result.
"""

from __future__ import annotations

import json
import platform
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import __version__
from ..core.mcmc.jit import version
from .document import Cell, Paragraph, Section, Table
from .format import TARGET_WORDS

if TYPE_CHECKING:
    from ..core.assessment import Assessment
    from ..core.data.table import ScoreTable
    from ..core.metrics.definitions import Metric
    from ..core.settings import Settings
    from ..model_comparison import ModelComparison
    from ..planning.plan import LabelPlan
    from ..thresholds.search import FoundThresholds

CURVES = {
    "beta": "log odds of a positive label = c + a log(s) - b log(1 - s)",
    "llo": "log odds of a positive label = c + a log(s / (1 - s))",
    "temperature": "log odds of a positive label = a log(s / (1 - s))",
}

DEFINITIONS = {
    "accuracy": "share of rows with a correct decision",
    "tpr": "true positive rate: share of positive rows with a positive decision",
    "fpr": "false positive rate: share of negative rows with a positive decision",
    "tnr": "true negative rate: share of negative rows with a negative decision",
    "fnr": "false negative rate: share of positive rows with a negative decision",
    "ppv": "positive predictive value: share of positive decisions that are correct",
    "npv": "negative predictive value: share of negative decisions that are correct",
    "false_discovery_rate": "share of positive decisions that are wrong",
    "false_omission_rate": "share of negative decisions that are wrong",
    "selection_rate": "share of rows with a positive decision",
    "base_rate": "share of rows that are positive",
    "f1": "harmonic mean of the positive predictive value and the true positive rate",
    "balanced_accuracy": "mean of the true positive rate and the true negative rate",
    "treatment_equality": "number of false negatives per false positive",
    "auc": "probability that a positive row has a higher score than a negative one, ties half",
    "brier": "mean squared difference between score and label",
    "ece": "expected calibration error: mean difference between score and rate in ten score bins",
    "calibration_in_the_large": "rate of positives minus mean score",
    "balance_positive": "mean score of the positive rows",
    "balance_negative": "mean score of the negative rows",
    "average_score": "mean score",
}

RANDOM_LABELS = (
    "The labeled rows of each group are a random sample of its rows, or random among rows with the "
    "same score and decision. If labels exist because of the decision, for example only for "
    "accepted applicants, all numbers in this report are wrong."
)

KNOWN_SELECTION = (
    "The labeled rows were selected with the probabilities given as label_prob, which depend only "
    "on group, score and decision. If they depend on anything else that is related to the label, "
    "all numbers in this report are wrong."
)

LIMITS = (
    "Selected labels: no number here can prove that the labeled rows are a random sample.",
    "Warnings: resolve what they name before using a number.",
    "Few labels: results are then driven by the prior, which assumes roughly calibrated scores and "
    "similar groups. If doubling the prior scales changes an answer, it is prior-driven.",
    "Many intervals: one in twenty 95 % intervals misses the true value; simultaneous intervals "
    "contain all of them at once.",
    "A metric does not capture all of fairness, nor the consequences of a decision.",
)

DISAGREEMENT = (
    "Disagreement between columns: if lightfair differs from the labels-only and the "
    "prediction-powered estimate by more than their intervals, believe the labels.",
)


def definition(metric: Metric) -> str | None:
    """Return the definition of a built-in metric in words; None for others."""
    if metric.name.startswith("cost("):
        return "mean cost per row, from false positives (fp) and false negatives (fn)"
    return DEFINITIONS.get(metric.name)


def provenance_sections(result: Assessment, command: str | None) -> list[Section]:
    """Return the assumptions of an assessment, its limits, and how to reproduce it."""
    settings = result.settings
    low, high = settings.labels_only_prior
    texts = [
        *_model(settings, "Each group has", "the score s"),
        f"Differences below {settings.epsilon:g} in absolute value count as small.",
        f"The labels-only estimate has a Beta({low:g}, {high:g}) prior in each group. The "
        "prediction-powered estimate assumes no model.",
    ]
    return _sections(settings, result.table, texts, command, more_limits=DISAGREEMENT)


def comparison_sections(result: ModelComparison, command: str | None) -> list[Section]:
    """Return the same sections for a comparison of models."""
    score = "s, whose log odds are the mean of those of the models' scores"
    texts = [
        *_model(result.settings, "Within a group, rows with the same decisions have", score),
        "The decisions of the models count as one more attribute. In every draw, the labels are "
        "the same for all models.",
    ]
    return _sections(result.settings, result.cells.table, texts, command)


def plan_sections(plan: LabelPlan, command: str | None) -> list[Section]:
    """Return the same sections for a label plan."""
    settings = plan.assessment.settings
    shares = "." if plan.allocation is None else " within each group; groups get their shares."
    errors = (
        f"± is the Monte Carlo standard error of a width, from {plan.refits} refits per number of "
        "labels."
    )
    texts = [
        *_model(settings, "Each group has", "the score s"),
        "Future labels are drawn from the posterior of the assessment, whose model is assumed to "
        "be correct.",
        f"Rows to be labeled are chosen at random{shares}",
        f"A check is decisive if it passes or fails with a probability of {plan.prob:g}.",
        errors if plan.refits else "Widths are forecasts; no model was refitted.",
    ]
    names = ("metric", "width", "within", "prob", "allocation", "refits")
    options: dict[str, Any] = {name: getattr(plan, name) for name in names}
    options["extra"] = plan.extra.tolist()
    seed = plan.seed if plan.refits else settings.seed  # a forecast draws nothing
    known = None if settings.seed is None else seed
    settings = replace(settings, seed=known)
    return _sections(settings, plan.assessment.table, texts, command, {"plan_labels": options})


def search_sections(found: FoundThresholds, command: str | None) -> list[Section]:
    """Return the same sections for a search for thresholds."""
    settings = found.assessment.settings
    texts = [
        *_model(settings, "Each group has", "the score s"),
        "In every draw, a row has one label, whatever the threshold. The posterior of a threshold "
        "is that of the point at which the metric reaches its goal. Within a cell of the table, "
        "rows are assumed to be uniform in log odds.",
        "The reference keeps its own threshold. An assessment at the recommended thresholds gives "
        "slightly different numbers, because its deviations from the curve depend on decisions.",
    ]
    options = {name: getattr(found, name) for name in ("metric", "reference", "target")}
    table = found.assessment.table
    return _sections(settings, table, texts, command, {"find_threshold": options})


def _model(settings: Settings, subject: str, score: str) -> list[str]:
    """Sentences on the target, the calibration model and the intervals."""
    groups = "Its parameters are normal around common ones, with a learned spread."
    if not settings.hierarchical:
        groups = "Groups share no information."
    elif settings.nested:
        groups = "Its parameters are shared ones plus effects of attributes and interactions."
    trust = "Rates follow the curve; deviations from it are treated as chance."
    scales = settings.prior.to_dict()
    if settings.trust is not None:
        trust = "Within a region of scores, the rate can deviate from the curve, as labels require."
        scales |= settings.trust.to_dict()
    listed = ", ".join(f"{name} {value:g}" for name, value in scales.items())
    return [
        f"The estimand is {TARGET_WORDS[settings.target]} (target {settings.target}).",
        f"{subject} a calibration curve ({settings.family}) of {score}: "
        f"{CURVES[settings.family]}. {groups} {trust}",
        f"Prior scales (standard deviations): {listed}.",
        f"For the curve, scores are clipped to [{settings.clip:g}, {1.0 - settings.clip:g}].",
        f"Intervals are central {100 * settings.prob:g} % credible intervals.",
    ]


def _sections(
    settings: Settings,
    table: ScoreTable,
    texts: list[str],
    command: str | None,
    options: dict[str, Any] | None = None,
    more_limits: tuple[str, ...] = (),
) -> list[Section]:
    """The sections on assumptions, limits and reproduction."""
    labels = RANDOM_LABELS if table.design is None else KNOWN_SELECTION
    limits = map(Paragraph, LIMITS[:2] + more_limits + LIMITS[2:])
    return [
        Section("assumptions", "Assumptions", tuple(map(Paragraph, (labels, *texts)))),
        Section("limits", "When not to trust it", tuple(limits)),
        Section("reproduce", "How to reproduce it", _reproduction(settings, command, options)),
    ]


def _reproduction(
    settings: Settings, command: str | None, options: dict[str, Any] | None
) -> tuple[Paragraph | Table, ...]:
    """The command line, or else the settings as JSON; versions and seed."""
    values = {"settings": settings.to_dict(), **(options or {})}
    code = Paragraph(json.dumps(values), "code", "json")
    if command is not None:
        code = Paragraph(command, "code", "sh")
    seed = "not known" if settings.seed is None else str(settings.seed)
    versions = {
        "lightfair": __version__,
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "numba": version() or "not available",
        "seed": seed,
    }
    rows = tuple((Cell(name), Cell(value)) for name, value in versions.items())
    text = "The same rows, settings, versions and seed give the same numbers."
    if settings.seed is None:
        text = (
            "The seed is not known: rng was None or a Generator. Another run gives slightly "
            "different numbers; to reproduce a result, pass a seed, such as rng=1."
        )
    return code, Table(("made with", "version or seed"), rows), Paragraph(text)
