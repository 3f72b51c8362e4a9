"""Values: an assessment as plain values: what `to_dict` returns and `--json` prints.

Results that are based on an assessment repeat its settings, data and diagnostics (`framed`). An
undefined number is null with a `reason`; it is never 0, -1 or NaN.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from . import __version__
from .comparison.gaps import (
    CRITERIA,
    ByGroup,
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
from .metrics.estimate import Estimate, Gap, Ratio, tails
from .metrics.prediction_powered import powered_difference
from .model.regions import NOWHERE, worth

if TYPE_CHECKING:
    from .assessment import Assessment
    from .data.messages import Note

KNOWN = "known without labels"

FOUR_FIFTHS = 0.8

Values = dict[str, Any]


def to_dict(result: Assessment) -> Values:
    """Return the assessment as plain values; `Assessment.to_dict` lists the keys."""
    names = result.settings.metrics
    overall: dict[str, Floats] = {}
    if len(result.groups) > 1:
        overall = overall_draws(result._drawn, tuple(map(result.settings.metric, names)))
    return framed(
        result,
        {
            "metrics": {
                name: metric_values(result, name)
                | _comparisons(result, name, overall.get(name))
                | {"marginals": marginal_values(result, name)}
                for name in names
            },
            "criteria": criterion_values(result),
            "checks": [verdict.to_dict() for verdict in result.checks],
            "simultaneous": result.simultaneous().to_dict()
            if result.settings.simultaneous
            else None,
            "calibration": _calibration(result),
        },
    )


def framed(result: Assessment, values: Values) -> Values:
    """Add to values the settings, data, diagnostics and warnings of the assessment."""
    return {
        "version": __version__,
        "settings": result.settings.to_dict(),
        "data": _data(result),
        **values,
        "diagnostics": diagnostics_values(result),
        "warnings": warning_values(result.warnings),
    }


def _data(result: Assessment) -> Values:
    table = result.table
    return {
        "rows": table.rows,
        "labeled": table.labeled,
        "unlabeled": table.rows - table.labeled,
        "clipped": table.clipped,
        "weighted": table.weighted,
        "attributes": list(table.attributes),
        "groups": [
            {"name": name, **counts, "parts": dict(zip(table.attributes, part, strict=True))}
            for name, counts, part in zip(table.groups, counts_of(result), table.parts, strict=True)
        ],
        "empty_groups": list(table.empty_groups),
    }


def counts_of(result: Assessment) -> list[dict[str, int]]:
    """Return the numbers of rows, labeled rows and positives of each group."""
    rows = result.table.sums("rows").sum(axis=1)
    return [
        {"rows": int(total), "labeled": int(negative + positive), "positives": int(positive)}
        for total, (negative, positive, _) in zip(rows.sum(axis=1), rows, strict=True)
    ]


def diagnostics_values(result: Assessment) -> Values:
    """Return the result of the convergence check."""
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


def metric_values(result: Assessment, name: str) -> Values:
    """Return a metric of every group, and its differences from the reference."""
    settings, powered = result.settings, result.prediction_powered[name]
    prob, reference = settings.prob, settings.reference
    known = KNOWN if name in settings.label_free else None
    effective = result.effective_labels(name)
    groups, differences = [], []
    for index, group in enumerate(result.groups):
        point = (powered.mean[index], powered.low[index], powered.high[index])
        entry = {"name": group, **summary(result.metric(name, group), prob)}
        entry["effective_labels"] = plain(effective.labels[index])
        entry["width_ratio"] = plain(effective.width_ratio[index])
        entry |= _optional("effective_reason", effective.reason[index])
        entry["labels_only"] = _of_labels(result, name, index)
        entry["prediction_powered"] = _point(*point, known or powered.reason[index])
        groups.append(entry | _truth(result, name, index))
    for index, group in enumerate(result.groups if reference is not None else ()):
        if group == reference:
            continue
        base = result.groups.index(str(reference))
        estimate = result.difference(name, group, reference)
        delta = powered_difference(powered, index, base, prob=prob)
        entry = {"group": group, "reference": reference}
        entry |= signed_values(estimate, prob, settings.epsilon)
        entry["labels_only"] = _of_labels(result, name, index, base)
        entry["prediction_powered"] = _point(
            delta.mean, delta.low, delta.high, known or delta.reason
        )
        differences.append(entry | _truth(result, name, index, base))
    return {"groups": groups, "differences": differences}


def _of_labels(result: Assessment, name: str, group: int, reference: int | None = None) -> Values:
    """Return the labels-only estimate of a group, or of its difference from the reference."""
    if name in result.settings.label_free:
        return _point(math.nan, math.nan, math.nan, KNOWN)
    labels = result.labels[name]
    mean, low, high = labels.mean[group], labels.low[group], labels.high[group]
    why = labels.reason[group]
    if reference is not None:
        for at, place in ((group, "group"), (reference, "reference")):
            if labels.reason[at] is not None:
                why = f"{labels.reason[at]}, in the {place}"
                break
        mean = mean - labels.mean[reference]
        delta = labels.draws[:, group] - labels.draws[:, reference]
        low, high = np.quantile(delta, tails(result.settings.prob))
    interval = None if np.isnan(low) else [plain(low), plain(high)]
    return {"mean": plain(mean), "interval": interval} | _optional("reason", why)


def _truth(result: Assessment, name: str, group: int, reference: int | None = None) -> Values:
    """Return the frequency among labels that the assessment did not use; {} if there are none."""
    if result.truth is None:
        return {}
    truth = result.truth[name]
    value = plain(truth[group] if reference is None else truth[group] - truth[reference])
    why = None if value is not None else f"no {result.settings.metric(name).lack}"
    return {"truth": value} | _optional("truth_reason", why)


def _point(mean: float, low: float, high: float, why: str | None) -> Values:
    if why is not None:
        return {"mean": None, "interval": None, "reason": why}
    return {"mean": plain(mean), "interval": [plain(low), plain(high)]}


def _comparisons(result: Assessment, name: str, overall: Floats | None) -> Values:
    """Return all comparisons of a metric other than the differences from the reference."""
    if overall is None:
        gap = {"median": None, "interval": None, "reason": "there is only one group"}
        return {
            **{key: [] for key in ("ratios", "pairs", "against_rest", "against_overall")},
            **{key: gap for key in ("largest_gap", "between_group_sd")},
            "pairs_left_out": 0,
        }
    prob, epsilon = result.settings.prob, result.settings.epsilon
    by, base = result.by_group(name), result.groups.index(str(result.settings.reference))
    every = pairs(by, base)
    listed = every
    if len(every) > LISTED:  # an undefined pair is unlikely to be the largest
        rank = sorted(every, key=lambda pair: -np.nan_to_num(pair.prob_largest, nan=-1.0))
        listed = tuple(rank[:LISTED])
    weight = result.table.sums("weight").sum(axis=(1, 2))
    least = result.settings.metric(name).bounds[0]
    groups = range(len(by.groups))

    def each(estimates: list[Estimate]) -> list[Values]:
        return [
            {"group": group, **signed_values(estimate, prob, epsilon)}
            for group, estimate in zip(by.groups, estimates, strict=True)
        ]

    return {
        "ratios": [_ratio_entry(by, at, base, least, prob) for at in groups if at != base],
        "pairs": [
            {"group": pair.group, "reference": pair.reference}
            | signed_values(pair.estimate, prob, epsilon)
            | {"prob_largest": plain(pair.prob_largest)}
            for pair in listed
        ],
        "pairs_left_out": len(every) - len(listed),
        "largest_gap": gap_values(largest_gap(by), prob, epsilon),
        "between_group_sd": gap_values(between_group_sd(by), prob, epsilon),
        "against_rest": each([against_rest(by, at, weight) for at in groups]),
        "against_overall": each([against_overall(by, at, overall) for at in groups]),
    }


def _ratio_entry(by: ByGroup, at: int, base: int, least: float, prob: float) -> Values:
    """Return the ratio to the reference, or why a metric has none."""
    names = {"group": by.groups[at], "reference": by.groups[base]}
    if least < 0.0:
        reason = "the metric can be negative"
        return {**names, "median": None, "interval": None, "reason": reason}
    return names | ratio_values(by.ratio(at, base), prob)


def criterion_values(result: Assessment) -> Values:
    """Return the criteria whose metrics were assessed, each group against the reference."""
    prob, epsilon = result.settings.prob, result.settings.epsilon
    reference = result.settings.reference
    criteria: Values = {}
    for name, metrics in CRITERIA.items():
        if reference is None or not set(metrics) <= set(result.settings.metrics):
            continue
        entries = []
        for group in result.groups:
            if group == reference:
                continue
            gap = result.criterion(name, group, reference)
            shown = (
                gap_values(gap, prob, epsilon)
                if isinstance(gap, Gap)
                else signed_values(gap, prob, epsilon)
            )
            entries.append({"group": group, "reference": reference, **shown})
        criteria[name] = {"metrics": list(metrics), "differences": entries}
    return criteria


def marginal_values(result: Assessment, metric: str) -> list[Values]:
    """Return each attribute's levels, and their differences from the level with most rows."""
    if len(result.table.attributes) < 2:
        return []
    prob, epsilon = result.settings.prob, result.settings.epsilon
    attributes = []
    for attribute, margin in result.margins[metric].items():
        levels = [
            {"name": one.name, "rows": one.rows, "labeled": one.labeled, "positives": one.positives}
            | summary(margin.estimate(one.name), prob)
            for one in margin.levels
        ]
        differences = [
            {"level": one.name, "reference": margin.reference}
            | signed_values(margin.difference(one.name), prob, epsilon)
            for one in margin.levels
            if one.name != margin.reference
        ]
        attributes.append({"attribute": attribute, "levels": levels, "differences": differences})
    return attributes


