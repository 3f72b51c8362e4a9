"""The text of a check."""

from __future__ import annotations

import pytest

from lightfair.core.comparison.verdict import Check, parse_check


@pytest.mark.parametrize(
    "text, check",
    [
        ("tpr<=0.05", Check("tpr", 0.05, "difference")),
        ("  equalized_odds <= .1 ", Check("equalized_odds", 0.1, "difference")),
        ("tpr difference<=0.05", Check("tpr", 0.05, "difference")),
        ("selection_rate ratio>=0.8", Check("selection_rate", 0.8, "ratio")),
        ("selection_rate  ratio >= 8e-1", Check("selection_rate", 0.8, "ratio")),
        ("cost(fp=1,fn=5)<=0.2", Check("cost(fp=1,fn=5)", 0.2, "difference")),
        ("cost(fp=1, fn=5.0) ratio>=0.5", Check("cost(fp=1,fn=5)", 0.5, "ratio")),
    ],
)
def test_checks(text, check):
    assert parse_check(text) == check
    assert parse_check(check.text) == check
    assert parse_check(check) == check


@pytest.mark.parametrize(
    "text, message",
    [
        ("tpr", "must be a metric, <= and a limit, as in \"tpr<=0.05\" or .*; got 'tpr'"),
        ("<=0.05", "check must be a metric, <= and a limit"),
        ("tpr<=", "check must be a metric, <= and a limit"),
        (0.05, "check must be a metric, <= and a limit, .*; got 0.05"),
        (None, "check must be a metric"),
        ("tpr>=0.05", "check tpr>=0.05: a difference takes <=, as in "),
        ("tpr<0.05", "a difference takes <="),
        ("tpr ratio<=0.8", "a ratio takes >=, as in "),
        ("tpr gap<=0.05", "relation must be one of difference, ratio; got 'gap'"),
        ("tpr<=5%", "within must be a number above 0; got '5%'"),
        ("tpr<=0", "within must be a number above 0; got 0.0 for tpr; 0.05 is five points"),
        ("tpr<=-0.1", "within must be a number above 0"),
        ("tpr<=nan", "within must be a number above 0; got nan"),
        ("tpr<=inf", "within must be a number above 0; got inf"),
        ("tpr ratio>=1.25", r"in \(0, 1\) for a ratio; got 1.25 .*four fifths is 0.8"),
        ("tpr ratio>=1", r"within must lie in \(0, 1\) for a ratio"),
    ],
)
def test_not_a_check(text, message):
    with pytest.raises(ValueError, match=message):
        parse_check(text)


def test_limits_without_effect():
    with pytest.raises(ValueError, match="within must be below 1, the range of tpr; got 5; 0.05"):
        Check("tpr", 5.0).check_bounds((0.0, 1.0))
    with pytest.raises(ValueError, match="bias can be negative and has no ratio; use its diff"):
        Check("bias", 0.8, "ratio").check_bounds((-1.0, 1.0))
    Check("tpr", 0.99).check_bounds((0.0, 1.0))


def test_metrics_of_a_check():
    assert parse_check("equalized_odds<=0.1").metrics == ("tpr", "fpr")
    assert parse_check("demographic_parity ratio>=0.8").metrics == ("selection_rate",)
    assert parse_check("f1<=0.1").metrics == ("f1",)
