"""`headway check`: is this scenario right, and how big is it?"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import click

from headway.claims.choices import load_choices
from headway.claims.ledger import claims_about
from headway.cli.echo import echo
from headway.cli.options import scale_option, scenario_argument, set_option
from headway.cli.progress import is_quiet
from headway.cli.terminal import print_effect, print_warnings
from headway.data import changes
from headway.data.point import Point
from headway.data.steadiness import is_unmeasured, start_up
from headway.data.units import size
from headway.errors import ScenarioError
from headway.in_effect import InEffect, in_effect
from headway.loading import Scenario
from headway.names import ScenarioFile
from headway.reporting.figures.kind import Facts
from headway.reporting.wishes import doubts

# Largest number of variants whose presets and ports are printed.
MOST_VARIANTS = 20
# Words of errors about keys that a part of a scenario does not use.
UNUSED = ("has no effect", "unknown key")


@click.command()
@scenario_argument
@set_option
@scale_option
@click.option("--json", "as_json", is_flag=True, help="Print the scenario with every default filled in.")
def check(file: ScenarioFile, sets: tuple[str, ...], scale: str | None, as_json: bool) -> None:
    """Read a scenario, every point of its sweep and its claims; say what is wrong or odd, how big it
    is, and which presets and ports its variants have.

    Points that differ in their seeds alone are read once; sizes are those of the first seed.
    """
    scenario = Scenario.load(file.path, sets=sets, scale=scale)
    _check_sets(scenario)
    # As `headway run` runs it, without variants.
    scenario.native.check_run()
    estimates, warnings, count = [], {}, 0
    said: dict[str, list[str]] = {}
    resolved: list[Mapping[str, Any]] = []
    worst: tuple[float, str, dict[str, Any] | None] = (0.0, "", None)
    points, refused = _points(scenario)
    for point in points:
        count += 1
        if point.place not in said:
            one = scenario.at(point)
            one.native.check_run()
            estimates.append(one.estimate)
            said[point.place] = one.warnings
            resolved.append(one.resolved)
            if (length := one.run_length) is not None:
                # Nothing measured at all is worse than any share of a queue.
                lost = math.inf if is_unmeasured(length) else length["missing"]
                if lost > worst[0]:
                    worst = (lost, point.label, length)
        warnings[point.label] = said[point.place]
    claims = claims_about(file.name, file.claims) + claims_about(file.name, file.expectations)
    load_choices(file.claims).check(file.name, scenario)
    for label, why in refused.items():
        echo(f"warning, {label}: {why}; a sweep refuses it: set the key of the variants that use it", err=True)
    if as_json:
        echo(json.dumps(scenario.resolved, indent=2, ensure_ascii=False))
        return
    if not estimates:
        echo(f"{file.name}: ok; a model that runs nothing, {len(claims)} claims")
        return
    largest = max(estimates, key=lambda e: int(e["memory_bytes"]))
    how_many = f"{count} point" + "s" * (count != 1)
    echo(
        f"{file.name}: ok; {largest['hosts']} hosts, {largest['links']} links, {largest['flows']} flows, "
        f"about {size(largest['memory_bytes'])} of memory a run, {how_many}, {len(claims)} claims"
    )
    for line in changes.said(resolved):
        echo(line)
    _print_in_effect(in_effect(scenario))
    _, label, length = worst
    if (note := start_up(length)) is not None and not is_quiet():
        echo(f"note{f', {label}' if count > 1 else ''}: {note}", err=True)
    warnings = {"report": list(doubts(scenario.report, facts_of(scenario, points))), **warnings}
    print_warnings(warnings, "`Scenario.at(point).warnings` in Python")


def _points(scenario: Scenario) -> tuple[list[Point], dict[str, str]]:
    """Its points, without those that alone do not use an override; and why not, by their labels without a seed."""
    try:
        return scenario.points(), {}
    except ScenarioError:
        if scenario.path is None or not scenario.sets:
            raise
        # A mistake that exists without the overrides, too, is one in the file.
        Scenario.load(scenario.path, scale=scenario.scale).points()
        every = scenario.points(checked=False)
        places, refused = {point.place: point for point in reversed(every)}, {}
        for place, point in places.items():
            try:
                scenario.at(point)
            except ScenarioError as error:
                head = str(error).splitlines()[0].strip(" ×")
                if not any(words in head for words in UNUSED):
                    raise
                refused[place] = head
        kept = [point for point in every if point.place not in refused]
        if not kept or not refused:
            raise
        return kept, {places[place].label.partition(",seed=")[0]: why for place, why in refused.items()}


def facts_of(scenario: Scenario, points: Sequence[Point] | None = None) -> Facts:
    """Facts about the runs of the scenario, or about these points, before there are any."""
    points = scenario.points() if points is None else points
    first = {point.variant: point for point in reversed(points)}
    tables = tuple(scenario.at(point).resolved for point in reversed(first.values()))
    keys = dict.fromkeys(key for point in points for key in point.axes)
    swept = {key: list(dict.fromkeys(point.axes[key] for point in points if key in point.axes)) for key in keys}
    resolved = scenario.resolved
    return Facts(tuple(reversed(first)), swept, tables, runs="topology" in resolved, model="model" in resolved)


def _print_in_effect(found: Sequence[InEffect]) -> None:
    """A line for each variant: its preset and its port."""
    if found:
        print_effect(found[:MOST_VARIANTS])
    if (left := len(found) - MOST_VARIANTS) > 0:
        echo(f"{left} variants more: headway show")


def _check_sets(scenario: Scenario) -> None:
    """Raise for an override without effect both in a run of the scenario as it is written and in its sweep."""
    try:
        scenario.native.check_sets(False)
    except ScenarioError:
        scenario.native.check_sets(True)


COMMAND = check
