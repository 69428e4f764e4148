"""Where in a TOML text a key stands, and a diagnostic that shows it, in the form that the native module uses.

The TOML reader of the standard library tells no places. Keys are found line by line: that is enough for tables,
dotted keys and one-line inline tables, and a key that is not found costs the diagnostic its picture, nothing else.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_PART = r"""(?:"[^"]*"|'[^']*'|[\w-]+)"""
_KEY = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=\s*")
_HEADER = re.compile(rf"\s*\[\[?\s*({_PART}(?:\s*\.\s*{_PART})*)\s*\]\]?\s*(?:#.*)?$")
_LONG_QUOTES = ('"""', "'''")


@dataclass(frozen=True)
class Place:
    """A stretch of one line, counted from 0."""

    line: int
    column: int
    width: int


@dataclass(frozen=True)
class _Entry:
    """One `key = value` line: its whole path with quoted dots taken apart, and where key and value begin."""

    path: tuple[str, ...]
    line: int
    column: int
    value_column: int


class Source:
    """A TOML text and the name that messages call it by."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._lines = text.splitlines()

    def key(self, path: Sequence[str]) -> Place | None:
        """The last part of `path`, also where a scale or a variant sets it by its dotted path."""
        for entry in self._entries():
            if _ends_with(entry.path, path):
                key = self._lines[entry.line][entry.column : entry.value_column].rstrip(" =\t")
                return Place(entry.line, entry.column, len(key))
        return self._inside(path)

    def value(self, path: Sequence[str], value: object) -> Place | None:
        """The text `value` in what stands at `path`; its first line at the most where it is not found."""
        for entry in self._entries():
            if _ends_with(entry.path, path):
                for number in range(entry.line, len(self._lines)):
                    start = entry.value_column if number == entry.line else 0
                    if number > entry.line and (_KEY.match(self._lines[number]) or _HEADER.match(self._lines[number])):
                        break
                    if found := _quoted(self._lines[number], start, value):
                        return Place(number, *found)
        return self._inside(path, value)

    def _inside(self, path: Sequence[str], value: object = None) -> Place | None:
        """A key of an inline table, `parent = { key = ... }`."""
        for entry in self._entries():
            if _ends_with(entry.path, path[:-1]):
                line = self._lines[entry.line]
                if found := re.compile(rf"""\b{re.escape(path[-1])}\b""").search(line, entry.value_column):
                    if value is not None and (place := _quoted(line, found.end(), value)):
                        return Place(entry.line, *place)
                    return Place(entry.line, found.start(), len(path[-1]))
        return None

    def _entries(self) -> Iterator[_Entry]:
        table: tuple[str, ...] = ()
        open_quotes = ""
        for number, line in enumerate(self._lines):
            if not open_quotes:
                if header := _HEADER.match(line):
                    table = _parts(header[1])
                elif key := _KEY.match(line):
                    yield _Entry((*table, *_parts(key[1])), number, key.start(1), key.end())
            open_quotes = _still_open(line, open_quotes)

    def diagnostic(self, message: str, place: Place | None, help_text: str = "", origin: str = "") -> str:
        """The message with file, line, caret and help; without a place, `origin` says where it comes from."""
        text = f"  × {message}\n"
        text += self._picture(place) if place else f"   ─[{origin or self.name}]\n"
        if help_text:
            text += f"  help: {help_text}\n"
        return text

    def _picture(self, place: Place) -> str:
        first, last = max(0, place.line - 1), min(len(self._lines), place.line + 2)
        wide = len(str(last))
        margin = " " * (wide + 1)
        lines = [f" {margin}╭─[{self.name}:{place.line + 1}:{place.column + 1}]"]
        for number in range(first, last):
            lines.append(f" {number + 1:>{wide}} │ {self._lines[number]}".rstrip())
            if number == place.line:
                middle = (place.width - 1) // 2
                before = " " * place.column
                mark = "─" * middle + "┬" + "─" * (place.width - 1 - middle)
                lines += [f" {margin}· {before}{mark}", f" {margin}· {before}{' ' * middle}╰── here"]
        return "\n".join([*lines, f" {margin}╰────", ""])


def _parts(key: str) -> tuple[str, ...]:
    """A dotted key as its parts; dots inside quotes separate too, as in `"report.figure"` of a scale."""
    return tuple(part for quoted in re.findall(_PART, key) for part in quoted.strip("\"'").split("."))


def _ends_with(path: tuple[str, ...], wanted: Sequence[str]) -> bool:
    """Whether a path is the wanted one, alone or under `scale.NAME`, `variants.NAME` or `sweep`."""
    inner = path[2:] if path[:1] in (("scale",), ("variants",)) else path[1:] if path[:1] == ("sweep",) else path
    return inner == tuple(wanted)


def _quoted(line: str, start: int, value: object) -> tuple[int, int] | None:
    """Column and width of a value written in a line."""
    spellings = [f'"{value}"', f"'{value}'"] if isinstance(value, str) else [_toml_number(value)]
    for spelling in spellings:
        if (at := line.find(spelling, start)) >= 0:
            return at, len(spelling)
    rest = line[start:].rstrip()
    return (start, len(rest)) if not isinstance(value, str) and rest else None


def _toml_number(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _still_open(line: str, quotes: str) -> str:
    """The kind of long string that is open after `line`."""
    rest = line
    while True:
        if quotes:
            _, found, rest = rest.partition(quotes)
            if not found:
                return quotes
            quotes = ""
        starts = sorted((rest.find(q), q) for q in _LONG_QUOTES if q in rest)
        if not starts:
            return ""
        at, quotes = starts[0]
        rest = rest[at + 3 :]


def document(text: str) -> dict[str, object]:
    """The parsed text, empty if it is no TOML: who reads it first has said so already."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
