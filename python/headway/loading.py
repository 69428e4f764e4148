"""A scenario as an object: load it, look at it, run it."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from headway import _headway, names, store
from headway.data.machine import cores
from headway.data.point import Point
from headway.data.run import Run
from headway.data.toml import Document, apply, assignment, parsed, write, write_value
from headway.directories import clear_run, inputs_of, prepare_run
from headway.errors import HeadwayError, NameNotFound
from headway.files import keep_inputs
from headway.inputs import read_text
from headway.own import PLACE, named_in
from headway.progress import of_run
from headway.reporting.table import check_report
from headway.transport import Factory, all_declared

Progress = Callable[[dict[str, Any]], bool]

# More parts than this no network is divided into.
MOST_THREADS = 128

Threads = int | Literal["auto"]


@dataclass(frozen=True)
class _Written:
    """Sources of a scenario: its text, the name of that in messages, overrides, scale, and where paths begin.

    `title` is what the scenario itself is called, `transports` are those written in Python that it may name.
    """

    name: str
    text: str
    sets: Sequence[str]
    scale: str | None
    folder: Path
    title: str
    transports: Mapping[str, Factory] = field(default_factory=dict)

    def native(self, text: str | None = None) -> _headway.Scenario:
        """Native scenario of it, or of another text without overrides and scale."""
        own = all_declared(self.transports)
        if text is not None:
            return _headway.Scenario.from_text(text, self.title, [], None, str(self.folder), own)
        return _headway.Scenario.from_text(self.text, self.title, list(self.sets), self.scale, str(self.folder), own)

    def check_report(self, native: _headway.Scenario) -> None:
        """Raise `ScenarioError` for keys of the `[report]` table that no report understands."""

        def resolved() -> dict[str, Any]:
            return dict(json.loads(native.resolved_json()))

        if report := json.loads(native.report_json()):
            check_report(report, Document(self.name, self.text), self.sets, native.swept, native.variants, resolved)


class Scenario:
    """A scenario with every default filled in; make one with `load` or `from_text`."""

    def __init__(self, native: _headway.Scenario, written: _Written, path: Path | None = None) -> None:
        self._native = native
        self._written = written
        self.path = path

    @classmethod
    def load(
        cls,
        name: str | Path,
        *,
        sets: Mapping[str, Any] | Sequence[str] = (),
        scale: str | None = None,
        transports: Mapping[str, Factory] | None = None,
    ) -> Scenario:
        """The scenario at a path, or with this name or unique prefix (`amrt/fig01`).

        `sets` overrides keys: `{"transport.name": "phost"}` or `["transport.name=phost"]`. `transports` are classes
        made from `headway.Transport`, by the names that the scenario has for them; a scenario may also name one by
        its file, `mine.py:Srpt`. Raises `ScenarioError`
        for what is wrong inside the file and `HeadwayError` for a name that is not there.
        """
        overrides = assignments(sets)
        file = names.resolve(str(name))
        text = _text_of(file.path)
        own = {**named_in(text, overrides, file.path.parent), **(transports or {})}
        native = _headway.Scenario.load(str(file.path), overrides, scale, all_declared(own))
        text = read_text(file.path)
        written = _Written(str(file.path), text, overrides, scale, file.path.parent.absolute(), file.path.stem, own)
        written.check_report(native)
        return cls(native, written, file.path)

    @classmethod
    def from_text(
        cls,
        text: str,
        name: str = "text",
        *,
        sets: Mapping[str, Any] | Sequence[str] = (),
        scale: str | None = None,
        folder: str | Path | None = None,
        transports: Mapping[str, Factory] | None = None,
    ) -> Scenario:
        """A scenario written in a string; `name` stands for the file in messages.

        Relative paths in it begin at `folder`, which is the working directory if there is none. `transports` are
        classes made from `headway.Transport`, by the names that the scenario has for them.
        """
        overrides = assignments(sets)
        own = {**named_in(text, overrides, Path(folder or "")), **(transports or {})}
        where = None if folder is None else str(folder)
        native = _headway.Scenario.from_text(text, name, overrides, scale, where, all_declared(own))
        written = _Written(name, text, overrides, scale, Path(folder or "").absolute(), name, own)
        written.check_report(native)
        return cls(native, written)

    @property
    def native(self) -> _headway.Scenario:
        """The scenario of the native module."""
        return self._native

    @property
    def name(self) -> str:
        """Its name, as `amrt/fig01-multi-bottleneck`."""
        return names.resolve(str(self.path)).name if self.path else self._native.name

    @property
    def title(self) -> str:
        """Its content in one line."""
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
    def text(self) -> str:
        """The text that it was read from or built as, without its overrides; `to_toml` has them."""
        return self._written.text

    @property
    def folder(self) -> Path:
        """Folder in which relative paths in its text begin."""
        return self._written.folder

    @property
    def sets(self) -> tuple[str, ...]:
        """The overrides that it was loaded with, `key=value`."""
        return tuple(self._written.sets)

    @property
    def scale(self) -> str | None:
        """The scale that it was loaded with."""
        return self._written.scale

    @property
    def digest(self) -> str:
        """Identifies the run: version, resolved scenario and seed."""
        return self._native.digest()

    @property
    def resolved(self) -> dict[str, Any]:
        """The scenario with every default."""
        return dict(json.loads(self._native.resolved_json()))

    @cached_property
    def settled(self) -> Mapping[str, Any]:
        """The scenario with every default, read once: for callers that ask often and change nothing in it."""
        return self.resolved

    @property
    def shares_transport(self) -> bool:
        """True if it has a `[transport]` table, for traffic that names none of its own."""
        written = [*self._written.sets, *parsed(self._written.text)]
        return any(key.partition("=")[0].partition(".")[0].strip() == "transport" for key in written)

    @property
    def report(self) -> dict[str, Any]:
        """Wishes of the scenario for its report."""
        return dict(json.loads(self._native.report_json()))

    @property
    def topology(self) -> dict[str, Any]:
        """Nodes and links, laid out for drawing."""
        return dict(json.loads(self._native.topology_json()))

    @property
    def estimate(self) -> dict[str, Any]:
        """Hosts, links, flows and bytes of memory that a run needs."""
        return self._native.estimate()

    @property
    def warnings(self) -> list[str]:
        """Warnings before it is run: a load that no link can carry, a transport in a network not meant for it.

        That is of the scenario without its variants, as `run` runs it; of each point, ask `at(point).warnings`.
        """
        return self._native.warnings()

    @cached_property
    def longest_path(self) -> dict[str, float] | None:
        """Round trip, delay, rate and more of the longest path among its flows; `None` without flows."""
        return self._native.longest_path()

    @property
    def run_length(self) -> dict[str, Any] | None:
        """Time for which messages arrive at random, and the time that a steady state would need.

        None without such arrivals, and where several load different links. `load` is that of the links that are loaded
        most. `relaxation_s` is the time in which their queues forget that they were empty; None where the load is not
        less than they carry. `missing` is the share of the mean queue of the steady state that the measured messages
        miss at most, about. `advised_warmup_s` and `advised_arrivals_s` are what would do.
        """
        return self._native.run_length()

    def to_toml(self) -> str:
        """The scenario as the text of a file, from which `load` makes the same scenario.

        Without overrides, that is the text that it was made from. With them, or with a scale, their values stand in
        it, and comments are lost. Relative paths in it begin at the folder of the file.
        """
        if not self._written.sets and self._written.scale is None:
            return self._written.text
        document = Document(self._written.name, self._written.text).value
        scaled = document.get("scale", {}).get(self._written.scale, {}) if self._written.scale else {}
        for sets in (list(scaled.items()), [assignment(one) for one in self._written.sets]):
            document = apply(document, sets)
        text = write(document)
        again = self._written.native(text)
        if (again.digest(), _listed(again)) != (self.digest, self._points):
            raise HeadwayError(f"{self.name}: with these overrides, it cannot be written as one file")
        return text

    def __reduce__(self) -> tuple[Callable[..., Scenario], tuple[Any, ...]]:
        """For `pickle`: its text and overrides, so that a process elsewhere needs no file but those that it names."""
        return _unpickled, (self._written, self.path)

    @property
    def own_classes(self) -> dict[str, Factory]:
        """Transports that it was given as classes, by their names in it."""
        return {name: one for name, one in self._written.transports.items() if not PLACE.fullmatch(name)}

    @property
    def own_transports(self) -> list[str]:
        """The transports in it that are written in Python."""
        return self._native.own_transports()

    def refuse_own(self, what: str, help: str) -> None:
        """Raise `HeadwayError` for a scenario with a transport that is written in Python, which cannot do `what`."""
        if own := self.own_transports:
            raise HeadwayError(f"transport `{own[0]}` is written in Python, and {what}: {help}")

    def export_flows(self, format: str) -> str:
        """Its flows as text: `cm`, an htsim connection matrix, or `csv`, which `kind = "file"` reads back."""
        return self._native.export_flows(format)

    def points(self, *, checked: bool = True) -> list[Point]:
        """The runs of its sweep; one if it sweeps nothing.

        Raises `ScenarioError` if one of them cannot be, unless `checked` is False: then `at` raises for that one alone.
        """
        if checked:
            _ = self._checked
        return list(self._points)

    @cached_property
    def _checked(self) -> bool:
        self._native.check_points()
        return True

    @cached_property
    def _points(self) -> tuple[Point, ...]:
        return _listed(self._native)

    def at(self, point: Point | str) -> Scenario:
        """The scenario as one of its `points`, by itself or by its label.

        >>> [scenario.at(point).run() for point in scenario.points() if point.variant == "amrt"]
        >>> scenario.at("amrt,load=0.7,seed=2").run()

        Raises `NameNotFound`, a `HeadwayError`, for a label that no point has.
        """
        if isinstance(point, str):
            labels = {one.label: one for one in self.points(checked=False)}
            if point not in labels:
                raise NameNotFound("point", point, labels, "all labels: [point.label for point in scenario.points()]")
            point = labels[point]
        native = self._native.with_sets(list(point.sets))
        written = replace(self._written, sets=[*self._written.sets, *point.sets])
        if native.report_json() != self._native.report_json():
            written.check_report(native)
        return Scenario(native, written, self.path)

    def variant(self, name: str) -> Scenario:
        """The scenario with the keys that one of its variants sets, and its own values of swept keys and of the seed.

        Raises `ScenarioError` for a name that no variant has, and for an override that the variant sets again.
        """
        native = self._native.with_variant(name)
        return Scenario(native, self._written, self.path)

    def run(
        self,
        out: str | Path | None = None,
        *,
        progress: Progress | bool | None = None,
        csv: bool = False,
        overwrite: bool = False,
        capture: str | Path | None = None,
        capture_links: Sequence[str] = (),
        stored: bool = True,
        threads: Threads = 1,
        or_one: bool = False,
    ) -> Run:
        """Run it; with `out`, also write the run directory.

        `progress` is told how far the run is, and may return False to stop it early. Without it, a notebook shows a
        bar; True prints lines elsewhere, too, and False shows nothing.

        This is one run, of the scenario without its variants and sweep; `at` gives those.

        A directory that holds the results of another run, or a sweep, is refused with a `ResultsError` unless
        `overwrite` is true. What an earlier run left there and this one does not write is taken away.
        `capture` is a pcapng file to write, of every packet as it starts on a link: on those of `capture_links`
        (`["s0->s1"]`), or on all.

        With `out`, a run that is in the store is taken from there, and one that is not is kept there, unless `stored`
        is false. One with a CSV table or a capture is made in any case. `Run.reused` says which it was.

        `threads` share the run; `"auto"` is one for each core. With `"auto"` or `or_one` the first windows are
        measured, and one thread makes the run where they are no slower on it. Results are the same to the byte for any
        number.

        A run with a transport that is written in Python has one thread, and is never taken from the store or kept
        there. An exception in the transport ends the run with a `HeadwayError` that shows its traceback.
        """
        count, or_one = thread_count(threads), or_one or threads == "auto"
        if self.own_transports:
            if threads == "auto":
                count = 1
            elif count > 1:
                self.refuse_own("such a run has one thread", "leave `threads` out")
            stored = False
        told = progress if callable(progress) else of_run(self.name, progress)
        file = str(capture) if capture is not None else None
        if capture is not None:
            keep_inputs([Path(capture)], inputs_of(self.path, self.resolved))
        if out is None:
            return Run(None, self._native.run(None, told, csv, file, list(capture_links), count, or_one))
        inputs = inputs_of(self.path, self.resolved)
        prepare_run(out, self.digest, inputs=inputs, overwrite=overwrite)
        if stored and not csv and capture is None and store.has(self.digest):
            clear_run(Path(out))
            if store.take(self._native, Path(out)):
                return Run(Path(out), reused=True)
        run = Run(Path(out), self._native.run(str(out), told, csv, file, list(capture_links), count, or_one))
        if stored and not run.interrupted:
            run.note = store.keep(self._native, Path(out), _headway.version())
        return run

    def scaling(self, threads: Sequence[int] = (2, 4, 8, 16, 32, 64)) -> dict[str, Any]:
        """Gain of more threads for its run, estimated from the events in each part of the network.

        The run is made once for each number. Of the answer, `threads` has a row for each with the estimated `speedup`
        and its `limit`; docs/scaling.md says how it is made.
        """
        self.refuse_own("such a run has one thread", "there is nothing to estimate")
        return dict(json.loads(self._native.scaling_json([thread_count(number) for number in threads])))

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


def _text_of(path: Path) -> str:
    """The text of a file; empty where it cannot be read, as the native module says better."""
    try:
        return read_text(path)
    except (OSError, HeadwayError):
        return ""


def _listed(native: _headway.Scenario) -> tuple[Point, ...]:
    """The points of a sweep, taken over in parts: there may be a million, and each is there twice meanwhile."""
    found: list[Point] = []
    while part := native.points(len(found), 10_000):
        found.extend(Point(*one) for one in part)
    return tuple(found)


def _unpickled(written: _Written, path: Path | None) -> Scenario:
    """The scenario that was pickled."""
    return Scenario(written.native(), written, path)


def thread_count(threads: Threads) -> int:
    """A number of threads; of `"auto"`, the cores that this process may use."""
    if threads == "auto":
        return cores()
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        raise ValueError(f"threads is a number from 1 to {MOST_THREADS} or 'auto', not {threads!r}")
    return threads


def assignments(sets: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """Overrides in the form the native module takes, `key=value` with a TOML value."""
    if isinstance(sets, str | bytes):
        raise TypeError(f"sets takes a dict or a list of 'key=value', not the text {sets!r}: write sets=[{sets!r}]")
    if isinstance(sets, Mapping):
        return [f"{key}={write_value(value)}" for key, value in sets.items()]
    overrides = list(sets)
    for item in overrides:
        if not isinstance(item, str):
            raise TypeError(f"sets takes texts 'key=value', not {item!r}; for pairs write a dict, {{key: value}}")
    return overrides
