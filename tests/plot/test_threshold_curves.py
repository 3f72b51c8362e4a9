"""Curves against the threshold: numbers of the ThresholdCurve, gaps, and undefined parts."""

from __future__ import annotations

import numpy as np
import pytest
from artists import bands, below

from lightfair import plot

pytest.importorskip("matplotlib")
from lightfair.plot.canvas import GROUPS  # noqa: E402


def test_lines_and_bands_are_those_of_the_curve(two, ax):
    plot.thresholds(two, "tpr", ax=ax)
    curve = two.thresholds()
    for line, band, group in zip(ax.lines, bands(ax), "AB", strict=False):
        estimates = curve.metric("tpr", group).values()
        points = [[*curve.thresholds], [estimate.mean for estimate in estimates]]
        np.testing.assert_array_equal(line.get_xydata(), np.transpose(points))
        ends = [end for estimate in estimates for end in estimate.interval(0.95)]
        assert {*ends} <= {*band.get_paths()[0].vertices[:, 1]}
    assert list(ax.lines[-1].get_xdata()) == [0.5, 0.5]


def test_of_many_groups_those_with_most_labels_are_drawn(crowd, ax):
    plot.thresholds(crowd, "tpr", ax=ax)
    assert len(bands(ax)) == len(GROUPS)
    assert "6 of 8 groups: those with most labeled rows" in below(ax)


def test_undefined_values_are_gaps_with_their_reason(gaps, ax):
    plot.thresholds(gaps, "ppv", ax=ax)
    assert below(ax).endswith("C: undefined, there are no rows predicted positive")
    ours = next(line for line in ax.lines if line.get_color() == GROUPS[2].colour)
    assert np.isnan(ours.get_ydata()).tolist() == [False, True, True, True, True]
