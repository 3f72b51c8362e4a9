"""Values: an assessment as plain values: what `to_dict` returns and `--json` prints.

Results that are based on an assessment repeat its settings, data and diagnostics (`framed`). An
undefined number is null with a `reason`; it is never 0, -1 or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import __version__
from .comparison import gaps
from .comparison.pooled import largest_level, margin_levels, overall_draws
from .comparison.verdict import LISTED
from .data.logit import Floats
from .diagnostics.predictive import typical_rate
from .metrics.clusters import cluster_values
from .metrics.definitions import Metric
from .metrics.estimate import Estimate, Gap, Ratio, tails, undefined_reason
from .metrics.prediction_powered import powered_difference
from .model.regions import NOWHERE, worth

if TYPE_CHECKING:
    from .assessment import Assessment
    from .comparison.gaps import ByGroup
    from .data.messages import Note
    from .settings import Settings

KNOWN = "known without labels"

FOUR_FIFTHS = 0.8

COUNTS = ("rows", "labeled", "positives")

Values = dict[str, Any]


def to_dict(result: Assessment) -> Values:
    """Return the assessment as plain values; `Assessment.to_dict` lists the keys."""
    names, overall = result.settings.metrics, {}
    if len(result.groups) > 1:
        overall = overall_draws(result._drawn, tuple(map(result.settings.metric, names)))
    simultaneous = result.simultaneous().to_dict() if result.settings.simultaneous else None
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
            "simultaneous": simultaneous,
            "calibration": _calibration(result),
        },
    )


class Based:
    """A result that is based on an assessment."""

    assessment: Assessment

    @property
    def warnings(self) -> tuple[Note, ...]:
        """Warnings of the assessment."""
        return self.assessment.warnings


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
        **_optional("clusters", cluster_values(table, result.settings.target)),
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
    gate, draws = result.gate, result.shape[1]
    worst = {name: plain(getattr(gate, name)) for name in gate._fields[:3]}
    run = {"draws": draws, "extended": draws > result.settings.run[1]}
    return {**worst, "ok": gate.ok, "reason": gate.reason, "parameters": gate.parameters, **run}


def warning_values(notes: tuple[Note, ...]) -> list[dict[str, str]]:
    """Return codes and messages of warnings."""
    return [{"code": note.code, "message": note.message} for note in notes]


def metric_values(result: Assessment, name: str) -> Values:
    """Return a metric of every group, and its differences from the reference."""
    reference, effective = result.settings.reference, result.effective_labels(name)
    base = None if reference is None else result.groups.index(reference)
    values = group_values(result.group_draws(name), base, result.settings)
    for index, entry in enumerate(values["groups"]):
        entry["effective_labels"] = plain(effective.labels[index])
        entry["width_ratio"] = plain(effective.width_ratio[index])
        entry |= _optional("effective_reason", effective.reason[index])
        entry |= _other_methods(result, name, index)
    for entry in values["differences"]:
        entry |= _other_methods(result, name, result.groups.index(entry["group"]), base)
    return values


def group_values(by: ByGroup, base: int | None, settings: Settings, key: str = "group") -> Values:
    """Return a metric of every group, and its differences from one, where `key` has the name."""
    groups, differences = [], []
    for at, name in enumerate(by.groups):
        groups.append({"name": name, **summary(by.estimate(at), settings.prob)})
        if base not in (None, at):
            names = {key: name, "reference": by.groups[base]}
            differences.append(compared_values(by.difference(at, base), settings, **names))
    return {"groups": groups, "differences": differences}


def _other_methods(result: Assessment, name: str, group: int, base: int | None = None) -> Values:
    """Return the estimates without a model, and the truth, of a group or of its difference."""
    labels, powered = result.labels[name], result.prediction_powered[name]
    draws = labels.draws[:, group] - (0.0 if base is None else labels.draws[:, base])
    if name in result.settings.label_free:
        own = other = _point(math.nan, math.nan, math.nan, KNOWN)
    elif base is None:
        own, other = (
            _point(one.mean[group], one.low[group], one.high[group], one.reason[group], drawn)
            for one, drawn in ((labels, draws), (powered, None))
        )
    else:
        places = ((group, "group"), (base, "reference"))
        why = [f"{r}, in the {place}" for at, place in places if (r := labels.reason[at])]
        low, high = np.quantile(draws, tails(result.settings.prob))
        mean = labels.mean[group] - labels.mean[base]
        own = _point(mean, low, high, why[0] if why else None, draws)
        apart = powered_difference(powered, group, base, prob=result.settings.prob)
        other = _point(apart.mean, apart.low, apart.high, apart.reason)
    values = {"labels_only": own, "prediction_powered": other}
    if result.truth is None:
        return values
    truth = result.truth[name]
    value = truth[group] if base is None else truth[group] - truth[base]
    return values | truth_values(value, result.settings.metric(name))


def truth_values(truth: float, metric: Metric) -> Values:
    """Return the value of a metric, or of a difference, by labels that were hidden."""
    value = plain(truth)
    lack = None if value is not None else undefined_reason(1.0, metric.lack)
    return {"truth": value, **_optional("truth_reason", lack)}


def _point(
    mean: float, low: float, high: float, why: str | None, draws: Floats | None = None
) -> Values:
    interval = None if np.isnan(low) else [plain(low), plain(high)]
    values = {"mean": plain(mean), "interval": interval} | _optional("reason", why)
    if draws is not None and (mean < low or mean > high):  # as in `summary`
        values = {"median": plain(float(np.median(draws))), **values}
    return values


def _comparisons(result: Assessment, name: str, overall: Floats | None) -> Values:
    """Return all comparisons of a metric other than the differences from the reference."""
    if overall is None:
        gap = {"median": None, "interval": None, "reason": "there is only one group"}
        values: Values = dict.fromkeys(("largest_gap", "between_group_sd"), gap)
        values |= {key: [] for key in ("ratios", "pairs", "against_rest", "against_overall")}
        return values | {"pairs_left_out": 0}
    settings = result.settings
    by, base = result.group_draws(name), result.groups.index(str(settings.reference))
    all_pairs = gaps.pairs(by, base)
    listed = all_pairs
    if len(all_pairs) > LISTED:  # an undefined pair is unlikely to be the largest
        rank = sorted(all_pairs, key=lambda pair: -np.nan_to_num(pair.prob_largest, nan=-1.0))
        listed = tuple(rank[:LISTED])
    weight = result.table.sums("weight").sum(axis=(1, 2))
    ratio: Values = {"median": None, "interval": None, "reason": "the metric can be negative"}
    signed = settings.metric(name).bounds[0] < 0.0
    others = [at for at in range(len(by.groups)) if at != base]

    def each(compare: Callable[..., Estimate], other: Floats) -> list[Values]:
        places = enumerate(by.groups)
        return [compared_values(compare(by, at, other), settings, group=g) for at, g in places]

    return {
        "ratios": [
            {"group": by.groups[at], "reference": by.groups[base]}
            | (ratio if signed else ratio_values(by.ratio(at, base), settings.prob))
            for at in others
        ],
        "pairs": [
            compared_values(pair.estimate, settings, group=pair.group, reference=pair.reference)
            | {"prob_largest": plain(pair.prob_largest)}
            for pair in listed
        ],
        "pairs_left_out": len(all_pairs) - len(listed),
        "largest_gap": compared_values(gaps.largest_gap(by), settings),
        "between_group_sd": compared_values(gaps.between_group_sd(by), settings),
        "against_rest": each(gaps.against_rest, weight),
        "against_overall": each(gaps.against_overall, overall),
    }


def criterion_values(result: Assessment) -> Values:
    """Return the criteria whose metrics were assessed, each group against the reference."""
    settings, reference = result.settings, result.settings.reference
    if reference is None:
        return {}

    def compared(name: str, group: str) -> Values:
        gap = result.criterion(name, group, reference)
        return compared_values(gap, settings, group=group, reference=str(reference))

    return {
        name: {
            "metrics": list(metrics),
            "differences": [compared(name, group) for group in result.groups if group != reference],
        }
        for name, metrics in gaps.CRITERIA.items()
        if set(metrics) <= set(settings.metrics)
    }


def marginal_values(result: Assessment, metric: str) -> list[Values]:
    """Return each attribute's levels, and their differences from the level with most rows."""
    if len(result.table.attributes) < 2:
        return []
    settings, values = result.settings, []
    for attribute, levels in margin_levels(result.table).items():
        by, base = result.margins[metric][attribute], largest_level(levels)
        found = group_values(by, base, settings, "level")
        counts = [{name: getattr(level, name) for name in COUNTS} for level in levels]
        entries = [count | entry for count, entry in zip(counts, found["groups"], strict=True)]
        differences = found["differences"]
        values.append({"attribute": attribute, "levels": entries, "differences": differences})
    return values


