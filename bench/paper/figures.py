"""The paper's figures

Figures 1 to 4 and S1 of Ji, Smyth and Steyvers, "Can I Trust My Fairness Metric?" (NeurIPS 2020,
arXiv 2010.09851), from the scores that its authors released. A difference is the privileged group
minus the mean of the others, weighted by their rows. A sample of labeled rows always holds a row of
every group, as in the authors' program; larger samples contain the smaller ones. Figures 1 to 3
show the neural network on the four largest data sets, each with one attribute. "Beta-binomial" has
the labels only, under Beta(1, 1); "calibration" is the paper's model of scores and labels, which
`assess` has with `trust=False`.
"""

from __future__ import annotations

import inspect
import io
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from scipy.special import ndtr, ndtri

from lightfair import Assessment, assess, beta_binomial, calibrate

from ..evidence import Page, each
from .experiment import Configuration, delta, run, shown_rows, truth
from .scores import MODELS, Case, cases, privileged, rows

SMALLEST = {"runs": 2, "samples": 20}

CHOSEN = (("bank", "age"), ("adult", "gender"), ("compas-r", "gender"), ("compas-vr", "gender"))
METRICS = {"accuracy": "accuracy", "tpr": "true positive rate", "fpr": "false positive rate"}
TITLES = ("neural network", "logistic regression", "random forest", "naive Bayes")  # of MODELS
SIZES = (10, 20, 40, 100, 200, 400, 1000)  # numbers of labels in figure 4

# Okabe and Ito's colours, distinct for any colour vision; lines differ in dash, too.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
METHODS: dict[str, dict[str, Any]] = {
    "frequency": {"color": GREY, "ls": ":", "marker": "o", "label": "frequency"},
    "beta_binomial_1": {"color": ORANGE, "ls": "--", "marker": "s", "label": "beta-binomial"},
    "calibration": {"color": BLUE, "ls": "-", "marker": "^", "label": "calibration"},
}
STYLE = {"font.size": 9, "axes.titlesize": 9.5, "legend.frameon": False}
STYLE |= {"axes.spines.top": False, "axes.spines.right": False}


def measure(data: Path, runs: int = 20, samples: int = 1000, keep: Path | None = None) -> Page:
    found = cases(data / "paper_scores", replica=False)
    chosen = [case for pair in CHOSEN for case in found if case[:2] == pair] or found[:1]
    tasks = [(case, model, runs) for case in found for model in MODELS]
    errors = list(each(mean_errors, tasks, keep))
    with matplotlib.rc_context(STYLE):
        figures = {
            "frequency_boxplots": frequency_boxplots(chosen, samples),
            "calibration_curves": calibration_curves(chosen),
            "posterior_histograms": posterior_histograms(chosen, runs),
            **{
                f"mae_against_labels_{metric}": mae_against_labels(found, errors, metric, runs)
                for metric in METRICS
            },
            "simulation_96000": simulation_96000(),
        }
        files = {f"figures/{name}.png": png(figure) for name, figure in figures.items()}
    body = [
        section("Figure 1", frequency_boxplots, "frequency_boxplots"),
        section("Figure 2", calibration_curves, "calibration_curves"),
        section("Figure 3", posterior_histograms, "posterior_histograms"),
        section("Figure 4", mae_against_labels, *(f"mae_against_labels_{m}" for m in METRICS)),
        section("Figure S1", simulation_96000, "simulation_96000"),
    ]
    pairs = np.array(
        [
            (ours, theirs)
            for of_model in errors
            for part in of_model.values()
            for (_, ours), (_, theirs) in zip(
                part["calibration"], part["beta_binomial_1"], strict=True
            )
        ]
    )
    return Page(
        f"In {np.sum(pairs[:, 0] < pairs[:, 1])} of the {len(pairs)} points of figure 4 the "
        f"calibration errs less than the beta-binomial; in the median its mean absolute error is "
        f"{np.median(pairs[:, 0] / pairs[:, 1]):.2f} of the other.",
        "\n".join(body),
        files,
    )


def section(number: str, function: Any, *names: str) -> str:
    """Return a heading, pictures, and the caption, which is the docstring of a function."""
    words, _, caption = inspect.getdoc(function).partition("\n\n")
    words = words.rstrip(".")
    pictures = "\n\n".join(f"![{words}](figures/{name}.png)" for name in names)
    return f"## {number}: {words}\n\n{pictures}\n\n{caption}\n"


