"""Several models: their numbers, and reasons of undefined ones."""

from __future__ import annotations

import pytest
from artists import below, legend_of, marks, segments

from lightfair import plot

pytest.importorskip("matplotlib")


def test_models_have_their_numbers_and_reasons(comparison, ax):
    plot.models(comparison, "ppv", ax=ax)
    ends = segments(ax)[:, :, 0].tolist()
    for at, model in enumerate(("one", "$two")):
        estimates = [comparison.metric(model, "ppv", group) for group in ("A", "B", None)]
        assert marks(ax, model)[:, 0].tolist() == [one.mean for one in estimates]
        assert ends[3 * at : 3 * at + 3] == [list(one.interval(0.95)) for one in estimates]
    assert "none, A; none, B; none, all rows: undefined, there are no rows predi" in below(ax)
    assert legend_of(ax) == ["one", "$two", "none"]


def test_exact_values_have_no_interval(comparison, ax):
    plot.models(comparison, "selection_rate", ax=ax)
    assert not ax.collections and "a mark without an interval is known exactly" in below(ax)
