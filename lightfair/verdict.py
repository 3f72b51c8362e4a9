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

    lightfair assess scores.csv --score score --label label --group sex \\
        --check "tpr<=0.05" --check "selection_rate ratio>=0.8"

From Python: `assess(..., checks=[...])` and `result.checks`, or `result.check("tpr<=0.05")`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .check import Check
from .compare import BORDER, ROUNDING, UNDEFINED_LIMIT, undefined_reason
from .comparisons import ByGroup, pair_indices
from .model import Floats

if TYPE_CHECKING:
    from .assessment import Assessment

Bools = npt.NDArray[np.bool_]

MOST_LABELS = 1000  # times the labels that there are; what needs more is not forecast
BLOCK = 256  # pairs at a time
STEP = 2.0**0.125  # of the search for a number of labels
NO_RATIO = "a ratio of 0 to 0 is undefined"
NO_END = "no number of labels within reach would probably settle it"
LIKELY = 0.8  # chance of a verdict at which labels would "probably" settle it
TRUTHS = (10, 40)  # draws that are each taken for the truth: fewest, most
FEWEST = 400  # draws of a forecast
MOST_NUMBERS = 1_000_000  # draws times pairs of a forecast, where that leaves enough draws


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
        from .comparison_report import verdict_sentence

        return verdict_sentence(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values; of more than 200 pairs, the worst."""
        from .comparison_report import verdict_values

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


def forecast_labels(result: Assessment, question: Question, prob: float) -> int | None:
    """Forecast how many more labels would probably settle a check of a result.

    `planning` forecasts the difference of a metric of counts between two groups; the rest goes by
    the rule of thumb of `labels_to_settle`.
    """
    from . import planning

    check = question.check
    of = result.settings.metric(question.check.metrics[0])
    if (
        check.relation == "difference"
        and len(question.parts) == 1
        and of.of == "counts"
        and of.name in result.theta
        and len(result.groups) == 2
    ):
        more = planning.labels_to_settle(result, of.name, check.within, prob)
        if more != 0:  # by few of the draws it is settled
            return more
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
    int or None. Two significant digits, at least 1; at most `unlabeled` where `finite`. None where
    no number within reach settles it.
    """
    check = question.check
    most = min(unlabeled if finite else MOST_LABELS * labeled, MOST_LABELS * labeled)
    if most == 0:
        return None
    few = _thinned(question)
    obstacles = few.obstacles()
    size = few.parts[0].draws.shape[1]
    count = int(np.clip(MOST_NUMBERS // (len(few.pairs) * size), *TRUTHS))
    truths = np.linspace(0.0, size - 1.0, count).round().astype(int)
    others = np.random.default_rng(0).permutation(truths)

    def settles(more: float) -> bool:
        root = (1.0 + more / labeled) ** -0.5
        settled = 0
        for truth, other in zip(truths, others, strict=True):
            parts = tuple(_after(part, root, truth, other, check.relation) for part in few.parts)
            then = few._replace(parts=parts)
            inside, beyond = joint(then, obstacles)
            near = inside >= prob * (inside + beyond) > 0.0
            settled += bool(near or by_pair(then, obstacles).surest >= prob)
        return settled >= LIKELY * count

    low, high = 0, int(np.ceil(np.log(most) / np.log(STEP)))  # powers of the step
    if not settles(STEP**high):
        return unlabeled if finite and unlabeled == most else None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if settles(STEP**middle) else (middle + 1, high)
    return min(two_digits(STEP**high), most)


def _after(part: ByGroup, root: float, truth: int, other: int, relation: str) -> ByGroup:
    """Draws (1, n, group) after labels that leave `root` of the spread, where a draw is the truth.

    `other` is the draw that chance is taken from. An undefined truth moves nothing.
    """
    mean = _mean(part.draws.reshape(-1, len(part.groups)))
    away = part.draws - mean
    learned = 1.0 - root * root
    move = learned * away[0, truth] + np.sqrt(learned) * root * away[0, other]
    draws = mean + np.nan_to_num(move) + root * away
    return replace(part, draws=np.maximum(draws, 0.0) if relation == "ratio" else draws)


def _thinned(question: Question) -> Question:
    """Take evenly spaced draws, fewer where there are many pairs: a forecast asks many times."""
    size = question.parts[0].draws[..., 0].size
    few = int(np.clip(MOST_NUMBERS // len(question.pairs), FEWEST, size)) if size > FEWEST else size
    at = np.linspace(0.0, size - 1.0, few).round().astype(int)
    parts = []
    for part in question.parts:
        draws = part.draws.reshape(-1, len(part.groups))[at]
        parts.append(replace(part, draws=draws[None]))
    return question._replace(parts=tuple(parts))


def two_digits(value: float) -> int:
    """Round up to two significant digits."""
    size = 10 ** max(len(str(int(np.ceil(value)))) - 2, 0)
    return int(-(-np.ceil(value) // size) * size)


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
