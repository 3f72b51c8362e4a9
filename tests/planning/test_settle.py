"""A plan and a check: what one calls decisive, the other decides."""

from __future__ import annotations

import numpy as np
import pytest

import lightfair as lf
from lightfair.planning.plan import decisive_chance

ONE = np.ones(5)


def test_unknown_groups_are_no_evidence():
    """Of five groups of which little is known some gap is large for sure; none is known to be."""
    deltas = np.random.default_rng(0).normal(0.0, 0.3, (2000, 5))
    assert (np.abs(deltas).max(axis=1) < 0.05).mean() < 0.01
    assert decisive_chance(deltas, ONE, 0.05, 0.95) == 0.0


def test_one_known_direction_is_decisive():
    deltas = np.random.default_rng(0).normal(0.0, 0.3, (2000, 5))
    deltas[:, 3] = 0.2 + 0.1 * deltas[:, 3]
    assert decisive_chance(deltas, ONE, 0.05, 0.95) == 1.0


@pytest.mark.parametrize("within", [0.02, 0.3, 0.6])
def test_now_a_plan_is_as_decisive_as_a_check(within):
    rng = np.random.default_rng(2)
    rows = lf.simulate(rows=900, labeled=60, rng=2)
    group = np.where(rng.random(900) < 0.3, "C", rows.group)
    result = lf.assess(rows.y_true, rows.y_score, sensitive_features=group, rng=1)
    verdict = result.check("tpr", within, reference=result.settings.reference)
    plan = lf.plan_labels(result, "tpr", within=within, refits=0, extra=[0])
    assert plan.decisive[0] == float(verdict.status != "insufficient")


def test_the_mass_of_intervals_is_not_rounded():
    rows = lf.simulate(rows=300, labeled=60, rng=2)
    result = lf.assess(
        rows.y_true, rows.y_score, sensitive_features=rows.group, draws=100, chains=4, rng=1
    )
    plan = lf.plan_labels(result, "tpr", prob=0.995, refits=0, extra=[0])
    assert "expected width of 99.5 % intervals; chance" in str(plan)
