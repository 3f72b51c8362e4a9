"""The calibration of a group: its curve with the credible band, and labeled rows in bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compare import tails
from ..model import Floats
from .asked import assessment, groups_of
from .canvas import axes_for, handle, legend, note, plain_frame, titled
from .curves import BANDED, band, places, whiskers
from .names import fitted
from .rates import Piece, bins, pieces
from .style import GREY, GROUPS, LABELS_ONLY, LIGHTFAIR, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..assessment import Assessment

MOST = len(GROUPS)  # groups that can be told apart
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


def chosen_groups(result: Assessment, group: Any) -> tuple[list[int], str]:
    """Indices of the groups to be drawn over each other, and what to say of those left out."""
    if group is not None:
        return groups_of(result, group, MOST), ""
    size = len(result.groups)
    if size <= MOST:
        return list(range(size)), ""
    labeled = result.table.sums("rows")[..., :2].sum(axis=(1, 2))
    most = np.sort(np.argsort(-labeled, kind="stable")[:MOST])
    return most.tolist(), f"{MOST} of {size} groups: those with most labeled rows"


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
