"""`headway list`: the scenarios, and what a scenario may name."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from headway import _headway, names
from headway.catalogues import THINGS, Catalogue, Deployment, Named, Parameter, Probe, TransportEntry, catalogue
from headway.claims.markdown import tables
from headway.claims.values import rounded, show, show_range, unit_and_rest
from headway.claims.why import why
from headway.cli.echo import echo
from headway.cli.terminal import print_table
from headway.data.claims import ListedClaim, RealClaim, Verdict
from headway.data.jsonable import Jsonable, json_text
from headway.data.machine import machine_text
from headway.errors import NameNotFound, nearest

# Words of users for the entries of a list that has another name.
ALSO = {
    "disciplines": "ports port queues queue queueing queuing schedulers aqm ecn marking qdiscs buffers",
    "transports": "protocols protocol congestion congestion-control controllers controls algorithms variants presets",
    "topologies": "networks network fabrics fabric switches hosts links graphs",
    "traffic": "patterns traffics flows messages jobs collectives loads arrivals incasts",
    "workloads": "cdf cdfs sizes flow-sizes distributions flow-size-distributions size-distributions",
    "models": "formulas closed-forms bounds",
    "figures": "papers paper publications reproductions",
    "examples": "scenarios scenario tutorials",
    "numbers": "metrics measures statistics columns summaries summary quantities percentiles",
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
@click.option("--deploy", metavar="NETWORK", help="Transports for a network: plain, plain-ecn, ...; `all` shows which.")
@click.option("--markdown", is_flag=True, help="Print claims as tables of a Markdown page.")
def list_things(thing: str, name: str | None, as_json: bool, deploy: str | None, markdown: bool) -> None:
    """List transports, topologies, traffic, workloads, disciplines, models, figures, examples, claims or numbers.

    With NAME, those whose name begins with it, or else holds it: `list transports homa`, `list workloads websearch`,
    `list claims rpo/fig12`; the parameters of transports and disciplines are shown then. Figures are the scenarios that
    lie beside the claims of the publication they reproduce; examples are all others.
    """
    if markdown and (thing != "claims" or as_json):
        raise click.UsageError("--markdown is for claims, and not beside --json")
    if deploy is not None:
        if thing != "transports" or markdown:
            raise click.UsageError("--deploy is for transports")
        _list_deployed(deploy, name, as_json=as_json)
        return
    found = catalogue(thing, name)
    claims = [one for one in found if isinstance(one, ListedClaim)]
    if as_json:
        echo(found.to_json())
    elif not found:
        echo(f"no {thing} found; {names.looked_in()}", err=True)
    elif markdown:
        echo(tables(claims), nl=False)
    elif claims:
        _print_claims(claims)
    else:
        _print(found, in_full=name is not None)


def _list_deployed(network: str, name: str | None, *, as_json: bool) -> None:
    """The transports that a network can take, and what the others lack there."""
    known = {one["name"]: one["what"] for one in json.loads(_headway.catalogue("networks"))}
    if network == "all":
        print_table(("network", "what it is"), list(known.items()))
        return
    if network not in known:
        raise NameNotFound("network", network, known, f"there is {', '.join(known)}")
    entries = list(catalogue("transports", name))
    fit = [one for one in entries if not one.deployment.lacks[network]]
    if as_json:
        others = {one.name: list(one.deployment.lacks[network]) for one in entries if one not in fit}
        found = {
            "network": network,
            "what": known[network],
            "transports": {e.name: e.deployment.document() for e in fit},
        }
        echo(json_text({**found, "lacking": others}))
        return
    echo(f"{network}: {known[network]}")
    heads = ("transport", "switches", "runs in", "next to others")
    rows = [(e.name, _all(e.deployment.switches), _all(e.deployment.hosts), e.deployment.neighbours) for e in fit]
    print_table(heads, rows)
    lacking: dict[str, list[str]] = {}
    for one in entries:
        if one not in fit:
            lacking.setdefault(_all(one.deployment.lacks[network]), []).append(one.name)
    for what, names_of in lacking.items():
        echo(f"lacks {what}: {', '.join(names_of)}")


def _all(words: Sequence[str]) -> str:
    return "; ".join(words) or "nothing"


def _print(found: Catalogue[Jsonable], *, in_full: bool) -> None:
    columns = [c for c in ("name", "unit", "title", "summary", "paper") if any(getattr(e, c, "") for e in found)]
    rows = [[str(getattr(e, c, "")) for c in columns] for e in found]
    named = [e if isinstance(e, Named) else None for e in found]
    notes = ["\n".join(_details(e)) if in_full and e is not None else "" for e in named]
    print_table(columns, rows, notes)
    if not in_full and any(e is not None and e.parameters for e in named):
        echo(f"\n`headway list {found.thing} NAME` shows the parameters")


def _print_claims(entries: Sequence[ListedClaim]) -> None:
    """A table for each command, with the reason of what is open, then how many came out how."""
    for command in dict.fromkeys(e.command for e in entries):
        own = [e for e in entries if e.command == command]
        units = [unit_and_rest(e.unit) for e in own]
        columns: dict[str, list[str]] = {
            "verdict": [e.verdict for e in own],
            "reading": [e.reading_word.removesuffix(" under") for e in own],
            "claim": [e.id for e in own],
            "measured": [rounded(e.measured, unit) for e, (unit, _) in zip(own, units, strict=True)],
            "published": [_published(e, unit) for e, (unit, _) in zip(own, units, strict=True)],
            "of": [rest for _, rest in units],
        }
        if not any(columns["reading"]):
            del columns["reading"]
        if any(e.testbed for e in own):
            columns["testbed"] = [_on_testbed(e.testbed) for e in own]
        notes = [why(e) for e in own]
        echo(click.style(command, bold=True))
        print_table([*columns], [list(row) for row in zip(*columns.values(), strict=True)], notes)
        for line in dict.fromkeys(_measured_how(e.testbed) for e in own if e.testbed):
            echo(line)
        echo()
    _print_readings(entries)
    counts = Counter(e.verdict for e in entries)
    echo(f"{len(entries)} claims: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    if real := Counter(e.testbed.verdict for e in entries if e.testbed):
        shown = ", ".join(f"{count} {verdict}" for verdict, count in real.most_common())
        echo(f"{real.total()} of them on real packets: {shown}")


def _published(entry: ListedClaim, unit: str) -> str:
    """The published value as it is in the ledger, with its unit if it is a number."""
    value = entry.published
    several = value if isinstance(value, list) else [value]
    numeric = all(isinstance(one, int | float) for one in several)
    return f"{entry.qualifier} {_text(value)}" + (f" {unit}" if numeric and unit else "")


def _on_testbed(entry: RealClaim | None) -> str:
    """The testbed's verdict on a claim, with the median and the range behind it."""
    if entry is None:
        return ""
    if entry.measured is None or entry.range is None:
        return str(entry.verdict)
    return f"{entry.verdict} {show(entry.measured)} ({show_range(entry.range)})"


