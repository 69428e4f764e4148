"""Specification of a figure, independent of the program that draws it.

The data preparation makes these; `svg.py` draws them for the page, `paper.py` with matplotlib. All values are in base
units (seconds, bytes, bits per second, fractions); `Axis.quantity` says how labels are scaled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .palette import Style

# Subject of a panel, such as `(("load", "0.7"), ("seed", "all"))`. The page has a selector for each name here.
About = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Axis:
    """One axis: its quantity, its range in base units, and its scale; `marks` are ticks wanted just there."""

    label: str
    quantity: str
    low: float
    high: float
    log: bool = False
    marks: tuple[float, ...] = ()


@dataclass(frozen=True)
class Curve:
    """One line. `key` ties it to a legend entry (a variant or a flow); NaN breaks the line. `dots` are drawn without a
    line.

    `runs` has the numbers of the runs behind each point, where points belong to runs.
    """

    key: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    markers: bool = False
    step: bool = False
    dots: bool = False
    name: str | None = None
    runs: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Event:
    """A moment worth a mark on the x axis, such as the start of a flow."""

    x: float
    text: str
    key: str


@dataclass(frozen=True)
class Reference:
    """A horizontal line that data are read against, such as the buffer size."""

    y: float
    text: str


@dataclass(frozen=True)
class Shade:
    """A span of the x axis in which something is different, such as a link that is down."""

    start: float
    end: float
    text: str


@dataclass(frozen=True)
class Panel:
    """One pair of axes. `key` is set when the whole panel belongs to one variant."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Curve, ...]
    key: str | None = None
    events: tuple[Event, ...] = ()
    references: tuple[Reference, ...] = ()
    direct_labels: bool = False
    shades: tuple[Shade, ...] = ()
    about: About = ()


@dataclass(frozen=True)
class Dot:
    """One value in a row of a dot panel, with the range it stands for."""

    key: str
    value: float
    low: float | None
    high: float | None
    detail: str


@dataclass(frozen=True)
class DotRow:
    """One row of a dot panel: a link or a class of links."""

    name: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class DotPanel:
    """Rows of dots on one common x axis; `reference` is a value that a line marks."""

    title: str
    x: Axis
    rows: tuple[DotRow, ...]
    about: About = ()
    reference: float | None = None


@dataclass(frozen=True)
class Bar:
    """A part of a row of a bar panel, between two values."""

    key: str
    start: float
    end: float


@dataclass(frozen=True)
class BarRow:
    """One row of a bar panel, and the lines that tell it."""

    name: str
    bars: tuple[Bar, ...]
    detail: tuple[str, ...]


@dataclass(frozen=True)
class BarPanel:
    """Rows of bars on one common x axis."""

    title: str
    x: Axis
    rows: tuple[BarRow, ...]
    about: About = ()


@dataclass(frozen=True)
class HeatCell:
    """A cell of a heat map: its column and row, its value, and where that lies between the lowest and the highest.

    `mark` says that it is the `best`, or `alike`: not apart from the best.
    """

    column: int
    row: int
    value: float
    share: float
    text: str
    detail: str
    mark: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class HeatPanel:
    """A number over the values of two keys: `columns` of the one, `rows` of the other."""

    title: str
    x: str
    y: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[HeatCell, ...]
    label: str
    quantity: str


@dataclass(frozen=True)
class Node:
    """A host or a switch of the sketch, at (x, y) in 0..1 with y downwards; `count` stands for that many.

    `flows` are (text, key) marks of the flows that begin or end here; `side` is where a host's name has room: "below",
    "above", "left" or "right" of it.
    """

    name: str
    kind: str
    x: float
    y: float
    count: int = 1
    flows: tuple[tuple[str, str], ...] = ()
    side: str = "below"


@dataclass(frozen=True)
class Edge:
    """A cable of the sketch with the sentences about it."""

    a: str
    b: str
    rate_bps: float | None
    load: float | None
    bottleneck: bool
    detail: tuple[str, ...]
    is_hurt: bool = False  # another rate or delay than its kind, or a fault during the run


@dataclass(frozen=True)
class Sketch:
    """The topology as drawn."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class LegendEntry:
    """Meaning of one key."""

    key: str
    text: str
    style: Style


@dataclass(frozen=True)
class Figure:
    """A figure with its caption, or the reason why it is absent.

    `panels` are drawn at first. `more` are the panels that selectors bring, the likelier wanted first. `setting` says
    in a few words what they are of, for a file that no caption goes with.
    """

    id: str
    title: str
    caption: str = ""
    panels: tuple[Panel | DotPanel | BarPanel | HeatPanel | Sketch, ...] = ()
    columns: int = 1
    legend: tuple[LegendEntry, ...] = ()
    absent: str | None = None
    more: tuple[Panel | DotPanel, ...] = ()
    setting: str = ""


@dataclass(frozen=True)
class Table:
    """A table of already formatted cells; `sort` holds the value each cell sorts by (a number or text)."""

    id: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    sort: tuple[tuple[float | str, ...], ...]
    caption: str = ""
    keys: tuple[str, ...] = ()  # legend key of each row, where rows belong to variants
    runs: tuple[int, ...] = ()  # number of the run of each row, where rows are runs

    def of(self, columns: Sequence[int], table_id: str, title: str) -> Table:
        """A table of the same rows, reduced to these columns."""
        rows = tuple(tuple(row[i] for i in columns) for row in self.rows)
        sort = tuple(tuple(row[i] for i in columns) for row in self.sort)
        head = tuple(self.head[i] for i in columns)
        return replace(self, id=table_id, title=title, head=head, rows=rows, sort=sort)
