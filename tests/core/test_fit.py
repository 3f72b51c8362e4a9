"""Draws of a fit: what is checked for convergence, and what needs no draws."""

from __future__ import annotations

import numpy as np
import pytest
from asking import QUICK, assess_rows

KNOWN = ["sample", "expected"]


@pytest.mark.parametrize("target", KNOWN)
def test_nothing_is_drawn_where_all_rows_are_labeled(rows, target):
    options = {"metrics": ["tpr", "auc", "selection_rate"], "target": target}
    result = assess_rows(rows, y_true=rows.y_all, **QUICK, **options)
    assert result.shape == (1, 1) and result.curves is None
    assert result.gate.ok and result.gate.rhat_max is None
    for group in result.groups:
        mine = rows.group == group
        hits = (rows.y_score >= 0.5)[mine & (rows.y_all == 1)]
        estimate = result.metric("tpr", group)
        assert estimate.exact and estimate.mean == pytest.approx(hits.mean(), abs=1e-12)
    gap = result.difference("tpr", "B", "A")
    assert gap.interval() == (gap.mean, gap.mean) and gap.sd == 0.0
    with pytest.raises(ValueError, match="no curves were fitted: every number is known"):
        _ = result.posterior


def test_what_needs_labels_is_refused_where_no_curves_were_fitted(rows):
    """Without curves the labels of unlabeled rows would be the scores themselves."""
    result = assess_rows(rows, metrics=["selection_rate", "average_score"], **QUICK)
    assert result.curves is None
    asked = [result.largest_gap, result.pairs, result.group_draws]
    for ask, name in [*((one, "tpr") for one in asked), (result.imputed, "B")]:
        with pytest.raises(ValueError, match="needs curves, and none were fitted"):
            ask(name)
    with pytest.raises(ValueError, match="tpr needs curves"):
        result.check("tpr<=0.05")
    for name in result.groups:
        assert result.imputed(name, free=True).weight.sum() == (rows.group == name).sum()
    assert result.largest_gap("selection_rate").exact
    every = assess_rows(rows, y_true=rows.y_all, metrics=["selection_rate"], **QUICK)
    assert every.largest_gap("tpr").exact and not every.unfitted


@pytest.mark.parametrize("options", [{"target": "population"}, {"metrics": ["tpr"]}])
def test_what_is_not_known_is_drawn(rows, options):
    label = rows.y_all if "target" in options else rows.y_true
    options = {"metrics": ["tpr", "selection_rate"], **options, **QUICK}
    result = assess_rows(rows, y_true=label, **options)
    assert result.shape == (QUICK["chains"], result.posterior.phi.shape[1])


def test_parameters_do_not_decide_the_check(rows):
    """A few draws: what is reported and the parameters fail for reasons of their own."""
    result = assess_rows(rows, metrics=["tpr"], **{**QUICK, "draws": 4})
    reported = f"of {2 + 1} quantities"
    assert reported in result.gate.reason and reported not in result.gate.parameters


def test_a_chain_that_never_moves_is_stuck(rows, monkeypatch):
    """A constant is known, or else a chain that is stuck: with one chain nothing else shows it."""
    from lightfair.core.mcmc import moves

    sweeps = moves.sweeps

    def still(packed, *arguments):
        kept, accepted = sweeps(packed, *arguments)
        return np.broadcast_to(packed[:, :, None], kept.shape).copy(), accepted

    monkeypatch.setattr(moves, "sweeps", still)
    result = assess_rows(rows, metrics=["tpr"], **{**QUICK, "chains": 1})
    assert not result.gate.ok and result.gate.rhat_max == np.inf
    assert result.gate.reason == "the chains are stuck"
