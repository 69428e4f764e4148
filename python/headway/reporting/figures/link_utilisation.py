"""Utilisation of every link, or of classes of them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from headway.data.units import display

from ..links import busy, ends
from ..picks import Pick, about, others, readable
from ..spec import Axis, Dot, DotPanel, DotRow, Figure
from ..study import Facet, Study, natural, variant_key
from ..timelines import arrow
from .kind import FigureKind

ROWS_SHOWN = 14


def link_utilisation(study: Study) -> Figure:
    """Busy fraction of each link, or of each class of links in a big fabric."""
    figure_id, title = "link-utilisation", "Link utilisation"
    facets = study.facets if len(study.facets) <= 6 else study.facets[:1]
    drawn = [found for facet in facets if (found := _panel(study, facet, Pick())) is not None]
    panels = [panel for panel, _ in drawn]
    grouped = any(many for _, many in drawn)
    picks = [(facet, pick) for facet in facets for pick in others(study, facet)] if readable(study) else []
    more = [found[0] for facet, pick in picks if (found := _panel(study, facet, pick)) is not None]
    if not panels or not any(panel.rows for panel in panels):
        return Figure(figure_id, title, absent="no link carried anything")
    caption = "Busy share over the whole run, headers and framing included."
    caption += (
        " Dot: mean of a class of links; bar: its least and most busy link." if grouped else " Idle links are left out."
    )
    if len(study.seeds) > 1:
        caption += f" Mean over {len(study.seeds)} seeds."
    if study.x_key:
        caption += f" Shown{study.at_text(facets[0])}."
    columns = 1 if len(panels) == 1 else 2
    return Figure(figure_id, title, caption, tuple(panels), columns, study.legend(), more=tuple(more))


def _panel(study: Study, facet: Facet, pick: Pick) -> tuple[DotPanel, bool] | None:
    """The panel of a facet, and True if its rows are classes of links; None if there are no links."""
    loads = {v: busy(pick.points(study, v, facet)) for v in study.variants}
    loads = {variant: found for variant, found in loads.items() if found}
    if not loads:
        return None
    names = sorted({name for found in loads.values() for name in found}, key=natural)
    used = [name for name in names if any(found.get(name, 0.0) > 0.0005 for found in loads.values())]
    grouped = len(used) > ROWS_SHOWN
    rows = _class_rows(loads, names) if grouped else _link_rows(loads, used)
    return DotPanel(facet.text, _busy_axis(), tuple(rows), about(study, facet, pick)), grouped


def _busy_axis() -> Axis:
    return Axis("link busy", "percent", 0.0, 1.0)


def _link_rows(loads: Mapping[str, Mapping[str, float]], names: list[str]) -> list[DotRow]:
    rows = []
    for name in names:
        dots = tuple(
            Dot(variant_key(v), found[name], None, None, f"{v}: {display('percent', found[name])}")
            for v, found in loads.items()
            if name in found
        )
        rows.append(DotRow(arrow(name), dots))
    return rows


def _class_rows(loads: Mapping[str, Mapping[str, float]], names: list[str]) -> list[DotRow]:
    classes = list(dict.fromkeys(link_class(name) for name in names))
    rows = []
    for kind in classes:
        members = [name for name in names if link_class(name) == kind]
        dots = []
        for variant, found in loads.items():
            values = [found[name] for name in members if name in found]
            mean, low, high = sum(values) / len(values), min(values), max(values)
            spread = f"{display('percent', low)} to {display('percent', high)}"
            dots.append(Dot(variant_key(variant), mean, low, high, f"{variant}: {display('percent', mean)} ({spread})"))
        rows.append(DotRow(f"{arrow(kind)} ({len(members)})", tuple(dots)))
    return rows


def link_class(link: str) -> str:
    """`leaf2->spine1` belongs to `leaf->spine`."""
    a, b = ends(link)
    kind = [re.sub(r"[\d.]+$", "", name) or name for name in (a, b)]
    return f"{_kind_text(kind[0])}->{_kind_text(kind[1])}"


def _kind_text(prefix: str) -> str:
    return {"h": "host", "s": "switch"}.get(prefix, prefix)


KIND = FigureKind("busy share of every link over the run", link_utilisation)
