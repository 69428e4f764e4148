"""Writes python/headway/building/: a function for each topology, traffic pattern, transport, discipline and model.

    .venv/bin/python tools/building.py

The functions follow from what the native module declares, and from the tables of docs/scenario-format.md where it
declares nothing. A test compares the files with what this script would write.
"""

from __future__ import annotations

import json
import keyword
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway import _headway

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python/headway/building"
FORMAT = ROOT / "docs/scenario-format.md"
WIDTH = 120

# The Python type of what a key takes; other words are checked by the reader of scenarios alone.
TYPES = {
    "count": "int",
    "even count": "int",
    "whole number": "int",
    "host": "int",
    "int": "int",
    "number": "float",
    "float": "float",
    "above 0, at most 1": "float",
    "from 0 to 1": "float",
    "true or false": "bool",
    "bool": "bool",
    "rate": "Rate",
    "duration": "Duration",
    "duration, `never`": "Duration",
    "time": "Duration",
    "bytes": "Bytes",
    "packets or bytes": "Packets",
    "path": "PathLike",
    "list of hosts, or count": "Hosts",
    "name or table": "str | Mapping[str, Value] | Transport",
    "as of `poisson`": "Sizes",
    "list of bytes": "Sequence[Bytes]",
    "list of counts": "Sequence[int]",
    "list of whole numbers": "Sequence[int]",
    "list of numbers": "Sequence[float]",
    "list of names": "Sequence[str]",
    "list of names, `all`": "str | Sequence[str]",
    "`all`, list of names": "str | Sequence[str]",
    "`all`, `none`, list of names": "str | Sequence[str]",
    "true or false, list of names": "bool | Sequence[str]",
    "`all`, `none`, `bottlenecks`, list of names": "str | Sequence[str]",
    "table": "Mapping[str, Value]",
    "list of tables": "Sequence[Mapping[str, Value] | Part]",
}


@dataclass(frozen=True)
class Key:
    """An argument: its key, its type, what it takes in words, its default in words, and its meaning.

    `needed` says that there is no default and the key must be given.
    """

    name: str
    type: str
    takes: str
    default: str
    meaning: str
    needed: bool

    @property
    def argument(self) -> str:
        """Its name in Python."""
        return f"{self.name}_" if keyword.iskeyword(self.name) else self.name

    def declared(self) -> str:
        """As a parameter of the function."""
        return f"{self.argument}: {self.type}" if self.needed else f"{self.argument}: {self.type} | None = None"

    def explained(self) -> str:
        """Its line of the docstring."""
        default = "" if self.needed else f"; default: {self.default}" if self.default else "; may be left out"
        return f"{self.argument}: {self.meaning} ({self.takes}{default})"


@dataclass(frozen=True)
class Function:
    """A function that makes a part: its name, what it returns, its summary, and its keys.

    `fixed` are keys that the function sets itself; `path` is what messages call it by, without the package.
    """

    name: str
    part: str
    summary: str
    keys: tuple[Key, ...]
    fixed: Mapping[str, str]
    path: str

    def source(self) -> str:
        """Its text."""
        keys = sorted(self.keys, key=lambda key: not key.needed)
        lines = [f"def {self.name}("]
        lines += ["    *,", *(f"    {key.declared()}," for key in keys)] if keys else []
        lines.append(f") -> {self.part}:")
        if not keys:
            lines = [f"def {self.name}() -> {self.part}:"]
        body = [_sentence(self.summary)]
        body += ["", *(key.explained() for key in keys)] if keys else []
        lines += _docstring(body)
        fixed = "".join(f'"{key}": "{value}", ' for key, value in self.fixed.items())
        if keys:
            lines += ["    keys = given(", *(f"        {key.argument}={key.argument}," for key in keys), "    )"]
            made = f"{{{fixed}**keys}}" if fixed else "keys"
            lines.append(f'    return {self.part}("{self.path}", {made})')
        else:
            lines.append(f'    return {self.part}("{self.path}", {{{fixed[:-2]}}})')
        return "\n".join(lines) + "\n"


def _sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else text + "."


def _docstring(paragraphs: Sequence[str]) -> Iterator[str]:
    """A docstring of lines, each broken to the width; those after the first are indented when they are broken."""
    raw = "r" if any("\\" in line for line in paragraphs) else ""
    texts = []
    for index, line in enumerate(paragraphs):
        room = WIDTH - 4 - (len(raw) + 3 if index == 0 else 0)
        indent = "    " if index > 1 else ""
        texts += textwrap.wrap(
            line, room, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ) or [""]
    if len(texts) == 1 and len(texts[0]) + 4 + len(raw) + 6 <= WIDTH:
        yield f'    {raw}"""{texts[0]}"""'
        return
    first, *rest = texts
    yield f'    {raw}"""{first}'
    yield from (f"    {line}".rstrip() for line in rest)
    yield '    """'


