"""`headway testbed switch`: every switch of a scenario in one process, between real interfaces.

The work is the program `headway-switch`'s, which takes files. It takes the place of this process.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from headway.cli.options import scale_option, scenario_argument, set_option
from headway.cli.real import variant_sets
from headway.loading import Scenario
from headway.names import ScenarioFile
from headway.programs import program

PROGRAM = "headway-switch"


@click.command()
@scenario_argument
@click.option(
    "--port",
    "ports",
    multiple=True,
    required=True,
    metavar="HOST=INTERFACE",
    help="The interface of a host, such as h0=eth1; once for each host that is there.",
)
@set_option
@scale_option
@click.option("--variant", metavar="NAME", help="One of the scenario's variants; default: the scenario as it is.")
@click.option(
    "--slowdown",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Divide rates and multiply times by N; default: so that the fastest link runs at 100 Mb/s.",
)
@click.option("--mtu", type=click.IntRange(576, 9216), metavar="N", help="Longest IPv4 packet in bytes; default: 1500.")
@click.option(
    "--io",
    type=click.Choice(["auto", "af-packet", "af-xdp"]),
    help="How frames come and go; default: auto, which is af-xdp where all interfaces have it.",
)
@click.option("--sealed", is_flag=True, help="Hosts share a key and seal their packets.")
@click.option(
    "--capture",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT.pcapng",
    help="Also write every frame, as the switch puts it on a link, to a file for Wireshark.",
)
def switch(
    file: ScenarioFile,
    ports: tuple[str, ...],
    sets: tuple[str, ...],
    scale: str | None,
    variant: str | None,
    slowdown: int | None,
    mtu: int | None,
    io: str | None,
    sealed: bool,
    capture: Path | None,
) -> None:
    """Connect real interfaces as the switches of a scenario do, until Ctrl-C.

    The scenario's [topology] and [fabric] specify the switches; its traffic is not looked at. Host h of the
    topology has the address 10.0.0.1 + h. At the end a report is printed as JSON.
    """
    scenario = Scenario.load(file.path, sets=sets, scale=scale)
    if variant is not None:
        sets = (*variant_sets(scenario, variant), *sets)
        Scenario.load(file.path, sets=sets, scale=scale)
    given = {"scale": scale, "slowdown": slowdown, "mtu": mtu, "io": io, "capture": capture}
    arguments = [PROGRAM, str(file.path), *(f"--port={port}" for port in ports), *(f"--set={text}" for text in sets)]
    arguments += [f"--{name}={value}" for name, value in given.items() if value is not None]
    arguments += ["--sealed"] if sealed else []
    path = program(PROGRAM)
    sys.stdout.flush()
    os.execv(path, arguments)
