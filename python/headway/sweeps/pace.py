"""What runs cost on this machine: measured by every run, kept beside the store of runs in `pace.json`.

By scenario and transport, and by transport alone for scenarios that were never run here. The last runs count most, so
that a machine that is busy now is known as busy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway import store
from headway.data.reader import glance
from headway.errors import HeadwayError
from headway.files import write_json
from headway.scenario import Scenario

PACE_FILE = "pace.json"
# How much of an average the last run is.
NEWEST = 0.3
# An entry is written anew if it moves by this share.
MOVED = 0.05
# Every scenario, in the file.
ANY = "*"


@dataclass(frozen=True)
class Pace:
    """What a run costs: seconds an expected packet-hop, seconds on top, and bytes of its files.

    `hops` is what a run has on average, the last runs counting most: how much `hop_s` is known from.
    """

    hop_s: float
    extra_s: float
    bytes: float
    hops: float = 1.0

    @classmethod
    def of(cls, entry: Any) -> Pace | None:  # noqa: ANN401  (what JSON holds)
        """From the file; none if it holds nothing of the kind."""
        with suppress(TypeError, KeyError, ValueError):
            hop_s, extra_s, files = (float(entry[name]) for name in ("hop_s", "extra_s", "bytes"))
            return cls(hop_s, extra_s, files, float(entry.get("hops", 1.0)))
        return None

    def with_run(self, run: Pace) -> Pace:
        """The average, once another run is in it.

        Seconds and hops are averaged each for itself. What a run of a few hops takes is not its hops' doing, and a
        mean of the seconds a hop of small and of large runs would be that of the small ones.
        """
        hops = _towards(self.hops, run.hops)
        seconds = _towards(self.hops * self.hop_s, run.hops * run.hop_s)
        return Pace(seconds / hops, _towards(self.extra_s, run.extra_s), _towards(self.bytes, run.bytes), hops)

    def moved(self, other: Pace) -> bool:
        """Whether another is so far from it that it is worth writing down."""
        return any(abs(a - b) > MOVED * abs(a) for a, b in zip(self._all(), other._all(), strict=True))

    def json(self) -> dict[str, float]:
        """As the file holds it."""
        return {"hop_s": self.hop_s, "extra_s": self.extra_s, "bytes": self.bytes, "hops": self.hops}

    def _all(self) -> tuple[float, float, float]:
        return self.hop_s, self.extra_s, self.bytes


def _towards(old: float, new: float) -> float:
    return old + NEWEST * (new - old)


# Where nothing was measured yet: a middling machine, a run without samples.
GUESS = Pace(hop_s=2e-7, extra_s=0.05, bytes=50_000)


def learn(scenario: Scenario, elapsed_s: float, wall_s: float, files: Path) -> None:
    """Remember what a run took: `elapsed_s` in all, `wall_s` of it for the simulation."""
    path = _path()
    if path is None:
        return
    hops = max(1, scenario.native.expected_hops())
    stored = sum(file.stat().st_size for file in files.iterdir() if file.is_file())
    run = Pace(wall_s / hops, max(0.0, elapsed_s - wall_s), float(stored), float(hops))
    transport = transport_of(scenario)
    paces = known()
    changed = False
    for key in (f"{scenario.name} {transport}", f"{ANY} {transport}"):
        old = Pace.of(paces.get(key))
        new = run if old is None else old.with_run(run)
        if old is None or old.moved(new):
            paces[key] = new.json()
            changed = True
    if changed:
        # A forecast is worth no error: the run itself is finished.
        with suppress(OSError, HeadwayError):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, paces)


def transport_of(scenario: Scenario) -> str:
    """The transport that a run is of."""
    return str(json.loads(scenario.native.resolved_json()).get("transport", {}).get("name", ANY))


def _path() -> Path | None:
    root = store.directory()
    return None if root is None else root / PACE_FILE


def known() -> dict[str, Any]:
    """What is known here; empty without a store."""
    path = _path()
    value = glance(path) if path is not None else None
    return dict(value) if isinstance(value, dict) else {}


def pace(paces: Mapping[str, Any], name: str, transport: str) -> Pace | None:
    """Of the scenario, else of the transport, else of any transport."""
    for key in (f"{name} {transport}", f"{ANY} {transport}"):
        if (found := Pace.of(paces.get(key))) is not None:
            return found
    return _mean(found for found in map(Pace.of, paces.values()) if found is not None)


def _mean(paces: Iterable[Pace]) -> Pace | None:
    known = list(paces)
    if not known:
        return None
    count = len(known)
    return Pace(*(sum(values) / count for values in zip(*((p.hop_s, p.extra_s, p.bytes) for p in known), strict=True)))
