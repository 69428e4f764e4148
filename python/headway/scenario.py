"""A scenario as an object: load it, look at it, run it."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway import _headway, names
from headway.results import Run

Progress = Callable[[dict[str, Any]], bool]


@dataclass(frozen=True)
class Point:
    """One run of a sweep: a variant at one value of every axis, with one seed."""

    label: str
    variant: str
    axes: Mapping[str, Any]
    seed: int
    sets: tuple[str, ...] = field(repr=False)


class Scenario:
    """A scenario with every default filled in; make one with `load` or `from_text`."""

    def __init__(self, native: _headway.Scenario, path: Path | None = None) -> None:
        self._native = native
        self.path = path

    @classmethod
    def load(
        cls, name: str | Path, *, sets: Mapping[str, Any] | Sequence[str] = (), scale: str | None = None
    ) -> Scenario:
        """The scenario at a path, or with this name or unique prefix (`amrt/fig01`).

        `sets` overrides keys: `{"transport.name": "phost"}` or `["transport.name=phost"]`. Raises `ScenarioError`
        for what is wrong inside the file and `HeadwayError` for a name that is not there.
        """
        file = names.resolve(str(name))
        return cls(_headway.Scenario.load(str(file.path), assignments(sets), scale), file.path)

    @classmethod
    def from_text(
        cls,
        text: str,
        name: str = "text",
        *,
        sets: Mapping[str, Any] | Sequence[str] = (),
        scale: str | None = None,
    ) -> Scenario:
        """A scenario written in a string; `name` stands for the file in messages."""
        return cls(_headway.Scenario.from_text(text, name, assignments(sets), scale))

    @property
    def name(self) -> str:
        """Its name, as `amrt/fig01-multi-bottleneck`."""
        return names.resolve(str(self.path)).name if self.path else self._native.name

    @property
    def title(self) -> str:
        """One line of what it shows."""
        return self._native.title

    @property
    def paper(self) -> str:
        """The publication it reproduces, if any."""
        return self._native.paper

    @property
    def seed(self) -> int:
        """The seed of every random stream of the run."""
        return self._native.seed

    @property
    def digest(self) -> str:
        """Identifies the run: version, resolved scenario and seed."""
        return self._native.digest()

    @property
    def resolved(self) -> dict[str, Any]:
        """The scenario with every default."""
        return dict(json.loads(self._native.resolved_json()))

    @property
    def report(self) -> dict[str, Any]:
        """What the scenario asks its report to draw."""
        return dict(json.loads(self._native.report_json()))

    @property
    def topology(self) -> dict[str, Any]:
        """Nodes and links, laid out for drawing."""
        return dict(json.loads(self._native.topology_json()))

    @property
    def estimate(self) -> dict[str, Any]:
        """Hosts, links, flows and bytes of memory that a run needs."""
        return self._native.estimate()

    def points(self) -> list[Point]:
        """The runs of its sweep; one if it sweeps nothing."""
        return [
            Point(p["label"], p["variant"], dict(p["axes"]), p["seed"], tuple(p["sets"])) for p in self._native.points()
        ]

    def run(
        self,
        out: str | Path | None = None,
        *,
        progress: Progress | None = None,
        csv: bool = False,
        capture: str | Path | None = None,
        capture_links: Sequence[str] = (),
    ) -> Run:
        """Run it; with `out`, also write the run directory. `progress` may return False to stop early.

        `capture` is a pcapng file to write, of every packet as it starts on a link: on those of `capture_links`
        (`["s0->s1"]`), or on all.
        """
        directory = str(out) if out is not None else None
        file = str(capture) if capture is not None else None
        result = self._native.run(directory, progress, csv, file, list(capture_links))
        return Run(Path(out) if out is not None else None, result)

    def __repr__(self) -> str:
        return f"<Scenario {self.name}: {self.title}>"

    def _repr_html_(self) -> str:
        estimate = self.estimate
        facts = {
            "hosts": estimate["hosts"],
            "links": estimate["links"],
            "flows": estimate["flows"],
            "seed": self.seed,
            "digest": self.digest[:12],
        }
        rows = "".join(f"<tr><th>{key}</th><td>{html.escape(str(value))}</td></tr>" for key, value in facts.items())
        return f"<div><b>{html.escape(self.name)}</b> {html.escape(self.title)}<table>{rows}</table></div>"


def assignments(sets: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """Overrides in the form the native module takes, `key=value` with a TOML value."""
    if isinstance(sets, Mapping):
        return [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in sets.items()]
    return list(sets)
