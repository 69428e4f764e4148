"""`headway list`: the scenarios, and what a scenario may name."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import click

from headway import _headway, names
from headway.claims.ledger import known_claims
from headway.claims.markdown import tables
from headway.claims.record import OUTDATED
from headway.claims.verdict import Verdict
from headway.cli.terminal import print_table
from headway.cli.values import rounded, show, show_range, unit_and_rest
from headway.data.machine import machine_text
from headway.errors import HeadwayError, nearest
from headway.explain.record import CANNOT, CONTRADICTS, listed

CATALOGUES = ("transports", "topologies", "traffic", "workloads", "disciplines", "models")
# Verdicts that stand with their reason.
EXPLAINED = (Verdict.PENDING, OUTDATED, CONTRADICTS, CANNOT)
THINGS = (*CATALOGUES, "figures", "examples", "claims")


# What people call the things of a list that has another name.
ALSO = {
    "disciplines": "ports port queues queue queueing queuing schedulers aqm ecn marking qdiscs buffers",
    "transports": "protocols protocol congestion congestion-control controllers controls algorithms variants presets",
    "topologies": "networks network fabrics fabric switches hosts links graphs",
    "traffic": "patterns traffics flows messages jobs collectives loads arrivals incasts",
    "workloads": "cdf cdfs sizes flow-sizes distributions flow-size-distributions size-distributions",
    "models": "formulas closed-forms bounds",
    "figures": "papers paper publications reproductions",
    "examples": "scenarios scenario tutorials",
    "claims": "verdicts ledgers ledger results expectations",
}
CALLED = {word: thing for thing, words in ALSO.items() for word in words.split()}


class Thing(click.Choice[str]):
    """One of THINGS; a miss names the list that is meant, or the nearest name."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:  # noqa: ANN401
        word = str(value).lower()
        if kind := names.other_kind(str(value)):
            return f"there is no list of {str(value)!r}: {kind}"
        meant = CALLED.get(word) or next((CALLED.get(one) or one for one in nearest(word, (*THINGS, *CALLED), 1)), None)
        hint = f" Did you mean {meant}?" if meant else ""
        return f"there is no list of {str(value)!r}.{hint} There are: {', '.join(THINGS)}."


@click.command("list")
@click.argument("thing", type=Thing(THINGS), metavar="THING")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the whole list as JSON.")
@click.option("--markdown", is_flag=True, help="Print claims as tables of a Markdown page.")
def list_things(thing: str, name: str | None, as_json: bool, markdown: bool) -> None:
    """List transports, topologies, traffic, workloads, disciplines, models, figures, examples or claims.

    With NAME, those whose name begins with it, or else holds it: `list transports homa`, `list workloads websearch`,
    `list claims rpo/fig12`; the parameters of transports and disciplines are shown then. Figures are the scenarios that
    lie beside the claims of the publication they reproduce; examples are all others.
    """
    if markdown and (thing != "claims" or as_json):
        raise click.UsageError("--markdown is for claims, and not beside --json")
    if thing in CATALOGUES:
        entries: list[dict[str, Any]] = json.loads(_headway.catalogue(thing))
    elif thing in ("figures", "examples"):
        known = names.known_scenarios()
        entries = [e for e in _scenarios(known) if _is_figure(e, known) == (thing == "figures")]
    else:
        entries = _claims(name)
    if name is not None and thing != "claims":
        entries = _named(thing, name, entries)
    if as_json:
        click.echo(json.dumps(entries, indent=2, ensure_ascii=False))
    elif not entries:
        click.echo(f"no {thing} found; {names.looked_in()}", err=True)
    elif markdown:
        click.echo(tables(entries, show, show_range), nl=False)
    else:
        _print(thing, entries, in_full=name is not None)


