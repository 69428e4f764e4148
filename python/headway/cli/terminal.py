"""What the command line shows: plain text in a pipe, colour and progress on a terminal.

`rich` draws on terminals; without it everything still works, as plain text.
"""

from __future__ import annotations

import shutil
import signal
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

import click

from headway.data.sentences import by_sentence
from headway.data.units import duration, quantity

VERDICT_COLOURS = {
    "reproduced": "green",
    "direction-only": "yellow",
    "not-reproduced": "red",
    "contradicts itself": "cyan",
    "unreachable as set up": "cyan",
    "pending": "bright_black",
}

SHOWN_WARNINGS = 5
GAP = "  "
INDENT = "    "


class Stop:
    """Turns the first Ctrl-C into a request that runs look at; the second one ends the process."""

    def __init__(self) -> None:
        self.requested = False

    def __call__(self) -> bool:
        return self.requested

    @contextmanager
    def listening(self) -> Iterator[Self]:
        """Handle SIGINT and SIGTERM inside the block."""
        previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        for number in previous:
            signal.signal(number, self._handle)
        try:
            yield self
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True


class Progress:
    """Bars on standard error if that is a terminal and `rich` is there; otherwise nothing."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._bars = None if quiet or not sys.stderr.isatty() else _rich_bars()
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    @property
    def live(self) -> bool:
        """Whether the output is a terminal."""
        return self._bars is not None

    def update(self, label: str, state: dict[str, Any] | None) -> None:
        """A run began, or is `state["fraction"]` through."""
        if self._bars is None:
            return
        if label not in self._tasks:
            self._tasks[label] = self._bars.add_task(label, total=1.0, note="")
        if state is not None:
            self._bars.update(self._tasks[label], completed=state.get("fraction", 0.0), note=progress_note(state))

    def overall(self, label: str, fraction: float, note: str) -> None:
        """How far several runs are together."""
        if self._bars is not None:
            if label not in self._tasks:
                self._tasks[label] = self._bars.add_task(label, total=1.0, note="")
            self._bars.update(self._tasks[label], completed=fraction, note=note)

    def remove(self, label: str) -> None:
        """A run is over."""
        if self._bars is not None and label in self._tasks:
            self._bars.remove_task(self._tasks.pop(label))

    def say(self, text: str) -> None:
        """Print a line of the answer, on standard output unless bars are shown."""
        if self._bars is not None:
            self.note(text)
        else:
            click.echo(text)

    def note(self, text: str, *, error: bool = False) -> None:
        """Print a line that stays, above the bars."""
        if self._bars is not None:
            self._bars.console.print(text, markup=False, highlight=False, style="red" if error else None)
        else:
            click.echo(text, err=True)


def progress_note(state: dict[str, Any]) -> str:
    """Virtual time, flows, speed and the time left, in a few words."""
    parts = [duration(state.get("virtual_s", 0.0))]
    if state.get("flows_total"):
        parts.append(f"{state.get('flows_done', 0)}/{state['flows_total']} flows")
    if state.get("events_per_s"):
        parts.append(f"{quantity(state['events_per_s'])} events/s")
    if state.get("eta_s") is not None:
        parts.append(f"{state['eta_s']:.0f} s left")
    return ", ".join(parts)


def _rich_bars() -> Any:  # noqa: ANN401  (rich is optional, so its types are not named here)
    try:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Bars
    except ImportError:
        return None
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.fields[note]}"),
    )
    return Bars(*columns, console=Console(stderr=True), transient=True)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] | None = None) -> None:
    """Aligned columns on standard output; `notes` holds a line or more of text to go below each row.

    On a terminal the last column and the notes are broken to its width, and verdicts have colours.
    """
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    left = sum(widths[:-1]) + len(GAP) * (len(widths) - 1)
    for index, row in enumerate([heads, *rows]):
        *cells, last = row
        start = "".join(
            _coloured(cell) + " " * (size - len(cell)) + GAP for cell, size in zip(cells, widths, strict=False)
        )
        first, *more = _broken(last, width - left if width else None)
        click.echo(click.style((start + first).rstrip(), bold=index == 0))
        for line in more:
            click.echo(" " * left + line)
        if notes and index and notes[index - 1]:
            for line in _broken(notes[index - 1], width - len(INDENT) if width else None):
                click.echo(click.style(INDENT + line, dim=True))


def print_warnings(warnings: Mapping[str, Sequence[str]], rest: str) -> None:
    """What points of a sweep have to say, by label, on standard error: one line a sentence, whichever say it, and at
    most five of them; `rest` says where the others are."""
    told = by_sentence((label, text) for label, texts in warnings.items() for text in texts)
    for text, (first, *others) in list(told.items())[:SHOWN_WARNINGS]:
        more = f" and {len(others)} more" if others else ""
        click.echo(f"warning, {first}{more}: {text}", err=True)
    if (left := len(told) - SHOWN_WARNINGS) > 0:
        click.echo(f"and {left} warnings more: {rest}", err=True)


def _coloured(cell: str) -> str:
    return click.style(cell, fg=VERDICT_COLOURS[cell]) if cell in VERDICT_COLOURS else cell


def _broken(text: str, width: int | None) -> list[str]:
    lines = text.splitlines() or [""]
    return lines if width is None else [part for line in lines for part in textwrap.wrap(line, max(width, 20)) or [""]]
