"""Checks, limits on the gaps of a metric; and verdicts on them: pass, fail, or inconclusive.

"tpr<=0.05": no two groups differ by more than 0.05. "selection_rate ratio>=0.8": the lowest is at
least four fifths of the highest. The name of a criterion stands for all of its metrics at once:
"equalized_odds<=0.1". Limits are inclusive.

    pass          P(all gaps of the check are within its limit) >= prob
    fail          P(this group is above that one by more than the limit) >= prob, for some pair
    insufficient  neither, or an obstacle: inconclusive

Passing is a joint statement about all pairs and metrics. Failing needs one pair and a direction:
among several groups with few labels some gap is almost surely large even if all are equal, and that
is not evidence against any of them. With two groups the two statements are complementary, up to the
smaller tail.

Obstacles are chains that have not converged; a group without labels, whose numbers depend on the
prior and the other groups; a metric that is undefined in more than 5 % of the draws; and one that
is the same in all groups whatever the labels, such as a true positive rate where no row is
selected. The last three rule out a pass; other gaps may still fail. A group without rows has no
gaps: it gets no verdict, and is listed. `prob` is the credible level unless given. Exact gaps are
decided with certainty.

A verdict may not follow from the prior alone: with few labels, or where the scores of a group mean
something else than in the others, the model can be sure and wrong. So labels must support it
without the model, by prediction-powered draws, in groups with fewer than ten labels in the
denominator by labels-only ones (`Assessment.without_model`):

    pass          P(this gap is within the limit) >= 0.9, or prob if that is less, for every pair
    fail          P(this group is above that one by more than the limit) >= 0.7, likewise
    both          at least 5 labels in the denominator of each metric in each group compared

If some pair is beyond the limit, that one must seem to be within it, however many pairs there are.

A metric without such draws, such as ece, needs 100 labels of each class in each group instead.
Metrics that are known exactly need nothing. `bench/VERDICTS.md` has the errors and the price of
this and of other rules.

On the command line verdicts head the report and determine the exit code: 0 if all pass, 1 if one
fails, 3 if none fails and one is inconclusive::

    lightfair assess scores.csv --score score --label label --group sex \
        --check "tpr<=0.05" --check "selection_rate ratio>=0.8"

In Python: `assess(..., checks=[...])` and `result.checks`, or `result.check("tpr<=0.05")`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats, over
from ..data.messages import OneLine, counted, lies_in, number, probability
from ..metrics.definitions import canonical
from ..metrics.estimate import BORDER, UNDEFINED_LIMIT, minus, undefined_reason
from .gaps import CRITERIA, ByGroup

Bools = npt.NDArray[np.bool_]

LISTED = 200  # pairs in the plain values, the worst

NO_RATIO = "a ratio of 0 to 0 is undefined"


SUPPORT = {"pass": 0.9, "fail": 0.7}  # probability that a verdict needs without the model

RELATIONS = {  # with the end of the range of limits, and the rule
    "difference": (math.inf, "be a number above 0", "0.05 is five points"),
    "ratio": (1.0, "lie in (0, 1) for a ratio", "four fifths is 0.8"),
}

EXAMPLES = '"tpr<=0.05" or "selection_rate ratio>=0.8"'

_CHECK = re.compile(r"([^<>=≤≥].*?)(?:\s+(\w+))?\s*(<=|>=|==|<|>|=|≤|≥)\s*([^<>=≤≥]+)")


@dataclass(frozen=True)
class Check:
    """A limit on the gaps of a metric or criterion; ValueError if an attribute breaks its rule."""

    metric: str
    within: float
    relation: str = "difference"

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            known = ", ".join(RELATIONS)
            raise ValueError(f"relation must be one of {known}; got {self.relation!r}")
        most, rule, example = RELATIONS[self.relation]
        if not lies_in(self.within, 0.0, most):
            got = f"{self.within!r} for {self.metric}"
            raise ValueError(f"within must {rule}; got {got}; {example}")
        if self.metric not in CRITERIA:
            object.__setattr__(self, "metric", canonical(self.metric))
        object.__setattr__(self, "within", float(self.within))

    @property
    def text(self) -> str:
        """The check as text, such as tpr<=0.05."""
        sign = "<=" if self.relation == "difference" else " ratio>="
        return f"{self.metric}{sign}{self.within:.15g}"

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that it limits."""
        return CRITERIA.get(self.metric, (self.metric,))

    def check_bounds(self, bounds: tuple[float, float]) -> None:
        """Raise ValueError if the limit has no effect, given the bounds of its metric."""
        if self.relation == "ratio" and bounds[0] < 0.0:
            raise ValueError(f"{self.metric} can be negative and has no ratio; use its difference")
        span = bounds[1] - bounds[0]
        if self.relation == "difference" and self.within >= span:
            rule = f"within must be below {span:g}, the range of {self.metric}"
            raise ValueError(f"{rule}; got {self.within:g}; 0.05 is five points")


