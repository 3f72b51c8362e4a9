"""Reports on several thresholds and on a search for thresholds."""

from __future__ import annotations

import numpy as np
from results import ask_quickly, flat

import lightfair as lf
from lightfair.core.data.messages import number
from lightfair.report.document import Table
from lightfair.report.thresholds import DOWN, document, threshold_section


def texts(found, key):
    section = next(one for one in document(found, full=True).sections if one.key == key)
    return [block.text for block in section.blocks if hasattr(block, "text")]


def test_few_groups_have_a_column_each(result):
    section = threshold_section(result)
    groups, gaps = [block for block in section.blocks if isinstance(block, Table)][:2]
    assert groups.head == ("tpr from", "A", "B")
    assert gaps.head == ("tpr from", "B minus A", "P(>0)", "P(|.|<0.05)")
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
    text = "complete results are in the JSON output (to_dict, --json)"
    assert note.text == f"{shown} of {total} thresholds; {text}"
    group = np.array([*"abcdefg"])[np.arange(400) % 7]
    result = ask_quickly(rows, group=group, metrics="selection_rate", threshold=[0.3, 0.5])
    (note,) = threshold_section(result).blocks
    assert note.text == f"7 groups are too many; {text}"


def test_a_search_begins_with_what_is_recommended(found):
    one = found["B"]
    low, high = one.gap.interval(0.95)
    assert texts(found, "verdict")[0] == (
        f"B: {one.recommended!r} is recommended; tpr there minus that of A is {one.gap.mean:.3f} "
        f"[{low:.3f}, {high:.3f}], less than 0.05 from 0 with probability "
        f"{one.gap.prob_within(0.05):.3f}."
    )
    low, high = found.wanted.interval(0.95)
    goal = f"tpr of A, at its own threshold 0.5: {found.wanted.mean:.3f} [{low:.3f}, {high:.3f}]."
    assert goal in texts(found, "thresholds")
    assert document(found, full=True).title == "Thresholds at which tpr is that of A"
    assert [one.key for one in document(found).sections] == ["thresholds", "warnings"]
    assert flat(found).startswith(
        f"thresholds at which tpr is that of A at 0.5, {goal.split(': ')[1][:-1]}"
    )


def test_a_target_takes_the_place_of_a_reference(result):
    found = lf.find_threshold(result, "tpr", target=0.7)
    assert document(found, full=True).title == "Thresholds at which tpr is 0.7"
    assert "tpr there minus 0.7 is " in texts(found, "verdict")[1]
    assert not [line for line in texts(found, "thresholds") if "at its own" in line]


def test_exact_and_undefined_searches(rows, result):
    found = lf.find_threshold(result, "selection_rate")
    assert texts(found, "verdict")[0].endswith(" (exact), less than 0.05 from 0 (exact).")
    label = np.where(rows.group == "A", 0, (rows.y_score > 0.4).astype(int))
    found = lf.find_threshold(ask_quickly(rows, y_true=label, metrics="tpr"), "tpr", reference="A")
    why = found.to_dict()["groups"][0]["recommended_reason"]
    assert texts(found, "verdict")[0] == f"B: no threshold is recommended; {why}."
    assert "undefined, there are no positive labels." in texts(found, "thresholds")[0]
    assert why in flat(found)
