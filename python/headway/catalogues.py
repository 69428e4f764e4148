"""Names for scenarios, the scenarios that are there, and the claims of their papers: `headway.catalogue`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, overload

from headway import _headway, names
from headway.claims.ledger import known_claims
from headway.data.claims import ListedClaim
from headway.data.jsonable import Jsonable, plain, table
from headway.data.schema import numbers_of, schema
from headway.errors import HeadwayError, nearest
from headway.explaining.record import listed
from headway.reporting.summaries import BANDS, OF_BANDS

# Lists of the native module.
NATIVE = ("transports", "topologies", "traffic", "workloads", "disciplines", "models")
THINGS = (*NATIVE, "figures", "examples", "claims", "numbers")


@dataclass(frozen=True)
class Parameter:
    """A key that a thing takes: its default as JSON has it, and the words it may be if it is a choice."""

    name: str
    kind: str
    default: Any
    doc: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Probe:
    """A value that a transport can be sampled for."""

    name: str
    unit: str
    label: str
    doc: str


@dataclass(frozen=True)
class Named(Jsonable):
    """Something that a scenario names. `facts` is the content of its JSON: more than the fields here for some kinds."""

    name: str
    summary: str
    paper: str
    parameters: tuple[Parameter, ...]
    facts: Mapping[str, Any] = field(repr=False)

    def document(self) -> Mapping[str, Any]:
        """Everything that is declared about the entry."""
        return self.facts


@dataclass(frozen=True)
class Deployment(Jsonable):
    """Needs of a transport in a real network: of switches and hosts, and its effect next to others.

    `here` says where it runs on real hosts with Headway, and `lacks` what each kind of network does not have for it.
    """

    switches: tuple[str, ...]
    hosts: tuple[str, ...]
    here: tuple[str, ...]
    neighbours: str
    lacks: Mapping[str, tuple[str, ...]]

    @classmethod
    def read(cls, facts: Mapping[str, Any]) -> Deployment:
        """As the native module declares it."""
        lacks = {name: tuple(words) for name, words in facts["lacks"].items()}
        switches, hosts, here = (tuple(map(str, facts[key])) for key in ("switches", "hosts", "here"))
        return cls(switches, hosts, here, str(facts["neighbours"]), lacks)


@dataclass(frozen=True)
class TransportEntry(Named):
    """A transport: the discipline it is designed for, its needs, and its deviations from its paper."""

    discipline: str
    needs: tuple[str, ...]
    deviations: tuple[str, ...]
    probes: tuple[Probe, ...]
    deployment: Deployment


@dataclass(frozen=True)
class DisciplineEntry(Named):
    """A port discipline: its changes to packets, and its needs of a driver."""

    rewrites: tuple[str, ...]
    needs: tuple[str, ...]


@dataclass(frozen=True)
class TrafficEntry(Named):
    """A pattern of traffic, and how long it takes alone in the network: a formula, and its letters in words."""

    form: str
    form_words: str


@dataclass(frozen=True)
class WorkloadEntry(Named):
    """A distribution of flow sizes. `published_mean_bytes` is None where its source gives none."""

    interpolation: str
    mean_bytes: float
    published_mean_bytes: float | None
    min_bytes: float
    max_bytes: float


@dataclass(frozen=True)
class ScenarioEntry(Jsonable):
    """A scenario: a figure of a paper, or an example. One that is not `readable` has only its name."""

    name: str
    title: str
    paper: str
    readable: bool


@dataclass(frozen=True)
class NumberEntry(Jsonable):
    """A number of a run's summary, by its name in `compare --of`, `report.y` and `measure`."""

    name: str
    unit: str
    summary: str


Entry = TypeVar("Entry", bound=Jsonable, covariant=True)


