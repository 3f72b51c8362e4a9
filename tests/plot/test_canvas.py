"""Names of rows and groups, and curves with bands or whiskers."""

from __future__ import annotations

import numpy as np
import pytest
from artists import bands, marks, segments
from results import refuse_import

from lightfair.plot import canvas

matplotlib = pytest.importorskip("matplotlib")
LONG = "Native Hawaiian or Other Pacific Islander, Female, {}"


def test_names_have_two_lines_unless_they_would_look_alike():
    assert canvas.wrap_names(["White", LONG.format(65)]) == [
        "White",
        "Native Hawaiian or Other\nPacific Islander,\N{HORIZONTAL ELLIPSIS}",
    ]
    alike = [LONG.format(65), LONG.format(66), "x" * 60]
    names = canvas.wrap_names(alike)
    assert [name.replace("\n", " ") for name in names[:2]] == alike[:2]
    assert max(len(line) for name in names for line in name.split("\n")) <= canvas.NAME + 1
    assert canvas.wrap_names(["a\tb\nc", ""]) == ["a\\tb\\nc", ""]


@pytest.mark.parametrize("index, size", [(0, 1), (2, 3), (3, 4), (5, 6)])
def test_more_than_three_curves_have_whiskers_in_place_of_bands(index, size, ax):
    x = np.linspace(0.0, 1.0, 101)
    canvas.draw_curve(ax, x, (x, x - 0.1, x + 0.3), canvas.GROUPS[index], index, size)
    points, whiskers = marks(ax, "interval"), segments(ax)
    if size <= canvas.BANDED:
        assert len(bands(ax)) == 1 and not len(points) and not len(whiskers)
        return
    at = (np.arange(5) + (index + 0.5) / size) / 5.0  # places of its own
    assert not bands(ax)
    np.testing.assert_allclose(points, np.column_stack([at, at]))
    np.testing.assert_allclose(whiskers[:, :, 1], np.column_stack([at - 0.1, at + 0.3]))


def test_groups_are_given_by_their_levels(crowd):
    names, note = canvas.choose_groups(crowd, None)
    labeled = {one["name"]: one["labeled"] for one in crowd.to_dict()["data"]["groups"]}
    assert {*names} == {*sorted(labeled, key=labeled.get)[-6:]} and names == sorted(names)
    assert note == "6 of 8 groups: those with most labeled rows"
    for group in (["White", "_under"], np.array(["White", "_under"]), iter(["White", "_under"])):
        assert canvas.choose_groups(crowd, group) == (["White", "_under"], "")
    for group, message in (
        ("x", "group must be one of .* got 'x'"),
        (list(crowd.groups), "group must name 1 to 6 groups; got 8"),
    ):
        with pytest.raises(ValueError, match=message):
            canvas.choose_groups(crowd, group)


def test_without_a_folder_for_matplotlib_it_says_so(monkeypatch):
    error = OSError("set the MPLCONFIGDIR environment variable")
    refuse_import(monkeypatch, "matplotlib.pyplot", error)
    monkeypatch.delattr(matplotlib, "pyplot", raising=False)
    with pytest.raises(ImportError, match="whose import fails: set the MPLCONFIGDIR"):
        canvas.axes_for(None, "x")
