"""Markdown: what a reader of it shows is what the document says, whatever is in it."""

from __future__ import annotations

import re

import pytest
from results import QUICKEST

import lightfair as lf
from lightfair.core.data.messages import one_line
from lightfair.report.document import Cell, Document, Paragraph, Section, Table
from lightfair.report.markdown import render

ODD = [
    "a|b",
    "*x* _y_ __z__ snake_case ~~gone~~",
    "`code` ``more``",
    "<b>bold</b> <script>alert(1)</script> &amp; &lt;",
    "[link](http://example.org) ![image](x.png) [ref]: y",
    "http://example.org www.example.org",
    "# heading #",
    "1. one",
    "12) twelve",
    "- item",
    "+ item",
    "= rule",
    "> quote",
    "***",
    "$x^2$ \\( y \\) \\",
    "two\nlines\r\tand \x1b[31m",
    "  blanks  inside  ",
    "[0.100, 0.200](x) [0.1, 0.2]: z [0.1, 0.2]",
    "中文 🙂",
    "",
]


def shown(text):
    """What a text is on a page: without control characters, blanks kept."""
    return one_line(text)


@pytest.fixture(scope="module")
def reader():
    """Reads Markdown as GitHub does; returns tokens."""
    markdown = pytest.importorskip("markdown_it")
    return markdown.MarkdownIt("gfm-like", {"linkify": False}).parse


def said(inline):
    """The text of an inline token, where nothing but text is allowed."""
    assert {child.type for child in inline.children} <= {"text", "text_special"}
    return "".join(child.content for child in inline.children).replace("\xa0", " ")


def texts(tokens, kind):
    """What stands in elements of a kind."""
    return [
        said(inline)
        for opening, inline in zip(tokens, tokens[1:], strict=False)
        if opening.type == f"{kind}_open" and inline.type == "inline"
    ]


def one(*blocks, title="about"):
    return render(Document("A title", (Section("x", title, blocks),)))


@pytest.mark.parametrize("odd", ODD)
def test_cells_say_what_they_hold(reader, odd):
    table = Table(
        (odd, "value"), ((Cell(odd), Cell("0.5 [0.4, 0.6]")), (Cell("x"), Cell("-", odd)))
    )
    tokens = reader(one(table))
    assert [t.strip() for t in texts(tokens, "th")] == [shown(odd).strip(), "value"]
    cells = texts(tokens, "td")
    assert cells[0].strip() == shown(odd).strip()
    assert cells[1:] == ["0.5 [0.4, 0.6]", "x", "- [1]"]
    assert texts(tokens, "paragraph")[-1].strip() == f"[1] {shown(odd)}".strip()


@pytest.mark.parametrize("odd", ODD)
def test_sentences_say_what_they_hold(reader, odd):
    tokens = reader(one(Paragraph(odd), title=odd or "about"))
    assert texts(tokens, "heading")[1].strip() == shown(odd or "about").strip()
    assert [p.strip() for p in texts(tokens, "paragraph")] == [shown(odd).strip()] * bool(odd)
    listed = reader(one(Paragraph(odd or "x"), Paragraph("y")))
    assert [p.strip() for p in texts(listed, "paragraph")] == [shown(odd or "x").strip(), "y"]
    assert [t.type for t in listed].count("bullet_list_open") == 1


@pytest.mark.parametrize("code", ["lightfair assess x.csv", "a = '```'\nb = `````", "<b>\n\n&amp;"])
def test_code_is_shown_as_it_is(reader, code):
    tokens = reader(one(Paragraph(code, "code", "sh")))
    (fence,) = [token for token in tokens if token.type == "fence"]
    assert (fence.content, fence.info) == (f"{code}\n", "sh")


def test_the_source_can_be_read_too():
    rows = ((Cell("false_discovery_rate"), Cell("0.5 [0.4, 0.6]")),)
    text = one(Table(("metric", "value"), rows), Paragraph("tpr is higher", "finding"))
    assert "| false_discovery_rate | 0.5 [0.4, 0.6] |" in text
    assert text.startswith("# A title\n\n## about\n\n| metric | value |\n| :--- | ---: |\n")
    assert text.endswith("|\n\ntpr is higher\n")


def test_verdicts_and_warnings():
    text = one(
        Paragraph("tpr<=0.1: A and B.", "verdict", "insufficient"),
        Paragraph("fpr<=0.1: A and B.", "verdict", "pass"),
        Paragraph("label more", "warning", "few_labels"),
    )
    assert "- **Insufficient evidence**: tpr&lt;=0.1: A and B.\n- **Pass**: fpr" in text
    assert "\n\n**Warning** (few_labels): label more\n" in text


@pytest.fixture(scope="module")
def asked(rows):
    own = lf.Metric("missed", lambda tp, fp, fn, tn: fn / (tp + fp + fn + tn), bounds=(0, 1))
    return lf.assess(
        rows.y_true,
        rows.y_score,
        sensitive_features=rows.group,
        metrics=["tpr", own],
        checks="tpr<=0.1",
        threshold={"A": 0.4, "B": 0.5},
        prior=lf.Prior().scaled(2.0),
        trust=lf.Trust(omega_sd=0.2),
        prob=0.9,
        epsilon=0.1,
        **QUICKEST,
    )


