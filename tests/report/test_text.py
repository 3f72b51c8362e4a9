"""Text: at most 80 columns, and nothing is lost, whatever is in a document."""

from __future__ import annotations

import random
import re
import unicodedata

import numpy as np
import pytest
from results import QUICKEST

import lightfair as lf
from lightfair.core.data.messages import number, one_line
from lightfair.core.data.rows import score_data
from lightfair.core.pipeline import assess_data
from lightfair.core.settings import Settings
from lightfair.report.assessment import document
from lightfair.report.document import Cell, Document, Paragraph, Section, Table
from lightfair.report.text import WIDTH, render, width, wrap

NAMES = {
    "short": "ABCDEFGHIJKLMNOPQRST",
    "long": [f"a group with a rather long name, number {i} of all of them" for i in range(20)],
    "longer": [f"{i:02d}" + "x" * 150 for i in range(20)],
    "wide": [f"很长的中文名字第{i}个🙂" for i in range(20)],
    "odd": [f"\x1b[3{i}m\n\t[1, 2] {i} %  e\u0301" for i in range(20)],
}


def columns(line):
    """How wide a line is, counted here: wide characters take two columns, marks none."""
    wide = sum(unicodedata.east_asian_width(c) in ("W", "F") for c in line)
    return len(line) + wide - sum(unicodedata.category(c) in ("Mn", "Me") for c in line)


def squeezed(text):
    return re.sub(r"\s", "", text)


def fits(text):
    return all(columns(line) <= WIDTH and line == line.rstrip(" ") for line in text.split("\n"))


def some_text(random_source, most):
    alphabet = random_source.choice(
        ["ab ", "abcdefgh", "中文 a", "é\u0301-", "[0.1, ]", "\x00\n\\"]
    )
    return "".join(random_source.choice(alphabet) for _ in range(random_source.randint(0, most)))


def some_cell(random_source):
    value = random_source.uniform(-1.0, 1.0)
    kind = random_source.randint(0, 4)
    if kind == 0:
        return Cell("-", f"because of {some_text(random_source, 60)}")
    if kind == 1:
        return Cell(f"{value:.3f} {some_text(random_source, 50)}".strip())
    shown = [f"{value:.3f} [{value - 1:.3f}, {value + 1:.3f}]", f"{value:.3f} (exact)", "<0.001"]
    return Cell(shown[kind - 2])


@pytest.mark.parametrize("seed", range(60))
def test_any_table_fits_and_is_whole(seed):
    source = random.Random(seed)
    most = source.choice([5, 20, 200])
    size = source.randint(1, 9)
    table = Table(
        tuple(some_text(source, most) for _ in range(size + 1)),
        tuple(
            (Cell(some_text(source, most)), *(some_cell(source) for _ in range(size)))
            for _ in range(source.randint(0, 6))
        ),
    )
    title = source.choice(["", "tpr"])
    text = render(Document("", (Section("tpr", title, (table,)),)))
    assert fits(text)
    whole = squeezed(text)
    for cell in (*map(Cell, (table.head[0], *(row[0].text for row in table.rows))),):
        assert squeezed(one_line(cell.text)) in whole
    for cell in (cell for row in table.rows for cell in row):
        assert cell.why is None or squeezed(one_line(cell.why)) in whole
    numbers = re.compile(r"(?<![\d.])-?\d\.\d{3}(?!\d)")
    given = [n for row in table.rows for c in row[1:] for n in numbers.findall(c.text)]
    for value in given:
        assert text.count(value) >= given.count(value)


@pytest.mark.parametrize("seed", range(20))
def test_any_paragraph_fits_and_is_whole(seed):
    source = random.Random(seed)
    said = " ".join(some_text(source, source.choice([8, 100])) for _ in range(30))
    for role, mark in (("plain", ""), ("finding", ""), ("verdict", "fail"), ("warning", "misfit")):
        block = Paragraph(said, role, mark)
        text = render(Document(said, (Section("x", "about", (block,)),)))
        assert fits(text)
        assert squeezed(text).count(squeezed(one_line(said))) == 2


def test_words_and_intervals_are_broken_only_where_they_must_be():
    said = "the metric is 0.5 with an interval of [0.25, 0.75] and 95 % of all " * 3
    for size in range(16, 60):
        lines = wrap(said, size)
        assert all(columns(line) <= size for line in lines)
        assert "[0.25, 0.75]" in "|".join(lines) and "|".join(lines).count("95 %") == 3
    assert wrap("a" * 25, 10) == ["a" * 10, "  " + "a" * 8, "  " + "a" * 7]
    assert wrap("很" * 8, 10, 0) == ["很" * 5, "很" * 3]


def test_numbers_stand_below_each_other():
    cells = ["0.123 [0.100, 0.200]", "-0.123 [-0.300, 0.100]", "1.000 (exact)", "<0.001"]
    rows = tuple((Cell(str(i)), Cell(text)) for i, text in enumerate(cells))
    rows += ((Cell("4"), Cell("-", "why")),)
    lines = render(Document("", (Section("x", "", (Table(("n", "value"), rows),)),))).split("\n")
    ends = [line.index(token) + len(token) for line, token in zip(
        lines[1:6], ["0.123", "-0.123", "1.000", "<0.001", " -"], strict=True
    )]  # fmt: skip
    assert len(set(ends)) == 1
    assert lines[0].endswith("value") and lines[6] == "[1] why"


