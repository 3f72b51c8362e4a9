"""Axes and everything around the data: colours, row names, titles, legends, notes.

The colours are those of M. Okabe and K. Ito, "Color Universal Design" (2008), which remain distinct
with any type of colour vision. Methods and groups differ by marker and line style, too, so that a
grey copy can be read. Layout is left to the constrained layout of matplotlib; text is wrapped by
its number of characters.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np

from ..core.data.logit import Floats
from ..core.data.messages import middle_out, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text


BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
PURPLE, ORANGE, SKY, GREY = "#CC79A7", "#E69F00", "#56B4E9", "#767676"
SHADE: dict[str, Any] = {"color": GREY, "alpha": 0.18, "linewidth": 0.0}

WIDTH = 6.4  # inches of a figure
HEIGHT = 4.4
ROW = 0.52  # inches
MARGINS = 1.5  # inches for title, legend and axis
CHARACTER = 4.7  # points, the width of a small character
NAME = 24  # characters in a line of a name
LONGEST = 81  # characters of a name
NAMED = 4  # names in a note
NOTES = 6  # notes below a plot

MARKED = 12  # points up to which each has a marker


class Look(NamedTuple):
    """Colour, marker, dashes or "none", line width in points, and whether the marker is filled."""

    colour: str
    marker: str
    dashes: Any = (0.0, ())
    width: float = 1.8
    filled: bool = True


LIGHTFAIR = Look(BLUE, "o", width=2.2)
LABELS_ONLY = Look(VERMILLION, "s", (0, (3.5, 1.2)), 1.4, False)
POWERED = Look(GREY, "^", (0, (1.0, 1.2)), 1.2, False)
EXACT = Look(BLUE, "D", "none")
GROUPS = (
    Look(BLUE, "o"),
    Look(VERMILLION, "s", (0, (5.0, 1.5))),
    Look(GREEN, "^", (0, (5.0, 1.5, 1.0, 1.5))),
    Look(PURPLE, "D", (0, (1.2, 1.2))),
    Look(ORANGE, "v", (0, (8.0, 2.0))),
    Look(SKY, "P", (0, (3.0, 1.2, 1.0, 1.2, 1.0, 1.2))),
)


def figure_size(rows: float | None = None) -> tuple[float, float]:
    """Return width and height in inches of the figure that a plot makes if it is given no Axes.

    Parameters
    ----------
    rows
        Of a forest plot, or of ridges. None for a plot without rows.

    Examples
    --------
    >>> figure_size(20) > figure_size(2)
    True
    """
    return (WIDTH, HEIGHT) if rows is None else (WIDTH, MARGINS + ROW * max(rows, 2))


def axes_for(ax: Axes | None, grid: str, rows: float | None = None) -> Axes:
    """Return the Axes to draw on, `ax` or those of a new figure, with a plain frame and a grid.

    Raises
    ------
    ImportError
        If a figure is to be made without matplotlib.
    """
    if ax is None:
        try:
            from matplotlib import pyplot
        except (ImportError, OSError, RuntimeError) as error:  # or no folder that it may write in
            install = "plots need matplotlib, pip install 'lightfair[plot]'"
            raise ImportError(f"{install}; its import fails: {error}") from error
        ax = pyplot.subplots(figsize=figure_size(rows), layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize="small")
    ax.set_axisbelow(True)
    ax.grid(axis=grid, color=GREY, alpha=0.25, linewidth=0.6)  # type: ignore[arg-type]
    return ax


def literal(text: Text) -> Text:
    """Have a text drawn as it is: a `$` in a name from data does not begin a formula."""
    text.set_parse_math(False)
    text.set_usetex(False)
    return text


def short(name: str) -> str:
    """Return a name for which a title has room."""
    return middle_out(name, LONGEST)


def wrap_names(names: Iterable[str]) -> list[str]:
    """Return names in at most two lines, or, if they would look alike, whole or without a middle.

    Examples
    --------
    >>> wrap_names(["Native Hawaiian or Other, Female"])
    ['Native Hawaiian or\\nOther, Female']
    """
    whole = [textwrap.wrap(one_line(short(name)), NAME) for name in names]
    two = ["\n".join(lines[:2]) + "\N{HORIZONTAL ELLIPSIS}" * (len(lines) > 2) for lines in whole]
    alike = zip(two, whole, strict=True)
    return [text if two.count(text) == 1 else "\n".join(lines) for text, lines in alike]


def name_rows(ax: Axes, names: Iterable[str], below: Sequence[str] = ()) -> None:
    """Name rows 0, 1, ... from the top down, each with a line below its name."""
    labels = wrap_names(names)
    if below:
        labels = [f"{name}\n{text}" for name, text in zip(labels, below, strict=True)]
    ax.set_yticks(range(len(labels)), labels=labels)
    for label in ax.get_yticklabels():
        literal(label)
    ax.set_ylim(len(labels) - 0.45, -0.55)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def finish(
    ax: Axes,
    title: str,
    x: str,
    y: str = "",
    *,
    legend: dict[str, Any] | None = None,
    notes: Sequence[str] = (),
    undefined: Iterable[tuple[str, str | None]] = (),
) -> None:
    """Set title, names of the axes, a legend between title and data, and notes below.

    The layout engine of the figure makes room for them; without one, a tight layout is made once.

    Parameters
    ----------
    legend
        Handles by label.
    notes
        Lines; each is drawn once.
    undefined
        Names with the reason why they are undefined; None if they are not.
    """
    _make_room(ax)
    inches = ax.get_window_extent().width / ax.figure.dpi
    texts = "\n".join(label.get_text() for label in ax.get_yticklabels())
    names = max(map(len, texts.split("\n")))
    room = max(int(72.0 * inches / CHARACTER) - names // 2, 24)
    labels, height = wrap_names(legend or ()), 0.0
    if legend:
        size = max(len(line) for label in labels for line in label.split("\n")) + 8
        drawn = ax.legend(
            list(legend.values()),
            ["label"] * len(labels),  # those that begin with an underscore would be left out
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            borderaxespad=0.2,
            ncol=max(min(room // size, 3, len(labels)), 1),
            frameon=False,
            fontsize="small",
            columnspacing=0.9,
            labelspacing=0.3,
            handlelength=2.6,
        )
        for text, label in zip(drawn.get_texts(), labels, strict=True):
            literal(text).set_text(label)
        height = 72.0 * drawn.get_window_extent().height / ax.figure.dpi
    wrapped = textwrap.fill(one_line(title), max(int(0.8 * room), 20))
    literal(ax.set_title(wrapped, loc="left", fontsize="medium", pad=6.0 + height))
    reasons: dict[str, list[str]] = {}
    for name, reason in undefined:
        if reason is not None:
            reasons.setdefault(reason, []).append(name)
    for reason, named in reasons.items():
        named[NAMED:] = [f"{len(named) - NAMED} more"] * (len(named) > NAMED)
        notes = [*notes, f"{'; '.join(named)}: undefined, {reason}"]
    lines = list(dict.fromkeys(notes))
    lines[NOTES:] = [f"and {len(lines) - NOTES} more"] * (len(lines) > NOTES)
    below = [textwrap.fill(one_line(line), room) for line in lines]
    literal(ax.set_xlabel("\n".join([textwrap.fill(one_line(x), room), *below]), fontsize="small"))
    literal(ax.set_ylabel(y, fontsize="small"))
    _make_room(ax)


def _make_room(ax: Axes) -> None:
    """Lay out a figure without a layout engine; Axes at places of their own, or of parts, stay."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import TightLayoutEngine

    if isinstance(ax.figure, Figure) and ax.figure.get_layout_engine() is None:
        with catch_warnings():
            simplefilter("ignore", UserWarning)
            TightLayoutEngine().execute(ax.figure)


