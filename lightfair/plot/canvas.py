"""The Axes that a plot is drawn on, and what is put around the data: titles, legends, notes.

What a plot is asked for, checked before anything is drawn: a result, a metric, groups, Axes.

Every function of `plot` comes through here, so that all of them refuse in the same words: the
argument, what it must be, what was given, and the way out.

A curve with its interval, among others on the same Axes.

Bands of more than three curves cannot be told apart. Then each curve has whiskers at places of its
own, with its mark there, so that no whisker hides another and a grey copy can be read.

Names from data as text in a plot: wrapped, shortened where they must be, drawn as they are.

How plots look: colours, markers and lines of methods and of groups.

The colours are those of M. Okabe and K. Ito, "Color Universal Design" (2008): people of every kind
of colour vision tell them apart. In a grey copy two of them may be alike, so that looks differ by
marker and line, too.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.data.logit import Floats
from ..core.data.messages import hint, level_name, one_line, show

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text
    from matplotlib.transforms import Transform

    from ..core.assessment import Assessment
    from ..model_comparison import ModelComparison
    from ..planning.plan import LabelPlan

WIDTH = 6.4  # inches

ROW = 0.52

AROUND = 1.5  # title, legend and axis

HEIGHT = 4.4

LEAST = 150.0  # points

GAPS = 38.0  # points between names, axis, what is beside it, and the edges of the figure

SHORT = 16  # characters of a name in a line, at least

BESIDE = "_beside"

SMALL = "small"

BLUE = "#0072B2"

VERMILLION = "#D55E00"

GREEN = "#009E73"

PURPLE = "#CC79A7"

ORANGE = "#E69F00"

SKY = "#56B4E9"

GREY = "#767676"  # on white it has the contrast that small text needs

PALE = 0.25  # opacity of grey in a grid, on light paper and on dark

SHADE = 0.18  # and in a region


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
    lines = fitted(names, min(WIDTH_names, max(int(WIDTH_names * inches / WIDTH), SHORT)))
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


LISTED = 10  # names in a message

WAYS = {  # what may be passed in place of something else, and where it belongs
    "Assessment": "plot.groups, plot.differences and others draw it",
    "LabelPlan": "plot.plan draws it",
    "ModelComparison": "plot.models draws it",
    "ThresholdCurve": "pass the assessment that it was made of",
    "Posterior": "pass the assessment that has it",
    "Estimate": "pass the assessment that it was made of",
}


def assessment(value: Any) -> Assessment:
    """Return what must be an assessment."""
    from ..core.assessment import Assessment

    return _of_kind("result", value, Assessment, "assess returns")  # type: ignore[no-any-return]


def label_plan(value: Any) -> LabelPlan:
    """Return what must be a plan."""
    from ..planning.plan import LabelPlan

    return _of_kind("plan", value, LabelPlan, "plan_labels returns")  # type: ignore[no-any-return]


def model_comparison(value: Any) -> ModelComparison:
    """Return what must be a comparison of models."""
    from ..model_comparison import ModelComparison

    made = "compare_models returns"
    return _of_kind("comparison", value, ModelComparison, made)  # type: ignore[no-any-return]


def metric_of(metric: Any, known: Iterable[str], done: str, way_out: str) -> str:
    """Return the name of a metric, one of those known.

    done, way_out: what was done to those, and how it is done to others.
    """
    names = list(known)
    if isinstance(metric, str) and metric in names:
        return metric
    raise ValueError(
        f"metric must be one of those {done}, {_listed(names)}; got {show(metric)}"
        f"{_meant(metric, names)}; {way_out}"
    )


def assessed(result: Assessment, metric: Any) -> str:
    """Return the name of a metric, one that was assessed."""
    return metric_of(metric, result.theta, "assessed", "others are assessed with metrics=[...]")


def decided(result: Assessment, metric: Any) -> str:
    """Return the name of a metric of decisions, assessed or not: one that a threshold changes."""
    from ..core.metrics.definitions import METRICS, as_metric

    if isinstance(metric, str):
        try:
            found = result.settings.metric(metric)
        except ValueError:
            pass
        else:
            if found.of == "counts":
                return metric
            raise ValueError(
                f"metric must be one of decisions; got {metric!r}, which is one of scores and does "
                "not change with the threshold; plot.groups draws it"
            )
    known = [own.name for own in result.settings.own_metrics if own.of == "counts"]
    known += [name for name in METRICS if as_metric(name).of == "counts"]
    raise ValueError(
        f"metric must be one of decisions, such as {', '.join(known)}; got {show(metric)}"
        f"{_meant(metric, known)}"
    )


def group_of(result: Assessment, group: Any, argument: str = "group") -> int:
    """Return the index of a group, given as it was in the data."""
    name = level_name(group)
    if name not in result.groups:
        near = _meant(name, result.groups)
        raise ValueError(
            f"{argument} must be one of {_listed(result.groups)}; got {show(name)}{near}"
        )
    return result.groups.index(name)


def groups_of(result: Assessment, group: Any, most: int) -> list[int]:
    """Return the indices of one group, or of several; a tuple is one crossed group."""
    one = isinstance(group, (str, bytes, tuple)) or not isinstance(group, Iterable)
    found = [group_of(result, each) for each in ([group] if one else group)]
    if not 1 <= len(found) <= most:
        raise ValueError(
            f"group must name one to {most} groups, which can be told apart; got {len(found)}"
        )
    if len(set(found)) < len(found):
        named = ", ".join(result.groups[at] for at in found)
        raise ValueError(f"group must name each group once; got {named}")
    return found


def parameter_of(parameter: Any, known: Iterable[str]) -> str:
    """Return the name of a parameter, one of those known."""
    import difflib

    names = list(known)
    if isinstance(parameter, str) and parameter in names:
        return parameter
    near = difflib.get_close_matches(str(parameter), names, 3, 0.0)
    raise ValueError(
        f"parameter must be one of {len(names):,}, such as {', '.join(near)}; got "
        f"{show(parameter)}; None is the one with the largest R-hat"
    )


def one_of(argument: str, value: Any, known: Iterable[str]) -> str:
    """Return a word, one of those known."""
    names = list(known)
    if isinstance(value, str) and value in names:
        return value
    raise ValueError(
        f"{argument} must be one of {_listed(names)}; got {show(value)}{_meant(value, names)}"
    )


def axes_of(ax: Any) -> Axes:
    """Return what must be one matplotlib Axes."""
    if not hasattr(ax, "transAxes"):
        raise TypeError(
            f"ax must be one matplotlib Axes; got {_what(ax)}; of an array of them pass one, such "
            "as axes[0], of a Figure figure.subplots(), or leave it out for a new figure"
        )
    return ax  # type: ignore[no-any-return]


def _of_kind(argument: str, value: Any, kind: type, made: str) -> Any:
    """Return a value of a kind that lightfair makes."""
    if isinstance(value, kind):
        return value
    name = kind.__name__
    way = WAYS.get(type(value).__name__, f"make one with {made.split()[0]}")
    article = "an" if name[0] in "AEIOU" else "a"
    raise TypeError(f"{argument} must be {article} {name}, which {made}; got {_what(value)}; {way}")


def _what(value: Any) -> str:
    """A short value as it is written, or else what kind it is of."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    plain = value is None or isinstance(value, (str, bool, int, float))
    return show(value) if plain else type(value).__name__


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - LISTED:,} more" if len(every) > LISTED else ""
    return ", ".join(every[:LISTED]) + more


