"""The same figures with matplotlib, fit for a paper: column width, 8 pt type, and the same bytes every time.

SVG text stays text, so that it can be searched and edited; PDF fonts are embedded as TrueType, so that a figure looks
the same wherever it is opened. No date is written and SVG ids come from a fixed salt, so an unchanged result gives an
unchanged file.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headway.data.bounds import Bound
from headway.errors import FeatureMissing, HeadwayError, NameNotFound

try:
    import matplotlib as mpl
except ModuleNotFoundError as error:
    raise FeatureMissing("a figure as SVG, PDF or PNG", "the package `matplotlib`") from error
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator
from matplotlib.transforms import Bbox, TransformedBbox

from .assemble import Report, styles
from .look import Look
from .palette import Style
from .placement import beside
from .spec import Axis, BarPanel, Curve, DotPanel, Figure, HeatPanel, Node, Panel, Sketch
from .ticks import axis_title, ticks

COLUMN_INCHES = 3.4
TWO_COLUMNS_INCHES = 5.0
PAGE_INCHES = 7.0
PNG_DPI = 300
# Metadata that a file would contain in addition to the picture, and that would differ from run to run.
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "ModDate": None},
    "png": {"Software": None},
}
SETTING_INCHES = 0.14
HOSTS_NAMED = 12
HEAT = "#0072b2"
LANES_SHARE = 0.8  # of the height of a row, for its dots
# Region in which lines may be drawn, as shares of the plot: half of a pen is beyond its edge.
_ROOM = Bbox([[-0.008, -0.015], [1.008, 1.015]])
_STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["Arial", "Helvetica", "Liberation Sans", "DejaVu Sans"],
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": "#555b66",
    "axes.axisbelow": True,
    "grid.color": "#e0e3e8",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.1,
    "svg.fonttype": "none",
    "svg.hashsalt": "headway",
    "pdf.fonttype": 42,
    "figure.dpi": 100,
}


# Colour of links with a fault, or with another rate than the topology has: `--bad` of the page.
HURT = "#a11d1d"
# matplotlib has one set of settings for all threads.
_SETTINGS = threading.RLock()


# Settings of a program that its figures take over: not those of windows and files.
_TAKEN = ("axes.", "font.", "grid.", "legend.", "lines.", "mathtext.", "text.", "xtick.", "ytick.")
AS_FONT: Any = {"svg.fonttype": "none", "pdf.fonttype": 42, "ps.fonttype": 42}


def own_settings() -> dict[str, Any]:
    """Settings that affect figures and that the program has changed from matplotlib's defaults."""
    default = mpl.rcParamsDefault
    return {key: value for key, value in mpl.rcParams.items() if key.startswith(_TAKEN) and value != default[key]}


@contextmanager
def paper_style(look: Look | None = None, settings: Mapping[str, Any] | None = None) -> Iterator[None]:
    """The settings that figures are drawn and saved with, one thread at a time.

    These are ours, then `settings` of the program, then the style and the font of `look`.
    """
    more: Any = dict(settings or {})
    with _SETTINGS, mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        mpl.rcParams.update(more)
        if look is not None:
            _use(look)
        yield


def _use(look: Look) -> None:
    """Set the styles and fonts of a look; raises `HeadwayError` for an unknown style or setting."""
    if isinstance(look.style, Mapping):
        own: Any = dict(look.style)
        try:
            mpl.rcParams.update(own)
        except (KeyError, ValueError) as error:
            raise HeadwayError(f"a style of matplotlib's rcParams: {error.args[0]}") from None
    elif look.style is not None:
        from matplotlib import style

        for name in [look.style] if isinstance(look.style, str) else look.style:
            try:
                style.use(name)
            except OSError:
                hint = "a name of `matplotlib.style.available`, or the path of a .mplstyle file"
                raise NameNotFound("style of matplotlib", name, style.available, hint) from None
        mpl.rcParams.update(AS_FONT)
    if look.font is not None:
        from matplotlib import font_manager

        known = {one.name for one in font_manager.fontManager.ttflist}
        if look.font not in (*known, "serif", "sans-serif", "monospace"):
            raise NameNotFound("font", look.font, known, "matplotlib finds the fonts of the system")
        mpl.rcParams["font.family"] = [look.font]