def frequency_boxplots(chosen: list[Case], samples: int) -> Figure:
    """Differences in true positive rate by plain frequencies.

    Boxes hold half of the samples, whiskers 95 %; the blue line is the median. In parentheses the
    share of samples without an estimate, because a group shows no positive label.
    """
    figure, axes = panels(1, len(chosen), (3.0, 2.8), sharey=True)
    for axis, case in zip(axes[0], chosen, strict=True):
        ticks = []
        for n in (50, 100, 200, 500, 1000):
            cell = Configuration(case, "mlp", n, "frequency")
            answer = run(cell, list(range(samples)))["tpr"]
            none = np.isnan(answer.estimate)
            ticks.append(f"{n:,}" + (f"\n({none.mean():.0%})" if none.mean() >= 0.005 else ""))
            axis.boxplot(
                answer.estimate[~none],
                positions=[len(ticks)],
                widths=0.55,
                whis=(2.5, 97.5),
                showfliers=False,
                medianprops={"color": BLUE, "lw": 1.5},
            )
        axis.axhline(answer.truth, color=ORANGE, lw=1.5, zorder=0, label="true difference")
        axis.set_xticks(range(1, len(ticks) + 1), ticks)
        axis.set(title=f"{title(case)}\n{pair(case)}", xlabel="labeled rows")
    axes[0, 0].set_ylabel("difference in true positive rate")
    head(axes[0, 0], f"Neural network, {samples:,} samples of labeled rows")
    return figure


def calibration_curves(chosen: list[Case], labels: int = 100) -> Figure:
    """Calibration curves of two groups.

    The privileged group (above) and the largest other one (below) after one sample of 100 labels.
    The points are what all labels give in eight bins of the score, with 95 % intervals.
    """
    grid, edges = np.linspace(0.01, 0.99, 99), np.linspace(0.0, 1.0, 9)
    figure, axes = panels(2, len(chosen), (3.0, 2.8), sharex=True, sharey=True)
    for column, case in zip(axes.T, chosen, strict=True):
        data = rows(case, "mlp")
        result = assessed(Configuration(case, "mlp", labels, "calibration"))
        phi = result.posterior.phi.reshape(-1, len(data.groups), 3)
        size = np.bincount(data.group)
        first = privileged(data)
        size[first] = 0
        for axis, group in zip(column, (first, int(size.argmax())), strict=True):
            la, lb, c = (phi[:, group, i, None] for i in range(3))
            curve = calibrate(grid, np.exp(la), np.exp(lb), c)
            low, high = np.quantile(curve, (0.025, 0.975), axis=0)
            axis.plot((0, 1), (0, 1), color=GREY, lw=1.0, ls=":", label="label chance = score")
            axis.fill_between(grid, low, high, color=BLUE, alpha=0.2, lw=0, label="95 % band")
            axis.plot(grid, curve.mean(axis=0), color=BLUE, lw=1.8, label="mean curve")
            inside = data.group == group
            score, label = data.score[inside], data.label[inside]
            place = np.clip(np.digitize(score, edges) - 1, 0, 7)
            count, hits, total = (np.bincount(place, of, 8) for of in (None, label, score))
            count, hits, total = (of[count > 0] for of in (count, hits, total))
            rate, spread = hits / count, beta_binomial(hits, count - hits)
            # a rate of exactly 0 or 1 lies outside its central interval: no whisker on that side
            whisker = np.maximum([rate - spread.low, spread.high - rate], 0.0)
            style = {"ms": 4, "color": "black", "lw": 0.9, "label": "all labels, 95 %"}
            axis.errorbar(total / count, rate, whisker, fmt="o", **style)
            axis.set_title(f"{title(case)}: {data.groups[group]} ({len(score):,} rows)")
        column[1].set_xlabel("score")
    for axis in axes[:, 0]:
        axis.set_ylabel("chance of a positive label")
    head(axes[0, 0], f"Neural network, one sample of {labels} labeled rows")
    return figure