def _measured_how(entry: RealClaim) -> str:
    """Machine and command of the testbed's verdicts."""
    where = machine_text(entry.machine)
    return f"  testbed: {entry.command}; median of {entry.repetitions} repetitions on {where}"


def _print_readings(entries: Sequence[ListedClaim]) -> None:
    """Each reading on record: its settings, and the number of claims with each verdict under it."""
    under: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        if entry.reading_values:
            paper = entry.scenario.partition("/")[0]
            values = ", ".join(f"{name} {_text(value)}" for name, value in entry.reading_values.items())
            verdict = entry.reading_verdict or entry.reading_word
            # A claim that cannot hold as stated cannot hold under a reading either.
            cannot = verdict == entry.judged == Verdict.NOT_REPRODUCED
            under.setdefault((paper, values), []).append(entry.verdict if cannot else verdict)
    for (paper, values), verdicts in under.items():
        counts = Counter(verdicts)
        echo(f"the reading of {paper}: {values}")
        echo("  " + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()) + " under it")


def _declared(entry: Named) -> list[str]:
    """Changes of a discipline to packets, its needs of a driver, and the time that traffic takes alone."""
    facts = entry.facts
    lines = [f"({key} {'; '.join(facts[key])})" for key in ("rewrites", "needs") if facts.get(key)]
    if facts.get("form"):
        lines += [f"alone in the network it takes: {facts['form']}", f"({facts['form_words']})"]
    return lines


def _parameter(parameter: Parameter) -> str:
    """Name, default and meaning of a parameter."""
    default = parameter.default
    shown = default if isinstance(default, str | None) else json.dumps(default)
    words = parameter.choices
    choices = f" (or {', '.join(word for word in words if word != shown)})" if words else ""
    return f"{parameter.name}{'' if shown is None else f' = {shown}'}{choices}: {parameter.doc}"


def _details(entry: Named) -> list[str]:
    """Details of an entry: its declarations, its parameters, its probes."""
    probes = entry.probes if isinstance(entry, TransportEntry) else ()
    needs = _needs(entry.deployment) if isinstance(entry, TransportEntry) else []
    return [*_declared(entry), *needs, *map(_parameter, entry.parameters), *map(_probe, probes)]


def _needs(of: Deployment) -> list[str]:
    """Lines with the needs of a transport in a real network."""
    return [
        f"(switches: {_all(of.switches)}; runs in {_all(of.hosts)}; with Headway: {_all(of.here)})",
        f"(next to others: {of.neighbours})",
    ]


def _probe(probe: Probe) -> str:
    """Name, unit and meaning of a probe."""
    unit = f" in {probe.unit}" if probe.unit not in ("", "1") else ""
    return f"(probe {probe.name}{unit}: {probe.doc})"


def _text(published: object) -> str:
    return ", ".join(map(str, published)) if isinstance(published, list) else str(published)


COMMAND = list_things
