"""Results: each of them has every form; they extend the plain results of the core."""

from __future__ import annotations

import csv
import importlib
import inspect
import io
import json
import pickle
import sys
from dataclasses import replace

import asking
import numpy as np
import pytest
from results import QUICKEST
from results import ask_quickly as ask

import lightfair as lf
from lightfair import core, plot
from lightfair.api import Result
from lightfair.interop import tidy
from lightfair.report.document import Document


def compared(rows):
    scores = {"old": rows.y_score, "new": rows.y_score**2}
    options = {"sensitive_features": rows.group, "metrics": "tpr", **QUICKEST}
    return lf.compare_models(scores, rows.y_true, **options)


FORMS = ("to_csv", "to_dataframe", "to_markdown", "to_html", "_repr_html_", "__str__")
KINDS = {
    "assessment": lambda result, rows: result,
    "plan": lambda result, rows: lf.plan_labels(result, "tpr", 0.2),
    "search": lambda result, rows: lf.find_threshold(result, "tpr"),
    "monitor": lambda result, rows: lf.monitor({"1": result.table}, "tpr<=0.1", rng=1, draws=20),
    "strata": lambda result, rows: lf.within(
        ask(rows, metrics="tpr", group={"sex": rows.group, "half": ["x", "y"] * 200}), "half"
    ),
    "classes": lambda result, rows: lf.assess_classes(
        np.where(rows.y_true == 1, "a", np.where(rows.y_true == 0, "b", None)),
        np.stack([rows.y_score, 0.7 * (1 - rows.y_score), 0.3 * (1 - rows.y_score)], axis=1),
        ["a", "b", "c"],
        sensitive_features=rows.group,
        metrics=["tpr"],
        **QUICKEST,
    ),
    "models": lambda result, rows: compared(rows),
}


@pytest.fixture(scope="module", params=KINDS)
def found(request, rows):
    return KINDS[request.param](ask(rows, metrics="tpr"), rows)


def test_forms_are_written_once():
    names = {"Assessment", "LabelPlan", "ModelComparison", "FoundThresholds"}
    names |= {"AuditProfile", "ConditionalGaps", "ClassesAssessment", "MembershipAssessment"}
    names |= {"Monitoring"}
    importlib.import_module(f"{lf.__name__}.public")
    assert {kind.__name__ for kind in Result.__subclasses__()} == names & {*lf.__all__}
    for kind in Result.__subclasses__():
        assert not {*FORMS} & {*vars(kind)}


def test_every_form_of_every_result(found):
    text = str(found)
    assert text and text == str(pickle.loads(pickle.dumps(found)))
    assert found._repr_html_().startswith('<div class="lightfair">')
    page, card = found.to_html(command="lightfair x"), found.to_markdown(command="lightfair x")
    assert page.startswith("<!DOCTYPE html>\n") and card.startswith("# ")
    assert "lightfair x" in page and "lightfair x" in card
    back = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert len(back) == len(tidy.rows(found)) and back[0]["metric"] == "tpr"
    assert json.loads(found.to_json()) == json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert {*found.summary().splitlines()} <= {*text.splitlines()}
    assert isinstance(found._document(), Document)
    assert len(repr(found)) < 200 and "\n" not in repr(found)


def test_every_public_value_is_shown_in_one_line(rows):
    result = ask(rows, metrics=["tpr", "selection_rate"])
    data = lf.score_data(rows.y_true, rows.y_score, sensitive_features=rows.group)
    options = {"y_score": rows.y_score, "y_true": rows.y_true, "sensitive_features": rows.group}
    values = [
        *(result.difference("tpr", "B", "A"), result.ratio("tpr", "B", "A")),
        *(result.largest_gap("tpr"), result.pairs("tpr")[0], result.simultaneous()),
        *(result.check("tpr<=0.1"), result.posterior, result.misfit, result.thresholds("all")),
        *(lf.choose_labels(result, 9, rng=1, **options), data, lf.score_table(data)),
        core.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, **QUICKEST),
    ]
    for value in values:
        name, text = type(value).__name__, str(value)
        assert repr(value) == f"<{name}: {text}>" and "\n" not in text and 20 < len(text) < 200
        assert value._repr_html_().startswith("<code>") and "array" not in text
    text = f"{result.table}; tpr, selection_rate"
    assert repr(result) == f"<Assessment: {text}; print() shows the report>"
    assert repr(values[3].estimate) in f"<Estimate: {str(values[3])[11:].split(', P(largest')[0]}>"


