"""Checks: a limit on the gaps of a metric, parsed for the library and the command line.

"tpr<=0.05": no two groups differ by more than 0.05. "selection_rate ratio>=0.8": the lowest is at
least four fifths of the highest. The name of a criterion stands for all of its metrics at once:
"equalized_odds<=0.1". Limits are inclusive. `verdict` judges a check.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
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
        """The check as text, such as tpr<=0.05."""
        sign = "<=" if self.relation == "difference" else " ratio>="
        return f"{self.metric}{sign}{self.within:.15g}"

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that it limits."""
        return CRITERIA.get(self.metric, (self.metric,))


def parse_check(text: Any) -> Check:
    """Parse a check; a Check is validated and returned.

    Raises
    ------
    ValueError
        If it is not a check; the message has an example.

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
    metric, relation, sign, limit = match.groups(default="difference")
    expected = "<=" if relation == "difference" else ">="
    if relation in RELATIONS and sign != expected:
        raise ValueError(
            f"check {text}: a {relation} is checked with {expected}, as in {EXAMPLES}; got {sign}"
        )
    within: Any = limit.strip()
    with suppress(ValueError):
        within = float(within)
    return make_check(metric.strip(), within, relation)


def make_check(metric: str, within: Any, relation: str = "difference") -> Check:
    """Return a check; raise ValueError if its relation or limit breaks its rule."""
    if relation not in RELATIONS:
        raise ValueError(f"relation must be one of {', '.join(RELATIONS)}; got {relation!r}")
    most, rule, example = (
        (1.0, "lie in (0, 1) for a ratio", "four fifths is 0.8")
        if relation == "ratio"
        else (math.inf, "be a number above 0", "0.05 is five points")
    )
    if not lies_in(within, 0.0, most):
        raise ValueError(f"within must {rule}; got {within!r} for {metric}; {example}")
    return Check(canonical(metric), float(within), relation)


def check_range(check: Check, metric: str, bounds: tuple[float, float]) -> None:
    """Raise ValueError if a limit has no effect, given the bounds of a metric."""
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
