"""Values: an assessment as plain values, what `to_dict` returns and `--json` prints.

Results that rest on an assessment say of its rows and chains what it says itself (`framed`).

An undefined number is null with a `reason`; it is never 0, -1 or NaN.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from . import __version__
from .comparison.gaps import (
    CRITERIA,
    ByGroup,
    Pair,
    against_overall,
    against_rest,
    between_group_sd,
    largest_gap,
    pairs,
)
from .comparison.pooled import overall_draws
from .comparison.verdict import LISTED
from .data.logit import Floats
from .diagnostics.predictive import typical_rate
from .metrics.estimate import Estimate, Gap, Ratio, ratio, tails
from .metrics.prediction_powered import powered_difference
from .model.regions import NOWHERE, worth

if TYPE_CHECKING:
    from .assessment import Assessment
    from .data.messages import Note

KNOWN = "known without labels"


def to_dict(result: Assessment) -> dict[str, Any]:
    """Return the assessment as plain values; `Assessment.to_dict` has the keys."""

    compared = comparison_values(result)
    found = {
        "metrics": {
            name: metric_values(result, name)
            | compared[name]
            | {"marginals": marginal_values(result, name)}
            for name in result.settings.metrics
        },
        "criteria": criterion_values(result),
        "checks": [verdict.to_dict() for verdict in result.checks],
        "simultaneous": result.simultaneous().to_dict() if result.settings.simultaneous else None,
        "calibration": _calibration(result),
    }
    return framed(result, found)


def framed(result: Assessment, found: dict[str, Any]) -> dict[str, Any]:
    """Return what was found, with what was run, on what rows, and how far it is to be trusted."""
    return {
        "version": __version__,
        "settings": result.settings.to_dict(),
        "data": _data(result),
        **found,
        "diagnostics": diagnostics_values(result),
        "warnings": warning_values(result.warnings),
    }


def diagnostics_values(result: Assessment) -> dict[str, Any]:
    """Return whether the chains have converged, and how that was found."""
    gate, draws = result.gate, result.posterior.phi.shape[1]
    return {
        "rhat_max": plain(gate.rhat_max),
        "ess_bulk_min": plain(gate.ess_bulk_min),
        "ess_tail_min": plain(gate.ess_tail_min),
        "ok": gate.ok,
        "reason": gate.reason,
        "draws": draws,
        "extended": draws > result.settings.run[1],
    }


def warning_values(notes: tuple[Note, ...]) -> list[dict[str, str]]:
    """Return codes and messages of warnings."""
    return [{"code": note.code, "message": note.message} for note in notes]


def _calibration(result: Assessment) -> dict[str, Any]:
    """What was learned of the curve: how far it is to be trusted, and where it misses."""
    check = result.misfit
    omega, tau = result.posterior.omega, result.posterior.tau
    regions = []
    for index in range(len(check.group)):
        entry: dict[str, Any] = {
            "group": result.groups[check.group[index]],
            "predicted": int(check.predicted[index]),
            "mass": bool(check.mass[index]),
            "scores": [plain(check.low[index]), plain(check.high[index])],
            "score": float(check.score[index]),
            "labeled": int(check.rows[index]),
            "positives": int(check.positives[index]),
            "expected": float(check.expected[index]),
            "interval": [float(check.expected_low[index]), float(check.expected_high[index])],
            "p": float(check.p[index]),
        }
        regions.append(entry)
    if omega is None or tau is None:
        return {
            "omega": None,
            "tau": None,
            "worth": None,
            "reason": "trust is off",
            "regions": regions,
        }
    labels = worth(omega, tau, typical_rate(check), result.posterior.regions)
    values: dict[str, Any] = {"omega": omega, "tau": tau, "worth": labels}
    for name, draws in values.items():
        if np.isfinite(draws).all():
            middle, low, high = np.quantile(draws, [0.5, *tails(result.settings.prob)])
            values[name] = {"median": float(middle), "interval": [float(low), float(high)]}
        else:
            values[name] = {"median": None, "interval": None, "reason": NOWHERE}
    return {**values, "regions": regions}


def _data(result: Assessment) -> dict[str, Any]:
    table = result.table
    groups = []
    for name, counts, part in zip(table.groups, counts_of(result), table.parts, strict=True):
        parts = dict(zip(table.attributes, part, strict=True))
        groups.append({"name": name, **counts, "parts": parts})
    return {
        "rows": table.rows,
        "labeled": table.labeled,
        "unlabeled": table.rows - table.labeled,
        "clipped": table.clipped,
        "weighted": table.weighted,
        "attributes": list(table.attributes),
        "groups": groups,
        "empty_groups": list(table.empty_groups),
    }


def counts_of(result: Assessment) -> list[dict[str, int]]:
    """Return rows, labeled rows and positive ones of each group, from the table."""
    rows = result.table.sums("rows").sum(axis=1)
    return [
        {"rows": int(total), "labeled": int(negative + positive), "positives": int(positive)}
        for total, (negative, positive, _) in zip(rows.sum(axis=1), rows, strict=True)
    ]


def metric_values(result: Assessment, name: str) -> dict[str, Any]:
    lack = result.settings.metric(name).lack
    exact = name in result.settings.label_free
    groups = []
    found = result.effective_labels(name)
    for index, group in enumerate(result.groups):
        entry = {"name": group, **summary(result.metric(name, group), result.settings.prob)}
        entry["effective_labels"] = plain(found.labels[index])
        entry["width_ratio"] = plain(found.width_ratio[index])
        if found.reason[index] is not None:
            entry["effective_reason"] = found.reason[index]
        entry["labels_only"] = _of_labels(result, name, index)
        powered = result.prediction_powered[name]
        entry["prediction_powered"] = _powered(
            powered.mean[index],
            powered.low[index],
            powered.high[index],
            KNOWN if exact else powered.reason[index],
        )
        if result.truth is not None:
            entry |= _truth(result.truth[name][index], lack)
        groups.append(entry)
    differences = []
    reference = result.settings.reference
    for index, group in enumerate(result.groups if reference is not None else ()):
        if group == reference:
            continue
        base = result.groups.index(str(reference))
        estimate = result.difference(name, group, reference)
        entry = {"group": group, "reference": reference, **summary(estimate, result.settings.prob)}
        entry["prob_positive"] = plain(estimate.prob_greater(0.0))
        entry["prob_within"] = plain(estimate.prob_within(result.settings.epsilon))
        entry["labels_only"] = _of_labels(result, name, index, base)
        delta = powered_difference(
            result.prediction_powered[name], index, base, prob=result.settings.prob
        )
        entry["prediction_powered"] = _powered(
            delta.mean, delta.low, delta.high, KNOWN if exact else delta.reason
        )
        if result.truth is not None:
            entry |= _truth(result.truth[name][index] - result.truth[name][base], lack)
        differences.append(entry)
    return {"groups": groups, "differences": differences}


def summary(estimate: Estimate, prob: float) -> dict[str, Any]:
    """Return mean, sd and interval of an estimate, and why there are none, as plain values."""
    low, high = estimate.interval(prob)
    interval = None if estimate.reason is not None else [plain(low), plain(high)]
    values = {
        "mean": plain(estimate.mean),
        "sd": plain(estimate.sd),
        "interval": interval,
        "exact": estimate.exact and estimate.reason is None,
    }
    return values if estimate.reason is None else {**values, "reason": estimate.reason}


def _powered(mean: float, low: float, high: float, reason: str | None) -> dict[str, Any]:
    if reason is not None:
        return {"mean": None, "interval": None, "reason": reason}
    return {"mean": plain(mean), "interval": [plain(low), plain(high)]}


def _truth(value: float, lack: str) -> dict[str, Any]:
    truth = plain(value)
    return {"truth": truth, **({} if truth is not None else {"truth_reason": f"no {lack}"})}


def _of_labels(
    result: Assessment, name: str, group: int, reference: int | None = None
) -> dict[str, Any]:
    """What labels alone say of a group, or of its difference from the reference."""
    if name in result.settings.label_free:
        return {"mean": None, "interval": None, "reason": KNOWN}
    labels = result.labels[name]
    mean, low, high, why = labels.mean[group], labels.low[group], labels.high[group], None
    if reference is None:
        why = labels.reason[group]
    else:
        for at, place in ((group, "group"), (reference, "reference")):
            if why is None and labels.reason[at] is not None:
                why = f"{labels.reason[at]}, in the {place}"
        mean = mean - labels.mean[reference]
        delta = labels.draws[:, group] - labels.draws[:, reference]
        low, high = np.quantile(delta, tails(result.settings.prob))
    interval = None if np.isnan(low) else [plain(low), plain(high)]
    entry = {"mean": plain(mean), "interval": interval}
    return entry if why is None else {**entry, "reason": why}


def plain(value: float | None) -> float | None:
    """A float for JSON, None for what is undefined."""
    return None if value is None or not math.isfinite(value) else float(value)


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
    overall = overall_draws(result._drawn, tuple(map(result.settings.metric, names)))
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


def _ratio_entry(by: ByGroup, at: int, base: int, least: float, prob: float) -> dict[str, Any]:
    """Return the ratio to the reference, or why a metric has none."""
    names = {"group": by.groups[at], "reference": by.groups[base]}
    if least < 0.0:
        reason = "the metric can be negative"
        return {**names, "median": None, "interval": None, "reason": reason}
    exact = bool(by.known[at] and by.known[base])
    return names | ratio_values(ratio(by.draws, at, base, by.lack, exact=exact), prob)


def _pair_values(pair: Pair, prob: float, epsilon: float) -> dict[str, Any]:
    values = signed_values(pair.estimate, prob, epsilon)
    names = {"group": pair.group, "reference": pair.reference}
    return {**names, **values, "prob_largest": plain(pair.prob_largest)}


def _left_out(one: Estimate | Gap) -> dict[str, Any]:
    return {"left_out": list(one.left_out)} if one.left_out else {}


def marginal_values(result: Assessment, metric: str) -> list[dict[str, Any]]:
    """Return for each attribute its levels, and their differences from the one with most rows."""
    if len(result.table.attributes) < 2:
        return []
    prob, epsilon = result.settings.prob, result.settings.epsilon
    found = []
    for attribute, margin in result.margins[metric].items():
        levels: list[dict[str, Any]] = []
        differences: list[dict[str, Any]] = []
        for level in margin.levels:
            rows = {"rows": level.rows, "labeled": level.labeled, "positives": level.positives}
            levels.append(
                {"name": level.name, **rows, **summary(margin.estimate(level.name), prob)}
            )
            if level.name == margin.reference:
                continue
            delta = margin.difference(level.name)
            entry = {"level": level.name, "reference": margin.reference, **summary(delta, prob)}
            entry["prob_positive"] = plain(delta.prob_greater(0.0))
            entry["prob_within"] = plain(delta.prob_within(epsilon))
            differences.append(entry)
        found.append({"attribute": attribute, "levels": levels, "differences": differences})
    return found
