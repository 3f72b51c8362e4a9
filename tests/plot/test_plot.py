"""What all plots share: Axes, errors, names, and no pyplot where Axes are given."""

from __future__ import annotations

import sys
from functools import cache

import pytest
from artists import texts
from results import PACKAGE

import lightfair as lf
from lightfair import plot

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.figure import Figure  # noqa: E402

METRIC = ["groups", "differences", "posterior", "thresholds"]
FUNCTIONS = [*METRIC, "calibration", "plan"]


@cache
def planned(result):
    return lf.plan_labels(result, "tpr", 0.2, extra=[10, 20])


def draw(name, result, ax):
    result = planned(result) if name == "plan" else result
    return getattr(plot, name)(result, *["tpr"] * (name in METRIC), ax=ax)


def test_these_are_all_functions():
    assert {*FUNCTIONS, "models", "monitoring", "figure_size"} == {*plot.__all__}


def test_pyplot_is_imported_in_one_function():
    lines = {line for path in PACKAGE.rglob("*.py") for line in path.read_text().splitlines()}
    (line,) = (line for line in lines if line.strip().endswith("import pyplot"))
    assert line.startswith("    ")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_draws_on_given_axes_with_names_as_they_are(name, crowd, ax, tmp_path, monkeypatch):
    """Without pyplot; no `$` begins a formula; characters that cannot be drawn would be errors."""
    before = dict(matplotlib.rcParams)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib.pyplot", None)
        drawn = draw(name, crowd, ax)
    assert drawn is ax
    assert ax.get_title(loc="left") and ax.get_xlabel()
    assert not any(text.get_parse_math() for text in texts(ax) if "$" in text.get_text())
    ax.figure.savefig(tmp_path / "figure.svg")
    assert "nan" not in (tmp_path / "figure.svg").read_text().lower()
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("name", [*METRIC, "models"])
def test_a_metric_that_was_not_assessed(name, two, comparison, ax):
    with pytest.raises(ValueError, match=r"ppvs.* \(did you mean 'ppv'\?\)"):
        getattr(plot, name)(comparison if name == "models" else two, "ppvs", ax=ax)
    assert not ax.has_data() and not ax.texts


def test_one_group_has_no_differences(alone, ax):
    with pytest.raises(ValueError, match="there is only one group, a"):
        plot.differences(alone, "tpr", ax=ax)
    for name in {*FUNCTIONS} - {"differences"}:
        assert draw(name, alone, Figure(layout="constrained").subplots()).has_data()


def test_it_draws_on_a_part_of_a_figure(two):
    """All of a plot lies in its subfigure, and most of that is data."""
    figure = Figure(figsize=(11, 5), layout="constrained")
    left, right = figure.subfigures(1, 2)
    plots = {left: plot.differences(two, "tpr", ax=left.subplots())}
    plots[right] = plot.thresholds(two, "tpr", ax=right.subplots())
    figure.draw_without_rendering()
    for part, ax in plots.items():
        assert ax.figure is part
        drawn, room = ax.get_tightbbox(), part.bbox
        assert room.x0 <= drawn.x0 < drawn.x1 <= room.x1
        assert room.y0 <= drawn.y0 < drawn.y1 <= room.y1
        assert ax.bbox.width > 0.4 * room.width and ax.bbox.height > 0.5 * room.height


def test_in_a_figure_without_a_layout_axes_make_room_for_each_other(two):
    """All that is drawn, legends and notes too, overlaps nothing and lies in the figure."""
    figure = Figure(figsize=(9.0, 7.0))
    axes = [*figure.subplots(2, 2).flat]
    for name, ax in zip(["differences", "posterior", "calibration", "plan"], axes, strict=True):
        draw(name, two, ax)
    assert figure.get_layout_engine() is None
    drawn = [ax.get_tightbbox().padded(-1.0) for ax in axes]
    for at, box in enumerate(drawn):
        assert 0.0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert 0.0 <= box.y0 < box.y1 <= figure.bbox.y1
        assert not box.count_overlaps(drawn[:at])


def test_axes_at_a_place_of_their_own_or_in_a_part_stay_there(two):
    part = Figure().subfigures(1, 2)[1]
    for ax in (Figure().add_axes((0.1, 0.2, 0.6, 0.5)), part.subplots()):
        place = ax.get_position().bounds
        assert draw("differences", two, ax).get_position().bounds == pytest.approx(place)


@pytest.mark.parametrize("width", [3.8, 6.4])
@pytest.mark.parametrize("name", ["differences", "plan"])
def test_title_legend_and_data_do_not_overlap(name, width, crowd):
    figure = Figure(figsize=(width, 5.5), layout="constrained")
    ax = draw(name, crowd, figure.subplots())
    figure.draw_without_rendering()
    legend, title = ax.get_legend().get_window_extent(), ax._left_title.get_window_extent()
    assert ax.bbox.y1 <= legend.y0 < legend.y1 <= title.y0 + 1.0
    assert title.x1 <= figure.bbox.x1 and legend.x1 <= figure.bbox.x1
    assert ax.bbox.width > 0.25 * figure.bbox.width


def test_a_figure_of_its_own_grows_with_the_groups(two, crowd):
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    heights = []
    for result in (two, crowd):
        figure = plot.groups(result, "tpr").figure
        heights.append(figure.get_figheight())
        assert figure.get_figwidth() == plot.figure_size()[0]
        pyplot.close(figure)
    assert heights[1] > heights[0] == plot.figure_size(2)[1]
