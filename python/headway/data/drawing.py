"""What draws runs and sweeps, for those who ask one for its pictures.

Drawing needs results, and results need no drawing: what draws is put here when the package is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from headway.data.run import Run
    from headway.data.sweep import Sweep
    from headway.plotting import Plots


class Artist(Protocol):
    """Draws what a run, or a sweep, holds."""

    def plots(self, results: Run | Sweep) -> Plots:
        """Its figures."""

    def card(self, results: Run | Sweep, numbers: str) -> str:
        """HTML for a notebook: a picture of it, and below that `numbers`, which is HTML."""


_ARTISTS: list[Artist] = []


def install(artist: Artist) -> None:
    """Have this one draw from now on."""
    _ARTISTS.insert(0, artist)


def artist() -> Artist:
    """Who draws."""
    return _ARTISTS[0]
