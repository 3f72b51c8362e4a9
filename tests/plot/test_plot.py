"""What plots draw: the numbers of to_dict, reasons where there are none, names as they are."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import PACKAGE
from results import ask

import lightfair as lf

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure  # noqa: E402

from lightfair import plot  # noqa: E402
from lightfair.plot.canvas import figure_size  # noqa: E402

NASTY = ("<b>&", "$x_1^2$", "_under", "tab\tend", "\U0001f9ff stone", "\\frac{1}{2}")
LONG = "Native Hawaiian or Other Pacific Islander, aged 65 and older, {} of the river"


@pytest.fixture
def ax():
    """Axes of a figure that has no window and no pyplot."""
    return Figure(layout="constrained").subplots()


@pytest.fixture(scope="module")
def two():
    rows = lf.simulate(400, 60, rng=3)
    return ask(rows, metrics=["tpr", "fpr", "selection_rate"], reference="A")


@pytest.fixture(scope="module")
def gaps():
    """C has no row predicted positive, D has all its labels."""
    rng = np.random.default_rng(1)
    group = np.repeat(list("ABCD"), [150, 100, 40, 30])
    score = rng.random(len(group)) * np.where(group == "C", 0.3, 1.0)
    y = (rng.random(len(group)) < score).astype(float)
    seen = (group == "D") | (rng.random(len(group)) < 0.3) & (group != "C")
    metrics = ["ppv", "auc", "treatment_equality", "ece"]
    rows = lf.simulation.Simulated(np.where(seen, y, np.nan), y, score, group)
    return ask(rows, metrics=metrics, reference="A")


def many(names, rng=2):
    """An assessment of groups of these names."""
    rng = np.random.default_rng(rng)
    group = np.resize(np.array(names, dtype=object), 40 * len(names))
    score = rng.random(len(group))
    y = np.where(rng.random(len(group)) < 0.3, rng.random(len(group)) < score, np.nan)
    rows = lf.simulation.Simulated(y.astype(float), y, score, group)
    return ask(rows, metrics="tpr", chains=4, draws=20)


@pytest.fixture(scope="module")
def nasty():
    return many([*NASTY, LONG.format("north"), LONG.format("south")])


def drawn(ax, label):
    """Points (x, y) of the marks of a method."""
    lines = [line for line in ax.lines if line.get_label() == label]
    return [point for line in lines for point in zip(*map(list, line.get_data()), strict=True)]


def intervals(ax, colour):
    """Level segments of a colour: (low, high, y)."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    found = []
    for lines in ax.collections:
        if isinstance(lines, LineCollection) and to_rgb(lines.get_color()[0]) == to_rgb(colour):
            found += [(a[0], b[0], a[1]) for a, b in lines.get_segments()]
    return found


def texts(ax):
    """All that is written in and around the Axes."""
    below = [ax.xaxis.label, ax.yaxis.label, *ax.get_xticklabels(), *ax.get_yticklabels()]
    legend = [] if ax.get_legend() is None else ax.get_legend().get_texts()
    title = [ax.get_title(loc="left")]
    return title + [text.get_text() for text in [*below, *ax.texts, *legend]]


def save(ax, tmp_path):
    """Draw for good: whatever is wrong with a text or a number is an error by now."""
    for ending in ("png", "svg"):
        ax.figure.savefig(tmp_path / f"figure.{ending}")
    return (tmp_path / "figure.svg").read_text()


ALL = {
    "groups": lambda result, ax: plot.groups(result, "tpr", ax=ax),
    "differences": lambda result, ax: plot.differences(result, "tpr", ax=ax),
    "posterior": lambda result, ax: plot.posterior(result, "tpr", ax=ax),
    "calibration": lambda result, ax: plot.calibration(result, ax=ax),
    "thresholds": lambda result, ax: plot.thresholds(result, "tpr", ax=ax),
    "gap": lambda result, ax: plot.thresholds(result, "tpr", quantity="gap", ax=ax),
    "plan": lambda result, ax: plot.plan(planned(result), ax=ax),
    "trace": lambda result, ax: plot.trace(result, ax=ax),
    "rank": lambda result, ax: plot.rank(result, ax=ax),
}


def planned(result):
    return lf.plan_labels(result, "tpr", 0.2, refits=0, extra=[10, 20], rng=1)


# all of them


