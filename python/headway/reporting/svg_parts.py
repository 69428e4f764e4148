"""Common parts of SVG drawings: the mapping from data to the view box, and two elements.

Text sizes are in the units of the view box, which is chosen so that on a wide screen one unit is one pixel. Colours
come from classes (`k0`, `k1`, ...), so that the page can change them with the mode.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from .spec import Axis

Slots = Mapping[str, int]
CHARACTER = 7.0  # upper estimate of a character's width at 12 units
WIDTHS = {1: 1120, 2: 548, 3: 358}  # of a view box, by the number of columns


@dataclass(frozen=True)
class Frame:
    """The plot area inside the view box, and the axes that map data to it."""

    left: float
    top: float
    width: float
    height: float
    x: Axis
    y: Axis

    @property
    def right(self) -> float:
        """Right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Lower edge."""
        return self.top + self.height

    def px(self, value: float) -> float:
        """Horizontal position of an x value."""
        return self.left + self.width * share(self.x, value)

    def py(self, value: float) -> float:
        """Vertical position of a y value."""
        return self.top + self.height * (1.0 - share(self.y, value))


def share(axis: Axis, value: float) -> float:
    """Position of a value between the ends of an axis, 0 to 1."""
    if axis.log:
        value = max(value, axis.low)
        return math.log(value / axis.low) / math.log(axis.high / axis.low)
    return (value - axis.low) / (axis.high - axis.low)


def text(kind: str, x: float, y: float, content: str, anchor: str = "start") -> str:
    """A text element; `content` is plain text."""
    aligned = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{aligned}>{escape(content)}</text>'


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """A straight line."""
    return f'<line class="{kind}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"/>'


def group(key: str, slots: Slots, content: str) -> str:
    """A group that has the colour of a legend key and is hidden and shown with it."""
    return f'<g class="k{slots[key]}" data-key="{escape(key)}">{content}</g>'


def readable(tip: str) -> str:
    """Attributes of an element that shows `tip` on hover and reads it to a screen reader."""
    return f'role="img" aria-label="{escape(tip)}" data-tip=""'
