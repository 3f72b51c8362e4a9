"""Figures: which ones a page has, and that they depend on the result alone."""

from __future__ import annotations

import base64
import re
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree

import numpy as np
import pytest
from results import ask_quickly, refuse_import

import lightfair as lf
from lightfair.report import figures

matplotlib = pytest.importorskip("matplotlib")


def svg(picture):
    return base64.b64decode(picture.source.partition("base64,")[2])


def counts(pictures):
    return {key: len(found) for key, found in pictures.items()}


def test_figures_of_each_result(pictures, plan, found, models):
    exact = {"selection_rate": 2}  # no posterior
    assert counts(pictures) == {"tpr": 3, **exact, "thresholds": 2, "diagnostics": 2}
    for picture in sum(pictures.values(), []):
        assert ElementTree.fromstring(svg(picture)).tag.endswith("svg")
        assert picture.caption.endswith(".")
    assert pictures["tpr"][0].caption.startswith("tpr minus that of A; lines: 95 % intervals")
    assert pictures["selection_rate"][1].caption == "selection_rate by group; marks: exact values."
    assert counts(figures.of_plan(plan)) == {"plan": 1}
    assert counts(figures.of_thresholds(found)) == {"thresholds": 1}
    assert counts(figures.of_models(models)) == {"tpr": 1, "accuracy": 1}
    assert plan.to_html().count("<figure>") == 1


def test_a_searched_metric_that_was_not_assessed_has_no_figure(result):
    own = lf.Metric("missed", lambda tp, fp, fn, tn: fn / (tp + fp + fn + tn), bounds=(0, 1))
    found = lf.find_threshold(result, own)
    assert figures.of_thresholds(found) == {}
    assert "Thresholds at which missed is that of A" in found.to_html()


def test_points_are_rounded_and_texts_are_not(result, pictures):
    drawn = svg(pictures["tpr"][0])
    chance = result.difference("tpr", "B", "A").prob_greater(0.0)
    assert f">{chance:.3f}</text>".encode() in drawn
    assert not re.search(rb'd="[^"]*\.\d{3}', drawn) and re.search(rb'd="[^"]*\.\d\d ', drawn)


def test_names_are_drawn_as_text(rows):
    group = np.where(rows.group == "A", "<b>$x^2$</b>", "Åse")
    pictures = figures.of_assessment(ask_quickly(rows, group=group, metrics="selection_rate"))
    text = "".join(ElementTree.fromstring(svg(pictures["selection_rate"][0])).itertext())
    assert "<b>$x^2$</b>" in text and "Åse" in text


def test_one_group_and_too_many_groups(rows, nine, monkeypatch):
    one = ask_quickly(rows, group=["A"] * 400, metrics="tpr")
    assert counts(figures.of_assessment(one)) == {"tpr": 1, "diagnostics": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # of matplotlib: no room
        warnings.simplefilter("ignore", lf.FairnessWarning)
        long = np.where(rows.group == "A", "x y " * 60 + "A", "x y " * 60 + "B")
        figures.of_assessment(ask_quickly(rows, group=long, metrics="tpr"))
    blank = ask_quickly(rows, y_true=[None] * 400, metrics="tpr")
    assert counts(figures.of_assessment(blank)) == {"tpr": 3, "diagnostics": 2}
    monkeypatch.setattr(figures, "MOST_ROWS", 8)
    monkeypatch.setattr(figures, "CALIBRATED", 1)
    found = figures.of_assessment(nine)
    assert found["tpr"] == [(None, "9 groups are too many for a figure.")]
    assert [picture.source is None for picture in found["diagnostics"]] == [False, True]
    assert "for the 1 largest of 9 groups" in found["diagnostics"][-1].caption


def test_the_same_result_gives_the_same_bytes_in_any_style_and_thread(rows):
    result = lf.plan_labels(ask_quickly(rows, metrics="tpr"), extra=[20])
    page, before = result.to_html(), dict(matplotlib.rcParams)
    with ThreadPoolExecutor(2) as threads:
        assert set(threads.map(lambda _: result.to_html(), range(2))) == {page}
    assert dict(matplotlib.rcParams) == before
    with matplotlib.rc_context({"axes.facecolor": "black", "svg.fonttype": "path"}):
        assert result.to_html() == page
        assert matplotlib.rcParams["axes.facecolor"] == "black"


def test_without_matplotlib_there_are_none(result, plan, found, models, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert not figures.available()
    for one in (result, plan, found, models):
        assert "has no plots" in one.to_html() and "<figure" not in one.to_html()


@pytest.mark.parametrize("error", [OSError, RuntimeError])
def test_without_a_folder_for_matplotlib_there_are_none(error, result, monkeypatch):
    """Where it can write neither in the home nor in a temporary folder, its import raises."""
    needs = error("Matplotlib requires access to a writable cache directory")
    refuse_import(monkeypatch, "matplotlib.figure", needs)
    assert not figures.available()
    assert "MPLCONFIGDIR" in result.to_html() and "<figure" not in result.to_html()
