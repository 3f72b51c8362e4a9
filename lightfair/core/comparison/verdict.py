"""Verdict: are the gaps small enough? Pass, fail, or not enough evidence to say.

    pass          P(all gaps of the check are within its limit) >= prob
    fail          P(this group is above that one by more than the limit) >= prob, of some pair
    insufficient  neither, or something stands against a verdict

To pass is a joint statement, of all pairs and metrics at once. To fail needs a pair and a
direction: among several groups of which little is known some gap is large for sure, though they be
equal, and that is no evidence against any of them. With two groups the two statements are each
other's opposites, up to the smaller tail.

What stands against a verdict: chains that have not converged; a group without labels, whose numbers
rest on the prior and the other groups; a metric that is undefined in more than 5 % of the draws.
The last two forbid to pass; the gaps that they leave may still fail. A group without rows has no
gaps: it gets no verdict, and is listed. `prob` is that of the intervals unless it is given. What is
known exactly is decided with certainty.

How many labels would probably settle it is the smallest number with which that has a chance of
80 %. Between two groups `planning` forecasts it. Else draws are taken for the truth, and the draws
that there are are moved towards it and narrowed as the mean and the spread of a normal posterior
would be, with a variance that falls as 1 / labels.

On the command line verdicts are on top of the report and in the exit code: 0 where all pass, 1
where one fails, 3 where none fails and one lacks evidence::

    lightfair assess scores.csv --score score --label label --group sex \
        --check "tpr<=0.05" --check "selection_rate ratio>=0.8"

From Python: `assess(..., checks=[...])` and `result.checks`, or `result.check("tpr<=0.05")`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats
from ..data.messages import counted, number, probability
from ..metrics.estimate import BORDER, ROUNDING, UNDEFINED_LIMIT, undefined_reason
from .check import Check
from .gaps import ByGroup, pair_indices

Bools = npt.NDArray[np.bool_]

BLOCK = 256  # pairs at a time

NO_RATIO = "a ratio of 0 to 0 is undefined"

NO_END = "no number of labels within reach would probably settle it"


@dataclass(frozen=True)
class PairWithin:
    """Whether one pair of groups is within the limit, in all metrics of the check at once.

    Attributes
    ----------
    group, reference : str
    prob_within : float or None
    reason : str or None
        Why there is no probability.
    gap : float or None
        Posterior mean of what the limit is of: of the largest absolute difference over the metrics,
        or of the smallest ratio of the lower to the higher.
    """

    group: str
    reference: str
    prob_within: float | None
    reason: str | None = None
    gap: float | None = None


class Beyond(NamedTuple):
    """The direction that is surest beyond the limit, of those that are equally sure the farthest.

    A metric, two groups, the probability, and the posterior mean of what the limit is of: of the
    difference, or of the ratio of the lower to the higher.
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
    beyond : Beyond or None
        What fails: the surest of the directions beyond the limit; None where nothing fails.
    more_labels_reason : str or None
        Why there is no `more_labels`; None where there is.

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
        """What the limit is of: "difference" or "ratio"."""
        return self.check.relation

    @property
    def worst(self) -> PairWithin | None:
        """The first of `ranked`; None where no pair can be judged."""
        first = self.ranked[0] if self.pairs else None
        return None if first is None or first.prob_within is None else first

    @property
    def ranked(self) -> tuple[PairWithin, ...]:
        """The pairs, the least likely within the limit first, of equals that of the widest gap."""

        def key(pair: PairWithin) -> tuple[float, float]:
            if pair.prob_within is None or pair.gap is None:
                return 2.0, 0.0
            return pair.prob_within, pair.gap if self.relation == "ratio" else -pair.gap

        return tuple(sorted(self.pairs, key=key))

    @property
    def sentence(self) -> str:
        """The verdict in words."""

        return verdict_sentence(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values; of more than 200 pairs, the worst."""

        return verdict_values(self)


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
        """Whether all that is compared is a fact."""
        involved = np.unique(self.pairs)
        return all(bool(part.known[involved].all()) for part in self.parts)

    def obstacles(self) -> list[dict[int, str]]:
        """For each metric the groups that cannot be judged, and why."""
        found = []
        for metric, part in zip(self.check.metrics, self.parts, strict=True):
            mine = {}
            for at, name in enumerate(part.groups):
                if not (self.labeled[at] or part.known[at] or part.label_free):
                    mine[at] = f"group {name} has no labels and rests on the prior"
                elif why := undefined_reason(float(part.undefined[at]), part.lack):
                    mine[at] = f"{metric} of {name} is undefined: {why}"
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
    if question.exact:  # every draw says the same
        alike = tuple(replace(part, draws=part.draws[:1, :1]) for part in question.parts)
        question = question._replace(parts=alike)
    obstacles = question.obstacles()
    inside, beyond = joint(question, obstacles)
    said = inside + beyond
    each = by_pair(question, obstacles)
    status, reason, more, why = "insufficient", None, None, None
    if unconverged is not None and not question.exact:
        reason = unconverged
    elif each.surest >= prob:
        status = "fail"
    elif against := [m[at] for m in obstacles for pair in question.pairs for at in pair if at in m]:
        reason = against[0]
    elif 1.0 - said > UNDEFINED_LIMIT:
        reason = f"a gap is undefined in {1.0 - said:.0%} of the draws"
        reason = NO_RATIO if question.exact else reason
    elif inside >= prob * said:
        status = "pass"
    else:
        reason = f"neither within nor beyond it with probability {prob:g}"
        if len(question.pairs) > 1:
            reason = f"not all within, and no pair beyond it with probability {prob:g}"
            if beyond >= prob * said:  # as it is of equal groups of which little is known
                reason = f"some pair is beyond it, but no one pair is with probability {prob:g}"
        more = forecast()
        why = None if more is not None else NO_END
    if more is None and why is None:
        why = f"the verdict is {status}" if reason is None else f"not forecast, as {reason}"
    return Verdict(
        question.check,
        status,
        prob,
        inside / said if said > 0.0 else None,
        _pairs(question, each, obstacles),
        question.exact,
        reason,
        more,
        empty_groups,
        surest(question, each) if status == "fail" else None,
        why,
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
        if 2 * len(question.pairs) == len(part.groups) * (len(part.groups) - 1):
            kept = np.delete(values, [*mine], axis=1)  # of every pair the extremes say all
            unknown = unknown | np.isnan(kept).any(axis=1)
            one, two = (f.reduce(kept, axis=1)[:, None] for f in (np.fmax, np.fmin))
        else:
            one, two = (values[:, [*column]] for column in zip(*pairs, strict=True))
        _, seen, up, down = compared(question.check, one, two)
        beyond = beyond | (up | down).any(axis=1)
        unknown = unknown | (~seen).any(axis=1)
    if not asked:
        return 0.0, 0.0
    return float((~beyond & ~unknown).mean()), float(beyond.mean())


class ByPair(NamedTuple):
    """Of each pair alone: shares of draws, and means of what the limit is of.

    inside: within the limit in all metrics; beyond: in some not; gap: mean in the metric where it
    is worst: float64 (pair,), NaN where nothing can be said. up, down: shares in which the first of
    a pair is too far above the second, and the second above the first; apart: mean of `gaps`:
    float64 (metric, pair), shares 0 where nothing can be said.
    """

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


def by_pair(question: Question, obstacles: list[dict[int, str]]) -> ByPair:
    """Judge each pair alone."""
    size = (len(question.parts), len(question.pairs))
    inside, beyond, gap = np.full((3, size[1]), np.nan)
    up, down, apart = np.zeros((3, *size))
    worse = np.fmin if question.check.relation == "ratio" else np.fmax
    for first in range(0, size[1], BLOCK):
        block = slice(first, first + BLOCK)
        pairs = question.pairs[block]
        one, two = (np.array(column) for column in zip(*pairs, strict=True))
        outside = unknown = np.zeros((), dtype=bool)
        worst = np.full((), np.nan)
        open_pair = np.zeros(len(pairs), dtype=bool)
        for m, (part, mine) in enumerate(zip(question.parts, obstacles, strict=True)):
            values = part.draws.reshape(-1, len(part.groups))
            far, seen, rise, fall = compared(question.check, values[:, one], values[:, two])
            usable = np.array([not mine.keys() & set(pair) for pair in pairs])
            open_pair |= ~usable
            outside = outside | rise | fall
            unknown = unknown | ~seen
            worst = worse(worst, np.abs(far))
            sure = np.where(usable, directions(seen, rise, fall), 0.0)
            up[m, block], down[m, block] = sure
            apart[m, block] = _mean(far)
        inside[block] = np.where(open_pair, np.nan, (~outside & ~unknown).mean(axis=0))
        beyond[block] = np.where(open_pair, np.nan, outside.mean(axis=0))
        gap[block] = np.where(open_pair, np.nan, _mean(worst))
    return ByPair(inside, beyond, gap, up, down, apart)


def directions(seen: Bools, up: Bools, down: Bools) -> Floats:
    """Return the probabilities that one, and that two, is too far above, float64 (2, pair).

    Arguments (draw, pair) as from `compared`; 0 where the gap is undefined in too many draws.
    """
    share = np.stack([up.sum(axis=0), down.sum(axis=0)]) / np.maximum(seen.sum(axis=0), 1)
    return np.where(seen.mean(axis=0) < 1.0 - UNDEFINED_LIMIT, 0.0, share)


def surest(question: Question, each: ByPair) -> Beyond:
    """Return the direction whose probability is `ByPair.surest`, of several the farthest."""
    ratio = question.check.relation == "ratio"
    probs = np.stack([each.up, each.down])
    signed = np.stack([each.apart, each.apart if ratio else -each.apart])
    farthest = np.where(probs == each.surest, -signed if ratio else signed, -np.inf)
    down, m, at = np.unravel_index(int(np.argmax(farthest)), farthest.shape)
    names = [question.parts[m].groups[one] for one in question.pairs[at]]
    high, low = reversed(names) if down else names
    metric = question.check.metrics[m]
    return Beyond(metric, high, low, each.surest, float(signed[down, m, at]))


def gaps(check: Check, one: Floats, two: Floats) -> Floats:
    """Return what the limit is of, NaN where it is undefined.

    The difference one - two, or the ratio of the lower to the higher, in [0, 1].
    """
    if check.relation == "difference":
        return one - two
    one, two = (np.where(np.abs(values) < ROUNDING, 0.0, values) for values in (one, two))
    low, high = np.minimum(one, two), np.maximum(one, two)
    ratio: Floats = np.divide(low, high, out=np.full_like(low, np.nan), where=high > 0.0)
    return ratio


def _mean(values: Floats) -> Floats:
    """The mean over draws that are defined, of each column."""
    whole = np.asarray(values.mean(axis=0))
    if not np.isnan(whole).any():
        return whole
    seen = ~np.isnan(values)
    total = np.where(seen, values, 0.0).sum(axis=0)
    count = seen.sum(axis=0)
    mean: Floats = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return mean


def compared(check: Check, one: Floats, two: Floats) -> tuple[Floats, Bools, Bools, Bools]:
    """Return `gaps`, where they are defined, and where one, or two, is too far above the other."""
    gap = gaps(check, one, two)
    seen = ~np.isnan(gap)
    if check.relation == "difference":
        defined = np.where(seen, gap, 0.0)
        return gap, seen, defined > check.within + BORDER, defined < -check.within - BORDER
    apart = seen & (gap < check.within - BORDER)
    return gap, seen, apart & (one > two), apart & (two > one)


def _pairs(
    question: Question, each: ByPair, obstacles: list[dict[int, str]]
) -> tuple[PairWithin, ...]:
    names, found = question.parts[0].groups, []
    numbers = zip(question.pairs, each.inside, each.beyond, each.gap, strict=True)
    for pair, inside, beyond, gap in numbers:
        one, two = (names[at] for at in pair)
        reason = next((mine[at] for mine in obstacles for at in pair if at in mine), None)
        share = 1.0 - inside - beyond
        if reason is None and share > UNDEFINED_LIMIT:
            reason = NO_RATIO if question.exact else f"undefined in {share:.0%} of the draws"
        if reason is not None:
            found.append(PairWithin(one, two, None, reason))
        else:
            within = float(inside / (inside + beyond))
            found.append(PairWithin(one, two, within, gap=float(gap)))
    return tuple(found)


LISTED = 200  # pairs in the plain values, those that matter most


def verdict_values(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain values; of more than 200 pairs, the least likely within."""
    listed = verdict.ranked
    return {
        "check": verdict.check.text,
        **verdict.check._asdict(),
        "status": verdict.status,
        "prob": verdict.prob,
        "prob_within": verdict.prob_within,
        "exact": verdict.exact,
        "reason": verdict.reason,
        "more_labels": verdict.more_labels,
        **({"more_labels_reason": why} if (why := verdict.more_labels_reason) else {}),
        "pairs": [dict(pair.__dict__) for pair in listed[:LISTED]],
        "pairs_left_out": max(len(listed) - LISTED, 0),
        "empty_groups": list(verdict.empty_groups),
        **({} if verdict.beyond is None else {"beyond": verdict.beyond._asdict()}),
        "sentence": verdict.sentence,
    }


def verdict_sentence(verdict: Verdict) -> str:
    """Say a verdict, with the probabilities that it rests on."""
    status = "insufficient evidence" if verdict.status == "insufficient" else verdict.status
    known = verdict.exact and verdict.status != "insufficient"
    because = not known and (verdict.reason is not None or verdict.beyond is not None)
    return f"{verdict.check.text}: {status}{', ' if because else '; '}{_because(verdict)}."


def verdict_text(verdict: Verdict) -> str:
    """Say what a verdict rests on, without its status."""
    return f"{verdict.check.text}: {_because(verdict)}."


def _because(verdict: Verdict) -> str:
    words = "; ".join(_verdict_words(verdict))
    if verdict.empty_groups:
        words += "; no verdict on groups without rows: " + "; ".join(verdict.empty_groups)
    return words


def _verdict_words(verdict: Verdict) -> list[str]:
    worst = verdict.worst
    if verdict.exact and verdict.status == "pass":
        return [f"{_gaps(verdict)}, known exactly"]
    words = [verdict.reason] if verdict.reason is not None else []
    if verdict.beyond is not None:
        words = [_beyond(verdict, verdict.beyond)]
        if verdict.exact:
            return words
    if verdict.exact and worst is not None:
        words.append(f"{_gaps(verdict)}, known exactly")
    elif verdict.prob_within is not None:
        words.append(f"{_gaps(verdict)} with probability {probability(verdict.prob_within)}")
    several = sum(mine.prob_within is not None for mine in verdict.pairs) > 1
    if several and not verdict.exact and verdict.status == "insufficient" and worst is not None:
        least = probability(worst.prob_within)
        words.append(f"least likely {worst.group} and {worst.reference}, {least}")
    if verdict.more_labels is not None:
        more = counted(verdict.more_labels, "more label")
        words.append(f"about {more} would probably settle it")
    return words


def _beyond(verdict: Verdict, found: Beyond) -> str:
    """Say which group is too far above which: by how much, or how surely by more than the limit."""
    below, more, size = "below ", "more than ", f"{verdict.within:g}"
    sure = f" with probability {probability(found.prob)}"
    if verdict.exact:
        below, more, sure = "", "", ", known exactly"
        digits = 3  # as many as show that it is beyond the limit
        while digits < 12 and _at_limit(verdict, round(found.gap, digits)):
            digits += 1
        size = number(found.gap, digits)
    if verdict.relation == "ratio":
        said = f"of {found.lower} is {below}{size} of that of {found.higher}"
    else:
        said = f"of {found.higher} is above that of {found.lower} by {more}{size}"
    return f"{found.metric} {said}{sure}"


def _at_limit(verdict: Verdict, gap: float) -> bool:
    """Whether a gap is within its limit."""
    return gap >= verdict.within if verdict.relation == "ratio" else gap <= verdict.within


def _gaps(verdict: Verdict) -> str:
    """Say what is within the limit: the pair that there is, or all."""
    near = f"within {verdict.within:g}"
    if verdict.relation == "ratio":
        near = f"at least {verdict.within:g} of each other"
    said = f"{verdict.pairs[0].group} and {verdict.pairs[0].reference}"
    if len(verdict.pairs) > 1:
        said = f"all {len(verdict.pairs):,} pairs"
    judged = sum(mine.prob_within is not None for mine in verdict.pairs)
    if judged < len(verdict.pairs):
        said = f"{said}, as far as they can be judged,"
    if verdict.exact and 0 < judged < len(verdict.pairs):
        said = f"of {len(verdict.pairs):,} pairs the {judged:,} that can be judged"
    return f"{said} {near}"
