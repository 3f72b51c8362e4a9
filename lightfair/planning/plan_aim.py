"""What is planned for: differences between groups, who gets labels, and widths by the forecast.

A plan is about contrasts of the groups' metrics, such as one group minus the reference. Extra
labels go to random rows, or to groups by given shares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.data.logit import Floats
from ..core.data.messages import hint, level_name, lies_in, show
from ..core.data.nodes import UNLABELED, Ints
from ..core.metrics.estimate import Estimate
from .forecast import Outlook, expected_sd, forecast_width

if TYPE_CHECKING:
    from ..core.assessment import Assessment

MOST_GROUPS = 20  # planned for together: the work grows with their third power


def planned_contrasts(
    result: Assessment, metric: str, group: Any, reference: Any
) -> tuple[Floats, list[int]]:
    """What is planned for, see `plan_labels`.

    Returns
    -------
    Contrasts of the groups' metrics, float64 (E, G), and the groups whose curves are looked at.
    """
    aim = aim_at(result, metric, planned_pairs(result, group, reference), result.settings.prob)
    some = np.array([reason is None for reason in aim.reasons[: aim.planned]])
    if not some.any():
        raise ValueError(
            f"{metric} must be defined where labels are chosen for it; {aim.reasons[0]}"
        )
    return np.asarray(aim.contrasts[: aim.planned][some]), looked_at(result, aim.groups)


class Aim(NamedTuple):
    """Contrasts of the groups' metrics.

    pairs: group and reference, or None, of each; contrasts: float64 (E, G); planned: how many of
    them, the first, are planned for; now: float64 (E,), widths of their intervals, NaN where
    undefined; reasons: why.
    """

    pairs: tuple[tuple[int, int | None], ...]
    contrasts: Floats
    planned: int
    now: Floats
    reasons: tuple[str | None, ...]

    @property
    def groups(self) -> list[int]:
        """The groups that are in them."""
        return sorted({g for pair in self.pairs for g in pair if g is not None})


def looked_at(result: Assessment, groups: list[int]) -> list[int]:
    """Groups whose curves a forecast looks at: all, or those planned for where there are many."""
    if len(result.groups) <= MOST_GROUPS:
        return list(range(len(result.groups)))
    if len(groups) > MOST_GROUPS:
        raise ValueError(
            f"group must be given where there are more than {MOST_GROUPS} groups; there are "
            f"{len(result.groups)}"
        )
    return groups


def aim_at(
    result: Assessment, metric: str, planned: list[tuple[int, int | None]], prob: float
) -> Aim:
    """The differences planned for, then the groups that are in them."""
    alone = planned[0][1] is None
    inside = sorted({g for pair in planned for g in pair if g is not None})
    pairs = tuple(planned if alone else [*planned, *((g, None) for g in inside)])
    contrasts = np.zeros((len(pairs), len(result.groups)))
    now, reasons = np.empty(len(pairs)), []
    for e, (g, base) in enumerate(pairs):
        contrasts[e, g] = 1.0
        name = result.groups[g]
        found: Estimate = result.metric(metric, name)
        if base is not None:
            contrasts[e, base] = -1.0
            found = result.difference(metric, name, result.groups[base])
        low, high = found.interval(prob)
        now[e] = high - low
        reasons.append(found.reason)
    return Aim(pairs, contrasts, len(planned), now, tuple(reasons))


def planned_pairs(result: Assessment, group: Any, reference: Any) -> list[tuple[int, int | None]]:
    """Group and reference of each difference; the group alone where there is one."""
    names = result.groups

    def index(what: str, value: Any) -> int:
        name = level_name(value)
        if name not in names:
            listed = ", ".join(map(show, names))
            raise ValueError(
                f"{what} must be one of the groups {listed}; got {name!r}{hint(name, names)}"
            )
        return names.index(name)

    if len(names) == 1:
        if reference is not None:
            raise ValueError(f"reference needs a second group; there is {names[0]!r} alone")
        return [(0 if group is None else index("group", group), None)]
    base = index("reference", result.settings.reference if reference is None else reference)
    if group is None:
        return [(g, base) for g in range(len(names)) if g != base]
    at = index("group", group)
    if at == base and reference is None:
        raise ValueError(
            f"group must not be the reference, {show(names[at])}; name another group, or another "
            "reference"
        )
    if at == base:
        raise ValueError(
            f"group and reference must differ; both are {names[at]!r}; name another reference"
        )
    return [(at, base)]


class Curve:
    """Widths by the forecast, each number of labels worked out once."""

    def __init__(self, ahead: Outlook, aim: Aim, shares: Floats | None, prob: float) -> None:
        self.ahead, self.aim, self.shares, self.prob = ahead, aim, shares, prob
        rows = np.bincount(ahead.bins.group, ahead.bins.rows, minlength=ahead.groups)
        self.rows: Floats = rows.astype(np.float64)
        self.room = self.rows if shares is None else np.where(shares > 0.0, self.rows, 0.0)
        self.before = expected_sd(ahead, np.zeros(len(ahead.bins.rows)), aim.contrasts)
        self.known: dict[int, Floats] = {}

    def widths(self, number: int) -> Floats:
        """Expected widths of all contrasts, float64 (E,)."""
        if number not in self.known:
            after = expected_sd(self.ahead, self.spread(self.split(number)), self.aim.contrasts)
            self.known[number] = forecast_width(self.aim.now, self.before, after, self.prob)
        return self.known[number]

    def split(self, number: int) -> Floats:
        """Labels in each group, float64 (G,); whole where they are allotted."""
        if self.shares is None:
            return np.asarray(self.rows * (number / max(self.rows.sum(), 1.0)))
        return allotted(number, self.shares, self.room)

    def spread(self, split: Floats) -> Floats:
        """Labels in each bin, those of a group in proportion to its rows."""
        bins = self.ahead.bins
        share = np.divide(split, self.rows, out=np.zeros_like(split), where=self.rows > 0.0)
        return np.asarray(np.minimum(share[bins.group], 1.0) * bins.rows)


def allotted(number: int, shares: Floats, room: Floats) -> Floats:
    """Split a number by shares, in whole numbers, no part above its room."""
    found = np.zeros(len(room))
    while number - found.sum() >= 1.0:
        open_ = np.where(found < room, shares, 0.0)
        want = (number - found.sum()) * open_ / open_.sum()
        give = np.minimum(np.floor(want), room - found)
        if not give.any():
            best = int(np.argmax(np.where(found < room, want, -1.0)))
            give[best] = 1.0
        found += give
    return found


def shares_of(result: Assessment, allocation: Mapping[Any, float] | None) -> Floats | None:
    """Shares of the extra labels by group, float64 (G,); None for rows at random."""
    if allocation is None:
        return None
    if not isinstance(allocation, Mapping):
        raise ValueError(f"allocation must map groups to numbers; got {allocation!r}")
    given = {level_name(name): value for name, value in allocation.items()}
    names = result.groups
    wrong = [name for name in given if name not in names]
    lacking = [name for name in names if name not in given]
    if wrong or lacking:
        what = f"no group {show(wrong[0])}" if wrong else f"nothing for {show(lacking[0])}"
        raise ValueError(
            f"allocation must have a number for each of {', '.join(map(show, names))}; got {what}"
        )
    for name, value in given.items():
        if not (lies_in(value, -1.0, math.inf) and value >= 0.0):
            raise ValueError(f"allocation must be at least 0; got {value!r} for {show(name)}")
    shares = np.array([float(given[name]) for name in names])
    if not shares[rows_of(result)[1] > 0].sum() > 0.0:
        raise ValueError("allocation must be above 0 for a group that has unlabeled rows")
    return shares


def rows_of(result: Assessment) -> tuple[Ints, Ints]:
    """Labeled and unlabeled rows of each group."""
    rows = np.rint(result.table.sums("rows").sum(axis=1)).astype(np.int64)
    return rows[:, :UNLABELED].sum(axis=1), rows[:, UNLABELED]
