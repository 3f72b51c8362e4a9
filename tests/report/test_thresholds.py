"""Reports on several thresholds and on a search for thresholds."""

from __future__ import annotations

import numpy as np
from results import ask_quickly, flat

import lightfair as lf
from lightfair.core.data.messages import estimate, number
from lightfair.report.document import Table
from lightfair.report.thresholds import DOWN, document, threshold_section


def texts(found, key):
    section = next(one for one in document(found, full=True).sections if one.key == key)
    return [block.text for block in section.blocks if hasattr(block, "text")]


def test_few_groups_have_a_column_each(result):
    section = threshold_section(result)
    groups, gaps = [block for block in section.blocks if isinstance(block, Table)][:2]
    assert groups.head == ("tpr from", "A", "B")
    assert gaps.head == ("tpr from", "B minus A", "P(>0)", "P(|diff| < 0.05)")
    curve = result.thresholds()
    at = curve.metric("tpr", "B")[0.3]
    assert groups.rows[0][0].text == "0.3"
    assert groups.rows[0][2].text.startswith(f"{number(at.mean)} [")
    assert gaps.rows[0][1].text.startswith(number(curve.difference("tpr", "B")[0.3].mean))
    assert section.blocks[-1].text == "not dependent on the threshold: auc"


def test_many_thresholds_and_too_many_groups(rows):
    result = ask_quickly(rows, metrics="selection_rate", threshold="all")
    *tables, note = threshold_section(result).blocks
    total = len(result.thresholds().thresholds)
    shown = len(tables[0].rows)
    assert total > DOWN >= shown > DOWN // 2
    text = "the JSON output (to_dict, --json) is complete"
    assert note.text == f"{shown} of {total} thresholds; {text}"
    group = np.array([*"abcdefg"])[np.arange(400) % 7]
    result = ask_quickly(rows, group=group, metrics="selection_rate", threshold=[0.3, 0.5])
    (note,) = threshold_section(result).blocks
    assert note.text == f"7 groups are too many; {text}"


def test_a_search_shows_what_is_recommended(found):
    goal, one = "tpr of A, at its own threshold 0.5", found["B"]
    wanted = estimate(found.wanted.mean, *found.wanted.interval(0.95), False)
    assert texts(found, "thresholds")[0] == f"{goal}: {wanted}."
    (table,) = [b for b in document(found).sections[0].blocks if isinstance(b, Table)]
    assert table.head == ("group", "recommended", "gap there", "P(|gap| < 0.05)")
    gap = f"{estimate(one.gap.mean, *one.gap.interval(0.95), False)}"
    chance = f"{one.gap.prob_within(0.05):.3f}"
    assert [cell.text for cell in table.rows[0]] == ["B", repr(one.recommended), gap, chance]
    assert document(found, full=True).title == "Thresholds at which tpr is that of A"
    assert flat(found).startswith(f"thresholds at which tpr is that of A {goal}: ")
    assert "not_converged: " in flat(found)


def test_a_target_takes_the_place_of_a_reference(result):
    found = lf.find_threshold(result, "tpr", target=0.7)
    assert document(found, full=True).title == "Thresholds at which tpr is 0.7"
    assert not [line for line in texts(found, "thresholds") if "at its own" in line]


def test_exact_and_undefined_searches(rows, result):
    found = lf.find_threshold(result, "selection_rate")
    assert " (exact) 1" in flat(found) or " (exact) 0" in flat(found)
    label = np.where(rows.group == "A", 0, (rows.y_score > 0.4).astype(int))
    found = lf.find_threshold(ask_quickly(rows, y_true=label, metrics="tpr"), "tpr", reference="A")
    assert "undefined, there are no positive labels." in texts(found, "thresholds")[0]
    assert found.to_dict()["groups"][0]["recommended_reason"] in flat(found)
