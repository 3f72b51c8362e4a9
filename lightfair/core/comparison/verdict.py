"""Verdicts on checks: pass, fail, or inconclusive.

    pass          P(all gaps of the check are within its limit) >= prob
    fail          P(this group is above that one by more than the limit) >= prob, for some pair
    insufficient  neither, or an obstacle: inconclusive

Passing is a joint statement about all pairs and metrics. Failing needs one pair and a direction:
among several groups with few labels some gap is almost surely large even if all are equal, and that
is not evidence against any of them. With two groups the two statements are complementary, up to the
smaller tail.

Obstacles are chains that have not converged; a group without labels, whose numbers depend on the
prior and the other groups; and a metric that is undefined in more than 5 % of the draws. The last
two rule out a pass; other gaps may still fail. A group without rows has no gaps: it gets no
verdict, and is listed. `prob` is the credible level unless given. Exact gaps are decided with
certainty.

On the command line verdicts head the report and determine the exit code: 0 if all pass, 1 if one
fails, 3 if none fails and one is inconclusive::

    lightfair assess scores.csv --score score --label label --group sex \
        --check "tpr<=0.05" --check "selection_rate ratio>=0.8"

In Python: `assess(..., checks=[...])` and `result.checks`, or `result.check("tpr<=0.05")`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats
from ..data.messages import counted, number, probability
from ..metrics.estimate import BORDER, UNDEFINED_LIMIT, rounded, undefined_reason
from .check import Check
from .gaps import ByGroup, pair_indices

Bools = npt.NDArray[np.bool_]

BLOCK = 256  # pairs at a time

LISTED = 200  # pairs in the plain values, the worst

NO_RATIO = "a ratio of 0 to 0 is undefined"


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
        """What is limited: "difference" or "ratio"."""
        return self.check.relation

    @property
    def worst(self) -> PairWithin | None:
        """The first of `ranked`; None if no pair can be judged."""
        first = self.ranked[0] if self.pairs else None
        return None if first is None or first.prob_within is None else first

    @property
    def ranked(self) -> tuple[PairWithin, ...]:
        """The pairs, least likely within the limit first, then by the widest gap."""
        sign = 1.0 if self.relation == "ratio" else -1.0

        def key(pair: PairWithin) -> tuple[float, float]:
            if pair.prob_within is None or pair.gap is None:
                return 2.0, 0.0
            return pair.prob_within, sign * pair.gap

        return tuple(sorted(self.pairs, key=key))

    @property
    def sentence(self) -> str:
        """The verdict in words, with its probabilities."""
        inconclusive = self.status == "insufficient"
        status = "insufficient evidence" if inconclusive else self.status
        because = inconclusive or not self.exact
        because = because and (self.reason is not None or self.beyond is not None)
        return f"{self.check.text}: {status}{', ' if because else '; '}{_basis(self)}."

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values; of more than 200 pairs, the worst."""
        ranked = self.ranked
        return {
            "check": self.check.text,
            **self.check._asdict(),
            "status": self.status,
            "prob": self.prob,
            "prob_within": self.prob_within,
            "exact": self.exact,
            "reason": self.reason,
            "more_labels": self.more_labels,
            **({"more_labels_reason": why} if (why := self.more_labels_reason) else {}),
            "pairs": [dict(pair.__dict__) for pair in ranked[:LISTED]],
            "pairs_left_out": max(len(ranked) - LISTED, 0),
            "empty_groups": list(self.empty_groups),
            **({} if self.beyond is None else {"beyond": self.beyond._asdict()}),
            "sentence": self.sentence,
        }


