"""The tables of a ledger: where they are written, and a reader that refuses one at the key that is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from headway import inputs
from headway.data.toml import Document, Place
from headway.errors import ClaimsError, HeadwayError, nearest

# By key, of which types its value may be.
Types = Mapping[str, type | tuple[type, ...]]


def read_text(path: Path) -> str:
    """A ledger as it is written."""
    try:
        return inputs.read_text(path)
    except FileNotFoundError as error:
        raise HeadwayError(f"{path}: cannot be read ({error.strerror})") from None


def read_document(path: Path, text: str) -> tuple[dict[str, Any], Source]:
    """A ledger's tables as they are written, and where they are."""
    document = Document(str(path), text)
    return document.value, Source(path, document)


class Source:
    """A ledger's text, in which mistakes are shown."""

    def __init__(self, path: Path, document: Document) -> None:
        self._path = path
        self._document = document

    def error(self, table: str, index: int, key: str, message: str, column: int | None = None) -> ClaimsError:
        """A mistake at `key` of table number `index`; `column` counts from the start of its value's text."""
        place, value = self._document.in_table(table, index, key)
        if column is not None and value is not None:
            written = self._document.text[value[0] : value[1]]
            quotes = 3 if written.startswith(('"""', "'''")) else 1
            place = (min(value[0] + quotes + column, value[1]), value[1])
        return self._at(place, message)

    def top_error(self, path: Sequence[str], message: str) -> ClaimsError:
        """A mistake at a key outside the claims."""
        return self._at(self._document.key(path) or (0, 0), message)

    def _at(self, place: Place, message: str) -> ClaimsError:
        line, column, text = self._document.position(place)
        return ClaimsError(self._path, line, message, text, column)


class TableReader:
    """Reads one table of a list of tables."""

    def __init__(self, source: Source, table: str, index: int, entry: Mapping[str, Any]) -> None:
        self._source = source
        self._table = table
        self._index = index
        self.entry = entry

    def error(self, key: str, message: str, column: int | None = None) -> ClaimsError:
        """The error for a mistake at a key of this table."""
        return self._source.error(self._table, self._index, key, message, column)

    def fail(self, key: str, message: str) -> NoReturn:
        """Raise the error for a mistake at a key of this table."""
        raise self.error(key, message)

    def check_keys(self, required: Types, optional: Types) -> None:
        """Refuse a key that is unknown, of the wrong type or missing. A boolean counts as no number."""
        allowed = {**required, **optional}
        for key, value in self.entry.items():
            if key not in allowed:
                self.fail(key, f"unknown key '{key}'{near(key, allowed)}")
            found = allowed[key]
            types: tuple[type, ...] = found if isinstance(found, tuple) else (found,)
            if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
                self.fail(key, f"'{key}' is of the wrong type")
        for key in required:
            if key not in self.entry:
                self.fail("id" if "id" in required else next(iter(self.entry), key), f"the key '{key}' is missing")


def near(name: str, known: Iterable[str]) -> str:
    """The end of a message: the names most like one that is not known."""
    close = nearest(name, list(known))
    return f"; nearest: {', '.join(close)}" if close else ""
