"""Data of a page for its script: the panels of all figures, the values of selectors, and the runs.

A page stays one file of less than a megabyte. Panels that are drawn are always in it. Those that selectors bring are
added while there is room, the likelier wanted first, and the page says how many are left out.
"""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from .assemble import Report
from .picks import ALL
from .spec import Figure, Panel
from .study import natural, short_axis, value_text, variant_key
from .svg import more_panels
from .svg_parts import Slots

# Of a page with all that selectors bring.
PAGE_BYTES = 960_000
BASE64 = 4 / 3


@dataclass
class Content:
    """The data of a page, as it grows."""

    panels: dict[str, dict[str, Any]] = field(default_factory=dict)
    figures: dict[str, list[str]] = field(default_factory=dict)
    asks: list[dict[str, Any]] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    left_out: int = 0
    replay: Mapping[str, Any] | None = None

    def add_figure(self, figure: Figure, drawn: Sequence[Mapping[str, Any] | None]) -> None:
        """The panels that are drawn, with the data behind them where there are axes."""
        for index, (panel, behind) in enumerate(zip(figure.panels, drawn, strict=True)):
            about = dict(getattr(panel, "about", ()))
            if behind is None and not about:
                continue
            self._add(figure, index, {**(behind or {}), "about": about, "first": True})

    def _add(self, figure: Figure, index: int, entry: dict[str, Any]) -> None:
        name = f"{figure.id}.{index}"
        self.panels[name] = entry
        self.figures.setdefault(figure.id, []).append(name)

    def add_more(self, figures: Sequence[Figure], slots: Slots, room: int) -> None:
        """Add the panels that selectors bring while they fit into `room` bytes of the page."""
        waiting = []
        for figure in figures:
            usual = _usual(figure)
            for place, (panel, entry) in enumerate(zip(figure.more, more_panels(figure, slots), strict=True)):
                entry["about"] = dict(panel.about)
                changed = sum(value not in usual.get(name, ()) for name, value in panel.about)
                waiting.append((changed, place, figure, entry))
        for _, place, figure, entry in sorted(waiting, key=lambda one: one[:2]):
            size = int(BASE64 * len(zlib.compress(_text(entry).encode(), 6)))
            if size > room:
                self.left_out += 1
                continue
            room -= size
            self._add(figure, len(figure.panels) + place, entry)

    def add_asks(self, report: Report) -> None:
        """Add the values of the selectors: every value that some panel has."""
        study = report.study
        x_name = short_axis(study.x_key) if study.x_key else ""
        values: dict[str, dict[str, None]] = {}
        first: dict[str, dict[str, None]] = {}
        for panel in self.panels.values():
            for name, value in panel["about"].items():
                if name != "link":
                    values.setdefault(name, {})[value] = None
                    if panel.get("first"):
                        first.setdefault(name, {})[value] = None
        order = [x_name, *[name for name in values if name not in (x_name, "seed", "size", "baseline")], "seed", "size"]
        for name in [*order, "baseline"]:
            known = values.get(name, {})
            usual = list(first.get(name, ()))
            offered = [value for value in known if value != ALL and usual != [value]]
            if not offered or (len(known) < 2):
                continue
            if name != "size":
                offered.sort(key=natural)
            if len(usual) == 1:
                text = usual[0]
            elif ALL in usual:
                text = f"all, or {min(u for u in usual if u != ALL)}"
            else:
                # Nothing that is drawn at first is about it, or all of it is drawn.
                text = ALL
            text = f"{text} (largest)" if name == x_name and len(usual) == 1 else text
            self.asks.append({"name": name, "first": text, "values": offered})

    def add_runs(self, report: Report) -> None:
        """Add the description of each run, in the words of the selectors."""
        for point in report.study.points:
            about = {short_axis(key): value_text(value) for key, value in point.axes.items()}
            self.runs.append({"key": variant_key(point.variant), "about": {**about, "seed": str(point.seed)}})

    def block(self) -> Markup:
        """All of it as the text of a script element."""
        parts = {"panels": self.panels, "figures": self.figures, "asks": self.asks, "runs": self.runs}
        return packed(parts if self.replay is None else {**parts, "replay": self.replay})


def packed(data: Mapping[str, Any]) -> Markup:
    """JSON, compressed, as text; the same bytes every time."""
    return Markup(base64.b64encode(gzip.compress(_text(data).encode(), 9, mtime=0)).decode())


def _text(data: object) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _usual(figure: Figure) -> dict[str, set[str]]:
    """Values that the panels drawn at first stand for."""
    found: dict[str, set[str]] = {}
    for panel in figure.panels:
        for name, value in panel.about if isinstance(panel, Panel) else getattr(panel, "about", ()):
            found.setdefault(name, set()).add(value)
    return found