def write_figures(report: Report, directory: Path, fmt: str, look: Look | None = None) -> list[Path]:
    """One file a figure that has data; returns the paths."""
    directory.mkdir(parents=True, exist_ok=True)
    named = styles(report)
    written = []
    with paper_style(look):
        for figure in report.drawn:
            path = directory / f"{figure.id}.{fmt}"
            canvas = draw(figure, named, look=look)
            canvas.savefig(path, format=fmt, dpi=PNG_DPI, metadata=METADATA[fmt])
            written.append(path)
    return written


def draw(
    figure: Figure, named: Mapping[str, Style], canvas_type: type[Canvas] = Canvas, look: Look | None = None
) -> Canvas:
    """The figure on one canvas: a single column of panels if there are few, else the width of the page.

    A width that is asked for decides as well: two columns of panels take 5 inches.
    """
    look = look or Look()
    figure = look.figure(figure)
    count = len(figure.panels)
    columns = 1 if count <= 3 and figure.columns < 3 else min(3 if figure.columns == 3 else 2, count)
    if look.width is not None and look.width < TWO_COLUMNS_INCHES:
        columns = 1
    rows = math.ceil(count / columns)
    width = look.width or (COLUMN_INCHES if columns == 1 else PAGE_INCHES)
    legend = [] if look.legend == "none" else _legend(figure, named)
    legend_columns = _legend_columns(legend, width)
    lines = math.ceil(len(legend) / legend_columns) if legend else 0
    height = sum(_height(figure, row * columns, columns) for row in range(rows)) + 0.17 * lines + 0.05
    height += SETTING_INCHES if figure.setting else 0.0
    layout = ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03, hspace=0.06, wspace=0.04)
    canvas = canvas_type(figsize=(width, look.height or height), layout=layout)
    ratios = [_height(figure, row * columns, columns) for row in range(rows)]
    grid = canvas.subplots(rows, columns, squeeze=False, height_ratios=ratios)
    for index, axes in enumerate(grid.flat):
        if index >= count:
            axes.set_axis_off()
            continue
        panel = figure.panels[index]
        if isinstance(panel, Panel):
            _panel(axes, panel, named, last=index + columns >= count, narrow=columns > 2)
        elif isinstance(panel, DotPanel):
            _dots(axes, panel, named)
        elif isinstance(panel, BarPanel):
            _bars(axes, panel, named)
        elif isinstance(panel, HeatPanel):
            _heat(axes, panel)
        else:
            _sketch(axes, panel, named)
    if figure.setting:
        canvas.supxlabel(figure.setting, fontsize=6.5, color="#5b6472", x=0.99, ha="right")
    if legend:
        box: dict[str, Any] = {"handles": legend, "frameon": False, "borderpad": 0.2, "handlelength": 1.8}
        box |= {"columnspacing": 1.2, "borderaxespad": 0.2}
        place = look.legend or "top"
        if place == "inside":
            grid.flat[0].legend(loc="best", **box)
        elif place == "right":
            canvas.legend(loc="outside right upper", ncols=1, **box)
        else:
            side: Any = "outside upper left" if place == "top" else "outside lower left"
            canvas.legend(loc=side, ncols=legend_columns, **box)
    return canvas


def _legend_columns(legend: Sequence[Line2D], width: float) -> int:
    """As many columns as fit: each is as wide as its line and its longest label at 7 points."""
    longest = max((len(str(line.get_label())) for line in legend), default=0)
    fitting = int((width - 0.1) / (0.4 + 0.046 * longest))
    return max(1, min(len(legend), fitting))


