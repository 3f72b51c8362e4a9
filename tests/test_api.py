"""Results: all of them have all forms, made once; a copy of the package without some says so."""

from __future__ import annotations

import csv
import importlib
import inspect
import io
import json
import pickle
import sys

import pytest
from results import QUICKEST
from results import ask_quickly as ask

import lightfair as lf
from lightfair.api import Result
from lightfair.interop import tidy
from lightfair.report.document import Document

FORMS = ("to_csv", "to_dataframe", "to_markdown", "to_html", "_repr_html_", "__str__")
KINDS = {
    "assessment": lambda result, rows: result,
    "plan": lambda result, rows: lf.plan_labels(result, "tpr", 0.2, refits=0),
    "search": lambda result, rows: lf.find_threshold(result, "tpr"),
    "models": lambda result, rows: lf.compare_models(
        {"old": rows.y_score, "new": rows.y_score**2},
        rows.y_true,
        sensitive_features=rows.group,
        metrics="tpr",
        **QUICKEST,
    ),
}


@pytest.fixture(scope="module", params=KINDS)
def found(request, rows):
    return KINDS[request.param](ask(rows, metrics="tpr"), rows)


def test_forms_are_written_once():
    names = {"Assessment", "LabelPlan", "ModelComparison", "FoundThresholds"}
    for home in lf._HOMES:
        importlib.import_module(f"{lf.__name__}.{home}")
    assert {kind.__name__ for kind in Result.__subclasses__()} == names & {*lf.__all__}
    for kind in Result.__subclasses__():
        assert not {*FORMS} & {*vars(kind)} and not inspect.isabstract(kind)


def test_every_form_of_every_result(found):
    text = str(found)
    assert text and text == str(pickle.loads(pickle.dumps(found)))
    assert found._repr_html_().startswith('<div class="lightfair">')
    page, card = found.to_html(command="lightfair x"), found.to_markdown(command="lightfair x")
    assert page.startswith("<!DOCTYPE html>\n") and card.startswith("# ")
    assert "lightfair x" in page and "lightfair x" in card
    back = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert len(back) == len(tidy.rows(found)) and back[0]["metric"] == "tpr"
    assert found.to_csv(spreadsheet=True).startswith("\ufeff")
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert isinstance(found._document(), Document)
    assert len(repr(found)) < 200 and "\n" not in repr(found)


def test_all_say_how_they_were_made(found):
    """The sections that a reader needs to trust it, and the same in the values."""
    keys = [section.key for section in found._document(full=True).sections]
    assert keys[0] == "verdict"
    assert {"rows", "diagnostics", "warnings", "assumptions", "limits", "reproduce"} <= {*keys}
    values = found.to_dict()
    assert {"version", "settings", "data", "diagnostics", "warnings"} <= {*values}
    assert values["settings"]["seed"] == 1 and values["data"]["labeled"] == 60
    names = {"rhat_max", "ess_bulk_min", "ess_tail_min", "ok", "reason", "draws", "extended"}
    assert {*values["diagnostics"]} == names
    assert [note["code"] for note in values["warnings"]] == [note.code for note in found.warnings]


def absent(monkeypatch, *modules):
    """As in a copy of the package that was made without them."""
    for name in modules:
        monkeypatch.setitem(sys.modules, f"{lf.__name__}.{name}", None)


@pytest.mark.parametrize(
    "form, module",
    [
        ("to_html", "html"),
        ("to_markdown", "markdown"),
        ("to_csv", "tidy"),
        ("to_dataframe", "frames"),
        ("__str__", "text"),
    ],
)
def test_a_form_that_a_copy_lacks_says_which_module_it_needs(form, module, found, monkeypatch):
    absent(monkeypatch, module)
    with pytest.raises(ModuleNotFoundError) as raised:
        getattr(found, form)()
    assert raised.value.name == f"{lf.__name__}.{module}" and module in str(raised.value)


@pytest.mark.parametrize(
    "modules", [["html"], ["report", "paired_report", "plan_report", "search_report"]]
)
def test_a_notebook_shows_text_where_a_copy_lacks_html(modules, found, monkeypatch):
    absent(monkeypatch, *modules)
    assert found._repr_html_() is None
    assert repr(found).startswith("<")


def test_a_broken_installation_is_no_copy(found, monkeypatch):
    """What lacks is not a part of the package: a notebook is to show the error."""

    def broken(*_, **__):
        raise ModuleNotFoundError("No module named 'numpy.core'", name="numpy.core")

    monkeypatch.setattr(type(found), "_document", broken)
    with pytest.raises(ModuleNotFoundError, match=r"numpy\.core"):
        found._repr_html_()
