"""Locks on files, so that two processes, or two machines on one file system, share the work of a sweep.

The system gives a lock back when its process ends, however it ends: nothing stale stays locked.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from headway.data.later import portalocker
from headway.data.reader import glance
from headway.errors import ResultsError


class Lock:
    """A lock that is held."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def share(self) -> None:
        """Let others share it from now on."""
        portalocker.lock(self._file, portalocker.LOCK_SH)

    def release(self) -> None:
        """Give it back."""
        self._file.close()


def acquire(path: Path, *, shared: bool = False) -> Lock | None:
    """The lock at `path`, or None if another process holds it; raises `ResultsError` where files cannot be locked."""
    kind = portalocker.LOCK_SH if shared else portalocker.LOCK_EX
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise ResultsError(path, f"cannot be written ({error.strerror or error})") from None
    try:
        portalocker.lock(file, kind | portalocker.LOCK_NB)
    except portalocker.AlreadyLocked:
        file.close()
        return None
    except portalocker.LockException as error:
        file.close()
        raise ResultsError(path, f"cannot be locked: does this file system have locks? ({error})") from None
    if not shared:
        _sign(file)
    return Lock(file)


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Hold the lock at `path` meanwhile; gives whether that was possible."""
    lock = acquire(path)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            lock.release()


def is_free(path: Path) -> bool:
    """True if no process holds the lock at `path` now."""
    with held(path) as mine:
        return mine


def holder(path: Path) -> str:
    """Last owner of the lock at `path`, in words."""
    value = glance(path)
    if not isinstance(value, dict):
        return "another process"
    return f"process {value.get('pid', '?')} on {value.get('host', '?')}"


def _sign(file: IO[str]) -> None:
    """Write the holder's name into the lock, for messages."""
    file.seek(0)
    file.truncate()
    file.write(json.dumps({"host": platform.node(), "pid": os.getpid()}))
    file.flush()