class Question(NamedTuple):
    """A check, the draws of each of its metrics, and the pairs of groups that it compares.

    labeled: bool (group,), whether a group has labels.
    """

    check: Check
    parts: tuple[ByGroup, ...]
    pairs: list[tuple[int, int]]
    labeled: Bools

    @property
    def exact(self) -> bool:
        """Whether all compared metrics are known exactly."""
        involved = np.unique(self.pairs)
        return all(bool(part.known[involved].all()) for part in self.parts)

    def obstacles(self) -> list[dict[int, str]]:
        """For each metric the groups that cannot be judged, and why."""
        found = []
        for metric, part in zip(self.check.metrics, self.parts, strict=True):
            reasons = {}
            for at, name in enumerate(part.groups):
                if not (self.labeled[at] or part.known[at] or part.label_free):
                    reasons[at] = f"group {name} has no labels and rests on the prior"
                elif why := undefined_reason(float(part.undefined[at]), part.lack):
                    reasons[at] = f"{metric} of {name} is undefined: {why}"
            found.append(reasons)
        return found


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """Return 1 if any verdict is fail, else 3 if any is inconclusive, else 0."""
    statuses = {verdict.status for verdict in verdicts}
    return 1 if "fail" in statuses else 3 if "insufficient" in statuses else 0


def compared_pairs(
    groups: int, group: int | None, reference: int | None, base: int | None
) -> list[tuple[int, int]]:
    """Return the pairs that a check compares, as (group, reference).

    With neither, every pair, `base` the reference in its own; with a reference, every other group
    and it; with a group, that one and the reference, by default `base`.
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
    """
    exact = question.exact
    if exact:  # all draws are equal
        parts = tuple(replace(part, draws=part.draws[:1, :1]) for part in question.parts)
        question = question._replace(parts=parts)
    obstacles = question.obstacles()
    gaps = pair_gaps(question, obstacles)
    inside, beyond = gaps.all_inside, gaps.any_beyond
    judged = inside + beyond
    in_the_way = [
        why[at] for why in obstacles for pair in question.pairs for at in pair if at in why
    ]
    status, reason, more, no_forecast = "insufficient", None, None, None
    if unconverged is not None and not exact:
        reason = unconverged
    elif gaps.surest >= prob:
        status = "fail"
    elif in_the_way:
        reason = in_the_way[0]
    elif 1.0 - judged > UNDEFINED_LIMIT:
        reason = NO_RATIO if exact else f"a gap is undefined in {1.0 - judged:.0%} of the draws"
    elif inside >= prob * judged:
        status = "pass"
    else:
        reason = f"neither within nor beyond the limit with probability {prob:g}"
        if len(question.pairs) > 1:
            reason = f"not all within the limit, and no pair beyond it with probability {prob:g}"
            if beyond >= prob * judged:  # typical of equal groups with few labels
                reason = (
                    "at least one pair probably exceeds the limit, but no single pair does with "
                    f"probability {prob:g}"
                )
        more = forecast()
        no_forecast = "no number of labels within reach would probably settle it"
    if no_forecast is None:
        no_forecast = f"the verdict is {status}" if reason is None else f"not forecast, as {reason}"
    return Verdict(
        question.check,
        status,
        prob,
        inside / judged if judged > 0.0 else None,
        _pairs(question, gaps, obstacles),
        exact,
        reason,
        more,
        empty_groups,
        _surest(question, gaps) if status == "fail" else None,
        no_forecast if more is None else None,
    )


class PairGaps(NamedTuple):
    """Shares of draws with gaps within and beyond the limit, and means of the gaps.

    all_inside, any_beyond: of all pairs at once, in the metrics that can be judged; inside, beyond:
    float64 (pair,), of each pair separately, in all metrics and in any; gap: float64 (pair,), mean
    in the metric where it is worst; these are NaN if a pair cannot be judged. up, down: float64
    (metric, pair), shares in which the first of a pair is too far above the second, and the second
    above the first, 0 if it cannot be judged; apart: float64 (metric, pair), mean gap.
    """

    all_inside: float
    any_beyond: float
    inside: Floats
    beyond: Floats
    gap: Floats
    up: Floats
    down: Floats
    apart: Floats

    @property
    def surest(self) -> float:
        """Largest probability of a direction beyond the limit in one metric."""
        return float(max(self.up.max(), self.down.max()))


