"""The report: an Assessment as text for people, and as plain values for programs.

Both say the same numbers. An undefined number is a dash with a reason in the text, null with a
`reason` in the values; it is never 0, -1 or NaN.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ._version import __version__
from .bands import collapsed
from .compare import Estimate, direction_level, tails
from .effective import effective_labels, worth_line
from .misfit import typical_rate, worth_sentence
from .prediction_powered import powered_difference
from .trust import NOWHERE, worth

if TYPE_CHECKING:
    from .assessment import Assessment
    from .table import ScoreTable

KNOWN = "known without labels"
TARGET_WORDS = {
    "expected": "the expected metric of these rows, given the calibration curves",
    "sample": "the metric these rows would show if all were labeled",
    "population": "the metric of the population these rows are a sample of",
}


def to_dict(result: Assessment) -> dict[str, Any]:
    """Return the assessment as plain values; see the README for the keys."""
    from .comparison_report import comparison_values, criterion_values
    from .marginal_report import marginal_values

    verdict = result.gate
    draws = result.posterior.phi.shape[1]
    compared = comparison_values(result)
    return {
        "version": __version__,
        "settings": result.settings.to_dict(),
        "data": _data(result),
        "metrics": {
            name: _metric(result, name)
            | compared[name]
            | {"marginals": marginal_values(result, name)}
            for name in result.settings.metrics
        },
        "criteria": criterion_values(result),
        "checks": [verdict.to_dict() for verdict in result.checks],
        "simultaneous": result.simultaneous().to_dict() if result.settings.simultaneous else None,
        **_at_thresholds(result),
        "calibration": _calibration(result),
        "diagnostics": {
            "rhat_max": plain(verdict.rhat_max),
            "ess_bulk_min": plain(verdict.ess_bulk_min),
            "ess_tail_min": plain(verdict.ess_tail_min),
            "ok": verdict.ok,
            "reason": verdict.reason,
            "draws": draws,
            "extended": draws > result.settings.run[1],
        },
        "warnings": [{"code": note.code, "message": note.message} for note in result.warnings],
    }


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


def to_text(result: Assessment) -> str:
    """Return the report."""
    lines = _head(result)
    if result.settings.checks:
        lines += ["", *(f"check {verdict.sentence}" for verdict in result.checks)]
    for name in result.settings.metrics:
        lines += ["", *_metric_text(result, name)]
        if len(result.table.attributes) > 1:
            from .marginal_report import marginal_text

            lines += marginal_text(result, name)
    if result.settings.simultaneous:
        from .comparison_report import simultaneous_text

        lines += ["", *simultaneous_text(result)]
    if result.settings.thresholds is not None:
        from .threshold_report import threshold_text

        lines += threshold_text(result)
    lines += ["", *_tail(result)]
    return "\n".join(map(one_line, lines))


def one_line(text: str) -> str:
    """Write characters that are no print, as names from data may hold, as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def counted(n: int, noun: str) -> str:
    """Show a count with its noun: 1 row, 2,056 rows."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def rows_line(table: ScoreTable) -> str:
    """Say what rows a table is of."""
    threshold, cuts = table.threshold, table.cuts
    table = collapsed(table)
    if cuts:
        decided = "thresholds " + ", ".join(f"{cut:g}" for cut in cuts)
    elif threshold is None:
        decided = "decisions given"
    elif isinstance(threshold, dict):
        decided = "thresholds " + ", ".join(f"{k} {v:g}" for k, v in threshold.items())
    else:
        decided = f"threshold {threshold:g}"
    return one_line(
        f"{counted(table.rows, 'row')}, {table.labeled:,} labeled, "
        f"{table.rows - table.labeled:,} unlabeled{', weighted' if table.weighted else ''}; "
        f"{counted(len(table.groups), 'group')} by {' and '.join(table.attributes)}; {decided}"
    )


def target_line(target: str) -> str:
    """Say what is estimated."""
    return f"target {target}: {TARGET_WORDS[target]}"


def number(value: float | None, digits: int = 3) -> str:
    """Show a number, or a dash for an undefined one; never -0.000."""
    if value is None or not math.isfinite(value):
        return "-"
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("-") and not any(c in "123456789" for c in text) else text


def probability(value: float | None, *, exact: bool = False) -> str:
    """Show a probability; one from draws never as 0 or 1, which draws cannot show."""
    if value is None or not math.isfinite(value):
        return "-"
    if exact:
        return f"{value:.0f}"
    if value < 0.001:
        return "<0.001"
    return ">0.999" if value > 0.999 else f"{value:.3f}"


def sentence(result: Assessment, metric: str, group: str, reference: str) -> str:
    """Say the direction of a difference, its size and the probability of the direction.

    A direction is a finding where the interval lies on one side of 0 (`compare.direction_level`).
    """
    estimate = result.difference(metric, group, reference)
    pair = f"{metric} for {group} against {reference}"
    if estimate.reason is not None:
        return f"{pair}: undefined, {estimate.reason}."
    low, high = estimate.interval(result.settings.prob)
    size = f"{number(estimate.mean)} [{number(low)}, {number(high)}]"
    chances = {
        "higher": estimate.prob_greater(0.0),
        "lower": float((estimate.defined < 0.0).mean()),
        "the same": estimate.prob_equal(),
    }
    word = max(chances, key=chances.__getitem__)
    between = (
        f"for {group} and {reference}"
        if word == "the same"
        else f"for {group} than for {reference}"
    )
    if estimate.exact:
        free = metric in result.settings.label_free
        why = "no label is needed to know it" if free else "every row of both is labeled"
        by = "" if word == "the same" else f" by {number(abs(low))}"
        return f"{metric} is {word} {between}{by}; {why}."
    same = ""
    if chances["the same"] >= 0.001:
        same = f", the same with probability {probability(chances['the same'])}"
    prob = result.settings.prob
    if chances[word] < (prob if word == "the same" else direction_level(prob)):
        higher = probability(chances["higher"])
        return f"{pair}: no direction is clear, P(higher) {higher}{same}: {size}."
    also = "" if word == "the same" else same
    return (
        f"{metric} is {word} {between} with probability {probability(chances[word])}{also}: {size}."
    )


def _data(result: Assessment) -> dict[str, Any]:
    table = result.table
    groups = []
    for name, counts, part in zip(table.groups, _counts(result), table.parts, strict=True):
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


def _counts(result: Assessment) -> list[dict[str, int]]:
    """Rows, labeled rows and positive ones of each group, from the table."""
    rows = result.table.sums("rows").sum(axis=1)
    return [
        {"rows": int(total), "labeled": int(negative + positive), "positives": int(positive)}
        for total, (negative, positive, _) in zip(rows.sum(axis=1), rows, strict=True)
    ]


def _metric(result: Assessment, name: str) -> dict[str, Any]:
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


def _head(result: Assessment) -> list[str]:
    settings = result.settings
    prior = "hierarchical" if settings.hierarchical else "independent groups"
    if settings.nested:
        prior = "nested prior: effects of attributes, and interactions"
    return [
        f"lightfair {__version__}",
        rows_line(result.table),
        target_line(settings.target),
        f"{settings.family} calibration, {prior}, "
        f"{'the curve alone' if settings.trust is None else 'with deviations from the curve'}; "
        f"{100 * settings.prob:g} % credible intervals",
    ]


def _metric_text(result: Assessment, name: str) -> list[str]:
    settings = result.settings
    values = _metric(result, name)
    truth = ["truth"] if result.truth is not None else []
    head = [name, "lightfair", "prediction-powered", "labels only", "labeled", "positive", *truth]
    rows = [head]
    for entry, counts in zip(values["groups"], _counts(result), strict=True):
        rows.append(
            [
                f"  {entry['name']}",
                with_interval(entry),
                _bare(entry["prediction_powered"]),
                with_interval(entry["labels_only"]),
                *(f"{counts[key]:,}" for key in ("labeled", "positives")),
                *([number(entry["truth"])] if truth else []),
            ]
        )
    lines = aligned(rows)
    if said := worth_line(effective_labels(result, name), result.groups):
        lines.append(f"  {said}")
    if not values["differences"]:
        return lines
    small = f"P(|.|<{settings.epsilon:g})"
    columns = ["lightfair", "prediction-powered", "labels only", "P(>0)", small, *truth]
    rows = [[f"  minus {settings.reference}", *columns]]
    for entry in values["differences"]:
        chances = [
            probability(entry[key], exact=entry["exact"])
            for key in ("prob_positive", "prob_within")
        ]
        rows.append(
            [
                f"  {entry['group']}",
                with_interval(entry),
                _bare(entry["prediction_powered"]),
                with_interval(entry["labels_only"]),
                *chances,
                *([number(entry["truth"])] if truth else []),
            ]
        )
    lines += aligned(rows)
    lines += [
        f"  {sentence(result, name, e['group'], e['reference'])}" for e in values["differences"]
    ]
    if len(result.groups) > 2:
        from .comparison_report import gap_line

        lines.append(gap_line(result, name))
    return lines


def with_interval(entry: dict[str, Any]) -> str:
    """A mean with its interval, a fact, or a dash and why."""
    if entry["interval"] is None:
        return "-" if entry["reason"] == KNOWN else f"- ({entry['reason']})"
    low, high = entry["interval"]
    if entry.get("exact"):
        return f"{number(entry['mean'])} (exact)"
    return f"{number(entry['mean'])} [{number(low)}, {number(high)}]"


def shown(estimate: Estimate | None, prob: float, *, why: bool = False) -> str:
    """The same of an estimate, or none; `why` it is undefined only where that is asked for."""
    if estimate is None or (estimate.reason is not None and not why):
        return "-"
    return with_interval(summary(estimate, prob))


def _bare(entry: dict[str, Any]) -> str:
    """An interval, a fact, or a dash; the reason is in the values."""
    if entry["interval"] is None:
        return "-"
    low, high = entry["interval"]
    return with_interval({**entry, "exact": low == high})


def aligned(rows: list[list[str]], first: int = 24) -> list[str]:
    """Align: the first column, of at least that width, to the left, the others to the right."""
    rows = [[*map(one_line, row)] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    widths[0] = max(widths[0], first)
    return [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
            ]
        ).rstrip()
        for row in rows
    ]


def _tail(result: Assessment) -> list[str]:
    verdict = result.gate
    draws = result.posterior.phi.shape[1]
    state = "converged" if verdict.ok else "NOT CONVERGED"
    parts = [f"{counted(result.settings.run[0], 'chain')} of {draws:,} draws"]
    for label, value in (
        ("largest R-hat", verdict.rhat_max),
        ("smallest bulk ESS", verdict.ess_bulk_min),
        ("smallest tail ESS", verdict.ess_tail_min),
    ):
        if value is not None:
            parts.append(
                f"{label} {value:.3f}" if label == "largest R-hat" else f"{label} {value:,.0f}"
            )
    lines = [f"diagnostics: {state}; " + ", ".join(parts)]
    omega, tau = result.posterior.omega, result.posterior.tau
    if omega is not None and result.table.labeled:
        said = worth_sentence(
            omega,
            tau,
            result.posterior.regions,
            typical_rate(result.misfit),
            result.settings.prob,
        )
        lines.append(f"trust: {said}")
    if empty := result.table.empty_groups:
        lines.append("groups without rows, not assessed: " + "; ".join(empty))
    lines += [f"warning ({note.code}): {note.message}" for note in result.warnings]
    return lines