@dataclass(frozen=True)
class Catalogue(Jsonable, Generic[Entry]):
    """A list of things of one kind, in the order of `headway list`."""

    thing: str
    entries: tuple[Entry, ...]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, place: int) -> Entry:
        return self.entries[place]

    def document(self) -> Any:  # noqa: ANN401  (what JSON holds)
        """A list, as `headway list --json` prints it."""
        return plain(self.entries)

    def __repr__(self) -> str:
        shown = ", ".join(str(one) for one in self._names())
        return f"<{len(self.entries)} {self.thing}: {shown}>"

    def _names(self) -> list[str]:
        return [getattr(one, "name", "") or getattr(one, "id", "") for one in self.entries]

    def _repr_html_(self) -> str:
        if self.thing == "claims":
            claims = (one for one in self.entries if isinstance(one, ListedClaim))
            rows = [(one.id, one.verdict, one.reading_word, one.reason or "") for one in claims]
            return table(("claim", "verdict", "reading", "reason"), rows)
        about = [getattr(one, "summary", "") or getattr(one, "title", "") for one in self.entries]
        papers = [getattr(one, "paper", "") for one in self.entries]
        return table(("name", "", "paper"), list(zip(self._names(), about, papers, strict=True)))


@overload
def catalogue(thing: Literal["transports"], name: str | None = None) -> Catalogue[TransportEntry]: ...
@overload
def catalogue(thing: Literal["disciplines"], name: str | None = None) -> Catalogue[DisciplineEntry]: ...
@overload
def catalogue(thing: Literal["traffic"], name: str | None = None) -> Catalogue[TrafficEntry]: ...
@overload
def catalogue(thing: Literal["workloads"], name: str | None = None) -> Catalogue[WorkloadEntry]: ...
@overload
def catalogue(thing: Literal["topologies", "models"], name: str | None = None) -> Catalogue[Named]: ...
@overload
def catalogue(thing: Literal["figures", "examples"], name: str | None = None) -> Catalogue[ScenarioEntry]: ...
@overload
def catalogue(thing: Literal["claims"], name: str | None = None) -> Catalogue[ListedClaim]: ...
@overload
def catalogue(thing: Literal["numbers"], name: str | None = None) -> Catalogue[NumberEntry]: ...
@overload
def catalogue(thing: str, name: str | None = None) -> Catalogue[Jsonable]: ...


def catalogue(thing: str, name: str | None = None) -> Catalogue[Jsonable]:
    """The lists of `headway list`: transports with their parameters, scenarios, claims and others.

    >>> [one.name for one in headway.catalogue("transports")]

    With `name`, those of that name, or else those whose name begins so or holds it. Raises `HeadwayError` if there
    are none, and for a list that there is not.
    """
    if thing not in THINGS:
        raise HeadwayError(f"there is no list of {thing!r}; there are: {', '.join(THINGS)}")
    if thing == "claims":
        return Catalogue(thing, tuple(_claims(name)))
    entries: list[TransportEntry | DisciplineEntry | TrafficEntry | WorkloadEntry | Named | ScenarioEntry | NumberEntry]
    if thing in NATIVE:
        entries = [_entry(thing, facts) for facts in json.loads(_headway.catalogue(thing))]
    elif thing == "numbers":
        entries = list(_numbers())
    else:
        known = names.known_scenarios()
        entries = [one for one in _scenarios(known) if _is_figure(one, known) == (thing == "figures")]
    if name is not None:
        wanted = _named(thing, name, [(one.name,) for one in entries])
        entries = [one for one in entries if (one.name,) in wanted]
    return Catalogue(thing, tuple(entries))


def _entry(thing: str, facts: Mapping[str, Any]) -> Named:
    """An entry of a list of the native module."""
    base: dict[str, Any] = {
        "name": facts["name"],
        "summary": facts["summary"],
        "paper": facts["paper"],
        "parameters": tuple(map(_parameter, facts["params"])),
        "facts": facts,
    }
    match thing:
        case "transports":
            return TransportEntry(
                **base,
                discipline=facts["discipline"],
                needs=tuple(facts["needs"]),
                deviations=tuple(facts["deviations"]),
                probes=tuple(Probe(one["name"], one["unit"], one["label"], one["doc"]) for one in facts["probes"]),
                deployment=Deployment.read(facts["deployment"]),
            )
        case "disciplines":
            return DisciplineEntry(**base, rewrites=tuple(facts["rewrites"]), needs=tuple(facts["needs"]))
        case "traffic":
            return TrafficEntry(**base, form=facts["form"], form_words=facts["form_words"])
        case "workloads":
            keys = ("interpolation", "mean_bytes", "published_mean_bytes", "min_bytes", "max_bytes")
            return WorkloadEntry(**base, **{key: facts[key] for key in keys})
        case _:
            return Named(**base)