def _meant(value: Any, names: Iterable[str]) -> str:
    return hint(value, names) if isinstance(value, str) else ""


BANDED = 3  # curves up to which each has a band

WHISKERS = 5  # of a curve that goes all along the axis

LEAST_curves = 3  # of a short one

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
        if len(at) >= LEAST_curves:
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


WIDTH_names = 24  # characters of a line

LINES = 2

TITLE = 22  # characters of a name in a title

ELLIPSIS = " … "

TAILS = (0.5, 0.8, 0.2)  # of what is kept, the end: the halves, unless names differ elsewhere


def drawable(text: str) -> str:
    """Return text with what cannot be drawn as escapes.

    That is characters that are no print, and those that none of the fonts of rcParams
    `font.family` has: matplotlib would warn, and draw a box.
    """
    text = one_line(text)
    if text.isascii():
        return text
    fonts = _fonts()
    return "".join(
        c if c.isascii() or any(font.get_char_index(ord(c)) for font in fonts) else _escape(c)
        for c in text
    )


def fitted(names: Sequence[str], width: int = WIDTH_names, lines: int = LINES) -> list[str]:
    """Return names to be drawn, broken into lines of at most `width` characters.

    Where a name needs more than `lines` of them, some of its middle is left out, marked by an
    ellipsis. Names that are then the same are cut elsewhere, and kept whole where that does not
    tell them apart.

    Examples
    --------
    >>> fitted(["White, Male"], width=8)
    ['White,\\nMale']
    """
    whole = [drawable(name) for name in names]
    found = [""] * len(names)
    for tail in TAILS:
        open_ = [at for at, text in enumerate(found) if not text]
        short = {at: _within(whole[at], width, lines, tail) for at in open_}
        taken = [*short.values(), *filter(None, found)]
        for at, text in short.items():
            if taken.count(text) == 1:
                found[at] = text
    return [text or wrapped(name, width) for text, name in zip(found, whole, strict=True)]


