"""`headway show`: a scenario in the terminal: its network, its size, and every key with its value."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence

import click

from headway.cli.echo import echo
from headway.cli.options import scale_option, scenario_argument, set_option, variant_option
from headway.cli.sketch import links, sketch
from headway.cli.terminal import print_effect, print_table
from headway.data.changes import said
from headway.data.steadiness import arrivals_line, start_up
from headway.data.units import display, duration, size
from headway.in_effect import DEFAULT, differences, given, in_effect, is_given, variants_of
from headway.in_effect import keys as keys_of
from headway.loading import Scenario
from headway.names import ScenarioFile
from headway.sweeps.forecast import expected_cost

# Width if there is no terminal.
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
    """Draw a scenario's network, say how big it is and which presets and ports its variants have, and list every key
    with its value.

    A key that neither the file nor an option sets has its default, and is marked so. Of a scenario with variants, the
    keys of the first are listed, and then those that each other has otherwise; --variant lists all of one.
    """
    whole = Scenario.load(file.path, sets=sets, scale=scale)
    scenario = whole if variant is None else whole.variant(variant)
    effect = in_effect(whole, variant)
    if as_json:
        found = {
            "topology": scenario.topology,
            "estimate": scenario.estimate,
            "in_effect": [one.json() for one in effect],
            "keys": scenario.resolved,
        }
        echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    echo(click.style(file.name, bold=True) + f"  {file.path}")
    for text in filter(None, (scenario.title, scenario.paper)):
        echo(text)
    if scenario.topology["nodes"]:
        drawing = sketch(scenario.topology, min(shutil.get_terminal_size((WIDTH, 24)).columns, 2 * WIDTH))
        echo()
        for line in [*drawing.lines, "", *links(scenario.topology), *drawing.left_out]:
            echo(line)
    echo()
    for line in _facts(scenario):
        echo(line)
    if effect:
        echo()
        print_effect(effect)
    if keys:
        names = list(variants_of(whole)) if variant is None else []
        _print_keys(whole, variant, names[:1])
        for other in names[1:]:
            _print_differences(whole, names[0], other)


def _print_keys(whole: Scenario, variant: str | None, first: Sequence[str]) -> None:
    """Every key of a variant: the one that was chosen, else the first."""
    name = next(iter(first), variant)
    set_keys = given(whole, name)
    resolved = (whole if name is None else whole.variant(name)).resolved
    echo()
    if first:
        echo(f"variant {name}, the first:")
    rows = [[key, value, "" if is_given(key, set_keys) else DEFAULT] for key, value in keys_of(resolved)]
    print_table(["key", "value", ""], rows)


def _print_differences(whole: Scenario, first: str, name: str) -> None:
    """The keys that a variant has otherwise than the first."""
    set_keys = given(whole, name)
    found = differences(whole.variant(first).resolved, whole.variant(name).resolved)
    echo()
    echo(f"variant {name}, where it differs from {first}:" if found else f"variant {name}: as {first}")
    rows = [[key, value, before, "" if is_given(key, set_keys) else DEFAULT] for key, value, before in found]
    if rows:
        print_table(["key", "value", f"of {first}", ""], rows)


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
    yield from scenario.native.facts()
    yield from said([scenario.resolved])
    yield f"a run: {expected_cost(scenario.name, scenario).text}"
    length = scenario.run_length
    if length is not None:
        yield arrivals_line(length)
    points = scenario.points()
    if len(points) > 1:
        variants = list(dict.fromkeys(point.variant for point in points))
        seeds = len({point.seed for point in points})
        over = "".join(f", {key}" for key in scenario.native.swept())
        each = f"{seeds} seed{'s' * (seeds != 1)} each"
        yield f"sweep: {len(points)} points; variants {', '.join(variants)}{over}; {each}"
    for warning in scenario.warnings:
        yield f"warning: {warning}"
    if (note := start_up(length)) is not None:
        yield f"note: {note}"


COMMAND = show
