"""The report of groups known by chances of membership: for each metric one table of all methods."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..audit.membership import FREQUENCIES, METHODS, MembershipAssessment
from ..core.data.messages import number
from .document import Cell, Document, section
from .format import Columns, table_of, value_cell
from .sections import Blocks, full_report, warnings_section

RULES = (
    "given proxy: right if outcomes depend on the chances of membership, score and decision alone; "
    "given membership: if on the group and score alone; bounds: in any case, so trust these unless "
    "you know which. All three take the chances as right at every score and decision. thresholded "
    "(to the likeliest group), weighted: frequencies among labeled rows, to compare with"
)

CELLS = "where groups are named by numbers, cells of rows of these rounded chances are meant"


def document(
    found: MembershipAssessment, *, full: bool = False, command: str | None = None
) -> Document:
    """Return the report; `full` and `command` as in `report.assessment`."""
    base, tables = found.assessment, dict[str, dict[str, Any]]()
    for one in found.to_dict()["estimates"]:
        name = one["group"] + (f" - {one['reference']}" if one["reference"] else "")
        tables.setdefault(one["metric"], {})[name] = one
    columns: Columns = {name.replace("_", " "): partial(_cell, name) for name in METHODS}
    blocks: Blocks = [table_of(metric, columns, entries) for metric, entries in tables.items()]
    blocks += [f"{metric}: left out, a metric of scores" for metric in found.left_out]
    shares = ", ".join(f"{group} {share:.1%}" for group, share in found.shares.items())
    blocks += [RULES, f"expected shares of rows: {shares}; {CELLS}"]
    title = f"groups by chances of membership: {base.table}"
    results = section("membership", *blocks, title="membership" * full)
    if not full:
        return Document(title, (results, *warnings_section(found.warnings)))
    return full_report(base, title, results, command, options={"reference": found.reference})


def _cell(method: str, entry: dict[str, Any]) -> Cell:
    one = entry[method]
    if method in FREQUENCIES:
        return Cell(number(one["mean"]), one["reason"])
    if method == "bounds" and one["interval"]:
        return Cell("[{}, {}]".format(*map(number, one["interval"])))
    return value_cell(one)