def brief(name: str, length: int = 48) -> str:
    """Return a name to be drawn in one line, its middle left out where it is longer than that."""
    return _shortened(drawable(name), length, TAILS[0])


def wrapped(text: str, width: int) -> str:
    """Break text into lines, inside words where they are longer than a line."""
    return "\n".join(textwrap.wrap(text, width, break_on_hyphens=True)) or text


def _within(name: str, width: int, lines: int, tail: float) -> str:
    """A name in lines, as much of it as they hold."""
    for length in range(width * lines, 0, -1):
        text = wrapped(_shortened(name, length, tail), width)
        if text.count("\n") < lines:
            break
    return text


def _shortened(name: str, length: int, tail: float) -> str:
    """A name of at most that length, cut between words where one ends or begins near by."""
    if len(name) <= length:
        return name
    end = max(int(tail * (length - len(ELLIPSIS))), 1)
    start = max(length - len(ELLIPSIS) - end, 1)
    head, rest = name[:start], name[-end:]
    if not name[start].isspace() and 2 * head.rfind(" ") > start:
        head = head[: head.rfind(" ")]
    if not name[-end - 1].isspace() and -1 < 2 * rest.find(" ") < end:
        rest = rest[rest.find(" ") :]
    return f"{head.rstrip()}{ELLIPSIS}{rest.lstrip()}"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _fonts() -> list[Any]:
    """The fonts that matplotlib draws text with, in the order in which it looks for a glyph."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    found = []
    for family in FontProperties().get_family():
        try:
            path = findfont(FontProperties(family=[family]), fallback_to_default=False)
        except ValueError:
            continue
        found.append(get_font(path))
    return found


Dashes = tuple[float, tuple[float, ...]]

SOLID: Dashes = (0.0, ())


class Look(NamedTuple):
    """Colour, marker, line style, line width in points, and whether the marker is filled."""

    colour: str
    marker: str
    line: Dashes
    width: float
    filled: bool = True


LIGHTFAIR = Look(BLUE, "o", SOLID, 2.2)

LABELS_ONLY = Look(VERMILLION, "s", (0, (3.5, 1.2)), 1.4, False)

POWERED = Look(GREY, "^", (0, (1.0, 1.2)), 1.2, False)

EXACT = Look(BLUE, "D", SOLID, 2.2)

TRUTH = Look("black", "|", SOLID, 1.6)  # in the colour of text

GROUPS = (
    Look(BLUE, "o", SOLID, 1.8),
    Look(VERMILLION, "s", (0, (5.0, 1.5)), 1.8),
    Look(GREEN, "^", (0, (5.0, 1.5, 1.0, 1.5)), 1.8),
    Look(PURPLE, "D", (0, (1.2, 1.2)), 1.8),
    Look(ORANGE, "v", (0, (8.0, 2.0)), 1.8),
    Look(SKY, "P", (0, (3.0, 1.2, 1.0, 1.2, 1.0, 1.2)), 1.8),
)

MOST = len(GROUPS)  # groups that can be told apart


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
