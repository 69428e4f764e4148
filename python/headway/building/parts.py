"""Parts of a scenario in Python, and the types of their arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# A number and a unit, such as "10 us", "10 Gbps" or "128 packets"; docs/scenario-format.md lists the units.
Duration = str
Rate = str
Packets = str
# A text with a unit, or whole bytes.
Bytes = str | int
PathLike = str | os.PathLike[str]
# Positions of hosts, or how many.
Hosts = int | Sequence[int]
# The name of a size distribution, a file, or a formula as a table.
Sizes = str | os.PathLike[str] | Mapping[str, Any]
# Anything that TOML can hold.
Value = Any


@dataclass(frozen=True)
class Part:
    """A table of a scenario, made by one of the functions of this package: the keys that were given.

    `made_by` is the name of the function; messages name it.
    """

    made_by: str
    keys: Mapping[str, Any] = field(default_factory=dict)

    def table(self) -> dict[str, Any]:
        """Its keys as TOML has them."""
        return {key: plain(value) for key, value in self.keys.items()}

    def __repr__(self) -> str:
        given = ", ".join(f"{argument(key)}={value!r}" for key, value in self.keys.items() if key not in _NAMES)
        return f"headway.{self.made_by}({given})"


class Topology(Part):
    """A `[topology]` table."""


class Traffic(Part):
    """A `[[traffic]]` entry."""


class Transport(Part):
    """A `[transport]` table: a transport and its parameters."""


class Discipline(Part):
    """The discipline of a `[fabric]` table and its parameters."""


class Fabric(Part):
    """A `[fabric]` table."""


class Hosting(Part):
    """A `[hosts]` table."""


class Start(Part):
    """A `[start]` table."""


class Sample(Part):
    """A `[sample]` table."""


class Fault(Part):
    """A `[[fault]]` entry."""


class Flow(Part):
    """An entry of the list of `flows`."""


class Model(Part):
    """A `[model]` table."""


# Keys that name the kind of a part; the function that makes it says so.
_NAMES = ("kind", "name", "discipline")


def flow(
    *,
    src: int,
    dst: int,
    bytes: Bytes,
    name: str | None = None,
    start: Duration | None = None,
    class_: int | None = None,
    deadline: Duration | None = None,
    share: float | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    slot: int | None = None,
    path: int | None = None,
    connection: str | None = None,
    after: Sequence[str | Mapping[str, Value]] | None = None,
) -> Flow:
    """A flow of `headway.flows(flows=[...])`.

    src: the sending host (host)
    dst: the receiving host (host)
    bytes: its size (bytes)
    name: name of the flow (text; default: its number)
    start: time at which it begins (duration; default: `"0 s"`)
    class_: application class (whole number; default: that of the entry)
    deadline: from its start (duration; default: that of the entry)
    share: it starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: that of the entry)
    clump: packets back to back before a pause (count; default: that of the entry)
    stop: time at which it is over at both ends, whatever has arrived (time; default: that of the entry)
    slot: its position in the rotation of flows that share a path (whole number; default: by the order of flows)
    path: number of its path, with `routing="pinned"` (whole number; default: at random)
    connection: name of an earlier flow between the same hosts whose connection it uses (text; default: its own)
    after: causes that it waits for: names of flows and steps of the list, or tables with `name` and
        `until`
        (list of names or tables; default: nothing)
    """
    keys = given(
        src=src,
        dst=dst,
        bytes=bytes,
        name=name,
        start=start,
        class_=class_,
        deadline=deadline,
        share=share,
        clump=clump,
        stop=stop,
        slot=slot,
        path=path,
        connection=connection,
        after=after,
    )
    return Flow("flow", keys)


def given(**keys: Any) -> dict[str, Any]:  # noqa: ANN401  (what TOML can hold)
    """The arguments that are not None. A trailing underscore, as of `class_`, is not part of a key."""
    return {key.removesuffix("_"): value for key, value in keys.items() if value is not None}


def argument(key: str) -> str:
    """The name that the argument for a key has."""
    return f"{key}_" if key in ("class",) else key


def plain(value: Any) -> Any:  # noqa: ANN401  (what TOML can hold)
    """A value with parts, paths and numbers of other libraries as TOML has them; None is left out of tables."""
    if isinstance(value, Part):
        return value.table()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, str | bool | int | float):
        return value
    if hasattr(value, "tolist"):  # an array or a number of numpy, a series of polars or pandas
        return plain(value.tolist())
    if isinstance(value, Sequence | range):
        return [plain(item) for item in value]
    if callable(value) and getattr(value, "__module__", "").startswith(f"{__package__}."):
        name = f"headway.{value.__module__.removeprefix(f'{__package__}.')}.{value.__name__}"
        raise TypeError(f"{name} is a function: write {name}(...)")
    raise TypeError(f"a scenario holds texts, numbers, true and false, lists and tables, not {value!r}")
