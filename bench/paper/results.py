"""RESULTS.md: our numbers beside the printed ones, and how often they agree.

Written from the files in summary/ only, so that it can be rewritten without a fit.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bench.paper.tables import TABLES, Cell, read_summary

TITLES = {
    "accuracy": "Accuracy",
    "tpr": "True positive rate",
    "fpr": "False positive rate",
    "coverage": "Coverage of 95 % intervals",
    "ablation": "Ablation: without the hierarchy (NHBC)",
    "sensitivity": "Sensitivity to the prior (alpha)",
    "llo": "LLO, another curve",
}
COLUMNS = {
    "frequency": "frequency",
    "beta_binomial_half": "beta(1/2)",
    "beta_binomial_1": "beta(1)",
    "beta_binomial_2": "beta(2)",
    "calibration": "calibration",
    "calibration sample": "calibration, sample",
    "nhbc_zero": "NHBC, mu = 0",
    "nhbc": "NHBC",
    "llo": "LLO",
}
OTHER_DATA = ("bank", "age")  # released with another split of age than the paper's
VERDICTS = ("lower", "equal", "higher")
NOTES = Path(__file__).resolve().parent / "notes"


def write_results(summary: Path, path: Path) -> None:
    """Write RESULTS.md from the existing summary files."""
    parts = [_note("head")]
    for name in TABLES:
        cells = read_summary(summary, f"{name}_released")
        parts.append(f"## {TITLES[name]}\n")
        parts.append(_section(name, cells) if cells else "Not run.\n")
        if cells:
            parts.append(_note(name))
            parts.append("<details><summary>All cells: ours / printed</summary>\n")
            parts.append(_by_alpha(cells) if name == "sensitivity" else _side_by_side(cells))
            parts.append("</details>\n")
    replica = read_summary(summary, "accuracy_replica")
    if replica:
        parts.append("## Accuracy on the replica\n")
        parts.append(_section("accuracy", replica))
        parts.append(_note("replica"))
    path.write_text("\n".join(part for part in parts if part))


def _note(name: str) -> str:
    """Return the hand-written notes on a table, free of numbers that change from run to run."""
    path = NOTES / f"{name}.md"
    return path.read_text() if path.exists() else ""


def _section(name: str, cells: list[Cell]) -> str:
    runs = sorted({cell.runs for cell in cells})
    lines = [f"Runs of each cell: {' to '.join(str(r) for r in {runs[0]: 0, runs[-1]: 0})}.\n"]
    lines.append(_shares(cells))
    if not TABLES[name].metric_is_share:
        lines.append(_against(cells, TABLES[name].rounding))
    if name not in ("coverage", "sensitivity"):
        lines.append(_pairs(cells))
    if name == "coverage":
        lines.append(_coverage(cells))
    return "\n".join(lines)


def _shares(cells: list[Cell]) -> str:
    """How many cells of each method are lower than, equal to or higher than the printed ones."""
    rows = []
    for method in _methods(cells):
        selected = [c for c in cells if c.method == method and c.verdict]
        if not selected:
            continue
        counts = [sum(c.verdict == v for c in selected) for v in VERDICTS]
        empty = _count_empty([c for c in cells if c.method == method])
        rows.append(
            [
                COLUMNS[method],
                len(selected),
                *(f"{n} ({n / len(selected):.0%})" for n in counts),
                empty,
            ]
        )
    return _markdown(
        ["ours", "cells", "lower", "equal within Monte Carlo error", "higher", "empty"], rows
    )


def _count_empty(cells: list[Cell]) -> str:
    """Count the cells that are empty in ours, in the printed table or in both."""
    both = sum(c.value is None and c.printed is None for c in cells)
    ours = sum(c.value is None and c.printed is not None for c in cells)
    printed_only = sum(c.value is not None and c.printed is None for c in cells)
    if not both + ours + printed_only:
        return "none"
    return f"both {both}, only ours {ours}, only printed {printed_only}"


def _against(cells: list[Cell], rounding: float) -> str:
    """Count the cells in which a method has the smaller mean error, in ours and as printed."""
    by_key = {(*c[:4], c.method, c.alpha): c for c in cells}
    lines = []
    bayes = [m for m in ("calibration", "nhbc_zero", "nhbc", "llo") if m in _methods(cells)]
    pairs = [(m, b) for m in bayes for b in ("beta_binomial_half", "beta_binomial_1")]
    pairs += [("calibration", m) for m in bayes[1:]]
    for left, right in pairs:
        both = [
            (c, other)
            for c in cells
            if c.method == left
            and (other := by_key.get((*c[:4], right, 1.0 if "beta" in right else c.alpha)))
        ]
        if not both:
            continue
        wins = sum(a.value < b.value for a, b in both)
        printed = [(a, b) for a, b in both if a.printed is not None and b.printed is not None]
        printed_wins = sum(a.printed < b.printed for a, b in printed)
        lines.append(
            f"- {COLUMNS[left]} has a lower mean error than {COLUMNS[right]} in {wins} of "
            f"{len(both)} cells; in the printed table in {printed_wins} of {len(printed)}."
        )
    for method in bayes:
        selected = [c for c in cells if c.method == method and c.printed is not None]
        strict = sum(c.value <= 1.1 * c.printed for c in selected)
        near = [c for c in selected if c.value <= 1.1 * (c.printed + rounding)]
        rest = [c for c in selected if c[:2] != OTHER_DATA]
        kept = sum(c[:2] != OTHER_DATA for c in near)
        if selected:
            lines.append(
                f"- {COLUMNS[method]} is within 10 % of the printed mean error, or below it, in "
                f"{strict} of {len(selected)} cells ({strict / len(selected):.0%}); counting the "
                f"rounding of the printed number in {len(near)} ({len(near) / len(selected):.0%})"
                + (
                    f"; without {' '.join(OTHER_DATA)} in {kept} of {len(rest)} "
                    f"({kept / len(rest):.0%})."
                    if len(rest) < len(selected)
                    else "."
                )
            )
        marks = sum(c.best for c in selected)
        lines.append(
            f"- {COLUMNS[method]} is better than every other column by Wilcoxon's test in {marks} "
            f"of {len(selected)} cells (bold below)."
        )
    return "\n".join(lines) + "\n"


def _pairs(cells: list[Cell]) -> str:
    """Agreement with the printed table by data set and attribute."""
    methods = [m for m in _methods(cells) if m != "beta_binomial_2"]
    rows = []
    for pair in dict.fromkeys(c[:2] for c in cells):
        row = [" ".join(pair)]
        for method in methods:
            selected = [c for c in cells if c[:2] == pair and c.method == method and c.verdict]
            equal = sum(c.verdict == "equal" for c in selected)
            ratio = [c.value / c.printed for c in selected if c.printed]
            row.append(f"{equal} of {len(selected)}, {_median(ratio):.2f}" if ratio else "-")
        rows.append(row)
    return "Cells equal within Monte Carlo error, and the median of ours / printed:\n\n" + (
        _markdown(["", *(COLUMNS[m] for m in methods)], rows)
    )


def _coverage(cells: list[Cell]) -> str:
    """Mean coverage by number of labels."""
    sizes = sorted({c.n_labeled for c in cells})
    rows = []
    for method in _methods(cells):
        row = [COLUMNS[method]]
        for n in sizes:
            selected = [c for c in cells if c.method == method and c.n_labeled == n and c.verdict]
            ours = sum(c.value for c in selected) / len(selected)
            row.append(f"{ours:.1f} / {sum(c.printed for c in selected) / len(selected):.1f}")
        rows.append(row)
    head = ["ours / printed, mean over data sets", *(f"n = {n}" for n in sizes)]
    return _markdown(head, rows)


def _side_by_side(cells: list[Cell]) -> str:
    """One line for each data set, attribute, model and number of labels."""
    methods = [m for m in _methods(cells) if m != "beta_binomial_2"]
    by_key = {(*c[:4], c.method): c for c in cells}
    rows = [
        [key[0], key[1], key[3], key[2], *(_pair(by_key.get((*key, m))) for m in methods)]
        for key in dict.fromkeys(c[:4] for c in cells)
    ]
    return _markdown(["data", "attribute", "model", "n", *(COLUMNS[m] for m in methods)], rows)


def _by_alpha(cells: list[Cell]) -> str:
    """One line for each model and number of labels, one column for each alpha."""
    alphas = sorted({c.alpha for c in cells if c.method == "calibration"})
    by_key = {(c.model, c.n_labeled, c.method, c.alpha): c for c in cells}
    rows = [
        [
            *key,
            _pair(by_key.get((*key, "beta_binomial_half", 1.0))),
            *(_pair(by_key.get((*key, "calibration", alpha))) for alpha in alphas),
        ]
        for key in dict.fromkeys((c.model, c.n_labeled) for c in cells)
    ]
    head = ["model", "n", COLUMNS["beta_binomial_half"], *(f"alpha {a:g}" for a in alphas)]
    return _markdown(head, rows)


def _pair(cell: Cell | None) -> str:
    if cell is None:
        return ""
    ours = "-" if cell.value is None else f"{cell.value:.1f}"
    printed = "-" if cell.printed is None else f"{cell.printed:.1f}"
    return f"**{ours}** / {printed}" if cell.best else f"{ours} / {printed}"


def _methods(cells: list[Cell]) -> list[str]:
    present = {cell.method for cell in cells}
    return [method for method in COLUMNS if method in present]


def _median(values: list[float]) -> float:
    ranked = sorted(values)
    half = len(ranked) // 2
    return ranked[half] if len(ranked) % 2 else 0.5 * (ranked[half - 1] + ranked[half])


def _markdown(head: list[str], rows: Iterable[list[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(x) for x in line)} |" for line in lines) + "\n"
