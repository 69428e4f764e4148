"""Functions that make the parts of a scenario, from the declarations of the native module.

Each takes the keys of its part as keyword arguments. Its docstring gives the meaning, type and default of each.
`tools/stubs.py` writes the same signatures for editors and type checkers.
"""

from __future__ import annotations

import inspect
import json
import keyword
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from headway import _headway
from headway.building import parts
from headway.building.parts import Part, given
from headway.errors import nearest

# The annotation of a key's value, by the name of its type; those of `parts` are aliases.
_TYPES = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "rate": "Rate",
    "duration": "Duration",
    "bytes": "Bytes",
    "room": "Packets",
    "path": "PathLike",
    "hosts": "Hosts",
    "sizes": "Sizes",
    "bytes-or-sizes": "Bytes | Sizes",
    "transport": "str | Mapping[str, Value] | Transport",
    "discipline": "str | Discipline",
    "word-or-table": "str | Mapping[str, Value]",
    "word-or-names": "str | Sequence[str]",
    "count-or-word": "int | str",
    "bool-or-names": "bool | Sequence[str]",
    "names": "Sequence[str]",
    "list-of-bytes": "Sequence[Bytes]",
    "list-of-int": "Sequence[int]",
    "list-of-float": "Sequence[float]",
    "table": "Mapping[str, Value]",
    "tables": "Sequence[Mapping[str, Value] | Part]",
}
# The part that each table of a scenario is.
_TABLES = {"fabric": "Fabric", "hosts": "Hosting", "start": "Start", "sample": "Sample", "fault": "Fault"}


@dataclass(frozen=True)
class Key:
    """An argument: its key, its annotation, and its line of the docstring. One that is `needed` is required."""

    name: str
    type: str
    line: str
    needed: bool

    @property
    def argument(self) -> str:
        """Its name in Python."""
        return f"{self.name}_" if keyword.iskeyword(self.name) else self.name

    @property
    def annotation(self) -> str:
        """Type that a type checker reads."""
        return self.type if self.needed else f"{self.type} | None"


@dataclass(frozen=True)
class Function:
    """A function that makes a part. `fixed` are the keys that it sets itself, and `path` is its name in messages."""

    name: str
    part: str
    summary: str
    keys: tuple[Key, ...]
    fixed: Mapping[str, str]
    path: str

    @property
    def docstring(self) -> str:
        """Its summary, and a line for each argument."""
        lines = [_sentence(self.summary)]
        return "\n".join([*lines, "", *(key.line for key in self.keys)] if self.keys else lines)

    def made(self, module: str) -> Callable[..., Part]:
        """The function itself, as a name of a module."""
        part = getattr(parts, self.part)
        known = {key.argument for key in self.keys}
        needed = [key.argument for key in self.keys if key.needed]

        def function(**keys: Any) -> Part:  # noqa: ANN401  (what TOML can hold)
            for one in keys.keys() - known:
                hint = "".join(f"; did you mean {name}?" for name in nearest(one, sorted(known), 1))
                raise TypeError(f"headway.{self.path}() got an unexpected keyword argument '{one}'{hint}")
            if missing := [one for one in needed if one not in keys]:
                raise TypeError(f"headway.{self.path}() lacks the argument {' and '.join(map(repr, missing))}")
            made: Part = part(self.path, {**self.fixed, **given(**keys)})
            return made

        function.__name__ = function.__qualname__ = self.name
        function.__module__ = module
        function.__doc__ = self.docstring
        keyword_only = inspect.Parameter.KEYWORD_ONLY
        order = sorted(self.keys, key=lambda key: not key.needed)
        function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(
                    key.argument,
                    keyword_only,
                    default=inspect.Parameter.empty if key.needed else None,
                    annotation=key.annotation,
                )
                for key in order
            ],
            return_annotation=self.part,
        )
        function.__annotations__ = {key.argument: key.annotation for key in order} | {"return": self.part}
        return function


