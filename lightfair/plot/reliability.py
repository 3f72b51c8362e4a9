"""The calibration of a group: its curve with the credible band, and labeled rows in bins.

What a calibration plot shows, as numbers: the curve by draw, and labeled rows in bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.data.logit import Floats, logit_of, sigmoid
from ..core.data.nodes import CELL_WIDTH, UNLABELED, Ints
from ..core.metrics.estimate import tails
from ..core.model.curve import features
from ..core.model.likelihood import log_odds
from ..core.model.regions import LOW, Regions, regions
from .canvas import (
    BANDED,
    GREY,
    GROUPS,
    LABELS_ONLY,
    LIGHTFAIR,
    Look,
    assessment,
    axes_for,
    band,
    chosen_groups,
    fitted,
    handle,
    legend,
    note,
    places,
    plain_frame,
    titled,
    whiskers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..core.assessment import Assessment

MARKED = 2  # groups up to which labeled rows are drawn


def calibration(result: Assessment, group: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the rate of positives against the score: the curve, its band, and labeled rows.

    Parameters
    ----------
    result
    group
        One, or a list of up to six. Default: all; where there are more than six, those with most
        labeled rows, as the plot then says. One at a time shows most; see the example.
    ax
        Where to draw. Default: a new figure.

    Returns
    -------
    The Axes. The line is the posterior mean of the rate, deviations from the curve included, so
    that with trust it jumps from region to region; it is drawn over the scores of the group's rows.
    The band is pointwise, of the mass of the settings. A marker is the share of positives among
    labeled rows of a region, or of a part of one where there are 40 labels or more; its area grows
    with their number, its whisker is Wilson's interval. The upright line is the threshold. Labeled
    rows are drawn for one group or two. Of more than three groups the curves have whiskers in place
    of bands, each at scores of its own, where its marks are.

    Raises
    ------
    TypeError
        If the result is no assessment, or ax no Axes.
    ValueError
        If there is no such group, or more than six are given.

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
    chosen, left_out = chosen_groups(assessment(result), group)
    ax = axes_for(ax)
    plain_frame(ax, "both")
    ax.plot(
        [0.0, 1.0], [0.0, 1.0], color=GREY, linewidth=0.8, linestyle=(0, (1.0, 2.5)), zorder=1.0
    )
    size = len(chosen)
    alone = size == 1
    looks = (LIGHTFAIR,) if alone else GROUPS
    names = fitted([result.groups[at] for at in chosen])
    found = [pieces(result, at) for at in chosen]
    ends = [_ends(mine) for mine in found]
    for index, (at, look) in enumerate(zip(chosen, looks, strict=False)):
        _curve(ax, found[index], look, tails(result.settings.prob), places(ends, index), size)
        if size <= MARKED:
            _labeled(ax, result, at, look, alone)
    _thresholds(ax, result, chosen, looks)
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.03, 1.03)
    handles = [handle(look) for look in looks[: len(chosen)]]
    above = 0.0 if alone else legend(ax, handles, names)
    of = f" of {names[0]}".replace("\n", " ") if alone else ""
    titled(
        ax,
        f"Calibration{of}",
        f"score; {_intervals(size)}: {100 * result.settings.prob:g} %",
        "share of positive labels",
        above=above,
    )
    said = [left_out] if left_out else []
    if size > MARKED:
        said.append("labeled rows are drawn for one group or two")
    if result.table.threshold is None:
        said.append("rows predicted negative and rows predicted positive have pieces of their own")
    if said:
        note(ax, *said)
    return ax


def _intervals(size: int) -> str:
    """What shows intervals."""
    if size <= MARKED:
        return "bands and whiskers"
    return "bands" if size <= BANDED else "whiskers"


def _ends(found: list[Piece]) -> tuple[float, float]:
    """From which score to which a curve goes."""
    scores = np.concatenate([piece.score for piece in found])
    return float(scores.min()), float(scores.max())


def _curve(
    ax: Axes, found: list[Piece], look: Look, sides: list[float], stand: Floats, size: int
) -> None:
    """Draw one of `size` curves, piece by piece, with whiskers where they stand."""
    for piece in found:
        low, high = np.quantile(piece.rate, sides, axis=0)
        mean = piece.rate.mean(axis=0)
        if len(piece.score) == 1:  # all rows have one score
            ax.vlines(piece.score, low, high, colors=look.colour, alpha=0.4, linewidth=4.0)
        else:
            whiskers(ax, stand, piece.score, (mean, low, high), look)
        band(ax, piece.score, low, high, look, size)
        ax.plot(
            piece.score,
            mean,
            color=look.colour,
            linestyle=look.line,
            linewidth=look.width,
            zorder=3.0,
            marker=look.marker if len(piece.score) == 1 else "",
        )


def _labeled(ax: Axes, result: Assessment, at: int, look: Look, alone: bool) -> None:
    """Draw labeled rows of a group."""
    found = bins(result, at, result.settings.prob)
    if not len(found.rows):
        return
    colour = LABELS_ONLY.colour if alone else look.colour
    ax.vlines(
        found.score,
        found.low,
        found.high,
        colors=colour,
        linewidth=1.0,
        alpha=0.9 if alone else 0.4,
        zorder=3.5,
    )
    ax.scatter(
        found.score,
        found.rate,
        s=12.0 + 3.0 * np.minimum(found.rows, 60),
        marker=look.marker,
        facecolor=ax.get_facecolor(),
        edgecolor=colour,
        linewidth=1.2,
        zorder=4.0,
    )


def _thresholds(ax: Axes, result: Assessment, chosen: list[int], looks: Sequence[Look]) -> None:
    """Draw the threshold, or that of each group."""
    threshold = result.table.threshold
    if isinstance(threshold, dict):
        for at, look in zip(chosen, looks, strict=False):
            ax.axvline(
                threshold[result.groups[at]],
                color=look.colour,
                linestyle=look.line,
                linewidth=0.9,
                zorder=1.5,
            )
    elif threshold is not None:
        ax.axvline(threshold, color=GREY, linewidth=0.9, zorder=1.5)


LABELS = 20  # labeled rows for each bin that a region is cut into

PARTS = 4  # most bins of a region

POINTS = 60  # scores at which a piece of the curve is evaluated


class Piece(NamedTuple):
    """The curve of a group in one region of the scores.

    score: float64 (point,), rising; rate: float64 (draw, point); predicted: 0 or 1; mass: whether
    it is the mass of scores at a clipping bound, where all scores have one rate.
    """

    score: Floats
    rate: Floats
    predicted: int
    mass: bool


class Bins(NamedTuple):
    """Labeled rows of a group, by region and score.

    score: float64 (bin,), their mean; rows, positives: int64; rate: float64, positives / rows; low,
    high: float64, Wilson's interval (1927).
    """

    score: Floats
    rows: Ints
    positives: Ints
    rate: Floats
    low: Floats
    high: Floats


def pieces(result: Assessment, group: int) -> list[Piece]:
    """Return the curve of a group over the range of the scores of its rows, by rising score.

    With trust the rate of a region deviates from the curve, and jumps where the next one begins.
    """
    where, table = result.posterior.regions, result.table
    draws = result.posterior.psi[:, :, group]
    psi = draws.reshape(-1, draws.shape[-1])
    nodes = table.nodes()
    mine = nodes.stratum // 6 == group
    stratum, logit = nodes.stratum[mine], nodes.logit[mine]
    region, predicted = where.of(stratum, logit), stratum // 3 % 2
    on_curve = region < where.first[2]
    found = []

    def add(low: float, high: float, place: int, side: int) -> None:
        ends = sigmoid(np.array([low, high]))
        score = np.linspace(ends[0], ends[1], 1 if low == high else POINTS)
        at = np.log(score) - np.log1p(-score)
        found.append(Piece(score, _rates(psi, at, place, where, result.settings.cap), side, False))

    both = all((on_curve & (predicted == side)).any() for side in (0, 1))
    for side in (0, 1):
        seen = logit[on_curve & (predicted == side)]
        if not len(seen):
            continue
        low, high = float(seen.min()), float(seen.max())
        cut = table.threshold
        cut = cut[table.groups[group]] if isinstance(cut, dict) else cut
        if both and cut is not None:  # up to the threshold, where the rows of the other side begin
            at = float(logit_of(cut, 0.0))
            low, high = (low, max(high, at)) if side == 0 else (min(low, at), high)
        inner = where.edges[side]
        inner = inner[(inner > low) & (inner < high)]
        cuts = [low, *inner.tolist(), high]
        first = where.first[side] + int(np.searchsorted(where.edges[side], low, side="right"))
        for step, (start, end) in enumerate(zip(cuts[:-1], cuts[1:], strict=True)):
            add(start, end, first + step, side)
    for place in np.unique(region[~on_curve]):
        bound, side = where.masses[place - where.first[2]]
        rate = _rates(psi, np.zeros(1), int(place), where, result.settings.cap)
        ends = [0.0, table.clip] if bound == LOW else [1.0 - table.clip, 1.0]
        found.append(Piece(np.array(ends), rate[:, [0, 0]], side, True))
    return sorted(found, key=lambda piece: (float(piece.score[0]), piece.predicted))


def bins(result: Assessment, group: int, prob: float) -> Bins:
    """Return the labeled rows of a group in bins, with intervals of mass `prob`.

    The bins are the regions of `Misfit`. One with 40 labels or more is cut into up to 4 of as many
    labels each, as near as rows of one score allow.
    """
    table = result.table
    where = regions(table) if result.posterior.omega is None else result.posterior.regions
    points, cells = table.points, table.cells
    stratum = np.concatenate([points.stratum, cells.stratum])
    logit = np.concatenate(
        [points.logit, (cells.cell + 0.5) * CELL_WIDTH + cells.power1 / np.maximum(cells.rows, 1.0)]
    )
    rows = np.concatenate([points.rows, cells.rows])
    mine = (stratum // 6 == group) & (stratum % 3 != UNLABELED)
    stratum, logit, rows = stratum[mine], logit[mine], rows[mine]
    region = where.of(stratum, logit)
    order = np.lexsort((logit, region))
    region, logit, rows = region[order], logit[order], rows[order]
    positive = rows * (stratum[order] % 3 == 1)
    key = np.zeros(len(rows), dtype=np.int64)
    for place in np.unique(region):
        here = region == place
        parts = 1 if place >= where.first[2] else int(np.clip(rows[here].sum() // LABELS, 1, PARTS))
        key[here] = place * PARTS + _cut(logit[here], rows[here], parts)
    _, start = np.unique(key, return_index=True)
    if not start.size:
        none = np.zeros(0)
        return Bins(none, none.astype(np.int64), none.astype(np.int64), none, none, none)
    total = np.add.reduceat(rows, start)
    hits = np.add.reduceat(positive, start)
    score = np.add.reduceat(rows * sigmoid(logit), start) / total
    low, high = wilson(hits, total, prob)
    whole = np.rint(total).astype(np.int64), np.rint(hits).astype(np.int64)
    return Bins(score, *whole, hits / total, low, high)


def wilson(hits: Floats, total: Floats, prob: float) -> tuple[Floats, Floats]:
    """Return Wilson's interval of a share: hits of total, above 0.

    Examples
    --------
    >>> low, high = wilson(np.array([2.0]), np.array([10.0]), 0.95)
    >>> print(low.round(3), high.round(3))
    [0.057] [0.51]
    """
    from scipy.special import ndtri

    z2 = float(ndtri(0.5 + 0.5 * prob)) ** 2
    share = hits / total
    middle = (share + 0.5 * z2 / total) / (1.0 + z2 / total)
    half = np.sqrt(z2 * (share * (1.0 - share) / total + 0.25 * z2 / total**2)) / (1.0 + z2 / total)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def _rates(psi: Floats, logit: Floats, region: int, where: Regions, cap: float) -> Floats:
    """f of a region at some logits, (draw, point), for psi (draw, 3 + J)."""
    here = np.full(len(logit), region)
    design = where.design(features(logit, "beta"), here)
    return sigmoid(log_odds(psi, design, where.base[here], cap))


def _cut(logit: Floats, rows: Floats, parts: int) -> Ints:
    """Cut rows, by rising logit, into parts of as many rows each; equal logits stay together."""
    middle = np.cumsum(rows) - 0.5 * rows
    part = np.minimum((parts * middle / rows.sum()).astype(np.int64), parts - 1)
    _, first = np.unique(logit, return_inverse=True)
    lowest = np.full(first.max() + 1, parts)
    np.minimum.at(lowest, first, part)
    return np.asarray(lowest[first])
