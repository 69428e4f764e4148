"""Verbosity of a command while it works: `--progress`, `-q` and `-v`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

import click

Command = TypeVar("Command", bound=Callable[..., Any])
Style = Literal["auto", "bar", "plain", "none"]
STYLES: tuple[Style, ...] = ("auto", "bar", "plain", "none")
_STYLE, _LOUDNESS = "headway.progress", "headway.loudness"


def progress_options(command: Command) -> Command:
    """`--progress`, `-q` and `-v`; `style`, `is_quiet` and `is_verbose` return their values."""
    option = click.option(
        "--progress", type=click.Choice(STYLES), default="auto", expose_value=False, callback=_styled,
        help="Bars, plain lines every 10 s, or none; auto: bars on a terminal, else lines.",
    )  # fmt: skip
    return option(
        _loudness(command, "Also say what is about to run, a line for each finished point, and notes in full.")
    )


def loudness_options(command: Command) -> Command:
    """`-q` and `-v`, for a command that takes no time worth showing."""
    return _loudness(command, "Say notes in full.")


def _loudness(command: Command, verbose: str) -> Command:
    for option in (
        click.option("-v", "--verbose", is_flag=True, expose_value=False, callback=_louder, help=verbose),
        click.option(
            "-q", "--quiet", is_flag=True, expose_value=False, callback=_quieter,
            help="Say nothing but results and errors.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def style() -> Style:
    """Style of progress of the command that runs now."""
    return "none" if is_quiet() else cast(Style, _meta().get(_STYLE, "auto"))


def is_quiet() -> bool:
    """True if it shall print nothing but results and errors."""
    return int(_meta().get(_LOUDNESS, 0)) < 0


def is_verbose() -> bool:
    """True if it shall print more than usual."""
    return int(_meta().get(_LOUDNESS, 0)) > 0


def _meta() -> dict[str, Any]:
    context = click.get_current_context(silent=True)
    return {} if context is None else context.meta


def _styled(ctx: click.Context, _: click.Parameter, value: str) -> None:
    ctx.meta[_STYLE] = value


def _quieter(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    _turn(ctx, -1 if value else 0)


def _louder(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    _turn(ctx, 1 if value else 0)


def _turn(ctx: click.Context, by: int) -> None:
    before = int(ctx.meta.get(_LOUDNESS, 0))
    if by and before == -by:
        raise click.UsageError("-q and -v contradict each other", ctx)
    ctx.meta[_LOUDNESS] = by or before