def _sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else text + "."


def _key(entry: Mapping[str, Any], siblings: Iterable[str]) -> Key:
    """A declared key. A default that is the name of a sibling is a reference to it."""
    choices, default = entry.get("choices"), entry["default"]
    takes = re.sub(r"^one of (.*)$", r"\1", entry.get("expected") or entry["kind"])
    kind = f"Literal[{', '.join(map(json.dumps, choices))}]" if choices and entry["type"] == "choice" else ""
    needed = default is None and "expected" not in entry and not entry.get("form")
    if "expected" in entry:  # a parameter, whose default is a value
        text = "" if default is None else f"`{json.dumps(default)}`"
    else:
        text = _shown("" if default is None else str(default), set(siblings))
    meaning = re.sub(r"[;,] see (above|below|the next table)", "", entry["doc"]).removeprefix("see below").rstrip(".")
    default = "" if needed else f"; default: {text}" if text else "; may be left out"
    line = f"{entry['name']}: {meaning or 'see the page'} ({takes}{default})"
    if keyword.iskeyword(entry["name"]):
        line = line.replace(":", "_:", 1)
    return Key(entry["name"], kind or _TYPES[entry["type"]], line, needed)


def _shown(default: str, siblings: set[str]) -> str:
    """A default in words, with TOML text in quotes."""
    if not default or "`" in default:
        return default
    if default in siblings or "/" in default or re.fullmatch(r"[\d.]+", default):
        return f"`{default}`"
    return f'`"{default}"`' if re.match(r"\d", default) else default


def _keys(entries: Iterable[Mapping[str, Any]]) -> tuple[Key, ...]:
    """The keys of a part, each once; one that several forms of it have is explained for each."""
    entries = list(entries)
    siblings = [entry["name"] for entry in entries]
    found: dict[str, Key] = {}
    for key in (_key(entry, siblings) for entry in entries):
        old = found.get(key.name)
        if old is None:
            found[key.name] = key
        else:
            line = old.line + key.line.removeprefix(f"{key.argument}:").join(["; or", ""])
            found[key.name] = Key(key.name, old.type if old.type == key.type else "Value", line, False)
    return tuple(found.values())


def _identifier(name: str) -> str:
    return name.replace("-", "_")


def _kinds(thing: str, part: str, key: str, package: str = "") -> Iterable[Function]:
    """A function for each thing of a list; `key` names it in its table."""
    for one in json.loads(_headway.catalogue(thing)):
        name = _identifier(one["name"])
        summary = f"{one['summary']} ({one['paper']})" if one["paper"] else one["summary"]
        yield Function(name, part, summary, _keys(one["params"]), {key: one["name"]}, f"{package}{name}")


def _tables() -> Iterable[Function]:
    for one in json.loads(_headway.catalogue("tables")):
        if part := _TABLES.get(one["name"]):
            yield Function(one["name"], part, one["summary"], _keys(one["params"]), {}, one["name"])


_MODULES: Mapping[str, Callable[[], Iterable[Function]]] = {
    "topologies": lambda: _kinds("topologies", "Topology", "kind"),
    "traffic": lambda: _kinds("traffic", "Traffic", "kind"),
    "transports": lambda: _kinds("transports", "Transport", "name", "transports."),
    "disciplines": lambda: _kinds("disciplines", "Discipline", "discipline", "disciplines."),
    "models": lambda: _kinds("models", "Model", "name", "models."),
    "tables": _tables,
}
MODULES = tuple(_MODULES)


@cache
def functions(module: str) -> tuple[Function, ...]:
    """Functions of a module of this package."""
    return tuple(_MODULES[module]())


def fill(module: dict[str, Any]) -> list[str]:
    """Put the functions of a module into its namespace, and return their names."""
    name = module["__name__"]
    made = {one.name: one.made(name) for one in functions(name.rpartition(".")[2])}
    module.update(made)
    return sorted(made)
