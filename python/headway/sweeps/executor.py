"""Executors of a sweep's points: processes of this machine, a Dask cluster, Slurm, or any pool of Python.

An executor decides where points run. It does not have to make sure that each is run once: the process that runs a point
holds its lock, and looks first whether it is finished.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from headway.sweeps.board import Board


class Executor(ABC):
    """One place where points run."""

    @abstractmethod
    def run(self, board: Board, jobs: int | None) -> None:
        """Run the pending points of a board until all have ended or a stop is requested; `jobs` at once at most.

        Raises `HeadwayError` if it can run nothing at all. Every point that it started has ended, or was told to, when
        this returns or raises.
        """

    def remote(self, points: int, jobs: int | None) -> int | None:
        """Number of points, of so many, that run at once elsewhere; None if they run on this machine."""
        return None

    def close(self) -> None:  # noqa: B027  (most hold nothing)
        """Give back the resources of the executor: its connection, or processes that rest."""

    def staying(self) -> AbstractContextManager[None]:
        """While this lasts, the executor may keep processes that the next sweep would otherwise have to start again."""
        return nullcontext()


@dataclass(frozen=True)
class ExecutorKind:
    """Declaration of a file of `executors`, as `KIND`.

    `forms` are how users write it, such as `dask:ADDRESS`; a kind without any is only made of an object. `written`
    makes it of what follows the colon (None without a colon), and returns None for what it does not understand.
    `wraps` makes it of a user's object, and returns None for objects of other kinds.
    """

    type: type[Executor]
    forms: tuple[str, ...] = ()
    written: Callable[[str | None], Executor | None] = lambda rest: None
    wraps: Callable[[object], Executor | None] = lambda what: None
