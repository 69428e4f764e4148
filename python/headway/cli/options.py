"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from headway import names
from headway.directories import directory_of
from headway.errors import HeadwayError
from headway.scenario import MOST_THREADS, Threads, thread_count
from headway.sweeps import Shard
from headway.sweeps.executor import Executor
from headway.sweeps.executors import executor_of

Command = TypeVar("Command", bound=Callable[..., Any])


class ScenarioParameter(click.ParamType[names.ScenarioFile]):
    """A scenario by path, name or unique prefix."""

    name = "scenario"

    def convert(
        self,
        value: Any,  # noqa: ANN401
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> names.ScenarioFile:
        return value if isinstance(value, names.ScenarioFile) else names.resolve(str(value))


class DirectoryParameter(click.ParamType[Path]):
    """A directory, there or not yet; an empty text is none."""

    name = "directory"

    def convert(
        self,
        value: Any,  # noqa: ANN401
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        try:
            return directory_of(value)
        except HeadwayError as error:
            self.fail(str(error), param, ctx)


def scenario_argument(command: Command) -> Command:
    """`FILE`."""
    return click.argument("file", type=ScenarioParameter(), metavar="FILE")(command)


def set_option(command: Command) -> Command:
    """`--set key=value`, repeatable."""
    return click.option(
        "--set",
        "sets",
        multiple=True,
        metavar="KEY=VALUE",
        help="Override a key, such as --set transport.name=phost.",
    )(command)


def scale_option(command: Command) -> Command:
    """`--scale smoke|proxy|paper`."""
    return click.option(
        "--scale",
        type=click.Choice(["smoke", "proxy", "paper"]),
        help="Apply the scenario's [scale.NAME] table; default: none.",
    )(command)


class ThreadsParameter(click.ParamType[Threads]):
    """A number of threads, or `auto`."""

    name = "threads"

    def convert(
        self,
        value: Any,  # noqa: ANN401
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Threads:
        try:
            return "auto" if value == "auto" else thread_count(int(value))
        except ValueError:
            self.fail(f"{value!r} is neither a number from 1 to {MOST_THREADS} nor 'auto'", param, ctx)


def threads_option(command: Command) -> Command:
    """`--threads N|auto`."""
    return click.option(
        "--threads",
        type=ThreadsParameter(),
        default=1,
        metavar="N|auto",
        help="Threads that share a run; 'auto' takes idle cores. The results are the same for any number.",
    )(command)


def jobs_option(command: Command) -> Command:
    """`--jobs N`."""
    return click.option(
        "--jobs",
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of processes, or of tasks at once elsewhere; default: one for each core.",
    )(command)


class ExecutorParameter(click.ParamType[Executor]):
    """Where points run; closed when the command ends."""

    name = "executor"

    def convert(
        self,
        value: Any,  # noqa: ANN401
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Executor:
        try:
            executor = executor_of(value)
        except HeadwayError as error:
            self.fail(str(error), param, ctx)
        if ctx is not None:
            ctx.call_on_close(executor.close)
        return executor


class ShardParameter(click.ParamType[Shard]):
    """`K/N`."""

    name = "shard"

    def convert(
        self,
        value: Any,  # noqa: ANN401
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Shard:
        try:
            return value if isinstance(value, Shard) else Shard.parse(str(value))
        except HeadwayError as error:
            self.fail(str(error), param, ctx)


def executor_option(command: Command) -> Command:
    """`--executor WHERE`."""
    return click.option(
        "--executor",
        type=ExecutorParameter(),
        metavar="WHERE",
        default="local",
        help="Where points run: local (default), slurm, slurm:partition=short,... or dask:ADDRESS (docs/scaling.md).",
    )(command)


def shard_option(command: Command) -> Command:
    """`--shard K/N`."""
    return click.option(
        "--shard",
        type=ShardParameter(),
        metavar="K/N",
        help="Run only the Kth of N parts; others run the other parts in the same directory.",
    )(command)


def out_option(*, required: bool) -> Callable[[Command], Command]:
    """`--out DIR`."""
    return click.option(
        "--out",
        type=DirectoryParameter(),
        required=required,
        metavar="DIR",
        help="Directory for the results.",
    )


def force_option(command: Command) -> Command:
    """`--force`."""
    return click.option(
        "--force", is_flag=True, help="Overwrite the results of another scenario that the directory holds."
    )(command)
