"""Values: an assessment as plain values, what `to_dict` returns and `--json` prints.

Results that rest on an assessment say of its rows and chains what it says itself (`framed`).

An undefined number is null with a `reason`; it is never 0, -1 or NaN.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ._version import __version__
from .compare import Estimate, tails
from .effective import effective_labels
from .misfit import typical_rate
from .prediction_powered import powered_difference
from .trust import NOWHERE, worth

if TYPE_CHECKING:
    from .assessment import Assessment
    from .wording import Note

KNOWN = "known without labels"


def to_dict(result: Assessment) -> dict[str, Any]:
    """Return the assessment as plain values; `Assessment.to_dict` has the keys."""
    from .comparison_report import comparison_values, criterion_values
    from .marginal_report import marginal_values

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
        **_at_thresholds(result),
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


def _at_thresholds(result: Assessment) -> dict[str, Any]:
    """The key "thresholds", where several were asked for."""
    if result.settings.thresholds is None:
        return {}
    from .threshold_report import threshold_values

    return {"thresholds": threshold_values(result)}


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
    found = effective_labels(result, name)
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
