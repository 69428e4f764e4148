"""Subject of a figure in a few words, for a file without a caption: load, value of the axis, seeds."""

from __future__ import annotations

from collections.abc import Mapping

from .spec import BarPanel, DotPanel, Figure, Panel
from .study import Study, short_axis, value_text


def setting(study: Study, figure: Figure) -> str:
    """Such as `load 0.7 of host links, 5 seeds`; empty for pictures of no run."""
    panels = [panel for panel in figure.panels if isinstance(panel, Panel | DotPanel | BarPanel)]
    if not panels or not study.points:
        return ""
    told = [dict(panel.about) for panel in panels]
    parts = []
    name = short_axis(study.x_key) if study.x_key else ""
    if name:
        values = {about.get(name) for about in told}
        # Panels against the axis itself are of no one value of it.
        if len(values) == 1 and (value := values.pop()) is not None:
            parts.append(f"{name} {value}")
    if name != "load" and not any(short_axis(key) == "load" for facet in study.facets for key, _ in facet.key):
        parts += _load(study)
    seeds = {about.get("seed") for about in told}
    if len(study.seeds) > 1:
        only = seeds.pop() if len(seeds) == 1 else None
        one_run = only not in (None, "all")
        parts.append(f"seed {only}" if one_run else f"{len(study.seeds)} seeds")
    return ", ".join(parts)


def _load(study: Study) -> list[str]:
    """The load that all runs have alike."""
    found = set()
    for point in study.points:
        traffic = point.scenario.get("traffic")
        for entry in traffic if isinstance(traffic, list) else []:
            if isinstance(entry, Mapping) and entry.get("load") is not None:
                found.add((value_text(entry["load"]), str(entry.get("load_reference", "")).replace("-", " ")))
    if len(found) != 1:
        return []
    load, of = found.pop()
    return [f"load {load} of {of}" if of else f"load {load}"]
