"""Names of rows, and matplotlib that cannot be imported."""

from __future__ import annotations

import pytest
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
    ends = canvas.wrap_names(["a" * 500 + end for end in "xyz"])  # a figure has no room for more
    assert [name[-1] for name in ends] == [*"xyz"] and max(map(len, ends)) < 90
    assert canvas.wrap_names(["a\tb\nc", ""]) == ["a\\tb\\nc", ""]


def test_without_a_folder_for_matplotlib_it_says_so(monkeypatch):
    error = OSError("set the MPLCONFIGDIR environment variable")
    refuse_import(monkeypatch, "matplotlib.pyplot", error)
    monkeypatch.delattr(matplotlib, "pyplot", raising=False)
    with pytest.raises(ImportError, match="its import fails: set the MPLCONFIGDIR"):
        canvas.axes_for(None, "x")