def test_metrics_by_group_are_a_frame(rows, monkeypatch):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    result = ask(rows, metrics=["tpr", "selection_rate"])
    tpr = result.metric("tpr", "B")
    monkeypatch.delitem(sys.modules, "polars")
    table, overall = result.by_group, result.overall
    assert isinstance(table, pandas.DataFrame) and list(table.index) == ["A", "B"]
    assert table["tpr"]["B"] == tpr.mean
    assert (table["tpr_low"]["B"], table["tpr_high"]["B"]) == tpr.interval()
    assert overall["tpr"] == result.metric("tpr").mean and list(overall.index) == [*table]
    monkeypatch.setitem(sys.modules, "polars", polars)
    monkeypatch.delitem(sys.modules, "pandas")
    assert isinstance(result.to_dataframe(), polars.DataFrame)  # the one that is imported
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = result.by_group
    assert table["group"].to_list() == ["A", "B"] and table["tpr"][1] == tpr.mean
    assert result.overall["tpr"] == result.metric("tpr").mean
    assert [*result.overall] == [*overall.index]
    monkeypatch.setitem(sys.modules, "polars", None)
    assert str(result.by_group["tpr"]["B"]) == str(tpr)
    assert str(result.overall["tpr"]) == str(result.metric("tpr"))
    with pytest.raises(ImportError, match="a data frame needs pandas or polars; to_csv.. works"):
        result.to_dataframe()
    with pytest.raises(ValueError, match="library must be one of pandas, polars; got 'arrow'"):
        result.to_dataframe("arrow")


def test_each_warning_is_a_python_warning_that_can_be_filtered(rows):
    with pytest.warns(lf.FairnessWarning) as caught:
        result = ask(rows, y_true=[None] * 400, metrics="tpr")
    texts = [f"{note.message} ({note.code})" for note in result.warnings]
    assert [str(one.message) for one in caught] == texts and "(no_labels)" in texts[0]
    assert {one.filename for one in caught} == {asking.__file__}


def test_all_say_how_they_were_made(found):
    """The sections that a reader needs to trust it, and the same in the values."""
    keys = [section.key for section in found._document(full=True).sections]
    assert keys[0] == "verdict"
    assert {"rows", "diagnostics", "warnings", "assumptions", "limits", "reproduce"} <= {*keys}
    values = whole = found.to_dict()
    if "classes" in whole:
        values, *_ = whole["classes"].values()
    assert {"version", "settings", "data", "diagnostics", "warnings"} <= {*values}
    assert values["settings"]["seed"] == 1 and values["data"]["labeled"] == 60
    names = {"rhat_max", "ess_bulk_min", "ess_tail_min", "ok", "reason", "parameters"}
    names |= {"draws", "extended"}
    assert {*values["diagnostics"]} == names
    assert [note["code"] for note in whole["warnings"]] == [note.code for note in found.warnings]


def test_assess_is_that_of_the_core(rows):
    assert inspect.signature(lf.assess) == inspect.signature(core.assess)
    result = ask(rows, metrics="tpr")
    plain = asking.ask_quickly(rows, metrics="tpr")
    assert type(plain) is core.Assessment and isinstance(result, core.Assessment)
    assert result.to_dict() == plain.to_dict()
    options = {**QUICKEST, "metrics": "tpr", "rng": None}
    assert ask(rows, **options, random_state=1).to_dict() == plain.to_dict()
    drawn = [ask(rows, **options, random_state=np.random.RandomState(5)) for _ in range(2)]
    np.testing.assert_array_equal(*(one.draws("tpr") for one in drawn))
    assert type(replace(result, label_seed=1)) is lf.Assessment
    assert type(result.table + result.table) is lf.ScoreTable


def test_wrong_objects_are_named(rows):
    result, data = ask(rows, metrics="tpr"), {"y_score": [0.5], "sensitive_features": ["a"]}
    wanted = "result must be an Assessment, as assess returns; got "
    plots = (plot.groups, plot.differences, plot.posterior, plot.thresholds, plot.calibration)
    for function in (lf.plan_labels, lf.find_threshold, *plots):
        for wrong in (3, None, result.table, rows):
            with pytest.raises(TypeError, match=wanted + type(wrong).__name__):
                function(wrong, "tpr")
    for call, message in (
        (lambda: lf.choose_labels(result.table, 1, **data), f"{wanted}ScoreTable"),
        (lambda: lf.score_table(rows), "data must be a ScoreData, as score_data returns; got Sim"),
        (lambda: plot.plan(result), "plan must be a LabelPlan, as plan_labels returns; got Asse"),
        (lambda: plot.models(result, "tpr"), "must be a ModelComparison, as compare_models retu"),
        (lambda: tidy.rows(result.table), "result must be an Assessment or another .*; got ScoreT"),
        (lambda: lf.assess([1], rng=1, random_state=1), "give rng or random_state, not both: "),
    ):
        with pytest.raises(TypeError, match=message):
            call()