def _legend(figure: Figure, named: Mapping[str, Style]) -> list[Line2D]:
    """The lines that are in the figure: those that a page's selectors would bring are not."""
    if all(isinstance(panel, Sketch) for panel in figure.panels):
        return []
    hidden = _keys(figure.more) - _keys(figure.panels)
    shown = [entry for entry in figure.legend if entry.key not in hidden]
    return [Line2D([], [], label=entry.text, **_pen(named[entry.key])) for entry in shown]


def _keys(panels: Sequence[object]) -> set[str]:
    """Keys of the panels' lines."""
    return {curve.key for panel in panels if isinstance(panel, Panel) for curve in panel.series}


def _height(figure: Figure, first: int, columns: int) -> float:
    tallest = 0.0
    for panel in figure.panels[first : first + columns]:
        if isinstance(panel, DotPanel):
            lanes = max((len(row.dots) for row in panel.rows), default=1)
            tallest = max(tallest, 0.55 + len(panel.rows) * (0.1 + 0.07 * lanes))
        elif isinstance(panel, BarPanel):
            tallest = max(tallest, 0.55 + 0.17 * len(panel.rows))
        elif isinstance(panel, HeatPanel):
            tallest = max(tallest, 0.6 + 0.24 * len(panel.rows))
        elif isinstance(panel, Sketch):
            rows = len({round(node.y, 3) for node in panel.nodes})
            tallest = max(tallest, 0.6 + 0.18 * rows if _has_columns(panel) else 1.0 + 0.28 * rows)
        else:
            tallest = max(tallest, 1.65)
    return tallest


def _pen(style: Style) -> dict[str, Any]:
    dash: Any = "solid"
    if style.dash:
        dash = (0, tuple(float(part) / 1.9 for part in style.dash.split()))
    return {"color": style.light, "linestyle": dash}


def _panel(axes: Axes, panel: Panel, named: Mapping[str, Style], *, last: bool, narrow: bool) -> None:
    colour = named[panel.key].light if panel.key else "black"
    title = panel.title.replace(" · ", "\n") if narrow else panel.title
    axes.set_title(title, loc="left", color=colour, fontweight="bold", pad=12 if panel.events else 5)
    _scale(axes, panel.x, "x")
    _scale(axes, panel.y, "y")
    axes.grid(axis="y")
    axes.set_ylabel(axis_title(panel.y))
    if last:
        axes.set_xlabel(axis_title(panel.x))
    for shade in panel.shades:
        axes.axvspan(shade.start, shade.end, color="#5b6472", alpha=0.13, linewidth=0, zorder=0)
    for line in panel.series:
        _line(axes, line, named[line.key], panel.y)
    for reference in panel.references:
        axes.axhline(reference.y, color="#777e8a", linewidth=0.7, linestyle=(0, (2, 2)))
        left, below = beside(panel, reference)
        axes.annotate(
            reference.text, (0 if left else 1, reference.y), xycoords=("axes fraction", "data"),
            xytext=(2 if left else 0, -2 if below else 2), textcoords="offset points",
            ha="left" if left else "right", va="top" if below else "bottom", fontsize=6.5, color="#5b6472",
        )  # fmt: skip
    _events(axes, panel, named)


def _events(axes: Axes, panel: Panel, named: Mapping[str, Style]) -> None:
    """Names above the plot; those of one moment side by side."""
    shift: dict[float, int] = {}
    for event in panel.events:
        if event.x > panel.x.low:
            axes.axvline(event.x, color="#b9c0c9", linewidth=0.6, linestyle=(0, (1, 2)), zorder=0)
        place = shift.get(event.x, 0)
        shift[event.x] = place + len(event.text) + 1
        axes.annotate(
            event.text, (event.x, 1), xycoords=("data", "axes fraction"), xytext=(place * 4.0, 2),
            textcoords="offset points", ha="left", va="bottom", fontsize=7, color=named[event.key].light,
        )  # fmt: skip


