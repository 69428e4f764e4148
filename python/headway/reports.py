"""The report of any given path: results of a run, a sweep or a reproduction, or traces of real hosts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from headway.data.jsonable import Jsonable
from headway.data.qlog import is_trace
from headway.data.reader import of_results
from headway.errors import ArgumentError, holds_results, no_results
from headway.files import writable_directory

if TYPE_CHECKING:
    from headway.reporting.look import Look

Format = Literal["html", "svg", "pdf", "png", "csv"]


@dataclass(frozen=True)
class ReportFiles(Jsonable):
    """The files of a report. `notes` are sentences about parts that the report should show and does not."""

    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Path]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, place: int) -> Path:
        return self.files[place]

    def _repr_html_(self) -> str:
        drawn = [one for one in self.files if one.suffix == ".svg"]
        others = [one for one in self.files if one.suffix != ".svg"]
        links = "".join(
            f"<li><a href='{escape(one.absolute().as_uri())}'>{escape(str(one))}</a></li>" for one in others
        )
        notes = "".join(f"<p>{escape(one)}</p>" for one in self.notes)
        return f"<div><ul>{links}</ul>{''.join(one.read_text(encoding='utf-8') for one in drawn)}{notes}</div>"


@of_results
def write_report(
    places: Sequence[Path],
    fmt: Format = "html",
    *,
    replay: bool = False,
    look: Look | None = None,
    brief: bool = False,
) -> ReportFiles:
    """Write the report of a directory into it, or the page of traces next to the first of them.

    `look` is the look of figures; a page takes none. With `replay`, the page of a small run also shows its packets.
    `brief` writes one page for somebody who decides, in place of it.
    Raises `ArgumentError` for what does not go together.
    """
    if brief and (replay or fmt != "html" or look is not None or any(is_trace(place) for place in places)):
        raise ArgumentError("a brief is one page of results, without --format, --replay and the look of figures")
    if any(is_trace(place) for place in places):
        if replay or fmt != "html":
            raise ArgumentError("the report of a trace of messages is a page: no --replay, no other --format")
        from headway.reporting.messages import write_messages

        page, missing = write_messages(tuple(places))
        return ReportFiles((page,), tuple(missing))
    if len(places) > 1:
        raise ArgumentError("one directory at a time; several files are traces of one page")
    directory = places[0]
    if replay and fmt != "html":
        raise ArgumentError(f"--replay is for pages; a figure as {fmt} does not move")
    if look is not None and fmt == "html":
        raise ArgumentError("how figures look is for --format pdf, svg, png or csv; a page has a look of its own")
    if not holds_results(directory):
        raise no_results(directory)
    writable_directory(directory)
    # Drawing libraries are imported only when something is drawn.
    from headway.reporting import build, build_brief

    if brief:
        return ReportFiles((build_brief(directory),))
    from headway.tape import record

    notes: list[str] = []
    files = build(directory, fmt, record(directory) if replay else None, note=notes.append, look=look)
    return ReportFiles(tuple(files), tuple(notes))
