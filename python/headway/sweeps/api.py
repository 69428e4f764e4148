"""A sweep from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headway import names
from headway.data.sweep import Sweep, read_sweep
from headway.directories import directory_of
from headway.scenario import Threads, assignments
from headway.sweeps.board import Observer
from headway.sweeps.capacity import with_threads
from headway.sweeps.executors import executor_of
from headway.sweeps.plan import Shard, plan
from headway.sweeps.run import run_sweep


def sweep(
    scenario: str | Path,
    out: str | Path,
    *,
    sets: Mapping[str, Any] | Sequence[str] = (),
    scale: str | None = None,
    jobs: int | None = None,
    threads: Threads = 1,
    executor: Any = None,  # noqa: ANN401  (a name, or any pool)
    shard: str | None = None,
    overwrite: bool = False,
    observer: Observer | None = None,
) -> Sweep:
    """Run every point of a scenario's sweep that `out` does not hold yet, and return all that it holds then.

    >>> headway.sweep("examples/quickstart", "out/q")
    >>> headway.sweep("examples/quickstart", "out/q", executor="dask:tcp://10.0.0.1:8786")
    >>> headway.sweep("examples/quickstart", "out/q", executor=client)

    `executor` says where points run: `"local"`, `"slurm"`, `"dask:ADDRESS"`, or an object with the interface of
    `concurrent.futures`, such as a pool of mpi4py or submitit, or a Dask client. Workers need the same version of
    Headway, and `out` and the scenario under the same paths. `jobs` is the number of points, or of tasks of an
    executor, at once. `threads` share each run; `"auto"` takes idle cores. Results do not depend on it.

    Points that fail are in `Sweep.failed`. Ctrl-C stops what this call started; called again, it goes on from there.
    """
    where = executor_of(executor)
    planned = plan(names.resolve(str(scenario)), directory_of(out), sets=assignments(sets), scale=scale, strict=True)
    planned = with_threads(planned, threads, jobs)
    try:
        run_sweep(
            planned,
            jobs=jobs,
            observer=observer,
            overwrite=overwrite,
            executor=where,
            shard=None if shard is None else Shard.parse(shard),
        )
    finally:
        if where is not executor:
            where.close()
    return read_sweep(out)
