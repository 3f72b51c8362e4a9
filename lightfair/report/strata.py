"""The report of gaps within strata: for each metric and group a table with one row per stratum."""

from __future__ import annotations

from ..audit.strata import ConditionalGaps
from .document import Cell, Document, section
from .format import Columns, probability_columns, table_of, value_cell
from .sections import Blocks, full_report, warnings_section

CAUTION = (
    "Weights of strata are taken as known. A stratum that results from unequal treatment hides it: "
    "whether it may explain a gap is not a question about numbers."
)


def document(found: ConditionalGaps, *, full: bool = False, command: str | None = None) -> Document:
    """Return the report; `full` and `command` as in `report.assessment`."""
    base, values, attribute = found.assessment, found.to_dict(), found.attribute
    columns: Columns = {"gap": value_cell}
    columns["weight"] = lambda one: Cell(f"{one['weight']:.1%}" if "weight" in one else "")
    columns |= probability_columns(base.settings.epsilon)
    blocks: Blocks = []
    for one in values["gaps"]:
        entries = {f"{attribute} {entry['stratum']}": entry for entry in one["strata"]}
        entries[f"average, {one['average']['covered']:.1%} of rows"] = one["average"]
        entries["all rows, no strata"] = one["pooled"]
        blocks.append(table_of(f"{one['metric']} of {one['group']}", columns, entries))
    weights = {"reference": f"rows of {found.reference}", "both": "rows of both groups"}
    rule = "average: of strata with a gap, and their share of the rows of both groups; weights: "
    blocks.append(f"{rule}{weights.get(found.weights, 'equal')}; intervals: pointwise")
    title = f"gaps within {attribute}, minus {found.reference}: {base.table}"
    results = section("strata", *blocks, title="strata" * full)
    if not full:
        return Document(title, (results, *warnings_section(found.warnings)))
    options = {"within": {name: values[name] for name in ("attribute", "reference", "weights")}}
    return full_report(base, title, results, command, texts=[CAUTION], options=options)
