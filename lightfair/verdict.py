"""Verdict: are the gaps small enough? Pass, fail, or not enough evidence to say.

With P the joint posterior probability that all gaps of a check are within its limit:

    pass          P >= prob
    fail          1 - P >= prob
    insufficient  neither, or something stands against a verdict

What stands against it: chains that have not converged; a group without labels, whose numbers rest
on the prior and the other groups; a metric that is undefined in more than 5 % of the draws. The
last two forbid to pass; the gaps that they leave may still fail, as what is beyond the limit there
stays beyond it. A group without rows has no gaps: it gets no verdict, and is listed. `prob` is that
of the intervals unless it is given. What is known exactly is decided with certainty.

How many labels would settle it is forecast by holding the means of the draws and letting their
variance fall as 1 / labels, which is right if the gaps are about what they now seem to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .check import Check
from .compare import ROUNDING, UNDEFINED_LIMIT, undefined_reason
from .comparisons import ByGroup, pair_indices
from .model import Floats
from .ratio import closeness

if TYPE_CHECKING:
    from .assessment import Assessment

BORDER = 1e-12  # a gap this close to the limit is within it: 0.35 - 0.3 is not above 0.05
MOST_LABELS = 1000  # times the labels that there are; what needs more is not forecast
STEP = 2.0**0.125  # of the search for a number of labels


@dataclass(frozen=True)
class PairWithin:
    """Whether one pair of groups is within the limit, in all metrics of the check at once.

    Attributes
    ----------
    group, reference : str
    prob_within : float or None
    reason : str or None
        Why there is no probability.
    """

    group: str
    reference: str
    prob_within: float | None
    reason: str | None = None


@dataclass(frozen=True)
class Verdict:
    """The verdict on a check.

    Attributes
    ----------
    check : Check
    status : {"pass", "fail", "insufficient"}
    prob : float
        Probability that a verdict needs.
    prob_within : float or None
        Joint probability that all gaps are within the limit, of the gaps that can be judged; None
        where none can.
    pairs : tuple of PairWithin
        Each pair alone.
    exact : bool
        Whether all gaps are facts of the rows.
    reason : str or None
        Why there is not enough evidence.
    more_labels : int or None
        About how many more labels would probably settle it; None where labels are not what is
        missing, or the forecast has no end.
    empty_groups : tuple of str
        Groups without rows: they have no verdict.
    """

    check: Check
    status: str
    prob: float
    prob_within: float | None
    pairs: tuple[PairWithin, ...]
    exact: bool = False
    reason: str | None = None
    more_labels: int | None = None
    empty_groups: tuple[str, ...] = ()

    @property
    def metric(self) -> str:
        """Name of the metric or criterion."""
        return self.check.metric

    @property
    def within(self) -> float:
        """The limit."""
        return self.check.within

    @property
    def relation(self) -> str:
        """What the limit is of: "difference" or "ratio"."""
        return self.check.relation

    @property
    def worst(self) -> PairWithin | None:
        """The pair that is least likely within the limit; None where no pair can be judged."""
        known = [(pair.prob_within, -i) for i, pair in enumerate(self.pairs)]
        judged = [(p, i) for p, i in known if p is not None]
        return self.pairs[-min(judged, key=lambda one: (one[0], -one[1]))[1]] if judged else None

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        from .comparison_report import verdict_sentence

        return verdict_sentence(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values; of more than 200 pairs, the worst."""
        from .comparison_report import verdict_values

        return verdict_values(self)


