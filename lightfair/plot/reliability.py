"""The calibration of a group: its curve with the credible band, and labeled rows by region."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.assessment import Assessment
from ..core.data.logit import Floats, sigmoid
from ..core.data.messages import check_kind, index_of
from ..core.metrics.estimate import tails
from ..core.metrics.labels_only import beta_binomial
from ..core.model.curve import features
from ..core.model.likelihood import log_odds
from . import canvas

POINTS = 200  # scores at which a curve is evaluated


def calibration(
    result: Assessment, group: Any = None, *, ax: canvas.Axes | None = None
) -> canvas.Axes:
    """Plot the rate of positives of a group against the score: curve, band, and labeled rows.

    Parameters
    ----------
    result : Assessment
    group : optional
        Default: the group with most labeled rows.
    ax : canvas.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    Axes
        The line is the posterior mean of the rate over the scores of the group, with its deviations
        from the curve, so that with trust it jumps from region to region. The band is pointwise, at
        the credible level of the settings. A marker is the share of positives among the labeled
        rows of a region, with its labels-only interval; its area grows with their number, up to
        60. The upright line is the threshold.

    Raises
    ------
    ValueError
        If the group does not exist.

    Examples
    --------
    >>> import lightfair as lf
    >>> from matplotlib.figure import Figure
    >>> rows = lf.simulate(400, 60, rng=3)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> axes = Figure().subplots(1, 2)
    >>> for ax, group in zip(axes, result.groups):
    ...     ax = lf.plot.calibration(result, group, ax=ax)
    """
    check_kind(result, Assessment, "result", "assess")
    labeled = result.table.sums("rows")[..., :2].sum(axis=(1, 2))
    at = int(np.argmax(labeled)) if group is None else index_of(group, result.groups)
    name, threshold, prob = result.groups[at], result.table.threshold, result.settings.prob
    ax = canvas.axes_for(ax, "both")
    ax.axline((0.0, 0.0), slope=1.0, color=canvas.GREY, linewidth=0.8, linestyle=(0, (1.0, 2.5)))
    for score, rate in curves(result, at):
        ends = np.quantile(rate, tails(prob), axis=0)
        canvas.draw_curve(ax, score, (rate.mean(axis=0), *ends), canvas.LIGHTFAIR)
    _draw_labeled(ax, result, at)
    cut = threshold[name] if isinstance(threshold, dict) else threshold
    notes = ["rows predicted negative and positive have separate curves"] * (cut is None)
    if cut is not None:
        ax.axvline(cut, color=canvas.GREY, linewidth=0.9, zorder=1.5)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.03, 1.03))
    x = f"score; band and whiskers: {100 * prob:g} %"
    if result.settings.trust is not None:
        notes.append("steps: each region of scores can deviate from the curve")
    legend = {"lightfair": canvas.handle(canvas.LIGHTFAIR, marker="")}
    legend["labeled rows"] = canvas.handle(canvas.LABELS_ONLY._replace(dashes="-", width=1.0))
    title, y = f"Calibration of {canvas.short(name)}", "share of positive labels"
    canvas.finish(ax, title, x, y, legend=legend, notes=notes)
    return ax


def curves(result: Assessment, group: int) -> list[tuple[Floats, Floats]]:
    """Return the curve of a group over the range of its scores.

    Returns
    -------
    list of (score, rate)
        float64 (point,), rising, and float64 (draw, point), in [0, 1]. One curve; without a
        threshold one for rows predicted negative and one for rows predicted positive.
    """
    table = result.table
    nodes = table.nodes()
    group_logit = nodes.logit[nodes.stratum // 6 == group]
    predicted = nodes.stratum[nodes.stratum // 6 == group] // 3 % 2
    cut = table.threshold
    cut = cut[table.groups[group]] if isinstance(cut, dict) else cut
    sides = [predicted >= 0] if cut is not None else [predicted == 0, predicted == 1]
    pieces = []
    for side, mask in enumerate(sides):
        if not mask.any():
            continue
        low, high = group_logit[mask].min(), group_logit[mask].max()
        score = np.unique(np.linspace(sigmoid(low), sigmoid(high), POINTS))
        with np.errstate(divide="ignore"):  # a score that rounds to 0 or 1 is at an end
            logit = np.clip(np.log(score) - np.log1p(-score), low, high)
        logit[0], logit[-1] = low, high  # at a clipping bound rounding would leave its region
        above = (score >= cut).astype(int) if cut is not None else np.full(len(score), side)
        pieces.append((score, rates(result, group, logit, above)))
    return pieces


def rates(result: Assessment, group: int, logit: Floats, predicted: Any) -> Floats:
    """Return the rate of positives of a group, float64 (draw, point).

    Parameters
    ----------
    logit
        float64 (point,), of the scores.
    predicted
        intp (point,), the predicted class there, 0 or 1.
    """
    where = result.posterior.regions
    psi = result.posterior.psi[:, :, group]
    region = where.of(6 * group + 3 * predicted, logit)
    design = where.design(features(logit, "beta"), region)
    flat = psi.reshape(-1, psi.shape[-1])
    return sigmoid(log_odds(flat, design, where.base[region], result.settings.cap))


def _draw_labeled(ax: canvas.Axes, result: Assessment, group: int) -> None:
    """Draw the labeled rows of a group, region by region."""
    check, settings, look = result.misfit, result.settings, canvas.LABELS_ONLY
    mask = check.group == group
    score, rows, positives = check.score[mask], check.rows[mask], check.positives[mask]
    ends = beta_binomial(positives, rows - positives, prob=settings.prob)
    ax.vlines(score, ends.low, ends.high, colors=look.colour, linewidth=1.0, zorder=3.5)
    area = 12.0 + 3.0 * np.minimum(rows, 60)
    face: dict[str, Any] = {"facecolor": ax.get_facecolor(), "edgecolor": look.colour}
    face |= {"marker": look.marker, "linewidth": 1.2}
    ax.scatter(score, check.rate[mask], s=area, zorder=4.0, **face)
