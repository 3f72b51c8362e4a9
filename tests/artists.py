"""What a plot holds, read back from its Axes."""

from __future__ import annotations

import numpy as np


def marks(ax, label):
    """Points (x, y) of the lines with a label."""
    lines = [line.get_xydata() for line in ax.lines if line.get_label() == label]
    return np.concatenate(lines) if lines else np.zeros((0, 2))


def segments(ax, colour=None):
    """Straight segments, of a colour: points, float64 (segment, 2, 2)."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import same_color

    found = [lines for lines in ax.collections if isinstance(lines, LineCollection)]
    if colour is not None:
        found = [lines for lines in found if same_color(lines.get_color()[0], colour)]
    return np.array([one for lines in found for one in lines.get_segments()]).reshape(-1, 2, 2)


def bands(ax):
    from matplotlib.collections import PolyCollection

    return [one for one in ax.collections if isinstance(one, PolyCollection)]


def texts(ax):
    """All texts in and around the Axes."""
    legend = [] if ax.get_legend() is None else ax.get_legend().get_texts()
    titles = [ax._left_title, ax.xaxis.label, ax.yaxis.label]
    return [*titles, *ax.get_xticklabels(), *ax.get_yticklabels(), *ax.texts, *legend]


def words(ax):
    """What they say, lines joined."""
    return [" ".join(text.get_text().split()) for text in texts(ax)]


def below(ax):
    """The name of the horizontal axis and the notes, lines joined."""
    return " ".join(ax.get_xlabel().split())


def legend_of(ax):
    return [text.get_text().replace("\n", " ") for text in ax.get_legend().get_texts()]
