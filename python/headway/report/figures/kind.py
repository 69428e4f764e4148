"""What a kind of figure declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..spec import Figure
from ..study import Study


@dataclass(frozen=True)
class FigureKind:
    """One line of what it shows, how it is drawn, and shorter names that mean the same."""

    summary: str
    draw: Callable[[Study], Figure | list[Figure]]
    aliases: tuple[str, ...] = ()
    needs_runs: bool = True

    def figures(self, study: Study) -> list[Figure]:
        """What it draws of a study: mostly one figure, which says itself why it is absent."""
        drawn = self.draw(study)
        return drawn if isinstance(drawn, list) else [drawn]
