"""Differences between transports of one comparison that are none of their design: the times that their presets wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.data.sentences import ON_FAIRNESS
from headway.data.units import duration, parse_seconds

# Parameters that say how long a sender waits before it repeats.
TIMES = ("min_rto", "initial_rto")
# Times that differ by less than this draw no note.
ALIKE = 2.0


def times_in(resolved: Mapping[str, Any]) -> dict[str, tuple[float, str]]:
    """By parameter, the time in seconds of a resolved scenario's transport and who has it; of several the longest."""
    found: dict[str, tuple[float, str]] = {}
    for transport in resolved.get("transports") or [resolved.get("transport") or {}]:
        for name in TIMES:
            time = parse_seconds(transport.get(name))
            if time is not None and time > found.get(name, (0.0, ""))[0]:
                found[name] = (time, str(transport.get("preset") or ""))
    return found


def unlike_times(times: Mapping[str, Mapping[str, tuple[float, str]]]) -> list[str]:
    """A sentence for each parameter whose times differ between variants; `times` is `times_in` of each variant."""
    said = []
    for name in TIMES:
        having = {variant: own[name] for variant, own in times.items() if name in own}
        if not having:
            continue
        least, most = (choose(having, key=lambda one: having[one][0]) for choose in (min, max))
        if having[most][0] < ALIKE * having[least][0]:
            continue
        what, other = (
            f"{duration(having[one][0])} for {one}{f' (preset {having[one][1]})' if having[one][1] else ''}"
            for one in (most, least)
        )
        said.append(
            f"`transport.{name}` is {what} and {other}: where packets are lost, this may tell them apart more than"
            f" their designs do; `transport.preset` sets both alike ({ON_FAIRNESS})"
        )
    # The first says it.
    return said[:1]