def pair_gaps(question: Question, obstacles: list[dict[int, str]]) -> PairGaps:
    """Compare the pairs of a check with its limit, draw by draw."""
    size = (len(question.parts), len(question.pairs))
    inside, beyond, gap = np.full((3, size[1]), np.nan)
    up, down, apart = np.zeros((3, *size))
    usable = np.array([[not why.keys() & {*pair} for pair in question.pairs] for why in obstacles])
    any_beyond = any_unknown = np.zeros(question.parts[0].draws[..., 0].size, dtype=bool)
    worse = np.fmin if question.check.relation == "ratio" else np.fmax
    for first in range(0, size[1], BLOCK):
        block = slice(first, first + BLOCK)
        one, two = (np.array(column) for column in zip(*question.pairs[block], strict=True))
        outside = unknown = np.zeros((), dtype=bool)
        worst = np.full((), np.nan)
        for m, part in enumerate(question.parts):
            draws, ok = part.draws.reshape(-1, len(part.groups)), usable[m, block]
            far, rise, fall = _compare(question.check, draws[:, one], draws[:, two])
            undefined = np.isnan(far)
            any_beyond = any_beyond | (rise | fall)[:, ok].any(axis=1)
            any_unknown = any_unknown | undefined[:, ok].any(axis=1)
            outside, unknown = outside | rise | fall, unknown | undefined
            worst = worse(worst, np.abs(far))
            ok = ok & (undefined.mean(axis=0) <= UNDEFINED_LIMIT)
            defined = np.maximum((~undefined).sum(axis=0), 1)
            up[m, block] = np.where(ok, rise.sum(axis=0) / defined, 0.0)
            down[m, block] = np.where(ok, fall.sum(axis=0) / defined, 0.0)
            apart[m, block] = _mean(far)
        every = usable[:, block].all(axis=0)
        inside[block] = np.where(every, (~outside & ~unknown).mean(axis=0), np.nan)
        beyond[block] = np.where(every, outside.mean(axis=0), np.nan)
        gap[block] = np.where(every, _mean(worst), np.nan)
    all_inside = float((~any_beyond & ~any_unknown).mean()) if usable.any() else 0.0
    return PairGaps(all_inside, float(any_beyond.mean()), inside, beyond, gap, up, down, apart)


def _compare(check: Check, one: Floats, two: Floats) -> tuple[Floats, Bools, Bools]:
    """Return the gap, NaN if undefined, and whether one, or two, is too far above the other.

    The gap is the difference one - two, or the ratio of the lower to the higher, in [0, 1].
    """
    with np.errstate(invalid="ignore"):
        if check.relation == "difference":
            gap = one - two
            return gap, gap > check.within + BORDER, gap < -check.within - BORDER
        one, two = rounded(one), rounded(two)
        low, high = np.minimum(one, two), np.maximum(one, two)
        gap = np.divide(low, high, out=np.full_like(low, np.nan), where=high > 0.0)
        apart: Bools = gap < check.within - BORDER
    return gap, apart & (one > two), apart & (two > one)


def _mean(values: Floats) -> Floats:
    """Mean over defined draws, of each column; NaN if there are none."""
    defined = ~np.isnan(values)
    total, count = np.where(defined, values, 0.0).sum(axis=0), defined.sum(axis=0)
    mean: Floats = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return mean


def _surest(question: Question, gaps: PairGaps) -> Beyond:
    """Return the direction whose probability is `PairGaps.surest`, among equal ones the widest."""
    ratio = question.check.relation == "ratio"
    signed = np.stack([gaps.apart, gaps.apart if ratio else -gaps.apart])
    width = np.where(np.stack([gaps.up, gaps.down]) == gaps.surest, signed, np.nan)
    width = np.where(np.isnan(width), -np.inf, -width if ratio else width)
    down, m, at = np.unravel_index(int(np.argmax(width)), width.shape)
    names = [question.parts[m].groups[group] for group in question.pairs[at]]
    high, low = reversed(names) if down else names
    metric = question.check.metrics[m]
    return Beyond(metric, high, low, gaps.surest, float(signed[down, m, at]))


