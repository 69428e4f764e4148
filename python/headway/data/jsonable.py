"""Results that functions return: typed for programs, JSON for others, and HTML for a notebook."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

# In the metadata of a field: JSON has the key only where there is something in it.
SPARE: Mapping[str, Any] = {"spare": True}
# Rows that a notebook shows of a long list.
SHOWN_ROWS = 60


def json_text(value: object) -> str:
    """The text that `--json` prints."""
    return json.dumps(value, indent=2, ensure_ascii=False)


@dataclass(frozen=True)
class Jsonable:
    """A result whose fields, in their order, are the keys of its JSON."""

    def document(self) -> Any:  # noqa: ANN401  (what JSON holds)
        """Contents of its JSON."""
        return {
            one.name: plain(getattr(self, one.name))
            for one in fields(self)
            if not ("spare" in one.metadata and not getattr(self, one.name))
        }

    def to_json(self) -> str:
        """Its JSON, as the command with `--json` prints it."""
        return json_text(self.document())


def plain(value: Any) -> Any:  # noqa: ANN401  (what JSON holds)
    """A value of a field as JSON holds it."""
    if isinstance(value, Jsonable):
        return value.document()
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return value


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table for a notebook; of many rows the first, and how many follow."""
    every = list(rows)
    head = "".join(f"<th style='text-align:left'>{html.escape(one)}</th>" for one in heads)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in every[:SHOWN_ROWS]
    )
    more = f"<p>and {len(every) - SHOWN_ROWS} more rows</p>" if len(every) > SHOWN_ROWS else ""
    said = f"<p>{html.escape(caption)}</p>" if caption else ""
    return f"<div>{said}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"


def preformatted(lines: Iterable[str]) -> str:
    """Lines of text for a notebook."""
    return f"<pre>{html.escape(chr(10).join(lines))}</pre>"
