"""Progress of a run or a sweep: a bar in a notebook, lines of text anywhere else."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from headway.data.units import duration

# `None`: a bar in a notebook, and nothing elsewhere. True also prints lines elsewhere.
Shown = bool | None
# Lines of text are this far apart.
STEP = 0.1


def in_notebook() -> bool:
    """True if the program runs in a notebook, which shows HTML."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


class Bar:
    """A bar in a notebook, or else a line on standard error for each tenth."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._fraction = 0.0
        self._note = ""
        self._said = -1.0
        self._handle: Any = None
        if in_notebook():
            display: Any = importlib.import_module("IPython.display").display
            self._handle = display(self, display_id=True)

    def update(self, fraction: float, note: str = "") -> None:
        """So far it is, from 0 to 1."""
        self._fraction, self._note = fraction, note
        if self._handle is not None:
            self._handle.update(self)
        elif fraction >= min(self._said + STEP, 1.0) and fraction > self._said:
            self._said = fraction
            print(repr(self), file=sys.stderr)

    def say(self, text: str) -> None:
        """A line that stays."""
        print(f"{self._title}: {text}", file=sys.stderr)

    def __repr__(self) -> str:
        return f"{self._title}: {self._fraction:.0%}" + (f", {self._note}" if self._note else "")

    def _repr_html_(self) -> str:
        bar = f"<progress value='{self._fraction:.4f}' max='1' aria-label='{escape(self._title)}'></progress>"
        return f"<div>{bar} {escape(repr(self))}</div>"


def of_run(title: str, wanted: Shown) -> Callable[[dict[str, Any]], bool] | None:
    """Callback for the progress of a run; None if nothing is to be shown."""
    if not (in_notebook() if wanted is None else wanted):
        return None
    bar = Bar(title)

    def told(state: dict[str, Any]) -> bool:
        note = f"{state['flows_done']} of {state['flows_total']} flows, {duration(state['virtual_s'])}"
        bar.update(float(state["fraction"] or 0.0), note)
        return True

    return told


class SweepBar:
    """Shows how far a sweep is; an observer of it."""

    def __init__(self, title: str) -> None:
        self._bar = Bar(title)
        self._total = self._ended = 0
        self._under_way: dict[str, float] = {}

    def planned(self, total: int, done: int, notes: list[str]) -> None:
        """The sweep begins."""
        self._total, self._ended = total, done
        for note in notes:
            self._bar.say(note)
        self._show()

    def noted(self, text: str) -> None:
        """Something is worth telling."""
        self._bar.say(text)

    def progressed(self, label: str, state: dict[str, Any] | None) -> None:
        """A point began or advanced."""
        self._under_way[label] = float((state or {}).get("fraction") or 0.0)
        self._show()

    def finished(self, point: Any, result: Any) -> None:  # noqa: ANN401  (of the package of sweeps, above this one)
        """A point ended."""
        self._end(point.label)

    def failed(self, point: Any, error: str) -> None:  # noqa: ANN401
        """A point could not be run."""
        self._bar.say(f"{point.label} failed: {error}")
        self._end(point.label)

    def lost(self, label: str) -> None:
        """A point is run again."""
        self._under_way.pop(label, None)
        self._show()

    def waiting(self, points: Sequence[Any]) -> None:
        """Other processes run the rest."""
        self._bar.say(f"waiting for {len(points)} points that other processes run")

    def elsewhere(self, point: Any) -> None:  # noqa: ANN401
        """Another process finished a point."""
        self._end(point.label)

    def _end(self, label: str) -> None:
        self._under_way.pop(label, None)
        self._ended += 1
        self._show()

    def _show(self) -> None:
        whole = self._ended + sum(self._under_way.values())
        self._bar.update(
            min(whole / self._total, 1.0) if self._total else 1.0, f"{self._ended} of {self._total} points"
        )


def of_sweep(title: str, wanted: Shown) -> SweepBar | None:
    """Bar for the progress of a sweep; None if nothing is to be shown."""
    return SweepBar(title) if (in_notebook() if wanted is None else wanted) else None
