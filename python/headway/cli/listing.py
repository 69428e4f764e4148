"""`headway list`: what there is to run and to put into a scenario."""

from __future__ import annotations

import json
from typing import Any

import click

from headway import _headway, names
from headway.claims.ledger import known_claims
from headway.cli.terminal import print_table

CATALOGUES = ("transports", "topologies", "workloads", "disciplines")
THINGS = (*CATALOGUES, "figures", "claims")


@click.command("list")
@click.argument("thing", type=click.Choice(THINGS))
@click.option("--json", "as_json", is_flag=True, help="Print everything known, as JSON.")
def list_things(thing: str, as_json: bool) -> None:
    """List transports, topologies, workloads, disciplines, figures or claims."""
    if thing in CATALOGUES:
        entries: list[dict[str, Any]] = json.loads(_headway.catalogue(thing))
    elif thing == "figures":
        entries = _figures()
    else:
        entries = [c.published_facts() for c in known_claims()]
    if as_json:
        click.echo(json.dumps(entries, indent=2, ensure_ascii=False))
    elif not entries:
        click.echo(f"no {thing} found", err=True)
    else:
        _print(thing, entries)


def _figures() -> list[dict[str, Any]]:
    entries = []
    for name, file in known_scenarios_in_order():
        try:
            scenario = _headway.Scenario.load(str(file.path))
            entries.append({"name": name, "title": scenario.title, "paper": scenario.paper})
        except _headway.ScenarioError:
            entries.append({"name": name, "title": f"(not readable: headway check {name})", "paper": ""})
    return entries


def known_scenarios_in_order() -> list[tuple[str, names.ScenarioFile]]:
    """Scenarios by name."""
    return sorted(names.known_scenarios().items())


def _print(thing: str, entries: list[dict[str, Any]]) -> None:
    if thing == "claims":
        rows = [
            [e["id"], e["scenario"], e["metric"], f"{e['qualifier']} {_text(e['published'])} {e['unit']}"]
            for e in entries
        ]
        print_table(["id", "scenario", "metric", "published"], rows)
        return
    columns = [c for c in ("name", "title", "summary", "paper") if any(e.get(c) for e in entries)]
    rows = [[str(e.get(c, "")) for c in columns] for e in entries]
    print_table(columns, rows, ["\n".join(map(_parameter, e.get("params", []))) for e in entries])


def _parameter(parameter: dict[str, Any]) -> str:
    """Name, default and meaning of a parameter."""
    default = parameter.get("default")
    shown = default if isinstance(default, str | None) else json.dumps(default)
    return f"{parameter['name']}{'' if shown is None else f' = {shown}'}: {parameter.get('doc', '')}"


def _text(published: object) -> str:
    return ", ".join(map(str, published)) if isinstance(published, list) else str(published)