def _named(thing: str, name: str, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that are called `name`, or whose names begin so, or so behind the name of their paper, or hold it."""
    keys = ("scenario", "id") if thing == "claims" else ("name",)
    exact = [e for e in entries if any(e[key] == name for key in keys)]
    found = exact or [e for e in entries if any(str(e[key]).startswith(name) for key in keys)]
    found = found or [e for e in entries if any(str(e[key]).partition("/")[2].startswith(name) for key in keys)]
    if not found:
        if not entries:
            raise HeadwayError(f"no {thing} found\n  help: {names.looked_in()}")
        found = [e for e in entries if any(name in str(e[key]) for key in keys)]
    if not found:
        close = nearest(name, [str(e[key]) for e in entries for key in keys])
        hint = f"did you mean {' or '.join(close)}?" if close else f"all of them: headway list {thing}"
        raise HeadwayError(f"none of the {thing} is called {name!r}, and no name holds that\n  help: {hint}")
    return found


def _is_figure(entry: dict[str, Any], known: Mapping[str, names.ScenarioFile]) -> bool:
    """Whether a scenario reproduces a publication, and its folder holds the publication's claims."""
    file = known.get(entry["name"])
    return bool(entry["paper"] or not entry["readable"]) and file is not None and file.claims.exists()


def _scenarios(known: Mapping[str, names.ScenarioFile]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    for name, file in sorted(known.items()):
        try:
            scenario = _headway.Scenario.load(str(file.path))
            entry = {"name": name, "title": scenario.title, "paper": scenario.paper, "readable": True}
        except _headway.ScenarioError:
            title = f"(not readable: headway check {name})"
            entry = {"name": name, "title": title, "paper": "", "readable": False}
        entries.append(entry)
    return entries


def _print(thing: str, entries: list[dict[str, Any]], *, in_full: bool) -> None:
    if thing == "claims":
        _print_claims(entries)
        return
    columns = [c for c in ("name", "title", "summary", "paper") if any(e.get(c) for e in entries)]
    rows = [[str(e.get(c, "")) for c in columns] for e in entries]
    notes = ["\n".join(_details(e)) if in_full else "" for e in entries]
    print_table(columns, rows, notes)
    if not in_full and any(e.get("params") for e in entries):
        click.echo(f"\n`headway list {thing} NAME` shows the parameters")


def _claims(name: str | None) -> list[dict[str, Any]]:
    """Claims with the verdict and the reading on record and the command that measures it, by scenario.

    Whether a record is outdated is only asked of those that are shown: it takes most of the time.
    """
    claims = known_claims()
    if name is not None:
        wanted = _named("claims", name, [{"scenario": claim.scenario, "id": claim.id} for claim in claims])
        claims = [claim for claim in claims if {"scenario": claim.scenario, "id": claim.id} in wanted]
    rows = listed(claims, names.known_scenarios())
    return sorted(rows, key=lambda row: str(row["scenario"]))


def _print_claims(entries: list[dict[str, Any]]) -> None:
    """A table for each command, with the reason of what is open, then how many came out how."""
    for command in dict.fromkeys(e["command"] for e in entries):
        own = [e for e in entries if e["command"] == command]
        units = [unit_and_rest(e["unit"]) for e in own]
        columns: dict[str, list[str]] = {
            "verdict": [e["verdict"] for e in own],
            "reading": [e["reading_word"].removesuffix(" under") for e in own],
            "claim": [e["id"] for e in own],
            "measured": [rounded(e["measured"], unit) for e, (unit, _) in zip(own, units, strict=True)],
            "published": [_published(e, unit) for e, (unit, _) in zip(own, units, strict=True)],
            "of": [rest for _, rest in units],
        }
        if not any(columns["reading"]):
            del columns["reading"]
        if any(e["testbed"] for e in own):
            columns["testbed"] = [_on_testbed(e["testbed"]) for e in own]
        notes = [e["reason"] if e["verdict"] in EXPLAINED else "" for e in own]
        click.echo(click.style(command, bold=True))
        print_table([*columns], [list(row) for row in zip(*columns.values(), strict=True)], notes)
        for line in dict.fromkeys(_measured_how(e["testbed"]) for e in own if e["testbed"]):
            click.echo(line)
        click.echo()
    _print_readings(entries)
    counts = Counter(e["verdict"] for e in entries)
    click.echo(f"{len(entries)} claims: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    if real := Counter(e["testbed"]["verdict"] for e in entries if e["testbed"]):
        shown = ", ".join(f"{count} {verdict}" for verdict, count in real.most_common())
        click.echo(f"{real.total()} of them on real packets: {shown}")


def _published(entry: Mapping[str, Any], unit: str) -> str:
    """The published value as it is in the ledger, with its unit if it is a number."""
    value = entry["published"]
    several = value if isinstance(value, list) else [value]
    numeric = all(isinstance(one, int | float) for one in several)
    return f"{entry['qualifier']} {_text(value)}" + (f" {unit}" if numeric and unit else "")


def _on_testbed(entry: Mapping[str, Any] | None) -> str:
    """The testbed's verdict on a claim, with the median and the range behind it."""
    if entry is None:
        return ""
    if entry["measured"] is None or entry["range"] is None:
        return str(entry["verdict"])
    return f"{entry['verdict']} {show(entry['measured'])} ({show_range(entry['range'])})"


def _measured_how(entry: Mapping[str, Any]) -> str:
    """Where and how the testbed's verdicts were measured."""
    where = machine_text(entry["machine"])
    return f"  testbed: {entry['command']}; median of {entry['repetitions']} repetitions on {where}"


def _print_readings(entries: list[dict[str, Any]]) -> None:
    """Each reading on record: what it sets, and how many claims stand how under it."""
    under: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        if entry["reading_values"]:
            paper = entry["scenario"].partition("/")[0]
            values = ", ".join(f"{name} {_text(value)}" for name, value in entry["reading_values"].items())
            verdict = entry["reading_verdict"] or entry["reading_word"]
            # What cannot hold as stated cannot hold under a reading either.
            cannot = verdict == entry["judged"] == Verdict.NOT_REPRODUCED
            under.setdefault((paper, values), []).append(entry["verdict"] if cannot else verdict)
    for (paper, values), verdicts in under.items():
        counts = Counter(verdicts)
        click.echo(f"the reading of {paper}: {values}")
        click.echo("  " + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()) + " under it")


def _declared(entry: dict[str, Any]) -> list[str]:
    """What a discipline writes into packets and needs from its driver, and how long traffic takes alone."""
    lines = [f"({key} {'; '.join(entry[key])})" for key in ("rewrites", "needs") if entry.get(key)]
    if entry.get("form"):
        lines += [f"alone in the network it takes: {entry['form']}", f"({entry['form_words']})"]
    return lines


def _parameter(parameter: dict[str, Any]) -> str:
    """Name, default and meaning of a parameter."""
    default = parameter.get("default")
    shown = default if isinstance(default, str | None) else json.dumps(default)
    words = parameter.get("choices") or ()
    choices = f" (or {', '.join(word for word in words if word != shown)})" if words else ""
    return f"{parameter['name']}{'' if shown is None else f' = {shown}'}{choices}: {parameter.get('doc', '')}"


def _details(entry: dict[str, Any]) -> list[str]:
    """What is known of an entry: what it declares of itself, its parameters, its probes."""
    return [*_declared(entry), *map(_parameter, entry.get("params", [])), *map(_probe, entry.get("probes", []))]


def _probe(probe: dict[str, Any]) -> str:
    """Name, unit and meaning of a probe."""
    unit = f" in {probe['unit']}" if probe["unit"] not in ("", "1") else ""
    return f"(probe {probe['name']}{unit}: {probe['doc']})"


def _text(published: object) -> str:
    return ", ".join(map(str, published)) if isinstance(published, list) else str(published)


COMMAND = list_things
