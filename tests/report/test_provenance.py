"""Assumptions, limits and reproduction: they follow from the settings."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from results import QUICKEST, ask_quickly

import lightfair as lf


def section(result, key, command=None):
    document = result._document(full=True, command=command)
    return next(one for one in document.sections if one.key == key)


def text_of(result, key):
    return "\n".join(block.text for block in section(result, key).blocks)


@pytest.fixture(scope="module")
def unusual(rows):
    return ask_quickly(
        rows,
        metrics="tpr",
        threshold={"A": 0.4, "B": 0.5},
        prior=lf.Prior().scaled(2.0),
        trust=lf.Trust(omega_sd=0.2),
        prob=0.9,
        epsilon=0.1,
        sample_weight=[1.0, 2.0] * 200,
        label_prob=[0.15] * 400,
    )


def test_assumptions_follow_from_the_settings(result, unusual):
    text = text_of(result, "assumptions")
    assert "random sample of its rows" in text and "95 % credible" in text
    text = text_of(unusual, "assumptions")
    for part in ("central 90 % ", "label_prob, which"):
        assert part in text
    assert "random sample of its rows" not in text


@pytest.mark.parametrize("installed", [True, False])
def test_a_result_is_reproducible(result, installed, monkeypatch):
    if installed:
        numba = pytest.importorskip("numba").__version__
    else:
        monkeypatch.setitem(sys.modules, "numba", None)
        numba = "not available"
    code, table, last = section(result, "reproduce").blocks
    assert json.loads(code.text) == {"settings": json.loads(json.dumps(result.settings.to_dict()))}
    assert {row[0].text: row[1].text for row in table.rows} == {
        "lightfair": lf.__version__,
        "Python": ".".join(map(str, sys.version_info[:3])),
        "numpy": np.__version__,
        "numba": numba,
        "seed": "1",
    }
    assert last.text == "The same rows, settings, versions and seed give the same numbers."
    command, again, *_ = section(result, "reproduce", "lightfair assess 'x y.csv'").blocks
    assert again == code and (command.text, command.mark) == ("lightfair assess 'x y.csv'", "sh")


def test_an_unknown_seed_is_reported(rows):
    result = ask_quickly(rows, metrics="selection_rate", rng=np.random.default_rng(1))
    *_, table, last = section(result, "reproduce").blocks
    assert table.rows[-1][1].text == "not known" and last.text.startswith("The seed is not known")


def test_plans_searches_and_comparisons_add_their_own(result, plan, found, models):
    assert "Widths are forecasts" in text_of(plan, "assumptions")
    for one, name in ((plan, "plan_labels"), (found, "find_threshold")):
        values = json.loads(section(one, "reproduce").blocks[0].text)
        assert values[name]["metric"] == "tpr" and values["settings"]["draws"] == QUICKEST["draws"]
    assert "reference keeps its own threshold" in text_of(found, "assumptions")
    text = text_of(models, "assumptions")
    assert "mean of those of the models' scores" in text and "labels-only" not in text
    assert "labels-only" not in text_of(models, "limits")
    assert "labels-only" in text_of(result, "limits")