def _scale(axes: Axes, axis: Axis, which: str) -> None:
    if axis.log:
        axes.set(**{f"{which}scale": "log"})
    axes.set(**{f"{which}lim": (axis.low, axis.high)})
    found = ticks(axis, 5 if which == "x" else 6)
    target = axes.xaxis if which == "x" else axes.yaxis
    named = [tick for tick in found if tick.text]
    target.set_major_locator(FixedLocator([tick.value for tick in named]))
    target.set_major_formatter(FixedFormatter([tick.text for tick in named]))
    minor = [tick.value for tick in found if not tick.text]
    target.set_minor_locator(FixedLocator(minor) if minor else NullLocator())
    target.set_minor_formatter(FixedFormatter([""] * len(minor)))


def _line(axes: Axes, line: Curve, style: Style, y: Axis) -> None:
    xs, ys = list(line.x), list(line.y)
    if line.step:
        xs, ys = [xs[0], *xs], [max(y.low, 0.0), *ys]
    marker = {"marker": "o", "markersize": 2.6, "markeredgewidth": 0} if line.markers else {}
    if line.dots:
        axes.plot(xs, ys, "o", color=style.light, markersize=1.8, markeredgewidth=0, alpha=0.5)
        return
    style_of_steps = "steps-post" if line.step else "default"
    least = [(x, y) for x, y in zip(line.x, line.y, strict=True) if isinstance(y, Bound)]
    if least and line.markers:
        axes.plot(*zip(*least, strict=True), "o", color=style.light, markersize=3.4, markerfacecolor="white", zorder=3)
    for drawn in axes.plot(xs, ys, drawstyle=style_of_steps, **_pen(style), **marker):  # type: ignore[arg-type]
        # A share of 100 % lies on the edge of the plot, where half of it would be cut off.
        drawn.set_clip_box(TransformedBbox(_ROOM, axes.transAxes))
    if line.low is not None and line.high is not None:
        axes.fill_between(line.x, line.low, line.high, color=style.light, alpha=0.16, linewidth=0)


def _rows(axes: Axes, panel: DotPanel | BarPanel) -> None:
    """The axes of a panel whose rows have names."""
    axes.set_title(panel.title, loc="left", fontweight="bold")
    _scale(axes, panel.x, "x")
    axes.set_xlabel(axis_title(panel.x))
    axes.grid(axis="x")
    axes.set_ylim(len(panel.rows) - 0.4, -0.6)
    axes.set_yticks(range(len(panel.rows)), [row.name for row in panel.rows])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _bars(axes: Axes, panel: BarPanel, named: Mapping[str, Style]) -> None:
    _rows(axes, panel)
    for index, row in enumerate(panel.rows):
        for bar in row.bars:
            axes.barh(index, bar.end - bar.start, 0.6, bar.start, color=named[bar.key].light, linewidth=0)


def _heat(axes: Axes, panel: HeatPanel) -> None:
    """Cells with their values; the best has a thick frame, those not apart from it a thin one."""
    axes.set_title(panel.title, loc="left", fontweight="bold")
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)
    axes.set_xticks(range(len(panel.columns)), panel.columns)
    axes.set_yticks(range(len(panel.rows)), panel.rows)
    axes.set_xlim(-0.5, len(panel.columns) - 0.5)
    axes.set_ylim(len(panel.rows) - 0.5, -0.5)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for cell in panel.cells:
        corner = (cell.column - 0.5, cell.row - 0.5)
        axes.add_patch(Rectangle(corner, 1, 1, facecolor=HEAT, alpha=0.06 + 0.44 * cell.share, linewidth=0))
        if cell.mark:
            thick = 1.8 if cell.mark == "best" else 0.8
            frame = Rectangle((corner[0] + 0.03, corner[1] + 0.03), 0.94, 0.94, fill=False, linewidth=thick, zorder=3)
            axes.add_patch(frame)
        axes.annotate(cell.text, (cell.column, cell.row), ha="center", va="center", fontsize=6)


