"""One setting of switches for all variants of a comparison: the memory of a real chip, and marks from the path."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.data.units import plain, size
from headway.errors import HeadwayError
from headway.in_effect import BUFFER, TRIMMING, InEffect, in_effect
from headway.loading import Scenario

# Part of a bandwidth-delay product from which on a queue marks, and packets at the least: DCTCP, SIGCOMM 2010, §3.4.
MARK_PART, LEAST_MARKS = 1 / 7, 20
# The discipline whose marks do not follow the rates of links by themselves.
MARKED = "ecn-threshold"
# Variants that a sentence names, at most.
MOST_NAMED = 4


@dataclass(frozen=True)
class FairSetting:
    """A setting of switches that suits every variant: overrides as `--set` takes them, and a sentence about them."""

    sets: tuple[str, ...]
    sentence: str


def fair_setting(scenario: Scenario, *, whole: bool, variant: str | None = None) -> FairSetting | None:
    """The setting for all variants, or with `whole` false for a run: of one variant, or of the scenario without any.

    `None` for a scenario that has no network.
    """
    names = list(scenario.native.variants()) if whole else []
    if variant is not None:
        names = [variant]
    runs: Mapping[str, Scenario] = {name: scenario.variant(name) for name in names} if names else {"": scenario}
    sets: list[str] = []
    words: dict[str, None] = {}
    for name, one in runs.items():
        if "." in name:
            raise HeadwayError(f"--fair cannot set keys of a variant whose name has a dot: {name!r}")
        found = in_effect(scenario, name or None) if names else in_effect(one)
        chip = one.native.fitting_chip()
        if not found or chip is None:
            return None
        prefix = f"variants.{name}." if name else ""
        own, told = _keys_of(one, found[0], chip)
        sets += [f"{prefix}{key}={value}" for key, value in own.items()]
        words.update(dict.fromkeys(told))
    return FairSetting(tuple(sets), "; ".join(words))


def with_fair(sets: Sequence[str], scenario: Scenario, *, whole: bool, variant: str | None = None) -> tuple[str, ...]:
    """The overrides with those of the fair setting, which come last; raises `HeadwayError` without switches."""
    setting = fair_setting(scenario, whole=whole, variant=variant)
    if setting is None:
        raise HeadwayError("--fair is about switches, and the scenario has none")
    return (*sets, *setting.sets)


def _keys_of(one: Scenario, effect: InEffect, chip: tuple[str, int]) -> tuple[dict[str, str], list[str]]:
    """Keys that give a run its part of the setting, with their values; and what they are."""
    name, memory = chip
    fabric = one.resolved["fabric"]
    table = "pfc" if fabric.get("pfc") else "memory"
    keys = {f"fabric.{table}.chip": f'"{name}"'}
    # Values that the table sets already would replace the chip's.
    if table == "pfc" and int(fabric["pfc"]["buffer"]) > 0:
        keys["fabric.pfc.buffer"] = str(memory)
    if table == "memory" and "memory" in fabric:
        keys["fabric.memory.size"] = str(memory)
    told = [f"the {size(memory)} of a `{name}` for all ports of a switch together"]
    discipline = str(fabric["discipline"])
    if table == "memory" and BUFFER not in effect.defaults and discipline not in TRIMMING:
        keys[BUFFER] = f'"{memory} B"'
    if discipline == MARKED and effect.bdp_packets:
        marks = max(LEAST_MARKS, math.ceil(effect.bdp_packets * MARK_PART))
        keys["fabric.threshold"] = str(marks)
        told.append(f"marks from {marks} packets on where queues mark by a threshold, a seventh of the longest path")
    return keys, told


def short_buffers(found: Sequence[InEffect]) -> str | None:
    """A sentence about default buffers that hold less than the longest path does: they do not follow the rate."""

    def is_short(one: InEffect) -> bool:
        trims = one.ports.partition(",")[0] in TRIMMING
        return BUFFER in one.defaults and not trims and 0 < one.buffer_bytes < one.bdp_bytes

    short = [one for one in found if is_short(one)]
    if not short:
        return None
    of = "" if len(short) == len(found) else f" of {', '.join(one.variant for one in short[:MOST_NAMED])}"
    first = short[0]
    return (
        f"the default buffer{of}, {plain(first.buffer_packets)} packets at any rate, holds less than the longest path"
        f" does ({plain(first.bdp_packets)} packets): set `{BUFFER}`, or --fair for the memory of a real switch"
    )
