"""How plots look: colours, markers and lines of methods and of groups.

The colours are those of M. Okabe and K. Ito, "Color Universal Design" (2008): people of every kind
of colour vision tell them apart. In a grey copy two of them may be alike, so that looks differ by
marker and line, too.
"""

from __future__ import annotations

from typing import NamedTuple

BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREY = "#767676"  # on white it has the contrast that small text needs
PALE = 0.25  # opacity of grey in a grid, on light paper and on dark
SHADE = 0.18  # and in a region

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
