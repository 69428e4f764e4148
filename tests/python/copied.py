"""Processes of sweeps that begin as copies of one that has read the package, for tests.

A sweep of a few runs of milliseconds takes most of its time to start its processes. Here a server reads the package
once for each process of pytest, and each of theirs is a copy of it, whose environment is its parent's.
"""

from __future__ import annotations

import os
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import Any

from headway.sweeps import worker


class Copy(ForkServerProcess):
    """A process with the environment of its starter, not that of the server."""

    def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401  (of a process)
        super().__init__(*arguments, **options)
        self._environment = dict(os.environ)

    def run(self) -> None:
        """Run the task of the process."""
        os.environ.clear()
        os.environ.update(self._environment)
        super().run()


class Copies(ForkServerContext):
    """Context in which `multiprocessing` makes them."""

    Process = Copy

    def __init__(self) -> None:
        super().__init__()
        self.set_forkserver_preload([worker.__name__])

    @staticmethod
    def end() -> None:
        """End the server and wait for it: the processor time of its processes then counts as ours."""
        server: Any = forkserver
        server._forkserver._stop()
