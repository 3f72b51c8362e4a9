"""A curve with its interval, among others on the same Axes.

Bands of more than three curves cannot be told apart. Then each curve has whiskers at places of its
own, with its mark there, so that no whisker hides another and a grey copy can be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..model import Floats
from .style import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BANDED = 3  # curves up to which each has a band
WHISKERS = 5  # of a curve that goes all along the axis
LEAST = 3  # of a short one
OPACITY = {1: 0.22, 2: 0.14, 3: 0.12}  # of a band, by the number of curves


def band(ax: Axes, x: Floats, low: Floats, high: Floats, look: Look, size: int) -> None:
    """Draw the band of one of `size` curves; none where these are too many."""
    if size <= BANDED:
        ax.fill_between(
            x, low, high, color=look.colour, alpha=OPACITY[size], linewidth=0, zorder=2.0
        )


def places(ends: list[tuple[float, float]], index: int) -> Floats:
    """Return where the whiskers of a curve stand: float64 (place,), none where it has a band.

    Each curve has every so many-th of equally many places all along the axis. One that is short has
    them closer together, by a power of two, so that they still miss those of all others.

    Parameters
    ----------
    ends
        From where to where each curve goes.
    index
        Of the curve.

    Examples
    --------
    >>> print(places([(0.0, 1.0)] * 4, 0))
    [0.025 0.225 0.425 0.625 0.825]
    """
    size = len(ends)
    if size <= BANDED:
        return np.zeros(0)
    mine, low, high = ends[index], min(ends)[0], max(one[1] for one in ends)
    for closer in (1, 2, 4, 8, 16, 32):
        share = (np.arange(WHISKERS * closer) + (index + 0.5) / size) / (WHISKERS * closer)
        at = low + (high - low) * share
        at = at[(at >= mine[0]) & (at <= mine[1])]
        if len(at) >= LEAST:
            break
    return at


def whiskers(
    ax: Axes, at: Floats, x: Floats, line: tuple[Floats, Floats, Floats], look: Look
) -> None:
    """Draw whiskers and marks on a piece of a curve, at those places that lie on it.

    line: centre, low and high at x, which rises; between two of these they are what a band shows.
    """
    here = at[(at >= x[0]) & (at <= x[-1])]
    if not len(here):
        return
    centre, low, high = (np.interp(here, x, part) for part in line)
    ax.vlines(here, low, high, colors=look.colour, linewidth=1.1, zorder=2.5)
    ax.plot(
        here,
        centre,
        color=look.colour,
        marker=look.marker,
        markersize=5.0,
        linestyle="none",
        label="interval",
        zorder=3.5,
    )
