"""The report of an audit profile: what a rule asks for, and how sure it is beyond these rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..audit.profiles import PROFILES, AuditProfile
from ..core.data.messages import number, probability
from ..core.values import FOUR_FIFTHS
from . import sections as shared
from .document import Cell, Document, Paragraph, Table, section
from .format import Columns, table_of, value_cell
from .provenance import provenance_sections

ADVICE = (
    "This is not legal advice: whether a rule applies, and what follows, is for counsel. Local Law "
    "144 requires an independent auditor."
)

LIMITS = (
    "Four fifths is a rule of thumb: a ratio above it does not make a selection fair or lawful, "
    "nor a ratio below it the opposite. A significant difference above it is not a pass.",
    "Small categories: a ratio of few rows says little about others; see its interval.",
    "Many categories: some ratio is low by chance. Intervals allow for that, tests do not: each is "
    "of one comparison, with the category that has the highest rate in these rows.",
)

LEGEND = (
    "rates, impact ratios, tests and missing selections are of these very rows: exact, not "
    "estimated; the impact ratio is a rate over the highest one",
    "in the population: median and {:g} % credible interval of the same ratio for the population "
    "of these rows; three or more categories share a prior, as the highest of many is high by "
    "chance, too, so that the median can differ from the ratio",
)

TESTS = (
    "SD: difference from the highest rate in standard deviations, with the pooled rate; Fisher p: "
    "Fisher's exact test, two-sided; short: selections missing for four fifths of that rate"
)


def document(found: AuditProfile, *, full: bool = False, command: str | None = None) -> Document:
    """Return the report of a profile; `full` and `command` as in `report.assessment`."""
    base, prob = found.assessment, found.assessment.settings.prob
    findings = [
        Paragraph(table.sentence(True), "verdict", table.status)
        if found.checks
        else Paragraph(table.sentence(False), "finding")
        for table in found.tables
    ]
    about = [str(base.table), f"rows of an unknown category, in no table: {found.unknown:,}"]
    if found.median is not None:
        about.append(f"scoring rate: share above {found.median:g}, the median of the full sample")
    given = {"source of the data": found.data_source, "dates of the data": found.data_dates}
    given["date of the audit"] = found.audit_date
    about += [f"{name}: {text}" for name, text in given.items() if text]
    legend = [text.format(100 * prob) for text in (*LEGEND, *[TESTS] * bool(found.checks))]
    tables = (_table(found, table) for table in found.to_dict()["tables"])
    sections = [
        section("verdict", *findings, ADVICE, title="findings"),
        section("rates", *tables, title=f"{found.rate}s and impact ratios"),
        section("rows", *about),
        *shared.warnings_section(base.warnings),
        section("legend", *legend),
    ]
    title = f"{PROFILES[found.profile]} by {' and '.join(base.table.attributes)}"
    if not full:
        return Document(title, tuple(sections))
    options = {"audit_profile": {"profile": found.profile, "min_share": found.min_share}}
    *_, reproduce = provenance_sections(base.settings, base.table, command, options=options)
    limits = section("limits", *LIMITS, title="When not to trust it")
    return Document(title, shared.capitalized([*sections, limits, reproduce]))


def _table(found: AuditProfile, table: dict[str, Any]) -> Table:
    """One row for each category; those left out of the ratios have a reason."""
    ratio = "population"
    columns: Columns = {
        "rows": partial(_cell, "rows", "{:,}".format),
        "selected" if found.median is None else "above": partial(_cell, "selected", "{:,}".format),
        "rate": partial(_cell, "rate", number),
        "impact ratio": partial(_cell, "impact_ratio", number),
        "in the population": partial(_cell, ratio, lambda one: value_cell(one).text),
        f"P(< {FOUR_FIFTHS:g})": partial(
            _cell, ratio, lambda one: probability(one["prob_below_four_fifths"])
        ),
    }
    if found.checks:
        columns["SD"] = partial(_cell, "deviations", partial(number, digits=2))
        columns["Fisher p"] = partial(_cell, "fisher_p", probability)
        columns["short"] = partial(_cell, "short", str)
    entries = {entry["name"]: entry for entry in table["categories"]}
    return table_of(table["attribute"], columns, entries)


def _cell(key: str, text: Callable[[Any], str], entry: dict[str, Any]) -> Cell:
    """A cell, empty where there is nothing to compare; the reason stands at the ratio."""
    if entry[key] is None:
        return Cell("-", entry["reason"]) if key == "impact_ratio" else Cell("")
    return Cell(text(entry[key]))