def _identifier(name: str) -> str:
    """A name of TOML as Python writes it."""
    return name.replace("-", "_")


def _choices(takes: str) -> str | None:
    """The type of a list of words in quotes, and nothing else."""
    takes = re.sub(r"\([^)]*\)", "", takes)
    words = re.findall(r"`([^`]*)`", takes)
    return _literal(words) if words and not re.sub(r"`[^`]*`|[,\s]", "", takes) else None


def _literal(words: Iterable[str]) -> str:
    """The type of some words."""
    return f"Literal[{', '.join(json.dumps(word) for word in words)}]"


def _type(takes: str) -> str:
    """The Python type of what a key takes in words."""
    if found := _choices(takes):
        return found
    if takes.startswith(("name (`headway list workloads`)",)):
        return "Sizes"
    if takes.endswith("or a table with `name` and settings"):
        return "str | Mapping[str, Value]"
    if takes.startswith("name (`headway list disciplines`)"):
        return "str | Discipline"
    return TYPES.get(takes, "Value")


def _key(entry: Mapping[str, Any], *, usual: Iterable[str]) -> Key:
    """A key that the native module declares; `usual` are the names of other keys that a default may be."""
    default = entry["default"]
    takes = entry["kind"]
    needed = default is None
    text = "" if needed else str(default)
    if text and "`" not in text and (re.match(r"\d", text) or text in usual or "/" in text):
        text = f"`{text}`" if text in usual or "/" in text else _quoted(text)
    return Key(entry["name"], _type(takes), takes, text, _meaning(entry["doc"]), needed)


def _quoted(text: str) -> str:
    """A default as it is written in TOML."""
    return f"`{text}`" if re.fullmatch(r"[\d.]+", text) else f'`"{text}"`'


def _parameter(entry: Mapping[str, Any]) -> Key:
    """A parameter that a transport or a discipline declares; each has a default."""
    choices = entry.get("choices")
    kind = _literal(choices) if choices else TYPES.get(entry["kind"], "Value")
    takes = re.sub(r"^one of (.*)$", r"\1", entry["expected"])
    default = f"`{json.dumps(entry['default'])}`" if entry["default"] is not None else ""
    return Key(entry["name"], kind, takes, default, _meaning(entry["doc"]), False)


def _catalogue(thing: str) -> list[dict[str, Any]]:
    """A list of the native module."""
    return list(json.loads(_headway.catalogue(thing)))


def topologies() -> list[Function]:
    """A function for each kind of topology."""
    found = []
    for kind in _catalogue("topologies"):
        names = {entry["name"] for entry in kind["params"]}
        keys = tuple(_key(entry, usual=names) for entry in kind["params"])
        name = _identifier(kind["name"])
        found.append(Function(name, "Topology", kind["summary"], keys, {"kind": kind["name"]}, name))
    return found


def traffic() -> list[Function]:
    """A function for each kind of traffic."""
    found = []
    for kind in _catalogue("traffic"):
        keys = tuple(_key(entry, usual=()) for entry in kind["params"])
        name = _identifier(kind["name"])
        found.append(Function(name, "Traffic", kind["summary"], keys, {"kind": kind["name"]}, name))
    return found


def named(thing: str, part: str, key: str) -> list[Function]:
    """A function for each transport, or each discipline."""
    found = []
    for one in _catalogue(thing):
        keys = tuple(map(_parameter, one["params"]))
        name = _identifier(one["name"])
        summary = f"{one['summary']} ({one['paper']})" if one["paper"] else one["summary"]
        found.append(Function(name, part, summary, keys, {key: one["name"]}, f"{thing}.{name}"))
    return found


def models() -> list[Function]:
    """A function for each closed-form model."""
    found = []
    for one in _catalogue("models"):
        keys = tuple(_key(entry, usual=()) for entry in one["params"])
        name = _identifier(one["name"])
        found.append(
            Function(name, "Model", f"{one['summary']} ({one['paper']})", keys, {"name": one["name"]}, f"models.{name}")
        )
    return found


def table_rows(heading: str, nth: int = 0) -> list[tuple[str, ...]]:
    """The rows of the `nth` table below a heading of docs/scenario-format.md, without its head."""
    text = FORMAT.read_text("utf-8").split(f"{heading}\n", 1)[1]
    text = re.split(r"\n#{2,3} ", text, maxsplit=1)[0]
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    lines = tables[nth].splitlines()[2:]
    return [tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]) for line in lines]


