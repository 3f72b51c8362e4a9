"""The report of comparisons and verdicts: plain values, words and tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .between import between_group_sd
from .blocks import Cell, Paragraph, Section, Table
from .compare import Estimate, Gap
from .comparisons import ByGroup, Pair, against_overall, against_rest, largest_gap, pairs
from .criteria import CRITERIA
from .model import Floats
from .overall import overall_draws
from .ratio import Ratio, ratio
from .showing import cell_of, chance, counted, interval, number, probability, small
from .values import plain, summary
from .verdict import Beyond, Verdict

if TYPE_CHECKING:
    from .assessment import Assessment

LISTED = 200  # pairs in the plain values, those that matter most
FOUR_FIFTHS = 0.8


def comparison_values(result: Assessment) -> dict[str, dict[str, Any]]:
    """Return all comparisons of each metric as plain values, but for the differences."""
    names = result.settings.metrics
    if len(result.groups) < 2:
        nothing = {"median": None, "interval": None, "reason": "there is only one group"}
        lists: dict[str, Any] = {
            key: [] for key in ("ratios", "pairs", "against_rest", "against_overall")
        }
        gaps = {key: nothing for key in ("largest_gap", "between_group_sd")}
        return {name: {**lists, **gaps, "pairs_left_out": 0} for name in names}
    overall = overall_draws(result, tuple(map(result.settings.metric, names)))
    return {name: _compared(result, name, overall[name]) for name in names}


def _compared(result: Assessment, name: str, overall: Floats) -> dict[str, Any]:
    prob, epsilon = result.settings.prob, result.settings.epsilon
    by, base = result.by_group(name), result.groups.index(str(result.settings.reference))
    found = pairs(by, base)
    listed = found
    if len(found) > LISTED:  # an undefined pair is not likely the largest
        rank = sorted(found, key=lambda pair: -np.nan_to_num(pair.prob_largest, nan=-1.0))
        listed = tuple(rank[:LISTED])
    every = range(len(by.groups))
    weight = result.table.sums("weight").sum(axis=(1, 2))
    against = {
        "against_rest": [against_rest(by, at, weight) for at in every],
        "against_overall": [against_overall(by, at, overall) for at in every],
    }
    bounds = result.settings.metric(name).bounds
    return {
        "ratios": [_ratio_entry(by, at, base, bounds[0], prob) for at in every if at != base],
        "pairs": [_pair_values(pair, prob, epsilon) for pair in listed],
        "pairs_left_out": len(found) - len(listed),
        "largest_gap": gap_values(largest_gap(by), prob, epsilon),
        "between_group_sd": gap_values(between_group_sd(by), prob, epsilon),
        **{
            key: [
                {"group": group, **signed_values(one, prob, epsilon)}
                for group, one in zip(by.groups, estimates, strict=True)
            ]
            for key, estimates in against.items()
        },
    }


def criterion_values(result: Assessment) -> dict[str, Any]:
    """Return the criteria whose metrics were assessed, each group against the reference."""
    prob, epsilon = result.settings.prob, result.settings.epsilon
    reference = result.settings.reference
    found: dict[str, Any] = {}
    for name, metrics in CRITERIA.items():
        if reference is None or not set(metrics) <= set(result.settings.metrics):
            continue
        entries = []
        for group in result.groups:
            if group == reference:
                continue
            one = result.criterion(name, group, reference)
            if isinstance(one, Gap):
                values = gap_values(one, prob, epsilon)
            else:
                values = signed_values(one, prob, epsilon)
            entries.append({"group": group, "reference": reference, **values})
        found[name] = {"metrics": list(metrics), "differences": entries}
    return found


def signed_values(estimate: Estimate, prob: float, epsilon: float) -> dict[str, Any]:
    """Return the values of a difference."""
    values = summary(estimate, prob)
    values["prob_positive"] = plain(estimate.prob_greater(0.0))
    values["prob_within"] = plain(estimate.prob_within(epsilon))
    return values | _left_out(estimate)


def gap_values(gap: Gap, prob: float, epsilon: float) -> dict[str, Any]:
    """Return the values of a number without direction; `upper`: it is below with `prob`."""
    interval = None if gap.reason is not None else [plain(end) for end in gap.interval(prob)]
    values: dict[str, Any] = {
        "median": plain(gap.median),
        "interval": interval,
        "upper": plain(gap.upper(prob)),
        "prob_within": plain(gap.prob_within(epsilon)),
        "exact": gap.exact and gap.reason is None,
    }
    if gap.which:
        values |= {"which": list(gap.which), "prob_which": plain(gap.prob_which)}
    if gap.reason is not None:
        values["reason"] = gap.reason
    return values | _left_out(gap)


def ratio_values(one: Ratio, prob: float) -> dict[str, Any]:
    """Return the values of a ratio; an infinite one is null, and `infinite` says which.

    prob_below_four_fifths: of r itself; prob_four_fifths: that both r and 1 / r are at least 0.8.
    """
    numbers = {"geometric_mean": one.geometric_mean, "median": one.median}
    low, high = one.interval(prob)
    values: dict[str, Any] = {name: plain(value) for name, value in numbers.items()}
    values["interval"] = None if one.reason is not None else [plain(low), plain(high)]
    ends = {**numbers, "low": low, "high": high}
    values["infinite"] = [name for name, value in ends.items() if math.isinf(value)]
    values["prob_below_four_fifths"] = plain(one.prob_below(FOUR_FIFTHS))
    values["prob_four_fifths"] = plain(one.prob_within(FOUR_FIFTHS))
    values["zero_denominator"] = one.zero_denominator
    values["exact"] = one.exact and one.reason is None
    return values if one.reason is None else {**values, "reason": one.reason}


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


def simultaneous_section(result: Assessment) -> Section:
    """Return the table of intervals that hold at once."""
    found = result.simultaneous()
    rows = [
        (Cell(f"{cell.metric} {cell.group}"), Cell(interval(low, high)))
        for cell, low, high in zip(found.cells, found.low, found.high, strict=True)
    ]
    rows += [
        (Cell(f"{cell.metric} {cell.group}"), Cell("-", reason))
        for cell, reason in found.left_out.items()
    ]
    head = (f"all at once, {100 * found.prob:g} %", f"minus {result.settings.reference}")
    return Section("simultaneous", "simultaneous intervals", (Table(head, tuple(rows)),))


def criteria_section(result: Assessment) -> list[Section]:
    """Return the table of criteria, where the metrics of one were assessed."""
    rows = []
    for name, of in criterion_values(result).items():
        for entry in of["differences"]:
            middle = entry["median"] if "median" in entry else entry["mean"]
            size = cell_of({**entry, "mean": middle})
            near = chance(entry["prob_within"], entry)
            named = f"{name}, {entry['group']}"
            rows.append((Cell(named), Cell(" and ".join(of["metrics"])), size, near))
    if not rows:
        return []
    small_gap = small(result.settings.epsilon)
    head = ("criterion, group", "metrics", f"gap to {result.settings.reference}", small_gap)
    told = Paragraph(
        "The gap of one metric is that of the group minus that of the reference, a mean. Of "
        "several it is the largest, without its sign, a median: above 0 even where groups are "
        "alike."
    )
    return [Section("criteria", "criteria", (Table(head, tuple(rows)), told))]


def ratio_table(result: Assessment, name: str) -> list[Table | Paragraph]:
    """Return the ratios of a metric to that of the reference, where it has some."""
    settings, base = result.settings, result.groups.index(str(result.settings.reference))
    by, least = result.by_group(name), settings.metric(name).bounds[0]
    if least < 0.0:
        return []
    rows = []
    for at, group in enumerate(result.groups):
        if at != base:
            entry = _ratio_entry(by, at, base, least, settings.prob)
            fifths = chance(entry["prob_four_fifths"], entry)
            rows.append((Cell(group), _ratio_cell(entry), fifths))
    head = (f"over {settings.reference}", "ratio", "P(four fifths)")
    told = (
        "Ratios are medians. Four fifths: the lower of the two is at least "
        f"{FOUR_FIFTHS:g} of the higher, whichever it is."
    )
    return [Table(head, tuple(rows)), Paragraph(told)]


def _ratio_cell(entry: dict[str, Any]) -> Cell:
    """A median ratio with its interval, whose ends may be infinite."""
    if entry["interval"] is None:
        return Cell("-", entry["reason"])
    low, high = entry["interval"]
    ends = {"median": entry["median"], "low": low, "high": high}
    middle, low, high = (
        "infinite" if name in entry["infinite"] else number(end) for name, end in ends.items()
    )
    return Cell(f"{middle} (exact)" if entry["exact"] else f"{middle} [{low}, {high}]")


def gap_line(result: Assessment, name: str) -> str:
    """Say in one line how far apart the groups are in a metric."""
    prob, epsilon = result.settings.prob, result.settings.epsilon
    gap, spread = result.largest_gap(name), result.between_group_sd(name)
    if gap.reason is not None:
        return f"largest gap: undefined, {gap.reason}"
    if gap.exact:
        said = f"largest gap {number(gap.median)}, {_pair_name(gap.which)}"
        return f"{said}; sd between groups {number(spread.median)} (exact)"
    parts = [
        f"largest gap {number(gap.median)} {interval(*gap.interval(prob))}, "
        f"P(<{epsilon:g}) {probability(gap.prob_within(epsilon))}",
        f"likeliest {_pair_name(gap.which)} ({probability(gap.prob_which)})",
        f"sd between groups {number(spread.median)}, {100 * prob:g} % below "
        f"{number(spread.upper(prob))}",
    ]
    if gap.left_out:
        parts.append(f"without {', '.join(gap.left_out)}, undefined")
    return "; ".join(parts)


def _ratio_entry(by: ByGroup, at: int, base: int, least: float, prob: float) -> dict[str, Any]:
    """Return the ratio to the reference, or why a metric has none."""
    names = {"group": by.groups[at], "reference": by.groups[base]}
    if least < 0.0:
        reason = "the metric can be negative"
        return {**names, "median": None, "interval": None, "reason": reason}
    exact = bool(by.known[at] and by.known[base])
    return names | ratio_values(ratio(by.draws, at, base, by.lack, exact=exact), prob)


def _pair_name(which: tuple[str, ...]) -> str:
    return " minus ".join(which)


def _pair_values(pair: Pair, prob: float, epsilon: float) -> dict[str, Any]:
    values = signed_values(pair.estimate, prob, epsilon)
    names = {"group": pair.group, "reference": pair.reference}
    return {**names, **values, "prob_largest": plain(pair.prob_largest)}


def _left_out(one: Estimate | Gap) -> dict[str, Any]:
    return {"left_out": list(one.left_out)} if one.left_out else {}
