"""Plans: widths, the target, and what cannot be reached."""

from __future__ import annotations

import dataclasses

import pytest
from artists import below, legend_of

import lightfair as lf
from lightfair import plot

pytest.importorskip("matplotlib")
from lightfair.plot.canvas import wrap_names  # noqa: E402


def test_widths_are_those_of_the_plan(two, ax):
    plan = lf.plan_labels(two, "tpr", 0.15, extra=[20, 60, 200])
    plot.plan(plan, ax=ax)
    steps = plan.to_dict()["steps"]
    widths = [[step["extra"], step["intervals"][0]["width"]] for step in steps]
    assert ax.lines[0].get_xydata().tolist() == widths
    assert any(list(line.get_ydata()) == [0.15, 0.15] for line in ax.lines)
    assert any(list(line.get_xdata()) == [plan.labels] * 2 for line in ax.lines)
    assert legend_of(ax) == ["B", "width 0.15", f"{plan.labels:,} labels"]
    assert ax.get_title(loc="left") == "Plan for tpr minus that of A"


def test_out_of_reach_and_undefined_are_notes(gaps, ax):
    plan = lf.plan_labels(gaps, "ppv", 0.1, extra=[5])
    plot.plan(dataclasses.replace(plan, labels=None, reason="why"), ax=ax)
    assert "width 0.1 is out of reach: why" in below(ax)
    assert "C minus A: undefined, there are no rows predicted positive" in below(ax)
    assert legend_of(ax) == ["B", "D", "width 0.1"]


def test_of_many_differences_the_widest_have_names(crowd, ax):
    plan = lf.plan_labels(crowd, "tpr", 0.2, extra=[10])
    plot.plan(plan, ax=ax)
    widest = sorted(plan.intervals, key=lambda one: -one.width[0])
    drawn = [list(line.get_ydata()) for line in ax.lines]
    assert all(list(one.width) in drawn for one in widest) and len(widest) == 7
    names = wrap_names([one.group for one in widest[:6]])
    names = [name.replace("\n", " ") for name in names]
    assert legend_of(ax)[:7] == [*names, "1 more, narrower"]
