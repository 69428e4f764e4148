"""From parts to a scenario: the text of a scenario file is made, and read as any other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from headway.building.parts import (
    Bytes,
    Discipline,
    Duration,
    Fabric,
    Fault,
    Hosting,
    Model,
    Part,
    Sample,
    Start,
    Topology,
    Traffic,
    Transport,
    Value,
    argument,
    given,
    plain,
)
from headway.data.toml import Document, write
from headway.errors import ScenarioError
from headway.loading import Scenario
from headway.transport import Factory, class_name
from headway.transport import Transport as OwnTransport

Table = Mapping[str, Value]
_LACKS = re.compile(r"the scenario lacks the key `(\w+)`")
# If the generated text does not contain the mistake, a message has no such place.
_PLACE = re.compile(r"─\[(?P<name>.*):(?P<line>\d+):(?P<column>\d+)\]")


def scenario(
    *,
    topology: Topology | Table | None = None,
    transport: str | Transport | type[OwnTransport] | Table | None = None,
    traffic: Traffic | Table | Sequence[Traffic | Table] = (),
    fabric: Fabric | Table | None = None,
    hosts: Hosting | Table | None = None,
    start: Start | Table | None = None,
    sample: Sample | Table | None = None,
    fault: Fault | Table | Sequence[Fault | Table] = (),
    model: Model | Table | None = None,
    title: str | None = None,
    description: str | None = None,
    paper: str | None = None,
    seed: int | None = None,
    stop: Duration | None = None,
    until: Literal["received", "known"] | None = None,
    warmup: Duration | None = None,
    bottleneck: Sequence[str] | None = None,
    memory_limit: Bytes | None = None,
    variants: Mapping[str, Transport | type[OwnTransport] | Table] | None = None,
    transports: Mapping[str, Factory] | None = None,
    sweep: Table | None = None,
    scale: Mapping[str, Table] | None = None,
    report: Table | None = None,
    name: str = "scenario",
    folder: str | Path | None = None,
) -> Scenario:
    """A scenario of parts; each part is made by a function, or is a dict with the keys of its table.

    >>> headway.scenario(
    ...     topology=headway.leaf_spine(racks=2, hosts_per_rack=4, spines=2, host_rate="10 Gbps", host_delay="1 us"),
    ...     transport="amrt",
    ...     traffic=[headway.poisson(cdf="dctcp_websearch", load=0.5, flows=100)],
    ... )

    topology: `headway.leaf_spine(...)`, `headway.dumbbell(...)` and others; needed, except beside `model`
    transport: a name, or `headway.transports.amrt(...)` and others, or a class made from `headway.Transport`; needed
        where traffic names none
    traffic: `headway.poisson(...)`, `headway.incast(...)` and others, or a list of them
    fabric: `headway.fabric(...)`; ports, routes and sizes of packets
    hosts: `headway.hosts(...)`; default: hosts take no time
    start: `headway.start(...)`
    sample: `headway.sample(...)`; default: nothing is sampled
    fault: `headway.fault(...)`, or a list of them; default: none
    model: `headway.models.amrt_gain(...)` and others; default: none
    title, description, paper: texts for readers; no run depends on them
    seed: the seed of all random numbers (whole number; default: 1)
    stop: the latest end of the run, in virtual time (duration; default: when every flow is done, at most 100 s)
    until: what the run waits for: the last byte of each flow at its receiver, or each sender's knowledge of it
        (`"received"`, `"known"`; default: `"received"`)
    warmup: flows that start earlier do not count in statistics (duration; default: `"0 s"`)
    bottleneck: links whose utilisation is `bottleneck_utilisation` (list of links; default: the busiest that leaves a
        switch)
    memory_limit: a run that needs more memory is refused (bytes; default: the machine's memory)
    variants: by name, the keys by which a variant differs (`{"small": {"fabric.buffer": "32 packets"}}`), or its
        transport (`{"phost": headway.transports.phost()}`)
    transports: classes made from `headway.Transport`, by the names that other arguments have for them
    sweep: keys with the lists of their values, and `seeds` (`{"traffic.0.load": [0.3, 0.5], "seeds": 3}`)
    scale: the keys that `scale="smoke"`, `"proxy"` and `"paper"` set
    report: what the report draws first (`{"figure": "fct-load"}`)
    name: what results and messages call it
    folder: where relative paths begin; default: the working directory

    Raises `ScenarioError`, which shows the place in the text that was made, and names the argument.
    """
    own: dict[str, Factory] = dict(transports or {})
    if variants is not None and not isinstance(variants, Mapping):
        raise TypeError(
            f"variants are a dict from names to what they set, not {variants!r}: "
            'write {"homa": headway.transports.homa(), ...}'
        )
    own |= {class_name(one): one for one in (transport, *(variants or {}).values()) if isinstance(one, type)}
    parts: dict[str, Any] = given(
        title=title,
        description=description,
        paper=paper,
        seed=seed,
        stop=stop,
        until=until,
        warmup=warmup,
        bottleneck=bottleneck,
        memory_limit=memory_limit,
        topology=topology,
        fabric=fabric,
        hosts=hosts,
        transport=_transport(transport),
        start=start,
        traffic=_listed(traffic),
        sample=sample,
        fault=_listed(fault),
        model=model,
        variants=None if variants is None else {key: _variant(value) for key, value in variants.items()},
        sweep=sweep,
        scale=scale,
        report=report,
    )
    text = write({key: _table(value) for key, value in parts.items()})
    try:
        return Scenario.from_text(text, name, folder=folder, transports=own)
    except ScenarioError as error:
        if where := _where(str(error), Document(name, text), parts):
            raise ScenarioError(f"{str(error).rstrip()}\n  in Python: {where}\n") from None
        raise


def _transport(transport: str | Transport | type[OwnTransport] | Table | None) -> Any:  # noqa: ANN401
    """The `[transport]` table of a name, a part or a class."""
    if isinstance(transport, type):
        return {"name": class_name(transport)}
    return {"name": transport} if isinstance(transport, str) else transport


def _listed(parts: Part | Table | Sequence[Part | Table]) -> list[Part | Table] | None:
    """One or several entries as a list; None if there are none."""
    found = [parts] if isinstance(parts, Part | Mapping) else list(parts)
    return found or None


def _table(part: Any) -> Any:  # noqa: ANN401  (what TOML can hold)
    """A part as TOML has it; a discipline's parameters are keys of the fabric."""
    discipline = part.keys.get("discipline") if isinstance(part, Fabric) else None
    if isinstance(discipline, Discipline):
        return {**discipline.table(), **{key: plain(v) for key, v in part.keys.items() if key != "discipline"}}
    if isinstance(part, Discipline):
        raise TypeError(f"{part!r} is a discipline: write fabric=headway.fabric(discipline={part!r})")
    return plain(part)


def _variant(value: Part | type[OwnTransport] | Table) -> dict[str, Any]:
    """The keys that a variant sets."""
    if isinstance(value, type):
        return {"transport.name": class_name(value)}
    if isinstance(value, Transport):
        return {f"transport.{key}": item for key, item in value.table().items()}
    return {key: plain(item) for key, item in dict(value).items()} if isinstance(value, Mapping) else plain(value)


def _where(message: str, document: Document, parts: Mapping[str, Any]) -> str:
    """The argument that a message is about, in words; empty if it names no place in the text."""
    found = next((one for one in _PLACE.finditer(message) if one["name"] == document.name), None)
    if found is None:
        return ""
    path = document.path_at(int(found["line"]), int(found["column"]))
    if not path:
        return ""
    top, *rest = path
    if lacks := _LACKS.search(message):
        return f"the argument `{lacks[1]}`"
    value: Any = parts.get(str(top))
    words, made, inner = str(top), "", ""
    for step in rest:
        if isinstance(value, Part):
            made, inner = value.made_by, f"`{argument(str(step))}`"
            discipline = value.keys.get("discipline")
            if isinstance(discipline, Discipline) and step != "discipline" and step in discipline.keys:
                made = discipline.made_by
            value = value.keys.get(str(step))
        elif isinstance(value, Mapping):
            value = value.get(step)
            made, inner = "", f"`{step}`"
        elif isinstance(value, Sequence) and not isinstance(value, str) and isinstance(step, int):
            value = value[step]
            words += f"{inner and '.' + inner.strip('`')}[{step}]"
            made, inner = "", ""
    if path == ("transport", "name"):
        return "the argument `transport`"
    if isinstance(value, Part):
        made, inner = value.made_by, ""
    if made and inner:
        return f"{inner} of headway.{made}(...), in the argument `{words}`"
    if made:
        return f"headway.{made}(...), in the argument `{words}`"
    return f"{inner} in the argument `{words}`" if inner else f"the argument `{words}`"
