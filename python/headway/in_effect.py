"""Values in effect that a scenario does not set: preset and port of each variant, and how its variants differ."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.data.toml import parsed
from headway.data.units import display, parse_bytes, parse_seconds, plain, size
from headway.errors import ScenarioError
from headway.loading import Scenario

# Parts of a scenario that no run depends on, or that are listed otherwise.
LEFT_OUT = ("name", "title", "description", "paper", "report")
MOST_ITEMS = 6
# Keys by which the values in effect are named.
BUFFER, DISCIPLINE, PRESET = "fabric.buffer", "fabric.discipline", "transport.preset"
ROUTING, HEADERS = "fabric.routing", "fabric.control_buffer"
DEFAULT = "default"
# A preset that an entry of traffic sets, alone or with its transport.
OF_ENTRY = re.compile(r"traffic\.\d+\.(transport\.preset|preset)$")
# Characters of a row of the table, at most; a column that does not fit is told below it.
WIDEST = 100


@dataclass(frozen=True)
class Ports:
    """The ports of a fabric, with bytes of a full packet on the wire and of the buffer, and the longest path."""

    fabric: Mapping[str, Any]
    frame: float
    buffer: float
    rate_bps: float
    rtt_s: float

    def bytes(self, key: str) -> float:
        """Value of a key in bytes; 0 if it leaves that to the discipline."""
        return parse_bytes(self.fabric[key], self.frame) or 0.0

    def packets(self, *amounts: float) -> str:
        """Bytes in packets."""
        return " to ".join(plain(amount / self.frame) for amount in amounts) + " packets"


@dataclass(frozen=True)
class Marking:
    """Marking threshold of a discipline: the keys that set it, and its text for the ports that have them."""

    keys: tuple[str, ...]
    told: Callable[[Ports], str]


def _red(ports: Ports) -> str:
    """Two thresholds, which follow the rate of each port where they are not given."""
    low, high = ports.bytes("kmin"), ports.bytes("kmax")
    if low and high:
        return _between(ports, low, high)
    if not ports.rate_bps:
        return f"from {size(low or RED[0])} to {size(high or RED[1])}{'' if high else ' a 25 Gb/s'}"
    by_rate = (default * ports.rate_bps / RED_BPS for default in RED)
    low, high = (given or usual for given, usual in zip((low, high), by_rate, strict=True))
    return f"{_between(ports, low, max(low, high))}, at {display('rate', ports.rate_bps)}"


def _between(ports: Ports, low: float, high: float) -> str:
    return f"from {size(low)} to {size(high)} ({ports.packets(low, high)})"


def _core(ports: Ports) -> str:
    """A threshold, which is a part of the bytes of a round trip where it is not given."""
    if given := ports.bytes("threshold"):
        return f"from {size(given)} ({ports.packets(given)})"
    rtt_s = parse_seconds(ports.fabric["round_trip"]) or ports.rtt_s
    if not (rtt_s and ports.rate_bps):
        return "from 1.25 round trips"
    usual = ROUND_TRIPS * rtt_s * ports.rate_bps / 8
    return f"from 1.25 round trips ({size(usual)}, {ports.packets(usual)}, at {display('rate', ports.rate_bps)})"


def _queue(ports: Ports) -> str:
    """Two thresholds, which are parts of the buffer where they are not given."""
    low, high = (ports.bytes(key) or part * ports.buffer for key, part in zip(("kmin", "kmax"), FIFTHS, strict=True))
    return _between(ports, low, max(low, high))


# Defaults of disciplines: bytes for each so many bit/s, round trips, and parts of the buffer.
RED, RED_BPS, ROUND_TRIPS, FIFTHS = (100e3, 400e3), 25e9, 1.25, (0.2, 0.8)
# Every discipline that marks.
MARKINGS = {
    "anti-ecn": Marking(("rule", "gap_bytes"), lambda ports: f"by gaps ({ports.fabric['rule']})"),
    "ecn-threshold": Marking(("threshold",), lambda ports: f"from {ports.fabric['threshold']} packets"),
    "cross-queue-ecn": Marking(("mark_when",), lambda _: "by the opportunistic queue"),
    "fair-queue": Marking(
        ("threshold",),
        lambda ports: f"from {ports.fabric['threshold']} packets of a flow" if ports.fabric["threshold"] else NOTHING,
    ),
    "core-ecn": Marking(("threshold",), _core),
    "red-ecn": Marking(("kmin", "kmax"), _red),
    "trimming-ecn": Marking(("kmin", "kmax"), _queue),
    "trimming-core-ecn": Marking(("kmin", "kmax"), _queue),
}
# Those that cut packets down to headers, which wait in a queue of their own.
TRIMMING = ("trimming", "trimming-ecn", "trimming-core-ecn")


@dataclass(frozen=True)
class InEffect:
    """One variant's transport, preset, port and routing.

    `marks` says from how much in a queue on data is marked, `-` where nothing is; `headers_bytes` is the room for
    trimmed headers, 0 where nothing is trimmed. `defaults` are those of its keys that nobody gave a value, and `swept`
    those that the sweep varies: what stands here of them is what they are without it.
    """

    variant: str
    transport: str
    preset: str
    ports: str
    buffer: str
    buffer_packets: float
    buffer_bytes: float
    headers_bytes: float
    marks: str
    routing: str
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
        """Cells below each of `HEADS`."""
        preset = self._said(self.preset, PRESET)
        ports = self._said(self.ports, DISCIPLINE)
        buffer = self._said(f"{plain(self.buffer_packets)} packets, {size(self.buffer_bytes)}", BUFFER)
        discipline = self.ports.partition(",")[0]
        keys = [f"fabric.{key}" for key in MARKINGS[discipline].keys] if discipline in MARKINGS else []
        marks = self._said(self.marks, *keys)
        headers = self._said(size(self.headers_bytes), HEADERS) if self.headers_bytes else NOTHING
        routing = self._said(self.routing, ROUTING)
        return [self.variant, self.transport, preset, ports, buffer, self.product, routing, marks, headers]

    def _said(self, text: str, *keys: str) -> str:
        """With a mark where the sweep varies one of its keys, or all have their defaults."""
        if text == NOTHING:
            return text
        if any(key in self.swept for key in keys):
            return text + OF_SWEEP
        return text + (OF_DEFAULT if all(key in self.defaults for key in keys) else "")


NOTHING = "-"
OF_DEFAULT, OF_SWEEP = "*", "**"
HEADS = (
    "variant",
    "transport",
    "preset",
    "ports",
    "buffer",
    "bandwidth-delay product",
    "routing",
    "marks data",
    "room for trimmed headers",
)
# Longer names of them for the lines below the table.
IN_FULL = {"bandwidth-delay product": "bandwidth-delay product of the longest path"}
# Number of columns that are always shown, and largest number of columns.
ALWAYS, COLUMNS = 5, 8


def table_of(found: Sequence[InEffect]) -> tuple[list[str], list[list[str]], list[str]]:
    """Heads, a row for each variant, and the notes below them.

    Columns that say the same for all, or that the first one says, are left out: a line is to fit a terminal.
    """
    rows = [one.cells() for one in found]
    kept = [0, 2, 3, 4] if all(one.variant == one.transport for one in found) else [0, 1, 2, 3, 4]
    notes = []
    for index in range(ALWAYS, len(HEADS)):
        cells = [row[index] for row in rows]
        one_column = len(set(cells)) > 1 and index < COLUMNS
        if one_column and _width(rows, [*kept, index]) <= WIDEST:
            kept.append(index)
        elif set(cells) != {NOTHING} and cells:
            text = f"{IN_FULL.get(HEADS[index], HEADS[index])}: {_by_variant(found, cells)}"
            notes += textwrap.wrap(text, WIDEST, subsequent_indent="    ", break_on_hyphens=False)
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
    return [HEADS[i] for i in kept], [[row[i] for i in kept] for row in rows], notes


def _width(rows: Sequence[Sequence[str]], kept: Sequence[int]) -> int:
    """Characters of a row of these columns."""
    return sum(max(len(text) for text in (HEADS[i], *(row[i] for row in rows))) + 2 for i in kept) - 2


def _by_variant(found: Sequence[InEffect], cells: Sequence[str]) -> str:
    """The common text, or each text with the variants that have it."""
    if len(set(cells)) == 1:
        return cells[0]
    of = {cell: [one.variant for one, its in zip(found, cells, strict=True) if its == cell] for cell in cells}
    return "; ".join(f"{cell} ({', '.join(names)})" for cell, names in of.items() if cell != NOTHING)


def in_effect(scenario: Scenario, variant: str | None = None) -> list[InEffect]:
    """Values in effect for each variant, for the requested one, or for a scenario without variants itself; none of a
    model."""
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
    """The longest path of each network and its traffic, which variants mostly share."""

    def __init__(self) -> None:
        self._known: dict[str, Mapping[str, Any] | None] = {}

    def of(self, scenario: Scenario, resolved: Mapping[str, Any]) -> Mapping[str, Any] | None:
        fabric = {key: value for key, value in resolved["fabric"].items() if key in SIZES}
        traffic = [{key: entry[key] for key in entry if key not in CARRIED} for entry in resolved.get("traffic", [])]
        key = json.dumps([resolved["topology"], fabric, traffic, resolved.get("seed")], sort_keys=True)
        if key not in self._known:
            self._known[key] = scenario.longest_path
        return self._known[key]


# Keys that the longest path depends on in addition to the topology and the ends of traffic.
SIZES = ("payload", "header", "framing", "control", "forwarding", "routing")
# Keys of traffic that say how messages are carried, and not between whom.
CARRIED = frozenset({"transport", "class", "share", "clump", "deadline"})


def _of(variant: str, scenario: Scenario, set_keys: set[str], paths: _Longest) -> InEffect:
    resolved = scenario.resolved
    fabric = resolved["fabric"]
    transports = resolved.get("transports") or [resolved["transport"]]
    frame = float(fabric["payload"] + fabric["header"] + fabric["framing"])
    room = parse_bytes(fabric["buffer"], frame) or 0.0
    path = paths.of(scenario, resolved)
    bdp = float(path["bdp_bytes"]) if path else 0.0
    discipline = ports = str(fabric["discipline"])
    if fabric.get("pfc"):
        ports += ", lossless"
    if fabric.get("memory"):
        ports += ", shared memory"
    if fabric.get("at"):
        ports += ", others by [[fabric.at]]"
    swept = scenario.native.swept()
    names = "+".join(dict.fromkeys(str(one["name"]) for one in transports))
    preset = "+".join(dict.fromkeys(str(one.get("preset", NOTHING)) for one in transports))
    marking = MARKINGS.get(discipline)
    of_marks = [f"fabric.{key}" for key in marking.keys] if marking is not None else []
    trims = discipline in TRIMMING
    told = (PRESET, DISCIPLINE, BUFFER, ROUTING, *([HEADERS] if trims else []), *of_marks)
    own = {*set_keys, *swept}
    # Entries of traffic may have transports of their own.
    own |= {PRESET for key in own if OF_ENTRY.match(key)}
    defaults = tuple(key for key in told if not is_given(key, own))
    return InEffect(
        variant or names,
        names,
        preset,
        ports,
        str(fabric["buffer"]),
        room / frame,
        room,
        (parse_bytes(fabric["control_buffer"], frame) or 0.0) if trims else 0.0,
        marking.told(_ports(fabric, frame, room, path)) if marking is not None else NOTHING,
        str(fabric["routing"]),
        bdp / path["packet_bytes"] if path and path["packet_bytes"] else 0.0,
        bdp,
        defaults,
        tuple(key for key in told if key in swept),
    )


def _ports(fabric: Mapping[str, Any], frame: float, room: float, path: Mapping[str, Any] | None) -> Ports:
    rate_bps, rtt_s = (float(path["rate_bps"]), float(path["rtt_s"])) if path else (0.0, 0.0)
    return Ports(fabric, frame, room, rate_bps, rtt_s)


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
        # A transport in the place of another one leaves nothing of it.
        whole = tuple(f"{key}." for key in chosen if key.endswith(".transport"))
        found = {one for one in found if not one.startswith(whole)} | set(_leaves(chosen, ()))
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
    """True if a key, or one that it is a part of or holds, was given."""
    return any(key == one or key.startswith(f"{one}.") for one in given_keys)
