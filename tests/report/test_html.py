"""The HTML report: valid, closed to the network, and safe with any name."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import numpy as np
import pytest
from results import ask_quickly as ask

import lightfair as lf
from lightfair.core.data.messages import one_line
from lightfair.report import figures, html
from lightfair.report.assessment import document as document_of
from lightfair.report.document import Cell, Document, Paragraph, Section, Table
from lightfair.report.format import STATUS
from lightfair.report.svg import Picture

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
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """Tags in order with their attributes, and the text of the page without its style."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.text = [], [], ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += re.sub("[\u2068\u2069]", "", data)

    def all(self, *names):
        return [(tag, attrs) for tag, attrs in self.tags if tag in names]


def document(name="A", sections=1):
    """A document in which a name is everywhere that a name can be."""
    cells = (Cell(name), Cell("0.606 [0.552, 0.663]"), Cell("-", f"no labels in {name}"))
    table = Table((name, name, name), (cells, cells))
    blocks = [Paragraph(f"tpr of {name}", "finding"), table, Paragraph(name)]
    blocks += [Paragraph(f"tpr of {name}", "verdict", mark) for mark in STATUS]
    blocks.append(Paragraph(f"{name} has few labels", "warning", name))
    blocks.append(Paragraph(f"lightfair assess\n{name.replace(chr(10), '')}", "code"))
    return Document(name, (Section(name, name, tuple(blocks)),) * sections)


@pytest.fixture(scope="module")
def result(rows):
    return ask(
        rows,
        metrics=["tpr", "selection_rate"],
        threshold=[0.5, 0.3],
        checks=["tpr<=0.9", "selection_rate<=0.001"],
    )


def hostile_names(rows):
    """The groups of rows by other names, each of them as long as it is hostile."""
    names = [HOSTILE[i] + HOSTILE[i + 1] for i in range(0, len(HOSTILE) - 1, 2)]
    return np.array(names)[np.random.default_rng(1).integers(0, len(names), len(rows.group))]


def strict(page):
    """Parse as a browser does, and fail where it would have to guess."""
    html5lib = pytest.importorskip("html5lib")
    return html5lib.HTMLParser(strict=True).parse(page)


@pytest.mark.parametrize("name", ["A", *HOSTILE])
def test_a_page_is_valid_and_names_stay_text(name):
    page = html.render(document(name, 5), {name: [Picture("<svg></svg>", name)]})
    strict(page.replace("\udc80", ""))
    assert "\udc80" not in page  # so that it can be written
    read, plain = (
        Reader(page),
        Reader(html.render(document("A", 5), {"A": [Picture("<svg></svg>", "A")]})),
    )
    assert not read.open
    names = [[(tag, sorted(attrs)) for tag, attrs in one.tags] for one in (read, plain)]
    assert names[0] == names[1]
    assert one_line(name) in read.text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", page)


@pytest.mark.parametrize("name", ["A", *HOSTILE])
def test_a_fragment_too(name):
    part = html.fragment(document(name, 2))
    read = Reader(part)
    assert not read.open
    assert {tag for tag, _ in read.tags} <= {
        *("div", "style", "p", "strong", "table", "caption", "thead", "tbody", "tr", "th", "td"),
        *("span", "sup", "code", "pre", "ul", "li"),
    }
    assert one_line(name) in read.text


