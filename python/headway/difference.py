"""First difference of two runs: the first event that is not the same, and the keys of their scenarios that are not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway import _headway
from headway.data.jsonable import Jsonable, preformatted
from headway.data.nested import flat
from headway.data.run import read
from headway.errors import ResultsError
from headway.loading import Scenario

Event = dict[str, Any]


@dataclass(frozen=True)
class Side:
    """A scenario to run, and the manifest of the run that was made of it."""

    name: str
    native: _headway.Scenario
    recorded: dict[str, Any] | None = None

    @property
    def resolved(self) -> dict[str, Any]:
        """The scenario with every default filled in, without its name and title."""
        keys: dict[str, Any] = json.loads(self.native.resolved_json())
        for key in ("name", "title", "description", "paper", "report"):
            keys.pop(key, None)
        return keys


@dataclass(frozen=True)
class Difference(Jsonable):
    """Result of a comparison of two runs."""

    left: Side
    right: Side
    keys: dict[str, tuple[Any, Any]]
    """Keys of the resolved scenarios that differ, with both values; `None` where a side lacks one."""
    events: tuple[int, int]
    order_digests: tuple[str, str]
    first: dict[str, Any] | None
    """The first event that differs: `number`, `before`, `left`, `right`, `differs`; `None` if no event differs."""

    @property
    def stale(self) -> list[Side]:
        """Runs on record whose events came in another order than this build's."""
        pairs = zip((self.left, self.right), self.order_digests, strict=True)
        return [
            side
            for side, digest in pairs
            if side.recorded is not None
            and not side.recorded.get("interrupted")
            and side.recorded.get("order_digest") != digest
        ]

    @property
    def same(self) -> bool:
        """True if the runs are the same event by event, also those on record."""
        return self.first is None and not self.stale

    def _repr_html_(self) -> str:
        return preformatted(lines(self))

    def document(self) -> dict[str, Any]:
        """All of it, for another program."""
        return {
            "left": self.left.name,
            "right": self.right.name,
            "same": self.same,
            "keys": {key: list(values) for key, values in self.keys.items()},
            "events": list(self.events),
            "order_digests": list(self.order_digests),
            "made_by_another_build": [side.name for side in self.stale],
            "first_difference": self.first,
        }


def side(run: str | Path, sets: Sequence[str] = ()) -> Side:
    """A run directory, or a scenario by path or name; `sets` override keys of it."""
    path = Path(run)
    if not path.is_dir():
        scenario = Scenario.load(run, sets=list(sets))
        return Side(str(run), scenario.native)
    manifest = read(path).manifest
    where = path / "manifest.json"
    if manifest.get("testbed") is not None:
        raise ResultsError(where, "a run on real packets cannot be repeated event by event; name its scenario instead")
    written = manifest.get("written")
    if written is None:
        raise ResultsError(where, "does not say what was run; a run by this version of Headway does")
    native = _headway.Scenario.from_text(
        written["text"], written["name"], written["sets"], written["scale"], written["folder"]
    )
    if native.digest() != manifest["digest"]:
        raise ResultsError(
            where,
            f"the scenario is not the one that was run: a file that it names in {written['folder']}, "
            "or a default of Headway, has changed since",
        )
    return Side(str(run), native.with_sets(list(sets)) if sets else native, None if sets else manifest)


def diff(left: Side, right: Side, go_on: Callable[[], bool] = lambda: True) -> Difference | None:
    """Run both and compare every event; `None` if `go_on` answered False on the way."""
    answer = left.native.diff(right.native, go_on)
    if answer is None:
        return None
    found = json.loads(answer)
    ours, theirs = dict(flat(left.resolved)), dict(flat(right.resolved))
    keys = {key: (ours.get(key), theirs.get(key)) for key in [*ours, *theirs] if ours.get(key) != theirs.get(key)}
    events, digests = found["events"], found["order_digests"]
    return Difference(left, right, keys, (events[0], events[1]), (digests[0], digests[1]), found["difference"])


def lines(found: Difference) -> Iterator[str]:
    """Result in lines, for a person."""
    for one in found.stale:
        recorded = one.recorded or {}
        yield (
            f"{one.name}: was made by another build ({recorded.get('version')}, commit {recorded.get('commit')}), "
            "whose events came in another order; both runs below are of this build"
        )
    if found.keys:
        count = len(found.keys)
        yield f"the scenarios differ in {count} key{'s' if count > 1 else ''}"
        yield from (f"  {key}: {_value(ours)} | {_value(theirs)}" for key, (ours, theirs) in found.keys.items())
    first = found.first
    if first is None:
        yield f"no event differs: {found.events[0]} events, order digest {found.order_digests[0]}"
        return
    yield f"event {first['number']} is the first that differs"
    for name, event in [*(("both", event) for event in first["before"]), ("left", first["left"])]:
        yield _event(name, event)
    yield _event("right", first["right"])
    if first["differs"]:
        yield "  the packets differ in:"
        yield from (f"    {_named(one)}: {one['left']} | {one['right']}" for one in first["differs"])


def _named(one: dict[str, str]) -> str:
    """Name of a field in the protocol, with its meaning and its unit."""
    meaning, name = one["meaning"], one["name"].replace("_", " ")
    # An abbreviation at its beginning stays as it is.
    words = meaning if meaning[:2].isupper() else meaning[:1].lower() + meaning[1:]
    return f"{name} ({words})" if words else name


def _event(name: str, event: Event | None) -> str:
    if event is None:
        return f"  {name:5}  the run is over"
    text = f"  {name:5}  {event['at']:>16}  {event['place']}: {event['kind']}"
    packet = event["packet"]
    if packet is None:
        return text
    said = ", ".join(f"{one['name'].replace('_', ' ')} {one['value']}" for one in packet["says"])
    return (
        f"{text}: {packet['kind']} of flow {packet['flow']}, message {packet['message']} from {packet['src']} to "
        f"{packet['dst']}, {packet['wire_bytes']} B, ECN {packet['ecn']}{': ' if said else ''}{said}"
    )


def _value(value: object) -> str:
    return "not there" if value is None else json.dumps(value, ensure_ascii=False)
