"""The report of a label plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from results import flat

import lightfair as lf
from lightfair.report.plan import document


def verdict(plan, **changes):
    sections = document(replace(plan, **changes)).sections
    return [block.text for block in sections[0].blocks if block.role != "warning"]


def test_a_plan_in_short(plan):
    text = flat(plan)
    start = "Plan for tpr: 60 rows have labels, 340 rows are available for labeling A width of 0.2 "
    assert text.startswith(start)
    assert "expected width of 95 % intervals extra labels B - A 0 " in text
    table = document(plan).sections[1].blocks[1]
    assert table.head == ("extra labels", "B - A")
    width = plan.intervals[0].width
    assert [[cell.text for cell in row] for row in table.rows] == [
        [str(extra), f"{width[i]:.3f}"] for i, extra in enumerate(plan.extra)
    ]


def test_how_many_labels_it_takes(plan):
    for labels, text in (
        (None, "is out of reach: why."),
        (0, "is reached already."),
        (340, "takes labels for all 340 unlabeled rows."),
        (77, "takes about 77 more labels of random rows."),
    ):
        assert verdict(plan, labels=labels, reason="why")[0] == f"A width of 0.2 {text}"


def test_no_labels_are_needed_for_an_exact_metric(result):
    plan = lf.plan_labels(result, "selection_rate", 0.2)
    assert verdict(plan) == ["No labels are needed: the quantity is known exactly."]


def test_where_to_label_next(plan):
    changes = {"shrinks": np.array([0.001, 0.002]), "unlabeled": np.array([4, 100])}
    text = "Next: {}; there, {} labels would narrow the widest interval by {}."
    for group, labels, gain in (("B", 10, "0.0200"), ("A", 4, "0.0040")):
        next_group = verdict(plan, **changes, next_group=group)[1]
        assert next_group == text.format(group, labels, gain)
    assert len(verdict(plan, next_group=None)) == 1


def test_the_widest_differences_are_listed(nine):
    plan = lf.plan_labels(nine, "ppv", 0.2, extra=[20])
    blocks = document(plan).sections[1].blocks
    assert blocks == document(plan, full=True).sections[1].blocks
    wide = (one for one in plan.intervals if one.width[0] > 0)
    widest = sorted(wide, key=lambda one: -one.width[0])
    assert blocks[1].head[1:5] == tuple(f"{one.group} - g0" for one in widest[:4])
    text = "not shown: 4 intervals, not wider or undefined; to_dict() has all"
    assert blocks[2].text == text