def _dots(axes: Axes, panel: DotPanel, named: Mapping[str, Style]) -> None:
    _rows(axes, panel)
    if panel.reference is not None:
        axes.axvline(panel.reference, color="#777e8a", linewidth=0.7, linestyle=(0, (2, 2)))
    for index, row in enumerate(panel.rows):
        for lane, dot in enumerate(row.dots):
            y = index + (lane - (len(row.dots) - 1) / 2) * min(0.24, LANES_SHARE / len(row.dots))
            colour = named[dot.key].light
            if dot.low is not None and dot.high is not None:
                axes.plot([dot.low, dot.high], [y, y], color=colour, alpha=0.4, linewidth=1.6)
            face = {"markerfacecolor": "white"} if isinstance(dot.value, Bound) else {"markeredgewidth": 0}
            axes.plot([dot.value], [y], "o", color=colour, markersize=3.4, clip_on=False, **face)


def _sketch(axes: Axes, sketch: Sketch, named: Mapping[str, Style]) -> None:
    axes.set_axis_off()
    axes.set_xlim(*(-0.14, 1.14) if _has_columns(sketch) else (-0.04, 1.04))
    place = {node.name: (node.x, -node.y) for node in sketch.nodes}
    heights = [y for _, y in place.values()]
    axes.set_ylim(min(heights) - 0.32, max(heights) + 0.18)
    for edge in sketch.edges:
        (x1, y1), (x2, y2) = place[edge.a], place[edge.b]
        axes.plot(
            [x1, x2], [y1, y2], color=HURT if edge.is_hurt else "#1b2027" if edge.bottleneck else "#a9b1bc",
            linewidth=1.8 if edge.bottleneck or edge.is_hurt else 0.7, zorder=1,
        )  # fmt: skip
    crowded = sum(node.kind == "host" for node in sketch.nodes) > HOSTS_NAMED
    for node in sketch.nodes:
        _node(axes, node, named, crowded=crowded)


def _has_columns(sketch: Sketch) -> bool:
    """True if hosts stand in columns, with their names at their sides."""
    return any(node.side in ("left", "right") for node in sketch.nodes)


def _node(axes: Axes, node: Node, named: Mapping[str, Style], *, crowded: bool) -> None:
    """A switch as a box; a host as a circle, with its name while there is room."""
    x, y = node.x, -node.y
    count = f"×{node.count}" if node.count > 1 else ""
    if node.kind != "host":
        box = {"boxstyle": "round,pad=0.3", "facecolor": "#f5f6f8", "edgecolor": "#5b6472", "linewidth": 0.7}
        text = f"{node.name} {count}".rstrip()
        axes.text(x, y, text, ha="center", va="center", fontsize=5.5 if crowded else 6.5, bbox=box, zorder=3)
        return
    axes.plot([x], [y], "o", markersize=4, markerfacecolor="white", markeredgecolor="#5b6472", markeredgewidth=0.8)
    lines = [(count if crowded else f"{node.name} {count}".rstrip(), "black")]
    lines += [(mark.replace("▸", ">"), named[key].light) for mark, key in node.flows]
    lines = [line for line in lines if line[0]]
    beside = {"left": -1, "right": 1}.get(node.side, 0)
    step = 7 if node.side == "above" else -7
    for i, (text, colour) in enumerate(lines):
        axes.annotate(
            text,
            (x, y),
            xytext=(beside * (6 + 12 * i), 0) if beside else (0, step * i + (4 if step > 0 else -5)),
            textcoords="offset points",
            ha={-1: "right", 0: "center", 1: "left"}[beside],
            va="center" if beside else "bottom" if step > 0 else "top",
            fontsize=6,
            color=colour,
        )