def posterior_histograms(chosen: list[Case], runs: int, labels: int = 40) -> Figure:
    """Posteriors of the difference in accuracy, and intervals over many samples.

    Samples of 40 labels: on the left the posteriors after the first, on the right means and 95 %
    intervals after each. Intervals of the calibration are those of the target `sample`: for the
    metric that these very rows would show if all were labeled.
    """
    figure, axes = panels(len(chosen), 3, (3.8, 2.6), sharex="row", width_ratios=(1.2, 1, 1))
    place = np.arange(1, runs + 1)
    for line, case in zip(axes, chosen, strict=True):
        data = rows(case, "mlp")
        cell = Configuration(case, "mlp", labels, "calibration")
        result, defined = assessed(cell), truth(data, "accuracy")[1]
        ours = run(cell, list(range(runs)))["accuracy"]
        theirs = run(cell._replace(method="beta_binomial_1"), list(range(runs)))["accuracy"]
        ends = [(theirs.low, theirs.high), (ours.sample_low, ours.sample_high)]
        draws = [result.labels["accuracy"].draws, result.draws("accuracy")]
        draws = [delta(by_group, data, defined).ravel() for by_group in draws]
        reach = np.concatenate([*ends[0], np.quantile(draws[0], (0.001, 0.999))])  # the wider one
        edges = np.linspace(reach.min() - 0.02, reach.max() + 0.02, 81)
        looks: list[dict[str, Any]] = [
            {"color": ORANGE, "histtype": "step", "lw": 1.5, "label": "beta-binomial"},
            {"color": BLUE, "histtype": "stepfilled", "alpha": 0.55, "label": "calibration"},
        ]
        for i, (answer, axis) in enumerate(zip((theirs, ours), line[1:], strict=True)):
            line[0].hist(draws[i], edges, weights=np.full(len(draws[i]), 100 / len(draws[i])),
                         **looks[i])  # fmt: skip
            low, high = ends[i]
            axis.hlines(place, low, high, color=looks[i]["color"], lw=1.6)
            axis.plot(answer.estimate, place, "o", ms=3.5, color=looks[i]["color"])
            inside = np.sum((low <= answer.truth) & (answer.truth <= high))
            width = f"mean width {np.mean(high - low):.2f}"
            axis.set_title(f"{inside} of {runs} hold the truth; {width}")
            axis.set(ylim=(runs + 1, 0), yticks=[1, *range(5, runs + 1, 5)], ylabel="sample")
        for axis in line:
            axis.axvline(ours.truth, color="black", lw=1.0, label="true difference")
            axis.set(xlim=edges[[0, -1]], xlabel=f"difference in accuracy, {pair(case)}")
        line[0].set(title=f"{title(case)}: sample 1", ylabel="posterior draws (%)")
    head(axes[0, 0], f"Neural network, samples of {labels} labeled rows")
    return figure


