"""What runs the points of a sweep: processes of this machine, a Dask cluster, Slurm, or any pool of Python.

An executor decides where points run. That each is run once is not its business: whoever runs a point holds its lock,
and looks first whether it is finished.
"""

from __future__ import annotations

from typing import Protocol

from headway.sweeps.board import Board


class Executor(Protocol):
    """One place where points run."""

    def run(self, board: Board, jobs: int | None) -> None:
        """Run the pending points of a board until all have ended or a stop is requested; `jobs` at once at most.

        Raises `HeadwayError` if it can run nothing at all. Every point that it started has ended, or was told to, when
        this returns or raises.
        """

    def remote(self, points: int, jobs: int | None) -> int | None:
        """How many of so many points run at once elsewhere; None if they run on this machine."""

    def close(self) -> None:
        """Give back what the executor holds: its connection, or processes that rest."""
