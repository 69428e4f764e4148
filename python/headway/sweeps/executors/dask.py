"""The workers of a Dask cluster, which people start with `dask scheduler` and `dask worker`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from headway.errors import HeadwayError
from headway.sweeps.board import Board
from headway.sweeps.executor import Executor, ExecutorKind
from headway.sweeps.executors.futures import Futures, said

# `distributed` is optional and has few types: its client is not named here.
Client = Any

# Longest time until the scheduler answers, and until the first worker appears.
CONNECT_S = 15
WORKERS_S = 60
# Interval at which the scheduler is asked for its workers, and time without any after which that is reported.
ASK_S = 5.0
ALONE_S = 30.0


class Dask(Executor):
    """A Dask cluster, by the address of its scheduler or the client of a program that has one."""

    def __init__(self, address: str | None = None, client: Client | None = None) -> None:
        self._address = address
        self._client = client
        self._owned = client is None

    def run(self, board: Board, jobs: int | None) -> None:
        """Run every pending point on the workers of the cluster."""
        if board.pending():
            self._futures().run(board, jobs)

    def remote(self, points: int, jobs: int | None) -> int | None:
        """As many as the cluster has threads."""
        return self._futures().remote(points, jobs)

    def close(self) -> None:
        """Close the connection, if it was opened here."""
        if self._owned and self._client is not None:
            self._client.close()
            self._client = None

    def _futures(self) -> Futures:
        return _Cluster(self._connected())

    def _connected(self) -> Client:
        if self._client is None:
            try:
                distributed: Any = import_module("distributed")
            except ImportError:
                raise HeadwayError("dask.distributed is not installed: pip install 'headway[dask]'") from None
            try:
                self._client = distributed.Client(self._address, timeout=CONNECT_S, set_as_default=False)
            except Exception as error:
                raise HeadwayError(f"no Dask scheduler answers at {self._address}: {said(error)}") from None
        return self._client


class _Cluster(Futures):
    """The pool of a connected cluster."""

    def __init__(self, client: Client) -> None:
        # The result of a task depends on more than its arguments: one that is submitted again runs again.
        super().__init__(client.get_executor(pure=False))
        self._client = client
        self._ask_from = time.monotonic() + ASK_S
        self._alone_since: float | None = None
        self._told = False
        if not self._workers():
            try:
                client.wait_for_workers(1, timeout=WORKERS_S)
            except Exception:
                raise HeadwayError(
                    f"the Dask scheduler {client.scheduler.address if client.scheduler else ''} has no workers: "
                    f"start some with `dask worker ADDRESS`"
                ) from None

    def _workers(self) -> list[dict[str, int]]:
        return list(self._client.scheduler_info(n_workers=-1)["workers"].values())

    def workers(self) -> int:
        """Threads of all workers."""
        return max(1, sum(one["nthreads"] for one in self._workers()))

    def news(self) -> Sequence[str]:
        """News if all workers have gone, which Dask would wait for."""
        now = time.monotonic()
        if now < self._ask_from:
            return ()
        self._ask_from = now + ASK_S
        if self._workers():
            self._alone_since, self._told = None, False
            return ()
        self._alone_since = self._alone_since or now
        if self._told or now - self._alone_since < ALONE_S:
            return ()
        self._told = True
        return ("the Dask scheduler has no workers: start some with `dask worker ADDRESS`; the sweep waits for them",)

    def memory(self) -> int | None:
        """Bytes of all workers, if each has a limit."""
        limits = [one.get("memory_limit") or 0 for one in self._workers()]
        return sum(limits) if limits and all(limits) else None


def written(rest: str | None) -> Dask:
    """Executor for `dask:ADDRESS`."""
    if not rest:
        raise HeadwayError("dask needs the address of its scheduler: write dask:tcp://HOST:8786")
    return Dask(rest)


def wraps(what: object) -> Dask | None:
    """A client, which is a pool too, but knows how many workers there are."""
    is_client = all(callable(getattr(what, name, None)) for name in ("get_executor", "scheduler_info"))
    return Dask(client=what) if is_client else None


KIND = ExecutorKind(type=Dask, forms=("dask:ADDRESS",), written=written, wraps=wraps)
