"""The report on several thresholds: metrics and gaps at each, as text and as plain values.

In the text a table of each metric has the thresholds down, groups and gaps across. Where there are
more groups than fit, it says which group is lowest and highest and how far they are apart; the
values hold all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .compare import Estimate
from .report import aligned, number, one_line, plain, probability, shown, summary
from .thresholds import ThresholdCurve

if TYPE_CHECKING:
    from .assessment import Assessment

ACROSS = 2  # groups that fit into a line, with their gap
DOWN = 16  # thresholds of a table of the text


def threshold_values(result: Assessment) -> dict[str, Any]:
    """Return what to_dict holds under "thresholds": threshold to metric to groups, differences."""
    curve = result.thresholds()
    found: dict[str, Any] = {repr(float(cut)): {} for cut in curve.thresholds}
    for name in counted_metrics(result):
        groups = {group: curve.metric(name, group) for group in result.groups}
        gaps = {group: curve.difference(name, group) for group in _others(result)}
        for cut in curve.thresholds.tolist():
            found[repr(cut)][name] = {
                "groups": [
                    {"name": group, **summary(estimates[cut], result.settings.prob)}
                    for group, estimates in groups.items()
                ],
                "differences": [
                    _difference(result, group, estimates[cut]) for group, estimates in gaps.items()
                ],
            }
    return found


def threshold_text(result: Assessment) -> list[str]:
    """Return the lines of the report on several thresholds."""
    curve = result.thresholds()
    shown = np.arange(len(curve.thresholds))
    if len(shown) > DOWN:
        shown = np.unique(np.rint(np.linspace(0, len(shown) - 1, DOWN)).astype(int))
    cuts = curve.thresholds[shown].tolist()
    few = len(result.groups) <= ACROSS
    lines = []
    for name in counted_metrics(result):
        rows = _few(result, curve, name, cuts) if few else _many(result, curve, name, cuts)
        lines += ["", *aligned(rows, 8)]
    if len(shown) < len(curve.thresholds):
        lines.append(
            f"  {len(shown)} of {len(curve.thresholds)} thresholds; the values (to_dict, --json) "
            "hold all"
        )
    if not few:
        lines.append("  lowest and highest by mean; the values (to_dict, --json) hold all groups")
    fixed = [name for name in result.settings.metrics if name not in counted_metrics(result)]
    if fixed:
        verb = "does" if len(fixed) == 1 else "do"
        lines.append(f"  {', '.join(fixed)} {verb} not change with the threshold")
    return [one_line(line) for line in lines]


def counted_metrics(result: Assessment) -> list[str]:
    """Return the metrics of an assessment that change with the threshold."""
    settings = result.settings
    return [
        name
        for name in settings.metrics
        if settings.metric(name).of == "counts" and name != "base_rate"
    ]


def _others(result: Assessment) -> list[str]:
    """The groups that are compared with the reference."""
    reference = result.settings.reference
    return [] if reference is None else [group for group in result.groups if group != reference]


def _difference(result: Assessment, group: str, estimate: Estimate) -> dict[str, Any]:
    settings = result.settings
    return {
        "group": group,
        "reference": settings.reference,
        **summary(estimate, settings.prob),
        "prob_positive": plain(estimate.prob_greater(0.0)),
        "prob_within": plain(estimate.prob_within(settings.epsilon)),
    }


def _few(
    result: Assessment, curve: ThresholdCurve, name: str, cuts: list[float]
) -> list[list[str]]:
    small = f"P(|.|<{result.settings.epsilon:g})"
    others = _others(result)
    head = [f"{name} from", *result.groups]
    for group in others:
        head += [f"{group} minus {result.settings.reference}", small]
    groups = [curve.metric(name, group) for group in result.groups]
    gaps = [curve.difference(name, group) for group in others]
    rows = [head]
    for cut in cuts:
        row = [
            f"  {cut:.4g}",
            *(shown(estimates[cut], result.settings.prob) for estimates in groups),
        ]
        for estimates in gaps:
            near = estimates[cut].prob_within(result.settings.epsilon)
            row += [
                shown(estimates[cut], result.settings.prob),
                probability(near, exact=estimates[cut].exact),
            ]
        rows.append(row)
    return rows


def _many(
    result: Assessment, curve: ThresholdCurve, name: str, cuts: list[float]
) -> list[list[str]]:
    """The lowest and the highest group, and the largest gap: max - min by draw."""
    epsilon = result.settings.epsilon
    groups = [curve.metric(name, group) for group in result.groups]
    rows = [[f"{name} from", "lowest", "", "highest", "", "largest gap", f"P(gap<{epsilon:g})"]]
    for cut in cuts:
        estimates = [mine[cut] for mine in groups]
        mean = np.array([estimate.mean for estimate in estimates])
        if np.isnan(mean).all():
            rows.append([f"  {cut:.4g}", f"- ({estimates[0].reason})", "", "", "", "-", "-"])
            continue
        ends = [int(np.nanargmin(mean)), int(np.nanargmax(mean))]
        draws = np.stack([e.draws for e, m in zip(estimates, mean, strict=True) if not np.isnan(m)])
        exact = all(estimate.exact for estimate in estimates)
        gap = Estimate(draws.max(axis=0) - draws.min(axis=0), estimates[0].lack, exact)
        row = [f"  {cut:.4g}"]
        for end in ends:
            row += [result.groups[end], number(mean[end])]
        near = probability(gap.prob_within(epsilon), exact=exact)
        rows.append([*row, shown(gap, result.settings.prob), near])
    return rows
