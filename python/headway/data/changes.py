"""Links that differ from their topology, and what goes wrong on them: the sentences of it, from a scenario's keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headway.data.units import display, parse_seconds

NAMED = 3  # links or switches that a sentence names


def said(scenarios: Iterable[Mapping[str, Any]]) -> list[str]:
    """A sentence for each `[[topology.link]]` and `[[fault]]` of these scenarios, each once."""
    found: dict[str, None] = {}
    for scenario in scenarios:
        for link in _tables(scenario.get("topology"), "link"):
            found[f"{_whom(link)}: {_values(link)} instead of what the topology has"] = None
        for fault in _tables(scenario, "fault"):
            found[sentence(fault) if span(fault) else _chances(fault)] = None
    return list(found)


def hurt_links(scenario: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names of links that differ or have a fault, or of switches, each with a sentence; `*` is any characters."""
    found = []
    tables = [(link, f"{_values(link)} instead") for link in _tables(scenario.get("topology"), "link")]
    tables += [(fault, sentence(fault) if span(fault) else _chances(fault)) for fault in _tables(scenario, "fault")]
    for table, text in tables:
        links, switches = table.get("links"), table.get("switches") or []
        every = links == "all" or (links is None and not switches)
        names = ["*"] if every else [*(links or []), *switches]
        found += [(str(name), text) for name in names]
    return found


def faults(scenario: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Its `[[fault]]` tables."""
    return _tables(scenario, "fault")


def _tables(table: object, key: str) -> list[Mapping[str, Any]]:
    found = table.get(key) if isinstance(table, Mapping) else None
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def span(fault: Mapping[str, Any]) -> tuple[float, float] | None:
    """Beginning and end in seconds; without an end it lasts."""
    for begins, ends in (("down_at", "up_at"), ("at", "until"), ("dark_from", "dark_until")):
        start = parse_seconds(fault.get(begins))
        if start is not None:
            end = parse_seconds(fault.get(ends))
            return start, float("inf") if end is None else end
    return None


def word(fault: Mapping[str, Any]) -> str:
    """Text in the shaded span."""
    if "down_at" in fault:
        return f"{_whom(fault)} down"
    if "at" in fault:
        return f"{_whom(fault)}: {_values(fault)}"
    return f"{_whom(fault)} black-holed"


def sentence(fault: Mapping[str, Any]) -> str:
    """A change of links with its span."""
    begins, ends = span(fault) or (0.0, 0.0)
    end = f" to {display('time', ends)}" if ends < float("inf") else " on"
    found = f"{word(fault)} from {display('time', begins)}{end}"
    converge = parse_seconds(fault.get("converge"))
    if "down_at" not in fault:
        return found
    if converge is None:
        return f"{found}, and routes stay as they are"
    when = f"{display('time', converge)} later" if converge else "at once"
    return f"{found}, and routes follow {when}"


def _values(fault: Mapping[str, Any]) -> str:
    """The new rate and delay."""
    delay = f"delay {fault['delay']}" if fault.get("delay") else None
    return ", ".join(str(part) for part in (fault.get("rate"), delay) if part)


def _chances(fault: Mapping[str, Any]) -> str:
    """Packets that are lost, doubled or delayed, by number or at random."""
    names = ("loss", "duplicate", "reorder")
    parts = [f"{name} {fault[name]:.4g}" for name in names if isinstance(fault.get(name), int | float) and fault[name]]
    if numbers := fault.get("drop"):
        parts.append(f"{len(numbers)} packets dropped by number" if isinstance(numbers, list) else "packets dropped")
    kind = f" of {fault['kind']} packets" if fault.get("kind") else ""
    return f"{_whom(fault)}: {', '.join(parts) or 'faults'}{kind}"


def _whom(fault: Mapping[str, Any]) -> str:
    names = [str(name) for name in fault.get("switches") or []]
    links = fault.get("links")
    if links == "all" or (links is None and not names):
        return "all links"
    names += _both_ways([str(name) for name in links or []])
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _both_ways(links: list[str]) -> list[str]:
    """The two directions of a link as one name."""
    found: dict[str, None] = {}
    for name in links:
        if "<->" in name:
            found[name.replace("<->", " ↔ ")] = None
            continue
        a, _, b = name.partition("->")
        back = f"{b}->{a}" in links
        if not (back and f"{b} ↔ {a}" in found):
            found[f"{a} ↔ {b}" if back else f"{a} → {b}"] = None
    return list(found)
