"""TOML texts with the place of every key and value, as the native module reads them, and messages that show it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from headway import _headway
from headway.errors import ScenarioError

# Characters of the text, from and to.
Place = tuple[int, int]


@dataclass(frozen=True)
class Entry:
    """One key: its whole path with dots inside quotes taken apart, where it stands, and what it is given."""

    path: tuple[str, ...]
    place: Place
    node: Mapping[str, Any]


class Document:
    """A TOML text and the name that messages call it by; raises `ScenarioError` for a text that is none."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text.removeprefix("\ufeff")
        self._root: Mapping[str, Any] = json.loads(_headway.read_toml(self.text, name))

    @cached_property
    def value(self) -> dict[str, Any]:
        """The parsed text."""
        return dict(_value(self._root))

    @cached_property
    def _entries(self) -> list[Entry]:
        return sorted(_entries(self._root, ()), key=lambda entry: entry.place)

    def key(self, path: Sequence[str]) -> Place | None:
        """The last part of `path`, also where a scale, a variant or the sweep sets it by its dotted path."""
        return next((entry.place for entry in self._entries if _inner(entry.path) == tuple(path)), None)

    def value_at(self, path: Sequence[str], value: object) -> Place | None:
        """Where `value` is written in what stands at `path`."""
        nodes = [entry.node for entry in self._entries if _inner(entry.path) == tuple(path)]
        return next((_place(leaf) for node in nodes for leaf in _leaves(node) if _same(leaf["value"], value)), None)

    def in_table(self, table: str, index: int, key: str) -> tuple[Place, Place | None]:
        """The key of table number `index` of a list of tables, and its value; else the table's head."""
        node = self._root["keys"][table]["node"]["list"][index]
        found = node.get("keys", {}).get(key)
        return (_at(found["at"]), _place(found["node"])) if found else (_place(node), None)

    def position(self, place: Place) -> tuple[int, int, str]:
        """Line and column of a place, from 1 and from 0, and the text of the line."""
        begin = self.text.rfind("\n", 0, place[0]) + 1
        line = self.text[begin:].split("\n", 1)[0].rstrip("\r")
        return self.text.count("\n", 0, begin) + 1, place[0] - begin, line

    def diagnostic(self, message: str, place: Place | None, help_text: str = "", origin: str = "") -> str:
        """The message with file, line, caret and help; without a place, `origin` says where it comes from."""
        if place is not None:
            return _headway.show_problem(self.text, self.name, place, message, help_text or None)
        text = f"  × {message}\n   ─[{origin or self.name}]\n"
        return f"{text}  help: {help_text}\n" if help_text else text


@lru_cache(maxsize=64)
def parsed(text: str) -> Mapping[str, Any]:
    """What a text holds, empty if it is no TOML: who reads it first has said so already."""
    try:
        return Document("text", text).value
    except ScenarioError:
        return {}


def _at(pair: Sequence[int]) -> Place:
    return pair[0], pair[1]


def _place(node: Mapping[str, Any]) -> Place:
    return _at(node["at"])


def _value(node: Mapping[str, Any]) -> Any:  # noqa: ANN401  (what TOML holds)
    """A node as the standard library would give it, keys in the order in which they are written."""
    if "keys" in node:
        ordered = sorted(node["keys"].items(), key=lambda item: item[1]["at"])
        return {key: _value(entry["node"]) for key, entry in ordered}
    return [_value(item) for item in node["list"]] if "list" in node else node["value"]


def _entries(node: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[Entry]:
    for key, entry in node.get("keys", {}).items():
        whole = (*path, *key.split("."))
        yield Entry(whole, _at(entry["at"]), entry["node"])
        yield from _entries(entry["node"], whole)


def _inner(path: tuple[str, ...]) -> tuple[str, ...]:
    """A path less the scale, the variant or the sweep that sets it."""
    return path[2:] if path[:1] in (("scale",), ("variants",)) else path[1:] if path[:1] == ("sweep",) else path


def _leaves(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The values of a node that are neither list nor table."""
    if "value" in node:
        yield node
    for item in node.get("list", []):
        yield from _leaves(item)


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other
