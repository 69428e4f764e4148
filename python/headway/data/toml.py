"""TOML texts with the place of every key and value, as the native module reads them, and messages that show it."""

from __future__ import annotations

import copy
import json
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from headway import _headway
from headway.errors import ScenarioError

# Tables whose tables have heads of their own.
NESTED = ("variants", "scale")

# Characters of the text, from and to.
Place = tuple[int, int]


@dataclass(frozen=True)
class Entry:
    """One key: its whole path with dots inside quotes taken apart, its place, and its value."""

    path: tuple[str, ...]
    place: Place
    node: Mapping[str, Any]


class Document:
    """A TOML text and the name that messages call it by; raises `ScenarioError` for a text that is not TOML."""

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
        """Place of `value` in the part at `path`."""
        nodes = [entry.node for entry in self._entries if _inner(entry.path) == tuple(path)]
        return next((_place(leaf) for node in nodes for leaf in _leaves(node) if _same(leaf["value"], value)), None)

    def in_table(self, table: str, index: int, key: str) -> tuple[Place, Place | None]:
        """The key of table number `index` of a list of tables, and its value; else the table's head."""
        node = self._root["keys"][table]["node"]["list"][index]
        found = node.get("keys", {}).get(key)
        return (_at(found["at"]), _place(found["node"])) if found else (_place(node), None)

    def path_at(self, line: int, column: int) -> tuple[str | int, ...]:
        """The key that stands at a line and column, both counted from 1: keys, and positions in lists."""
        starts = [0, *(found.end() for found in re.finditer("\n", self.text))]
        at = starts[min(line, len(starts)) - 1] + column - 1
        around = [(end - begin, path) for path, begin, end in _spans(self._root, ()) if begin <= at < end]
        return min(around, key=lambda one: (one[0], -len(one[1])), default=(0, ()))[1]

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
    """Contents of a text, empty if it is not TOML: its first reader has reported that."""
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


def _spans(node: Mapping[str, Any], path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], int, int]]:
    """Every key and item of a list, with the characters from its beginning to the end of its value."""
    for key, entry in node.get("keys", {}).items():
        begin, end = _at(entry["at"])
        inner = _place(entry["node"])
        # The value of a table with a head of its own may stand elsewhere, and not behind its key.
        yield (*path, key), begin, max(end, inner[1]) if inner[0] >= end else end
        yield (*path, key), *inner
        yield from _spans(entry["node"], (*path, key))
    for index, item in enumerate(node.get("list", [])):
        yield (*path, index), *_place(item)
        yield from _spans(item, (*path, index))


def write(document: Mapping[str, Any]) -> str:
    """A TOML text: plain keys first, then a table or a list of tables a head; a deeper value is on one line."""
    heads = {key: value for key, value in document.items() if _has_heads(value)}
    blocks = ["".join(f"{_key(key)} = {write_value(value)}\n" for key, value in document.items() if key not in heads)]
    for key, value in heads.items():
        for one in value if isinstance(value, list) else [value]:
            inner = {name: item for name, item in one.items() if isinstance(item, Mapping)} if key in NESTED else {}
            lines = [f"{_key(name)} = {_broken(item)}\n" for name, item in one.items() if name not in inner]
            if lines or not inner:
                blocks.append(f"[[{key}]]\n" if isinstance(value, list) else f"[{_key(key)}]\n")
                blocks[-1] += "".join(lines)
            for name, item in inner.items():
                head = f"[{_key(key)}.{_key(name)}]\n"
                blocks.append(head + "".join(f"{_key(k)} = {_broken(v)}\n" for k, v in item.items()))
    return "\n".join(block for block in blocks if block)


def write_value(value: Any) -> str:  # noqa: ANN401  (what TOML can hold)
    """A value on one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(key))} = {write_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(write_value, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def apply(document: Mapping[str, Any], sets: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A document with values set by their paths, as the reader of scenarios sets them.

    Names of transports come first: the parameters of another transport go. What a path does not find is left to the
    reader, which has said so.
    """
    changed = copy.deepcopy(dict(document))
    pairs = [(tuple(step.strip() for step in _steps(path)), value) for path, value in sets]
    for steps, value in sorted(pairs, key=lambda pair: pair[0] != ("transport", "name")):
        former = changed.get("transport")
        if steps == ("transport", "name") and isinstance(former, dict) and former.get("name") != value:
            changed["transport"] = {}
        here: Any = changed
        for step in steps[:-1]:
            here = here[int(step)] if isinstance(here, list) else here.setdefault(step, {})
        if isinstance(here, list):
            here[int(steps[-1])] = value
        else:
            here[steps[-1]] = value
    return changed


def assignment(text: str) -> tuple[str, Any]:
    """An override `key=value`: its path and its value, which is TOML, or else text."""
    path, _, value = text.partition("=")
    try:
        return path.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return path.strip(), value.strip()


def _steps(path: str) -> list[str]:
    """The parts of a path. Keys of the sweep, of variants and of scales are paths themselves."""
    top = path.partition(".")[0].strip()
    return path.split(".", 1 if top == "sweep" else 2 if top in NESTED else -1)


def _has_heads(value: object) -> bool:
    """True if a value of the root is a table, or a list of nothing but tables."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, Mapping) for item in value)
    return isinstance(value, Mapping)


def _broken(value: object) -> str:
    """A value on one line; of a list of tables, each has its own."""
    if isinstance(value, list) and _has_heads(value):
        return "[\n" + "".join(f"  {write_value(item)},\n" for item in value) + "]"
    return write_value(value)


def _key(key: str) -> str:
    """A key, in quotes where it needs them."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else write_value(key)


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
