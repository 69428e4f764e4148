"""`headway check`: is this scenario right, and how big is it?"""

from __future__ import annotations

import json
import math
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from headway.claims.choices import load_choices
from headway.claims.ledger import claims_about
from headway.cli.echo import echo
from headway.cli.options import fair_option, scale_option, scenario_argument, set_option
from headway.cli.progress import is_quiet
from headway.cli.terminal import print_effect, print_warnings
from headway.data import changes
from headway.data.fairness import times_in, unlike_times
from headway.data.point import Point, by_place
from headway.data.steadiness import is_unmeasured, start_up
from headway.data.units import size
from headway.errors import HeadwayError, ScenarioError
from headway.fair import fair_setting, short_buffers, with_fair
from headway.in_effect import WIDEST, InEffect, in_effect
from headway.loading import Scenario
from headway.names import ScenarioFile
from headway.reporting.figures.kind import Facts
from headway.reporting.wishes import doubts

# Largest number of combinations that are read one by one, unless all are asked for.
MOST_READ = 10_000
# Largest number of combinations of which faults and links that differ are listed.
MOST_RESOLVED = 100
# Largest number of variants whose presets and ports are printed.
MOST_VARIANTS = 20
# Beginning of facts about memory that ports share.
MEMORY = "memory: "
# Words of errors about keys that a part of a scenario does not use.
UNUSED = ("has no effect", "unknown key")


@click.command()
@scenario_argument
@set_option
@scale_option
@fair_option
@click.option("--json", "as_json", is_flag=True, help="Print the scenario with every default filled in.")
@click.option("--every", is_flag=True, help="Read every combination of a sweep that has more than 10,000.")
def check(file: ScenarioFile, sets: tuple[str, ...], scale: str | None, fair: bool, as_json: bool, every: bool) -> None:
    """Read a scenario, the points of its sweep and its claims; say what is wrong or odd, how big it
    is, and which presets and ports its variants have.

    Points that differ in their seeds alone are read once; sizes are those of the first seed. Of more than
    10,000 combinations, 10,000 are read, with every variant and every value among them.
    """
    scenario = Scenario.load(file.path, sets=sets, scale=scale)
    if fair:
        # A run without variants has the setting too, if there are none.
        sets = with_fair(sets, scenario, whole=True)
        scenario = Scenario.load(file.path, sets=sets, scale=scale)
    _check_sets(scenario)
    # As `headway run` runs it, without variants.
    scenario.native.check_run()
    points, refused, places, found = _survey(scenario, None if every else MOST_READ)
    count = len(points)
    warnings: dict[str, list[str]] = {}
    worst: tuple[float, str, dict[str, Any] | None] = (0.0, "", None)
    for place in found:
        warnings.update(dict.fromkeys(place.labels, place.warnings))
        if (length := place.run_length) is not None:
            # Nothing measured at all is worse than any share of a queue.
            lost = math.inf if is_unmeasured(length) else length["missing"]
            if lost > worst[0]:
                worst = (lost, place.point.label, length)
    estimates = [place.estimate for place in found if place.estimate is not None]
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
    for line in changes.said(scenario.at(place.point).resolved for place in found[:MOST_RESOLVED]):
        echo(line)
    effect = in_effect(scenario)
    _print_in_effect(effect)
    for line in _memory(scenario, effect):
        echo(_wrapped(line))
    if (short := short_buffers(effect)) is not None and not is_quiet():
        echo(f"note: {short}", err=True)
    if not fair and len(scenario.native.variants()) > 1 and not is_quiet():
        _propose(scenario)
    for unlike in () if is_quiet() else unlike_times(times_of(scenario, points)):
        echo(f"note: {unlike}", err=True)
    _, label, length = worst
    if (note := start_up(length)) is not None and not is_quiet():
        echo(f"note{f', {label}' if count > 1 else ''}: {note}", err=True)
    if len(found) < places and not is_quiet():
        text = f"{len(found):,} of {places:,} combinations were read, every variant and every value among them"
        echo(f"note: {text}; --every reads all", err=True)
    warnings = {"report": list(doubts(scenario.report, facts_of(scenario, points))), **warnings}
    print_warnings(warnings, "`Scenario.at(point).warnings` in Python", count, in_full=True)


