"""`headway show`: a scenario in the terminal: its network, its size, and every key with its value."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from headway.cli.options import scale_option, scenario_argument, set_option, variant_option
from headway.cli.sketch import links, sketch
from headway.cli.terminal import print_table
from headway.data.toml import parsed
from headway.data.units import display, duration, quantity, size
from headway.names import ScenarioFile
from headway.scenario import Scenario

# Parts of a scenario that are shown otherwise, or are for machines.
LEFT_OUT = ("name", "title", "description", "paper", "report")
MOST_ITEMS = 6
WIDTH = 100


@click.command()
@scenario_argument
@set_option
@variant_option
@scale_option
@click.option("--keys/--no-keys", default=True, help="Whether every key is listed below the network.")
@click.option("--json", "as_json", is_flag=True, help="Print network, size and keys as JSON and nothing else.")
def show(
    file: ScenarioFile, sets: tuple[str, ...], variant: str | None, scale: str | None, keys: bool, as_json: bool
) -> None:
    """Draw a scenario's network, say how big it is, and list every key with its value.

    A key that neither the file nor an option sets has its default, and is marked so.
    """
    scenario = Scenario.load(file.path, sets=sets, scale=scale)
    if variant is not None:
        scenario = scenario.variant(variant)
    if as_json:
        found = {"topology": scenario.topology, "estimate": scenario.estimate, "keys": scenario.resolved}
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    click.echo(click.style(file.name, bold=True) + f"  {file.path}")
    for text in filter(None, (scenario.title, scenario.paper)):
        click.echo(text)
    if scenario.topology["nodes"]:
        width = min(shutil.get_terminal_size((WIDTH, 24)).columns, 2 * WIDTH)
        click.echo()
        for line in [*sketch(scenario.topology, width), "", *links(scenario.topology)]:
            click.echo(line)
    click.echo()
    for line in _facts(scenario):
        click.echo(line)
    if keys:
        click.echo()
        given = _given(file.path, sets, variant)
        rows = [[key, value, "" if _is_given(key, given) else "default"] for key, value in _keys(scenario.resolved)]
        print_table(["key", "value", ""], rows)


def _facts(scenario: Scenario) -> Iterator[str]:
    """Its size and its sweep, in sentences."""
    it = scenario.estimate
    if not it["hosts"]:
        yield "a model, which runs nothing"
        return
    memory = f"about {size(it['memory_bytes'])} of memory a run"
    yield f"{it['hosts']} hosts, {it['links']} links, {it['flows']} flows; {memory}"
    path = scenario.longest_path
    if path is not None:
        bdp = path["bdp_bytes"] / max(path["packet_bytes"], 1)
        yield (
            f"longest path of a flow: round trip {duration(path['rtt_s'])} when empty, slowest link"
            f" {display('rate', path['rate_bps'])}, bandwidth-delay product {size(path['bdp_bytes'])},"
            f" {bdp:.3g} packets"
        )
    yield f"about {quantity(scenario.native.expected_hops())} packet-hops a run"
    points = scenario.points()
    if len(points) > 1:
        variants = list(dict.fromkeys(point.variant for point in points))
        seeds = len({point.seed for point in points})
        over = "".join(f", {key}" for key in scenario.native.swept())
        each = f"{seeds} seed{'s' * (seeds != 1)} each"
        yield f"sweep: {len(points)} points; variants {', '.join(variants)}{over}; {each}"
    for warning in scenario.warnings:
        yield f"warning: {warning}"


def _keys(resolved: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every key by its path, with its value on one line."""
    for key, value in resolved.items():
        if key not in LEFT_OUT:
            yield from _flat(key, value)


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401  (what JSON holds)
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(f"{path}.{key}", item)
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for number, item in enumerate(value[:MOST_ITEMS]):
            yield from _flat(f"{path}.{number}", item)
        if len(value) > MOST_ITEMS:
            yield f"{path}.{MOST_ITEMS} to {len(value) - 1}", "(headway check --json has them)"
    else:
        yield path, _shown(value)


def _shown(value: Any) -> str:  # noqa: ANN401  (what JSON holds)
    if isinstance(value, list) and len(value) > 2 * MOST_ITEMS:
        head = ", ".join(json.dumps(item, ensure_ascii=False) for item in value[:MOST_ITEMS])
        return f"[{head}, ...] ({len(value)} entries)"
    return json.dumps(value, ensure_ascii=False)


def _given(path: Path, sets: Sequence[str], variant: str | None) -> set[str]:
    """The paths that the file or an option gives a value."""
    found = {item.partition("=")[0].strip() for item in sets}

    def add(prefix: str, value: Any) -> None:  # noqa: ANN401  (what TOML holds)
        if isinstance(value, Mapping):
            for key, item in value.items():
                add(f"{prefix}.{key}" if prefix else str(key), item)
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            for number, item in enumerate(value):
                add(f"{prefix}.{number}", item)
        else:
            found.add(prefix)

    document = parsed(path.read_text(encoding="utf-8"))
    for key, value in document.items():
        if key not in ("scale", "variants", "sweep"):
            add(key, value)
    return found | set(document.get("variants", {}).get(variant, {}))


def _is_given(key: str, given: set[str]) -> bool:
    """Whether a key, or one that it is a part of or holds, was given."""
    return any(key == one or key.startswith(f"{one}.") for one in given)


COMMAND = show
