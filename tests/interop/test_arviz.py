"""The draws as ArviZ holds them: names and shapes, and its diagnostics against ours."""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
import pytest
from results import ask_quickly as ask

import lightfair as lf
from lightfair.core.mcmc.convergence import diagnose


@pytest.fixture(scope="module")
def az():
    """ArviZ; its version 0 warns of version 1 when it is imported, once a day."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("arviz")


@pytest.fixture(scope="module")
def age():
    return np.where(np.arange(400) % 3 == 0, "young", "old")


@pytest.fixture(scope="module")
def result(rows):
    return ask(rows, metrics=["tpr", "auc", "selection_rate"], draws=50)


def shapes(found):
    """Variables with the sizes that their dims say, checked against their arrays."""
    size = {name: len(values) for name, values in found["coords"].items()}
    for group in ("posterior", "constant_data", "observed_data"):
        for name, values in found[group].items():
            inner = values.shape[2:] if group == "posterior" else values.shape
            assert inner == tuple(size[dim] for dim in found["dims"][name]), name
    assert set(found["dims"]) == {
        *found["posterior"],
        *found["constant_data"],
        *found["observed_data"],
    }
    return found


def test_the_dict_names_the_draws(result):
    found = shapes(result.to_arviz(as_dict=True))
    draws = found["posterior"]
    np.testing.assert_array_equal(draws["log_a"], result.posterior.phi[..., 0])
    np.testing.assert_array_equal(draws["c"], result.posterior.phi[..., 2])
    np.testing.assert_array_equal(draws["mu"], result.posterior.mu)
    np.testing.assert_array_equal(draws["tau"], result.posterior.tau)
    np.testing.assert_array_equal(draws["tpr"], result.draws("tpr"))
    delta = result.difference("tpr", "B", "A").draws
    np.testing.assert_array_equal(draws["tpr_difference"][..., 0], delta)
    assert found["coords"]["group"] == ["A", "B"] and found["coords"]["compared"] == ["B"]
    assert found["dims"]["deviation"] == ["group", "region"]
    assert found["constant_data"]["rows"].tolist() == [
        group["rows"] for group in result.to_dict()["data"]["groups"]
    ]
    assert found["observed_data"]["positives"].sum() == np.nansum(
        [group["positives"] for group in result.to_dict()["data"]["groups"]]
    )
    assert json.loads(found["attrs"]["settings"]) == result.settings.to_dict()
    assert found["attrs"]["lightfair_version"] == lf.__version__
    assert found["attrs"]["rhat_max"] == result.gate.rhat_max


def test_facts_are_constant_data(result):
    found = result.to_arviz(as_dict=True)
    assert "selection_rate" not in found["posterior"]
    rate = [result.metric("selection_rate", group).mean for group in "AB"]
    np.testing.assert_allclose(found["constant_data"]["selection_rate"], rate, rtol=1e-14)
    delta = result.difference("selection_rate", "B", "A").mean
    assert found["constant_data"]["selection_rate_difference"] == pytest.approx([delta])


@pytest.mark.parametrize(
    "options, there, absent",
    [
        ({"hierarchical": False}, "omega", "effect_sex"),
        ({"hierarchical": "nested"}, "effect_sd_age", "sigma_mass"),
        ({"trust": False}, "mu", "omega deviation"),
        ({"family": "llo"}, "c", "log_b"),
        ({"family": "temperature"}, "log_a", "c log_b sigma_mass"),
    ],
)
def test_every_model_has_its_own_variables(rows, age, options, there, absent):
    crossed = {"sex": rows.group, "age": age}
    result = ask(rows, group=crossed, metrics="tpr", **options)
    found = shapes(result.to_arviz(as_dict=True))
    names = set(found["posterior"])
    assert there in names and not names & set(absent.split())
    for name, draws in found["posterior"].items():
        assert draws.shape[:2] == (result.settings.run[0], result.posterior.phi.shape[1])
        assert (np.ptp(draws, axis=(0, 1)) > 0).all(), name


def test_masses_of_scores_have_a_spread_where_the_family_fixes_c(rows):
    score = np.where(np.arange(400) % 4 == 0, 0.0, rows.y_score)
    result = ask(rows, y_score=score, metrics="tpr", family="temperature")
    found = shapes(result.to_arviz(as_dict=True))
    np.testing.assert_array_equal(found["posterior"]["sigma_mass"], result.posterior.sigma[..., 2])


def test_one_group_has_no_differences_and_names_do_not_clash(rows):
    own = lf.Metric("omega", lambda tp, fp, fn, tn: tp / (tp + fn), lack="positives")
    result = ask(rows, group=np.full(400, "all"), metrics=own)
    found = shapes(result.to_arviz(as_dict=True))
    assert "compared" not in found["coords"] and "omega_metric" in found["posterior"]
    np.testing.assert_array_equal(found["posterior"]["omega"], result.posterior.omega)


def test_without_arviz_it_is_the_dict(result, monkeypatch):
    for name in ("arviz", "arviz_base"):
        monkeypatch.setitem(sys.modules, name, None)
    found = result.to_arviz()
    assert isinstance(found, dict) and found["posterior"]["tpr"].shape == result.draws("tpr").shape


def test_arviz_agrees_with_our_diagnostics(az, result):
    """R-hat and both effective sample sizes of every parameter, from the stored draws."""
    data = result.to_arviz()
    names = ["log_a", "log_b", "c", "mu", "sigma", "omega", "tau", "deviation", "tpr"]
    tail = {"method": "tail", "prob": (0.05, 0.95)}
    asked = {
        "rhat": az.rhat(data, var_names=names, method="rank"),
        "ess_bulk": az.ess(data, var_names=names, method="bulk"),
        "ess_tail": az.ess(data, var_names=names, **tail),
    }
    for name in names:
        ours = diagnose(result.to_arviz(as_dict=True)["posterior"][name])
        for kind, found in asked.items():
            theirs = found[name] if name in found else found["posterior"][name]
            np.testing.assert_allclose(theirs.values, getattr(ours, kind), rtol=1e-9)


def test_arviz_selects_by_the_names_of_groups(az, result):
    data = result.to_arviz()
    mean = float(data["posterior"]["tpr"].sel(group="B").mean())
    assert mean == pytest.approx(result.metric("tpr", "B").mean, abs=1e-12)
    delta = data["posterior"]["tpr_difference"].sel(compared="B").values
    np.testing.assert_array_equal(delta, result.difference("tpr", "B", "A").draws)
    assert data["constant_data"]["selection_rate"].dims == ("group",)
    assert data.attrs["reference"] == "A"


def test_arviz_sums_up_without_a_warning(az, result):
    table = az.summary(result.to_arviz(), var_names=["tpr", "tpr_difference"])
    assert list(table.index) == ["tpr[A]", "tpr[B]", "tpr_difference[B]"]
