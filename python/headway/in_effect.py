"""What is in effect where a scenario says nothing: preset and port of each variant, and how its variants differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.data.toml import parsed
from headway.data.units import parse_bytes, plain, size
from headway.errors import ScenarioError
from headway.scenario import Scenario

# Parts of a scenario that no run depends on, or that are listed otherwise.
LEFT_OUT = ("name", "title", "description", "paper", "report")
MOST_ITEMS = 6
# Keys that what is in effect is told by.
BUFFER, DISCIPLINE, PRESET = "fabric.buffer", "fabric.discipline", "transport.preset"
DEFAULT = "default"


@dataclass(frozen=True)
class InEffect:
    """One variant's transport, preset and port.

    `defaults` are those of its keys that nobody gave a value, and `swept` those that the sweep varies: what stands here
    of them is what they are without it.
    """

    variant: str
    transport: str
    preset: str
    ports: str
    buffer: str
    buffer_packets: float
    buffer_bytes: float
    bdp_packets: float
    bdp_bytes: float
    defaults: tuple[str, ...]
    swept: tuple[str, ...]

    def json(self) -> dict[str, Any]:
        """As `headway show --json` has it."""
        return {**self.__dict__, "defaults": list(self.defaults), "swept": list(self.swept)}

    @property
    def product(self) -> str:
        """The bandwidth-delay product of the longest path."""
        return f"{plain(self.bdp_packets)} packets, {size(self.bdp_bytes)}" if self.bdp_packets else NOTHING

    def cells(self) -> list[str]:
        """Variant, transport, preset, ports, buffer and bandwidth-delay product, as text."""
        preset = self._said(self.preset, PRESET)
        ports = self._said(self.ports, DISCIPLINE)
        buffer = self._said(f"{plain(self.buffer_packets)} packets, {size(self.buffer_bytes)}", BUFFER)
        return [self.variant, self.transport, preset, ports, buffer, self.product]

    def _said(self, text: str, key: str) -> str:
        if text == NOTHING:
            return text
        return text + (OF_DEFAULT if key in self.defaults else OF_SWEEP if key in self.swept else "")


NOTHING = "-"
OF_DEFAULT, OF_SWEEP = "*", "**"
PRODUCT = "bandwidth-delay product of the longest path"


def table_of(found: Sequence[InEffect]) -> tuple[list[str], list[list[str]], list[str]]:
    """Heads, a row for each variant, and what goes below them.

    Columns that say the same for all, or that the first one says, are left out: a line is to fit a terminal.
    """
    heads = ["variant", "transport", "preset", "ports", "buffer", PRODUCT]
    rows = [one.cells() for one in found]
    products = {one.product for one in found}
    kept = [0, 2, 3, 4] if all(one.variant == one.transport for one in found) else [0, 1, 2, 3, 4]
    notes = []
    if len(products) > 1:
        kept.append(5)
    elif found:
        notes.append(f"{PRODUCT}: {found[0].product}")
    marks = [
        text
        for text, is_there in (
            (f"{OF_DEFAULT} the default", any(one.defaults for one in found)),
            (f"{OF_SWEEP} before the sweep varies it", any(one.swept for one in found)),
        )
        if is_there
    ]
    if marks:
        notes.append(", ".join(marks))
    return [heads[i] for i in kept], [[row[i] for i in kept] for row in rows], notes


def in_effect(scenario: Scenario, variant: str | None = None) -> list[InEffect]:
    """Of each variant, of the one that is asked for, or of a scenario without variants of itself; none of a model."""
    if "fabric" not in scenario.resolved:
        return []
    found = variants_of(scenario) if variant is None else {variant: scenario.variant(variant)}
    paths = _Longest()
    if not found:
        return [_of("", scenario, given(scenario, None), paths)]
    return [_of(name, one, given(scenario, name), paths) for name, one in found.items()]


def variants_of(scenario: Scenario) -> dict[str, Scenario]:
    """Its variants; none where overrides are of the scenario without them, since each variant sets the key again."""
    try:
        return {name: scenario.variant(name) for name in scenario.native.variants()}
    except ScenarioError:
        return {}


class _Longest:
    """The longest path of each network, which variants mostly share."""

    def __init__(self) -> None:
        self._known: dict[str, Mapping[str, Any] | None] = {}

    def of(self, scenario: Scenario, resolved: Mapping[str, Any]) -> Mapping[str, Any] | None:
        fabric = {key: value for key, value in resolved["fabric"].items() if key in SIZES}
        key = json.dumps([resolved["topology"], fabric, len(resolved.get("traffic", []))], sort_keys=True)
        if key not in self._known:
            self._known[key] = scenario.longest_path
        return self._known[key]


# What the longest path depends on beside the topology.
SIZES = ("payload", "header", "framing", "control", "forwarding", "routing")


def _of(variant: str, scenario: Scenario, set_keys: set[str], paths: _Longest) -> InEffect:
    resolved = scenario.resolved
    fabric = resolved["fabric"]
    transports = resolved.get("transports") or [resolved["transport"]]
    frame = float(fabric["payload"] + fabric["header"] + fabric["framing"])
    room = parse_bytes(fabric["buffer"], frame) or 0.0
    path = paths.of(scenario, resolved)
    bdp = float(path["bdp_bytes"]) if path else 0.0
    ports = str(fabric["discipline"])
    if fabric.get("pfc"):
        ports += ", lossless"
    if fabric.get("at"):
        ports += ", others by [[fabric.at]]"
    swept = scenario.native.swept()
    names = "+".join(dict.fromkeys(str(one["name"]) for one in transports))
    preset = "+".join(dict.fromkeys(str(one.get("preset", NOTHING)) for one in transports))
    told = (PRESET, DISCIPLINE, BUFFER)
    defaults = tuple(key for key in told if not is_given(key, {*set_keys, *swept}))
    return InEffect(
        variant or names,
        names,
        preset,
        ports,
        str(fabric["buffer"]),
        room / frame,
        room,
        bdp / path["packet_bytes"] if path and path["packet_bytes"] else 0.0,
        bdp,
        defaults,
        tuple(key for key in told if key in swept),
    )


def keys(resolved: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every key by its path, with its value on one line."""
    for key, value in resolved.items():
        if key not in LEFT_OUT:
            yield from _flat(key, value)


