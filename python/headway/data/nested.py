"""What lies inside the documents of a run, by names such as `jobs.0.completion_s`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def inside(document: object, part: str) -> object:
    """What a document has by one part of a name: a key of a table, or a position in a list.

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