def _calibration(result: Assessment) -> Values:
    """Return the scales of the deviations, and labels against predictions by region."""
    check, posterior = result.misfit, result.curves
    columns = {name: np.asarray(column).tolist() for name, column in vars(check).items()}
    columns |= {"group": [result.groups[at] for at in check.group]}
    del columns["trusted"]
    regions = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if posterior is None or posterior.omega is None or posterior.tau is None:
        nothing = dict.fromkeys(("omega", "tau", "worth"))
        reason = "nothing was estimated" if posterior is None else "trust is off"
        return {**nothing, "reason": reason, "regions": regions}
    labels = worth(posterior.omega, posterior.tau, typical_rate(check), posterior.regions)
    values: Values = {"omega": posterior.omega, "tau": posterior.tau, "worth": labels}
    for name, draws in values.items():
        if np.isfinite(draws).all():
            middle, low, high = np.quantile(draws, [0.5, *tails(result.settings.prob)])
            values[name] = {"median": float(middle), "interval": [float(low), float(high)]}
        else:
            values[name] = {"median": None, "interval": None, "reason": NOWHERE}
    if posterior.apart is not None:
        chances = posterior.apart.mean(axis=(0, 1)).tolist()
        values["apart"] = dict(zip(result.groups, chances, strict=True))
    return {**values, "regions": regions}