def _from_page(*headings: str) -> tuple[Key, ...]:
    """The keys of tables of the page, `key | takes | default | meaning`, each once."""
    keys: dict[str, Key] = {}
    for heading in headings:
        for names, takes, default, meaning in table_rows(heading):
            for name in re.findall(r"`([^`]+)`", names):
                default = f"`{default}`" if re.fullmatch(r"[\d.]+", default) else default
                key = Key(name, _type(takes), takes, default, _unlinked(meaning), needed=False)
                keys[name] = key if name not in keys else _either(keys[name], key)
    return tuple(keys.values())


def _either(one: Key, other: Key) -> Key:
    """A key that two tables have, with the meaning that it has in each."""
    kind = one.type if one.type == other.type else "Value"
    default = " or ".join(dict.fromkeys(filter(None, (one.default, other.default))))
    return Key(one.name, kind, one.takes, default, f"{one.meaning}; {other.meaning}", one.needed and other.needed)


def _unlinked(text: str) -> str:
    """Markdown without its links."""
    return _meaning(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))


def _meaning(text: str) -> str:
    """What a key means, without its full stop and without the places of the page that it points to."""
    return (
        re.sub(r"[;,] see (above|below|the next table)", "", text).removeprefix("see below").rstrip(".")
        or "see the page"
    )


def tables() -> list[Function]:
    """A function for each other table of a scenario."""
    faults: tuple[str, ...] = ("### Links and switches that go down", "### Rates and delays that change")
    faults += ("### Packets that are lost, doubled, or late",)
    every: list[tuple[str, str, str, tuple[Key, ...]]] = [
        ("fabric", "Fabric", "ports of switches and hosts, routes, and sizes of packets", _from_page("## `[fabric]`")),
        ("hosts", "Hosting", "times that processors and interfaces of hosts take", _from_page("## `[hosts]`")),
        ("start", "Start", "how flows start", _from_page("## `[start]`")),
        ("sample", "Sample", "what is sampled during the run", _from_page("## `[sample]`")),
        (
            "fault",
            "Fault",
            "links or switches that go down (`down_at`), links that change (`at`), or packets that are lost, doubled "
            "or late",
            _from_page(*faults),
        ),
    ]
    return [Function(name, part, summary, keys, {}, name) for name, part, summary, keys in every]


HEADS = {
    "topologies": "Topologies: a function for each kind that `[topology]` may have.",
    "traffic": "Traffic: a function for each kind that a `[[traffic]]` entry may have.",
    "transports": "Transports: a function for each, with its parameters.",
    "disciplines": "Disciplines of ports: a function for each, with its parameters.",
    "models": "Closed-form models: a function for each, with its keys.",
    "tables": "The other tables of a scenario: a function for each.",
}


def module(name: str, functions: Sequence[Function]) -> str:
    """The text of a module."""
    body = "\n\n".join(function.source() for function in functions)
    code = re.sub(r'r?"""(?:.|\n)*?"""', "", body)
    parts = [word for word in PARTS if re.search(rf"\b{word}\b", code)]
    lines = [f'"""{HEADS[name]}', "", "Written by tools/building.py, do not edit.", '"""', ""]
    lines += ["from __future__ import annotations", ""]
    abstract = [word for word in ("Mapping", "Sequence") if re.search(rf"\b{word}\b", code)]
    lines += [f"from collections.abc import {', '.join(abstract)}"] if abstract else []
    lines += ["from typing import Literal"] if re.search(r"\bLiteral\b", code) else []
    lines += [""] if lines[-1] else []
    line = f"from headway.building.parts import {', '.join(parts)}"
    lines += (
        [line] if len(line) <= WIDTH else [line.partition("import")[0] + "import (", *(f"    {p}," for p in parts), ")"]
    )
    lines.append("")
    listed = "".join(f'    "{function}",\n' for function in sorted(function.name for function in functions))
    return "\n".join(lines) + f"\n__all__ = [\n{listed}]\n\n\n{body}"


PARTS = (
    "Bytes", "Discipline", "Duration", "Fabric", "Fault", "Hosting", "Hosts", "Model", "Packets", "Part", "PathLike",
    "Rate", "Sample", "Sizes", "Start", "Topology", "Traffic", "Transport", "Value", "given",
)  # fmt: skip


def modules() -> dict[Path, str]:
    """Every file that is written, with its text."""
    every = {
        "topologies": topologies(),
        "traffic": traffic(),
        "transports": named("transports", "Transport", "name"),
        "disciplines": named("disciplines", "Discipline", "discipline"),
        "models": models(),
        "tables": tables(),
    }
    return {PACKAGE / f"{name}.py": module(name, functions) for name, functions in every.items()}


def main() -> None:
    """Write them."""
    for path, text in modules().items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
