"""Checks: a limit on the gaps of a metric, as the library and the command line read it.

"tpr<=0.05" asks that no two groups differ by more than 0.05; "selection_rate ratio>=0.8" that the
lowest is at least four fifths of the highest. A criterion's name works like a metric's, and asks
for all of its metrics at once: "equalized_odds<=0.1". Limits are inclusive. The answer is the
business of `verdict`.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from ..data.messages import lies_in
from ..metrics.definitions import canonical
from .gaps import CRITERIA

RELATIONS = ("difference", "ratio")

EXAMPLES = '"tpr<=0.05" or "selection_rate ratio>=0.8"'

_CHECK = re.compile(r"([^<>=≤≥].*?)(?:\s+(\w+))?\s*(<=|>=|==|<|>|=|≤|≥)\s*([^<>=≤≥]+)")


class Check(NamedTuple):
    """A limit on the gaps of a metric or criterion."""

    metric: str
    within: float
    relation: str = "difference"

    @property
    def text(self) -> str:
        """The check as it is written: tpr<=0.05."""
        sign = "<=" if self.relation == "difference" else " ratio>="
        return f"{self.metric}{sign}{self.within:.15g}"

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that it is about."""
        return CRITERIA.get(self.metric, (self.metric,))


def parse_check(text: Any) -> Check:
    """Read a check; a Check is taken as it is.

    Raises
    ------
    ValueError
        If it cannot be read; the message has an example.

    Examples
    --------
    >>> import lightfair as lf
    >>> lf.parse_check("selection_rate ratio >= 0.8")
    Check(metric='selection_rate', within=0.8, relation='ratio')
    """
    if isinstance(text, Check):
        return make_check(*text)
    match = _CHECK.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"check must be a metric, <= and a limit, as in {EXAMPLES}; got {text!r}")
    metric, word, sign, number = match.groups()
    relation = word or "difference"
    if relation not in RELATIONS:
        raise ValueError(
            f"check {text}: it is of a difference or a ratio, as in {EXAMPLES}; got {word!r}"
        )
    wanted = "<=" if relation == "difference" else ">="
    if sign != wanted:
        raise ValueError(
            f"check {text}: a {relation} is checked with {wanted}, as in {EXAMPLES}; got {sign}"
        )
    try:
        within = float(number)
    except ValueError:
        raise ValueError(
            f"check {text}: its limit must be a number, as in {EXAMPLES}; got {number.strip()!r}"
        ) from None
    try:
        return make_check(metric.strip(), within, relation)
    except ValueError as error:
        raise of_check(text, error) from None


def of_check(text: str, error: ValueError) -> ValueError:
    """Return an error that says which check it is of, as that is written."""
    return ValueError(f"check {text}: {str(error).replace('within must', 'its limit must', 1)}")


def make_check(metric: str, within: Any, relation: str = "difference") -> Check:
    """Return a check; raise ValueError where its relation or limit breaks its rule."""
    if relation not in RELATIONS:
        raise ValueError(f"relation must be one of {', '.join(RELATIONS)}; got {relation!r}")
    if relation == "ratio" and not lies_in(within, 0.0, 1.0):
        raise ValueError(
            f"within must lie in (0, 1) for a ratio; got {within!r} for {metric}; four fifths "
            "is 0.8"
        )
    if relation == "difference" and not lies_in(within, 0.0, math.inf):
        raise ValueError(
            f"within must be a number above 0; got {within!r} for {metric}; 0.05 is five points"
        )
    return Check(canonical(metric), float(within), relation)


def check_range(check: Check, metric: str, bounds: tuple[float, float]) -> None:
    """Raise ValueError where a limit can decide nothing, given the bounds of a metric."""
    low, high = bounds
    if check.relation == "ratio" and low < 0.0:
        raise ValueError(
            f"{metric} can be negative and has no ratio; check its difference: {metric}<=0.05"
        )
    if check.relation == "difference" and check.within >= high - low:
        raise ValueError(
            f"within must be below {high - low:g}, the range of {metric}; got {check.within:g}; "
            "0.05 is five points"
        )
