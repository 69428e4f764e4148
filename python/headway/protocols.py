"""Protocols between parts of the package that must not import each other.

This is the only file through which types go in a circle (`tests/python/test_circles.py`). A run has pictures, and
pictures are drawn from runs: results are read without knowing what draws them, and the package says it when it is
imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from headway.data.run import Run
    from headway.data.sweep import Sweep
    from headway.plotting import Plots as Plots


class Artist(Protocol):
    """Draws the content of a run, or of a sweep."""

    def plots(self, results: Run | Sweep) -> Plots:
        """Its figures."""

    def card(self, results: Run | Sweep, numbers: str) -> str:
        """HTML for a notebook: a picture of it, and below that `numbers`, which is HTML."""


_makers: list[Callable[[], Artist]] = []


def draw_with(maker: Callable[[], Artist]) -> None:
    """Draw with the result of `maker`, which is called when something is to be drawn."""
    _makers.insert(0, maker)


def artist() -> Artist:
    """Maker of pictures."""
    return _makers[0]()
