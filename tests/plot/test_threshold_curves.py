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


def test_the_gap_of_two_groups_is_their_difference(two, ax):
    plot.thresholds(two, "tpr", quantity="gap", ax=ax)
    mean = [delta.mean for delta in two.thresholds().difference("tpr", "B", "A").values()]
    assert any(np.array_equal(line.get_ydata(), mean) for line in ax.lines)
    assert ax.get_title(loc="left") == "tpr: B minus A"
    with pytest.raises(ValueError, match=r"quantity must be one of groups, gap; got 'gaps' \(did"):
        plot.thresholds(two, "tpr", quantity="gaps", ax=ax)
    with pytest.raises(ValueError, match="auc is a metric of scores"):
        plot.thresholds(two, "auc", ax=ax)


def test_the_gap_of_several_groups_is_the_largest(gaps, ax):
    plot.thresholds(gaps, "ppv", quantity="gap", ax=ax)
    draws, cuts = gaps.thresholds().draws("ppv"), gaps.thresholds().thresholds.tolist()
    points = dict(ax.lines[0].get_xydata())
    for cut, groups in ((0.2, [0, 1, 2, 3]), (0.6, [0, 1, 3])):
        some = draws[:, :, cuts.index(cut), groups]
        gap = some.max(axis=-1) - some.min(axis=-1)
        assert points[cut] == pytest.approx(np.nanmedian(gap))
    assert "at 0.35 to 0.6: without C, no rows predicted positive" in below(ax)


def test_undefined_values_are_gaps_with_their_reason(gaps, ax):
    plot.thresholds(gaps, "ppv", ax=ax)
    assert below(ax).endswith("C at 0.35 to 0.6: there are no rows predicted positive")
    ours = next(line for line in ax.lines if line.get_color() == GROUPS[2].colour)
    assert np.isnan(ours.get_ydata()).tolist() == [False, True, True, True, True]
