"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from headway import names
from headway.directories import directory_of
from headway.errors import ArgumentError, HeadwayError
from headway.loading import MOST_THREADS, Threads, thread_count
from headway.sweeps import Shard
from headway.sweeps.executor import Executor
from headway.sweeps.executors import executor_of, forms

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

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Names that begin so, and files."""
        found = [CompletionItem(name) for name in sorted(names.known_scenarios()) if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


Value = TypeVar("Value")


class Parsed(click.ParamType[Value]):
    """Result of a function for the text, or its `HeadwayError` as a mistake in the use of the command."""

    def __init__(self, name: str, parse: Callable[[Any], Value]) -> None:
        self.name = name
        self.parse = parse

    def convert(
        self,
        value: Any,  # noqa: ANN401
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Value:
        try:
            return self.parse(value)
        except HeadwayError as error:
            self.fail(str(error), param, ctx)


@contextmanager
def as_usage() -> Iterator[None]:
    """Arguments that the library refuses are a mistake in the use of the command."""
    try:
        yield
    except ArgumentError as error:
        raise click.UsageError(str(error)) from None


# A directory, there or not yet; an empty text is none.
DIRECTORY = Parsed("directory", directory_of)


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


def fair_option(command: Command) -> Command:
    """`--fair`."""
    return click.option(
        "--fair",
        is_flag=True,
        help="Give all variants the switches of one real chip, and marks from the longest path: "
        "the setting that `headway check` proposes.",
    )(command)


def variant_option(command: Command) -> Command:
    """`--variant NAME`."""
    return click.option(
        "--variant", metavar="NAME", help="Take what this variant of the scenario sets; default: none of them."
    )(command)


def scale_option(command: Command) -> Command:
    """`--scale smoke|proxy|paper`."""
    return click.option(
        "--scale",
        type=click.Choice(["smoke", "proxy", "paper"]),
        help="Apply the scenario's [scale.NAME] table; default: none.",
    )(command)


def _threads(value: Any) -> Threads:  # noqa: ANN401
    try:
        return "auto" if value == "auto" else thread_count(int(value))
    except ValueError:
        raise HeadwayError(f"{value!r} is neither a number from 1 to {MOST_THREADS} nor 'auto'") from None


def threads_option(command: Command) -> Command:
    """`--threads N|auto`."""
    return click.option(
        "--threads",
        type=Parsed("threads", _threads),
        default=1,
        metavar="N|auto",
        help="Threads that share a run; 'auto' takes idle cores where they help. Results are the same for any number.",
    )(command)


def jobs_option(command: Command) -> Command:
    """`--jobs N`."""
    return click.option(
        "--jobs",
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of processes, or of tasks at once elsewhere; default: one for each core.",
    )(command)


class ExecutorParameter(Parsed[Executor]):
    """Executor of points; closed when the command ends."""

    def convert(
        self,
        value: Any,  # noqa: ANN401
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Executor:
        executor = super().convert(value, param, ctx)
        if ctx is not None:
            ctx.call_on_close(executor.close)
        return executor


def _shard(value: Any) -> Shard:  # noqa: ANN401
    return value if isinstance(value, Shard) else Shard.parse(str(value))


def executor_option(command: Command) -> Command:
    """`--executor WHERE`."""
    return click.option(
        "--executor",
        type=ExecutorParameter("executor", executor_of),
        metavar="WHERE",
        default="local",
        help=f"Where points run; default: local. Write {forms()} (docs/scaling.md).",
    )(command)


def shard_option(command: Command) -> Command:
    """`--shard K/N`."""
    return click.option(
        "--shard",
        type=Parsed("shard", _shard),
        metavar="K/N",
        help="Run only the Kth of N parts; others run the other parts in the same directory.",
    )(command)


def out_option(*, required: bool, default: str = "") -> Callable[[Command], Command]:
    """`--out DIR`; `default` says which directory it is otherwise."""
    return click.option(
        "--out",
        type=DIRECTORY,
        required=required,
        metavar="DIR",
        help="Directory for the results" + (f"; default: {default}." if default else "."),
    )


def force_option(command: Command) -> Command:
    """`--force`."""
    return click.option(
        "--force", is_flag=True, help="Overwrite the results of another scenario that the directory holds."
    )(command)
