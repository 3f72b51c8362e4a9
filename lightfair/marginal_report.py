"""What a report says of marginals, as text and as plain values; nothing for one attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .report import aligned, number, plain, probability, summary, with_interval

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


def marginal_text(result: Assessment, metric: str) -> list[str]:
    """Return a table with a row for each level of each attribute."""
    values = marginal_values(result, metric)
    if not values:
        return []
    small = f"P(|.|<{result.settings.epsilon:g})"
    head = ["  all of", "lightfair", "labeled", "positive", "difference", "P(>0)", small]
    rows = [head]
    for margin in values:
        differences = {entry["level"]: entry for entry in margin["differences"]}
        for level in margin["levels"]:
            line = [f"  {margin['attribute']} {level['name']}", with_interval(level)]
            line += [f"{level[key]:,}" for key in ("labeled", "positives")]
            delta = differences.get(level["name"])
            if delta is None:
                line += ["reference" if differences else "", "", ""]
            else:
                exact = delta["exact"]
                line.append(number(delta["mean"]) if exact else with_interval(delta))
                line += [
                    probability(delta[key], exact=exact) for key in ("prob_positive", "prob_within")
                ]
            rows.append(line)
    return aligned(rows)