def _calibration(result: Assessment) -> Values:
    """Return the scales of the deviations, and labels against predictions by region."""
    check, posterior = result.misfit, result.posterior
    regions = [
        {
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
        for index in range(len(check.group))
    ]
    if posterior.omega is None or posterior.tau is None:
        nothing = dict.fromkeys(("omega", "tau", "worth"))
        return {**nothing, "reason": "trust is off", "regions": regions}
    labels = worth(posterior.omega, posterior.tau, typical_rate(check), posterior.regions)
    values: Values = {"omega": posterior.omega, "tau": posterior.tau, "worth": labels}
    for name, draws in values.items():
        if np.isfinite(draws).all():
            middle, low, high = np.quantile(draws, [0.5, *tails(result.settings.prob)])
            values[name] = {"median": float(middle), "interval": [float(low), float(high)]}
        else:
            values[name] = {"median": None, "interval": None, "reason": NOWHERE}
    return {**values, "regions": regions}


def summary(estimate: Estimate, prob: float) -> Values:
    """Return mean, sd and interval of an estimate, and why they are undefined, as plain values."""
    low, high = estimate.interval(prob)
    return {
        "mean": plain(estimate.mean),
        "sd": plain(estimate.sd),
        "interval": None if estimate.reason is not None else [plain(low), plain(high)],
        "exact": estimate.exact and estimate.reason is None,
    } | _optional("reason", estimate.reason)


def signed_values(estimate: Estimate, prob: float, epsilon: float) -> Values:
    """Return the values of a difference."""
    return {
        **summary(estimate, prob),
        "prob_positive": plain(estimate.prob_greater(0.0)),
        "prob_within": plain(estimate.prob_within(epsilon)),
    } | _optional("left_out", list(estimate.left_out) or None)


def gap_values(gap: Gap, prob: float, epsilon: float) -> Values:
    """Return the values of a number without direction; it is below `upper` with `prob`."""
    which = {"which": list(gap.which), "prob_which": plain(gap.prob_which)} if gap.which else {}
    return {
        "median": plain(gap.median),
        "interval": None if gap.reason is not None else [plain(end) for end in gap.interval(prob)],
        "upper": plain(gap.upper(prob)),
        "prob_within": plain(gap.prob_within(epsilon)),
        "exact": gap.exact and gap.reason is None,
        **which,
        **_optional("reason", gap.reason),
        **_optional("left_out", list(gap.left_out) or None),
    }


def ratio_values(one: Ratio, prob: float) -> Values:
    """Return the values of a ratio; an infinite one is null, and listed under `infinite`.

    prob_below_four_fifths: P(r < 0.8); prob_four_fifths: P(both r and 1 / r are at least 0.8).
    """
    low, high = one.interval(prob)
    ends = {"geometric_mean": one.geometric_mean, "median": one.median, "low": low, "high": high}
    return {
        "geometric_mean": plain(one.geometric_mean),
        "median": plain(one.median),
        "interval": None if one.reason is not None else [plain(low), plain(high)],
        "infinite": [name for name, value in ends.items() if math.isinf(value)],
        "prob_below_four_fifths": plain(one.prob_below(FOUR_FIFTHS)),
        "prob_four_fifths": plain(one.prob_within(FOUR_FIFTHS)),
        "zero_denominator": one.zero_denominator,
        "exact": one.exact and one.reason is None,
    } | _optional("reason", one.reason)


def plain(value: float | None) -> float | None:
    """Return a float for JSON; None for an undefined number."""
    return None if value is None or not math.isfinite(value) else float(value)


def _optional(key: str, value: Any) -> Values:
    return {} if value is None else {key: value}
