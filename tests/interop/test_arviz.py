"""The draws in the data structure of ArviZ: names and shapes."""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
import pytest
from results import ask_quickly as ask

import lightfair as lf


@pytest.fixture(scope="module")
def result(rows):
    return ask(rows, metrics=["tpr", "auc", "selection_rate"], draws=50)


def checked(result):
    """The dict, whose arrays have the shapes that its dims and coords give."""
    found = result.to_arviz(as_dict=True)
    size = {name: len(values) for name, values in found["coords"].items()}
    arrays = {name: values[0, 0] for name, values in found["posterior"].items()}
    arrays |= found["constant_data"] | found["observed_data"]
    assert {name: tuple(size[axis] for axis in axes) for name, axes in found["dims"].items()} == {
        name: np.shape(values) for name, values in arrays.items()
    }
    return found


def test_the_dict_names_the_draws(result):
    found, posterior = checked(result), result.posterior
    draws, constant, values = found["posterior"], found["constant_data"], result.to_dict()
    for name, expected in {
        "log_a": posterior.phi[..., 0],
        "c": posterior.phi[..., 2],
        "mu": posterior.mu,
        "tau": posterior.tau,
        "tpr": result.draws("tpr"),
        "tpr_difference": result.difference("tpr", "B", "A").draws[..., None],
    }.items():
        np.testing.assert_array_equal(draws[name], expected)
    assert found["coords"]["group"] == ["A", "B"] and found["coords"]["compared"] == ["B"]
    groups = values["data"]["groups"]
    assert constant["rows"].tolist() == [group["rows"] for group in groups]
    assert constant["labeled"].tolist() == [group["labeled"] for group in groups]
    positives = found["observed_data"]["positives"].tolist()
    assert positives == [group["positives"] for group in groups]
    assert "selection_rate" not in draws  # known exactly, thus constant
    rates = [result.metric("selection_rate", group).mean for group in "AB"]
    np.testing.assert_allclose(constant["selection_rate"], rates, rtol=1e-14)
    assert constant["selection_rate_difference"] == pytest.approx([rates[1] - rates[0]])
    assert json.loads(found["attrs"]["settings"]) == result.settings.to_dict()
    assert found["attrs"]["lightfair_version"] == lf.__version__
    assert found["attrs"]["rhat_max"] == result.gate.rhat_max


@pytest.mark.parametrize(
    "options, present, absent",
    [
        ({"hierarchical": False}, "omega", "effect_sex"),
        ({"hierarchical": "nested"}, "effect_sd_age", "sigma_mass"),
        ({"trust": False}, "mu", "omega deviation"),
        ({"family": "llo"}, "c", "log_b"),
        ({"family": "temperature"}, "log_a", "c log_b sigma_mass"),
    ],
)
def test_every_model_has_its_own_variables(rows, options, present, absent):
    age = np.where(np.arange(400) % 3 == 0, "young", "old")
    result = ask(rows, group={"sex": rows.group, "age": age}, metrics="tpr", **options)
    draws = checked(result)["posterior"]
    assert present in draws and not {*draws} & {*absent.split()}
    for name, values in draws.items():
        assert (np.ptp(values, axis=(0, 1)) > 0).all(), name


def test_one_group_has_no_differences_and_names_do_not_clash(rows):
    own = lf.Metric("omega", lambda tp, fp, fn, tn: tp / (tp + fn), lack="positives")
    result = ask(rows, group=np.full(400, "all"), metrics=own)
    found = checked(result)
    assert "compared" not in found["coords"] and "omega_metric" in found["posterior"]
    np.testing.assert_array_equal(found["posterior"]["omega"], result.posterior.omega)


def test_without_arviz_it_is_the_dict(result, monkeypatch):
    for name in ("arviz", "arviz_base"):
        monkeypatch.setitem(sys.modules, name, None)
    assert result.to_arviz()["dims"]["tpr"] == ["group"]


@pytest.mark.slow
def test_arviz_selects_by_name(result):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # version 0 warns of version 1 when it is imported
        pytest.importorskip("arviz")
    data = result.to_arviz()
    delta = data["posterior"]["tpr_difference"].sel(compared="B").values
    np.testing.assert_array_equal(delta, result.difference("tpr", "B", "A").draws)
    assert data["constant_data"]["selection_rate"].dims == ("group",)
    assert data.attrs["reference"] == "A"
