"""`headway kernel`: L2DCT, DCTCP, D2TCP and Vegas as congestion controls of this machine's Linux.

The work is the program `headway-kernel`'s, which `make install` puts beside this command line. It takes the place of
this process: what it loads goes with it, however it ends.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import click

from headway.cli.controls import CONTROLS, PROGRAM
from headway.programs import program


@click.group()
def kernel() -> None:
    """Congestion controls in the kernel, for any application (Linux, as root)."""


@kernel.command("load")
@click.argument("control", type=click.Choice(CONTROLS))
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="A parameter; docs/kernel.md lists them.")
@click.option("--pin", is_flag=True, help="Return at once, and leave it loaded until `headway kernel unload`.")
@click.option("--suffix", default="", metavar="S", help="Appended to its name, which all namespaces share.")
def load(control: str, sets: tuple[str, ...], *, pin: bool, suffix: str) -> None:
    """Load a congestion control, and keep it until Ctrl-C.

    It is gone with this command, however that ends, unless it is pinned. Connections choose it by the setting
    net.ipv4.tcp_congestion_control of their network namespace, or by the socket option TCP_CONGESTION before they
    connect and listen.
    """
    _become(["load", control, *(f"--set={text}" for text in sets), *(["--pin"] if pin else []), f"--suffix={suffix}"])


@kernel.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list and nothing else.")
def list_loaded(*, as_json: bool) -> None:
    """List the congestion controls that BPF programs have registered, and who holds them."""
    _become(["list", *(["--json"] if as_json else [])])


@kernel.command("unload")
@click.argument("name")
def unload(name: str) -> None:
    """Unload a congestion control; connections that use it keep it until they end."""
    _become(["unload", name])


@kernel.command("mark")
@click.argument("interface")
@click.option("--threshold", type=click.IntRange(1, 1_000_000), required=True, metavar="K", help="Packets.")
def mark(interface: str, threshold: int) -> None:
    """Mark packets that leave by INTERFACE while K or more wait in its queue, until Ctrl-C.

    What a switch with ECN does, for a Linux machine that forwards. The interface needs a queue of its own, such as
    `tc qdisc add dev INTERFACE root tbf rate 100mbit burst 3028 limit 150000`.
    """
    _become(["mark", interface, f"--threshold={threshold}"])


@kernel.command("lines")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def lines(*, as_json: bool) -> None:
    """Count the lines of C that each congestion control takes beyond DCTCP, if it is built on that.

    Comments, blank lines and tables that the loader fills in are not counted.
    """
    _become(["lines", *(["--json"] if as_json else [])])


def _become(arguments: list[str]) -> NoReturn:
    path = program(PROGRAM)
    sys.stdout.flush()
    os.execv(path, [PROGRAM, *arguments])


NEEDS = "headway-kernel"
COMMAND = kernel
