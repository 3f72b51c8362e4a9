"""Text: as wide as the terminal, and nothing is lost but the middle of long names."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from results import ask_quickly

import lightfair as lf
from lightfair.core.data.messages import number, one_line
from lightfair.report.assessment import document
from lightfair.report.document import Cell, Document, Paragraph, Section, Table
from lightfair.report.text import render, shortened

NAMES = {
    "longer": [f"{i:02d} a group with a rather long name" + "x" * 120 for i in range(8)],
    "wide": [f"很长的中文名字第{i}个🙂" for i in range(8)],
    "odd": [f"\x1b[3{i}m\n\t[1, 2] {i} %" for i in range(8)],
}


def squeezed(text):
    return re.sub(r"\s", "", text)


def fits(text, width=80):
    return all(len(line) <= width and line == line.rstrip(" ") for line in text.split("\n"))


def shown(*blocks, title="", width=80):
    return render(Document("", (Section("x", title, blocks),)), width)


def random_text(source, most):
    alphabet = source.choice(["ab ", "abcdefgh", "中文 a", "é-", "[0.1, ]", "\x00\n\\"])
    return "".join(source.choice(alphabet) for _ in range(source.randint(0, most)))


def random_cell(source):
    value = source.uniform(-1.0, 1.0)
    interval = f"{value:.3f} [{value - 1:.3f}, {value + 1:.3f}]"
    return source.choice(
        [
            Cell("-", f"because of {random_text(source, 60)}"),
            Cell(f"{value:.3f} {random_text(source, 50)}".strip()),
            *map(Cell, (interval, f"{value:.3f} (exact)", "<0.001")),
        ]
    )


@pytest.mark.parametrize("seed", range(60))
def test_any_table_fits_and_is_complete(seed):
    source = random.Random(seed)
    most, size = source.choice([5, 20, 200]), source.randint(1, 9)
    head = tuple(random_text(source, most) for _ in range(size + 1))
    rows = tuple(
        (Cell(random_text(source, most)), *(random_cell(source) for _ in range(size)))
        for _ in range(source.randint(0, 6))
    )
    width = source.choice([40, 80, 120, 200])
    text = shown(Table(head, rows), title=source.choice(["", "tpr"]), width=width)
    assert fits(text, width)
    whole = squeezed(text)
    for part in (*one_line(head[0]).split(), *(row[0].text for row in rows)):
        name = squeezed(one_line(part))
        assert name in whole or (name[:1] in whole and "…" in whole)
    for cell in (cell for row in rows for cell in row):
        assert cell.why is None or squeezed(one_line(cell.why)) in whole
    numbers = re.compile(r"(?<![\d.])-?\d\.\d{3}(?!\d)")
    expected = [n for row in rows for cell in row[1:] for n in numbers.findall(cell.text)]
    for value in expected:
        assert text.count(value) >= expected.count(value)


def test_the_title_of_names_is_wrapped_and_not_shortened():
    cells = (Cell("Female"), Cell("0.093 [0.034, 0.139]"), Cell("0.081 [-0.015, 0.170]"))
    text = shown(Table(("minus Male", "lightfair", "labels only"), (cells,)), width=52)
    assert squeezed(text).startswith("minuslightfairlabelsonlyMaleFemale0.093")


@pytest.mark.parametrize("seed", range(20))
def test_any_paragraph_fits_and_is_complete(seed):
    source = random.Random(seed)
    words = " ".join(random_text(source, source.choice([8, 100])) for _ in range(30))
    for role, mark in (("plain", ""), ("finding", ""), ("verdict", "fail"), ("warning", "misfit")):
        section = Section("x", "about", (Paragraph(words, role, mark),))
        width = source.choice([40, 80, 200])
        text = render(Document(words, (section,)), width)
        assert fits(text, min(width, 102))
        assert squeezed(text).count(squeezed(one_line(words))) == 2


def test_lines_break_between_words_but_not_within_intervals():
    words = "the metric is 0.5 with an interval of [0.25, 0.75] and 95 % of all " * 9
    lines = shown(Paragraph(words)).split("\n")
    assert len(lines) > 5 and "\n".join(lines).count("95 %") == 9
    assert "\n".join(lines).count("[0.25, 0.75]") == 9
    assert shown(Paragraph("a" * 100)) == "a" * 80 + "\n  " + "a" * 20


@pytest.mark.parametrize("columns, width", [("", 80), ("60", 60), ("7", 40), ("999", 200)])
def test_the_text_is_as_wide_as_the_terminal(columns, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    cells = tuple(Cell(f"0.{at:03d} [0.000, 1.000]") for at in range(9))
    text = render(Document("", (Section("x", "", (Table(("",) * 10, ((Cell("a"), *cells),)),)),)))
    assert width - 31 < max(map(len, text.split("\n"))) <= width
    prose = render(Document("", (Section("x", "", (Paragraph("word " * 99),)),)))
    assert min(width, 100) - 5 < max(map(len, prose.split("\n"))) <= min(width, 100)


def test_a_name_stays_on_its_line_and_loses_its_middle():
    names = ["African-American, Female", "African-American, Male", "Asian"]
    cell = Cell("-0.100 [-0.200, -0.001]")
    rows = tuple((Cell(name), cell, cell, Cell("0.5")) for name in names)
    lines = shown(Table(("minus White, Male", "a", "b", "P(|diff| < 0.05)"), rows)).split("\n")
    assert [line[:20].rstrip(" ") for line in lines] == [
        *("minus White, Male", "", "African-Am…n, Female", "African-Am…can, Male", "Asian")
    ]
    alike = [f"one name of {i} very long ones" for i in range(30)]
    short = shortened([*alike, "x", "x"], 9)
    assert len({*short}) == 31 and max(map(len, short)) == 9 and short[0] == "one …ones"


def test_numbers_and_names_are_aligned():
    cells = ["0.123 [0.100, 0.200]", "-0.123 [-0.300, 0.100]", "1.000 (exact)", "<0.001"]
    names = ("中文", "abcd", "x", "y")
    rows = [(Cell(name), Cell(text)) for name, text in zip(names, cells, strict=True)]
    text = shown(Table(("n", "value"), (*rows, (Cell("4"), Cell("-", "why")))))
    lines = text.split("\n")
    assert lines[0].endswith("value") and lines[6] == "[1] why"
    ends = ["0.123", "-0.123", "1.000", "<0.001", " -"]
    pairs = list(zip(lines[1:6], ends, strict=True))
    assert len({line.index(end) + len(end) for line, end in pairs}) == 1


def numbers_of(values):
    """Means and ends of intervals of groups and differences, as they are shown."""
    for metric in values["metrics"].values():
        for entry in metric["groups"] + metric["differences"]:
            for one in (entry, entry["labels_only"]):
                if one["interval"] is not None:
                    yield from map(number, (one["mean"], *one["interval"]))


@pytest.mark.parametrize("groups, kind", [(1, "odd"), (3, "longer"), (3, "odd"), (8, "wide")])
def test_reports_fit_and_show_all_numbers(rows, groups, kind):
    names = np.array([*NAMES[kind]][:groups], dtype=object)
    options = {"metrics": ["tpr", "ppv", "selection_rate"], "threshold": [0.5, 0.7]}
    if groups > 1:
        options |= {"checks": ["tpr<=0.1", "selection_rate ratio>=0.8"], "simultaneous": True}
    result = ask_quickly(rows, group=names[np.arange(400) % groups], **options)
    text = str(result)
    for width in (80, 120, 160):
        assert fits(render(document(result, full=True), width), width)
    assert fits(text) and all(value in text for value in numbers_of(result.to_dict()))
    names = {*shortened([one_line(name) for name in result.groups], 55)}
    assert kind != "odd" or all(name in text for name in names)
    if groups == 3:
        assert fits(str(lf.plan_labels(result, "tpr", 0.1, extra=[20])))
    assert fits(str(lf.find_threshold(result, "ppv", target=0.5)))
    assert groups == 1 or fits(str(lf.find_threshold(result, "tpr")))
