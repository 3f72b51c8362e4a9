"""What a report assumes, when not to trust it, and how to reproduce it.

The full form of every report ends with these sections, for readers who did not make it. Their text
follows from the settings of the result.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import __version__
from ..core.data.table import ScoreTable
from ..core.mcmc.jit import version
from ..core.settings import Settings
from .document import Cell, Paragraph, Section, Table, section
from .format import TARGET_WORDS

CURVES = {
    "beta": "log odds of a positive label = c + a log(s) - b log(1 - s)",
    "llo": "log odds of a positive label = c + a log(s / (1 - s))",
    "temperature": "log odds of a positive label = a log(s / (1 - s))",
}

RANDOM_LABELS = (
    "The labeled rows of each group are a random sample of its rows, or random among rows with the "
    "same score and decision. If labels exist because of the decision, for example only for "
    "accepted applicants, all numbers in this report are wrong; selection_odds bounds by how much."
)

KNOWN_SELECTION = (
    "The labeled rows were selected with the probabilities given as label_prob, which depend only "
    "on group, score and decision. If they depend on anything else that is related to the label, "
    "all numbers in this report are wrong."
)

LIMITS = (
    "Non-random labels: no number here can prove that the labeled rows are a random sample.",
    "Warnings: resolve what they name before using a number.",
    "Few labels: results are then driven by the prior, which assumes roughly calibrated scores and "
    "similar groups. If doubling the prior scales changes an answer, it is prior-driven.",
    "Many intervals: one in twenty 95 % intervals misses the true value; simultaneous intervals "
    "contain all of them at once.",
    "A metric does not capture all of fairness, nor the consequences of a decision.",
)


def provenance_sections(
    settings: Settings,
    table: ScoreTable,
    command: str | None,
    *,
    subject: str = "Each group has a calibration curve",
    score: str = "the score s",
    texts: Sequence[str] = (),
    limits: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
) -> list[Section]:
    """Return the sections on assumptions, limits and reproduction.

    Parameters
    ----------
    settings, table
        Of the assessment that the report is based on.
    command
        The command line that made the result, if any.
    subject, score
        What is modelled by a calibration curve, and a curve of what.
    texts, limits
        Further assumptions and limits of this report.
    options
        Arguments of the function that used the assessment, as plain values, by its name.
    """
    labels = RANDOM_LABELS if table.design is None else KNOWN_SELECTION
    model = f"{subject} ({settings.family}) of {score}: {_model(settings)}"
    if not table.scored:
        model = "Without scores, each decision has a rate of positives in each group."
    estimand = f"The estimand is {TARGET_WORDS[settings.target]} (target {settings.target})."
    intervals = f"Intervals are central {100 * settings.prob:g} % credible intervals."
    made = _reproduction(settings, command, options)
    return [
        section("assumptions", labels, estimand, model, intervals, *texts, title="Assumptions"),
        section("limits", *limits, *LIMITS, title="When not to trust it"),
        section("reproduce", *made, title="How to reproduce it"),
    ]


def _model(settings: Settings) -> str:
    """The curve, what groups share, and deviations from the curve."""
    groups = "Its parameters are normal around common ones, with a learned spread."
    if not settings.hierarchical:
        groups = "Groups share no information."
    elif settings.nested:
        groups = "Its parameters are shared ones plus effects of attributes and interactions."
    trust = "Within a region of scores, the rate can deviate from the curve, as labels require."
    if settings.trust is None:
        trust = "Rates follow the curve; deviations from it are treated as chance."
    return f"{CURVES[settings.family]}. {groups} {trust}"


def _reproduction(
    settings: Settings, command: str | None, options: Mapping[str, Any] | None
) -> tuple[Paragraph | Table, ...]:
    """The command line, the settings as JSON, versions and seed."""
    values = {"settings": settings.to_dict(), **(options or {})}
    code = [] if command is None else [Paragraph(command, "code", "sh")]
    code.append(Paragraph(json.dumps(values), "code", "json"))
    versions = {
        "lightfair": __version__,
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "numba": version() or "not available",
        "seed": "not known" if settings.seed is None else str(settings.seed),
    }
    rows = tuple((Cell(name), Cell(value)) for name, value in versions.items())
    text = "The same rows, settings, versions and seed give the same numbers."
    if settings.seed is None:
        text = (
            "The seed is not known: rng was None or a Generator. Another run gives slightly "
            "different numbers; to reproduce a result, pass a seed, such as rng=1."
        )
    return *code, Table(("made with", "version or seed"), rows), Paragraph(text)
