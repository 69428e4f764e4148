"""`headway`: the commands, and how each kind of error ends.

Exit status: 0 done, 1 some runs failed, 2 something the user can put right, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import sys

import click

from headway import __version__
from headway.cli.check import check
from headway.cli.listing import list_things
from headway.cli.report import report
from headway.cli.reproduce import reproduce
from headway.cli.run import run
from headway.cli.sweep import sweep
from headway.errors import HeadwayError, ScenarioError, nearest

FAILED = 1
USER_ERROR = 2
INTERRUPTED = 130


class Commands(click.Group):
    """A group that names the nearest command on a miss."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            close = nearest(args[0], self.commands) if args else []
            hint = f" Did you mean {' or '.join(close)}?" if close else ""
            raise click.UsageError(f"No such command '{args[0]}'.{hint}", ctx) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="headway")
def cli() -> None:
    """Datacenter transports on one packet-level fabric: run a scenario, reproduce a published figure."""


for _command in (run, reproduce, sweep, report, list_things, check):
    cli.add_command(_command)


def main(arguments: list[str] | None = None) -> None:
    """The console script: never a traceback for what a user can cause."""
    sys.exit(status_of(arguments))


def status_of(arguments: list[str] | None) -> int:
    """Run one command and return its exit status."""
    try:
        result = cli.main(arguments, prog_name="headway", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return USER_ERROR
    except (HeadwayError, ScenarioError) as error:
        _complain(str(error))
        return USER_ERROR
    except BrokenPipeError:
        # The reader of our output has gone; writing to it again at exit must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        _complain(f"{error.filename or 'a file'}: {error.strerror or error}")
        return USER_ERROR
    return result if isinstance(result, int) else 0


def _complain(text: str) -> None:
    """Print an error; the cross that heads a diagnostic of a scenario says the same as the word."""
    click.echo("error: " + text.lstrip().removeprefix("× "), err=True)