@dataclass(frozen=True)
class _Place:
    """Findings about a combination of a variant and values, at its first seed; all labels if there are warnings."""

    point: Point
    labels: list[str]
    estimate: dict[str, Any] | None
    warnings: list[str]
    run_length: dict[str, Any] | None


def _survey(scenario: Scenario, most: int | None) -> tuple[list[Point], dict[str, str], int, list[_Place]]:
    """Its points and those refused, as in `_points`, the number of combinations, and findings about those read."""
    if not scenario.own_transports:
        try:
            places, rows = scenario.native.survey(sys.maxsize if most is None else most)
        except ScenarioError:
            if scenario.path is None or not scenario.sets:
                raise
        else:
            points = scenario.points(checked=False)
            for first, *_, reports in rows:
                if reports:
                    scenario.at(points[first])
            seeds = len(points) // max(places, 1)
            # A million labels are listed only if there is something to say of them.
            labels = ([point.label for point in points[row[0] : row[0] + (seeds if row[2] else 1)]] for row in rows)
            together = zip(rows, labels, strict=True)
            return points, {}, places, [_Place(points[row[0]], names, *row[1:-1]) for row, names in together]
    points, refused = _points(scenario)
    found = []
    for equal in by_place(points):
        one = scenario.at(equal[0])
        one.native.check_run()
        labels_here = [point.label for point in equal]
        found.append(_Place(equal[0], labels_here, one.estimate, one.warnings, one.run_length))
    return points, refused, len(found), found


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


def times_of(scenario: Scenario, points: Sequence[Point]) -> dict[str, dict[str, tuple[float, str]]]:
    """The times that the transports of each variant wait."""
    first = {point.variant: point for point in reversed(points)}
    return {name: times_in(scenario.at(first[name]).resolved) for name in reversed(first)}


def facts_of(scenario: Scenario, points: Sequence[Point] | None = None) -> Facts:
    """Facts about the runs of the scenario, or about these points, before there are any."""
    points = scenario.points() if points is None else points
    first = {point.variant: point for point in reversed(points)}
    tables = tuple(scenario.at(point).resolved for point in reversed(first.values()))
    keys = dict.fromkeys(key for point in points for key in point.axes)
    swept = {key: list(dict.fromkeys(point.axes[key] for point in points if key in point.axes)) for key in keys}
    resolved = scenario.resolved
    return Facts(tuple(reversed(first)), swept, tables, runs="topology" in resolved, model="model" in resolved)


def _wrapped(line: str) -> str:
    """A line in lines that fit a terminal."""
    return textwrap.fill(line, WIDEST, subsequent_indent="    ", break_on_hyphens=False)


def _memory(scenario: Scenario, effect: Sequence[InEffect]) -> list[str]:
    """Lines about the shares that queues get of a memory, with the variants that have it."""
    names = scenario.native.variants()
    said: dict[str, list[str]] = {}
    for one in effect[:MOST_VARIANTS]:
        # Without the sweep, as with some seeds of a scenario, a point is named after its transport.
        try:
            native = scenario.variant(one.variant).native if one.variant in names else scenario.native
        except HeadwayError:
            # A variant that refuses an override was named above.
            continue
        for fact in native.facts():
            if fact.startswith(MEMORY):
                said.setdefault(fact, []).append(one.variant)
    everyone = min(len(effect), MOST_VARIANTS)
    return [fact if len(own) == everyone else f"{fact} ({', '.join(own)})" for fact, own in said.items()]


def _propose(scenario: Scenario) -> None:
    """Say which setting of switches would be the same for all variants, unless they have it."""
    try:
        setting = fair_setting(scenario, whole=True)
    except HeadwayError:
        return
    if setting is not None and any(_switches(scenario, name) is None for name in scenario.native.variants()):
        echo(_wrapped(f"one setting for all variants, by --fair: {setting.sentence}"))


def _switches(scenario: Scenario, variant: str) -> str | None:
    """The memory that a variant says its switches have; `None` where it leaves that to defaults."""
    fabric = scenario.variant(variant).resolved["fabric"]
    table = fabric.get("memory") or fabric.get("pfc") or {}
    said = table.get("chip") or table.get("size") or table.get("buffer")
    return str(said) if said else None


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