def test_wide_names_are_aligned():
    rows = tuple(
        (Cell(name), Cell("1.0")) for name in ("中文", "abcd", "e\u0301e\u0301e\u0301e\u0301")
    )
    lines = render(Document("", (Section("x", "", (Table(("n", "v"), rows),)),))).split("\n")
    assert len({columns(line) for line in lines}) == 1 and width("中文e\u0301") == 5


def test_a_style_changes_no_line_but_by_what_it_adds(rows):
    result = lf.assess(
        rows.y_true, rows.y_score, sensitive_features=rows.group, checks="tpr<=0.2", **QUICKEST
    )
    style = {
        ("title", ""): ("<t>", "</t>"),
        ("verdict", ""): ("<v>", "</v>"),
        ("warning", "not_converged"): ("<w>", "</w>"),
        ("finding", ""): ("<f>", "</f>"),
    }
    told = document(result)
    text = render(told, style)
    assert re.sub("</?[tvwf]>", "", text) == render(told)
    assert f"\n  <v>{result.checks[0].status}</v>  tpr<=0.2: " in text
    assert "\n  <w>not_converged</w>: " in text and "\n<t>rows</t>\n" in text
    assert all(line.count("<f>") == line.count("</f>") for line in text.split("\n"))


def asked(rows, groups, kind, **options):
    names = np.array([*NAMES[kind]][:groups], dtype=object)
    group = names[np.arange(400) % groups]
    return lf.assess(rows.y_true, rows.y_score, sensitive_features=group, **{**QUICKEST, **options})


def every_number(values):
    """Means and ends of intervals of groups and differences, as they are shown."""
    for metric in values["metrics"].values():
        for entry in metric["groups"] + metric["differences"]:
            for one in (entry, entry["labels_only"]):
                for end in (one["mean"], *(one["interval"] or ())):
                    if one["interval"] is not None:
                        yield number(end)


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("groups", [1, 2, 6, 20])
def test_reports_fit(rows, groups, kind):
    options = {"metrics": ["tpr", "ppv", "selection_rate"]}
    if groups > 1:
        options |= {"checks": ["tpr<=0.1", "selection_rate ratio>=0.8"], "simultaneous": True}
    options |= {"threshold": [0.5, 0.7]} if groups < 20 else {}
    result = asked(rows, groups, kind, **options)
    text = str(result)
    assert fits(text)
    whole = squeezed(text)
    assert all(squeezed(one_line(name)) in whole for name in result.groups)
    assert all(shown in text for shown in every_number(result.to_dict()))
    assert fits(render(document(result, full=True)))


@pytest.mark.parametrize("kind", NAMES)
def test_reports_with_the_truth_and_many_thresholds_fit(rows, kind):
    group = np.array([*NAMES[kind]][:3], dtype=object)[np.arange(400) % 3]
    whole = score_data(rows.y_all, rows.y_score, sensitive_features=group)
    data = score_data(rows.y_true, rows.y_score, sensitive_features=group)
    run = {name: QUICKEST[name] for name in ("chains", "draws", "warmup")}
    settings = Settings(metrics=["tpr", "fpr"], thresholds="all", **run)
    result = assess_data(data, settings, rng=1, truth=whole)
    text = str(result)
    assert fits(text) and "truth" in text
    assert all(number(value) in text for value in result.truth["tpr"])


@pytest.mark.parametrize("kind", NAMES)
def test_reports_of_nested_groups_fit(rows, kind):
    names = np.array([*NAMES[kind]], dtype=object)
    at = np.arange(400)
    groups = {names[3]: names[at % 2], "race": names[at % 3]}
    result = lf.assess(
        rows.y_true,
        np.where(at % 2, rows.y_score, 0.2),
        sensitive_features=groups,
        metrics=["ppv", "tpr"],
        hierarchical="nested",
        **QUICKEST,
    )
    text = str(result)
    assert fits(text) and "all of" in text


@pytest.mark.parametrize("models", [2, 3, 4])
@pytest.mark.parametrize("kind", NAMES)
def test_comparisons_fit(rows, models, kind):
    names = [*NAMES[kind]]
    group = np.array(names[-3:], dtype=object)[np.arange(400) % 3]
    scores = {names[i]: rows.y_score ** (1.0 + 0.5 * i) for i in range(models)}
    result = lf.compare_models(
        scores, rows.y_true, sensitive_features=group, metrics=["tpr", "ppv"], **QUICKEST
    )
    text = str(result)
    assert fits(text)
    whole = squeezed(text)
    assert all(squeezed(one_line(name)) in whole for name in (*names[:models], *result.groups))


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("kind", NAMES)
def test_plans_and_found_thresholds_fit(rows, groups, kind):
    result = asked(rows, groups, kind, metrics=["tpr"])
    assert fits(str(lf.plan_labels(result, "tpr", 0.1, refits=0, rng=1)))
    if groups > 1:
        assert fits(str(lf.find_threshold(result, "tpr")))
    assert fits(str(lf.find_threshold(result, "ppv", target=0.5)))
