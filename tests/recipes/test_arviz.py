"""ArviZ: plots and tables of the draws; `lightfair.interop.arviz` lists all variables."""

from __future__ import annotations

import warnings

import pytest

pytestmark = pytest.mark.slow


def test_plots_and_tables_of_the_draws(result):
    pytest.importorskip("matplotlib").use("Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ 0 warns of ArviZ 1
        arviz = pytest.importorskip("arviz")

    draws = result.to_arviz()
    arviz.plot_forest(draws, var_names=["tpr", "tpr_difference"], combined=True)
    arviz.plot_rank(draws, var_names=["mu"])
    table = arviz.summary(draws, var_names=["tpr"])

    assert list(table.index) == ["tpr[A]", "tpr[B]"]
    mean = float(draws["posterior"]["tpr"].sel(group="B").mean())
    assert mean == pytest.approx(result.metric("tpr", "B").mean, abs=1e-12)