@pytest.mark.parametrize("name", ALL)
def test_it_draws_on_the_axes_given_and_returns_them(name, two, ax, tmp_path):
    assert ALL[name](two, ax) is ax
    assert ax.get_title(loc="left") and ax.get_xlabel()
    save(ax, tmp_path)


@pytest.mark.parametrize("name", ALL)
def test_names_are_drawn_as_they_are(name, nasty, ax, tmp_path):
    """No `$` begins a formula, nothing is left out of a legend, and no character is a box."""
    ALL[name](nasty, ax)
    every = [ax.title, ax.xaxis.label, *ax.get_yticklabels(), *ax.texts]
    every += [] if ax.get_legend() is None else ax.get_legend().get_texts()
    assert not any(text.get_parse_math() for text in every if "$" in text.get_text())
    save(ax, tmp_path)


def test_pyplot_is_not_needed_where_axes_are_given(child_env):
    code = """
import sys, lightfair as lf
from matplotlib.figure import Figure
rows = lf.simulate(300, 50, rng=0)
result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, metrics="tpr",
                   chains=4, draws=20, warmup=20, rng=0)
for draw in (lf.plot.groups, lf.plot.differences, lf.plot.posterior, lf.plot.thresholds):
    draw(result, "tpr", ax=Figure(layout="constrained").subplots())
for draw in (lf.plot.calibration, lf.plot.trace, lf.plot.rank):
    draw(result, ax=Figure().subplots())
lf.plot.plan(lf.plan_labels(result, "tpr", 0.2, refits=0), ax=Figure().subplots())
assert "matplotlib.pyplot" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**child_env, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_the_package_is_light_and_says_what_is_missing(child_env):
    code = """
import sys, lightfair as lf
assert lf.plot.__all__ and "numpy" not in sys.modules
sys.modules["matplotlib"] = None
rows = lf.simulate(100, 20, rng=0)
result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, metrics="tpr",
                   chains=4, draws=20, warmup=20, rng=0)
try:
    lf.plot.groups(result, "tpr")
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=child_env, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "plots need matplotlib: pip install 'lightfair[plot]'\n", done.stderr


def test_it_draws_on_a_part_of_a_figure(two, tmp_path):
    left, right = Figure(layout="constrained").subfigures(1, 2)
    plot.differences(two, "tpr", ax=left.subplots())
    plot.thresholds(two, "tpr", ax=right.subplots())
    left.figure.savefig(tmp_path / "figure.png")


def test_settings_of_matplotlib_stay(two, ax):
    import matplotlib

    before = dict(matplotlib.rcParams)
    for draw in ALL.values():
        draw(two, Figure().subplots())
    assert dict(matplotlib.rcParams) == before


def test_a_figure_of_its_own_grows_with_the_groups(two, nasty):
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    high = []
    for result in (two, nasty):
        figure = plot.groups(result, "tpr").figure
        high.append(figure.get_figheight())
        assert figure.get_figwidth() == figure_size()[0]
        pyplot.close(figure)
    assert high[1] > high[0] == figure_size(2)[1]


def test_modules_import_relatively_and_matplotlib_in_functions():
    for path in (PACKAGE / "plot").glob("*.py"):
        lines = path.read_text().splitlines()
        assert not [
            line for line in lines if re.match(r"(from|import) (lightfair|matplotlib)", line)
        ]


# forest plots


@pytest.mark.parametrize("kind", ["groups", "differences"])
@pytest.mark.parametrize("metric", ["tpr", "fpr"])
def test_a_forest_plot_has_the_numbers_of_to_dict(kind, metric, two, ax):
    getattr(plot, kind)(two, metric, ax=ax)
    entries = two.to_dict()["metrics"][metric][kind]
    for label, colour, key in (
        ("lightfair", "#0072B2", None),
        ("labels only", "#D55E00", "labels_only"),
        ("prediction-powered", "#767676", "prediction_powered"),
    ):
        said = [entry if key is None else entry[key] for entry in entries]
        known = [one for one in said if one["interval"] is not None]
        assert [x for x, _ in drawn(ax, label)] == [one["mean"] for one in known]
        ends = [(low, high) for low, high, _ in intervals(ax, colour)]
        assert ends == [tuple(one["interval"]) for one in known]
        low, high = ax.get_xlim()
        assert all(low < a and b < high for a, b in ends)