def parse_check(text: Any) -> Check:
    """Parse a check; a Check is returned.

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
        return text
    match = _CHECK.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"check must be a metric, <= and a limit, as in {EXAMPLES}; got {text!r}")
    metric, relation, sign, limit = match.groups(default="difference")
    expected = "<=" if relation == "difference" else ">="
    if relation in RELATIONS and sign != expected:
        raise ValueError(f"check {text}: a {relation} takes {expected}, as in {EXAMPLES}")
    within: Any = limit.strip()
    with suppress(ValueError):
        within = float(within)
    return Check(metric.strip(), within, relation)


@dataclass(frozen=True)
class PairWithin:
    """Probability that one pair of groups is within the limit, in all metrics at once.

    Attributes
    ----------
    group, reference : str
    prob_within : float or None
    reason : str or None
        Why there is no probability.
    gap : float or None
        Posterior mean of the largest absolute difference over the metrics, or of the smallest ratio
        of the lower to the higher.
    """

    group: str
    reference: str
    prob_within: float | None
    reason: str | None = None
    gap: float | None = None


class Beyond(NamedTuple):
    """The direction most probably beyond the limit; among equal ones, that of the widest gap.

    A metric, two groups, the probability, and the posterior mean of the difference, or of the ratio
    of the lower to the higher.
    """

    metric: str
    higher: str
    lower: str
    prob: float
    gap: float


@dataclass(frozen=True, repr=False)
class Verdict(OneLine):
    """The verdict on a check.

    Attributes
    ----------
    check : Check
    status : {"pass", "fail", "insufficient"}
    prob : float
        Probability that a verdict needs.
    prob_within : float or None
        Joint probability that all gaps that can be judged are within the limit; None if none can.
    pairs : tuple of PairWithin
        Each pair separately.
    exact : bool
        Whether all gaps are known exactly.
    reason : str or None
        Why the check is inconclusive.
    more_labels : int or None
        About how many more labels would probably settle it; None if labels are not missing, or no
        number within reach would.
    empty_groups : tuple of str
        Groups without rows; they have no verdict.
    beyond : Beyond or None
        The gap that fails, or None.
    more_labels_reason : str or None
        Why `more_labels` is None.
    tipping_point : float or None
        The smallest factor between the odds of a positive label in unlabeled rows and in labeled
        ones of equal score and group with which a pass or fail could be none (`audit.selection`).
        None if it is no pass or fail, exact, of scores, or not turned by factors up to 100.

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> verdict = result.check("selection_rate", within=0.01)
    >>> verdict.status, verdict.exact, verdict.beyond.higher
    ('fail', True, 'B')
    >>> print(verdict.sentence)
    selection_rate<=0.01: fail; selection_rate of B is above that of A by 0.045, known exactly.
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
    beyond: Beyond | None = None
    more_labels_reason: str | None = None
    tipping_point: float | None = None

    @property
    def ranked(self) -> tuple[PairWithin, ...]:
        """The pairs, least likely within the limit first, then by the widest gap."""
        sign = 1.0 if self.check.relation == "ratio" else -1.0

        def key(pair: PairWithin) -> tuple[float, float]:
            return (2.0, 0.0) if pair.gap is None else (pair.prob_within or 0.0, sign * pair.gap)

        return tuple(sorted(self.pairs, key=key))

    def _line(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """The verdict in words, with its probabilities."""
        inconclusive = self.status == "insufficient"
        status = "insufficient evidence" if inconclusive else self.status
        because = inconclusive or (self.beyond is not None and not self.exact)
        return f"{self.check.text}: {status}{', ' if because else '; '}{self.basis}."

    @property
    def basis(self) -> str:
        """Gaps, probabilities and forecast in words."""
        limit, ratio = f"{self.check.within:g}", self.check.relation == "ratio"
        judged = [pair for pair in self.ranked if pair.prob_within is not None]
        subject = f"all {len(self.pairs):,} pairs"
        if len(self.pairs) == 1:
            subject = f"{self.pairs[0].group} and {self.pairs[0].reference}"
        if len(judged) < len(self.pairs):
            subject = f"{subject}, as far as they can be judged,"
            if self.exact:
                subject = f"of {len(self.pairs):,} pairs the {len(judged):,} that can be judged"
        within = f"{subject} {f'at least {limit} of each other' if ratio else f'within {limit}'}"
        clauses = [] if self.reason is None else [self.reason]
        if self.beyond is not None:
            clauses = [_beyond(self.check, self.beyond, self.exact)]
        if self.exact:
            if self.beyond is None and judged:
                clauses.append(f"{within}, known exactly")
        elif self.prob_within is not None:
            clauses.append(f"{within} with probability {probability(self.prob_within)}")
            if len(judged) > 1 and self.status == "insufficient":
                least = f"{judged[0].group} and {judged[0].reference}"
                clauses.append(f"least likely {least}, {probability(judged[0].prob_within)}")
        if self.more_labels is not None:
            more = counted(self.more_labels, "more label")
            clauses.append(f"about {more} would probably settle it")
        if self.tipping_point is not None:
            rows = "unlabeled rows differ from labeled ones of equal score"
            clauses.append(f"it could turn if {rows} by an odds ratio of {self.tipping_point:#.3g}")
        if self.empty_groups:
            clauses.append("no verdict on groups without rows: " + "; ".join(self.empty_groups))
        return "; ".join(clauses)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values; of more than 200 pairs, the worst."""
        ranked, values = self.ranked, {**vars(self), **vars(self.check), "check": self.check.text}
        values |= {
            "pairs": [dict(vars(pair)) for pair in ranked[:LISTED]],
            "pairs_left_out": max(len(ranked) - LISTED, 0),
            "empty_groups": list(self.empty_groups),
            "beyond": None if self.beyond is None else self.beyond._asdict(),
            "sentence": self.sentence,
        }
        absent = {name for name in ("beyond", "more_labels_reason") if values[name] is None}
        return {name: value for name, value in values.items() if name not in absent}


class Question(NamedTuple):
    """A check, the draws of each of its metrics, and the pairs of groups that it compares.

    labeled: bool (group,), whether a group has labels; decided: why the metrics are the same
    whatever the labels, or None.
    """

    check: Check
    parts: tuple[ByGroup, ...]
    pairs: list[tuple[int, int]]
    labeled: Bools
    decided: str | None = None

    def obstacle(self, metric: str, part: ByGroup, at: int) -> str | None:
        """Return why a group cannot be judged by a metric, or None."""
        if not (self.labeled[at] or part.known[at] or part.label_free):
            return f"group {part.groups[at]} has no labels and rests on the prior"
        why = undefined_reason(float(part.undefined[at]), part.lack)
        return why and f"{metric} of {part.groups[at]} is undefined: {why}"


def exit_code(verdicts: Iterable[Any]) -> int:
    """Return 1 if the status of any verdict is fail, else 3 if any is inconclusive, else 0."""
    statuses = {verdict.status for verdict in verdicts}
    return 1 if "fail" in statuses else 3 if "insufficient" in statuses else 0


def judge(
    question: Question,
    prob: float,
    *,
    unconverged: str | None = None,
    empty_groups: tuple[str, ...] = (),
    forecast: Callable[[], int | None] = lambda: None,
    tipping_point: Callable[[str], float | None] = lambda status: None,
) -> Verdict:
    """Return the verdict on a check.

    Parameters
    ----------
    question
    prob
        Probability that a verdict needs, in (0, 1).
    unconverged
        Why the draws are not to be used, or None.
    empty_groups
        Names of groups without rows.
    forecast
        Returns how many more labels would probably settle it; called if labels are missing.
    tipping_point
        Returns `Verdict.tipping_point`, given the status; called if it is a pass or fail.
    """
    check, parts, involved = question.check, question.parts, np.unique(question.pairs)
    exact = bool(all(part.known[involved].all() for part in parts))
    if exact:  # all draws are equal
        parts = tuple(replace(p, draws=p.draws[:1, :1], without_model=None) for p in parts)
    any_beyond = any_unknown = np.zeros(parts[0].draws.shape[:2], dtype=bool)
    obstacles = [] if question.decided is None else [question.decided]
    can_judge = False
    pairs: list[PairWithin] = []
    directions: list[tuple[Beyond, ByGroup, tuple[int, int]]] = []
    blind = [np.asarray(np.isnan(p.free).reshape(-1, len(p.groups)).all(axis=0)) for p in parts]
    for pair in question.pairs:
        one, two = (parts[0].groups[at] for at in pair)
        outside = unknown = np.zeros((), dtype=bool)
        worst, of_pair, unsupported = np.full((), np.nan), [], []
        for metric, part, none in zip(check.metrics, parts, blind, strict=True):
            gap, above, below = compare(check, part.draws, pair)
            undefined = np.isnan(gap)
            outside, unknown = outside | above | below, unknown | undefined
            worst = (np.fmin if check.relation == "ratio" else np.fmax)(worst, np.abs(gap))
            if why := [w for at in pair if (w := question.obstacle(metric, part, at))]:
                of_pair += why
                continue
            can_judge = True
            unsupported += [
                f"{metric} of {part.groups[at]} has too few labels to be judged without the model"
                for at in pair
                if none[at]
            ]
            any_beyond, any_unknown = any_beyond | above | below, any_unknown | undefined
            if undefined.mean() <= UNDEFINED_LIMIT:
                signed = float(gap[~undefined].mean())
                defined = (~undefined).sum()
                up, down = (float(side.sum() / defined) for side in (above, below))
                away = signed if check.relation == "ratio" else -signed
                ways = Beyond(metric, one, two, up, signed), Beyond(metric, two, one, down, away)
                directions += zip(ways, (part, part), (pair, pair[::-1]), strict=True)
        obstacles += of_pair + unsupported
        inside, beyond = float((~outside & ~unknown).mean()), float(outside.mean())
        share = 1.0 - inside - beyond
        if not of_pair and share > UNDEFINED_LIMIT:
            of_pair = [NO_RATIO if exact else f"undefined in {share:.0%} of the draws"]
        if of_pair:
            pairs.append(PairWithin(one, two, None, of_pair[0]))
        else:
            mean = float(np.nanmean(worst))
            pairs.append(PairWithin(one, two, inside / (inside + beyond), gap=mean))
    wide = -1.0 if check.relation == "ratio" else 1.0
    sure = [
        (way, float(compare(check, part.free, pair)[1].mean()))
        for way, part, pair in directions
        if way.prob >= prob
    ]
    sure.sort(key=lambda found: (found[0].prob, wide * found[0].gap), reverse=True)
    needs = {name: min(prob, least) for name, least in SUPPORT.items()}
    supports = {"pass": 0.0}
    failing = next((way for way, support in sure if support >= needs["fail"]), None)
    supports["fail"] = max((support for _, support in sure), default=0.0)
    beyond = float(any_beyond.mean())
    inside = float((~any_beyond & ~any_unknown).mean()) if can_judge else 0.0
    judged = inside + beyond
    blocked = next(iter(obstacles), None)
    if blocked is None and 1.0 - judged > UNDEFINED_LIMIT:
        blocked = NO_RATIO if exact else f"a gap is undefined in {1.0 - judged:.0%} of the draws"
    if unconverged is not None and not exact:
        blocked, failing = unconverged, None
    status, reason, lacking = "insufficient", blocked, None
    if failing is not None:
        status, reason = "fail", None
    elif blocked is None and sure:
        lacking = "fail"  # the verdict of the model that labels do not support
    elif blocked is None and inside >= prob * judged:
        every = itertools.product(parts, question.pairs)
        gaps = (compare(check, part.free, pair) for part, pair in every)
        inner = (~(np.isnan(gap) | above | below) for gap, above, below in gaps)
        supports["pass"] = min(float(one.mean()) for one in inner)
        if supports["pass"] >= needs["pass"]:
            status = "pass"
        else:
            lacking = "pass"
    elif blocked is None:
        reason = f"neither within nor beyond the limit with probability {prob:g}"
        if len(pairs) > 1:
            reason = f"not all within the limit, and no pair beyond it with probability {prob:g}"
            if beyond >= prob * judged:  # typical of equal groups with few labels
                reason = (
                    "at least one pair probably exceeds the limit, but no single pair does with "
                    f"probability {prob:g}"
                )
    if lacking is not None:
        chance = f"{probability(supports[lacking])} only, not {needs[lacking]:g}"
        reason = f"labels without the model support a {lacking} with probability {chance}"
    more, no_forecast = None, f"the verdict is {status}"
    if status == "insufficient":
        more = forecast() if blocked is None else None
        no_forecast = "no number of labels within reach would probably settle it"
        no_forecast = no_forecast if blocked is None else f"not forecast, as {blocked}"
    return Verdict(
        check,
        status,
        prob,
        inside / judged if judged > 0.0 else None,
        tuple(pairs),
        exact,
        reason,
        more,
        empty_groups,
        failing,
        no_forecast if more is None else None,
        None if exact or status == "insufficient" else tipping_point(status),
    )


def compare(check: Check, draws: Floats, pair: tuple[int, int]) -> tuple[Floats, Bools, Bools]:
    """Return the gap, NaN if undefined, and whether one, or two, is too far above the other.

    The gap is the difference one - two, or the ratio of the lower to the higher, in [0, 1].
    """
    one, two = (draws[..., at] for at in pair)
    with np.errstate(invalid="ignore"):
        if check.relation == "difference":
            gap = one - two
            return gap, gap > check.within + BORDER, gap < -check.within - BORDER
        one, two = minus(one, 0.0), minus(two, 0.0)
        low, high = np.minimum(one, two), np.maximum(one, two)
        gap = over(low, high, np.nan)
        apart: Bools = gap < check.within - BORDER
    return gap, apart & (one > two), apart & (two > one)


def _beyond(check: Check, beyond: Beyond, exact: bool) -> str:
    """Return which group is too far above which, and with which probability or by how much."""
    sign = -1.0 if check.relation == "ratio" else 1.0
    below, more, size = "below ", "more than ", f"{check.within:g}"
    certainty = f" with probability {probability(beyond.prob)}"
    if exact:  # as many digits as show that it is beyond the limit
        digits = (n for n in range(3, 12) if sign * (round(beyond.gap, n) - check.within) > 0.0)
        below, more, size = "", "", number(beyond.gap, next(digits, 12))
        certainty = ", known exactly"
    text = f"of {beyond.higher} is above that of {beyond.lower} by {more}{size}"
    if sign < 0.0:
        text = f"of {beyond.lower} is {below}{size} of that of {beyond.higher}"
    return f"{beyond.metric} {text}{certainty}"
