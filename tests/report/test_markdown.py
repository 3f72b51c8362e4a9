"""Markdown: a reader shows what the document says, whatever names are in it."""

from __future__ import annotations

import pytest

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
    "[0.100, 0.200](x) [0.1, 0.2]: z [0.1, 0.2]",
    "中文 🙂",
]


@pytest.fixture(scope="module")
def reader():
    """Parses Markdown as GitHub does; returns tokens."""
    markdown = pytest.importorskip("markdown_it")
    return markdown.MarkdownIt("gfm-like", {"linkify": False}).parse


def texts(tokens, kind):
    """Contents of the elements of a kind, which hold nothing but text."""
    found = []
    for opening, inline in zip(tokens, tokens[1:], strict=False):
        if opening.type == f"{kind}_open" and inline.type == "inline":
            assert {child.type for child in inline.children} <= {"text", "text_special"}
            found.append("".join(child.content for child in inline.children).strip())
    return found


def shown(*blocks, title="about"):
    return render(Document("A title", (Section("x", title, blocks),)))


@pytest.mark.parametrize("odd", ODD)
def test_names_are_shown_literally(reader, odd):
    rows = (Cell(odd), Cell("0.5 [0.4, 0.6]")), (Cell("x"), Cell("-", odd))
    source = shown(Table((odd, "value"), rows), Paragraph(odd), title=odd)
    assert "://" not in source and "www." not in source  # GitHub would make links of them
    tokens = reader(source)
    name = one_line(odd).strip()
    assert texts(tokens, "heading") == ["A title", name]
    assert texts(tokens, "th") == [name, "value"]
    assert texts(tokens, "td") == [name, "0.5 [0.4, 0.6]", "x", "- [1]"]
    assert texts(tokens, "paragraph") == [f"[1] {name}", name]
    listed = reader(shown(Paragraph(odd), Paragraph("y")))
    assert texts(listed, "paragraph") == [name, "y"]
    assert [token.type for token in listed].count("bullet_list_open") == 1


@pytest.mark.parametrize("code", ["lightfair assess x.csv", "a = '```' b = `````", "<b>&amp;"])
def test_code_is_fenced(reader, code):
    tokens = reader(shown(Paragraph(code, "code", "sh")))
    (fence,) = [token for token in tokens if token.type == "fence"]
    assert (fence.content, fence.info) == (f"{code}\n", "sh")


@pytest.mark.parametrize("name", ["result", "nine", "plan", "found", "models"])
def test_markdown_of_all_results_has_all_sections(name, reader, request):
    result = request.getfixturevalue(name)
    headings = texts(reader(result.to_markdown()), "heading")
    titles = [section.title for section in result._document(full=True).sections]
    last = ["Assumptions", "When not to trust it", "How to reproduce it"]
    assert headings[1:] == titles and headings[-3:] == last