def test_rows_are_named_with_their_labels(two, ax):
    plot.groups(two, "tpr", ax=ax)
    labeled = {mine["name"]: mine["labeled"] for mine in two.to_dict()["data"]["groups"]}
    shown = [text.get_text() for text in ax.get_yticklabels()]
    assert shown == [f"{name}\n{n} labeled" for name, n in labeled.items()]


def test_a_difference_has_its_probability_and_the_region(two, ax):
    from matplotlib.patches import Polygon, Rectangle

    plot.differences(two, "tpr", ax=ax)
    probability = two.difference("tpr", "B", "A").prob_greater(0.0)
    assert f"{probability:.3f}" in texts(ax) and "P(>0)" in texts(ax)
    region = next(p for p in ax.patches if isinstance(p, (Rectangle, Polygon)))
    x = region.get_extents().transformed(ax.transData.inverted())
    assert x.x0 == pytest.approx(-0.05) and x.x1 == pytest.approx(0.05)


def test_facts_are_diamonds_without_an_interval(two, ax):
    plot.groups(two, "selection_rate", ax=ax)
    known = [e["mean"] for e in two.to_dict()["metrics"]["selection_rate"]["groups"]]
    assert [x for x, _ in drawn(ax, "exact")] == known
    assert not intervals(ax, "#0072B2") and not drawn(ax, "labels only")
    assert "exact: known without labels" in texts(ax)


def test_the_truth_is_a_mark(two, ax):
    shown = dataclasses.replace(two, truth={"tpr": np.array([0.6, 0.7])})
    plot.groups(shown, "tpr", ax=ax)
    assert drawn(ax, "truth") == [(0.6, 0), (0.7, 1)]
    other = Figure().subplots()
    plot.differences(shown, "tpr", ax=other)
    assert drawn(other, "truth")[0][0] == pytest.approx(0.1)


@pytest.mark.parametrize("kind", ["groups", "differences"])
@pytest.mark.parametrize("metric", ["ppv", "auc", "treatment_equality", "ece"])
def test_what_is_undefined_has_its_reason_in_its_row(kind, metric, gaps, ax, tmp_path):
    getattr(plot, kind)(gaps, metric, ax=ax)
    rows = {(text.get_text(), round(text.xy[1])) for text in ax.texts}
    noted = [" ".join(text.get_text().split()) for text in ax.texts]
    below = next((text for text in noted if text.startswith("\N{EN DASH} ")), "")
    for at, entry in enumerate(gaps.to_dict()["metrics"][metric][kind]):
        if entry.get("reason"):
            assert (f"undefined: {entry['reason']}", at) in rows
        if entry["labels_only"].get("reason"):
            assert f"\N{EN DASH} labels only: {entry['labels_only']['reason']}" in below
        if entry["prediction_powered"].get("reason"):
            assert f"prediction-powered: {entry['prediction_powered']['reason']}" in below
    assert np.isfinite([point for line in ax.lines for point in line.get_xydata().ravel()]).all()
    assert "nan" not in save(ax, tmp_path).lower()


def test_an_interval_that_goes_on_has_an_arrow(gaps, ax):
    plot.groups(gaps, "treatment_equality", ax=ax)
    ends = np.array([high for _, high, _ in intervals(ax, "#D55E00")])
    beyond = int((ends > ax.get_xlim()[1]).sum())
    assert beyond == sum(line.get_marker() == ">" for line in ax.lines) > 0


def test_one_group_has_no_differences(ax):
    one = ask(lf.simulate(200, 40, rng=1), group=["a"] * 200, metrics="tpr")
    with pytest.raises(ValueError, match="there is only one group, a"):
        plot.differences(one, "tpr", ax=ax)
    with pytest.raises(ValueError, match="there is only one group, a"):
        plot.thresholds(one, "tpr", quantity="gap", ax=ax)
    for name in ("groups", "posterior", "calibration", "thresholds", "plan", "trace"):
        ALL[name](one, Figure(layout="constrained").subplots())


# densities


def test_a_density_is_that_of_a_normal_sample():
    from lightfair.plot.density import density

    draws = np.random.default_rng(0).normal(1.0, 2.0, 50_000)
    x, y = density(draws)
    exact = np.exp(-0.5 * ((x - 1.0) / 2.0) ** 2) / (2.0 * np.sqrt(2.0 * np.pi))
    noise = np.sqrt(0.2 / (2.0 * np.sqrt(np.pi)) / (50_000 * 0.2))  # of a kernel 0.2 wide
    assert np.abs(y - exact).max() < 5.0 * noise


