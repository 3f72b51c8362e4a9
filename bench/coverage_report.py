"""The page of `coverage`: means by method and by labels, goals, and the worst cells."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from lightfair.core.data.logit import Floats

from .evidence import Page, table
from .intervals import interval_score, missed

SLACK = 2e-5  # percent; for rounding
BOOTSTRAP = 200
DEFAULT, CURVE, LABELS = "trust sample", "calibration sample", "beta_binomial population"
SHOWN = 20  # of the worst cells
FIGURES = "cells | coverage | cells at or above 90 % | cells under 80 % | width | MAE | "
FIGURES += "interval score | CPU ms a fit | undefined"


class Cell(NamedTuple):
    """What is estimated from how many labels."""

    dataset: str
    attribute: str
    model: str
    n_labeled: int
    metric: str


class Scores(NamedTuple):
    """Of a method and target: float64 (cell, run), NaN without an interval.

    covered is 100 or 0; cpu in milliseconds; the others in percent.
    """

    covered: Floats
    width: Floats
    mae: Floats
    interval_score: Floats
    cpu: Floats


def scores(truth: Floats, values: Floats) -> Scores:
    """Compare intervals with the truth.

    truth: (cell,); values: estimate, low, high and CPU seconds, (cell, 4, run).
    """
    true = 100.0 * truth[:, None]
    estimate, low, high, seconds = np.moveaxis(100.0 * values, 1, 0)
    inside = missed(low, high, true) <= SLACK
    return Scores(
        covered=np.where(np.isnan(low), np.nan, 100.0 * inside),
        width=high - low,
        mae=np.abs(estimate - true),
        interval_score=interval_score(low, high, true),
        cpu=10.0 * seconds,
    )


def report(cells: list[Cell], found: dict[str, Scores]) -> Page:
    """Return the page; found: by "method target"."""
    means = {way: by_cell(one) for way, one in found.items()}
    labels = np.array([cell.n_labeled for cell in cells])
    of_ways = {way: figures(means[way], found[way].covered) for way in found}
    by_method, by_labels = [], []
    for way, (count, coverage, *others) in of_ways.items():
        coverage += f" ± {standard_error(found[way].covered):.1f}"
        by_method.append([*way.split(), count, coverage, *others])
    for n, way in product(np.unique(labels), found):
        at = labels == n
        mean = Scores(*(column[at] for column in means[way]))
        by_labels.append([n, *way.split(), *figures(mean, found[way].covered[at])])
    _, coverage, _, _, width, mae, *_ = of_ways[DEFAULT]
    _, only_coverage, _, _, only_width, only_mae, *_ = of_ways[LABELS]
    return Page(
        f"95 % intervals of the default cover in {coverage} % of runs and are {width} points wide, "
        f"with a mean absolute error of {mae}; labels-only intervals cover in {only_coverage} % "
        f"and are {only_width} wide, with an error of {only_mae}.",
        f"{found[DEFAULT].cpu.shape[1]} runs a cell; all cells are in `coverage.csv`. "
        "± is a Monte Carlo standard error.\n\n"
        + table(f"method | target | {FIGURES}", by_method)
        + "\nBy number of labels:\n\n"
        + table(f"n | method | target | {FIGURES}", by_labels)
        + f"\n## Goals of {DEFAULT}\n\n"
        + table("goal | measured | reached", goals(labels, means))
        + worst(cells, means),
        {"coverage.csv": lines_of_cells(cells, found, means)},
    )


def by_cell(one: Scores) -> Scores:
    """Return means over runs, float64 (cell,), NaN where nothing is defined."""
    return Scores(*(np.nanmean(column, axis=1) for column in one))


def standard_error(values: Floats) -> float:
    """Of a mean of cells, by a bootstrap over runs.

    Runs are drawn whole: models, metrics and numbers of labels share the labels shown in a run.
    """
    rng, runs = np.random.default_rng(0), values.shape[1]
    picked = [rng.integers(runs, size=runs) for _ in range(BOOTSTRAP)]
    means = [np.nanmean(np.nanmean(values[:, at], axis=1)) for at in picked]
    return float(np.nanstd(means, ddof=1))


def figures(mean: Scores, covered: Floats) -> list[str]:
    """Return FIGURES of some cells; cells without any interval are not counted."""
    share = mean.covered[~np.isnan(mean.covered)]
    found = [
        str(len(share)),
        f"{np.mean(share):.1f}",
        f"{np.mean(share >= 90.0):.0%}",
        str(np.count_nonzero(share < 80.0)),
        *(f"{np.nanmean(column):.2f}" for column in (mean.width, mean.mae, mean.interval_score)),
        f"{np.mean(mean.cpu):.1f}",
        f"{np.isnan(covered).mean():.0%}",
    ]
    return found if len(share) else ["0", *"------", *found[-2:]]


def goals(labels: Floats, means: dict[str, Scores]) -> list[tuple[str, str, str]]:
    """Return the goals of the default, the measured values, and whether they are reached."""
    ours, curve, only = (means[way] for way in (DEFAULT, CURVE, LABELS))
    coverage, above = ours.covered.mean(), 100.0 * np.mean(ours.covered >= 90.0)
    low = np.count_nonzero(ours.covered < 80.0)
    near = 100.0 * np.mean(ours.mae <= 1.1 * np.minimum(curve.mae, only.mae) + SLACK)
    most = labels.max()
    errors = [one.mae[labels == most].mean() for one in (ours, curve, only)]
    wide = (curve.covered >= 93.0) & (curve.width > 0.0)
    ratio = np.mean(ours.width[wide] / curve.width[wide])
    cost = ours.cpu.mean() / curve.cpu.mean()
    lines = [
        ("mean coverage between 93.5 and 97.5 %", f"{coverage:.2f} %", 93.5 <= coverage <= 97.5),
        ("at least 90 % of cells at or above 90 %", f"{above:.1f} %", above >= 90.0),
        ("no cell under 80 %", f"{low} cells", low == 0),
        (
            "MAE at most 10 % above the better of calibration and beta-binomial in 95 % of cells",
            f"{near:.1f} %",
            near >= 95.0,
        ),
        (
            f"mean MAE at n = {most} below that of calibration and of beta-binomial",
            "{:.3f} against {:.3f} and {:.3f}".format(*errors),
            errors[0] < min(errors[1:]),
        ),
        (
            "mean ratio of widths to calibration, where that covers 93 % or more, at most 1.2",
            f"{ratio:.3f}",
            ratio <= 1.2,
        ),
        ("CPU time at most twice that of calibration", f"{cost:.2f}", cost <= 2.0),
    ]
    return [(goal, measured, "yes" if reached else "no") for goal, measured, reached in lines]


def worst(cells: list[Cell], means: dict[str, Scores]) -> str:
    """Return the table of the cells of the default with the lowest coverage."""
    coverage, ways = means[DEFAULT].covered, (DEFAULT, CURVE, LABELS)
    lines = []
    for at in sorted(range(len(cells)), key=lambda at: (coverage[at], cells[at]))[:SHOWN]:
        figures = ([column[at] for column in means[way][:3]] for way in ways)
        lines.append([*cells[at], *("{:.0f}, {:.1f}, {:.1f}".format(*three) for three in figures)])
    return (
        f"\n## The {len(lines)} cells of {DEFAULT} with the lowest coverage\n\n"
        f"{np.count_nonzero(coverage < 85.0)} are under 85 %. Coverage, width, MAE.\n\n"
        + table(" | ".join([*Cell._fields, *ways]), lines)
    )


def lines_of_cells(cells: list[Cell], found: dict[str, Scores], means: dict[str, Scores]) -> str:
    """Return the CSV of all cells, methods and targets."""
    titles = ["undefined", "coverage", "width", "mae", "interval_score", "cpu_ms"]
    lines = [[*Cell._fields, "method", "target", *titles]]
    for way, at in product(found, sorted(range(len(cells)), key=cells.__getitem__)):
        undefined = np.isnan(found[way].covered[at]).sum()
        values = (column[at] for column in means[way])
        numbers = ("" if np.isnan(value) else f"{value:.4g}" for value in values)
        lines.append([*cells[at], *way.split(), undefined, *numbers])
    return "".join(",".join(map(str, line)) + "\n" for line in lines)
