"""What a report says of marginals, as tables and as plain values; nothing for one attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .blocks import Cell, Table
from .marginals import margin_levels
from .showing import cell_of, chance, number, small
from .values import plain, summary

if TYPE_CHECKING:
    from .assessment import Assessment


def marginal_values(result: Assessment, metric: str) -> list[dict[str, Any]]:
    """Return for each attribute its levels, and their differences from the one with most rows."""
    if len(result.table.attributes) < 2:
        return []
    prob, epsilon = result.settings.prob, result.settings.epsilon
    found = []
    for attribute, margin in result.margins[metric].items():
        levels: list[dict[str, Any]] = []
        differences: list[dict[str, Any]] = []
        for level in margin.levels:
            rows = {"rows": level.rows, "labeled": level.labeled, "positives": level.positives}
            levels.append(
                {"name": level.name, **rows, **summary(margin.estimate(level.name), prob)}
            )
            if level.name == margin.reference:
                continue
            delta = margin.difference(level.name)
            entry = {"level": level.name, "reference": margin.reference, **summary(delta, prob)}
            entry["prob_positive"] = plain(delta.prob_greater(0.0))
            entry["prob_within"] = plain(delta.prob_within(epsilon))
            differences.append(entry)
        found.append({"attribute": attribute, "levels": levels, "differences": differences})
    return found


def marginal_table(result: Assessment, metric: str) -> Table:
    """Return a table with a row for each level of each attribute; see `levels_table`."""
    head = ("all of", "lightfair", "difference", "P(>0)", small(result.settings.epsilon))
    rows = []
    for margin in marginal_values(result, metric):
        differences = {entry["level"]: entry for entry in margin["differences"]}
        for level in margin["levels"]:
            row = [Cell(f"{margin['attribute']} {level['name']}"), cell_of(level)]
            delta = differences.get(level["name"])
            if delta is None:
                row += [Cell("reference" if differences else ""), Cell(""), Cell("")]
            else:
                exact = delta["exact"]
                row.append(Cell(number(delta["mean"])) if exact else cell_of(delta))
                row += [chance(delta[key], delta) for key in ("prob_positive", "prob_within")]
            rows.append(tuple(row))
    return Table(head, tuple(rows))


def levels_table(result: Assessment) -> Table:
    """Return the rows of each level of each attribute."""
    from .report import rows_table

    return rows_table(
        "all of",
        {
            f"{attribute} {level.name}": {
                "rows": level.rows,
                "labeled": level.labeled,
                "positives": level.positives,
            }
            for attribute, levels in margin_levels(result.table).items()
            for level in levels
        },
    )