def test_the_kernel_is_the_naive_sum_of_normal_densities():
    from lightfair.plot.density import density

    draws = np.random.default_rng(0).beta(2.0, 3.0, 300)
    x, y = density(draws)
    spread = min(draws.std(), np.subtract(*np.quantile(draws, [0.75, 0.25])) / 1.34)
    width = 0.9 * spread * 300**-0.2
    z = (x[:, None] - draws) / width
    naive = np.exp(-0.5 * z * z).mean(axis=1) / (width * np.sqrt(2.0 * np.pi))
    assert np.abs(y - naive).max() < 0.002 * naive.max()


def test_mass_is_reflected_at_a_bound():
    from lightfair.plot.density import density

    x, y = density(np.random.default_rng(0).random(50_000), bounds=(0.0, 1.0))
    assert x[0] == 0.0 and x[-1] == 1.0
    assert np.abs(y - 1.0).max() < 0.1  # without it the ends would be at 0.5
    step = x[1] - x[0]
    assert (y.sum() - 0.5 * (y[0] + y[-1])) * step == pytest.approx(1.0)


def test_a_posterior_has_its_region_and_the_probability_of_the_draws(two, ax):
    plot.posterior(two, "tpr", ax=ax)
    within = two.difference("tpr", "B", "A").prob_within(0.05)
    assert f"{within:.3f}" in texts(ax) and "P(|.|<0.05)" in texts(ax)
    labels = {line.get_label() for line in ax.lines}
    assert {"lightfair", "labels only"} <= labels
    line = next(line for line in ax.lines if line.get_label() == "lightfair")
    x, y = line.get_data()
    mass = y.max() - y
    draws = two.difference("tpr", "B", "A").draws
    assert (x * mass).sum() / mass.sum() == pytest.approx(draws.mean(), abs=0.01)


def test_several_groups_are_ridges(nasty, ax):
    plot.posterior(nasty, "tpr", ax=ax)
    assert len(ax.get_yticks()) == len(nasty.groups) - 1
    other = Figure().subplots()
    plot.posterior(nasty, "tpr", "$x_1^2$", "<b>&", ax=other)
    assert [text.get_text() for text in other.get_yticklabels()] == ["$x_1^2$"]
    with pytest.raises(ValueError, match="group and reference must differ; got '<b>&' for both"):
        plot.posterior(nasty, "tpr", "<b>&", "<b>&", ax=other)
    with pytest.raises(ValueError, match="group must be one of .* got 'no such'"):
        plot.posterior(nasty, "tpr", "no such", ax=other)


@pytest.mark.parametrize("metric", ["ppv", "auc", "treatment_equality", "ece"])
def test_a_posterior_that_is_undefined_has_its_reason(metric, gaps, ax, tmp_path):
    plot.posterior(gaps, metric, ax=ax)
    entries = gaps.to_dict()["metrics"][metric]["differences"]
    said = [text.get_text() for text in ax.texts]
    assert said.count("-") == sum(entry["interval"] is None for entry in entries)
    for entry in entries:
        if entry.get("reason"):
            assert f"undefined: {entry['reason']}" in said
    save(ax, tmp_path)


def test_a_fact_has_no_interval_in_its_label_and_a_sane_axis(rows, ax):
    one = ask(rows, group=np.full(400, "all"), metrics="selection_rate")
    plot.groups(one, "selection_rate", ax=ax)
    low, high = ax.get_xlim()
    assert high - low == pytest.approx(0.1)
    assert low < one.metric("selection_rate", "all").mean < high
    assert ax.get_xlabel() == "selection_rate"


def test_a_density_of_labels_only_that_is_not_there_has_its_reason_below(gaps, ax):
    plot.posterior(gaps, "auc", ax=ax)
    noted = [" ".join(text.get_text().split()) for text in ax.texts]
    entries = gaps.to_dict()["metrics"]["auc"]["differences"]
    why = {}
    for entry in entries:
        if entry["labels_only"].get("reason"):
            why.setdefault(entry["labels_only"]["reason"].removesuffix(", in the group"), [])
    assert why
    assert all(any(f"labels only: {reason}" in text for text in noted) for reason in why)
