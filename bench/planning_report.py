"""PLANNING.md: predicted widths beside realised ones, and labels needed at random and by choice.

A ratio is of means over runs. Its Monte Carlo standard error is that of the runs: of the linearised
ratio for widths, and of a bootstrap over runs, which random and chosen labels share, for numbers of
labels. The number of labels at which the mean width falls to a given one is interpolated, both on
log scales.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

BOOTSTRAP = 1000
GIVEN = (600, 400, 300)  # random labels whose width is the given one
TEXT = """# Label planning: predicted widths, and chosen labels

    python bench/planning.py --data FOLDER

FOLDER holds the score files of adult and compas_r. Labels are the real ones of random rows. All
numbers are of the difference in TPR, 95 % intervals, target `sample`. ± is a Monte Carlo standard
error.

## Predicted and realised widths

From 50 random labels a plan predicts the width after 100 and after 400 more; then these labels are
added, and the model is refitted. Ratios are of means over the runs, predicted to
realised. The goal is a ratio in 0.85 .. 1.15.

{widths}

{within}

The limit is the model. Naive Bayes on compas_r has nine scores in ten above 0.99: from 50
labels its intervals for TPR are too narrow, and by race they are wider after 400 labels more in 5
of the first 25 runs. No plan made from that posterior can predict this.

Fits are short: 2 chains of 250 draws. Their intervals were {short} times as wide as those of
`assess` with its default settings, for the same labels.

## Labels by choice

adult, difference in TPR between the sexes. From the same 50 random labels of a run, rows are
labeled in batches (100, 200, 300, 400, 600, 800 and 1,200 labels in all), at random or as
`choose_labels` chooses, with a tenth of the chances the same for all. The given width is the mean
width with that many random labels. The goal is a ratio of at most 70 %.

{choice}

{all_models}

Quality of the intervals at {at} labels in all. Chosen labels cannot remove a bias of the model,
and random ones do so slowly; where there is one, narrower intervals cover the difference from all
labels less often.