class Question(NamedTuple):
    """A check, the draws of each of its metrics, and the pairs of groups that it compares.

    labelled: bool (group,), whether a group has labels.
    """

    check: Check
    parts: tuple[ByGroup, ...]
    pairs: list[tuple[int, int]]
    labelled: npt.NDArray[np.bool_]

    @property
    def exact(self) -> bool:
        """Whether all that is compared is a fact."""
        involved = np.unique(self.pairs)
        return all(bool(part.known[involved].all()) for part in self.parts)

    def obstacles(self) -> list[dict[int, str]]:
        """For each metric the groups that cannot be judged, and why."""
        found = []
        for part in self.parts:
            undefined = np.isnan(part.draws).mean(axis=(0, 1))
            mine = {}
            for at, name in enumerate(part.groups):
                if not (self.labelled[at] or part.known[at] or part.label_free):
                    mine[at] = f"group {name} has no labels and rests on the prior"
                elif why := undefined_reason(float(undefined[at]), part.lack):
                    mine[at] = f"group {name} is undefined: {why}"
            found.append(mine)
        return found


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """Return 1 where any fails, else 3 where any lacks evidence, else 0."""
    found = {verdict.status for verdict in verdicts}
    return 1 if "fail" in found else 3 if "insufficient" in found else 0


def compared_pairs(
    groups: int, group: int | None, reference: int | None, base: int | None
) -> list[tuple[int, int]]:
    """Return the pairs that a check is about, as (group, reference).

    With neither, every pair, `base` the reference in its own; with a reference, every other group
    and it; with a group, that one and the reference, `base` where none is given.
    """
    if group is None and reference is None:
        return pair_indices(groups, base)
    against = base if reference is None else reference
    if against is None or group == against:
        raise ValueError("a group is checked against another one; give it as reference=")
    return [(one, against) for one in range(groups) if one != against and group in (None, one)]


def judge(
    question: Question,
    prob: float,
    *,
    unconverged: str | None = None,
    empty_groups: tuple[str, ...] = (),
    forecast: Callable[[], int | None] = lambda: None,
) -> Verdict:
    """Give a verdict.

    Parameters
    ----------
    question
        What is asked.
    prob
        Probability that a verdict needs, in (0, 1).
    unconverged
        Why the draws are not to be used, or None.
    empty_groups
        Names of groups without rows.
    forecast
        Returns how many more labels would probably settle it; called where that is what is missing.
    """
    obstacles = question.obstacles()
    inside, beyond = joint(question, obstacles)
    said = inside + beyond
    status, reason, more = "insufficient", None, None
    if unconverged is not None and not question.exact:
        reason = unconverged
    elif beyond >= prob:
        status = "fail"
    elif against := [m[at] for m in obstacles for pair in question.pairs for at in pair if at in m]:
        reason = against[0]
    elif 1.0 - said > UNDEFINED_LIMIT:
        reason = f"a gap is undefined in {1.0 - said:.0%} of the draws"
    elif inside >= prob * said:
        status = "pass"
    elif beyond >= prob * said:
        status = "fail"
    else:
        reason, more = f"neither side has probability {prob:g}", forecast()
    return Verdict(
        question.check,
        status,
        prob,
        inside / said if said > 0.0 else None,
        tuple(_alone(question, pair, obstacles) for pair in question.pairs),
        question.exact,
        reason,
        more,
        empty_groups,
    )


def joint(question: Question, obstacles: list[dict[int, str]]) -> tuple[float, float]:
    """Return the shares of draws with all gaps within the limit, and with some gap beyond it.

    The rest are draws in which nothing is beyond it and a gap is undefined. Groups with obstacles
    do not count.
    """
    beyond = unknown = np.zeros(question.parts[0].draws[..., 0].size, dtype=bool)
    asked = False
    for part, mine in zip(question.parts, obstacles, strict=True):
        pairs = [pair for pair in question.pairs if not mine.keys() & set(pair)]
        if not pairs:
            continue
        asked = True
        values = part.draws.reshape(-1, len(part.groups))
        one, two = (values[:, [*column]] for column in zip(*pairs, strict=True))
        if 2 * len(question.pairs) == len(part.groups) * (len(part.groups) - 1):
            kept = np.delete(values, [*mine], axis=1)  # of every pair the extremes say all
            unknown = unknown | np.isnan(kept).any(axis=1)
            one, two = (f.reduce(kept, axis=1)[:, None] for f in (np.fmax, np.fmin))
        seen, near = compared(question.check, one, two)
        beyond = beyond | (seen & ~near).any(axis=1)
        unknown = unknown | (~seen).any(axis=1)
    if not asked:
        return 0.0, 0.0
    return float((~beyond & ~unknown).mean()), float(beyond.mean())


