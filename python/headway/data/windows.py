"""Runs that end while flows go on, because their scenario says so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headway.data.units import parse_bytes, parse_rate, parse_seconds

# Sentence of a manifest on flows that were open at the end of a run that nobody interrupted.
OPEN_AT_THE_END = re.compile(r"\d+ of \d+ flows had not finished when the run ended")


def is_window(scenario: Mapping[str, Any]) -> bool:
    """True if a resolved scenario shows flows that it lists for a time that is too short for one of them.

    That one could not end by the `stop` even if it had the fastest link of the topology to itself. Flows that arrive
    at random, calls and jobs are asked to end: a scenario with one of these is no such window.
    """
    stop = parse_seconds(scenario.get("stop"))
    entries = scenario.get("traffic")
    if stop is None or not isinstance(entries, list) or not entries:
        return False
    if any(not isinstance(entry, Mapping) or entry.get("kind") != "flows" for entry in entries):
        return False
    fastest = max(_rates(scenario.get("topology")), default=None)
    return fastest is not None and any(_ends_after(stop, flow, fastest) for entry in entries for flow in _listed(entry))


def _ends_after(stop: float, flow: Mapping[str, Any], rate: float) -> bool:
    """True if a flow that begins when it should needs longer at this rate."""
    size, start = parse_bytes(flow.get("bytes")), parse_seconds(flow.get("start"))
    return size is not None and start is not None and start < stop < start + 8.0 * size / rate


def _listed(entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    flows = entry.get("flows")
    yield from (flow for flow in flows if isinstance(flow, Mapping)) if isinstance(flows, list) else ()


def _rates(topology: object) -> Iterator[float]:
    """Every rate that a topology names, those of single links included."""
    if isinstance(topology, Mapping):
        for key, value in topology.items():
            if str(key).endswith("rate") and (rate := parse_rate(value)):
                yield rate
            else:
                yield from _rates(value)
    elif isinstance(topology, list):
        for part in topology:
            yield from _rates(part)


def unexpected(warnings: Iterable[str], scenario: Mapping[str, Any]) -> list[str]:
    """The warnings of a manifest less the one on open flows, where the scenario is a window on them."""
    by_design = is_window(scenario)
    return [one for one in warnings if not (by_design and OPEN_AT_THE_END.fullmatch(one))]
