"""Draw the paper's figures from score files.

    python bench/paper/figures.py --data FOLDER [--figure NAME ...] [--runs N] [--out FOLDER]

The figures are those of Ji, Smyth and Steyvers, "Can I Trust My Fairness Metric?" (NeurIPS 2020):

frequency_boxplots    how far plain frequencies scatter around the true difference (figure 1)
calibration_curves    the curves of two groups with their bands, and what all labels show (figure 2)
posterior_histograms  posterior after one sample, and after each of 20 samples (figure 3)
mae_against_labels    mean absolute error against labels, a PNG a metric (figure 4, supplement)
simulation_96000      how many labels plain frequencies need (the paper's introduction)

`experiment` defines the estimand and the labels that a run shows; README.md describes the files of
FOLDER. Runs are numbered from 0, so the same figure comes out every time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that a checkout needs no install

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from PIL import Image
from scipy.special import ndtr, ndtri

from bench.paper.experiment import Configuration, delta, run, shown_rows, truth
from bench.paper.scores import MODELS, Case, cases, privileged, rows
from lightfair import Assessment, assess, beta_binomial, calibrate
from lightfair.core.data.logit import Floats
from lightfair.core.data.nodes import UNLABELED

WORDS = {
    "mlp": "neural network",
    "lr": "logistic regression",
    "rf": "random forest",
    "gnb": "naive Bayes",
}
METRICS = {"accuracy": "accuracy", "tpr": "true positive rate", "fpr": "false positive rate"}
SHOWN = 4  # data sets in a figure that does not show all

# Okabe and Ito's colours, distinct for any colour vision; lines differ in dash, too.
BLUE, ORANGE, BLACK, GREY = "#0072B2", "#D55E00", "#000000", "#666666"
METHODS: dict[str, dict[str, Any]] = {
    "frequency": {"color": GREY, "ls": ":", "marker": "o", "label": "frequency"},
    "beta_binomial_1": {"color": ORANGE, "ls": "--", "marker": "s", "label": "beta-binomial"},
    "calibration": {"color": BLUE, "ls": "-", "marker": "^", "label": "calibration"},
}
STYLE = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.use": True,
    "figure.dpi": 150,
}
Drawn = Iterator[tuple[str, Any]]


def frequency_boxplots(case_list: list[Case], runs: int | None) -> Drawn:
    """Draw boxplots of the difference by plain frequencies, over repeated labeled samples."""
    chosen = one_per_dataset(case_list)
    figure, axes = plt.subplots(
        2, len(chosen), figsize=(3.0 * len(chosen) + 0.6, 6.4), squeeze=False, sharey="row"
    )
    for column, case in enumerate(chosen):
        sizes = [n for n in (50, 100, 200, 500, 1000) if n < len(rows(case, "mlp").label)]
        answers = [
            run(Configuration(case, "mlp", n, "frequency"), list(range(runs or 1000)))
            for n in sizes
        ]
        for row, metric in enumerate(("tpr", "accuracy")):
            axis = axes[row, column]
            estimates = [answer[metric].estimate for answer in answers]
            axis.boxplot(
                [values[~np.isnan(values)] for values in estimates],
                widths=0.55,
                whis=(2.5, 97.5),
                showfliers=False,
                medianprops={"color": BLUE, "lw": 1.5},
            )
            axis.axhline(answers[0][metric].truth, color=ORANGE, lw=1.5, zorder=0)
            for place, values in enumerate(estimates, start=1):
                lost = np.isnan(values).mean()
                if lost >= 0.005:
                    axis.text(
                        *(place, 1.0, f"{lost:.0%}"),
                        transform=axis.get_xaxis_transform(),
                        ha="center",
                        va="bottom",
                        fontsize=8,
                        color=GREY,
                    )
            axis.set_xticks(range(1, len(sizes) + 1), [str(n) for n in sizes])
            if row == 0:
                axis.set_title(f"{title(case)}\n{pair(case)}", pad=16)
            else:
                axis.set_xlabel("labeled rows")
            if column == 0:
                axis.set_ylabel(f"estimated difference in {METRICS[metric]}")
    figure.legend(
        handles=[
            Line2D([], [], color=ORANGE, lw=1.5, label="true difference"),
            Line2D([], [], color=BLUE, lw=1.5, label="median estimate"),
            Patch(fc="none", ec=BLACK, label="middle half of samples; whiskers: 95 %"),
            Line2D([], [], label="samples without an estimate", **number("5%")),
        ],
        loc="outside upper center",
        ncols=len(chosen),
        title=f"Neural network, {runs or 1000:,} samples of labeled rows",
    )
    yield "frequency_boxplots", figure


def calibration_curves(case_list: list[Case], runs: int | None) -> Drawn:
    """Draw the curves of two groups after one labeled sample, and the frequencies in bins."""
    chosen = one_per_dataset(case_list)
    labels, bins = 100, 8
    grid = np.linspace(0.01, 0.99, 99)
    edges = np.linspace(0.0, 1.0, bins + 1)
    figure, axes = plt.subplots(
        2, len(chosen), figsize=(3.0 * len(chosen) + 0.6, 6.8), squeeze=False, sharey=True
    )
    for column, case in enumerate(chosen):
        data = rows(case, "mlp")
        cell = Configuration(case, "mlp", labels, "calibration")
        result = assessed(cell)
        phi = result.posterior.phi.reshape(-1, len(data.groups), 3)
        size = np.bincount(data.group)
        first = privileged(data)
        size[first] = 0
        for row, group in enumerate((first, int(size.argmax()))):
            axis = axes[row, column]
            la, lb, c = (phi[:, group, i, None] for i in range(3))
            curve = calibrate(grid, np.exp(la), np.exp(lb), c)
            low, high = np.quantile(curve, (0.025, 0.975), axis=0)
            axis.plot((0, 1), (0, 1), color=GREY, lw=1.0, ls=":")
            axis.fill_between(grid, low, high, color=BLUE, alpha=0.2, lw=0)
            axis.plot(grid, curve.mean(axis=0), color=BLUE, lw=1.8)
            inside = data.group == group
            score, label = data.score[inside], data.label[inside]
            place = np.clip(np.digitize(score, edges) - 1, 0, bins - 1)
            count = np.bincount(place, minlength=bins)
            seen = np.flatnonzero(count)
            hits = np.bincount(place, weights=label, minlength=bins)[seen]
            x = np.bincount(place, weights=score, minlength=bins)[seen] / count[seen]
            y = hits / count[seen]
            spread = beta_binomial(hits, count[seen] - hits)
            # a rate of exactly 0 or 1 lies outside its central interval: no whisker on that side
            whisker = np.maximum([y - spread.low, spread.high - y], 0.0)
            axis.errorbar(x, y, whisker, fmt="o", ms=4, color=BLACK, lw=0.9)
            for b in seen:  # on two lines above the data, so that long counts do not touch
                axis.text(
                    *(edges[b] + 0.5 / bins, 1.11 if b % 2 else 1.04, f"{count[b]:,}"),
                    ha="center",
                    va="bottom",
                    fontsize=8,
                    color=GREY,
                )
            shown = int(result.table.sums("rows")[group, :, :UNLABELED].sum())
            axis.set_title(f"{title(case)}: {data.groups[group]}\n{shown} of the {labels} labels")
            axis.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.2), yticks=np.linspace(0, 1, 6))
            axis.spines.left.set_bounds(0, 1)
            axis.set_xlabel("score")
            if column == 0:
                axis.set_ylabel("chance of a positive label")
    figure.legend(
        handles=[
            Line2D([], [], color=BLUE, lw=1.8, label="curve, mean"),
            Patch(fc=BLUE, alpha=0.2, label="curve, 95 % band"),
            Line2D([], [], color=BLACK, marker="o", ms=4, label="all labels, rate in a bin, 95 %"),
            Line2D([], [], label="rows in the bin", **number("12")),
            Line2D([], [], color=GREY, ls=":", label="label chance = score"),
        ],
        loc="outside upper center",
        ncols=5 if len(chosen) == SHOWN else len(chosen),
        title=f"Neural network, one sample of {labels} labeled rows",
    )
    yield "calibration_curves", figure


def posterior_histograms(case_list: list[Case], runs: int | None) -> Drawn:
    """Draw the posterior of the difference after one sample, and intervals over many samples."""
    chosen = one_per_dataset(case_list)
    labels, samples = 40, runs or 20
    figure, axes = plt.subplots(
        *(len(chosen), 3),
        figsize=(12.0, 2.6 * len(chosen) + 0.5),
        squeeze=False,
        sharex="row",
        width_ratios=(1.2, 1, 1),
    )
    for row, case in enumerate(chosen):
        for column, method in enumerate(("beta_binomial_1", "calibration")):
            cell = Configuration(case, "mlp", labels, method)
            answer = run(cell, list(range(samples)))["accuracy"]
            ends = (answer.low, answer.high)
            if method == "calibration":  # of the metric that these rows would show
                ends = (answer.sample_low, answer.sample_high)
            color = METHODS[method]["color"]
            draws = accuracy_draws(cell)
            if column == 0:  # the wider of the two by far
                reach = np.concatenate([*ends, np.quantile(draws, (0.001, 0.999))])
                edges = np.linspace(reach.min() - 0.02, reach.max() + 0.02, 81)
            axes[row, 0].hist(
                *(draws, edges),
                weights=np.full(len(draws), 100.0 / len(draws)),
                histtype="stepfilled" if column else "step",
                color=color,
                alpha=0.55 if column else 1.0,
                lw=1.5,
            )
            axis = axes[row, 1 + column]
            place = np.arange(1, samples + 1)
            axis.hlines(place, *ends, color=color, lw=1.6)
            axis.plot(answer.estimate, place, ls="", marker="o", ms=3.5, color=color)
            inside = int(((ends[0] <= answer.truth) & (answer.truth <= ends[1])).sum())
            width = f"mean width {np.mean(ends[1] - ends[0]):.2f}"
            axis.set_title(f"{inside} of {samples} hold the truth; {width}")
            axis.set(ylim=(samples + 1, 0), yticks=[1, *range(5, samples + 1, 5)])
            axis.set_ylabel("sample")
        for axis in axes[row]:
            axis.axvline(answer.truth, color=BLACK, lw=1.0)
            axis.set_xlim(edges[0], edges[-1])
            axis.set_xlabel(f"difference in accuracy, {pair(case)}")
        axes[row, 0].set_title(f"{title(case)}: sample 1")
        axes[row, 0].set_ylabel("posterior draws (%)")
    figure.legend(
        handles=[
            Line2D([], [], color=ORANGE, lw=1.6, label="beta-binomial"),
            Patch(fc=BLUE, alpha=0.55, label="calibration"),
            Line2D([], [], color=BLACK, lw=1.0, label="true difference"),
            Line2D([], [], marker="o", ms=3.5, color=GREY, label="mean, 95 % interval"),
        ],
        loc="outside upper center",
        ncols=4,
        title=f"Neural network, samples of {labels} labeled rows",
    )
    yield "posterior_histograms", figure


def mae_against_labels(case_list: list[Case], runs: int | None) -> Drawn:
    """Draw the mean absolute error of the estimated difference, one figure per metric.

    A point is left out where a run gives no estimate, as when a group shows no positive label.
    """
    sizes = (10, 20, 40, 100, 200, 400, 1000)
    numbers = list(range(runs or 20))
    errors: dict[tuple[str, int, str, str], list[tuple[int, float]]] = {}
    for row, case in enumerate(case_list):
        for model in MODELS:
            data = rows(case, model)
            least = max(len(data.groups), sizes[0])
            for n in (n for n in sizes if least <= n < len(data.label)):
                for method in METHODS:
                    answers = run(Configuration(case, model, n, method), numbers)
                    for metric, answer in answers.items():
                        error = np.abs(answer.estimate - answer.truth).mean()
                        if not np.isnan(error):
                            key = (metric, row, model, method)
                            errors.setdefault(key, []).append((n, 100.0 * error))
        print(f"  {title(case)}", flush=True)
    for metric, words in METRICS.items():
        figure, axes = plt.subplots(
            *(len(case_list), len(MODELS)),
            figsize=(3.0 * len(MODELS), 1.85 * len(case_list) + 0.6),
            squeeze=False,
            sharex=True,
            sharey="row",
        )
        for row, case in enumerate(case_list):
            for column, model in enumerate(MODELS):
                axis = axes[row, column]
                for method, style in METHODS.items():
                    points = np.array(errors.get((metric, row, model, method), []))
                    if len(points):
                        axis.plot(*points.T, ms=4, lw=1.4, clip_on=False, **style)
                axis.set_xscale("log")
                axis.set_xticks(sizes, [str(n) for n in sizes])
                axis.minorticks_off()
                axis.grid(axis="y", color="#dddddd", lw=0.6)
                axis.set_axisbelow(True)
                if row == 0:
                    axis.set_title(WORDS[model])
                if row == len(case_list) - 1:
                    axis.set_xlabel("labeled rows")
                if column == 0:
                    axis.set_ylabel(f"{title(case)}\nerror (points)")
            axes[row, 0].set_ylim(bottom=0.0)
        handles = [Line2D([], [], ms=4, lw=1.4, **style) for style in METHODS.values()]
        figure.legend(
            handles=handles,
            title=f"Mean absolute error of the difference in {words}, {len(numbers)} samples",
            loc="outside upper center",
            ncols=len(handles),
        )
        yield f"mae_against_labels_{metric}", figure


def simulation_96000(case_list: list[Case], runs: int | None) -> Drawn:
    """Draw how many labels plain frequencies need for a difference of 5 points in TPR.

    Assumed: a minority of 20 % of the rows; 20 % of the rows of each group are positive; the true
    TPR is 0.90 in the minority and 0.95 in the majority; the estimate shall be within 0.01 of the
    difference with a chance of 95 %. The paper gives about 96,000 labels. Of the readings that were
    tried (closed form below, labels needed) this one comes nearest:

        as assumed                                         97,837
        the TPRs exchanged between the groups              67,226
        half of the rows positive                          39,135
        accuracies, so that every row counts               19,567
        both groups at 0.925                               83,282
        TPRs of 0.50 and 0.55, half of the rows positive  119,805

    In simulation the chance at 96,000 is 0.948, which rounds to 95 %.
    """
    share, positive, rates, tolerance, level = 0.2, 0.2, (0.90, 0.95), 0.01, 0.95
    # Normal approximation. A rate p estimated from m positives has variance p (1 - p) / m. Of n
    # labeled rows, m = n * share * positive in the minority and n * (1 - share) * positive in the
    # majority (expected counts stand in for random ones). So the difference has variance v / n:
    minority, majority = (p * (1.0 - p) for p in rates)
    v = minority / (share * positive) + majority / ((1.0 - share) * positive)
    # and |error| <= t has chance 2 Phi(t sqrt(n / v)) - 1, the right sign Phi(|delta| sqrt(n / v)).
    gap = rates[0] - rates[1]
    needed = v * (ndtri(0.5 + 0.5 * level) / tolerance) ** 2
    needed_sign = v * (ndtri(level) / abs(gap)) ** 2
    rng = np.random.default_rng(0)
    sizes = np.unique(np.geomspace(200, 400_000, 24).round().astype(int))
    within, sign = np.empty(len(sizes)), np.empty(len(sizes))
    for i, n in enumerate(sizes):
        rows = rng.binomial(n, share, size=runs or 20_000)
        estimates = []
        for count, rate in ((rows, rates[0]), (n - rows, rates[1])):
            positives = rng.binomial(count, positive)
            hits = rng.binomial(positives, rate)
            empty = np.full(len(rows), np.nan)
            estimates.append(np.divide(hits, positives, out=empty, where=positives > 0))
        error = estimates[0] - estimates[1] - gap
        within[i] = (np.abs(error) <= tolerance).mean()  # no estimate counts as a failure
        sign[i] = (estimates[0] < estimates[1]).mean()
    grid = np.geomspace(sizes[0], sizes[-1], 300)
    panels = (
        ("estimate within 0.01 of the truth", within, needed, tolerance, True),
        ("estimate has the right sign", sign, needed_sign, abs(gap), False),
    )
    figure, axes = plt.subplots(1, 2, figsize=(10.0, 4.2), sharey=True)
    for axis, (words, seen, n, distance, both) in zip(axes, panels, strict=True):
        chance = ndtr(distance * np.sqrt(grid / v))
        axis.plot(grid, 2.0 * chance - 1.0 if both else chance, color=BLUE, lw=1.6)
        axis.plot(sizes, seen, ls="", marker="o", ms=4, color=ORANGE)
        axis.axhline(level, color=GREY, lw=0.8, ls=":")
        axis.vlines(n, 0.0, level, color=BLACK, lw=1.0, ls="--")
        axis.annotate(
            f"{round(n, -2):,.0f} labels" + both * "\n(the paper: 96,000)",
            (n, 0.08),
            xytext=(-6 if both else 6, 0),
            textcoords="offset points",
            ha="right" if both else "left",
        )
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.set_title(words)
        axis.set_xlabel("labeled rows")
        axis.set_ylim(0.0, 1.03)
    axes[0].set_ylabel("chance")
    figure.legend(
        handles=[
            Line2D([], [], color=ORANGE, ls="", marker="o", ms=4, label="simulation"),
            Line2D([], [], color=BLUE, lw=1.6, label="normal approximation"),
            Line2D([], [], color=GREY, lw=0.8, ls=":", label="chance of 95 %"),
            Line2D([], [], color=BLACK, lw=1.0, ls="--", label="labels needed"),
        ],
        loc="outside upper center",
        ncols=4,
        title="True positive rate 0.90 in 20 % of the rows, 0.95 in the others; 20 % are positive",
    )
    yield "simulation_96000", figure


def title(case: Case) -> str:
    """Name a data set and attribute."""
    return f"{case.dataset}, {case.attribute}"


def pair(case: Case) -> str:
    """Name the groups of a difference."""
    names = list(rows(case, "mlp").groups)
    first = names.pop(privileged(rows(case, "mlp")))
    return f"{first} minus {names[0] if len(names) == 1 else 'others'}"


def number(text: str) -> dict[str, Any]:
    """Return the style of a legend entry for grey numbers."""
    look = text.replace("%", r"\%")
    return {"ls": "", "marker": f"${look}$", "ms": 12, "mew": 0, "color": GREY}


def one_per_dataset(case_list: list[Case]) -> list[Case]:
    """Choose the largest data sets, each with its most even attribute, binary if possible."""
    best: dict[str, tuple[int, tuple[bool, int], Case]] = {}
    for case in case_list:
        data = rows(case, "mlp")
        first = int((data.group == privileged(data)).sum())
        even = (len(data.groups) == 2, min(first, len(data.label) - first))
        if case.dataset not in best or even > best[case.dataset][1]:
            best[case.dataset] = (len(data.label), even, case)
    order = sorted(best.values(), key=lambda entry: (-entry[0], entry[2].dataset))
    return [case for _, _, case in order[:SHOWN]]


def assessed(cell: Configuration) -> Assessment:
    """Assess the rows of run 0, few of them labeled, with the default settings."""
    data = rows(cell.case, cell.model)
    shown = shown_rows(cell, data, 0)
    label = np.full(len(data.label), -1)
    label[shown] = data.label[shown]
    group = np.array(data.groups)[data.group]
    return assess(label, data.score, sensitive_features=group, metrics="accuracy", rng=cell.seed)


def accuracy_draws(cell: Configuration) -> Floats:
    """Draw the difference in accuracy from its posterior in run 0: float64 (draw,)."""
    data = rows(cell.case, cell.model)
    result = assessed(cell)
    values = result.labels["accuracy"].draws
    if cell.method == "calibration":
        values = result.draws("accuracy")
    return delta(values, data, truth(data, "accuracy")[1]).ravel()


FIGURES: dict[str, Callable[[list[Case], int | None], Drawn]] = {
    "frequency_boxplots": frequency_boxplots,
    "calibration_curves": calibration_curves,
    "posterior_histograms": posterior_histograms,
    "mae_against_labels": mae_against_labels,
    "simulation_96000": simulation_96000,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of score files")
    parser.add_argument("--figure", nargs="+", choices=FIGURES, default=list(FIGURES))
    parser.add_argument("--runs", type=int, help="labeled samples; each figure has its own number")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "figures")
    arguments = parser.parse_args()
    try:
        case_list = score_cases(arguments.data)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    arguments.out.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        for name in arguments.figure:
            began = time.perf_counter()
            for stem, figure in FIGURES[name](case_list, arguments.runs):
                path = arguments.out / f"{stem}.png"
                save(figure, path)
                plt.close(figure)
                print(f"{path} ({time.perf_counter() - began:.0f} s)", flush=True)
    return 0


def save(figure: Any, path: Path) -> None:
    """Write a PNG of at most 128 colours, a third of the size of one with all colours."""
    figure.canvas.draw()
    pixels = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
    pixels.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


def score_cases(folder: Path) -> list[Case]:
    """List the cases of a folder, in either layout."""
    try:
        return cases(folder, replica=False)
    except FileNotFoundError:
        return cases(folder, replica=True)


if __name__ == "__main__":
    raise SystemExit(main())
