"""A sweep from Python."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePath
from typing import Any

from headway import names
from headway.data.sweep import Sweep, read_sweep
from headway.data.toml import assignment, parsed
from headway.directories import directory_of
from headway.errors import HeadwayError, ScenarioError, with_help
from headway.fair import with_fair
from headway.files import copy_file, writable_directory, write_text
from headway.layout import SCENARIOS
from headway.loading import Scenario, Threads, assignments
from headway.own import PLACE, place_of, texts_in
from headway.progress import of_sweep
from headway.sweeps.board import Observer
from headway.sweeps.capacity import with_threads
from headway.sweeps.executors import executor_of
from headway.sweeps.plan import Shard, folder_name, plan
from headway.sweeps.run import run_sweep
from headway.transport import Factory


def sweep(
    scenario: str | Path | Scenario,
    out: str | Path,
    *,
    sets: Mapping[str, Any] | Sequence[str] = (),
    scale: str | None = None,
    fair: bool = False,
    jobs: int | None = None,
    threads: Threads = 1,
    executor: Any = None,  # noqa: ANN401  (a name, or any pool)
    shard: str | None = None,
    overwrite: bool = False,
    observer: Observer | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Run every point of a scenario's sweep that `out` does not hold yet, and return all that it holds then.

    >>> headway.sweep("examples/quickstart", "out/q")
    >>> headway.sweep(headway.scenario(...), "out/mine")
    >>> headway.sweep("examples/quickstart", "out/q", executor="dask:tcp://10.0.0.1:8786")
    >>> headway.sweep("examples/quickstart", "out/q", executor=client)

    `scenario` is a name, a path, or a scenario, with the overrides and the scale that it was loaded with. One that was
    built or read from a text is written to a file in `out`, for the processes that run its points, with copies of the
    files that it names by relative paths.

    With `fair`, all variants get the same switches: the memory of a real chip, and marks from the path.

    `executor` says where points run: `"local"`, `"slurm"`, `"dask:ADDRESS"`, or an object with the interface of
    `concurrent.futures`, such as a pool of mpi4py or submitit, or a Dask client. Workers need the same version of
    Headway, and `out` and the scenario under the same paths. `jobs` is the number of points, or of tasks of an
    executor, at once. `threads` share each run; `"auto"` takes idle cores. Results do not depend on it.

    `observer` is told how the sweep goes. Without it, a notebook shows a bar; `progress=True` prints lines elsewhere,
    too, and `progress=False` shows nothing.

    A transport in Python is imported by the processes from the file of its class. One that is defined in the program
    itself, or in a notebook, runs in this process, one point at a time.

    Points that fail are in `Sweep.failed`. Ctrl-C stops the processes that this call started; called again, it goes on
    from there.
    """
    where = executor_of(executor)
    own: dict[str, Factory] = {}
    directory = directory_of(out)
    overrides = assignments(sets)
    if isinstance(scenario, Scenario):
        own = scenario.own_classes
        overrides = [*scenario.sets, *overrides]
        scale = scale or scenario.scale
        file = _written(scenario, directory)
    else:
        file = names.resolve(str(scenario))
    if fair:
        there = Scenario.load(file.path, sets=overrides, scale=scale, transports=own)
        overrides = [*with_fair(overrides, there, whole=True)]
    planned = plan(file, directory, sets=overrides, scale=scale, strict=True, transports=own)
    if any(place_of(name, one).startswith(":") for name, one in own.items()):
        # No other process can import a class of a notebook or of the program itself.
        if executor is not None:
            where.close()
            raise HeadwayError(
                "a transport of the program itself, or of a notebook, is in no file that a worker can import"
                + with_help("put the class into a file of its own, and import it from there")
            )
        where, jobs = executor_of(ThreadPoolExecutor(1)), 1
    planned = with_threads(planned, threads, jobs)
    try:
        run_sweep(
            planned,
            jobs=jobs,
            observer=observer or of_sweep(file.name, progress),
            overwrite=overwrite,
            executor=where,
            shard=None if shard is None else Shard.parse(shard),
        )
    finally:
        if where is not executor:
            where.close()
    return read_sweep(out)


def _written(scenario: Scenario, out: Path) -> names.ScenarioFile:
    """The file of a scenario; one without is written below `out`, each text to a place of its own.

    Files that it names by relative paths are copied beside it. Raises `HeadwayError` if it still reads others there,
    as where a path leads upwards.
    """
    if scenario.path is not None:
        return names.ScenarioFile(scenario.name, scenario.path)
    text = scenario.text
    place = out / SCENARIOS / hashlib.sha256(text.encode()).hexdigest()[:8]
    path = writable_directory(place) / f"{folder_name(scenario.name)}.toml"
    write_text(path, text)
    for name in dict.fromkeys(_named_files(scenario)):
        writable_directory((place / name).parent)
        copy_file(scenario.folder / name, place / name)
    try:
        there = Scenario.load(path, sets=scenario.sets, scale=scenario.scale, transports=scenario.own_classes)
    except ScenarioError as error:
        raise HeadwayError(
            f"{error}\nthe scenario names files by paths that begin elsewhere: give whole paths, or save it "
            "beside them, Path(...).write_text(scenario.text), and sweep that file"
        ) from None
    if there.digest != scenario.digest:
        raise HeadwayError(f"{path}: files that it names are others there; give whole paths")
    return names.ScenarioFile(scenario.name, path)


def _named_files(scenario: Scenario) -> Iterator[PurePath]:
    """The files below its folder that its text and its overrides name by relative paths."""
    for value in texts_in([parsed(scenario.text), *(assignment(one)[1] for one in scenario.sets)]):
        place = PLACE.fullmatch(value)
        name = PurePath(place["file"] if place else value)
        if name.is_absolute() or ".." in name.parts or "\0" in value or "\n" in value:
            continue
        if name.parts and (scenario.folder / name).is_file():
            yield name