def _numbers() -> Iterator[NumberEntry]:
    """Every number of a summary, as it is named from outside."""
    declared = schema()
    tables = {"summary": "", "round_trips": "round_trips.", "jobs": "jobs.0.", "rounds": "jobs.0.rounds."}
    for kind, start in tables.items():
        for name in numbers_of(kind):
            yield NumberEntry(start + name, declared[kind][name].unit, declared[kind][name].doc)
    for key, words, *_ in BANDS:
        for name in OF_BANDS:
            field = declared["summary"][name]
            yield NumberEntry(f"by_size.bands.{key}.{name}", field.unit, f"of flows of {words}: {field.doc}")
    for name, field in declared["gauges"].items():
        for part, of in declared["gauge_parts"].items():
            yield NumberEntry(f"gauges.{name}.{part}", field.unit, f"{of.doc}: {field.doc}")
    for start, unit, what in (("", "s", "completion times"), ("slowdown_", "1", "slowdowns")):
        for part in ("mean", "median", "p95", "p99", "p99.9", "max"):
            for which, flows in (("<=64kB", "of at most so many bytes"), ("10kB..1MB", "of these sizes")):
                yield NumberEntry(f"{start}{part}[{which}]", unit, f"{part} of the {what} of flows {flows}; any sizes")
            yield NumberEntry(f"{start}{part}[NAME]", unit, f"{part} of the {what} of flows of that class or transport")


def _parameter(facts: Mapping[str, Any]) -> Parameter:
    choices = tuple(facts.get("choices") or ())
    return Parameter(facts["name"], facts["kind"], facts.get("default"), facts.get("doc", ""), choices)


def _named(thing: str, name: str, every: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Entries called `name`; or else whose names begin with it, also after the name of their paper; or else contain it.

    Each has one name or several.
    """
    found = [own for own in every if name in own]
    found = found or [own for own in every if any(one.startswith(name) for one in own)]
    found = found or [own for own in every if any(one.partition("/")[2].startswith(name) for one in own)]
    if not found and not every:
        raise HeadwayError(f"no {thing} found\n  help: {names.looked_in()}")
    found = found or [own for own in every if any(name in one for one in own)]
    if not found:
        close = nearest(name, [one for own in every for one in own])
        hint = f"did you mean {' or '.join(close)}?" if close else f"all of them: headway list {thing}"
        raise HeadwayError(f"none of the {thing} is called {name!r}, and no name holds that\n  help: {hint}")
    return found


def _is_figure(entry: ScenarioEntry, known: Mapping[str, names.ScenarioFile]) -> bool:
    """True if a scenario reproduces a publication, and its folder holds the publication's claims."""
    file = known.get(entry.name)
    return bool(entry.paper or not entry.readable) and file is not None and file.claims.exists()


def _scenarios(known: Mapping[str, names.ScenarioFile]) -> Iterator[ScenarioEntry]:
    for name, file in sorted(known.items()):
        try:
            scenario = _headway.Scenario.load(str(file.path))
            yield ScenarioEntry(name, scenario.title, scenario.paper, readable=True)
        except _headway.ScenarioError:
            yield ScenarioEntry(name, f"(not readable: headway check {name})", "", readable=False)


def _claims(name: str | None) -> list[ListedClaim]:
    """Claims with the verdict and the reading on record and the command that measures it, by scenario.

    Whether a record is outdated is only asked of those that are shown: it takes most of the time.
    """
    claims = known_claims()
    if name is not None:
        wanted = set(_named("claims", name, [(claim.scenario, claim.id) for claim in claims]))
        claims = [claim for claim in claims if (claim.scenario, claim.id) in wanted]
    return sorted(listed(claims, names.known_scenarios()), key=lambda row: row.scenario)
