"""Output of the command line: plain text in a pipe, colour and progress on a terminal.

`rich` draws on terminals; without it everything still works, as plain text.
"""

from __future__ import annotations

import shutil
import signal
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

import click

from headway.cli.echo import echo, harmless
from headway.cli.progress import is_quiet, is_verbose, style
from headway.data.notes import brief
from headway.data.sentences import by_kind, in_few_lines
from headway.data.units import duration, quantity, wait
from headway.in_effect import InEffect, table_of

VERDICT_COLOURS = {
    "reproduced": "green",
    "direction-only": "yellow",
    "not-reproduced": "red",
    "contradicts itself": "cyan",
    "unreachable as set up": "cyan",
    "pending": "bright_black",
}

GAP = "  "
# The last column is broken to so many characters at the least.
LEAST_LAST = 24
# Without bars, the first line of progress comes after so long, the others so far apart.
PLAIN_FIRST_S = 5.0
PLAIN_EVERY_S = 10.0
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
    """Bars on a terminal, or else a plain line now and then, on standard error; `--progress` may ask for either."""

    def __init__(self, *, quiet: bool = False) -> None:
        wanted = "none" if quiet else style()
        if wanted == "auto":
            wanted = "bar" if sys.stderr.isatty() else "plain"
        self._bars = _rich_bars() if wanted == "bar" else None
        self._plain = wanted == "plain" or (wanted == "bar" and self._bars is None)
        self._next_line = time.monotonic() + PLAIN_FIRST_S
        self._several = False
        # Content of the next line, and the time since it is known.
        self._latest: tuple[str, float, str] | None = None
        self._since = time.monotonic()
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
        """True if bars are shown."""
        return self._bars is not None

    def update(self, label: str, state: dict[str, Any] | None) -> None:
        """A run began, or is `state["fraction"]` through."""
        label = harmless(label)
        if self._bars is None:
            if state is not None and not self._several:
                self._line(label, state.get("fraction", 0.0), progress_note(state))
            return
        if label not in self._tasks:
            self._tasks[label] = self._bars.add_task(label, total=1.0, note="")
        if state is not None:
            self._bars.update(self._tasks[label], completed=state.get("fraction", 0.0), note=progress_note(state))

    def overall(self, label: str, fraction: float, note: str) -> None:
        """Show the common progress of several runs."""
        label, note = harmless(label), harmless(note)
        if self._bars is not None:
            if label not in self._tasks:
                self._tasks[label] = self._bars.add_task(label, total=1.0, note="")
            self._bars.update(self._tasks[label], completed=fraction, note=note)
        else:
            # For several runs the whole is shown, and not each.
            self._several = True
            self._line(label, fraction, note)

    def tick(self) -> None:
        """Time has passed: if it is time for a line of progress, one comes although nothing is new."""
        if self._plain and self._latest is not None and time.monotonic() >= self._next_line:
            label, fraction, note = self._latest
            same_s = time.monotonic() - self._since
            if same_s >= PLAIN_EVERY_S:
                note += f", nothing new for {duration(round(same_s))}"
            self._next_line = time.monotonic() + PLAIN_EVERY_S
            echo(f"{label}: {100 * fraction:.0f} %, {note}", err=True)

    def _line(self, label: str, fraction: float, note: str) -> None:
        """Set the next line of progress."""
        self._latest, self._since = (label, fraction, note), time.monotonic()
        self.tick()

    def remove(self, label: str) -> None:
        """A run is over."""
        label = harmless(label)
        if self._bars is not None and label in self._tasks:
            self._bars.remove_task(self._tasks.pop(label))

    def say(self, text: str) -> None:
        """Print a line of the answer, on standard output unless bars are shown."""
        if self._bars is not None:
            self.note(text)
        else:
            echo(text)

    def note(self, text: str, *, error: bool = False) -> None:
        """Print a line that stays, above the bars; only errors if the command is quiet."""
        if self._bars is not None:
            self._bars.console.print(harmless(text), markup=False, highlight=False, style="red" if error else None)
        elif error or not is_quiet():
            echo(text, err=True)