def compared(
    check: Check, one: Floats, two: Floats
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return where the gap of two metrics is defined, and where it is within the limit."""
    if check.relation == "difference":
        seen = ~np.isnan(one) & ~np.isnan(two)
        return seen, seen & (np.abs(one - two) <= check.within + BORDER)
    one, two = (np.where(np.abs(values) < ROUNDING, 0.0, values) for values in (one, two))
    seen = ~np.isnan(one) & ~np.isnan(two) & ((one != 0.0) | (two != 0.0))
    share = np.zeros_like(one)
    np.divide(one, two, out=share, where=seen & (two != 0.0))
    return seen, seen & (closeness(share) >= check.within - BORDER)


def forecast_labels(result: Assessment, question: Question, prob: float) -> int | None:
    """Forecast how many more labels would probably settle a check of a result.

    `planning` forecasts differences of one metric from the reference; the rest goes by the rule of
    thumb of `labels_to_settle`.
    """
    from . import planning

    check, base = question.check, result.groups.index(str(result.settings.reference))
    star = [(group, base) for group in range(len(result.groups)) if group != base]
    of = result.settings.metric(question.check.metrics[0])
    if (
        check.relation == "difference"
        and len(question.parts) == 1
        and of.of == "counts"
        and of.name in result.theta
        and question.pairs == star
    ):
        more = planning.labels_to_settle(result, of.name, check.within, prob)
        return None if more is None else max(more, 1)
    table = result.table
    return labels_to_settle(
        question,
        prob,
        table.labeled,
        table.rows - table.labeled,
        finite=result.settings.target != "population",
    )


def labels_to_settle(
    question: Question, prob: float, labeled: int, unlabeled: int, *, finite: bool
) -> int | None:
    """Forecast how many more labels would probably settle a check.

    Parameters
    ----------
    question, prob
        As in `judge`.
    labeled, unlabeled
        Rows with and without labels.
    finite
        Whether labels of all rows would leave nothing open.

    Returns
    -------
    Two significant digits, at least 1; at most `unlabeled` where `finite`. None where no number
    within reach settles it.
    """
    obstacles = question.obstacles()
    most = unlabeled if finite else MOST_LABELS * labeled
    more = 1.0
    while labeled > 0 and more < min(most, MOST_LABELS * labeled):
        shrink = (1.0 + more / labeled) ** -0.5
        parts = []
        for part in question.parts:
            mean = np.nan_to_num(np.nanmean(part.draws, axis=(0, 1)))
            parts.append(part._replace(draws=mean + shrink * (part.draws - mean)))
        inside, beyond = joint(question._replace(parts=tuple(parts)), obstacles)
        if max(inside, beyond) >= prob * (inside + beyond) > 0.0:
            return min(_two_digits(more), most)
        more = max(more * STEP, more + 1.0)
    return unlabeled if finite and 0 < unlabeled <= MOST_LABELS * labeled else None


def _two_digits(value: float) -> int:
    """Round up to two significant digits."""
    size = 10 ** max(len(str(int(np.ceil(value)))) - 2, 0)
    return int(-(-np.ceil(value) // size) * size)


def _alone(
    question: Question, pair: tuple[int, int], obstacles: list[dict[int, str]]
) -> PairWithin:
    """Judge one pair alone."""
    names = [question.parts[0].groups[at] for at in pair]
    reason = next((mine[at] for mine in obstacles for at in pair if at in mine), None)
    if reason is not None:
        return PairWithin(names[0], names[1], None, reason)
    inside, beyond = joint(question._replace(pairs=[pair]), obstacles)
    share = 1.0 - inside - beyond
    if share > UNDEFINED_LIMIT:
        reason = f"undefined in {share:.0%} of the draws"
        return PairWithin(names[0], names[1], None, reason)
    return PairWithin(names[0], names[1], inside / (inside + beyond))