def mean_errors(task: tuple[Case, str, int]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Labels and mean absolute errors in points, by metric and method, without undefined ones."""
    case, model, runs = task
    data = rows(case, model)
    errors: dict = {metric: {method: [] for method in METHODS} for metric in METRICS}
    for n in SIZES:
        if not len(data.groups) <= n < len(data.label):
            continue
        for method in METHODS:
            answers = run(Configuration(case, model, n, method), list(range(runs)))
            for metric, answer in answers.items():
                error = 100.0 * np.abs(answer.estimate - answer.truth).mean()
                if not np.isnan(error):
                    errors[metric][method].append((n, float(error)))
    return errors


def mae_against_labels(found: list[Case], errors: list, metric: str, runs: int) -> Figure:
    """Mean absolute error against the number of labels.

    In percentage points. A point is left out where a sample gives no estimate, as when a group
    shows no positive label.
    """
    shared = {"sharex": True, "sharey": "row"}
    figure, axes = panels(len(found), len(MODELS), (3.0, 1.85), **shared)
    for axis, of_model in zip(axes.flat, errors, strict=True):
        for method, style in METHODS.items():
            points = np.reshape(of_model[metric][method], (-1, 2))
            axis.plot(*points.T, ms=4, lw=1.4, **style)
        axis.set_xscale("log")
        axis.set_xticks(SIZES, map(str, SIZES))
        axis.minorticks_off()
        axis.grid(axis="y", color="#dddddd", lw=0.6)
        axis.set_axisbelow(True)
    for axis, case in zip(axes[:, 0], found, strict=True):
        axis.set(ylim=(0.0, None), ylabel=f"{title(case)}\nerror (points)")
    for axis, words in zip(axes[0], TITLES, strict=True):
        axis.set_title(words)
    for axis in axes[-1]:
        axis.set_xlabel("labeled rows")
    what = f"difference in {METRICS[metric]}"
    head(axes[0, 0], f"Mean absolute error of the {what}, {runs} samples")
    return figure


def simulation_96000(draws: int = 20_000) -> Figure:
    """Labels that plain frequencies need.

    The true positive rate is 0.90 in 20 % of the rows and 0.95 in the others; 20 % of the rows of
    each group are positive. The estimated difference is to be within 0.01 of the true one with a
    chance of 95 %. The paper gives about 96,000 labels; of the readings that were tried this one
    comes nearest.
    """
    share, positive, rates, tolerance, level = 0.2, 0.2, (0.90, 0.95), 0.01, 0.95
    # A rate p of m positives has variance p (1 - p) / m; m is n * share * positive in the minority.
    # So the difference has v / n, and |error| <= t has chance 2 Phi(t sqrt(n / v)) - 1.
    minority, majority = (p * (1.0 - p) for p in rates)
    v = minority / (share * positive) + majority / ((1.0 - share) * positive)
    needed = v * (ndtri(0.5 + 0.5 * level) / tolerance) ** 2
    rng = np.random.default_rng(0)
    sizes = np.unique(np.geomspace(200, 400_000, 24).round().astype(int))
    within = []
    for n in sizes:
        count, estimates = rng.binomial(n, share, size=draws), []
        for some, rate in ((count, rates[0]), (n - count, rates[1])):
            positives = rng.binomial(some, positive)
            hits = rng.binomial(positives, rate)
            empty = np.full(draws, np.nan)
            estimates.append(np.divide(hits, positives, out=empty, where=positives > 0))
        error = estimates[0] - estimates[1] - (rates[0] - rates[1])
        within.append((np.abs(error) <= tolerance).mean())  # no estimate counts as a failure
    grid = np.geomspace(sizes[0], sizes[-1], 300)
    chance = 2.0 * ndtr(tolerance * np.sqrt(grid / v)) - 1.0
    figure, axes = panels(1, 1, (6.5, 3.2))
    axis = axes[0, 0]
    axis.plot(grid, chance, color=BLUE, lw=1.6, label="normal approximation")
    axis.plot(sizes, within, "o", ms=4, color=ORANGE, label=f"{draws:,} simulated samples")
    axis.axhline(level, color=GREY, lw=0.8, ls=":", label=f"chance of {level:.0%}")
    axis.vlines(needed, 0.0, level, color="black", lw=1.0, ls="--")
    axis.text(
        0.93 * needed, 0.08, f"{round(needed, -2):,.0f} labels\n(the paper: 96,000)", ha="right"
    )
    axis.set(xscale="log", ylim=(0.0, 1.03), xlabel="labeled rows")
    axis.set_ylabel("chance of an estimate\nwithin 0.01 of the truth")
    axis.xaxis.set_major_formatter("{x:,.0f}")
    head(axis, "True positive rate 0.90 in 20 % of the rows, 0.95 in the others; 20 % are positive")
    return figure


def panels(lines: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Any, Any]:
    """Return a figure and its axes (line, column), each of a size in inches."""
    width, height = size
    figure = Figure(
        figsize=(width * columns + 0.6, height * lines + 0.6), dpi=150, layout="constrained"
    )
    return figure, figure.subplots(lines, columns, squeeze=False, **options)


def head(axis: Any, words: str) -> None:
    """Put a title, and the legend of an axis, above the panels."""
    handles = axis.get_legend_handles_labels()[0]
    where = "outside upper center"
    axis.figure.legend(handles=handles, title=words, loc=where, ncols=len(handles))


def png(figure: Figure) -> bytes:
    """Return a PNG of at most 128 colours, a third of the size of one with all colours."""
    full, small = io.BytesIO(), io.BytesIO()
    figure.savefig(full)
    image = Image.open(full).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    image.save(small, format="png", optimize=True)
    return small.getvalue()


def title(case: Case) -> str:
    """Name a data set and attribute."""
    return f"{case.dataset}, {case.attribute}"


def pair(case: Case) -> str:
    """Name the groups of a difference."""
    names = list(rows(case, "mlp").groups)
    first = names.pop(privileged(rows(case, "mlp")))
    return f"{first} minus {names[0] if len(names) == 1 else 'others'}"


def assessed(cell: Configuration) -> Assessment:
    """Assess the rows of run 0, few of them labeled, with the paper's model."""
    data = rows(cell.case, cell.model)
    shown = shown_rows(cell, data, 0)
    label = np.full(len(data.label), -1)
    label[shown] = data.label[shown]
    group = np.array(data.groups)[data.group]
    options = {"metrics": "accuracy", "trust": False, "rng": 0}
    return assess(label, data.score, sensitive_features=group, **options)