{quality}
"""

AT = 400  # labels at which the quality of intervals is shown


def write_report(folder: Path, out: Path) -> None:
    """Write the page from the rows in a folder."""
    widths, within = _widths(_rows(folder / "widths.csv"))
    chosen = _rows(folder / "choice.csv")
    table, line = _choice(chosen)
    text = TEXT.format(
        widths=widths,
        within=within,
        short=_short(_rows(folder / "short.csv")),
        choice=table,
        all_models=line,
        at=AT,
        quality=_quality(chosen),
    )
    out.write_text(text)


def _widths(rows: list[dict[str, str]]) -> tuple[str, str]:
    """A line for each file and number of labels."""
    by_key: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in rows:
        key = (row["dataset"], row["attribute"], row["model"], row["extra"])
        by_key.setdefault(key, []).append(row)
    lines, good = [], 0
    for key, selected in sorted(by_key.items(), key=lambda item: (*item[0][:3], int(item[0][3]))):
        now, forecast, real = (_column(selected, name) for name in ("now", "forecast", "realised"))
        ratio, error = _ratio(forecast, real)
        good += 0.85 <= ratio <= 1.15
        lines.append(
            (
                *key,
                str(len(selected)),
                f"{now.mean():.3f}",
                f"{forecast.mean():.3f}",
                f"{real.mean():.3f}",
                f"{ratio:.3f} ± {error:.3f}",
            )
        )
    head = ("data", "attribute", "model", "labels added", "runs", "width at 50", "predicted")
    table = _table((*head, "realised", "predicted / realised"), lines)
    return table, f"Within 15 %: {good} of {len(lines)} rows."


def _choice(rows: list[dict[str, str]]) -> tuple[str, str]:
    """A line for each model and given width."""
    steps = sorted({int(row["labels"]) for row in rows})
    models = sorted({row["model"] for row in rows})
    curves: dict[tuple[str, str], Floats] = {}
    for row in rows:
        key = (row["model"], row["method"])
        low, high = float(row["low"]), float(row["high"])
        size = max(int(r["run"]) for r in rows) + 1
        curve = curves.setdefault(key, np.full((size, len(steps)), np.nan))
        curve[int(row["run"]), steps.index(int(row["labels"]))] = high - low
    lines = []
    shares: dict[int, list[float]] = {given: [] for given in GIVEN}
    errors: dict[int, list[float]] = {given: [] for given in GIVEN}
    for model in models:
        if (model, "greedy") not in curves:
            continue
        both = np.stack([curves[model, method] for method in ("random", "greedy")])
        both = both[:, ~np.isnan(both).any(axis=(0, 2))]
        for given in GIVEN:
            width, needed, share = _needed(both, steps, given)
            rng = np.random.default_rng(0)
            again = [
                _needed(both[:, rng.integers(0, both.shape[1], both.shape[1])], steps, given)[2]
                for _ in range(BOOTSTRAP)
            ]
            shares[given].append(share)
            errors[given].append(float(np.std(again)))
            lines.append(
                (
                    model,
                    str(both.shape[1]),
                    f"{width:.3f}",
                    str(given),
                    f"{needed:.0f}",
                    f"{share:.0%} ± {np.std(again):.0%}",
                )
            )
    head = ("model", "runs", "given width", "random labels", "chosen labels", "chosen / random")
    parts = [
        f"{np.mean(shares[given]):.0%} ± {np.linalg.norm(errors[given]) / len(shares[given]):.0%} "
        f"at the width of {given} random labels"
        for given in GIVEN
        if shares[given]
    ]
    return _table(head, lines), f"Mean over the models: {', '.join(parts)}."


def _quality(rows: list[dict[str, str]]) -> str:
    """A line for each model and method: bias, error, width and coverage."""
    lines = []
    for model in sorted({row["model"] for row in rows}):
        for method in ("random", "greedy"):
            selected = [
                row
                for row in rows
                if (row["model"], row["method"], row["labels"]) == (model, method, str(AT))
            ]
            if not selected:
                continue
            estimate, low, high, truth = (
                _column(selected, name) for name in ("estimate", "low", "high", "truth")
            )
            off, held = estimate - truth, (low <= truth) & (truth <= high)
            size = np.sqrt(len(selected))
            lines.append(
                (
                    model,
                    method,
                    str(len(selected)),
                    f"{off.mean():+.3f} ± {off.std() / size:.3f}",
                    f"{np.abs(off).mean():.3f} ± {np.abs(off).std() / size:.3f}",
                    f"{(high - low).mean():.3f}",
                    f"{held.mean():.0%}",
                )
            )
    head = ("model", "labels", "runs", "mean error", "mean absolute error", "width", "coverage")
    return _table(head, lines)


def _needed(both: Floats, steps: list[int], given: int) -> tuple[float, float, float]:
    """The given width, the chosen labels that reach it, and their share of the random ones."""
    random, greedy = np.log(both.mean(axis=1))
    width = random[steps.index(given)]
    needed = float(np.exp(np.interp(-width, -greedy, np.log(steps))))
    return float(np.exp(width)), needed, needed / given


def _short(rows: list[dict[str, str]]) -> str:
    """Mean ratio of short chains' widths to those of an assessment."""
    ratio = np.log(_column(rows, "short") / _column(rows, "long"))
    mean, error = float(np.exp(ratio.mean())), float(ratio.std() / np.sqrt(len(ratio)))
    return f"{mean:.3f} ± {error:.3f}"


def _ratio(top: Floats, bottom: Floats) -> tuple[float, float]:
    """Ratio of means, and its standard error."""
    ratio = float(top.mean() / bottom.mean())
    off = top - ratio * bottom
    return ratio, float(off.std(ddof=1) / np.sqrt(len(off)) / bottom.mean())


def _column(rows: list[dict[str, str]], name: str) -> Floats:
    return np.array([float(row[name]) if row[name] else np.nan for row in rows])


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


def _table(head: Iterable[str], lines: list[Any]) -> str:
    table = [tuple(head), *lines]
    marks = "|".join(["---"] * len(table[0]))
    body = [f"| {' | '.join(line)} |" for line in table]
    return "\n".join([body[0], f"|{marks}|", *body[1:]])
