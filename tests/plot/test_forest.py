"""Forest plots: the numbers of to_dict, and reasons of undefined ones."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from artists import below, legend_of, marks, segments, words

from lightfair import plot

pytest.importorskip("matplotlib")
from lightfair.plot.canvas import BLUE, GREY, VERMILLION  # noqa: E402

METHODS = [("lightfair", BLUE, None), ("labels only", VERMILLION, "labels_only")]
METHODS += [("prediction-powered", GREY, "prediction_powered")]


@pytest.mark.parametrize("kind", ["groups", "differences"])
@pytest.mark.parametrize("metric", ["tpr", "fpr"])
def test_it_has_the_numbers_of_to_dict(kind, metric, two, ax):
    getattr(plot, kind)(two, metric, ax=ax)
    entries = two.to_dict()["metrics"][metric][kind]
    for label, colour, key in METHODS:
        known = [one for e in entries if (one := e[key] if key else e)["interval"] is not None]
        assert marks(ax, label)[:, 0].tolist() == [one["mean"] for one in known]
        ends = segments(ax, colour)[:, :, 0]
        assert ends.tolist() == [one["interval"] for one in known]
        low, high = ax.get_xlim()
        assert ((low < ends) & (ends < high)).all()
    labeled = {one["name"]: one["labeled"] for one in two.to_dict()["data"]["groups"]}
    names = "AB" if kind == "groups" else "B"
    rows = [f"{name}\n{labeled[name]} labeled" for name in names]
    assert [text.get_text() for text in ax.get_yticklabels()] == rows


def test_a_difference_has_its_probability_and_the_region(two, ax):
    plot.differences(two, "tpr", ax=ax)
    probability = two.difference("tpr", "B", "A").prob_greater(0.0)
    assert f"{probability:.3f}" in words(ax) and "P(>0)" in words(ax)
    region = ax.patches[0].get_extents().transformed(ax.transData.inverted())
    assert (region.x0, region.x1) == (pytest.approx(-0.05), pytest.approx(0.05))


def test_exact_values_are_diamonds_without_an_interval(two, ax):
    plot.groups(two, "selection_rate", ax=ax)
    means = [e["mean"] for e in two.to_dict()["metrics"]["selection_rate"]["groups"]]
    assert marks(ax, "exact")[:, 0].tolist() == means
    assert not len(segments(ax)) and legend_of(ax) == ["exact"]
    assert ax.get_xlabel() == "selection_rate"
    low, high = ax.get_xlim()
    assert low < min(means) and max(means) < high


def test_the_truth_is_a_mark(two, ax):
    shown = dataclasses.replace(two, truth={"tpr": np.array([0.6, 0.7])})
    plot.groups(shown, "tpr", ax=ax)
    assert marks(ax, "truth").tolist() == [[0.6, 0], [0.7, 1]]
    ax.clear()
    plot.differences(shown, "tpr", ax=ax)
    assert marks(ax, "truth")[0, 0] == pytest.approx(0.1)


@pytest.mark.parametrize("kind", ["groups", "differences"])
@pytest.mark.parametrize("metric", ["ppv", "auc", "treatment_equality", "ece"])
def test_undefined_values_have_their_reason_in_a_note(kind, metric, gaps, gap_values, ax):
    getattr(plot, kind)(gaps, metric, ax=ax)
    entries = gap_values[metric][kind]
    assert len(ax.texts) == (len(entries) + 1) * (kind == "differences")  # beside the plot
    for entry in entries:
        if entry.get("reason"):
            assert f"C: undefined, {entry['reason']}" in below(ax)
        for label, _, key in METHODS[1:]:
            if entry[key]["interval"] is None:
                assert f"no {label} interval: {entry[key]['reason']}" in below(ax)
    assert all(np.isfinite(line.get_xydata()).all() for line in ax.lines)