def test_nothing_is_loaded_and_nothing_runs():
    page = html.render(document(), {"A": [Picture("<svg></svg>", "A")]})
    read = Reader(page)
    assert not read.all("script", "link", "img", "iframe", "object", "embed", "base", "form")
    for _, attrs in read.tags:
        assert not any(key.startswith("on") or key in ("src", "srcset") for key in attrs)
        assert attrs.get("href", "#").startswith("#")
    assert "url(" not in page and "@import" not in page
    policy = next(a["content"] for _, a in read.tags if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_what_a_page_needs():
    read = Reader(html.render(document("A", 5), {}))
    tags = dict(read.tags)
    assert tags["html"]["lang"] == "en"
    assert any(attrs.get("name") == "viewport" for _, attrs in read.all("meta"))
    heads = [tag for tag, _ in read.all("h1", "h2", "h3")]
    assert heads == ["h1", *["h2"] * 5]
    ids = [attrs["id"] for _, attrs in read.tags if "id" in attrs]
    assert len(ids) == len(set(ids)) == 5
    for _, attrs in read.tags:
        assert attrs.get("href", f"#{ids[0]}")[1:] in ids
        assert attrs.get("aria-labelledby", ids[0]) in ids
    assert len(read.all("caption")) == len(read.all("table"))
    assert all("scope" in attrs for _, attrs in read.all("th"))


def test_a_status_is_said_in_words():
    text = Reader(html.render(document(), {})).text
    assert all(word in text for word in STATUS.values())


def test_what_follows_on_a_name_from_right_to_left_stays_behind_it():
    page = html.render(document("نساء ورجال"), {})
    assert "tpr of \u2068نساء ورجال\u2069</" in page
    assert html.escaped("نساء, رجال 0.5") == "\u2068نساء\u2069, \u2068رجال\u2069 0.5"
    assert html.escaped("women, men 0.5") == "women, men 0.5"


def test_a_dash_has_its_reason_below_the_table_once():
    text = Reader(html.render(document(), {})).text
    assert text.count("no labels in A") == 1


def test_of_many_findings_the_last_is_shown_and_others_wait():
    found = tuple(Paragraph(f"finding {i}", "finding") for i in range(html.SAID + 1))
    few, many = (
        html.render(Document("D", (Section("s", "S", blocks),)), {})
        for blocks in ((Table(("a",), ()), *found[1:]), (Table(("a",), ()), *found))
    )
    assert "<details>" not in few and few.count("<li>finding") == html.SAID
    assert many.index(f"finding {html.SAID}") < many.index("<details>") < many.index("finding 0")
    assert many.index(f"finding {html.SAID - 1}") < many.index("</details>") < many.index("<table")


def test_a_wide_table_is_cut_into_several():
    width = 2 * html.ACROSS
    head = tuple(f"c{i}" for i in range(width))
    table = Table(head, (tuple(Cell(f"v{i}") for i in range(width)),))
    read = Reader(html.render(Document("wide", (Section("s", "S", (table,)),)), {}))
    assert len(read.all("table")) == 3
    assert [text for text in re.findall("v[0-9]+", read.text) if text != "v0"] == [
        f"v{i}" for i in range(1, width)
    ]
    assert len(read.all("td")) == width - 1


def test_without_plots_the_page_says_so():
    assert "has no plots" in html.render(document(), None)
    assert "has no plots" not in html.render(document(), {})


def test_every_rule_of_a_fragment_is_about_the_fragment():
    for rule in re.findall(r"([^{}]+)\{", html.STYLE):
        if not rule.strip().startswith("@media"):
            assert all(".lightfair" in one for one in rule.split(","))


def _luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(c + c for c in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255.0 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one, two):
    low, high = sorted([_luminance(one), _luminance(two)])
    return (high + 0.05) / (low + 0.05)


def test_text_stands_out_from_every_ground():
    found = re.findall(r"[{;](color|background):(#[0-9a-f]+)", html.STYLE)
    colours = {c for key, c in found if key == "color"} - {"#fff"}
    grounds = {c for key, c in found if key == "background"}
    dark = {c for c in grounds if _luminance(c) < 0.2}
    assert len(colours) > 4 and len(grounds - dark) > 3 and dark
    assert min(_contrast(c, g) for c in colours for g in grounds - dark) >= 4.5
    assert min(_contrast("#fff", ground) for ground in dark) >= 4.5


def test_an_assessment_as_a_page(result):
    pytest.importorskip("matplotlib")
    page = result.to_html(command="lightfair assess x.csv --label y")
    strict(page)
    read = Reader(page)
    assert [tag for tag, _ in read.all("h1", "h2")][:2] == ["h1", "h2"]
    assert read.text.index("Verdict") < read.text.index("tpr")
    assert "lightfair assess x.csv --label y" in read.text
    ids = [attrs["id"] for _, attrs in read.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    for _, attrs in read.tags:
        used = re.findall(r"url\(#([^)]+)\)", attrs.get("clip-path", "") + attrs.get("style", ""))
        used += attrs.get("aria-labelledby", "").split()
        used += [attrs["href"][1:]] if "href" in attrs else []
        assert set(used) <= set(ids)
    pictures = read.all("svg")
    assert len(pictures) == 3 + 2 + 2 + 2  # tpr; selection_rate, exact; by threshold; calibration
    assert all(attrs["role"] == "img" for _, attrs in pictures)
    assert len(read.all("title")) == len(pictures) + 1
    assert len(read.all("desc")) == len(read.all("figcaption")) == len(pictures)
    assert "<style" in page and page.count("<style") == 1  # none of a picture
    for entry in result.to_dict()["metrics"]["tpr"]["groups"]:
        told = re.findall(rf"{entry['name']} {entry['mean']:.3f} \[", page)
        assert told  # in words for those who do not see the picture


@pytest.mark.parametrize("there", [True, False])
def test_a_report_says_what_it_was_made_with(result, there, monkeypatch):
    """Versions of what numbers depend on, asked of the packages: any installation has its own."""
    if there:
        numba = pytest.importorskip("numba").__version__
    else:
        monkeypatch.setitem(sys.modules, "numba", None)
        numba = "not available"
    python = ".".join(map(str, sys.version_info[:3]))
    made = (
        ("lightfair", lf.__version__),
        ("Python", python),
        ("numpy", np.__version__),
        ("numba", numba),
        ("seed", "1"),
    )
    section = next(s for s in document_of(result, full=True).sections if s.key == "reproduce")
    table = next(block for block in section.blocks if isinstance(block, Table))
    assert [tuple(cell.text for cell in row) for row in table.rows] == [*made]
    text = Reader(result.to_html()).text
    assert all(f"{name}{value}" in text for name, value in made)
    assert all(f"| {name} | {value} |" in result.to_markdown() for name, value in made)


def test_the_verdict_comes_first_and_says_how_many_pass(result):
    read = Reader(html.render(document_of(result, full=True), {}))
    told = read.text[read.text.index("Of 2 checks") :]  # the chains are too short to pass
    assert told.startswith("Of 2 checks 1 fails and 1 lacks evidence.")
    order = [told.index(word) for word in ("Insufficient evidence", "Fail", "A check passes where")]
    assert order == sorted(order)


def test_the_same_result_gives_the_same_bytes_whatever_the_style(rows):
    matplotlib = pytest.importorskip("matplotlib")
    result = ask(rows, metrics="tpr")
    page = result.to_html()
    with matplotlib.rc_context({"axes.facecolor": "black", "svg.fonttype": "path"}):
        before = dict(matplotlib.rcParams)
        assert result.to_html() == page
        assert dict(matplotlib.rcParams) == before


def test_threads_draw_one_at_a_time(rows):
    matplotlib = pytest.importorskip("matplotlib")
    result = ask(rows, metrics="selection_rate")
    before = dict(matplotlib.rcParams)
    page = result.to_html()
    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(lambda _: result.to_html(), range(4))) == {page}
    assert dict(matplotlib.rcParams) == before


def test_hostile_names_in_a_whole_page(rows):
    pytest.importorskip("matplotlib")
    result = ask(rows, group=hostile_names(rows), metrics="tpr", checks=["tpr<=0.1"])
    page = result.to_html(command=HOSTILE[0])
    strict(page)
    read = Reader(page)
    assert not read.open
    assert not read.all("script", "img", "b")
    assert not any(key.startswith("on") for _, attrs in read.tags for key in attrs)
    assert all(one_line(name) in read.text for name in result.groups)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e\ud800-\udfff]", page)
    read = Reader(result._repr_html_())
    assert not read.open and not read.all("script", "img", "b")


