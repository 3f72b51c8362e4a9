"""The Axes that a plot is drawn on, and what is put around the data: titles, legends, notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .asked import axes_of
from .names import WIDTH as NAME
from .names import fitted, wrapped
from .style import GREY, PALE, SHADE, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text
    from matplotlib.transforms import Transform

WIDTH = 6.4  # inches
ROW = 0.52
AROUND = 1.5  # title, legend and axis
HEIGHT = 4.4
LEAST = 150.0  # points
GAPS = 38.0  # points between names, axis, what is beside it, and the edges of the figure
SHORT = 16  # characters of a name in a line, at least
BESIDE = "_beside"
SMALL = "small"


def figure_size(rows: float | None = None) -> tuple[float, float]:
    """Return width and height in inches of the figure that a plot makes for itself.

    Parameters
    ----------
    rows
        Of a forest plot, of ridges or of chains. None: of a plot without rows.

    Examples
    --------
    >>> figure_size(20) > figure_size(2)
    True
    """
    return (WIDTH, HEIGHT) if rows is None else (WIDTH, AROUND + ROW * max(rows, 2))


def axes_for(ax: Any, rows: float | None = None) -> Axes:
    """Return the Axes to draw on: the one given, or that of a new figure.

    Raises
    ------
    ImportError
        If a figure is to be made and matplotlib is absent.
    TypeError
        If `ax` is no Axes.
    """
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError("plots need matplotlib: pip install 'lightfair[plot]'") from error
        return pyplot.subplots(figsize=figure_size(rows), layout="constrained")[1]
    return axes_of(ax)


def ink() -> str:
    """The colour of text, which is dark on light paper and light on dark."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def literal(*texts: Text) -> None:
    """Have texts drawn as they are: a `$` in a name from data begins no formula."""
    for text in texts:
        text.set_parse_math(False)
        text.set_usetex(False)


def titled(ax: Axes, title: str, x: str, y: str = "", *, above: float = 0.0) -> None:
    """Set the title and the names of the axes, drawn as they are, in lines that they have room for.

    above: lines of a legend that stands between the Axes and the title.
    """
    head = ax.set_title(title, loc="left", fontsize="medium")
    ax.set_xlabel(x, fontsize=SMALL)
    ax.set_ylabel(y, fontsize=SMALL)
    literal(head, ax.xaxis.label, ax.yaxis.label)
    size = float(head.get_fontsize())
    room, beside = _room(ax)
    names, up = _names(ax), 8.0 + 1.25 * size * above
    head = ax.set_title(_in_lines(head, room + names + beside), loc="left", pad=up)
    head.set_transform(_corner(ax, names, up))
    ax.set_xlabel(_in_lines(ax.xaxis.label, room))


def _in_lines(text: Text, room: float) -> str:
    """Break what is written into lines of at most that many points, about."""
    words, wide = text.get_text(), _points(text)
    return words if wide <= room else wrapped(words, max(int(len(words) * room / wide), 10))


def _room(ax: Axes) -> tuple[float, float]:
    """Points that the Axes will be wide, and what is beside them, about.

    A layout engine makes way for names of rows and what is beside them.
    """
    figure = ax.figure
    width = 72.0 / figure.dpi * figure.bbox.width
    right = [text for text in ax.texts if text.get_label() == BESIDE]
    beside = max(map(_points, right), default=0.0)
    spec = ax.get_subplotspec()
    if spec is None or figure.get_layout_engine() is None:
        return max(ax.get_position().width * width, LEAST), beside
    names = max(map(_points, ax.get_yticklabels()), default=0.0) + _points(ax.yaxis.label)
    return max(width / spec.get_gridspec().ncols - names - beside - GAPS, LEAST), beside


def _names(ax: Axes) -> float:
    """Points that names of rows take, to the left of the Axes; 0 where there are none."""
    from matplotlib.ticker import FixedLocator

    if not isinstance(ax.yaxis.get_major_locator(), FixedLocator):
        return 0.0
    return max(map(_points, ax.get_yticklabels()), default=0.0)


def _corner(ax: Axes, left: float, up: float = 0.0) -> Transform:
    """Coordinates of the Axes, moved by points: titles and legends begin where names of rows do."""
    from matplotlib.transforms import ScaledTranslation

    inches = ax.figure.dpi_scale_trans
    return ax.transAxes + ScaledTranslation(-left / 72.0, up / 72.0, inches)


def _points(text: Text) -> float:
    """How wide a text is."""
    figure = text.get_figure()
    assert figure is not None
    return float(text.get_window_extent().width) * 72.0 / figure.dpi