def write(ax: Axes, row: float, text: str) -> None:
    """Write beside a row, on the right of the Axes; or above all rows, at a negative one."""
    options: dict[str, Any] = {"textcoords": "offset points", "annotation_clip": False}
    options["va"] = "bottom" if row < 0.0 else "center"
    at = ("axes fraction", "data")
    literal(ax.annotate(text, (1.0, row), (5, 0), at, fontsize="small", **options))


def shade_near_zero(ax: Axes, epsilon: float) -> Patch:
    """Shade differences below epsilon and draw a line at 0; return a legend handle."""
    ax.axvspan(-epsilon, epsilon, zorder=0.5, **SHADE)
    ax.axvline(0.0, color=GREY, linewidth=0.9, zorder=1.0)
    return patch()


def draw_interval(
    ax: Axes, row: float, mean: float | None, ends: Sequence[float] | None, look: Look, name: str
) -> None:
    """Draw a mean and an interval, either of which may be absent, at a row."""
    if ends is not None:
        line: dict[str, Any] = {"colors": look.colour, "linestyles": look.dashes}
        ax.hlines([row], [ends[0]], [ends[1]], linewidth=look.width, zorder=2.0, **line)
    if mean is not None:
        ax.plot(mean, row, linestyle="none", label=name, zorder=4.0, **style(look))


def style(look: Look, **changes: Any) -> dict[str, Any]:
    """Arguments of `plot` for a look, but for its dashes."""
    return {
        "color": look.colour,
        "linewidth": look.width,
        "marker": look.marker,
        "markersize": 5.5,
        "markerfacecolor": look.colour if look.filled else "none",
    } | changes


def handle(look: Look, **changes: Any) -> Line2D:
    """Return the legend handle of a look."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle=look.dashes, **style(look, **changes))


def patch(**options: Any) -> Patch:
    """Return the legend handle of an area, by default of a shaded region."""
    from matplotlib.patches import Patch

    return Patch(**(options or SHADE))


def draw_curve(
    ax: Axes, x: Floats, line: tuple[Floats, Floats, Floats], look: Look, size: int = 1
) -> None:
    """Draw one of `size` curves with its band.

    Parameters
    ----------
    x
        float64 (point,), rising.
    line
        Centre, low and high at x, float64 (point,), NaN where undefined.
    """
    centre, low, high = line
    marker = look.marker if np.isfinite(centre).sum() <= MARKED else ""
    ax.plot(x, centre, linestyle=look.dashes, zorder=3.0, **style(look, marker=marker))
    ax.fill_between(x, low, high, color=look.colour, alpha=0.22 / size**0.5, linewidth=0.0)
