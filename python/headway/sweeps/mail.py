"""Reports of remote workers on points: lines in files of a folder that all of them share.

Any executor can be used, since nothing but the file system is needed between a worker and the command. Each worker has
a file of its own, which it only appends to. A line that a killed worker could not complete is never read; the point's
own directory says whether it is finished.
"""

from __future__ import annotations

import json
import os
import platform
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from headway.errors import ResultsError
from headway.inputs import open_file

ENDING = ".jsonl"
# As long as the command wants the points of its tasks, this file is there.
OPEN_FILE = "open"


class Outbox:
    """Reports that one worker writes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / f"{platform.node()}-{os.getpid()}-{uuid.uuid4().hex[:8]}{ENDING}"

    def send(self, letter: dict[str, Any]) -> None:
        """Append a report. The file is closed after each, so that other machines see it.

        A report that cannot be written must not fail the worker: whether a point is finished is seen without it.
        """
        text = json.dumps(letter, ensure_ascii=False) + "\n"
        with suppress(OSError):
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(file, text.encode("utf-8"))
            finally:
                os.close(file)

    def is_wanted(self) -> bool:
        """True if the command still wants the runs of its tasks."""
        return (self._folder / OPEN_FILE).exists()


_mine = threading.local()


def outbox(folder: Path) -> Outbox:
    """The outbox of this thread in a folder: one for all tasks, so that there are as many files as workers."""
    known: dict[Path, Outbox] = _mine.__dict__.setdefault("known", {})
    if folder not in known:
        known.clear()
        known[folder] = Outbox(folder)
    return known[folder]


class Inbox:
    """Reports that the command reads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, int] = {}

    def letters(self) -> Iterator[dict[str, Any]]:
        """Reports since the last call."""
        try:
            with os.scandir(self._folder) as entries:
                grown = [e.name for e in entries if e.name.endswith(ENDING) and _size(e) > self._read.get(e.name, 0)]
        except OSError:
            return
        for name in sorted(grown):
            yield from self._from(name)

    def _from(self, name: str) -> Iterator[dict[str, Any]]:
        with suppress(OSError, ResultsError), open_file(self._folder / name) as file:
            file.seek(self._read.get(name, 0))
            whole, newline, _ = file.read().rpartition(b"\n")
            self._read[name] = self._read.get(name, 0) + len(whole) + len(newline)
            for line in whole.splitlines():
                with suppress(ValueError, RecursionError):
                    letter = json.loads(line)
                    if isinstance(letter, dict):
                        yield letter


def _size(entry: os.DirEntry[str]) -> int:
    with suppress(OSError):
        return entry.stat().st_size
    return 0
