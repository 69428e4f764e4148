"""Utilisation of the sampled links."""

from __future__ import annotations

from ..spec import Axis, Figure
from ..study import Study
from ..timelines import links_figure
from .kind import FigureKind, sampled_links


def utilisation(study: Study) -> Figure:
    """Busy fraction of the sampled links."""

    def axis(values: list[float]) -> Axis:
        return Axis("link busy", "percent", 0.0, max(1.05, max(values)))

    caption = "Share of each interval in which the link was sending (headers and framing included)."
    return links_figure(study, "utilisation-time", "Bottleneck utilisation over time", ("utilisation",), axis, caption)


KIND = FigureKind("utilisation of the sampled links", utilisation, aliases=("utilisation",), needs=(sampled_links,))
