"""Monitoring: a check that is repeated as rows and labels of further periods arrive.

A verdict on each of 52 weeks would fail in some week by chance. Evidence that may be looked at any
number of times is an e-value: its mean is at most 1 while all gaps are within the limit, so that
the probability that it ever reaches 20 is at most 1 in 20 (Ville 1939; for fairness: Chugg and
others, NeurIPS 2023). Each look takes all rows so far. For a pair of groups let d be the estimate
of the gap beyond the limit, and s its standard deviation. As labels accumulate, d / s^2 is nearly a
Brownian motion in the information 1 / s^2, with the gap as its drift. Its evidence for a drift
above 0, averaged over drifts from a half-normal with a scale r, the limit or 0.1 if that is more,
is (Robbins 1970)

    e = 2 (1 + q)^-1/2 exp(x^2 / 2) Phi(x),    q = (r / s)^2,    x = (d / s) (q / (1 + q))^1/2

An alarm rests on the prediction-powered estimate, which uses labels and scores, and no model
(`Assessment.without_model`); ece has none. Half of its evidence is that of all looks, half that
since an earlier look k, for a change, with the weights 1 / (k (k + 1)), where at least a fourth of
the information is newer. The evidence for some gap beyond the limit is the mean over pairs of
groups in both directions, and metrics: a mean of e-values is one. Evidence that all gaps are within
it is the least of those of each gap. The posterior is not used: it would raise alarms earlier, but
where the curve does not fit also while all gaps are within the limit. The gaps shown are its own.

The theory is of many labels. `bench/MONITOR.md` has the share of false alarms with the gap at the
limit, and the delay of alarms beside that of labels alone.

Labels may be late: a period that is given again takes the place of the former one, and may have
more labels and rows. A label must not change its value; it is an error if their numbers show that
one has.

    >>> import lightfair as lf
    >>> def month(seed):
    ...     rows = lf.simulate(rows=1000, labeled=50, rng=seed)
    ...     data = lf.score_data(rows.y_true, rows.y_score, sensitive_features=rows.group)
    ...     return lf.score_table(data)
    >>> found = lf.monitor([(f"2026-{at}", month(at)) for at in (1, 2, 3)], "tpr<=0.01", rng=1)
    >>> found.status, [f"{look.evidence:.1f}" for look in found.looks]
    ('insufficient', ['0.4', '1.0', '2.4'])

On the command line::

    lightfair monitor 2026-01.csv 2026-02.csv 2026-03.csv --label label --score score --group sex \
        --check "tpr<=0.1"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from ..core.assessment import Assessment
from ..core.comparison.gaps import pair_indices
from ..core.comparison.verdict import Check, parse_check
from ..core.data.groups import places_of
from ..core.data.logit import Floats
from ..core.data.messages import check_kind, counted, level_name, list_values, name_key
from ..core.data.table import ScoreTable
from ..core.fit import Progress
from ..core.metrics.estimate import UNDEFINED_LIMIT, Estimate, Ratio
from ..core.metrics.labels_only import OVERSTATED
from ..core.pipeline import assess_table
from ..core.settings import Settings
from ..core.values import Based, framed, plain

TAKEN = {"prob", "reference", "family", "hierarchical", "prior", "trust"}  # options of assess
TAKEN |= {"log_odds_cap", "chains", "draws", "warmup"}

LARGEST = 300.0  # logarithm of the largest evidence

LEAST_SCALE = 0.1  # of drifts: of a gap of 0.1 or 0.2 a small limit must not hide the evidence

LEAST = 0.25  # share of the information that evidence of a change needs since the change


def strength(e: float) -> str:
    """Format evidence."""
    return ">1000" if e > 1000.0 else "<0.001" if e < 0.001 else f"{e:.3g}"


class Beyond(NamedTuple):
    """How far one group is above another in a metric, by look.

    middle, low, high: float64 (look,), the difference higher - lower, posterior mean, or the ratio
    lower / higher, median, with the interval of that look alone; NaN where it is undefined.
    evidence, within: float64 (look,), e-values for a gap beyond the limit, and for one within it.
    """

    metric: str
    higher: str
    lower: str
    middle: Floats
    low: Floats
    high: Floats
    evidence: Floats
    within: Floats


class Look(NamedTuple):
    """A look at all rows so far.

    again: whether its period was given before; rows, labeled: numbers so far; evidence: e-value for
    some gap beyond the limit; within: for all gaps within it.
    """

    period: str
    again: bool
    rows: int
    labeled: int
    evidence: float
    within: float


@dataclass(frozen=True, eq=False, repr=False)
class Monitoring(Based):
    """A check that is repeated after every period.

    Attributes
    ----------
    check : Check
    looks : tuple of Look
    gaps : tuple of Beyond
        For each metric every ordered pair of groups, the one with most evidence first: at the
        alarm, or at the last look.
    assessment : Assessment
        Of the last look, with the target "population".

    Examples
    --------
    The method goes on from here.

    >>> import lightfair as lf
    >>> def month(seed):
    ...     rows = lf.simulate(rows=1000, labeled=50, rng=seed)
    ...     data = lf.score_data(rows.y_true, rows.y_score, sensitive_features=rows.group)
    ...     return lf.score_table(data)
    >>> found = lf.monitor({"2026-01": month(1), "2026-02": month(2)}, "tpr<=0.1", rng=1)
    >>> found.status, found.alarm
    ('insufficient', None)
    """

    check: Check
    looks: tuple[Look, ...]
    gaps: tuple[Beyond, ...]
    assessment: Assessment

    @property
    def needed(self) -> float:
        """Evidence of an alarm or a pass: 1 / (1 - prob), with prob = 0.95 it is 20."""
        return 1.0 / (1.0 - self.assessment.settings.prob)

    @property
    def alarm(self) -> int | None:
        """Index of the first look with an alarm."""
        return next(
            (at for at, look in enumerate(self.looks) if look.evidence >= self.needed), None
        )

    @property
    def status(self) -> str:
        """fail after an alarm; else pass if the last look shows all gaps to be within the limit."""
        if self.alarm is not None:
            return "fail"
        return "pass" if self.looks[-1].within >= self.needed else "insufficient"

    @property
    def sentence(self) -> str:
        """The status in words, with its evidence."""
        worst, last, limit = self.gaps[0], self.looks[-1], f"{self.check.within:g}"
        ratio = self.check.relation == "ratio"
        if self.alarm is not None:
            look = self.looks[self.alarm]
            what = f"{worst.metric} of {worst.higher} is above that of {worst.lower} by more than"
            if ratio:
                what = f"{worst.metric} of {worst.lower} over that of {worst.higher} is below"
            text = f"alarm at {look.period}: {what} {limit}; evidence {strength(look.evidence)}"
        elif self.status == "pass":
            what = "ratios are at least" if ratio else "gaps are within"
            text = f"all {what} {limit}; evidence {strength(last.within)}"
        else:
            text = f"no alarm in {counted(len(self.looks), 'look')}; evidence "
            text += f"{strength(last.evidence)} for a gap beyond the limit, "
            text += f"{strength(last.within)} for all within it"
        return f"{text}, {self.needed:.3g} needed"

    def to_dict(self) -> dict[str, Any]:
        """Return the looks as plain values, ready for JSON.

        An undefined number is null. The keys:

        version, settings, data, diagnostics, warnings
            Of the last look, as in an assessment.
        check, status, needed, alarm, sentence
            alarm is the period of the first alarm, or null.
        looks
            period, again, rows, labeled, evidence, within; gaps: metric, higher, lower, mean (or
            median, of a ratio), interval, reason if it is null, evidence, within.

        Examples
        --------
        >>> [look["labeled"] for look in found.to_dict()["looks"]]
        [50, 100]
        """
        looks = [look._asdict() | {"gaps": []} for look in self.looks]
        center = "median" if self.check.relation == "ratio" else "mean"
        for metric, higher, lower, *columns in self.gaps:
            names = {"metric": metric, "higher": higher, "lower": lower}
            for look, values in zip(looks, np.stack(columns, axis=1).tolist(), strict=True):
                middle, low, high, evidence, within = values
                one = {**names, center: plain(middle), "interval": [plain(low), plain(high)]}
                if np.isnan(low):
                    reason = f"{metric} is undefined in {higher} or {lower}"
                    one |= {"interval": None, "reason": reason}
                look["gaps"].append({**one, "evidence": evidence, "within": within})
        alarm = None if self.alarm is None else self.looks[self.alarm].period
        values = {"check": self.check.text, "status": self.status, "needed": self.needed}
        values |= {"alarm": alarm, "sentence": self.sentence, "looks": looks}
        return framed(self.assessment, values)


def monitor(
    periods: Mapping[Any, ScoreTable] | Iterable[tuple[Any, ScoreTable]],
    check: Any,
    *,
    rng: int | np.random.Generator | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Monitoring:
    """Repeat a check after every period, with one guarantee for all looks.

    Parameters
    ----------
    periods : mapping of name to ScoreTable, or iterable of such pairs
        In their order: 2026-01, 2026-02. In pairs a name may come again later, with a table of more
        labels that takes the place of the former one. The first has all groups.
    check : str or Check
        A limit on gaps in the population of these rows, such as "tpr<=0.1".
    rng, progress
        As in `assess`.
    **options
        Of `assess`: prob, reference, family, hierarchical, prior, trust, log_odds_cap, chains,
        draws and warmup.

    Returns
    -------
    Monitoring

    Raises
    ------
    ValueError
        If there is no period or only one group, or a period is out of order, has groups that the
        first does not have or other thresholds, or fewer rows or labels than when it was given
        before; or if the metric cannot be estimated without the model.
    TypeError
        If periods are not pairs of a name and a table, or an option would have no effect.

    Examples
    --------
    >>> import lightfair as lf
    >>> def month(seed):
    ...     rows = lf.simulate(rows=1000, labeled=50, rng=seed)
    ...     data = lf.score_data(rows.y_true, rows.y_score, sensitive_features=rows.group)
    ...     return lf.score_table(data)
    >>> found = lf.monitor({"2026-01": month(1), "2026-02": month(2)}, "tpr ratio>=0.8", rng=1)
    >>> [f"{look.evidence:.2f}" for look in found.looks]
    ['0.24', '0.52']
    """
    check, looks, found = parse_check(check), [], []
    if wrong := sorted({*options} - TAKEN):
        known = ", ".join(sorted(TAKEN))
        raise TypeError(f"monitor does not take {', '.join(wrong)}; leave it out; it takes {known}")
    if modeled := sorted({*OVERSTATED} & {*check.metrics}):
        raise ValueError(f"check must not be of {modeled[0]}, of the model alone; try brier")
    latest: dict[str, ScoreTable] = {}
    total: Any = None  # of the latest tables
    pairs = periods.items() if isinstance(periods, Mapping) else periods
    for pair in pairs if isinstance(pairs, Iterable) else [pairs]:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            rule = "periods must be pairs of a name and a ScoreTable, or a dict of them"
            raise TypeError(f"{rule}; got {type(pair).__name__}")
        period, table = level_name(pair[0]), pair[1]
        check_kind(table, ScoreTable, f"table of {period}", "summarize")
        again = period in latest
        if latest:
            _check_period(period, table, latest)
        latest[period] = table
        try:
            fresh = again or total is None
            total = reduce(add, latest.values()) if fresh else total + table
        except ValueError as error:
            raise ValueError(f"{period} does not go with the periods before: {error}") from error
        given = {**options, "clip": total.clip, "metrics": check.metrics, "checks": (check,)}
        settings = Settings(**given, target="population")
        result = assess_table(total, settings, rng=rng, progress=progress)
        names, values = _gaps(result, check)
        found.append(values)
        looks.append((period, again, int(total.rows), int(total.labeled)))
    if not looks:
        raise ValueError("periods must not be empty; give the table of each")
    middle, low, high, score, known = np.moveaxis(np.array(found), -1, 0)  # float64 (look, gap)
    limit = check.within if check.relation == "difference" else 1.0 - check.within
    scale = max(limit, LEAST_SCALE)
    beyond, within = since_any(score, known, scale), evidence(-score, known, scale)
    columns = zip(middle.T, low.T, high.T, beyond.T, within.T, strict=True)
    gaps = [Beyond(*name, *column) for name, column in zip(names, columns, strict=True)]
    both = zip(beyond.mean(axis=1).tolist(), within.min(axis=1).tolist(), strict=True)
    every = (Look(*look, *one) for look, one in zip(looks, both, strict=True))
    done = Monitoring(check, tuple(every), (), result)
    at = -1 if done.alarm is None else done.alarm
    gaps.sort(key=lambda gap: float(gap.evidence[at]), reverse=True)
    return replace(done, gaps=tuple(gaps))


def _check_period(period: str, table: ScoreTable, latest: dict[str, ScoreTable]) -> None:
    """Raise ValueError for a period that cannot follow those before it."""
    *_, last = latest
    groups = next(iter(latest.values())).groups
    if not {*table.groups} <= {*groups}:
        rule = "periods must have no other groups than the first"
        got = f"{list_values(table.groups)} in {period} after {list_values(groups)}"
        raise ValueError(f"{rule}; got {got}; begin with a period that has all groups")
    if period in latest:
        _check_again(period, groups, latest[period], table)
    elif name_key(period) < name_key(last):
        rule, names = "periods must be in the order of their names", "2026-01, 2026-02"
        raise ValueError(f"{rule}; got {period} after {last}; name them as {names}")


def _check_again(period: str, groups: tuple[str, ...], before: ScoreTable, now: ScoreTable) -> None:
    """Raise ValueError if a period that is given again has lost rows, or changed labels."""
    rows = np.zeros((2, len(groups), 2, 3))
    for counts, one in zip(rows, (before, now), strict=True):
        counts[places_of(one.groups, groups)] = one.sums("rows")
    lost = np.concatenate([rows[..., :2], rows.sum(axis=3, keepdims=True)], axis=3)
    fewer = np.argwhere(lost[1] < lost[0])
    if len(fewer):
        group, _, label = fewer[0].tolist()
        what = f"fewer {'rows' if label == 2 else f'labels {label}'} of {groups[group]}"
        rule = "a period that is given again must keep its rows and the values of its labels"
        raise ValueError(f"{rule}; got {what} in {period} than before")


def _gaps(result: Assessment, check: Check) -> tuple[list[tuple[str, str, str]], list[list[float]]]:
    """Return the names of all ordered pairs, and their middle, low, high, d / s^2 and 1 / s^2.

    The last two are of draws without the model, 0 and 0 where the gap is undefined.
    """
    base = result.groups.index(str(result.settings.reference))
    pairs = [pair for one in pair_indices(len(result.groups), base) for pair in (one, one[::-1])]
    names, values = [], []
    for metric in check.metrics:
        by, free = result.group_draws(metric), result.without_model(metric)
        for high, low in pairs:
            ratio = check.relation == "ratio"
            shown: Estimate | Ratio = by.ratio(low, high) if ratio else by.difference(high, low)
            row = [shown.middle(), *shown.interval()]
            one, two = free[..., high], free[..., low]
            row += _moments(check.within * one - two if ratio else one - two - check.within)
            names.append((metric, result.groups[high], result.groups[low]))
            values.append(row)
    return names, values


def _moments(draws: Floats) -> tuple[float, float]:
    defined = draws[~np.isnan(draws)]
    variance = float(defined.var()) if len(defined) >= (1.0 - UNDEFINED_LIMIT) * draws.size else 0.0
    return (float(defined.mean()) / variance, 1.0 / variance) if variance > 0.0 else (0.0, 0.0)


def since_any(score: Floats, known: Floats, scale: float) -> Floats:
    """Return the e-value for a drift above 0, of all looks or since any of them.

    score, known: float64 (look, gap), as in `evidence`.
    """
    total = 0.5 * evidence(score, known, scale)
    for k in range(1, len(score)):
        newer = np.maximum(known[k:] - known[k - 1], 0.0)
        own = evidence(score[k:] - score[k - 1], newer, scale) / (2.0 * k * (k + 1))
        total[k:] += np.where(newer >= LEAST * known[k:], own, 0.0)
    return total


def evidence(score: Floats, known: Floats, scale: float) -> Floats:
    """Return the e-value for a drift above 0 of a Brownian motion `score` at information `known`.

    score, known: float64 (...), of which known is at least 0; scale: of the half-normal of drifts.

    Examples
    --------
    >>> import numpy as np
    >>> from lightfair.audit.monitor import evidence
    >>> print(evidence(np.array([0.0, 30.0]), np.array([0.0, 100.0]), 0.1).round(1))
    [ 1.  13.2]
    """
    from scipy.special import log_ndtr

    q = scale * scale * known
    x = scale * score / np.sqrt(1.0 + q)
    logs = np.log(2.0) - 0.5 * np.log1p(q) + 0.5 * x * x + log_ndtr(x)
    return np.asarray(np.exp(np.minimum(logs, LARGEST)))