def _pairs(
    question: Question, gaps: PairGaps, obstacles: list[dict[int, str]]
) -> tuple[PairWithin, ...]:
    pairs = []
    columns = zip(question.pairs, gaps.inside, gaps.beyond, gaps.gap, strict=True)
    for pair, inside, beyond, gap in columns:
        one, two = (question.parts[0].groups[at] for at in pair)
        reason = next((why[at] for why in obstacles for at in pair if at in why), None)
        undefined = 1.0 - inside - beyond
        if reason is None and undefined > UNDEFINED_LIMIT:
            reason = NO_RATIO if question.exact else f"undefined in {undefined:.0%} of the draws"
        if reason is not None:
            pairs.append(PairWithin(one, two, None, reason))
        else:
            pairs.append(PairWithin(one, two, float(inside / (inside + beyond)), gap=float(gap)))
    return tuple(pairs)


def verdict_text(verdict: Verdict) -> str:
    """Return the basis of a verdict in words, without its status."""
    return f"{verdict.check.text}: {_basis(verdict)}."


def _basis(verdict: Verdict) -> str:
    """Return the basis of a verdict: gaps, probabilities, forecast."""
    clauses, worst = [], verdict.worst
    if verdict.beyond is not None:
        clauses.append(_beyond(verdict, verdict.beyond))
    elif verdict.reason is not None:
        clauses.append(verdict.reason)
    if not verdict.exact:
        if verdict.prob_within is not None:
            clauses.append(
                f"{_within(verdict)} with probability {probability(verdict.prob_within)}"
            )
        judged = sum(pair.prob_within is not None for pair in verdict.pairs)
        if judged > 1 and verdict.status == "insufficient" and worst is not None:
            least = probability(worst.prob_within)
            clauses.append(f"least likely {worst.group} and {worst.reference}, {least}")
    elif verdict.beyond is None and (verdict.status == "pass" or worst is not None):
        clauses.append(f"{_within(verdict)}, known exactly")
    if verdict.more_labels is not None:
        more = counted(verdict.more_labels, "more label")
        clauses.append(f"about {more} would probably settle it")
    if verdict.empty_groups:
        clauses.append("no verdict on groups without rows: " + "; ".join(verdict.empty_groups))
    return "; ".join(clauses)


def _beyond(verdict: Verdict, beyond: Beyond) -> str:
    """Return which group is too far above which, and with which probability or by how much."""
    ratio = verdict.relation == "ratio"
    below, more, size = "below ", "more than ", f"{verdict.within:g}"
    certainty = f" with probability {probability(beyond.prob)}"
    if verdict.exact:
        below, more, certainty, digits = "", "", ", known exactly", 3
        while digits < 12:  # as many as show that it is beyond the limit
            gap = round(beyond.gap, digits)
            if gap < verdict.within if ratio else gap > verdict.within:
                break
            digits += 1
        size = number(beyond.gap, digits)
    text = f"of {beyond.higher} is above that of {beyond.lower} by {more}{size}"
    if ratio:
        text = f"of {beyond.lower} is {below}{size} of that of {beyond.higher}"
    return f"{beyond.metric} {text}{certainty}"


def _within(verdict: Verdict) -> str:
    """Return which pairs are within the limit."""
    pairs, limit = verdict.pairs, f"{verdict.within:g}"
    near = f"at least {limit} of each other" if verdict.relation == "ratio" else f"within {limit}"
    subject = f"{pairs[0].group} and {pairs[0].reference}"
    if len(pairs) > 1:
        subject = f"all {len(pairs):,} pairs"
    judged = sum(pair.prob_within is not None for pair in pairs)
    if judged < len(pairs):
        subject = f"{subject}, as far as they can be judged,"
        if verdict.exact and judged > 0:
            subject = f"of {len(pairs):,} pairs the {judged:,} that can be judged"
    return f"{subject} {near}"