def progress_note(state: dict[str, Any]) -> str:
    """Virtual time, flows, speed and the time left, in a few words."""
    parts = [duration(state.get("virtual_s", 0.0))]
    if state.get("flows_total"):
        parts.append(f"{state.get('flows_done', 0)}/{state['flows_total']} flows")
    if state.get("events_per_s"):
        parts.append(f"{quantity(state['events_per_s'])} events/s")
    if state.get("eta_s") is not None:
        parts.append(f"about {wait(max(1.0, round(state['eta_s'])))} left")
    return ", ".join(parts)


def _rich_bars() -> Any:  # noqa: ANN401  (rich is optional, so its types are not named here)
    try:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Bars
    except ImportError:
        return None
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    return Bars(*columns, console=Console(stderr=True), transient=True)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] | None = None) -> None:
    """Aligned columns on standard output; `notes` holds a line or more of text to go below each row.

    On a terminal the last column and the notes are broken between words to its width, and verdicts have colours. Where
    the other columns leave no room for that, each row is a list of its cells instead.
    """
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    left = sum(widths[:-1]) + len(GAP) * (len(widths) - 1)
    if width is not None and left + min(widths[-1], LEAST_LAST) > width:
        _print_cells(heads, rows, notes, width)
        return
    for index, row in enumerate([heads, *rows]):
        *cells, last = row
        start = "".join(
            _coloured(cell) + " " * (size - len(cell)) + GAP for cell, size in zip(cells, widths, strict=False)
        )
        first, *more = _broken(last, width - left if width else None)
        echo(click.style((start + first).rstrip(), bold=index == 0))
        for line in more:
            echo(" " * left + line)
        if notes and index and notes[index - 1]:
            for line in _broken(notes[index - 1], width - len(INDENT) if width else None):
                echo(click.style(INDENT + line, dim=True))


def print_effect(found: Sequence[InEffect]) -> None:
    """Print the values in effect: a line for each variant, and notes about all."""
    heads, rows, notes = table_of(found)
    print_table(heads, rows)
    for note in notes:
        echo(note)


def _print_cells(heads: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] | None, width: int) -> None:
    """Each row as its first cell and, below that, a line for each other cell that holds something."""
    label = max((len(head) for head in heads[1:]), default=0)
    for index, (first, *cells) in enumerate(rows):
        for line in _broken(first, width):
            echo(click.style(_coloured(line), bold=True))
        for head, cell in zip(heads[1:], cells, strict=True):
            if cell:
                start, *more = _broken(cell, width - len(INDENT) - label - len(GAP))
                echo(f"{INDENT}{head.ljust(label)}{GAP}{_coloured(start)}")
                for line in more:
                    echo(" " * (len(INDENT) + label + len(GAP)) + line)
        if notes and notes[index]:
            for line in _broken(notes[index], width - len(INDENT)):
                echo(click.style(INDENT + line, dim=True))


def print_warnings(warnings: Mapping[str, Sequence[str]], rest: str, of: int, *, in_full: bool = False) -> None:
    """Print the warnings of points of a sweep, by label, on standard error: one line for each kind of sentence,
    those on fairness first; `rest` says where the others are. They are as long as they are only `in_full` or by -v."""
    told = by_kind((label, text) for label, texts in warnings.items() for text in texts)
    print_notes(in_few_lines(told, of, rest), "warning, ", in_full=in_full)


def print_notes(notes: Iterable[str], word: str = "note: ", *, in_full: bool = False) -> None:
    """Print notes on standard error unless the command is quiet: each on one line, or whole `in_full` and by -v."""
    if is_quiet():
        return
    whole = list(notes)
    shown = whole if in_full or is_verbose() else [brief(text) for text in whole]
    for text in shown:
        echo(f"{word}{text}", err=True)
    if shown != whole:
        echo("(-v says what ends with ... in full)", err=True)


def _coloured(cell: str) -> str:
    return click.style(cell, fg=VERDICT_COLOURS[cell]) if cell in VERDICT_COLOURS else cell


def _broken(text: str, width: int | None) -> list[str]:
    """Lines of at most `width`, broken between words; a word that is longer stays whole."""
    lines = text.splitlines() or [""]
    if width is None:
        return lines
    wrapped = (textwrap.wrap(line, max(width, 1), break_long_words=False, break_on_hyphens=False) for line in lines)
    return [part for parts in wrapped for part in parts or [""]]
