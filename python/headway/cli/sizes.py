"""Asks before a command writes hundreds of megabytes."""

from __future__ import annotations

import sys

import click

from headway.data.units import size
from headway.errors import HeadwayError

# Size up to which the user is not asked.
UNASKED_BYTES = 300e6


def yes_option(command: click.decorators.FC) -> click.decorators.FC:
    """`--yes`."""
    about = f"Write more than {size(UNASKED_BYTES)} without being asked."
    return click.option("--yes", is_flag=True, help=about)(command)


def ask(estimate: float, where: object, *, yes: bool, smaller: str) -> None:
    """Ask whether so many bytes shall be written; raises `HeadwayError` for no, and if there is no terminal to ask at.

    `smaller` says how to get by with less.
    """
    if yes or estimate <= UNASKED_BYTES:
        return
    amount = f"about {size(estimate)} would be written to {where}"
    if sys.stdin.isatty() and sys.stderr.isatty():
        if click.confirm(f"{amount}. Go on?", err=True):
            return
        raise HeadwayError("nothing was run, and nothing was written")
    raise HeadwayError(f"{amount}, and nobody can be asked here\n  help: go on with --yes; {smaller}")