def test_a_model_card_has_its_parts_in_order(asked, reader):
    text = asked.to_markdown()
    assert texts(reader(text), "heading") == [
        "Fairness by group",
        "Verdict",
        "Rows",
        "tpr",
        "missed",
        "Criteria",
        "Diagnostics",
        "Warnings",
        "What was assumed",
        "When not to trust it",
        "How to reproduce it",
    ]
    for part in (
        "**Insufficient evidence**: tpr&lt;=0.1: ",
        "the metric these rows would show if all were labeled (target sample)",
        "random sample of its rows",
        "mu_a_sd 0.8",
        "omega_sd 0.2",
        "**Warning** (not_converged): ",
        f"| lightfair | {lf.__version__} |",
        "| seed | 1 |",
        "each a lightfair.Metric: missed",
    ):
        assert part in text, part
    assert "\nlightfair assess 'x y.csv'\n" in asked.to_markdown("lightfair assess 'x y.csv'")


def test_the_call_makes_it_again(rows, asked):
    code = re.search(r"```python\n(.*?)\n```", asked.to_markdown(), re.DOTALL)[1]
    code = code.replace("sensitive_features=...", "sensitive_features=group")
    code = code.replace("'missed'", "own").replace("lightfair.assess(", "again = lightfair.assess(")
    names = {
        "y_true": rows.y_true,
        "y_score": rows.y_score,
        "group": rows.group,
        "own": asked.settings.own_metrics[0],
    }
    exec(code, names)
    assert names["again"].to_dict() == asked.to_dict()
    assert names["again"].to_markdown() == asked.to_markdown()


@pytest.mark.parametrize("threshold", [[0.5, 0.3, 0.7], "all", None])
def test_the_call_of_thresholds_and_decisions(rows, threshold):
    given = {"y_pred": rows.y_score > 0.4} if threshold is None else {"threshold": threshold}
    result = lf.assess(
        rows.y_true, rows.y_score, sensitive_features=rows.group, metrics="tpr", **given, **QUICKEST
    )
    text = result.to_markdown()
    assert ("y_pred=..." in text) == (threshold is None)
    assert threshold is None or f"    threshold={threshold!r},\n" in text


def test_no_seed_is_said(rows):
    run = {name: QUICKEST[name] for name in ("chains", "draws", "warmup")}
    result = lf.assess(
        rows.y_true, rows.y_score, sensitive_features=rows.group, metrics="tpr", **run
    )
    text = result.to_markdown()
    assert "| seed | not known |" in text and "No seed is known" in text and "    rng=" not in text


def test_plans_and_comparisons(rows, reader):
    result = lf.assess(
        rows.y_true, rows.y_score, sensitive_features=rows.group, metrics="tpr", **QUICKEST
    )
    plan = lf.plan_labels(result, "tpr", 0.2, refits=0, rng=7)
    text = plan.to_markdown()
    assert text.startswith("# Plan for tpr: 60 rows have labels, 340 can get one\n\n## Verdict\n")
    code = re.search(r"```python\n(.*?)\n```", text, re.DOTALL)[1]
    code = code.replace("sensitive_features=...", "sensitive_features=group")
    names = {"y_true": rows.y_true, "y_score": rows.y_score, "group": rows.group}
    exec(code.replace("lightfair.plan_labels(", "again = lightfair.plan_labels("), names)
    assert names["again"].to_dict() == plan.to_dict()
    assert "±" not in text and "forecast alone" in text and "(target sample)" in text
    assert "not_converged" in text.split("## Verdict")[1].split("\n## ")[0]
    refitted = lf.plan_labels(result, "tpr", 0.2, extra=[20], refits=2, rng=7).to_markdown()
    assert "from 2 refits for each number" in refitted and "forecast alone" not in refitted
    scores = {"old": rows.y_score, "new": rows.y_score**2}
    found = lf.compare_models(
        scores, rows.y_true, sensitive_features=rows.group, metrics="tpr", **QUICKEST
    )
    text = found.to_markdown()
    assert texts(reader(text), "heading")[:2] == ["Fairness of old and new", "Verdict"]
    for said in (
        "Labels only",
        "labels only",
        "rediction-powered",
        "counts as small",
        "Each group",
    ):
        assert said not in text  # they are of other reports
    assert "mean of those of the models' scores" in text and "When not to trust it" in text
    verdict, tpr = text.split("## Verdict")[1], text.split("## tpr")[1]
    assert "warnings below: " in verdict.split("\n## ")[0]
    assert "share of the positive rows that are decided positive" in tpr.split("\n## ")[0]
    assert "share of the positive rows" not in str(found)
    code = re.search(r"```python\n(.*?)\n```", text, re.DOTALL)[1]
    code = code.replace("{'old': ..., 'new': ...}", "scores").replace("=...", "=group")
    names = {"scores": scores, "y_true": rows.y_true, "group": rows.group}
    exec(code.replace("lightfair.compare_models(", "again = lightfair.compare_models("), names)
    assert names["again"].to_dict() == found.to_dict()


def test_weights_and_chances_of_labels_are_said(rows):
    result = lf.assess(
        rows.y_true,
        rows.y_score,
        sensitive_features=rows.group,
        sample_weight=[1.0, 2.0] * 200,
        label_prob=[0.15] * 400,
        metrics="tpr",
        **QUICKEST,
    )
    text = result.to_markdown()
    call = "y_true, y_score, sensitive_features=..., sample_weight=..., label_prob=...,\n"
    assert call in text and "chosen with the chances given as label_prob" in text
    assert "random sample of its rows" not in text
