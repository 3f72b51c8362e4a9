"""pytest: a gate in a test suite.

A test fails if a gap is too large, and is skipped if the labels are too few to decide; the sentence
of the verdict is the message.
"""

from __future__ import annotations

import pytest


def require(result, check):
    verdict = result.check(check)
    if verdict.status == "insufficient":
        pytest.skip(verdict.sentence)
    assert verdict.status == "pass", verdict.sentence


@pytest.mark.parametrize("check", ["tpr<=0.25", "equalized_odds<=0.3"])
def test_groups_are_treated_alike(result, check):
    require(result, check)


def test_the_gate_fails_and_skips_with_the_sentence_of_the_verdict(result):
    with pytest.raises(AssertionError, match=r"tpr<=0\.01: fail, tpr of B is above that of A"):
        require(result, "tpr<=0.01")
    with pytest.raises(pytest.skip.Exception, match=r"tpr<=0\.1: insufficient evidence"):
        require(result, "tpr<=0.1")
