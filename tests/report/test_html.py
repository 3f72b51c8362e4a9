"""HTML: valid, self-contained, and safe with any name."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from lightfair.core.data.messages import one_line
from lightfair.report import html
from lightfair.report.document import Cell, Document, Paragraph, Section, Table
from lightfair.report.figures import Picture
from lightfair.report.format import STATUS

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style></svg><b>",
    "]]>",
    "&amp;",
    "$x^2$ \\frac{",
    "bell\x07 new\nline \x1b[31m",
    "\u202eright to left",
    "نساء 😀",
    "\udc80 alone",
)
PICTURE = "data:image/svg+xml;base64,PHN2Zy8+"


class Reader(HTMLParser):
    """Tags in order with their attributes, and the text of the page without its style."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.text = [], [], ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "br", "hr", "img", "link", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += re.sub("[\u2068\u2069]", "", data)

    def all(self, *names):
        return [attrs for tag, attrs in self.tags if tag in names]


def document(name="A", sections=1):
    """A document with a name in every place that can hold one."""
    cells = (Cell(name), Cell("0.606 [0.552, 0.663]"), Cell("-", f"no labels in {name}"))
    table = Table((name, name, name), (cells, cells))
    blocks = [Paragraph(f"tpr of {name}", "finding"), table, Paragraph(name)]
    blocks += [Paragraph(f"tpr of {name}", "verdict", mark) for mark in STATUS]
    blocks.append(Paragraph(f"{name} has few labels", "warning", name))
    blocks.append(Paragraph(f"lightfair assess\n{name.replace(chr(10), '')}", "code"))
    return Document(name, (Section(name, name, tuple(blocks)),) * sections)


def strict(page):
    """Parse as a browser does; fail where it would have to guess."""
    pytest.importorskip("html5lib").HTMLParser(strict=True).parse(page)
    return Reader(page)


def closed_to_the_network(page):
    """Whether a page neither loads anything nor runs a script."""
    read = strict(page)
    assert not read.all("script", "link", "iframe", "object", "embed", "base", "form", "svg")
    for _, attrs in read.tags:
        assert not any(key.startswith("on") or key == "srcset" for key in attrs)
        assert attrs.get("href", "#").startswith("#")
        assert attrs.get("src", PICTURE).startswith("data:image/svg+xml;base64,")
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style and "@import" not in style
    policy = next(attrs["content"] for attrs in read.all("meta") if "http-equiv" in attrs)
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'unsafe-inline'; ")
    return read


@pytest.mark.parametrize("name", HOSTILE)
def test_names_stay_text(name):
    page = html.render(document(name, 5), {name: [Picture(PICTURE, name)]})
    plain = html.render(document("A", 5), {"A": [Picture(PICTURE, "A")]})
    read, expected = closed_to_the_network(page), closed_to_the_network(plain)
    one, two = ([(tag, *attrs) for tag, attrs in page.tags] for page in (read, expected))
    assert one == two
    part, other = (Reader(html.fragment(document(one, 2))) for one in (name, "A"))
    assert one_line(name) in read.text and one_line(name) in part.text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e\ud800-\udfff]", page)
    assert [tag for tag, _ in part.tags] == [tag for tag, _ in other.tags]


def test_a_page_has_headings_links_and_captions():
    read = Reader(html.render(document("A", 5), {"A": [Picture(PICTURE, "caption")]}))
    assert read.all("html")[0]["lang"] == "en"
    assert len(read.all("h1")) == 1 and len(read.all("h2")) == 5
    ids = [attrs["id"] for _, attrs in read.tags if "id" in attrs]
    assert [attrs["href"][1:] for attrs in read.all("a")] == ids and len(set(ids)) == 5
    assert len(read.all("caption")) == len(read.all("table")) == 5
    assert all("scope" in attrs for attrs in read.all("th"))
    assert [attrs["alt"] for attrs in read.all("img")] == ["caption"] * 5
    assert read.text.count("caption") == 5
    assert all(word in read.text for word in STATUS.values())
    assert read.text.count("no labels in A") == 5  # once per table
    assert "0.606 [0.552,\u00a00.663]" in read.text


def test_words_from_right_to_left_and_pages_without_plots():
    page = html.render(document("نساء ورجال, نساء 0.5"), {})
    assert "tpr of \u2068نساء ورجال\u2069, \u2068نساء\u2069 0.5</" in page
    assert "has no plots" in html.render(document(), None)
    assert "has no plots" not in html.render(document(), {})
    page = html.render(document(), {"A": [Picture(None, "too many groups")]})
    assert "<p>too many groups</p>" in page and "<figure" not in page


@pytest.mark.parametrize("sections", [3, 4, html.FOLDED - 1, html.FOLDED])
def test_sections_fold_and_of_many_those_of_metrics_begin_closed(sections):
    """A link leads into a section, so that following it opens the section; print shows all."""
    one = Section("rows", "Rows", (Paragraph("text"),))
    metrics = Document("x", (*document("tpr", sections - 1).sections, one))
    page = closed_to_the_network(html.render(metrics, {}))
    *folds, last = ["open" in attrs for attrs in page.all("details")]
    assert last and folds == [sections < html.FOLDED] * (sections - 1)
    at = [index for index, (tag, _) in enumerate(page.tags) if tag == "h2"]
    ids = [page.tags[index + 1][1]["id"] for index in at]
    assert [attrs["href"] for attrs in page.all("a")] == [f"#{i}" for i in ids] * (sections > 3)
    printed = html.PAGE.split("@media print")[1]
    assert "details::details-content{content-visibility:visible" in printed


def test_the_style_of_a_fragment_concerns_only_the_fragment():
    for rule in re.findall(r"([^{}]+)\{", html.STYLE):
        if not rule.strip().startswith("@media"):
            assert all(".lightfair" in selector for selector in rule.split(","))


@pytest.mark.parametrize("name", ["result", "nine", "plan", "found", "models"])
def test_pages_and_fragments_of_all_results(name, request):
    result = request.getfixturevalue(name)
    pictures = request.getfixturevalue("pictures") if name == "result" else {}
    report = result._document(full=True, command="lightfair assess x.csv --label y")
    page = closed_to_the_network(html.render(report, pictures))
    assert "lightfair assess x.csv --label y" in page.text
    titles = [section.title for section in report.sections]
    order = [page.text.rindex(title) for title in titles[-3:]]
    assert order == sorted(order) and len(page.all("h2")) == len(titles)
    part = Reader(result._repr_html_())
    assert part.all("table") and not part.all("img", "h1", "h2")
    assert not any("id" in attrs for _, attrs in part.tags)
    assert len(result._repr_html_()) < 20_000
