"""Links: the nodes that they join, and how busy they were."""

from __future__ import annotations

from collections import defaultdict

from headway.data.point import Point
from headway.data.statistics import over_seeds


def busy(points: list[Point]) -> dict[str, float]:
    """The busy share of each link, as the mean over runs."""
    values: dict[str, list[float]] = defaultdict(list)
    for point in points:
        for name, busy in point.links.select("name", "busy_fraction").iter_rows():
            values[str(name)].append(float(busy))
    return {name: found.mean for name, parts in values.items() if (found := over_seeds(parts))}


def ends(link: str) -> tuple[str, str]:
    """The two node names of a directed link `a->b`."""
    a, _, b = link.partition("->")
    return a, b
