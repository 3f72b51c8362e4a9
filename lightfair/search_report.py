"""The report of a search for thresholds: as a document for people, and as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .blocks import Cell, Document, Paragraph, Section, Table
from .cautions import cautions, grave, warnings_section
from .compare import UNDEFINED_LIMIT
from .showing import cell, cell_of, chance, counted, probability
from .values import framed, plain, summary

if TYPE_CHECKING:
    from .threshold_search import FoundThresholds, GroupThreshold

RULE = "recommended: the threshold with the smallest expected absolute gap; of equals the smallest"
SEVERAL_WAYS = "does not move one way with the threshold"
SAID = 6  # groups up to which each has a sentence


def to_dict(found: FoundThresholds) -> dict[str, Any]:
    """Return the findings as plain values; `FoundThresholds.to_dict` has the keys."""
    values = {
        "metric": found.metric,
        "reference": found.reference,
        "own": found.own,
        "target": found.target,
        "wanted": None if found.wanted is None else summary(found.wanted, found.prob),
        "groups": [_group(found, one) for one in found.groups],
    }
    return framed(found.assessment, values)


def document(found: FoundThresholds, *, full: bool = False, command: str | None = None) -> Document:
    """Return the report of a search; `full` and `command` as in `report.document`."""
    title = f"thresholds at which {found.metric} is {_sought(found)}"
    blocks = (_table(found), Paragraph(RULE))
    if not full:
        if found.wanted is not None:
            at = "" if found.own is None else f" at {found.own:g}"
            title += f"{at}, {cell(found.wanted, found.prob).text}"
        sections = [Section("thresholds", "", blocks)]
        if said := grave(found.warnings):
            sections.append(Section("warnings", "warnings", tuple(said)))
        return Document(title, tuple(sections))
    from .provenance import meaning, search_sections
    from .report import capitalized, diagnostics_section, rows_section

    lead = (meaning(found.of), _wanted(found))
    sections = [
        Section("verdict", "verdict", (*_findings(found), *cautions(found.warnings))),
        Section("thresholds", "thresholds", (*(Paragraph(x) for x in lead if x), *blocks)),
        rows_section(found.assessment),
        diagnostics_section(found.assessment),
        *warnings_section(found.warnings),
        *search_sections(found, command),
    ]
    return Document(f"{title[:1].upper()}{title[1:]}", capitalized(sections))


def _sought(found: FoundThresholds) -> str:
    """What is to be met."""
    return f"that of {found.reference}" if found.target is None else f"{found.target:g}"


def _wanted(found: FoundThresholds) -> str | None:
    """What the reference shows."""
    if found.wanted is None:
        return None
    at = "" if found.own is None else f" {found.own:g}"
    shown = cell(found.wanted, found.prob)
    said = shown.text if shown.why is None else f"undefined, {shown.why}"
    return f"{found.metric} of {found.reference}, at its own threshold{at}: {said}."


def _findings(found: FoundThresholds) -> list[Paragraph]:
    """What is recommended, and how near to what is wanted it comes; of many groups in short."""
    if len(found.groups) <= SAID:
        return [Paragraph(_finding(found, one), "finding") for one in found.groups]
    gaps = [one.gap for one in found.groups if one.gap is not None]
    near = sum(gap.prob_within(found.epsilon) >= found.prob for gap in gaps)
    return [
        Paragraph(
            f"A threshold is recommended for {len(gaps)} of {counted(len(found.groups), 'group')}; "
            f"in {near} of them {found.metric} is then less than {found.epsilon:g} from "
            f"{_sought(found)} with a probability of at least {found.prob:g}.",
            "finding",
        )
    ]


def _finding(found: FoundThresholds, one: GroupThreshold) -> str:
    if one.gap is None:
        return f"{one.group}: no threshold is recommended; {_undefined(found)}."
    values = summary(one.gap, found.prob)
    near = one.gap.prob_within(found.epsilon)
    less = f"with probability {probability(near)}"
    if values["exact"]:
        less = "for sure" if near else "not at all"
    return (
        f"{one.group}: {one.recommended!r} is recommended; {found.metric} there minus "
        f"{_sought(found)} is {cell_of(values).text}, less than {found.epsilon:g} from 0 {less}."
    )


def _table(found: FoundThresholds) -> Table:
    rows = []
    for one in found.groups:
        no_posterior = f"{found.metric} {SEVERAL_WAYS}: it has no posterior of the threshold"
        between = none = Cell("-", no_posterior)
        if one.crossing is not None:
            none = Cell(f"{one.crossing.undefined:.1%}")
            between = cell_of({**summary(one.crossing, found.prob), "mean": one.median})
        better = gap = near = Cell("-", _undefined(found))
        if one.gap is not None:
            values = summary(one.gap, found.prob)
            better = Cell(repr(one.recommended))  # one with fewer digits may decide otherwise
            gap, near = cell_of(values), chance(one.gap.prob_within(found.epsilon), values)
        rows.append((Cell(one.group), between, none, better, gap, near))
    titles = ("group", "threshold", "no crossing", "recommended", "gap there")
    return Table((*titles, f"P(|gap|<{found.epsilon:g})"), tuple(rows))


def _undefined(found: FoundThresholds) -> str:
    what = found.metric if found.wanted is None else f"{found.metric}, or what is wanted,"
    return f"{what} is undefined in more than {UNDEFINED_LIMIT:.0%} of draws, at every threshold"


def _group(found: FoundThresholds, one: GroupThreshold) -> dict[str, Any]:
    """What was found for a group."""
    crossing, reason = one.crossing, f"{found.metric} {SEVERAL_WAYS}"
    interval, exact = None, False
    if crossing is not None and crossing.reason is None:
        interval, exact = [*crossing.interval(found.prob)], crossing.exact
    elif crossing is not None:
        reason = str(crossing.reason)
    entry: dict[str, Any] = {
        "group": one.group,
        "median": plain(one.median),
        "interval": interval,
        "exact": exact,
        **({} if interval else {"reason": reason}),
        "no_crossing": one.no_crossing,
        "recommended": one.recommended,
    }
    if one.recommended is None:
        entry["recommended_reason"] = _undefined(found)
    for name, estimate in (("metric", one.metric), ("gap", one.gap)):
        entry[name] = None if estimate is None else summary(estimate, found.prob)
    if one.gap is not None:
        entry["gap"]["prob_within"] = plain(one.gap.prob_within(found.epsilon))
    return entry
