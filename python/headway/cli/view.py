"""`headway view`: a directory of runs in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.echo import echo
from headway.cli.options import DIRECTORY
from headway.errors import no_results

PORT = 8770


@click.command()
@click.argument("directory", type=DIRECTORY, metavar="DIR")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port; 0: a free one.")
def view(directory: Path, port: int) -> int:
    """Serve the runs and sweeps in DIR to a browser on this machine, until Ctrl-C.

    The list follows sweeps while they run, each report is made when it is opened, and any two runs can be compared.
    Only this machine can connect, and nothing in DIR is changed.
    """
    if not directory.is_dir():
        raise no_results(directory)
    from headway.view import HOST, Server

    try:
        server = Server(directory, port)
    except OSError as error:
        raise click.UsageError(f"port {port} of {HOST} cannot be used ({error.strerror}); try --port 0") from None
    with server:
        echo(server.url)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            echo("", err=True)
    return 0


COMMAND = view
