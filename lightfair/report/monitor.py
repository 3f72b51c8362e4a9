"""The report of a monitored check: its status, and a time line of all looks."""

from __future__ import annotations

from ..audit.monitor import Monitoring, strength
from ..core.data.messages import counted
from .document import Cell, Document, Paragraph, section
from .format import Columns, table_of, value_cell
from .sections import full_report, warnings_section

GUARANTEE = (
    "Evidence of 1 or less is none. While all gaps are within the limit, the probability that "
    "evidence for one beyond it ever reaches {:.3g} is at most {:.3g}, however often one looks, if "
    "labels are many. Rows of all periods count alike: after a change, the gap is a mean of before "
    "and after. Labels must be a random sample of each group's rows in each period, also while "
    "others are late."
)


def document(found: Monitoring, *, full: bool = False, command: str | None = None) -> Document:
    """Return the report; `full` and `command` as in `report.assessment`."""
    base, worst = found.assessment, found.gaps[0]
    columns: Columns = {
        "rows": lambda look: Cell(f"{look['rows']:,}"),
        "labeled": lambda look: Cell(f"{look['labeled']:,}"),
        "gap": lambda look: value_cell(look["gaps"][0]),
        "evidence": lambda look: Cell(strength(look["evidence"])),
        "within": lambda look: Cell(strength(look["within"])),
        "": lambda look: Cell("alarm" * (look["evidence"] >= found.needed)),
    }
    entries = {
        f"{at}. {look['period']}{', again' * look['again']}": look
        for at, look in enumerate(found.to_dict()["looks"], 1)
    }
    pair = f"{worst.lower} over {worst.higher}"
    if found.check.relation == "difference":
        pair = f"{worst.higher} minus {worst.lower}"
    verdict = Paragraph(f"{found.check.text}: {found.sentence}.", "verdict", found.status)
    prob = base.settings.prob
    legend = [
        f"gap: {worst.metric}, {pair}, the one with most evidence; in the population, from all "
        f"rows so far; {100 * prob:g} % intervals are of each look alone",
        f"evidence: for some gap beyond the limit, an alarm at {found.needed:.3g}; "
        "within: for all gaps within it; both rest on labels and scores, without the model",
        GUARANTEE.format(found.needed, 1.0 - prob),
    ]
    title = f"monitoring {found.check.text}, {counted(len(found.looks), 'look')}: {base.table}"
    table = table_of("look", columns, entries)
    results = section("monitor", table, *legend, title="time line" * full)
    if full:
        return full_report(base, title, results, command, verdict)
    first = section("verdict", verdict, title="")
    return Document(title, (first, results, *warnings_section(found.warnings)))