def plain_frame(ax: Axes, grid: str) -> None:
    """Leave out the upper and the right side of the frame, and draw a pale grid behind the data."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(labelsize=SMALL)
    ax.set_axisbelow(True)
    ax.grid(axis=grid, color=GREY, alpha=PALE, linewidth=0.6)  # type: ignore[arg-type]


def shade(ax: Axes, low: float, high: float, *, level: bool = False) -> None:
    """Shade a range of the horizontal axis, or `level` of the vertical one, behind the data."""
    span = ax.axhspan if level else ax.axvspan
    span(low, high, color=GREY, alpha=SHADE, linewidth=0.0, zorder=0.5)


def shaded() -> Patch:
    """Return what stands for a shaded range in a legend."""
    from matplotlib.patches import Patch

    return Patch(color=GREY, alpha=SHADE, linewidth=0.0)


def near_zero(ax: Axes, epsilon: float) -> None:
    """Shade differences of less than epsilon, and draw a line at 0."""
    shade(ax, -epsilon, epsilon)
    ax.axvline(0.0, color=GREY, linewidth=0.9, zorder=1.0)


def named_rows(ax: Axes, names: Sequence[str], below: Sequence[str] = ()) -> None:
    """Name rows 0, 1, ... from the top down; what is `below` a name is a line of its own.

    Lines are shorter where a figure is narrow, so that there is room for the data.
    """
    inches = ax.figure.bbox.width / ax.figure.dpi
    lines = fitted(names, min(NAME, max(int(NAME * inches / WIDTH), SHORT)))
    if below:
        lines = [f"{name}\n{more}" for name, more in zip(lines, below, strict=True)]
    ax.set_yticks(range(len(lines)), labels=lines)
    literal(*ax.get_yticklabels())
    ax.set_ylim(len(lines) - 0.45, -0.55)
    ax.tick_params(axis="y", length=0)


def handle(look: Look, *, line: bool = True, marker: bool = True) -> Line2D:
    """Return what stands for a look in a legend."""
    from matplotlib.lines import Line2D

    return Line2D(
        [],
        [],
        color=look.colour,
        marker=look.marker if marker else "",
        markersize=5.5,
        markerfacecolor=look.colour if look.filled else "none",
        markeredgewidth=None if line else look.width,
        linestyle=look.line if line else "none",
        linewidth=look.width,
    )


def legend(ax: Axes, handles: Sequence[Any], labels: Sequence[str]) -> float:
    """Put a legend above the Axes, where it hides nothing; return how many lines it takes.

    It has as many columns, up to three, as there is room for.
    """
    if not labels:
        return 0.0
    names = _names(ax)
    room = (sum(_room(ax)) + names) * ax.figure.dpi / 72.0
    for columns in range(min(3, len(labels)), 0, -1):
        # a label that begins with an underscore would be left out: the names are set afterwards
        drawn = ax.legend(
            handles,
            ["label"] * len(handles),
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            bbox_transform=_corner(ax, names),
            borderaxespad=0.5,  # clears what is beside the first row
            borderpad=0.2,
            ncol=columns,
            frameon=False,
            fontsize=SMALL,
            columnspacing=0.9,
            handlelength=2.6,
            handletextpad=0.5,
        )
        for text, label in zip(drawn.get_texts(), labels, strict=True):
            text.set_text(label)
        literal(*drawn.get_texts())
        if drawn.get_window_extent().width <= room:
            break
    each = -(-len(labels) // columns)
    high = [label.count("\n") + 1 for label in labels]
    return float(max(sum(high[i : i + each]) for i in range(0, len(high), each)))


def beside(ax: Axes, row: float, text: str, *, colour: str | None = None) -> None:
    """Write to the right of the Axes, at a row."""
    literal(
        ax.annotate(
            text,
            label=BESIDE,
            xy=(1.0, row),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color=ink() if colour is None else colour,
            annotation_clip=False,
        )
    )


def inside(ax: Axes, row: float, text: str, *, colour: str = GREY, size: str = SMALL) -> None:
    """Write at the left end of a row, in place of what is undefined."""
    literal(
        ax.annotate(
            text,
            xy=(0.0, row),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=size,
            style="italic",
            color=colour,
            bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
            zorder=5.0,
        )
    )


def note(ax: Axes, *lines: str) -> None:
    """Write below the name of the horizontal axis, from where names of rows begin."""
    names, (room, beside) = _names(ax), _room(ax)
    told = ax.annotate(
        "\n".join(lines),
        xy=(0.0, 0.0),
        xycoords=("axes fraction", ax.xaxis.label),
        xytext=(-names, -3),
        textcoords="offset points",
        va="top",
        fontsize=SMALL,
        color=GREY,
        annotation_clip=False,
    )
    literal(told)
    parts = []
    for line in lines:
        told.set_text(line)
        parts.append(_in_lines(told, room + names + beside))
    told.set_text("\n".join(parts))
