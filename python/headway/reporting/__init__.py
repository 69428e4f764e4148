"""The report of a run, a sweep or a reproduction: one offline HTML page, or figures fit for a paper.

`load` reads the files, and `study` arranges them. Each file of `figures` prepares a kind of figure as plain data
(`spec`), and `assemble` puts the figures in order. `page` draws them as HTML with inline SVG, and `paper` draws them
with matplotlib.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headway.errors import ResultsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headway.data.tape import Tape

    from .assemble import Report
    from .look import Look

__all__ = ["ResultsError", "build", "build_brief", "build_page", "page_text"]

FORMATS = ("html", "svg", "pdf", "png", "csv")


def build(
    directory: Path,
    fmt: str = "html",
    tape: Tape | None = None,
    *,
    note: Callable[[str], None] | None = None,
    look: Look | None = None,
) -> list[Path]:
    """Write the report of `directory` into it and return the files written.

    `html` writes `report.html`; `svg`, `pdf` and `png` write one file a figure into `figures/`, in the `look` that is
    wanted, and `csv` the values that each shows. A page with a `tape` (`headway.tape.record`) also plays the packets of
    the run. `note` is told of each figure that the scenario asks for and that has no data. Raises `ResultsError`, which
    names the file, if a result is missing, truncated or of the wrong shape, or if the report cannot be written.
    """
    if fmt not in FORMATS:
        raise ValueError(f"format {fmt!r} is not one of {', '.join(FORMATS)}")
    if fmt == "html":
        path, report = build_page(directory, tape)
        written = [path]
    else:
        report = _assembled(Path(directory), look)
        try:
            if fmt == "csv":
                from .values import write_values

                written = write_values(report, Path(directory) / "figures", look)
            else:
                from .paper import write_figures

                written = write_figures(report, Path(directory) / "figures", fmt, look)
        except OSError as error:
            raise _unwritten(error, Path(directory)) from None
    if note is not None:
        for sentence in report.not_drawn:
            note(sentence)
    return written


def build_page(directory: Path, tape: Tape | None = None) -> tuple[Path, Report]:
    """Write `report.html` of `directory` as `build` does; returns its path, and its content."""
    report = _assembled(Path(directory))
    from .page import write_page

    try:
        return write_page(report, Path(directory) / "report.html", tape), report
    except OSError as error:
        raise _unwritten(error, Path(directory)) from None


def build_brief(directory: Path) -> Path:
    """Write `brief.html`, the page for somebody who decides, into `directory`; returns its path."""
    report = _assembled(Path(directory))
    if not report.study.points:
        raise ResultsError(Path(directory), "holds no finished run, and a brief is of runs")
    from .brief import write_brief

    try:
        return write_brief(report, Path(directory))
    except OSError as error:
        raise _unwritten(error, Path(directory)) from None


def page_text(directory: Path) -> str:
    """The page of `directory` as text, without writing it. Raises `ResultsError` as `build` does."""
    report = _assembled(Path(directory))
    from .page import render

    return render(report)


def _assembled(directory: Path, look: Look | None = None) -> Report:
    from .assemble import assemble
    from .load import load

    results = load(directory)
    return assemble(results if look is None else look.results(results))


def _unwritten(error: OSError, directory: Path) -> ResultsError:
    return ResultsError(Path(error.filename or directory), f"cannot be written ({error.strerror})")
