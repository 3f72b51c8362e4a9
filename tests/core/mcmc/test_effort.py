"""How many chains a fit gets follows from its size alone."""

from __future__ import annotations

import pytest

import lightfair.core as lf
from lightfair.core.mcmc.sampler import DRAWS, FEW, MANY, numpy_seconds, usual, usual_warmup
from lightfair.core.settings import Settings


def test_small_fits_get_many_short_chains():
    assert usual(2, 100, True) == usual(2, 10_000, True) == usual(1, 0, False) == MANY
    assert usual(200, 10_000, True) == usual(100, 5000, False) == FEW
    for trust in (False, True):
        many = [usual(groups, 50 * groups, trust) == MANY for groups in range(1, 100)]
        assert many == sorted(many, reverse=True)
    assert usual_warmup(16) == MANY[1] and usual_warmup(15) == FEW[1]


def test_work_costs():
    base = numpy_seconds(1, 2, 100, 8, 4)
    assert base > 0.0
    for more in ((3, 2, 300, 8, 4), (1, 6, 100, 8, 4), (1, 2, 900, 8, 4), (1, 2, 100, 12, 4)):
        assert numpy_seconds(*more) > base


@pytest.mark.parametrize(
    "given, wanted",
    [
        ({}, (*MANY, DRAWS // MANY[0])),
        ({"chains": 4}, (*FEW, DRAWS // FEW[0])),
        ({"chains": 3, "warmup": 7}, (3, 7, 1067)),
        ({"draws": 10}, (*MANY, 10)),
        ({"chains": 5000}, (5000, MANY[1], 4)),
    ],
)
def test_what_is_not_given_is_filled_in(rows, given, wanted):
    table = lf.score_table(lf.score_data(rows.y_true, rows.y_score, sensitive_features=rows.group))
    chains, draws, warmup = Settings(**given).resolved(table, 0).run
    assert (chains, warmup, draws) == wanted


def test_unresolved_settings_have_no_run():
    with pytest.raises(ValueError, match="settings must be resolved"):
        _ = Settings().run
