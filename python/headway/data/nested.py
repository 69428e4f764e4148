"""Values inside the documents of a run, by names such as `jobs.0.completion_s`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def inside(document: object, part: str) -> object:
    """Value in a document by one part of a name: a key of a table, or a position in a list.

    Raises `KeyError` if it has nothing there.
    """
    if isinstance(document, Mapping):
        found: object = document[part]
        return found
    if not isinstance(document, Sequence) or isinstance(document, str) or not part.isdecimal():
        raise KeyError(part)
    if int(part) >= len(document):
        raise KeyError(part)
    item: object = document[int(part)]
    return item


def flat(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401  (any JSON)
    """Every value that is not a table, with its key as `--set` takes it."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if inner is None:
        yield key, value
        return
    for name, part in inner:
        yield from flat(part, f"{key}.{name}" if key else str(name))
