"""`headway`: the commands, and how each kind of error ends.

Exit status: 0 done, 1 some runs failed, 2 something the user can put right, 130 stopped by Ctrl-C, 141 nobody reads
the output any more.

A command is one module of this package with a name `COMMAND`; there is no list of them. `NEEDS` is the program without
which it does nothing.
"""

from __future__ import annotations

import os
import pkgutil
import sys
from importlib import import_module

import click

from headway import __version__
from headway import cli as package
from headway.cli.echo import echo
from headway.errors import HeadwayError, nearest
from headway.inputs import is_text
from headway.programs import lacks

USER_ERROR = 2
INTERRUPTED = 130
NO_READER = 141


# Commands that a bare `headway` shows.
BEGINNINGS = {
    "headway reproduce amrt/fig01": "a published figure, in seconds, with its report",
    "headway run examples/quickstart": "one run: flows, queues and times",
    "headway new mine.toml": "a scenario of your own, with comments",
    "headway docs tutorial": "a tour of fifteen minutes",
}


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


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, prog_name="headway")
@click.pass_context
def cli(context: click.Context) -> None:
    """Datacenter transports on one packet-level fabric: run a scenario, reproduce a published figure."""
    if context.invoked_subcommand is None:
        echo(f"Headway {__version__}. To begin:\n")
        for command, what in BEGINNINGS.items():
            echo(f"  {command:<{max(map(len, BEGINNINGS)) + 2}}{what}")
        echo(f"\n{context.get_help()}")


def _add_commands() -> None:
    """Add the command of every module of this package that has one."""
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if module.name != __name__ and not module.name.endswith(".main"):
            found = import_module(module.name)
            command = getattr(found, "COMMAND", None)
            if isinstance(command, click.Command):
                if (needed := getattr(found, "NEEDS", None)) and lacks(needed):
                    command.short_help = f"Not in a wheel: needs {needed}, of `make install`."
                cli.add_command(command)


_add_commands()


def main(arguments: list[str] | None = None) -> None:
    """The console script: never a traceback for a fault that a user can cause."""
    sys.exit(status_of(arguments))


def status_of(arguments: list[str] | None) -> int:
    """Run one command and return its exit status."""
    outputs = sys.stdout, sys.stderr
    for argument in sys.argv[1:] if arguments is None else arguments:
        if not is_text(argument):
            _complain(f"the argument {argument!r} is not UTF-8")
            return USER_ERROR
    try:
        result = cli.main(arguments, prog_name="headway", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except click.ClickException as error:
        _complain(_of_usage(error))
        return USER_ERROR
    except HeadwayError as error:
        _complain(str(error))
        return USER_ERROR
    except BrokenPipeError:
        return _without_reader()
    except SystemExit:
        # click wraps the outputs for a broken pipe, and exits.
        if sys.stdout is outputs[0]:
            raise
        sys.stdout, sys.stderr = outputs
        return _without_reader()
    except OSError as error:
        _complain(f"{error.filename or 'a file'}: {error.strerror or error}")
        return USER_ERROR
    return result if isinstance(result, int) else 0


def _without_reader() -> int:
    """The reader of our output has gone: end as silently as a program that SIGPIPE ends, also when Python flushes."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            os.dup2(nowhere, stream.fileno())
    return NO_READER


def _of_usage(error: click.ClickException) -> str:
    """A mistake in the use of a command, and where its use is described."""
    text = error.format_message().rstrip()
    context = getattr(error, "ctx", None)
    if context is None or "\n  help: " in text:
        return text
    text = " ".join(text.split()) if "\t" in text else text
    return f"{text}\n  help: {context.command_path} --help"


def _complain(text: str) -> None:
    """Print an error; the cross that heads a diagnostic of a scenario says the same as the word."""
    echo("error: " + text.lstrip().removeprefix("× "), err=True)


if __name__ == "__main__":
    main()