def summary(estimate: Estimate, prob: float) -> Values:
    """Return mean, sd and interval of an estimate, and why they are undefined, as plain values.

    The median is added where the mean lies outside the interval, and stands for it in reports.
    """
    mean, middle = estimate.mean, estimate.middle(prob)
    apart = {} if mean == middle or estimate.reason else {"median": plain(middle)}
    return {**apart, "mean": plain(mean), "sd": plain(estimate.sd), **_shared(estimate, prob)}


def compared_values(one: Estimate | Gap, settings: Settings, **names: str) -> Values:
    """Return the names and values of a difference, or of a gap, which is below `upper` with `prob`.

    A gap has no direction.
    """
    which: Values = {}
    if isinstance(one, Estimate):
        values = summary(one, settings.prob) | {"prob_positive": plain(one.prob_greater(0.0))}
    else:
        values = {"median": plain(one.median), **_shared(one, settings.prob)}
        values["upper"] = plain(one.upper(settings.prob))
        if one.which:
            which = {"which": list(one.which), "prob_which": plain(one.prob_which)}
    near = {"prob_within": plain(one.prob_within(settings.epsilon))}
    left_out = _optional("left_out", list(one.left_out) or None)
    return {**names, **values, **near, **which, **left_out}


def ratio_values(one: Ratio, prob: float) -> Values:
    """Return the values of a ratio; an infinite one is null, and listed under `infinite`.

    prob_below_four_fifths: P(r < 0.8); prob_four_fifths: P(both r and 1 / r are at least 0.8).
    """
    low, high = one.interval(prob)
    ends = {"median": one.median, "low": low, "high": high}
    return {
        "median": plain(one.median),
        **_shared(one, prob),
        "infinite": [name for name, value in ends.items() if math.isinf(value)],
        "prob_below_four_fifths": plain(one.prob_below(FOUR_FIFTHS)),
        "prob_four_fifths": plain(one.prob_within(FOUR_FIFTHS)),
    }


def _shared(one: Estimate | Gap | Ratio, prob: float) -> Values:
    """Return what all numbers have: interval, exact, and why they are undefined."""
    interval = None if one.reason is not None else [plain(end) for end in one.interval(prob)]
    exact = one.exact and one.reason is None
    return {"interval": interval, "exact": exact, **_optional("reason", one.reason)}


def plain(value: float | None) -> float | None:
    """Return a float for JSON; None for an undefined number."""
    return None if value is None or not math.isfinite(value) else float(value)


def _optional(key: str, value: Any) -> Values:
    return {} if value is None else {key: value}