def differences(first: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The keys that `other` has otherwise than `first`: key, its value, and that of `first` (empty without one)."""
    before = dict(keys(first))
    return [(key, value, before.get(key, "")) for key, value in keys(other) if before.get(key) != value]


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401  (what JSON holds)
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(f"{path}.{key}", item)
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for number, item in enumerate(value[:MOST_ITEMS]):
            yield from _flat(f"{path}.{number}", item)
        if len(value) > MOST_ITEMS:
            yield f"{path}.{MOST_ITEMS} to {len(value) - 1}", "(headway check --json has them)"
    else:
        yield path, _shown(value)


def _shown(value: Any) -> str:  # noqa: ANN401  (what JSON holds)
    if isinstance(value, list) and len(value) > 2 * MOST_ITEMS:
        head = ", ".join(json.dumps(item, ensure_ascii=False) for item in value[:MOST_ITEMS])
        return f"[{head}, ...] ({len(value)} entries)"
    return json.dumps(value, ensure_ascii=False)


def given(scenario: Scenario, variant: str | None) -> set[str]:
    """The paths that its text, its scale, a variant or an override gives a value."""
    document = parsed(scenario.text)
    found = set(_leaves(document, ("scale", "variants", "sweep")))
    for table, name in (("scale", scenario.scale), ("variants", variant)):
        chosen = document.get(table, {}).get(name, {}) if name is not None else {}
        found |= set(_leaves(chosen, ()))
    return found | {item.partition("=")[0].strip() for item in scenario.sets}


def _leaves(value: Any, left_out: Sequence[str], prefix: str = "") -> Iterator[str]:  # noqa: ANN401  (what TOML holds)
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key not in left_out:
                yield from _leaves(item, (), f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for number, item in enumerate(value):
            yield from _leaves(item, (), f"{prefix}.{number}")
    else:
        yield prefix


def is_given(key: str, given_keys: set[str]) -> bool:
    """Whether a key, or one that it is a part of or holds, was given."""
    return any(key == one or key.startswith(f"{one}.") for one in given_keys)
