"""SVG: a matplotlib figure as markup that stands in a page beside others.

What matplotlib writes is a file of its own: with a header, ids that other figures use too, and a
style for every element of the page it is put into. Here it becomes an element: ids begin with a
prefix and are left out where nothing refers to them, and the picture has a title and a description
for those who do not see it. Text stays text. The same figure gives the same bytes.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from ..core.data.logit import Floats
from ..core.data.messages import one_line
from .format import escaped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FONT = "DejaVu Sans"  # comes with matplotlib, which measures text by it

FONTS = f"'{FONT}', Verdana, sans-serif"  # what readers have: as wide, or narrower

STYLE: Any = {
    "font.family": FONT,
    "font.size": 10.0,
    "figure.facecolor": "none",  # what shows that a page goes on to the right is behind it
    "svg.fonttype": "none",
    "svg.hashsalt": "lightfair",
    "text.parse_math": False,  # a dollar in a name is a dollar
}

LOCK = threading.RLock()

NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))

REFERENCE = re.compile(r"(?<=url\(#)[^)]+")

LONG = re.compile(r"-?\d+\.\d{3,}")  # a hundredth of a point is finer than any screen

FINE = 0.05  # points, by which a line may leave out where it goes: a seventh of a pixel at most

LEGIBLE = 0.9  # of its size, to which a picture may shrink: small text is 10 pixels high then

THIN = 60  # words of a path that is worth it


class Picture(NamedTuple):
    """A figure of a page: an <svg> element, and its caption, with names from data as they are.

    Where it was left out there is no element, and the caption says why.
    """

    svg: str | None
    caption: str


@contextmanager
def style() -> Iterator[None]:
    """Draw as a report is drawn, whatever style the caller has set; figures are made in it.

    The style of matplotlib is one for all threads, so that one of them draws at a time.
    """
    import matplotlib

    with LOCK, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def element(figure: Figure, prefix: str, title: str, description: str) -> str:
    """Return a figure as an <svg> element.

    Parameters
    ----------
    figure
        Made and saved within `style`.
    prefix : str
        What ids begin with; another one for each figure of a page.
    title, description : str
        What the picture shows, for those who do not see it; with names from data as they are.
    """
    file = BytesIO()
    figure.savefig(file, format="svg", metadata=NO_METADATA, bbox_inches="tight", pad_inches=0.05)
    root = ElementTree.fromstring(file.getvalue())
    used = {name for node in root.iter() for name in _referred(node)}
    order = [node.get("id") for node in root.iter() if node.get("id") in used]
    names = {name: f"{prefix}-{i}" for i, name in enumerate(dict.fromkeys(order), 1) if name}
    box = [_short(float(size)) for size in root.attrib["viewBox"].split()]
    inside = "".join(_markup(node, names) for node in root if _name(node) != "metadata")
    return (
        f'<svg role="img" aria-labelledby="{prefix}-title {prefix}-text" '
        f'viewBox="{" ".join(box)}" width="{box[2]}pt" height="{box[3]}pt" '
        f'style="--least:{LEGIBLE * float(box[2]):.0f}pt" '
        f'font-family="{escape(FONTS)}" stroke-linejoin="round">'
        f'<title id="{prefix}-title">{escaped(one_line(title))}</title>'
        f'<desc id="{prefix}-text">{escaped(one_line(description))}</desc>{inside}</svg>'
    )


def _markup(node: ElementTree.Element, names: dict[str, str]) -> str:
    """An element without namespaces, and without what says nothing: ids, groups, blanks."""
    tag = _name(node)
    if tag == "style":  # it would be the style of the whole page
        return ""
    attributes = ""
    for key, value in node.attrib.items():
        key = key.rpartition("}")[2]
        if key == "id" and value not in names:
            continue
        value = _renamed(key, value, names)
        if key == "d":
            value = _thinned(value)
        if key in ("d", "x", "y", "transform"):
            value = " ".join(LONG.sub(lambda m: _short(float(m[0])), value).split())
        if not (key == "transform" and value.startswith("rotate(-0 ")):
            attributes += f' {key}="{escape(value)}"'
    text = "" if node.text is None or not node.text.strip() else escaped(node.text)
    inside = text + "".join(_markup(child, names) for child in node)
    if tag in ("defs", "g") and not inside or tag == "g" and not attributes:
        return inside
    return f"<{tag}{attributes}>{inside}</{tag}>" if inside else f"<{tag}{attributes}/>"


def _thinned(path: str) -> str:
    """A path without points that lie on the line between others; curves stay as they are."""
    words = path.split()
    if len(words) < THIN or set(words) & set("CcQqSsTtAaHhVvml"):
        return path
    parts = []
    for part in " ".join(words).split("M ")[1:]:
        end = " z" if part.rstrip().endswith("z") else ""
        numbers = [float(word) for word in part.split() if word not in ("L", "z")]
        points = np.array(numbers).reshape(-1, 2)
        kept = points[_corners(points)]
        parts.append(f"M {' L '.join(f'{_short(x)} {_short(y)}' for x, y in kept)}{end}")
    return " ".join(parts)


def _corners(points: Floats) -> list[int]:
    """Places of the points that a line needs (Douglas and Peucker 1973)."""
    kept, todo = {0, len(points) - 1}, [(0, len(points) - 1)]
    while todo:
        first, last = todo.pop()
        if last - first < 2:
            continue
        along = points[last] - points[first]
        away = points[first + 1 : last] - points[first]
        length = float(np.hypot(*along))
        if length > 0.0:
            off = np.abs(along[0] * away[:, 1] - along[1] * away[:, 0]) / length
        else:
            off = np.hypot(away[:, 0], away[:, 1])
        at = first + 1 + int(np.argmax(off))
        if off.max() > FINE:
            kept.add(at)
            todo += [(first, at), (at, last)]
    return sorted(kept)


def _short(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _referred(node: ElementTree.Element) -> list[str]:
    """Ids that an element refers to."""
    found = [name for value in node.attrib.values() for name in REFERENCE.findall(value)]
    return found + [v[1:] for k, v in node.attrib.items() if k.rpartition("}")[2] == "href"]


def _renamed(key: str, value: str, names: dict[str, str]) -> str:
    """The value of an attribute with new names for ids and fonts."""
    if key == "id":
        return names[value]
    if key == "href":
        return f"#{names[value[1:]]}"
    if key == "style":
        value = value.replace(f"; font-family: '{FONT}'", "").replace(f"'{FONT}'", FONTS)
    return REFERENCE.sub(lambda match: names[match[0]], value)


def _name(node: ElementTree.Element) -> str:
    return node.tag.rpartition("}")[2]