def test_twenty_groups_are_no_megabyte(rows):
    pytest.importorskip("matplotlib")
    names = np.array([f"group {i}, of a name that is rather long" for i in range(20)])
    group = names[np.random.default_rng(1).integers(0, 20, len(rows.group))]
    page = ask(rows, group=group, metrics="tpr").to_html()
    assert page.count("<svg") == 3 + figures.CALIBRATED
    assert f"{figures.CALIBRATED} of 20 groups" in page
    assert len(page.encode()) < 400_000


def test_one_group_and_too_many_for_a_picture(rows):
    pytest.importorskip("matplotlib")
    one = ask(rows, group=["A"] * len(rows.group), metrics="tpr")
    assert [len(pictures) for pictures in figures.of_assessment(one).values()] == [1, 1]
    many = np.arange(len(rows.group)) % (figures.MOST_ROWS + 1)
    found = figures.of_assessment(ask(rows, group=many, metrics="tpr"))
    assert [picture.svg for picture in found["tpr"]] == [None]
    assert "too many" in found["tpr"][0].caption


def test_without_matplotlib_there_are_no_plots(rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert not figures.available()
    page = ask(rows, metrics="tpr").to_html()
    assert "has no plots" in page and "<svg" not in page


def test_what_a_notebook_shows(result):
    part = result._repr_html_()
    read = Reader(part)
    assert not read.open and len(read.all("table")) > 2
    assert not read.all("svg", "h1", "h2") and not any("id" in attrs for _, attrs in read.tags)
    assert len(part) < 20_000
    assert "2 groups" in repr(result) and len(repr(result)) < 200


def test_a_plan_and_a_comparison_of_models(rows):
    pytest.importorskip("matplotlib")
    result = ask(rows, metrics="tpr")
    plan = lf.plan_labels(result, "tpr", 0.1, refits=0)
    models = lf.compare_models(
        {"old": rows.y_score, "<b>new</b>": rows.y_score**1.5},
        rows.y_true,
        sensitive_features=rows.group,
        metrics=["tpr", "accuracy"],
        chains=4,
        draws=10,
        warmup=30,
        rng=1,
    )
    for one, pictures in ((plan, 1), (models, 2)):
        page = one.to_html()
        strict(page)
        assert page.count("<svg") == pictures
        assert not Reader(page).all("b")
        assert not Reader(one._repr_html_()).open
        assert len(repr(one)) < 200


def test_a_browser_shows_it_and_complains_of_nothing(rows, tmp_path):
    pytest.importorskip("matplotlib")
    browser = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None
    )
    if browser is None:
        pytest.skip("there is no Chromium")
    result = ask(rows, group=hostile_names(rows), metrics="tpr", checks=["tpr<=0.1"])
    page = result.to_html()
    blocked = '<img src="https://example.org/x.png"><script>document.body.remove()</script></main>'
    said = {}
    for name, text in (("page", page), ("blocked", page.replace("</main>", blocked))):
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
        options = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr")
        offline = ("--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path}/browser")
        command = [browser, *options, *offline, "--dump-dom", f"file://{tmp_path}/{name}.html"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.stdout.count("<svg") == page.count("<svg")
        said[name] = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not said["page"]
    assert len(said["blocked"]) == 2  # the policy lets neither the picture nor the script in
    assert all("Content Security Policy" in line for line in said["blocked"])
